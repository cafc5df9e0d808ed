import math
from collections import namedtuple
from fractions import Fraction

import torch


# 8.1 multi_head_shapes


def multi_head_shapes__right_from_products(heads, m, r, T_x, T_y):
    """The shapes come out of einsum and reshape on tensors without storage."""
    W = torch.empty(heads, r, m, device="meta")
    h = torch.empty(T_x, m, device="meta")
    keys = torch.einsum("zrm,jm->zjr", W, h)
    weights = torch.einsum("zir,zjr->zij", torch.empty(heads, T_y, r, device="meta"), keys)
    joined = torch.einsum("zij,zjr->izr", weights, keys).flatten(1)
    return {"W_key": W.flatten(0, 1).shape, "keys": keys.shape, "weights": weights.shape, "joined": joined.shape}


# 8.5 saturation


def saturation__wrong_chain_rule():
    """The student takes the scaled derivative by the plain dot product, which brings a quarter in."""
    def pull(x):
        w = 1 / (1 + math.exp(-2 * x))
        return w * (1 - w)

    return {"spread": 1.8, "plain": pull(1.8), "scaled": pull(0.45) / 4}


def saturation__right_cosh():
    """w (1 - w) is 1 / (4 cosh^2 of half the difference of the scores)."""
    spread = math.sqrt(math.fsum([0.5**2 * 0.9**2] * 16))
    return {"scaled": 0.25 / math.cosh(spread / 4) ** 2, "plain": 0.25 / math.cosh(spread) ** 2, "spread": spread}


# 8.6 multi_head


def _attend(query, keys, source_mask, W_query, W_key, W_value, root):
    q = torch.einsum("zrq,bq->bzr", W_query, query)
    k = torch.einsum("zrm,bjm->bzjr", W_key, keys)
    u = torch.einsum("zvm,bjm->bzjv", W_value, keys)
    e = torch.einsum("bzr,bzjr->bzj", q, k) / math.sqrt(root)
    real = source_mask[:, None]
    a = torch.softmax(e.masked_fill(~real, torch.finfo(e.dtype).min), dim=-1) * real
    return torch.einsum("bzj,bzjv->bzv", a, u)


def multi_head__wrong_root_of_query_size(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """The student divides by the root of the size of the state, not of one head's keys."""
    c = _attend(query, keys, source_mask, W_query, W_key, W_value, query.shape[1])
    return c.flatten(1) @ W_out.T


def multi_head__wrong_mask_repeated(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """The student folds the heads into the batch, and repeats the mask in the other order than the scores."""
    # rows are (b, z) with z running first, the mask's rows run through b first: wrong for two heads and two masks
    heads, batch = len(W_query), len(query)
    q = torch.einsum("zrq,bq->bzr", W_query, query).flatten(0, 1)
    k = torch.einsum("zrm,bjm->bzjr", W_key, keys).flatten(0, 1)
    u = torch.einsum("zvm,bjm->bzjv", W_value, keys).flatten(0, 1)
    mask = source_mask.repeat(heads, 1)
    e = (k @ q.unsqueeze(2)).squeeze(2) / W_key.shape[1] ** 0.5
    a = torch.softmax(e.masked_fill(~mask, -1e300), dim=1) * mask
    return (a.unsqueeze(1) @ u).reshape(batch, -1) @ W_out.T


def multi_head__wrong_output_not_transposed(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """The student transposes W_out only where the product asks for it, so not where it is square."""
    c = _attend(query, keys, source_mask, W_query, W_key, W_value, W_key.shape[1]).flatten(1)
    return c @ W_out if W_out.shape[0] == c.shape[1] else c @ W_out.T


def multi_head__right_score_matrix(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """Each head has one score matrix and one matrix from annotation to output; the heads are summed in a loop."""
    result = 0
    for A, B, C, out in zip(W_query, W_key, W_value, W_out.split(W_value.shape[1], dim=1)):
        e = ((query @ (A.mT @ B / math.sqrt(len(B)))).unsqueeze(1) * keys).sum(2)
        e = torch.where(source_mask, e, torch.full_like(e, -1e300))
        a = (e - e.logsumexp(1, keepdim=True)).exp() * source_mask
        result = result + torch.bmm(a.unsqueeze(1), keys).squeeze(1) @ (out @ C).mT
    return result


def multi_head__right_torchs_own(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """torch's own attention, with the mask of an empty sentence opened and its result set to zero."""
    some = source_mask.any(dim=1)
    q = (query @ W_query.flatten(0, 1).T).unflatten(1, W_query.shape[:2]).unsqueeze(2)
    k, u = (torch.matmul(keys.unsqueeze(1), W.mT) for W in (W_key, W_value))
    mask = (source_mask | ~some[:, None])[:, None, None, :]
    c = torch.nn.functional.scaled_dot_product_attention(q, k, u, attn_mask=mask)
    return torch.nn.functional.linear(c.flatten(1) * some[:, None], W_out)


def multi_head__right_one_sentence_at_a_time(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """Only the real annotations of a sentence, with one of zeros and the lowest score before them."""
    def head(s, H, A, B, C):
        k = H @ B.T
        e = torch.cat([k.new_full((1,), -1e250), (k @ (A @ s)) / k.shape[1] ** 0.5])
        return torch.cat([torch.zeros_like(C[:, :1]), C @ H.T], dim=1) @ e.softmax(0)

    return torch.stack([
        W_out @ torch.cat([head(s, H[real], *matrices) for matrices in zip(W_query, W_key, W_value)])
        for s, H, real in zip(query, keys, source_mask)
    ])


# 8.7 self_attention


def _read(states, mask, W_query, W_key, W_value):
    q, k, u = (states @ W.T for W in (W_query, W_key, W_value))
    length = states.shape[1]
    allowed = torch.ones(length, length, dtype=torch.bool).tril() & mask[:, None, :]
    return q, k, u, allowed


def _soft(e, allowed):
    return torch.softmax(e.masked_fill(~allowed, torch.finfo(e.dtype).min), dim=-1) * allowed


def self_attention__wrong_pads_get_zeros(states, mask, W_query, W_key, W_value):
    """The student sets the rows of all pads to zero, though a pad after a real token reads it."""
    q, k, u, allowed = _read(states, mask, W_query, W_key, W_value)
    return (_soft(q @ k.mT / math.sqrt(q.shape[-1]), allowed) @ u) * mask.unsqueeze(-1)


def self_attention__wrong_pad_reads_itself(states, mask, W_query, W_key, W_value):
    """The student lets every position read itself, so that no row is empty, but a pad reads a pad then."""
    q, k, u, allowed = _read(states, mask, W_query, W_key, W_value)
    allowed = allowed | torch.eye(states.shape[1], dtype=torch.bool)
    # empty rows are set to zero rightly; a pad behind a real token still reads itself
    c = _soft(q @ k.mT / math.sqrt(q.shape[-1]), allowed) @ u
    return c * (mask.cumsum(1) > 0).unsqueeze(-1)


def self_attention__wrong_triangle_after_softmax(states, mask, W_query, W_key, W_value):
    """The student strikes the later positions out after the softmax and divides by the rest, which may have underflowed."""
    # wrong where a later position scores a thousand above all earlier ones
    q, k, u, allowed = _read(states, mask, W_query, W_key, W_value)
    a = _soft(q @ k.mT / math.sqrt(q.shape[-1]), mask[:, None, :].expand_as(allowed)).tril()
    rest = a.sum(-1, keepdim=True)
    return (a / torch.where(rest > 0, rest, torch.ones_like(rest))) @ u


def self_attention__wrong_mean_in_empty_rows(states, mask, W_query, W_key, W_value):
    """The student only fills with the lowest number, so that a position without anything to read reads all equally."""
    q, k, u, allowed = _read(states, mask, W_query, W_key, W_value)
    e = q @ k.mT / math.sqrt(q.shape[-1])
    return torch.softmax(torch.where(allowed, e, torch.full_like(e, -1e300)), dim=-1) @ u


def self_attention__right_prefixes(states, mask, W_query, W_key, W_value):
    """Position by position, each over its prefix, with an empty place of the lowest score in front."""
    k = torch.nn.functional.pad(states @ W_key.T, (0, 0, 1, 0))
    u = torch.nn.functional.pad(torch.einsum("vs,bjs->bjv", W_value, states), (0, 0, 1, 0))
    real = torch.nn.functional.pad(mask, (1, 0), value=False)
    rows = []
    for i in range(1, states.shape[1] + 1):
        e = torch.einsum("br,bjr->bj", states[:, i - 1] @ W_query.T, k[:, : i + 1]) / math.sqrt(len(W_key))
        e = torch.where(real[:, : i + 1], e, torch.full_like(e, -1e280))
        a = e.softmax(1) * real[:, : i + 1]
        rows.append((a[:, :, None] * u[:, : i + 1]).sum(1))
    return torch.stack(rows, dim=1)


def self_attention__right_torchs_own(states, mask, W_query, W_key, W_value):
    """torch's own attention with a mask in which empty rows are opened, and a where behind it."""
    q, k, u = (torch.nn.functional.linear(states, W) for W in (W_query, W_key, W_value))
    place = torch.arange(states.shape[1])
    allowed = (place[:, None] >= place) & mask.unsqueeze(1)
    some = allowed.any(-1, keepdim=True)
    c = torch.nn.functional.scaled_dot_product_attention(q, k, u, attn_mask=allowed | ~some)
    return torch.where(some, c, torch.zeros_like(c))


def self_attention__right_growing_sums(states, mask, W_query, W_key, W_value):
    """Source by source, all later positions take it up into a running maximum, sum and mix of their own."""
    A = W_query.T @ W_key / math.sqrt(len(W_query))
    asked = states @ A
    batch, length, _ = states.shape
    top = states.new_full((batch, length), -1e300)
    total = 0 * asked.sum(2)
    mix = torch.zeros_like(states @ W_value.T)
    for j in range(length):
        e = (asked @ states[:, j, :, None])[..., 0]
        reads = mask[:, j, None] & (torch.arange(length) >= j)
        higher = torch.where(reads, torch.maximum(top, e), top).detach()
        share = torch.exp(torch.where(reads, e - higher, torch.zeros_like(e))) * reads
        kept = (top - higher).exp()
        total = total * kept + share
        mix = mix * kept[..., None] + share[..., None] * (states[:, j] @ W_value.T)[:, None]
        top = higher
    return mix / torch.where(total > 0, total, torch.ones_like(total))[..., None]


# 8.8 same_context


def same_context__right_cramer():
    """Cramer's rule with fractions, in a named tuple of floats."""
    def det(a, b, c):
        return a[0] * (b[1] * c[2] - b[2] * c[1]) - a[1] * (b[0] * c[2] - b[2] * c[0]) + a[2] * (b[0] * c[1] - b[1] * c[0])

    h = [(1, 1, 1), (4, 0, 1), (-1, 4, 1), (-3, -2, 1)]
    c = [sum(Fraction(w, 10) * x[i] for w, x in zip((4, 3, 2, 1), h)) for i in range(3)]
    whole = det(*h[1:])
    found = (det(*(c if i == j else h[i] for i in (1, 2, 3))) / whole for j in (1, 2, 3))
    return namedtuple("weights", "first second third fourth")(0.0, *map(float, found))
