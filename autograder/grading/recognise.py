"""Infer a mistake that no listed one explains: find the change to the reference that gives the student's own numbers.

A hint says only how the numbers can be reproduced, so it is always true. It is given only if chance is unlikely: the
numbers agree in every case that can tell, and there are several different ones, or many of a kind that many slips give,
such as 0.
"""

import contextlib
import threading
import warnings
from collections.abc import Sequence
from itertools import combinations

import numpy as np

from autograder.exercises import Case, Exercise, compare
from autograder.exercises.case_labels import is_large
from autograder.exercises.model import Outcome
from autograder.exercises.mutations import SOFTMAX_RANK, mutations_of, sizes_of
from autograder.grading.values import JudgedCase, entries_of, entry_of, has_form, is_called_twice, read_array
from autograder.sandbox import wire

EXPLAINED_EVERYWHERE = "We get exactly your numbers if {}."
ALL_ZERO = "Each number of yours that is wrong is 0: which step leaves or makes it so?"
NO_EFFECT = "no effect"  # the end of a clause
EXPLAINED_IN_TWO_WAYS = "We get exactly your numbers in two ways: if {}, or if {}."
EXPLAINED_WHERE_WRONG = "We get exactly your wrong numbers, though not your right ones, if {}."
EXPLAINED_IN_CASES = "Of our cases, only {} are wrong, and there we get exactly your numbers if {}."
MISTAKE_IN_CASES = "Of our cases, only {} are wrong, and this mistake would explain them: {}"
REFERENCE_LOCK = threading.Lock()  # an instrumented reference holds the current mutation while it runs
MAX_CLAUSES = 2  # alternatives that a hint may offer: more would say nothing
MIN_DISTINCT_NUMBERS = 2  # different wrong numbers that agree, none of them whole
MIN_NUMBERS = 4  # wrong numbers that agree, if they are whole, nan or infinite
MIN_CASES = 2  # cases in which they agree
MAX_WORK = 230_000  # of the search for one answer, in the unit of ``Mutations.work``: less than a second of CPU
ROUNDING = 1e-9  # relative: two ways of computing one number, which may be huge, differ by less
MAX_CHOICE_NUMBER = 10  # whole numbers up to here may be choices, which easily agree by chance


class TooMuchWork(Exception):
    """The search has reached ``MAX_WORK``."""


def infer_mistake(exercise: Exercise, rows: Sequence[JudgedCase]) -> str:
    """Return a hint naming the mistake that gives the student's own numbers in ``rows``, all hidden cases, or ""."""
    with REFERENCE_LOCK, warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # a slip may well overflow
        return _infer_mistake(exercise, rows)


def _infer_mistake(exercise, rows):
    wrong = [row for row in rows if row.wrong_entries]
    is_inconsistent = is_called_twice(rows) and compare.differs(rows[0].reply.value, rows[-1].reply.value)
    if (
        not wrong
        or is_inconsistent
        or any(row.reply.raised or isinstance(row.reply.value, wire.UnsendableValue) for row in rows)
    ):
        return ""
    if not all(has_form(row.reply.value, row.case.expected) for row in wrong):
        return _hint_listed(exercise, rows, wrong)
    if all(row.case.gradients for row in wrong):
        return ""  # the values are right, and many ways of losing a gradient look alike
    everywhere, where_wrong = _matching_clauses(exercise, rows, wrong)
    is_nothing_used = bool(everywhere) and all(clause.endswith(NO_EFFECT) for clause in everywhere)
    if is_nothing_used and not any(row.wrong_numbers.any() for row in wrong):  # much else gives zeros, too
        return ALL_ZERO
    if 0 < len(everywhere) <= MAX_CLAUSES:
        return (EXPLAINED_EVERYWHERE if len(everywhere) == 1 else EXPLAINED_IN_TWO_WAYS).format(*everywhere)
    return _hint_listed(exercise, rows, wrong) or _hint_partial(exercise, rows, wrong, where_wrong)


def _hint_listed(exercise, rows, wrong):
    """Return a hint on listed mistakes that explain every wrong case, though they would get others wrong, too; or ""."""
    hints: dict[str, None] = {}
    for name in exercise.hints:
        if all(_explains(exercise, row.case.mistaken[name], row) for row in wrong):
            hints[exercise.hints[name]] = None
    # checked last: a value that agrees has the shape of a mistake's outcome, while others may have millions of numbers
    if not 0 < len(hints) <= MAX_CLAUSES or not _is_significant(exercise, wrong, everywhere=False):
        return ""
    return MISTAKE_IN_CASES.format(_describe_cases(exercise, rows, wrong) or "some", " Or: ".join(hints))


def _hint_partial(exercise, rows, wrong, clauses):
    """Return a hint on mutations that explain every wrong case, though they would get others wrong, too; or ""."""
    if not 0 < len(clauses) <= MAX_CLAUSES or not _is_significant(exercise, wrong, everywhere=False):
        return ""
    joined, where = ", or if ".join(clauses), _describe_cases(exercise, rows, wrong)
    return EXPLAINED_IN_CASES.format(where, joined) if where else EXPLAINED_WHERE_WRONG.format(joined)


def _matching_clauses(exercise, rows, wrong):
    """Return the clauses of the plainest mutations that give the student's numbers: everywhere, and only in wrong cases."""
    everywhere: dict[str, None] = {}
    where_wrong: dict[str, None] = {}
    if _is_significant(exercise, wrong):
        with contextlib.suppress(TooMuchWork):  # the plainest come first, so a partial result is valid
            _collect_clauses(exercise, rows, wrong, everywhere, where_wrong)
    return everywhere, where_wrong


def _collect_clauses(exercise, rows, wrong, everywhere, where_wrong):
    """Add the clauses of mutations that explain the answer to ``everywhere`` or ``where_wrong``: see ``_matching_clauses``."""
    mutations, work_left = mutations_of(exercise), MAX_WORK

    def outcome_of(number, place):
        """Return the outcome of the mutation; a cached outcome counts as work as well."""
        nonlocal work_left
        work_left -= mutations.work(place)
        if work_left < 0:
            raise TooMuchWork
        return mutations.outcome(number, place)

    pilot = next(row for row in wrong if not row.case.gradients)
    large = is_large(pilot.case)
    rest, first_wrong = [row for row in wrong if row is not pilot], _first_wrong_number(pilot)
    # many slips give nan or infinity, above all those that let exponentials overflow
    is_overflow = not any(np.isfinite(row.wrong_numbers).any() for row in wrong)
    rank = None
    for number, mutation in enumerate(mutations.all):
        if rank is not None and mutation.rank > rank:
            break
        if mutation.clause in everywhere or not _is_plausible(mutation, large, is_overflow):
            continue
        outcome = outcome_of(number, pilot.place)
        if outcome is None or outcome.raised or not _may_agree(outcome.value, first_wrong):
            continue
        if not all(_explains(exercise, outcome_of(number, row.place), row, mutation.hidden) for row in (pilot, *rest)):
            continue
        if all(_is_right(exercise, outcome_of(number, row.place), row) for row in rows if not row.wrong_entries):
            everywhere[mutation.clause] = None
            rank = mutation.rank
        elif mutation.rank < SOFTMAX_RANK:  # many wrong softmaxes agree where they overflow
            where_wrong[mutation.clause] = None


def _is_plausible(mutation, large, is_overflow):
    return (large or not mutation.rare) and (not is_overflow or mutation.rank == SOFTMAX_RANK)


def _first_wrong_number(row):
    """Return ``(entry, index, number, atol)`` of a case's first wrong number, a quick test for outcomes; None without one."""
    for entry in row.wrong_entries:
        mine, right = row.numbers(entry)
        for index in map(tuple, np.argwhere(~np.isclose(mine, right, rtol=0, atol=row.case.atol))):
            return entry, index, float(mine[index]), row.case.atol
    return None


def _may_agree(value, first_wrong):
    if first_wrong is None:
        return True
    entry, index, number, atol = first_wrong
    value = entry_of(value, entry)
    if not isinstance(value, np.ndarray) or value.ndim != len(index):
        return not isinstance(value, np.ndarray)
    try:
        theirs = float(value[index])
    except IndexError:
        return False
    return (
        abs(theirs - number) <= atol + ROUNDING * abs(theirs)
        or theirs == number
        or (theirs != theirs and number != number)
    )


def _explains(exercise, outcome, row, hidden=False):
    """Return whether a mutation with this ``outcome`` in a case gives the student's wrong value there.

    If it is ``hidden``, entries that the student has right may be affected.
    """
    entries = row.wrong_entries if hidden else entries_of(row.case)
    return outcome is not None and not outcome.raised and _agrees(exercise, row, outcome, entries)


def _is_right(exercise, outcome, row):
    """Return whether a mutation with this ``outcome`` in a case is right there; None means that it is."""
    return outcome is None or exercise.accepts(row.case, outcome)


def _agrees(exercise: Exercise, row: JudgedCase, outcome: Outcome, entries: Sequence[str]) -> bool:
    """Return whether the student's ``entries`` are those of ``outcome``, with nan and infinity in the same places."""
    for entry in entries:
        mine, theirs = (read_array(entry_of(value, entry)) for value in (row.reply.value, outcome.value))
        if mine is None or theirs is None or mine.shape != theirs.shape:
            return False
        mine, theirs = mine.astype(float), theirs.astype(float)
        atol = _tolerance_for(mine, row.case.atol) if exercise.kind == "number" else row.case.atol
        if not np.allclose(mine, theirs, rtol=ROUNDING, atol=atol, equal_nan=True):
            return False
    return True


def _tolerance_for(mine, atol):
    """Return the tolerance for numbers worked by hand: half a unit of their last decimal."""
    decimals = next((n for n in range(3, 7) if np.allclose(mine, np.round(mine, n), rtol=0, atol=1e-12)), 7)
    return min(atol, 0.51 * 10.0**-decimals)


def _is_significant(exercise, wrong, everywhere=True):
    """Return whether a mistake that gives all the wrong numbers is unlikely to do so by chance.

    Many slips give whole numbers, nan or infinity: these count only if they are many and all else agrees ``everywhere``.
    """
    distinct, count, cases = set(), 0, 0
    for row in wrong:
        numbers = row.wrong_numbers
        finite = numbers[np.isfinite(numbers)]
        distinct |= {float(f"{x:.4g}") for x in finite if abs(x) > row.case.atol and abs(abs(x) - 1) > row.case.atol}
        count += numbers.size
        cases += numbers.size > 0
    if exercise.kind == "number":
        return any(x != np.round(x) or abs(x) > MAX_CHOICE_NUMBER for x in distinct)
    distinct = {x for x in distinct if x != np.round(x)}
    return len(distinct) >= MIN_DISTINCT_NUMBERS or (everywhere and count >= MIN_NUMBERS and cases >= MIN_CASES)


def _describe_cases(exercise, rows, wrong):
    """Return what all wrong cases share, if possible and no right one: a family of inputs, or two equal sizes; or ""."""
    right = [row for row in rows if not row.wrong_entries]
    shared = set.intersection(*({*row.case.families} for row in wrong))
    for words in sorted(shared):
        if not any(words in row.case.families for row in right):
            return f"those with {words}"
    alike = find_equal_sizes(exercise, [row.case for row in wrong], [row.case for row in right])
    if alike:
        return f"those in which {alike[0]} and {alike[1]} are equal"
    return f"those with {min(shared)}" if shared else ""


def find_equal_sizes(exercise: Exercise, wrong: Sequence[Case], right: Sequence[Case]) -> tuple[str, str] | None:
    """Return two letters whose sizes are the same in all ``wrong`` cases and in no ``right`` one, or None.

    A right case in which both sizes are 1 does not count, because confusing its axes does no harm.
    """
    sizes = [sizes_of(exercise, case.inputs) for case in wrong]
    right_sizes = [sizes_of(exercise, case.inputs) for case in right]
    letters = [letter for letter in (sizes[0] if sizes else ()) if all(letter in row for row in sizes)]
    for first, second in combinations(letters, 2):
        if all(row[first] == row[second] for row in sizes) and not any(
            row.get(first) == row.get(second) != 1 for row in right_sizes
        ):
            return first, second
    return None
