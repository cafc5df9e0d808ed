"""Right answers to the exercises on spelling and sound, written differently from the reference."""

import functools

import numpy as np
import torch


def edit_distance__memoised(written, wanted):
    @functools.cache
    def distance(i, j):
        if i == 0 or j == 0:
            return i + j
        return min(
            distance(i - 1, j) + 1,
            distance(i, j - 1) + 1,
            distance(i - 1, j - 1) + int(written[i - 1] != wanted[j - 1]),
        )

    return distance(len(written), len(wanted))


def edit_distance__whole_table(written, wanted):
    table = np.add.outer(np.arange(len(written) + 1), np.arange(len(wanted) + 1))
    for i in range(len(written)):
        for j in range(len(wanted)):
            ways = table[i, j + 1] + 1, table[i + 1, j] + 1, table[i, j] + (written[i] != wanted[j])
            table[i + 1, j + 1] = min(ways)
    return table[-1, -1]


def edit_distance__in_torch(written, wanted):
    row = torch.arange(len(wanted) + 1)
    for i, phoneme in enumerate(written, 1):
        changed = row[:-1] + torch.from_numpy(wanted != phoneme)
        reached = [torch.tensor(i)]
        for j in range(len(wanted)):
            reached.append(torch.minimum(torch.minimum(changed[j], row[j + 1] + 1), reached[j] + 1))
        row = torch.stack(reached)
    return row[-1]


def alignment_error_rate__sets(links, hand):
    made = {(i, int(j)) for i, j in enumerate(links) if j >= 0}
    sure = {tuple(place) for place in np.argwhere(hand == 2).tolist()}
    possible = {tuple(place) for place in np.argwhere(hand >= 1).tolist()}
    return 1 - (len(made & sure) + len(made & possible)) / (len(made) + len(sure))


def alignment_error_rate__loop(links, hand):
    right = made = 0
    for row, letter in zip(hand, links):
        if letter != -1:
            made += 1
            right += int(row[letter])
    return (made + np.count_nonzero(hand == 2) - right) / (made + np.count_nonzero(hand == 2))


def em_by_hand__fractions():
    return {
        "o": [1 / 3, 1 / 2, 1 / 6],
        "n": [1 / 2, 1 / 4, 1 / 4],
        "again": [9 / 16, 25 / 43],
        "shares": [3 / 5, 2 / 3, 2 / 5, 3 / 5],
    }


def em_by_hand__computed():
    words = (("no", ("N", "OW")), ("on", ("AA", "N")), ("o", ("OW",)))
    t, tables, shares = {}, [], []
    for _ in range(2):
        counts = {}
        for letters, phonemes in words:
            for phoneme in phonemes:
                total = sum(t.get((letter, phoneme), 1.0) if t else 1.0 for letter in letters)
                for letter in letters:
                    share = (t[letter, phoneme] if t else 1.0) / total
                    shares.append((letters, phoneme, letter, share))
                    counts[letter, phoneme] = counts.get((letter, phoneme), 0.0) + share
        sums = {letter: sum(count for (other, _), count in counts.items() if other == letter) for letter in "no"}
        t = {pair: count / sums[pair[0]] for pair, count in counts.items()}
        tables.append(t)
    second = {tuple(entry[:3]): entry[3] for entry in shares[len(shares) // 2 :]}
    wanted = (("no", "N", "n"), ("no", "OW", "o"), ("on", "AA", "o"), ("on", "N", "n"))
    first = tables[0]
    return {
        "n": [first["n", phoneme] for phoneme in ("N", "OW", "AA")],
        "o": [first["o", phoneme] for phoneme in ("N", "OW", "AA")],
        "shares": [second[key] for key in wanted],
        "again": [t["n", "N"], t["o", "OW"]],
    }


def contexts_without__loops(scores, keys, source_mask):
    result = np.zeros(keys.shape)
    for b, (row, mask) in enumerate(zip(scores.tolist(), source_mask.tolist())):
        for j in range(len(row)):
            left = [k for k in range(len(row)) if mask[k] and k != j]
            if left:
                powers = np.exp(np.array([row[k] for k in left]) - max(row[k] for k in left))
                result[b, j] = powers / powers.sum() @ keys[b, left]
    return result


def contexts_without__masked_softmax(scores, keys, source_mask):
    allowed = source_mask[:, None, :] & ~np.eye(scores.shape[1], dtype=bool)
    logits = torch.tensor(np.where(allowed, scores[:, None, :], -1e30))
    weights = torch.softmax(logits, dim=-1) * torch.tensor(allowed)
    return weights @ torch.tensor(keys)


def contexts_without__one_mask_after_the_other(scores, keys, source_mask):
    contexts = []
    for j in range(scores.shape[1]):
        allowed = source_mask.copy()
        allowed[:, j] = False
        least = np.where(allowed, scores, -np.inf)
        best = least.max(axis=1, keepdims=True)
        powers = np.where(allowed, np.exp(np.minimum(least - np.where(np.isfinite(best), best, 0), 0)), 0)
        weights = powers / np.maximum(powers.sum(axis=1, keepdims=True), 1e-300)
        contexts.append(np.einsum("bk,bkm->bm", weights, keys))
    return np.stack(contexts, axis=1)


def contexts_exchanged__copies(query, keys, other_keys, source_mask, W_query, W_key, v):
    contexts = []
    for j in range(keys.shape[1]):
        changed = keys.copy()
        changed[:, j] = other_keys[:, j]
        scores = np.tanh((query @ W_query.T)[:, None] + changed @ W_key.T) @ v
        scores = np.where(source_mask, scores, -1e30)
        powers = np.exp(scores - scores.max(axis=1, keepdims=True)) * source_mask
        weights = powers / np.maximum(powers.sum(axis=1, keepdims=True), 1e-300)
        contexts.append((weights[:, :, None] * changed).sum(axis=1))
    return np.stack(contexts, axis=1)


def contexts_exchanged__torch(query, keys, other_keys, source_mask, W_query, W_key, v):
    query, keys, other_keys, W_query, W_key, v = map(torch.tensor, (query, keys, other_keys, W_query, W_key, v))
    mask = torch.tensor(source_mask)[:, None, :]
    letters = torch.eye(keys.shape[1], dtype=torch.bool)
    every = torch.where(letters[None, :, :, None], other_keys[:, None], keys[:, None])
    scores = torch.tanh((query @ W_query.T)[:, None, None] + every @ W_key.T) @ v
    weights = torch.softmax(scores.masked_fill(~mask, -1e30), dim=-1) * mask
    return (weights[:, :, None, :] @ every)[:, :, 0]
