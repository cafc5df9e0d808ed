import heapq
import math
from collections import namedtuple
from decimal import Decimal, getcontext

import numpy as np
import torch

# ---------------------------------------------------------------- every_step_shapes

def every_step_shapes__wrong_context_forgotten(batch, T_y, n, d, m, V_y):
    """The student joins state and embedding alone."""
    return {"joined": (batch, T_y, n + d), "W_o": (V_y, n + d), "logits": (batch, T_y, V_y), "flat_logits": (batch * T_y, V_y)}


def every_step_shapes__wrong_matrix_turned(batch, T_y, n, d, m, V_y):
    """The student turns the matrix, as it would stand behind rows."""
    return {"joined": (batch, T_y, n + d + m), "W_o": (n + d + m, V_y), "logits": (batch, T_y, V_y),
            "flat_logits": (batch * T_y, V_y)}


def every_step_shapes__wrong_steps_first(batch, T_y, n, d, m, V_y):
    """The student puts the steps in front of the batch in what is joined."""
    return {"joined": (T_y, batch, n + d + m), "W_o": (V_y, n + d + m), "logits": (batch, T_y, V_y),
            "flat_logits": (batch * T_y, V_y)}


def every_step_shapes__right_real_arrays(batch, T_y, n, d, m, V_y):
    """Shapes of arrays that are really joined and multiplied."""
    parts = [np.zeros((batch, T_y, k)) for k in (n, d, m)]
    joined = np.concatenate(parts, axis=-1)
    w = np.zeros((V_y, joined.shape[-1]))
    logits = joined @ w.T
    return {"joined": joined.shape, "W_o": w.shape, "logits": logits.shape, "flat_logits": logits.reshape(-1, V_y).shape}


def every_step_shapes__right_namedtuple(batch, T_y, n, d, m, V_y):
    """Named tuples, and the sum of sizes by math.fsum."""
    s3 = namedtuple("s3", "batch step size")
    s2 = namedtuple("s2", "rows columns")
    k = int(math.fsum([n, d, m]))
    return {"flat_logits": s2(math.prod((batch, T_y)), V_y), "logits": s3(batch, T_y, V_y), "W_o": s2(V_y, k),
            "joined": s3(batch, T_y, k)}


# ---------------------------------------------------------------- hindi_distribution


# ---------------------------------------------------------------- word_by_hand

_S = np.array([0.4, -0.6])
_H = np.array([[0.5, -0.2, 0.1, 0.3], [-0.4, 0.6, 0.2, -0.1]])
_WQ = np.array([[1, -1], [0, 2], [0.5, 1]])
_V = np.array([1, -2, 1.5])
_WK = np.array([[1, 0, 0, 2], [0, 1, -1, 0], [0, 0, 2, 1.0]])
_U = np.array([0.3, -0.1])
_WS = np.array([[0.5, 1], [-1, 0]])
_WC = np.array([[2, 0, -1, 0.5], [0, 2, 0, 1]])
_WO = np.array([[1, -1], [2, 0], [0, 2], [-1, 1], [1, 1.0]])
_BO = np.array([0, -0.5, 0.5, 0, 0.2])


def _word(u=_U, bias=_BO, places=None, ws=_WS, read=None, v=_V, shared=False, order=1):
    def _cut(x):
        return x if places is None else np.round(x, places)
    e = _cut(np.tanh(_cut(_WQ @ _S + _H @ _WK.T)) @ v)
    a = _cut(np.exp(e) / np.exp(e).sum())
    c = _cut(a[::order] @ _H)
    z = _cut(np.tanh(u + ws @ _S + _WC @ c))
    o = _WO @ (z if read is None else read) + bias
    p = np.exp(o) / np.exp(o).sum()
    return {k: list(map(float, x)) for k, x in zip(("scores", "weights", "context", "state", "distribution"), (e, a, c, z, p))}


def word_by_hand__wrong_sign_in_v():
    """The student loses the minus sign in v."""
    return _word(v=np.abs(_V))


def word_by_hand__right_decimal():
    """Decimals of 25 digits, exponentials for tanh."""
    getcontext().prec = 25
    def _d(x):
        return [_d(y) for y in x] if isinstance(x, list) else Decimal(repr(x))
    def _dot(a, b):
        return sum((x * y for x, y in zip(a, b)), Decimal(0))
    def _tanh(x):
        return (x.exp() - (-x).exp()) / (x.exp() + (-x).exp())
    s, h, wq, v, wk, u, ws, wc, wo, bo = (_d(x.tolist()) for x in (_S, _H, _WQ, _V, _WK, _U, _WS, _WC, _WO, _BO))
    e = [_dot(v, [_tanh(_dot(q, s) + _dot(k, x)) for q, k in zip(wq, wk)]) for x in h]
    a = [x.exp() / sum(y.exp() for y in e) for x in e]
    c = [_dot(a, column) for column in zip(*h)]
    z = [_tanh(b + _dot(r, s) + _dot(t, c)) for b, r, t in zip(u, ws, wc)]
    o = [(_dot(r, z) + b).exp() for r, b in zip(wo, bo)]
    return {"scores": e, "weights": a, "context": c, "state": z, "distribution": [x / sum(o) for x in o]}


def word_by_hand__right_sigmoid():
    """The weights of two words as logistic functions of the difference of scores, with a softmax by log-sum-exp, cut off."""
    e = np.tanh((_WQ @ _S)[:, None] + _WK @ _H.T).T @ _V
    a1 = 1 / (1 + math.exp(e[1] - e[0]))
    c = _H[1] + a1 * (_H[0] - _H[1])
    z = 1 - 2 / (np.exp(2 * (_U + _WS @ _S + _WC @ c)) + 1)
    o = _WO @ z + _BO
    return {"scores": np.trunc(e * 1e4) / 1e4, "weights": (a1, 1 - a1), "context": c, "state": z,
            "distribution": np.exp(o - np.logaddexp.reduce(o))}


# ---------------------------------------------------------------- cross_entropy

def _costs(logits, targets):
    top = logits.max(axis=-1)
    lse = top + np.log(np.exp(logits - top[..., None]).sum(axis=-1))
    return lse - np.take_along_axis(logits, targets[..., None], axis=-1)[..., 0]


def cross_entropy__wrong_shift_per_sentence(logits, targets, target_mask):
    """The student shifts by the largest logit of a sentence, so the sum of a step thousands below is 0."""
    if not target_mask.any():
        return 0.0
    top = logits.max(axis=(1, 2), keepdims=True)
    with np.errstate(all="ignore"):
        lse = top[..., 0] + np.log(np.exp(logits - top).sum(axis=-1))
    return float((lse - np.take_along_axis(logits, targets[..., None], axis=-1)[..., 0])[target_mask].mean())


def cross_entropy__wrong_flattened_by_steps(logits, targets, target_mask):
    """The student flattens the words step by step but the logits sentence by sentence."""
    flat = logits.reshape(-1, logits.shape[-1])
    right, real = targets.T.ravel(), target_mask.T.ravel()
    return float(_costs(flat, right)[real].mean()) if real.any() else 0.0


def cross_entropy__wrong_margin(logits, targets, target_mask):
    """The student takes the distance to the largest logit in the thousands for the cost, and loses ln 2 where two are equal."""
    if not target_mask.any():
        return 0.0
    at = np.take_along_axis(logits, targets[..., None], axis=-1)[..., 0]
    big = np.abs(logits).max(axis=-1) > 500
    c = np.where(big, logits.max(axis=-1) - at, _costs(logits, targets))
    return float(c[target_mask].mean())


def cross_entropy__wrong_first_mask(logits, targets, target_mask):
    """The student takes the columns that are real in every sentence, and leaves out words of longer ones."""
    real = target_mask.all(axis=0)
    return float(_costs(logits, targets)[:, real].mean()) if real.any() else 0.0


def cross_entropy__right_logaddexp(logits, targets, target_mask):
    """Real positions picked out first, np.logaddexp over the words, and math.fsum."""
    z, y = logits[target_mask], targets[target_mask]
    c = np.logaddexp.reduce(z, axis=1) - z[np.arange(len(y)), y] if len(y) else np.zeros(1)
    return math.fsum(c) / max(len(y), 1)


def cross_entropy__right_pairwise_loop(logits, targets, target_mask):
    """A loop over all positions, with a cost from differences to the right word alone."""
    costs = []
    for b, i in np.argwhere(target_mask):
        d = logits[b, i] - logits[b, i, targets[b, i]]
        top = max(d.max(), 0.0)
        costs.append(top + math.log(math.fsum(np.exp(d - top).tolist())))
    return sum(costs) / len(costs) if costs else 0


def cross_entropy__right_one_hot(logits, targets, target_mask):
    """A one-hot array by comparison, where for the choice, and np.average with the mask as weights."""
    hot = np.arange(logits.shape[2]) == np.where(target_mask, targets, 0)[..., None]
    z = logits - logits.max(-1, keepdims=True)
    c = np.log(np.exp(z).sum(-1)) - np.where(hot, z, 0.0).sum(-1)
    return np.array(np.average(c, weights=target_mask)) if target_mask.any() else np.array(0.0)


def cross_entropy__right_running_mean(logits, targets, target_mask):
    """A generator of costs and a running mean in plain Python floats."""
    def _each():
        for rows, words, real in zip(logits.tolist(), targets.tolist(), target_mask.tolist()):
            for row, word, yes in zip(rows, words, real):
                if yes:
                    top = max(row)
                    yield top - row[word] + math.log(math.fsum(math.exp(x - top) for x in row))
    mean = 0.0
    for count, cost in enumerate(_each(), 1):
        mean += (cost - mean) / count
    return mean


# ---------------------------------------------------------------- beam_step


def beam_step__wrong_ranked_hypotheses(scores, log_probabilities):
    """The student sorts the hypotheses first and returns their places in this order, not their numbers."""
    width, words = log_probabilities.shape[1:]
    s, order = scores.sort(dim=1, descending=True)
    lp = log_probabilities.gather(1, order[..., None].expand_as(log_probabilities))
    at = (s[..., None] + lp).flatten(1).topk(width).indices
    return torch.stack([at // words, at % words], dim=-1)


def beam_step__wrong_probabilities(scores, log_probabilities):
    """The student goes over to probabilities, which are all 0 for scores below -800, so the order is lost."""
    width, words = log_probabilities.shape[1:]
    p = scores.exp()[..., None] * log_probabilities.exp()
    at = p.flatten(1).sort(dim=1, descending=True, stable=True).indices[:, :width]
    return torch.stack([at // words, at % words], dim=-1)


def beam_step__wrong_each_word_once(scores, log_probabilities):
    """The student keeps the best hypothesis for each word alone, wherever there are enough words."""
    width, words = log_probabilities.shape[1:]
    total = scores[..., None] + log_probabilities
    if words >= width:
        best, k = total.max(dim=1)
        at = best.topk(width).indices
        return torch.stack([k.gather(1, at), at], dim=-1)
    at = total.flatten(1).topk(width).indices
    return torch.stack([at // words, at % words], dim=-1)


def beam_step__wrong_steps_from_first_sentence(scores, log_probabilities):
    """The student adds the scores of the first sentence to all of them."""
    width, words = log_probabilities.shape[1:]
    at = (scores[0][:, None] + log_probabilities).flatten(1).topk(width).indices
    return torch.stack([at // words, at % words], dim=-1)


def beam_step__wrong_averaged(scores, log_probabilities):
    """The student halves the share of the history, as a mean of old and new in place of their sum would."""
    width, words = log_probabilities.shape[1:]
    at = (scores[..., None] / 2 + log_probabilities).flatten(1).topk(width).indices
    return torch.stack([at // words, at % words], dim=-1)


def beam_step__right_unravel(scores, log_probabilities):
    """A full sort of the flat totals, with torch.div and torch.remainder."""
    width, words = log_probabilities.shape[1:]
    flat = (scores.unsqueeze(2) + log_probabilities).reshape(len(scores), -1)
    at = torch.argsort(flat, dim=1, descending=True)[:, :width]
    return torch.stack([torch.div(at, words, rounding_mode="trunc"), torch.remainder(at, words)], 2)


def beam_step__right_heap(scores, log_probabilities):
    """heapq.nlargest over pairs in plain Python, as a tensor of floats."""
    out = []
    for s, lp in zip(scores.tolist(), log_probabilities.tolist()):
        every = ((a + x, k, w) for k, (a, row) in enumerate(zip(s, lp)) for w, x in enumerate(row))
        out.append([[k, w] for _, k, w in heapq.nlargest(len(s), every)])
    return torch.tensor(out, dtype=torch.float64)


def beam_step__right_two_stages(scores, log_probabilities):
    """The best words of each hypothesis first, as many as can matter, then the best of these."""
    width, words = log_probabilities.shape[1:]
    n = min(width, words)
    lp, w = log_probabilities.topk(n, dim=2)
    k = torch.arange(width).view(1, -1, 1).expand_as(w)
    at = (scores[:, :, None] + lp).flatten(1).topk(width).indices
    return torch.stack([k.flatten(1).gather(1, at), w.flatten(1).gather(1, at)], -1)


def beam_step__right_ranks(scores, log_probabilities):
    """The rank of each continuation by counting better ones, as int32."""
    t = scores[..., None] + log_probabilities
    batch, width, words = t.shape
    flat = t.reshape(batch, -1)
    rank = (flat[:, None, :] > flat[:, :, None]).sum(2)
    out = torch.empty(batch, width, 2, dtype=torch.int32)
    for b, j in (rank < width).nonzero().tolist():
        out[b, rank[b, j]] = torch.tensor([j // words, j % words], dtype=torch.int32)
    return out
