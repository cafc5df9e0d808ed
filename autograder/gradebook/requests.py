"""Keep the replies to students who asked for another look, because the gradebook has no field for them.

In: a course, a topic, a student. Out: ``InstructorReply`` and ``WaitingRequest`` records. Reads the records that `grade`
writes; writes one small file for each student who was answered, and one for each who asked in a notebook that is not
graded.
"""

import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

from autograder.courses.course import Course
from autograder.errors import CourseError
from autograder.feedback.marks import InstructorReply
from autograder.files import as_json, write_text
from autograder.notebooks.cell_ids import full_name
from autograder.notebooks.requests import RegradeRequest


class WaitingRequest(NamedTuple):
    """A student's request; ``exercise`` is "" if it is unclear which one, ``answer`` is "" while the request waits."""

    student: str
    exercise: str
    words: str
    answer: str


def load_requests(course: Course, topic: str, students: Iterable[str]) -> list[WaitingRequest]:
    """Return the requests of ``students`` in the notebooks graded last, or in later ones with the same work."""
    requests = []
    for student in students:
        record = course.load_record(student, topic)
        recorded = _load_later_requests(course, topic, student, record) or record.get("requests")
        if not recorded:
            continue
        answers = {(reply.exercise, reply.words): reply.answer for reply in load_replies(course, topic, student)}
        for exercise, words in recorded:
            requests.append(WaitingRequest(student, exercise, words, answers.get((exercise, words), "")))
    return requests


def record_later_requests(course: Course, topic: str, student: str, requests: Iterable[RegradeRequest]) -> None:
    """Store ``requests``, handed in with the work that was graded last; they replace the earlier ones about that work."""
    asked = [[request.exercise, request.words] for request in requests]
    about = course.load_record(student, topic).get("latest")
    write_text(as_json({"about": about, "requests": asked}), _later_requests_file(course, topic, student))


def _load_later_requests(course, topic, student, record):
    """Return the requests that came after the notebook of ``record``, which was graded last; None if none did."""
    try:
        later = json.loads(_later_requests_file(course, topic, student).read_text(encoding="utf-8"))
        return later["requests"] if later["about"] == record["latest"] else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def answer_request(course: Course, topic: str, student: str, exercise: str, answer: str) -> list[WaitingRequest]:
    """Store ``answer`` for the requests of ``student`` about ``exercise``, by default the only one that waits; return them.

    Raises ``CourseError`` if there is no such request, or it is not clear which one is meant.
    """
    if not answer.strip():
        raise CourseError("the answer is empty", "--answer", "say what you found: the student will read it.")
    chosen = _select_requests(course, topic, student, exercise)
    asked = {(request.exercise, request.words) for request in chosen}
    kept = [reply for reply in load_replies(course, topic, student) if (reply.exercise, reply.words) not in asked]
    replies = [*kept, *(InstructorReply(request.exercise, request.words, answer.strip()) for request in chosen)]
    write_text(as_json([asdict(reply) for reply in replies]), _replies_file(course, topic, student))
    return [request._replace(answer=answer.strip()) for request in chosen]


def _select_requests(course, topic, student, exercise):
    """Return the requests about ``exercise``, answered or not; without one, those that wait, if all are about one exercise."""
    requests = load_requests(course, topic, [student])
    waiting = [request for request in requests if not request.answer]
    about = sorted({request.exercise for request in waiting})
    if exercise:
        name = full_name(topic, exercise)
        selected = [request for request in requests if request.exercise == name]
    else:
        selected = waiting if len(about) == 1 else []
    if not selected:
        which = f"name one with --exercise: {', '.join(filter(None, about))}." if len(about) > 1 else ""
        remedy = which or f"`{course.command(f'requests {topic}')}` lists them."
        raise CourseError(f"no request from {student!r} matches this", "--student, --exercise", remedy)
    return selected


def load_replies(course: Course, topic: str, student: str) -> tuple[InstructorReply, ...]:
    """Return the replies to ``student`` for ``topic``.

    Raises ``CourseError`` if the file is damaged.
    """
    path = _replies_file(course, topic, student)
    try:
        return tuple(InstructorReply(**fields) for fields in json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return ()
    except (ValueError, TypeError):
        raise CourseError("the record of answered requests is damaged", str(path), "restore a copy.") from None


def _replies_file(course: Course, topic: str, student: str) -> Path:
    return course.root / ".autograder" / "replies" / topic / f"{student}.json"


def _later_requests_file(course: Course, topic: str, student: str) -> Path:
    return course.root / ".autograder" / "later_requests" / topic / f"{student}.json"
