"""Keep the gradebook's assignments as they were released: their cells and due dates.

In: a course, a topic. Out: whether the gradebook agrees. Writes assignments into the gradebook with nbgrader's own command.
"""

import contextlib
import json
import tempfile
from collections.abc import Mapping, Set
from typing import Any, cast

from sqlalchemy import bindparam, func, select

from autograder.courses.course import Course, init
from autograder.courses.plan import as_naive_utc
from autograder.errors import CourseError
from autograder.files import write_bytes
from autograder.gradebook.database import (
    ASSIGNMENT,
    CELL,
    GRADE_CELL,
    NOTEBOOK,
    SUBMITTED_NOTEBOOK,
    open_connection,
    open_gradebook,
)
from autograder.notebooks.cell_ids import exercise_of_test
from autograder.paths import format_command

NOTEBOOK_ID = (
    select(NOTEBOOK.c.id)
    .join(ASSIGNMENT, ASSIGNMENT.c.id == NOTEBOOK.c.assignment_id)
    .where(ASSIGNMENT.c.name == bindparam("topic"), NOTEBOOK.c.name == bindparam("topic"))
)
GRADE_CELLS = (
    select(CELL.c.id, CELL.c.name, GRADE_CELL.c.max_score)
    .join(GRADE_CELL, GRADE_CELL.c.id == CELL.c.id)
    .where(CELL.c.notebook_id == bindparam("notebook"))
)
SUBMISSION_COUNT = (
    select(func.count())
    .select_from(SUBMITTED_NOTEBOOK)
    .where(SUBMITTED_NOTEBOOK.c.notebook_id == bindparam("notebook"))
)


def store_due_dates(course: Course, topic: str, student: str = "") -> None:
    """Store the plan's due date of ``topic``, and the extension of ``student``, in the gradebook.

    If the plan has no due date, the gradebook keeps its own, and its extensions.
    """
    plan = course.plan().assignment(topic)
    if plan.due is None:
        return
    due = as_naive_utc(plan.due)
    if not student:
        with open_connection(course) as connection:
            if connection.scalar(select(ASSIGNMENT.c.duedate).where(ASSIGNMENT.c.name == topic)) == due:
                return
    with open_gradebook(course) as gradebook:
        from nbgrader.api import MissingEntry

        assignment = cast(Any, gradebook.find_assignment(topic))
        assignment.duedate = due
        if student:
            with contextlib.suppress(MissingEntry):
                cast(Any, gradebook.find_submission(topic, student)).extension = plan.extension(student)
        gradebook.db.commit()


def has_assignment(course: Course, topic: str) -> bool:
    """Return whether the gradebook has the assignment ``topic`` as it was released."""
    stored = _cells_in_gradebook(course, topic)
    return stored is not None and stored[0] == _select_graded_cells(_read_release(course, topic))


def store_assignment(course: Course, topic: str) -> bool:
    """Store the assignment ``topic`` in the gradebook as it was released; return False if it was there already.

    Raises ``CourseError`` if the gradebook has another assignment of that name, or the assignment's source is gone.
    """
    released = _read_release(course, topic)
    wanted, stored = _select_graded_cells(released), _cells_in_gradebook(course, topic)
    if stored is not None and stored[0] == wanted:
        return False
    if not course.source(topic).is_file():
        release, restore = (format_command(words, course.root) for words in (f"release {topic}", "restore"))
        raise CourseError(
            f"the gradebook does not know {topic}, and its source is gone",
            str(course.source(topic)),
            f"run `{release}`, or restore a backup: `{restore}` lists them.",
        )
    from autograder.gradebook.generate import begin_gradebook, generate

    refuse_changed_exercises(course, topic, released)
    begin_gradebook(course)
    with tempfile.TemporaryDirectory(prefix="release-") as folder:
        trial = init(folder)
        write_bytes(course.source(topic).read_bytes(), trial.source(topic))
        generate(trial, topic, course.gradebook.url, course.gradebook.course_id, course.source(topic))
    return True


def refuse_changed_exercises(course: Course, topic: str, released: Mapping[str, Any]) -> None:
    """Refuse the notebook ``released`` if it asks for other exercises than students have been graded for.

    Raises ``CourseError`` if exercises were added or removed, and submissions have been graded.
    """
    stored, cells = _cells_in_gradebook(course, topic), _select_graded_cells(released)
    if stored and stored[1] and (other := stored[0].keys() ^ cells.keys()):
        refuse_other_exercises(course, topic, _exercises_of(cells))
        _refuse_graded({"change": _exercises_of(other)}, stored[1], topic)


def refuse_other_exercises(course: Course, topic: str, asked: Set[str]) -> None:
    """Refuse to ask for the exercises ``asked`` if students have been graded for others; raise ``CourseError``."""
    stored = _cells_in_gradebook(course, topic)
    if stored and stored[1] and (graded := _exercises_of(stored[0])) != asked:
        _refuse_graded({"add": asked - graded, "remove": graded - asked}, stored[1], topic)


def _exercises_of(cells):
    """Return the names of the exercises to which graded cells belong: hidden tests, checks and written answers."""
    return {exercise_of_test(cell).removesuffix("-check") for cell in cells}


def _refuse_graded(changes, count, topic):
    """Refuse ``changes``, which maps verbs to names of exercises, because ``count`` submissions have been graded."""
    functions = {verb: sorted(name.partition("-")[2] for name in names) for verb, names in changes.items() if names}
    what = " and ".join(f"{verb} {', '.join(names)}" for verb, names in functions.items())
    graded = "1 submission has" if count == 1 else f"{count} submissions have"
    raise CourseError(
        f"this release would {what}, but {graded} already been graded",
        f"assignment {topic}",
        "ask for the same exercises as before, or release in a new course directory.",
    )


def _read_release(course, topic):
    return json.loads(course.releases(topic).file.read_text(encoding="utf-8"))


def _select_graded_cells(notebook):
    """Return ``{name: points}`` of the cells of ``notebook`` that nbgrader gives points for."""
    cells = [cell["metadata"]["nbgrader"] for cell in notebook["cells"] if "nbgrader" in cell["metadata"]]
    return {cell["grade_id"]: float(cell["points"]) for cell in cells if cell["grade"]}


def _cells_in_gradebook(course, topic):
    """Return ``({name: points}, number of submissions)`` of ``topic`` in the gradebook, or None if it is not there."""
    if not course.gradebook.exists:
        return None
    with open_connection(course) as connection:
        notebook = connection.scalar(NOTEBOOK_ID, {"topic": topic})
        if notebook is None:
            return None
        cells = connection.execute(GRADE_CELLS, {"notebook": notebook}).all()
        return {cell.name: float(cell.max_score) for cell in cells}, connection.scalar(
            SUBMISSION_COUNT, {"notebook": notebook}
        )
