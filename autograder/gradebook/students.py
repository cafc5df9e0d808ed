"""Find and name students in nbgrader's gradebook, and erase all rows that the gradebook has of one.

In: a course, students. Out: their ids, numbers of rows. Writes names, and deletes rows with nbgrader's own interface.
"""

import contextlib
from collections.abc import Collection

from sqlalchemy import create_engine, func, select, update

from autograder.courses.course import Course
from autograder.courses.plan import Student
from autograder.gradebook.database import (
    COMMENT,
    GRADE,
    STUDENT,
    SUBMITTED_ASSIGNMENT,
    SUBMITTED_NOTEBOOK,
    database_errors,
    open_connection,
    open_gradebook,
    without_order_warnings,
)

NAME_COLUMNS = (STUDENT.c.id, STUDENT.c.first_name, STUDENT.c.last_name, STUDENT.c.email)


def list_students(course: Course) -> list[str]:
    """Return the ids of all students in the gradebook; [] if there is no gradebook yet."""
    if not course.gradebook.exists:
        return []
    with open_connection(course) as connection:
        return sorted(connection.scalars(select(STUDENT.c.id)))


def count_rows(course: Course, students: Collection[str]) -> int:
    """Return how many rows the gradebook has of ``students``."""
    if not students or not course.gradebook.exists:
        return 0
    submissions = select(SUBMITTED_ASSIGNMENT.c.id).where(SUBMITTED_ASSIGNMENT.c.student_id.in_(students))
    notebooks = select(SUBMITTED_NOTEBOOK.c.id).where(SUBMITTED_NOTEBOOK.c.assignment_id.in_(submissions))
    kinds = [
        select(STUDENT.c.id).where(STUDENT.c.id.in_(students)),
        submissions,
        notebooks,
        *(select(kind.c.id).where(kind.c.notebook_id.in_(notebooks)) for kind in (GRADE, COMMENT)),
    ]
    with open_connection(course) as connection:
        return sum(connection.scalar(select(func.count()).select_from(kind.subquery())) or 0 for kind in kinds)


def erase_students(course: Course, students: Collection[str]) -> None:
    """Erase ``students`` from the gradebook, and overwrite what their rows left in its file, if it is one.

    Raises ``CourseError`` if the gradebook cannot be written. What was erased until then stays erased.
    """
    if not course.gradebook.exists:
        return
    if students:
        from nbgrader.api import MissingEntry

        with open_gradebook(course) as gradebook, without_order_warnings():
            for student in students:
                with contextlib.suppress(MissingEntry):
                    gradebook.remove_student(student)
    if not course.gradebook.is_on_a_server:
        engine = create_engine(course.gradebook.url, isolation_level="AUTOCOMMIT")
        try:
            with database_errors(course), engine.connect() as connection:
                connection.exec_driver_sql("VACUUM")
        finally:
            engine.dispose()


def store_names(course: Course) -> None:
    """Store the roster's names and e-mail addresses in the gradebook, for `nbgrader export` and the formgrader.

    Fields that the roster lacks stay as they are.
    """
    listed = {student.id: about for student in course.plan().students if (about := name_columns(student))}
    if not listed:
        return
    with open_connection(course) as connection:
        known = {row.id: row._asdict() for row in connection.execute(select(*NAME_COLUMNS))}
    changed = {
        name: about for name, about in listed.items() if name in known and not about.items() <= known[name].items()
    }
    if not changed:
        return
    with open_gradebook(course) as gradebook:
        for name, about in changed.items():
            gradebook.db.execute(update(STUDENT).where(STUDENT.c.id == name).values(**about))
        gradebook.db.commit()


def name_columns(student: Student) -> dict[str, str]:
    """Return nbgrader's columns for ``student``, as far as the roster has them: "King, Ada" and "Ada King" are the same."""
    last, comma, first = student.name.partition(",")
    if not comma:
        first, _, last = student.name.rpartition(" ")
    about = {"first_name": first.strip(), "last_name": last.strip(), "email": student.email}
    return {name: text for name, text in about.items() if text}
