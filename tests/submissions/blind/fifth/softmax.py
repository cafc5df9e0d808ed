"""Answers to the exercises of softmax.ipynb, right and wrong."""
import math

import numpy as np
import torch

_E = [0.5, -0.3, 1.2, 0.1]
_A = [0.48, 0.3, 0.16, 0.06]
_J = [0.1, 0.5, 0.15, 0.25]
_P = [0.8, -0.5, 1.3, 0.2, 0.2]


def _soft(e):
    x = [math.exp(v - max(e)) for v in e]
    return [v / sum(x) for v in x]


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


def weights_by_hand_twin__wrong_lost_sign():
    """Drops the minus of the second score."""
    return _soft([0.5, 0.3, 1.2, 0.1])


def weights_by_hand_twin__wrong_sorted():
    """Returns the weights in falling order instead of in the order of the positions."""
    return sorted(_soft(_E), reverse=True)


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


# ---------------------------------------------------------------- 3.2
def score_differences__wrong_sign():
    """Returns e_j - e_1 instead of e_1 - e_j."""
    return [math.log(a / _A[0]) for a in _A[1:]]


def score_differences__wrong_ratios():
    """Returns the ratios of the weights and forgets the logarithm."""
    return [_A[0] / a for a in _A[1:]]


def score_differences__wrong_log10():
    """Takes the logarithm to base 10 instead of the natural one."""
    return [math.log10(_A[0] / a) for a in _A[1:]]


def score_differences__wrong_neighbours():
    """Returns the differences between neighbouring scores instead of those from the first."""
    return [math.log(a / b) for a, b in zip(_A, _A[1:])]


def score_differences__wrong_subtle_rounded_logs():
    """Rounds each logarithm to two decimals before subtracting, so that the last decimals are not to be trusted."""
    l = [round(math.log(a), 2) for a in _A]
    return [round(l[0] - x, 4) for x in l[1:]]


def score_differences__right_log_of_ratio():
    """Right: natural logarithm of the ratio of the weights, in numpy."""
    return np.log(_A[0] / np.array(_A[1:]))


def score_differences__right_difference_of_logs():
    """Right: difference of the logarithms by log2 and a change of base."""
    return [(math.log2(0.48) - math.log2(a)) / math.log2(math.e) for a in _A[1:]]


# ---------------------------------------------------------------- 3.3
def jacobian_row__wrong_no_own_term():
    """Forgets the 1 in the derivative by its own score and returns -a_3 a_k throughout."""
    return [-0.15 * a for a in _J]


def jacobian_row__wrong_sign_off_diagonal():
    """Gives the derivatives by other scores a plus sign."""
    return [0.15 * a for a in _J[:2]] + [0.15 * 0.85, 0.15 * 0.25]


def jacobian_row__wrong_second_weight():
    """Counts from 0 wrongly and differentiates the second weight instead of the third."""
    return [0.5 * ((k == 1) - a) for k, a in enumerate(_J)]


def jacobian_row__wrong_subtle_two_decimals():
    """Rounds the products to two decimals on the way, so the last two decimals are lost."""
    return [round(0.15 * ((k == 2) - a), 2) for k, a in enumerate(_J)]


def jacobian_row__right_full_matrix():
    """Right: row 3 of diag(a) - a a^T."""
    a = np.array(_J)
    return (np.diag(a) - np.outer(a, a))[2].tolist()


def jacobian_row__right_autograd():
    """Right: autograd through a softmax of the logarithms of the weights."""
    e = torch.tensor(_J, dtype=torch.float64).log().requires_grad_()
    torch.softmax(e, 0)[2].backward()
    return e.grad


# ---------------------------------------------------------------- 3.4
def masked_weights__wrong_pads_take_part():
    """Takes the softmax over all five positions as though the pads were words."""
    return _soft(_P)


def masked_weights__wrong_zeroed_after():
    """Sets the pads to 0 after the softmax and does not divide anew."""
    return _soft(_P)[:3] + [0.0, 0.0]


def masked_weights__wrong_zero_scores():
    """Sets the scores of the pads to 0 and lets them take part."""
    return _soft(_P[:3] + [0.0, 0.0])


def masked_weights__wrong_three_only():
    """Returns only three weights and leaves out the zeros of the pads."""
    return _soft(_P[:3])


def masked_weights__wrong_subtle_fill_minus_five():
    """Replaces the pad scores by -5 instead of leaving them out, so each pad keeps about a thousandth."""
    return _soft(_P[:3] + [-5.0, -5.0])


def masked_weights__right_three_and_zeros():
    """Right: softmax of the three words, then two zeros."""
    return _soft(_P[:3]) + [0, 0]


# ---------------------------------------------------------------- 3.5
def batch_shapes__wrong_total_without_axis(batch, T_x, T_y):
    """Leaves the summed axis away in `total`."""
    return {"total": (batch,), "all_weights": (batch, T_y, T_x), "mask": (batch, 1, T_x)}


def batch_shapes__wrong_total_axis_in_front(batch, T_x, T_y):
    """Puts the kept axis of `total` in front of the batch."""
    return {"total": (1, batch), "all_weights": (batch, T_y, T_x), "mask": (batch, 1, T_x)}


def batch_shapes__wrong_positions_second(batch, T_x, T_y):
    """Puts the source positions before the steps in `all_weights`."""
    return {"total": (batch, 1), "all_weights": (batch, T_x, T_y), "mask": (batch, 1, T_x)}


def batch_shapes__wrong_mask_axis_last(batch, T_x, T_y):
    """Puts the extra axis of the mask last instead of at the steps."""
    return {"total": (batch, 1), "all_weights": (batch, T_y, T_x), "mask": (batch, T_x, 1)}


def batch_shapes__wrong_mask_full(batch, T_x, T_y):
    """Gives the mask a full axis of steps instead of one of length 1."""
    return {"total": (batch, 1), "all_weights": (batch, T_y, T_x), "mask": (batch, T_y, T_x)}


def batch_shapes__wrong_subtle_longer_axis_last(batch, T_x, T_y):
    """Takes the longer of the two sentence axes for the source, which fails where there are more steps than positions."""
    return {"total": (batch, 1), "all_weights": (batch, min(T_x, T_y), max(T_x, T_y)), "mask": (batch, 1, T_x)}


def batch_shapes__right_from_arrays(batch, T_x, T_y):
    """Right: makes the arrays with numpy and reads their shapes."""
    e = np.zeros((batch, T_x))
    return {"total": np.exp(e).sum(-1, keepdims=True).shape,
            "all_weights": np.stack([e] * T_y, axis=1).shape, "mask": (e > 0)[:, None].shape}


def batch_shapes__right_torch_sizes(batch, T_x, T_y):
    """Right: shapes as torch.Size, which is a tuple, in another order of keys."""
    return {"mask": torch.Size([batch, 1, T_x]), "all_weights": torch.Size([batch, T_y, T_x]),
            "total": torch.Size([batch, 1])}


# ---------------------------------------------------------------- 3.6
def jacobian_shapes__wrong_vector(batch, m, T_x):
    """Gives each weight one derivative only, by its own score."""
    return {"weights": (T_x,), "weights_of_batch": (batch, T_x), "context": (m, T_x)}


def jacobian_shapes__wrong_context_turned(batch, m, T_x):
    """Puts the scores first in the derivatives of the context."""
    return {"weights": (T_x, T_x), "weights_of_batch": (batch, T_x, T_x), "context": (T_x, m)}


def jacobian_shapes__wrong_all_by_all(batch, m, T_x):
    """Differentiates each sentence's weights by the scores of all sentences."""
    return {"weights": (T_x, T_x), "weights_of_batch": (batch, T_x, batch, T_x), "context": (m, T_x)}


def jacobian_shapes__wrong_subtle_turned_if_long(batch, m, T_x):
    """Puts the larger size first in `context`, which is turned where the sentence is longer than an annotation."""
    return {"weights": (T_x, T_x), "weights_of_batch": (batch, T_x, T_x), "context": (max(m, T_x), min(m, T_x))}


def jacobian_shapes__right_plain(batch, m, T_x):
    """Right: builds the longer shape from the shorter one."""
    square = (T_x,) * 2
    return dict(weights=square, weights_of_batch=(batch,) + square, context=(m, T_x))


# ---------------------------------------------------------------- 3.7
def softmax__wrong_no_shift(scores):
    """Does not subtract the largest score, so large ones overflow."""
    x = np.exp(scores)
    return x / x.sum(-1, keepdims=True)


def softmax__wrong_first_axis(scores):
    """Runs along the first axis instead of the last."""
    return _np_soft(scores, 0)


def softmax__wrong_sum_of_all(scores):
    """Divides by the sum of the whole array instead of that of each row."""
    x = np.exp(scores - scores.max(-1, keepdims=True))
    return x / x.sum()


def softmax__wrong_axis_lost(scores):
    """Sums without keepdims, so the sums are spread over the wrong axis or do not fit."""
    x = np.exp(scores - scores.max(-1, keepdims=True))
    return x / x.sum(-1)


def softmax__wrong_negative_exponent(scores):
    """Exponentiates the highest minus the score, with the sign turned round, so low scores get large weights."""
    return _np_soft(-scores)


def softmax__wrong_logits(scores):
    """Returns the logarithms of the weights instead of the weights."""
    z = scores - scores.max(-1, keepdims=True)
    return z - np.log(np.exp(z).sum(-1, keepdims=True))


def softmax__wrong_subtle_one_max_for_all(scores):
    """Subtracts the largest score of the whole array, so rows far below it become 0/0."""
    x = np.exp(scores - scores.max())
    return x / x.sum(-1, keepdims=True)


def softmax__wrong_subtle_axis_one(scores):
    """Names the last axis 1, which is right for two axes only."""
    if scores.ndim == 1:
        return _np_soft(scores)
    return _np_soft(scores, 1)


def softmax__wrong_subtle_largest_size(scores):
    """Subtracts the largest absolute value, so rows of very negative scores underflow throughout."""
    x = np.exp(scores - np.abs(scores).max(-1, keepdims=True))
    return x / x.sum(-1, keepdims=True)


def softmax__wrong_subtle_mean(scores):
    """Subtracts the mean instead of the maximum, so a row with one score far above the others overflows."""
    x = np.exp(scores - scores.mean(-1, keepdims=True))
    return x / x.sum(-1, keepdims=True)


def softmax__wrong_subtle_single_precision(scores):
    """Computes in single precision."""
    return _np_soft(scores.astype(np.float32)).astype(float)


def softmax__wrong_subtle_distinct_scores(scores):
    """Sums over distinct scores, so that ties are counted only once."""
    x = np.exp(scores - scores.max(-1, keepdims=True))
    rows = x.reshape(-1, x.shape[-1])
    return np.array([r / sum(set(r.tolist())) for r in rows]).reshape(scores.shape)


def softmax__wrong_subtle_squeezed(scores):
    """Drops axes of length 1 from the result."""
    return np.squeeze(_np_soft(scores))


def softmax__right_loop_over_rows(scores):
    """Right: a loop over rows with math.fsum."""
    out = []
    for row in np.reshape(scores, (-1, scores.shape[-1])).tolist():
        x = [math.exp(e - max(row)) for e in row]
        out.append([v / math.fsum(x) for v in x])
    return np.array(out).reshape(scores.shape)


def softmax__right_log_sum_exp(scores):
    """Right: exp of the shifted scores minus the logarithm of their sum, by logaddexp.reduce."""
    z = scores - scores.max(axis=-1, keepdims=True)
    return np.exp(z - np.logaddexp.reduce(z, axis=-1, keepdims=True))


def softmax__right_recursion_lists(scores):
    """Right: recursion over the axes in front, result as nested lists."""
    if scores.ndim > 1:
        return [softmax__right_recursion_lists(s) for s in scores]
    return _soft(scores.tolist())


def softmax__right_pairwise_fortran(scores):
    """Right: one over the sum of exponentials of score differences, stored in Fortran order."""
    d = np.minimum(scores[..., None, :] - scores[..., :, None], 700.0)
    return np.asfortranarray(1 / np.exp(d).sum(-1))


def softmax__right_in_place(scores):
    """Right: changes its input on the way and returns it (which costs no points by the text)."""
    scores -= scores.max(-1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(-1, keepdims=True)
    return scores


# ---------------------------------------------------------------- 3.8
def _masked(scores, mask):
    out = np.zeros(scores.shape)
    for b in range(len(scores)):
        if mask[b].any():
            out[b, mask[b]] = _np_soft(scores[b, mask[b]])
    return out


def _real(scores, mask):
    return np.ones(scores.shape, dtype=bool) if mask is None else mask


def masked_softmax__wrong_not_divided_anew(scores, source_mask=None):
    """Zeroes the pads after the softmax and does not divide anew."""
    return _np_soft(scores) * _real(scores, source_mask)


def masked_softmax__wrong_pad_scores_zero(scores, source_mask=None):
    """Sets the scores of pads to 0 instead of leaving them out."""
    return _np_soft(scores * _real(scores, source_mask))


def masked_softmax__wrong_mask_inverted(scores, source_mask=None):
    """Takes the mask as true at pads."""
    return _masked(scores, _real(scores, None) if source_mask is None else ~source_mask)


def masked_softmax__wrong_empty_row_nan(scores, source_mask=None):
    """Fills with -inf, so a row without a real word becomes nan."""
    return _np_soft(np.where(_real(scores, source_mask), scores, -np.inf))


def masked_softmax__wrong_empty_row_even(scores, source_mask=None):
    """Fills with one very low number, so a row without a real word gets even weights instead of 0."""
    return _np_soft(np.where(_real(scores, source_mask), scores, -1e30))


def masked_softmax__wrong_no_default(scores, source_mask=None):
    """Takes a missing mask for one that is false everywhere and returns zeros."""
    if source_mask is None:
        return np.zeros(scores.shape)
    return _masked(scores, source_mask)


def masked_softmax__wrong_first_row_mask(scores, source_mask=None):
    """Uses the mask of the first sentence for all."""
    m = _real(scores, source_mask)
    return _masked(scores, np.tile(m[:1], (len(m), 1)))


def masked_softmax__wrong_mask_as_count(scores, source_mask=None):
    """Counts the real words and takes as many positions from the left, wherever the pads stand."""
    m = _real(scores, source_mask)
    return _masked(scores, np.arange(m.shape[1]) < m.sum(1, keepdims=True))


def masked_softmax__wrong_subtle_fill_minus_1e4(scores, source_mask=None):
    """Fills pads with -10 000, which lies above legal scores of real words, so these lose their weight."""
    m = _real(scores, source_mask)
    return _np_soft(np.where(m, scores, -1e4)) * m


def masked_softmax__wrong_subtle_adds_penalty(scores, source_mask=None):
    """Adds -1e9 at pads instead of replacing the score, so a pad with a larger score still wins."""
    m = _real(scores, source_mask)
    return _np_soft(scores + np.where(m, 0.0, -1e9)) * m


def masked_softmax__wrong_subtle_max_with_pads(scores, source_mask=None):
    """Takes the maximum over pads too, so real words far below a pad underflow."""
    m = _real(scores, source_mask)
    x = np.where(m, np.exp(scores - scores.max(1, keepdims=True)), 0.0)
    t = x.sum(1, keepdims=True)
    return x / np.where(t == 0, 1, t)


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


def masked_softmax__wrong_subtle_max_from_zero(scores, source_mask=None):
    """Starts the maximum over real words at 0, so words far below 0 underflow and the row counts as empty."""
    m = _real(scores, source_mask)
    x = np.where(m, np.exp(np.where(m, scores - np.max(scores, axis=1, keepdims=True, where=m, initial=0.0), 0)), 0.0)
    t = x.sum(1, keepdims=True)
    return x / np.where(t == 0, 1, t)


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


def entropy__wrong_log_of_weights(scores, temperature):
    """Takes the logarithm of weights that are stored as 0, which gives nan."""
    a = torch.softmax(_z(scores, temperature), 1)
    return -(a * a.log()).sum(1)


def entropy__wrong_times_temperature(scores, temperature):
    """Multiplies the scores by the temperature instead of dividing."""
    l = torch.log_softmax(scores * temperature[:, None], 1)
    return -(l.exp() * l).sum(1)


def entropy__wrong_no_temperature(scores, temperature):
    """Leaves the temperature out."""
    l = torch.log_softmax(scores, 1)
    return -(l.exp() * l).sum(1)


def entropy__wrong_bits(scores, temperature):
    """Measures in bits, with the logarithm to base 2."""
    l = torch.log_softmax(_z(scores, temperature), 1)
    return -(l.exp() * l).sum(1) / math.log(2)


def entropy__wrong_temperature_along_positions(scores, temperature):
    """Divides by the temperatures along the positions, because it forgets the extra axis."""
    l = torch.log_softmax(scores / temperature, 1)
    return -(l.exp() * l).sum(1)


def entropy__wrong_mean(scores, temperature):
    """Averages over the positions instead of summing."""
    l = torch.log_softmax(_z(scores, temperature), 1)
    return -(l.exp() * l).mean(1)


def entropy__wrong_one_number(scores, temperature):
    """Sums over the whole batch and returns one number."""
    l = torch.log_softmax(_z(scores, temperature), 1)
    return -(l.exp() * l).sum()


def entropy__wrong_numpy_inside(scores, temperature):
    """Leaves torch on the way, so that no gradient arrives."""
    a = _np_soft(scores.detach().numpy() / temperature.detach().numpy()[:, None])
    return torch.tensor(-np.where(a > 0, a * np.log(np.where(a > 0, a, 1)), 0).sum(1))


def entropy__wrong_subtle_where_too_late(scores, temperature):
    """Replaces a log a by 0 after the logarithm, so the value is right and the gradient nan where a weight is 0."""
    a = torch.softmax(_z(scores, temperature), 1)
    return -torch.where(a > 0, a * a.log(), torch.zeros_like(a)).sum(1)


def entropy__wrong_subtle_entr(scores, temperature):
    """Uses torch.special.entr, whose gradient at a weight of 0 is infinite and becomes nan."""
    return torch.special.entr(torch.softmax(_z(scores, temperature), 1)).sum(1)


def entropy__wrong_subtle_detached_weights(scores, temperature):
    """Detaches the weights in front of the logarithm, so the value is right and the gradients vanish."""
    l = torch.log_softmax(_z(scores, temperature), 1)
    return -(l.exp().detach() * l).sum(1)


def entropy__wrong_subtle_temperature_detached(scores, temperature):
    """Reads the temperatures off with detach, so that no gradient reaches them."""
    l = torch.log_softmax(_z(scores, temperature.detach()), 1)
    return -(l.exp() * l).sum(1)


def entropy__wrong_subtle_temperature_clamped(scores, temperature):
    """Keeps the temperature between 0.1 and 100, though less and more are allowed."""
    l = torch.log_softmax(_z(scores, temperature.clamp(0.1, 100)), 1)
    return -(l.exp() * l).sum(1)


def entropy__wrong_subtle_squeeze(scores, temperature):
    """Squeezes the result, so that a batch of one sentence loses its only axis."""
    l = torch.log_softmax(_z(scores, temperature), 1)
    return -(l.exp() * l).sum(1, keepdim=True).squeeze()


def entropy__wrong_subtle_epsilon(scores, temperature):
    """Adds 1e-6 inside the logarithm, which moves the entropy by more than the eighth digit."""
    a = torch.softmax(_z(scores, temperature), 1)
    return -(a * (a + 1e-6).log()).sum(1)


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


# ---------------------------------------------------------------- 3.11
def broken_maps__wrong_two_and_three():
    """Swaps the zero scores before the softmax with the pads left out after it."""
    return {"A": 4, "B": 1, "C": 6, "D": 2, "E": 3}


def broken_maps__wrong_twice_for_after():
    """Takes Table D, whose rows do not add to 1, for a softmax taken twice."""
    return {"A": 4, "B": 1, "C": 6, "D": 5, "E": 2}


def broken_maps__wrong_axis_and_state():
    """Swaps the softmax over the steps with the missing decoder state."""
    return {"A": 1, "B": 4, "C": 6, "D": 3, "E": 2}


def broken_maps__right_numpy_integers():
    """Right: built from a string of digits, as numpy integers."""
    return dict(zip("ABCDE", np.array(list(map(int, "41632")))))
