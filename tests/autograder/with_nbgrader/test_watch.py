"""`watch` where students are users of the system: they hand in, fetch feedback, and hear when their attempts are used up."""

import contextlib
import json
import sys
import time

import pytest

from tests.autograder.with_nbgrader.laboratory import NO_TANH, PLAN, RIGHT, course_of
from tests.autograder.with_nbgrader.people import AS, OF_THEIR_OWN, PATIENCE, people
from tests.autograder.with_nbgrader.test_on_jupyterhub import answers, jupyterhub, log_in
from tests.book.test_browser import browser, size, until  # noqa: F401

pytestmark = [pytest.mark.suite("book"), pytest.mark.e2e]


@contextlib.contextmanager
def watching(instructor, course):
    """Let the instructor's `watch` run; give a function that waits until it has said some words."""
    (course.root / "course.toml").write_text(f"{PLAN}attempts = 1\n", encoding="utf-8")
    instructor.owns(course.root / "course.toml")
    command = [sys.executable, "-m", "autograder", "watch", "scoring", "--course", str(course.root), "--workers", "1"]
    owners = [] if OF_THEIR_OWN else ["--any-owner"]  # one user of the system plays all
    with instructor.running(*command, *owners) as (process, log):

        def wait_for(words):
            ends = time.monotonic() + PATIENCE
            while words not in (said := log.read_text()):
                assert process.poll() is None, said
                assert time.monotonic() < ends, said
                time.sleep(0.1)

        wait_for("Watching")
        yield wait_for


def write_answer(student, course, answer):
    """Write the student's notebook, with ``answer`` in the place of the starter."""
    data = json.loads(course.release("scoring").read_text(encoding="utf-8"))
    cell = next(c for c in data["cells"] if c["metadata"]["nbgrader"]["grade_id"] == "scoring-additive_score")
    cell["source"] = answer
    (student.home / "scoring").mkdir(exist_ok=True)
    (student.home / "scoring" / "scoring.ipynb").write_text(json.dumps(data), encoding="utf-8")
    student.owns(student.home / "scoring")


def nbgrader(student, exchange, command):
    settings = [f"--Exchange.root={exchange}", "--CourseDirectory.course_id=attention"]
    settings += [f"--CourseDirectory.student_id={student.name}"]
    student.run("nbgrader", command, "scoring", *settings)


def feedback_of(student):
    """Return the pages that the student has fetched, in the order of the attempts."""
    return [path.read_text() for path in sorted((student.home / "scoring" / "feedback").glob("*/scoring.html"))]


@pytest.mark.parametrize("who", [AS])
def test_students_hand_in_fetch_feedback_and_are_told_when_attempts_are_used_up(who):
    with contextlib.ExitStack() as stack:
        place, (instructor, ada, ben) = stack.enter_context(people("prof", "ada", "ben"))
        exchange = place / "exchange"
        course = course_of(instructor, exchange)
        wait_for = stack.enter_context(watching(instructor, course))
        for student, answer in ((ada, RIGHT), (ben, NO_TANH)):
            write_answer(student, course, answer)
            nbgrader(student, exchange, "submit")
            wait_for(f"scoring {student.name}: attempt 1: graded")
            nbgrader(student, exchange, "fetch_feedback")
        (right,), (wrong,) = feedback_of(ada), feedback_of(ben)
        assert "3 of 3" in right
        assert "tanh" in wrong
        write_answer(ben, course, RIGHT)
        nbgrader(ben, exchange, "submit")
        wait_for("scoring ben: used up")
        nbgrader(ben, exchange, "fetch_feedback")
        told = feedback_of(ben)[-1]
        assert (
            "Your one attempt is used up, so this hand-in is kept but not graded; attempt 1, which arrived on" in told
        )
        if OF_THEIR_OWN:  # who hands in for somebody else is found out
            forged = exchange / "attention" / "inbound" / "ada+scoring+2026-01-01 00:00:00.000000 UTC+x"
            ben.run("cp", "-r", ben.home / "scoring", forged)
            ben.run("sh", "-c", f"echo x > '{forged}/submission_secret.txt' && chmod 777 '{forged}'")
            wait_for("it claims to be ada's, but belongs to the account ben")


@pytest.mark.parametrize("who", [AS])
def test_on_a_jupyterhub_feedback_is_there_soon_after_the_hand_in(browser, who):  # noqa: F811
    names = ("prof", "ada")
    with contextlib.ExitStack() as stack:
        place, (instructor, ada) = stack.enter_context(people(*names))
        exchange = place / "exchange"
        course = course_of(instructor, exchange)
        wait_for = stack.enter_context(watching(instructor, course))
        address, password, process, log = stack.enter_context(jupyterhub(place, names, exchange))
        until(browser, lambda: process.poll() is not None or answers(address))
        assert process.poll() is None, log.read_text()
        size(browser, 1280)
        desk = log_in(browser, address, password, ada)
        desk.fetch()
        _, receipt = desk.answer(RIGHT)
        desk.submit()
        wait_for("scoring ada: attempt 1: graded")
        page = log_in(browser, address, password, ada).feedback()
        assert "3 of 3" in page
        assert receipt in page
