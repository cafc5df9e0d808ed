"""Wrong answers that students give to the encoder exercises. The docstring is the hint."""

import numpy as np
import torch


def second_layer_shapes__reads_words(d, m):
    """The second layer does not see word vectors. What does it read at each position?"""
    return {"input_matrix": (m, d), "recurrent_matrix": (m, m), "annotation": (2 * m,)}


def second_layer_shapes__one_direction(d, m):
    """An annotation of the first layer concatenates both directions, so it is longer than one state."""
    return {"input_matrix": (m, m), "recurrent_matrix": (m, m), "annotation": (m,)}


def second_layer_shapes__recurrence_joined(d, m):
    """Each direction has its own recurrence and sees only its own previous state."""
    return {"input_matrix": (m, 2 * m), "recurrent_matrix": (2 * m, 2 * m), "annotation": (2 * m,)}


def second_layer_shapes__transposed(d, m):
    """Rows come first: a matrix that maps p entries to q entries has shape (q, p)."""
    return {"input_matrix": (2 * m, m), "recurrent_matrix": (m, m), "annotation": (2 * m,)}


def rnn_outputs__last_batch_first(batch, d, m, T_x):
    """batch_first swaps the axes of the inputs and outputs. In the last states, the axis for the directions still comes first."""
    return {"outputs": (batch, T_x, 2 * m), "last": (batch, 2, m), "inputs_positions_first": (T_x, batch, d)}


def rnn_outputs__one_direction(batch, d, m, T_x):
    """Both directions are concatenated at each position, so the last axis is longer than one state."""
    return {"outputs": (batch, T_x, m), "last": (1, batch, m), "inputs_positions_first": (T_x, batch, d)}


def rnn_outputs__last_joined(batch, d, m, T_x):
    """The last states of the two directions are not concatenated: they are stacked along an axis of their own."""
    return {"outputs": (batch, T_x, 2 * m), "last": (batch, 2 * m), "inputs_positions_first": (T_x, batch, d)}


def rnn_outputs__batch_first_everywhere(batch, d, m, T_x):
    """Without batch_first, the module expects the positions on the first axis."""
    return {"outputs": (batch, T_x, 2 * m), "last": (2, batch, m), "inputs_positions_first": (batch, T_x, d)}


def _steps(first, second, W_x, W_h, squash=np.tanh, start=0.0):
    h_1 = squash(W_x @ first + W_h @ np.full(len(W_h), start))
    return {"h_1": h_1.tolist(), "h_2": squash(W_x @ second + W_h @ h_1).tolist()}


_E, _W = (
    np.array([[1.0, 0.0, 0.5, 0.0], [0.0, 1.0, -1.0, 0.0], [0.0, 0.0, 1.0, 2.0]]),
    [[1.0, 0.5, 0.0], [0.0, 1.0, 0.5]],
)
_HAND = {"W_x": np.array(_W), "W_h": np.array([[0.0, 1.0], [0.5, 0.0]])}


def states_by_hand__no_tanh():
    """The tanh is missing. Every entry of a state lies between -1 and 1."""
    return _steps(_E[:, 2], _E[:, 0], **_HAND, squash=lambda x: x)


def states_by_hand__no_memory():
    """Your second state ignores the first: W_h times the previous state is missing."""
    return _steps(_E[:, 2], _E[:, 0], _HAND["W_x"], 0 * _HAND["W_h"])


def states_by_hand__counted_from_one():
    """Words are counted from 0, so word 0 has the first column."""
    return _steps(_E[:, 1], _E[:, 0], **_HAND)


def states_by_hand__read_backwards():
    """You read the sentence backwards. The first state belongs to the first word."""
    return _steps(_E[:, 0], _E[:, 2], **_HAND)


_E_TWIN = np.array([[0.5, -1.0, 0.0, 2.0, 1.0], [1.0, 0.5, 2.0, -0.5, 0.0]])
_TWIN = {
    "W_x": np.array([[0.5, 0.0], [0.0, 1.0], [-0.5, 1.0]]),
    "W_h": np.array([[0.0, 1.0, 0.0], [0.5, 0.0, 0.0], [0.0, 0.5, -1.0]]),
}


def states_by_hand_twin__no_tanh():
    """The tanh is missing. Every entry of a state lies between -1 and 1."""
    return _steps(_E_TWIN[:, 3], _E_TWIN[:, 1], **_TWIN, squash=lambda x: x)


def states_by_hand_twin__no_memory():
    """Your second state ignores the first: W_h times the previous state is missing."""
    return _steps(_E_TWIN[:, 3], _E_TWIN[:, 1], _TWIN["W_x"], 0 * _TWIN["W_h"])


def states_by_hand_twin__counted_from_one():
    """Words are counted from 0, so word 0 has the first column."""
    return _steps(_E_TWIN[:, 2], _E_TWIN[:, 0], **_TWIN)


def states_by_hand_twin__transposed():
    """You used the columns of W_h. In W_h h, each row of W_h gives one entry."""
    return _steps(_E_TWIN[:, 3], _E_TWIN[:, 1], _TWIN["W_x"], _TWIN["W_h"].T)


def states_by_hand_twin__memory_outside():
    """W_h times the previous state belongs inside the tanh, together with W_x times the word vector."""
    h_1 = np.tanh(_TWIN["W_x"] @ _E_TWIN[:, 3])
    return {"h_1": h_1.tolist(), "h_2": (np.tanh(_TWIN["W_x"] @ _E_TWIN[:, 1]) + _TWIN["W_h"] @ h_1).tolist()}


def states_by_hand_twin__read_backwards():
    """You read the sentence backwards. The first state belongs to the first word."""
    return _steps(_E_TWIN[:, 1], _E_TWIN[:, 3], **_TWIN)


def _both(words, forward, backward):
    there, back = 0.0, 0.0
    for word in words[:2]:
        there = np.tanh(forward[0] * word + forward[1] * there)
    for word in words[:0:-1]:
        back = np.tanh(backward[0] * word + backward[1] * back)
    return [float(there), float(back)]


_WORDS, _FORWARD, _BACKWARD = (0.5, -1.0, 2.0), (1.0, 0.5), (-0.5, 0.8)


def _sums(squash):
    """Return the two sums of the exercise at the second word, with the first step of each direction squashed so."""
    first, second, third = _WORDS
    return [float(second + 0.5 * squash(first)), float(-0.5 * second + 0.8 * squash(-0.5 * third))]


def annotation_by_hand__from_the_left_twice():
    """Both of your directions start at the first word. The backward direction starts at the last."""
    return _both((*_WORDS[:2], _WORDS[0]), _FORWARD, _BACKWARD)


def annotation_by_hand__swapped():
    """The forward state comes first, then the backward state."""
    return _both(_WORDS, _FORWARD, _BACKWARD)[::-1]


def annotation_by_hand__same_parameters():
    """You used the parameters of the forward direction for both directions. Each direction has its own."""
    return _both(_WORDS, _FORWARD, _FORWARD)


def annotation_by_hand__last_states():
    """These are the final states of the two directions. The exercise asks for their states at the second word."""
    there, back = _both(_WORDS, _FORWARD, _BACKWARD)
    return [float(np.tanh(_WORDS[2] + 0.5 * there)), float(np.tanh(-0.5 * _WORDS[0] + 0.8 * back))]


def annotation_by_hand__no_memory():
    """Each direction reads another word before it reaches the second: the state after that word is missing."""
    return [float(np.tanh(_WORDS[1])), float(np.tanh(-0.5 * _WORDS[1]))]


def annotation_by_hand__no_tanh():
    """The tanh is missing, either at the first step or at the second."""
    return _sums(lambda x: x)


def annotation_by_hand__no_last_tanh():
    """The last tanh is missing: every state lies between -1 and 1, including the one you were asked for."""
    return _sums(np.tanh)


def _embedding(**changed):
    right = {"one_matrix": 120_000, "two_matrices": 9_001_200, "both_directions": 9_002_400, "pays_from": 304}
    return {**right, **changed}


def worth_an_embedding__second_matrix_forgotten():
    """After the embedding, you still need a second matrix that maps a word vector to the size of a state."""
    return _embedding(two_matrices=9_000_000, both_directions=9_000_000)


def worth_an_embedding__second_matrix_on_the_words():
    """Only the embedding has a column for each of the 30 000 words: the second matrix reads 300 entries."""
    return _embedding(two_matrices=9_120_000, both_directions=9_240_000)


def worth_an_embedding__embedded_twice():
    """A word has the same vector in either direction, so both directions can share the embedding."""
    return _embedding(both_directions=18_002_400)


def worth_an_embedding__from_the_word_vector():
    """You gave the size of a word vector itself. Write both counts in terms of the state size m, and compare them."""
    return _embedding(pays_from=300)


def worth_an_embedding__one_more_than_the_word_vector():
    """With 301 entries in a state, the two matrices still have more entries than the single one: you left out those of W_x."""
    return _embedding(pays_from=301)


def worth_an_embedding__not_yet():
    """At this size the two matrices still have slightly more parameters than the one. Try it, and then the next size."""
    return _embedding(pays_from=303)


def worth_an_embedding__one_word():
    """U multiplies a one-hot column, so each row of U is as long as the vocabulary."""
    return _embedding(one_matrix=1200)


def _states(embedded, W_x, W_h, squash=np.tanh, start=0.0):
    state, states = np.full((len(embedded), len(W_h)), start), []
    for j in range(embedded.shape[1]):
        state = squash(embedded[:, j] @ W_x.T + state @ W_h.T)
        states.append(state)
    return np.stack(states, axis=1)


def rnn_states__last_only(embedded, W_x, W_h):
    """You returned only the state after the last word. Keep every state along the way, one for each word."""
    return _states(embedded, W_x, W_h)[:, -1]


def rnn_states__no_memory(embedded, W_x, W_h):
    """Each of your states depends only on its own word: W_h times the previous state is missing."""
    return np.tanh(embedded @ W_x.T)


def rnn_states__no_tanh(embedded, W_x, W_h):
    """The tanh is missing. Every entry of a state lies between -1 and 1."""
    return _states(embedded, W_x, W_h, squash=lambda x: x)


def rnn_states__transposed(embedded, W_x, W_h):
    """You multiplied the previous state by the transpose of W_h. A row vector times W_h.T is the same as W_h times a column."""
    return _states(embedded, W_x, W_h.T)


def rnn_states__memory_outside(embedded, W_x, W_h):
    """You added W_h times the previous state after the tanh. It belongs inside, with the word."""
    state, states = np.zeros((len(embedded), len(W_h))), []
    for j in range(embedded.shape[1]):
        state = np.tanh(embedded[:, j] @ W_x.T) + state @ W_h.T
        states.append(state)
    return np.stack(states, axis=1)


def rnn_states__carried_to_the_next_sentence(embedded, W_x, W_h):
    """You start each sentence from the last state of the one before. Every sentence starts from a state of zeros."""
    state, states = np.zeros(len(W_h)), []
    for word in embedded.reshape(-1, embedded.shape[-1]):
        state = np.tanh(W_x @ word + W_h @ state)
        states.append(state)
    return np.reshape(states, (*embedded.shape[:2], -1))


def rnn_states__one_state_for_the_batch(embedded, W_x, W_h):
    """Your sentences share one state, so each reads what the others have just written. Every sentence needs its own."""
    batch, length, _ = embedded.shape
    state, states = np.zeros(len(W_h)), np.zeros((batch, length, len(W_h)))
    for j in range(length):
        for b in range(batch):
            state = states[b, j] = np.tanh(W_x @ embedded[b, j] + W_h @ state)
    return states


def rnn_states__last_word_left_out(embedded, W_x, W_h):
    """You never computed the states at the last position: look at where your loop over the positions ends."""
    states = _states(embedded, W_x, W_h)
    states[:, -1] = 0.0
    return states


def rnn_states__begins_with_ones(embedded, W_x, W_h):
    """Before the first word the state is all zeros."""
    return _states(embedded, W_x, W_h, start=1.0)


def rnn_states__one_late(embedded, W_x, W_h):
    """You kept the zeros from before the first word, so each word has the state of the word before it."""
    states = _states(embedded, W_x, W_h)
    return np.concatenate([np.zeros_like(states[:, :1]), states[:, :-1]], axis=1)


def rnn_states__sentences_as_positions(embedded, W_x, W_h):
    """Your loop runs over the sentences of the batch, so one sentence leaks into the next. The positions are on axis 1."""
    return _states(embedded.swapaxes(0, 1), W_x, W_h).swapaxes(0, 1)


def rnn_states__positions_first(embedded, W_x, W_h):
    """The states are right, but the axes are in the wrong order: the batch comes first, then the positions."""
    return _states(embedded, W_x, W_h).swapaxes(0, 1)


def rnn_states__read_backwards(embedded, W_x, W_h):
    """You read each sentence backwards."""
    return _states(embedded[:, ::-1], W_x, W_h)[:, ::-1]


def rnn_states__squeezed(embedded, W_x, W_h):
    """An axis of length 1 went missing: one sentence of one word keeps all three axes."""
    return np.squeeze(_states(embedded, W_x, W_h))


def _read(embedded, source_mask, W_x, W_h):
    state, states = embedded.new_zeros(len(embedded), len(W_h)), []
    for j in range(embedded.shape[1]):
        state = torch.tanh(embedded[:, j] @ W_x.T + state @ W_h.T) * source_mask[:, j, None]
        states.append(state)
    return torch.stack(states, dim=1)


def _read_back(embedded, source_mask, W_x, W_h):
    return _read(embedded.flip(1), source_mask.flip(1), W_x, W_h).flip(1)


def annotate__last_states(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """You returned two rows per sentence, the last states of the two directions. Attention needs one row for each word."""
    return torch.stack(
        [
            _read(embedded, source_mask, W_x, W_h)[:, -1],
            _read_back(embedded, source_mask, W_x_back, W_h_back)[:, 0],
        ],
        dim=1,
    )


def annotate__not_turned_round(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """Your backward states are in the order in which they were read. Reverse them before you concatenate."""
    back = _read_back(embedded, source_mask, W_x_back, W_h_back).flip(1)
    return torch.cat([_read(embedded, source_mask, W_x, W_h), back], dim=-1)


def annotate__forward_twice(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """Both of your directions start at the first word. The second must start at the last."""
    both = [_read(embedded, source_mask, W_x, W_h), _read(embedded, source_mask, W_x_back, W_h_back)]
    return torch.cat(both, dim=-1)


def annotate__shared_parameters(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """You used the parameters of the forward direction for both directions. Each direction has its own."""
    back = _read_back(embedded, source_mask, W_x + 0 * W_x_back, W_h + 0 * W_h_back)
    return torch.cat([_read(embedded, source_mask, W_x, W_h), back], dim=-1)


def annotate__begins_at_the_pads(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """Your backward direction reads the padding first, so its state is not 0 at the last word. Start at the last word."""
    everywhere = torch.ones_like(source_mask)
    both = [_read(embedded, everywhere, W_x, W_h), _read_back(embedded, everywhere, W_x_back, W_h_back)]
    return torch.cat(both, dim=-1) * source_mask.unsqueeze(-1)


def annotate__pads_not_zero(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """The annotations of the words are right, but those at padding positions must be 0."""
    everywhere = torch.ones_like(source_mask)
    back = _read_back(embedded, source_mask, W_x_back, W_h_back)
    return torch.cat([_read(embedded, everywhere, W_x, W_h), back], dim=-1)


def annotate__added(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """You added the two states. Concatenate them: an annotation is twice as long as a state."""
    back = _read_back(embedded, source_mask, W_x_back, W_h_back)
    return _read(embedded, source_mask, W_x, W_h) + back


def annotate__memory_outside(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """You added W_h times the previous state after the tanh. It belongs inside, with the word."""

    def read(embedded, mask, W_x, W_h):
        state, states = embedded.new_zeros(len(embedded), len(W_h)), []
        for j in range(embedded.shape[1]):
            state = (torch.tanh(embedded[:, j] @ W_x.T) + state @ W_h.T) * mask[:, j, None]
            states.append(state)
        return torch.stack(states, dim=1)

    back = read(embedded.flip(1), source_mask.flip(1), W_x_back, W_h_back).flip(1)
    return torch.cat([read(embedded, source_mask, W_x, W_h), back], dim=-1)


def annotate__backward_first(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """The forward state comes first in an annotation, then the backward state."""
    back = _read_back(embedded, source_mask, W_x_back, W_h_back)
    return torch.cat([back, _read(embedded, source_mask, W_x, W_h)], dim=-1)


def annotate__detached(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """The values are right, but cut off from the graph: no gradient reaches the matrices. Stay in torch throughout."""
    back = _read_back(embedded, source_mask, W_x_back, W_h_back)
    return torch.cat([_read(embedded, source_mask, W_x, W_h), back], dim=-1).detach()


def annotate__squeezed(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """An axis of length 1 went missing: one sentence of one word keeps all three axes."""
    back = _read_back(embedded, source_mask, W_x_back, W_h_back)
    return torch.cat([_read(embedded, source_mask, W_x, W_h), back], dim=-1).squeeze()


def annotate__not_turned_round_with_pads(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """Your backward states are in the order in which they were read. Reverse them before you concatenate."""
    keep = source_mask.unsqueeze(-1)
    forward, backward = [], []
    f = b = embedded.new_zeros(len(embedded), len(W_h))
    for j in range(embedded.shape[1]):
        f = torch.tanh(embedded[:, j] @ W_x.T + f @ W_h.T)
        forward.append(f)
    for j in reversed(range(embedded.shape[1])):
        b = torch.where(keep[:, j], torch.tanh(embedded[:, j] @ W_x_back.T + b @ W_h_back.T), torch.zeros_like(b))
        backward.append(b)
    joined = torch.cat([torch.stack(forward, 1), torch.stack(backward, 1)], dim=-1)
    return joined * keep
