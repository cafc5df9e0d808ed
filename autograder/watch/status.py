"""What `watch` is doing: lines on the terminal, numbers for the instructor's page, and metrics as Prometheus reads them.

In: events. Out: lines, a snapshot, text. Touches nothing but the terminal.
"""

import contextlib
import statistics
import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import prometheus_client as prometheus

KEPT_TIMES, KEPT_LINES, KEPT_ERRORS = 500, 50, 20
RATE_SECONDS = 600.0
FEEDBACK_SECONDS = (1, 2, 5, 10, 20, 60, 300, 1800, 3600, 21_600)  # upper ends of the histogram's buckets


@dataclass
class Status:
    """Collects events; ``write`` puts a line on the terminal. Times are in seconds; those that are not known yet are None."""

    write: Callable[[str], object]
    since: str = field(default_factory=lambda: _now())
    queued: int = 0
    waiting: int = 0
    oldest: float | None = None  # how long the first in the queue has waited
    trouble: str = ""  # why nothing can be served at the moment
    outcomes: Counter[str] = field(default_factory=Counter)
    # moment, seconds since arrival
    ends: deque[tuple[float, float]] = field(default_factory=lambda: deque(maxlen=KEPT_TIMES))
    lines: deque[str] = field(default_factory=lambda: deque(maxlen=KEPT_LINES))
    errors: deque[str] = field(default_factory=lambda: deque(maxlen=KEPT_ERRORS))

    def __post_init__(self) -> None:
        self._registry = registry = prometheus.CollectorRegistry()
        what, how_long = "Hand-ins that have been dealt with.", "Seconds from hand-in to feedback."
        self._arrivals = prometheus.Counter("watch_arrivals", what, ["outcome"], registry=registry)
        self._seconds = prometheus.Histogram(
            "watch_feedback_seconds", how_long, buckets=FEEDBACK_SECONDS, registry=registry
        )
        queue = prometheus.Gauge("watch_queue_length", "Hand-ins in the queue.", registry=registry)
        queue.set_function(lambda: self.queued)

    def say(self, line: str) -> None:
        """Write one line for the instructor."""
        line = f"{_now()[11:]} {line}"
        self.lines.append(line)
        with contextlib.suppress(OSError):  # the terminal is gone, or the disk that it is written to is full
            self.write(line)

    def report_error(self, line: str) -> None:
        """Write a line that the page keeps among the errors."""
        self.errors.append(f"{_now()} {line}")
        self.say(line)

    def report_trouble(self, trouble: str) -> None:
        """Report once what keeps `watch` from serving; ``trouble`` is "" when it is over."""
        if trouble and trouble != self.trouble:
            self.report_error(f"{trouble} It will be tried again.")
        elif self.trouble and not trouble:
            self.say("It works again.")
        self.trouble = trouble

    def count(self, outcome: str, seconds: float) -> None:
        """Count a hand-in that ended ``seconds`` after it arrived."""
        self.outcomes[outcome] += 1
        self.ends.append((time.monotonic(), seconds))
        self._arrivals.labels(outcome).inc()
        self._seconds.observe(seconds)

    def snapshot(self) -> dict[str, Any]:
        """Return the state now, by name. It is called by another thread, so it copies what may change."""
        ends, now = list(self.ends), time.monotonic()
        recent = [moment for moment, _ in ends if now - moment < RATE_SECONDS]
        seconds = [each for _, each in ends]
        return vars(self) | {
            "served": sum(self.outcomes.values()),
            "per_minute": 60 * len(recent) / max(now - recent[0], 1.0) if recent else 0.0,
            "median": statistics.median(seconds) if seconds else None,
            "longest": max(seconds, default=None),
            "outcomes": self.outcomes.most_common(),
            "lines": list(reversed(self.lines)),
            "errors": list(reversed(self.errors)),
        }

    def format_metrics(self) -> bytes:
        """Return the metrics so far in the format that Prometheus reads."""
        return prometheus.generate_latest(self._registry)


def _now():
    return f"{datetime.now():%Y-%m-%d %H:%M:%S}"
