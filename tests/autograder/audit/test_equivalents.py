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
    made = equivalents(reference_of(exercise), exercise)
    assert len({one.what for one in made}) == len(made) >= 4
    turn = exercises.convert(exercise)
    for case in exercise.hidden[:1]:
        for one in made:
            value, _ = compare.call_case(
                one.function, {n: turn(item) for n, item in case.inputs.items()}, case.gradients
            )
            assert not any(compare.mismatches(value, case.expected, exercise.kind, case.atol).values()), one.what


def test_sums_in_the_reverse_order_are_other_sums():
    from solutions.in_numpy.scoring import additive_score

    (reverse,) = [
        one.function
        for one in equivalents(additive_score, exercise_named("scoring-additive_score"))
        if one.what == "sums in the reverse order"
    ]
    rng = np.random.default_rng(0)
    given = [rng.normal(size=shape) for shape in ((20, 30), (20, 40, 50), (60, 30), (60, 50), (60,))]
    assert np.allclose(reverse(*given), additive_score(*given))
    assert (reverse(*given) != additive_score(*given)).any()
