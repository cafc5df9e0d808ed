"""What the symbols of a section are, at hand: a link below its heading to the page on notation, and a script that makes more of it.

In: pages with formulas. Out: the same, with a link in each section that has any. Where scripts run the link opens what the page
on notation says of the section's symbols, and so does a symbol that is pointed at or tapped; see ``_static/symbols.js``. So the
keyboard has one stop a section, and not one a symbol. ``UNEXPLAINED`` are pages that are about what letters mean.
"""

import html

from docutils import nodes

PAGES_WITHOUT_LINKS = ("notation", "errata", "sources")
LINK = '<p class="symbols-of"><a href="{}#every-letter">Symbols<span class="visually-hidden"> of {}</span></a></p>'


def add_links(app, doctree):
    """Put the link below the heading of each section that has formulas of its own."""
    folder, _, name = app.env.docname.rpartition("/")
    notation = f"{folder}/notation".lstrip("/")
    if name in PAGES_WITHOUT_LINKS or notation not in app.env.found_docs:
        return
    for section in doctree.findall(nodes.section):
        if isinstance(section.parent, nodes.section) and isinstance(section[0], nodes.title) and _has_formulas(section):
            title = section[0].astext() if not [*section[0].findall(nodes.math)] else "this section"
            section.insert(1, nodes.raw("", LINK.format("notation.html", html.escape(title)), format="html"))


def _has_formulas(node):
    return any(
        isinstance(child, (nodes.math, nodes.math_block))
        or (not isinstance(child, nodes.section) and _has_formulas(child))
        for child in node.children
    )


def add_script(app, name, template, context, doctree):
    if 'class="symbols-of"' in context.get("body", ""):
        app.add_js_file("symbols.js", loading_method="defer")
        app.add_css_file("symbols.css")


def setup(app):
    app.connect("doctree-read", add_links)
    app.connect("html-page-context", add_script)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
