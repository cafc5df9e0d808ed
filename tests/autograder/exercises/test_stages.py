"""Each wrong softmax gives the weights that its clause speaks of: worked out here once more, in plain numpy."""

import numpy as np
import pytest
import torch

from autograder.exercises import stages

SCORES = np.array(
    [
        [[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]],
        [[3.0, 1.0, -2.0], [0.0, 4.0, 1.0]],
    ]
)
REAL = np.array([[[True, False, True], [True, True, True]], [[False, True, True], [False, False, False]]])
HIGH = SCORES + np.array([0.0, 2000.0])[:, None, None]  # the second sentence far above the first


def softmax(scores):
    with np.errstate(all="ignore"):
        powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def right(scores, real):
    if real is None:
        return softmax(scores)
    return softmax(np.where(real, scores, -1e300)) * real


def shared(values):
    total = values.sum(axis=-1, keepdims=True)
    return values / np.where(total == 0, 1, total)


def weights_of(clause, scores=SCORES, real=REAL, known=None):
    """Return what the wrong ways with ``clause`` give, where they fit."""
    found = [slip for slip in known or stages.slips() if slip.clause == clause]
    assert found, clause
    with np.errstate(all="ignore"):
        outcomes = [stages.in_torch(slip.weigh)(scores, real) for slip in found if fits(slip, scores, real)]
    return [outcome for outcome in outcomes if outcome is not None]


def fits(slip, scores, real):
    if real is None:
        return slip.weigh(torch.from_numpy(scores), None) is not None
    return slip.weigh(torch.from_numpy(scores), torch.from_numpy(real)) is not None


def is_one_of(expected, outcomes):
    return any(np.allclose(outcome, expected, rtol=0, atol=1e-12, equal_nan=True) for outcome in outcomes)


@pytest.mark.parametrize("real", [None, REAL])
def test_the_right_weights_are_those_of_the_formula_for_arrays_and_tensors(real):
    expected = right(SCORES, real)
    np.testing.assert_allclose(stages.in_torch(stages.right)(SCORES, real), expected, atol=1e-12)
    tensor = stages.in_torch(stages.right)(torch.from_numpy(SCORES), None if real is None else torch.from_numpy(real))
    assert isinstance(tensor, torch.Tensor)
    np.testing.assert_allclose(tensor, expected, atol=1e-12)


EACH = {
    stages.NOTHING_MASKED: [softmax(SCORES)],
    stages.BEFORE_MASK: [softmax(SCORES) * REAL],
    stages.ZERO: [softmax(SCORES * REAL), softmax(SCORES * REAL) * REAL],
    stages.TWICE: [right(right(SCORES, REAL), REAL)],
    stages.UNIFORM: [np.where(REAL.any(axis=-1, keepdims=True), right(SCORES, REAL), 1 / 3)],
    stages.PROPORTIONAL: [shared(SCORES * REAL)],
    stages.EVEN: [shared(REAL.astype(float))],
    stages.POWERS: [right(SCORES * np.log(2), REAL), right(SCORES * np.log(10), REAL)],
    stages.OTHER_AXIS: [
        np.moveaxis(softmax(np.moveaxis(np.where(REAL, SCORES, -1e300), axis, -1)), -1, axis) * REAL for axis in (0, 1)
    ],
}


@pytest.mark.parametrize(("clause", "expected"), EACH.items(), ids=[str(n) for n in range(len(EACH))])
def test_a_wrong_softmax_gives_what_its_clause_says(clause, expected):
    outcomes = weights_of(clause)
    for weights in expected:
        assert is_one_of(weights, outcomes)
    assert all(any(is_one_of(outcome, [weights]) for weights in expected) for outcome in outcomes)


def test_unnormalised_weights_are_the_exponentials_shifted_or_not():
    top = np.where(REAL, SCORES, -1e300).max(axis=-1, keepdims=True)
    outcomes = weights_of(stages.UNNORMALISED)
    with np.errstate(all="ignore"):
        assert is_one_of(np.where(REAL, np.exp(SCORES - top), 0), outcomes)
    assert is_one_of(np.exp(SCORES) * REAL, outcomes)
    assert len(outcomes) == 2


def test_all_weight_goes_to_the_largest_score_of_a_word():
    (hard,) = weights_of(stages.HARD)
    assert hard.tolist() == [[[0, 0, 1], [1, 0, 0]], [[0, 1, 0], [0, 0, 0]]]
    (hard,) = weights_of(stages.HARD, real=None)
    assert hard.tolist() == [[[0, 0, 1], [1, 0, 0]], [[1, 0, 0], [0, 1, 0]]]


@pytest.mark.parametrize("number", [-10.0, -50.0])
def test_a_pad_gets_a_score_that_is_not_low_enough(number):
    low = SCORES + number  # words as low as that
    filled = softmax(np.where(REAL, low, number))
    outcomes = weights_of(stages.NOT_LOW, low)
    for expected in (filled, filled * REAL, shared(filled * REAL)):
        assert is_one_of(expected, outcomes)


@pytest.mark.parametrize("number", [-10.0, -50.0])
def test_too_little_is_taken_off_the_score_of_a_pad(number):
    high = SCORES + 5 * ~REAL
    lowered = softmax(high + number * ~REAL)
    outcomes = weights_of(stages.TAKEN_OFF, high)
    for expected in (lowered, lowered * REAL, shared(lowered * REAL)):
        assert is_one_of(expected, outcomes)


def test_the_logarithm_of_a_small_number_is_added_to_the_score_of_a_pad():
    added = softmax(SCORES + np.log(REAL + 1e-6))
    outcomes = weights_of(stages.TAKEN_OFF)
    for expected in (added, added * REAL, shared(added * REAL)):
        assert is_one_of(expected, outcomes)


def test_a_small_number_is_added_to_the_sum():
    top = np.where(REAL, SCORES, -1e300).max(axis=-1, keepdims=True)
    with np.errstate(all="ignore"):
        shifted = np.where(REAL, np.exp(SCORES - top), 0)
    plain = np.exp(SCORES) * REAL
    outcomes = weights_of(stages.ADDED_BELOW)
    for powers in (shifted, plain):
        assert is_one_of(powers / (powers.sum(axis=-1, keepdims=True) + 1e-3), outcomes)


SHIFTS = {
    stages.NO_SHIFT: np.zeros((2, 2, 1)),
    stages.OF_ALL: HIGH.max() * np.ones((2, 2, 1)),
    stages.MEAN_SHIFT: HIGH.mean(axis=-1, keepdims=True),
    stages.LEAST_SHIFT: HIGH.min(axis=-1, keepdims=True),
}


@pytest.mark.parametrize("clause", SHIFTS)
@pytest.mark.parametrize("far", [0.0, 900.0])
def test_what_is_subtracted_before_the_exponential_decides_where_it_overflows_or_vanishes(clause, far):
    scores = HIGH + np.array([far, 0.0, 0.0])
    shift = SHIFTS[clause] + {stages.OF_ALL: far, stages.MEAN_SHIFT: far / 3}.get(clause, 0)
    if clause == stages.LEAST_SHIFT:
        shift = scores.min(axis=-1, keepdims=True)
    with np.errstate(all="ignore"):
        powers = np.exp(scores - shift)
        total = powers.sum(axis=-1, keepdims=True)
        plain, whole = powers / np.where(total == 0, 1, total), powers / total
    outcomes = weights_of(clause, scores, None)
    assert is_one_of(plain, outcomes)
    for mend in (0.0, 1.0, 1 / 3):
        assert is_one_of(np.where(np.isnan(whole), mend, whole), outcomes)


def test_what_is_subtracted_may_be_that_of_the_pads_or_of_the_words():
    scores = SCORES + 900.0 * ~REAL
    with np.errstate(all="ignore"):
        pads_too = np.exp(scores - scores.max(axis=-1, keepdims=True)) * REAL
        words = np.exp(scores - np.where(REAL, scores, -np.inf).max(axis=-1, keepdims=True)) * REAL
        expected = shared(words)
    assert is_one_of(shared(pads_too), weights_of(stages.WITH_PADS, scores))
    rows = REAL.any(axis=-1)
    outcomes = [outcome[rows] for outcome in weights_of(stages.PADS_OVERFLOW, scores)]
    assert is_one_of(expected[rows], outcomes)
    assert any(np.isnan(outcome).any() for outcome in outcomes)


def test_the_mean_of_the_words_alone_may_be_subtracted():
    scores = SCORES + np.array([1500.0, 0.0, 0.0])
    mean = (scores * REAL).sum(axis=-1, keepdims=True) / np.maximum(1, REAL.sum(axis=-1, keepdims=True))
    with np.errstate(all="ignore"):
        powers = np.where(REAL, np.exp(scores - mean), 0)
        expected = shared(powers)
    assert is_one_of(expected, weights_of(stages.MEAN_SHIFT, scores))


def test_one_number_may_be_subtracted_from_each_sentence_where_scores_have_steps():
    scores = SCORES + np.array([[0.0, 900.0], [900.0, 0.0]])[..., None]
    with np.errstate(all="ignore"):
        powers = np.exp(scores - scores.max(axis=(1, 2), keepdims=True))
    assert is_one_of(shared(powers), weights_of(stages.OF_ALL, scores, None))


def test_scores_are_cut_off_at_a_bound_above_below_or_both():
    scores = 40 * SCORES
    outcomes = weights_of(stages.BOUNDED, scores)
    for low, high in ((-50, 50), (None, 50), (-50, None)):
        assert is_one_of(right(np.clip(scores, low, high), REAL), outcomes)
    assert not is_one_of(right(np.clip(scores, -5, 5), REAL), outcomes)


def test_what_differs_with_large_scores_alone_is_rare():
    for slip in stages.slips():
        if not (slip.rare or slip.masks):
            weights = stages.in_torch(slip.weigh)(SCORES, None)
            near = [stages.ADDED_BELOW]
            assert weights is None or slip.clause in near or not np.allclose(weights, softmax(SCORES), atol=1e-9)


def test_what_is_taken_off_too_little_for_ordinary_scores_is_not_rare():
    for slip in stages.slips():
        if slip.clause == stages.TAKEN_OFF:
            weights = stages.in_torch(slip.weigh)(SCORES, REAL)
            assert not slip.rare or np.allclose(weights[0], right(SCORES, REAL)[0], rtol=0, atol=1e-6)


def test_rows_of_one_axis_have_no_other_axis_to_take_a_softmax_along():
    assert weights_of(stages.OTHER_AXIS, SCORES[0, 0], None) == []
    assert len(weights_of(stages.OTHER_AXIS, SCORES[0], None)) == 1
    assert len(weights_of(stages.OTHER_AXIS, SCORES, None)) == 2


# --- logarithms of weights -------------------------------------------------------------------------------------------

LOG_SOFTMAX = np.log(softmax(SCORES))


def logarithms_of(words, scores=SCORES):
    clauses = {slip.clause for slip in stages.log_slips() if words in slip.clause}
    return [outcome for clause in clauses for outcome in weights_of(clause, scores, None, list(stages.log_slips()))]


def test_a_wrong_logarithm_gives_what_its_clause_says():
    weights = softmax(SCORES)
    assert is_one_of(np.log(weights + 1e-3), logarithms_of("added inside the logarithm"))
    assert is_one_of(np.log(np.maximum(weights, 1e-3)), logarithms_of("kept from becoming smaller"))
    assert is_one_of(LOG_SOFTMAX, logarithms_of("worked out before"))
    assert is_one_of(np.log(softmax(LOG_SOFTMAX * 0 + weights)), logarithms_of(stages.TWICE))
    for axis in (0, 1):
        turned = np.moveaxis(np.log(softmax(np.moveaxis(SCORES, axis, -1))), -1, axis)
        assert is_one_of(turned, logarithms_of(stages.OTHER_AXIS))
    assert len(logarithms_of(stages.OTHER_AXIS, SCORES[0])) == 1
    cut = [np.log(softmax(np.clip(40 * SCORES, low, high))) for low, high in ((-50, 50), (None, 50), (-50, None))]
    assert all(is_one_of(one, logarithms_of(stages.BOUNDED, 40 * SCORES)) for one in cut)


@pytest.mark.parametrize(
    ("words", "shift"),
    [
        ("as they are", lambda scores: 0),
        ("from the whole batch", lambda scores: scores.max()),
        ("from all steps", lambda scores: scores.max(axis=(1, 2), keepdims=True)),
        ("the mean is", lambda scores: scores.mean(axis=-1, keepdims=True)),
        ("the smallest", lambda scores: scores.min(axis=-1, keepdims=True)),
    ],
)
def test_what_is_subtracted_before_a_logarithm_decides_where_it_overflows(words, shift):
    for scores in (SCORES, HIGH * 2, HIGH + np.array([900.0, 0.0, 0.0])):
        with np.errstate(all="ignore"):
            low = scores - shift(scores)
            expected = low - np.log(np.exp(low).sum(axis=-1, keepdims=True))
        assert is_one_of(expected, logarithms_of(words, scores))
