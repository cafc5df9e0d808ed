"""Answers to the exercises of encoder.ipynb, right and wrong."""
import math

import numpy as np
import torch
from torch import nn


def second_layer_shapes__wrong_one_direction(d, m):
    """Forgets that an annotation joins two states, and takes m for its size."""
    return {"input_matrix": (m, m), "recurrent_matrix": (m, m), "annotation": (m,)}


def second_layer_shapes__wrong_recurrent_doubled(d, m):
    """Gives the recurrent matrix the size of both directions together."""
    return {"input_matrix": (m, 2 * m), "recurrent_matrix": (2 * m, 2 * m), "annotation": (2 * m,)}


def second_layer_shapes__right_module(d, m):
    """Right: reads the parameters of a two layer nn.RNN."""
    rnn = nn.RNN(d, m, num_layers=2, bidirectional=True)
    return {"input_matrix": rnn.weight_ih_l1.shape, "recurrent_matrix": rnn.weight_hh_l1_reverse.shape,
            "annotation": rnn(torch.zeros(1, d))[0][0].shape}


def rnn_outputs__wrong_subtle_single_sentence(batch, d, m, T_x):
    """Drops the batch axis of `last` for a batch of one sentence."""
    last = (2, batch, m) if batch > 1 else (2, m)
    return {"outputs": (batch, T_x, 2 * m), "last": last, "inputs_positions_first": (T_x, batch, d)}


def rnn_outputs__right_asks_torch(batch, d, m, T_x):
    """Right: runs the module and reads the shapes."""
    x = torch.zeros(batch, T_x, d)
    outputs, last = nn.RNN(d, m, bidirectional=True, batch_first=True)(x)
    return {"outputs": outputs.shape, "last": last.shape, "inputs_positions_first": x.transpose(0, 1).shape}


_TWIN = (np.array([[0.5, -1, 0, 2, 1], [1, 0.5, 2, -0.5, 0]]), np.array([[0.5, 0], [0, 1], [-0.5, 1]]),
         np.array([[0, 1, 0], [0.5, 0, 0], [0, 0.5, -1]]))


def _two(parameters, first, second, act=np.tanh, turned=False, keep=True):
    E, W, R = parameters
    h_1 = act(W @ E[:, first])
    h_2 = act(W @ E[:, second] + (R.T if turned else R) @ h_1 * keep)
    return {"h_1": h_1.tolist(), "h_2": h_2.tolist()}


def states_by_hand_twin__wrong_subtle_rounded_first():
    """Rounds the first state to one decimal before it goes into the second, so only h_2 is off by some thousandths."""
    E, W, R = _TWIN
    h_1 = np.tanh(W @ E[:, 3])
    return {"h_1": h_1.tolist(), "h_2": np.tanh(W @ E[:, 1] + R @ h_1.round(1)).tolist()}


def states_by_hand_twin__right_rounded_tuples():
    """Right: tuples, rounded to four decimals at the very end."""
    return {k: tuple(round(x, 4) for x in h) for k, h in _two(_TWIN, 3, 1).items()}


def annotation_by_hand__wrong_zero_states():
    """Lets both directions begin at the second word itself, with the state 0."""
    return [math.tanh(-1), math.tanh(0.5)]


def annotation_by_hand__wrong_third_backward():
    """Gives the backward state of the third word, which is the first that this direction makes."""
    return [math.tanh(-1 + 0.5 * math.tanh(0.5)), math.tanh(-1)]


def annotation_by_hand__wrong_subtle_pre_activation():
    """Hands on the first forward state without its tanh."""
    return [math.tanh(-1 + 0.5 * 0.5), math.tanh(0.5 + 0.8 * math.tanh(-1.0))]


def annotation_by_hand__right_loops():
    """Right: both directions in full, with loops, in an array of numpy."""
    words, forward, backward, f, b = [0.5, -1, 2], [], [], 0.0, 0.0
    for x in words:
        forward.append(f := math.tanh(x + 0.5 * f))
    for x in words[::-1]:
        backward.insert(0, b := math.tanh(-0.5 * x + 0.8 * b))
    return np.array([forward, backward])[:, 1]


# ---------------------------------------------------------------- 1.9
def _read(x, W_x, W_h, act=np.tanh, h=None, keep=True):
    h = np.zeros((len(x), len(W_h))) if h is None else h
    out = []
    for j in range(x.shape[1]):
        h = act(x[:, j] @ W_x.T + keep * (h @ W_h.T))
        out.append(h)
    return np.stack(out, 1)


def rnn_states__wrong_begins_with_ones(embedded, W_x, W_h):
    """Begins with a state of ones."""
    return _read(embedded, W_x, W_h, h=np.ones((len(embedded), len(W_h))))


def rnn_states__wrong_subtle_in_place(embedded, W_x, W_h):
    """Overwrites the state number by number, so later numbers read new values of earlier ones; right only where W_h has no such entries."""
    out = np.zeros(embedded.shape[:2] + (len(W_h),))
    for b, sentence in enumerate(embedded):
        h = np.zeros(len(W_h))
        for j, x in enumerate(sentence):
            for k in range(len(h)):
                h[k] = np.tanh(W_x[k] @ x + W_h[k] @ h)
            out[b, j] = h
    return out


def rnn_states__wrong_subtle_zero_words(embedded, W_x, W_h):
    """Takes a word vector of zeros for a pad and leaves its states 0."""
    return _read(embedded, W_x, W_h) * (embedded != 0).any(-1, keepdims=True)


def rnn_states__wrong_subtle_fifty_words(embedded, W_x, W_h):
    """Stops after 50 words and leaves the later states 0."""
    s = _read(embedded[:, :50], W_x, W_h)
    return np.pad(s, ((0, 0), (0, embedded.shape[1] - s.shape[1]), (0, 0)))


def rnn_states__wrong_subtle_single_precision(embedded, W_x, W_h):
    """Computes in single precision."""
    x, A, B = (np.asarray(y, dtype=np.float32) for y in (embedded, W_x, W_h))
    return _read(x, A, B, h=np.zeros((len(x), len(B)), dtype=np.float32)).astype(float)


def rnn_states__right_formula_lists(embedded, W_x, W_h):
    """Right: matrix times vector for one sentence after the other, in lists."""
    out = []
    for sentence in embedded:
        states = [np.zeros(W_h.shape[0])]
        for x in sentence:
            states.append(np.tanh(W_x.dot(x) + W_h.dot(states[-1])))
        out.append([h.tolist() for h in states[1:]])
    return out


def rnn_states__right_recursion(embedded, W_x, W_h):
    """Right: recursion on the length of the sentence."""
    now = embedded[:, -1] @ W_x.T
    if embedded.shape[1] == 1:
        return np.tanh(now)[:, np.newaxis]
    before = rnn_states__right_recursion(embedded[:, :-1], W_x, W_h)
    return np.concatenate([before, np.tanh(now + before[:, -1] @ W_h.T)[:, np.newaxis]], axis=1)


def rnn_states__right_torch_rnn(embedded, W_x, W_h):
    """Right: torch's nn.RNN in double precision with its weights set."""
    rnn = nn.RNN(W_x.shape[1], W_x.shape[0], bias=False, batch_first=True, dtype=torch.float64)
    with torch.no_grad():
        rnn.weight_ih_l0.copy_(torch.tensor(W_x))
        rnn.weight_hh_l0.copy_(torch.tensor(W_h))
    return rnn(torch.tensor(embedded))[0].detach()


def rnn_states__right_joined_columns(embedded, W_x, W_h):
    """Right: one matrix [W_x W_h] on joined columns; the result is a transposed view."""
    both, h, out = np.hstack([W_x, W_h]), np.zeros((len(W_h), len(embedded))), []
    for x in embedded.transpose(1, 2, 0):
        h = np.tanh(both @ np.vstack([x, h]))
        out.append(h)
    return np.array(out).transpose(2, 0, 1)


# ---------------------------------------------------------------- 1.10
def _direction(x, real, W_x, W_h, back=False, hold=True, h=None):
    """States of one direction; at pads the state is kept at 0 (hold) or runs on."""
    h = x.new_zeros(len(x), len(W_h)) if h is None else h
    out = [None] * x.shape[1]
    for j in range(x.shape[1])[:: -1 if back else 1]:
        h = torch.tanh(x[:, j] @ W_x.T + h @ W_h.T)
        if hold:
            h = torch.where(real[:, j, None], h, torch.zeros_like(h))
        out[j] = h
    return torch.stack(out, 1)


def _both(x, real, W_x, W_h, W_x_back, W_h_back):
    return torch.cat([_direction(x, real, W_x, W_h), _direction(x, real, W_x_back, W_h_back, back=True)], -1)


def annotate__wrong_backward_through_pads(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """Begins the backward direction at the last position, so it reads the pads first."""
    f = _direction(embedded, source_mask, W_x, W_h)
    b = _direction(embedded, source_mask, W_x_back, W_h_back, back=True, hold=False)
    return torch.cat([f, b], -1) * source_mask[..., None]


def annotate__wrong_backward_first(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """Joins the backward state in front of the forward state."""
    return torch.cat(_both(embedded, source_mask, W_x, W_h, W_x_back, W_h_back).chunk(2, -1)[::-1], -1)


def annotate__wrong_not_turned_back(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """Leaves the backward states in the order in which they were made."""
    f, b = _both(embedded, source_mask, W_x, W_h, W_x_back, W_h_back).chunk(2, -1)
    return torch.cat([f, b.flip(1)], -1) * source_mask[..., None]


def annotate__wrong_shared_matrices(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """Uses the forward matrices for the backward direction too."""
    return _both(embedded, source_mask, W_x, W_h, W_x, W_h)


def annotate__wrong_joined_along_positions(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """Joins the directions along the positions."""
    return torch.cat(_both(embedded, source_mask, W_x, W_h, W_x_back, W_h_back).chunk(2, -1), 1)


def annotate__wrong_subtle_mask_of_first(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """Takes the length of the first sentence for the whole batch, though each row has its own pads."""
    return _both(embedded, source_mask[:1].expand_as(source_mask), W_x, W_h, W_x_back, W_h_back)


def annotate__wrong_subtle_detached_state(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """Detaches the state before each step, so the values are right and the gradients through time are lost."""
    real, halves = source_mask[..., None], []
    for A, B, order in ((W_x, W_h, 1), (W_x_back, W_h_back, -1)):
        h, out = embedded.new_zeros(len(embedded), len(B)), {}
        for j in range(embedded.shape[1])[::order]:
            h = torch.where(real[:, j], torch.tanh(embedded[:, j] @ A.T + h.detach() @ B.T), 0.0)
            out[j] = h
        halves.append(torch.stack([out[j] for j in sorted(out)], 1))
    return torch.cat(halves, -1)


def annotate__wrong_subtle_full_rows_late(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """Takes the word before the first pad for the last one, and in rows without pads the last word but one."""
    f = _direction(embedded, source_mask, W_x, W_h)
    shorter = source_mask.clone()
    if shorter.shape[1] > 1:
        shorter[source_mask.all(1), -1] = False
    return torch.cat([f, _direction(embedded, shorter, W_x_back, W_h_back, back=True)], -1)


def annotate__wrong_subtle_forward_runs_on(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """Multiplies the word vectors of pads by the mask but forgets to zero the forward state there, which runs on through W_h."""
    x = embedded * source_mask[..., None]
    f = _direction(x, source_mask, W_x, W_h, hold=False)
    return torch.cat([f, _direction(x, source_mask, W_x_back, W_h_back, back=True, hold=False)], -1)


def annotate__right_zeroed_words(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """Right: zeroes the word vectors of pads, so the backward state stays 0 there, and zeroes the forward state at the end."""
    x = torch.where(source_mask[..., None], embedded, 0.0)
    f = _direction(x, source_mask, W_x, W_h, hold=False) * source_mask[..., None]
    return torch.cat([f, _direction(x, source_mask, W_x_back, W_h_back, back=True, hold=False)], -1)


def annotate__right_sentence_by_sentence(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """Right: reads each sentence alone, its real words only, and pads with new zeros."""
    rows = []
    for x, n in zip(embedded, source_mask.sum(1).tolist()):
        zero = torch.zeros(W_h.shape[0], dtype=torch.float64)
        f, b = [zero], [zero]
        for j in range(n):
            f.append(torch.tanh(W_x @ x[j] + W_h @ f[-1]))
            b.append(torch.tanh(W_x_back @ x[n - 1 - j] + W_h_back @ b[-1]))
        rows.append(nn.functional.pad(torch.cat([torch.stack(f[1:]), torch.stack(b[:0:-1])], 1), (0, 0, 0, len(x) - n)))
    return torch.stack(rows)


def annotate__right_gathered_reverse(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """Right: turns each sentence round by an index, reads forward, and turns it back."""
    n = source_mask.sum(1, keepdim=True)
    j = torch.arange(embedded.shape[1]).expand_as(source_mask)
    turn = torch.where(j < n, n - 1 - j, j)[..., None]
    back = _direction(embedded.gather(1, turn.expand_as(embedded)), source_mask, W_x_back, W_h_back)
    f = _direction(embedded, source_mask, W_x, W_h)
    return torch.cat([f, back.gather(1, turn.expand_as(back))], 2)


def annotate__right_functional_rnn(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """Right: torch's own RNN kernel on a packed batch, called with the given matrices, so that gradients reach them."""
    packed = nn.utils.rnn.pack_padded_sequence(embedded, source_mask.sum(1), batch_first=True, enforce_sorted=False)
    h = embedded.new_zeros(2, len(embedded), len(W_h))
    out, _ = torch._VF.rnn_tanh(packed.data, packed.batch_sizes, h, (W_x, W_h, W_x_back, W_h_back), False, 1, 0.0, False, True)
    packed = packed._replace(data=out)
    return nn.utils.rnn.pad_packed_sequence(packed, batch_first=True, total_length=embedded.shape[1])[0]
