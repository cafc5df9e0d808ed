"""Where a student's work on an assignment stands: what was graded last, and what the student was told since.

In: a course, a student, a topic. Out: the last grading, a sentence. Adds events to the course's record, and writes the page with
that sentence.
"""

import contextlib
import hashlib
from typing import Any

from autograder.courses.course import Course
from autograder.feedback import notices
from autograder.files import write_text

# Kinds of events: what a grading gave; what its page shows; what cannot be read; what decides the marks of everybody.
GRADED, PAGE, SET_ASIDE, RULES = "graded", "page", "set aside", "rules"
# A sentence that holds while the notebook with the hash ``after`` stands; a later hand-in, which ends that.
TOLD, TAKEN = "told", "taken"


def load_graded(course: Course, student: str, topic: str) -> dict[str, Any]:
    """Return what is recorded about the last grading of ``student``; {} before the first."""
    events = course.record.last_of_each(topic, student, (GRADED, PAGE, SET_ASIDE))
    return {name: value for event in events.values() for name, value in event.data.items()}


def list_attempts(
    course: Course, student: str, topic: str, content: bytes, known: dict[str, Any] | None = None
) -> tuple[list[str], int]:
    """Return ``(hashes of all notebooks that a student has handed in, the position of content)``, earliest first."""
    known = load_graded(course, student, topic) if known is None else known
    digest, tries = hashlib.sha256(content).hexdigest(), known.get("tries", [])
    tries = tries if digest in tries else [*tries, digest]
    return tries, tries.index(digest)


def tell(course: Course, student: str, topic: str, sentence: str) -> bool:
    """Record why the last hand-in of ``student`` does not count; see ``write_set_aside_page``."""
    path, before = course.submission(student, topic), None
    with contextlib.suppress(OSError):  # a file that cannot be read is not graded either
        before = path.read_bytes() if path.is_file() and not path.is_symlink() else None
    course.record.add(topic, student, (TOLD, {"sentence": sentence, "after": _hash_or_empty(before)}))
    return write_set_aside_page(course, student, topic, sentence)


def find_told(course: Course, student: str, topic: str, content: bytes | None) -> str:
    """Return what ``student`` was told after the notebook ``content`` was handed in; "" if nothing."""
    told = _find_standing(course, student, topic)
    return told["sentence"] if told and told["after"] == _hash_or_empty(content) else ""


def take(course: Course, student: str, topic: str) -> None:
    """Record that a later hand-in was taken, so that what the student was told no longer holds."""
    if _find_standing(course, student, topic):
        course.record.add(topic, student, (TAKEN, {}))


def _find_standing(course, student, topic):
    events = course.record.last_of_each(topic, student, (TOLD, TAKEN))
    return events[TOLD].data if TOLD in events and [*events][-1] == TOLD else None


def write_set_aside_page(course: Course, student: str, topic: str, reason: str) -> bool:
    """Write a page that says why the last submission is not graded, above the feedback on an earlier one.

    Return whether it shows that feedback: such a page must not be sent to the person who handed in the last one.
    """
    path, events = course.feedback(student, topic), course.record.last_of_each(topic, student, (GRADED, PAGE))
    graded = path.is_file() and GRADED in events
    page = path.read_text(encoding="utf-8", errors="replace") if graded else ""
    write_text(notices.set_aside_page(topic, reason, page), path)
    if graded:
        shown = events[PAGE].data if PAGE in events else {}
        course.record.add(topic, student, (PAGE, {**shown, "notice": reason}))
    return graded


def _hash_or_empty(content):
    return "" if content is None else hashlib.sha256(content).hexdigest()
