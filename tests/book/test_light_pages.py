"""The extension that makes pages light: they look as they did, and say it in fewer bytes."""

import re
import sys

import pytest
from bs4 import BeautifulSoup

from tests.book.small_site import build_site, write_site

pytestmark = pytest.mark.turns(3)

CONF = """
extensions = ["myst_nb", "formulas_in_place", "light_fonts", "light_pages", "light_theme"]
myst_enable_extensions = ["dollarmath"]
html_theme = "sphinx_book_theme"
html_context = {"default_mode": "auto"}
html_math_renderer = "katex"
"""
PAGE = r"""# Page

It is $\frac{e_j}{\sqrt{d}}$.

```python
def scores(x):
    # two
    #   lines

    return x + "a" * 2
```
"""
LIGHT = 'html[data-theme="light"] .highlight { background: #fff; color: #000 }\n'
DARK = 'html[data-theme="dark"] .highlight { background: #000; color: #fff }\n'
MODES = ("light", "dark")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    write_site(folder, CONF, {"index.md": PAGE})
    for _ in range(2):  # the second time no page is written, and the style of formulas is
        site = build_site(folder)[0]
    return site


@pytest.fixture(scope="module")
def light_pages(site):
    return sys.modules["light_pages"]  # which the build has imported


@pytest.fixture(scope="module")
def page(site):
    return BeautifulSoup((site / "index.html").read_text(encoding="utf-8"), "html.parser")


def test_each_length_of_a_formula_is_a_class_that_has_a_rule(site, page):
    sheet = (site / "_static" / "katex" / "katex.css").read_text(encoding="utf-8")
    drawn = page.select(".katex-html *")
    lengths = {name for each in drawn for name in each.get("class", []) if re.fullmatch(r"[A-Z]-?\d+", name)}
    assert len(lengths) > 8
    for name in lengths:
        declared = re.findall(rf"\.katex \.{name}\{{([^}}]*)\}}", sheet)
        assert len(declared) == 1
        assert float(re.search(r":(-?[\d.]+)em", declared[0])[1]) == int(name[1:]) / 100
    assert not [each["style"] for each in drawn if re.search(r"\dem", each.get("style", ""))]


def test_the_end_of_a_stack_of_indices_is_of_the_style(site, page):
    assert page.select(".katex-html .vlist-t2")
    assert not page.select(".vlist-s")
    sheet = (site / "_static" / "katex" / "katex.css").read_text(encoding="utf-8")
    assert '.vlist-t2>.vlist-r:first-child::after{content:"\\200b";display:table-cell' in sheet


def test_code_keeps_its_letters_and_its_lines_and_the_marks_that_have_a_colour(page):
    code = page.select_one(".highlight pre")
    assert code.text == 'def scores(x):\n    # two\n    #   lines\n\n    return x + "a" * 2\n'
    assert {mark["class"][0] for mark in code.select("span[class]")} == {"k", "nf", "c1", "s2", "mi"}


def test_what_has_the_colour_of_the_rest_in_one_mode_only_stays_marked(light_pages):
    marks = [
        f'html[data-theme="{mode}"] .highlight .{mark} {{ color: {colour} }} /* A name */\n'
        for mark, colours in {"p": ("#000", "#fff"), "k": ("#000", "#abc"), "n": ("#000", "#fff")}.items()
        for mode, colour in zip(MODES, colours, strict=True)
    ]
    bold = 'html[data-theme="light"] .highlight .gs { color: #000; font-weight: bold }\n'
    assert light_pages.plain("".join([LIGHT, DARK, *marks, bold])) - light_pages.PLAIN == {"p", "n"}


@pytest.mark.parametrize(
    ("written", "light"),
    [
        ("<p>\n    One\n\n    two</p>", "<p>\nOne\ntwo</p>"),
        ("<p>a  b</p>", "<p>a  b</p>"),
        ("<pre>  a\n\n  b</pre>\n\n  <b>", "<pre>  a\n\n  b</pre>\n<b>"),
        ("<script>\n  a\n\n</script><textarea>\n\n</textarea>", "<script>\n  a\n\n</script><textarea>\n\n</textarea>"),
        ('<pre><span class="n">x</span><span class="k">if</span></pre>', '<pre>x<span class="k">if</span></pre>'),
        ("<td>\n  <b>1</b>\n  <i>2</i>\n  </td>\n  <td>", "<td>\n<b>1</b>\n<i>2</i></td><td>"),
        ("<head><!-- a remark --><title></head><!-- a mark -->", "<head><title></head><!-- a mark -->"),
        ('<p><span class="n">x</span></p>', '<p><span class="n">x</span></p>'),
    ],
)
def test_of_a_page_only_what_nobody_sees_is_left_out(light_pages, written, light):
    assert light_pages.lighter(written, {"n"}) == light
    assert light_pages.lighter(light, {"n"}) == light


@pytest.mark.parametrize(("length", "name"), [("0.2778", "28"), ("0.2749", "27"), ("-0.2778", "-28"), ("1", "100")])
def test_the_length_of_a_formula_is_rounded_to_the_nearest_hundredth(light_pages, length, name):
    (style,) = (style for style in light_pages.LENGTHS if style == "height")
    written = f'<span class="strut" style="{style}:{length}em;">'
    shown = light_pages.STYLED.sub(light_pages._by_class, written)
    assert f"{light_pages.LENGTHS[style]}{name}" in shown
