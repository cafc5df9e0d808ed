import math
import numpy as np
import torch


def batch_shapes__right_numpy(batch, m, n, T_x, T_y):
    """Makes the arrays and reads off their shapes."""
    w, h = np.zeros((batch, T_x)), np.zeros((batch, T_x, m))
    r = w[:, None]
    c = np.stack([(r @ h)[:, 0]] * T_y, axis=1)
    return {"column": w[..., None].shape, "row": r.shape, "product": (r @ h).shape, "contexts": c.shape}


def weights_from_context__wrong_softmax_again():
    """Sends the right weights through a softmax once more."""
    e = np.exp([0.478, 0.158, 0.364])
    return list(e / e.sum())


def weights_from_context__right_solve():
    """Linear system with the row of ones, returned as an array."""
    return np.linalg.solve(np.array([[1, 5, 3], [2, 0, 6], [1, 1, 1.0]]), np.array([2.36, 3.14, 1]))


def pull_of_two__right_bisection():
    """Finds the gap by bisection."""
    p = lambda x: math.exp(-x) / (1 + math.exp(-x)) ** 2
    lo, hi = 0.0, 20.0
    for _ in range(80):
        mid = (lo + hi) / 2
        lo, hi = (mid, hi) if p(mid) > 0.025 else (lo, mid)
    return {"gap": lo, "largest": math.hypot(4, -3) / 4, "at_three": (4 * p(3), -3 * p(3))}


# ---- scores_gradient

def _pull(g, keys):
    return np.einsum("bk,btk->bt", g, keys)


def scores_gradient__wrong_no_centre(context_gradient, weights, keys):
    """Multiplies by the weight, but does not subtract the weighted mean of the pulls."""
    return weights * _pull(context_gradient, keys)


def scores_gradient__right_pairs(context_gradient, weights, keys):
    """Sum over pairs w_j w_k (p_j - p_k)."""
    p = _pull(context_gradient, keys)
    out = np.zeros(weights.shape)
    for b in range(len(p)):
        for j in range(p.shape[1]):
            out[b, j] = sum(weights[b, j] * weights[b, k] * (p[b, j] - p[b, k]) for k in range(p.shape[1]))
    return out


def scores_gradient__right_torch(context_gradient, weights, keys):
    """Autograd through a softmax of the logarithms of the positive weights, as a list."""
    res = []
    for g, w, h in zip(context_gradient, weights, keys):
        row = np.zeros(len(w))
        i = np.flatnonzero(w)
        if len(i):
            e = torch.tensor(np.log(w[i]), requires_grad=True)
            (torch.softmax(e, 0) @ torch.tensor(h[i]) @ torch.tensor(g)).backward()
            row[i] = e.grad.numpy()
        res.append(row.tolist())
    return res


# ---- attend

def _sm(scores, mask):
    any_ = mask.any(1, keepdim=True)
    s = scores.masked_fill(~mask, -math.inf).masked_fill(~any_, 0.0)
    return torch.softmax(s, 1) * (mask & any_)


def _mix(w, keys):
    return torch.einsum("bt,btk->bk", w, keys)


def attend__right_nan_replaced(scores, keys, source_mask):
    """Replaces the NaN of an empty row after the softmax over -inf; masked_fill keeps its gradient finite."""
    w = torch.softmax(scores.masked_fill(~source_mask, -math.inf), 1)
    return _mix(torch.where(torch.isnan(w), torch.zeros_like(w), w), keys)


def attend__wrong_subtle_small_fill(scores, keys, source_mask):
    """Fills pads with -100000, which a real score may be as well: then the pads share."""
    w = torch.softmax(scores.masked_fill(~source_mask, -1e5), 1)
    return _mix(w * source_mask.any(1, keepdim=True), keys)


def attend__wrong_subtle_clamped(scores, keys, source_mask):
    """Clamps shifted scores at -15, so that hopeless words get 3e-7 of weight."""
    s = scores.masked_fill(~source_mask, -math.inf)
    top = s.detach().amax(1, keepdim=True)
    top = torch.where(top.isinf(), torch.zeros_like(top), top)
    e = torch.where(source_mask, scores - top, torch.zeros_like(scores)).clamp(min=-15).exp() * source_mask
    return _mix(e / e.sum(1, keepdim=True).clamp(min=1e-300), keys)


def attend__wrong_subtle_keys_data(scores, keys, source_mask):
    """Copies the annotations of real tokens by .data, so that no gradient reaches keys."""
    return _mix(_sm(scores, source_mask), keys.data * source_mask[..., None])


def attend__right_selection(scores, keys, source_mask):
    """Loop over sentences, selecting real tokens; zeros made anew for an empty row."""
    rows = []
    for s, h, m in zip(scores, keys, source_mask):
        rows.append(torch.softmax(s[m], 0) @ h[m] if m.any() else torch.zeros(h.shape[1], dtype=h.dtype))
    return torch.stack(rows)


def attend__right_logsumexp(scores, keys, source_mask):
    """exp(score - logsumexp), with pads replaced before."""
    live = source_mask.any(1, keepdim=True)
    s = torch.where(source_mask, scores, torch.full_like(scores, -1e300))
    s = torch.where(live, s, torch.zeros_like(s))
    w = torch.where(source_mask, (s - s.logsumexp(1, keepdim=True)).exp(), torch.zeros_like(s))
    return torch.bmm(w.unsqueeze(1), keys).squeeze(1)


def attend__right_finite_min(scores, keys, source_mask):
    """Fills pads with the lowest float and multiplies by the mask afterwards."""
    w = scores.masked_fill(source_mask.logical_not(), torch.finfo(torch.float64).min).softmax(-1) * source_mask
    return (w.unsqueeze(-1) * keys).sum(-2)


# ---- mended_attention

def _score(query, keys, Wq, Wk, v):
    return np.tanh((query @ Wq.T)[:, None] + keys @ Wk.T) @ v


def _nmix(w, keys):
    return np.sum(w[:, :, None] * keys, axis=1)


def mended_attention__wrong_subtle_fill(query, keys, source_mask, W_query, W_key, v):
    """Fills pads with -100000, above real scores that may be as low as -500000."""
    s = np.where(source_mask, _score(query, keys, W_query, W_key, v), -1e5)
    e = np.exp(s - s.max(1, keepdims=True))
    return _nmix(e / e.sum(1, keepdims=True), keys) * source_mask.any(1, keepdims=True)


def mended_attention__right_words(query, keys, source_mask, W_query, W_key, v):
    """Loops over sentences and real tokens only; a list of rows."""
    out = []
    for q, h, m in zip(query, keys, source_mask):
        real = [x for x, y in zip(h, m) if y]
        if not real:
            out.append([0.0] * h.shape[1])
            continue
        s = [float(v @ np.tanh(W_query @ q + W_key @ x)) for x in real]
        p = [math.exp(x - max(s)) for x in s]
        out.append([sum(a * x[i] for a, x in zip(p, real)) / sum(p) for i in range(h.shape[1])])
    return out


def mended_attention__right_einsum(query, keys, source_mask, W_query, W_key, v):
    """einsum and logaddexp.reduce."""
    h = np.where(source_mask[..., None], keys, 0.0)
    s = np.einsum("bta,a->bt", np.tanh(np.einsum("aq,bq->ba", W_query, query)[:, None] + np.einsum("ak,btk->bta", W_key, h)), v)
    s = np.where(source_mask, s, -1e300)
    return np.einsum("bt,btk->bk", np.exp(s - np.logaddexp.reduce(s, 1)[:, None]), h)
