"""`watch` with students as system users: they hand in, fetch feedback, and learn when their attempts are used up."""

import configparser
import contextlib
import json
import shutil
import subprocess
import sys

import pytest

from tests.autograder.essays import ONE_EXERCISE
from tests.autograder.with_nbgrader.laboratory import NO_TANH, RIGHT, course_of, read_guide_block
from tests.autograder.with_nbgrader.people import AS, OF_THEIR_OWN, people, wait_for

pytestmark = [pytest.mark.suite("book"), pytest.mark.e2e]
PYTHON = "/srv/attention/.venv/bin/python"  # in the book


def permit_one_attempt(instructor, course):
    (course.root / "course.toml").write_text(f"{ONE_EXERCISE}attempts = 1\n", encoding="utf-8")
    instructor.owns(course.root / "course.toml")


def read_unit():
    """Return the systemd unit from the book, by section and name."""
    unit = configparser.ConfigParser(interpolation=None)
    unit.optionxform = str
    unit.read_string(read_guide_block("/etc/systemd/system/watch.service").replace("\\\n", " "))
    return unit


def adapt(command, course):
    """Return ``command``, a list of words from the book, with the Python and the options of the test."""
    assert command[0] == PYTHON
    own = [] if OF_THEIR_OWN else ["--any-owner"]  # one system user plays everybody
    return [sys.executable, *command[1:], "--course", str(course.root), "--workers", "1", *own]


@contextlib.contextmanager
def watching(instructor, course):
    """Run the instructor's `watch` as the systemd unit does; yield its process and the file with its output."""
    command = adapt(read_unit()["Service"]["ExecStart"].split(), course)
    with instructor.running(*command) as (process, log):
        wait_for("Watching", process, log)
        yield process, log


def write_answer(student, course, answer, request=""):
    """Write the student's notebook with ``answer`` in place of the starter, and a cell for the ``request`` if there is one."""
    data = json.loads(course.releases("scoring").file.read_text(encoding="utf-8"))
    cell = next(c for c in data["cells"] if c["metadata"]["nbgrader"]["grade_id"] == "scoring-additive_score")
    cell["source"] = answer
    if request:
        data["cells"].append({"cell_type": "markdown", "id": "request", "metadata": {}, "source": request})
    (student.home / "scoring").mkdir(exist_ok=True)
    (student.home / "scoring" / "scoring.ipynb").write_text(json.dumps(data), encoding="utf-8")
    student.owns(student.home / "scoring")


def nbgrader(student, exchange, command):
    settings = [f"--Exchange.root={exchange}", "--CourseDirectory.course_id=attention"]
    settings += [f"--CourseDirectory.student_id={student.name}"]
    student.run("nbgrader", command, "scoring", *settings)


def feedback_of(student):
    """Return the pages that the student has fetched, in order of the attempts."""
    return [path.read_text() for path in sorted((student.home / "scoring" / "feedback").glob("*/scoring.html"))]


def test_the_systemd_unit_is_valid_and_restarts_watch_unless_it_was_stopped(tmp_path):
    unit = read_unit()
    service = unit["Service"]
    assert (service["Restart"], unit["Install"]["WantedBy"]) == ("on-failure", "multi-user.target")
    assert service["KillMode"] == "mixed"  # SIGTERM goes to `watch` alone, which ends its workers itself
    if program := shutil.which("systemd-analyze"):
        here = {"ExecStart": service["ExecStart"].replace(PYTHON, sys.executable), "WorkingDirectory": str(tmp_path)}
        service.update({**here, "User": "root"})
        path = tmp_path / "watch.service"
        with path.open("w") as file:
            unit.write(file, space_around_delimiters=False)
        done = subprocess.run([program, "verify", "--man=no", path], capture_output=True, text=True)
        assert [line for line in done.stderr.splitlines() if "watch.service" in line] == []


@pytest.mark.parametrize("who", [AS])
def test_students_hand_in_fetch_feedback_and_are_told_when_attempts_are_used_up(who):
    with contextlib.ExitStack() as stack:
        place, (instructor, ada, ben) = stack.enter_context(people("prof", "ada", "ben"))
        exchange = place / "exchange"
        course = course_of(instructor, exchange)
        permit_one_attempt(instructor, course)
        process, log = stack.enter_context(watching(instructor, course))
        for student, answer in ((ada, RIGHT), (ben, NO_TANH)):
            write_answer(student, course, answer)
            nbgrader(student, exchange, "submit")
            wait_for(f"scoring {student.name}: attempt 1: graded", process, log)
            nbgrader(student, exchange, "fetch_feedback")
        (right,), (wrong,) = feedback_of(ada), feedback_of(ben)
        assert "3 of 3" in right
        assert "tanh" in wrong
        write_answer(ben, course, RIGHT)
        nbgrader(ben, exchange, "submit")
        wait_for("scoring ben: used up", process, log)
        write_answer(ben, course, NO_TANH, "Please look again at additive_score.")
        nbgrader(ben, exchange, "submit")
        wait_for("scoring ben: request", process, log)
        nbgrader(ben, exchange, "fetch_feedback")
        _, used_up_page, answered = feedback_of(ben)
        assert (
            "Your one attempt is used up, so this hand-in is kept but not graded; attempt 1, which arrived on"
            in used_up_page
        )
        assert "Your request for another look at additive_score has been recorded" in answered
        output = instructor.run(sys.executable, "-m", "autograder", "requests", "scoring", "--course", course.root)
        assert "1 request is waiting for an answer." in output
        if OF_THEIR_OWN:  # handing in for somebody else is detected
            forged = exchange / "attention" / "inbound" / "ada+scoring+2026-01-01 00:00:00.000000 UTC+x"
            ben.run("cp", "-r", ben.home / "scoring", forged)
            ben.run("sh", "-c", f"echo x > '{forged}/submission_secret.txt' && chmod 777 '{forged}'")
            wait_for("it claims to be ada's, but belongs to the account ben", process, log)
