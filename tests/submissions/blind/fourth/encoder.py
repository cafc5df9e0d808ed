import math
from decimal import Decimal, getcontext

import numpy as np
import torch


# ---------------------------------------------------------------- second_layer_shapes


def second_layer_shapes__right_asks_a_module(d, m):
    """Reads the sizes off the parameters of a two-layer nn.RNN."""
    rnn = torch.nn.RNN(d, m, num_layers=2, bidirectional=True)
    out, _ = rnn(torch.zeros(1, 1, d))
    return {"input_matrix": tuple(rnn.weight_ih_l1_reverse.size()),
            "recurrent_matrix": tuple(rnn.weight_hh_l1.size()),
            "annotation": tuple(out[0, 0].size())}


# ---------------------------------------------------------------- rnn_outputs


def rnn_outputs__right_numpy_integers(batch, d, m, T_x):
    """Counts with numpy's integers and builds each tuple from a generator."""
    b, e, s, t = (np.int64(x) for x in (batch, d, m, T_x))
    return {"outputs": tuple(x for x in (b, t, s + s)), "last": tuple(x for x in (np.int64(2), b, s)),
            "inputs_positions_first": tuple(x for x in (t, b, e))}


# ---------------------------------------------------------------- states_by_hand_twin


def states_by_hand_twin__right_decimal():
    """Computes the tanh with Decimal exponentials of forty digits, and rounds to floats only at the end."""
    getcontext().prec = 40
    def t(z):
        p = (2 * z).exp()
        return (p - 1) / (p + 1)
    D = Decimal
    h = [t(D(1)), t(D("-0.5")), t(D("-1.5"))]
    g = [t(D("-0.5") + h[1]), t(D("0.5") + h[0] / 2), t(D(1) + h[1] / 2 - h[2])]
    return {"h_1": [float(x) for x in h], "h_2": [float(x) for x in g]}


# ---------------------------------------------------------------- annotation_by_hand


def annotation_by_hand__right_recursive_tuple():
    """Recurses from both ends and returns a tuple."""
    words = (0.5, -1, 2)
    def state(rest, u, w):
        return math.tanh(u * rest[-1] + w * state(rest[:-1], u, w)) if rest else 0.0
    return state(words[:2], 1, 0.5), state(words[:0:-1], -0.5, 0.8)


# ---------------------------------------------------------------- rnn_states


def rnn_states__wrong_first_state_without_tanh(embedded, W_x, W_h):
    """The student sets the first state by hand before the loop and forgets its tanh."""
    out = np.zeros((*embedded.shape[:2], len(W_x)))
    out[:, 0] = embedded[:, 0] @ W_x.T
    for j in range(1, embedded.shape[1]):
        out[:, j] = np.tanh(embedded[:, j] @ W_x.T + out[:, j - 1] @ W_h.T)
    return out


def rnn_states__right_reads_unfilled_end(embedded, W_x, W_h):
    """Fills an array of zeros and reads index -1, still zero, as the state before the first word."""
    out = np.zeros(embedded.shape[:2] + (W_h.shape[0],))
    drive = np.tensordot(embedded, W_x, (2, 1))
    for j in range(embedded.shape[1]):
        # with one position out[:, -1] is out[:, 0], still zero as well
        out[:, j] = np.tanh(drive[:, j] + np.einsum("ij,bj->bi", W_h, out[:, j - 1]))
    return out


def rnn_states__right_fsum_and_exponentials(embedded, W_x, W_h):
    """Sums each entry with math.fsum over Python lists, sentence by sentence."""
    def step(h, x):
        return [math.tanh(math.fsum([*(w * y for w, y in zip(row, x)), *(r * g for r, g in zip(rec, h))]))
                for row, rec in zip(W_x.tolist(), W_h.tolist())]
    result = []
    for sentence in embedded.tolist():
        h, states = [0.0] * len(W_h), []
        for x in sentence:
            h = step(h, x)
            states.append(h)
        result.append(states)
    return np.array(result)


def rnn_states__right_recursive_concatenation(embedded, W_x, W_h):
    """Joins both matrices side by side and recurses over the positions from the end."""
    W = np.hstack([W_x, W_h])
    def states(x):
        if x.shape[1] == 0:
            return np.zeros((x.shape[0], 1, len(W_h)))
        before = states(x[:, :-1])
        now = np.tanh(W @ np.concatenate([x[:, -1], before[:, -1]], axis=1)[..., None])
        return np.concatenate([before, now.swapaxes(1, 2)], axis=1)
    return states(embedded)[:, 1:]


# ---------------------------------------------------------------- annotate

def _read(x, W_x, W_h):
    h = x.new_zeros(x.shape[0], W_h.shape[0])
    out = []
    for j in range(x.shape[1]):
        h = torch.tanh(x[:, j] @ W_x.T + h @ W_h.T)
        out.append(h)
    return torch.stack(out, dim=1)


def annotate__wrong_cut_to_longest(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """The student cuts the batch to its longest sentence, like pad_packed_sequence; columns of pads only are missing."""
    longest = int(source_mask.sum(1).max())
    x = (embedded * source_mask.unsqueeze(-1))[:, :longest]
    f = _read(x, W_x, W_h) * source_mask[:, :longest, None]
    b = _read(x.flip(1), W_x_back, W_h_back).flip(1)
    return torch.cat([f, b], -1)


def annotate__wrong_pads_by_zero_vectors(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """The student also blanks the annotation of a real word whose word vector is all zeros."""
    keep = (source_mask & embedded.ne(0).any(-1)).unsqueeze(-1)
    x = embedded * source_mask.unsqueeze(-1)
    f = _read(x, W_x, W_h)
    b = _read(x.flip(1), W_x_back, W_h_back).flip(1)
    return torch.cat([f, b], -1) * keep


def annotate__wrong_backward_without_grad(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """The student writes the backward states through .data into a buffer, so that no gradient reaches its matrices."""
    keep = source_mask.unsqueeze(-1)
    f = _read(embedded, W_x, W_h) * keep
    b = torch.zeros_like(f)
    h = f.new_zeros(f.shape[0], f.shape[2])
    for j in range(f.shape[1] - 1, -1, -1):
        h = torch.tanh(embedded[:, j] @ W_x_back.T + h @ W_h_back.T) * keep[:, j]
        b.data[:, j] = h.data
    return torch.cat([f, b], -1)


def annotate__wrong_backward_begins_with_forward_end(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """The student hands the forward direction's last state to the backward direction as its first."""
    keep = source_mask.unsqueeze(-1)
    f = _read(embedded, W_x, W_h) * keep
    n = source_mask.sum(1)
    h = f[torch.arange(len(f)), n - 1]
    gs = []
    for j in range(f.shape[1] - 1, -1, -1):
        new = torch.tanh(embedded[:, j] @ W_x_back.T + h @ W_h_back.T)
        h = torch.where(keep[:, j], new, h)
        gs.insert(0, h)
    return torch.cat([f, torch.stack(gs, 1) * keep], -1)


def annotate__right_zeroed_inputs(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """Blanks the pads' word vectors: with no bias the backward state stays zero until the last real word."""
    x = torch.einsum("bsd,bs->bsd", embedded, source_mask.to(embedded.dtype))
    f = _read(x, W_x, W_h)
    b = _read(x.flip(1), W_x_back, W_h_back).flip(1)
    return torch.cat([f, b], -1).masked_fill(~source_mask[..., None], 0.0)


def annotate__right_gathered_reversal(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """Turns each sentence round within its own length by gather, reads, and turns back by the same index."""
    n = source_mask.sum(1, keepdim=True)
    j = torch.arange(embedded.shape[1]).expand_as(source_mask)
    index = torch.where(source_mask, n - 1 - j, j)[..., None]
    b = _read(embedded.gather(1, index.expand_as(embedded)), W_x_back, W_h_back)
    b = b.gather(1, index.expand_as(b))
    f = _read(embedded, W_x, W_h)
    joined = torch.cat((f, b), 2)
    return torch.where(source_mask[..., None], joined, torch.zeros_like(joined))


class _Annotator:
    def __init__(self, *matrices):
        self.A, self.B, self.C, self.D = matrices

    def forward_state(self, words, j):
        if j < 0:
            return self.B.new_zeros(self.B.shape[0])
        return torch.tanh(self.A.mv(words[j]) + self.B.mv(self.forward_state(words, j - 1)))

    def backward_state(self, words, j):
        if j == len(words):
            return self.D.new_zeros(self.D.shape[0])
        return torch.tanh(self.C.mv(words[j]) + self.D.mv(self.backward_state(words, j + 1)))

    def __call__(self, embedded, mask):
        out = []
        for x, real in zip(embedded, mask):
            words = list(x[real].unbind(0))
            row = [torch.cat([self.forward_state(words, j), self.backward_state(words, j)]) for j in range(len(words))]
            row += [torch.zeros_like(row[0])] * (len(x) - len(words))
            out.append(torch.stack(row))
        return torch.stack(out)


def annotate__right_class_with_recursion(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """A class with __call__ that follows both recursions sentence by sentence, from each position anew."""
    return _Annotator(W_x, W_h, W_x_back, W_h_back)(embedded, source_mask)
