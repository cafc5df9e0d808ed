"""Wrong answers that students give to the context exercises. The docstring is the hint."""

import math

import numpy as np
import torch


def batch_shapes__row_and_column_exchanged(batch, m, n, T_x, T_y):
    """You swapped column and row: in which of them does each weight line up with its own annotation?"""
    return {"column": (batch, 1, T_x), "row": (batch, T_x, 1), "product": (batch, 1, m), "contexts": (batch, T_y, m)}


def batch_shapes__no_extra_axis(batch, m, n, T_x, T_y):
    """Two axes are not enough: a batched product needs a matrix for each sentence, even if this matrix has only one row."""
    return {"column": (batch, T_x), "row": (batch, T_x), "product": (batch, 1, m), "contexts": (batch, T_y, m)}


def batch_shapes__squeezed(batch, m, n, T_x, T_y):
    """If the left operand has one row, so does the product: its axis of length 1 is still there."""
    return {"column": (batch, T_x, 1), "row": (batch, 1, T_x), "product": (batch, m), "contexts": (batch, T_y, m)}


def batch_shapes__one_context_per_position(batch, m, n, T_x, T_y):
    """There should be one context for each decoder step: the sum runs over the source positions."""
    return {"column": (batch, T_x, 1), "row": (batch, 1, T_x), "product": (batch, 1, m), "contexts": (batch, T_x, m)}


def batch_shapes__decoder_size(batch, m, n, T_x, T_y):
    """A mixture of annotations has the size of an annotation, not that of a decoder state."""
    return {"column": (batch, T_x, 1), "row": (batch, 1, T_x), "product": (batch, 1, n), "contexts": (batch, T_y, n)}


def _note_d(weights=(0.7, 0.2, 0.1), first=-0.1, as_printed=0.16):
    keys = np.array([[0.1, 0.7, 0.5, 0.3], [first, -0.7, 0.4, 0.6], [0.7, 0.2, -0.3, 0.4]])
    return {"context": (np.array(weights) @ keys).tolist(), "as_printed": as_printed}


def context_of_note_d__sign_slip():
    """The first entry of your context is wrong: check the sign of the first entry of h_2."""
    return _note_d(first=0.1)


def context_of_note_d__mean():
    """You gave the plain average of the annotations: use the weights."""
    return _note_d(weights=(1 / 3, 1 / 3, 1 / 3))


def context_of_note_d__sum():
    """You gave the plain sum of the annotations: use the weights."""
    return _note_d(weights=(1, 1, 1))


def context_of_note_d__largest_only():
    """You gave only the annotation with the largest weight. The context is a weighted sum of all annotations."""
    return _note_d(weights=(1, 0, 0))


def context_of_note_d__reversed():
    """You used the weights in reverse order: the first weight belongs to the first annotation."""
    return _note_d(weights=(0.1, 0.2, 0.7))


def context_of_note_d__over_features():
    """You summed over the entries of each annotation. Sum over the positions instead."""
    first_three = np.array([[0.1, 0.7, 0.5], [-0.1, -0.7, 0.4], [0.7, 0.2, -0.3]])
    return {"context": (first_three @ [0.7, 0.2, 0.1]).tolist(), "as_printed": 0.16}


def context_of_note_d__sign_not_lost():
    """For `as_printed`, you kept the minus sign. In the sum as printed, the first entry of h_2 is 0.1."""
    return _note_d(as_printed=0.12)


def _softmax(scores):
    return np.exp(scores) / np.exp(scores).sum()


_CORNERS = np.array([[1.0, 2.0], [5.0, 0.0], [3.0, 6.0]])
_INSIDE = np.array([2.36, 3.14])


def weights_from_context__equal():
    """With equal weights, the context would be the plain average of the annotations. Is it?"""
    return [1 / 3, 1 / 3, 1 / 3]


def weights_from_context__reversed():
    """Your weights are right but in reverse order: the weight of the first annotation should come first."""
    return np.linalg.solve(np.vstack([_CORNERS.T, np.ones(3)]), [*_INSIDE, 1.0])[::-1].tolist()


def weights_from_context__by_distance():
    """You derived the weights from distances. If you mix the annotations with these weights, do you get the context back?"""
    closeness = 1 / np.linalg.norm(_CORNERS - _INSIDE, axis=1)
    return (closeness / closeness.sum()).tolist()


def weights_from_context__dot_products():
    """You took the softmax of dot products with the context. Find the weights that produced this context."""
    return _softmax(_CORNERS @ _INSIDE).tolist()


def weights_from_context__two_equations():
    """You solved only the two equations of the context. That the weights sum to 1 is the third."""
    return np.linalg.lstsq(_CORNERS.T, _INSIDE, rcond=None)[0].tolist()


def weights_from_context__softmax_on_top():
    """You solved for the weights, and applied a softmax to them. The solution is made of weights already."""
    exponentials = np.exp(np.linalg.solve(np.vstack([_CORNERS.T, np.ones(3)]), [*_INSIDE, 1.0]))
    return (exponentials / exponentials.sum()).tolist()


def weights_from_context__not_adding_to_one():
    """Your weights give the right context but do not sum to 1: use this condition as the third equation."""
    return [*np.linalg.solve(_CORNERS[:2].T, _INSIDE).tolist(), 0.0]


def scores_gradient__context_forgotten(context_gradient, weights, keys):
    """Raising one score also lowers all other weights. You left this effect out, so your rows do not sum to 0."""
    return weights * np.einsum("bm,bjm->bj", context_gradient, keys)


def scores_gradient__by_the_weights(context_gradient, weights, keys):
    """You returned the derivatives with respect to the weights. Go one step further back, through the softmax."""
    return np.einsum("bm,bjm->bj", context_gradient, keys)


def scores_gradient__weight_forgotten(context_gradient, weights, keys):
    """A factor is missing: how strongly a weight responds to its score depends on the weight itself."""
    by_weight = np.einsum("bm,bjm->bj", context_gradient, keys)
    return by_weight - (weights * by_weight).sum(axis=1, keepdims=True)


def scores_gradient__own_weight_only(context_gradient, weights, keys):
    """You considered only how each weight responds to its own score. The other weights respond to this score as well."""
    return weights * (1 - weights) * np.einsum("bm,bjm->bj", context_gradient, keys)


def scores_gradient__plain_mean(context_gradient, weights, keys):
    """You used the plain average of the annotations instead of the context, which is their weighted average."""
    by_weight = np.einsum("bm,bjm->bj", context_gradient, keys)
    return weights * (by_weight - by_weight.mean(axis=1, keepdims=True))


def scores_gradient__sign(context_gradient, weights, keys):
    """The sign is flipped: raising a score should pull the context towards the annotation at that position."""
    by_weight = np.einsum("bm,bjm->bj", context_gradient, keys)
    return weights * ((weights * by_weight).sum(axis=1, keepdims=True) - by_weight)


def scores_gradient__divided_by_weights(context_gradient, weights, keys):
    """You divide by the weights, but at a padding position the weight is 0. The derivative should be 0 there, too."""
    joint = weights * np.einsum("bm,bjm->bj", context_gradient, keys)
    return weights * (joint / weights - joint.sum(axis=1, keepdims=True))


def scores_gradient__squeezed(context_gradient, weights, keys):
    """An axis of length 1 went missing: the batch axis of a single sentence, for example, should stay."""
    by_weight = np.einsum("bm,bjm->bj", context_gradient, keys)
    return np.squeeze(weights * (by_weight - (weights * by_weight).sum(axis=1, keepdims=True)))


def _mix(weights, keys):
    return torch.einsum("bj,bjm->bm", weights, keys)


def attend__mask_ignored(scores, keys, source_mask):
    """Padding contributes to your context: exclude it from the softmax."""
    return _mix(torch.softmax(scores, dim=1), keys)


def attend__masked_after_softmax(scores, keys, source_mask):
    """You removed the padding after the softmax, so the remaining weights no longer sum to 1."""
    return _mix(torch.softmax(scores, dim=1) * source_mask, keys)


def attend__pad_scores_zero(scores, keys, source_mask):
    """You set the scores of padding to 0, but exp(0) is 1: a score of 0 does not mean a weight of 0."""
    return _mix(torch.softmax(scores * source_mask, dim=1), keys)


def attend__mask_turned_round(scores, keys, source_mask):
    """The mask is True at real words, but you kept the padding and left out the words."""
    lowest = torch.finfo(scores.dtype).min
    return _mix(torch.softmax(scores.masked_fill(source_mask, lowest), dim=1) * ~source_mask, keys)


def attend__minus_infinity(scores, keys, source_mask):
    """In a sentence without any real words, all your scores are minus infinity, and their softmax is nan."""
    return _mix(torch.softmax(scores.masked_fill(~source_mask, float("-inf")), dim=1), keys)


def attend__nan_replaced_at_the_end(scores, keys, source_mask):
    """You replaced nan after the softmax, but backpropagation still passes through the step that produced nan."""
    weights = torch.softmax(scores + torch.log(source_mask.to(scores.dtype)), dim=1)
    return _mix(torch.nan_to_num(weights), keys)


def attend__spread_over_pads(scores, keys, source_mask):
    """In a row without any real words, all scores are equally low, so the softmax spreads the weight over the padding."""
    return _mix(torch.softmax(scores.masked_fill(~source_mask, torch.finfo(scores.dtype).min), dim=1), keys)


def attend__exponentials_by_hand(scores, keys, source_mask):
    """The exponential of a score in the thousands is infinite. Let torch compute the softmax, or first subtract
    each row's maximum."""
    exponentials = torch.exp(scores) * source_mask
    total = exponentials.sum(dim=1, keepdim=True)
    return _mix(exponentials / torch.where(total == 0, torch.ones_like(total), total), keys)


def attend__over_the_batch(scores, keys, source_mask):
    """Your softmax runs over the batch: the weights of each sentence must sum to 1 over its own positions."""
    kept = scores.masked_fill(~source_mask, torch.finfo(scores.dtype).min)
    return _mix(torch.softmax(kept, dim=0) * source_mask, keys)


def attend__scores_as_weights(scores, keys, source_mask):
    """You used the scores as weights: the softmax is missing."""
    return _mix(scores * source_mask, keys)


def attend__squeezed(scores, keys, source_mask):
    """An axis of length 1 went missing: the batch axis of a single sentence, for example, should stay."""
    kept = scores.masked_fill(~source_mask, torch.finfo(scores.dtype).min)
    return _mix(torch.softmax(kept, dim=1) * source_mask, keys).squeeze()


def attend__detached(scores, keys, source_mask):
    """The contexts are right, but no gradient reaches the scores: look for detach, no_grad, numpy or .item()."""
    kept = scores.masked_fill(~source_mask, torch.finfo(scores.dtype).min)
    return _mix(torch.softmax(kept, dim=1) * source_mask, keys).detach()


def _pull(plain=0.25, at_three=None, gap=None, way=(4.0, -3.0)):
    way, weight, heavy = np.array(way), 1 / (1 + math.exp(-3)), (1 + math.sqrt(0.9)) / 2
    at_three = weight * (1 - weight) if at_three is None else at_three
    gap = math.log(heavy / (1 - heavy)) if gap is None else gap
    return {"largest": plain * float(np.linalg.norm(way)), "at_three": (at_three * way).tolist(), "gap": gap}


def pull_of_two__way_turned_round():
    """Your pull points towards the second annotation. Raising the first score should pull the context towards the first."""
    return _pull(way=(-4.0, 3.0))


def pull_of_two__weight_only():
    """You multiplied the weight by the whole vector from h_2 to h_1, but the context is already part of the way to h_1."""
    return _pull(plain=0.5, at_three=1 / (1 + math.exp(-3)))


def pull_of_two__way_left_only():
    """You gave the vector from the context to h_1. How strongly the first score pulls also depends on its weight."""
    return _pull(plain=0.5, at_three=1 / (1 + math.exp(3)))


def pull_of_two__from_the_origin():
    """You multiplied by h_1. As the first weight grows, the second one falls, so the context moves along h_1 - h_2."""
    return _pull(way=(3.0, -1.0))


def pull_of_two__softmax_of_the_difference():
    """For `at_three`, you took the softmax of a single number, which is always 1. Take the softmax of two scores."""
    return _pull(at_three=0.0)


def pull_of_two__a_tenth_of_the_weight():
    """With your `gap`, the smaller weight is a tenth. The length of the pull should be a tenth of `largest`."""
    return _pull(gap=math.log(9))


def pull_of_two__a_tenth_of_one():
    """You used a tenth of 1. You need a tenth of `largest`, and that length itself contains a factor of one quarter."""
    heavy = (1 + math.sqrt(1 - 0.4)) / 2
    return _pull(gap=math.log(heavy / (1 - heavy)))


def pull_of_two__a_tenth_of_a_half():
    """With your `gap`, the smaller weight has fallen to a tenth of a half. The length of the pull depends on the product of
    both weights: this product must fall to a tenth."""
    return _pull(gap=math.log(19))


def pull_of_two__gap_of_the_tail():
    """For `gap`, you took the product of the weights for an exponential, which it is only nearly. Solve for the larger
    weight first."""
    return _pull(gap=math.log(40))


def _mended(query, keys, source_mask, W_query, W_key, v, masked="before", each=True, stable=True):
    scores = np.tanh((query @ W_query.T)[:, None, :] + keys @ W_key.T) @ v
    lowest = np.finfo(float).min
    kept = np.where(source_mask, scores, lowest) if masked == "before" else scores
    powers = np.exp(kept - kept.max(axis=1, keepdims=True)) if stable else np.exp(kept)
    powers = powers * source_mask if masked == "before" else powers
    total = powers.sum(axis=1, keepdims=True) if each else powers.sum(axis=(0, 1), keepdims=True)
    weights = powers / np.where(total > 0, total, 1)
    return ((weights * source_mask if masked == "after" else weights)[:, :, None] * keys).sum(axis=1)


def mended_attention__as_it_stood(query, keys, source_mask, W_query, W_key, v):
    """Your program still has all four bugs. Try it on two sentences, on a sentence with padding, and on scores of a thousand."""
    projected = query @ W_query.T + keys @ W_key.T
    scores = np.tanh(projected) @ v
    powers = np.exp(scores)
    weights = powers / powers.sum()
    weights = weights * source_mask
    return np.sum(weights[:, :, None] * keys, axis=1)


def mended_attention__states_still_misplaced(query, keys, source_mask, W_query, W_key, v):
    """One bug is left: with several sentences, which axis of the projected states lines up with which axis of the keys?"""
    projected = query @ W_query.T + keys @ W_key.T
    scores = np.where(source_mask, np.tanh(projected) @ v, np.finfo(float).min)
    powers = np.exp(scores - scores.max(axis=1, keepdims=True)) * source_mask
    total = powers.sum(axis=1, keepdims=True)
    return ((powers / np.where(total > 0, total, 1))[:, :, None] * keys).sum(axis=1)


def mended_attention__divided_by_the_batch(query, keys, source_mask, W_query, W_key, v):
    """One bug is left: the weights of the whole batch sum to 1, but the weights of each sentence should sum to 1."""
    return _mended(query, keys, source_mask, W_query, W_key, v, each=False)


def mended_attention__masked_after_softmax(query, keys, source_mask, W_query, W_key, v):
    """One bug is left: you remove the padding after the softmax, so the remaining weights no longer sum to 1."""
    return _mended(query, keys, source_mask, W_query, W_key, v, masked="after")


def mended_attention__mask_ignored(query, keys, source_mask, W_query, W_key, v):
    """Padding contributes to your context: exclude it from the softmax."""
    return _mended(query, keys, source_mask, W_query, W_key, v, masked="never")


def mended_attention__overflow(query, keys, source_mask, W_query, W_key, v):
    """One bug is left: exp overflows for scores above 709. Subtracting the same number from all scores of a row
    changes no weight."""
    return _mended(query, keys, source_mask, W_query, W_key, v, stable=False)


def mended_attention__minus_infinity(query, keys, source_mask, W_query, W_key, v):
    """In a sentence without any real words, all your scores are minus infinity, and their softmax is nan."""
    scores = np.tanh((query @ W_query.T)[:, None, :] + keys @ W_key.T) @ v
    scores = np.where(source_mask, scores, -np.inf)
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return ((powers / powers.sum(axis=1, keepdims=True))[:, :, None] * keys).sum(axis=1)


def mended_attention__squeezed(query, keys, source_mask, W_query, W_key, v):
    """An axis of length 1 went missing: the batch axis of a single sentence, for example, should stay."""
    return np.squeeze(_mended(query, keys, source_mask, W_query, W_key, v))


def _hidden_of_e(s_previous, h_j, W, W_s):
    if W_s is not None:
        return h_j @ W.T + (s_previous @ W_s.T).unsqueeze(1)
    states = s_previous.unsqueeze(1).expand(-1, h_j.shape[1], -1)
    return torch.cat([h_j, states], dim=-1) @ W.T


def mended_note_e__no_grad(s_previous, h_j, W, V, W_s=None):
    """The contexts are right, but nothing can be trained: somewhere, the result is cut off from the graph."""
    with torch.no_grad():
        return _mix(torch.softmax(torch.tanh(_hidden_of_e(s_previous, h_j, W, W_s)) @ V, dim=1), h_j)


def mended_note_e__parameters_copied(s_previous, h_j, W, V, W_s=None):
    """No gradient reaches the parameters: use the tensors that you were given, not new layers or copies of their values."""
    copies = [each if each is None else each.detach() for each in (W, W_s)]
    return _mix(torch.softmax(torch.tanh(_hidden_of_e(s_previous, h_j, *copies)) @ V.detach(), dim=1), h_j)


def mended_note_e__state_first(s_previous, h_j, W, V, W_s=None):
    """You concatenated in the wrong order: the annotation should come first, then the state."""
    states = s_previous.unsqueeze(1).expand(-1, h_j.shape[1], -1)
    hidden = torch.cat([states, h_j], dim=-1) @ W.T if W_s is None else _hidden_of_e(s_previous, h_j, W, W_s)
    return _mix(torch.softmax(torch.tanh(hidden) @ V, dim=1), h_j)


def mended_note_e__two_tanh(s_previous, h_j, W, V, W_s=None):
    """With two matrices, you applied a tanh to each product separately. Apply a single tanh to their sum."""
    hidden = torch.tanh(_hidden_of_e(s_previous, h_j, W, W_s))
    if W_s is not None:
        hidden = torch.tanh(h_j @ W.T) + torch.tanh(s_previous @ W_s.T).unsqueeze(1)
    return _mix(torch.softmax(hidden @ V, dim=1), h_j)


def mended_note_e__second_mode_without_the_state(s_previous, h_j, W, V, W_s=None):
    """With two matrices, your scores do not depend on the decoder state: where should W_s come in?"""
    return _mix(torch.softmax(torch.tanh(_hidden_of_e((W_s is None) * s_previous, h_j, W, W_s)) @ V, dim=1), h_j)


def mended_note_e__over_the_batch(s_previous, h_j, W, V, W_s=None):
    """Your softmax runs over the sentences. It should run over the positions: which axis are they on?"""
    return _mix(torch.softmax(torch.tanh(_hidden_of_e(s_previous, h_j, W, W_s)) @ V, dim=0), h_j)


def mended_note_e__weights_of_one(s_previous, h_j, W, V, W_s=None):
    """Your softmax runs over an axis of length 1, so every weight is 1. It should run over the positions."""
    scores = torch.tanh(_hidden_of_e(s_previous, h_j, W, W_s)) @ V
    return _mix(torch.softmax(scores.unsqueeze(-1), dim=-1).squeeze(-1), h_j)


def mended_note_e__first_state_only(s_previous, h_j, W, V, W_s=None):
    """You scored every sentence with the state of the first sentence: check how the state broadcasts along the batch axis."""
    states = s_previous[:1].expand(len(h_j), -1)
    return _mix(torch.softmax(torch.tanh(_hidden_of_e(states, h_j, W, W_s)) @ V, dim=1), h_j)


def mended_note_e__mean(s_previous, h_j, W, V, W_s=None):
    """You returned the plain mean of the annotations: where should the scores come in?"""
    return h_j.mean(dim=1) + 0 * _mix(torch.softmax(torch.tanh(_hidden_of_e(s_previous, h_j, W, W_s)) @ V, dim=1), h_j)


def mended_note_e__state_left_out(s_previous, h_j, W, V, W_s=None):
    """Your scores do not depend on the decoder state, so every step would get the same context."""
    return _mix(torch.softmax(torch.tanh(_hidden_of_e(0 * s_previous, h_j, W, W_s)) @ V, dim=1), h_j)


def mended_note_e__no_tanh(s_previous, h_j, W, V, W_s=None):
    """The tanh is missing: without it, the state adds the same number to every score, and this number cancels in the softmax."""
    return _mix(torch.softmax(_hidden_of_e(s_previous, h_j, W, W_s) @ V, dim=1), h_j)


def mended_note_e__tanh_after_v(s_previous, h_j, W, V, W_s=None):
    """You applied the tanh to the finished score. Apply it before the product with V."""
    return _mix(torch.softmax(torch.tanh(_hidden_of_e(s_previous, h_j, W, W_s) @ V), dim=1), h_j)


def mended_note_e__scores_as_weights(s_previous, h_j, W, V, W_s=None):
    """You used the scores as weights: the softmax is missing."""
    return _mix(torch.tanh(_hidden_of_e(s_previous, h_j, W, W_s)) @ V, h_j)


def mended_note_e__exponentials_by_hand(s_previous, h_j, W, V, W_s=None):
    """The exponential of a score in the thousands is infinite. Let torch compute the softmax, or first subtract
    each row's maximum."""
    powers = torch.exp(torch.tanh(_hidden_of_e(s_previous, h_j, W, W_s)) @ V)
    return _mix(powers / powers.sum(dim=1, keepdim=True), h_j)


def mended_note_e__squeezed(s_previous, h_j, W, V, W_s=None):
    """An axis of length 1 went missing: the batch axis of a single sentence, for example, should stay."""
    return _mix(torch.softmax(torch.tanh(_hidden_of_e(s_previous, h_j, W, W_s)) @ V, dim=1), h_j).squeeze()


def what_was_printed__as_it_was_meant():
    """For `mixed`, you gave the number of annotations. Which of the encoder's two results does the note keep?"""
    return {"mixed": 50, "annotations": 50, "size": 60}


def what_was_printed__numbers_for_vectors():
    """For `mixed`, you gave the number of entries in a vector. How many such vectors were combined?"""
    return {"mixed": 30, "annotations": 50, "size": 60}


def what_was_printed__one_direction():
    """An annotation concatenates the states of both directions, and a context has the size of an annotation."""
    return {"mixed": 2, "annotations": 50, "size": 30}


def what_was_printed__one_for_each_direction():
    """The states of the two directions are concatenated in one annotation per word: do not count them separately."""
    return {"mixed": 2, "annotations": 100, "size": 60}


def what_was_printed__vocabulary():
    """Neither the size of the vocabulary nor the size of a word vector matters here. How many words does the input have?"""
    return {"mixed": 2, "annotations": 100, "size": 40}
