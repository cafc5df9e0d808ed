"""Reading the gradebook without its computed sums gives the same scores as nbgrader."""

import pytest
from nbgrader.api import Gradebook
from sqlalchemy import event

from autograder.feedback.marks import CellComment, CellResult, GradebookEntry, Mark, Marks
from autograder.gradebook.lateness import ReceivedTime
from autograder.gradebook.recorder import Recorder
from autograder.gradebook.scores import load_results

pytestmark = pytest.mark.suite("assignments")


def as_nbgrader_reads_it(course, student):
    with Gradebook(course.gradebook.url) as gradebook:
        notebook = gradebook.find_submission_notebook("scoring", "scoring", student)
        cells = {
            grade.name: Mark(
                grade.score, grade.max_score, grade.auto_score, grade.manual_score is not None, grade.needs_manual_grade
            )
            for grade in notebook.grades
        }
        comments = {comment.name: comment.comment for comment in notebook.comments}
        return Marks(cells, comments, notebook.score, notebook.max_score, notebook.late_submission_penalty or 0.0)


def results(course):
    cells = [cell.metadata.nbgrader for cell in course.releases("scoring").load().notebooks[0].cells]
    return [
        CellResult(meta.grade_id, meta.get("points", 0.0) / 2, meta.grade, meta.solution, "No response.")
        for meta in cells
        if meta.grade or meta.solution
    ]


def test_marks_are_those_that_nbgrader_reads(course):
    entered = results(course)
    with Recorder(course, "scoring") as recorder:
        assert recorder.current_state("mia").is_new
        first = recorder.record("mia", entered, ReceivedTime(), {})
    assert first == as_nbgrader_reads_it(course, "mia")
    assert first.score == first.points / 2 > 0
    with Gradebook(course.gradebook.url) as gradebook:  # a person marks, gives extra points and comments
        notebook = gradebook.find_submission_notebook("scoring", "scoring", "mia")
        notebook.grades[0].manual_score, notebook.grades[0].needs_manual_grade = 0.25, False
        notebook.grades[1].extra_credit = 1.0
        notebook.comments[0].manual_comment = "Well said."
        gradebook.db.commit()
    with Recorder(course, "scoring") as recorder:
        assert recorder.current_state("mia").marks == as_nbgrader_reads_it(course, "mia")
        second = recorder.record("mia", entered, ReceivedTime(), {})
        assert recorder.current_state("mia").marks == second
    assert second == as_nbgrader_reads_it(course, "mia")
    assert load_results(course, "scoring")["mia"].earned == second.score
    assert "Well said." in second.comments.values()
    assert second.score == first.score + 1.0 + 0.25 - first.cells[found_name(second)].score


def found_name(marks):
    (name,) = (name for name, mark in marks.cells.items() if mark.by_person)
    return name


@pytest.mark.parametrize(
    ("entry", "score"),
    [
        (GradebookEntry(2.0), 0.0),
        (GradebookEntry(2.0, automatic=1.0), 1.0),
        (GradebookEntry(2.0, automatic=1.0, manual=0.0), 0.0),
        (GradebookEntry(2.0, automatic=1.0, extra=0.5), 1.5),
        (GradebookEntry(2.0, extra=0.5), 0.0),
    ],
)
def test_a_score_is_the_persons_before_the_graders_with_what_was_given_on_top(entry, score):
    assert entry.score == score


@pytest.mark.parametrize("manual", ["Well said.", ""])
def test_a_comment_is_the_persons_before_the_graders_even_if_the_person_emptied_it(manual):
    assert CellComment("No response.").text == "No response."
    assert CellComment("No response.", manual).text == manual


def test_nothing_that_is_asked_for_a_submission_looks_at_the_rows_of_the_whole_class(course):
    statements = []
    entered = results(course)
    with Recorder(course, "scoring") as recorder:
        engine = recorder._session.get_bind()
        event.listen(
            engine, "before_cursor_execute", lambda _1, _2, text, values, *_: statements.append((text, values))
        )
        for _ in range(2):
            recorder.record("mia", entered, ReceivedTime(), {})
        with engine.connect() as connection:
            plans = [
                (text, step.detail)
                for text, values in statements
                if text.startswith("SELECT")
                for step in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {text}", values)
            ]
    assert {"grade", "comment"} <= {step.split()[1] for _, step in plans}
    assert not [plan for plan in plans if plan[1].startswith("SCAN")]
