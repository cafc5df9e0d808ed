import math
import numpy as np
import torch


def _sm(x, axis=-1):
    x = np.asarray(x, float)
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def every_step_shapes__right_torch_sizes(batch, T_y, n, d, m, V_y):
    """Torch sizes turned to tuples."""
    x, W = torch.zeros(batch, T_y, sum([n, d, m])), torch.zeros(V_y, n + d + m)
    y = x @ W.T
    return {k: tuple(v.shape) for k, v in dict(joined=x, W_o=W, logits=y, flat_logits=y.flatten(0, 1)).items()}


# ---- word by hand
def _word(f=np.tanh, old=False, bias=True, ctx=True, hidden=True, uniform=False, prev=True):
    s, H = np.array([.4, -.6]), np.array([[.5, -.2, .1, .3], [-.4, .6, .2, -.1]])
    Wq, v = np.array([[1, -1], [0, 2], [.5, 1]]), np.array([1, -2, 1.5])
    Wk = np.array([[1, 0, 0, 2], [0, 1, -1, 0], [0, 0, 2, 1.]])
    e = f(Wq @ s * hidden + H @ Wk.T) @ v
    a = np.array([.5, .5]) if uniform else _sm(e)
    c = a @ H
    n = np.tanh(np.array([.3, -.1]) * prev + np.array([[.5, 1], [-1, 0]]) @ s
                + np.array([[2, 0, -1, .5], [0, 2, 0, 1]]) @ c * ctx)
    Wo = np.array([[1, -1], [2, 0], [0, 2], [-1, 1], [1, 1.]])
    p = _sm(Wo @ (s if old else n) + np.array([0, -.5, .5, 0, .2]) * bias)
    return dict(scores=e.tolist(), weights=a.tolist(), context=c.tolist(), state=n.tolist(), distribution=p.tolist())


def word_by_hand__right_computed():
    """All lines computed with numpy."""
    return _word()

def _pick(a, t):
    return np.take_along_axis(a, t[..., None], -1)[..., 0]

def _mean(c, m):
    return float(c[m].sum() / max(m.sum(), 1))


def cross_entropy__wrong_overflow(logits, targets, target_mask):
    """Takes exp of raw logits, which overflows."""
    e = np.exp(logits)
    return _mean(-np.log(_pick(e / e.sum(-1, keepdims=True), targets)), target_mask)


def cross_entropy__wrong_subtle_clipped_probability(logits, targets, target_mask):
    """Clips probabilities at 1e-300, so the cost cannot exceed 691 nats."""
    return _mean(-np.log(np.maximum(_pick(_sm(logits), targets), 1e-300)), target_mask)


def cross_entropy__wrong_subtle_shift_of_sentence(logits, targets, target_mask):
    """Subtracts the maximum of the whole sentence, so positions with far smaller logits give infinity."""
    x = logits - logits.max((1, 2), keepdims=True)
    return _mean(_pick(np.log(np.exp(x).sum(-1, keepdims=True)) - x, targets), target_mask)


def cross_entropy__right_loop_fsum(logits, targets, target_mask):
    """Loops over real positions only, with math.fsum; returns an int 0 where there are none."""
    costs = []
    for b, i in zip(*np.nonzero(target_mask)):
        x = logits[b, i].tolist()
        costs.append(max(x) - x[targets[b, i]] + math.log(math.fsum(math.exp(y - max(x)) for y in x)))
    return math.fsum(costs) / len(costs) if costs else 0

def cross_entropy__right_torch_selected(logits, targets, target_mask):
    """Torch's cross_entropy on the selected rows; a tensor without axes."""
    if not target_mask.any():
        return torch.zeros((), dtype=torch.float64)
    return torch.nn.functional.cross_entropy(torch.tensor(logits[target_mask]), torch.tensor(targets[target_mask]).long())

def cross_entropy__right_logaddexp(logits, targets, target_mask):
    """np.logaddexp.reduce and a one-hot product on the selected rows."""
    x, t = logits[target_mask], targets[target_mask]
    return np.sum(np.logaddexp.reduce(x, axis=1) - (x * np.eye(logits.shape[2])[t]).sum(1)) / max(len(x), 1)

# ---- beam_step
def _top(total, V=None, div=None):
    B, W, V0 = total.shape
    i = total.reshape(B, -1).topk(W, dim=1).indices
    d = div or V0
    return torch.stack([i // d, i % d], -1)

def _tot(s, l):
    return s[:, :, None] + l


def beam_step__wrong_subtle_int16(scores, log_probabilities):
    """Keeps the flat numbers in 16 bits, which wrap above 32767."""
    V = log_probabilities.shape[2]
    i = _tot(scores, log_probabilities).flatten(1).topk(scores.shape[1], dim=1).indices.to(torch.int16).long()
    return torch.stack([i // V, i % V], -1)

def beam_step__wrong_subtle_float32(scores, log_probabilities):
    """Adds in single precision, so close continuations tie or swap where scores are large."""
    return _top(_tot(scores.float(), log_probabilities.float()))

def beam_step__right_python_sort(scores, log_probabilities):
    """Sorts all continuations in Python lists; nested lists of pairs."""
    out = []
    for s, l in zip(scores.tolist(), log_probabilities.tolist()):
        c = [(-(s[k] + x), k, w) for k, r in enumerate(l) for w, x in enumerate(r)]
        out.append([[k, w] for _, k, w in sorted(c)[:len(s)]])
    return out

def beam_step__right_pruned(scores, log_probabilities):
    """Two stages: the best min(width, vocabulary) words of each hypothesis, then the best of those; floats."""
    n = min(scores.shape[1], log_probabilities.shape[2])
    v, w = _tot(scores, log_probabilities).topk(n, dim=2)
    p = _top(v)
    return torch.stack([p[..., 0], w.flatten(1).gather(1, p[..., 0] * n + p[..., 1])], -1).double()

def beam_step__right_argmax_repeated(scores, log_probabilities):
    """Takes the best one again and again and strikes it out; int32 numpy array."""
    t = _tot(scores, log_probabilities).numpy().copy()
    out = np.zeros((*scores.shape, 2), np.int32)
    for b in range(len(t)):
        for i in range(t.shape[1]):
            out[b, i] = np.unravel_index(t[b].argmax(), t[b].shape)
            t[(b, *out[b, i])] = -np.inf
    return out
