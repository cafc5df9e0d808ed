"""Wrong answers that students give to the encoder exercises. The docstring is the hint."""

import numpy as np
import torch

from solutions.in_torch.encoder import annotate


def second_layer_shapes__reads_words(d, m):
    """The second layer does not see word vectors. What does it read at each position?"""
    return {"input_matrix": (m, d), "recurrent_matrix": (m, m), "annotation": (2 * m,)}


def second_layer_shapes__one_direction(d, m):
    """An annotation concatenates the states of both directions, so it is longer than one state."""
    return {"input_matrix": (m, m), "recurrent_matrix": (m, m), "annotation": (m,)}


def second_layer_shapes__recurrence_joined(d, m):
    """Each direction has its own recurrence and sees only its own previous state."""
    return {"input_matrix": (m, 2 * m), "recurrent_matrix": (2 * m, 2 * m), "annotation": (2 * m,)}


def second_layer_shapes__transposed(d, m):
    """Rows come first: a matrix that maps p entries to q entries has shape (q, p)."""
    return {"input_matrix": (2 * m, m), "recurrent_matrix": (m, m), "annotation": (2 * m,)}


def second_layer_shapes__doubled_again(d, m):
    """The second layer concatenates the states of its own two directions, and each of these still has m entries."""
    return {"input_matrix": (m, 2 * m), "recurrent_matrix": (m, m), "annotation": (4 * m,)}


def rnn_outputs__last_batch_first(batch, d, m, T_x):
    """batch_first=True affects only the inputs and outputs. In the last states, the axis for the directions still comes first."""
    return {"outputs": (batch, T_x, 2 * m), "last": (batch, 2, m), "inputs_positions_first": (T_x, batch, d)}


def rnn_outputs__one_direction(batch, d, m, T_x):
    """At each position, the states of both directions are concatenated, so the last axis of the outputs is longer
    than one state."""
    return {"outputs": (batch, T_x, m), "last": (1, batch, m), "inputs_positions_first": (T_x, batch, d)}


def rnn_outputs__last_joined(batch, d, m, T_x):
    """The last states of the two directions are not concatenated: they are stacked along a separate axis."""
    return {"outputs": (batch, T_x, 2 * m), "last": (batch, 2 * m), "inputs_positions_first": (T_x, batch, d)}


def rnn_outputs__last_joined_for_one_layer(batch, d, m, T_x):
    """The last states have a separate row for each direction of each layer: the directions are not concatenated."""
    return {"outputs": (batch, T_x, 2 * m), "last": (1, batch, 2 * m), "inputs_positions_first": (T_x, batch, d)}


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
    """The tanh is missing: you returned the sums inside it."""
    return _steps(_E[:, 2], _E[:, 0], **_HAND, squash=lambda x: x)


def states_by_hand__no_memory():
    """Your second state ignores the first: W_h times the previous state is missing."""
    return _steps(_E[:, 2], _E[:, 0], _HAND["W_x"], 0 * _HAND["W_h"])


def states_by_hand__counted_from_one():
    """Words are numbered from 0, so the vector of word 0 is the first column of E_x."""
    return _steps(_E[:, 1], _E[:, 0], **_HAND)


def states_by_hand__read_backwards():
    """You read the sentence backwards: h_1 should be the state after the first word."""
    return _steps(_E[:, 0], _E[:, 2], **_HAND)


_E_TWIN = np.array([[0.5, -1.0, 0.0, 2.0, 1.0], [1.0, 0.5, 2.0, -0.5, 0.0]])
_TWIN = {
    "W_x": np.array([[0.5, 0.0], [0.0, 1.0], [-0.5, 1.0]]),
    "W_h": np.array([[0.0, 1.0, 0.0], [0.5, 0.0, 0.0], [0.0, 0.5, -1.0]]),
}


def states_by_hand_twin__no_tanh():
    """The tanh is missing: apply it at every step, before the state is used for the next."""
    return _steps(_E_TWIN[:, 3], _E_TWIN[:, 1], **_TWIN, squash=lambda x: x)


def states_by_hand_twin__no_memory():
    """Your second state ignores the first: W_h times the previous state is missing."""
    return _steps(_E_TWIN[:, 3], _E_TWIN[:, 1], _TWIN["W_x"], 0 * _TWIN["W_h"])


def states_by_hand_twin__counted_from_one():
    """Words are numbered from 0, so the vector of word 0 is the first column of E_x."""
    return _steps(_E_TWIN[:, 2], _E_TWIN[:, 0], **_TWIN)


def states_by_hand_twin__transposed():
    """You used the columns of W_h. In the product W_h h, each row of W_h should give one entry."""
    return _steps(_E_TWIN[:, 3], _E_TWIN[:, 1], _TWIN["W_x"], _TWIN["W_h"].T)


def states_by_hand_twin__before_the_tanh():
    """In the second state, you multiplied W_h by the sum of the first, from before the tanh. Multiply it by h_1 itself."""
    sums = _TWIN["W_x"] @ _E_TWIN[:, 3]
    second = np.tanh(_TWIN["W_x"] @ _E_TWIN[:, 1] + _TWIN["W_h"] @ sums)
    return {"h_1": np.tanh(sums).tolist(), "h_2": second.tolist()}


def states_by_hand_twin__memory_outside():
    """You added W_h times the previous state outside the tanh. This term belongs inside the tanh."""
    h_1 = np.tanh(_TWIN["W_x"] @ _E_TWIN[:, 3])
    return {"h_1": h_1.tolist(), "h_2": (np.tanh(_TWIN["W_x"] @ _E_TWIN[:, 1]) + _TWIN["W_h"] @ h_1).tolist()}


def states_by_hand_twin__read_backwards():
    """You read the sentence backwards: h_1 should be the state after the first word."""
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
    """Both of your directions start at the first word. The backward direction should start at the last word."""
    return _both((*_WORDS[:2], _WORDS[0]), _FORWARD, _BACKWARD)


def annotation_by_hand__swapped():
    """You swapped the two directions: the forward state should come first."""
    return _both(_WORDS, _FORWARD, _BACKWARD)[::-1]


def annotation_by_hand__same_parameters():
    """Each direction has its own parameters, but you used those of the forward direction for both."""
    return _both(_WORDS, _FORWARD, _FORWARD)


def annotation_by_hand__last_states():
    """You gave the final states of the two directions. The exercise asks for their states at the second word."""
    there, back = _both(_WORDS, _FORWARD, _BACKWARD)
    return [float(np.tanh(_WORDS[2] + 0.5 * there)), float(np.tanh(-0.5 * _WORDS[0] + 0.8 * back))]


def annotation_by_hand__third_word():
    """You gave the annotation of the third word. The exercise asks for that of the second."""
    there, _ = _both(_WORDS, _FORWARD, _BACKWARD)
    return [float(np.tanh(_WORDS[2] + 0.5 * there)), float(np.tanh(-0.5 * _WORDS[2]))]


def annotation_by_hand__backward_to_the_end():
    """Your backward state is that of the first word. Both entries of an annotation belong to the same word."""
    there, back = _both(_WORDS, _FORWARD, _BACKWARD)
    return [there, float(np.tanh(-0.5 * _WORDS[0] + 0.8 * back))]


def annotation_by_hand__no_memory():
    """Before the second word, each direction has read another word: you left out the state after that word."""
    return [float(np.tanh(_WORDS[1])), float(np.tanh(-0.5 * _WORDS[1]))]


def annotation_by_hand__no_tanh():
    """The tanh is missing: apply it at both steps of each direction."""
    return _sums(lambda x: x)


def annotation_by_hand__no_last_tanh():
    """You applied the tanh at the first step of each direction, but not at the second."""
    return _sums(np.tanh)


def annotation_by_hand__third_word_skipped():
    """Your backward direction does not read the third word, although it should begin with it."""
    return [float(np.tanh(-1.0 + 0.5 * np.tanh(0.5))), float(np.tanh(0.5))]


def annotation_by_hand__backward_of_the_third_word():
    """Your backward state is that of the third word. The exercise asks for the annotation of the second."""
    return [float(np.tanh(-1.0 + 0.5 * np.tanh(0.5))), float(np.tanh(-1.0))]


def _embedding(**changed):
    right = {"one_matrix": 120_000, "two_matrices": 9_001_200, "both_directions": 9_002_400, "pays_from": 304}
    return {**right, **changed}


def worth_an_embedding__second_matrix_forgotten():
    """You counted only the embedding. A second matrix still has to map each word vector to the size of a state."""
    return _embedding(two_matrices=9_000_000, both_directions=9_000_000)


def worth_an_embedding__second_matrix_on_the_words():
    """Only the embedding has a column for each of the 30 000 words: the second matrix multiplies a vector of 300 entries."""
    return _embedding(two_matrices=9_120_000, both_directions=9_240_000)


def worth_an_embedding__embedded_twice():
    """A word has the same vector in both directions, so the directions can share the embedding."""
    return _embedding(both_directions=18_002_400)


def worth_an_embedding__from_the_word_vector():
    """For `pays_from`, you gave the size of a word vector. Write both counts in terms of the state size m, and compare them."""
    return _embedding(pays_from=300)


def worth_an_embedding__one_more_than_the_word_vector():
    """With a state of 301 entries, the two matrices still have more entries than the single one: did you count those of W_x?"""
    return _embedding(pays_from=301)


def worth_an_embedding__not_yet():
    """With a state of 303 entries, the two matrices still have slightly more entries than the single one."""
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
    """You returned only the state after the last word. Return the state after every word."""
    return _states(embedded, W_x, W_h)[:, -1]


def rnn_states__no_memory(embedded, W_x, W_h):
    """Each of your states depends only on its own word: W_h times the previous state is missing."""
    return np.tanh(embedded @ W_x.T)


def rnn_states__no_tanh(embedded, W_x, W_h):
    """The tanh is missing: every entry of a state should be between -1 and 1."""
    return _states(embedded, W_x, W_h, squash=lambda x: x)


def rnn_states__transposed(embedded, W_x, W_h):
    """You multiplied the previous state by the transpose of W_h: each row of W_h should give one entry of the product."""
    return _states(embedded, W_x, W_h.T)


def rnn_states__memory_outside(embedded, W_x, W_h):
    """You added W_h times the previous state outside the tanh. This term belongs inside the tanh."""
    state, states = np.zeros((len(embedded), len(W_h))), []
    for j in range(embedded.shape[1]):
        state = np.tanh(embedded[:, j] @ W_x.T) + state @ W_h.T
        states.append(state)
    return np.stack(states, axis=1)


def rnn_states__carried_to_the_next_sentence(embedded, W_x, W_h):
    """You start each sentence from the last state of the previous sentence. Every sentence should start from a state of zeros."""
    state, states = np.zeros(len(W_h)), []
    for word in embedded.reshape(-1, embedded.shape[-1]):
        state = np.tanh(W_x @ word + W_h @ state)
        states.append(state)
    return np.reshape(states, (*embedded.shape[:2], -1))


def rnn_states__one_state_for_the_batch(embedded, W_x, W_h):
    """All your sentences share one state, so they affect one another. Every sentence needs a state of its own."""
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
    """Before the first word, the state should be all zeros."""
    return _states(embedded, W_x, W_h, start=1.0)


def rnn_states__one_late(embedded, W_x, W_h):
    """You included the zeros from before the first word, so each word gets the state of the previous word."""
    states = _states(embedded, W_x, W_h)
    return np.concatenate([np.zeros_like(states[:, :1]), states[:, :-1]], axis=1)


def rnn_states__sentences_as_positions(embedded, W_x, W_h):
    """Your loop runs over the sentences of the batch. It should run over the positions, which are on axis 1."""
    return _states(embedded.swapaxes(0, 1), W_x, W_h).swapaxes(0, 1)


def rnn_states__positions_first(embedded, W_x, W_h):
    """The states are right, but the axes are in the wrong order: the batch should come first, then the positions."""
    return _states(embedded, W_x, W_h).swapaxes(0, 1)


def rnn_states__read_backwards(embedded, W_x, W_h):
    """You read each sentence from its last word to its first."""
    return _states(embedded[:, ::-1], W_x, W_h)[:, ::-1]


def rnn_states__squeezed(embedded, W_x, W_h):
    """An axis of length 1 went missing: even for one sentence of one word, the result should have three axes."""
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
    """You returned only the last state of each direction. Attention needs one annotation for each word."""
    return torch.stack(
        [
            _read(embedded, source_mask, W_x, W_h)[:, -1],
            _read_back(embedded, source_mask, W_x_back, W_h_back)[:, 0],
        ],
        dim=1,
    )


def annotate__not_turned_round(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """Your backward states are in the order in which they were computed. Reverse them before you concatenate."""
    back = _read_back(embedded, source_mask, W_x_back, W_h_back).flip(1)
    return torch.cat([_read(embedded, source_mask, W_x, W_h), back], dim=-1)


def annotate__forward_twice(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """Both of your directions start at the first word. The backward direction should start at the last real word."""
    both = [_read(embedded, source_mask, W_x, W_h), _read(embedded, source_mask, W_x_back, W_h_back)]
    return torch.cat(both, dim=-1)


def annotate__shared_parameters(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """Each direction has its own parameters, but you used those of the forward direction for both."""
    back = _read_back(embedded, source_mask, W_x + 0 * W_x_back, W_h + 0 * W_h_back)
    return torch.cat([_read(embedded, source_mask, W_x, W_h), back], dim=-1)


def annotate__begins_at_the_pads(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """Your backward direction reads the padding first, so it does not reach the last real word with a state of 0."""
    everywhere = torch.ones_like(source_mask)
    both = [_read(embedded, everywhere, W_x, W_h), _read_back(embedded, everywhere, W_x_back, W_h_back)]
    return torch.cat(both, dim=-1) * source_mask.unsqueeze(-1)


def annotate__pads_not_zero(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """The annotations of the words are right, but those at padding positions must be 0."""
    everywhere = torch.ones_like(source_mask)
    back = _read_back(embedded, source_mask, W_x_back, W_h_back)
    return torch.cat([_read(embedded, everywhere, W_x, W_h), back], dim=-1)


def annotate__added(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """You added the two states. Concatenate them instead: an annotation is twice as long as a state."""
    back = _read_back(embedded, source_mask, W_x_back, W_h_back)
    return _read(embedded, source_mask, W_x, W_h) + back


def annotate__memory_outside(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """You added W_h times the previous state outside the tanh. This term belongs inside the tanh."""

    def read(embedded, mask, W_x, W_h):
        state, states = embedded.new_zeros(len(embedded), len(W_h)), []
        for j in range(embedded.shape[1]):
            state = (torch.tanh(embedded[:, j] @ W_x.T) + state @ W_h.T) * mask[:, j, None]
            states.append(state)
        return torch.stack(states, dim=1)

    back = read(embedded.flip(1), source_mask.flip(1), W_x_back, W_h_back).flip(1)
    return torch.cat([read(embedded, source_mask, W_x, W_h), back], dim=-1)


def annotate__backward_first(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """You swapped the two directions: in an annotation, the forward state should come first."""
    back = _read_back(embedded, source_mask, W_x_back, W_h_back)
    return torch.cat([back, _read(embedded, source_mask, W_x, W_h)], dim=-1)


def annotate__detached(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """The annotations are right, but no gradient reaches the matrices: look for detach, no_grad, numpy or .item()."""
    back = _read_back(embedded, source_mask, W_x_back, W_h_back)
    return torch.cat([_read(embedded, source_mask, W_x, W_h), back], dim=-1).detach()


def annotate__squeezed(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """An axis of length 1 went missing: even for one sentence of one word, the result should have three axes."""
    back = _read_back(embedded, source_mask, W_x_back, W_h_back)
    return torch.cat([_read(embedded, source_mask, W_x, W_h), back], dim=-1).squeeze()


def annotate__not_turned_round_with_pads(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """Your backward states are in the order in which they were computed. Reverse them before you concatenate."""
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


def annotate__sorted_twice(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """You sorted the sentences, and put the results back with the same order. To undo a permutation, use its inverse."""
    order = source_mask.sum(dim=1).argsort(descending=True, stable=True)
    return annotate(embedded, source_mask, W_x, W_h, W_x_back, W_h_back)[order][order]
