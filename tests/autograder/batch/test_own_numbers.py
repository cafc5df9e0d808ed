"""Own numbers in a course: in the notebook, in grading, on the feedback page and in the report."""

import os
from concurrent.futures import ThreadPoolExecutor

import nbformat
import numpy as np
import pytest
from nbclient import NotebookClient

from autograder.batch.grade_class import grade_class
from autograder.errors import CourseError
from autograder.exercises import own_numbers
from autograder.feedback import cell_html
from autograder.notebooks.cell_ids import STUDENT, id_of, own_id
from autograder.notebooks.handout import handout, select_own_draws
from autograder.notebooks.own_text import NO_ID
from autograder.platforms.gradescope.pack import pack
from autograder.releases.release import release
from autograder.reports.analysis import MIN_STUDENTS, analyse, compare_groups
from autograder.reports.class_page import class_page
from autograder.sandbox import Limits
from tests.autograder.essays import copy_released, enrol
from tests.autograder.samples import exercise_named
from tests.autograder.with_nbgrader.test_nbgrader_plugin import grades, nbgrader

pytestmark = pytest.mark.suite("assignments")
NAME = "scoring-scores_by_hand_twin"
PLAN = '[assignment.scoring]\nexercises = ["scores_by_hand_twin", "what_to_recompute"]\n'
OWN_PLAN = f"{PLAN}own_numbers = true\n"
CLASSMATES = [f"student{number:02d}" for number in range(MIN_STUDENTS)]


@pytest.fixture
def course(tmp_path):
    """A course whose students have the numbers of the book."""
    return copy_released("numbers of the book", PLAN, tmp_path)


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """A course whose students have numbers of their own."""
    return copy_released("own numbers", OWN_PLAN, tmp_path_factory.mktemp("own"))


@pytest.fixture(scope="module")
def pool():
    """An executor with one thread for all tests, so that each course starts only one sandbox."""
    with ThreadPoolExecutor(1) as pool:
        yield pool


def read_release(course):
    return nbformat.read(course.release("scoring"), as_version=4)


def values_for(course, student):
    """Return the right numbers of ``student``."""
    numbers, _ = select_own_draws(handout(read_release(course)), student)[NAME]
    return own_numbers.exercise_with("scoring", "scores_by_hand_twin", numbers).hidden[0].expected.round(4).tolist()


def hand_in(course, student, values, typed=None):
    notebook = read_release(course)
    for cell in notebook.cells:
        if id_of(cell) == NAME:
            cell.source = f"def scores_by_hand_twin():\n    return {values}"
        if id_of(cell) == STUDENT:
            cell.source = cell.source.replace('""', f'"{student if typed is None else typed}"')
    path = course.submission(student, "scoring")
    path.parent.mkdir(parents=True)
    path.write_text(nbformat.writes(notebook))


@pytest.fixture(scope="module")
def graded(own, pool):
    """The graded course: right submissions, and some with somebody else's numbers."""
    hand_in(own, "ada", values_for(own, "ada"))
    hand_in(own, "ben", values_for(own, "ada"))
    hand_in(own, "cyd", exercise_named(NAME).hidden[0].expected.round(4).tolist())
    hand_in(own, "dee", values_for(own, "dee"), typed="ada")
    for student in CLASSMATES:
        hand_in(own, student, values_for(own, student))
    return own, {row.student: row for row in grade_class(own, "scoring", executor=pool)}


def shown_by_kernel(course, folder, monkeypatch, typed="", hub=""):
    """Run the released notebook in a real kernel; return its line about the student and the exercise that it shows."""
    monkeypatch.setitem(os.environ, "JUPYTERHUB_USER", hub)
    notebook = read_release(course)
    cells = {id_of(cell): cell for cell in notebook.cells}
    cells[STUDENT].source = cells[STUDENT].source.replace('""', f'"{typed}"')
    last = notebook.cells.index(cells[own_id(NAME)])
    notebook.cells = notebook.cells[: last + 1]
    NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(folder)}}).execute()
    (greeting,), (shown,) = cells[STUDENT].outputs, cells[own_id(NAME)].outputs
    return greeting.text.strip(), shown.data["text/markdown"]


@pytest.mark.parametrize(("typed", "hub"), [("ada", ""), ("", "ada"), (" ada ", "prof")])
def test_a_notebook_shows_the_exercise_with_the_numbers_of_its_student(own, tmp_path, monkeypatch, typed, hub):
    greeting, shown = shown_by_kernel(own, tmp_path, monkeypatch, typed, hub)
    assert greeting == "Your numbers are those of ada."
    numbers, _ = select_own_draws(handout(read_release(own)), "ada")[NAME]
    first = ", ".join(f"{value:g}" for value in numbers[:3])
    assert f"$s = ({first})$" in shown
    assert "W_{query} = \\begin{pmatrix} 1 & 0 & 2" in shown


def test_a_notebook_without_an_id_says_so_in_one_sentence(own, tmp_path, monkeypatch):
    assert shown_by_kernel(own, tmp_path, monkeypatch) == (NO_ID, NO_ID)
    assert NO_ID.count(". ") == 0


def test_the_notebook_states_the_question_nowhere_with_the_numbers_of_the_book(own):
    (text,) = [cell.source for cell in read_release(own).cells if id_of(cell) == f"{NAME}-text"]
    assert "Run the next cell" in text
    assert "0.5" not in text


def test_own_numbers_earn_points_and_those_of_others_do_not(graded):
    _, rows = graded
    assert {name: rows[name].total for name in ("ada", "ben", "cyd", "dee")} == {"ada": 2, "ben": 0, "cyd": 0, "dee": 2}
    assert all(rows[name].total == 2 for name in CLASSMATES)


def test_a_hint_tells_the_numbers_of_others_and_of_the_book(graded):
    _, rows = graded
    assert own_numbers.OTHER_HINT in rows["ben"].hints
    assert own_numbers.BOOK_HINT in rows["cyd"].hints


def test_a_listed_mistake_with_own_numbers_gets_its_hint(own, pool):
    numbers, others = select_own_draws(handout(read_release(own)), "eve")[NAME]
    exercise = own_numbers.exercise_with("scoring", "scores_by_hand_twin", numbers, others)
    wrong = exercise.hidden[0].mistaken[f"{exercise.function}__no_tanh"].value
    hand_in(own, "eve", wrong.tolist())
    (row,) = grade_class(own, "scoring", students=["eve"], executor=pool)
    assert (row.total, exercise.hints[f"{exercise.function}__no_tanh"] in row.hints) == (0, True)


def question_for(course, student):
    """Return the question as it must appear on the feedback page of ``student``."""
    (question,) = [
        candidate for candidate in handout(read_release(course)).for_student(student).questions if candidate.own
    ]
    numbers, _ = select_own_draws(handout(read_release(course)), student)[NAME]
    assert all(f"{value:g}" in question.text for value in numbers)
    return str(cell_html.prose(question.text))


def test_the_feedback_page_repeats_the_question_with_own_numbers(graded):
    course, _ = graded
    for student, other in (("ada", "ben"), ("ben", "ada")):
        page = course.feedback(student, "scoring").read_text()
        assert question_for(course, student) in page
        assert question_for(course, other) not in page


def test_the_page_goes_by_the_id_where_the_roster_has_a_name(tmp_path, pool):
    course = copy_released("own numbers", OWN_PLAN, tmp_path)
    enrol(course, "id,name\nada,Ada King\n", f'roster = "students.csv"\n{OWN_PLAN}')
    hand_in(course, "ada", values_for(course, "ada"))
    (row,) = grade_class(course, "scoring", students=["ada"], executor=pool)
    assert row.total == 2
    first = course.feedback("ada", "scoring").read_text()
    (course.root / "students.csv").write_text("id,name\nada,Ada Lovelace\n")  # so the page must be made again
    grade_class(course, "scoring", students=["ada"], executor=pool)
    renamed = course.feedback("ada", "scoring").read_text()
    nbgrader("generate_feedback", "scoring", "--force", cwd=course.root)
    by_nbgrader = course.feedback("ada", "scoring").read_text()
    for page, name in ((first, "Ada King"), (renamed, "Ada Lovelace"), (by_nbgrader, "Ada Lovelace")):
        assert name in page
        assert question_for(course, "ada") in page


def test_equal_files_of_two_students_are_judged_apart(graded, pool):
    """Verdicts are stored by content, which here has to include the student."""
    course, _ = graded
    released = course.released("scoring")
    assert released.version_for("ada") != released.version_for("ben")
    for student in ("fay", "gus"):
        hand_in(course, student, values_for(course, "fay"), typed="")
    rows = {row.student: row.total for row in grade_class(course, "scoring", students=["fay", "gus"], executor=pool)}
    assert rows == {"fay": 2, "gus": 0}


def test_nbgrader_grades_own_numbers_through_the_plugin(graded):
    course, _ = graded
    nbgrader("autograde", "scoring", "--force", "--student", "[ab]*", cwd=course.root)
    assert [grades(course, student)[f"{NAME}-test"][0] for student in ("ada", "ben")] == [2, 0]


def test_the_report_compares_the_variants(graded):
    course, _ = graded
    study = analyse(course, "scoring")
    (variants,) = study.variants
    assert variants.name == NAME
    assert variants.marked >= MIN_STUDENTS
    assert 0 <= variants.lowest <= variants.highest <= 1
    assert variants.p_value is None or 0 < variants.p_value <= 1
    assert "Variants compared" in class_page("", [study])


@pytest.mark.parametrize(("shares", "is_different"), [([0.0] * 20 + [1.0] * 20, True), ([0.0, 1.0] * 20, False)])
def test_groups_that_differ_are_told_from_those_that_do_not(shares, is_different):
    groups = np.repeat([0, 1], 20)
    assert (compare_groups(np.array(shares), groups) < 0.01) == is_different
    assert compare_groups(np.ones(40), groups) is None


def test_gradescope_is_refused_because_it_passes_no_id_on(own):
    with pytest.raises(CourseError, match="different numbers"):
        pack(own, "scoring", own.released("scoring"), Limits())


def test_without_own_numbers_in_course_toml_everybody_has_the_book_s(course, pool):
    assert select_own_draws(handout(read_release(course)), "ada") == {}
    assert not course.released("scoring").has_own_numbers
    hand_in(course, "ada", exercise_named(NAME).hidden[0].expected.round(4).tolist())
    (row,) = grade_class(course, "scoring", students=["ada"], executor=pool)
    assert row.total == 2


def test_what_was_handed_in_before_own_numbers_were_released_is_judged_as_it_was_asked(course, unproved, pool):
    hand_in(course, "ada", exercise_named(NAME).hidden[0].expected.round(4).tolist())
    (course.root / "course.toml").write_text(OWN_PLAN)
    release(course, "scoring", 0)
    (row,) = grade_class(course, "scoring", students=["ada"], executor=pool)
    assert row.total == 2
