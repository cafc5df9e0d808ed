"""Trim the theme to what each page needs: a page loads only the scripts and styles that something on it uses.

In: the theme's templates, and the files that extensions add. Out: pages that load only what they use. A page with exercises
also has a link that skips to them, its second keyboard stop; the element that hides code is named by its visible text. The field
that searches is named by it, too, and has the switch between light and dark beside it, where a wide window shows it.

| the theme sends | because | instead |
|---|---|---|
| Font Awesome: a script and three fonts | an author might use any icon | the icons in use, by page_optimizer |
| Sphinx's search index, with each page | it searches as the reader types | section_search's index, when a reader searches |
| what Sphinx's search shows its results with | it leads to any page | only the page of results has it |
| what dropdowns, cards, cells and copying need | a page might have them | only where the page has them |
| the title and the contents again, for paper | its print sheet shows them | pdf's print sheet, without them |
| a script that measures all code and tables at once | what scrolls needs a tab stop | the same, for what is laid out |
"""

import hashlib
import html
from pathlib import Path

from jinja2 import DictLoader
from myst_nb.sphinx_ import HideCodeCellNode, depart_HideCellInput
from page_optimizer import THEME_STATIC

# A file is left out of a page that contains none of these texts.
ASSET_TRIGGERS = {
    "sphinx-design": ("sd-",),
    "design-tabs": ("sd-",),
    "togglebutton": ('class="toggle', "dropdown"),
    "copybutton": ("<pre",),
    "clipboard": ("<pre",),
    "exercise.css": ("exercise", "solution"),
    "mystnb": ("cell",),
    "side-notes": ("side-note",),
}
FOR_SPHINX_SEARCH = ("doctools", "sphinx_highlight")  # scripts of its page of results

# Measuring an element in a section or a fold that is not laid out yet makes the browser lay out all of it.
THEME_SCRIPT = "pydata-sphinx-theme.js"
TAB_STOPS = {
    "e.tabIndex=e.scrollWidth>": "if(e.checkVisibility?.({contentVisibilityAuto:!0})!==!1)e.tabIndex=e.scrollWidth>",
    'window.addEventListener("resize",t),new MutationObserver(t)': 'window.addEventListener("resize",t),'
    'document.addEventListener("contentvisibilityautostatechange",t),document.addEventListener("toggle",t,!0),'
    "new MutationObserver(t)",
}

TEMPLATES = {
    "static/webpack-macros.html": """
{% macro head_pre_assets() %}
<link rel="stylesheet" href="{{ pathto('_static/basic.css', 1) }}">
<link rel="stylesheet" href="{{ pathto('_static/styles/pydata-sphinx-theme.css', 1) }}">
{% endmacro %}
{% macro head_js_preload() %}{% endmacro %}
{% macro body_post() %}
<script defer src="{{ pathto('_static/scripts/bootstrap.js', 1) }}?v={{ theme_digest }}"></script>
<script defer src="{{ pathto('_static/scripts/pydata-sphinx-theme.js', 1) }}?v={{ theme_digest }}"></script>
{% endmacro %}
""",
    "search-button-field.html": """
<button class="btn search-button-field search-button__button pst-js-only">
<i class="fa-solid fa-magnifying-glass"></i>
<span class="search-button__default-text">Search</span>
</button>
{% include "theme-switcher.html" %}
""",
    "components/prev-next.html": """
{% if prev or next %}
<nav class="prev-next-area" aria-label="Previous and next page">
{% for step, page in (("previous", prev), ("next", next)) if page %}
<a class="{{ step }}" href="{{ page.link|e }}" rel="{{ step|replace("ious", "") }}"><small>{{ step }}</small> {{ page.title }}</a>
{% endfor %}
</nav>
{% endif %}
""",
    "layout.html": """
{% extends "!layout.html" %}
{% block extrahead %}{% endblock %}
{% block htmltitle %}
<title>{{ title|striptags|e }}{% if title|striptags != docstitle %}{{ titlesuffix }}{% endif %}</title>
{% endblock %}
{% block docs_body %}{{ super.super() }}{% endblock %}
{% block header %}
{{ super() }}
{% if body is defined and '<section id="exercises"' in body %}
<div class="skip-link d-print-none"><a href="#exercises">Skip to the exercises and the assignment</a></div>
{% endif %}
{% endblock %}
""",
}


def install_templates(app):
    if app.builder.format == "html":
        prepend_templates(app, TEMPLATES)


def prepend_templates(app, templates):
    """Let the templates ``{name: text}`` replace the theme's, which they can still extend."""
    loader = app.builder.templates
    loader.loaders.insert(0, DictLoader(templates))
    loader.templatepathlen += 1  # names that begin with "!" are looked up after it


def drop_unneeded_assets(app, pagename, templatename, context, doctree):
    """Remove from a page's scripts and styles those for what it does not contain."""
    body = context.get("body", "")

    def needed(asset):
        name = Path(str(getattr(asset, "filename", asset))).name
        if "toggle" in str(getattr(asset, "attributes", {}).get("body", "")):  # the settings of its script
            name = "togglebutton"
        if name.startswith(FOR_SPHINX_SEARCH):
            return pagename == "search"
        for part, texts in ASSET_TRIGGERS.items():
            if name.startswith(part):
                return any(text in body for text in texts)
        return True

    context["script_files"] = [each for each in context["script_files"] if needed(each)]
    context["css_files"] = [each for each in context["css_files"] if needed(each)]
    context["theme_digest"] = app.theme_digest


def defer_tab_stops(app, exception):
    """Have the theme's script measure only what is laid out, and the rest once it is."""
    path = Path(app.outdir, "_static", "scripts", THEME_SCRIPT)
    if exception or app.builder.format != "html" or not path.is_file():
        return
    text = (THEME_STATIC / "scripts" / THEME_SCRIPT).read_text(encoding="utf-8")
    for old, new in TAB_STOPS.items():
        text = text.replace(old, new)
    path.write_text(text, encoding="utf-8")


def visit_hidden_code(self, node):
    """Open the element that hides code as MyST-NB does, but with text that a summary may contain and that names it."""
    shown, hidden = (html.escape(node[prompt]) for prompt in ("prompt_show", "prompt_hide"))
    self.body.append(f'<details class="admonition hide {" ".join(node["classes"])}">\n<summary>')
    self.body.append(f'<span class="collapsed admonition-title">{shown}</span>')
    self.body.append(f'<span class="expanded admonition-title">{hidden}</span></summary>\n')


def setup(app):
    digest = hashlib.sha256(Path(__file__).read_bytes())
    for name in ("bootstrap.js", THEME_SCRIPT):
        digest.update((THEME_STATIC / "scripts" / name).read_bytes())
    app.theme_digest = digest.hexdigest()[:12]
    app.setup_extension("page_optimizer")
    app.add_node(HideCodeCellNode, override=True, html=(visit_hidden_code, depart_HideCellInput))
    app.connect("builder-inited", install_templates)
    app.connect("html-page-context", drop_unneeded_assets, priority=900)
    app.connect("build-finished", defer_tab_stops)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
