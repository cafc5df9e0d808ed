"""The fonts of Hindi words and of formulas hold what the pages write: a tenth of the whole.

In: the website's pages and scripts, the fonts as they were published. Out: in their place, of Hindi the letters of the words
that are written somewhere, and the shapes that they take beside each other; of each face of formulas the letters that some
formula shows in it, which the style of formulas decides. A face that shows none is not there.
"""

import hashlib
import html
import io
import logging
import re
from html.parser import HTMLParser
from pathlib import Path

import uharfbuzz
from fontTools import subset
from fontTools.ttLib import TTFont

from autograder import formulas

FONT = Path("_static", "fonts", "noto-sans-devanagari-devanagari-400-normal.woff")
WORD = re.compile(r"[\u0900-\u097f]+")
ESCAPED = re.compile(r"\\u(09[0-7][0-9a-f])")  # as JSON may write a letter

SHEET = Path("_static", "katex", "katex.css")
DRAWN = '<span class="katex-html" aria-hidden="true">'
BESIDE = re.compile(r'<span class="katex-mathml">|</?(?:p|div|td|li)\b')  # a formula has ended before
IN_PICTURE = re.compile(r'<tspan class="m">([^<]*)')
OF_PICTURES = "Math-Italic"  # as pictures.css has it
PROPERTIES = ("font-family", "font-style", "font-weight")
STEP = re.compile(r"(>?)\s*([\w-]*)((?:\.[\w-]+)*)\s*")


logging.getLogger("fontTools.ttLib.tables._h_e_a_d").setLevel(logging.ERROR)  # KaTeX's fonts say no date of theirs


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


class Letters(HTMLParser):
    """Which letters drawn formulas show in which face: ``found``, ``{face: letters}``."""

    def __init__(self, sheet):
        """Take what a formula's style ``sheet`` says of fonts."""
        super().__init__()
        self.found, self._rules, self._path = {}, [], []
        for selectors, body in formulas.RULE.findall(formulas.FACE.sub("", sheet)):
            declared = {name: value for name, _, value in (each.partition(":") for each in body.split(";"))}
            if look := {name: declared[name] for name in PROPERTIES if name in declared}:
                self._rules += [(_steps(selector), look) for selector in selectors.split(",")]

    def read(self, drawn):
        """Read what follows ``DRAWN``, up to where the formula ends."""
        self.reset()
        self._path = [("span", {"katex"}, {"font-family": "KaTeX_Main"}), ("span", {"katex-html"}, {})]
        self.feed(drawn)
        self.close()

    def handle_starttag(self, tag, attrs):
        if self._path:
            self._path.append((tag, set((dict(attrs).get("class") or "").split()), {}))
            for steps, look in self._rules:
                if _meets(self._path, steps):
                    self._path[-1][2].update(look)

    def handle_startendtag(self, tag, attrs):
        """Pass over a line or an outline, which holds no letter."""

    def handle_endtag(self, tag):
        if self._path:
            self._path.pop()
            self._path = self._path if len(self._path) > 1 else []  # a formula has ended

    def handle_data(self, data):
        if self._path:
            look = {name: value for _, _, own in self._path for name, value in own.items()}
            self.found.setdefault(formulas.face(look), set()).update(data)


def _steps(selector):
    """Return ``[(tag or "", classes, whether it has to stand directly within the one before), ...]``."""
    return [
        (tag, set(names.split(".")[1:]), bool(child)) for child, tag, names in STEP.findall(selector) if tag or names
    ]


def _meets(path, steps):
    """Return whether the last element of ``path`` is one that a selector asks for."""
    (tag, names, child), (its_tag, its_names, _) = steps[-1], path[-1]
    if (tag and tag != its_tag) or not names <= its_names:
        return False
    if len(steps) == 1:
        return True
    return any(_meets(path[:n], steps[:-1]) for n in range(len(path) - 1, len(path) - 2 if child else 0, -1) if n)


def cut(app, exception):
    if exception or app.builder.format != "html":
        return
    site = Path(app.outdir)
    texts = {path: path.read_text(encoding="utf-8") for kind in ("*.html", "*.js") for path in site.rglob(kind)}
    if (site / FONT).is_file():
        written = words(texts.values())
        whole = Path(app.confdir, "book", FONT)  # what lies in the website may have been cut for the words of yesterday
        with TTFont(whole) as font:
            glyphs = shapes(font, written)
        _save(whole, site / FONT, layout_closure=False, text="".join(sorted(written)), glyphs=glyphs)
    if (site / SHEET).is_file():
        cut_formulas(site, [text for path, text in texts.items() if path.suffix == ".html"])


def cut_formulas(site, pages):
    """Put the light faces in the place of KaTeX's own, and let the style ask for them."""
    sheet = (site / SHEET).read_text(encoding="utf-8")
    letters = Letters(sheet)
    for part in {BESIDE.split(part, maxsplit=1)[0] for page in pages for part in page.split(DRAWN)[1:]}:
        letters.read(part)
    in_pictures = {letter for page in pages for text in IN_PICTURE.findall(page) for letter in html.unescape(text)}
    letters.found.setdefault(OF_PICTURES, set()).update(in_pictures)

    def lighter(found):
        shown = letters.found.get(found[1])
        (site / SHEET.parent / "fonts" / f"KaTeX_{found[1]}.woff2").unlink(missing_ok=True)
        if not shown:
            return ""
        path = site / SHEET.parent / "fonts" / f"KaTeX_{found[1]}.woff"
        _save(formulas.KATEX / "fonts" / f"KaTeX_{found[1]}.ttf", path, text="".join(sorted(shown)))
        digest = hashlib.sha256(path.read_bytes()).hexdigest()[:12]  # so that no browser takes an older one for it
        return formulas.SOURCES.sub(f'src:url(fonts/{path.name}?v={digest}) format("woff")', found[0])

    (site / SHEET).write_text(formulas.FACE.sub(lighter, sheet), encoding="utf-8")


def _save(whole, path, layout_closure=True, **wanted):
    """Write to ``path`` what is wanted of the font ``whole``."""
    options = subset.Options(flavor="woff", layout_features=["*"], layout_closure=layout_closure, hinting=False)
    options.bidi_closure = False  # no line runs from right to left
    cutter = subset.Subsetter(options)
    cutter.populate(**wanted)
    with subset.load_font(whole, options) as font:
        cutter.subset(font)
        subset.save_font(font, path, options)


def setup(app):
    app.connect("build-finished", cut, priority=400)  # before the styles get their addresses
    return {"parallel_read_safe": True, "parallel_write_safe": True}
