"""Fonts contain what pages write, and every letter looks as in the full font."""

import io
import json
import re
import shutil
from pathlib import Path

import matplotlib
import pytest
import uharfbuzz
from fontTools.ttLib import TTFont
from fontTools.varLib import instancer
from selectolax.lexbor import LexborHTMLParser

from autograder import formulas
from autograder.paths import ROOT
from tests.book.small_site import import_extension

font_subset = import_extension("font_subset")
FONT = ROOT / "book" / font_subset.HINDI_FONT
WORDS = ["तर्क", "के", "साथ", "कारण", "दोस्त", "दूध", "किताब", "बारिश", "और"]


@pytest.fixture
def cut(tmp_path):
    """A function that returns the Hindi font of a site with the given texts."""

    def cut(*texts):
        path = tmp_path / font_subset.HINDI_FONT
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(FONT, path)
        font_subset.subset_hindi(tmp_path, texts)
        return path

    return cut


def outlines(path, word):
    """Return the drawn glyphs of a word, and their positions."""
    font = TTFont(path)
    font.flavor = None
    plain = io.BytesIO()
    font.save(plain)
    shaper = uharfbuzz.Font(uharfbuzz.Face(plain.getvalue()))
    buffer = uharfbuzz.Buffer()
    buffer.add_str(word)
    buffer.guess_segment_properties()
    uharfbuzz.shape(shaper, buffer)
    drawn = [glyph.codepoint for glyph in buffer.glyph_infos]
    order, tables = font.getGlyphOrder(), font["glyf"]
    shapes = [tables[order[number]].getCoordinates(tables)[0] for number in drawn]
    places = [(at.x_advance, at.x_offset, at.y_offset) for at in buffer.glyph_positions]
    return [list(shape) for shape in shapes], places


def test_every_word_of_the_pages_and_scripts_looks_as_in_the_whole_font(cut):
    font = cut(" ".join(WORDS[:-1]), f"const word = {json.dumps(WORDS[-1])};")
    for word in WORDS:
        assert outlines(font, word) == outlines(FONT, word), word


def test_the_font_is_a_small_part_of_the_whole(cut):
    assert cut(" ".join(WORDS)).stat().st_size < FONT.stat().st_size / 5


def test_a_word_that_comes_later_is_in_the_font_then(cut):
    assert ord("ख") not in TTFont(cut("के")).getBestCmap()
    assert ord("ख") in TTFont(cut("के सुख")).getBestCmap()


INLINE = [r"\alpha", r"x \in \mathbb{R}^n", r"\mathbf{b}", r"\text{so \textit{then}}"]
BLOCK = r"\left( \frac{\frac{1}{2}}{\sum_j e_j} \right)"


@pytest.fixture
def faces(tmp_path):
    """A function that returns ``{face: its file}`` of a site with the given formulas, and the style sheet that requests them."""

    def faces(*inline, block="x"):
        folder = tmp_path / font_subset.KATEX_SHEET.parent
        (folder / "fonts").mkdir(parents=True, exist_ok=True)
        for path in formulas.font_files():
            shutil.copyfile(path, folder / "fonts" / path.name)
        with formulas.Typesetter() as typesetter:
            text = "".join([*map(typesetter.html, inline), typesetter.html(block, block=True)])
        sheet, letters = formulas.style_sheet("fonts"), {}
        font_subset.collect_letters(LexborHTMLParser(text), font_subset.font_rules(sheet), letters)
        sheet, addresses = font_subset.subset_formula_faces(tmp_path, sheet, letters)
        requested = set(re.findall(r"url\((fonts/[^)]*)\)", sheet))
        assert requested == set(addresses.values())
        assert {folder / each.partition("?")[0] for each in requested} == set(folder.glob("fonts/*"))
        return {path.stem.removeprefix("KaTeX_"): path for path in folder.glob("fonts/*")}, addresses

    return faces


def test_each_face_of_the_formulas_has_the_letters_that_they_show_in_it(faces):
    paths, _ = faces(*INLINE, block=BLOCK)
    letters = {face: "".join(sorted(map(chr, TTFont(path).getBestCmap()))).strip() for face, path in paths.items()}
    assert letters == {
        "AMS-Regular": "R",
        "Main-Bold": "b",
        "Main-Italic": "ehnt",
        "Main-Regular": "12os\xa0∈",
        "Math-Italic": "ejnxα",
        "Size1-Regular": "∑",
        "Size4-Regular": "()",
    }


def test_a_letter_of_a_formula_looks_as_it_did(faces):
    paths, _ = faces(*INLINE, block=BLOCK)
    for face, path in paths.items():
        light, whole = TTFont(path), TTFont(formulas.KATEX / "fonts" / f"KaTeX_{face}.ttf")
        for code, name in light.getBestCmap().items():
            its_name = whole.getBestCmap()[code]
            assert light["hmtx"][name] == whole["hmtx"][its_name], (face, code)
            drawn = [
                font["glyf"][glyph].getCoordinates(font["glyf"])[0]
                for font, glyph in ((light, name), (whole, its_name))
            ]
            assert list(drawn[0]) == list(drawn[1]), (face, code)


def test_a_letter_that_comes_later_is_in_its_face_then_and_no_browser_takes_an_older_one(faces):
    first, before = faces("a", block="a")
    assert set(first) == {"Math-Italic"}
    second, after = faces("a b")
    assert {ord("a"), ord("b")} <= set(TTFont(second["Math-Italic"]).getBestCmap())
    assert before != after


def test_the_fonts_of_formulas_are_a_small_part_of_the_whole(faces):
    paths, _ = faces(*INLINE, block=BLOCK)
    whole = sum((formulas.KATEX / "fonts" / f"KaTeX_{face}.woff2").stat().st_size for face in paths)
    assert sum(path.stat().st_size for path in paths.values()) < whole / 4


def test_the_face_of_a_letter_is_that_of_the_innermost_that_names_one():
    rules = font_subset.font_rules(
        ".katex .mathit{font-family:KaTeX_Main;font-style:italic}.katex .mathbf{font-weight:700}"
        ".katex .delimsizing.size1{font-family:KaTeX_Size1}.katex .mult .delim-size1>span{font-family:KaTeX_Size1}"
    )
    tree = LexborHTMLParser(
        '<span class="katex"><span class="katex-html">'
        'a<span class="mathit">b<span class="mathbf">c</span><wbr><span class="size1">d</span></span>'
        '<span class="delimsizing size1">e</span><svg><path d="M0"/></svg>'
        '<span class="mult"><span><span class="delim-size1"><span>f</span>g</span></span></span></span></span> no more'
        '<div class="picture"><svg><text>no <tspan class="m">h</tspan></text></svg></div>'
    )
    letters = {}
    font_subset.collect_letters(tree, rules, letters)
    assert letters == {
        "Main-Regular": {"a", "g"},
        "Main-Italic": {"b", "d"},
        "Main-BoldItalic": {"c"},
        "Size1-Regular": {"e", "f"},
        "Math-Italic": {"h"},
    }


def test_the_typeface_has_all_letters_of_the_pages_in_all_weights_and_comes_with_its_licence(tmp_path):
    letters = set("Is 0.70 a weight? “Yes” – naïve, ffi")
    rules, addresses = font_subset.subset_text_faces(tmp_path, letters | {"क"})
    faces = re.findall(r"font-style:(\w+);font-weight:400 700;[^}]*url\(([^)]+)\) format\(\"woff2\"\)", rules)
    assert [style for style, _ in faces] == ["normal", "italic"]
    assert [address for _, address in faces] == addresses
    for _, address in faces:
        path, _, version = address.partition("?v=")
        assert re.fullmatch(r"\w{12}", version)
        font = TTFont(tmp_path / path)
        assert letters <= {chr(code) for code in font.getBestCmap()} <= letters | {"\xa0"}
        (axis,) = font["fvar"].axes
        assert (axis.axisTag, axis.minValue, axis.maxValue) == ("wght", 400, 700)
    stand_ins = [
        dict(re.findall(r"([a-z-]+)-(?:adjust|override):([\d.]+)%", rule)) for rule in rules.split("@font-face")[3:]
    ]
    assert [float(rule["size"]) for rule in stand_ins] == [enlarged for *_, enlarged in font_subset.STAND_INS]
    for rule in stand_ins:  # enlarged, they are as high as the typeface
        heights = [float(rule[name]) * float(rule["size"]) / 100 for name in ("ascent", "descent", "line-gap")]
        typeface = [font_subset.ASCENT, font_subset.DESCENT, font_subset.LINE_GAP]
        assert heights == pytest.approx(typeface, abs=0.1)
    assert "Open Font License" in (tmp_path / "text" / "LICENSE").read_text(encoding="utf-8")


@pytest.mark.parametrize(("style", "weight", "name", "enlarged"), font_subset.STAND_INS)
def test_until_the_typeface_comes_a_line_has_the_same_length_and_height_in_its_stand_in(style, weight, name, enlarged):
    """STIX General, which comes with matplotlib, has the widths of Times."""
    page = (ROOT / "book" / "for_students.md").read_text(encoding="utf-8")
    text = re.sub(r"[^A-Za-z ,.]", "", " ".join(line for line in page.splitlines() if len(line) > 100))
    assert len(text) > 1000
    font = TTFont(font_subset.TEXT_FACES / f"stix-two-text-latin-wght-{style}.woff2")
    own = instancer.instantiateVariableFont(font, {"wght": int(weight[:3])})
    times = TTFont(
        Path(matplotlib.get_data_path()) / "fonts" / "ttf" / f"STIXGeneral{name.strip().replace('Bold', 'Bol')}.ttf"
    )

    def measure(font):
        letters, widths = font.getBestCmap(), font["hmtx"]
        return sum(widths[letters[ord(letter)]][0] for letter in text) / font["head"].unitsPerEm

    assert enlarged / 100 * measure(times) == pytest.approx(measure(own), rel=0.015)
    lines = [own["hhea"].ascent, -own["hhea"].descent, own["hhea"].lineGap]
    per_cent = [100 * height / own["head"].unitsPerEm for height in lines]
    assert per_cent == pytest.approx([font_subset.ASCENT, font_subset.DESCENT, font_subset.LINE_GAP])
