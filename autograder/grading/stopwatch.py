"""Time stages, and interrupt what computes too long. Sets this process's profiling timer while a limit is in force."""

import contextlib
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

Result = TypeVar("Result")


class LimitReached(BaseException):
    """A limit of CPU time was reached. It is not an ``Exception``, so that no handler on the way catches it."""


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


def call_timed(function: Callable[..., Result], *args: object) -> tuple[Result | Exception, float]:
    """Call ``function``; return what it returned or raised, and the seconds that it took.

    ``LimitReached`` comes back as a ``TimeoutError``.
    """
    began = time.monotonic()
    try:
        result = function(*args)
    except LimitReached:
        result = TimeoutError()
    except Exception as error:
        result = error
    return result, time.monotonic() - began


@contextlib.contextmanager
def time_limit(seconds: float, error: type[BaseException]) -> Iterator[None]:
    """Raise ``error`` in the block once this process has used ``seconds`` of CPU time.

    Only the main thread gets the signal, so others have no limit. Inside another such block, the tighter limit counts.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(*_):
        raise error

    outer, _ = signal.getitimer(signal.ITIMER_PROF)
    if 0 < outer <= seconds:
        yield
        return
    before, began = signal.signal(signal.SIGPROF, ring), time.process_time()
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        used = time.process_time() - began
        signal.setitimer(signal.ITIMER_PROF, max(outer - used, 0.001) if outer else 0)
        signal.signal(signal.SIGPROF, before)
