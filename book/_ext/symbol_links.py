"""Explain the symbols of each section: a link below its heading to the page on notation, which a script turns into a popover.

In: pages with formulas. Out: the same, with one link in each section of level 2 that has any, for itself and its subsections.
Where scripts run, the link shows what the page on notation says about the section's symbols, as does pointing at or tapping a
symbol; see ``_static/symbols.js``. Pages in ``PAGES_WITHOUT_LINKS`` are themselves about notation.
"""

import html

from docutils import nodes

PAGES_WITHOUT_LINKS = ("notation", "errata", "sources")
LINK = '<p class="symbols-of"><a href="{}#every-letter">Symbols<span class="visually-hidden"> of {}</span></a></p>'


def add_links(app, doctree):
    """Put the link below the heading of each section of level 2 that has formulas."""
    folder, _, name = app.env.docname.rpartition("/")
    notation = f"{folder}/notation".lstrip("/")
    if name in PAGES_WITHOUT_LINKS or notation not in app.env.found_docs:
        return
    for section in doctree.findall(nodes.section):
        is_level_2 = isinstance(section.parent, nodes.section) and section.parent.parent is doctree
        if is_level_2 and next(section.findall(_is_formula), None) is not None:
            title = section[0].astext() if not [*section[0].findall(nodes.math)] else "this section"
            section.insert(1, nodes.raw("", LINK.format("notation.html", html.escape(title)), format="html"))


def _is_formula(node):
    return isinstance(node, (nodes.math, nodes.math_block))


def add_script(app, name, template, context, doctree):
    if 'class="symbols-of"' in context.get("body", ""):
        app.add_js_file("symbols.js", loading_method="defer")
        app.add_css_file("symbols.css")


def setup(app):
    app.connect("doctree-read", add_links)
    app.connect("html-page-context", add_script)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
