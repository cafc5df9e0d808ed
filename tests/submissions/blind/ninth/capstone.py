
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




















def exact_match__wrong_subtle_window(words, target):
    """Looks at the first 64 columns only, so a later mistake or missing stop word is not seen."""
    w, t = words[:, :64], target[:, :64]
    return float(np.mean([_cut(a) == _cut(b) if 2 in b else list(a) == list(b) for a, b in zip(w, t)]))


def exact_match__wrong_subtle_thousand(words, target):
    """Measures the first 1000 sentences only."""
    return float(np.mean([_cut(w) == _cut(t) for w, t in zip(words[:1000], target[:1000])]))




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
















def noun_alignment__wrong_last_counts(weights, positions):
    """Reads -1 as the last source position and counts words that are no nouns."""
    n = min(weights.shape[1], positions.shape[1])
    p = positions[:, :n] % weights.shape[2]
    return float(((weights[:, :n].argmax(-1) == p) & weights[:, :n].any(-1)).sum() / (positions >= 0).sum())












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
