"""Blind answers for capstone: written from the notebook alone."""
import collections
import decimal
import fractions
import itertools
import math

import numpy as np
import torch


# ---------------------------------------------------------------- training_shapes

def training_shapes__wrong_last_word_not_read(batch, T_x, T_y, m, V_y):
    """The student leaves the stop word out of what is read and forgets that the start token takes its place."""
    return {"target_in": (batch, T_y - 1), "contexts": (batch, T_y, m), "heat_maps": (batch, T_y, T_x), "predictions": (batch, T_y, V_y)}


def training_shapes__wrong_source_first(batch, T_x, T_y, m, V_y):
    """The student puts the source words on the rows of the heat maps."""
    return {"target_in": (batch, T_y), "contexts": (batch, T_y, m), "heat_maps": (batch, T_x, T_y), "predictions": (batch, T_y, V_y)}


def training_shapes__wrong_context_of_each_word(batch, T_x, T_y, m, V_y):
    """The student gives one context for each source word."""
    return {"target_in": (batch, T_y), "contexts": (batch, T_x, m), "heat_maps": (batch, T_y, T_x), "predictions": (batch, T_y, V_y)}


def training_shapes__wrong_both_directions(batch, T_x, T_y, m, V_y):
    """The student doubles m, though an annotation has m numbers here."""
    return {"target_in": (batch, T_y), "contexts": (batch, T_y, 2 * m), "heat_maps": (batch, T_y, T_x), "predictions": (batch, T_y, V_y)}


def training_shapes__wrong_one_hot_in(batch, T_x, T_y, m, V_y):
    """The student lets the decoder read one-hot vectors, where word numbers are asked for."""
    return {"target_in": (batch, T_y, V_y), "contexts": (batch, T_y, m), "heat_maps": (batch, T_y, T_x), "predictions": (batch, T_y, V_y)}


def training_shapes__wrong_chosen_words(batch, T_x, T_y, m, V_y):
    """The student gives the chosen words for the distributions."""
    return {"target_in": (batch, T_y), "contexts": (batch, T_y, m), "heat_maps": (batch, T_y, T_x), "predictions": (batch, T_y)}


def training_shapes__wrong_start_and_stop(batch, T_x, T_y, m, V_y):
    """The student counts the start token on top of T_y in what is read."""
    return {"target_in": (batch, T_y + 1), "contexts": (batch, T_y, m), "heat_maps": (batch, T_y, T_x), "predictions": (batch, T_y, V_y)}


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

def count_parameters__wrong_one_direction():
    """The student counts the annotation with 36 numbers, of one direction."""
    return {"W_query": 24 * 40, "W_key": 24 * 36, "v": 24, "all": 24 * (40 + 36 + 1)}


def count_parameters__wrong_biases():
    """The student counts biases of torch's layers, which the score does not have."""
    return {"W_query": 24 * 40 + 24, "W_key": 24 * 72 + 24, "v": 24 + 1, "all": 24 * 112 + 48 + 25}


def count_parameters__wrong_v_forgotten_in_sum():
    """The student forgets v in the sum."""
    return {"W_query": 960, "W_key": 1728, "v": 24, "all": 2688}


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


def translation_loss__wrong_pads_count(logits, target):
    """The student averages over pads too."""
    return _cross(logits.flatten(0, 1), target.flatten())


def translation_loss__wrong_mean_of_sentences(logits, target):
    """The student averages each sentence first, and then the sentences that have words."""
    costs = _cross(logits.transpose(1, 2), target, ignore_index=0, reduction="none")
    counts = (target != 0).sum(dim=1)
    return (costs.sum(dim=1)[counts > 0] / counts[counts > 0]).mean()


def translation_loss__wrong_divided_by_all(logits, target):
    """The student adds the costs of real words, and divides by all positions."""
    return _cross(logits.transpose(1, 2), target, ignore_index=0, reduction="none").mean()


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


def translation_loss__wrong_first_so_many(logits, target):
    """The student counts the real words of a row and takes its first so many positions, as if pads stood last."""
    front = torch.arange(target.shape[1]) < (target != 0).sum(dim=1, keepdim=True)
    return _cross(logits[front], target[front])


def translation_loss__wrong_pad_out_of_vocabulary(logits, target):
    """The student takes word 0 out of the softmax too, so that the model pays nothing for probability on pads."""
    logits = torch.cat([torch.full_like(logits[..., :1], torch.finfo(logits.dtype).min / 4), logits[..., 1:]], dim=-1)
    return _cross(logits.transpose(1, 2), target, ignore_index=0)


def translation_loss__wrong_batch_maximum(logits, target):
    """The student subtracts the largest logit of the batch: positions thousands below it give log 0."""
    shifted = logits - logits.max().detach()
    costs = torch.log(torch.exp(shifted).sum(dim=-1)) - shifted.gather(2, target.unsqueeze(-1)).squeeze(-1)
    return costs[target != 0].mean()


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


def translation_loss__wrong_cut(logits, target):
    """The student makes a new tensor of the mean, which cuts the gradient."""
    return torch.tensor(_cross(logits.transpose(1, 2), target, ignore_index=0).item(), dtype=logits.dtype, requires_grad=True)


def translation_loss__wrong_largest_detached_top(logits, target):
    """The student detaches the logarithm of the sum: the value is right, but the gradient sees the right word alone."""
    costs = logits.logsumexp(dim=-1).detach() - logits.gather(2, target.unsqueeze(-1)).squeeze(-1)
    return costs[target != 0].mean()


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

def exact_match__wrong_zip(words, target):
    """The student compares with zip until the stop word: a model that wrote too few columns is never asked for it."""
    def right(row, wanted):
        for a, b in zip(row, wanted):
            if a != b:
                return False
            if b == 2:
                return True
        return True
    return sum(map(right, words, target)) / len(target)


def exact_match__wrong_stop_not_asked(words, target):
    """The student zeroes both from the stop word on and compares: right words with pads instead of the stop pass too."""
    width = max(words.shape[1], target.shape[1])
    def cut(array):
        array = np.pad(array, ((0, 0), (0, width - array.shape[1])))
        return np.where(np.cumsum(array == 2, axis=1) == 0, array, 0)
    return float((cut(words) == cut(target)).all(axis=1).mean())


def exact_match__wrong_stop_appended(words, target):
    """The student ends a sentence that was cut off with a stop word of his own."""
    good = 0
    for row, wanted in zip(words.tolist(), target.tolist()):
        row = row + [2]
        good += row[:row.index(2) + 1] == wanted[:wanted.index(2) + 1]
    return good / len(words)


def exact_match__wrong_all_columns(words, target):
    """The student wants all columns alike, so that what was written after the stop word counts."""
    width = max(words.shape[1], target.shape[1])
    def wide(array):
        return np.pad(array, ((0, 0), (0, width - array.shape[1])))
    return float((wide(words) == wide(target)).all(axis=1).mean())


def exact_match__wrong_no_hit_if_narrow(words, target):
    """The student returns 0 if the model took fewer steps than the longest target, although shorter ones may be right."""
    if words.shape[1] < target.shape[1]:
        return 0.0
    return float(((words[:, :target.shape[1]] == target) | (target == 0)).all(axis=1).mean())


def exact_match__wrong_common_columns(words, target):
    """The student compares the common columns only: the start of a longer target passes."""
    width = min(words.shape[1], target.shape[1])
    same = (words[:, :width] == target[:, :width]) | (target[:, :width] == 0)
    return float(same.all(axis=1).mean())


def exact_match__wrong_glued_digits(words, target):
    """The student compares strings of digits without spaces: words 1 and 12 look as 11 and 2 do."""
    def text(row):
        row = row.tolist()
        return "".join(map(str, row[:row.index(2) + 1])) if 2 in row else "-"
    return sum(text(a) == text(b) for a, b in zip(words, target)) / len(words)


def exact_match__wrong_pads_dropped(words, target):
    """The student drops pads from what the model wrote, also between its words."""
    good = 0
    for row, wanted in zip(words, target):
        row, wanted = row[row != 0].tolist(), wanted[wanted != 0].tolist()
        good += 2 in row and row[:row.index(2) + 1] == wanted
    return good / len(words)


def exact_match__wrong_last_stop(words, target):
    """The student cuts at the last stop word of what was written."""
    good = 0
    for row, wanted in zip(words.tolist(), target.tolist()):
        end = len(row) - row[::-1].index(2) if 2 in row else 0
        good += row[:end] == wanted[:wanted.index(2) + 1]
    return good / len(words)


def exact_match__wrong_any_order(words, target):
    """The student compares sorted words."""
    good = 0
    for row, wanted in zip(words.tolist(), target.tolist()):
        good += 2 in row and sorted(row[:row.index(2)]) == sorted(wanted[:wanted.index(2)])
    return good / len(words)


def exact_match__wrong_words_right(words, target):
    """The student averages the right words of the sentences, which agrees only if all or none are right."""
    width = target.shape[1]
    row = np.pad(words, ((0, 0), (0, max(0, width - words.shape[1]))))[:, :width]
    return float((row == target)[target != 0].mean())


def exact_match__wrong_stop_padded(words, target):
    """The student fills missing columns with the stop word, which the model did not write."""
    missing = max(0, target.shape[1] - words.shape[1])
    row = np.pad(words, ((0, 0), (0, missing)), constant_values=2)[:, :target.shape[1]]
    return float(((row == target) | (target == 0)).all(axis=1).mean())


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


def noun_alignment__wrong_own_zero_rows_hit(weights, positions):
    """The student counts missing columns as missed, but not the zero rows of a sentence that stopped before the others."""
    best = np.full(positions.shape, -2)
    width = min(weights.shape[1], positions.shape[1])
    best[:, :width] = weights[:, :width].argmax(axis=2)
    nouns = positions >= 0
    return float((best == positions)[nouns].mean())


def noun_alignment__wrong_missing_not_counted(weights, positions):
    """The student drops nouns beyond the model's steps instead of counting them as missed."""
    width = min(weights.shape[1], positions.shape[1])
    nouns = positions[:, :width] >= 0
    return float((_places(weights, positions)[:, :width] == positions[:, :width])[nouns].sum() / max(nouns.sum(), 1))


def noun_alignment__wrong_stopped_not_counted(weights, positions):
    """The student counts nouns of taken steps only, so that a sentence that stopped early costs nothing."""
    best = _places(weights, positions)
    nouns = (positions >= 0) & (best >= 0)
    return float((best == positions)[nouns].sum() / max(nouns.sum(), 1))


def noun_alignment__wrong_first_source_word(weights, positions):
    """The student takes positions above 0 for nouns, and so loses those that come from the first source word."""
    nouns = positions > 0
    return float((_places(weights, positions) == positions)[nouns].sum() / max(nouns.sum(), 1))


def noun_alignment__wrong_mean_of_sentences(weights, positions):
    """The student averages within each sentence first."""
    hits, nouns = _places(weights, positions) == positions, positions >= 0
    counts = nouns.sum(axis=1)
    return float(((hits & nouns).sum(axis=1)[counts > 0] / counts[counts > 0]).mean())


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


def noun_alignment__wrong_batch_stops_together(weights, positions):
    """The student looks whether any sentence took a step: where one stopped alone, its zero rows point to word 0."""
    width = min(weights.shape[1], positions.shape[1])
    best = np.full(positions.shape, -2)
    taken = weights[:, :width].any(axis=(0, 2))
    best[:, :width] = np.where(taken, weights[:, :width].argmax(axis=2), -2)
    return float((best == positions)[positions >= 0].mean())


def noun_alignment__wrong_last_row_repeated(weights, positions):
    """The student repeats the last row of weights for missing steps."""
    missing = max(0, positions.shape[1] - weights.shape[1])
    wide = np.pad(weights, ((0, 0), (0, missing), (0, 0)), mode="edge")
    return float((_places(wide, positions) == positions)[positions >= 0].mean())


def noun_alignment__wrong_all_positions(weights, positions):
    """The student divides by all target words, not by the nouns."""
    return float(((_places(weights, positions) == positions) & (positions >= 0)).mean())


def noun_alignment__wrong_reaches_largest(weights, positions):
    """The student asks whether the noun's weight reaches the largest, which 0 does in a row of zeros."""
    hits, nouns = 0, 0
    for b, i in np.argwhere(positions >= 0):
        nouns += 1
        if i < weights.shape[1]:
            hits += weights[b, i, positions[b, i]] >= weights[b, i].max()
    return float(hits / nouns)


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


def noun_alignment__wrong_first_sentence_stops_all(weights, positions):
    """The student reads off the first sentence how many steps were taken, and takes that for all."""
    best = np.full(positions.shape, -2)
    width = min(int(weights[0].any(axis=1).sum()), positions.shape[1])
    best[:, :width] = np.where(weights[:, :width].any(axis=2), weights[:, :width].argmax(axis=2), -2)
    return float((best == positions)[positions >= 0].mean())


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
