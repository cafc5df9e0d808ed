import math
import numpy as np
import torch


def every_step_shapes__right_arrays(batch, T_y, n, d, m, V_y):
    """Reads shapes off arrays."""
    j = np.concatenate([np.zeros((batch, T_y, x)) for x in (n, d, m)], 2)
    W = np.zeros((V_y, j.shape[2]))
    return {"joined": j.shape, "W_o": W.shape, "logits": (j @ W.T).shape, "flat_logits": (j @ W.T).reshape(-1, V_y).shape}


def _soft(x):
    e = np.exp(np.asarray(x, float) - np.max(x))
    return e / e.sum()


def _step(v=(1, -2, 1.5), u=1.0, bias=1.0, old=False):
    s, h = np.array([0.4, -0.6]), np.array([[0.5, -0.2, 0.1, 0.3], [-0.4, 0.6, 0.2, -0.1]])
    q = np.array([[1, -1], [0, 2], [0.5, 1]]) @ s
    e = np.tanh(q + h @ np.array([[1, 0, 0, 2], [0, 1, -1, 0], [0, 0, 2, 1.0]]).T) @ np.array(v)
    w = _soft(e)
    c = w @ h
    t = np.tanh(u * np.array([0.3, -0.1]) + np.array([[0.5, 1], [-1, 0]]) @ s + np.array([[2, 0, -1, 0.5], [0, 2, 0, 1]]) @ c)
    z = np.array([[1, -1], [2, 0], [0, 2], [-1, 1], [1, 1.0]]) @ (s if old else t)
    p = _soft(z + bias * np.array([0, -0.5, 0.5, 0, 0.2]))
    return {"scores": list(e), "weights": list(w), "context": list(c), "state": list(t), "distribution": list(p)}


# ---- cross_entropy

def _nll(logits, targets):
    x = logits - logits.max(2, keepdims=True)
    l = np.log(np.exp(x).sum(2)) - np.take_along_axis(x, targets[..., None], 2)[..., 0]
    return l


def cross_entropy__wrong_sign(logits, targets, target_mask):
    """Forgets the minus sign."""
    return -float(_nll(logits, targets)[target_mask].sum()) / max(1, int(target_mask.sum()))


def cross_entropy__wrong_overflow(logits, targets, target_mask):
    """Exponentiates large logits as they are."""
    l = np.log(np.exp(logits).sum(2)) - np.take_along_axis(logits, targets[..., None], 2)[..., 0]
    return float(l[target_mask].sum() / max(1, target_mask.sum()))


def cross_entropy__right_loop(logits, targets, target_mask):
    """Loop over real words with math.fsum."""
    ls = []
    for b, i in zip(*np.nonzero(target_mask)):
        x = logits[b, i]
        ls.append(float(x.max() - x[targets[b, i]]) + math.log(math.fsum(np.exp(x - x.max()))))
    return math.fsum(ls) / len(ls) if ls else 0


def cross_entropy__right_torch(logits, targets, target_mask):
    """torch's own loss on the selected rows, a tensor of no axis."""
    m = torch.tensor(target_mask)
    if not m.any():
        return np.zeros(())
    return torch.nn.functional.cross_entropy(torch.tensor(logits)[m], torch.tensor(targets)[m])


# ---- beam_step


def beam_step__wrong_subtle_uint8(scores, log_probabilities):
    """Stores the result in 8 bits: words beyond 255 come out wrong."""
    b, k, V = log_probabilities.shape
    i = (scores[..., None] + log_probabilities).reshape(b, -1).topk(k).indices
    return torch.stack([i // V, i % V], -1).to(torch.uint8)


def beam_step__wrong_subtle_three_words(scores, log_probabilities):
    """Looks only at the three best words of each hypothesis, though one may own more of the chosen ones."""
    b, k, V = log_probabilities.shape
    p, w = log_probabilities.topk(min(3, V), dim=2)
    i = (scores[..., None] + p).reshape(b, -1).topk(k).indices
    return torch.stack([i // w.shape[2], w.reshape(b, -1).gather(1, i)], -1)


def beam_step__right_topk_each(scores, log_probabilities):
    """First the best words of each hypothesis, as many as could be chosen, then the best of these."""
    b, k, V = log_probabilities.shape
    p, w = log_probabilities.topk(min(k, V), dim=2)
    i = (scores[..., None] + p).flatten(1).topk(k).indices
    return torch.stack([i // w.shape[2], w.flatten(1).gather(1, i)], -1).to(torch.int32)


def beam_step__right_python(scores, log_probabilities):
    """Sorted Python lists, result as floats of whole numbers."""
    out = []
    for s, L in zip(scores.tolist(), log_probabilities.tolist()):
        c = sorted(((a + x, k, w) for k, (a, row) in enumerate(zip(s, L)) for w, x in enumerate(row)), reverse=True)
        out.append([[float(k), float(w)] for _, k, w in c[: len(s)]])
    return torch.tensor(out)


def beam_step__right_argmax_rounds(scores, log_probabilities):
    """Takes the best one after the other and strikes it out, as many rounds as the width."""
    t = (scores[..., None] + log_probabilities).flatten(1)
    V, got = log_probabilities.shape[2], []
    for _ in range(scores.shape[1]):
        i = t.argmax(1)
        got.append(torch.stack([torch.div(i, V, rounding_mode="floor"), i.remainder(V)], 1))
        t = t.scatter(1, i[:, None], -math.inf)
    return torch.stack(got, 1)


def cross_entropy__right_one_hot(logits, targets, target_mask):
    """One-hot rows and logaddexp, the right logit subtracted first, pads replaced by 0."""
    x = np.where(target_mask[..., None], logits, 0.0)
    hot = np.eye(x.shape[2])[targets]
    l = np.logaddexp.reduce(x - (hot * x).sum(2, keepdims=True), axis=2)
    return (l * target_mask).sum() / max(1, np.count_nonzero(target_mask))


def cross_entropy__right_array_of_one(logits, targets, target_mask):
    """Selected rows, log-softmax; a numpy scalar, and whole number 0 for an empty batch."""
    x, t = logits[target_mask], targets[target_mask]
    if x.size == 0:
        return 0
    x = x - x.max(axis=1, keepdims=True)
    return np.mean(np.log(np.exp(x).sum(axis=1)) - x[range(len(t)), t])


def beam_step__right_numpy(scores, log_probabilities):
    """numpy's argsort and unravel_index, result as a torch tensor of int16."""
    t = scores.detach().numpy()[:, :, None] + log_probabilities.detach().numpy()
    rows = [np.stack(np.unravel_index(np.argsort(x, axis=None)[::-1][: len(x)], x.shape), 1) for x in t]
    return torch.tensor(np.stack(rows).astype(np.int16))


def word_by_hand__right_vectors():
    """Computed in full precision with numpy, arrays as values."""
    return {k: np.array(x) for k, x in _step().items()}
