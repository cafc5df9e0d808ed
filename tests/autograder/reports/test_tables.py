"""The tables in the terminal count every submission once, and say what became of each."""

from types import SimpleNamespace

import pytest

from autograder.batch.results import SubmissionResult
from autograder.courses.released import read_exercises
from autograder.platforms.collect import Collected
from autograder.reports import class_page, tables
from autograder.verdicts import PROVISIONAL_NOTE, Graded


def row(set_aside="", failed="", reused=False):
    return SimpleNamespace(set_aside=set_aside, failed=failed, reused=reused)


@pytest.mark.parametrize(
    ("rows", "line"),
    [
        ([], "0 graded, 0 reused, 0 set aside, 0 failed"),
        (
            [row(), row(), row(failed="Python ended."), row(failed="Python ended.")],
            "2 graded, 0 reused, 0 set aside, 2 failed",
        ),
        (
            [row(), row(reused=True), row(reused=True), row(reused=True), row(set_aside="no notebook")],
            "1 graded, 3 reused (nothing has changed since they were graded), "
            "1 set aside (not graded: their feedback pages say why), 0 failed",
        ),
    ],
)
def test_each_submission_is_counted_once(rows, line):
    assert tables.summary_line(rows) == line


def test_a_row_begins_with_a_limit_that_was_reached_and_the_sum_is_that_after_the_late_penalty():
    (question,) = read_exercises("scoring", {})[:1]
    graded = Graded((), {}, "It reached a limit: x.", {"cell_seconds": 20.0})
    row = SubmissionResult("ada", {question.name: 17.5}, penalty=1.75, hints=("The tanh is missing.",))
    row.enter_verdicts(graded, ["A cell was missing.", "Another cell was missing.", "One more was missing."])
    row.hints = ("The tanh is missing.",)
    grid = tables.grade_table([question], [row])
    *_, total, advice = [str(next(iter(column.cells))) for column in grid.columns]
    assert total == "15.75"
    assert advice == (
        f"It reached a limit: x. {PROVISIONAL_NOTE} Late: 1.75 of 17.5 points deducted. The tanh is missing. "
        "A cell was missing. (+2 more notes)"
    )


def test_each_exercise_has_its_points_or_a_mark_that_is_missing_or_nothing_if_it_was_not_asked():
    questions = read_exercises("scoring", {})[:4]
    marked, waiting, again, _ = (question.name for question in questions)
    row = SubmissionResult("ada", {marked: 1.5, waiting: None, again: 2.0}, waiting=(waiting, again))
    cells = [str(next(iter(column.cells))) for column in tables.grade_table(questions, [row]).columns]
    assert cells[1:5] == ["1.5", "mark", "2 mark", ""]


def test_what_was_collected_is_listed_with_its_file_and_what_was_set_aside_comes_last():
    collected = [
        Collected("eve", problem="eve is not in the roster", file="eve.ipynb"),
        Collected("ada", file="ada.ipynb", version=2, code="1234-abcd", note="collected again"),
        Collected("ben", file="ben.ipynb", version=1, code="5678-efab"),
    ]
    grid = tables.tabulate_collected(collected, {"ada": "Ada King (ada)"})
    columns = {column.header: [str(cell) for cell in column.cells] for column in grid.columns}
    assert columns == {
        "file": ["ada.ipynb", "ben.ipynb", "eve.ipynb"],
        "student": ["Ada King (ada)", "ben", "eve"],
        "version": ["2", "1", "?"],
        "receipt": ["1234-abcd", "5678-efab", ""],
        "status": ["collected again", "collected", "set aside: eve is not in the roster"],
    }


def test_a_note_on_what_was_set_aside_follows_the_problem():
    aside = [Collected("fay", problem="a file is too large", note="Raise the limit.")]
    (status,) = tables.tabulate_collected(aside).columns[-1].cells
    assert str(status) == "set aside: a file is too large. Raise the limit."


@pytest.mark.parametrize(("share", "percent"), [(None, "–"), (0.0, "0%"), (0.5, "50%"), (1.0, "100%")])
def test_a_share_is_shown_in_percent(share, percent):
    assert class_page._percent(share) == percent


def changed(*moves, set_aside="", failed=""):
    changes = [SimpleNamespace(what=what, before=before, after=after) for what, before, after in moves]
    return SimpleNamespace(changes=changes, set_aside=set_aside, failed=failed)


def test_students_are_counted_by_whether_their_marks_would_go_up_or_down():
    rows = [
        changed(("softmax", 1.0, 2.0), ("entropy", 1.0, 0.5)),
        changed(("softmax", 2.0, 1.0)),
        changed(("late penalty", 1.0, 0.0)),  # less is deducted
        changed(("all", None, 5.0)),
        changed(),
        changed(),
        changed(set_aside="no notebook"),
    ]
    assert tables.changes_summary(rows) == (
        "Students whose marks would change: 3 (2 up, 1 down); 1 would be new, 2 would stay the same"
    )


def test_the_slowest_submissions_are_named_with_the_seconds_that_they_ran():
    spent = {"ada": {"cells": 1.0, "calls": 0.5, "page": 9.0}, "ben": {"cells": 2.0}, "cem": {"page": 3.0}}
    rows = [SimpleNamespace(student=name, spent=seconds) for name, seconds in spent.items()]
    assert tables.slowest_line(rows, {"ben": "Ben Ito (ben)"}) == "Slowest: Ben Ito (ben) 2.0 s, ada 1.5 s"
    assert tables.slowest_line(rows, count=1) == "Slowest: ben 2.0 s"
    assert tables.slowest_line(rows[2:]) == ""
