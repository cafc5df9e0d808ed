"""Analyse what the marks of a class say about its exercises: their difficulty, their discrimination, and who marked them.

In: the gradebook, the stored verdicts, the records of who marked. Out: frozen records of numbers. ``analyse`` and
``analyse_marking`` read the course, the rest is pure. Only ``alike``, ``missing`` and ``marking`` contain names.

Sources. Discrimination: the corrected item-total correlation, as in any textbook of test theory; its interval is the
percentile bootstrap over students (Efron and Tibshirani, 1993, chapter 13).
"""

import ast
import json
import re
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from autograder.courses.course import Course
from autograder.courses.plan import Selection
from autograder.courses.released import Released
from autograder.courses.standing import load_graded
from autograder.courses.submissions import list_submitters
from autograder.errors import CourseError
from autograder.exercises import Exercise
from autograder.gradebook.provenance import load_given
from autograder.gradebook.scores import StudentResult, load_results
from autograder.notebooks.submitted_file import read_file, sources_by_id
from autograder.verdicts import Graded

MIN_STUDENTS = 20  # for a meaningful correlation
RESAMPLES = 1000
MAX_ANSWER_CHARACTERS = 20_000  # longer answers are not compared
MIN_NODES = 40  # in a program; shorter ones may agree by chance
MIN_WORDS = 12  # in a written answer; shorter ones may agree by chance


@dataclass(frozen=True)
class HintCount:
    """A hint: how many students have it now, how many were graded again after it, and how many then earned all points."""

    hint: str
    now: int
    again: int
    mended: int


@dataclass(frozen=True)
class ExerciseAnalysis:
    """One exercise: the average share of its points that was earned, and its correlation with the rest of the marks.

    ``discrimination`` is (correlation, low, high) with the 95% interval, None if there are too few students or all have the
    same points. ``parts`` has (name, how many have all its points, of how many), ``mistakes`` one ``HintCount`` per hint.
    """

    name: str
    points: float
    marked: int
    difficulty: float | None
    discrimination: tuple[float, float, float] | None
    parts: tuple[tuple[str, int, int], ...] = ()
    mistakes: tuple[HintCount, ...] = ()


@dataclass(frozen=True)
class MarkingAnalysis:
    """The marking of one question: ``marked`` has (marker, how many of the answers have that person's points)."""

    name: str
    marked: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class AssignmentAnalysis:
    """The analysis of one assignment. ``scores`` are sorted, so that they do not reveal whose they are.

    ``alike`` has groups of students whose answers differ only in names and layout: (exercise, students).
    """

    topic: str
    maximum: float
    scores: tuple[float, ...]
    exercises: tuple[ExerciseAnalysis, ...]
    waiting: int
    stopped: int
    late: int
    missing: tuple[str, ...]
    alike: tuple[tuple[str, tuple[str, ...]], ...]
    marking: tuple[MarkingAnalysis, ...] = ()


def analyse(course: Course, topic: str, only: Selection = None) -> AssignmentAnalysis:
    """Return the ``AssignmentAnalysis`` of ``topic`` in ``course``; with ``only``, of these students.

    Raises ``CourseError`` if it was not released, or the gradebook cannot be read.
    """
    released, everybody = course.releases(topic).load(), load_results(course, topic)
    everybody = {student: result for student, result in everybody.items() if only is None or student in only}
    asked = released.load_exercises()
    tries = {student: _load_verdicts(course, student, topic) for student in everybody}
    tries = {student: attempts for student, attempts in tries.items() if attempts}
    roster = [student.id for student in course.plan().students]
    handed_in = set(list_submitters(course, topic))
    if only is not None:
        roster, handed_in = [student for student in roster if student in only], handed_in & only
    starters = {cell.metadata.nbgrader.grade_id: cell.source for cell in released.notebooks[0].cells}
    names = {exercise.name for exercise in asked}
    answers = {student: _load_answers(course, student, topic, names) for student in sorted(handed_in)}
    return AssignmentAnalysis(
        topic,
        sum(released.points.values()),
        tuple(sorted(result.score for result in everybody.values())),
        tuple(analyse_exercises(asked, everybody, tries)),
        sum(bool(result.waiting) for result in everybody.values()),
        sum(bool(attempts[-1].reached) for attempts in tries.values()),
        sum(result.penalty > 0 for result in everybody.values()),
        tuple(name for name in roster if name not in handed_in),
        tuple(find_alike_answers(asked, answers, starters)),
        tuple(analyse_marking(course, released, everybody)),
    )


def _load_verdicts(course, student, topic):
    """Return the stored verdicts of all graded attempts of ``student``, in order; the last counts."""
    try:
        record = load_graded(course, student, topic)
        last, graded = json.loads(record["mark"])[0], record.get("graded", {})
        earlier = [key for content in record["tries"] if (key := graded.get(content)) not in (None, last)]
        attempts = [course.store.get(key) for key in (*earlier, last)]
    except (KeyError, ValueError, TypeError, AttributeError, IndexError):
        return []
    if not attempts[-1]:
        return []
    return [replace(attempt, outputs={}) for attempt in attempts if attempt]


def analyse_exercises(
    exercises: Iterable[Exercise], everybody: Mapping[str, StudentResult], tries: Mapping[str, Sequence[Graded]]
) -> Iterable[ExerciseAnalysis]:
    """Yield an ``ExerciseAnalysis`` for each of ``exercises``; ``tries`` has each student's graded attempts in order."""
    for exercise in exercises:
        marked = [
            result
            for result in everybody.values()
            if (entry := result.entries.get(exercise.name)) and not entry.waiting
        ]
        shares = np.array([result.entries[exercise.name].score / exercise.points for result in marked])
        rest = np.array([_share_of_rest(result, exercise.name) for result in marked])
        verdicts = [verdict for attempts in tries.values() if (verdict := attempts[-1].by_exercise.get(exercise.name))]
        parts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
        for verdict in verdicts:
            for part in verdict.parts if len(exercise.parts) > 1 else ():
                parts[part.name][0] += part.earned >= part.points
                parts[part.name][1] += 1
        yield ExerciseAnalysis(
            exercise.name,
            exercise.points,
            len(marked),
            float(shares.mean()) if marked else None,
            discrimination(shares, rest),
            tuple((name, whole, count) for name, (whole, count) in parts.items()),
            tuple(_count_hints(exercise.name, tries.values())),
        )


def _share_of_rest(result, name):
    """Return the share of the points of all other exercises that a student earned."""
    entry = result.entries[name]
    return (result.earned - entry.score) / ((result.points - entry.points) or 1.0)


def _count_hints(name, tries):
    """Yield a ``HintCount`` for each hint to an exercise, the most frequent first."""
    now, again, mended = Counter(), Counter(), Counter()
    for attempts in tries:
        verdicts = [verdict for graded in attempts if (verdict := graded.by_exercise.get(name))]
        now.update(dict.fromkeys(verdicts[-1].hints).keys() if verdicts else ())
        followed = {hint: after for before, after in pairwise(verdicts) for hint in before.hints}  # the last time
        again.update(followed.keys())
        mended.update(hint for hint, after in followed.items() if after.earned == after.points)
    for hint, _ in (now + again).most_common():
        yield HintCount(hint, now[hint], again[hint], mended[hint])


def discrimination(shares: np.ndarray, rest: np.ndarray) -> tuple[float, float, float] | None:
    """Return the correlation of ``shares`` with ``rest``, and its 95% interval; None if it is undefined.

    Parameters
    ----------
    shares, rest : (students,)
        Each student's share of the exercise's points, and of the points of all other exercises.
    """
    if len(shares) < MIN_STUDENTS or not np.ptp(shares) or not np.ptp(rest):
        return None
    drawn = np.random.default_rng(0).integers(0, len(shares), size=(RESAMPLES, len(shares)))
    correlations = _correlation(shares[drawn], rest[drawn])
    correlations = correlations[np.isfinite(correlations)]
    if len(correlations) < 0.95 * RESAMPLES:
        return None
    low, high = np.percentile(correlations, [2.5, 97.5])
    return float(_correlation(shares, rest)), float(low), float(high)


def _correlation(one, other):
    """Return the correlation along the last axis; nan if one of them is constant."""
    one, other = (item - item.mean(axis=-1, keepdims=True) for item in (one, other))
    size = np.sqrt((one**2).sum(axis=-1) * (other**2).sum(axis=-1))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(size > 1e-12, (one * other).sum(axis=-1) / size, np.nan)


# --- similar answers -------------------------------------------------------------------------------------------------


def _load_answers(course, student, topic, names):
    """Return the student's answers to the exercises ``names``, except very long ones; {} if there is no notebook."""
    try:
        sources = sources_by_id(read_file(course.submission(student, topic), course.root / "submitted"))
    except (CourseError, OSError):
        return {}
    return {name: source for name, source in sources.items() if name in names and len(source) <= MAX_ANSWER_CHARACTERS}


def find_alike_answers(
    exercises: Sequence[Exercise], answers: Mapping[str, Mapping[str, str]], starters: Mapping[str, str]
) -> Iterable[tuple[str, tuple[str, ...]]]:
    """Yield ``(exercise, students)`` for answers that differ only in names and layout.

    Answers that prove nothing are left out: the starter, the reference, short ones, and those that more than a third of a large
    class has written, because then the question suggests them.
    """
    for exercise in exercises:
        if exercise.kind not in ("code", "text"):
            continue  # right numbers and shapes are the same for everybody
        normal = normalise_text if exercise.kind == "text" else normalise_code
        given = {normal(starters.get(exercise.name, "")), normal(exercise.source)}
        groups = defaultdict(list)
        for student, cells in answers.items():
            text = normal(cells.get(exercise.name, ""))
            if text and text not in given:
                groups[text].append(student)
        for students in groups.values():
            if len(students) > 1 and (len(answers) < MIN_STUDENTS or 3 * len(students) <= len(answers)):
                yield exercise.name, tuple(students)


def normalise_text(text: str) -> str:
    """Return the words of a written answer, without punctuation and layout; "" if there are too few."""
    words = re.findall(r"\w+", text.casefold())
    return " ".join(words) if len(words) >= MIN_WORDS else ""


def normalise_code(text: str) -> str:
    """Return the program ``text`` with its own names numbered, without comments and docstrings; "" if short or invalid."""
    if len(text) > MAX_ANSWER_CHARACTERS:
        return ""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
        nodes = list(ast.walk(tree))
        own = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        own |= {node.arg for node in nodes if isinstance(node, ast.arg)}
        own |= {node.name for node in nodes if isinstance(node, ast.FunctionDef)}
        numbers: dict[str, str] = {}
        for node in nodes:
            _anonymise_node(node, own, numbers)
        count = sum(not isinstance(node, ast.expr_context) for node in ast.walk(tree))
        return ast.dump(tree) if count >= MIN_NODES else ""
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""


def _anonymise_node(node, own, numbers):
    """Replace the name of ``node`` with a number if it is the program's own; drop a docstring."""
    if isinstance(node, ast.FunctionDef | ast.Module) and ast.get_docstring(node, clean=False) is not None:
        node.body = node.body[1:] or [ast.Pass()]
    for field in ("id", "arg", "name"):
        name = getattr(node, field, None)
        if isinstance(name, str) and name in own and not isinstance(node, ast.keyword):
            setattr(node, field, numbers.setdefault(name, f"_{len(numbers)}"))


# --- who marked the written answers ------------------------------------------------------------------------------------


def analyse_marking(
    course: Course, released: Released, everybody: Mapping[str, StudentResult]
) -> Iterable[MarkingAnalysis]:
    """Yield a ``MarkingAnalysis`` for each written question that somebody has marked by name."""
    for exercise in released.exercises:
        if exercise.is_automatic:
            continue
        entries = {name: entry for name, result in everybody.items() if (entry := result.entries.get(exercise.name))}
        points = {
            name: entry.manual for name, entry in entries.items() if entry.manual is not None and not entry.waiting
        }
        given = Counter(
            mark.marker
            for name, mark in load_given(course, released.topic, exercise.name).items()
            if points.get(name) == mark.points
        )
        if given:
            yield MarkingAnalysis(exercise.name, tuple(sorted(given.items())))
