"""Marking in a real browser: on the page of `mark`, by keyboard alone, and in nbgrader's own formgrader."""

import signal
import subprocess
import sys
from contextlib import contextmanager

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from autograder.marking.session import Session
from tests.autograder.essays import KEYS, SIGN, essays
from tests.autograder.marking.test_marking import by_hand, in_gradebook, served
from tests.book.test_axe import AXE, findings
from tests.book.test_browser import browser, complaints, open_page, overhang, requests, size, until  # noqa: F401

pytestmark = pytest.mark.suite("book")


@pytest.fixture(scope="module")
def course(released, tmp_path_factory):
    return essays(released, tmp_path_factory.mktemp("essays"))


@contextmanager
def marking(course):
    """Run `mark`; give the address that it prints, and the process. It is ended by Ctrl-C, as a marker does."""
    command = [sys.executable, "-u", "-m", "autograder", "mark", "scoring", "what_to_recompute", "--no-browser"]
    process = subprocess.Popen(
        [*command, "--course", course.root], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        first = process.stdout.readline()
        assert first.startswith("Mark here: http://127.0.0.1:"), first + process.stdout.read()
        yield first.removeprefix("Mark here: ").strip(), process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def press(browser, *keys):  # noqa: F811
    for key in keys:
        ActionChains(browser).send_keys(key).perform()


def text_of(browser, selector):  # noqa: F811
    return browser.execute_script("return document.querySelector(arguments[0]).innerText", selector)


def saved(browser, words):  # noqa: F811
    until(browser, lambda: words in text_of(browser, "#said"))


def go_to(browser, words):  # noqa: F811
    """Go through the answers by keyboard until one has these words."""
    press(browser, *["k"] * 5)
    for _ in range(5):
        if words in text_of(browser, "article[aria-current]"):
            return
        press(browser, "j")
    pytest.fail(f"no answer says {words!r}")


def test_three_answers_are_marked_by_keyboard_alone(browser, course):  # noqa: F811
    with marking(course) as (address, process):
        requests(browser), complaints(browser)
        size(browser, 1280)
        open_page(browser, address)
        assert text_of(browser, "#progress") == "0 of 4 marked"
        assert "2 students say the same" in text_of(browser, "article[aria-current]")  # the most frequent comes first
        assert KEYS in text_of(browser, "article[aria-current]")
        press(browser, "1", "3")
        saved(browser, "Saved: 1.5 of 2 points.")
        press(browser, Keys.ENTER)
        go_to(browser, SIGN)
        press(browser, "a", "c", "See W = w.", Keys.ESCAPE)
        saved(browser, "Saved: 2 of 2 points.")
        until(browser, lambda: text_of(browser, "#progress") == "3 of 4 marked")
        press(browser, "u")
        saved(browser, "it waits")
        press(browser, "a")
        saved(browser, "Saved: 2 of 2 points.")
        until(browser, lambda: in_gradebook(course)["cem_kaya"] == (2.0, False, "See W = w."))
        go_to(browser, "window.harmed")
        press(browser, "p", Keys.CONTROL + "a" + Keys.NULL, "0.25", Keys.ENTER)
        saved(browser, "Saved: 0.25 of 2 points.")
        assert browser.execute_script("return window.harmed") is None
        assert text_of(browser, "#progress") == "4 of 4 marked"
        assert complaints(browser) == []
        assert {url.split("/")[2] for url in requests(browser)} == {address.split("/")[2]}
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=120)
    assert process.returncode == 0, said
    assert "Marked now: 4. 4 of 4 answers" in said
    assert "Traceback" not in said
    now = in_gradebook(course)
    missed = "W_query times the decoder state is the same for every position j: how often is it computed?"
    assert now["ada_king"] == now["ben_ito"] == (1.5, False, missed)
    assert now["cem_kaya"] == (2.0, False, "See W = w.")
    points, waiting, comment = now["dora_lee"]
    assert (points, waiting) == (0.25, False)
    assert len(comment.splitlines()) == 3


def test_what_another_marker_gave_is_said_and_like_answers_can_be_marked_apart(browser, course):  # noqa: F811
    for student in ("ada_king", "ben_ito", "cem_kaya", "dora_lee"):
        by_hand(course, student, None)
    with served(Session(course, "scoring", "what_to_recompute", names=True)) as address:
        size(browser, 1280)
        open_page(browser, address)
        assert "ada_king" in text_of(browser, "article[aria-current]")
        by_hand(course, "ben_ito", 0.5, "Nearly.")
        press(browser, "a")
        until(browser, lambda: "0.5 of 2 points meanwhile, and says: Nearly." in text_of(browser, "#problem"))
        assert in_gradebook(course)["ada_king"] == (None, True, None)
        press(browser, "m")
        saved(browser, "Saved: 2 of 2 points.")
        assert text_of(browser, "#problem") == ""
        assert in_gradebook(course)["ben_ito"] == (2.0, False, None)
        press(browser, "s", "1")
        saved(browser, "Saved: 1 of 2 points.")
        assert sorted(in_gradebook(course)[name][0] for name in ("ada_king", "ben_ito")) == [1.0, 2.0]
    press(browser, "j", "1")  # nobody serves any more
    until(browser, lambda: "has ended" in text_of(browser, "#problem"))
    browser.execute_script("window.addEventListener('beforeunload', (event) => event.stopImmediatePropagation(), true)")


@pytest.mark.parametrize(("width", "mode"), [(375, "dark"), (1280, "light")])
def test_axe_finds_nothing_amiss_and_nothing_is_wider_than_the_window(browser, course, width, mode):  # noqa: F811
    with served(Session(course, "scoring", "what_to_recompute")) as address:
        size(browser, width)
        of_mode = {"features": [{"name": "prefers-color-scheme", "value": mode}]}
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", of_mode)
        try:
            open_page(browser, address)
            browser.execute_script("document.querySelectorAll('details').forEach((each) => (each.open = true))")
            assert overhang(browser) <= 1
            browser.execute_cdp_cmd("Runtime.evaluate", {"expression": AXE.read_text(encoding="utf-8")})
            assert findings(browser) == []
        finally:
            browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
