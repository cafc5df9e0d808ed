"""Answers written from the released notebook alone, before any was graded."""


import numpy as np
import torch


def batch_shapes__wrong_column_and_row_swapped(batch, m, n, T_x, T_y):
    """Exchanges the place of the extra axis between the column and the row."""
    return {
        "column": (batch, 1, T_x),
        "row": (batch, T_x, 1),
        "product": (batch, 1, m),
        "contexts": (batch, T_y, m),
    }


def batch_shapes__wrong_product_squeezed(batch, m, n, T_x, T_y):
    """Removes the axis of length 1 from the product, which was asked for before any axis is removed."""
    return {"column": (batch, T_x, 1), "row": (batch, 1, T_x), "product": (batch, m), "contexts": (batch, T_y, m)}


def batch_shapes__wrong_steps_first(batch, m, n, T_x, T_y):
    """Stacks the contexts along a first axis of steps, although the batch is the first axis everywhere."""
    return {"column": (batch, T_x, 1), "row": (batch, 1, T_x), "product": (batch, 1, m), "contexts": (T_y, batch, m)}


def batch_shapes__wrong_contexts_of_state_size(batch, m, n, T_x, T_y):
    """Gives a context the size of the decoder state instead of the size of an annotation."""
    return {"column": (batch, T_x, 1), "row": (batch, 1, T_x), "product": (batch, 1, n), "contexts": (batch, T_y, n)}


def batch_shapes__right_torch_sizes(batch, m, n, T_x, T_y):
    """Lets torch compute on empty tensors and returns its sizes."""
    weights, keys = torch.zeros(batch, T_x), torch.zeros(batch, T_x, m)
    row = weights.unsqueeze(1)
    contexts = torch.bmm(torch.zeros(batch, T_y, T_x), keys)
    return {
        "column": weights.unsqueeze(-1).size(),
        "row": row.size(),
        "product": (row @ keys).size(),
        "contexts": contexts.size(),
    }


def weights_from_context__wrong_least_norm():
    """Solves the two equations by lstsq without the sum of 1, and gets the solution of smallest norm."""
    h = np.array([[1.0, 2.0], [5.0, 0.0], [3.0, 6.0]])
    return np.linalg.lstsq(h.T, np.array([2.36, 3.14]), rcond=None)[0].tolist()


def weights_from_context__wrong_order():
    """Has the right three weights, but exchanges the second and the third."""
    return [0.478, 0.364, 0.158]


def weights_from_context__wrong_softmax_of_dot_products():
    """Computes new weights as a softmax of the context with each annotation instead of solving for them."""
    h = np.array([[1.0, 2.0], [5.0, 0.0], [3.0, 6.0]])
    e = h @ np.array([2.36, 3.14])
    w = np.exp(e - e.max())
    return (w / w.sum()).tolist()


def weights_from_context__right_linear_system():
    """Solves the three equations, with the sum of 1 as the last one."""
    a = np.array([[1, 5, 3], [2, 0, 6], [1, 1, 1]])
    return np.round(np.linalg.solve(a, [2.36, 3.14, 1]), 4).tolist()


def scores_gradient__wrong_context_by_np_average(context_gradient, weights, keys):
    """Divides by the sum of the weights when making the context, which fails in a sentence of all-zero weights."""
    result = np.zeros(weights.shape)
    for b in range(len(weights)):
        context = np.average(keys[b], axis=0, weights=weights[b])
        result[b] = weights[b] * ((keys[b] - context) @ context_gradient[b])
    return result


def scores_gradient__wrong_weights_renormalised(context_gradient, weights, keys):
    """Divides the weights by their sum once more, so a sentence of all-zero weights becomes nan."""
    weights = weights / weights.sum(axis=1, keepdims=True)
    context = (weights[:, :, None] * keys).sum(axis=1, keepdims=True)
    return weights * ((keys - context) * context_gradient[:, None, :]).sum(axis=-1)


def scores_gradient__wrong_context_of_first_sentence(context_gradient, weights, keys):
    """Subtracts the context of the first sentence in all sentences."""
    context = weights[0] @ keys[0]
    return weights * np.einsum("bk,bjk->bj", context_gradient, keys - context)


def scores_gradient__wrong_squeeze(context_gradient, weights, keys):
    """Squeezes at the end, so a batch of one sentence loses its batch axis."""
    context = weights[:, None, :] @ keys
    return np.squeeze(weights[:, :, None] * ((keys - context) @ context_gradient[:, :, None]))


def scores_gradient__wrong_single_term(context_gradient, weights, keys):
    """Uses a(1 - a) on the diagonal of the softmax derivative and forgets everything beside it."""
    by_weight = np.einsum("bk,bjk->bj", context_gradient, keys)
    return weights * (1 - weights) * by_weight


def scores_gradient__wrong_mean_of_keys(context_gradient, weights, keys):
    """Subtracts the plain mean of the annotations where the weighted context belongs."""
    centred = keys - keys.mean(axis=1, keepdims=True)
    return weights * np.einsum("bk,bjk->bj", context_gradient, centred)


def scores_gradient__wrong_gradient_summed_first(context_gradient, weights, keys):
    """Adds up the entries of each gradient and each difference before multiplying them, instead of a dot product."""
    context = np.einsum("bj,bjk->bk", weights, keys)
    return weights * (keys - context[:, None]).sum(axis=2) * context_gradient.sum(axis=1, keepdims=True)


def scores_gradient__wrong_finite_differences_of_log(context_gradient, weights, keys):
    """Recovers scores as logarithms of the weights, which is nan or -inf in a sentence of all-zero weights."""
    scores = np.log(weights)
    result = np.zeros_like(weights)
    for j in range(weights.shape[1]):
        value = []
        for step in (1e-6, -1e-6):
            moved = scores.copy()
            moved[:, j] += step
            w = np.exp(moved - moved.max(axis=1, keepdims=True))
            w = w / w.sum(axis=1, keepdims=True)
            value.append(np.einsum("bk,bj,bjk->b", context_gradient, w, keys))
        result[:, j] = (value[0] - value[1]) / 2e-6
    return result


def scores_gradient__right_two_stages(context_gradient, weights, keys):
    """Goes back to the weights first, then through the softmax."""
    by_weight = np.einsum("bk,bjk->bj", context_gradient, keys)
    return weights * (by_weight - np.sum(weights * by_weight, axis=1, keepdims=True))


def scores_gradient__right_full_jacobian(context_gradient, weights, keys):
    """Builds the whole matrix diag(a) - a a^T of each sentence and multiplies from the left."""
    rows = []
    for g, a, h in zip(context_gradient, weights, keys, strict=True):
        rows.append((np.diag(a) - np.outer(a, a)) @ (h @ g))
    return np.array(rows)


def scores_gradient__right_position_loop(context_gradient, weights, keys):
    """Loops over sentences and positions as the formula stands."""
    out = []
    for b in range(len(weights)):
        c = sum(weights[b, j] * keys[b, j] for j in range(weights.shape[1]))
        out.append([weights[b, j] * float(np.dot(context_gradient[b], keys[b, j] - c)) for j in range(len(weights[b]))])
    return np.asarray(out)


def attend__wrong_minus_infinity(scores, keys, source_mask):
    """Masks with minus infinity and lets a sentence without a real token become nan."""
    weights = torch.softmax(scores.masked_fill(~source_mask, float("-inf")), dim=-1)
    return (weights.unsqueeze(1) @ keys).squeeze(1)


def attend__wrong_empty_sentence_averaged(scores, keys, source_mask):
    """Masks with -1e9 alone, so a sentence without a real token gets the average of its pads, not zeros."""
    weights = torch.softmax(scores.masked_fill(~source_mask, -1e9), dim=1)
    return torch.einsum("bj,bjk->bk", weights, keys)


def attend__wrong_added_infinity_nan_to_num(scores, keys, source_mask):
    """Adds minus infinity at the pads and wipes the nan away afterwards, but the gradient of the scores stays nan."""
    weights = torch.softmax(scores + torch.log(source_mask.to(scores.dtype)), dim=-1).nan_to_num(0.0)
    return torch.bmm(weights.unsqueeze(1), keys).squeeze(1)


def attend__wrong_exponentials_overflow(scores, keys, source_mask):
    """Takes exponentials of the scores as they are, which overflow when scores are in the thousands."""
    e = torch.exp(scores) * source_mask
    weights = e / e.sum(dim=1, keepdim=True).clamp_min(1e-12)
    return (weights.unsqueeze(-1) * keys).sum(dim=1)


def attend__wrong_maximum_over_pads_too(scores, keys, source_mask):
    """Subtracts the maximum over pads and words: with a large score at a pad all real exponentials become 0."""
    e = torch.exp(scores - scores.max(dim=1, keepdim=True).values) * source_mask
    weights = e / e.sum(dim=1, keepdim=True).clamp_min(1e-12)
    return (weights.unsqueeze(-1) * keys).sum(dim=1)


def attend__wrong_removed_after_the_softmax(scores, keys, source_mask):
    """Sets the weights of the pads to 0 after the softmax and does not normalise again."""
    weights = torch.softmax(scores, dim=-1) * source_mask
    return torch.einsum("bj,bjk->bk", weights, keys)


def attend__wrong_mild_filler(scores, keys, source_mask):
    """Masks with -1000, which is more than real scores of some thousands below zero."""
    weights = torch.softmax(torch.where(source_mask, scores, torch.full_like(scores, -1000.0)), dim=-1)
    weights = weights * source_mask
    return (weights.unsqueeze(1) @ keys).squeeze(1)


def attend__wrong_squeeze_all(scores, keys, source_mask):
    """Squeezes without naming an axis, which drops the batch axis of one sentence too."""
    weights = torch.softmax(scores.masked_fill(~source_mask, -1e30), dim=-1).masked_fill(~source_mask, 0.0)
    return (weights.unsqueeze(1) @ keys).squeeze()


def attend__wrong_softmax_down_the_batch(scores, keys, source_mask):
    """Normalises over the sentences of the batch and not over the positions."""
    weights = torch.softmax(scores.masked_fill(~source_mask, -1e30), dim=0).masked_fill(~source_mask, 0.0)
    return (weights.unsqueeze(-1) * keys).sum(dim=1)


def attend__wrong_keys_masked_instead(scores, keys, source_mask):
    """Sets the annotations of the pads to 0 but leaves the pads in the softmax."""
    weights = torch.softmax(scores, dim=-1)
    return torch.einsum("bj,bjk->bk", weights, keys * source_mask.unsqueeze(-1))


def attend__right_finite_filler(scores, keys, source_mask):
    """Fills with the lowest finite number and sets the pads to 0 again after the softmax."""
    lowest = torch.finfo(scores.dtype).min
    weights = torch.softmax(torch.where(source_mask, scores, lowest), dim=1)
    weights = torch.where(source_mask, weights, 0.0)
    return torch.bmm(weights[:, None], keys)[:, 0]


def attend__right_infinity_then_zero(scores, keys, source_mask):
    """Masks with minus infinity and replaces the nan of empty sentences; masked_fill stops its gradient."""
    weights = torch.nan_to_num(torch.softmax(scores.masked_fill(~source_mask, -torch.inf), dim=-1), nan=0.0)
    return torch.einsum("bj,bjk->bk", weights, keys)


def attend__right_sentence_loop(scores, keys, source_mask):
    """Picks the real tokens of each sentence and mixes them alone."""
    contexts = []
    for e, h, real in zip(scores, keys, source_mask, strict=True):
        contexts.append(torch.softmax(e[real], dim=0) @ h[real])
    return torch.stack(contexts)


def attend__right_own_exponentials(scores, keys, source_mask):
    """Writes the softmax out, with the maximum over the real tokens and a sum that is never 0."""
    filled = scores.masked_fill(~source_mask, torch.finfo(scores.dtype).min)
    e = torch.exp(filled - filled.amax(dim=1, keepdim=True).detach()).masked_fill(~source_mask, 0.0)
    total = e.sum(dim=1, keepdim=True)
    weights = e / torch.where(total > 0, total, torch.ones_like(total))
    return (weights.unsqueeze(-1) * keys).sum(dim=1)
