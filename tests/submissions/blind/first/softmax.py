import fractions
import math
from decimal import Decimal

import numpy as np
import torch


def _soft(e, base=math.e):
    p = [base ** x for x in e]
    return [x / sum(p) for x in p]


# ---------------------------------------------------------------- weights_by_hand

_C = (2 * math.tanh(0.7), 2 * math.tanh(1.3))


# ---------------------------------------------------------------- weights_by_hand_twin

_F = (0.5, -0.3, 1.2, 0.1)


def weights_by_hand_twin__wrong_sign_lost():
    """The student reads -0.3 as 0.3."""
    return _soft([abs(x) for x in _F])


def weights_by_hand_twin__wrong_base_ten():
    """The student takes powers of 10."""
    return _soft(_F, 10)


def weights_by_hand_twin__wrong_exponentials_to_one_decimal():
    """The student rounds each exponential to one decimal."""
    p = [round(math.exp(x), 1) for x in _F]
    return [x / sum(p) for x in p]


def weights_by_hand_twin__wrong_order_sorted():
    """The student returns the weights from largest to smallest."""
    return sorted(_soft(_F), reverse=True)


def weights_by_hand_twin__wrong_three_decimals():
    """The student rounds the weights to three decimals, off by up to 0.0003."""
    return [round(x, 3) for x in _soft(_F)]


def weights_by_hand_twin__right_torch_array():
    """torch's softmax as a numpy array."""
    return torch.tensor(_F, dtype=torch.float64).softmax(0).numpy()


def weights_by_hand_twin__right_reciprocal_sums():
    """Each weight as one over the sum of exponentials of differences, cut off after four digits."""
    return tuple(math.floor(1e4 / math.fsum(math.exp(y - x) for y in _F)) / 1e4 for x in _F)


# ---------------------------------------------------------------- score_differences

_AL = (0.48, 0.3, 0.16, 0.06)


def score_differences__wrong_log_base_ten():
    """The student takes the logarithm to base 10."""
    return [math.log10(_AL[0] / x) for x in _AL[1:]]


def score_differences__wrong_sign():
    """The student takes e_2 - e_1 and so on."""
    return [math.log(x / _AL[0]) for x in _AL[1:]]


def score_differences__wrong_neighbours():
    """The student takes each score from the one before instead of from the first."""
    return [math.log(x / y) for x, y in zip(_AL, _AL[1:])]


def score_differences__wrong_log_of_differences():
    """The student takes the logarithm of the difference of the weights."""
    return [math.log(_AL[0] - x) for x in _AL[1:]]


def score_differences__wrong_rounded_logs():
    """The student rounds each logarithm to two decimals before the difference."""
    return [round(math.log(_AL[0]), 2) - round(math.log(x), 2) for x in _AL[1:]]


def score_differences__right_fractions():
    """Exact ratios as fractions, with log by primes."""
    ratios = [fractions.Fraction(48, x) for x in (30, 16, 6)]
    return [math.log(r.numerator) - math.log(r.denominator) for r in ratios]


def score_differences__right_decimal_ln():
    """Decimal logarithms in a tuple."""
    return tuple((Decimal("0.48") / Decimal(x)).ln() for x in ("0.3", "0.16", "0.06"))


# ---------------------------------------------------------------- softmax


def _down(scores):
    if scores.ndim > 1:
        return np.array([_down(row) for row in scores])
    top = max(scores.tolist())
    parts = [math.exp(x - top) for x in scores.tolist()]
    return np.array(parts) / math.fsum(parts)


# ---------------------------------------------------------------- masked_softmax

def _plain(e):
    e = np.exp(e - e.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def masked_softmax__wrong_pads_at_minus_ten_thousand(scores, source_mask=None):
    """The student gives pads the score -10000, which is not far below words of -12000."""
    if source_mask is None:
        return _plain(scores)
    weights = _plain(np.where(source_mask, scores, -1e4))
    return weights * source_mask


def masked_softmax__wrong_penalty_added(scores, source_mask=None):
    """The student takes 1e9 off the pads' scores, which is not enough for a pad whose finite score is 1e12."""
    if source_mask is None:
        return _plain(scores)
    weights = _plain(scores - 1e9 * ~source_mask) * source_mask
    return weights


def masked_softmax__wrong_cut_at_last_word(scores, source_mask=None):
    """The student masks only what follows the last word, so that pads between words take a share."""
    if source_mask is None:
        return _plain(scores)
    out = np.zeros(scores.shape)
    for b, real in enumerate(source_mask):
        if real.any():
            first, last = np.flatnonzero(real)[[0, -1]]
            out[b, first:last + 1] = _plain(scores[b, first:last + 1])
    return out


def masked_softmax__wrong_epsilon(scores, source_mask=None):
    """The student adds 1e-5 to the sum to save rows without a word, which changes the weights of all other rows."""
    if source_mask is None:
        source_mask = np.ones(scores.shape, dtype=bool)
    top = np.where(source_mask, scores, -np.inf).max(axis=-1, keepdims=True)
    e = np.where(source_mask, np.exp(np.where(source_mask, scores, 0) - np.where(np.isinf(top), 0, top)), 0) * source_mask
    return e / (e.sum(axis=-1, keepdims=True) + 1e-5)


def masked_softmax__wrong_any_row_empty(scores, source_mask=None):
    """The student returns zeros for the whole batch as soon as one row has no word."""
    if source_mask is None:
        return _plain(scores)
    if not source_mask.any(axis=-1).all():
        return np.zeros(scores.shape)
    return _plain(np.where(source_mask, scores, -np.inf))


def masked_softmax__wrong_mask_from_scores(scores, source_mask=None):
    """Without a mask the student takes scores of exactly 0 for pads, though then every position is real."""
    if source_mask is None:
        source_mask = scores != 0
    e = np.where(source_mask, scores, -np.inf)
    top = e.max(axis=-1, keepdims=True)
    e = np.exp(e - np.where(np.isinf(top), 0, top))
    total = e.sum(axis=-1, keepdims=True)
    return e / np.where(total > 0, total, 1)


def _remember_mask(mask, store=[]):
    if mask is not None:
        store[:] = [mask]
    return store[0] if store else None


def masked_softmax__wrong_old_mask_kept(scores, source_mask=None):
    """The student keeps the last mask, and a call without a mask uses it where its shape still fits."""
    source_mask = _remember_mask(source_mask)
    if source_mask is None or source_mask.shape != scores.shape:
        source_mask = np.ones(scores.shape, dtype=bool)
    e = np.where(source_mask, scores, -np.inf)
    top = e.max(axis=-1, keepdims=True)
    e = np.exp(e - np.where(np.isinf(top), 0, top))
    total = e.sum(axis=-1, keepdims=True)
    return e / np.where(total > 0, total, 1)


def masked_softmax__wrong_global_maximum(scores, source_mask=None):
    """The student takes off the largest real score of the whole batch, so that rows thousands below become 0."""
    if source_mask is None:
        source_mask = np.ones(scores.shape, dtype=bool)
    if not source_mask.any():
        return np.zeros(scores.shape)
    z = np.where(source_mask, scores - scores[source_mask].max(), -np.inf)
    e = np.exp(z)
    total = e.sum(axis=-1, keepdims=True)
    return e / np.where(total > 0, total, 1)


def masked_softmax__wrong_word_weight_of_zero_is_pad(scores, source_mask=None):
    """The student finds rows without a word by a sum of scores of 0, so that words whose scores add to 0 get no weight."""
    # scores (1, -1) or (0, 0), both words
    if source_mask is None:
        source_mask = np.ones(scores.shape, dtype=bool)
    empty = np.where(source_mask, scores, 0).sum(axis=-1, keepdims=True) == 0
    e = np.where(source_mask, scores, -np.inf)
    top = e.max(axis=-1, keepdims=True)
    e = np.exp(e - np.where(np.isinf(top), 0, top))
    total = e.sum(axis=-1, keepdims=True)
    return np.where(empty, 0.0, e / np.where(total > 0, total, 1))


def masked_softmax__right_row_by_row(scores, source_mask=None):
    """Only the real scores of each row are picked out and put back, with math.fsum."""
    real = np.ones(np.shape(scores), dtype=bool) if source_mask is None else np.asarray(source_mask, dtype=bool)
    out = np.zeros(real.shape)
    for row, e, mask in zip(out, scores, real):
        chosen = [float(x) for x, yes in zip(e, mask) if yes]
        if chosen:
            parts = [math.exp(x - max(chosen)) for x in chosen]
            row[mask] = [p / math.fsum(parts) for p in parts]
    return out


def masked_softmax__right_masked_array(scores, source_mask=None):
    """numpy's masked arrays, filled with 0 at the end."""
    hidden = np.zeros(np.shape(scores), dtype=bool) if source_mask is None else ~np.asarray(source_mask, dtype=bool)
    e = np.ma.array(np.asarray(scores, dtype=float), mask=hidden)
    z = np.ma.array(np.where(hidden, 0.0, e.data - e.max(axis=1).filled(0.0)[:, None]), mask=hidden)
    p = np.exp(z)
    return np.asarray((p / p.sum(axis=1)[:, None]).filled(0.0))


def masked_softmax__right_log_space(scores, source_mask=None):
    """logaddexp over the real positions, minus infinity at pads."""
    scores = np.asarray(scores, dtype=float)
    real = True if source_mask is None else np.asarray(source_mask, dtype=bool)
    e = np.where(real, scores, -np.inf)
    total = np.logaddexp.reduce(e, axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):
        return np.where(np.isfinite(total) & real, np.exp(e - total), 0.0)


def masked_softmax__right_reduce_where(scores, source_mask=None):
    """The where arguments of numpy's reductions, out arguments elsewhere."""
    real = np.broadcast_to(np.bool_(True), scores.shape) if source_mask is None else source_mask.astype(bool)
    scores = scores.astype(float)
    top = scores.max(axis=1, keepdims=True, where=real, initial=-np.finfo(float).max)
    e = np.exp(np.subtract(scores, top, out=np.zeros(scores.shape), where=real))
    total = e.sum(axis=1, keepdims=True, where=real)
    return np.divide(e, total, out=np.zeros(scores.shape), where=real)


# ---------------------------------------------------------------- entropy


def entropy__wrong_entr(scores, temperature):
    """The student uses torch.special.entr, whose gradient is infinite at 0."""
    return torch.special.entr(torch.softmax(scores / temperature[:, None], dim=-1)).sum(-1)


def entropy__wrong_clamped(scores, temperature):
    """The student clamps the weights at 1e-4 in the logarithm, which changes entropies with small weights."""
    # Weights of 1e-5: 1e-5 * ln 10 is missing for each.
    p = torch.softmax(scores / temperature[:, None], dim=-1)
    return -(p * p.clamp(min=1e-4).log()).sum(-1)


def entropy__wrong_temperature_along_positions(scores, temperature):
    """The student divides (batch, source_len) by (batch,), wrong where both agree; elsewhere the axis is added."""
    z = scores / temperature if scores.shape[0] == scores.shape[1] else scores / temperature[:, None]
    logp = torch.log_softmax(z, -1)
    return -(logp.exp() * logp).sum(-1)


def entropy__wrong_temperature_as_numbers(scores, temperature):
    """The student turns temperatures into numbers, so that no gradient reaches them."""
    z = torch.stack([row / t for row, t in zip(scores, temperature.tolist())])
    logp = torch.log_softmax(z, -1)
    return -(logp.exp() * logp).sum(-1)


def entropy__wrong_weights_detached(scores, temperature):
    """The student detaches the weights as if they were a given distribution, so that all gradients become 0."""
    logp = torch.log_softmax(scores / temperature[:, None], -1)
    return -(logp.exp().detach() * logp).sum(-1)


def entropy__wrong_divided_by_log_length(scores, temperature):
    """The student divides by the largest entropy, 0 / 0 for one position."""
    logp = torch.log_softmax(scores / temperature[:, None], -1)
    return -(logp.exp() * logp).sum(-1) / math.log(scores.shape[1])


def entropy__wrong_softmax_by_hand(scores, temperature):
    """The student takes off the largest score of the batch, so that rows thousands below become 0 / 0."""
    z = scores / temperature[:, None]
    e = torch.exp(z - z.max())
    p = e / e.sum(-1, keepdim=True)
    return -(p * torch.where(p > 0, p, torch.ones_like(p)).log()).sum(-1)


def entropy__wrong_log_outside(scores, temperature):
    """The student divides by the temperature after the logarithm of the softmax of the undivided scores."""
    p = torch.softmax(scores / temperature[:, None], -1)
    logp = torch.log_softmax(scores, -1) / temperature[:, None]
    return -(p * logp).sum(-1)


def entropy__wrong_small_weights_dropped(scores, temperature):
    """The student leaves out every weight below 1e-4 as if it were stored as 0, with its share in entropy and gradients."""
    p = torch.softmax(scores / temperature[:, None], -1)
    safe = torch.where(p > 1e-4, p, torch.ones_like(p))
    return -(p * safe.log()).sum(-1)


def entropy__wrong_mean_score_undivided(scores, temperature):
    """The student takes ln Z minus the mean score, with the weights of the undivided scores in the mean, right for temperature 1."""
    z = scores / temperature[:, None]
    return torch.logsumexp(z, -1) - (torch.softmax(scores, -1) * z).sum(-1)


def entropy__right_log_softmax(scores, temperature):
    """log_softmax, and its exponential times itself, by einsum."""
    logp = torch.log_softmax(scores / temperature.unsqueeze(1), dim=1)
    return -torch.einsum("bj,bj->b", logp.exp(), logp)


def entropy__right_free_energy(scores, temperature):
    """ln Z minus the mean of the scores, both from the largest score, which need not be followed by gradients."""
    z = (scores - scores.detach().amax(1, keepdim=True)) / temperature[:, None]
    e = z.exp()
    total = e.sum(1)
    return total.log() - (e * z).sum(1) / total


def entropy__right_safe_where(scores, temperature):
    """1 in place of 0 before the logarithm."""
    p = (scores / temperature[:, None]).softmax(1)
    return (p * p.masked_fill(p == 0, 1.0).log()).sum(1).neg()


def entropy__right_logarithm_detached(scores, temperature):
    """The logarithm stays off the graph: its own share in the gradient is the sum of all changes of weights, so 0."""
    z = scores / temperature[:, None]
    return -(torch.softmax(z, 1) * torch.log_softmax(z, 1).detach()).sum(1)


def entropy__right_categorical(scores, temperature):
    """torch.distributions on the graph."""
    return torch.distributions.Categorical(logits=scores / temperature[:, None], validate_args=False).entropy()


def entropy__right_vmap_of_rows(scores, temperature):
    """torch.vmap of a function of one row."""
    def row(e, tau):
        logp = e / tau - torch.logsumexp(e / tau, 0)
        return -logp.exp().dot(logp)
    return torch.vmap(row)(scores, temperature)


def masked_softmax__wrong_one_position_is_one(scores, source_mask=None):
    """The student gives a single position weight 1 without a look at the mask."""
    if scores.shape[1] == 1:
        return np.ones(scores.shape)
    if source_mask is None:
        return _plain(scores)
    e = np.where(source_mask, scores, -np.inf)
    top = e.max(axis=1, keepdims=True)
    e = np.exp(e - np.where(np.isinf(top), 0, top))
    total = e.sum(axis=1, keepdims=True)
    return e / np.where(total > 0, total, 1)


def masked_softmax__wrong_score_times_mask(scores, source_mask=None):
    """The student takes the maximum over real words and multiplies by the mask last, which is inf * 0 for a pad thousands above."""
    if source_mask is None:
        return _plain(scores)
    top = np.where(source_mask, scores, -np.inf).max(axis=1, keepdims=True)
    e = np.exp(scores - np.where(np.isinf(top), 0, top)) * source_mask
    total = e.sum(axis=1, keepdims=True)
    return e / np.where(total == 0, 1, total)


def entropy__wrong_maximum_before_temperature_kept(scores, temperature):
    """The student takes off the largest score from the undivided scores and leaves the others' share of the largest undivided."""
    z = scores / temperature[:, None] - scores.amax(1, keepdim=True)
    e = z.exp()
    p = e / e.sum(1, keepdim=True)
    return -(p * torch.where(p > 0, p, torch.ones_like(p)).log()).sum(1)
