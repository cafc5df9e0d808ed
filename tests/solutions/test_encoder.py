"""The reference answers of the encoder topic follow their formulas, in numpy and in torch alike."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from solutions.in_numpy import encoder
from solutions.in_torch.encoder import Encoder, annotate

SIZES = st.integers(1, 4)
MATRICES = ("W_x", "W_h", "W_x_back", "W_h_back")
VOCAB_SIZE = 9


@st.composite
def padded_batches(draw, shortest=1):
    """Return the arguments of the two functions that compute annotations; pads are at the end of their rows."""
    batch, source_len, d, m = (draw(SIZES) for _ in range(4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    lengths = draw(st.lists(st.integers(shortest, source_len), min_size=batch, max_size=batch))
    shapes = {"W_x": (m, d), "W_h": (m, m), "W_x_back": (m, d), "W_h_back": (m, m)}
    mask = np.arange(source_len) < np.array(lengths)[:, None]
    return {"embedded": rng.normal(size=(batch, source_len, d)), "source_mask": mask} | {
        name: rng.normal(size=shape) for name, shape in shapes.items()
    }


@st.composite
def sentences(draw):
    """Return an encoder, token ids and unsorted lengths."""
    batch, source_len, hidden_size, query_size = (draw(SIZES) for _ in range(4))
    torch.manual_seed(draw(st.integers(0, 1000)))
    lengths = torch.tensor(draw(st.lists(st.integers(1, source_len), min_size=batch, max_size=batch)))
    tokens = torch.randint(VOCAB_SIZE, (batch, source_len))
    return Encoder(VOCAB_SIZE, 3, hidden_size, query_size).double(), tokens, lengths


def tensors(inputs):
    return {name: torch.from_numpy(array) for name, array in inputs.items()}


@given(padded_batches(shortest=0))
def test_annotations_are_the_same_in_numpy_and_torch(inputs):
    annotations = encoder.bidirectional_annotations(**inputs)
    np.testing.assert_allclose(annotate(**tensors(inputs)), annotations, atol=1e-12)


@given(padded_batches())
def test_annotations_are_those_of_the_packed_network_of_torch(inputs):
    given_tensors = tensors(inputs)
    rnn = torch.nn.RNN(*inputs["W_x"].shape[::-1], bias=False, batch_first=True, bidirectional=True).double()
    names = ("weight_ih_l0", "weight_hh_l0", "weight_ih_l0_reverse", "weight_hh_l0_reverse")
    rnn.load_state_dict({ours: given_tensors[name] for ours, name in zip(names, MATRICES, strict=True)})
    packed = torch.nn.utils.rnn.pack_padded_sequence(
        given_tensors["embedded"], given_tensors["source_mask"].sum(1), batch_first=True, enforce_sorted=False
    )
    outputs, _ = torch.nn.utils.rnn.pad_packed_sequence(
        rnn(packed)[0], batch_first=True, total_length=inputs["embedded"].shape[1]
    )
    np.testing.assert_allclose(annotate(**given_tensors), outputs.detach(), atol=1e-12)


@given(padded_batches(shortest=0), st.floats(-1e4, 1e4))
def test_what_stands_at_a_pad_changes_no_annotation_and_its_own_is_zero(inputs, at_pads):
    mask = inputs["source_mask"]
    filled = np.where(mask[:, :, None], inputs["embedded"], at_pads)
    annotations = annotate(**tensors(inputs | {"embedded": filled})).numpy()
    np.testing.assert_allclose(annotations, annotate(**tensors(inputs)), atol=1e-12)
    assert (annotations[~mask] == 0).all()
    assert np.isfinite(annotations).all()


@given(padded_batches())
def test_the_forward_half_holds_the_states_of_reading_from_the_left(inputs):
    states = encoder.rnn_states(inputs["embedded"], inputs["W_x"], inputs["W_h"])
    assert (np.abs(states) <= 1).all()
    annotations = encoder.bidirectional_annotations(**inputs)
    m = len(inputs["W_h"])
    expected = np.where(inputs["source_mask"][:, :, None], states, 0)
    np.testing.assert_allclose(annotations[:, :, :m], expected, atol=1e-12)


@given(padded_batches())
def test_reading_is_one_step_after_the_other(inputs):
    states = encoder.rnn_states(inputs["embedded"], inputs["W_x"], inputs["W_h"])
    state = np.zeros_like(states[:, 0])
    for j in range(states.shape[1]):
        state = encoder.rnn_step(inputs["embedded"][:, j], state, inputs["W_x"], inputs["W_h"])
        np.testing.assert_allclose(states[:, j], state, atol=1e-12)


@given(padded_batches())
def test_turning_the_words_round_exchanges_the_two_directions(inputs):
    inputs = inputs | {"source_mask": np.ones_like(inputs["source_mask"])}
    there = encoder.bidirectional_annotations(**inputs)
    exchanged = {"W_x": "W_x_back", "W_h": "W_h_back", "W_x_back": "W_x", "W_h_back": "W_h"}
    turned = {name: inputs[other] for name, other in exchanged.items()}
    back = encoder.bidirectional_annotations(**inputs | turned | {"embedded": inputs["embedded"][:, ::-1]})
    m = len(inputs["W_h"])
    np.testing.assert_allclose(back[:, ::-1, m:], there[:, :, :m], atol=1e-12)
    np.testing.assert_allclose(back[:, ::-1, :m], there[:, :, m:], atol=1e-12)


@given(padded_batches())
def test_single_precision_agrees_with_double_precision(inputs):
    given_tensors = tensors(inputs)
    single = {n: t if n == "source_mask" else t.float() for n, t in given_tensors.items()}
    assert annotate(**single).dtype == torch.float32
    np.testing.assert_allclose(annotate(**single), annotate(**given_tensors), atol=1e-4)


def test_gradients_of_the_annotations_are_those_of_finite_differences():
    torch.manual_seed(0)
    shapes = {"W_x": (4, 3), "W_h": (4, 4), "W_x_back": (4, 3), "W_h_back": (4, 4)}
    embedded = torch.randn(2, 5, 3, dtype=torch.float64, requires_grad=True)
    matrices = [torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in shapes.values()]
    mask = torch.arange(5) < torch.tensor([[5], [2]])
    assert torch.autograd.gradcheck(annotate, [embedded, mask, *matrices])


@given(st.integers(1, 4), st.integers(1, 4), st.integers(1, 4))
def test_looking_a_word_up_is_multiplying_its_one_hot_column(batch, source_len, d):
    rng = np.random.default_rng(d)
    tokens, E_x = rng.integers(VOCAB_SIZE, size=(batch, source_len)), rng.normal(size=(d, VOCAB_SIZE))
    one_hots = np.eye(VOCAB_SIZE)[tokens]
    np.testing.assert_allclose(encoder.look_up(tokens, E_x), np.einsum("dv,bjv->bjd", E_x, one_hots), atol=1e-12)
    embedding = torch.nn.Embedding.from_pretrained(torch.from_numpy(E_x).T)
    np.testing.assert_allclose(embedding(torch.from_numpy(tokens)), encoder.look_up(tokens, E_x), atol=1e-12)


@given(sentences())
def test_a_packed_batch_gives_each_sentence_what_it_gets_alone(inputs):
    module, tokens, lengths = inputs
    annotations, first_states = module(tokens, lengths)
    for b, length in enumerate(lengths.tolist()):
        alone, first_state = module(tokens[b, None, :length], lengths[b, None])
        torch.testing.assert_close(annotations[b, :length], alone[0], atol=1e-12, rtol=0)
        torch.testing.assert_close(first_states[b], first_state[0], atol=1e-12, rtol=0)


@given(sentences())
def test_annotations_of_pads_are_zero_and_their_word_numbers_do_not_matter(inputs):
    module, tokens, lengths = inputs
    real = torch.arange(tokens.shape[1]) < lengths[:, None]
    annotations, first_states = module(tokens, lengths)
    others, same_states = module(torch.where(real, tokens, 0), lengths)
    assert annotations.shape == (*tokens.shape, 2 * module.rnn.hidden_size)
    assert (annotations[~real] == 0).all()
    torch.testing.assert_close(annotations, others, atol=0, rtol=0)
    torch.testing.assert_close(first_states, same_states, atol=0, rtol=0)


@given(sentences(), st.randoms(use_true_random=False))
def test_permuting_the_sentences_permutes_what_the_encoder_returns(inputs, random):
    module, tokens, lengths = inputs
    order = list(range(len(tokens)))
    random.shuffle(order)
    for permuted, whole in zip(module(tokens[order], lengths[order]), module(tokens, lengths), strict=True):
        torch.testing.assert_close(permuted, whole[order], atol=1e-12, rtol=0)


@given(sentences())
def test_the_first_query_comes_from_the_backward_state_at_the_first_word(inputs):
    module, tokens, lengths = inputs
    annotations, first_states = module(tokens, lengths)
    first_backward = annotations[:, 0, module.rnn.hidden_size :]
    assert first_states.shape == (len(tokens), module.W_init.out_features)
    torch.testing.assert_close(first_states, torch.tanh(first_backward @ module.W_init.weight.T), atol=1e-12, rtol=0)


def test_every_parameter_of_the_encoder_gets_a_gradient():
    torch.manual_seed(0)
    module = Encoder(VOCAB_SIZE, 3, 4, 5)
    annotations, first_states = module(torch.tensor([[1, 2, 0], [3, 4, 5]]), torch.tensor([2, 3]))
    (annotations.sum() + first_states.sum()).backward()
    assert all(parameter.grad is not None and parameter.grad.any() for parameter in module.parameters())
    assert not module.embedding.weight.grad[0].any()  # word 0 occurs only at a pad


def test_the_answers_by_hand_are_those_of_the_functions():
    matrices = {"W_x": np.array([[1, 0.5, 0], [0, 1, 0.5]]), "W_h": np.array([[0, 1], [0.5, 0]])}
    states = encoder.rnn_states(np.array([[[0.5, -1, 1], [1, 0, 0]]]), **matrices)
    np.testing.assert_allclose(list(encoder.states_by_hand().values()), states[0], atol=1e-12)
    W_x, W_h = np.array([[0.5, 0], [0, 1], [-0.5, 1]]), np.array([[0, 1, 0], [0.5, 0, 0], [0, 0.5, -1]])
    states = encoder.rnn_states(np.array([[[2, -0.5], [-1, 0.5]]]), W_x, W_h)
    np.testing.assert_allclose(list(encoder.states_by_hand_twin().values()), states[0], atol=1e-12)
    numbers = [np.array([[number]]) for number in (1, 0.5, -0.5, 0.8)]
    words = np.array([[[0.5], [-1], [2]]])
    annotations = encoder.bidirectional_annotations(words, np.ones((1, 3), bool), *numbers)
    assert encoder.annotation_by_hand() == pytest.approx(annotations[0, 1], abs=1e-12)


def test_an_embedding_pays_from_the_size_that_the_exercise_gives():
    answer = encoder.worth_an_embedding()
    saved = [m * 30_000 - 300 * (30_000 + m) for m in (answer["pays_from"] - 1, answer["pays_from"])]
    assert saved[0] < 0 < saved[1]
    assert answer["two_matrices"] - answer["one_matrix"] == 300 * (30_000 + 4) - 4 * 30_000
