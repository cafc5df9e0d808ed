"""Punctuation stays with the formula before it, short names and numbers stay whole, and no text is lost or repeated."""

import pytest
from bs4 import BeautifulSoup

from tests.book.small_site import build_site, write_site

CONF = """
extensions = ["myst_nb", "katex_prerender", "line_breaks"]
html_math_renderer = "katex"
myst_enable_extensions = ["dollarmath"]
nb_execution_mode = "off"
"""
PAGE = """# Scores

In [here](https://example.org), [there](https://example.org), $a < b$, $c$, and [again](https://example.org), $d$.
Of 20 000 words 3/37 [3-21 %] and [0.5, 2]; `x [1, 2] 30 000`; $e$ is “$f$” last.

In note C, note E, line 9, are 3 million notes [^a], and $P(y \\mid x) = \\tanh(1 + 2 x + 3 y)$.

`--no-links` and `torch.nn.functional.scaled_dot_product_attention`

Of 14 symbols $a+b+c+d+e+f+gh$ and of 15 $a+b+c+d+e+f+ghi$, `torch.nn.utils.clip_norm` of 24 and `torch.nn.utils.clip_norm_` of 25.

At step $i$, position $j$ and $k$ are read.

| (batch, source_len) |
|---|
| (batch, key_size) |

A key_size outside a table.

[^a]: A note.
"""


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lines")
    write_site(folder, CONF, {"index.md": PAGE})
    site, warnings = build_site(folder, strict=False)
    assert warnings == ""
    return (site / "index.html").read_text(encoding="utf-8")


@pytest.fixture
def text(page):
    page = BeautifulSoup(page, "html.parser")
    for drawn in page.select(".katex-html"):
        drawn.decompose()  # the formula occurs a second time, for screen readers
    return page.select_one("div.body")


def test_each_sign_stands_once_and_in_its_place(text):
    paragraph = text.select("p")[0].text
    assert (
        paragraph
        == "In here, there, a<b, c, and again, d.\nOf 20\u00a0000 words 3/37 [3-21 %] and [0.5, 2]; x [1, 2] 30 000; e is “f” last."
    )
    held = [each.text for each in text.select(".together")]
    assert held == [
        "a<b,",
        "c,",
        "d.",
        "[3-21 %]",
        "[0.5, 2]",
        "“f”",
        "P(y∣x)=tanh\u2061(1+2x+3y).",
        "a+b+c+d+e+f+ghi,",
        "i,",
    ]


def test_what_is_named_by_a_letter_or_a_number_and_what_is_cited_stays_beside_it(text):
    paragraph = text.select("p")[1].text
    assert paragraph.startswith("In note\u00a0C, note\u00a0E, line\u00a09, are 3\u00a0million notes\u00a0[1], and")


def test_the_letter_of_a_step_or_a_position_stays_beside_its_noun(text):
    assert text.select("p")[4].text == "At step\u00a0i, position\u00a0j and k are read."


def test_a_name_is_called_long_where_it_is(text):
    long = {each.text: "long" in each.get("class", ()) for each in text.select("code")}
    assert long == {
        "x [1, 2] 30 000": False,
        "--no-links": False,
        "torch.nn.functional.scaled_dot_product_attention": True,
        "torch.nn.utils.clip_norm": False,
        "torch.nn.utils.clip_norm_": True,
    }


def test_a_formula_breaks_between_its_parts_and_a_long_name_at_its_joints(page):
    body = BeautifulSoup(page, "html.parser").select_one("div.body")
    breaks = [(len(each.select(".katex-html wbr")), "whole" in each["class"]) for each in body.select("span.math")]
    assert breaks == [(0, True), (0, True), (0, True), (0, True), (0, True), (4, False), (0, True), (6, False)] + 3 * [
        (0, True)
    ]
    names = [str(name).count("<wbr/>") for name in body.select("code")]
    assert names == [0, 0, 3, 0, 3]  # after each dot


def test_a_name_in_a_table_may_break_after_an_underscore(page):
    (table,) = BeautifulSoup(page, "html.parser").find_all("table")
    assert "(batch, source_<wbr/>len)" in str(table)
    assert "(batch, key_<wbr/>size)" in str(table)
    assert "key_size outside a table" in page
