"""Run tasks on an executor, only as many at a time as keep its workers busy.

In: functions with their arguments, each with a callback for its result. Out: finished tasks. Starts the executor with the first
task.
"""

import concurrent.futures
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future
from typing import Any, Generic, Protocol, TypeVar

Item = TypeVar("Item")


class Executor(Protocol):
    """Runs submissions. If it has an attribute ``workers``, as many are kept busy."""

    def submit(self, task: Callable[..., Any], /, *args: Any) -> Future: ...


class TaskQueue(Generic[Item]):
    """Tasks on the executor that ``start`` returns, which is called for the first task. Each belongs to an owner."""

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
        """Let a worker call ``task``; ``then`` is for its result."""
        if self._executor is None:
            self._executor = self._start()
        self._running[self._executor.submit(task, *args)] = owner, then

    def wait(self) -> list[tuple[Item, Callable[[Item, Future], None], Future]]:
        """Wait until a task has finished; return owner, callback and future of each that has, in the order of sending."""
        finished, _ = concurrent.futures.wait(self._running, return_when=FIRST_COMPLETED)
        return [(*self._running.pop(future), future) for future in list(self._running) if future in finished]

    def cancel(self) -> None:
        """Cancel the tasks that have not started."""
        for future in self._running:
            future.cancel()
