"""The course lists every item of the notes and every slip in them; the tests read the pages as text."""

import re

import pytest

from autograder.paths import ROOT

BOOK = ROOT / "book"
ITEMS = {"A": 14, "B": 9, "C": 13, "D": 16, "E": 8}
SLIPS = {"A": 17, "B": 7, "C": 11, "D": 23, "E": 22, "X": 3}
OUTRIGHT_ERRORS = ["A-1", "A-7", "A-9", "D-1", "D-2", "D-5", "D-13", "E-1", "E-2", "E-3", "E-4", "E-12"]

ENTRY = re.compile(
    r"^\((?P<target>[a-ex]-\d+)\)=\n"
    r"\*\*(?P<id>[A-EX]-\d+) · [^\n]+\*\* \(lines? \d[^\n]*\)\n\n"
    r"(?P<body>.*?)(?=^\(|^##)",
    flags=re.MULTILINE | re.DOTALL,
)
ROW = re.compile(
    r"^\| \[(?P<id>[A-EX]-\d+)\]\{#(?P<target>[a-ex]-\d+)\}(?P<lines>[^|]*) "
    r"\| (?P<says>[^|]+) \| (?P<right>[^|]+?)(?: \((?P<page>\[[^|]*\.md\))\))? \|$",
    flags=re.MULTILINE,
)
ITEM = re.compile(
    r"^- \*\*(?P<id>[A-E]\d+)\*\* \((?P<place>\d[^)]*)\), (?P<where>\[.+\)): (?P<what>.{3,})$",
    flags=re.MULTILINE,
)
LINK = re.compile(r"\{ref\}`([A-EX]-\d+) <([^>]+)>`")


@pytest.fixture(scope="module")
def sources():
    return (BOOK / "sources.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def errata():
    return (BOOK / "errata.md").read_text(encoding="utf-8")


def numbered(counts, dash=""):
    return [f"{note}{dash}{number}" for note, count in counts.items() for number in range(1, count + 1)]


def test_every_item_of_the_notes_has_one_entry_in_their_order(sources):
    assert [item["id"] for item in ITEM.finditer(sources)] == numbered(ITEMS)
    assert sum(ITEMS.values()) == 60


def test_every_entry_under_a_note_is_an_item_of_that_note(sources):
    for note, section in re.findall(r"^## Note ([A-E])\n(.*?)(?=^## )", sources, flags=re.MULTILINE | re.DOTALL):
        bold = re.findall(r"^- \*\*(\w+)\*\*", section, flags=re.MULTILINE)
        assert bold == numbered({note: ITEMS[note]})


def test_every_item_links_to_pages_that_exist(sources):
    for item in ITEM.finditer(sources):
        links = re.findall(r"\[[^]]+\]\((\w+)\.md\)", item["where"])
        assert links, item["id"]
        assert all((BOOK / f"{name}.md").is_file() for name in links), (item["id"], links)


def test_every_slip_is_either_an_error_in_full_or_a_row_of_the_table_in_the_order_of_the_notes(errata):
    in_full = [entry["id"] for entry in ENTRY.finditer(errata)]
    assert in_full == OUTRIGHT_ERRORS
    rest = [row["id"] for row in ROW.finditer(errata)]
    assert rest == [slip for slip in numbered(SLIPS, "-") if slip not in in_full]
    assert len(re.findall(r"^\*\*[A-EX]-\d+|^\| *\[[A-EX]-\d+", errata, flags=re.MULTILINE)) == 83


def test_every_slip_has_a_target_and_a_row_names_lines_and_pages_that_exist(errata):
    for slip in (*ENTRY.finditer(errata), *ROW.finditer(errata)):
        assert slip["target"] == slip["id"].lower()
    for row in ROW.finditer(errata):
        assert re.match(r", \d", row["lines"]) or row["id"].startswith("X"), row["id"]
        assert len(row[0].split()) < 45, row["id"]
        assert all((BOOK / page).is_file() for page in re.findall(r"\]\(([^)]+)\)", row["page"] or "")), row["id"]


def test_every_link_to_a_slip_names_one_that_is_on_the_page(errata):
    targets = {slip["target"] for slip in (*ENTRY.finditer(errata), *ROW.finditer(errata))}
    links = [link for page in BOOK.glob("*.md") for link in LINK.findall(page.read_text(encoding="utf-8"))]
    assert len(links) > 30
    for shown, target in links:
        assert shown.lower() == target
        assert target in targets, target


def test_an_item_of_the_notes_links_to_outright_errors_and_to_nothing_else(sources):
    linked = [shown for shown, _ in LINK.findall(sources)]
    assert sorted(linked) == sorted(OUTRIGHT_ERRORS)


def test_every_error_in_full_shows_a_number_or_a_message_that_its_own_cell_computes(errata):
    computed = re.findall(r"^glue\(\"([^\"]+)\"", errata, flags=re.MULTILINE)
    assert len(computed) == len(set(computed))
    used = []
    for entry in ENTRY.finditer(errata):
        names = re.findall(r"\{glue:text\}`([^`:]+)", entry["body"])
        assert {re.match(r"[A-E]-\d+", name)[0] for name in names} == {entry["id"]}
        used += names
    assert sorted(used) == sorted(computed)
