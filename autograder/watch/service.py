"""Take hand-ins through a round: collect them, grade them, release their feedback, and record what became of each.

In: arrivals. Out: lines for the instructor. Writes what `collect`, `grade` and the exchange write, and the record of arrivals.
Every step can be repeated: a process that is killed and started again ends with the same grades, pages and record.
"""

import contextlib
import errno
import hashlib
import json
import os
import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from itertools import islice

import sqlalchemy.exc

from autograder.batch.context import GradingOptions, load_run
from autograder.batch.grade_class import PAGE_BRAKE_SECONDS, WORKER_ERRORS, Executor
from autograder.batch.results import SubmissionResult
from autograder.courses.course import Course
from autograder.courses.locking import patient_lock
from autograder.courses.plan import Assignment, Plan, is_student_name
from autograder.courses.released import Released
from autograder.courses.standing import load_graded, tell
from autograder.errors import OS_ERROR_REMEDIES, CourseError
from autograder.feedback import notices
from autograder.gradebook.requests import record_later_requests
from autograder.grading import submission
from autograder.grading.fingerprint import select_kept_files
from autograder.platforms import attempts
from autograder.platforms.attempts import Attempt, Collection
from autograder.platforms.collect import Admission, collect, describe_refusal, escape_unprintable
from autograder.reports.tables import describe_status
from autograder.watch import rules
from autograder.watch.arrivals import ADMITTED, FAILED, GRADED, NEW, WAITING, Arrival, Arrivals, Clock
from autograder.watch.rounds import Queue, Round
from autograder.watch.sources import Source
from autograder.watch.status import Status
from autograder.with_nbgrader.exchange import ExchangeFolders, read_page

OPENED_PER_STUDENT = 4  # hand-ins opened in a round, for each student graded: those set aside cost little
# Outcomes, besides those of ``arrivals``.
AGAIN, EARLIER, REFUSED, SET_ASIDE = "again", "earlier", "refused", "set aside"
NOBODYS = "nobody's"  # an outcome that another roster may change
USED_UP, REQUEST, SUPERSEDED, GONE = "used up", "request", "superseded", "gone"
MAX_WAIT_SECONDS = 60.0  # after which a wait is computed again: course.toml may have changed for a waiting student
MACHINE_ERRNOS = {*OS_ERROR_REMEDIES, errno.EIO, errno.ESTALE, errno.ETIMEDOUT, errno.ENOTCONN, errno.EMFILE}
MACHINE_ERRNOS |= {errno.ENFILE, errno.ENOMEM, errno.EBUSY}
RETRIED_ERRORS = (CourseError, OSError, sqlite3.Error, sqlalchemy.exc.SQLAlchemyError)
FREE_SECONDS, RESTS = 1.0, 20  # what opening a hand-in may cost, in CPU time; seconds of rest for each second beyond
MAX_TRIES = 3  # rounds that a hand-in may end with an error before it counts as failed
FAILED_NOTICE = "The grader itself failed on this submission. Your instructor has been told."
UNREAD_NOTICE = (
    "Your request for another look was not read, because something else has changed as well. To ask, hand in the graded notebook "
    "once more, with nothing added but the cell that asks."
)
NO_SECRET = "it came without submission_secret.txt, so the student cannot fetch the feedback"
SUPERSEDED_NOTICE = "You handed in again before this submission could be graded, so it is not graded."


@dataclass
class Settings:
    """What all rounds share."""

    course: Course
    options: GradingOptions
    executor: Executor
    exchange: ExchangeFolders | None
    status: Status
    any_owner: bool = False
    size: int = 8  # students graded at a time, for each topic
    busy: set[Queue] = field(default_factory=set)  # of which a hand-in is being graded


class Service:
    """Serves the hand-ins of one ``topic`` from ``source``; calls ``forget`` with the name of one that disappears."""

    def __init__(
        self, settings: Settings, arrivals: Arrivals, topic: str, source: Source, forget: Callable[[str], object]
    ) -> None:
        self.settings, self.arrivals, self.topic, self.source, self.forget = settings, arrivals, topic, source, forget
        self.course, self.say = settings.course, settings.status.say
        self.collection = Collection(self.course, topic)  # of this round
        self.lock = partial(patient_lock, self.course, self.say)
        self.tries: dict[int, int] = {}  # number of an arrival -> rounds that ended in an error
        # number of an arrival -> rules, monotonic time until which it waits
        self.waits: dict[int, tuple[Assignment, float]] = {}
        self.rests: dict[Queue, float] = {}  # account or claimed name -> monotonic time until which it must rest
        self.plan: Plan | None = None  # of the last round
        self.rounds: list[Round] = []  # that are running
        self.alone = False  # a round failed: the next one takes one hand-in
        self.trial: Round | None = None  # that one
        self._released: tuple[str, Released] | None = None

    # --- choosing hand-ins -------------------------------------------------------------------------------------------

    def serve(self) -> int:
        """Go on with the rounds that are running, and begin another if there is room; return how many were served.

        Those are arrivals that ended and pages that were released again. Raises ``CourseError``, ``OSError`` or a database
        error if the machine or the course prevents it from continuing.
        """
        rules_now = self._read_rules()
        done = sum(map(self._continue, list(self.rounds)))
        running = {student for each in self.rounds for student in each.students}
        room = self.settings.size - len(running)
        if self.rounds and (self.alone or room < self.settings.size / 2):
            return done
        taken = {arrival.number for each in self.rounds for arrival in each.to_grade.values()}
        pending = [arrival for arrival in self.arrivals.list_pending(self.topic) if arrival.number not in taken]
        overdue = [student for student in self._find_withheld_past_due(rules_now) if student not in running]
        if not pending and not overdue:
            return done
        self._load_released()  # raises the course's errors, for which no hand-in is to blame
        self.collection = Collection(self.course, self.topic)
        to_grade: dict[str, Arrival] = {}  # by student
        queues: set[Queue] = set()
        for queue, arrival in islice(self._select_arrivals(pending, rules_now), OPENED_PER_STUDENT * room):
            if len(to_grade) >= (1 if self.alone else room):
                break
            began, before = time.thread_time(), len(to_grade)
            try:
                done += self._open(to_grade, running, arrival, rules_now)
            except Exception as error:
                if is_machine_failure(error):
                    raise
                done += self._record_error(arrival, error)  # if not yet, the next round tries it again
            if len(to_grade) > before:
                queues.add(queue)
            if (excess := time.thread_time() - began - FREE_SECONDS) > 0:
                self.rests[queue] = time.monotonic() + RESTS * excess
        again = [student for student in overdue[:room] if student not in to_grade]
        again = [] if self.alone and to_grade else again
        return done + self._begin_round(to_grade, again, queues)

    def close(self) -> None:
        """Cancel what is still running."""
        for each in list(self.rounds):
            self._end(each)

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
                    self._supersede(arrival)
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
        decision = self._decide(arrival.student, arrival.digest, arrival.notebook, rules_now)
        self.waits[arrival.number] = rules_now, time.monotonic() + min(decision.seconds, MAX_WAIT_SECONDS)
        return decision.what == rules.WAIT

    def _find_withheld_past_due(self, rules_now):
        """Return the students whose due date has passed, but whose pages do not show everything yet."""
        now = datetime.now(UTC)
        return [
            student for student in self.arrivals.list_withheld(self.topic) if rules_now.shown_to(student, now) == "all"
        ]

    def _decide(self, student, digest, notebook, rules_now):
        graded = self.arrivals.list_graded(self.topic, student)
        recorded = load_graded(self.course, student, self.topic).get("tries", [])
        return rules.decide(rules_now, graded, recorded, digest, notebook, Clock.now())

    # --- opening a hand-in ---------------------------------------------------------------------------------------------

    def _open(self, to_grade, running, arrival, rules_now):
        """Collect ``arrival``, and add it to ``to_grade`` if it is to be graded; return 1 if it has ended, else 0."""
        decided: list[tuple[Arrival, rules.Decision, dict[str, bytes]]] = []

        def admit(student: str, attempt: Attempt, files: dict[str, bytes]) -> Admission:
            digest, notebook = _hash_files(attempt), attempt.files[f"{self.topic}.ipynb"]
            known = {"student": student, "digest": digest, "notebook": notebook, "secret": attempt.secret}
            if student in to_grade or student in running:  # this one came under another name: a later round takes it
                return Admission.LEAVE
            if arrival.state == NEW and attempt.early_claim:
                who = self._name_of(student)
                self.settings.status.report_error(f"{self.topic} {who}: {escape_unprintable(attempt.early_claim)}")
            decision = self._decide(student, digest, notebook, rules_now)
            if decision.what == rules.GRADE:
                decided.append((self.arrivals.update(arrival, state=ADMITTED, **known), decision, files))
                return Admission.COUNT
            decided.append((replace(arrival, **known), decision, files))
            if decision.what == rules.USED_UP:
                return Admission.KEEP
            attempts.keep_files(self.course, student, self.topic, files)
            return Admission.LEAVE

        with self.lock():
            collected, _ = collect(
                self.course,
                self.topic,
                self.source.path,
                self.settings.options.limits.submission_mb,
                platform=self.source.platform,
                any_owner=self.settings.any_owner,
                collection=self.collection,
                only={arrival.entry},
                admit=admit,
                accounts=self.source.accounts,
                released=self._load_released(),
                seen=self._find_seen(arrival),
            )
            is_refused = any(hand_in.problem for hand_in in collected)
            if is_refused or not decided or decided[-1][1].what != rules.USED_UP:
                return self._finish_or_enqueue(to_grade, arrival, collected, decided, rules_now)
        arrival, _, files = decided[-1]
        return self._finish_over_limit(arrival, files, rules_now)

    def _find_seen(self, arrival):
        """Return when ``arrival`` was there: when `watch` saw it, or when it changed last if `watch` was not running then."""
        seen = arrival.came
        with contextlib.suppress(OSError):
            seen = min(seen, os.lstat(self.source.path / arrival.entry).st_ctime)
        return datetime.fromtimestamp(seen, UTC)

    def _finish_or_enqueue(self, to_grade, arrival, collected, decided, rules_now):
        problem = next((hand_in for hand_in in collected if hand_in.problem), None)
        if problem:
            self._publish_own(problem.student)
            self._publish_sentence(problem.secret, describe_refusal(problem.problem, self.topic))
            outcome = NOBODYS if problem.is_nobodys else REFUSED
            return self._finish_arrival(arrival, outcome, problem.describe_problem(), student=problem.student)
        if not decided:
            if arrival.state == ADMITTED and self._is_current_attempt(arrival):  # deleted since, but already collected
                to_grade[arrival.student] = arrival
                return 0
            if collected:
                return 0
            if os.path.lexists(self.source.path / arrival.entry):
                return self._finish_arrival(arrival, REFUSED, "it contains no notebook")
            self.forget(arrival.entry)
            arrival = self.arrivals.update(arrival, mark=f"{arrival.mark}, gone as {arrival.number}")
            return self._finish_arrival(arrival, GONE, "it has disappeared from the folder")
        arrival, decision, _ = decided[-1]
        if decision.what == rules.GRADE:
            if self._is_current_attempt(arrival):
                to_grade[arrival.student] = arrival
                return 0
            return self._finish_arrival(arrival, EARLIER, "it was handed in before, and a later attempt counts")
        if arrival.state == NEW:
            arrival = self.arrivals.update(arrival, state=WAITING)
            when = datetime.fromtimestamp(Clock.now().wall + decision.seconds, UTC)
            sentence = (
                f"You must wait {rules_now.minutes_between:g} minutes between attempts at {self.topic}: "
                f"this one will be graded at {when:%H:%M} UTC or soon after, unless you hand in again before then."
            )
            self._notify(arrival, sentence)
            self._report(arrival, f"waits until {when:%H:%M:%S} UTC")
        return 0

    def _is_current_attempt(self, arrival):
        """Return whether the files of ``arrival`` are those that count now."""
        last = attempts.load_attempts(self.course, arrival.student, self.topic)[-1:]
        return bool(last) and _hash_files(last[0]) == arrival.digest

    def _finish_over_limit(self, arrival, files, rules_now):
        """End ``arrival``, which came after the last permitted attempt; if it only asks for another look, record that."""
        work, requests = self._read_requests(files)  # before the course is locked: a notebook may take long to read
        with self.lock():
            outcome, sentence = USED_UP, self._describe_limit(arrival.student, rules_now)
            if requests and work == load_graded(self.course, arrival.student, self.topic).get("work"):
                record_later_requests(self.course, self.topic, arrival.student, requests)
                about = ", ".join(
                    dict.fromkeys(request.exercise.partition("-")[2] for request in requests if request.exercise)
                )
                subject = f"Your request for another look{f' at {about}' if about else ''}"
                confirmation = (
                    f"{subject} has been recorded; the answer will appear on the page of the attempt that counts."
                )
                outcome, sentence = REQUEST, f"{confirmation} {sentence}"
            elif requests:
                sentence = f"{sentence} {UNREAD_NOTICE}"
            self._notify(arrival, sentence)
            return self._finish_arrival(arrival, outcome, sentence)

    def _read_requests(self, files):
        """Return ``(hash of the work, requests)`` of the notebook in ``files``, read by a worker as a student wrote it."""
        released = self._load_released()
        beside = select_kept_files(released.exercises, files)
        asked = files[f"{self.topic}.ipynb"], beside, released.templates, self.topic
        try:
            return self.settings.executor.submit(submission.read_requests, *asked).result(PAGE_BRAKE_SECONDS)
        except WORKER_ERRORS:
            return "", ()

    def _describe_limit(self, student, rules_now):
        """Return the sentence for a student whose attempts are used up."""
        graded = self.arrivals.list_graded(self.topic, student)
        last = attempts.load_attempts(self.course, student, self.topic)[-1:]
        digests = list(dict.fromkeys(attempt.digest for attempt in graded))
        counts = "your last graded attempt counts"
        if last and (digest := _hash_files(last[0])) in digests:
            came = min(attempt.came for attempt in graded if attempt.digest == digest)
            when = datetime.fromtimestamp(came, UTC)
            counts = f"attempt {digests.index(digest) + 1}, which arrived on {when:%-d %B %Y at %H:%M} UTC, counts"
        number = rules_now.attempts
        used = "Your one attempt is" if number == 1 else f"Your {number} attempts are"
        return f"{used} used up, so this hand-in is kept but not graded; {counts}."

    def _supersede(self, arrival):
        """End a waiting ``arrival``, because the student has handed in again since."""
        with self.lock():
            self._publish_sentence(arrival.secret, SUPERSEDED_NOTICE)
            self._finish_arrival(arrival, SUPERSEDED, "a later hand-in is waiting in its place")

    # --- grading -------------------------------------------------------------------------------------------------------

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
        started = Round(run, to_grade, again, queues, self._finish_student, RETRIED_ERRORS)
        self.rounds.append(started)
        self.trial = started if self.alone else None
        self.settings.busy |= queues
        return self._continue(started)

    def _continue(self, running):
        """Take the next steps of a round; return how many hand-ins were served.

        If a round fails, the next one takes a single hand-in, to find out whether it is to blame.
        """
        before = len(running.left)
        try:
            is_over = not running.step(self.settings.executor, self.say, self.lock)
        except Exception as error:
            self._end(running)
            if is_machine_failure(error) or self.course.releases(self.topic).hash() != running.release:
                raise
            if not self.alone and len(running.students) > 1:
                self.alone = True
                raise
            blamed = [arrival for student, arrival in running.to_grade.items() if student in running.left]
            gave_up = [self._record_error(arrival, error) for arrival in blamed]
            if not blamed or not all(gave_up):
                raise
            return len(blamed)
        if is_over:
            self._end(running)
            self.alone = self.alone and running is not self.trial
        return before - len(running.left)

    def _end(self, running):
        running.close()
        self.rounds.remove(running)
        self.settings.busy -= running.queues

    def _finish_student(self, to_grade, row):
        if row.student in to_grade:
            self._finish_graded(to_grade[row.student], row)
        else:
            self._release_again(row.student)

    def _record_error(self, arrival, error):
        """Count an error of ``arrival``; return whether there were too many, in which case it ends as failed."""
        self.tries[arrival.number] = self.tries.get(arrival.number, 0) + 1
        if self.tries[arrival.number] < MAX_TRIES:
            return False
        self.alone = False
        with self.lock():
            self._publish_sentence(arrival.secret, FAILED_NOTICE)
            what = error.args[0] if isinstance(error, CourseError) else f"{type(error).__name__}: {error}"
            self._finish_arrival(arrival, FAILED, str(what))
        return True

    def _load_released(self):
        state = self.course.releases(self.topic).hash()
        if self._released is None or self._released[0] != state:
            self._released = state, self.course.released(self.topic)
        return self._released[1]

    def _finish_graded(self, arrival: Arrival, row: SubmissionResult) -> None:
        """Release the feedback of a graded ``arrival``, and end it."""
        if row.failed:
            self._publish_sentence(arrival.secret, FAILED_NOTICE)
            self._finish_arrival(arrival, FAILED, row.failed)
            return
        self._publish_own(arrival.student, "" if row.set_aside else arrival.secret)
        if row.set_aside:
            self._publish_sentence(arrival.secret, row.set_aside)
            self._finish_arrival(arrival, SET_ASIDE, row.set_aside.partition("\n")[0])
            return
        before = [
            earlier
            for earlier in self.arrivals.list_graded(self.topic, arrival.student)
            if earlier.number != arrival.number
        ]
        digests = list(dict.fromkeys(earlier.digest for earlier in before))
        is_again = arrival.digest in digests
        number = digests.index(arrival.digest) + 1 if is_again else len(digests) + 1
        shown = load_graded(self.course, arrival.student, self.topic).get("shown", "all")
        seconds = max(Clock.now().wall - arrival.came, 0.0)
        message = f"attempt {number}{' once more' if is_again else ''}: {describe_status(row)} ({seconds:.1f} s)"
        if self.settings.exchange and not arrival.secret:
            message += f"; {NO_SECRET}"
        self._finish_arrival(arrival, AGAIN if is_again else GRADED, message, shown)

    def _release_again(self, student):
        self._publish_own(student)
        self.arrivals.set_shown(self.topic, student, "all")
        self.say(f"{self.topic} {self._name_of(student)}: past the due date, so the full feedback is released")

    # --- messages to students and the instructor ---------------------------------------------------------------------

    def _publish_own(self, student, secret=""):
        """Release the feedback page of ``student`` for the submission that it covers, and for the one with ``secret``."""
        if not self.settings.exchange or not is_student_name(student):
            return
        page, own = read_page(self.course, student, self.topic)
        for name in {own, secret} - {""} if page else ():
            self.settings.exchange.publish(self.topic, name, page)

    def _notify(self, arrival, sentence):
        """Say ``sentence`` on the page of ``arrival`` and, until the next hand-in is graded, on the course's own page."""
        tell(self.course, arrival.student, self.topic, sentence)
        self._publish_sentence(arrival.secret, sentence)

    def _publish_sentence(self, secret, sentence):
        """Release ``sentence`` alone for the hand-in with ``secret``, which is not graded.

        With --any-owner it may have come from somebody else, who must not see the student's feedback.
        """
        if self.settings.exchange and secret:
            self.settings.exchange.publish(self.topic, secret, notices.sentence_page(self.topic, sentence).encode())

    def _finish_arrival(self, arrival, outcome, message, shown="", student=""):
        arrival = self.arrivals.finish(replace(arrival, student=arrival.student or student), outcome, shown)
        self.tries.pop(arrival.number, None)
        self.waits.pop(arrival.number, None)
        self.settings.status.count(outcome, max(Clock.now().wall - arrival.came, 0.0))
        self._report(arrival, message if outcome in (GRADED, AGAIN) else f"{outcome}: {message}", outcome == FAILED)
        return 1

    def _name_of(self, student: str) -> str:
        """Return what to call ``student``: the roster's name with the id, or the id alone."""
        with contextlib.suppress(CourseError, OSError):  # a broken course.toml must not delay a message
            return escape_unprintable(self.course.plan().names_by_id().get(student, student))
        return escape_unprintable(student)

    def _report(self, arrival, message, is_error=False):
        who = self._name_of(arrival.student) if arrival.student else escape_unprintable(arrival.entry)
        line = f"{self.topic} {who}: {escape_unprintable(message)}"
        (self.settings.status.report_error if is_error else self.say)(line)


def is_machine_failure(error: BaseException) -> bool:
    """Return whether ``error`` comes from the disk, the database or a lock, so that waiting may help."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.errno in MACHINE_ERRNOS:
            return True
        if isinstance(cause, sqlite3.Error | sqlalchemy.exc.SQLAlchemyError):
            return True
        cause = cause.__cause__ or cause.__context__
    return False


def _hash_files(attempt: Attempt) -> str:
    """Return one hash of all files of ``attempt``."""
    return hashlib.sha256(json.dumps(sorted(attempt.files.items())).encode()).hexdigest()
