"""Equivalents are as right as the reference."""

import numpy as np
import pytest

from autograder import exercises
from autograder.audit.equivalents import equivalents
from autograder.exercises import compare, reference_of
from tests.autograder.samples import NAMES, exercise_named

pytestmark = pytest.mark.suite("audit")


@pytest.mark.parametrize("name", NAMES)
def test_equivalents_return_what_the_reference_returns(name):
    exercise = exercise_named(name)
    all_equivalents = equivalents(reference_of(exercise), exercise)
    assert len({equivalent.what for equivalent in all_equivalents}) == len(all_equivalents) >= 4
    turn = exercises.convert(exercise)
    for case in exercise.hidden[:1]:
        for equivalent in all_equivalents:
            value, _ = compare.call_case(
                equivalent.function, {n: turn(item) for n, item in case.inputs.items()}, case.gradients
            )
            assert not any(compare.mismatches(value, case.expected, exercise.kind, case.atol).values()), equivalent.what


def test_sums_in_the_reverse_order_are_other_sums():
    from solutions.in_numpy.scoring import additive_score

    (reverse,) = [
        equivalent.function
        for equivalent in equivalents(additive_score, exercise_named("scoring-additive_score"))
        if equivalent.what == "sums in the reverse order"
    ]
    rng = np.random.default_rng(0)
    arguments = [rng.normal(size=shape) for shape in ((20, 30), (20, 40, 50), (60, 30), (60, 50), (60,))]
    assert np.allclose(reverse(*arguments), additive_score(*arguments))
    assert (reverse(*arguments) != additive_score(*arguments)).any()
