"""Keep the assignments of the gradebook as they were released: their cells, their due dates.

In: a course, a topic. Out: whether the gradebook agrees. Writes assignments into the gradebook, by nbgrader's own command.
"""

import contextlib
import io
import logging
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import Any, cast

import nbformat
import sqlalchemy.exc
from nbformat import NotebookNode
from nbgrader.api import Gradebook, MissingEntry
from nbgrader.converters import GenerateAssignment
from nbgrader.converters.base import NbGraderException
from nbgrader.coursedir import CourseDirectory
from traitlets.config import Config

from autograder.courses.course import Course, init
from autograder.courses.plan import in_utc
from autograder.errors import CourseError, of_the_gradebook
from autograder.files import write_bytes
from autograder.gradebook.scores import gradebook_of
from autograder.paths import add_environment_to_path


def enter_lateness(course: Course, topic: str, student: str = "") -> None:
    """Tell the gradebook when ``topic`` is due, and which extension ``student`` has, as the plan says.

    Where the plan has no due date, the gradebook keeps its own, and its extensions.
    """
    plan = course.plan().assignment(topic)
    if plan.due is None:
        return
    with gradebook_of(course) as gradebook:
        assignment = cast(Any, gradebook.find_assignment(topic))
        if assignment.duedate != in_utc(plan.due):
            assignment.duedate = in_utc(plan.due)
        if student:
            with contextlib.suppress(MissingEntry):
                cast(Any, gradebook.find_submission(topic, student)).extension = plan.extension(student)
        gradebook.db.commit()


def is_entered(course: Course, topic: str) -> bool:
    """Return whether the gradebook has the assignment ``topic`` as it was released."""
    released, found = nbformat.read(course.release(topic), as_version=4), _cells_in_gradebook(course, topic)
    return found is not None and found[0] == _graded_cells(released)


def enter_assignment(course: Course, topic: str) -> bool:
    """Put the assignment ``topic`` into the gradebook as it was released, unless it is there; return whether it was put.

    Raises
    ------
    CourseError
        If the gradebook has another assignment of that name, or the assignment's source is gone.
    """
    released = nbformat.read(course.release(topic), as_version=4)
    wanted, found = _graded_cells(released), _cells_in_gradebook(course, topic)
    if found is not None and found[0] == wanted:
        return False
    if not course.source(topic).is_file():
        raise CourseError(
            f"the gradebook does not know {topic}, and its source is gone",
            str(course.source(topic)),
            f"run `python -m autograder release {topic}`, or restore a backup: `python -m autograder restore` lists them.",
        )
    refuse_other_cells(course, topic, released)
    begin_gradebook(course)
    with tempfile.TemporaryDirectory(prefix="release-") as folder:
        trial = init(folder)
        write_bytes(course.source(topic).read_bytes(), trial.source(topic))
        generate(trial, topic, course.gradebook, course.id_in_gradebook)
    return True


def refuse_other_cells(course: Course, topic: str, released: NotebookNode) -> None:
    """Refuse a release with other exercises than those that students have been graded for.

    Raises
    ------
    CourseError
        If exercises came or went, and submissions have been graded.
    """
    found = _cells_in_gradebook(course, topic)
    if found is None or not found[1]:
        return
    other = sorted(set(found[0]) ^ set(_graded_cells(released)))
    if other:
        raise CourseError(
            f"{', '.join(other[:3])} came or went, and {found[1]} submissions have been graded without",
            f"assignment {topic}",
            "bring the old exercises back, or release in a new course directory.",
        )


def _graded_cells(notebook):
    """Return ``{name: points}`` of the cells of ``notebook`` that nbgrader gives points for."""
    cells = [cell.metadata.nbgrader for cell in notebook.cells if "nbgrader" in cell.metadata]
    return {meta.grade_id: float(meta.points) for meta in cells if meta.grade}


def _cells_in_gradebook(course, topic):
    """Return ``({name: points}, number of submissions)`` of ``topic`` in the gradebook, or None if it is not there."""
    if not course.has_gradebook:
        return None
    try:
        with gradebook_of(course) as gradebook:
            notebook = gradebook.find_notebook(topic, topic)
            points = {str(cell.name): float(cell.max_score) for cell in notebook.grade_cells}
            return points, len(notebook.submissions)
    except MissingEntry:
        return None


def begin_gradebook(course: Course) -> None:
    """Give ``course`` an empty gradebook if it has none; on a server, nbgrader makes one when it first looks."""
    path = course.gradebook_file
    if not path.exists() and not course.is_on_a_server:
        write_bytes(_empty_gradebook(), path)


@cache
def _empty_gradebook():
    """Return nbgrader's empty gradebook: made once, because nbgrader starts another program for that."""
    add_environment_to_path()
    with tempfile.TemporaryDirectory(prefix="gradebook-") as folder:
        path = Path(folder) / "gradebook.db"
        Gradebook(f"sqlite:///{path}", course_id="").close()
        return path.read_bytes()


def generate(course: Course, topic: str, gradebook: str, course_id: str = "") -> None:
    """Let nbgrader make the release in ``course``, and put its entry into the database at the address ``gradebook``.

    Raises
    ------
    CourseError
        If nbgrader refuses the source, or the database fails.
    """
    add_environment_to_path()
    config = Config()
    config.CourseDirectory.root = str(course.root)
    config.CourseDirectory.db_url = gradebook
    config.CourseDirectory.course_id = course_id
    config.CourseDirectory.assignment_id = topic
    coursedir = CourseDirectory(config=config)
    app = GenerateAssignment(coursedir=coursedir, config=config)
    app.force = True
    said = io.StringIO()
    handler = logging.StreamHandler(said)
    handler.setLevel(logging.ERROR)
    app.log.handlers, app.log.propagate = [handler], False
    shutil.rmtree(course.release(topic).parent, ignore_errors=True)
    try:
        app.start()
    except sqlalchemy.exc.DatabaseError as error:
        raise CourseError(*of_the_gradebook(error, course)) from None
    except NbGraderException as error:
        lines = [line for line in said.getvalue().splitlines() if line.strip()]
        reason = next((line for line in reversed(lines) if "Error" in line), str(error))
        raise CourseError(f"nbgrader refused it: {reason.strip()}", str(course.source(topic)), "mend it.") from error
