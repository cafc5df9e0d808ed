import math
import numpy as np
import torch


def _sm(s, axis=-1):
    e = np.exp(s - s.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def _sel(scores, source_mask):
    m = np.ones(scores.shape, bool) if source_mask is None else source_mask
    out = np.zeros(scores.shape)
    for b in range(len(scores)):
        if m[b].any():
            out[b, m[b]] = _sm(scores[b][m[b]])
    return out


def _rec(scores):
    if np.ndim(scores[0]):
        return [_rec(row) for row in scores]
    top = max(scores)
    e = [math.exp(x - top) for x in scores]
    return [x / math.fsum(e) for x in e]


_E4, _A4, _J4, _M5 = np.array([.5, -.3, 1.2, .1]), np.array([.48, .3, .16, .06]), np.array([.1, .5, .15, .25]), np.array([.8, -.5, 1.3, .2, .2])
_seen = {}


def weights_by_hand_twin__right_pairwise():
    """Uses 1 / sum of exp of differences, in plain Python, and gives a tuple."""
    return tuple(1 / sum(math.exp(b - a) for b in _E4) for a in _E4)


def score_differences__right_array():
    """Subtracts logarithms and gives an array."""
    return np.log(0.48) - np.log([0.3, 0.16, 0.06])


# ---- jacobian_row


def masked_softmax__wrong_column_mask(scores, source_mask=None):
    """Takes a position for a pad in every sentence if it is one in any."""
    m = np.ones(scores.shape, bool) if source_mask is None else np.repeat(source_mask.all(0)[None], len(scores), 0)
    return _sel(scores, m)


def masked_softmax__wrong_subtle_minus_1e4(scores, source_mask=None):
    """Puts -10000 at pads, though real scores may lie below that."""
    m = np.ones(scores.shape, bool) if source_mask is None else source_mask
    w = _sm(np.where(m, scores, -1e4))
    return w * m.any(1, keepdims=True)


def masked_softmax__wrong_subtle_first_row(scores, source_mask=None):
    """Takes a batch whose first sentence has no pads for one without any pads."""
    if source_mask is None or source_mask[0].all():
        return _sm(scores)
    return _sel(scores, source_mask)


def masked_softmax__wrong_subtle_epsilon(scores, source_mask=None):
    """Adds 1e-6 to the sum to avoid a division by zero, which lowers all weights."""
    m = np.ones(scores.shape, bool) if source_mask is None else source_mask
    s = np.where(m, scores, -1e9)
    e = np.exp(s - s.max(1, keepdims=True)) * m
    return e / (e.sum(1, keepdims=True) + 1e-6)


def masked_softmax__right_selection(scores, source_mask=None):
    """Selects the real scores of each row and writes their softmax into zeros."""
    return _sel(scores, source_mask)


def masked_softmax__right_nan_to_num(scores, source_mask=None):
    """Uses torch with minus infinity, replaces nan by 0, and gives a tensor."""
    s = torch.tensor(np.array(scores))
    if source_mask is not None:
        s[~torch.tensor(np.array(source_mask))] = -math.inf
    return torch.nan_to_num(torch.softmax(s, 1))


def masked_softmax__right_lists(scores, source_mask=None):
    """Loops over words in plain Python, with a whole number 0 at pads."""
    rows = []
    for b, row in enumerate(scores):
        real = [j for j in range(len(row)) if source_mask is None or source_mask[b][j]]
        top = max([row[j] for j in real], default=0.0)
        total = sum(math.exp(row[j] - top) for j in real)
        rows.append([math.exp(row[j] - top) / total if j in real else 0 for j in range(len(row))])
    return rows


def entropy__wrong_batch_mean(scores, temperature):
    """Averages over the batch and gives the mean to every sentence."""
    l = torch.log_softmax(scores / temperature[:, None], 1)
    return -(l.exp() * l).sum(1).mean().expand(len(scores))


def entropy__wrong_epsilon(scores, temperature):
    """Adds 1e-7 inside the logarithm, which moves every entropy a little."""
    p = torch.softmax(scores / temperature[:, None], 1)
    return -(p * (p + 1e-7).log()).sum(1)


def entropy__wrong_subtle_cached(scores, temperature):
    """Keeps the temperatures of the first call with a batch of this size."""
    t = _seen.setdefault(len(temperature), temperature)
    l = torch.log_softmax(scores / t[:, None], 1)
    return -(l.exp() * l).sum(1)


def entropy__right_double_where(scores, temperature):
    """Replaces zero weights by 1 before the logarithm."""
    p = torch.softmax(scores / temperature.unsqueeze(1), -1)
    return -(p * torch.where(p > 0, p, torch.ones_like(p)).log()).sum(-1)


def entropy__right_log_sum(scores, temperature):
    """Uses the logarithm of the sum minus the mean of the shifted scores, a sentence at a time."""
    out = []
    for e, t in zip(scores, temperature):
        z = (e - e.max().detach()) / t
        out.append(torch.logsumexp(z, 0) - torch.softmax(z, 0) @ z)
    return torch.stack(out)


def entropy__right_clamped(scores, temperature):
    """Clamps the weights at the smallest normal number inside the logarithm."""
    p = torch.softmax((scores.T / temperature).T, dim=1)
    return -torch.einsum("bj,bj->b", p, p.clamp_min(1e-300).log())


def broken_maps__right_numpy_ints():
    """Gives the numbers as numpy integers."""
    return dict(zip("ABCDE", np.array([4, 1, 6, 3, 2])))
