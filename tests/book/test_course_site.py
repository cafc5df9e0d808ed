"""The website offers notebooks only where they exist, and gives full addresses only if its own is known."""

import importlib
import shutil
import xml.etree.ElementTree as ElementTree

import pytest
from bs4 import BeautifulSoup

from autograder import exercises
from autograder.notebooks.assemble import source_notebook
from autograder.paths import ROOT
from solutions import answer_key
from tests.book.small_site import build_site, write_site

CONF = """
extensions = ["myst_nb", "sphinxext.opengraph", "notfound.extension", "course_site"]
html_title = "A book <of> its own"
html_favicon = "favicon.svg"
root_doc = "book/intro"
ogp_social_cards = {"enable": False}
ogp_enable_meta_description = True
"""
ADDRESS = "https://attention.example.edu/course/"
INTRO = """# Softmax

It takes {minutes}`softmax`. And core: {core_path}`capstone`. It comes as a notebook: {assignment}`softmax`.

It is kept in {repository}`the source`.

```{toctree}
page
```
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The folder of a website that has no address, and one of whose pages has published a file."""
    folder = tmp_path_factory.mktemp("course-site")
    pages = {"book/intro.md": INTRO, "book/page.md": "# Page\n\nMore of it.\n"}
    write_site(folder, CONF, {"favicon.svg": "<svg/>", **pages})
    (folder / "_build" / "made").mkdir(parents=True)
    (folder / "_build" / "made" / "model.npz").write_text("weights")
    build_site(folder)
    return folder


@pytest.fixture(scope="module")
def site(folder):
    return folder / "_build" / "html"


def meta(page):
    tags = BeautifulSoup(page.read_text(), "html.parser").find_all("meta")
    return {tag.get("property") or tag.get("name"): tag.get("content") for tag in tags}


def links_of(page):
    return [tag["href"] for tag in BeautifulSoup(page.read_text(), "html.parser").find_all("a", href=True)]


def test_a_page_says_how_long_its_exercises_take_as_their_notebook_does(site):
    least, most = answer_key.minutes(answer_key.load("softmax").values())
    sentence = f"an estimated {least} to {most} minutes."
    assert sentence in (site / "book" / "intro.html").read_text()
    assert sentence in source_notebook("softmax", exercises.load("softmax", 0)).cells[0].source


def test_a_page_says_how_long_the_core_path_takes(site):
    core = [entry for entry in answer_key.load("capstone").values() if entry.core]
    least, most = answer_key.minutes(core)
    sentence = f"core: {len(core)} exercises, an estimated {round(least / 60)} to {round(most / 60)} hours."
    assert sentence in (site / "book" / "intro.html").read_text()


def test_where_the_address_of_the_repository_is_not_known_there_is_no_link(site):
    assert "It is kept in the source." in (site / "book" / "intro.html").read_text()


def test_the_entrance_leads_to_the_first_page_and_has_an_icon(site):
    entrance = (site / "index.html").read_text()
    assert 'content="0; url=book/intro.html"' in entrance
    assert '<link rel="icon" href="_static/favicon.svg">' in entrance
    assert "<title>A book &lt;of&gt; its own</title>" in entrance


def test_without_an_address_there_is_no_sitemap_and_the_site_is_taken_to_stand_at_the_top(site):
    assert not (site / "sitemap.xml").exists()
    assert {"/index.html", "/search.html"} <= set(links_of(site / "404.html"))


def test_a_page_knows_where_to_put_what_it_makes(folder, site, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "book")
    publish = importlib.import_module("figures.moving").publish
    (tmp_path / "own.npz").write_text("weights")
    assert publish(tmp_path / "own.npz") == "../made/own.npz"  # in the folder that the build has named
    assert (folder / "_build" / "made" / "own.npz").read_text() == "weights"
    (folder / "_build" / "made" / "own.npz").unlink()
    monkeypatch.delenv("COURSE_MADE_FILES")
    assert publish(tmp_path / "own.npz") == "../made/own.npz"  # outside a build, nothing is copied
    assert not (folder / "_build" / "made" / "own.npz").exists()


def test_what_pages_offer_follows_from_what_lies_beside_the_website(folder, site):
    page, notebook = site / "book" / "intro.html", folder / "_build" / "assignments" / "softmax.ipynb"
    assert "softmax.ipynb" in page.read_text()
    assert "assignments" not in page.read_text()
    assert not (site / "assignments").exists()
    assert (site / "made" / "model.npz").read_text() == "weights"

    notebook.parent.mkdir()
    notebook.write_text("{}")
    shutil.rmtree(site)
    build_site(folder)
    assert '<a href="../assignments/softmax.ipynb" download>' in page.read_text()
    assert (site / "assignments" / "softmax.ipynb").read_text() == "{}"
    assert (site / "made" / "model.npz").read_text() == "weights"  # though no page was run

    notebook.unlink()
    (folder / "_build" / "made" / "model.npz").unlink()
    build_site(folder)
    assert "assignments" not in page.read_text()
    assert not (site / "assignments").exists()
    assert not (site / "made").exists()


@pytest.mark.parametrize("address", [ADDRESS, ADDRESS.rstrip("/")])
def test_with_addresses_the_sitemap_lists_every_page_a_dead_link_finds_them_and_pages_link_to_the_repository(
    folder, site, address
):
    (folder / "source" / "conf.py").write_text(
        (folder / "source" / "conf.py").read_text()
        + f"html_baseurl = {address!r}\ncourse_repository = 'https://git.example.edu/course'\n"
    )
    build_site(folder)
    assert "https://git.example.edu/course" in links_of(site / "book" / "intro.html")
    tree = ElementTree.parse(site / "sitemap.xml")
    pages = [element.text for element in tree.iter("{http://www.sitemaps.org/schemas/sitemap/0.9}loc")]
    assert pages == [f"{ADDRESS}book/intro.html", f"{ADDRESS}book/page.html"]
    assert {"/course/index.html", "/course/search.html"} <= set(links_of(site / "404.html"))
    meta_tags = meta(site / "book" / "page.html")
    assert (meta_tags["og:url"], meta_tags["og:site_name"]) == (f"{ADDRESS}book/page.html", "A book <of> its own")
    assert meta_tags["description"] == meta_tags["og:description"] == "More of it."


PAGE = """---
jupytext:
  text_representation: {extension: .md, format_name: myst}
kernelspec:
  name: python3
---

# Page

```{code-cell} python
import json
import sys

import ipykernel

print(json.load(open(ipykernel.get_connection_file()))["transport"])
print("the reason", file=sys.stderr)
```
"""


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """The page that ran in a kernel, and the warnings of its build."""
    folder = tmp_path_factory.mktemp("ran")
    write_site(folder, f'{CONF}nb_output_stderr = "error"\n', {"favicon.svg": "<svg/>", "book/intro.md": PAGE})
    site, warnings = build_site(folder, strict=False)
    return (site / "book/intro.html").read_text(encoding="utf-8"), warnings


def test_what_a_cell_writes_to_stderr_is_in_the_log(ran):
    assert "intro.md:12: ERROR: a cell wrote to stderr: the reason" in ran[1]


def test_a_page_runs_in_a_kernel_that_no_other_program_can_send_messages_to(ran):
    assert "ipc" in ran[0]
