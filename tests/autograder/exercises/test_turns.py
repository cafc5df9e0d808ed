"""Each way of doing otherwise does what its clause says, to arrays and tensors alike, and leaves alone what it does not fit."""

import numpy as np
import pytest
import torch

from autograder.exercises import turns
from autograder.exercises.turns import Known

NUMBERS = np.array([[0.5, -2.25, 3.125], [-0.0625, 8.0, -1.5]])
SQUARE = np.arange(12.0).reshape(3, 2, 2)
MASK = np.array([[True, False, True, False], [False, True, True, True], [False, False, False, False]])
NOTHING_KNOWN = Known({}, {})


def results(ways, clause, value, known=NOTHING_KNOWN):
    """Return what the ways whose clause has ``clause`` in it make of an array; a tensor has to become the same."""
    found = [way for way in ways if clause in way.clause]
    assert found, clause
    outcomes = [way.turn(value, known) for way in found]
    for way, outcome in zip(found, outcomes, strict=True):
        other = way.turn(torch.from_numpy(value.copy()), known)
        assert (other is None) == (outcome is None)
        assert other is None or isinstance(other, torch.Tensor)
        np.testing.assert_array_equal(other, outcome)
    return outcomes


def is_one_of(value, outcomes):
    return any(outcome is not None and np.array_equal(value, outcome, equal_nan=True) for outcome in outcomes)


EVERYWHERE = {
    "no effect": NUMBERS * 0,
    "opposite sign": -NUMBERS,
    "minus signs": np.abs(NUMBERS),
    "twice": NUMBERS + NUMBERS,
    "half": NUMBERS * 0.5,
    "squared": NUMBERS**2,
}
HELD = {
    "between -1 and 1": np.array([[0.5, -1, 1], [-0.0625, 1, -1]]),
    "between 0 and 1": np.array([[0.5, 0, 1], [0, 1, 0]]),
    "what is negative": np.array([[0.5, 0, 3.125], [0, 8, 0]]),
}


@pytest.mark.parametrize(("clause", "expected"), [*EVERYWHERE.items(), *HELD.items()])
def test_numbers_become_what_the_clause_says_and_whole_numbers_stay(clause, expected):
    (outcome,) = results((*turns.EVERYWHERE, *turns.HELD), clause, NUMBERS)
    np.testing.assert_array_equal(outcome, expected)
    assert results((*turns.EVERYWHERE, *turns.HELD), clause, NUMBERS.astype(int)) == [None]


def test_numbers_are_rounded_or_cut_to_two_or_three_decimals():
    value = np.array([1.23456, -2.71828])
    outcomes = results(turns.EVERYWHERE, "rounded", value)
    for expected in ([1.23, -2.72], [1.235, -2.718], [1.23, -2.71], [1.234, -2.718]):
        assert any(np.allclose(outcome, expected, rtol=0, atol=1e-12) for outcome in outcomes)
    plain = [way.turn(-2.71828, NOTHING_KNOWN) for way in turns.EVERYWHERE if "rounded" in way.clause]
    assert {round(float(one), 9) for one in plain} == {-2.72, -2.718, -2.71}


def test_what_is_not_finite_does_not_lose_its_effect():
    assert results(turns.EVERYWHERE, "no effect", np.array([1.0, np.inf])) == [None]


def test_a_matrix_is_transposed_where_its_two_sizes_are_equal():
    (outcome,) = results(turns.EVERYWHERE, "transposed", SQUARE)
    np.testing.assert_array_equal(outcome, SQUARE.transpose(0, 2, 1))
    for value in (NUMBERS, np.ones(4), np.ones((2, 3, 1, 1)), np.ones((2, 2, 3))):
        assert results(turns.EVERYWHERE, "transposed", value) == [None]


def test_numbers_are_sorted_upwards_or_downwards():
    outcomes = results(turns.SORTED, "sorted", NUMBERS)
    assert is_one_of([[-2.25, 0.5, 3.125], [-1.5, -0.0625, 8.0]], outcomes)
    assert is_one_of([[3.125, 0.5, -2.25], [8.0, -0.0625, -1.5]], outcomes)
    for value in (np.array([2.0, 3.0, 1.0]), SQUARE[::-1, ::-1, ::-1]):
        up, down = results(turns.SORTED, "sorted", value)
        np.testing.assert_array_equal(up, np.sort(value))
        np.testing.assert_array_equal(down, -np.sort(-value))
    lists = [way.turn([2.0, 3.0, 1.0], NOTHING_KNOWN) for way in turns.SORTED]
    assert lists == [[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]
    assert results(turns.SORTED, "sorted", np.array([2, 1])) == [None, None]


def test_a_limit_cuts_off_numbers_on_one_side_or_both():
    limits = list(turns.limits(50.0))
    bounds = {bound for pair in limits for bound in pair if bound is not None}
    assert min(map(abs, bounds)) == 50.0
    assert len(limits) == 3 * len({abs(bound) for bound in bounds})
    assert {(-100.0, 100.0), (None, 100.0), (-100.0, None)} <= set(limits)
    assert set(limits) < set(turns.limits())
    assert all(low is None or low < 0 for low, _ in turns.limits())
    assert all(high is None or high > 0 for _, high in turns.limits())
    value = np.array([-2e6, 3.0, 2e6])
    outcomes = [way.turn(value, NOTHING_KNOWN) for way in turns.CUT]
    for expected in ([-100.0, 3, 100], [-2e6, 3, 100], [-100.0, 3, 2e6]):
        assert is_one_of(expected, outcomes)
    assert all(way.rare for way in turns.CUT)


def test_a_floor_keeps_numbers_from_becoming_smaller_down_to_the_tiniest_that_is_usual():
    outcomes = [way.turn(np.array([0.0, 5.0]), NOTHING_KNOWN) for way in turns.FLOORED]
    floors = [float(outcome[0]) for outcome in outcomes]
    assert floors == sorted(floors)
    assert 0 < floors[0] < 1e-6
    assert all(outcome[1] == 5 for outcome in outcomes)


def test_whole_numbers_are_counted_from_another_one_or_lose_their_zeros():
    tokens = np.array([[0, 3], [1, 0]])
    outcomes = results(turns.COUNTED, "counted from 1", tokens)
    assert is_one_of(tokens + 1, outcomes)
    assert is_one_of(tokens - 1, outcomes)
    (outcome,) = results(turns.COUNTED, "taken for none", tokens)
    np.testing.assert_array_equal(outcome, [[-1, 3], [1, -1]])
    assert all(way.turn(NUMBERS, NOTHING_KNOWN) is None for way in turns.COUNTED)


ROWS = np.arange(12.0).reshape(2, 3, 2)
ALONG_ONE = {
    "first": ROWS[:, [0, 0, 0]],
    "last": ROWS[:, [2, 2, 2]],
    "added up": np.repeat(ROWS.sum(axis=1, keepdims=True), 3, axis=1),
    "opposite order": ROWS[:, ::-1],
}


@pytest.mark.parametrize(("clause", "expected"), ALONG_ONE.items())
def test_what_happens_along_an_axis_happens_along_no_other(clause, expected):
    ways = list(turns.of_rows(1, "source_len", "position", "positions"))
    (outcome,) = results(ways, clause, ROWS)
    np.testing.assert_array_equal(outcome, expected)
    assert all("position" in way.clause for way in ways)


def test_the_rows_move_by_one_either_way():
    outcomes = results(turns.of_rows(1, "source_len", "position", "positions"), "moved by one", ROWS)
    assert len(outcomes) == 2
    assert is_one_of(np.roll(ROWS, 1, axis=1), outcomes)
    assert is_one_of(np.roll(ROWS, -1, axis=1), outcomes)


@pytest.mark.parametrize(
    ("value", "sizes", "fits"),
    [
        (ROWS, {"source_len": 3}, True),
        (ROWS, {"source_len": 2}, False),
        (ROWS[:, :2], {}, True),
        (ROWS[:, :1], {}, False),
        (ROWS[0, 0], {}, False),
        (2.0, {}, False),
    ],
)
def test_an_axis_is_touched_only_where_it_counts_its_letter_and_has_several_entries(value, sizes, fits):
    ways = turns.of_rows(1, "source_len", "position", "positions")
    assert all((way.turn(value, Known({}, sizes)) is not None) == fits for way in ways)


def test_only_numbers_are_added_up_and_masks_are_not():
    for way in turns.of_rows(0, "batch", "sentence", "sentences"):
        assert (way.turn(MASK, NOTHING_KNOWN) is None) == ("added up" in way.clause)


def test_a_reshape_in_place_of_an_exchange_keeps_the_order_of_the_numbers():
    value = np.arange(24.0).reshape(2, 3, 4)
    before, after = results(turns.of_axes(0, 1, ("batch", "source_len")), "reshape", value)
    np.testing.assert_array_equal(before, value.reshape(3, 2, 4).swapaxes(0, 1))
    np.testing.assert_array_equal(after, value.swapaxes(0, 1).reshape(2, 3, 4))
    assert results(turns.of_axes(0, 2, ("a", "b")), "reshape", NUMBERS) == [None, None]
    (before, after) = results(turns.of_axes(0, 1, ("a", "b")), "axes a and b", NUMBERS)
    np.testing.assert_array_equal(before, NUMBERS.reshape(3, 2).T)
    np.testing.assert_array_equal(after, NUMBERS.T.reshape(2, 3))


def test_a_value_is_scaled_by_a_size_or_its_root_where_there_are_several():
    known = Known({}, {"key_size": 4})
    for words, factor in (
        ("divided by key_size", 1 / 4),
        ("divided by the root", 1 / 2),
        ("multiplied by key_size", 4),
        ("multiplied by the root", 2),
    ):
        (outcome,) = results(turns.scaled("key_size"), words, NUMBERS, known)
        np.testing.assert_array_equal(outcome, NUMBERS * factor)
        assert results(turns.scaled("key_size"), words, NUMBERS, Known({}, {"key_size": 1})) == [None]
        assert results(turns.scaled("key_size"), words, NUMBERS) == [None]
        assert results(turns.scaled("key_size"), words, MASK, known) == [None]


MASKS = {
    "no effect": np.ones((3, 4), bool),
    "other way round": ~MASK,
    "number of true entries": [[1, 1, 0, 0], [1, 1, 1, 0], [0, 0, 0, 0]],
    "whatever stands before the last word": [[1, 1, 1, 0], [1, 1, 1, 1], [0, 0, 0, 0]],
    "of the first sentence": MASK[[0, 0, 0]],
    "of the last sentence": MASK[[2, 2, 2]],
    "its first position is a pad": [[1, 0, 1, 0], [0, 0, 0, 0], [0, 0, 0, 0]],
    "its last position is a pad": [[0, 0, 0, 0], [0, 1, 1, 1], [0, 0, 0, 0]],
    "followed by no pad": [[0, 0, 0, 0], [0, 1, 1, 1], [0, 0, 0, 0]],
    "without a word, all positions": [[1, 0, 1, 0], [0, 1, 1, 1], [1, 1, 1, 1]],
}


@pytest.mark.parametrize(("clause", "expected"), MASKS.items())
def test_a_mask_is_taken_as_the_clause_says(clause, expected):
    (outcome,) = results(turns.MASKS, clause, MASK)
    np.testing.assert_array_equal(outcome, np.array(expected, bool))
    assert results(turns.MASKS, clause, NUMBERS) == [None]


def test_one_sentence_has_no_other_whose_mask_it_could_get():
    for clause in ("of the first sentence", "of the last sentence"):
        assert results(turns.MASKS, clause, MASK[:1]) == [None]
        assert results(turns.MASKS, clause, MASK[0]) == [None]


KEYS = np.arange(1.0, 25).reshape(3, 4, 2)


def test_what_belongs_to_pads_becomes_0_where_the_mask_fits():
    known = Known({}, {}, MASK)
    np.testing.assert_array_equal(turns.without_pads(KEYS, known), KEYS * MASK[..., None])
    tensor = turns.without_pads(torch.from_numpy(KEYS), Known({}, {}, torch.from_numpy(MASK)))
    np.testing.assert_array_equal(tensor, KEYS * MASK[..., None])
    np.testing.assert_array_equal(turns.without_pads(KEYS[..., 0], known), KEYS[..., 0] * MASK)
    assert turns.without_pads(KEYS, NOTHING_KNOWN) is None
    assert turns.without_pads(KEYS[:, :3], known) is None
    assert turns.without_pads(KEYS.swapaxes(0, 1), known) is None
    assert turns.without_pads(KEYS.astype(int), known) is None


def test_what_belongs_to_a_0_among_whole_numbers_becomes_0():
    targets = np.array([[0, 2, 0, 1], [3, 0, 5, 6], [1, 1, 1, 0]])
    turn = turns.without_zeros("targets")
    expected = KEYS * (targets != 0)[..., None]
    np.testing.assert_array_equal(turn(KEYS, Known({"targets": targets}, {})), expected)
    given = Known({"targets": torch.from_numpy(targets)}, {})
    np.testing.assert_array_equal(turn(torch.from_numpy(KEYS), given), expected)
    for value, inputs in (
        (KEYS, {}),
        (KEYS, {"targets": targets.astype(float)}),
        (KEYS[:, :3], {"targets": targets}),
        (KEYS[:2], {"targets": targets}),
        (np.tile(KEYS, (2, 1, 1)), {"targets": targets}),
        (KEYS.astype(int), {"targets": targets}),
        (2.0, {"targets": targets}),
    ):
        assert turn(value, Known(inputs, {})) is None


def test_products_are_rounded_or_cut_before_they_are_added():
    vector, matrix = np.array([0.35, 0.35]), np.array([[0.5, 0.1], [0.5, 0.3]])
    # 0.175 + 0.175 and 0.035 + 0.105
    np.testing.assert_allclose(turns.rounded_products(vector, matrix, 2, True), [0.34, 0.13], atol=1e-12)
    np.testing.assert_allclose(turns.rounded_products(matrix.T, vector, 2, True), [0.34, 0.13], atol=1e-12)
    np.testing.assert_allclose(turns.rounded_products(vector, matrix, 1, False), [0.4, 0.1], atol=1e-12)
    np.testing.assert_allclose(turns.rounded_products(matrix.T, vector, 1, False), [0.4, 0.1], atol=1e-12)
    np.testing.assert_allclose(turns.rounded_products(vector, [0.5, 0.1], 2, True), 0.20, atol=1e-12)


def test_matrices_are_joined_side_by_side():
    np.testing.assert_array_equal(turns.joined(NUMBERS, NUMBERS[:, :1]), NUMBERS[:, [0, 1, 2, 0]])
    tensors = torch.from_numpy(NUMBERS), torch.from_numpy(NUMBERS[:, :1])
    np.testing.assert_array_equal(turns.joined(*tensors), NUMBERS[:, [0, 1, 2, 0]])
