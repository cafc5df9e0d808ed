"""The reference answers of the softmax topic follow their formulas, in numpy and in torch alike."""

import itertools
import re

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from autograder.notebooks.chapter import chapter_texts
from autograder.paths import BOOK
from solutions.in_numpy import softmax
from solutions.in_torch.softmax import entropy
from solutions.in_torch.softmax import masked_softmax as masked_softmax_in_torch

SMALL, LARGE = st.floats(-5, 5), st.floats(-1e4, 1e4)
SHAPES = st.tuples(st.integers(1, 4), st.integers(1, 5))


@st.composite
def masked(draw, elements=SMALL):
    """Return scores and a mask of the same shape; pads may be anywhere, and rows may be empty."""
    shape = draw(SHAPES)
    scores = draw(hnp.arrays(float, shape, elements=elements))
    return scores, draw(hnp.arrays(bool, shape))


def in_torch(scores, mask=None):
    mask = None if mask is None else torch.from_numpy(np.array(mask))
    return masked_softmax_in_torch(torch.from_numpy(np.array(scores)), mask).numpy()


both = pytest.mark.parametrize("function", [softmax.masked_softmax, in_torch], ids=["numpy", "torch"])


@pytest.mark.parametrize("replaced", [False, True])
def test_nan_that_is_hidden_after_the_softmax_still_reaches_the_scores(replaced):
    scores = torch.full((1, 3), 0.0 if replaced else -torch.inf, dtype=torch.double, requires_grad=True)
    real = torch.zeros(1, 3, dtype=torch.bool)
    used = torch.where(real, scores, -torch.inf) if replaced else scores
    weights = torch.where(real, torch.softmax(used, dim=-1), 0.0)
    weights.sum().backward()
    assert not weights.any()
    assert torch.isnan(scores.grad).all() != replaced


@given(masked(LARGE))
def test_the_masked_softmax_is_the_same_in_numpy_and_torch(inputs):
    np.testing.assert_allclose(in_torch(*inputs), softmax.masked_softmax(*inputs), atol=1e-12)


@given(masked(LARGE))
def test_without_a_mask_the_masked_softmax_is_the_softmax(inputs):
    scores, _ = inputs
    expected = torch.softmax(torch.from_numpy(scores), dim=-1)
    for weights in (softmax.softmax(scores), softmax.masked_softmax(scores), in_torch(scores)):
        np.testing.assert_allclose(weights, expected, atol=1e-12)


@both
@given(inputs=masked(LARGE))
def test_weights_add_to_one_over_real_positions_and_are_exactly_zero_elsewhere(function, inputs):
    scores, mask = inputs
    weights = function(scores, mask)
    assert np.isfinite(weights).all()
    assert (weights >= 0).all()
    assert (weights[~mask] == 0).all()
    np.testing.assert_allclose(weights.sum(axis=1), mask.any(axis=1).astype(float), atol=1e-12)


@both
@given(inputs=masked(), shift=LARGE)
def test_shifting_all_scores_of_a_row_changes_no_weight(function, inputs, shift):
    scores, mask = inputs
    np.testing.assert_allclose(function(scores + shift, mask), function(scores, mask), atol=1e-10)


@both
@given(inputs=masked(LARGE), pads=st.integers(1, 3), at_pads=LARGE)
def test_padding_changes_no_weight_whatever_the_score_of_a_pad(function, inputs, pads, at_pads):
    scores, mask = inputs
    longer = np.pad(scores, ((0, 0), (0, pads)), constant_values=at_pads)
    weights = function(longer, np.pad(mask, ((0, 0), (0, pads))))
    np.testing.assert_allclose(weights[:, : scores.shape[1]], function(scores, mask), atol=1e-12)


@both
@given(inputs=masked(), random=st.randoms(use_true_random=False))
def test_permuting_the_positions_permutes_the_weights(function, inputs, random):
    scores, mask = inputs
    order = list(range(scores.shape[1]))
    random.shuffle(order)
    np.testing.assert_allclose(function(scores[:, order], mask[:, order]), function(scores, mask)[:, order], atol=1e-12)


@both
@given(inputs=masked())
def test_single_precision_agrees_with_double_precision(function, inputs):
    scores, mask = inputs
    single = function(scores.astype(np.float32), mask)
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, function(scores, mask), atol=1e-5)


@pytest.mark.parametrize("at_pads", [float("inf"), float("nan")])
@both
def test_a_pad_without_a_finite_score_spoils_nothing(function, at_pads):
    weights = function(np.array([[1.0, at_pads, 2.0]]), np.array([[True, False, True]]))
    np.testing.assert_allclose(weights, [[1 / (1 + np.e), 0, np.e / (1 + np.e)]], atol=1e-12)


@given(masked(LARGE))
def test_gradients_of_the_masked_softmax_are_finite_and_zero_at_pads(inputs):
    scores, mask = torch.from_numpy(inputs[0]).requires_grad_(), torch.from_numpy(inputs[1])
    weights = masked_softmax_in_torch(scores, mask)
    (weights * torch.arange(1.0, weights.numel() + 1).reshape(weights.shape)).sum().backward()
    assert torch.isfinite(scores.grad).all()
    assert (scores.grad[~mask] == 0).all()


def test_a_row_without_a_real_token_has_zero_weights_and_zero_gradients():
    scores = torch.tensor([[3.0, -1e4, 1e4], [1.0, 2.0, 3.0]], requires_grad=True)
    weights = masked_softmax_in_torch(scores, torch.tensor([[False] * 3, [True] * 3]))
    (weights**2).sum().backward()
    assert (weights[0] == 0).all()
    assert (scores.grad[0] == 0).all()
    assert (scores.grad[1] != 0).all()


def test_gradients_of_the_masked_softmax_are_those_of_finite_differences():
    torch.manual_seed(0)
    scores = torch.randn(3, 5, dtype=torch.float64, requires_grad=True)
    mask = torch.tensor([[True, True, False, True, False], [True] * 5, [False] * 5])
    assert torch.autograd.gradcheck(lambda changed_scores: masked_softmax_in_torch(changed_scores, mask), scores)


@given(hnp.arrays(float, hnp.array_shapes(max_dims=4, max_side=4), elements=LARGE))
def test_the_softmax_normalises_the_last_axis_of_any_array(scores):
    weights = softmax.softmax(scores)
    assert weights.shape == scores.shape
    np.testing.assert_allclose(weights.sum(axis=-1), 1, atol=1e-12)


@given(masked())
def test_a_difference_of_scores_is_the_logarithm_of_a_quotient_of_weights(inputs):
    scores, _ = inputs
    weights = softmax.softmax(scores)
    np.testing.assert_allclose(np.log(weights / weights[:, :1]), scores - scores[:, :1], atol=1e-9)


@given(hnp.arrays(float, (3, 4), elements=LARGE), hnp.arrays(float, 3, elements=st.floats(0.05, 20)))
def test_entropies_lie_between_zero_and_the_logarithm_of_the_length_with_finite_gradients(scores, temperature):
    arguments = [torch.from_numpy(array).requires_grad_() for array in (scores, temperature)]
    values = entropy(*arguments)
    values.sum().backward()
    assert values.shape == (3,)
    assert (values >= 0).all()
    assert (values <= np.log(4) + 1e-12).all()
    assert all(torch.isfinite(argument.grad).all() for argument in arguments)


@given(hnp.arrays(float, (2, 3), elements=st.floats(-3, 3)), st.floats(0.5, 5))
def test_the_entropy_is_that_of_the_softmax_of_scores_divided_by_the_temperature(scores, temperature):
    weights = softmax.softmax(scores / temperature)
    values = entropy(torch.from_numpy(scores), torch.full((2,), temperature, dtype=torch.float64))
    np.testing.assert_allclose(values, -(weights * np.log(weights)).sum(axis=1), atol=1e-10)


def test_gradients_of_the_entropy_are_those_of_finite_differences():
    torch.manual_seed(0)
    scores = torch.randn(2, 4, dtype=torch.float64, requires_grad=True)
    temperature = torch.tensor([0.7, 2.0], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(entropy, (scores, temperature))


def test_the_weights_of_note_c_are_the_published_ones():
    assert softmax.weights_by_hand() == pytest.approx([0.374090, 0.625910], abs=1e-6)


def test_the_answers_by_hand_are_those_of_the_functions():
    twin = softmax.softmax(np.array([0.5, -0.3, 1.2, 0.1]))
    assert softmax.weights_by_hand_twin() == pytest.approx(twin, abs=1e-12)
    scores = -np.array([0.0, *softmax.score_differences()])
    np.testing.assert_allclose(softmax.softmax(scores), [0.48, 0.3, 0.16, 0.06], atol=1e-12)


SCORES = np.array([[1.2, -0.4, 0.3, 0.9], [-0.5, 1.6, 0.2, -1.1], [0.4, -0.8, 1.9, 0.5]])  # steps, positions
WORDS = np.array([True, True, True, False])


def left_out(scores):
    return softmax.masked_softmax(scores, np.broadcast_to(WORDS, scores.shape))


# What each fault of the exercise, by its number, makes of these scores.
FAULTS = {
    1: softmax.softmax(SCORES.T).T * WORDS,
    2: softmax.softmax(SCORES * WORDS),
    3: softmax.softmax(SCORES) * WORDS,
    4: left_out(np.repeat(SCORES[1:2], 3, axis=0)),
    5: left_out(left_out(SCORES)),
    6: SCORES * WORDS / (SCORES * WORDS).sum(axis=1, keepdims=True),
}


def tables_of_the_exercise():
    text = chapter_texts(BOOK / "softmax.md")[1]["softmax-broken_maps"].body
    rows = re.findall(r"^\| \d \| (.*) \|$", text.replace("\N{MINUS SIGN}", "-"), flags=re.MULTILINE)
    return np.array([[float(x) for x in row.split(" | ")] for row in rows]).reshape(-1, 3, 4)


def test_the_heat_maps_of_the_exercise_are_what_the_faults_make_of_one_sentence():
    right, *broken = tables_of_the_exercise()
    np.testing.assert_allclose(right, left_out(SCORES), atol=0.005001)
    for table, fault in zip(broken, softmax.broken_maps().values(), strict=True):
        np.testing.assert_allclose(table, FAULTS[fault], atol=0.005001)


def test_no_two_faults_of_the_exercise_make_one_heat_map():
    for first, second in itertools.combinations(FAULTS.values(), 2):
        assert np.abs(first - second).max() > 0.1
