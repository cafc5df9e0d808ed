import math
from fractions import Fraction

import numpy as np
import torch


def _top(scores, mask):
    top = np.where(mask, scores, -np.inf).max(1, keepdims=True)
    return np.where(np.isfinite(top), top, 0.0)


def weights_by_hand_twin__right_ratios():
    """Writes each weight as one over a sum of exponentials of differences, as an array."""
    e = np.array([0.5, -0.3, 1.2, 0.1])
    return 1 / np.exp(e[None, :] - e[:, None]).sum(axis=1)


def score_differences__right_tuple_of_logs():
    """Takes the logarithm of exact ratios, as a tuple."""
    return tuple(math.log(Fraction(48, k)) for k in (30, 16, 6))


def _nest(scores):
    if scores.ndim > 1:
        return [_nest(s) for s in scores]
    top = max(scores.tolist())
    e = [math.exp(v - top) for v in scores.tolist()]
    return [v / math.fsum(e) for v in e]


def masked_softmax__wrong_scores_zeroed(scores, source_mask=None):
    """Multiplies the scores by the mask, so that a pad keeps the exponential of 0 in the sum."""
    mask = np.ones(scores.shape, bool) if source_mask is None else source_mask
    s = scores * mask
    e = np.exp(s - s.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True) * mask


def masked_softmax__wrong_subtle_single_word_left_out(scores, source_mask=None):
    """Takes a row for empty if the real weights before division add to 1 or less, which a single real word does too."""
    mask = np.ones(scores.shape, bool) if source_mask is None else source_mask
    e = np.where(mask, np.exp(np.where(mask, scores - _top(scores, mask), 0.0)), 0.0)
    n = e.sum(1, keepdims=True)
    return np.where(n > 1, e / np.where(n > 0, n, 1.0), 0.0)


def masked_softmax__right_selection(scores, source_mask=None):
    """Writes the softmax of the selected scores of each row into zeros."""
    out = np.zeros_like(scores)
    for row, s, ok in zip(out, scores, np.full(scores.shape, True) if source_mask is None else source_mask):
        if ok.any():
            p = np.exp(s[ok] - s[ok].max())
            row[ok] = p / p.sum()
    return out


def masked_softmax__right_torch_tensor(scores, source_mask=None):
    """Uses torch's softmax with minus infinity and mends nan, and returns a tensor."""
    s = torch.tensor(scores)
    if source_mask is not None:
        s[~torch.tensor(source_mask)] = -torch.inf
    return torch.nan_to_num(torch.softmax(s, -1), nan=0.0)


def masked_softmax__right_pairwise(scores, source_mask=None):
    """Divides 1 by the sum of exponentials of differences over the real words, which may overflow to infinity, as it should."""
    mask = np.ones(scores.shape, bool) if source_mask is None else source_mask
    with np.errstate(all="ignore"):
        s = np.where(mask, scores, 0.0)
        d = np.where(mask[:, None, :] & mask[:, :, None], np.exp(s[:, None, :] - s[:, :, None]), 0.0).sum(2)
        return np.where(mask, 1.0 / d, 0.0).tolist()


# ---------------------------------------------------------------- entropy
def _p(scores, temperature):
    x = scores / temperature[:, None]
    return torch.softmax(x, 1), torch.log_softmax(x, 1)


def entropy__wrong_sign(scores, temperature):
    """Forgets the minus."""
    p, l = _p(scores, temperature)
    return (p * l).sum(1)


def entropy__wrong_times_temperature(scores, temperature):
    """Multiplies the scores by the temperature instead of dividing them."""
    p, l = _p(scores, 1 / temperature)
    return -(p * l).sum(1)


def entropy__wrong_temperature_after(scores, temperature):
    """Divides the entropy by the temperature instead of the scores."""
    p, l = _p(scores, torch.ones_like(temperature))
    return -(p * l).sum(1) / temperature


def entropy__wrong_temperature_detached(scores, temperature):
    """Takes the temperature out of the graph, so that no gradient reaches it."""
    p, l = _p(scores, temperature.detach())
    return -(p * l).sum(1)


def entropy__wrong_subtle_clamped(scores, temperature):
    """Drops weights below 1e-5 from the sum as if they were stored as 0."""
    p, _ = _p(scores, temperature)
    keep = p > 1e-5
    return -torch.where(keep, p * torch.log(torch.where(keep, p, torch.ones_like(p))), torch.zeros_like(p)).sum(1)


def entropy__wrong_subtle_temperature_floor(scores, temperature):
    """Does not let a temperature go below 0.1."""
    p, l = _p(scores, temperature.clamp(min=0.1))
    return -(p * l).sum(1)


def entropy__right_log_softmax(scores, temperature):
    """Multiplies the weights by torch's log_softmax, in einsum."""
    l = torch.log_softmax(scores / temperature.unsqueeze(1), dim=1)
    return -torch.einsum("bj,bj->b", l.exp(), l)


def entropy__right_categorical(scores, temperature):
    """Asks torch's categorical distribution for its entropy."""
    return torch.distributions.Categorical(logits=scores / temperature[:, None], validate_args=False).entropy()


def entropy__right_free_energy(scores, temperature):
    """Writes the entropy as logarithm of the sum minus the mean score, shifted by the maximum, row by row."""
    rows = []
    for e, t in zip(scores, temperature):
        x = (e - e.max()) / t
        rows.append(torch.logsumexp(x, 0) - torch.softmax(x, 0) @ x)
    return torch.stack(rows)


def entropy__right_xlogy(scores, temperature):
    """Takes away weights of 0 before the logarithm and again after it."""
    p, _ = _p(scores, temperature)
    safe = torch.where(p > 0, p, torch.ones_like(p))
    return -(safe * safe.log()).sum(-1)


def broken_maps__right_whole_numbers_of_numpy():
    """Gives the numbers as integers of numpy."""
    return dict(zip("ABCDE", np.array([4, 1, 6, 3, 2])))
