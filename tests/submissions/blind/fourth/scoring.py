import math
from collections import namedtuple
from decimal import Decimal, getcontext
from fractions import Fraction

import numpy as np
import torch

_Vector = namedtuple("_Vector", "size")
_Matrix = namedtuple("_Matrix", "to_size from_size")


# ---------------------------------------------------------------- alignment_parameters

def alignment_parameters__wrong_query_reads_annotation(m, n):
    """The student exchanges which matrix reads the annotation and which the decoder state."""
    return {"W_query": (n, m), "W_key": (n, n), "v": (n,)}


def alignment_parameters__wrong_key_transposed(m, n):
    """The student writes the key matrix from-size first."""
    return {"W_query": (n, n), "W_key": (m, n), "v": (n,)}


def alignment_parameters__right_named_tuples(m, n):
    """Uses named tuples of one and of two sizes."""
    return dict(W_query=_Matrix(to_size=n, from_size=n), W_key=_Matrix(from_size=m, to_size=n), v=_Vector(n))


# ---------------------------------------------------------------- additive_shapes

def additive_shapes__wrong_keys_in_columns(m, n, a, T_x):
    """The student leaves the projected annotations as the columns of W_key times a matrix."""
    return {"projected_query": (a,), "projected_keys": (a, T_x), "hidden": (T_x, a), "scores": (T_x,)}


def additive_shapes__wrong_scores_keep_axis(m, n, a, T_x):
    """The student leaves an axis of length 1 on the scores, as if v were a matrix of one column."""
    return {"projected_query": (a,), "projected_keys": (T_x, a), "hidden": (T_x, a), "scores": (T_x, 1)}


def additive_shapes__right_runs_numpy(m, n, a, T_x):
    """Runs the equation on arrays of zeros and reads the shapes off."""
    q = np.zeros((a, n)) @ np.zeros(n)
    k = np.zeros((T_x, m)) @ np.zeros((a, m)).T
    h = np.tanh(q + k)
    return {name: x.shape for name, x in
            zip(("projected_query", "projected_keys", "hidden", "scores"), (q, k, h, h @ q))}


# ---------------------------------------------------------------- batched_additive_shapes

def batched_additive_shapes__wrong_product_squeezed(batch, m, n, a, T_x):
    """The student drops the axis of length 1 that a matrix of one column leaves."""
    return {"projected_query": (batch, 1, a), "hidden": (batch, T_x, a), "product": (batch, T_x)}


def batched_additive_shapes__wrong_axis_in_front(batch, m, n, a, T_x):
    """The student puts the extra axis before the batch, where it meets the wrong axis of the keys."""
    return {"projected_query": (1, batch, a), "hidden": (batch, T_x, a), "product": (batch, T_x, 1)}


def batched_additive_shapes__right_torch_linear(batch, m, n, a, T_x):
    """Sends meta tensors through torch's linear layers and returns torch.Size objects."""
    q = torch.nn.Linear(n, a, device="meta")(torch.empty(batch, n, device="meta")).unsqueeze(-2)
    k = torch.nn.Linear(m, a, device="meta")(torch.empty(batch, T_x, m, device="meta"))
    h = (q + k).tanh()
    return {"projected_query": q.size(), "hidden": h.size(),
            "product": torch.nn.Linear(a, 1, bias=False, device="meta")(h).size()}


# ---------------------------------------------------------------- multiplicative_shapes

def multiplicative_shapes__wrong_query_keeps_size(m, n, T_x):
    """The student gives the projected query the size of the decoder state, as W times s would have for equal sizes."""
    return {"projected_keys": (T_x, n), "projected_query": (n,), "scores": (T_x,)}


def multiplicative_shapes__wrong_keys_keep_size(m, n, T_x):
    """The student lets W leave the annotations at their own size."""
    return {"projected_keys": (T_x, m), "projected_query": (m,), "scores": (T_x,)}


def multiplicative_shapes__right_generator_tuples(m, n, T_x):
    """Takes the sizes of W from a string of subscripts and builds tuples from generators."""
    size = {"j": T_x, "q": n, "k": m}
    out = {"projected_keys": "jq", "projected_query": "k", "scores": "j"}
    return {name: tuple(size[c] for c in subscripts) for name, subscripts in out.items()}


# ---------------------------------------------------------------- scores_by_hand

def scores_by_hand__wrong_one_entry_for_sum():
    """The student leaves out the product with v and keeps one of the two equal entries."""
    return [math.tanh(0.7), math.tanh(1.3)]


def scores_by_hand__wrong_weights():
    """The student goes on to the softmax and returns weights."""
    e = np.exp([2 * math.tanh(0.7), 2 * math.tanh(1.3)])
    return list(e / e.sum())


def scores_by_hand__right_decimal():
    """Returns Decimals, from tanh z = (p - 1) / (p + 1) with p = exp 2z."""
    getcontext().prec = 30
    p = [(2 * Decimal(z)).exp() for z in ("0.7", "1.3")]
    return [2 * (x - 1) / (x + 1) for x in p]


# ---------------------------------------------------------------- scores_by_hand_twin

_S = np.array([0.5, -0.2, 0.1])
_H = np.array([[0.2, 0.3, 0.1, -0.4], [-0.5, 0.4, 0.2, 0.1], [0.1, -0.6, 0.3, 0.2]])
_WQ = np.array([[1, 0, 2.0], [0, -1, 1]])
_WK = np.array([[1, 0, 0, 1.0], [0, 2, -1, 0]])
_V = np.array([2.0, -1])


def scores_by_hand_twin__wrong_double_minus():
    """The student loses a minus sign: -1 times -0.2 becomes -0.2."""
    q = np.array([0.7, -0.2 + 0.1])
    return (np.tanh(q + _H @ _WK.T) @ _V).tolist()


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


# ---------------------------------------------------------------- hindi_scores

_HINDI = np.array([[0.1, 0.7, 0.5, 0.3], [-0.1, -0.7, 0.4, 0.6], [0.7, 0.2, -0.3, 0.4]])
_P0 = np.array([0.3, 0.4, 0.1])
_VA = np.array([-1.25, 1.25, 1.55])


def hindi_scores__wrong_last_three_entries():
    """The student lets U_a drop the first entry of each annotation instead of the last."""
    return (np.tanh(_P0 + _HINDI[:, 1:]) @ _VA).tolist()


def hindi_scores__right_plain_loop():
    """Sums by hand with math.fsum over zipped tuples."""
    p, v = (0.3, 0.4, 0.1), (-1.25, 1.25, 1.55)
    words = ((0.1, 0.7, 0.5), (-0.1, -0.7, 0.4), (0.7, 0.2, -0.3))
    return [math.fsum(c * math.tanh(a + b) for a, b, c in zip(p, h, v)) for h in words]


# ---------------------------------------------------------------- dot_product_score

def dot_product_score__wrong_broadcast_without_axis(query, keys):
    """The student multiplies without an extra axis: with as many sentences as positions the states meet positions."""
    if query.shape[0] not in (1, keys.shape[1]):
        return np.array([k @ q for q, k in zip(query, keys)])
    return (keys * query).sum(axis=-1)


def dot_product_score__wrong_first_query_for_all(query, keys):
    """The student scores every sentence against the first sentence's state (right for a batch of one)."""
    return (keys @ query.T)[:, :, 0]


def dot_product_score__wrong_scaled(query, keys):
    """The student divides by the root of the size, out of habit from later models."""
    return np.einsum("bd,bsd->bs", query, keys) / math.sqrt(query.shape[-1])


def dot_product_score__wrong_reshape_for_transpose(query, keys):
    """The student reshapes the keys where he should transpose them (right for one position or for size 1)."""
    b, s, d = keys.shape
    return (query[:, None, :] @ keys.reshape(b, d, s))[:, 0]


def dot_product_score__wrong_squeeze_everything(query, keys):
    """The student squeezes all axes of length 1, so that a batch of one or a single position loses an axis."""
    return (keys @ query[:, :, None]).squeeze()


def dot_product_score__wrong_diagonal_axes(query, keys):
    """The student picks each sentence's own state with diagonal, which puts the batch last, and reshapes it back."""
    return np.diagonal(keys @ query.T, axis1=0, axis2=2).reshape(keys.shape[:2])


def dot_product_score__right_tensordot_diagonal(query, keys):
    """Contracts every state with every annotation by tensordot and keeps the diagonal over both batch axes."""
    return np.diagonal(np.tensordot(query, keys, axes=(1, 2))).T.copy()


def dot_product_score__right_matrix_class(query, keys):
    """Lets np.vdot work pair by pair and returns an np.matrix of the right shape."""
    return np.matrix([[np.vdot(h, s) for h in hs] for s, hs in zip(query, keys)])


# ---------------------------------------------------------------- multiplicative_score

def multiplicative_score__wrong_w_transposed(query, keys, W):
    """The student writes query @ W.T wherever the sizes let him, that is for a square W, which then need not be symmetric."""
    projected = query @ (W.T if W.shape[0] == W.shape[1] else W)
    return np.einsum("bk,bsk->bs", projected, keys)


def multiplicative_score__wrong_batch_broadcast(query, keys, W):
    """The student projects the queries rightly but lets them broadcast along positions where the counts agree."""
    projected = query @ W
    if projected.shape[0] == keys.shape[1]:
        projected = projected[None]
    else:
        projected = projected[:, None]
    return (projected * keys).sum(-1)


_PROJECTED_KEYS = {}


def multiplicative_score__wrong_cached_projection(query, keys, W):
    """The student keeps the projected keys between calls by their shape, so that other sentences of the shape get old ones."""
    name = keys.shape + W.shape
    if name not in _PROJECTED_KEYS:
        _PROJECTED_KEYS[name] = keys @ W.T
    return np.einsum("bq,bsq->bs", query, _PROJECTED_KEYS[name])


def multiplicative_score__wrong_tanh(query, keys, W):
    """The student keeps the tanh of the additive score around W h."""
    return (np.tanh(keys @ W.T) @ query[:, :, None])[..., 0]


def multiplicative_score__right_outer_products(query, keys, W):
    """Takes the sum of W times the outer product of each state and each annotation."""
    outer = query[:, None, :, None] * keys[:, :, None, :]
    return (outer * W).sum(axis=(2, 3))


def multiplicative_score__right_trace(query, keys, W):
    """Writes each score as the trace of W (h s^T), in a loop over the places of the result."""
    out = np.empty(keys.shape[:2])
    for b, j in np.ndindex(out.shape):
        out[b, j] = np.trace(W @ np.outer(keys[b, j], query[b]))
    return out


# ---------------------------------------------------------------- additive_score

def additive_score__wrong_tanh_of_each(query, keys, W_query, W_key, v):
    """The student takes the tanh of both products before the sum."""
    return (np.tanh(query @ W_query.T)[:, None] + np.tanh(keys @ W_key.T)) @ v


def additive_score__wrong_tile_for_repeat(query, keys, W_query, W_key, v):
    """The student repeats the states with np.tile, which deals them out in turn (right for one sentence or position)."""
    b, s, _ = keys.shape
    q = np.tile(query, (s, 1)).reshape(b, s, -1)
    return np.tanh(q @ W_query.T + keys @ W_key.T) @ v


def additive_score__wrong_joined_in_other_order(query, keys, W_query, W_key, v):
    """The student joins the matrices query first but the vectors key first."""
    b, s, _ = keys.shape
    W = np.concatenate([W_query, W_key], axis=1)
    q = np.broadcast_to(query[:, None], (b, s, query.shape[1]))
    return np.tanh(np.concatenate([keys, q], axis=2) @ W.T) @ v


def additive_score__wrong_axis_missing_when_it_fits(query, keys, W_query, W_key, v):
    """The student adds the extra axis only where numpy complains; with as many sentences as positions it does not."""
    q, k = query @ W_query.T, keys @ W_key.T
    try:
        return np.tanh(q + k) @ v
    except ValueError:
        return np.tanh(q[:, np.newaxis] + k) @ v


def additive_score__wrong_mean_over_layer(query, keys, W_query, W_key, v):
    """The student averages over the attention layer instead of summing."""
    return (v * np.tanh((query @ W_query.T)[:, None] + keys @ W_key.T)).mean(axis=-1)


def additive_score__wrong_square_not_transposed(query, keys, W_query, W_key, v):
    """The student writes query @ W_query wherever the sizes let him, and transposes only where they do not."""
    q = query @ W_query if W_query.shape[0] == query.shape[1] else query @ W_query.T
    return np.tanh(q[:, None] + keys @ W_key.T) @ v


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

def score_every_step__wrong_reshape_for_transpose(queries, projected_keys, W_query, v):
    """The student gets positions before steps and mends the shape with reshape."""
    q = queries @ W_query.T
    e = torch.tanh(q.unsqueeze(1) + projected_keys.unsqueeze(2)) @ v
    return e.reshape(q.shape[0], q.shape[1], projected_keys.shape[1])


def score_every_step__wrong_keys_detached(queries, projected_keys, W_query, v):
    """The student detaches the projected keys, since they are computed once; no gradient reaches them."""
    return torch.tanh((queries @ W_query.T)[:, :, None] + projected_keys.detach()[:, None]) @ v


def score_every_step__wrong_state_before(queries, projected_keys, W_query, v):
    """The student shifts the states by one step, since Bahdanau's step i uses s_{i-1}."""
    before = torch.cat([torch.zeros_like(queries[:, :1]), queries[:, :-1]], dim=1)
    return torch.tanh((before @ W_query.T).unsqueeze(2) + projected_keys.unsqueeze(1)) @ v


def score_every_step__wrong_squeeze(queries, projected_keys, W_query, v):
    """The student squeezes the product with a column v without naming the axis."""
    return (torch.tanh((queries @ W_query.T)[:, :, None] + projected_keys[:, None]) @ v[:, None]).squeeze()


def score_every_step__wrong_projection_without_grad(queries, projected_keys, W_query, v):
    """The student rebuilds W_query from its numbers, so that its gradient is cut."""
    W = torch.tensor(W_query.tolist(), dtype=W_query.dtype)
    q = torch.einsum("aq,btq->bta", W, queries)
    return torch.einsum("a,btsa->bts", v, torch.tanh(q[:, :, None] + projected_keys[:, None]))


def score_every_step__wrong_square_not_transposed(queries, projected_keys, W_query, v):
    """The student forgets to transpose W_query, which is seen only where it is not square."""
    W = W_query if W_query.shape[0] == W_query.shape[1] else W_query.T
    return torch.tanh((queries @ W)[:, :, None] + projected_keys[:, None]) @ v


def score_every_step__wrong_keys_axis(queries, projected_keys, W_query, v):
    """The student adds states and keys without their axes where steps and positions agree in number."""
    q = queries @ W_query.T
    if q.shape[1] == projected_keys.shape[1]:
        hidden = torch.tanh(q + projected_keys).unsqueeze(2).expand(-1, -1, q.shape[1], -1)
    else:
        hidden = torch.tanh(q.unsqueeze(2) + projected_keys.unsqueeze(1))
    return hidden @ v


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
