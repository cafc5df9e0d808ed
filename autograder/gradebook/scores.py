"""Read the results of a class for an assignment from nbgrader's gradebook.

In: a course, a topic. Out: a ``StudentResult`` per student. Reads the gradebook in one query, writes nothing.
"""

from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy import select

from autograder.courses.course import Course
from autograder.errors import CourseError
from autograder.feedback.marks import GradebookEntry
from autograder.gradebook.database import (
    ASSIGNMENT,
    CELL,
    GRADE,
    GRADE_CELL,
    SUBMITTED_ASSIGNMENT,
    SUBMITTED_NOTEBOOK,
    open_connection,
)
from autograder.notebooks.cell_ids import exercise_of_test
from autograder.paths import format_command

GRADES_OF_ASSIGNMENT = (
    select(
        SUBMITTED_ASSIGNMENT.c.student_id,
        SUBMITTED_ASSIGNMENT.c.timestamp,
        SUBMITTED_NOTEBOOK.c.late_submission_penalty,
        CELL.c.name,
        GRADE_CELL.c.max_score,
        GRADE.c.auto_score,
        GRADE.c.manual_score,
        GRADE.c.extra_credit,
        GRADE.c.needs_manual_grade,
    )
    .join(SUBMITTED_NOTEBOOK, SUBMITTED_NOTEBOOK.c.assignment_id == SUBMITTED_ASSIGNMENT.c.id)
    .join(GRADE, GRADE.c.notebook_id == SUBMITTED_NOTEBOOK.c.id)
    .join(GRADE_CELL, GRADE_CELL.c.id == GRADE.c.cell_id)
    .join(CELL, CELL.c.id == GRADE_CELL.c.id)
)


@dataclass
class StudentResult:
    """The result of one student: the gradebook's entries by exercise, and the late penalty."""

    student: str
    time: datetime | None = None  # when it was handed in, in UTC; None if unknown
    penalty: float = 0.0
    entries: dict[str, GradebookEntry] = field(default_factory=dict)

    @property
    def points(self) -> float:
        """The total points of the exercises."""
        return sum(entry.points for entry in self.entries.values())

    @property
    def earned(self) -> float:
        """The points earned in all exercises; entries still to be marked count as they are."""
        return sum(entry.score for entry in self.entries.values())

    @property
    def score(self) -> float:
        """The points after the late penalty, as nbgrader computes them."""
        return max(0.0, self.earned - self.penalty)

    @property
    def waiting(self) -> tuple[str, ...]:
        """The exercises that are still to be marked."""
        return tuple(name for name, entry in self.entries.items() if entry.waiting)


def require_gradebook(course: Course, topic: str) -> None:
    """Refuse if nothing was graded yet."""
    if not course.gradebook.exists:
        raise CourseError(
            "there is no gradebook yet", str(course.root), f"run `{format_command(f'grade {topic}', course.root)}`."
        )


def load_results(course: Course, topic: str) -> dict[str, StudentResult]:
    """Return the ``StudentResult`` of each student who is in the gradebook for ``topic``, by name.

    Raises ``CourseError`` if the gradebook does not know the assignment, or cannot be read.
    """
    require_gradebook(course, topic)
    results: dict[str, StudentResult] = {}
    with open_connection(course) as connection:
        assignment = connection.scalar(select(ASSIGNMENT.c.id).where(ASSIGNMENT.c.name == topic))
        rows = connection.execute(GRADES_OF_ASSIGNMENT.where(SUBMITTED_ASSIGNMENT.c.assignment_id == assignment)).all()
    if assignment is None:
        remedy = f"run `{format_command(f'release {topic}', course.root)}`."
        raise CourseError(f"the gradebook does not know {topic}", str(course.root), remedy)
    for student, time, penalty, cell, points, automatic, manual, extra, waiting in rows:
        result = results.setdefault(student, StudentResult(student, time, float(penalty or 0.0)))
        result.entries[exercise_of_test(cell)] = GradebookEntry(float(points), automatic, manual, extra, bool(waiting))
    return dict(sorted(results.items()))
