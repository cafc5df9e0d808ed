"""Open hand-ins: collect each, and decide whether it is graded, waits, or has come too often.

In: an arrival, the rules. Out: whether it has ended. Writes what `collect` writes, and the record of arrivals.
"""

import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Container
from dataclasses import replace
from datetime import UTC, datetime

from autograder.batch.grade_class import PAGE_BRAKE_SECONDS
from autograder.batch.submission_steps import WORKER_ERRORS
from autograder.courses.plan import Assignment
from autograder.courses.released import Released
from autograder.courses.standing import load_graded
from autograder.gradebook.requests import record_later_requests
from autograder.grading import submission
from autograder.grading.fingerprint import select_kept_files
from autograder.platforms import attempts
from autograder.platforms.attempts import Attempt, Collection
from autograder.platforms.collect import Admission, collect, describe_refusal, escape_unprintable
from autograder.watch import rules
from autograder.watch.arrivals import ADMITTED, NEW, WAITING, Arrival, Clock
from autograder.watch.outcomes import EARLIER, GONE, NOBODYS, REFUSED, REQUEST, SUPERSEDED, USED_UP, Outcomes
from autograder.watch.sources import Source

UNREAD_NOTICE = (
    "Your request for another look was not read, because something else has changed as well. To ask, hand in the graded notebook "
    "once more, with nothing added but the cell that asks."
)
SUPERSEDED_NOTICE = "You handed in again before this submission could be graded, so it is not graded."


class Opener:
    """Opens the hand-ins of one topic from ``source``; calls ``forget`` with the name of one that has disappeared."""

    def __init__(
        self,
        outcomes: Outcomes,
        source: Source,
        load_released: Callable[[], Released],
        forget: Callable[[str], object],
    ) -> None:
        self.outcomes, self.source, self.load_released, self.forget = outcomes, source, load_released, forget
        self.settings, self.arrivals, self.topic = outcomes.settings, outcomes.arrivals, outcomes.topic
        self.course, self.lock = outcomes.course, outcomes.lock
        self.collection = Collection(self.course, self.topic)

    def begin(self) -> None:
        """Begin a collection, which can be undone as one."""
        self.collection = Collection(self.course, self.topic)

    def open(
        self, to_grade: dict[str, Arrival], running: Container[str], arrival: Arrival, rules_now: Assignment
    ) -> int:
        """Collect ``arrival``, and add it to ``to_grade`` if it is to be graded; return 1 if it has ended, else 0.

        The students ``running`` have another one that is being graded: theirs is left for later.
        """
        decided: list[tuple[Arrival, rules.Decision, dict[str, bytes]]] = []

        def admit(student: str, attempt: Attempt, files: dict[str, bytes]) -> Admission:
            digest, notebook = _hash_files(attempt), attempt.files[f"{self.topic}.ipynb"]
            known = {"student": student, "digest": digest, "notebook": notebook, "secret": attempt.secret}
            if student in to_grade or student in running:  # this one came under another name: a later round takes it
                return Admission.LEAVE
            if arrival.state == NEW and attempt.early_claim:
                who = self.outcomes.name_of(student)
                self.settings.status.report_error(f"{self.topic} {who}: {escape_unprintable(attempt.early_claim)}")
            decision = self.decide(student, digest, notebook, rules_now)
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
                released=self.load_released(),
                seen=self._find_seen(arrival),
            )
            is_refused = any(hand_in.problem for hand_in in collected)
            if is_refused or not decided or decided[-1][1].what != rules.USED_UP:
                return self._finish_or_enqueue(to_grade, arrival, collected, decided, rules_now)
        arrival, _, files = decided[-1]
        return self._finish_over_limit(arrival, files, rules_now)

    def decide(self, student: str, digest: str, notebook: str, rules_now: Assignment) -> rules.Decision:
        """Return what the rules say of work with these hashes, handed in now."""
        graded = self.arrivals.list_graded(self.topic, student)
        recorded = load_graded(self.course, student, self.topic).get("tries", [])
        return rules.decide(rules_now, graded, recorded, digest, notebook, Clock.now())

    def _find_seen(self, arrival):
        """Return when ``arrival`` was there: when `watch` saw it, or when it changed last if `watch` was not running then."""
        seen = arrival.came
        with contextlib.suppress(OSError):
            seen = min(seen, os.lstat(self.source.path / arrival.entry).st_ctime)
        return datetime.fromtimestamp(seen, UTC)

    def _finish_or_enqueue(self, to_grade, arrival, collected, decided, rules_now):
        problem = next((hand_in for hand_in in collected if hand_in.problem), None)
        if problem:
            self.outcomes.publish_own(problem.student)
            self.outcomes.publish_sentence(problem.secret, describe_refusal(problem.problem, self.topic))
            outcome = NOBODYS if problem.is_nobodys else REFUSED
            return self.outcomes.finish(arrival, outcome, problem.describe_problem(), student=problem.student)
        if not decided:
            if arrival.state == ADMITTED and self._is_current_attempt(arrival):  # deleted since, but already collected
                to_grade[arrival.student] = arrival
                return 0
            if collected:
                return 0
            if os.path.lexists(self.source.path / arrival.entry):
                return self.outcomes.finish(arrival, REFUSED, "it contains no notebook")
            self.forget(arrival.entry)
            arrival = self.arrivals.update(arrival, mark=f"{arrival.mark}, gone as {arrival.number}")
            return self.outcomes.finish(arrival, GONE, "it has disappeared from the folder")
        arrival, decision, _ = decided[-1]
        if decision.what == rules.GRADE:
            if self._is_current_attempt(arrival):
                to_grade[arrival.student] = arrival
                return 0
            return self.outcomes.finish(arrival, EARLIER, "it was handed in before, and a later attempt counts")
        if arrival.state == NEW:
            arrival = self.arrivals.update(arrival, state=WAITING)
            when = datetime.fromtimestamp(Clock.now().wall + decision.seconds, UTC)
            sentence = (
                f"You must wait {rules_now.minutes_between:g} minutes between attempts at {self.topic}: "
                f"this one will be graded at {when:%H:%M} UTC or soon after, unless you hand in again before then."
            )
            self.outcomes.notify(arrival, sentence)
            self.outcomes.report(arrival, f"waits until {when:%H:%M:%S} UTC")
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
            self.outcomes.notify(arrival, sentence)
            return self.outcomes.finish(arrival, outcome, sentence)

    def _read_requests(self, files):
        """Return ``(hash of the work, requests)`` of the notebook in ``files``, read by a worker as a student wrote it."""
        released = self.load_released()
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

    def supersede(self, arrival: Arrival) -> None:
        """End a waiting ``arrival``, because the student has handed in again since."""
        with self.lock():
            self.outcomes.publish_sentence(arrival.secret, SUPERSEDED_NOTICE)
            self.outcomes.finish(arrival, SUPERSEDED, "a later hand-in is waiting in its place")


def _hash_files(attempt: Attempt) -> str:
    """Return one hash of all files of ``attempt``."""
    return hashlib.sha256(json.dumps(sorted(attempt.files.items())).encode()).hexdigest()
