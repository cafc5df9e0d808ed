"""Blind answers for capstone: written from the notebook alone."""
import collections
import decimal
import fractions
import itertools
import math

import numpy as np
import torch


# ---------------------------------------------------------------- training_shapes











def training_shapes__wrong_chosen_words(batch, T_x, T_y, m, V_y):
    """The student gives the chosen words for the distributions."""
    return {"target_in": (batch, T_y), "contexts": (batch, T_y, m), "heat_maps": (batch, T_y, T_x), "predictions": (batch, T_y)}




def training_shapes__right_stacked(batch, T_x, T_y, m, V_y):
    """Shapes of stacked results of single steps, as in a loop."""
    weights = np.stack([np.zeros((batch, T_x))] * T_y, axis=1)
    contexts = weights @ np.zeros((batch, T_x, m))
    words = np.zeros((batch, T_y), dtype=int)
    return {"target_in": words.shape, "contexts": contexts.shape, "heat_maps": weights.shape,
            "predictions": np.broadcast_to(0.0, words.shape + (V_y,)).shape}


def training_shapes__right_size(batch, T_x, T_y, m, V_y):
    """Shapes of torch, from a common prefix."""
    prefix = torch.Size([batch, T_y])
    return collections.OrderedDict(target_in=prefix, contexts=torch.Size([*prefix, m]), heat_maps=torch.Size([*prefix, T_x]),
                                   predictions=torch.Size([*prefix, V_y]))


# ---------------------------------------------------------------- count_parameters







def count_parameters__wrong_v_reads_keys():
    """The student lets v have as many numbers as an annotation."""
    return {"W_query": 960, "W_key": 1728, "v": 72, "all": 2760}


def count_parameters__right_numel():
    """The numbers of elements of tensors, as in a model."""
    parameters = dict(W_query=torch.empty(24, 40), W_key=torch.empty(24, 2 * 36), v=torch.empty(24))
    counts = {key: value.numel() for key, value in parameters.items()}
    return {**counts, "all": sum(counts.values())}


def count_parameters__right_other_types():
    """A whole number of numpy, a fraction and numbers of type Decimal."""
    return {"W_query": np.int64(960), "W_key": fractions.Fraction(1728), "v": decimal.Decimal(24), "all": np.int64(2712)}


# ---------------------------------------------------------------- translation_loss

_cross = torch.nn.functional.cross_entropy








def translation_loss__wrong_log_of_softmax(logits, target):
    """The student takes the logarithm of the softmax, which is infinite where a probability is 0."""
    costs = -torch.log(torch.softmax(logits, dim=-1)).gather(2, target.unsqueeze(-1)).squeeze(-1)
    return costs[target != 0].mean()


def translation_loss__wrong_clamped(logits, target):
    """The student clamps probabilities at 1e-9: costs stop at 20.7, and their gradients are 0."""
    p = torch.softmax(logits, dim=-1).gather(2, target.unsqueeze(-1)).squeeze(-1)
    return -torch.log(p.clamp_min(1e-9))[target != 0].mean()


def translation_loss__wrong_nan_gradient(logits, target):
    """The student takes the logarithm of a softmax and puts zeros at pads with torch.where: there 0 times infinity is nan backward."""
    p = torch.softmax(logits, dim=-1).gather(2, target.unsqueeze(-1)).squeeze(-1)
    naive = -torch.log(p)
    stable = -torch.log_softmax(logits, dim=-1).gather(2, target.unsqueeze(-1)).squeeze(-1)
    costs = torch.where(target != 0, torch.where(p > 0, naive, stable), torch.zeros_like(p))
    return costs.sum() / (target != 0).sum()


def translation_loss__wrong_until_first_pad(logits, target):
    """The student stops at the first pad of a row, though a pad may stand before words."""
    real = (target != 0).cumprod(dim=1).bool()
    if not real.any():
        return (logits * 0).sum()
    return _cross(logits[real], target[real])








def translation_loss__wrong_turned_targets(logits, target):
    """The student flattens the targets step by step, and the logits sentence by sentence."""
    return _cross(logits.reshape(-1, logits.shape[-1]), target.t().reshape(-1), ignore_index=0)


def translation_loss__wrong_logits_masked(logits, target):
    """The student zeroes the logits of pads, whose cost is then the logarithm of the number of words."""
    real = target != 0
    return _cross((logits * real.unsqueeze(-1)).transpose(1, 2), target, reduction="sum") / real.sum()


def translation_loss__wrong_distinct_words(logits, target):
    """The student divides by the number of different words in the batch instead of all real words."""
    return _cross(logits.transpose(1, 2), target, ignore_index=0, reduction="sum") / len(target[target != 0].unique())






def translation_loss__wrong_smoothed(logits, target):
    """The student smooths the labels as a recipe for training says: that is another loss."""
    return _cross(logits.transpose(1, 2), target, ignore_index=0, label_smoothing=0.01)


def translation_loss__right_weights_of_words(logits, target):
    """A weight of 0 for the pad's class, with which the mean is divided by the sum of the weights."""
    weight = torch.ones(logits.shape[-1], dtype=logits.dtype)
    weight[0] = 0
    return _cross(logits.permute(0, 2, 1), target, weight=weight)


def translation_loss__right_softplus_style(logits, target):
    """Differences to the right word, and the logsumexp of those, at real positions by index."""
    b, i = torch.nonzero(target, as_tuple=True)
    rows = logits[b, i]
    return torch.logsumexp(rows - rows.gather(1, target[b, i].unsqueeze(1)), dim=1).mean()


def translation_loss__right_one_hot_einsum(logits, target):
    """A one-hot product by einsum of the log-probabilities, with the pad's column set to 0."""
    hot = torch.nn.functional.one_hot(target.long(), logits.shape[-1]).to(logits.dtype)
    hot[..., 0] = 0
    return -torch.einsum("bij,bij->", logits.log_softmax(-1), hot) / hot.sum()


def translation_loss__right_loop(logits, target):
    """A loop over the words with an own stable logarithm of a sum, stacked at the end."""
    costs = []
    for rows, words in zip(logits, target.tolist()):
        for row, word in zip(rows, words):
            if word:
                top = row.detach().max()
                costs.append(torch.log(torch.sum(torch.exp(row - top))) + top - row[word])
    return torch.stack(costs).mean()


class _Loss(torch.nn.Module):
    def forward(self, logits, target):
        return torch.nn.NLLLoss(ignore_index=0, reduction="sum")(logits.log_softmax(1), target) / target.ne(0).sum()


def translation_loss__right_module(logits, target):
    """A module around NLLLoss with a sum, divided by the number of words."""
    return _Loss()(logits.movedim(2, 1), target)


# ---------------------------------------------------------------- exact_match

























def exact_match__wrong_stopped_only(words, target):
    """The student divides by the sentences in which the model wrote a stop word."""
    good = ended = 0
    for row, wanted in zip(words.tolist(), target.tolist()):
        if 2 in row:
            ended += 1
            good += row[:row.index(2) + 1] == wanted[:wanted.index(2) + 1]
    return good / max(ended, 1)


def exact_match__wrong_two_decimals(words, target):
    """The student rounds the fraction to two decimals: a third becomes 0.33."""
    good = [2 in row and row[:row.index(2) + 1] == wanted[:wanted.index(2) + 1]
            for row, wanted in zip(words.tolist(), target.tolist())]
    return round(sum(good) / len(good), 2)


def exact_match__right_takewhile(words, target):
    """Generators that yield a row up to and with its stop word, compared as tuples."""
    def ended(row):
        for word in row:
            yield int(word)
            if word == 2:
                return
        yield -1
    return np.mean([tuple(ended(a)) == tuple(ended(b)) for a, b in zip(words, target)])


def exact_match__right_padded_arrays(words, target):
    """Missing columns filled with -1, and equality wherever the target is no pad."""
    missing = max(0, target.shape[1] - words.shape[1])
    rows = np.pad(words, ((0, 0), (0, missing)), constant_values=-1)[:, :target.shape[1]]
    return np.logical_or(rows == target, target == 0).all(axis=1).mean()


def exact_match__right_recursion(words, target):
    """A recursion over the places of a row, and a fraction turned into a float."""
    def right(row, wanted):
        return bool(row) and row[0] == wanted[0] and (wanted[0] == 2 or right(row[1:], wanted[1:]))
    hits = sum(right(tuple(a), tuple(b)) for a, b in zip(words.tolist(), target.tolist()))
    return float(fractions.Fraction(hits, len(words)))


def exact_match__right_prefix_of_bytes(words, target):
    """Text with spaces that begins with the text of the target."""
    def text(row):
        return " ".join(map(str, row)) + " "
    return sum(text(row).startswith(text(itertools.islice(wanted, wanted.index(2) + 1)))
               for row, wanted in zip(words.tolist(), target.tolist())) / float(len(target))


# ---------------------------------------------------------------- noun_alignment

def _places(weights, positions):
    steps = weights.shape[1]
    best = np.full(positions.shape, -2)
    width = min(steps, positions.shape[1])
    taken = weights[:, :width].any(axis=2)
    best[:, :width] = np.where(taken, weights[:, :width].argmax(axis=2), -2)
    return best


def noun_alignment__wrong_zero_rows_hit(weights, positions):
    """The student fills steps with zeros, where argmax gives 0: a noun of source position 0 counts as hit."""
    missing = max(0, positions.shape[1] - weights.shape[1])
    best = np.pad(weights, ((0, 0), (0, missing), (0, 0))).argmax(axis=2)[:, :positions.shape[1]]
    nouns = positions >= 0
    return float((best == positions)[nouns].mean())






def noun_alignment__wrong_stopped_not_counted(weights, positions):
    """The student counts nouns of taken steps only, so that a sentence that stopped early costs nothing."""
    best = _places(weights, positions)
    nouns = (positions >= 0) & (best >= 0)
    return float((best == positions)[nouns].sum() / max(nouns.sum(), 1))






def noun_alignment__wrong_more_than_half(weights, positions):
    """The student wants more than half of the weight on the noun, where the largest weight is enough."""
    hits = nouns = 0
    for rows, wanted in zip(weights, positions):
        for i, j in enumerate(wanted):
            if j >= 0:
                nouns += 1
                hits += bool(i < len(rows) and rows[i, j] > 0.5)
    return hits / nouns


def noun_alignment__wrong_sum_exactly_one(weights, positions):
    """The student takes a step for taken if its weights add to exactly 1, which rounding spoils."""
    best = _places(weights, positions)
    width = min(weights.shape[1], positions.shape[1])
    best[:, :width][weights[:, :width].sum(axis=2) != 1.0] = -2
    return float((best == positions)[positions >= 0].mean())


def noun_alignment__wrong_flat_rows_not_taken(weights, positions):
    """The student takes a step for taken if its largest weight is above 0.1: long sources may stay below that."""
    best = _places(weights, positions)
    width = min(weights.shape[1], positions.shape[1])
    best[:, :width][weights[:, :width].max(axis=2) <= 0.1] = -2
    return float((best == positions)[positions >= 0].mean())


def noun_alignment__wrong_rounded_weights(weights, positions):
    """The student rounds weights to two decimals, which makes ties that the first word wins."""
    rounded = np.where(weights.any(axis=2, keepdims=True), np.round(weights, 2) + 1e-9, 0.0)
    return float((_places(rounded, positions) == positions)[positions >= 0].mean())


def noun_alignment__wrong_single_precision(weights, positions):
    """The student rounds weights to single precision: a weight larger by 1e-9 becomes a tie."""
    return float((_places(weights.astype(np.float32), positions) == positions)[positions >= 0].mean())










def noun_alignment__right_loop(weights, positions):
    """A loop over nouns that wants the weight above all others and above 0, with a fraction of whole numbers."""
    hits = []
    for (b, i), j in np.ndenumerate(positions):
        if j == -1:
            continue
        row = weights[b, i].tolist() if i < weights.shape[1] else [0.0]
        hits.append(max(row) > 0 and row.index(max(row)) == j)
    return float(fractions.Fraction(sum(hits), len(hits)))


def noun_alignment__right_gather(weights, positions):
    """Weights padded to the steps, an added column for no word at all that wins rows of zeros."""
    missing = max(0, positions.shape[1] - weights.shape[1])
    padded = np.pad(weights, [(0, 0), (0, missing), (1, 0)])[:, :positions.shape[1]]
    best = padded.argmax(axis=-1) - 1
    nouns = np.not_equal(positions, -1)
    return np.count_nonzero((best == positions) & nouns) / np.count_nonzero(nouns)


def noun_alignment__right_products(weights, positions):
    """Hits as a product of two one-hot arrays, one of the largest weights and one of the positions."""
    steps = min(weights.shape[1], positions.shape[1])
    rows = weights[:, :steps]
    largest = (rows == rows.max(axis=2, keepdims=True)) & (rows > 0)
    wanted = positions[:, :steps, None] == np.arange(weights.shape[2])
    return np.einsum("bij,bij->", largest.astype(float), wanted.astype(float)) / (positions + 1).astype(bool).sum()


def noun_alignment__right_index_of_nouns(weights, positions):
    """Only the nouns of taken steps are looked up, by index arrays; all nouns are counted, as a number of numpy."""
    b, i = np.nonzero(positions >= 0)
    inside = i < weights.shape[1]
    rows = weights[b[inside], i[inside]]
    order = np.argsort(rows, axis=1)[:, -1]
    hits = (order == positions[b[inside], i[inside]]) & (rows.sum(axis=1) > 0)
    return np.float64(np.sum(hits)) / b.size


def noun_alignment__wrong_nearly_largest(weights, positions):
    """The student compares with np.isclose, so that a weight just below the largest passes too."""
    hits = []
    for b, i in np.argwhere(positions >= 0):
        row = weights[b, i] if i < weights.shape[1] else np.zeros(weights.shape[2])
        hits.append(row.any() and np.isclose(row[positions[b, i]], row.max()))
    return float(np.mean(hits))




def exact_match__wrong_sum_of_differences(words, target):
    """The student adds the differences of a row: those of opposite sign cancel."""
    width = target.shape[1]
    row = np.pad(words, ((0, 0), (0, max(0, width - words.shape[1]))))[:, :width]
    return float((((row - target) * (target != 0)).sum(axis=1) == 0).mean())


def exact_match__wrong_set_of_words(words, target):
    """The student counts different sentences only: the same right sentence twice is one."""
    def ended(row):
        row = row.tolist()
        return tuple(row[:row.index(2) + 1]) if 2 in row else ()
    pairs = {(ended(a), ended(b)) for a, b in zip(words, target)}
    return sum(a == b for a, b in pairs) / len(pairs)


def translation_loss__wrong_stop_is_no_word(logits, target):
    """The student leaves the stop word, number 2, out of the mean, together with the pads."""
    real = target.ne(0) & target.ne(2)
    costs = _cross(logits.transpose(1, 2), target, reduction="none")
    return (costs * real).sum() / real.sum().clamp_min(1)


def translation_loss__wrong_count_of_first(logits, target):
    """The student divides by the number of words of the first sentence times the number of sentences."""
    total = _cross(logits.transpose(1, 2), target, ignore_index=0, reduction="sum")
    return total / max(int(target[0].ne(0).sum()) * len(target), 1)
