"""The extension of the website: it offers a notebook only where there is one."""

import importlib
import shutil

import pytest

from autograder import exercises
from autograder.notebooks.assemble import source_notebook
from autograder.paths import ROOT
from solutions import answer_key
from tests.book.small_site import build_site, write_site

CONF = """
extensions = ["myst_nb", "course_site", "made_files"]
html_title = "A book <of> its own"
html_favicon = "favicon.svg"
root_doc = "book/intro"
"""


@pytest.fixture
def build(tmp_path):
    """Return a function that builds a book of one page and returns the folder of its website."""
    text = "# Softmax\n\nIt takes {minutes}`softmax`. It comes as a notebook: {assignment}`softmax`.\n"
    write_site(tmp_path, CONF, {"favicon.svg": "<svg/>", "book/intro.md": text})
    return lambda: build_site(tmp_path)[0]


def test_a_page_links_to_a_notebook_from_the_build_on_in_which_there_is_one(build, tmp_path):
    site = build()
    page = site / "book" / "intro.html"
    assert "softmax.ipynb" in page.read_text()
    assert "assignments" not in page.read_text()
    assert not (site / "assignments").exists()

    notebook = tmp_path / "_build" / "assignments" / "softmax.ipynb"
    notebook.parent.mkdir()
    notebook.write_text("{}")
    assert build() == site
    assert '<a href="../assignments/softmax.ipynb" download>' in page.read_text()
    assert (site / "assignments" / "softmax.ipynb").read_text() == "{}"

    notebook.unlink()
    build()
    assert "assignments" not in page.read_text()
    assert not (site / "assignments").exists()


def test_a_page_says_how_long_its_exercises_take_as_their_notebook_does(build):
    least, most = answer_key.minutes(answer_key.load("softmax").values())
    said = f"{least} to {most} minutes."
    assert said in (build() / "book" / "intro.html").read_text()
    assert said in source_notebook("softmax", exercises.load("softmax", 0)).cells[0].source


def test_the_entrance_leads_to_the_first_page_and_has_an_icon(build):
    entrance = (build() / "index.html").read_text()
    assert 'content="0; url=book/intro.html"' in entrance
    assert '<link rel="icon" href="_static/favicon.svg">' in entrance
    assert "<title>A book &lt;of&gt; its own</title>" in entrance


def test_what_a_page_has_made_is_offered_also_when_the_website_is_built_anew(build, tmp_path):
    made = tmp_path / "_build" / "made" / "model.npz"
    made.parent.mkdir(parents=True)
    made.write_text("weights")
    site = build()
    assert (site / "made" / "model.npz").read_text() == "weights"
    shutil.rmtree(site)
    assert (build() / "made" / "model.npz").read_text() == "weights"
    made.unlink()
    assert not list((build() / "made").iterdir())


def test_a_page_knows_where_to_put_what_it_makes(build, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "book")
    publish = importlib.import_module("figures.moving").publish

    monkeypatch.setenv("COURSE_MADE_FILES", "elsewhere")
    build()
    (tmp_path / "own.npz").write_text("weights")
    assert publish(tmp_path / "own.npz") == "../made/own.npz"
    assert (tmp_path / "_build" / "made" / "own.npz").read_text() == "weights"
    monkeypatch.delenv("COURSE_MADE_FILES")
    assert publish(tmp_path / "own.npz") == "../made/own.npz"  # nothing is built: nothing is copied
