"""Find all answers to one written question, and save the marks that a person gives them.

Each call opens a connection to nbgrader's gradebook, because the file may be replaced between two calls.
"""

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from sqlalchemy import select, update

from autograder.courses.course import Course
from autograder.courses.locking import shared_lock
from autograder.courses.plan import Selection
from autograder.errors import CourseError
from autograder.gradebook import database as tables
from autograder.gradebook.database import open_connection, open_gradebook
from autograder.gradebook.lateness import update_penalties
from autograder.gradebook.provenance import GivenMark, record_given
from autograder.gradebook.scores import require_gradebook
from autograder.notebooks.added_cells import format_as_markdown, is_as_released, select_added_cells
from autograder.notebooks.cell_ids import full_name, id_of
from autograder.notebooks.handout import Question, handout
from autograder.notebooks.repair import PICTURES
from solutions.answer_key import Criterion, Text

GRADE, COMMENT = tables.GRADE, tables.COMMENT
ANSWER_CELL = tables.CELL.alias()  # the same table as for the points
COLUMNS = (GRADE.c.id, GRADE.c.auto_score, GRADE.c.manual_score, GRADE.c.needs_manual_grade)
COLUMNS += (COMMENT.c.id, COMMENT.c.manual_comment)
ROWS = (
    select(tables.SUBMITTED_ASSIGNMENT.c.student_id, *COLUMNS)
    .join(tables.ASSIGNMENT, tables.ASSIGNMENT.c.id == tables.SUBMITTED_ASSIGNMENT.c.assignment_id)
    .join(tables.SUBMITTED_NOTEBOOK, tables.SUBMITTED_NOTEBOOK.c.assignment_id == tables.SUBMITTED_ASSIGNMENT.c.id)
    .join(GRADE, GRADE.c.notebook_id == tables.SUBMITTED_NOTEBOOK.c.id)
    .join(tables.GRADE_CELL, tables.GRADE_CELL.c.id == GRADE.c.cell_id)
    .join(tables.CELL, tables.CELL.c.id == tables.GRADE_CELL.c.id)
    .join(COMMENT, COMMENT.c.notebook_id == tables.SUBMITTED_NOTEBOOK.c.id)
    .join(tables.SOLUTION_CELL, tables.SOLUTION_CELL.c.id == COMMENT.c.cell_id)
    .join(ANSWER_CELL, ANSWER_CELL.c.id == tables.SOLUTION_CELL.c.id)
)


@dataclass(frozen=True)
class CurrentMark:
    """A person's mark in the gradebook: points or None, whether the answer is still to be marked, comment."""

    points: float | None = None
    waiting: bool = True
    comment: str | None = None


@dataclass(frozen=True)
class Answer:
    """One student's answer. ``grade`` and ``remark`` are the ids of nbgrader's rows, ``held`` is the mark in them."""

    student: str
    grade: str
    remark: str
    text: str
    held: CurrentMark
    is_untouched: bool = False  # as it was handed out: worth 0, and need not be marked
    pictures: tuple[str, ...] = field(default=(), compare=False)  # names of attached pictures, which the text may show
    drawn: str = ""  # a hash of these pictures

    @property
    def seen(self) -> str:
        """A hash of what a marker has seen: the text, its pictures and the mark in the gradebook."""
        state = [self.text, self.drawn, self.held.points, self.held.waiting, self.held.comment]
        return hashlib.sha256(json.dumps(state).encode()).hexdigest()[:32]


NewMark = tuple[Answer, CurrentMark]  # an answer as its marker has seen it, and its new mark


@dataclass(frozen=True)
class Scheme:
    """A written question as it was released: what it asks, the points, the model answer, the criteria."""

    question: Question
    points: float
    answer: str
    criteria: tuple[Criterion, ...]


class AnswersChanged(Exception):
    """Answers differ from what the marker has seen: ``now`` has them as they are now, by student."""

    def __init__(self, now: dict[str, Answer]) -> None:
        super().__init__(f"{len(now)} answers have changed")
        self.now = now


def load_scheme(course: Course, topic: str, exercise: str) -> Scheme:
    """Return the ``Scheme`` of ``exercise``, named with or without its topic; raise CourseError if no person marks it."""
    released = course.releases(topic).load()
    name = full_name(topic, exercise)
    names = list_written(course, topic)
    remedy = f"name one that a person marks: {', '.join(names)}." if names else "none of it is marked by a person."
    asked = next((exercise for exercise in released.exercises if exercise.name == name), None)
    if asked is None:
        raise CourseError(f"{topic} has no exercise {exercise!r}", str(course.root), remedy)
    if asked.is_automatic:
        raise CourseError(f"{name} is not a written answer: it is graded automatically", str(course.root), remedy)
    question = next(question for question in handout(released.notebooks[0]).questions if question.name == name)
    entry = cast(Text, asked.entry)
    return Scheme(question, asked.points, entry.answer.strip(), entry.criteria)


def list_written(course: Course, topic: str) -> list[str]:
    """Return the exercises whose answers a person marks, without their topic."""
    return [asked.name.partition("-")[2] for asked in course.releases(topic).load().exercises if not asked.is_automatic]


def is_written(course: Course, topic: str, exercise: str) -> bool:
    """Return whether ``exercise``, named with or without its topic, is one whose answers a person marks."""
    name = full_name(topic, exercise)
    return any(asked.name == name and not asked.is_automatic for asked in course.releases(topic).load().exercises)


def load_answers(course: Course, topic: str, exercise: str, only: Selection = None) -> list[Answer]:
    """Return the answers of all students in the gradebook, in no particular order; with ``only``, of these students.

    Raises CourseError if the gradebook is unreadable.
    """
    return [_load_answer(course, topic, exercise, row) for row in _fetch_rows(course, topic, exercise, only)]


def count_progress(course: Course, topic: str, exercise: str, only: Selection = None) -> dict[str, int]:
    """Return how many answers are marked, of how many, and how many are untouched; raise CourseError without a gradebook."""
    rows = _fetch_rows(course, topic, exercise, only)
    return count_marked([(_is_untouched(row), bool(row.needs_manual_grade)) for row in rows])


def count_marked(rows: Sequence[tuple[bool, bool]]) -> dict[str, int]:
    """Return the same as ``count_progress`` for ``rows`` of (whether an answer is untouched, whether it waits)."""
    waiting = [is_waiting for is_untouched, is_waiting in rows if not is_untouched]
    return {"marked": waiting.count(False), "of": len(waiting), "untouched": len(rows) - len(waiting)}


def _fetch_rows(course, topic, exercise, only):
    require_gradebook(course, topic)
    with open_connection(course) as connection:
        rows = connection.execute(_select_rows(topic, exercise)).all()
    return [row for row in rows if only is None or row.student_id in only]


def _is_as_graded(course: Course, topic: str, exercise: str, answer: Answer) -> bool:
    """Return whether text and pictures of ``answer`` are still those that were graded last."""
    text, attachments = _read_text(course, topic, exercise, answer.student)
    return (text, _hash_pictures(attachments)) == (answer.text, answer.drawn)


def save_marks(
    course: Course, topic: str, exercise: str, marks: Sequence[NewMark], markers: Mapping[str, str] | None = None
) -> list[Answer]:
    """Put ``marks`` into the gradebook; return the answers with their new marks. ``markers`` says by student who gives them.

    Either all are saved or none. Points given meanwhile by nbgrader's own commands, the formgrader or another marker are not
    overwritten, and an answer that the student has changed is not marked. Raises AnswersChanged if an answer or its mark
    differs from what was seen, and CourseError if a class is being graded, or the gradebook cannot be written.
    """
    with shared_lock(course), open_gradebook(course) as gradebook:
        db = gradebook.db
        for answer, held in marks:
            before = answer.held
            grade = update(GRADE).where(
                GRADE.c.id == answer.grade,
                GRADE.c.manual_score.is_not_distinct_from(before.points),
                GRADE.c.needs_manual_grade == before.waiting,
            )
            remark = update(COMMENT).where(
                COMMENT.c.id == answer.remark, COMMENT.c.manual_comment.is_not_distinct_from(before.comment)
            )
            grade = grade.values(manual_score=held.points, needs_manual_grade=held.waiting)
            remark = remark.values(manual_comment=held.comment)
            is_same = _is_as_graded(course, topic, exercise, answer)
            written = [cast(Any, db.execute(statement)).rowcount for statement in (grade, remark)]
            if written != [1, 1] or not is_same:
                db.rollback()
                raise AnswersChanged(_find_changed_answers(course, topic, exercise, gradebook, marks))
        db.expire_all()
        update_penalties(course, topic, gradebook, [answer.student for answer, _ in marks])
        db.commit()
        given = (
            GivenMark(answer.student, (markers or {}).get(answer.student, ""), held.points, held.comment or "")
            for answer, held in marks
        )
        record_given(course, topic, exercise, given)
    return [replace(answer, held=held) for answer, held in marks]


def _find_changed_answers(course, topic, exercise, gradebook, marks):
    """Return the current answers, by student, that differ from those seen in ``marks``."""
    rows = {row[0]: row for row in gradebook.db.execute(_select_rows(topic, exercise)).all()}
    gradebook.db.rollback()
    now = {}
    for answer, _ in marks:
        current = _load_answer(course, topic, exercise, rows[answer.student]) if answer.student in rows else None
        if current is None or current.seen != answer.seen:
            now[answer.student] = current or answer
    return now or {answer.student: answer for answer, _ in marks}


def _select_rows(topic, exercise):
    return ROWS.where(tables.ASSIGNMENT.c.name == topic, tables.CELL.c.name == exercise, ANSWER_CELL.c.name == exercise)


def _load_answer(course, topic, exercise, row):
    student, grade, _, manual, waiting, remark, comment = row
    text, attachments = _read_text(course, topic, exercise, student)
    held = CurrentMark(manual, bool(waiting), comment)
    drawn = _hash_pictures(attachments)
    return Answer(student, grade, remark, text, held, _is_untouched(row), tuple(attachments), drawn)


def _hash_pictures(attachments):
    return hashlib.sha256(json.dumps(attachments, sort_keys=True).encode()).hexdigest() if attachments else ""


def read_picture(course: Course, topic: str, exercise: str, student: str, name: str) -> tuple[str, bytes] | None:
    """Return ``(MIME type, content)`` of the picture ``name`` that is attached to an answer, or None."""
    try:
        mime, data = next(iter(_read_text(course, topic, exercise, student)[1][name].items()))
        return (mime, base64.b64decode(data)) if mime in PICTURES else None
    except (KeyError, StopIteration, ValueError, TypeError, AttributeError):
        return None


def _is_untouched(row):
    return row.auto_score is not None and row.manual_score is None and not row.needs_manual_grade


def _read_text(course, topic, exercise, student):
    """Return the text and attachments of an answer as it was graded, with cells added below it; "" and {} without any."""
    try:
        cells = json.loads(course.autograded(student, topic).read_bytes())["cells"]
        added = list(select_added_cells(cells, exercise))
        own = [cell for cell in cells if id_of(cell) == exercise]
        written = [*(cell for cell in own if not (added and is_as_released(cell))), *added]
        texts, pictures = [], {}
        for number, cell in enumerate(written):
            text, prefix = format_as_markdown(cell), f"{number}-" if number else ""
            for name, picture in (cell.get("attachments") or {}).items():
                text = text.replace(f"attachment:{name}", f"attachment:{prefix}{name}")
                pictures[f"{prefix}{name}"] = picture
            texts.append(text)
        return "\n\n".join(texts), pictures
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return "", {}
