import collections
import heapq
import itertools
import math

import numpy as np
import torch


# ---------------------------------------------------------------- every_step_shapes

def every_step_shapes__wrong_flat_by_sentence(batch, T_y, n, d, m, V_y):
    """The student flattens steps and words instead of sentences and steps."""
    j = n + d + m
    return {"joined": (batch, T_y, j), "W_o": (V_y, j), "logits": (batch, T_y, V_y), "flat_logits": (batch, T_y * V_y)}


def every_step_shapes__wrong_flat_columns(batch, T_y, n, d, m, V_y):
    """The student gives each step a column instead of a row."""
    j = n + d + m
    return {"joined": (batch, T_y, j), "W_o": (V_y, j), "logits": (batch, T_y, V_y), "flat_logits": (V_y, batch * T_y)}


def every_step_shapes__wrong_steps_first(batch, T_y, n, d, m, V_y):
    """The student has the steps as the first axis."""
    j = n + d + m
    return {"joined": (T_y, batch, j), "W_o": (V_y, j), "logits": (T_y, batch, V_y), "flat_logits": (batch * T_y, V_y)}


def every_step_shapes__wrong_both_directions(batch, T_y, n, d, m, V_y):
    """The student doubles the context, of which m is the whole size here."""
    j = n + d + 2 * m
    return {"joined": (batch, T_y, j), "W_o": (V_y, j), "logits": (batch, T_y, V_y), "flat_logits": (batch * T_y, V_y)}


def every_step_shapes__wrong_matrix_for_all(batch, T_y, n, d, m, V_y):
    """The student gives each step a matrix of its own."""
    j = n + d + m
    return {"joined": (batch, T_y, j), "W_o": (T_y, V_y, j), "logits": (batch, T_y, V_y), "flat_logits": (batch * T_y, V_y)}


def every_step_shapes__wrong_no_word(batch, T_y, n, d, m, V_y):
    """The student leaves the embedding out of the matrix that multiplies what is joined."""
    return {"joined": (batch, T_y, n + d + m), "W_o": (V_y, n + m), "logits": (batch, T_y, V_y), "flat_logits": (batch * T_y, V_y)}


def every_step_shapes__right_measured(batch, T_y, n, d, m, V_y):
    """Measured on meta tensors."""
    joined = torch.cat([torch.empty(batch, T_y, size, device="meta") for size in (n, d, m)], dim=-1)
    W_o = torch.empty(V_y, joined.shape[-1], device="meta")
    logits = joined @ W_o.T
    return {k: x.shape for k, x in dict(flat_logits=logits.flatten(0, 1), logits=logits, W_o=W_o, joined=joined).items()}


# ---------------------------------------------------------------- word_by_hand

_STEP = dict(
    s=np.array([0.4, -0.6]), H=np.array([[0.5, -0.2, 0.1, 0.3], [-0.4, 0.6, 0.2, -0.1]]),
    W_query=np.array([[1, -1], [0, 2], [0.5, 1]]), v=np.array([1, -2, 1.5]),
    W_key=np.array([[1, 0, 0, 2], [0, 1, -1, 0], [0, 0, 2, 1.0]]), u=np.array([0.3, -0.1]),
    W_s=np.array([[0.5, 1], [-1, 0]]), W_c=np.array([[2, 0, -1, 0.5], [0, 2, 0, 1.0]]),
    W_o=np.array([[1, -1], [2, 0], [0, 2], [-1, 1], [1, 1.0]]), b_o=np.array([0, -0.5, 0.5, 0, 0.2]))


def _word(tanh=np.tanh, places=15, read=lambda old, new: new, softmax=None, **changed):
    g = dict(_STEP, **changed)
    e = np.round(tanh(g["H"] @ g["W_key"].T + g["W_query"] @ g["s"]) @ g["v"], places)
    a = np.round(np.exp(e) / np.exp(e).sum(), places) if softmax is None else softmax(e)
    c = np.round(a @ g["H"], places)
    z = np.round(np.tanh(g["u"] + g["W_s"] @ g["s"] + g["W_c"] @ c), places)
    x = np.exp(g["W_o"] @ read(g["s"], z) + g["b_o"])
    return {"scores": e.tolist(), "weights": a.tolist(), "context": c.tolist(), "state": z.tolist(), "distribution": (x / x.sum()).tolist()}


def word_by_hand__wrong_no_bias():
    """The student forgets the output bias."""
    return _word(b_o=np.zeros(5))


def word_by_hand__wrong_old_state_read():
    """The student reads the word out of the old state."""
    return _word(read=lambda old, new: old)


def word_by_hand__wrong_s_transposed():
    """The student reads W_s by columns."""
    return _word(W_s=_STEP["W_s"].T)


def word_by_hand__wrong_rounded():
    """The student carries two decimals from line to line."""
    return _word(places=2)


def word_by_hand__wrong_three_decimals():
    """The student carries three decimals from line to line."""
    return _word(places=3)


def word_by_hand__wrong_tanh_of_scores():
    """The student forgets the tanh in the score."""
    return _word(tanh=lambda x: x)


def word_by_hand__wrong_tanh_again():
    """The student applies W_y's share after one more tanh, having taken u for a vector before its nonlinearity."""
    return _word(u=np.tanh(_STEP["u"]))


def word_by_hand__wrong_weights_swapped():
    """The student mixes the annotations with the weights in the wrong order."""
    out = _word(softmax=lambda e: (np.exp(e) / np.exp(e).sum())[::-1])
    out["weights"] = out["weights"][::-1]
    return out


def word_by_hand__wrong_sigmoid_for_two():
    """The student takes the sigmoid of each score for its weight, since there are two words only."""
    return _word(softmax=lambda e: 1 / (1 + np.exp(-e)))


def word_by_hand__right_scalar():
    """Plain numbers in tuples; two weights by one sigmoid of the difference."""
    g = {k: x.tolist() for k, x in _STEP.items()}

    def times(W, x):
        return [math.fsum(map(lambda a, b: a * b, row, x)) for row in W]
    q = times(g["W_query"], g["s"])
    e = [math.fsum(v * math.tanh(a + b) for v, a, b in zip(g["v"], q, times(g["W_key"], h))) for h in g["H"]]
    w = 0.5 + 0.5 * math.tanh((e[0] - e[1]) / 2)
    c = [w * a + (1 - w) * b for a, b in zip(*g["H"])]
    z = [math.tanh(sum(t)) for t in zip(g["u"], times(g["W_s"], g["s"]), times(g["W_c"], c))]
    low = [a + b for a, b in zip(times(g["W_o"], z), g["b_o"])]
    p = [1 / sum(math.exp(y - x) for y in low) for x in low]
    return dict(scores=tuple(e), weights=(w, 1 - w), context=tuple(c), state=tuple(z), distribution=tuple(p))


def word_by_hand__right_rounded_four():
    """Torch in double precision, every number rounded to four decimals at the very end."""
    g = {k: torch.tensor(x) for k, x in _STEP.items()}
    e = torch.einsum("a,ja->j", g["v"], torch.tanh(torch.einsum("ak,jk->ja", g["W_key"], g["H"]) + g["W_query"] @ g["s"]))
    a = torch.softmax(e, 0)
    c = g["H"].T @ a
    z = torch.tanh(torch.addmv(g["u"] + g["W_s"] @ g["s"], g["W_c"], c))
    p = torch.softmax(torch.addmv(g["b_o"], g["W_o"], z), 0)
    out = collections.OrderedDict(distribution=p, state=z, context=c, weights=a, scores=e)
    return {k: [round(y, 4) for y in x.tolist()] for k, x in out.items()}


# ---------------------------------------------------------------- cross_entropy

def _low(logits):
    top = logits.max(axis=-1, keepdims=True)
    return logits - top - np.log(np.exp(logits - top).sum(axis=-1, keepdims=True))


def _chosen(logits, targets, mask):
    b, i = np.nonzero(mask)
    return -_low(logits[b, i])[np.arange(len(b)), targets[b, i]]


def cross_entropy__wrong_log_of_softmax(logits, targets, target_mask):
    """The student takes the logarithm of a probability that has become exactly 0, so the loss is infinite."""
    b, i = np.nonzero(target_mask)
    if len(b) == 0:
        return 0.0
    x = logits[b, i]
    e = np.exp(x - x.max(-1, keepdims=True))
    p = e / e.sum(-1, keepdims=True)
    with np.errstate(all="ignore"):
        return float(-np.log(p[np.arange(len(b)), targets[b, i]]).mean())


def cross_entropy__wrong_small_number(logits, targets, target_mask):
    """The student adds 1e-12 below the logarithm, so no word costs more than 27.6 nats."""
    b, i = np.nonzero(target_mask)
    if len(b) == 0:
        return 0.0
    p = np.exp(_low(logits[b, i]))[np.arange(len(b)), targets[b, i]]
    return float(-np.log(p + 1e-12).mean())


def cross_entropy__wrong_all_positions(logits, targets, target_mask):
    """The student divides by all positions, pads included."""
    return float(_chosen(logits, targets, target_mask).sum() / target_mask.size)


def cross_entropy__wrong_empty_nan(logits, targets, target_mask):
    """The student takes the mean of nothing for a batch without a word."""
    with np.errstate(all="ignore"):
        return float(np.sum(_chosen(logits, targets, target_mask)) / np.float64(target_mask.sum()))


def cross_entropy__wrong_sentence_max(logits, targets, target_mask):
    """The student subtracts the largest logit of a sentence from all of its positions; a position thousands below gets log 0."""
    if not target_mask.any():
        return 0.0
    with np.errstate(all="ignore"):
        x = logits - logits.max(axis=(1, 2), keepdims=True)
        low = x - np.log(np.exp(x).sum(-1, keepdims=True))
        b, i = np.nonzero(target_mask)
        return float(-low[b, i, targets[b, i]].mean())


def cross_entropy__wrong_lengths(logits, targets, target_mask):
    """The student counts the real words and takes as many from the left."""
    mask = np.arange(targets.shape[1]) < target_mask.sum(axis=1, keepdims=True)
    if not mask.any():
        return 0.0
    return float(_chosen(logits, np.clip(targets, 0, logits.shape[-1] - 1), mask).mean())


def cross_entropy__wrong_word_zero(logits, targets, target_mask):
    """The student takes the word with number 0 for a pad too, though the mask says what is one."""
    mask = target_mask & (targets != 0)
    return float(_chosen(logits, targets, mask).mean()) if mask.any() else 0.0


def cross_entropy__wrong_multiplied_mask(logits, targets, target_mask):
    """The student multiplies the pads' costs by 0; logits of 1e308 and -1e308 at a pad cost inf, and inf times 0 is nan."""
    if not target_mask.any():
        return 0.0
    with np.errstate(all="ignore"):
        cost = -np.take_along_axis(_low(logits), np.where(target_mask, targets, 0)[..., None], -1)[..., 0]
        return float((cost * target_mask).sum() / target_mask.sum())


def cross_entropy__wrong_empty_sentence_counts(logits, targets, target_mask):
    """The student counts at least one word for each sentence, also for one that has none."""
    count = np.maximum(target_mask.sum(axis=1), 1).sum()
    return float(_chosen(logits, targets, target_mask).sum() / count)


def cross_entropy__wrong_batch_mean(logits, targets, target_mask):
    """The student divides the sum by the number of sentences."""
    return float(_chosen(logits, targets, target_mask).sum() / len(targets))


def cross_entropy__wrong_capped(logits, targets, target_mask):
    """The student caps the cost of a word at 100 nats to keep it finite."""
    cost = np.minimum(_chosen(logits, targets, target_mask), 100)
    return float(cost.mean()) if cost.size else 0.0


def cross_entropy__wrong_zero_cost_dropped(logits, targets, target_mask):
    """The student counts the positions whose masked cost is not 0; a sure word that costs exactly 0 is not counted."""
    cost = np.zeros(targets.shape)
    cost[target_mask] = _chosen(logits, targets, target_mask)
    count = np.count_nonzero(cost)
    return float(cost.sum() / count) if count else 0.0


def cross_entropy__wrong_running(logits, targets, target_mask, _sums=[0.0, 0]):
    """The student keeps sum and count between calls, so the second batch is averaged with the first."""
    cost = _chosen(logits, targets, target_mask)
    _sums[0] += float(cost.sum())
    _sums[1] += cost.size
    return _sums[0] / _sums[1] if cost.size else 0.0


def cross_entropy__wrong_target_of_first(logits, targets, target_mask):
    """The student takes the target numbers of the first sentence for all; right for one sentence."""
    same = np.where(target_mask[:1], targets[:1], 0)
    cost = _chosen(logits, np.broadcast_to(same, targets.shape), target_mask)
    return float(cost.mean()) if cost.size else 0.0


def cross_entropy__wrong_half_precision(logits, targets, target_mask):
    """The student counts in half precision to save memory: logits of 3001 and 3002 become equal or two apart."""
    b, i = np.nonzero(target_mask)
    if len(b) == 0:
        return 0.0
    x = logits[b, i].astype(np.float16).astype(float)
    return float(-_low(x)[np.arange(len(b)), targets[b, i]].mean())


def cross_entropy__right_margins(logits, targets, target_mask):
    """The log of a sum of exponentials of differences from the right word, by fsum, one position at a time."""
    costs = []
    for b, i in itertools.product(*map(range, target_mask.shape)):
        if target_mask[b, i]:
            diff = [float(x) - float(logits[b, i, targets[b, i]]) for x in logits[b, i]]
            top = max(diff)
            costs.append(top + math.log(math.fsum(math.exp(x - top) for x in diff)))
    return math.fsum(costs) / len(costs) if costs else 0


def cross_entropy__right_logaddexp(logits, targets, target_mask):
    """Boolean picking first, logaddexp along the words, the mean as a dot product, in a numpy array without axes."""
    x, t = logits[target_mask], targets[target_mask].astype(int)
    if not t.size:
        return np.array(0.0)
    cost = np.logaddexp.reduce(x, axis=-1) - x[range(t.size), t]
    return np.asarray(cost @ np.full(t.size, 1 / t.size))


def cross_entropy__right_flat(logits, targets, target_mask):
    """Everything flat, compress and choose, np.average with no weights."""
    real = target_mask.ravel()
    rows = logits.reshape(real.size, -1)[real]
    words = targets.ravel().compress(real)
    if len(words) < 1:
        return 0.0
    rows = rows - np.take_along_axis(rows, words[:, None], 1)
    shift = rows.max(1)
    return np.average(shift + np.log(np.exp(rows - shift[:, None]).sum(1)))


def cross_entropy__right_generator(logits, targets, target_mask):
    """A generator of costs in extended precision and a running mean."""
    def costs():
        for x, t, real in zip(logits.reshape(-1, logits.shape[-1]).astype(np.longdouble), targets.flat, target_mask.flat):
            if real:
                yield np.log(np.exp(x - x.max()).sum()) + (x.max() - x[t])
    mean = np.longdouble(0)
    for k, c in enumerate(costs(), 1):
        mean += (c - mean) / k
    return float(mean)


# ---------------------------------------------------------------- beam_step

def _pairs(flat, vocab):
    return torch.stack((flat // vocab, flat % vocab), dim=-1)


def beam_step__wrong_half_precision(scores, log_probabilities):
    """The student adds in half precision, where continuations of long sentences tie that are not equally good."""
    total = (scores.half().unsqueeze(-1) + log_probabilities.half()).float().flatten(1)
    order = torch.sort(total, dim=1, descending=True, stable=True).indices[:, :scores.shape[1]]
    return _pairs(order, log_probabilities.shape[-1])


def beam_step__wrong_word_first(scores, log_probabilities):
    """The student returns the word before the hypothesis."""
    total = (scores.unsqueeze(-1) + log_probabilities).flatten(1)
    return _pairs(total.topk(scores.shape[1], 1).indices, log_probabilities.shape[-1]).flip(-1)


def beam_step__wrong_two_words_each(scores, log_probabilities):
    """The student looks at the two best words of each hypothesis only; a good one may own three of the best."""
    few = min(2, log_probabilities.shape[-1])
    value, word = log_probabilities.topk(few, -1)
    total = (scores.unsqueeze(-1) + value).flatten(1)
    order = total.topk(scores.shape[1], 1).indices
    return torch.stack((order // few, word.flatten(1).gather(1, order)), -1)


def beam_step__wrong_whole_batch(scores, log_probabilities):
    """The student ranks over the whole batch and shares the best out; right for one sentence."""
    batch, width, vocab = log_probabilities.shape
    total = (scores.unsqueeze(-1) + log_probabilities).flatten()
    order = total.topk(batch * width).indices
    sentence = order // (width * vocab)
    order = order[sentence.argsort(stable=True)] % (width * vocab)
    return _pairs(order.reshape(batch, width), vocab)


def beam_step__wrong_mark(scores, log_probabilities):
    """The student marks a chosen continuation with -100, which may still be the best of what is left."""
    total = (scores.unsqueeze(-1) + log_probabilities).flatten(1).clone()
    chosen = []
    for _ in range(scores.shape[1]):
        k = total.argmax(1, keepdim=True)
        chosen.append(k)
        total.scatter_(1, k, -100.0)
    return _pairs(torch.cat(chosen, 1), log_probabilities.shape[-1])


def beam_step__wrong_zero_is_unused(scores, log_probabilities):
    """The student takes a sum of exactly 0 for an unused place, but log 1 + log 1 is 0 too."""
    total = (scores.unsqueeze(-1) + log_probabilities).flatten(1)
    total = total.masked_fill(total == 0, -1e30)
    return _pairs(total.topk(scores.shape[1], 1).indices, log_probabilities.shape[-1])


def beam_step__wrong_rounded_quotient(scores, log_probabilities):
    """The student rounds the quotient to the nearest hypothesis instead of cutting it off."""
    vocab = log_probabilities.shape[-1]
    k = (scores.unsqueeze(-1) + log_probabilities).flatten(1).topk(scores.shape[1], 1).indices
    return torch.stack((torch.round(k / vocab), (k % vocab).to(torch.get_default_dtype())), -1)


def beam_step__wrong_distinct_words(scores, log_probabilities):
    """The student lets each word be chosen once, where there are enough words, to keep the beam varied."""
    batch, width, vocab = log_probabilities.shape
    total = (scores.unsqueeze(-1) + log_probabilities).flatten(1)
    out = []
    for row in total.argsort(1, descending=True).tolist():
        seen, first, later = set(), [], []
        for k in row:
            (later if k % vocab in seen else first).append(k)
            seen.add(k % vocab)
        out.append((first + later)[:width])
    return _pairs(torch.tensor(out), vocab)


def beam_step__wrong_first_step(scores, log_probabilities):
    """The student takes equal scores for the first step and continues only the first hypothesis, where its words are enough."""
    batch, width, vocab = log_probabilities.shape
    total = scores.unsqueeze(-1) + log_probabilities
    first = (scores == scores[:, :1]).all(1)
    if vocab >= width:
        total = total.clone()
        total[first, 1:] = -1e30
    return _pairs(total.flatten(1).topk(width, 1).indices, vocab)


def beam_step__wrong_smallest(scores, log_probabilities):
    """The student sorts by the absolute value of the sum from the top, taking the worst as the best."""
    total = (scores.unsqueeze(-1) + log_probabilities).abs().flatten(1)
    return _pairs(total.topk(scores.shape[1], 1).indices, log_probabilities.shape[-1])


def beam_step__right_heap(scores, log_probabilities):
    """Python's heapq over tuples of exact sums, in a tensor of floats."""
    rows = []
    for s, block in zip(scores.tolist(), log_probabilities.tolist()):
        every = ((a + x, k, w) for k, (a, line) in enumerate(zip(s, block)) for w, x in enumerate(line))
        rows.append([(k, w) for _, k, w in heapq.nlargest(len(s), every)])
    return torch.tensor(rows, dtype=torch.float64)


def beam_step__right_two_stages(scores, log_probabilities):
    """At most `width` words of each hypothesis, then the best of those, in 32-bit whole numbers."""
    batch, width, vocab = log_probabilities.shape
    few = min(width, vocab)
    value, word = torch.topk(scores.view(batch, width, 1) + log_probabilities, few, dim=2)
    k = value.reshape(batch, -1).argsort(1, descending=True)[:, :width]
    return torch.stack((k.div(few, rounding_mode="floor"), word.reshape(batch, -1).gather(1, k)), 2).int()


def beam_step__right_rank(scores, log_probabilities):
    """Each continuation counts those better than itself; its rank is its place."""
    batch, width, vocab = log_probabilities.shape
    total = (scores[:, :, None] + log_probabilities).reshape(batch, -1)
    rank = (total[:, None, :] > total[:, :, None]).sum(-1)
    out = torch.zeros(batch, width, 2, dtype=torch.long)
    for b, k in torch.nonzero(rank < width).tolist():
        out[b, rank[b, k]] = torch.tensor(divmod(k, vocab))
    return out


def beam_step__right_unravel(scores, log_probabilities):
    """numpy's argsort and unravel_index inside, a torch tensor outside."""
    total = (scores.detach().numpy()[..., None] + log_probabilities.detach().numpy())
    out = [np.stack(np.unravel_index(np.argsort(-row, axis=None)[:row.shape[0]], row.shape), 1) for row in total]
    return torch.from_numpy(np.stack(out).astype(np.int32))


def beam_step__right_one_by_one(scores, log_probabilities):
    """The best is taken out again and again, minus infinity in its place, on an own copy."""
    total = torch.add(scores[..., None], log_probabilities).clone()
    picks = []
    for _ in range(total.shape[1]):
        word_best, word = total.max(2)
        k = word_best.argmax(1)
        w = word[torch.arange(len(k)), k]
        total[torch.arange(len(k)), k, w] = -math.inf
        picks.append(torch.stack((k, w), 1))
    return torch.stack(picks, 1)


# ---------------------------------------------------------------- more of the code exercises

def cross_entropy__wrong_first_pad_ends(logits, targets, target_mask):
    """The student stops at the first pad of a row, but padding may stand before words."""
    mask = np.logical_and.accumulate(target_mask.astype(bool), axis=1)
    cost = _chosen(logits, targets, mask)
    return float(cost.mean()) if cost.size else 0.0


def cross_entropy__wrong_any_empty_row(logits, targets, target_mask):
    """The student returns 0 as soon as one sentence has no word, not only when none has."""
    if not target_mask.any(axis=1).all():
        return 0.0
    return float(_chosen(logits, targets, target_mask).mean())


def cross_entropy__wrong_tiny(logits, targets, target_mask):
    """The student clips probabilities at 1e-300: finite, but a word that costs 3000 nats is charged 691."""
    if not target_mask.any():
        return 0.0
    return float(-np.log(np.maximum(np.exp(-_chosen(logits, targets, target_mask)), 1e-300)).mean())


def cross_entropy__wrong_square(logits, targets, target_mask):
    """The student normalises along the positions where there are as many of them as words."""
    if not target_mask.any():
        return 0.0
    axis = 1 if logits.shape[1] == logits.shape[2] else 2
    top = logits.max(axis=axis, keepdims=True)
    with np.errstate(all="ignore"):
        low = logits - top - np.log(np.exp(logits - top).sum(axis=axis, keepdims=True))
    b, i = np.nonzero(target_mask)
    return float(-low[b, i, targets[b, i]].mean())


def beam_step__wrong_small_type(scores, log_probabilities):
    """The student packs the result in 8 bits, so word numbers from 128 on become negative."""
    total = (scores.unsqueeze(-1) + log_probabilities).flatten(1)
    return _pairs(total.topk(scores.shape[1], 1).indices, log_probabilities.shape[-1]).to(torch.int8)


def beam_step__wrong_too_few(scores, log_probabilities):
    """The student takes no more continuations than there are words, too few where the vocabulary is smaller than the beam."""
    total = (scores.unsqueeze(-1) + log_probabilities).flatten(1)
    return _pairs(total.topk(min(scores.shape[1], log_probabilities.shape[-1]), 1).indices, log_probabilities.shape[-1])


def beam_step__wrong_best_hypothesis_first(scores, log_probabilities):
    """The student exhausts the best hypothesis before the next one, as if a better beginning always won."""
    batch, width, vocab = log_probabilities.shape
    hypothesis = scores.argsort(1, descending=True)
    words = log_probabilities.argsort(-1, descending=True)
    words = words.gather(1, hypothesis.unsqueeze(-1).expand(-1, -1, vocab))
    both = torch.stack((hypothesis.unsqueeze(-1).expand(-1, -1, vocab), words), -1)
    return both.reshape(batch, width * vocab, 2)[:, :width]


def beam_step__wrong_rounded(scores, log_probabilities):
    """The student rounds the sums to two decimals before ranking, so close continuations tie and the first stands in front."""
    total = torch.round((scores.unsqueeze(-1) + log_probabilities).flatten(1) * 100)
    order = torch.sort(total, dim=1, descending=True, stable=True).indices[:, :scores.shape[1]]
    return _pairs(order, log_probabilities.shape[-1])


def beam_step__wrong_width_of_first(scores, log_probabilities):
    """The student uses the first sentence's ranking of the flat places for all sentences."""
    total = (scores.unsqueeze(-1) + log_probabilities).flatten(1)
    order = total[:1].topk(scores.shape[1], 1).indices.expand(len(scores), -1)
    return _pairs(order, log_probabilities.shape[-1])
