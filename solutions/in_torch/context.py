"""Context vectors in torch: three kinds of attention behind one interface.

Chapter: book/context.md. Source: Bahdanau et al. (2015), arXiv:1409.0473, section 3.1 and App. A.2.2.
"""

import torch
from torch import nn

from solutions.in_torch.scoring import AdditiveScore, DotProductScore, MultiplicativeScore
from solutions.in_torch.softmax import masked_softmax


class Attention(nn.Module):
    """Scores, weights and context of one decoder step, for any kind of score."""

    def __init__(self, score):
        """Take a ``score`` that has ``project_keys(keys)`` and ``forward(query, projected_keys)``, as in the scoring chapter."""
        super().__init__()
        self.score = score

    def project_keys(self, keys):
        """Return what the score makes of the keys alone: call it once per sentence, and hand it to every step."""
        return self.score.project_keys(keys)

    def forward(self, query, keys, source_mask=None, projected_keys=None):
        """Return ``(context, weights)`` of one decoder step.

        Parameters
        ----------
        query : (batch, query_size)
            Decoder state before this step, s_{i-1}.
        keys : (batch, source_len, key_size)
            Encoder annotations, h_1 ... h_Tx. They are the values too.
        source_mask : (batch, source_len), optional
            True at real words.
        projected_keys : (batch, source_len, attention_size), optional
            The result of ``project_keys(keys)``, where it was computed beforehand.

        Returns
        -------
        (batch, key_size) and (batch, source_len)
            The context c_i, and the weights that made it: they sum to 1 over the real positions of each row.
        """
        if projected_keys is None:
            projected_keys = self.project_keys(keys)
        scores = self.score(query, projected_keys)
        weights = masked_softmax(scores, source_mask)
        context = (weights.unsqueeze(1) @ keys).squeeze(1)  # (batch, 1, source_len) @ (batch, source_len, key_size)
        return context, weights


class AdditiveAttention(Attention):
    """Attention with Bahdanau's score, v . tanh(W_query query + W_key key)."""

    def __init__(self, query_size, key_size, attention_size):
        super().__init__(AdditiveScore(query_size, key_size, attention_size))


class OwnAttention(AdditiveAttention):
    """Additive attention that scores and mixes by two functions of its own, with the parameters of ``AdditiveAttention``."""

    def __init__(self, query_size, key_size, attention_size, score_every_step, attend):
        """Take the sizes of ``AdditiveAttention``, and two functions as the exercises ask for them.

        ``score_every_step`` is from the chapter on scoring, and is called with one step at a time; ``attend`` is from the
        chapter on the context.
        """
        super().__init__(query_size, key_size, attention_size)
        self.score_every_step, self.attend = score_every_step, attend

    def forward(self, query, keys, source_mask=None, projected_keys=None):
        """Return ``(context, weights)`` of one decoder step, as ``Attention`` does. A mask is needed for ``attend``."""
        if projected_keys is None:
            projected_keys = self.project_keys(keys)
        W_query, v = self.score.W_query.weight, self.score.v.weight[0]
        scores = self.score_every_step(query.unsqueeze(1), projected_keys, W_query, v)[:, 0]  # (batch, source_len)
        return self.attend(scores, keys, source_mask), masked_softmax(scores, source_mask)


class MultiplicativeAttention(Attention):
    """Attention with Luong's "general" score, query . (W key)."""

    def __init__(self, query_size, key_size):
        super().__init__(MultiplicativeScore(query_size, key_size))


class DotProductAttention(Attention):
    """Attention with the score query . key, for queries and keys of one size. It has no parameters."""

    def __init__(self):
        super().__init__(DotProductScore())


def attend(scores, keys, source_mask):
    """Compute weights and contexts from scores, excluding padding.

    context[b] = sum_j weights[b, j] keys[b, j], weights[b] = softmax of scores[b] over the real words of sentence b

    Parameters
    ----------
    scores : (batch, source_len)
        Unnormalised scores, any real number.
    keys : (batch, source_len, key_size)
        Encoder annotations, h_1 ... h_Tx.
    source_mask : (batch, source_len)
        True at real words.

    Returns
    -------
    (batch, key_size)
        The contexts. A sentence without a real word has a context of zeros. Gradients are finite everywhere.
    """
    ### BEGIN SOLUTION
    kept = scores.masked_fill(~source_mask, torch.finfo(scores.dtype).min)
    weights = torch.softmax(kept, dim=1) * source_mask
    return torch.einsum("bj,bjm->bm", weights, keys)
    ### END SOLUTION


def mended_note_e(s_previous, h_j, W, V, W_s=None):
    """Attend as note E intends: in its first mode with one matrix, in its second with a matrix for each vector.

    result[b] = sum_j weights[b, j] h_j[b, j], where weights[b] is the softmax over j of

        V . tanh(W [h_j[b, j]; s_previous[b]])          without W_s
        V . tanh(W h_j[b, j] + W_s s_previous[b])       with it

    Parameters
    ----------
    s_previous : (batch, query_size)
        Decoder state before this step, s_{i-1}.
    h_j : (batch, source_len, key_size)
        Encoder annotations, h_1 ... h_Tx.
    W : (attention_size, key_size + query_size) without W_s, (attention_size, key_size) with it
        Without W_s, its first key_size columns multiply the annotation.
    V : (attention_size,)
    W_s : (attention_size, query_size), optional

    Returns
    -------
    (batch, key_size)
        The contexts. Differentiable in every argument.
    """
    ### BEGIN SOLUTION
    if W_s is None:
        states = s_previous.unsqueeze(1).expand(-1, h_j.shape[1], -1)
        hidden = torch.tanh(torch.cat([h_j, states], dim=-1) @ W.T)
    else:
        hidden = torch.tanh(h_j @ W.T + (s_previous @ W_s.T).unsqueeze(1))
    weights = torch.softmax(hidden @ V, dim=1)
    return torch.einsum("bj,bjm->bm", weights, h_j)
    ### END SOLUTION
