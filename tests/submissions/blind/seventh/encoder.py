import math
import numpy as np
import torch


_E2, _X2 = np.array([[.5, -1, 0, 2, 1], [1, .5, 2, -.5, 0]]), np.array([[.5, 0], [0, 1], [-.5, 1]])
_H2 = np.array([[0, 1, 0], [.5, 0, 0], [0, .5, -1]])


def _two(E, X, H, words, f=np.tanh, r=lambda h: h):
    a = f(X @ E[:, words[0]])
    return {"h_1": list(r(a)), "h_2": list(r(f(X @ E[:, words[1]] + H @ r(a))))}


def _pass(embedded, mask, W_x, W_h, order, hold=True, tanh=torch.tanh, cut=False):
    h = embedded.new_zeros(embedded.shape[0], W_h.shape[0])
    out = [None] * embedded.shape[1]
    for j in order:
        h = tanh(embedded[:, j] @ W_x.T + (h.detach() if cut else h) @ W_h.T)
        if hold:
            h = torch.where(mask[:, j, None], h, torch.zeros_like(h))
        out[j] = h
    return torch.stack(out, 1)


def _both(embedded, mask, W_x, W_h, W_xb, W_hb, **kw):
    T = embedded.shape[1]
    r = torch.cat([_pass(embedded, mask, W_x, W_h, range(T), **kw), _pass(embedded, mask, W_xb, W_hb, range(T - 1, -1, -1), **kw)], -1)
    return torch.where(mask[:, :, None], r, torch.zeros_like(r))


def second_layer_shapes__right_rnn(d, m):
    """Reads them off a torch module of two layers."""
    r = torch.nn.RNN(d, m, num_layers=2, bidirectional=True)
    return {"input_matrix": tuple(r.weight_ih_l1.shape), "recurrent_matrix": tuple(r.weight_hh_l1_reverse.shape), "annotation": (m + m,)}


def rnn_outputs__right_asked(batch, d, m, T_x):
    """Runs the module and reads the shapes of what it gives."""
    o, l = torch.nn.RNN(d, m, bidirectional=True, batch_first=True)(torch.zeros(batch, T_x, d))
    return {"outputs": o.shape, "last": l.shape, "inputs_positions_first": (T_x, batch, d)}


def states_by_hand_twin__wrong_added_outside():
    """Adds the term of the state before after the tanh instead of inside."""
    r = _two(_E2, _X2, _H2 * 0, [3, 1])
    return {"h_1": r["h_1"], "h_2": list(np.array(r["h_2"]) + _H2 @ r["h_1"])}


def states_by_hand_twin__wrong_subtle_two_decimals():
    """Rounds each state to two decimals."""
    return _two(_E2, _X2, _H2, [3, 1], r=lambda h: np.round(h, 2))


def states_by_hand_twin__right_one_hot():
    """Multiplies by one-hot columns and gives arrays."""
    h, d = np.zeros(3), {}
    for i, w in enumerate((3, 1), 1):
        h = d[f"h_{i}"] = np.tanh(_X2 @ (_E2 @ np.eye(5)[w]) + _H2 @ h)
    return d


def annotation_by_hand__wrong_subtle_rounded():
    """Rounds the neighbouring states to one decimal before they enter the second word's."""
    return [math.tanh(-1 + .5 * .5), math.tanh(.5 - .8 * .8)]


def annotation_by_hand__right_tensor():
    """Gives a tensor of double precision."""
    t = torch.tensor([.5, -1.], dtype=torch.float64).tanh()
    return torch.stack([(-1 + .5 * t[0]).tanh(), (.5 + .8 * t[1]).tanh()])


def rnn_states__right_sentences_lists(embedded, W_x, W_h):
    """Loops over sentences and words with joined matrices, into nested lists."""
    W, out = np.hstack([W_x, W_h]), []
    for e in embedded:
        h, rows = np.zeros(len(W_h)), []
        for x in e:
            h = np.tanh(W @ np.concatenate([x, h]))
            rows.append(h.tolist())
        out.append(rows)
    return out


def rnn_states__right_einsum_ahead(embedded, W_x, W_h):
    """Projects all words ahead and fills an array with positions in front, handed back transposed."""
    p = np.einsum("hd,bjd->jbh", W_x, embedded)
    for j in range(len(p)):
        p[j] = np.tanh(p[j] + (p[j - 1] @ W_h.T if j else 0))
    return p.transpose(1, 0, 2)


def rnn_states__right_columns(embedded, W_x, W_h):
    """Keeps the batch in columns, works in torch with double precision, and gives a permuted tensor."""
    x, A, B = (torch.tensor(np.array(k), dtype=torch.float64) for k in (embedded, W_x, W_h))
    h, out = torch.zeros(len(B), len(x), dtype=torch.float64), []
    for j in range(x.shape[1]):
        h = torch.tanh(A @ x[:, j].T + B @ h)
        out.append(h)
    return torch.stack(out).permute(2, 0, 1)


def annotate__wrong_not_turned_back(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """Forgets to turn the backward states round again, so they stand in reading order."""
    r = _both(embedded, source_mask, W_x, W_h, W_x_back, W_h_back)
    return torch.cat([r[..., :len(W_h)], r[..., len(W_h):].flip(1)], -1)


def annotate__wrong_same_matrices(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """Uses the forward direction's recurrent matrix in both directions."""
    return _both(embedded, source_mask, W_x, W_h, W_x_back, W_h)


def annotate__wrong_subtle_first_longest(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """Reads as many words as the first sentence has, as if the batch were sorted by length."""
    n = int(source_mask[0].sum())
    m = source_mask & (torch.arange(embedded.shape[1]) < n)
    return _both(embedded, m, W_x, W_h, W_x_back, W_h_back)


def annotate__wrong_subtle_one_pad_start(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """Clears the backward state at the last position only, so rows with more than one pad still read some pads."""
    T = embedded.shape[1]
    r = torch.cat([_pass(embedded, source_mask, W_x, W_h, range(T))] + [_pass(embedded, source_mask | (torch.arange(T) < T - 1), W_x_back, W_h_back, range(T - 1, -1, -1))], -1)
    return torch.where(source_mask[:, :, None], r, torch.zeros_like(r))


def annotate__wrong_subtle_inf_gradient(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """Writes the tanh as 1 - 2 / (e^2x + 1), whose gradient is nan where the exponential overflows."""
    return _both(embedded, source_mask, W_x, W_h, W_x_back, W_h_back, tanh=lambda x: 1 - 2 / (torch.exp(2 * x) + 1))


def annotate__right_real_only(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """Reads only the real words of each sentence and appends new zeros."""
    rows = []
    for e, m in zip(embedded, source_mask):
        n = int(m.sum())
        f, b, h, g = [], [], e.new_zeros(len(W_h)), e.new_zeros(len(W_h))
        for j in range(n):
            h = torch.tanh(W_x @ e[j] + W_h @ h)
            g = torch.tanh(W_x_back @ e[n - 1 - j] + W_h_back @ g)
            f.append(h)
            b.insert(0, g)
        rows.append(torch.cat([torch.cat([torch.stack(f), torch.stack(b)], 1), e.new_zeros(len(e) - n, 2 * len(W_h))]))
    return torch.stack(rows)


def annotate__right_packed_rnn(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """Calls nn.RNN on a packed sequence, with the matrices put in by functional_call."""
    r = torch.nn.RNN(embedded.shape[2], len(W_h), bias=False, bidirectional=True, batch_first=True).double()
    p = torch.nn.utils.rnn.pack_padded_sequence(embedded, source_mask.sum(1), batch_first=True, enforce_sorted=False)
    w = {"weight_ih_l0": W_x, "weight_hh_l0": W_h, "weight_ih_l0_reverse": W_x_back, "weight_hh_l0_reverse": W_h_back}
    out, _ = torch.func.functional_call(r, w, (p,))
    return torch.nn.utils.rnn.pad_packed_sequence(out, batch_first=True, total_length=embedded.shape[1])[0]


def annotate__right_gathered(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """Turns each sentence's real words round by an index, reads both alike, and turns back by the same index."""
    b, T, d = embedded.shape
    n = source_mask.sum(1, keepdim=True)
    i = torch.arange(T).expand(b, T)
    i = torch.where(i < n, n - 1 - i, i)[:, :, None]
    back = _pass(embedded.gather(1, i.expand(b, T, d)), source_mask, W_x_back, W_h_back, range(T), hold=False)
    both = torch.cat([_pass(embedded, source_mask, W_x, W_h, range(T), hold=False), back.gather(1, i.expand(b, T, len(W_h)))], 2)
    return both * source_mask[:, :, None].double()
