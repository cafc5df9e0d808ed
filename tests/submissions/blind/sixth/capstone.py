import math

import numpy as np
import torch


# ---- exact_match
def _cut(row):
    row = [int(x) for x in row]
    return row[: row.index(2) + 1] if 2 in row else None


def _fraction(hits):
    return sum(hits) / len(hits)


def exact_match__wrong_whole_rows(words, target):
    """Compares what stands after the stop word too."""
    n = min(words.shape[1], target.shape[1])
    return float((words[:, :n] == target[:, :n]).all(1).mean())


def exact_match__wrong_subtle_count_in_8_bits(words, target):
    """Counts the right sentences in 8 bits, so 256 of them are none."""
    hits = np.array([_cut(w) == _cut(t) for w, t in zip(words, target)], dtype=np.uint8)
    return float(hits.sum(dtype=np.uint8)) / len(hits)


def exact_match__wrong_subtle_rounded(words, target):
    """Rounds the fraction to six decimals."""
    return round(_fraction([_cut(w) == _cut(t) for w, t in zip(words, target)]), 6)


def exact_match__wrong_subtle_checksum(words, target):
    """Compares sums of the words times powers of 1/100, in which far words of a long sentence vanish."""
    code = lambda r: -1.0 if r is None else math.fsum(x * 100.0 ** -i for i, x in enumerate(r))
    return _fraction([code(_cut(w)) == code(_cut(t)) for w, t in zip(words, target)])


def exact_match__right_prefix(words, target):
    """Compares the columns up to the target's stop with a mask, where words are too few with an impossible number."""
    w = np.full((len(words), max(words.shape[1], target.shape[1])), -1)
    w[:, : words.shape[1]] = words
    t = np.zeros_like(w)
    t[:, : target.shape[1]] = target
    return ((w == t) | (np.arange(w.shape[1]) > (t == 2).argmax(1)[:, None])).all(1).mean()


def exact_match__right_cut_lists(words, target):
    """Cuts lists after the first stop word and counts in Python."""
    return _fraction([_cut(w) == _cut(t) for w, t in zip(words, target)])


def exact_match__right_recursion(words, target):
    """Walks along both rows by recursion and returns an array without axes."""
    def alike(w, t):
        return len(w) > 0 and w[0] == t[0] and (t[0] == 2 or alike(w[1:], t[1:]))
    return np.array(sum(alike(w, t) for w, t in zip(words.tolist(), target.tolist())) / len(words))


def exact_match__right_bytes(words, target):
    """Compares the bytes of the target without pads with those of the first words, in double precision torch."""
    hits = [w[: (t != 0).sum()].astype(np.int64).tobytes() == t[t != 0].astype(np.int64).tobytes() for w, t in zip(words, target)]
    return torch.tensor(hits, dtype=torch.float64).mean()


# ---- noun_alignment
def _hits(weights, positions, taken=None):
    hits = []
    for b, i in zip(*np.nonzero(positions >= 0)):
        row = weights[b, i] if i < weights.shape[1] else None
        hits.append(row is not None and (row.any() if taken is None else taken(row)) and int(np.argmax(row)) == positions[b, i])
    return hits


def noun_alignment__wrong_more_than_half(weights, positions):
    """Demands a weight above one half."""
    return _fraction([i < weights.shape[1] and weights[b, i, positions[b, i]] > .5 for b, i in zip(*np.nonzero(positions >= 0))])


def noun_alignment__wrong_subtle_padded_steps(weights, positions):
    """Pads the argmax of missing steps with 0, so a noun from position 0 counts as hit beyond the length."""
    best = np.where(weights.any(2), weights.argmax(2), -1)
    best = np.pad(best, ((0, 0), (0, max(0, positions.shape[1] - best.shape[1]))))[:, : positions.shape[1]]
    return float((best == positions)[positions >= 0].mean())


def noun_alignment__wrong_subtle_small_maximum_not_taken(weights, positions):
    """Holds a step for not taken if its largest weight is below 0.01, as it may be in a long sentence."""
    return _fraction(_hits(weights, positions, lambda row: row.max() > .01))


def noun_alignment__wrong_subtle_positions_in_8_bits(weights, positions):
    """Stores positions in 8 bits, so those from 128 on become negative and are no nouns."""
    return _fraction(_hits(weights, positions.astype(np.int8)) or [0])


def noun_alignment__right_loops(weights, positions):
    """Loops over the nouns and compares the weight with all others."""
    hits = nouns = 0
    for W, row in zip(weights.tolist(), positions.tolist()):
        for i, j in enumerate(row):
            if j >= 0:
                nouns += 1
                hits += i < len(W) and all(W[i][j] > x for k, x in enumerate(W[i]) if k != j) and W[i][j] > 0
    return hits / nouns


def noun_alignment__right_padded_one_hot(weights, positions):
    """Pads the weights with rows of zeros, marks largest weights above 0, and picks with take_along_axis."""
    b, t = positions.shape
    W = np.zeros((b, max(t, weights.shape[1]), weights.shape[2]))
    W[:, : weights.shape[1]] = weights
    W = W[:, :t]
    best = (W == W.max(2, keepdims=True)) & (W > 0)
    hit = np.take_along_axis(best, np.maximum(positions, 0)[..., None], 2)[..., 0]
    return hit[positions != -1].mean()


def noun_alignment__right_extra_column(weights, positions):
    """Puts a column before the weights that wins at rows of zeros, and compares the argmax less 1, in torch."""
    w = torch.as_tensor(weights)
    best = torch.cat([torch.full_like(w[..., :1], 1e-300), w], 2).argmax(2) - 1
    n = min(w.shape[1], positions.shape[1])
    p = torch.as_tensor(positions)
    return ((best[:, :n] == p[:, :n]) & (p[:, :n] >= 0)).sum().double() / (p >= 0).sum()


def noun_alignment__right_set_of_triples(weights, positions):
    """Intersects the set of (sentence, step, largest) with the set of nouns."""
    found = {(b, i, int(weights[b, i].argmax())) for b, i in np.argwhere(weights.sum(2) > .5).tolist()}
    nouns = {(b, i, int(positions[b, i])) for b, i in np.argwhere(positions > -1).tolist()}
    return len(found & nouns) / len(nouns)
