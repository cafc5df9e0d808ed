"""Back up the gradebook, and restore one of the backups.

In: a course. Out: backups, the newest first. Writes ``.autograder/backups`` and, when asked to, the gradebook. A gradebook on a
PostgreSQL server is copied and restored by pg_dump and psql.
"""

import contextlib
import fcntl
import os
import re
import sqlite3
import subprocess
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from sqlalchemy.engine import make_url

from autograder.courses.course import Course
from autograder.errors import CourseError
from autograder.paths import format_command

MAX_BACKUPS = 10
TIMESTAMP_FORMAT = "%Y-%m-%d-%H%M%S-%f"
LOCK_TIMEOUT_SECONDS = 5.0  # how long another program may lock the gradebook
BACKUP_SUFFIXES = {False: ".db", True: ".sql"}  # by whether the gradebook is on a server
VOLATILE_LINES = re.compile(rb"^(\\(un)?restrict .*|-- Dumped .*)$", flags=re.MULTILINE)  # these differ in every dump

REQUIRED_TABLES = {"assignment", "student", "submitted_assignment", "base_cell", "grade", "comment"}  # of a gradebook
DUMP_END = "-- PostgreSQL database dump complete"


def back_up(course: Course, occasion: str, spare: Path | None = None) -> None:
    """Back up the gradebook before ``occasion`` changes it; keep the last ten different backups, and ``spare``.

    Raises ``CourseError`` if the gradebook exists but cannot be copied.
    """
    gradebook = course.gradebook.file
    if not course.gradebook.exists:
        return
    try:
        with _lock_folder(course) as folder:
            newest = next(iter(list_backups(course)), None)
            path = (
                folder / f"{_new_timestamp(newest)}-before-{occasion}{BACKUP_SUFFIXES[course.gradebook.is_on_a_server]}"
            )
            draft = path.with_name(path.name + ".draft")
            try:
                _dump_database(course, draft) if course.gradebook.is_on_a_server else _copy_database(gradebook, draft)
                if newest is not None and _comparable_content(course, newest) == _comparable_content(course, draft):
                    return
                draft.replace(path)
            finally:
                draft.unlink(missing_ok=True)
            for old in list_backups(course)[MAX_BACKUPS:]:
                if old != spare:
                    old.unlink()
    except (sqlite3.Error, OSError) as error:
        raise CourseError(
            f"the gradebook cannot be backed up ({error})",
            str(gradebook),
            "free some disk space, make sure that you can write to the course directory, or close any other program that uses the "
            f"gradebook; or restore a backup: `{format_command('restore', course.root)}` lists them.",
        ) from None


@contextlib.contextmanager
def _lock_folder(course):
    """Let one process at a time back up or restore; yield the backup folder, without the drafts of killed processes."""
    folder = _backup_folder(course)
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        for draft in (
            *folder.glob("*.draft*"),
            *course.root.glob("gradebook.db.draft*"),
        ):  # sqlite keeps a journal beside it
            draft.unlink()
        yield folder
    finally:
        os.close(descriptor)


def list_backups(course: Course) -> list[Path]:
    """Return the backups, the newest first."""
    return sorted(
        _backup_folder(course).glob(f"*-before-*{BACKUP_SUFFIXES[course.gradebook.is_on_a_server]}"), reverse=True
    )


def restore(course: Course, name: str) -> None:
    """Replace the gradebook with the backup ``name``, after backing it up.

    Raises ``CourseError`` if there is no such backup, or it is not a gradebook.
    """
    path = _backup_folder(course) / name
    if path not in list_backups(course):
        raise CourseError(f"there is no backup {name!r}", str(_backup_folder(course)), "name one that `restore` lists.")
    _require_gradebook_copy(course, path)
    gradebook = course.gradebook.file
    if course.gradebook.exists:
        with contextlib.suppress(CourseError):  # a gradebook that cannot be copied may be the reason for restoring
            back_up(course, "restore", spare=path)
    if course.gradebook.is_on_a_server:
        how = ["--no-psqlrc", "--quiet", "--single-transaction", "--set=ON_ERROR_STOP=1", f"--file={path}"]
        _run_postgresql(course, "psql", how)  # all of it, or nothing
        return
    with _lock_folder(course):
        draft = gradebook.with_name("gradebook.db.draft")
        try:
            _copy_database(path, draft)
        except sqlite3.Error as error:
            draft.unlink(missing_ok=True)
            remedy = "free some disk space, and restore it again." if "full" in str(error) else "name another one."
            raise CourseError(f"the backup cannot be read or copied ({error})", str(path), remedy) from None
        for beside in ("gradebook.db-journal", "gradebook.db-wal", "gradebook.db-shm"):
            (course.root / beside).unlink(missing_ok=True)
        draft.replace(gradebook)


def _require_gradebook_copy(course, path):
    """Refuse a backup that is empty, cut short, or of another database."""
    where, remedy = str(path), "name another one that `restore` lists."
    if course.gradebook.is_on_a_server:
        content = path.read_text(encoding="utf-8", errors="replace")
        tables = set(re.findall(r"^CREATE TABLE (?:\w+\.)?(\w+) ", content, flags=re.MULTILINE))
        if DUMP_END not in content:
            raise CourseError("this backup is truncated, or is not a PostgreSQL dump", where, remedy)
    else:
        try:
            with contextlib.closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
                tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
                problems = [problem for (problem,) in connection.execute("PRAGMA quick_check(1)") if problem != "ok"]
        except sqlite3.Error as error:
            raise CourseError(f"this backup is not a readable database ({error})", where, remedy) from None
        if problems:
            raise CourseError(f"this backup is damaged ({problems[0]})", where, remedy)
    if missing := sorted(REQUIRED_TABLES - tables):
        raise CourseError(f"this is not an nbgrader gradebook: it has no table {missing[0]!r}", where, remedy)


def _new_timestamp(newest):
    """Return the current time for a backup's name, later than that of ``newest`` even if the clock went backwards."""
    moment = datetime.now(UTC)
    if newest is not None:
        with contextlib.suppress(ValueError, OverflowError):  # somebody has renamed it
            stated = datetime.strptime(newest.name.partition("-before-")[0], TIMESTAMP_FORMAT).replace(tzinfo=UTC)
            moment = max(moment, stated + timedelta(microseconds=1))
    return moment.strftime(TIMESTAMP_FORMAT)


def _copy_database(source, target):
    """Copy a consistent state of a database, even while others use it."""
    target.unlink(missing_ok=True)
    with (
        # not read-only: sqlite first rolls back what a killed grader has left unfinished
        contextlib.closing(sqlite3.connect(f"{source.as_uri()}?mode=rw", uri=True)) as original,
        contextlib.closing(sqlite3.connect(target)) as draft,
    ):
        began = time.monotonic()

        def patience(status, remaining, total):
            if (
                status in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
                and time.monotonic() - began > LOCK_TIMEOUT_SECONDS
            ):
                raise sqlite3.OperationalError("database is locked")

        original.backup(draft, progress=patience)


def _dump_database(course, target):
    """Dump the gradebook's database on a server as SQL that restores it, readable only by its owner."""
    target.unlink(missing_ok=True)
    target.touch(mode=0o600)
    try:
        options = ["--clean", "--if-exists", "--no-owner", "--no-privileges", f"--file={target}"]
        _run_postgresql(course, "pg_dump", options)
    except CourseError:
        target.unlink(missing_ok=True)
        raise


def _run_postgresql(course, program, options):
    """Run a PostgreSQL program on the gradebook's database, without its address on the command line."""
    url = make_url(course.gradebook.url)
    settings = {"HOST": url.host, "PORT": url.port, "USER": url.username, "PASSWORD": url.password}
    settings["DATABASE"] = url.database
    for name, value in url.query.items():  # may name the host, a socket's folder, or the encryption
        settings[name.upper()] = value if isinstance(value, str) else ",".join(value)
    environment = os.environ | {f"PG{name}": str(value) for name, value in settings.items() if value}
    try:
        subprocess.run([program, *options], env=environment, capture_output=True, text=True, check=True)
    except FileNotFoundError:
        remedy = "install PostgreSQL's programs (Debian, Ubuntu: apt-get install postgresql-client)."
        raise CourseError(f"the gradebook is on a server, and {program} is missing", "this machine", remedy) from None
    except subprocess.CalledProcessError as error:
        raise CourseError(
            f"{program} cannot work on the gradebook ({error.stderr.strip()})",
            "CourseDirectory.db_url in nbgrader_config.py",
            "make sure that the database is running and accepts this user, and that the programs are at least as new as "
            "the server.",
        ) from None


def _comparable_content(course, copy):
    content = copy.read_bytes()
    return VOLATILE_LINES.sub(b"", content) if course.gradebook.is_on_a_server else content


def _backup_folder(course):
    return course.root / ".autograder" / "backups"
