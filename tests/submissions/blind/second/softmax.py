import math
from fractions import Fraction

import numpy as np
import torch


# ---- weights_by_hand


# ---- weights_by_hand_twin


def weights_by_hand_twin__wrong_only_the_first_total():
    """The student divides by the sum of the other exponentials, without the own one."""
    e = [math.exp(v) for v in (0.5, -0.3, 1.2, 0.1)]
    return [v / (sum(e) - v) for v in e]


def weights_by_hand_twin__right_pairwise():
    """Each weight as one over a sum of exponentials of differences, in numpy."""
    e = np.array([0.5, -0.3, 1.2, 0.1])
    return 1 / np.exp(e[:, None] - e).sum(axis=0)


# ---- score_differences


def score_differences__right_whole_number_ratios():
    """Logarithms of exact fractions: 8/5, 3 and 8."""
    return tuple(math.log(f.numerator) - math.log(f.denominator) for f in map(Fraction, ("8/5", "3", "8")))


# ---- softmax


def _weights_of_row(row):
    top = max(row)
    e = [math.exp(v - top) for v in row]
    total = math.fsum(e)
    return [v / total for v in e]


def _down_to_rows(scores):
    return [_down_to_rows(s) for s in scores] if scores.ndim > 1 else _weights_of_row(scores.tolist())


# ---- masked_softmax


_default_mask = []


def masked_softmax__wrong_default_mask_kept(scores, source_mask=None):
    """The student keeps the mask of an earlier call for calls without a mask, if its shape fits."""
    if source_mask is None:
        kept = [m for m in _default_mask if m.shape == scores.shape]
        source_mask = kept[-1] if kept else np.ones(scores.shape, bool)
    else:
        _default_mask.append(source_mask.copy())
    s = np.where(source_mask, scores, -np.inf)
    top = np.where(source_mask.any(1, keepdims=True), s.max(1, keepdims=True), 0)
    e = np.exp(s - top)
    return e / np.maximum(e.sum(1, keepdims=True), 1e-300)


def masked_softmax__wrong_no_mask_unstable(scores, source_mask=None):
    """The student keeps the exponentials in bounds with a mask only, and not in the path without one."""
    if source_mask is None:
        e = np.exp(scores)
        return e / e.sum(axis=1, keepdims=True)
    s = np.where(source_mask, scores, -np.inf)
    top = np.where(source_mask.any(1, keepdims=True), s.max(1, keepdims=True), 0)
    e = np.exp(s - top)
    return e / np.maximum(e.sum(1, keepdims=True), 1e-300)


def masked_softmax__right_row_by_row(scores, source_mask=None):
    """Loops over the rows with boolean indexing, math.fsum and a buffer of zeros."""
    out = np.zeros(scores.shape)
    for b, row in enumerate(scores):
        words = list(range(len(row))) if source_mask is None else np.flatnonzero(source_mask[b]).tolist()
        if words:
            out[b, words] = _weights_of_row(row[words].tolist())
    return out


def masked_softmax__right_numpy_ma(scores, source_mask=None):
    """Masked arrays of numpy, filled with zeros at the end."""
    s = np.ma.array(scores, mask=False if source_mask is None else ~source_mask)
    e = np.ma.exp(s - s.max(axis=1, keepdims=True))
    return np.ma.filled(e / e.sum(axis=1, keepdims=True), 0.0)


def masked_softmax__right_nan_to_num(scores, source_mask=None):
    """Minus infinity at pads, logaddexp for the total, and no-number made 0."""
    s = np.where(True if source_mask is None else source_mask, scores, -np.inf)
    with np.errstate(invalid="ignore"):
        return np.nan_to_num(np.exp(s - np.logaddexp.reduce(s, axis=1, keepdims=True)), nan=0.0)


def masked_softmax__right_groupby_bincount(scores, source_mask=None):
    """Flat list of real words, totals by bincount, maxima by maximum.at."""
    mask = np.full(scores.shape, True) if source_mask is None else source_mask
    rows, columns = np.nonzero(mask)
    top = np.full(len(scores), -np.inf)
    np.maximum.at(top, rows, scores[rows, columns])
    e = np.exp(scores[rows, columns] - top[rows])
    out = np.zeros_like(scores)
    out[rows, columns] = e / np.bincount(rows, e, minlength=len(scores))[rows]
    return out


# ---- entropy


def entropy__wrong_epsilon_in_log(scores, temperature):
    """The student adds an epsilon to every weight inside the logarithm."""
    w = torch.softmax(scores / temperature[:, None], dim=1)
    return -(w * (w + 1e-6).log()).sum(1)


def entropy__wrong_temperature_along_positions(scores, temperature):
    """The student divides by the temperatures without a new axis where batch and length agree."""
    z = scores / (temperature if scores.shape[0] == scores.shape[1] else temperature[:, None])
    return -(z.softmax(1) * z.log_softmax(1)).sum(1)


def entropy__wrong_temperature_detached(scores, temperature):
    """The student takes the temperatures as plain numbers, which no gradient reaches."""
    z = torch.stack([row / float(t) for row, t in zip(scores, temperature)])
    return -(z.softmax(1) * z.log_softmax(1)).sum(1) + 0 * temperature


def entropy__wrong_weights_detached(scores, temperature):
    """The student treats the weights in front of the logarithms as constants."""
    z = scores / temperature[:, None]
    return -(z.softmax(1).detach() * z.log_softmax(1)).sum(1)


def entropy__wrong_log_clamped(scores, temperature):
    """The student cuts the logarithms off at -10, which also hits weights that still count."""
    z = scores / temperature[:, None]
    return -(z.softmax(1) * z.log_softmax(1).clamp(min=-10)).sum(1)


def entropy__wrong_bits(scores, temperature):
    """The student takes logarithms to base 2."""
    z = scores / temperature[:, None]
    return -(z.softmax(1) * z.log_softmax(1)).sum(1) / math.log(2)


def entropy__wrong_temperature_after_softmax(scores, temperature):
    """The student divides the log-weights by the temperature and does not normalise again."""
    logs = scores.log_softmax(1) / temperature[:, None]
    return -(logs.exp() * logs).sum(1)


def entropy__wrong_first_temperature_for_all(scores, temperature):
    """The student lets the first temperature hold for every sentence."""
    z = scores / temperature[0]
    return -(z.softmax(1) * z.log_softmax(1)).sum(1)


def entropy__wrong_squeezed_batch(scores, temperature):
    """The student squeezes the result, which makes a batch of one a single number without an axis."""
    z = scores / temperature.unsqueeze(1)
    return -(z.softmax(1).unsqueeze(1) @ z.log_softmax(1).unsqueeze(2)).squeeze()


def entropy__wrong_high_weights_only(scores, temperature):
    """The student leaves weights below a thousandth out of the sum."""
    z = scores / temperature[:, None]
    w = z.softmax(1)
    return -torch.where(w > 1e-3, w * z.log_softmax(1), 0.0).sum(1)


def entropy__right_logsumexp(scores, temperature):
    """Logarithm of the total less the mean score, after a shift by the detached maximum."""
    z = torch.einsum("bj,b->bj", scores, temperature.reciprocal())
    z = z - z.detach().amax(1, keepdim=True)
    return z.logsumexp(1) - (z.softmax(1) * z).sum(1)


def entropy__right_categorical(scores, temperature):
    """The entropy of torch's categorical distribution."""
    return torch.distributions.Categorical(logits=scores / temperature.unsqueeze(-1), validate_args=False).entropy()


def entropy__right_masked_logs(scores, temperature):
    """Logs of weights with a 1 put in for zeros before the logarithm."""
    w = (scores.T / temperature).softmax(0)
    safe = torch.where(w > 0, w, torch.ones_like(w))
    return -(w * safe.log()).sum(0)


def entropy__right_row_by_row(scores, temperature):
    """A loop over sentences with cross_entropy against the weights themselves."""
    rows = []
    for e, t in zip(scores.unbind(), temperature.unbind()):
        logs = torch.log_softmax(e / t, -1)
        rows.append(-torch.dot(logs.exp(), logs))
    return torch.stack(rows)
