"""Answers to the exercises of scoring.ipynb, right and wrong."""
import itertools
import math

import numpy as np
import torch


# ---------------------------------------------------------------- 2.1
def alignment_parameters__wrong_turned(m, n):
    """Writes both matrices with columns first."""
    return {"W_query": (n, n), "W_key": (m, n), "v": (n,)}


def alignment_parameters__wrong_keys_size(m, n):
    """Gives the hidden layer the size of an annotation instead of that of the decoder state."""
    return {"W_query": (m, n), "W_key": (m, m), "v": (m,)}


def alignment_parameters__wrong_v_matrix(m, n):
    """Writes v as a matrix of one row instead of as a vector."""
    return {"W_query": (n, n), "W_key": (n, m), "v": (1, n)}


def alignment_parameters__wrong_subtle_larger(m, n):
    """Gives the hidden layer the larger of both sizes, which is right only where the decoder state is not the smaller."""
    a = max(m, n)
    return {"W_query": (a, n), "W_key": (a, m), "v": (a,)}


def alignment_parameters__right_torch_sizes(m, n):
    """Right: shapes read off torch tensors."""
    return {"v": torch.empty(n).shape, "W_key": torch.empty(n, m).shape, "W_query": torch.empty(n, n).shape}


# ---------------------------------------------------------------- 2.2
def additive_shapes__wrong_query_unprojected(m, n, a, T_x):
    """Keeps the size of the decoder state after the projection."""
    return {"projected_query": (n,), "projected_keys": (T_x, a), "hidden": (T_x, a), "scores": (T_x,)}


def additive_shapes__wrong_columns(m, n, a, T_x):
    """Writes the projected annotations as columns instead of rows."""
    return {"projected_query": (a,), "projected_keys": (a, T_x), "hidden": (a, T_x), "scores": (T_x,)}


def additive_shapes__wrong_one_score(m, n, a, T_x):
    """Sums the scores of all positions to one number."""
    return {"projected_query": (a,), "projected_keys": (T_x, a), "hidden": (T_x, a), "scores": ()}


def additive_shapes__wrong_hidden_doubled(m, n, a, T_x):
    """Joins the two projections instead of adding them, so the hidden layer has twice the size."""
    return {"projected_query": (a,), "projected_keys": (T_x, a), "hidden": (T_x, 2 * a), "scores": (T_x,)}


def additive_shapes__wrong_subtle_single_word(m, n, a, T_x):
    """Drops the axis of positions for a sentence of one word."""
    if T_x == 1:
        return {"projected_query": (a,), "projected_keys": (a,), "hidden": (a,), "scores": ()}
    return {"projected_query": (a,), "projected_keys": (T_x, a), "hidden": (T_x, a), "scores": (T_x,)}


def additive_shapes__right_computed(m, n, a, T_x):
    """Right: computes with ones and reads the shapes."""
    q = np.ones((a, n)) @ np.ones(n)
    k = np.ones((T_x, m)) @ np.ones((a, m)).T
    return {"projected_query": q.shape, "projected_keys": k.shape, "hidden": (q + k).shape, "scores": ((q + k) @ q).shape}


# ---------------------------------------------------------------- 2.3
def batched_additive_shapes__wrong_axis_missing(batch, m, n, a, T_x):
    """Forgets the extra axis of the projected decoder state."""
    return {"projected_query": (batch, a), "hidden": (batch, T_x, a), "product": (batch, T_x, 1)}


def batched_additive_shapes__wrong_axis_in_front(batch, m, n, a, T_x):
    """Puts the extra axis in front, which lines the batch up with the positions."""
    return {"projected_query": (1, batch, a), "hidden": (batch, T_x, a), "product": (batch, T_x, 1)}


def batched_additive_shapes__wrong_axis_last(batch, m, n, a, T_x):
    """Puts the extra axis behind the attention layer instead of at the positions."""
    return {"projected_query": (batch, a, 1), "hidden": (batch, T_x, a), "product": (batch, T_x, 1)}


def batched_additive_shapes__wrong_squeezed(batch, m, n, a, T_x):
    """Leaves away the column axis that a matrix of one column makes."""
    return {"projected_query": (batch, 1, a), "hidden": (batch, T_x, a), "product": (batch, T_x)}


def batched_additive_shapes__wrong_decoder_size(batch, m, n, a, T_x):
    """Gives the hidden layer the size of the decoder state."""
    return {"projected_query": (batch, 1, n), "hidden": (batch, T_x, n), "product": (batch, T_x, 1)}


def batched_additive_shapes__right_broadcast(batch, m, n, a, T_x):
    """Right: lets numpy broadcast the shapes."""
    q = (batch, 1, a)
    h = np.broadcast_shapes(q, (batch, T_x, a))
    return {"projected_query": q, "hidden": h, "product": h[:-1] + (1,)}


# ---------------------------------------------------------------- 2.4
def multiplicative_shapes__wrong_key_size(m, n, T_x):
    """Leaves the annotations their own size after W."""
    return {"projected_keys": (T_x, m), "projected_query": (m,), "scores": (T_x,)}


def multiplicative_shapes__wrong_both_swapped(m, n, T_x):
    """Swaps the two sizes, as though W took a decoder state to an annotation."""
    return {"projected_keys": (T_x, m), "projected_query": (n,), "scores": (T_x,)}


def multiplicative_shapes__wrong_column_scores(m, n, T_x):
    """Writes the scores as a matrix of one column."""
    return {"projected_keys": (T_x, n), "projected_query": (m,), "scores": (T_x, 1)}


def multiplicative_shapes__wrong_subtle_smaller(m, n, T_x):
    """Gives the projected annotations the smaller size, which is right only where the decoder state is not the larger."""
    return {"projected_keys": (T_x, min(m, n)), "projected_query": (m,), "scores": (T_x,)}


def multiplicative_shapes__right_computed(m, n, T_x):
    """Right: computes with zeros and reads the shapes."""
    H, s, W = np.zeros((T_x, m)), np.zeros(n), np.zeros((n, m))
    return dict(projected_keys=(H @ W.T).shape, projected_query=(W.T @ s).shape, scores=(H @ (W.T @ s)).shape)


# ---------------------------------------------------------------- 2.5
def scores_by_hand__wrong_one_number():
    """Takes only one of the two numbers of the hidden layer and forgets that v adds both."""
    return [math.tanh(0.7), math.tanh(1.3)]


def scores_by_hand__wrong_no_tanh():
    """Forgets the tanh."""
    return [1.4, 2.6]


def scores_by_hand__wrong_tanh_each():
    """Takes the tanh of state and annotation each, before they are added."""
    return [2 * (math.tanh(0.5) + math.tanh(h)) for h in (0.2, 0.8)]


def scores_by_hand__wrong_tanh_last():
    """Multiplies by v first and takes the tanh of the result."""
    return [math.tanh(1.4), math.tanh(2.6)]


def scores_by_hand__wrong_subtle_two_decimals():
    """Rounds each tanh to two decimals, which is too coarse for four decimals of the score."""
    return [2 * round(math.tanh(x), 2) for x in (0.7, 1.3)]


def scores_by_hand__right_rounded_tanh():
    """Right: rounds each tanh to four decimals already, which the text allows."""
    return [round(math.tanh(x), 4) * 2 for x in (0.7, 1.3)]


# ---------------------------------------------------------------- 2.6
_S = np.array([0.5, -0.2, 0.1])
_H = np.array([[0.2, 0.3, 0.1, -0.4], [-0.5, 0.4, 0.2, 0.1], [0.1, -0.6, 0.3, 0.2]])
_WQ = np.array([[1.0, 0, 2], [0, -1, 1]])
_WK = np.array([[1.0, 0, 0, 1], [0, 2, -1, 0]])
_V = np.array([2.0, -1])


def scores_by_hand_twin__wrong_v_positive():
    """Drops the minus of the second number of v."""
    return np.tanh(_WQ @ _S + _H @ _WK.T) @ abs(_V)


def scores_by_hand_twin__wrong_no_query():
    """Leaves the decoder state out."""
    return np.tanh(_H @ _WK.T) @ _V


def scores_by_hand_twin__wrong_tan():
    """Works with tan instead of tanh."""
    return np.tan(_WQ @ _S + _H @ _WK.T) @ _V


def scores_by_hand_twin__wrong_reversed():
    """Returns the scores from the last position to the first."""
    return (np.tanh(_WQ @ _S + _H @ _WK.T) @ _V)[::-1].tolist()


def scores_by_hand_twin__wrong_subtle_rounded_tanh():
    """Rounds each tanh to two decimals on the way."""
    return (np.tanh(_WQ @ _S + _H @ _WK.T).round(2) @ _V).tolist()


def scores_by_hand_twin__right_dot_products():
    """Right: dot products in plain python, position by position."""
    dot = lambda a, b: math.fsum(x * y for x, y in zip(a, b))
    return [dot(_V, [math.tanh(dot(q, _S) + dot(k, h)) for q, k in zip(_WQ, _WK)]) for h in _H]


# ---------------------------------------------------------------- 2.7
_P0 = np.array([0.3, 0.4, 0.1])
_HH = np.array([[0.1, 0.7, 0.5, 0.3], [-0.1, -0.7, 0.4, 0.6], [0.7, 0.2, -0.3, 0.4]])
_VA = np.array([-1.25, 1.25, 1.55])


def hindi_scores__wrong_last_three():
    """Takes the last three numbers of each annotation instead of the first three."""
    return np.tanh(_P0 + _HH[:, 1:]) @ _VA


def hindi_scores__wrong_weights():
    """Returns the weights, the softmax of the scores."""
    x = np.exp(np.tanh(_P0 + _HH[:, :3]) @ _VA)
    return x / x.sum()


def hindi_scores__wrong_sign_of_v():
    """Drops the minus of the first number of v_a."""
    return np.tanh(_P0 + _HH[:, :3]) @ abs(_VA)


def hindi_scores__wrong_subtle_lost_minus():
    """Overlooks the minus in the first number of the second annotation, so only that score is wrong."""
    h = _HH.copy()
    h[1, 0] = 0.1
    return (np.tanh(_P0 + h[:, :3]) @ _VA).tolist()


def hindi_scores__right_matrices():
    """Right: with the matrices as they stand, cut off after four decimals."""
    e = np.tanh(np.eye(3) @ _P0 + _HH @ np.eye(3, 4).T) @ _VA
    return (np.trunc(e * 1e4) / 1e4).tolist()


# ---------------------------------------------------------------- 2.8
def dot_product_score__wrong_first_query(query, keys):
    """Scores all sentences against the decoder state of the first."""
    return keys @ query[0]


def dot_product_score__wrong_scaled(query, keys):
    """Divides by the root of the size, which the exercise does not ask for."""
    return (keys @ query[:, :, None])[:, :, 0] / math.sqrt(query.shape[1])


def dot_product_score__wrong_axis_kept(query, keys):
    """Keeps the column axis of the matrix product."""
    return keys @ query[:, :, None]


def dot_product_score__wrong_batch_against_positions(query, keys):
    """Multiplies without an extra axis, so the states line up with the positions instead of the sentences."""
    return (query * keys).sum(-1)


def dot_product_score__wrong_all_by_all(query, keys):
    """Scores each sentence's annotations against the decoder states of all sentences."""
    return np.dot(keys, query.T)


def dot_product_score__wrong_cosine(query, keys):
    """Divides by both lengths and returns cosines."""
    return (keys * query[:, None]).sum(-1) / np.linalg.norm(query, axis=1)[:, None] / np.linalg.norm(keys, axis=2)


def dot_product_score__wrong_subtle_squeeze(query, keys):
    """Squeezes away every axis of length 1, also that of a batch of one or of a sentence of one word."""
    return np.squeeze(keys @ query[:, :, None])


def dot_product_score__wrong_subtle_six_decimals(query, keys):
    """Rounds to six decimals, which is too coarse for small numbers."""
    return np.einsum("bs,bjs->bj", query, keys).round(6)


def dot_product_score__wrong_subtle_norm_round_trip(query, keys):
    """Divides by the length of the decoder state and multiplies by it again, which is nan for a state of zeros."""
    n = np.linalg.norm(query, axis=1, keepdims=True)
    return np.einsum("bs,bjs->bj", query / n, keys) * n


def dot_product_score__right_einsum(query, keys):
    """Right: einsum."""
    return np.einsum("bs,bjs->bj", query, keys)


def dot_product_score__right_lists(query, keys):
    """Right: plain loops over sentences and positions, result as lists."""
    return [[sum(map(float.__mul__, s, h)) for h in H] for s, H in zip(query.tolist(), keys.tolist())]


# ---------------------------------------------------------------- 2.9
def multiplicative_score__wrong_turned(query, keys, W):
    """Turns W, which does not fit where the two sizes differ and is another score where they agree."""
    return np.einsum("bm,bjn,nm->bj", query, keys, W)


def multiplicative_score__wrong_diagonal(query, keys, W):
    """Multiplies number by number with the diagonal of W only."""
    k = min(W.shape)
    return ((query[:, :k] * np.diag(W))[:, None] * keys[:, :, :k]).sum(-1)


def multiplicative_score__wrong_reshape(query, keys, W):
    """Reshapes the annotations where it ought to transpose them."""
    b, t, m = keys.shape
    return ((query @ W)[:, None, :] @ keys.reshape(b, m, t))[:, 0]


def multiplicative_score__wrong_tanh(query, keys, W):
    """Takes a tanh of the projected annotations, which belongs to the additive score."""
    return np.einsum("bn,bjn->bj", query, np.tanh(keys @ W.T))


def multiplicative_score__wrong_query_mean(query, keys, W):
    """Averages the decoder states over the batch."""
    return keys @ (query.mean(0) @ W)


def multiplicative_score__wrong_subtle_turned_if_square(query, keys, W):
    """Tells the layout of W by its shape and turns it where it is square."""
    if W.shape[0] == keys.shape[2]:
        W = W.T
    return ((query @ W)[:, None] * keys).sum(-1)


def multiplicative_score__wrong_subtle_clipped(query, keys, W):
    """Clips the projected decoder states to 10 000, though larger ones are legal."""
    return np.einsum("bm,bjm->bj", np.clip(query @ W, -1e4, 1e4), keys)


_kept = {}


def multiplicative_score__wrong_subtle_kept_projection(query, keys, W):
    """Keeps the projected annotations of the last call of the same shape and never looks whether they changed."""
    key = (keys.shape, W.shape)
    if key not in _kept:
        _kept[key] = keys @ W.T
    return np.einsum("bn,bjn->bj", query, _kept[key])


def multiplicative_score__wrong_subtle_single_precision(query, keys, W):
    """Projects in single precision."""
    p = (keys.astype(np.float32) @ W.T.astype(np.float32)).astype(np.float64)
    return np.einsum("bn,bjn->bj", query, p)


def multiplicative_score__right_query_side(query, keys, W):
    """Right: projects the decoder state by the transpose of W, then matmul."""
    return np.matmul(keys, np.matmul(W.T, query.T).T[..., np.newaxis])[..., 0]


def multiplicative_score__right_torch_bilinear(query, keys, W):
    """Right: torch's bilinear, with W as its only slice."""
    b, t, m = keys.shape
    q = torch.from_numpy(query)[:, None].expand(b, t, query.shape[1]).contiguous()
    return torch.nn.functional.bilinear(q, torch.tensor(keys), torch.tensor(W)[None])[..., 0]


def multiplicative_score__right_outer_product(query, keys, W):
    """Right: sum of W times the outer product of state and annotation, position by position."""
    return np.stack([[np.vdot(W, np.outer(s, h)) for h in H] for s, H in zip(query, keys)])


# ---------------------------------------------------------------- 2.10
def _hid(query, keys, W_query, W_key):
    return (query @ W_query.T)[:, None] + keys @ W_key.T


def additive_score__wrong_no_tanh(query, keys, W_query, W_key, v):
    """Forgets the tanh."""
    return _hid(query, keys, W_query, W_key) @ v


def additive_score__wrong_tanh_each(query, keys, W_query, W_key, v):
    """Takes the tanh of the two projections each, before they are added."""
    return np.tanh(query @ W_query.T)[:, None] @ v + np.tanh(keys @ W_key.T) @ v


def additive_score__wrong_tanh_outside(query, keys, W_query, W_key, v):
    """Takes the tanh after the product with v."""
    return np.tanh(_hid(query, keys, W_query, W_key) @ v)


def additive_score__wrong_no_query(query, keys, W_query, W_key, v):
    """Leaves the decoder state out."""
    return np.tanh(keys @ W_key.T) @ v


def additive_score__wrong_no_extra_axis(query, keys, W_query, W_key, v):
    """Adds the projected states without an extra axis, so they line up with the positions."""
    return np.tanh(query @ W_query.T + keys @ W_key.T) @ v


def additive_score__wrong_first_sentence(query, keys, W_query, W_key, v):
    """Uses the decoder state of the first sentence for the whole batch."""
    return np.tanh(W_query @ query[0] + keys @ W_key.T) @ v


def additive_score__wrong_weights(query, keys, W_query, W_key, v):
    """Goes on to the softmax and returns weights."""
    e = np.tanh(_hid(query, keys, W_query, W_key)) @ v
    x = np.exp(e - e.max(1, keepdims=True))
    return x / x.sum(1, keepdims=True)


def additive_score__wrong_subtle_overflow(query, keys, W_query, W_key, v):
    """Writes the tanh with exponentials, which is inf over inf for large arguments."""
    p = np.exp(_hid(query, keys, W_query, W_key))
    return ((p - 1 / p) / (p + 1 / p)) @ v


def additive_score__wrong_subtle_clipped(query, keys, W_query, W_key, v):
    """Clips the arguments of the tanh to 8, which changes the seventh digit of large ones."""
    return np.tanh(np.clip(_hid(query, keys, W_query, W_key), -8, 8)) @ v


def additive_score__wrong_subtle_turned_if_square(query, keys, W_query, W_key, v):
    """Multiplies from the right by W_key as it stands wherever that fits, so it is turned where it is square."""
    k = keys @ W_key if W_key.shape[0] == keys.shape[2] else keys @ W_key.T
    return np.tanh((query @ W_query.T)[:, None] + k) @ v


def additive_score__wrong_subtle_v_clipped(query, keys, W_query, W_key, v):
    """Clips v to 1000, though larger numbers are legal."""
    return np.tanh(_hid(query, keys, W_query, W_key)) @ np.clip(v, -1000, 1000)


def additive_score__wrong_subtle_zero_keys(query, keys, W_query, W_key, v):
    """Takes an annotation of zeros for a pad and gives it the score 0."""
    e = np.tanh(_hid(query, keys, W_query, W_key)) @ v
    return np.where((keys == 0).all(-1), 0.0, e)


def additive_score__wrong_subtle_buffer(query, keys, W_query, W_key, v):
    """Collects the arguments of the tanh in a new array of single precision, because np.empty was told float32."""
    hidden = np.empty(keys.shape[:2] + v.shape, dtype=np.float32)
    hidden[:] = keys @ W_key.T
    hidden += (query @ W_query.T)[:, None]
    return np.tanh(hidden) @ v


def additive_score__right_joined(query, keys, W_query, W_key, v):
    """Right: joins both matrices and, at each position, state and annotation."""
    both = np.concatenate([np.repeat(query[:, None], keys.shape[1], 1), keys], axis=-1)
    return np.einsum("a,bja->bj", v, np.tanh(both @ np.hstack([W_query, W_key]).T))


def additive_score__right_loops(query, keys, W_query, W_key, v):
    """Right: one position after the other, with matrix times vector as in the formula."""
    out = np.zeros(keys.shape[:2])
    for b, j in itertools.product(*map(range, out.shape)):
        out[b, j] = v @ np.tanh(W_query @ query[b] + W_key @ keys[b, j])
    return out


def additive_score__right_columns(query, keys, W_query, W_key, v):
    """Right: annotations as columns, result a transposed view in Fortran order."""
    cols = np.tensordot(W_key, keys, axes=([1], [2])) + (W_query @ query.T)[:, :, None]  # (a, batch, source_len)
    return np.tensordot(np.tanh(cols).T, v, axes=1).T


# ---------------------------------------------------------------- 2.11
def _q(queries, W_query):
    return queries @ W_query.T


def score_every_step__wrong_axes_swapped(queries, projected_keys, W_query, v):
    """Returns (batch, source_len, target_len): the two extra axes are swapped."""
    return torch.tanh(_q(queries, W_query).unsqueeze(1) + projected_keys.unsqueeze(2)) @ v


def score_every_step__wrong_viewed(queries, projected_keys, W_query, v):
    """Swaps the two extra axes and mends the shape by reshape instead of transpose."""
    e = torch.tanh(_q(queries, W_query).unsqueeze(1) + projected_keys.unsqueeze(2)) @ v
    return e.reshape(e.shape[0], e.shape[2], e.shape[1])


def score_every_step__wrong_step_by_position(queries, projected_keys, W_query, v):
    """Adds states and annotations without extra axes, step i to position i."""
    return (torch.tanh(_q(queries, W_query) + projected_keys) @ v).unsqueeze(1)


def score_every_step__wrong_v_inside(queries, projected_keys, W_query, v):
    """Multiplies by v before the tanh."""
    return torch.tanh((_q(queries, W_query).unsqueeze(2) + projected_keys.unsqueeze(1)) @ v)


def score_every_step__wrong_numpy(queries, projected_keys, W_query, v):
    """Goes through numpy, so that no gradient arrives."""
    q, k, W, u = (x.detach().numpy() for x in (queries, projected_keys, W_query, v))
    return torch.from_numpy(np.tanh((q @ W.T)[:, :, None] + k[:, None]) @ u)


def score_every_step__wrong_axis_kept(queries, projected_keys, W_query, v):
    """Keeps the column axis of the product with v."""
    return torch.tanh(_q(queries, W_query).unsqueeze(2) + projected_keys.unsqueeze(1)) @ v.unsqueeze(1)


def score_every_step__wrong_subtle_v_detached(queries, projected_keys, W_query, v):
    """Uses the data of v, so that no gradient reaches it."""
    return torch.tanh(_q(queries, W_query).unsqueeze(2) + projected_keys.unsqueeze(1)) @ v.data


def score_every_step__wrong_subtle_exp_gradient(queries, projected_keys, W_query, v):
    """Writes the tanh as 1 - 2 / (exp(2x) + 1), whose gradient is nan once the exponential overflows."""
    x = _q(queries, W_query).unsqueeze(2) + projected_keys.unsqueeze(1)
    return (1 - 2 / (torch.exp(2 * x) + 1)) @ v


def score_every_step__wrong_subtle_squeeze(queries, projected_keys, W_query, v):
    """Squeezes the product with a column, and with it axes of length 1 of batch, steps and positions."""
    x = torch.tanh(_q(queries, W_query).unsqueeze(2) + projected_keys.unsqueeze(1))
    return (x @ v.unsqueeze(1)).squeeze()


def score_every_step__wrong_subtle_parameter(queries, projected_keys, W_query, v):
    """Puts W_query into a new nn.Linear, which holds a copy, so that no gradient reaches W_query itself."""
    layer = torch.nn.Linear(W_query.shape[1], W_query.shape[0], bias=False, dtype=W_query.dtype)
    layer.weight = torch.nn.Parameter(W_query.detach().clone())
    return torch.tanh(layer(queries).unsqueeze(2) + projected_keys.unsqueeze(1)) @ v


def score_every_step__wrong_subtle_turned_if_square(queries, projected_keys, W_query, v):
    """Leaves out the transposition of W_query wherever the product fits without it, so where W_query is square."""
    q = queries @ W_query if W_query.shape[0] == W_query.shape[1] else queries @ W_query.T
    return torch.tanh(q.unsqueeze(2) + projected_keys.unsqueeze(1)) @ v


def score_every_step__wrong_subtle_axes_by_length(queries, projected_keys, W_query, v):
    """Orders the axes so that the longer comes last, which is turned where there are more steps than positions."""
    e = torch.tanh(_q(queries, W_query).unsqueeze(2) + projected_keys.unsqueeze(1)) @ v
    return e.transpose(1, 2) if e.shape[1] > e.shape[2] else e


def score_every_step__right_none_index(queries, projected_keys, W_query, v):
    """Right: indexing with None and a sum over the last axis."""
    hidden = torch.tanh((queries @ W_query.mT)[:, :, None, :] + projected_keys[:, None])
    return (hidden * v).sum(-1)


def score_every_step__right_vmap(queries, projected_keys, W_query, v):
    """Right: vmap over sentences, steps and positions."""
    one = lambda s, p: v.dot(torch.tanh(W_query.mv(s) + p))
    steps = torch.vmap(torch.vmap(one, (None, 0)), (0, None))
    return torch.vmap(steps)(queries, projected_keys)


def score_every_step__right_einsum_expand(queries, projected_keys, W_query, v):
    """Right: einsum, expand, and a transposed (not contiguous) result."""
    b, i, j = queries.shape[0], queries.shape[1], projected_keys.shape[1]
    q = torch.einsum("an,bin->bia", W_query, queries)[:, None].expand(b, j, i, -1)
    return torch.nn.functional.linear((q + projected_keys[:, :, None]).tanh(), v[None])[..., 0].transpose(1, 2)


def score_every_step__right_repeat_interleave(queries, projected_keys, W_query, v):
    """Right: repeats states and annotations to pairs, then unflattens."""
    i, j = queries.shape[1], projected_keys.shape[1]
    x = torch.nn.functional.linear(queries, W_query).repeat_interleave(j, dim=1) + projected_keys.repeat(1, i, 1)
    return torch.matmul(torch.tanh(x), v).unflatten(1, (i, j))
