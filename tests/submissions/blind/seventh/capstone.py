import math
from itertools import takewhile, zip_longest

import numpy as np
import torch
import torch.nn.functional as F


# ---------------------------------------------------------------- shapes
def training_shapes__wrong_target_one_more(batch, T_x, T_y, m, V_y):
    """Gives the decoder one word more to read than there are steps, counting start and stop both."""
    return {"target_in": (batch, T_y + 1), "contexts": (batch, T_y, m), "heat_maps": (batch, T_y, T_x), "predictions": (batch, T_y, V_y)}


def training_shapes__wrong_one_hot(batch, T_x, T_y, m, V_y):
    """Gives target_in a vocabulary axis, though it holds word numbers."""
    return {"target_in": (batch, T_y, V_y), "contexts": (batch, T_y, m), "heat_maps": (batch, T_y, T_x), "predictions": (batch, T_y, V_y)}


def training_shapes__wrong_contexts_per_source(batch, T_x, T_y, m, V_y):
    """Gives a context for each source position, as if contexts were the annotations."""
    return {"target_in": (batch, T_y), "contexts": (batch, T_x, m), "heat_maps": (batch, T_y, T_x), "predictions": (batch, T_y, V_y)}


def training_shapes__wrong_heat_swapped(batch, T_x, T_y, m, V_y):
    """Swaps the axes of the heat maps: the source positions come before the steps."""
    return {"target_in": (batch, T_y), "contexts": (batch, T_y, m), "heat_maps": (batch, T_x, T_y), "predictions": (batch, T_y, V_y)}


def training_shapes__wrong_steps_first(batch, T_x, T_y, m, V_y):
    """Puts the steps first and the batch second."""
    return {"target_in": (T_y, batch), "contexts": (T_y, batch, m), "heat_maps": (T_y, batch, T_x), "predictions": (T_y, batch, V_y)}


def training_shapes__wrong_subtle_without_stop(batch, T_x, T_y, m, V_y):
    """Leaves the step of the stop word out of the predictions, though T_y counts it."""
    return {"target_in": (batch, T_y), "contexts": (batch, T_y, m), "heat_maps": (batch, T_y, T_x), "predictions": (batch, T_y - 1, V_y)}


def training_shapes__right_torch_sizes(batch, T_x, T_y, m, V_y):
    """Reads the shapes off torch tensors as torch.Size."""
    a, h = torch.zeros(batch, T_y, T_x), torch.zeros(batch, T_x, m)
    c = a @ h
    return {"target_in": c[..., 0].shape, "contexts": c.shape, "heat_maps": a.shape, "predictions": (c @ torch.zeros(m, V_y)).shape}


def training_shapes__right_sum_of_tuples(batch, T_x, T_y, m, V_y):
    """Extends one common tuple."""
    step = (batch, T_y)
    return dict(zip(("target_in", "contexts", "heat_maps", "predictions"), (step + x for x in ((), (m,), (T_x,), (V_y,)))))


# ---------------------------------------------------------------- parameters
def count_parameters__wrong_one_direction():
    """Counts 36 numbers in an annotation and forgets the second direction."""
    return {"W_query": 960, "W_key": 864, "v": 24, "all": 1848}


def count_parameters__wrong_biases():
    """Adds biases, which the text excludes."""
    return {"W_query": 24 * 41, "W_key": 24 * 73, "v": 25, "all": 24 * 41 + 24 * 73 + 25}


def count_parameters__wrong_swapped():
    """Swaps the sizes of decoder state and annotation."""
    return {"W_query": 1728, "W_key": 960, "v": 24, "all": 2712}


def count_parameters__wrong_square_v():
    """Counts v as a square matrix of the attention size."""
    return {"W_query": 960, "W_key": 1728, "v": 576, "all": 3264}


def count_parameters__wrong_subtle_sum_without_v():
    """Forgets v in the sum."""
    return {"W_query": 960, "W_key": 1728, "v": 24, "all": 2688}


def count_parameters__right_numel():
    """Counts the entries of torch layers and gives plain integers."""
    n = {k: sum(p.numel() for p in torch.nn.Linear(i, o, bias=False).parameters()) for k, i, o in (("W_query", 40, 24), ("W_key", 72, 24), ("v", 24, 1))}
    return {**n, "all": sum(n.values())}


def count_parameters__right_numpy_ints():
    """Gives numpy integers."""
    a = np.array([40, 2 * 36, 1]) * 24
    return {"W_query": a[0], "W_key": a[1], "v": a[2], "all": a.sum()}


# ---------------------------------------------------------------- loss
def _nll(logits, target):
    return -torch.log_softmax(logits, -1).gather(-1, target.long()[..., None])[..., 0]


def translation_loss__wrong_pads_in_divisor(logits, target):
    """Divides by the number of all positions, pads too."""
    return (_nll(logits, target) * (target != 0)).mean()


def translation_loss__wrong_pads_count(logits, target):
    """Counts the pads as words to be predicted."""
    return _nll(logits, target).mean()


def translation_loss__wrong_mean_of_sentences(logits, target):
    """Averages the sentences' own averages, so words of short sentences count more."""
    m = target != 0
    s = (_nll(logits, target) * m).sum(1)
    some = m.any(1)
    return (s[some] / m.sum(1)[some]).mean()


def translation_loss__wrong_bits(logits, target):
    """Measures in bits instead of nats."""
    return _nll(logits, target)[target != 0].mean() / math.log(2)


def translation_loss__wrong_softmax_twice(logits, target):
    """Hands probabilities to cross_entropy, which takes logits, so softmax is applied twice."""
    return F.cross_entropy(torch.softmax(logits, -1).flatten(0, 1), target.flatten(), ignore_index=0)


def translation_loss__wrong_reshape(logits, target):
    """Reshapes the logits to (batch, vocab, length) instead of transposing them, which mixes words and positions."""
    B, T, V = logits.shape
    return F.cross_entropy(logits.reshape(B, V, T), target, ignore_index=0)


def translation_loss__wrong_divided_by_sentences(logits, target):
    """Divides the sum by the number of sentences instead of words."""
    return _nll(logits, target)[target != 0].sum() / len(target)


def translation_loss__wrong_subtle_log_of_softmax(logits, target):
    """Takes the log of the softmax, which is minus infinity where the probability underflows."""
    return -torch.log(torch.softmax(logits, -1).gather(-1, target[..., None])[..., 0][target != 0]).mean()


def translation_loss__wrong_subtle_pad_class_excluded(logits, target):
    """Leaves the pad's logit out of the softmax."""
    return F.nll_loss(torch.log_softmax(logits[..., 1:], -1).flatten(0, 1), target.flatten() - 1, ignore_index=-1)


def translation_loss__wrong_subtle_leading_pads(logits, target):
    """Takes pads to stand at the end: it counts every position up to the number of real words in a row."""
    m = torch.arange(target.shape[1]) < (target != 0).sum(1, keepdim=True)
    return _nll(logits, target)[m].mean()


def translation_loss__wrong_subtle_positive_losses(logits, target):
    """Counts the words with a loss above 0, so certain words, whose loss is exactly 0, drop out of the average."""
    e = _nll(logits, target) * (target != 0)
    return e.sum() / (e > 0).sum().clamp_min(1)


def translation_loss__wrong_subtle_extra_gradient(logits, target):
    """Detaches the maximum inside the exponential only, which gives the right loss and a gradient that is off at the largest logit."""
    top = logits.amax(-1, keepdim=True)
    lse = top[..., 0] + torch.log(torch.exp(logits - top.detach()).sum(-1))
    return (lse - logits.gather(-1, target[..., None])[..., 0])[target != 0].mean()


def translation_loss__wrong_subtle_global_max(logits, target):
    """Subtracts the maximum of the whole batch instead of that of each row, so rows with far lower logits give log 0."""
    x = logits - logits.max().detach()
    return (torch.log(torch.exp(x).sum(-1)) - x.gather(-1, target[..., None])[..., 0])[target != 0].mean()


def translation_loss__right_ignore_index(logits, target):
    """Uses cross_entropy with the vocabulary as second axis and ignore_index."""
    return F.cross_entropy(logits.transpose(1, 2), target.long(), ignore_index=0)


def translation_loss__right_loops(logits, target):
    """Loops over the words and adds logsumexp minus the word's logit, result with shape ()."""
    total, n = 0.0, 0
    for rows, words in zip(logits, target.tolist()):
        for x, w in zip(rows, words):
            if w:
                total, n = total + torch.logsumexp(x, 0) - x[w], n + 1
    return total / n


def translation_loss__right_one_hot(logits, target):
    """Multiplies log-softmax by one-hot words without the pad's column."""
    hot = F.one_hot(target.long(), logits.shape[2]).to(logits.dtype)
    hot = torch.cat([torch.zeros_like(hot[..., :1]), hot[..., 1:]], -1)
    return -torch.einsum("btv,btv->", hot, F.log_softmax(logits, 2)) / hot.sum()


def translation_loss__right_differences(logits, target):
    """Takes logsumexp of the differences to the right word's logit, over selected real words."""
    m = target > 0
    x, w = logits[m], target[m]
    return torch.logsumexp(x - x[torch.arange(len(w)), w][:, None], 1).sum() / len(w)


# ---------------------------------------------------------------- exact match
def _cut(row):
    row = [int(w) for w in row]
    return row[:row.index(2) + 1] if 2 in row else None


def exact_match__wrong_whole_rows(words, target):
    """Compares whole rows, so what comes after the stop word counts."""
    n = max(words.shape[1], target.shape[1])
    f = lambda a: np.pad(a, ((0, 0), (0, n - a.shape[1])))
    return float((f(words) == f(target)).all(1).mean())


def exact_match__wrong_word_accuracy(words, target):
    """Gives the fraction of right words instead of right sentences."""
    n = min(words.shape[1], target.shape[1])
    m = target != 0
    return float(((words[:, :n] == target[:, :n]) & m[:, :n]).sum() / m.sum())


def exact_match__wrong_bag_of_words(words, target):
    """Compares sorted words, so the order does not count."""
    return float(np.mean([_cut(w) is not None and sorted(_cut(w)) == sorted(_cut(t)) for w, t in zip(words, target)]))


def exact_match__wrong_zeros_stripped(words, target):
    """Strips zeros from what the model wrote, though they count before the stop word."""
    f = lambda r: [w for w in (_cut(r) or [-1]) if w]
    return float(np.mean([f(w) == f(t) for w, t in zip(words, target)]))


def exact_match__wrong_last_stop(words, target):
    """Cuts the model's row at its last stop word instead of its first."""
    def f(r):
        at = np.flatnonzero(r == 2)
        return r[:at[-1] + 1].tolist() if len(at) else None
    return float(np.mean([f(w) == _cut(t) for w, t in zip(words, target)]))


def exact_match__wrong_count(words, target):
    """Gives the number of right sentences instead of the fraction."""
    return float(sum(_cut(w) == _cut(t) for w, t in zip(words, target)))


def exact_match__wrong_only_length(words, target):
    """Only compares where the stop word stands."""
    return float(np.mean([_cut(w) is not None and len(_cut(w)) == len(_cut(t)) for w, t in zip(words, target)]))


def exact_match__wrong_subtle_missing_stop(words, target):
    """Accepts a row without a stop word if all words before the stop word are right."""
    f = lambda r: list(takewhile(lambda w: w != 2, r.tolist()))
    return float(np.mean([f(w) == f(t) for w, t in zip(words, target)]))


def exact_match__wrong_subtle_common_columns(words, target):
    """Compares only the columns both arrays have, so a row that is too short for its stop word counts as right."""
    n = min(words.shape[1], target.shape[1])
    w, t = words[:, :n], target[:, :n]
    return float(((w == t) | (t == 0)).all(1).mean())


def exact_match__wrong_subtle_joined_digits(words, target):
    """Compares the words joined to one string of digits, so 31 3 and 3 13 are the same."""
    f = lambda r: "".join(map(str, _cut(r))) if _cut(r) else "none"
    return float(np.mean([f(w) == f(t) for w, t in zip(words, target)]))


def exact_match__wrong_subtle_int8_count(words, target):
    """Counts the right sentences in 8 bits, which overflows from 128 on."""
    ok = np.array([_cut(w) == _cut(t) for w, t in zip(words, target)], dtype=np.int8)
    return float(ok.sum(dtype=np.int8) / len(ok))


def exact_match__wrong_subtle_mean_of_chunks(words, target):
    """Averages the fractions of chunks of 1000 sentences, the last of which may be smaller."""
    ok = [_cut(w) == _cut(t) for w, t in zip(words, target)]
    return float(np.mean([np.mean(ok[i:i + 1000]) for i in range(0, len(ok), 1000)]))


def exact_match__right_zip_longest(words, target):
    """Walks along both rows with zip_longest until the stop word of the target."""
    hits = 0
    for w, t in zip(words.tolist(), target.tolist()):
        for a, b in zip_longest(w, t):
            if a != b:
                break
            if b == 2:
                hits += 1
                break
    return hits / len(words)


def exact_match__right_masked_compare(words, target):
    """Pads the words with -1 to the width of the target and compares where the target is no pad."""
    n = target.shape[1]
    w = np.full(target.shape, -1)
    w[:, :words.shape[1]] = words[:, :n]
    return ((w == target) | (target == 0)).all(axis=1).mean()


def exact_match__right_tuples(words, target):
    """Compares a slice of the model's row with the tuple of the target's non-zero words, in Python."""
    right = [tuple(t[t != 0]) for t in target]
    return sum(tuple(w[:len(r)]) == r for w, r in zip(words, right)) / float(len(right))


def exact_match__right_cumulated(words, target):
    """Keeps words while no stop word stands before, by a cumulative sum, in torch; result a tensor without axes."""
    w, t = torch.tensor(np.array(words)).long(), torch.tensor(np.array(target)).long()
    n = max(w.shape[1], t.shape[1])
    f = lambda x: F.pad(torch.where(((x == 2).cumsum(1) - (x == 2).long()) == 0, x, -7), (0, n - x.shape[1]), value=-7)
    return (f(w) == f(t)).all(1).double().mean()


# ---------------------------------------------------------------- noun alignment
def _hits(weights, positions):
    n = min(weights.shape[1], positions.shape[1])
    w, p = weights[:, :n], positions[:, :n]
    return (w.argmax(2) == p) & (w.max(2) > 0) & (p >= 0)


def noun_alignment__wrong_all_words(weights, positions):
    """Divides by the number of all target words instead of nouns."""
    return float(_hits(weights, positions).sum() / positions.size)


def noun_alignment__wrong_untaken_left_out(weights, positions):
    """Leaves nouns beyond the model's last step out of the count instead of counting them as missed."""
    n = weights.shape[1]
    return float(_hits(weights, positions).sum() / max((positions[:, :n] >= 0).sum(), 1))


def noun_alignment__wrong_mean_of_sentences(weights, positions):
    """Averages the fractions of the sentences, so nouns do not count alike."""
    h, n = _hits(weights, positions).sum(1), (positions >= 0).sum(1)
    return float((h[n > 0] / n[n > 0]).mean())


def noun_alignment__wrong_above_half(weights, positions):
    """Asks for a weight above one half instead of the largest."""
    n = min(weights.shape[1], positions.shape[1])
    w = np.take_along_axis(weights[:, :n], np.maximum(positions[:, :n], 0)[..., None], 2)[..., 0]
    return float(((w > 0.5) & (positions[:, :n] >= 0)).sum() / (positions >= 0).sum())


def noun_alignment__wrong_weight_mass(weights, positions):
    """Averages the weight on the nouns' positions instead of counting hits."""
    n = min(weights.shape[1], positions.shape[1])
    w = np.take_along_axis(weights[:, :n], np.maximum(positions[:, :n], 0)[..., None], 2)[..., 0]
    return float((w * (positions[:, :n] >= 0)).sum() / (positions >= 0).sum())


def noun_alignment__wrong_argmax_over_steps(weights, positions):
    """Takes the largest weight over the steps instead of over the source positions."""
    n = min(weights.shape[2], positions.shape[1])
    p = positions[:, :n]
    return float(((weights.argmax(1)[:, :n] == p) & (p >= 0)).sum() / (positions >= 0).sum())


def noun_alignment__wrong_position_zero(weights, positions):
    """Takes only positions above 0 for nouns and loses those on the first source word."""
    return float((_hits(weights, positions) & (positions[:, :weights.shape[1]] > 0)[:, :weights.shape[1]]).sum() / max((positions > 0).sum(), 1))


def noun_alignment__wrong_last_row_repeated(weights, positions):
    """Uses the last step's weights for nouns beyond it, so they may count as found."""
    w = weights[:, np.minimum(np.arange(positions.shape[1]), weights.shape[1] - 1)]
    return float(_hits(w, positions).sum() / (positions >= 0).sum())


def noun_alignment__wrong_subtle_stopped_at_zero(weights, positions):
    """Takes argmax of rows of zeros, which is 0, so a stopped sentence finds nouns at source position 0."""
    n = min(weights.shape[1], positions.shape[1])
    return float((weights[:, :n].argmax(2) == positions[:, :n]).sum() / (positions >= 0).sum())


def noun_alignment__wrong_subtle_single_precision(weights, positions):
    """Takes the largest weight in single precision, where two close weights are equal and the first one wins."""
    return float(_hits(weights.astype(np.float32), positions).sum() / (positions >= 0).sum())


def noun_alignment__wrong_subtle_zero_weight_means_stopped(weights, positions):
    """Takes a step with any weight of 0 for one that was not taken."""
    h = _hits(weights, positions)
    return float((h & (weights > 0).all(2)[:, :h.shape[1]]).sum() / (positions >= 0).sum())


def noun_alignment__wrong_subtle_int8_positions(weights, positions):
    """Stores the position of the largest weight in 8 bits, which is negative from 128 on."""
    n = min(weights.shape[1], positions.shape[1])
    w, p = weights[:, :n], positions[:, :n]
    return float(((w.argmax(2).astype(np.int8) == p) & (w.sum(2) > 0) & (p >= 0)).sum() / (positions >= 0).sum())


def noun_alignment__wrong_subtle_isclose(weights, positions):
    """Accepts any weight that is close to the largest, so a noun is found on the second largest."""
    n = min(weights.shape[1], positions.shape[1])
    w, p = weights[:, :n], positions[:, :n]
    own = np.take_along_axis(w, np.maximum(p, 0)[..., None], 2)[..., 0]
    return float((np.isclose(own, w.max(2)) & (w.max(2) > 0) & (p >= 0)).sum() / (positions >= 0).sum())


def noun_alignment__wrong_subtle_sum_exactly_one(weights, positions):
    """Takes a step as taken only if its weights add to exactly 1, which rounding spoils."""
    h = _hits(weights, positions)
    return float((h & (weights.sum(2) == 1.0)[:, :h.shape[1]]).sum() / (positions >= 0).sum())


def noun_alignment__right_loop(weights, positions):
    """Loops over the nouns alone and compares with max and index of lists."""
    found = nouns = 0
    for b, t in zip(*np.nonzero(positions >= 0)):
        nouns += 1
        if t < weights.shape[1]:
            row = weights[b, t].tolist()
            found += max(row) > 0 and row.index(max(row)) == positions[b, t]
    return found / nouns


def noun_alignment__right_extra_column(weights, positions):
    """Adds a column of tiny weight in front, which wins in rows of zeros, and pads missing steps with zeros."""
    (B, n, S), T = weights.shape, positions.shape[1]
    w = np.zeros((B, max(n, T), S + 1))
    w[:, :n, 1:], w[:, :, 0] = weights, 1e-3
    noun = positions != -1
    return float((w[:, :T].argmax(-1)[noun] == positions[noun] + 1).mean())


def noun_alignment__right_beats_all_others(weights, positions):
    """Asks whether the noun's weight exceeds every other weight and 0, in torch."""
    w, p = torch.tensor(weights), torch.tensor(positions).long()
    b, t = torch.nonzero(p >= 0, as_tuple=True)
    total = len(b)
    b, t = b[t < w.shape[1]], t[t < w.shape[1]]
    rows, at = w[b, t], p[b, t][:, None]
    own = rows.gather(1, at)
    return ((own > rows.scatter(1, at, 0.0)).all(1)).sum().item() / total


def noun_alignment__right_argsort(weights, positions):
    """Compares -1 with the argmax of steps marked as -2 where nothing was taken; numpy scalar as result."""
    T = positions.shape[1]
    best = np.where(weights.sum(-1) > 0.5, np.argsort(weights, axis=-1)[..., -1], -2)
    best = np.hstack([best, np.full((len(best), T), -2)])[:, :T]
    return np.float64(np.count_nonzero(best == positions)) / np.count_nonzero(positions + 1)
