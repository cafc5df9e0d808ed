import itertools
import math
from fractions import Fraction

import numpy as np


# ---------------------------------------------------------------- exact_match


def exact_match__wrong_stop_not_needed(words, target):
    """The student compares what stands before the first stop word and does not ask for it."""
    def before(row):
        return list(itertools.takewhile(lambda k: k != 2, row))
    return sum(before(w) == before(t) for w, t in zip(words.tolist(), target.tolist())) / len(words)


def exact_match__wrong_argmax_without_stop(words, target):
    """The student finds the stop by argmax, which is 0 where there is none: right words for the empty sentence then."""
    a, b = (words == 2).argmax(1), (target == 2).argmax(1)
    good = [i == j and np.array_equal(w[:i], t[:j]) for w, t, i, j in zip(words, target, a, b)]
    return float(np.mean(good))


def exact_match__wrong_zeros_dropped(words, target):
    """The student drops zeros from what the model wrote, also a pad that it wrote between words."""
    good = 0
    for w, t in zip(words.tolist(), target.tolist()):
        w = [k for k in w if k]
        w = w[:w.index(2) + 1] if 2 in w else w
        good += w == [k for k in t if k]
    return good / len(words)


def exact_match__wrong_everything_counts(words, target):
    """The student pads both to one width and compares whole rows, also what stands after the stop word."""
    n = max(words.shape[1], target.shape[1])
    w, t = (np.pad(x, ((0, 0), (0, n - x.shape[1]))) for x in (words, target))
    return float((w == t).all(1).mean())


def exact_match__wrong_last_stop(words, target):
    """The student cuts at the last stop word."""
    good = 0
    for w, t in zip(words.tolist(), target.tolist()):
        w = w[:len(w) - w[::-1].index(2)] if 2 in w else w
        good += w == t[:t.index(2) + 1]
    return good / len(words)


def exact_match__wrong_integer(words, target):
    """The student divides whole numbers, so the result is 0 or 1."""
    good = sum(w[:len(t)] == t for w, t in ((w, t[:t.index(2) + 1]) for w, t in zip(words.tolist(), target.tolist())))
    return float(good // len(words))


def exact_match__wrong_digits(words, target):
    """The student writes the numbers as one string without spaces: 11, 3 and 1, 13 look alike."""
    def text(row):
        return "".join(map(str, row[:row.index(2)])) if 2 in row else None
    return sum(text(w) == text(t) for w, t in zip(words.tolist(), target.tolist())) / len(words)


def exact_match__wrong_set(words, target):
    """The student compares the sorted words, so the order does not matter."""
    good = 0
    for w, t in zip(words.tolist(), target.tolist()):
        good += 2 in w and sorted(w[:w.index(2)]) == sorted(t[:t.index(2)])
    return good / len(words)


def exact_match__wrong_word_fraction(words, target):
    """The student returns the fraction of right words instead of right sentences."""
    n = target.shape[1]
    w = np.zeros_like(target)
    w[:, :words.shape[1]] = words[:, :n]
    real = target != 0
    return float((w == target)[real].mean())


def exact_match__wrong_blanked_stop(words, target):
    """The student sets everything from the first stop word on to 0, the stop too, so that pads and no stop look like a stop."""
    n = max(words.shape[1], target.shape[1])

    def clean(x):
        x = np.where(np.cumsum(x == 2, axis=1) > 0, 0, x)
        return np.pad(x, ((0, 0), (0, n - x.shape[1])))
    return float((clean(words) == clean(target)).all(1).mean())


def exact_match__wrong_narrow_words(words, target):
    """The student returns 0 where the model wrote fewer columns than the target has, though the missing ones may be pads."""
    if words.shape[1] < target.shape[1]:
        return 0.0
    return float(((words[:, :target.shape[1]] == target) | (target == 0)).all(1).mean())


def exact_match__wrong_product(words, target):
    """The student compares sums of word numbers times position, which agree for different sentences."""
    good = 0
    for w, t in zip(words.tolist(), target.tolist()):
        if 2 in w:
            w, t = w[:w.index(2) + 1], t[:t.index(2) + 1]
            good += len(w) == len(t) and sum(k * i for k, i in zip(w, range(1, 99999))) == sum(k * i for k, i in zip(t, range(1, 99999)))
    return good / len(words)


def exact_match__wrong_batch_stop(words, target):
    """The student cuts all rows at the longest target's stop, so a shorter sentence must be followed by zeros."""
    n = int((target == 2).argmax(1).max()) + 1
    if words.shape[1] < n:
        words = np.pad(words, ((0, 0), (0, n - words.shape[1])))
    return float((words[:, :n] == target[:, :n]).all(1).mean())


def exact_match__right_prefix(words, target):
    """A list must begin with the target up to its stop; Fraction made a float."""
    good = [w[:t.index(2) + 1] == t[:t.index(2) + 1] for w, t in zip(words.tolist(), target.tolist())]
    return float(Fraction(sum(good), len(good)))


def exact_match__right_vectorised(words, target):
    """Widened by -1, compared where the target is no pad."""
    wide = np.full((len(words), max(words.shape[1], target.shape[1])), -1, dtype=np.int64)
    wide[:, :words.shape[1]] = words
    return np.mean(np.all(np.equal(wide[:, :target.shape[1]], target) | (target == 0), axis=1))


def exact_match__right_recursion(words, target):
    """Recursion word by word, on iterators that end in a stop of their own."""
    def same(w, t):
        a, b = next(w, None), next(t)
        return a == b and (b == 2 or same(w, t))
    return math.fsum(same(iter(w), iter(t)) for w, t in zip(words.tolist(), target.tolist())) / words.shape[0]


def exact_match__right_bytes(words, target):
    """Text with separators and str.startswith, a numpy number without axes."""
    def text(row):
        return " ".join(str(int(k)) for k in row) + " "
    hits = np.array([text(w).startswith(text(t[t != 0])) for w, t in zip(words, target)])
    return np.asarray(np.count_nonzero(hits) / hits.size)


# ---------------------------------------------------------------- noun_alignment

def noun_alignment__wrong_stopped_counts_zero(weights, positions):
    """The student takes the argmax of rows of zeros, which is 0: a missed noun with source position 0 is a hit."""
    n = min(weights.shape[1], positions.shape[1])
    hit = (weights[:, :n].argmax(-1) == positions[:, :n]) & (positions[:, :n] >= 0)
    return float(hit.sum() / (positions >= 0).sum())


def noun_alignment__wrong_missing_steps_dropped(weights, positions):
    """The student cuts positions to the steps taken, so nouns beyond are not counted as missed."""
    n = min(weights.shape[1], positions.shape[1])
    w, p = weights[:, :n], positions[:, :n]
    noun = p >= 0
    hit = (w.argmax(-1) == p) & (w.max(-1) > 0) & noun
    return float(hit.sum() / max(noun.sum(), 1))


def noun_alignment__wrong_stopped_dropped(weights, positions):
    """The student leaves nouns at rows of zeros out of the count."""
    hits = count = 0
    for w, p in zip(weights, positions):
        for i, j in enumerate(p):
            if j < 0 or (i < len(w) and not w[i].any()):
                continue
            count += 1
            hits += i < len(w) and w[i].argmax() == j
    return float(hits / max(count, 1))


def noun_alignment__wrong_mean_of_sentences(weights, positions):
    """The student averages the fractions of the sentences."""
    means = []
    for w, p in zip(weights, positions):
        n = min(len(w), len(p))
        hit = (w[:n].argmax(-1) == p[:n]) & (w[:n].max(-1) > 0)
        if (p >= 0).any():
            means.append(hit[p[:n] >= 0].sum() / (p >= 0).sum())
    return float(np.mean(means))


def noun_alignment__wrong_largest_equals(weights, positions):
    """The student asks whether the weight at the noun's position is the largest, which 0 is in a row of zeros."""
    hits = 0
    for b, i in np.argwhere(positions >= 0):
        hits += i < weights.shape[1] and weights[b, i, positions[b, i]] == weights[b, i].max()
    return float(hits / (positions >= 0).sum())


def noun_alignment__wrong_all_words(weights, positions):
    """The student divides by all target words, nouns or not."""
    n = min(weights.shape[1], positions.shape[1])
    hit = (weights[:, :n].argmax(-1) == positions[:, :n]) & (weights[:, :n].max(-1) > 0)
    return float(hit.sum() / positions.size)


def noun_alignment__wrong_minus_one_matches(weights, positions):
    """The student marks steps that were not taken with -1, which agrees with the -1 of words that are no nouns."""
    batch, width = positions.shape
    best = np.full((batch, width), -1)
    n = min(width, weights.shape[1])
    best[:, :n] = np.where(weights[:, :n].max(-1) > 0, weights[:, :n].argmax(-1), -1)
    return float(min((best == positions).sum() / (positions >= 0).sum(), 1.0))


def noun_alignment__wrong_first_sentence_length(weights, positions):
    """The student reads from the first sentence how many steps were taken, for all."""
    taken = int(weights[0].any(-1).sum())
    n = min(taken, positions.shape[1])
    noun = positions >= 0
    hit = (weights[:, :n].argmax(-1) == positions[:, :n]) & noun[:, :n]
    return float(hit.sum() / noun.sum())


def noun_alignment__wrong_threshold(weights, positions):
    """The student takes a step for not taken where no weight exceeds 0.3; with many source words the largest is smaller."""
    n = min(weights.shape[1], positions.shape[1])
    noun = positions[:, :n] >= 0
    hit = (weights[:, :n].argmax(-1) == positions[:, :n]) & noun & (weights[:, :n].max(-1) > 0.3)
    return float(hit.sum() / (positions >= 0).sum())


def noun_alignment__wrong_whole_number(weights, positions):
    """The student divides whole numbers."""
    hits = sum(i < weights.shape[1] and weights[b, i].any() and weights[b, i].argmax() == positions[b, i] for b, i in np.argwhere(positions >= 0))
    return float(hits // (positions >= 0).sum())


def noun_alignment__wrong_column_best(weights, positions):
    """The student looks for the step that weighs a source word most, down the column instead of along the row."""
    hits = 0
    for b, i in np.argwhere(positions >= 0):
        hits += i < weights.shape[1] and weights[b, i].any() and weights[b, :, positions[b, i]].argmax() == i
    return float(hits / (positions >= 0).sum())


def noun_alignment__wrong_clipped_step(weights, positions):
    """The student takes the last step's weights for nouns beyond it."""
    hits = 0
    for b, i in np.argwhere(positions >= 0):
        row = weights[b, min(i, weights.shape[1] - 1)]
        hits += row.any() and row.argmax() == positions[b, i]
    return float(hits / (positions >= 0).sum())


def noun_alignment__wrong_moved_up(weights, positions):
    """The student packs each sentence's nouns together, and compares them with its first rows."""
    hits = 0
    for w, p in zip(weights, positions):
        for i, j in enumerate(p[p >= 0]):
            hits += i < len(w) and w[i].any() and w[i].argmax() == j
    return float(hits / (positions >= 0).sum())


def noun_alignment__right_loops(weights, positions):
    """Sums of Fractions over a generator, Python's max."""
    def hits():
        for w, p in zip(weights.tolist(), positions.tolist()):
            for row, j in itertools.zip_longest(w[:len(p)], p, fillvalue=()):
                if j >= 0:
                    yield bool(row) and any(row) and row.index(max(row)) == j
    every = list(hits())
    return float(sum((Fraction(h) for h in every), Fraction(0)) / len(every))


def noun_alignment__right_padded(weights, positions):
    """Steps filled up with zeros, one column in front that wins where all else is 0."""
    batch, steps, length = weights.shape
    wide = np.zeros((batch, max(steps, positions.shape[1]), length + 1))
    wide[:, :steps, 1:] = weights
    best = wide.argmax(-1)[:, :positions.shape[1]] - 1
    noun = positions != -1
    return np.average(best == positions, weights=noun.astype(float))


def noun_alignment__right_others(weights, positions):
    """A hit is a weight larger than all others, and larger than 0, counted in an array without axes."""
    b, i = np.where(positions > -1)
    j = positions[b, i]
    hits = np.zeros(b.size)
    for k in range(b.size):
        if i[k] < weights.shape[1]:
            row = weights[b[k], i[k]]
            hits[k] = row[j[k]] > max(0.0, *np.delete(row, j[k]), 0.0)
    return np.asarray(np.dot(hits, np.ones(b.size)) / b.size)


def noun_alignment__right_lexsort(weights, positions):
    """Sorting instead of argmax, and sentences one by one."""
    total = hit = 0
    for w, p in zip(weights, positions):
        taken = np.flatnonzero(np.abs(w).sum(-1))
        best = dict(zip(taken.tolist(), np.argsort(w[taken], axis=-1)[:, -1].tolist()))
        nouns = [(i, j) for i, j in enumerate(p.tolist()) if j >= 0]
        hit += sum(best.get(i) == j for i, j in nouns)
        total += len(nouns)
    return hit / total


# ---------------------------------------------------------------- more of the code exercises

def exact_match__wrong_small_type(words, target):
    """The student packs word numbers in 8 bits, where 259 and 3 are the same word and 258 is a stop."""
    w, t = words.astype(np.uint8), target.astype(np.uint8)
    wide = np.zeros((len(w), max(w.shape[1], t.shape[1])), dtype=np.uint8)
    wide[:, :w.shape[1]] = w
    return float(((wide[:, :t.shape[1]] == t) | (t == 0)).all(1).mean())


def exact_match__wrong_resize(words, target):
    """The student brings the words to the target's shape with np.resize, which runs over the ends of rows."""
    w = np.resize(words, target.shape)
    return float(((w == target) | (target == 0)).all(1).mean())


def exact_match__wrong_distinct(words, target):
    """The student collects sentences in a dict, so a target that occurs twice counts once."""
    good = {}
    for w, t in zip(words.tolist(), target.tolist()):
        t = tuple(t[:t.index(2) + 1])
        good[t] = tuple(w[:len(t)]) == t
    return sum(good.values()) / len(good)


def noun_alignment__wrong_steps_expected(weights, positions):
    """The student looks up a row of weights for every noun, which fails where the model took fewer steps."""
    b, i = np.nonzero(positions >= 0)
    rows = weights[b, i]
    return float(((rows.argmax(-1) == positions[b, i]) & rows.any(-1)).mean())


def noun_alignment__wrong_last_position(weights, positions):
    """The student looks weights up by position, where -1 means the last word: a word that is no noun may hit."""
    n = min(weights.shape[1], positions.shape[1])
    picked = np.take_along_axis(weights[:, :n], positions[:, :n, None] % weights.shape[2], -1)[..., 0]
    hit = (picked == weights[:, :n].max(-1)) & (picked > 0)
    return float(min(1.0, hit.sum() / (positions >= 0).sum()))


def noun_alignment__wrong_batch_length(weights, positions):
    """The student takes the whole batch to run as long as its longest sentence, and argmax 0 at a stopped one for a look at word 0."""
    taken = weights.any(axis=(0, 2)).sum()
    hits = sum(i < taken and weights[b, i].argmax() == positions[b, i] for b, i in np.argwhere(positions >= 0))
    return float(hits / (positions >= 0).sum())
