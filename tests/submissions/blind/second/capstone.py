"""Blind answers for capstone: written from the notebook alone."""
import fractions
import itertools

import numpy as np


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
