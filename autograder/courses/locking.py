"""Who may work in a course at the same time: one that grades, or any number that mark.

In: a course. Out: nothing. Writes an empty file to hold on to; the hold goes with the process, however that ends.
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
    """Refuse where another process grades, releases or saves a mark in this course."""
    problem = "somebody is grading or releasing in this course already"
    return _lock(course, fcntl.LOCK_EX, problem, "wait until that has ended.")


def shared_lock(course: Course) -> contextlib.AbstractContextManager[None]:
    """Refuse while a class is graded, whose texts then change under the marker's eyes; markers do not hinder each other."""
    remedy = "wait until that has ended, and mark again."
    return _lock(course, fcntl.LOCK_SH, "a class is being graded in this course", remedy)
