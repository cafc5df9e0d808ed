"""Describe errors of the disk and the database in the three parts of a ``CourseError``: what, where and what to do."""

import errno
import re
from pathlib import Path
from typing import Protocol

from solutions.errors import CourseError

__all__ = ["CourseError", "describe_db_error", "describe_os_error"]

OS_ERROR_REMEDIES = {
    errno.ENOSPC: "free some disk space, and run the command again: it picks up where it stopped.",
    errno.EDQUOT: "free some of your quota, and run the command again: it picks up where it stopped.",
    errno.EROFS: "the disk is read-only: mount it writable, or copy the course elsewhere.",
    errno.EACCES: "make sure that you can write to the course directory and everything in it: `chown -R` or `chmod -R u+w`.",
    errno.EPERM: "make sure that you can write to the course directory and everything in it: `chown -R` or `chmod -R u+w`.",
}

OLD_SCHEMA = re.compile(r"no such (column|table)|(column|relation) \S+ does not exist")  # SQLite, PostgreSQL


class HasGradebookPath(Protocol):
    """What an error says of a course: where its gradebook is."""

    @property
    def gradebook_file(self) -> Path: ...

    @property
    def is_on_a_server(self) -> bool: ...


def describe_os_error(error: OSError) -> tuple[str, str, str] | None:
    """Return what is wrong, where, and what to do, for an ``OSError`` that is the machine's; None for any other."""
    remedy = OS_ERROR_REMEDIES.get(error.errno) if error.errno else None
    return (error.strerror or str(error), str(error.filename or "this machine"), remedy) if remedy else None


def describe_db_error(error: Exception, course: HasGradebookPath) -> tuple[str, str, str]:
    """Return what is wrong, where, and what to do, for an error of the database."""
    reason = str(getattr(error, "orig", None) or error).strip()
    if OLD_SCHEMA.search(reason):
        remedy = "it was made by another version of nbgrader: run `nbgrader db upgrade` in the course directory, and try again."
    elif course.is_on_a_server:
        remedy = "make sure that the database is running and accepts the user in nbgrader_config.py, and try again."
    elif "locked" in reason:
        remedy = "close any other program that uses it (nbgrader, the formgrader, a database browser), and run the command again."
    elif "readonly" in reason or "unable to open" in reason:
        remedy = "make sure that you can write to the course directory and its files, and run the command again."
    elif "full" in reason or "I/O" in reason:
        remedy = "free some disk space, and run the command again: it picks up where it stopped."
    else:
        remedy = "restore a backup: `python -m autograder restore` lists them."
    where = "CourseDirectory.db_url in nbgrader_config.py" if course.is_on_a_server else str(course.gradebook_file)
    return f"the gradebook cannot be used ({reason})", where, remedy
