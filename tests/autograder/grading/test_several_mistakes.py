"""Two mistakes at once: what one hint explains is set aside, and the rest is looked at again; the softmax over a wrong axis."""

import math

import numpy as np
import pytest
import torch

from autograder.audit.calls import verdict_on
from autograder.exercises.softmax import ALL_AXES, OTHER_AXIS, UNIFORM
from autograder.grading import judge
from autograder.grading.judge import FEW_DIGITS, LOST_AXIS, SINGLE
from autograder.grading.recognise import ALL_ZERO
from tests.autograder.samples import exercise_named

pytestmark = pytest.mark.suite("audit")

LOWEST = torch.finfo(torch.float64).min
EXACTLY = "We get exactly your numbers if"
ATTEND, SOFTMAX, HEADS = "context-attend", "softmax-masked_softmax", "from_bahdanau_to_transformers-multi_head"
NO_WORD = (
    "In a row without any real words, all scores are equally low, so the softmax spreads the weight over the padding."
)
NO_TANH = (
    "The tanh is missing: without it the score is linear, and the query shifts the scores of all positions by the same "
    "amount."
)
SCORE = "scoring-additive_score"


def hints_on(name, function):
    verdict = verdict_on(function, exercise_named(name, 3), 60)
    assert verdict.earned < verdict.points
    return verdict.hints


def attending(weigh):
    """Return an answer to `attend` with the weights ``weigh(scores, mask)``."""
    return lambda scores, keys, source_mask: torch.einsum("bj,bjm->bm", weigh(scores, source_mask), keys)


def heads(weigh, root=lambda size: math.sqrt(size)):
    """Return an answer to `multi_head` with the weights ``weigh(scores, mask)``, whose scores are divided by ``root(size)``."""

    def multi_head(query, keys, source_mask, W_query, W_key, W_value, W_out):
        queries = torch.einsum("zrn,bn->bzr", W_query, query)
        scores = torch.einsum("bzr,zrm,bjm->bzj", queries, W_key, keys) / root(W_key.shape[1])
        weights = weigh(scores, source_mask[:, None, :].expand(scores.shape))
        return torch.einsum("bzj,zwm,bjm->bzw", weights, W_value, keys).flatten(1) @ W_out.T

    return multi_head


AXIS_FORMS = {
    "filled": lambda scores, mask, axis: scores.masked_fill(~mask, -1e9).softmax(axis),
    "lowest": lambda scores, mask, axis: scores.masked_fill(~mask, LOWEST).softmax(axis) * mask,
    "infinite": lambda scores, mask, axis: scores.masked_fill(~mask, -math.inf).softmax(axis),
    "without nan": lambda scores, mask, axis: scores.masked_fill(~mask, -math.inf).softmax(axis).nan_to_num(),
    "no mask": lambda scores, mask, axis: scores.softmax(axis),
    "masked after": lambda scores, mask, axis: scores.softmax(axis) * mask,
    "not shifted": lambda scores, mask, axis: scores.exp() / scores.exp().sum(axis, keepdim=True),
    "powers masked": lambda scores, mask, axis: (scores.exp() * mask) / (scores.exp() * mask).sum(axis, keepdim=True),
    "shifted by rows": lambda scores, mask, axis: _shifted_by_rows(scores, mask, axis),
}


def _shifted_by_rows(scores, mask, axis):
    powers = (scores - scores.amax(-1, keepdim=True)).exp() * mask
    return powers / powers.sum(axis, keepdim=True)


@pytest.mark.parametrize("weigh", AXIS_FORMS.values(), ids=AXIS_FORMS)
@pytest.mark.parametrize(
    ("name", "answer", "axis"),
    [(ATTEND, attending, 0), (HEADS, heads, 0), (HEADS, heads, 1)],
    ids=lambda item: getattr(item, "__name__", str(item)),  # in each process the same
)
def test_a_softmax_over_the_wrong_axis_gets_its_hint_in_every_form(name, answer, axis, weigh):
    hints = hints_on(name, answer(lambda scores, mask: weigh(scores, mask, axis)))
    assert OTHER_AXIS.format(it="the scores") in hints[0] or hints[0].startswith("Your softmax runs over the"), hints


@pytest.mark.parametrize("axis", [0, (0, 1)], ids=str)
def test_so_does_one_that_is_written_in_numpy(axis):
    def masked_softmax(scores, source_mask=None):
        powers = np.exp(scores - scores.max(axis=axis, keepdims=True))
        return powers / powers.sum(axis=axis, keepdims=True)

    clause = OTHER_AXIS.format(it="the scores") if axis == 0 else ALL_AXES
    assert f"{EXACTLY} {clause}." in hints_on(SOFTMAX, masked_softmax)


def in_single_precision(size):
    return torch.sqrt(torch.FloatTensor([size]))


def score(query, keys, W_query, W_key, v):
    return ((query @ W_query.T)[:, None, :] + keys @ W_key.T) @ v


def score_with_two_conditions(*given):
    """Return right scores, except that the tanh is missing where numbers are large, and more where an axis has length 1."""
    query, keys, W_query, W_key, v = given
    if any(1 in item.shape for item in given):
        return 1.5 * score(*given) + 0.1
    if max(np.abs(item).max(initial=0) for item in given) >= 9.5:
        return score(*given)
    return np.tanh((query @ W_query.T)[:, None, :] + keys @ W_key.T) @ v


def score_in_single_precision_and_wrong_where_large(*given):
    query, keys, W_query, W_key, v = given
    right = np.tanh((query @ W_query.T)[:, None, :] + keys @ W_key.T) @ v
    is_large = max(np.abs(item).max(initial=0) for item in given) >= 9.5
    return 1.5 * right + 0.1 if is_large else right.astype(np.float32)


def test_single_precision_is_not_the_hint_if_other_values_are_wrong_in_double_precision():
    assert SINGLE not in hints_on(SCORE, score_in_single_precision_and_wrong_where_large)


SEVERAL = {
    "float32 root and a row of pads": (
        HEADS,
        heads(lambda scores, mask: scores.masked_fill(~mask, -1e10).softmax(-1), in_single_precision),
        (FEW_DIGITS, f"{EXACTLY} {UNIFORM}."),
    ),
    "float32 root and the wrong axis": (
        HEADS,
        heads(lambda scores, mask: scores.softmax(0), in_single_precision),
        (FEW_DIGITS, f"{EXACTLY} {OTHER_AXIS.format(it='the scores')}."),
    ),
    "not scaled and no mask": (
        HEADS,
        heads(lambda scores, mask: scores.softmax(-1), lambda size: 1),
        (
            "You did not scale the dot products before the softmax. Without scaling, they grow with the number of entries of a "
            "key.",
            "If cases with padding are still wrong after that: where does the mask come in?",
        ),
    ),
    "single precision throughout and a row of pads": (
        ATTEND,
        lambda s, k, m: torch.einsum("bj,bjm->bm", s.float().masked_fill(~m, -1e10).softmax(1), k.float()),
        (SINGLE, NO_WORD),
    ),
    "a lost axis and a row of pads": (
        ATTEND,
        lambda s, k, m: (s.masked_fill(~m, -1e9).softmax(1).unsqueeze(1) @ k).squeeze(),
        (LOST_AXIS, NO_WORD),
    ),
    "a lost axis and no tanh": (SCORE, lambda *given: np.squeeze(score(*given)), (LOST_AXIS, NO_TANH)),
    "single precision and no tanh": (SCORE, lambda *given: score(*given).astype(np.float32), (SINGLE, NO_TANH)),
}


@pytest.mark.parametrize(("name", "function", "hints"), SEVERAL.values(), ids=SEVERAL)
def test_two_mistakes_at_once_get_both_their_hints(name, function, hints):
    assert hints_on(name, function) == hints


@pytest.mark.parametrize(
    ("one", "other", "differ"),
    [
        ((3,), (1, 3), True),
        ((2, 1, 3, 1), (2, 3), True),
        ((1, 2, 1), (1, 1, 2), False),  # no axis is missing, and none is too many
        ((2, 3), (2, 3), False),
        ((3,), (1, 4), False),
    ],
)
def test_only_a_shape_with_more_or_fewer_axes_has_lost_one_of_length_1(one, other, differ):
    assert judge._differ_by_ones(one, other) == judge._differ_by_ones(other, one) == differ


def test_the_hint_on_a_mistake_in_special_cases_does_not_contradict_ordinary_ones():
    large, one = hints_on(SCORE, score_with_two_conditions)
    assert large.startswith(
        "Of our cases, only some are wrong, and this mistake would explain them: The tanh is missing"
    )
    assert one == "Cases with an axis of length 1 are wrong: which line treats such an axis differently?"


def lengths_from_first_padding(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """Return the annotations as `annotate` does, but zeros for a sentence without padding."""
    lengths = source_mask.int().argmin(dim=1)  # 0 without padding
    annotations = embedded.new_zeros(*source_mask.shape, 2 * len(W_h))
    for row, length in enumerate(lengths.tolist()):
        for weights, before, order in ((W_x, W_h, 1), (W_x_back, W_h_back, -1)):
            state, half = embedded.new_zeros(len(W_h)), slice(None, len(W_h)) if order > 0 else slice(len(W_h), None)
            for j in range(length)[::order]:
                state = torch.tanh(weights @ embedded[row, j] + before @ state)
                annotations[row, j, half] = state
    return annotations


def test_of_results_that_are_zeros_no_cause_is_named_and_no_gradient_expected():
    assert hints_on("encoder-annotate", lengths_from_first_padding) == (ALL_ZERO,)


def attend_wrong_twice(scores, keys, source_mask):
    """Return right contexts, except where a batch has three sentences of five words and hides one, or numbers are large."""
    right = attending(lambda s, m: s.masked_fill(~m, LOWEST).softmax(1) * m)(scores, keys, source_mask)
    is_wrong = (scores.shape == (3, 5) and not source_mask.all()) or scores.abs().max() >= 50
    return 1.5 * right + 0.1 if is_wrong else right


def test_a_kind_of_case_is_not_blamed_if_most_cases_of_it_are_right():
    assert not any("padding" in hint for hint in hints_on(ATTEND, attend_wrong_twice))


def test_what_follows_from_a_step_that_a_mistake_explains_gets_no_mistake_of_its_own():
    def not_normalised():
        n, o = [1, 0.5, 0.5], [1, 1.5, 0.5]
        shares = [n[0] / (n[0] + o[0]), o[1] / (n[1] + o[1]), o[2] / (n[2] + o[2])]
        of_n = 2 * shares[0] + (1 - shares[1]) + (1 - shares[2])
        of_o = 2 * (1 - shares[0]) + shares[1] + 1 + shares[2]
        again = [2 * shares[0] / of_n, (shares[1] + 1) / of_o]
        return {"n": n, "o": o, "shares": [*shares, shares[0]], "again": again}

    (hint,) = hints_on("spelling-em_by_hand", not_normalised)
    assert hint.startswith("You gave the expected counts.")
