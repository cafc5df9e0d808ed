"""Wrong answers that students give to the exercises on the output layer. The docstring is the hint."""

import math

import numpy as np
import torch

from solutions.in_numpy.output_layer import cross_entropy, decode, logits_gradient


def every_step_shapes__added(batch, T_y, n, d, m, V_y):
    """The three vectors are concatenated, not added or multiplied, so all their entries are kept."""
    return {"joined": (batch, T_y, n), "W_o": (V_y, n), "logits": (batch, T_y, V_y), "flat_logits": (batch * T_y, V_y)}


def every_step_shapes__sizes_alike(batch, T_y, n, d, m, V_y):
    """Three times the size of the state is right only if all three vectors have the same size. Here their sizes differ."""
    joined = 3 * n
    return {
        "joined": (batch, T_y, joined),
        "W_o": (V_y, joined),
        "logits": (batch, T_y, V_y),
        "flat_logits": (batch * T_y, V_y),
    }


def every_step_shapes__to_the_state(batch, T_y, n, d, m, V_y):
    """You followed note A: the softmax of your logits would be a distribution over the entries of a state, not over words."""
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
    """You flattened one axis too many: each step of each sentence needs its own row, with one logit for each word."""
    joined = n + d + m
    return {
        "joined": (batch, T_y, joined),
        "W_o": (V_y, joined),
        "logits": (batch, T_y, V_y),
        "flat_logits": (batch * T_y * V_y,),
    }


def every_step_shapes__one_row_per_sentence(batch, T_y, n, d, m, V_y):
    """In `flat_logits`, you gave each sentence one row. Each step of each sentence needs its own row."""
    joined = n + d + m
    return {
        "joined": (batch, T_y, joined),
        "W_o": (V_y, joined),
        "logits": (batch, T_y, V_y),
        "flat_logits": (batch, T_y * V_y),
    }


def _hindi(state=(0.396930, 0.584980, 0.604368), words=None):
    W_o = np.array([[0, 0, 0], [2, 2, 2], [1, 0, 0], [0, 1, 0], [0, 0, 1], [-1, -1, -1]])
    words = words or _softmax
    return words(W_o @ np.array(state)).tolist()


def _softmax(logits):
    exponentials = np.exp(logits)
    return exponentials / exponentials.sum()


def hindi_distribution__logits():
    """You gave the logits, which do not sum to 1: the softmax is missing."""
    return _hindi(words=lambda logits: logits)


def hindi_distribution__sigmoid():
    """You applied a sigmoid to each logit separately, so your values do not sum to 1."""
    return _hindi(words=lambda logits: 1 / (1 + np.exp(-logits)))


def hindi_distribution__softmax_twice():
    """You applied the softmax twice, which flattens the distribution."""
    return _hindi(words=lambda logits: _softmax(_softmax(logits)))


def hindi_distribution__old_state():
    """You used the state before the step, (0.3, 0.3, 0.3). The output layer should see the new state."""
    return _hindi(state=(0.3, 0.3, 0.3))


def hindi_distribution__state_before_the_tanh():
    """You computed the probabilities from the numbers inside the tanh. Apply the tanh to get the new state first."""
    return _hindi(state=(0.42, 0.67, 0.70))


def hindi_distribution__divided_by_the_sum():
    """You divided the logits by their sum. The softmax takes exponentials first."""
    return _hindi(words=lambda logits: logits / logits.sum())


def what_is_left__largest_only():
    """You subtracted only the largest probability. Subtract the small ones in the figure, too."""
    return {"left": 0.13, "loss": 0.1393}


def what_is_left__sum_of_the_printed():
    """For `left`, you gave the total probability of the words in the figure. How much remains for the other words?"""
    return {"left": 0.873, "loss": 0.1393}


def what_is_left__base_ten():
    """You took the logarithm to base 10. For nats, take the natural logarithm."""
    return {"left": 0.127, "loss": -math.log10(0.87)}


def what_is_left__sign():
    """Your loss is negative. The logarithm of a probability is negative, so the cross-entropy needs a minus sign."""
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
    """W_query times the decoder state is missing from the sum inside the tanh of the score."""
    return _word(query=(0.0, 0.0))


def word_by_hand__divided_by_the_sum():
    """You divided the scores by their sum. The softmax takes exponentials first."""
    return _word(weigh=lambda scores: scores / scores.sum())


def word_by_hand__plain_mean():
    """Your context is the plain mean of the annotations: use the weights."""
    return _word(mix=lambda scores, weights, keys: keys.mean(axis=0))


def word_by_hand__weights_swapped():
    """In the context, you gave each annotation the weight of the other one."""
    return _word(mix=lambda scores, weights, keys: weights[::-1] @ keys)


def word_by_hand__mixed_by_scores():
    """In the context, you multiplied the annotations by the scores instead of the weights."""
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
    """The tanh is missing from the new state: you gave the sum inside it."""
    return _word(new=lambda x: x)


def word_by_hand__memory_transposed():
    """The new state is your first wrong result. Check the product of W_s and the old state: each row of W_s gives
    one entry of the product."""
    return _word(turned=True)


def word_by_hand__read_from_the_old_state():
    """Everything is right except the distribution: you computed it from the state before the step."""
    return _word(read=(0.4, -0.6))


def word_by_hand__bias_dropped():
    """Everything is right except the distribution: the bias b_o is missing from the logits."""
    return _word(bias=0)


def word_by_hand__logits():
    """Everything is right except the distribution: you gave the logits, without the softmax."""
    return _word(words=lambda logits: logits)


def word_by_hand__softmax_twice():
    """Everything is right except the distribution: you applied the softmax twice."""
    return _word(words=lambda logits: _softmax(_softmax(logits)))


def word_by_hand__sigmoid():
    """Everything is right except the distribution: you applied a sigmoid to each logit separately, so the values do
    not sum to 1."""
    return _word(words=lambda logits: 1 / (1 + np.exp(-logits)))


def _beam(scores=None, **changed):
    right = {"scores": [-2.263744, -2.442707, -2.370311], "winners": [0, 2, 0, 1], "turn": 0.525689}
    return right | ({} if scores is None else {"scores": scores.tolist()}) | changed


_LOG_P, _LENGTHS = np.array([-3.6, -4.4, -2.6]), np.array([8, 11, 2])


def wider_beam__multiplied():
    """You multiplied by the penalty, which lowers the negative scores of long sentences even further. Divide instead."""
    return _beam(scores=_LOG_P * ((5 + _LENGTHS) / 6) ** 0.6)


def wider_beam__stop_not_counted():
    """You did not count STOP among the words. The numbers in the table include it, and so does the penalty."""
    scores = _LOG_P / ((4 + _LENGTHS) / 6) ** 0.6
    return _beam(scores=scores, turn=math.log(3.6 / 2.6) / math.log((4 + 8) / (4 + 2)))


def wider_beam__length_to_the_power():
    """You raised the bare number of words to the power lambda. The penalty first adds 5 to that number and divides
    the sum by 5 + 1."""
    return _beam(scores=_LOG_P / _LENGTHS**0.6)


def wider_beam__exponent_as_a_factor():
    """You multiplied the fraction by lambda. Raise the fraction to the power lambda instead."""
    return _beam(scores=_LOG_P / (0.6 * (5 + _LENGTHS) / 6))


def wider_beam__without_the_denominator():
    """Your scores are in the right order, but the denominator 5 + 1 is missing from the penalty."""
    return _beam(scores=_LOG_P / (5 + _LENGTHS) ** 0.6)


def wider_beam__only_the_numerator_raised():
    """You raised only the numerator to the power lambda. Raise the whole fraction."""
    return _beam(scores=_LOG_P / ((5 + _LENGTHS) ** 0.6 / 6))


def wider_beam__winner_of_the_shortest():
    """Does the shortest hypothesis still win once you divide by the penalty? Compare your three scores."""
    return _beam(winners=[0, 2, 2, 1])


def wider_beam__lowest_wins():
    """Among negative scores, the best is the one closest to 0, not the lowest."""
    return _beam(winners=[1, 1, 1, 2])


def wider_beam__numbered_from_one():
    """You numbered the hypotheses from 1. The exercise numbers them from 0, as Python does."""
    return _beam(winners=[1, 3, 1, 2])


def wider_beam__narrow_finds_all():
    """Without a penalty, a wide and a narrow beam may return different hypotheses: which hypotheses does each beam hold?"""
    return _beam(winners=[0, 0, 0, 1])


def wider_beam__means_like_the_penalty():
    """Your last two winners are the same. For the last one, divide each log-probability by the number of words alone."""
    return _beam(winners=[0, 2, 0, 0])


def wider_beam__turn_of_the_lengths():
    """For `turn`, you used the bare numbers of words. The penalty first adds 5 to each of them."""
    return _beam(turn=math.log(3.6 / 2.6) / math.log(8 / 2))


def wider_beam__turn_without_logarithms():
    """You divided one ratio by the other. Solving for an exponent takes logarithms: ln of one ratio over ln of the other."""
    return _beam(turn=(3.6 / 2.6) / (13 / 7))


def wider_beam__turn_upside_down():
    """For `turn`, your quotient is upside down: which ratio is raised to the power lambda, and which ratio should come out?"""
    return _beam(turn=math.log(13 / 7) / math.log(3.6 / 2.6))


def cross_entropy__pads_count(logits, targets, target_mask):
    """Your average includes padding, but only positions where the mask is True have a target word."""
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
    """With large logits, exp overflows, or a probability becomes 0 and its logarithm infinite. Compute the
    log-probabilities directly."""
    exponentials = np.exp(logits)
    probabilities = exponentials / exponentials.sum(axis=-1, keepdims=True)
    right = np.take_along_axis(probabilities, targets[..., None], axis=-1)[..., 0]
    return -np.log(right)[target_mask].sum() / max(1, target_mask.sum())


def cross_entropy__unshifted(logits, targets, target_mask):
    """For logits above 709, exp overflows. First subtract the largest logit at each position: the loss does not change."""
    log_p = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
    right = np.take_along_axis(log_p, targets[..., None], axis=-1)[..., 0]
    return -right[target_mask].sum() / max(1, target_mask.sum())


def cross_entropy__log_of_softmax(logits, targets, target_mask):
    """Your loss is infinite. Either a probability became 0 before you took its logarithm: simplify the logarithm of the
    softmax on paper first. Or an exponential became infinite: subtract the largest logit, and no other number."""
    exponentials = np.exp(logits - logits.max(axis=-1, keepdims=True))
    probabilities = exponentials / exponentials.sum(axis=-1, keepdims=True)
    right = np.take_along_axis(probabilities, targets[..., None], axis=-1)[..., 0]
    return -np.log(right)[target_mask].sum() / max(1, target_mask.sum())


def cross_entropy__clipped(logits, targets, target_mask):
    """You added a small number inside the logarithm. The loss stays finite, but large losses come out too low."""
    exponentials = np.exp(logits - logits.max(axis=-1, keepdims=True))
    probabilities = exponentials / exponentials.sum(axis=-1, keepdims=True)
    right = np.take_along_axis(probabilities, targets[..., None], axis=-1)[..., 0]
    return -np.log(right + 1e-8)[target_mask].sum() / max(1, target_mask.sum())


def cross_entropy__no_softmax(logits, targets, target_mask):
    """You treated the logits as log-probabilities: the normalisation is missing."""
    right = np.take_along_axis(logits, targets[..., None], axis=-1)[..., 0]
    return -right[target_mask].sum() / max(1, target_mask.sum())


def cross_entropy__bits(logits, targets, target_mask):
    """You took the logarithm to base 2, which gives bits. For nats, take the natural logarithm."""
    return cross_entropy(logits, targets, target_mask) / math.log(2)


def cross_entropy__sign(logits, targets, target_mask):
    """Your loss is negative: a minus sign is missing."""
    return -cross_entropy(logits, targets, target_mask)


def cross_entropy__likeliest_words(logits, targets, target_mask):
    """You used the most likely word at each position. The loss needs the probability of the target word."""
    return cross_entropy(logits, logits.argmax(axis=-1), target_mask)


def cross_entropy__nothing_over_nothing(logits, targets, target_mask):
    """For a batch without any real words, you divide 0 by 0. The loss should be 0."""
    return np.divide(cross_entropy(logits, targets, target_mask), float(target_mask.any()))


def cross_entropy__divided_by_sentences(logits, targets, target_mask):
    """You divide by the number of sentences. The mean should be over the real words."""
    shifted = logits - logits.max(axis=-1, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    b, i = np.nonzero(target_mask)
    return float(-log_p[b, i, targets[b, i]].sum() / len(logits))


def cross_entropy__word_zero_ignored(logits, targets, target_mask):
    """You left out the words with the number 0. What is padding is said by the mask alone: word 0 is a word like any other."""
    return cross_entropy(logits, targets, target_mask & (targets != 0))


def cross_entropy__word_zero_for_padding(logits, targets, target_mask):
    """You took word 0 for padding instead of looking at the mask, in which padding is False."""
    return cross_entropy(logits, targets, targets != 0)


def _differences(logits, targets):
    """Return the probabilities of all words, and the same minus the one-hot target."""
    exponentials = np.exp(logits - logits.max(axis=-1, keepdims=True))
    probabilities = exponentials / exponentials.sum(axis=-1, keepdims=True)
    return probabilities, probabilities - (np.arange(logits.shape[-1]) == targets[..., None])


def logits_gradient__summed(logits, targets, target_mask):
    """You returned the gradient of the sum of the losses. The loss is their mean over the real words."""
    return logits_gradient(logits, targets, target_mask) * target_mask.sum()


def logits_gradient__divided_by_all(logits, targets, target_mask):
    """You divide by the number of all positions, including padding. The loss is a mean over the real words."""
    return logits_gradient(logits, targets, target_mask) * target_mask.sum() / target_mask.size


def logits_gradient__divided_by_sentences(logits, targets, target_mask):
    """You divide by the number of sentences. The loss is a mean over the real words."""
    return logits_gradient(logits, targets, target_mask) * target_mask.sum() / len(logits)


def logits_gradient__at_padding(logits, targets, target_mask):
    """Your gradient is not 0 at padding. How much does the loss change if a logit there changes?"""
    return _differences(logits, targets)[1] / max(1, target_mask.sum())


def logits_gradient__probabilities(logits, targets, target_mask):
    """You returned the probabilities, which are the derivative of the logarithm of the sum. The logit of the target
    word also enters the loss by itself."""
    return np.where(target_mask[..., None], _differences(logits, targets)[0], 0) / max(1, target_mask.sum())


def logits_gradient__sign(logits, targets, target_mask):
    """Your gradient points the other way. If the logit of the target word grows, does the loss grow or fall?"""
    return -logits_gradient(logits, targets, target_mask)


def logits_gradient__targets_of_the_batch(logits, targets, target_mask):
    """You subtracted 1 for the target words of all positions at every position: an index such as `p[:, :, targets]`
    does not pair each position with its own target word."""
    gradient = _differences(logits, targets)[0]
    gradient[..., np.unique(targets)] -= 1
    return np.where(target_mask[..., None], gradient, 0) / max(1, target_mask.sum())


def logits_gradient__of_the_probability(logits, targets, target_mask):
    """You differentiated the probability of the target word, not its logarithm. The derivative of the logarithm
    divides by that probability."""
    probabilities = np.take_along_axis(_differences(logits, targets)[0], targets[..., None], axis=-1)
    return logits_gradient(logits, targets, target_mask) * probabilities


def logits_gradient__target_only(logits, targets, target_mask):
    """Your gradient is 0 except at the target words. The softmax divides by the sum of all exponentials, so each logit of a
    position changes the loss."""
    return np.where(
        np.arange(logits.shape[-1]) == targets[..., None], logits_gradient(logits, targets, target_mask), 0.0
    )


def logits_gradient__overflow(logits, targets, target_mask):
    """For logits above 709, exp overflows. First subtract the largest logit at each position: the probabilities do
    not change."""
    exponentials = np.exp(logits)
    gradient = exponentials / exponentials.sum(axis=-1, keepdims=True)
    gradient -= np.arange(logits.shape[-1]) == targets[..., None]
    return np.where(target_mask[..., None], gradient, 0) / max(1, target_mask.sum())


def _which(**changed):
    return {"loss": 2.576128, "wrong": 3, "entry": -0.727549, "forgotten": 5, **changed}


def which_gradient__suspects_what_is_used_twice():
    """You named the matrix that both steps use. Change its entries a little: does the loss change as this gradient says?"""
    return _which(wrong=2, entry=-0.5970)


def which_gradient__suspects_the_output_matrix():
    """Change the entries of the output matrix a little: does the loss change as the gradient that you named says?"""
    return _which(wrong=1, entry=-0.5119)


def which_gradient__suspects_the_first_state():
    """Change the entries of the first state a little: does the loss change as the gradient that you named says?"""
    return _which(wrong=4, entry=-1.6870)


def which_gradient__entry_as_printed():
    """You gave the printed entry of the wrong gradient. What do the finite differences say?"""
    return _which(entry=-1.3938)


def which_gradient__losses_added():
    """You added the losses of the two steps. The loss is their mean."""
    return _which(loss=5.152256, entry=-1.455098)


def which_gradient__right_words_swapped():
    """You swapped the right words of the two steps: word 1 is right at the first one."""
    return _which(loss=0.288898, entry=0.180785)


def which_gradient__step_too_large():
    """Your step is so large that the loss bends within it. Use one of about 0.00001, upwards and downwards."""
    return _which(entry=-0.722956)


def which_gradient__both_entries_moved():
    """You moved both entries of the vector at once. Each derivative needs a step in one entry alone."""
    return _which(entry=0.595692)


def which_gradient__change_not_halved():
    """From below to above, the entry changes by two steps. Divide by both."""
    return _which(entry=-1.455098)


def which_gradient__mean_suspected():
    """Without the division by 2, every entry of the gradient would be twice as large. Is it?"""
    return _which(forgotten=1)


def which_gradient__first_tanh_suspected():
    """Leave the derivative of the first tanh out of your own gradient: does that give the printed numbers?"""
    return _which(forgotten=2)


def which_gradient__second_tanh_suspected():
    """Leave the derivative of the second tanh out of your own gradient: does that give the printed numbers?"""
    return _which(forgotten=3)


def which_gradient__second_loss_suspected():
    """Compute the derivative of the first step's loss alone: does that give the printed numbers?"""
    return _which(forgotten=4)


def which_gradient__right_words_suspected():
    """Leave the right words out of your own gradient: do the probabilities alone give the printed numbers?"""
    return _which(forgotten=6)


def _write_on(
    state, embeddings, W_s, W_o, limits, uniforms, *, first=2, feeds=True, exceeds=np.greater, of_all=False
):  # fmt: skip
    """Write words up to the largest of ``limits``, without ending a sentence before, with one thing changed."""
    word, words = np.ones(len(state), dtype=int), []
    for step in range(limits.max()):
        state = np.tanh(embeddings[word] + state @ W_s.T)
        logits = state @ W_o.T
        left_out = np.arange(len(W_o)) < first
        if uniforms is None:
            chosen = np.where(left_out, -np.inf, logits).argmax(axis=-1)
        else:
            exponentials = np.exp(logits - logits[:, 0 if of_all else first :].max(axis=-1, keepdims=True))
            probabilities = np.where(left_out, 0, exponentials)
            probabilities /= (exponentials if of_all else probabilities).sum(axis=-1, keepdims=True)
            chosen = exceeds(probabilities.cumsum(axis=-1), uniforms[:, step, None]).argmax(axis=-1)
        word = chosen if feeds else word
        words.append(chosen)
    return np.stack(words, axis=1)


def _end_sentences(words, limits, stopped=None):
    """Return ``words`` with 0 after the first STOP of each sentence, or where it has ``stopped``, and after its limit."""
    if stopped is None:
        stopped = np.cumsum(words == 2, axis=1) - (words == 2) > 0
    return np.where(stopped | (np.arange(words.shape[1]) >= limits[:, None]), 0, words)


def decode__goes_on_after_stop(state, embeddings, W_s, W_o, limits, uniforms=None):
    """After STOP, a sentence may have only zeros, however long the others go on."""
    return _end_sentences(_write_on(state, embeddings, W_s, W_o, limits, uniforms), limits, stopped=False)


def decode__stop_not_written(state, embeddings, W_s, W_o, limits, uniforms=None):
    """STOP is missing from your sentences. It is written like any other word; only what follows it is 0."""
    words = decode(state, embeddings, W_s, W_o, limits, uniforms)
    return np.where(words == 2, 0, words)


def decode__start_written(state, embeddings, W_s, W_o, limits, uniforms=None):
    """Your sentences begin with START. It is only read: the first column should be the first chosen word."""
    words = decode(state, embeddings, W_s, W_o, limits, uniforms)
    return np.concatenate([np.ones((len(state), 1), dtype=int), words[:, :-1]], axis=1)


def decode__one_stop_ends_all(state, embeddings, W_s, W_o, limits, uniforms=None):
    """Your loop ends as soon as one sentence stops. The others should go on."""
    words = decode(state, embeddings, W_s, W_o, limits, uniforms)
    stops = (words == 2).any(axis=0)
    return np.where(np.cumsum(stops) - stops > 0, 0, words)


def decode__limit_of_the_longest(state, embeddings, W_s, W_o, limits, uniforms=None):
    """Some sentences have more words than their limit. Each sentence has a limit of its own."""
    return _end_sentences(_write_on(state, embeddings, W_s, W_o, limits, uniforms), np.full(len(state), limits.max()))


def decode__one_word_short(state, embeddings, W_s, W_o, limits, uniforms=None):
    """Sentences that reach their limit have one word too few. START does not count, because it is not written."""
    return _end_sentences(_write_on(state, embeddings, W_s, W_o, limits, uniforms), limits - 1)


def decode__start_chosen(state, embeddings, W_s, W_o, limits, uniforms=None):
    """Padding or START was chosen. Which words may be chosen at all?"""
    return _end_sentences(_write_on(state, embeddings, W_s, W_o, limits, uniforms, first=0), limits)


def decode__always_reads_start(state, embeddings, W_s, W_o, limits, uniforms=None):
    """Your decoder reads START at every step. After the first step, it should read the word that it has just written."""
    return _end_sentences(_write_on(state, embeddings, W_s, W_o, limits, uniforms, feeds=False), limits)


def decode__left_out_after_the_softmax(state, embeddings, W_s, W_o, limits, uniforms=None):
    """You left out padding and START after the softmax, so the probabilities of the other words do not sum to 1. Leave
    them out before."""
    return _end_sentences(_write_on(state, embeddings, W_s, W_o, limits, uniforms, of_all=True), limits)


def decode__as_large_is_enough(state, embeddings, W_s, W_o, limits, uniforms=None):
    """For a number of exactly 0 you chose padding, whose probability is 0. The cumulative probability must be greater
    than the number, not equal to it."""
    return _end_sentences(_write_on(state, embeddings, W_s, W_o, limits, uniforms, exceeds=np.greater_equal), limits)


def _chosen(totals, width):
    best = totals.flatten(1).topk(width, dim=1).indices
    return torch.stack([best // totals.shape[-1], best % totals.shape[-1]], dim=-1)


def beam_step__own_best_word(scores, log_probabilities):
    """You continued each hypothesis only once, with its best word. Several of the best continuations may share a hypothesis."""
    totals = (scores.unsqueeze(-1) + log_probabilities).max(dim=-1)
    order = totals.values.argsort(dim=1, descending=True)
    return torch.stack([order, totals.indices.gather(1, order)], dim=-1)


def beam_step__past_forgotten(scores, log_probabilities):
    """You compared only the next words. How likely a continuation is also depends on its hypothesis."""
    return _chosen(log_probabilities, scores.shape[1])


def beam_step__multiplied(scores, log_probabilities):
    """You multiplied log-probabilities. Probabilities are multiplied, but their logarithms are added."""
    return _chosen(scores.unsqueeze(-1) * log_probabilities, scores.shape[1])


def beam_step__exchanged(scores, log_probabilities):
    """You swapped hypothesis and word: the hypothesis should come first."""
    return _chosen(scores.unsqueeze(-1) + log_probabilities, scores.shape[1]).flip(-1)


def beam_step__worst_first(scores, log_probabilities):
    """You chose the right continuations, but in reverse order: the best one should come first."""
    return _chosen(scores.unsqueeze(-1) + log_probabilities, scores.shape[1]).flip(1)


def beam_step__lowest(scores, log_probabilities):
    """You kept the least likely continuations. The closer a log-probability is to 0, the more likely the continuation."""
    return _chosen(-(scores.unsqueeze(-1) + log_probabilities), scores.shape[1])


def beam_step__probabilities(scores, log_probabilities):
    """You compared probabilities, all of which are 0 below exp(-745). Compare their logarithms."""
    return _chosen((scores.unsqueeze(-1) + log_probabilities).exp(), scores.shape[1])


def beam_step__divided_by_width(scores, log_probabilities):
    """You divided the flattened index by the number of hypotheses. How many continuations does each hypothesis have?"""
    totals, width = scores.unsqueeze(-1) + log_probabilities, scores.shape[1]
    best = totals.flatten(1).topk(width, dim=1).indices
    return torch.stack([best // width, best % width], dim=-1)


def beam_step__all_vocabulary(scores, log_probabilities):
    """You returned all continuations. Keep only as many as there are hypotheses."""
    totals = scores.unsqueeze(-1) + log_probabilities
    return _chosen(totals, totals[0].numel())


def beam_step__squeezed(scores, log_probabilities):
    """An axis of length 1 went missing: without an argument, squeeze() also drops the axis of a single sentence or
    a single hypothesis."""
    return _chosen(scores.unsqueeze(-1) + log_probabilities, scores.shape[1]).squeeze()
