"""nbgrader's gradebook as a database: the tables that are read here, and connections to it.

In: a course. Out: connections. Reading does not import nbgrader, which takes longer than grading a class with nothing new; only
creating a gradebook and adding rows do.
"""

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import sqlalchemy.exc
from sqlalchemy import Boolean, Connection, DateTime, Engine, Interval, column, create_engine, inspect, select, table

from autograder.courses.course import Course
from autograder.errors import CourseError
from autograder.paths import format_command, prepare_for_alembic

if TYPE_CHECKING:
    from nbgrader.api import Gradebook


def _table(name, *columns, **typed):
    return table(name, *map(column, columns), *(column(name, kind) for name, kind in typed.items()))


ASSIGNMENT = _table("assignment", "id", "name", "course_id", duedate=DateTime())
NOTEBOOK = _table("notebook", "id", "name", "assignment_id")
CELL = _table("base_cell", "id", "name", "notebook_id")
GRADE_CELL = _table("grade_cells", "id", "max_score")
SOLUTION_CELL = _table("solution_cells", "id")
STUDENT = _table("student", "id", "lms_user_id", "first_name", "last_name", "email")
SUBMITTED_ASSIGNMENT = _table(
    "submitted_assignment", "id", "assignment_id", "student_id", timestamp=DateTime(), extension=Interval()
)
SUBMITTED_NOTEBOOK = _table("submitted_notebook", "id", "assignment_id", "notebook_id", "late_submission_penalty")
GRADE = _table(
    "grade", "id", "cell_id", "notebook_id", "auto_score", "manual_score", "extra_credit", needs_manual_grade=Boolean()
)
COMMENT = _table("comment", "id", "cell_id", "notebook_id", "auto_comment", "manual_comment")
OLD_SCHEMA = re.compile(r"no such (column|table)|(column|relation) \S+ does not exist")  # SQLite, PostgreSQL
CURRENT_SCHEMA = select(ASSIGNMENT.c.course_id).limit(0), select(STUDENT.c.lms_user_id).limit(0)


@contextmanager
def database_errors(course: Course) -> Iterator[None]:
    """Turn errors of the gradebook's database into ``CourseError``."""
    try:
        yield
    except sqlalchemy.exc.DatabaseError as error:
        raise CourseError(*describe_db_error(error, course)) from None


@contextmanager
def without_order_warnings() -> Iterator[None]:
    """Leave out what SQLAlchemy 2 says about the order in which nbgrader 0.9 adds and deletes rows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sqlalchemy.exc.SAWarning)
        yield


def open_database(course: Course) -> Engine:
    """Return an engine for the gradebook of ``course``; nbgrader creates missing tables.

    Raises ``CourseError`` if the database fails.
    """
    with database_errors(course):
        engine = create_engine(course.gradebook.url)
        if not inspect(engine).has_table(ASSIGNMENT.name):
            with open_gradebook(course):
                pass
        with engine.connect() as connection:
            for statement in CURRENT_SCHEMA:  # refuses the gradebook of an older nbgrader now, not half way through
                connection.execute(statement)
        return engine


@contextmanager
def open_connection(course: Course) -> Iterator[Connection]:
    """Open a connection for reading the gradebook of ``course``.

    Raises ``CourseError`` if the database fails, now or while it is open.
    """
    engine = open_database(course)
    try:
        with database_errors(course), engine.connect() as connection:
            yield connection
    finally:
        engine.dispose()


@contextmanager
def open_gradebook(course: Course) -> Iterator["Gradebook"]:
    """Open the gradebook of ``course`` as nbgrader does.

    Raises ``CourseError`` if the database fails, now or while it is open.
    """
    from nbgrader.api import Gradebook, InvalidEntry

    prepare_for_alembic()
    try:
        with (
            database_errors(course),
            Gradebook(course.gradebook.url, course_id="") as gradebook,  # a name would be written
        ):
            yield gradebook
    except InvalidEntry as error:
        raise CourseError(*describe_db_error(error, course)) from None


def describe_db_error(error: Exception, course: Course) -> tuple[str, str, str]:
    """Return what is wrong, where, and what to do, for an error of the database."""
    reason = str(getattr(error, "orig", None) or error).strip()
    if OLD_SCHEMA.search(reason):
        remedy = "it was made by another version of nbgrader: run `nbgrader db upgrade` in the course directory, and try again."
    elif course.gradebook.is_on_a_server:
        remedy = "make sure that the database is running and accepts the user in nbgrader_config.py, and try again."
    elif "locked" in reason:
        remedy = "close any other program that uses it (nbgrader, the formgrader, a database browser), and run the command again."
    elif "readonly" in reason or "unable to open" in reason:
        remedy = "make sure that you can write to the course directory and its files, and run the command again."
    elif "full" in reason or "I/O" in reason:
        remedy = "free some disk space, and run the command again: it picks up where it stopped."
    else:
        remedy = f"restore a backup: `{format_command('restore', course.root)}` lists them."
    where = (
        "CourseDirectory.db_url in nbgrader_config.py"
        if course.gradebook.is_on_a_server
        else str(course.gradebook.file)
    )
    return f"the gradebook cannot be used ({reason})", where, remedy
