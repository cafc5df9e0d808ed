"""Decoder fusion: how the context, the last word and the last state become the new state.

Chapter: book/decoder_fusion.md. Sources: Bahdanau et al. (2015), arXiv:1409.0473, section 3.1; notes A, C and D.
"""

import numpy as np


def note_c_dimensions(d, m, n, V_x, V_y):
    """Return the shapes of the ten parameters in note C's first question.

    Parameters
    ----------
    d : int
        Size of a word embedding, in both languages.
    m, n : int
        Size of an encoder state, and of the decoder state.
    V_x, V_y : int
        Number of source words, and of target words.

    Returns
    -------
    dict
        ``E_x``, ``E``, ``W_x``, ``W_h``, ``W_query``, ``W_key``, ``v``, ``W_y``, ``W_s`` and ``W_c``, each with its
        shape as a tuple.
    """
    ### BEGIN SOLUTION
    encoder = {"E_x": (d, V_x), "W_x": (m, d), "W_h": (m, m)}
    score = {"W_query": (n, n), "W_key": (n, m), "v": (n,)}
    decoder = {"E": (d, V_y), "W_y": (n, d), "W_s": (n, n), "W_c": (n, m)}
    return {**encoder, **score, **decoder}
    ### END SOLUTION


def fusion_shapes(d, m, n, r):
    """Return the shapes in concatenating word and context, with a bidirectional encoder.

    Parameters
    ----------
    d : int
        Size of a word embedding.
    m : int
        Size of the encoder state of *one* direction. An annotation concatenates both directions.
    n : int
        Size of the decoder state.
    r : int
        Size of the recurrent layer's input.

    Returns
    -------
    dict
        ``joined``: embedding and context, concatenated; ``L_1``: the matrix that maps it to the recurrent layer's input;
        ``W_input``: the recurrent layer's matrix for its input; ``W_context``: note C's matrix for the context.
    """
    ### BEGIN SOLUTION
    return {"joined": (d + 2 * m,), "L_1": (r, d + 2 * m), "W_input": (n, r), "W_context": (n, 2 * m)}
    ### END SOLUTION


def paper_shapes(m, n, a, pairs, V_y):
    """Return shapes of the paper's model, where each direction's encoder state is as large as the decoder state.

    Parameters
    ----------
    m : int
        Size of a word embedding: the paper's letter for it, used only here.
    n : int
        Size of the decoder state, and of the state of one direction of the encoder.
    a : int
        Attention size.
    pairs : int
        Number of pairs in the output layer, each of which is reduced to its larger entry.
    V_y : int
        Number of target words.

    Returns
    -------
    dict
        ``W_r`` and ``C_r``: the reset gate's matrices for the word embedding and for the context; ``U_a``: the score's
        matrix for an annotation; ``C_o``: the context's matrix in the sum from which the pairs are formed; ``W_o``: the
        matrix that maps the results of the pairs to the logits.
    """
    ### BEGIN SOLUTION
    return {"W_r": (n, m), "C_r": (n, 2 * n), "U_a": (a, 2 * n), "C_o": (2 * pairs, 2 * n), "W_o": (V_y, pairs)}
    ### END SOLUTION


def note_c_state():
    """Return the new state of note C's question 3.

    Returns
    -------
    list of 2 floats
        Between -1 and 1, no unit.
    """
    ### BEGIN SOLUTION
    query, embedded = np.array([0.5, 0.5]), np.array([0.6, 0.4])
    keys = np.array([[0.2, 0.2], [0.8, 0.8]])
    exponentials = np.exp(np.tanh(query + keys).sum(axis=1))
    context = exponentials / exponentials.sum() @ keys
    return np.tanh(embedded + query + context).tolist()
    ### END SOLUTION


def step_by_hand():
    """Return all intermediate results of the exercise's decoder step, from the scores to the new state.

    Returns
    -------
    dict
        ``scores`` (3 numbers), ``weights`` (3), ``context`` (4), ``state`` (3).
    """
    ### BEGIN SOLUTION
    query, embedded = np.array([0.5, -0.4, 0.2]), np.array([0.6, -0.3])
    keys = np.array([[0.3, -0.2, 0.5, 0.1], [-0.6, 0.4, 0.1, 0.8], [0.9, 0.7, -0.4, 0.2]])
    W_query = np.array([[1.0, 0.0, 2.0], [0.0, -1.0, 1.0]])
    W_key = np.array([[1.0, 0.0, 0.0, -1.0], [0.0, 2.0, 1.0, 0.0]])
    v = np.array([1.5, -1.0])
    W_y = np.array([[1.0, 0.0], [0.0, 2.0], [1.0, -1.0]])
    W_s = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, -1.0, 1.0]])
    W_c = np.array([[1.0, 0.0, 0.0, 1.0], [0.0, -1.0, 0.0, 2.0], [0.0, 1.0, 1.0, 0.0]])
    scores = np.array([v @ np.tanh(W_query @ query + W_key @ key) for key in keys])
    weights = np.exp(scores) / np.exp(scores).sum()
    context = weights @ keys
    state = np.tanh(W_y @ embedded + W_s @ query + W_c @ context)
    return {"scores": scores, "weights": weights, "context": context, "state": state}
    ### END SOLUTION


def note_d_state_twin():
    """Return the new state of the exercise, a step in note D's notation.

    Returns
    -------
    list of 2 floats
        Between -1 and 1, no unit.
    """
    ### BEGIN SOLUTION
    z_0, y_0 = np.array([0.2, -0.5]), np.array([0.0, 0.0, 1.0, 0.0])
    c_1, b_D = np.array([0.4, -0.3, 0.2]), np.array([0.15, -0.2])
    W_D = np.array([[0.0, 1.0], [2.0, 0.5]])
    U_D = np.array([[0.3, -0.1, 0.6, 0.0], [0.2, 0.4, -0.7, 0.1]])
    W_a = np.array([[1.0, 0.0, -1.0], [0.5, 2.0, 0.0]])
    return np.tanh(W_D @ z_0 + U_D @ y_0 + W_a @ c_1 + b_D).tolist()
    ### END SOLUTION


def decoder_step_state(embedded, query, context, W_y, W_s, W_c):
    """Compute the new decoder state from the last word, the last state and the context.

    result[b] = tanh(W_y embedded[b] + W_s query[b] + W_c context[b])

    Parameters
    ----------
    embedded : (batch, embedding_size)
        Embedding of the word before this step, E y_{i-1}.
    query : (batch, query_size)
        Decoder state before this step, s_{i-1}.
    context : (batch, key_size)
        Context of this step, c_i.
    W_y, W_s, W_c
        Parameter matrices, shared by all sentences.

    Returns
    -------
    (batch, query_size)
        The state s_i: entries between -1 and 1.

    Source: note C, equation 2. The paper uses a gated unit instead.
    """
    ### BEGIN SOLUTION
    return np.tanh(embedded @ W_y.T + query @ W_s.T + context @ W_c.T)
    ### END SOLUTION


def fused_input(embedded, context, L_1):
    """Concatenate the last word and the context, and compute the recurrent layer's input from them.

    result[b] = ReLU(L_1 [embedded[b]; context[b]])

    Parameters
    ----------
    embedded : (batch, embedding_size)
        Embedding of the word before this step, E y_{i-1}. It comes first.
    context : (batch, key_size)
        Context of this step, c_i.
    L_1
        Parameter matrix, shared by all sentences.

    Returns
    -------
    (batch, input_size)
        Entries that are 0 or positive.

    Source: note A, with the concatenation that its text describes.
    """
    ### BEGIN SOLUTION
    joined = np.concatenate([embedded, context], axis=1)
    return np.maximum(joined @ L_1.T, 0.0)
    ### END SOLUTION


def luong_step(fed, embedded, query, keys, source_mask, W_y, W_s, W_fed, W, W_mix):
    """Compute one step of Luong's decoder with input feeding: first the recurrence, then the attention.

    state[b] = tanh(W_y embedded[b] + W_s query[b] + W_fed fed[b])
    score[b, j] = state[b] . (W keys[b, j])
    result[b] = tanh(W_mix [context[b]; state[b]])

    Parameters
    ----------
    fed : (batch, mixed_size)
        The result of this function at the previous step.
    embedded : (batch, embedding_size)
        Embedding of the word before this step, E y_{i-1}.
    query : (batch, query_size)
        Decoder state before this step, s_{i-1}.
    keys : (batch, source_len, key_size)
        Encoder annotations, h_1 ... h_Tx.
    source_mask : (batch, source_len)
        True at real tokens.
    W_y, W_s, W_fed
        Matrices of the recurrence, for the word, the state and ``fed``.
    W : (query_size, key_size)
    W_mix : (mixed_size, key_size + query_size)

    Returns
    -------
    (batch, mixed_size)
        Entries between -1 and 1, the input of the output layer. Without a real token the context is 0.

    Source: Luong et al. (2015), sections 3 and 3.3.
    """
    ### BEGIN SOLUTION
    state = np.tanh(embedded @ W_y.T + query @ W_s.T + fed @ W_fed.T)
    scores = np.einsum("bn,nm,bjm->bj", state, W, keys)
    lowest = np.finfo(scores.dtype).min
    best = np.where(source_mask, scores, lowest).max(axis=1, keepdims=True)
    powers = np.exp(np.where(source_mask, scores - best, lowest))  # exactly 0 at pads
    total = powers.sum(axis=1, keepdims=True)
    context = np.einsum("bj,bjm->bm", powers / np.where(total > 0, total, 1), keys)
    return np.tanh(np.concatenate([context, state], axis=1) @ W_mix.T)
    ### END SOLUTION


def gated_step(
    embedded,
    query,
    context,
    W_y,
    W_s,
    W_c,
    W_y_update,
    W_s_update,
    W_c_update,
    W_y_reset,
    W_s_reset,
    W_c_reset,
):
    """Compute the new decoder state as in the paper, with two gates that both see the context.

    update[b] = sigmoid(W_y_update embedded[b] + W_s_update query[b] + W_c_update context[b])
    reset[b] = sigmoid(W_y_reset embedded[b] + W_s_reset query[b] + W_c_reset context[b])
    candidate[b] = tanh(W_y embedded[b] + W_s (reset[b] * query[b]) + W_c context[b])
    result[b] = (1 - update[b]) * query[b] + update[b] * candidate[b], entry by entry

    Parameters
    ----------
    embedded : (batch, embedding_size)
        Embedding of the word before this step, E y_{i-1}.
    query : (batch, query_size)
        Decoder state before this step, s_{i-1}.
    context : (batch, key_size)
        Context of this step, c_i.
    W_y, W_s, W_c
        The candidate's matrices.
    W_y_update, W_s_update, W_c_update, W_y_reset, W_s_reset, W_c_reset
        The two gates' matrices, of the same shapes as the candidate's.

    Returns
    -------
    (batch, query_size)
        The state s_i. Each entry lies between the old state's entry and the candidate's, which is between -1 and 1.

    Source: Bahdanau et al. (2015), App. A.2.2.
    """
    ### BEGIN SOLUTION
    # sigmoid(x) = (1 + tanh(x / 2)) / 2: no exponential that could overflow
    update = (1 + np.tanh((embedded @ W_y_update.T + query @ W_s_update.T + context @ W_c_update.T) / 2)) / 2
    reset = (1 + np.tanh((embedded @ W_y_reset.T + query @ W_s_reset.T + context @ W_c_reset.T) / 2)) / 2
    candidate = np.tanh(embedded @ W_y.T + (reset * query) @ W_s.T + context @ W_c.T)
    return (1 - update) * query + update * candidate
    ### END SOLUTION
