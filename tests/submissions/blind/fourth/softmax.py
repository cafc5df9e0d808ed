import math
from decimal import Decimal, getcontext

import numpy as np
import torch


# ---------------------------------------------------------------- weights_by_hand_twin


def weights_by_hand_twin__right_inverse_sums():
    """Writes each weight as one over a sum of exponentials of differences, in a tuple."""
    e = (0.5, -0.3, 1.2, 0.1)
    return tuple(1 / math.fsum(math.exp(b - a) for b in e) for a in e)


# ---------------------------------------------------------------- score_differences


def score_differences__right_decimal_logarithms():
    """Subtracts Decimal logarithms and returns Decimals."""
    getcontext().prec = 28
    first, *others = (Decimal(x).ln() for x in ("0.48", "0.3", "0.16", "0.06"))
    return [first - x for x in others]


# ---------------------------------------------------------------- softmax

def _in_log_space(scores):
    return np.exp(scores - np.expand_dims(np.logaddexp.reduce(scores, axis=-1), -1))


def _by_rows(scores):
    if scores.ndim > 1:
        return np.stack([_by_rows(row) for row in scores])
    top = max(scores.tolist())
    p = [math.exp(x - top) for x in scores.tolist()]
    return np.array(p) / math.fsum(p)


# ---------------------------------------------------------------- masked_softmax


def masked_softmax__wrong_fill_too_high(scores, source_mask=None):
    """The student fills pads with -1000, which real scores of -3000 lie below."""
    if source_mask is None:
        return _in_log_space(scores)
    w = _in_log_space(np.where(source_mask, scores, -1000.0))
    return w * source_mask.any(axis=1, keepdims=True)


def masked_softmax__wrong_maximum_from_zero(scores, source_mask=None):
    """The student lets the maximum begin at 0 to cover empty rows; real scores of -3000 then give 0 everywhere."""
    if source_mask is None:
        source_mask = np.ones_like(scores, dtype=bool)
    top = scores.max(axis=1, keepdims=True, where=source_mask, initial=0.0)
    p = np.where(source_mask, np.exp(np.minimum(scores - top, 0)), 0.0)
    total = p.sum(axis=1, keepdims=True)
    return p / np.where(total > 0, total, 1.0)


def masked_softmax__wrong_infinity_times_zero(scores, source_mask=None):
    """The student masks exponentials by a product; a pad far above the real words is infinity times 0."""
    if source_mask is None:
        source_mask = np.ones_like(scores, dtype=bool)
    top = np.where(source_mask, scores, -np.inf).max(axis=1, keepdims=True)
    top = np.where(source_mask.any(axis=1, keepdims=True), top, scores.max(axis=1, keepdims=True))
    p = np.exp(scores - top) * source_mask
    total = p.sum(axis=1, keepdims=True)
    return p / np.where(total > 0, total, 1.0)


def _real_words_alone(scores, source_mask):
    out = np.zeros(scores.shape)
    for b, row in enumerate(scores):
        real = slice(None) if source_mask is None else np.flatnonzero(source_mask[b])
        if row[real].size:
            out[b, real] = _by_rows(row[real])
    return out


def masked_softmax__right_row_by_row(scores, source_mask=None):
    """Takes the real scores out of each row, weighs them alone, and puts them back."""
    return _real_words_alone(scores, source_mask)


def masked_softmax__right_pairs_of_real_words(scores, source_mask=None):
    """One over the sum of exponentials of differences, over pairs of real words only, with infinity elsewhere."""
    real = np.full(scores.shape, True) if source_mask is None else np.asarray(source_mask, dtype=bool)
    with np.errstate(over="ignore"):
        gaps = np.where(real[:, None, :], scores[:, None, :] - scores[:, :, None], -np.inf)
        totals = np.where(real, np.exp(gaps).sum(axis=2), np.inf)
    return np.reciprocal(totals)


def masked_softmax__right_masked_array(scores, source_mask=None):
    """Lets numpy's masked arrays leave the pads out of maximum and sum, and fills them with zeros at the end."""
    pads = np.zeros(scores.shape, bool) if source_mask is None else ~np.asarray(source_mask, dtype=bool)
    e = np.ma.array(np.array(scores), mask=pads)
    p = np.ma.exp(e - e.max(axis=1).reshape(-1, 1))
    return (p / p.sum(axis=1).reshape(-1, 1)).filled(0.0)


# ---------------------------------------------------------------- entropy


def entropy__wrong_clamped_scores(scores, temperature):
    """The student clamps the divided scores to -50 and 50, so that scores far above become equal."""
    lp = (scores / temperature[:, None]).clamp(-50, 50).log_softmax(-1)
    return -(lp.exp() * lp).sum(-1)


def entropy__wrong_logsumexp_of_batch(scores, temperature):
    """The student subtracts the maximum of the whole batch; a sentence far below it gets nan."""
    z = scores / temperature[:, None]
    z = z - z.max()
    p = z.exp()
    total = p.sum(-1, keepdim=True)
    return total.squeeze(-1).log() - (p * z).sum(-1) / total.squeeze(-1)


def entropy__wrong_squeezed(scores, temperature):
    """The student squeezes the column of sums without naming the axis, so that a batch of one becomes a single number."""
    lp = (scores / temperature[:, None]).log_softmax(-1)
    return torch.bmm(lp.exp()[:, None], -lp[:, :, None]).squeeze()


def entropy__right_log_total_minus_mean(scores, temperature):
    """The logarithm of the sum of exponentials minus the mean score, after a shift by each row's maximum."""
    z = torch.einsum("bj,b->bj", scores, temperature.reciprocal())
    z = z - z.amax(dim=1, keepdim=True).detach()
    return z.logsumexp(1) - torch.einsum("bj,bj->b", z.softmax(1), z)


def entropy__right_nonzero_weights_only(scores, temperature):
    """Replaces weights of 0 by 1 before the logarithm, so that nothing infinite enters the graph."""
    w = torch.softmax(scores.div(temperature.view(-1, 1)), 1)
    safe = w.masked_fill(w == 0, 1.0)
    return torch.stack([-(a * b.log()).sum() for a, b in zip(safe * (w > 0), safe)])


def entropy__right_row_objects(scores, temperature):
    """Asks a torch.distributions.Categorical made of each sentence's log weights, and stacks the answers."""
    return torch.cat([torch.distributions.Categorical(logits=(e - e.max().detach()) / t).entropy().reshape(1)
                      for e, t in zip(scores.unbind(0), temperature.unbind(0))])


# ---------------------------------------------------------------- broken_maps


def broken_maps__wrong_twice_for_steps():
    """The student takes the softmax over the steps for a softmax that is taken twice."""
    return {"A": 4, "B": 5, "C": 6, "D": 3, "E": 2}


def broken_maps__right_numpy_integers():
    """Zips letters with numpy integers."""
    return dict(zip("ABCDE", np.array([4, 1, 6, 3, 2])))
