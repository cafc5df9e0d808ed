"""Choose the draws of numbers that students get in exercises worked by hand, and prove that each is as hard as the book's.

In: an exercise of the key with ``own``. Out: the numbers of each draw. Touches nothing.
"""

import itertools
from collections.abc import Callable, Sequence

import numpy as np

from autograder.errors import CourseError
from autograder.exercises import Exercise, compare
from autograder.exercises.own_numbers import Flat, draw_numbers, exercise_with
from autograder.releases.proof import points_of_mistake
from solutions.answer_key import AnswerKeyError

VARIANTS = 40  # of an exercise: so few that the report can compare them, so many that neighbours rarely have the same
PROBES = 10  # draws that show which entries of the answer change
MAX_DRAWS = 40 * VARIANTS  # until the numbers of the exercise count as unsuitable


def choose_draws(
    exercise: Exercise, count: int = VARIANTS, progress: Callable[[str], object] = lambda _: None
) -> list[Flat]:
    """Return the numbers of the first ``count`` draws for ``exercise`` with which it is as hard as with the book's numbers.

    In each, every listed mistake earns what it earns with the book's numbers and can be told from every other mistake that it
    can be told from there, and the right numbers are wrong for every other draw and for the book.

    Raises ``CourseError`` if there are not as many, or a listed mistake answers every draw with the same numbers.
    """
    draws: list[Flat] = []
    variants, varying = [exercise], _find_varying(exercise)
    for number in range(MAX_DRAWS):
        variant = _load(exercise, number)
        if (
            variant
            and _has_same_mistakes(exercise, variant)
            and not any(_is_copied(variant, one, varying) for one in variants)
        ):
            draws.append(draw_numbers(exercise.entry, number))
            variants.append(variant)
            progress(f"{exercise.name}: own numbers, {len(draws)} of {count} draws proved")
        if len(draws) == count:
            _refuse_constant_mistakes(variants)
            return draws
    raise CourseError(
        f"{exercise.name} has only {len(draws)} suitable draws of its own numbers after {MAX_DRAWS} tries; {count} are needed",
        exercise.entry.where,
        "name other variables in `own`, or take `own` out: then all students get the book's numbers.",
    )


def _load(exercise, number):
    """Return ``exercise`` with the draw ``number``; None if it cannot be graded with these numbers."""
    try:
        return exercise_with(exercise.entry.topic, exercise.function, draw_numbers(exercise.entry, number))
    except AnswerKeyError:
        return None


def _has_same_mistakes(book, variant):
    """Return whether each mistake earns as much as with the book's numbers, and differs from the same other mistakes."""
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


def _refuse_constant_mistakes(variants: Sequence[Exercise]) -> None:
    """Raise ``CourseError`` if a mistake gives all draws the same numbers: nobody who makes it would get the hint."""
    book, *others = variants
    for name in book.hints:
        if not points_of_mistake(book, name) and all(
            _gives_same(book.hidden[0].mistaken[name], one, name) for one in others
        ):
            raise CourseError(
                f"the mistake {name} gives the same numbers whatever was drawn",
                book.entry.where,
                "let it work from the numbers of the exercise, written out as in the reference.",
            )


def _gives_same(outcome, variant, name):
    (case,) = variant.hidden
    other = case.mistaken[name]
    if outcome.raised or other.raised:
        return outcome.raised == other.raised
    return compare.is_right(other.value, outcome.value, variant.kind, case.atol)
