"""Answers written from the released notebook alone, before any was graded."""

import math

import numpy as np
import torch


# Two layers


def second_layer_shapes__wrong_reads_word_vectors(d, m):
    """The student let the second layer read the word vectors."""
    return {"input_matrix": (m, d), "recurrent_matrix": (m, m), "annotation": (2 * m,)}


def second_layer_shapes__wrong_reads_one_direction(d, m):
    """The student let each direction of the second layer read the same direction of the first only."""
    return {"input_matrix": (m, m), "recurrent_matrix": (m, m), "annotation": (2 * m,)}


def second_layer_shapes__wrong_doubles_again(d, m):
    """The student doubled the annotation once more for the second layer."""
    return {"input_matrix": (2 * m, 2 * m), "recurrent_matrix": (2 * m, 2 * m), "annotation": (4 * m,)}


def second_layer_shapes__right_named_sizes(d, m):
    """Style: the sizes get names before they are used."""
    read, state = m + m, m
    return {"input_matrix": (state, read), "recurrent_matrix": (state, state), "annotation": (state + state,)}


# What torch takes and gives


def rnn_outputs__wrong_last_batch_first(batch, d, m, T_x):
    """The student thought that batch_first also moves the batch of the last states to the front."""
    return {"outputs": (batch, T_x, 2 * m), "last": (batch, 2, m), "inputs_positions_first": (T_x, batch, d)}


def rnn_outputs__wrong_last_joined(batch, d, m, T_x):
    """The student thought that the last states of both directions come joined."""
    return {"outputs": (batch, T_x, 2 * m), "last": (1, batch, 2 * m), "inputs_positions_first": (T_x, batch, d)}


def rnn_outputs__wrong_one_direction(batch, d, m, T_x):
    """The student forgot that the outputs join two directions."""
    return {"outputs": (batch, T_x, m), "last": (2, batch, m), "inputs_positions_first": (T_x, batch, d)}


def rnn_outputs__wrong_inputs_batch_first(batch, d, m, T_x):
    """The student gave the inputs the batch first, as with batch_first."""
    return {"outputs": (batch, T_x, 2 * m), "last": (2, batch, m), "inputs_positions_first": (batch, T_x, d)}


def rnn_outputs__right_asked_torch(batch, d, m, T_x):
    """Style: the module is built and called, and the sizes of its results are returned."""
    outputs, last = torch.nn.RNN(d, m, bidirectional=True, batch_first=True)(torch.zeros(batch, T_x, d))
    turned = torch.zeros(batch, T_x, d).transpose(0, 1)
    return {"outputs": outputs.shape, "last": last.shape, "inputs_positions_first": tuple(turned.shape)}


# Two states with other sizes


def states_by_hand_twin__wrong_transposed():
    """The student multiplied the state before by the transpose of W_h."""
    W_x, W_h = np.array([[0.5, 0], [0, 1], [-0.5, 1]]), np.array([[0, 1, 0], [0.5, 0, 0], [0, 0.5, -1]])
    h_1 = np.tanh(W_x @ [2, -0.5])
    h_2 = np.tanh(W_x @ [-1, 0.5] + h_1 @ W_h)
    return {"h_1": list(h_1), "h_2": list(h_2)}


def states_by_hand_twin__wrong_counted_from_one():
    """The student took the third and the first column of E_x."""
    W_x, W_h = np.array([[0.5, 0], [0, 1], [-0.5, 1]]), np.array([[0, 1, 0], [0.5, 0, 0], [0, 0.5, -1]])
    h_1 = np.tanh(W_x @ [0, 2])
    h_2 = np.tanh(W_x @ [0.5, 1] + W_h @ h_1)
    return {"h_1": list(h_1), "h_2": list(h_2)}


def states_by_hand_twin__wrong_words_exchanged():
    """The student read the two words in the wrong order."""
    W_x, W_h = np.array([[0.5, 0], [0, 1], [-0.5, 1]]), np.array([[0, 1, 0], [0.5, 0, 0], [0, 0.5, -1]])
    h_1 = np.tanh(W_x @ [-1, 0.5])
    h_2 = np.tanh(W_x @ [2, -0.5] + W_h @ h_1)
    return {"h_1": list(h_1), "h_2": list(h_2)}


def states_by_hand_twin__wrong_rounded_too_early():
    """The student went on with the first state rounded to one decimal."""
    W_x, W_h = np.array([[0.5, 0], [0, 1], [-0.5, 1]]), np.array([[0, 1, 0], [0.5, 0, 0], [0, 0.5, -1]])
    h_1 = np.tanh(W_x @ [2, -0.5])
    h_2 = np.tanh(W_x @ [-1, 0.5] + W_h @ h_1.round(1))
    return {"h_1": list(h_1.round(4)), "h_2": list(h_2.round(4))}


def states_by_hand_twin__wrong_minus_lost():
    """The student lost the minus in the last row of W_h."""
    W_x, W_h = np.array([[0.5, 0], [0, 1], [-0.5, 1]]), np.array([[0, 1, 0], [0.5, 0, 0], [0, 0.5, 1]])
    h_1 = np.tanh(W_x @ [2, -0.5])
    h_2 = np.tanh(W_x @ [-1, 0.5] + W_h @ h_1)
    return {"h_1": list(h_1.round(4)), "h_2": list(h_2.round(4))}


def states_by_hand_twin__right_loop():
    """Style: one-hot columns and a loop in numpy, with arrays as values."""
    E_x = np.array([[0.5, -1, 0, 2, 1], [1, 0.5, 2, -0.5, 0]])
    W_x, W_h = np.array([[0.5, 0], [0, 1], [-0.5, 1]]), np.array([[0, 1, 0], [0.5, 0, 0], [0, 0.5, -1]])
    h, states = np.zeros(3), {}
    for j, word in enumerate([3, 1], start=1):
        h = np.tanh(W_x @ (E_x @ np.eye(5)[word]) + W_h @ h)
        states[f"h_{j}"] = h.round(4)
    return states


def states_by_hand_twin__right_single_numbers():
    """Style: every number by math.tanh, one by one."""
    a, b, c = math.tanh(1), math.tanh(-0.5), math.tanh(-1.5)
    second = [math.tanh(-0.5 + b), math.tanh(0.5 + 0.5 * a), math.tanh(1 + 0.5 * b - c)]
    return {"h_1": [a, b, c], "h_2": second}


# One annotation


def annotation_by_hand__wrong_backward_from_first():
    """The student let the backward direction begin at the first word."""
    forward = math.tanh(-1 + 0.5 * math.tanh(0.5))
    backward = math.tanh(0.5 + 0.8 * math.tanh(-0.25))
    return [round(forward, 4), round(backward, 4)]


def annotation_by_hand__wrong_backward_first():
    """The student wrote the backward state before the forward state."""
    return [round(math.tanh(0.5 + 0.8 * math.tanh(-1)), 4), round(math.tanh(-1 + 0.5 * math.tanh(0.5)), 4)]


def annotation_by_hand__wrong_third_word_skipped():
    """The student began the backward direction at the second word, with a state of 0."""
    return [round(math.tanh(-1 + 0.5 * math.tanh(0.5)), 4), round(math.tanh(0.5), 4)]


def annotation_by_hand__wrong_forward_state_passed_on():
    """The student began the backward direction with the last forward state in place of 0."""
    last = math.tanh(2 + 0.5 * math.tanh(-1 + 0.5 * math.tanh(0.5)))
    backward = math.tanh(0.5 + 0.8 * math.tanh(-1 + 0.8 * last))
    return [round(math.tanh(-1 + 0.5 * math.tanh(0.5)), 4), round(backward, 4)]


def annotation_by_hand__wrong_same_numbers():
    """The student used the numbers of the forward direction on the way back."""
    return [round(math.tanh(-1 + 0.5 * math.tanh(0.5)), 4), round(math.tanh(-1 + 0.5 * math.tanh(2)), 4)]


def annotation_by_hand__right_two_loops():
    """Style: two loops over the words, no rounding, and a numpy array."""
    words = [0.5, -1.0, 2.0]
    forward = backward = 0.0
    for word in words[:2]:
        forward = np.tanh(word + 0.5 * forward)
    for word in words[:0:-1]:
        backward = np.tanh(-0.5 * word + 0.8 * backward)
    return np.array([forward, backward])


# Reading a sentence


def rnn_states__wrong_last_only(embedded, W_x, W_h):
    """The student returned the state after the last word only."""
    h = np.zeros((embedded.shape[0], W_h.shape[0]))
    for j in range(embedded.shape[1]):
        h = np.tanh(embedded[:, j] @ W_x.T + h @ W_h.T)
    return h


def rnn_states__wrong_state_forgotten(embedded, W_x, W_h):
    """The student left out the state before."""
    return np.tanh(embedded @ W_x.T)


def rnn_states__wrong_one_step_back(embedded, W_x, W_h):
    """The student gave each word a previous state that knows one word only, without a loop."""
    alone = np.tanh(embedded @ W_x.T)
    before = np.concatenate([np.zeros_like(alone[:, :1]), alone[:, :-1]], axis=1)
    return np.tanh(embedded @ W_x.T + before @ W_h.T)


def rnn_states__wrong_state_kept_between_sentences(embedded, W_x, W_h):
    """The student did not go back to zeros at the next sentence."""
    states = np.zeros((*embedded.shape[:2], W_h.shape[0]))
    h = np.zeros(W_h.shape[0])
    for b in range(embedded.shape[0]):
        for j in range(embedded.shape[1]):
            h = np.tanh(W_x @ embedded[b, j] + W_h @ h)
            states[b, j] = h
    return states


def rnn_states__wrong_transposed(embedded, W_x, W_h):
    """The student forgot to transpose W_h where the state is a row."""
    h = np.zeros((embedded.shape[0], W_h.shape[0]))
    states = []
    for j in range(embedded.shape[1]):
        h = np.tanh(embedded[:, j] @ W_x.T + h @ W_h)
        states.append(h)
    return np.stack(states, axis=1)


def rnn_states__wrong_no_tanh(embedded, W_x, W_h):
    """The student left out the tanh."""
    h = np.zeros((embedded.shape[0], W_h.shape[0]))
    states = []
    for j in range(embedded.shape[1]):
        h = embedded[:, j] @ W_x.T + h @ W_h.T
        states.append(h)
    return np.stack(states, axis=1)


def rnn_states__wrong_tanh_at_the_end(embedded, W_x, W_h):
    """The student passed on the sums from before the tanh, and took the tanh of all states at the end."""
    h = np.zeros((embedded.shape[0], W_h.shape[0]))
    states = []
    for j in range(embedded.shape[1]):
        h = embedded[:, j] @ W_x.T + h @ W_h.T
        states.append(h)
    return np.tanh(np.stack(states, axis=1))


def rnn_states__wrong_positions_first(embedded, W_x, W_h):
    """The student stacked the states along the first axis, so positions come before sentences."""
    h = np.zeros((embedded.shape[0], W_h.shape[0]))
    states = []
    for j in range(embedded.shape[1]):
        h = np.tanh(embedded[:, j] @ W_x.T + h @ W_h.T)
        states.append(h)
    return np.array(states)


def rnn_states__wrong_state_before_returned(embedded, W_x, W_h):
    """The student stored each state before it was updated, so the zeros come first."""
    h = np.zeros((embedded.shape[0], W_h.shape[0]))
    states = []
    for j in range(embedded.shape[1]):
        states.append(h)
        h = np.tanh(embedded[:, j] @ W_x.T + h @ W_h.T)
    return np.stack(states, axis=1)


def rnn_states__wrong_one_array_for_all(embedded, W_x, W_h):
    """The student updated one array in place and stored it again and again, so all positions show the last state."""
    h = np.zeros((embedded.shape[0], W_h.shape[0]))
    states = []
    for j in range(embedded.shape[1]):
        h[:] = np.tanh(embedded[:, j] @ W_x.T + h @ W_h.T)
        states.append(h)
    return np.stack(states, axis=1)


def rnn_states__wrong_from_the_end(embedded, W_x, W_h):
    """The student read each sentence from its last word to its first."""
    h = np.zeros((embedded.shape[0], W_h.shape[0]))
    states = np.zeros((*embedded.shape[:2], W_h.shape[0]))
    for j in reversed(range(embedded.shape[1])):
        states[:, j] = h = np.tanh(embedded[:, j] @ W_x.T + h @ W_h.T)
    return states


def rnn_states__wrong_wraps_round(embedded, W_x, W_h):
    """The student passed over the first position of an array of zeros, whose word is never read."""
    states = np.zeros((*embedded.shape[:2], W_h.shape[0]))
    for j in range(1, embedded.shape[1]):
        states[:, j] = np.tanh(embedded[:, j] @ W_x.T + states[:, j - 1] @ W_h.T)
    return states


def rnn_states__wrong_squeezed(embedded, W_x, W_h):
    """The student squeezed the states, so a batch of one or a single word loses an axis."""
    h = np.zeros((embedded.shape[0], W_h.shape[0]))
    states = []
    for j in range(embedded.shape[1]):
        h = np.tanh(embedded[:, j] @ W_x.T + h @ W_h.T)
        states.append(h)
    return np.stack(states, axis=1).squeeze()


def rnn_states__wrong_state_of_word_size(embedded, W_x, W_h):
    """The student made the array of states as wide as a word vector, which fits only where both sizes are equal."""
    states = np.zeros_like(embedded)
    for j in range(embedded.shape[1]):
        before = states[:, j - 1] if j else np.zeros((len(embedded), W_h.shape[0]))
        states[:, j] = np.tanh(embedded[:, j] @ W_x.T + before @ W_h.T)
    return states


def rnn_states__right_columns(embedded, W_x, W_h):
    """Style: the states of all sentences as columns, exactly as in the formula, turned at the end."""
    h = np.zeros((W_h.shape[0], embedded.shape[0]))
    states = []
    for j in range(embedded.shape[1]):
        h = np.tanh(W_x @ embedded[:, j].T + W_h @ h)
        states.append(h.T)
    return np.stack(states, axis=1)


def rnn_states__right_sentence_by_sentence(embedded, W_x, W_h):
    """Style: a helper reads one sentence, and a list of sentences is made an array."""

    def read(sentence):
        h, states = np.zeros(len(W_h)), []
        for e in sentence:
            h = np.tanh(W_x.dot(e) + W_h.dot(h))
            states.append(h)
        return states

    return np.array([read(sentence) for sentence in embedded])


def rnn_states__right_zeros_in_front(embedded, W_x, W_h):
    """Style: one array with a position of zeros in front, all inputs projected at once, and the front cut off."""
    batch, source_len, _ = embedded.shape
    projected = np.einsum("md,bjd->bjm", W_x, embedded)
    states = np.zeros((batch, source_len + 1, W_h.shape[0]))
    for j in range(source_len):
        states[:, j + 1] = np.tanh(projected[:, j] + np.einsum("mk,bk->bm", W_h, states[:, j]))
    return states[:, 1:]


# Annotations of a padded batch


def annotate__wrong_last_states(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """The student returned the last state of each direction, two rows a sentence."""
    keep = source_mask.unsqueeze(-1)
    f = b = embedded.new_zeros(embedded.shape[0], W_h.shape[0])
    for j in range(embedded.shape[1]):
        f = torch.where(keep[:, j], torch.tanh(embedded[:, j] @ W_x.T + f @ W_h.T), f)
    for j in reversed(range(embedded.shape[1])):
        b = torch.where(keep[:, j], torch.tanh(embedded[:, j] @ W_x_back.T + b @ W_h_back.T), b)
    return torch.stack([f, b], dim=1)


def annotate__wrong_begins_at_pads(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """The student let the backward direction begin at the last position, also where it is a pad."""
    forward, backward = [], []
    f = b = torch.zeros(len(embedded), len(W_h), dtype=embedded.dtype)
    for j in range(embedded.shape[1]):
        f = torch.tanh(embedded[:, j] @ W_x.T + f @ W_h.T)
        forward.append(f)
    for j in range(embedded.shape[1] - 1, -1, -1):
        b = torch.tanh(embedded[:, j] @ W_x_back.T + b @ W_h_back.T)
        backward.insert(0, b)
    joined = torch.cat([torch.stack(forward, 1), torch.stack(backward, 1)], dim=-1)
    return joined * source_mask.unsqueeze(-1)


def annotate__wrong_same_parameters(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """The student used the forward matrices on the way back."""
    keep = source_mask.unsqueeze(-1)
    n = embedded.shape[1]
    f = b = embedded.new_zeros(len(embedded), len(W_h))
    forward, backward = [None] * n, [None] * n
    for j in range(n):
        forward[j] = f = torch.where(keep[:, j], torch.tanh(embedded[:, j] @ W_x.T + f @ W_h.T), 0.0 * f)
    for j in reversed(range(n)):
        backward[j] = b = torch.where(keep[:, j], torch.tanh(embedded[:, j] @ W_x.T + b @ W_h.T), 0.0 * b)
    return torch.cat([torch.stack(forward, 1), torch.stack(backward, 1)], dim=2)


def annotate__wrong_pads_not_zero(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """The student stopped the backward direction at pads but left the forward states there."""
    keep = source_mask.unsqueeze(-1)
    n = embedded.shape[1]
    f = b = embedded.new_zeros(len(embedded), len(W_h))
    forward, backward = [None] * n, [None] * n
    for j in range(n):
        forward[j] = f = torch.tanh(embedded[:, j] @ W_x.T + f @ W_h.T)
    for j in reversed(range(n)):
        backward[j] = b = torch.where(keep[:, j], torch.tanh(embedded[:, j] @ W_x_back.T + b @ W_h_back.T), 0.0 * b)
    return torch.cat([torch.stack(forward, 1), torch.stack(backward, 1)], dim=2)


def annotate__wrong_added(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """The student added the two states in place of joining them."""
    keep = source_mask.unsqueeze(-1)
    n = embedded.shape[1]
    f = b = embedded.new_zeros(len(embedded), len(W_h))
    forward, backward = [None] * n, [None] * n
    for j in range(n):
        forward[j] = f = torch.where(keep[:, j], torch.tanh(embedded[:, j] @ W_x.T + f @ W_h.T), 0.0 * f)
    for j in reversed(range(n)):
        backward[j] = b = torch.where(keep[:, j], torch.tanh(embedded[:, j] @ W_x_back.T + b @ W_h_back.T), 0.0 * b)
    return torch.stack(forward, 1) + torch.stack(backward, 1)


def annotate__wrong_joined_along_positions(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """The student joined the two directions along the positions, not along the last axis."""
    keep = source_mask.unsqueeze(-1)
    n = embedded.shape[1]
    f = b = embedded.new_zeros(len(embedded), len(W_h))
    forward, backward = [None] * n, [None] * n
    for j in range(n):
        forward[j] = f = torch.where(keep[:, j], torch.tanh(embedded[:, j] @ W_x.T + f @ W_h.T), 0.0 * f)
    for j in reversed(range(n)):
        backward[j] = b = torch.where(keep[:, j], torch.tanh(embedded[:, j] @ W_x_back.T + b @ W_h_back.T), 0.0 * b)
    return torch.cat([torch.stack(forward, 1), torch.stack(backward, 1)], dim=1)


def annotate__wrong_backward_first(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """The student put the backward state in front."""
    keep = source_mask.unsqueeze(-1)
    n = embedded.shape[1]
    f = b = embedded.new_zeros(len(embedded), len(W_h))
    forward, backward = [None] * n, [None] * n
    for j in range(n):
        forward[j] = f = torch.where(keep[:, j], torch.tanh(embedded[:, j] @ W_x.T + f @ W_h.T), 0.0 * f)
    for j in reversed(range(n)):
        backward[j] = b = torch.where(keep[:, j], torch.tanh(embedded[:, j] @ W_x_back.T + b @ W_h_back.T), 0.0 * b)
    return torch.cat([torch.stack(backward, 1), torch.stack(forward, 1)], dim=2)


def annotate__wrong_lists_to_tensor(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """The student collected plain numbers and made a new tensor of them, which no gradient passes."""
    batch, n, _ = embedded.shape
    size = len(W_h)
    result = np.zeros((batch, n, 2 * size))
    for i in range(batch):
        length = int(source_mask[i].sum())
        f = b = torch.zeros(size, dtype=embedded.dtype)
        for j in range(length):
            f = torch.tanh(W_x @ embedded[i, j] + W_h @ f)
            result[i, j, :size] = f.tolist()
        for j in reversed(range(length)):
            b = torch.tanh(W_x_back @ embedded[i, j] + W_h_back @ b)
            result[i, j, size:] = b.tolist()
    return torch.tensor(result, dtype=embedded.dtype)


def annotate__wrong_last_word_skipped(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """The student began the backward loop one word too early, so the last real word has a backward state of 0."""
    rows = []
    for i in range(len(embedded)):
        n = int(source_mask[i].sum())
        zero = embedded.new_zeros(len(W_h))
        f = b = zero
        forward, backward = [zero] * embedded.shape[1], [zero] * embedded.shape[1]
        for j in range(n):
            forward[j] = f = torch.tanh(W_x @ embedded[i, j] + W_h @ f)
        for j in range(n - 2, -1, -1):
            backward[j] = b = torch.tanh(W_x_back @ embedded[i, j] + W_h_back @ b)
        rows.append(torch.cat([torch.stack(forward), torch.stack(backward)], dim=1))
    return torch.stack(rows)


def annotate__wrong_first_word_skipped(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """The student ended the backward loop before the first word, which gets a backward state of 0."""
    rows = []
    for i in range(len(embedded)):
        n = int(source_mask[i].sum())
        zero = embedded.new_zeros(len(W_h))
        f = b = zero
        forward, backward = [zero] * embedded.shape[1], [zero] * embedded.shape[1]
        for j in range(n):
            forward[j] = f = torch.tanh(W_x @ embedded[i, j] + W_h @ f)
        for j in range(n - 1, 0, -1):
            backward[j] = b = torch.tanh(W_x_back @ embedded[i, j] + W_h_back @ b)
        rows.append(torch.cat([torch.stack(forward), torch.stack(backward)], dim=1))
    return torch.stack(rows)


def annotate__wrong_backward_reads_forward_states(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """The student took the forward state of the next word for the backward state before."""
    keep = source_mask.unsqueeze(-1)
    n = embedded.shape[1]
    f = embedded.new_zeros(len(embedded), len(W_h))
    forward = []
    for j in range(n):
        f = torch.where(keep[:, j], torch.tanh(embedded[:, j] @ W_x.T + f @ W_h.T), torch.zeros_like(f))
        forward.append(f)
    following = [*forward[1:], torch.zeros_like(f)]
    backward = [torch.tanh(embedded[:, j] @ W_x_back.T + following[j] @ W_h_back.T) for j in range(n)]
    return torch.cat([torch.stack(forward, 1), torch.stack(backward, 1) * keep], dim=2)


def annotate__wrong_mask_not_turned(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """The student turned the words round for the way back but not the mask, so it stops the wrong positions."""
    keep = source_mask.unsqueeze(-1)
    turned = embedded.flip(1)
    f = b = embedded.new_zeros(len(embedded), len(W_h))
    forward, backward = [], []
    for j in range(embedded.shape[1]):
        f = torch.tanh(embedded[:, j] @ W_x.T + f @ W_h.T) * keep[:, j]
        b = torch.tanh(turned[:, j] @ W_x_back.T + b @ W_h_back.T) * keep[:, j]
        forward.append(f)
        backward.append(b)
    return torch.cat([torch.stack(forward, 1), torch.stack(backward, 1).flip(1)], dim=2) * keep


def annotate__wrong_longest_length_for_all(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """The student began the way back of every sentence at the last real word of the longest one."""
    n = int(source_mask.sum(dim=1).max())
    f = b = zero = embedded.new_zeros(len(embedded), len(W_h))
    forward, backward = [zero] * embedded.shape[1], [zero] * embedded.shape[1]
    for j in range(n):
        forward[j] = f = torch.tanh(embedded[:, j] @ W_x.T + f @ W_h.T)
    for j in reversed(range(n)):
        backward[j] = b = torch.tanh(embedded[:, j] @ W_x_back.T + b @ W_h_back.T)
    return torch.cat([torch.stack(forward, 1), torch.stack(backward, 1)], dim=2) * source_mask.unsqueeze(-1)


def annotate__wrong_squeezed(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """The student squeezed the result, so one sentence or one word loses an axis."""
    keep = source_mask.unsqueeze(-1)
    n = embedded.shape[1]
    f = b = embedded.new_zeros(len(embedded), len(W_h))
    forward, backward = [None] * n, [None] * n
    for j in range(n):
        forward[j] = f = torch.where(keep[:, j], torch.tanh(embedded[:, j] @ W_x.T + f @ W_h.T), torch.zeros_like(f))
    for j in reversed(range(n)):
        new = torch.tanh(embedded[:, j] @ W_x_back.T + b @ W_h_back.T)
        backward[j] = b = torch.where(keep[:, j], new, torch.zeros_like(b))
    return torch.cat([torch.stack(forward, 1), torch.stack(backward, 1)], dim=2).squeeze()


def annotate__right_where(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """Style: all sentences at once, with states of zeros chosen at pads on both ways."""
    source_mask = source_mask.bool()
    zeros = embedded.new_zeros(embedded.shape[0], W_h.shape[0])
    embedded = embedded.masked_fill(~source_mask.unsqueeze(-1), 0.0)

    def read(A, B, order):
        states, h = {}, zeros
        for j in order:
            h = torch.where(source_mask[:, j, None], torch.tanh(embedded[:, j] @ A.T + h @ B.T), zeros)
            states[j] = h
        return torch.stack([states[j] for j in sorted(states)], dim=1)

    positions = range(embedded.shape[1])
    return torch.cat([read(W_x, W_h, positions), read(W_x_back, W_h_back, reversed(positions))], dim=-1)


def annotate__right_sentence_by_sentence(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """Style: each sentence without its pads, both ways, and zeros put behind."""
    size = W_h.shape[0]
    rows = []
    for words, real in zip(embedded, source_mask):
        n = int(real.sum())
        f = b = words.new_zeros(size)
        ahead, back = [], []
        for e in words[:n]:
            f = torch.tanh(torch.mv(W_x, e) + torch.mv(W_h, f))
            ahead.append(f)
        for e in words[:n].flip(0):
            b = torch.tanh(torch.mv(W_x_back, e) + torch.mv(W_h_back, b))
            back.append(b)
        joined = [torch.cat(pair) for pair in zip(ahead, reversed(back))]
        rows.append(torch.stack(joined + [words.new_zeros(2 * size)] * (len(words) - n)))
    return torch.stack(rows)


def annotate__right_turned_by_index(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """Style: the words of each sentence are turned round by an index, one helper reads both, and pads are filled."""
    batch, n, _ = embedded.shape
    lengths = source_mask.long().sum(dim=1, keepdim=True)
    j = torch.arange(n).expand(batch, n)
    order = torch.where(j < lengths, lengths - 1 - j, j)
    rows = torch.arange(batch).unsqueeze(1)
    clean = torch.where(source_mask.bool().unsqueeze(-1), embedded, torch.zeros_like(embedded))

    def read(words, A, B):
        h = words.new_zeros(batch, B.shape[0])
        states = []
        for e in words.unbind(dim=1):
            h = torch.tanh(torch.nn.functional.linear(e, A) + torch.nn.functional.linear(h, B))
            states.append(h)
        return torch.stack(states, dim=1)

    forward = read(clean, W_x, W_h)
    backward = read(clean[rows, order], W_x_back, W_h_back)[rows, order]
    return torch.cat([forward, backward], dim=2).masked_fill(~source_mask.bool().unsqueeze(-1), 0.0)
