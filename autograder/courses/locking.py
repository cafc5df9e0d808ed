"""Lock a course: either one process grades, or any number of them mark.

In: a course. Out: nothing. Writes an empty file to lock; the lock ends with the process.
"""

import contextlib
import fcntl
from collections.abc import Iterator

from autograder.courses.course import Course
from autograder.errors import CourseError


@contextlib.contextmanager
def _lock(course: Course, mode: int, problem: str, remedy: str) -> Iterator[None]:
    path = course.root / ".autograder" / "lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        try:
            fcntl.flock(file, mode | fcntl.LOCK_NB)
        except OSError:
            raise CourseError(problem, str(course.root), remedy) from None
        yield


def exclusive_lock(course: Course) -> contextlib.AbstractContextManager[None]:
    """Lock the course against all others; refuse if another process grades, releases or saves a mark in it."""
    problem = "someone is already grading or releasing in this course"
    return _lock(course, fcntl.LOCK_EX, problem, "wait until that has finished.")


def shared_lock(course: Course) -> contextlib.AbstractContextManager[None]:
    """Lock the course for marking; refuse while a class is graded. Markers do not block each other."""
    remedy = "wait until that has finished, and mark again."
    return _lock(course, fcntl.LOCK_SH, "a class is being graded in this course", remedy)
