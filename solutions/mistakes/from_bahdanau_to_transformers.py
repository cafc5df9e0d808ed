"""Wrong answers that students give to the exercises on what came after Bahdanau. The docstring is the hint."""

import math
from functools import partial

import numpy as np
import torch


def multi_head_shapes__one_head(heads, m, r, T_x, T_y):
    """You gave the size for a single head. `W_key` and `joined` should cover all heads."""
    return {"W_key": (r, m), "keys": (heads, T_x, r), "weights": (heads, T_y, T_x), "joined": (T_y, r)}


def multi_head_shapes__transposed(heads, m, r, T_x, T_y):
    """Rows come first: a matrix that maps p entries to q entries has shape (q, p)."""
    return {"W_key": (m, heads * r), "keys": (heads, T_x, r), "weights": (heads, T_y, T_x), "joined": (T_y, heads * r)}


def multi_head_shapes__positions_last(heads, m, r, T_x, T_y):
    """Each position or step should have its own row, with the entries of its vector along the last axis."""
    return {"W_key": (heads * r, m), "keys": (heads, r, T_x), "weights": (heads, T_y, T_x), "joined": (heads * r, T_y)}


def multi_head_shapes__source_first(heads, m, r, T_x, T_y):
    """Each decoder step should have its own row of weights, with one weight per source position."""
    return {"W_key": (heads * r, m), "keys": (heads, T_x, r), "weights": (heads, T_x, T_y), "joined": (T_y, heads * r)}


def multi_head_shapes__heads_shared(heads, m, r, T_x, T_y):
    """Each head has its own keys and its own weights: where is the axis for the heads?"""
    return {"W_key": (heads * r, m), "keys": (T_x, r), "weights": (T_y, T_x), "joined": (T_y, heads * r)}


def multi_head_shapes__heads_last(heads, m, r, T_x, T_y):
    """In `keys` and `weights`, the heads should come first. In `joined`, the contexts of all heads should be concatenated."""
    return {
        "W_key": (heads * r, m),
        "keys": (T_x, heads, r),
        "weights": (T_y, T_x, heads),
        "joined": (T_y, heads, r),
    }


def multi_head_shapes__annotation_divided(heads, m, r, T_x, T_y):
    """A head does not see only a part of the annotation: it multiplies the whole annotation by a matrix of its own."""
    return {"W_key": (r, m), "keys": (heads, T_x, m), "weights": (heads, T_y, T_x), "joined": (T_y, m)}


def multi_head_shapes__joined_like_an_annotation(heads, m, r, T_x, T_y):
    """You gave a row of `joined` the size of an annotation. It consists of the contexts of all heads, each of which has the size
    of one head's values."""
    return {"W_key": (heads * r, m), "keys": (heads, T_x, r), "weights": (heads, T_y, T_x), "joined": (T_y, m)}


def _saturation(spread, plain=None, scaled=None):
    def pull(difference):
        weight = 1 / (1 + math.exp(-difference))
        return weight * (1 - weight)

    plain = pull(2 * spread) if plain is None else plain
    return {"spread": spread, "plain": plain, "scaled": pull(2 * spread / 4) if scaled is None else scaled}


def saturation__variance():
    """For `spread`, you gave the variance. The standard deviation is its square root."""
    return _saturation(16 * 0.2025)


def saturation__not_added():
    """Your `spread` is that of a single product of two entries. A dot product adds 16 of these, and their variances add up."""
    return _saturation(0.45)


def saturation__deviations_added():
    """You added standard deviations. When independent terms are summed, it is their variances that add."""
    return _saturation(16 * 0.45)


def saturation__one_score():
    """One score is one standard deviation above 0, the other one standard deviation below. How far apart are the two scores?"""
    return _saturation(1.8, *(math.exp(-x) / (1 + math.exp(-x)) ** 2 for x in (1.8, 0.45)))


def saturation__divided_by_the_size():
    """For `scaled`, you divided by the number of entries. Divide by the square root of that number."""
    return _saturation(1.8, scaled=math.exp(-0.225) / (1 + math.exp(-0.225)) ** 2)


def saturation__weight():
    """You gave the weight itself. The exercise asks for its derivative with respect to its own score."""
    return _saturation(1.8, *(1 / (1 + math.exp(-x)) for x in (3.6, 0.9)))


def _positions(**changed):
    encoding = [math.sin(5), math.cos(5), math.sin(0.05), math.cos(0.05)]
    return {"encoding": encoding, "product": math.cos(4) + math.cos(0.04), "partner": 24, **changed}


def positions_by_hand__degrees():
    """You computed in degrees. The angles are in radians."""
    angles = [math.radians(5), math.radians(0.05)]
    product = math.cos(math.radians(4)) + math.cos(math.radians(0.04))
    return _positions(encoding=[f(angle) for angle in angles for f in (math.sin, math.cos)], product=product)


def positions_by_hand__sines_first():
    """You listed all sines before the cosines. Entry 2l should be a sine, and entry 2l + 1 the cosine of the same angle."""
    return _positions(encoding=[math.sin(5), math.sin(0.05), math.cos(5), math.cos(0.05)])


def positions_by_hand__cosine_first():
    """You swapped sine and cosine in each pair: the entries at even indices, including 0, should be sines."""
    return _positions(encoding=[math.cos(5), math.sin(5), math.cos(0.05), math.sin(0.05)])


def positions_by_hand__half_the_exponent():
    """For the second pair, you used the exponent 1/4. Work out 2l/d with l = 1 and d = 4."""
    encoding = [math.sin(5), math.cos(5), math.sin(0.5), math.cos(0.5)]
    return _positions(encoding=encoding, product=math.cos(4) + math.cos(0.4))


def positions_by_hand__a_frequency_for_each_entry():
    """You gave each entry its own angle. The two entries of a pair have the same l, and so the same angle."""
    angles = [5 / 10000 ** (2 * entry / 4) for entry in range(4)]
    return _positions(encoding=[(math.sin, math.cos)[entry % 2](angle) for entry, angle in enumerate(angles)])


def positions_by_hand__exponent_by_index():
    """For the exponent, you used the index of the entry. Both entries of a pair have the same l: 0 for the first pair, 1 for
    the second."""

    def encode(position):
        return [(math.sin, math.cos)[entry % 2](position / 10000 ** (entry / 4)) for entry in range(4)]

    return _positions(encoding=encode(5), product=float(np.dot(encode(3), encode(7))))


def positions_by_hand__counted_from_one():
    """You gave the encoding of position 4. The exercise asks for position 5, so j is 5 in the formula."""
    return _positions(encoding=[math.sin(4), math.cos(4), math.sin(0.04), math.cos(0.04)])


def positions_by_hand__one_pair():
    """For `product`, you used only one pair of entries. A dot product runs over all four entries."""
    return _positions(product=math.cos(4))


def positions_by_hand__cosines_multiplied():
    """For `product`, you multiplied the contributions of the two pairs. A dot product adds them."""
    return _positions(product=math.cos(4) * math.cos(0.04))


def positions_by_hand__positions_added():
    """For `product`, you added the two positions. The dot product depends on their difference."""
    return _positions(product=math.cos(10) + math.cos(0.1))


def positions_by_hand__same_ratio():
    """For `partner`, you kept the ratio of the two positions. The dot product depends on their difference."""
    return _positions(partner=47)


def positions_by_hand__before():
    """Position 16 has the right product too, but it comes before 20. Which position after 20 is equally far away?"""
    return _positions(partner=16)


def positions_by_hand__next_one():
    """For `partner`, you gave the next position, at a distance of 1. How far apart are positions 3 and 7?"""
    return _positions(partner=21)


def _block(**changed):
    parts = {"attention": 9216, "network": 15568, "norms": 192} | changed
    return {"longer": parts["attention"] + parts["network"] + parts["norms"], "length": 480} | parts


def block_by_count__no_biases():
    """The biases of the network are missing: each of its two matrices is followed by a bias vector, with one entry for
    each entry of that matrix's output.
    """
    return _block(network=2 * 48 * 160)


def block_by_count__one_bias():
    """You counted only the first bias of the network. There is a bias after the second matrix, too."""
    return _block(network=2 * 48 * 160 + 160)


def block_by_count__biases_alike():
    """The two biases of the network have different sizes: each is added to the output of its own matrix."""
    return _block(network=2 * 48 * 160 + 2 * 160)


def block_by_count__one_matrix():
    """You counted only the first matrix of the network. A second matrix leads back to 48 entries."""
    return _block(network=48 * 160 + 160)


def block_by_count__three_matrices():
    """You counted three attention matrices. The output of the heads goes through one more, W_out."""
    return _block(attention=3 * 48 * 48)


def block_by_count__attention_with_biases():
    """You counted biases for the attention. In this block, the matrices of the attention have no biases."""
    return _block(attention=4 * (48 * 48 + 48))


def block_by_count__one_norm():
    """You counted the parameters of only one normalisation. The block has two."""
    return _block(norms=2 * 48)


def block_by_count__two_numbers_a_norm():
    """Gamma and beta are vectors, not single numbers: how many entries does each of them have?"""
    return _block(norms=4)


def block_by_count__grows_with_the_sentence():
    """All positions share the same parameters: does any array of parameters have an axis as long as the sentence?"""
    return _block(longer=2 * (9216 + 15568 + 192))


def block_by_count__scores_alone():
    """For `length`, you counted only the scores. The weighted sums take just as many multiplications."""
    return _block(length=2 * 480)


def block_by_count__network_once():
    """For `length`, you counted only one matrix of the network. Each position goes through both matrices."""
    return _block(length=240)


def block_by_count__equal_costs():
    """At a length of 160, the two costs are equal. The exercise asks for three times as many multiplications."""
    return _block(length=160)


def block_by_count__length_of_a_vector():
    """For `length`, you used the size of a vector. Write down the multiplications of both parts for a whole
    sentence, and divide."""
    return _block(length=3 * 48)


def _normalized(states, gain, bias, axis=-1, ddof=0):
    mean, variance = states.mean(axis=axis, keepdims=True), states.var(axis=axis, ddof=ddof, keepdims=True)
    return gain * (states - mean) / np.sqrt(variance + 1e-5) + bias


def layer_norm__over_the_batch(states, gain, bias):
    """You took the mean and variance over the sentences of the batch. Take them over the entries of one position."""
    return _normalized(states, gain, bias, axis=0)


def layer_norm__over_batch_and_positions(states, gain, bias):
    """You took the mean and variance of each entry over all sentences and positions, as batch normalisation does. Take them
    over the entries of one position."""
    return _normalized(states, gain, bias, axis=(0, 1))


def layer_norm__over_the_positions(states, gain, bias):
    """You took the mean and variance over the positions of a sentence. Take them over the entries of one position."""
    return _normalized(states, gain, bias, axis=1)


def layer_norm__over_the_sentence(states, gain, bias):
    """You took one mean and one variance for a whole sentence, but each position should have its own."""
    return _normalized(states, gain, bias, axis=(1, 2))


def layer_norm__over_everything(states, gain, bias):
    """You took one mean and one variance for the whole batch, but each position should have its own."""
    return _normalized(states, gain, bias, axis=(0, 1, 2))


def layer_norm__divided_by_one_less(states, gain, bias):
    """For the variance, you divided by one less than the number of entries. Here the variance is the mean of the
    squared deviations."""
    with np.errstate(all="ignore"):
        variance = states.var(axis=-1, ddof=1, keepdims=True) if states.shape[-1] > 1 else np.nan
        return gain * (states - states.mean(axis=-1, keepdims=True)) / np.sqrt(variance + 1e-5) + bias


def layer_norm__no_root(states, gain, bias):
    """You divided by the variance itself: the square root is missing."""
    mean, variance = states.mean(axis=-1, keepdims=True), states.var(axis=-1, keepdims=True)
    return gain * (states - mean) / (variance + 1e-5) + bias


def layer_norm__epsilon_outside(states, gain, bias):
    """You added epsilon after taking the square root. Add it to the variance, under the root."""
    mean, deviation = states.mean(axis=-1, keepdims=True), states.std(axis=-1, keepdims=True)
    return gain * (states - mean) / (deviation + 1e-5) + bias


def layer_norm__no_epsilon(states, gain, bias):
    """If all entries are equal, you divide 0 by 0: epsilon is missing under the root."""
    with np.errstate(all="ignore"):
        mean, deviation = states.mean(axis=-1, keepdims=True), states.std(axis=-1, keepdims=True)
        return gain * (states - mean) / deviation + bias


def layer_norm__epsilon_for_zero_only(states, gain, bias):
    """You used epsilon only where the variance is 0, if at all. Add it to every variance, under the root."""
    mean, variance = states.mean(axis=-1, keepdims=True), states.var(axis=-1, keepdims=True)
    return gain * (states - mean) / np.sqrt(np.where(variance > 0, variance, 1e-5)) + bias


def layer_norm__mean_kept(states, gain, bias):
    """You did not subtract the mean: after normalisation, the entries should have a mean of 0."""
    return gain * states / np.sqrt(states.var(axis=-1, keepdims=True) + 1e-5) + bias


def layer_norm__mean_square(states, gain, bias):
    """For the variance, you averaged the squares of the entries. Average the squares of their deviations from the mean."""
    mean, square = states.mean(axis=-1, keepdims=True), (states**2).mean(axis=-1, keepdims=True)
    return gain * (states - mean) / np.sqrt(square + 1e-5) + bias


def layer_norm__gain_dropped(states, gain, bias):
    """Your result does not depend on the gain."""
    return _normalized(states, 1, bias)


def layer_norm__bias_dropped(states, gain, bias):
    """Your result does not depend on the bias."""
    return _normalized(states, gain, 0)


def layer_norm__exchanged(states, gain, bias):
    """You swapped gain and bias: multiply by the gain, and add the bias."""
    return _normalized(states, bias, gain)


def layer_norm__bias_before_the_gain(states, gain, bias):
    """You added the bias before multiplying by the gain. Add it last, so that it is not scaled."""
    return gain * (_normalized(states, 1, 0) + bias)


def layer_norm__squeezed(states, gain, bias):
    """An axis of length 1 went missing: the result should have the same shape as the states."""
    return _normalized(states, gain, bias).squeeze()


_FOUR = np.array([[1.0, 1.0], [4.0, 0.0], [-1.0, 4.0], [-3.0, -2.0]])
_MIXTURE = np.array([0.4, 0.3, 0.2, 0.1])


def same_context__stretched():
    """You removed the first weight and rescaled the others. Does the context stay the same?"""
    return [0.0, *(_MIXTURE[1:] / _MIXTURE[1:].sum()).tolist()]


def same_context__shared_out():
    """You removed the first weight and divided it equally among the others. Does the context stay the same?"""
    return [0.0, *(_MIXTURE[1:] + _MIXTURE[0] / 3).tolist()]


def same_context__the_given_ones():
    """You returned the given weights. Find weights that do not attend to the first word."""
    return _MIXTURE.tolist()


def same_context__not_adding_to_one():
    """Your weights give the right context but do not sum to 1. Use the condition that they must sum to 1 as the third
    equation.
    """
    return [0.0, *np.linalg.solve(_FOUR[1:3].T, _MIXTURE @ _FOUR).tolist(), 0.0]


def same_context__sum_forgotten():
    """You solved the two equations of the context alone. That the weights sum to 1 is the third."""
    return [0.0, *np.linalg.lstsq(_FOUR[1:].T, _MIXTURE @ _FOUR, rcond=None)[0].tolist()]


def same_context__three_only():
    """Your first weight is that of the second annotation. Give four weights, in the order of the annotations."""
    return [*np.linalg.solve(np.vstack([_FOUR[1:].T, np.ones(3)]), [*(_MIXTURE @ _FOUR), 1.0]).tolist(), 0.0]


def _heads(query, keys, source_mask, W_query, W_key, W_value, scale=None, order="bzw"):
    queries = torch.einsum("zrn,bn->bzr", W_query, query)
    scores = torch.einsum("bzr,zrm,bjm->bzj", queries, W_key, keys) / (scale or math.sqrt(W_key.shape[1]))
    real = source_mask[:, None, :]
    weights = torch.softmax(scores.masked_fill(~real, torch.finfo(scores.dtype).min), dim=-1) * real
    return torch.einsum(f"bzj,zwm,bjm->{order}", weights, W_value, keys)


def multi_head__not_scaled(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """You did not scale the dot products before the softmax. Without scaling, they grow with the number of entries of a key."""
    return _heads(query, keys, source_mask, W_query, W_key, W_value, scale=1.0).flatten(1) @ W_out.T


def multi_head__divided_by_the_size(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """You divided by the number of entries of a key. Divide by the square root of that number."""
    return _heads(query, keys, source_mask, W_query, W_key, W_value, scale=W_key.shape[1]).flatten(1) @ W_out.T


def multi_head__scaled_by_all_heads(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """You scaled by the size of the keys of all heads together. Each dot product contains the key of one head only."""
    scale = math.sqrt(W_key.shape[0] * W_key.shape[1])
    return _heads(query, keys, source_mask, W_query, W_key, W_value, scale=scale).flatten(1) @ W_out.T


def multi_head__scaled_by_the_annotation(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """You scaled by the size of an annotation, but the dot product is taken with a key: how many entries does a key have?"""
    scale = math.sqrt(keys.shape[2])
    return _heads(query, keys, source_mask, W_query, W_key, W_value, scale=scale).flatten(1) @ W_out.T


def multi_head__scaled_by_the_values(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """You scaled by the size of a value, but the dot product is taken between a query and a key: how many entries
    does a key have?"""
    scale = math.sqrt(W_value.shape[1])
    return _heads(query, keys, source_mask, W_query, W_key, W_value, scale=scale).flatten(1) @ W_out.T


def multi_head__entries_interleaved(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """You interleaved the contexts entry by entry. Concatenate them head by head."""
    return _heads(query, keys, source_mask, W_query, W_key, W_value, order="bwz").flatten(1) @ W_out.T


def multi_head__first_head_only(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """All your heads use the query and keys of the first head. Each head should use its own."""
    first_query, first_key = W_query[:1].expand_as(W_query), W_key[:1].expand_as(W_key)
    return _heads(query, keys, source_mask, first_query, first_key, W_value).flatten(1) @ W_out.T


def multi_head__softmax_over_heads(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """Your softmax runs over the heads. In each head, it should run over the positions."""
    queries = torch.einsum("zrn,bn->bzr", W_query, query)
    scores = torch.einsum("bzr,zrm,bjm->bzj", queries, W_key, keys) / math.sqrt(W_key.shape[1])
    weights = torch.softmax(scores, dim=1) * source_mask[:, None, :]
    return torch.einsum("bzj,zwm,bjm->bzw", weights, W_value, keys).flatten(1) @ W_out.T


def multi_head__mask_ignored(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """Padding affects your result: exclude it from the softmax."""
    everything = torch.ones_like(source_mask)
    return _heads(query, keys, everything, W_query, W_key, W_value).flatten(1) @ W_out.T


def multi_head__mask_turned_round(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """The mask is True at real words, but you kept the padding and left out the words."""
    return _heads(query, keys, ~source_mask, W_query, W_key, W_value).flatten(1) @ W_out.T


def multi_head__minus_infinity(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """In a sentence without any real words, all your scores are minus infinity, and their softmax is nan."""
    queries = torch.einsum("zrn,bn->bzr", W_query, query)
    scores = torch.einsum("bzr,zrm,bjm->bzj", queries, W_key, keys) / math.sqrt(W_key.shape[1])
    weights = torch.softmax(scores.masked_fill(~source_mask[:, None, :], float("-inf")), dim=-1)
    return torch.einsum("bzj,zwm,bjm->bzw", weights, W_value, keys).flatten(1) @ W_out.T


def multi_head__overflow(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """For large scores, exp overflows. Let torch compute the softmax, or first subtract each row's maximum."""
    queries = torch.einsum("zrn,bn->bzr", W_query, query)
    scores = torch.einsum("bzr,zrm,bjm->bzj", queries, W_key, keys) / math.sqrt(W_key.shape[1])
    powers = torch.exp(scores) * source_mask[:, None, :]
    weights = powers / powers.sum(dim=-1, keepdim=True).clamp(min=1e-30)
    return torch.einsum("bzj,zwm,bjm->bzw", weights, W_value, keys).flatten(1) @ W_out.T


def multi_head__squeezed(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """An axis of length 1 went missing: the batch axis of a single sentence, for example, should stay."""
    return (_heads(query, keys, source_mask, W_query, W_key, W_value).flatten(1) @ W_out.T).squeeze()


def multi_head__detached(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """The result is right, but no gradient reaches the scores: the weights are detached from the graph."""
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
    """If every position attends to the whole sequence, a decoder sees the words that it has to predict."""
    seen = torch.ones_like(_not_after(states)) & mask[:, None, :]
    return _attended(states, seen, W_query, W_key, W_value)


def self_attention__not_itself(states, mask, W_query, W_key, W_value):
    """Each of your positions attends only to earlier positions. A position may also attend to itself."""
    seen = _not_after(states).tril(-1) & mask[:, None, :]
    return _attended(states, seen, W_query, W_key, W_value)


def self_attention__sees_only_the_future(states, mask, W_query, W_key, W_value):
    """Your causal mask keeps the wrong triangle of the score matrix: its rows are the positions that attend, its
    columns the positions that are attended to.
    """
    return _attended(states, _not_after(states).T & mask[:, None, :], W_query, W_key, W_value)


def self_attention__mask_on_the_rows(states, mask, W_query, W_key, W_value):
    """You masked the positions that attend. Mask the positions that are attended to."""
    return _attended(states, _not_after(states) & mask[:, :, None], W_query, W_key, W_value)


def self_attention__mask_ignored(states, mask, W_query, W_key, W_value):
    """Padding affects your result: no position should attend to it."""
    return _attended(states, _not_after(states).expand(len(states), -1, -1), W_query, W_key, W_value)


def self_attention__softmax_over_the_readers(states, mask, W_query, W_key, W_value):
    """Your softmax runs over the positions that attend. It should run over the positions that are attended to."""
    return _attended(states, _not_after(states) & mask[:, None, :], W_query, W_key, W_value, dim=1)


def self_attention__not_scaled(states, mask, W_query, W_key, W_value):
    """You did not scale the dot products before the softmax. Without scaling, they grow with the number of entries of a key."""
    return _attended(states, _not_after(states) & mask[:, None, :], W_query, W_key, W_value, scale=1.0)


def self_attention__scaled_by_the_state(states, mask, W_query, W_key, W_value):
    """You scaled by the size of a state, but the dot product is taken between a query and a key: how many entries
    does a key have?"""
    scale = math.sqrt(states.shape[2])
    return _attended(states, _not_after(states) & mask[:, None, :], W_query, W_key, W_value, scale=scale)


def self_attention__scaled_by_the_values(states, mask, W_query, W_key, W_value):
    """You scaled by the size of a value, but the dot product is taken between a query and a key: how many entries
    does a key have?"""
    scale = math.sqrt(W_value.shape[0])
    return _attended(states, _not_after(states) & mask[:, None, :], W_query, W_key, W_value, scale=scale)


def self_attention__queries_and_keys_exchanged(states, mask, W_query, W_key, W_value):
    """You swapped queries and keys: the position that attends should provide the query."""
    return _attended(states, _not_after(states) & mask[:, None, :], W_key, W_query, W_value)


def self_attention__minus_infinity(states, mask, W_query, W_key, W_value):
    """In a sequence that begins with padding, all scores of the first row are minus infinity, and their softmax is nan."""
    scores = states @ W_query.T @ (states @ W_key.T).transpose(1, 2) / math.sqrt(W_key.shape[0])
    seen = _not_after(states) & mask[:, None, :]
    return torch.softmax(scores.masked_fill(~seen, float("-inf")), dim=-1) @ (states @ W_value.T)


def self_attention__overflow(states, mask, W_query, W_key, W_value):
    """For large scores, exp overflows. Let torch compute the softmax, or first subtract each row's maximum."""
    scores = states @ W_query.T @ (states @ W_key.T).transpose(1, 2) / math.sqrt(W_key.shape[0])
    powers = torch.exp(scores) * (_not_after(states) & mask[:, None, :])
    return powers / powers.sum(dim=-1, keepdim=True).clamp(min=1e-30) @ (states @ W_value.T)


def self_attention__largest_of_later_words(states, mask, W_query, W_key, W_value):
    """The maximum that you subtract may belong to a later word, which the position does not see. If it is far above the
    visible scores, all their exponentials become 0."""
    scores = states @ W_query.T @ (states @ W_key.T).transpose(1, 2) / math.sqrt(W_key.shape[0])
    kept = scores.masked_fill(~mask[:, None, :], torch.finfo(scores.dtype).min)
    powers = torch.exp(kept - kept.amax(dim=-1, keepdim=True)) * (_not_after(states) & mask[:, None, :])
    total = powers.sum(dim=-1, keepdim=True)
    return powers / total.masked_fill(total == 0, 1.0) @ (states @ W_value.T)


def self_attention__squeezed(states, mask, W_query, W_key, W_value):
    """An axis of length 1 went missing: the batch axis of a single sentence, for example, should stay."""
    return _attended(states, _not_after(states) & mask[:, None, :], W_query, W_key, W_value).squeeze()


def self_attention__detached(states, mask, W_query, W_key, W_value):
    """The result is right, but no gradient reaches the scores: the weights are detached from the graph."""
    scores = states @ W_query.T @ (states @ W_key.T).transpose(1, 2) / math.sqrt(W_key.shape[0])
    seen = _not_after(states) & mask[:, None, :]
    weights = torch.softmax(scores.masked_fill(~seen, torch.finfo(scores.dtype).min), dim=-1) * seen
    return weights.detach() @ (states @ W_value.T)


def _norm(vectors, gain, bias, dim=-1, epsilon=1e-5):
    variance, mean = torch.var_mean(vectors, dim=dim, correction=0, keepdim=True)
    return gain * (vectors - mean) / torch.sqrt(variance + epsilon) + bias


def _contexts(states, mask, matrices, scale=None, dim=-1, seen=None, order="bizw", queries=None):
    W_query, W_key, W_value = matrices
    asked = torch.einsum("zrd,bid->bzir", W_query, states if queries is None else queries)
    scores = asked @ torch.einsum("zrd,bjd->bzrj", W_key, states) / (scale or math.sqrt(W_key.shape[1]))
    seen = mask[:, None, None, :] if seen is None else seen
    weights = torch.softmax(scores.masked_fill(~seen, torch.finfo(scores.dtype).min), dim=dim) * seen
    return torch.einsum(f"bzij,zwd,bjd->{order}", weights, W_value, states).flatten(2)


def _network(vectors, parameters, activation=torch.relu):
    W_wide, b_wide, W_narrow, b_narrow = parameters
    return activation(vectors @ W_wide.T + b_wide) @ W_narrow.T + b_narrow


def _pass_through_block(arguments, norm=_norm, contexts=_contexts, activation=torch.relu, **changed):
    states, mask, W_query, W_key, W_value, W_out, gain_1, bias_1, *parameters, gain_2, bias_2 = arguments
    matrices = W_query, W_key, W_value
    attended = norm(states + contexts(states, mask, matrices, **changed) @ W_out.T, gain_1, bias_1)
    return norm(attended + _network(attended, parameters, activation), gain_2, bias_2)


def transformer_block__not_scaled(*arguments):
    """You did not scale the dot products before the softmax. Without scaling, they grow with the number of entries of a
    key."""
    return _pass_through_block(arguments, scale=1.0)


def transformer_block__divided_by_the_size(*arguments):
    """You divided by the number of entries of a key. Divide by the square root of that number."""
    return _pass_through_block(arguments, scale=arguments[3].shape[1])


def transformer_block__scaled_by_the_state(*arguments):
    """You scaled by the size of a state, but the dot product is taken between a query and a key: how many entries does
    a key of one head have?"""
    return _pass_through_block(arguments, scale=math.sqrt(arguments[0].shape[2]))


def transformer_block__scaled_by_all_heads(*arguments):
    """You scaled by the size of the keys of all heads together. Each dot product contains the key of one head only."""
    return _pass_through_block(arguments, scale=math.sqrt(arguments[3].shape[0] * arguments[3].shape[1]))


def transformer_block__scaled_by_the_values(*arguments):
    """You scaled by the size of a value, but the dot product is taken between a query and a key: how many entries does
    a key have?"""
    return _pass_through_block(arguments, scale=math.sqrt(arguments[4].shape[1]))


def transformer_block__softmax_over_the_readers(*arguments):
    """Your softmax runs over the positions that attend. It should run over the positions that are attended to."""
    return _pass_through_block(arguments, dim=2)


def transformer_block__softmax_over_heads(*arguments):
    """Your softmax runs over the heads. In each head, it should run over the positions that are attended to."""
    return _pass_through_block(arguments, dim=1)


def transformer_block__mask_ignored(*arguments):
    """Padding affects your result: no position should attend to it."""
    return _pass_through_block(arguments, seen=torch.ones_like(arguments[1])[:, None, None, :])


def transformer_block__mask_turned_round(*arguments):
    """The mask is True at real words, but you kept the padding and left out the words."""
    return _pass_through_block(arguments, seen=~arguments[1][:, None, None, :])


def transformer_block__mask_on_the_rows(*arguments):
    """You masked the positions that attend. Mask the positions that are attended to."""
    return _pass_through_block(arguments, seen=arguments[1][:, None, :, None])


def transformer_block__padding_reads_nothing(*arguments):
    """You masked the padding positions that attend, too. Each of them still attends to the real words."""
    mask = arguments[1]
    return _pass_through_block(arguments, seen=mask[:, None, None, :] & mask[:, None, :, None])


def transformer_block__sees_only_what_is_before(*arguments):
    """You masked later words. That is for a decoder: in this block, a position also attends to the words after it."""
    states, mask, *_ = arguments
    return _pass_through_block(arguments, seen=_not_after(states) & mask[:, None, None, :])


def _fill_scores(arguments, fill, zeroed=True):
    def contexts(states, mask, matrices):
        scores = torch.einsum("zrd,bid,zre,bje->bzij", matrices[0], states, matrices[1], states)
        real = mask[:, None, None, :]
        weights = torch.softmax(fill(scores / math.sqrt(matrices[1].shape[1]), real), dim=-1)
        return torch.einsum("bzij,zwd,bjd->bizw", weights * real if zeroed else weights, matrices[2], states).flatten(2)

    return _pass_through_block(arguments, contexts=contexts)


def transformer_block__mean_of_padding(*arguments):
    """In a sentence without a real word, your weights are equal at all positions. They should be zero, and so should the
    contexts."""
    return _fill_scores(
        arguments, lambda scores, real: scores.masked_fill(~real, torch.finfo(scores.dtype).min), zeroed=False
    )


def transformer_block__fill_too_high(*arguments):
    """You replaced the scores of padding by a number that is not low enough: the words' scores can be as low, or lower."""
    return _fill_scores(arguments, lambda scores, real: scores.masked_fill(~real, -1e4))


def transformer_block__penalty_subtracted(*arguments):
    """You subtracted a number from the scores of padding, but these can be larger than it. Replace them."""
    return _fill_scores(arguments, lambda scores, real: scores - 1e9 * ~real)


def transformer_block__masked_after_the_softmax(*arguments):
    """You applied the mask after the softmax. Then padding still counts in its sum, and the weights of the words do not
    sum to 1."""

    def contexts(states, mask, matrices):
        scores = torch.einsum("zrd,bid,zre,bje->bzij", matrices[0], states, matrices[1], states)
        weights = torch.softmax(scores / math.sqrt(matrices[1].shape[1]), dim=-1) * mask[:, None, None, :]
        return torch.einsum("bzij,zwd,bjd->bizw", weights, matrices[2], states).flatten(2)

    return _pass_through_block(arguments, contexts=contexts)


def transformer_block__minus_infinity(*arguments):
    """In a sentence without any real words, all your scores are minus infinity, and their softmax is nan."""

    def contexts(states, mask, matrices):
        scores = torch.einsum("zrd,bid,zre,bje->bzij", matrices[0], states, matrices[1], states) / math.sqrt(
            matrices[1].shape[1]
        )
        weights = torch.softmax(scores.masked_fill(~mask[:, None, None, :], float("-inf")), dim=-1)
        return torch.einsum("bzij,zwd,bjd->bizw", weights, matrices[2], states).flatten(2)

    return _pass_through_block(arguments, contexts=contexts)


def transformer_block__overflow(*arguments):
    """For large scores, exp overflows. Let torch compute the softmax, or first subtract each row's maximum."""

    def contexts(states, mask, matrices):
        scores = torch.einsum("zrd,bid,zre,bje->bzij", matrices[0], states, matrices[1], states) / math.sqrt(
            matrices[1].shape[1]
        )
        powers = torch.exp(scores) * mask[:, None, None, :]
        weights = powers / powers.sum(dim=-1, keepdim=True).clamp(min=1e-30)
        return torch.einsum("bzij,zwd,bjd->bizw", weights, matrices[2], states).flatten(2)

    return _pass_through_block(arguments, contexts=contexts)


def transformer_block__detached(*arguments):
    """The result is right, but no gradient reaches the scores: the weights are detached from the graph."""

    def contexts(states, mask, matrices):
        scores = torch.einsum("zrd,bid,zre,bje->bzij", matrices[0], states, matrices[1], states)
        scores = scores / math.sqrt(matrices[1].shape[1])
        real = mask[:, None, None, :]
        weights = torch.softmax(scores.masked_fill(~real, torch.finfo(scores.dtype).min), dim=-1) * real
        return torch.einsum("bzij,zwd,bjd->bizw", weights.detach(), matrices[2], states).flatten(2)

    return _pass_through_block(arguments, contexts=contexts)


def transformer_block__queries_and_keys_exchanged(*arguments):
    """You swapped queries and keys: the position that attends should provide the query."""
    states, mask, W_query, W_key, *others = arguments
    return _pass_through_block((states, mask, W_key, W_query, *others))


def transformer_block__entries_interleaved(*arguments):
    """You interleaved the contexts entry by entry. Concatenate them head by head."""
    return _pass_through_block(arguments, order="biwz")


def transformer_block__heads_not_moved(*arguments):
    """You joined the heads without moving their axis next to the values: entries of different positions end up in one
    row."""

    def contexts(states, mask, matrices):
        W_value = matrices[2]
        joined = _contexts(states, mask, matrices).unflatten(2, W_value.shape[:2])
        return joined.transpose(1, 2).reshape(*states.shape[:2], -1)

    return _pass_through_block(arguments, contexts=contexts)


def transformer_block__first_head_only(*arguments):
    """All your heads use the query and keys of the first head. Each head should use its own."""
    states, mask, W_query, W_key, *others = arguments
    return _pass_through_block((states, mask, W_query[:1].expand_as(W_query), W_key[:1].expand_as(W_key), *others))


def transformer_block__attention_without_residual(*arguments):
    """Your first sum is missing: add the block's input to the result of the attention, then normalise."""
    states, mask, W_query, W_key, W_value, W_out, gain_1, bias_1, *parameters, gain_2, bias_2 = arguments
    attended = _norm(_contexts(states, mask, (W_query, W_key, W_value)) @ W_out.T, gain_1, bias_1)
    return _norm(attended + _network(attended, parameters), gain_2, bias_2)


def transformer_block__network_without_residual(*arguments):
    """Your second sum is missing: add what the network reads to its result, then normalise."""
    states, mask, W_query, W_key, W_value, W_out, gain_1, bias_1, *parameters, gain_2, bias_2 = arguments
    attended = _norm(states + _contexts(states, mask, (W_query, W_key, W_value)) @ W_out.T, gain_1, bias_1)
    return _norm(_network(attended, parameters), gain_2, bias_2)


def transformer_block__residual_from_the_states(*arguments):
    """To the network's result you added the block's input. Add what the network itself has read."""
    states, mask, W_query, W_key, W_value, W_out, gain_1, bias_1, *parameters, gain_2, bias_2 = arguments
    attended = _norm(states + _contexts(states, mask, (W_query, W_key, W_value)) @ W_out.T, gain_1, bias_1)
    return _norm(states + _network(attended, parameters), gain_2, bias_2)


def transformer_block__residual_not_normalized(*arguments):
    """To the network's result you added the first sum as it was before its normalisation. Add what the network itself
    has read."""
    states, mask, W_query, W_key, W_value, W_out, gain_1, bias_1, *parameters, gain_2, bias_2 = arguments
    total = states + _contexts(states, mask, (W_query, W_key, W_value)) @ W_out.T
    return _norm(total + _network(_norm(total, gain_1, bias_1), parameters), gain_2, bias_2)


def transformer_block__network_reads_the_states(*arguments):
    """Your network reads the block's input. It should read the normalised result of the attention."""
    states, mask, W_query, W_key, W_value, W_out, gain_1, bias_1, *parameters, gain_2, bias_2 = arguments
    attended = _norm(states + _contexts(states, mask, (W_query, W_key, W_value)) @ W_out.T, gain_1, bias_1)
    return _norm(attended + _network(states, parameters), gain_2, bias_2)


def transformer_block__normalized_first(*arguments):
    """You normalised what each part reads, as later transformers do. In this block, each normalisation comes after a
    sum."""
    states, mask, W_query, W_key, W_value, W_out, gain_1, bias_1, *parameters, gain_2, bias_2 = arguments
    read = _norm(states, gain_1, bias_1)
    total = states + _contexts(read, mask, (W_query, W_key, W_value)) @ W_out.T
    return total + _network(_norm(total, gain_2, bias_2), parameters)


def transformer_block__added_after_the_norm(*arguments):
    """You normalised the result of a part before adding its input. Add first, then normalise the sum."""
    states, mask, W_query, W_key, W_value, W_out, gain_1, bias_1, *parameters, gain_2, bias_2 = arguments
    attended = states + _norm(_contexts(states, mask, (W_query, W_key, W_value)) @ W_out.T, gain_1, bias_1)
    return attended + _norm(_network(attended, parameters), gain_2, bias_2)


def transformer_block__first_norm_missing(*arguments):
    """The first sum is not normalised: the network should read a normalised vector."""
    states, mask, W_query, W_key, W_value, W_out, _, _, *parameters, gain_2, bias_2 = arguments
    attended = states + _contexts(states, mask, (W_query, W_key, W_value)) @ W_out.T
    return _norm(attended + _network(attended, parameters), gain_2, bias_2)


def transformer_block__last_norm_missing(*arguments):
    """The second sum is not normalised."""
    states, mask, W_query, W_key, W_value, W_out, gain_1, bias_1, *parameters, _, _ = arguments
    attended = _norm(states + _contexts(states, mask, (W_query, W_key, W_value)) @ W_out.T, gain_1, bias_1)
    return attended + _network(attended, parameters)


def transformer_block__norms_exchanged(*arguments):
    """You swapped the parameters of the two normalisations: each has its own gain and bias."""
    states, mask, W_query, W_key, W_value, W_out, gain_1, bias_1, *parameters, gain_2, bias_2 = arguments
    attended = _norm(states + _contexts(states, mask, (W_query, W_key, W_value)) @ W_out.T, gain_2, bias_2)
    return _norm(attended + _network(attended, parameters), gain_1, bias_1)


def transformer_block__gains_exchanged(*arguments):
    """You swapped the gains of the two normalisations."""
    states, mask, W_query, W_key, W_value, W_out, gain_1, bias_1, *parameters, gain_2, bias_2 = arguments
    attended = _norm(states + _contexts(states, mask, (W_query, W_key, W_value)) @ W_out.T, gain_2, bias_1)
    return _norm(attended + _network(attended, parameters), gain_1, bias_2)


def transformer_block__one_norm_for_both(*arguments):
    """You used the gain and bias of the attention in both normalisations. The network has its own."""
    states, mask, W_query, W_key, W_value, W_out, gain_1, bias_1, *parameters, _, _ = arguments
    attended = _norm(states + _contexts(states, mask, (W_query, W_key, W_value)) @ W_out.T, gain_1, bias_1)
    return _norm(attended + _network(attended, parameters), gain_1, bias_1)


def transformer_block__no_relu(*arguments):
    """Your network has no ReLU between its matrices, so it is a single linear map."""
    return _pass_through_block(arguments, activation=lambda hidden: hidden)


def transformer_block__relu_on_the_output(*arguments):
    """You applied the ReLU to the result of the network. It belongs between the two matrices."""
    states, mask, W_query, W_key, W_value, W_out, gain_1, bias_1, *parameters, gain_2, bias_2 = arguments
    attended = _norm(states + _contexts(states, mask, (W_query, W_key, W_value)) @ W_out.T, gain_1, bias_1)
    W_wide, b_wide, W_narrow, b_narrow = parameters
    narrow = (attended @ W_wide.T + b_wide) @ W_narrow.T + b_narrow
    return _norm(attended + torch.relu(narrow), gain_2, bias_2)


def transformer_block__relu_twice(*arguments):
    """You applied the ReLU twice. Only the wide layer has one: the result of the network may be negative."""
    states, mask, W_query, W_key, W_value, W_out, gain_1, bias_1, *parameters, gain_2, bias_2 = arguments
    attended = _norm(states + _contexts(states, mask, (W_query, W_key, W_value)) @ W_out.T, gain_1, bias_1)
    return _norm(attended + torch.relu(_network(attended, parameters)), gain_2, bias_2)


def transformer_block__relu_before_the_bias(*arguments):
    """You added the bias of the wide layer after the ReLU. Add it before."""
    states, mask, W_query, W_key, W_value, W_out, gain_1, bias_1, *parameters, gain_2, bias_2 = arguments
    attended = _norm(states + _contexts(states, mask, (W_query, W_key, W_value)) @ W_out.T, gain_1, bias_1)
    W_wide, b_wide, W_narrow, b_narrow = parameters
    narrow = (torch.relu(attended @ W_wide.T) + b_wide) @ W_narrow.T + b_narrow
    return _norm(attended + narrow, gain_2, bias_2)


def transformer_block__gelu(*arguments):
    """Your network uses GELU. In this block it is a ReLU: negative entries become 0, the others stay as they are."""
    return _pass_through_block(arguments, activation=torch.nn.functional.gelu)


def transformer_block__epsilon_outside(*arguments):
    """You added epsilon after taking the square root. Add it to the variance, under the root."""

    def norm(vectors, gain, bias):
        centred = vectors - vectors.mean(dim=-1, keepdim=True)
        return gain * centred / ((centred**2).mean(dim=-1, keepdim=True).sqrt() + 1e-5) + bias

    return _pass_through_block(arguments, norm=norm)


def transformer_block__epsilon_as_the_least(*arguments):
    """You used epsilon only where the variance is smaller. Add it to every variance, under the root."""

    def norm(vectors, gain, bias):
        centred = vectors - vectors.mean(dim=-1, keepdim=True)
        return gain * centred / (centred**2).mean(dim=-1, keepdim=True).clamp(min=1e-5).sqrt() + bias

    return _pass_through_block(arguments, norm=norm)


def transformer_block__smaller_epsilon(*arguments):
    """Your epsilon is too small. It should be 1e-5 in both normalisations."""
    return _pass_through_block(arguments, norm=partial(_norm, epsilon=1e-6))


def transformer_block__no_epsilon(*arguments):
    """If all entries are equal, you divide 0 by 0: epsilon is missing under the root."""
    return _pass_through_block(arguments, norm=partial(_norm, epsilon=0.0))


def transformer_block__divided_by_one_less(*arguments):
    """For the variance, you divided by one less than the number of entries, as torch does unless told otherwise. Here
    the variance is the mean of the squared deviations."""

    def norm(vectors, gain, bias):
        centred = vectors - vectors.mean(dim=-1, keepdim=True)
        variance = (centred**2).sum(dim=-1, keepdim=True) / (vectors.shape[-1] - 1)
        return gain * centred / torch.sqrt(variance + 1e-5) + bias

    return _pass_through_block(arguments, norm=norm)


def transformer_block__normalized_over_the_positions(*arguments):
    """You took the mean and variance over the positions of a sentence. Take them over the entries of one position."""
    return _pass_through_block(arguments, norm=partial(_norm, dim=1))


def transformer_block__normalized_over_the_sentence(*arguments):
    """You took one mean and one variance for a whole sentence, but each position should have its own."""
    return _pass_through_block(arguments, norm=partial(_norm, dim=(1, 2)))


def transformer_block__squeezed(*arguments):
    """An axis of length 1 went missing: the result should have the same shape as the states."""
    return _pass_through_block(arguments).squeeze()
