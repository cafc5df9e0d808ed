import math
import numpy as np
import torch


def _soft(e, mask):
    e = np.where(mask, e, -1e9)
    w = np.exp(e - e.max(1, keepdims=True)) * mask
    t = w.sum(1, keepdims=True)
    return w / np.where(t == 0, 1, t)


_store = {}


def _tscore(query, keys, W_query, W_key, v):
    return torch.tanh((query @ W_query.T)[:, None] + keys @ W_key.T) @ v


def _tstate(w, query, embedded, keys, W_y, W_s, W_c):
    return torch.tanh(embedded @ W_y.T + query @ W_s.T + torch.einsum("bj,bjk->bk", w, keys) @ W_c.T)


def _luong(fed, embedded, query, keys, mask, W_y, W_s, W_fed, W, W_mix, soft=_soft, old=False, swap=False, mult=lambda s, W: s @ W):
    s = np.tanh(embedded @ W_y.T + query @ W_s.T + fed @ W_fed.T)
    a = soft(np.einsum("bk,bjk->bj", mult(query if old else s, W), keys), mask)
    c = np.einsum("bj,bjk->bk", a, keys)
    return np.tanh(np.concatenate([s, c] if swap else [c, s], 1) @ W_mix.T)


def fusion_shapes__wrong_L_transposed(d, m, n, r):
    """Writes L_1 as (input, output)."""
    return {"joined": (d + 2 * m,), "L_1": (d + 2 * m, r), "W_input": (n, r), "W_context": (n, 2 * m)}


def fusion_shapes__right_concatenated(d, m, n, r):
    """Joins real vectors and reads shapes off matrices."""
    j = np.concatenate([np.zeros(d), np.zeros(m), np.zeros(m)])
    return {"joined": j.shape, "L_1": np.zeros((r, len(j))).shape, "W_input": (n, r), "W_context": (n, m + m)}


def fused_input__right_half_abs(embedded, context, L_1):
    """Splits L_1 and writes the ReLU as (x + |x|) / 2."""
    d = embedded.shape[1]
    x = np.einsum("rd,bd->br", L_1[:, :d], embedded) + np.einsum("rk,bk->br", L_1[:, d:], context)
    return (x + abs(x)) / 2


# ---- decoder_step


def decoder_step__wrong_batch_softmax(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """Takes the softmax over the sentences instead of the positions."""
    e = _tscore(query, keys, W_query, W_key, v).masked_fill(~source_mask, -1e9)
    return _tstate(torch.softmax(e, 0) * source_mask, query, embedded, keys, W_y, W_s, W_c)


def decoder_step__right_real_only(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """Selects each sentence's real annotations and uses new zeros where there are none."""
    out = []
    for b in range(len(query)):
        h = keys[b][source_mask[b]]
        c = keys.new_zeros(keys.shape[2])
        if len(h):
            c = torch.softmax(torch.tanh(W_query @ query[b] + h @ W_key.T) @ v, 0) @ h
        out.append(torch.tanh(W_y @ embedded[b] + W_s @ query[b] + W_c @ c))
    return torch.stack(out)


def decoder_step__right_clean_keys(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """Clears the pads' annotations first, shifts by a detached maximum, and divides at the end."""
    m = source_mask[..., None].double()
    h = torch.where(source_mask[..., None], keys, torch.zeros((), dtype=torch.float64))
    e = torch.einsum("bja,a->bj", torch.tanh(torch.einsum("aq,bq->ba", W_query, query).unsqueeze(1) + torch.einsum("ak,bjk->bja", W_key, h)), v)
    low = torch.where(source_mask, e, torch.full_like(e, -1e7)).detach().amax(1, keepdim=True)
    x = torch.exp(torch.where(source_mask, e - low, torch.zeros_like(e))).unsqueeze(-1) * m
    c = (x * h).sum(1) / x.sum(1).clamp_min(0.5)
    return torch.tanh(torch.cat([embedded, query, c], 1) @ torch.cat([W_y, W_s, W_c], 1).T)


def decoder_step__right_nan_replaced(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """Fills pads with minus infinity and replaces the nan of empty sentences by 0; masked_fill stops the nan on the way back."""
    w = torch.softmax(_tscore(query, keys, W_query, W_key, v).masked_fill(~source_mask, -math.inf), 1)
    w = torch.where(torch.isnan(w), torch.zeros_like(w), w)
    return _tstate(w, query, embedded, keys, W_y, W_s, W_c)


def gated_step__wrong_subtle_old_state_clipped(embedded, query, context, W_y, W_s, W_c, W_y_update, W_s_update, W_c_update, W_y_reset, W_s_reset, W_c_reset):
    """Clips the old state to -1 .. 1, though legal states lie beyond."""
    return gated_step__right_tanh_gates(embedded, np.clip(query, -1, 1), context, W_y, W_s, W_c, W_y_update, W_s_update, W_c_update, W_y_reset, W_s_reset, W_c_reset)


def gated_step__right_tanh_gates(embedded, query, context, W_y, W_s, W_c, W_y_update, W_s_update, W_c_update, W_y_reset, W_s_reset, W_c_reset):
    """Writes the sigmoid as (1 + tanh(x / 2)) / 2 and moves the old state towards the candidate."""
    x = np.concatenate([embedded, query, context], 1)
    u, r = (0.5 + 0.5 * np.tanh(0.5 * (x @ np.hstack(W).T)) for W in ([W_y_update, W_s_update, W_c_update], [W_y_reset, W_s_reset, W_c_reset]))
    return query + u * (np.tanh(embedded @ W_y.T + (r * query) @ W_s.T + context @ W_c.T) - query)


def luong_step__wrong_subtle_minus_1e5(fed, embedded, query, keys, source_mask, W_y, W_s, W_fed, W, W_mix):
    """Puts -100000 at pads, though scores of real tokens may lie below that."""
    def soft(e, m):
        e = np.where(m, e, -1e5)
        w = np.exp(e - e.max(1, keepdims=True))
        return w / w.sum(1, keepdims=True) * m
    return _luong(fed, embedded, query, keys, source_mask, W_y, W_s, W_fed, W, W_mix, soft=soft)


def luong_step__wrong_subtle_kept_keys(fed, embedded, query, keys, source_mask, W_y, W_s, W_fed, W, W_mix):
    """Keeps the annotations of an earlier call with the same shapes, because they stay the same within a sentence."""
    return _luong(fed, embedded, query, _store.setdefault(keys.shape + W.shape, keys.copy()), source_mask, W_y, W_s, W_fed, W, W_mix)


def luong_step__right_sentences(fed, embedded, query, keys, source_mask, W_y, W_s, W_fed, W, W_mix):
    """Goes through sentences and real tokens one by one, and gives a list of arrays."""
    out = []
    for f, y, q, h, m in zip(fed, embedded, query, keys, source_mask):
        s, c, real = np.tanh(W_y @ y + W_s @ q + W_fed @ f), np.zeros(keys.shape[2]), h[m]
        if m.any():
            e = np.array([s @ (W @ k) for k in real])
            x = np.exp(e - e.max())
            c = (x / x.sum()) @ real
        out.append(np.tanh(W_mix @ np.concatenate([c, s])))
    return out
