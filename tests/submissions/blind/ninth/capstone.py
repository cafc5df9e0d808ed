import math
from collections import Counter

import numpy as np
import torch
import torch.nn.functional as F


def _D(doc):
    def put(f):
        f.__doc__ = doc
        return f
    return put


# ---- 7.1
def _shapes(**over):
    def f(batch, T_x, T_y, m, V_y):
        d = {"target_in": (batch, T_y), "contexts": (batch, T_y, m), "heat_maps": (batch, T_y, T_x), "predictions": (batch, T_y, V_y)}
        for k, g in over.items():
            d[k] = g(batch, T_x, T_y, m, V_y)
        return d
    return f


training_shapes__wrong_one_hot = _D("Gives target_in a vocabulary axis, as if its words were one-hot instead of numbers.")(_shapes(target_in=lambda b, x, y, m, V: (b, y, V)))
training_shapes__wrong_target_shorter = _D("Makes target_in one shorter, as if the stop word did not count into T_y.")(_shapes(target_in=lambda b, x, y, m, V: (b, y - 1)))
training_shapes__wrong_contexts_source = _D("Gives one context for each source position instead of each step.")(_shapes(contexts=lambda b, x, y, m, V: (b, x, m)))
training_shapes__wrong_contexts_single = _D("Gives the contexts of a single step.")(_shapes(contexts=lambda b, x, y, m, V: (b, m)))
training_shapes__wrong_heat_transposed = _D("Puts the source before the steps in heat_maps.")(_shapes(heat_maps=lambda b, x, y, m, V: (b, x, y)))


def training_shapes__right_lists(batch, T_x, T_y, m, V_y):
    """Lists joined from a shared front part."""
    front = [batch, T_y]
    return {"target_in": front, "contexts": front + [m], "heat_maps": front + [T_x], "predictions": front + [V_y]}


def training_shapes__right_torch(batch, T_x, T_y, m, V_y):
    """Sizes read off torch tensors."""
    a = torch.zeros(batch, T_y, T_x)
    c = a @ torch.zeros(batch, T_x, m)
    return dict(target_in=a[..., 0].shape, contexts=c.shape, heat_maps=a.shape, predictions=(c @ torch.zeros(m, V_y)).size())


# ---- 7.2
def _count(q, k, v):
    return {"W_query": q, "W_key": k, "v": v, "all": q + k + v}


count_parameters__wrong_one_direction = _D("Takes 36 numbers for an annotation instead of 72: forgets the second direction.")(lambda: _count(960, 864, 24))
count_parameters__wrong_with_biases = _D("Counts a bias of 24 numbers with each matrix, which the score does not have.")(lambda: _count(984, 1752, 24))
count_parameters__wrong_square_v = _D("Counts v as a matrix of 24 times 24.")(lambda: _count(960, 1728, 576))
count_parameters__wrong_swapped = _D("Swaps the counts of W_query and W_key.")(lambda: _count(1728, 960, 24))
count_parameters__wrong_all_without_v = _D("Forgets v in the sum.")(lambda: {**_count(960, 1728, 24), "all": 2688})


def count_parameters__right_numpy():
    """Sizes of numpy arrays, as numpy whole numbers."""
    d = {"W_query": np.zeros((24, 40)), "W_key": np.zeros((24, 72)), "v": np.zeros(24)}
    d = {k: np.int64(a.size) for k, a in d.items()}
    return {**d, "all": sum(d.values())}


def count_parameters__right_modules():
    """Counts the parameters of torch modules without biases."""
    d = {k: sum(p.numel() for p in torch.nn.Linear(i, o, bias=False).parameters()) for k, i, o in (("W_query", 40, 24), ("W_key", 72, 24), ("v", 24, 1))}
    d["all"] = sum(d.values())
    return d


# ---- 7.3
def _nll(logits, target):
    return -torch.log_softmax(logits, -1).gather(-1, target[..., None])[..., 0]


def translation_loss__wrong_all_positions(logits, target):
    """Divides by the number of all positions, pads included."""
    return (_nll(logits, target) * (target != 0)).mean()


def translation_loss__wrong_pads_count(logits, target):
    """Counts the pads like words."""
    return _nll(logits, target).mean()


def translation_loss__wrong_per_sentence(logits, target):
    """Averages each sentence first and then the sentences, so that words of short ones count more."""
    real = target != 0
    n = real.sum(1)
    return ((_nll(logits, target) * real).sum(1)[n > 0] / n[n > 0]).mean()


def translation_loss__wrong_sum(logits, target):
    """Sums the losses of the words and does not divide."""
    return (_nll(logits, target) * (target != 0)).sum()


def translation_loss__wrong_bits(logits, target):
    """Gives bits instead of nats."""
    return _nll(logits, target)[target != 0].mean() / math.log(2)


def translation_loss__wrong_pad_class_out(logits, target):
    """Leaves the logit of the pad out of the softmax."""
    real = target != 0
    return F.cross_entropy(logits[real][:, 1:], target[real] - 1)


def translation_loss__wrong_softmax_twice(logits, target):
    """Gives probabilities to cross_entropy, which takes a softmax again."""
    return F.cross_entropy(torch.softmax(logits, -1).flatten(0, 1), target.flatten(), ignore_index=0)


def translation_loss__wrong_float32(logits, target):
    """Computes in single precision."""
    return F.cross_entropy(logits.float().flatten(0, 1), target.flatten(), ignore_index=0).double()


def translation_loss__wrong_subtle_no_shift(logits, target):
    """Takes the log of a sum of exps without a shift, which overflows for large logits."""
    real = target != 0
    return (torch.log(torch.exp(logits[real]).sum(-1)) - logits[real].gather(-1, target[real][:, None])[:, 0]).mean()


def translation_loss__wrong_subtle_epsilon(logits, target):
    """Adds 1e-12 inside the log, so that the loss of a very unlikely word stops at 27.6."""
    p = torch.softmax(logits, -1).gather(-1, target[..., None])[..., 0]
    return -torch.log(p + 1e-12)[target != 0].mean()


def translation_loss__wrong_subtle_prefix(logits, target):
    """Takes the pads to stand at the end: counts the real words and reads so many from the front."""
    first = torch.arange(target.shape[1])[None] < (target != 0).sum(1, keepdim=True)
    return _nll(logits, target)[first].mean()


def translation_loss__wrong_subtle_zero_loss(logits, target):
    """Divides by the number of losses that are not 0, so that words with a loss of exactly 0 do not count."""
    loss = _nll(logits, target) * (target != 0)
    return loss.sum() / (loss != 0).sum().clamp(min=1)


def translation_loss__wrong_subtle_detached(logits, target):
    """Detaches the normaliser: the loss is right, its gradient lacks the softmax."""
    real = target != 0
    return (torch.logsumexp(logits[real], -1).detach() - logits[real].gather(-1, target[real][:, None])[:, 0]).mean()


def translation_loss__wrong_subtle_capped(logits, target):
    """Caps the loss of a word at 1000, which legal logits exceed."""
    return _nll(logits, target)[target != 0].clamp(max=1000.0).mean()


def translation_loss__right_cross_entropy(logits, target):
    """Torch's cross_entropy on the transposed logits, with ignore_index."""
    return F.cross_entropy(logits.transpose(1, 2), target, ignore_index=0)


def translation_loss__right_loop(logits, target):
    """Loops over the real words with logsumexp."""
    total, n = 0.0, 0
    for row, words in zip(logits, target.tolist()):
        for z, w in zip(row, words):
            if w:
                total, n = total + torch.logsumexp(z, 0) - z[w], n + 1
    return total / n


def translation_loss__right_one_hot(logits, target):
    """One-hot targets without the pad's column, times log-probabilities by a detached shift."""
    z = logits - logits.detach().amax(-1, keepdim=True)
    logp = z - z.exp().sum(-1, keepdim=True).log()
    hot = F.one_hot(target, logits.shape[-1])[..., 1:].to(logp)
    return -(hot * logp[..., 1:]).sum() / torch.count_nonzero(target)


def translation_loss__right_differences(logits, target):
    """Logsumexp of the differences to the right word's logit, as a tensor of shape ()."""
    d = (logits - torch.gather(logits, 2, target.unsqueeze(2))).logsumexp(2)
    return torch.where(target.ne(0), d, torch.zeros_like(d)).sum().div(target.ne(0).sum())


# ---- 7.4
def _cut(row):
    row = [int(x) for x in row]
    return row[: row.index(2)] if 2 in row else None


def exact_match__wrong_whole_rows(words, target):
    """Compares whole rows, what follows the stop word too."""
    n = max(words.shape[1], target.shape[1])
    p = lambda a: np.pad(a, ((0, 0), (0, n - a.shape[1])))
    return float((p(words) == p(target)).all(1).mean())


def exact_match__wrong_no_stop_needed(words, target):
    """Does not ask for the stop word: the right words at the front are enough."""
    return float(np.mean([list(w[: len(_cut(t))]) == _cut(t) for w, t in zip(words, target)]))


def exact_match__wrong_zeros_dropped(words, target):
    """Drops zeros before the stop word, though they count."""
    return float(np.mean([_cut(w) is not None and [x for x in _cut(w) if x] == _cut(t) for w, t in zip(words, target)]))


def exact_match__wrong_order(words, target):
    """Compares the words as a bag, without their order."""
    return float(np.mean([_cut(w) is not None and Counter(_cut(w)) == Counter(_cut(t)) for w, t in zip(words, target)]))


def exact_match__wrong_count(words, target):
    """Returns how many sentences are right, not divided by the batch."""
    return float(sum(_cut(w) == _cut(t) for w, t in zip(words, target)))


def exact_match__wrong_last_stop(words, target):
    """Cuts at the last stop word instead of the first."""
    f = lambda r: r.tolist()[: len(r) - 1 - r.tolist()[::-1].index(2)] if 2 in r else None
    return float(np.mean([f(w) == f(t) for w, t in zip(words, target)]))


def exact_match__wrong_subtle_shorter(words, target):
    """Compares only the columns that both have, so a row too short for its stop word passes."""
    n = min(words.shape[1], target.shape[1])
    w, t = words[:, :n], target[:, :n]
    return float(((w == t) | (np.cumsum(t == 2, 1) - (t == 2) > 0)).all(1).mean())


def exact_match__wrong_subtle_rounded(words, target):
    """Rounds the fraction to six decimals, as in the example."""
    return round(sum(_cut(w) == _cut(t) for w, t in zip(words, target)) / len(words), 6)


def exact_match__wrong_subtle_hash(words, target):
    """Compares a sum of numbers times places and the length instead of the words: different sentences may agree."""
    h = lambda r: None if _cut(r) is None else (len(_cut(r)), sum((i + 1) * x for i, x in enumerate(_cut(r))))
    return float(np.mean([h(w) == h(t) for w, t in zip(words, target)]))


def exact_match__wrong_subtle_window(words, target):
    """Looks at the first 64 columns only, so a later mistake or missing stop word is not seen."""
    w, t = words[:, :64], target[:, :64]
    return float(np.mean([_cut(a) == _cut(b) if 2 in b else list(a) == list(b) for a, b in zip(w, t)]))


def exact_match__wrong_subtle_thousand(words, target):
    """Measures the first 1000 sentences only."""
    return float(np.mean([_cut(w) == _cut(t) for w, t in zip(words[:1000], target[:1000])]))


def exact_match__wrong_subtle_stop_added(words, target):
    """Adds a stop word at the end of a row without one, so that a right row cut off before its stop passes."""
    w = np.hstack([words, np.full((len(words), 1), 2)])
    return float(np.mean([_cut(a) == _cut(b) for a, b in zip(w, target)]))


def exact_match__right_lists(words, target):
    """Lists up to the first stop word, by a loop with the stop in it."""
    def until(row):
        out = []
        for x in row.tolist():
            out.append(x)
            if x == 2:
                return out
        return out + [None]
    return sum(until(w) == until(t) for w, t in zip(words, target)) / len(target)


def exact_match__right_padded(words, target):
    """Pads both with -1, and asks that all columns up to the target's stop agree; a numpy scalar."""
    n = max(words.shape[1], target.shape[1])
    p = lambda a: np.concatenate([a, np.full((len(a), n - a.shape[1]), -1)], 1)
    w, t = p(words), p(target)
    matter = np.arange(n) <= (t == 2).argmax(1)[:, None]
    return ((w == t) | ~matter).all(axis=1).mean()


def exact_match__right_torch(words, target):
    """Torch: counts the places that agree up to the target's stop; a tensor of shape ()."""
    w, t = torch.as_tensor(words), torch.as_tensor(target)
    n = min(w.shape[1], t.shape[1])
    length = (t == 2).int().argmax(1) + 1
    same = ((w[:, :n] == t[:, :n]) & (torch.arange(n) < length[:, None])).sum(1)
    return (same == length).double().mean()


def exact_match__right_strings(words, target):
    """Joins the numbers with spaces and compares the texts with their stop word."""
    ok = []
    for w, t in zip(words, target):
        right = " ".join(map(str, t[: list(t).index(2) + 1])) + " "
        ok.append((" ".join(map(str, w)) + " ").startswith(right))
    return np.array(ok).mean()


# ---- 7.5
def _hits(weights, positions, top=None, taken=None):
    top = weights.argmax(-1) if top is None else top
    taken = weights.any(-1) if taken is None else taken
    n = min(weights.shape[1], positions.shape[1])
    p = positions[:, :n]
    return ((top[:, :n] == p) & (p >= 0) & taken[:, :n]).sum()


def noun_alignment__wrong_all_words(weights, positions):
    """Divides by all target words instead of the nouns."""
    return float(_hits(weights, positions) / positions.size)


def noun_alignment__wrong_skip_untaken(weights, positions):
    """Leaves nouns at steps that were not taken out of the count instead of counting them as missed."""
    n = min(weights.shape[1], positions.shape[1])
    return float(_hits(weights, positions) / max(1, ((positions[:, :n] >= 0) & weights[:, :n].any(-1)).sum()))


def noun_alignment__wrong_zero_rows_hit(weights, positions):
    """Counts a row of zeros as a hit where the noun's position is 0, which argmax gives."""
    return float(_hits(weights, positions, taken=np.ones(weights.shape[:2], bool)) / (positions >= 0).sum())


def noun_alignment__wrong_position_zero(weights, positions):
    """Takes positions above 0 for nouns only, and loses those at the first source word."""
    return float(_hits(weights, np.where(positions > 0, positions, -1)) / max(1, (positions > 0).sum()))


def noun_alignment__wrong_per_sentence(weights, positions):
    """Averages over the sentences instead of over all nouns."""
    r = [_hits(weights[b:b + 1], positions[b:b + 1]) / (positions[b] >= 0).sum() for b in range(len(positions)) if (positions[b] >= 0).any()]
    return float(np.mean(r))


def noun_alignment__wrong_mean_weight(weights, positions):
    """Averages the weights on the nouns' positions instead of asking whether they are largest."""
    b, t = np.nonzero(positions >= 0)
    k = t < weights.shape[1]
    return float(weights[b[k], t[k], positions[b[k], t[k]]].sum() / len(b))


def noun_alignment__wrong_last_counts(weights, positions):
    """Reads -1 as the last source position and counts words that are no nouns."""
    n = min(weights.shape[1], positions.shape[1])
    p = positions[:, :n] % weights.shape[2]
    return float(((weights[:, :n].argmax(-1) == p) & weights[:, :n].any(-1)).sum() / (positions >= 0).sum())


def noun_alignment__wrong_subtle_float32(weights, positions):
    """Compares the weights in single precision, where two close ones are a tie."""
    return float(_hits(weights, positions, weights.astype(np.float32).argmax(-1)) / (positions >= 0).sum())


def noun_alignment__wrong_subtle_close(weights, positions):
    """Counts a weight within np.isclose of the largest as the largest."""
    n = min(weights.shape[1], positions.shape[1])
    p, w = positions[:, :n], weights[:, :n]
    mine = np.take_along_axis(w, np.maximum(p, 0)[..., None], -1)[..., 0]
    return float((np.isclose(mine, w.max(-1)) & (p >= 0) & w.any(-1)).sum() / (positions >= 0).sum())


def noun_alignment__wrong_subtle_int8(weights, positions):
    """Stores the places as int8, which turns those above 127 negative."""
    return float(_hits(weights, positions, weights.argmax(-1).astype(np.int8)) / (positions >= 0).sum())


def noun_alignment__wrong_subtle_all_positive(weights, positions):
    """Takes a step as taken only if all its weights are above 0, though some may be exactly 0."""
    return float(_hits(weights, positions, taken=(weights > 0).all(-1)) / (positions >= 0).sum())


def noun_alignment__wrong_subtle_last_step(weights, positions):
    """Reads the last step again for nouns beyond the steps taken."""
    t = np.minimum(np.arange(positions.shape[1]), weights.shape[1] - 1)
    return float(_hits(weights[:, t], positions) / (positions >= 0).sum())


def noun_alignment__right_loop(weights, positions):
    """Loops over the nouns."""
    hits = nouns = 0
    for w, p in zip(weights, positions):
        for t, j in enumerate(p.tolist()):
            if j >= 0:
                nouns += 1
                hits += t < len(w) and bool(w[t, j] > 0) and bool(w[t, j] == max(w[t]))
    return hits / nouns


def noun_alignment__right_padded(weights, positions):
    """Pads the steps with zeros and gives untaken ones the place -2; a numpy scalar."""
    w = np.pad(weights, ((0, 0), (0, max(0, positions.shape[1] - weights.shape[1])), (0, 0)))[:, : positions.shape[1]]
    top = np.where(w.sum(-1) > 0, w.argmax(-1), -2)
    return (top == positions)[positions != -1].mean()


def noun_alignment__right_extra_column(weights, positions):
    """Adds a column in front that is largest only for rows of zeros, and shifts the places by one."""
    top = np.concatenate([np.full((*weights.shape[:2], 1), 1e-9 / 2), weights], -1).argmax(-1) - 1
    b, t = np.nonzero(positions >= 0)
    k = t < weights.shape[1]
    return int((top[b[k], t[k]] == positions[b[k], t[k]]).sum()) / len(b)


def noun_alignment__right_torch(weights, positions):
    """Torch's max, with counts by sums; a tensor of shape ()."""
    w, p = torch.as_tensor(weights), torch.as_tensor(positions)
    n = min(w.shape[1], p.shape[1])
    most, top = w[:, :n].max(-1)
    return ((top == p[:, :n]) & (most > 0)).sum().double() / (p > -1).sum()
