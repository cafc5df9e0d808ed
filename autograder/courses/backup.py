"""Keep copies of the gradebook, and put one of them back.

In: a course. Out: names of copies, the newest first. Writes ``.autograder/backups`` and, when asked to, the gradebook.
"""

import contextlib
import sqlite3
import time
from datetime import UTC, datetime
from pathlib import Path

from autograder.courses.course import Course
from autograder.errors import CourseError

KEPT = 10
PATIENCE = 5.0  # seconds that another program may hold the gradebook


def back_up(course: Course, occasion: str) -> None:
    """Copy the gradebook before ``occasion`` changes it; keep the last ten copies that differ.

    Raises
    ------
    CourseError
        If the gradebook is there and cannot be copied.
    """
    gradebook = course.root / "gradebook.db"
    if not gradebook.is_file():
        return
    when = datetime.now(UTC).strftime("%Y-%m-%d-%H%M%S-%f")
    path = _folder(course) / f"{when}-before-{occasion}.db"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(path.name + ".draft")
        _copy(gradebook, draft)
        newest = next(iter(backups(course)), None)
        if newest is not None and newest.read_bytes() == draft.read_bytes():
            draft.unlink()
            return
        draft.replace(path)
        for old in backups(course)[KEPT:]:
            old.unlink()
    except (sqlite3.Error, OSError) as error:
        raise CourseError(
            f"the gradebook cannot be backed up ({error})",
            str(gradebook),
            "make room on the disk, make the course directory writable for you, close what else uses the gradebook; "
            "or put a backup in its place: `python -m autograder restore` lists them.",
        ) from None


def backups(course: Course) -> list[Path]:
    """Return the copies that there are, the newest first."""
    return sorted(_folder(course).glob("*-before-*.db"), reverse=True)


def restore(course: Course, name: str) -> None:
    """Put the copy ``name`` in the place of the gradebook, after a copy of that was made.

    Raises
    ------
    CourseError
        If there is no such copy, or it is no gradebook.
    """
    path = _folder(course) / name
    if path not in backups(course):
        raise CourseError(f"there is no backup {name!r}", str(_folder(course)), "name one that `restore` lists.")
    gradebook = course.root / "gradebook.db"
    if gradebook.is_file():
        with contextlib.suppress(CourseError):  # a gradebook that cannot be copied is why somebody restores
            back_up(course, "restore")
    draft = gradebook.with_name("gradebook.db.draft")
    try:
        _copy(path, draft)
    except sqlite3.Error as error:
        draft.unlink(missing_ok=True)
        raise CourseError(f"the backup cannot be read ({error})", str(path), "name another one.") from None
    for beside in ("gradebook.db-journal", "gradebook.db-wal", "gradebook.db-shm"):
        (course.root / beside).unlink(missing_ok=True)
    draft.replace(gradebook)


def _copy(source, target):
    """Copy a database as it is at one moment, also while others use it."""
    target.unlink(missing_ok=True)
    with (
        # not read-only: what a grader that was killed has left half done, sqlite takes back before it reads
        contextlib.closing(sqlite3.connect(f"{source.as_uri()}?mode=rw", uri=True)) as one,
        contextlib.closing(sqlite3.connect(target)) as other,
    ):
        began = time.monotonic()

        def patience(status, remaining, total):
            if status in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED) and time.monotonic() - began > PATIENCE:
                raise sqlite3.OperationalError("database is locked")

        one.backup(other, progress=patience)


def _folder(course):
    return course.root / ".autograder" / "backups"
