import math

import numpy as np
import torch


def _soft(e):
    e = np.asarray(e, dtype=float)
    p = np.exp(e - e.max(axis=-1, keepdims=True))
    return p / p.sum(axis=-1, keepdims=True)


def _costs(logits, targets):
    top = logits.max(axis=-1)
    lse = top + np.log(np.exp(logits - top[..., None]).sum(axis=-1))
    return lse - np.take_along_axis(logits, targets[..., None], axis=-1)[..., 0]


def every_step_shapes__wrong_subtle_one_hot_word(batch, T_y, n, d, m, V_y):
    """Joins the one-hot word with V_y numbers in place of its embedding with d."""
    s = n + V_y + m
    return {"joined": (batch, T_y, s), "W_o": (V_y, s), "logits": (batch, T_y, V_y), "flat_logits": (batch * T_y, V_y)}


def every_step_shapes__right_arrays(batch, T_y, n, d, m, V_y):
    """Joins real arrays, multiplies and reshapes them."""
    j = np.concatenate([np.ones((batch, T_y, k)) for k in (n, d, m)], axis=-1)
    W = np.ones((V_y, j.shape[-1]))
    z = j @ W.T
    return {"joined": j.shape, "W_o": W.shape, "logits": z.shape, "flat_logits": z.reshape(-1, V_y).shape}


# ---- word_by_hand
def _word(old_in_output=False, weights_of=_soft, q_sign=1, no_context=False, bias=True, tanh_score=True, swap=False, digits=None):
    r = (lambda x: np.round(x, digits)) if digits else (lambda x: x)
    s = np.array([0.4, -0.6])
    H = np.array([[0.5, -0.2, 0.1, 0.3], [-0.4, 0.6, 0.2, -0.1]])
    Wq, v = np.array([[1, -1], [0, 2], [0.5, 1]]), np.array([1, -2, 1.5])
    Wk = np.array([[1, 0, 0, 2], [0, 1, -1, 0], [0, 0, 2, 1.0]])
    Ws, Wc = np.array([[0.5, 1], [-1, 0]]), np.array([[2, 0, -1, 0.5], [0, 2, 0, 1.0]])
    Wo, bo = np.array([[1, -1], [2, 0], [0, 2], [-1, 1], [1, 1.0]]), np.array([0, -0.5, 0.5, 0, 0.2])
    x = q_sign * (Wq @ s) + H @ Wk.T
    e = r((np.tanh(x) if tanh_score else x) @ v)
    a = r(weights_of(e))
    c = r((a[::-1] if swap else a) @ H)
    new = r(np.tanh(np.array([0.3, -0.1]) + Ws @ s + (0 if no_context else Wc @ c)))
    p = _soft(Wo @ (s if old_in_output else new) + (bo if bias else 0))
    return {k: x.tolist() for k, x in zip(("scores", "weights", "context", "state", "distribution"), (e, a, c, new, p))}


def word_by_hand__wrong_weights_without_softmax():
    """Divides the scores by their sum without taking powers of e."""
    return _word(weights_of=lambda e: e / e.sum())


def word_by_hand__wrong_context_left_out():
    """Leaves the context out of the new state."""
    return _word(no_context=True)


def word_by_hand__wrong_subtle_query_subtracted():
    """Subtracts the query's share from that of the key."""
    return _word(q_sign=-1)


def word_by_hand__right_tensors():
    """Returns torch tensors as values."""
    return {k: torch.tensor(x, dtype=torch.float64) for k, x in _word().items()}


def word_by_hand__right_cut_off():
    """Carries everything and cuts off after four decimals."""
    return {k: [math.trunc(y * 1e4) / 1e4 for y in x] for k, x in _word().items()}


# ---- cross_entropy
def cross_entropy__wrong_pads_counted(logits, targets, target_mask):
    """Averages over all positions, pads included."""
    return float(_costs(logits, targets).mean())


def cross_entropy__wrong_sum(logits, targets, target_mask):
    """Gives the sum over the real words, not their mean."""
    return float(np.where(target_mask, _costs(logits, targets), 0).sum())


def cross_entropy__wrong_best_word(logits, targets, target_mask):
    """Charges the most probable word, not the right one."""
    c = _costs(logits, logits.argmax(-1))[target_mask]
    return float(c.mean()) if c.size else 0.0


def cross_entropy__wrong_subtle_global_shift(logits, targets, target_mask):
    """Shifts by one maximum for the whole batch, so steps with far smaller logits get log 0."""
    z = logits - logits[target_mask].max(initial=-np.inf) if target_mask.any() else logits * 0
    c = np.log(np.exp(z).sum(-1)) - np.take_along_axis(z, targets[..., None], -1)[..., 0]
    return float(c[target_mask].mean()) if target_mask.any() else 0.0


def cross_entropy__wrong_subtle_mask_multiplied(logits, targets, target_mask):
    """Multiplies unshifted costs by the mask, so that an overflow at a pad gives inf times 0."""
    z = np.where(target_mask[..., None], logits - logits.max(-1, keepdims=True), logits)
    c = np.log(np.exp(z).sum(-1)) - np.take_along_axis(z, targets[..., None], -1)[..., 0]
    return float((c * target_mask).sum() / max(target_mask.sum(), 1))


def cross_entropy__wrong_subtle_float32(logits, targets, target_mask):
    """Lets torch compute in single precision."""
    if not target_mask.any():
        return 0.0
    z = torch.tensor(logits[target_mask], dtype=torch.float32)
    return float(torch.nn.functional.cross_entropy(z, torch.tensor(targets[target_mask])))


def cross_entropy__right_torch(logits, targets, target_mask):
    """Uses torch's cross_entropy with ignore_index at pads and a zero for a batch without words; returns a tensor."""
    if not target_mask.any():
        return torch.zeros((), dtype=torch.float64)
    y = torch.tensor(np.where(target_mask, targets, -100), dtype=torch.long)
    return torch.nn.functional.cross_entropy(torch.tensor(logits).flatten(0, 1), y.flatten(), ignore_index=-100)


def cross_entropy__right_loop(logits, targets, target_mask):
    """Loops over words with logaddexp and running counts."""
    total, n = 0.0, 0
    for b, i in np.argwhere(target_mask):
        total += np.logaddexp.reduce(logits[b, i] - logits[b, i, targets[b, i]])
        n += 1
    return total / n if n else 0


def cross_entropy__right_running_mean(logits, targets, target_mask):
    """Keeps a running mean and returns a numpy array without axes."""
    mean = np.zeros(())
    for k, c in enumerate(_costs(logits, targets)[target_mask], 1):
        mean = mean + (c - mean) / k
    return mean


# ---- beam_step
def _pairs(flat, V):
    return torch.stack([flat // V, flat % V], dim=-1)


def _total(scores, log_probabilities):
    return scores[:, :, None] + log_probabilities


def beam_step__wrong_product(scores, log_probabilities):
    """Multiplies the log-probabilities where they have to be added."""
    t = (scores[:, :, None] * log_probabilities).flatten(1)
    return _pairs(t.topk(scores.shape[1]).indices, log_probabilities.shape[2])


def beam_step__wrong_best_last(scores, log_probabilities):
    """Sorts ascending, so the best continuation comes last."""
    t = _total(scores, log_probabilities).flatten(1)
    return _pairs(t.argsort(1)[:, -scores.shape[1]:], log_probabilities.shape[2])


def beam_step__wrong_subtle_across_batch(scores, log_probabilities):
    """Writes the number of the hypothesis as counted through the whole batch for later sentences."""
    V, K = log_probabilities.shape[2], scores.shape[1]
    p = _pairs(_total(scores, log_probabilities).flatten(1).topk(K).indices, V)
    p[..., 0] += K * torch.arange(len(p))[:, None]
    return p


def beam_step__wrong_subtle_dead_hypothesis(scores, log_probabilities):
    """Never continues a hypothesis that scores more than 20 below the best one, though a small vocabulary may leave nothing better."""
    t = _total(scores, log_probabilities)
    t = torch.where((scores < scores.amax(1, keepdim=True) - 20)[:, :, None], torch.full_like(t, -1e300), t).flatten(1)
    return _pairs(t.topk(scores.shape[1]).indices, log_probabilities.shape[2])


def beam_step__right_heap(scores, log_probabilities):
    """Sorts all triples in Python and returns a nested list of pairs."""
    out = []
    for s, lp in zip(scores.tolist(), log_probabilities.tolist()):
        every = sorted(((s[k] + x, k, w) for k, row in enumerate(lp) for w, x in enumerate(row)), reverse=True)
        out.append([(k, w) for _, k, w in every[:len(s)]])
    return out


def beam_step__right_floats(scores, log_probabilities):
    """Sorts everything and returns the numbers as floats."""
    B, K, V = log_probabilities.shape
    i = torch.argsort((scores.unsqueeze(-1) + log_probabilities).reshape(B, K * V), dim=1, descending=True)[:, :K]
    return torch.stack((torch.div(i, V, rounding_mode="floor"), torch.remainder(i, V)), 2).double()


def beam_step__right_two_stages(scores, log_probabilities):
    """Takes the best words of each hypothesis first, as many as can matter, then the best of those, as int32."""
    K = scores.shape[1]
    top = log_probabilities.topk(min(K, log_probabilities.shape[2]), dim=2)
    n = top.values.shape[2]
    i = (scores[..., None] + top.values).flatten(1).topk(K).indices
    return torch.stack([i // n, top.indices.flatten(1).gather(1, i)], -1).int()


def beam_step__right_one_by_one(scores, log_probabilities):
    """Takes the best continuation again and again and strikes it out."""
    t = (log_probabilities + scores[:, :, None]).clone()
    out = []
    for _ in range(t.shape[1]):
        i = t.flatten(1).argmax(1)
        k, w = np.unravel_index(i.numpy(), t.shape[1:])
        out.append(np.stack([k, w], 1))
        t[torch.arange(len(t)), torch.as_tensor(k), torch.as_tensor(w)] = -math.inf
    return np.stack(out, axis=1)
