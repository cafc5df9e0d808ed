"""The extension that lets what a reader sees first arrive first: fonts of formulas early, scripts late, far sections later."""

import re
import sys

import pytest
from bs4 import BeautifulSoup

from tests.book.small_site import build_site, write_site

CONF = """
extensions = ["myst_nb", "sphinx_copybutton", "formulas_in_place", "light_theme", "first_sight"]
myst_enable_extensions = ["dollarmath"]
html_theme = "sphinx_book_theme"
html_context = {"default_mode": "auto"}
html_math_renderer = "katex"
"""
PAGES = {
    "index.md": "# Words\n\n```{toctree}\ndeep/formulas\n```\n",
    "deep/formulas.md": "# Formulas\n\nIt is $x$.\n\n```python\nx = 1\n```\n",
}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("first")
    write_site(folder, CONF, PAGES)
    return build_site(folder)[0]


@pytest.fixture(scope="module")
def first_sight(site):
    return sys.modules["first_sight"]  # which the build has imported


def head(site, page):
    return BeautifulSoup((site / page).read_text(encoding="utf-8"), "html.parser").head


def test_only_a_page_with_formulas_asks_for_their_fonts_and_they_are_there(site):
    assert head(site, "index.html").select('link[rel="preload"]') == []
    asked = head(site, "deep/formulas.html").select('link[rel="preload"]')
    names = {(site / "deep" / link["href"]).resolve().relative_to(site.resolve()).as_posix() for link in asked}
    assert len(names) == 2
    assert all((site / name).is_file() for name in names)
    sheet = (site / "_static" / "katex" / "katex.css").read_text(encoding="utf-8")
    for link, name in zip(asked, sorted(names), strict=True):
        assert (link["as"], link["type"]) == ("font", "font/woff2")
        assert link.has_attr("crossorigin")  # or the browser asks twice
        assert name.removeprefix("_static/katex/") in sheet


def test_the_fonts_are_chosen_by_family_and_style_and_not_by_name(first_sight):
    faces = [
        ("KaTeX_Main", "normal", "700", "bold.woff2"),
        ("KaTeX_Main", "normal", "400", "a.woff"),
        ("KaTeX_Math", "italic", "400", "b.woff2"),
        ("KaTeX_AMS", "normal", "400", "c.woff2"),
    ]
    rule = '@font-face{{font-family:"{}";font-style:{};font-weight:{};src:url(fonts/{}) format("woff2")}}'
    sheet = "".join(rule.format(*face) for face in faces)
    assert first_sight.first_fonts(sheet) == ["fonts/a.woff", "fonts/b.woff2"]


@pytest.mark.parametrize("page", ["index.html", "deep/formulas.html"])
def test_no_script_keeps_the_text_waiting_and_what_the_options_say_stands_before_they_change(site, page):
    scripts = head(site, page).select("script")
    waited_for = [each["src"] for each in scripts if each.has_attr("src") and not {"defer", "async"} & set(each.attrs)]
    assert waited_for == []
    assert sum(each.has_attr("src") for each in scripts) > 2
    texts = [each.get_text() for each in scripts]
    (stated,) = (n for n, text in enumerate(texts) if re.search(r"const DOCUMENTATION_OPTIONS\s*=", text))
    assert stated < min(n for n, text in enumerate(texts) if "DOCUMENTATION_OPTIONS." in text)


def test_a_page_that_is_not_written_anew_is_arranged_anew(site, first_sight):
    page = (site / "deep" / "formulas.html").read_text(encoding="utf-8")
    once = first_sight.arrange(page, ["other.woff2?v=1"], "the options")
    assert once.count('rel="preload"') == once.count("other.woff2") == once.count("content-visibility") == 1
    assert 'as="font" type="font/woff2"' in once
    assert first_sight.arrange(once, ["other.woff2?v=1"], "the options") == once
