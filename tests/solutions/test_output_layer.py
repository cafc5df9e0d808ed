"""The output layer, the decoder and the whole model follow their formulas."""

import copy
import itertools
import json
import re

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from autograder.notebooks.chapter import chapter_texts
from autograder.paths import BOOK
from solutions.in_numpy import output_layer
from solutions.in_torch.context import AdditiveAttention, DotProductAttention, MultiplicativeAttention
from solutions.in_torch.encoder import Encoder
from solutions.in_torch.output_layer import Decoder, LastAnnotation, Seq2Seq, beam_search, beam_step

SIZES = st.integers(1, 5)
SEEDS = st.integers(0, 2**32 - 1)
START, STOP, WORDS = 0, 1, 6
EMBEDDING, HIDDEN, QUERY = 3, 4, 8  # the annotations have 2 * HIDDEN entries, so dot products are possible
ATTENTIONS = {
    "additive": lambda: AdditiveAttention(QUERY, 2 * HIDDEN, 5),
    "multiplicative": lambda: MultiplicativeAttention(QUERY, 2 * HIDDEN),
    "dot product": DotProductAttention,
    "none": lambda: None,
}
each_attention = pytest.mark.parametrize("attention", ATTENTIONS)


@st.composite
def output_inputs(draw):
    batch, n, m, words = (draw(SIZES) for _ in range(4))
    rng = np.random.default_rng(draw(SEEDS))
    shapes = {
        "state": (batch, n),
        "context": (batch, m),
        "W_state": (words, n),
        "W_context": (words, m),
        "b_o": (words,),
    }
    return {name: rng.normal(size=shape) for name, shape in shapes.items()}


@st.composite
def loss_inputs(draw):
    batch, target_len, words = (draw(SIZES) for _ in range(3))
    rng = np.random.default_rng(draw(SEEDS))
    return {
        "logits": draw(st.sampled_from([1.0, 1000.0])) * rng.normal(size=(batch, target_len, words)),
        "targets": rng.integers(0, words, size=(batch, target_len)),
        "target_mask": rng.random(size=(batch, target_len)) < 0.7,
    }


def model_with(attention, seed=0):
    torch.manual_seed(seed)
    encoder = Encoder(7, 3, HIDDEN, QUERY)
    model = Seq2Seq(encoder, Decoder(WORDS, EMBEDDING, QUERY, 2 * HIDDEN, ATTENTIONS[attention]()))
    with torch.no_grad():
        model.decoder.output.weight.mul_(6)  # an untrained model hardly prefers any word; this gives it preferences
    return model.double()


def batch_of(lengths, seed=0):
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.tensor(lengths)
    source = torch.randint(1, 7, (len(lengths), int(lengths.max())), generator=generator)
    return source.masked_fill(torch.arange(source.shape[1]) >= lengths[:, None], 0), lengths


def log_probability(model, source, lengths, words):
    """Return the log-probability of each row of ``words``, up to and including its first stop token."""
    start = torch.full_like(words[:, :1], START)
    logits, _ = model(source, lengths, torch.cat([start, words[:, :-1]], dim=1))
    right = torch.log_softmax(logits, dim=-1).gather(-1, words.unsqueeze(-1)).squeeze(-1)
    earlier_stops = (words == STOP).cumsum(dim=1) - (words == STOP).long()
    return right.masked_fill(earlier_stops > 0, 0.0).sum(dim=1)


@given(output_inputs())
def test_the_distribution_is_the_softmax_of_torch_on_a_linear_layer(inputs):
    arguments = {name: torch.from_numpy(array) for name, array in inputs.items()}
    joined = torch.cat([arguments["state"], arguments["context"]], dim=-1)
    W_o = torch.cat([arguments["W_state"], arguments["W_context"]], dim=-1)
    expected = torch.softmax(torch.nn.functional.linear(joined, W_o, arguments["b_o"]), dim=-1)
    np.testing.assert_allclose(output_layer.output_distribution(**inputs), expected, atol=1e-12)


@given(output_inputs(), st.sampled_from([1.0, 1e3, 1e6]))
def test_the_distribution_adds_to_1_and_stays_finite(inputs, scale):
    large = {name: scale * array for name, array in inputs.items()}
    distribution = output_layer.output_distribution(**large)
    assert (distribution >= 0).all()
    np.testing.assert_allclose(distribution.sum(axis=-1), 1, atol=1e-12)


@given(output_inputs(), st.floats(-1e3, 1e3))
def test_a_bias_that_is_the_same_for_all_words_changes_nothing(inputs, shift):
    shifted = output_layer.output_distribution(**inputs | {"b_o": inputs["b_o"] + shift})
    np.testing.assert_allclose(shifted, output_layer.output_distribution(**inputs), atol=1e-9)


@given(output_inputs())
def test_a_distribution_in_single_precision_agrees_with_double_precision(inputs):
    single = output_layer.output_distribution(**{name: array.astype(np.float32) for name, array in inputs.items()})
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, output_layer.output_distribution(**inputs), atol=1e-4)


def test_each_rule_hands_out_another_hypothesis_and_two_change_places_at_the_turn():
    answer = output_layer.wider_beam()
    assert len({*answer["winners"][1:]}) == 3
    log_p, lengths = np.array([-3.6, -2.6]), np.array([8, 2])
    for aside, best in ((-1e-6, 1), (1e-6, 0)):
        assert (log_p / ((5 + lengths) / 6) ** (answer["turn"] + aside)).argmax() == best


@given(loss_inputs())
def test_the_cross_entropy_is_that_of_torch_with_ignored_positions(inputs):
    loss = output_layer.cross_entropy(**inputs)
    if not inputs["target_mask"].any():
        assert loss == 0
        return
    targets = torch.from_numpy(np.where(inputs["target_mask"], inputs["targets"], -100))
    expected = torch.nn.functional.cross_entropy(torch.from_numpy(inputs["logits"]).flatten(0, 1), targets.flatten())
    np.testing.assert_allclose(loss, expected, rtol=1e-12, atol=1e-12)


@given(loss_inputs(), st.floats(-1e3, 1e3))
def test_the_cross_entropy_sees_neither_a_shift_of_the_logits_nor_what_stands_at_a_pad(inputs, shift):
    loss = output_layer.cross_entropy(**inputs)
    shifted = output_layer.cross_entropy(**inputs | {"logits": inputs["logits"] + shift})
    other_pads = np.where(inputs["target_mask"][..., None], inputs["logits"], 7.0)
    np.testing.assert_allclose(shifted, loss, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(output_layer.cross_entropy(**inputs | {"logits": other_pads}), loss, rtol=1e-12)
    assert loss >= -1e-12


@given(loss_inputs())
def test_a_cross_entropy_in_single_precision_agrees_with_double_precision(inputs):
    single = output_layer.cross_entropy(**inputs | {"logits": inputs["logits"].astype(np.float32)})
    np.testing.assert_allclose(single, output_layer.cross_entropy(**inputs), rtol=1e-4, atol=1e-4)


@given(loss_inputs())
def test_the_gradient_of_the_logits_is_that_of_autograd(inputs):
    gradient = output_layer.logits_gradient(**inputs)
    assert (gradient[~inputs["target_mask"]] == 0).all()
    if inputs["target_mask"].any():
        logits = torch.from_numpy(inputs["logits"]).requires_grad_()
        targets = torch.from_numpy(np.where(inputs["target_mask"], inputs["targets"], -100))
        torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten()).backward()
        np.testing.assert_allclose(gradient, logits.grad, atol=1e-12)


@given(loss_inputs(), SEEDS)
def test_a_small_step_changes_the_loss_as_the_gradient_says(inputs, seed):
    step = 1e-5 * np.random.default_rng(seed).normal(size=inputs["logits"].shape)
    inputs["logits"] = np.clip(inputs["logits"], -5, 5)
    above, below = (
        output_layer.cross_entropy(**inputs | {"logits": inputs["logits"] + sign * step}) for sign in (1, -1)
    )
    change = 2 * (output_layer.logits_gradient(**inputs) * step).sum()
    np.testing.assert_allclose(above - below, change, rtol=1e-5, atol=1e-13)


@given(loss_inputs())
def test_the_derivatives_of_a_position_add_to_0_since_a_shift_of_its_logits_changes_nothing(inputs):
    np.testing.assert_allclose(output_layer.logits_gradient(**inputs).sum(axis=-1), 0, atol=1e-12)


def matrices_of_the_gradient_exercise():
    """Return the arrays in the text of the exercise, in their order: five parameters, then four gradients."""
    text = chapter_texts(BOOK / "output_layer.md")[1]["output_layer-which_gradient"].body
    rows = [
        [[float(x) for x in row.split("&")] for row in matrix.split("\\\\")]
        for matrix in re.findall(r"begin{pmatrix}(.*?).end{pmatrix}", text)
    ]
    parameters = [np.array(matrix) if len(matrix[0]) > 1 else np.ravel(matrix) for matrix in rows]
    return parameters + [np.array(json.loads(gradient)) for gradient in re.findall(r"`(\[.*\])`", text)]


def back_through_two_steps(W_o, W_s, x_1, x_2, s_0, forgotten=None):
    """Return the loss of the exercise and its gradients, derived by hand, with one thing forgotten."""
    s_1 = np.tanh(x_1 + W_s @ s_0)
    s_2 = np.tanh(x_2 + W_s @ s_1)
    p_1, p_2 = (np.exp(W_o @ s) / np.exp(W_o @ s).sum() for s in (s_1, s_2))
    share, y_1, y_2 = (1 if forgotten == 1 else 1 / 2), np.array([0, 1, 0]), np.array([1, 0, 0])
    error_1, error_2 = (share * (p - (0 if forgotten == 6 else y)) for p, y in ((p_1, y_1), (p_2, y_2)))
    delta_2 = (1 if forgotten == 3 else 1 - s_2**2) * (W_o.T @ error_2)
    from_second_step = {4: 0 * s_1, 5: W_s @ delta_2}.get(forgotten, W_s.T @ delta_2)
    delta_1 = (1 if forgotten == 2 else 1 - s_1**2) * (W_o.T @ error_1 + from_second_step)
    gradients = [
        np.outer(error_1, s_1) + np.outer(error_2, s_2),
        np.outer(delta_1, s_0) + np.outer(delta_2, s_1),
        delta_1,
        W_s.T @ delta_1,
    ]
    return -(np.log(p_1[1]) + np.log(p_2[0])) / 2, gradients


def test_one_printed_gradient_is_what_the_forgotten_step_makes_of_it_and_the_others_are_right():
    *parameters, first, second, third, fourth = matrices_of_the_gradient_exercise()
    printed, answer = [first, second, third, fourth], output_layer.which_gradient()
    loss, right = back_through_two_steps(*parameters)
    _, wrong = back_through_two_steps(*parameters, forgotten=answer["forgotten"])
    right_entry = right[answer["wrong"] - 1].flat[0]
    right[answer["wrong"] - 1] = wrong[answer["wrong"] - 1]
    for shown, computed in zip(printed, right, strict=True):
        np.testing.assert_allclose(shown, computed, atol=5.001e-5)
    np.testing.assert_allclose([answer["loss"], answer["entry"]], [loss, right_entry], atol=1e-8)


def test_the_gradients_by_hand_are_those_of_autograd():
    parameters = [torch.tensor(array, requires_grad=True) for array in matrices_of_the_gradient_exercise()[:5]]
    W_o, W_s, x_1, x_2, s_0 = parameters
    s_1 = torch.tanh(x_1 + W_s @ s_0)
    s_2 = torch.tanh(x_2 + W_s @ s_1)
    torch.nn.functional.cross_entropy(torch.stack([W_o @ s_1, W_o @ s_2]), torch.tensor([1, 0])).backward()
    _, gradients = back_through_two_steps(*(parameter.detach().numpy() for parameter in parameters))
    for wanted, gradient in zip((W_o, W_s, x_1, s_0), gradients, strict=True):
        np.testing.assert_allclose(gradient, wanted.grad, atol=1e-12)


def test_whatever_else_the_author_had_forgotten_would_give_other_numbers():
    parameters = matrices_of_the_gradient_exercise()[:5]
    versions = [back_through_two_steps(*parameters, forgotten=f)[1][2] for f in (None, 1, 2, 3, 4, 5, 6)]
    for one, other in itertools.combinations(versions, 2):
        assert np.abs(one - other).max() > 0.05


def test_the_hindi_word_is_the_one_of_the_worked_example():
    expected = [0.033129, 0.790727, 0.049271, 0.059464, 0.060628, 0.006781]
    assert output_layer.hindi_distribution() == pytest.approx(expected, abs=1e-6)


def test_what_note_d_leaves_out_is_what_the_page_says():
    assert output_layer.what_is_left() == pytest.approx({"left": 0.127, "loss": 0.1393}, abs=5e-5)


def test_the_step_by_hand_is_a_step_of_the_reference_functions():
    step = output_layer.word_by_hand()
    exponentials = np.exp(step["scores"])
    np.testing.assert_allclose(step["weights"], exponentials / exponentials.sum(), atol=1e-12)
    keys = np.array([[0.5, -0.2, 0.1, 0.3], [-0.4, 0.6, 0.2, -0.1]])
    np.testing.assert_allclose(step["context"], np.array(step["weights"]) @ keys, atol=1e-12)
    W_o, b_o = np.array([[1, -1], [2, 0], [0, 2], [-1, 1], [1, 1]]), np.array([0, -0.5, 0.5, 0, 0.2])
    no_context = np.zeros((1, 1)), np.array([step["state"]]), W_o
    distribution = output_layer.output_distribution(no_context[1], no_context[0], W_o, np.zeros((5, 1)), b_o)
    np.testing.assert_allclose(step["distribution"], distribution[0], atol=1e-12)


@given(SIZES, SIZES, st.integers(2, 6), SEEDS)
def test_a_beam_step_chooses_the_best_of_all_continuations(batch, width, words, seed):
    rng = np.random.default_rng(seed)
    scores, log_probabilities = rng.normal(size=(batch, width)), rng.normal(size=(batch, width, words))
    chosen = beam_step(torch.from_numpy(scores), torch.from_numpy(log_probabilities)).tolist()
    for b in range(batch):
        order = sorted(
            itertools.product(range(width), range(words)),
            key=lambda pair: -(scores[b][pair[0]] + log_probabilities[b][pair]),
        )
        assert [tuple(pair) for pair in chosen[b]] == order[:width]


@st.composite
def decoder_inputs(draw):
    batch, state_size = draw(SIZES), draw(SIZES)
    vocab_size, steps = draw(st.integers(3, 7)), draw(SIZES)
    rng = np.random.default_rng(draw(SEEDS))
    shapes = {"state": (batch, state_size), "embeddings": (vocab_size, state_size)}
    shapes |= {"W_s": (state_size, state_size), "W_o": (vocab_size, state_size)}
    inputs = {name: rng.normal(size=shape) for name, shape in shapes.items()}
    inputs["limits"] = rng.integers(1, steps + 1, size=batch)
    return inputs | ({"uniforms": rng.random((batch, steps))} if draw(st.booleans()) else {})


@given(decoder_inputs())
def test_each_sentence_of_a_batch_is_decoded_as_if_alone(inputs):
    words = output_layer.decode(**inputs)
    assert words.shape == (len(inputs["state"]), inputs["limits"].max())
    for b, sentence in enumerate(words):
        per_sentence = {name: inputs[name][b : b + 1] for name in ("state", "limits", "uniforms") if name in inputs}
        (alone,) = output_layer.decode(**{**inputs, **per_sentence})
        assert sentence[: len(alone)].tolist() == alone.tolist()
        assert not sentence[len(alone) :].any()


@given(decoder_inputs())
def test_a_sentence_ends_with_its_first_stop_token_or_at_its_limit(inputs):
    for sentence, limit in zip(output_layer.decode(**inputs), inputs["limits"], strict=True):
        stops = np.flatnonzero(sentence == 2)
        length = stops[0] + 1 if len(stops) else limit
        assert length <= limit
        assert (sentence[:length] >= 2).all()
        assert not sentence[length:].any()


@given(decoder_inputs())
def test_words_are_drawn_as_often_as_they_are_probable(inputs):
    many = np.linspace(0, 1, 1000, endpoint=False)[:, None]
    copies = {**inputs, "state": np.repeat(inputs["state"][:1], 1000, axis=0), "limits": np.ones(1000, dtype=int)}
    drawn = output_layer.decode(**{**copies, "uniforms": many})
    logits = np.tanh(inputs["embeddings"][1] + inputs["W_s"] @ inputs["state"][0]) @ inputs["W_o"][2:].T
    probabilities = np.exp(logits) / np.exp(logits).sum()
    shares = np.bincount(drawn[:, 0], minlength=len(inputs["W_o"])) / 1000
    assert not shares[:2].any()
    np.testing.assert_allclose(shares[2:], probabilities, atol=2e-3)


@given(decoder_inputs())
def test_drawing_from_very_large_logits_is_choosing_the_largest(inputs):
    sharp = {**inputs, "W_o": 1e6 * inputs["W_o"]}
    sharp.pop("uniforms", None)
    halves = np.full((len(inputs["state"]), inputs["limits"].max()), 0.5)
    assert output_layer.decode(**sharp, uniforms=halves).tolist() == output_layer.decode(**sharp).tolist()


@each_attention
def test_teacher_forcing_equals_stepping_one_by_one(attention):
    model = model_with(attention)
    source, lengths = batch_of([5, 2, 3])
    target_in = torch.tensor([[START, 2, 3, 4], [START, 5, 5, 1], [START, 3, 1, 1]])
    logits, weights = model(source, lengths, target_in)
    assert logits.shape == (3, 4, WORDS)
    assert weights.shape == (3, 4, 5)
    keys, state = model.encoder(source, lengths)
    mask = torch.arange(5) < lengths[:, None]
    projected_keys = model.decoder.attention.project_keys(keys)
    for i in range(4):
        step_logits, state, weight = model.decoder.step(target_in[:, i], state, keys, mask, projected_keys)
        torch.testing.assert_close(step_logits, logits[:, i], atol=1e-12, rtol=0)
        torch.testing.assert_close(weight, weights[:, i], atol=1e-12, rtol=0)


@each_attention
def test_a_sentence_in_a_padded_batch_is_treated_as_if_alone(attention):
    model = model_with(attention)
    source, lengths = batch_of([5, 2, 3])
    target_in = torch.tensor([[START, 2, 3], [START, 5, 4], [START, 3, 2]])
    logits, weights = model(source, lengths, target_in)
    words, _ = model.greedy(source, lengths, START, STOP, 7)
    best, scores = beam_search(model, source, lengths, START, STOP, 7, 3)
    for b, length in enumerate(lengths.tolist()):
        alone = source[b : b + 1, :length], lengths[b : b + 1]
        own_logits, own_weights = model(*alone, target_in[b : b + 1])
        torch.testing.assert_close(own_logits[0], logits[b], atol=1e-12, rtol=0)
        torch.testing.assert_close(own_weights[0], weights[b, :, :length], atol=1e-12, rtol=0)
        assert (weights[b, :, length:] == 0).all()
        assert cut(model.greedy(*alone, START, STOP, 7)[0][0]) == cut(words[b])
        own_best, own_score = beam_search(model, *alone, START, STOP, 7, 3)
        assert cut(own_best[0]) == cut(best[b])
        torch.testing.assert_close(own_score[0], scores[b], atol=1e-12, rtol=0)


def cut(words):
    """Return the words as a list, up to and including the first stop token."""
    words = words.tolist()
    return words[: words.index(STOP) + 1] if STOP in words else words


@each_attention
@given(SEEDS)
def test_a_beam_of_width_1_is_greedy(attention, seed):
    model = model_with(attention, seed)
    source, lengths = batch_of([4, 1, 3], seed)
    words, _ = model.greedy(source, lengths, START, STOP, 6)
    sentences, scores = beam_search(model, source, lengths, START, STOP, 6, 1)
    assert sentences.tolist() == words.tolist()
    torch.testing.assert_close(scores, log_probability(model, source, lengths, words).detach(), atol=1e-10, rtol=0)


@given(SEEDS)
def test_a_beam_that_holds_every_hypothesis_finds_the_likeliest_sentence(seed):
    model = model_with("additive", seed)
    source, lengths = batch_of([3], seed)
    sentences, scores = beam_search(model, source, lengths, START, STOP, 3, WORDS**3)
    every = [words for words in itertools.product(range(WORDS), repeat=3) if words == filled(words)]
    every = torch.tensor(every)
    totals = log_probability(model, source.expand(len(every), -1), lengths.expand(len(every)), every).detach()
    torch.testing.assert_close(scores[0], totals.max(), atol=1e-10, rtol=0)
    assert cut(sentences[0]) == cut(every[totals.argmax()])
    greedy, _ = model.greedy(source, lengths, START, STOP, 3)
    assert scores[0] >= log_probability(model, source, lengths, greedy)[0] - 1e-10


def filled(words):
    """Return the words with every word after the first stop token replaced by a stop token."""
    return tuple(STOP if STOP in words[:i] else word for i, word in enumerate(words))


@given(SEEDS, st.integers(1, 5))
def test_the_score_of_a_beam_is_the_log_probability_of_its_sentence(seed, width):
    model = model_with("additive", seed)
    source, lengths = batch_of([4, 1, 3], seed)
    sentences, scores = beam_search(model, source, lengths, START, STOP, 6, width)
    torch.testing.assert_close(scores, log_probability(model, source, lengths, sentences).detach(), atol=1e-10, rtol=0)


def test_over_many_models_a_wider_beam_is_better_on_the_whole():
    gained = []
    for seed in range(40):
        model = model_with("additive", seed)
        source, lengths = batch_of([4, 1, 3], seed)
        greedy, _ = model.greedy(source, lengths, START, STOP, 6)
        _, scores = beam_search(model, source, lengths, START, STOP, 6, 4)
        gained.append((scores - log_probability(model, source, lengths, greedy).detach()).mean().item())
    assert np.mean(gained) > 0.05
    assert np.mean(np.array(gained) >= -1e-10) > 0.9  # not always: the greedy beginning may fall out of the beam


@each_attention
def test_stop_and_the_maximum_length_are_respected(attention):
    model = model_with(attention)
    source, lengths = batch_of([5, 2, 3])
    with torch.no_grad():
        model.decoder.output.bias[STOP] = 1e3
    words, weights = model.greedy(source, lengths, START, STOP, 9)
    assert words.tolist() == [[STOP]] * 3
    assert weights.shape == (3, 1, 5)
    assert beam_search(model, source, lengths, START, STOP, 9, 2)[0].tolist() == [[STOP]] * 3
    with torch.no_grad():
        model.decoder.output.bias[STOP] = -1e3
    assert model.greedy(source, lengths, START, STOP, 9)[0].shape == (3, 9)
    assert beam_search(model, source, lengths, START, STOP, 9, 2)[0].shape == (3, 9)


@given(SEEDS)
def test_after_a_stop_token_come_only_stop_tokens_with_weights_zero(seed):
    model = model_with("additive", seed)
    source, lengths = batch_of([4, 1, 3], seed)
    words, weights = model.greedy(source, lengths, START, STOP, 8)
    sentences, _ = beam_search(model, source, lengths, START, STOP, 8, 3)
    for sentence in (*words.tolist(), *sentences.tolist()):
        assert filled(tuple(sentence)) == tuple(sentence)
    after = ((words == STOP).cumsum(dim=1) - (words == STOP).long()) > 0
    assert (weights[after] == 0).all()
    torch.testing.assert_close(weights[~after].sum(dim=-1), torch.ones_like(weights[~after].sum(dim=-1)))


@each_attention
def test_gradients_are_finite_with_a_row_of_pads_in_the_batch(attention):
    torch.manual_seed(0)
    decoder = Decoder(WORDS, EMBEDDING, QUERY, 2 * HIDDEN, ATTENTIONS[attention]()).double()
    keys = torch.randn(3, 5, 2 * HIDDEN, dtype=torch.float64, requires_grad=True)
    state = torch.randn(3, QUERY, dtype=torch.float64, requires_grad=True)
    mask = torch.arange(5) < torch.tensor([5, 0, 2])[:, None]
    logits, weights = decoder(torch.tensor([[START, 2], [START, 3], [START, 4]]), state, keys, mask)
    assert (weights[1] == 0).all()
    torch.nn.functional.cross_entropy(logits.flatten(0, 1), torch.tensor([2, 1, 3, 1, 4, 1])).backward()
    for tensor in (keys, state, *decoder.parameters()):
        assert tensor.grad.isfinite().all()
    assert (keys.grad[1] == 0).all()
    assert (keys.grad[2, 2:] == 0).all()
    words, _ = decoder.greedy(state, keys, mask, START, STOP, 4)
    assert words.shape[0] == 3


@each_attention
def test_every_parameter_of_the_model_gets_a_gradient(attention):
    model = model_with(attention)
    source, lengths = batch_of([5, 2, 3])
    logits, _ = model(source, lengths, torch.tensor([[START, 2, 3], [START, 5, 4], [START, 3, 2]]))
    logits.logsumexp(dim=-1).sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
        assert parameter.grad.abs().sum() > 0, name


@each_attention
def test_a_model_in_single_precision_agrees_with_double_precision(attention):
    model = model_with(attention)
    single = copy.deepcopy(model).float()
    source, lengths = batch_of([5, 2, 3])
    target_in = torch.tensor([[START, 2, 3], [START, 5, 4], [START, 3, 2]])
    for in_single, in_double in zip(single(source, lengths, target_in), model(source, lengths, target_in), strict=True):
        assert in_single.dtype == torch.float32
        torch.testing.assert_close(in_single.double(), in_double, atol=1e-4, rtol=0)


def test_without_attention_the_context_is_the_last_real_annotation():
    keys = torch.arange(24.0).view(3, 4, 2)
    mask = torch.arange(4) < torch.tensor([4, 0, 2])[:, None]
    context, weights = LastAnnotation()(None, keys, mask)
    assert weights.tolist() == [[0, 0, 0, 1], [0, 0, 0, 0], [0, 1, 0, 0]]
    assert context.tolist() == [[6, 7], [0, 0], [18, 19]]
    assert LastAnnotation()(None, keys)[0].tolist() == keys[:, -1].tolist()
