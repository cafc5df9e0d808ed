"""The card at the top of a chapter says what there is to do, and leads there."""

import pytest
from bs4 import BeautifulSoup

from solutions import answer_key
from tests.book.small_site import build_site, write_site

CONF = """
extensions = ["myst_nb", "course_site", "assignment_card"]
html_favicon = "favicon.svg"
root_doc = "book/intro"
course_hosts = {"Binder": "https://hosted.example.edu/?path={notebook}&now"}
"""


@pytest.fixture
def build(tmp_path):
    """Return a function that builds a chapter and another page, and returns the soup of both."""
    intro = "# Book\n\nAll.\n\n```{toctree}\nsoftmax\n```\n"
    chapter = "# Softmax\n\n**You will** learn.\n\n## Exercises\n\nHere.\n"
    write_site(tmp_path, CONF, {"favicon.svg": "<svg/>", "book/intro.md": intro, "book/softmax.md": chapter})

    def build():
        site, _ = build_site(tmp_path)
        pages = (site / "book" / f"{name}.html" for name in ("softmax", "intro"))
        return [BeautifulSoup(page.read_text(), "html.parser") for page in pages]

    return build


def links_of(card):
    return {link.text: link["href"] for link in card.find_all("a")}


def test_a_chapter_says_after_its_first_paragraph_what_there_is_to_do(build):
    chapter, other = build()
    (card,) = chapter.find_all(class_="assignment-card")
    entries = answer_key.load("softmax").values()
    least, most = answer_key.minutes(entries)
    points = sum(entry.points for entry in entries)
    said = f"{len(entries)} exercises, {points:g} points, {least} to {most} minutes"
    assert card.span.text == said
    assert card.find_previous_sibling("p").text == "You will learn."
    assert chapter.find(id="exercises")
    assert links_of(card) == {"To the exercises": "#exercises"}  # nobody has made a notebook
    assert not other.find_all(class_="assignment-card")


def test_where_there_is_a_notebook_it_can_be_downloaded_and_opened_where_the_course_says(build, tmp_path):
    notebook = tmp_path / "_build" / "assignments" / "softmax.ipynb"
    notebook.parent.mkdir(parents=True)
    notebook.write_text("{}")
    chapter, _ = build()
    links = links_of(chapter.find(class_="assignment-card"))
    assert links["Download the notebook"] == "../assignments/softmax.ipynb"
    assert links["Open in Binder"] == "https://hosted.example.edu/?path=softmax.ipynb&now"
