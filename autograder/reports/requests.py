"""What a person needs to know to answer requests for another look: who asks what, the verdict and the points.

In: a course, a topic. Out: rows of text for ``tables.requests_table``. Reads the gradebook and the stored verdicts.
"""

import hashlib
import json
from collections.abc import Sequence

from autograder.courses.course import Course
from autograder.courses.standing import load_graded
from autograder.courses.submissions import list_submitters
from autograder.gradebook.requests import WaitingRequest, load_replies, load_requests
from autograder.gradebook.scores import load_results


def request_rows(
    course: Course, topic: str, students: Sequence[str] = (), everything: bool = False
) -> tuple[list[list[str]], int]:
    """Return a row for each waiting request of ``students`` (by default, all), and how many wait.

    With ``everything``, answered requests have rows, too, even if the notebook that counts no longer has them: the
    feedback page keeps them, with the answer.
    """
    results, called = load_results(course, topic), course.plan().names_by_id()
    names = sorted(students or list_submitters(course, topic))
    requests = load_requests(course, topic, names)
    if everything:
        answered = [
            WaitingRequest(name, *vars(reply).values()) for name in names for reply in load_replies(course, topic, name)
        ]
        requests = sorted([*requests, *(one for one in answered if one not in requests)], key=lambda one: one.student)
    rows = []
    for request in requests:
        if request.answer and not everything:
            continue
        result = results.get(request.student)
        entry = result.entries.get(request.exercise) if result else None
        points = f"{entry.score:g} of {entry.points:g}" + (" mark" if entry.waiting else "") if entry else ""
        verdict = "marked by a person" if entry and entry.manual is not None else _verdict(course, topic, request)
        name = called.get(request.student, request.student)
        rows.append([name, request.exercise.partition("-")[2], request.words, verdict, points, request.answer])
    return rows, sum(not request.answer for request in requests)


def find_ungraded(course: Course, topic: str, students: Sequence[str] = ()) -> list[str]:
    """Return those of ``students`` (by default, all) whose notebook is not the one that was graded last."""
    return [name for name in students or list_submitters(course, topic) if not _is_graded(course, topic, name)]


def _is_graded(course, topic, student):
    path = course.submission(student, topic)
    if not path.is_file() or path.is_symlink():
        return True  # `grade` reports it
    return hashlib.sha256(path.read_bytes()).hexdigest() == load_graded(course, student, topic).get("latest")


def _verdict(course, topic, request):
    """Return why points were lost, as the student reads it; "" if that is unknown."""
    try:
        key = json.loads(load_graded(course, request.student, topic)["mark"])[0]
        verdict = course.store.get(key).by_exercise[request.exercise]
    except (KeyError, ValueError, TypeError, AttributeError, IndexError):
        return ""
    if verdict.earned is None:
        return "to be marked by a person"
    sentences = [*verdict.hints, *(part.reason for part in verdict.parts if part.reason)]
    return "right" if verdict.earned == verdict.points else next(iter(sentences), "no points")
