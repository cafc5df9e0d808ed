"""One decoder step in torch: score with the old state, mix, and make the new state.

Chapter: book/decoder_fusion.md. Sources: Bahdanau et al. (2015), arXiv:1409.0473, section 3.1; note C, equations 2 to 6.
"""

import torch
from torch import nn


def decoder_step(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """Compute one whole decoder step with additive attention and return the new state.

    e[b, j] = v . tanh(W_query query[b] + W_key keys[b, j]), then a softmax over real words, then the context c[b];
    result[b] = tanh(W_y embedded[b] + W_s query[b] + W_c c[b])

    Parameters
    ----------
    query : (batch, query_size)
        Decoder state before this step, s_{i-1}. It enters both the score and the recurrence.
    embedded : (batch, embedding_size)
        Embedding of the word before this step, E y_{i-1}.
    keys : (batch, source_len, key_size)
        Encoder annotations, h_1 ... h_Tx.
    source_mask : (batch, source_len)
        True at real words. A sentence without any has a context of zeros.
    W_query, W_key, v
        Parameters of the score.
    W_y, W_s, W_c
        Parameters of the recurrence.

    Returns
    -------
    (batch, query_size)
        The state s_i: entries between -1 and 1. Differentiable, with finite gradients everywhere.
    """
    ### BEGIN SOLUTION
    scores = torch.tanh((query @ W_query.T).unsqueeze(1) + keys @ W_key.T) @ v  # (batch, source_len)
    scores = scores.masked_fill(~source_mask, torch.finfo(scores.dtype).min)
    weights = torch.softmax(scores, dim=1) * source_mask
    context = torch.einsum("bj,bjm->bm", weights, keys)
    return torch.tanh(embedded @ W_y.T + query @ W_s.T + context @ W_c.T)
    ### END SOLUTION


class DecoderStep(nn.Module):
    """One step: context from the old state, then s_i = RNN([E y_{i-1}; c_i], s_{i-1})."""

    def __init__(self, attention, embedding_size, query_size, key_size):
        """Take any attention of the context chapter, and the sizes of a word embedding, a decoder state and an annotation."""
        super().__init__()
        self.attention = attention
        self.cell = nn.RNNCell(embedding_size + key_size, query_size, bias=False)

    def forward(self, query, embedded, keys, source_mask=None, projected_keys=None):
        """Return the new state (batch, query_size) and the weights (batch, source_len) of this step."""
        context, weights = self.attention(query, keys, source_mask, projected_keys)
        state = self.cell(torch.cat([embedded, context], dim=-1), query)
        return state, weights


def run_steps(step, state, embedded, keys, source_mask=None):
    """Take one decoder step after the other, with the right words given (teacher forcing).

    Parameters
    ----------
    step : DecoderStep
    state : (batch, query_size)
        Initial state, s_0.
    embedded : (batch, target_len, embedding_size)
        Embeddings of the words *before* each step: the start token first, the last word left out.
    keys : (batch, source_len, key_size)
    source_mask : (batch, source_len), optional
        True at real words.

    Returns
    -------
    (batch, target_len, query_size) and (batch, target_len, source_len)
        States and weights of all steps.
    """
    projected_keys = step.attention.project_keys(keys)  # once per sentence
    states, weights = [], []
    for word in embedded.unbind(dim=1):
        state, weight = step(state, word, keys, source_mask, projected_keys)
        states.append(state)
        weights.append(weight)
    return torch.stack(states, dim=1), torch.stack(weights, dim=1)
