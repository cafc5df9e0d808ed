"""What a reader sees first arrives first, over a slow connection.

In: the pages as they were written. Out: the same, with another order of what they ask for. The fonts of nearly all formulas
are asked for together with the styles, where a browser would wait until it has all styles and then the text; and no script
keeps the text waiting: they run in their order when the page is there, as those that the theme brings itself. What stands
further down is laid out when a reader comes near it: a page has hundreds of formulas, and a phone takes seconds for them.
"""

import re
from pathlib import Path

FIRST_FONTS = {"KaTeX_Main": "normal", "KaTeX_Math": "italic"}
SHEET = "_static/katex/katex.css"
FACE = re.compile(r"@font-face\s*\{([^}]*)\}")
LAST_STYLE = re.compile(r'.*<link rel="stylesheet"[^>]*>', flags=re.DOTALL)
WAITED_FOR = re.compile(r'<script src="([^"]*)"></script>')
OPTIONS = "documentation_options.js"  # what follows it in the page changes what it says, so it stands there itself
# What is not laid out has a height that is guessed, and then remembered. The margin is for rings of focus.
LATER = """<style>
@media screen {
  .bd-article > section > section ~ section {
    content-visibility: auto;
    contain-intrinsic-size: auto 60rem;
    overflow-clip-margin: 1rem;
  }
}
</style>"""
PRELOAD = '<link rel="preload" href="{}" as="font" type="font/{}" crossorigin>'
ADDED = re.compile(rf'\n<link rel="preload"[^>]* as="font"[^>]*>|\n{re.escape(LATER)}')


def first_fonts(sheet):
    """Return the addresses, as the style ``sheet`` states them, of the fonts that nearly all formulas need."""
    found = []
    for face in FACE.findall(sheet):
        named = dict(re.findall(r"([\w-]+)\s*:\s*([^;]+)", face))
        family, weight = named["font-family"].strip("\"' "), named.get("font-weight", "400").strip()
        if FIRST_FONTS.get(family) == named.get("font-style", "normal").strip() and weight in ("400", "normal"):
            found.append(re.search(r"url\([\"']?([^\"')]+)", named["src"])[1])
    return found


def arrange(text, fonts, options):
    """Return a page that asks for ``fonts``, if it has formulas, after its styles, and for no script before its text.

    Parameters
    ----------
    text : str
    fonts : list of str
        Addresses, as seen from the page.
    options : str
        The script ``documentation_options.js``.
    """
    head, end, body = text.partition("</head>")
    head = WAITED_FOR.sub(
        lambda found: (
            f"<script>{options}</script>" if OPTIONS in found[1] else f'<script defer src="{found[1]}"></script>'
        ),
        ADDED.sub("", head),  # a page that did not change is not written anew
    )
    asked = fonts if 'class="katex' in body else []
    added = [PRELOAD.format(font, Path(font.partition("?")[0]).suffix[1:]) for font in asked]
    head = LAST_STYLE.sub(lambda found: "\n".join([found[0], *added, LATER]), head, count=1)
    return head + end + body


def finish(app, exception):
    if exception or app.builder.format != "html":
        return
    site = Path(app.outdir)
    sheet, script = site / SHEET, site / "_static" / OPTIONS
    fonts = first_fonts(sheet.read_text(encoding="utf-8")) if sheet.is_file() else []
    options = script.read_text(encoding="utf-8") if script.is_file() else ""
    for path in site.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        up = "../" * (len(path.relative_to(site).parts) - 1)
        arranged = arrange(text, [f"{up}{SHEET.rpartition('/')[0]}/{font}" for font in fonts], options)
        if arranged != text and "_static" not in path.relative_to(site).parts:
            path.write_text(arranged, encoding="utf-8")


def setup(app):
    app.connect("build-finished", finish, priority=950)  # when nobody else changes styles, fonts or pages any more
    return {"parallel_read_safe": True, "parallel_write_safe": True}
