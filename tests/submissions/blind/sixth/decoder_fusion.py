
import numpy as np
import torch


def _clean(keys, mask):
    return keys.masked_fill(~mask[:, :, None], 0.0)


def _additive(query, keys, W_query, W_key, v):
    return torch.tanh((query @ W_query.T)[:, None] + keys @ W_key.T) @ v


def _new(embedded, query, context, W_y, W_s, W_c):
    return torch.tanh(embedded @ W_y.T + query @ W_s.T + context @ W_c.T)


def _read(w, keys):
    return torch.einsum("bj,bjk->bk", w, keys)


def _sig(x):
    return 0.5 * (1.0 + np.tanh(0.5 * x))


def fusion_shapes__wrong_column(d, m, n, r):
    """Gives the joined vector as a matrix of one column, with two axes."""
    return dict(joined=(d + 2 * m, 1), L_1=(r, d + 2 * m), W_input=(n, r), W_context=(n, 2 * m))


def fusion_shapes__right_arrays(d, m, n, r):
    """Makes empty arrays and reads their shapes."""
    j = np.concatenate([np.empty(d), np.empty(m), np.empty(m)])
    return dict(joined=j.shape, L_1=np.empty((r, len(j))).shape, W_input=np.empty((n, r)).shape, W_context=(n, m + m))


def fused_input__wrong_subtle_smooth(embedded, context, L_1):
    """Takes a steep softplus for the ReLU, which near 0 is not 0."""
    return np.logaddexp(0.0, 1000 * (np.hstack([embedded, context]) @ L_1.T)) / 1000


def fused_input__right_split_matrix(embedded, context, L_1):
    """Splits the matrix instead of joining the vectors, and erases what is negative."""
    d = embedded.shape[1]
    k = embedded @ L_1[:, :d].T + context @ L_1[:, d:].T
    k[k < 0] = 0.0
    return k


def fused_input__right_half_absolute(embedded, context, L_1):
    """Writes the ReLU as half of a number and its size, in torch."""
    k = torch.as_tensor(np.concatenate([embedded, context], axis=1)) @ torch.as_tensor(L_1).T
    return (k + k.abs()) / 2


# ---------------------------------------------------------------- decoder_step
def decoder_step__wrong_unmasked(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """Gives pads a share of the weights."""
    w = torch.softmax(_additive(query, keys, W_query, W_key, v), 1)
    return _new(embedded, query, _read(w, keys), W_y, W_s, W_c)


def decoder_step__wrong_scores_zeroed(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """Sets the scores of pads to 0 before the softmax, so that they take part in the sum."""
    w = torch.softmax(_additive(query, keys, W_query, W_key, v) * source_mask, 1)
    return _new(embedded, query, _read(w * source_mask, _clean(keys, source_mask)), W_y, W_s, W_c)


def decoder_step__wrong_subtle_squeezed(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """Squeezes the scores, so that a single sentence or a single position loses an axis, and the softmax takes what is last."""
    keys = _clean(keys, source_mask)
    s = torch.tanh((query @ W_query.T)[:, None] + keys @ W_key.T) @ v[:, None]
    s = s.squeeze().masked_fill(~source_mask.squeeze(), -1e30)
    w = (torch.softmax(s, -1) * source_mask.squeeze()).reshape(len(keys), -1)
    return _new(embedded, query, _read(w, keys), W_y, W_s, W_c).squeeze(0)


def decoder_step__right_sentence_by_sentence(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """Takes one sentence at a time with its real tokens alone, new zeros for an empty one."""
    out = []
    for b in range(query.shape[0]):
        h = keys[b][source_mask[b]]
        c = torch.zeros(keys.shape[2], dtype=keys.dtype)
        if h.shape[0]:
            c = torch.softmax(torch.tanh(W_query @ query[b] + h @ W_key.T) @ v, 0) @ h
        out.append(torch.tanh(W_y @ embedded[b] + W_s @ query[b] + W_c @ c))
    return torch.stack(out)


def decoder_step__right_fill_minus_infinity(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """Fills with minus infinity and erases the pads' weights, nan or not, by masked_fill, which stops their gradients."""
    h = torch.where(source_mask.unsqueeze(-1), keys, 0.0)
    s = torch.einsum("a,bja->bj", v, torch.tanh(torch.einsum("aq,bq->ba", W_query, query).unsqueeze(1) + h @ W_key.mT))
    w = torch.softmax(s.masked_fill(~source_mask, -torch.inf), -1).masked_fill(~source_mask, 0.0)
    return torch.cat([embedded, query, (w.unsqueeze(1) @ h).squeeze(1)], 1).matmul(torch.cat([W_y, W_s, W_c], 1).T).tanh()


# ---------------------------------------------------------------- gated_step
def _gated(e, s, c, W, U, R, cand=None, sig=_sig, tanh=np.tanh):
    u = sig(e @ U[0].T + s @ U[1].T + c @ U[2].T)
    r = sig(e @ R[0].T + s @ R[1].T + c @ R[2].T)
    t = tanh(e @ W[0].T + (cand(r, s) if cand else (r * s) @ W[1].T) + c @ W[2].T)
    return (1 - u) * s + u * t


def gated_step__wrong_subtle_exponentials_overflow(
    embedded, query, context, W_y, W_s, W_c, W_y_update, W_s_update, W_c_update, W_y_reset, W_s_reset, W_c_reset
):
    """Writes the candidate's tanh by the exponential of twice its argument, which overflows to nan beyond 355."""
    U, R = (W_y_update, W_s_update, W_c_update), (W_y_reset, W_s_reset, W_c_reset)
    tanh = lambda x: (np.exp(2 * x) - 1) / (np.exp(2 * x) + 1)
    return _gated(embedded, query, context, (W_y, W_s, W_c), U, R, tanh=tanh)


def gated_step__wrong_subtle_gate_clipped(
    embedded, query, context, W_y, W_s, W_c, W_y_update, W_s_update, W_c_update, W_y_reset, W_s_reset, W_c_reset
):
    """Clips what enters the gates to 15 in size, so that a closed gate still lets 3e-7 through."""
    U, R = (W_y_update, W_s_update, W_c_update), (W_y_reset, W_s_reset, W_c_reset)
    return _gated(embedded, query, context, (W_y, W_s, W_c), U, R, sig=lambda x: _sig(np.clip(x, -15, 15)))


def gated_step__right_plain_exponentials(
    embedded, query, context, W_y, W_s, W_c, W_y_update, W_s_update, W_c_update, W_y_reset, W_s_reset, W_c_reset
):
    """Takes the sigmoid as it stands in the text, sentence by sentence, and mixes by a step from the old state."""
    out = []
    for e, s, c in zip(embedded, query, context):
        u = 1 / (1 + np.exp(-(W_y_update @ e + W_s_update @ s + W_c_update @ c)))
        r = 1 / (1 + np.exp(-(W_y_reset @ e + W_s_reset @ s + W_c_reset @ c)))
        out.append(s + u * (np.tanh(W_y @ e + W_s @ (r * s) + W_c @ c) - s))
    return out


def gated_step__right_stacked(
    embedded, query, context, W_y, W_s, W_c, W_y_update, W_s_update, W_c_update, W_y_reset, W_s_reset, W_c_reset
):
    """Stacks the matrices as in exercise 5.6, with torch's sigmoid."""
    n = query.shape[1]
    x = np.hstack([embedded, context]) @ np.block([[W_y_update, W_c_update], [W_y_reset, W_c_reset], [W_y, W_c]]).T
    g = torch.sigmoid(torch.tensor(x[:, : 2 * n] + query @ np.vstack([W_s_update, W_s_reset]).T)).numpy()
    u, r = np.split(g, 2, axis=1)
    return (1 - u) * query + u * np.tanh(x[:, 2 * n :] + (r * query) @ W_s.T)


def luong_step__right_sentence_by_sentence(fed, embedded, query, keys, source_mask, W_y, W_s, W_fed, W, W_mix):
    """Takes one sentence after the other and selects its real tokens."""
    out = np.empty_like(fed)
    for b, ok in enumerate(source_mask):
        s = np.tanh(W_y @ embedded[b] + W_s @ query[b] + W_fed @ fed[b])
        h = keys[b, ok]
        c = np.zeros(keys.shape[2])
        if ok.any():
            e = h @ (s @ W)
            c = np.exp(e - e.max()) @ h / np.exp(e - e.max()).sum()
        out[b] = np.tanh(W_mix @ np.r_[c, s])
    return out


def luong_step__right_overwrites(fed, embedded, query, keys, source_mask, W_y, W_s, W_fed, W, W_mix):
    """Erases pads in the given keys and writes the result over what was fed."""
    state = np.tanh(np.hstack([embedded, query, fed]) @ np.hstack([W_y, W_s, W_fed]).T)
    keys[~source_mask] = 0.0
    s = torch.from_numpy(np.einsum("bn,bjn->bj", state, keys @ W.T)).masked_fill(torch.from_numpy(~source_mask), -1e300)
    w = torch.softmax(s, 1).numpy()
    k = keys.shape[2]
    fed[:] = np.tanh((w[:, None] @ keys)[:, 0] @ W_mix[:, :k].T + state @ W_mix[:, k:].T)
    return fed
