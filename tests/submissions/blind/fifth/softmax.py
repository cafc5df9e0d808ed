"""Answers to the exercises of softmax.ipynb, right and wrong."""
import math

import numpy as np
import torch

_E = [0.5, -0.3, 1.2, 0.1]
_A = [0.48, 0.3, 0.16, 0.06]


def _np_soft(x, axis=-1):
    z = np.exp(x - x.max(axis=axis, keepdims=True))
    return z / z.sum(axis=axis, keepdims=True)


# ---------------------------------------------------------------- 3.1
def weights_by_hand_twin__wrong_plain_division():
    """Divides the scores by their sum, without exponentials."""
    return [e / sum(_E) for e in _E]


def weights_by_hand_twin__wrong_base_two():
    """Takes powers of 2 instead of powers of e."""
    x = [2 ** e for e in _E]
    return [v / sum(x) for v in x]


def weights_by_hand_twin__wrong_subtle_rounded_exponentials():
    """Rounds every exponential to one decimal before dividing, which moves the weights by some thousandths."""
    x = [round(math.exp(e), 1) for e in _E]
    return [round(v / sum(x), 4) for v in x]


def weights_by_hand_twin__right_words_of_formula():
    """Right: exponentials over their sum, rounded to four decimals."""
    x = [math.exp(e) for e in _E]
    return [round(v / sum(x), 4) for v in x]


def weights_by_hand_twin__right_cut_off_tuple():
    """Right: one over the sum of exponentials of differences, cut off after four decimals, as a tuple."""
    return tuple(math.floor(1e4 / sum(math.exp(b - a) for b in _E)) / 1e4 for a in _E)


def score_differences__right_log_of_ratio():
    """Right: natural logarithm of the ratio of the weights, in numpy."""
    return np.log(_A[0] / np.array(_A[1:]))


def score_differences__right_difference_of_logs():
    """Right: difference of the logarithms by log2 and a change of base."""
    return [(math.log2(0.48) - math.log2(a)) / math.log2(math.e) for a in _A[1:]]


# ---------------------------------------------------------------- 3.8
def _masked(scores, mask):
    out = np.zeros(scores.shape)
    for b in range(len(scores)):
        if mask[b].any():
            out[b, mask[b]] = _np_soft(scores[b, mask[b]])
    return out


def _real(scores, mask):
    return np.ones(scores.shape, dtype=bool) if mask is None else mask


def masked_softmax__wrong_subtle_inf_times_zero(scores, source_mask=None):
    """Multiplies the exponentials by the mask, so a pad far above the words gives inf times 0."""
    m = _real(scores, source_mask)
    top = np.where(m, scores, -1e30).max(1, keepdims=True)
    x = np.exp(scores - top) * m
    t = x.sum(1, keepdims=True)
    return x / np.where(t == 0, 1, t)


def masked_softmax__wrong_subtle_empty_only_if_all(scores, source_mask=None):
    """Looks for rows without a word only if the whole batch has none; a single such row gets even weights."""
    m = _real(scores, source_mask)
    if not m.any():
        return np.zeros(scores.shape)
    return _np_soft(np.where(m, scores, -1e30))


def masked_softmax__wrong_subtle_fill_known_by_value(scores, source_mask=None):
    """Fills pads with -100 000 and then zeroes every position that holds this number, also real words at the lower limit."""
    e = np.where(_real(scores, source_mask), scores, -1e5)
    x = np.exp(e - e.max(1, keepdims=True)) * (e != -1e5)
    t = x.sum(1, keepdims=True)
    return x / np.where(t == 0, 1, t)


def masked_softmax__wrong_subtle_single_sentence(scores, source_mask=None):
    """Drops the batch axis where the batch holds one sentence only."""
    w = _masked(scores, _real(scores, source_mask))
    return w[0] if len(w) == 1 else w


def masked_softmax__right_where_low(scores, source_mask=None):
    """Right: replaces pads by -1e30, softmax, then zeroes the pads (an empty row becomes 0 as a whole)."""
    m = _real(scores, source_mask)
    return np.where(m, _np_soft(np.where(m, scores, -1e30)), 0)


def masked_softmax__right_real_words_only_lists(scores, source_mask=None):
    """Right: loops over real words only, in plain lists."""
    m = _real(scores, source_mask)
    out = []
    for row, real in zip(scores.tolist(), m.tolist()):
        top = max([e for e, r in zip(row, real) if r], default=0.0)
        x = [math.exp(e - top) if r else 0.0 for e, r in zip(row, real)]
        out.append([v / (sum(x) or 1.0) for v in x])
    return out


def masked_softmax__right_masked_array(scores, source_mask=None):
    """Right: numpy's masked arrays, filled with 0 at the end."""
    m = _real(scores, source_mask)
    e = np.ma.array(np.where(m, scores, 0.0), mask=~m)
    x = np.ma.exp(e - e.max(axis=1).reshape(-1, 1))
    return (x / x.sum(axis=1).reshape(-1, 1)).filled(0.0)


def masked_softmax__right_torch(scores, source_mask=None):
    """Right: torch with -inf and nan_to_num, as a tensor of doubles."""
    e = torch.tensor(scores)
    if source_mask is None:
        return torch.softmax(e, 1)
    return torch.softmax(e.masked_fill(~torch.tensor(source_mask), -torch.inf), 1).nan_to_num(0.0)


# ---------------------------------------------------------------- 3.9
def _z(scores, temperature):
    return scores / temperature[:, None]


def entropy__wrong_one_number(scores, temperature):
    """Sums over the whole batch and returns one number."""
    l = torch.log_softmax(_z(scores, temperature), 1)
    return -(l.exp() * l).sum()


def entropy__wrong_subtle_temperature_clamped(scores, temperature):
    """Keeps the temperature between 0.1 and 100, though less and more are allowed."""
    l = torch.log_softmax(_z(scores, temperature.clamp(0.1, 100)), 1)
    return -(l.exp() * l).sum(1)


def entropy__wrong_subtle_small_weights_dropped(scores, temperature):
    """Leaves out weights below 1e-6, though only a weight of 0 adds nothing."""
    a = torch.softmax(_z(scores, temperature), 1)
    return -(torch.where(a > 1e-6, a, 0.0) * torch.where(a > 1e-6, a, 1.0).log()).sum(1)


def entropy__right_log_softmax(scores, temperature):
    """Right: log_softmax, its exponential and the sum."""
    l = (scores / temperature.unsqueeze(1)).log_softmax(dim=-1)
    return -(l.exp() * l).sum(dim=-1)


def entropy__right_safe_where(scores, temperature):
    """Right: replaces weights of 0 by 1 before the logarithm."""
    a = torch.softmax(_z(scores, temperature), 1)
    return -(a * torch.where(a > 0, a, torch.ones_like(a)).log()).sum(1)


def entropy__right_detached_logarithm(scores, temperature):
    """Right: detaches the logarithm, whose part of the gradient is 0 because the weights always add to 1."""
    l = torch.log_softmax(_z(scores, temperature), 1)
    return -torch.einsum("bj,bj->b", l.exp(), l.detach())


def entropy__right_log_total_minus_mean(scores, temperature):
    """Right: logarithm of the total minus the mean shifted score, sentence by sentence, stacked."""
    rows = []
    for e, t in zip(scores, temperature):
        z = (e - e.max().detach()) / t
        x = z.exp()
        rows.append(x.sum().log() - (x * z).sum() / x.sum())
    return torch.stack(rows)


def broken_maps__right_numpy_integers():
    """Right: built from a string of digits, as numpy integers."""
    return dict(zip("ABCDE", np.array(list(map(int, "41632")))))
