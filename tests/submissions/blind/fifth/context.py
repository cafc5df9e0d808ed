import math

import numpy as np
import torch


def _soft(e):
    p = np.exp(e - e.max(axis=-1, keepdims=True))
    return p / p.sum(axis=-1, keepdims=True)


def _np_weights(e, mask):
    """Softmax over real tokens in numpy, zeros in empty rows."""
    e = np.where(mask, e, -np.inf)
    top = e.max(axis=1, keepdims=True)
    p = np.exp(e - np.where(np.isfinite(top), top, 0.0)) * mask
    total = p.sum(axis=1, keepdims=True)
    return p / np.where(total > 0, total, 1.0)


def _np_scores(query, keys, W_query, W_key, v):
    return np.tanh((query @ W_query.T)[:, None, :] + keys @ W_key.T) @ v


def _t_weights(e, mask):
    """Softmax over real tokens in torch, zeros in empty rows, safe gradients."""
    e = e.masked_fill(~mask, 0.0)
    low = torch.full_like(e, -float("inf"))
    top = torch.where(mask, e.detach(), low).amax(1, keepdim=True)
    top = torch.where(torch.isfinite(top), top, torch.zeros_like(top))
    shifted = torch.where(mask, e - top, torch.zeros_like(e))
    p = torch.exp(shifted) * mask
    total = p.sum(1, keepdim=True)
    return p / torch.where(total > 0, total, torch.ones_like(total))


def _mix(w, keys):
    return torch.einsum("bj,bjk->bk", w, keys)


_H_W = np.array([[1.0, 2.0], [5.0, 0.0], [3.0, 6.0]])


def batch_shapes__right_torch_sizes(batch, m, n, T_x, T_y):
    """Returns the torch.Size objects of real tensors."""
    w, h = torch.zeros(batch, T_x), torch.zeros(batch, T_x, m)
    p = w.unsqueeze(1) @ h
    return {"column": w[..., None].shape, "row": w[:, None].shape, "product": p.shape,
            "contexts": torch.cat([p] * T_y, dim=1).shape}


def weights_from_context__wrong_order():
    """Gives the right weights in reversed order."""
    A = np.vstack([_H_W.T, np.ones(3)])
    return list(np.linalg.solve(A, np.array([2.36, 3.14, 1.0])))[::-1]


def weights_from_context__wrong_subtle_two_decimals_of_two():
    """Rounds the first two weights to one decimal before taking the rest from 1."""
    A = np.vstack([_H_W.T, np.ones(3)])
    a = np.linalg.solve(A, np.array([2.36, 3.14, 1.0]))
    x, y = round(a[0], 1), round(a[1], 1)
    return [x, y, 1 - x - y]


def weights_from_context__right_cramer():
    """Solves by Cramer's rule with determinants of differences from h_1."""
    (p, q), (r, s) = (4.0, -2.0), (2.0, 4.0)
    x, y = 2.36 - 1, 3.14 - 2
    det = p * s - q * r
    b, c = (x * s - y * r) / det, (p * y - q * x) / det
    return [1 - b - c, b, c]


# ---- pull_of_two
def _pull(fac3, largest, gap):
    return {"largest": largest, "at_three": [4 * fac3, -3 * fac3], "gap": gap}


_S3 = 1 / (1 + math.exp(-3))
_GAP = math.log((1 + math.sqrt(0.9)) / (1 - math.sqrt(0.9)))


def pull_of_two__wrong_weight_not_squared():
    """Multiplies h_1 - h_2 by the weight alone."""
    return _pull(_S3, 2.5, _GAP)


def pull_of_two__wrong_subtle_gap_of_weight():
    """Looks for the gap where the second weight is a tenth, not where the length of the pull is a tenth of the largest."""
    return _pull(_S3 * (1 - _S3), 1.25, math.log(9))


def pull_of_two__right_cut_off():
    """Cuts off after four decimals, with a tuple for the vector."""
    cut = lambda x: math.trunc(x * 1e4 + math.copysign(1e-9, x)) / 1e4
    f = 1 / (2 * math.cosh(1.5)) ** 2
    return {"largest": cut(1.25), "at_three": (cut(4 * f), cut(-3 * f)), "gap": cut(2 * math.acosh(math.sqrt(10)))}


# ---- scores_gradient
def scores_gradient__wrong_no_softmax(context_gradient, weights, keys):
    """Stops at the weights and does not go back through the softmax."""
    return np.einsum("bk,bjk->bj", context_gradient, keys)


def scores_gradient__wrong_weight_forgotten(context_gradient, weights, keys):
    """Forgets the factor a_j in front of the difference."""
    d = np.einsum("bk,bjk->bj", context_gradient, keys)
    return np.where(weights > 0, d - (weights * d).sum(1, keepdims=True), 0.0)


def scores_gradient__wrong_subtle_log_of_weights(context_gradient, weights, keys):
    """Recovers scores with log(weight + 1e-12) and lets torch differentiate a softmax, which makes an empty row uniform."""
    e = torch.log(torch.tensor(weights) + 1e-12).requires_grad_()
    c = torch.einsum("bj,bjk->bk", torch.softmax(e, 1), torch.tensor(keys))
    (c * torch.tensor(context_gradient)).sum().backward()
    return e.grad.numpy()


def scores_gradient__wrong_subtle_threshold(context_gradient, weights, keys):
    """Takes every weight of at most 1e-6 for a pad and gives it the derivative 0."""
    d = np.einsum("bk,bjk->bj", context_gradient, keys)
    return np.where(weights > 1e-6, weights * (d - (weights * d).sum(1, keepdims=True)), 0.0)


def scores_gradient__wrong_subtle_clipped_products(context_gradient, weights, keys):
    """Clips the products of gradient and annotation at 100 000, which legal inputs exceed where key_size is 2 or more."""
    d = np.clip(np.einsum("bk,bjk->bj", context_gradient, keys), -1e5, 1e5)
    return weights * (d - (weights * d).sum(1, keepdims=True))


def scores_gradient__right_jacobian(context_gradient, weights, keys):
    """Builds the full Jacobian diag(a) - a a^T of each sentence in a loop."""
    return np.stack([(np.diag(a) - np.outer(a, a)) @ (h @ g) for g, a, h in zip(context_gradient, weights, keys)])


def scores_gradient__right_autograd(context_gradient, weights, keys):
    """Adds the derivative of the quotient a exp(e) / sum(a exp(e)) at e = 0 with torch, empty rows as new zeros."""
    out = []
    for g, a, h in zip(torch.tensor(context_gradient), torch.tensor(weights), torch.tensor(keys)):
        if not a.any():
            out.append([0.0] * len(a))
            continue
        e = torch.zeros_like(a, requires_grad=True)
        p = a * torch.exp(e)
        (((p / p.sum()) @ h) @ g).backward()
        out.append(e.grad.tolist())
    return out


def scores_gradient__right_centred_keys(context_gradient, weights, keys):
    """Subtracts the context from each annotation and returns an array in Fortran order."""
    c = weights[:, None, :] @ keys
    return np.asfortranarray(weights * ((keys - c) @ context_gradient[:, :, None])[:, :, 0])


# ---- attend
def attend__wrong_no_mask(scores, keys, source_mask):
    """Forgets the mask altogether."""
    return _mix(torch.softmax(scores, 1), keys)


def attend__wrong_scores_times_mask(scores, keys, source_mask):
    """Multiplies the scores by the mask, so a pad has the score 0 and not no weight."""
    return _mix(torch.softmax(scores * source_mask, 1), keys) * source_mask.any(1, keepdim=True)


def attend__wrong_softmax_over_batch(scores, keys, source_mask):
    """Takes the softmax over the batch axis."""
    w = torch.softmax(scores.masked_fill(~source_mask, -1e30), 0)
    return _mix(w * source_mask, keys)


def attend__wrong_no_shift(scores, keys, source_mask):
    """Takes exp of the raw scores, which overflows above 709."""
    p = torch.exp(scores.masked_fill(~source_mask, -float("inf")))
    return _mix(p / p.sum(1, keepdim=True).clamp(min=1e-300), keys)


def attend__wrong_detached(scores, keys, source_mask):
    """Computes the weights on detached scores, so no gradient reaches the scores."""
    return _mix(_t_weights(scores.detach(), source_mask), keys)


def attend__wrong_numpy_roundtrip(scores, keys, source_mask):
    """Goes through numpy for the result, which cuts all gradients."""
    w = _np_weights(scores.detach().numpy(), source_mask.numpy())
    return torch.tensor(np.einsum("bj,bjk->bk", w, keys.detach().numpy()))


def attend__wrong_subtle_max_over_pads(scores, keys, source_mask):
    """Subtracts the largest score of the row with the pads included, so real tokens underflow next to a large pad."""
    p = torch.exp(scores - scores.detach().amax(1, keepdim=True)) * source_mask
    return _mix(p / p.sum(1, keepdim=True).clamp(min=1e-300), keys)


def attend__wrong_subtle_global_max(scores, keys, source_mask):
    """Subtracts the largest real score of the whole batch, so a sentence with far lower scores underflows to zeros."""
    top = scores.detach().masked_fill(~source_mask, -1e30).max()
    p = torch.exp((scores - top).masked_fill(~source_mask, -float("inf")))
    return _mix(p / p.sum(1, keepdim=True).clamp(min=1e-300), keys)


def attend__wrong_subtle_fill_too_high(scores, keys, source_mask):
    """Fills pads with -1e4, above legal real scores, and zeroes them after the softmax without dividing anew."""
    return _mix(torch.softmax(scores.masked_fill(~source_mask, -1e4), 1) * source_mask, keys)


def attend__wrong_subtle_added_penalty(scores, keys, source_mask):
    """Adds -1e9 to the scores at pads, which a pad with a larger finite score survives."""
    w = torch.softmax(scores + (~source_mask) * -1e9, 1)
    return _mix(w, keys) * source_mask.any(1, keepdim=True)


def attend__wrong_subtle_empty_by_first(scores, keys, source_mask):
    """Takes a sentence for empty when its first position is a pad."""
    c = _mix(torch.softmax(scores.masked_fill(~source_mask, -1e9), 1), keys)
    return c * source_mask[:, :1]


def attend__wrong_subtle_zero_score_is_pad(scores, keys, source_mask):
    """Takes a score of exactly 0 for a pad."""
    return _mix(_t_weights(scores, source_mask & (scores != 0)), keys)


def attend__wrong_subtle_detached_total(scores, keys, source_mask):
    """Detaches the sum that the softmax divides by: the values are right, the gradients by the scores are not."""
    top = scores.detach().masked_fill(~source_mask, -1e30).amax(1, keepdim=True)
    p = torch.exp((scores - top).masked_fill(~source_mask, -float("inf")))
    return _mix(p / p.sum(1, keepdim=True).detach().clamp(min=1e-300), keys)


def attend__wrong_subtle_clamped_scores(scores, keys, source_mask):
    """Clamps the scores to -50 000 ... 50 000 before the softmax."""
    return _mix(_t_weights(scores.clamp(-5e4, 5e4), source_mask), keys)


_SEEN = {}


def attend__wrong_subtle_mask_of_first_call(scores, keys, source_mask):
    """Keeps the mask of the first call with these sizes and uses it again for other batches of the same sizes."""
    return _mix(_t_weights(scores, _SEEN.setdefault(tuple(keys.shape), source_mask)), keys)


def attend__right_minus_inf_nan_to_num(scores, keys, source_mask):
    """Fills with -inf, takes torch.softmax and replaces the nan of empty rows; masked_fill keeps the gradient finite."""
    w = torch.softmax(scores.masked_fill(~source_mask, -math.inf), dim=-1)
    return (w.nan_to_num(0.0).unsqueeze(1) @ keys).squeeze(1)


def attend__right_loop_over_real(scores, keys, source_mask):
    """Loops over sentences, selects the real tokens and makes new zeros for empty rows."""
    rows = []
    for e, h, real in zip(scores, keys, source_mask):
        rows.append(torch.softmax(e[real], 0) @ h[real] if real.any() else torch.zeros(h.shape[1], dtype=h.dtype))
    return torch.stack(rows)


def attend__right_multiplied_penalty(scores, keys, source_mask):
    """Replaces pads arithmetically by -1e9, far below every legal score, and multiplies the context by whether a token is real."""
    m = source_mask.to(scores.dtype)
    w = torch.softmax(scores * m - 1e9 * (1 - m), 1)
    return (w[..., None] * keys).sum(1) * m.amax(1, keepdim=True)


def attend__right_logsumexp(scores, keys, source_mask):
    """Writes the weights as exp(e - logsumexp e) over a safe copy of the scores, with a dummy position for empty rows."""
    empty = ~source_mask.any(1, keepdim=True)
    e = torch.cat([torch.where(source_mask, scores, -1e300), torch.full_like(scores[:, :1], -1e300).masked_fill(empty, 0.0)], 1)
    w = torch.exp(e - torch.logsumexp(e, 1, keepdim=True))[:, :-1]
    return torch.einsum("bj,bjk->bk", w, keys)


def mended_attention__wrong_overflow_left(query, keys, source_mask, W_query, W_key, v):
    """Leaves exp without a shift, which overflows for large scores."""
    p = np.exp(_np_scores(query, keys, W_query, W_key, v)) * source_mask
    t = p.sum(1, keepdims=True)
    return np.sum((p / np.where(t > 0, t, 1))[:, :, None] * keys, axis=1)


def mended_attention__wrong_tanh_apart(query, keys, source_mask, W_query, W_key, v):
    """Takes the tanh of query and key apart before it adds them."""
    e = (np.tanh(query @ W_query.T)[:, None, :] + np.tanh(keys @ W_key.T)) @ v
    return np.einsum("bj,bjk->bk", _np_weights(e, source_mask), keys)


def mended_attention__wrong_subtle_clip(query, keys, source_mask, W_query, W_key, v):
    """Clips the scores at 700 to prevent the overflow, so larger scores become equal."""
    e = np.clip(_np_scores(query, keys, W_query, W_key, v), -700, 700)
    return np.einsum("bj,bjk->bk", _np_weights(e, source_mask), keys)


def mended_attention__wrong_subtle_large_negative(query, keys, source_mask, W_query, W_key, v):
    """Shifts by max(0, largest score), which prevents the overflow but lets rows of very negative scores vanish."""
    e = _np_scores(query, keys, W_query, W_key, v)
    top = np.maximum(np.where(source_mask, e, -np.inf).max(1, keepdims=True), 0)
    p = np.exp(np.where(source_mask, e, -np.inf) - top)
    t = p.sum(1, keepdims=True)
    return np.sum((p / np.where(t > 0, t, 1))[:, :, None] * keys, axis=1)


def mended_attention__wrong_subtle_epsilon(query, keys, source_mask, W_query, W_key, v):
    """Adds 1e-6 to the sum of the powers to be safe in empty rows, which changes every weight in the seventh digit."""
    e = np.where(source_mask, _np_scores(query, keys, W_query, W_key, v), -1e30)
    p = np.exp(e - e.max(1, keepdims=True)) * source_mask
    return np.sum((p / (p.sum(1, keepdims=True) + 1e-6))[:, :, None] * keys, axis=1)


def mended_attention__wrong_subtle_real_key_of_zeros(query, keys, source_mask, W_query, W_key, v):
    """Takes an annotation of zeros for a pad whatever the mask says."""
    real = source_mask & np.any(keys != 0, axis=2)
    return np.einsum("bj,bjk->bk", _np_weights(_np_scores(query, keys, W_query, W_key, v), real), keys)


def mended_attention__wrong_subtle_sorted_batch(query, keys, source_mask, W_query, W_key, v):
    """Leaves empty sentences out of the result's computation and puts the others at the front instead of at their places."""
    real = np.flatnonzero(source_mask.any(1))
    out = np.zeros((len(keys), keys.shape[2]))
    w = _np_weights(_np_scores(query, keys, W_query, W_key, v), source_mask)
    for at, b in enumerate(real):
        out[at] = w[b] @ keys[b]
    return out


def mended_attention__right_one_by_one(query, keys, source_mask, W_query, W_key, v):
    """Treats each sentence alone and selects its real tokens."""
    out = []
    for q, h, real in zip(query, keys, source_mask):
        h = h[real]
        if len(h) == 0:
            out.append(np.zeros(keys.shape[2]))
            continue
        out.append(_soft(np.tanh(W_query @ q + h @ W_key.T) @ v) @ h)
    return out


def mended_attention__right_einsum(query, keys, source_mask, W_query, W_key, v):
    """Uses einsum throughout and shifts by the largest real score."""
    s = np.tanh(np.einsum("aq,bq->ba", W_query, query)[:, None] + np.einsum("ak,bjk->bja", W_key, keys))
    return np.einsum("bj,bjk->bk", _np_weights(np.einsum("bja,a->bj", s, v), source_mask), keys)


def mended_attention__right_torch(query, keys, source_mask, W_query, W_key, v):
    """Uses torch and returns a tensor."""
    q, k, a, b, u = (torch.tensor(x, dtype=torch.float64) for x in (query, keys, W_query, W_key, v))
    e = torch.tanh((q @ a.T).unsqueeze(1) + k @ b.T) @ u
    return _mix(_t_weights(e, torch.tensor(source_mask)), k)


def mended_attention__right_joined(query, keys, source_mask, W_query, W_key, v):
    """Joins query and keys and multiplies by both matrices side by side; running rescaled sums in a loop."""
    B, T, K = keys.shape
    s = np.concatenate([np.repeat(query[:, None], T, axis=1), keys], axis=2)
    e = np.tanh(s @ np.hstack([W_query, W_key]).T) @ v
    out = []
    for b in range(B):
        top, total, c = -np.inf, 0.0, np.zeros(K)
        for j in range(T):
            if source_mask[b, j]:
                new = max(top, e[b, j])
                old, now = math.exp(top - new), math.exp(e[b, j] - new)
                total, c, top = total * old + now, c * old + now * keys[b, j], new
        out.append((c / total if total else c).tolist())
    return tuple(out)
