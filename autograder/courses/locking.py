"""Lock a course: either one process grades, or any number of them mark. A second lock admits only one `watch`.

In: a course. Out: nothing. Writes empty lock files; a lock ends with its process.
"""

import contextlib
import fcntl
import time
from collections.abc import Callable, Iterator

from autograder.courses.course import Course
from autograder.errors import CourseError

RETRY_SECONDS = 0.05  # between two attempts to lock a course that another process has locked
PATIENT_SECONDS = 2.0  # a longer wait is reported


class CourseLockedError(CourseError):
    """Another process has locked the course."""


@contextlib.contextmanager
def _lock(course: Course, mode: int, problem: str, remedy: str, name: str = "lock") -> Iterator[None]:
    path = course.root / ".autograder" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        try:
            fcntl.flock(file, mode | fcntl.LOCK_NB)
        except OSError:
            raise CourseLockedError(problem, str(course.root), remedy) from None
        yield


def exclusive_lock(course: Course) -> contextlib.AbstractContextManager[None]:
    """Lock the course against all others; refuse if another process grades, releases or saves a mark in it."""
    problem = "someone is already grading or releasing in this course"
    return _lock(course, fcntl.LOCK_EX, problem, "wait until that has finished.")


def shared_lock(course: Course) -> contextlib.AbstractContextManager[None]:
    """Lock the course for marking; refuse while another command writes to it. Markers do not block each other."""
    remedy = "wait until that has finished, and mark again."
    return _lock(course, fcntl.LOCK_SH, "another command, such as `grade`, is writing to this course", remedy)


def watch_lock(course: Course) -> contextlib.AbstractContextManager[None]:
    """Lock the course against a second `watch`, and against nothing else."""
    remedy = "stop the other one first, or name all topics in one command."
    return _lock(course, fcntl.LOCK_EX, "another `watch` is already running in this course", remedy, "watch.lock")


@contextlib.contextmanager
def quiet_lock(course: Course) -> Iterator[None]:
    """Lock the course against all others, and refuse while `watch` runs, which remembers the hand-ins that it has seen."""
    problem, remedy = (
        "`watch` or `forget` is running in this course",
        "stop it, run the command again, and then start `watch` again.",
    )
    with _lock(course, fcntl.LOCK_EX, problem, remedy, "watch.lock"), exclusive_lock(course):
        yield


@contextlib.contextmanager
def patient_lock(course: Course, notice: Callable[[str], object]) -> Iterator[None]:
    """Wait until ``exclusive_lock`` succeeds; call ``notice`` once if that takes long."""
    began, notified = time.monotonic(), False
    with contextlib.ExitStack() as stack:
        while True:
            try:
                stack.enter_context(exclusive_lock(course))
                break
            except CourseLockedError:
                if not notified and time.monotonic() - began > PATIENT_SECONDS:
                    notice("waiting: another command has locked the course")
                    notified = True
                time.sleep(RETRY_SECONDS)
        yield
