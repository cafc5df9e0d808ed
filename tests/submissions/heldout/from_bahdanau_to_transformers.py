"""Answers written from the released notebook alone, before any was graded."""

import math

import numpy as np
import torch

# Shapes with several heads


def multi_head_shapes__wrong_matrix_transposed(heads, m, r, T_x, T_y):
    """The student gave W_key its columns first: the annotation's size before the size of the joined keys."""
    return {"W_key": (m, heads * r), "keys": (heads, T_x, r), "weights": (heads, T_y, T_x), "joined": (T_y, heads * r)}


def multi_head_shapes__wrong_stack_of_matrices(heads, m, r, T_x, T_y):
    """The student stacked one matrix for each head, though a single one was asked for."""
    return {"W_key": (heads, r, m), "keys": (heads, T_x, r), "weights": (heads, T_y, T_x), "joined": (T_y, heads * r)}


def multi_head_shapes__wrong_head_size_divided(heads, m, r, T_x, T_y):
    """The student took r for the size of all heads together, so each head has r divided by the number of heads."""
    one = r // heads
    return {"W_key": (r, m), "keys": (heads, T_x, one), "weights": (heads, T_y, T_x), "joined": (T_y, r)}


def multi_head_shapes__wrong_positions_before_heads(heads, m, r, T_x, T_y):
    """The student put the source positions before the heads in the array of the keys."""
    return {"W_key": (heads * r, m), "keys": (T_x, heads, r), "weights": (heads, T_y, T_x), "joined": (T_y, heads * r)}


def multi_head_shapes__wrong_positions_before_steps(heads, m, r, T_x, T_y):
    """The student put the source positions before the decoder steps in the array of the weights."""
    return {"W_key": (heads * r, m), "keys": (heads, T_x, r), "weights": (heads, T_x, T_y), "joined": (T_y, heads * r)}


def multi_head_shapes__wrong_contexts_added(heads, m, r, T_x, T_y):
    """The student added the contexts of the heads, so a row of `joined` is only as long as one of them."""
    return {"W_key": (heads * r, m), "keys": (heads, T_x, r), "weights": (heads, T_y, T_x), "joined": (T_y, r)}


def multi_head_shapes__wrong_contexts_of_annotations(heads, m, r, T_x, T_y):
    """The student mixed the annotations and not the values, so each context has m numbers."""
    return {"W_key": (heads * r, m), "keys": (heads, T_x, r), "weights": (heads, T_y, T_x), "joined": (T_y, heads * m)}


def multi_head_shapes__wrong_keys_transposed(heads, m, r, T_x, T_y):
    """The student returned the keys transposed, as they stand in the product with the queries: one in each column."""
    return {"W_key": (heads * r, m), "keys": (heads, r, T_x), "weights": (heads, T_y, T_x), "joined": (T_y, heads * r)}


def multi_head_shapes__wrong_sentence_attends_to_itself(heads, m, r, T_x, T_y):
    """The student let the source attend to itself, so there is a row of weights and a context for each source position."""
    return {"W_key": (heads * r, m), "keys": (heads, T_x, r), "weights": (heads, T_x, T_x), "joined": (T_x, heads * r)}


def multi_head_shapes__right_from_arrays(heads, m, r, T_x, T_y):
    """Style: arrays of ones are computed with, and torch's sizes and numpy's shapes are returned as they come."""
    h = np.ones((T_x, m))
    W_key = np.ones((heads * r, m))
    keys = (h @ W_key.T).reshape(T_x, heads, r).transpose(1, 0, 2)
    weights = torch.softmax(torch.ones(heads, T_y, r) @ torch.from_numpy(keys.copy()).float().mT, dim=-1)
    joined = np.hstack(list(weights.numpy() @ keys))
    return {"W_key": W_key.shape, "keys": keys.shape, "weights": weights.shape, "joined": joined.shape}


def multi_head_shapes__right_lists(heads, m, r, T_x, T_y):
    """Style: names for the sizes, and the shapes as a dict that is filled line by line."""
    all_heads = sum(r for _ in range(heads))
    shapes = {}
    shapes["joined"] = (T_y, all_heads)
    shapes["weights"] = (heads,) + (T_y, T_x)
    shapes["keys"] = tuple([heads, T_x, r])
    shapes["W_key"] = (all_heads, m)
    return shapes


# Keys apart from values


# Scores that remember


# Two heads by hand


# Why divide by the root?


def saturation__wrong_variance():
    """The student returned the variance of the score as its spread, and took it for the distance of the scores from 0."""
    a, b = 1 / (1 + math.exp(-2 * 3.24)), 1 / (1 + math.exp(-2 * 3.24 / 4))
    return {"spread": 3.24, "plain": round(a * (1 - a), 4), "scaled": round(b * (1 - b), 4)}


def saturation__wrong_one_product():
    """The student took the standard deviation of one product of two entries, 0.45, and forgot that 16 are added."""
    a, b = 1 / (1 + math.exp(-0.9)), 1 / (1 + math.exp(-0.9 / 4))
    return {"spread": 0.45, "plain": round(a * (1 - a), 4), "scaled": round(b * (1 - b), 4)}


def saturation__wrong_deviations_added():
    """The student added the standard deviations of the 16 products, 7.2, where the variances add."""
    a, b = 1 / (1 + math.exp(-14.4)), 1 / (1 + math.exp(-3.6))
    return {"spread": 7.2, "plain": round(a * (1 - a), 4), "scaled": round(b * (1 - b), 4)}


def saturation__wrong_second_score_zero():
    """The student took one standard deviation for the difference of the two scores; it is two."""
    a, b = 1 / (1 + math.exp(-1.8)), 1 / (1 + math.exp(-0.45))
    return {"spread": 1.8, "plain": round(a * (1 - a), 4), "scaled": round(b * (1 - b), 4)}


def saturation__wrong_divided_by_16():
    """The student divided the scores by 16 and not by its root."""
    a, b = 1 / (1 + math.exp(-3.6)), 1 / (1 + math.exp(-3.6 / 16))
    return {"spread": 1.8, "plain": round(a * (1 - a), 4), "scaled": round(b * (1 - b), 4)}


def saturation__wrong_by_dot_product():
    """The student differentiated by the dot product, not by the score that is divided, and has a factor of one fourth too much."""
    a, b = 1 / (1 + math.exp(-3.6)), 1 / (1 + math.exp(-0.9))
    return {"spread": 1.8, "plain": round(a * (1 - a), 4), "scaled": round(b * (1 - b) / 4, 4)}


def saturation__wrong_weights():
    """The student returned the first weight itself in place of its derivative."""
    return {"spread": 1.8, "plain": round(1 / (1 + math.exp(-3.6)), 4), "scaled": round(1 / (1 + math.exp(-0.9)), 4)}


def saturation__wrong_other_score():
    """The student differentiated by the score of the second position, which gives the other sign."""
    a, b = 1 / (1 + math.exp(-3.6)), 1 / (1 + math.exp(-0.9))
    return {"spread": 1.8, "plain": -round(a * (1 - a), 4), "scaled": -round(b * (1 - b), 4)}


def saturation__wrong_deviations_as_variances():
    """The student took 0.5 and 0.9 for the variances of the entries."""
    s = math.sqrt(16 * 0.5 * 0.9)
    a, b = 1 / (1 + math.exp(-2 * s)), 1 / (1 + math.exp(-2 * s / 4))
    return {"spread": round(s, 4), "plain": round(a * (1 - a), 4), "scaled": round(b * (1 - b), 4)}


def saturation__right_hyperbolic():
    """Style: the derivative as a hyperbolic cosine, 1 / (4 cosh^2 s)."""
    spread = (16 * 0.25 * 0.81) ** 0.5
    return {"spread": spread, "plain": 0.25 / math.cosh(spread) ** 2, "scaled": 0.25 / math.cosh(spread / 4) ** 2}


def saturation__right_autograd():
    """Style: torch differentiates the first weight; numbers of numpy come back."""
    answer = {"spread": np.float64(np.sqrt(16) * 0.5 * 0.9)}
    for name, scale in (("plain", 1.0), ("scaled", math.sqrt(16))):
        e = torch.tensor([1.8, -1.8], dtype=torch.float64).div(scale).requires_grad_()
        torch.softmax(e, 0)[0].backward()
        answer[name] = e.grad.numpy()[0]
    return answer


# Where does a word stand?


def positions_by_hand__wrong_degrees():
    """The student left the calculator at degrees."""
    s, c = (lambda x: math.sin(math.radians(x))), (lambda x: math.cos(math.radians(x)))
    return {
        "encoding": [round(x, 4) for x in (s(5), c(5), s(0.05), c(0.05))],
        "product": round(c(4) + c(0.04), 4),
        "partner": 24,
    }


def positions_by_hand__wrong_exponent_of_l():
    """The student took l / d for the exponent, not 2l / d, so the second pair turns ten times too fast."""
    return {
        "encoding": [round(x, 4) for x in (math.sin(5), math.cos(5), math.sin(0.5), math.cos(0.5))],
        "product": round(math.cos(4) + math.cos(0.4), 4),
        "partner": 24,
    }


def positions_by_hand__wrong_entry_in_exponent():
    """The student gave each entry an exponent of its own, its number divided by d, so sine and cosine of a pair do not belong together."""

    def p(j):
        return [math.sin(j), math.cos(j / 10), math.sin(j / 100), math.cos(j / 1000)]

    product = sum(x * y for x, y in zip(p(3), p(7)))
    return {"encoding": [round(x, 4) for x in p(5)], "product": round(product, 4), "partner": 24}


def positions_by_hand__wrong_cosine_first():
    """The student exchanged sine and cosine in each pair."""
    return {
        "encoding": [round(x, 4) for x in (math.cos(5), math.sin(5), math.cos(0.05), math.sin(0.05))],
        "product": round(math.cos(4) + math.cos(0.04), 4),
        "partner": 24,
    }


def positions_by_hand__wrong_sines_first():
    """The student put both sines before both cosines."""
    return {
        "encoding": [round(x, 4) for x in (math.sin(5), math.sin(0.05), math.cos(5), math.cos(0.05))],
        "product": round(math.cos(4) + math.cos(0.04), 4),
        "partner": 24,
    }


def positions_by_hand__wrong_position_from_zero():
    """The student subtracted 1 from the position before taking the angles, so position 5 gets the vector of 4."""
    return {
        "encoding": [round(x, 4) for x in (math.sin(4), math.cos(4), math.sin(0.04), math.cos(0.04))],
        "product": round(math.cos(4) + math.cos(0.04), 4),
        "partner": 24,
    }


def positions_by_hand__wrong_partner_before():
    """The student named the position at the same distance before 20, not after it."""
    return {"encoding": [-0.9589, 0.2837, 0.0500, 0.9988], "product": 0.3456, "partner": 16}


def positions_by_hand__wrong_partner_distance():
    """The student returned the distance of the two positions as the partner."""
    return {"encoding": [-0.9589, 0.2837, 0.0500, 0.9988], "product": 0.3456, "partner": 4}


def positions_by_hand__wrong_partner_next_turn():
    """The student added the 7 of the example to 20."""
    return {"encoding": [-0.9589, 0.2837, 0.0500, 0.9988], "product": 0.3456, "partner": 27}


def positions_by_hand__wrong_cosine_similarity():
    """The student divided the dot product by the lengths of the two vectors, which are both the root of 2."""
    return {
        "encoding": [-0.9589, 0.2837, 0.05, 0.9988],
        "product": round((math.cos(4) + math.cos(0.04)) / 2, 4),
        "partner": 24,
    }


def positions_by_hand__wrong_product_of_positions():
    """The student took the cosines of the sum of the two positions, 10, where the difference belongs."""
    return {
        "encoding": [-0.9589, 0.2837, 0.05, 0.9988],
        "product": round(math.cos(10) + math.cos(0.1), 4),
        "partner": 24,
    }


def positions_by_hand__right_complex():
    """Style: each pair as a complex number that turns, and the partner found by a search."""
    import cmath

    def p(j):
        return [cmath.exp(1j * j), cmath.exp(0.01j * j)]

    def dot(i, j):
        return sum((x * y.conjugate()).real for x, y in zip(p(i), p(j)))

    partner = next(j for j in range(21, 1000) if abs(dot(20, j) - dot(3, 7)) < 1e-10)
    return {"encoding": [y for z in p(5) for y in (z.imag, z.real)], "product": dot(3, 7), "partner": partner}


def positions_by_hand__right_table():
    """Style: numpy's table of 100 positions; encoding an array, partner a numpy number."""
    j, l = np.arange(100)[:, None], np.arange(2)
    angles = j / 10000 ** (2 * l / 4)
    table = np.empty((100, 4))
    table[:, 0::2], table[:, 1::2] = np.sin(angles), np.cos(angles)
    product = table[3] @ table[7]
    partner = 21 + np.argmin(np.abs(table[21:60] @ table[20] - product))
    return {"encoding": [round(x, 4) for x in table[5]], "product": round(product, 4), "partner": partner}


# A block in numbers


# Several heads


def multi_head__wrong_not_scaled(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """The student forgot to divide the dot products by the root of the head's size."""
    keys = keys.masked_fill(~source_mask[..., None], 0.0)
    q = torch.einsum("zrq,bq->bzr", W_query, query)
    k = torch.einsum("zrk,bjk->bzjr", W_key, keys)
    u = torch.einsum("zvk,bjk->bzjv", W_value, keys)
    scores = torch.einsum("bzr,bzjr->bzj", q, k)
    pad = ~source_mask[:, None, :]
    weights = scores.masked_fill(pad, torch.finfo(scores.dtype).min).softmax(-1).masked_fill(pad, 0.0)
    return torch.einsum("bzj,bzjv->bzv", weights, u).flatten(1) @ W_out.T


def multi_head__wrong_scaled_by_annotation(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """The student divided by the root of the annotation's size, not by that of a head's key."""
    keys = keys.masked_fill(~source_mask[..., None], 0.0)
    q = torch.einsum("zrq,bq->bzr", W_query, query)
    k = torch.einsum("zrk,bjk->bzjr", W_key, keys)
    u = torch.einsum("zvk,bjk->bzjv", W_value, keys)
    scores = torch.einsum("bzr,bzjr->bzj", q, k) / keys.shape[-1] ** 0.5
    pad = ~source_mask[:, None, :]
    weights = scores.masked_fill(pad, torch.finfo(scores.dtype).min).softmax(-1).masked_fill(pad, 0.0)
    return torch.einsum("bzj,bzjv->bzv", weights, u).flatten(1) @ W_out.T


def multi_head__wrong_scaled_by_all_heads(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """The student divided by the root of the size of all heads' keys together."""
    keys = keys.masked_fill(~source_mask[..., None], 0.0)
    q = torch.einsum("zrq,bq->bzr", W_query, query)
    k = torch.einsum("zrk,bjk->bzjr", W_key, keys)
    u = torch.einsum("zvk,bjk->bzjv", W_value, keys)
    scores = torch.einsum("bzr,bzjr->bzj", q, k) / (W_key.shape[0] * W_key.shape[1]) ** 0.5
    pad = ~source_mask[:, None, :]
    weights = scores.masked_fill(pad, torch.finfo(scores.dtype).min).softmax(-1).masked_fill(pad, 0.0)
    return torch.einsum("bzj,bzjv->bzv", weights, u).flatten(1) @ W_out.T


def multi_head__wrong_joined_entry_by_entry(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """The student joined the contexts with the heads on the last axis, so the entries of all heads alternate."""
    keys = keys.masked_fill(~source_mask[..., None], 0.0)
    contexts = []
    for Wq, Wk, Wv in zip(W_query, W_key, W_value):
        scores = (keys @ Wk.T @ (query @ Wq.T).unsqueeze(-1)).squeeze(-1) / Wk.shape[0] ** 0.5
        scores = scores.masked_fill(~source_mask, torch.finfo(scores.dtype).min)
        weights = torch.softmax(scores, dim=-1).masked_fill(~source_mask, 0.0)
        contexts.append((weights.unsqueeze(1) @ (keys @ Wv.T)).squeeze(1))
    return torch.stack(contexts, dim=-1).flatten(1) @ W_out.T


def multi_head__wrong_last_head_first(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """The student put each new context before the others, so the last head comes first."""
    keys = keys.masked_fill(~source_mask[..., None], 0.0)
    joined = query.new_zeros(len(query), 0)
    for Wq, Wk, Wv in zip(W_query, W_key, W_value):
        scores = (keys @ Wk.T @ (query @ Wq.T).unsqueeze(-1)).squeeze(-1) / Wk.shape[0] ** 0.5
        scores = scores.masked_fill(~source_mask, torch.finfo(scores.dtype).min)
        weights = torch.softmax(scores, dim=-1).masked_fill(~source_mask, 0.0)
        joined = torch.cat([(weights.unsqueeze(1) @ (keys @ Wv.T)).squeeze(1), joined], dim=1)
    return joined @ W_out.T


def multi_head__wrong_softmax_over_heads(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """The student normalised over the heads and not over the positions."""
    keys = keys.masked_fill(~source_mask[..., None], 0.0)
    q = torch.einsum("zrq,bq->bzr", W_query, query)
    k = torch.einsum("zrk,bjk->bzjr", W_key, keys)
    u = torch.einsum("zvk,bjk->bzjv", W_value, keys)
    scores = torch.einsum("bzr,bzjr->bzj", q, k) / W_key.shape[1] ** 0.5
    weights = scores.softmax(dim=1).masked_fill(~source_mask[:, None, :], 0.0)
    return torch.einsum("bzj,bzjv->bzv", weights, u).flatten(1) @ W_out.T


def multi_head__wrong_weights_averaged(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """The student averaged the weights of the heads and mixed the values of each head with the mean."""
    keys = keys.masked_fill(~source_mask[..., None], 0.0)
    q = torch.einsum("zrq,bq->bzr", W_query, query)
    k = torch.einsum("zrk,bjk->bzjr", W_key, keys)
    u = torch.einsum("zvk,bjk->bzjv", W_value, keys)
    scores = torch.einsum("bzr,bzjr->bzj", q, k) / W_key.shape[1] ** 0.5
    pad = ~source_mask[:, None, :]
    weights = scores.masked_fill(pad, torch.finfo(scores.dtype).min).softmax(-1).masked_fill(pad, 0.0).mean(dim=1)
    return torch.einsum("bj,bzjv->bzv", weights, u).flatten(1) @ W_out.T


def multi_head__wrong_first_key_matrix_for_all(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """The student used the key matrix of the first head in every head."""
    keys = keys.masked_fill(~source_mask[..., None], 0.0)
    q = torch.einsum("zrq,bq->bzr", W_query, query)
    k = keys @ W_key[0].T
    u = torch.einsum("zvk,bjk->bzjv", W_value, keys)
    scores = torch.einsum("bzr,bjr->bzj", q, k) / W_key.shape[1] ** 0.5
    pad = ~source_mask[:, None, :]
    weights = scores.masked_fill(pad, torch.finfo(scores.dtype).min).softmax(-1).masked_fill(pad, 0.0)
    return torch.einsum("bzj,bzjv->bzv", weights, u).flatten(1) @ W_out.T


def multi_head__wrong_mask_forgotten(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """The student never used the mask, so pads have weights like words."""
    q = torch.einsum("zrq,bq->bzr", W_query, query)
    k = torch.einsum("zrk,bjk->bzjr", W_key, keys)
    u = torch.einsum("zvk,bjk->bzjv", W_value, keys)
    weights = (torch.einsum("bzr,bzjr->bzj", q, k) / W_key.shape[1] ** 0.5).softmax(-1)
    return torch.einsum("bzj,bzjv->bzv", weights, u).flatten(1) @ W_out.T


def multi_head__wrong_pads_scored_zero(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """The student set the annotations of the pads to 0 and took that for a mask, but they keep the score 0 in the softmax."""
    keys = keys * source_mask[..., None]
    q = torch.einsum("zrq,bq->bzr", W_query, query)
    k = torch.einsum("zrk,bjk->bzjr", W_key, keys)
    u = torch.einsum("zvk,bjk->bzjv", W_value, keys)
    weights = (torch.einsum("bzr,bzjr->bzj", q, k) / W_key.shape[1] ** 0.5).softmax(-1)
    return torch.einsum("bzj,bzjv->bzv", weights, u).flatten(1) @ W_out.T


def multi_head__wrong_pads_above_words(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """The student gave the pads the score -1000, and words may score lower still, so the weights of the words vanish."""
    keys = keys.masked_fill(~source_mask[..., None], 0.0)
    q = torch.einsum("zrq,bq->bzr", W_query, query)
    k = torch.einsum("zrk,bjk->bzjr", W_key, keys)
    u = torch.einsum("zvk,bjk->bzjv", W_value, keys)
    scores = torch.einsum("bzr,bzjr->bzj", q, k) / W_key.shape[1] ** 0.5
    pad = ~source_mask[:, None, :]
    weights = scores.masked_fill(pad, -1e3).softmax(-1).masked_fill(pad, 0.0)
    return torch.einsum("bzj,bzjv->bzv", weights, u).flatten(1) @ W_out.T


def multi_head__wrong_mean_of_pads(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """The student gave the pads the score -1e9 and nothing else, so a sentence without a word reads the mean of its pads."""
    q = torch.einsum("zrq,bq->bzr", W_query, query)
    k = torch.einsum("zrk,bjk->bzjr", W_key, keys)
    u = torch.einsum("zvk,bjk->bzjv", W_value, keys)
    scores = torch.einsum("bzr,bzjr->bzj", q, k) / W_key.shape[1] ** 0.5
    weights = scores.masked_fill(~source_mask[:, None, :], -1e9).softmax(-1)
    return torch.einsum("bzj,bzjv->bzv", weights, u).flatten(1) @ W_out.T


def multi_head__wrong_gradient_not_a_number(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """The student added minus infinity at the pads and replaced what is not a number after the softmax, so the result is right, but a sentence without a word makes gradients that are not numbers."""
    keys = keys.masked_fill(~source_mask[..., None], 0.0)
    q = torch.einsum("zrq,bq->bzr", W_query, query)
    k = torch.einsum("zrk,bjk->bzjr", W_key, keys)
    u = torch.einsum("zvk,bjk->bzjv", W_value, keys)
    scores = torch.einsum("bzr,bzjr->bzj", q, k) / W_key.shape[1] ** 0.5
    closed = torch.zeros_like(keys[:, None, :, 0]).masked_fill(~source_mask[:, None, :], -math.inf)
    weights = torch.nan_to_num((scores + closed).softmax(-1), nan=0.0)
    return torch.einsum("bzj,bzjv->bzv", weights, u).flatten(1) @ W_out.T


def multi_head__wrong_weights_detached(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """The student detached the weights, so no gradient reaches the query and its matrix, nor the key matrix."""
    keys = keys.masked_fill(~source_mask[..., None], 0.0)
    q = torch.einsum("zrq,bq->bzr", W_query, query)
    k = torch.einsum("zrk,bjk->bzjr", W_key, keys)
    u = torch.einsum("zvk,bjk->bzjv", W_value, keys)
    scores = torch.einsum("bzr,bzjr->bzj", q, k) / W_key.shape[1] ** 0.5
    pad = ~source_mask[:, None, :]
    weights = scores.masked_fill(pad, torch.finfo(scores.dtype).min).softmax(-1).masked_fill(pad, 0.0).detach()
    return torch.einsum("bzj,bzjv->bzv", weights, u).flatten(1) @ W_out.T


def multi_head__wrong_new_tensor(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """The student made a new tensor of the contexts, which has no history, so gradients reach W_out only."""
    keys = keys.masked_fill(~source_mask[..., None], 0.0)
    rows = []
    for b in range(len(query)):
        row = []
        for Wq, Wk, Wv in zip(W_query, W_key, W_value):
            real = source_mask[b]
            if not real.any():
                row += [0.0] * len(Wv)
                continue
            a = torch.softmax(keys[b, real] @ Wk.T @ (Wq @ query[b]) / math.sqrt(len(Wk)), dim=0)
            row += (a @ (keys[b, real] @ Wv.T)).tolist()
        rows.append(row)
    return torch.tensor(rows, dtype=torch.float64) @ W_out.T


def multi_head__wrong_squeezed(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """The student squeezed the result, which drops the batch axis of a single sentence, or an output of size 1."""
    keys = keys.masked_fill(~source_mask[..., None], 0.0)
    q = torch.einsum("zrq,bq->bzr", W_query, query)
    k = torch.einsum("zrk,bjk->bzjr", W_key, keys)
    u = torch.einsum("zvk,bjk->bzjv", W_value, keys)
    scores = torch.einsum("bzr,bzjr->bzj", q, k) / W_key.shape[1] ** 0.5
    pad = ~source_mask[:, None, :]
    weights = scores.masked_fill(pad, torch.finfo(scores.dtype).min).softmax(-1).masked_fill(pad, 0.0)
    return (torch.einsum("bzj,bzjv->bzv", weights, u).flatten(1) @ W_out.T).squeeze()


def multi_head__wrong_exponentials_overflow(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """The student wrote the softmax out without subtracting the highest score, so high scores overflow."""
    keys = keys.masked_fill(~source_mask[..., None], 0.0)
    q = torch.einsum("zrq,bq->bzr", W_query, query)
    k = torch.einsum("zrk,bjk->bzjr", W_key, keys)
    u = torch.einsum("zvk,bjk->bzjv", W_value, keys)
    e = torch.exp(torch.einsum("bzr,bzjr->bzj", q, k) / W_key.shape[1] ** 0.5) * source_mask[:, None, :]
    weights = e / e.sum(dim=-1, keepdim=True).clamp(min=1e-300)
    return torch.einsum("bzj,bzjv->bzv", weights, u).flatten(1) @ W_out.T


def multi_head__right_loop_over_heads(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """Style: a loop over the heads, whose contexts are concatenated."""
    pad = source_mask.logical_not()
    keys = torch.where(pad.unsqueeze(-1), torch.zeros_like(keys), keys)
    contexts = []
    for z in range(W_query.size(0)):
        q = query.mm(W_query[z].t())
        scores = keys.matmul(W_key[z].t()).bmm(q.unsqueeze(2)).squeeze(2) / math.sqrt(W_key.size(1))
        weights = scores.masked_fill(pad, torch.finfo(scores.dtype).min).softmax(dim=1).masked_fill(pad, 0.0)
        contexts.append(weights.unsqueeze(1).bmm(keys.matmul(W_value[z].t())).squeeze(1))
    return torch.cat(contexts, dim=1).mm(W_out.t())


def multi_head__right_loop_over_sentences(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """Style: a loop over the sentences that selects their real tokens; for an empty sentence, the query times 0."""
    rows = []
    for b in range(query.shape[0]):
        words = keys[b][source_mask[b]]
        if words.shape[0] == 0:
            rows.append(W_out.new_zeros(W_out.shape[0]))
            continue
        scores = (words @ W_key.transpose(1, 2)) @ (W_query @ query[b]).unsqueeze(-1) / W_key.shape[1] ** 0.5
        contexts = (scores.softmax(dim=1) * (words @ W_value.transpose(1, 2))).sum(dim=1)
        rows.append(W_out @ contexts.reshape(-1))
    return torch.stack(rows) + 0.0 * query.sum()


def multi_head__right_joined_matrices(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """Style: the matrices of all heads as one, split by reshape, and a softmax by hand that subtracts the highest score of the words."""
    heads, r, _ = W_key.shape
    batch, length, _ = keys.shape
    real = source_mask.view(batch, length, 1)
    keys = keys.masked_fill(~real, 0.0)
    q = (query @ W_query.flatten(0, 1).T).view(batch, 1, heads, r)
    k = (keys @ W_key.flatten(0, 1).T).view(batch, length, heads, r)
    u = (keys @ W_value.flatten(0, 1).T).view(batch, length, heads, -1)
    scores = (q * k).sum(-1) / math.sqrt(r)
    highest = scores.detach().masked_fill(~real, -1e300).amax(dim=1, keepdim=True)
    e = torch.where(real, scores - highest, torch.zeros_like(scores)).exp() * real
    weights = e / e.sum(dim=1, keepdim=True).clamp(min=0.5)
    return (weights.unsqueeze(-1) * u).sum(dim=1).view(batch, -1) @ W_out.T


def multi_head__right_minus_infinity_filled(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """Style: minus infinity by masked_fill and nan_to_num after the softmax; masked_fill sends 0 back to what it covers, so no gradient is spoiled."""
    keys = keys.masked_fill(~source_mask[..., None], 0.0)
    q = torch.einsum("zrq,bq->bzr", W_query, query)
    k = torch.einsum("zrk,bjk->bzjr", W_key, keys)
    u = torch.einsum("zvk,bjk->bzjv", W_value, keys)
    scores = torch.einsum("bzr,bzjr->bzj", q, k) / W_key.shape[1] ** 0.5
    weights = torch.nan_to_num(scores.masked_fill(~source_mask[:, None, :], -math.inf).softmax(-1), nan=0.0)
    return torch.einsum("bzj,bzjv->bzv", weights, u).flatten(1) @ W_out.T


# A sentence that reads itself


def self_attention__wrong_not_scaled(states, mask, W_query, W_key, W_value):
    """The student forgot to divide the dot products by the root of the key's size."""
    clean = states.masked_fill(~mask[..., None], 0.0)
    q, k, u = states @ W_query.T, clean @ W_key.T, clean @ W_value.T
    n = states.shape[1]
    seen = torch.tril(torch.ones(n, n, dtype=torch.bool)) & mask[:, None, :]
    scores = q @ k.transpose(1, 2)
    weights = scores.masked_fill(~seen, torch.finfo(scores.dtype).min).softmax(-1).masked_fill(~seen, 0.0)
    return weights @ u


def self_attention__wrong_scaled_by_state(states, mask, W_query, W_key, W_value):
    """The student divided by the root of the size of the states, not of the keys."""
    clean = states.masked_fill(~mask[..., None], 0.0)
    q, k, u = states @ W_query.T, clean @ W_key.T, clean @ W_value.T
    n = states.shape[1]
    seen = torch.tril(torch.ones(n, n, dtype=torch.bool)) & mask[:, None, :]
    scores = q @ k.transpose(1, 2) / states.shape[-1] ** 0.5
    weights = scores.masked_fill(~seen, torch.finfo(scores.dtype).min).softmax(-1).masked_fill(~seen, 0.0)
    return weights @ u


def self_attention__wrong_itself_unseen(states, mask, W_query, W_key, W_value):
    """The student let each position read only those before it, and not itself."""
    clean = states.masked_fill(~mask[..., None], 0.0)
    q, k, u = states @ W_query.T, clean @ W_key.T, clean @ W_value.T
    n = states.shape[1]
    seen = torch.tril(torch.ones(n, n, dtype=torch.bool), diagonal=-1) & mask[:, None, :]
    scores = q @ k.transpose(1, 2) / W_key.shape[0] ** 0.5
    weights = scores.masked_fill(~seen, torch.finfo(scores.dtype).min).softmax(-1).masked_fill(~seen, 0.0)
    return weights @ u


def self_attention__wrong_later_positions(states, mask, W_query, W_key, W_value):
    """The student took the upper triangle, so each position reads itself and those after it."""
    clean = states.masked_fill(~mask[..., None], 0.0)
    q, k, u = states @ W_query.T, clean @ W_key.T, clean @ W_value.T
    n = states.shape[1]
    seen = torch.triu(torch.ones(n, n, dtype=torch.bool)) & mask[:, None, :]
    scores = q @ k.transpose(1, 2) / W_key.shape[0] ** 0.5
    weights = scores.masked_fill(~seen, torch.finfo(scores.dtype).min).softmax(-1).masked_fill(~seen, 0.0)
    return weights @ u


def self_attention__wrong_one_too_many(states, mask, W_query, W_key, W_value):
    """The student let each position read one position after it, too."""
    clean = states.masked_fill(~mask[..., None], 0.0)
    q, k, u = states @ W_query.T, clean @ W_key.T, clean @ W_value.T
    n = states.shape[1]
    seen = torch.tril(torch.ones(n, n, dtype=torch.bool), diagonal=1) & mask[:, None, :]
    scores = q @ k.transpose(1, 2) / W_key.shape[0] ** 0.5
    weights = scores.masked_fill(~seen, torch.finfo(scores.dtype).min).softmax(-1).masked_fill(~seen, 0.0)
    return weights @ u


def self_attention__wrong_all_positions(states, mask, W_query, W_key, W_value):
    """The student let each position read the whole sentence, those after it among them."""
    clean = states.masked_fill(~mask[..., None], 0.0)
    q, k, u = states @ W_query.T, clean @ W_key.T, clean @ W_value.T
    seen = mask[:, None, :].expand(-1, states.shape[1], -1)
    scores = q @ k.transpose(1, 2) / W_key.shape[0] ** 0.5
    weights = scores.masked_fill(~seen, torch.finfo(scores.dtype).min).softmax(-1).masked_fill(~seen, 0.0)
    return weights @ u


def self_attention__wrong_pads_are_read(states, mask, W_query, W_key, W_value):
    """The student hid the later positions but never used the mask of the pads."""
    q, k, u = states @ W_query.T, states @ W_key.T, states @ W_value.T
    n = states.shape[1]
    seen = torch.tril(torch.ones(n, n, dtype=torch.bool))
    scores = q @ k.transpose(1, 2) / W_key.shape[0] ** 0.5
    return scores.masked_fill(~seen, -math.inf).softmax(-1) @ u


def self_attention__wrong_zeros_at_pads(states, mask, W_query, W_key, W_value):
    """The student gave zeros to every pad, though a pad after a word reads that word."""
    clean = states.masked_fill(~mask[..., None], 0.0)
    q, k, u = clean @ W_query.T, clean @ W_key.T, clean @ W_value.T
    n = states.shape[1]
    seen = torch.tril(torch.ones(n, n, dtype=torch.bool)) & mask[:, None, :]
    scores = q @ k.transpose(1, 2) / W_key.shape[0] ** 0.5
    weights = scores.masked_fill(~seen, torch.finfo(scores.dtype).min).softmax(-1).masked_fill(~seen, 0.0)
    return (weights @ u).masked_fill(~mask[..., None], 0.0)


def self_attention__wrong_queries_of_pads_cleared(states, mask, W_query, W_key, W_value):
    """The student set the states of the pads to 0 before the queries were made, so pads read the words before them with equal weights."""
    states = states.masked_fill(~mask[..., None], 0.0)
    q, k, u = states @ W_query.T, states @ W_key.T, states @ W_value.T
    n = states.shape[1]
    seen = torch.tril(torch.ones(n, n, dtype=torch.bool)) & mask[:, None, :]
    scores = q @ k.transpose(1, 2) / W_key.shape[0] ** 0.5
    weights = scores.masked_fill(~seen, torch.finfo(scores.dtype).min).softmax(-1).masked_fill(~seen, 0.0)
    return weights @ u


def self_attention__wrong_pad_reads_itself(states, mask, W_query, W_key, W_value):
    """The student always left the diagonal open against empty rows, so a pad reads itself."""
    q, k, u = states @ W_query.T, states @ W_key.T, states @ W_value.T
    n = states.shape[1]
    seen = torch.tril(torch.ones(n, n, dtype=torch.bool)) & (mask[:, None, :] | torch.eye(n, dtype=torch.bool))
    scores = q @ k.transpose(1, 2) / W_key.shape[0] ** 0.5
    weights = scores.masked_fill(~seen, torch.finfo(scores.dtype).min).softmax(-1).masked_fill(~seen, 0.0)
    return weights @ u


def self_attention__wrong_not_normalised_again(states, mask, W_query, W_key, W_value):
    """The student took the softmax over all words and set the weights of the later ones to 0 afterwards, so the rest adds to less than 1."""
    clean = states.masked_fill(~mask[..., None], 0.0)
    q, k, u = states @ W_query.T, clean @ W_key.T, clean @ W_value.T
    scores = q @ k.transpose(1, 2) / W_key.shape[0] ** 0.5
    pad = ~mask[:, None, :]
    weights = scores.masked_fill(pad, torch.finfo(scores.dtype).min).softmax(-1).masked_fill(pad, 0.0)
    return torch.tril(weights) @ u


def self_attention__wrong_later_scored_zero(states, mask, W_query, W_key, W_value):
    """The student took the lower triangle of the scores, so later words keep the score 0 in the softmax."""
    clean = states.masked_fill(~mask[..., None], 0.0)
    q, k, u = states @ W_query.T, clean @ W_key.T, clean @ W_value.T
    scores = torch.tril(q @ k.transpose(1, 2) / W_key.shape[0] ** 0.5)
    pad = ~mask[:, None, :]
    weights = scores.masked_fill(pad, torch.finfo(scores.dtype).min).softmax(-1).masked_fill(pad, 0.0)
    return weights @ u


def self_attention__wrong_softmax_over_readers(states, mask, W_query, W_key, W_value):
    """The student normalised over the positions that read, the wrong axis of the square of scores."""
    clean = states.masked_fill(~mask[..., None], 0.0)
    q, k, u = states @ W_query.T, clean @ W_key.T, clean @ W_value.T
    n = states.shape[1]
    seen = torch.tril(torch.ones(n, n, dtype=torch.bool)) & mask[:, None, :]
    scores = q @ k.transpose(1, 2) / W_key.shape[0] ** 0.5
    weights = scores.masked_fill(~seen, torch.finfo(scores.dtype).min).softmax(dim=1).masked_fill(~seen, 0.0)
    return weights @ u


def self_attention__wrong_mean_where_nothing_is_read(states, mask, W_query, W_key, W_value):
    """The student gave hidden positions the score -1e9 and nothing else, so one that may read nothing gets the mean of all values, those of pads being 0."""
    clean = states.masked_fill(~mask[..., None], 0.0)
    q, k, u = states @ W_query.T, clean @ W_key.T, clean @ W_value.T
    n = states.shape[1]
    seen = torch.tril(torch.ones(n, n, dtype=torch.bool)) & mask[:, None, :]
    scores = q @ k.transpose(1, 2) / W_key.shape[0] ** 0.5
    return scores.masked_fill(~seen, -1e9).softmax(-1) @ u


def self_attention__wrong_gradient_not_a_number(states, mask, W_query, W_key, W_value):
    """The student added minus infinity at hidden positions and set empty rows to 0 afterwards, so the result is right, but an empty row makes gradients that are not numbers."""
    clean = states.masked_fill(~mask[..., None], 0.0)
    q, k, u = states @ W_query.T, clean @ W_key.T, clean @ W_value.T
    n = states.shape[1]
    seen = torch.tril(torch.ones(n, n, dtype=torch.bool)) & mask[:, None, :]
    closed = torch.zeros(seen.shape, dtype=q.dtype).masked_fill(~seen, -math.inf)
    weights = (q @ k.transpose(1, 2) / W_key.shape[0] ** 0.5 + closed).softmax(-1)
    weights = torch.where(seen.any(-1, keepdim=True), weights, torch.zeros_like(weights))
    return weights @ u


def self_attention__wrong_query_and_key_exchanged(states, mask, W_query, W_key, W_value):
    """The student made the queries with the key matrix and the keys with the query matrix."""
    clean = states.masked_fill(~mask[..., None], 0.0)
    q, k, u = states @ W_key.T, clean @ W_query.T, clean @ W_value.T
    n = states.shape[1]
    seen = torch.tril(torch.ones(n, n, dtype=torch.bool)) & mask[:, None, :]
    scores = q @ k.transpose(1, 2) / W_key.shape[0] ** 0.5
    weights = scores.masked_fill(~seen, torch.finfo(scores.dtype).min).softmax(-1).masked_fill(~seen, 0.0)
    return weights @ u


def self_attention__wrong_keys_detached(states, mask, W_query, W_key, W_value):
    """The student computed the weights without gradients, so only W_value and the states by way of the values get one."""
    clean = states.masked_fill(~mask[..., None], 0.0)
    n = states.shape[1]
    seen = torch.tril(torch.ones(n, n, dtype=torch.bool)) & mask[:, None, :]
    with torch.no_grad():
        scores = states @ W_query.T @ (clean @ W_key.T).transpose(1, 2) / W_key.shape[0] ** 0.5
        weights = scores.masked_fill(~seen, torch.finfo(scores.dtype).min).softmax(-1).masked_fill(~seen, 0.0)
    return weights @ (clean @ W_value.T)


def self_attention__right_einsum(states, mask, W_query, W_key, W_value):
    """Style: einsum throughout, and comparisons of position numbers in place of a triangle."""
    real = torch.where(mask.unsqueeze(-1), states, torch.zeros_like(states))
    q = torch.einsum("rs,bis->bir", W_query, states)
    k = torch.einsum("rs,bjs->bjr", W_key, real)
    u = torch.einsum("vs,bjs->bjv", W_value, real)
    place = torch.arange(states.shape[1])
    hidden = ~(mask.unsqueeze(1) & (place[None, None, :] <= place[None, :, None]))
    scores = torch.einsum("bir,bjr->bij", q, k) / math.sqrt(W_key.shape[0])
    scores = torch.where(hidden, torch.full_like(scores, torch.finfo(scores.dtype).min), scores)
    weights = torch.where(hidden, torch.zeros_like(scores), torch.softmax(scores, dim=2))
    return torch.einsum("bij,bjv->biv", weights, u)


def self_attention__right_loops(states, mask, W_query, W_key, W_value):
    """Style: loops over sentences and positions, each of which reads the list of the words so far."""
    batch, length, _ = states.shape
    rows = []
    for b in range(batch):
        for i in range(length):
            words = states[b, : i + 1][mask[b, : i + 1]]
            if len(words) == 0:
                rows.append(torch.zeros(W_value.shape[0], dtype=states.dtype) + 0.0 * W_value.sum())
                continue
            scores = (words @ W_key.T) @ (W_query @ states[b, i]) / W_key.shape[0] ** 0.5
            rows.append(torch.softmax(scores, dim=0) @ (words @ W_value.T))
    return torch.stack(rows).view(batch, length, -1)


def self_attention__right_rescaled(states, mask, W_query, W_key, W_value):
    """Style: a softmax by hand; queries are divided by their largest entry until the highest score is subtracted, so that even those of huge pads do not overflow."""
    clean = states.masked_fill(~mask[..., None], 0.0)
    q, k, u = states @ W_query.T, clean @ W_key.T, clean @ W_value.T
    size = q.detach().abs().amax(dim=-1, keepdim=True).clamp(min=1.0)
    seen = (torch.ones(states.shape[1], states.shape[1]).tril() > 0) & mask.unsqueeze(1)
    small = torch.matmul(q / size, k.mT) / math.sqrt(k.shape[-1])
    highest = small.detach().masked_fill(~seen, -1e300).amax(dim=-1, keepdim=True)
    below = torch.where(seen, small - highest, torch.zeros_like(small)) * size
    e = below.clamp(min=-1e5).exp() * seen
    return (e / e.sum(dim=-1, keepdim=True).clamp(min=0.5)) @ u


def self_attention__right_minus_infinity_filled(states, mask, W_query, W_key, W_value):
    """Style: minus infinity by masked_fill and zeros for the empty rows after the softmax; masked_fill sends 0 back to what it covers, so no gradient is spoiled."""
    clean = states.masked_fill(~mask[..., None], 0.0)
    q, k, u = states @ W_query.T, clean @ W_key.T, clean @ W_value.T
    n = states.shape[1]
    seen = torch.tril(torch.ones(n, n, dtype=torch.bool)) & mask[:, None, :]
    weights = (q @ k.transpose(1, 2) / W_key.shape[0] ** 0.5).masked_fill(~seen, -math.inf).softmax(-1)
    weights = torch.where(seen.any(-1, keepdim=True), weights, torch.zeros_like(weights))
    return weights @ u


# Layer normalization


def layer_norm__wrong_no_root(states, gain, bias):
    """The student divided by the variance and forgot the root."""
    mu, var = states.mean(-1, keepdims=True), states.var(-1, keepdims=True)
    return gain * (states - mu) / (var + 1e-5) + bias


def layer_norm__wrong_epsilon_outside(states, gain, bias):
    """The student added epsilon to the standard deviation, outside of the root."""
    mu, sd = states.mean(-1, keepdims=True), states.std(-1, keepdims=True)
    return gain * (states - mu) / (sd + 1e-5) + bias


def layer_norm__wrong_epsilon_forgotten(states, gain, bias):
    """The student forgot epsilon and set what is not a number to 0."""
    mu, sd = states.mean(-1, keepdims=True), states.std(-1, keepdims=True)
    with np.errstate(all="ignore"):
        return gain * np.nan_to_num((states - mu) / sd, nan=0.0, posinf=0.0, neginf=0.0) + bias


def layer_norm__wrong_smaller_epsilon(states, gain, bias):
    """The student took 1e-6 for epsilon."""
    mu, var = states.mean(-1, keepdims=True), states.var(-1, keepdims=True)
    return gain * (states - mu) / np.sqrt(var + 1e-6) + bias


def layer_norm__wrong_size_minus_one(states, gain, bias):
    """The student divided the squared distances by one less than their number, as for a sample."""
    n = states.shape[-1]
    mu = states.mean(-1, keepdims=True)
    var = ((states - mu) ** 2).sum(-1, keepdims=True) / max(n - 1, 1)
    return gain * (states - mu) / np.sqrt(var + 1e-5) + bias


def layer_norm__wrong_over_sentence(states, gain, bias):
    """The student took mean and variance over all positions of a sentence together."""
    mu, var = states.mean((1, 2), keepdims=True), states.var((1, 2), keepdims=True)
    return gain * (states - mu) / np.sqrt(var + 1e-5) + bias


def layer_norm__wrong_over_positions(states, gain, bias):
    """The student took mean and variance of each entry over the positions."""
    mu, var = states.mean(1, keepdims=True), states.var(1, keepdims=True)
    return gain * (states - mu) / np.sqrt(var + 1e-5) + bias


def layer_norm__wrong_batch_norm(states, gain, bias):
    """The student normalised each entry over the batch and the positions, which is batch normalisation."""
    mu, var = states.mean((0, 1)), states.var((0, 1))
    return gain * (states - mu) / np.sqrt(var + 1e-5) + bias


def layer_norm__wrong_mean_not_subtracted(states, gain, bias):
    """The student divided by the root of the mean square and did not subtract the mean."""
    return gain * states / np.sqrt((states**2).mean(-1, keepdims=True) + 1e-5) + bias


def layer_norm__wrong_gain_around_bias(states, gain, bias):
    """The student added the bias before multiplying by the gain."""
    mu, var = states.mean(-1, keepdims=True), states.var(-1, keepdims=True)
    return gain * ((states - mu) / np.sqrt(var + 1e-5) + bias)


def layer_norm__wrong_one_plus_gain(states, gain, bias):
    """The student multiplied by 1 + gain, as if the gain were a deviation from 1."""
    mu, var = states.mean(-1, keepdims=True), states.var(-1, keepdims=True)
    return (1 + gain) * (states - mu) / np.sqrt(var + 1e-5) + bias


def layer_norm__wrong_difference_of_large_squares(states, gain, bias):
    """The student computed the variance as mean of the squares minus square of the mean, which loses digits where entries are large and close together."""
    mu = states.mean(-1, keepdims=True)
    var = np.maximum((states**2).mean(-1, keepdims=True) - mu**2, 0)
    return gain * (states - mu) / np.sqrt(var + 1e-5) + bias


def layer_norm__right_torch(states, gain, bias):
    """Style: torch's own layer normalization, in double precision."""
    z, g, b = (torch.as_tensor(np.ascontiguousarray(x), dtype=torch.float64) for x in (states, gain, bias))
    return torch.nn.functional.layer_norm(z, (z.shape[-1],), g, b, eps=1e-5).numpy()


def layer_norm__right_loops(states, gain, bias):
    """Style: loops over sentences and positions, with plain sums; the lists become an array at the end."""
    result = []
    for sentence in states.tolist():
        rows = []
        for z in sentence:
            mu = math.fsum(z) / len(z)
            root = math.sqrt(math.fsum((x - mu) ** 2 for x in z) / len(z) + 1e-5)
            rows.append([g * (x - mu) / root + b for x, g, b in zip(z, gain.tolist(), bias.tolist())])
        result.append(rows)
    return np.array(result)


def layer_norm__right_in_place(states, gain, bias):
    """Style: in place, on the input itself, step by step."""
    states -= states.mean(axis=2, keepdims=True)
    nu = np.einsum("bjs,bjs->bj", states, states) / states.shape[2]
    states *= 1 / np.sqrt(nu + 1e-5)[:, :, None]
    states *= gain
    states += bias
    return states


# The same context, another heat map


def same_context__wrong_normalised_rest():
    """The student set the first weight to 0 and divided the rest by its sum, which changes the context."""
    return [0.0, 0.5, 0.3333, 0.1667]


def same_context__wrong_spread_evenly():
    """The student gave the weight of the first word to the other three in equal parts."""
    return [0, round(0.3 + 0.4 / 3, 4), round(0.2 + 0.4 / 3, 4), round(0.1 + 0.4 / 3, 4)]


def same_context__wrong_sum_forgotten():
    """The student solved the two equations of the context by the shortest vector and forgot that weights add to 1."""
    H = np.array([[4.0, -1.0, -3.0], [0.0, 4.0, -2.0]])
    return [0.0, *np.round(np.linalg.pinv(H) @ [1.1, 1.0], 4)]


def same_context__wrong_fourth_zero():
    """The student forgot the fourth word and found weights of two words that give the context, but do not add to 1."""
    b = 1.0 / 4
    return [0.0, round((1.1 + b) / 4, 4), b, 0.0]


def same_context__wrong_rest_adds_to_six_tenths():
    """The student let the three weights add to 0.6, as they do in the heat map."""
    A = np.array([[4.0, -1.0, -3.0], [0.0, 4.0, -2.0], [1.0, 1.0, 1.0]])
    return [0.0, *np.round(np.linalg.solve(A, [1.1, 1.0, 0.6]), 4)]


def same_context__wrong_sign_of_fourth():
    """The student lost the minus of the second entry of the fourth annotation, in the context and in the equations."""
    A = np.array([[4.0, -1.0, -3.0], [0.0, 4.0, 2.0], [1.0, 1.0, 1.0]])
    return [0.0, *np.round(np.linalg.solve(A, [1.1, 1.4, 1.0]), 4)]


def same_context__wrong_context_of_mean():
    """The student solved for the plain mean of the four annotations, not for the context of the heat map."""
    A = np.array([[4.0, -1.0, -3.0], [0.0, 4.0, -2.0], [1.0, 1.0, 1.0]])
    return [0.0, *np.round(np.linalg.solve(A, [0.25, 0.75, 1.0]), 4)]


def same_context__wrong_zero_last():
    """The student put the zero of the first word at the end of the list."""
    return [0.4895, 0.3368, 0.1737, 0.0]


def same_context__wrong_three_weights():
    """The student returned the weights of the other three words without the zero."""
    return [0.4895, 0.3368, 0.1737]


def same_context__wrong_last_two_exchanged():
    """The student exchanged the weights of the third and the fourth word."""
    return [0.0, 0.4895, 0.1737, 0.3368]


def same_context__right_solve():
    """Style: three linear equations, solved by numpy, with numpy's numbers in the list."""
    H = np.array([[1.0, 1.0], [4.0, 0.0], [-1.0, 4.0], [-3.0, -2.0]])
    context = np.array([0.4, 0.3, 0.2, 0.1]) @ H
    A = np.vstack([H[1:].T, np.ones(3)])
    return [0.0, *np.linalg.solve(A, np.append(context, 1.0))]


def same_context__right_direction():
    """Style: the one direction in which weights can change without changing sum and context, followed until the first weight is 0."""
    A = np.array([[1.0, 4.0, -1.0, -3.0], [1.0, 0.0, 4.0, -2.0], [1.0, 1.0, 1.0, 1.0]])
    direction = np.linalg.svd(A)[2][-1]
    w = np.array([0.4, 0.3, 0.2, 0.1])
    w = w - w[0] / direction[0] * direction
    return [round(abs(float(x)), 4) for x in w]


def same_context__right_fractions():
    """Style: exact fractions of the first word that is written as a mix of the others, as floats at the end."""
    from fractions import Fraction as F

    # h_1 = p h_2 + q h_3 + s h_4 with p + q + s = 1: 4p - q - 3s = 1 and 4q - 2s = 1
    # with p = 1 - q - s: -5q - 7s = -3, and s = 2q - 1/2: -19q = -13/2
    q = F(13, 38)
    s = 2 * q - F(1, 2)
    p = 1 - q - s
    return [0.0] + [float(F(n, 10) + F(4, 10) * x) for n, x in ((3, p), (2, q), (1, s))]
