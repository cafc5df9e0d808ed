"""A perturbation changes arrays and tensors alike, and leaves alone values that it does not fit."""

import numpy as np
import pytest
import torch

from autograder.exercises import perturbations
from autograder.exercises.perturbations import CallContext

ROWS = np.array([[1.0, -2.0, 0.5], [4.0, 0.25, -8.125]])
MASK = np.array([[True, False, True], [False, True, False]])
CONTEXT = CallContext({"tokens": np.array([0, 3])}, {"batch": 2, "size": 4}, MASK)


def named(group):
    """Return ``{clause: function of the first perturbation with that clause}``."""
    return {each.clause: each.apply for each in reversed([*group])}


GENERAL = named(perturbations.GENERAL)
ALONG = named(perturbations.along_axis(0, "batch", "sentence", "sentences"))
CHANGES = {
    "{it} {has} no effect": [[0, 0, 0], [0, 0, 0]],
    "{it} {has} the opposite sign": -ROWS,
    "{it} {is} doubled": 2 * ROWS,
    "{it} {is} halved": ROWS / 2,
    perturbations.ROUNDED: [[1, -2, 0.5], [4, 0.25, -8.12]],
    "{it} for the first sentence {is} used for every sentence": [ROWS[0], ROWS[0]],
    "{it} for the last sentence {is} used for every sentence": [ROWS[1], ROWS[1]],
    "{it} {is} summed over the sentences, and every sentence gets the sum": [ROWS[0] + ROWS[1]] * 2,
    "the sentences of {it} are shifted by one, so that each gets its neighbour's values": [ROWS[1], ROWS[0]],
    "negative entries of {it} become 0": [[1, 0, 0.5], [4, 0.25, 0]],
    "{it} {is} clipped to the range from -1 to 1": [[1, -1, 0.5], [1, 0.25, -1]],
    "{it} {is} sorted, so the order of the text is lost": [[-2, 0.5, 1], [-8.125, 0.25, 4]],
    "{it} {is} clipped from below at some bound": [[1, 1e-8, 0.5], [4, 0.25, 1e-8]],
    "{it} {is} divided by the square root of size": ROWS / 2,
    "{it} {is} multiplied by size": ROWS * 4,
}
ALL = {
    **GENERAL,
    **ALONG,
    **named(perturbations.HELD),
    **named(perturbations.SORTED),
    **named(perturbations.FLOORED),
    **named(perturbations.mutate_scale("size")),
}


@pytest.mark.parametrize("clause", CHANGES)
def test_each_perturbation_does_what_its_clause_says_to_arrays_and_tensors(clause):
    for value in (ROWS, torch.from_numpy(ROWS)):
        changed = ALL[clause](value, CONTEXT)
        assert type(changed) is type(value)
        assert np.allclose(changed, CHANGES[clause])


@pytest.mark.parametrize("clause", [clause for clause in CHANGES if clause in GENERAL])
def test_single_numbers_are_changed_alike(clause):
    assert ALL[clause](-8.125, CONTEXT) == pytest.approx(np.array(CHANGES[clause])[1, 2])


@pytest.mark.parametrize(
    "value", [MASK, np.array([1, 2]), memoryview(b"ab"), "text", None, 3], ids=lambda value: str(value)[:10]
)
def test_what_is_no_floating_point_number_is_left_alone(value):
    for each in (
        *perturbations.GENERAL,
        *perturbations.CLIPPED,
        *perturbations.HELD,
        *perturbations.mutate_scale("size"),
    ):
        assert each.apply(value, CONTEXT) is None


def test_numbers_are_sorted_in_each_row_either_way():
    for value in (ROWS, torch.from_numpy(ROWS)):
        ascending, descending = (np.asarray(each.apply(value, CONTEXT)) for each in perturbations.SORTED)
        assert ascending.tolist() == descending[:, ::-1].tolist() == np.sort(ROWS).tolist()


@pytest.mark.parametrize("floor", 10.0 ** np.arange(-6, 1))
def test_an_answer_that_clips_at_a_power_of_ten_has_a_perturbation_with_its_numbers(floor):
    below = np.array([-1.0, 1e-7, floor / 3])
    assert any(np.allclose(each.apply(below, CONTEXT), floor, rtol=1e-9, atol=0) for each in perturbations.FLOORED)


def test_infinity_times_0_is_no_way_of_having_no_effect():
    assert GENERAL["{it} {has} no effect"](np.array([np.inf]), CONTEXT) is None
    assert GENERAL["{it} {has} no effect"](float("inf"), CONTEXT) is None


def test_an_axis_must_be_there_and_as_long_as_its_letter_says():
    first = ALONG["{it} for the first sentence {is} used for every sentence"]
    assert first(ROWS[:1], CONTEXT) is None
    assert first(np.ones((3, 2)), CONTEXT) is None
    assert first(2.0, CONTEXT) is None
    assert [each.apply(ROWS, CONTEXT) for each in perturbations.along_axis(2, "", "word", "words")] == [None] * 5
    assert first(MASK, CONTEXT).tolist() == [MASK[0].tolist()] * 2


def test_only_a_square_matrix_is_transposed():
    clause = "{it} {is} transposed where the two sizes are equal, as if the sizes decided whether to transpose"
    square = np.arange(8.0).reshape(2, 2, 2)
    assert GENERAL[clause](ROWS, CONTEXT) is None
    assert np.array_equal(GENERAL[clause](square, CONTEXT), square.swapaxes(1, 2))


def test_a_reshape_keeps_the_order_of_the_numbers():
    before, after = (each.apply for each in perturbations.reshapes(0, 1, ("batch", "size")))
    assert before(ROWS, CONTEXT).tolist() == ROWS.reshape(3, 2).T.tolist()
    assert after(ROWS, CONTEXT).tolist() == ROWS.T.reshape(2, 3).tolist()
    assert before(ROWS[0], CONTEXT) is None


def test_bounds_are_on_both_sides_or_on_one():
    bounds = list(perturbations.bounds(1000.0))
    assert bounds == [(-b, b) if n == 0 else (None, b) if n == 1 else (-b, None) for b in (1e3, 1e4) for n in range(3)]


def test_zeros_stand_where_a_mask_or_whole_numbers_say_so():
    assert perturbations.zero_at_pads(ROWS, CONTEXT).tolist() == (ROWS * MASK).tolist()
    assert perturbations.zero_at_pads(ROWS.T, CONTEXT) is None
    assert perturbations.zero_at_pads(ROWS, CallContext({}, {})) is None
    assert perturbations.zero_by_argument("tokens")(ROWS, CONTEXT).tolist() == [[0, 0, 0], ROWS[1].tolist()]
    assert perturbations.zero_by_argument("words")(ROWS, CONTEXT) is None


MASKS = {
    "True entries": [[True, True, False], [True, False, False]],
    "before the last word": [[True, True, True], [True, True, False]],
    "first position": [[True, False, True], [False, False, False]],
    "last position": [[True, False, True], [False, False, False]],
}


@pytest.mark.parametrize("words", MASKS)
def test_masks_are_taken_for_others(words):
    (apply,) = [each.apply for each in perturbations.MASKS if words in each.clause]
    for mask in (MASK, torch.from_numpy(MASK)):
        assert apply(mask, CONTEXT).tolist() == MASKS[words]
    assert apply(ROWS, CONTEXT) is None


def test_matrices_are_joined_side_by_side():
    for left in (ROWS, torch.from_numpy(ROWS)):
        assert perturbations.join_columns(left, left[:, :1]).tolist() == np.hstack([ROWS, ROWS[:, :1]]).tolist()
