"""Choose the draws of numbers that students get in exercises worked by hand, and prove that each is as hard as the book's.

In: an exercise of the key with ``own``. Out: the numbers of each draw. Runs copies of references, changes nothing.
"""

import contextlib
import itertools
import math
from collections.abc import Callable
from types import SimpleNamespace

import numpy as np

from autograder.errors import CourseError
from autograder.exercises import Exercise, compare, with_points
from autograder.exercises.own_numbers import Flat, draw_numbers, exercise_of, exercise_with, vary_all
from autograder.releases.proof import points_of_mistake
from solutions.answer_key import AnswerKeyError

VARIANTS = 40  # per exercise: few enough for the report to compare, and enough that neighbours rarely have the same
PROBES = 10  # draws that show which entries of the answer change
MAX_DRAWS = 40 * VARIANTS  # after these, the numbers of the exercise count as unsuitable
MARGIN = 20  # tolerances: results closer than this may be rounded to the same number
SATURATED = 4.0  # argument of a tanh: a larger one hardly changes a result of four decimals
SAME = 1e-9  # results that differ by less differ only in the order of additions


def choose_draws(
    exercise: Exercise, count: int = VARIANTS, progress: Callable[[str], object] = lambda _: None
) -> list[Flat]:
    """Return the numbers of the first ``count`` draws that make ``exercise`` as hard as it is with the book's numbers.

    In each draw, every listed mistake earns the same points as with the book's numbers, and differs from every other mistake
    that it differs from there; the right answer is wrong for every other draw and for the book; no tanh is saturated unless
    the book's is; and rounding decides nothing that it does not decide with the book's numbers.

    Raises ``CourseError`` if there are fewer, or a listed mistake states its numbers instead of computing them.
    """
    _refuse_constant_mistakes(exercise)
    draws: list[Flat] = []
    variants, varying = [exercise], _find_varying(exercise)
    for number in range(MAX_DRAWS):
        variant = _load(exercise, number)
        if (
            variant
            and _largest_in_tanh(variant) <= max(SATURATED, _largest_in_tanh(exercise))
            and not _depends_on_rounding(exercise, variant)
            and _has_same_mistakes(exercise, variant)
            and not any(_is_copied(variant, other, varying) for other in variants)
        ):
            draws.append(draw_numbers(exercise.entry, number))
            variants.append(variant)
            progress(f"{exercise.name}: own numbers, {len(draws)} of {count} draws verified")
        if len(draws) == count:
            return draws
    raise CourseError(
        f"{exercise.name} has only {len(draws)} suitable draws of its own numbers after {MAX_DRAWS} tries; {count} are needed",
        exercise.entry.where,
        "name other variables in `own`, or take `own` out: then all students get the book's numbers.",
    )


def _load(exercise, number):
    """Return ``exercise`` with the draw ``number``; None if it cannot be graded with these numbers."""
    try:
        variant = exercise_with(exercise.entry.topic, exercise.function, draw_numbers(exercise.entry, number))
    except AnswerKeyError:
        return None
    return with_points(variant, exercise.points)


def _has_same_mistakes(book, variant):
    """Return whether each mistake earns as much as with the book's numbers, and differs from at least the same others."""
    ((ours,), (theirs,)) = book.hidden, variant.hidden
    if any(points_of_mistake(book, name) != points_of_mistake(variant, name) for name in book.hints):
        return False
    pairs = itertools.combinations(book.hints, 2)
    return all(_is_same(book, ours, *pair) or not _is_same(variant, theirs, *pair) for pair in pairs)


def _is_same(exercise, case, one, other):
    """Return whether two mistakes give the same numbers in ``case``."""
    first, second = case.mistaken[one], case.mistaken[other]
    if first.raised or second.raised:
        return first.raised == second.raised
    return compare.is_right(first.value, second.value, exercise.kind, case.atol)


def _find_varying(exercise):
    """Return the entries of the answer, "" for all of it, that change with the draw and have decimals.

    Counts and indices may be the same for two students.
    """
    varying = set()
    for number in range(PROBES):
        if variant := _load(exercise, number):
            different = {entry for entry, problem in _mismatches(exercise, variant).items() if problem}
            varying |= {entry for entry in different if _has_decimals(variant, entry)}
    return varying


def _has_decimals(exercise, entry):
    expected = exercise.hidden[0].expected
    values = np.asarray(expected[entry] if isinstance(expected, dict) else expected, dtype=float)
    return bool((values != values.round()).any())


def _is_copied(variant, other, varying):
    """Return whether the answer to ``other`` is right for ``variant`` as a whole, or in one of the ``varying`` entries."""
    problems = _mismatches(variant, other)
    return not any(problems.values()) or any(not problems[entry] for entry in varying)


def _mismatches(variant, other):
    ((case,), (elsewhere,)) = variant.hidden, other.hidden
    return compare.mismatches(elsewhere.expected, case.expected, variant.kind, case.atol)


def _largest_in_tanh(exercise):
    """Return the largest absolute value of which the reference of ``exercise`` computes the tanh."""
    arguments = [0.0]

    def tanh(x):
        arguments.append(float(np.abs(x).max()))
        return np.tanh(x)

    namespace = {"np": SimpleNamespace(**{**vars(np), "tanh": tanh}), "math": math}
    exec(exercise.source, namespace)
    namespace[exercise.function]()
    return max(arguments)


def _depends_on_rounding(book, variant):
    """Return whether a result of ``variant`` may round to 0, 1, -1 or its neighbour in size, where the book's may not."""
    ((ours,), (theirs,)) = book.hidden, variant.hidden
    near, results = MARGIN * ours.atol, _by_entry(theirs.expected)
    return any(
        ((_distances(results[entry]) < near) & (_distances(wanted) >= near)).any()
        for entry, wanted in _by_entry(ours.expected).items()
    )


def _distances(result):
    """Return the distances of ``result`` from 0 and from 1 or -1, and in a vector those of the two smallest and two largest."""
    values = np.asarray(result, dtype=float)
    ends = np.diff(np.sort(values))[[0, -1]] if values.ndim == 1 and values.size > 1 else []
    return np.abs(np.concatenate([values.ravel(), np.abs(values.ravel()) - 1, ends]))


def _refuse_constant_mistakes(exercise: Exercise) -> None:
    """Raise ``CourseError`` if a mistake states a wrong result instead of computing it: nobody would get its hint.

    A stated result stays the same if all vectors and matrices of the exercise change, although the right result changes.
    """
    others = _load_others(exercise)
    for name in exercise.hints:
        wrong = [result for result, problem in exercise.misses[0][name].items() if problem]
        for result in wrong:
            mistaken = [
                _by_entry(variant.hidden[0].mistaken[name].value).get(result) for variant in (exercise, *others)
            ]
            right = [_by_entry(variant.hidden[0].expected)[result] for variant in (exercise, *others)]
            if _is_stated(mistaken) and not _is_constant(right):
                raise CourseError(
                    f"the mistake {name} gives the same numbers whatever was drawn",
                    exercise.entry.where,
                    "let it work from the numbers of the exercise, written out as in the reference.",
                )


def _load_others(exercise):
    """Return variants of ``exercise`` with all vectors and matrices redrawn; half are doubled, so that 1 and -1 change, too."""
    entry, others = vary_all(exercise.entry), []
    for number in range(PROBES):
        with contextlib.suppress(AnswerKeyError):
            numbers = draw_numbers(entry, number)
            others.append(exercise_of(entry, tuple((1 + number % 2) * value for value in numbers)))
    return others


def _is_stated(results):
    """Return whether ``results`` are all the same, and neither equal weights nor made of 0, 1 and -1."""
    first = np.asarray(results[0])
    is_simple = np.isin(first, (0, 1, -1)).all() or (first.size > 1 and np.ptp(first) == 0)
    return results[0] is not None and not is_simple and _is_constant(results)


def _is_constant(results):
    return all(compare.explain_mismatch(result, results[0], SAME) == "" for result in results)


def _by_entry(value):
    return value if isinstance(value, dict) else {"": value}
