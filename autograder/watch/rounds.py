"""Grade some hand-ins together, step by step, so that other rounds can begin and end meanwhile.

In: arrivals of one topic, by student. Out: a row for each of them, through a callback. Writes what `grade` writes.
"""

import contextlib
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future

from autograder.batch.context import GradingRun
from autograder.batch.grade_class import HOST_SECONDS, Batch, Executor, open_batch
from autograder.batch.results import SubmissionResult
from autograder.watch.arrivals import Arrival
from autograder.watch.outcomes import Outcomes
from autograder.watch.settings import RETRIED_ERRORS, Queue, Settings, is_machine_failure


class Round:
    """Grades the hand-ins ``to_grade``, by student, and releases the pages of ``again`` once more.

    ``finish`` is called with each row, while the course is locked. If it raises an error of the machine or the course, it is
    called again at the end. ``queues`` says from which queue each hand-in comes: it is busy until then, and is charged.
    """

    def __init__(
        self,
        run: GradingRun,
        to_grade: Mapping[str, Arrival],
        again: Collection[str],
        queues: Mapping[str, Queue],
        settings: Settings,
        finish: Callable[[Mapping[str, Arrival], SubmissionResult], object],
    ) -> None:
        self.run, self.to_grade, self.queues, self.finish = run, to_grade, dict(queues), finish
        self.busy, self.budget = settings.busy, settings.budget
        self.students = [*to_grade, *again]
        self.left = set(self.students)
        self.release = run.course.releases(run.topic).hash()
        self._stack = contextlib.ExitStack()
        self._batch: Batch | None = None
        self.busy.update(queues.values())

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
        self.busy.difference_update(self.queues.values())
        self._stack.close()

    def _take(self, done, total, row):  # called with the course locked
        with contextlib.suppress(*RETRIED_ERRORS):
            self._finish(row)

    def _finish(self, row):
        self.finish(self.to_grade, row)
        self.left.discard(row.student)
        if row.student in self.queues:
            queue = self.queues.pop(row.student)
            # of a worker that died, nothing is known but that it ran
            self.budget.charge(queue, row.worker_seconds or (HOST_SECONDS if row.failed else 0))
            self.busy.discard(queue)


class Rounds:
    """The rounds of one topic that are ``running``.

    If one fails, the next takes a single hand-in, to find out whether it is to blame: ``alone``.
    """

    def __init__(self, outcomes: Outcomes) -> None:
        self.outcomes, self.settings, self.topic = outcomes, outcomes.settings, outcomes.topic
        self.running: list[Round] = []
        self.alone = False
        self.trial: Round | None = None  # the round with a single hand-in

    @property
    def students(self) -> set[str]:
        """Those whose hand-ins are being graded, or whose pages are being made."""
        return {student for each in self.running for student in each.left}

    @property
    def numbers(self) -> set[int]:
        """The numbers of the arrivals that are being graded."""
        return {arrival.number for each in self.running for name, arrival in each.to_grade.items() if name in each.left}

    def begin(
        self, run: GradingRun, to_grade: Mapping[str, Arrival], again: Collection[str], queues: Mapping[str, Queue]
    ) -> int:
        """Begin a round; return how many hand-ins were served."""
        started = Round(run, to_grade, again, queues, self.settings, self.outcomes.finish_row)
        self.running.append(started)
        self.trial = started if self.alone else None
        return self._continue(started)

    def step(self) -> int:
        """Take the next steps of all rounds; return how many hand-ins were served."""
        return sum(map(self._continue, list(self.running)))

    def close(self) -> None:
        """Cancel what is still running."""
        for each in list(self.running):
            self._end(each)

    def _continue(self, running):
        """Take the next steps of a round; return how many hand-ins were served.

        If a round fails, the next one takes a single hand-in, to find out whether it is to blame.
        """
        before = len(running.left)
        try:
            is_over = not running.step(self.settings.executor, self.outcomes.say, self.outcomes.lock)
        except Exception as error:
            self._end(running)
            if is_machine_failure(error) or running.run.course.releases(self.topic).hash() != running.release:
                raise
            if len(running.students) > 1:
                self.alone = True
                raise
            blamed = [arrival for student, arrival in running.to_grade.items() if student in running.left]
            gave_up = [self.outcomes.record_error(arrival, error) for arrival in blamed]
            if not blamed or not all(gave_up):
                raise
            self.alone = False
            return len(blamed)
        if is_over:
            self._end(running)
            self.alone = self.alone and running is not self.trial
        return before - len(running.left)

    def _end(self, running):
        running.close()
        self.running.remove(running)
