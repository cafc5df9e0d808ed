import math

import numpy as np
import torch


def _tw(scores, mask):
    """Masked softmax along the last axis, torch, safe gradients."""
    s = torch.where(mask, scores, torch.full_like(scores, -1e300))
    top = s.amax(-1, keepdim=True).detach()
    e = torch.where(mask, torch.exp(torch.where(mask, scores - top, torch.zeros_like(scores))), torch.zeros_like(scores))
    total = e.sum(-1, keepdim=True)
    return e / torch.where(total > 0, total, torch.ones_like(total))


def _clean(x, mask):
    return torch.where(mask[..., None], x, torch.zeros_like(x))


def _heads(query, keys, W_query, W_key, W_value):
    q = torch.einsum("zrq,bq->bzr", W_query, query)
    k = torch.einsum("zrk,bjk->bzjr", W_key, keys)
    u = torch.einsum("zdk,bjk->bzjd", W_value, keys)
    return q, k, u


def _finish(w, u, W_out):
    c = torch.einsum("bzj,bzjd->bzd", w, u)
    return c.reshape(c.shape[0], -1) @ W_out.T


def _qku(states, W_query, W_key, W_value):
    return states @ W_query.T, states @ W_key.T, states @ W_value.T


def _causal(n):
    return torch.ones(n, n, dtype=torch.bool).tril()


def multi_head_shapes__wrong_weights_positions_first(heads, m, r, T_x, T_y):
    """Puts the source positions before the steps in the weights."""
    return dict(W_key=(heads * r, m), keys=(heads, T_x, r), weights=(heads, T_x, T_y), joined=(T_y, heads * r))


def multi_head_shapes__right_real_arrays(heads, m, r, T_x, T_y):
    """Multiplies real arrays and reads their shapes off, as torch.Size."""
    W = torch.zeros(heads * r, m)
    k = (torch.zeros(T_x, m) @ W.T).reshape(T_x, heads, r).transpose(0, 1)
    w = torch.zeros(heads, T_y, r) @ k.transpose(1, 2)
    j = (w @ k).transpose(0, 1).reshape(T_y, heads * r)
    return dict(W_key=W.shape, keys=k.shape, weights=w.shape, joined=j.shape)


def multi_head_shapes__right_tuple_sums(heads, m, r, T_x, T_y):
    """Builds the tuples out of parts, with a sum over the heads."""
    wide = sum(r for _ in range(heads))
    lead = (heads,)
    return {"joined": (T_y,) + (wide,), "weights": lead + (T_y, T_x), "keys": lead + (T_x, r), "W_key": (wide, m)}


# ---------------------------------------------------------------- saturation
def saturation__wrong_variance_for_spread():
    """Gives the variance of the score for its standard deviation."""
    return dict(spread=3.24, plain=0.0259, scaled=0.2055)


def saturation__wrong_scale_on_derivative():
    """Divides the plain derivative by 4 instead of the scores."""
    a = 1 / (1 + math.exp(-3.6))
    return dict(spread=1.8, plain=a * (1 - a), scaled=a * (1 - a) / 4)


def saturation__right_cosh():
    """Writes the derivative of a weight of two as one over four squared hyperbolic cosines."""
    s = math.sqrt(16) * 0.5 * 0.9
    return dict(spread=s, plain=1 / (4 * math.cosh(s) ** 2), scaled=1 / (4 * math.cosh(s / 4) ** 2))


# ---------------------------------------------------------------- multi_head
def multi_head__wrong_scale_of_annotation(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """Divides by the root of the annotation size instead of the size of a head's own key."""
    keys = _clean(keys, source_mask)
    q, k, u = _heads(query, keys, W_query, W_key, W_value)
    s = torch.einsum("bzr,bzjr->bzj", q, k) / math.sqrt(keys.shape[-1])
    return _finish(_tw(s, source_mask[:, None].expand_as(s)), u, W_out)


def multi_head__wrong_heads_last(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """Joins the contexts with the heads running fastest, entry by entry, instead of head after head."""
    keys = _clean(keys, source_mask)
    q, k, u = _heads(query, keys, W_query, W_key, W_value)
    s = torch.einsum("bzr,bzjr->bzj", q, k) / math.sqrt(k.shape[-1])
    c = torch.einsum("bzj,bzjd->bdz", _tw(s, source_mask[:, None].expand_as(s)), u)
    return c.reshape(len(query), -1) @ W_out.T


def multi_head__wrong_scaled_twice(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """Scales twice, once in the query and once more in the score."""
    keys = _clean(keys, source_mask)
    q, k, u = _heads(query, keys, W_query, W_key, W_value)
    s = torch.einsum("bzr,bzjr->bzj", q, k) / k.shape[-1]
    return _finish(_tw(s, source_mask[:, None].expand_as(s)), u, W_out)


def multi_head__wrong_no_mask(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """Ignores the mask except in sentences that are all pads."""
    q, k, u = _heads(query, keys, W_query, W_key, W_value)
    s = torch.einsum("bzr,bzjr->bzj", q, k) / math.sqrt(k.shape[-1])
    return _finish(torch.softmax(s, 2), u, W_out) * source_mask.any(1)[:, None]


def multi_head__wrong_subtle_fill_too_high(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """Fills pads with minus one million, which lies above legal scores of real tokens."""
    keys = _clean(keys, source_mask)
    q, k, u = _heads(query, keys, W_query, W_key, W_value)
    s = torch.einsum("bzr,bzjr->bzj", q, k) / math.sqrt(k.shape[-1])
    w = torch.softmax(s.masked_fill(~source_mask[:, None], -1e6), 2) * source_mask[:, None]
    return _finish(w, u, W_out)


def multi_head__wrong_subtle_overflow_behind_where(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """Takes the exponential of a high pad before torch.where drops it, so that its gradient is 0 times infinity."""
    q, k, u = _heads(query, keys, W_query, W_key, W_value)
    u = u * source_mask[:, None, :, None]
    s = torch.einsum("bzr,bzjr->bzj", q, k) / math.sqrt(k.shape[-1])
    ok = source_mask[:, None].expand_as(s)
    top = s.detach().masked_fill(~ok, -1e300).amax(2, keepdim=True)
    top = torch.where(ok.any(2, keepdim=True), top, s.detach().amax(2, keepdim=True))
    e = torch.where(ok, torch.exp(s - top), torch.zeros_like(s))
    n = e.sum(2, keepdim=True)
    return _finish(e / torch.where(n > 0, n, torch.ones_like(n)), u, W_out)


_SCALES = {}


def multi_head__wrong_subtle_scale_kept(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """Keeps the scale in a dictionary by the number of heads, so that a later call with another head size gets the old one."""
    keys = _clean(keys, source_mask)
    q, k, u = _heads(query, keys, W_query, W_key, W_value)
    scale = _SCALES.setdefault(W_key.shape[0], math.sqrt(W_key.shape[1]))
    s = torch.einsum("bzr,bzjr->bzj", q, k) / scale
    return _finish(_tw(s, source_mask[:, None].expand_as(s)), u, W_out)


def multi_head__right_loop_over_heads(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """Runs one head after the other and concatenates the contexts."""
    keys = keys.masked_fill(~source_mask[:, :, None], 0.0)
    low = torch.zeros(source_mask.shape, dtype=torch.float64).masked_fill(~source_mask, -1e30)
    contexts = []
    for A, B, C in zip(W_query, W_key, W_value):
        s = ((keys @ B.T) * (query @ A.T)[:, None, :]).sum(-1) / len(B) ** 0.5
        w = torch.softmax(s + low, 1) * source_mask
        contexts.append((w[:, :, None] * (keys @ C.T)).sum(1))
    return torch.cat(contexts, 1) @ W_out.T


def multi_head__right_loop_over_real_tokens(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """Takes each sentence on its own, with its real tokens alone, and new zeros for an empty one."""
    rows = []
    for q, h, ok in zip(query, keys, source_mask):
        if not ok.any():
            rows.append(torch.zeros(len(W_out), dtype=torch.float64))
            continue
        h = h[ok]
        parts = [torch.softmax((h @ K.T) @ (Q @ q) / math.sqrt(K.shape[0]), 0) @ (h @ V.T) for Q, K, V in zip(W_query, W_key, W_value)]
        rows.append(W_out @ torch.cat(parts))
    return torch.stack(rows)


def multi_head__right_library(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """Uses torch's scaled_dot_product_attention, with a first position opened in empty sentences and zeroed after."""
    some = source_mask.any(1)
    keys = torch.where(source_mask[..., None], keys, 0.0)
    open_ = source_mask | ~some[:, None]
    q, k, u = _heads(query, keys, W_query, W_key, W_value)
    c = torch.nn.functional.scaled_dot_product_attention(q[:, :, None], k, u, attn_mask=open_[:, None, None, :])
    return (c.reshape(len(q), -1) @ W_out.T) * some[:, None]


# ---------------------------------------------------------------- self_attention
def _self(states, may, W_query, W_key, W_value, scale=None):
    q, k, u = _qku(states, W_query, W_key, W_value)
    s = q @ k.transpose(1, 2) / (scale or math.sqrt(W_key.shape[0]))
    dead = ~may.any(1)
    s = s.masked_fill(dead[:, None, :], 0.0)
    return _tw(s, may) @ u.masked_fill(dead[:, :, None], 0.0)


def self_attention__wrong_reads_all(states, mask, W_query, W_key, W_value):
    """Lets each position read those after it too."""
    n = states.shape[1]
    return _self(states, mask[:, None].expand(-1, n, n), W_query, W_key, W_value)


def self_attention__wrong_not_itself(states, mask, W_query, W_key, W_value):
    """Lets a position read those before it but not itself."""
    return _self(states, mask[:, None] & _causal(states.shape[1]).tril(-1), W_query, W_key, W_value)


def self_attention__wrong_upper_triangle(states, mask, W_query, W_key, W_value):
    """Keeps the upper triangle, so that a position reads itself and those after it."""
    return _self(states, mask[:, None] & _causal(states.shape[1]).T, W_query, W_key, W_value)


def self_attention__wrong_pads_zeroed(states, mask, W_query, W_key, W_value):
    """Sets the results at pads to zero, though a pad reads the real tokens before it."""
    return _self(states, mask[:, None] & _causal(states.shape[1]), W_query, W_key, W_value) * mask[:, :, None]


def self_attention__wrong_pad_reads_itself(states, mask, W_query, W_key, W_value):
    """Opens the diagonal to every position, so that a pad reads itself."""
    n = states.shape[1]
    return _self(states, (mask[:, None] & _causal(n)) | torch.eye(n, dtype=torch.bool), W_query, W_key, W_value)


def self_attention__wrong_subtle_max_of_future(states, mask, W_query, W_key, W_value):
    """Subtracts the maximum over positions that may not be read too, so that a high later score makes the weights vanish."""
    states_k = _clean(states, mask)
    q, u = states @ W_query.T, states_k @ W_value.T
    s = q @ (states_k @ W_key.T).transpose(1, 2) / math.sqrt(W_key.shape[0])
    e = torch.exp(s - s.amax(2, keepdim=True)) * (mask[:, None] & _causal(states.shape[1]))
    n = e.sum(2, keepdim=True)
    return e / torch.where(n > 0, n, torch.ones_like(n)) @ u


def self_attention__wrong_subtle_window(states, mask, W_query, W_key, W_value):
    """Reads at most the last 64 positions, which longer sequences show."""
    n = states.shape[1]
    return _self(states, mask[:, None] & _causal(n).triu(-63), W_query, W_key, W_value)


_MAY = {}


def self_attention__wrong_subtle_mask_kept(states, mask, W_query, W_key, W_value):
    """Keeps the joined mask by its shape, so that a later batch of the same shape is read with the pads of the first."""
    key = tuple(mask.shape)
    if key not in _MAY:
        _MAY[key] = mask[:, None] & _causal(mask.shape[1])
    return _self(states, _MAY[key], W_query, W_key, W_value)


def self_attention__right_prefixes(states, mask, W_query, W_key, W_value):
    """Loops over sentences and positions and gathers the real ones up to each."""
    rows = []
    for x, ok in zip(states, mask):
        row = []
        for i in range(len(x)):
            seen = x[: i + 1][ok[: i + 1]]
            if len(seen) == 0:
                row.append(torch.zeros(W_value.shape[0], dtype=torch.float64))
            else:
                s = (seen @ W_key.T) @ (W_query @ x[i]) / W_key.shape[0] ** 0.5
                row.append((torch.softmax(s, 0)[:, None] * (seen @ W_value.T)).sum(0))
        rows.append(torch.stack(row))
    return torch.stack(rows)


def self_attention__right_low_and_erase(states, mask, W_query, W_key, W_value):
    """Replaces forbidden scores by the lowest double, takes torch's softmax, and erases the forbidden weights."""
    may = torch.tril(mask[:, None, :].expand(-1, mask.shape[1], -1))
    inner = torch.where(mask[..., None], states, torch.zeros((), dtype=torch.float64))
    s = (states @ W_query.T) @ (inner @ W_key.T).mT
    w = torch.softmax((s / W_key.shape[0] ** 0.5).masked_fill(~may, torch.finfo(torch.float64).min), -1).masked_fill(~may, 0.0)
    return w @ (inner @ W_value.T)


def self_attention__right_noncontiguous(states, mask, W_query, W_key, W_value):
    """Works with the positions first and returns a transposed view."""
    may = (mask[:, None] & _causal(mask.shape[1])).permute(1, 0, 2)
    inner = _clean(states, mask)
    q, k, u = states.transpose(0, 1) @ W_query.T, inner @ W_key.T, inner @ W_value.T
    w = _tw(torch.einsum("ibr,bjr->ibj", q, k) * W_key.shape[0] ** -0.5, may)
    return torch.einsum("ibj,bjd->ibd", w, u).transpose(0, 1)


def same_context__right_solve():
    """Solves the three linear equations and prepends the 0, as a tuple."""
    A = np.array([[4.0, -1, -3], [0, 4, -2], [1, 1, 1]])
    return (0,) + tuple(np.linalg.solve(A, [1.1, 1.0, 1.0]))
