import math

import numpy as np
import torch


def batch_shapes__right_torch_sizes(batch, m, n, T_x, T_y):
    """Returns torch.Size objects, which are tuples, of empty tensors."""
    w, H = torch.zeros(batch, T_x), torch.zeros(batch, T_x, m)
    p = w.unsqueeze(1) @ H
    return {"column": w.unsqueeze(2).shape, "row": w.unsqueeze(1).shape, "product": p.shape,
            "contexts": torch.cat([p] * T_y, 1).shape}


def weights_from_context__right_cramer():
    """Eliminates two weights by hand and returns a tuple."""
    c = (3.14 / 2 + 1.36 / 4 - 1) / 2.5
    return (3.14 / 2 - 3 * c, 1.36 / 4 - c / 2, c)


# ---- pull_of_two
def pull_of_two__wrong_weight_instead_of_product():
    """Takes p (h_1 - h_2) without the factor 1 - p, and the gap where 1 - p is a twentieth."""
    p = 1 / (1 + math.exp(-3))
    return {"largest": 2.5, "at_three": [4 * p, -3 * p], "gap": math.log(19)}


def pull_of_two__right_bisection():
    """Finds the gap by bisection and the rest with cosh."""
    q = lambda d: 1 / (4 * math.cosh(d / 2) ** 2)
    low, high = 0.0, 50.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if q(middle) > .025 else (low, middle)
    return {"largest": 5 * q(0), "at_three": (4 * q(3), -3 * q(3)), "gap": np.float64(low)}


# ---- scores_gradient
def _back(g, w, H):
    d = np.einsum("bk,bjk->bj", g, H)
    return w * (d - (w * d).sum(1, keepdims=True))


def scores_gradient__wrong_sign(context_gradient, weights, keys):
    """Has the opposite sign: subtracts the own share from the mean."""
    return -_back(context_gradient, weights, keys)


def scores_gradient__wrong_subtle_logarithm_clipped(context_gradient, weights, keys):
    """Gets scores back as logarithms of clipped weights, so a row of zeros turns into a uniform softmax."""
    e = torch.tensor(np.log(np.clip(weights, 1e-15, None)), requires_grad=True)
    c = (torch.softmax(e, 1)[:, None] @ torch.tensor(keys))[:, 0]
    (c * torch.tensor(context_gradient)).sum().backward()
    return e.grad.numpy()


def scores_gradient__wrong_subtle_almost_one_is_one(context_gradient, weights, keys):
    """Returns zeros for a row in which a weight is close to 1 by np.isclose, though small derivatives are left."""
    r = _back(context_gradient, weights, keys)
    r[np.isclose(weights, 1.0).any(axis=1)] = 0.0
    return r


def scores_gradient__right_differences_from_context(context_gradient, weights, keys):
    """Takes the weight times the gradient's product with the annotation less the context."""
    c = np.einsum("bj,bjk->bk", weights, keys)
    return weights * ((keys - c[:, None]) @ context_gradient[:, :, None])[:, :, 0]


def scores_gradient__right_full_jacobian_loops(context_gradient, weights, keys):
    """Builds the softmax's Jacobian of each sentence and returns a list of lists."""
    return [((np.diag(w) - np.outer(w, w)) @ (H @ g)).tolist() for g, w, H in zip(context_gradient, weights, keys)]


# ---- attend
def _weights(scores, mask):
    e = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    return torch.softmax(e, 1).masked_fill(~mask, 0.0)


def attend__wrong_no_maximum(scores, keys, source_mask):
    """Exponentiates the scores as they are, which overflows above 709 and underflows below -745."""
    p = torch.exp(scores.masked_fill(~source_mask, 0)) * source_mask
    return (p[:, :, None] * keys).sum(1) / p.sum(1, keepdim=True).clamp_min(1e-300)


def attend__wrong_subtle_fill_at_limit(scores, keys, source_mask):
    """Fills pads with -100 000, which real scores may reach too: then the pads take a share of the softmax."""
    w = torch.softmax(scores.masked_fill(~source_mask, -1e5), 1).masked_fill(~source_mask, 0.0)
    return (w[:, None] @ keys)[:, 0]


def attend__wrong_subtle_maximum_of_pads(scores, keys, source_mask):
    """Subtracts the maximum of all positions, pads too: a large score at a pad lets all real ones underflow to 0."""
    p = torch.exp(scores - scores.max(1, keepdim=True).values) * source_mask
    return (p[:, :, None] * keys).sum(1) / p.sum(1, keepdim=True).clamp_min(1e-300)


def attend__wrong_subtle_clamped_scores(scores, keys, source_mask):
    """Clamps scores to plus or minus 50 000, so larger ones become ties."""
    return (_weights(scores.clamp(-5e4, 5e4), source_mask)[:, None] @ keys)[:, 0]


def attend__right_selection_loop(scores, keys, source_mask):
    """Loops over the sentences, selects the real tokens, and makes new zeros for a sentence without one."""
    rows = []
    for e, h, m in zip(scores, keys, source_mask):
        rows.append(torch.softmax(e[m], 0) @ h[m] if m.any() else torch.zeros(h.shape[1], dtype=torch.float64))
    return torch.stack(rows)


def attend__right_infinite_fill(scores, keys, source_mask):
    """Fills with -inf and clears nan afterwards: the gradient stays finite, since masked_fill lets none through at pads."""
    w = torch.softmax(scores.masked_fill(~source_mask, -math.inf), 1)
    w = torch.where(source_mask, w, torch.zeros_like(w))
    return (w[:, None] @ keys)[:, 0]


def attend__right_logsumexp(scores, keys, source_mask):
    """Clears the pads in the keys too, and makes the weights of exp(score - logsumexp)."""
    e = torch.where(source_mask, scores, torch.full_like(scores, -1e300))
    w = torch.exp(e - torch.logsumexp(e, 1, keepdim=True)) * source_mask.double()
    return torch.einsum("bj,bjk->bk", w, torch.where(source_mask[..., None], keys, 0.0))


def attend__right_python_power_detached_maximum(scores, keys, source_mask):
    """Subtracts a detached maximum of the real tokens and divides the mixed sum by one more than 0 where it is empty."""
    e = scores.masked_fill(~source_mask, -math.inf)
    top = e.detach().max(1, keepdim=True).values
    e = torch.where(source_mask, scores - top.masked_fill(top == -math.inf, 0.0), torch.zeros_like(scores))
    p = torch.exp(e) * source_mask
    total = p.sum(1) + (~source_mask.any(1)).double()
    return torch.bmm(keys.transpose(1, 2), p[:, :, None]).squeeze(2) / total[:, None]


# ---- mended_attention
def _mix(scores, keys, mask):
    top = np.max(np.where(mask, scores, -np.inf), axis=1, keepdims=True, initial=-1e308)
    p = np.where(mask, np.exp(np.where(mask, scores - top, 0.0)), 0.0)
    total = p.sum(1, keepdims=True)
    return np.einsum("bj,bjk->bk", p / np.where(total == 0, 1.0, total), keys)


def _scores(query, keys, W_query, W_key, v):
    return np.tanh((query @ W_query.T)[:, None] + keys @ W_key.T) @ v


def mended_attention__wrong_sum_over_all(query, keys, source_mask, W_query, W_key, v):
    """Still divides by the sum over the whole batch."""
    e = np.where(source_mask, _scores(query, keys, W_query, W_key, v), -np.inf)
    p = np.exp(e - max(e.max(), -1e300))
    return np.einsum("bj,bjk->bk", p / max(p.sum(), 1e-300), keys)


def mended_attention__wrong_subtle_fill_too_high(query, keys, source_mask, W_query, W_key, v):
    """Fills pads with -100 000 though real scores may be lower still."""
    e = np.where(source_mask, _scores(query, keys, W_query, W_key, v), -1e5)
    p = np.exp(e - e.max(1, keepdims=True)) * source_mask
    t = p.sum(1, keepdims=True)
    return np.einsum("bj,bjk->bk", p / np.where(t == 0, 1, t), keys)


_projected = {}


def mended_attention__wrong_subtle_cached_projection(query, keys, source_mask, W_query, W_key, v):
    """Remembers the projected keys by shape and first number, so it uses stale ones when other numbers have changed."""
    name = (keys.shape, W_key.shape, float(keys[0, 0, 0]), float(W_key[0, 0]))
    if name not in _projected:
        _projected[name] = keys @ W_key.T
    return _mix(np.tanh((query @ W_query.T)[:, None] + _projected[name]) @ v, keys, source_mask)


def mended_attention__right_alone_without_pads(query, keys, source_mask, W_query, W_key, v):
    """Takes each sentence alone, keeps its real tokens only, and returns a list of arrays."""
    rows = []
    for s, H, m in zip(query, keys, source_mask):
        H = H[m]
        if len(H) == 0:
            rows.append(np.zeros(keys.shape[2]))
            continue
        e = np.array([v @ np.tanh(W_query @ s + W_key @ h) for h in H])
        p = np.exp(e - e.max())
        rows.append(p @ H / p.sum())
    return rows


def mended_attention__right_torch(query, keys, source_mask, W_query, W_key, v):
    """Computes with torch in double precision and returns a tensor."""
    q, H, m, A, B, v = map(torch.as_tensor, (query, keys, source_mask, W_query, W_key, v))
    e = torch.tanh((q @ A.T).unsqueeze(1) + H @ B.T) @ v
    return torch.einsum("bj,bjk->bk", _weights(e, m), H)


def mended_attention__right_fortran_integer_mask(query, keys, source_mask, W_query, W_key, v):
    """Joins state and annotation to one product, masks with an integer mask and returns a Fortran-ordered array."""
    T = keys.shape[1]
    joined = np.concatenate([np.repeat(query[:, None], T, axis=1), keys], axis=2)
    e = np.tanh(np.einsum("ap,bjp->bja", np.hstack([W_query, W_key]), joined)) @ v
    return np.asfortranarray(_mix(e, keys, source_mask.astype(int) == 1))
