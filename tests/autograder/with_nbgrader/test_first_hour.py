"""The first hour of a course with an exchange: the commands that the guide prints for JupyterLab and JupyterHub.

The instructor types them as printed, except for the exchange's folder; a student hands in, and gets feedback.
"""

import contextlib
import stat
import sys

import pytest

from autograder.courses.course import Course
from tests.autograder.courses.test_walk_through import (
    MOST_COMMANDS,
    MOST_DECISIONS,
    PREPARE,
    assert_names_next,
    read_walk_through,
)
from tests.autograder.essays import ONE_EXERCISE
from tests.autograder.with_nbgrader.laboratory import EXCHANGE, NAMES, RIGHT
from tests.autograder.with_nbgrader.people import AS, people, wait_for
from tests.autograder.with_nbgrader.test_watch import feedback_of, nbgrader, write_answer

pytestmark = pytest.mark.suite("assignments")


def test_the_guide_prints_few_commands_and_decisions_for_a_course_on_a_hub():
    commands, decisions = read_walk_through("book/for_instructors.md", "JupyterLab and JupyterHub")
    assert len(commands) <= MOST_COMMANDS
    assert len(decisions) <= MOST_DECISIONS
    assert commands[:3] == [*PREPARE, f"sudo install -d -m 1777 {EXCHANGE}"]


@pytest.mark.parametrize("who", [AS])
def test_the_commands_of_the_guide_lead_to_feedback_in_the_exchange_and_each_names_the_next(who):
    commands, _ = read_walk_through("book/for_instructors.md", "JupyterLab and JupyterHub")
    *commands, last = commands[len(PREPARE) + 1 :]  # the exchange's folder is made below, without sudo
    with contextlib.ExitStack() as stack:
        place, (instructor, ada) = stack.enter_context(people("prof", "ada"))
        exchange = place / "exchange"
        exchange.mkdir()
        exchange.chmod(0o1777)
        for command, following in zip(commands, [*commands[1:], last], strict=True):
            assert_names_next(instructor.run("sh", "-c", command), following)
            if " init " in command:
                _decide(instructor, exchange)
        assert (exchange / "attention" / "inbound").stat().st_mode & stat.S_ISVTX
        course = Course.at(instructor.home / "course")
        watch = [sys.executable, *last.split()[1:], "--course", str(course.root), "--workers", "1", *NAMES]
        process, log = stack.enter_context(instructor.running(*watch))
        wait_for("Watching", process, log)
        write_answer(ada, course, RIGHT)
        nbgrader(ada, exchange, "submit")
        wait_for("scoring ada: attempt 1: graded", process, log)
        nbgrader(ada, exchange, "fetch_feedback")
        (page,) = feedback_of(ada)
        assert "3 of 3" in page


def _decide(instructor, exchange):
    """Set one exercise and name the exchange, as the guide tells the instructor to do after `init`."""
    course = Course.at(instructor.home / "course")
    (course.root / "course.toml").write_text(ONE_EXERCISE, encoding="utf-8")
    with course.config.open("a", encoding="utf-8") as config:
        config.write(f'\nc.Exchange.root = "{exchange}"\n')
    instructor.owns(course.root)
