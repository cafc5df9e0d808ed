"""Answers to the exercises of capstone.ipynb, right and wrong. PAD, START and STOP of the notebook are written as numbers."""
import itertools
import math

import numpy as np
import torch
from torch.nn import functional as F


# ---------------------------------------------------------------- 7.1
def _shapes(target_in, contexts, heat_maps, predictions):
    return {"target_in": target_in, "contexts": contexts, "heat_maps": heat_maps, "predictions": predictions}




def training_shapes__wrong_one_context(batch, T_x, T_y, m, V_y):
    """Gives one context for a sentence instead of one for each step."""
    return _shapes((batch, T_y), (batch, m), (batch, T_y, T_x), (batch, T_y, V_y))






def training_shapes__wrong_reads_source(batch, T_x, T_y, m, V_y):
    """Lets the decoder read the source words."""
    return _shapes((batch, T_x), (batch, T_y, m), (batch, T_y, T_x), (batch, T_y, V_y))






def training_shapes__wrong_steps_first(batch, T_x, T_y, m, V_y):
    """Puts the steps before the batch."""
    return _shapes((T_y, batch), (T_y, batch, m), (T_y, batch, T_x), (T_y, batch, V_y))


def training_shapes__wrong_subtle_longer_first(batch, T_x, T_y, m, V_y):
    """Puts the longer of both sentences first in the heat maps, which is turned where the source is longer."""
    return _shapes((batch, T_y), (batch, T_y, m), (batch, max(T_x, T_y), min(T_x, T_y)), (batch, T_y, V_y))


def training_shapes__wrong_subtle_single_step(batch, T_x, T_y, m, V_y):
    """Drops the axis of steps from the contexts where there is one step only."""
    return _shapes((batch, T_y), (batch, T_y, m) if T_y > 1 else (batch, m), (batch, T_y, T_x), (batch, T_y, V_y))


def training_shapes__right_built_up(batch, T_x, T_y, m, V_y):
    """Right: adds one last axis to the shape of the words."""
    words = (batch, T_y)
    return dict(zip(("target_in", "contexts", "heat_maps", "predictions"), [words + x for x in ((), (m,), (T_x,), (V_y,))]))


def training_shapes__right_from_einsum(batch, T_x, T_y, m, V_y):
    """Right: computes with meta tensors and reads torch.Size off."""
    words = torch.empty(batch, T_y, device="meta")
    maps = torch.empty(batch, T_y, T_x, device="meta")
    contexts = maps @ torch.empty(batch, T_x, m, device="meta")
    return _shapes(words.shape, contexts.shape, maps.shape, (contexts @ torch.empty(m, V_y, device="meta")).shape)














def count_parameters__right_modules():
    """Right: counts the parameters of linear layers without bias."""
    layers = {"W_query": (40, 24), "W_key": (2 * 36, 24), "v": (24, 1)}
    counts = {k: torch.nn.Linear(*s, bias=False).weight.numel() for k, s in layers.items()}
    return {**counts, "all": sum(counts.values())}


def count_parameters__right_numpy_integers():
    """Right: products by numpy, as numpy integers."""
    c = np.prod([(24, 40), (24, 72), (24, 1)], axis=1)
    return dict(W_query=c[0], W_key=c[1], v=c[2], all=c.sum())


# ---------------------------------------------------------------- 7.3
def _nll(logits, target):
    return -torch.log_softmax(logits, -1).gather(-1, target[..., None])[..., 0]








def translation_loss__wrong_sum(logits, target):
    """Sums over the real words and does not divide."""
    return _nll(logits, target)[target != 0].sum()


def translation_loss__wrong_sign(logits, target):
    """Forgets the minus."""
    return -_nll(logits, target)[target != 0].mean()


def translation_loss__wrong_bits(logits, target):
    """Measures in bits instead of nats."""
    return _nll(logits, target)[target != 0].mean() / math.log(2)




def translation_loss__wrong_softmax_over_steps(logits, target):
    """Takes the softmax over the steps instead of over the words."""
    l = torch.log_softmax(logits, 1).gather(-1, target[..., None])[..., 0]
    return -l[target != 0].mean()




def translation_loss__wrong_softmax_twice(logits, target):
    """Gives probabilities to cross_entropy, which takes their softmax once more."""
    return F.cross_entropy(logits.softmax(-1).flatten(0, 1), target.flatten(), ignore_index=0)


def translation_loss__wrong_per_word(logits, target):
    """Returns one loss for each real word instead of their mean."""
    return _nll(logits, target)[target != 0]




def translation_loss__wrong_subtle_stops_at_pad(logits, target):
    """Stops at the first pad of a row, so real words behind it are lost."""
    real = (target != 0).long().cumprod(1).bool()
    if not real.any():
        real = target != 0
    return _nll(logits, target)[real].mean()








def translation_loss__wrong_subtle_clamped(logits, target):
    """Clamps the logits to 1000, though larger ones are legal."""
    return _nll(logits.clamp(-1000, 1000), target)[target != 0].mean()


def translation_loss__wrong_subtle_single_precision(logits, target):
    """Computes in single precision and turns the result back."""
    return F.cross_entropy(logits.float().flatten(0, 1), target.flatten(), ignore_index=0).double()




def translation_loss__wrong_subtle_rows_without_words(logits, target):
    """Counts a row without real words as one word in the denominator."""
    real = target != 0
    return _nll(logits, target)[real].sum() / real.sum(1).clamp(min=1).sum()


def translation_loss__right_ignore_index(logits, target):
    """Right: torch's cross_entropy with ignore_index."""
    return F.cross_entropy(logits.transpose(1, 2), target, ignore_index=0)


def translation_loss__right_real_words_only(logits, target):
    """Right: picks the real words first, logsumexp minus the word's own logit."""
    real = target > 0
    z, w = logits[real], target[real]
    return (torch.logsumexp(z, 1) - z[torch.arange(len(w)), w]).mean()


def translation_loss__right_loop(logits, target):
    """Right: a loop over the real words, in plain words of the formula."""
    losses = []
    for b, i in itertools.product(*map(range, target.shape)):
        if target[b, i]:
            e = logits[b, i] - logits[b, i].max().detach()
            losses.append(e.exp().sum().log() - e[target[b, i]])
    return torch.stack(losses).sum() / len(losses)


def translation_loss__right_weighted_einsum(logits, target):
    """Right: one-hot vectors with the pad's column set to 0, and einsum."""
    hot = F.one_hot(target, logits.shape[-1]).double()
    hot[..., 0] = 0
    return -torch.einsum("btv,btv->", hot, F.log_softmax(logits, dim=-1)) / hot.sum()


def translation_loss__right_class_weights(logits, target):
    """Right: nll_loss with weight 0 for the pad and 1 for every other word."""
    weight = torch.ones(logits.shape[2], dtype=logits.dtype)
    weight[0] = 0
    return F.nll_loss(logits.log_softmax(2).view(-1, logits.shape[2]), target.reshape(-1), weight=weight)


# ---------------------------------------------------------------- 7.4
def _cut(row, with_stop=True):
    row = [int(w) for w in row]
    return row[: row.index(2) + with_stop] if 2 in row else None














def exact_match__wrong_length_only(words, target):
    """Compares only where the stop words stand."""
    return float(np.mean([len(_cut(w) or []) == len(_cut(t)) for w, t in zip(words, target)]))










def exact_match__wrong_subtle_bytes(words, target):
    """Compares bytes, so numbers that differ by 256 look alike."""
    cut = lambda r: np.array(_cut(r)).astype(np.uint8).tolist() if 2 in r else None
    return float(np.mean([cut(w) == cut(t) for w, t in zip(words, target)]))




def exact_match__right_lists(words, target):
    """Right: cuts both rows behind the first stop word and compares lists."""
    right = [_cut(w) == _cut(t) for w, t in zip(words, target)]
    return sum(right) / len(right)


def exact_match__right_prefix(words, target):
    """Right: the written row must begin with the target up to its stop word (which holds no earlier stop word)."""
    good = 0
    for w, t in zip(words.tolist(), target.tolist()):
        n = t.index(2) + 1
        good += w[:n] == t[:n]
    return np.float64(good) / len(words)


def exact_match__right_masked_compare(words, target):
    """Right: fills to equal width with -1 and compares where the target is real, all by arrays."""
    extra = max(0, target.shape[1] - words.shape[1])
    w = np.pad(words, ((0, 0), (0, extra)), constant_values=-1)[:, : target.shape[1]]
    return np.mean(np.all((w == target) | (target == 0), axis=1))


def exact_match__right_torch(words, target):
    """Right: zeroes what follows the first stop word by cumsum, in torch, and returns a tensor."""
    w, t = torch.as_tensor(words), torch.as_tensor(target)
    stopped = (w == 2).any(1)
    w = torch.where((w == 2).cumsum(1) - (w == 2).long() > 0, torch.zeros_like(w), w)
    n = max(w.shape[1], t.shape[1])
    w, t = F.pad(w, (0, n - w.shape[1])), F.pad(t, (0, n - t.shape[1]))
    return ((w == t).all(1) & stopped).double().mean()


# ---------------------------------------------------------------- 7.5
def _hits(weights, positions, best=None):
    """List of hits of all nouns; steps not taken miss."""
    best = weights.argmax(-1) if best is None else best
    out = []
    for b, i in np.argwhere(positions >= 0):
        out.append(bool(i < weights.shape[1] and weights[b, i].any() and best[b, i] == positions[b, i]))
    return out














def noun_alignment__wrong_count(weights, positions):
    """Returns the number of hits instead of the fraction."""
    return float(sum(_hits(weights, positions)))




def noun_alignment__wrong_counted_from_one(weights, positions):
    """Counts source positions from 1."""
    return float(np.mean(_hits(weights, positions, weights.argmax(-1) + 1)))


















def noun_alignment__right_loop(weights, positions):
    """Right: a loop over nouns."""
    hit = nouns = 0
    for row, places in zip(weights, positions):
        for i, place in enumerate(places):
            if place >= 0:
                nouns += 1
                if i < len(row) and row[i].max() > 0:
                    hit += row[i].argmax() == place
    return hit / nouns


def noun_alignment__right_padded_arrays(weights, positions):
    """Right: fills missing steps with zeros, gives rows of zeros the place -2, all by arrays."""
    lack = max(0, positions.shape[1] - weights.shape[1])
    w = np.pad(weights, ((0, 0), (0, lack), (0, 0)))[:, : positions.shape[1]]
    best = np.where(w.sum(-1) > 0.5, w.argmax(-1), -2)
    return (best == positions).sum() / (positions != -1).sum()


def noun_alignment__right_torch(weights, positions):
    """Right: torch, by the sorted order of each row, result a tensor of no axes."""
    w, p = torch.as_tensor(weights), torch.as_tensor(positions)
    n = min(w.shape[1], p.shape[1])
    best = w.argsort(-1, descending=True)[..., 0]
    best[w.amax(-1) == 0] = -7
    return (best[:, :n] == p[:, :n]).sum(dtype=torch.float64) / p.ge(0).sum()


def noun_alignment__right_pure_python(weights, positions):
    """Right: plain lists, max and index."""
    W = weights.tolist()
    found = [W[b][i].index(max(W[b][i])) == q if i < len(W[b]) and max(W[b][i]) else False
             for b, row in enumerate(positions.tolist()) for i, q in enumerate(row) if q != -1]
    return found.count(True) / len(found)
