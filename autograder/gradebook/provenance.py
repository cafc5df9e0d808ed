"""Who marked which answer, and who works on which, for which nbgrader's gradebook has no field.

In: a course, a topic, an exercise. Out: ``GivenMark`` objects, a ``MarkingRecord``. Adds events to the course's record; reads and
writes one small file for each question in the course directory, in one step and by one process at a time.
"""

import contextlib
import fcntl
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from autograder.courses.course import Course
from autograder.errors import CourseError
from autograder.files import write_bytes
from solutions.answer_key import Criterion

MARKED, OVERRIDDEN = "marked", "overridden"  # kinds of events: points that a person gave


class GivenMark(NamedTuple):
    """Points and comment that ``marker``, "" if not named, gave to ``student``; None if they were taken back."""

    student: str
    marker: str
    points: float | None
    comment: str


def record_given(course: Course, topic: str, exercise: str, marks: Iterable[GivenMark]) -> None:
    """Record ``marks``, which are in the gradebook now."""
    rows = []
    for student, marker, points, comment in marks:
        rows.append(
            (topic, student, MARKED, {"exercise": exercise, "marker": marker, "points": points, "comment": comment})
        )
    course.record.add_rows(rows)


def load_given(course: Course, topic: str, exercise: str) -> dict[str, GivenMark]:
    """Return by student who gave the points that a person gave last, if the marker was named."""
    last = {
        event.student: GivenMark(event.student, event.data["marker"], event.data["points"], event.data["comment"])
        for event in course.record.events(topic, None, (MARKED,))
        if event.data["exercise"] == exercise
    }
    return {student: mark for student, mark in last.items() if mark.marker and mark.points is not None}


class MarkingRecord(msgspec.Struct):
    """Who works on the answers to one question.

    ``open`` has the students whose answers are on each marker's page, and ``criteria`` the criteria by which the marks were
    given; it is empty before the first mark. ``undecided`` has the earlier criteria of the students whose marks the current
    ones would move, until a person decides.
    """

    open: dict[str, list[str]] = {}
    criteria: list[Criterion] = []
    undecided: dict[str, list[Criterion]] = {}


def load_marking_record(course: Course, topic: str, exercise: str) -> MarkingRecord:
    """Return the ``MarkingRecord`` of ``exercise``, an empty one before anybody has marked by name.

    Raises ``CourseError`` if the file is damaged.
    """
    path = marking_folder(course, topic) / f"{exercise}.json"
    try:
        return msgspec.json.decode(path.read_bytes(), type=MarkingRecord)
    except FileNotFoundError:
        return MarkingRecord()
    except msgspec.DecodeError as error:
        remedy = (
            "restore a copy, or move it away: the marks stay in the gradebook, and only the earlier criteria are lost."
        )
        raise CourseError(f"the record of who marks is damaged ({error})", str(path), remedy) from None


@contextlib.contextmanager
def change_marking_record(course: Course, topic: str, exercise: str) -> Iterator[MarkingRecord]:
    """Yield the ``MarkingRecord`` of ``exercise`` to one process at a time; write it at the end, unless there is an error."""
    folder = marking_folder(course, topic)
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{exercise}.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        record = load_marking_record(course, topic, exercise)
        before = msgspec.json.encode(record)
        yield record
        if (after := msgspec.json.encode(record)) != before:
            write_bytes(msgspec.json.format(after), folder / f"{exercise}.json")


def marking_folder(course: Course, topic: str) -> Path:
    """Return the folder of the records of ``topic``."""
    return course.root / ".autograder" / "marking" / topic
