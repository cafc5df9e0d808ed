import collections
import math
import operator

import numpy as np
import torch


# ---------------------------------------------------------------- bidirectional_shapes


# ---------------------------------------------------------------- batched_additive_shapes


def batched_additive_shapes__wrong_query_not_projected(batch, m, n, a, T_x):
    """The student gives the decoder state's size before the projection."""
    return {"projected_query": (batch, 1, n), "hidden": (batch, T_x, a), "product": (batch, T_x, 1), "W": (n, m)}


def batched_additive_shapes__right_broadcast_shapes(batch, m, n, a, T_x):
    """Lets numpy say what broadcasting gives, in a dict subclass."""
    query, keys = (batch, 1, a), (batch, T_x, a)
    return {**collections.OrderedDict(product=np.matmul(np.zeros(keys), np.zeros((a, 1))).shape,
                                   hidden=np.broadcast_shapes(query, keys), projected_query=query), "W": (n, m)}


# ---------------------------------------------------------------- batched_multiplicative_shapes


# ---------------------------------------------------------------- scores_by_hand_twin

_S = np.array([0.5, -0.2, 0.1])
_H = np.array([[0.2, 0.3, 0.1, -0.4], [-0.5, 0.4, 0.2, 0.1], [0.1, -0.6, 0.3, 0.2]])
_WQ = np.array([[1, 0, 2], [0, -1, 1]])
_WK = np.array([[1, 0, 0, 1], [0, 2, -1, 0]])
_V = np.array([2, -1])


def scores_by_hand_twin__wrong_sign_of_v_lost():
    """The student loses the minus of v."""
    return (np.tanh(_WQ @ _S + _H @ _WK.T) @ abs(_V)).tolist()


def scores_by_hand_twin__wrong_query_left_out_for_last():
    """The student adds the query's part at the first position only."""
    return (np.tanh(np.outer([1, 0, 0], _WQ @ _S) + _H @ _WK.T) @ _V).tolist()


def scores_by_hand_twin__wrong_early_rounding():
    """The student rounds each tanh to two decimals."""
    return (np.round(np.tanh(_WQ @ _S + _H @ _WK.T), 2) @ _V).tolist()


def scores_by_hand_twin__wrong_v_inside():
    """The student applies v inside of the tanh."""
    return np.tanh((_WQ @ _S + _H @ _WK.T) @ _V).tolist()


def scores_by_hand_twin__right_array():
    """A float array from one big matrix on joined vectors."""
    joined = np.hstack([np.broadcast_to(_S, (3, 3)), _H])
    return np.tanh(joined @ np.hstack([_WQ, _WK]).T) @ _V


def scores_by_hand_twin__right_by_hand():
    """Sums done by hand, tanh from math."""
    t = math.tanh
    return [2 * t(.7 - .2) - t(.3 + .5), 2 * t(.7 - .4) - t(.3 + .6), 2 * t(.7 + .3) + t(-(.3 - 1.5))]


# ---------------------------------------------------------------- dot_product_score


def dot_product_score__wrong_first_sentence_only(query, keys, W=None):
    """The student multiplies all queries with all keys and takes the first query, right for a batch of one."""
    keys = keys if W is None else keys @ W.T
    return (keys @ query.T)[..., 0]


def dot_product_score__wrong_axis_summed(query, keys, W=None):
    """The student reads the query as lying along the positions and sums over them where the lengths agree."""
    keys = keys if W is None else keys @ W.T
    # For source_len == size the result has the right shape.
    if keys.shape[1] == keys.shape[2]:
        return (keys * query[:, :, None]).sum(1)
    return (keys * query[:, None]).sum(-1)


def dot_product_score__wrong_cosine(query, keys, W=None):
    """The student divides by the query's length, right for queries of length 1 and not a number for a query of zeros."""
    keys = keys if W is None else keys @ W.T
    return np.einsum("bs,bjs->bj", query / np.linalg.norm(query, axis=-1, keepdims=True), keys)


def dot_product_score__wrong_all_queries_summed(query, keys, W=None):
    """The student writes a new letter for the batch of the query, so that all queries are added up."""
    keys = keys if W is None else keys @ W.T
    return np.einsum("cs,bjs->bj", query, keys)


def dot_product_score__wrong_loops_over_batch_twice(query, keys, W=None):
    """The student lets the positions run up to the batch size; the rest stays 0."""
    keys = keys if W is None else keys @ W.T
    out = np.zeros(keys.shape[:2])
    for b in range(len(query)):
        for j in range(min(len(query), keys.shape[1])):
            out[b, j] = query[b] @ keys[b, j]
    return out


def dot_product_score__wrong_integer_result(query, keys, W=None):
    """The student makes the result of the query's type, so that whole-numbered queries cut the scores to integers."""
    keys = keys if W is None else keys @ W.T
    # query an array of integers, such as [[1, 2]], keys of floats.
    out = np.empty(keys.shape[:2], dtype=query.dtype)
    for b, j in np.ndindex(*out.shape):
        out[b, j] = query[b] @ keys[b, j]
    return out


def dot_product_score__right_diagonal(query, keys, W=None):
    """All queries against all keys, then the diagonal of the two batch axes."""
    keys = keys if W is None else keys @ W.T
    everything = np.tensordot(keys, query, axes=([2], [1]))
    return np.diagonal(everything, axis1=0, axis2=2).T


def dot_product_score__right_fsum(query, keys, W=None):
    """Nested lists of exact sums, one product at a time."""
    keys = keys if W is None else keys @ W.T
    return np.array([[math.fsum(map(operator.mul, map(float, s), map(float, h))) for h in rows]
                     for s, rows in zip(query, keys)])


def dot_product_score__right_block_rows(query, keys, W=None):
    """A running sum over the last axis, number by number."""
    keys = keys if W is None else keys @ W.T
    total = np.zeros(keys.shape[:2])
    for k in range(keys.shape[2]):
        total += query[:, k, np.newaxis] * keys[:, :, k]
    return total


def dot_product_score__right_matmul_row(query, keys, W=None):
    """A row times transposed keys, with the axis dropped by index; the result is a view."""
    keys = keys if W is None else keys @ W.T
    return (query[:, np.newaxis, :] @ keys.swapaxes(1, 2))[:, 0, :]


# ---------------------------------------------------------------- additive_score


def additive_score__wrong_w_query_by_rows(query, keys, W_query, W_key, v):
    """The student multiplies row states with W_query itself where it is square, so with its transpose."""
    left = query @ W_query if W_query.shape[0] == W_query.shape[1] else query @ W_query.T
    return np.tanh(left[:, None] + keys @ W_key.T) @ v


def additive_score__wrong_w_key_by_rows(query, keys, W_query, W_key, v):
    """The student does the same to a square W_key."""
    right = keys @ (W_key if W_key.shape[0] == W_key.shape[1] else W_key.T)
    return np.tanh((query @ W_query.T)[:, None] + right) @ v


def additive_score__wrong_tanh_quotient(query, keys, W_query, W_key, v):
    """The student writes tanh as a quotient of exponentials, not a number where a sum is some hundreds."""
    z = np.exp(2 * ((query @ W_query.T)[:, None] + keys @ W_key.T))
    return ((z - 1) / (z + 1)) @ v


def additive_score__wrong_clipped(query, keys, W_query, W_key, v):
    """The student clips the sums to 3 in size against overflow, which changes the tanh."""
    z = (query @ W_query.T)[:, None] + keys @ W_key.T
    return np.tanh(np.clip(z, -3, 3)) @ v


def additive_score__wrong_sum_in_place_grows(query, keys, W_query, W_key, v):
    """The student adds each query in place to one projection of all keys, so that later sentences keep earlier queries."""
    projected = (keys @ W_key.T).astype(float)
    rows = []
    for b, s in enumerate(query):
        projected += W_query @ s
        rows.append(np.tanh(projected[b]) @ v)
    return np.array(rows)


def _kept_keys(shape, value, store={}):
    return store.setdefault(shape, value)


def additive_score__wrong_keys_cached(query, keys, W_query, W_key, v):
    """The student computes the projected keys once and keeps them by their shape, wrong for the next batch of that shape."""
    projected = _kept_keys((keys.shape, W_key.shape), keys @ W_key.T)
    return np.tanh((query @ W_query.T)[:, None] + projected) @ v


def additive_score__wrong_hidden_sum_times_v_mean(query, keys, W_query, W_key, v):
    """The student sums hidden and v apart, right only where all entries of v are equal."""
    hidden = np.tanh((query @ W_query.T)[:, None] + keys @ W_key.T)
    return hidden.sum(axis=-1) * v.mean()


def additive_score__right_einsum_whole(query, keys, W_query, W_key, v):
    """One einsum over joined vectors and matrices."""
    both = np.concatenate([np.repeat(query[:, None], keys.shape[1], axis=1), keys], axis=-1)
    return np.einsum("a,bja->bj", v, np.tanh(np.einsum("ai,bji->bja", np.hstack((W_query, W_key)), both)))


def additive_score__right_unit_by_unit(query, keys, W_query, W_key, v):
    """A sum over hidden units, each a plane of scores, with odd symmetry of tanh for negative entries of v."""
    total = np.zeros(keys.shape[:2])
    for q, k, weight in zip(W_query, W_key, v):
        sign = -1.0 if weight < 0 else 1.0
        total += abs(weight) * np.tanh(sign * (np.dot(query, q)[:, np.newaxis] + np.dot(keys, k)))
    return total


def additive_score__right_python_floats(query, keys, W_query, W_key, v):
    """Plain Python with fsum and math.tanh, on lists."""
    s, h, q, k, v = (np.asarray(x, dtype=float).tolist() for x in (query, keys, W_query, W_key, v))

    def dot(x, y):
        return math.fsum(i * j for i, j in zip(x, y))
    return np.array([[math.fsum(v[a] * math.tanh(dot(q[a], s[b]) + dot(k[a], h_j)) for a in range(len(v)))
                      for h_j in h[b]] for b in range(len(s))])


class _Score:
    def __init__(self, *parameters):
        self.q, self.k, self.v = map(np.asarray, parameters)

    def __call__(self, s, h):
        return self.v @ np.tanh((self.q @ s)[:, None] + self.k @ h.T)


def additive_score__right_class(query, keys, W_query, W_key, v):
    """A class with __call__, one sentence at a time, hidden units as rows."""
    return np.stack(list(map(_Score(W_query, W_key, v), query, keys)))


def additive_score__right_sigmoid_form(query, keys, W_query, W_key, v):
    """tanh by expm1 of the negative size, which does not overflow."""
    z = (query @ W_query.T)[:, None, :] + keys @ W_key.T
    small = np.expm1(-2 * np.abs(z))
    return (np.sign(z) * -small / (small + 2)) @ v


# ---------------------------------------------------------------- score_every_step


def score_every_step__wrong_square_w_query(queries, projected_keys, W_query, v):
    """The student multiplies with W_query instead of its transpose where it is square."""
    q = queries @ (W_query if W_query.shape[0] == W_query.shape[1] else W_query.T)
    return torch.tanh(q[:, :, None] + projected_keys[:, None]) @ v


def score_every_step__wrong_keys_detached(queries, projected_keys, W_query, v):
    """The student takes the projected keys as given numbers, so that no gradient reaches them."""
    q = queries @ W_query.T
    return torch.tanh(q[:, :, None] + projected_keys.detach()[:, None]) @ v


def score_every_step__wrong_numpy_on_the_way(queries, projected_keys, W_query, v):
    """The student computes the query's part by numpy, so that no gradient reaches queries and W_query."""
    q = torch.from_numpy(np.einsum("biq,aq->bia", queries.detach().numpy(), W_query.detach().numpy()))
    return torch.tanh(q[:, :, None] + projected_keys[:, None]) @ v


def score_every_step__wrong_tanh_quotient(queries, projected_keys, W_query, v):
    """The student writes tanh with exponentials, not a number for sums of some hundreds."""
    z = torch.exp(2 * ((queries @ W_query.T)[:, :, None] + projected_keys[:, None]))
    return ((z - 1) / (z + 1)) @ v


def score_every_step__wrong_sigmoid_gradient_overflow(queries, projected_keys, W_query, v):
    """The student writes tanh as 1 - 2 / (exp(2 z) + 1), right in its values and not a number in its gradients for large sums."""
    # z = 400: exp(2 z) is inf, the value 1 is right, the gradient is 0 * inf = nan.
    z = (queries @ W_query.T)[:, :, None] + projected_keys[:, None]
    return (1 - 2 / (torch.exp(2 * z) + 1)) @ v


def score_every_step__wrong_expanded_by_view(queries, projected_keys, W_query, v):
    """The student repeats the queries along the batch axis of rows in the wrong order before a view."""
    q, p = queries @ W_query.T, projected_keys
    (b, i, a), j = q.shape, p.shape[1]
    # repeat runs through all steps again and again, where repeat_interleave would keep each step together
    left = q.repeat(1, j, 1).view(b, i, j, a)
    return torch.tanh(left + p[:, None]) @ v


def score_every_step__wrong_paired_steps(queries, projected_keys, W_query, v):
    """The student adds without new axes where steps and positions are as many, and so pairs step i with position i."""
    q = queries @ W_query.T
    if q.shape[1] == projected_keys.shape[1]:
        e = torch.tanh(q + projected_keys) @ v
        return e[:, None].expand(-1, q.shape[1], -1)
    return torch.tanh(q[:, :, None] + projected_keys[:, None]) @ v


def score_every_step__wrong_batches_mixed(queries, projected_keys, W_query, v):
    """The student crosses the batch of the queries with that of the keys and takes the mean, right for a batch of one."""
    q = queries @ W_query.T
    e = torch.tanh(q[:, None, :, None] + projected_keys[None, :, None]) @ v
    return e.sum(1) / e.shape[1]


def score_every_step__wrong_last_step_only(queries, projected_keys, W_query, v):
    """The student scores the last state only and repeats it, as in the step by step decoder."""
    q = queries[:, -1] @ W_query.T
    e = torch.tanh(q[:, None] + projected_keys) @ v
    return e[:, None].repeat(1, queries.shape[1], 1)


def score_every_step__wrong_v_not_learned(queries, projected_keys, W_query, v):
    """The student makes a new tensor of v, so that its gradient is missing."""
    q = queries @ W_query.T
    return (torch.tanh(q[:, :, None] + projected_keys[:, None]) * torch.tensor(v.tolist(), dtype=q.dtype)).sum(-1)


def score_every_step__right_einsum(queries, projected_keys, W_query, v):
    """einsum on both ends, and unsqueeze in between."""
    q = torch.einsum("aq,biq->bia", W_query, queries).unsqueeze(-2)
    return torch.einsum("bija,a->bij", (q + projected_keys.unsqueeze(-3)).tanh(), v)


def score_every_step__right_vmap(queries, projected_keys, W_query, v):
    """torch.vmap over sentences, then steps, then positions, of a score for one pair."""
    def one(s, p):
        return torch.tanh(W_query @ s + p) @ v
    return torch.vmap(torch.vmap(torch.vmap(one, (None, 0)), (0, None)))(queries, projected_keys)


def score_every_step__right_axes_swapped_back(queries, projected_keys, W_query, v):
    """Hidden units in front, positions before steps, and a permute at the end."""
    q = torch.nn.functional.linear(queries, W_query).permute(2, 0, 1)[:, :, None, :]
    p = projected_keys.permute(2, 0, 1)[:, :, :, None]
    return torch.tensordot(v, torch.tanh(p + q), dims=([0], [0])).transpose(1, 2)


def score_every_step__right_stable_sigmoid(queries, projected_keys, W_query, v):
    """tanh as two sigmoids, with v split off as a sum."""
    z = queries.matmul(W_query.mT)[:, :, None, :] + projected_keys[:, None, :, :]
    return (2 * torch.sigmoid(2 * z) * v).sum(dim=-1) - v.sum()


def score_every_step__right_repeat_interleave(queries, projected_keys, W_query, v):
    """All pairs as rows of one long matrix, and unflatten at the end."""
    b, i, _ = queries.shape
    j = projected_keys.shape[1]
    left = (queries @ W_query.T).repeat_interleave(j, dim=1)
    return torch.mv(torch.tanh(left + projected_keys.repeat(1, i, 1)).reshape(b * i * j, -1), v).view(b, i, j)


def score_every_step__right_in_place_tanh(queries, projected_keys, W_query, v):
    """tanh in place on the fresh sum, which stays on the graph, and an inner product."""
    z = torch.unsqueeze(queries @ W_query.t(), 2) + torch.unsqueeze(projected_keys, 1)
    return torch.inner(z.tanh_(), v)


def score_every_step__wrong_broadcast_wrong_way_if_equal(queries, projected_keys, W_query, v):
    """The student views the queries as (batch, 1, target_len, size) where steps and positions agree, so that the result is transposed there."""
    q = queries @ W_query.T
    if q.shape[1] == projected_keys.shape[1]:
        return torch.tanh(q.unsqueeze(1) + projected_keys.unsqueeze(2)) @ v
    return torch.tanh(q.unsqueeze(2) + projected_keys.unsqueeze(1)) @ v


def additive_score__wrong_tanh_by_series(query, keys, W_query, W_key, v):
    """The student replaces tanh z by z where z is small in size, below 0.1, off by up to 3e-4."""
    z = (query @ W_query.T)[:, None] + keys @ W_key.T
    return np.where(np.abs(z) < 0.1, z, np.tanh(z)) @ v
