import heapq
import math

import numpy as np
import torch


def every_step_shapes__wrong_subtle_squeezed_logits(batch, T_y, n, d, m, V_y):
    """Squeezes the logits, which loses the axis of a batch of one or of a single step."""
    w = n + d + m
    logits = np.zeros((batch, T_y, V_y)).squeeze()
    return {"joined": (batch, T_y, w), "W_o": (V_y, w), "logits": logits.shape, "flat_logits": (batch * T_y, V_y)}


def every_step_shapes__right_numpy_sizes(batch, T_y, n, d, m, V_y):
    """Makes tuples of numpy's integers."""
    w = np.array([n, d, m]).sum()
    return {"joined": (batch, T_y, w), "W_o": (V_y, w), "logits": (batch, T_y, V_y),
            "flat_logits": (np.prod([batch, T_y]), V_y)}


def word_by_hand__right_torch_rounded():
    """Computes with torch, projects state and annotations together, and rounds to four decimals."""
    t = lambda x: torch.tensor(x, dtype=torch.float64)
    s, H = t([.4, -.6]), t([[.5, -.2, .1, .3], [-.4, .6, .2, -.1]])
    W = t([[1, -1, 1, 0, 0, 2], [0, 2, 0, 1, -1, 0], [.5, 1, 0, 0, 2, 1]])
    e = torch.tanh(torch.cat([s.expand(2, 2), H], 1) @ W.T) @ t([1, -2, 1.5])
    a = torch.sigmoid(torch.stack([e[0] - e[1], e[1] - e[0]]))
    c = (a[:, None] * H).sum(0)
    new = torch.tanh(t([.3 + .2 - .6, -.1 - .4]) + t([[2, 0, -1, .5], [0, 2, 0, 1]]) @ c)
    x, y = new
    p = torch.softmax(torch.stack([x - y, 2 * x - .5, 2 * y + .5, y - x, x + y + .2]), 0)
    names = ("scores", "weights", "context", "state", "distribution")
    return {k: [round(i, 4) for i in r.tolist()] for k, r in zip(names, (e, a, c, new, p))}


# ---- cross_entropy
def _nll(logits, targets):
    z = logits - logits.max(-1, keepdims=True)
    q = z - np.log(np.exp(z).sum(-1, keepdims=True))
    return -np.take_along_axis(q, targets[..., None], -1)[..., 0]


def _mean(x, mask):
    return float(x[mask].sum() / max(mask.sum(), 1))


def cross_entropy__wrong_mean_of_sentences(logits, targets, target_mask):
    """Averages over the words of each sentence first and then over the sentences."""
    n = _nll(logits, targets)
    return float(np.mean([_mean(a, m) for a, m in zip(n, target_mask)]))


def cross_entropy__wrong_subtle_small_integers(logits, targets, target_mask):
    """Stores the word numbers in 8 bits, which turns number 256 into 0."""
    return _mean(_nll(logits, targets.astype(np.uint8).astype(int)), target_mask)


def cross_entropy__wrong_subtle_count_in_8_bits(logits, targets, target_mask):
    """Counts the real words in 8 bits, so more than 255 of them are miscounted."""
    n = int(target_mask.astype(np.uint8).sum(dtype=np.uint8))
    return float(_nll(logits, targets)[target_mask].sum() / max(n, 1))


def cross_entropy__wrong_subtle_pads_subtracted(logits, targets, target_mask):
    """Adds the costs of all positions and subtracts those of the pads: huge logits at a pad swallow the digits of the rest."""
    n = _nll(logits, targets)
    return float((n.sum() - n[~target_mask].sum()) / max(target_mask.sum(), 1))


def cross_entropy__right_loop_of_real_words(logits, targets, target_mask):
    """Loops over the real words only and adds with fsum."""
    costs = []
    for b, i in zip(*np.nonzero(target_mask)):
        z = logits[b, i].tolist()
        costs.append(math.log(math.fsum(math.exp(x - max(z)) for x in z)) + max(z) - z[int(targets[b, i])])
    return math.fsum(costs) / len(costs) if costs else 0


def cross_entropy__right_torch(logits, targets, target_mask):
    """Selects the real positions, calls torch's cross_entropy, and returns a tensor."""
    m = torch.as_tensor(target_mask)
    if not m.any():
        return torch.zeros((), dtype=torch.float64)
    return torch.nn.functional.cross_entropy(torch.as_tensor(logits)[m], torch.as_tensor(targets)[m].long())


def cross_entropy__right_logaddexp(logits, targets, target_mask):
    """Reduces with logaddexp and returns an array without axes."""
    z = logits[target_mask]
    if not len(z):
        return np.array(0)
    return np.asarray((np.logaddexp.reduce(z, axis=1) - z[np.arange(len(z)), targets[target_mask]]).mean())


# ---- beam_step
def _total(scores, log_probabilities):
    return scores[:, :, None] + log_probabilities


def _top(total, width):
    V = total.shape[2]
    flat = total.flatten(1).topk(width, dim=1).indices
    return torch.stack([flat // V, flat % V], -1)


def beam_step__wrong_subtle_reciprocal(scores, log_probabilities):
    """Multiplies the flat number by 1 / vocab_size before it is cut off, which for some sizes (49, for one) rounds to a hypothesis too low."""
    t = _total(scores, log_probabilities)
    flat = t.flatten(1).topk(scores.shape[1], dim=1).indices
    k = (flat.double() * (1.0 / t.shape[2])).floor().long()
    return torch.stack([k, flat - k * t.shape[2]], -1)


def beam_step__wrong_subtle_single_precision(scores, log_probabilities):
    """Compares in single precision, where close continuations tie."""
    return _top(_total(scores, log_probabilities).float(), scores.shape[1])


def beam_step__wrong_subtle_width_words_each(scores, log_probabilities):
    """Keeps the ten best words of each hypothesis before it compares them, so a hypothesis cannot have eleven of the chosen."""
    t = _total(scores, log_probabilities)
    width, V = scores.shape[1], t.shape[2]
    v, w = t.topk(min(V, max(10, -(-width // width)), V), dim=2)
    v = v if v[0].numel() >= width else t.topk(V, dim=2).values
    w = w if w.shape == v.shape else t.topk(V, dim=2).indices
    flat = v.flatten(1).topk(width, dim=1).indices
    return torch.stack([flat // v.shape[2], w.flatten(1).gather(1, flat)], -1)


def beam_step__wrong_subtle_starts_at_minus_1000(scores, log_probabilities):
    """Searches the best continuation from -1000 on, so that it never finds one that is worse."""
    rows = []
    for t in _total(scores, log_probabilities):
        t, V, row = t.flatten().clone(), t.shape[1], []
        for _ in range(scores.shape[1]):
            best, where = -1000.0, 0
            value, place = t.max(0)
            if value > best:
                where = int(place)
            t[where] = -math.inf
            row.append([where // V, where % V])
        rows.append(row)
    return torch.tensor(rows)


def beam_step__right_heap_of_tuples(scores, log_probabilities):
    """Takes the largest of a Python generator with heapq and returns nested lists."""
    return [[[k, w] for _, k, w in heapq.nlargest(len(s), ((a + x, k, w) for k, (a, row) in enumerate(zip(s, rows))
                                                           for w, x in enumerate(row)))]
            for s, rows in zip(scores.tolist(), log_probabilities.tolist())]


def beam_step__right_two_stages_floats(scores, log_probabilities):
    """Takes the best words of each hypothesis first, as many as are needed, and returns whole numbers as floats."""
    t = _total(scores, log_probabilities)
    width, each = scores.shape[1], min(scores.shape[1], t.shape[2])
    v, w = t.topk(each, dim=2)
    flat = v.flatten(1).topk(width, dim=1).indices
    return torch.stack([flat // each, w.flatten(1).gather(1, flat)], -1).double()


def beam_step__right_numpy_unravel(scores, log_probabilities):
    """Sorts all continuations in numpy and unravels the numbers into an int32 array."""
    t = _total(scores, log_probabilities).numpy()
    flat = np.argsort(-t.reshape(len(t), -1), axis=1, kind="stable")[:, : t.shape[1]]
    return np.stack(np.unravel_index(flat, t.shape[1:]), axis=-1).astype(np.int32)
