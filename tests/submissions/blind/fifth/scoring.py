"""Answers to the exercises of scoring.ipynb, right and wrong."""
import itertools
import math

import numpy as np
import torch


# ---------------------------------------------------------------- 2.3
def batched_additive_shapes__wrong_axis_missing(batch, m, n, a, T_x):
    """Forgets the extra axis of the projected decoder state."""
    return {"projected_query": (batch, a), "hidden": (batch, T_x, a), "product": (batch, T_x, 1), "W": (n, m)}


def batched_additive_shapes__wrong_decoder_size(batch, m, n, a, T_x):
    """Gives the hidden layer the size of the decoder state."""
    return {"projected_query": (batch, 1, n), "hidden": (batch, T_x, n), "product": (batch, T_x, 1), "W": (n, m)}


def batched_additive_shapes__right_broadcast(batch, m, n, a, T_x):
    """Right: lets numpy broadcast the shapes."""
    q = (batch, 1, a)
    h = np.broadcast_shapes(q, (batch, T_x, a))
    return {"projected_query": q, "hidden": h, "product": h[:-1] + (1,), "W": (n, m)}


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


def scores_by_hand_twin__right_dot_products():
    """Right: dot products in plain python, position by position."""
    dot = lambda a, b: math.fsum(x * y for x, y in zip(a, b))
    return [dot(_V, [math.tanh(dot(q, _S) + dot(k, h)) for q, k in zip(_WQ, _WK)]) for h in _H]


def dot_product_score__wrong_subtle_six_decimals(query, keys, W=None):
    """Rounds to six decimals, which is too coarse for small numbers."""
    keys = keys if W is None else keys @ W.T
    return np.einsum("bs,bjs->bj", query, keys).round(6)


def dot_product_score__wrong_subtle_norm_round_trip(query, keys, W=None):
    """Divides by the length of the decoder state and multiplies by it again, which is nan for a state of zeros."""
    keys = keys if W is None else keys @ W.T
    n = np.linalg.norm(query, axis=1, keepdims=True)
    return np.einsum("bs,bjs->bj", query / n, keys) * n


def dot_product_score__right_einsum(query, keys, W=None):
    """Right: einsum."""
    keys = keys if W is None else keys @ W.T
    return np.einsum("bs,bjs->bj", query, keys)


def dot_product_score__right_lists(query, keys, W=None):
    """Right: plain loops over sentences and positions, result as lists."""
    keys = keys if W is None else keys @ W.T
    return [[sum(map(float.__mul__, s, h)) for h in H] for s, H in zip(query.tolist(), keys.tolist())]


# ---------------------------------------------------------------- 2.10
def _hid(query, keys, W_query, W_key):
    return (query @ W_query.T)[:, None] + keys @ W_key.T


def additive_score__wrong_tanh_each(query, keys, W_query, W_key, v):
    """Takes the tanh of the two projections each, before they are added."""
    return np.tanh(query @ W_query.T)[:, None] @ v + np.tanh(keys @ W_key.T) @ v


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


def score_every_step__wrong_step_by_position(queries, projected_keys, W_query, v):
    """Adds states and annotations without extra axes, step i to position i."""
    return (torch.tanh(_q(queries, W_query) + projected_keys) @ v).unsqueeze(1)


def score_every_step__wrong_v_inside(queries, projected_keys, W_query, v):
    """Multiplies by v before the tanh."""
    return torch.tanh((_q(queries, W_query).unsqueeze(2) + projected_keys.unsqueeze(1)) @ v)


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
