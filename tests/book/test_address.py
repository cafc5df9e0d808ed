"""Where the website will stand is said once, and followed wherever an address must be whole."""

import xml.etree.ElementTree as ElementTree

import pytest
from bs4 import BeautifulSoup

from tests.book.small_site import build_site, write_site

CONF = """
extensions = ["sphinxext.opengraph", "notfound.extension", "address"]
html_title = "A course & more"
ogp_social_cards = {"enable": False}
ogp_enable_meta_description = True
"""


@pytest.fixture
def build(tmp_path):
    """Return a function that builds a small site for an address, and returns its folder."""

    def build(address):
        book = "Book\n====\n\nWhat it is about.\n\n.. toctree::\n\n   sub/page\n"
        pages = {"index.rst": book, "sub/page.rst": "Page\n====\n\nMore of it.\n"}
        write_site(tmp_path, CONF + f"html_baseurl = {address!r}\n", pages)
        return build_site(tmp_path)[0]

    return build


def meta(page):
    found = BeautifulSoup(page.read_text(), "html.parser").find_all("meta")
    return {tag.get("property") or tag.get("name"): tag.get("content") for tag in found}


def links_of(page):
    return [tag["href"] for tag in BeautifulSoup(page.read_text(), "html.parser").find_all("a", href=True)]


def test_with_an_address_the_sitemap_lists_every_page_and_a_dead_link_finds_them(build):
    site = build("https://attention.example.edu/course/")
    tree = ElementTree.parse(site / "sitemap.xml")
    pages = [element.text for element in tree.iter("{http://www.sitemaps.org/schemas/sitemap/0.9}loc")]
    base = "https://attention.example.edu/course/"
    assert pages == [f"{base}index.html", f"{base}sub/page.html"]
    assert {"/course/index.html", "/course/search.html"} <= set(links_of(site / "404.html"))
    told = meta(site / "sub" / "page.html")
    assert (told["og:url"], told["og:site_name"]) == (f"{base}sub/page.html", "A course & more")
    assert told["description"] == told["og:description"] == "More of it."


def test_without_one_there_is_no_sitemap_and_the_site_is_taken_to_stand_at_the_top(build):
    site = build("")
    assert not (site / "sitemap.xml").exists()
    assert {"/index.html", "/search.html"} <= set(links_of(site / "404.html"))
