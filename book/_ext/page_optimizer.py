"""Make finished pages accessible and light: each is parsed once, after all other extensions have done their work.

In: pages, styles and fonts as Sphinx and the theme wrote them. Out: pages that look the same, except that operators in code are
as plain as brackets. The theme's faults for users of screen readers and keyboards are corrected, and what a reader sees first
arrives first over a slow connection.

| a page has or loads | because | instead |
|---|---|---|
| inline lengths in every part of a formula | KaTeX writes them | classes, with their rules in the style sheet |
| an element that ends each stack of indices | KaTeX writes it | a pseudo-element of the style sheet |
| marks on tokens of code that look like the rest | Pygments marks every token | none |
| spaces that indent the HTML, comments of templates | templates have them | only line ends within text |
| a dozen style sheets, whole fonts | other pages might need them | one sheet and subsets of fonts, for what pages use |
| scripts before its text | the theme puts them there | the same scripts in order, deferred |
| fonts after all styles and the text | a browser waits | preloaded together with the styles |
| code whose long lines scroll or break anywhere | a ``pre`` does that | lines that continue indented below their beginning |
| colours after a script of the theme has run | the script decides them | the light or the dark ones at once |
| all sections laid out at once, for seconds on a phone | a browser does that | each when a reader comes near it |
| its contents in the margin of side notes | the theme has one place for both | below the page's entry in the menu |
"""

import hashlib
import html
import re
import shutil
from pathlib import Path

import css_bundle
import font_subset
import pydata_sphinx_theme
from selectolax.lexbor import LexborHTMLParser

THEME_STATIC = Path(pydata_sphinx_theme.__file__).parent / "theme" / "pydata_sphinx_theme" / "static"
# The attributes to set on elements that match a selector; None removes an attribute.
A11Y_FIXES = {
    # The name of the book is in the sidebar, outside its navigation.
    "#pst-primary-sidebar:not([role])": {"role": "complementary", "aria-label": "The book"},
    # sphinx-exercise gives the content of every exercise this id.
    "#exercise-content": {"id": None, "class": "exercise-content"},
}
# In hundredths of an em: the class H72 is a height of 0.72em. No other classes begin with a capital.
LENGTH_CLASSES = {
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
LENGTH = re.compile(rf"(?<![\w-])({'|'.join(LENGTH_CLASSES)}):(-?\d*\.?\d+)em(?:;|$)")
STACK_END = (".katex .vlist-s{", '.katex .vlist-t2>.vlist-r:first-child::after{content:"\\200b";')
BASE_COLOUR = re.compile(r"^(.*)\.highlight \{.*(?<!-)color: ([^; ]+)", flags=re.MULTILINE)
TOKEN_COLOUR = re.compile(r"^(.*)\.highlight \.(\w+) \{ color: ([^; ]+) \}", flags=re.MULTILINE)
OPERATOR = "o"  # the mark of operators, which Pygments would colour
VERBATIM = re.compile(r"(<(pre|script|style|textarea)\b.*?</\2>)", flags=re.DOTALL)
BLOCK = "td|th|tr|thead|tbody|table|li|ul|ol|dl|dt|dd|div|section|nav|p|h[1-6]|figure|figcaption|meta|link"
BETWEEN_BLOCKS = re.compile(rf">\n(?=</?(?:{BLOCK})\b)")
EMPTY_SHAPE = re.compile(r"(<(path|use|rect|line|circle|g)\b[^<>]*)></\2>")  # within SVG these need no end tag
CODE = re.compile(r'(?<=<div class="highlight"><pre>).*?(?=</pre>)', flags=re.DOTALL)
TAG = re.compile(r"(<[^>]*>)")
LONG_LINE = 36  # characters: more than these may not fit on the narrowest phone
LONG_WORD = 24  # characters: one that is longer may break within, after a bracket, a comma or an equals sign
BREAK_POINT = re.compile(r"(?<=[(\[,=])(?=[\w&]|$)")
WORD = re.compile(r"[\w-]+")
NUMBERED_ENTRY = re.compile(r"\s*(\d+) (.*)", flags=re.DOTALL)

BUNDLE = "book.css"
STYLE_LINK = re.compile(
    r'<link\b(?=[^>]*\brel="stylesheet")(?![^>]*\bmedia=)[^>]*\bhref="([^"]*?)_static/([^"?]+)[^"]*"[^>]*>\s*'
)
BLOCKING_SCRIPT = re.compile(r'<script src="([^"]*)"></script>')
OPTIONS = "documentation_options.js"  # later scripts of the page change its values, so it is inlined, not deferred
FIRST_FACES = ("Main-Regular", "Math-Italic")  # used by nearly all formulas
PRELOAD = '<link rel="preload" href="{}" as="font" type="font/{}" crossorigin>\n'
UNDECIDED = ' data-theme="auto"'  # no colour rule matches it: the theme decides in a script that runs last
THEME_DECISION = 'document.documentElement.dataset.theme = localStorage.getItem("theme") || "auto";'
EARLY_DECISION = """const asked = document.documentElement.dataset, night = matchMedia("(prefers-color-scheme: dark)").matches;
    asked.theme = asked.mode !== "auto" ? asked.mode : night ? "dark" : "light";"""
ICON_FACES = re.compile(r'@font-face\{[^}]*?font-family:"Font Awesome[^}]*\}')
ICON_FONT_FACE = """@font-face{font-family:"Font Awesome 6 Free";font-weight:900;src:url(styles/icons.woff2) format("woff2");
font-display:block}"""
# A section or subsection not laid out yet has an estimated height, a third more in a narrow window; its own is remembered. The
# clip margin is for focus rings. The space above a subsection is that of others, 2.75rem, less that below a paragraph, which
# does not collapse with it.
# Where a link has led into the page, subsections have their own heights, because with estimates it may miss its target.
LATE_SECTION, LATE_SUBSECTION = ".bd-article > section > section ~ section", "section section section"
LAZY_LAYOUT = f"""@media screen {{
  :is({LATE_SECTION}, .bd-article:not(:has(:target)) {LATE_SUBSECTION}) {{
    content-visibility: auto;
    contain-intrinsic-size: auto calc(var(--rem) * var(--narrow, 1) * 1rem);
    overflow-clip-margin: 1rem;
  }}

  @media (max-width: 767px) {{
    :root {{
      --narrow: 1.33;
    }}
  }}

  .bd-article:not(:has(:target)) {LATE_SUBSECTION} > h3 {{
    margin-top: 1.6rem;
  }}
}}"""

# In pixels, fitted by least squares to the 233 sections of the book in a window 1280 pixels wide.
HEIGHTS = {"p, li": 10, "tr": 18, "figure": 237, ".katex-display": 101, "h2, h3": 40, ".exercise": 29}
LINE_OF_CODE, LETTER = 20, 0.5
FOLDED = "details:not([open]) > :not(summary)"
NOT_SET_IN_LINES = "pre, table, svg, script, style, .katex-mathml, .katex-display, .side-note"


def estimate_heights(tree: LexborHTMLParser) -> None:
    """Write onto each section that is laid out late how high it may become, as the variable ``--rem`` of its style."""
    for section in tree.css(f"{LATE_SECTION}, .bd-article {LATE_SUBSECTION}"):
        copy = LexborHTMLParser(section.html)
        _remove(copy, FOLDED)
        lines = sum(block.text().strip("\n").count("\n") + 3 for block in copy.css("pre"))
        pixels = LINE_OF_CODE * lines + sum(height * len(copy.css(kind)) for kind, height in HEIGHTS.items())
        _remove(copy, NOT_SET_IN_LINES)
        pixels += LETTER * len(" ".join(copy.body.text().split()))
        section.attrs["style"] = f"--rem:{round(pixels / 16)}"


def _remove(tree, selector):
    while node := tree.css_first(selector):
        node.decompose()


def find_unmarked_tokens(sheet: str) -> set[str]:
    """Return the classes of tokens that Pygments' ``sheet`` colours like unmarked code in every mode, and that of operators."""
    grounds = dict(BASE_COLOUR.findall(sheet))
    alike = [
        {mark for mode, mark, colour in TOKEN_COLOUR.findall(sheet) if (mode, colour) == ground}
        for ground in grounds.items()
    ]
    return {OPERATOR} | set.intersection(*alike) if alike else set()


def fix_accessibility(tree: LexborHTMLParser) -> None:
    """Set the attributes in ``A11Y_FIXES`` on the elements of a page."""
    for selector, attributes in A11Y_FIXES.items():
        for node in tree.css(selector):
            for name, value in attributes.items():
                if value is None:
                    del node.attrs[name]
                else:
                    node.attrs[name] = value


def move_contents(tree: LexborHTMLParser) -> None:
    """Move the contents of a page below its entry in the menu; where they stand elsewhere, contents.js moves them on."""
    entry, contents = tree.css_first(".bd-sidenav li.current.active"), tree.css_first("nav.page-toc")
    if entry and contents:
        del contents.attrs["aria-labelledby"]
        del contents.attrs["id"]  # by which the theme's script would find it, and mark an entry that is out of date
        contents.attrs["aria-label"] = "Contents"
        entry.insert_child(contents)  # a copy
        contents.decompose()


def hang_numbers(tree: LexborHTMLParser) -> None:
    """Make the numbers of chapters in the menu elements of their own, which hang to the left of all names."""
    for link in tree.css(".bd-sidenav a"):
        if match := NUMBERED_ENTRY.fullmatch(link.text()):
            link.inner_html = f'<span class="chapter-number">{match[1]}</span> {html.escape(match[2])}'


def lighten(tree: LexborHTMLParser, unmarked: set[str]) -> set[tuple[str, int]]:
    """Remove from a page what nobody sees; ``unmarked`` are the classes of tokens that need no mark.

    Returns the lengths in its formulas, as ``(letter of a class, hundredths of an em)``.
    """
    lengths = set()
    for node in tree.css(".katex-html .vlist-s"):
        node.decompose()
    for node in tree.css(".katex-html [style]"):
        style = node.attrs["style"]
        own = [(LENGTH_CLASSES[name], round(100 * float(length))) for name, length in LENGTH.findall(style)]
        lengths.update(own)
        classes = [*(node.attrs.get("class") or "").split(), *(f"{letter}{number}" for letter, number in own)]
        del node.attrs["style"]
        if classes:
            node.attrs["class"] = " ".join(classes)
        if rest := LENGTH.sub("", style):
            node.attrs["style"] = rest
    for node in tree.css("pre span[class]"):
        if node.attrs["class"] in unmarked:
            node.unwrap()
    return lengths


def length_rules(lengths: set[tuple[str, int]]) -> str:
    """Return the rules of the classes by which ``lighten`` replaced ``lengths``."""
    properties = {letter: name for name, letter in LENGTH_CLASSES.items()}
    return "".join(
        f".katex .{letter}{number}{{{properties[letter]}:{number / 100:g}em}}" for letter, number in sorted(lengths)
    )


def hang_long_lines(text: str) -> str:
    """Return a page in which each long line of code is an element that knows its own indent: its continuation hangs below it."""

    def mark(line):
        shown = html.unescape(TAG.sub("", line))
        if len(shown) <= LONG_LINE:
            return line
        if any(len(word) > LONG_WORD for word in shown.split()):
            parts = TAG.split(line)
            parts[::2] = (BREAK_POINT.sub("<wbr>", part) for part in parts[::2])
            line = "".join(parts)
        indent = len(shown) - len(shown.lstrip())
        return f'<span class="long-line" style="--indent:{indent}ch">{line}</span>'

    return CODE.sub(lambda code: "\n".join(map(mark, code[0].split("\n"))), text)  # no token of Pygments spans lines


def collapse_space(text: str) -> str:
    """Return a page without comments in its head and without spaces that indent its HTML."""
    head, end, body = text.partition("</head>")
    parts = VERBATIM.split(re.sub(r"<!--.*?-->", "", head, flags=re.DOTALL) + end + body)
    parts[::3] = (BETWEEN_BLOCKS.sub(">", re.sub(r"\s*\n\s*", "\n", part)) for part in parts[::3])
    del parts[2::3]  # the names of the elements
    return EMPTY_SHAPE.sub(r"\1/>", "".join(parts))


def arrange_head(text: str, bundle: str, fonts: dict[str, list[str]], options: str) -> str:
    """Return a page that sets its colours at once, loads its fonts together with one style sheet, and defers its scripts.

    Parameters
    ----------
    text : str
    bundle : str
        The name of the style sheet that replaces all those that the page loads.
    fonts : dict of str to list of str
        By a pattern of what needs them on a page, the fonts that load first, as addresses within ``_static``.
    options : str
        The text of ``documentation_options.js``, which is inlined.
    """
    head, end, body = text.partition("</head>")
    if link := STYLE_LINK.search(head):
        static = f"{link[1]}_static/"
        faces = [face for pattern, faces in fonts.items() if re.search(pattern, body) for face in faces]
        preloads = "".join(PRELOAD.format(static + face, Path(face.partition("?")[0]).suffix[1:]) for face in faces)
        sheet = f'<link rel="stylesheet" href="{static}{bundle}">\n{preloads}'
        head = head[: link.start()] + sheet + STYLE_LINK.sub("", head[link.end() :])
    head = head.replace(UNDECIDED, ' data-theme="light"').replace(THEME_DECISION, EARLY_DECISION)
    head = BLOCKING_SCRIPT.sub(
        lambda script: (
            f"<script>{options}</script>" if OPTIONS in script[1] else f'<script defer src="{script[1]}"></script>'
        ),
        head,
    )
    return head + end + body


def rewrite_all_pages(app, env):
    """Have all pages written in each build, so that ``optimize`` finds them as the theme makes them."""
    return list(env.found_docs) if app.builder.format == "html" else []


def optimize(app, exception):
    if exception or app.builder.format != "html":
        return
    site, static = Path(app.outdir), Path(app.outdir, "_static")
    paths = [path for path in sorted(site.rglob("*.html")) if "_static" not in path.relative_to(site).parts]
    trees = {path: LexborHTMLParser(path.read_text(encoding="utf-8")) for path in paths}
    sheet = _read(site / font_subset.KATEX_SHEET).replace(*STACK_END)
    rules, unmarked = font_subset.font_rules(sheet), find_unmarked_tokens(_read(static / "pygments.css"))
    letters, lengths, texts = {}, set(), {}
    for path, tree in trees.items():
        fix_accessibility(tree)
        move_contents(tree)
        hang_numbers(tree)
        font_subset.collect_letters(tree, rules, letters)
        lengths |= lighten(tree, unmarked)
        estimate_heights(tree)
        texts[path] = hang_long_lines(collapse_space(tree.html))
    for path in {*static.glob("scripts/fontawesome*"), *static.glob("*/*.map")}:
        path.unlink()
    shutil.rmtree(static / "vendor" / "fontawesome", ignore_errors=True)
    scripts = [path.read_text(encoding="utf-8") for path in site.rglob("*.js")]
    font_subset.subset_hindi(site, [*texts.values(), *scripts])
    sheet, faces = font_subset.subset_formula_faces(site, sheet, letters)
    if sheet:
        (site / font_subset.KATEX_SHEET).write_text(sheet + length_rules(lengths), encoding="utf-8")
    text_rules, text_faces = font_subset.subset_text_faces(static, set().union(*texts.values()))
    version = _write_bundle(static, texts.values(), scripts, text_rules)
    fonts, options = {"": text_faces}, _read(static / OPTIONS)
    fonts['class="katex'] = [f"katex/{faces[face]}" for face in FIRST_FACES if face in faces]
    if (site / font_subset.HINDI_FONT).is_file():
        fonts[font_subset.HINDI_WORD.pattern] = [font_subset.HINDI_FONT.relative_to("_static").as_posix()]
    for path, text in texts.items():
        path.write_text(arrange_head(text, f"{BUNDLE}?v={version}", fonts, options), encoding="utf-8")


def _write_bundle(static, texts, scripts, text_rules):
    """Write the website's one style sheet, and the icons that it uses; return its version for the address."""
    lists = [[name for _, name in STYLE_LINK.findall(text.partition("</head>")[0])] for text in texts]
    names = [name for name in css_bundle.sort_names(lists) if (static / name).is_file()]
    words = {word for text in (*texts, *scripts) for word in WORD.findall(text)}
    sheet = ICON_FACES.sub("", css_bundle.bundle(static, names, words))
    if sheet:
        icons = THEME_STATIC / "vendor" / "fontawesome" / "webfonts" / "fa-solid-900.ttf"
        font_subset.subset_icons(icons, static / "styles" / "icons.woff2", sheet)
    sheet = f"/*! {' '.join(names)} */\n{ICON_FONT_FACE}{text_rules}{sheet}{LAZY_LAYOUT}"
    (static / BUNDLE).write_text(sheet, encoding="utf-8")
    return hashlib.sha256(sheet.encode()).hexdigest()[:12]


def _read(path):
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def setup(app):
    app.connect("env-updated", rewrite_all_pages)
    app.connect("build-finished", optimize, priority=950)  # after all other changes to styles, fonts and pages
    return {"parallel_read_safe": True, "parallel_write_safe": True}
