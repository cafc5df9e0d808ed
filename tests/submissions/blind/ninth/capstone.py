
import numpy as np
import torch


# ---- 7.4
def _cut(row):
    row = [int(x) for x in row]
    return row[: row.index(2)] if 2 in row else None


def exact_match__wrong_subtle_window(words, target):
    """Looks at the first 64 columns only, so a later mistake or missing stop word is not seen."""
    w, t = words[:, :64], target[:, :64]
    return float(np.mean([_cut(a) == _cut(b) if 2 in b else list(a) == list(b) for a, b in zip(w, t)]))


def exact_match__wrong_subtle_thousand(words, target):
    """Measures the first 1000 sentences only."""
    return float(np.mean([_cut(w) == _cut(t) for w, t in zip(words[:1000], target[:1000])]))


def exact_match__right_lists(words, target):
    """Lists up to the first stop word, by a loop with the stop in it."""
    def until(row):
        out = []
        for x in row.tolist():
            out.append(x)
            if x == 2:
                return out
        return out + [None]
    return sum(until(w) == until(t) for w, t in zip(words, target)) / len(target)


def exact_match__right_padded(words, target):
    """Pads both with -1, and asks that all columns up to the target's stop agree; a numpy scalar."""
    n = max(words.shape[1], target.shape[1])
    p = lambda a: np.concatenate([a, np.full((len(a), n - a.shape[1]), -1)], 1)
    w, t = p(words), p(target)
    matter = np.arange(n) <= (t == 2).argmax(1)[:, None]
    return ((w == t) | ~matter).all(axis=1).mean()


def exact_match__right_torch(words, target):
    """Torch: counts the places that agree up to the target's stop; a tensor of shape ()."""
    w, t = torch.as_tensor(words), torch.as_tensor(target)
    n = min(w.shape[1], t.shape[1])
    length = (t == 2).int().argmax(1) + 1
    same = ((w[:, :n] == t[:, :n]) & (torch.arange(n) < length[:, None])).sum(1)
    return (same == length).double().mean()


def exact_match__right_strings(words, target):
    """Joins the numbers with spaces and compares the texts with their stop word."""
    ok = []
    for w, t in zip(words, target):
        right = " ".join(map(str, t[: list(t).index(2) + 1])) + " "
        ok.append((" ".join(map(str, w)) + " ").startswith(right))
    return np.array(ok).mean()


def noun_alignment__wrong_last_counts(weights, positions):
    """Reads -1 as the last source position and counts words that are no nouns."""
    n = min(weights.shape[1], positions.shape[1])
    p = positions[:, :n] % weights.shape[2]
    return float(((weights[:, :n].argmax(-1) == p) & weights[:, :n].any(-1)).sum() / (positions >= 0).sum())


def noun_alignment__right_loop(weights, positions):
    """Loops over the nouns."""
    hits = nouns = 0
    for w, p in zip(weights, positions):
        for t, j in enumerate(p.tolist()):
            if j >= 0:
                nouns += 1
                hits += t < len(w) and bool(w[t, j] > 0) and bool(w[t, j] == max(w[t]))
    return hits / nouns


def noun_alignment__right_padded(weights, positions):
    """Pads the steps with zeros and gives untaken ones the place -2; a numpy scalar."""
    w = np.pad(weights, ((0, 0), (0, max(0, positions.shape[1] - weights.shape[1])), (0, 0)))[:, : positions.shape[1]]
    top = np.where(w.sum(-1) > 0, w.argmax(-1), -2)
    return (top == positions)[positions != -1].mean()


def noun_alignment__right_extra_column(weights, positions):
    """Adds a column in front that is largest only for rows of zeros, and shifts the places by one."""
    top = np.concatenate([np.full((*weights.shape[:2], 1), 1e-9 / 2), weights], -1).argmax(-1) - 1
    b, t = np.nonzero(positions >= 0)
    k = t < weights.shape[1]
    return int((top[b[k], t[k]] == positions[b[k], t[k]]).sum()) / len(b)


def noun_alignment__right_torch(weights, positions):
    """Torch's max, with counts by sums; a tensor of shape ()."""
    w, p = torch.as_tensor(weights), torch.as_tensor(positions)
    n = min(w.shape[1], p.shape[1])
    most, top = w[:, :n].max(-1)
    return ((top == p[:, :n]) & (most > 0)).sum().double() / (p > -1).sum()
