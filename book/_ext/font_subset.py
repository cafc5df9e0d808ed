"""Cut fonts down to what the pages use: text, Hindi words, the letters of formulas in each face, and icons.

In: parsed pages, style sheets, the fonts as published. Out: smaller fonts in their place. The Hindi font keeps the letters of the
words in pages and scripts, and the shapes that they take beside each other; the style sheet of formulas decides which face
shows a letter of a formula.
"""

import hashlib
import io
import logging
import re
import shutil
from pathlib import Path

import uharfbuzz
from fontTools import subset
from fontTools.ttLib import TTFont
from selectolax.lexbor import LexborHTMLParser

from autograder import formulas

HINDI_FONT = Path("_static", "fonts", "noto-sans-devanagari-devanagari-400-normal.woff")
KATEX_SHEET = Path("_static", "katex", "katex.css")
TEXT_FACES = formulas.KATEX.parents[1] / "@fontsource-variable" / "stix-two-text" / "files"
TEXT_FACE = """@font-face{{font-family:"STIX Two Text";font-style:{style};font-weight:400 700;font-display:optional;
src:url({address}) format("woff2")}}
"""
ASCENT, DESCENT, LINE_GAP = 76.2, 23.8, 25.0  # of these faces, per cent
# Times and the fonts with its widths, enlarged until a line of English takes as much room.
STAND_IN = """@font-face{{font-family:"STIX Two Text stand-in";font-style:{style};font-weight:{weight};size-adjust:{enlarged}%;
ascent-override:{ascent:.1f}%;descent-override:{descent:.1f}%;line-gap-override:{gap:.1f}%;src:{sources}}}
"""
STAND_INS = [  # style, weight, name, per cent
    ("normal", "400", "", 105),
    ("normal", "600 700", " Bold", 105),
    ("italic", "400", " Italic", 100.5),
]
HINDI_WORD = re.compile(r"[\u0900-\u097f]+")
HINDI_ESCAPE = re.compile(r"\\u(09[0-7][0-9a-f])")  # as JSON may write a letter
ICON = re.compile(r"[\ue000-\uf8ff]")
ICON_ESCAPE = re.compile(r"\\([ef][0-9a-f]{3})\b")
FONT_PROPERTIES = ("font-family", "font-style", "font-weight")

logging.getLogger("fontTools.subset").setLevel(logging.WARNING)  # it reports every table that it cuts
logging.getLogger("fontTools.ttLib.tables._h_e_a_d").setLevel(logging.ERROR)  # KaTeX's fonts state no date


def subset_hindi(site: Path, texts: list[str]) -> None:
    """Cut the Hindi font of the website in ``site`` down to the words of its ``texts``."""
    path = site / HINDI_FONT
    if path.is_file():
        plain = (HINDI_ESCAPE.sub(_character, text) for text in texts)
        words = sorted({word for text in plain for word in HINDI_WORD.findall(text)})
        with TTFont(path) as font:
            glyphs = _find_shaped_glyphs(font, words)
        save_subset(path, path, layout_features=["*"], layout_closure=False, text="".join(words), glyphs=glyphs)


def _character(escape):
    return chr(int(escape[1], 16))


def _find_shaped_glyphs(font, words):
    """Return the names of all glyphs that are involved when a ``TTFont`` shows ``words``."""
    plain = io.BytesIO()
    font.flavor = None
    font.save(plain)
    shaper, order, seen = uharfbuzz.Font(uharfbuzz.Face(plain.getvalue())), font.getGlyphOrder(), set()
    for word in words:
        buffer = uharfbuzz.Buffer()
        buffer.add_str(word)
        buffer.guess_segment_properties()

        def look(step, buffer=buffer):  # a glyph may appear between two rules and be gone at the end
            seen.update(glyph.codepoint for glyph in buffer.glyph_infos)
            return True

        buffer.set_message_func(look)
        uharfbuzz.shape(shaper, buffer)
        look("end")
    return {order[number] for number in seen if number < len(order)}  # before the first rule they are code points


def subset_text_faces(static: Path, letters: set[str]) -> tuple[str, list[str]]:
    """Write to ``static`` the faces of text with the ``letters``; return the rules that load them, and their addresses.

    Addresses are relative to ``static``. On a slow connection, the first page keeps the stand-ins: text never moves.
    """
    addresses = {}
    for style in ("normal", "italic"):
        path = static / "text" / f"STIXTwoText-{style}.woff2"
        path.parent.mkdir(exist_ok=True)
        source = TEXT_FACES / f"stix-two-text-latin-wght-{style}.woff2"
        save_subset(source, path, layout_features=["kern", "liga", "mark"], text="".join(sorted(letters)))
        addresses[style] = f"text/{path.name}?v={_digest(path)}"
    shutil.copy(TEXT_FACES.parent / "LICENSE", static / "text")
    faces = "".join(TEXT_FACE.format(style=style, address=address) for style, address in addresses.items())
    return faces + _stand_ins(), list(addresses.values())


def _stand_ins():
    rules = []
    for style, weight, name, enlarged in STAND_INS:
        sources = ",".join(f'local("{family}{name}")' for family in ("Times New Roman", "Liberation Serif", "Tinos"))
        ascent, descent, gap = (100 * share / enlarged for share in (ASCENT, DESCENT, LINE_GAP))
        rules.append(
            STAND_IN.format(
                style=style, weight=weight, enlarged=enlarged, ascent=ascent, descent=descent, gap=gap, sources=sources
            )
        )
    return "".join(rules)


def font_rules(sheet: str) -> list[tuple[str, dict[str, str]]]:
    """Return ``(selectors, declarations of FONT_PROPERTIES)`` for each rule of KaTeX's ``sheet`` that selects a font."""
    rules = []
    for selectors, body in formulas.RULE.findall(formulas.FACE.sub("", sheet)):
        declared = {name: value for name, _, value in (each.partition(":") for each in body.split(";"))}
        if look := {name: declared[name] for name in FONT_PROPERTIES if name in declared}:
            rules.append((selectors, look))
    return rules


def collect_letters(
    tree: LexborHTMLParser, rules: list[tuple[str, dict[str, str]]], letters: dict[str, set[str]]
) -> None:
    """Add the letters in the formulas of a page and of its pictures to ``letters``, which is ``{face: letters}``."""
    looks = {}
    for selectors, look in rules:
        for node in tree.css(selectors):
            looks.setdefault(node.mem_id, {}).update(look)

    def visit(node, look):
        for child in node.iter(include_text=True):
            if child.tag == "-text":
                letters.setdefault(formulas.face(look), set()).update(child.text_content)
            else:
                visit(child, look | looks.get(child.mem_id, {}))

    for formula in tree.css(".katex-html"):
        visit(formula, {"font-family": "KaTeX_Main"})
    for part in tree.css(".picture .m"):  # as in pictures.css
        letters.setdefault("Math-Italic", set()).update(part.text())


def subset_formula_faces(site: Path, sheet: str, letters: dict[str, set[str]]) -> tuple[str, dict[str, str]]:
    """Cut KaTeX's fonts down to ``{face: letters}``; return the style ``sheet`` that loads them, and their addresses.

    Addresses are by face, relative to the sheet. A face that shows nothing is left out.
    """
    addresses = {}

    def cut(rule):
        face = rule[1]
        if not letters.get(face):
            (site / KATEX_SHEET.parent / "fonts" / f"KaTeX_{face}.woff2").unlink(missing_ok=True)
            return ""
        path = site / KATEX_SHEET.parent / "fonts" / f"KaTeX_{face}.woff2"
        source = formulas.KATEX / "fonts" / f"KaTeX_{face}.ttf"
        save_subset(source, path, layout_features=["*"], text="".join(sorted(letters[face])))
        addresses[face] = f"fonts/{path.name}?v={_digest(path)}"
        return formulas.SOURCES.sub(f'src:url({addresses[face]}) format("woff2")', rule[0])

    return formulas.FACE.sub(cut, sheet), addresses


def _digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()[:12]  # so that no browser uses a cached, older file


def subset_icons(source: Path, target: Path, sheet: str) -> None:
    """Write to ``target`` the icons of the font ``source`` that a style ``sheet`` uses."""
    drawn = set(ICON.findall(ICON_ESCAPE.sub(_character, sheet)))
    save_subset(source, target, drop_tables=["FFTM", "GSUB", "GPOS"], text="".join(sorted(drawn)))


def save_subset(source, target, text, glyphs=(), layout_features=(), **options):
    """Write to ``target`` the part of the font ``source`` that ``text`` and ``glyphs`` need."""
    options = subset.Options(flavor=target.suffix[1:], layout_features=list(layout_features), hinting=False, **options)
    options.bidi_closure = False  # there is no right-to-left text
    cutter = subset.Subsetter(options)
    cutter.populate(text=text, glyphs=glyphs)
    with subset.load_font(source, options) as font:
        cutter.subset(font)
        subset.save_font(font, target, options)
