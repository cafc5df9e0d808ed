"""From scores to weights in torch: batched, masked, and with gradients that stay finite.

Chapter: book/softmax.md. Source: Bahdanau et al. (2015), arXiv:1409.0473, section 3.1.
"""

import torch


def masked_softmax(scores, source_mask=None):
    """Turn the scores of each sentence into weights over its real words.

    weights[b, j] = exp(scores[b, j]) / sum_k exp(scores[b, k]), where j and k run over real words only

    Parameters
    ----------
    scores : (batch, source_len)
        Unnormalised scores. Values at padding positions do not matter.
    source_mask : (batch, source_len), optional
        True at real words. Without it, every word is real.

    Returns
    -------
    (batch, source_len)
        Weights from 0 to 1. They sum to 1 over the real words and are exactly 0 at padding positions. A row without a
        real word is all zero, and so is its gradient.
    """
    if source_mask is None:
        return torch.softmax(scores, dim=-1)
    # The lowest finite number, not -inf: a row of -inf would become nan, and so would its gradient.
    lowest = torch.finfo(scores.dtype).min
    weights = torch.softmax(scores.masked_fill(~source_mask, lowest), dim=-1)
    return weights.masked_fill(~source_mask, 0.0)


def entropy(scores, temperature):
    """Measure how evenly each sentence's weights are spread.

    entropy[b] = -sum_j weights[b, j] ln weights[b, j], with weights[b] = softmax(scores[b] / temperature[b])

    Parameters
    ----------
    scores : (batch, source_len)
        Unnormalised scores.
    temperature : (batch,)
        One positive value per sentence.

    Returns
    -------
    (batch,)
        Nats, from 0 (all weight on one position) to the logarithm of source_len. Differentiable in both arguments, even
        where a weight underflows to 0.
    """
    ### BEGIN SOLUTION
    log_weights = torch.log_softmax(scores / temperature.unsqueeze(-1), dim=-1)
    weights = log_weights.exp()
    return -(weights * log_weights).sum(dim=-1)
    ### END SOLUTION
