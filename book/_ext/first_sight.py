"""What a reader sees first arrives first, over a slow connection.

In: the pages as they were written, and their styles. Out: the same, with another order of what they ask for. The styles of
all pages are one file, which is asked for once. The fonts of nearly all formulas are asked for together with it, where a
browser would wait until it has all styles and then the text; and no script keeps the text waiting: they run in their order
when the page is there, as those that the theme brings itself. The page has its colours before them: those of the day, or of
the night where the reader or his device asks for it and scripts are on. What stands further down is laid out when a reader
comes near it: a page has hundreds of formulas, and a phone takes seconds for them.
"""

import hashlib
import re
from graphlib import TopologicalSorter
from itertools import pairwise
from pathlib import Path
from posixpath import dirname, join, normpath

FIRST_FONTS = {"KaTeX_Main": "normal", "KaTeX_Math": "italic"}
SHEET = "_static/katex/katex.css"
FACE = re.compile(r"@font-face\s*\{([^}]*)\}")
LAST_STYLE = re.compile(r'.*<link rel="stylesheet"[^>]*>', flags=re.DOTALL)
WAITED_FOR = re.compile(r'<script src="([^"]*)"></script>')
JOINED = "book.css"
STYLE = re.compile(
    r'<link\b(?=[^>]*\brel="stylesheet")(?![^>]*\bmedia=)[^>]*\bhref="([^"]*?)_static/([^"?]+)[^"]*"[^>]*>\s*'
)
ADDRESS = re.compile(r"""url\((["']?)(?!["']|[a-z]+:|[/#])([^"')]+)\1\)""")
OF = re.compile(r"/\*! (.*?) \*/\n")
OPTIONS = "documentation_options.js"  # what follows it in the page changes what it says, so it stands there itself
# What is not laid out has a height that is guessed, and then remembered. The margin is for rings of focus.
LATER = """
@media screen {
  .bd-article > section > section ~ section {
    content-visibility: auto;
    contain-intrinsic-size: auto 60rem;
    overflow-clip-margin: 1rem;
  }
}
"""
PRELOAD = '<link rel="preload" href="{}" as="font" type="font/{}" crossorigin>'
UNDECIDED = ' data-theme="auto"'  # no rule of colours knows it: the theme decides in a script that comes last
DECISION = 'document.documentElement.dataset.theme = localStorage.getItem("theme") || "auto";'
DECIDED = """const asked = document.documentElement.dataset, night = matchMedia("(prefers-color-scheme: dark)").matches;
    asked.theme = asked.mode !== "auto" ? asked.mode : night ? "dark" : "light";"""
ADDED = re.compile(r'\n?<link rel="preload"[^>]* as="font"[^>]*>')


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
    """Return a page that has its colours, asks for ``fonts`` after its styles, and for no script before its text.

    Parameters
    ----------
    text : str
    fonts : list of str
        Addresses, as seen from the page. A page without formulas needs none.
    options : str
        The script ``documentation_options.js``.
    """
    head, end, body = text.partition("</head>")
    head = head.replace(UNDECIDED, ' data-theme="light"').replace(DECISION, DECIDED)
    head = WAITED_FOR.sub(
        lambda found: (
            f"<script>{options}</script>" if OPTIONS in found[1] else f'<script defer src="{found[1]}"></script>'
        ),
        ADDED.sub("", head),  # a page that did not change is not written anew
    )
    asked = fonts if 'class="katex' in body else []
    added = [PRELOAD.format(font, Path(font.partition("?")[0]).suffix[1:]) for font in asked]
    head = LAST_STYLE.sub(lambda found: "\n".join([found[0], *added]), head, count=1)
    return head + end + body


def in_order(lists):
    """Return everything that the ``lists`` name, once, each thing after those that stand before it in some list.

    Raises
    ------
    graphlib.CycleError
        If two lists disagree.
    """
    sorter = TopologicalSorter()
    for names in lists:
        for name in names:
            sorter.add(name)
        for before, after in pairwise(names):
            sorter.add(after, before)
    return list(sorter.static_order())


def joined(sheets):
    """Return ``{name: style sheet}`` as one, which lies beside the folders that the names may begin with."""

    def moved(name, sheet):
        sheet = re.sub(r'@charset "[^"]*";', "", sheet)
        return ADDRESS.sub(lambda found: f"url({normpath(join(dirname(name), found[2]))})", sheet)

    return "\n".join(moved(name, sheet) for name, sheet in sheets.items()) + LATER


def join_styles(static, texts):
    """Write the styles that the pages ask for as one file into the folder ``static``, and let the pages ask for that."""
    path = static / JOINED
    asked = [[name for _, name in STYLE.findall(text.partition("</head>")[0])] for text in texts.values()]
    kept = any(JOINED in names for names in asked) and path.is_file()  # by pages that are not written anew
    before = OF.match(path.read_text(encoding="utf-8")) if kept else None
    lists = [names.split() for names in before[1].split("|")] if before else []
    for names in ([name for name in each if name != JOINED] for each in asked):
        lists += [names] if names and names not in lists else []
    names = [name for name in in_order(lists) if (static / name).is_file()]
    if not names:
        return texts
    sheet = f"/*! {' | '.join(map(' '.join, lists))} */\n"
    sheet += joined({name: (static / name).read_text(encoding="utf-8") for name in names})
    path.write_text(sheet, encoding="utf-8")
    version = hashlib.sha256(sheet.encode()).hexdigest()[:12]  # so that no browser takes an older one for it

    def ask(text):
        head, end, body = text.partition("</head>")
        found = STYLE.search(head)
        if not found or any(name != JOINED and name not in names for _, name in STYLE.findall(head)):
            return text
        link = f'<link rel="stylesheet" href="{found[1]}_static/{JOINED}?v={version}">\n'
        return head[: found.start()] + link + STYLE.sub("", head[found.end() :]) + end + body

    return {path: ask(text) for path, text in texts.items()}


def finish(app, exception):
    if exception or app.builder.format != "html":
        return
    site = Path(app.outdir)
    sheet, script = site / SHEET, site / "_static" / OPTIONS
    fonts = first_fonts(sheet.read_text(encoding="utf-8")) if sheet.is_file() else []
    options = script.read_text(encoding="utf-8") if script.is_file() else ""
    paths = (path for path in sorted(site.rglob("*.html")) if "_static" not in path.relative_to(site).parts)
    texts = {path: path.read_text(encoding="utf-8") for path in paths}
    for path, text in join_styles(site / "_static", texts).items():
        up = "../" * (len(path.relative_to(site).parts) - 1)
        arranged = arrange(text, [f"{up}{SHEET.rpartition('/')[0]}/{font}" for font in fonts], options)
        if arranged != texts[path]:
            path.write_text(arranged, encoding="utf-8")


def setup(app):
    app.connect("build-finished", finish, priority=950)  # when nobody else changes styles, fonts or pages any more
    return {"parallel_read_safe": True, "parallel_write_safe": True}
