"""Read from nbgrader's gradebook what a whole class has for an assignment.

In: a course, a topic. Out: a ``Result`` a student. Reads the gradebook in one query, writes nothing.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime

import sqlalchemy.exc
from nbgrader.api import (
    Grade,
    Gradebook,
    GradeCell,
    InvalidEntry,
    MissingEntry,
    SubmittedAssignment,
    SubmittedNotebook,
)
from sqlalchemy import select

from autograder.courses.course import Course
from autograder.errors import CourseError, of_the_gradebook
from autograder.feedback.marks import Entry
from autograder.notebooks.cell_ids import exercise_of_test
from autograder.paths import add_environment_to_path

ROWS = (
    select(
        SubmittedAssignment.student_id,
        SubmittedAssignment.timestamp,
        SubmittedNotebook.late_submission_penalty,
        GradeCell.name,
        GradeCell.max_score,
        Grade.auto_score,
        Grade.manual_score,
        Grade.extra_credit,
        Grade.needs_manual_grade,
    )
    .join(SubmittedNotebook, SubmittedNotebook.assignment_id == SubmittedAssignment.id)
    .join(Grade, Grade.notebook_id == SubmittedNotebook.id)
    .join(GradeCell, GradeCell.id == Grade.cell_id)
)


@dataclass
class Result:
    """What one student has: the row of each exercise by its name, and what is taken off for being late."""

    student: str
    time: datetime | None = None  # when it was handed in, in UTC; None if nobody knows
    penalty: float = 0.0
    entries: dict[str, Entry] = field(default_factory=dict)

    @property
    def earned(self) -> float:
        """The points of all exercises; what waits for a person counts as it is until then."""
        return sum(entry.score for entry in self.entries.values())

    @property
    def score(self) -> float:
        """The points after the late penalty, as nbgrader has them."""
        return max(0.0, self.earned - self.penalty)

    @property
    def waiting(self) -> tuple[str, ...]:
        """The exercises that a person has still to mark."""
        return tuple(name for name, entry in self.entries.items() if entry.waiting)


@contextmanager
def gradebook_of(course: Course) -> Iterator[Gradebook]:
    """Open the gradebook of ``course``.

    Raises
    ------
    CourseError
        If the database fails, now or while it is open.
    """
    add_environment_to_path()
    try:
        with Gradebook(course.gradebook, course_id="") as gradebook:  # with a name, it would write that name
            yield gradebook
    except (InvalidEntry, sqlalchemy.exc.DatabaseError) as error:
        raise CourseError(*of_the_gradebook(error, course)) from None


def require_gradebook(course: Course, topic: str) -> None:
    """Refuse where nothing was graded yet."""
    if not course.has_gradebook:
        raise CourseError("there is no gradebook yet", str(course.root), f"run `python -m autograder grade {topic}`.")


def results(course: Course, topic: str) -> dict[str, Result]:
    """Return the ``Result`` of each student who is in the gradebook for ``topic``, by name.

    Raises
    ------
    CourseError
        If the gradebook does not know the assignment, or cannot be read.
    """
    require_gradebook(course, topic)
    found: dict[str, Result] = {}
    try:
        with gradebook_of(course) as gradebook:
            assignment = gradebook.find_assignment(topic).id
            rows = gradebook.db.execute(ROWS.where(SubmittedAssignment.assignment_id == assignment)).all()
    except MissingEntry:
        remedy = f"run `python -m autograder release {topic}`."
        raise CourseError(f"the gradebook does not know {topic}", str(course.root), remedy) from None
    for student, time, penalty, cell, points, automatic, manual, extra, waiting in rows:
        one = found.setdefault(student, Result(student, time, float(penalty or 0.0)))
        one.entries[exercise_of_test(cell)] = Entry(float(points), automatic, manual, extra, bool(waiting))
    return dict(sorted(found.items()))
