"""Wrong answers beside the listed mistakes. The docstring is the sentence that is to be said of them."""

import numpy as np
import torch


def annotate__state_detached(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """The values are right, but not the gradient with respect to embedded, W_x, W_h, W_x_back, W_h_back: where is it cut
    off on the way to the result (by detach, no_grad, numpy, a plain number), or changed (by clamp, max or abs
    where two numbers are equal)? Or is something kept from an earlier call?
    """
    keep = source_mask.unsqueeze(-1)
    n = embedded.shape[1]
    f = b = embedded.new_zeros(len(embedded), len(W_h))
    forward, backward = [None] * n, [None] * n
    for j in range(n):
        forward[j] = torch.where(keep[:, j], torch.tanh(embedded[:, j] @ W_x.T + f @ W_h.T), torch.zeros_like(f))
        f = forward[j].detach()
    for j in reversed(range(n)):
        new = torch.tanh(embedded[:, j] @ W_x_back.T + b @ W_h_back.T)
        backward[j] = torch.where(keep[:, j], new, torch.zeros_like(b))
        b = backward[j].detach()
    return torch.cat([torch.stack(forward, 1), torch.stack(backward, 1)], dim=2)


def scores_by_hand_twin__two_decimals():
    """Right, but rounded to fewer decimals than asked for, in the end or on the way."""
    s = np.array([0.5, -0.2, 0.1])
    h = np.array([[0.2, 0.3, 0.1, -0.4], [-0.5, 0.4, 0.2, 0.1], [0.1, -0.6, 0.3, 0.2]])
    W_query, W_key = np.array([[1, 0, 2], [0, -1, 1]]), np.array([[1, 0, 0, 1], [0, 2, -1, 0]])
    return [round(float(x), 2) for x in np.tanh(W_query @ s + h @ W_key.T) @ [2, -1]]


def score_every_step__new_layer(queries, projected_keys, W_query, v):
    """It gives a different result when called again with the same input."""
    layer = torch.nn.Linear(W_query.shape[1], W_query.shape[0], bias=False).to(W_query.dtype)
    return torch.tanh(layer(queries).unsqueeze(2) + projected_keys.unsqueeze(1)) @ v


def score_every_step__w_detached(queries, projected_keys, W_query, v):
    """The values are right, but not the gradient with respect to W_query: where is it cut off on the way to the result
    (by detach, no_grad, numpy, a plain number), or changed (by clamp, max or abs where two numbers are equal)? Or
    is something kept from an earlier call?
    """
    return torch.tanh((queries @ W_query.data.T).unsqueeze(2) + projected_keys.unsqueeze(1)) @ v


def score_every_step__lists(queries, projected_keys, W_query, v):
    """The values are right, but no gradient can be computed from them: does everything up to the return value stay a
    tensor in the graph?
    """
    return (torch.tanh((queries @ W_query.T).unsqueeze(2) + projected_keys.unsqueeze(1)) @ v).tolist()


def score_every_step__queries_detached(queries, projected_keys, W_query, v):
    """The values are right, but not the gradient with respect to queries: where is it cut off on the way to the result
    (by detach, no_grad, numpy, a plain number), or changed (by clamp, max or abs where two numbers are equal)? Or
    is something kept from an earlier call?
    """
    return torch.tanh((queries.detach() @ W_query.T).unsqueeze(2) + projected_keys.unsqueeze(1)) @ v


def weights_by_hand_twin__three_decimals():
    """Right, but rounded to fewer decimals than asked for, in the end or on the way."""
    w = np.exp([0.5, -0.3, 1.2, 0.1])
    return [round(x, 3) for x in (w / w.sum()).tolist()]


def masked_softmax__nan_hidden(scores, source_mask=None):
    """We get exactly your numbers if the scores are exponentiated directly: large ones overflow or vanish, so something
    must be subtracted from each row first.
    """
    if source_mask is None:
        source_mask = np.ones(scores.shape, dtype=bool)
    with np.errstate(all="ignore"):
        exponentials = np.exp(scores) * source_mask
        return np.nan_to_num(exponentials / exponentials.sum(axis=1, keepdims=True))


def entropy__temperature_as_float(scores, temperature):
    """The values are right, but not the gradient with respect to temperature: where is it cut off on the way to the
    result (by detach, no_grad, numpy, a plain number), or changed (by clamp, max or abs where two numbers are
    equal)? Or is something kept from an earlier call?
    """
    results = []
    for b in range(len(scores)):
        logs = torch.log_softmax(scores[b] / temperature[b].item(), dim=0)
        results.append(-(logs.exp() * logs).sum())
    return torch.stack(results)


def entropy__weights_detached(scores, temperature):
    """The entropies are right, but no gradient reaches the scores: look for detach, no_grad, numpy or .item()."""
    logs = torch.log_softmax(scores / temperature[:, None], dim=1)
    return -(logs.exp().detach() * logs).sum(dim=1)


def attend__weights_detached(scores, keys, source_mask):
    """The values are right, but not the gradient with respect to scores: where is it cut off on the way to the result (by
    detach, no_grad, numpy, a plain number), or changed (by clamp, max or abs where two numbers are equal)? Or is
    something kept from an earlier call?
    """
    filled = np.where(source_mask.numpy(), scores.detach().numpy(), -1e30)
    e = np.exp(filled - filled.max(axis=1, keepdims=True)) * source_mask.numpy()
    weights = torch.from_numpy(e / np.maximum(e.sum(axis=1, keepdims=True), 1e-30))
    return (weights.to(keys.dtype).unsqueeze(1) @ keys).squeeze(1)


def weights_from_context__two_decimals():
    """Right, but rounded to fewer decimals than asked for, in the end or on the way."""
    return [0.48, 0.16, 0.36]


def decoder_step__no_gradient_through_weights(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """The values are right, but not the gradient with respect to query, keys, W_query, W_key, v: where is it cut off on
    the way to the result (by detach, no_grad, numpy, a plain number), or changed (by clamp, max or abs where two
    numbers are equal)? Or is something kept from an earlier call?
    """
    with torch.no_grad():
        e = torch.tanh((query @ W_query.T)[:, None] + keys @ W_key.T) @ v
        w = torch.softmax(e.masked_fill(~source_mask, -1e30), dim=-1) * source_mask
    c = (w.unsqueeze(1) @ keys).squeeze(1)
    return torch.tanh(embedded @ W_y.T + query @ W_s.T + c @ W_c.T)


def cross_entropy__probability_with_floor(logits, targets, target_mask):
    """We get exactly your numbers if a small number is added inside the logarithm: it limits how low a logarithm can go,
    and shifts all others.
    """
    e = np.exp(logits - logits.max(axis=-1, keepdims=True))
    p = e / e.sum(axis=-1, keepdims=True)
    right = np.take_along_axis(p, targets[..., None], axis=-1)[..., 0]
    count = target_mask.sum()
    return float((-np.log(right + 1e-12) * target_mask).sum() / count) if count else 0.0


def rnn_states__transposed_where_square(embedded, W_x, W_h):
    """We get exactly your numbers if W_x is transposed where the two sizes are equal, as if the sizes decided whether to
    transpose.
    """
    matrix = W_x if W_x.shape[0] == embedded.shape[-1] else W_x.T
    state, states = np.zeros((len(embedded), len(W_h))), []
    for j in range(embedded.shape[1]):
        state = np.tanh(embedded[:, j] @ matrix + state @ W_h.T)
        states.append(state)
    return np.stack(states, axis=1)


def attend__as_many_as_there_are_words(scores, keys, source_mask):
    """We get exactly your numbers if only the number of True entries in each row of source_mask is used, as if the words
    always came first.
    """
    real = torch.arange(scores.shape[1]) < source_mask.sum(1, keepdim=True)
    weights = torch.softmax(scores.masked_fill(~real, torch.finfo(scores.dtype).min), dim=1) * real
    return (weights.unsqueeze(1) @ keys).squeeze(1)


def decoder_step__keys_cleared(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """We get exactly your numbers if padding still counts in the sum of the softmax, and keys are 0 there."""
    keys = keys.masked_fill(~source_mask.unsqueeze(-1), 0.0)
    weights = torch.softmax(torch.tanh((query @ W_query.T).unsqueeze(1) + keys @ W_key.T) @ v, dim=1)
    context = (weights.unsqueeze(1) @ keys).squeeze(1)
    return torch.tanh(embedded @ W_y.T + query @ W_s.T + context @ W_c.T)


def additive_score__joined_otherwise(query, keys, W_query, W_key, v):
    """We get exactly your numbers if W_query and W_key are concatenated in one order, but the vectors they multiply in
    the other.
    """
    queries = np.broadcast_to(query[:, None], (*keys.shape[:2], query.shape[1]))
    return np.tanh(np.concatenate([keys, queries], axis=2) @ np.hstack([W_query, W_key]).T) @ v


def luong_step__scores_scaled(fed, embedded, query, keys, source_mask, W_y, W_s, W_fed, W, W_mix):
    """We get exactly your numbers if the scores are divided by the square root of query_size."""
    state = np.tanh(embedded @ W_y.T + query @ W_s.T + fed @ W_fed.T)
    scores = np.einsum("bn,nm,bjm->bj", state, W, keys) / np.sqrt(state.shape[1])
    low = np.finfo(float).min
    shifted = np.where(source_mask, scores - np.where(source_mask, scores, low).max(axis=1, keepdims=True), low)
    powers = np.exp(shifted)
    total = powers.sum(axis=1, keepdims=True)
    context = np.einsum("bj,bjm->bm", powers / np.where(total > 0, total, 1), keys)
    return np.tanh(np.concatenate([context, state], axis=1) @ W_mix.T)


def states_by_hand_twin__sign_lost():
    """We get exactly your numbers if one of the numbers used for W_h has the wrong sign."""
    E = np.array([[0.5, -1.0, 0.0, 2.0, 1.0], [1.0, 0.5, 2.0, -0.5, 0.0]])
    W_x = np.array([[0.5, 0.0], [0.0, 1.0], [-0.5, 1.0]])
    W_h = np.array([[0.0, 1.0, 0.0], [0.5, 0.0, 0.0], [0.0, 0.5, 1.0]])
    first = np.tanh(W_x @ E[:, 3])
    return {"h_1": first.tolist(), "h_2": np.tanh(W_x @ E[:, 1] + W_h @ first).round(4).tolist()}


def weights_by_hand_twin__largest_first():
    """We get exactly your numbers if your result is sorted, so the order of the text is lost."""
    powers = np.exp([0.5, -0.3, 1.2, 0.1])
    return sorted((powers / powers.sum()).tolist(), reverse=True)


def dot_product_score__axis_forgotten(query, keys, W=None):
    """It raises an error exactly where batch and source_len differ: two arrays are broadcast together there, and an axis
    of size batch in one meets an axis of size source_len in the other. One of them lacks an axis of length 1, or
    has the wrong length.
    """
    keys = keys if W is None else keys @ W.T
    return (keys * query).sum(axis=-1)


def score_every_step__cut_off(queries, projected_keys, W_query, v):
    """The scores are right, but no gradient reaches the queries: look for detach, no_grad, numpy or .item()."""
    scores = torch.tanh((queries @ W_query.T).unsqueeze(2) + projected_keys.unsqueeze(1)) @ v
    return torch.tensor(scores.tolist(), dtype=queries.dtype, requires_grad=True)


def additive_score__single_precision(query, keys, W_query, W_key, v):
    """The result is in single precision (float32): compute in double precision (float64) throughout."""
    query, keys, W_query, W_key, v = (np.asarray(x, dtype=np.float32) for x in (query, keys, W_query, W_key, v))
    return np.tanh((query @ W_query.T)[:, None] + keys @ W_key.T) @ v


def additive_score__single_precision_on_the_way(query, keys, W_query, W_key, v):
    """Right to a few digits, but not to all of them. Is something computed in single precision (float32), the default for
    new torch tensors? Is something rounded, clipped, or treated as 0 because it is small? Is a small number such
    as 1e-6 added, or are some terms of a long sum left out?
    """
    return additive_score__single_precision(query, keys, W_query, W_key, v).astype(float)


def dot_product_score__made_for_integers(query, keys, W=None):
    """The right numbers, but truncated to integers: does the array that you write them into have an integer dtype, like
    np.zeros_like of an integer array?
    """
    keys = keys if W is None else keys @ W.T
    return np.einsum("bn,bjn->bj", query, keys).astype(int)


def states_by_hand_twin__one_decimal_carried():
    """We get exactly your numbers if h_1 is rounded or truncated to a few decimals along the way."""
    E_x = np.array([[0.5, -1.0, 0.0, 2.0, 1.0], [1.0, 0.5, 2.0, -0.5, 0.0]])
    W_x, W_h = np.array([[0.5, 0], [0, 1], [-0.5, 1]]), np.array([[0, 1.0, 0], [0.5, 0, 0], [0, 0.5, -1]])
    h_1 = np.tanh(W_x @ E_x[:, 3])
    return {"h_1": h_1.tolist(), "h_2": np.tanh(W_x @ E_x[:, 1] + W_h @ h_1.round(1)).tolist()}


def annotation_by_hand__both_states_of_one_decimal():
    """We get exactly your numbers if some of the steps are rounded or truncated to a few decimals along the way."""
    forward, backward = np.tanh(-1 + 0.5 * round(np.tanh(0.5), 1)), np.tanh(0.5 + 0.8 * round(np.tanh(-1), 1))
    return [round(float(forward), 4), round(float(backward), 4)]


def em_by_hand__table_of_two_decimals():
    """We get exactly your numbers if o is rounded or truncated to a few decimals along the way."""
    n, o = [0.5, 0.25, 0.25], [0.33, 0.5, 0.17]
    shares = [n[0] / (n[0] + o[0]), o[1] / (n[1] + o[1]), o[2] / (n[2] + o[2]), n[0] / (n[0] + o[0])]
    rest = [1 - shares[1], 1 - shares[2]]
    counts = [2 * shares[0], *rest], [2 - 2 * shares[0], 1 + shares[1], shares[2]]
    again = [counts[0][0] / sum(counts[0]), counts[1][1] / sum(counts[1])]
    return {"n": n, "o": [1 / 3, 1 / 2, 1 / 6], "shares": shares, "again": again}


def entropy__logarithm_of_clamped_weights(scores, temperature):
    """We get exactly your numbers if probabilities are clipped from below before the logarithm is taken."""
    weights = torch.softmax(scores / temperature[:, None], dim=1)
    return -(weights * weights.clamp(min=1e-4).log()).sum(dim=1)


_projections: dict[bytes, torch.Tensor] = {}


def score_every_step__projection_kept(queries, projected_keys, W_query, v):
    """Of our cases, only those like the ones with the numbers of an earlier call, W_query in another order are wrong: is
    something kept from an earlier call, and used again although other numbers have changed?
    """
    key = queries.detach().numpy().tobytes()
    projected = queries @ W_query.T
    if not queries.requires_grad:
        projected = _projections.setdefault(key, projected)
    return torch.tanh(projected.unsqueeze(2) + projected_keys.unsqueeze(1)) @ v


def multi_head__nan_replaced(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """The values are right, but a gradient is not finite: on the way to the result, something is divided by 0, or nan or
    infinity arises. Replacing it afterwards does not repair the gradient: keep it from arising.
    """
    keys = keys.masked_fill(~source_mask[:, :, None], 0.0)
    queries = torch.einsum("zrn,bn->bzr", W_query, query)
    scores = torch.einsum("bzr,zrm,bjm->bzj", queries, W_key, keys) / W_key.shape[1] ** 0.5
    weights = (scores + source_mask[:, None].to(scores).log()).softmax(-1).nan_to_num(0.0)
    return torch.einsum("bzj,bjm,zum->bzu", weights, keys, W_value).flatten(1) @ W_out.T


def layer_norm__constant_vectors_apart(states, gain, bias):
    """Of our cases, only those like the ones with zeros for one of the states, or with size = 1 are wrong: which line
    mistakes a 0 for something else, divides by it, or needs two neighbours to differ? Or: which line treats such
    an axis differently?
    """
    mean, variance = states.mean(axis=-1, keepdims=True), states.var(axis=-1, keepdims=True)
    return np.where(variance > 0, gain * (states - mean) / np.sqrt(variance + 1e-5) + bias, 0.0)


def scores_gradient__tiny_weights_dropped(context_gradient, weights, keys):
    """Of our cases, only those with very small weights are wrong: is anything rounded, or treated as 0?"""
    weights = np.where(weights > 1e-6, weights, 0.0)
    by_weight = np.einsum("bm,bjm->bj", context_gradient, keys)
    return weights * (by_weight - (weights * by_weight).sum(axis=1, keepdims=True))


def masked_softmax__normalised_again(scores, source_mask=None):
    """Right to a few digits, but not to all of them. Is something computed in single precision (float32), the default for
    new torch tensors? Is something rounded, clipped, or treated as 0 because it is small? Is a small number such as 1e-6
    added, or are some terms of a long sum left out? Where numbers are large, more than the last digits is wrong, perhaps by
    another mistake.
    """
    exponentials = np.exp(scores - scores.max(axis=1, keepdims=True))
    weights = exponentials / exponentials.sum(axis=1, keepdims=True)
    if source_mask is None:
        return weights
    return weights * source_mask / ((weights * source_mask).sum(axis=1, keepdims=True) + 1e-9)


def edit_distance__ends_cut_off_twice(written, wanted):
    """Of our cases, only those with phonemes that recur are wrong: which line needs them to differ?"""
    same = [a == b for a, b in zip(written, wanted, strict=False)]
    backwards = [a == b for a, b in zip(written[::-1], wanted[::-1], strict=False)]
    begin = same.index(False) if False in same else len(same)
    end = backwards.index(False) if False in backwards else len(backwards)
    written, wanted = (list(row)[begin : len(row) - end] for row in (written, wanted))
    row = list(range(len(wanted) + 1))
    for i, item in enumerate(written, 1):
        before, row = row, [i]
        for j, other in enumerate(wanted):
            row.append(min(before[j] + (item != other), before[j + 1] + 1, row[-1] + 1))
    return row[-1]
