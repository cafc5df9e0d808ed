"""Answers that fail only at the limits of the inputs, or beyond some length, lose points with every seed."""

import math

import numpy as np
import pytest
import torch

from autograder import exercises
from autograder.audit.calls import verdict_on
from autograder.audit.outcomes import Outcomes, Version
from autograder.exercises import reference_of
from tests.autograder.samples import exercise_named

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


def exact_match(words, target):
    """Count in the printed array, which numpy abbreviates beyond a thousand entries."""
    right = reference("capstone-exact_match")
    each = np.array([right(w[None], t[None]) == 1 for w, t in zip(words, target, strict=True)])
    return str(each).count("True") / len(each)


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
    "a temperature kept above its lowest": ("softmax-entropy", entropy_between(0.03, 200)),
    "a temperature kept below its highest": ("softmax-entropy", entropy_between(0.02, 180)),
    "scores clipped at 3000": (
        LUONG,
        lambda *inputs: luong_step(*inputs, scores=lambda scores: scores.clip(-3000, 3000), low=-np.finfo(float).max),
    ),
    **{f"an old state clipped at {n}": ("decoder_fusion-gated_step", gated_step_clipped_at(n)) for n in (5, 10, 19)},
    "six words": ("encoder-rnn_states", rnn_states),
    "a window of eight": (f"{BAHDANAU}-self_attention", self_attention_seeing(lambda i, j: i - j < 8)),
    "blocks of 32": (f"{BAHDANAU}-self_attention", self_attention_seeing(lambda i, j: i // 32 == j // 32)),
    "fifty positions": (
        LUONG,
        lambda *inputs: luong_step(*inputs, low=-np.finfo(float).max, length=50),
    ),
    "an array as text": ("capstone-exact_match", exact_match),
    "a first weight of 0 taken for a step not taken": (
        "capstone-noun_alignment",
        lambda weights, positions: noun_alignment(weights, positions, lambda row: row.argmax() if row[0] else -2),
    ),
    "weights rounded": (
        "capstone-noun_alignment",
        lambda weights, positions: noun_alignment(weights, positions, lambda row: row.round(4).argmax()),
    ),
    **{f"{name} in single precision": (name, in_single_precision(name)) for name in SINGLE},
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_at_a_limit_only_loses_points(what):
    name, answer = WRONG[what]
    for seed in (0, 7):
        (exercise,) = [each for each in exercises.load(name.split("-")[0], seed) if each.name == name]
        assert not Outcomes(exercise).passes(Version(what, answer))  # faster than a verdict, which looks for hints


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
