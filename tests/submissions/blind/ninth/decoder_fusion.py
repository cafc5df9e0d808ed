import math
import numpy as np
import torch


def note_c_parameters__wrong_transposed(d, m, n):
    """Has rows and columns exchanged: (input, output) instead of (output, input)."""
    return {"W_y": (d, n), "W_s": (n, n), "W_c": (m, n)}


def note_c_parameters__wrong_bidirectional(d, m, n):
    """Doubles the annotation, though this encoder reads in one direction and m is the whole annotation."""
    return {"W_y": (n, d), "W_s": (n, n), "W_c": (n, 2 * m)}






def fusion_shapes__right_lists(d, m, n, r):
    """Lists of numpy integers."""
    j = np.int64(d + 2 * m)
    return {"W_context": [n, j - d], "W_input": [n, r], "L_1": [r, j], "joined": [j]}


def note_d_shapes__wrong_flat_bias(V_out, m, n):
    """Writes b_D with one axis instead of as a matrix of one column."""
    return {"W_D": (n, n), "U_D": (n, V_out), "W_a": (n, m), "b_D": (n,)}


def note_d_shapes__wrong_U_embedding(V_out, m, n):
    """Gives U_D the columns of an annotation instead of one for each word."""
    return {"W_D": (n, n), "U_D": (n, m), "W_a": (n, m), "b_D": (n, 1)}


def training_shapes__wrong_not_projected(batch, d, m, n, T_y):
    """Leaves projected_words at the embedding size, before W_y."""
    return {"projected_words": (batch, T_y, d), "joined": (batch, d + m), "states": (batch, T_y, n)}


def training_shapes__wrong_time_first(batch, d, m, n, T_y):
    """Stacks the states with the steps as the first axis."""
    return {"projected_words": (batch, T_y, n), "joined": (batch, d + m), "states": (T_y, batch, n)}






def paper_shapes__right_matrix(m, n, a, pairs, V_y):
    """Shapes read off arrays."""
    z, c = np.zeros, n + n
    q = dict(W_r=z((n, m)), C_r=z((n, c)), U_a=z((a, c)), C_o=z((pairs + pairs, c)), W_o=z((V_y, pairs)))
    return {k: x.shape for k, x in q.items()}


def stacked_gates__wrong_three_on_state(batch, d, m, n):
    """Stacks the candidate's matrix on the old state too, though it multiplies the reset state."""
    return {"W_input": (3 * n, d + m), "W_gates": (3 * n, n), "from_input": (batch, 3 * n), "update": (batch, n)}


def stacked_gates__wrong_scalar_gate(batch, d, m, n):
    """Makes the update gate one number a sentence instead of one for each entry of the state."""
    return {"W_input": (3 * n, d + m), "W_gates": (2 * n, n), "from_input": (batch, 3 * n), "update": (batch, 1)}




def note_c_state__right_formula():
    """Weights by a sigmoid of the score difference."""
    w = 1 / (1 + math.exp(2 * math.tanh(1.3) - 2 * math.tanh(0.7)))
    c = 0.8 - 0.6 * w
    return (math.tanh(1.1 + c), math.tanh(0.9 + c))


def _byhand(tanh=np.tanh, parts=False, wc=True):
    s, y = np.array([0.5, -0.4, 0.2]), np.array([0.6, -0.3])
    h = np.array([[0.3, -0.2, 0.5, 0.1], [-0.6, 0.4, 0.1, 0.8], [0.9, 0.7, -0.4, 0.2]])
    q, k = np.array([[1, 0, 2], [0, -1, 1.0]]) @ s, h @ np.array([[1, 0, 0, -1], [0, 2, 1, 0.0]]).T
    e = tanh(q + k) @ [1.5, -1]
    w = np.exp(e) / np.exp(e).sum()
    c = w @ h
    z = np.array([[1, 0], [0, 2], [1, -1.0]]) @ y + np.array([[0, 1, 0], [1, 0, 0], [0, -1, 1.0]]) @ s
    z = z + wc * (np.array([[1, 0, 0, 1], [0, -1, 0, 2], [0, 1, 1, 0.0]]) @ c)
    return {"scores": list(e), "weights": list(w), "context": list(c), "state": list(np.tanh(z))}




def step_by_hand__wrong_without_context():
    """Leaves the context out of the new state."""
    return _byhand(wc=False)




def note_d_state_twin__right_sums():
    """The sums by hand."""
    return [math.tanh(-0.5 + 0.6 + 0.2 + 0.15), math.tanh(0.15 - 0.7 - 0.4 - 0.2)]


# ---- decoder_step_state











def decoder_step_state__right_stack(embedded, query, context, W_y, W_s, W_c):
    """One product with all joined, transposed result."""
    x = np.hstack([W_y, W_s, W_c]) @ np.hstack([embedded, query, context]).T
    return np.tanh(x).T


def decoder_step_state__right_loop(embedded, query, context, W_y, W_s, W_c):
    """math.tanh entry by entry, in lists."""
    return [[math.tanh(W_y[i] @ e + W_s[i] @ q + W_c[i] @ c) for i in range(len(W_s))] for e, q, c in zip(embedded, query, context)]


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
