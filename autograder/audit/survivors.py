"""Separate the mutants that earn all points into those that are really wrong and those that are not.

In: mutants, an exercise drawn from one seed or several, its reference. Out: ``UnrejectedMutant`` objects, with a reason if set
aside. Runs mutants of this project's own functions; touches nothing.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from autograder.audit.calls import UNHURRIED_SECONDS, call_drawn, call_limit
from autograder.audit.mutants import Mutant
from autograder.audit.outcomes import Outcomes
from autograder.audit.wrong_values import wrong_values
from autograder.exercises import Exercise, compare
from autograder.exercises.drawing import DrawnCall, draw_further_cases
from autograder.exercises.numbers import is_finite, largest
from autograder.grading import judge
from autograder.sandbox import Reply

LAST_DECIMAL = 1e-4  # one unit in the last decimal place asked for in exercises worked by hand
TOO_CLOSE = "differs by at most one unit in the last decimal place asked for"
EQUAL = "equals the reference on {} inputs of every kind"
IN_PLACE = (
    "the value is right: the text does not require inputs to stay unchanged; the check cell points it out, and no points "
    "depend on it"
)


@dataclass(frozen=True)
class UnrejectedMutant:
    """A mutant that was not rejected: the changed line of the reference, what was changed, and the reason."""

    line: int
    source: str
    what: str
    reason: str = ""
    draw: int = 0  # the first draw of the hidden cases that it passed


def classify_survivors(
    mutants: Iterable[Mutant], draws: Sequence[Outcomes], reference: Callable[..., object], tried: int
) -> tuple[tuple[UnrejectedMutant, ...], tuple[UnrejectedMutant, ...]]:
    """Return ``(set aside, survivors)``: of the mutants that earn all points on some draw, those not wrong and those wrong.

    ``draws`` are the outcomes of one exercise on several draws of its hidden cases, ``tried`` the number of inputs on which
    a mutant must agree with the reference to be called equal.
    """
    aside, survivors = [], []
    exercise = draws[0].exercise
    answers = _Answers(reference, exercise, tried)
    for mutant in mutants:
        passed = [number for number, outcomes in enumerate(draws) if outcomes.passes(mutant.version)]
        if not passed:
            continue
        unrejected = UnrejectedMutant(mutant.line, mutant.source, mutant.what, draw=passed[0])
        if mutant.in_place:
            aside.append(replace(unrejected, reason=IN_PLACE))
        elif answers.agree_with(mutant.function):
            aside.append(replace(unrejected, reason=TOO_CLOSE if exercise.kind == "number" else EQUAL.format(tried)))
        else:
            survivors.append(unrejected)
    return tuple(aside), tuple(survivors)


class _Answers:
    """The reference's answers to inputs of every kind, drawn and computed only as far as needed."""

    def __init__(self, reference, exercise, tried):
        self.exercise, self.reference = exercise, reference
        self.waiting = vary_memory_layout(draw_further_cases(exercise.entry, reference, tried))
        self.known = []

    def agree_with(self, function):
        """Return whether ``function`` agrees with the reference on all inputs; stop at the first difference."""
        for given, expected, atol in self._all():
            try:
                with call_limit(UNHURRIED_SECONDS):
                    value = call_drawn(function, self.exercise, given)
                if any(compare.mismatches(value, expected, self.exercise.kind, atol).values()):
                    return False
            except Exception:
                return False
        return True

    def _all(self):
        yield from self.known
        for given in self.waiting:
            try:
                expected = call_drawn(self.reference, self.exercise, given)
            except Exception:
                continue  # inputs that the text does not allow
            if self.exercise.kind != "shape":
                expected = compare.read_value(expected)
                if not is_finite(expected):
                    continue
            # For numbers worked by hand, being within the key's tolerance is not enough.
            by_hand = self.exercise.kind == "number"
            atol = LAST_DECIMAL if by_hand else 1e-5 * max(1.0, largest(expected))
            self.known.append((given, expected, atol))
            yield self.known[-1]


def vary_memory_layout(rows: Iterable[DrawnCall]) -> Iterator[DrawnCall]:
    """Yield each call, every third one with its arrays in column order."""
    for row, layout in zip(rows, itertools.cycle(("column", "", "")), strict=False):
        turned = {name: np.asfortranarray(item) if np.ndim(item) else item for name, item in row.inputs.items()}
        yield replace(row, inputs=turned) if layout else row


def wrong_numbers(exercise: Exercise) -> tuple[UnrejectedMutant, ...]:
    """Return an ``UnrejectedMutant`` for each wrong set of numbers, with a reason if the grader accepts it."""
    (case,), shifted = exercise.hidden, []
    plain = replace(exercise, hints={})
    for what, value in wrong_values(case.expected, case.atol):
        unlike = compare.mismatches(value, case.expected, exercise.kind, case.atol)
        earned = judge.judge([plain], {(exercise.name, 0): Reply(value)})[0].earned
        kept = earned == exercise.points and any(unlike.values())
        reason = "accepted, although it is off by more than the tolerance" if kept else ""
        shifted.append(UnrejectedMutant(0, "", what, reason))
    return tuple(shifted)
