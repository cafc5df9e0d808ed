"""Every generated set of wrong numbers fails the comparison."""

import numpy as np
import pytest

from autograder.audit.wrong_values import wrong_values
from autograder.exercises import compare

pytestmark = pytest.mark.suite("audit")


def test_every_wrong_set_of_numbers_is_further_off_than_the_tolerance_or_says_where_not():
    right = {"scores": np.array([0.5, -1.25, 3.0]), "loss": np.array(0.75)}
    wrong = dict(wrong_values(right, 1e-3))
    assert "scores: number 2 off by -1.5 tolerances" in wrong
    assert "scores: numbers 1 and 2 exchanged" in wrong
    assert "loss left out" in wrong
    for value in wrong.values():
        assert any(compare.mismatches(value, right, "number", 1e-3).values())
