import math
import numpy as np
import torch


def _sm(x, axis=-1):
    x = np.asarray(x, float)
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


# ---- note D
def note_d_output__wrong_transposed(n, V_y):
    """Gives W_o as (from, to) instead of (to, from)."""
    return {"W_o": (n, V_y), "b_o": (V_y,)}

def note_d_output__wrong_bias_of_state(n, V_y):
    """Gives the bias the size of the state instead of the vocabulary."""
    return {"W_o": (V_y, n), "b_o": (n,)}

def note_d_output__wrong_bias_column(n, V_y):
    """Makes the bias a matrix of one column instead of a vector."""
    return {"W_o": (V_y, n), "b_o": (V_y, 1)}

def note_d_output__right_array_shapes(n, V_y):
    """Shapes read from a numpy array and its product with a vector."""
    W = np.zeros((V_y, n))
    return dict(W_o=W.shape, b_o=(W @ np.zeros(n)).shape)

# ---- every step
def _every(B, T, j, V, **k):
    return {**{"joined": (B, T, j), "W_o": (V, j), "logits": (B, T, V), "flat_logits": (B * T, V)}, **k}

def every_step_shapes__wrong_embedding_forgotten(batch, T_y, n, d, m, V_y):
    """Joins state and context only and forgets the embedding."""
    return _every(batch, T_y, n + m, V_y)

def every_step_shapes__wrong_steps_first(batch, T_y, n, d, m, V_y):
    """Puts the steps before the batch in joined and logits."""
    return _every(T_y, batch, n + d + m, V_y)

def every_step_shapes__wrong_flat_row_per_sentence(batch, T_y, n, d, m, V_y):
    """Flattens steps and words together: one row per sentence."""
    return _every(batch, T_y, n + d + m, V_y, flat_logits=(batch, T_y * V_y))

def every_step_shapes__right_torch_sizes(batch, T_y, n, d, m, V_y):
    """Torch sizes turned to tuples."""
    x, W = torch.zeros(batch, T_y, sum([n, d, m])), torch.zeros(V_y, n + d + m)
    y = x @ W.T
    return {k: tuple(v.shape) for k, v in dict(joined=x, W_o=W, logits=y, flat_logits=y.flatten(0, 1)).items()}

# ---- maxout
def maxout_shapes__wrong_k_not_doubled(n, d, m, k, V_y):
    """Forgets that k maxima need 2k numbers."""
    return {"U_o": (k, n), "C_o": (k, m), "maxima": (k,), "W_o": (V_y, k)}

def maxout_shapes__wrong_W_o_before_maxout(n, d, m, k, V_y):
    """Lets W_o read the 2k numbers before the maxout."""
    return {"U_o": (2 * k, n), "C_o": (2 * k, m), "maxima": (k,), "W_o": (V_y, 2 * k)}

def maxout_shapes__wrong_context_and_embedding_mixed(n, d, m, k, V_y):
    """Lets C_o multiply the embedding of size d instead of the context."""
    return {"U_o": (2 * k, n), "C_o": (2 * k, d), "maxima": (k,), "W_o": (V_y, k)}

def maxout_shapes__right_computed(n, d, m, k, V_y):
    """Maxima from a reshape of real arrays, in another key order."""
    t = np.zeros(2 * k)
    return {"W_o": (V_y, k), "maxima": t.reshape(k, 2).max(1).shape, "C_o": (t.size, m), "U_o": (t.size, n)}

# ---- tied
def tied_shapes__wrong_rows_are_words(n, d, V_y):
    """Gives E one row per word, as in torch, instead of the layout of E y."""
    return {"E": (V_y, d), "W": (n, d), "projected_state": (d,), "logits": (V_y,)}

def tied_shapes__wrong_W_transposed(n, d, V_y):
    """Gives W as (d, n), which does not fit s^T W (E y)."""
    return {"E": (d, V_y), "W": (d, n), "projected_state": (d,), "logits": (V_y,)}

def tied_shapes__right_arrays(n, d, V_y):
    """Products of zeros."""
    E, W = np.zeros((d, V_y)), np.zeros((n, d))
    p = W.T @ np.zeros(n)
    return {"E": E.shape, "W": W.shape, "projected_state": p.shape, "logits": (p @ E).shape}

# ---- hindi
_WO = np.array([[0, 0, 0], [2, 2, 2], [1, 0, 0], [0, 1, 0], [0, 0, 1], [-1, -1, -1]], float)
_Z = np.array([.42, .67, .70])

def hindi_distribution__wrong_no_tanh():
    """Forgets the tanh of the state."""
    return _sm(_WO @ _Z).tolist()

def hindi_distribution__wrong_start_stop_left_out():
    """Gives START and STOP the probability 0 and normalises over the Hindi words."""
    return [0.0] + _sm((_WO @ np.tanh(_Z))[1:5]).tolist() + [0.0]

def hindi_distribution__right_exponentials():
    """Plain exponentials in a list."""
    z = [math.tanh(x) for x in (.42, .67, .70)]
    e = [1, math.exp(2 * sum(z))] + [math.exp(x) for x in z] + [math.exp(-sum(z))]
    return [x / sum(e) for x in e]

# ---- distribution and loss
_L = [.5, -1., 2., 0., 1.2]

def distribution_and_loss__wrong_entropy():
    """Returns the entropy of the distribution as the loss."""
    p = _sm(_L)
    return {"distribution": p.tolist(), "loss": float(-(p * np.log(p)).sum())}

def distribution_and_loss__wrong_largest_word():
    """Takes the cost of the most probable instead of the right word."""
    p = _sm(_L)
    return {"distribution": p.tolist(), "loss": -math.log(p.max())}

def distribution_and_loss__right_logsumexp():
    """Loss as logsumexp minus logit, in torch."""
    x = torch.tensor(_L, dtype=torch.float64)
    return {"distribution": torch.softmax(x, 0), "loss": torch.logsumexp(x, 0) - 1.2}

# ---- what is left
def what_is_left__wrong_without_right_word():
    """Subtracts only the four wrong words' probabilities."""
    return {"left": .99, "loss": -math.log(.64)}

def what_is_left__wrong_bits():
    """Gives the loss in bits."""
    return {"left": .35, "loss": -math.log2(.64)}

def what_is_left__right_rounded():
    """Rounded to four decimals."""
    return {"left": round(1 - sum([.004, .001, .002, .64, .003]), 4), "loss": round(math.log(100 / 64), 4)}

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

def word_by_hand__wrong_score_without_tanh():
    """Forgets the tanh in the additive score."""
    return _word(f=lambda x: x)

def word_by_hand__wrong_reads_old_state():
    """Reads the word out of the old state."""
    return _word(old=True)

def word_by_hand__wrong_no_output_bias():
    """Forgets the bias b_o, so only the distribution is wrong."""
    return _word(bias=False)

def word_by_hand__right_computed():
    """All lines computed with numpy."""
    return _word()

# ---- output_distribution
def _lg(s, c, Ws, Wc, b):
    return s @ Ws.T + c @ Wc.T + b

def output_distribution__wrong_overflow(state, context, W_state, W_context, b_o):
    """Exponentiates without subtracting the maximum."""
    e = np.exp(_lg(state, context, W_state, W_context, b_o))
    return e / e.sum(1, keepdims=True)

def output_distribution__wrong_batch_axis(state, context, W_state, W_context, b_o):
    """Takes the softmax over the batch."""
    return _sm(_lg(state, context, W_state, W_context, b_o), 0)

def output_distribution__wrong_product_of_softmaxes(state, context, W_state, W_context, b_o):
    """Averages two separate softmaxes of state and context."""
    return (_sm(state @ W_state.T + b_o) + _sm(context @ W_context.T + b_o)) / 2

def output_distribution__wrong_row_sum_unkept(state, context, W_state, W_context, b_o):
    """Divides by the row sums without keeping their axis."""
    x = _lg(state, context, W_state, W_context, b_o)
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1)

def output_distribution__wrong_subtle_batch_max(state, context, W_state, W_context, b_o):
    """Subtracts the maximum of the whole batch, so rows with far smaller logits underflow to 0/0."""
    x = _lg(state, context, W_state, W_context, b_o)
    e = np.exp(x - x.max())
    return e / e.sum(1, keepdims=True)

def output_distribution__wrong_subtle_clip_1e5(state, context, W_state, W_context, b_o):
    """Clips logits at 100000 in size, though they may reach 250000."""
    return _sm(np.clip(_lg(state, context, W_state, W_context, b_o), -1e5, 1e5))

def output_distribution__wrong_subtle_square(state, context, W_state, W_context, b_o):
    """Does not transpose W_context where it is square."""
    W = W_context if W_context.shape[0] == W_context.shape[1] else W_context.T
    return _sm(state @ W_state.T + context @ W + b_o)

def output_distribution__wrong_subtle_shift_only_positive(state, context, W_state, W_context, b_o):
    """Subtracts the maximum only where it is positive, so rows of very negative logits underflow."""
    x = _lg(state, context, W_state, W_context, b_o)
    e = np.exp(x - np.maximum(x.max(1, keepdims=True), 0))
    return e / e.sum(1, keepdims=True)

def output_distribution__wrong_subtle_float32(state, context, W_state, W_context, b_o):
    """Stores the logits in single precision before the softmax."""
    return _sm(_lg(state, context, W_state, W_context, b_o).astype(np.float32).astype(float))

def output_distribution__right_joined(state, context, W_state, W_context, b_o):
    """Joins state, context and a 1 and uses one product, column-major, through torch."""
    x = np.hstack([state, context, np.ones((len(state), 1))])
    W = np.hstack([W_state, W_context, b_o[:, None]])
    return torch.softmax(torch.from_numpy(W @ x.T), 0).T

def output_distribution__right_reciprocal(state, context, W_state, W_context, b_o):
    """Each probability as 1 over the sum of exp of differences; overflow to infinity gives 0."""
    x = _lg(state, context, W_state, W_context, b_o)
    with np.errstate(over="ignore"):
        return 1 / np.exp(x[:, None, :] - x[:, :, None]).sum(2)

def output_distribution__right_pure_lists(state, context, W_state, W_context, b_o):
    """Loops over sentences and words with math.fsum, nested tuples."""
    out = []
    for s, c in zip(state, context):
        l = [math.fsum([*(a * s), *(k * c), t]) for a, k, t in zip(W_state, W_context, b_o)]
        e = [math.exp(x - max(l)) for x in l]
        out.append(tuple(x / math.fsum(e) for x in e))
    return tuple(out)

# ---- cross_entropy
def _nll(x):
    x = x - x.max(-1, keepdims=True)
    return np.log(np.exp(x).sum(-1, keepdims=True)) - x

def _pick(a, t):
    return np.take_along_axis(a, t[..., None], -1)[..., 0]

def _mean(c, m):
    return float(c[m].sum() / max(m.sum(), 1))

def cross_entropy__wrong_divides_by_all(logits, targets, target_mask):
    """Sums over real words but divides by all positions."""
    return float(_pick(_nll(logits), targets)[target_mask].sum() / targets.size)

def cross_entropy__wrong_mean_of_sentences(logits, targets, target_mask):
    """Averages the sentences' means, so words of short sentences count more."""
    c, r = _pick(_nll(logits), targets), target_mask.any(1)
    return float(np.mean([x[m].mean() for x, m in zip(c[r], target_mask[r])])) if r.any() else 0.0

def cross_entropy__wrong_no_real_word_nan(logits, targets, target_mask):
    """Takes the mean of nothing, NaN, where no word is real."""
    return float(_pick(_nll(logits), targets)[target_mask].mean())

def cross_entropy__wrong_overflow(logits, targets, target_mask):
    """Takes exp of raw logits, which overflows."""
    e = np.exp(logits)
    return _mean(-np.log(_pick(e / e.sum(-1, keepdims=True), targets)), target_mask)

def cross_entropy__wrong_log_of_zero(logits, targets, target_mask):
    """Takes the logarithm of a stable softmax, which is infinite where the probability underflows."""
    return _mean(-np.log(_pick(_sm(logits), targets)), target_mask)

def cross_entropy__wrong_subtle_clipped_probability(logits, targets, target_mask):
    """Clips probabilities at 1e-300, so the cost cannot exceed 691 nats."""
    return _mean(-np.log(np.maximum(_pick(_sm(logits), targets), 1e-300)), target_mask)

def cross_entropy__wrong_subtle_uint8_targets(logits, targets, target_mask):
    """Stores the targets in a byte, so words from 256 on wrap around."""
    return _mean(_pick(_nll(logits), targets.astype(np.uint8).astype(int)), target_mask)

def cross_entropy__wrong_subtle_shift_of_sentence(logits, targets, target_mask):
    """Subtracts the maximum of the whole sentence, so positions with far smaller logits give infinity."""
    x = logits - logits.max((1, 2), keepdims=True)
    return _mean(_pick(np.log(np.exp(x).sum(-1, keepdims=True)) - x, targets), target_mask)

def cross_entropy__wrong_subtle_word_zero_is_pad(logits, targets, target_mask):
    """Takes word 0 for padding as well and leaves it out."""
    return _mean(_pick(_nll(logits), targets), target_mask & (targets != 0))

def cross_entropy__wrong_subtle_prefix_lengths(logits, targets, target_mask):
    """Counts the real words and takes that many from the front, though pads may stand anywhere."""
    m = np.arange(targets.shape[1]) < target_mask.sum(1, keepdims=True)
    return _mean(_pick(_nll(logits), targets), m)

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

def beam_step__wrong_scores_forgotten(scores, log_probabilities):
    """Ranks by the next word's log-probability alone."""
    return _top(log_probabilities)

def beam_step__wrong_greedy_each(scores, log_probabilities):
    """Continues every hypothesis by its own best word and then sorts them."""
    v, w = _tot(scores, log_probabilities).max(2)
    o = v.argsort(1, descending=True)
    return torch.stack([o, w.gather(1, o)], -1)

def beam_step__wrong_word_first(scores, log_probabilities):
    """Puts the word before the hypothesis."""
    return _top(_tot(scores, log_probabilities)).flip(-1)

def beam_step__wrong_divides_by_width(scores, log_probabilities):
    """Splits the flat number by the width instead of the vocabulary size."""
    return _top(_tot(scores, log_probabilities), div=scores.shape[1])

def beam_step__wrong_subtle_probabilities(scores, log_probabilities):
    """Ranks by probabilities, all 0 where scores are below -745."""
    return _top(torch.exp(_tot(scores, log_probabilities)))

def beam_step__wrong_subtle_two_per_hypothesis(scores, log_probabilities):
    """Considers only the two best words of each hypothesis."""
    t = _tot(scores, log_probabilities)
    v, w = t.topk(2, dim=2)
    p = _top(v)
    return torch.stack([p[..., 0], w.flatten(1).gather(1, p[..., 0] * 2 + p[..., 1])], -1)

def beam_step__wrong_subtle_topk_width(scores, log_probabilities):
    """Asks each hypothesis for its width best words, which fails where the vocabulary is smaller than the beam."""
    W = scores.shape[1]
    v, w = _tot(scores, log_probabilities).topk(W, dim=2)
    p = _top(v)
    return torch.stack([p[..., 0], w.flatten(1).gather(1, p[..., 0] * W + p[..., 1])], -1)

def beam_step__wrong_subtle_reciprocal(scores, log_probabilities):
    """Multiplies by 1/V and cuts off, which rounds down for some sizes, such as 49."""
    V = log_probabilities.shape[2]
    i = _tot(scores, log_probabilities).flatten(1).topk(scores.shape[1], dim=1).indices
    k = (i.double() * (1.0 / V)).long()
    return torch.stack([k, i - k * V], -1)

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
