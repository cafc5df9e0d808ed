import math

import numpy as np
import torch


def multi_head_shapes__right_measured(heads, m, r, T_x, T_y):
    """Reads the shapes off arrays."""
    W = np.zeros((heads * r, m))
    keys = (np.zeros((T_x, m)) @ W.T).reshape(T_x, heads, r).swapaxes(0, 1)
    a = np.zeros((heads, T_y, T_x))
    return {"W_key": W.shape, "keys": keys.shape, "weights": a.shape, "joined": (a @ keys).swapaxes(0, 1).reshape(T_y, -1).shape}


# ---- by hand

def saturation__right_cosh():
    """By 1 / (4 cosh^2), with the scores themselves in it."""
    s = math.sqrt(16 * 0.25 * 0.81)
    return {"scaled": 0.25 / math.cosh(s / 4) ** 2, "plain": 0.25 / math.cosh(s) ** 2, "spread": s}


# ---- multi_head

def _parts(query, keys, W_query, W_key, W_value):
    return (torch.einsum("zrq,bq->bzr", W_query, query), torch.einsum("zrk,bjk->bzjr", W_key, keys),
            torch.einsum("zuk,bjk->bzju", W_value, keys))


def _soft(e, mask):
    """Softmax over the last axis where mask is true, zeros elsewhere."""
    return torch.softmax(e.masked_fill(~mask, -1e300), -1) * mask


def _heads(query, keys, mask, W_query, W_key, W_value, W_out, size=None, soft=_soft):
    q, k, u = _parts(query, keys, W_query, W_key, W_value)
    e = torch.einsum("bzr,bzjr->bzj", q, k) / math.sqrt(size or W_key.shape[1])
    c = torch.einsum("bzj,bzju->bzu", soft(e, mask[:, None].expand_as(e)), u)
    return c.reshape(len(query), -1) @ W_out.T


def multi_head__wrong_query_detached(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """Detaches the queries: no gradient reaches the decoder state and W_query."""
    return _heads(query.detach(), keys, source_mask, W_query.detach(), W_key, W_value, W_out)


def multi_head__wrong_subtle_max_with_pads(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """Subtracts the maximum of all positions, pads too: below a high pad all real words underflow to 0."""
    def soft(e, m):
        p = torch.exp(e - e.amax(-1, keepdim=True).detach()) * m
        return p / p.sum(-1, keepdim=True).clamp(min=1e-300)
    return _heads(query, keys, source_mask, W_query, W_key, W_value, W_out, soft=soft)


def multi_head__right_loop_heads(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """A loop over sentences and heads, real tokens selected, new zeros for empty rows."""
    rows = []
    for s, h, m in zip(query, keys, source_mask):
        if not bool(m.any()):
            rows.append(torch.zeros(W_out.shape[0], dtype=torch.float64))
            continue
        h = h[m]
        c = [torch.softmax((h @ K.T) @ (Q @ s) / K.shape[0] ** 0.5, 0) @ (h @ V.T) for Q, K, V in zip(W_query, W_key, W_value)]
        rows.append(W_out @ torch.cat(c))
    return torch.stack(rows)


def multi_head__right_sum_of_blocks(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """Mixes annotations before W_value, and adds the heads' blocks of W_out instead of joining contexts."""
    u, out = W_value.shape[1], 0
    for z in range(W_query.shape[0]):
        back = (query @ W_query[z].T) @ W_key[z] / math.sqrt(W_key.shape[1])
        w = _soft((keys @ back[:, :, None])[:, :, 0], source_mask)
        out = out + (w[:, None] @ keys)[:, 0] @ W_value[z].T @ W_out[:, z * u:(z + 1) * u].T
    return out


def multi_head__right_stacked_matrix(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """One big matrix for all heads, split by view and transpose; matrix products of four axes."""
    b, t, _ = keys.shape
    z, r, _ = W_query.shape
    q = (query @ W_query.flatten(0, 1).T).view(b, z, 1, r)
    k = (keys @ W_key.flatten(0, 1).T).view(b, t, z, r).transpose(1, 2)
    u = (keys @ W_value.flatten(0, 1).T).view(b, t, z, -1).transpose(1, 2)
    w = torch.softmax((q @ k.mT / r ** 0.5).masked_fill(~source_mask[:, None, None], -math.inf), -1).nan_to_num()
    return (w @ u).transpose(1, 2).reshape(b, -1).matmul(W_out.T)


def multi_head__right_library(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """torch's scaled_dot_product_attention on the sentences that have a real token, put into zeros."""
    full = source_mask.any(1)
    out = torch.zeros(len(query), W_out.shape[0], dtype=torch.float64)
    if not full.any():
        return out + 0 * (query.sum() + W_out.sum())
    q, k, u = _parts(query[full], keys[full] * source_mask[full][..., None], W_query, W_key, W_value)
    c = torch.nn.functional.scaled_dot_product_attention(q[:, :, None], k, u, attn_mask=source_mask[full][:, None, None])
    return out.index_put((full.nonzero()[:, 0],), c.flatten(1) @ W_out.T)


# ---- self_attention

def _self(states, seen, W_query, W_key, W_value, size=None, soft=_soft):
    e = (states @ W_query.T) @ (states @ W_key.T).mT / math.sqrt(size or W_key.shape[0])
    return soft(e, seen) @ (states @ W_value.T)


def _seen(mask, diagonal=0):
    n = mask.shape[1]
    return mask[:, None, :] & torch.ones(n, n, dtype=torch.bool).tril(diagonal)


def self_attention__wrong_subtle_pads_zeroed(states, mask, W_query, W_key, W_value):
    """Zeroes the pads' states first, and with them a pad's own query, so a pad reads all words before it alike."""
    return _self(states * mask[:, :, None], _seen(mask), W_query, W_key, W_value)


def self_attention__wrong_subtle_window(states, mask, W_query, W_key, W_value):
    """Reads only the last 64 positions, so a long sequence forgets its beginning."""
    n = mask.shape[1]
    return _self(states, _seen(mask) & torch.ones(n, n, dtype=torch.bool).triu(-63), W_query, W_key, W_value)


def self_attention__wrong_subtle_max_of_later(states, mask, W_query, W_key, W_value):
    """Subtracts the largest score of all real positions, later ones too: below a high later one everything underflows."""
    def soft(e, m):
        top = e.masked_fill(~mask[:, None], -1e300).amax(-1, keepdim=True).detach()
        p = torch.exp(torch.minimum(e - top, torch.zeros_like(e))) * m
        return p / p.sum(-1, keepdim=True).clamp(min=1e-300)
    return _self(states, _seen(mask), W_query, W_key, W_value, soft=soft)


def self_attention__right_prefix_loop(states, mask, W_query, W_key, W_value):
    """A loop over sentences and positions, with the real ones of each prefix selected."""
    out = []
    for x, m in zip(states, mask):
        for i in range(len(x)):
            h = x[:i + 1][m[:i + 1]]
            if len(h):
                e = (h @ W_key.T) @ (W_query @ x[i]) / W_key.shape[0] ** 0.5
                out.append(torch.softmax(e, 0) @ h @ W_value.T)
            else:
                out.append(torch.zeros(W_value.shape[0], dtype=torch.float64))
    return torch.stack(out).reshape(*mask.shape, -1)


def self_attention__right_bilinear(states, mask, W_query, W_key, W_value):
    """One matrix W_query^T W_key for the score, and the exponentials summed by hand."""
    seen = _seen(mask)
    e = torch.einsum("bip,pq,bjq->bij", states, W_query.T @ W_key, states) / math.sqrt(len(W_query))
    e = torch.where(seen, e, torch.full_like(e, -1e250))
    p = torch.exp(e - e.amax(2, keepdim=True)) * seen
    w = p / (p.sum(2, keepdim=True) + ~seen.any(2, keepdim=True))
    return torch.einsum("bij,bjq,uq->biu", w, states, W_value)


def self_attention__right_real_keys_only(states, mask, W_query, W_key, W_value):
    """Throws the pads out of keys and values, sentence by sentence, and keeps their positions for the comparison j <= i."""
    rows, n = [], mask.shape[1]
    for x, m in zip(states, mask):
        j = m.nonzero()[:, 0]
        if len(j) == 0:
            rows.append(torch.zeros(n, W_value.shape[0], dtype=torch.float64))
            continue
        seen = j[None] <= torch.arange(n)[:, None]
        e = (x @ W_query.T) @ (x[j] @ W_key.T).T / math.sqrt(W_query.shape[0])
        rows.append(_soft(e, seen) @ (x[j] @ W_value.T))
    return torch.stack(rows)


def self_attention__right_nan_to_num(states, mask, W_query, W_key, W_value):
    """masked_fill with -inf and nan_to_num; masked_fill stops nan on the way back."""
    return _self(states, _seen(mask), W_query, W_key, W_value,
                 soft=lambda e, m: e.masked_fill(~m, -math.inf).softmax(-1).nan_to_num())


def same_context__right_tuple():
    """By torch's solver, a tuple with a whole 0."""
    A = torch.tensor([[4, -1, -3], [0, 4, -2], [1, 1, 1]], dtype=torch.float64)
    return (0, *torch.linalg.solve(A, torch.tensor([1.1, 1.0, 1.0], dtype=torch.float64)).tolist())
