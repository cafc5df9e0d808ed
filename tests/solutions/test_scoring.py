"""The reference answers of the scoring topic follow their formulas, in numpy and in torch alike."""

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from solutions.in_numpy import scoring
from solutions.in_torch.scoring import AdditiveScore, DotProductScore, MultiplicativeScore, score_every_step
from solutions.mistakes.scoring import additive_score__no_tanh

SIZES = st.integers(1, 5)


@st.composite
def additive_inputs(draw):
    batch, source_len, n, m, a = (draw(SIZES) for _ in range(5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    shapes = {"query": (batch, n), "keys": (batch, source_len, m), "W_query": (a, n), "W_key": (a, m), "v": (a,)}
    return {name: rng.normal(size=shape) for name, shape in shapes.items()}


@st.composite
def multiplicative_inputs(draw):
    batch, source_len, n, m = (draw(SIZES) for _ in range(4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    shapes = {"query": (batch, n), "keys": (batch, source_len, m), "W": (n, m)}
    return {name: rng.normal(size=shape) for name, shape in shapes.items()}


def tensors(inputs):
    return {name: torch.from_numpy(array) for name, array in inputs.items()}


def additive_module(arguments):
    (a, n), m = arguments["W_query"].shape, arguments["keys"].shape[-1]
    module = AdditiveScore(n, m, a).double()
    weights = {
        "W_query.weight": arguments["W_query"],
        "W_key.weight": arguments["W_key"],
        "v.weight": arguments["v"][None],
    }
    module.load_state_dict(weights)
    return module


@given(additive_inputs())
def test_the_additive_module_gives_the_scores_of_the_numpy_function(inputs):
    arguments = tensors(inputs)
    module = additive_module(arguments)
    scores = module(arguments["query"], module.project_keys(arguments["keys"])).detach()
    np.testing.assert_allclose(scores, scoring.additive_score(**inputs), atol=1e-12)


@given(additive_inputs(), st.integers(1, 4))
def test_scoring_every_step_at_once_equals_scoring_step_by_step(inputs, steps):
    batch, n = inputs["query"].shape
    queries = np.random.default_rng(steps).normal(size=(batch, steps, n))
    arguments = tensors(inputs)
    projected = arguments["keys"] @ arguments["W_key"].T
    at_once = score_every_step(torch.from_numpy(queries), projected, arguments["W_query"], arguments["v"])
    for step in range(steps):
        step_scores = scoring.additive_score(**inputs | {"query": queries[:, step]})
        np.testing.assert_allclose(at_once[:, step], step_scores, atol=1e-12)


@given(multiplicative_inputs())
def test_the_multiplicative_module_gives_the_scores_of_the_numpy_function(inputs):
    arguments = tensors(inputs)
    module = MultiplicativeScore(*arguments["W"].shape).double()
    module.load_state_dict({"W.weight": arguments["W"]})
    scores = module(arguments["query"], module.project_keys(arguments["keys"])).detach()
    np.testing.assert_allclose(scores, scoring.dot_product_score(**inputs), atol=1e-12)


@given(multiplicative_inputs())
def test_the_dot_product_is_the_multiplicative_score_with_the_identity(inputs):
    query, keys = inputs["query"], inputs["keys"] @ inputs["W"].T
    dot = scoring.dot_product_score(query, keys)
    identity = np.eye(query.shape[1])
    np.testing.assert_allclose(dot, scoring.dot_product_score(query, keys, identity), atol=1e-12)
    module = DotProductScore()
    in_torch = module(torch.from_numpy(query), module.project_keys(torch.from_numpy(keys)))
    np.testing.assert_allclose(in_torch, dot, atol=1e-12)


@given(additive_inputs(), multiplicative_inputs(), st.randoms(use_true_random=False))
def test_permuting_the_positions_permutes_the_scores(additive, multiplicative, random):
    for score, inputs in ((scoring.additive_score, additive), (scoring.dot_product_score, multiplicative)):
        order = list(range(inputs["keys"].shape[1]))
        random.shuffle(order)
        permuted = score(**inputs | {"keys": inputs["keys"][:, order]})
        np.testing.assert_allclose(permuted, score(**inputs)[:, order], atol=1e-12)


@given(additive_inputs(), multiplicative_inputs(), st.integers(1, 3))
def test_padding_changes_no_score_of_another_position(additive, multiplicative, pads):
    for score, inputs in ((scoring.additive_score, additive), (scoring.dot_product_score, multiplicative)):
        source_len = inputs["keys"].shape[1]
        padded = np.pad(inputs["keys"], ((0, 0), (0, pads), (0, 0)))
        longer = score(**inputs | {"keys": padded})
        assert longer.shape[1] == source_len + pads
        np.testing.assert_allclose(longer[:, :source_len], score(**inputs), atol=1e-12)


@given(additive_inputs())
def test_keys_projected_beforehand_give_the_same_scores(inputs):
    projected = scoring.project_keys(inputs["keys"], inputs["W_key"])
    identity = np.eye(projected.shape[-1])
    scores = scoring.additive_score(**inputs | {"keys": projected, "W_key": identity})
    np.testing.assert_allclose(scores, scoring.additive_score(**inputs), atol=1e-12)


@given(additive_inputs())
def test_without_the_tanh_the_query_shifts_every_position_alike(inputs):
    shift = additive_score__no_tanh(**inputs) - additive_score__no_tanh(**inputs | {"query": 0 * inputs["query"]})
    np.testing.assert_allclose(shift, np.broadcast_to(shift[:, :1], shift.shape), atol=1e-12)


def test_with_the_tanh_the_query_shifts_positions_differently():
    matrices = {"W_query": np.eye(2), "W_key": np.eye(2), "v": np.ones(2)}
    keys = np.array([[[0.2, 0.2], [0.8, 0.8]]])
    far, near = (scoring.additive_score(np.full((1, 2), size), keys, **matrices) for size in (0.5, 0.0))
    assert np.ptp(far - near) > 0.1


def test_gradients_of_score_every_step_are_those_of_finite_differences():
    shapes = {"queries": (2, 3, 4), "projected_keys": (2, 5, 6), "W_query": (6, 4), "v": (6,)}
    torch.manual_seed(0)
    arguments = [torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in shapes.values()]
    assert torch.autograd.gradcheck(score_every_step, arguments)


@given(st.data())
def test_scores_of_inputs_up_to_ten_thousand_are_finite(data):
    shapes = {"query": (2, 3), "keys": (2, 4, 5), "W_query": (6, 3), "W_key": (6, 5), "v": (6,), "W": (3, 5)}
    entries = st.floats(-1e4, 1e4)
    drawn = {name: data.draw(hnp.arrays(float, shape, elements=entries)) for name, shape in shapes.items()}
    W = drawn.pop("W")
    assert np.isfinite(scoring.additive_score(**drawn)).all()
    assert np.isfinite(scoring.dot_product_score(drawn["query"], drawn["keys"], W)).all()
    assert np.isfinite(scoring.dot_product_score(drawn["query"], drawn["keys"] @ W.T)).all()


@given(additive_inputs(), multiplicative_inputs())
def test_single_precision_agrees_with_double_precision(additive, multiplicative):
    for score, inputs in ((scoring.additive_score, additive), (scoring.dot_product_score, multiplicative)):
        single = score(**{name: array.astype(np.float32) for name, array in inputs.items()})
        assert single.dtype == np.float32
        np.testing.assert_allclose(single, score(**inputs), atol=1e-4)


def test_the_scores_of_note_c_are_the_published_ones():
    assert scoring.scores_by_hand() == pytest.approx([1.208736, 1.723446], abs=1e-6)


def test_the_scores_of_the_hindi_sentence_are_the_ones_computed_by_hand():
    assert scoring.hindi_scores() == pytest.approx([1.358114, 0.105422, -0.586612], abs=1e-6)


def test_the_twin_of_note_c_is_an_additive_score():
    query = np.array([[0.5, -0.2, 0.1]])
    keys = np.array([[[0.2, 0.3, 0.1, -0.4], [-0.5, 0.4, 0.2, 0.1], [0.1, -0.6, 0.3, 0.2]]])
    W_query, W_key = np.array([[1, 0, 2], [0, -1, 1]]), np.array([[1, 0, 0, 1], [0, 2, -1, 0]])
    scores = scoring.additive_score(query, keys, W_query, W_key, np.array([2, -1]))
    assert scoring.scores_by_hand_twin() == pytest.approx(scores[0], abs=1e-12)


@given(additive_inputs(), st.integers(0, 2**32 - 1))
def test_the_gradients_of_the_score_are_those_of_autograd(inputs, seed):
    query, keys = inputs.pop("query")[0], inputs.pop("keys")[0]
    upstream = np.random.default_rng(seed).normal(size=len(keys))
    leaves = {name: tensor.requires_grad_() for name, tensor in tensors(inputs).items()}
    sums = leaves["W_query"] @ torch.from_numpy(query) + torch.from_numpy(keys) @ leaves["W_key"].T
    (torch.tanh(sums) @ leaves["v"]).backward(torch.from_numpy(upstream))
    gradients = scoring.score_gradients(upstream, query, keys, **inputs)
    assert set(gradients) == set(leaves)
    for name, leaf in leaves.items():
        np.testing.assert_allclose(gradients[name], leaf.grad, atol=1e-10)


def test_the_gradients_by_hand_are_those_of_parameters_that_give_its_hidden_layer():
    query, keys = np.array([2.0, -1.0, 3.0]), np.array([[1.0, 0.0, 3.0], [-2.0, 1.0, 1.0]])
    joined = np.concatenate([np.tile(query, (2, 1)), keys], axis=1)
    both = np.linalg.lstsq(joined, np.arctanh([[0.6, 0.0], [-0.8, 0.6]]), rcond=None)[0].T
    v, by_hand = np.array([5.0, -10.0]), scoring.gradients_by_hand()
    gradients = scoring.score_gradients(np.array([1.0, -1.0]), query, keys, both[:, :3], both[:, 3:], v)
    for name, gradient in gradients.items():
        np.testing.assert_allclose(by_hand[name], gradient, atol=1e-12)
        np.testing.assert_allclose(gradient, np.round(gradient, 1), atol=1e-12)


@given(st.integers(0, 2**32 - 1))
def test_what_the_exercise_says_is_unseen_changes_no_score(seed):
    answer, rng = scoring.unseen_by_the_score(), np.random.default_rng(seed)
    query, keys = rng.normal(size=(1, 3)), rng.normal(size=(1, 5, 4))
    parameters = {"W_query": rng.normal(size=(3, 3)), "W_key": answer["U_a"], "v": rng.normal(size=3)}
    moved = keys + rng.normal(size=(1, 5, 1)) * answer["unseen"]
    before, after = (scoring.additive_score(query, each, **parameters) for each in (keys, moved))
    np.testing.assert_allclose(after, before, atol=1e-9)
