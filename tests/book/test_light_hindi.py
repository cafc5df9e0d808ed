"""The extension that makes the font of the Hindi words light: they look as they did, and nothing else is in it."""

import io
import json
import shutil

import pytest
import uharfbuzz
from fontTools.ttLib import TTFont

from autograder.paths import ROOT
from tests.book.small_site import build_site, write_site

NAME = "noto-sans-devanagari-devanagari-400-normal.woff"
FONT = ROOT / "book" / "_static" / "fonts" / NAME
CONF = 'extensions = ["myst_nb", "light_hindi"]\nhtml_static_path = ["book/_static"]\n'
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
