import math
from fractions import Fraction
from itertools import zip_longest

import numpy as np

# ---------------------------------------------------------------- exact_match

def _cut(row):
    row = list(row)
    return row[:row.index(2)] if 2 in row else row


def exact_match__wrong_zip(words, target):
    """The student compares by zip, which ends with the shorter of the two."""
    return float(np.mean([all(a == b for a, b in zip(_cut(w), _cut(t))) and 2 in w for w, t in zip(words, target)]))


def exact_match__wrong_after_second_stop(words, target):
    """The student means to clear what follows the first stop word, and clears from the second one on."""
    w = np.where(np.cumsum(words == 2, axis=1) > 1, 0, words)
    n = max(words.shape[1], target.shape[1])
    w = np.pad(w, ((0, 0), (0, n - w.shape[1])))
    t = np.pad(target, ((0, 0), (0, n - target.shape[1])))
    return float((w == t).all(axis=1).mean())


def exact_match__wrong_length_of_first(words, target):
    """The student takes the length of the first target sentence for all of them."""
    n = int(np.argmax(target[0] == 2)) + 1
    w = np.pad(words, ((0, 0), (0, n)), constant_values=-1)[:, :n]
    return float((w == target[:, :n]).all(axis=1).mean())


def exact_match__right_real_places(words, target):
    """A comparison at the target's real places after filling with -1."""
    n = target.shape[1]
    w = np.concatenate([words, np.full((len(words), n), -1)], axis=1)[:, :n]
    return np.count_nonzero(((w == target) | (target == 0)).all(1)) / len(target)


def exact_match__right_fraction(words, target):
    """Lists up to and with the first stop word, and an exact Fraction."""
    def _until(row):
        row = row.tolist()
        return row[:row.index(2) + 1] if 2 in row else None
    return Fraction(sum(_until(w) == _until(t) for w, t in zip(words, target)), len(target))


def exact_match__right_texts(words, target):
    """Texts with blanks between the numbers, compared by their beginnings."""
    def _text(row):
        return " ".join(map(str, row.tolist())) + " "
    hits = (_text(w).startswith(_text(t[:np.flatnonzero(t == 2)[0] + 1])) for w, t in zip(words, target))
    return math.fsum(hits) / len(words)


def exact_match__right_cumulated(words, target):
    """Everything behind the first stop word set to 0 in both arrays, then whole rows compared."""
    n = max(words.shape[1], target.shape[1])
    def _clear(a):
        a = np.pad(a, ((0, 0), (0, n - a.shape[1])), constant_values=-5)
        stop = np.cumsum(a == 2, axis=1)
        return np.where(stop - (a == 2) > 0, 0, a)
    return np.mean(np.all(_clear(words) == _clear(target), axis=1))


def exact_match__right_recursion(words, target):
    """A recursion along each pair of rows."""
    def _same(w, t):
        if not w or w[0] != t[0]:
            return False
        return t[0] == 2 or _same(w[1:], t[1:])
    return sum(_same(w, t) for w, t in zip(words.tolist(), target.tolist())) / len(target)


# ---------------------------------------------------------------- noun_alignment

def _fit(weights, n):
    b, length, source = weights.shape
    out = np.zeros((b, n, source))
    out[:, :min(n, length)] = weights[:, :n]
    return out


def noun_alignment__wrong_taken_by_first_weight(weights, positions):
    """The student takes a row for one of zeros if its first weight is 0, which a step that was taken may have too."""
    w = _fit(weights, positions.shape[1])
    hit = (w.argmax(axis=2) == positions) & (w[:, :, 0] > 0)
    return float(hit[positions >= 0].mean())


def noun_alignment__wrong_maximum_equals(weights, positions):
    """The student compares the weight at the position with the largest one, which are both 0 in a row of zeros."""
    w = _fit(weights, positions.shape[1])
    at = np.take_along_axis(w, np.maximum(positions, 0)[..., None], axis=2)[..., 0]
    return float((at == w.max(axis=2))[positions >= 0].mean())


def noun_alignment__wrong_argmax_over_steps(weights, positions):
    """The student looks for each source word's best step, and compares in the other direction."""
    w = _fit(weights, positions.shape[1])
    best = w.argmax(axis=1)
    hits = total = 0
    for b, row in enumerate(positions):
        for i, j in enumerate(row):
            if j >= 0:
                total += 1
                hits += best[b, j] == i and w[b, i].max() > 0
    return float(hits / total)


def noun_alignment__wrong_extra_steps_as_nouns(weights, positions):
    """The student fills positions with 0 for the steps that the model took beyond, which makes nouns of them."""
    n = max(weights.shape[1], positions.shape[1])
    p = np.pad(positions, ((0, 0), (0, n - positions.shape[1])))
    w = _fit(weights, n)
    hit = (w.argmax(axis=2) == p) & (w.max(axis=2) > 0)
    return float(hit[p >= 0].mean())


def noun_alignment__wrong_shifted_by_start(weights, positions):
    """The student aligns the last steps with the last words where their numbers differ."""
    b, length, source = weights.shape
    n = positions.shape[1]
    w = weights[:, length - n:] if length >= n else np.concatenate([np.zeros((b, n - length, source)), weights], axis=1)
    hit = (w.argmax(axis=2) == positions) & (w.max(axis=2) > 0)
    return float(hit[positions >= 0].mean())


def noun_alignment__wrong_rounded_away(weights, positions):
    """The student rounds the weights to one decimal before looking for the largest, which makes ties of 0.36 and 0.44."""
    w = np.round(_fit(weights, positions.shape[1]), 1)
    hit = (w.argmax(axis=2) == positions) & (w.max(axis=2) > 0)
    return float(hit[positions >= 0].mean())


def noun_alignment__right_loop_fraction(weights, positions):
    """A loop over the nouns and an exact Fraction."""
    hits = []
    for b, i in zip(*np.nonzero(positions + 1)):
        row = weights[b, i].tolist() if i < weights.shape[1] else [0.0]
        hits.append(max(row) > 0 and row.index(max(row)) == positions[b, i])
    return Fraction(sum(hits), len(hits))


def noun_alignment__right_one_hot(weights, positions):
    """A one-hot array of positions against one of the largest weights, by einsum."""
    w = _fit(weights, positions.shape[1])
    best = (w == w.max(axis=2, keepdims=True)) & (w > 0)
    hot = positions[..., None] == np.arange(w.shape[2])
    return np.einsum("bij,bij->", best.astype(float), hot.astype(float)) / hot.sum()


def noun_alignment__right_filled(weights, positions):
    """A column of small weight put in front, where rows of zeros have their largest number."""
    n = positions.shape[1]
    b, length, source = weights.shape
    w = np.concatenate([weights, np.zeros((b, n, source))], axis=1)[:, :n]
    w = np.concatenate([np.full((b, n, 1), np.finfo(float).tiny), w], axis=2)
    noun = positions != -1
    return np.average(w.argmax(axis=2) == positions + 1, weights=noun)


def noun_alignment__right_rank(weights, positions):
    """A noun counts if no other weight of its row is as large as its own."""
    total = hits = 0
    for rows, places in zip(weights.tolist(), positions.tolist()):
        for row, place in zip_longest(rows, places, fillvalue=None):
            if place is None or place < 0:
                continue
            total += 1
            hits += row is not None and row[place] > 0 and all(x < row[place] for j, x in enumerate(row) if j != place)
    return np.float64(hits) / total
