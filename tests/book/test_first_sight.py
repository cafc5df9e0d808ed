"""The extension that lets what a reader sees first arrive first: fonts of formulas early, scripts late, far sections later."""

import re
import sys
from graphlib import CycleError

import pytest
from bs4 import BeautifulSoup

from tests.book.small_site import build_site, write_site

pytestmark = pytest.mark.turns(3)

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


def test_a_page_has_its_colours_before_any_script_of_the_theme_runs(site):
    text = (site / "index.html").read_text(encoding="utf-8")
    assert BeautifulSoup(text, "html.parser").html["data-theme"] == "light"  # where scripts are off
    assert "prefers-color-scheme: dark" in text[: text.index("</head>")]
    assert '"auto";' not in text.replace('getItem("mode") || "auto";', "")  # nor does the theme's own decision follow


def test_a_page_that_is_not_written_anew_is_arranged_anew(site, first_sight):
    page = (site / "deep" / "formulas.html").read_text(encoding="utf-8")
    once = first_sight.arrange(page, ["other.woff2?v=1"], "the options")
    assert once.count('rel="preload"') == once.count("other.woff2") == 1
    assert 'as="font" type="font/woff2"' in once
    assert first_sight.arrange(once, ["other.woff2?v=1"], "the options") == once


def test_the_pages_ask_for_one_file_of_styles_that_has_all_of_theirs_in_their_order(site):
    for page in ("index.html", "deep/formulas.html"):
        asked = [link["href"] for link in head(site, page).select('link[rel="stylesheet"]')]
        assert len(asked) == 1
        path, _, version = asked[0].partition("?v=")
        assert (site / page).parent.joinpath(path).resolve() == (site / "_static" / "book.css").resolve()
        assert re.fullmatch(r"\w{12}", version)
    sheet = (site / "_static" / "book.css").read_text(encoding="utf-8")
    names = re.match(r"/\*! (.*) \*/\n", sheet)[1].split()
    assert {"basic.css", "pygments.css", "katex/katex.css", "copybutton.css"} <= set(names)
    assert names.index("basic.css") < names.index("styles/pydata-sphinx-theme.css") < names.index("katex/katex.css")
    assert "content-visibility" in sheet
    for address in re.findall(r"url\([\"']?(?!data:)([^\"')?]+)", sheet):
        assert (site / "_static" / address).is_file(), address


def test_a_page_that_is_not_written_anew_keeps_its_styles_when_another_is(site, first_sight, tmp_path):
    for name in ("a.css", "b.css", "c.css"):
        (tmp_path / name).write_text(f".{name[0]}{{top:0}}", encoding="utf-8")
    link = '<link rel="stylesheet" href="../_static/{}?v=1"/>\n'
    printed = '<link media="print" rel="stylesheet" href="../_static/print.css">\n'
    old = f"<head>{link.format('a.css')}{printed}{link.format('c.css')}</head>"
    (one,) = first_sight.join_styles(tmp_path, {"one": old}).values()
    assert re.findall(r'href="([^"?]*)', one) == ["../_static/book.css", "../_static/print.css"]
    new = f"<head>{link.format('b.css')}{link.format('c.css')}</head>"
    pages = first_sight.join_styles(tmp_path, {"one": one, "two": new})
    assert re.findall(r"\.(\w)\{top", (tmp_path / "book.css").read_text(encoding="utf-8")) == ["a", "b", "c"]
    versions = {re.search(r"book\.css\?v=(\w+)", text)[1] for text in pages.values()}
    assert len(versions) == 1
    assert versions.isdisjoint(re.findall(r"book\.css\?v=(\w+)", one))


def styled(*names):
    links = (f'<link rel="stylesheet" href="_static/{name}.css"/>\n' for name in names)
    return f"<head>{''.join(links)}</head>"


@pytest.fixture
def sheets(tmp_path):
    for name in "abxy":
        (tmp_path / f"{name}.css").write_text(f".{name}{{top:0}}", encoding="utf-8")
    return tmp_path


def in_sheet(folder):
    return re.findall(r"\.(\w)\{top", (folder / "book.css").read_text(encoding="utf-8"))


def test_where_all_pages_are_written_anew_nothing_is_kept_of_their_earlier_styles(sheets, first_sight):
    first_sight.join_styles(sheets, {"one": styled("a", "x"), "two": styled("a", "b")})
    first_sight.join_styles(sheets, {"one": styled("b", "a"), "two": styled("b")})  # in another order, and without x
    assert in_sheet(sheets) == ["b", "a"]


def test_an_order_that_no_page_has_asked_for_binds_no_page_that_comes_later(sheets, first_sight):
    pages = first_sight.join_styles(sheets, {"one": styled("a", "x", "b"), "two": styled("a", "y", "b")})
    for first, second in ("xy", "yx"):
        first_sight.join_styles(sheets, {**pages, "three": styled("a", first, second, "b")})
        assert in_sheet(sheets) == ["a", first, second, "b"]
        first_sight.join_styles(sheets, {"one": styled("a", "x", "b"), "two": styled("a", "y", "b")})


def test_styles_that_pages_have_in_two_orders_are_refused(first_sight):
    assert first_sight.in_order([["a", "b"], ["a", "c"]])[0] == "a"
    with pytest.raises(CycleError):
        first_sight.in_order([["a", "b"], ["b", "a"]])
