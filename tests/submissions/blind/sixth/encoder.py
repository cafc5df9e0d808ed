import math

import numpy as np
import torch


# ---------------------------------------------------------------- helpers
def _rows(embedded, W_x, W_h, start=None):
    h = np.zeros((len(embedded), len(W_h))) if start is None else start
    out = np.empty((len(embedded), embedded.shape[1], len(W_h)))
    for j in range(embedded.shape[1]):
        h = np.tanh(embedded[:, j] @ W_x.T + h @ W_h.T)
        out[:, j] = h
    return out


def _pass(embedded, mask, W_x, W_h, order, cut=False, erase=True):
    h = torch.zeros(embedded.shape[0], W_h.shape[0], dtype=torch.float64)
    out = {}
    for j in order:
        h = torch.tanh(embedded[:, j] @ W_x.T + (h.detach() if cut else h) @ W_h.T)
        if erase:
            h = h.masked_fill(~mask[:, j, None], 0.0)
        out[j] = h
    return torch.stack([out[j] for j in range(embedded.shape[1])], 1)


def _both(embedded, mask, W_x, W_h, W_x_back, W_h_back, **how):
    n = embedded.shape[1]
    f = _pass(embedded, mask, W_x, W_h, range(n), **how)
    b = _pass(embedded, mask, W_x_back, W_h_back, range(n - 1, -1, -1), **how)
    return f, b


def second_layer_shapes__right_from_torch(d, m):
    """Reads the shapes off the parameters of torch's own module with two layers."""
    net = torch.nn.RNN(d, m, num_layers=2, bidirectional=True)
    return dict(input_matrix=net.weight_ih_l1.shape, recurrent_matrix=net.weight_hh_l1.shape, annotation=net(torch.zeros(1, d))[0][0].shape)


def rnn_outputs__right_run(batch, d, m, T_x):
    """Runs the module and reads the shapes of what comes out."""
    x = torch.zeros(batch, T_x, d)
    out, last = torch.nn.RNN(d, m, bidirectional=True, batch_first=True)(x)
    return dict(outputs=out.shape, last=last.shape, inputs_positions_first=x.transpose(0, 1).shape)


# ---------------------------------------------------------------- numbers
def _two(E, A, B, words, last=np.tanh, keep=True):
    E, A, B = np.array(E, float), np.array(A, float), np.array(B, float)
    h1 = last(A @ E[:, words[0]])
    h2 = last(A @ E[:, words[1]] + (B @ h1 if keep else 0))
    return dict(h_1=h1.tolist(), h_2=h2.tolist())


_TWIN = ([[0.5, -1, 0, 2, 1], [1, 0.5, 2, -0.5, 0]], [[0.5, 0], [0, 1], [-0.5, 1]], [[0, 1, 0], [0.5, 0, 0], [0, 0.5, -1]])


def states_by_hand_twin__wrong_no_tanh():
    """Leaves out the tanh."""
    return _two(*_TWIN, (3, 1), last=lambda x: x)


def states_by_hand_twin__right_cut_off():
    """Cuts the numbers off after four decimals."""
    return {k: [math.trunc(x * 1e4) / 1e4 for x in v] for k, v in _two(*_TWIN, (3, 1)).items()}


def annotation_by_hand__right_torch():
    """Computes with tensors of one number and gives a tensor of double precision."""
    x = torch.tensor([0.5, -1, 2], dtype=torch.float64)
    f = torch.tanh(x[1] + 0.5 * torch.tanh(x[0]))
    return torch.stack([f, torch.tanh(-0.5 * x[1] + 0.8 * torch.tanh(-0.5 * x[2]))])


def rnn_states__wrong_subtle_truncated(embedded, W_x, W_h):
    """Begins with zeros again after every 35 words."""
    cuts = [_rows(embedded[:, j : j + 35], W_x, W_h) for j in range(0, embedded.shape[1], 35)]
    return np.concatenate(cuts, axis=1)


def rnn_states__wrong_subtle_square_batch(embedded, W_x, W_h):
    """Takes the axes for positions and batch where there are as many sentences as words, and reads across the sentences."""
    if embedded.shape[0] == embedded.shape[1]:
        return _rows(embedded.transpose(1, 0, 2), W_x, W_h).transpose(1, 0, 2)
    return _rows(embedded, W_x, W_h)


def rnn_states__right_recursion(embedded, W_x, W_h):
    """Goes back to the first word by recursion, and joins the positions."""
    def upto(j):
        if j < 0:
            return [np.zeros((len(embedded), len(W_h)))]
        before = upto(j - 1)
        return before + [np.tanh(np.einsum("md,bd->bm", W_x, embedded[:, j]) + np.einsum("mn,bn->bm", W_h, before[-1]))]

    return np.stack(upto(embedded.shape[1] - 1)[1:], axis=1)


def rnn_states__right_lists(embedded, W_x, W_h):
    """Reads one sentence after the other into nested lists of floats."""
    result = []
    for sentence in embedded:
        h, states = [0.0] * len(W_h), []
        for word in sentence:
            h = [math.tanh(float(np.dot(a, word)) + float(np.dot(b, h))) for a, b in zip(W_x, W_h)]
            states.append(h)
        result.append(states)
    return result


def rnn_states__right_projected_first(embedded, W_x, W_h):
    """Projects all words at once, then fills the result in place in Fortran layout."""
    out = np.asfortranarray(embedded @ W_x.T)
    np.tanh(out[:, 0], out=out[:, 0])
    for j in range(1, out.shape[1]):
        out[:, j] = np.tanh(out[:, j] + out[:, j - 1] @ W_h.T)
    return out


def annotate__wrong_backward_not_turned(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """Leaves the backward states in the order in which they were read, from the last word on."""
    f, b = _both(embedded, source_mask, W_x, W_h, W_x_back, W_h_back)
    return torch.cat([f, b.flip(1)], 2).masked_fill(~source_mask[..., None], 0.0)


def annotate__wrong_single_precision(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """Rounds the word vectors to single precision."""
    return torch.cat(_both(embedded.float().double(), source_mask, W_x, W_h, W_x_back, W_h_back), 2)


def annotate__wrong_through_numpy(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """Makes a new tensor of the word vectors, so that no gradient reaches them."""
    return torch.cat(_both(torch.tensor(embedded.tolist(), dtype=torch.float64), source_mask, W_x, W_h, W_x_back, W_h_back), 2)


def annotate__right_real_words_only(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """Reads the real words of each sentence alone, there and back, and appends new zeros for the pads."""
    out = []
    for x, n in zip(embedded, source_mask.sum(1).tolist()):
        f, b = [], []
        h = g = torch.zeros(len(W_h), dtype=torch.float64)
        for j in range(n):
            h, g = torch.tanh(W_x @ x[j] + W_h @ h), torch.tanh(W_x_back @ x[n - 1 - j] + W_h_back @ g)
            f.append(h)
            b.insert(0, g)
        rows = torch.cat([torch.stack(f), torch.stack(b)], 1)
        out.append(torch.cat([rows, rows.new_zeros(len(x) - n, rows.shape[1])]))
    return torch.stack(out)


def annotate__right_pads_zeroed_first(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """Sets word vectors at pads to zero, so that a backward direction from the end meets states of zero there."""
    x = embedded.masked_fill(~source_mask[:, :, None], 0.0)
    f, b = _both(x, source_mask, W_x, W_h, W_x_back, W_h_back, erase=False)
    return torch.where(source_mask[:, :, None], torch.cat((f, b), -1), 0.0)


def annotate__right_packed(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """Calls torch's own bidirectional module on a packed sequence, with the given matrices in place of its own."""
    m, d = W_x.shape
    net = torch.nn.RNN(d, m, bias=False, batch_first=True, bidirectional=True).double()
    p = dict(weight_ih_l0=W_x, weight_hh_l0=W_h, weight_ih_l0_reverse=W_x_back, weight_hh_l0_reverse=W_h_back)
    packed = torch.nn.utils.rnn.pack_padded_sequence(embedded, source_mask.sum(1), batch_first=True, enforce_sorted=False)
    out, _ = torch.func.functional_call(net, p, (packed,))
    return torch.nn.utils.rnn.pad_packed_sequence(out, batch_first=True, total_length=embedded.shape[1])[0]
