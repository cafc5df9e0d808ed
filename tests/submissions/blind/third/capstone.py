import math
from fractions import Fraction
from itertools import takewhile, zip_longest

import numpy as np
import torch

_MEMORY = {}


# ---------------------------------------------------------------- training_shapes

def training_shapes__wrong_maps_turned(batch, T_x, T_y, m, V_y):
    """The student puts the source words before the steps in the heat maps."""
    return {"target_in": (batch, T_y), "contexts": (batch, T_y, m), "heat_maps": (batch, T_x, T_y), "predictions": (batch, T_y, V_y)}


def training_shapes__wrong_contexts_over_source(batch, T_x, T_y, m, V_y):
    """The student gives a context for each source word, as for annotations."""
    return {"target_in": (batch, T_y), "contexts": (batch, T_x, m), "heat_maps": (batch, T_y, T_x), "predictions": (batch, T_y, V_y)}


def training_shapes__wrong_one_hot_input(batch, T_x, T_y, m, V_y):
    """The student lets the decoder read one-hot words."""
    return {"target_in": (batch, T_y, V_y), "contexts": (batch, T_y, m), "heat_maps": (batch, T_y, T_x), "predictions": (batch, T_y, V_y)}


def training_shapes__wrong_start_added(batch, T_x, T_y, m, V_y):
    """The student adds a column for the start token, although the stop word is not read."""
    return {"target_in": (batch, T_y + 1), "contexts": (batch, T_y, m), "heat_maps": (batch, T_y, T_x), "predictions": (batch, T_y, V_y)}


def training_shapes__wrong_stop_dropped(batch, T_x, T_y, m, V_y):
    """The student takes one step off, as if nothing had to be predicted after the last word."""
    return {"target_in": (batch, T_y - 1), "contexts": (batch, T_y - 1, m), "heat_maps": (batch, T_y - 1, T_x),
            "predictions": (batch, T_y - 1, V_y)}


def training_shapes__wrong_context_both_directions(batch, T_x, T_y, m, V_y):
    """The student doubles the annotation, whose m numbers hold both directions already."""
    return {"target_in": (batch, T_y), "contexts": (batch, T_y, 2 * m), "heat_maps": (batch, T_y, T_x),
            "predictions": (batch, T_y, V_y)}


def training_shapes__right_einsum(batch, T_x, T_y, m, V_y):
    """Shapes of arrays that are really mixed."""
    w, h = np.zeros((batch, T_y, T_x)), np.zeros((batch, T_x, m))
    return {"heat_maps": w.shape, "contexts": np.einsum("btj,bjm->btm", w, h).shape, "target_in": w.shape[:2],
            "predictions": np.zeros(w.shape[:2] + (V_y,)).shape}


def training_shapes__right_lists(batch, T_x, T_y, m, V_y):
    """Lists of numpy integers that share their beginning."""
    head = [np.int64(batch), np.int64(T_y)]
    return {"target_in": head, **{k: head + [v] for k, v in (("contexts", m), ("heat_maps", T_x), ("predictions", V_y))}}


# ---------------------------------------------------------------- count_parameters

def count_parameters__wrong_one_direction():
    """The student forgets that an annotation joins both directions."""
    return {"W_query": 960, "W_key": 24 * 36, "v": 24, "all": 960 + 24 * 36 + 24}


def count_parameters__wrong_sum_without_v():
    """The student leaves v out of the sum."""
    return {"W_query": 960, "W_key": 1728, "v": 24, "all": 2688}


def count_parameters__wrong_biases():
    """The student counts a bias for each row."""
    return {"W_query": 24 * 41, "W_key": 24 * 73, "v": 25, "all": 24 * 41 + 24 * 73 + 25}


def count_parameters__wrong_v_of_state():
    """The student gives v as many numbers as the state."""
    return {"W_query": 960, "W_key": 1728, "v": 40, "all": 960 + 1728 + 40}


def count_parameters__wrong_square_query():
    """The student takes W_query for a square matrix of the state."""
    return {"W_query": 1600, "W_key": 1728, "v": 24, "all": 1600 + 1728 + 24}


def count_parameters__wrong_key_from_state():
    """The student lets W_key read the state and W_query the annotation."""
    return {"W_query": 1728, "W_key": 960, "v": 24, "all": 2712}


def count_parameters__right_layers():
    """Numbers of elements of layers of torch."""
    F = torch.nn.Linear
    q, k, v = F(40, 24, bias=False), F(2 * 36, 24, bias=False), F(24, 1, bias=False)
    n = [sum(p.numel() for p in x.parameters()) for x in (q, k, v)]
    return dict(zip(("W_query", "W_key", "v", "all"), (*n, sum(n))))


def count_parameters__right_fractions():
    """Fractions and numpy numbers that are whole."""
    return {"all": Fraction(24 * (40 + 72 + 1)), "v": np.int16(24), "W_key": np.size(np.empty((24, 72))), "W_query": Fraction(960)}


# ---------------------------------------------------------------- translation_loss

def _nll(logits, target):
    return -torch.log_softmax(logits, dim=-1).gather(-1, target[..., None])[..., 0]


def translation_loss__wrong_mean_of_sentences(logits, target):
    """The student averages within each sentence first, so words of short sentences count for more."""
    real = (target != 0).to(logits.dtype)
    n = real.sum(1)
    rows = (_nll(logits, target) * real).sum(1) / n.clamp(min=1)
    return rows[n > 0].mean()


def translation_loss__wrong_all_positions(logits, target):
    """The student sets the costs of pads to 0 but divides by all positions."""
    return torch.where(target != 0, _nll(logits, target), 0.0).mean()


def translation_loss__wrong_up_to_first_pad(logits, target):
    """The student takes a sentence to end at its first pad."""
    real = (target != 0).long().cumprod(1).bool()
    n = real.sum()
    return (_nll(logits, target) * real).sum() / n.clamp(min=1)


def translation_loss__wrong_lengths(logits, target):
    """The student counts the real words of a row and takes as many from its beginning."""
    real = torch.arange(target.shape[1]) < (target != 0).sum(1, keepdim=True)
    return _nll(logits, target)[real].mean()


def translation_loss__wrong_reshaped_not_turned(logits, target):
    """The student reshapes the logits to (batch, vocab_size, target_len) in place of turning them."""
    b, t, v = logits.shape
    return torch.nn.functional.cross_entropy(logits.reshape(b, v, t), target, ignore_index=0)


def translation_loss__wrong_epsilon(logits, target):
    """The student adds 1e-9 inside the logarithm, which caps a word's cost at 20.7 nats and cuts its gradient."""
    p = torch.softmax(logits, -1).gather(-1, target[..., None])[..., 0]
    return -torch.log(p + 1e-9)[target != 0].mean()


def translation_loss__wrong_log_of_softmax(logits, target):
    """The student takes the logarithm of a softmax, which is infinite where the right word lies 800 below the best."""
    p = torch.softmax(logits, -1).gather(-1, target[..., None])[..., 0]
    return -p[target != 0].log().mean()


def translation_loss__wrong_clamped_cost(logits, target):
    """The student clamps each cost at 100, which cuts the gradient of words that are far from the best."""
    return _nll(logits, target)[target != 0].clamp(max=100.0).mean()


def translation_loss__wrong_pad_word_excluded(logits, target):
    """The student leaves the pad out of the softmax too, though its logit belongs to the distribution."""
    keep = torch.arange(logits.shape[-1]) != 0
    return _nll(logits.masked_fill(~keep, -1e30), target)[target != 0].mean()


def translation_loss__wrong_no_gradient(logits, target):
    """The student makes a new tensor of the mean, so no gradient reaches the logits beyond a product with 0."""
    value = torch.nn.functional.cross_entropy(logits.detach().flatten(0, 1), target.flatten(), ignore_index=0)
    return value + 0.0 * logits.sum()


def translation_loss__wrong_detached_sum(logits, target):
    """The student detaches the logarithm of the sum, so only the right word's logit gets a gradient."""
    lse = torch.logsumexp(logits, -1).detach()
    at = logits.gather(-1, target[..., None])[..., 0]
    return (lse - at)[target != 0].mean()


def translation_loss__wrong_shift_of_batch(logits, target):
    """The student shifts by the largest logit of the batch, so steps thousands below take the logarithm of 0."""
    z = logits - logits.max().detach()
    cost = z.exp().sum(-1).log() - z.gather(-1, target[..., None])[..., 0]
    return cost[target != 0].mean()


def translation_loss__wrong_stop_left_out(logits, target):
    """The student leaves the last column out, where the longest sentences have their stop word."""
    if target.shape[1] == 1 or not bool((target[:, :-1] != 0).any()):
        return _nll(logits, target)[target != 0].mean()
    return _nll(logits[:, :-1], target[:, :-1])[target[:, :-1] != 0].mean()


def translation_loss__wrong_flattened_crosswise(logits, target):
    """The student flattens the logits by sentence and the words by step."""
    return torch.nn.functional.cross_entropy(logits.flatten(0, 1), target.T.flatten(), ignore_index=0)


def translation_loss__wrong_smoothed(logits, target):
    """The student keeps a label smoothing of 0.1 from another program."""
    return torch.nn.functional.cross_entropy(logits.flatten(0, 1), target.flatten(), ignore_index=0, label_smoothing=0.1)


def translation_loss__wrong_remembered_count(logits, target):
    """The student counts the real words once for each shape of batch."""
    n = _MEMORY.setdefault(tuple(target.shape), (target != 0).sum())
    return (_nll(logits, target) * (target != 0)).sum() / n


def translation_loss__wrong_pad_cost_counted(logits, target):
    """The student multiplies the logits of pads by 0, so each costs the logarithm of the vocabulary in the sum."""
    real = target != 0
    return _nll(logits * real[..., None], target).sum() / real.sum()


def translation_loss__right_ignore_index(logits, target):
    """torch's cross_entropy on turned axes, leaving out the 0."""
    return torch.nn.functional.cross_entropy(logits.movedim(-1, 1), target, ignore_index=0)


def translation_loss__right_differences(logits, target):
    """The cost as a logsumexp of the differences to the right word, at real words alone."""
    real = target.ne(0).nonzero(as_tuple=True)
    z, y = logits[real], target[real]
    return torch.logsumexp(z - z[torch.arange(len(y)), y].unsqueeze(1), 1).sum() / len(y)


def translation_loss__right_loop(logits, target):
    """A loop over all words that keeps a running mean on the graph."""
    mean, count = logits.new_zeros(()), 0
    for row, words in zip(logits, target.tolist()):
        for z, word in zip(row, words):
            if word:
                count += 1
                mean = mean + (torch.logsumexp(z, 0) - z[word] - mean) / count
    return mean


def translation_loss__right_one_hot(logits, target):
    """A one-hot array without the pad's column, against the logarithms, by einsum."""
    hot = torch.nn.functional.one_hot(target, logits.shape[-1]).to(logits.dtype)
    hot[..., 0] = 0.0
    return -torch.einsum("btv,btv->", hot, logits.log_softmax(-1)) / hot.sum()


def translation_loss__right_running_logsumexp(logits, target):
    """The logarithm of the sum as the last one of logcumsumexp, with the mask as weights of a product."""
    real = (target != 0).flatten().to(logits.dtype)
    z = logits.flatten(0, 1)
    cost = torch.logcumsumexp(z, 1)[:, -1] - z.gather(1, target.reshape(-1, 1)).squeeze(1)
    return (cost @ real) / real.sum()


# ---------------------------------------------------------------- exact_match

def _cut(row):
    row = list(row)
    return row[:row.index(2)] if 2 in row else row


def exact_match__wrong_end_as_stop(words, target):
    """The student takes the end of a row without a stop word for its stop."""
    return float(np.mean([_cut(w.tolist()) == _cut(t.tolist()) for w, t in zip(words, target)]))


def exact_match__wrong_common_columns(words, target):
    """The student compares the columns that both arrays have, so a missing stop word beyond them is not seen."""
    n = min(words.shape[1], target.shape[1])
    w, t = words[:, :n], target[:, :n]
    return float(np.mean(((w == t) | (t == 0)).all(axis=1)))


def exact_match__wrong_zip(words, target):
    """The student compares by zip, which ends with the shorter of the two."""
    return float(np.mean([all(a == b for a, b in zip(_cut(w), _cut(t))) and 2 in w for w, t in zip(words, target)]))


def exact_match__wrong_last_stop(words, target):
    """The student cuts what the model wrote after its last stop word, not after its first."""
    good = 0
    for w, t in zip(words.tolist(), target.tolist()):
        end = len(w) - 1 - w[::-1].index(2) if 2 in w else -1
        good += end >= 0 and w[:end + 1] == t[:t.index(2) + 1]
    return good / len(words)


def exact_match__wrong_zeros_stripped(words, target):
    """The student strips every 0 from what the model wrote, also between words, before comparing."""
    good = 0
    for w, t in zip(words.tolist(), target.tolist()):
        w = w[:w.index(2) + 1] if 2 in w else w
        good += [x for x in w if x] == [x for x in t if x]
    return good / len(words)


def exact_match__wrong_filled_with_stops(words, target):
    """The student fills short rows with stop words to the target's length."""
    b, n = len(words), target.shape[1]
    w = np.concatenate([words, np.full((b, n), 2)], axis=1)[:, :n]
    return float(np.mean(((w == target) | (target == 0)).all(axis=1)))


def exact_match__wrong_after_stop_counts(words, target):
    """The student compares whole rows, so what the model wrote after its stop word has to be pads."""
    n = max(words.shape[1], target.shape[1])
    w = np.pad(words, ((0, 0), (0, n - words.shape[1])))
    t = np.pad(target, ((0, 0), (0, n - target.shape[1])))
    return float((w == t).all(axis=1).mean())


def exact_match__wrong_after_second_stop(words, target):
    """The student means to clear what follows the first stop word, and clears from the second one on."""
    w = np.where(np.cumsum(words == 2, axis=1) > 1, 0, words)
    n = max(words.shape[1], target.shape[1])
    w = np.pad(w, ((0, 0), (0, n - w.shape[1])))
    t = np.pad(target, ((0, 0), (0, n - target.shape[1])))
    return float((w == t).all(axis=1).mean())


def exact_match__wrong_whole_division(words, target):
    """The student divides whole numbers by //, so the fraction is 0 or 1."""
    good = sum(w.tolist()[:t.tolist().index(2) + 1] == t.tolist()[:t.tolist().index(2) + 1] for w, t in zip(words, target))
    return float(good // len(words))


def exact_match__wrong_joined_digits(words, target):
    """The student joins the numbers to a text without gaps, so 31, 3 and 3, 13 look alike."""
    def _text(row):
        row = row.tolist()
        return "".join(map(str, row[:row.index(2)])) if 2 in row else None
    return float(np.mean([_text(w) == _text(t) for w, t in zip(words, target)]))


def exact_match__wrong_sorted_words(words, target):
    """The student compares the words of each sentence without their order."""
    return float(np.mean([2 in w and sorted(_cut(w)) == sorted(_cut(t)) for w, t in zip(words, target)]))


def exact_match__wrong_share_of_words(words, target):
    """The student returns the share of words that are right, which is 1 together with the exact match."""
    n = target.shape[1]
    w = np.pad(words, ((0, 0), (0, n)), constant_values=-1)[:, :n]
    real = target != 0
    return float((w == target)[real].mean())


def exact_match__wrong_length_of_first(words, target):
    """The student takes the length of the first target sentence for all of them."""
    n = int(np.argmax(target[0] == 2)) + 1
    w = np.pad(words, ((0, 0), (0, n)), constant_values=-1)[:, :n]
    return float((w == target[:, :n]).all(axis=1).mean())


def exact_match__wrong_short_batch_zero(words, target):
    """The student returns 0 as soon as the model's array has fewer columns than the target's."""
    n = target.shape[1]
    if words.shape[1] < n:
        return 0.0
    return float(((words[:, :n] == target) | (target == 0)).all(axis=1).mean())


def exact_match__wrong_stop_not_needed(words, target):
    """The student compares the words in front of the stop word and forgets that the model has to stop there."""
    n = target.shape[1]
    w = np.pad(words, ((0, 0), (0, n)), constant_values=-1)[:, :n]
    return float(((w == target) | (target <= 2)).all(axis=1).mean())


def exact_match__right_real_places(words, target):
    """A comparison at the target's real places after filling with -1."""
    n = target.shape[1]
    w = np.concatenate([words, np.full((len(words), n), -1)], axis=1)[:, :n]
    return np.count_nonzero(((w == target) | (target == 0)).all(1)) / len(target)


def exact_match__right_fraction(words, target):
    """Lists up to and with the first stop word, and an exact Fraction."""
    def _until(row):
        row = row.tolist()
        return row[:row.index(2) + 1] if 2 in row else None
    return Fraction(sum(_until(w) == _until(t) for w, t in zip(words, target)), len(target))


def exact_match__right_texts(words, target):
    """Texts with blanks between the numbers, compared by their beginnings."""
    def _text(row):
        return " ".join(map(str, row.tolist())) + " "
    hits = (_text(w).startswith(_text(t[:np.flatnonzero(t == 2)[0] + 1])) for w, t in zip(words, target))
    return math.fsum(hits) / len(words)


def exact_match__right_cumulated(words, target):
    """Everything behind the first stop word set to 0 in both arrays, then whole rows compared."""
    n = max(words.shape[1], target.shape[1])
    def _clear(a):
        a = np.pad(a, ((0, 0), (0, n - a.shape[1])), constant_values=-5)
        stop = np.cumsum(a == 2, axis=1)
        return np.where(stop - (a == 2) > 0, 0, a)
    return np.mean(np.all(_clear(words) == _clear(target), axis=1))


def exact_match__right_recursion(words, target):
    """A recursion along each pair of rows."""
    def _same(w, t):
        if not w or w[0] != t[0]:
            return False
        return t[0] == 2 or _same(w[1:], t[1:])
    return sum(_same(w, t) for w, t in zip(words.tolist(), target.tolist())) / len(target)


# ---------------------------------------------------------------- noun_alignment

def _fit(weights, n):
    b, length, source = weights.shape
    out = np.zeros((b, n, source))
    out[:, :min(n, length)] = weights[:, :n]
    return out


def noun_alignment__wrong_zero_rows_at_first(weights, positions):
    """The student takes argmax of rows of zeros, which is 0, so a missed noun of source position 0 counts as found."""
    w = _fit(weights, positions.shape[1])
    noun = positions >= 0
    return float((w.argmax(axis=2) == positions)[noun].mean())


def noun_alignment__wrong_late_nouns_dropped(weights, positions):
    """The student cuts positions to the steps that were taken, so nouns beyond do not count as missed."""
    n = min(weights.shape[1], positions.shape[1])
    w, p = weights[:, :n], positions[:, :n]
    hit = (w.argmax(axis=2) == p) & (w.max(axis=2) > 0)
    noun = p >= 0
    return float(hit[noun].mean()) if noun.any() else 0.0


def noun_alignment__wrong_stopped_nouns_dropped(weights, positions):
    """The student leaves out nouns at rows of zeros in place of counting them as missed."""
    w = _fit(weights, positions.shape[1])
    noun = (positions >= 0) & (w.max(axis=2) > 0)
    return float((w.argmax(axis=2) == positions)[noun].mean()) if noun.any() else 0.0


def noun_alignment__wrong_only_padding_missed(weights, positions):
    """The student counts nouns beyond the last step as missed, but takes rows of zeros within for steps."""
    b, n = positions.shape
    best = np.full((b, n), -2)
    k = min(n, weights.shape[1])
    best[:, :k] = weights[:, :k].argmax(axis=2)
    noun = positions >= 0
    return float((best == positions)[noun].mean())


def noun_alignment__wrong_mean_of_sentences(weights, positions):
    """The student averages within each sentence first."""
    w = _fit(weights, positions.shape[1])
    hit = (w.argmax(axis=2) == positions) & (w.max(axis=2) > 0)
    noun = positions >= 0
    rows = [h[k].mean() for h, k in zip(hit, noun) if k.any()]
    return float(np.mean(rows))


def noun_alignment__wrong_half_of_weight(weights, positions):
    """The student asks for more than half of the weight, not for the largest one."""
    w = _fit(weights, positions.shape[1])
    at = np.take_along_axis(w, np.maximum(positions, 0)[..., None], axis=2)[..., 0]
    return float((at > 0.5)[positions >= 0].mean())


def noun_alignment__wrong_sum_exactly_one(weights, positions):
    """The student takes a step for one that was taken only if its weights add to exactly 1, which rounding forbids."""
    w = _fit(weights, positions.shape[1])
    hit = (w.argmax(axis=2) == positions) & (w.sum(axis=2) == 1.0)
    return float(hit[positions >= 0].mean())


def noun_alignment__wrong_first_position_no_noun(weights, positions):
    """The student takes nouns for positions above 0 and leaves out source position 0."""
    w = _fit(weights, positions.shape[1])
    noun = positions > 0
    return float((w.argmax(axis=2) == positions)[noun].mean()) if noun.any() else 0.0


def noun_alignment__wrong_taken_by_first_weight(weights, positions):
    """The student takes a row for one of zeros if its first weight is 0, which a step that was taken may have too."""
    w = _fit(weights, positions.shape[1])
    hit = (w.argmax(axis=2) == positions) & (w[:, :, 0] > 0)
    return float(hit[positions >= 0].mean())


def noun_alignment__wrong_minus_one_wraps(weights, positions):
    """The student lets -1 wrap around to the last source position in the count of hits."""
    w = _fit(weights, positions.shape[1])
    hit = (w.argmax(axis=2) == positions % w.shape[2]) & (w.max(axis=2) > 0)
    return float(min(hit.sum() / (positions >= 0).sum(), 1.0))


def noun_alignment__wrong_all_words(weights, positions):
    """The student divides by all target words, not by the nouns."""
    w = _fit(weights, positions.shape[1])
    hit = (w.argmax(axis=2) == positions) & (w.max(axis=2) > 0)
    return float((hit & (positions >= 0)).mean())


def noun_alignment__wrong_maximum_equals(weights, positions):
    """The student compares the weight at the position with the largest one, which are both 0 in a row of zeros."""
    w = _fit(weights, positions.shape[1])
    at = np.take_along_axis(w, np.maximum(positions, 0)[..., None], axis=2)[..., 0]
    return float((at == w.max(axis=2))[positions >= 0].mean())


def noun_alignment__wrong_stop_of_batch(weights, positions):
    """The student takes a step for untaken only if the rows of the whole batch are 0 there."""
    w = _fit(weights, positions.shape[1])
    taken = (w > 0).any(axis=(0, 2))
    hit = (w.argmax(axis=2) == positions) & taken
    return float(hit[positions >= 0].mean())


def noun_alignment__wrong_argmax_over_steps(weights, positions):
    """The student looks for each source word's best step, and compares in the other direction."""
    w = _fit(weights, positions.shape[1])
    best = w.argmax(axis=1)
    hits = total = 0
    for b, row in enumerate(positions):
        for i, j in enumerate(row):
            if j >= 0:
                total += 1
                hits += best[b, j] == i and w[b, i].max() > 0
    return float(hits / total)


def noun_alignment__wrong_extra_steps_as_nouns(weights, positions):
    """The student fills positions with 0 for the steps that the model took beyond, which makes nouns of them."""
    n = max(weights.shape[1], positions.shape[1])
    p = np.pad(positions, ((0, 0), (0, n - positions.shape[1])))
    w = _fit(weights, n)
    hit = (w.argmax(axis=2) == p) & (w.max(axis=2) > 0)
    return float(hit[p >= 0].mean())


def noun_alignment__wrong_shifted_by_start(weights, positions):
    """The student aligns the last steps with the last words where their numbers differ."""
    b, length, source = weights.shape
    n = positions.shape[1]
    w = weights[:, length - n:] if length >= n else np.concatenate([np.zeros((b, n - length, source)), weights], axis=1)
    hit = (w.argmax(axis=2) == positions) & (w.max(axis=2) > 0)
    return float(hit[positions >= 0].mean())


def noun_alignment__wrong_rounded_away(weights, positions):
    """The student rounds the weights to one decimal before looking for the largest, which makes ties of 0.36 and 0.44."""
    w = np.round(_fit(weights, positions.shape[1]), 1)
    hit = (w.argmax(axis=2) == positions) & (w.max(axis=2) > 0)
    return float(hit[positions >= 0].mean())


def noun_alignment__right_loop_fraction(weights, positions):
    """A loop over the nouns and an exact Fraction."""
    hits = []
    for b, i in zip(*np.nonzero(positions + 1)):
        row = weights[b, i].tolist() if i < weights.shape[1] else [0.0]
        hits.append(max(row) > 0 and row.index(max(row)) == positions[b, i])
    return Fraction(sum(hits), len(hits))


def noun_alignment__right_one_hot(weights, positions):
    """A one-hot array of positions against one of the largest weights, by einsum."""
    w = _fit(weights, positions.shape[1])
    best = (w == w.max(axis=2, keepdims=True)) & (w > 0)
    hot = positions[..., None] == np.arange(w.shape[2])
    return np.einsum("bij,bij->", best.astype(float), hot.astype(float)) / hot.sum()


def noun_alignment__right_filled(weights, positions):
    """A column of small weight put in front, where rows of zeros have their largest number."""
    n = positions.shape[1]
    b, length, source = weights.shape
    w = np.concatenate([weights, np.zeros((b, n, source))], axis=1)[:, :n]
    w = np.concatenate([np.full((b, n, 1), np.finfo(float).tiny), w], axis=2)
    noun = positions != -1
    return np.average(w.argmax(axis=2) == positions + 1, weights=noun)


def noun_alignment__right_rank(weights, positions):
    """A noun counts if no other weight of its row is as large as its own."""
    total = hits = 0
    for rows, places in zip(weights.tolist(), positions.tolist()):
        for row, place in zip_longest(rows, places, fillvalue=None):
            if place is None or place < 0:
                continue
            total += 1
            hits += row is not None and row[place] > 0 and all(x < row[place] for j, x in enumerate(row) if j != place)
    return np.float64(hits) / total
