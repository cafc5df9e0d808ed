"""The course lists every item of the notes and every slip in them; the tests read both pages as text."""

import re

import pytest

from autograder.paths import ROOT

BOOK = ROOT / "book"
ITEMS = {"A": 14, "B": 9, "C": 13, "D": 16, "E": 8}
SLIPS = {"A": 17, "B": 7, "C": 11, "D": 23, "E": 22, "X": 3}
NEED_NO_NUMBER = {"notation", "typo"}
SEVERITIES = {"wrong", "misleading", "no error", *NEED_NO_NUMBER}

ENTRY = re.compile(
    r"^\((?P<target>[a-ex]-\d+)\)=\n"
    r"\*\*(?P<id>[A-EX]-\d+) · [^\n]+\*\* \((?P<place>[^\n]+), (?P<severity>[a-z ]+)\)\n\n"
    r"(?P<body>.*?)(?=^\(|^## )",
    flags=re.MULTILINE | re.DOTALL,
)
ITEM = re.compile(
    r"^- \*\*(?P<id>[A-E]\d+)\*\* \((?P<place>lines? \d[^)]*)\), in (?P<where>.+)\\\n  (?P<what>.{10,})$",
    flags=re.MULTILINE,
)


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


def test_every_slip_that_an_item_names_is_on_the_page_of_slips(sources, errata):
    targets = {entry["target"] for entry in ENTRY.finditer(errata)}
    for shown, target in re.findall(r"\{ref\}`([A-EX]-\d+) <([a-z0-9-]+)>`", sources):
        assert shown.lower() == target
        assert target in targets


def test_every_slip_has_one_entry_in_the_order_of_the_notes(errata):
    assert [entry["id"] for entry in ENTRY.finditer(errata)] == numbered(SLIPS, "-")
    assert len(re.findall(r"^\*\*[A-EX]-\d+", errata, flags=re.MULTILINE)) == 83


def test_every_entry_has_a_target_a_place_and_a_severity(errata):
    for entry in ENTRY.finditer(errata):
        assert entry["target"] == entry["id"].lower()
        assert re.search(r"\blines? \d+|^note \w against", entry["place"]), entry["id"]
        assert entry["severity"] in SEVERITIES, entry["id"]


def test_every_entry_beyond_spelling_and_notation_gives_a_computed_number_or_says_why_it_needs_none(errata):
    for entry in ENTRY.finditer(errata):
        marks = re.findall(r"\*(Shown|No number):\*\s(.*)", entry["body"], flags=re.DOTALL)
        if entry["severity"] in NEED_NO_NUMBER and not marks:
            assert "{glue" not in entry["body"], entry["id"]
            continue
        assert len(marks) == 1, entry["id"]
        kind, evidence = marks[0]
        if kind == "Shown":
            assert f"{{glue:text}}`{entry['id']}" in evidence, entry["id"]
        else:
            assert entry["severity"] not in NEED_NO_NUMBER, entry["id"]
            assert re.fullmatch(r"(\S+\s+){3,}.*\.\s*", evidence, flags=re.DOTALL), entry["id"]
            assert "{glue" not in entry["body"], entry["id"]


def test_every_number_that_is_used_is_computed_and_every_computed_one_is_used(errata):
    computed = re.findall(r"^glue\(\"([^\"]+)\"", errata, flags=re.MULTILINE)
    used = re.findall(r"\{glue:text\}`([^`:]+)(?::[^`]*)?`", errata)
    assert set(used) == set(computed)
    assert len(computed) == len(set(computed))


def test_a_number_stands_in_the_entry_whose_name_it_bears(errata):
    for entry in ENTRY.finditer(errata):
        for name in re.findall(r"\{glue:text\}`([^`:]+)", entry["body"]):
            assert re.match(r"[A-EX]-\d+", name)[0] == entry["id"], name
