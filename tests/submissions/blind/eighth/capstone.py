
import numpy as np
import torch


# ---- exact_match

def _upto(row):
    """The numbers before the first stop word, or None if there is none."""
    row = [int(x) for x in row]
    return row[:row.index(2)] if 2 in row else None


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


def noun_alignment__wrong_above_half(weights, positions):
    """Asks for a weight above one half instead of the largest one."""
    w, p = _cut(weights, positions)
    at = np.take_along_axis(w, np.maximum(p, 0)[..., None], 2)[..., 0]
    return ((at > 0.5) & (p >= 0)).sum() / (positions >= 0).sum()


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
