"""One style sheet for all pages keeps the order of each page's rules, and leaves out what no page uses."""

import re
from graphlib import CycleError

import pytest

from tests.book.small_site import import_extension

css_bundle = import_extension("css_bundle")


@pytest.mark.parametrize(
    ("sheet", "expected"),
    [
        (".used{a:b}.unused{c:d}", ".used{a:b}"),
        (".unused,.used:hover,p{a:b}", ".unused,.used:hover,p{a:b}"),
        (".unused,.other:hover{a:b}", ""),
        (".used .unused{a:b}", ""),
        (".used:not(.unused,.other){a:b}", ".used:not(.unused,.other){a:b}"),
        ('[data-x=".unused"]{a:b}', "[data-x=\\.unused]{a:b}"),
        ("@media print{.unused{a:b}}", ""),
        ("@media print{.used{a:b}.unused{c:d}}p{e:f}", "@media print{.used{a:b}}p{e:f}"),
        ('@import "x.css";.used{a:b}', '@import "x.css";.used{a:b}'),
        ("@font-face{src:url(x)}", "@font-face{src:url(x)}"),
    ],
)
def test_rules_for_what_is_on_no_page_are_left_out(sheet, expected):
    assert css_bundle.purge(sheet, {"used"}) == expected


def test_only_sheets_of_others_lose_rules_and_addresses_lead_where_they_led(tmp_path):
    (tmp_path / "katex").mkdir()
    (tmp_path / "katex" / "katex.css").write_text("@font-face{src:url(fonts/a.woff)}.b{top:0}", encoding="utf-8")
    (tmp_path / "own.css").write_text(".c{background: url('d.svg'), url(data:x)}", encoding="utf-8")
    sheet = css_bundle.bundle(tmp_path, ["katex/katex.css", "own.css"], set())
    assert re.findall(r"\.(\w)\{", sheet) == ["c"]
    assert re.findall(r"url\(([^)]*)\)", sheet) == ['"katex/fonts/a.woff"', '"d.svg"', "data:x"]


def test_styles_that_pages_have_in_two_orders_are_refused():
    assert css_bundle.sort_names([["a", "b"], ["a", "c"]])[0] == "a"
    for first, second in ("xy", "yx"):
        names = css_bundle.sort_names([["a", "x", "b"], ["a", "y", "b"], ["a", first, second, "b"]])
        assert names == ["a", first, second, "b"]
    with pytest.raises(CycleError):
        css_bundle.sort_names([["a", "b"], ["b", "a"]])
