"""Scoring: how well each source position fits the current decoder state.

Chapter: book/scoring.md. Source: Bahdanau et al. (2015), arXiv:1409.0473, App. A.1.2.
"""

import math

import numpy as np


def batched_additive_shapes(batch, m, n, a, T_x):
    """Return the intermediate shapes in computing the additive scores of a batch, batch first, and that of another score's matrix.

    Parameters
    ----------
    batch : int
        Number of sentences, padded to the same length.
    m, n, a : int
        Sizes of one annotation, of the decoder state and of the attention layer.
    T_x : int
        Number of source positions.

    Returns
    -------
    dict
        ``projected_query``: with the extra axis that lets it broadcast over the positions; ``hidden``: the tanh of the
        sum; ``product``: ``hidden`` times v, where v is written as a matrix of one column; ``W``: the matrix of the
        multiplicative score, s . (W h).
    """
    ### BEGIN SOLUTION
    return {"projected_query": (batch, 1, a), "hidden": (batch, T_x, a), "product": (batch, T_x, 1), "W": (n, m)}
    ### END SOLUTION


def scores_by_hand():
    """Return the two scores of note C's question 3, in the order of the positions.

    Returns
    -------
    list of 2 floats
        Unnormalised scores, no unit.
    """
    ### BEGIN SOLUTION
    query = [0.5, 0.5]
    keys = [[0.2, 0.2], [0.8, 0.8]]
    return [sum(math.tanh(s + h) for s, h in zip(query, key, strict=True)) for key in keys]
    ### END SOLUTION


def scores_by_hand_twin():
    """Return the three scores of the exercise, in the order of the positions.

    Returns
    -------
    list of 3 floats
        Unnormalised scores, no unit.
    """
    ### BEGIN SOLUTION
    query = np.array([0.5, -0.2, 0.1])
    keys = np.array([[0.2, 0.3, 0.1, -0.4], [-0.5, 0.4, 0.2, 0.1], [0.1, -0.6, 0.3, 0.2]])
    W_query = np.array([[1.0, 0.0, 2.0], [0.0, -1.0, 1.0]])
    W_key = np.array([[1.0, 0.0, 0.0, 1.0], [0.0, 2.0, -1.0, 0.0]])
    v = np.array([2.0, -1.0])
    hidden = np.tanh(W_query @ query + keys @ W_key.T)
    return [float(v @ row) for row in hidden]
    ### END SOLUTION


def hindi_scores():
    """Return the scores of *reason*, *with* and *logic* for the first output word.

    Returns
    -------
    list of 3 floats
        Unnormalised scores, no unit.
    """
    ### BEGIN SOLUTION
    query = np.array([0.3, 0.4, 0.1])
    keys = np.array([[0.1, 0.7, 0.5, 0.3], [-0.1, -0.7, 0.4, 0.6], [0.7, 0.2, -0.3, 0.4]])
    v = np.array([-1.25, 1.25, 1.55])
    return [float(v @ np.tanh(query + key[:3])) for key in keys]
    ### END SOLUTION


def gradients_by_hand():
    """Return the gradients of the exercise's loss with respect to the parameters of its score and the sums in the tanh.

    Returns
    -------
    dict
        ``inside``: with respect to the two sums inside the tanh, a list of 2 numbers for each position; ``v``,
        ``W_query`` and ``W_key``: with respect to the parameters, in their shapes.
    """
    ### BEGIN SOLUTION
    query, keys = np.array([2.0, -1.0, 3.0]), np.array([[1.0, 0.0, 3.0], [-2.0, 1.0, 1.0]])
    hidden = np.array([[0.6, 0.0], [-0.8, 0.6]])
    by_score = np.array([1.0, -1.0])
    v = by_score @ hidden
    inside = by_score[:, None] * np.array([5.0, -10.0]) * (1 - hidden**2)
    W_query = np.outer(np.sum(inside, axis=0), query)
    W_key = np.transpose(inside) @ keys
    return {"inside": inside, "v": v, "W_query": W_query, "W_key": W_key}
    ### END SOLUTION


def unseen_by_the_score():
    """Return the matrix equivalent to the exercise's two, and a change to an annotation that never affects the score.

    Returns
    -------
    dict
        ``U_a``: 3 rows of 4 numbers; ``unseen``: a vector of 4 numbers, the last of them 1; ``two_matrices``,
        ``one_matrix``: numbers of parameters.
    """
    ### BEGIN SOLUTION
    W_c = np.array([[1.0, 0.0, 0.0, 2.0], [0.0, 1.0, 0.0, -1.0], [0.0, 0.0, 1.0, -3.0]])
    W_enc = np.array([[1.0, -1.0, 0.0], [0.0, 2.0, 1.0], [1.0, 0.0, 1.0]])
    unseen = np.append(-W_c[:, 3], 1.0)
    return {"U_a": W_enc @ W_c, "unseen": unseen, "two_matrices": 3 * 4 + 3 * 3, "one_matrix": 3 * 4}
    ### END SOLUTION


def project_keys(keys, W_key):
    """Project every annotation into the attention space, once per sentence.

    projected_keys[b, j] = W_key keys[b, j]

    Parameters
    ----------
    keys : (batch, source_len, key_size)
        Encoder annotations, h_1 ... h_Tx.
    W_key : (attention_size, key_size)

    Returns
    -------
    (batch, source_len, attention_size)
        Independent of the decoder, so it can be reused at every step.
    """
    return keys @ W_key.T


def additive_score(query, keys, W_query, W_key, v):
    """Score every source position against one decoder state.

    score[b, j] = v . tanh(W_query query[b] + W_key keys[b, j])

    Parameters
    ----------
    query : (batch, query_size)
        Decoder state before this step, s_{i-1}.
    keys : (batch, source_len, key_size)
        Encoder annotations, h_1 ... h_Tx.
    W_query : (attention_size, query_size)
    W_key : (attention_size, key_size)
    v : (attention_size,)

    Returns
    -------
    (batch, source_len)
        Unnormalised scores: no unit, any real number. Not yet weights.
    """
    ### BEGIN SOLUTION
    projected_query = query @ W_query.T  # (batch, attention_size)
    projected_keys = keys @ W_key.T  # (batch, source_len, attention_size)
    return np.tanh(projected_query[:, None, :] + projected_keys) @ v
    ### END SOLUTION


def dot_product_score(query, keys, W=None):
    """Score every source position by the dot product of the query and the annotation, or its product with W.

    score[b, j] = query[b] . keys[b, j] without W, query[b] . (W keys[b, j]) with it

    Parameters
    ----------
    query : (batch, query_size)
    keys : (batch, source_len, key_size)
        Without W, key_size equals query_size.
    W : matrix, optional
        Shared by all sentences. It maps an annotation into the space of the decoder states.

    Returns
    -------
    (batch, source_len)
        Unnormalised scores: no unit, any real number.

    Source: Luong et al. (2015), section 3.1, "dot" and "general".
    """
    ### BEGIN SOLUTION
    if W is not None:
        keys = keys @ W.T  # (batch, source_len, query_size)
    return (keys * query[:, None, :]).sum(axis=-1)
    ### END SOLUTION


def score_gradients(scores_gradient, query, keys, W_query, W_key, v):
    """Backpropagate from the scores of one sentence to the parameters of the additive score.

    score[j] = v . tanh(W_query query + W_key keys[j])

    Parameters
    ----------
    scores_gradient : (source_len,)
        Derivative of the loss with respect to each score of the step.
    query : (query_size,)
        Decoder state before this step, s_{i-1}.
    keys : (source_len, key_size)
        Encoder annotations, h_1 ... h_Tx.
    W_query : (attention_size, query_size)
    W_key : (attention_size, key_size)
    v : (attention_size,)

    Returns
    -------
    dict
        ``v``, ``W_query`` and ``W_key``: the gradient of the loss with respect to each parameter, in its shape.
    """
    ### BEGIN SOLUTION
    hidden = np.tanh(W_query @ query + keys @ W_key.T)  # (source_len, attention_size)
    inside = scores_gradient[:, None] * v * (1 - hidden**2)  # gradient of the sums inside the tanh
    return {"v": scores_gradient @ hidden, "W_query": np.outer(inside.sum(axis=0), query), "W_key": inside.T @ keys}
    ### END SOLUTION
