"""What happened to each attempt, in order: one table of events, to which rows are added and in which none is changed.

In: a course directory, a topic, a student. Out: ``Event`` objects. Writes ``.autograder/record.db``. Each call is one transaction:
a process that is killed has added all of its events or none. What counts now is computed from the events wherever it is needed.
None is deleted, except those of a student whose data must be erased.
"""

import contextlib
import json
import sqlite3
from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from autograder.errors import CourseError

BUSY_SECONDS = 5.0  # how long another process may hold the file
VERSION = 1  # of the table
NEVER_DELETED = """CREATE TRIGGER IF NOT EXISTS never_deleted BEFORE DELETE ON event
    BEGIN SELECT RAISE(ABORT, 'events are never deleted'); END"""
SCHEMA = f"""
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS event (
    number INTEGER PRIMARY KEY AUTOINCREMENT, at TEXT NOT NULL, topic TEXT NOT NULL, student TEXT NOT NULL,
    kind TEXT NOT NULL, data TEXT NOT NULL CHECK (json_valid(data))
);
CREATE INDEX IF NOT EXISTS by_student ON event (topic, student, kind, number);
CREATE TRIGGER IF NOT EXISTS never_changed BEFORE UPDATE ON event BEGIN SELECT RAISE(ABORT, 'events are never changed'); END;
{NEVER_DELETED};
PRAGMA user_version = {VERSION};
COMMIT;
"""


class Event(NamedTuple):
    """The ``number``-th event of the course. ``at`` is when it was added, in UTC; ``student`` is "" if it concerns all."""

    number: int
    at: str
    topic: str
    student: str
    kind: str
    data: dict[str, Any]


def _now():
    return datetime.now(UTC)


class Record:
    """The events of the course in ``root``. ``clock`` returns the time now."""

    def __init__(self, root: Path, clock: Callable[[], datetime] | None = None) -> None:
        self.path, self.clock = root / ".autograder" / "record.db", clock or _now

    def add(self, topic: str, student: str, *events: tuple[str, dict[str, Any]]) -> int:
        """Add ``events``, each ``(kind, data)``, all or none; return the number of the last, 0 without any.

        Raises ``CourseError`` if they cannot be written.
        """
        return max(self.add_rows([(topic, student, *event) for event in events]), default=0)

    def add_rows(self, rows: Sequence[tuple[str, str, str, dict[str, Any]]]) -> list[int]:
        """Add events, ``(topic, student, kind, data)`` each, all or none; return their numbers.

        Raises ``CourseError`` if they cannot be written.
        """
        if not rows:
            return []
        at, numbers = self.clock().astimezone(UTC).isoformat(" ", "milliseconds").removesuffix("+00:00"), []
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self._connect("rwc") as connection:
            if not _read_version(connection):
                connection.executescript(SCHEMA)
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("BEGIN IMMEDIATE")
            for topic, student, kind, data in rows:
                statement = "INSERT INTO event (at, topic, student, kind, data) VALUES (?, ?, ?, ?, ?)"
                row = at, topic, _as_stored(student), kind, json.dumps(data, sort_keys=True)
                added = connection.execute(statement, row)
                numbers.append(added.lastrowid or 0)
            connection.execute("COMMIT")
        return numbers

    def events(self, topic: str, student: str | None, kinds: Sequence[str]) -> list[Event]:
        """Return the events of these ``kinds`` in order: those of ``student``, or with None of everybody."""
        whose, values = ("", [topic]) if student is None else ("AND student = ?", [topic, _as_stored(student)])
        return self._select(f"topic = ? {whose} AND kind IN ({_marks(kinds)})", [*values, *kinds])

    def last_of_each(self, topic: str, student: str, kinds: Sequence[str]) -> dict[str, Event]:
        """Return the last event of ``student`` of each of ``kinds`` that there is, by kind, in order."""
        last = (
            f"SELECT MAX(number) FROM event WHERE topic = ? AND student = ? AND kind IN ({_marks(kinds)}) GROUP BY kind"
        )
        return {
            event.kind: event for event in self._select(f"number IN ({last})", [topic, _as_stored(student), *kinds])
        }

    def list_all(self) -> list[Event]:
        """Return all events of the course, in order."""
        return self._select("TRUE", [])

    def erase(self, numbers: Collection[int]) -> None:
        """Erase the events with these ``numbers``, all or none, because a person has a right to it; no other event may go.

        The file keeps nothing of them and of their earlier versions; if ``numbers`` is empty, that alone is seen to.
        Raises ``CourseError`` if they cannot be erased.
        """
        if not self.path.is_file():
            return
        with self._connect("rw") as connection:
            connection.execute("PRAGMA synchronous = FULL")
            if numbers:
                connection.execute("BEGIN IMMEDIATE")
                connection.execute("DROP TRIGGER IF EXISTS never_deleted")
                connection.executemany("DELETE FROM event WHERE number = ?", [(number,) for number in numbers])
                connection.execute(NEVER_DELETED)
                connection.execute("COMMIT")
            connection.execute("VACUUM")  # a page that was once divided may still have copies of its rows

    def _select(self, where, values):
        if not self.path.is_file():
            return []
        with self._connect("rw") as connection:
            query = f"SELECT number, at, topic, student, kind, data FROM event WHERE {where} ORDER BY number"
            rows = connection.execute(query, values).fetchall()
        return [Event(*row)._replace(student=_as_read(row[3]), data=json.loads(row[5])) for row in rows]

    @contextlib.contextmanager
    def _connect(self, mode: str) -> Iterator[sqlite3.Connection]:
        """Open the file; what was not committed is undone at the end, after an error too."""
        try:
            where = f"{self.path.as_uri()}?mode={mode}"
            with contextlib.closing(
                sqlite3.connect(where, timeout=BUSY_SECONDS, isolation_level=None, uri=True)
            ) as connection:
                if _read_version(connection) > VERSION:
                    what, remedy = "a later version of the grader has written here", "use that version."
                    raise CourseError(what, str(self.path), remedy)
                yield connection
        except sqlite3.Error as error:
            raise CourseError(
                f"the record of the course cannot be used ({error})", str(self.path), _remedy(error)
            ) from error


def _read_version(connection):
    return connection.execute("PRAGMA user_version").fetchone()[0]


def _as_stored(student):
    """Return the name ``student``, or its bytes if it is the name of a folder that is no UTF-8, which SQLite refuses."""
    try:
        student.encode()
    except UnicodeEncodeError:
        return student.encode(errors="surrogateescape")
    return student


def _as_read(stored):
    return stored if isinstance(stored, str) else stored.decode(errors="surrogateescape")


def _marks(kinds):
    return ", ".join("?" for _ in kinds)


def _remedy(error):
    reason = str(error)
    if "locked" in reason:
        return "close any other program that uses it, and run the command again."
    if "full" in reason or "I/O" in reason:
        return "free some disk space, and run the command again: it picks up where it stopped."
    if "readonly" in reason or "unable to open" in reason:
        return "make sure that you can write to the course directory and everything in it, and run the command again."
    return (
        "restore a copy of this file, or move it away: what was handed in is then graded again, and earlier attempts, requests and "
        "answers are lost."
    )
