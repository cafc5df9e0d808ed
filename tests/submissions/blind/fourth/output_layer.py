import functools
import itertools
import math

import numpy as np
import torch


# 6.2 every_step_shapes


def every_step_shapes__right_views(batch, T_y, n, d, m, V_y):
    """The shapes are read off arrays of stride 0, so that large sizes cost nothing."""
    joined = np.broadcast_to(0.0, (batch, T_y, sum((m, d, n))))
    W_o = np.broadcast_to(0.0, (V_y, joined.shape[-1]))
    logits = joined.shape[:-1] + W_o.shape[:1]
    flat = (math.prod(logits[:-1]), logits[-1])
    return dict(zip(("flat_logits", "logits", "W_o", "joined"), (flat, logits, W_o.shape, joined.shape)))


# 6.8 word_by_hand


def _tables():
    s, u = np.array([0.4, -0.6]), np.array([0.3, -0.1])
    h = np.array([[0.5, -0.2, 0.1, 0.3], [-0.4, 0.6, 0.2, -0.1]])
    W_query, v = np.array([[1, -1], [0, 2], [0.5, 1]]), np.array([1, -2, 1.5])
    W_key = np.array([[1, 0, 0, 2], [0, 1, -1, 0], [0, 0, 2, 1.0]])
    W_s, W_c = np.array([[0.5, 1], [-1, 0]]), np.array([[2, 0, -1, 0.5], [0, 2, 0, 1]])
    W_o, b_o = np.array([[1, -1], [2, 0], [0, 2], [-1, 1], [1, 1.0]]), np.array([0, -0.5, 0.5, 0, 0.2])
    return s, u, h, W_query, v, W_key, W_s, W_c, W_o, b_o


def _share(x):
    x = np.exp(x - np.max(x))
    return x / x.sum()


def word_by_hand__wrong_state_not_squashed():
    """The student reads the word out of the sum before the tanh, but gives the state rightly."""
    s, u, h, W_query, v, W_key, W_s, W_c, W_o, b_o = _tables()
    e = np.tanh(W_query @ s + h @ W_key.T) @ v
    a = _share(e)
    z = u + W_s @ s + W_c @ (a @ h)
    p = _share(W_o @ z + b_o)
    return {
        k: x.round(4).tolist()
        for k, x in zip(("scores", "weights", "context", "state", "distribution"), (e, a, a @ h, np.tanh(z), p))
    }


def word_by_hand__right_sums():
    """Two weights are a sigmoid of the difference of the scores, and the rest is written out in sums."""
    def rows(M, x):
        return (math.fsum(map(float.__mul__, map(float, r), map(float, x))) for r in M)

    s, u, h, W_query, v, W_key, W_s, W_c, W_o, b_o = _tables()
    asked = tuple(rows(W_query, s))
    e = tuple(next(rows([v], [math.tanh(q + k) for q, k in zip(asked, rows(W_key, hj))])) for hj in h)
    first = 0.5 + 0.5 * math.tanh((e[0] - e[1]) / 2)
    a = (first, 1 - first)
    c = [float(y + first * (x - y)) for x, y in zip(*h)]
    z = [math.tanh(sum(t)) for t in zip(map(float, u), rows(W_s, s), rows(W_c, c))]
    o = [x + float(b) for x, b in zip(rows(W_o, z), b_o)]
    p = [1 / sum(math.exp(y - x) for y in o) for x in o]
    return {"distribution": p, "state": z, "context": c, "weights": a, "scores": e}


# 6.10 cross_entropy


def cross_entropy__right_gaps(logits, targets, target_mask):
    """Each cost is the logarithm of the summed exponentials of how far every word lies above the right one."""
    costs = [
        np.logaddexp.reduce(row - row[word])
        for row, word, real in zip(logits.reshape(-1, logits.shape[-1]), targets.flat, target_mask.flat)
        if real
    ]
    return math.fsum(costs) / max(1, len(costs))


def cross_entropy__right_one_hot(logits, targets, target_mask):
    """One-hot words and an einsum over all positions, with the mask as a vote of equal weight."""
    votes = target_mask / max(target_mask.sum(), 1)
    word = np.eye(logits.shape[-1])[targets]
    gap = logits.max(-1, keepdims=True) - logits
    return np.einsum("bi,bi->", votes, np.log(np.exp(-gap).sum(-1)) + np.einsum("biv,biv->bi", gap, word))


def cross_entropy__right_running_mean(logits, targets, target_mask):
    """A running mean over the real positions, which is reduced from a generator and begins at 0."""
    def costs():
        for b, i in np.argwhere(target_mask):
            x = sorted(logits[b, i].tolist(), reverse=True)
            yield (x[0] - float(logits[b, i, targets[b, i]])) + math.log1p(math.fsum(math.exp(y - x[0]) for y in x[1:]))

    return functools.reduce(lambda mean, nc: mean + (nc[1] - mean) / nc[0], enumerate(costs(), 1), 0.0)


# 6.11 beam_step


def beam_step__right_ranks(scores, log_probabilities):
    """The rank of a continuation is the number of those that are better, and its numbers are put there as floats."""
    total = (scores.unsqueeze(-1) + log_probabilities).flatten(1)
    rank = (total[:, :, None] < total[:, None, :]).sum(2)
    width, V = log_probabilities.shape[1:]
    pairs = torch.cartesian_prod(torch.arange(width), torch.arange(V)).double()
    at = rank[:, None, :] == torch.arange(width)[:, None]
    return at.double() @ pairs


def beam_step__right_one_after_the_other(scores, log_probabilities):
    """The best continuation is taken out again and again, from a copy, by the best word of each hypothesis."""
    total = (scores[..., None] + log_probabilities).detach().clone()
    sentences, chosen = torch.arange(len(total)), []
    for _ in range(scores.shape[1]):
        value, word = total.max(dim=2)
        k = value.argmax(dim=1)
        w = word[sentences, k]
        total[sentences, k, w] = -math.inf
        chosen.append(torch.stack((k, w), dim=1))
    return torch.stack(chosen, dim=1)


def beam_step__right_sorted_pairs(scores, log_probabilities):
    """Python sorts all pairs of numbers of a sentence by their sum."""
    _, width, V = log_probabilities.shape
    pairs = list(itertools.product(range(width), range(V)))
    return torch.tensor([
        sorted(pairs, key=lambda kw: -(s[kw[0]] + rows[kw[0]][kw[1]]))[:width]
        for s, rows in zip(scores.tolist(), log_probabilities.tolist())
    ])
