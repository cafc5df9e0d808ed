"""Who marked which answer, for which nbgrader's gradebook has no field.

In: a course, a topic, an exercise. Out: a ``MarkingRecord``. Reads and writes one small file for each question in the course
directory, in one step and by one process at a time.
"""

import contextlib
import fcntl
from collections.abc import Iterator
from pathlib import Path

import msgspec

from autograder.courses.course import Course
from autograder.errors import CourseError
from autograder.files import write_bytes
from solutions.answer_key import Criterion


class GivenMark(msgspec.Struct):
    """Points and comment that ``marker`` gave at ``time``, in UTC."""

    marker: str
    points: float
    comment: str
    time: str


class MarkingRecord(msgspec.Struct):
    """Who works on the answers to one question.

    ``given`` says by student who gave the points in the gradebook. ``open`` has the students whose answers are on each
    marker's page, and ``criteria`` the criteria by which the marks were given; it is empty before the first mark.
    ``undecided`` has the earlier criteria of the students whose marks the current ones would move, until a person decides.
    """

    given: dict[str, GivenMark] = {}
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
        remedy = "restore a copy, or move it away: the marks are in the gradebook, and only the record of who gave them is lost."
        raise CourseError(f"the record of who marked is damaged ({error})", str(path), remedy) from None


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
