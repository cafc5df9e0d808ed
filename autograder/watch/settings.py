"""What all that `watch` serves shares, what each account may use, and which errors it waits out.

In: nothing. Out: ``Settings``, ``is_machine_failure``. Touches nothing.
"""

import errno
import sqlite3
import time
from dataclasses import dataclass, field

import sqlalchemy.exc

from autograder.batch.context import GradingOptions
from autograder.batch.grade_class import Executor
from autograder.courses.course import Course
from autograder.errors import OS_ERROR_REMEDIES, CourseError
from autograder.watch.status import Status
from autograder.with_nbgrader.exchange import ExchangeFolders

MACHINE_ERRNOS = {*OS_ERROR_REMEDIES, errno.EIO, errno.ESTALE, errno.ETIMEDOUT, errno.ENOTCONN, errno.EMFILE}
MACHINE_ERRNOS |= {errno.ENFILE, errno.ENOMEM, errno.EBUSY}
RETRIED_ERRORS = (CourseError, OSError, sqlite3.Error, sqlalchemy.exc.SQLAlchemyError)
Queue = int | str  # an account, or a claimed name where accounts are not known
BUDGET_SECONDS = 900.0  # of one worker, which a queue may use at once, and again with each hour
HOUR_SECONDS = 3600.0


class Budget:
    """What each queue has used of the workers. One that has used too much waits: a quarter of a worker remains for it."""

    def __init__(self) -> None:
        self._paid: dict[Queue, float] = {}  # monotonic time at which everything used so far will have been made up for

    def charge(self, queue: Queue, seconds: float) -> None:
        """Count ``seconds`` of one worker as used by ``queue``."""
        now = time.monotonic()
        self._paid[queue] = max(self._paid.get(queue, now), now) + seconds * HOUR_SECONDS / BUDGET_SECONDS

    def is_used_up(self, queue: Queue) -> bool:
        now = time.monotonic()
        return self._paid.get(queue, now) - now > HOUR_SECONDS


@dataclass
class Settings:
    """What is the same for all topics. ``busy`` changes: it has the queues of which a hand-in is being opened or graded."""

    course: Course
    options: GradingOptions
    executor: Executor
    exchange: ExchangeFolders | None
    status: Status
    any_owner: bool = False
    size: int = 8  # hand-ins opened or graded at a time, for each topic
    busy: set[Queue] = field(default_factory=set)
    budget: Budget = field(default_factory=Budget)


def is_machine_failure(error: BaseException) -> bool:
    """Return whether ``error`` comes from the disk, the database or a lock, so that waiting may help."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.errno in MACHINE_ERRNOS:
            return True
        if isinstance(cause, sqlite3.Error | sqlalchemy.exc.SQLAlchemyError):
            return True
        cause = cause.__cause__ or cause.__context__
    return False
