"""What `watch` is doing: lines on the terminal, and the numbers for the instructor's page.

In: events. Out: lines, a ``Snapshot``. Touches nothing but the terminal.
"""

import contextlib
import statistics
import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from autograder.watch.metrics import Metrics

KEPT_TIMES, KEPT_LINES, KEPT_ERRORS = 500, 50, 20
RATE_SECONDS = 600.0


@dataclass(frozen=True)
class Snapshot:
    """The state at one moment. Times are in seconds; None where there is none yet."""

    since: str
    queued: int = 0
    waiting: int = 0
    oldest: float | None = None  # how long the first in the queue has waited
    served: int = 0
    per_minute: float = 0.0
    median: float | None = None
    longest: float | None = None
    outcomes: tuple[tuple[str, int], ...] = ()
    trouble: str = ""
    lines: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()


@dataclass
class Status:
    """Collects events; ``write`` puts a line on the terminal."""

    write: Callable[[str], object]
    since: str = field(default_factory=lambda: _now())
    queued: int = 0
    waiting: int = 0
    oldest: float | None = None
    trouble: str = ""  # why nothing can be served at the moment
    outcomes: Counter[str] = field(default_factory=Counter)
    ends: deque[tuple[float, float]] = field(
        default_factory=lambda: deque(maxlen=KEPT_TIMES)
    )  # moment, seconds since arrival
    lines: deque[str] = field(default_factory=lambda: deque(maxlen=KEPT_LINES))
    errors: deque[str] = field(default_factory=lambda: deque(maxlen=KEPT_ERRORS))

    def __post_init__(self) -> None:
        self.metrics = Metrics(lambda: self.queued)

    def say(self, line: str) -> None:
        """Write one line for the instructor."""
        line = f"{_now()[11:]} {line}"
        self.lines.append(line)
        with contextlib.suppress(OSError):  # the terminal is gone, or the disk that it is written to is full
            self.write(line)

    def complain(self, line: str) -> None:
        """Write a line that the page keeps among the errors."""
        self.errors.append(f"{_now()} {line}")
        self.say(line)

    def stumble(self, trouble: str) -> None:
        """Report what keeps `watch` from serving, once; "" when it is over."""
        if trouble and trouble != self.trouble:
            self.complain(f"{trouble} It will be tried again.")
        elif self.trouble and not trouble:
            self.say("It works again.")
        self.trouble = trouble

    def count(self, outcome: str, seconds: float) -> None:
        """Count a hand-in that came to its end ``seconds`` after it arrived."""
        self.outcomes[outcome] += 1
        self.ends.append((time.monotonic(), seconds))
        self.metrics.count(outcome, seconds)

    def snapshot(self) -> Snapshot:
        """Return the state now. It is called by another thread: what it copies is copied at once."""
        ends, now = list(self.ends), time.monotonic()
        recent = [moment for moment, _ in ends if now - moment < RATE_SECONDS]
        rate = 60 * len(recent) / max(now - recent[0], 1.0) if recent else 0.0
        seconds = [each for _, each in ends]
        return Snapshot(
            self.since,
            self.queued,
            self.waiting,
            self.oldest,
            sum(self.outcomes.values()),
            rate,
            statistics.median(seconds) if seconds else None,
            max(seconds, default=None),
            tuple(self.outcomes.most_common()),
            self.trouble,
            tuple(reversed(self.lines)),
            tuple(reversed(self.errors)),
        )


def _now():
    return f"{datetime.now():%Y-%m-%d %H:%M:%S}"
