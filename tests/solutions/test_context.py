"""The context mixes the annotations of real positions only, and numpy and torch agree on it and on its gradients."""

import inspect
import re

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from autograder.notebooks.chapter import chapter_texts
from autograder.paths import BOOK
from solutions.in_numpy import context
from solutions.in_torch.context import (
    AdditiveAttention,
    DotProductAttention,
    MultiplicativeAttention,
    attend,
    mended_note_e,
)
from solutions.mistakes import context as mistakes

SIZES = st.integers(1, 5)
MODULES = {
    "additive": lambda size: AdditiveAttention(size, size, 3),
    "multiplicative": lambda size: MultiplicativeAttention(size, size),
    "dot product": lambda size: DotProductAttention(),
}
each_attention = pytest.mark.parametrize("kind", MODULES)


def softmax(scores):
    exponentials = np.exp(scores - scores.max(axis=1, keepdims=True))
    return exponentials / exponentials.sum(axis=1, keepdims=True)


@st.composite
def mixtures(draw):
    """Weights and keys of a batch, in numpy."""
    batch, source_len, key_size = (draw(SIZES) for _ in range(3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return softmax(2 * rng.normal(size=(batch, source_len))), rng.normal(size=(batch, source_len, key_size))


@st.composite
def sentences(draw):
    """Query, keys and mask of a batch in torch; every sentence has a real token."""
    batch, source_len, size = (draw(SIZES) for _ in range(3))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 2**32 - 1)))
    query = torch.randn(batch, size, dtype=torch.float64, generator=generator)
    keys = torch.randn(batch, source_len, size, dtype=torch.float64, generator=generator)
    lengths = torch.randint(1, source_len + 1, (batch, 1), generator=generator)
    return query, keys, torch.arange(source_len) < lengths


def module_for(kind, query):
    torch.manual_seed(0)
    return MODULES[kind](query.shape[1]).double()


@given(mixtures())
def test_numpy_and_torch_mix_alike(mixture):
    weights, keys = mixture
    mask = torch.ones(weights.shape, dtype=torch.bool)
    in_torch = attend(torch.from_numpy(np.log(weights)), torch.from_numpy(keys), mask)
    np.testing.assert_allclose(in_torch, context.context_vector(weights, keys), atol=1e-12)


@each_attention
@given(inputs=sentences())
def test_a_module_mixes_the_annotations_by_the_weights_that_it_returns(kind, inputs):
    query, keys, mask = inputs
    with torch.no_grad():
        mixed, weights = module_for(kind, query)(query, keys, mask)
    np.testing.assert_allclose(mixed, context.context_vector(weights.numpy(), keys.numpy()), atol=1e-12)
    np.testing.assert_allclose(weights.sum(dim=1), np.ones(len(query)), atol=1e-12)
    assert (weights[~mask] == 0).all()


@each_attention
@given(inputs=sentences())
def test_a_module_and_attend_agree_on_the_same_scores(kind, inputs):
    query, keys, mask = inputs
    attention = module_for(kind, query)
    with torch.no_grad():
        mixed, _ = attention(query, keys, mask)
        scores = attention.score(query, attention.project_keys(keys))
        np.testing.assert_allclose(attend(scores, keys, mask), mixed, atol=1e-12)


@each_attention
@given(inputs=sentences(), pads=st.integers(1, 3), content=st.floats(-1e3, 1e3))
def test_pads_change_neither_context_nor_weights(kind, inputs, pads, content):
    query, keys, mask = inputs
    batch, _, size = keys.shape
    longer = torch.cat([keys, torch.full((batch, pads, size), content, dtype=keys.dtype)], dim=1)
    longer_mask = torch.cat([mask, torch.zeros(batch, pads, dtype=torch.bool)], dim=1)
    attention = module_for(kind, query)
    with torch.no_grad():
        mixed, weights = attention(query, keys, mask)
        mixed_longer, weights_longer = attention(query, longer, longer_mask)
    np.testing.assert_allclose(mixed_longer, mixed, atol=1e-12)
    np.testing.assert_allclose(weights_longer[:, : keys.shape[1]], weights, atol=1e-12)


@each_attention
@given(inputs=sentences())
def test_a_padded_sentence_in_a_batch_gives_the_context_of_the_sentence_alone(kind, inputs):
    query, keys, mask = inputs
    attention = module_for(kind, query)
    with torch.no_grad():
        mixed, _ = attention(query, keys, mask)
        for b, length in enumerate(mask.sum(dim=1).tolist()):
            alone, _ = attention(query[b : b + 1], keys[b : b + 1, :length])
            np.testing.assert_allclose(mixed[b], alone[0], atol=1e-12)


@each_attention
@given(inputs=sentences(), random=st.randoms(use_true_random=False))
def test_the_order_of_the_positions_does_not_change_the_context(kind, inputs, random):
    query, keys, mask = inputs
    order = list(range(keys.shape[1]))
    random.shuffle(order)
    attention = module_for(kind, query)
    with torch.no_grad():
        mixed, weights = attention(query, keys, mask)
        mixed_anew, permuted = attention(query, keys[:, order], mask[:, order])
    np.testing.assert_allclose(mixed_anew, mixed, atol=1e-12)
    np.testing.assert_allclose(permuted, weights[:, order], atol=1e-12)


@each_attention
@given(inputs=sentences())
def test_keys_projected_beforehand_give_the_context_of_keys_projected_inside(kind, inputs):
    query, keys, mask = inputs
    attention = module_for(kind, query)
    with torch.no_grad():
        beforehand = attention(query, keys, mask, attention.project_keys(keys))
        inside = attention(query, keys, mask)
    for first, second in zip(beforehand, inside, strict=True):
        np.testing.assert_array_equal(first, second)


@each_attention
def test_keys_projected_beforehand_are_not_projected_again(kind):
    query, keys = torch.zeros(2, 3), torch.ones(2, 4, 3)
    attention = MODULES[kind](3)
    projected = attention.project_keys(keys)
    attention.score.project_keys = lambda keys: pytest.fail("the keys were projected again")
    attention(query, keys, projected_keys=projected)


@each_attention
def test_a_module_keeps_nothing_from_one_call_to_the_next(kind):
    attention = MODULES[kind](3)
    before = {name: set(vars(module)) for name, module in attention.named_modules()}
    attention(torch.randn(2, 3), torch.randn(2, 4, 3))
    assert before == {name: set(vars(module)) for name, module in attention.named_modules()}
    assert not list(attention.buffers())


def test_the_three_modules_are_called_alike():
    signatures = {str(inspect.signature(type(MODULES[kind](3)).forward)) for kind in MODULES}
    assert len(signatures) == 1


@each_attention
def test_a_sentence_without_a_real_token_has_a_zero_context_and_finite_gradients(kind):
    torch.manual_seed(0)
    query = torch.randn(2, 3, requires_grad=True)
    keys = torch.randn(2, 4, 3, requires_grad=True)
    attention = MODULES[kind](3)
    mask = torch.tensor([[True, True, False, False], [False] * 4])
    mixed, weights = attention(query, keys, mask)
    assert (mixed[1] == 0).all()
    assert (weights[1] == 0).all()
    mixed.sum().backward()
    for tensor in (query, keys, *attention.parameters()):
        assert torch.isfinite(tensor.grad).all()
    assert (query.grad[1] == 0).all()


@given(sentences())
def test_every_entry_of_the_context_lies_between_those_of_the_real_annotations(inputs):
    _, keys, mask = inputs
    mixed = attend(keys.sum(dim=-1), keys, mask)
    for b in range(len(keys)):
        real = keys[b, mask[b]]
        assert (mixed[b] <= real.max(dim=0).values + 1e-12).all()
        assert (mixed[b] >= real.min(dim=0).values - 1e-12).all()


@given(mixtures())
def test_a_weight_of_one_picks_out_its_annotation(mixture):
    weights, keys = mixture
    for j in range(weights.shape[1]):
        one_hot = np.zeros_like(weights)
        one_hot[:, j] = 1
        np.testing.assert_array_equal(context.context_vector(one_hot, keys), keys[:, j])


@given(mixtures(), st.integers(0, 2**32 - 1))
def test_the_gradient_by_hand_is_that_of_autograd(mixture, seed):
    weights, keys = mixture
    upstream = np.random.default_rng(seed).normal(size=(len(keys), keys.shape[2]))
    scores = torch.from_numpy(np.log(weights)).requires_grad_()
    attend(scores, torch.from_numpy(keys), torch.ones(weights.shape, dtype=torch.bool)).backward(
        torch.from_numpy(upstream)
    )
    np.testing.assert_allclose(context.scores_gradient(upstream, weights, keys), scores.grad, atol=1e-10)


@given(mixtures(), st.integers(0, 2**32 - 1))
def test_the_gradients_of_a_sentence_add_to_zero(mixture, seed):
    weights, keys = mixture
    upstream = np.random.default_rng(seed).normal(size=(len(keys), keys.shape[2]))
    np.testing.assert_allclose(context.scores_gradient(upstream, weights, keys).sum(axis=1), 0, atol=1e-12)


@given(mixtures())
def test_a_score_pulls_the_context_towards_its_annotation(mixture):
    weights, keys = mixture
    mixed = context.context_vector(weights, keys)
    for j in range(weights.shape[1]):
        pull = keys[:, j] - mixed
        assert (context.scores_gradient(pull, weights, keys)[:, j] >= 0).all()


def test_gradients_of_attend_with_pads_are_those_of_finite_differences():
    torch.manual_seed(0)
    scores = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)
    keys = torch.randn(3, 4, 2, dtype=torch.float64, requires_grad=True)
    mask = torch.arange(4) < torch.tensor([[4], [2], [0]])
    assert torch.autograd.gradcheck(lambda scores, keys: attend(scores, keys, mask), (scores, keys))


@each_attention
def test_gradients_of_a_module_with_pads_are_those_of_finite_differences(kind):
    torch.manual_seed(0)
    query = torch.randn(3, 2, dtype=torch.float64, requires_grad=True)
    keys = torch.randn(3, 4, 2, dtype=torch.float64, requires_grad=True)
    mask = torch.arange(4) < torch.tensor([[4], [2], [0]])
    attention = MODULES[kind](2).double()
    assert torch.autograd.gradcheck(lambda query, keys: attention(query, keys, mask), (query, keys))


@given(hnp.arrays(float, (2, 4), elements=st.floats(-1e4, 1e4)))
def test_scores_up_to_ten_thousand_give_finite_contexts_and_gradients(scores):
    scores = torch.from_numpy(scores).requires_grad_()
    keys = torch.arange(24, dtype=torch.float64).reshape(2, 4, 3)
    mixed = attend(scores, keys, torch.arange(4) < torch.tensor([[4], [3]]))
    mixed.sum().backward()
    assert torch.isfinite(mixed).all()
    assert torch.isfinite(scores.grad).all()


@each_attention
@given(inputs=sentences())
def test_single_precision_agrees_with_double_precision(kind, inputs):
    query, keys, mask = inputs
    attention = module_for(kind, query)
    with torch.no_grad():
        double, _ = attention(query, keys, mask)
        single, _ = attention.float()(query.float(), keys.float(), mask)
    assert single.dtype == torch.float32
    np.testing.assert_allclose(single, double, atol=1e-4)


def test_the_context_of_note_d_is_the_printed_one():
    answer = context.context_of_note_d()
    assert answer["context"] == pytest.approx([0.12, 0.37, 0.40, 0.37], abs=1e-12)
    assert answer["as_printed"] == pytest.approx(0.7 * 0.1 + 0.2 * 0.1 + 0.1 * 0.7, abs=1e-12)


def test_the_context_of_note_c_lies_between_its_annotations_as_computed_by_hand():
    assert context.context_of_note_c() == pytest.approx([0.575546, 0.575546], abs=1e-6)


def test_the_weights_of_the_exercise_mix_its_annotations_into_its_context():
    weights = np.array([context.weights_from_context()])
    keys = np.array([[[1.0, 2.0], [5.0, 0.0], [3.0, 6.0]]])
    assert (weights > 0).all()
    np.testing.assert_allclose(weights.sum(), 1)
    np.testing.assert_allclose(context.context_vector(weights, keys), [[2.36, 3.14]])


def test_the_pull_of_the_exercise_is_the_derivative_and_vanishes_where_it_says():
    keys = torch.tensor([[[3.0, -1.0], [-1.0, 2.0]]], dtype=torch.float64)
    answer = context.pull_of_two()

    def pull(gap):
        scores = torch.tensor([[gap, 0.0]], dtype=torch.float64)
        both = torch.ones(1, 2, dtype=torch.bool)
        return torch.autograd.functional.jacobian(lambda e: attend(e, keys, both), scores)[0, :, 0, 0]

    assert answer["largest"] == pytest.approx(pull(0.0).norm().item())
    assert answer["largest"] == pytest.approx(max(pull(gap).norm().item() for gap in np.linspace(-4, 4, 81)))
    assert answer["at_three"] == pytest.approx(pull(3.0).tolist())
    assert pull(answer["gap"]).norm().item() == pytest.approx(answer["largest"] / 10)


@pytest.fixture(scope="module")
def broken():
    """The program as the exercise shows it."""
    body = chapter_texts(BOOK / "context.md")[1]["context-mended_attention"].body
    scope = {"np": np}
    exec(re.search(r"```python\n(.*?)```", body, flags=re.DOTALL)[1], scope)
    return scope["mended_attention"]


def one_attention(seed, batch, source_len, scale=1.0):
    rng = np.random.default_rng(seed)
    shapes = {"query": (batch, 3), "keys": (batch, source_len, 4), "W_query": (5, 3), "W_key": (5, 4), "v": (5,)}
    drawn = {name: rng.normal(size=shape) for name, shape in shapes.items()}
    return {**drawn, "v": scale * drawn["v"], "source_mask": np.ones((batch, source_len), dtype=bool)}


@given(st.integers(0, 2**32 - 1), SIZES)
def test_the_broken_program_is_right_on_one_sentence_without_pads(broken, seed, source_len):
    given_once = one_attention(seed, 1, source_len)
    np.testing.assert_allclose(broken(**given_once), context.mended_attention(**given_once), atol=1e-10)


def test_the_broken_program_is_the_mistake_of_that_name_and_each_of_its_faults_shows(broken):
    several, padded, large = one_attention(0, 3, 3), one_attention(1, 1, 4), one_attention(2, 1, 4, scale=2000.0)
    padded["source_mask"][0, 2:] = False
    for case in (several, padded, large):
        with np.errstate(all="ignore"):
            shown, listed = broken(**case), mistakes.mended_attention__as_it_stood(**case)
        np.testing.assert_array_equal(shown, listed)
        assert not np.allclose(shown, context.mended_attention(**case))
    with pytest.raises(ValueError, match="broadcast"):
        broken(**one_attention(3, 2, 3))


@given(sentences())
def test_the_mended_program_is_the_module_in_torch(inputs):
    query, keys, mask = inputs
    attention = module_for("additive", query)
    score = attention.score
    with torch.no_grad():
        mixed, _ = attention(query, keys, mask)
    parameters = (score.W_query.weight, score.W_key.weight, score.v.weight[0])
    mended = context.mended_attention(*(each.numpy() for each in (query, keys, mask)), *map(as_array, parameters))
    np.testing.assert_allclose(mended, mixed, atol=1e-12)


def as_array(parameter):
    return parameter.detach().numpy()


@pytest.fixture(scope="module")
def note_e():
    """Note E's program as the exercise shows it, with layers whose weights are given."""
    body = chapter_texts(BOOK / "context.md")[1]["context-mended_note_e"].body
    source = re.search(r"```python\n(.*?)```", body, flags=re.DOTALL)[1]

    def attention(s_previous, h_j, W, V, W_s=None):
        matrices = iter([W, V[None]] if W_s is None else [W, W_s, V[None]])

        def linear(*sizes):
            matrix = next(matrices)
            return lambda x: x @ matrix.T

        scope = {"torch": torch, "nn": type("nn", (), {"Linear": linear}), "F": torch.nn.functional}
        exec(source, scope)
        return scope["attention"](s_previous, h_j, "dot" if W_s is None else "add")

    return attention


def one_note_e(batch, source_len, m=4, n=3, a=4):
    torch.manual_seed(0)
    shapes = {"s_previous": (batch, n), "h_j": (batch, source_len, m), "W": (a, m + n), "V": (a,)}
    return {name: torch.randn(shape, dtype=torch.float64, requires_grad=True) for name, shape in shapes.items()}


def in_two_matrices(case):
    return {**case, "W": case["W"][:, :4], "W_s": case["W"][:, 4:]}


@pytest.mark.parametrize("mode", [dict, in_two_matrices], ids=["one matrix", "two matrices"])
def test_note_e_gives_the_mended_context_where_each_row_brings_the_state_along_and_no_gradient(note_e, mode):
    case = mode(one_note_e(1, 5))
    rows = {**case, "s_previous": case["s_previous"].expand(5, -1), "h_j": case["h_j"][0]}
    with_a_state_a_row = note_e(**rows)
    np.testing.assert_allclose(with_a_state_a_row, as_array(mended_note_e(**case)), atol=1e-12)
    assert not with_a_state_a_row.requires_grad


def test_note_e_cannot_score_several_annotations_with_one_state_in_its_first_mode(note_e):
    case = one_note_e(1, 5)
    with pytest.raises(RuntimeError, match="Sizes of tensors must match"):
        note_e(**{**case, "h_j": case["h_j"][0]})


@pytest.mark.parametrize("mode", [dict, in_two_matrices], ids=["one matrix", "two matrices"])
def test_the_mended_note_e_is_the_additive_module_and_differentiable(mode):
    case = one_note_e(3, 4)
    attention = AdditiveAttention(3, 4, 4).double()
    with torch.no_grad():
        attention.score.W_key.weight.copy_(case["W"][:, :4])
        attention.score.W_query.weight.copy_(case["W"][:, 4:])
        attention.score.v.weight.copy_(case["V"][None])
        mixed, _ = attention(case["s_previous"], case["h_j"], torch.ones(3, 4, dtype=torch.bool))
        np.testing.assert_allclose(mended_note_e(**mode(case)), mixed, atol=1e-12)
    assert torch.autograd.gradcheck(mended_note_e, tuple(mode(case).values()))


def test_what_note_e_printed_mixes_two_rows_of_thirty_numbers():
    outputs, last = torch.nn.RNN(20, 30, bidirectional=True)(torch.zeros(50, 20))
    answer = context.what_was_printed()
    assert (answer["mixed"], 30) == tuple(last.shape)
    assert (answer["annotations"], answer["size"]) == tuple(outputs.shape)
