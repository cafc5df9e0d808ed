import math
import numpy as np
import torch

_P2 = ([[.5, -1, 0, 2, 1], [1, .5, 2, -.5, 0]], [[.5, 0], [0, 1], [-.5, 1]], [[0, 1, 0], [.5, 0, 0], [0, .5, -1]])
def _two(p, a, b, f=np.tanh, t=False):
    E, X, H = (np.array(q, float) for q in p); H = H.T if t else H
    h = f(X @ E[:, a]); return {'h_1': h.tolist(), 'h_2': f(X @ E[:, b] + H @ h).tolist()}


def second_layer_shapes__wrong_joint_state(d, m):
    "Gives one direction the joined state of both, 2m numbers."
    return {'input_matrix': (2 * m, 2 * m), 'recurrent_matrix': (2 * m, 2 * m), 'annotation': (2 * m,)}
def second_layer_shapes__right_module(d, m):
    "Builds the second layer in torch and reads its parameters."
    r = torch.nn.RNN(2 * m, m, bidirectional=True)
    return dict(input_matrix=r.weight_ih_l0.shape, recurrent_matrix=r.weight_hh_l0.shape, annotation=(m + m,))

def rnn_outputs__right_run(batch, d, m, T_x):
    "Runs the module on zeros."
    x = torch.zeros(batch, T_x, d); o, h = torch.nn.RNN(d, m, bidirectional=True, batch_first=True)(x)
    return dict(outputs=o.shape, last=h.shape, inputs_positions_first=x.transpose(0, 1).shape)

def states_by_hand_twin__right_tuples():
    "Rounds to six decimals and gives tuples."
    return {k: tuple(round(x, 6) for x in v) for k, v in _two(_P2, 3, 1).items()}
def annotation_by_hand__wrong_last_backward():
    "Lets the backward direction run on to the first word and gives that state."
    b = math.tanh(.5 + .8 * math.tanh(-1)); return [math.tanh(-1 + .5 * math.tanh(.5)), math.tanh(-.25 + .8 * b)]
def annotation_by_hand__right_exponentials():
    "Uses exponentials for the tanh."
    t = lambda x: (math.exp(x) - math.exp(-x)) / (math.exp(x) + math.exp(-x))
    return (t(-1 + t(.5) / 2), t(.5 + .8 * t(-1)))


def rnn_states__wrong_subtle_batch_is_size(embedded, W_x, W_h):
    "Multiplies W_h from the left wherever shapes permit, which mixes sentences if the batch has as many as the state has numbers."
    h = np.zeros((len(embedded), len(W_x))); out = []
    for j in range(embedded.shape[1]): h = np.tanh(embedded[:, j] @ W_x.T + (W_h @ h if len(h) == len(W_h) else h @ W_h.T)); out.append(h)
    return np.stack(out, 1)
def rnn_states__right_recursion(embedded, W_x, W_h):
    "Calls itself for all words but the last, and joins."
    p = embedded[:, -1] @ W_x.T
    if embedded.shape[1] == 1: return np.tanh(p)[:, None]
    s = rnn_states__right_recursion(embedded[:, :-1], W_x, W_h)
    return np.concatenate([s, np.tanh(p + s[:, -1] @ W_h.T)[:, None]], 1)
def rnn_states__right_torch_rnn(embedded, W_x, W_h):
    "Loads the matrices into torch's RNN in double precision without bias."
    r = torch.nn.RNN(W_x.shape[1], W_x.shape[0], bias=False, batch_first=True, dtype=torch.float64)
    with torch.no_grad():
        r.weight_ih_l0.copy_(torch.tensor(W_x)); r.weight_hh_l0.copy_(torch.tensor(W_h)); return r(torch.tensor(embedded))[0].numpy()
def rnn_states__right_lists(embedded, W_x, W_h):
    "Goes sentence by sentence and returns nested lists."
    out = []
    for s in embedded:
        h = [0.] * len(W_x); out.append([])
        for x in s: h = [math.tanh(float(a @ x) + float(b @ h)) for a, b in zip(W_x, W_h)]; out[-1].append(h)
    return out

# ---- annotate
def _go(e, M, X, H, keep=True, det=False, f=torch.tanh):
    h = e.new_zeros(len(e), len(X)); out = []
    for j in range(e.shape[1]):
        n = f(e[:, j] @ X.T + (h.detach() if det else h) @ H.T)
        h = torch.where(M[:, j:j + 1], n, h) if keep else n
        out.append(h)
    return torch.stack(out, 1)
def _bi(e, M, X, H, BX, BH, **k):
    e = torch.where(M[..., None], e, 0.)
    s = torch.cat([_go(e, M, X, H, **k), _go(e.flip(1), M.flip(1), BX, BH, **k).flip(1)], -1)
    return torch.where(M[..., None], s, 0.)
def annotate__wrong_subtle_exp(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    "Computes tanh as 1 - 2 / (exp(2x) + 1), whose gradient is nan once exp overflows."
    return _bi(embedded, source_mask, W_x, W_h, W_x_back, W_h_back, f=lambda x: 1 - 2 / (torch.exp(2 * x) + 1))
def annotate__wrong_subtle_window(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    "Reads at most 32 positions, and leaves zeros beyond."
    s = _bi(embedded[:, :32], source_mask[:, :32], W_x, W_h, W_x_back, W_h_back)
    return torch.cat([s, s.new_zeros(len(s), max(0, embedded.shape[1] - 32), s.shape[2])], 1)
def annotate__wrong_subtle_padded_gradient(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    "Stops the gradient of the word vectors for every sentence that has a pad, by detaching the whole row."
    full = source_mask.all(1)[:, None, None]
    return _bi(torch.where(full, embedded, embedded.detach()), source_mask, W_x, W_h, W_x_back, W_h_back)
def annotate__right_real_only(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    "Loops over the real words of each sentence and pads with new zeros."
    rows = []
    for e, k in zip(embedded, source_mask.sum(1).tolist()):
        t = torch.ones(1, k, dtype=torch.bool); e = e[None, :k]
        s = torch.cat([_go(e, t, W_x, W_h), _go(e.flip(1), t, W_x_back, W_h_back).flip(1)], 2)[0]
        rows.append(torch.nn.functional.pad(s, (0, 0, 0, embedded.shape[1] - k)))
    return torch.stack(rows)
def annotate__right_zeroed_pads(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    "Zeroes the pads' vectors: a state of zeros stays at zero there, as no bias exists, so the whole row may be read backwards."
    e = embedded.masked_fill(~source_mask.unsqueeze(-1), 0); M = source_mask
    return torch.cat([_go(e, M, W_x, W_h, keep=False), _go(e.flip(1), M, W_x_back, W_h_back, keep=False).flip(1)], 2).masked_fill(~M.unsqueeze(-1), 0)
def annotate__right_block_matrix(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    "Reverses each sentence by an index and runs both directions at once with a block matrix."
    b, L, _ = embedded.shape; k = source_mask.sum(1, keepdim=True); j = torch.arange(L)[None]
    i = torch.where(j < k, k - 1 - j, j); r = torch.arange(b)[:, None]; e = torch.where(source_mask[..., None], embedded, 0.)
    X, H = torch.block_diag(W_x, W_x_back), torch.block_diag(W_h, W_h_back); m = len(W_x)
    s = _go(torch.cat([e, e[r, i]], 2), source_mask, X, H, keep=False)
    return torch.cat([s[..., :m], s[r, i][..., m:]], 2) * source_mask[..., None]
