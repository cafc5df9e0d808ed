import math
import numpy as np
import torch


_S, _H = np.array([0.5, -0.2, 0.1]), np.array([[0.2, 0.3, 0.1, -0.4], [-0.5, 0.4, 0.2, 0.1], [0.1, -0.6, 0.3, 0.2]])
_WQ, _WK, _V = np.array([[1., 0, 2], [0, -1, 1]]), np.array([[1., 0, 0, 1], [0, 2, -1, 0]]), np.array([2., -1.])


def batched_additive_shapes__right_computed(batch, m, n, a, T_x):
    """Lets torch layers and broadcast_shapes find the shapes."""
    q = torch.zeros(batch, 1, a)
    h = torch.broadcast_shapes(q.shape, (batch, T_x, a))
    return dict(projected_query=q.shape, hidden=h, product=(torch.zeros(h) @ torch.zeros(a, 1)).shape, W=(n, m))


def scores_by_hand_twin__wrong_tanh_each():
    """Takes the tanh of each of the two products and adds afterwards."""
    return [float(_V @ (np.tanh(_WQ @ _S) + np.tanh(_WK @ h))) for h in _H]


def scores_by_hand_twin__right_array():
    """Computes all positions at once and gives an array."""
    return np.tanh(_WQ @ _S + _H @ _WK.T) @ _V


def dot_product_score__wrong_sum_over_positions(query, keys, W=None):
    """Sums over the positions instead of over the components."""
    keys = keys if W is None else keys @ W.T
    return (keys * query[:, None, :]).sum(axis=1)


def dot_product_score__wrong_cosine(query, keys, W=None):
    """Divides by the lengths of both vectors, which gives the cosine instead of the dot product."""
    keys = keys if W is None else keys @ W.T
    e = np.einsum("bs,bjs->bj", query, keys)
    return e / (np.linalg.norm(query, axis=1)[:, None] * np.linalg.norm(keys, axis=2) + 1e-12)


def dot_product_score__wrong_subtle_float32(query, keys, W=None):
    """Computes in single precision, which is exact for small whole numbers only."""
    keys = keys if W is None else keys @ W.T
    return np.einsum("bs,bjs->bj", query.astype(np.float32), keys.astype(np.float32)).astype(float)


def dot_product_score__wrong_subtle_zero_is_pad(query, keys, W=None):
    """Takes a score of exactly 0 for a pad and puts a large negative number there."""
    keys = keys if W is None else keys @ W.T
    e = np.einsum("bs,bjs->bj", query, keys)
    return np.where(e == 0, -1e9, e)


def dot_product_score__right_lists(query, keys, W=None):
    """Loops over sentences and positions with math.fsum and gives nested lists."""
    keys = keys if W is None else keys @ W.T
    return [[math.fsum(float(x) * float(y) for x, y in zip(s, h)) for h in rows] for s, rows in zip(query, keys)]


def dot_product_score__right_in_place(query, keys, W=None):
    """Multiplies into the keys themselves, which changes an input but not the result."""
    keys = keys if W is None else keys @ W.T
    keys *= query[:, None, :]
    return keys.sum(axis=-1)


def dot_product_score__right_fortran(query, keys, W=None):
    """Multiplies transposed matrices sentence by sentence into a column-major result."""
    keys = keys if W is None else keys @ W.T
    out = np.empty(keys.shape[:2], order="F")
    for b in range(len(query)):
        out[b] = query[b] @ keys[b].T
    return out



def additive_score__wrong_sigmoid(query, keys, W_query, W_key, v):
    """Uses the sigmoid instead of the tanh."""
    return (0.5 + 0.5 * np.tanh(0.5 * ((query @ W_query.T)[:, None] + keys @ W_key.T))) @ v


def additive_score__right_stable_expm1(query, keys, W_query, W_key, v):
    """Writes the tanh by expm1 of a negative number, with the sign put back."""
    x = np.einsum("aq,bq->ba", W_query, query)[:, None, :] + np.einsum("ak,bjk->bja", W_key, keys)
    e = np.expm1(-2 * np.abs(x))
    return np.einsum("a,bja->bj", v, np.sign(x) * -e / (e + 2))


def additive_score__right_joined(query, keys, W_query, W_key, v):
    """Joins state and annotation to one vector and both matrices to one, a position at a time."""
    W = np.hstack([W_query, W_key])
    return [[float(v @ np.tanh(W @ np.concatenate([s, h]))) for h in rows] for s, rows in zip(query, keys)]


def score_every_step__wrong_subtle_sign_abs(queries, projected_keys, W_query, v):
    """Writes the tanh as sign(x) tanh(|x|), whose gradient is 0 instead of 1 where x is exactly 0."""
    x = (queries @ W_query.T)[:, :, None] + projected_keys[:, None]
    return (torch.sign(x) * torch.tanh(x.abs())) @ v


def score_every_step__right_einsum(queries, projected_keys, W_query, v):
    """Uses einsum for both products, and adds by expanded views."""
    b, i, _ = queries.shape
    j, a = projected_keys.shape[1:]
    q = torch.einsum("biq,aq->bia", queries, W_query).unsqueeze(2).expand(b, i, j, a)
    return torch.einsum("bija,a->bij", torch.tanh(q + projected_keys.unsqueeze(1).expand(b, i, j, a)), v)


def score_every_step__right_sigmoid(queries, projected_keys, W_query, v):
    """Writes the tanh as 2 sigmoid(2x) - 1 and leaves a result with permuted memory."""
    x = torch.nn.functional.linear(queries, W_query).unsqueeze(1) + projected_keys.unsqueeze(2)
    return ((2 * torch.sigmoid(2 * x) - 1) * v).sum(-1).transpose(1, 2)
