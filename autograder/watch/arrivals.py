"""What `watch` has seen and done with each hand-in, in the order of arrival.

In: a course, topics. Out: ``Arrival`` objects. Adds events to the course's record; every change is one transaction, so that a
process that is killed leaves it as it was before or after the change.
"""

import contextlib
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from autograder.courses.course import Course

ARRIVED, SERVED = "arrived", "served"  # kinds of events: a hand-in is there; what has changed about it since
NEW, WAITING, ADMITTED, DONE = "new", "waiting", "admitted", "done"  # states of an arrival
GRADED, FAILED = "graded", "failed"  # outcomes: counts as an attempt; is tried again after a restart
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


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


class Arrivals:
    """The hand-ins for ``topics`` of ``course``. Only one process adds any: the one that holds the ``watch_lock``."""

    def __init__(self, course: Course, topics: Sequence[str]) -> None:
        self.record = course.record
        self._all: dict[int, Arrival] = {}  # by number, and so in the order of arrival
        self._open: dict[int, Arrival] = {}  # those that have not ended, or whose page does not show everything
        self._seen: set[tuple[str, str, str, str]] = set()
        self._of_student: dict[tuple[str, str], set[int]] = defaultdict(set)
        for topic in topics:
            for event in self.record.events(topic, None, (ARRIVED, SERVED)):
                if event.kind == ARRIVED:
                    self._enter(Arrival(event.number, topic, **event.data))
                else:
                    changes = {name: value for name, value in event.data.items() if name != "arrival"}
                    self._enter(replace(self._all[event.data["arrival"]], **changes))

    def _enter(self, arrival):
        if before := self._all.get(arrival.number):
            self._seen.discard(_identify(before))
        self._all[arrival.number] = arrival
        self._open.pop(arrival.number, None)
        if arrival.state != DONE or arrival.shown not in ("", "all"):
            self._open[arrival.number] = arrival
        self._seen.add(_identify(arrival))
        if arrival.student:
            self._of_student[arrival.topic, arrival.student].add(arrival.number)

    def add(self, arrivals: Iterable[tuple[str, str, str, str, str]], came: float) -> int:
        """Add arrivals, ``(topic, source, entry, mark, claimed)`` in their order, all or none; return how many are new."""
        rows: list[tuple[str, str, str, dict[str, Any]]] = []
        for topic, source, entry, mark, claimed in dict.fromkeys(arrivals):
            if (topic, source, entry, mark) not in self._seen:
                what = {"source": source, "entry": entry, "mark": mark, "claimed": claimed, "came": came}
                rows.append((topic, "", ARRIVED, what))
        numbers = self.record.add_rows(rows)
        for number, (topic, _, _, what) in zip(numbers, rows, strict=True):
            self._enter(Arrival(number, topic, **what))
        return len(rows)

    def update(self, arrival: Arrival, **changes: Any) -> Arrival:
        """Record ``arrival`` with ``changes`` applied, and return the changed one."""
        changed, known = replace(arrival, **changes), vars(self._all[arrival.number])
        moved = {name: value for name, value in vars(changed).items() if value != known[name]}
        self.record.add(arrival.topic, changed.student, (SERVED, {"arrival": arrival.number, **moved}))
        self._enter(changed)
        return changed

    def finish(self, arrival: Arrival, outcome: str, shown: str = "") -> Arrival:
        """Record that ``arrival`` has ended now, with ``outcome``."""
        now = Clock.now()
        ended = {"ended": now.wall, "boot": now.boot, "uptime": now.uptime}
        return self.update(arrival, state=DONE, outcome=outcome, shown=shown, **ended)

    def reopen(self, topic: str, outcome: str) -> None:
        """Reopen the arrivals of ``topic`` that ended with ``outcome``, so that they are tried again."""
        for arrival in self.list_all(topic):
            if arrival.outcome == outcome:
                self.update(arrival, state=NEW, outcome="")

    def set_shown(self, topic: str, student: str, shown: str) -> None:
        """Record how much of the feedback the published pages of ``student`` show."""
        for arrival in self._list_of(topic, student):
            if arrival.shown not in ("", shown):
                self.update(arrival, shown=shown)

    def list_pending(self, topic: str) -> list[Arrival]:
        """Return the arrivals of ``topic`` that have not ended, the admitted ones first."""
        pending = [arrival for arrival in self._open.values() if arrival.topic == topic and arrival.state != DONE]
        return sorted(pending, key=lambda arrival: (arrival.state != ADMITTED, arrival.number))

    def list_all(self, topic: str) -> list[Arrival]:
        """Return all arrivals of ``topic``, in the order of arrival."""
        return [arrival for arrival in self._all.values() if arrival.topic == topic]

    def list_graded(self, topic: str, student: str) -> list[Arrival]:
        """Return the arrivals of ``student`` that were graded, or are about to be, in the order of arrival."""
        known = self._list_of(topic, student)
        return [arrival for arrival in known if arrival.outcome == GRADED or arrival.state == ADMITTED]

    def list_withheld(self, topic: str) -> list[str]:
        """Return the students whose published pages do not show everything."""
        withheld = (arrival for arrival in self._open.values() if arrival.shown not in ("", "all"))
        return sorted({arrival.student for arrival in withheld if arrival.topic == topic})

    def _list_of(self, topic, student):
        return [self._all[number] for number in sorted(self._of_student[topic, student])]


def _identify(arrival):
    return arrival.topic, arrival.source, arrival.entry, arrival.mark
