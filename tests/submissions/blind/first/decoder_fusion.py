import itertools
import math

import numpy as np
import torch


# ---------------------------------------------------------------- fusion_shapes


def fusion_shapes__wrong_context_matrix_only(d, m, n, r):
    """The student doubles m in the joined vector, and forgets it in note C's matrix."""
    return {"joined": (d + 2 * m,), "L_1": (r, d + 2 * m), "W_input": (n, r), "W_context": (n, m)}


def fusion_shapes__wrong_input_skips_layer(d, m, n, r):
    """The student lets W_input read the joined vector instead of k."""
    return {"joined": (d + 2 * m,), "L_1": (r, d + 2 * m), "W_input": (n, d + 2 * m), "W_context": (n, 2 * m)}


def fusion_shapes__wrong_input_transposed(d, m, n, r):
    """The student writes W_input as (from, to)."""
    return {"joined": (d + 2 * m,), "L_1": (r, d + 2 * m), "W_input": (r, n), "W_context": (n, 2 * m)}


def fusion_shapes__right_measured(d, m, n, r):
    """Shapes measured on arrays that really multiply."""
    both = np.r_[np.zeros(m), np.ones(m)]
    joined = np.append(np.zeros(d), both)
    L_1, W_input, W_context = np.zeros((r, joined.size)), np.zeros((n, r)), np.zeros((n, both.size))
    _ = W_input @ (L_1 @ joined) + W_context @ both
    return dict(joined=joined.shape, L_1=L_1.shape, W_input=W_input.shape, W_context=W_context.shape)


def fusion_shapes__right_chain(d, m, n, r):
    """Shapes as tuples of numpy integers, taken from a chain of sizes."""
    annotation = np.int64(m) + np.int64(m)
    chain = [np.int64(d) + annotation, np.int64(r), np.int64(n)]
    L_1, W_input = ((b, a) for a, b in zip(chain, chain[1:]))
    return {"W_context": (chain[-1], annotation), "W_input": W_input, "L_1": L_1, "joined": tuple(chain[:1])}


# ---------------------------------------------------------------- fused_input


def fused_input__wrong_square(embedded, context, L_1):
    """The student transposes only where sizes force it, so a square L_1 is taken the wrong way."""
    joined = np.hstack((embedded, context))
    return np.maximum(joined @ L_1 if joined.shape[1] == L_1.shape[0] else joined @ L_1.T, 0)


def fused_input__wrong_relu_first(embedded, context, L_1):
    """The student applies the ReLU to the joined vector, and again afterwards."""
    return np.maximum(np.maximum(np.hstack((embedded, context)), 0) @ L_1.T, 0)


def fused_input__wrong_softplus(embedded, context, L_1):
    """The student takes a sharp softplus for the ReLU, which is 0.0139 at 0."""
    return np.logaddexp(0, 50 * (np.hstack((embedded, context)) @ L_1.T)) / 50


def fused_input__wrong_leaky(embedded, context, L_1):
    """The student uses a leaky ReLU, which lets a hundredth of the negative numbers through."""
    k = np.hstack((embedded, context)) @ L_1.T
    return np.where(k > 0, k, 0.01 * k)


def fused_input__wrong_relu6(embedded, context, L_1):
    """The student clips at 6 as well."""
    return np.clip(np.hstack((embedded, context)) @ L_1.T, 0, 6)


def fused_input__wrong_rows(embedded, context, L_1):
    """The student sets a whole row to zero where its sum is negative, positive numbers too."""
    k = np.hstack((embedded, context)) @ L_1.T
    k[k.sum(axis=1) < 0] = 0
    return np.maximum(k, 0)


def fused_input__wrong_reshape(embedded, context, L_1):
    """The student reshapes columns to rows; right for one sentence."""
    return np.maximum(L_1 @ np.hstack((embedded, context)).T, 0).reshape(len(embedded), -1)


def fused_input__wrong_squeeze(embedded, context, L_1):
    """The student squeezes, so one sentence loses its batch axis."""
    return np.maximum(L_1 @ np.hstack((embedded, context))[:, :, None], 0).squeeze()


def fused_input__wrong_interleaved(embedded, context, L_1):
    """The student interleaves word and context where they are equally long, and joins them only else."""
    if embedded.shape == context.shape:
        joined = np.stack((embedded, context), axis=-1).reshape(len(embedded), -1)
    else:
        joined = np.hstack((embedded, context))
    return np.maximum(joined @ L_1.T, 0)


def fused_input__wrong_kept_context(embedded, context, L_1, _buffer={}):
    """The student keeps the joined array between calls and refills only the word."""
    key = embedded.shape + context.shape
    if key not in _buffer:
        _buffer[key] = np.hstack((embedded, context))
    joined = _buffer[key]
    joined[:, :embedded.shape[1]] = embedded
    return np.maximum(joined @ L_1.T, 0)


def fused_input__wrong_absolute(embedded, context, L_1):
    """The student mirrors the negative numbers where a whole row is negative, to avoid a dead layer."""
    k = np.hstack((embedded, context)) @ L_1.T
    dead = (k <= 0).all(axis=1, keepdims=True)
    return np.maximum(np.where(dead, -k, k), 0)


def fused_input__right_half_abs(embedded, context, L_1):
    """ReLU as the mean of a number and its absolute value, the product split in two."""
    d = embedded.shape[1]
    k = np.inner(embedded, L_1[:, :d]) + np.inner(context, L_1[:, d:])
    return (k + np.abs(k)) / 2


def fused_input__right_lists(embedded, context, L_1):
    """Python lists, chain and max."""
    out = []
    for e, c in zip(embedded.tolist(), context.tolist()):
        out.append([max(0.0, math.fsum(a * b for a, b in zip(row, itertools.chain(e, c)))) for row in L_1.tolist()])
    return np.array(out)


def fused_input__right_matrix(embedded, context, L_1):
    """np.matrix inside, a boolean product for the ReLU, an array outside."""
    k = np.asarray((np.matrix(L_1) * np.matrix(np.c_[embedded, context]).T).T)
    return k * (k > 0)


def fused_input__right_recursion(embedded, context, L_1):
    """Recursion over the batch."""
    row = np.heaviside(L_1 @ np.r_[embedded[0], context[0]], 0) * (L_1 @ np.append(embedded[0], context[0]))
    if len(embedded) == 1:
        return row[None]
    return np.vstack((row, fused_input__right_recursion(embedded[1:], context[1:], L_1)))


# ---------------------------------------------------------------- decoder_step

def _scores(query, keys, W_query, W_key, v):
    return torch.tanh((query @ W_query.T).unsqueeze(1) + keys @ W_key.T) @ v.reshape(-1)


def _new(query, embedded, context, W_y, W_s, W_c):
    return torch.tanh(embedded @ W_y.T + query @ W_s.T + context @ W_c.T)


def _clean(keys, mask):
    return keys.masked_fill(~mask.unsqueeze(-1), 0.0)


def decoder_step__wrong_small_fill(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """The student fills pads with -1000, which is more than the score of a real token at -3000."""
    keys = _clean(keys, source_mask)
    e = _scores(query, keys, W_query, W_key, v).masked_fill(~source_mask, -1000.0)
    a = e.softmax(-1) * source_mask
    return _new(query, embedded, torch.einsum("bj,bjk->bk", a, keys), W_y, W_s, W_c)


def decoder_step__wrong_nan_to_num(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """The student repairs the nan of an empty sentence afterwards; its gradients stay nan."""
    keys = _clean(keys, source_mask)
    e = _scores(query, keys, W_query, W_key, v) + torch.where(source_mask, 0.0, -math.inf).to(keys.dtype)
    a = torch.nan_to_num(e.softmax(-1))
    return _new(query, embedded, torch.einsum("bj,bjk->bk", a, keys), W_y, W_s, W_c)


def decoder_step__wrong_where_after(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """The student selects zeros for an empty sentence after a softmax over nothing; values right, gradients nan."""
    e = _scores(query, keys, W_query, W_key, v) + torch.log(source_mask.to(keys.dtype))
    context = (e.softmax(-1).unsqueeze(-1) * keys).sum(1)
    context = torch.where(source_mask.any(1, keepdim=True), context, torch.zeros_like(context))
    return _new(query, embedded, context, W_y, W_s, W_c)


def decoder_step__wrong_max_with_pads(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """The student subtracts the maximum over pads too, so real scores thousands below vanish."""
    e = _scores(query, keys, W_query, W_key, v)
    x = torch.exp(e - e.max(1, keepdim=True).values.detach()) * source_mask
    total = x.sum(1, keepdim=True)
    a = x / torch.where(total > 0, total, torch.ones_like(total))
    return _new(query, embedded, torch.einsum("bj,bjk->bk", a, _clean(keys, source_mask)), W_y, W_s, W_c)


def decoder_step__wrong_zero_max(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """The student fills pads with 0 before taking the maximum, so it is never below 0 in a sentence with a pad."""
    keys = _clean(keys, source_mask)
    e = _scores(query, keys, W_query, W_key, v)
    top = e.masked_fill(~source_mask, 0.0).max(1, keepdim=True).values.detach()
    x = torch.exp(torch.where(source_mask, e - top, torch.zeros_like(e))) * source_mask
    total = x.sum(1, keepdim=True)
    a = x / torch.where(total > 0, total, torch.ones_like(total))
    return _new(query, embedded, torch.einsum("bj,bjk->bk", a, keys), W_y, W_s, W_c)


def decoder_step__wrong_clamped(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """The student clamps the scores to -500 ... 500 against overflow, so 2000 and 3000 tie."""
    keys = _clean(keys, source_mask)
    x = torch.exp(_scores(query, keys, W_query, W_key, v).clamp(-500, 500)) * source_mask
    total = x.sum(1, keepdim=True)
    a = x / torch.where(source_mask.any(1, keepdim=True), total, torch.ones_like(total))
    return _new(query, embedded, torch.einsum("bj,bjk->bk", a, keys), W_y, W_s, W_c)


def decoder_step__wrong_not_renormalised(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """The student takes the softmax over all positions and sets pads to 0 afterwards, without sharing out anew."""
    a = _scores(query, keys, W_query, W_key, v).softmax(-1) * source_mask
    return _new(query, embedded, torch.einsum("bj,bjk->bk", a, _clean(keys, source_mask)), W_y, W_s, W_c)


def decoder_step__wrong_keys_only(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """The student zeroes the pads' annotations and scores them like words, so they take weight away."""
    keys = _clean(keys, source_mask)
    a = _scores(query, keys, W_query, W_key, v).softmax(-1)
    return _new(query, embedded, torch.einsum("bj,bjk->bk", a, keys), W_y, W_s, W_c)


def decoder_step__wrong_lengths(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """The student counts the real tokens and takes as many from the left, as if pads stood at the end."""
    mask = torch.arange(keys.shape[1]) < source_mask.sum(1, keepdim=True)
    keys = _clean(keys, mask)
    e = _scores(query, keys, W_query, W_key, v).masked_fill(~mask, -1e30)
    a = e.softmax(-1) * mask
    return _new(query, embedded, torch.einsum("bj,bjk->bk", a, keys), W_y, W_s, W_c)


def decoder_step__wrong_zero_is_pad(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """The student multiplies scores by the mask and takes each exact zero for a pad, also a word that scores 0."""
    keys = _clean(keys, source_mask)
    e = _scores(query, keys, W_query, W_key, v) * source_mask
    real = e != 0
    a = e.masked_fill(~real, -1e30).softmax(-1) * real
    return _new(query, embedded, torch.einsum("bj,bjk->bk", a, keys), W_y, W_s, W_c)


def decoder_step__wrong_zero_annotation(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """The student leaves out real tokens too if their annotation is all zeros."""
    real = source_mask & (keys.detach() != 0).any(-1)
    keys = _clean(keys, real)
    a = _scores(query, keys, W_query, W_key, v).masked_fill(~real, -1e30).softmax(-1) * real
    return _new(query, embedded, torch.einsum("bj,bjk->bk", a, keys), W_y, W_s, W_c)


def decoder_step__wrong_empty_state_zero(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """The student makes the whole new state zero for an empty sentence, not only the context."""
    keys = _clean(keys, source_mask)
    a = _scores(query, keys, W_query, W_key, v).masked_fill(~source_mask, -1e30).softmax(-1)
    return _new(query, embedded, torch.einsum("bj,bjk->bk", a, keys), W_y, W_s, W_c) * source_mask.any(1, keepdim=True)


def decoder_step__wrong_empty_state_kept(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """The student leaves the old state as it is for an empty sentence."""
    keys = _clean(keys, source_mask)
    a = _scores(query, keys, W_query, W_key, v).masked_fill(~source_mask, -1e30).softmax(-1)
    return torch.where(source_mask.any(1, keepdim=True), _new(query, embedded, torch.einsum("bj,bjk->bk", a, keys), W_y, W_s, W_c), query)


def decoder_step__wrong_empty_batch_only(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """The student looks for a real token in the whole batch instead of in each sentence."""
    e = _scores(query, keys, W_query, W_key, v).masked_fill(~source_mask, -1e30)
    a = e.softmax(-1) * source_mask.any()
    return _new(query, embedded, torch.einsum("bj,bjk->bk", a, keys), W_y, W_s, W_c)


def decoder_step__wrong_weights_detached(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """The student detaches the weights, so no gradient reaches the score's parameters."""
    keys = _clean(keys, source_mask)
    a = _scores(query, keys, W_query, W_key, v).masked_fill(~source_mask, -1e30).softmax(-1) * source_mask
    return _new(query, embedded, torch.einsum("bj,bjk->bk", a.detach(), keys), W_y, W_s, W_c)


def decoder_step__wrong_query_half_cut(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """The student detaches the old state in the score alone: a gradient comes, but not the whole one."""
    keys = _clean(keys, source_mask)
    a = _scores(query.detach(), keys, W_query, W_key, v).masked_fill(~source_mask, -1e30).softmax(-1) * source_mask
    return _new(query, embedded, torch.einsum("bj,bjk->bk", a, keys), W_y, W_s, W_c)


def decoder_step__wrong_keys_half_cut(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """The student mixes a copy of the annotations without gradient, so they get only the score's share."""
    keys = _clean(keys, source_mask)
    a = _scores(query, keys, W_query, W_key, v).masked_fill(~source_mask, -1e30).softmax(-1) * source_mask
    return _new(query, embedded, torch.einsum("bj,bjk->bk", a, keys.data), W_y, W_s, W_c)


def decoder_step__wrong_squeezed(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """The student squeezes the product with v and the context without naming an axis: with one sentence the batch axis goes."""
    keys = _clean(keys, source_mask)
    hidden = torch.tanh((query @ W_query.T)[:, None] + keys @ W_key.T)
    e = (hidden @ v.reshape(-1, 1)).reshape(source_mask.shape).masked_fill(~source_mask, -1e30)
    a = e.softmax(-1) * source_mask
    context = (a.unsqueeze(1) @ keys).squeeze()
    return torch.tanh((embedded @ W_y.T + query @ W_s.T).squeeze() + context.reshape(keys.shape[0], -1).squeeze(0) @ W_c.T)


def decoder_step__wrong_batch_softmax(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """The student subtracts the largest score of the whole batch, so a sentence thousands below gets a context of 0."""
    keys = _clean(keys, source_mask)
    e = _scores(query, keys, W_query, W_key, v).masked_fill(~source_mask, -1e30)
    x = torch.exp(e - e.max().detach()) * source_mask
    total = x.sum(1, keepdim=True)
    return _new(query, embedded, torch.einsum("bj,bjk->bk", x / torch.where(total > 0, total, torch.ones_like(total)), keys), W_y, W_s, W_c)


def decoder_step__wrong_s_not_transposed(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """The student forgets the transpose at W_s, which is square."""
    keys = _clean(keys, source_mask)
    a = _scores(query, keys, W_query, W_key, v).masked_fill(~source_mask, -1e30).softmax(-1) * source_mask
    return torch.tanh(embedded @ W_y.T + query @ W_s + torch.einsum("bj,bjk->bk", a, keys) @ W_c.T)


def decoder_step__wrong_projection_kept(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c, _kept={}):
    """The student projects the annotations once for all steps and keeps that by their shape, so other annotations of this shape get the old scores."""
    keys = _clean(keys, source_mask)
    key = (keys.shape, W_key.shape)
    if key not in _kept:
        _kept[key] = (keys @ W_key.T).detach()
    e = torch.tanh((query @ W_query.T)[:, None] + _kept[key]) @ v.reshape(-1)
    a = e.masked_fill(~source_mask, -1e30).softmax(-1) * source_mask
    return _new(query, embedded, torch.einsum("bj,bjk->bk", a, keys), W_y, W_s, W_c)


def decoder_step__wrong_huge_pads(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """The student masks the scores and not the annotations: a finite pad of 1e308 overflows in W_key h and gives nan gradients."""
    e = _scores(query, keys, W_query, W_key, v)
    e = torch.where(source_mask, e, torch.full_like(e, -1e30))
    a = e.softmax(-1) * source_mask
    return _new(query, embedded, (a.unsqueeze(-1) * keys).sum(1), W_y, W_s, W_c)


def decoder_step__wrong_epsilon(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """The student subtracts the sentence's mean score and adds a small number below the fraction, which overflows where scores are thousands apart."""
    keys = _clean(keys, source_mask)
    e = _scores(query, keys, W_query, W_key, v) * source_mask
    count = source_mask.sum(1, keepdim=True).clamp(min=1)
    x = torch.exp(e - e.sum(1, keepdim=True) / count) * source_mask
    return _new(query, embedded, torch.einsum("bj,bjk->bk", x / (x.sum(1, keepdim=True) + 1e-12), keys), W_y, W_s, W_c)


def decoder_step__right_fill_and_mask(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """Cleaned annotations, the smallest finite number as fill, weights masked once more."""
    keys = torch.where(source_mask[..., None], keys, keys.new_zeros(()))
    e = torch.einsum("a,bja->bj", v, torch.tanh(torch.einsum("ak,bjk->bja", W_key, keys) + torch.einsum("aq,bq->ba", W_query, query)[:, None]))
    a = torch.where(source_mask, e, torch.full_like(e, torch.finfo(e.dtype).min)).softmax(1) * source_mask.type_as(e)
    return torch.tanh(torch.cat((embedded, query, torch.einsum("bj,bjk->bk", a, keys)), 1) @ torch.cat((W_y, W_s, W_c), 1).T)


def decoder_step__right_sentence_loop(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """A loop over sentences that picks the real annotations by index; zeros on the graph for an empty one."""
    rows = []
    for b in range(keys.shape[0]):
        real = torch.nonzero(source_mask[b]).flatten()
        h = keys[b].index_select(0, real)
        e = torch.tanh(h @ W_key.T + W_query @ query[b]) @ v
        c = torch.softmax(e, 0) @ h if len(real) else (0.0 * (W_query.sum() + W_key.sum() + v.sum())) + keys.new_zeros(keys.shape[-1])
        rows.append(torch.tanh(W_y @ embedded[b] + W_s @ query[b] + W_c @ c))
    return torch.stack(rows) + 0.0 * keys[:, :0].sum()


def decoder_step__right_blocked_nan(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """The nan of an empty sentence replaced by 0; masked_fill passes no gradient to masked scores, so none is nan."""
    keys = keys.masked_fill(~source_mask[:, :, None], 0)
    e = _scores(query, keys, W_query, W_key, v).masked_fill(~source_mask, -math.inf)
    return _new(query, embedded, torch.einsum("bj,bjk->bk", torch.nan_to_num(e.softmax(-1)), keys), W_y, W_s, W_c)


def decoder_step__right_sink(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """An extra position of zeros that is open only for sentences without a word."""
    batch, _, m = keys.shape
    empty = ~source_mask.any(1, keepdim=True)
    keys = torch.cat((keys.masked_fill(~source_mask[..., None], 0), keys.new_zeros(batch, 1, m)), 1)
    mask = torch.cat((source_mask, empty), 1)
    e = (torch.tanh(torch.nn.functional.linear(keys, W_key) + torch.nn.functional.linear(query, W_query)[:, None]) * v).sum(-1)
    a = torch.softmax(e.masked_fill(~mask, -math.inf), 1)
    c = torch.bmm(a[:, None], keys)[:, 0]
    linear = torch.nn.functional.linear
    return torch.tanh(linear(embedded, W_y) + linear(query, W_s) + linear(c, W_c))


def decoder_step__right_online(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """A running softmax over the positions: shift, total and mixture are updated word by word."""
    q = query @ W_query.T
    keys = torch.where(source_mask.unsqueeze(2), keys, torch.zeros_like(keys))
    top = torch.full_like(q[:, :1], -1e30)
    total, mix = torch.zeros_like(top), torch.zeros_like(keys[:, 0])
    for h, real in zip(keys.unbind(1), source_mask.unbind(1)):
        real = real[:, None]
        e = torch.tanh(q + h @ W_key.T) @ v[:, None]
        new = torch.where(real, torch.maximum(top, e), top).detach()
        old = torch.exp(top - new)
        x = torch.exp(torch.where(real, e - new, torch.zeros_like(e))) * real
        total, mix, top = total * old + x, mix * old + x * h, new
    c = mix / torch.where(total == 0, torch.ones_like(total), total)
    return torch.tanh(embedded @ W_y.T + query @ W_s.T + c @ W_c.T)


class _Step(torch.nn.Module):
    def forward(self, query, embedded, keys, real, W_query, W_key, v, W_y, W_s, W_c):
        weight = real.to(keys.dtype)
        keys = keys.masked_fill(~real[:, :, None], 0)
        e = torch.matmul(torch.tanh(torch.matmul(keys, W_key.t()) + torch.matmul(query, W_query.t()).unsqueeze(1)), v)
        far = 0.8 * math.log(torch.finfo(e.dtype).max)
        share = []
        for j in range(keys.shape[1]):
            # weight of j = 1 / sum over the real i of exp(e_i - e_j); far beyond, the weight is 0 in any case
            share.append((torch.exp((e - e[:, j:j + 1]).masked_fill(~real, 0).clamp(max=far)) * weight).sum(1))
        a = weight / torch.stack(share, 1).masked_fill(~real, 1)
        return torch.tanh(embedded @ W_y.t() + query @ W_s.t() + (a[:, :, None] * keys).sum(1) @ W_c.t())


def decoder_step__right_reciprocal(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """A module that is called, with each weight as one over a sum of exponentials of differences."""
    return _Step()(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c)


# ---------------------------------------------------------------- more of the code exercises

def decoder_step__wrong_order_not_restored(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """The student sorts the sentences by length, the longest first, and forgets to sort the contexts back."""
    order = source_mask.sum(1).argsort(descending=True, stable=True)
    mask, sorted_keys = source_mask[order], _clean(keys, source_mask)[order]
    a = _scores(query[order], sorted_keys, W_query, W_key, v).masked_fill(~mask, -1e30).softmax(-1) * mask
    return _new(query, embedded, torch.einsum("bj,bjk->bk", a, sorted_keys), W_y, W_s, W_c)


def decoder_step__wrong_scaled_scores(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """The student divides the scores by the root of the attention size, as for dot products; right at size 1."""
    keys = _clean(keys, source_mask)
    e = _scores(query, keys, W_query, W_key, v) / math.sqrt(v.numel())
    a = e.masked_fill(~source_mask, -1e30).softmax(-1) * source_mask
    return _new(query, embedded, torch.einsum("bj,bjk->bk", a, keys), W_y, W_s, W_c)


def decoder_step__wrong_one_position_unlinked(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """The student takes a short cut for a single position: the state is right, and W_query, W_key and v get no gradient at all, not even zeros."""
    keys = _clean(keys, source_mask)
    if keys.shape[1] == 1:
        context = keys[:, 0]
    else:
        a = _scores(query, keys, W_query, W_key, v).masked_fill(~source_mask, -1e30).softmax(-1) * source_mask
        context = torch.einsum("bj,bjk->bk", a, keys)
    return _new(query, embedded, context, W_y, W_s, W_c)


def decoder_step__wrong_score_by_first_query(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """The student adds the projected query along the wrong axis where batch and length agree: annotation j is scored by the state of sentence j."""
    keys = _clean(keys, source_mask)
    q = query @ W_query.T
    q = q if q.shape[0] == keys.shape[1] else q.unsqueeze(1)
    e = torch.tanh(q + keys @ W_key.T) @ v.reshape(-1)
    a = e.masked_fill(~source_mask, -1e30).softmax(-1) * source_mask
    return _new(query, embedded, torch.einsum("bj,bjk->bk", a, keys), W_y, W_s, W_c)


def decoder_step__wrong_square_key_matrix(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """The student transposes W_key only where sizes force it."""
    keys = _clean(keys, source_mask)
    projected = keys @ (W_key if W_key.shape[0] == W_key.shape[1] else W_key.T)
    e = torch.tanh((query @ W_query.T).unsqueeze(1) + projected) @ v.reshape(-1)
    a = e.masked_fill(~source_mask, -1e30).softmax(-1) * source_mask
    return _new(query, embedded, torch.einsum("bj,bjk->bk", a, keys), W_y, W_s, W_c)


def fused_input__wrong_small_to_zero(embedded, context, L_1):
    """The student sets numbers below 0.01 to 0, not only those below 0."""
    k = np.hstack((embedded, context)) @ L_1.T
    return np.where(k < 0.01, 0.0, k)


def fused_input__wrong_word_of_first(embedded, context, L_1):
    """The student joins the first sentence's word to every context."""
    first = np.broadcast_to(embedded[:1], embedded.shape)
    return np.maximum(np.hstack((first, context)) @ L_1.T, 0)
