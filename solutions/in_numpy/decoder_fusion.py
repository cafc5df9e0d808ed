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


def note_c_state():
    """Return the new state of note C's question 3: a list of 2 floats between -1 and 1."""
    query, embedded = np.array([0.5, 0.5]), np.array([0.6, 0.4])
    keys = np.array([[0.2, 0.2], [0.8, 0.8]])
    exponentials = np.exp(np.tanh(query + keys).sum(axis=1))
    context = exponentials / exponentials.sum() @ keys
    return np.tanh(embedded + query + context).tolist()


def two_decimals():
    """Return the first weight by each of the exercise's six methods, and which of them give note C's two decimals.

    Returns
    -------
    dict
        ``weights``: 6 weights of the first annotation, in the order of the methods; ``alike``: the numbers of 2 methods,
        counted from 1, in increasing order.
    """
    ### BEGIN SOLUTION
    query, embedded = np.array([0.5, 0.5]), np.array([0.6, 0.4])
    keys = np.array([[0.2, 0.2], [0.8, 0.8]])

    def softmax(scores):
        return np.exp(scores) / np.exp(scores).sum()

    scores = np.tanh(query + keys).sum(axis=1)
    updated = np.tanh(embedded + query)
    weights = np.array(
        [
            scores / scores.sum(),
            [0.5, 0.5],
            softmax((query + keys).sum(axis=1)),
            softmax(np.tanh(updated + keys).sum(axis=1)),
            softmax(scores / 2),
            softmax(scores)[::-1],
        ]
    )
    states = np.tanh(embedded + query + weights @ keys)
    alike = 1 + np.flatnonzero((states.round(2) == [0.93, 0.90]).all(axis=1))
    return {"weights": weights[:, 0].tolist(), "alike": alike.tolist()}
    ### END SOLUTION


def note_d_state():
    """Return the state z_1 of note D's example, as the exercise completes it.

    Returns
    -------
    list of 3 floats
        Between -1 and 1, no unit.
    """
    ### BEGIN SOLUTION
    z_0, c_1 = np.full(3, 0.3), np.array([0.12, 0.37, 0.40, 0.37])
    W_D, W_a = np.eye(3), np.eye(3, 4)
    return np.tanh(W_D @ z_0 + W_a @ c_1).tolist()
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
    return np.tanh(embedded @ W_y.T + query @ W_s.T + context @ W_c.T)


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
        True at real words.
    W_y, W_s, W_fed
        Matrices of the recurrence, for the word, the state and ``fed``.
    W : (query_size, key_size)
    W_mix : (mixed_size, key_size + query_size)

    Returns
    -------
    (batch, mixed_size)
        Entries between -1 and 1, the input of the output layer. Without a real word the context is 0.

    Source: Luong et al. (2015), sections 3 and 3.3.
    """
    ### BEGIN SOLUTION
    state = np.tanh(embedded @ W_y.T + query @ W_s.T + fed @ W_fed.T)
    scores = np.einsum("bn,nm,bjm->bj", state, W, keys)
    lowest = np.finfo(scores.dtype).min
    best = np.where(source_mask, scores, lowest).max(axis=1, keepdims=True)
    powers = np.exp(np.where(source_mask, scores - best, lowest))  # exactly 0 at padding
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


def mended_note_a(words, state, keys, W_query, W_key, v, E, L_1, W_input, W_s, L_2):
    """Run note A's decoder over given words, with its slips corrected, and return the distribution after each step.

    c[b] = sum_j softmax over j of (v . tanh(W_query state[b] + W_key keys[b, j])) keys[b, j]
    k[b] = ReLU(L_1 [E y[b]; c[b]]), where y[b] is the one-hot column of the word that is read
    state[b] = tanh(W_input k[b] + W_s state[b]);  result[b, i] = softmax(L_2 [state[b]; c[b]])

    Parameters
    ----------
    words : (batch, steps)
        The number of the word that is read at each step.
    state : (batch, query_size)
        Decoder state before the first step.
    keys : (batch, source_len, key_size)
        Encoder annotations, h_1 ... h_Tx.
    W_query : (attention_size, query_size)
    W_key : (attention_size, key_size)
    v : (attention_size,)
    E : (embedding_size, vocab_size)
        One word vector in each column.
    L_1
        Matrix on embedding and context, in this order.
    W_input : (query_size, query_size)
    W_s : (query_size, query_size)
    L_2
        Matrix on state and context, in this order.

    Returns
    -------
    (batch, steps, vocab_size)
        Probabilities of the next word, which sum to 1.

    Source: note A, sections 1 to 3, with the concatenation that its text describes.
    """
    ### BEGIN SOLUTION

    def softmax(x):
        powers = np.exp(x - x.max(axis=-1, keepdims=True))
        return powers / powers.sum(axis=-1, keepdims=True)

    outputs = []
    for word in words.T:  # (batch,): one word of each sentence
        scores = np.tanh((state @ W_query.T)[:, None] + keys @ W_key.T) @ v  # (batch, source_len)
        context = np.einsum("bj,bjm->bm", softmax(scores), keys)
        k = np.maximum(np.concatenate([E.T[word], context], axis=1) @ L_1.T, 0.0)
        state = np.tanh(k @ W_input.T + state @ W_s.T)
        outputs.append(softmax(np.concatenate([state, context], axis=1) @ L_2.T))
    return np.stack(outputs, axis=1)
    ### END SOLUTION
