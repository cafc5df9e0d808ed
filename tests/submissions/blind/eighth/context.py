import math

import numpy as np
import torch


def sentence_shapes__wrong_one_direction(k, n, T_x):
    """Forgets that an annotation joins both directions: it has 2k numbers, not k."""
    return {"weighted": (T_x, k), "context": (k,), "jacobian": (k, T_x)}


def sentence_shapes__wrong_jacobian_transposed(k, n, T_x):
    """The Jacobian is transposed: rows belong to entries of the context, columns to scores."""
    return {"weighted": (T_x, 2 * k), "context": (2 * k,), "jacobian": (T_x, 2 * k)}


def sentence_shapes__wrong_subtle_decoder_size(k, n, T_x):
    """Joins k with the decoder's n instead of with the k of the other direction, so it is right only where n = k."""
    return {"weighted": (T_x, k + n), "context": (k + n,), "jacobian": (k + n, T_x)}


def sentence_shapes__right_lists(k, n, T_x):
    """Shapes as lists, from a variable for the annotation."""
    m = k + k
    return dict(weighted=[T_x, m], context=[m], jacobian=[m, T_x])


def batch_shapes__wrong_row_column_swapped(batch, m, n, T_x, T_y):
    """Swaps the places of the extra axis in column and row."""
    return {"column": (batch, 1, T_x), "row": (batch, T_x, 1), "product": (batch, 1, m), "contexts": (batch, T_y, m)}


def batch_shapes__wrong_product_squeezed(batch, m, n, T_x, T_y):
    """Removes the axis of length 1 from the product, which was asked for before that."""
    return {"column": (batch, T_x, 1), "row": (batch, 1, T_x), "product": (batch, m), "contexts": (batch, T_y, m)}


def batch_shapes__wrong_steps_first(batch, m, n, T_x, T_y):
    """Puts the steps before the batch in the contexts."""
    return {"column": (batch, T_x, 1), "row": (batch, 1, T_x), "product": (batch, 1, m), "contexts": (T_y, batch, m)}


def batch_shapes__right_measured(batch, m, n, T_x, T_y):
    """Reads the shapes off arrays of zeros."""
    a, h = np.zeros((batch, T_x)), np.zeros((batch, T_x, m))
    row = a[:, None]
    return {"column": a[..., None].shape, "row": row.shape, "product": (row @ h).shape,
            "contexts": (np.zeros((batch, T_y, T_x)) @ h).shape}


def context_of_note_d__wrong_plain_mean():
    """Takes the plain mean of the annotations: the weights are not used."""
    return [(0.1 - 0.1 + 0.7) / 3, (0.7 - 0.7 + 0.2) / 3, (0.5 + 0.4 - 0.3) / 3, (0.3 + 0.6 + 0.4) / 3]


def context_of_note_d__wrong_signs_lost():
    """Loses the minus signs of h_2 and h_3."""
    return list(np.array([0.7, 0.2, 0.1]) @ np.abs([[0.1, 0.7, 0.5, 0.3], [-0.1, -0.7, 0.4, 0.6], [0.7, 0.2, -0.3, 0.4]]))


def context_of_note_d__right_written_out():
    """The numbers, worked out by hand, as a tuple."""
    return (0.12, 0.37, 0.40, 0.37)


_TWIN = np.array([[2, -1, 0.5], [-0.5, 3, 1], [4, 0, -2], [1, -2, 0.25]])


def context_twin__wrong_fourth_left_out():
    """Leaves the fourth annotation out, as if the lost weight were 0."""
    return list(np.array([0.15, 0.42, 0.05]) @ _TWIN[:3])


def context_twin__wrong_renormalised():
    """Divides the three known weights by their sum instead of finding the fourth from the sum of 1."""
    w = np.array([0.15, 0.42, 0.05])
    return list(w / w.sum() @ _TWIN[:3])


def context_twin__right_loop():
    """A loop over the words, with the fourth weight as what is left of 1."""
    w = [0.15, 0.42, 0.05, 1 - 0.15 - 0.42 - 0.05]
    return [sum(w[j] * float(_TWIN[j, i]) for j in range(4)) for i in range(3)]


def weights_from_context__wrong_least_norm():
    """Forgets that the weights add to 1, and takes the shortest of the many solutions of the two equations."""
    return list(np.linalg.pinv(np.array([[1.0, 5, 3], [2, 0, 6]])) @ np.array([2.36, 3.14]))


def weights_from_context__wrong_subtle_order():
    """Solves rightly but gives the weights of h_2 and h_3 in the wrong order."""
    a = np.linalg.solve(np.array([[1.0, 5, 3], [2, 0, 6], [1, 1, 1]]), np.array([2.36, 3.14, 1]))
    return [a[0], a[2], a[1]]


def weights_from_context__right_cramer():
    """Cramer's rule for differences to the third annotation."""
    d = (1 - 3) * (0 - 6) - (5 - 3) * (2 - 6)
    x, y = 2.36 - 3, 3.14 - 6
    a = (x * (0 - 6) - (5 - 3) * y) / d
    b = ((1 - 3) * y - x * (2 - 6)) / d
    return np.array([a, b, 1 - a - b])


_A3 = np.array([0.55, 0.15, 0.3])
_H3 = np.array([[0.4, -0.2], [1, 0.6], [-0.5, 0.9]])


def gradient_by_hand__wrong_only_own_weight():
    """Takes the derivative of the third weight alone: the other two weights change too."""
    return list(0.3 * 0.7 * _H3[2])


def gradient_by_hand__wrong_sign():
    """The difference is taken the wrong way round: context minus annotation."""
    return list(0.3 * (_A3 @ _H3 - _H3[2]))


def gradient_by_hand__right_jacobian():
    """By the full Jacobian of the softmax."""
    return ((np.diag(_A3) - np.outer(_A3, _A3)) @ _H3)[2].tolist()


def _pull(largest=1.25, at=None, gap=None):
    s = 1 / (1 + math.exp(-3))
    p = (1 + math.sqrt(0.9)) / 2
    return {"largest": largest, "at_three": [4 * s * (1 - s), -3 * s * (1 - s)] if at is None else at,
            "gap": math.log(p / (1 - p)) if gap is None else gap}


def pull_of_two__wrong_weight_only():
    """Multiplies the difference of the annotations by the first weight alone, without (1 - weight)."""
    s = 1 / (1 + math.exp(-3))
    return _pull(largest=2.5, at=[4 * s, -3 * s])


def pull_of_two__wrong_gap_negative():
    """Takes the other solution of the quadratic equation, where the first score is smaller."""
    p = (1 - math.sqrt(0.9)) / 2
    return _pull(gap=math.log(p / (1 - p)))


def pull_of_two__wrong_subtle_tail():
    """Takes the far tail exp(-gap) for weight times (1 - weight), which at a tenth is not yet good enough."""
    return _pull(gap=math.log(40))


def pull_of_two__right_cosh():
    """With a(1-a) = 1 / (4 cosh(gap/2)^2)."""
    q = 1 / (4 * math.cosh(1.5) ** 2)
    return {"gap": 2 * math.acosh(math.sqrt(10)), "largest": 5 / 4, "at_three": (4 * q, -3 * q)}


# ---- context_vector

def context_vector__wrong_no_keys_axis(weights, keys):
    """Sums over the entries of the annotation instead of over the positions."""
    return (weights[:, :, None] * keys).sum(axis=2)


def context_vector__wrong_matmul_broadcast(weights, keys):
    """A plain @ takes the rows of weights for rows of one matrix: every sentence meets the weights of all sentences."""
    return weights @ keys


def context_vector__wrong_mean(weights, keys):
    """Takes the mean of the weighted annotations instead of their sum."""
    return (weights[:, :, None] * keys).mean(1)


def context_vector__wrong_subtle_first_batch(weights, keys):
    """Gives all sentences the weights of the first sentence."""
    return np.einsum("j,bjk->bk", weights[0], keys)


def context_vector__wrong_subtle_squeeze(weights, keys):
    """squeeze() removes every axis of length 1: the batch's too, or that of an annotation of one number."""
    return (weights[:, None, :] @ keys).squeeze()


def context_vector__wrong_subtle_small_weights(weights, keys):
    """Takes weights below a millionth for pads and sets them to 0."""
    return np.einsum("bj,bjk->bk", np.where(weights < 1e-6, 0.0, weights), keys)


def context_vector__right_nested_lists(weights, keys):
    """Loops over sentences, words and entries, the result as nested lists."""
    return [[math.fsum(float(weights[b][j]) * float(keys[b][j][k]) for j in range(keys.shape[1]))
             for k in range(keys.shape[2])] for b in range(keys.shape[0])]


def context_vector__right_torch_bmm(weights, keys):
    """torch.bmm, the result as a torch tensor."""
    return torch.bmm(torch.from_numpy(weights).unsqueeze(1), torch.from_numpy(keys)).squeeze(1)


def context_vector__right_nonzero_only(weights, keys):
    """Adds only the annotations whose weight is not 0, into a Fortran-ordered array."""
    out = np.zeros((keys.shape[0], keys.shape[2]), order="F")
    for b, j in zip(*np.nonzero(weights)):
        out[b] += weights[b, j] * keys[b, j]
    return out


# ---- scores_gradient

def _to_weights(g, keys):
    return np.einsum("bk,bjk->bj", g, keys)


def scores_gradient__wrong_only_to_weights(context_gradient, weights, keys):
    """Stops at the weights: the way through the softmax is missing."""
    return _to_weights(context_gradient, keys)


def scores_gradient__wrong_diagonal_only(context_gradient, weights, keys):
    """Uses only the diagonal a(1-a) of the softmax's Jacobian: a score changes the other weights too."""
    return weights * (1 - weights) * _to_weights(context_gradient, keys)


def scores_gradient__wrong_plain_mean(context_gradient, weights, keys):
    """Subtracts the plain mean over the positions instead of the mean by the weights."""
    d = _to_weights(context_gradient, keys)
    return weights * (d - d.mean(1, keepdims=True))


def scores_gradient__wrong_sum_over_batch(context_gradient, weights, keys):
    """Sums the weighted mean over the whole batch instead of over each sentence."""
    d = _to_weights(context_gradient, keys)
    return weights * (d - (weights * d).sum())


def scores_gradient__wrong_subtle_empty_nan(context_gradient, weights, keys):
    """Divides by the sum of the weights to be safe, which makes 0/0 = nan in a sentence without a real token."""
    a = weights / weights.sum(1, keepdims=True)
    d = _to_weights(context_gradient, keys)
    return a * (d - (a * d).sum(1, keepdims=True))


def scores_gradient__wrong_subtle_log_eps(context_gradient, weights, keys):
    """Goes back to scores by log(weight + 1e-9) and takes their softmax again: weights near 1e-7 come out too large."""
    e = np.log(weights + 1e-9)
    a = np.exp(e) / np.exp(e).sum(1, keepdims=True) * (weights > 0)
    d = _to_weights(context_gradient, keys)
    return a * (d - (a * d).sum(1, keepdims=True))


def scores_gradient__wrong_subtle_squeeze(context_gradient, weights, keys):
    """squeeze() of the product loses the batch axis too where it is 1, or the positions, and then broadcasts wrongly."""
    d = (keys @ context_gradient[:, :, None]).squeeze()
    return weights * (d - (weights * d).sum(-1, keepdims=True))


def scores_gradient__right_context_first(context_gradient, weights, keys):
    """By the difference of each annotation and the context: a (h - c) . g."""
    c = np.einsum("bj,bjk->bk", weights, keys)
    return weights * np.einsum("bjk,bk->bj", keys - c[:, None], context_gradient)


def scores_gradient__right_jacobian_loop(context_gradient, weights, keys):
    """The full Jacobian of each sentence, rows as lists."""
    return [list((np.diag(a) - np.outer(a, a)) @ (h @ g)) for g, a, h in zip(context_gradient, weights, keys)]


def scores_gradient__right_last_from_row_sum(context_gradient, weights, keys):
    """The last position's derivative from the fact that each row adds to 0."""
    d = _to_weights(context_gradient, keys)
    out = weights * (d - (weights * d).sum(1)[:, None])
    out[:, -1] = -out[:, :-1].sum(1)
    return out


# ---- attend

def attend__wrong_zero_scores_at_pads(scores, keys, source_mask):
    """Sets scores at pads to 0 before the softmax: a score of 0 still gets weight."""
    w = torch.softmax(scores * source_mask, 1)
    return (w[:, :, None] * keys).sum(1)


def attend__wrong_mask_after(scores, keys, source_mask):
    """Cuts the pads' weights off after the softmax and does not divide by what is left."""
    w = torch.softmax(scores, 1) * source_mask
    return (w[:, :, None] * keys).sum(1)


def attend__wrong_batch_axis(scores, keys, source_mask):
    """The softmax runs over the batch instead of over the positions."""
    w = torch.softmax(scores.masked_fill(~source_mask, -1e300), 0) * source_mask
    return (w[:, :, None] * keys).sum(1)


def attend__wrong_no_max(scores, keys, source_mask):
    """exp without taking the largest score away overflows for scores above 709."""
    p = torch.exp(scores.masked_fill(~source_mask, 0.0)) * source_mask
    return ((p / p.sum(1, keepdim=True).clamp(min=1e-300))[:, :, None] * keys).sum(1)


def attend__wrong_detached(scores, keys, source_mask):
    """The weights are computed under no_grad: no gradient reaches the scores."""
    with torch.no_grad():
        w = torch.softmax(scores.masked_fill(~source_mask, -1e300), 1) * source_mask
    return (w[:, :, None] * keys).sum(1)


def attend__wrong_subtle_log_mask(scores, keys, source_mask):
    """Adds the log of the mask: nan_to_num mends a row of pads in the result, but its gradient by the scores is nan."""
    w = torch.softmax(scores + torch.log(source_mask.double()), 1)
    return (torch.nan_to_num(w)[:, :, None] * keys).sum(1)


def attend__wrong_subtle_fill_100000(scores, keys, source_mask):
    """Fills pads with -100000, which is no lower than a real score may be."""
    w = torch.softmax(scores.masked_fill(~source_mask, -1e5), 1)
    return (w[:, :, None] * keys).sum(1) * source_mask.any(1, keepdim=True)


def attend__wrong_subtle_where_after_exp(scores, keys, source_mask):
    """Masks after exp: where a pad's score is large exp gives inf, and the gradient 0 times inf = nan."""
    top = scores.masked_fill(~source_mask, -1e300).amax(1, keepdim=True).detach()
    top = torch.where(source_mask.any(1, keepdim=True), top, torch.zeros_like(top))
    p = torch.where(source_mask, torch.exp(scores - top), torch.zeros_like(scores))
    return (p[:, :, None] * keys).sum(1) / p.sum(1, keepdim=True).clamp(min=0.5)


def attend__wrong_subtle_max_over_pads(scores, keys, source_mask):
    """Takes the largest score of all positions away, a pad's too: next to a large pad all real words underflow."""
    p = torch.exp(scores - scores.amax(1, keepdim=True).detach()) * source_mask
    return (p[:, :, None] * keys).sum(1) / p.sum(1, keepdim=True).clamp(min=1e-300)


def attend__right_loop_selection(scores, keys, source_mask):
    """A loop over the sentences, with the real tokens selected by the mask; new zeros for empty rows."""
    rows = []
    for e, h, m in zip(scores, keys, source_mask):
        rows.append(torch.softmax(e[m], 0) @ h[m] if m.any() else torch.zeros(h.shape[1], dtype=h.dtype))
    return torch.stack(rows)


def attend__right_nan_to_num(scores, keys, source_mask):
    """masked_fill with minus infinity, softmax, nan_to_num: masked_fill stops the nan on the way back too."""
    w = torch.nan_to_num(scores.masked_fill(~source_mask, -math.inf).softmax(-1))
    return torch.einsum("bj,bjk->bk", w, keys)


def attend__right_logsumexp(scores, keys, source_mask):
    """By log-sum-exp, with empty rows read as if they were full and then cut off."""
    seen = source_mask | ~source_mask.any(1, keepdim=True)
    e = torch.where(seen, scores, torch.full_like(scores, -1e200))
    e = torch.where(source_mask.any(1, keepdim=True), e, torch.zeros_like(e))
    w = torch.exp(e - torch.logsumexp(e, 1, keepdim=True))
    w = torch.where(source_mask, w, torch.zeros_like(w))
    return torch.bmm(w[:, None], keys)[:, 0]


def attend__right_online(scores, keys, source_mask):
    """One word after another, with a running maximum, in tensors that are made on the way."""
    out = []
    for b in range(scores.shape[0]):
        top, total, c = None, 0.0, torch.zeros(keys.shape[2], dtype=torch.float64)
        for j in range(scores.shape[1]):
            if not source_mask[b, j]:
                continue
            e = scores[b, j]
            new = e if top is None else torch.maximum(top, e)
            old = torch.exp(top - new) if top is not None else 0.0
            p = torch.exp(e - new)
            total, c, top = total * old + p, c * old + p * keys[b, j], new
        out.append(c if top is None else c / total)
    return torch.stack(out)


# ---- mended_attention

def _scores(query, keys, W_query, W_key, v):
    return np.tanh((query @ W_query.T)[:, None, :] + keys @ W_key.T) @ v


def _mix(e, keys, source_mask):
    top = np.where(source_mask, e, -np.inf).max(1, keepdims=True)
    p = np.where(source_mask, np.exp(np.minimum(e - np.where(np.isfinite(top), top, 0), 0)), 0.0)
    return (p[:, :, None] * keys).sum(1) / np.maximum(p.sum(1), 0.5)[:, None]


def mended_attention__wrong_sum_over_batch(query, keys, source_mask, W_query, W_key, v):
    """Still divides by the sum over the whole batch."""
    e = np.where(source_mask, _scores(query, keys, W_query, W_key, v), -1e30)
    p = np.exp(e - e.max()) * source_mask
    return np.sum((p / max(p.sum(), 1e-300))[:, :, None] * keys, axis=1)


def mended_attention__wrong_mask_after_softmax(query, keys, source_mask, W_query, W_key, v):
    """Still masks after the division, so the weights of a sentence with pads do not add to 1."""
    e = _scores(query, keys, W_query, W_key, v)
    p = np.exp(e - e.max(1, keepdims=True))
    w = p / p.sum(1, keepdims=True) * source_mask
    return np.sum(w[:, :, None] * keys, axis=1)


def mended_attention__wrong_overflow(query, keys, source_mask, W_query, W_key, v):
    """Still takes exp of the raw scores, which overflows for large ones."""
    p = np.exp(_scores(query, keys, W_query, W_key, v)) * source_mask
    return np.sum(p[:, :, None] * keys, axis=1) / np.maximum(p.sum(1, keepdims=True), 1e-300)


def mended_attention__wrong_query_not_expanded(query, keys, source_mask, W_query, W_key, v):
    """Adds the queries without an axis for the positions, so they run along the positions instead of the batch."""
    return _mix(np.tanh(query @ W_query.T + keys @ W_key.T) @ v, keys, source_mask)


def mended_attention__wrong_subtle_equal_sizes(query, keys, source_mask, W_query, W_key, v):
    """Gives the queries their axis only where they do not broadcast by themselves, so batch = positions goes wrong."""
    q, k = query @ W_query.T, keys @ W_key.T
    if q.shape[0] != k.shape[1]:
        q = q[:, None]
    return _mix(np.tanh(q + k) @ v, keys, source_mask)


def mended_attention__wrong_subtle_clip_700(query, keys, source_mask, W_query, W_key, v):
    """Clips the scores to 700 so that exp does not overflow: larger ones all become equal."""
    return _mix(np.clip(_scores(query, keys, W_query, W_key, v), -700, 700), keys, source_mask)


def mended_attention__wrong_subtle_max_with_pads(query, keys, source_mask, W_query, W_key, v):
    """The maximum that is subtracted includes the pads: where a pad scores far higher, all real words underflow."""
    e = _scores(query, keys, W_query, W_key, v)
    p = np.exp(e - e.max(1, keepdims=True)) * source_mask
    return np.sum(p[:, :, None] * keys, axis=1) / np.maximum(p.sum(1, keepdims=True), 1e-300)


def mended_attention__right_one_by_one(query, keys, source_mask, W_query, W_key, v):
    """Each sentence alone, with only its real tokens, rows in a list."""
    rows = []
    for s, h, m in zip(query, keys, source_mask):
        h = h[m]
        if len(h) == 0:
            rows.append(np.zeros(keys.shape[2], dtype=int))
            continue
        e = np.array([v @ np.tanh(W_query @ s + W_key @ x) for x in h])
        p = np.exp(e - e.max())
        rows.append(p @ h / p.sum())
    return rows


def mended_attention__right_joined_matrix(query, keys, source_mask, W_query, W_key, v):
    """Queries and annotations joined end to end, one matrix for both, in torch."""
    b, t, _ = keys.shape
    x = np.concatenate([np.repeat(query[:, None], t, 1), keys], 2)
    e = torch.from_numpy(np.tanh(x @ np.concatenate([W_query, W_key], 1).T) @ v)
    m = torch.from_numpy(source_mask)
    w = torch.softmax(e.masked_fill(~m, -1e300), 1) * m
    return (w.unsqueeze(1) @ torch.from_numpy(keys)).squeeze(1).tolist()


def mended_attention__right_pairwise(query, keys, source_mask, W_query, W_key, v):
    """Each weight as 1 over a sum of exponentials of differences of scores, without any maximum."""
    e = _scores(query, keys, W_query, W_key, v)
    d = np.where(source_mask[:, None, :], e[:, None, :] - e[:, :, None], -np.inf)
    with np.errstate(over="ignore"):
        w = np.where(source_mask, 1 / np.maximum(np.exp(d).sum(2), 1e-300), 0.0)
    return np.einsum("bj,bjk->bk", w, keys)
