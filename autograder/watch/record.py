"""What `watch` has seen and done: one row for each hand-in, in the order of arrival.

In: a course. Out: ``Arrival`` objects. Writes one SQLite database in the course directory; every change is one transaction, so
that a process that is killed leaves it as it was before or after the change.
"""

import contextlib
import sqlite3
import time
from collections.abc import Iterable
from dataclasses import astuple, dataclass, fields, replace
from pathlib import Path
from typing import Any, Self

from autograder.courses.course import Course
from autograder.errors import CourseError

NEW, WAITING, ADMITTED, DONE = "new", "waiting", "admitted", "done"  # states of an arrival
GRADED, FAILED = "graded", "failed"  # outcomes: counts as an attempt; is tried again after a restart
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
BUSY_SECONDS = 5.0


@dataclass(frozen=True)
class Arrival:
    """One hand-in: the folder or file ``entry`` in ``source``, the ``number``-th that arrived; ``mark`` changes with it.

    ``claimed`` is the student that its name claims. ``student``, ``digest`` (of all its files), ``notebook`` (of the notebook
    alone) and ``secret`` (the exchange's) are known once it has been opened. ``came`` and ``ended`` are times on this
    machine's clock; ``boot`` and ``uptime`` say when it ended on the clock that cannot be set.
    """

    number: int
    topic: str
    source: str
    entry: str
    mark: str
    claimed: str
    state: str = NEW
    outcome: str = ""
    student: str = ""
    digest: str = ""
    notebook: str = ""
    secret: str = ""
    came: float = 0.0
    ended: float = 0.0
    boot: str = ""
    uptime: float = 0.0
    shown: str = ""


COLUMNS = [field.name for field in fields(Arrival)]
TABLE = """
CREATE TABLE IF NOT EXISTS arrival (
    number INTEGER PRIMARY KEY AUTOINCREMENT, topic TEXT NOT NULL, source TEXT NOT NULL, entry TEXT NOT NULL,
    mark TEXT NOT NULL, claimed TEXT NOT NULL, state TEXT NOT NULL, outcome TEXT NOT NULL, student TEXT NOT NULL,
    digest TEXT NOT NULL, notebook TEXT NOT NULL, secret TEXT NOT NULL, came REAL NOT NULL, ended REAL NOT NULL,
    boot TEXT NOT NULL, uptime REAL NOT NULL, shown TEXT NOT NULL, UNIQUE (topic, source, entry, mark)
);
CREATE INDEX IF NOT EXISTS by_state ON arrival (topic, state, number);
CREATE INDEX IF NOT EXISTS by_student ON arrival (topic, student, number);
"""


@dataclass(frozen=True)
class Clock:
    """The time now: ``wall`` can be set; ``uptime`` cannot, and starts again with each ``boot`` of the machine."""

    wall: float
    boot: str
    uptime: float

    @classmethod
    def now(cls) -> Self:
        boot = ""
        with contextlib.suppress(OSError):
            boot = BOOT_ID.read_text().strip()
        clock = time.CLOCK_BOOTTIME if hasattr(time, "CLOCK_BOOTTIME") else time.CLOCK_MONOTONIC
        return cls(time.time(), boot, time.clock_gettime(clock))

    def seconds_since(self, arrival: Arrival) -> float:
        """Return how many seconds ago ``arrival`` ended, unaffected by clock changes unless the machine was restarted."""
        if self.boot and self.boot == arrival.boot:
            return self.uptime - arrival.uptime
        if self.boot and arrival.boot:  # the machine has been restarted since
            return max(self.wall - arrival.ended, self.uptime)
        return self.wall - arrival.ended


class Record(contextlib.ExitStack):
    """The open record of ``course``. Only one process writes it: the one that holds the ``watch_lock``."""

    def __init__(self, course: Course) -> None:
        super().__init__()
        self.path = course.root / ".autograder" / "watch.db"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.connection = sqlite3.connect(self.path, timeout=BUSY_SECONDS, isolation_level=None)
        self.callback(self.connection.close)
        try:
            self.connection.execute("PRAGMA synchronous = FULL")
            self.connection.executescript(TABLE)
        except sqlite3.OperationalError as error:
            self.close()
            remedy = "free some disk space there, make sure that you can write to it, and start `watch` again."
            raise CourseError(f"the record of `watch` cannot be written ({error})", str(self.path), remedy) from None
        except sqlite3.DatabaseError as error:
            self.close()
            remedy = "move it away: what was graded is not graded again, but attempts are then counted from `grade`'s record."
            raise CourseError(f"this is not the record of `watch` ({error})", str(self.path), remedy) from None

    def load_marks(self, topic: str, source: str) -> dict[str, str]:
        """Return the last mark of each entry of ``source`` that arrived, by name."""
        query = "SELECT entry, mark FROM arrival WHERE topic = ? AND source = ? ORDER BY number"
        return dict(self.connection.execute(query, (topic, source)).fetchall())

    def add(self, arrivals: Iterable[tuple[str, str, str, str, str]], came: float) -> int:
        """Add arrivals, ``(topic, source, entry, mark, claimed)`` in their order, all or none; return how many are new."""
        rows = [astuple(Arrival(0, *arrival, came=came))[1:] for arrival in arrivals]  # the database numbers them
        if not rows:
            return 0
        before, names = self.connection.total_changes, COLUMNS[1:]
        values = ", ".join("?" for _ in names)
        with self._transaction():
            statement = f"INSERT OR IGNORE INTO arrival ({', '.join(names)}) VALUES ({values})"
            self.connection.executemany(statement, rows)
        return self.connection.total_changes - before

    def update(self, arrival: Arrival, **changes: Any) -> Arrival:
        """Store ``arrival`` with ``changes`` applied, and return the changed one."""
        changed = replace(arrival, **changes)
        named = ", ".join(f"{name} = ?" for name in COLUMNS)
        self._change(f"UPDATE arrival SET {named} WHERE number = ?", *astuple(changed), arrival.number)
        return changed

    def finish(self, arrival: Arrival, outcome: str, shown: str = "") -> Arrival:
        """Record that ``arrival`` has ended now, with ``outcome``."""
        now = Clock.now()
        ended = {"ended": now.wall, "boot": now.boot, "uptime": now.uptime}
        return self.update(arrival, state=DONE, outcome=outcome, shown=shown, **ended)

    def reopen(self, topic: str, outcome: str) -> None:
        """Reopen the arrivals of ``topic`` that ended with ``outcome``, so that they are tried again."""
        self._change("UPDATE arrival SET state = ?, outcome = '' WHERE topic = ? AND outcome = ?", NEW, topic, outcome)

    def set_shown(self, topic: str, student: str, shown: str) -> None:
        """Record how much of the feedback the published pages of ``student`` show."""
        statement = "UPDATE arrival SET shown = ? WHERE topic = ? AND student = ? AND shown <> ''"
        self._change(statement, shown, topic, student)

    def list_pending(self, topic: str) -> list[Arrival]:
        """Return the arrivals of ``topic`` that have not ended, the admitted ones first."""
        order = f"CASE state WHEN '{ADMITTED}' THEN 0 ELSE 1 END, number"
        return self._select("topic = ? AND state <> ?", (topic, DONE), order)

    def list_all(self, topic: str) -> list[Arrival]:
        """Return all arrivals of ``topic``, in the order of arrival."""
        return self._select("topic = ?", (topic,))

    def list_graded(self, topic: str, student: str) -> list[Arrival]:
        """Return the arrivals of ``student`` that were graded, or are about to be, in the order of arrival."""
        where = "topic = ? AND student = ? AND (outcome = ? OR state = ?)"
        return self._select(where, (topic, student, GRADED, ADMITTED))

    def list_withheld(self, topic: str) -> list[str]:
        """Return the students whose published pages do not show everything."""
        query = "SELECT DISTINCT student FROM arrival WHERE topic = ? AND shown NOT IN ('', 'all') ORDER BY student"
        return [student for (student,) in self.connection.execute(query, (topic,))]

    def find_oldest(self) -> float | None:
        """Return when the oldest arrival in the queue came; None if the queue is empty."""
        query = "SELECT MIN(came) FROM arrival WHERE state IN (?, ?)"
        return self.connection.execute(query, (NEW, ADMITTED)).fetchone()[0]

    def count(self, state: str) -> int:
        return self.connection.execute("SELECT COUNT(*) FROM arrival WHERE state = ?", (state,)).fetchone()[0]

    def _select(self, where, values, order="number"):
        query = f"SELECT {', '.join(COLUMNS)} FROM arrival WHERE {where} ORDER BY {order}"
        return [Arrival(*row) for row in self.connection.execute(query, values)]

    def _change(self, statement, *values):
        with self._transaction():
            self.connection.execute(statement, values)

    @contextlib.contextmanager
    def _transaction(self):
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self.connection.execute("COMMIT")
        except BaseException:
            with contextlib.suppress(sqlite3.Error):  # a full disk has rolled it back already
                self.connection.execute("ROLLBACK")
            raise
