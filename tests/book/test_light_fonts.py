"""The extension that makes the fonts of Hindi and of formulas light: all looks as it did, and nothing else is in them."""

import io
import json
import re
import shutil
import sys

import pytest
import uharfbuzz
from fontTools.ttLib import TTFont

from autograder import formulas
from autograder.paths import ROOT
from tests.book.small_site import build_site, write_site

pytestmark = pytest.mark.turns(3)

NAME = "noto-sans-devanagari-devanagari-400-normal.woff"
FONT = ROOT / "book" / "_static" / "fonts" / NAME
CONF = 'extensions = ["myst_nb", "light_fonts"]\nhtml_static_path = ["book/_static"]\n'
WORDS = ["तर्क", "के", "साथ", "कारण", "दोस्त", "दूध", "किताब", "बारिश", "और"]


@pytest.fixture
def cut(tmp_path):
    """A function that returns the font of a site with these words: some on its page, some in its script, as JSON."""

    def build(words, in_script=""):
        fonts = tmp_path / "source" / "book" / "_static" / "fonts"
        fonts.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(FONT, fonts / NAME)
        script = f"const word = {json.dumps(in_script)};"
        write_site(tmp_path, CONF, {"index.md": f"# A page\n\n{' '.join(words)}\n", "book/_static/words.js": script})
        return build_site(tmp_path)[0] / "_static" / "fonts" / NAME

    return build


def outlines(path, word):
    """Return the drawn glyphs of a word, and where they stand."""
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
    font = cut(WORDS[:-1], in_script=WORDS[-1])
    for word in WORDS:
        assert outlines(font, word) == outlines(FONT, word), word


def test_the_font_is_a_small_part_of_the_whole(cut):
    assert cut(WORDS).stat().st_size < FONT.stat().st_size / 5


def test_a_word_that_comes_later_is_in_the_font_then(cut):
    assert ord("ख") not in TTFont(cut(["के"])).getBestCmap()
    assert ord("ख") in TTFont(cut(["के", "सुख"])).getBestCmap()


FORMULAS = """
extensions = ["myst_nb", "formulas_in_place", "light_fonts"]
html_math_renderer = "katex"
myst_enable_extensions = ["dollarmath"]
"""
PAGE = r"""# Of $\alpha$

It is $x \in \mathbb{R}^n$, and $\mathbf{b}$ or $\text{so \textit{then}}$.

$$
\left( \frac{\frac{1}{2}}{\sum_j e_j} \right)
$$
"""


@pytest.fixture
def faces(tmp_path):
    """A function that returns ``{face: its file}`` of a site with this page, and the style that asks for them."""

    def build(page):
        write_site(tmp_path, FORMULAS, {"index.md": page})
        folder = build_site(tmp_path)[0] / "_static" / "katex"
        sheet = (folder / "katex.css").read_text(encoding="utf-8")
        asked = {path.partition("?")[0] for path in re.findall(r"url\((fonts/[^)]*)\)", sheet)}
        assert {folder / each for each in asked} == set(folder.glob("fonts/*"))
        return {path.stem.removeprefix("KaTeX_"): path for path in folder.glob("fonts/*")}, sheet

    return build


def test_each_face_of_the_formulas_has_the_letters_that_they_show_in_it(faces):
    found, _ = faces(PAGE)
    letters = {face: "".join(sorted(map(chr, TTFont(path).getBestCmap()))).strip() for face, path in found.items()}
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
    found, _ = faces(PAGE)
    for face, path in found.items():
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
    first, before = faces("# So\n\nIt is $a$.\n")
    assert set(first) == {"Math-Italic"}
    second, after = faces("# So\n\nIt is $a b$.\n")
    assert {ord("a"), ord("b")} <= set(TTFont(second["Math-Italic"]).getBestCmap())
    addresses = [re.findall(r"url\(([^)]*)\)", sheet) for sheet in (before, after)]
    assert addresses[0] != addresses[1]


def test_the_fonts_of_formulas_are_a_small_part_of_the_whole(faces):
    found, _ = faces(PAGE)
    whole = sum((formulas.KATEX / "fonts" / f"KaTeX_{face}.woff2").stat().st_size for face in found)
    assert sum(path.stat().st_size for path in found.values()) < whole / 4


def test_the_face_of_a_letter_is_that_of_the_innermost_that_names_one(faces):
    faces("# So\n")
    letters = sys.modules["light_fonts"].Letters(  # which the build has imported
        ".katex .mathit{font-family:KaTeX_Main;font-style:italic}.katex .mathbf{font-weight:700}"
        ".katex .delimsizing.size1{font-family:KaTeX_Size1}.katex .mult .delim-size1>span{font-family:KaTeX_Size1}"
    )
    letters.read(
        'a<span class="mathit">b<span class="mathbf">c</span><span class="size1">d</span></span>'
        '<span class="delimsizing size1">e</span><svg><path d="M0"/></svg>'
        '<span class="mult"><span><span class="delim-size1"><span>f</span>g</span></span></span></span></span> no more'
    )
    assert letters.found == {
        "Main-Regular": {"a", "g"},
        "Main-Italic": {"b", "d"},
        "Main-BoldItalic": {"c"},
        "Size1-Regular": {"e", "f"},
    }
