import math

import numpy as np
import torch


def _np_weights(e, mask):
    """Softmax over real tokens in numpy, zeros in empty rows."""
    e = np.where(mask, e, -np.inf)
    top = e.max(axis=1, keepdims=True)
    p = np.exp(e - np.where(np.isfinite(top), top, 0.0)) * mask
    total = p.sum(axis=1, keepdims=True)
    return p / np.where(total > 0, total, 1.0)


def _t_weights(e, mask):
    """Softmax over real tokens in torch, zeros in empty rows, finite gradients."""
    w = torch.softmax(e.masked_fill(~mask, -1e300), 1)
    return torch.where(mask, w, torch.zeros_like(w))


def _t_scores(query, keys, W_query, W_key, v):
    return torch.tanh((query @ W_query.T)[:, None] + keys @ W_key.T) @ v


def _t_new(query, embedded, c, W_y, W_s, W_c):
    return torch.tanh(embedded @ W_y.T + query @ W_s.T + c @ W_c.T)


def _t_mix(w, keys):
    return (w[:, :, None] * keys).sum(1)


def _sig(x):
    return 0.5 * (1 + np.tanh(0.5 * x))


def fusion_shapes__wrong_layer_transposed(d, m, n, r):
    """Writes L_1 and W_input with the incoming size first."""
    return {"joined": (d + 2 * m,), "L_1": (d + 2 * m, r), "W_input": (r, n), "W_context": (n, 2 * m)}


def fusion_shapes__right_arrays(d, m, n, r):
    """Joins zeros and reads the shapes."""
    j = np.r_[np.zeros(d), np.zeros(m), np.zeros(m)]
    return {"joined": j.shape, "L_1": np.empty((r, j.size)).shape, "W_input": (n, r), "W_context": (n, m + m)}


def fused_input__wrong_no_relu(embedded, context, L_1):
    """Forgets the ReLU."""
    return np.concatenate([embedded, context], 1) @ L_1.T


def fused_input__wrong_subtle_tanh(embedded, context, L_1):
    """Uses max(tanh, 0), which hardly differs for small sums."""
    return np.maximum(np.tanh(np.concatenate([embedded, context], 1) @ L_1.T), 0)


def fused_input__wrong_subtle_capped(embedded, context, L_1):
    """Cuts at 100 000, as a ReLU does not, though legal sums are larger."""
    return np.clip(np.concatenate([embedded, context], 1) @ L_1.T, 0, 1e5)


def fused_input__right_split(embedded, context, L_1):
    """Splits the matrix and adds the two products in torch."""
    d = embedded.shape[1]
    return torch.relu(torch.tensor(embedded @ L_1[:, :d].T + context @ L_1[:, d:].T))


def fused_input__right_where(embedded, context, L_1):
    """Uses einsum and selects positive sums, as nested tuples."""
    x = np.einsum("rk,bk->br", L_1, np.c_[embedded, context])
    return tuple(tuple(row) for row in np.where(x > 0, x, 0.0))


# ---- decoder_step
def decoder_step__wrong_no_mask(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """Forgets the mask."""
    w = torch.softmax(_t_scores(query, keys, W_query, W_key, v), 1)
    return _t_new(query, embedded, _t_mix(w, keys), W_y, W_s, W_c)


def decoder_step__wrong_mask_after(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """Masks after the softmax, so the weights do not add to 1."""
    w = torch.softmax(_t_scores(query, keys, W_query, W_key, v), 1) * source_mask
    return _t_new(query, embedded, _t_mix(w, keys), W_y, W_s, W_c)


def decoder_step__wrong_empty_nan(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """Fills with -inf and lets empty rows become nan."""
    w = torch.softmax(_t_scores(query, keys, W_query, W_key, v).masked_fill(~source_mask, -math.inf), 1)
    return _t_new(query, embedded, _t_mix(w, keys), W_y, W_s, W_c)


def decoder_step__wrong_empty_state_zero(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """Sets the whole new state to zero in a sentence without a real token, not the context alone."""
    w = _t_weights(_t_scores(query, keys, W_query, W_key, v), source_mask)
    return _t_new(query, embedded, _t_mix(w, keys), W_y, W_s, W_c) * source_mask.any(1, keepdim=True)


def decoder_step__wrong_new_state_scored(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """Scores with the state after W_y and W_s, as Luong does, not with the old one."""
    s = torch.tanh(embedded @ W_y.T + query @ W_s.T)
    w = _t_weights(_t_scores(s, keys, W_query, W_key, v), source_mask)
    return _t_new(query, embedded, _t_mix(w, keys), W_y, W_s, W_c)


def decoder_step__wrong_no_tanh_in_score(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """Forgets the tanh of the score."""
    e = ((query @ W_query.T)[:, None] + keys @ W_key.T) @ v
    return _t_new(query, embedded, _t_mix(_t_weights(e, source_mask), keys), W_y, W_s, W_c)


def decoder_step__wrong_detached_context(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """Detaches the context, so no gradient reaches the parameters of the score."""
    w = _t_weights(_t_scores(query, keys, W_query, W_key, v), source_mask)
    return _t_new(query, embedded, _t_mix(w, keys).detach(), W_y, W_s, W_c)


def decoder_step__wrong_overflow(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """Takes exp of raw scores."""
    p = torch.exp(_t_scores(query, keys, W_query, W_key, v)) * source_mask
    w = p / p.sum(1, keepdim=True).clamp(min=1e-300)
    return _t_new(query, embedded, _t_mix(w, keys), W_y, W_s, W_c)


def decoder_step__wrong_subtle_gradient_nan(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """Replaces 0 / 0 by torch.where after the division, so the gradients are nan in empty rows."""
    e = _t_scores(query, keys, W_query, W_key, v)
    top = e.detach().masked_fill(~source_mask & source_mask.any(1, keepdim=True), -1e300).amax(1, keepdim=True)
    p = torch.exp((e - top).clamp(max=0)) * source_mask
    total = p.sum(1, keepdim=True)
    w = torch.where(total > 0, p / total, torch.zeros_like(p))
    return _t_new(query, embedded, _t_mix(w, keys), W_y, W_s, W_c)


def decoder_step__wrong_subtle_query_detached_in_score(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """Detaches the old state in the score, so only the recurrence's part of its gradient arrives."""
    w = _t_weights(_t_scores(query.detach(), keys, W_query, W_key, v), source_mask)
    return _t_new(query, embedded, _t_mix(w, keys), W_y, W_s, W_c)


def decoder_step__wrong_subtle_fill_too_high(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """Fills pads with -10 000, above legal scores of real tokens."""
    w = torch.softmax(_t_scores(query, keys, W_query, W_key, v).masked_fill(~source_mask, -1e4), 1)
    c = _t_mix(w, keys) * source_mask.any(1, keepdim=True)
    return _t_new(query, embedded, c, W_y, W_s, W_c)


def decoder_step__wrong_subtle_shift_with_pads(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """Shifts by the maximum with the pads, so real tokens far below vanish."""
    e = _t_scores(query, keys, W_query, W_key, v)
    p = torch.exp(e - e.detach().amax(1, keepdim=True)) * source_mask
    w = p / p.sum(1, keepdim=True).clamp(min=1e-300)
    return _t_new(query, embedded, _t_mix(w, keys), W_y, W_s, W_c)


def decoder_step__wrong_subtle_epsilon(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """Adds 1e-6 to the sum of the powers."""
    e = _t_scores(query, keys, W_query, W_key, v).masked_fill(~source_mask, -1e300)
    p = torch.exp(e - e.amax(1, keepdim=True)) * source_mask
    return _t_new(query, embedded, _t_mix(p / (p.sum(1, keepdim=True) + 1e-6), keys), W_y, W_s, W_c)


def decoder_step__wrong_subtle_last_keys_pads(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """Cuts the batch to its longest count of real tokens, as if pads stood only at the end."""
    n = max(int(source_mask.sum(1).max()), 1)
    k, m = keys[:, :n], source_mask[:, :n]
    w = _t_weights(_t_scores(query, k, W_query, W_key, v), m)
    return _t_new(query, embedded, _t_mix(w, k), W_y, W_s, W_c)


def decoder_step__wrong_subtle_no_grad_for_single(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """Skips the softmax for one real token by copying that annotation's data, which loses the gradient by keys."""
    c = []
    for b, w in enumerate(_t_weights(_t_scores(query, keys, W_query, W_key, v), source_mask)):
        one = source_mask[b].sum() == 1
        c.append(keys[b].detach()[source_mask[b]][0] if one else w @ keys[b])
    return _t_new(query, embedded, torch.stack(c), W_y, W_s, W_c)


def decoder_step__right_loops(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """Loops over sentences with only the real tokens; empty ones leave the context term out."""
    out = []
    for q, y, h, real in zip(query, embedded, keys, source_mask):
        x = W_y @ y + W_s @ q
        h = h[real]
        if len(h):
            x = x + W_c @ (torch.softmax(torch.tanh(W_query @ q + h @ W_key.T) @ v, 0) @ h)
        out.append(torch.tanh(x))
    return torch.stack(out)


def decoder_step__right_einsum(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """Uses einsum, -inf and nan_to_num, whose gradients masked_fill keeps finite."""
    x = torch.einsum("aq,bq->ba", W_query, query).unsqueeze(1) + torch.einsum("ak,bjk->bja", W_key, keys)
    w = torch.einsum("bja,a->bj", x.tanh(), v).masked_fill(source_mask.logical_not(), -math.inf).softmax(-1).nan_to_num(0.0)
    c = torch.einsum("bj,bjk->bk", w, keys)
    return torch.einsum("nd,bd->bn", W_y, embedded).add(query @ W_s.T).add(torch.einsum("nk,bk->bn", W_c, c)).tanh()


def decoder_step__right_projected_annotations(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """Projects the annotations by W_c before they are mixed, with pads zeroed first."""
    h = keys * source_mask[..., None]
    w = _t_weights(_t_scores(query, h, W_query, W_key, v), source_mask)
    return torch.tanh(torch.bmm(w[:, None], h @ W_c.T)[:, 0] + torch.cat([embedded, query], 1) @ torch.cat([W_y, W_s], 1).T)


# ---- gated_step
def _gates(y, s, c, Wy, Ws, Wc):
    return _sig(y @ Wy.T + s @ Ws.T + c @ Wc.T)


def gated_step__wrong_no_reset(embedded, query, context, W_y, W_s, W_c, W_y_update, W_s_update, W_c_update, W_y_reset, W_s_reset, W_c_reset):
    """Leaves the reset gate out of the candidate."""
    u = _gates(embedded, query, context, W_y_update, W_s_update, W_c_update)
    return (1 - u) * query + u * np.tanh(embedded @ W_y.T + query @ W_s.T + context @ W_c.T)


def gated_step__wrong_subtle_reset_on_everything(embedded, query, context, W_y, W_s, W_c, W_y_update, W_s_update, W_c_update, W_y_reset, W_s_reset, W_c_reset):
    """Lets the reset state enter the update gate and the kept share too."""
    r = _gates(embedded, query, context, W_y_reset, W_s_reset, W_c_reset)
    s = r * query
    u = _gates(embedded, s, context, W_y_update, W_s_update, W_c_update)
    return (1 - u) * s + u * np.tanh(embedded @ W_y.T + s @ W_s.T + context @ W_c.T)


def gated_step__wrong_subtle_hard_gates(embedded, query, context, W_y, W_s, W_c, W_y_update, W_s_update, W_c_update, W_y_reset, W_s_reset, W_c_reset):
    """Clips what goes into the sigmoid to -10 ... 10, so a closed gate leaks 4.5e-5."""
    g = lambda a, b, c: _sig(np.clip(embedded @ a.T + query @ b.T + context @ c.T, -10, 10))
    u, r = g(W_y_update, W_s_update, W_c_update), g(W_y_reset, W_s_reset, W_c_reset)
    return (1 - u) * query + u * np.tanh(embedded @ W_y.T + (r * query) @ W_s.T + context @ W_c.T)


def gated_step__wrong_subtle_sigmoid_overflow(embedded, query, context, W_y, W_s, W_c, W_y_update, W_s_update, W_c_update, W_y_reset, W_s_reset, W_c_reset):
    """Writes the sigmoid as e^x / (1 + e^x), which is inf / inf above 709."""
    g = lambda a, b, c: (lambda p: p / (1 + p))(np.exp(embedded @ a.T + query @ b.T + context @ c.T))
    u, r = g(W_y_update, W_s_update, W_c_update), g(W_y_reset, W_s_reset, W_c_reset)
    return (1 - u) * query + u * np.tanh(embedded @ W_y.T + (r * query) @ W_s.T + context @ W_c.T)


def gated_step__right_torch_stacked(embedded, query, context, W_y, W_s, W_c, W_y_update, W_s_update, W_c_update, W_y_reset, W_s_reset, W_c_reset):
    """Stacks the matrices, multiplies once in torch, splits and uses lerp."""
    t = lambda x: torch.as_tensor(x, dtype=torch.float64)
    x = torch.cat([t(embedded), t(context)], 1)
    W = torch.cat([torch.cat([t(a), t(b)], 1) for a, b in ((W_y_update, W_c_update), (W_y_reset, W_c_reset), (W_y, W_c))])
    u, r, z = (x @ W.T).chunk(3, dim=1)
    s = t(query)
    u, r = torch.sigmoid(u + s @ t(W_s_update).T), torch.sigmoid(r + s @ t(W_s_reset).T)
    return torch.lerp(s, torch.tanh(z + (r * s) @ t(W_s).T), u)


def gated_step__right_words(embedded, query, context, W_y, W_s, W_c, W_y_update, W_s_update, W_c_update, W_y_reset, W_s_reset, W_c_reset):
    """Loops over sentences with 1 / (1 + e^-x) where an overflow is harmless."""
    out = []
    with np.errstate(over="ignore"):
        for y, s, c in zip(embedded, query, context):
            u = 1 / (1 + np.exp(-(W_y_update @ y + W_s_update @ s + W_c_update @ c)))
            r = 1 / (1 + np.exp(-(W_y_reset @ y + W_s_reset @ s + W_c_reset @ c)))
            new = np.tanh(W_y @ y + (W_s * r) @ s + W_c @ c)
            out.append(s * (1 - u) + u * new)
    return out


# ---- luong_step
def _l_state(fed, embedded, query, W_y, W_s, W_fed):
    return np.tanh(embedded @ W_y.T + query @ W_s.T + fed @ W_fed.T)


def _l_mix(s, e, keys, mask, W_mix):
    c = np.einsum("bj,bjk->bk", _np_weights(e, mask), keys)
    return np.tanh(np.concatenate([c, s], 1) @ W_mix.T)


def _l_scores(s, keys, W):
    return np.einsum("bq,qk,bjk->bj", s, W, keys)


def luong_step__wrong_nothing_fed(fed, embedded, query, keys, source_mask, W_y, W_s, W_fed, W, W_mix):
    """Leaves out what is fed from the step before."""
    s = np.tanh(embedded @ W_y.T + query @ W_s.T)
    return _l_mix(s, _l_scores(s, keys, W), keys, source_mask, W_mix)


def luong_step__wrong_returns_state(fed, embedded, query, keys, source_mask, W_y, W_s, W_fed, W, W_mix):
    """Returns the new state before context and state are mixed."""
    return _l_state(fed, embedded, query, W_y, W_s, W_fed)


def luong_step__wrong_no_mask(fed, embedded, query, keys, source_mask, W_y, W_s, W_fed, W, W_mix):
    """Lets pads take part in the softmax."""
    s = _l_state(fed, embedded, query, W_y, W_s, W_fed)
    return _l_mix(s, _l_scores(s, keys, W), keys, np.ones_like(source_mask), W_mix)


def luong_step__wrong_no_last_tanh(fed, embedded, query, keys, source_mask, W_y, W_s, W_fed, W, W_mix):
    """Forgets the tanh of the mixture."""
    s = _l_state(fed, embedded, query, W_y, W_s, W_fed)
    c = np.einsum("bj,bjk->bk", _np_weights(_l_scores(s, keys, W), source_mask), keys)
    return np.concatenate([c, s], 1) @ W_mix.T


def luong_step__wrong_subtle_penalty(fed, embedded, query, keys, source_mask, W_y, W_s, W_fed, W, W_mix):
    """Fills pads with -1e6, which legal scores of real tokens undercut, and does not divide anew."""
    s = _l_state(fed, embedded, query, W_y, W_s, W_fed)
    e = np.where(source_mask, _l_scores(s, keys, W), -1e6)
    w = _np_weights(e, np.ones_like(source_mask)) * source_mask
    return np.tanh(np.concatenate([np.einsum("bj,bjk->bk", w, keys), s], 1) @ W_mix.T)


def luong_step__right_loops(fed, embedded, query, keys, source_mask, W_y, W_s, W_fed, W, W_mix):
    """Loops over sentences with the real tokens selected."""
    out = []
    for f, y, q, h, real in zip(fed, embedded, query, keys, source_mask):
        s = np.tanh(W_y @ y + W_s @ q + W_fed @ f)
        c = np.zeros(h.shape[1])
        if real.any():
            e = (h[real] @ W.T) @ s
            p = np.exp(e - max(e))
            c = p @ h[real] / p.sum()
        out.append(np.tanh(W_mix @ np.append(c, s)))
    return out


def luong_step__right_torch(fed, embedded, query, keys, source_mask, W_y, W_s, W_fed, W, W_mix):
    """Uses torch with the mix's matrix split in two."""
    f, y, q, h, A, B, F, G, X = (torch.tensor(np.asarray(x)) for x in (fed, embedded, query, keys, W_y, W_s, W_fed, W, W_mix))
    s = torch.tanh(y @ A.T + q @ B.T + f @ F.T)
    w = _t_weights(((s @ G).unsqueeze(1) * h).sum(-1), torch.tensor(source_mask))
    k = h.shape[2]
    return torch.tanh(_t_mix(w, h) @ X[:, :k].T + s @ X[:, k:].T)
