"""Size and finiteness are found alike for a number, an array, a list and a dict of them."""

import numpy as np
import pytest

from autograder.exercises.numbers import is_finite, largest


@pytest.mark.parametrize(
    ("value", "size"),
    [(-3, 3.0), ([1, -2.5], 2.5), (np.zeros((0, 4)), 0.0), ({"a": [1.0], "b": np.array([[-4.0, 2]])}, 4.0), ({}, 0.0)],
)
def test_the_largest_number_counts_by_its_size(value, size):
    assert largest(value) == size
    assert is_finite(value)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_one_number_that_is_not_finite_is_enough(bad):
    assert not is_finite({"a": [1.0], "b": np.array([0.0, bad])})
    assert not is_finite(bad)
