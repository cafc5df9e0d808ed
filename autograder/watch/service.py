"""Take the hand-ins of a topic through rounds: choose some, collect them, grade them, and release their feedback.

In: arrivals. Out: lines for the instructor. Writes what `collect`, `grade` and the exchange write, and the record of arrivals.
Every step can be repeated: a process that is killed and started again ends with the same grades, pages and record.
"""

import time
from collections.abc import Callable
from concurrent.futures import Future
from datetime import UTC, datetime
from functools import partial
from itertools import islice

from autograder.batch.context import load_run
from autograder.courses.locking import patient_lock
from autograder.courses.plan import Assignment, Plan
from autograder.courses.released import Released
from autograder.watch import rules
from autograder.watch.admission import Admission
from autograder.watch.arrivals import WAITING, Arrival, Arrivals
from autograder.watch.opening import Opener, Opening
from autograder.watch.outcomes import NOBODYS, Outcomes
from autograder.watch.rounds import Rounds
from autograder.watch.settings import BUDGET_SECONDS, Queue, Settings
from autograder.watch.sources import Source

LOOKED_AT_PER_STUDENT = 4  # hand-ins looked at, for each that is opened: those that their names refuse cost little
USED_UP = "{}: hand-ins of {} wait: theirs have used a worker for {} minutes, and may use as much again with each hour."
GATHER_SECONDS = 0.5  # that those that have been opened wait for others, to be graded in one round
MAX_WAIT_SECONDS = 60.0  # after which a wait is computed again: course.toml may have changed for a waiting student


class Service:
    """Serves the hand-ins of one ``topic`` from ``source``; calls ``forget`` with the name of one that disappears."""

    def __init__(
        self, settings: Settings, arrivals: Arrivals, topic: str, source: Source, forget: Callable[[str], object]
    ) -> None:
        self.settings, self.arrivals, self.topic, self.source = settings, arrivals, topic, source
        self.course, self.say = settings.course, settings.status.say
        self.outcomes = Outcomes(settings, arrivals, topic, partial(patient_lock, self.course, self.say))
        self.admission = Admission(self.outcomes)
        self.opener = Opener(self.outcomes, self.admission, source, self._load_released, forget)
        self.rounds = Rounds(self.outcomes)
        # number of an arrival -> rules, monotonic time until which it waits
        self.waits: dict[int, tuple[Assignment, float]] = {}
        self.openings: list[Opening] = []
        self.ready: dict[str, Arrival] = {}  # by student: opened, and to be graded in the next round
        self.queues: dict[str, Queue] = {}  # of those
        self.ready_since = 0.0  # monotonic time of the first of those
        self.told: set[Queue] = set()  # those that wait because they have used much
        self.plan: Plan | None = None  # of the last round
        self._released: tuple[str, Released] | None = None

    @property
    def is_busy(self) -> bool:
        """Whether something is being opened or graded."""
        return bool(self.openings or self.ready or self.rounds.running)

    @property
    def futures(self) -> list[Future]:
        """The tasks that the workers have now."""
        tasks = [opening.task for opening in self.openings if opening.task]
        return [*tasks, *(future for running in self.rounds.running for future in running.futures)]

    def close(self) -> None:
        """Cancel what is still running."""
        for opening in self.openings:
            if opening.task:
                opening.task.cancel()
        self.rounds.close()

    def serve(self) -> int:
        """Go on with what is being opened and graded, and begin more if there is room; return how many were served.

        Those are arrivals that ended and pages that were released again. Raises ``CourseError``, ``OSError`` or a database
        error if the machine or the course prevents it from continuing.
        """
        plan = self._read_rules()
        done, running = self.rounds.step(), self.rounds.students
        taken = len(running) + len(self.openings) + len(self.ready)
        room = self.settings.size - taken
        if not taken or (not self.rounds.alone and room >= self.settings.size / 2):
            done += self._begin_openings(plan.assignment(self.topic), 1 if self.rounds.alone else room)
        done += self._finish_openings(running, plan)
        return done + self._begin_round(running, plan.assignment(self.topic))

    def _read_rules(self):
        """Return the course's plan; if the assignment's rules or the roster have changed, act on what depends on them."""
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
        return plan

    def _begin_openings(self, rules_now, room):
        """Begin to open the arrivals that may be opened, at most ``room`` of them; return how many have ended."""
        numbers = {opening.arrival.number for opening in self.openings} | self.rounds.numbers
        numbers |= {arrival.number for arrival in self.ready.values()}
        pending = [arrival for arrival in self.arrivals.list_pending(self.topic) if arrival.number not in numbers]
        if not pending:
            return 0
        self._load_released()  # raises the course's errors, for which no hand-in is to blame
        done, busy = 0, {*self.rounds.students, *self.ready}
        busy |= {opening.hand_in.student for opening in self.openings if opening.hand_in}
        for queue, arrival in islice(self._select_arrivals(pending, rules_now), LOOKED_AT_PER_STUDENT * room):
            try:
                opening = self.opener.begin(arrival, queue, busy)
            except Exception as error:
                done += self.outcomes.record_error(arrival, error)
                continue
            if opening is None:
                continue
            self.openings.append(opening)
            self.settings.busy.add(queue)
            if opening.hand_in:
                busy.add(opening.hand_in.student)
                room -= 1
            if not room:
                break
        return done

    def _finish_openings(self, running, plan):
        """Go on with the openings whose tasks are done, in the order of arrival; return how many arrivals have ended."""
        done = 0
        for opening in [opening for opening in self.openings if not opening.is_running]:
            before = set(self.ready)
            try:
                ended = self.opener.finish(opening, self.ready, running, plan)
            except Exception as error:
                ended = self.outcomes.record_error(opening.arrival, error)
            if ended is None:  # a worker reads its requests
                continue
            done += ended
            self.openings.remove(opening)
            if admitted := set(self.ready) - before:
                self.queues |= dict.fromkeys(admitted, opening.queue)
                self.ready_since = self.ready_since if before else time.monotonic()
            else:
                self.settings.busy.discard(opening.queue)
        return done

    def _select_arrivals(self, pending, rules_now):
        """Yield ``(account or name, arrival)`` for those that may be opened, in order, at most one for each account or name.

        So a student who hands in a hundred times, under whatever names, keeps no more than one worker busy.
        """
        chosen = set(self.settings.busy)
        waiting = {arrival.student: arrival for arrival in pending if arrival.state == WAITING}  # the newest of each
        for arrival in pending:
            account = None if self.settings.any_owner else self.source.find_account(arrival.entry)
            queue = arrival.claimed if account is None else account
            if queue in chosen:
                continue
            if self.settings.budget.is_used_up(queue):
                if queue not in self.told:
                    self.say(USED_UP.format(self.topic, queue, round(BUDGET_SECONDS / 60)))
                self.told.add(queue)
                continue
            self.told.discard(queue)
            if arrival.state == WAITING:
                if waiting[arrival.student] != arrival:
                    self.admission.supersede(arrival)
                    continue
                if self._must_keep_waiting(arrival, rules_now):
                    continue
            chosen.add(queue)
            yield queue, arrival

    def _must_keep_waiting(self, arrival, rules_now):
        """Return whether a waiting ``arrival`` must wait longer; the record is read only if its time may have come."""
        known_rules, until = self.waits.get(arrival.number, (None, 0.0))
        if known_rules == rules_now and time.monotonic() < until:
            return True
        decision = self.admission.decide(arrival, rules_now)
        self.waits[arrival.number] = rules_now, time.monotonic() + min(decision.seconds, MAX_WAIT_SECONDS)
        if decision.what == rules.WAIT:
            return True
        del self.waits[arrival.number]
        return False

    def _begin_round(self, running, rules_now):
        """Begin to grade what has been opened, and to release pages whose due date has passed; return how many were served."""
        room = self.settings.size - len(running)
        if running and (self.rounds.alone or room < self.settings.size / 2):
            return 0
        is_gathering = self.openings and time.monotonic() - self.ready_since < GATHER_SECONDS
        in_order = sorted(self.ready, key=lambda student: self.ready[student].number)
        ready = [] if is_gathering else in_order[: 1 if self.rounds.alone else None]
        again, now, taken = [], datetime.now(UTC), {*running, *self.ready}
        if not (self.rounds.alone and ready):
            withheld = [student for student in self.arrivals.list_withheld(self.topic) if student not in taken]
            again = [student for student in withheld if rules_now.shown_to(student, now) == "all"][:room]
        if not ready and not again:
            return 0
        for student in again:
            if not self.course.submission(student, self.topic).is_file():  # somebody has deleted it
                self.arrivals.set_shown(self.topic, student, "all")
        run = load_run(self.course, self.topic, self.settings.options, self._load_released())
        is_there = {student: self.course.submission(student, self.topic).is_file() for student in (*ready, *again)}
        self.admission.begin_collection()
        to_grade = {student: self.ready.pop(student) for student in ready}
        queues = {student: self.queues.pop(student) for student in ready}
        # a round marks its own; what is in none can be opened again
        self.settings.busy.difference_update(queues.values())
        to_grade = {student: arrival for student, arrival in to_grade.items() if is_there[student]}
        again = [student for student in again if is_there[student]]
        if not to_grade and not again:
            return 0
        return self.rounds.begin(run, to_grade, again, {student: queues[student] for student in to_grade})

    def _load_released(self):
        state = self.course.releases(self.topic).hash()
        if self._released is None or self._released[0] != state:
            self._released = state, self.course.releases(self.topic).load()
        return self._released[1]
