import functools
import math

import numpy as np
import torch


# ---------------------------------------------------------------- batched_additive_shapes


def batched_additive_shapes__wrong_product_row(batch, m, n, a, T_x):
    """The student lets the axis of length 1 stand before the positions, as if v were a row from the left."""
    return {"projected_query": (batch, 1, a), "hidden": (batch, T_x, a), "product": (batch, 1, T_x), "W": (n, m)}


def batched_additive_shapes__right_from_torch(batch, m, n, a, T_x):
    """Asks torch, with unsqueeze and a linear layer."""
    q = torch.zeros(batch, a).unsqueeze(1)
    hidden = torch.tanh(q + torch.zeros(batch, T_x, a))
    return {"projected_query": q.shape, "hidden": hidden.shape, "product": torch.nn.Linear(a, 1, bias=False)(hidden).shape, "W": (n, m)}


# ---------------------------------------------------------------- scores_by_hand_twin

_S = np.array([.5, -.2, .1])
_H = np.array([[.2, .3, .1, -.4], [-.5, .4, .2, .1], [.1, -.6, .3, .2]])
_WQ = np.array([[1., 0, 2], [0, -1, 1]])
_WK = np.array([[1., 0, 0, 1], [0, 2, -1, 0]])
_V = np.array([2., -1])


def scores_by_hand_twin__wrong_v_in_other_order():
    """The student uses the two entries of v in the other order."""
    return (np.tanh(_WQ @ _S + _H @ _WK.T) @ _V[::-1]).tolist()


def scores_by_hand_twin__wrong_without_minus_in_key():
    """The student forgets the entry -1 of W_key."""
    W = _WK.copy()
    W[1, 2] = 0
    return [round(x, 4) for x in (np.tanh(_WQ @ _S + _H @ W.T) @ _V).tolist()]


def scores_by_hand_twin__right_joined():
    """One joined matrix on state and annotation, an array as the result."""
    both = np.column_stack([np.tile(_S, (3, 1)), _H])
    return np.einsum("ja,a->j", np.tanh(both @ np.hstack([_WQ, _WK]).T), _V)


# ---------------------------------------------------------------- dot_product_score


def dot_product_score__wrong_sum_over_queries(query, keys, W=None):
    """The student multiplies all queries with all keys and adds over the queries."""
    keys = keys if W is None else keys @ W.T
    return np.dot(keys, query.T).sum(axis=-1)


def dot_product_score__wrong_diagonal_not_turned(query, keys, W=None):
    """The student takes the diagonal over the batch, which stands last then, and reshapes it instead of transposing."""
    keys = keys if W is None else keys @ W.T
    # right for one sentence, or for one position
    return np.diagonal(keys @ query.T, axis1=0, axis2=2).reshape(keys.shape[:2])


def dot_product_score__wrong_zero_annotation_is_pad(query, keys, W=None):
    """The student takes an annotation of zeros for a pad and scores it with a very low number."""
    keys = keys if W is None else keys @ W.T
    scores = np.einsum("bd,bjd->bj", query, keys)
    return np.where((keys == 0).all(axis=-1), -1e9, scores)


def dot_product_score__wrong_flattened(query, keys, W=None):
    """The student repeats the queries as a whole for each position, where each must be repeated by itself."""
    keys = keys if W is None else keys @ W.T
    # right for one sentence or one position
    batch, length, size = keys.shape
    repeated = np.tile(query, (length, 1))
    return (repeated * keys.reshape(-1, size)).sum(-1).reshape(batch, length)


def dot_product_score__wrong_buffer(query, keys, W=None, scores=np.zeros((8, 64))):
    """The student adds up into a default argument, which keeps the scores of the call before."""
    keys = keys if W is None else keys @ W.T
    batch, length, _ = keys.shape
    if batch > 8 or length > 64:
        scores = np.zeros((batch, length))
    for b in range(batch):
        for j in range(length):
            scores[b, j] += query[b] @ keys[b, j]
    return scores[:batch, :length].copy()


def dot_product_score__right_fsum(query, keys, W=None):
    """Plain loops with math.fsum over products of numbers."""
    keys = keys if W is None else keys @ W.T
    return np.array([[math.fsum(map(float.__mul__, q, k)) for k in rows] for q, rows in zip(query.tolist(), keys.tolist())])


def dot_product_score__right_diagonal(query, keys, W=None):
    """All queries with all keys, then the diagonal over the batch, turned."""
    keys = keys if W is None else keys @ W.T
    return np.diagonal(np.tensordot(keys, query, axes=(2, 1)), axis1=0, axis2=2).T


def dot_product_score__right_accumulated_entries(query, keys, W=None):
    """Adds the share of one entry after another to an array of long doubles."""
    keys = keys if W is None else keys @ W.T
    total = np.zeros(keys.shape[:2], dtype=np.longdouble)
    for entry in range(query.shape[1]):
        total += query[:, entry, np.newaxis] * keys[..., entry]
    return total.astype(float)


# ---------------------------------------------------------------- additive_score


def additive_score__wrong_addition_theorem(query, keys, W_query, W_key, v):
    """The student splits the tanh of a sum by its addition theorem, which divides 0 by 0 where both are saturated."""
    # nan for projections of 20 and -20
    s, h = np.tanh(query @ W_query.T)[:, None], np.tanh(keys @ W_key.T)
    return ((s + h) / (1 + s * h)) @ v


def additive_score__wrong_W_key_square(query, keys, W_query, W_key, v):
    """The student transposes the matrices only where their sizes do not fit."""
    # wrong for square matrices
    A = W_query if W_query.shape[0] == query.shape[-1] else W_query.T
    B = W_key if W_key.shape[0] == keys.shape[-1] else W_key.T
    return np.tanh((query @ A)[:, None] + keys @ B) @ v


def additive_score__wrong_tiled_queries(query, keys, W_query, W_key, v):
    """The student flattens the positions and tiles the queries, where each query must be repeated."""
    # right for one sentence or one position
    batch, length, size = keys.shape
    hidden = np.tanh(np.tile(query, (length, 1)) @ W_query.T + keys.reshape(-1, size) @ W_key.T)
    return (hidden @ v).reshape(batch, length)


def additive_score__wrong_joined_other_way(query, keys, W_query, W_key, v):
    """The student joins the matrices in one order and the vectors in the other."""
    # the sizes always fit; wrong on nearly every input
    batch, length, _ = keys.shape
    spread = np.repeat(query[:, None], length, axis=1)
    both = np.concatenate([keys, spread], axis=-1)
    return np.tanh(both @ np.hstack([W_query, W_key]).T) @ v


def additive_score__right_loops(query, keys, W_query, W_key, v):
    """Three loops over plain numbers, math.tanh and math.fsum."""
    dot = lambda x, y: math.fsum(a * b for a, b in zip(x, y))
    Q, K, A, B, w = (x.tolist() for x in (query, keys, W_query, W_key, v))
    rows = []
    for s, annotations in zip(Q, K):
        p = [dot(row, s) for row in A]
        rows.append([dot(w, [math.tanh(x + dot(row, h)) for x, row in zip(p, B)]) for h in annotations])
    return np.array(rows)


def additive_score__right_joined(query, keys, W_query, W_key, v):
    """State and annotation end to end, times one joined matrix."""
    spread = np.broadcast_to(query[:, None], keys.shape[:2] + query.shape[-1:])
    both = np.concatenate([spread, keys], axis=2)
    return np.einsum("a,bja->bj", v, np.tanh(np.tensordot(both, np.hstack([W_query, W_key]), axes=(2, 1))))


def additive_score__right_odd_exponential(query, keys, W_query, W_key, v):
    """tanh by expm1 of minus twice the absolute value, with the sign put back: it neither overflows nor cancels."""
    x = np.einsum("aq,bq->ba", W_query, query)[:, np.newaxis] + np.einsum("ak,bjk->bja", W_key, keys)
    e = np.expm1(-2 * np.abs(x))
    return np.inner(np.copysign(-e / (e + 2), x), v)


def additive_score__right_hidden_unit_by_unit(query, keys, W_query, W_key, v):
    """Adds the share of one hidden unit after another, from generators."""
    parts = (c * np.tanh((query @ wq)[:, None] + keys @ wk) for wq, wk, c in zip(W_query, W_key, v))
    return functools.reduce(np.add, parts)


# ---------------------------------------------------------------- score_every_step

def score_every_step__wrong_no_axis_for_keys(queries, projected_keys, W_query, v):
    """The student gives the queries an axis but not the keys, whose batch then meets the steps."""
    # right for one sentence; wrong where batch == target_len; an error else
    return torch.tanh((queries @ W_query.T).unsqueeze(2) + projected_keys) @ v


def score_every_step__wrong_parameters_as_data(queries, projected_keys, W_query, v):
    """The student uses the data of the parameters, so no gradient reaches them."""
    return torch.tanh((queries @ W_query.data.T)[:, :, None] + projected_keys[:, None]) @ v.data


def score_every_step__wrong_in_place_product(queries, projected_keys, W_query, v):
    """The student multiplies the tanh by v in place, which the way back still needs."""
    # values right, backward raises
    hidden = torch.tanh((queries @ W_query.T)[:, :, None] + projected_keys[:, None])
    hidden *= v
    return hidden.sum(-1)


def score_every_step__wrong_causal(queries, projected_keys, W_query, v):
    """The student leaves out source positions after the step, as in a decoder that reads itself."""
    return torch.tril(torch.tanh((queries @ W_query.T)[:, :, None] + projected_keys[:, None]) @ v)


def score_every_step__wrong_addition_theorem(queries, projected_keys, W_query, v):
    """The student splits the tanh of the sum to save tanhs, which divides 0 by 0 for projections of 20 and -20."""
    q, p = torch.tanh(queries @ W_query.T)[:, :, None], torch.tanh(projected_keys)[:, None]
    return ((q + p) / (1 + q * p)) @ v


def score_every_step__wrong_new_tensor(queries, projected_keys, W_query, v):
    """The student makes a new tensor of the scores, which has no way back."""
    scores = torch.tanh((queries @ W_query.T)[:, :, None] + projected_keys[:, None]) @ v
    return torch.tensor(scores.tolist(), dtype=queries.dtype, requires_grad=True)


def score_every_step__right_einsum(queries, projected_keys, W_query, v):
    """einsum for both products, axes named by None from the right."""
    p = torch.einsum("aq,biq->bia", W_query, queries)
    return torch.einsum("a,bija->bij", v, torch.tanh(p[..., None, :] + projected_keys[..., None, :, :]))


def score_every_step__right_vmap(queries, projected_keys, W_query, v):
    """vmap three times over a scorer of one pair."""
    one = lambda s, p: v @ torch.tanh(W_query @ s + p)
    over_j = torch.func.vmap(one, in_dims=(None, 0))
    over_i = torch.func.vmap(over_j, in_dims=(0, None))
    return torch.func.vmap(over_i)(queries, projected_keys)


def score_every_step__right_flat_index(queries, projected_keys, W_query, v):
    """All pairs laid out in one axis by meshgrid, sigmoid for the tanh."""
    T, S = queries.shape[1], projected_keys.shape[1]
    i, j = torch.meshgrid(torch.arange(T), torch.arange(S), indexing="ij")
    x = torch.nn.functional.linear(queries, W_query)[:, i.flatten()] + projected_keys[:, j.flatten()]
    hidden = 2 * torch.sigmoid(2 * x) - 1
    return (hidden * v).sum(-1).unflatten(1, (T, S))


def score_every_step__right_attention_first(queries, projected_keys, W_query, v):
    """The attention axis in front, own copies changed in place, tensordot at the end."""
    q = torch.tensordot(W_query, queries, dims=([1], [2]))
    x = q.unsqueeze(3).repeat(1, 1, 1, projected_keys.shape[1])
    x += projected_keys.permute(2, 0, 1).unsqueeze(2)
    return torch.tensordot(v, x.tanh_(), dims=1)
