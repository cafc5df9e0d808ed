import math
from fractions import Fraction

import numpy as np
import torch


def multi_head_shapes__right_arrays(heads, m, r, T_x, T_y):
    """Computes with arrays of zeros and reads off their shapes."""
    W = np.zeros((heads * r, m))
    K = (np.zeros((T_x, m)) @ W.T).reshape(T_x, heads, r).transpose(1, 0, 2)
    a = np.zeros((heads, T_y, r)) @ K.transpose(0, 2, 1)
    c = np.concatenate(list(a @ K), axis=-1)
    return {"W_key": W.shape, "keys": K.shape, "weights": a.shape, "joined": c.shape}


def multi_head_shapes__right_lists(heads, m, r, T_x, T_y):
    """Gives lists instead of tuples."""
    n = r * heads
    return dict(joined=[T_y, n], weights=[heads, T_y, T_x], keys=[heads, T_x, r], W_key=[n, m])


def saturation__right_autograd():
    """Lets torch differentiate the first weight, with the numbers rounded to four decimals."""
    out = {"spread": 1.8}
    for name, by in (("plain", 1.0), ("scaled", 4.0)):
        e = torch.tensor([1.8 / by, -1.8 / by], dtype=torch.float64, requires_grad=True)
        torch.softmax(e, 0)[0].backward()
        out[name] = round(e.grad[0].item(), 4)
    return out


# ---------------------------------------------------------------- multi-head (torch)
def _parts(query, keys, W_query, W_key, W_value):
    q = torch.einsum("bs,zrs->bzr", query, W_query)
    k = torch.einsum("bjm,zrm->bzjr", keys, W_key)
    u = torch.einsum("bjm,zdm->bzjd", keys, W_value)
    return q, k, u


def _heads(q, k, u, mask, root):
    e = torch.einsum("bzr,bzjr->bzj", q, k) / root
    any_ = mask.any(1)[:, None, None]
    e = e.masked_fill(~mask[:, None, :], -math.inf).masked_fill(~any_, 0.0)
    a = torch.softmax(e, dim=-1).masked_fill(~mask[:, None, :], 0.0)
    return torch.einsum("bzj,bzjd->bzd", a, u)


def multi_head__wrong_scale_value_size(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """Divides by the root of the value size instead of the head's key size."""
    q, k, u = _parts(query, keys, W_query, W_key, W_value)
    return _heads(q, k, u, source_mask, math.sqrt(W_value.shape[1])).flatten(1) @ W_out.T


def multi_head__wrong_scale_all_heads(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """Divides by the root of the size of all heads together instead of one."""
    q, k, u = _parts(query, keys, W_query, W_key, W_value)
    return _heads(q, k, u, source_mask, math.sqrt(W_key.shape[0] * W_key.shape[1])).flatten(1) @ W_out.T


def multi_head__wrong_interleaved(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """Interleaves the heads' entries instead of joining the contexts end to end."""
    q, k, u = _parts(query, keys, W_query, W_key, W_value)
    return _heads(q, k, u, source_mask, math.sqrt(W_key.shape[1])).transpose(1, 2).flatten(1) @ W_out.T


def multi_head__wrong_view_scrambles_batch(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """Reshapes an array with the heads in front straight to (batch, ...), which mixes sentences and heads."""
    q, k, u = _parts(query, keys, W_query, W_key, W_value)
    c = _heads(q, k, u, source_mask, math.sqrt(W_key.shape[1])).transpose(0, 1)
    return c.reshape(len(query), -1) @ W_out.T


def multi_head__wrong_detached_query(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """Detaches the query, so no gradient reaches the decoder state."""
    q, k, u = _parts(query.detach(), keys, W_query, W_key, W_value)
    return _heads(q, k, u, source_mask, math.sqrt(W_key.shape[1])).flatten(1) @ W_out.T


def multi_head__wrong_empty_row_mean(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """Gives a sentence without a real token the mean of its pads instead of zeros."""
    q, k, u = _parts(query, keys, W_query, W_key, W_value)
    e = torch.einsum("bzr,bzjr->bzj", q, k) / math.sqrt(W_key.shape[1])
    a = torch.softmax(e.masked_fill(~source_mask[:, None], -1e30), -1)
    return torch.einsum("bzj,bzjd->bzd", a, u).flatten(1) @ W_out.T


def multi_head__wrong_subtle_fill(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """Fills the pads' scores with -1e7, above which real scores need not lie, so the weight can go to pads."""
    q, k, u = _parts(query, keys, W_query, W_key, W_value)
    e = torch.einsum("bzr,bzjr->bzj", q, k) / math.sqrt(W_key.shape[1])
    a = torch.softmax(e.masked_fill(~source_mask[:, None], -1e7), -1) * source_mask[:, None]
    return torch.einsum("bzj,bzjd->bzd", a, u).flatten(1) @ W_out.T


def multi_head__wrong_subtle_nan_gradient(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """Divides by a sum of 0 in an all-pad sentence and hides the NaN with where, so its gradients are NaN."""
    q, k, u = _parts(query, torch.where(source_mask[..., None], keys, 0.0), W_query, W_key, W_value)
    m = source_mask[:, None]
    e = torch.einsum("bzr,bzjr->bzj", q, k) / math.sqrt(W_key.shape[1]) - 1e30 * ~m
    p = torch.exp(e - e.detach().amax(-1, keepdim=True)) * m
    a = torch.where(m, p / p.sum(-1, keepdim=True), 0.0)
    return torch.einsum("bzj,bzjd->bzd", a, u).flatten(1) @ W_out.T


def multi_head__wrong_subtle_shared_max(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """Subtracts one maximum of all heads of a sentence, so a head with far lower scores underflows to no weight."""
    q, k, u = _parts(query, keys, W_query, W_key, W_value)
    m = source_mask[:, None]
    e = (torch.einsum("bzr,bzjr->bzj", q, k) / math.sqrt(W_key.shape[1])).masked_fill(~m, -1e30)
    p = torch.exp(e - e.detach().amax((1, 2), keepdim=True)) * m
    a = p / p.sum(-1, keepdim=True).clamp_min(1e-300)
    return torch.einsum("bzj,bzjd->bzd", a, u).flatten(1) @ W_out.T


def multi_head__right_loops_over_real(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """Loops over sentences and heads over real tokens only; an all-pad sentence gets a new tensor of zeros."""
    rows = []
    for b in range(len(query)):
        h = keys[b][source_mask[b]]
        if len(h) == 0:
            rows.append(torch.zeros(len(W_out), dtype=query.dtype))
            continue
        c = [torch.softmax((h @ Wk.T) @ (Wq @ query[b]) / len(Wk) ** 0.5, 0) @ (h @ Wu.T) for Wq, Wk, Wu in zip(W_query, W_key, W_value)]
        rows.append(W_out @ torch.cat(c))
    return torch.stack(rows)


def multi_head__right_sum_of_heads(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """Cleans the pads first, pulls the query through W_key, and adds the heads' own slices of W_out instead of joining."""
    h = torch.where(source_mask[..., None], keys, 0.0)
    d, total = W_value.shape[1], 0.0
    for z in range(len(W_query)):
        x = query @ W_query[z].T @ W_key[z] * W_key.shape[1] ** -0.5
        e = torch.where(source_mask, torch.bmm(h, x[:, :, None]).squeeze(2), -1e12)
        a = torch.softmax(e, 1) * source_mask
        total = total + torch.bmm(a[:, None], h).squeeze(1) @ W_value[z].T @ W_out[:, z * d:(z + 1) * d].T
    return total


def multi_head__right_stacked_matrix(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """Makes all heads' queries, keys and values with one flat matrix each and splits them by view and transpose."""
    (B, T, _), (Z, R, _) = keys.shape, W_key.shape
    q = (query @ W_query.flatten(0, 1).T).view(B, Z, 1, R)
    k = (keys @ W_key.flatten(0, 1).T).view(B, T, Z, R).permute(0, 2, 3, 1)
    u = (keys @ W_value.flatten(0, 1).T).view(B, T, Z, -1).transpose(1, 2)
    gone = ~source_mask[:, None, None]
    a = torch.softmax((q @ k / math.sqrt(R)).masked_fill(gone, torch.finfo(torch.float64).min), -1).masked_fill(gone, 0.0)
    return torch.nn.functional.linear((a @ u).reshape(B, -1), W_out)


# ---------------------------------------------------------------- self-attention (torch)
def _self(states, allowed, W_query, W_key, W_value, root=None, qs=None):
    q, k, u = (states if qs is None else qs) @ W_query.T, states @ W_key.T, states @ W_value.T
    e = q @ k.transpose(1, 2) / (math.sqrt(len(W_key)) if root is None else root)
    some = allowed.any(-1, keepdim=True)
    e = torch.where(allowed, e, -math.inf)
    a = torch.where(allowed, torch.softmax(torch.where(some, e, 0.0), -1), 0.0)
    return a @ u


def _causal(mask, diagonal=0):
    n = mask.shape[1]
    return mask[:, None, :] & torch.ones(n, n, dtype=torch.bool).tril(diagonal)


def self_attention__wrong_subtle_key_gradient(states, mask, W_query, W_key, W_value):
    """Makes the queries of detached states, so their gradient lacks the part that comes through the query."""
    return _self(states, _causal(mask), W_query, W_key, W_value, qs=states.detach())


def self_attention__right_prefix_loop(states, mask, W_query, W_key, W_value):
    """Loops over positions and attends over the real ones of the prefix, with new zeros where there are none."""
    out = []
    for x, m in zip(states, mask):
        rows = []
        for i in range(len(x)):
            h = x[:i + 1][m[:i + 1]]
            rows.append(torch.softmax((h @ W_key.T) @ (W_query @ x[i]) / math.sqrt(len(W_key)), 0) @ (h @ W_value.T)
                        if len(h) else torch.zeros(len(W_value), dtype=torch.float64))
        out.append(torch.stack(rows))
    return torch.stack(out)


def self_attention__right_transposed_layout(states, mask, W_query, W_key, W_value):
    """Keeps the length last: scores with the read positions as rows, a softmax over them, and a transposed view as result."""
    x = states.transpose(1, 2)
    ok = _causal(mask).transpose(1, 2)
    e = torch.matmul((W_key @ x).transpose(1, 2), W_query @ x) * len(W_query) ** -0.5
    e = torch.where(ok, e, torch.full((), -math.inf, dtype=e.dtype))
    e = torch.where(ok.any(1, keepdim=True), e, torch.zeros((), dtype=e.dtype))
    a = e.softmax(1).masked_fill(~ok, 0.0)
    return ((W_value @ x) @ a).transpose(1, 2)


def same_context__wrong_swapped():
    """Swaps the weights of the third and the fourth word."""
    return [0.0, 9.3 / 19, 3.3 / 19, 6.4 / 19]


def same_context__right_fractions():
    """Cramer's rule in fractions, given as floats."""
    c = Fraction(64, 190)
    return [0.0, float(Fraction(3, 2) - 3 * c), float(c), float(2 * c - Fraction(1, 2))]


def same_context__right_solve_array():
    """Solves the three equations with numpy and returns a tuple with an integer 0, rounded to four decimals."""
    x = np.linalg.solve(np.array([[4, -1, -3], [0, 4, -2], [1, 1, 1.0]]), np.array([1.1, 1.0, 1.0]))
    return (0, *np.round(x, 4).tolist())
