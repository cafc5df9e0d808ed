import collections
import math
from fractions import Fraction

import numpy as np
import torch


# ---- bidirectional_shapes


# ---- batched_additive_shapes


def batched_additive_shapes__wrong_query_repeated(batch, m, n, a, T_x):
    """The student repeats the projected query over the positions."""
    return {"projected_query": (batch, T_x, a), "hidden": (batch, T_x, a), "product": (batch, T_x, 1), "W": (n, m)}


def batched_additive_shapes__right_named_tuple(batch, m, n, a, T_x):
    """Named tuples, made from one another by _replace."""
    shape = collections.namedtuple("shape", "sentences positions numbers")
    hidden = shape(batch, T_x, a)
    return {"hidden": hidden, "projected_query": hidden._replace(positions=1), "product": hidden._replace(numbers=1), "W": (n, m)}


# ---- batched_multiplicative_shapes


# ---- scores_by_hand_twin

_s = np.array([0.5, -0.2, 0.1])
_h = np.array([[0.2, 0.3, 0.1, -0.4], [-0.5, 0.4, 0.2, 0.1], [0.1, -0.6, 0.3, 0.2]])
_Wq = np.array([[1, 0, 2], [0, -1, 1]])
_Wk = np.array([[1, 0, 0, 1], [0, 2, -1, 0]])
_v = np.array([2, -1])


def scores_by_hand_twin__wrong_weights_instead():
    """The student goes one step too far and returns the softmax of the scores."""
    e = np.exp(np.tanh(_Wq @ _s + _h @ _Wk.T) @ _v)
    return list(e / e.sum())


def scores_by_hand_twin__right_fraction_sums():
    """Exact fractions inside each tanh, math.fsum outside."""
    def row(w, x):
        return sum(Fraction(int(a)) * Fraction(str(b)) for a, b in zip(w, x))
    return [math.fsum(int(v) * math.tanh(row(q, _s) + row(k, h)) for v, q, k in zip(_v, _Wq, _Wk)) for h in _h]


# ---- dot_product_score


def dot_product_score__wrong_layout_by_sizes(query, keys, W=None):
    """The student looks for the axis of the numbers by their count and finds another one of the same length first."""
    keys = keys if W is None else keys @ W.T
    axis = keys.shape.index(query.shape[1])
    moved = np.moveaxis(keys, axis, -1)
    return np.squeeze(moved @ query[:, :, None], axis=-1) if len(moved) == len(query) else moved @ query.T


def dot_product_score__wrong_broadcast_over_positions(query, keys, W=None):
    """The student multiplies without a new axis where batch and source length agree, so that each position meets another sentence's query."""
    keys = keys if W is None else keys @ W.T
    if keys.shape[0] == keys.shape[1]:
        return (query * keys).sum(-1)
    return (query[:, None] * keys).sum(-1)


def dot_product_score__wrong_integer_buffer(query, keys, W=None):
    """The student collects the scores in an array of whole numbers."""
    keys = keys if W is None else keys @ W.T
    out = np.full(keys.shape[:2], 0)
    for b in range(keys.shape[0]):
        for j in range(keys.shape[1]):
            out[b, j] = query[b] @ keys[b, j]
    return out


def dot_product_score__wrong_cosine(query, keys, W=None):
    """The student divides by the lengths of both vectors, with a guard for vectors of zeros."""
    keys = keys if W is None else keys @ W.T
    e = np.einsum("bd,bjd->bj", query, keys)
    norm = np.linalg.norm(query, axis=1)[:, None] * np.linalg.norm(keys, axis=2)
    return e / np.where(norm == 0, 1, norm)


def dot_product_score__wrong_entry_dropped(query, keys, W=None):
    """The student begins the sum at the second product and adds the first only to a sum that is not zero."""
    keys = keys if W is None else keys @ W.T
    p = query[:, None] * keys
    rest = p[..., 1:].sum(-1)
    return np.where(rest != 0, rest + p[..., 0], rest)


def dot_product_score__right_fsum_lists(query, keys, W=None):
    """Plain loops with math.fsum."""
    keys = keys if W is None else keys @ W.T
    return np.array([[math.fsum(a * b for a, b in zip(q, h)) for h in hs] for q, hs in zip(query.tolist(), keys.tolist())])


def dot_product_score__right_all_pairs_diagonal(query, keys, W=None):
    """Scores every query with every sentence and takes the diagonal."""
    keys = keys if W is None else keys @ W.T
    return np.diagonal(np.inner(keys, query), axis1=0, axis2=2).T


def dot_product_score__right_row_times_columns(query, keys, W=None):
    """A row times annotations in columns, the extra axis taken off by an index."""
    keys = keys if W is None else keys @ W.T
    return np.matmul(query[:, np.newaxis, :], np.swapaxes(keys, -1, -2))[:, 0]


def dot_product_score__right_long_doubles(query, keys, W=None):
    """A buffer filled position by position, products summed in longdouble."""
    keys = keys if W is None else keys @ W.T
    out = np.empty(keys.shape[:2])
    for j in range(out.shape[1]):
        out[:, j] = np.multiply(query, keys[:, j], dtype=np.longdouble).sum(axis=1)
    return out


# ---- additive_score

def additive_score__wrong_no_new_axis(query, keys, W_query, W_key, v):
    """The student adds the projected query without a new axis where that runs, at a batch as long as its sentences."""
    q, k = query @ W_query.T, keys @ W_key.T
    return np.tanh((q if k.shape[0] == k.shape[1] else q[:, None]) + k) @ v


def additive_score__wrong_in_place_growing(query, keys, W_query, W_key, v):
    """The student adds each key in place to the projected query, so that later positions hold the earlier ones as well."""
    out = np.empty(keys.shape[:2])
    for b in range(len(query)):
        h = W_query @ query[b]
        for j in range(keys.shape[1]):
            h += W_key @ keys[b, j]
            out[b, j] = v @ np.tanh(h)
    return out


def additive_score__right_fsum_loops(query, keys, W_query, W_key, v):
    """Three loops, math.tanh and math.fsum."""
    out = np.zeros(keys.shape[:-1])
    for b, j in np.ndindex(*out.shape):
        out[b, j] = math.fsum(v[i] * math.tanh(math.fsum([*(W_query[i] * query[b]), *(W_key[i] * keys[b, j])])) for i in range(len(v)))
    return out


def additive_score__right_block_matrix(query, keys, W_query, W_key, v):
    """Joins query and key and the two matrices, one product for all."""
    q = np.broadcast_to(query[:, None], (len(query), keys.shape[1], query.shape[1]))
    return np.tensordot(np.tanh(np.dstack([q, keys]) @ np.hstack([W_query, W_key]).T), v, axes=1)


def additive_score__right_unit_by_unit(query, keys, W_query, W_key, v):
    """Adds up the hidden units one after the other, without an array of three axes."""
    return sum(c * np.tanh(np.add.outer(query @ a, np.zeros(keys.shape[1])) + keys @ b) for a, b, c in zip(W_query, W_key, v))


def additive_score__right_einsum_columns(query, keys, W_query, W_key, v):
    """einsum throughout, hidden units in front, result a transposed view."""
    hidden = np.tanh(np.einsum("aq,bq->ab", W_query, query)[:, None] + np.einsum("ak,bjk->ajb", W_key, keys))
    return np.einsum("a,ajb->jb", v, hidden).T


# ---- score_every_step


def score_every_step__wrong_step_meets_its_own_position(queries, projected_keys, W_query, v):
    """The student adds without new axes where steps and positions are as many, and repeats the result over the positions."""
    q = queries @ W_query.T
    if q.shape[1] == projected_keys.shape[1]:
        e = torch.tanh(q + projected_keys) @ v
        return e[:, :, None].expand(-1, -1, e.shape[1])
    return torch.tanh(q[:, :, None] + projected_keys[:, None]) @ v


def score_every_step__wrong_batches_mixed(queries, projected_keys, W_query, v):
    """The student flattens sentences and steps and lets the positions repeat in the wrong order."""
    b, i, _ = queries.shape
    q = (queries @ W_query.T).reshape(b * i, 1, -1)
    k = projected_keys.repeat(i, 1, 1)
    return (torch.tanh(q + k) @ v).reshape(b, i, -1)


def score_every_step__right_column_v(queries, projected_keys, W_query, v):
    """A functional linear layer for both matrices, the last axis removed by flatten."""
    q = torch.nn.functional.linear(queries, W_query)
    hidden = (q.unsqueeze(-2) + projected_keys.unsqueeze(-3)).tanh()
    return torch.nn.functional.linear(hidden, v[None]).flatten(2)


def score_every_step__right_repeat_interleave(queries, projected_keys, W_query, v):
    """All pairs written out by repeat_interleave and repeat, then reshaped."""
    b, i, _ = queries.shape
    j = projected_keys.shape[1]
    q = torch.matmul(queries, W_query.mT).repeat_interleave(j, dim=1)
    k = projected_keys.repeat(1, i, 1)
    return torch.mv(torch.tanh(q + k).reshape(b * i * j, -1), v).view(b, i, j)


def score_every_step__right_einsum_ones(queries, projected_keys, W_query, v):
    """einsum with vectors of ones in place of new axes, tanh from the logistic function."""
    q = torch.einsum("biq,aq,j->bija", queries, W_query, queries.new_ones(projected_keys.shape[1]))
    k = torch.einsum("bja,i->bija", projected_keys, queries.new_ones(queries.shape[1]))
    return torch.einsum("bija,a->bij", 2 * torch.sigmoid(2 * (q + k)) - 1, v)
