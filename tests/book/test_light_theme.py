"""The extension that makes the theme light: what it takes out of styles, of fonts and of pages."""

import re
import sys

import pytest
from fontTools.ttLib import TTFont

from tests.book.small_site import build_site, write_site

pytestmark = pytest.mark.turns(3)

CONF = """
extensions = ["myst_nb", "sphinx_design", "sphinx_copybutton", "sphinx_togglebutton", "light_theme"]
html_theme = "sphinx_book_theme"
html_context = {"default_mode": "auto"}
"""
PLAIN = "# Plain\n\nText, nothing else.\n"
CHAPTER = "# Chapter\n\n## Exercises\n\nThe first one.\n"
TOGGLE = "# Toggle\n\n```{admonition} Title\n:class: dropdown\nIts text\n```\n"
CARD = "# Card\n\n```{card} A title\nIts text\n```\n\n```python\nx = 1\n```\n"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("light")
    index = f"{PLAIN}\n```{{toctree}}\ncard\nchapter\ntoggle\n```\n"
    write_site(folder, CONF, {"index.md": index, "chapter.md": CHAPTER, "toggle.md": TOGGLE, "card.md": CARD})
    return build_site(folder)[0]


@pytest.fixture(scope="module")
def light_theme(site):
    return sys.modules["light_theme"]  # which the build has imported


def asked(site, page):
    text = (site / page).read_text(encoding="utf-8")
    return {address.partition("?")[0] for address in re.findall(r'(?:src|href)="(_static[^"]*)"', text)}


def test_a_page_asks_for_what_it_holds_and_no_page_for_fontawesome_or_the_index_of_the_search(site):
    plain, card = asked(site, "index.html"), asked(site, "card.html")
    assert plain < card
    assert {address.rpartition("/")[2] for address in card - plain} >= {"design-tabs.js", "copybutton.js"}
    for page in ("index.html", "card.html"):
        text = (site / page).read_text(encoding="utf-8")
        assert not re.search(r"fontawesome|searchindex\.js|searchtools\.js", text)
    assert "searchindex.js" in (site / "search.html").read_text(encoding="utf-8")


def test_a_script_that_is_not_asked_for_is_not_told_anything(site):
    texts = [(site / page).read_text(encoding="utf-8") for page in ("index.html", "toggle.html")]
    assert ["togglebuttonSelector" in text for text in texts] == [False, True]


def test_a_page_says_its_title_once_as_a_heading(site):
    for page in ("card.html", "chapter.html"):
        assert len(re.findall(r"<h1\b", (site / page).read_text(encoding="utf-8"))) == 1


def test_only_a_page_with_exercises_has_a_link_that_skips_to_them(site):
    skips = {
        page: (site / f"{page}.html").read_text(encoding="utf-8").count('<a href="#exercises">Skip')
        for page in ("card", "chapter")
    }
    assert skips == {"card": 0, "chapter": 1}


def test_what_a_page_asks_for_is_there(site):
    for page in ("index.html", "card.html", "search.html"):
        for address in asked(site, page):
            assert (site / address).is_file(), (page, address)
    assert not (site / "_static" / "vendor" / "fontawesome").exists()


def test_the_font_of_icons_has_those_that_are_named_and_few_others(site, light_theme):
    letters = TTFont(site / "_static" / "styles" / "icons.woff").getBestCmap()
    style = (site / "_static" / light_theme.STYLE).read_text(encoding="utf-8")
    drawn = {int(code, 16) for _, code in light_theme.NAMED.findall(style)}
    assert set(light_theme.DRAWN_BY_STYLES) | drawn <= set(letters)
    assert len(letters) < 50
    assert (site / "_static" / "styles" / "icons.woff").stat().st_size < 10_000


@pytest.mark.parametrize(
    ("sheet", "left"),
    [
        (".used{a:b}.unused{c:d}", ".used{a:b}"),
        (".unused,.used:hover,p{a:b}", ".used:hover,p{a:b}"),
        (".used .unused{a:b}", ""),
        (".used:not(.unused,.other){a:b}", ".used:not(.unused,.other){a:b}"),
        ('[data-x=".unused"]{a:b}', '[data-x=".unused"]{a:b}'),
        ("@media print{.unused{a:b}}", ""),
        ("@media print{.used{a:b}.unused{c:d}}p{e:f}", "@media print{.used{a:b}}p{e:f}"),
        ('@import "x.css";.used{a:b}', '@import "x.css";.used{a:b}'),
        ("@font-face{src:url(x)}", "@font-face{src:url(x)}"),
    ],
)
def test_rules_for_what_is_on_no_page_are_left_out(light_theme, sheet, left):
    assert light_theme.without_unused(sheet, {"used"}) == left
