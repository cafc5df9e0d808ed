import math

import numpy as np
import torch


def _D(doc):
    def put(f):
        f.__doc__ = doc
        return f
    return put


# ---- 8.1
def _shapes(**over):
    def f(heads, m, r, T_x, T_y):
        d = {"W_key": (heads * r, m), "keys": (heads, T_x, r), "weights": (heads, T_y, T_x), "joined": (T_y, heads * r)}
        for k, g in over.items():
            d[k] = g(heads, m, r, T_x, T_y)
        return d
    return f


multi_head_shapes__wrong_w_key_transposed = _D("Gives W_key with the annotation's size first: transposed.")(_shapes(W_key=lambda h, m, r, x, y: (m, h * r)))
multi_head_shapes__wrong_w_key_one_head = _D("Gives W_key for one head only: r rows instead of heads times r.")(_shapes(W_key=lambda h, m, r, x, y: (r, m)))
multi_head_shapes__wrong_keys_positions_first = _D("Puts the positions before the heads in keys.")(_shapes(keys=lambda h, m, r, x, y: (x, h, r)))
multi_head_shapes__wrong_weights_swapped = _D("Puts the source positions before the steps in weights.")(_shapes(weights=lambda h, m, r, x, y: (h, x, y)))
multi_head_shapes__wrong_subtle_split_m = _D("Takes m // heads as the size of a key, as if the heads shared out the annotation, instead of r.")(_shapes(keys=lambda h, m, r, x, y: (h, x, m // h)))


def multi_head_shapes__right_lists(heads, m, r, T_x, T_y):
    """Shapes as lists."""
    return {"joined": [T_y, r * heads], "weights": [heads, T_y, T_x], "keys": [heads, T_x, r], "W_key": [r * heads, m]}


def multi_head_shapes__right_arrays(heads, m, r, T_x, T_y):
    """Reads the shapes off real arrays."""
    W, h = torch.zeros(heads * r, m), torch.zeros(T_x, m)
    keys = (h @ W.T).reshape(T_x, heads, r).transpose(0, 1)
    weights = torch.zeros(heads, T_y, r) @ keys.transpose(1, 2)
    joined = (weights @ keys).transpose(0, 1).reshape(T_y, heads * r)
    return {"W_key": W.shape, "keys": keys.shape, "weights": weights.shape, "joined": joined.shape}


def saturation__right_cut():
    """Four decimals, the last one cut off, by the hyperbolic cosine."""
    f = lambda x: math.floor(1e4 / (4 * math.cosh(x) ** 2)) / 1e4
    return {"spread": 1.8, "plain": f(1.8), "scaled": f(.45)}


# ---- 8.6 and 8.7
def _soft(e, m):
    m = m.expand_as(e)
    e = e.masked_fill(~m, -math.inf)
    top = e.detach().amax(-1, keepdim=True)
    w = torch.exp(e - torch.where(torch.isfinite(top), top, torch.zeros_like(top)))
    s = w.sum(-1, keepdim=True)
    return w / torch.where(s > 0, s, torch.ones_like(s))


def _mh(query, keys, mask, Wq, Wk, Wv, Wo, scale=None, soft=None, clean=True, join=None, detach=False, e_fn=None):
    k = keys.masked_fill(~mask[..., None], 0.0) if clean else keys
    e = torch.einsum("zri,bi,zrk,bjk->zbj", Wq, query, Wk, k) / (math.sqrt(Wk.shape[1]) if scale is None else scale)
    if e_fn:
        e = e_fn(e)
    w = (soft or _soft)(e, mask[None])
    if detach:
        w = w.detach()
    c = torch.einsum("zbj,zvk,bjk->bzv", w, Wv, k)
    return (join(c) if join else c.flatten(1)) @ Wo.T


def multi_head__wrong_no_scale(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """Forgets to divide the scores by the root of the head size."""
    return _mh(query, keys, source_mask, W_query, W_key, W_value, W_out, 1.0)


def multi_head__wrong_interleaved(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """Joins the contexts entry by entry, with the heads running fastest, instead of end to end."""
    return _mh(query, keys, source_mask, W_query, W_key, W_value, W_out, join=lambda c: c.transpose(1, 2).flatten(1))


def multi_head__wrong_shared_weights(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """Sums the scores of all heads and gives every head the same weights."""
    return _mh(query, keys, source_mask, W_query, W_key, W_value, W_out, e_fn=lambda e: e.sum(0, keepdim=True).expand_as(e))


def multi_head__wrong_subtle_low_fill(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """Fills the pads' scores with -1e6, which real scores (to -2e7) may lie below, so pads take the weight."""
    return _mh(query, keys, source_mask, W_query, W_key, W_value, W_out,
               soft=lambda e, m: torch.softmax(e.masked_fill(~m, -1e6), -1) * m)


def multi_head__wrong_subtle_added_mask(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """Adds -1e9 to the pads' scores instead of replacing them, so a pad with a very large score still wins."""
    return _mh(query, keys, source_mask, W_query, W_key, W_value, W_out, clean=False,
               soft=lambda e, m: torch.softmax(e + (~m) * -1e9, -1) * m)


def multi_head__wrong_subtle_nan_gradient(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """Replaces the nan of an empty sentence in the result only: its gradients are nan."""
    r = _mh(query, keys, source_mask, W_query, W_key, W_value, W_out, soft=lambda e, m: torch.softmax(e.masked_fill(~m, -math.inf), -1))
    return torch.where(source_mask.any(1, keepdim=True), r, torch.zeros_like(r))


def multi_head__wrong_subtle_float_root(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """Takes the root as a float32 tensor, exact only for square head sizes."""
    return _mh(query, keys, source_mask, W_query, W_key, W_value, W_out, torch.sqrt(torch.tensor(float(W_key.shape[1]))))


def multi_head__right_loops(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """Loops over sentences and heads with the real words alone; new zeros for an empty sentence."""
    rows = []
    for q, h, m in zip(query, keys, source_mask):
        if not m.any():
            rows.append(torch.zeros(len(W_out), dtype=torch.float64))
            continue
        h = h[m]
        rows.append(W_out @ torch.cat([torch.softmax((h @ K.T) @ (Q @ q) / len(K) ** .5, 0) @ (h @ V.T)
                                       for Q, K, V in zip(W_query, W_key, W_value)]))
    return torch.stack(rows)


def multi_head__right_mix_first(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """Mixes the annotations first, then multiplies by W_value and by each head's part of W_out, and sums over heads."""
    k = torch.where(source_mask[..., None], keys, torch.zeros_like(keys))
    out = 0
    for z, (Q, K, V) in enumerate(zip(W_query, W_key, W_value)):
        e = ((query @ Q.T @ K)[:, None] * k).sum(-1) * (1 / math.sqrt(K.shape[0]))
        c = (_soft(e, source_mask)[..., None] * k).sum(1)
        out = out + c @ V.T @ W_out[:, z * len(V):(z + 1) * len(V)].T
    return out


def multi_head__right_fill_softmax(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """Torch's softmax with a finite fill of -1e300 in stacked matrices, weights zeroed at pads, heads joined by permute."""
    k = keys.masked_fill(~source_mask[..., None], 0.0)
    q = torch.matmul(W_query[None], query[:, None, :, None])
    K = torch.matmul(k[:, None], W_key.transpose(1, 2)[None])
    e = torch.matmul(K, q)[..., 0] / math.sqrt(W_key.shape[1])
    m = source_mask[:, None]
    w = torch.softmax(e.masked_fill(~m, -1e300), -1).masked_fill(~m, 0.0)
    return torch.matmul(w[:, :, None], torch.matmul(k[:, None], W_value.transpose(1, 2)[None])).reshape(len(query), -1) @ W_out.T


def _self(states, mask, Wq, Wk, Wv, scale=None, soft=None, tri=None, e_fn=None, clean=True):
    x = states.masked_fill(~mask[..., None], 0.0)
    n = x.shape[1]
    seen = torch.ones(n, n, dtype=torch.bool).tril() if tri is None else tri(torch.ones(n, n, dtype=torch.bool))
    # the query of a pad only counts where its result is read; scores by words' queries and, at pads, by what they hold
    q = states @ Wq.T
    e = (q @ (x @ Wk.T).transpose(1, 2)) / (math.sqrt(Wk.shape[0]) if scale is None else scale)
    if e_fn:
        e = e_fn(e)
    w = (soft or _soft)(e, (seen[None] & mask[:, None]).expand_as(e))
    return w @ (x @ Wv.T)


def self_attention__wrong_subtle_low_fill(states, mask, W_query, W_key, W_value):
    """Masks with the score -1e6, which real scores may lie below."""
    return _self(states, mask, W_query, W_key, W_value, soft=lambda e, m: torch.softmax(e.masked_fill(~m, -1e6), -1) * m)


def self_attention__wrong_subtle_nan_gradient(states, mask, W_query, W_key, W_value):
    """Replaces nan by 0 in the result only, so the gradients are nan where a position has nothing to read."""
    return torch.nan_to_num(_self(states, mask, W_query, W_key, W_value, soft=lambda e, m: torch.softmax(e.masked_fill(~m, -math.inf), -1)))


def self_attention__right_loop(states, mask, W_query, W_key, W_value):
    """Loops over positions and selects the real tokens at or before each; new zeros where there are none."""
    out = []
    for x, m in zip(states, mask):
        rows = []
        for i in range(len(x)):
            past = x[: i + 1][m[: i + 1]]
            rows.append(torch.softmax(past @ W_key.T @ (W_query @ x[i]) / math.sqrt(len(W_key)), 0) @ (past @ W_value.T)
                        if len(past) else torch.zeros(len(W_value), dtype=torch.float64))
        out.append(torch.stack(rows))
    return torch.stack(out)


def self_attention__right_einsum(states, mask, W_query, W_key, W_value):
    """Einsum with the product W_query^T W_key, softmax with -inf only where something is seen, mixed before W_value."""
    x = torch.where(mask[:, :, None], states, 0.0)
    e = torch.einsum("bis,bsj->bij", torch.einsum("bis,rs->bir", states, W_query), torch.einsum("rs,bjs->brj", W_key, x)) / W_key.shape[0] ** .5
    i = torch.arange(x.shape[1])
    m = mask[:, None, :] & (i[None, :] <= i[:, None])
    some = m.any(2, keepdim=True)
    w = torch.softmax(torch.where(m, e, torch.where(some, -math.inf, 0.0)), 2) * some
    return torch.einsum("bij,bjs,vs->biv", w, x, W_value)


def self_attention__right_real_keys(states, mask, W_query, W_key, W_value):
    """Takes the keys and values of the real tokens out first, and counts how many of them each position sees."""
    out = []
    for x, m in zip(states, mask):
        y, n = x[m], torch.cumsum(m.long(), 0)
        if len(y) == 0:
            out.append(torch.zeros(len(x), len(W_value), dtype=torch.float64))
            continue
        e = (x @ W_query.T) @ (y @ W_key.T).T / math.sqrt(W_key.shape[0])
        out.append(_soft(e, torch.arange(len(y))[None] < n[:, None]) @ (y @ W_value.T))
    return torch.stack(out)


# ---- 8.8
_H = np.array([[1., 1], [4, 0], [-1, 4], [-3, -2]])


def same_context__wrong_subtle_rounded_context():
    """Rounds the context to (1, 1) before it solves."""
    return [0.0, *np.linalg.solve(np.vstack([_H[1:].T, np.ones(3)]), [1.0, 1.0, 1.0]).tolist()]


def same_context__right_barycentric():
    """Areas of triangles: barycentric coordinates of the context."""
    d = lambda a, b, c: (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
    p, (a, b, c) = (1.1, 1.0), _H[1:]
    t = d(a, b, c)
    return (0, round(float(d(p, b, c) / t), 4), round(float(d(a, p, c) / t), 4), round(float(d(a, b, p) / t), 4))
