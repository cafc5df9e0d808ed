import collections
import math
from fractions import Fraction

import numpy as np
import torch


# ---------------------------------------------------------------- batch_shapes


def batch_shapes__wrong_product_column(batch, m, n, T_x, T_y):
    """The student leaves the one column at the end of the product."""
    return {"column": (batch, T_x, 1), "row": (batch, 1, T_x), "product": (batch, m, 1), "contexts": (batch, T_y, m)}


def batch_shapes__wrong_contexts_of_decoder_size(batch, m, n, T_x, T_y):
    """The student gives contexts the size of the decoder state."""
    return {"column": (batch, T_x, 1), "row": (batch, 1, T_x), "product": (batch, 1, m), "contexts": (batch, T_y, n)}


def batch_shapes__wrong_contexts_per_source_position(batch, m, n, T_x, T_y):
    """The student counts a context for each source position and not for each step."""
    return {"column": (batch, T_x, 1), "row": (batch, 1, T_x), "product": (batch, 1, m), "contexts": (batch, T_x, m)}


def batch_shapes__wrong_row_without_batch(batch, m, n, T_x, T_y):
    """The student lets the batch itself be the rows of the left factor."""
    return {"column": (batch, T_x, 1), "row": (1, batch, T_x), "product": (batch, 1, m), "contexts": (batch, T_y, m)}


def batch_shapes__right_by_products(batch, m, n, T_x, T_y):
    """Real products of zeros in numpy, in a namedtuple turned into a dict."""
    w, h = np.zeros((batch, T_x)), np.zeros((batch, T_x, m))
    kind = collections.namedtuple("Shapes", "column row product contexts")
    row = np.expand_dims(w, 1)
    all_steps = np.concatenate([row @ h] * T_y, axis=1)
    return kind(w[..., None].shape, row.shape, (row @ h).shape, all_steps.shape)._asdict()


# ---------------------------------------------------------------- context_of_note_c

def _note_c(e_1, e_2):
    a = 1 / (1 + math.exp(e_2 - e_1))
    return [0.2 * a + 0.8 * (1 - a)] * 2


# ---------------------------------------------------------------- weights_from_context


def weights_from_context__wrong_normalised_after():
    """The student divides the shortest solution of the two equations by its sum."""
    w = np.linalg.lstsq(np.array([[1., 5, 3], [2, 0, 6]]), np.array([2.36, 3.14]), rcond=None)[0]
    return (w / w.sum()).tolist()


def weights_from_context__wrong_two_decimals():
    """The student rounds to two decimals."""
    return [0.48, 0.16, 0.36]


def weights_from_context__wrong_softmax_of_distances():
    """The student weights by the distance of each annotation to the context."""
    d = [-math.dist((2.36, 3.14), h) for h in ((1, 2), (5, 0), (3, 6))]
    p = [math.exp(x) for x in d]
    return [x / sum(p) for x in p]


def weights_from_context__right_areas():
    """Areas of triangles, as barycentric coordinates."""
    def area(p, q, r):
        return (q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0])
    a, b, d, c = (1, 2), (5, 0), (3, 6), (2.36, 3.14)
    whole = area(a, b, d)
    return (area(c, b, d) / whole, area(a, c, d) / whole, area(a, b, c) / whole)


def weights_from_context__right_cramer_fractions():
    """Cramer's rule in exact fractions."""
    rows, right = [(1, 5, 3), (2, 0, 6), (1, 1, 1)], [Fraction(236, 100), Fraction(314, 100), Fraction(1)]

    def det(m):
        return sum(m[0][k] * (m[1][(k + 1) % 3] * m[2][(k + 2) % 3] - m[1][(k + 2) % 3] * m[2][(k + 1) % 3]) for k in range(3))
    return [det([[right[i] if j == k else rows[i][j] for j in range(3)] for i in range(3)]) / det(rows) for k in range(3)]


# ---------------------------------------------------------------- scores_gradient

def scores_gradient__wrong_stops_at_weights(context_gradient, weights, keys):
    """The student stops at the derivative by the weights and clears it where a weight is 0."""
    return np.einsum("bk,bjk->bj", context_gradient, keys) * (weights > 0)


def scores_gradient__wrong_mean_over_batch(context_gradient, weights, keys):
    """The student sums the second term over the whole batch, right for a batch of one."""
    g = np.einsum("bk,bjk->bj", context_gradient, keys)
    return weights * (g - (weights * g).sum())


def scores_gradient__wrong_sum_without_axis(context_gradient, weights, keys):
    """The student drops the axis of the second term, wrong where batch and source_len agree (an error elsewhere)."""
    g = np.einsum("bk,bjk->bj", context_gradient, keys)
    return weights * (g - (weights * g).sum(axis=1))


def scores_gradient__wrong_pads_centred(context_gradient, weights, keys):
    """The student multiplies by the weights first and takes off the mean, so that rows add to 0 but pads do not stay 0."""
    g = np.einsum("bk,bjk->bj", context_gradient, keys) * weights
    return g - g.mean(axis=1, keepdims=True)


def scores_gradient__wrong_weights_twice(context_gradient, weights, keys):
    """The student weights the annotations before the product, so that the weight enters twice."""
    g = np.einsum("bk,bjk->bj", context_gradient, weights[..., None] * keys)
    return weights * (g - (weights * g).sum(axis=1, keepdims=True))


def scores_gradient__wrong_finite_differences(context_gradient, weights, keys):
    """The student uses differences over a step of 0.01 in each score, right to two or three digits only."""
    out = np.zeros(weights.shape)
    base = np.einsum("bj,bjk->bk", weights, keys)
    for j in range(weights.shape[1]):
        up = weights.copy().astype(float)
        up[:, j] *= math.exp(0.01)
        total = up.sum(axis=1, keepdims=True)
        up = up / np.where(total > 0, total, 1)
        out[:, j] = ((np.einsum("bj,bjk->bk", up, keys) - base) * context_gradient).sum(axis=1) / 0.01
    return out


def scores_gradient__wrong_first_gradient(context_gradient, weights, keys):
    """The student carries the first sentence's gradient back into all sentences."""
    g = keys @ context_gradient[0]
    return weights * (g - (weights * g).sum(axis=1, keepdims=True))


def scores_gradient__wrong_epsilon_small_weights(context_gradient, weights, keys):
    """The student treats weights below 0.001 as pads, and loses their derivatives."""
    g = np.einsum("bk,bjk->bj", context_gradient, keys)
    return np.where(weights < 1e-3, 0.0, weights * (g - (weights * g).sum(axis=1, keepdims=True)))


def scores_gradient__wrong_keys_without_batch(context_gradient, weights, keys):
    """The student multiplies (batch, key_size) to the keys without a new axis: sentences meet positions where they are as many."""
    g = (keys * context_gradient).sum(-1)
    return weights * (g - (weights * g).sum(axis=1, keepdims=True))


def scores_gradient__right_jacobian(context_gradient, weights, keys):
    """The full matrix of derivatives for each sentence, from the right."""
    h = np.where(weights[..., None] == 0, 0, keys)
    J = weights[:, :, None] * (np.eye(weights.shape[1]) - weights[:, None, :])
    return np.einsum("bjl,blk,bk->bj", J, h, context_gradient)


def scores_gradient__right_against_context(context_gradient, weights, keys):
    """Each annotation minus the context, times weight and gradient."""
    h = np.where(weights[..., None] == 0, 0.0, keys)
    apart = h - (weights[:, None] @ h)
    return weights * (apart @ context_gradient[..., None])[..., 0]


def scores_gradient__right_pairs(context_gradient, weights, keys):
    """Sums over pairs of positions with fsum, which needs all weights to add to 1."""
    out = np.zeros(np.shape(weights))
    for b, (g, w, h) in enumerate(zip(context_gradient, weights, keys)):
        real = [j for j in range(len(w)) if w[j] != 0]
        pull = {j: math.fsum(float(x) * float(y) for x, y in zip(g, h[j])) for j in real}
        for j in real:
            out[b, j] = w[j] * math.fsum(w[i] * (pull[j] - pull[i]) for i in real)
    return out


def scores_gradient__right_in_place(context_gradient, weights, keys):
    """The two terms one after the other, in place on an array of its own."""
    own = np.array(weights, dtype=float)
    h = np.array(keys, dtype=float)
    h[own == 0] = 0
    g = np.matmul(h, np.asarray(context_gradient, dtype=float)[:, :, None])[:, :, 0]
    g *= own
    g -= own * g.sum(axis=1)[:, None]
    return g


# ---------------------------------------------------------------- attend

def _weights(scores, mask):
    top = torch.where(mask, scores, torch.full_like(scores, -math.inf)).amax(1, keepdim=True).detach()
    top = torch.where(torch.isinf(top), torch.zeros_like(top), top)
    e = torch.where(mask, scores - top, torch.zeros_like(scores)).exp() * mask
    return e / e.sum(1, keepdim=True).clamp(min=1e-30)


def _clean(keys, mask):
    return torch.where(mask[..., None], keys, torch.zeros_like(keys))


def attend__wrong_infinite_without_word(scores, keys, source_mask):
    """The student fills pads with minus infinity, not a number for a sentence without a real token."""
    weights = torch.softmax(scores.masked_fill(~source_mask, -math.inf), dim=1)
    return torch.einsum("bj,bjk->bk", weights, _clean(keys, source_mask))


def attend__wrong_where_after_division(scores, keys, source_mask):
    """The student divides 0 by 0 and picks 0 afterwards by where: right in value, not a number in the gradient."""
    top = torch.where(source_mask, scores, torch.full_like(scores, -1e30)).amax(1, keepdim=True).detach()
    e = torch.exp((scores - top * source_mask) * source_mask) * source_mask
    total = e.sum(1, keepdim=True)
    weights = torch.where(total > 0, e / total, torch.zeros_like(e))
    return torch.einsum("bj,bjk->bk", weights, _clean(keys, source_mask))


def attend__wrong_maximum_over_pads(scores, keys, source_mask):
    """The student takes off the maximum of all positions, so that a pad thousands above leaves zeros."""
    e = torch.exp(scores - scores.amax(1, keepdim=True)) * source_mask
    weights = e / e.sum(1, keepdim=True).clamp(min=1e-30)
    return torch.einsum("bj,bjk->bk", weights, _clean(keys, source_mask))


def attend__wrong_softmax_then_mask(scores, keys, source_mask):
    """The student clears the pads after a softmax over all positions, and does not divide again."""
    weights = torch.softmax(scores, dim=1) * source_mask
    return torch.einsum("bj,bjk->bk", weights, _clean(keys, source_mask))


def attend__wrong_fill_minus_ten_thousand(scores, keys, source_mask):
    """The student fills pads with -10000, which is above words with scores of -12000."""
    weights = torch.softmax(scores.masked_fill(~source_mask, -1e4), dim=1) * source_mask
    return torch.einsum("bj,bjk->bk", weights, _clean(keys, source_mask))


def attend__wrong_penalty_added(scores, keys, source_mask):
    """The student adds -1e9 to the pads' scores, which is too little for a pad with a finite score of 1e12."""
    weights = torch.softmax(scores + (~source_mask) * -1e9, dim=1) * source_mask
    return torch.einsum("bj,bjk->bk", weights, _clean(keys, source_mask))


def attend__wrong_empty_rows_new_zeros(scores, keys, source_mask):
    """The student returns new zeros where no sentence has a real token, so that backward() finds no graph."""
    if not source_mask.any():
        return torch.zeros(keys.shape[0], keys.shape[2], dtype=keys.dtype)
    return torch.einsum("bj,bjk->bk", _weights(scores, source_mask), _clean(keys, source_mask))


def attend__wrong_pads_at_end_assumed(scores, keys, source_mask):
    """The student turns the mask into lengths, wrong where a pad stands before a word."""
    lengths = source_mask.sum(1, keepdim=True)
    mask = torch.arange(scores.shape[1])[None] < lengths
    return torch.einsum("bj,bjk->bk", _weights(scores, mask), _clean(keys, mask))


def attend__wrong_global_maximum(scores, keys, source_mask):
    """The student takes off the largest real score of the batch, so that sentences thousands below get zeros."""
    top = scores.masked_fill(~source_mask, -1e30).max().detach()
    e = torch.exp(torch.where(source_mask, scores - top, torch.full_like(scores, -math.inf)))
    weights = e / e.sum(1, keepdim=True).clamp(min=1e-300)
    return torch.einsum("bj,bjk->bk", weights, _clean(keys, source_mask))


def attend__wrong_weights_detached(scores, keys, source_mask):
    """The student computes the weights without a graph, so that no gradient reaches the scores."""
    with torch.no_grad():
        weights = _weights(scores, source_mask)
    return torch.einsum("bj,bjk->bk", weights, _clean(keys, source_mask))


def attend__wrong_keys_as_data(scores, keys, source_mask):
    """The student clears the pads on keys.data, so that no gradient reaches the keys."""
    clean = keys.data.clone()
    clean[~source_mask] = 0
    return torch.einsum("bj,bjk->bk", _weights(scores, source_mask), clean)


def attend__wrong_infinite_gradient_of_huge_pads(scores, keys, source_mask):
    """The student relies on weight 0 at pads, where the way back multiplies 0 with an overflow of huge annotations."""
    # Pad annotation (1.5e308, 1.5e308) with gradient (1, 1): inf * 0 = nan in the gradient of the scores.
    return torch.einsum("bj,bjk->bk", _weights(scores, source_mask), keys)


def attend__wrong_nan_to_num_at_the_end(scores, keys, source_mask):
    """The student fixes the not-a-numbers of a sentence of pads at the very end, in the value but not in the gradients of the keys."""
    weights = torch.softmax(scores.masked_fill(~source_mask, -math.inf), dim=1)
    return torch.nan_to_num(torch.einsum("bj,bjk->bk", weights, keys))


def attend__wrong_first_sentences_weights(scores, keys, source_mask):
    """The student multiplies (batch, source_len) with (batch, source_len, key_size) so that numpy-like broadcasting mixes them, and the first sentence's weights serve all."""
    return (_weights(scores, source_mask) @ _clean(keys, source_mask))[:, 0] if len(scores) > 1 else \
        (_weights(scores, source_mask) @ _clean(keys, source_mask))[0]


def attend__wrong_clamped_scores(scores, keys, source_mask):
    """The student clamps the scores to 500 in size to be safe, so that larger ones count the same, without gradients."""
    e = torch.exp(scores.clamp(-500, 500)) * source_mask
    weights = e / e.sum(1, keepdim=True).clamp(min=1e-300)
    return torch.einsum("bj,bjk->bk", weights, _clean(keys, source_mask))


def attend__wrong_empty_by_sum_of_scores(scores, keys, source_mask):
    """The student takes a sentence whose real scores add to 0 for one without a real token."""
    real = (scores * source_mask).sum(1, keepdim=True) != 0
    return torch.einsum("bj,bjk->bk", _weights(scores, source_mask), _clean(keys, source_mask)) * real


def _mask_seen(mask, store={}):
    return store.setdefault(mask.shape, mask)


def attend__wrong_first_mask_kept(scores, keys, source_mask):
    """The student keeps the mask of the first step by its shape, wrong for the next batch of that shape."""
    mask = _mask_seen(source_mask)
    return torch.einsum("bj,bjk->bk", _weights(scores, mask), _clean(keys, mask))


def attend__right_two_masks(scores, keys, source_mask):
    """The lowest finite score at pads, then weights times mask, and annotations of pads zeroed."""
    mask = source_mask.bool()
    weights = scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(-1) * mask
    return (weights.unsqueeze(-1) * keys.masked_fill(~mask.unsqueeze(-1), 0)).sum(1)


def attend__right_nan_cut_by_masked_fill(scores, keys, source_mask):
    """nan_to_num on the weights, where masked_fill on the way back also drops the gradients that are not numbers."""
    pad = ~source_mask.bool()
    weights = scores.masked_fill(pad, -math.inf).softmax(1).nan_to_num(0.0)
    return torch.bmm(weights[:, None], keys.masked_fill(pad[..., None], 0.0)).squeeze(1)


def attend__right_sentence_by_sentence(scores, keys, source_mask):
    """Only the real tokens are picked out of each sentence; an empty selection adds to zeros on the graph."""
    contexts = []
    for e, h, real in zip(scores.unbind(0), keys.unbind(0), source_mask.bool().unbind(0)):
        chosen = e[real]
        weights = torch.softmax(chosen, 0)
        contexts.append((weights[:, None] * h[real]).sum(0))
    return torch.stack(contexts)


def attend__right_imagined_token(scores, keys, source_mask):
    """One more position with annotation 0, real only where nothing else is."""
    mask = source_mask.bool()
    e = torch.cat([scores.masked_fill(~mask, -math.inf),
                   scores.new_zeros(len(scores), 1).masked_fill(mask.any(1, keepdim=True), -math.inf)], dim=1)
    h = torch.nn.functional.pad(torch.where(mask[..., None], keys, torch.zeros_like(keys)), (0, 0, 0, 1))
    return torch.einsum("bj,bjk->bk", (e - e.logsumexp(1, keepdim=True)).exp(), h)


def attend__right_division_cut_by_where(scores, keys, source_mask):
    """0 / 0 replaced by where, whose gradient that is not a number is cut at the pads by the where before the exp."""
    mask = source_mask.bool()
    top = torch.where(mask, scores, torch.full_like(scores, -math.inf)).amax(1, keepdim=True).detach()
    e = torch.where(mask, scores - top, torch.full_like(scores, -math.inf)).exp()
    total = e.sum(1, keepdim=True)
    weights = torch.where(total > 0, e / total, torch.zeros_like(e))
    return torch.einsum("bj,bjk->bk", weights, _clean(keys, mask))


class _Attend(torch.autograd.Function):
    @staticmethod
    def forward(ctx, scores, keys, mask):
        h = keys.masked_fill(~mask[..., None], 0)
        e = scores.masked_fill(~mask, -math.inf)
        top = e.amax(1, keepdim=True)
        p = torch.exp(e - top.masked_fill(top == -math.inf, 0))
        p = p / p.sum(1, keepdim=True).clamp(min=1)
        ctx.save_for_backward(p, h)
        return (p[..., None] * h).sum(1)

    @staticmethod
    def backward(ctx, grad):
        p, h = ctx.saved_tensors
        pull = (h * grad[:, None]).sum(2)
        return p * (pull - (p * pull).sum(1, keepdim=True)), p[..., None] * grad[:, None], None


def attend__right_own_backward(scores, keys, source_mask):
    """A torch.autograd.Function with its gradient written by hand."""
    return _Attend.apply(scores, keys, source_mask.bool())


def attend__right_torch_attention(scores, keys, source_mask):
    """torch's scaled_dot_product_attention with zero queries, where the scores come in as its additive mask."""
    mask = source_mask.bool()
    low = torch.where(mask, scores, scores.new_tensor(torch.finfo(scores.dtype).min))
    h = torch.where(mask[..., None], keys, keys.new_zeros(()))
    zero = h.new_zeros(h.shape[0], 1, 1)
    out = torch.nn.functional.scaled_dot_product_attention(zero, zero.expand(-1, h.shape[1], -1).contiguous(), h,
                                                           attn_mask=low[:, None])
    return out[:, 0]


def scores_gradient__wrong_next_position_only(context_gradient, weights, keys):
    """The student sets each position against the next one only, right for one and for two positions."""
    g = np.einsum("bk,bjk->bj", context_gradient, keys)
    return weights * np.roll(weights, 1, axis=1) * (g - np.roll(g, 1, axis=1))


def scores_gradient__wrong_one_sentence_short_cut(context_gradient, weights, keys):
    """The student squeezes the product of keys and gradient, so that a sentence of one position or a batch of one is broadcast anew."""
    g = np.squeeze(keys @ context_gradient[:, :, None])
    return np.squeeze(weights * (g - (weights * g).sum(axis=-1, keepdims=True)))


def attend__wrong_one_position_is_key(scores, keys, source_mask):
    """The student returns the annotation itself where there is one position, also where it is a pad."""
    if scores.shape[1] == 1:
        return keys[:, 0] + 0 * scores
    return torch.einsum("bj,bjk->bk", _weights(scores, source_mask), _clean(keys, source_mask))


def attend__wrong_pads_multiplied_out(scores, keys, source_mask):
    """The student clears pads by a product after the exp, where a pad thousands above is inf * 0, not a number."""
    top = torch.where(source_mask, scores, torch.full_like(scores, -math.inf)).amax(1, keepdim=True).detach()
    e = torch.exp(scores - torch.where(torch.isinf(top), torch.zeros_like(top), top)) * source_mask
    weights = e / e.sum(1, keepdim=True).clamp(min=1e-300)
    return torch.einsum("bj,bjk->bk", weights, _clean(keys, source_mask))
