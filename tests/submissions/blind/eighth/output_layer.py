import itertools
import math

import numpy as np
import torch


def every_step_shapes__right_measured(batch, T_y, n, d, m, V_y):
    """Reads the shapes off real arrays."""
    j = np.concatenate([np.zeros((batch, T_y, z)) for z in (n, d, m)], -1)
    W = np.zeros((V_y, j.shape[-1]))
    e = j @ W.T
    return {"joined": j.shape, "W_o": W.shape, "logits": e.shape, "flat_logits": e.reshape(-1, V_y).shape}


def _softmax(e):
    e = np.asarray(e, dtype=float)
    p = np.exp(e - e.max(-1, keepdims=True))
    return p / p.sum(-1, keepdims=True)


def _word(order="right", query=True, state="new", weights="softmax", bias=True):
    s, h = np.array([0.4, -0.6]), np.array([[0.5, -0.2, 0.1, 0.3], [-0.4, 0.6, 0.2, -0.1]])
    Wq, v = np.array([[1, -1], [0, 2], [0.5, 1]]), np.array([1, -2, 1.5])
    Wk = np.array([[1, 0, 0, 2], [0, 1, -1, 0], [0, 0, 2, 1.0]])
    Ws, Wc = np.array([[0.5, 1], [-1, 0]]), np.array([[2, 0, -1, 0.5], [0, 2, 0, 1]])
    Wo, bo = np.array([[1, -1], [2, 0], [0, 2], [-1, 1], [1, 1.0]]), np.array([0, -0.5, 0.5, 0, 0.2])
    x = h @ Wk.T + Wq @ s * query
    e = np.tanh(x) @ v if order == "right" else np.tanh(x @ v)
    a = _softmax(e) if weights == "softmax" else 1 / (1 + np.exp(-e))
    c = a @ h
    new = np.tanh(np.array([0.3, -0.1]) + (Ws if state != "transposed" else Ws.T) @ s + Wc @ c)
    return {"scores": e.tolist(), "weights": a.tolist(), "context": c.tolist(), "state": new.tolist(),
            "distribution": _softmax(Wo @ (s if state == "old" else new) + bo * bias).tolist()}


def word_by_hand__wrong_tanh_after_v():
    """Takes the tanh after the product with v instead of before it."""
    return _word(order="late")


def word_by_hand__right_rounded_at_the_end():
    """All results rounded to four decimals, only at the end, as tuples."""
    return {k: tuple(round(x, 4) for x in r) for k, r in _word().items()}


# ---- cross_entropy

def _costs(logits, targets):
    top = logits.max(-1)
    z = top + np.log(np.exp(logits - top[..., None]).sum(-1))
    return z - np.take_along_axis(logits, targets[..., None], -1)[..., 0]


def cross_entropy__wrong_mask_by_zero(logits, targets, target_mask):
    """Takes word 0 for padding instead of reading target_mask."""
    real = targets != 0
    return _costs(logits, targets)[real].mean() if real.any() else 0.0


def cross_entropy__right_torch(logits, targets, target_mask):
    """torch's cross_entropy over the real positions only."""
    if not target_mask.any():
        return 0
    return torch.nn.functional.cross_entropy(torch.from_numpy(logits[target_mask]), torch.from_numpy(targets[target_mask]).long()).item()


def cross_entropy__right_loop(logits, targets, target_mask):
    """A loop over the positions, with differences to the right word."""
    costs = []
    for b, i in np.ndindex(*targets.shape):
        if target_mask[b, i]:
            d = logits[b, i] - logits[b, i, targets[b, i]]
            costs.append(d.max() + math.log(np.exp(d - d.max()).sum()))
    return np.array(math.fsum(costs) / (len(costs) or 1))


def cross_entropy__right_one_hot(logits, targets, target_mask):
    """By a one-hot matrix over the selected rows, with logaddexp."""
    e = logits[target_mask]
    hot = np.eye(logits.shape[2])[targets[target_mask]]
    return float((np.logaddexp.reduce(e, axis=1) - (e * hot).sum(1)).sum()) / max(len(e), 1)


# ---- beam_step

def _pairs(flat, V):
    return torch.stack([torch.div(flat, V, rounding_mode="floor"), flat % V], -1)


def _total(scores, log_probabilities):
    return scores[:, :, None] + log_probabilities


def beam_step__wrong_subtle_short_index(scores, log_probabilities):
    """Keeps the flat number in 16 bits, which overflows where width times vocabulary is above 32767."""
    flat = _total(scores, log_probabilities).flatten(1).topk(scores.shape[1]).indices.to(torch.int16)
    return _pairs(flat, log_probabilities.shape[2])


def beam_step__wrong_subtle_zero_is_dead(scores, log_probabilities):
    """Takes a hypothesis with the score 0 for an empty place of the beam: 0 is the log of a probability of 1."""
    s = scores.masked_fill(scores == 0, -1e30)
    return _pairs(_total(s, log_probabilities).flatten(1).topk(scores.shape[1]).indices, log_probabilities.shape[2])


def beam_step__right_topk_twice(scores, log_probabilities):
    """First the best words of each hypothesis, as many as can be needed, then the best of those."""
    b, width, V = log_probabilities.shape
    n = min(width, V)
    top, word = log_probabilities.topk(n, dim=2)
    flat = (top + scores.unsqueeze(2)).reshape(b, -1).topk(width, dim=1).indices
    return torch.stack([flat // n, word.reshape(b, -1).gather(1, flat)], 2).to(torch.int32)


def beam_step__right_sorted_lists(scores, log_probabilities):
    """Python's sort over all pairs, as nested lists of lists."""
    out = []
    for s, table in zip(scores.tolist(), log_probabilities.tolist()):
        pairs = [(-(s[k] + x), k, w) for k, row in enumerate(table) for w, x in enumerate(row)]
        out.append([[k, w] for _, k, w in sorted(pairs)[:len(s)]])
    return torch.tensor(out)


def beam_step__right_one_at_a_time(scores, log_probabilities):
    """Takes the best one, strikes it out, and goes on; numbers as floats."""
    t = _total(scores, log_probabilities).clone()
    out = torch.zeros(*scores.shape, 2, dtype=torch.float64)
    for b, i in itertools.product(range(t.shape[0]), range(t.shape[1])):
        k, w = divmod(int(t[b].argmax()), t.shape[2])
        out[b, i, 0], out[b, i, 1] = k, w
        t[b, k, w] = -math.inf
    return out


def beam_step__right_numpy_argsort(scores, log_probabilities):
    """numpy's argsort and unravel_index, back to torch as int16 pairs."""
    t = (scores[..., None] + log_probabilities).detach().numpy()
    b, width, V = t.shape
    order = np.argsort(-t.reshape(b, -1), axis=1, kind="stable")[:, :width]
    return torch.from_numpy(np.stack(np.unravel_index(order, (width, V)), -1).astype(np.int16))
