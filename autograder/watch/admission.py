"""Decide whether a hand-in that was opened is graded, waits, or has come too often, and end those that are not graded.

In: an arrival, its files, the rules. Out: whether it has ended. Writes what `collect` writes, and the record of arrivals.
"""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime

from autograder.courses.plan import Assignment
from autograder.courses.standing import load_graded
from autograder.gradebook.requests import record_later_requests
from autograder.notebooks.requests import RegradeRequest
from autograder.platforms import attempts, collect
from autograder.platforms.attempts import Attempt, Collection
from autograder.platforms.collect import Collected, Intake, OpenedHandIn, describe_refusal, escape_unprintable
from autograder.watch import rules
from autograder.watch.arrivals import ADMITTED, NEW, WAITING, Arrival, Clock
from autograder.watch.outcomes import EARLIER, NOBODYS, REFUSED, REQUEST, SUPERSEDED, USED_UP, Outcomes

UNREAD_NOTICE = (
    "Your request for another look was not read, because something else has changed as well. To ask, hand in the graded notebook "
    "once more, with nothing added but the cell that asks."
)
SUPERSEDED_NOTICE = "You handed in again before this submission could be graded, so it is not graded."


class Admission:
    """Decides about the hand-ins of one topic, whose ``outcomes`` it records. ``collection`` can be undone as one."""

    def __init__(self, outcomes: Outcomes) -> None:
        self.outcomes, self.arrivals, self.topic = outcomes, outcomes.arrivals, outcomes.topic
        self.course, self.lock = outcomes.course, outcomes.lock
        self.collection = Collection(self.course, self.topic)

    def begin_collection(self) -> None:
        """Begin another collection."""
        self.collection = Collection(self.course, self.topic)

    def enter(
        self,
        arrival: Arrival,
        intake: Intake,
        opened: OpenedHandIn,
        to_grade: dict[str, Arrival],
        rules_now: Assignment,
    ) -> int | None:
        """Do with ``arrival`` what the rules say, and add it to ``to_grade`` if it is to be graded.

        Return 1 if it has ended, 0 if not, None if its attempts are used up, so that only its requests are still to be read.
        """
        if arrival.state == NEW and opened.attempt.early_claim:
            who, claim = self.outcomes.name_of(arrival.student), escape_unprintable(opened.attempt.early_claim)
            self.outcomes.settings.status.report_error(f"{self.topic} {who}: {claim}")
        decision = self.decide(arrival, rules_now)
        if decision.what == rules.GRADE:
            arrival = self.arrivals.update(arrival, state=ADMITTED)
            collect.place(intake, opened, Collected(arrival.student))
            if self.is_current_attempt(arrival):
                to_grade[arrival.student] = arrival
                return 0
            return self.outcomes.finish(arrival, EARLIER, "it was handed in before, and a later attempt counts")
        if decision.what == rules.USED_UP:
            collect.keep(intake, arrival.student, opened)
            return None
        attempts.keep_files(self.course, arrival.student, self.topic, opened.files)
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

    def end_over_limit(
        self, arrival: Arrival, work: str, requests: Iterable[RegradeRequest], rules_now: Assignment
    ) -> int:
        """End ``arrival``, which came after the last permitted attempt; if it only asks for another look, record that.

        ``work`` is a hash of what is in it besides its ``requests``, "" if it could not be read.
        """
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

    def end_refused(self, arrival: Arrival, refused: Collected) -> int:
        """End ``arrival``, which is not taken."""
        self.outcomes.publish_own(refused.student)
        self.outcomes.publish_sentence(refused.secret, describe_refusal(refused.problem, self.topic))
        outcome = NOBODYS if refused.is_nobodys else REFUSED
        return self.outcomes.finish(arrival, outcome, refused.describe_problem(), student=refused.student)

    def supersede(self, arrival: Arrival) -> None:
        """End a waiting ``arrival``, because the student has handed in again since."""
        with self.lock():
            self.outcomes.publish_sentence(arrival.secret, SUPERSEDED_NOTICE)
            self.outcomes.finish(arrival, SUPERSEDED, "a later hand-in is waiting in its place")

    def decide(self, arrival: Arrival, rules_now: Assignment) -> rules.Decision:
        """Return what the rules say of ``arrival``, which has been opened."""
        graded = self.arrivals.list_graded(self.topic, arrival.student)
        recorded = load_graded(self.course, arrival.student, self.topic).get("tries", [])
        return rules.decide(rules_now, graded, recorded, arrival.digest, arrival.notebook, Clock.now())

    def is_current_attempt(self, arrival: Arrival) -> bool:
        """Return whether the files of ``arrival`` are those that count now."""
        last = attempts.load_attempts(self.course, arrival.student, self.topic)[-1:]
        return bool(last) and _hash_files(last[0]) == arrival.digest


def identify(arrival: Arrival, student: str, attempt: Attempt) -> Arrival:
    """Return ``arrival`` with what is known once it has been opened."""
    notebook = attempt.files[f"{arrival.topic}.ipynb"]
    return replace(arrival, student=student, digest=_hash_files(attempt), notebook=notebook, secret=attempt.secret)


def _hash_files(attempt: Attempt) -> str:
    """Return one hash of all files of ``attempt``."""
    return hashlib.sha256(json.dumps(sorted(attempt.files.items())).encode()).hexdigest()
