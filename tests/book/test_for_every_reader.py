"""The extension that puts right what the theme says wrongly: each of its mends is needed, and done."""

import re
import sys

import nbformat
import pytest

from tests.book.small_site import build_site, write_site

CONF = """
extensions = ["myst_nb", "sphinx_exercise", "for_every_reader"]
html_theme = "sphinx_book_theme"
html_context = {"default_mode": "auto"}
nb_execution_mode = "off"
"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """``{whether the mends are done: the text of the same page}``."""
    folder = tmp_path_factory.mktemp("mended")
    cell = nbformat.v4.new_code_cell("x = 1", metadata={"tags": ["hide-input"]})
    exercises = nbformat.v4.new_markdown_cell("# Page\n\n" + "\n\n".join(f"```{{exercise}}\n{n}\n```" for n in "ab"))
    python = {"language_info": {"name": "python", "pygments_lexer": "python"}}
    notebook = nbformat.writes(nbformat.v4.new_notebook(cells=[exercises, cell], metadata=python))
    found = {}
    for mended in (False, True):
        configuration = CONF if mended else CONF.replace(', "for_every_reader"', "")
        write_site(folder / str(mended), configuration, {"index.ipynb": notebook})
        found[mended] = (build_site(folder / str(mended))[0] / "index.html").read_text(encoding="utf-8")
    return found


def test_each_mend_still_finds_what_it_mends(pages):
    said = sys.modules["for_every_reader"].MENDED  # which the build has imported
    assert len(said) == 3
    for text in said:
        assert text in pages[False], text
        assert text not in pages[True], text


def test_what_unfolds_code_goes_by_the_words_that_are_seen(pages):
    (summary,) = re.findall(r"<summary.*?</summary>", pages[True], flags=re.DOTALL)
    assert re.findall("<([^ >]*)", summary) == ["summary", "span", "/span", "span", "/span", "/summary"]
    assert "aria-label" not in summary
    assert re.findall(">([^<]+)<", summary) == ["Show code cell source", "Hide code cell source"]


def test_the_field_that_searches_goes_by_the_words_that_are_seen(pages):
    fields = re.findall(r'<button class="[^"]*search-button-field[^>]*>', pages[True])
    assert fields
    assert not [field for field in fields if "aria-label" in field]


def test_the_name_of_the_book_stands_in_a_landmark(pages):
    assert re.search(r'<div id="pst-primary-sidebar" role="complementary" aria-label="[^"]+"', pages[True])
