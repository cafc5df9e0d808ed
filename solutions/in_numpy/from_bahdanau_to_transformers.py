"""After Bahdanau: keys apart from values, scaled dot products, several heads, the rest of a block.

Chapter: book/from_bahdanau_to_transformers.md. Sources: Ba et al. (2016), arXiv:1607.06450, for layer
normalization; Vaswani et al. (2017), arXiv:1706.03762, section 3, for the rest.
"""

import math

import numpy as np


def multi_head_shapes(heads, m, r, T_x, T_y):
    """Return the shapes in multi-head attention, for one sentence and all decoder steps.

    Parameters
    ----------
    heads : int
        Number of heads.
    m : int
        Size of one annotation.
    r : int
        Size of a query, a key or a value in *one* head.
    T_x, T_y : int
        Number of source positions, and number of decoder steps.

    Returns
    -------
    dict
        ``W_key``: one matrix for the keys of all heads together; ``keys``: all keys, one matrix per head;
        ``weights``: the weights of all heads; ``joined``: the contexts of all heads, concatenated.
    """
    ### BEGIN SOLUTION
    return {
        "W_key": (heads * r, m),
        "keys": (heads, T_x, r),
        "weights": (heads, T_y, T_x),
        "joined": (T_y, heads * r),
    }
    ### END SOLUTION


def saturation():
    """Return the spread of the exercise's scores, and the derivative of a weight without and with scaling.

    Returns
    -------
    dict
        ``spread``: standard deviation of a score; ``plain`` and ``scaled``: derivative of a weight with respect to its
        own score.
    """
    ### BEGIN SOLUTION
    spread = float(np.sqrt(16 * 0.5**2 * 0.9**2))
    weight = 1 / (1 + np.exp(-2 * spread))
    scaled_weight = 1 / (1 + np.exp(-2 * spread / np.sqrt(16)))
    return {"spread": spread, "plain": weight * (1 - weight), "scaled": scaled_weight * (1 - scaled_weight)}
    ### END SOLUTION


def positions_by_hand():
    """Return the positional encoding, the dot product and the position that the exercise asks for.

    Returns
    -------
    dict
        ``encoding``: 4 numbers; ``product``: a dot product; ``partner``: a position.
    """
    ### BEGIN SOLUTION
    encoding = [math.sin(5), math.cos(5), math.sin(5 / 100), math.cos(5 / 100)]
    at_3 = [math.sin(3), math.cos(3), math.sin(3 / 100), math.cos(3 / 100)]
    at_7 = [math.sin(7), math.cos(7), math.sin(7 / 100), math.cos(7 / 100)]
    product = sum(x * y for x, y in zip(at_3, at_7, strict=True))
    return {"encoding": encoding, "product": product, "partner": 20 + (7 - 3)}
    ### END SOLUTION


def block_by_count():
    """Count the parameters of the exercise's block, and find where one cost is three times another.

    Returns
    -------
    dict
        ``attention``, ``network``, ``norms``, ``longer``: numbers of parameters; ``length``: of a sentence, in words.
    """
    ### BEGIN SOLUTION
    d, d_wide = 48, 160
    attention = 4 * d * d
    network = d_wide * d + d_wide + d * d_wide + d
    norms = 2 * 2 * d
    longer = attention + network + norms  # no array has an axis as long as the sentence
    length = 3 * d_wide  # scores and mixtures: 2 length length d; network: 2 length d d_wide
    return {"attention": attention, "network": network, "norms": norms, "longer": longer, "length": length}
    ### END SOLUTION


def scaled_attention(query, keys, values, source_mask):
    """Score by scaled dot products with the keys, and return the weighted sum of the values.

    result[b] = sum_j weights[b, j] values[b, j], weights[b] = softmax of query[b] . keys[b, j] / sqrt(key_size)

    Parameters
    ----------
    query : (batch, key_size)
        The query of each sentence at this step.
    keys : (batch, source_len, key_size)
        The vectors that the query is compared with, one per position.
    values : (batch, source_len, value_size)
        The vectors that are combined into the context, one per position.
    source_mask : (batch, source_len)
        True at real words.

    Returns
    -------
    (batch, value_size)
        Contexts, in the units of the values. A sentence without a real word has a context of zeros.

    Source: Vaswani et al. (2017), section 3.2.1.
    """
    scores = np.einsum("br,bjr->bj", query, keys) / math.sqrt(keys.shape[2])
    lowest = np.finfo(scores.dtype).min
    best = np.where(source_mask, scores, lowest).max(axis=1, keepdims=True)
    powers = np.exp(np.where(source_mask, scores - best, lowest))  # exactly 0 at padding
    total = powers.sum(axis=1, keepdims=True)
    weights = powers / np.where(total > 0, total, 1)
    return np.einsum("bj,bjw->bw", weights, values)


def layer_norm(states, gain, bias):
    """Normalize the entries at each position to mean 0 and variance 1, then scale and shift each entry.

    result[b, j] = gain * (states[b, j] - mean) / sqrt(variance + 1e-5) + bias

    Parameters
    ----------
    states : (batch, length, size)
        One vector per position. Mean and variance are those of its own entries.
    gain : (size,)
    bias : (size,)

    Returns
    -------
    (batch, length, size)
        Normalized vectors: no unit.

    Source: Ba et al. (2016), arXiv:1607.06450.
    """
    ### BEGIN SOLUTION
    mean = states.mean(axis=-1, keepdims=True)  # (batch, length, 1)
    variance = ((states - mean) ** 2).mean(axis=-1, keepdims=True)
    return gain * (states - mean) / np.sqrt(variance + 1e-5) + bias
    ### END SOLUTION


def same_context():
    """Return different weights that give the exercise's context, the first of them 0.

    Returns
    -------
    list of 4 floats
        Weights, in the order of the annotations.
    """
    ### BEGIN SOLUTION
    keys = np.array([[1.0, 1.0], [4.0, 0.0], [-1.0, 4.0], [-3.0, -2.0]])
    weights = np.array([0.4, 0.3, 0.2, 0.1])
    context = np.array([sum(weights * column) for column in keys.T])
    equations = np.vstack([keys[1:].T, np.ones(3)])
    return [0.0, *np.linalg.solve(equations, [*context, 1.0]).tolist()]
    ### END SOLUTION
