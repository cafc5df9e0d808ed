import numpy as np
import torch


def fusion_shapes__right_lists(d, m, n, r):
    """Lists of numpy integers."""
    j = np.int64(d + 2 * m)
    return {"W_context": [n, j - d], "W_input": [n, r], "L_1": [r, j], "joined": [j]}


# ---- fused_input


def fused_input__wrong_tanh(embedded, context, L_1):
    """Takes the tanh instead of the ReLU."""
    return np.tanh(np.hstack([embedded, context]) @ L_1.T)


def fused_input__wrong_subtle_cap(embedded, context, L_1):
    """Caps the ReLU at one million, which legal inputs pass on long axes."""
    return np.clip(np.hstack([embedded, context]) @ L_1.T, 0, 1e6)


def fused_input__right_split(embedded, context, L_1):
    """Two products, ReLU as (x + |x|) / 2."""
    d = embedded.shape[1]
    x = np.einsum("id,bd->bi", L_1[:, :d], embedded) + np.einsum("ik,bk->bi", L_1[:, d:], context)
    return (x + np.abs(x)) / 2


def fused_input__right_torch(embedded, context, L_1):
    """torch, returned as a list."""
    x = torch.cat([torch.tensor(embedded), torch.tensor(context)], 1)
    return torch.relu(x @ torch.tensor(L_1).T).tolist()


# ---- decoder_step

def _scores(query, keys, W_query, W_key, v):
    return torch.tanh((query @ W_query.T)[:, None] + keys @ W_key.T) @ v


def _new(w, query, embedded, keys, W_y, W_s, W_c):
    c = (w[:, None] @ keys)[:, 0]
    return torch.tanh(embedded @ W_y.T + query @ W_s.T + c @ W_c.T)


def decoder_step__wrong_subtle_fill(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """Fills pads with -100000, which real scores of down to -500000 lie below."""
    s = _scores(query, keys, W_query, W_key, v).masked_fill(~source_mask, -1e5)
    w = torch.softmax(s, 1) * source_mask.any(1, keepdim=True)
    return _new(w, query, embedded, keys, W_y, W_s, W_c)


def decoder_step__wrong_subtle_max_pads(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """Takes the maximum over pads too: with a far better pad all real weights become 0."""
    s = _scores(query, keys, W_query, W_key, v)
    e = (s - s.detach().amax(1, keepdim=True)).exp() * source_mask
    return _new(e / e.sum(1, keepdim=True).clamp(min=1e-300), query, embedded, keys, W_y, W_s, W_c)


def decoder_step__right_selection(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """Loop over sentences with real tokens only."""
    rows = []
    for b in range(len(query)):
        h = keys[b][source_mask[b]]
        z = W_y @ embedded[b] + W_s @ query[b]
        if len(h):
            a = torch.softmax(torch.tanh(h @ W_key.T + W_query @ query[b]) @ v, 0)
            z = z + W_c @ (a @ h)
        rows.append(z.tanh())
    return torch.stack(rows)


def decoder_step__right_einsum(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """einsum, the lowest float at pads, keys of pads replaced by 0."""
    h = keys.masked_fill(~source_mask[..., None], 0.0)
    t = torch.tanh(torch.einsum("bq,aq->ba", query, W_query).unsqueeze(1) + torch.einsum("btk,ak->bta", h, W_key))
    s = torch.einsum("bta,a->bt", t, v).masked_fill(~source_mask, torch.finfo(torch.float64).min)
    c = torch.einsum("bt,btk->bk", s.softmax(1), h)
    return torch.tanh(torch.cat([embedded, query, c], 1) @ torch.cat([W_y, W_s, W_c], 1).T)


# ---- gated_step

def _sig(x):
    return 1 / (1 + np.exp(-x))


_CACHE = {}


def gated_step__wrong_subtle_cached(embedded, query, context, W_y, W_s, W_c, W_y_update, W_s_update, W_c_update, W_y_reset, W_s_reset, W_c_reset):
    """Keeps the stacked gate matrices by their shape from call to call, and so uses old parameters."""
    k = (W_y.shape, W_c.shape)
    if k not in _CACHE:
        _CACHE[k] = (np.hstack([W_y_update, W_s_update, W_c_update]), np.hstack([W_y_reset, W_s_reset, W_c_reset]))
    u, r = (_sig(np.hstack([embedded, query, context]) @ M.T) for M in _CACHE[k])
    return (1 - u) * query + u * np.tanh(embedded @ W_y.T + (r * query) @ W_s.T + context @ W_c.T)


def gated_step__right_stacked(embedded, query, context, W_y, W_s, W_c, W_y_update, W_s_update, W_c_update, W_y_reset, W_s_reset, W_c_reset):
    """Gates from one stacked product; sigmoid by tanh."""
    M = np.vstack([np.hstack([W_y_update, W_s_update, W_c_update]), np.hstack([W_y_reset, W_s_reset, W_c_reset])])
    u, r = np.split(0.5 + 0.5 * np.tanh(np.hstack([embedded, query, context]) @ M.T / 2), 2, axis=1)
    return query + u * (np.tanh(np.hstack([embedded, r * query, context]) @ np.hstack([W_y, W_s, W_c]).T) - query)


def gated_step__right_torch_rows(embedded, query, context, W_y, W_s, W_c, W_y_update, W_s_update, W_c_update, W_y_reset, W_s_reset, W_c_reset):
    """torch, sentence by sentence; returns a torch tensor in double precision."""
    t = [torch.tensor(x) for x in (W_y, W_s, W_c, W_y_update, W_s_update, W_c_update, W_y_reset, W_s_reset, W_c_reset)]
    rows = []
    for e, s, c in zip(*(torch.tensor(x) for x in (embedded, query, context))):
        u, r = torch.sigmoid(t[3] @ e + t[4] @ s + t[5] @ c), torch.sigmoid(t[6] @ e + t[7] @ s + t[8] @ c)
        rows.append((1 - u) * s + u * torch.tanh(t[0] @ e + t[1] @ (r * s) + t[2] @ c))
    return torch.stack(rows)


# ---- luong_step

def _ctx(s, keys, mask):
    s = np.where(mask, s, -np.inf)
    top = s.max(1, keepdims=True)
    e = np.where(mask, np.exp(s - np.where(np.isfinite(top), top, 0)), 0.0)
    t = e.sum(1, keepdims=True)
    return np.einsum("bt,btk->bk", e / np.where(t > 0, t, 1), keys)


def _st(fed, embedded, query, W_y, W_s, W_fed):
    return np.tanh(embedded @ W_y.T + query @ W_s.T + fed @ W_fed.T)


def luong_step__wrong_zero_fill(fed, embedded, query, keys, source_mask, W_y, W_s, W_fed, W, W_mix):
    """Gives pads the score 0 instead of the weight 0."""
    s = _st(fed, embedded, query, W_y, W_s, W_fed)
    e = np.einsum("bq,qk,btk->bt", s, W, keys) * source_mask
    return np.tanh(np.hstack([_ctx(e, keys * source_mask[..., None], np.ones_like(source_mask)), s]) @ W_mix.T)


def luong_step__right_loop(fed, embedded, query, keys, source_mask, W_y, W_s, W_fed, W, W_mix):
    """Sentence by sentence, real tokens only, rows as lists."""
    out = []
    for b in range(len(fed)):
        s = np.tanh(W_y @ embedded[b] + W_s @ query[b] + W_fed @ fed[b])
        h = keys[b, np.flatnonzero(source_mask[b])]
        c = np.zeros(keys.shape[2])
        if len(h):
            e = np.array([s @ (W @ x) for x in h])
            a = np.exp(e - e.max())
            c = a @ h / a.sum()
        out.append(list(np.tanh(W_mix @ np.concatenate([c, s]))))
    return out


def luong_step__right_split_mix(fed, embedded, query, keys, source_mask, W_y, W_s, W_fed, W, W_mix):
    """Torch softmax, W_mix split in two."""
    s = np.tanh(np.hstack([embedded, query, fed]) @ np.hstack([W_y, W_s, W_fed]).T)
    h = np.where(source_mask[:, :, None], keys, 0.0)
    e = (h @ (s @ W)[:, :, None])[:, :, 0]
    w = torch.softmax(torch.tensor(np.where(source_mask, e, -1e300)), 1).numpy() * source_mask
    k = keys.shape[2]
    return np.tanh((w[:, None] @ h)[:, 0] @ W_mix[:, :k].T + s @ W_mix[:, k:].T)
