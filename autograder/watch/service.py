"""Take the hand-ins of a topic through rounds: choose some, collect them, grade them, and release their feedback.

In: arrivals. Out: lines for the instructor. Writes what `collect`, `grade` and the exchange write, and the record of arrivals.
Every step can be repeated: a process that is killed and started again ends with the same grades, pages and record.
"""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from itertools import islice

from autograder.batch.context import load_run
from autograder.courses.locking import patient_lock
from autograder.courses.plan import Assignment, Plan
from autograder.courses.released import Released
from autograder.watch import rules
from autograder.watch.arrivals import WAITING, Arrival, Arrivals
from autograder.watch.opening import Opener
from autograder.watch.outcomes import NOBODYS, Outcomes
from autograder.watch.rounds import Rounds
from autograder.watch.settings import Queue, Settings, is_machine_failure
from autograder.watch.sources import Source

OPENED_PER_STUDENT = 4  # hand-ins opened in a round, for each student graded: those set aside cost little
MAX_WAIT_SECONDS = 60.0  # after which a wait is computed again: course.toml may have changed for a waiting student
FREE_SECONDS, RESTS = 1.0, 20  # what opening a hand-in may cost, in CPU time; seconds of rest for each second beyond


class Service:
    """Serves the hand-ins of one ``topic`` from ``source``; calls ``forget`` with the name of one that disappears."""

    def __init__(
        self, settings: Settings, arrivals: Arrivals, topic: str, source: Source, forget: Callable[[str], object]
    ) -> None:
        self.settings, self.arrivals, self.topic, self.source = settings, arrivals, topic, source
        self.course, self.say = settings.course, settings.status.say
        self.outcomes = Outcomes(settings, arrivals, topic, partial(patient_lock, self.course, self.say))
        self.opener = Opener(self.outcomes, source, self._load_released, forget)
        self.rounds = Rounds(self.outcomes)
        # number of an arrival -> rules, monotonic time until which it waits
        self.waits: dict[int, tuple[Assignment, float]] = {}
        self.rests: dict[Queue, float] = {}  # account or claimed name -> monotonic time until which it must rest
        self.plan: Plan | None = None  # of the last round
        self._released: tuple[str, Released] | None = None

    def serve(self) -> int:
        """Go on with the rounds that are running, and begin another if there is room; return how many were served.

        Those are arrivals that ended and pages that were released again. Raises ``CourseError``, ``OSError`` or a database
        error if the machine or the course prevents it from continuing.
        """
        rules_now = self._read_rules()
        done, running = self.rounds.step(), self.rounds.students
        room = self.settings.size - len(running)
        if running and (self.rounds.alone or room < self.settings.size / 2):
            return done
        taken, pending = self.rounds.numbers, self.arrivals.list_pending(self.topic)
        pending = [arrival for arrival in pending if arrival.number not in taken]
        overdue = [student for student in self._find_withheld_past_due(rules_now) if student not in running]
        if not pending and not overdue:
            return done
        self._load_released()  # raises the course's errors, for which no hand-in is to blame
        self.opener.begin()
        to_grade: dict[str, Arrival] = {}  # by student
        queues: dict[str, Queue] = {}
        for queue, arrival in islice(self._select_arrivals(pending, rules_now), OPENED_PER_STUDENT * room):
            if len(to_grade) >= (1 if self.rounds.alone else room):
                break
            began = time.thread_time()
            try:
                done += self.opener.open(to_grade, running, arrival, rules_now)
            except Exception as error:
                if is_machine_failure(error):
                    raise
                done += self.outcomes.record_error(arrival, error)  # if not yet, the next round tries it again
            queues |= {student: queue for student in to_grade if student not in queues}
            if (excess := time.thread_time() - began - FREE_SECONDS) > 0:
                self.rests[queue] = time.monotonic() + RESTS * excess
        again = [student for student in overdue[:room] if student not in to_grade]
        again = [] if self.rounds.alone and to_grade else again
        return done + self._begin_round(to_grade, again, queues)

    def _read_rules(self):
        """Return the assignment's rules; if they or the roster have changed, act on what depends on them."""
        before, plan = self.plan, self.course.plan()
        rules_now = plan.assignment(self.topic)
        if before is None or before.students != plan.students:
            self.arrivals.reopen(self.topic, NOBODYS)
        if before is None or before.assignment(self.topic).attempts != rules_now.attempts:
            proved = 1 + len(self._load_released().attempt_seeds)
            if rules_now.attempts > proved:
                what = f"{self.topic}: hidden cases were verified for {proved} of {rules_now.attempts} attempts."
                self.say(f"{what} To verify the others, run `release {self.topic}` again.")
        self.plan = plan
        return rules_now

    def _select_arrivals(self, pending, rules_now):
        """Yield ``(account or name, arrival)`` for those that may be opened, in order, at most one for each account or name.

        So a student who hands in a hundred times, under whatever names, delays nobody else by more than one submission per
        round, and by a twentieth of the time that opening them takes.
        """
        chosen, now = set(self.settings.busy), time.monotonic()
        waiting = {arrival.student: arrival for arrival in pending if arrival.state == WAITING}  # the newest of each
        for arrival in pending:
            queue = self._queue_of(arrival)
            if queue in chosen or now < self.rests.get(queue, now):
                continue
            if arrival.state == WAITING:
                if waiting[arrival.student] != arrival:
                    self.opener.supersede(arrival)
                    continue
                if self._must_keep_waiting(arrival, rules_now):
                    continue
            chosen.add(queue)
            yield queue, arrival

    def _queue_of(self, arrival):
        account = None if self.settings.any_owner else self.source.find_account(arrival.entry)
        return arrival.claimed if account is None else account

    def _must_keep_waiting(self, arrival, rules_now):
        """Return whether a waiting ``arrival`` must wait longer; the record is read only if its time may have come."""
        known_rules, until = self.waits.get(arrival.number, (None, 0.0))
        if known_rules == rules_now and time.monotonic() < until:
            return True
        decision = self.opener.decide(arrival.student, arrival.digest, arrival.notebook, rules_now)
        self.waits[arrival.number] = rules_now, time.monotonic() + min(decision.seconds, MAX_WAIT_SECONDS)
        if decision.what == rules.WAIT:
            return True
        del self.waits[arrival.number]
        return False

    def _find_withheld_past_due(self, rules_now):
        """Return the students whose due date has passed, but whose pages do not show everything yet."""
        now = datetime.now(UTC)
        return [
            student for student in self.arrivals.list_withheld(self.topic) if rules_now.shown_to(student, now) == "all"
        ]

    def _begin_round(self, to_grade, again, queues):
        """Begin to grade the hand-ins ``to_grade`` and to release the pages of ``again``; return how many were served."""
        for student in again:
            if not self.course.submission(student, self.topic).is_file():  # somebody has deleted it
                self.arrivals.set_shown(self.topic, student, "all")
        is_there = {student: self.course.submission(student, self.topic).is_file() for student in (*to_grade, *again)}
        to_grade = {student: arrival for student, arrival in to_grade.items() if is_there[student]}
        again = [student for student in again if is_there[student]]
        if not to_grade and not again:
            return 0
        run = load_run(self.course, self.topic, self.settings.options, self._load_released())
        return self.rounds.begin(run, to_grade, again, {student: queues[student] for student in to_grade})

    def _load_released(self):
        state = self.course.releases(self.topic).hash()
        if self._released is None or self._released[0] != state:
            self._released = state, self.course.releases(self.topic).load()
        return self._released[1]
