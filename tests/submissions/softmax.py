"""Right answers to the softmax exercises in other styles than the reference's. The grader must accept them all."""

import math

import numpy as np
import torch


def weights_by_hand_twin__torch():
    return torch.softmax(torch.tensor([0.5, -0.3, 1.2, 0.1]), 0)


def weights_by_hand_twin__shifted():
    exponentials = [math.exp(score - 1.2) for score in (0.5, -0.3, 1.2, 0.1)]
    return tuple(round(e / sum(exponentials), 4) for e in exponentials)


def score_differences__rounded():
    return (0.47, 1.0986, 2.0794)


def score_differences__of_logarithms():
    return math.log(0.48) - np.log(np.array([0.3, 0.16, 0.06]))


def masked_softmax__loops(scores, source_mask=None):
    weights = np.zeros(scores.shape)
    for b in range(len(scores)):
        real = [j for j in range(scores.shape[1]) if source_mask is None or source_mask[b, j]]
        if not real:
            continue
        top = max(scores[b, j] for j in real)
        total = sum(math.exp(scores[b, j] - top) for j in real)
        for j in real:
            weights[b, j] = math.exp(scores[b, j] - top) / total
    return weights


def masked_softmax__torch(scores, source_mask=None):
    scores = torch.as_tensor(scores)
    if source_mask is None:
        source_mask = np.full(scores.shape, True)
    mask = torch.as_tensor(source_mask)
    return torch.nan_to_num(torch.softmax(scores.masked_fill(~mask, -math.inf), dim=1))


def masked_softmax__lowest_then_zero(scores, source_mask=None):
    if source_mask is None:
        source_mask = scores == scores
    low = np.where(source_mask, scores, np.finfo(np.float64).min / 4)
    exponentials = np.exp(low - np.max(low, axis=1)[:, np.newaxis])
    return np.where(source_mask, exponentials / exponentials.sum(1)[:, np.newaxis], 0)


def masked_softmax__masked_array(scores, source_mask=None):
    hidden = np.zeros(scores.shape, bool) if source_mask is None else ~source_mask
    kept = np.ma.array(scores, mask=hidden)
    with np.errstate(over="ignore"):  # under the mask
        exponentials = np.ma.exp(kept - kept.max(axis=1, keepdims=True))
    return (exponentials / exponentials.sum(axis=1, keepdims=True)).filled(0.0)


def entropy__log_total(scores, temperature):
    cooled = scores / temperature[:, None]
    weights = cooled.softmax(-1)
    return cooled.logsumexp(-1) - (weights * cooled).sum(-1)


def entropy__distribution(scores, temperature):
    return torch.distributions.Categorical(logits=scores / temperature.reshape(-1, 1)).entropy()


def entropy__sentence_by_sentence(scores, temperature):
    values = []
    for row, t in zip(scores, temperature):
        logs = torch.nn.functional.log_softmax(row / t, dim=0)
        values.append(-torch.dot(torch.exp(logs), logs))
    return torch.stack(values)


def broken_maps__floats():
    return {"E": 2.0, "D": 3.0, "C": 6.0, "B": 1.0, "A": 4.0}


def broken_maps__one_by_one():
    faults = np.array([4, 1, 6, 3, 2])
    return dict(zip("ABCDE", faults))


def entropy__in_place(scores, temperature):
    """Changes its input in place."""
    scores /= temperature[:, None]
    logs = torch.log_softmax(scores, dim=1)
    return -(logs.exp() * logs).sum(dim=1)
