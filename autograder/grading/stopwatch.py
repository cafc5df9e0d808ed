"""Time stages, and interrupt what takes too long. Sets this process's alarm while a limit is in force."""

import contextlib
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Stopwatch:
    """``spent`` and ``used`` map a stage to its total seconds, and seconds of CPU, over all times that it ran."""

    spent: dict[str, float] = field(default_factory=dict)
    used: dict[str, float] = field(default_factory=dict)

    @contextlib.contextmanager
    def stage(self, name: str) -> Iterator[None]:
        began, cpu = time.monotonic(), time.process_time()
        try:
            yield
        finally:
            self.spent[name] = self.spent.get(name, 0.0) + time.monotonic() - began
            self.used[name] = self.used.get(name, 0.0) + time.process_time() - cpu


@contextlib.contextmanager
def time_limit(seconds: float, error: type[BaseException]) -> Iterator[None]:
    """Raise ``error`` in the block after ``seconds``. Only the main thread gets the alarm, so others have no limit."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(*_):
        raise error

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
