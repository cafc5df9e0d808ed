"""Wrong answers that students give to the softmax exercises. The docstring is the hint."""

import itertools
import math

import numpy as np
import torch

_TWIN = [0.5, -0.3, 1.2, 0.1]


def _normalised(numbers):
    return [number / sum(numbers) for number in numbers]


def weights_by_hand_twin__linear():
    """You divided each score by the sum of the scores. The softmax takes exponentials first, so no weight is negative."""
    return _normalised(_TWIN)


def weights_by_hand_twin__base_two():
    """You used powers of 2. The softmax uses powers of e = 2.718."""
    return _normalised([2**score for score in _TWIN])


def weights_by_hand_twin__sign_dropped():
    """You dropped the minus sign of the negative score: its exponential should be less than 1."""
    return _normalised([math.exp(abs(score)) for score in _TWIN])


def weights_by_hand_twin__not_divided():
    """You gave the exponentials. Weights sum to 1, so divide each exponential by the sum of all exponentials."""
    return [math.exp(score) for score in _TWIN]


def weights_by_hand_twin__sigmoid():
    """A sigmoid looks at each score on its own, so its values do not sum to 1. Each weight of a softmax depends on
    all the scores."""
    return [1 / (1 + math.exp(-score)) for score in _TWIN]


def weights_by_hand_twin__divided_by_largest():
    """You divided by the largest exponential. Divide by the sum of all exponentials."""
    return [math.exp(score - max(_TWIN)) for score in _TWIN]


def _differences(function):
    weights = [0.48, 0.3, 0.16, 0.06]
    return [function(weights[0], weight) for weight in weights[1:]]


def score_differences__ratios():
    """You gave ratios of weights. Which function turns exp(x) back into x?"""
    return _differences(lambda first, other: first / other)


def score_differences__base_two():
    """You took the logarithm to base 2. The softmax uses powers of e, so take the natural logarithm."""
    return _differences(lambda first, other: math.log2(first / other))


def score_differences__base_ten():
    """You took the logarithm to base 10. The softmax uses powers of e, so take the natural logarithm (often labelled ln)."""
    return _differences(lambda first, other: math.log10(first / other))


def score_differences__sign():
    """Your signs are flipped: the first weight is the largest, so the first score is the highest."""
    return _differences(lambda first, other: math.log(other / first))


def score_differences__of_weights():
    """You subtracted the weights. A difference between scores corresponds to a ratio of weights."""
    return _differences(lambda first, other: first - other)


def score_differences__of_neighbours():
    """You compared each score with the next one. The exercise asks by how much the first exceeds each of the others."""
    weights = [0.48, 0.3, 0.16, 0.06]
    return [math.log(one / other) for one, other in itertools.pairwise(weights)]


def _stable(scores):
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def _real(scores, source_mask):
    return np.ones(scores.shape, dtype=bool) if source_mask is None else source_mask


def masked_softmax__mask_ignored(scores, source_mask=None):
    """Padding receives weight: you did not use the mask."""
    return _stable(scores)


def masked_softmax__score_zero(scores, source_mask=None):
    """You set the scores of padding to 0, but exp(0) is 1: a score of 0 does not mean a weight of 0."""
    return _stable(scores * _real(scores, source_mask))


def masked_softmax__not_renormalised(scores, source_mask=None):
    """Padding has weight 0, but the other weights of the row do not sum to 1: the denominator still includes padding."""
    return _stable(scores) * _real(scores, source_mask)


def masked_softmax__inverted(scores, source_mask=None):
    """The mask is True at real words, but you kept the padding and left out the words."""
    if source_mask is None:
        return _stable(scores)
    weights = _stable(np.where(source_mask, np.finfo(float).min, scores))
    return np.where(source_mask, 0.0, weights)


def masked_softmax__nan_in_empty_row(scores, source_mask=None):
    """Your weights are right except in a row without any real words: there you compute 0 / 0, or minus
    infinity less itself, which is nan."""
    return _stable(np.where(_real(scores, source_mask), scores, -np.inf))


def masked_softmax__uniform_in_empty_row(scores, source_mask=None):
    """Your weights are right except in a row without any real words: there all scores are equally low, so all
    weights are equal instead of 0."""
    return _stable(np.where(_real(scores, source_mask), scores, -1e30))


def masked_softmax__not_low_enough(scores, source_mask=None):
    """You gave padding a low score, but not low enough: the scores of words can be lower still."""
    real = _real(scores, source_mask)
    return _stable(np.where(real, scores, -1000.0)) * real.any(axis=-1, keepdims=True)


def masked_softmax__highest_of_all(scores, source_mask=None):
    """The maximum that you subtract may be the score of padding. If this score is far above those of the words, all
    their exponentials become 0."""
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True)) * _real(scores, source_mask)
    total = exponentials.sum(axis=-1, keepdims=True)
    return exponentials / np.where(total > 0, total, 1.0)


def masked_softmax__one_shift_for_all(scores, source_mask=None):
    """You subtracted the highest score of the whole array from every row. In a row of much lower scores, every
    exponential becomes 0."""
    real = _real(scores, source_mask)
    highest = scores[real].max() if real.any() else 0.0
    exponentials = np.exp(np.where(real, scores - highest, -np.inf))
    total = exponentials.sum(axis=-1, keepdims=True)
    return exponentials / np.where(total > 0, total, 1.0)


def masked_softmax__no_shift(scores, source_mask=None):
    """exp(1000) is too large for a float, so the result is not finite. Subtracting the same number from all scores
    of a row changes no weight."""
    exponentials = np.exp(scores) * _real(scores, source_mask)
    total = exponentials.sum(axis=-1, keepdims=True)
    return exponentials / np.where(total > 0, total, 1.0)


def masked_softmax__sum_without_its_axis(scores, source_mask=None):
    """The sum has lost the axis of the positions, so it broadcasts along the wrong axis: see keepdims."""
    lowest = np.where(_real(scores, source_mask), scores, np.finfo(float).min)
    exponentials = np.exp(lowest - lowest.max(axis=-1, keepdims=True)) * _real(scores, source_mask)
    total = exponentials.sum(axis=-1)
    return exponentials / np.where(total > 0, total, 1.0)


def masked_softmax__mask_needed(scores, source_mask=None):
    """Your function must also work without a mask: in that case, every position is real."""
    lowest = np.where(source_mask, scores, np.finfo(float).min)
    return _stable(lowest) * source_mask


def masked_softmax__zero_scores_are_pads(scores, source_mask=None):
    """You treated every score of 0 as padding, but a word can score 0 as well. Only the mask tells you which
    positions are padding."""
    if source_mask is not None:
        scores = np.where(source_mask, scores, 0.0)
    low = np.where(scores != 0, scores, -np.inf)
    top = low.max(axis=1, keepdims=True)
    exponentials = np.exp(low - np.where(np.isfinite(top), top, 0))
    total = exponentials.sum(axis=1, keepdims=True)
    return exponentials / np.where(total == 0, 1, total)


def entropy__no_temperature(scores, temperature):
    """The temperature changes nothing in your result: divide the scores by it before the softmax."""
    log_weights = torch.log_softmax(scores + 0 * temperature.unsqueeze(-1), dim=-1)
    return -(log_weights.exp() * log_weights).sum(dim=-1)


def entropy__temperature_by_position(scores, temperature):
    """Each sentence has its own temperature: without an extra axis, the temperatures broadcast along the positions."""
    log_weights = torch.log_softmax(scores / temperature, dim=-1)
    return -(log_weights.exp() * log_weights).sum(dim=-1)


def entropy__multiplied(scores, temperature):
    """You multiplied the scores by the temperature: a high temperature should flatten the weights, not sharpen them."""
    log_weights = torch.log_softmax(scores * temperature.unsqueeze(-1), dim=-1)
    return -(log_weights.exp() * log_weights).sum(dim=-1)


def entropy__sign(scores, temperature):
    """Your entropies are negative: the logarithm of a weight is negative, so the sum needs a minus sign."""
    log_weights = torch.log_softmax(scores / temperature.unsqueeze(-1), dim=-1)
    return (log_weights.exp() * log_weights).sum(dim=-1)


def entropy__bits(scores, temperature):
    """You took the logarithm to base 2, which gives the entropy in bits. The formula uses the natural logarithm."""
    log_weights = torch.log_softmax(scores / temperature.unsqueeze(-1), dim=-1)
    return -(log_weights.exp() * log_weights).sum(dim=-1) / math.log(2)


def entropy__log_of_zero(scores, temperature):
    """Your result or its gradient is not finite: if a weight underflows to 0, its logarithm is infinite. torch has a function for
    the logarithm of a softmax."""
    weights = torch.softmax(scores / temperature.unsqueeze(-1), dim=-1)
    return -(weights * weights.log()).sum(dim=-1)


def entropy__small_number_added(scores, temperature):
    """You added a small number inside the logarithm. The result is finite, but the entropy or its gradient is no longer exact."""
    weights = torch.softmax(scores / temperature.unsqueeze(-1), dim=-1)
    return -(weights * (weights + 1e-3).log()).sum(dim=-1)


def entropy__detached(scores, temperature):
    """The entropies are right, but no gradient reaches the scores: look for detach, no_grad, numpy or .item()."""
    log_weights = torch.log_softmax(scores / temperature.unsqueeze(-1), dim=-1)
    return -(log_weights.exp() * log_weights).sum(dim=-1).detach()


def entropy__one_for_all(scores, temperature):
    """You returned one number for the whole batch: each sentence should have its own entropy."""
    log_weights = torch.log_softmax(scores / temperature.unsqueeze(-1), dim=-1)
    return -(log_weights.exp() * log_weights).sum()


def entropy__squeezed(scores, temperature):
    """An axis of length 1 went missing: for a batch of one sentence, return a vector with one entry."""
    log_weights = torch.log_softmax(scores / temperature.unsqueeze(-1), dim=-1)
    return -(log_weights.exp() * log_weights).sum(dim=-1).squeeze()


def entropy__overflow(scores, temperature):
    """Your result is not finite: the exponential of a score in the thousands is infinite. Let torch compute the softmax."""
    exponentials = torch.exp(scores / temperature[:, None])
    total = exponentials.sum(dim=1, keepdim=True)
    weights = exponentials / total
    logs = scores / temperature[:, None] - total.log()
    return -(weights * logs).sum(dim=1)


def broken_maps__counted_from_zero():
    """You numbered the bugs from 0. In the exercise, they are numbered from 1."""
    return {"A": 3, "B": 0, "C": 5, "D": 2, "E": 1}


def broken_maps__pads_exchanged():
    """Bugs 2 and 3 both concern padding. Which of the two leaves weight on the padding?"""
    return {"A": 4, "B": 1, "C": 6, "D": 2, "E": 3}


def broken_maps__steps_and_pads_exchanged():
    """In two of the tables, the rows do not sum to 1. Do the columns?"""
    return {"A": 4, "B": 3, "C": 6, "D": 1, "E": 2}


def broken_maps__equal_rows_softened():
    """A second softmax makes the weights within a row more alike, but it does not make the rows identical to one another."""
    return {"A": 5, "B": 1, "C": 6, "D": 3, "E": 2}


def broken_maps__negative_weights():
    """One table has negative entries, but an exponential is never negative. Which bug leaves out the exponentials?"""
    return {"A": 4, "B": 1, "C": 5, "D": 3, "E": 2}


def broken_maps__weight_on_the_pad_softened():
    """In one table, padding has weight, so it was not excluded. What must its scores have been?"""
    return {"A": 4, "B": 1, "C": 6, "D": 3, "E": 5}


def broken_maps__steps_exchanged():
    """Which bug makes all rows of a table the same, and which makes its columns sum to 1? Look at A and B once more."""
    return {"A": 1, "B": 4, "C": 6, "D": 3, "E": 2}


def broken_maps__columns_softened():
    """In table B, the rows do not sum to 1, but after a second softmax they would. Do its columns?"""
    return {"A": 4, "B": 5, "C": 6, "D": 3, "E": 2}


def broken_maps__missing_weight_softened():
    """In table D, some rows do not sum to 1, but after a second softmax they would. Where has the rest of the weight gone?"""
    return {"A": 4, "B": 1, "C": 6, "D": 5, "E": 2}
