import math
from fractions import Fraction as _F
import numpy as np
import torch


def _sm(x, axis=-1):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


_D = torch.float64


# ---- shapes, one sentence
def sentence_shapes__wrong_one_direction(k, n, T_x):
    """Forgets that an annotation joins two directions: k instead of 2k."""
    return {"weighted": (T_x, k), "context": (k,), "jacobian": (k, T_x)}

def sentence_shapes__wrong_jacobian_transposed(k, n, T_x):
    """Gives the jacobian a row per score instead of a row per context entry."""
    return {"weighted": (T_x, 2 * k), "context": (2 * k,), "jacobian": (T_x, 2 * k)}

def sentence_shapes__right_numpy_shapes(k, n, T_x):
    """Builds the arrays and reads off their shapes."""
    w, h = np.zeros(T_x), np.zeros((T_x, 2 * k))
    a = w[:, None] * h
    return {"weighted": a.shape, "context": a.sum(0).shape, "jacobian": np.outer(a.sum(0), w).shape}

# ---- shapes, batch
def batch_shapes__wrong_column_row_swapped(batch, m, n, T_x, T_y):
    """Exchanges the column and the row."""
    return {"column": (batch, 1, T_x), "row": (batch, T_x, 1), "product": (batch, 1, m), "contexts": (batch, T_y, m)}

def batch_shapes__wrong_product_squeezed(batch, m, n, T_x, T_y):
    """Removes the axis of length 1 from the product already."""
    return {"column": (batch, T_x, 1), "row": (batch, 1, T_x), "product": (batch, m), "contexts": (batch, T_y, m)}

def batch_shapes__wrong_contexts_state_size(batch, m, n, T_x, T_y):
    """Gives a context the size n of the decoder state instead of m."""
    return {"column": (batch, T_x, 1), "row": (batch, 1, T_x), "product": (batch, 1, m), "contexts": (batch, T_y, n)}

def batch_shapes__right_torch_sizes(batch, m, n, T_x, T_y):
    """Shapes as torch sizes of real tensors."""
    w, h = torch.zeros(batch, T_x), torch.zeros(batch, T_x, m)
    r = w.unsqueeze(1)
    return {"column": tuple(w.unsqueeze(2).shape), "row": tuple(r.shape), "product": tuple((r @ h).shape),
            "contexts": tuple((torch.zeros(batch, T_y, T_x) @ h).shape)}

# ---- note D
_H = [[.1, .7, .5, .3], [-.1, -.7, .4, .6], [.7, .2, -.3, .4]]

def context_of_note_d__wrong_plain_mean():
    """Averages the annotations with equal weights."""
    return np.mean(_H, axis=0).tolist()

def context_of_note_d__wrong_weights_reversed():
    """Uses the weights in reverse order."""
    return (np.array([.1, .2, .7]) @ np.array(_H)).tolist()

def context_of_note_d__right_loops():
    """Exact fractions, in loops."""
    w = [_F(7, 10), _F(2, 10), _F(1, 10)]
    return [float(sum(a * _F(str(h[i])) for a, h in zip(w, _H))) for i in range(4)]

# ---- twin
_T = np.array([[2, -1, .5], [-.5, 3, 1], [4, 0, -2], [1, -2, .25]])

def context_twin__wrong_fourth_left_out():
    """Leaves the fourth annotation out."""
    return (np.array([.15, .42, .05]) @ _T[:3]).tolist()

def context_twin__wrong_renormalised():
    """Rescales the three known weights to add to 1 instead of finding the fourth."""
    w = np.array([.15, .42, .05])
    return (w / w.sum() @ _T[:3]).tolist()

def context_twin__right_torch():
    """The result as a torch tensor."""
    w = torch.tensor([.15, .42, .05, 0], dtype=_D)
    w[3] = 1 - w.sum()
    return w @ torch.from_numpy(_T)

# ---- weights from context
def weights_from_context__wrong_min_norm():
    """Takes the least-norm solution of the two equations and forgets that weights add to 1."""
    return np.linalg.lstsq(np.array([[1., 5, 3], [2, 0, 6]]), np.array([2.36, 3.14]), rcond=None)[0].tolist()

def weights_from_context__wrong_swapped_order():
    """Exchanges the first and the second weight."""
    return [.158, .478, .364]

def weights_from_context__right_solve():
    """Solves the three equations, returned as an array."""
    return np.linalg.solve(np.array([[1., 5, 3], [2, 0, 6], [1, 1, 1]]), np.array([2.36, 3.14, 1]))

# ---- gradient by hand
_W3, _H3 = np.array([.55, .15, .3]), np.array([[.4, -.2], [1, .6], [-.5, .9]])

def gradient_by_hand__wrong_no_softmax():
    """Takes the derivative by the weight, h_3, instead of by the score."""
    return [-.5, .9]

def gradient_by_hand__wrong_own_term_only():
    """Keeps only w(1-w) h_3 and forgets that the other weights fall."""
    return (.3 * .7 * _H3[2]).tolist()

def gradient_by_hand__right_difference():
    """A central difference of high enough accuracy on the logarithms of the weights."""
    e, d = np.log(_W3), np.array([0, 0, 1e-5])
    return ((_sm(e + d) - _sm(e - d)) @ _H3 / 2e-5).tolist()

# ---- pull of two
def _pull(L=None, a=None, g=None):
    p = 1 / (1 + math.exp(-3))
    return {"largest": 1.25 if L is None else L, "at_three": [4 * p * (1 - p), -3 * p * (1 - p)] if a is None else a,
            "gap": 2 * math.acosh(math.sqrt(10)) if g is None else g}

def pull_of_two__wrong_one_weight_only():
    """Multiplies the difference by the first weight only in at_three."""
    p = 1 / (1 + math.exp(-3))
    return _pull(a=[4 * p, -3 * p])

def pull_of_two__wrong_gap_approximation():
    """Approximates w1 w2 by exp(-gap) when it solves for the gap, which gives ln 40."""
    return _pull(g=math.log(40))

def pull_of_two__wrong_subtle_gap_negative():
    """Takes the other root of the quadratic: the first score is smaller there."""
    return _pull(g=-2 * math.acosh(math.sqrt(10)))

def pull_of_two__right_quadratic():
    """The gap from the quadratic equation p(1-p) = 1/40."""
    p = (1 + math.sqrt(.9)) / 2
    return _pull(g=math.log(p) - math.log1p(-p), a=np.array([4., -3]) / (2 + 2 * math.cosh(3)))

# ---- context_vector
def context_vector__wrong_sum_axis(weights, keys):
    """Sums over the key entries instead of the positions."""
    return (weights[:, :, None] * keys).sum(axis=2)

def context_vector__wrong_batch_mixed(weights, keys):
    """Sums over the batch as well: every sentence gets the same context."""
    return np.tile(np.einsum("bj,bjk->k", weights, keys), (len(keys), 1))

def context_vector__wrong_softmax_again(weights, keys):
    """Applies the softmax to the weights a second time."""
    return np.einsum("bj,bjk->bk", _sm(weights), keys)

def context_vector__wrong_subtle_squeeze(weights, keys):
    """Squeezes every axis of length 1, so a batch of one or a key of one number loses its axis."""
    return (weights[:, None, :] @ keys).squeeze()

def context_vector__wrong_subtle_small_dropped(weights, keys):
    """Drops weights below a millionth as if they were 0."""
    return np.einsum("bj,bjk->bk", np.where(weights < 1e-6, 0, weights), keys)

def context_vector__wrong_subtle_equal_axes(weights, keys):
    """Where source_len equals key_size, multiplies each entry instead of each annotation by the weights."""
    w = weights[:, None, :] if weights.shape[1] == keys.shape[2] else weights[:, :, None]
    return (w * keys).sum(axis=1)

def context_vector__wrong_subtle_float32(weights, keys):
    """Computes in single precision."""
    return np.einsum("bj,bjk->bk", weights.astype(np.float32), keys.astype(np.float32)).astype(float)

def context_vector__right_fsum_lists(weights, keys):
    """Python lists, math.fsum."""
    return [[math.fsum(w * x for w, x in zip(ws, col)) for col in zip(*ks)] for ws, ks in zip(weights.tolist(), keys.tolist())]

def context_vector__right_skip_zeros_fortran(weights, keys):
    """Accumulates over positions with nonzero weight, in Fortran order."""
    out = np.zeros((keys.shape[0], keys.shape[2]), order="F")
    for b, j in zip(*np.nonzero(weights)):
        out[b] += weights[b, j] * keys[b, j]
    return out

# ---- scores_gradient
def _dw(g, keys):
    return np.einsum("bk,bjk->bj", g, keys)

def scores_gradient__wrong_stops_at_weights(context_gradient, weights, keys):
    """Stops at the gradient of the weights, without the softmax."""
    return _dw(context_gradient, keys)

def scores_gradient__wrong_diagonal_only(context_gradient, weights, keys):
    """Uses only the diagonal w(1-w) of the softmax's jacobian."""
    return weights * (1 - weights) * _dw(context_gradient, keys)

def scores_gradient__wrong_plain_mean(context_gradient, weights, keys):
    """Subtracts the plain instead of the weighted mean of the weights' gradients."""
    d = _dw(context_gradient, keys)
    return weights * (d - d.mean(axis=1, keepdims=True))

def scores_gradient__wrong_no_outer_weight(context_gradient, weights, keys):
    """Centres the weights' gradients and forgets the factor w."""
    d = _dw(context_gradient, keys)
    return (d - (weights * d).sum(1, keepdims=True)) * (weights > 0)

def scores_gradient__wrong_keepdims(context_gradient, weights, keys):
    """Subtracts the means without keeping the axis, so they broadcast along the wrong one or not at all."""
    d = _dw(context_gradient, keys)
    return weights * (d - (weights * d).sum(1))

def scores_gradient__wrong_subtle_empty_rows(context_gradient, weights, keys):
    """Normalises the weights again, which divides 0 by 0 in a sentence without real tokens."""
    w = weights / weights.sum(1, keepdims=True)
    d = _dw(context_gradient, keys)
    return w * (d - (w * d).sum(1, keepdims=True))

def scores_gradient__wrong_subtle_threshold(context_gradient, weights, keys):
    """Treats weights below 1e-6 as pads with derivative 0."""
    d = _dw(context_gradient, keys)
    r = weights * (d - (weights * d).sum(1, keepdims=True))
    return np.where(weights > 1e-6, r, 0)

def scores_gradient__right_full_jacobian(context_gradient, weights, keys):
    """Builds the whole jacobian diag(w) - w w^T for each sentence."""
    return np.stack([(np.diag(w) - np.outer(w, w)) @ (k @ g) for g, w, k in zip(context_gradient, weights, keys)])

def scores_gradient__right_pairs(context_gradient, weights, keys):
    """Pairs of positions: sum_k w_j w_k (d_j - d_k), with no context at all."""
    d = _dw(context_gradient, keys)
    return np.einsum("bj,bi,bji->bj", weights, weights, d[:, :, None] - d[:, None, :])

def scores_gradient__right_autograd(context_gradient, weights, keys):
    """Torch autograd through a softmax of log weights, over nonzero weights only; returns nested lists."""
    out = torch.zeros(weights.shape, dtype=_D)
    for b in range(len(weights)):
        i = np.flatnonzero(weights[b])
        if len(i):
            e = torch.tensor(np.log(weights[b, i]), dtype=_D, requires_grad=True)
            c = torch.softmax(e, 0) @ torch.tensor(keys[b, i])
            (c @ torch.tensor(context_gradient[b])).backward()
            out[b, torch.as_tensor(i)] = e.grad
    return out.tolist()

# ---- attend
def _w(scores, mask, fill=-1e9):
    return torch.softmax(scores.masked_fill(~mask, fill), -1)

def _mix(w, keys):
    return torch.einsum("bj,bjk->bk", w, keys)

def attend__wrong_mask_after(scores, keys, source_mask):
    """Masks the weights after the softmax and does not normalise again."""
    return _mix(torch.softmax(scores, -1) * source_mask, keys)

def attend__wrong_scores_to_zero(scores, keys, source_mask):
    """Sets pad scores to 0 instead of minus infinity."""
    return _mix(torch.softmax(scores * source_mask, -1), keys)

def attend__wrong_overflow(scores, keys, source_mask):
    """Exponentiates without subtracting the maximum."""
    e = torch.exp(scores) * source_mask
    return _mix(e / e.sum(1, keepdim=True).clamp(min=1e-300), keys)

def attend__wrong_empty_uniform(scores, keys, source_mask):
    """Gives an all-pad sentence the plain mean of its pads, since all have the same finite fill."""
    return _mix(_w(scores, source_mask), keys)

def attend__wrong_detached_weights(scores, keys, source_mask):
    """Detaches the weights, so no gradient reaches the scores."""
    return _mix((_w(scores, source_mask) * source_mask).detach(), keys)

def attend__wrong_subtle_detached_sum(scores, keys, source_mask):
    """Detaches the normaliser, so values are right but the gradient of the scores lacks its second term."""
    s = scores.masked_fill(~source_mask, -1e9)
    e = torch.exp(s - s.max(1, keepdim=True)[0].detach()) * source_mask
    return _mix(e / e.sum(1, keepdim=True).clamp(min=1e-9).detach(), keys)

def attend__wrong_subtle_add_inf(scores, keys, source_mask):
    """Adds minus infinity and repairs NaN afterwards: in an all-pad sentence the gradient of the scores is NaN."""
    m = torch.zeros_like(scores).masked_fill(~source_mask, float("-inf"))
    return _mix(torch.nan_to_num(torch.softmax(scores + m, -1)), keys)

def attend__wrong_subtle_fill_1e5(scores, keys, source_mask):
    """Fills pads with -100000, which real scores may reach too."""
    w = _w(scores, source_mask, -1e5)
    return _mix(w, keys) * source_mask.any(1, keepdim=True)

def attend__wrong_subtle_max_with_pads(scores, keys, source_mask):
    """Subtracts the maximum over pads too, so a large pad score makes all real powers 0."""
    e = torch.exp(scores - scores.max(1, keepdim=True)[0].detach()) * source_mask
    return _mix(e / e.sum(1, keepdim=True).clamp(min=1e-300), keys)

def attend__wrong_subtle_eps(scores, keys, source_mask):
    """Adds 1e-7 to the normaliser, more than the precision allows."""
    s = scores.masked_fill(~source_mask, -1e9)
    e = torch.exp(s - s.max(1, keepdim=True)[0]) * source_mask
    return _mix(e / (e.sum(1, keepdim=True) + 1e-7), keys)

def attend__right_select_rows(scores, keys, source_mask):
    """Selects the real tokens sentence by sentence; new zeros, without a graph, for empty ones."""
    return torch.stack([torch.softmax(s[m], 0) @ k[m] if m.any() else torch.zeros(k.shape[1], dtype=_D)
                        for s, k, m in zip(scores, keys, source_mask)])

def attend__right_inf_two_wheres(scores, keys, source_mask):
    """Minus infinity at pads, and a harmless 0 in empty rows, removed afterwards."""
    some = source_mask.any(1, keepdim=True)
    s = torch.where(source_mask, scores, -math.inf)
    w = torch.softmax(torch.where(some, s, 0.0), -1)
    return torch.where(some, torch.bmm(w.unsqueeze(1), keys).squeeze(1), 0.0)

def attend__right_logsumexp(scores, keys, source_mask):
    """exp(score - logsumexp) with a finite fill, masked once more at the end."""
    s = scores.masked_fill(~source_mask, -1e12)
    w = torch.exp(s - torch.logsumexp(s, 1, keepdim=True)).masked_fill(~source_mask, 0)
    return (w.unsqueeze(-1) * keys).sum(1)

# ---- mended_attention
def _scores(query, keys, mask, Wq, Wk, v):
    k = np.where(mask[:, :, None], keys, 0)
    return np.tanh((query @ Wq.T)[:, None, :] + k @ Wk.T) @ v

def _attend(s, mask, keys):
    s = np.where(mask, s, -1e9)
    w = _sm(s) * mask
    return (w[:, :, None] * keys).sum(1)

def mended_attention__wrong_unmended_query(query, keys, source_mask, W_query, W_key, v):
    """Leaves the query without a position axis, so it pairs queries with positions."""
    p = query @ W_query.T + np.where(source_mask[:, :, None], keys, 0) @ W_key.T
    return _attend(np.tanh(p) @ v, source_mask, keys)

def mended_attention__wrong_mask_not_renormalised(query, keys, source_mask, W_query, W_key, v):
    """Masks after the softmax without normalising again."""
    w = _sm(_scores(query, keys, source_mask, W_query, W_key, v)) * source_mask
    return (w[:, :, None] * keys).sum(1)

def mended_attention__wrong_sum_over_batch(query, keys, source_mask, W_query, W_key, v):
    """Normalises over the whole batch instead of each sentence."""
    s = np.where(source_mask, _scores(query, keys, source_mask, W_query, W_key, v), -np.inf)
    e = np.exp(s - (s.max() if source_mask.any() else 0))
    return ((e / max(e.sum(), 1e-300))[:, :, None] * keys).sum(1)

def mended_attention__wrong_no_max(query, keys, source_mask, W_query, W_key, v):
    """Mends all but the overflow of exp."""
    e = np.exp(_scores(query, keys, source_mask, W_query, W_key, v)) * source_mask
    t = e.sum(1, keepdims=True)
    return ((e / np.where(t == 0, 1, t))[:, :, None] * keys).sum(1)

def mended_attention__wrong_empty_nan(query, keys, source_mask, W_query, W_key, v):
    """Divides 0 by 0 in a sentence without real tokens."""
    s = np.where(source_mask, _scores(query, keys, source_mask, W_query, W_key, v), -np.inf)
    return (_sm(s)[:, :, None] * keys).sum(1)

def mended_attention__wrong_clipped_scores(query, keys, source_mask, W_query, W_key, v):
    """Clips scores to 700 against overflow, so large scores become equal."""
    return _attend(np.clip(_scores(query, keys, source_mask, W_query, W_key, v), -700, 700), source_mask, keys)

def mended_attention__wrong_subtle_batch_max(query, keys, source_mask, W_query, W_key, v):
    """Subtracts the maximum of the whole batch, so sentences with much smaller scores underflow to 0."""
    s = np.where(source_mask, _scores(query, keys, source_mask, W_query, W_key, v), -np.inf)
    e = np.exp(s - (s.max() if source_mask.any() else 0))
    t = e.sum(1, keepdims=True)
    return ((e / np.where(t == 0, 1, t))[:, :, None] * keys).sum(1)

def mended_attention__wrong_subtle_max_with_zero(query, keys, source_mask, W_query, W_key, v):
    """Multiplies scores by the mask before the maximum: pads count as 0, so very negative real scores underflow."""
    s = _scores(query, keys, source_mask, W_query, W_key, v) * source_mask
    e = np.exp(s - s.max(1, keepdims=True)) * source_mask
    t = e.sum(1, keepdims=True)
    return ((e / np.where(t == 0, 1, t))[:, :, None] * keys).sum(1)

def mended_attention__wrong_subtle_square(query, keys, source_mask, W_query, W_key, v):
    """Forgets to transpose W_query where it is square."""
    W = W_query.T if W_query.shape[0] == W_query.shape[1] else W_query
    return _attend(_scores(query, keys, source_mask, W, W_key, v), source_mask, keys)

def mended_attention__right_sentence_by_sentence(query, keys, source_mask, W_query, W_key, v):
    """Each sentence alone, over its real tokens."""
    out = []
    for q, k, m in zip(query, keys, source_mask):
        k = k[m]
        out.append(_sm(np.tanh(W_query @ q + k @ W_key.T) @ v) @ k if len(k) else np.zeros(k.shape[1]))
    return np.array(out)

def mended_attention__right_batched(query, keys, source_mask, W_query, W_key, v):
    """Batched, a finite fill and a mask at the end."""
    return _attend(_scores(query, keys, source_mask, W_query, W_key, v), source_mask, keys)
