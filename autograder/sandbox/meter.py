"""Measure what a submission uses, from outside: CPU time, and time in which it neither ran nor waited for a processor.

In: the processes of a submission. Out: ``Usage``. Reads Linux's /proc. The other load of the machine changes neither number.
"""

import contextlib
import os
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
SAMPLE_SECONDS = 0.25  # between two samples
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")  # the unit of times in /proc/PID/stat


@dataclass(frozen=True)
class Usage:
    """Seconds of CPU time, and idle seconds, since a run began."""

    cpu: float = 0.0
    idle: float = 0.0


class Meter:
    """Adds up the usage of the processes that ``members`` lists; without ``members``, nothing can be measured.

    Time counts as idle if a process neither ran nor waited for a processor since the last sample. It is counted sample by
    sample, and a late sample counts as two at most: so a machine that stops this process makes nobody idle.
    """

    def __init__(self, members: Callable[[], Iterable[int]] | None):
        self._members = members
        self._usage, self._at = Usage(), time.monotonic()
        self._cpu, self._waited, _ = self._observe()

    def read(self, now: bool = False) -> Usage:
        """Return the usage since this meter was made, as of the last sample; ``now`` takes one."""
        elapsed = time.monotonic() - self._at
        if self._members and (now or elapsed >= SAMPLE_SECONDS):
            cpu, waited, is_runnable = self._observe()
            # a process that nobody waited for takes its times with it
            used, in_queue = max(0.0, cpu - self._cpu), max(0.0, waited - self._waited)
            idle = 0.0 if is_runnable else max(0.0, min(elapsed, 2 * SAMPLE_SECONDS) - used - in_queue)
            self._usage = Usage(self._usage.cpu + used, self._usage.idle + idle)
            self._cpu, self._waited, self._at = cpu, waited, self._at + elapsed
        return self._usage

    def restart(self) -> None:
        """Count from now on."""
        self.read(now=True)
        self._usage = Usage()

    def _observe(self):
        """Return ``(CPU seconds, seconds in the queue for a processor, whether one runs or queues now)`` of all processes."""
        cpu, waited, is_runnable = 0.0, 0.0, False
        for process in self._members() if self._members else ():
            with contextlib.suppress(OSError):  # it has ended
                cpu += sum(map(int, _stat(PROC / str(process))[11:15])) / TICKS_PER_SECOND
                for thread in (PROC / str(process) / "task").iterdir():
                    waited += int((thread / "schedstat").read_text().split()[1]) / 1e9
                    is_runnable |= _stat(thread)[0] == "R"
        return cpu, waited, is_runnable


def _stat(folder):
    """Return the fields of ``folder``/stat after the name, which may contain anything: the state, the parent, ..."""
    return (folder / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()


def process_tree(root: int) -> Iterator[int]:
    """Yield ``root`` and every process below it."""
    waiting = [root]
    while waiting:
        process = waiting.pop()
        yield process
        with contextlib.suppress(OSError):
            for thread in (PROC / str(process) / "task").iterdir():
                waiting += map(int, (thread / "children").read_text().split())


def can_measure() -> bool:
    """Return whether this machine's kernel tells what ``Meter`` and ``process_tree`` read."""
    thread = PROC / "self" / "task" / str(os.getpid())
    return all((thread / name).is_file() for name in ("schedstat", "children"))
