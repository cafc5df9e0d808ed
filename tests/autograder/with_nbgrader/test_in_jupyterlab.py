"""An assignment is released, handed in and returned through nbgrader's exchange, with students in JupyterLab."""

import contextlib
import json
import subprocess
import sys
import time

import pytest

from tests.autograder.with_nbgrader.laboratory import (
    NO_TANH,
    RIGHT,
    StudentLab,
    collect_grade_and_hand_back,
    course_of,
    settings,
)
from tests.autograder.with_nbgrader.people import AS, OF_THEIR_OWN, PATIENCE, people
from tests.book.test_browser import browser, open_page, size  # noqa: F401

pytestmark = [pytest.mark.suite("book"), pytest.mark.e2e]


@contextlib.contextmanager
def jupyterlab(student):
    """Run JupyterLab as ``student`` does; yield its address."""
    runtime = student.home / ".local" / "share" / "jupyter" / "runtime"
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--ServerApp.ip=127.0.0.1", "--ServerApp.port=0"]
    with student.running(*command) as (process, log):
        ends = time.monotonic() + PATIENCE
        # the file exists before it is filled
        while not (
            server_texts := [
                text for path in runtime.glob("jpserver-*.json") if (text := path.read_text()).endswith("}")
            ]
        ):
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < ends, log.read_text()
            time.sleep(0.1)
        server = json.loads(server_texts[0])
        yield f"http://127.0.0.1:{server['port']}/lab?token={server['token']}"


@pytest.mark.parametrize("who", [AS])
def test_two_students_fetch_answer_validate_submit_and_see_their_feedback(browser, who):  # noqa: F811
    with contextlib.ExitStack() as stack:
        place, (instructor, *students) = stack.enter_context(people("prof", "ada", "ben"))
        exchange = place / "exchange"
        course = course_of(instructor, exchange)
        desks, receipts = {}, {}
        for student in students:
            config = student.home / "nbgrader_config.py"
            config.write_text(settings(exchange, repr(student.name)), encoding="utf-8")
            student.owns(config)
        addresses = [stack.enter_context(jupyterlab(student)) for student in students]
        for student, address, answer in zip(students, addresses, (RIGHT, NO_TANH), strict=True):
            browser.switch_to.new_window("tab")
            size(browser, 1280)
            open_page(browser, address)
            desk = StudentLab(browser)
            desk.fetch()
            output, receipts[student.name] = desk.answer(answer)
            validated = desk.validate()
            if answer == RIGHT:
                assert "the shown cases are right" in output
                assert "Success! Your notebook passes all the tests." in validated
            else:
                assert "tanh" in output
                assert "NotYet" in output
                assert "Success" not in validated
            desk.submit()
            desks[student.name] = browser.current_window_handle
        if OF_THEIR_OWN:  # nobody can see what others have handed in
            looked = subprocess.run(
                [*students[1].prefix, "ls", exchange / "attention" / "inbound"], capture_output=True
            )
            assert looked.returncode, looked.stdout
        output = collect_grade_and_hand_back(instructor, course, exchange)
        assert "recognised as nbgrader's exchange" in output
        assert "2 collected (0 replaced), 0 set aside, 0 not collected" in output
        assert all(receipt in output for receipt in receipts.values())
        for student, points in zip(students, ("3 of 3", "0 of 3"), strict=True):
            browser.switch_to.window(desks[student.name])
            page = StudentLab(browser).feedback()
            assert receipts[student.name] in page
            assert (f"Student\n{student.name}" in page, points in page) == (True, True), page
        assert "tanh" in page
