"""Tables that an exercise compares: one if they are wide, side by side if they are small, and shaded if they are heat maps."""

import pytest
from bs4 import BeautifulSoup

from tests.book.small_site import build_site, write_site

CONF = 'extensions = ["myst_nb", "sphinx_exercise", "compared_tables"]\n'
WIDE = "| step | 1 | 2 | 3 | 4 | 5 |\n|---|---|---|---|---|---|\n| loss | {} | 2.0 | 3.0 | 4.0 | 5.0 |\n"
SMALL = "| step | 1 | pad |\n|---|---:|---:|\n| 1 | {} | −0.20 |\n"
PAGE = """# Page

```{{exercise}} Curves
:label: curves

**Without a bug**

{wide[0]}
Which is which?

**Run A**

{wide[1]}
**Run B**

{wide[2]}
Say why.
```

```{{exercise}} Maps
:label: softmax-broken_maps

**Table A**

{small[0]}
**Table B**

{small[1]}
```

**Table C**

{small[0]}
**Table D**

{small[1]}
"""


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("compared")
    wide, small = map(WIDE.format, ("1.5", "1.6", "1.7")), map(SMALL.format, ("0.25", "1.20"))
    write_site(folder, CONF, {"index.md": PAGE.format(wide=list(wide), small=list(small))})
    return BeautifulSoup((build_site(folder)[0] / "index.html").read_text(encoding="utf-8"), "html.parser")


def rows_of(table):
    return [[cell.text.strip() for cell in row.find_all(["td", "th"])] for row in table.find_all("tr")]


def test_wide_tables_with_one_head_are_one_table_in_which_their_names_begin_groups_of_rows(page):
    alone, joined = page.select("#curves table")
    assert rows_of(alone)[1][1] == "1.5"
    assert [row[:2] for row in rows_of(joined)] == [
        ["step", "1"],
        ["Run A"],
        ["loss", "1.6"],
        ["Run B"],
        ["loss", "1.7"],
    ]
    assert [cell["colspan"] for cell in joined.select("td[colspan]")] == ["6", "6"]
    paragraphs = [one.text for one in page.select("#curves section > p")]
    assert paragraphs == ["Without a bug", "Which is which?", "Say why."]


def test_small_tables_of_an_exercise_are_side_by_side_below_their_names(page):
    (beside,) = page.select(".tables-beside")
    assert beside.find_parent(id="softmax-broken_maps")
    pairs = beside.find_all("div", recursive=False)
    assert [pair.p.text for pair in pairs] == ["Table A", "Table B"]
    assert [rows_of(pair.table)[1][1] for pair in pairs] == ["0.25", "1.20"]


def test_the_numbers_of_heat_maps_are_shaded_by_their_value_and_no_others(page):
    shaded = [(cell.text, cell["style"]) for cell in page.select(".weight")]
    assert shaded == [("0.25", "--w:25%"), ("−0.20", "--w:0%"), ("1.20", "--w:100%"), ("−0.20", "--w:0%")]
    assert all(cell.find_parent(id="softmax-broken_maps") for cell in page.select(".weight"))
