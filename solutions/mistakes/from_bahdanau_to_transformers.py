"""Wrong answers that students give to the exercises on what came after Bahdanau. The docstring is the hint."""

import math

import numpy as np
import torch


def multi_head_shapes__one_head(heads, m, r, T_x, T_y):
    """These are the sizes of a single head: the matrix makes the keys of all heads, and all contexts are joined."""
    return {"W_key": (r, m), "keys": (heads, T_x, r), "weights": (heads, T_y, T_x), "joined": (T_y, r)}


def multi_head_shapes__transposed(heads, m, r, T_x, T_y):
    """A matrix has a row for each number that comes out, and a column for each number that goes in."""
    return {"W_key": (m, heads * r), "keys": (heads, T_x, r), "weights": (heads, T_y, T_x), "joined": (T_y, heads * r)}


def multi_head_shapes__positions_last(heads, m, r, T_x, T_y):
    """Each position, or step, has a row of its own: the entries of its vector stand along the last axis."""
    return {"W_key": (heads * r, m), "keys": (heads, r, T_x), "weights": (heads, T_y, T_x), "joined": (heads * r, T_y)}


def multi_head_shapes__source_first(heads, m, r, T_x, T_y):
    """Each decoder step has a row of weights of its own, with one weight for each source position."""
    return {"W_key": (heads * r, m), "keys": (heads, T_x, r), "weights": (heads, T_x, T_y), "joined": (T_y, heads * r)}


def multi_head_shapes__heads_shared(heads, m, r, T_x, T_y):
    """Every head has keys of its own and weights of its own. You have one set for all of them."""
    return {"W_key": (heads * r, m), "keys": (T_x, r), "weights": (T_y, T_x), "joined": (T_y, heads * r)}


def multi_head_shapes__heads_last(heads, m, r, T_x, T_y):
    """Where does the axis stand that counts the heads? With one matrix for each head, it comes first."""
    return {
        "W_key": (heads * r, m),
        "keys": (T_x, heads, r),
        "weights": (T_y, T_x, heads),
        "joined": (T_y, heads, r),
    }


def multi_head_shapes__annotation_divided(heads, m, r, T_x, T_y):
    """A head does not see a part of the annotation: it sees the whole of it, through a matrix of its own."""
    return {"W_key": (r, m), "keys": (heads, T_x, m), "weights": (heads, T_y, T_x), "joined": (T_y, m)}


def _softmax(scores):
    powers = np.exp(np.array(scores) - max(scores))
    return powers / powers.sum()


def _two_heads(first, second, softmax=_softmax, order=slice(None)):
    values = np.array([[[1.0, 0.0], [0.0, 2.0], [-1.0, 1.0]], [[3.0, -1.0], [0.5, 1.0], [-2.0, 0.0]]])
    weights = np.array([softmax(first), softmax(second)])
    contexts = np.einsum("zj,zjw->zw", weights, values)[order]
    return {"scores": [*first, *second], "weights": weights.flatten().tolist(), "joined": contexts.flatten().tolist()}


def two_heads_by_hand__not_scaled():
    """The dot products are right, and go into the softmax too large: what are they divided by first?"""
    return _two_heads([4.0, 1.0, -1.0], [-3.0, 3.0, 1.0])


def two_heads_by_hand__divided_by_the_size():
    """You divided by the number of entries of a key. It is the root of that number."""
    return _two_heads([1.0, 0.25, -0.25], [-0.75, 0.75, 0.25])


def two_heads_by_hand__divided_by_the_positions():
    """The root is of the wrong number: a longer sentence does not make dot products larger. What does?"""
    root = math.sqrt(3)
    return _two_heads([4 / root, 1 / root, -1 / root], [-3 / root, 3 / root, 1 / root])


def two_heads_by_hand__no_softmax():
    """You mixed with the scores. They become weights only after the softmax."""
    return _two_heads([2.0, 0.5, -0.5], [-1.5, 1.5, 0.5], softmax=list)


def two_heads_by_hand__first_head_twice():
    """Each head looks with its own query at its own keys. Your second head looks where the first one does."""
    return _two_heads([2.0, 0.5, -0.5], [2.0, 0.5, -0.5])


def two_heads_by_hand__second_head_first():
    """The contexts are right and stand in the other order: the first head comes first."""
    return _two_heads([2.0, 0.5, -0.5], [-1.5, 1.5, 0.5], order=slice(None, None, -1))


def two_heads_by_hand__values_exchanged():
    """Each head mixes values of its own. Your two heads have exchanged theirs."""
    answer = _two_heads([2.0, 0.5, -0.5], [-1.5, 1.5, 0.5])
    other = _two_heads([-1.5, 1.5, 0.5], [2.0, 0.5, -0.5], order=slice(None, None, -1))
    return {**answer, "joined": other["joined"]}


def _saturation(spread, plain=None, scaled=None):
    def pull(difference):
        weight = 1 / (1 + math.exp(-difference))
        return weight * (1 - weight)

    plain = pull(2 * spread) if plain is None else plain
    return {"spread": spread, "plain": plain, "scaled": pull(2 * spread / 4) if scaled is None else scaled}


def saturation__variance():
    """This is the variance of a score. Its root says how far a score lies from 0."""
    return _saturation(16 * 0.2025)


def saturation__not_added():
    """Does your spread count all the products that a dot product adds? Their variances add: one for each entry."""
    return _saturation(0.45)


def saturation__deviations_added():
    """Of independent numbers the variances add, not the standard deviations."""
    return _saturation(16 * 0.45)


def saturation__one_score():
    """Between a score one spread above 0 and one as far below lie two spreads, not one."""
    return _saturation(1.8, *(math.exp(-x) / (1 + math.exp(-x)) ** 2 for x in (1.8, 0.45)))


def saturation__divided_by_the_size():
    """You divided the scores by the number of entries: then they are smaller still. It is its root."""
    return _saturation(1.8, scaled=math.exp(-0.225) / (1 + math.exp(-0.225)) ** 2)


def saturation__weight():
    """This is the weight. How fast it answers to its own score is asked for."""
    return _saturation(1.8, *(1 / (1 + math.exp(-x)) for x in (3.6, 0.9)))


def _positions(**changed):
    encoding = [math.sin(5), math.cos(5), math.sin(0.05), math.cos(0.05)]
    return {"encoding": encoding, "product": math.cos(4) + math.cos(0.04), "partner": 24, **changed}


def positions_by_hand__degrees():
    """Your calculator takes the angles for degrees. Here they are in radians: position 5 is an angle of 5."""
    angles = [math.radians(5), math.radians(0.05)]
    product = math.cos(math.radians(4)) + math.cos(math.radians(0.04))
    return _positions(encoding=[f(angle) for angle in angles for f in (math.sin, math.cos)], product=product)


def positions_by_hand__sines_first():
    """All sines stand before all cosines in yours. Entry 2l is a sine, entry 2l + 1 the cosine of the same angle."""
    return _positions(encoding=[math.sin(5), math.sin(0.05), math.cos(5), math.cos(0.05)])


def positions_by_hand__cosine_first():
    """Sine and cosine are exchanged in your pairs: the entries with even numbers, 0 among them, are sines."""
    return _positions(encoding=[math.cos(5), math.sin(5), math.cos(0.05), math.sin(0.05)])


def positions_by_hand__half_the_exponent():
    """The exponent of the second pair is 2l/d with l = 1 and d = 4: that is a half. Yours is a quarter."""
    encoding = [math.sin(5), math.cos(5), math.sin(0.5), math.cos(0.5)]
    return _positions(encoding=encoding, product=math.cos(4) + math.cos(0.4))


def positions_by_hand__a_frequency_for_each_entry():
    """Each entry has an angle of its own in yours. The two entries of a pair share one l, and so one angle."""
    angles = [5 / 10000 ** (2 * entry / 4) for entry in range(4)]
    return _positions(encoding=[(math.sin, math.cos)[entry % 2](angle) for entry, angle in enumerate(angles)])


def positions_by_hand__counted_from_one():
    """These are the numbers of position 4. The text says which position is meant: 5 goes into the formula as it is."""
    return _positions(encoding=[math.sin(4), math.cos(4), math.sin(0.04), math.cos(0.04)])


def positions_by_hand__one_pair():
    """You took one pair of entries only. A dot product runs over all four entries, so over both pairs."""
    return _positions(product=math.cos(4))


def positions_by_hand__cosines_multiplied():
    """You multiplied the cosines of the two pairs. A dot product adds what its entries give."""
    return _positions(product=math.cos(4) * math.cos(0.04))


def positions_by_hand__positions_added():
    """The dot product hangs on the difference of the two positions. In yours they are added."""
    return _positions(product=math.cos(10) + math.cos(0.1))


def positions_by_hand__same_ratio():
    """It is the distance of two positions that the product hangs on, not their ratio, and 20 and yours lie too far apart."""
    return _positions(partner=47)


def positions_by_hand__before():
    """That position has the right product too, but it comes before 20. Which one after it is as far away?"""
    return _positions(partner=16)


def positions_by_hand__next_one():
    """The next position has a distance of 1. How far apart are 3 and 7?"""
    return _positions(partner=21)


def _block(**changed):
    parts = {"attention": 9216, "network": 15568, "norms": 192} | changed
    return {"longer": parts["attention"] + parts["network"] + parts["norms"], "length": 480} | parts


def block_by_count__no_biases():
    """The biases of the network are missing: one number for each entry that a matrix gives, after both matrices."""
    return _block(network=2 * 48 * 160)


def block_by_count__one_bias():
    """Both matrices of the network have a bias. The second gives 48 entries again, so its bias has 48."""
    return _block(network=2 * 48 * 160 + 160)


def block_by_count__biases_alike():
    """The two biases of the network have different sizes: each is added to what its own matrix gives."""
    return _block(network=2 * 48 * 160 + 2 * 160)


def block_by_count__one_matrix():
    """The network goes to 160 entries and back: it has two matrices."""
    return _block(network=48 * 160 + 160)


def block_by_count__three_matrices():
    """You counted three matrices of the attention. What the heads give goes through one more, W_out."""
    return _block(attention=3 * 48 * 48)


def block_by_count__attention_with_biases():
    """In this block the matrices of the attention have no biases."""
    return _block(attention=4 * (48 * 48 + 48))


def block_by_count__one_norm():
    """There are two normalizations, each with a gain and a bias of its own."""
    return _block(norms=2 * 48)


def block_by_count__two_numbers_a_norm():
    """Gain and bias are vectors: one number for each of the 48 entries."""
    return _block(norms=4)


def block_by_count__grows_with_the_sentence():
    """All positions share the same parameters: is there any learned array with an axis as long as the sentence?"""
    return _block(longer=2 * (9216 + 15568 + 192))


def block_by_count__scores_alone():
    """That counts the scores alone. The mixtures take as many multiplications again."""
    return _block(length=2 * 480)


def block_by_count__network_once():
    """That counts one matrix of the network alone: each position goes through both."""
    return _block(length=240)


def block_by_count__equal_costs():
    """At that length the two take equally many. Three times as many are asked for."""
    return _block(length=160)


def block_by_count__length_of_a_vector():
    """You compared the length with the size of a vector. Write both costs down, for a whole sentence, and divide."""
    return _block(length=3 * 48)


def _weights(scores, source_mask):
    kept = np.where(source_mask, scores, -1e300)
    powers = np.exp(kept - kept.max(axis=1, keepdims=True)) * source_mask
    total = powers.sum(axis=1, keepdims=True)
    return powers / np.where(total > 0, total, 1)


def _dots(query, keys):
    return np.einsum("br,bjr->bj", query, keys)


def _mixed(weights, values):
    return np.einsum("bj,bjw->bw", weights, values)


def scaled_attention__not_scaled(query, keys, values, source_mask):
    """The dot products go into the softmax as they are: their size grows with the number of entries of a key."""
    return _mixed(_weights(_dots(query, keys), source_mask), values)


def scaled_attention__divided_by_the_size(query, keys, values, source_mask):
    """You divided by the number of entries of a key. It is the root of that number."""
    return _mixed(_weights(_dots(query, keys) / keys.shape[2], source_mask), values)


def scaled_attention__scaled_by_the_positions(query, keys, values, source_mask):
    """The root is of the wrong size: a longer sentence does not make dot products larger. What does?"""
    return _mixed(_weights(_dots(query, keys) / math.sqrt(keys.shape[1]), source_mask), values)


def scaled_attention__scaled_by_the_values(query, keys, values, source_mask):
    """The root is of the size of a value, and the values have no part in the scores."""
    return _mixed(_weights(_dots(query, keys) / math.sqrt(values.shape[2]), source_mask), values)


def scaled_attention__scaled_after_the_softmax(query, keys, values, source_mask):
    """You divided the weights: they no longer add to 1. The scores are what is too large."""
    return _mixed(_weights(_dots(query, keys), source_mask) / math.sqrt(keys.shape[2]), values)


def scaled_attention__keys_mixed(query, keys, values, source_mask):
    """You mixed the keys. They say where to look; what is handed on are the values."""
    return _mixed(_weights(_dots(query, keys) / math.sqrt(keys.shape[2]), source_mask), keys)


def scaled_attention__mask_ignored(query, keys, values, source_mask):
    """The pads have a part in your context: a pad's score is a number like any other until it is masked."""
    scores = _dots(query, keys) / math.sqrt(keys.shape[2])
    return _mixed(_weights(scores, np.ones_like(source_mask)), values)


def scaled_attention__masked_after_softmax(query, keys, values, source_mask):
    """You removed the pads after the softmax: what is left no longer adds to 1."""
    scores = _dots(query, keys) / math.sqrt(keys.shape[2])
    return _mixed(_weights(scores, np.ones_like(source_mask)) * source_mask, values)


def scaled_attention__pad_scores_zero(query, keys, values, source_mask):
    """You set the scores of the pads to 0, and exp(0) is 1: a score of 0 is not a weight of 0."""
    scores = _dots(query, keys) / math.sqrt(keys.shape[2])
    return _mixed(_weights(scores * source_mask, np.ones_like(source_mask)), values)


def scaled_attention__mask_turned_round(query, keys, values, source_mask):
    """The mask is true at real tokens. You kept the pads and left out the words."""
    return _mixed(_weights(_dots(query, keys) / math.sqrt(keys.shape[2]), ~source_mask), values)


def scaled_attention__minus_infinity(query, keys, values, source_mask):
    """Where a whole row is minus infinity, the softmax divides 0 by 0. Think of a sentence without a real token."""
    scores = np.where(source_mask, _dots(query, keys) / math.sqrt(keys.shape[2]), -np.inf)
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return _mixed(powers / powers.sum(axis=1, keepdims=True), values)


def scaled_attention__spread_over_pads(query, keys, values, source_mask):
    """Where no token is real, every score is equally low, and the softmax shares the weight among the pads."""
    scores = np.where(source_mask, _dots(query, keys) / math.sqrt(keys.shape[2]), -1e9)
    return _mixed(_weights(scores, np.ones_like(source_mask)), values)


def scaled_attention__overflow(query, keys, values, source_mask):
    """exp overflows above 709. Subtracting one number from all scores of a row changes no weight."""
    powers = np.exp(_dots(query, keys) / math.sqrt(keys.shape[2])) * source_mask
    total = powers.sum(axis=1, keepdims=True)
    return _mixed(powers / np.where(total > 0, total, 1), values)


def scaled_attention__squeezed(query, keys, values, source_mask):
    """An axis of length 1 went missing: a batch of one sentence keeps its batch axis."""
    return np.squeeze(_mixed(_weights(_dots(query, keys) / math.sqrt(keys.shape[2]), source_mask), values))


def _hidden(query, keys, W_query, W_key):
    return (query @ W_query.T)[:, None, :] + keys @ W_key.T


def coverage_scores__no_coverage(query, keys, earlier_weights, W_query, W_key, w_cover, v):
    """These are the scores without memory: the weights of the steps before have no part in them."""
    return np.tanh(_hidden(query, keys, W_query, W_key)) @ v


def coverage_scores__last_step_only(query, keys, earlier_weights, W_query, W_key, w_cover, v):
    """You know the last step only. Coverage remembers all of them."""
    hidden = _hidden(query, keys, W_query, W_key) + earlier_weights[:, -1, :, None] * w_cover
    return np.tanh(hidden) @ v


def coverage_scores__mean(query, keys, earlier_weights, W_query, W_key, w_cover, v):
    """You averaged over the steps: then a position never counts as read more often than once."""
    hidden = _hidden(query, keys, W_query, W_key) + earlier_weights.mean(axis=1)[:, :, None] * w_cover
    return np.tanh(hidden) @ v


def coverage_scores__outside_the_tanh(query, keys, earlier_weights, W_query, W_key, w_cover, v):
    """The coverage joins the sum inside the tanh: outside, it would count the same whatever the word is."""
    coverage = earlier_weights.sum(axis=1)
    return (np.tanh(_hidden(query, keys, W_query, W_key)) + coverage[:, :, None] * w_cover) @ v


def coverage_scores__subtracted(query, keys, earlier_weights, W_query, W_key, w_cover, v):
    """Nothing is subtracted in the formula: whether coverage lowers a score is for w_cover to learn."""
    hidden = _hidden(query, keys, W_query, W_key) - earlier_weights.sum(axis=1)[:, :, None] * w_cover
    return np.tanh(hidden) @ v


def coverage_scores__no_tanh(query, keys, earlier_weights, W_query, W_key, w_cover, v):
    """The tanh is missing: without it the score is linear in all three terms."""
    return (_hidden(query, keys, W_query, W_key) + earlier_weights.sum(axis=1)[:, :, None] * w_cover) @ v


def coverage_scores__products(query, keys, earlier_weights, W_query, W_key, w_cover, v):
    """You multiplied the weights of the steps. Coverage adds them up."""
    hidden = _hidden(query, keys, W_query, W_key) + earlier_weights.prod(axis=1)[:, :, None] * w_cover
    return np.tanh(hidden) @ v


def coverage_scores__squeezed(query, keys, earlier_weights, W_query, W_key, w_cover, v):
    """An axis of length 1 went missing: a batch of one sentence keeps its batch axis."""
    hidden = _hidden(query, keys, W_query, W_key) + earlier_weights.sum(axis=1)[:, :, None] * w_cover
    return np.squeeze(np.tanh(hidden) @ v)


def _normalized(states, gain, bias, axis=-1, ddof=0):
    mean, variance = states.mean(axis=axis, keepdims=True), states.var(axis=axis, ddof=ddof, keepdims=True)
    return gain * (states - mean) / np.sqrt(variance + 1e-5) + bias


def layer_norm__over_the_batch(states, gain, bias):
    """You took mean and variance over the sentences, as batch normalization does: each position has its own."""
    return _normalized(states, gain, bias, axis=0)


def layer_norm__over_the_positions(states, gain, bias):
    """You took mean and variance over the positions of a sentence. They run over the entries of one position."""
    return _normalized(states, gain, bias, axis=1)


def layer_norm__over_the_sentence(states, gain, bias):
    """You took one mean and one variance for a whole sentence: each position has its own."""
    return _normalized(states, gain, bias, axis=(1, 2))


def layer_norm__over_everything(states, gain, bias):
    """You took one mean and one variance for the whole batch: each position has its own."""
    return _normalized(states, gain, bias, axis=(0, 1, 2))


def layer_norm__divided_by_one_less(states, gain, bias):
    """Your variance divides by one less than the number of entries. Here it is the mean of the squared distances."""
    with np.errstate(all="ignore"):
        variance = states.var(axis=-1, ddof=1, keepdims=True) if states.shape[-1] > 1 else np.nan
        return gain * (states - states.mean(axis=-1, keepdims=True)) / np.sqrt(variance + 1e-5) + bias


def layer_norm__no_root(states, gain, bias):
    """You divided by the variance itself: its root brings the entries to a variance of 1."""
    mean, variance = states.mean(axis=-1, keepdims=True), states.var(axis=-1, keepdims=True)
    return gain * (states - mean) / (variance + 1e-5) + bias


def layer_norm__epsilon_outside(states, gain, bias):
    """The small number is added to the variance, under the root. In yours it is added to the root."""
    mean, deviation = states.mean(axis=-1, keepdims=True), states.std(axis=-1, keepdims=True)
    return gain * (states - mean) / (deviation + 1e-5) + bias


def layer_norm__no_epsilon(states, gain, bias):
    """Where all entries are alike, you divide 0 by 0: the small number under the root is missing."""
    with np.errstate(all="ignore"):
        mean, deviation = states.mean(axis=-1, keepdims=True), states.std(axis=-1, keepdims=True)
        return gain * (states - mean) / deviation + bias


def layer_norm__mean_kept(states, gain, bias):
    """The mean was not subtracted: after a normalization the entries have the mean 0."""
    return gain * states / np.sqrt(states.var(axis=-1, keepdims=True) + 1e-5) + bias


def layer_norm__mean_square(states, gain, bias):
    """You divided by the root of the mean square. The variance is the mean of squared distances from the mean."""
    mean, square = states.mean(axis=-1, keepdims=True), (states**2).mean(axis=-1, keepdims=True)
    return gain * (states - mean) / np.sqrt(square + 1e-5) + bias


def layer_norm__gain_dropped(states, gain, bias):
    """The gain has no influence on your result."""
    return _normalized(states, 1, bias)


def layer_norm__bias_dropped(states, gain, bias):
    """The bias has no influence on your result."""
    return _normalized(states, gain, 0)


def layer_norm__exchanged(states, gain, bias):
    """Gain and bias are exchanged: the gain multiplies, the bias is added."""
    return _normalized(states, bias, gain)


def layer_norm__bias_before_the_gain(states, gain, bias):
    """You added the bias before the gain multiplies: it comes last, and is not scaled."""
    return gain * (_normalized(states, 1, 0) + bias)


def layer_norm__squeezed(states, gain, bias):
    """An axis of length 1 went missing: the result has the shape of the states."""
    return _normalized(states, gain, bias).squeeze()


_FOUR = np.array([[1.0, 1.0], [4.0, 0.0], [-1.0, 4.0], [-3.0, -2.0]])
_MIXTURE = np.array([0.4, 0.3, 0.2, 0.1])


def same_context__stretched():
    """You took the first weight out and stretched the others. Mix with them: does the context stay where it was?"""
    return [0.0, *(_MIXTURE[1:] / _MIXTURE[1:].sum()).tolist()]


def same_context__shared_out():
    """You shared the first weight among the others. Mix with them: does the context stay where it was?"""
    return [0.0, *(_MIXTURE[1:] + 0.4 / 3).tolist()]


def same_context__the_given_ones():
    """These are the given weights. Others are asked for, with nothing on the first annotation."""
    return _MIXTURE.tolist()


def same_context__not_adding_to_one():
    """Mixing with your weights gives the context, but they do not add to 1: that is the third equation."""
    return [0.0, *np.linalg.solve(_FOUR[1:3].T, _MIXTURE @ _FOUR).tolist(), 0.0]


def same_context__three_only():
    """The first annotation is still in your list, under another name: four weights, in the order of the annotations."""
    return [*np.linalg.solve(np.vstack([_FOUR[1:].T, np.ones(3)]), [*(_MIXTURE @ _FOUR), 1.0]).tolist(), 0.0]


def _heads(query, keys, source_mask, W_query, W_key, W_value, scale=None, order="bzw"):
    queries = torch.einsum("zrn,bn->bzr", W_query, query)
    scores = torch.einsum("bzr,zrm,bjm->bzj", queries, W_key, keys) / (scale or math.sqrt(W_key.shape[1]))
    real = source_mask[:, None, :]
    weights = torch.softmax(scores.masked_fill(~real, torch.finfo(scores.dtype).min), dim=-1) * real
    return torch.einsum(f"bzj,zwm,bjm->{order}", weights, W_value, keys)


def multi_head__not_scaled(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """The dot products go into the softmax as they are: their size grows with the number of entries of a key."""
    return _heads(query, keys, source_mask, W_query, W_key, W_value, scale=1.0).flatten(1) @ W_out.T


def multi_head__scaled_by_all_heads(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """You scaled as if one key held the entries of all heads. A head's dot product has its own entries only."""
    scale = math.sqrt(W_key.shape[0] * W_key.shape[1])
    return _heads(query, keys, source_mask, W_query, W_key, W_value, scale=scale).flatten(1) @ W_out.T


def multi_head__scaled_by_the_annotation(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """You scaled by the size of an annotation. The dot product is taken after the matrix."""
    scale = math.sqrt(keys.shape[2])
    return _heads(query, keys, source_mask, W_query, W_key, W_value, scale=scale).flatten(1) @ W_out.T


def multi_head__scaled_by_the_values(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """You scaled by the size of a value. The dot product is of query and key: how many entries have these?"""
    scale = math.sqrt(W_value.shape[1])
    return _heads(query, keys, source_mask, W_query, W_key, W_value, scale=scale).flatten(1) @ W_out.T


def multi_head__entries_interleaved(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """The contexts stand interleaved, entry by entry: join them head after head."""
    return _heads(query, keys, source_mask, W_query, W_key, W_value, order="bwz").flatten(1) @ W_out.T


def multi_head__first_head_only(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """Every head looks with the query and key of the first one: then several heads see no more than one."""
    first_query, first_key = W_query[:1].expand_as(W_query), W_key[:1].expand_as(W_key)
    return _heads(query, keys, source_mask, first_query, first_key, W_value).flatten(1) @ W_out.T


def multi_head__softmax_over_heads(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """Your softmax compares the heads with each other. Each head chooses among the positions."""
    queries = torch.einsum("zrn,bn->bzr", W_query, query)
    scores = torch.einsum("bzr,zrm,bjm->bzj", queries, W_key, keys) / math.sqrt(W_key.shape[1])
    weights = torch.softmax(scores, dim=1) * source_mask[:, None, :]
    return torch.einsum("bzj,zwm,bjm->bzw", weights, W_value, keys).flatten(1) @ W_out.T


def multi_head__mask_ignored(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """The pads have a part in your result: a pad's score is a number like any other until it is masked."""
    everything = torch.ones_like(source_mask)
    return _heads(query, keys, everything, W_query, W_key, W_value).flatten(1) @ W_out.T


def multi_head__mask_turned_round(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """The mask is true at real tokens. You kept the pads and left out the words."""
    return _heads(query, keys, ~source_mask, W_query, W_key, W_value).flatten(1) @ W_out.T


def multi_head__minus_infinity(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """Where a whole row is minus infinity, the softmax divides 0 by 0. Think of a sentence without a real token."""
    queries = torch.einsum("zrn,bn->bzr", W_query, query)
    scores = torch.einsum("bzr,zrm,bjm->bzj", queries, W_key, keys) / math.sqrt(W_key.shape[1])
    weights = torch.softmax(scores.masked_fill(~source_mask[:, None, :], float("-inf")), dim=-1)
    return torch.einsum("bzj,zwm,bjm->bzw", weights, W_value, keys).flatten(1) @ W_out.T


def multi_head__overflow(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """exp overflows where scores are large: torch.softmax subtracts the largest score first."""
    queries = torch.einsum("zrn,bn->bzr", W_query, query)
    scores = torch.einsum("bzr,zrm,bjm->bzj", queries, W_key, keys) / math.sqrt(W_key.shape[1])
    powers = torch.exp(scores) * source_mask[:, None, :]
    weights = powers / powers.sum(dim=-1, keepdim=True).clamp(min=1e-30)
    return torch.einsum("bzj,zwm,bjm->bzw", weights, W_value, keys).flatten(1) @ W_out.T


def multi_head__squeezed(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """An axis of length 1 went missing: a batch of one sentence keeps its batch axis."""
    return (_heads(query, keys, source_mask, W_query, W_key, W_value).flatten(1) @ W_out.T).squeeze()


def multi_head__detached(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """The values are right, and no gradient reaches the scores: the weights were taken out of the graph."""
    queries = torch.einsum("zrn,bn->bzr", W_query, query)
    scores = torch.einsum("bzr,zrm,bjm->bzj", queries, W_key, keys) / math.sqrt(W_key.shape[1])
    real = source_mask[:, None, :]
    weights = torch.softmax(scores.masked_fill(~real, torch.finfo(scores.dtype).min), dim=-1) * real
    return torch.einsum("bzj,zwm,bjm->bzw", weights.detach(), W_value, keys).flatten(1) @ W_out.T


def _attended(states, seen, W_query, W_key, W_value, scale=None, dim=-1):
    scores = states @ W_query.T @ (states @ W_key.T).transpose(1, 2) / (scale or math.sqrt(W_key.shape[0]))
    weights = torch.softmax(scores.masked_fill(~seen, torch.finfo(scores.dtype).min), dim=dim) * seen
    return weights @ (states @ W_value.T)


def _not_after(states):
    return torch.ones(states.shape[1], states.shape[1], dtype=torch.bool).tril()


def self_attention__sees_the_future(states, mask, W_query, W_key, W_value):
    """Every position reads the whole sequence, also what comes after it: a decoder would be shown its own answer."""
    seen = torch.ones_like(_not_after(states)) & mask[:, None, :]
    return _attended(states, seen, W_query, W_key, W_value)


def self_attention__not_itself(states, mask, W_query, W_key, W_value):
    """A position may read itself, and yours reads only what stands before it: see what the first one gets."""
    seen = _not_after(states).tril(-1) & mask[:, None, :]
    return _attended(states, seen, W_query, W_key, W_value)


def self_attention__sees_only_the_future(states, mask, W_query, W_key, W_value):
    """The triangle is the wrong one: row i belongs to the position that reads, column j to the one that is read."""
    return _attended(states, _not_after(states).T & mask[:, None, :], W_query, W_key, W_value)


def self_attention__mask_on_the_rows(states, mask, W_query, W_key, W_value):
    """You masked the positions that read. A pad must not be read."""
    return _attended(states, _not_after(states) & mask[:, :, None], W_query, W_key, W_value)


def self_attention__mask_ignored(states, mask, W_query, W_key, W_value):
    """The pads have a part in your result: a pad must not be read."""
    return _attended(states, _not_after(states).expand(len(states), -1, -1), W_query, W_key, W_value)


def self_attention__softmax_over_the_readers(states, mask, W_query, W_key, W_value):
    """Your softmax runs over the positions that read. The weights of one reader add to 1 over what it reads."""
    return _attended(states, _not_after(states) & mask[:, None, :], W_query, W_key, W_value, dim=1)


def self_attention__not_scaled(states, mask, W_query, W_key, W_value):
    """The dot products go into the softmax as they are: their size grows with the number of entries of a key."""
    return _attended(states, _not_after(states) & mask[:, None, :], W_query, W_key, W_value, scale=1.0)


def self_attention__scaled_by_the_state(states, mask, W_query, W_key, W_value):
    """You scaled by the size of a state. The dot product is taken after the matrices."""
    scale = math.sqrt(states.shape[2])
    return _attended(states, _not_after(states) & mask[:, None, :], W_query, W_key, W_value, scale=scale)


def self_attention__scaled_by_the_values(states, mask, W_query, W_key, W_value):
    """You scaled by the size of a value. The dot product is of query and key: how many entries have these?"""
    scale = math.sqrt(W_value.shape[0])
    return _attended(states, _not_after(states) & mask[:, None, :], W_query, W_key, W_value, scale=scale)


def self_attention__queries_and_keys_exchanged(states, mask, W_query, W_key, W_value):
    """Query and key have changed places: the row that reads asks, the column that is read answers."""
    return _attended(states, _not_after(states) & mask[:, None, :], W_key, W_query, W_value)


def self_attention__minus_infinity(states, mask, W_query, W_key, W_value):
    """Where a whole row is minus infinity, the softmax divides 0 by 0. Think of a sequence that begins with a pad."""
    scores = states @ W_query.T @ (states @ W_key.T).transpose(1, 2) / math.sqrt(W_key.shape[0])
    seen = _not_after(states) & mask[:, None, :]
    return torch.softmax(scores.masked_fill(~seen, float("-inf")), dim=-1) @ (states @ W_value.T)


def self_attention__overflow(states, mask, W_query, W_key, W_value):
    """exp overflows where scores are large: torch.softmax subtracts the largest score first."""
    scores = states @ W_query.T @ (states @ W_key.T).transpose(1, 2) / math.sqrt(W_key.shape[0])
    powers = torch.exp(scores) * (_not_after(states) & mask[:, None, :])
    return powers / powers.sum(dim=-1, keepdim=True).clamp(min=1e-30) @ (states @ W_value.T)


def self_attention__squeezed(states, mask, W_query, W_key, W_value):
    """An axis of length 1 went missing: a batch of one sentence keeps its batch axis."""
    return _attended(states, _not_after(states) & mask[:, None, :], W_query, W_key, W_value).squeeze()


def self_attention__detached(states, mask, W_query, W_key, W_value):
    """The values are right, and no gradient reaches the scores: the weights were taken out of the graph."""
    scores = states @ W_query.T @ (states @ W_key.T).transpose(1, 2) / math.sqrt(W_key.shape[0])
    seen = _not_after(states) & mask[:, None, :]
    weights = torch.softmax(scores.masked_fill(~seen, torch.finfo(scores.dtype).min), dim=-1) * seen
    return weights.detach() @ (states @ W_value.T)
