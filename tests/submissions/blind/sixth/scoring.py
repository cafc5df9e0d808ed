import math

import numpy as np
import torch


def batched_additive_shapes__wrong_subtle_squeezed_hidden(batch, m, n, a, T_x):
    """Squeezes the hidden layer, which loses axes that happen to have length 1."""
    return {"projected_query": (batch, 1, a), "hidden": np.zeros((batch, T_x, a)).squeeze().shape, "product": (batch, T_x, 1), "W": (n, m)}


def batched_additive_shapes__right_broadcast_shapes(batch, m, n, a, T_x):
    """Lets numpy broadcast shapes."""
    q = (batch, 1, a)
    hidden = np.broadcast_shapes(q, (batch, T_x, a))
    return {"projected_query": q, "hidden": hidden, "product": hidden[:-1] + (1,), "W": (n, m)}


# ---- scores_by_hand_twin
def _additive(s, H, A, B, v, f=np.tanh):
    return (f(np.array(A) @ s + np.array(H) @ np.array(B).T) @ v).tolist()


_TWIN = (np.array([.5, -.2, .1]), [[.2, .3, .1, -.4], [-.5, .4, .2, .1], [.1, -.6, .3, .2]], [[1, 0, 2], [0, -1, 1]],
         [[1, 0, 0, 1], [0, 2, -1, 0]], np.array([2, -1]))


def scores_by_hand_twin__wrong_query_forgotten():
    """Leaves W_query s out of the tanh."""
    return _additive(_TWIN[0] * 0, *_TWIN[1:])


def scores_by_hand_twin__right_rounded_torch():
    """Computes in torch and rounds to four decimals."""
    s, H, A, B, v = (torch.as_tensor(np.array(x, dtype=float)) for x in _TWIN)
    return [round(float(v @ torch.tanh(A @ s + B @ h)), 4) for h in H]


def dot_product_score__wrong_subtle_no_axis_where_it_fits(query, keys, W=None):
    """Multiplies without a new axis where numpy allows it: with as many sentences as positions, each position meets the state of another sentence."""
    keys = keys if W is None else keys @ W.T
    try:
        return (keys * query).sum(2)
    except ValueError:
        return (keys * query[:, None]).sum(2)


def dot_product_score__wrong_subtle_half_size_blocks(query, keys, W=None):
    """Adds in blocks of 32 entries, two at most, so entries from the 65th on are left out."""
    keys = keys if W is None else keys @ W.T
    return sum(np.einsum("bk,bjk->bj", query[:, i:i + 32], keys[:, :, i:i + 32]) for i in (0, 32))


def dot_product_score__right_fsum(query, keys, W=None):
    """Loops over words in Python and returns nested lists."""
    keys = keys if W is None else keys @ W.T
    return [[math.fsum(x * y for x, y in zip(s, h)) for h in H] for s, H in zip(query.tolist(), keys.tolist())]


def dot_product_score__right_baddbmm(query, keys, W=None):
    """Multiplies batches in torch and returns a tensor."""
    keys = keys if W is None else keys @ W.T
    return torch.bmm(torch.as_tensor(query)[:, None], torch.as_tensor(keys).transpose(1, 2))[:, 0]


# ---- additive_score
def _hidden(query, keys, W_query, W_key):
    return (query @ W_query.T)[:, None] + keys @ W_key.T


def additive_score__wrong_single_precision(query, keys, W_query, W_key, v):
    """Computes in single precision."""
    return np.tanh(_hidden(*(x.astype(np.float32) for x in (query, keys, W_query, W_key)))) @ v.astype(np.float32)


def additive_score__wrong_subtle_saturates_early(query, keys, W_query, W_key, v):
    """Sets the tanh to 1 or -1 from a size of 6 on, though 6e-6 is left there."""
    x = _hidden(query, keys, W_query, W_key)
    return np.where(np.abs(x) > 6, np.sign(x), np.tanh(x)) @ v


_kept = {}


def additive_score__wrong_subtle_cached_keys(query, keys, W_query, W_key, v):
    """Keeps the projected keys under their shape and first number, so they are stale when only other numbers change."""
    name = keys.shape, len(v), float(keys.flat[0]), float(W_key.flat[0])
    p = _kept.setdefault(name, keys @ W_key.T)
    return np.tanh((query @ W_query.T)[:, None] + p) @ v


def additive_score__right_joined_matrix(query, keys, W_query, W_key, v):
    """Multiplies state and annotation joined end to end, position by position, into a Fortran-ordered array."""
    out = np.zeros(keys.shape[:2], order="F")
    W = np.hstack([W_query, W_key])
    for b, j in np.ndindex(out.shape):
        out[b, j] = np.dot(v, np.tanh(W.dot(np.r_[query[b], keys[b, j]])))
    return out


def additive_score__right_sigmoid_form(query, keys, W_query, W_key, v):
    """Writes the tanh as 2 sigmoid(2x) - 1 in torch and returns lists."""
    x = torch.as_tensor(_hidden(query, keys, W_query, W_key))
    return ((2 * torch.sigmoid(2 * x) - 1) @ torch.as_tensor(v)).tolist()


# ---- score_every_step
def _sum4(queries, projected_keys, W_query):
    return (queries @ W_query.T)[:, :, None] + projected_keys[:, None]


def score_every_step__wrong_subtle_clamped(queries, projected_keys, W_query, v):
    """Clamps what goes into the tanh to plus or minus 7."""
    return torch.tanh(_sum4(queries, projected_keys, W_query).clamp(-7, 7)) @ v


def score_every_step__right_einsum(queries, projected_keys, W_query, v):
    """Uses einsum for both products, and unsqueezes."""
    q = torch.einsum("aq,biq->bia", W_query, queries)
    return torch.einsum("a,bija->bij", v, torch.tanh(q.unsqueeze(2) + projected_keys.unsqueeze(1)))


def score_every_step__right_attention_axis_first(queries, projected_keys, W_query, v):
    """Puts the attention axis second and sums over it, and returns a transposed tensor."""
    q, p = (queries @ W_query.T).permute(0, 2, 1), projected_keys.permute(0, 2, 1)
    return (torch.tanh(p[:, :, :, None] + q[:, :, None]) * v[:, None, None]).sum(1).transpose(1, 2)


def score_every_step__right_repeat_interleave(queries, projected_keys, W_query, v):
    """Repeats both to all pairs of step and position and calls linear layers."""
    (b, t, _), s = queries.shape, projected_keys.shape[1]
    x = torch.nn.functional.linear(queries.repeat_interleave(s, 1), W_query) + projected_keys.repeat(1, t, 1)
    return torch.nn.functional.linear(x.tanh(), v[None]).view(b, t, s)
