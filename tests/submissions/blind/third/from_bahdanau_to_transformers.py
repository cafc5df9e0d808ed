import fractions
import math

import numpy as np
import torch


# ---------------------------------------------------------------- multi_head_shapes


def multi_head_shapes__wrong_weights_positions_first(heads, m, r, T_x, T_y):
    """The student puts the source positions before the steps in the weights."""
    return {"W_key": (heads * r, m), "keys": (heads, T_x, r), "weights": (heads, T_x, T_y), "joined": (T_y, heads * r)}


def multi_head_shapes__wrong_joined_back_to_m(heads, m, r, T_x, T_y):
    """The student takes the joined contexts to have the size of an annotation again."""
    return {"W_key": (heads * r, m), "keys": (heads, T_x, r), "weights": (heads, T_y, T_x), "joined": (T_y, m)}


def multi_head_shapes__right_torch_run(heads, m, r, T_x, T_y):
    """Runs the attention on zeros and reads the shapes."""
    W = torch.zeros(heads * r, m)
    keys = torch.nn.functional.linear(torch.zeros(T_x, m), W).unflatten(1, (heads, r)).transpose(0, 1)
    weights = torch.zeros(heads, T_y, r) @ keys.mT
    joined = (weights @ keys).transpose(0, 1).flatten(1)
    return {"W_key": W.shape, "keys": keys.shape, "weights": weights.shape, "joined": joined.shape}


# ---------------------------------------------------------------- saturation

def saturation__wrong_variance():
    """The student gives the variance of a score as its spread, but goes on with the right one."""
    p = lambda x: math.exp(-x) / (1 + math.exp(-x)) ** 2
    return {"spread": 16 * .25 * .81, "plain": p(3.6), "scaled": p(.9)}


def saturation__wrong_gap_of_one_deviation():
    """The student takes the two scores one standard deviation apart, not two."""
    p = lambda x: math.exp(-x) / (1 + math.exp(-x)) ** 2
    return {"spread": 1.8, "plain": p(1.8), "scaled": p(.45)}


def saturation__wrong_scaled_by_sixteen():
    """The student divides by 16, not by its root."""
    p = lambda x: math.exp(-x) / (1 + math.exp(-x)) ** 2
    return {"spread": 1.8, "plain": p(3.6), "scaled": p(3.6 / 16)}


def saturation__wrong_gives_weight():
    """The student gives the smaller weight itself for its derivative, which is close where it is small."""
    return {"spread": 1.8, "plain": 1 / (1 + math.exp(3.6)), "scaled": 1 / (1 + math.exp(.9))}


def saturation__wrong_spread_times_size():
    """The student adds standard deviations instead of variances: 16 times 0.45."""
    p = lambda x: math.exp(-x) / (1 + math.exp(-x)) ** 2
    return {"spread": 7.2, "plain": p(14.4), "scaled": p(3.6)}


def saturation__right_hyperbolic():
    """1 / (4 cosh**2) of half the gap, in numpy numbers of length 1."""
    spread = np.sqrt(np.sum(np.full(16, .5 ** 2 * .9 ** 2)))
    pull = lambda e: (1 - np.tanh(e) ** 2) / 4
    return {"spread": spread, "plain": pull(spread), "scaled": pull(spread / np.sqrt(16))}


# ---------------------------------------------------------------- multi_head

def _weights(scores, mask):
    """Weights over the real tokens; mask broadcasts against the scores."""
    mask = mask.expand_as(scores)
    weights = torch.softmax(scores.masked_fill(~mask, -1e30), dim=-1)
    return weights * mask


def _heads(query, keys, source_mask, W_query, W_key, W_value, scale):
    q = torch.einsum("zrq,bq->bzr", W_query, query)
    k = torch.einsum("zrk,bjk->bzjr", W_key, keys)
    u = torch.einsum("zvk,bjk->bzjv", W_value, keys)
    weights = _weights(torch.einsum("bzr,bzjr->bzj", q, k) / scale, source_mask[:, None])
    return torch.einsum("bzj,bzjv->bzv", weights, u)


def multi_head__wrong_interleaved(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """The student joins the contexts so that the entries of the heads alternate."""
    # right for one head, or for value_size 1
    c = _heads(query, keys, source_mask, W_query, W_key, W_value, math.sqrt(W_key.shape[1]))
    return c.transpose(1, 2).flatten(1) @ W_out.T


def multi_head__wrong_heads_and_batch_mixed(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """The student computes the heads first and reshapes to a row per sentence, without swapping heads and batch."""
    # right for one head or one sentence
    c = _heads(query, keys, source_mask, W_query, W_key, W_value, math.sqrt(W_key.shape[1])).transpose(0, 1)
    return c.reshape(len(query), -1) @ W_out.T


def multi_head__wrong_softmax_over_heads(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """The student takes the softmax over the heads and positions together."""
    # right for one head
    q = torch.einsum("zrq,bq->bzr", W_query, query)
    k = torch.einsum("zrk,bjk->bzjr", W_key, keys)
    u = torch.einsum("zvk,bjk->bzjv", W_value, keys)
    scores = torch.einsum("bzr,bzjr->bzj", q, k) / math.sqrt(W_key.shape[1])
    mask = source_mask[:, None].expand_as(scores)
    weights = _weights(scores.flatten(1), mask.flatten(1)).view_as(scores)
    return torch.einsum("bzj,bzjv->bzv", weights, u).flatten(1) @ W_out.T


def multi_head__wrong_infinity(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """The student adds minus infinity and clears the nan of an empty sentence after, whose gradient stays nan."""
    q = torch.einsum("zrq,bq->bzr", W_query, query)
    k = torch.einsum("zrk,bjk->bzjr", W_key, keys)
    u = torch.einsum("zvk,bjk->bzjv", W_value, keys)
    scores = torch.einsum("bzr,bzjr->bzj", q, k) / math.sqrt(W_key.shape[1])
    bias = torch.zeros_like(scores).masked_fill(~source_mask[:, None], -math.inf)
    weights = torch.softmax(scores + bias, -1).nan_to_num(0.)
    return torch.einsum("bzj,bzjv->bzv", weights, u).flatten(1) @ W_out.T


def multi_head__wrong_log_of_mask(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """The student adds the logarithm of the mask, kept finite by 1e-45, to the scores, which a pad's score of thousands outweighs."""
    q = torch.einsum("zrq,bq->bzr", W_query, query)
    k = torch.einsum("zrk,bjk->bzjr", W_key, keys)
    u = torch.einsum("zvk,bjk->bzjv", W_value, keys)
    scores = torch.einsum("bzr,bzjr->bzj", q, k) / math.sqrt(W_key.shape[1])
    bias = torch.log(source_mask.to(scores.dtype) + 1e-45)[:, None]
    weights = torch.softmax(scores + bias, -1) * source_mask[:, None]
    return torch.einsum("bzj,bzjv->bzv", weights, u).flatten(1) @ W_out.T


def multi_head__wrong_first_query_for_all_heads(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """The student makes one query, by the first head's matrix, for all heads."""
    c = _heads(query, keys, source_mask, W_query[:1].expand_as(W_query), W_key, W_value, math.sqrt(W_key.shape[1]))
    return c.flatten(1) @ W_out.T


def multi_head__wrong_weights_detached(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """The student detaches the weights, so the gradients miss the queries and keys."""
    q = torch.einsum("zrq,bq->bzr", W_query, query)
    k = torch.einsum("zrk,bjk->bzjr", W_key, keys)
    u = torch.einsum("zvk,bjk->bzjv", W_value, keys)
    weights = _weights(torch.einsum("bzr,bzjr->bzj", q, k) / math.sqrt(W_key.shape[1]), source_mask[:, None]).detach()
    c = torch.einsum("bzj,bzjv->bzv", weights, u) + 0 * q.sum() + 0 * k.sum()
    return c.flatten(1) @ W_out.T


def multi_head__wrong_prefix(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """The student makes lengths of the mask, so pads must stand at the end."""
    real = torch.arange(keys.shape[1]) < source_mask.sum(1, keepdim=True)
    c = _heads(query, keys, real, W_query, W_key, W_value, math.sqrt(W_key.shape[1]))
    return c.flatten(1) @ W_out.T


def multi_head__wrong_maximum_with_pads(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """The student masks the powers, but subtracts the largest score with pads, so a high pad makes a sentence vanish."""
    q = torch.einsum("zrq,bq->bzr", W_query, query)
    k = torch.einsum("zrk,bjk->bzjr", W_key, keys)
    u = torch.einsum("zvk,bjk->bzjv", W_value, keys)
    scores = torch.einsum("bzr,bzjr->bzj", q, k) / math.sqrt(W_key.shape[1])
    powers = torch.exp(scores - scores.amax(-1, keepdim=True)) * source_mask[:, None]
    total = powers.sum(-1, keepdim=True)
    weights = powers / torch.where(total == 0, torch.ones_like(total), total)
    return torch.einsum("bzj,bzjv->bzv", weights, u).flatten(1) @ W_out.T


def multi_head__wrong_values_are_keys(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """The student mixes the head's keys where they have the size of its values."""
    W = W_key + 0 * W_value if W_key.shape == W_value.shape else W_value
    c = _heads(query, keys, source_mask, W_query, W_key, W, math.sqrt(W_key.shape[1]))
    return c.flatten(1) @ W_out.T


def multi_head__wrong_mean_of_heads(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """The student brings the heads together by a mean of their products with W_out's blocks, not by a sum."""
    # right for one head
    c = _heads(query, keys, source_mask, W_query, W_key, W_value, math.sqrt(W_key.shape[1]))
    blocks = W_out.unflatten(1, (W_value.shape[0], W_value.shape[1]))
    return torch.einsum("ozv,bzv->bzo", blocks, c).mean(1)


def multi_head__right_sum_of_blocks(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """A sum over the heads, each with its block of columns of W_out; W_value applied after mixing the annotations."""
    out = 0
    for A, B, C, block in zip(W_query, W_key, W_value, W_out.split(W_value.shape[1], dim=1)):
        scores = ((query @ A.T @ B).unsqueeze(1) @ keys.mT).squeeze(1) * A.shape[0] ** -.5
        lifted = torch.where(source_mask, scores, torch.full_like(scores, -torch.finfo(scores.dtype).max / 4))
        weights = torch.where(source_mask, torch.softmax(lifted, 1), torch.zeros_like(scores))
        out = out + (weights.unsqueeze(1) @ keys).squeeze(1) @ C.T @ block.T
    return out


def multi_head__right_torch_attention(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """torch's scaled_dot_product_attention on heads as a batch axis, with an extra position of zeros in empty sentences."""
    empty = ~source_mask.any(1, keepdim=True)
    h = torch.cat([keys, torch.zeros_like(keys[:, :1])], 1).unsqueeze(1)
    real = torch.cat([source_mask, empty], 1)[:, None, None]
    q = query[:, None, None] @ W_query.mT
    c = torch.nn.functional.scaled_dot_product_attention(q, h @ W_key.mT, h @ W_value.mT, attn_mask=real)
    return torch.nn.functional.linear(c.flatten(1), W_out)


def multi_head__right_infinity_filled(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """Minus infinity by masked_fill, whose way back fills the pads' gradients with 0, and nan_to_num for an empty sentence."""
    q = torch.einsum("zrq,bq->bzr", W_query, query)
    k = torch.einsum("zrk,bjk->bzjr", W_key, keys)
    u = torch.einsum("zvk,bjk->bzjv", W_value, keys)
    scores = torch.einsum("bzr,bzjr->bzj", q, k) / math.sqrt(W_key.shape[1])
    weights = torch.softmax(scores.masked_fill(~source_mask[:, None], -math.inf), -1).nan_to_num(0.)
    return torch.einsum("bzj,bzjv->bzv", weights, u).flatten(1) @ W_out.T


def multi_head__right_sentence_by_sentence(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """Each sentence alone on its real tokens, in loops over heads, joined by hstack."""
    rows = []
    for s, h, real in zip(query, keys, source_mask):
        h = h[real]
        contexts = []
        for A, B, C in zip(W_query, W_key, W_value):
            e = (h @ B.T) @ (A @ s) / math.sqrt(len(A))
            contexts.append((C @ h.T) @ torch.softmax(e, 0))
        rows.append(W_out @ torch.hstack(contexts))
    return torch.stack(rows)


# ---------------------------------------------------------------- self_attention

def _projected(states, W_query, W_key, W_value):
    q, k, u = states @ W_query.T, states @ W_key.T, states @ W_value.T
    return q @ k.mT / math.sqrt(W_key.shape[0]), u


def _past(states):
    length = states.shape[1]
    return torch.ones(length, length, dtype=torch.bool).tril()


def self_attention__wrong_all_positions(states, mask, W_query, W_key, W_value):
    """The student lets each position read those after it, too."""
    scores, u = _projected(states, W_query, W_key, W_value)
    return _weights(scores, mask[:, None]) @ u


def self_attention__wrong_strictly_before(states, mask, W_query, W_key, W_value):
    """The student leaves out the position itself."""
    scores, u = _projected(states, W_query, W_key, W_value)
    return _weights(scores, mask[:, None] & _past(states).tril(-1)) @ u


def self_attention__wrong_triangle_turned(states, mask, W_query, W_key, W_value):
    """The student uses the upper triangle."""
    scores, u = _projected(states, W_query, W_key, W_value)
    return _weights(scores, mask[:, None] & _past(states).mT) @ u


def self_attention__wrong_mask_on_queries(states, mask, W_query, W_key, W_value):
    """The student gives zeros at pads, where the text asks for what they read before them."""
    scores, u = _projected(states, W_query, W_key, W_value)
    return _weights(scores, mask[:, None] & _past(states)) @ u * mask[..., None]


def self_attention__wrong_pads_read_themselves(states, mask, W_query, W_key, W_value):
    """The student lets each position read itself in any case, so that no row is empty, pads too."""
    scores, u = _projected(states, W_query, W_key, W_value)
    own = torch.eye(states.shape[1], dtype=torch.bool)
    return _weights(scores, mask[:, None] & _past(states) | own) @ u


def self_attention__wrong_masks_rows(states, mask, W_query, W_key, W_value):
    """The student broadcasts the mask over the keys instead of the queries: rows of pads are left out, not columns."""
    scores, u = _projected(states, W_query, W_key, W_value)
    return _weights(scores, mask[:, :, None] & _past(states)) @ u


def self_attention__wrong_mask_without_axis(states, mask, W_query, W_key, W_value):
    """The student gives the mask no axis, so the mask of sentence i is that of step i in all sentences."""
    # right for one sentence; wrong where batch == length; an error else
    scores, u = _projected(states, W_query, W_key, W_value)
    return _weights(scores, mask & _past(states)) @ u


def self_attention__wrong_infinity(states, mask, W_query, W_key, W_value):
    """The student adds minus infinity and clears the nan of empty rows after, whose gradients stay nan."""
    scores, u = _projected(states, W_query, W_key, W_value)
    bias = torch.zeros_like(scores).masked_fill(~(mask[:, None] & _past(states)), -math.inf)
    weights = torch.softmax(scores + bias, -1)
    return torch.where(weights.isnan(), 0., weights) @ u


_readable = {}


def self_attention__wrong_mask_kept(states, mask, W_query, W_key, W_value):
    """The student keeps the triangle of each size in a global, with the pads of the first batch of that size in it."""
    if mask.shape not in _readable:
        _readable[mask.shape] = mask[:, None] & _past(states)
    scores, u = _projected(states, W_query, W_key, W_value)
    return _weights(scores, _readable[mask.shape]) @ u


def self_attention__wrong_empty_row_is_mean(states, mask, W_query, W_key, W_value):
    """The student masks with a large negative number and forgets positions with no real token at or before them."""
    scores, u = _projected(states, W_query, W_key, W_value)
    return torch.softmax(scores.masked_fill(~(mask[:, None] & _past(states)), -1e30), -1) @ u


def self_attention__wrong_empty_sentence_only(states, mask, W_query, W_key, W_value):
    """The student sets whole empty sentences to zeros, but not the pads before the first word of others."""
    scores, u = _projected(states, W_query, W_key, W_value)
    weights = torch.softmax(scores.masked_fill(~(mask[:, None] & _past(states)), -1e30), -1)
    return weights @ u * mask.any(1)[:, None, None]


def self_attention__wrong_softmax_before_triangle(states, mask, W_query, W_key, W_value):
    """The student takes the softmax over all real positions, drops the later ones and divides again, which is 0 by 0 where a later score is far higher."""
    scores, u = _projected(states, W_query, W_key, W_value)
    weights = _weights(scores, mask[:, None]).tril()
    total = weights.sum(-1, keepdim=True)
    return weights / torch.where(total == 0, torch.ones_like(total), total) @ u


def self_attention__wrong_query_key_swapped(states, mask, W_query, W_key, W_value):
    """The student multiplies keys by queries, so the scores are transposed."""
    scores, u = _projected(states, W_query, W_key, W_value)
    return _weights(scores.mT, mask[:, None] & _past(states)) @ u


def self_attention__wrong_scale_of_state(states, mask, W_query, W_key, W_value):
    """The student scales by the root of the size of a state, not of a head."""
    u = states @ W_value.T
    scores = (states @ W_query.T) @ (states @ W_key.T).mT / math.sqrt(states.shape[-1])
    return _weights(scores, mask[:, None] & _past(states)) @ u


def self_attention__wrong_maximum_of_whole_row(states, mask, W_query, W_key, W_value):
    """The student subtracts the largest score of all positions, also of those that are not read."""
    scores, u = _projected(states, W_query, W_key, W_value)
    powers = torch.exp(scores - scores.amax(-1, keepdim=True)) * (mask[:, None] & _past(states))
    total = powers.sum(-1, keepdim=True)
    return powers / torch.where(total == 0, torch.ones_like(total), total) @ u


def self_attention__wrong_counts_real_before(states, mask, W_query, W_key, W_value):
    """The student lets position i read the first positions, as many as there are real ones up to i, as if pads stood at the end."""
    scores, u = _projected(states, W_query, W_key, W_value)
    count = mask.cumsum(1)
    readable = torch.arange(mask.shape[1]) < count[..., None]
    return _weights(scores, readable) @ u


def self_attention__right_growing_prefix(states, mask, W_query, W_key, W_value):
    """A loop over the positions: each reads the real ones of the prefix, chosen by index, an empty choice adding to zeros."""
    rows = []
    for x, real in zip(states, mask):
        out = []
        for i in range(len(x)):
            past = x[:i + 1][real[:i + 1]]
            e = (past @ W_key.T) @ (W_query @ x[i]) / math.sqrt(len(W_query))
            out.append(W_value @ (past.T @ torch.softmax(e, 0)))
        rows.append(torch.stack(out))
    return torch.stack(rows)


def self_attention__right_torch_attention(states, mask, W_query, W_key, W_value):
    """torch's scaled_dot_product_attention, with a position of zeros in front for rows that have nothing to read."""
    readable = mask[:, None] & _past(states)
    allowed = torch.cat([~readable.any(-1, keepdim=True), readable], -1)
    x = torch.nn.functional.pad(states, (0, 0, 1, 0))
    return torch.nn.functional.scaled_dot_product_attention(
        states @ W_query.T, x @ W_key.T, x @ W_value.T, attn_mask=allowed)


def self_attention__right_infinity_filled(states, mask, W_query, W_key, W_value):
    """Minus infinity by masked_fill, whose way back fills the gradients of unread scores with 0, and where for empty rows."""
    scores, u = _projected(states, W_query, W_key, W_value)
    weights = torch.softmax(scores.masked_fill(~(mask[:, None] & _past(states)), -math.inf), -1)
    return torch.where(weights.isnan(), 0., weights) @ u


def self_attention__right_own_powers(states, mask, W_query, W_key, W_value):
    """Own powers from a running maximum by cummax along the row, which is the largest that each position may read."""
    scores = torch.einsum("bis,rs,rt,bjt->bij", states, W_query, W_key, states) / len(W_key) ** .5
    readable = (mask[:, None] & _past(states)).expand_as(scores)
    top = scores.detach().masked_fill(~readable, -math.inf).cummax(-1).values[..., -1:]
    top = torch.nan_to_num(top, neginf=0.)
    powers = torch.where(readable, scores - top, torch.zeros_like(scores)).exp() * readable
    total = powers.sum(-1, keepdim=True)
    return torch.einsum("bij,bjs,vs->biv", powers / (total + (total == 0)), states, W_value)


# ---------------------------------------------------------------- same_context

_HM = np.array([[1., 1], [4, 0], [-1, 4], [-3, -2]])


def same_context__wrong_renormalised():
    """The student drops the first word and divides the other weights by their sum."""
    return [0, .3 / .6, .2 / .6, .1 / .6]


def same_context__wrong_without_sum():
    """The student solves for the two entries only, and takes the shortest solution."""
    c = np.array([.4, .3, .2, .1]) @ _HM
    return [0., *np.linalg.lstsq(_HM[1:].T, c, rcond=None)[0].tolist()]


def same_context__wrong_order():
    """The student puts the 0 at the end."""
    c = np.array([.4, .3, .2, .1]) @ _HM
    a = np.linalg.solve(np.vstack([_HM[1:].T, np.ones(3)]), [*c, 1])
    return [*a.tolist(), 0.]


def same_context__wrong_share_of_first():
    """The student writes h_1 by the other three and adds the shares without the factor 0.4."""
    share = np.linalg.solve(np.vstack([_HM[1:].T, np.ones(3)]), [1., 1, 1])
    a = np.array([.3, .2, .1]) + share
    return [0., *(a / a.sum()).tolist()]


def same_context__right_share():
    """Writes h_1 as a mix of the others and deals its weight out by those shares; an array."""
    share = np.linalg.solve(np.vstack([_HM[1:].T, np.ones(3)]), [1., 1, 1])
    return np.concatenate([[0], np.array([.3, .2, .1]) + .4 * share])


def same_context__right_fractions():
    """Barycentric coordinates by areas, in fractions, as a tuple of floats."""
    F = fractions.Fraction
    c = (F(11, 10), F(1))
    p = [(4, 0), (-1, 4), (-3, -2)]
    area = lambda a, b, d: (b[0] - a[0]) * (d[1] - a[1]) - (b[1] - a[1]) * (d[0] - a[0])
    whole = F(area(*p))
    return (0.0, float(area(c, p[1], p[2]) / whole), float(area(p[0], c, p[2]) / whole), float(area(p[0], p[1], c) / whole))
