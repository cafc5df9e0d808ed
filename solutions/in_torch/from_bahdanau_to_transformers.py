"""Several heads, attention of a sequence to itself, and a whole block, in torch.

Chapter: book/from_bahdanau_to_transformers.md. Source: Vaswani et al. (2017), arXiv:1706.03762, sections 3.1 to 3.3.
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


def transformer_block(
    states,
    mask,
    W_query,
    W_key,
    W_value,
    W_out,
    gain_attention,
    bias_attention,
    W_wide,
    b_wide,
    W_narrow,
    b_narrow,
    gain_network,
    bias_network,
):
    """Pass each sentence of a batch through self-attention with several heads, then through a network at each position.

    attended[b, i] = norm(states[b, i] + W_out [context of head 1; context of head 2; ...])
    result[b, i] = norm(attended[b, i] + W_narrow max(0, W_wide attended[b, i] + b_wide) + b_narrow)

    Here norm is the layer normalisation, each time with its own gain and bias.

    Parameters
    ----------
    states : (batch, length, size)
        One vector per position.
    mask : (batch, length)
        True at real words. Padding may occur anywhere.
    W_query, W_key : (heads, head_size, size)
        One matrix for each head.
    W_value : (heads, value_size, size)
    W_out : (size, heads times value_size)
    gain_attention, bias_attention : (size,)
        Of the normalisation after the attention.
    W_wide : (wide_size, size)
    b_wide : (wide_size,)
    W_narrow : (size, wide_size)
    b_narrow : (size,)
    gain_network, bias_network : (size,)
        Of the normalisation after the network.

    Returns
    -------
    (batch, length, size)
        Finite at every position, padding included. Gradients are finite everywhere.

    Source: Vaswani et al. (2017), sections 3.1 to 3.3, without the biases of the attention.
    """
    ### BEGIN SOLUTION

    def normalize(vectors, gain, bias):
        centred = vectors - vectors.mean(dim=-1, keepdim=True)
        variance = (centred**2).mean(dim=-1, keepdim=True)
        return gain * centred / torch.sqrt(variance + 1e-5) + bias

    queries = torch.einsum("zrd,bid->bzir", W_query, states)
    keys = torch.einsum("zrd,bjd->bzjr", W_key, states)
    values = torch.einsum("zwd,bjd->bzjw", W_value, states)
    scores = queries @ keys.transpose(2, 3) / math.sqrt(W_key.shape[1])  # (batch, heads, length, length)
    real = mask[:, None, None, :]
    weights = torch.softmax(scores.masked_fill(~real, torch.finfo(scores.dtype).min), dim=-1) * real
    contexts = (weights @ values).transpose(1, 2).flatten(2)  # (batch, length, heads * value_size)
    attended = normalize(states + contexts @ W_out.T, gain_attention, bias_attention)
    hidden = torch.relu(attended @ W_wide.T + b_wide)  # (batch, length, wide_size)
    return normalize(attended + hidden @ W_narrow.T + b_narrow, gain_network, bias_network)
    ### END SOLUTION
