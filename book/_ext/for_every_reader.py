"""What the theme and its kin say wrongly to those who listen to a page or use it by keyboard, put right.

In: the pages as they were written. Out: the same, with names that agree with what is seen, and nothing outside landmarks.
"""

from pathlib import Path

MENDED = {
    # A name has to hold the words that are seen, or who says them to the machine is not understood.
    ' aria-label="Toggle hidden content"': "",
    'search-button-field search-button__button pst-js-only" title="Search" aria-label="Search"': (
        'search-button-field search-button__button pst-js-only" title="Search"'
    ),
    # The name of the book stands in the sidebar, outside its navigation.
    '<div id="pst-primary-sidebar" class=': '<div id="pst-primary-sidebar" role="complementary" aria-label="The book" class=',
}


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
    app.connect("build-finished", mend)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
