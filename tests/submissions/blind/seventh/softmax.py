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


# ---- weights_by_hand_twin
def weights_by_hand_twin__wrong_base_two():
    """Takes powers of 2 instead of e."""
    return list(2 ** _E4 / (2 ** _E4).sum())


def weights_by_hand_twin__wrong_no_exp():
    """Divides the scores by their sum, without exponentials."""
    return list(_E4 / _E4.sum())


def weights_by_hand_twin__wrong_subtle_rounded_exps():
    """Rounds the exponentials to one decimal before dividing."""
    e = np.round(np.exp(_E4), 1)
    return list(e / e.sum())


def weights_by_hand_twin__right_pairwise():
    """Uses 1 / sum of exp of differences, in plain Python, and gives a tuple."""
    return tuple(1 / sum(math.exp(b - a) for b in _E4) for a in _E4)


# ---- score_differences
def score_differences__wrong_ratios():
    """Gives the ratios of the weights, without the logarithm."""
    return list(_A4[0] / _A4[1:])


def score_differences__wrong_sign():
    """Takes the other score minus the first: the sign is turned."""
    return list(np.log(_A4[1:] / _A4[0]))


def score_differences__wrong_log10():
    """Takes the logarithm to base 10."""
    return list(np.log10(_A4[0] / _A4[1:]))


def score_differences__wrong_subtle_two_decimals():
    """Rounds the logarithms to two decimals before subtracting."""
    l = np.round(np.log(_A4), 2)
    return list(l[0] - l[1:])


def score_differences__right_array():
    """Subtracts logarithms and gives an array."""
    return np.log(0.48) - np.log([0.3, 0.16, 0.06])


# ---- jacobian_row


def jacobian_row__wrong_diagonal():
    """Forgets to take the square off at the third score, where it gives the weight itself."""
    r = -_J4[2] * _J4
    r[2] = _J4[2]
    return list(r)


def jacobian_row__wrong_sign():
    """Gives every other score a positive derivative: loses the minus sign off the diagonal."""
    r = _J4[2] * _J4
    r[2] = _J4[2] * (1 - _J4[2])
    return list(r)


def jacobian_row__wrong_no_diagonal():
    """Uses minus the product at the third score too, without the term of the weight itself."""
    return list(-_J4[2] * _J4)


def jacobian_row__right_autograd():
    """Lets torch differentiate a softmax of logarithms."""
    e = torch.tensor(np.log(_J4), requires_grad=True)
    torch.softmax(e, 0)[2].backward()
    return e.grad.tolist()


# ---- masked_weights
def masked_weights__wrong_no_mask():
    """Takes the softmax of all five scores."""
    return list(_sm(_M5))


def masked_weights__wrong_after_softmax():
    """Takes the softmax of all five and sets the pads to 0 afterwards, so that the rest does not add to 1."""
    return list(_sm(_M5) * [1, 1, 1, 0, 0])


def masked_weights__wrong_zero_scores():
    """Sets the scores of the pads to 0 before the softmax."""
    return list(_sm(_M5 * [1, 1, 1, 0, 0]))


def masked_weights__wrong_subtle_one_pad():
    """Leaves out the last pad only."""
    return list(_sm(_M5[:4])) + [0.0]


def masked_weights__right_inf():
    """Sets the scores of the pads to minus infinity."""
    return torch.softmax(torch.tensor([.8, -.5, 1.3, -math.inf, -math.inf], dtype=torch.float64), 0).numpy()


# ---- batch_shapes
def batch_shapes__wrong_total_flat(batch, T_x, T_y):
    """Forgets the kept axis of length 1 in the sums."""
    return {"total": (batch,), "all_weights": (batch, T_y, T_x), "mask": (batch, 1, T_x)}


def batch_shapes__wrong_mask_axis_end(batch, T_x, T_y):
    """Puts the new axis of the mask at the end."""
    return {"total": (batch, 1), "all_weights": (batch, T_y, T_x), "mask": (batch, T_x, 1)}


def batch_shapes__wrong_target_mask(batch, T_x, T_y):
    """Gives the mask a column for each decoder step, though it is that of the source."""
    return {"total": (batch, 1), "all_weights": (batch, T_y, T_x), "mask": (batch, 1, T_y)}


def batch_shapes__right_arrays(batch, T_x, T_y):
    """Reads the shapes off numpy arrays."""
    e = np.ones((batch, T_x))
    return dict(total=e.sum(1, keepdims=True).shape, all_weights=np.stack([e] * T_y, 1).shape, mask=e[:, None].shape)


# ---- jacobian_shapes
def jacobian_shapes__wrong_vector(batch, m, T_x):
    """Gives each weight one derivative only, by its own score."""
    return {"weights": (T_x,), "weights_of_batch": (batch, T_x), "context": (m, T_x)}


def jacobian_shapes__wrong_context_transposed(batch, m, T_x):
    """Puts the scores before the context, though what is differentiated comes first."""
    return {"weights": (T_x, T_x), "weights_of_batch": (batch, T_x, T_x), "context": (T_x, m)}


def jacobian_shapes__right_torch(batch, m, T_x):
    """Builds the shapes as torch.Size by concatenation."""
    w = torch.Size([T_x, T_x])
    return {"weights": w, "weights_of_batch": torch.Size([batch]) + w, "context": torch.Size([m]) + w[1:]}


# ---- softmax
def softmax__wrong_no_shift(scores):
    """Exponentiates the scores as they are, which overflows."""
    e = np.exp(scores)
    return e / e.sum(-1, keepdims=True)


def softmax__wrong_first_axis(scores):
    """Runs over the first axis instead of the last."""
    return _sm(scores, 0)


def softmax__wrong_subtle_axis_one(scores):
    """Always takes axis 1, which is the last one of a matrix only."""
    return _sm(scores, 1)


def softmax__wrong_subtle_global_max(scores):
    """Subtracts the maximum of the whole array, so that rows far below it underflow to 0/0."""
    e = np.exp(scores - scores.max())
    return e / e.sum(-1, keepdims=True)


def softmax__wrong_subtle_mean_shift(scores):
    """Subtracts the mean of the row instead of its maximum, which overflows in wide rows."""
    e = np.exp(scores - scores.mean(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def softmax__wrong_subtle_clipped(scores):
    """Clips the shifted scores at -10 so that no weight becomes 0."""
    e = np.exp(np.maximum(scores - scores.max(-1, keepdims=True), -10))
    return e / e.sum(-1, keepdims=True)


def softmax__wrong_subtle_abs_shift(scores):
    """Subtracts the largest absolute value instead of the maximum: very negative rows underflow to 0/0."""
    e = np.exp(scores - np.abs(scores).max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def softmax__right_in_place(scores):
    """Works in place on the input, which changes it but not the result."""
    scores -= scores.max(-1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(-1, keepdims=True)
    return scores


def softmax__right_recursive_lists(scores):
    """Recurs over the leading axes down to single rows, and gives nested lists."""
    return _rec(scores)


def softmax__right_log_space(scores):
    """Subtracts the logarithm of the sum, found by logaddexp, and exponentiates once."""
    return np.exp(scores - np.logaddexp.reduce(scores, axis=-1, keepdims=True))


# ---- masked_softmax
def masked_softmax__wrong_after(scores, source_mask=None):
    """Multiplies by the mask after the softmax and does not normalise again."""
    w = _sm(scores)
    return w if source_mask is None else w * source_mask


def masked_softmax__wrong_zero_scores(scores, source_mask=None):
    """Sets pad scores to 0, so pads get weight."""
    return _sm(scores if source_mask is None else scores * source_mask)


def masked_softmax__wrong_uniform_empty(scores, source_mask=None):
    """Gives a row without a real word uniform weights instead of zeros."""
    m = np.ones(scores.shape, bool) if source_mask is None else source_mask
    return _sm(np.where(m, scores, -1e9))


def masked_softmax__wrong_nan_empty(scores, source_mask=None):
    """Divides 0 by 0 in rows without a real word."""
    m = np.ones(scores.shape, bool) if source_mask is None else source_mask
    return _sm(np.where(m, scores, -np.inf))


def masked_softmax__wrong_column_mask(scores, source_mask=None):
    """Takes a position for a pad in every sentence if it is one in any."""
    m = np.ones(scores.shape, bool) if source_mask is None else np.repeat(source_mask.all(0)[None], len(scores), 0)
    return _sel(scores, m)


def masked_softmax__wrong_subtle_minus_1e4(scores, source_mask=None):
    """Puts -10000 at pads, though real scores may lie below that."""
    m = np.ones(scores.shape, bool) if source_mask is None else source_mask
    w = _sm(np.where(m, scores, -1e4))
    return w * m.any(1, keepdims=True)


def masked_softmax__wrong_subtle_added_penalty(scores, source_mask=None):
    """Subtracts 1e9 at pads instead of replacing the score, so a pad with a larger one still wins."""
    m = np.ones(scores.shape, bool) if source_mask is None else source_mask
    return _sm(scores - 1e9 * ~m) * m


def masked_softmax__wrong_subtle_max_with_pads(scores, source_mask=None):
    """Takes the maximum with the pads, so the real words underflow beside a high pad."""
    m = np.ones(scores.shape, bool) if source_mask is None else source_mask
    e = np.exp(scores - scores.max(1, keepdims=True)) * m
    t = e.sum(1, keepdims=True)
    return e / np.where(t == 0, 1, t)


def masked_softmax__wrong_subtle_first_row(scores, source_mask=None):
    """Takes a batch whose first sentence has no pads for one without any pads."""
    if source_mask is None or source_mask[0].all():
        return _sm(scores)
    return _sel(scores, source_mask)


def masked_softmax__wrong_subtle_lengths(scores, source_mask=None):
    """Counts the real words and takes that many from the front, though pads may stand anywhere."""
    if source_mask is None:
        return _sm(scores)
    m = np.arange(scores.shape[1]) < source_mask.sum(1, keepdims=True)
    return _sel(scores, m)


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


# ---- entropy
def entropy__wrong_plain_log(scores, temperature):
    """Multiplies weights with their logarithm, which is 0 times infinity where a weight is stored as 0."""
    p = torch.softmax(scores / temperature[:, None], 1)
    return -(p * p.log()).sum(1)


def entropy__wrong_multiplied(scores, temperature):
    """Multiplies by the temperature instead of dividing."""
    l = torch.log_softmax(scores * temperature[:, None], 1)
    return -(l.exp() * l).sum(1)


def entropy__wrong_log2(scores, temperature):
    """Measures in bits: takes the logarithm to base 2."""
    l = torch.log_softmax(scores / temperature[:, None], 1)
    return -(l.exp() * l).sum(1) / math.log(2)


def entropy__wrong_batch_mean(scores, temperature):
    """Averages over the batch and gives the mean to every sentence."""
    l = torch.log_softmax(scores / temperature[:, None], 1)
    return -(l.exp() * l).sum(1).mean().expand(len(scores))


def entropy__wrong_normalised(scores, temperature):
    """Divides by the logarithm of the length, so that the largest entropy is 1."""
    l = torch.log_softmax(scores / temperature[:, None], 1)
    return -(l.exp() * l).sum(1) / math.log(max(scores.shape[1], 2))


def entropy__wrong_subtle_where_gradient(scores, temperature):
    """Chooses 0 for zero weights after the product was made: right forwards, nan in the gradient."""
    p = torch.softmax(scores / temperature[:, None], 1)
    return -torch.where(p > 0, p * p.log(), torch.zeros_like(p)).sum(1)


def entropy__wrong_epsilon(scores, temperature):
    """Adds 1e-7 inside the logarithm, which moves every entropy a little."""
    p = torch.softmax(scores / temperature[:, None], 1)
    return -(p * (p + 1e-7).log()).sum(1)


def entropy__wrong_subtle_temperature_detached(scores, temperature):
    """Takes the temperature's numbers only, so that no gradient arrives there."""
    l = torch.log_softmax(scores / temperature.detach()[:, None], 1)
    return -(l.exp() * l).sum(1)


def entropy__wrong_subtle_broadcast(scores, temperature):
    """Divides without a new axis where torch allows it: by columns if batch and length are equal."""
    t = temperature if temperature.shape[0] == scores.shape[1] else temperature[:, None]
    l = torch.log_softmax(scores / t, 1)
    return -(l.exp() * l).sum(1)


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


# ---- broken_maps
def broken_maps__wrong_two_three_swapped():
    """Mixes up D and E: takes pads left out afterwards for scores set to 0."""
    return {"A": 4, "B": 1, "C": 6, "D": 2, "E": 3}


def broken_maps__wrong_five_for_three():
    """Takes D for the double softmax, though its rows do not add to 1."""
    return {"A": 4, "B": 1, "C": 6, "D": 5, "E": 2}


def broken_maps__right_numpy_ints():
    """Gives the numbers as numpy integers."""
    return dict(zip("ABCDE", np.array([4, 1, 6, 3, 2])))
