"""Scoring in torch: batched, differentiable, with the keys projected once per sentence.

Chapter: book/scoring.md. Source: Bahdanau et al. (2015), arXiv:1409.0473, App. A.1.2 and A.2.2.
"""

import torch
from torch import nn


def score_every_step(queries, projected_keys, W_query, v):
    """Score every source position at every decoder step at once, given all decoder states in advance.

    score[b, i, j] = v . tanh(W_query queries[b, i] + projected_keys[b, j])

    Parameters
    ----------
    queries : (batch, target_len, query_size)
        The decoder states of all steps. (Bahdanau's decoder computes them one after the other.)
    projected_keys : (batch, source_len, attention_size)
        W_key keys[b, j], computed once per sentence.
    W_query : (attention_size, query_size)
    v : (attention_size,)

    Returns
    -------
    (batch, target_len, source_len)
        Unnormalised scores: no unit, any real number. Differentiable in every argument.
    """
    ### BEGIN SOLUTION
    projected_queries = queries @ W_query.T  # (batch, target_len, attention_size)
    hidden = torch.tanh(projected_queries.unsqueeze(2) + projected_keys.unsqueeze(1))
    return hidden @ v
    ### END SOLUTION


class AdditiveScore(nn.Module):
    """score[b, j] = v . tanh(W_query query[b] + W_key keys[b, j])"""

    def __init__(self, query_size, key_size, attention_size):
        """Take the sizes of the decoder state, of one annotation, and of the layer inside the score."""
        super().__init__()
        self.W_query = nn.Linear(query_size, attention_size, bias=False)
        self.W_key = nn.Linear(key_size, attention_size, bias=False)
        self.v = nn.Linear(attention_size, 1, bias=False)

    def project_keys(self, keys):
        """Return W_key keys, (batch, source_len, attention_size): call it once per sentence."""
        return self.W_key(keys)

    def forward(self, query, projected_keys):
        """Return the scores, (batch, source_len), of ``query`` (batch, query_size) at one decoder step."""
        hidden = torch.tanh(self.W_query(query).unsqueeze(1) + projected_keys)  # (batch, source_len, attention_size)
        return self.v(hidden).squeeze(-1)  # (batch, source_len)


class MultiplicativeScore(nn.Module):
    """score[b, j] = query[b] . (W keys[b, j])"""

    def __init__(self, query_size, key_size):
        """Take the sizes of the decoder state and of one annotation."""
        super().__init__()
        self.W = nn.Linear(key_size, query_size, bias=False)

    def project_keys(self, keys):
        """Return W keys, (batch, source_len, query_size): call it once per sentence."""
        return self.W(keys)

    def forward(self, query, projected_keys):
        """Return the scores, (batch, source_len), of ``query`` (batch, query_size) at one decoder step."""
        return (projected_keys @ query.unsqueeze(-1)).squeeze(-1)


class DotProductScore(nn.Module):
    """score[b, j] = query[b] . keys[b, j], for queries and keys of one size. It has no parameters."""

    def project_keys(self, keys):
        """Return the keys as they are: here there is nothing to project."""
        return keys

    def forward(self, query, projected_keys):
        """Return the scores, (batch, source_len), of ``query`` (batch, size) at one decoder step."""
        return (projected_keys @ query.unsqueeze(-1)).squeeze(-1)
