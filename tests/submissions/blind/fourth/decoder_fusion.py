import functools
import math
from fractions import Fraction

import numpy as np
import torch


# 5.2 fusion_shapes


# 5.11 fused_input


_layers = {}


def fused_input__wrong_layer_kept(embedded, context, L_1):
    """The student splits L_1 once for each pair of sizes and keeps the halves for later calls with another L_1."""
    d = embedded.shape[1]
    key = (d, L_1.shape)
    if key not in _layers:
        _layers[key] = L_1[:, :d].T.copy(), L_1[:, d:].T.copy()
    word, mixed = _layers[key]
    return np.maximum(embedded @ word + context @ mixed, 0.0)


def fused_input__right_half_of_sum_and_size(embedded, context, L_1):
    """L_1 is cut between word and context, and ReLU(x) is half of x + |x|."""
    word, mixed = np.split(L_1, [embedded.shape[1]], axis=1)
    x = np.tensordot(embedded, word, (1, 1)) + np.inner(context, mixed)
    return (x + np.abs(x)) / 2


def fused_input__right_exact_fractions(embedded, context, L_1):
    """Each product is a sum of exact fractions; tuples of floats come back."""
    rows = [[Fraction(x) for x in row] for row in L_1.tolist()]

    def one(joined):
        joined = [Fraction(x) for x in joined]
        return tuple(float(max(Fraction(0), sum(map(lambda p, q: p * q, row, joined)))) for row in rows)

    return tuple(one(y + c) for y, c in zip(embedded.tolist(), context.tolist()))


# 5.12 decoder_step


def _additive(query, keys, W_query, W_key, v):
    return torch.tanh((query @ W_query.T).unsqueeze(1) + keys @ W_key.T) @ v


def _recur(query, embedded, context, W_y, W_s, W_c):
    return torch.tanh(embedded @ W_y.T + query @ W_s.T + context @ W_c.T)


def decoder_step__right_running_softmax(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """One position after the other, with a running maximum, a running sum and a running mix."""
    e = _additive(query, keys, W_query, W_key, v)
    top = torch.full_like(e[:, 0], -1e300)
    total, mix = 0 * e[:, 0], 0 * keys[:, 0]
    for j in range(keys.shape[1]):
        real = source_mask[:, j]
        higher = torch.where(real, torch.maximum(top, e[:, j]), top).detach()
        share = torch.where(real, torch.exp(torch.where(real, e[:, j] - higher, 0 * e[:, j])), 0 * top)
        kept = torch.exp(top - higher)
        total = total * kept + share
        mix = mix * kept[:, None] + share[:, None] * torch.where(real[:, None], keys[:, j], 0 * mix)
        top = higher
    context = mix / torch.where(total > 0, total, torch.ones_like(total))[:, None]
    return _recur(query, embedded, context, W_y, W_s, W_c)


def decoder_step__right_extra_position(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """A position more, of a very low score and an annotation of zeros, takes all weight where no token is real."""
    keys = keys * source_mask[..., None]
    e = torch.where(source_mask, _additive(query, keys, W_query, W_key, v), keys.new_tensor(-1e200))
    e = torch.cat([e.new_full((len(e), 1), -1e200), e], dim=1)
    values = torch.cat([torch.zeros_like(keys[:, :1]), keys], dim=1)
    a = (e - torch.logsumexp(e, 1, keepdim=True)).exp()
    context = (a.unsqueeze(2) * values).sum(1)
    joined = torch.cat([embedded, query, context], 1)
    return torch.nn.functional.linear(joined, torch.cat([W_y, W_s, W_c], 1)).tanh()


def decoder_step__right_nan_replaced(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """-inf is filled in and nan replaced; what pulls at a filled place is dropped by masked_fill, so that gradients stay finite."""
    e = _additive(query, keys, W_query, W_key, v).masked_fill(~source_mask, -math.inf)
    a = torch.nan_to_num(torch.softmax(e, dim=1), nan=0.0)
    return _recur(query, embedded, torch.einsum("bj,bjm->bm", a, keys), W_y, W_s, W_c)


# 5.13 gated_step


def gated_step__wrong_sigmoid_by_tanh(
    embedded, query, context, W_y, W_s, W_c, W_y_update, W_s_update, W_c_update, W_y_reset, W_s_reset, W_c_reset
):
    """The student makes the sigmoid of a tanh and forgets to halve what is in it."""
    u, r = (
        (1 + np.tanh(embedded @ A.T + query @ B.T + context @ C.T)) / 2
        for A, B, C in ((W_y_update, W_s_update, W_c_update), (W_y_reset, W_s_reset, W_c_reset))
    )
    new = np.tanh(embedded @ W_y.T + (r * query) @ W_s.T + context @ W_c.T)
    return (1 - u) * query + u * new


def gated_step__right_stacked(
    embedded, query, context, W_y, W_s, W_c, W_y_update, W_s_update, W_c_update, W_y_reset, W_s_reset, W_c_reset
):
    """Stacked products, and both gates by logaddexp: sigmoid(x) = exp(-ln(1 + e^-x))."""
    joined = np.concatenate([embedded, context], -1)
    fixed = joined @ np.block([[W_y_update, W_c_update], [W_y_reset, W_c_reset], [W_y, W_c]]).T
    n = query.shape[-1]
    gates = np.exp(-np.logaddexp(0, -(fixed[:, : 2 * n] + query @ np.vstack([W_s_update, W_s_reset]).T)))
    u, r = np.split(gates, 2, axis=1)
    return query + u * (np.tanh(fixed[:, 2 * n :] + np.einsum("qp,bp,bp->bq", W_s, r, query)) - query)


def gated_step__right_loops(
    embedded, query, context, W_y, W_s, W_c, W_y_update, W_s_update, W_c_update, W_y_reset, W_s_reset, W_c_reset
):
    """Plain loops over sentences and entries, with a sigmoid that looks at the sign first."""

    def dot(p, q):
        return math.fsum(float(a) * float(b) for a, b in zip(p, q))

    def sigmoid(x):
        return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))

    result = []
    for y, s, c in zip(embedded, query, context):
        def gate(A, B, C):
            return [sigmoid(dot(a, y) + dot(b, s) + dot(g, c)) for a, b, g in zip(A, B, C)]

        u, r = gate(W_y_update, W_s_update, W_c_update), gate(W_y_reset, W_s_reset, W_c_reset)
        seen = [p * q for p, q in zip(r, s)]
        new = [math.tanh(dot(a, y) + dot(b, seen) + dot(g, c)) for a, b, g in zip(W_y, W_s, W_c)]
        result.append([(1 - k) * float(old) + k * x for k, old, x in zip(u, s, new)])
    return result


# 5.15 luong_step


def _recurrence(fed, embedded, query, W_y, W_s, W_fed):
    return np.tanh(embedded @ W_y.T + query @ W_s.T + fed @ W_fed.T)


def _weights(scores, mask):
    top = np.where(mask, scores, -np.inf).max(1, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    raised = np.where(mask, np.exp(np.where(mask, scores - top, 0.0)), 0.0)
    total = raised.sum(1, keepdims=True)
    return raised / np.where(total > 0, total, 1.0)


def luong_step__wrong_empty_sentence_all_zero(fed, embedded, query, keys, source_mask, W_y, W_s, W_fed, W, W_mix):
    """The student returns zeros for a sentence without a token, where only the context is zero."""
    s = _recurrence(fed, embedded, query, W_y, W_s, W_fed)
    a = _weights(np.einsum("bq,qk,bjk->bj", s, W, keys), source_mask)
    mixed = np.tanh(np.concatenate([np.einsum("bj,bjk->bk", a, keys), s], 1) @ W_mix.T)
    return np.where(source_mask.any(1, keepdims=True), mixed, 0.0)


def luong_step__wrong_cut_at_first_pad(fed, embedded, query, keys, source_mask, W_y, W_s, W_fed, W, W_mix):
    """The student reads up to the first pad, as though nothing real could stand behind it."""
    s = _recurrence(fed, embedded, query, W_y, W_s, W_fed)
    a = _weights(np.einsum("bq,qk,bjk->bj", s, W, keys), np.logical_and.accumulate(source_mask, axis=1))
    return np.tanh(np.concatenate([np.einsum("bj,bjk->bk", a, keys), s], 1) @ W_mix.T)


def luong_step__right_masked_arrays(fed, embedded, query, keys, source_mask, W_y, W_s, W_fed, W, W_mix):
    """numpy's masked arrays leave the pads out of maximum, exponential and sum."""
    s = np.tanh(np.hstack([fed, embedded, query]) @ np.hstack([W_fed, W_y, W_s]).T)
    e = np.ma.array(np.matmul(keys, (s @ W)[..., None])[..., 0], mask=~source_mask)
    raised = np.ma.exp(e - e.max(axis=1, keepdims=True))
    a = (raised / raised.sum(axis=1, keepdims=True)).filled(0.0)
    k = keys.shape[-1]
    return np.tanh(np.inner((a[..., None] * keys).sum(1), W_mix[:, :k]) + np.inner(s, W_mix[:, k:]))


def luong_step__right_only_real_tokens(fed, embedded, query, keys, source_mask, W_y, W_s, W_fed, W, W_mix):
    """Sentence by sentence, over the real tokens alone, two by two: a mix of mixes with the logarithm of its weight."""

    def join(left, right):
        (p, c), (q, d) = left, right
        t = np.logaddexp(p, q)
        return t, np.exp(p - t) * c + np.exp(q - t) * d

    rows = []
    for f, y, z, H, real in zip(fed, embedded, query, keys, source_mask):
        s = np.tanh(W_y @ y + W_s @ z + W_fed @ f)
        parts = [(s @ (W @ h), h) for h in H[real]]
        context = functools.reduce(join, parts)[1] if parts else np.zeros(H.shape[1])
        rows.append(np.tanh(W_mix @ np.r_[context, s]))
    return np.array(rows)
