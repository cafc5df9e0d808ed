"""End hand-ins: record what became of each, and tell its student and the instructor.

In: arrivals, rows. Out: lines for the instructor. Writes the record of arrivals, and pages in the exchange.
"""

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import replace

from autograder.batch.results import SubmissionResult
from autograder.courses.plan import is_student_id
from autograder.courses.standing import load_graded, tell
from autograder.errors import CourseError
from autograder.feedback import notices
from autograder.platforms.collect import escape_unprintable
from autograder.reports.tables import describe_status
from autograder.watch.arrivals import FAILED, GRADED, Arrival, Arrivals, Clock
from autograder.watch.settings import Settings, is_machine_failure
from autograder.with_nbgrader.exchange import read_page

# Outcomes, besides those of ``arrivals``.
AGAIN, EARLIER, REFUSED, SET_ASIDE = "again", "earlier", "refused", "set aside"
NOBODYS = "nobody's"  # an outcome that another roster may change
USED_UP, REQUEST, SUPERSEDED, GONE = "used up", "request", "superseded", "gone"
MAX_TRIES = 3  # rounds that a hand-in may end with an error before it counts as failed
FAILED_NOTICE = "The grader itself failed on this submission. Your instructor has been told."
NO_SECRET = "it came without submission_secret.txt, so the student cannot fetch the feedback"


class Outcomes:
    """Ends the hand-ins of one ``topic``. ``lock`` returns the course's lock."""

    def __init__(
        self,
        settings: Settings,
        arrivals: Arrivals,
        topic: str,
        lock: Callable[[], contextlib.AbstractContextManager[None]],
    ) -> None:
        self.settings, self.arrivals, self.topic, self.lock = settings, arrivals, topic, lock
        self.course, self.say = settings.course, settings.status.say
        self.tries: dict[int, int] = {}  # number of an arrival -> rounds that ended in an error

    def finish_row(self, to_grade: Mapping[str, Arrival], row: SubmissionResult) -> None:
        """End the hand-in of a graded student, or the release of an earlier page."""
        if row.student in to_grade:
            self._finish_graded(to_grade[row.student], row)
        else:
            self._release_again(row.student)

    def _finish_graded(self, arrival: Arrival, row: SubmissionResult) -> None:
        """Release the feedback of a graded ``arrival``, and end it."""
        if row.failed:
            self.publish_sentence(arrival.secret, FAILED_NOTICE)
            self.finish(arrival, FAILED, row.failed)
            return
        self.publish_own(arrival.student, "" if row.set_aside else arrival.secret)
        if row.set_aside:
            self.publish_sentence(arrival.secret, row.set_aside)
            self.finish(arrival, SET_ASIDE, row.set_aside.partition("\n")[0])
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
        self.finish(arrival, AGAIN if is_again else GRADED, message, shown)

    def _release_again(self, student):
        self.publish_own(student)
        self.arrivals.set_shown(self.topic, student, "all")
        self.say(f"{self.topic} {self.name_of(student)}: past the due date, so the full feedback is released")

    def record_error(self, arrival: Arrival, error: Exception) -> bool:
        """Count an error of ``arrival``; return whether there were too many, in which case it ends as failed.

        Raises ``error`` if it comes from the machine, so that waiting may help.
        """
        if is_machine_failure(error):
            raise error
        self.tries[arrival.number] = self.tries.get(arrival.number, 0) + 1
        if self.tries[arrival.number] < MAX_TRIES:
            return False
        with self.lock():
            self.publish_sentence(arrival.secret, FAILED_NOTICE)
            what = error.args[0] if isinstance(error, CourseError) else f"{type(error).__name__}: {error}"
            self.finish(arrival, FAILED, str(what))
        return True

    def finish(self, arrival: Arrival, outcome: str, message: str, shown: str = "", student: str = "") -> int:
        """End ``arrival`` with ``outcome``, and say ``message`` to the instructor; return 1."""
        arrival = self.arrivals.finish(replace(arrival, student=arrival.student or student), outcome, shown)
        self.tries.pop(arrival.number, None)
        self.settings.status.count(outcome, max(Clock.now().wall - arrival.came, 0.0))
        self.report(arrival, message if outcome in (GRADED, AGAIN) else f"{outcome}: {message}", outcome == FAILED)
        return 1

    def publish_own(self, student: str, secret: str = "") -> None:
        """Release the feedback page of ``student`` for the submission that it covers, and for the one with ``secret``."""
        if not self.settings.exchange or not is_student_id(student):
            return
        page, own = read_page(self.course, student, self.topic)
        for name in {own, secret} - {""} if page else ():
            self.settings.exchange.publish(self.topic, name, page)

    def notify(self, arrival: Arrival, sentence: str) -> None:
        """Say ``sentence`` on the page of ``arrival`` and, until the next hand-in is graded, on the course's own page."""
        tell(self.course, arrival.student, self.topic, sentence)
        self.publish_sentence(arrival.secret, sentence)

    def publish_sentence(self, secret: str, sentence: str) -> None:
        """Release ``sentence`` alone for the hand-in with ``secret``, which is not graded.

        With --any-owner it may have come from somebody else, who must not see the student's feedback.
        """
        if self.settings.exchange and secret:
            self.settings.exchange.publish(self.topic, secret, notices.sentence_page(self.topic, sentence).encode())

    def name_of(self, student: str) -> str:
        """Return what to call ``student``: the roster's name with the id, or the id alone."""
        with contextlib.suppress(CourseError, OSError):  # a broken course.toml must not delay a message
            return escape_unprintable(self.course.plan().names_by_id().get(student, student))
        return escape_unprintable(student)

    def report(self, arrival: Arrival, message: str, is_error: bool = False) -> None:
        """Say ``message`` of ``arrival`` to the instructor."""
        who = self.name_of(arrival.student) if arrival.student else escape_unprintable(arrival.entry)
        line = f"{self.topic} {who}: {escape_unprintable(message)}"
        (self.settings.status.report_error if is_error else self.say)(line)
