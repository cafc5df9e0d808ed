"""Answers written from the released notebook alone, before any was graded."""

import math

import numpy as np
import torch

# Four weights


def weights_by_hand_twin__wrong_sign_lost():
    """The student copied the second score without its minus."""
    w = np.exp([0.5, 0.3, 1.2, 0.1])
    return list(np.round(w / w.sum(), 4))


def weights_by_hand_twin__wrong_scaled():
    """The student divided the scores by the root of their number, as in scaled dot product attention."""
    w = np.exp(np.array([0.5, -0.3, 1.2, 0.1]) / np.sqrt(4))
    return list(w / w.sum())


def weights_by_hand_twin__wrong_sorted():
    """The student sorted the weights from large to small."""
    w = np.exp([0.5, -0.3, 1.2, 0.1])
    return sorted((w / w.sum()).round(4).tolist(), reverse=True)


def weights_by_hand_twin__wrong_divided_by_largest():
    """The student divided the exponentials by the largest of them, so the weights do not add to 1."""
    w = np.exp([0.5, -0.3, 1.2, 0.1])
    return list(w / w.max())


def weights_by_hand_twin__right_torch():
    """Style: torch's softmax in double precision, turned into a list."""
    return torch.softmax(torch.tensor([0.5, -0.3, 1.2, 0.1], dtype=torch.float64), dim=0).tolist()


def weights_by_hand_twin__right_float32():
    """Style: a float32 array, rounded to four decimals."""
    e = np.array([0.5, -0.3, 1.2, 0.1], dtype=np.float32)
    w = np.exp(e - e.max())
    return np.round(w / w.sum(), 4)


# From weights back to scores


def score_differences__wrong_sign():
    """The student took the other score minus the first one."""
    a = [0.48, 0.3, 0.16, 0.06]
    return [round(math.log(x / a[0]), 4) for x in a[1:]]


def score_differences__wrong_difference_of_weights():
    """The student subtracted the weights and took no logarithm."""
    return [0.18, 0.32, 0.42]


def score_differences__wrong_common_logarithm():
    """The student pressed the key of the logarithm with base 10."""
    return [round(math.log10(0.48 / x), 4) for x in (0.3, 0.16, 0.06)]


def score_differences__wrong_ratio():
    """The student returned the ratios of the weights, which are the exponentials of the differences."""
    return [0.48 / 0.3, 0.48 / 0.16, 0.48 / 0.06]


def score_differences__wrong_neighbours():
    """The student took the differences of neighbouring scores, e_2 - e_3 and e_3 - e_4 after the first."""
    return [round(math.log(0.48 / 0.3), 4), round(math.log(0.3 / 0.16), 4), round(math.log(0.16 / 0.06), 4)]


def score_differences__right_logarithm_of_ratio():
    """Style: logarithm of the ratio of two weights, rounded."""
    return [round(math.log(0.48 / x), 4) for x in (0.3, 0.16, 0.06)]


def score_differences__right_difference_of_logarithms():
    """Style: one set of scores, the logarithms of the weights, and their differences as numpy numbers."""
    e = np.log(np.array([0.48, 0.3, 0.16, 0.06]))
    return list(e[0] - e[1:])


# One row of derivatives


def jacobian_row__wrong_sign():
    """The student exchanged the two terms, so that a higher score would lower its own weight."""
    a = np.array([0.1, 0.5, 0.15, 0.25])
    return list(a[2] * (a - np.eye(4)[2]))


def jacobian_row__wrong_others_zero():
    """The student differentiated by the own score only and set the other three derivatives to 0."""
    return [0.0, 0.0, 0.1275, 0.0]


def jacobian_row__wrong_own_of_each():
    """The student computed the derivative of each weight by its own score."""
    return [0.09, 0.25, 0.1275, 0.1875]


def jacobian_row__wrong_minus_missing():
    """The student left out the minus of the three derivatives by the other scores."""
    return [0.015, 0.075, 0.1275, 0.0375]


def jacobian_row__wrong_fourth_weight():
    """The student counted the weights from 0 and took the row of the fourth weight."""
    a = np.array([0.1, 0.5, 0.15, 0.25])
    return list(np.round(a[3] * (np.eye(4)[3] - a), 4))


def jacobian_row__wrong_own_is_square():
    """The student put minus the square of the third weight in its own place and forgot the weight itself there."""
    return [-0.015, -0.075, -0.0225, -0.0375]


def jacobian_row__right_matrix():
    """Style: the whole matrix of derivatives, and its third row as an array."""
    a = np.array([0.1, 0.5, 0.15, 0.25])
    return (np.diag(a) - np.outer(a, a))[2]


def jacobian_row__right_backward():
    """Style: torch differentiates the third weight of scores that have these weights."""
    scores = torch.tensor([0.1, 0.5, 0.15, 0.25], dtype=torch.float64).log().requires_grad_(True)
    torch.softmax(scores, dim=0)[2].backward()
    return [round(x, 4) for x in scores.grad.tolist()]


# Three words and two pads


def masked_weights__wrong_pads_scored_zero():
    """The student set the scores of the pads to 0 and took the softmax of all five."""
    w = np.exp([0.8, -0.5, 1.3, 0.0, 0.0])
    return list(np.round(w / w.sum(), 4))


def masked_weights__wrong_not_normalised_again():
    """The student took the softmax of all five scores and set the pads to 0 afterwards, so the sum is below 1."""
    w = np.exp([0.8, -0.5, 1.3, 0.2, 0.2])
    return list(np.round(w / w.sum(), 4) * [1, 1, 1, 0, 0])


def masked_weights__wrong_mask_forgotten():
    """The student took the softmax of all five scores and forgot the mask."""
    w = np.exp([0.8, -0.5, 1.3, 0.2, 0.2])
    return list(np.round(w / w.sum(), 4))


def masked_weights__wrong_pads_left_out():
    """The student returned the weights of the three words only, not one for each of the five positions."""
    w = np.exp([0.8, -0.5, 1.3])
    return list(np.round(w / w.sum(), 4))


def masked_weights__wrong_pads_kept():
    """The student took true in the mask for a pad and gave all weight to the two pads."""
    return [0, 0, 0, 0.5, 0.5]


def masked_weights__right_minus_infinity():
    """Style: scores of minus infinity at the pads."""
    w = np.exp([0.8, -0.5, 1.3, -np.inf, -np.inf])
    return w / w.sum()


def masked_weights__right_three_and_zeros():
    """Style: the softmax of the three words in plain Python, with two whole zeros behind it."""
    words = [math.exp(x) for x in (0.8, -0.5, 1.3)]
    return [round(x / sum(words), 4) for x in words] + [0, 0]


# Shapes of derivatives


def jacobian_shapes__wrong_context_transposed(batch, m, T_x):
    """The student put the scores, by which is differentiated, before the numbers of the context."""
    return {"weights": (T_x, T_x), "weights_of_batch": (batch, T_x, T_x), "context": (T_x, m)}


def jacobian_shapes__wrong_across_sentences(batch, m, T_x):
    """The student differentiated each sentence's weights by the scores of all sentences, not by its own only."""
    return {"weights": (T_x, T_x), "weights_of_batch": (batch, T_x, batch, T_x), "context": (m, T_x)}


def jacobian_shapes__wrong_one_for_each_weight(batch, m, T_x):
    """The student took one derivative a weight, as if each weight answered to its own score only."""
    return {"weights": (T_x,), "weights_of_batch": (batch, T_x), "context": (m, T_x)}


def jacobian_shapes__wrong_context_summed(batch, m, T_x):
    """The student gave the context's derivatives the shape of the context, because it is a sum over positions."""
    return {"weights": (T_x, T_x), "weights_of_batch": (batch, T_x, T_x), "context": (m,)}


def jacobian_shapes__wrong_batch_last(batch, m, T_x):
    """The student put the sentences on the last axis."""
    return {"weights": (T_x, T_x), "weights_of_batch": (T_x, T_x, batch), "context": (m, T_x)}


def jacobian_shapes__right_built_up(batch, m, T_x):
    """Style: tuples are joined, what is differentiated before what it is differentiated by."""
    scores = (T_x,)
    weights, context = (T_x,), (m,)
    return {
        "weights": weights + scores,
        "weights_of_batch": (batch,) + weights + scores,
        "context": context + scores,
    }


def jacobian_shapes__right_autograd(batch, m, T_x):
    """Style: torch computes the derivatives of examples, and their sizes are returned."""
    scores, annotations = torch.zeros(T_x), torch.ones(T_x, m)
    one = torch.autograd.functional.jacobian(lambda e: torch.softmax(e, dim=0), scores)
    context = torch.autograd.functional.jacobian(lambda e: torch.softmax(e, dim=0) @ annotations, scores)
    return {"weights": one.shape, "weights_of_batch": torch.stack([one] * batch).shape, "context": context.shape}


# Softmax


def softmax__wrong_overflow(scores):
    """The student took the exponentials of the scores as they are, which overflow from about 710."""
    exponentials = np.exp(scores)
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def softmax__wrong_highest_of_all(scores):
    """The student subtracted the highest score of the whole array, so rows far below it become 0 divided by 0."""
    exponentials = np.exp(scores - np.max(scores))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def softmax__wrong_first_axis(scores):
    """The student normalised along the first axis, not the last."""
    exponentials = np.exp(scores - scores.max(axis=0))
    return exponentials / exponentials.sum(axis=0)


def softmax__wrong_second_axis(scores):
    """The student wrote axis 1 for the last axis, which fails with one axis and is another one with three."""
    exponentials = np.exp(scores - scores.max(axis=1, keepdims=True))
    return exponentials / exponentials.sum(axis=1, keepdims=True)


def softmax__wrong_axis_not_kept(scores):
    """The student did not keep the axis of the sums, so they line up with the positions or do not fit at all."""
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1)


def softmax__wrong_sum_of_all(scores):
    """The student divided by the sum over the whole array, so all rows together add to 1."""
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum()


def softmax__wrong_highest_size(scores):
    """The student subtracted the largest absolute value, so rows of very negative scores become 0 divided by 0."""
    exponentials = np.exp(scores - np.abs(scores).max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def softmax__wrong_shift_starts_at_zero(scores):
    """The student let the search for the highest score begin at 0, so a row far below zero is not shifted."""
    highest = np.max(scores, axis=-1, keepdims=True, initial=0)
    exponentials = np.exp(scores - highest)
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def softmax__wrong_mean_subtracted(scores):
    """The student subtracted the mean of the row, so a score far above its row still overflows."""
    exponentials = np.exp(scores - scores.mean(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def softmax__wrong_lowest_subtracted(scores):
    """The student subtracted the lowest score of the row, so the highest may overflow."""
    exponentials = np.exp(scores - scores.min(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def softmax__wrong_divided_by_highest(scores):
    """The student divided the scores by the highest one against overflow, which changes their differences."""
    exponentials = np.exp(scores / scores.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def softmax__wrong_nan_replaced(scores):
    """The student let the exponentials overflow and replaced what is not a number by 0."""
    with np.errstate(all="ignore"):
        weights = np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True)
    return np.nan_to_num(weights)


def softmax__wrong_logarithm_of_overflow(scores):
    """The student subtracted the logarithm of the sum, but computed that sum from exponentials that overflow."""
    with np.errstate(all="ignore"):
        return np.exp(scores - np.log(np.exp(scores).sum(axis=-1, keepdims=True)))


def softmax__wrong_loop_over_first_axis(scores):
    """The student went through the first axis, so one axis gives all ones and three axes are normalised in pairs."""
    rows = []
    for row in scores:
        exponentials = np.exp(row - row.max())
        rows.append(exponentials / exponentials.sum())
    return np.array(rows)


def softmax__wrong_torch_chooses_axis(scores):
    """The student let torch's function choose the axis, and with three axes it chooses the first."""
    return torch.nn.functional.softmax(torch.from_numpy(scores)).numpy()


def softmax__wrong_squeezed(scores):
    """The student dropped all axes of length 1 in the end, so the shape is not that of the scores."""
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.squeeze(exponentials / exponentials.sum(axis=-1, keepdims=True))


def softmax__wrong_no_exponential(scores):
    """The student divided the scores by their sum and took no exponential."""
    return scores / scores.sum(axis=-1, keepdims=True)


def softmax__wrong_shift_in_numerator_only(scores):
    """The student subtracted the highest score above the fraction bar, but not below."""
    with np.errstate(all="ignore"):
        return np.exp(scores - scores.max(-1, keepdims=True)) / np.exp(scores).sum(-1, keepdims=True)


def softmax__wrong_clipped(scores):
    """The student cut all scores at 700 against overflow, so higher scores become equal."""
    exponentials = np.exp(np.clip(scores, -700, 700))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def softmax__wrong_printed(scores):
    """The student printed the weights and returned nothing."""
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    print(exponentials / exponentials.sum(axis=-1, keepdims=True))


def softmax__right_row_maximum(scores):
    """Style: the highest score of each row is subtracted, axes kept."""
    e = np.exp(scores - np.amax(scores, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


def softmax__right_logaddexp(scores):
    """Style: the logarithm of the sum is taken with numpy's logaddexp, with one exponential at the end."""
    return np.exp(scores - np.logaddexp.reduce(scores, axis=-1, keepdims=True))


def softmax__right_along_axis(scores):
    """Style: a helper for one row, applied along the last axis."""

    def one_row(row):
        shifted = np.exp(row - row.max())
        return shifted / shifted.sum()

    return np.apply_along_axis(one_row, -1, scores)


def softmax__right_pairwise(scores):
    """Style: one divided by the sum of the exponentials of all differences, where an infinite sum gives weight 0."""
    scores = np.asarray(scores, dtype=float)
    with np.errstate(over="ignore"):
        return 1 / np.exp(scores[..., None, :] - scores[..., :, None]).sum(axis=-1)


def softmax__right_recursive_lists(scores):
    """Style: plain Python on nested lists, calling itself until one axis is left, with math.exp."""

    def walk(part):
        if isinstance(part[0], list):
            return [walk(item) for item in part]
        top = max(part)
        powers = [math.exp(x - top) for x in part]
        total = math.fsum(powers)
        return [x / total for x in powers]

    return np.array(walk(np.asarray(scores).tolist()))


def softmax__right_torch(scores):
    """Style: torch's softmax along the last axis, and back to numpy."""
    return torch.softmax(torch.as_tensor(scores, dtype=torch.float64), dim=-1).numpy()


def softmax__right_flattened_rows(scores):
    """Style: all axes but the last are flattened, each row is done in a loop, and the shape is restored."""
    rows = np.array(scores, dtype=float).reshape(-1, np.shape(scores)[-1])
    for i in range(len(rows)):
        rows[i] -= rows[i].max()
        np.exp(rows[i], out=rows[i])
        rows[i] /= rows[i].sum()
    return rows.reshape(np.shape(scores))


# Masked softmax


def masked_softmax__wrong_mask_unused(scores, source_mask=None):
    """The student forgot the mask altogether."""
    exponentials = np.exp(scores - scores.max(axis=1, keepdims=True))
    return exponentials / exponentials.sum(axis=1, keepdims=True)


def masked_softmax__wrong_pads_scored_zero(scores, source_mask=None):
    """The student multiplied the scores by the mask, so a pad has the score 0 and takes part."""
    if source_mask is not None:
        scores = scores * source_mask
    exponentials = np.exp(scores - scores.max(axis=1, keepdims=True))
    return exponentials / exponentials.sum(axis=1, keepdims=True)


def masked_softmax__wrong_not_normalised_again(scores, source_mask=None):
    """The student set the weights of the pads to 0 after the softmax and did not normalise again."""
    exponentials = np.exp(scores - scores.max(axis=1, keepdims=True))
    weights = exponentials / exponentials.sum(axis=1, keepdims=True)
    return weights if source_mask is None else weights * source_mask


def masked_softmax__wrong_mask_inverted(scores, source_mask=None):
    """The student took true in the mask for a pad."""
    if source_mask is None:
        source_mask = np.zeros(scores.shape, dtype=bool)
    low = np.where(source_mask, -np.inf, scores)
    top = low.max(axis=1, keepdims=True)
    exponentials = np.exp(low - np.where(np.isfinite(top), top, 0))
    total = exponentials.sum(axis=1, keepdims=True)
    return exponentials / np.where(total == 0, 1, total)


def masked_softmax__wrong_empty_row_nan(scores, source_mask=None):
    """The student put minus infinity at the pads, which gives no numbers in a row without a word."""
    if source_mask is None:
        source_mask = np.ones(scores.shape, dtype=bool)
    with np.errstate(all="ignore"):
        low = np.where(source_mask, scores, -np.inf)
        exponentials = np.exp(low - low.max(axis=1, keepdims=True))
        return exponentials / exponentials.sum(axis=1, keepdims=True)


def masked_softmax__wrong_empty_row_even(scores, source_mask=None):
    """The student put a very low number at the pads, so a row without a word gets even weights."""
    if source_mask is None:
        source_mask = np.ones(scores.shape, dtype=bool)
    low = np.where(source_mask, scores, -1e9)
    exponentials = np.exp(low - low.max(axis=1, keepdims=True))
    return exponentials / exponentials.sum(axis=1, keepdims=True)


def masked_softmax__wrong_low_number_not_low(scores, source_mask=None):
    """The student put -1000 at the pads, so words with scores further below zero lose all their weight."""
    if source_mask is None:
        source_mask = np.ones(scores.shape, dtype=bool)
    low = np.where(source_mask, scores, -1000.0)
    exponentials = np.exp(low - low.max(axis=1, keepdims=True))
    return exponentials / exponentials.sum(axis=1, keepdims=True) * source_mask


def masked_softmax__wrong_penalty_too_small(scores, source_mask=None):
    """The student took 1000 off the pads' scores, so a pad that stands thousands above the words keeps its weight."""
    if source_mask is None:
        source_mask = np.ones(scores.shape, dtype=bool)
    low = scores - 1000.0 * (1 - source_mask)
    exponentials = np.exp(low - low.max(axis=1, keepdims=True))
    weights = exponentials / exponentials.sum(axis=1, keepdims=True)
    return np.where(source_mask.any(axis=1, keepdims=True), weights, 0.0)


def masked_softmax__wrong_shift_by_pad(scores, source_mask=None):
    """The student subtracted the highest score of the row with its pads, so words far below a pad vanish."""
    if source_mask is None:
        source_mask = np.ones(scores.shape, dtype=bool)
    exponentials = np.exp(scores - scores.max(axis=1, keepdims=True)) * source_mask
    total = exponentials.sum(axis=1, keepdims=True)
    return exponentials / np.where(total == 0, 1, total)


def masked_softmax__wrong_shift_by_masked_product(scores, source_mask=None):
    """The student sought the highest score in scores times mask, which is 0 at pads and too high for negative rows."""
    if source_mask is None:
        source_mask = np.ones(scores.shape, dtype=bool)
    highest = (scores * source_mask).max(axis=1, keepdims=True)
    exponentials = np.where(source_mask, np.exp(np.where(source_mask, scores, 0) - highest), 0)
    total = exponentials.sum(axis=1, keepdims=True)
    return np.divide(exponentials, total, out=np.zeros_like(exponentials), where=total > 0)


def masked_softmax__wrong_shift_of_batch(scores, source_mask=None):
    """The student subtracted the highest real score of the whole batch, so rows far below it come out as 0."""
    if source_mask is None:
        source_mask = np.ones(scores.shape, dtype=bool)
    low = np.where(source_mask, scores, -np.inf)
    exponentials = np.exp(low - scores[source_mask].max())
    total = exponentials.sum(axis=1, keepdims=True)
    return np.divide(exponentials, total, out=np.zeros_like(exponentials), where=total > 0)


def masked_softmax__wrong_normalised_after_loss(scores, source_mask=None):
    """The student normalised the full softmax again over the words, but beside a high pad nothing of them is left."""
    exponentials = np.exp(scores - scores.max(axis=1, keepdims=True))
    weights = exponentials / exponentials.sum(axis=1, keepdims=True)
    if source_mask is None:
        return weights
    weights = weights * source_mask
    return weights / (weights.sum(axis=1, keepdims=True) + 1e-9)


def masked_softmax__wrong_pads_at_end(scores, source_mask=None):
    """The student counted the words of each row and took the first positions, as if all pads stood at the end."""
    weights = np.zeros(scores.shape)
    for b in range(len(scores)):
        n = scores.shape[1] if source_mask is None else int(source_mask[b].sum())
        if n > 0:
            exponentials = np.exp(scores[b, :n] - scores[b, :n].max())
            weights[b, :n] = exponentials / exponentials.sum()
    return weights


def masked_softmax__wrong_first_row_mask(scores, source_mask=None):
    """The student used the mask of the first sentence for all, apart from the rows without a word."""
    if source_mask is None:
        source_mask = np.ones(scores.shape, dtype=bool)
    keep = source_mask[0]
    weights = np.zeros(scores.shape)
    exponentials = np.exp(scores[:, keep] - scores[:, keep].max(axis=1, keepdims=True))
    weights[:, keep] = exponentials / exponentials.sum(axis=1, keepdims=True)
    return weights * source_mask.any(axis=1, keepdims=True)


def masked_softmax__wrong_no_mask_forgotten(scores, source_mask=None):
    """The student forgot that the mask may be missing: then none counts as false, and every weight is 0."""
    low = np.where(source_mask, scores, -np.inf)
    top = low.max(axis=1, keepdims=True)
    exponentials = np.exp(low - np.where(np.isfinite(top), top, 0))
    total = exponentials.sum(axis=1, keepdims=True)
    return exponentials / np.where(total == 0, 1, total)


def masked_softmax__wrong_truth_of_array(scores, source_mask=None):
    """The student replaced a missing mask by way of `or`, which raises for a mask of more than one entry."""
    source_mask = source_mask or np.ones(scores.shape, dtype=bool)
    low = np.where(source_mask, scores, -np.inf)
    top = low.max(axis=1, keepdims=True)
    exponentials = np.exp(low - np.where(np.isfinite(top), top, 0))
    total = exponentials.sum(axis=1, keepdims=True)
    return exponentials / np.where(total == 0, 1, total)


def masked_softmax__wrong_empty_batch_only(scores, source_mask=None):
    """The student asked whether the whole batch is empty, so a single row without a word still gives no numbers."""
    if source_mask is None:
        source_mask = np.ones(scores.shape, dtype=bool)
    if not source_mask.any():
        return np.zeros(scores.shape)
    with np.errstate(all="ignore"):
        low = np.where(source_mask, scores, -np.inf)
        exponentials = np.exp(low - low.max(axis=1, keepdims=True))
        return exponentials / exponentials.sum(axis=1, keepdims=True)


def masked_softmax__wrong_overflow(scores, source_mask=None):
    """The student masked the exponentials rightly but did not shift the scores, so scores of thousands overflow."""
    with np.errstate(all="ignore"):
        exponentials = np.exp(scores)
        if source_mask is not None:
            exponentials = np.where(source_mask, exponentials, 0.0)
        total = exponentials.sum(axis=1, keepdims=True)
        return np.where(total > 0, exponentials / np.where(total > 0, total, 1), 0.0)


def masked_softmax__wrong_ragged(scores, source_mask=None):
    """The student returned a list of rows that hold the real words only, of different lengths."""
    if source_mask is None:
        source_mask = np.ones(scores.shape, dtype=bool)
    rows = []
    for row, real in zip(scores, source_mask):
        kept = row[real]
        exponentials = np.exp(kept - kept.max()) if kept.size else kept
        rows.append((exponentials / exponentials.sum()).tolist() if kept.size else [])
    return rows


def masked_softmax__wrong_columns(scores, source_mask=None):
    """The student normalised down the columns, over the sentences."""
    if source_mask is None:
        source_mask = np.ones(scores.shape, dtype=bool)
    low = np.where(source_mask, scores, -np.inf)
    top = low.max(axis=0)
    exponentials = np.exp(low - np.where(np.isfinite(top), top, 0))
    total = exponentials.sum(axis=0)
    return exponentials / np.where(total == 0, 1, total)


def masked_softmax__wrong_squeezed(scores, source_mask=None):
    """The student squeezed the result, so a batch of one sentence loses an axis."""
    if source_mask is None:
        source_mask = np.ones(scores.shape, dtype=bool)
    low = np.where(source_mask, scores, -np.inf)
    top = low.max(axis=1, keepdims=True)
    exponentials = np.exp(low - np.where(np.isfinite(top), top, 0))
    total = exponentials.sum(axis=1, keepdims=True)
    return (exponentials / np.where(total == 0, 1, total)).squeeze()


def masked_softmax__right_minus_infinity(scores, source_mask=None):
    """Style: minus infinity at the pads, with guards for rows without a word."""
    real = np.ones(scores.shape, dtype=bool) if source_mask is None else source_mask
    low = np.where(real, scores, -np.inf)
    top = low.max(axis=1, keepdims=True)
    top[np.isneginf(top)] = 0
    e = np.exp(low - top)
    total = e.sum(axis=1, keepdims=True)
    total[total == 0] = 1
    return e / total


def masked_softmax__right_row_loop(scores, source_mask=None):
    """Style: a loop over the rows that picks the words out with the mask and puts their weights back."""
    weights = np.zeros(np.shape(scores))
    for b, row in enumerate(scores):
        words = slice(None) if source_mask is None else np.flatnonzero(source_mask[b])
        kept = row[words]
        if len(kept) == 0:
            continue
        powers = np.exp(kept - kept.max())
        weights[b, words] = powers / powers.sum()
    return weights


def masked_softmax__right_low_number_and_product(scores, source_mask=None):
    """Style: a number far below all scores at the pads, and the mask once more on the weights for empty rows."""
    if source_mask is None:
        source_mask = np.ones_like(scores, dtype=bool)
    low = np.where(source_mask, scores, -1e30)
    powers = np.exp(low - low.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True) * source_mask


def masked_softmax__right_torch(scores, source_mask=None):
    """Style: torch's masked_fill and softmax, empty rows mended at the end, and back to numpy."""
    e = torch.as_tensor(scores, dtype=torch.float64)
    if source_mask is None:
        return torch.softmax(e, dim=1).numpy()
    pads = ~torch.as_tensor(source_mask).bool()
    weights = torch.softmax(e.masked_fill(pads, -math.inf), dim=1)
    return weights.masked_fill(pads, 0.0).numpy()


def masked_softmax__right_masked_array(scores, source_mask=None):
    """Style: numpy's masked arrays, filled with 0 at the end."""
    pads = np.zeros(np.shape(scores), dtype=bool) if source_mask is None else ~np.asarray(source_mask, dtype=bool)
    e = np.ma.masked_array(np.where(pads, 0.0, scores), mask=pads)
    powers = np.ma.exp(e - e.max(axis=1)[:, None])
    return np.ma.filled(powers / powers.sum(axis=1)[:, None], 0.0)


# How even are the weights?


def entropy__wrong_temperature_ignored(scores, temperature):
    """The student forgot to divide by the temperature."""
    logs = torch.log_softmax(scores, dim=-1)
    return -(logs.exp() * logs).sum(dim=-1)


def entropy__wrong_temperature_multiplied(scores, temperature):
    """The student multiplied the scores by the temperature."""
    logs = torch.log_softmax(scores * temperature[:, None], dim=-1)
    return -(logs.exp() * logs).sum(dim=-1)


def entropy__wrong_temperature_on_positions(scores, temperature):
    """The student divided without an extra axis, so the temperatures line up with the positions."""
    logs = torch.log_softmax(scores / temperature, dim=-1)
    return -(logs.exp() * logs).sum(dim=-1)


def entropy__wrong_entropy_divided(scores, temperature):
    """The student divided the entropy by the temperature in place of the scores."""
    logs = torch.log_softmax(scores, dim=-1)
    return -(logs.exp() * logs).sum(dim=-1) / temperature


def entropy__wrong_zero_times_log_zero(scores, temperature):
    """The student took the logarithm of weights that are stored as 0, so 0 times minus infinity is no number."""
    weights = torch.softmax(scores / temperature[:, None], dim=-1)
    return -(weights * weights.log()).sum(dim=-1)


def entropy__wrong_where_after_logarithm(scores, temperature):
    """The student chose 0 for weights of 0 after the logarithm, so the values are right but the gradients are not."""
    weights = torch.softmax(scores / temperature.unsqueeze(1), dim=1)
    terms = torch.where(weights > 0, weights * torch.log(weights), torch.zeros_like(weights))
    return -terms.sum(dim=1)


def entropy__wrong_nan_replaced(scores, temperature):
    """The student replaced the terms that are no number by 0, which leaves the gradients without numbers."""
    weights = torch.softmax(scores / temperature.unsqueeze(1), dim=1)
    return -torch.nan_to_num(weights * weights.log()).sum(dim=1)


def entropy__wrong_xlogy(scores, temperature):
    """The student used torch's xlogy, whose value is right at a weight of 0 but whose gradient is not finite there."""
    weights = torch.softmax(scores / temperature[:, None], dim=1)
    return -torch.xlogy(weights, weights).sum(dim=1)


def entropy__wrong_small_number_in_logarithm(scores, temperature):
    """The student added 0.0001 inside the logarithm, which spoils the value."""
    weights = torch.softmax(scores / temperature[:, None], dim=1)
    return -(weights * (weights + 1e-4).log()).sum(dim=1)


def entropy__wrong_bits(scores, temperature):
    """The student took logarithms with base 2, which gives bits."""
    logs = torch.log_softmax(scores / temperature[:, None], dim=1)
    return -(logs.exp() * logs).sum(dim=1) / math.log(2)


def entropy__wrong_minus_missing(scores, temperature):
    """The student forgot the minus before the sum."""
    logs = torch.log_softmax(scores / temperature[:, None], dim=1)
    return (logs.exp() * logs).sum(dim=1)


def entropy__wrong_mean_of_batch(scores, temperature):
    """The student averaged over the batch, as for a loss, and returned one number."""
    logs = torch.log_softmax(scores / temperature[:, None], dim=1)
    return -(logs.exp() * logs).sum(dim=1).mean()


def entropy__wrong_mean_over_positions(scores, temperature):
    """The student took the mean over the positions in place of the sum."""
    logs = torch.log_softmax(scores / temperature[:, None], dim=1)
    return -(logs.exp() * logs).mean(dim=1)


def entropy__wrong_axis_kept(scores, temperature):
    """The student kept the summed axis, so the result has shape (batch, 1)."""
    logs = torch.log_softmax(scores / temperature[:, None], dim=1)
    return -(logs.exp() * logs).sum(dim=1, keepdim=True)


def entropy__wrong_squeezed(scores, temperature):
    """The student squeezed the result, so a batch of one gives a number without an axis."""
    logs = torch.log_softmax(scores / temperature[:, None], dim=1)
    return -(logs.exp() * logs).sum(dim=1, keepdim=True).squeeze()


def entropy__wrong_sentences_axis(scores, temperature):
    """The student took the softmax along the sentences."""
    logs = torch.log_softmax(scores / temperature[:, None], dim=0)
    return -(logs.exp() * logs).sum(dim=1)


def entropy__wrong_tensor_made_anew(scores, temperature):
    """The student collected Python numbers and made a new tensor of them, which no gradient passes."""
    results = []
    for row, tau in zip(scores, temperature):
        logs = torch.log_softmax(row / tau, dim=0)
        results.append(-(logs.exp() * logs).sum().item())
    return torch.tensor(results, dtype=scores.dtype)


def entropy__wrong_share_of_highest(scores, temperature):
    """The student divided by the logarithm of source_len, so an even row gives 1."""
    logs = torch.log_softmax(scores / temperature[:, None], dim=1)
    return -(logs.exp() * logs).sum(dim=1) / math.log(max(scores.shape[1], 2))


def entropy__wrong_first_temperature(scores, temperature):
    """The student used the temperature of the first sentence for all sentences."""
    logs = torch.log_softmax(scores / temperature[0], dim=1)
    return -(logs.exp() * logs).sum(dim=1)


def entropy__right_log_softmax(scores, temperature):
    """Style: torch's log_softmax, whose exponentials are the weights."""
    logs = torch.nn.functional.log_softmax(scores / temperature.unsqueeze(-1), dim=-1)
    return -torch.einsum("bj,bj->b", logs.exp(), logs)


def entropy__right_logsumexp(scores, temperature):
    """Style: the other formula, the logarithm of the sum of exponentials minus the mean score under the weights."""
    scaled = scores / temperature[:, None]
    return torch.logsumexp(scaled, dim=1) - (torch.softmax(scaled, dim=1) * scaled).sum(dim=1)


def entropy__right_logarithm_of_chosen(scores, temperature):
    """Style: weights of 0 are replaced by 1 before the logarithm, so that neither value nor gradient meets log 0."""
    weights = torch.softmax(scores / temperature[:, None], dim=1)
    safe = torch.where(weights > 0, weights, torch.ones_like(weights))
    return -(weights * safe.log()).sum(dim=1)


def entropy__right_loop(scores, temperature):
    """Style: a loop over the sentences with a helper, stacked at the end."""

    def one(row, tau):
        logs = torch.log_softmax(row / tau, dim=0)
        return -torch.dot(torch.exp(logs), logs)

    return torch.stack([one(row, tau) for row, tau in zip(scores, temperature)])


def entropy__right_categorical(scores, temperature):
    """Style: torch's own distribution of categories with these logits, and its entropy."""
    scaled = scores / temperature.reshape(-1, 1)
    return torch.distributions.Categorical(logits=scaled).entropy()


def entropy__right_shifted_by_hand(scores, temperature):
    """Style: the highest score is subtracted by hand, and the logarithm of the sum is taken explicitly."""
    scaled = scores / temperature[:, None]
    scaled = scaled - scaled.max(dim=1, keepdim=True).values.detach()
    total = scaled.exp().sum(dim=1, keepdim=True)
    weights = scaled.exp() / total
    return (weights * (total.log() - scaled)).sum(dim=1)
