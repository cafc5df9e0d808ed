import math

import numpy as np
import torch


def batch_shapes__right_measured(batch, m, n, T_x, T_y):
    """Reads the shapes off arrays of zeros."""
    a, h = np.zeros((batch, T_x)), np.zeros((batch, T_x, m))
    row = a[:, None]
    return {"column": a[..., None].shape, "row": row.shape, "product": (row @ h).shape,
            "contexts": (np.zeros((batch, T_y, T_x)) @ h).shape}


def weights_from_context__right_cramer():
    """Cramer's rule for differences to the third annotation."""
    d = (1 - 3) * (0 - 6) - (5 - 3) * (2 - 6)
    x, y = 2.36 - 3, 3.14 - 6
    a = (x * (0 - 6) - (5 - 3) * y) / d
    b = ((1 - 3) * y - x * (2 - 6)) / d
    return np.array([a, b, 1 - a - b])


def pull_of_two__right_cosh():
    """With a(1-a) = 1 / (4 cosh(gap/2)^2)."""
    q = 1 / (4 * math.cosh(1.5) ** 2)
    return {"gap": 2 * math.acosh(math.sqrt(10)), "largest": 5 / 4, "at_three": (4 * q, -3 * q)}


# ---- scores_gradient

def _to_weights(g, keys):
    return np.einsum("bk,bjk->bj", g, keys)


def scores_gradient__wrong_subtle_log_eps(context_gradient, weights, keys):
    """Goes back to scores by log(weight + 1e-9) and takes their softmax again: weights near 1e-7 come out too large."""
    e = np.log(weights + 1e-9)
    a = np.exp(e) / np.exp(e).sum(1, keepdims=True) * (weights > 0)
    d = _to_weights(context_gradient, keys)
    return a * (d - (a * d).sum(1, keepdims=True))


def scores_gradient__wrong_subtle_squeeze(context_gradient, weights, keys):
    """squeeze() of the product loses the batch axis too where it is 1, or the positions, and then broadcasts wrongly."""
    d = (keys @ context_gradient[:, :, None]).squeeze()
    return weights * (d - (weights * d).sum(-1, keepdims=True))


def scores_gradient__right_context_first(context_gradient, weights, keys):
    """By the difference of each annotation and the context: a (h - c) . g."""
    c = np.einsum("bj,bjk->bk", weights, keys)
    return weights * np.einsum("bjk,bk->bj", keys - c[:, None], context_gradient)


def scores_gradient__right_jacobian_loop(context_gradient, weights, keys):
    """The full Jacobian of each sentence, rows as lists."""
    return [list((np.diag(a) - np.outer(a, a)) @ (h @ g)) for g, a, h in zip(context_gradient, weights, keys)]


def scores_gradient__right_last_from_row_sum(context_gradient, weights, keys):
    """The last position's derivative from the fact that each row adds to 0."""
    d = _to_weights(context_gradient, keys)
    out = weights * (d - (weights * d).sum(1)[:, None])
    out[:, -1] = -out[:, :-1].sum(1)
    return out


# ---- attend

def attend__wrong_zero_scores_at_pads(scores, keys, source_mask):
    """Sets scores at pads to 0 before the softmax: a score of 0 still gets weight."""
    w = torch.softmax(scores * source_mask, 1)
    return (w[:, :, None] * keys).sum(1)


def attend__wrong_no_max(scores, keys, source_mask):
    """exp without taking the largest score away overflows for scores above 709."""
    p = torch.exp(scores.masked_fill(~source_mask, 0.0)) * source_mask
    return ((p / p.sum(1, keepdim=True).clamp(min=1e-300))[:, :, None] * keys).sum(1)


def attend__wrong_subtle_max_over_pads(scores, keys, source_mask):
    """Takes the largest score of all positions away, a pad's too: next to a large pad all real words underflow."""
    p = torch.exp(scores - scores.amax(1, keepdim=True).detach()) * source_mask
    return (p[:, :, None] * keys).sum(1) / p.sum(1, keepdim=True).clamp(min=1e-300)


def attend__right_loop_selection(scores, keys, source_mask):
    """A loop over the sentences, with the real tokens selected by the mask; new zeros for empty rows."""
    rows = []
    for e, h, m in zip(scores, keys, source_mask):
        rows.append(torch.softmax(e[m], 0) @ h[m] if m.any() else torch.zeros(h.shape[1], dtype=h.dtype))
    return torch.stack(rows)


def attend__right_nan_to_num(scores, keys, source_mask):
    """masked_fill with minus infinity, softmax, nan_to_num: masked_fill stops the nan on the way back too."""
    w = torch.nan_to_num(scores.masked_fill(~source_mask, -math.inf).softmax(-1))
    return torch.einsum("bj,bjk->bk", w, keys)


def attend__right_logsumexp(scores, keys, source_mask):
    """By log-sum-exp, with empty rows read as if they were full and then cut off."""
    seen = source_mask | ~source_mask.any(1, keepdim=True)
    e = torch.where(seen, scores, torch.full_like(scores, -1e200))
    e = torch.where(source_mask.any(1, keepdim=True), e, torch.zeros_like(e))
    w = torch.exp(e - torch.logsumexp(e, 1, keepdim=True))
    w = torch.where(source_mask, w, torch.zeros_like(w))
    return torch.bmm(w[:, None], keys)[:, 0]


def attend__right_online(scores, keys, source_mask):
    """One word after another, with a running maximum, in tensors that are made on the way."""
    out = []
    for b in range(scores.shape[0]):
        top, total, c = None, 0.0, torch.zeros(keys.shape[2], dtype=torch.float64)
        for j in range(scores.shape[1]):
            if not source_mask[b, j]:
                continue
            e = scores[b, j]
            new = e if top is None else torch.maximum(top, e)
            old = torch.exp(top - new) if top is not None else 0.0
            p = torch.exp(e - new)
            total, c, top = total * old + p, c * old + p * keys[b, j], new
        out.append(c if top is None else c / total)
    return torch.stack(out)


# ---- mended_attention

def _scores(query, keys, W_query, W_key, v):
    return np.tanh((query @ W_query.T)[:, None, :] + keys @ W_key.T) @ v


def mended_attention__right_one_by_one(query, keys, source_mask, W_query, W_key, v):
    """Each sentence alone, with only its real tokens, rows in a list."""
    rows = []
    for s, h, m in zip(query, keys, source_mask):
        h = h[m]
        if len(h) == 0:
            rows.append(np.zeros(keys.shape[2], dtype=int))
            continue
        e = np.array([v @ np.tanh(W_query @ s + W_key @ x) for x in h])
        p = np.exp(e - e.max())
        rows.append(p @ h / p.sum())
    return rows


def mended_attention__right_joined_matrix(query, keys, source_mask, W_query, W_key, v):
    """Queries and annotations joined end to end, one matrix for both, in torch."""
    b, t, _ = keys.shape
    x = np.concatenate([np.repeat(query[:, None], t, 1), keys], 2)
    e = torch.from_numpy(np.tanh(x @ np.concatenate([W_query, W_key], 1).T) @ v)
    m = torch.from_numpy(source_mask)
    w = torch.softmax(e.masked_fill(~m, -1e300), 1) * m
    return (w.unsqueeze(1) @ torch.from_numpy(keys)).squeeze(1).tolist()


def mended_attention__right_pairwise(query, keys, source_mask, W_query, W_key, v):
    """Each weight as 1 over a sum of exponentials of differences of scores, without any maximum."""
    e = _scores(query, keys, W_query, W_key, v)
    d = np.where(source_mask[:, None, :], e[:, None, :] - e[:, :, None], -np.inf)
    with np.errstate(over="ignore"):
        w = np.where(source_mask, 1 / np.maximum(np.exp(d).sum(2), 1e-300), 0.0)
    return np.einsum("bj,bjk->bk", w, keys)
