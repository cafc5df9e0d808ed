"""Share the answers to a question among its markers. Pure: the same class gives the same shares on every machine."""

import hashlib
import math
from collections import Counter
from collections.abc import Collection, Mapping

from autograder.courses.plan import Marker


def share_answers(
    section_by_student: Mapping[str, str],
    markers: Mapping[str, Marker],
    question: str,
    known: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Return the marker to whose share each student's answer belongs.

    A section is shared by those who mark it, everything else by those who mark no particular section. Answers for which
    there is no marker are in no share. ``known`` shares stay, so a late submission does not change the others.
    """
    candidates = {student: _candidates(section, markers) for student, section in section_by_student.items()}
    kept = {student: name for student, name in (known or {}).items() if name in candidates.get(student, ())}
    return _assign_markers(candidates, question, kept)


def share_second_marking(
    shares: Mapping[str, str],
    students: Collection[str],
    markers: Collection[str],
    question: str,
    percent: float,
    known: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Return who marks the answer of a student a second time, for a random sample of ``percent`` of the ``students``.

    The second marker is never the one in ``shares``. What is ``known`` stays.
    """
    size = math.ceil(len(students) * percent / 100)
    sample = sorted(students, key=lambda student: _hash("sample", question, student))[:size]
    candidates = {student: [name for name in markers if name != shares.get(student)] for student in sample}
    kept = {
        student: name
        for student, name in (known or {}).items()
        if student in students and name in markers and name != shares.get(student)
    }
    return _assign_markers(candidates, f"second {question}", kept)


def shuffle_students(students: Collection[str], question: str) -> list[str]:
    """Return ``students`` in an order that depends only on their names and the question."""
    return sorted(students, key=lambda student: _hash(question, student))


def _candidates(section, markers):
    own = [name for name, marker in markers.items() if section and section in marker.sections]
    return own or [name for name, marker in markers.items() if not marker.sections]


def _assign_markers(candidates, question, known):
    """Assign each student who is not ``known`` to the candidate with the fewest so far; a hash breaks ties."""
    load, dealt = Counter(known.values()), dict(known)
    for student in shuffle_students(candidates.keys() - known.keys(), question):
        if names := candidates[student]:
            dealt[student] = min(names, key=lambda name: (load[name], _hash(question, student, name)))
            load[dealt[student]] += 1
    return dealt


def _hash(*words):
    return hashlib.sha256("\0".join(words).encode("utf-8", "replace")).digest()
