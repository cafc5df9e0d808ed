"""Answers to the exercises of capstone.ipynb, right and wrong. PAD, START and STOP of the notebook are written as numbers."""
import itertools
import math

import numpy as np
import torch
from torch.nn import functional as F


# ---------------------------------------------------------------- 7.1
def _shapes(target_in, contexts, heat_maps, predictions):
    return {"target_in": target_in, "contexts": contexts, "heat_maps": heat_maps, "predictions": predictions}


def training_shapes__wrong_one_hot_words(batch, T_x, T_y, m, V_y):
    """Gives the words read as one-hot vectors instead of numbers."""
    return _shapes((batch, T_y, V_y), (batch, T_y, m), (batch, T_y, T_x), (batch, T_y, V_y))


def training_shapes__wrong_one_context(batch, T_x, T_y, m, V_y):
    """Gives one context for a sentence instead of one for each step."""
    return _shapes((batch, T_y), (batch, m), (batch, T_y, T_x), (batch, T_y, V_y))


def training_shapes__wrong_context_per_word(batch, T_x, T_y, m, V_y):
    """Gives one context for each source word instead of for each step."""
    return _shapes((batch, T_y), (batch, T_x, m), (batch, T_y, T_x), (batch, T_y, V_y))


def training_shapes__wrong_maps_turned(batch, T_x, T_y, m, V_y):
    """Turns the heat maps, source positions before steps."""
    return _shapes((batch, T_y), (batch, T_y, m), (batch, T_x, T_y), (batch, T_y, V_y))


def training_shapes__wrong_reads_source(batch, T_x, T_y, m, V_y):
    """Lets the decoder read the source words."""
    return _shapes((batch, T_x), (batch, T_y, m), (batch, T_y, T_x), (batch, T_y, V_y))


def training_shapes__wrong_start_added(batch, T_x, T_y, m, V_y):
    """Counts the start token on top, though with it in front and without the stop word there are as many."""
    return _shapes((batch, T_y + 1), (batch, T_y, m), (batch, T_y, T_x), (batch, T_y, V_y))


def training_shapes__wrong_word_numbers(batch, T_x, T_y, m, V_y):
    """Gives one predicted word number for each step instead of a distribution."""
    return _shapes((batch, T_y), (batch, T_y, m), (batch, T_y, T_x), (batch, T_y))


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


# ---------------------------------------------------------------- 7.2
def count_parameters__wrong_one_direction():
    """Forgets that an annotation joins both directions."""
    return {"W_query": 960, "W_key": 36 * 24, "v": 24, "all": 960 + 36 * 24 + 24}


def count_parameters__wrong_square_query():
    """Takes W_query for a square of the decoder state."""
    return {"W_query": 1600, "W_key": 1728, "v": 24, "all": 1600 + 1728 + 24}


def count_parameters__wrong_with_biases():
    """Counts a bias for each of the two matrices."""
    return {"W_query": 984, "W_key": 1752, "v": 24, "all": 984 + 1752 + 24}


def count_parameters__wrong_v_forgotten_in_sum():
    """Leaves v out of the sum."""
    return {"W_query": 960, "W_key": 1728, "v": 24, "all": 960 + 1728}


def count_parameters__wrong_swapped():
    """Swaps the sizes of state and annotation."""
    return {"W_query": 72 * 24, "W_key": 40 * 24, "v": 24, "all": 72 * 24 + 40 * 24 + 24}


def count_parameters__wrong_subtle_v_one():
    """Takes v for a single number, which changes two of the counts only."""
    return {"W_query": 960, "W_key": 1728, "v": 1, "all": 960 + 1728 + 1}


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


def translation_loss__wrong_pads_count(logits, target):
    """Averages over all positions, pads too."""
    return _nll(logits, target).mean()


def translation_loss__wrong_divides_by_all(logits, target):
    """Leaves pads out of the sum but divides by the number of all positions."""
    return (_nll(logits, target) * (target != 0)).mean()


def translation_loss__wrong_mean_of_sentences(logits, target):
    """Averages within each sentence first and then over the sentences, so words of short ones count more."""
    real = (target != 0).double()
    rows = (_nll(logits, target) * real).sum(1) / real.sum(1).clamp(min=1)
    return rows[real.sum(1) > 0].mean()


def translation_loss__wrong_sum(logits, target):
    """Sums over the real words and does not divide."""
    return _nll(logits, target)[target != 0].sum()


def translation_loss__wrong_sign(logits, target):
    """Forgets the minus."""
    return -_nll(logits, target)[target != 0].mean()


def translation_loss__wrong_bits(logits, target):
    """Measures in bits instead of nats."""
    return _nll(logits, target)[target != 0].mean() / math.log(2)


def translation_loss__wrong_log_of_softmax(logits, target):
    """Takes the logarithm of a softmax, which is infinite where the right word's weight underflows."""
    p = torch.softmax(logits, -1).gather(-1, target[..., None])[..., 0]
    return -p[target != 0].log().mean()


def translation_loss__wrong_softmax_over_steps(logits, target):
    """Takes the softmax over the steps instead of over the words."""
    l = torch.log_softmax(logits, 1).gather(-1, target[..., None])[..., 0]
    return -l[target != 0].mean()


def translation_loss__wrong_viewed_classes(logits, target):
    """Brings the words to the second axis by view instead of transpose, which scrambles the logits."""
    b, t, v = logits.shape
    return F.cross_entropy(logits.reshape(b, v, t), target, ignore_index=0)


def translation_loss__wrong_softmax_twice(logits, target):
    """Gives probabilities to cross_entropy, which takes their softmax once more."""
    return F.cross_entropy(logits.softmax(-1).flatten(0, 1), target.flatten(), ignore_index=0)


def translation_loss__wrong_per_word(logits, target):
    """Returns one loss for each real word instead of their mean."""
    return _nll(logits, target)[target != 0]


def translation_loss__wrong_item(logits, target):
    """Returns a new tensor made from a plain number, so no gradient arrives."""
    return torch.tensor(_nll(logits, target)[target != 0].mean().item(), dtype=torch.float64)


def translation_loss__wrong_subtle_stops_at_pad(logits, target):
    """Stops at the first pad of a row, so real words behind it are lost."""
    real = (target != 0).long().cumprod(1).bool()
    if not real.any():
        real = target != 0
    return _nll(logits, target)[real].mean()


def translation_loss__wrong_subtle_pad_class(logits, target):
    """Leaves the pad out of the words that may be chosen, so its logit has no share in the softmax."""
    l = torch.log_softmax(logits[..., 1:], -1).gather(-1, (target - 1).clamp(min=0)[..., None])[..., 0]
    return -l[target != 0].mean()


def translation_loss__wrong_subtle_one_max(logits, target):
    """Subtracts the largest logit of the whole batch, so words far below it underflow."""
    z = logits - logits.max()
    l = z.gather(-1, target[..., None])[..., 0] - z.exp().sum(-1).log()
    return -l[target != 0].mean()


def translation_loss__wrong_subtle_detached_total(logits, target):
    """Detaches the logarithm of the total, so the value is right and half of the gradient is missing."""
    own = logits.gather(-1, target[..., None])[..., 0]
    return (logits.logsumexp(-1).detach() - own)[target != 0].mean()


def translation_loss__wrong_subtle_clamped(logits, target):
    """Clamps the logits to 1000, though larger ones are legal."""
    return _nll(logits.clamp(-1000, 1000), target)[target != 0].mean()


def translation_loss__wrong_subtle_single_precision(logits, target):
    """Computes in single precision and turns the result back."""
    return F.cross_entropy(logits.float().flatten(0, 1), target.flatten(), ignore_index=0).double()


def translation_loss__wrong_subtle_unshifted(logits, target):
    """Computes unshifted exponentials, so large logits overflow, and very low ones give the logarithm of 0."""
    l = logits.gather(-1, target[..., None])[..., 0] - logits.exp().sum(-1).log()
    return -l[target != 0].mean()


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


def exact_match__wrong_whole_rows(words, target):
    """Compares whole rows, with what was written after the stop word."""
    n = max(words.shape[1], target.shape[1])
    w, t = (np.pad(x, ((0, 0), (0, n - x.shape[1]))) for x in (words, target))
    return float((w == t).all(1).mean())


def exact_match__wrong_share_of_words(words, target):
    """Measures the share of right words instead of that of right sentences."""
    n = min(words.shape[1], target.shape[1])
    real = target[:, :n] != 0
    return float((words[:, :n] == target[:, :n])[real].mean())


def exact_match__wrong_common_columns(words, target):
    """Compares only the columns that both arrays have, so what is missing at the end counts as right."""
    n = min(words.shape[1], target.shape[1])
    w, t = words[:, :n], target[:, :n]
    return float(((w == t) | (t == 0)).all(1).mean())


def exact_match__wrong_number_of_sentences(words, target):
    """Returns the number of right sentences instead of their fraction."""
    return float(sum(_cut(w) == _cut(t) for w, t in zip(words, target)))


def exact_match__wrong_any_order(words, target):
    """Compares the words as sets, in whatever order."""
    return float(np.mean([set(_cut(w) or []) == set(_cut(t)) for w, t in zip(words, target)]))


def exact_match__wrong_zeros_skipped(words, target):
    """Takes out all zeros first, so a pad written among the words does not count."""
    return float(np.mean([_cut(w[w != 0]) == _cut(t) for w, t in zip(words, target)]))


def exact_match__wrong_length_only(words, target):
    """Compares only where the stop words stand."""
    return float(np.mean([len(_cut(w) or []) == len(_cut(t)) for w, t in zip(words, target)]))


def exact_match__wrong_last_stop(words, target):
    """Cuts at the last stop word instead of the first."""
    keep = lambda r: r[: np.flatnonzero(r == 2)[-1] + 1].tolist() if 2 in r else None
    return float(np.mean([keep(w) == keep(t) for w, t in zip(words, target)]))


def exact_match__wrong_subtle_no_stop_needed(words, target):
    """Does not ask for the stop word: a row that has the right words and simply ends counts as right."""
    cut = lambda r: _cut(r, False) if 2 in r else list(r)
    return float(np.mean([cut(w) == cut(t) for w, t in zip(words, target)]))


def exact_match__wrong_subtle_zero_ends_too(words, target):
    """Lets the first 0 end a sentence like a stop word does."""
    def cut(r):
        ends = np.flatnonzero((r == 0) | (r == 2))
        return r[: ends[0]].tolist() if len(ends) else None
    return float(np.mean([cut(w) == cut(t) for w, t in zip(words, target)]))


def exact_match__wrong_subtle_joined_digits(words, target):
    """Joins the numbers to one string without blanks, so 1, 2 and 12 look alike."""
    text = lambda r: "".join(map(str, _cut(r, False))) + "." if 2 in r else None
    return float(np.mean([text(w) == text(t) for w, t in zip(words, target)]))


def exact_match__wrong_subtle_bytes(words, target):
    """Compares bytes, so numbers that differ by 256 look alike."""
    cut = lambda r: np.array(_cut(r)).astype(np.uint8).tolist() if 2 in r else None
    return float(np.mean([cut(w) == cut(t) for w, t in zip(words, target)]))


def exact_match__wrong_subtle_padded_with_stop(words, target):
    """Fills short rows up with stop words, so a row that ends without one counts as right where the target is longer."""
    if words.shape[1] < target.shape[1]:
        words = np.pad(words, ((0, 0), (0, target.shape[1] - words.shape[1])), constant_values=2)
    return float(np.mean([_cut(w) == _cut(t) for w, t in zip(words, target)]))


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


def _common(weights, positions):
    n = min(weights.shape[1], positions.shape[1])
    return weights[:, :n], positions[:, :n]


def noun_alignment__wrong_all_words(weights, positions):
    """Divides by the number of all target words instead of that of the nouns."""
    return sum(_hits(weights, positions)) / positions.size


def noun_alignment__wrong_missing_steps_ignored(weights, positions):
    """Leaves nouns at steps that were not taken out of the count instead of counting them as missed."""
    w, p = _common(weights, positions)
    taken = (p >= 0) & w.any(-1)
    return float((w.argmax(-1) == p)[taken].mean()) if taken.any() else 0.0


def noun_alignment__wrong_cut_columns(weights, positions):
    """Cuts both arrays to the columns they share, so nouns behind the last step are not counted as missed."""
    w, p = _common(weights, positions)
    h = _hits(w, p)
    return float(np.mean(h)) if h else 0.0


def noun_alignment__wrong_zero_rows_hit(weights, positions):
    """Takes the largest weight of a row of zeros to lie on position 0, so nouns there count as hit."""
    w, p = _common(weights, positions)
    return float((w.argmax(-1) == p).sum() / (positions >= 0).sum())


def noun_alignment__wrong_mean_of_sentences(weights, positions):
    """Averages within each sentence first, so nouns of short sentences count more."""
    rows = [np.mean(_hits(w[None], p[None])) for w, p in zip(weights, positions) if (p >= 0).any()]
    return float(np.mean(rows))


def noun_alignment__wrong_count(weights, positions):
    """Returns the number of hits instead of the fraction."""
    return float(sum(_hits(weights, positions)))


def noun_alignment__wrong_over_steps(weights, positions):
    """Looks for the step with the largest weight on each source word instead of the other way round."""
    best = weights.argmax(1)
    h = [bool(best[b, positions[b, i]] == i) for b, i in np.argwhere(positions >= 0)]
    return float(np.mean(h))


def noun_alignment__wrong_counted_from_one(weights, positions):
    """Counts source positions from 1."""
    return float(np.mean(_hits(weights, positions, weights.argmax(-1) + 1)))


def noun_alignment__wrong_mass(weights, positions):
    """Averages the weight on the right position instead of asking whether it is the largest."""
    m = [weights[b, i, positions[b, i]] if i < weights.shape[1] else 0 for b, i in np.argwhere(positions >= 0)]
    return float(np.mean(m))


def noun_alignment__wrong_position_zero_no_noun(weights, positions):
    """Takes only positions above 0 for nouns and overlooks those at position 0."""
    p = np.where(positions > 0, positions, -1)
    h = _hits(weights, p)
    return float(np.mean(h)) if h else 0.0


def noun_alignment__wrong_subtle_more_than_half(weights, positions):
    """Asks for a weight above one half, though the largest may be smaller."""
    h = [bool(i < weights.shape[1] and weights[b, i, positions[b, i]] > 0.5) for b, i in np.argwhere(positions >= 0)]
    return float(np.mean(h))


def noun_alignment__wrong_subtle_single_precision(weights, positions):
    """Compares weights in single precision, where the two largest may fall together."""
    return float(np.mean(_hits(weights, positions, weights.astype(np.float32).argmax(-1))))


def noun_alignment__wrong_subtle_isclose(weights, positions):
    """Counts a weight as the largest if np.isclose to it, so a close second is hit too."""
    h = [bool(i < weights.shape[1] and weights[b, i].any() and np.isclose(weights[b, i, positions[b, i]], weights[b, i].max()))
         for b, i in np.argwhere(positions >= 0)]
    return float(np.mean(h))


def noun_alignment__wrong_subtle_any_zero(weights, positions):
    """Takes a row with any weight of exactly 0 for a step that was not taken."""
    w = weights * (weights != 0).all(-1, keepdims=True)
    return float(np.mean(_hits(w, positions)))


def noun_alignment__wrong_subtle_sum_exactly_one(weights, positions):
    """Takes only rows whose sum is exactly 1.0 for steps that were taken, though sums of floats may miss it."""
    return float(np.mean(_hits(weights * (weights.sum(-1, keepdims=True) == 1.0), positions)))


def noun_alignment__wrong_subtle_shortest_sentence(weights, positions):
    """Ends all sentences where the first of the batch stopped."""
    w = weights * weights.any(-1).all(0)[None, :, None]
    return float(np.mean(_hits(w, positions)))


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
