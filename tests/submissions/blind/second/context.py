import math
from fractions import Fraction

import numpy as np
import torch


# ---- batch_shapes


def batch_shapes__wrong_column_repeated(batch, m, n, T_x, T_y):
    """The student writes the column as long as the annotations it multiplies."""
    return {"column": (batch, T_x, m), "row": (batch, 1, T_x), "product": (batch, 1, m), "contexts": (batch, T_y, m)}


def batch_shapes__wrong_contexts_read_by_decoder(batch, m, n, T_x, T_y):
    """The student joins contexts and decoder states in the last axis."""
    return {"column": (batch, T_x, 1), "row": (batch, 1, T_x), "product": (batch, 1, m), "contexts": (batch, T_y, m + n)}


def batch_shapes__right_arrays(batch, m, n, T_x, T_y):
    """Products of numpy's broadcast zeros, shapes read off in another order of keys."""
    w = np.broadcast_to(0.0, (batch, T_y, T_x))
    h = np.broadcast_to(0.0, (batch, T_x, m))
    row = w[:, :1]
    return {"contexts": (w @ h).shape, "row": row.shape, "column": row.swapaxes(1, 2).shape, "product": (row @ h).shape}


# ---- context_of_note_c


# ---- weights_from_context


def weights_from_context__right_cramer():
    """Cramer's rule in exact fractions."""
    h, c = [(1, 2), (5, 0), (3, 6)], (Fraction("2.36"), Fraction("3.14"))

    def det(a, b, d):
        return a[0] * (b[1] - d[1]) - b[0] * (a[1] - d[1]) + d[0] * (a[1] - b[1])
    whole = det(*h)
    return tuple(float(det(*[c if i == k else x for i, x in enumerate(h)]) / whole) for k in range(3))


# ---- scores_gradient


def scores_gradient__wrong_scores_recovered(context_gradient, weights, keys):
    """The student goes back to scores by logarithms with a floor and a new softmax, which makes weights of 0 even in an empty sentence."""
    e = np.log(np.maximum(weights, 1e-30))
    w = np.exp(e - e.max(axis=1, keepdims=True))
    w /= w.sum(axis=1, keepdims=True)
    g = np.einsum("bk,bjk->bj", context_gradient, keys)
    return w * (g - (w * g).sum(axis=1, keepdims=True))


def scores_gradient__wrong_total_along_batch(context_gradient, weights, keys):
    """The student forgets to keep the axis of the total, which runs where batch and length agree, and keeps it elsewhere."""
    g = np.einsum("bk,bjk->bj", context_gradient, keys)
    total = (weights * g).sum(axis=1)
    return weights * (g - (total if g.shape[0] == g.shape[1] else total[:, None]))


def scores_gradient__wrong_weight_twice(context_gradient, weights, keys):
    """The student multiplies by the weights before and after the total is subtracted."""
    g = weights * np.einsum("bk,bjk->bj", context_gradient, keys)
    return weights * (g - g.sum(axis=1, keepdims=True))


def scores_gradient__wrong_in_place(context_gradient, weights, keys):
    """The student subtracts the growing total in place while he still reads the gradients by the weights."""
    g = np.einsum("bk,bjk->bj", context_gradient, keys)
    for j in range(g.shape[1]):
        g[:, j] -= (weights * g).sum(axis=1)
    return weights * g


def scores_gradient__wrong_keys_by_size(context_gradient, weights, keys):
    """The student pairs the gradient with positions instead of entries where both are as many."""
    if keys.shape[1] == keys.shape[2]:
        g = np.einsum("bk,bkj->bj", context_gradient, keys)
    else:
        g = np.einsum("bk,bjk->bj", context_gradient, keys)
    return weights * (g - (weights * g).sum(axis=1, keepdims=True))


def scores_gradient__right_jacobian_matrices(context_gradient, weights, keys):
    """Writes out the matrix of the softmax for each sentence."""
    J = weights[:, :, None] * np.eye(weights.shape[1]) - weights[:, :, None] * weights[:, None]
    return (J @ (keys @ context_gradient[:, :, None]))[:, :, 0]


def scores_gradient__right_centred_annotations(context_gradient, weights, keys):
    """Annotations less the context, weighted, times the gradient."""
    context = np.matmul(weights[:, None], keys)
    return weights * np.matmul(keys - context, context_gradient[..., None]).squeeze(-1)


def scores_gradient__right_pairs_with_fsum(context_gradient, weights, keys):
    """Sums over pairs of positions, where the shares of each pair cancel; completed by what the sum lacks to 1."""
    out = np.zeros(weights.shape)
    for b, (c, w, h) in enumerate(zip(context_gradient.tolist(), weights.tolist(), keys.tolist())):
        g = [math.fsum(x * y for x, y in zip(c, row)) for row in h]
        for j in range(len(w)):
            out[b, j] = w[j] * math.fsum(a * (g[j] - x) for a, x in zip(w, g))
    return out


# ---- attend

def attend__right_nan_replaced_afterwards(scores, keys, source_mask):
    """Softmax of minus infinities, its numbers that are none replaced by 0; masked_fill stops their gradients."""
    w = torch.softmax(scores.masked_fill(~source_mask, -torch.inf), dim=1).nan_to_num(0.0)
    return torch.einsum("bj,bjk->bk", w, keys)


def attend__right_where_after_softmax(scores, keys, source_mask):
    """Weights chosen by torch.where after a softmax of minus infinities; the first torch.where stops the gradients that are none."""
    w = torch.softmax(torch.where(source_mask, scores, -torch.inf), dim=1)
    w = torch.where(source_mask.any(1, keepdim=True), w, torch.zeros_like(w))
    return (w[:, None] @ keys)[:, 0]


def attend__wrong_exponential_of_high_pads(scores, keys, source_mask):
    """The student takes the exponentials of pads as well before torch.where, which overflow and spoil the gradient."""
    top = scores.masked_fill(~source_mask, -torch.inf).amax(1, keepdim=True)
    top = torch.where(source_mask.any(1, keepdim=True), top, 0.0).detach()
    e = torch.where(source_mask, torch.exp(scores - top), 0.0)
    w = e / e.sum(1, keepdim=True).clamp(min=1e-30)
    return (w[:, None] @ keys)[:, 0]


def attend__wrong_maximum_over_pads(scores, keys, source_mask):
    """The student subtracts the maximum of the whole row, pads included."""
    e = torch.exp(scores - scores.amax(1, keepdim=True).detach()) * source_mask
    w = e / e.sum(1, keepdim=True).clamp(min=1e-30)
    return (w[:, None] @ keys)[:, 0]


def attend__right_division_inside_where(scores, keys, source_mask):
    """Divides by 0 in empty rows, chooses by torch.where, and lets masked_fill stop what is no number."""
    s = scores.masked_fill(~source_mask, -1e9)
    e = torch.exp(s - s.amax(1, keepdim=True)) * source_mask
    total = e.sum(1, keepdim=True)
    w = torch.where(total > 0, e / total, torch.zeros_like(e))
    return torch.einsum("bj,bjk->bk", w, keys)


def attend__wrong_weights_detached(scores, keys, source_mask):
    """The student computes the weights without gradients."""
    with torch.no_grad():
        w = torch.softmax(scores.masked_fill(~source_mask, -1e9), dim=1) * source_mask
    return torch.bmm(w.unsqueeze(1), keys).squeeze(1) + 0 * scores.sum(1, keepdim=True)


def attend__wrong_renormalised_with_epsilon(scores, keys, source_mask):
    """The student divides the blanked weights of the whole row by their sum, which is 0 beside a pad thousands above."""
    w = torch.softmax(scores, dim=1) * source_mask
    w = w / (w.sum(1, keepdim=True) + 1e-12)
    return torch.einsum("bj,bjk->bk", w, keys)


def attend__wrong_keys_copied(scores, keys, source_mask):
    """The student takes the annotations of one row at a time as new tensors, which gradients do not reach."""
    rows = []
    for e, h, mask in zip(scores, keys, source_mask):
        real = torch.tensor(h[mask].tolist(), dtype=h.dtype).reshape(-1, h.shape[1])
        rows.append(e[mask].softmax(0) @ real + 0 * h.sum(0))
    return torch.stack(rows)


def attend__wrong_prefix(scores, keys, source_mask):
    """The student counts the real words and takes as many from the front of the row."""
    n = source_mask.sum(1, keepdim=True)
    mask = torch.arange(scores.shape[1]) < n
    w = torch.softmax(scores.masked_fill(~mask, -1e9), dim=1) * mask
    return torch.einsum("bj,bjk->bk", w, keys)


def attend__right_gathered_rows(scores, keys, source_mask):
    """Row by row over the real words only; an empty row is an empty product, so zeros."""
    return torch.stack([torch.softmax(e[m], 0) @ h[m] for e, h, m in zip(scores, keys, source_mask)])


def attend__right_extra_position(scores, keys, source_mask):
    """Gives only empty rows a further position of zeros to rest on, with minus infinity elsewhere."""
    empty = ~source_mask.any(1, keepdim=True)
    rest = torch.zeros_like(scores[:, :1]).masked_fill(~empty, -math.inf)
    e = torch.cat([scores.masked_fill(~source_mask, -math.inf), rest], 1)
    h = torch.cat([keys, torch.zeros_like(keys[:, :1])], 1)
    return torch.einsum("bj,bjk->bk", e.softmax(1), h)


def attend__right_masked_twice(scores, keys, source_mask):
    """Pads filled with the lowest finite number, weights blanked after the softmax, sum by hand."""
    e = torch.where(source_mask, scores, torch.full_like(scores, torch.finfo(scores.dtype).min))
    w = torch.softmax(e, -1).masked_fill(source_mask.logical_not(), 0)
    return torch.mul(w[..., None], keys).sum(-2)


def attend__right_flat_scatter(scores, keys, source_mask):
    """A flat list of the real words, with totals and sums by index_add."""
    b, _ = source_mask.nonzero(as_tuple=True)
    low = torch.full_like(scores, -math.inf)
    top = torch.where(source_mask, scores, low).amax(1).detach()
    e = torch.exp(scores[source_mask] - top[b])
    total = torch.zeros_like(scores[:, 0]).index_add(0, b, e)
    return torch.zeros_like(keys[:, 0]).index_add(0, b, (e / total[b])[:, None] * keys[source_mask])


def attend__wrong_minus_infinity_added(scores, keys, source_mask):
    """The student adds minus infinity at pads and replaces what is no number after the softmax, which leaves the gradients of an empty row none."""
    bias = torch.zeros_like(scores).masked_fill(~source_mask, -torch.inf)
    w = torch.softmax(scores + bias, dim=1).nan_to_num(0.0)
    return torch.einsum("bj,bjk->bk", w, keys)


def attend__wrong_division_chosen_too_late(scores, keys, source_mask):
    """The student divides by a total of 0 in empty rows before torch.where, and nothing stops the gradient on its way to the scores."""
    s = scores - 1e9 * (~source_mask)
    e = torch.exp(s - s.amax(1, keepdim=True)) * source_mask
    total = e.sum(1, keepdim=True)
    w = torch.where(total > 0, e / total, torch.zeros_like(e))
    return (w[..., None] * keys).sum(1)


def attend__wrong_epsilon_in_total(scores, keys, source_mask):
    """The student adds 1e-5 to the total so that an empty row can be divided."""
    e = scores.masked_fill(~source_mask, -1e9)
    e = torch.exp(e - e.amax(1, keepdim=True).detach()) * source_mask
    return torch.einsum("bj,bjk->bk", e / (e.sum(1, keepdim=True) + 1e-5), keys)


def attend__wrong_empty_row_on_first_position(scores, keys, source_mask):
    """The student catches empty rows by a detour over the first position, whose annotation then counts in them."""
    empty = ~source_mask.any(1)
    mask = source_mask.clone()
    mask[empty, 0] = True
    w = torch.softmax(scores.masked_fill(~mask, -torch.inf), dim=1)
    return torch.einsum("bj,bjk->bk", w, keys)


class _Attention:
    def __init__(self, source_mask):
        self.mask = source_mask

    def __call__(self, scores, keys):
        safe = torch.where(self.mask.any(1, keepdim=True), self.mask, True)
        logs = scores.masked_fill(~safe, -math.inf).log_softmax(1)
        w = logs.masked_fill(~self.mask, -math.inf).exp()
        return torch.baddbmm(keys.new_zeros(len(keys), 1, keys.shape[2]), w[:, None], keys).flatten(1)


def attend__right_class_with_logs(scores, keys, source_mask):
    """A class with __call__, log_softmax over all positions of an empty row, blanked before exp."""
    return _Attention(source_mask)(scores, keys)
