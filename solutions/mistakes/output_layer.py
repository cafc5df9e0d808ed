"""Wrong answers that students give to the exercises on the output layer. The docstring is the hint."""

import math

import numpy as np
import torch

from solutions.in_numpy.output_layer import cross_entropy


def _figure(**changed):
    return {"state": 2, "word": 2, "context": 3, "read_out": 3, "bias": 20_000, "states": 1, **changed}


def note_d_figure__state_of_the_step():
    """The new state cannot be computed from itself: the right-hand side uses the state before the step."""
    return _figure(state=3)


def note_d_figure__word_of_the_step():
    """The word of this step has not been written yet: the decoder reads the previous one."""
    return _figure(word=3)


def note_d_figure__context_before():
    """The context is computed again at each step, before the state, so at step t it has the index t."""
    return _figure(context=2)


def note_d_figure__reads_out_the_old_state():
    """The word is read out of the new state: that is why the step computes it."""
    return _figure(read_out=2)


def note_d_figure__as_printed():
    """These are the indices of the first step, as printed in the figure. What are they for the third step?"""
    return _figure(state=0, word=0, context=1)


def note_d_figure__bias_of_the_context():
    """That is the size of the context. This c is added to V z, which has an entry for each word."""
    return _figure(bias=4)


def note_d_figure__bias_of_the_state():
    """That is the size of the state. This c is added after the product with V, which has one entry for each word."""
    return _figure(bias=3)


def note_d_figure__five_states():
    """Look at the right-hand side as printed: does anything in it change from step to step?"""
    return _figure(states=5)


def every_step_shapes__added(batch, T_y, n, d, m, V_y):
    """The three vectors are concatenated, not added or multiplied: all of their entries are kept."""
    return {"joined": (batch, T_y, n), "W_o": (V_y, n), "logits": (batch, T_y, V_y), "flat_logits": (batch * T_y, V_y)}


def every_step_shapes__sizes_alike(batch, T_y, n, d, m, V_y):
    """Three times the size of the state is right only if all three vectors have the same size. Here they do not."""
    joined = 3 * n
    return {
        "joined": (batch, T_y, joined),
        "W_o": (V_y, joined),
        "logits": (batch, T_y, V_y),
        "flat_logits": (batch * T_y, V_y),
    }


def every_step_shapes__to_the_state(batch, T_y, n, d, m, V_y):
    """You followed note A: a softmax of this would be a distribution over the units of the state, not over words."""
    joined = n + d + m
    return {
        "joined": (batch, T_y, joined),
        "W_o": (n, joined),
        "logits": (batch, T_y, n),
        "flat_logits": (batch * T_y, n),
    }


def every_step_shapes__transposed(batch, T_y, n, d, m, V_y):
    """Rows come first: a matrix that maps p entries to q entries has shape (q, p)."""
    joined = n + d + m
    return {
        "joined": (batch, T_y, joined),
        "W_o": (joined, V_y),
        "logits": (batch, T_y, V_y),
        "flat_logits": (batch * T_y, V_y),
    }


def every_step_shapes__words_flattened(batch, T_y, n, d, m, V_y):
    """The words keep an axis of their own: every step of every sentence still needs one logit for each word."""
    joined = n + d + m
    return {
        "joined": (batch, T_y, joined),
        "W_o": (V_y, joined),
        "logits": (batch, T_y, V_y),
        "flat_logits": (batch * T_y * V_y,),
    }


def _hindi(state=(0.396930, 0.584980, 0.604368), words=None):
    W_o = np.array([[0, 0, 0], [2, 2, 2], [1, 0, 0], [0, 1, 0], [0, 0, 1], [-1, -1, -1]])
    words = words or _softmax
    return words(W_o @ np.array(state)).tolist()


def _softmax(logits):
    exponentials = np.exp(logits)
    return exponentials / exponentials.sum()


def hindi_distribution__logits():
    """These are the logits: some are negative, and they do not sum to 1. You still need to apply the softmax."""
    return _hindi(words=lambda logits: logits)


def hindi_distribution__sigmoid():
    """You applied a sigmoid to each logit separately: these numbers do not sum to 1."""
    return _hindi(words=lambda logits: 1 / (1 + np.exp(-logits)))


def hindi_distribution__softmax_twice():
    """You applied the softmax twice, which flattens the distribution. nn.CrossEntropyLoss, too, already contains one."""
    return _hindi(words=lambda logits: _softmax(_softmax(logits)))


def hindi_distribution__old_state():
    """You read the word out of the state before the step, (0.3, 0.3, 0.3). It is read out of the new state."""
    return _hindi(state=(0.3, 0.3, 0.3))


def hindi_distribution__state_before_the_tanh():
    """Is the tanh missing from your new state? These probabilities follow from the sum without it."""
    return _hindi(state=(0.42, 0.67, 0.70))


def hindi_distribution__divided_by_the_sum():
    """You divided the logits by their sum. The softmax divides their exponentials by the sum of the exponentials."""
    return _hindi(words=lambda logits: logits / logits.sum())


def what_is_left__largest_only():
    """You subtracted only the largest probability. The small ones that are printed count too."""
    return {"left": 0.13, "loss": 0.1393}


def what_is_left__sum_of_the_printed():
    """That is the total probability of the printed words. The question is what remains for the others."""
    return {"left": 0.873, "loss": 0.1393}


def what_is_left__base_ten():
    """You took the logarithm to base 10. Nats come from the natural logarithm."""
    return {"left": 0.127, "loss": -math.log10(0.87)}


def what_is_left__sign():
    """A cross-entropy is never negative: the logarithm of a probability is negative, and the loss is minus that logarithm."""
    return {"left": 0.127, "loss": math.log(0.87)}


def _word(
    query=(0.4, -0.6), squash=np.tanh, weigh=_softmax, mix=None, word=1, memory=1, context=1, new=np.tanh, read=None,
    words=_softmax, bias=1, turned=False,
):  # fmt: skip
    """Take the step of the exercise, with one thing changed."""
    state, keys = np.array([0.4, -0.6]), np.array([[0.5, -0.2, 0.1, 0.3], [-0.4, 0.6, 0.2, -0.1]])
    W_query = np.array([[1, -1], [0, 2], [0.5, 1]])
    W_key = np.array([[1, 0, 0, 2], [0, 1, -1, 0], [0, 0, 2, 1]])
    scores = squash(W_query @ np.array(query) + keys @ W_key.T) @ np.array([1, -2, 1.5])
    weights = weigh(scores)
    mixed = weights @ keys if mix is None else mix(scores, weights, keys)
    W_s, W_c = np.array([[0.5, 1], [-1, 0]]), np.array([[2, 0, -1, 0.5], [0, 2, 0, 1]])
    if turned:
        W_s = W_s.T
    new_state = new(word * np.array([0.3, -0.1]) + memory * W_s @ state + context * W_c @ mixed)
    W_o = np.array([[1, -1], [2, 0], [0, 2], [-1, 1], [1, 1]])
    distribution = words(W_o @ np.array(new_state if read is None else read) + bias * np.array([0, -0.5, 0.5, 0, 0.2]))
    values = {"scores": scores, "weights": weights, "context": mixed, "state": new_state, "distribution": distribution}
    return {entry: value.tolist() for entry, value in values.items()}


def word_by_hand__no_tanh_in_the_score():
    """The tanh inside the score is missing."""
    return _word(squash=lambda x: x)


def word_by_hand__scored_with_a_new_state():
    """You updated the state first and scored with the result, as in note B. Bahdanau scores with the previous state."""
    return _word(query=np.tanh([0.3, -0.1] + np.array([[0.5, 1], [-1, 0]]) @ [0.4, -0.6]))


def word_by_hand__query_dropped():
    """W_query times the decoder state is missing inside the tanh of the score."""
    return _word(query=(0.0, 0.0))


def word_by_hand__divided_by_the_sum():
    """You divided the scores by their sum. The softmax divides their exponentials by the sum of the exponentials."""
    return _word(weigh=lambda scores: scores / scores.sum())


def word_by_hand__plain_mean():
    """Your context is the plain mean of the annotations: you did not use the weights for it."""
    return _word(mix=lambda scores, weights, keys: keys.mean(axis=0))


def word_by_hand__weights_swapped():
    """When computing the context, you gave each annotation the weight of the other one."""
    return _word(mix=lambda scores, weights, keys: weights[::-1] @ keys)


def word_by_hand__mixed_by_scores():
    """When computing the context, you used the scores instead of the weights to mix the annotations."""
    return _word(mix=lambda scores, weights, keys: scores @ keys)


def word_by_hand__state_without_context():
    """W_c times the context is missing from the sum for the new state."""
    return _word(context=0)


def word_by_hand__state_without_memory():
    """W_s times the previous state is missing from the sum for the new state."""
    return _word(memory=0)


def word_by_hand__state_without_word():
    """The contribution of the previous word, u, is missing from the sum for the new state."""
    return _word(word=0)


def word_by_hand__state_without_tanh():
    """The tanh around the sum for the new state is missing."""
    return _word(new=lambda x: x)


def word_by_hand__memory_transposed():
    """The new state is your first wrong result. Check W_s times the state: each row of W_s gives one entry of it."""
    return _word(turned=True)


def word_by_hand__read_from_the_old_state():
    """Everything is right except the distribution: you read it out of the state before the step."""
    return _word(read=(0.4, -0.6))


def word_by_hand__bias_dropped():
    """Everything is right except the distribution: the bias b_o is missing from the logits."""
    return _word(bias=0)


def word_by_hand__logits():
    """Everything is right except the distribution: these are logits. You still need to apply the softmax."""
    return _word(words=lambda logits: logits)


def word_by_hand__softmax_twice():
    """Everything is right except the distribution: you applied the softmax twice, which flattens it."""
    return _word(words=lambda logits: _softmax(_softmax(logits)))


def word_by_hand__sigmoid():
    """Everything is right except the distribution: a sigmoid of each logit separately gives numbers that do not sum to 1."""
    return _word(words=lambda logits: 1 / (1 + np.exp(-logits)))


def _beam(scores=None, **changed):
    right = {"scores": [-2.263744, -2.442707, -2.370311], "winners": [0, 2, 0, 1], "turn": 0.525689}
    return right | ({} if scores is None else {"scores": scores.tolist()}) | changed


_LOG_P, _LENGTHS = np.array([-3.6, -4.4, -2.6]), np.array([8, 11, 2])


def wider_beam__multiplied():
    """You multiplied by the penalty. Log-probabilities are negative, so this penalises long sentences twice: divide instead."""
    return _beam(scores=_LOG_P * ((5 + _LENGTHS) / 6) ** 0.6)


def wider_beam__length_to_the_power():
    """You raised only the number of words to the power. The penalty adds 5 to it and divides by 5 + 1 first."""
    return _beam(scores=_LOG_P / _LENGTHS**0.6)


def wider_beam__exponent_as_a_factor():
    """You used the exponent as a factor. It is a power of the fraction."""
    return _beam(scores=_LOG_P / (0.6 * (5 + _LENGTHS) / 6))


def wider_beam__without_the_denominator():
    """Your scores are in the right order, but the denominator 5 + 1 is missing from the penalty."""
    return _beam(scores=_LOG_P / (5 + _LENGTHS) ** 0.6)


def wider_beam__only_the_numerator_raised():
    """The whole fraction is raised to the power, including its denominator."""
    return _beam(scores=_LOG_P / ((5 + _LENGTHS) ** 0.6 / 6))


def wider_beam__winner_of_the_shortest():
    """Is the shortest hypothesis still ahead once you divide by the penalty? Compare your three scores."""
    return _beam(winners=[0, 2, 2, 1])


def wider_beam__lowest_wins():
    """Among negative scores, the best is the one closest to 0, not the lowest."""
    return _beam(winners=[1, 1, 1, 2])


def wider_beam__narrow_finds_all():
    """Without a penalty, wide and narrow beams may return different hypotheses: which ones does each of them hold?"""
    return _beam(winners=[0, 0, 0, 1])


def wider_beam__means_like_the_penalty():
    """Divide each log-probability by its number of words: the hypothesis that wins is not the one that wins with the penalty."""
    return _beam(winners=[0, 2, 0, 0])


def wider_beam__turn_of_the_lengths():
    """Your exponent belongs to a penalty that is a power of the number of words alone. Add 5 to that number first."""
    return _beam(turn=math.log(3.6 / 2.6) / math.log(8 / 2))


def wider_beam__turn_without_logarithms():
    """You divided the two ratios. Solving for an exponent takes logarithms: ln of one ratio over ln of the other."""
    return _beam(turn=(3.6 / 2.6) / (13 / 7))


def wider_beam__turn_upside_down():
    """Your quotient is upside down: which ratio is raised to the power, and which one must come out?"""
    return _beam(turn=math.log(13 / 7) / math.log(3.6 / 2.6))


def cross_entropy__pads_count(logits, targets, target_mask):
    """Your average includes padding. Only positions where the mask is True have a right word."""
    return cross_entropy(logits, targets, np.ones_like(target_mask))


def cross_entropy__divided_by_all(logits, targets, target_mask):
    """The sum is right, but you divide by the number of all positions, including padding."""
    return cross_entropy(logits, targets, target_mask) * target_mask.sum() / target_mask.size


def cross_entropy__summed(logits, targets, target_mask):
    """You added up the losses. The exercise asks for their average over the real words."""
    return cross_entropy(logits, targets, target_mask) * target_mask.sum()


def cross_entropy__mean_of_sentences(logits, targets, target_mask):
    """You averaged each sentence first, so a word in a short sentence counts more than one in a long sentence."""
    rows = [cross_entropy(*row) for row in zip(logits, targets, target_mask, strict=True) if row[2].any()]
    return float(np.mean(rows)) if rows else 0.0


def cross_entropy__overflow(logits, targets, target_mask):
    """With large logits, exp overflows, or a probability becomes 0 and its logarithm infinite. Stay with logarithms."""
    exponentials = np.exp(logits)
    probabilities = exponentials / exponentials.sum(axis=-1, keepdims=True)
    right = np.take_along_axis(probabilities, targets[..., None], axis=-1)[..., 0]
    return -np.log(right)[target_mask].sum() / max(1, target_mask.sum())


def cross_entropy__unshifted(logits, targets, target_mask):
    """exp overflows above 709, so the loss is infinite. Subtract each step's largest logit first: the loss does not change."""
    log_p = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
    right = np.take_along_axis(log_p, targets[..., None], axis=-1)[..., 0]
    return -right[target_mask].sum() / max(1, target_mask.sum())


def cross_entropy__log_of_softmax(logits, targets, target_mask):
    """Your loss is infinite: a probability became 0 before you took its logarithm. Work out log p by algebra,
    without computing p."""
    exponentials = np.exp(logits - logits.max(axis=-1, keepdims=True))
    probabilities = exponentials / exponentials.sum(axis=-1, keepdims=True)
    right = np.take_along_axis(probabilities, targets[..., None], axis=-1)[..., 0]
    return -np.log(right)[target_mask].sum() / max(1, target_mask.sum())


def cross_entropy__clipped(logits, targets, target_mask):
    """A small number inside the logarithm hides the infinity but caps the loss: large losses come out too low."""
    exponentials = np.exp(logits - logits.max(axis=-1, keepdims=True))
    probabilities = exponentials / exponentials.sum(axis=-1, keepdims=True)
    right = np.take_along_axis(probabilities, targets[..., None], axis=-1)[..., 0]
    return -np.log(right + 1e-8)[target_mask].sum() / max(1, target_mask.sum())


def cross_entropy__no_softmax(logits, targets, target_mask):
    """You treated the logits as log-probabilities: the normalisation is missing."""
    right = np.take_along_axis(logits, targets[..., None], axis=-1)[..., 0]
    return -right[target_mask].sum() / max(1, target_mask.sum())


def cross_entropy__bits(logits, targets, target_mask):
    """You took the logarithm to base 2, which gives bits. Nats come from the natural logarithm."""
    return cross_entropy(logits, targets, target_mask) / math.log(2)


def cross_entropy__sign(logits, targets, target_mask):
    """A cross-entropy is never negative: look at the sign."""
    return -cross_entropy(logits, targets, target_mask)


def cross_entropy__likeliest_words(logits, targets, target_mask):
    """You took the word that the model prefers at each position. The loss uses the probability of the right word."""
    return cross_entropy(logits, logits.argmax(axis=-1), target_mask)


def cross_entropy__nothing_over_nothing(logits, targets, target_mask):
    """Your loss for a batch without any real word is nan: 0 divided by 0. It should be 0."""
    return np.divide(cross_entropy(logits, targets, target_mask), float(target_mask.any()))


def cross_entropy__divided_by_sentences(logits, targets, target_mask):
    """You divide by the number of sentences. The average is over the real words."""
    shifted = logits - logits.max(axis=-1, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    b, i = np.nonzero(target_mask)
    return float(-log_p[b, i, targets[b, i]].sum() / len(logits))


def _chosen(totals, width):
    best = totals.flatten(1).topk(width, dim=1).indices
    return torch.stack([best // totals.shape[-1], best % totals.shape[-1]], dim=-1)


def beam_step__own_best_word(scores, log_probabilities):
    """You continued each hypothesis once, with its own best word. All continuations compete: one hypothesis may have several."""
    totals = (scores.unsqueeze(-1) + log_probabilities).max(dim=-1)
    order = totals.values.argsort(dim=1, descending=True)
    return torch.stack([order, totals.indices.gather(1, order)], dim=-1)


def beam_step__past_forgotten(scores, log_probabilities):
    """You compared only the next words. A continuation is as good as its hypothesis and its word together."""
    return _chosen(log_probabilities, scores.shape[1])


def beam_step__multiplied(scores, log_probabilities):
    """Probabilities are multiplied, but their logarithms are added."""
    return _chosen(scores.unsqueeze(-1) * log_probabilities, scores.shape[1])


def beam_step__exchanged(scores, log_probabilities):
    """You swapped hypothesis and word: the hypothesis comes first."""
    return _chosen(scores.unsqueeze(-1) + log_probabilities, scores.shape[1]).flip(-1)


def beam_step__worst_first(scores, log_probabilities):
    """You chose the right continuations, but in reverse order: the best one comes first."""
    return _chosen(scores.unsqueeze(-1) + log_probabilities, scores.shape[1]).flip(1)


def beam_step__lowest(scores, log_probabilities):
    """You kept the least likely continuations. The closer a log-probability is to 0, the more likely the continuation."""
    return _chosen(-(scores.unsqueeze(-1) + log_probabilities), scores.shape[1])


def beam_step__divided_by_width(scores, log_probabilities):
    """After flattening, the index is k times the number of words, plus w. What must you divide by to get k back?"""
    totals, width = scores.unsqueeze(-1) + log_probabilities, scores.shape[1]
    best = totals.flatten(1).topk(width, dim=1).indices
    return torch.stack([best // width, best % width], dim=-1)


def beam_step__all_vocabulary(scores, log_probabilities):
    """You sorted all continuations and kept more of them than the beam holds."""
    totals = scores.unsqueeze(-1) + log_probabilities
    return _chosen(totals, totals[0].numel())


def beam_step__squeezed(scores, log_probabilities):
    """An axis of length 1 went missing: squeeze() without an axis also drops a batch of one, or a beam of one."""
    return _chosen(scores.unsqueeze(-1) + log_probabilities, scores.shape[1]).squeeze()
