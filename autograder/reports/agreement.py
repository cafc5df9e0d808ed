"""Say who marked the written answers, and how far two markers of the same answers agree.

In: the gradebook's results, the records of who marked. Out: frozen records of numbers. Reads the course; ``cohens_kappa`` is pure.

Source of kappa: Cohen (1960), A coefficient of agreement for nominal scales; each number of points is a category.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from autograder.courses.course import Course
from autograder.courses.released import Released
from autograder.gradebook.provenance import load_marking_record
from autograder.gradebook.scores import StudentResult


@dataclass(frozen=True)
class Difference:
    """An answer for which two markers gave different points; ``first_by`` is "" if the first mark has no name."""

    student: str
    first_by: str
    first: float
    second_by: str
    second: float


@dataclass(frozen=True)
class MarkingAnalysis:
    """The marking of one question. ``marked`` has (marker, answers), ``kappa`` is None where it is undefined."""

    name: str
    marked: tuple[tuple[str, int], ...]
    twice: int
    same: int
    kappa: float | None
    different: tuple[Difference, ...]


def analyse_marking(
    course: Course, released: Released, everybody: Mapping[str, StudentResult]
) -> Iterable[MarkingAnalysis]:
    """Yield a ``MarkingAnalysis`` for each written question that somebody has marked by name."""
    for exercise in released.exercises:
        if exercise.is_automatic:
            continue
        record = load_marking_record(course, released.topic, exercise.name)
        entries = {name: entry for name, one in everybody.items() if (entry := one.entries.get(exercise.name))}
        points = {
            name: entry.manual for name, entry in entries.items() if entry.manual is not None and not entry.waiting
        }
        given = {name: one for name, one in record.given.items() if points.get(name) == one.points}
        pairs = []
        for student, second in sorted(record.second.items()):
            first = given.get(student)
            is_same_answer = first is None or (first.text == second.text and first.marker != second.marker)
            if student in points and is_same_answer:
                by = first.marker if first else ""
                pairs.append(Difference(student, by, points[student], second.marker, second.points))
        if given or pairs:
            yield MarkingAnalysis(
                exercise.name,
                tuple(sorted(Counter(one.marker for one in given.values()).items())),
                len(pairs),
                sum(one.first == one.second for one in pairs),
                cohens_kappa([(one.first, one.second) for one in pairs]),
                tuple(one for one in pairs if one.first != one.second),
            )


def cohens_kappa(pairs: Sequence[tuple[float, float]]) -> float | None:
    """Return Cohen's kappa of the two marks in each of ``pairs``; None without pairs, or if all marks are the same.

    kappa = (p_o - p_e) / (1 - p_e), with the observed agreement p_o, and the p_e of two who give their marks at random.
    """
    count = len(pairs)
    first, second = Counter(one for one, _ in pairs), Counter(other for _, other in pairs)
    expected = sum(first[mark] * second[mark] for mark in first)  # times count²
    if expected == count * count:
        return None
    observed = sum(one == other for one, other in pairs) * count
    return (observed - expected) / (count * count - expected)
