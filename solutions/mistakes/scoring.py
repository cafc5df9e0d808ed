"""Wrong answers that students give to the scoring exercises. The docstring is the hint."""

import math

import numpy as np
import torch

from solutions.in_numpy.scoring import additive_score, dot_product_score


def batched_additive_shapes__no_axis_for_positions(batch, m, n, a, T_x):
    """(batch, a) does not broadcast against (batch, T_x, a): the projected query needs an axis of length 1 for the positions."""
    return {"projected_query": (batch, a), "hidden": (batch, T_x, a), "product": (batch, T_x, 1), "W": (n, m)}


def batched_additive_shapes__time_first(batch, m, n, a, T_x):
    """The batch should be the first axis, and the positions the second."""
    return {"projected_query": (1, batch, a), "hidden": (T_x, batch, a), "product": (T_x, batch, 1), "W": (n, m)}


def batched_additive_shapes__self_attention(batch, m, n, a, T_x):
    """One query per sentence gives one row of scores per sentence. A square table of scores belongs to self-attention."""
    return {"projected_query": (batch, 1, a), "hidden": (batch, T_x, T_x), "product": (batch, T_x, T_x), "W": (n, m)}


def batched_additive_shapes__squeezed(batch, m, n, a, T_x):
    """Multiplying by a matrix with one column leaves an axis of length 1."""
    return {"projected_query": (batch, 1, a), "hidden": (batch, T_x, a), "product": (batch, T_x), "W": (n, m)}


def batched_additive_shapes__w_transposed(batch, m, n, a, T_x):
    """W multiplies an annotation, and the product must have as many entries as the state: how many rows must W have?"""
    return {"projected_query": (batch, 1, a), "hidden": (batch, T_x, a), "product": (batch, T_x, 1), "W": (m, n)}


def batched_additive_shapes__w_of_the_additive_score(batch, m, n, a, T_x):
    """The multiplicative score has no hidden layer, so a does not occur in the shape of W."""
    return {"projected_query": (batch, 1, a), "hidden": (batch, T_x, a), "product": (batch, T_x, 1), "W": (a, m)}


def _hand(score):
    query, keys = [0.5, 0.5], [[0.2, 0.2], [0.8, 0.8]]
    return [score(query, key) for key in keys]


def scores_by_hand__no_tanh():
    """The tanh is missing: apply it to each entry of the sum, before the dot product with v."""
    return _hand(lambda query, key: sum(query) + sum(key))


def scores_by_hand__tanh_after_v():
    """You took the dot product with v before the tanh. Apply the tanh to each entry of the sum first."""
    return _hand(lambda query, key: math.tanh(sum(query) + sum(key)))


def scores_by_hand__mean():
    """v is a vector of ones, so the dot product with v sums the entries. You averaged them."""
    return _hand(lambda query, key: sum(math.tanh(s + h) for s, h in zip(query, key, strict=True)) / 2)


def scores_by_hand__dot_product():
    """You took the dot product of the decoder state and each annotation. The additive score applies a tanh to their sum."""
    return _hand(lambda query, key: sum(s * h for s, h in zip(query, key, strict=True)))


def scores_by_hand__query_dropped():
    """The decoder state is missing from the sum inside the tanh."""
    return _hand(lambda query, key: sum(math.tanh(h) for h in key))


def scores_by_hand__key_dropped():
    """Both scores are the same: the annotation is missing from the sum inside the tanh, so no position can stand out."""
    return _hand(lambda query, key: sum(math.tanh(s) for s in query))


def scores_by_hand__degrees():
    """You took the tangent instead of the hyperbolic tangent: check which key on your calculator you pressed."""
    return _hand(lambda query, key: sum(math.tan(s + h) for s, h in zip(query, key, strict=True)))


def scores_by_hand__softmaxed():
    """Your values sum to 1: you returned weights. The softmax is the next step, not part of the score."""
    w = np.exp(2 * np.tanh([0.7, 1.3]))
    return list(np.round(w / w.sum(), 4))


def _twin(score):
    query = np.array([0.5, -0.2, 0.1])
    keys = np.array([[0.2, 0.3, 0.1, -0.4], [-0.5, 0.4, 0.2, 0.1], [0.1, -0.6, 0.3, 0.2]])
    W_query = np.array([[1.0, 0.0, 2.0], [0.0, -1.0, 1.0]])
    W_key = np.array([[1.0, 0.0, 0.0, 1.0], [0.0, 2.0, -1.0, 0.0]])
    return [float(score(W_query @ query, W_key @ key, np.array([2.0, -1.0]))) for key in keys]


def scores_by_hand_twin__no_tanh():
    """The tanh is missing: apply it to each entry of the sum, before the dot product with v."""
    return _twin(lambda query, key, v: v @ (query + key))


def scores_by_hand_twin__tanh_after_v():
    """Apply the tanh to each entry first, and take the dot product with v afterwards."""
    return _twin(lambda query, key, v: np.tanh(v @ (query + key)))


def scores_by_hand_twin__query_dropped():
    """W_query times the decoder state is missing from the sum inside the tanh."""
    return _twin(lambda query, key, v: v @ np.tanh(key))


def scores_by_hand_twin__key_dropped():
    """All three scores are the same: the annotation is missing from the sum inside the tanh, so no position can stand out."""
    return _twin(lambda query, key, v: v @ np.tanh(query))


def scores_by_hand_twin__v_all_ones():
    """You summed the entries as if v were (1, 1), but here v is (2, -1)."""
    return _twin(lambda query, key, v: np.tanh(query + key).sum())


def scores_by_hand_twin__sign_of_v():
    """You lost the minus sign of the second entry of v."""
    return _twin(lambda query, key, v: abs(v) @ np.tanh(query + key))


def _hindi(query=(0.3, 0.4, 0.1), columns=slice(0, 3), squash=np.tanh):
    keys = np.array([[0.1, 0.7, 0.5, 0.3], [-0.1, -0.7, 0.4, 0.6], [0.7, 0.2, -0.3, 0.4]])
    return [float(np.array([-1.25, 1.25, 1.55]) @ squash(np.array(query) + key[columns])) for key in keys]


def hindi_scores__no_tanh():
    """The tanh is missing: apply it to each entry of the sum, before the dot product with v."""
    return _hindi(squash=lambda x: x)


def hindi_scores__other_state():
    """You used z_0 = (0.3, 0.3, 0.3), but the query of this step is p_0: note D has two initial states."""
    return _hindi(query=(0.3, 0.3, 0.3))


def hindi_scores__query_dropped():
    """The decoder state is missing from the sum inside the tanh."""
    return _hindi(query=(0.0, 0.0, 0.0))


def hindi_scores__last_three():
    """You kept the last three entries of each annotation. U_a = [I | 0] keeps the first three."""
    return _hindi(columns=slice(1, 4))


def hindi_scores__softmaxed():
    """Your values sum to 1: you returned weights. The softmax is the next step, not part of the score."""
    h = np.array([[0.1, 0.7, 0.5], [-0.1, -0.7, 0.4], [0.7, 0.2, -0.3]])
    e = np.exp(np.tanh(np.array([0.3, 0.4, 0.1]) + h) @ [-1.25, 1.25, 1.55])
    return list(np.round(e / e.sum(), 4))


def _gradients(inside=None, W_query=None, v=None, W_key=None, squash=lambda t: 1 - t**2):
    query, keys = np.array([2.0, -1.0, 3.0]), np.array([[1.0, 0.0, 3.0], [-2.0, 1.0, 1.0]])
    hidden, by_score = np.array([[0.6, 0.0], [-0.8, 0.6]]), np.array([1.0, -1.0])
    made = by_score[:, None] * np.array([5.0, -10.0]) * squash(hidden) if inside is None else inside(hidden, by_score)
    return {
        "inside": made,
        "v": by_score @ hidden if v is None else v(hidden, made),
        "W_query": np.outer(made.sum(axis=0), query) if W_query is None else W_query(made, query, keys),
        "W_key": made.T @ keys if W_key is None else W_key(made, query, keys),
    }


def gradients_by_hand__tanh_has_no_derivative():
    """You skipped the tanh in the backward pass: multiply by its derivative."""
    return _gradients(squash=np.ones_like)


def gradients_by_hand__not_squared():
    """As the derivative of the tanh, you used 1 - t, where t is the output of the tanh. Check this formula."""
    return _gradients(squash=lambda t: 1 - t)


def gradients_by_hand__difference_squared():
    """As the derivative of the tanh, you squared 1 - t, where t is the output of the tanh. Square t alone."""
    return _gradients(squash=lambda t: (1 - t) ** 2)


def gradients_by_hand__tanh_once_more():
    """You applied a tanh to the hidden values, but they are already the output of a tanh."""
    return _gradients(squash=lambda t: 1 - np.tanh(t) ** 2)


def gradients_by_hand__v_forgotten():
    """The factor v is missing: by the chain rule, it is part of the derivative of a score with respect to the sums
    inside the tanh."""
    return _gradients(inside=lambda t, g: g[:, None] * (1 - t**2))


def gradients_by_hand__scores_alike():
    """You used 1 as the derivative of the loss with respect to the second score. Check its sign."""
    return _gradients(inside=lambda t, g: np.array([5.0, -10.0]) * (1 - t**2), v=lambda t, _: t.sum(axis=0))


def gradients_by_hand__first_position_only():
    """Both positions use the same W_query, so both contribute to its gradient. You kept only the first contribution."""
    return _gradients(W_query=lambda inside, query, keys: np.outer(inside[0], query))


def gradients_by_hand__averaged():
    """You averaged the contributions of the positions. Add them instead."""
    return _gradients(
        v=lambda t, _: (t[0] - t[1]) / 2,
        W_query=lambda inside, query, keys: np.outer(inside.mean(axis=0), query),
        W_key=lambda inside, query, keys: inside.T @ keys / 2,
    )


def gradients_by_hand__matrices_transposed():
    """The gradient for a matrix should have the same shape as the matrix, but yours is transposed."""
    return _gradients(
        W_query=lambda inside, query, keys: np.outer(query, inside.sum(axis=0)),
        W_key=lambda inside, query, keys: keys.T @ inside,
    )


def gradients_by_hand__state_and_annotation_exchanged():
    """You swapped the state and the annotations: the gradient for a matrix contains the vectors that this matrix multiplies."""
    return _gradients(
        W_query=lambda inside, query, keys: inside.T @ keys,
        W_key=lambda inside, query, keys: np.outer(inside.sum(axis=0), query),
    )


def gradients_by_hand__v_from_inside():
    """v multiplies the output of the tanh, so the gradient with respect to v should not contain the derivative of the tanh."""
    return _gradients(v=lambda t, inside: inside.sum(axis=0))


def _unseen(product=np.matmul, unseen=lambda last: [*-last, 1.0], **counts):
    W_c = np.array([[1.0, 0.0, 0.0, 2.0], [0.0, 1.0, 0.0, -1.0], [0.0, 0.0, 1.0, -3.0]])
    W_enc = np.array([[1.0, -1.0, 0.0], [0.0, 2.0, 1.0], [1.0, 0.0, 1.0]])
    return {"U_a": product(W_enc, W_c), "unseen": unseen(W_c[:, 3]), "two_matrices": 21, "one_matrix": 12, **counts}


def unseen_by_the_score__first_matrix_transposed():
    """You multiplied by the transpose of W_enc: each row of W_enc should give one row of the product."""
    return _unseen(lambda W_enc, W_c: W_enc.T @ W_c)


def unseen_by_the_score__entry_by_entry():
    """You multiplied entry by entry. To apply one matrix after the other, take their matrix product: rows times columns."""
    return _unseen(lambda W_enc, W_c: np.hstack([W_enc * W_c[:, :3], W_c[:, 3:]]))


def unseen_by_the_score__last_number():
    """The score does depend on the last entry of an annotation, because no row of W_c ends in 0. What must the other entries do?"""
    return _unseen(unseen=lambda _: [0, 0, 0, 1])


def unseen_by_the_score__sign():
    """The other entries must cancel the contribution of the last entry. Yours double it."""
    return _unseen(unseen=lambda last: [*last, 1.0])


def unseen_by_the_score__second_matrix_only():
    """In the note, both W_c and W_enc are parameters. Count the entries of both."""
    return _unseen(two_matrices=9, one_matrix=9)


def unseen_by_the_score__zeros_left_out():
    """For two matrices, all entries of both count, those that are 0 too. For one matrix, all of its entries count."""
    return _unseen(two_matrices=12, one_matrix=9)


def unseen_by_the_score__one_matrix_square():
    """The single matrix multiplies an annotation of four entries, not the three that remain after W_c."""
    return _unseen(one_matrix=9)


def additive_score__no_tanh(query, keys, W_query, W_key, v):
    """The tanh is missing: without it the score is linear, and the query shifts the scores of all positions by the same amount."""
    return ((query @ W_query.T)[:, None, :] + keys @ W_key.T) @ v


def additive_score__tanh_after_v(query, keys, W_query, W_key, v):
    """You applied the tanh to the finished score. Apply it before the dot product with v."""
    return np.tanh(((query @ W_query.T)[:, None, :] + keys @ W_key.T) @ v)


def additive_score__query_dropped(query, keys, W_query, W_key, v):
    """Your scores do not depend on the decoder state: W_query times the query is missing from the sum inside the tanh."""
    return np.tanh(keys @ W_key.T) @ v


def additive_score__v_averages(query, keys, W_query, W_key, v):
    """All your scores are too small by the same factor: the dot product with v is a sum, not an average."""
    return additive_score(query, keys, W_query, W_key, v) / v.size


def additive_score__v_inside(query, keys, W_query, W_key, v):
    """You multiplied by v inside the tanh. Take the tanh of the sum first, then the dot product with v."""
    return np.tanh(((query @ W_query.T)[:, None, :] + keys @ W_key.T) * v).sum(axis=-1)


def additive_score__two_tanh(query, keys, W_query, W_key, v):
    """You applied a tanh to each projection separately. Apply a single tanh to their sum."""
    return (np.tanh(query @ W_query.T)[:, None, :] + np.tanh(keys @ W_key.T)) @ v


def additive_score__softmaxed(query, keys, W_query, W_key, v):
    """Each of your rows sums to 1: you returned weights. The softmax is the next step, not part of the score."""
    exponentials = np.exp(additive_score(query, keys, W_query, W_key, v))
    return exponentials / exponentials.sum(axis=1, keepdims=True)


def additive_score__first_sentence_only(query, keys, W_query, W_key, v):
    """You scored every sentence with the query of the first sentence: check how the query broadcasts along the batch axis."""
    return additive_score(np.broadcast_to(query[:1], query.shape), keys, W_query, W_key, v)


def additive_score__axis_if_needed(query, keys, W_query, W_key, v):
    """You add the two projections as they are if that runs. Sizes may fit by chance, and then a query meets the keys of other
    sentences: always give the query the axis of the positions."""
    projected_query, projected_keys = query @ W_query.T, keys @ W_key.T
    try:
        return np.tanh(projected_query + projected_keys) @ v
    except ValueError:
        return np.tanh(projected_query[:, None, :] + projected_keys) @ v


def additive_score__squeezed(query, keys, W_query, W_key, v):
    """An axis of length 1 went missing: even with one sentence or one position, the result should have two axes."""
    return np.squeeze(np.tanh((query @ W_query.T)[:, None, :] + keys @ W_key.T) @ v)


def additive_score__squeezed_and_mended(query, keys, W_query, W_key, v):
    """With several sentences of length 1, you return a single row: squeeze() dropped one axis too many. Tell it
    which axis to drop."""
    hidden = np.tanh((query @ W_query.T)[:, None, :] + keys @ W_key.T)
    return np.atleast_2d(np.squeeze(hidden @ v[:, None]))


def additive_score__last_position_left_out(query, keys, W_query, W_key, v):
    """You never scored the last position: look at where your loop over the positions ends."""
    scores = np.tanh((query @ W_query.T)[:, None, :] + keys @ W_key.T) @ v
    scores[:, -1] = 0.0
    return scores


def dot_product_score__without_w(query, keys, W=None):
    """You did not use W: you truncated the longer vector and took a plain dot product."""
    size = min(query.shape[-1], keys.shape[-1])
    return (query[:, None, :size] * keys[..., :size]).sum(-1)


def dot_product_score__zeros_for_none(query, keys, W=None):
    """You took a matrix of zeros for a missing one: test whether `W is None`, whatever its entries are."""
    return dot_product_score(query, keys, W if W is not None and (W.any() or W.shape[0] != W.shape[1]) else None)


def dot_product_score__tanh(query, keys, W=None):
    """The multiplicative score has no tanh: the tanh belongs to the additive score."""
    if W is None:
        return np.einsum("bm,bjm->bj", query, keys)
    return np.tanh(np.einsum("bn,nm,bjm->bj", query, W, keys))


def dot_product_score__first_sentence_only(query, keys, W=None):
    """You scored every sentence with the query of the first sentence: check how the query broadcasts along the batch axis."""
    keys = keys if W is None else keys @ W.T
    return keys @ query[0]


def dot_product_score__elementwise(query, keys, W=None):
    """You multiplied the entries but did not sum the products. Each position should have a single score."""
    keys = keys if W is None else keys @ W.T
    return keys * query[:, None, :]


def dot_product_score__scaled(query, keys, W=None):
    """You divided the scores by the square root of the size. The formula in this exercise does not scale them."""
    keys = keys if W is None else keys @ W.T
    return (keys * query[:, None, :]).sum(-1) / np.sqrt(query.shape[-1])


def dot_product_score__cosine(query, keys, W=None):
    """You divided by the lengths of the vectors, which gives their cosine. The formula in this exercise has no such division."""
    keys = keys if W is None else keys @ W.T
    dots = (keys * query[:, None, :]).sum(-1)
    return dots / (np.linalg.norm(query, axis=-1)[:, None] * np.linalg.norm(keys, axis=-1))


def dot_product_score__squeezed(query, keys, W=None):
    """An axis of length 1 went missing: even with one sentence or one position, the result should have two axes."""
    keys = keys if W is None else keys @ W.T
    return np.squeeze((keys * query[:, None, :]).sum(-1))


def dot_product_score__squeezed_and_mended(query, keys, W=None):
    """With several sentences of length 1, you return a single row: squeeze() dropped one axis too many. Tell it
    which axis to drop."""
    keys = keys if W is None else keys @ W.T
    return np.atleast_2d(np.squeeze(keys @ query[:, :, None]))


def dot_product_score__softmaxed(query, keys, W=None):
    """Each of your rows sums to 1: you returned weights. The softmax is the next step, not part of the score."""
    keys = keys if W is None else keys @ W.T
    e = np.exp(np.einsum("bd,btd->bt", query, keys))
    return e / e.sum(axis=1, keepdims=True)


def dot_product_score__last_position_left_out(query, keys, W=None):
    """You never scored the last position: look at where your loop over the positions ends."""
    keys = keys if W is None else keys @ W.T
    scores = np.einsum("bn,bjn->bj", query, keys)
    scores[:, -1] = 0.0
    return scores


def score_every_step__no_tanh(queries, projected_keys, W_query, v):
    """The tanh is missing: without it the score is linear, and the query shifts the scores of all positions by the same amount."""
    return ((queries @ W_query.T).unsqueeze(2) + projected_keys.unsqueeze(1)) @ v


def score_every_step__query_dropped(queries, projected_keys, W_query, v):
    """Your scores do not depend on the decoder state: they are the same at every step."""
    scores = torch.tanh(projected_keys) @ v
    return scores.unsqueeze(1) + 0 * (queries @ W_query.T).sum(-1, keepdim=True)


def score_every_step__positions_first(queries, projected_keys, W_query, v):
    """You swapped the axes of steps and positions: each row should belong to a step, and each column to a source position."""
    return torch.tanh((queries @ W_query.T).unsqueeze(1) + projected_keys.unsqueeze(2)) @ v


def score_every_step__first_step_only(queries, projected_keys, W_query, v):
    """Every step gets the scores of the first step: check which axis of the queries lines up with the step axis of the result."""
    projected = (queries[:, :1] @ W_query.T).expand(-1, queries.shape[1], -1)
    return torch.tanh(projected.unsqueeze(2) + projected_keys.unsqueeze(1)) @ v


def score_every_step__detached(queries, projected_keys, W_query, v):
    """The scores are right, but no gradient reaches the queries: look for detach, no_grad, numpy or .item()."""
    return (torch.tanh((queries @ W_query.T).unsqueeze(2) + projected_keys.unsqueeze(1)) @ v).detach()


def score_every_step__squeezed(queries, projected_keys, W_query, v):
    """An axis of length 1 went missing: without an argument, squeeze() also drops the axis of a single sentence or
    a single step."""
    return (torch.tanh((queries @ W_query.T).unsqueeze(2) + projected_keys.unsqueeze(1)) @ v).squeeze()


def score_every_step__kept_axis(queries, projected_keys, W_query, v):
    """Your result ends in an extra axis of length 1. The dot product with v should leave one number per position."""
    return (torch.tanh((queries @ W_query.T).unsqueeze(2) + projected_keys.unsqueeze(1)) @ v).unsqueeze(-1)


def score_every_step__softmaxed(queries, projected_keys, W_query, v):
    """Each of your rows sums to 1: you returned weights. The softmax is the next step, not part of the score."""
    scores = torch.tanh((queries @ W_query.T).unsqueeze(2) + projected_keys.unsqueeze(1)) @ v
    return torch.softmax(scores, dim=-1)


def score_every_step__two_tanh(queries, projected_keys, W_query, v):
    """You applied a tanh to each projection separately. Apply a single tanh to their sum."""
    return (torch.tanh(queries @ W_query.T).unsqueeze(2) + torch.tanh(projected_keys).unsqueeze(1)) @ v


def _score_gradients(
    scores_gradient, query, keys, W_query, W_key, v, slope=lambda t: 1 - t**2, both=lambda inside: inside.sum(axis=0)
):
    hidden = np.tanh(W_query @ query + keys @ W_key.T)
    inside = scores_gradient[:, None] * v * slope(hidden)
    return {"v": scores_gradient @ hidden, "W_query": np.outer(both(inside), query), "W_key": inside.T @ keys}


def score_gradients__tanh_has_no_derivative(scores_gradient, query, keys, W_query, W_key, v):
    """You skipped the tanh in the backward pass: multiply by its derivative."""
    return _score_gradients(scores_gradient, query, keys, W_query, W_key, v, slope=np.ones_like)


def score_gradients__not_squared(scores_gradient, query, keys, W_query, W_key, v):
    """As the derivative of the tanh, you used 1 - t, where t is the output of the tanh. Check this formula."""
    return _score_gradients(scores_gradient, query, keys, W_query, W_key, v, slope=lambda t: 1 - t)


def score_gradients__difference_squared(scores_gradient, query, keys, W_query, W_key, v):
    """As the derivative of the tanh, you squared 1 - t, where t is the output of the tanh. Square t alone."""
    return _score_gradients(scores_gradient, query, keys, W_query, W_key, v, slope=lambda t: (1 - t) ** 2)


def score_gradients__tanh_once_more(scores_gradient, query, keys, W_query, W_key, v):
    """You applied a tanh to the hidden values, but they are already the output of a tanh."""
    return _score_gradients(scores_gradient, query, keys, W_query, W_key, v, slope=lambda t: 1 - np.tanh(t) ** 2)


def score_gradients__before_the_tanh(scores_gradient, query, keys, W_query, W_key, v):
    """In the derivative of the tanh, you squared the input of the tanh. Square its output."""
    sums = W_query @ query + keys @ W_key.T
    inside = scores_gradient[:, None] * v * (1 - sums**2)
    by_v = scores_gradient @ np.tanh(sums)
    return {"v": by_v, "W_query": np.outer(inside.sum(axis=0), query), "W_key": inside.T @ keys}


def score_gradients__v_forgotten(scores_gradient, query, keys, W_query, W_key, v):
    """Your gradients for the two matrices do not depend on v: apply the chain rule to the dot product with v as well."""
    hidden = np.tanh(W_query @ query + keys @ W_key.T)
    inside = scores_gradient[:, None] * (1 - hidden**2)
    return {"v": scores_gradient @ hidden, "W_query": np.outer(inside.sum(axis=0), query), "W_key": inside.T @ keys}


def score_gradients__scores_alike(scores_gradient, query, keys, W_query, W_key, v):
    """Your result does not depend on scores_gradient, the derivative of the loss with respect to each score."""
    return _score_gradients(np.ones(len(keys)), query, keys, W_query, W_key, v)


def score_gradients__first_position_only(scores_gradient, query, keys, W_query, W_key, v):
    """All positions use the same W_query, so all contribute to its gradient. You kept only the contribution of the
    first position."""
    return _score_gradients(scores_gradient, query, keys, W_query, W_key, v, both=lambda inside: inside[0])


def score_gradients__last_position_only(scores_gradient, query, keys, W_query, W_key, v):
    """All positions use the same W_query, so all contribute to its gradient. You kept only the contribution of the
    last position."""
    return _score_gradients(scores_gradient, query, keys, W_query, W_key, v, both=lambda inside: inside[-1])


def score_gradients__averaged(scores_gradient, query, keys, W_query, W_key, v):
    """You averaged the contributions of the positions. Add them instead."""
    right = _score_gradients(scores_gradient, query, keys, W_query, W_key, v)
    return {name: value / len(keys) for name, value in right.items()}


def score_gradients__matrices_transposed(scores_gradient, query, keys, W_query, W_key, v):
    """The gradient for a matrix should have the same shape as the matrix, but yours is transposed."""
    return {name: value.T for name, value in _score_gradients(scores_gradient, query, keys, W_query, W_key, v).items()}


def score_gradients__v_from_inside(scores_gradient, query, keys, W_query, W_key, v):
    """v multiplies the output of the tanh, so the gradient with respect to v should not contain the derivative of the tanh."""
    right = _score_gradients(scores_gradient, query, keys, W_query, W_key, v)
    hidden = np.tanh(W_query @ query + keys @ W_key.T)
    return right | {"v": (scores_gradient[:, None] * v * (1 - hidden**2)).sum(axis=0)}


def score_gradients__downhill(scores_gradient, query, keys, W_query, W_key, v):
    """All your signs are flipped: you returned the direction in which the loss falls, not the gradient."""
    return {name: -value for name, value in _score_gradients(scores_gradient, query, keys, W_query, W_key, v).items()}


def score_gradients__squeezed(scores_gradient, query, keys, W_query, W_key, v):
    """An axis of length 1 went missing: the gradient for a matrix with one row or one column should still have two axes."""
    right = _score_gradients(scores_gradient, query, keys, W_query, W_key, v)
    return {name: np.squeeze(value) for name, value in right.items()}
