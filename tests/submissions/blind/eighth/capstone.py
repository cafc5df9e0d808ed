import math

import numpy as np
import torch


def training_shapes__wrong_one_hot_in(batch, T_x, T_y, m, V_y):
    """Gives the decoder one-hot vectors: the word numbers themselves have no axis for the vocabulary."""
    return {"target_in": (batch, T_y, V_y), "contexts": (batch, T_y, m), "heat_maps": (batch, T_y, T_x), "predictions": (batch, T_y, V_y)}


def training_shapes__wrong_contexts_at_source(batch, T_x, T_y, m, V_y):
    """Counts a context for each source word instead of for each step."""
    return {"target_in": (batch, T_y), "contexts": (batch, T_x, m), "heat_maps": (batch, T_y, T_x), "predictions": (batch, T_y, V_y)}


def training_shapes__wrong_heat_map_transposed(batch, T_x, T_y, m, V_y):
    """Transposes the heat maps: each step has a row, each source word a column."""
    return {"target_in": (batch, T_y), "contexts": (batch, T_y, m), "heat_maps": (batch, T_x, T_y), "predictions": (batch, T_y, V_y)}


def training_shapes__wrong_one_word_less(batch, T_x, T_y, m, V_y):
    """Takes a word off for the shift by START: target_in has START instead of the last word, and so T_y words."""
    return {"target_in": (batch, T_y - 1), "contexts": (batch, T_y, m), "heat_maps": (batch, T_y, T_x), "predictions": (batch, T_y, V_y)}


def training_shapes__wrong_steps_first(batch, T_x, T_y, m, V_y):
    """Puts the steps first instead of the batch."""
    return {"target_in": (T_y, batch), "contexts": (T_y, batch, m), "heat_maps": (T_y, batch, T_x), "predictions": (T_y, batch, V_y)}


def training_shapes__wrong_two_m(batch, T_x, T_y, m, V_y):
    """Doubles m for two directions, although m is already the size of a whole annotation."""
    return {"target_in": (batch, T_y), "contexts": (batch, T_y, 2 * m), "heat_maps": (batch, T_y, T_x), "predictions": (batch, T_y, V_y)}


def training_shapes__wrong_subtle_square_maps(batch, T_x, T_y, m, V_y):
    """Lets the target attend to itself: the heat maps are right only where source and target are equally long."""
    return {"target_in": (batch, T_y), "contexts": (batch, T_y, m), "heat_maps": (batch, T_y, T_y), "predictions": (batch, T_y, V_y)}


def training_shapes__right_lists(batch, T_x, T_y, m, V_y):
    """Lists, built from what all have in common."""
    steps = [batch, T_y]
    return {"target_in": steps, "contexts": steps + [m], "heat_maps": steps + [T_x], "predictions": steps + [V_y]}


def training_shapes__right_measured(batch, T_x, T_y, m, V_y):
    """torch.Size, read off empty tensors."""
    a = torch.zeros(batch, T_y, T_x)
    return {"predictions": torch.zeros(batch, T_y, V_y).shape, "heat_maps": a.shape, "target_in": a[..., 0].shape,
            "contexts": torch.bmm(a, torch.zeros(batch, T_x, m)).shape}


def _count(q, k, v):
    return {"W_query": q, "W_key": k, "v": v, "all": q + k + v}


def count_parameters__wrong_one_direction():
    """Forgets that an annotation has both directions, 72 numbers."""
    return _count(24 * 40, 24 * 36, 24)


def count_parameters__wrong_biases():
    """Counts a bias for each matrix, though there are none."""
    return _count(24 * 40 + 24, 24 * 72 + 24, 24)


def count_parameters__wrong_v_square():
    """Takes v for a matrix of 24 times 24."""
    return _count(24 * 40, 24 * 72, 24 * 24)


def count_parameters__wrong_query_key_swapped():
    """Swaps the sizes: W_query multiplies the state of 40, W_key the annotation of 72."""
    return _count(24 * 72, 24 * 40, 24)


def count_parameters__wrong_v_not_added():
    """Leaves v out of the sum."""
    return {"W_query": 960, "W_key": 1728, "v": 24, "all": 2688}


def count_parameters__right_torch_numel():
    """Counts the entries of torch tensors."""
    q, k, v = (torch.zeros(24, n).numel() for n in (40, 72, 1))
    return {"all": q + k + v, "v": v, "W_key": k, "W_query": q}


def count_parameters__right_floats():
    """Whole numbers as numpy integers and floats."""
    return {"W_query": 960.0, "W_key": np.int64(1728), "v": np.int32(24), "all": 2712.0}


# ---- translation_loss

def _costs(logits, target):
    return torch.logsumexp(logits, 2) - logits.gather(2, target[..., None])[..., 0]


def translation_loss__wrong_pads_counted(logits, target):
    """Counts the pads as words."""
    return _costs(logits, target).mean()


def translation_loss__wrong_divides_by_all(logits, target):
    """Leaves the pads out of the sum but divides by all positions."""
    return (_costs(logits, target) * (target != 0)).mean()


def translation_loss__wrong_mean_of_sentences(logits, target):
    """Averages each sentence first: words of short sentences count more."""
    real = target != 0
    per = (_costs(logits, target) * real).sum(1) / real.sum(1).clamp(min=1)
    return per[real.any(1)].mean()


def translation_loss__wrong_divides_by_batch(logits, target):
    """Divides by the number of sentences instead of by that of real words."""
    return (_costs(logits, target) * (target != 0)).sum() / len(target)


def translation_loss__wrong_reshaped_classes(logits, target):
    """Reshapes to (batch, vocab, steps) where the axes must be transposed, which mixes words and steps."""
    b, t, v = logits.shape
    return torch.nn.functional.cross_entropy(logits.reshape(b, v, t), target, ignore_index=0)


def translation_loss__wrong_item(logits, target):
    """Takes the number out with item(): no gradient reaches the logits."""
    real = target != 0
    return torch.tensor(_costs(logits, target)[real].mean().item(), dtype=torch.float64)


def translation_loss__wrong_bits(logits, target):
    """Gives bits instead of nats."""
    return _costs(logits, target)[target != 0].mean() / math.log(2)


def translation_loss__wrong_subtle_special_words(logits, target):
    """Leaves START (1) out together with the pad, but only 0 is the pad."""
    real = target > 1
    return (_costs(logits, target) * real).sum() / real.sum().clamp(min=1)


def translation_loss__wrong_subtle_after_first_pad(logits, target):
    """Ends each sentence at its first pad, although a pad may stand anywhere in its row."""
    real = (target != 0).cumprod(1).bool()
    return (_costs(logits, target) * real).sum() / real.sum().clamp(min=1)


def translation_loss__wrong_subtle_log_of_softmax(logits, target):
    """Takes the log of softmax in two steps: a right word whose probability underflows costs infinity."""
    p = torch.softmax(logits, 2).gather(2, target[..., None])[..., 0]
    return -torch.log(p[target != 0]).mean()


def translation_loss__wrong_subtle_clamped(logits, target):
    """Keeps probabilities above 1e-300, so that no word costs more than 691 nor gets a gradient there."""
    p = torch.softmax(logits, 2).gather(2, target[..., None])[..., 0].clamp(min=1e-300)
    return -torch.log(p[target != 0]).mean()


def translation_loss__wrong_subtle_max_of_step(logits, target):
    """Subtracts the largest logit of the whole batch: at steps far below it the exponentials underflow."""
    e = logits - logits.max().detach()
    c = torch.log(torch.exp(e).sum(2)) - e.gather(2, target[..., None])[..., 0]
    return c[target != 0].mean()


def translation_loss__right_library(logits, target):
    """torch's cross_entropy over a flat list with ignore_index=0."""
    return torch.nn.functional.cross_entropy(logits.flatten(0, 1), target.flatten(), ignore_index=0)


def translation_loss__right_one_hot(logits, target):
    """By one-hot rows whose pad column is emptied."""
    hot = torch.nn.functional.one_hot(target, logits.shape[2]).double()
    hot[..., 0] = 0
    return -(hot * torch.log_softmax(logits, -1)).sum() / hot.sum()


def translation_loss__right_loop(logits, target):
    """A loop over the real words, as log-sum-exp of differences."""
    costs = [torch.logsumexp(logits[b, i] - logits[b, i, target[b, i]], 0) for b, i in target.nonzero().tolist()]
    return torch.stack(costs).mean()


def translation_loss__right_transposed_nll(logits, target):
    """nll_loss with the classes second, summed, divided by the count."""
    e = torch.log_softmax(logits.transpose(1, 2), 1)
    return torch.nn.functional.nll_loss(e, target, ignore_index=0, reduction="sum") / torch.count_nonzero(target)


def translation_loss__right_weights(logits, target):
    """A class weight of 0 for the pad, which the library's mean takes into account."""
    w = torch.ones(logits.shape[2], dtype=torch.float64)
    w[0] = 0
    return torch.nn.CrossEntropyLoss(weight=w)(logits.permute(0, 2, 1), target)


# ---- exact_match

def _upto(row):
    """The numbers before the first stop word, or None if there is none."""
    row = [int(x) for x in row]
    return row[:row.index(2)] if 2 in row else None


def exact_match__wrong_word_accuracy(words, target):
    """Counts right words instead of right sentences."""
    n = min(words.shape[1], target.shape[1])
    real = target != 0
    return (((words[:, :n] == target[:, :n]) & real[:, :n]).sum()) / real.sum()


def exact_match__wrong_rest_counts(words, target):
    """Compares whole rows, so what follows the stop word counts too."""
    n = max(words.shape[1], target.shape[1])
    pad = lambda a: np.pad(a, ((0, 0), (0, n - a.shape[1])))
    return float((pad(words) == pad(target)).all(1).mean())


def exact_match__wrong_stop_not_needed(words, target):
    """Compares only the words before the target's stop, not whether the model stopped there."""
    return float(np.mean([list(w[:len(_upto(t))]) == _upto(t) for w, t in zip(words, target)]))


def exact_match__wrong_same_set(words, target):
    """Compares which words occur, not their order or number."""
    return float(np.mean([_upto(w) is not None and set(_upto(w)) == set(_upto(t)) for w, t in zip(words, target)]))


def exact_match__wrong_same_length(words, target):
    """Only asks whether the stop words stand at the same place."""
    return float(np.mean([_upto(w) is not None and len(_upto(w)) == len(_upto(t)) for w, t in zip(words, target)]))


def exact_match__wrong_all_or_nothing(words, target):
    """Returns 1 only if the whole batch is right, instead of a fraction."""
    return float(all(_upto(w) == _upto(t) for w, t in zip(words, target)))


def exact_match__wrong_last_stop(words, target):
    """Cuts what the model wrote at its last stop word instead of the first."""
    def last(row):
        row = [int(x) for x in row]
        return row[:len(row) - 1 - row[::-1].index(2)] if 2 in row else None
    return float(np.mean([last(w) == _upto(t) for w, t in zip(words, target)]))


def exact_match__wrong_subtle_joined_digits(words, target):
    """Joins the numbers to one string without a separator: 1, 23 and 12, 3 become the same."""
    text = lambda row: None if _upto(row) is None else "".join(map(str, _upto(row)))
    return float(np.mean([text(w) == text(t) for w, t in zip(words, target)]))


def exact_match__wrong_subtle_zeros_skipped(words, target):
    """Throws zeros out of what the model wrote, although every number before the stop counts."""
    f = lambda row: None if _upto(row) is None else [x for x in _upto(row) if x]
    return float(np.mean([f(w) == f(t) for w, t in zip(words, target)]))


def exact_match__wrong_subtle_filled_with_stop(words, target):
    """Fills too short an array of words with stop words, which supplies the stop that the model did not write."""
    n = max(target.shape[1] - words.shape[1], 0)
    w = np.pad(words, ((0, 0), (0, n)), constant_values=2)[:, :target.shape[1]]
    return float(((w == target) | (target == 0)).all(1).mean())


def exact_match__wrong_subtle_rounded(words, target):
    """Rounds the fraction to six digits, as the example prints it."""
    return round(float(np.mean([_upto(w) == _upto(t) for w, t in zip(words, target)])), 6)


def exact_match__wrong_subtle_byte_counter(words, target):
    """Counts the right sentences in a byte, which begins at 0 again after 255."""
    right = np.array([_upto(w) == _upto(t) for w, t in zip(words, target)])
    return float(right.sum(dtype=np.uint8)) / len(right)


def exact_match__right_sentences(words, target):
    """Python lists up to the first stop word."""
    return sum(_upto(w) == _upto(t) for w, t in zip(words, target)) / len(words)


def exact_match__right_masked(words, target):
    """Arrays of equal width, filled up with -1, compared wherever the target is no pad."""
    n = max(words.shape[1], target.shape[1])
    w = np.pad(words, ((0, 0), (0, n - words.shape[1])), constant_values=-1)
    t = np.pad(target, ((0, 0), (0, n - target.shape[1])))
    return np.mean(np.where(t == 0, True, w == t).all(axis=1))


def exact_match__right_cumulative(words, target):
    """By the number of equal words in front, which has to reach past the stop."""
    n = min(words.shape[1], target.shape[1])
    front = np.cumprod(words[:, :n] == target[:, :n], axis=1).sum(1)
    need = (target == 2).argmax(1) + 1
    return np.count_nonzero(front >= need) / np.float64(len(words))


def exact_match__right_strings(words, target):
    """Strings with separators, cut after the first stop."""
    text = lambda row: (" " + " ".join(map(str, row.tolist())) + " ").partition(" 2 ")[:2]
    return np.array(sum(text(w) == text(t) for w, t in zip(words, target)) / words.shape[0])


def exact_match__right_torch(words, target):
    """Recursion over a row, the mean as a torch tensor."""
    def same(w, t):
        return len(w) > 0 and w[0] == t[0] and (t[0] == 2 or same(w[1:], t[1:]))
    return torch.tensor([bool(same(list(w), list(t))) for w, t in zip(words, target)]).double().mean()


# ---- noun_alignment

def _cut(weights, positions):
    n = min(weights.shape[1], positions.shape[1])
    return weights[:, :n], positions[:, :n]


def noun_alignment__wrong_untaken_left_out(weights, positions):
    """Leaves nouns beyond the last step out of the count instead of calling them missed."""
    w, p = _cut(weights, positions)
    return ((w.argmax(2) == p) & w.any(2)).sum() / max((p >= 0).sum(), 1)


def noun_alignment__wrong_all_words_counted(weights, positions):
    """Divides by all target words, also those that are no nouns."""
    w, p = _cut(weights, positions)
    return ((w.argmax(2) == p) & w.any(2)).sum() / positions.size


def noun_alignment__wrong_best_step(weights, positions):
    """Takes the largest weight over the steps instead of over the source positions."""
    w, p = _cut(weights, positions)
    n = 0
    for b, i in zip(*np.nonzero(p >= 0)):
        n += w[b, :, p[b, i]].argmax() == i
    return n / (positions >= 0).sum()


def noun_alignment__wrong_above_half(weights, positions):
    """Asks for a weight above one half instead of the largest one."""
    w, p = _cut(weights, positions)
    at = np.take_along_axis(w, np.maximum(p, 0)[..., None], 2)[..., 0]
    return ((at > 0.5) & (p >= 0)).sum() / (positions >= 0).sum()


def noun_alignment__wrong_mean_of_sentences(weights, positions):
    """Averages over each sentence first, so a noun of a short sentence counts more."""
    w, p = _cut(weights, positions)
    n = (positions >= 0).sum(1)
    return (((w.argmax(2) == p) & w.any(2)).sum(1) / np.maximum(n, 1))[n > 0].mean()


def noun_alignment__wrong_counted_from_one(weights, positions):
    """Counts source positions from 1."""
    w, p = _cut(weights, positions)
    return ((w.argmax(2) + 1 == p) & w.any(2)).sum() / (positions >= 0).sum()


def noun_alignment__wrong_weight_sum(weights, positions):
    """Averages the weight on the noun's position instead of counting where it is the largest."""
    w, p = _cut(weights, positions)
    at = np.take_along_axis(w, np.maximum(p, 0)[..., None], 2)[..., 0]
    return at[p >= 0].sum() / (positions >= 0).sum()


def noun_alignment__wrong_subtle_zero_rows(weights, positions):
    """argmax of a row of zeros is 0: a noun from position 0 counts as hit in a step that was not taken."""
    w, p = _cut(weights, positions)
    return (w.argmax(2) == p).sum() / (positions >= 0).sum()


def noun_alignment__wrong_subtle_single_precision(weights, positions):
    """Compares in single precision, where the two largest weights may become equal."""
    w, p = _cut(weights.astype(np.float32), positions)
    return ((w.argmax(2) == p) & w.any(2)).sum() / (positions >= 0).sum()


def noun_alignment__wrong_subtle_byte_position(weights, positions):
    """Stores the position of the largest weight in a signed byte: from 128 on it turns negative."""
    w, p = _cut(weights, positions)
    return ((w.argmax(2).astype(np.int8) == p) & w.any(2)).sum() / (positions >= 0).sum()


def noun_alignment__wrong_subtle_position_zero(weights, positions):
    """Takes position 0 for no noun, by > 0 instead of >= 0."""
    w, p = _cut(weights, positions)
    noun = positions > 0
    return ((w.argmax(2) == p) & w.any(2) & (p > 0)).sum() / max(noun.sum(), 1)


def noun_alignment__wrong_subtle_sum_exactly_one(weights, positions):
    """Takes a step for taken only if its weights add to exactly 1.0, which rounding breaks for many rows."""
    w, p = _cut(weights, positions)
    return ((w.argmax(2) == p) & (w.sum(2) == 1.0)).sum() / (positions >= 0).sum()


def noun_alignment__right_loop(weights, positions):
    """A loop over the nouns, with Python's max."""
    hits = []
    for b in range(len(positions)):
        for i, j in enumerate(positions[b].tolist()):
            if j >= 0:
                row = weights[b, i].tolist() if i < weights.shape[1] else [0.0]
                hits.append(max(row) > 0 and row.index(max(row)) == j)
    return sum(hits) / len(hits)


def noun_alignment__right_padded(weights, positions):
    """Pads the weights with rows of zeros, and gives rows of zeros the position -2."""
    n = max(positions.shape[1] - weights.shape[1], 0)
    w = np.pad(weights, ((0, 0), (0, n), (0, 0)))[:, :positions.shape[1]]
    best = np.where(w.sum(2) > 0.5, w.argmax(2), -2)
    return np.mean((best == positions)[positions >= 0])


def noun_alignment__right_beats_all_others(weights, positions):
    """Asks whether the weight there is strictly larger than every other one; a step alone with one word needs a weight."""
    b, i = np.nonzero(positions[:, :weights.shape[1]] >= 0)
    j = positions[b, i]
    rows = weights[b, i].copy()
    at = rows[np.arange(len(j)), j]
    rows[np.arange(len(j)), j] = 0
    return float(np.sum(at > rows.max(axis=1, initial=0.0))) / np.count_nonzero(positions + 1)


def noun_alignment__right_torch_sort(weights, positions):
    """By torch's argsort, the last one being the largest; a tensor of no axes."""
    w, p = _cut(weights, positions)
    w, p = torch.from_numpy(w.copy()), torch.from_numpy(p.copy())
    best = w.argsort(dim=2)[..., -1]
    hit = (best == p) & (w.amax(2) > 0)
    return hit.sum().double() / int((positions != -1).sum())
