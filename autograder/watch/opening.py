"""Open hand-ins: a worker selects the files that count, and ``Admission`` decides what becomes of them.

In: an arrival, the rules. Out: an ``Opening``, then whether the arrival has ended. Writes what ``Admission`` writes. This process
only looks at names and owners, and copies bytes: it parses nothing that a student has chosen.
"""

import contextlib
import os
from collections.abc import Callable, Collection, Container
from concurrent.futures import Future
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from autograder.batch.grade_class import OPENING_SECONDS
from autograder.batch.submission_steps import WORKER_ERRORS
from autograder.courses.plan import Plan, fold_name
from autograder.courses.released import Released
from autograder.grading import submission
from autograder.grading.fingerprint import select_kept_files
from autograder.grading.stopwatch import call_timed
from autograder.platforms import collect
from autograder.platforms.archives import RefusedEntry
from autograder.platforms.collect import Collected, HandIn, Intake, OpenedHandIn
from autograder.platforms.times import format_time
from autograder.watch.admission import Admission, identify
from autograder.watch.arrivals import ADMITTED, Arrival
from autograder.watch.outcomes import GONE, REFUSED, Outcomes
from autograder.watch.settings import Queue
from autograder.watch.sources import Source

SLOW_PROBLEM = "it takes too long to read"


@dataclass
class Opening:
    """An ``arrival`` from ``queue`` that is being opened by the ``task`` of a worker; without one, ``collected`` says why not.

    Once its attempts are used up, ``over_limit`` has the arrival with all that is known of it, and the task reads its requests.
    """

    arrival: Arrival
    queue: Queue
    collected: list[Collected]
    intake: Intake | None = None
    hand_in: HandIn | None = None
    task: Future | None = None
    over_limit: Arrival | None = None
    is_charged: bool = False  # for the task

    @property
    def is_running(self) -> bool:
        return self.task is not None and not self.task.done()


class Opener:
    """Opens the hand-ins of one topic from ``source``; calls ``forget`` with the name of one that has disappeared."""

    def __init__(
        self,
        outcomes: Outcomes,
        admission: Admission,
        source: Source,
        load_released: Callable[[], Released],
        forget: Callable[[str], object],
    ) -> None:
        self.outcomes, self.admission, self.source = outcomes, admission, source
        self.load_released, self.forget = load_released, forget
        self.settings, self.arrivals, self.topic = outcomes.settings, outcomes.arrivals, outcomes.topic
        self.lock = outcomes.lock

    def begin(self, arrival: Arrival, queue: Queue, busy: Collection[str]) -> Opening | None:
        """Copy the bytes of ``arrival`` and have a worker open it, if its names and owners permit.

        Return None, and leave it for later, if the student is ``busy``: another one, under another name or another spelling of
        the same, is opened or graded.
        """
        taken: list[tuple[Intake, HandIn]] = []
        collected, _ = collect.collect(
            self.outcomes.course,
            self.topic,
            self.source.path,
            self.settings.options.limits.submission_mb,
            platform=self.source.platform,
            any_owner=self.settings.any_owner,
            collection=self.admission.collection,
            only={arrival.entry},
            take=lambda *each: taken.append(each),
            accounts=self.source.accounts,
            released=self.load_released(),
        )
        if collected or not taken:
            return Opening(arrival, queue, collected)
        ((intake, hand_in),) = taken
        if fold_name(hand_in.student) in map(fold_name, busy):
            return None
        hand_in = collect.copy_hand_in(intake.asked, replace(hand_in, seen=format_time(self._find_seen(arrival))))
        return Opening(arrival, queue, [], intake, hand_in, self._submit(collect.open_hand_in, intake.asked, hand_in))

    def _submit(self, function, *args):
        return self.settings.executor.submit(call_timed, function, *args)

    def _get_result(self, opening):
        """Return what the worker returned, or the error that its function raised; charge its seconds to the account, once.

        Raises the error that ended the worker, for which the machine may be to blame.
        """
        seconds = OPENING_SECONDS
        try:
            result, seconds = opening.task.result()
        finally:
            if not opening.is_charged:
                self.settings.budget.charge(opening.queue, seconds)
            opening.is_charged = True
        return result

    def finish(self, opening: Opening, to_grade: dict[str, Arrival], running: Container[str], plan: Plan) -> int | None:
        """Go on with ``opening``, whose task is done, and add its arrival to ``to_grade`` if it is to be graded.

        Return 1 if it has ended, 0 if not, None if a worker has to read its requests first. If the student is ``running``, it is
        left for later, as is all that has been opened for another release or roster.
        """
        intake, hand_in, rules_now = opening.intake, opening.hand_in, plan.assignment(self.topic)
        if intake is None or hand_in is None:
            with self.lock():
                return self._finish_unopened(opening, to_grade)
        try:
            result = self._get_result(opening)
        except WORKER_ERRORS as error:
            if not opening.over_limit:
                raise
            result = error
        if opening.over_limit:
            if isinstance(result, Exception) and not isinstance(result, WORKER_ERRORS):
                raise result
            work, requests = ("", ()) if isinstance(result, Exception) else result
            return self.admission.end_over_limit(opening.over_limit, work, requests, rules_now)
        with self.lock():
            if intake.plan.students != plan.students or intake.released is not self.load_released():
                return 0
            if hand_in.student in running:  # whose page is released meanwhile
                return 0
            intake = replace(intake, plan=plan, collection=self.admission.collection)
            try:
                if isinstance(result, TimeoutError):
                    raise RefusedEntry(SLOW_PROBLEM)
                if isinstance(result, Exception):
                    raise result
                arrival = identify(opening.arrival, hand_in.student, result.attempt)
                ended = self.admission.enter(arrival, intake, result, to_grade, rules_now)
            except RefusedEntry as refusal:
                return self.admission.end_refused(opening.arrival, collect.refuse(intake, hand_in, refusal))
        if ended is None:
            opening.over_limit, opening.task = arrival, self._read_requests(intake, result)
            opening.is_charged = False
        return ended

    def _read_requests(self, intake: Intake, opened: OpenedHandIn):
        """Have a worker read the requests for another look in a notebook that is not graded."""
        beside = select_kept_files(intake.released.exercises, opened.files)
        content = opened.files[f"{self.topic}.ipynb"]
        return self._submit(submission.read_requests, content, beside, intake.released.templates, self.topic)

    def _find_seen(self, arrival):
        """Return when ``arrival`` was there: when `watch` saw it, or when it changed last if `watch` was not running then."""
        seen = arrival.came
        with contextlib.suppress(OSError):
            seen = min(seen, os.lstat(self.source.path / arrival.entry).st_ctime)
        return datetime.fromtimestamp(seen, UTC)

    def _finish_unopened(self, opening, to_grade):
        """End an arrival that was not opened, because of its names or owners, or because nothing was there to open."""
        arrival = opening.arrival
        if problem := next((hand_in for hand_in in opening.collected if hand_in.problem), None):
            return self.admission.end_refused(arrival, problem)
        if arrival.state == ADMITTED and self.admission.is_current_attempt(arrival):
            to_grade[arrival.student] = arrival  # deleted since, but already collected
            return 0
        if os.path.lexists(self.source.path / arrival.entry):
            return self.outcomes.finish(arrival, REFUSED, "it contains no notebook")
        self.forget(arrival.entry)
        arrival = self.arrivals.update(arrival, mark=f"{arrival.mark}, gone as {arrival.number}")
        return self.outcomes.finish(arrival, GONE, "it has disappeared from the folder")
