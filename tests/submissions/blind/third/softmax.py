import math
from decimal import Decimal, getcontext
from fractions import Fraction

import numpy as np
import torch


# ---------------------------------------------------------------- weights_by_hand_twin


def weights_by_hand_twin__wrong_two_decimals():
    """The student gives two decimals where four are asked for."""
    e = [math.exp(x) for x in (0.5, -0.3, 1.2, 0.1)]
    return [round(x / sum(e), 2) for x in e]


def weights_by_hand_twin__wrong_last_by_difference():
    """The student rounds the first three weights to two decimals and takes the last as what they leave to 1."""
    e = [math.exp(x) for x in (0.5, -0.3, 1.2, 0.1)]
    w = [x / sum(e) for x in e]
    return [w[0], w[1], w[2], 1 - sum(round(x, 2) for x in w[:3])]


def weights_by_hand_twin__right_decimal():
    """Decimal arithmetic of 30 digits, with Decimals as the result."""
    getcontext().prec = 30
    e = [Decimal(x).exp() for x in ("0.5", "-0.3", "1.2", "0.1")]
    return [x / sum(e) for x in e]


def weights_by_hand_twin__right_differences():
    """Each weight as one over a sum of exponentials of differences, as a tuple cut off after four decimals."""
    s = (0.5, -0.3, 1.2, 0.1)
    return tuple(math.floor(1e4 / math.fsum(math.exp(b - a) for b in s)) / 1e4 for a in s)


def weights_by_hand_twin__right_array():
    """A numpy array from the hyperbolic functions: exp(x) = cosh(x) + sinh(x)."""
    s = np.array([0.5, -0.3, 1.2, 0.1])
    e = np.cosh(s) + np.sinh(s)
    return e / e.sum()


# ---------------------------------------------------------------- score_differences


def score_differences__wrong_log_of_difference():
    """The student takes the logarithm of the difference of the weights in place of the difference of the logarithms."""
    a = (0.48, 0.3, 0.16, 0.06)
    return [-math.log(a[0] - x) for x in a[1:]]


def score_differences__right_prime_logs():
    """The ratios 8/5, 3 and 8 by the logarithms of the primes."""
    l2, l3, l5 = math.log(2), math.log(3), math.log(5)
    return (3 * l2 - l5, l3, 3 * l2)


def score_differences__right_artanh():
    """ln q = 2 artanh((q - 1) / (q + 1)), with exact fractions inside."""
    a = [Fraction(48, 100), Fraction(30, 100), Fraction(16, 100), Fraction(6, 100)]
    return [2 * math.atanh((a[0] - x) / (a[0] + x)) for x in a[1:]]


    # three axes: an error, or sums of other rows where sizes agree


# ---------------------------------------------------------------- masked_softmax

def _rows_softmax(s):
    e = np.exp(s - s.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def _sparse_rows(scores, source_mask):
    out = np.zeros(scores.shape)
    for b in range(len(scores)):
        at = np.arange(scores.shape[1]) if source_mask is None else np.flatnonzero(source_mask[b])
        if at.size:
            e = np.exp(scores[b, at] - scores[b, at].max())
            out[b, at] = e / e.sum()
    return out


def masked_softmax__wrong_all_pads_as_no_mask(scores, source_mask=None):
    """The student takes a mask without any true entry for no mask, so a batch of pads alone gets weights."""
    if source_mask is None or not source_mask.any():
        return _rows_softmax(scores)
    s = np.where(source_mask, scores, -np.inf)
    real = source_mask.any(axis=1, keepdims=True)
    e = np.exp(s - np.where(real, s.max(axis=1, keepdims=True), 0.0))
    return e / np.where(real, e.sum(axis=1, keepdims=True), 1.0)


def masked_softmax__wrong_empty_by_first(scores, source_mask=None):
    """The student takes a row for empty if its first position is a pad."""
    if source_mask is None:
        return _rows_softmax(scores)
    s = np.where(source_mask, scores, -1e300)
    return np.where(source_mask[:, :1], _rows_softmax(s), 0.0)


def masked_softmax__wrong_fill_below_minimum(scores, source_mask=None):
    """The student fills pads with a number 5 below the lowest score and zeroes them afterwards, so words add to less than 1."""
    if source_mask is None:
        return _rows_softmax(scores)
    low = scores.min(axis=1, keepdims=True) - 5.0
    return _rows_softmax(np.where(source_mask, scores, low)) * source_mask


def masked_softmax__wrong_zero_scores_as_pads(scores, source_mask=None):
    """The student multiplies scores by the mask and takes every exact 0 for a pad, real words with score 0 too."""
    s = scores if source_mask is None else scores * source_mask
    return _sparse_rows(scores, s != 0)


def masked_softmax__wrong_one_row_mask(scores, source_mask=None):
    """The student uses the mask of the first sentence for the whole batch."""
    if source_mask is None:
        return _rows_softmax(scores)
    return _sparse_rows(scores, np.broadcast_to(source_mask[0], scores.shape))


def masked_softmax__right_sparse_rows(scores, source_mask=None):
    """A loop over the rows that picks out the real scores and puts their weights back."""
    out = np.zeros(scores.shape)
    for b in range(len(scores)):
        at = np.arange(scores.shape[1]) if source_mask is None else np.flatnonzero(source_mask[b])
        if at.size:
            e = np.exp(scores[b, at] - scores[b, at].max())
            out[b, at] = e / e.sum()
    return out


def masked_softmax__right_masked_array(scores, source_mask=None):
    """Masked arrays of numpy, filled with 0 at the end."""
    if source_mask is None:
        source_mask = np.ones_like(scores, dtype=bool)
    s = np.ma.array(np.where(source_mask, scores, 0.0), mask=~source_mask)
    e = np.ma.exp(s - s.max(axis=1)[:, None])
    return np.ma.filled(e / e.sum(axis=1)[:, None], 0.0)


def masked_softmax__right_billion(scores, source_mask=None):
    """A fill of minus 1e300 and a product with the mask at the end."""
    mask = np.ones(scores.shape, bool) if source_mask is None else source_mask
    s = np.where(mask, scores, -1e300)
    return _rows_softmax(s) * mask


def masked_softmax__right_logaddexp_where(scores, source_mask=None):
    """The ufunc's own where in logaddexp.reduce, starting at minus infinity."""
    where = np.full(scores.shape, True) if source_mask is None else source_mask
    total = np.logaddexp.reduce(scores, axis=1, where=where, initial=-np.inf, keepdims=True)
    low = np.where(where, scores, -np.inf)
    return np.exp(low - np.where(total == -np.inf, 0.0, total))


def masked_softmax__right_sigmoid_recursion(scores, source_mask=None):
    """Weights by merging one position after the other with shares of two, in plain Python."""
    out = []
    for b, row in enumerate(scores.tolist()):
        w, top = [0.0] * len(row), None
        for j, x in enumerate(row):
            if source_mask is not None and not source_mask[b, j]:
                continue
            if top is None:
                w[j], top = 1.0, x
                continue
            hi = max(top, x)
            a, c = math.exp(top - hi), math.exp(x - hi)
            w = [y * a / (a + c) for y in w]
            w[j] = c / (a + c)
            top = hi + math.log(a + c)
        out.append(w)
    return np.array(out)


# ---------------------------------------------------------------- entropy


def entropy__wrong_detached_temperature(scores, temperature):
    """The student takes the temperature for a constant, so no gradient reaches it from the values."""
    t = temperature.detach()[:, None] + 0.0 * temperature[:, None]
    logp = torch.log_softmax(scores / t, dim=1)
    return -(logp.exp() * logp).sum(1)


def entropy__wrong_epsilon_in_temperature(scores, temperature):
    """The student adds 1e-2 to each temperature against division by 0, which shows at small temperatures."""
    logp = torch.log_softmax(scores / (temperature[:, None] + 1e-2), dim=1)
    return -(logp.exp() * logp).sum(1)


def entropy__wrong_temperature_floor(scores, temperature):
    """The student clamps the temperature at 0.1 from below."""
    logp = torch.log_softmax(scores / temperature.clamp(min=0.1)[:, None], dim=1)
    return -(logp.exp() * logp).sum(1)


def entropy__wrong_clamped_logs(scores, temperature):
    """The student clamps the logarithms at -6, which cuts gradients and moves values at weights below 0.0025."""
    logp = torch.log_softmax(scores / temperature[:, None], dim=1)
    return -(logp.exp() * logp.clamp(min=-6.0)).sum(1)


def entropy__wrong_normalised_without_temperature(scores, temperature):
    """The student divides the shifted scores by the temperature but forgets it in the shift of the logarithm of the sum."""
    # ln w = (e - top) / tau - ln sum exp(e - top): right only at tau = 1
    d = scores - scores.max(1, keepdim=True).values.detach()
    z = d / temperature[:, None]
    logp = z - torch.logsumexp(d, 1, keepdim=True)
    w = torch.softmax(z, 1)
    return -(w * logp).sum(1)


def entropy__wrong_small_weights_dropped(scores, temperature):
    """The student leaves out every weight below 1e-3 as if it were 0."""
    w = torch.softmax(scores / temperature[:, None], dim=1)
    safe = torch.where(w > 1e-3, w, torch.ones_like(w))
    return -(w * safe.log()).sum(1)


def entropy__right_log_softmax_einsum(scores, temperature):
    """Weights and their logarithms from log_softmax, summed by einsum."""
    logp = torch.log_softmax(torch.einsum("bj,b->bj", scores, 1 / temperature), dim=-1)
    return torch.einsum("bj,bj->b", logp.exp(), logp).neg()


def entropy__right_lse_minus_mean(scores, temperature):
    """Entropy as the logarithm of the sum of exponentials less the mean scaled score, from shifted scores."""
    z = (scores - scores.amax(1, keepdim=True).detach()) / temperature.view(-1, 1)
    return torch.logsumexp(z, 1) - (torch.softmax(z, 1) * z).sum(1)


def entropy__right_rows_of_positive(scores, temperature):
    """A loop over the sentences that picks out the weights above 0."""
    rows = []
    for e, t in zip(scores.unbind(0), temperature.unbind(0)):
        w = torch.softmax(e / t, 0)
        w = w[w > 0]
        rows.append(-(w @ w.log()))
    return torch.stack(rows)


def entropy__right_categorical(scores, temperature):
    """The entropy of torch.distributions.Categorical, made from logits."""
    return torch.distributions.Categorical(logits=(scores.T / temperature).T).entropy()


def entropy__right_double_where(scores, temperature):
    """torch.where before and after the logarithm, so no gradient passes through ln 0."""
    w = torch.softmax(scores / temperature[:, None], 1)
    ok = w > 0
    return -torch.where(ok, w * torch.where(ok, w, 1.0).log(), 0.0).sum(1)


# ---------------------------------------------------------------- broken_maps

def broken_maps__wrong_twice_for_dropped():
    """The student takes the rows of D that add to less than 1 for a softmax taken twice."""
    return {"A": 4, "B": 1, "C": 6, "D": 5, "E": 2}


def broken_maps__wrong_pads_swapped():
    """The student swaps the two faults of the pads."""
    return {"A": 4, "B": 1, "C": 6, "D": 2, "E": 3}


def broken_maps__wrong_a_and_b():
    """The student takes the equal rows of A for a softmax over the steps, and B for a missing state."""
    return {"A": 1, "B": 4, "C": 6, "D": 3, "E": 2}


def broken_maps__right_floats():
    """Whole numbers as numpy integers, in another order."""
    return dict(zip("EDCBA", np.array([2, 3, 6, 1, 4])))


def broken_maps__right_by_reasons():
    """A dict filled by looking at sums of rows and columns of the printed tables."""
    out = {"A": 4}
    for name, t in {"B": [[.61, .11, .15, 0], [.11, .82, .13, 0], [.28, .07, .72, 0]],
                    "C": [[1.09, -.36, .27, 0], [-.38, 1.23, .15, 0], [.27, -.53, 1.27, 0]],
                    "D": [[.43, .09, .17, 0], [.09, .70, .17, 0], [.15, .04, .65, 0]],
                    "E": [[.52, .11, .21, .16], [.08, .64, .16, .13], [.15, .05, .69, .10]]}.items():
        a = np.array(t)
        if (a < 0).any():
            out[name] = 6
        elif (a[:, 3] > 0).any():
            out[name] = 2
        elif np.allclose(a[:, :3].sum(0), 1, atol=.015):
            out[name] = 1
        else:
            out[name] = 3
    return out
