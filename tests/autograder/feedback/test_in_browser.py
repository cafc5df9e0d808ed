"""A feedback page in a real browser makes no requests, fits a phone, and is not long."""

import base64
import contextlib
import io
import statistics

import pytest
from nbformat.v4 import new_output
from pypdf import PdfReader

from autograder.feedback import pages
from autograder.notebooks.handout import handout
from tests.autograder.feedback.test_rendering import ONE, marks, put, release, verdict
from tests.book.test_axe import AXE, findings
from tests.book.test_browser import browser, complaints, open_page, overhang, requests, size  # noqa: F401

pytestmark = [pytest.mark.suite("book"), pytest.mark.e2e]
HIGHEST = 6000  # px: the limit for the median student's page in a wide window
WIDE = "<table><tr>" + "<td>0.123456</td>" * 60 + "</tr></table>"
OPEN_ALL = "document.querySelectorAll('details').forEach((details) => { details.open = true; })"


@pytest.fixture
def page(tmp_path):
    """A page with everything that can be wide: formulas, a table, a long word."""
    notebook = release()
    wide = [new_output("display_data", data={"text/html": WIDE})]
    put(ONE, "def additive_score(query):\n    return " + "query_" * 60, wide)(notebook)
    file = tmp_path / "scoring.html"
    file.write_bytes(pages.page(notebook, marks(verdict(ONE, 0, ["wrong"])), "ada", "scoring", [handout(release())]))
    return file.as_uri()


@pytest.mark.parametrize("width", [375, 1280])
def test_a_page_that_is_opened_alone_asks_nobody_and_is_no_wider_than_the_window(browser, page, width):  # noqa: F811
    requests(browser), complaints(browser)
    size(browser, width)
    open_page(browser, page)
    assert overhang(browser) <= 1
    browser.execute_script(OPEN_ALL)
    assert overhang(browser) <= 1
    boxes = browser.execute_script(
        "return [...document.querySelectorAll('math')].map((math) => math.getBoundingClientRect().height)"
    )
    assert len(boxes) > 5
    assert min(boxes) > 5
    assert complaints(browser) == []
    assert set(requests(browser)) == {page}


@contextlib.contextmanager
def in_mode(browser, mode):  # noqa: F811
    """Make ``browser`` prefer the colour scheme ``mode``, "light" or "dark"."""
    of_mode = {"features": [{"name": "prefers-color-scheme", "value": mode}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", of_mode)
    try:
        yield
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


@pytest.mark.parametrize("width", [375, 1280])
@pytest.mark.parametrize("mode", ["light", "dark"])
def test_axe_finds_nothing_amiss_with_all_of_it_open(browser, page, width, mode):  # noqa: F811
    size(browser, width)
    with in_mode(browser, mode):
        open_page(browser, page)
        assert browser.execute_script("return matchMedia('(prefers-color-scheme: dark)').matches") == (mode == "dark")
        browser.execute_script(AXE.read_text(encoding="utf-8"))
        browser.execute_script(OPEN_ALL)
        assert findings(browser) == []


def test_all_answers_are_on_paper(browser, page):  # noqa: F811
    open_page(browser, page)
    answers = browser.execute_script(
        "return [...document.querySelectorAll('details.answer pre')].map((one) => one.textContent)"
    )
    printed = PdfReader(io.BytesIO(base64.b64decode(browser.print_page())))
    # Lines on paper break anywhere, so texts are compared without spaces.
    paper = "".join("".join(sheet.extract_text().split()) for sheet in printed.pages)
    assert [answer for answer in answers if "".join(answer.split()) not in paper] == []
    assert sum(answer.startswith(("def ", "import ")) for answer in answers) >= 8


def test_the_page_of_the_median_student_is_not_long(browser, demonstration):  # noqa: F811
    course, rows, _ = demonstration
    size(browser, 1280)
    heights = {}
    for name, row in rows.items():
        if not row.set_aside:
            open_page(browser, course.feedback(name, "scoring").as_uri())
            heights[name] = browser.execute_script("return document.documentElement.scrollHeight")
    assert statistics.median(heights.values()) <= HIGHEST, heights
