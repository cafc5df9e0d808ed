"""Answers to the exercises of capstone.ipynb, right and wrong. PAD, START and STOP of the notebook are written as numbers."""

import numpy as np
import torch
from torch.nn import functional as F


# ---------------------------------------------------------------- 7.4
def _cut(row, with_stop=True):
    row = [int(w) for w in row]
    return row[: row.index(2) + with_stop] if 2 in row else None


def exact_match__wrong_length_only(words, target):
    """Compares only where the stop words stand."""
    return float(np.mean([len(_cut(w) or []) == len(_cut(t)) for w, t in zip(words, target)]))


def exact_match__wrong_subtle_bytes(words, target):
    """Compares bytes, so numbers that differ by 256 look alike."""
    cut = lambda r: np.array(_cut(r)).astype(np.uint8).tolist() if 2 in r else None
    return float(np.mean([cut(w) == cut(t) for w, t in zip(words, target)]))


def exact_match__right_lists(words, target):
    """Right: cuts both rows behind the first stop word and compares lists."""
    right = [_cut(w) == _cut(t) for w, t in zip(words, target)]
    return sum(right) / len(right)


def exact_match__right_prefix(words, target):
    """Right: the written row must begin with the target up to its stop word (which holds no earlier stop word)."""
    good = 0
    for w, t in zip(words.tolist(), target.tolist()):
        n = t.index(2) + 1
        good += w[:n] == t[:n]
    return np.float64(good) / len(words)


def exact_match__right_masked_compare(words, target):
    """Right: fills to equal width with -1 and compares where the target is real, all by arrays."""
    extra = max(0, target.shape[1] - words.shape[1])
    w = np.pad(words, ((0, 0), (0, extra)), constant_values=-1)[:, : target.shape[1]]
    return np.mean(np.all((w == target) | (target == 0), axis=1))


def exact_match__right_torch(words, target):
    """Right: zeroes what follows the first stop word by cumsum, in torch, and returns a tensor."""
    w, t = torch.as_tensor(words), torch.as_tensor(target)
    stopped = (w == 2).any(1)
    w = torch.where((w == 2).cumsum(1) - (w == 2).long() > 0, torch.zeros_like(w), w)
    n = max(w.shape[1], t.shape[1])
    w, t = F.pad(w, (0, n - w.shape[1])), F.pad(t, (0, n - t.shape[1]))
    return ((w == t).all(1) & stopped).double().mean()


# ---------------------------------------------------------------- 7.5
def _hits(weights, positions, best=None):
    """List of hits of all nouns; steps not taken miss."""
    best = weights.argmax(-1) if best is None else best
    out = []
    for b, i in np.argwhere(positions >= 0):
        out.append(bool(i < weights.shape[1] and weights[b, i].any() and best[b, i] == positions[b, i]))
    return out


def noun_alignment__wrong_count(weights, positions):
    """Returns the number of hits instead of the fraction."""
    return float(sum(_hits(weights, positions)))


def noun_alignment__wrong_counted_from_one(weights, positions):
    """Counts source positions from 1."""
    return float(np.mean(_hits(weights, positions, weights.argmax(-1) + 1)))


def noun_alignment__right_loop(weights, positions):
    """Right: a loop over nouns."""
    hit = nouns = 0
    for row, places in zip(weights, positions):
        for i, place in enumerate(places):
            if place >= 0:
                nouns += 1
                if i < len(row) and row[i].max() > 0:
                    hit += row[i].argmax() == place
    return hit / nouns


def noun_alignment__right_padded_arrays(weights, positions):
    """Right: fills missing steps with zeros, gives rows of zeros the place -2, all by arrays."""
    lack = max(0, positions.shape[1] - weights.shape[1])
    w = np.pad(weights, ((0, 0), (0, lack), (0, 0)))[:, : positions.shape[1]]
    best = np.where(w.sum(-1) > 0.5, w.argmax(-1), -2)
    return (best == positions).sum() / (positions != -1).sum()


def noun_alignment__right_torch(weights, positions):
    """Right: torch, by the sorted order of each row, result a tensor of no axes."""
    w, p = torch.as_tensor(weights), torch.as_tensor(positions)
    n = min(w.shape[1], p.shape[1])
    best = w.argsort(-1, descending=True)[..., 0]
    best[w.amax(-1) == 0] = -7
    return (best[:, :n] == p[:, :n]).sum(dtype=torch.float64) / p.ge(0).sum()


def noun_alignment__right_pure_python(weights, positions):
    """Right: plain lists, max and index."""
    W = weights.tolist()
    found = [W[b][i].index(max(W[b][i])) == q if i < len(W[b]) and max(W[b][i]) else False
             for b, row in enumerate(positions.tolist()) for i, q in enumerate(row) if q != -1]
    return found.count(True) / len(found)
