"""Keep the replies to students who asked for another look, because the gradebook has no field for them.

In: a course, a topic, a student. Out: ``InstructorReply`` and ``WaitingRequest`` records. Adds events to the course's record: for
each answer, and for requests in a notebook that is not graded.
"""

from collections.abc import Iterable
from dataclasses import asdict
from typing import NamedTuple

from autograder.courses.course import Course
from autograder.courses.standing import load_graded
from autograder.errors import CourseError
from autograder.feedback.marks import InstructorReply
from autograder.notebooks.cell_ids import full_name
from autograder.notebooks.requests import RegradeRequest
from autograder.paths import format_command

ASKED, ANSWERED = "asked", "answered"  # kinds of events


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
        record = load_graded(course, student, topic)
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
    about = load_graded(course, student, topic).get("latest")
    course.record.add(topic, student, (ASKED, {"about": about, "requests": asked}))


def _load_later_requests(course, topic, student, record):
    """Return the requests that came after the notebook of ``record``, which was graded last; None if none did."""
    later = course.record.last_of_each(topic, student, (ASKED,))
    is_about_this = later and record.get("latest") and later[ASKED].data["about"] == record["latest"]
    return later[ASKED].data["requests"] if is_about_this else None


def answer_request(course: Course, topic: str, student: str, exercise: str, answer: str) -> list[WaitingRequest]:
    """Store ``answer`` for the requests of ``student`` about ``exercise``, by default the only one that waits; return them.

    Raises ``CourseError`` if there is no such request, or it is not clear which one is meant.
    """
    if not answer.strip():
        raise CourseError("the answer is empty", "--answer", "say what you found: the student will read it.")
    chosen = _select_requests(course, topic, student, exercise)
    replies = [InstructorReply(request.exercise, request.words, answer.strip()) for request in chosen]
    course.record.add(topic, student, *((ANSWERED, asdict(reply)) for reply in replies))
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
        remedy = which or f"`{format_command(f'requests {topic}', course.root)}` lists them."
        raise CourseError(f"no request from {student!r} matches this", "--student, --exercise", remedy)
    return selected


def load_replies(course: Course, topic: str, student: str) -> tuple[InstructorReply, ...]:
    """Return the replies to ``student`` for ``topic``, of several to one request only the last."""
    replies: dict[tuple[str, str], InstructorReply] = {}
    for event in course.record.events(topic, student, (ANSWERED,)):
        reply = InstructorReply(**event.data)
        replies.pop((reply.exercise, reply.words), None)
        replies[reply.exercise, reply.words] = reply
    return tuple(replies.values())
