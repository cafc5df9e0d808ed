import math
import numpy as np
import torch


def _sm(x, axis=-1):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


_D = torch.float64


def batch_shapes__right_torch_sizes(batch, m, n, T_x, T_y):
    """Shapes as torch sizes of real tensors."""
    w, h = torch.zeros(batch, T_x), torch.zeros(batch, T_x, m)
    r = w.unsqueeze(1)
    return {"column": tuple(w.unsqueeze(2).shape), "row": tuple(r.shape), "product": tuple((r @ h).shape),
            "contexts": tuple((torch.zeros(batch, T_y, T_x) @ h).shape)}


def weights_from_context__wrong_swapped_order():
    """Exchanges the first and the second weight."""
    return [.158, .478, .364]

def weights_from_context__right_solve():
    """Solves the three equations, returned as an array."""
    return np.linalg.solve(np.array([[1., 5, 3], [2, 0, 6], [1, 1, 1]]), np.array([2.36, 3.14, 1]))


# ---- pull of two
def _pull(L=None, a=None, g=None):
    p = 1 / (1 + math.exp(-3))
    return {"largest": 1.25 if L is None else L, "at_three": [4 * p * (1 - p), -3 * p * (1 - p)] if a is None else a,
            "gap": 2 * math.acosh(math.sqrt(10)) if g is None else g}

def pull_of_two__wrong_one_weight_only():
    """Multiplies the difference by the first weight only in at_three."""
    p = 1 / (1 + math.exp(-3))
    return _pull(a=[4 * p, -3 * p])


def pull_of_two__wrong_subtle_gap_negative():
    """Takes the other root of the quadratic: the first score is smaller there."""
    return _pull(g=-2 * math.acosh(math.sqrt(10)))

def pull_of_two__right_quadratic():
    """The gap from the quadratic equation p(1-p) = 1/40."""
    p = (1 + math.sqrt(.9)) / 2
    return _pull(g=math.log(p) - math.log1p(-p), a=np.array([4., -3]) / (2 + 2 * math.cosh(3)))


# ---- scores_gradient
def _dw(g, keys):
    return np.einsum("bk,bjk->bj", g, keys)


def scores_gradient__wrong_no_outer_weight(context_gradient, weights, keys):
    """Centres the weights' gradients and forgets the factor w."""
    d = _dw(context_gradient, keys)
    return (d - (weights * d).sum(1, keepdims=True)) * (weights > 0)


def scores_gradient__wrong_subtle_threshold(context_gradient, weights, keys):
    """Treats weights below 1e-6 as pads with derivative 0."""
    d = _dw(context_gradient, keys)
    r = weights * (d - (weights * d).sum(1, keepdims=True))
    return np.where(weights > 1e-6, r, 0)

def scores_gradient__right_full_jacobian(context_gradient, weights, keys):
    """Builds the whole jacobian diag(w) - w w^T for each sentence."""
    return np.stack([(np.diag(w) - np.outer(w, w)) @ (k @ g) for g, w, k in zip(context_gradient, weights, keys)])

def scores_gradient__right_pairs(context_gradient, weights, keys):
    """Pairs of positions: sum_k w_j w_k (d_j - d_k), with no context at all."""
    d = _dw(context_gradient, keys)
    return np.einsum("bj,bi,bji->bj", weights, weights, d[:, :, None] - d[:, None, :])

def scores_gradient__right_autograd(context_gradient, weights, keys):
    """Torch autograd through a softmax of log weights, over nonzero weights only; returns nested lists."""
    out = torch.zeros(weights.shape, dtype=_D)
    for b in range(len(weights)):
        i = np.flatnonzero(weights[b])
        if len(i):
            e = torch.tensor(np.log(weights[b, i]), dtype=_D, requires_grad=True)
            c = torch.softmax(e, 0) @ torch.tensor(keys[b, i])
            (c @ torch.tensor(context_gradient[b])).backward()
            out[b, torch.as_tensor(i)] = e.grad
    return out.tolist()

# ---- attend
def _w(scores, mask, fill=-1e9):
    return torch.softmax(scores.masked_fill(~mask, fill), -1)

def _mix(w, keys):
    return torch.einsum("bj,bjk->bk", w, keys)


def attend__wrong_scores_to_zero(scores, keys, source_mask):
    """Sets pad scores to 0 instead of minus infinity."""
    return _mix(torch.softmax(scores * source_mask, -1), keys)

def attend__wrong_overflow(scores, keys, source_mask):
    """Exponentiates without subtracting the maximum."""
    e = torch.exp(scores) * source_mask
    return _mix(e / e.sum(1, keepdim=True).clamp(min=1e-300), keys)


def attend__wrong_subtle_fill_1e5(scores, keys, source_mask):
    """Fills pads with -100000, which real scores may reach too."""
    w = _w(scores, source_mask, -1e5)
    return _mix(w, keys) * source_mask.any(1, keepdim=True)


def attend__wrong_subtle_eps(scores, keys, source_mask):
    """Adds 1e-7 to the normaliser, more than the precision allows."""
    s = scores.masked_fill(~source_mask, -1e9)
    e = torch.exp(s - s.max(1, keepdim=True)[0]) * source_mask
    return _mix(e / (e.sum(1, keepdim=True) + 1e-7), keys)

def attend__right_select_rows(scores, keys, source_mask):
    """Selects the real tokens sentence by sentence; new zeros, without a graph, for empty ones."""
    return torch.stack([torch.softmax(s[m], 0) @ k[m] if m.any() else torch.zeros(k.shape[1], dtype=_D)
                        for s, k, m in zip(scores, keys, source_mask)])

def attend__right_inf_two_wheres(scores, keys, source_mask):
    """Minus infinity at pads, and a harmless 0 in empty rows, removed afterwards."""
    some = source_mask.any(1, keepdim=True)
    s = torch.where(source_mask, scores, -math.inf)
    w = torch.softmax(torch.where(some, s, 0.0), -1)
    return torch.where(some, torch.bmm(w.unsqueeze(1), keys).squeeze(1), 0.0)

def attend__right_logsumexp(scores, keys, source_mask):
    """exp(score - logsumexp) with a finite fill, masked once more at the end."""
    s = scores.masked_fill(~source_mask, -1e12)
    w = torch.exp(s - torch.logsumexp(s, 1, keepdim=True)).masked_fill(~source_mask, 0)
    return (w.unsqueeze(-1) * keys).sum(1)

# ---- mended_attention
def _scores(query, keys, mask, Wq, Wk, v):
    k = np.where(mask[:, :, None], keys, 0)
    return np.tanh((query @ Wq.T)[:, None, :] + k @ Wk.T) @ v

def _attend(s, mask, keys):
    s = np.where(mask, s, -1e9)
    w = _sm(s) * mask
    return (w[:, :, None] * keys).sum(1)


def mended_attention__wrong_mask_not_renormalised(query, keys, source_mask, W_query, W_key, v):
    """Masks after the softmax without normalising again."""
    w = _sm(_scores(query, keys, source_mask, W_query, W_key, v)) * source_mask
    return (w[:, :, None] * keys).sum(1)


def mended_attention__wrong_no_max(query, keys, source_mask, W_query, W_key, v):
    """Mends all but the overflow of exp."""
    e = np.exp(_scores(query, keys, source_mask, W_query, W_key, v)) * source_mask
    t = e.sum(1, keepdims=True)
    return ((e / np.where(t == 0, 1, t))[:, :, None] * keys).sum(1)


def mended_attention__wrong_subtle_square(query, keys, source_mask, W_query, W_key, v):
    """Forgets to transpose W_query where it is square."""
    W = W_query.T if W_query.shape[0] == W_query.shape[1] else W_query
    return _attend(_scores(query, keys, source_mask, W, W_key, v), source_mask, keys)

def mended_attention__right_sentence_by_sentence(query, keys, source_mask, W_query, W_key, v):
    """Each sentence alone, over its real tokens."""
    out = []
    for q, k, m in zip(query, keys, source_mask):
        k = k[m]
        out.append(_sm(np.tanh(W_query @ q + k @ W_key.T) @ v) @ k if len(k) else np.zeros(k.shape[1]))
    return np.array(out)

def mended_attention__right_batched(query, keys, source_mask, W_query, W_key, v):
    """Batched, a finite fill and a mask at the end."""
    return _attend(_scores(query, keys, source_mask, W_query, W_key, v), source_mask, keys)
