"""Tasks that run elsewhere, no more of them at a time than keep the workers busy.

In: functions with their arguments, each with what goes on with its result. Out: what has finished. Starts no executor before
there is something to run.
"""

import concurrent.futures
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future
from typing import Any, Generic, Protocol, TypeVar

Item = TypeVar("Item")


class Executor(Protocol):
    """What runs submissions. Where it says how many ``workers`` it has, as many are kept busy."""

    def submit(self, task: Callable[..., Any], /, *args: Any) -> Future: ...


class TaskQueue(Generic[Item]):
    """Tasks on an executor, which ``start`` gives when the first one comes. Each belongs to an owner."""

    def __init__(self, start: Callable[[], Executor], window: int) -> None:
        self._start, self._window = start, window
        self._executor: Executor | None = None
        self._running: dict[Future, tuple[Item, Callable[[Item, Future], None]]] = {}

    @property
    def is_full(self) -> bool:
        return len(self._running) >= self._window

    def __bool__(self) -> bool:
        return bool(self._running)

    def send(
        self, owner: Item, then: Callable[[Item, Future], None], task: Callable[..., object], *args: object
    ) -> None:
        """Let a worker call ``task``; ``then`` goes on with what comes back."""
        if self._executor is None:
            self._executor = self._start()
        self._running[self._executor.submit(task, *args)] = owner, then

    def wait(self) -> list[tuple[Item, Callable[[Item, Future], None], Future]]:
        """Return what has finished, once something has: its owner, what goes on with it, and its future."""
        finished, _ = concurrent.futures.wait(self._running, return_when=FIRST_COMPLETED)
        return [(*self._running.pop(future), future) for future in finished]

    def cancel(self) -> None:
        """Start none of those that have not begun."""
        for future in self._running:
            future.cancel()
