"""Context: the annotations mixed by the weights, and what the mixture does to the gradients.

Chapter: book/context.md. Source: Bahdanau et al. (2015), arXiv:1409.0473, section 3.1, equation 5.
"""

import math

import numpy as np


def batch_shapes(batch, m, n, T_x, T_y):
    """Return the shapes in computing the contexts of a batch by matrix products, batch first.

    Parameters
    ----------
    batch : int
        Number of sentences, padded to the same length.
    m, n : int
        Size of one annotation, and of the decoder state.
    T_x, T_y : int
        Number of source positions, and number of decoder steps.

    Returns
    -------
    dict
        ``column``: the weights of one step, with an axis that lets them broadcast against the annotations; ``row``: the
        same weights as the left operand of a batched matrix product with the annotations; ``product``: that product;
        ``contexts``: the contexts of all steps, an array of three axes.
    """
    ### BEGIN SOLUTION
    return {"column": (batch, T_x, 1), "row": (batch, 1, T_x), "product": (batch, 1, m), "contexts": (batch, T_y, m)}
    ### END SOLUTION


def context_of_note_d():
    """Return note D's first context, and what its sum gives with the sign that the note loses.

    Returns
    -------
    dict
        ``context``: 4 floats, in the units of the annotations; ``as_printed``: the first entry of the sum as printed.
    """
    ### BEGIN SOLUTION
    weights = np.array([0.7, 0.2, 0.1])
    annotations = np.array([[0.1, 0.7, 0.5, 0.3], [-0.1, -0.7, 0.4, 0.6], [0.7, 0.2, -0.3, 0.4]])
    context = weights @ annotations
    return {"context": context.tolist(), "as_printed": float(context[0] + 0.2 * (0.1 - -0.1))}
    ### END SOLUTION


def context_of_note_c():
    """Return the context of note C's question 3.

    Returns
    -------
    list of 2 floats
        In the units of the annotations.
    """
    query = [0.5, 0.5]
    keys = [[0.2, 0.2], [0.8, 0.8]]
    exponentials = [math.exp(sum(math.tanh(s + h) for s, h in zip(query, key, strict=True))) for key in keys]
    weights = [x / sum(exponentials) for x in exponentials]
    return [sum(a * h for a, h in zip(weights, column, strict=True)) for column in zip(*keys, strict=True)]


def weights_from_context():
    """Return the weights that combine the exercise's three annotations into its context.

    Returns
    -------
    list of 3 floats
        Weights, in the order of the annotations.
    """
    ### BEGIN SOLUTION
    keys = np.array([[1.0, 2.0], [5.0, 0.0], [3.0, 6.0]])
    context = [2.36, 3.14]
    equations = np.vstack([keys.T, np.ones(3)])
    return np.linalg.solve(equations, [*context, 1.0]).tolist()
    ### END SOLUTION


def pull_of_two():
    """Return how strongly the first of the exercise's two scores pulls the context.

    Returns
    -------
    dict
        ``largest``: length of the pull when the scores are equal; ``at_three``: the pull, 2 numbers, when the first
        score is larger by 3; ``gap``: by how much it is larger when the length has fallen to a tenth of ``largest``.
    """
    ### BEGIN SOLUTION
    way = np.array([3.0, -1.0]) - np.array([-1.0, 2.0])
    weight = 1 / (1 + np.exp(-3))
    heavy = (1 + np.sqrt(1 - 0.1)) / 2  # where weight (1 - weight) is a tenth of a quarter
    return {
        "largest": float(np.sqrt(sum(way**2))) / 4,
        "at_three": (weight * (1 - weight) * way).tolist(),
        "gap": float(np.log(heavy / (1 - heavy))),
    }
    ### END SOLUTION


def context_vector(weights, keys):
    """Combine the annotations of each sentence in a weighted sum.

    context[b] = sum_j weights[b, j] keys[b, j]

    Parameters
    ----------
    weights : (batch, source_len)
        The softmax weights of one decoder step.
    keys : (batch, source_len, key_size)
        Encoder annotations, h_1 ... h_Tx.

    Returns
    -------
    (batch, key_size)
        One context per sentence, in the units of the annotations.
    """
    return np.einsum("bj,bjm->bm", weights, keys)


def scores_gradient(context_gradient, weights, keys):
    """Backpropagate from the context to the scores.

    result[b, j] = derivative of the loss with respect to score[b, j], where weights[b] = softmax of score[b]

    Parameters
    ----------
    context_gradient : (batch, key_size)
        Derivative of the loss with respect to each entry of the context.
    weights : (batch, source_len)
        The softmax of the scores, or all 0 where a sentence has no real word.
    keys : (batch, source_len, key_size)
        Encoder annotations, h_1 ... h_Tx.

    Returns
    -------
    (batch, source_len)
        Derivative of the loss with respect to each score. Each row sums to 0.
    """
    ### BEGIN SOLUTION
    by_weight = np.einsum("bm,bjm->bj", context_gradient, keys)  # with respect to each weight
    mean = (weights * by_weight).sum(axis=1, keepdims=True)
    return weights * (by_weight - mean)
    ### END SOLUTION


def mended_attention(query, keys, source_mask, W_query, W_key, v):
    """Apply additive attention: score, mask, softmax and weighted sum in one function.

    result[b] = sum_j weights[b, j] keys[b, j], weights[b] = softmax of v . tanh(W_query query[b] + W_key keys[b, j])

    Parameters
    ----------
    query : (batch, query_size)
        Decoder state before this step, s_{i-1}.
    keys : (batch, source_len, key_size)
        Encoder annotations, h_1 ... h_Tx.
    source_mask : (batch, source_len)
        True at real words.
    W_query : (attention_size, query_size)
    W_key : (attention_size, key_size)
    v : (attention_size,)

    Returns
    -------
    (batch, key_size)
        The contexts. A sentence without a real word has a context of zeros.
    """
    ### BEGIN SOLUTION
    scores = np.tanh((query @ W_query.T)[:, None, :] + keys @ W_key.T) @ v
    lowest = np.finfo(scores.dtype).min
    best = np.where(source_mask, scores, lowest).max(axis=1, keepdims=True)
    powers = np.exp(np.where(source_mask, scores - best, lowest))  # exactly 0 at padding
    total = powers.sum(axis=1, keepdims=True)
    return np.einsum("bj,bjm->bm", powers / np.where(total > 0, total, 1), keys)
    ### END SOLUTION


def what_was_printed():
    """Return what note E's printed context combines, and what it should combine.

    Returns
    -------
    dict
        ``mixed``: how many vectors are combined in the printed context; ``annotations``: how many it should combine;
        ``size``: how many entries it should have.
    """
    ### BEGIN SOLUTION
    return {"mixed": 2, "annotations": 50, "size": 2 * 30}
    ### END SOLUTION
