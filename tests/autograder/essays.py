"""Hand in scoring with an answer to its written question, and mark that; a small class that has done so, graded."""

import json
import shutil

from nbgrader.api import Gradebook

from autograder.batch.context import GradingOptions
from autograder.batch.grade_class import grade_class
from autograder.courses.course import Course
from autograder.grading import grade as grading
from autograder.grading import judge
from tests.shared import made_once

ESSAY = "scoring-what_to_recompute"
KEYS = "The projected keys do not depend on the step, so once is enough."
SIGN = "Their sum stands inside the tanh: W + w."
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


def hand_in(course, student, essay="Because U h_j does not change from step to step.", change=None):
    """Hand in scoring with ``essay`` as the written answer, None for none, after ``change`` of the notebook; return its path."""
    data = json.loads(course.release("scoring").read_text(encoding="utf-8"))
    if essay is not None:
        next(c for c in data["cells"] if c["metadata"]["nbgrader"]["grade_id"] == ESSAY)["source"] = essay
    if change:
        change(data)
    path = course.submission(student, "scoring")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data), encoding="utf-8")
    return path


def all_right(notebook, exercises, *rest):
    """Return what the grader finds where every automatic exercise is right; in place of ``grade``, it runs nothing."""
    points = [None if not e.is_automatic else e.points for e in exercises]
    verdicts = tuple(judge.Verdict(e.name, p, e.points) for e, p in zip(exercises, points, strict=True))
    return grading.Graded(verdicts, {})


def mark(course, student, points, comment=None):
    """Mark the written answer, as a person does in the formgrader."""
    with Gradebook(course.gradebook) as gradebook:
        entry = gradebook.find_grade(ESSAY, "scoring", "scoring", student)
        entry.manual_score, entry.needs_manual_grade = points, False
        gradebook.find_comment(ESSAY, "scoring", "scoring", student).manual_comment = comment
        gradebook.db.commit()


def written(course, student):
    """Return the points of the written answer, and whether it waits for a person."""
    with Gradebook(course.gradebook) as gradebook:
        entry = gradebook.find_grade(ESSAY, "scoring", "scoring", student)
        return entry.manual_score, entry.needs_manual_grade


def page(course, student):
    return course.feedback(student, "scoring").read_text(encoding="utf-8")


def grade(course, students=()):
    return grade_class(course, "scoring", GradingOptions(workers=1), students=students)


def essays(released, folder):
    """Return a copy in ``folder`` of the course in which the class of ``ANSWERS`` has been graded."""

    def make(place):
        shutil.copytree(released.root, place / "course")
        course = Course.at(place / "course")
        for student, text in ANSWERS.items():
            hand_in(course, student, text)
        rows = grade(course)
        assert not [row for row in rows if row.failed or row.set_aside]
        return course

    shutil.copytree(made_once("essays", make).root, folder / "course")
    return Course.at(folder / "course")
