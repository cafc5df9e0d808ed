"""Several heads, and attention of a sequence to itself, in torch.

Chapter: book/from_bahdanau_to_transformers.md. Source: Vaswani et al. (2017), arXiv:1706.03762, section 3.2.
"""

import math

import torch


def multi_head(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """Attend with several heads at once and combine their contexts.

    result[b] = W_out [context of head 1; context of head 2; ...]; head z has matrices W_query[z], W_key[z], W_value[z]

    Parameters
    ----------
    query : (batch, query_size)
        Decoder state.
    keys : (batch, source_len, key_size)
        Encoder annotations, h_1 ... h_Tx.
    source_mask : (batch, source_len)
        True at real words.
    W_query : (heads, head_size, query_size)
    W_key : (heads, head_size, key_size)
    W_value : (heads, value_size, key_size)
    W_out : (output_size, heads times value_size)

    Returns
    -------
    (batch, output_size)
        Zeros for a sentence without a real word. Gradients are finite everywhere.

    Source: Vaswani et al. (2017), section 3.2.2.
    """
    ### BEGIN SOLUTION
    queries = torch.einsum("zrn,bn->bzr", W_query, query)
    head_keys = torch.einsum("zrm,bjm->bzjr", W_key, keys)
    values = torch.einsum("zwm,bjm->bzjw", W_value, keys)
    scores = torch.einsum("bzr,bzjr->bzj", queries, head_keys) / math.sqrt(W_key.shape[1])
    real = source_mask[:, None, :]
    weights = torch.softmax(scores.masked_fill(~real, torch.finfo(scores.dtype).min), dim=-1) * real
    contexts = torch.einsum("bzj,bzjw->bzw", weights, values)
    return contexts.flatten(1) @ W_out.T
    ### END SOLUTION


def self_attention(states, mask, W_query, W_key, W_value):
    """Let each position of a sequence attend to itself and the positions before it.

    result[b, i] = sum_j weights[b, i, j] W_value states[b, j], over the real positions j that are not after i

    Parameters
    ----------
    states : (batch, length, size)
        One vector per position.
    mask : (batch, length)
        True at real words. Padding may occur anywhere.
    W_query : (head_size, size)
    W_key : (head_size, size)
    W_value : (value_size, size)

    Returns
    -------
    (batch, length, value_size)
        Zeros at a position that has no real word at or before it. Gradients are finite everywhere.

    Source: Vaswani et al. (2017), section 3.2.3.
    """
    ### BEGIN SOLUTION
    queries, keys, values = states @ W_query.T, states @ W_key.T, states @ W_value.T
    scores = queries @ keys.transpose(1, 2) / math.sqrt(W_key.shape[0])  # (batch, length, length)
    seen = torch.ones_like(scores, dtype=torch.bool).tril() & mask[:, None, :]
    weights = torch.softmax(scores.masked_fill(~seen, torch.finfo(scores.dtype).min), dim=-1) * seen
    return weights @ values
    ### END SOLUTION
