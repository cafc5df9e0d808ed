"""What the theme and other extensions get wrong for those who listen to a page or use it by keyboard, put right.

In: the pages as they were written. Out: the same, with names that agree with what is seen, nothing outside landmarks,
no id twice on a page, and no paragraph where HTML allows none.
"""

import html
from pathlib import Path

from myst_nb.sphinx_ import HideCodeCellNode, depart_HideCellInput

MENDED = {
    # A name has to hold the words that are seen, or who says them to the machine is not understood.
    'search-button-field search-button__button pst-js-only" title="Search" aria-label="Search"': (
        'search-button-field search-button__button pst-js-only" title="Search"'
    ),
    # The name of the book stands in the sidebar, outside its navigation.
    '<div id="pst-primary-sidebar" class=': '<div id="pst-primary-sidebar" role="complementary" aria-label="The book" class=',
    # sphinx-exercise gives the content of every exercise this id.
    '<section id="exercise-content">': '<section class="exercise-content">',
}


def visit_hidden_code(self, node):
    """Open what hides code as MyST-NB does, with text that may stand in a summary and is its name."""
    shown, hidden = (html.escape(node[prompt]) for prompt in ("prompt_show", "prompt_hide"))
    self.body.append(f'<details class="admonition hide {" ".join(node["classes"])}">\n<summary>')
    self.body.append(f'<span class="collapsed admonition-title">{shown}</span>')
    self.body.append(f'<span class="expanded admonition-title">{hidden}</span></summary>\n')


def mend(app, exception):
    if exception or app.builder.format != "html":
        return
    for path in Path(app.outdir).rglob("*.html"):
        text = mended = path.read_text(encoding="utf-8")
        for said, better in MENDED.items():
            mended = mended.replace(said, better)
        if mended != text:
            path.write_text(mended, encoding="utf-8")


def setup(app):
    app.add_node(HideCodeCellNode, override=True, html=(visit_hidden_code, depart_HideCellInput))
    app.connect("build-finished", mend)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
