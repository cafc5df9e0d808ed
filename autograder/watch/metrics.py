"""What `watch` has done so far, in the format that Prometheus reads.

In: events. Out: text. Touches nothing.
"""

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

FEEDBACK_SECONDS = (1, 2, 5, 10, 20, 60, 300, 1800, 3600, 21_600)  # upper ends of the histogram's buckets


class Metrics:
    """The metrics of one process; ``queue_length`` is asked whenever they are read."""

    def __init__(self, queue_length: Callable[[], float]) -> None:
        self._registry = CollectorRegistry()
        registry, buckets = self._registry, FEEDBACK_SECONDS
        what, how_long = "Hand-ins that have been dealt with.", "Seconds from hand-in to feedback."
        self._arrivals = Counter("watch_arrivals", what, ["outcome"], registry=registry)
        self._seconds = Histogram("watch_feedback_seconds", how_long, buckets=buckets, registry=registry)
        Gauge("watch_queue_length", "Hand-ins in the queue.", registry=registry).set_function(queue_length)

    def count(self, outcome: str, seconds: float) -> None:
        """Count a hand-in that came to its end ``seconds`` after it arrived."""
        self._arrivals.labels(outcome).inc()
        self._seconds.observe(seconds)

    def format(self) -> bytes:
        return generate_latest(self._registry)
