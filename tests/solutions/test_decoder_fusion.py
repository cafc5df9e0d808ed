"""A decoder step follows its formulas, in numpy and torch alike, in Bahdanau's order, and ignores pads."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from solutions.in_numpy import decoder_fusion, scoring
from solutions.in_numpy.context import context_vector
from solutions.in_numpy.output_layer import output_distribution
from solutions.in_torch.context import AdditiveAttention, DotProductAttention, MultiplicativeAttention, attend
from solutions.in_torch.decoder_fusion import DecoderStep, decoder_step, run_steps
from solutions.mistakes import decoder_fusion as mistakes

SIZES = st.integers(1, 5)
ATTENTIONS = {
    "additive": lambda: AdditiveAttention(4, 4, 3),
    "multiplicative": lambda: MultiplicativeAttention(4, 4),
    "dot product": lambda: DotProductAttention(),
}
each_attention = pytest.mark.parametrize("kind", ATTENTIONS)


def drawn(seed, batch, source_len, d, n, m, a):
    rng = np.random.default_rng(seed)
    shapes = {"query": (batch, n), "embedded": (batch, d), "keys": (batch, source_len, m), "source_mask": None}
    shapes |= {"W_query": (a, n), "W_key": (a, m), "v": (a,), "W_y": (n, d), "W_s": (n, n), "W_c": (n, m)}
    lengths = rng.integers(1, source_len + 1, size=(batch, 1))
    mask = np.arange(source_len) < lengths
    return {name: mask if shape is None else rng.normal(size=shape) for name, shape in shapes.items()}


@st.composite
def steps(draw):
    """All arguments of ``decoder_step``, in numpy; every sentence has a real token."""
    return drawn(draw(st.integers(0, 2**32 - 1)), *(draw(SIZES) for _ in range(6)))


def tensors(inputs):
    return {name: torch.from_numpy(array) for name, array in inputs.items()}


def in_numpy(p):
    """Take one step with the numpy functions of three chapters, sentence by sentence, without pads."""
    states = []
    for b, real in enumerate(p["source_mask"]):
        query, keys, embedded = p["query"][b : b + 1], p["keys"][b : b + 1, real], p["embedded"][b : b + 1]
        scores = scoring.additive_score(query, keys, p["W_query"], p["W_key"], p["v"])
        exponentials = np.exp(scores - scores.max())
        mixed = context_vector(exponentials / exponentials.sum(), keys)
        states.append(decoder_fusion.decoder_step_state(embedded, query, mixed, p["W_y"], p["W_s"], p["W_c"])[0])
    return np.array(states)


def module_of(p):
    """A ``DecoderStep`` with the parameters in ``p``."""
    p = tensors(p)
    (a, n), m, d = p["W_query"].shape, p["W_key"].shape[1], p["W_y"].shape[1]
    module = DecoderStep(AdditiveAttention(n, m, a), d, n, m).double()
    score = {"W_query.weight": p["W_query"], "W_key.weight": p["W_key"], "v.weight": p["v"].unsqueeze(0)}
    cell = {"weight_ih": torch.cat([p["W_y"], p["W_c"]], dim=1), "weight_hh": p["W_s"]}
    named = {f"attention.score.{name}": value for name, value in score.items()}
    module.load_state_dict(named | {f"cell.{name}": value for name, value in cell.items()})
    return module


@given(steps())
def test_a_step_in_torch_gives_the_state_of_the_numpy_functions(p):
    np.testing.assert_allclose(decoder_step(**tensors(p)), in_numpy(p), atol=1e-12)


@given(steps())
def test_joining_and_one_matrix_give_the_state_of_three_matrices(p):
    four = [torch.from_numpy(p[name]) for name in ("query", "embedded", "keys", "source_mask")]
    with torch.no_grad():
        state, weights = module_of(p)(*four)
    np.testing.assert_allclose(state, decoder_step(**tensors(p)), atol=1e-12)
    np.testing.assert_allclose(weights.sum(dim=1), np.ones(len(state)), atol=1e-12)


@given(steps(), st.integers(1, 3), st.floats(-1e3, 1e3))
def test_pads_do_not_change_the_new_state(p, pads, content):
    longer = np.pad(p["keys"], ((0, 0), (0, pads), (0, 0)), constant_values=content)
    mask = np.pad(p["source_mask"], ((0, 0), (0, pads)))
    padded = decoder_step(**tensors(p | {"keys": longer, "source_mask": mask}))
    np.testing.assert_allclose(padded, decoder_step(**tensors(p)), atol=1e-12)


@given(steps(), st.randoms(use_true_random=False))
def test_the_order_of_the_positions_does_not_change_the_new_state(p, random):
    order = list(range(p["keys"].shape[1]))
    random.shuffle(order)
    permuted = p | {"keys": p["keys"][:, order], "source_mask": p["source_mask"][:, order]}
    np.testing.assert_allclose(decoder_step(**tensors(permuted)), decoder_step(**tensors(p)), atol=1e-12)


@given(steps())
def test_sentences_of_a_batch_do_not_touch_each_other(p):
    whole = decoder_step(**tensors(p))
    for b in range(len(whole)):
        alone = {name: p[name][b : b + 1] for name in ("query", "embedded", "keys", "source_mask")}
        np.testing.assert_allclose(decoder_step(**tensors(p | alone))[0], whole[b], atol=1e-12)


@given(steps())
def test_without_a_real_token_only_word_and_old_state_are_left(p):
    nothing = np.zeros_like(p["source_mask"])
    state = decoder_step(**tensors(p | {"source_mask": nothing}))
    without_context = np.tanh(p["embedded"] @ p["W_y"].T + p["query"] @ p["W_s"].T)
    np.testing.assert_allclose(state, without_context, atol=1e-12)


def test_gradients_with_a_sentence_without_a_real_token_are_finite():
    p = tensors(drawn(0, 3, 5, 2, 4, 3, 6))
    p["source_mask"][1] = False
    learned = {name: tensor.requires_grad_() for name, tensor in p.items() if name != "source_mask"}
    decoder_step(**p).sum().backward()
    assert all(torch.isfinite(tensor.grad).all() for tensor in learned.values())
    assert (learned["keys"].grad[1] == 0).all()
    assert (learned["keys"].grad[~p["source_mask"]] == 0).all()


def test_gradients_of_a_step_with_pads_are_those_of_finite_differences():
    p = tensors(drawn(1, 2, 3, 2, 3, 2, 2))
    p["source_mask"] = torch.tensor([[True, True, False], [False, False, False]])
    names = [name for name in p if name != "source_mask"]

    def step(*arguments):
        return decoder_step(**dict(zip(names, arguments, strict=True)), source_mask=p["source_mask"])

    assert torch.autograd.gradcheck(step, [p[name].requires_grad_() for name in names])


@given(steps(), st.floats(-1e4, 1e4))
def test_scores_up_to_ten_thousand_give_finite_states_and_gradients(p, factor):
    p = tensors(p)
    p["v"] = (p["v"] / p["v"].abs().sum() * factor).requires_grad_()
    p["query"].requires_grad_()
    state = decoder_step(**p)
    state.sum().backward()
    assert torch.isfinite(state).all()
    assert torch.isfinite(p["v"].grad).all()
    assert torch.isfinite(p["query"].grad).all()


@given(steps())
def test_single_precision_agrees_with_double_precision(p):
    single = {name: tensor.float() if name != "source_mask" else tensor for name, tensor in tensors(p).items()}
    state = decoder_step(**single)
    assert state.dtype == torch.float32
    np.testing.assert_allclose(state, decoder_step(**tensors(p)), atol=1e-3)


@given(steps())
def test_every_entry_of_a_state_lies_between_minus_one_and_one(p):
    assert (decoder_step(**tensors(p)).abs() <= 1).all()


@each_attention
@given(seed=st.integers(0, 2**32 - 1), length=st.integers(1, 4))
def test_a_run_of_steps_is_one_step_after_the_other(kind, seed, length):
    torch.manual_seed(seed)
    step = DecoderStep(ATTENTIONS[kind](), embedding_size=2, query_size=4, key_size=4)
    state, embedded, keys = torch.randn(3, 4), torch.randn(3, length, 2), torch.randn(3, 5, 4)
    mask = torch.arange(5) < torch.tensor([[5], [2], [1]])
    with torch.no_grad():
        states, weights = run_steps(step, state, embedded, keys, mask)
        for i in range(length):
            state, looks = step(state, embedded[:, i], keys, mask)
            torch.testing.assert_close(states[:, i], state)
            torch.testing.assert_close(weights[:, i], looks)


@each_attention
def test_a_run_of_steps_projects_the_keys_once(kind):
    step = DecoderStep(ATTENTIONS[kind](), embedding_size=2, query_size=4, key_size=4)
    project, calls = step.attention.score.project_keys, []
    step.attention.score.project_keys = lambda keys: calls.append(1) or project(keys)
    run_steps(step, torch.zeros(1, 4), torch.zeros(1, 6, 2), torch.zeros(1, 3, 4))
    assert len(calls) == 1


def test_a_word_reaches_the_weights_of_later_steps_and_of_no_earlier_one():
    torch.manual_seed(0)
    step = DecoderStep(ATTENTIONS["additive"](), embedding_size=2, query_size=4, key_size=4)
    state, embedded, keys = torch.randn(1, 4), torch.randn(1, 4, 2), torch.randn(1, 5, 4)
    other = embedded.clone()
    other[:, 1] += 1
    with torch.no_grad():
        _, weights = run_steps(step, state, embedded, keys)
        _, changed = run_steps(step, state, other, keys)
    differs = (weights != changed).any(dim=2)[0]
    assert differs.tolist() == [False, False, True, True]


def test_the_old_state_is_scored_and_not_the_new_one():
    p = tensors(drawn(2, 2, 4, 3, 4, 5, 6))
    early = mistakes.decoder_step__note_b_order(**p)
    assert (decoder_step(**p) - early).abs().max() > 1e-3


def test_the_state_of_note_c_rounds_to_the_printed_one():
    state = decoder_fusion.note_c_state()
    assert state == pytest.approx([0.932281, 0.900630], abs=1e-6)
    assert [round(entry, 2) for entry in state] == [0.93, 0.90]


def test_of_the_six_wrong_methods_two_lie_in_the_band_of_weights_that_round_to_the_printed_state():
    answer = decoder_fusion.two_decimals()
    weights = np.array(answer["weights"])
    states = np.tanh(np.array([0.6, 0.4]) + 0.5 + (0.8 - 0.6 * weights)[:, None])
    alike = [n for n, (x, y) in enumerate(states, 1) if (f"{x:.2f}", f"{y:.2f}") == ("0.93", "0.90")]
    assert answer["alike"] == alike == [1, 4]
    assert abs(weights - 0.374090).min() > 1e-2  # none is right


def test_the_state_of_note_d_with_our_completion_is_the_one_on_the_page():
    assert decoder_fusion.note_d_state() == pytest.approx([0.396930, 0.584980, 0.604368], abs=1e-6)
    embedded, query, context = np.zeros((1, 1)), np.full((1, 3), 0.3), np.array([[0.12, 0.37, 0.40, 0.37]])
    state = decoder_fusion.decoder_step_state(embedded, query, context, np.zeros((3, 1)), np.eye(3), np.eye(3, 4))
    np.testing.assert_allclose(state[0], decoder_fusion.note_d_state(), atol=1e-12)


def test_luongs_step_is_the_recurrence_then_the_multiplicative_attention_then_one_layer():
    torch.manual_seed(0)
    sizes = {"fed": (3, 7), "embedded": (3, 2), "query": (3, 4), "keys": (3, 6, 5)}
    sizes |= {"W_y": (4, 2), "W_s": (4, 4), "W_fed": (4, 7), "W": (4, 5), "W_mix": (7, 9)}
    p = {name: torch.randn(size, dtype=torch.float64) for name, size in sizes.items()}
    mask = torch.arange(6) < torch.tensor([[6], [2], [0]])
    joined = torch.cat([p["embedded"], p["fed"]], dim=1)
    cell = torch.nn.RNNCell(9, 4, bias=False, dtype=torch.float64)
    attention = MultiplicativeAttention(4, 5).double()
    with torch.no_grad():
        cell.weight_ih.copy_(torch.cat([p["W_y"], p["W_fed"]], dim=1))
        cell.weight_hh.copy_(p["W_s"])
        attention.score.W.weight.copy_(p["W"])
        state = cell(joined, p["query"])
        context, _ = attention(state, p["keys"], mask)
    expected = torch.tanh(torch.cat([context, state], dim=1) @ p["W_mix"].T)
    arguments = {name: array.numpy() for name, array in p.items()}
    np.testing.assert_allclose(decoder_fusion.luong_step(source_mask=mask.numpy(), **arguments), expected, atol=1e-12)


@st.composite
def note_a_inputs(draw):
    batch, steps, n, source_len, m, a, d, words = (draw(SIZES) for _ in range(8))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    shapes = {
        "state": (batch, n),
        "keys": (batch, source_len, m),
        "W_query": (a, n),
        "W_key": (a, m),
        "v": (a,),
        "E": (d, words),
        "L_1": (n, d + m),
        "W_input": (n, n),
        "W_s": (n, n),
        "L_2": (words, n + m),
    }
    arrays = {name: rng.normal(size=shape) for name, shape in shapes.items()}
    return {"words": rng.integers(0, words, size=(batch, steps)), **arrays}


@given(note_a_inputs())
def test_note_a_repaired_is_made_of_the_functions_of_other_chapters(inputs):
    state, n, d, outputs = inputs["state"], inputs["state"].shape[1], len(inputs["E"]), []
    for word in inputs["words"].T:
        scores = scoring.additive_score(state, inputs["keys"], inputs["W_query"], inputs["W_key"], inputs["v"])
        context = attend(*map(torch.tensor, (scores, inputs["keys"], np.ones(scores.shape, dtype=bool)))).numpy()
        k = np.maximum(inputs["E"][:, word].T @ inputs["L_1"][:, :d].T + context @ inputs["L_1"][:, d:].T, 0)
        state = np.tanh(k @ inputs["W_input"].T + state @ inputs["W_s"].T)
        L_2, no_bias = inputs["L_2"], np.zeros(len(inputs["L_2"]))
        outputs.append(output_distribution(state, context, L_2[:, :n], L_2[:, n:], no_bias))
    np.testing.assert_allclose(decoder_fusion.mended_note_a(**inputs), np.stack(outputs, axis=1), atol=1e-12)


@given(note_a_inputs())
def test_note_a_repaired_gives_each_sentence_what_it_would_get_alone_and_does_not_read_ahead(inputs):
    outputs = decoder_fusion.mended_note_a(**inputs)
    np.testing.assert_allclose(outputs.sum(axis=-1), 1, atol=1e-12)
    last = {name: inputs[name][-1:] for name in ("words", "state", "keys")}
    np.testing.assert_allclose(decoder_fusion.mended_note_a(**{**inputs, **last}), outputs[-1:], atol=1e-12)
    first = {"words": inputs["words"][:, :1]}
    np.testing.assert_allclose(decoder_fusion.mended_note_a(**{**inputs, **first}), outputs[:, :1], atol=1e-12)
