import fractions
import functools
import math
import operator

import numpy as np
import torch


# ---------------------------------------------------------------- batch_shapes


def batch_shapes__right_computed(batch, m, n, T_x, T_y):
    """Shapes from arrays without memory of their own; the product by matmul."""
    weights, keys = np.broadcast_to(0., (batch, T_x)), np.broadcast_to(0., (batch, T_x, m))
    column, row = weights[..., None], weights[:, None]
    product = row @ keys
    return dict(column=column.shape, row=row.shape, product=product.shape,
                contexts=np.broadcast_to(product, (batch, T_y, m)).shape)


# ---------------------------------------------------------------- weights_from_context


def weights_from_context__wrong_transposed():
    """The student puts the annotations into the rows of the matrix."""
    a = np.linalg.solve(np.array([[1., 2, 1], [5, 0, 1], [3, 6, 1]]), np.array([2.36, 3.14, 1]))
    return a.tolist()


def weights_from_context__wrong_one_decimal():
    """The student rounds the weights to one decimal."""
    a = np.linalg.solve(np.array([[1., 5, 3], [2, 0, 6], [1, 1, 1]]), np.array([2.36, 3.14, 1]))
    return np.round(a, 1).tolist()


def weights_from_context__right_cramer():
    """Cramer's rule in fractions, given as floats in a tuple."""
    F = fractions.Fraction
    def det(a, b, c):
        return (a[0] * (b[1] * c[2] - b[2] * c[1]) - a[1] * (b[0] * c[2] - b[2] * c[0]) + a[2] * (b[0] * c[1] - b[1] * c[0]))
    columns = [(1, 2, 1), (5, 0, 1), (3, 6, 1)]
    c = (F("2.36"), F("3.14"), F(1))
    whole = det(*columns)
    return tuple(float(det(*(c if i == j else x for i, x in enumerate(columns))) / whole) for j in range(3))


# ---------------------------------------------------------------- pull_of_two

def _logistic(x):
    return 1 / (1 + math.exp(-x))


def _pull(gap):
    p = _logistic(gap)
    return p * (1 - p)


def pull_of_two__wrong_weight_fallen():
    """The student looks for the gap where the second weight, not the product of both, has fallen to a tenth of one half."""
    return {"largest": 1.25, "at_three": [4 * _pull(3), -3 * _pull(3)], "gap": math.log(.95 / .05)}


def pull_of_two__wrong_exponential_tail():
    """The student takes exp(-gap) for p (1 - p), which holds only far out."""
    return {"largest": 1.25, "at_three": [4 * _pull(3), -3 * _pull(3)], "gap": math.log(1 / .025)}


def pull_of_two__wrong_from_annotation():
    """The student takes the annotation itself for its difference from the other in the length, h_1 not h_1 - h_2."""
    r = math.sqrt(10)
    return {"largest": r / 4, "at_three": [3 * _pull(3), -_pull(3)], "gap": math.log((1 + math.sqrt(.9)) / (1 - math.sqrt(.9)))}


def pull_of_two__wrong_direction():
    """The student gives the vector at three from the first annotation to the second."""
    return {"largest": 1.25, "at_three": [-4 * _pull(3), 3 * _pull(3)], "gap": math.log((1 + math.sqrt(.9)) / (1 - math.sqrt(.9)))}


def pull_of_two__wrong_log_base():
    """The student takes the logarithm to base 10."""
    return {"largest": 1.25, "at_three": [4 * _pull(3), -3 * _pull(3)], "gap": math.log10((1 + math.sqrt(.9)) / (1 - math.sqrt(.9)))}


def pull_of_two__right_hyperbolic():
    """Hyperbolic functions: p (1 - p) is 1 / (4 cosh(gap/2)**2); the gap by acosh of the root of 10."""
    p = .25 / math.cosh(1.5) ** 2
    return {"gap": 2 * math.acosh(math.sqrt(10)), "largest": math.hypot(4, -3) / 4, "at_three": np.array([4, -3]) * p}


# ---------------------------------------------------------------- scores_gradient

def scores_gradient__wrong_only_to_weights(context_gradient, weights, keys):
    """The student stops at the weights and sets the derivative 0 where a weight is 0."""
    return np.where(weights > 0, np.einsum("bd,bjd->bj", context_gradient, keys), 0)


def scores_gradient__wrong_whole_batch_zero(context_gradient, weights, keys):
    """The student returns zeros for the whole batch as soon as one sentence has weights that are all 0."""
    if (weights.sum(axis=1) == 0).any():
        return np.zeros_like(weights)
    g = np.einsum("bd,bjd->bj", context_gradient, keys)
    return weights * (g - (weights * g).sum(axis=1, keepdims=True))


def scores_gradient__wrong_empty_sentence_uniform(context_gradient, weights, keys):
    """The student gives a sentence without a token equal weights, so that nothing is divided by 0."""
    empty = weights.sum(axis=1, keepdims=True) == 0
    a = np.where(empty, 1 / weights.shape[1], weights)
    g = np.einsum("bd,bjd->bj", context_gradient, keys)
    return a * (g - (a * g).sum(axis=1, keepdims=True))


def scores_gradient__wrong_sign(context_gradient, weights, keys):
    """The student subtracts the annotation from the context."""
    c = np.einsum("bj,bjd->bd", weights, keys)
    return weights * np.einsum("bd,bjd->bj", context_gradient, c[:, None] - keys)


def scores_gradient__wrong_pads_by_prefix(context_gradient, weights, keys):
    """The student cuts each sentence at its first weight of 0, as if no real token could stand behind it."""
    # wrong where a pad stands between words
    real = np.cumprod(weights > 0, axis=1)
    g = np.einsum("bd,bjd->bj", context_gradient, keys)
    a = weights * real
    return a * (g - (a * g).sum(axis=1, keepdims=True))


def scores_gradient__right_full_jacobian(context_gradient, weights, keys):
    """The whole matrix diag(a) - a a^T for each sentence."""
    J = weights[:, :, None] * np.eye(weights.shape[1]) - weights[:, :, None] * weights[:, None]
    return np.einsum("bij,bjd,bd->bi", J, keys, context_gradient)


def scores_gradient__right_pairs(context_gradient, weights, keys):
    """Sum over all pairs of a_i a_j (g_i - g_j), since the weights of a sentence add to 1."""
    out = np.zeros(weights.shape)
    for b, (G, A, K) in enumerate(zip(context_gradient.tolist(), weights.tolist(), keys.tolist())):
        g = [math.fsum(map(operator.mul, G, h)) for h in K]
        for i, (x, a) in enumerate(zip(g, A)):
            out[b, i] = a * math.fsum(c * (x - y) for y, c in zip(g, A))
    return out


def scores_gradient__right_annotations_from_context(context_gradient, weights, keys):
    """Weighted annotations measured from the context, which np.vectorize handles sentence by sentence."""
    @functools.partial(np.vectorize, signature="(d),(j),(j,d)->(j)")
    def sentence(g, a, h):
        return np.diag(a) @ (h - a @ h) @ g
    return sentence(context_gradient, weights, keys)


# ---------------------------------------------------------------- attend


def attend__wrong_top_never_below_zero(scores, keys, source_mask):
    """The student sets the scores of pads to 0 before he takes the largest, so powers vanish where all real scores lie far below 0."""
    top = (scores * source_mask).amax(1, keepdim=True).detach()
    powers = torch.where(source_mask, torch.exp(torch.where(source_mask, scores - top, torch.zeros_like(scores))), 0.)
    total = powers.sum(1, keepdim=True)
    return (powers[..., None] * keys).sum(1) / torch.where(total == 0, torch.ones_like(total), total)


def attend__wrong_log_of_mask(scores, keys, source_mask):
    """The student adds the logarithm of the mask, kept from minus infinity by 1e-45, to the scores, which a pad's score of thousands outweighs."""
    bias = torch.log(source_mask.to(scores.dtype) + 1e-45)
    weights = torch.softmax(scores + bias, dim=1) * source_mask
    return (weights[..., None] * keys).sum(1)


def attend__wrong_keys_detached(scores, keys, source_mask):
    """The student detaches the annotations, so gradients reach the scores alone."""
    weights = torch.softmax(scores.masked_fill(~source_mask, -1e30), dim=1) * source_mask
    return (weights[..., None] * keys.detach()).sum(1) + 0 * keys.sum(1)


def attend__wrong_large_negative_only(scores, keys, source_mask):
    """The student masks with -1e9 and forgets the empty sentence, whose pads all get the same weight."""
    weights = torch.softmax(scores.masked_fill(~source_mask, -1e9), dim=1)
    return (weights[..., None] * keys).sum(1)


def attend__wrong_maximum_with_pads(scores, keys, source_mask):
    """The student subtracts the largest score of the row, pads included, so all powers vanish where a pad scores high."""
    powers = torch.exp(scores - scores.max(dim=1, keepdim=True).values) * source_mask
    total = powers.sum(1, keepdim=True)
    weights = powers / torch.where(total == 0, torch.ones_like(total), total)
    return (weights[..., None] * keys).sum(1)


def attend__wrong_softmax_then_mask(scores, keys, source_mask):
    """The student takes the softmax over all positions, drops the pads and does not divide again."""
    weights = torch.softmax(scores, dim=1) * source_mask
    return (weights[..., None] * keys).sum(1)


def attend__wrong_softmax_then_renormalise(scores, keys, source_mask):
    """The student takes the softmax over all positions and divides by what is left, which is 0 where a pad scores far higher."""
    weights = torch.softmax(scores, dim=1) * source_mask
    weights = weights / weights.sum(1, keepdim=True).clamp_min(1e-300)
    return (weights[..., None] * keys).sum(1)


def attend__wrong_divides_before_where(scores, keys, source_mask):
    """The student divides first and replaces 0 / 0 after, which leaves nan in the gradient of an empty sentence."""
    low = scores.masked_fill(~source_mask, -1e30)
    powers = torch.exp(low - low.max(dim=1, keepdim=True).values) * source_mask
    total = powers.sum(1, keepdim=True)
    context = (powers[..., None] * keys).sum(1) / total
    return torch.where(total > 0, context, torch.zeros_like(context))


def attend__wrong_clamped(scores, keys, source_mask):
    """The student clamps the scores to 500, so that no power overflows, which makes larger scores equal and cuts gradients."""
    powers = torch.exp(scores.clamp(-500, 500)) * source_mask
    total = powers.sum(1, keepdim=True)
    weights = powers / torch.where(total == 0, torch.ones_like(total), total)
    return (weights[..., None] * keys).sum(1)


def attend__wrong_empty_by_first_token(scores, keys, source_mask):
    """The student takes a sentence for empty where its first token is a pad."""
    weights = torch.softmax(scores.masked_fill(~source_mask, -1e30), dim=1) * source_mask[:, :1]
    return (weights[..., None] * keys).sum(1)


def attend__wrong_scores_times_mask(scores, keys, source_mask):
    """The student multiplies the scores by the mask, so pads take part with the score 0."""
    # right where real scores lie far above 0
    weights = torch.softmax(scores * source_mask, dim=1)
    return ((weights * source_mask)[..., None] * keys).sum(1)


def attend__wrong_empty_asked_once(scores, keys, source_mask):
    """The student asks once for the whole batch whether there is a real token, not for each sentence."""
    if not source_mask.any():
        return 0 * (scores[..., None] * keys).sum(1)
    weights = torch.softmax(scores.masked_fill(~source_mask, -1e30), dim=-1)
    return (weights[..., None] * keys).sum(1)


def attend__wrong_mask_added(scores, keys, source_mask):
    """The student adds a mask of -10000 to the scores of pads, which a pad with a score of 20000 outweighs."""
    # "whatever finite numbers its score is"
    weights = torch.softmax(scores + (~source_mask) * -1e4, dim=1) * source_mask
    weights = weights / (weights.sum(1, keepdim=True) + (weights.sum(1, keepdim=True) == 0))
    return (weights[..., None] * keys).sum(1)


def attend__right_sentence_by_sentence(scores, keys, source_mask):
    """Each sentence alone, on its real tokens only; an empty one by an empty sum, on the graph."""
    rows = []
    for e, h, real in zip(scores, keys, source_mask):
        rows.append(torch.softmax(e[real], 0) @ h[real])
    return torch.stack(rows) + (scores[:, :1] * 0)


def attend__right_own_powers(scores, keys, source_mask):
    """Powers from the largest real score, held fast; the empty sentence divided by 1."""
    real = source_mask.to(scores.dtype)
    top = torch.where(source_mask, scores, scores.new_full((), -math.inf)).amax(1, keepdim=True).detach()
    top = torch.where(source_mask.any(1, keepdim=True), top, torch.zeros_like(top))
    powers = torch.exp(torch.where(source_mask, scores - top, torch.zeros_like(scores))) * real
    total = powers.sum(1) + (~source_mask.any(1))
    return torch.einsum("bj,bjd,b->bd", powers, keys, total.reciprocal())


def attend__right_extra_position(scores, keys, source_mask):
    """Infinity for pads, with an extra position in empty sentences that alone takes their weight."""
    empty = ~source_mask.any(1, keepdim=True)
    e = torch.cat([scores, torch.zeros_like(scores[:, :1])], 1)
    real = torch.cat([source_mask, empty], 1)
    h = torch.cat([keys, torch.zeros_like(keys[:, :1])], 1)
    return torch.bmm(torch.softmax(e.masked_fill(~real, -math.inf), 1).unsqueeze(1), h).flatten(1)


def attend__right_infinity_filled(scores, keys, source_mask):
    """Minus infinity by masked_fill, whose way back fills the pads' gradients with 0, and where for the nan of an empty sentence."""
    weights = torch.softmax(scores.masked_fill(~source_mask, -math.inf), dim=1)
    weights = torch.where(source_mask, weights, torch.zeros_like(weights))
    return torch.einsum("bj,bjd->bd", weights, keys)


def attend__right_pairwise(scores, keys, source_mask):
    """A running softmax over the positions in the way of log-sum-exp by two: each real token takes its share of what is there."""
    context = torch.zeros_like(keys[:, 0]) + 0 * scores[:, :1]
    log_total = torch.zeros_like(scores[:, 0])
    seen = torch.zeros_like(source_mask[:, 0])
    for j in range(scores.shape[1]):
        both = seen & source_mask[:, j]
        share = torch.where(both, torch.sigmoid(torch.where(both, scores[:, j] - log_total, torch.zeros_like(log_total))),
                            source_mask[:, j].to(scores.dtype))[:, None]
        context = (1 - share) * context + share * keys[:, j]
        log_total = torch.where(both, torch.logaddexp(log_total, scores[:, j]),
                                torch.where(source_mask[:, j], scores[:, j], log_total))
        seen = seen | source_mask[:, j]
    return context


# ---------------------------------------------------------------- mended_attention

def _score(query, keys, W_query, W_key, v):
    return np.tanh((query @ W_query.T)[:, None] + keys @ W_key.T) @ v


def mended_attention__wrong_still_broadcasts(query, keys, source_mask, W_query, W_key, v):
    """The student mends all but the sum of the projections, where sentences meet positions."""
    scores = np.tanh(query @ W_query.T + keys @ W_key.T) @ v
    low = np.where(source_mask, scores, -1e30)
    powers = np.exp(low - low.max(axis=1, keepdims=True)) * source_mask
    total = powers.sum(axis=1, keepdims=True)
    return np.einsum("bj,bjd->bd", powers / np.where(total == 0, 1, total), keys)


def mended_attention__wrong_axis_where_needed(query, keys, source_mask, W_query, W_key, v):
    """The student gives the query its axis only where numpy complains, so not where there are as many sentences as positions."""
    q, k = query @ W_query.T, keys @ W_key.T
    if len(q) != k.shape[1]:
        q = q[:, None]
    scores = np.tanh(q + k) @ v
    low = np.where(source_mask, scores, -1e30)
    powers = np.exp(low - low.max(axis=1, keepdims=True)) * source_mask
    total = powers.sum(axis=1, keepdims=True)
    return np.einsum("bj,bjd->bd", powers / np.where(total == 0, 1, total), keys)


def mended_attention__wrong_maximum_of_batch(query, keys, source_mask, W_query, W_key, v):
    """The student subtracts the largest score of the whole batch, so sentences with far lower scores vanish."""
    scores = _score(query, keys, W_query, W_key, v)
    powers = np.exp(scores - scores.max()) * source_mask
    total = powers.sum(axis=1, keepdims=True)
    return np.einsum("bj,bjd->bd", powers / np.where(total == 0, 1, total), keys)


def mended_attention__wrong_maximum_with_pads(query, keys, source_mask, W_query, W_key, v):
    """The student subtracts the largest score of each row, pads included, so all powers vanish where a pad scores far higher."""
    scores = _score(query, keys, W_query, W_key, v)
    powers = np.exp(scores - scores.max(axis=1, keepdims=True)) * source_mask
    total = powers.sum(axis=1, keepdims=True)
    return np.einsum("bj,bjd->bd", powers / np.where(total == 0, 1, total), keys)


def mended_attention__wrong_masked_after_division(query, keys, source_mask, W_query, W_key, v):
    """The student mends the axes but still masks after the division, so the weights of a padded sentence do not add to 1."""
    scores = _score(query, keys, W_query, W_key, v)
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    weights = powers / powers.sum(axis=1, keepdims=True) * source_mask
    return np.sum(weights[:, :, None] * keys, axis=1)


def mended_attention__wrong_empty_is_mean(query, keys, source_mask, W_query, W_key, v):
    """The student masks by a large negative score and forgets the empty sentence, which gets the mean of its pads."""
    scores = np.where(source_mask, _score(query, keys, W_query, W_key, v), -1e30)
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    weights = powers / powers.sum(axis=1, keepdims=True)
    return np.sum(weights[:, :, None] * keys, axis=1)


def mended_attention__wrong_no_maximum(query, keys, source_mask, W_query, W_key, v):
    """The student puts zeros for what is not a number instead of keeping the powers finite."""
    # scores of thousands give inf / inf, then 0
    with np.errstate(all="ignore"):
        powers = np.exp(_score(query, keys, W_query, W_key, v)) * source_mask
        weights = powers / powers.sum(axis=1, keepdims=True)
    return np.sum(np.nan_to_num(weights, posinf=0.)[:, :, None] * keys, axis=1)


def mended_attention__wrong_pads_in_the_annotations(query, keys, source_mask, W_query, W_key, v):
    """The student sets the annotations of pads to 0, which still leaves them a score and a weight."""
    keys = keys * source_mask[:, :, None]
    scores = _score(query, keys, W_query, W_key, v)
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    weights = powers / powers.sum(axis=1, keepdims=True)
    return np.sum(weights[:, :, None] * keys, axis=1)


def mended_attention__wrong_pads_at_the_end(query, keys, source_mask, W_query, W_key, v):
    """The student cuts each sentence to as many positions as it has real tokens, from the front."""
    # wrong where a pad stands before a real token, which this text allows
    out = np.zeros((len(keys), keys.shape[2]))
    for b, length in enumerate(source_mask.sum(axis=1)):
        if length:
            e = _score(query[b:b + 1], keys[b:b + 1, :length], W_query, W_key, v)[0]
            p = np.exp(e - e.max())
            out[b] = p / p.sum() @ keys[b, :length]
    return out


def mended_attention__wrong_stops_at_empty(query, keys, source_mask, W_query, W_key, v):
    """The student leaves the loop at the first sentence without a real token, so those behind it stay zeros."""
    out = np.zeros((len(keys), keys.shape[2]))
    for b in range(len(keys)):
        real = source_mask[b]
        if not real.any():
            break
        e = _score(query[b:b + 1], keys[b:b + 1], W_query, W_key, v)[0, real]
        p = np.exp(e - e.max())
        out[b] = p / p.sum() @ keys[b, real]
    return out


def mended_attention__wrong_low_of_thousand(query, keys, source_mask, W_query, W_key, v):
    """The student gives pads the score -1000, which real scores may lie below."""
    scores = np.where(source_mask, _score(query, keys, W_query, W_key, v), -1000)
    powers = np.exp(scores - scores.max(axis=1, keepdims=True)) * source_mask
    total = powers.sum(axis=1, keepdims=True)
    return np.einsum("bj,bjd->bd", powers / np.where(total == 0, 1, total), keys)


def mended_attention__wrong_total_of_batch(query, keys, source_mask, W_query, W_key, v):
    """The student divides by the sum over the whole batch once each row's maximum is taken away."""
    # right for one sentence
    scores = np.where(source_mask, _score(query, keys, W_query, W_key, v), -1e30)
    powers = np.exp(scores - scores.max(axis=1, keepdims=True)) * source_mask
    weights = powers / max(powers.sum(), 1.)
    return np.sum(weights[:, :, None] * keys, axis=1)


def mended_attention__right_alone(query, keys, source_mask, W_query, W_key, v):
    """Each sentence alone and without its pads, in plain numbers."""
    def context(s, h):
        p = W_query @ s
        e = [math.fsum(v * np.tanh(p + W_key @ x)) for x in h]
        powers = [math.exp(x - max(e)) for x in e]
        return sum((a / math.fsum(powers) * x for a, x in zip(powers, h)), np.zeros(keys.shape[2]))
    return np.stack([context(s, h[real]) for s, h, real in zip(query, keys, source_mask)])


def mended_attention__right_logaddexp(query, keys, source_mask, W_query, W_key, v):
    """Weights as powers of scores less their logaddexp over the real tokens."""
    scores = np.where(source_mask, _score(query, keys, W_query, W_key, v), -np.inf)
    log_total = np.logaddexp.reduce(scores, axis=1, keepdims=True)
    weights = np.exp(scores - np.where(np.isneginf(log_total), 0, log_total))
    return np.squeeze(weights[:, None] @ keys, axis=1)


def mended_attention__right_differences(query, keys, source_mask, W_query, W_key, v):
    """Each weight as one over the sum of powers of differences from it, where an infinite power makes it 0."""
    scores = np.einsum("a,bja->bj", v, np.tanh(np.einsum("aq,bq->ba", W_query, query)[:, None] + keys @ W_key.T))
    with np.errstate(over="ignore"):
        powers = np.exp(scores[:, None, :] - scores[:, :, None])
        total = np.where(source_mask[:, None, :], powers, 0).sum(axis=2)
    weights = np.divide(1, total, out=np.zeros_like(total), where=source_mask)
    return np.einsum("bj,bjd->bd", weights, keys)
