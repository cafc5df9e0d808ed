"""nbgrader's gradebook as a database: its tables, as far as they are read here, and connections to it.

In: a course. Out: connections. Reading needs no nbgrader, whose import takes longer than a class with nothing to do; where a
gradebook is begun, brought to its form or given new rows, nbgrader does that.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import sqlalchemy.exc
from sqlalchemy import Boolean, Connection, DateTime, Engine, Interval, column, create_engine, inspect, select, table

from autograder.courses.course import Course
from autograder.errors import CourseError, describe_db_error
from autograder.paths import add_environment_to_path

if TYPE_CHECKING:
    from nbgrader.api import Gradebook

ASSIGNMENT = table("assignment", column("id"), column("name"), column("duedate", DateTime()), column("course_id"))
NOTEBOOK = table("notebook", column("id"), column("name"), column("assignment_id"))
CELL = table("base_cell", column("id"), column("name"), column("notebook_id"))
GRADE_CELL = table("grade_cells", column("id"), column("max_score"))
SOLUTION_CELL = table("solution_cells", column("id"))
STUDENT = table("student", column("id"), column("lms_user_id"))
NEWEST = select(ASSIGNMENT.c.course_id).limit(0), select(STUDENT.c.lms_user_id).limit(0)
SUBMITTED_ASSIGNMENT = table(
    "submitted_assignment",
    column("id"),
    column("assignment_id"),
    column("student_id"),
    column("timestamp", DateTime()),
    column("extension", Interval()),
)
SUBMITTED_NOTEBOOK = table(
    "submitted_notebook",
    column("id"),
    column("assignment_id"),
    column("notebook_id"),
    column("late_submission_penalty"),
)
GRADE = table(
    "grade",
    column("id"),
    column("cell_id"),
    column("notebook_id"),
    column("auto_score"),
    column("manual_score"),
    column("extra_credit"),
    column("needs_manual_grade", Boolean()),
)
COMMENT = table(
    "comment", column("id"), column("cell_id"), column("notebook_id"), column("auto_comment"), column("manual_comment")
)


@contextmanager
def database_errors(course: Course) -> Iterator[None]:
    """Let an error of the database that ``course`` has its gradebook in be a ``CourseError``."""
    try:
        yield
    except sqlalchemy.exc.DatabaseError as error:
        raise CourseError(*describe_db_error(error, course)) from None


def open_database(course: Course) -> Engine:
    """Return an engine for the gradebook of ``course``, which nbgrader begins if it has no tables yet.

    Raises ``CourseError`` if the database fails.
    """
    with database_errors(course):
        engine = create_engine(course.gradebook)
        if not inspect(engine).has_table(ASSIGNMENT.name):
            with gradebook_of(course):
                pass
        with engine.connect() as connection:
            for statement in NEWEST:  # an older nbgrader's gradebook is refused here, and not half way
                connection.execute(statement)
        return engine


@contextmanager
def reading(course: Course) -> Iterator[Connection]:
    """Open a connection that reads the gradebook of ``course``.

    Raises ``CourseError`` if the database fails, now or while it is open.
    """
    engine = open_database(course)
    try:
        with database_errors(course), engine.connect() as connection:
            yield connection
    finally:
        engine.dispose()


@contextmanager
def gradebook_of(course: Course) -> Iterator["Gradebook"]:
    """Open the gradebook of ``course`` as nbgrader does.

    Raises ``CourseError`` if the database fails, now or while it is open.
    """
    from nbgrader.api import Gradebook, InvalidEntry

    add_environment_to_path()
    try:
        with (
            database_errors(course),
            Gradebook(course.gradebook, course_id="") as gradebook,  # with a name, it would write that name
        ):
            yield gradebook
    except InvalidEntry as error:
        raise CourseError(*describe_db_error(error, course)) from None
