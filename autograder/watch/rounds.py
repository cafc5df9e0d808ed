"""Grade some hand-ins together, step by step, so that other rounds can begin and end meanwhile.

In: arrivals of one topic, by student. Out: a row for each of them, through a callback. Writes what `grade` writes.
"""

import contextlib
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future

from autograder.batch.context import GradingRun
from autograder.batch.grade_class import Batch, Executor, open_batch
from autograder.batch.results import SubmissionResult
from autograder.watch.arrivals import Arrival

Queue = int | str  # an account, or a claimed name where accounts are not known


class Round:
    """Grades the hand-ins ``to_grade``, by student, and releases the pages of ``again`` once more.

    ``finish`` is called with each row, while ``lock``, the course's, is held. If it raises one of the errors ``retried``, it is
    called again at the end. ``queues`` are those from which the hand-ins come.
    """

    def __init__(
        self,
        run: GradingRun,
        to_grade: Mapping[str, Arrival],
        again: Collection[str],
        queues: Collection[Queue],
        finish: Callable[[Mapping[str, Arrival], SubmissionResult], object],
        retried: tuple[type[Exception], ...],
    ) -> None:
        self.run, self.to_grade, self.queues = run, to_grade, queues
        self.finish, self.retried = finish, retried
        self.students = [*to_grade, *again]
        self.left = set(self.students)
        self.release = run.course.releases(run.topic).hash()
        self._stack = contextlib.ExitStack()
        self._batch: Batch | None = None

    @property
    def futures(self) -> Collection[Future]:
        """The tasks that the workers have now."""
        return self._batch.futures if self._batch else ()

    def step(
        self,
        executor: Executor,
        notice: Callable[[str], object],
        lock: Callable[[], contextlib.AbstractContextManager[None]],
    ) -> bool:
        """Take the steps that are possible without waiting for workers; return whether anything is left."""
        if self._batch is None:
            self._batch = self._stack.enter_context(
                open_batch(self.run, self.students, self._take, executor, notice, lock)
            )
        if self._batch.step(0.0):
            return True
        for row in self._batch.rows:
            if row.student in self.left:
                with lock():
                    self._finish(row)
        return False

    def close(self) -> None:
        """Cancel what is still running; the hand-ins stay admitted, so that they can be graded later."""
        self._stack.close()

    def _take(self, done, total, row):  # called with the course locked
        with contextlib.suppress(*self.retried):
            self._finish(row)

    def _finish(self, row):
        self.finish(self.to_grade, row)
        self.left.discard(row.student)
