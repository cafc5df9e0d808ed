"""The output layer: from decoder state and context to a distribution over the words of the target vocabulary.

Chapter: book/output_layer.md. Source: Bahdanau et al. (2015), arXiv:1409.0473, section 3.1 and App. A.2.2.
"""

import math

import numpy as np


def every_step_shapes(batch, T_y, n, d, m, V_y):
    """Return the shapes in computing the logits of all steps of a batch by one product.

    Parameters
    ----------
    batch, T_y : int
        Number of sentence pairs, and number of decoder steps, including the stop token.
    n, d, m : int
        Size of the decoder state, of a word embedding, and of the context.
    V_y : int
        Number of words in the target vocabulary.

    Returns
    -------
    dict
        ``joined``: state, embedding and context of every step, concatenated; ``W_o``: the matrix that maps the
        concatenated vector of one step to its logits; ``logits``: those of all steps; ``flat_logits``: the same as a
        matrix, as loss functions expect them, with a row for each step of each sentence.
    """
    ### BEGIN SOLUTION
    size = n + d + m
    return {
        "joined": (batch, T_y, size),
        "W_o": (V_y, size),
        "logits": (batch, T_y, V_y),
        "flat_logits": (batch * T_y, V_y),
    }
    ### END SOLUTION


def hindi_distribution():
    """Return the probabilities of the six words of the toy vocabulary, in its order.

    Returns
    -------
    list of 6 floats
        Probabilities, which sum to 1.
    """
    ### BEGIN SOLUTION
    state = np.tanh(0.3 + np.array([0.12, 0.37, 0.40]))
    W_o = np.array([[0, 0, 0], [2, 2, 2], [1, 0, 0], [0, 1, 0], [0, 0, 1], [-1, -1, -1]])
    exponentials = np.exp(W_o @ state)
    return (exponentials / exponentials.sum()).tolist()
    ### END SOLUTION


def what_is_left():
    """Return the probability that note D's slide does not show, and the cross-entropy of the target word.

    Returns
    -------
    dict
        ``left``: a probability; ``loss``: in nats.
    """
    ### BEGIN SOLUTION
    printed = [0.001, 0.001, 0.87, 0.0, 0.0, 0.001]
    return {"left": 1 - sum(printed), "loss": -math.log(printed[2])}
    ### END SOLUTION


def word_by_hand():
    """Return all intermediate results of one decoder step, from the scores to the distribution over the words.

    Returns
    -------
    dict
        ``scores`` (2 numbers), ``weights`` (2), ``context`` (4), ``state`` (2) and ``distribution`` (5).
    """
    ### BEGIN SOLUTION
    query = np.array([0.4, -0.6])
    keys = np.array([[0.5, -0.2, 0.1, 0.3], [-0.4, 0.6, 0.2, -0.1]])
    W_query = np.array([[1, -1], [0, 2], [0.5, 1]])
    W_key = np.array([[1, 0, 0, 2], [0, 1, -1, 0], [0, 0, 2, 1]])
    scores = np.tanh(W_query @ query + keys @ W_key.T) @ np.array([1, -2, 1.5])
    weights = np.exp(scores) / np.exp(scores).sum()
    context = weights @ keys
    W_s = np.array([[0.5, 1], [-1, 0]])
    W_c = np.array([[2, 0, -1, 0.5], [0, 2, 0, 1]])
    state = np.tanh(np.array([0.3, -0.1]) + W_s @ query + W_c @ context)
    W_o = np.array([[1, -1], [2, 0], [0, 2], [-1, 1], [1, 1]])
    exponentials = np.exp(W_o @ state + np.array([0, -0.5, 0.5, 0, 0.2]))
    distribution = exponentials / exponentials.sum()
    return {
        "scores": scores.tolist(),
        "weights": weights.tolist(),
        "context": context.tolist(),
        "state": state.tolist(),
        "distribution": distribution.tolist(),
    }
    ### END SOLUTION


def wider_beam():
    """Return the penalized scores of the exercise's hypotheses, the winners, and where two of them swap places.

    Returns
    -------
    dict
        ``scores``: 3 numbers, log-probabilities divided by penalties; ``winners``: the numbers of 4 hypotheses; ``turn``:
        an exponent.
    """
    ### BEGIN SOLUTION
    log_p, lengths = np.array([-3.6, -4.4, -2.6]), np.array([8, 11, 2])
    scores = log_p / ((5 + lengths) / 6) ** 0.6
    winners = [log_p[:2].argmax(), log_p.argmax(), scores.argmax(), (log_p / lengths).argmax()]
    turn = math.log(3.6 / 2.6) / math.log((5 + 8) / (5 + 2))
    return {"scores": scores.tolist(), "winners": [int(winner) for winner in winners], "turn": turn}
    ### END SOLUTION


def output_distribution(state, context, W_state, W_context, b_o):
    """Turn the decoder state and the context of a step into a distribution over the target words.

    p[b] = softmax(W_state state[b] + W_context context[b] + b_o)

    Parameters
    ----------
    state : (batch, query_size)
        Decoder state after this step, s_i.
    context : (batch, key_size)
        Context of this step, c_i.
    W_state : (vocab_size, query_size)
    W_context : (vocab_size, key_size)
        Side by side, the two form the matrix that multiplies the concatenated state and context.
    b_o : (vocab_size,)

    Returns
    -------
    (batch, vocab_size)
        Probabilities that sum to 1 in each row, even if the logits are in the thousands.
    """
    logits = state @ W_state.T + context @ W_context.T + b_o  # (batch, vocab_size)
    exponentials = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def cross_entropy(logits, targets, target_mask):
    """Average the cross-entropy of the target words over all real positions of a batch.

    loss = mean of -ln softmax(logits[b, i])[targets[b, i]] over the positions where target_mask[b, i] is True

    Parameters
    ----------
    logits : (batch, target_len, vocab_size)
        Any real numbers, even in the thousands.
    targets : (batch, target_len)
        The number of the target word at each position.
    target_mask : (batch, target_len)
        True at real words, including the stop token; False at padding.

    Returns
    -------
    float
        Nats per word, 0 or more. A batch without any real word has loss 0.
    """
    ### BEGIN SOLUTION
    shifted = logits - logits.max(axis=-1, keepdims=True)
    log_probabilities = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    right = np.take_along_axis(log_probabilities, targets[..., None], axis=-1)[..., 0]  # (batch, target_len)
    return -right[target_mask].sum() / max(1, target_mask.sum())
    ### END SOLUTION


def logits_gradient(logits, targets, target_mask):
    """Return the gradient of the mean cross-entropy of a batch with respect to its logits.

    gradient[b, i, w] = derivative of the loss with respect to logits[b, i, w], where the loss is the mean of
    -ln softmax(logits[b, i])[targets[b, i]] over the positions where target_mask[b, i] is True

    Parameters
    ----------
    logits : (batch, target_len, vocab_size)
        Any real numbers, even in the thousands.
    targets : (batch, target_len)
        The number of the target word at each position.
    target_mask : (batch, target_len)
        True at real words, including the stop token; False at padding.

    Returns
    -------
    (batch, target_len, vocab_size)
        Nats per unit of a logit. If the batch has no real word, all entries are 0.
    """
    ### BEGIN SOLUTION
    exponentials = np.exp(logits - logits.max(axis=-1, keepdims=True))
    probabilities = exponentials / exponentials.sum(axis=-1, keepdims=True)
    one_hot = np.arange(logits.shape[-1]) == targets[..., None]  # (batch, target_len, vocab_size)
    real_words = max(1, target_mask.sum())
    return np.where(target_mask[..., None], probabilities - one_hot, 0.0) / real_words
    ### END SOLUTION


def which_gradient():
    """Return the loss of the exercise's two steps, and what is wrong with which of its four gradients.

    Returns
    -------
    dict
        ``loss``: in nats; ``wrong``: the number of a gradient, from 1 to 4; ``entry``: the first entry of the right one;
        ``forgotten``: the number of what its author forgot, from 1 to 6.
    """
    ### BEGIN SOLUTION
    parameters = {
        "W_o": np.array([[-2, 2], [2, 1], [1, 0.5]]),
        "W_s": np.array([[0.5, 1.5], [-1, -0.5]]),
        "x_1": np.array([-0.25, 0.75]),
        "s_0": np.array([0.25, -0.25]),
    }
    printed = {
        "W_o": [[-0.5119, -0.0433], [0.4463, -0.0563], [0.0656, 0.0996]],
        "W_s": [[-0.5970, 0.6801], [0.4874, -0.5187]],
        "x_1": [-1.3938, -0.2317],
        "s_0": [-1.6870, -1.7529],
    }

    def loss_of(W_o, W_s, x_1, s_0):
        s_1 = np.tanh(x_1 + W_s @ s_0)
        s_2 = np.tanh(np.array([0.25, 0.5]) + W_s @ s_1)
        logits = np.array([W_o @ s_1, W_o @ s_2])
        return (np.log(np.exp(logits).sum(axis=1)) - logits[[0, 1], [1, 0]]).mean()

    for number, (name, values) in enumerate(parameters.items(), start=1):
        gradient = np.zeros(values.shape)
        for place in np.ndindex(values.shape):
            step = np.zeros(values.shape)
            step[place] = 1e-5
            above, below = (loss_of(**{**parameters, name: values + change}) for change in (step, -step))
            gradient[place] = (above - below) / 2e-5
        if np.abs(gradient - printed[name]).max() > 1e-4:
            wrong, entry = number, gradient.flat[0]
    # multiplying by W_s instead of its transpose, on the way back to s_1, gives the printed numbers of x_1
    return {"loss": loss_of(**parameters), "wrong": wrong, "entry": entry, "forgotten": 5}
    ### END SOLUTION


def decode(state, embeddings, W_s, W_o, limits, uniforms=None):
    """Write a batch of sentences word by word: each word is the next one that the decoder reads.

    state[b] = tanh(embeddings[last word of sentence b] + W_s state[b]);  logits[b] = W_o state[b]

    Parameters
    ----------
    state : (batch, state_size)
        Initial states.
    embeddings : (vocab_size, state_size)
        Word 0 is padding, 1 the start token, 2 the stop token; all others are ordinary words.
    W_s : (state_size, state_size)
    W_o : (vocab_size, state_size)
    limits : (batch,)
        How many words a sentence has at most, including the stop token: 1 or more.
    uniforms : (batch, steps), optional
        Numbers from 0 to less than 1, each of which draws one word; ``steps`` is at least ``limits.max()``. Without them,
        each word is the one with the largest logit.

    Returns
    -------
    (batch, limits.max())
        Numbers of words, without the start token; 0 after a sentence has ended.
    """
    ### BEGIN SOLUTION
    word = np.full(len(state), 1)  # all read START
    words = np.zeros((len(state), limits.max()), dtype=int)
    for step in range(limits.max()):
        state = np.tanh(embeddings[word] + state @ W_s.T)
        logits = state @ W_o[2:].T  # (batch, vocab_size - 2): padding and START cannot be chosen
        if uniforms is None:
            chosen = logits.argmax(axis=-1)
        else:
            exponentials = np.exp(logits - logits.max(axis=-1, keepdims=True))
            cumulative = np.cumsum(exponentials, axis=-1)
            cumulative = cumulative / cumulative[:, -1:]
            chosen = (cumulative > uniforms[:, step, None]).argmax(axis=-1)
        has_ended = (words == 2).any(axis=-1) | (step >= limits)
        word = chosen + 2
        words[:, step] = np.where(has_ended, 0, word)
    return words
    ### END SOLUTION
