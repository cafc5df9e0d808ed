"""The pages say the same in fewer bytes: what a phone has of one page is of no use for the next.

In: the pages as they were written. Out: the same to look at, but for operators of code, which are as plain as its brackets.

| a page repeats | because | instead |
|---|---|---|
| lengths in every part of a formula | KaTeX writes styles | classes, with their rules in the style of formulas |
| a mark that ends each stack of indices | KaTeX takes an element for it | one that the style adds |
| marks on words of code that look like the rest | Pygments marks every one | none |
| spaces that indent the HTML, remarks of templates | they are written so | the ends of lines within a text |
"""

import re
from pathlib import Path

from light_fonts import BESIDE, DRAWN, SHEET

COLOURS = Path("_static", "pygments.css")
# In hundredths of an em: the class H72 is a height of 0.72em. Nobody else's classes begin with a capital.
LENGTHS = {
    "height": "H",
    "vertical-align": "V",
    "margin-right": "R",
    "margin-left": "L",
    "top": "T",
    "padding-left": "P",
    "min-width": "M",
    "width": "W",
    "border-bottom-width": "B",
}
LENGTH = re.compile(rf"(?<![\w-])({'|'.join(LENGTHS)}):(-?\d*\.?\d+)em(?:;|$)")
PARTS = re.compile(rf"{DRAWN}.*?(?={BESIDE.pattern})", re.DOTALL)
STYLED = re.compile(r'<span(?: class="([^"]*)")? style="([^"]*)"')
CLASSES = re.compile(r'class="([^"]*)"')
NAMED = re.compile(rf"([{''.join(LENGTHS.values())}])(-?\d+)")
END_BY_STYLE = (".katex .vlist-s{", '.katex .vlist-t2>.vlist-r:first-child::after{content:"\\200b";')
END_OF_STACK = '<span class="vlist-s">\u200b</span>'
AS_WRITTEN = re.compile(r"(<(pre|script|style|textarea)\b.*?</\2>)", flags=re.DOTALL)
BLOCK = "td|th|tr|thead|tbody|table|li|ul|ol|dl|dt|dd|div|section|nav|p|h[1-6]|figure|figcaption|meta|link"
BETWEEN_BLOCKS = re.compile(rf">\n(?=</?(?:{BLOCK})\b)")
CODE = re.compile(r"<pre\b.*?</pre>", flags=re.DOTALL)
MARK = re.compile(r'<span class="(\w+)">([^<]*)</span>')
GROUND = re.compile(r"^(.*)\.highlight \{.*(?<!-)color: ([^; ]+)", flags=re.MULTILINE)
COLOUR = re.compile(r"^(.*)\.highlight \.(\w+) \{ color: ([^; ]+) \}", flags=re.MULTILINE)
PLAIN = {"o"}


def plain(sheet):
    """Return the marks of code that a style ``sheet`` of Pygments gives the colour of unmarked code in every mode."""
    grounds = dict(GROUND.findall(sheet))
    alike = [
        {mark for mode, mark, colour in COLOUR.findall(sheet) if (mode, colour) == each} for each in grounds.items()
    ]
    return PLAIN | set.intersection(*alike) if alike else set()


def lighter(text, unmarked):
    """Return a page without what makes it longer only; ``unmarked`` are marks of code that need not be."""
    head, end, body = text.partition("</head>")
    text = re.sub(r"<!--.*?-->", "", head, flags=re.DOTALL) + end + body
    text = CODE.sub(lambda code: MARK.sub(lambda found: found[2] if found[1] in unmarked else found[0], code[0]), text)
    parts = AS_WRITTEN.split(text)
    parts[::3] = (BETWEEN_BLOCKS.sub(">", re.sub(r"\s*\n\s*", "\n", part)) for part in parts[::3])
    del parts[2::3]  # the names of elements
    parts = [part.replace(END_OF_STACK, "") for part in parts]
    return PARTS.sub(lambda formula: STYLED.sub(_by_class, formula[0]), "".join(parts))


def _by_class(span):
    classes, rest = [span[1]] if span[1] else [], LENGTH.sub("", span[2])
    classes += [f"{LENGTHS[name]}{round(100 * float(length))}" for name, length in LENGTH.findall(span[2])]
    return "<span" + (f' class="{" ".join(classes)}"' if classes else "") + (f' style="{rest}"' if rest else "")


def rules(texts):
    """Return the rules of the classes of lengths that some of the ``texts`` name."""
    named = {name for text in texts for names in CLASSES.findall(text) for name in names.split()}
    found = sorted((letter, int(number)) for letter, number in filter(None, map(_parts, named)))
    properties = {letter: name for name, letter in LENGTHS.items()}
    return "".join(f".katex .{each}{number}{{{properties[each]}:{number / 100:g}em}}" for each, number in found)


def _parts(name):
    found = NAMED.fullmatch(name)
    return found and found.groups()


def lighten(app, exception):
    if exception or app.builder.format != "html":
        return
    site = Path(app.outdir)
    unmarked = plain((site / COLOURS).read_text(encoding="utf-8"))
    light = {}
    for path in site.rglob("*.html"):
        if "_static" not in path.relative_to(site).parts:
            text = path.read_text(encoding="utf-8")
            light[path] = lighter(text, unmarked)
            if light[path] != text:
                path.write_text(light[path], encoding="utf-8")
    if (site / SHEET).is_file():
        sheet = (site / SHEET).read_text(encoding="utf-8").replace(*END_BY_STYLE)
        (site / SHEET).write_text(sheet + rules(light.values()), encoding="utf-8")


def setup(app):
    app.connect("build-finished", lighten, priority=600)  # when the theme has written its colours of code
    return {"parallel_read_safe": True, "parallel_write_safe": True}
