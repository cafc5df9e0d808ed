import math

import numpy as np
import torch


def _t_weights(e, mask):
    """Softmax over real tokens in torch, zeros in empty rows, finite gradients."""
    w = torch.softmax(e.masked_fill(~mask, -1e300), -1)
    return torch.where(mask, w, torch.zeros_like(w))


# ---- multi_head_shapes
def multi_head_shapes__wrong_one_head(heads, m, r, T_x, T_y):
    """Gives W_key the rows of one head only."""
    return {"W_key": (r, m), "keys": (heads, T_x, r), "weights": (heads, T_y, T_x), "joined": (T_y, heads * r)}


def multi_head_shapes__wrong_subtle_joined_m(heads, m, r, T_x, T_y):
    """Assumes that the heads share out the annotation, heads times r equal to m."""
    return {"W_key": (m, m), "keys": (heads, T_x, r), "weights": (heads, T_y, T_x), "joined": (T_y, m)}


def multi_head_shapes__wrong_subtle_size_divided(heads, m, r, T_x, T_y):
    """Divides m by the number of heads for the size of a key."""
    return {"W_key": (heads * r, m), "keys": (heads, T_x, m // heads), "weights": (heads, T_y, T_x), "joined": (T_y, heads * r)}


def multi_head_shapes__right_arrays(heads, m, r, T_x, T_y):
    """Computes with zeros and reads the shapes."""
    W = np.zeros((r * heads, m))
    k = (np.zeros((T_x, m)) @ W.T).reshape(T_x, heads, r).swapaxes(0, 1)
    w = np.zeros((heads, T_y, r)) @ k.transpose(0, 2, 1)
    return {"W_key": W.shape, "keys": k.shape, "weights": w.shape, "joined": np.concatenate(list(w @ k), axis=1).shape}


def multi_head_shapes__right_torch_sizes(heads, m, r, T_x, T_y):
    """Returns torch.Size objects."""
    S = torch.Size
    return {"joined": S([T_y, r * heads]), "weights": S([heads, T_y, T_x]), "keys": S([heads, T_x, r]), "W_key": S([heads * r, m])}


# ---- saturation
def _satur(spread, plain=None, scaled=None):
    d = lambda s: 1 / (2 * math.cosh(s)) ** 2
    return {"spread": spread, "plain": d(spread) if plain is None else plain, "scaled": d(spread / 4) if scaled is None else scaled}


def saturation__wrong_variance():
    """Gives the variance 3.24 in place of the standard deviation."""
    return _satur(3.24)


def saturation__wrong_one_entry():
    """Takes the spread of one product."""
    return _satur(0.45)


def saturation__wrong_weight_not_derivative():
    """Gives the weights in place of their derivatives."""
    s = lambda x: 1 / (1 + math.exp(-x))
    return _satur(1.8, s(3.6), s(0.9))


def saturation__right_jacobian():
    """Takes an entry of the softmax Jacobian with torch."""
    out = {"spread": 4 * 0.5 * 0.9}
    for name, s in (("plain", 1.8), ("scaled", 0.45)):
        J = torch.autograd.functional.jacobian(lambda e: torch.softmax(e, 0), torch.tensor([s, -s], dtype=torch.float64))
        out[name] = float(J[0, 0])
    return out


# ---- multi_head
def _heads_of(query, keys, W_query, W_key, W_value):
    q = torch.einsum("zrq,bq->bzr", W_query, query)
    k = torch.einsum("zrk,bjk->bzjr", W_key, keys)
    u = torch.einsum("zvk,bjk->bzjv", W_value, keys)
    return q, k, u, torch.einsum("bzr,bzjr->bzj", q, k)


def _out(w, u, W_out):
    return torch.einsum("bzj,bzjv->bzv", w, u).flatten(1) @ W_out.T


def multi_head__wrong_empty_nan(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """Lets a sentence without a real token become nan."""
    q, k, u, e = _heads_of(query, keys, W_query, W_key, W_value)
    w = torch.softmax((e / math.sqrt(q.shape[-1])).masked_fill(~source_mask[:, None], -math.inf), -1)
    return _out(w, u, W_out)


def multi_head__wrong_subtle_root_of_value(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """Divides by the root of value_size, right where it equals head_size."""
    q, k, u, e = _heads_of(query, keys, W_query, W_key, W_value)
    return _out(_t_weights(e / math.sqrt(u.shape[-1]), source_mask[:, None]), u, W_out)


def multi_head__wrong_subtle_minus_1e9(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """Fills pads with -1e9, above the scores that legal inputs can reach, and does not divide anew."""
    q, k, u, e = _heads_of(query, keys, W_query, W_key, W_value)
    m = source_mask[:, None]
    return _out(torch.softmax((e / math.sqrt(q.shape[-1])).masked_fill(~m, -1e9), -1) * m, u, W_out)


def multi_head__wrong_subtle_shift_over_heads(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """Shifts by the largest score of all heads, so a head with much smaller scores underflows."""
    q, k, u, e = _heads_of(query, keys, W_query, W_key, W_value)
    e = (e / math.sqrt(q.shape[-1])).masked_fill(~source_mask[:, None], -1e300)
    p = torch.exp(e - e.detach().amax((1, 2), keepdim=True)) * source_mask[:, None]
    return _out(p / p.sum(-1, keepdim=True).clamp(min=1e-300), u, W_out)


def multi_head__wrong_subtle_nan_gradient(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """Divides 0 by 0 in empty sentences and replaces it afterwards, so the gradients are nan."""
    q, k, u, e = _heads_of(query, keys, W_query, W_key, W_value)
    e = (e / math.sqrt(q.shape[-1])).masked_fill(~source_mask[:, None], -1e300)
    p = torch.exp(e - e.detach().amax(-1, keepdim=True)) * source_mask[:, None]
    c = torch.einsum("bzj,bzjv->bzv", p, u) / p.sum(-1, keepdim=True)
    c = torch.where(source_mask.any(1)[:, None, None], c, torch.zeros_like(c))
    return c.flatten(1) @ W_out.T


def multi_head__wrong_subtle_view_order(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """Projects by all heads at once and views the values as (heads, value_size) in the wrong order where both are larger than 1."""
    q, k, u, e = _heads_of(query, keys, W_query, W_key, W_value)
    u = torch.einsum("nk,bjk->bjn", W_value.flatten(0, 1), keys)
    u = u.unflatten(-1, (W_value.shape[1], W_value.shape[0])).permute(0, 3, 1, 2)
    return _out(_t_weights(e / math.sqrt(q.shape[-1]), source_mask[:, None]), u, W_out)


def multi_head__wrong_subtle_single_head_axis(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """Squeezes the result in a batch of one."""
    q, k, u, e = _heads_of(query, keys, W_query, W_key, W_value)
    o = _out(_t_weights(e / math.sqrt(q.shape[-1]), source_mask[:, None]), u, W_out)
    return o.squeeze(0)


def multi_head__wrong_subtle_mask_by_keys(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """Takes annotations of exact zeros for pads too."""
    q, k, u, e = _heads_of(query, keys, W_query, W_key, W_value)
    m = source_mask & (keys.detach() != 0).any(-1)
    return _out(_t_weights(e / math.sqrt(q.shape[-1]), m[:, None]), u, W_out)


def multi_head__right_loop(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """Loops over sentences and heads and reads real tokens only, zeros where there are none."""
    rows = []
    for s, h, real in zip(query, keys, source_mask):
        h, parts = h[real], []
        for A, B, C in zip(W_query, W_key, W_value):
            e = (h @ B.T) @ (A @ s) / len(B) ** 0.5
            parts.append(torch.softmax(e, 0) @ (h @ C.T))
        rows.append(W_out @ torch.cat(parts))
    return torch.stack(rows)


def multi_head__right_sum_of_heads(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """Adds each head's share of W_out and mixes annotations before they become values."""
    total, v = 0, W_value.shape[1]
    for z in range(len(W_query)):
        k = keys @ W_key[z].T
        e = (k @ (query @ W_query[z].T).unsqueeze(2)).squeeze(2) / math.sqrt(k.shape[2])
        c = (_t_weights(e, source_mask).unsqueeze(1) @ keys).squeeze(1)
        total = total + c @ W_value[z].T @ W_out[:, z * v:(z + 1) * v].T
    return total


def multi_head__right_minus_inf(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """Uses -inf and nan_to_num with zeroed pads, and one reshape for all heads."""
    B, T, _ = keys.shape
    Z, r, _ = W_query.shape
    h = torch.where(source_mask[..., None], keys, torch.zeros_like(keys))
    q = (query @ W_query.flatten(0, 1).T).view(B, Z, 1, r)
    k = (h @ W_key.flatten(0, 1).T).view(B, T, Z, r).transpose(1, 2)
    u = (h @ W_value.flatten(0, 1).T).view(B, T, Z, -1).transpose(1, 2)
    e = (q @ k.mT / r**0.5).masked_fill(~source_mask[:, None, None], -math.inf)
    return (e.softmax(-1).nan_to_num(0.0) @ u).reshape(B, -1) @ W_out.T


# ---- self_attention
def _qku(states, W_query, W_key, W_value):
    q, k, u = states @ W_query.T, states @ W_key.T, states @ W_value.T
    return u, q @ k.mT / math.sqrt(k.shape[-1])


def _seen(states, mask, diagonal=0):
    n = states.shape[1]
    return torch.ones(n, n, dtype=torch.bool).tril(diagonal) & mask[:, None, :]


def self_attention__wrong_no_scale(states, mask, W_query, W_key, W_value):
    """Forgets to divide by the root."""
    u, e = _qku(states, W_query, W_key, W_value)
    return _t_weights(e * math.sqrt(len(W_key)), _seen(states, mask)) @ u


def self_attention__wrong_nan_first(states, mask, W_query, W_key, W_value):
    """Leaves nan where there is no real token at or before a position."""
    u, e = _qku(states, W_query, W_key, W_value)
    return torch.softmax(e.masked_fill(~_seen(states, mask), -math.inf), -1) @ u


def self_attention__wrong_subtle_minus_1e9(states, mask, W_query, W_key, W_value):
    """Fills with -1e9, above scores that legal inputs reach, and does not divide anew."""
    u, e = _qku(states, W_query, W_key, W_value)
    m = _seen(states, mask)
    return (torch.softmax(e.masked_fill(~m, -1e9), -1) * m) @ u


def self_attention__wrong_subtle_shift_by_all(states, mask, W_query, W_key, W_value):
    """Shifts each row by its largest score with unread positions included, so what is read may underflow."""
    u, e = _qku(states, W_query, W_key, W_value)
    p = torch.exp(e - e.detach().amax(-1, keepdim=True)) * _seen(states, mask)
    return p / p.sum(-1, keepdim=True).clamp(min=1e-300) @ u


def self_attention__wrong_subtle_root_of_size(states, mask, W_query, W_key, W_value):
    """Divides by the root of the size of the states, right where it equals head_size."""
    u, e = _qku(states, W_query, W_key, W_value)
    e = e * math.sqrt(len(W_key) / states.shape[-1])
    return _t_weights(e, _seen(states, mask)) @ u


def self_attention__wrong_subtle_nan_gradient(states, mask, W_query, W_key, W_value):
    """Divides 0 by 0 where nothing can be read and replaces it afterwards, so the gradients are nan."""
    u, e = _qku(states, W_query, W_key, W_value)
    m = _seen(states, mask)
    e = e.masked_fill(~m, -1e300)
    p = torch.exp(e - e.detach().amax(-1, keepdim=True)) * m
    c = p @ u / p.sum(-1, keepdim=True)
    return torch.where(m.any(-1, keepdim=True), c, torch.zeros_like(c))


def self_attention__wrong_subtle_mask_of_batch(states, mask, W_query, W_key, W_value):
    """Uses the mask of the first sentence for all where the batch is as long as the sequence."""
    u, e = _qku(states, W_query, W_key, W_value)
    m = _seen(states, mask[:1].expand_as(mask) if mask.shape[0] == mask.shape[1] else mask)
    return _t_weights(e, m) @ u


def self_attention__wrong_subtle_first_without_gradient(states, mask, W_query, W_key, W_value):
    """Copies the detached value at a position that reads only one, so its gradient does not arrive."""
    u, e = _qku(states, W_query, W_key, W_value)
    m = _seen(states, mask)
    w = _t_weights(e, m)
    return torch.where(m.sum(-1, keepdim=True) == 1, w.detach() @ u.detach(), w @ u)


_TRIANGLES = {}


def self_attention__wrong_subtle_mask_kept(states, mask, W_query, W_key, W_value):
    """Keeps what may be read from the first call of each length and batch size and uses it for later masks."""
    u, e = _qku(states, W_query, W_key, W_value)
    return _t_weights(e, _TRIANGLES.setdefault(tuple(mask.shape), _seen(states, mask))) @ u


def self_attention__right_prefixes(states, mask, W_query, W_key, W_value):
    """Loops over sentences and positions and reads the real ones so far."""
    out = []
    for h, real in zip(states, mask):
        rows = []
        for i in range(len(h)):
            past = h[: i + 1][real[: i + 1]]
            if len(past) == 0:
                rows.append(torch.zeros(len(W_value), dtype=h.dtype))
            else:
                e = past @ W_key.T @ (W_query @ h[i]) / len(W_key) ** 0.5
                rows.append(e.softmax(0) @ past @ W_value.T)
        out.append(torch.stack(rows))
    return torch.stack(out)


def self_attention__right_minus_inf(states, mask, W_query, W_key, W_value):
    """Uses -inf with nan_to_num, and positions compared as numbers."""
    n = torch.arange(states.shape[1])
    ban = (n[None, :] > n[:, None]) | ~mask.unsqueeze(1)
    e = torch.einsum("bis,bjt,rs,rt->bij", states, states, W_query, W_key) / len(W_key) ** 0.5
    return torch.einsum("bij,bjs,vs->biv", e.masked_fill(ban, -math.inf).softmax(2).nan_to_num(0), states, W_value)


def self_attention__right_rest_position(states, mask, W_query, W_key, W_value):
    """Lets positions that can read nothing read a new position of zeros."""
    u, e = _qku(states, W_query, W_key, W_value)
    m = _seen(states, mask)
    e = torch.cat([e, torch.zeros_like(e[..., :1])], -1)
    m = torch.cat([m, ~m.any(-1, keepdim=True)], -1)
    w = torch.softmax(torch.where(m, e, torch.full_like(e, -1e300)), -1)
    return w @ torch.cat([u, torch.zeros_like(u[:, :1])], 1)


# ---- same_context
_HS = np.array([[1, 1], [4, 0], [-1, 4], [-3, -2.0]])
_AS = np.array([0.4, 0.3, 0.2, 0.1])


def same_context__wrong_shared_out():
    """Shares the first weight out in equal parts."""
    return [0.0, 0.3 + 0.4 / 3, 0.2 + 0.4 / 3, 0.1 + 0.4 / 3]


def same_context__wrong_first_left_out():
    """Gives only three numbers."""
    return list(np.linalg.solve(np.vstack([_HS[1:].T, np.ones(3)]), np.append(_AS @ _HS, 1)))


def same_context__wrong_subtle_two_decimals():
    """Gives two decimals, where four are asked for."""
    return [0.0] + [round(x, 2) for x in np.linalg.solve(np.vstack([_HS[1:].T, np.ones(3)]), np.append(_AS @ _HS, 1))]


def same_context__right_barycentric():
    """Writes h_1 itself as a mixture of the others with areas of triangles and shares its weight out, as a tuple."""
    area = lambda a, b, c: (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
    h, p, q, r = _HS
    t = area(p, q, r)
    return (0, 0.3 + 0.4 * area(h, q, r) / t, 0.2 + 0.4 * area(p, h, r) / t, 0.1 + 0.4 * area(p, q, h) / t)


def same_context__right_tensor():
    """Solves in torch and returns a tensor."""
    A = torch.tensor(np.vstack([_HS.T, np.ones(4), [1, 0, 0, 0]]))
    return torch.linalg.solve(A, torch.tensor(np.append(_AS @ _HS, [1, 0])))
