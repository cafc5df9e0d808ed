import math
import numpy as np
import torch


def note_c_parameters__wrong_transposed(d, m, n):
    """Has rows and columns exchanged: (input, output) instead of (output, input)."""
    return {"W_y": (d, n), "W_s": (n, n), "W_c": (m, n)}


def note_c_parameters__wrong_bidirectional(d, m, n):
    """Doubles the annotation, though this encoder reads in one direction and m is the whole annotation."""
    return {"W_y": (n, d), "W_s": (n, n), "W_c": (n, 2 * m)}


def fusion_shapes__wrong_single_annotation(d, m, n, r):
    """Forgets in all shapes that an annotation joins two directions."""
    return {"joined": (d + m,), "L_1": (r, d + m), "W_input": (n, r), "W_context": (n, m)}


def fusion_shapes__wrong_W_context(d, m, n, r):
    """Lets note C's matrix start from the r numbers of k instead of the context."""
    return {"joined": (d + 2 * m,), "L_1": (r, d + 2 * m), "W_input": (n, r), "W_context": (n, r)}


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


def paper_shapes__wrong_C_o_maxima(m, n, a, pairs, V_y):
    """Gives C_o one row for each maximum instead of two for each pair."""
    return {"W_r": (n, m), "C_r": (n, 2 * n), "U_a": (a, 2 * n), "C_o": (pairs, 2 * n), "W_o": (V_y, pairs)}


def paper_shapes__wrong_annotation_n(m, n, a, pairs, V_y):
    """Takes an annotation to have n numbers instead of 2n."""
    return {"W_r": (n, m), "C_r": (n, n), "U_a": (a, n), "C_o": (2 * pairs, n), "W_o": (V_y, pairs)}


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


def note_c_state__wrong_without_state():
    """Leaves W_s s out of the recurrence."""
    e = np.exp([2 * math.tanh(0.7), 2 * math.tanh(1.3)])
    c = e @ [0.2, 0.8] / e.sum()
    return [math.tanh(0.6 + c), math.tanh(0.4 + c)]


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


def step_by_hand__wrong_no_tanh():
    """Leaves the tanh out of the scores."""
    return _byhand(tanh=lambda x: x)


def step_by_hand__wrong_without_context():
    """Leaves the context out of the new state."""
    return _byhand(wc=False)


def note_d_state_twin__wrong_second_column():
    """Takes the second column of U_D instead of the third (one-hot of the third word)."""
    return [math.tanh(-0.5 - 0.1 + 0.2 + 0.15), math.tanh(0.15 + 0.4 - 0.4 - 0.2)]


def note_d_state_twin__right_sums():
    """The sums by hand."""
    return [math.tanh(-0.5 + 0.6 + 0.2 + 0.15), math.tanh(0.15 - 0.7 - 0.4 - 0.2)]


# ---- decoder_step_state

def decoder_step_state__wrong_W_s_transposed(embedded, query, context, W_y, W_s, W_c):
    """Multiplies the old state by the transpose of W_s (query @ W_s), which fits because it is square."""
    return np.tanh(embedded @ W_y.T + query @ W_s + context @ W_c.T)


def decoder_step_state__wrong_tanh_each(embedded, query, context, W_y, W_s, W_c):
    """Takes the tanh of the three terms one by one."""
    return np.tanh(embedded @ W_y.T) + np.tanh(query @ W_s.T) + np.tanh(context @ W_c.T)


def decoder_step_state__wrong_subtle_exp(embedded, query, context, W_y, W_s, W_c):
    """Writes tanh with exponentials that overflow to NaN beyond 710."""
    x = embedded @ W_y.T + query @ W_s.T + context @ W_c.T
    return (np.exp(x) - np.exp(-x)) / (np.exp(x) + np.exp(-x))


def decoder_step_state__wrong_subtle_clip(embedded, query, context, W_y, W_s, W_c):
    """Clips the sum to 8 in size before the tanh, where it is still 2e-7 away from 1."""
    return np.tanh(np.clip(embedded @ W_y.T + query @ W_s.T + context @ W_c.T, -8, 8))


def decoder_step_state__wrong_subtle_square_W_y(embedded, query, context, W_y, W_s, W_c):
    """Transposes W_y and W_c only where the shapes demand it: wrong where an input is as long as the state."""
    f = lambda x, W: x @ W if x.shape[1] == W.shape[0] else x @ W.T
    return np.tanh(f(embedded, W_y) + query @ W_s.T + f(context, W_c))


def decoder_step_state__right_stack(embedded, query, context, W_y, W_s, W_c):
    """One product with all joined, transposed result."""
    x = np.hstack([W_y, W_s, W_c]) @ np.hstack([embedded, query, context]).T
    return np.tanh(x).T


def decoder_step_state__right_loop(embedded, query, context, W_y, W_s, W_c):
    """math.tanh entry by entry, in lists."""
    return [[math.tanh(W_y[i] @ e + W_s[i] @ q + W_c[i] @ c) for i in range(len(W_s))] for e, q, c in zip(embedded, query, context)]


# ---- fused_input

def fused_input__wrong_order(embedded, context, L_1):
    """Joins the context before the embedding."""
    return np.maximum(np.hstack([context, embedded]) @ L_1.T, 0)


def fused_input__wrong_relu_inside(embedded, context, L_1):
    """Applies the ReLU to the joined vector and not to the product."""
    return np.maximum(np.hstack([embedded, context]), 0) @ L_1.T


def fused_input__wrong_tanh(embedded, context, L_1):
    """Takes the tanh instead of the ReLU."""
    return np.tanh(np.hstack([embedded, context]) @ L_1.T)


def fused_input__wrong_subtle_halves(embedded, context, L_1):
    """Applies the ReLU to the word's and to the context's share separately: right only while their signs agree."""
    d = embedded.shape[1]
    return np.maximum(embedded @ L_1[:, :d].T, 0) + np.maximum(context @ L_1[:, d:].T, 0)


def fused_input__wrong_subtle_cap(embedded, context, L_1):
    """Caps the ReLU at one million, which legal inputs pass on long axes."""
    return np.clip(np.hstack([embedded, context]) @ L_1.T, 0, 1e6)


def fused_input__wrong_subtle_square(embedded, context, L_1):
    """Uses L_1 untransposed where it happens to be square."""
    x = np.hstack([embedded, context])
    return np.maximum(x @ L_1 if L_1.shape[0] == L_1.shape[1] else x @ L_1.T, 0)


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


def _w(s, mask):
    live = mask.any(1, keepdim=True)
    s = s.masked_fill(~mask, -math.inf).masked_fill(~live, 0.0)
    return torch.softmax(s, 1) * (mask & live)


def _new(w, query, embedded, keys, W_y, W_s, W_c):
    c = (w[:, None] @ keys)[:, 0]
    return torch.tanh(embedded @ W_y.T + query @ W_s.T + c @ W_c.T)


def decoder_step__wrong_no_mask(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """Ignores the mask."""
    return _new(torch.softmax(_scores(query, keys, W_query, W_key, v), 1), query, embedded, keys, W_y, W_s, W_c)


def decoder_step__wrong_mask_after(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """Masks after the softmax, so that the real weights do not add to 1."""
    w = torch.softmax(_scores(query, keys, W_query, W_key, v), 1) * source_mask
    return _new(w, query, embedded, keys, W_y, W_s, W_c)


def decoder_step__wrong_nan_empty(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """Leaves the NaN of a softmax over nothing in an empty sentence."""
    w = torch.softmax(_scores(query, keys, W_query, W_key, v).masked_fill(~source_mask, -math.inf), 1)
    return _new(w, query, embedded, keys, W_y, W_s, W_c)


def decoder_step__wrong_early_return_zero(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """Returns a state of zeros for an empty sentence, where only the context is zero."""
    w = _w(_scores(query, keys, W_query, W_key, v), source_mask)
    return _new(w, query, embedded, keys, W_y, W_s, W_c) * source_mask.any(1, keepdim=True)


def decoder_step__wrong_subtle_query_detached(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """Scores a detached state: the share of the gradient of query that goes through the scores is lost."""
    w = _w(_scores(query.detach(), keys, W_query, W_key, v), source_mask)
    return _new(w, query, embedded, keys, W_y, W_s, W_c)


def decoder_step__wrong_subtle_keys_detached(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """Scores detached annotations, so that W_key learns, but keys get only the gradient of the weighted sum."""
    w = _w(_scores(query, keys.detach(), W_query, W_key, v), source_mask)
    return _new(w, query, embedded, keys, W_y, W_s, W_c)


def decoder_step__wrong_subtle_equal_sizes(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """Leaves out the axis for positions whenever torch can broadcast without it (one sentence, or as many as positions)."""
    q, k = query @ W_query.T, keys @ W_key.T
    x = q + k if q.shape[0] in (1, k.shape[1]) else q[:, None] + k
    return _new(_w(torch.tanh(x) @ v, source_mask), query, embedded, keys, W_y, W_s, W_c)


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


def _gate(e, q, c, a, b, d):
    return _sig(e @ a.T + q @ b.T + c @ d.T)


def gated_step__wrong_shares_swapped(embedded, query, context, W_y, W_s, W_c, W_y_update, W_s_update, W_c_update, W_y_reset, W_s_reset, W_c_reset):
    """Exchanges u and 1 - u in the last line."""
    u = _gate(embedded, query, context, W_y_update, W_s_update, W_c_update)
    r = _gate(embedded, query, context, W_y_reset, W_s_reset, W_c_reset)
    return u * query + (1 - u) * np.tanh(embedded @ W_y.T + (r * query) @ W_s.T + context @ W_c.T)


def gated_step__wrong_reset_after(embedded, query, context, W_y, W_s, W_c, W_y_update, W_s_update, W_c_update, W_y_reset, W_s_reset, W_c_reset):
    """Applies the reset gate after the product with W_s instead of to the old state."""
    u = _gate(embedded, query, context, W_y_update, W_s_update, W_c_update)
    r = _gate(embedded, query, context, W_y_reset, W_s_reset, W_c_reset)
    return (1 - u) * query + u * np.tanh(embedded @ W_y.T + r * (query @ W_s.T) + context @ W_c.T)


def gated_step__wrong_gates_swapped(embedded, query, context, W_y, W_s, W_c, W_y_update, W_s_update, W_c_update, W_y_reset, W_s_reset, W_c_reset):
    """Exchanges the parameters of the two gates."""
    r = _gate(embedded, query, context, W_y_update, W_s_update, W_c_update)
    u = _gate(embedded, query, context, W_y_reset, W_s_reset, W_c_reset)
    return (1 - u) * query + u * np.tanh(embedded @ W_y.T + (r * query) @ W_s.T + context @ W_c.T)


def gated_step__wrong_subtle_state_clipped(embedded, query, context, W_y, W_s, W_c, W_y_update, W_s_update, W_c_update, W_y_reset, W_s_reset, W_c_reset):
    """Clips the new state to -1 ... 1, though an old state of up to 20 is legal and kept in part."""
    u = _gate(embedded, query, context, W_y_update, W_s_update, W_c_update)
    r = _gate(embedded, query, context, W_y_reset, W_s_reset, W_c_reset)
    return np.clip((1 - u) * query + u * np.tanh(embedded @ W_y.T + (r * query) @ W_s.T + context @ W_c.T), -1, 1)


def gated_step__wrong_subtle_sigmoid_clip(embedded, query, context, W_y, W_s, W_c, W_y_update, W_s_update, W_c_update, W_y_reset, W_s_reset, W_c_reset):
    """Clips what goes into the gates to 10 in size, so that a closed gate still lets 5e-5 through."""
    g = lambda a, b, c: _sig(np.clip(embedded @ a.T + query @ b.T + context @ c.T, -10, 10))
    u, r = g(W_y_update, W_s_update, W_c_update), g(W_y_reset, W_s_reset, W_c_reset)
    return (1 - u) * query + u * np.tanh(embedded @ W_y.T + (r * query) @ W_s.T + context @ W_c.T)


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


def luong_step__wrong_old_state(fed, embedded, query, keys, source_mask, W_y, W_s, W_fed, W, W_mix):
    """Scores with the old state, as Bahdanau does."""
    s = _st(fed, embedded, query, W_y, W_s, W_fed)
    c = _ctx(np.einsum("bq,qk,btk->bt", query, W, keys), keys, source_mask)
    return np.tanh(np.hstack([c, s]) @ W_mix.T)


def luong_step__wrong_order(fed, embedded, query, keys, source_mask, W_y, W_s, W_fed, W, W_mix):
    """Joins [state; context] instead of [context; state]."""
    s = _st(fed, embedded, query, W_y, W_s, W_fed)
    c = _ctx(np.einsum("bq,qk,btk->bt", s, W, keys), keys, source_mask)
    return np.tanh(np.hstack([s, c]) @ W_mix.T)


def luong_step__wrong_no_feeding(fed, embedded, query, keys, source_mask, W_y, W_s, W_fed, W, W_mix):
    """Forgets the term of what is fed."""
    s = np.tanh(embedded @ W_y.T + query @ W_s.T)
    c = _ctx(np.einsum("bq,qk,btk->bt", s, W, keys), keys, source_mask)
    return np.tanh(np.hstack([c, s]) @ W_mix.T)


def luong_step__wrong_zero_fill(fed, embedded, query, keys, source_mask, W_y, W_s, W_fed, W, W_mix):
    """Gives pads the score 0 instead of the weight 0."""
    s = _st(fed, embedded, query, W_y, W_s, W_fed)
    e = np.einsum("bq,qk,btk->bt", s, W, keys) * source_mask
    return np.tanh(np.hstack([_ctx(e, keys * source_mask[..., None], np.ones_like(source_mask)), s]) @ W_mix.T)


def luong_step__wrong_subtle_square_W(fed, embedded, query, keys, source_mask, W_y, W_s, W_fed, W, W_mix):
    """Transposes W only where the shapes demand it: wrong where state and annotation are equally long."""
    s = _st(fed, embedded, query, W_y, W_s, W_fed)
    p = keys @ W if keys.shape[2] == W.shape[0] else keys @ W.T
    return np.tanh(np.hstack([_ctx(np.einsum("bq,btq->bt", s, p), keys, source_mask), s]) @ W_mix.T)


def luong_step__wrong_subtle_max_pads(fed, embedded, query, keys, source_mask, W_y, W_s, W_fed, W, W_mix):
    """Takes the maximum over pads as well, whose scores may be huge: the real weights underflow."""
    s = _st(fed, embedded, query, W_y, W_s, W_fed)
    e = np.einsum("bq,qk,btk->bt", s, W, keys)
    e = np.exp(e - e.max(1, keepdims=True)) * source_mask
    w = e / np.maximum(e.sum(1, keepdims=True), 1e-300)
    return np.tanh(np.hstack([np.einsum("bt,btk->bk", w, keys), s]) @ W_mix.T)


def luong_step__wrong_subtle_empty_mean(fed, embedded, query, keys, source_mask, W_y, W_s, W_fed, W, W_mix):
    """Fills pads with -1e30, so that an empty sentence reads the mean of its pads."""
    s = _st(fed, embedded, query, W_y, W_s, W_fed)
    e = np.where(source_mask, np.einsum("bq,qk,btk->bt", s, W, keys), -1e30)
    return np.tanh(np.hstack([_ctx(e, keys, np.ones_like(source_mask)), s]) @ W_mix.T)


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
