import math
import collections
import numpy as np
import torch

_TS, _TH, _TQ, _TK, _TV = [.5, -.2, .1], [[.2, .3, .1, -.4], [-.5, .4, .2, .1], [.1, -.6, .3, .2]], [[1, 0, 2], [0, -1, 1]], [[1, 0, 0, 1], [0, 2, -1, 0]], [2, -1]

def _mv(W, x): return [sum(a * b for a, b in zip(r, x)) for r in W]
def _add(s, H, Wq, Wk, v, f=math.tanh): return [sum(c * f(a + b) for c, a, b in zip(v, _mv(Wq, s), _mv(Wk, h))) for h in H]


def additive_shapes__right_torch(m, n, a, T_x):
    "Runs the equation in torch and returns torch.Size, which is a tuple."
    q, k = torch.zeros(n) @ torch.zeros(n, a), torch.zeros(T_x, m) @ torch.zeros(m, a)
    return {'projected_query': q.shape, 'projected_keys': k.shape, 'hidden': (q + k).shape, 'scores': ((q + k) @ torch.zeros(a)).shape}

def batched_additive_shapes__wrong_subtle_one_sentence(batch, m, n, a, T_x):
    "Leaves out the batch axis where the batch holds one sentence."
    f = (batch,) if batch > 1 else ()
    return {'projected_query': f + (1, a), 'hidden': f + (T_x, a), 'product': f + (T_x, 1)}
def batched_additive_shapes__right_broadcast(batch, m, n, a, T_x):
    "Lets numpy work out the broadcast shapes, and returns an ordered dict."
    q = (batch, 1, a); h = np.broadcast_shapes(q, (batch, T_x, a))
    return collections.OrderedDict(projected_query=q, hidden=h, product=h[:-1] + (1,))


def scores_by_hand_twin__wrong_key_shift():
    "Multiplies the first row of W_key with the third number of the annotation instead of the fourth."
    return _add(_TS, _TH, _TQ, [[1, 0, 1, 0], _TK[1]], _TV)
def scores_by_hand_twin__wrong_subtle_pade():
    "Takes a short formula, x (15 + x^2) / (15 + 6 x^2), for tanh, which is off by a few in the fourth decimal."
    return _add(_TS, _TH, _TQ, _TK, _TV, lambda x: x * (15 + x * x) / (15 + 6 * x * x))
def scores_by_hand_twin__right_computed():
    "Computes the numbers in plain Python and returns a tuple, unrounded."
    return tuple(_add(_TS, _TH, _TQ, _TK, _TV))


def dot_product_score__wrong_float32(query, keys):
    "Computes in single precision."
    return np.einsum('bd,bjd->bj', query.astype(np.float32), keys.astype(np.float32))
def dot_product_score__wrong_subtle_squeeze(query, keys):
    "Squeezes every axis of length 1 and adds one in front, so a batch of one-word sentences comes back as a row."
    return np.atleast_2d(np.squeeze(keys @ query[:, :, None]))
def dot_product_score__right_inplace(query, keys):
    "Multiplies into keys in place and sums."
    keys *= query[:, None, :]
    return keys.sum(axis=-1)
def dot_product_score__right_lists(query, keys):
    "Nested lists of exactly rounded sums."
    return [[math.fsum(a * b for a, b in zip(q, k)) for k in ks] for q, ks in zip(query.tolist(), keys.tolist())]

def multiplicative_score__wrong_no_w_query(query, keys, W):
    "Sums the query and the projected keys separately instead of multiplying them entry by entry."
    return query.sum(axis=1)[:, None] * (keys @ W.T).sum(axis=-1)
def multiplicative_score__wrong_reshape(query, keys, W):
    "Reshapes the table (positions, sentences) to (sentences, positions), where it should be transposed."
    s = np.einsum('bi,ik,bjk->jb', query, W, keys)
    return s.reshape(s.shape[::-1])
def multiplicative_score__wrong_subtle_cached(query, keys, W, _memo={}):
    "Keeps W from the first call with its shape and uses it again in later calls."
    W = _memo.setdefault(W.shape, W.copy())
    return np.einsum('bi,ik,bjk->bj', query, W, keys)
def multiplicative_score__wrong_subtle_window(query, keys, W):
    "Works through the key components in blocks of 32, but stops before the last incomplete block once there is a full one."
    k = keys.shape[-1]; k = k if k < 32 else k // 32 * 32
    return np.einsum('bi,ik,bjk->bj', query, W[:, :k], keys[:, :, :k])
def multiplicative_score__right_query_side(query, keys, W):
    "Projects the query with the transpose of W and takes batched products in torch."
    q = torch.from_numpy(query) @ torch.from_numpy(W)
    return torch.bmm(torch.from_numpy(keys), q.unsqueeze(-1)).squeeze(-1)
def multiplicative_score__right_fortran(query, keys, W):
    "Loops over the positions and fills an array that lies column by column."
    out = np.empty(keys.shape[:2], order='F')
    for j in range(keys.shape[1]): out[:, j] = (query * (W @ keys[:, j].T).T).sum(1)
    return out

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
