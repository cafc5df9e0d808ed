"""Answers that fail only at the limits of the inputs, or beyond some length, lose points with every seed."""

import math

import numpy as np
import pytest
import torch

from autograder.audit.calls import verdict_on
from autograder.audit.outcomes import Outcomes, Version
from autograder.exercises import reference_of
from tests.autograder.samples import draw_exercise, exercise_named

pytestmark = [pytest.mark.suite("audit"), pytest.mark.filterwarnings("ignore")]


def reference(name):
    return reference_of(exercise_named(name))


def softmax(scores):
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def luong_step(
    fed,
    embedded,
    query,
    keys,
    source_mask,
    W_y,
    W_s,
    W_fed,
    W,
    W_mix,
    *,
    scores=lambda scores: scores,
    low=-1e9,
    length=None,
):
    state = np.tanh(embedded @ W_y.T + query @ W_s.T + fed @ W_fed.T)
    changed_scores = scores(np.einsum("bn,nm,bjm->bj", state, W, keys))
    weights = softmax(changed_scores + (1 - source_mask) * low) * source_mask
    context = np.einsum("bj,bjm->bm", weights[:, :length], keys[:, :length])
    return np.tanh(np.concatenate([context, state], axis=1) @ W_mix.T)


def multi_head(query, keys, source_mask, W_query, W_key, W_value, W_out):
    queries, offered = torch.einsum("zrn,bn->bzr", W_query, query), torch.einsum("zrm,bjm->bzjr", W_key, keys)
    scores = torch.einsum("bzr,bzjr->bzj", queries, offered) / math.sqrt(W_key.shape[1])
    real = source_mask[:, None, :]
    weights = torch.softmax(scores + (~real) * -1e15, dim=-1) * real
    return torch.einsum("bzj,zwm,bjm->bzw", weights, W_value, keys).flatten(1) @ W_out.T


def mended_attention(query, keys, source_mask, W_query, W_key, v):
    scores = np.tanh((query @ W_query.T)[:, None] + keys @ W_key.T) @ v
    weights = softmax(scores - 1e4 * (1 - source_mask)) * source_mask
    return np.einsum("bj,bjm->bm", weights, np.where(source_mask[..., None], keys, 0.0))


def entropy_between(low, high):
    return lambda scores, temperature: reference("softmax-entropy")(scores, temperature.clamp(low, high))


def gated_step_clipped_at(bound):
    return lambda embedded, query, *rest: reference("decoder_fusion-gated_step")(
        embedded, query.clip(-bound, bound), *rest
    )


def rnn_states(embedded, W_x, W_h):
    states = reference("encoder-rnn_states")(embedded, W_x, W_h)
    states[:, 6:] = states[:, 5:6]
    return states


def self_attention_seeing(sees):
    def self_attention(states, mask, W_query, W_key, W_value):
        i = torch.arange(states.shape[1])
        seen = sees(i[:, None], i[None]) & (i[None] <= i[:, None]) & mask[:, None, :]
        seen_states = torch.where(mask[..., None], states, 0)
        scores = states @ W_query.T @ (seen_states @ W_key.T).transpose(1, 2) / math.sqrt(len(W_query))
        weights = torch.softmax(scores.masked_fill(~seen, torch.finfo(scores.dtype).min), -1) * seen
        return weights @ (seen_states @ W_value.T)

    return self_attention


def noun_alignment(weights, positions, largest):
    hits = [
        step < weights.shape[1] and weights[b, step].any() and largest(weights[b, step]) == place
        for b, row in enumerate(positions)
        for step, place in enumerate(row)
        if place >= 0
    ]
    return float(np.mean(hits))


def in_single_precision(name):
    def answer(*inputs):
        turned = [item.float() if torch.is_tensor(item) and item.is_floating_point() else item for item in inputs]
        turned = [
            item.astype(np.float32) if isinstance(item, np.ndarray) and item.dtype.kind == "f" else item
            for item in turned
        ]
        result = reference(name)(*turned)
        return result.double() if torch.is_tensor(result) else np.asarray(result, dtype=float)

    return answer


def score_gradients_by_exponentials(scores_gradient, query, keys, W_query, W_key, v):
    sums = query @ W_query.T + keys @ W_key.T
    hidden = (np.exp(sums) - np.exp(-sums)) / (np.exp(sums) + np.exp(-sums))
    inside = scores_gradient[:, None] * (1 - hidden**2) * v
    return {
        "v": scores_gradient @ hidden,
        "W_query": np.outer(inside.sum(axis=0), query),
        "W_key": inside.T @ keys,
    }


def annotate_detached(every):
    """Return an answer whose states are right, but cut off from the graph after every so many words."""

    def states(words, mask, W_x, W_h):
        state, each = words.new_zeros(len(words), len(W_h)), []
        for j in range(words.shape[1]):
            before = state.detach() if j and j % every == 0 else state
            new = torch.tanh(words[:, j] @ W_x.T + before @ W_h.T)
            state = torch.where(mask[:, j, None], new, state)
            each.append(new)
        return torch.stack(each, 1)

    def annotate(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
        words = torch.where(source_mask[..., None], embedded, 0)
        forward = states(words, source_mask, W_x, W_h)
        back = states(words.flip(1), source_mask.flip(1), W_x_back, W_h_back).flip(1)
        return torch.cat([forward, back], 2) * source_mask[..., None]

    return annotate


def rnn_states_that_skip_repeats(embedded, W_x, W_h):
    states = reference("encoder-rnn_states")(embedded, W_x, W_h)
    for j in range(1, embedded.shape[1]):
        same = (embedded[:, j] == embedded[:, j - 1]).all(axis=1)
        states[same, j] = states[same, j - 1]
    return states


def exact_match_of_collapsed(words, target):
    def sentence(row):
        row = row.tolist()
        row = row[: row.index(2)] if 2 in row else [*row, None]
        return [word for n, word in enumerate(row) if not n or word != row[n - 1]]

    return float(np.mean([sentence(w) == sentence(t) for w, t in zip(words, target, strict=True)]))


def scores_of_every_step_without_gradient_of_repeats(queries, projected_keys, W_query, v):
    same = torch.zeros(queries.shape[:2], dtype=torch.bool)
    same[:, 1:] = (queries[:, 1:] == queries[:, :-1]).all(-1)
    queries = torch.where(same[..., None], queries.detach(), queries)
    return reference("scoring-score_every_step")(queries, projected_keys, W_query, v)


def scores_gradient_unless(special):
    def scores_gradient(context_gradient, weights, keys):
        result = reference("context-scores_gradient")(context_gradient, weights, keys)
        context = np.einsum("bj,bjm->bm", weights, keys)
        result[special(weights, context)] = 0.0
        return result

    return scores_gradient


def beam_step_over(change):
    """Return an answer that takes the best of what ``change`` makes of the scores of all continuations."""

    def beam_step(scores, log_probabilities):
        totals = change(scores[..., None] + log_probabilities).flatten(1)
        order = torch.sort(totals, dim=1, descending=True, stable=True).indices[:, : scores.shape[1]]
        words = log_probabilities.shape[-1]
        return torch.stack([order // words, order % words], -1)

    return beam_step


def five_words_each(totals):
    least = totals.topk(min(5, totals.shape[-1])).values[..., -1:]
    return totals.masked_fill(totals < least, -math.inf)


def edit_distance_within(band):
    def edit_distance(written, wanted):
        rows = np.full((len(written) + 1, len(wanted) + 1), 10**6)
        rows[0], rows[:, 0] = np.arange(len(wanted) + 1), np.arange(len(written) + 1)
        for i, one in enumerate(written, 1):
            for j, other in enumerate(wanted, 1):
                if abs(i - j) <= max(band, abs(len(written) - len(wanted))):
                    changed = rows[i - 1, j - 1] + (one != other)
                    rows[i, j] = min(changed, rows[i - 1, j] + 1, rows[i, j - 1] + 1)
        return int(rows[-1, -1])

    return edit_distance


def layer_norm_unless_close(states, gain, bias):
    is_flat = np.isclose(states.var(axis=-1, keepdims=True), 0)
    return np.where(is_flat, bias, reference(f"{BAHDANAU}-layer_norm")(states, gain, bias))


def with_small_weights_dropped(least):
    def attend(scores, keys, source_mask):
        weights = torch.softmax(scores.masked_fill(~source_mask, -math.inf), 1).nan_to_num()
        weights = weights.masked_fill(weights < least, 0)
        return torch.einsum("bj,bjm->bm", weights, torch.where(source_mask[..., None], keys, 0))

    return attend


def first_above(sums, number):
    return (sums > number).argmax()


def decode_drawing(drawn=first_above, *, if_zero=lambda uniforms: uniforms, weigh=lambda logits: softmax(logits[2:])):
    """Return an answer that writes the word that ``drawn`` takes for the sums of probabilities and the number."""

    def decode(state, embeddings, W_s, W_o, limits, uniforms=None):
        if uniforms is not None and not uniforms.any():
            uniforms = if_zero(uniforms)
        result = np.zeros((len(state), limits.max()), dtype=int)
        for b, limit in enumerate(limits):
            current, word, i = state[b], 1, 0
            while word != 2 and i < limit:
                current = np.tanh(embeddings[word] + W_s @ current)
                logits = W_o @ current
                greedy = uniforms is None
                word = 2 + (logits[2:].argmax() if greedy else drawn(weigh(logits).cumsum(), uniforms[b, i]))
                result[b, i], i = word, i + 1
        return result

    return decode


def exact_match_without_zeros(strip):
    def sentence(row):
        row = row.tolist()
        return strip("".join(map(chr, row[: row.index(2)]))) if 2 in row else None

    return lambda words, target: float(
        np.mean([sentence(w) == sentence(t) for w, t in zip(words, target, strict=True)])
    )


def alignment_error_rate_in_8_bits(links, hand):
    rows = np.flatnonzero(links >= 0)
    found = hand[rows, links[rows]]
    return float(1 - ((found == 2).sum() + (found > 0).sum()) / (len(rows) + (hand == 2).sum(dtype=np.int8)))


def multi_head_filled(fill):
    def multi_head(query, keys, source_mask, W_query, W_key, W_value, W_out):
        keys = torch.where(source_mask[..., None], keys, 0)
        queries, offered = torch.einsum("zrn,bn->bzr", W_query, query), torch.einsum("zrm,bjm->bzjr", W_key, keys)
        scores = torch.einsum("bzr,bzjr->bzj", queries, offered) / math.sqrt(W_key.shape[1])
        real = source_mask[:, None, :]
        weights = torch.softmax(scores.masked_fill(~real, fill), dim=-1) * real
        return torch.einsum("bzj,zwm,bjm->bzw", weights, W_value, keys).flatten(1) @ W_out.T

    return multi_head


def self_attention_filled(states, mask, W_query, W_key, W_value):
    """Fill with -20 000 where a word looks, and with the lowest number where padding does, which may hold anything."""
    seen_states = torch.where(mask[..., None], states, 0)
    seen = torch.ones(2 * states.shape[1:2], dtype=torch.bool).tril() & mask[:, None, :]
    scores = states @ W_query.T @ (seen_states @ W_key.T).transpose(1, 2) / math.sqrt(len(W_query))
    low = torch.finfo(scores.dtype).min
    fill = torch.where(mask[..., None], scores.new_tensor(-2e4), scores.new_tensor(low))
    weights = torch.softmax(torch.where(seen, scores, fill), -1) * seen
    return weights @ (seen_states @ W_value.T)


def luong_step_filled(fed, embedded, query, keys, source_mask, W_y, W_s, W_fed, W, W_mix):
    keys = np.where(source_mask[..., None], keys, 0)

    def filled(scores):
        return np.where(source_mask, scores, -1.3e4)

    return luong_step(fed, embedded, query, keys, source_mask, W_y, W_s, W_fed, W, W_mix, scores=filled, low=0)


def decoder_step_filled(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    keys = torch.where(source_mask[..., None], keys, 0)
    scores = torch.tanh((query @ W_query.T)[:, None] + keys @ W_key.T) @ v
    weights = torch.softmax(scores.masked_fill(~source_mask, -1.15e4), 1) * source_mask
    context = torch.einsum("bj,bjm->bm", weights, keys)
    return torch.tanh(embedded @ W_y.T + query @ W_s.T + context @ W_c.T)


BAHDANAU, LUONG = "from_bahdanau_to_transformers", "decoder_fusion-luong_step"
SINGLE = [
    *("softmax-masked_softmax", "context-attend", LUONG, "output_layer-cross_entropy"),
    *("scoring-dot_product_score", "scoring-additive_score", "context-mended_attention"),
    *("softmax-masked_softmax", "encoder-rnn_states"),
]
WRONG = {
    "a billion taken off the scores of pads": (LUONG, luong_step),
    "more taken off": (f"{BAHDANAU}-multi_head", multi_head),
    "too little taken off": ("context-mended_attention", mended_attention),
    **{f"pads filled with {n}": (f"{BAHDANAU}-multi_head", multi_head_filled(n)) for n in (-1e4, -2e4, -7e4)},
    "pads and later words filled with -20 000": (f"{BAHDANAU}-self_attention", self_attention_filled),
    "pads filled with -13 000": (LUONG, luong_step_filled),
    "pads filled with -11 500": ("decoder_fusion-decoder_step", decoder_step_filled),
    "numbers that are all 0 taken for none": (
        "output_layer-decode",
        decode_drawing(if_zero=lambda uniforms: None),
    ),
    "the largest logit of all words subtracted": (
        "output_layer-decode",
        decode_drawing(weigh=lambda logits: softmax(logits)[2:] / softmax(logits)[2:].sum()),
    ),
    "the first word at which the sum reaches the number": ("output_layer-decode", decode_drawing(np.searchsorted)),
    "zeros before the words lost": ("capstone-exact_match", exact_match_without_zeros(lambda text: text.lstrip("\0"))),
    "zeros after the words lost": ("capstone-exact_match", exact_match_without_zeros(lambda text: text.rstrip("\0"))),
    "sure links counted in eight bits": ("spelling-alignment_error_rate", alignment_error_rate_in_8_bits),
    "a temperature kept above its lowest": ("softmax-entropy", entropy_between(0.06, 20)),
    "a temperature kept below its highest": ("softmax-entropy", entropy_between(0.05, 18)),
    "scores clipped at 3000": (
        LUONG,
        lambda *inputs: luong_step(*inputs, scores=lambda scores: scores.clip(-3000, 3000), low=-np.finfo(float).max),
    ),
    **{f"an old state clipped at {n}": ("decoder_fusion-gated_step", gated_step_clipped_at(n)) for n in (3, 5, 9)},
    "six words": ("encoder-rnn_states", rnn_states),
    "a window of eight": (f"{BAHDANAU}-self_attention", self_attention_seeing(lambda i, j: i - j < 8)),
    "blocks of ten": (f"{BAHDANAU}-self_attention", self_attention_seeing(lambda i, j: i // 10 == j // 10)),
    "eleven positions": (
        LUONG,
        lambda *inputs: luong_step(*inputs, low=-np.finfo(float).max, length=11),
    ),
    "a first weight of 0 taken for a step not taken": (
        "capstone-noun_alignment",
        lambda weights, positions: noun_alignment(weights, positions, lambda row: row.argmax() if row[0] else -2),
    ),
    "weights rounded": (
        "capstone-noun_alignment",
        lambda weights, positions: noun_alignment(weights, positions, lambda row: row.round(4).argmax()),
    ),
    "a tanh made of exponentials": ("scoring-score_gradients", score_gradients_by_exponentials),
    **{f"detached after {n} words": ("encoder-annotate", annotate_detached(n)) for n in (8, 16, 32)},
    "a repeated word that keeps the state": ("encoder-rnn_states", rnn_states_that_skip_repeats),
    "repeated words taken for one": ("capstone-exact_match", exact_match_of_collapsed),
    "no gradient of a repeated state": (
        "scoring-score_every_step",
        scores_of_every_step_without_gradient_of_repeats,
    ),
    "0 where a context is 0": (
        "context-scores_gradient",
        scores_gradient_unless(lambda weights, context: (context == 0).all(axis=1)),
    ),
    "0 where weights are even": (
        "context-scores_gradient",
        scores_gradient_unless(lambda weights, context: np.ptp(weights, axis=1) == 0),
    ),
    "probabilities relative to the best": (
        "output_layer-beam_step",
        beam_step_over(lambda totals: (totals - totals.amax((1, 2), keepdim=True)).exp()),
    ),
    "words far below the best left out": (
        "output_layer-beam_step",
        beam_step_over(lambda totals: totals.masked_fill(totals < totals.amax((1, 2), keepdim=True) - 500, -math.inf)),
    ),
    "five words of each hypothesis": ("output_layer-beam_step", beam_step_over(five_words_each)),
    **{f"a band of {n}": ("spelling-edit_distance", edit_distance_within(n)) for n in (3, 6, 8)},
    "the same phonemes in any order": (
        "spelling-edit_distance",
        lambda written, wanted: (
            0 if sorted(written) == sorted(wanted) else reference("spelling-edit_distance")(written, wanted)
        ),
    ),
    "entries close to each other taken for equal": (f"{BAHDANAU}-layer_norm", layer_norm_unless_close),
    **{f"weights below {n} dropped": ("context-attend", with_small_weights_dropped(n)) for n in (1e-6, 1e-7)},
    **{f"{name} in single precision": (name, in_single_precision(name)) for name in SINGLE},
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_at_a_limit_only_loses_points(what):
    name, answer = WRONG[what]
    for seed in (0, 7):
        assert not Outcomes(draw_exercise(name, seed)).passes(
            Version(what, answer)
        )  # faster than a verdict, which looks for hints


ALL_BUT_PRECISION = [  # in the others huge pads overflow, a recurrence magnifies, or large numbers nearly cancel
    *("scoring-dot_product_score", "scoring-additive_score", "scoring-score_every_step"),
    *(
        "softmax-masked_softmax",
        "decoder_fusion-gated_step",
        "output_layer-cross_entropy",
    ),
]


@pytest.mark.parametrize("name", ALL_BUT_PRECISION)
def test_single_precision_costs_its_own_part_alone_and_is_told(name):
    for seed in (0, 7):
        verdict = verdict_on(in_single_precision(name), draw_exercise(name, seed))
        assert {part.name for part in verdict.parts if part.earned < part.points} == {"precision"}
        assert "single precision" in verdict.hints[0]


def test_a_loop_over_real_tokens_that_leaves_new_zeros_for_empty_sentences_is_right():
    """Values outside the graph have gradient 0, which is right for empty sentences."""

    def attend(scores, keys, source_mask):
        contexts = []
        for row, vectors, mask in zip(scores, keys, source_mask, strict=True):
            real = [j for j in range(len(row)) if mask[j]]
            weights = torch.softmax(row[real], 0) if real else None
            mixed = sum(weights[n] * vectors[j] for n, j in enumerate(real)) if real else None
            contexts.append(mixed if real else torch.zeros(keys.shape[2], dtype=keys.dtype))
        return torch.stack(contexts)

    exercise = exercise_named("context-attend")
    assert verdict_on(attend, exercise).earned == exercise.points
