"""A person may override the grader's points, for good and with a reason that the student reads."""

import pytest

from autograder.errors import CourseError
from autograder.gradebook.scores import load_results
from autograder.marking.override import override
from tests.autograder.essays import all_right, enrol, grade_quickly, hand_in, page
from tests.autograder.samples import AUTOMATIC
from tests.autograder.test_main import assert_refused, autograder

pytestmark = pytest.mark.suite("assignments")
NAME, WHY = "scoring-additive_score", "The text could be read in two ways: your reading counts."


def half_right(notebook, exercises, *rest):
    graded = all_right(notebook, exercises, *rest)
    for verdict in graded.verdicts:
        if verdict.exercise == NAME:
            object.__setattr__(verdict, "earned", 1.0)
    return graded


def test_a_disputed_mark_is_overridden_with_a_reason_and_survives_regrading(course):
    hand_in(course, "mia")
    grade_quickly(course, grade_one=half_right)
    before = load_results(course, "scoring")["mia"].earned
    command = ["mark", "scoring", "additive_score", "--student", "mia", "--points", 2.5, "--reason", WHY]
    done = autograder(*command, "--course", course.root)
    assert done.returncode == 0, done.stderr
    assert "1 points before, 2.5 now" in done.stdout
    for again in (False, True):
        row = grade_quickly(course, grade_one=half_right, again=again)["mia"]
        assert row.points[NAME] == 2.5
        assert load_results(course, "scoring")["mia"].earned == before + 1.5
        assert WHY in page(course, "mia")
        assert f"Changed by a person from 1 to 2.5: {WHY}" in page(course, "mia")
        assert NAME not in row.waiting


def test_where_a_later_grading_comes_to_another_verdict_the_points_stay_and_a_person_looks_again(course):
    hand_in(course, "mia")
    grade_quickly(course, grade_one=half_right)
    override(course, "scoring", "additive_score", "mia", 2.5, WHY)
    row = grade_quickly(course, again=True)["mia"]
    assert (row.points[NAME], NAME in row.waiting) == (2.5, True)
    override(course, "scoring", "additive_score", "mia", None)
    row = grade_quickly(course)["mia"]
    assert (row.points[NAME], NAME in row.waiting, row.total) == (3.0, False, AUTOMATIC)
    assert WHY not in page(course, "mia")


def test_a_person_may_give_all_the_points_or_none(course):
    hand_in(course, "mia")
    grade_quickly(course, grade_one=half_right)
    assert override(course, "scoring", "additive_score", "mia", 3, WHY) == (1.0, 3.0)
    assert override(course, "scoring", "additive_score", "mia", 0, WHY) == (3.0, 0.0)


@pytest.mark.parametrize(
    ("exercise", "student", "points", "reason", "words"),
    [
        ("additive_scores", "mia", 1, WHY, "has no exercise"),
        ("what_to_recompute", "mia", 1, WHY, "written answer"),
        ("additive_score", "mia", 3.5, WHY, "worth 3 points"),
        ("additive_score", "mia", float("nan"), WHY, "worth 3 points"),
        ("additive_score", "mia", -1, WHY, "worth 3 points"),
        ("additive_score", "mia", 1, "  ", "no reason"),
        ("additive_score", "noa", 1, WHY, "nothing from 'noa' has been graded"),
    ],
)
def test_what_cannot_be_overridden_is_refused(course, exercise, student, points, reason, words):
    hand_in(course, "mia")
    grade_quickly(course)
    with pytest.raises(CourseError, match=words):
        override(course, "scoring", exercise, student, points, reason)
    assert load_results(course, "scoring")["mia"].earned == AUTOMATIC


def test_the_command_keeps_to_the_section_and_to_the_markers_of_the_course(course):
    enrol(course, "id,name,section\nmia,Mia Ito,A\nnoa,Noa Lee,B\n", 'roster = "students.csv"\nmarkers = ["ada"]\n')
    hand_in(course, "mia")
    grade_quickly(course, feedback=False)
    command = ["mark", "scoring", "additive_score", "--student", "mia", "--points", 2.5, "--reason", WHY]
    where = ["--course", course.root]
    assert_refused(autograder(*command, "--section", "B", *where), "mia is not in section B")
    assert_refused(autograder(*command, "--marker", "eve", *where), "'eve'", "name one of ada")
    assert load_results(course, "scoring")["mia"].earned == AUTOMATIC
    done = autograder(*command, "--section", "A", "--marker", "ada", *where)
    assert (done.returncode, "Mia Ito" in done.stdout) == (0, False), done.stderr
    assert "Mia Ito (mia), additive_score" in autograder(*command, "--names", *where).stdout


def test_the_command_says_what_is_missing(released):
    where = ("--course", released.root)
    assert_refused(autograder("mark", "scoring", "additive_score", "--student", "mia", *where), "which points")
    assert_refused(autograder("mark", "scoring", "additive_score", "--points", "1", *where), "name the student")
