import math
from fractions import Fraction

import numpy as np
import torch


# ---------------------------------------------------------------- batched_additive_shapes


def batched_additive_shapes__right_torch_linear(batch, m, n, a, T_x):
    """Sends meta tensors through torch's linear layers and returns torch.Size objects."""
    q = torch.nn.Linear(n, a, device="meta")(torch.empty(batch, n, device="meta")).unsqueeze(-2)
    k = torch.nn.Linear(m, a, device="meta")(torch.empty(batch, T_x, m, device="meta"))
    h = (q + k).tanh()
    return {"projected_query": q.size(), "hidden": h.size(),
            "product": torch.nn.Linear(a, 1, bias=False, device="meta")(h).size(), "W": (n, m)}


# ---------------------------------------------------------------- scores_by_hand_twin

_S = np.array([0.5, -0.2, 0.1])
_H = np.array([[0.2, 0.3, 0.1, -0.4], [-0.5, 0.4, 0.2, 0.1], [0.1, -0.6, 0.3, 0.2]])
_WQ = np.array([[1, 0, 2.0], [0, -1, 1]])
_WK = np.array([[1, 0, 0, 1.0], [0, 2, -1, 0]])
_V = np.array([2.0, -1])


def scores_by_hand_twin__wrong_query_outside_tanh():
    """The student adds the projected decoder state after the tanh."""
    return ((np.tanh(_H @ _WK.T) + _WQ @ _S) @ _V).tolist()


def scores_by_hand_twin__right_fractions():
    """Keeps exact fractions up to the tanh and returns a tuple."""
    F = Fraction
    s = [F(1, 2), F(-1, 5), F(1, 10)]
    hs = [[F(x, 10) for x in row] for row in ((2, 3, 1, -4), (-5, 4, 2, 1), (1, -6, 3, 2))]
    q = (s[0] + 2 * s[2], s[2] - s[1])
    return tuple(2 * math.tanh(q[0] + h[0] + h[3]) - math.tanh(q[1] + 2 * h[1] - h[2]) for h in hs)


# ---------------------------------------------------------------- dot_product_score

def dot_product_score__wrong_broadcast_without_axis(query, keys, W=None):
    """The student multiplies without an extra axis: with as many sentences as positions the states meet positions."""
    keys = keys if W is None else keys @ W.T
    if query.shape[0] not in (1, keys.shape[1]):
        return np.array([k @ q for q, k in zip(query, keys)])
    return (keys * query).sum(axis=-1)


def dot_product_score__right_tensordot_diagonal(query, keys, W=None):
    """Contracts every state with every annotation by tensordot and keeps the diagonal over both batch axes."""
    keys = keys if W is None else keys @ W.T
    return np.diagonal(np.tensordot(query, keys, axes=(1, 2))).T.copy()


def dot_product_score__right_matrix_class(query, keys, W=None):
    """Lets np.vdot work pair by pair and returns an np.matrix of the right shape."""
    keys = keys if W is None else keys @ W.T
    return np.matrix([[np.vdot(h, s) for h in hs] for s, hs in zip(query, keys)])


# ---------------------------------------------------------------- additive_score


def additive_score__wrong_axis_missing_when_it_fits(query, keys, W_query, W_key, v):
    """The student adds the extra axis only where numpy complains; with as many sentences as positions it does not."""
    q, k = query @ W_query.T, keys @ W_key.T
    try:
        return np.tanh(q + k) @ v
    except ValueError:
        return np.tanh(q[:, np.newaxis] + k) @ v


def additive_score__right_joined_matrices(query, keys, W_query, W_key, v):
    """Joins both vectors in the order of the joined matrices and uses one einsum under the tanh."""
    W = np.hstack((W_query, W_key))
    x = np.concatenate((np.repeat(query[:, None], keys.shape[1], axis=1), keys), axis=-1)
    return np.einsum("a,bsa->bs", v, np.tanh(np.einsum("ai,bsi->bsa", W, x)))


def additive_score__right_lists_and_fsum(query, keys, W_query, W_key, v):
    """Works on Python floats alone: math.fsum for every sum, math.tanh for every entry."""
    def times(W, x):
        return [math.fsum(a * b for a, b in zip(row, x)) for row in W.tolist()]
    out = []
    for s, hs in zip(query.tolist(), keys.tolist()):
        q = times(W_query, s)
        out.append([math.fsum(c * math.tanh(a + b) for a, b, c in zip(q, times(W_key, h), v.tolist())) for h in hs])
    return np.array(out, dtype=np.float64)


# ---------------------------------------------------------------- score_every_step


def score_every_step__wrong_projection_without_grad(queries, projected_keys, W_query, v):
    """The student rebuilds W_query from its numbers, so that its gradient is cut."""
    W = torch.tensor(W_query.tolist(), dtype=W_query.dtype)
    q = torch.einsum("aq,btq->bta", W, queries)
    return torch.einsum("a,btsa->bts", v, torch.tanh(q[:, :, None] + projected_keys[:, None]))


def score_every_step__right_sigmoid_for_tanh(queries, projected_keys, W_query, v):
    """Uses tanh z = 2 sigmoid(2z) - 1 on a sum that einsum spreads with ones."""
    b, t, _ = queries.shape
    s = projected_keys.shape[1]
    q = torch.einsum("btq,aq,s->btsa", queries, W_query, queries.new_ones(s))
    p = torch.einsum("bsa,t->btsa", projected_keys, queries.new_ones(t))
    return ((2 * torch.sigmoid(2 * (q + p)) - 1) * v).sum(-1)


def score_every_step__right_repeat_interleave(queries, projected_keys, W_query, v):
    """Lays all pairs of steps and positions in one long axis, scores them with addmm and mv, and folds it back."""
    b, t, n = queries.shape
    s, a = projected_keys.shape[1:]
    q = queries.repeat_interleave(s, dim=1).reshape(b * t * s, n)
    p = projected_keys.repeat(1, t, 1).reshape(b * t * s, a)
    return torch.addmm(p, q, W_query.t()).tanh().mv(v).unflatten(0, (b, t, s))
