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


def context_twin__wrong_fourth_left_out():
    """Leaves the fourth annotation out because its weight was not given."""
    return [0.15 * 2 - 0.42 * 0.5 + 0.05 * 4, -0.15 + 0.42 * 3, 0.15 * 0.5 + 0.42 - 0.05 * 2]


def context_twin__wrong_three_weights_rescaled():
    """Rescales the three known weights to add to 1 and so gives the fourth annotation no weight."""
    w = np.array([0.15, 0.42, 0.05])
    h = np.array([[2, -1, 0.5], [-0.5, 3, 1], [4, 0, -2]])
    return np.round(w / w.sum() @ h, 4).tolist()


def context_twin__wrong_weight_is_the_known_sum():
    """Gives the fourth annotation the sum of the known weights, 0.62, and not what is missing to 1."""
    h = np.array([[2, -1, 0.5], [-0.5, 3, 1], [4, 0, -2], [1, -2, 0.25]])
    return (np.array([0.15, 0.42, 0.05, 0.62]) @ h).tolist()


def context_twin__right_numpy_average():
    """Fills in the missing weight and uses numpy's weighted average."""
    w = [0.15, 0.42, 0.05]
    w.append(1 - sum(w))
    return list(np.average([[2, -1, 0.5], [-0.5, 3, 1], [4, 0, -2], [1, -2, 0.25]], axis=0, weights=w))


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


def gradient_by_hand__wrong_only_weight_times_annotation():
    """Treats the third weight as if it were the score: the other weights and the softmax play no part."""
    return [0.3 * -0.5, 0.3 * 0.9]


def gradient_by_hand__wrong_own_derivative_only():
    """Uses a(1 - a) times the annotation and forgets that the other two weights shrink."""
    return [0.3 * 0.7 * -0.5, 0.3 * 0.7 * 0.9]


def gradient_by_hand__wrong_second_score():
    """Derives by the second score because of counting from 0 in the wrong place."""
    w = np.array([0.55, 0.15, 0.3])
    h = np.array([[0.4, -0.2], [1, 0.6], [-0.5, 0.9]])
    return (w[1] * (h[1] - w @ h)).tolist()


def gradient_by_hand__wrong_sign():
    """Subtracts the annotation from the context, so both signs are turned round."""
    return [0.216, -0.195]


def gradient_by_hand__wrong_whole_jacobian():
    """Returns the derivatives by all three scores, not by the third alone."""
    w = np.array([0.55, 0.15, 0.3])
    h = np.array([[0.4, -0.2], [1, 0.6], [-0.5, 0.9]])
    return (h.T @ (np.diag(w) - np.outer(w, w))).tolist()


def gradient_by_hand__right_autograd_jacobian():
    """Takes the logarithms of the weights as scores and lets torch compute the jacobian."""
    h = torch.tensor([[0.4, -0.2], [1.0, 0.6], [-0.5, 0.9]])
    e = torch.log(torch.tensor([0.55, 0.15, 0.3]))
    jacobian = torch.autograd.functional.jacobian(lambda e: torch.softmax(e, 0) @ h, e)
    return [float(value) for value in jacobian[:, 2]]


def gradient_by_hand__right_literal_four_decimals():
    """Writes the numbers worked out on paper, rounded to four decimals."""
    return [-0.2160, 0.1950]


def context_vector__wrong_squeeze(weights, keys):
    """Squeezes every axis of length 1, so a batch of one sentence loses its batch axis."""
    return np.squeeze(weights[:, None, :] @ keys)


def context_vector__wrong_first_sentence_only(weights, keys):
    """Lets the product broadcast and takes its first entry: the keys of the first sentence serve all sentences."""
    return (weights @ keys)[0]


def context_vector__wrong_unbatched_product(weights, keys):
    """Multiplies weights and keys without the extra axis, so every sentence gets the weights of every other."""
    return weights @ keys


def context_vector__wrong_whole_number_buffer(weights, keys):
    """Collects the sums in an array of whole numbers, which cuts off all decimals."""
    result = np.zeros((keys.shape[0], keys.shape[2]), dtype=int)
    for b in range(keys.shape[0]):
        result[b] = np.sum(weights[b][:, None] * keys[b], axis=0)
    return result


def context_vector__wrong_reshape_for_transpose(weights, keys):
    """Reshapes the keys to bring the positions last where a transpose is needed."""
    batch, source_len, key_size = keys.shape
    swapped = keys.reshape(batch, key_size, source_len)
    return (swapped * weights[:, None, :]).sum(axis=-1)


def context_vector__wrong_last_position_skipped(weights, keys):
    """Stops the loop one position too early."""
    context = np.zeros((keys.shape[0], keys.shape[2]))
    for j in range(keys.shape[1] - 1):
        context = context + weights[:, j : j + 1] * keys[:, j]
    return context


def context_vector__wrong_rounded(weights, keys):
    """Rounds the context to two decimals, although nobody asked for that."""
    return np.round(np.einsum("bj,bjk->bk", weights, keys), 2)


def context_vector__wrong_answer_of_the_check(weights, keys):
    """Returns the numbers of the shown example, whatever is given."""
    return np.array([[1.0, 3.0], [2.0, -1.0]])


def context_vector__right_zip_list(weights, keys):
    """Goes through the sentences with zip and returns a list of one array for each."""
    return [w @ h for w, h in zip(weights, keys, strict=True)]


def context_vector__right_broadcast_sum(weights, keys):
    """Multiplies with an extra axis on the weights and adds over the positions."""
    return np.add.reduce(np.expand_dims(weights, -1) * keys, axis=1)


def context_vector__right_plain_loops(weights, keys):
    """Uses three plain loops over sentences, positions and entries."""
    batch, source_len, key_size = np.shape(keys)
    context = np.zeros((batch, key_size))
    for b in range(batch):
        for j in range(source_len):
            for k in range(key_size):
                context[b, k] += weights[b, j] * keys[b, j, k]
    return context


def context_vector__right_batched_transpose(weights, keys):
    """Turns the keys round and multiplies by a column of weights."""
    return np.matmul(np.swapaxes(keys, 1, 2), weights[:, :, np.newaxis])[:, :, 0]


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
