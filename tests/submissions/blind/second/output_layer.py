"""Blind answers for output_layer: written from the notebook alone."""
import fractions
import heapq
import itertools
import math

import numpy as np
import torch


# ---------------------------------------------------------------- every_step_shapes


def every_step_shapes__wrong_no_loss_for_stop(batch, T_y, n, d, m, V_y):
    """The student leaves the last step out of the flat logits, though T_y counts the stop token."""
    j = n + d + m
    return {"joined": (batch, T_y, j), "W_o": (V_y, j), "logits": (batch, T_y, V_y), "flat_logits": (batch * (T_y - 1), V_y)}


def every_step_shapes__right_meta(batch, T_y, n, d, m, V_y):
    """Tensors on the meta device, really joined and multiplied."""
    joined = torch.cat([torch.empty(batch, T_y, size, device="meta") for size in (n, d, m)], dim=2)
    W_o = torch.empty(V_y, joined.shape[2], device="meta")
    logits = joined @ W_o.T
    return {"joined": joined.shape, "W_o": W_o.shape, "logits": logits.shape, "flat_logits": logits.flatten(0, 1).shape}


# ---------------------------------------------------------------- word_by_hand

_STEP = dict(
    s=[0.4, -0.6], keys=[[0.5, -0.2, 0.1, 0.3], [-0.4, 0.6, 0.2, -0.1]],
    W_query=[[1, -1], [0, 2], [0.5, 1]], v=[1, -2, 1.5], W_key=[[1, 0, 0, 2], [0, 1, -1, 0], [0, 0, 2, 1]],
    u=[0.3, -0.1], W_s=[[0.5, 1], [-1, 0]], W_c=[[2, 0, -1, 0.5], [0, 2, 0, 1]],
    W_o=[[1, -1], [2, 0], [0, 2], [-1, 1], [1, 1]], b_o=[0, -0.5, 0.5, 0, 0.2],
)


def _word(digits=None, old_state_out=False, **changes):
    a = {key: np.array(value, dtype=float) for key, value in {**_STEP, **changes}.items()}
    keep = (lambda x: x) if digits is None else (lambda x: np.round(x, digits))
    scores = keep(np.tanh(a["W_query"] @ a["s"] + a["keys"] @ a["W_key"].T) @ a["v"])
    weights = keep(np.exp(scores) / np.exp(scores).sum())
    context = keep(weights @ a["keys"])
    state = keep(np.tanh(a["u"] + a["W_s"] @ a["s"] + a["W_c"] @ context))
    logits = a["W_o"] @ (a["s"] if old_state_out else state) + a["b_o"]
    distribution = keep(np.exp(logits) / np.exp(logits).sum())
    return dict(scores=scores.tolist(), weights=weights.tolist(), context=context.tolist(), state=state.tolist(),
                distribution=distribution.tolist())


def word_by_hand__wrong_two_decimals():
    """The student rounds to two decimals from line to line."""
    return _word(digits=2)


def word_by_hand__wrong_share_of_word_forgotten():
    """The student forgets u in the new state."""
    return _word(u=[0, 0])


def word_by_hand__wrong_bias_after_softmax():
    """The student adds the bias to the probabilities and normalises those anew."""
    result = _word(b_o=np.zeros(5))
    shifted = np.abs(np.array(result["distribution"]) + _STEP["b_o"])
    result["distribution"] = (shifted / shifted.sum()).tolist()
    return result


def word_by_hand__wrong_weights_swapped():
    """The student gives all rightly but for the weights, whose order is swapped in the answer."""
    result = _word()
    result["weights"] = result["weights"][::-1]
    return result


def word_by_hand__right_torch():
    """Tensors in double precision, with a log-softmax at the end, as arrays."""
    t = {key: torch.tensor(value, dtype=torch.float64) for key, value in _STEP.items()}
    scores = torch.einsum("a,ja->j", t["v"], torch.tanh(t["W_query"] @ t["s"] + torch.einsum("ak,jk->ja", t["W_key"], t["keys"])))
    weights = scores.log_softmax(0).exp()
    context = t["keys"].T.mv(weights)
    state = torch.addmv(torch.addmv(t["u"], t["W_s"], t["s"]), t["W_c"], context).tanh()
    distribution = torch.addmv(t["b_o"], t["W_o"], state).log_softmax(0).exp()
    return {key: value.numpy() for key, value in dict(scores=scores, weights=weights, context=context, state=state, distribution=distribution).items()}


# ---------------------------------------------------------------- cross_entropy

def _costs(logits, targets):
    top = logits.max(axis=-1, keepdims=True)
    total = np.log(np.exp(logits - top).sum(axis=-1)) + top[..., 0]
    return total - np.take_along_axis(logits, targets[..., None], axis=-1)[..., 0]


def cross_entropy__wrong_small_number_in_log(logits, targets, target_mask):
    """The student takes the logarithm of the probability plus 1e-12, so that no word costs more than 27.6."""
    p = np.exp(-_costs(logits, targets))
    return float(-(np.log(p + 1e-12) * target_mask).sum() / max(target_mask.sum(), 1))


def cross_entropy__wrong_log_of_softmax(logits, targets, target_mask):
    """The student takes the logarithm of a stable softmax, which is infinite where the probability is 0."""
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    p = powers / powers.sum(axis=-1, keepdims=True)
    with np.errstate(divide="ignore"):
        costs = -np.log(np.take_along_axis(p, targets[..., None], axis=-1)[..., 0])
    return float(costs[target_mask].sum() / max(target_mask.sum(), 1))


def cross_entropy__wrong_batch_maximum(logits, targets, target_mask):
    """The student subtracts one maximum for all positions: those thousands below it give the logarithm of 0."""
    shifted = logits - logits.max()
    with np.errstate(divide="ignore"):
        total = np.log(np.exp(shifted).sum(axis=-1))
    costs = total - np.take_along_axis(shifted, targets[..., None], axis=-1)[..., 0]
    return float(costs[target_mask].sum() / max(target_mask.sum(), 1))


def cross_entropy__wrong_logits_zeroed(logits, targets, target_mask):
    """The student zeroes the logits of pads, which then cost the logarithm of the vocabulary's size each."""
    logits = logits * target_mask[..., None]
    return float(_costs(logits, targets).sum() / max(target_mask.sum(), 1)) if target_mask.any() else 0.0


def cross_entropy__wrong_turned_targets(logits, targets, target_mask):
    """The student flattens the targets step by step but the logits sentence by sentence: right for one sentence."""
    flat = logits.reshape(-1, logits.shape[-1])
    costs = _costs(flat, targets.T.reshape(-1))
    return float(costs[target_mask.ravel()].sum() / max(target_mask.sum(), 1))


def cross_entropy__wrong_count_cut_off(logits, targets, target_mask):
    """The student finds the number of words as the mean of the mask times its size, cut to an integer: 0.28 * 25 * 4 and the like lose one."""
    count = int(target_mask.mean() * target_mask.size)
    return float(_costs(logits, targets)[target_mask].sum() / max(count, 1))


def cross_entropy__wrong_bits(logits, targets, target_mask):
    """The student gives bits where nats are asked for."""
    return float(_costs(logits, targets)[target_mask].sum() / max(target_mask.sum(), 1) / math.log(2))


def cross_entropy__wrong_running_mean(logits, targets, target_mask, _seen=[0.0, 0]):
    """The student keeps the sums in a default argument, so that later batches are averaged with earlier ones."""
    _seen[0] += float(_costs(logits, targets)[target_mask].sum())
    _seen[1] += int(target_mask.sum())
    return _seen[0] / max(_seen[1], 1)


def cross_entropy__right_logaddexp_of_real(logits, targets, target_mask):
    """Only real positions are looked at, with logaddexp.reduce over differences to the right word."""
    rows, words = logits[target_mask], targets[target_mask]
    costs = np.logaddexp.reduce(rows - rows[np.arange(len(words)), words][:, None], axis=1)
    return np.add.reduce(costs) / max(1, costs.size)


def cross_entropy__right_python_fsum(logits, targets, target_mask):
    """Three loops in plain Python, with log1p over the other words where the right word is the largest."""
    costs = []
    for b, i in zip(*map(list, np.nonzero(target_mask))):
        row, right = logits[b, i].tolist(), int(targets[b, i])
        top = max(range(len(row)), key=row.__getitem__)
        others = math.fsum(math.exp(x - row[top]) for w, x in enumerate(row) if w != top)
        costs.append(row[top] - row[right] + math.log1p(others))
    return math.fsum(costs) / len(costs) if costs else 0


def cross_entropy__right_weighted(logits, targets, target_mask):
    """Weights of one over the number of real words, and a one-hot product, as an array without axes."""
    weights = target_mask / max(np.count_nonzero(target_mask), 1)
    shifted = logits - logits.max(axis=2, keepdims=True)
    picked = np.where(np.arange(logits.shape[2]) == targets[:, :, None], shifted, 0.0).sum(axis=2)
    return np.array(np.tensordot(weights, np.log(np.exp(shifted).sum(axis=2)) - picked, 2))


def cross_entropy__right_fraction(logits, targets, target_mask):
    """The mean as an exact fraction of the costs, turned into a float at the end."""
    costs = [fractions.Fraction(float(cost)) for cost in itertools.compress(_costs(logits, np.where(target_mask, targets, 0)).flat, target_mask.flat)]
    return float(sum(costs, fractions.Fraction(0)) / (len(costs) or 1))


# ---------------------------------------------------------------- beam_step

def _decode(flat, words):
    return torch.stack([torch.div(flat, words, rounding_mode="floor"), flat % words], dim=-1)


def beam_step__wrong_each_word_once(scores, log_probabilities):
    """The student lets each word be chosen only once while there are other words."""
    total = scores.unsqueeze(-1) + log_probabilities
    rows = []
    for sentence in total:
        order = sentence.flatten().argsort(descending=True).tolist()
        pairs = [divmod(number, total.shape[2]) for number in order]
        first = [pair for place, pair in enumerate(pairs) if pair[1] not in [w for _, w in pairs[:place]]]
        rest = [pair for pair in pairs if pair not in first]
        rows.append((first + rest)[:total.shape[1]])
    return torch.tensor(rows)


def beam_step__wrong_single_precision(scores, log_probabilities):
    """The student adds in single precision: continuations that differ in the ninth digit become ties."""
    total = scores.float().unsqueeze(-1) + log_probabilities.float()
    return _decode(total.flatten(1).argsort(dim=1, descending=True, stable=True)[:, :scores.shape[1]], total.shape[2])


def beam_step__wrong_as_many_as_words(scores, log_probabilities):
    """The student chooses no more continuations than there are words, and fills up by repeating the last."""
    total = scores.unsqueeze(-1) + log_probabilities
    flat = total.flatten(1).topk(min(total.shape[1:]), dim=1).indices
    missing = scores.shape[1] - flat.shape[1]
    return _decode(torch.cat([flat, flat[:, -1:].expand(-1, missing)], dim=1), total.shape[2])


def beam_step__wrong_added_by_broadcasting(scores, log_probabilities):
    """The student adds the scores along the words where that fits, that is where width = vocab_size."""
    try:
        total = scores[:, None] + log_probabilities
    except RuntimeError:
        total = scores[..., None] + log_probabilities
    return _decode(total.flatten(1).topk(scores.shape[1], dim=1).indices, total.shape[2])


def beam_step__right_heap(scores, log_probabilities):
    """A heap of Python tuples for each sentence, as a tensor of floats."""
    rows = []
    for k_scores, table in zip(scores.tolist(), log_probabilities.tolist()):
        pairs = ((k_scores[k] + p, k, w) for k, row in enumerate(table) for w, p in enumerate(row))
        rows.append([(k, w) for _, k, w in heapq.nlargest(len(k_scores), pairs)])
    return torch.tensor(rows, dtype=torch.float64)


def beam_step__right_two_topk(scores, log_probabilities):
    """The best words of each hypothesis first, as many as can be needed, and then the best of these."""
    best, words = log_probabilities.topk(min(log_probabilities.shape[1:]), dim=2)
    best = best + scores.unsqueeze(2)
    flat = best.reshape(len(scores), -1).argsort(dim=1, descending=True)[:, :scores.shape[1]]
    return torch.stack([flat // best.shape[2], words.reshape(len(scores), -1).gather(1, flat)], dim=2).to(torch.int32)


def beam_step__right_word_major(scores, log_probabilities):
    """Flat numbers that run over the hypotheses fastest, decoded to fit, with a full sort of the negative."""
    total = scores.unsqueeze(1) + log_probabilities.transpose(1, 2)
    width = scores.shape[1]
    flat = torch.sort(-total.reshape(len(total), -1), dim=1).indices.narrow(1, 0, width)
    return torch.dstack([flat % width, torch.div(flat, width, rounding_mode="trunc")])


def beam_step__right_argmax_by_argmax(scores, log_probabilities):
    """One argmax after the other, where what is chosen becomes -inf on an own copy, by unravel_index of numpy."""
    total = (scores[:, :, None] + log_probabilities).detach().clone()
    chosen = np.zeros((*scores.shape, 2), dtype=np.int64)
    for b, place in itertools.product(range(len(total)), range(total.shape[1])):
        k, w = np.unravel_index(int(total[b].argmax()), tuple(total.shape[1:]))
        chosen[b, place] = k, w
        total[b, k, w] = -math.inf
    return torch.from_numpy(chosen)


def beam_step__right_ranks(scores, log_probabilities):
    """The rank of a continuation is the number of better ones: a table of ranks is inverted."""
    total = (scores.unsqueeze(2) + log_probabilities).flatten(1)
    rank = (total.unsqueeze(1) > total.unsqueeze(2)).sum(dim=2)
    flat = torch.zeros_like(rank).scatter_(1, rank, torch.arange(total.shape[1]).expand_as(rank))[:, :scores.shape[1]]
    return _decode(flat, log_probabilities.shape[2])


def beam_step__wrong_width_words_assumed(scores, log_probabilities):
    """The student keeps the best words of each hypothesis and decodes as if there were as many as hypotheses: fewer words spoil it."""
    total = scores.unsqueeze(-1) + log_probabilities
    width = scores.shape[1]
    best, words = total.topk(min(width, total.shape[2]), dim=2)
    flat = best.flatten(1).topk(width, dim=1).indices
    return torch.stack([flat // width, words.flatten(1).gather(1, flat)], dim=-1)


def beam_step__wrong_normalised_by_best(scores, log_probabilities):
    """The student normalises each hypothesis by its best next word, which changes the order between hypotheses."""
    total = scores.unsqueeze(-1) + log_probabilities - log_probabilities.amax(dim=-1, keepdim=True)
    return _decode(total.flatten(1).topk(scores.shape[1], dim=1).indices, total.shape[2])


def cross_entropy__wrong_clipped_logits(logits, targets, target_mask):
    """The student clips the logits to -500 ... 500 before the exponential, and loses what they are apart in the thousands."""
    return float(_costs(np.clip(logits, -500, 500), targets)[target_mask].sum() / max(target_mask.sum(), 1))
