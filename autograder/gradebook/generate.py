"""Create a gradebook and generate the assignment of a release with nbgrader, which only this module imports as a whole.

In: a course, a topic. Out: a release, and its rows in a gradebook.
"""

import io
import logging
import shutil
import tempfile
from functools import cache
from pathlib import Path

from nbgrader.api import Gradebook
from nbgrader.converters import GenerateAssignment
from nbgrader.converters.base import NbGraderException
from nbgrader.coursedir import CourseDirectory
from traitlets.config import Config

from autograder.courses.course import Course
from autograder.errors import CourseError
from autograder.files import write_bytes
from autograder.gradebook.database import database_errors
from autograder.paths import prepare_for_alembic


def begin_gradebook(course: Course) -> None:
    """Give ``course`` an empty gradebook if it has none; on a server, nbgrader creates one when it connects."""
    path = course.gradebook.file
    if not path.exists() and not course.gradebook.is_on_a_server:
        write_bytes(_empty_gradebook(), path)


@cache
def _empty_gradebook():
    """Return nbgrader's empty gradebook. Cached, because nbgrader starts another program to create it."""
    prepare_for_alembic()
    with tempfile.TemporaryDirectory(prefix="gradebook-") as folder:
        path = Path(folder) / "gradebook.db"
        Gradebook(f"sqlite:///{path}", course_id="").close()
        return path.read_bytes()


def generate(course: Course, topic: str, gradebook: str, course_id: str = "", source: Path | None = None) -> None:
    """Let nbgrader make the release in ``course``, and put its entry into the database at the address ``gradebook``.

    Raises ``CourseError`` if nbgrader refuses the source, or the database fails. It names the file ``source``, by default
    that of ``course``.
    """
    prepare_for_alembic()
    config = Config()
    config.CourseDirectory.root = str(course.root)
    config.CourseDirectory.db_url = gradebook
    config.CourseDirectory.course_id = course_id
    config.CourseDirectory.assignment_id = topic
    coursedir = CourseDirectory(config=config)
    app = GenerateAssignment(coursedir=coursedir, config=config)
    app.force = True
    log = io.StringIO()
    handler = logging.StreamHandler(log)
    handler.setLevel(logging.ERROR)
    app.log.handlers, app.log.propagate = [handler], False
    shutil.rmtree(course.releases(topic).file.parent, ignore_errors=True)
    try:
        with database_errors(course):
            app.start()
    except NbGraderException as error:
        lines = [line for line in log.getvalue().splitlines() if line.strip()]
        reason = next((line for line in reversed(lines) if "Error" in line), str(error))
        raise CourseError(
            f"nbgrader refused it: {reason.strip()}", str(source or course.source(topic)), "fix it."
        ) from error
