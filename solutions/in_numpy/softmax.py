"""From scores to weights: the softmax, its mask and its derivative.

Chapter: book/softmax.md. Source: Bahdanau et al. (2015), arXiv:1409.0473, section 3.1.
"""

import math

import numpy as np


def weights_by_hand():
    """Return the two weights of note C's question 3, in the order of the positions.

    Returns
    -------
    list of 2 floats
        Weights: no unit, from 0 to 1, summing to 1.
    """
    exponentials = [math.exp(2 * math.tanh(x)) for x in (0.7, 1.3)]
    return [e / sum(exponentials) for e in exponentials]


def weights_by_hand_twin():
    """Return the four weights of the exercise, in the order of the positions.

    Returns
    -------
    list of 4 floats
        Weights: no unit, from 0 to 1, summing to 1.
    """
    ### BEGIN SOLUTION
    scores = [0.5, -0.3, 1.2, 0.1]
    exponentials = np.exp(scores)
    return (exponentials / exponentials.sum()).tolist()
    ### END SOLUTION


def score_differences():
    """Return the differences between the exercise's first score and the second, the third and the fourth.

    Returns
    -------
    list of 3 floats
        Differences of scores: no unit, any real number.
    """
    ### BEGIN SOLUTION
    weights = [0.48, 0.3, 0.16, 0.06]
    return [math.log(weights[0] / weight) for weight in weights[1:]]
    ### END SOLUTION


def softmax(scores):
    """Turn scores into weights along the last axis, for scores of any magnitude.

    weights[..., j] = exp(scores[..., j]) / sum_k exp(scores[..., k])

    Parameters
    ----------
    scores : (..., source_len)
        Unnormalised scores, with any number of axes before the last.

    Returns
    -------
    (..., source_len)
        Weights from 0 to 1 that sum to 1 along the last axis.
    """
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def masked_softmax(scores, source_mask=None):
    """Turn the scores of each sentence into weights over its real words.

    weights[b, j] = exp(scores[b, j]) / sum_k exp(scores[b, k]), where j and k run over real words only

    Parameters
    ----------
    scores : (batch, source_len)
        Unnormalised scores. Values at padding positions do not matter.
    source_mask : (batch, source_len), optional
        True at real words. Without it, every word is real.

    Returns
    -------
    (batch, source_len)
        Weights from 0 to 1. They sum to 1 over the real words and are 0 at padding positions. A row without a real
        word is all zero.
    """
    ### BEGIN SOLUTION
    real = np.ones(scores.shape, dtype=bool) if source_mask is None else source_mask
    hidden = np.where(real, scores, -np.inf)
    # Of real scores only: padding's could be so high that no real one is left beside it. Finite in a row of padding, too.
    highest = np.maximum(hidden.max(axis=-1, keepdims=True), np.finfo(hidden.dtype).min)
    exponentials = np.exp(hidden - highest)
    total = exponentials.sum(axis=-1, keepdims=True)
    return exponentials / np.maximum(
        total, 1
    )  # the highest gives exp(0) = 1, so a total is at least 1, or there is none
    ### END SOLUTION


def broken_maps():
    """Return which bug produced each of the exercise's heat maps.

    Returns
    -------
    dict
        ``A`` to ``E``: the number of a bug, a whole number from 1 to 6.
    """
    ### BEGIN SOLUTION
    return {"A": 4, "B": 1, "C": 6, "D": 3, "E": 2}
    ### END SOLUTION
