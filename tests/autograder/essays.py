"""Hand in scoring with a written answer and mark it; a small class that has done so, graded."""

import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from unittest import mock

import nbformat
from nbgrader.api import Gradebook

from autograder.batch.context import GradingOptions
from autograder.batch.grade_class import grade_class
from autograder.courses import demo
from autograder.courses.course import Course, init
from autograder.grading import grade as grading
from autograder.grading import judge
from autograder.releases.release import release
from tests.shared import made_once

ESSAY = "scoring-what_to_recompute"
KEYS = "The projected keys do not depend on the step, so once is enough."
SIGN = "Their sum stands inside the tanh: W + w."
ONE_EXERCISE = 'title = "Attention"\n[assignment.scoring]\nexercises = ["additive_score"]\n'
HOSTILE = (
    "<script>window.harmed = 1</script><img src=x onerror='window.harmed = 1'> $\\tanh(x)$ [a link](javascript:harm())"
)
ANSWERS = {
    "ada_king": KEYS,
    "ben_ito": "the  projected keys do not depend on\nthe step so once is enough",
    "cem_kaya": SIGN,
    "dora_lee": HOSTILE,
    "emil_roth": None,  # left as it was handed out
}


def enrol(course, roster, plan='roster = "students.csv"\n'):
    """Write the ``roster`` of a course, and its course.toml."""
    (course.root / "students.csv").write_text(roster, encoding="utf-8")
    (course.root / "course.toml").write_text(plan, encoding="utf-8")


def hand_in(course, student, essay="Because U h_j does not change from step to step.", change=None):
    """Hand in scoring with ``essay`` as the written answer, unless it is None, after ``change(notebook)``; return the path."""
    data = json.loads(course.releases("scoring").file.read_text(encoding="utf-8"))
    if essay is not None:
        next(c for c in data["cells"] if c["metadata"]["nbgrader"]["grade_id"] == ESSAY)["source"] = essay
    if change:
        change(data)
    path = course.submission(student, "scoring")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data), encoding="utf-8")
    return path


def hand_in_as(course, *names):
    """Hand in scoring as these students of the demonstration class do."""
    paths = course.source("scoring"), course.releases("scoring").file
    notebooks = [nbformat.read(path, as_version=4) for path in paths]
    for student in demo.load_students():
        if student.name in names:
            path = course.submission(student.name, "scoring")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(demo.make_submission(student, "scoring", *notebooks))


def all_right(notebook, exercises, *rest):
    """Stand in for ``grade``: every automatic exercise is right, and nothing is run."""
    points = [None if not e.is_automatic else float(e.points) for e in exercises]
    verdicts = tuple(judge.Verdict(e.name, p, e.points) for e, p in zip(exercises, points, strict=True))
    return grading.Graded(verdicts, {})


def grade_quickly(course, *students, grade_one=all_right, notice=None, **options):
    """Grade a class without running anything, but record the results as usual. Return the rows by student."""
    with mock.patch.object(grading, "grade", grade_one), ThreadPoolExecutor(1) as pool:
        rows = grade_class(course, "scoring", GradingOptions(**options), students, executor=pool, notice=notice)
    return {row.student: row for row in rows}


def mark(course, student, points, comment=None):
    """Mark the written answer as a person does in the formgrader."""
    with Gradebook(course.gradebook.url) as gradebook:
        entry = gradebook.find_grade(ESSAY, "scoring", "scoring", student)
        entry.manual_score, entry.needs_manual_grade = points, False
        gradebook.find_comment(ESSAY, "scoring", "scoring", student).manual_comment = comment
        gradebook.db.commit()


def written(course, student):
    """Return the points of the written answer, and whether it waits to be marked."""
    with Gradebook(course.gradebook.url) as gradebook:
        entry = gradebook.find_grade(ESSAY, "scoring", "scoring", student)
        return entry.manual_score, entry.needs_manual_grade


def page(course, student):
    return course.feedback(student, "scoring").read_text(encoding="utf-8")


def grade(course, students=()):
    return grade_class(course, "scoring", GradingOptions(workers=1), students=students)


def copy_released(name, plan, folder):
    """Return a copy in ``folder`` of the course ``name``, which is released with the course.toml ``plan`` once per test run."""

    def make(place):
        course = init(place / "course")
        (course.root / "course.toml").write_text(plan, encoding="utf-8")
        release(course, "scoring", seed=0)
        return course

    return _copy_made(name, make, folder)


def copy_prepared(name, released, folder, prepare):
    """Return a copy in ``folder`` of the course ``name``: the released one after ``prepare(course)``, once per test run."""

    def make(place):
        shutil.copytree(released.root, place / "course")
        course = Course.at(place / "course")
        prepare(course)
        return course

    return _copy_made(name, make, folder)


def _copy_made(name, make, folder):
    shutil.copytree(made_once(name, make).root, folder / "course")
    return Course.at(folder / "course")


def essays(released, folder):
    """Return a copy in ``folder`` of the course in which the class of ``ANSWERS`` has been graded."""

    def prepare(course):
        for student, text in ANSWERS.items():
            hand_in(course, student, text)
        assert not [row for row in grade(course) if row.failed or row.set_aside]

    return copy_prepared("essays", released, folder, prepare)
