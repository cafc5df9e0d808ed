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
