import math
import collections
import numpy as np
import torch

_TS, _TH, _TQ, _TK, _TV = [.5, -.2, .1], [[.2, .3, .1, -.4], [-.5, .4, .2, .1], [.1, -.6, .3, .2]], [[1, 0, 2], [0, -1, 1]], [[1, 0, 0, 1], [0, 2, -1, 0]], [2, -1]

def _mv(W, x): return [sum(a * b for a, b in zip(r, x)) for r in W]
def _add(s, H, Wq, Wk, v, f=math.tanh): return [sum(c * f(a + b) for c, a, b in zip(v, _mv(Wq, s), _mv(Wk, h))) for h in H]


def batched_additive_shapes__wrong_subtle_one_sentence(batch, m, n, a, T_x):
    "Leaves out the batch axis where the batch holds one sentence."
    f = (batch,) if batch > 1 else ()
    return {'projected_query': f + (1, a), 'hidden': f + (T_x, a), 'product': f + (T_x, 1), "W": (n, m)}
def batched_additive_shapes__right_broadcast(batch, m, n, a, T_x):
    "Lets numpy work out the broadcast shapes, and returns an ordered dict."
    q = (batch, 1, a); h = np.broadcast_shapes(q, (batch, T_x, a))
    return {**collections.OrderedDict(projected_query=q, hidden=h, product=h[:-1] + (1,)), "W": (n, m)}


def scores_by_hand_twin__wrong_key_shift():
    "Multiplies the first row of W_key with the third number of the annotation instead of the fourth."
    return _add(_TS, _TH, _TQ, [[1, 0, 1, 0], _TK[1]], _TV)
def scores_by_hand_twin__wrong_subtle_pade():
    "Takes a short formula, x (15 + x^2) / (15 + 6 x^2), for tanh, which is off by a few in the fourth decimal."
    return _add(_TS, _TH, _TQ, _TK, _TV, lambda x: x * (15 + x * x) / (15 + 6 * x * x))
def scores_by_hand_twin__right_computed():
    "Computes the numbers in plain Python and returns a tuple, unrounded."
    return tuple(_add(_TS, _TH, _TQ, _TK, _TV))


def dot_product_score__wrong_float32(query, keys, W=None):
    "Computes in single precision."
    keys = keys if W is None else keys @ W.T
    return np.einsum('bd,bjd->bj', query.astype(np.float32), keys.astype(np.float32))
def dot_product_score__wrong_subtle_squeeze(query, keys, W=None):
    "Squeezes every axis of length 1 and adds one in front, so a batch of one-word sentences comes back as a row."
    keys = keys if W is None else keys @ W.T
    return np.atleast_2d(np.squeeze(keys @ query[:, :, None]))
def dot_product_score__right_inplace(query, keys, W=None):
    "Multiplies into keys in place and sums."
    keys = keys if W is None else keys @ W.T
    keys *= query[:, None, :]
    return keys.sum(axis=-1)
def dot_product_score__right_lists(query, keys, W=None):
    "Nested lists of exactly rounded sums."
    keys = keys if W is None else keys @ W.T
    return [[math.fsum(a * b for a, b in zip(q, k)) for k in ks] for q, ks in zip(query.tolist(), keys.tolist())]


def additive_score__wrong_flipped_batch(query, keys, W_query, W_key, v):
    "Pairs each sentence with the decoder state of the sentence before it in the batch."
    return np.tanh((np.roll(query, 1, axis=0) @ W_query.T)[:, None] + keys @ W_key.T) @ v
def additive_score__right_one_matrix(query, keys, W_query, W_key, v):
    "Joins state and annotation, and both matrices, into one product."
    q = np.repeat(query[:, None, :], keys.shape[1], axis=1)
    return np.dot(np.tanh(np.concatenate([q, keys], axis=2).dot(np.hstack([W_query, W_key]).T)), v)
def additive_score__right_one_exponential(query, keys, W_query, W_key, v):
    "Writes tanh as 1 - 2 / (exp(2x) + 1), where an overflow to infinity is harmless."
    with np.errstate(over='ignore'):
        return np.einsum('a,bja->bj', v, 1 - 2 / (np.exp(2 * (np.einsum('an,bn->ba', W_query, query)[:, None] + np.einsum('am,bjm->bja', W_key, keys))) + 1))

# ---- score_every_step
def _sum(queries, projected_keys, W_query): return (queries @ W_query.T)[:, :, None] + projected_keys[:, None]
def score_every_step__wrong_sigmoid(queries, projected_keys, W_query, v):
    "Uses a sigmoid where the equation has a tanh."
    return torch.sigmoid(_sum(queries, projected_keys, W_query)) @ v
def score_every_step__wrong_subtle_clamp(queries, projected_keys, W_query, v):
    "Keeps the hidden layer within 0.999999 of 0 by a clamp, which changes saturated scores and stops their gradients."
    return torch.tanh(_sum(queries, projected_keys, W_query)).clamp(-.999999, .999999) @ v
def score_every_step__right_outer(queries, projected_keys, W_query, v):
    "Repeats both to the full size and sums with einsum."
    b, i, _ = queries.shape; j, a = projected_keys.shape[1:]
    p = torch.nn.functional.linear(queries, W_query)
    return torch.einsum('a,bija->bij', v, (p.unsqueeze(2).expand(b, i, j, a) + projected_keys.unsqueeze(1).expand(b, i, j, a)).tanh())
def score_every_step__right_transposed_view(queries, projected_keys, W_query, v):
    "Broadcasts with positions before steps, and returns a transposed view that is not contiguous."
    return (torch.tanh(torch.matmul(W_query, queries.mT).mT.unsqueeze(1) + projected_keys.unsqueeze(2)) * v).sum(-1).mT
def score_every_step__right_addition_theorem(queries, projected_keys, W_query, v):
    "Writes tanh as the difference 2 sigmoid(2x) - 1."
    return (2 * torch.sigmoid(2 * _sum(queries, projected_keys, W_query)) - 1).matmul(v.reshape(-1, 1)).squeeze(-1)
