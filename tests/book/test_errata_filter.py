"""The errata can be filtered by note and severity, and a link to an erratum always shows it."""

import re

import pytest

from autograder.paths import ROOT
from tests.book.test_browser import address, browser, open_page, seen, server, size  # noqa: F401  fixtures

pytestmark = pytest.mark.e2e

ENTRIES = re.findall(
    r"^\*\*([A-EX])-\d+ · .*\(.*, ([a-z ]+)\)$", (ROOT / "book" / "errata.md").read_text(encoding="utf-8"), re.MULTILINE
)


def shown(browser):  # noqa: F811
    script = (
        "return [...document.querySelectorAll('article p > strong:first-child')].filter((e) => e.checkVisibility())"
    )
    names = browser.execute_script(f"{script}.map((e) => e.textContent)")
    return [name for name in names if re.match(r"[A-EX]-\d+ ·", name)]


@pytest.fixture
def errata(browser, address):  # noqa: F811
    size(browser, 375)
    open_page(browser, f"{address}/book/errata.html")
    return f"{address}/book/errata.html"


def tick(browser, name, value):  # noqa: F811
    browser.execute_script(f'document.querySelector(\'errata-filter [name="{name}"][value="{value}"]\').click()')


def test_only_what_was_chosen_is_shown_and_its_number_is_said(browser, errata):  # noqa: F811
    assert len(shown(browser)) == len(ENTRIES) > 50
    tick(browser, "severity", "wrong")
    wrong = [entry for entry in ENTRIES if entry[1] == "wrong"]
    assert len(shown(browser)) == len(wrong) < len(ENTRIES)
    tick(browser, "note", "A")
    tick(browser, "note", "D")
    both = [note for note, severity in wrong if note in "AD"]
    assert [name[0] for name in shown(browser)] == both
    (status,) = seen(browser, "errata-filter output")
    assert status.text == f"{len(both)} of {len(ENTRIES)} entries."


def test_an_address_keeps_what_is_chosen_and_a_link_to_another_entry_shows_all(browser, errata):  # noqa: F811
    tick(browser, "note", "E")
    assert browser.current_url == f"{errata}?note=E"
    open_page(browser, f"{errata}?note=E&severity=typo")
    assert len(shown(browser)) == ENTRIES.count(("E", "typo"))
    browser.execute_script("location.hash = 'a-3'")
    browser.execute_async_script("setTimeout(arguments[0], 100)")
    assert any(name.startswith("A-3 ·") for name in shown(browser))
    assert len(shown(browser)) == len(ENTRIES)
