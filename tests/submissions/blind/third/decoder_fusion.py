import math

import numpy as np
import torch

_MEMORY = {}


# ---------------------------------------------------------------- fusion_shapes


def fusion_shapes__wrong_context_after_layer(d, m, n, r):
    """The student lets note C's matrix read r numbers, like the recurrent layer."""
    return {"joined": (d + 2 * m,), "L_1": (r, d + 2 * m), "W_input": (n, r), "W_context": (n, r)}


def fusion_shapes__right_computed(d, m, n, r):
    """Shapes of arrays that are really joined."""
    h = np.concatenate([np.zeros(m), np.zeros(m)])
    x = np.concatenate([np.zeros(d), h])
    k = np.zeros(r)
    return {"joined": x.shape, "L_1": np.outer(k, x).shape, "W_input": np.outer(np.zeros(n), k).shape,
            "W_context": np.outer(np.zeros(n), h).shape}


def fusion_shapes__right_torch_size(d, m, n, r):
    """torch.Size throughout."""
    s = torch.Size
    return {"W_context": s([n, m * 2]), "W_input": s([n, r]), "L_1": s([r, m + d + m]), "joined": s([m + d + m])}


# ---------------------------------------------------------------- fused_input


def fused_input__wrong_stacked_below(embedded, context, L_1):
    """The student joins along the first axis and reshapes, which mixes sentences where embedding and context are of one size."""
    if embedded.shape[1] == context.shape[1]:
        x = np.concatenate([embedded, context]).reshape(len(embedded), -1)
    else:
        x = np.concatenate([embedded, context], axis=1)
    return np.maximum(x @ L_1.T, 0)


def fused_input__wrong_tanh_range(embedded, context, L_1):
    """The student clips to the range from 0 to 1."""
    return np.clip(np.hstack([embedded, context]) @ L_1.T, 0.0, 1.0)


def fused_input__wrong_squeeze(embedded, context, L_1):
    """The student loses the axes of length 1."""
    return np.squeeze(np.maximum(np.hstack([embedded, context]) @ L_1.T, 0))


def fused_input__wrong_softplus(embedded, context, L_1):
    """The student takes the smooth softplus for the ReLU, which is ln 2 at 0."""
    return np.logaddexp(0.0, np.hstack([embedded, context]) @ L_1.T)


def fused_input__right_half_sum(embedded, context, L_1):
    """ReLU as half the sum of a number and its absolute value, over a split matrix."""
    k = embedded.shape[1]
    z = embedded @ L_1[:, :k].T + context @ L_1[:, k:].T
    return (z + np.abs(z)) / 2


def fused_input__right_loops(embedded, context, L_1):
    """Python loops and max, as tuples in a list."""
    return [tuple(max(0.0, math.fsum(w * x for w, x in zip(row, [*y, *c]))) for row in L_1.tolist())
            for y, c in zip(embedded.tolist(), context.tolist())]


def fused_input__right_where_einsum(embedded, context, L_1):
    """einsum over np.r_-joined columns, and a product with a truth value."""
    z = np.einsum("rk,kb->br", L_1, np.r_[embedded.T, context.T])
    return z * (z > 0)


# ---------------------------------------------------------------- decoder_step

def _scores(query, keys, W_query, W_key, v):
    return torch.tanh((query @ W_query.T)[:, None, :] + keys @ W_key.T) @ v


def _state(query, embedded, context, W_y, W_s, W_c):
    return torch.tanh(embedded @ W_y.T + query @ W_s.T + context @ W_c.T)


def _mixed(weights, keys):
    return (weights[:, None, :] @ keys)[:, 0, :]


def decoder_step__wrong_where_after_division(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """The student divides 0 by 0 in an empty sentence and picks 0 afterwards: gradients that are not numbers."""
    e = _scores(query, keys, W_query, W_key, v)
    top = e.masked_fill(~source_mask, -1e30).max(1, keepdim=True).values.detach()
    x = torch.exp((e - top) * source_mask) * source_mask
    total = x.sum(1, keepdim=True)
    w = torch.where(total > 0, x / total, torch.zeros_like(x))
    return _state(query, embedded, _mixed(w, keys), W_y, W_s, W_c)


def decoder_step__wrong_where_after_exp(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """The student leaves pads out after the exponential, which overflows for a pad far above: gradients of 0 times infinity."""
    e = _scores(query, keys, W_query, W_key, v)
    top = e.masked_fill(~source_mask, -1e30).max(1, keepdim=True).values.detach()
    top = torch.where(source_mask.any(1, keepdim=True), top, torch.zeros_like(top))
    x = torch.where(source_mask, torch.exp(e - top), torch.zeros_like(e))
    total = x.sum(1, keepdim=True)
    w = x / torch.where(total > 0, total, torch.ones_like(total))
    return _state(query, embedded, _mixed(w, keys), W_y, W_s, W_c)


def decoder_step__wrong_renormalised(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """The student takes the softmax of all positions, drops the pads and divides again, guarded by 1e-12."""
    w = torch.softmax(_scores(query, keys, W_query, W_key, v), 1) * source_mask
    w = w / w.sum(1, keepdim=True).clamp(min=1e-12)  # a pad thousands above: all 0
    return _state(query, embedded, _mixed(w, keys), W_y, W_s, W_c)


def decoder_step__wrong_keys_detached_in_scores(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """The student detaches the keys in the scores, so their gradient lacks the way through the weights."""
    e = _scores(query, keys.detach(), W_query, W_key, v).masked_fill(~source_mask, -1e30)
    w = torch.softmax(e, 1) * source_mask
    return _state(query, embedded, _mixed(w, keys), W_y, W_s, W_c)


def decoder_step__wrong_state_zero_for_empty(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """The student makes the whole new state 0 in a sentence without a word, not the context alone."""
    e = _scores(query, keys, W_query, W_key, v).masked_fill(~source_mask, -1e30)
    w = torch.softmax(e, 1)
    return _state(query, embedded, _mixed(w, keys), W_y, W_s, W_c) * source_mask.any(1, keepdim=True)


def decoder_step__wrong_clamped_scores(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """The student clamps the scores at 300, which makes scores beyond equal and cuts their gradients."""
    e = _scores(query, keys, W_query, W_key, v).clamp(-300.0, 300.0)
    x = torch.exp(e) * source_mask
    total = x.sum(1, keepdim=True)
    w = x / total.masked_fill(total == 0, 1.0)
    return _state(query, embedded, _mixed(w, keys), W_y, W_s, W_c)


def decoder_step__wrong_batch_shift(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """The student shifts by the largest score of the whole batch, so a sentence thousands below gets no context."""
    e = _scores(query, keys, W_query, W_key, v).masked_fill(~source_mask, -1e30)
    x = torch.exp(e - e.max().detach()) * source_mask
    total = x.sum(1, keepdim=True)
    w = x / torch.where(total > 0, total, torch.ones_like(total))
    return _state(query, embedded, _mixed(w, keys), W_y, W_s, W_c)


def decoder_step__wrong_empty_only_together(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """The student looks for a batch without any word and not for a sentence without one."""
    if not source_mask.any():
        c = keys.sum(1) * 0.0
    else:
        e = _scores(query, keys, W_query, W_key, v).masked_fill(~source_mask, -math.inf)
        c = _mixed(torch.softmax(e, 1), keys)
    return _state(query, embedded, c, W_y, W_s, W_c)


def decoder_step__wrong_squeeze(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """The student squeezes all axes of length 1 off the context and the result."""
    e = _scores(query, keys, W_query, W_key, v).masked_fill(~source_mask, -1e30)
    c = ((torch.softmax(e, 1) * source_mask)[:, None] @ keys).squeeze(1)
    return _state(query, embedded, c, W_y, W_s, W_c).squeeze()


def decoder_step__right_sentence_by_sentence(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """A loop over the sentences that reads the real annotations alone."""
    rows = []
    for s, y, h, real in zip(query, embedded, keys, source_mask):
        h = h[real]
        a = torch.softmax(torch.tanh(W_query @ s + h @ W_key.T) @ v, 0)
        rows.append(torch.tanh(W_y @ y + W_s @ s + W_c @ (a @ h)))
    return torch.stack(rows)


def decoder_step__right_fill_blocks_nan(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """0 by 0 in empty sentences, picked away behind and stopped before by the fill, which passes no gradient."""
    e = _scores(query, keys, W_query, W_key, v).masked_fill(~source_mask, -1e30)
    x = torch.exp(e - e.max(1, keepdim=True).values.detach()) * source_mask
    total = x.sum(1, keepdim=True)
    w = torch.where(total > 0, x / total, torch.zeros_like(x))
    return _state(query, embedded, _mixed(w, keys), W_y, W_s, W_c)


def decoder_step__right_einsum(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """einsum throughout, a finite fill and a product with the mask."""
    t = torch.einsum("aq,bq->ba", W_query, query).unsqueeze(1) + torch.einsum("ak,bjk->bja", W_key, keys)
    e = torch.where(source_mask, torch.einsum("a,bja->bj", v, t.tanh()), -1e200)
    w = e.softmax(-1) * source_mask.to(e.dtype)
    c = torch.einsum("bj,bjk->bk", w, keys)
    return (torch.einsum("nd,bd->bn", W_y, embedded) + torch.einsum("nq,bq->bn", W_s, query)
            + torch.einsum("nk,bk->bn", W_c, c)).tanh()


def decoder_step__right_extra_position(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """A position of zeros put behind each empty sentence, so that every softmax has a word."""
    empty = ~source_mask.any(1, keepdim=True)
    k = torch.cat([keys, torch.zeros_like(keys[:, :1])], 1)
    m = torch.cat([source_mask, empty], 1)
    e = _scores(query, k, W_query, W_key, v).masked_fill(~m, -math.inf)
    return _state(query, embedded, _mixed(torch.softmax(e, 1), k), W_y, W_s, W_c)


def decoder_step__right_log_weights(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """Weights by log_softmax over a fill, and layers through torch.nn.functional.linear."""
    F = torch.nn.functional
    t = torch.tanh(F.linear(query, W_query).unsqueeze(-2) + F.linear(keys, W_key))
    e = torch.where(source_mask, (t * v).sum(-1), -1e100)
    w = torch.where(source_mask, torch.log_softmax(e, -1), -1e100).exp()
    x = torch.cat([embedded, query, torch.bmm(w.unsqueeze(1), keys).squeeze(1)], -1)
    return torch.tanh(F.linear(x, torch.cat([W_y, W_s, W_c], -1)))


# ---------------------------------------------------------------- gated_step

def _sig(x):
    return 0.5 * (1.0 + np.tanh(0.5 * x))


def _sum3(y, s, c, a, b, k):
    return y @ a.T + s @ b.T + c @ k.T


def gated_step__wrong_reset_after_product(embedded, query, context, W_y, W_s, W_c, W_y_update, W_s_update, W_c_update,
                                          W_y_reset, W_s_reset, W_c_reset):
    """The student applies the reset gate to the product W_s s, as torch's GRU does, and not to the state."""
    u = _sig(_sum3(embedded, query, context, W_y_update, W_s_update, W_c_update))
    r = _sig(_sum3(embedded, query, context, W_y_reset, W_s_reset, W_c_reset))
    new = np.tanh(embedded @ W_y.T + r * (query @ W_s.T) + context @ W_c.T)
    return (1 - u) * query + u * new


def gated_step__wrong_update_turned(embedded, query, context, W_y, W_s, W_c, W_y_update, W_s_update, W_c_update,
                                    W_y_reset, W_s_reset, W_c_reset):
    """The student lets the update gate say how much of the old state is kept."""
    u = _sig(_sum3(embedded, query, context, W_y_update, W_s_update, W_c_update))
    r = _sig(_sum3(embedded, query, context, W_y_reset, W_s_reset, W_c_reset))
    new = np.tanh(_sum3(embedded, r * query, context, W_y, W_s, W_c))
    return u * query + (1 - u) * new


def gated_step__wrong_reset_state_kept(embedded, query, context, W_y, W_s, W_c, W_y_update, W_s_update, W_c_update,
                                       W_y_reset, W_s_reset, W_c_reset):
    """The student keeps a share of the reset state, since the copy that it multiplied in place is used again at the end."""
    s = query.copy()
    u = _sig(_sum3(embedded, s, context, W_y_update, W_s_update, W_c_update))
    s *= _sig(_sum3(embedded, s, context, W_y_reset, W_s_reset, W_c_reset))
    new = np.tanh(_sum3(embedded, s, context, W_y, W_s, W_c))
    return (1 - u) * s + u * new


def gated_step__wrong_update_after_reset(embedded, query, context, W_y, W_s, W_c, W_y_update, W_s_update, W_c_update,
                                         W_y_reset, W_s_reset, W_c_reset):
    """The student lets the update gate look at the reset state."""
    r = _sig(_sum3(embedded, query, context, W_y_reset, W_s_reset, W_c_reset))
    u = _sig(_sum3(embedded, r * query, context, W_y_update, W_s_update, W_c_update))
    new = np.tanh(_sum3(embedded, r * query, context, W_y, W_s, W_c))
    return (1 - u) * query + u * new


def gated_step__wrong_no_context_in_gates(embedded, query, context, W_y, W_s, W_c, W_y_update, W_s_update, W_c_update,
                                          W_y_reset, W_s_reset, W_c_reset):
    """The student leaves the context out of the gates."""
    u = _sig(embedded @ W_y_update.T + query @ W_s_update.T)
    r = _sig(embedded @ W_y_reset.T + query @ W_s_reset.T)
    new = np.tanh(_sum3(embedded, r * query, context, W_y, W_s, W_c))
    return (1 - u) * query + u * new


def gated_step__wrong_gates_swapped(embedded, query, context, W_y, W_s, W_c, W_y_update, W_s_update, W_c_update,
                                    W_y_reset, W_s_reset, W_c_reset):
    """The student swaps the two gates."""
    r = _sig(_sum3(embedded, query, context, W_y_update, W_s_update, W_c_update))
    u = _sig(_sum3(embedded, query, context, W_y_reset, W_s_reset, W_c_reset))
    new = np.tanh(_sum3(embedded, r * query, context, W_y, W_s, W_c))
    return (1 - u) * query + u * new


def gated_step__wrong_copied_line(embedded, query, context, W_y, W_s, W_c, W_y_update, W_s_update, W_c_update,
                                  W_y_reset, W_s_reset, W_c_reset):
    """The student copies the update gate's line and forgets to change one matrix, the context's."""
    u = _sig(_sum3(embedded, query, context, W_y_update, W_s_update, W_c_update))
    r = _sig(_sum3(embedded, query, context, W_y_reset, W_s_reset, W_c_update))
    new = np.tanh(_sum3(embedded, r * query, context, W_y, W_s, W_c))
    return (1 - u) * query + u * new


def gated_step__wrong_reset_matrix_not_turned(embedded, query, context, W_y, W_s, W_c, W_y_update, W_s_update, W_c_update,
                                              W_y_reset, W_s_reset, W_c_reset):
    """The student forgets to turn the reset gate's square matrix."""
    u = _sig(_sum3(embedded, query, context, W_y_update, W_s_update, W_c_update))
    r = _sig(embedded @ W_y_reset.T + query @ W_s_reset + context @ W_c_reset.T)
    new = np.tanh(_sum3(embedded, r * query, context, W_y, W_s, W_c))
    return (1 - u) * query + u * new


def gated_step__wrong_one_gate_a_sentence(embedded, query, context, W_y, W_s, W_c, W_y_update, W_s_update, W_c_update,
                                          W_y_reset, W_s_reset, W_c_reset):
    """The student takes one update gate for each sentence, the mean, which is right for a state of one number."""
    u = _sig(_sum3(embedded, query, context, W_y_update, W_s_update, W_c_update)).mean(axis=1, keepdims=True)
    r = _sig(_sum3(embedded, query, context, W_y_reset, W_s_reset, W_c_reset))
    new = np.tanh(_sum3(embedded, r * query, context, W_y, W_s, W_c))
    return (1 - u) * query + u * new


def gated_step__wrong_hard_gates(embedded, query, context, W_y, W_s, W_c, W_y_update, W_s_update, W_c_update,
                                 W_y_reset, W_s_reset, W_c_reset):
    """The student takes a straight line for the logistic function, which agrees with it at 0 alone."""
    def _hard(x):
        return np.clip(0.5 + 0.25 * x, 0.0, 1.0)
    u = _hard(_sum3(embedded, query, context, W_y_update, W_s_update, W_c_update))
    r = _hard(_sum3(embedded, query, context, W_y_reset, W_s_reset, W_c_reset))
    new = np.tanh(_sum3(embedded, r * query, context, W_y, W_s, W_c))
    return (1 - u) * query + u * new


def gated_step__wrong_tanh_of_all(embedded, query, context, W_y, W_s, W_c, W_y_update, W_s_update, W_c_update,
                                  W_y_reset, W_s_reset, W_c_reset):
    """The student clips the result to -1 and 1, though an old state may lie beyond and keep its share."""
    u = _sig(_sum3(embedded, query, context, W_y_update, W_s_update, W_c_update))
    r = _sig(_sum3(embedded, query, context, W_y_reset, W_s_reset, W_c_reset))
    new = np.tanh(_sum3(embedded, r * query, context, W_y, W_s, W_c))
    return np.clip((1 - u) * query + u * new, -1.0, 1.0)


def gated_step__wrong_reset_on_whole_candidate(embedded, query, context, W_y, W_s, W_c, W_y_update, W_s_update,
                                               W_c_update, W_y_reset, W_s_reset, W_c_reset):
    """The student resets the context as well where it is as large as the state."""
    u = _sig(_sum3(embedded, query, context, W_y_update, W_s_update, W_c_update))
    r = _sig(_sum3(embedded, query, context, W_y_reset, W_s_reset, W_c_reset))
    c = r * context if context.shape == query.shape else context
    new = np.tanh(_sum3(embedded, r * query, c, W_y, W_s, W_c))
    return (1 - u) * query + u * new


def gated_step__wrong_squeeze(embedded, query, context, W_y, W_s, W_c, W_y_update, W_s_update, W_c_update,
                              W_y_reset, W_s_reset, W_c_reset):
    """The student squeezes the gates and the result."""
    u = np.squeeze(_sig(_sum3(embedded, query, context, W_y_update, W_s_update, W_c_update)))
    r = np.squeeze(_sig(_sum3(embedded, query, context, W_y_reset, W_s_reset, W_c_reset)))
    new = np.tanh(_sum3(embedded, np.reshape(r * query, query.shape), context, W_y, W_s, W_c))
    return np.squeeze((1 - u) * query + u * new)


def gated_step__right_stacked(embedded, query, context, W_y, W_s, W_c, W_y_update, W_s_update, W_c_update,
                              W_y_reset, W_s_reset, W_c_reset):
    """Stacked matrices, one product for all inputs, and exponentials by np.exp with logaddexp."""
    n = query.shape[1]
    x = np.c_[embedded, context] @ np.block([[W_y_update, W_c_update], [W_y_reset, W_c_reset], [W_y, W_c]]).T
    g = np.exp(-np.logaddexp(0.0, -(x[:, :2 * n] + query @ np.r_[W_s_update, W_s_reset].T)))
    u, r = np.split(g, 2, axis=1)
    return query + u * (np.tanh(x[:, 2 * n:] + (r * query) @ W_s.T) - query)


def gated_step__right_einsum_class(embedded, query, context, W_y, W_s, W_c, W_y_update, W_s_update, W_c_update,
                                   W_y_reset, W_s_reset, W_c_reset):
    """A class with __call__ for each of the three sums, in einsum."""
    class Sum:
        def __init__(self, *matrices):
            self.matrices = matrices

        def __call__(self, *columns):
            return sum(np.einsum("np,bp->bn", w, x) for w, x in zip(self.matrices, columns))
    r = _sig(Sum(W_y_reset, W_s_reset, W_c_reset)(embedded, query, context))
    u = _sig(Sum(W_y_update, W_s_update, W_c_update)(embedded, query, context))
    return u * np.tanh(Sum(W_y, W_s, W_c)(embedded, r * query, context)) + query - u * query


def gated_step__right_loops(embedded, query, context, W_y, W_s, W_c, W_y_update, W_s_update, W_c_update,
                            W_y_reset, W_s_reset, W_c_reset):
    """Plain loops with floats, as nested lists."""
    def _dot(w, i, x):
        return math.fsum(float(a) * float(b) for a, b in zip(w[i], x))
    def _s(x):
        return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))
    out = []
    for y, s, c in zip(embedded, query, context):
        n = range(len(s))
        r = [_s(_dot(W_y_reset, i, y) + _dot(W_s_reset, i, s) + _dot(W_c_reset, i, c)) for i in n]
        u = [_s(_dot(W_y_update, i, y) + _dot(W_s_update, i, s) + _dot(W_c_update, i, c)) for i in n]
        kept = [a * b for a, b in zip(r, s)]
        out.append([(1 - u[i]) * s[i] + u[i] * math.tanh(_dot(W_y, i, y) + _dot(W_s, i, kept) + _dot(W_c, i, c)) for i in n])
    return out


# ---------------------------------------------------------------- luong_step

def _luong_state(fed, embedded, query, W_y, W_s, W_fed):
    return np.tanh(embedded @ W_y.T + query @ W_s.T + fed @ W_fed.T)


def _weights(e, mask):
    e = np.where(mask, e, -1e300)
    x = np.exp(e - e.max(axis=1, keepdims=True)) * mask
    total = x.sum(axis=1, keepdims=True)
    return x / np.where(total > 0, total, 1.0)


def _finish(w, s, keys, W_mix):
    return np.tanh(np.hstack([np.einsum("bj,bjk->bk", w, keys), s]) @ W_mix.T)


def luong_step__wrong_old_state_asks(fed, embedded, query, keys, source_mask, W_y, W_s, W_fed, W, W_mix):
    """The student scores with the old state, as Bahdanau does."""
    s = _luong_state(fed, embedded, query, W_y, W_s, W_fed)
    w = _weights(np.einsum("bq,qk,bjk->bj", query, W, keys), source_mask)
    return _finish(w, s, keys, W_mix)


def luong_step__wrong_state_first(fed, embedded, query, keys, source_mask, W_y, W_s, W_fed, W, W_mix):
    """The student joins the state before the context."""
    s = _luong_state(fed, embedded, query, W_y, W_s, W_fed)
    w = _weights(np.einsum("bq,qk,bjk->bj", s, W, keys), source_mask)
    return np.tanh(np.hstack([s, np.einsum("bj,bjk->bk", w, keys)]) @ W_mix.T)


def luong_step__wrong_square_matrix_turned(fed, embedded, query, keys, source_mask, W_y, W_s, W_fed, W, W_mix):
    """The student turns W where it is square, so state and annotation change their sides."""
    s = _luong_state(fed, embedded, query, W_y, W_s, W_fed)
    m = W.T if W.shape[0] == W.shape[1] else W
    w = _weights(np.einsum("bq,qk,bjk->bj", s, m, keys), source_mask)
    return _finish(w, s, keys, W_mix)


def luong_step__wrong_projected_context(fed, embedded, query, keys, source_mask, W_y, W_s, W_fed, W, W_mix):
    """The student mixes the projected annotations W h where they are as large as the annotations themselves."""
    s = _luong_state(fed, embedded, query, W_y, W_s, W_fed)
    k = keys @ W.T
    w = _weights(np.einsum("bq,bjq->bj", s, k), source_mask)
    return _finish(w, s, k if k.shape == keys.shape else keys, W_mix)


def luong_step__wrong_global_shift(fed, embedded, query, keys, source_mask, W_y, W_s, W_fed, W, W_mix):
    """The student shifts by the largest real score of the batch, so a sentence thousands below gets no context."""
    s = _luong_state(fed, embedded, query, W_y, W_s, W_fed)
    e = np.where(source_mask, np.einsum("bq,qk,bjk->bj", s, W, keys), -1e300)
    x = np.exp(e - e.max()) * source_mask
    total = x.sum(axis=1, keepdims=True)
    return _finish(x / np.where(total > 0, total, 1.0), s, keys, W_mix)


def luong_step__wrong_pad_in_shift(fed, embedded, query, keys, source_mask, W_y, W_s, W_fed, W, W_mix):
    """The student shifts by the largest score of all positions: a pad thousands above makes all weights 0."""
    s = _luong_state(fed, embedded, query, W_y, W_s, W_fed)
    e = np.einsum("bq,qk,bjk->bj", s, W, keys)
    x = np.exp(e - e.max(axis=1, keepdims=True)) * source_mask
    total = x.sum(axis=1, keepdims=True)
    return _finish(np.divide(x, total, out=np.zeros_like(x), where=total > 0), s, keys, W_mix)


def luong_step__wrong_uniform_empty(fed, embedded, query, keys, source_mask, W_y, W_s, W_fed, W, W_mix):
    """The student fills with -1e9 and forgets sentences without a word, whose context is the mean of the pads."""
    s = _luong_state(fed, embedded, query, W_y, W_s, W_fed)
    e = np.where(source_mask, np.einsum("bq,qk,bjk->bj", s, W, keys), -1e9)
    x = np.exp(e - e.max(axis=1, keepdims=True))
    return _finish(x / x.sum(axis=1, keepdims=True), s, keys, W_mix)


def luong_step__wrong_empty_result_zero(fed, embedded, query, keys, source_mask, W_y, W_s, W_fed, W, W_mix):
    """The student makes the whole result 0 in a sentence without a word."""
    s = _luong_state(fed, embedded, query, W_y, W_s, W_fed)
    w = _weights(np.einsum("bq,qk,bjk->bj", s, W, keys), source_mask)
    return _finish(w, s, keys, W_mix) * source_mask.any(axis=1, keepdims=True)


def luong_step__wrong_prefix(fed, embedded, query, keys, source_mask, W_y, W_s, W_fed, W, W_mix):
    """The student takes the real words to stand first."""
    s = _luong_state(fed, embedded, query, W_y, W_s, W_fed)
    real = np.arange(keys.shape[1])[None] < source_mask.sum(axis=1)[:, None]
    return _finish(_weights(np.einsum("bq,qk,bjk->bj", s, W, keys), real), s, keys, W_mix)


def luong_step__wrong_fed_remembered(fed, embedded, query, keys, source_mask, W_y, W_s, W_fed, W, W_mix):
    """The student feeds its own last result of the same shape in place of the argument."""
    s = _luong_state(_MEMORY.get(("fed", fed.shape), fed), embedded, query, W_y, W_s, W_fed)
    out = _finish(_weights(np.einsum("bq,qk,bjk->bj", s, W, keys), source_mask), s, keys, W_mix)
    _MEMORY["fed", fed.shape] = out
    return out


def luong_step__wrong_fed_not_turned(fed, embedded, query, keys, source_mask, W_y, W_s, W_fed, W, W_mix):
    """The student turns W_fed only where sizes force it: wrong where what is fed is as large as the state."""
    f = fed @ (W_fed if W_fed.shape[0] == fed.shape[1] else W_fed.T)
    s = np.tanh(embedded @ W_y.T + query @ W_s.T + f)
    return _finish(_weights(np.einsum("bq,qk,bjk->bj", s, W, keys), source_mask), s, keys, W_mix)


def luong_step__wrong_scaled(fed, embedded, query, keys, source_mask, W_y, W_s, W_fed, W, W_mix):
    """The student divides the scores by the root of the state's size, which is 1 for a state of one number."""
    s = _luong_state(fed, embedded, query, W_y, W_s, W_fed)
    w = _weights(np.einsum("bq,qk,bjk->bj", s, W, keys) / np.sqrt(s.shape[1]), source_mask)
    return _finish(w, s, keys, W_mix)


def luong_step__wrong_squeeze(fed, embedded, query, keys, source_mask, W_y, W_s, W_fed, W, W_mix):
    """The student squeezes the scores and the result, so one sentence with one position loses its axes."""
    s = _luong_state(fed, embedded, query, W_y, W_s, W_fed)
    e = (keys @ (s @ W)[:, :, None]).squeeze(-1)
    return np.squeeze(_finish(_weights(e, source_mask), s, keys, W_mix))


def luong_step__wrong_new_state_in_mix(fed, embedded, query, keys, source_mask, W_y, W_s, W_fed, W, W_mix):
    """The student joins the old state to the context in the last line."""
    s = _luong_state(fed, embedded, query, W_y, W_s, W_fed)
    w = _weights(np.einsum("bq,qk,bjk->bj", s, W, keys), source_mask)
    return _finish(w, query, keys, W_mix)


def luong_step__right_by_sentence(fed, embedded, query, keys, source_mask, W_y, W_s, W_fed, W, W_mix):
    """A loop over the sentences that keeps the real annotations alone."""
    out = []
    for f, y, q, h, real in zip(fed, embedded, query, keys, source_mask):
        s = np.tanh(W_y @ y + W_s @ q + W_fed @ f)
        h, c = h[real], np.zeros(keys.shape[2])
        if len(h):
            e = (h @ W.T) @ s
            c = np.exp(e - np.logaddexp.reduce(e)) @ h
        out.append(np.tanh(W_mix @ np.r_[c, s]))
    return out


def luong_step__right_split_mix(fed, embedded, query, keys, source_mask, W_y, W_s, W_fed, W, W_mix):
    """W_mix split after the context's columns, and the context by merging one position after another."""
    s = np.tanh(np.c_[embedded, query, fed] @ np.c_[W_y, W_s, W_fed].T)
    p = s @ W
    top = np.full((len(s), 1), -np.inf)
    total, c = np.zeros((len(s), 1)), np.zeros((len(s), keys.shape[2]))
    for j in range(keys.shape[1]):
        at = np.flatnonzero(source_mask[:, j])
        if not at.size:
            continue
        h = keys[at, j]
        e = (p[at] * h).sum(1, keepdims=True)
        new = np.maximum(top[at], e)
        old, add = np.exp(top[at] - new), np.exp(e - new)
        c[at] = c[at] * old + add * h
        total[at] = total[at] * old + add
        top[at] = new
    c /= np.where(total > 0, total, 1.0)
    k = keys.shape[2]
    return np.tanh(c @ W_mix[:, :k].T + s @ W_mix[:, k:].T)


def luong_step__right_masked_arrays(fed, embedded, query, keys, source_mask, W_y, W_s, W_fed, W, W_mix):
    """Masked arrays of numpy for the softmax."""
    s = np.tanh(sum(np.tensordot(x, w, (1, 1)) for x, w in ((fed, W_fed), (embedded, W_y), (query, W_s))))
    e = np.ma.array(np.where(source_mask, np.einsum("bq,qk,bjk->bj", s, W, keys), 0.0), mask=~source_mask)
    x = np.ma.exp(e - e.max(axis=1)[:, None])
    w = np.ma.filled(x / x.sum(axis=1)[:, None], 0.0)
    return np.tanh(np.concatenate([(w[..., None] * keys).sum(1), s], axis=1).dot(W_mix.T))
