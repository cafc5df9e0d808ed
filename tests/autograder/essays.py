"""A small class that has answered a written question, graded: what the tests of marking begin with."""

import shutil

import nbformat

from autograder.batch.context import GradingOptions
from autograder.batch.grade_class import grade_class
from autograder.courses.course import Course
from autograder.notebooks.cell_ids import id_of
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


def hand_in(course, student, text):
    """Hand in the scoring assignment with ``text`` as the written answer, and nothing else done."""
    notebook = nbformat.read(course.release("scoring"), as_version=4)
    for cell in notebook.cells:
        if id_of(cell) == ESSAY and text is not None:
            cell["source"] = text
    path = course.submission(student, "scoring")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(nbformat.writes(notebook), encoding="utf-8")


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
