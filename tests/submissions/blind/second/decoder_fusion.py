"""Blind answers for decoder_fusion: written from the notebook alone."""
import collections
import math

import numpy as np
import torch


# ---------------------------------------------------------------- fusion_shapes


def fusion_shapes__wrong_reads_state_size(d, m, n, r):
    """The student takes the recurrent layer's input to be as large as its state."""
    return {"joined": (d + 2 * m,), "L_1": (r, d + 2 * m), "W_input": (n, n), "W_context": (n, 2 * m)}


def fusion_shapes__right_computed(d, m, n, r):
    """The shapes come from arrays that are really joined and multiplied."""
    annotation = np.concatenate([np.zeros(m), np.zeros(m)])
    joined = np.concatenate([np.zeros(d), annotation])
    layer = np.zeros((r, joined.size))
    back = np.zeros((n, (layer @ joined).size))
    return dict(joined=joined.shape, L_1=layer.shape, W_input=back.shape, W_context=np.outer(np.zeros(n), annotation).shape)


_Matrix = collections.namedtuple("_Matrix", "rows columns")


# ---------------------------------------------------------------- fused_input


def fused_input__wrong_flattened(embedded, context, L_1):
    """The student joins the flat arrays and cuts them into rows, which is right for one sentence only."""
    joined = np.concatenate([embedded.ravel(), context.ravel()]).reshape(len(embedded), -1)
    return np.maximum(joined @ L_1.T, 0)


def fused_input__wrong_turned_where_sizes_agree(embedded, context, L_1):
    """The student turns the result by looking at its first axis, which fails where batch = input_size."""
    result = np.maximum(L_1 @ np.hstack([embedded, context]).T, 0)
    return result if len(result) == len(embedded) else result.T


def fused_input__wrong_rows_killed(embedded, context, L_1):
    """The student sets a number to 0 if that of the first sentence is negative: the mask is one row for all."""
    x = np.hstack([embedded, context]) @ L_1.T
    x[:, x[0] < 0] = 0
    return np.maximum(x, 0)


def fused_input__wrong_buffer_kept(embedded, context, L_1, _kept=[]):
    """The student keeps the joined array of the first call of each size, and does not fill in the later context."""
    for joined in _kept:
        if joined.shape == (len(embedded), embedded.shape[1] + context.shape[1]):
            joined[:, :embedded.shape[1]] = embedded
            return np.maximum(joined @ L_1.T, 0)
    _kept.append(np.hstack([embedded, context]))
    return np.maximum(_kept[-1] @ L_1.T, 0)


def fused_input__right_two_products(embedded, context, L_1):
    """The layer cut in two, and the ReLU as the half of the sum of a number and its absolute value."""
    x = embedded @ L_1[:, :embedded.shape[1]].T + context @ L_1[:, -context.shape[1]:].T
    return (x + np.abs(x)) / 2


def fused_input__right_python_rows(embedded, context, L_1):
    """Rows by a generator, exact sums, and the larger of 0 and each."""
    def rows():
        for word, mixed in zip(embedded.tolist(), context.tolist()):
            yield [max(0.0, math.fsum(map(float.__mul__, map(float, row), word + mixed))) for row in L_1]
    return np.array(list(rows()))


def fused_input__right_long_double(embedded, context, L_1):
    """Extended precision on the way and a Boolean product for the ReLU."""
    x = np.einsum("bi,ri->br", np.c_[embedded, context].astype(np.longdouble), L_1.astype(np.longdouble)).astype(float)
    x *= x > 0
    return x


def fused_input__right_matrix(embedded, context, L_1):
    """Products of np.matrix, and back to an array."""
    x = np.asarray((np.asmatrix(L_1) * np.asmatrix(np.append(embedded, context, axis=1)).T).T).copy()
    np.putmask(x, x < 0, 0.0)
    return x


# ---------------------------------------------------------------- decoder_step

def _scores(query, keys, W_query, W_key, v):
    return torch.tanh((query @ W_query.T).unsqueeze(1) + keys @ W_key.T) @ v


def _next(embedded, query, context, W_y, W_s, W_c):
    return torch.tanh(embedded @ W_y.T + query @ W_s.T + context @ W_c.T)


def _mix(weights, keys):
    return (weights.unsqueeze(1) @ keys).squeeze(1)


def _soft(scores, mask):
    lowest = torch.finfo(scores.dtype).min
    return torch.softmax(scores.masked_fill(~mask, lowest), dim=-1).masked_fill(~mask, 0.0)


def decoder_step__right_nan_to_num(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """Filled with -inf, and nan turned into 0: masked_fill stops what is nan on the way back."""
    scores = _scores(query, keys, W_query, W_key, v).masked_fill(~source_mask, -math.inf)
    weights = torch.nan_to_num(torch.softmax(scores, dim=-1), nan=0.0)
    return _next(embedded, query, _mix(weights, keys), W_y, W_s, W_c)


def decoder_step__wrong_where_after_nan(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """The student puts zeros with torch.where behind a softmax of -inf: forward right, backward nan."""
    scores = _scores(query, keys, W_query, W_key, v) + torch.log(source_mask.to(keys.dtype))
    weights = torch.softmax(scores, dim=-1)
    weights = torch.where(source_mask.any(dim=1, keepdim=True), weights, torch.zeros_like(weights))
    return _next(embedded, query, _mix(weights, keys), W_y, W_s, W_c)


def decoder_step__wrong_largest_of_all(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """The student subtracts the largest score of a row with its pads: a pad far above the real words erases them."""
    scores = _scores(query, keys, W_query, W_key, v)
    powers = torch.exp(scores - scores.amax(dim=1, keepdim=True)) * source_mask
    weights = powers / powers.sum(dim=1, keepdim=True).clamp_min(1e-30)
    return _next(embedded, query, _mix(weights, keys), W_y, W_s, W_c)


def decoder_step__wrong_largest_of_batch(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """The student subtracts one maximum for the whole batch: a sentence thousands below another gets no weights."""
    scores = _scores(query, keys, W_query, W_key, v)
    top = scores.masked_fill(~source_mask, torch.finfo(scores.dtype).min).max().detach()
    powers = torch.exp((scores - top).masked_fill(~source_mask, -1e5)) * source_mask
    weights = powers / (powers.sum(dim=1, keepdim=True) + 1e-12)
    return _next(embedded, query, _mix(weights, keys), W_y, W_s, W_c)


def decoder_step__wrong_clamped_scores(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """The student clamps the scores to -100 ... 100 against overflow, which makes ties of scores in the thousands."""
    weights = _soft(_scores(query, keys, W_query, W_key, v).clamp(-100, 100), source_mask)
    return _next(embedded, query, _mix(weights, keys), W_y, W_s, W_c)


def decoder_step__wrong_pad_rows_zeroed(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """The student zeroes the annotations of pads and takes the softmax over all, so that pads still take weight."""
    keys = keys * source_mask.unsqueeze(-1)
    weights = torch.softmax(_scores(query, keys, W_query, W_key, v), dim=-1)
    return _next(embedded, query, _mix(weights, keys), W_y, W_s, W_c)


def decoder_step__wrong_squeezed(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """The student squeezes the context without naming an axis, which drops the batch axis and others of length 1."""
    weights = _soft(_scores(query, keys, W_query, W_key, v), source_mask)
    context = (weights.unsqueeze(1) @ keys).squeeze()
    state = torch.tanh(embedded @ W_y.T + query @ W_s.T + (context.reshape(-1, W_c.shape[1]) @ W_c.T))
    return state if len(state) > 1 else state.squeeze(0)


def decoder_step__wrong_whole_batch_empty_only(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """The student looks for a missing word in the whole batch only: one sentence without words among others gives nan."""
    if source_mask.any():
        weights = torch.softmax(_scores(query, keys, W_query, W_key, v).masked_fill(~source_mask, -math.inf), dim=-1)
    else:
        weights = 0.0 * _scores(query, keys, W_query, W_key, v)
    return _next(embedded, query, _mix(weights, keys), W_y, W_s, W_c)


def decoder_step__wrong_projected_keys_kept(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c, _kept={}):
    """The student keeps W_key h for each size of a batch, as if it were the same sentences still."""
    size = tuple(keys.shape) + tuple(W_key.shape)
    if size not in _kept:
        _kept[size] = (keys @ W_key.T).detach()
    projected = keys @ W_key.T
    projected = projected - projected.detach() + _kept[size]
    scores = torch.tanh((query @ W_query.T).unsqueeze(1) + projected) @ v
    return _next(embedded, query, _mix(_soft(scores, source_mask), keys), W_y, W_s, W_c)


def decoder_step__right_sentence_by_sentence(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """A loop over sentences that gathers the real words; an empty sum is a context of zeros."""
    states = []
    for s, word, rows, real in zip(query, embedded, keys, source_mask):
        rows = rows[real]
        scores = torch.tanh(W_query @ s + rows @ W_key.T) @ v
        context = torch.softmax(scores, dim=0) @ rows
        states.append(torch.tanh(W_y @ word + W_s @ s + W_c @ context))
    return torch.stack(states)


def decoder_step__right_einsum_logsumexp(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """Einsum for each product, and weights as exponentials of scores less their logsumexp."""
    hidden = torch.einsum("aq,bq->ba", W_query, query)[:, None] + torch.einsum("ak,bjk->bja", W_key, keys)
    scores = torch.einsum("a,bja->bj", v, hidden.tanh())
    scores = torch.where(source_mask, scores, scores.new_tensor(-1e300))
    weights = torch.exp(scores - scores.logsumexp(dim=1, keepdim=True)) * source_mask
    context = torch.einsum("bj,bjk->bk", weights, keys)
    terms = torch.einsum("nd,bd->bn", W_y, embedded), torch.einsum("nq,bq->bn", W_s, query), torch.einsum("nk,bk->bn", W_c, context)
    return sum(terms).tanh()


def decoder_step__right_running_softmax(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """One position after the other, with a running maximum, a running sum and a running mix."""
    lowest = torch.finfo(keys.dtype).min
    scores = _scores(query, keys, W_query, W_key, v)
    top = torch.full_like(scores[:, :1], lowest).detach()
    total, mixed = torch.zeros_like(top), torch.zeros_like(keys[:, 0])
    for j in range(keys.shape[1]):
        real = source_mask[:, j:j + 1]
        score = scores[:, j:j + 1].masked_fill(~real, lowest)
        new = torch.maximum(top, score.detach())
        power = torch.exp(score - new).masked_fill(~real, 0.0)
        shrink = torch.exp(top - new)
        total, mixed, top = total * shrink + power, mixed * shrink + power * keys[:, j], new
    context = mixed / torch.where(total == 0, torch.ones_like(total), total)
    return _next(embedded, query, context, W_y, W_s, W_c)


class _Step(torch.nn.Module):
    def __init__(self, **weights):
        super().__init__()
        self.w = weights

    def forward(self, query, embedded, keys, mask):
        w = self.w
        scores = _scores(query, keys, w["W_query"], w["W_key"], w["v"])
        joined = torch.cat([embedded, query, _mix(_soft(scores, mask), keys)], dim=1)
        return torch.nn.functional.linear(joined, torch.cat([w["W_y"], w["W_s"], w["W_c"]], dim=1)).tanh()


def decoder_step__right_module(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """A module that is built for the call, with one joined matrix for the recurrence."""
    return _Step(W_query=W_query, W_key=W_key, v=v, W_y=W_y, W_s=W_s, W_c=W_c)(query, embedded, keys, source_mask)


def decoder_step__right_null_word(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """A null word with a zero annotation joins each sentence that has no other, so that no row is empty."""
    empty = ~source_mask.any(dim=1, keepdim=True)
    scores = torch.cat([_scores(query, keys, W_query, W_key, v), torch.zeros_like(query[:, :1])], dim=1)
    mask = torch.cat([source_mask, empty], dim=1)
    rows = torch.cat([keys, torch.zeros_like(keys[:, :1])], dim=1)
    rows = rows.masked_fill(~mask.unsqueeze(-1), 0.0)
    weights = torch.softmax(scores.masked_fill(~mask, -math.inf), dim=1)
    return _next(embedded, query, torch.bmm(rows.transpose(1, 2), weights.unsqueeze(2)).squeeze(2), W_y, W_s, W_c)


def decoder_step__wrong_one_position_is_real(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """The student takes the shortcut that with one position the context is its annotation, also where it is a pad."""
    scores = _scores(query, keys, W_query, W_key, v)
    weights = _soft(scores, source_mask) if keys.shape[1] > 1 else torch.softmax(scores, dim=-1)
    return _next(embedded, query, _mix(weights, keys), W_y, W_s, W_c)


def decoder_step__wrong_thousand_subtracted(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """The student subtracts 1000 from the scores of pads, which still win where scores are thousands apart."""
    scores = _scores(query, keys, W_query, W_key, v) - 1000.0 * (~source_mask)
    weights = torch.softmax(scores, dim=-1) * source_mask.any(dim=1, keepdim=True)
    return _next(embedded, query, _mix(weights, keys), W_y, W_s, W_c)


def decoder_step__wrong_first_position_forced(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """The student makes the first position of a sentence without words real, so that the softmax is finite."""
    mask = source_mask.clone()
    mask[:, 0] |= ~source_mask.any(dim=1)
    return _next(embedded, query, _mix(_soft(_scores(query, keys, W_query, W_key, v), mask), keys), W_y, W_s, W_c)
