"""One marker's desk for a question: the answers that the marker is offered, and the record of who marked what.

Several markers may work on one question, each on their own page, and none is offered an answer that another has. Writes the
question's record; holds a lock while the marker is present, which ends with the process.
"""

import contextlib
import fcntl
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from autograder.courses.course import Course
from autograder.errors import CourseError
from autograder.gradebook.provenance import GivenMark, MarkingRecord, change_marking_record, marking_folder
from autograder.marking.answers import Answer, CurrentMark, NewMark
from autograder.marking.shares import share_answers, share_second_marking, shuffle_students

MAX_UNASSIGNED_OFFERED = 20  # answers outside a marker's own share that are offered together


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
        self.plan = course.plan()
        self._given: dict[str, str] = {}  # student -> who had marked the answer at the last offer
        if marker not in self.plan.markers:
            remedy = f"name one of {', '.join(self.plan.markers)}." if self.plan.markers else "add it there."
            raise CourseError(f"course.toml has no marker {marker!r} in [markers]", "--marker", remedy)
        self._presence = contextlib.ExitStack()
        with self._change_record():  # so that nobody checks meanwhile who is present
            if not self._presence.enter_context(_try_lock(self._presence_file(marker))):
                self._presence.close()
                remedy = "use the page that is open, or end the command that serves it."
                raise CourseError(f"{marker} is marking {exercise} already", "--marker", remedy)

    def close(self) -> None:
        """Leave the desk, so that its answers are offered to other markers."""
        self._presence.close()

    def offer(self, answers: Sequence[Answer]) -> list[Answer]:
        """Return the ``answers`` that this marker is offered now, including the second marking.

        These are the marker's own share. Once none of it waits, some waiting answers of absent markers or nobody follow.
        """
        with self._change_record() as record:
            self._share(record, answers)
            self._given = {student: given.marker for student, given in record.given.items()}
            taken, absent = self._find_taken(record)
            own, rest = [], []
            for answer in (candidate for candidate in answers if candidate.student not in taken):
                student = answer.student
                if self.marker in (record.shares.get(student), self._given.get(student)):
                    own.append(answer)
                elif answer.held.waiting and record.second_shares.get(student) != self.marker:
                    rest += [answer] if record.shares.get(student) in absent else []
            mine_second = [answer for answer in answers if record.second_shares.get(answer.student) == self.marker]
            second = [_blind_copy(record, answer) for answer in mine_second]
            if not any(answer.held.waiting for answer in [*own, *second]):
                first = shuffle_students([answer.student for answer in rest], self.exercise)[:MAX_UNASSIGNED_OFFERED]
                own += [answer for answer in rest if answer.student in first]
            record.open[self.marker] = sorted(answer.student for answer in own)
        return [*own, *second]

    @contextlib.contextmanager
    def record_marks(self, marks: Sequence[NewMark]) -> Iterator[list[Answer]]:
        """Yield the answers whose second marks have changed; then record who gave ``marks``, unless there is an error.

        Raises ``AnswersTaken`` if one is on somebody else's page.
        """
        with self._change_record() as record:
            taken, _ = self._find_taken(record)
            for answer, _ in marks:
                if answer.student in taken and not answer.is_second:
                    raise AnswersTaken(taken[answer.student])
            second = [answer for answer, _ in marks if answer.is_second]
            yield [now for answer in second if (now := _blind_copy(record, answer)).held != answer.held]
            for answer, held in marks:
                place = record.second if answer.is_second else record.given
                place.pop(answer.student, None)
                if held.points is not None:
                    when = f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S}"
                    given = GivenMark(self.marker, held.points, held.comment or "", _hash_text(answer), when)
                    place[answer.student] = given

    def other_markers(self, answers: Sequence[Answer]) -> list[str]:
        """Return who else has marked ``answers``; for second markings nobody, because they are blind."""
        given = {
            self._given.get(answer.student, "")
            for answer in answers
            if not answer.is_second and not answer.held.waiting
        }
        return sorted(given - {self.marker, ""})

    def _share(self, record: MarkingRecord, answers: Sequence[Answer]) -> None:
        sections = {student.id: student.section for student in self.plan.students}
        mine = {answer.student: sections.get(answer.student, "") for answer in answers}
        markers, percent = self.plan.markers, self.plan.second_marking_percent
        record.shares |= share_answers(mine, markers, self.exercise, record.shares)
        known = record.second_shares
        known |= share_second_marking(record.shares, mine, list(markers), self.exercise, percent, known)

    def _find_taken(self, record):
        """Return ``({student: who has the answer open}, the absent markers)``; drop the pages of the latter."""
        names = sorted({*self.plan.markers, *record.open} - {self.marker})
        absent = {name for name in names if self._is_free(name)}
        record.open = {name: students for name, students in record.open.items() if name not in absent}
        taken = {student: name for name, students in record.open.items() for student in students if name != self.marker}
        return taken, {*absent, None}

    def _is_free(self, marker):
        with _try_lock(self._presence_file(marker)) as is_free:
            return is_free

    def _change_record(self):
        return change_marking_record(self.course, self.topic, self.exercise)

    def _presence_file(self, marker):
        name = hashlib.sha256(marker.encode()).hexdigest()[:16]
        return marking_folder(self.course, self.topic) / f"{self.exercise}-{name}.lock"


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


def _blind_copy(record, answer):
    """Return ``answer`` as the second marker sees it: with only their own mark, if it was given for this text."""
    given = record.second.get(answer.student)
    held = CurrentMark()
    if given is not None and given.text == _hash_text(answer):
        held = CurrentMark(given.points, False, given.comment or None)
    return replace(answer, held=held, is_second=True)


def _hash_text(answer):
    return hashlib.sha256(answer.text.encode("utf-8", "replace")).hexdigest()
