"""Scoring: how well each source position fits the current decoder state.

Chapter: book/scoring.md. Source: Bahdanau et al. (2015), arXiv:1409.0473, App. A.1.2.
"""

import math

import numpy as np


def additive_shapes(m, n, a, T_x):
    """Return the intermediate shapes in computing the additive scores of one sentence.

    Parameters
    ----------
    m, n, a : int
        Sizes of one annotation, of the decoder state and of the attention layer.
    T_x : int
        Number of source positions.

    Returns
    -------
    dict
        ``projected_query``: W_query times the decoder state; ``projected_keys``: W_key times every annotation, one
        annotation per row; ``hidden``: the tanh of their sum; ``scores``.
    """
    ### BEGIN SOLUTION
    return {"projected_query": (a,), "projected_keys": (T_x, a), "hidden": (T_x, a), "scores": (T_x,)}
    ### END SOLUTION


def batched_additive_shapes(batch, m, n, a, T_x):
    """Return the intermediate shapes in computing the additive scores of a batch, batch first.

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
        sum; ``product``: ``hidden`` times v, where v is written as a matrix of one column.
    """
    ### BEGIN SOLUTION
    return {"projected_query": (batch, 1, a), "hidden": (batch, T_x, a), "product": (batch, T_x, 1)}
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
    return [float(v @ np.tanh(W_query @ query + W_key @ key)) for key in keys]
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


def joined_or_added():
    """Return what each part of a concatenated vector contributes, and how many parameters each form of the score has.

    Returns
    -------
    dict
        ``from_h``, ``from_s``: what the annotation and the state contribute, 2 numbers each; ``score``;
        ``joined_learned``, ``added_learned``: number of parameters of each form; ``spare``: how many of the second
        form's are redundant; ``paper``: number of parameters of the paper's own score.
    """
    ### BEGIN SOLUTION
    W = np.array([[0.5, 1.0, -0.5, 0.0, 0.2], [1.0, 0.0, -1.0, -0.5, 0.3]])
    h = np.array([2.0, -1.0, 1.0])
    from_h = W[:, :3] @ h
    from_s = W[:, 3:] @ np.array([1.0, 3.0])
    score = np.array([2.0, -1.0]) @ np.tanh(from_h + from_s)
    return {
        "from_h": from_h,
        "from_s": from_s,
        "score": score,
        "joined_learned": 30 * (60 + 30) + 30,
        "added_learned": (30 * 60 + 30) + (30 * 30 + 30),
        "spare": 30,  # the two biases are added, and one could do it
        "paper": 1000 * 1000 + 1000 * 2000 + 1000,
    }
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


def multiplicative_score(query, keys, W):
    """Score every source position by a bilinear form.

    score[b, j] = query[b] . (W keys[b, j])

    Parameters
    ----------
    query : (batch, query_size)
    keys : (batch, source_len, key_size)
    W : (query_size, key_size)

    Returns
    -------
    (batch, source_len)
        Unnormalised scores: no unit, any real number.

    Source: Luong et al. (2015), section 3.1, "general".
    """
    ### BEGIN SOLUTION
    return np.einsum("bn,nm,bjm->bj", query, W, keys)
    ### END SOLUTION


def dot_product_score(query, keys):
    """Score every source position by its dot product with the query. There are no parameters.

    score[b, j] = query[b] . keys[b, j]

    Parameters
    ----------
    query : (batch, size)
    keys : (batch, source_len, size)
        The last axis has the same size as the query's.

    Returns
    -------
    (batch, source_len)
        Unnormalised scores: no unit, any real number.

    Source: Luong et al. (2015), section 3.1, "dot".
    """
    ### BEGIN SOLUTION
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
