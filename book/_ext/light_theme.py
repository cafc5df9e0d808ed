"""The theme without what no page needs.

In: the styles and scripts of the theme and of its kin, as they are copied into the website. Out: in their place, styles
without the rules for what is on no page, and a font of the few icons that there are; pages that ask only for the scripts and
styles of what stands on them. A page with exercises also has a link that skips to them, the second stop of the keyboard.

| the theme sends | because | instead |
|---|---|---|
| Font Awesome: a script and three fonts | an author might name any icon | the icons of ``ICONS``, cut out of one font |
| Sphinx's index of the search, with each page | of its search while one types | that of search_by_section, when somebody searches |
| what dropdowns, cards, cells and copying need | a page might have them | where the page has them |
| the title and the contents again, for paper | of its own sheet for printing | on_paper's sheet, without them |
| styles of everything that Bootstrap knows | likewise | of the classes that some page or script names |
"""

import hashlib
import logging
import re
import shutil
from pathlib import Path

import pydata_sphinx_theme
from fontTools import subset
from jinja2 import DictLoader

logging.getLogger("fontTools.subset").setLevel(logging.WARNING)  # it reports every table that it has cut

# Icons by the names of Font Awesome: those that the theme's templates and scripts show.
ICONS = ("angle-left", "angle-right", "arrow-up", "bars", "list", "xmark", "magnifying-glass", "download", "expand")
ICONS += ("compress", "file", "file-pdf", "sun", "moon", "circle-half-stroke")
DRAWN_BY_STYLES = (0xF303, 0xF107)  # without a name: the pencil of an exercise, the arrow of "on this page"
# A file is left out of a page that holds none of these texts.
NEEDED_FOR = {
    "sphinx-design": ("sd-",),
    "design-tabs": ("sd-",),
    "togglebutton": ('class="toggle', "dropdown"),
    "copybutton": ("<pre",),
    "clipboard": ("<pre",),
    "exercise.css": ("exercise", "solution"),
    "mystnb": ("cell",),
}

STATIC = Path(pydata_sphinx_theme.__file__).parent / "theme" / "pydata_sphinx_theme" / "static"
STYLE = "styles/pydata-sphinx-theme.css"
NAMED = re.compile(r'((?:\.fa-[\w-]+:before,?)+)\{content:"\\([0-9a-f]+)"\}')
VARIABLE = re.compile(r'--pst-icon-[\w-]+:"([^"\\])"')
CLASS = re.compile(r"\.(-?[A-Za-z_](?:[\w-]|\\.)*)")
WORD = re.compile(r"[\w-]+")
TRIMMED = (STYLE, "styles/sphinx-book-theme.css", "basic.css", "katex/katex.css", "mystnb.*.css")
FACE = re.compile(r"@font-face\{[^}]*?font-family:Font Awesome[^}]*\}")
TEMPLATES = {
    "static/webpack-macros.html": """
{% macro head_pre_assets() %}
<link rel="stylesheet" href="{{ pathto('_static/basic.css', 1) }}">
<link rel="stylesheet" href="{{ pathto('_static/STYLE', 1) }}">
{% endmacro %}
{% macro head_js_preload() %}{% endmacro %}
{% macro body_post() %}
<script defer src="{{ pathto('_static/scripts/bootstrap.js', 1) }}?v={{ theme_digest }}"></script>
<script defer src="{{ pathto('_static/scripts/pydata-sphinx-theme.js', 1) }}?v={{ theme_digest }}"></script>
{% endmacro %}
""".replace("STYLE", STYLE),
    "layout.html": """
{% extends "!layout.html" %}
{% block extrahead %}{% endblock %}
{% block docs_body %}{{ super.super() }}{% endblock %}
{% block header %}
{{ super() }}
{% if body is defined and '<section id="exercises"' in body %}
<div class="skip-link d-print-none"><a href="#exercises">Skip to the exercises and the assignment</a></div>
{% endif %}
{% endblock %}
""",
}


def style(sheet):
    """Return ``(the theme's style ``sheet`` with the rules of ICONS only, the code points that it draws)``."""
    drawn = set(DRAWN_BY_STYLES) | {ord(letter) for letter in VARIABLE.findall(sheet)}

    def wanted(rule):
        if not {f".fa-{name}:before" for name in ICONS} & set(rule[1].split(",")):
            return ""
        drawn.add(int(rule[2], 16))
        return rule[0]

    sheet = FACE.sub("", NAMED.sub(wanted, sheet))
    face = 'font-family:"Font Awesome 6 Free";font-weight:900;src:url(icons.woff) format("woff");font-display:block'
    return f"@font-face{{{face}}}{sheet}", drawn


def without_unused(sheet, words):
    """Return a style sheet without the selectors that ask for a class which is not among ``words``."""
    kept, at = [], 0
    while (opened := sheet.find("{", at)) >= 0:
        ended = sheet.find(";", at, opened)
        if sheet[at:].lstrip().startswith("@") and ended >= 0:  # such as @import
            kept.append(sheet[at : ended + 1])
            at = ended + 1
            continue
        depth, end = 1, opened + 1
        while depth:
            depth += {"{": 1, "}": -1}.get(sheet[end], 0)
            end += 1
        head, body, at = sheet[at:opened].strip(), sheet[opened + 1 : end - 1], end
        if head.startswith(("@media", "@supports", "@layer")):
            body = without_unused(body, words)
        elif not head.startswith("@"):
            head = ",".join(each for each in _selectors(head) if _used(each, words))
        if head and body.strip():
            kept.append(f"{head}{{{body}}}")
    return "".join(kept) + sheet[at:]


def _selectors(head):
    """Return the selectors of a rule: what commas divide, those within brackets left alone."""
    parts, depth = [""], 0
    for letter in head:
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def _used(selector, words):
    for _ in range(3):  # of :is() and :not(), however nested, nothing is concluded
        selector = re.sub(r"\([^()]*\)|\[[^\[\]]*\]", "", selector)
    return all(name.replace("\\", "") in words for name in CLASS.findall(selector))


def use_templates(app):
    if app.builder.format == "html":
        put_first(app, TEMPLATES)


def put_first(app, templates):
    """Let ``{name: template}`` take the place of the theme's; those can still be extended."""
    loader = app.builder.templates
    loader.loaders.insert(0, DictLoader(templates))
    loader.templatepathlen += 1  # what begins with "!" is looked for after it


def leave_out(app, pagename, templatename, context, doctree):
    """Take out of a page's scripts and styles those of what it does not hold."""
    body = context.get("body", "")

    def needed(asset):
        name = Path(str(getattr(asset, "filename", asset))).name
        if "toggle" in str(getattr(asset, "attributes", {}).get("body", "")):  # what its script is told
            name = "togglebutton"
        for part, texts in NEEDED_FOR.items():
            if name.startswith(part):
                return any(text in body for text in texts)
        return True

    context["script_files"] = [each for each in context["script_files"] if needed(each)]
    context["css_files"] = [each for each in context["css_files"] if needed(each)]
    context["theme_digest"] = app.light_theme_digest


def trim(app, exception):
    """Put the light styles and their font in the place of the theme's own, and take away what is not asked for any more."""
    if exception or app.builder.format != "html":
        return
    static = Path(app.outdir, "_static")
    texts = (path.read_text(encoding="utf-8") for path in (*Path(app.outdir).rglob("*.html"), *static.rglob("*.js")))
    words = {word for text in texts for word in WORD.findall(text)}
    light, drawn = style((STATIC / STYLE).read_text(encoding="utf-8"))
    (static / STYLE).write_text(light, encoding="utf-8")
    for path in (path for name in TRIMMED for path in static.glob(name)):
        sheet = without_unused(re.sub(r"/\*[^!].*?\*/", "", path.read_text(encoding="utf-8"), flags=re.DOTALL), words)
        path.write_text(sheet, encoding="utf-8")
    options = subset.Options(flavor="woff", layout_features=[], drop_tables=["FFTM", "GSUB", "GPOS"])
    cutter = subset.Subsetter(options)
    cutter.populate(unicodes=drawn)
    with subset.load_font(STATIC / "vendor" / "fontawesome" / "webfonts" / "fa-solid-900.ttf", options) as font:
        cutter.subset(font)
        subset.save_font(font, static / "styles" / "icons.woff", options)
    shutil.rmtree(static / "vendor" / "fontawesome", ignore_errors=True)
    for path in {*static.glob("scripts/fontawesome*"), *static.glob("*/*.map")}:
        path.unlink()


def setup(app):
    digest = hashlib.sha256(Path(__file__).read_bytes())
    for name in (STYLE, "scripts/bootstrap.js", "scripts/pydata-sphinx-theme.js"):
        digest.update((STATIC / name).read_bytes())
    app.light_theme_digest = digest.hexdigest()[:12]
    app.connect("builder-inited", use_templates)
    app.connect("html-page-context", leave_out, priority=900)
    app.connect("build-finished", trim, priority=700)  # of styles and pages as they will be
    return {"parallel_read_safe": True, "parallel_write_safe": True}
