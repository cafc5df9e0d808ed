from itertools import zip_longest

import numpy as np
import torch
import torch.nn.functional as F


# ---------------------------------------------------------------- exact match
def _cut(row):
    row = [int(w) for w in row]
    return row[:row.index(2) + 1] if 2 in row else None


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


def noun_alignment__wrong_above_half(weights, positions):
    """Asks for a weight above one half instead of the largest."""
    n = min(weights.shape[1], positions.shape[1])
    w = np.take_along_axis(weights[:, :n], np.maximum(positions[:, :n], 0)[..., None], 2)[..., 0]
    return float(((w > 0.5) & (positions[:, :n] >= 0)).sum() / (positions >= 0).sum())


def noun_alignment__wrong_argmax_over_steps(weights, positions):
    """Takes the largest weight over the steps instead of over the source positions."""
    n = min(weights.shape[2], positions.shape[1])
    p = positions[:, :n]
    return float(((weights.argmax(1)[:, :n] == p) & (p >= 0)).sum() / (positions >= 0).sum())


def noun_alignment__wrong_subtle_int8_positions(weights, positions):
    """Stores the position of the largest weight in 8 bits, which is negative from 128 on."""
    n = min(weights.shape[1], positions.shape[1])
    w, p = weights[:, :n], positions[:, :n]
    return float(((w.argmax(2).astype(np.int8) == p) & (w.sum(2) > 0) & (p >= 0)).sum() / (positions >= 0).sum())


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
