import math
from fractions import Fraction

import numpy as np
import torch


# ---------------------------------------------------------------- batch_shapes


def batch_shapes__right_runs_numpy(batch, m, n, T_x, T_y):
    """Multiplies arrays of zeros and reads off what comes out."""
    w, h = np.zeros((batch, T_x)), np.zeros((batch, T_x, m))
    row = np.expand_dims(w, 1)
    return dict(column=np.expand_dims(w, 2).shape, row=row.shape, product=(row @ h).shape,
                contexts=np.concatenate([row @ h] * T_y, axis=1).shape)


# ---------------------------------------------------------------- weights_from_context


def weights_from_context__right_cramer():
    """Cramer's rule in whole numbers, with Fractions at the end."""
    def det(p, q, r):
        return (p[0] * (q[1] * r[2] - q[2] * r[1]) - p[1] * (q[0] * r[2] - q[2] * r[0])
                + p[2] * (q[0] * r[1] - q[1] * r[0]))
    columns, right = [(1, 2, 1), (5, 0, 1), (3, 6, 1)], (236, 314, 100)
    full = 100 * det(*columns)
    return [Fraction(det(*(right if i == j else c for j, c in enumerate(columns))), full) for i in range(3)]


# ---------------------------------------------------------------- pull_of_two

def _pull(gap):
    s = 1 / (1 + math.exp(-gap))
    return s * (1 - s)


def pull_of_two__wrong_gap_by_exponential():
    """The student lets the length fall like exp(-gap) and takes ln 10."""
    return {"largest": 1.25, "at_three": [4 * _pull(3), -3 * _pull(3)], "gap": math.log(10)}


def pull_of_two__right_hyperbolic():
    """Writes weight times weight as one over 4 cosh squared of half the gap, and inverts that."""
    p = 1 / (4 * math.cosh(1.5) ** 2)
    return {"gap": 2 * math.acosh(math.sqrt(10)), "at_three": (4 * p, -3 * p), "largest": Fraction(5, 4)}


# ---------------------------------------------------------------- scores_gradient


def scores_gradient__right_full_jacobian(context_gradient, weights, keys):
    """Builds each sentence's matrix of derivatives and multiplies from the right."""
    J = weights[:, :, None] * np.eye(weights.shape[1]) - weights[:, :, None] * weights[:, None, :]
    return np.einsum("bjk,bkm,bm->bj", J, keys, context_gradient)


def scores_gradient__right_pairs(context_gradient, weights, keys):
    """Sums weight times weight times the difference of every pair of annotations, with the rest of the weights' sum added."""
    out = np.zeros(weights.shape)
    for b, (w, h) in enumerate(zip(weights, keys)):
        for j in np.flatnonzero(w):
            out[b, j] = w[j] * math.fsum(w[k] * float((h[j] - h[k]) @ context_gradient[b]) for k in range(len(w)))
    return out


# ---------------------------------------------------------------- attend

def attend__wrong_nan_hidden(scores, keys, source_mask):
    """The student adds minus infinity to pads and hides the nan of an empty row afterwards; its gradients by the scores stay nan."""
    bias = torch.zeros_like(scores).masked_fill(~source_mask, -math.inf)
    w = (scores + bias).softmax(1)
    w = torch.where(source_mask, w, torch.zeros_like(w))
    return torch.einsum("bs,bsm->bm", w, keys)


def attend__wrong_masked_after_softmax(scores, keys, source_mask):
    """The student blanks pads after the softmax and divides again; real words thousands below a pad have weights of 0."""
    w = scores.softmax(-1) * source_mask
    total = w.sum(-1, keepdim=True)
    w = w / torch.where(total > 0, total, torch.ones_like(total))
    return torch.bmm(w[:, None], keys)[:, 0]


def attend__wrong_exponential_before_where(scores, keys, source_mask):
    """The student drops the pads' exponentials by torch.where; a pad far above the real words has an infinite one, and nan for gradient."""
    top = scores.masked_fill(~source_mask, -math.inf).amax(1, keepdim=True).detach()
    top = torch.where(torch.isfinite(top), top, torch.zeros_like(top))
    p = torch.where(source_mask, (scores - top).exp(), torch.zeros_like(scores))
    total = p.sum(1, keepdim=True)
    w = p / torch.where(total > 0, total, torch.ones_like(total))
    return torch.einsum("bs,bsm->bm", w, keys)


def attend__wrong_constant_for_empty_batch(scores, keys, source_mask):
    """The student leaves early with new zeros where no sentence has a real token, which no gradient comes back from."""
    if not source_mask.any():
        return torch.zeros(keys.shape[0], keys.shape[2], dtype=keys.dtype)
    w = scores.masked_fill(~source_mask, -1e30).softmax(-1) * source_mask
    return torch.einsum("bs,bsm->bm", w, keys)


def attend__wrong_clamped(scores, keys, source_mask):
    """The student clamps the scores to -100 and 100 against overflow, so that those in the thousands become equal."""
    p = scores.clamp(-100, 100).exp() * source_mask
    total = p.sum(1, keepdim=True)
    w = p / total.masked_fill(total == 0, 1.0)
    return torch.einsum("bs,bsm->bm", w, keys)


def attend__right_filled_on_both_sides(scores, keys, source_mask):
    """Fills pads with minus infinity before the softmax and with 0 after it; the first filling drops what an empty row sends back."""
    w = scores.masked_fill(~source_mask, -math.inf).softmax(1).masked_fill(~source_mask, 0.0)
    return torch.einsum("bs,bsm->bm", w, keys)


def attend__right_lowest_double(scores, keys, source_mask):
    """A softmax with the lowest double at pads, a product with the mask, and one batched product."""
    low = torch.finfo(scores.dtype).min
    w = torch.softmax(torch.where(source_mask, scores, torch.full_like(scores, low)), dim=1)
    return torch.baddbmm(keys.new_zeros(len(keys), 1, keys.shape[2]), (w * source_mask).unsqueeze(1), keys).squeeze(1)


def attend__right_sentence_by_sentence(scores, keys, source_mask):
    """Takes out the real tokens of each sentence; an empty one gives 0 times its own scores and annotations."""
    rows = []
    for e, h, real in zip(scores, keys, source_mask):
        if real.any():
            rows.append(e[real].softmax(0) @ h[real])
        else:
            rows.append((0.0 * e) @ h)
    return torch.stack(rows)


# ---------------------------------------------------------------- mended_attention

def _scores(query, keys, W_query, W_key, v):
    return np.tanh((query @ W_query.T)[:, None] + keys @ W_key.T) @ v


def mended_attention__wrong_maximum_of_batch(query, keys, source_mask, W_query, W_key, v):
    """The student subtracts one maximum for the whole batch; a sentence thousands below another gets zeros."""
    scores = np.where(source_mask, _scores(query, keys, W_query, W_key, v), -np.inf)
    top = scores.max() if source_mask.any() else 0.0
    powers = np.exp(scores - top)
    total = powers.sum(axis=1, keepdims=True)
    return np.einsum("bs,bsm->bm", powers / np.where(total > 0, total, 1.0), keys)


def mended_attention__wrong_empty_row_nan(query, keys, source_mask, W_query, W_key, v):
    """The student forgets sentences without a real token, where minus infinity is taken from itself."""
    scores = np.where(source_mask, _scores(query, keys, W_query, W_key, v), -np.inf)
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    weights = powers / powers.sum(axis=1, keepdims=True)
    return (weights[:, None] @ keys)[:, 0]


def mended_attention__wrong_pads_at_end_only(query, keys, source_mask, W_query, W_key, v):
    """The student reads each sentence up to its last real token, so that pads between words take part."""
    scores = _scores(query, keys, W_query, W_key, v)
    out = np.zeros((keys.shape[0], keys.shape[2]))
    for b, real in enumerate(source_mask):
        if real.any():
            n = int(np.flatnonzero(real)[-1]) + 1
            p = np.exp(scores[b, :n] - scores[b, :n].max())
            out[b] = p / p.sum() @ keys[b, :n]
    return out


def mended_attention__right_each_sentence_alone(query, keys, source_mask, W_query, W_key, v):
    """Does each sentence alone and without its pads, literally, with math.fsum for the sum of exponentials."""
    def one(s, h):
        if not len(h):
            return np.zeros(h.shape[1])
        e = (np.tanh(W_query @ s + h @ W_key.T) @ v).tolist()
        p = np.array([math.exp(x - max(e)) for x in e])
        return (p / math.fsum(p)) @ h
    return np.array([one(s, h[real]) for s, h, real in zip(query, keys, source_mask)])


class _Running:
    """The context of one sentence, kept up to date while its words come in."""

    def __init__(self, size):
        self.top, self.total, self.sum = -math.inf, 0.0, np.zeros(size)

    def __call__(self, score, annotation):
        top = max(self.top, score)
        old, new = math.exp(self.top - top), math.exp(score - top)
        self.total = self.total * old + new
        self.sum = self.sum * old + new * annotation
        self.top = top

    def context(self):
        return self.sum / (self.total or 1.0)


def mended_attention__right_running_sums(query, keys, source_mask, W_query, W_key, v):
    """Reads the words one after the other and rescales running sums whenever the maximum rises."""
    running = [_Running(keys.shape[2]) for _ in keys]
    for b, j in zip(*np.nonzero(source_mask)):
        running[b](float(v @ np.tanh(W_query @ query[b] + W_key @ keys[b, j])), keys[b, j])
    return np.stack([r.context() for r in running])
