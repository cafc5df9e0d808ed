"""Describe errors of the disk in the three parts of a ``CourseError``: what, where and what to do."""

import errno

from solutions.errors import CourseError

__all__ = ["CourseError", "describe_os_error"]

OS_ERROR_REMEDIES = {
    errno.ENOSPC: "free some disk space, and run the command again: it picks up where it stopped.",
    errno.EDQUOT: "free some of your quota, and run the command again: it picks up where it stopped.",
    errno.EROFS: "the disk is read-only: mount it writable, or copy the course elsewhere.",
    errno.EACCES: "make sure that you can write to the course directory and everything in it: `chown -R` or `chmod -R u+w`.",
    errno.EPERM: "make sure that you can write to the course directory and everything in it: `chown -R` or `chmod -R u+w`.",
}


def describe_os_error(error: OSError) -> tuple[str, str, str] | None:
    """Return what is wrong, where, and what to do, for an ``OSError`` in ``OS_ERROR_REMEDIES``; None for any other."""
    remedy = OS_ERROR_REMEDIES.get(error.errno) if error.errno else None
    return (error.strerror or str(error), str(error.filename or "this machine"), remedy) if remedy else None
