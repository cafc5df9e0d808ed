"""A command killed at any kind of write (with --full, any write) blocks no other, and run again gives the same result."""

import contextlib
import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from nbgrader.api import Gradebook

from autograder.batch.grade_class import grade_class
from autograder.courses.course import Course
from autograder.errors import CourseError
from autograder.gradebook import backup
from autograder.grading import grade
from autograder.marking.session import ClientState, MarkRequest, Session
from autograder.platforms.collect import collect
from autograder.platforms.export import export
from autograder.reports.analysis import analyse
from autograder.reports.class_page import class_page
from tests.autograder.essays import ESSAY, all_right
from tests.autograder.killing import choose_writes, is_killed_at

pytestmark = pytest.mark.suite("assignments")
STUDENTS = ("ada", "ben", "cem")


def hand_in(course, folder):
    """Make a folder like an unpacked platform archive, in which everybody has answered the written question."""
    data = json.loads(course.releases("scoring").file.read_text(encoding="utf-8"))
    for student in STUDENTS:
        next(c for c in data["cells"] if c["metadata"]["nbgrader"]["grade_id"] == ESSAY)["source"] = (
            f"{student}'s words"
        )
        path = folder / student / "scoring.ipynb"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(data), encoding="utf-8")


@pytest.fixture
def make_course(released, tmp_path):
    """Return a function that copies the course; ``archive`` beside the copy holds the hand-ins of the class."""

    def make(name):
        shutil.copytree(released.root, tmp_path / name / "course")
        course = Course.at(tmp_path / name / "course")
        hand_in(course, course.root.parent / "archive")
        return course

    return make


def run_collect(course):
    done, uncollected = collect(course, "scoring", course.root.parent / "archive")
    assert not [entry for entry in done if entry.problem]
    assert not uncollected


def run_grade(course):
    with ThreadPoolExecutor(1) as pool:
        rows = grade_class(course, "scoring", executor=pool)
    assert not [row for row in rows if row.failed or row.set_aside]


def run_mark(course):
    session = Session(course, "scoring", "what_to_recompute")
    for answer in session.answers():
        if answer.held.waiting and answer.text:
            session.shown.add(answer)
            session.mark(MarkRequest((ClientState(session.shown.id_of(answer), answer.seen),), 1.5, "Good."))


def run_restore(course):
    for path in backup.list_backups(course)[:1]:
        backup.restore(course, path.name)


def run_export(course):
    export(course, "scoring", "csv", course.root / "grades.csv", force=True)


def run_report(course):
    class_page("Attention", [analyse(course, "scoring")])


COMMANDS = {"collect": run_collect, "grade": run_grade, "mark": run_mark, "restore": run_restore}
OTHERS = (run_export, run_report, run_restore, run_collect, run_mark, run_grade)
WHOLE = (run_collect, run_grade, run_mark, run_grade)
BEFORE = {"collect": 0, "grade": 1, "mark": 2, "restore": 3}  # how many steps of WHOLE come before a command


def state(course):
    """Return the final state: rows of the gradebook, submissions and feedback pages."""
    with Gradebook(course.gradebook.url) as gradebook:
        rows = sorted(
            (notebook.student.id, grade.name, grade.auto_score, grade.manual_score, grade.needs_manual_grade)
            for notebook in gradebook.notebook_submissions("scoring", "scoring")
            for grade in notebook.grades
        )
    files = {student: course.submission(student, "scoring").read_bytes() for student in STUDENTS}
    pages = {student: course.feedback(student, "scoring").read_text(encoding="utf-8") for student in STUDENTS}
    return rows, files, pages


@pytest.mark.parametrize("name", COMMANDS)
def test_after_a_kill_at_any_write_other_commands_work_and_all_ends_as_undisturbed(
    name, make_course, tmp_path, monkeypatch, pytestconfig
):
    monkeypatch.setattr(grade, "grade", all_right)
    command, before = COMMANDS[name], WHOLE[: BEFORE[name]]
    undisturbed = make_course("undisturbed")
    for step in WHOLE:
        step(undisturbed)
    wanted = state(undisturbed)
    start = make_course("start")
    for step in before:
        step(start)
    shutil.copytree(start.root.parent, tmp_path / "count")
    counted = Course.at(tmp_path / "count" / "course")
    assert not is_killed_at(0, partial(command, counted), tmp_path / "writes")
    numbers = choose_writes(tmp_path / "writes", pytestconfig.getoption("--full"))
    assert numbers
    for number in numbers:
        other = OTHERS[number % len(OTHERS)]
        shutil.copytree(start.root.parent, tmp_path / str(number))
        course = Course.at(tmp_path / str(number) / "course")
        assert is_killed_at(number, partial(command, course), tmp_path / "writes")
        with contextlib.suppress(CourseError):  # a refusal is fine; any other exception is a fault
            other(course)
        for step in WHOLE:
            step(course)
        assert state(course) == wanted, (name, number, other.__name__)
        assert not list(course.root.rglob("*.draft*"))
        shutil.rmtree(course.root)
