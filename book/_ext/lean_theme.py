"""The theme without what no page needs: scripts and styles only where something on the page asks for them.

In: the theme's templates, and the files that extensions ask for. Out: pages that ask for what stands on them. A page with exercises
also has a link that skips to them, the second stop of the keyboard, and what hides code goes by the words that are seen.

| the theme sends | because | instead |
|---|---|---|
| Font Awesome: a script and three fonts | an author might name any icon | the icons that are drawn, by page_optimizer |
| Sphinx's index of the search, with each page | of its search while one types | that of section_search, when somebody searches |
| what dropdowns, cards, cells and copying need | a page might have them | where the page has them |
| the title and the contents again, for paper | of its own sheet for printing | pdf's sheet, without them |
"""

import hashlib
import html
from pathlib import Path

from jinja2 import DictLoader
from myst_nb.sphinx_ import HideCodeCellNode, depart_HideCellInput
from page_optimizer import THEME_STATIC

# A file is left out of a page that holds none of these texts.
ASSET_TRIGGERS = {
    "sphinx-design": ("sd-",),
    "design-tabs": ("sd-",),
    "togglebutton": ('class="toggle', "dropdown"),
    "copybutton": ("<pre",),
    "clipboard": ("<pre",),
    "exercise.css": ("exercise", "solution"),
    "mystnb": ("cell",),
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


def install_templates(app):
    if app.builder.format == "html":
        prepend_templates(app, TEMPLATES)


def prepend_templates(app, templates):
    """Let ``{name: template}`` take the place of the theme's; those can still be extended."""
    loader = app.builder.templates
    loader.loaders.insert(0, DictLoader(templates))
    loader.templatepathlen += 1  # what begins with "!" is looked for after it


def drop_unneeded_assets(app, pagename, templatename, context, doctree):
    """Take out of a page's scripts and styles those of what it does not hold."""
    body = context.get("body", "")

    def needed(asset):
        name = Path(str(getattr(asset, "filename", asset))).name
        if "toggle" in str(getattr(asset, "attributes", {}).get("body", "")):  # what its script is told
            name = "togglebutton"
        for part, texts in ASSET_TRIGGERS.items():
            if name.startswith(part):
                return any(text in body for text in texts)
        return True

    context["script_files"] = [each for each in context["script_files"] if needed(each)]
    context["css_files"] = [each for each in context["css_files"] if needed(each)]
    context["theme_digest"] = app.theme_digest


def visit_hidden_code(self, node):
    """Open what hides code as MyST-NB does, with text that may stand in a summary and is its name."""
    shown, hidden = (html.escape(node[prompt]) for prompt in ("prompt_show", "prompt_hide"))
    self.body.append(f'<details class="admonition hide {" ".join(node["classes"])}">\n<summary>')
    self.body.append(f'<span class="collapsed admonition-title">{shown}</span>')
    self.body.append(f'<span class="expanded admonition-title">{hidden}</span></summary>\n')


def setup(app):
    digest = hashlib.sha256(Path(__file__).read_bytes())
    for name in ("bootstrap.js", "pydata-sphinx-theme.js"):
        digest.update((THEME_STATIC / "scripts" / name).read_bytes())
    app.theme_digest = digest.hexdigest()[:12]
    app.setup_extension("page_optimizer")
    app.add_node(HideCodeCellNode, override=True, html=(visit_hidden_code, depart_HideCellInput))
    app.connect("builder-inited", install_templates)
    app.connect("html-page-context", drop_unneeded_assets, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
