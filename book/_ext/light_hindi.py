"""The font of the Hindi words holds what these words need: a tenth of the whole.

In: the website's pages and scripts, the font as it was published. Out: in its place, the letters of the words that are
written somewhere, and the shapes that they take beside each other.
"""

import io
import re
from pathlib import Path

import uharfbuzz
from fontTools import subset
from fontTools.ttLib import TTFont

FONT = Path("_static", "fonts", "noto-sans-devanagari-devanagari-400-normal.woff")
WORD = re.compile(r"[\u0900-\u097f]+")
ESCAPED = re.compile(r"\\u(09[0-7][0-9a-f])")  # as JSON may write a letter


def words(texts):
    """Return the Devanagari words of some texts."""
    plain = (ESCAPED.sub(lambda found: chr(int(found[1], 16)), text) for text in texts)
    return {word for text in plain for word in WORD.findall(text)}


def shapes(font, written):
    """Return the names of all glyphs that take part when a ``TTFont`` shows the words ``written``."""
    plain = io.BytesIO()
    font.flavor = None
    font.save(plain)
    shaper, order, seen = uharfbuzz.Font(uharfbuzz.Face(plain.getvalue())), font.getGlyphOrder(), set()
    for word in sorted(written):
        buffer = uharfbuzz.Buffer()
        buffer.add_str(word)
        buffer.guess_segment_properties()

        def look(step, buffer=buffer):  # between two rules a glyph may appear that is not there at the end
            seen.update(glyph.codepoint for glyph in buffer.glyph_infos)
            return True

        buffer.set_message_func(look)
        uharfbuzz.shape(shaper, buffer)
        look("end")
    return {order[number] for number in seen if number < len(order)}  # before the first rule they are code points


def cut(app, exception):
    path = Path(app.outdir, FONT)
    if exception or app.builder.format != "html" or not path.is_file():
        return
    sources = (each for kind in ("*.html", "*.js") for each in Path(app.outdir).rglob(kind))
    written = words(each.read_text(encoding="utf-8") for each in sources)
    whole = Path(app.confdir, "book", FONT)  # what lies in the website may have been cut for the words of yesterday
    options = subset.Options(flavor="woff", layout_features=["*"], layout_closure=False, hinting=False)
    cutter = subset.Subsetter(options)
    cutter.populate(text="".join(sorted(written)), glyphs=shapes(TTFont(whole), written))
    with subset.load_font(whole, options) as font:
        cutter.subset(font)
        subset.save_font(font, path, options)


def setup(app):
    app.connect("build-finished", cut)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
