"""One marker's desk for a question: the answers that the marker is offered, and the record of who marked what.

Several markers may work on one question, each on their own page, and none is offered an answer that another has. Writes the
question's record; holds a lock while the marker is present, which ends with the process.
"""

import contextlib
import fcntl
import hashlib
import math
from collections.abc import Iterator, Sequence

from autograder.courses.course import Course
from autograder.errors import CourseError
from autograder.gradebook.provenance import change_marking_record, load_given, marking_folder
from autograder.marking.answers import Answer, NewMark

MIN_OFFERED = 5  # unmarked answers that are offered together


class AnswersTaken(Exception):
    """Answers are on the page of the marker ``by``."""

    def __init__(self, by: str) -> None:
        super().__init__(by)
        self.by = by


class Desk:
    """The desk of ``marker`` for the question ``exercise``, until ``close``.

    Raises ``CourseError`` if course.toml does not name the marker, or the marker is already working on this question.
    """

    def __init__(self, course: Course, topic: str, exercise: str, marker: str) -> None:
        self.course, self.topic, self.exercise, self.marker = course, topic, exercise, marker
        self.markers = course.plan().markers
        self._given: dict[str, str] = {}  # student -> who had marked the answer at the last offer
        require_marker(self.markers, marker)
        self._presence = contextlib.ExitStack()
        with self._change_record():  # so that nobody checks meanwhile who is present
            if not self._presence.enter_context(_try_lock(self._presence_file(marker))):
                self._presence.close()
                remedy = "use the page that is open, or end the command that serves it."
                raise CourseError(f"{marker} is marking {exercise} already", "--marker", remedy)

    def close(self) -> None:
        """Leave the desk, so that its answers are offered to other markers."""
        self._presence.close()

    def offer(self, answers: Sequence[Answer], student: str = "") -> list[Answer]:
        """Return the ``answers`` that this marker is offered now: those that this marker has marked, and unmarked ones.

        The answer of ``student`` is offered even if another marker has marked it. Raises ``AnswersTaken`` if another
        marker has it open.

        A marker keeps the unmarked answers on their page. A marker without any gets a share of those that nobody has
        open; equal shares are left for the markers who have not come yet.
        """
        with self._change_record() as record:
            self._given = {
                student: given.marker for student, given in load_given(self.course, self.topic, self.exercise).items()
            }
            taken, absent = self._find_taken(record)
            if student in taken:
                raise AnswersTaken(taken[student])
            own, rest = [], []
            for answer in (answer for answer in answers if answer.student not in taken):
                if self._given.get(answer.student) == self.marker:
                    own.append(answer)
                elif answer.held.waiting or answer.student == student:
                    rest.append(answer)
            page = [answer for answer in rest if answer.student in record.open.get(self.marker, ())]
            if not any(answer.held.waiting for answer in [*own, *page]):
                count = max(MIN_OFFERED, math.ceil(len(rest) / (1 + absent)))
                page = sorted(rest, key=lambda answer: (answer.text, answer.student))[:count]  # the same text together
            record.open[self.marker] = sorted(answer.student for answer in [*own, *page])
        return [*own, *page]

    @contextlib.contextmanager
    def keep_others_out(self, marks: Sequence[NewMark]) -> Iterator[None]:
        """Let nobody else open an answer during the block, which saves ``marks``.

        Raises ``AnswersTaken`` if one is on somebody else's page.
        """
        with self._change_record() as record:
            taken, _ = self._find_taken(record)
            for answer, _ in marks:
                if answer.student in taken:
                    raise AnswersTaken(taken[answer.student])
            yield

    def other_markers(self, answers: Sequence[Answer]) -> list[str]:
        """Return who else has given the points that ``answers`` have."""
        given = {self._given.get(answer.student, "") for answer in answers if answer.held.points is not None}
        return sorted(given - {self.marker, ""})

    def _find_taken(self, record):
        """Return ``({student: who has the answer open}, how many markers are absent)``; drop the pages of the latter."""
        absent = {name for name in {*self.markers, *record.open} - {self.marker} if self._is_free(name)}
        record.open = {name: students for name, students in record.open.items() if name not in absent}
        taken = {student: name for name, students in record.open.items() for student in students if name != self.marker}
        return taken, len(absent & {*self.markers})

    def _is_free(self, marker):
        with _try_lock(self._presence_file(marker)) as is_free:
            return is_free

    def _change_record(self):
        return change_marking_record(self.course, self.topic, self.exercise)

    def _presence_file(self, marker):
        name = hashlib.sha256(marker.encode()).hexdigest()[:16]
        return marking_folder(self.course, self.topic) / f"{self.exercise}-{name}.lock"


def require_marker(markers: Sequence[str], marker: str) -> None:
    """Raise ``CourseError`` if ``marker`` is not one of the course's ``markers``."""
    if marker not in markers:
        remedy = f"name one of {', '.join(markers)}." if markers else 'write `markers = ["..."]` there.'
        raise CourseError(f"course.toml does not name {marker!r} as a marker", "--marker", remedy)


@contextlib.contextmanager
def _try_lock(path):
    """Try to lock ``path`` without waiting; yield whether that succeeded."""
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
