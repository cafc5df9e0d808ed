"""Encoding: from words to annotations, one for each source position.

Chapter: book/encoder.md. Source: note C, equation 1; Bahdanau et al. (2015), arXiv:1409.0473, section 3.2 and App. A.2.1.
"""

import numpy as np


def second_layer_shapes(d, m):
    """Return shapes in a second bidirectional layer that reads the annotations of the first.

    Parameters
    ----------
    d : int
        Size of one word vector.
    m : int
        Size of the state of *one* direction, in both layers.

    Returns
    -------
    dict
        ``input_matrix`` and ``recurrent_matrix``: the matrices that one direction of the second layer applies to an
        annotation of the first layer and to its own previous state; ``annotation``: one annotation of the second layer.
    """
    ### BEGIN SOLUTION
    return {"input_matrix": (m, 2 * m), "recurrent_matrix": (m, m), "annotation": (2 * m,)}
    ### END SOLUTION


def rnn_outputs(batch, d, m, T_x):
    """Return the shapes of the inputs and outputs of torch's bidirectional ``nn.RNN(d, m)`` for a batch.

    Parameters
    ----------
    batch, T_x : int
        Number of sentences, and number of words in each.
    d, m : int
        Size of one word vector, and of the state of *one* direction.

    Returns
    -------
    dict
        ``outputs`` and ``last``: the two results of a module created with ``batch_first=True``;
        ``inputs_positions_first``: the input that a module created without it expects.
    """
    ### BEGIN SOLUTION
    return {"outputs": (batch, T_x, 2 * m), "last": (2, batch, m), "inputs_positions_first": (T_x, batch, d)}
    ### END SOLUTION


def states_by_hand():
    """Return the two encoder states of the exercise.

    Returns
    -------
    dict
        ``h_1`` and ``h_2``, each a list of 2 floats from -1 to 1.
    """
    ### BEGIN SOLUTION
    E_x = np.array([[1.0, 0.0, 0.5, 0.0], [0.0, 1.0, -1.0, 0.0], [0.0, 0.0, 1.0, 2.0]])
    W_x = np.array([[1.0, 0.5, 0.0], [0.0, 1.0, 0.5]])
    W_h = np.array([[0.0, 1.0], [0.5, 0.0]])
    h_1 = np.tanh(W_x @ E_x[:, 2])
    return {"h_1": h_1.tolist(), "h_2": np.tanh(W_x @ E_x[:, 0] + W_h @ h_1).tolist()}
    ### END SOLUTION


def states_by_hand_twin():
    """Return the two encoder states of the exercise.

    Returns
    -------
    dict
        ``h_1`` and ``h_2``, each a list of 3 floats from -1 to 1.
    """
    ### BEGIN SOLUTION
    E_x = np.array([[0.5, -1.0, 0.0, 2.0, 1.0], [1.0, 0.5, 2.0, -0.5, 0.0]])
    W_x = np.array([[0.5, 0.0], [0.0, 1.0], [-0.5, 1.0]])
    W_h = np.array([[0.0, 1.0, 0.0], [0.5, 0.0, 0.0], [0.0, 0.5, -1.0]])
    h_1 = np.tanh(W_x @ E_x[:, 3])
    return {"h_1": h_1.tolist(), "h_2": np.tanh(W_x @ E_x[:, 1] + W_h @ h_1).tolist()}
    ### END SOLUTION


def annotation_by_hand():
    """Return the annotation of the second of the three words of the exercise.

    Returns
    -------
    list of 2 floats
        The forward state, then the backward state: each from -1 to 1.
    """
    ### BEGIN SOLUTION
    words = [0.5, -1.0, 2.0]
    first, second, third = words
    forward = np.tanh(first)
    forward = np.tanh(second + 0.5 * forward)
    backward = np.tanh(-0.5 * third)
    backward = np.tanh(-0.5 * second + 0.8 * backward)
    return [float(forward), float(backward)]
    ### END SOLUTION


def worth_an_embedding():
    """Count the parameters that note D's encoder applies to its words, without and with an embedding.

    Returns
    -------
    dict
        ``one_matrix``: those of U; ``two_matrices``: those of an embedding and the matrix after it; ``both_directions``:
        the same for a bidirectional encoder; ``pays_from``: the smallest state size for which ``two_matrices`` is less
        than ``one_matrix``.
    """
    ### BEGIN SOLUTION
    words, embedded, state = 30_000, 300, 4
    pays_from = next(m for m in range(1, 1000) if embedded * words + m * embedded < m * words)
    return {
        "one_matrix": state * words,
        "two_matrices": embedded * words + state * embedded,
        "both_directions": embedded * words + 2 * state * embedded,
        "pays_from": pays_from,
    }
    ### END SOLUTION


def look_up(tokens, E_x):
    """Replace each word number by its word vector.

    embedded[b, j] = E_x x[b, j], where x[b, j] is the one-hot column of word tokens[b, j]

    Parameters
    ----------
    tokens : (batch, source_len)
        Word numbers, counted from 0.
    E_x
        The embedding matrix of the formula: it multiplies one-hot columns from the left.

    Returns
    -------
    (batch, source_len, embedding_size)
        Word vectors.
    """
    return E_x.T[tokens]


def rnn_step(embedded, previous, W_x, W_h):
    """Update the encoder state by one word.

    state[b] = tanh(W_x embedded[b] + W_h previous[b])

    Parameters
    ----------
    embedded : (batch, embedding_size)
        The word vector of each sentence at this position.
    previous : (batch, hidden_size)
        The state after the previous word; zeros before the first word.
    W_x : (hidden_size, embedding_size)
    W_h : (hidden_size, hidden_size)

    Returns
    -------
    (batch, hidden_size)
        Entries from -1 to 1.
    """
    return np.tanh(embedded @ W_x.T + previous @ W_h.T)


def rnn_states(embedded, W_x, W_h):
    """Read each sentence from its first word to its last, and return the state after every word.

    states[b, j] = tanh(W_x embedded[b, j] + W_h states[b, j - 1]), with zeros before the first word

    Parameters
    ----------
    embedded : (batch, source_len, embedding_size)
        Word vectors.
    W_x, W_h
        The two matrices of the formula, applied to the word vector and to the previous state.

    Returns
    -------
    array
        Batch first, then positions: one state per word of each sentence, with entries from -1 to 1.
    """
    ### BEGIN SOLUTION
    state = np.zeros((embedded.shape[0], W_h.shape[0]))
    states = []
    for j in range(embedded.shape[1]):
        state = np.tanh(embedded[:, j] @ W_x.T + state @ W_h.T)
        states.append(state)
    return np.stack(states, axis=1)
    ### END SOLUTION


def bidirectional_annotations(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """Read each sentence of a padded batch in both directions, and concatenate the two states of each word.

    annotations[b, j] = [forward[b, j]; backward[b, j]]

    Parameters
    ----------
    embedded : (batch, source_len, embedding_size)
        Word vectors. Values at padding positions do not matter.
    source_mask : (batch, source_len)
        True at real words. Padding occurs only at the end of a row.
    W_x, W_x_back : (hidden_size, embedding_size)
    W_h, W_h_back : (hidden_size, hidden_size)
        Each direction has its own matrices.

    Returns
    -------
    (batch, source_len, 2 * hidden_size)
        The forward state, then the backward state, with entries from -1 to 1. 0 at padding positions.
    """
    annotations = np.zeros((*source_mask.shape, 2 * len(W_h)))
    for b, length in enumerate(source_mask.sum(axis=1)):
        words = embedded[b, None, :length]
        if length:
            forward = rnn_states(words, W_x, W_h)
            backward = rnn_states(words[:, ::-1], W_x_back, W_h_back)[:, ::-1]
            annotations[b, :length] = np.concatenate([forward, backward], axis=-1)
    return annotations
