"""Wrong answers beside the listed mistakes. The docstring is the sentence that is to be said of them."""

import numpy as np
import torch


def annotate__state_detached(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """The values are right, but not the gradient by embedded, W_x, W_h, W_x_back, W_h_back: where on the way to the
    result is it cut off, as by detach, no_grad, numpy or a plain number?
    """
    keep = source_mask.unsqueeze(-1)
    n = embedded.shape[1]
    f = b = embedded.new_zeros(len(embedded), len(W_h))
    forward, backward = [None] * n, [None] * n
    for j in range(n):
        forward[j] = torch.where(keep[:, j], torch.tanh(embedded[:, j] @ W_x.T + f @ W_h.T), torch.zeros_like(f))
        f = forward[j].detach()
    for j in reversed(range(n)):
        new = torch.tanh(embedded[:, j] @ W_x_back.T + b @ W_h_back.T)
        backward[j] = torch.where(keep[:, j], new, torch.zeros_like(b))
        b = backward[j].detach()
    return torch.cat([torch.stack(forward, 1), torch.stack(backward, 1)], dim=2)


def scores_by_hand_twin__two_decimals():
    """Right as far as it goes, but with fewer decimals than are asked for."""
    s = np.array([0.5, -0.2, 0.1])
    h = np.array([[0.2, 0.3, 0.1, -0.4], [-0.5, 0.4, 0.2, 0.1], [0.1, -0.6, 0.3, 0.2]])
    W_query, W_key = np.array([[1, 0, 2], [0, -1, 1]]), np.array([[1, 0, 0, 1], [0, 2, -1, 0]])
    return [round(float(x), 2) for x in np.tanh(W_query @ s + h @ W_key.T) @ [2, -1]]


def score_every_step__new_layer(queries, projected_keys, W_query, v):
    """It gives another result when it is called again with the same input."""
    layer = torch.nn.Linear(W_query.shape[1], W_query.shape[0], bias=False).to(W_query.dtype)
    return torch.tanh(layer(queries).unsqueeze(2) + projected_keys.unsqueeze(1)) @ v


def score_every_step__w_detached(queries, projected_keys, W_query, v):
    """The values are right, but not the gradient by W_query: where on the way to the result is it cut off, as by detach,
    no_grad, numpy or a plain number?
    """
    return torch.tanh((queries @ W_query.data.T).unsqueeze(2) + projected_keys.unsqueeze(1)) @ v


def score_every_step__queries_detached(queries, projected_keys, W_query, v):
    """The values are right, but not the gradient by queries: where on the way to the result is it cut off, as by detach,
    no_grad, numpy or a plain number?
    """
    return torch.tanh((queries.detach() @ W_query.T).unsqueeze(2) + projected_keys.unsqueeze(1)) @ v


def score_every_step__transposed_in_place(queries, projected_keys, W_query, v):
    """It changed its input W_query. Work on a copy."""
    W_query.t_()
    return torch.tanh((queries @ W_query).unsqueeze(2) + projected_keys.unsqueeze(1)) @ v


def weights_by_hand_twin__three_decimals():
    """Right as far as it goes, but with fewer decimals than are asked for."""
    w = np.exp([0.5, -0.3, 1.2, 0.1])
    return [round(x, 3) for x in (w / w.sum()).tolist()]


def masked_softmax__nan_hidden(scores, source_mask=None):
    """Only cases with large numbers are wrong, all others are right: follow the largest and the smallest of them through
    your formula.
    """
    if source_mask is None:
        source_mask = np.ones(scores.shape, dtype=bool)
    with np.errstate(all="ignore"):
        exponentials = np.exp(scores) * source_mask
        return np.nan_to_num(exponentials / exponentials.sum(axis=1, keepdims=True))


def entropy__temperature_as_float(scores, temperature):
    """The values are right, but not the gradient by temperature: where on the way to the result is it cut off, as by
    detach, no_grad, numpy or a plain number?
    """
    results = []
    for b in range(len(scores)):
        logs = torch.log_softmax(scores[b] / temperature[b].item(), dim=0)
        results.append(-(logs.exp() * logs).sum())
    return torch.stack(results)


def entropy__weights_detached(scores, temperature):
    """The values are right, but not the gradient by scores, temperature: where on the way to the result is it cut off,
    as by detach, no_grad, numpy or a plain number?
    """
    logs = torch.log_softmax(scores / temperature[:, None], dim=1)
    return -(logs.exp().detach() * logs).sum(dim=1)


def entropy__in_place(scores, temperature):
    """It changed its input scores. Work on a copy."""
    scores /= temperature[:, None]
    logs = torch.log_softmax(scores, dim=1)
    return -(logs.exp() * logs).sum(dim=1)


def attend__weights_detached(scores, keys, source_mask):
    """The values are right, but not the gradient by scores: where on the way to the result is it cut off, as by detach,
    no_grad, numpy or a plain number?
    """
    filled = np.where(source_mask.numpy(), scores.detach().numpy(), -1e30)
    e = np.exp(filled - filled.max(axis=1, keepdims=True)) * source_mask.numpy()
    weights = torch.from_numpy(e / np.maximum(e.sum(axis=1, keepdims=True), 1e-30))
    return (weights.to(keys.dtype).unsqueeze(1) @ keys).squeeze(1)


def attend__written_in_place(scores, keys, source_mask):
    """It changed its input scores. Work on a copy."""
    scores[~source_mask] = torch.finfo(scores.dtype).min
    weights = torch.softmax(scores, dim=-1) * source_mask
    return (weights.unsqueeze(1) @ keys).squeeze(1)


def context_of_note_d__one_decimal():
    """Right as far as it goes, but with fewer decimals than are asked for."""
    return [0.1, 0.4, 0.4, 0.4]


def weights_from_context__two_decimals():
    """Right as far as it goes, but with fewer decimals than are asked for."""
    return [0.48, 0.16, 0.36]


def note_c_state__two_decimals():
    """Right as far as it goes, but with fewer decimals than are asked for."""
    return [0.93, 0.90]


def decoder_step__no_gradient_through_weights(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """The values are right, but not the gradient by query, keys, W_query, W_key, v: where on the way to the result is it
    cut off, as by detach, no_grad, numpy or a plain number?
    """
    with torch.no_grad():
        e = torch.tanh((query @ W_query.T)[:, None] + keys @ W_key.T) @ v
        w = torch.softmax(e.masked_fill(~source_mask, -1e30), dim=-1) * source_mask
    c = (w.unsqueeze(1) @ keys).squeeze(1)
    return torch.tanh(embedded @ W_y.T + query @ W_s.T + c @ W_c.T)


def hindi_distribution__rounded_to_two_decimals():
    """Right as far as it goes, but with fewer decimals than are asked for."""
    W_o = np.array([[0, 0, 0], [2, 2, 2], [1, 0, 0], [0, 1, 0], [0, 0, 1], [-1, -1, -1]])
    e = np.exp(W_o @ np.tanh([0.42, 0.67, 0.70]))
    return np.round(e / e.sum(), 2).tolist()


def cross_entropy__probability_with_floor(logits, targets, target_mask):
    """Only cases with large numbers are wrong, all others are right: follow the largest and the smallest of them through
    your formula.
    """
    e = np.exp(logits - logits.max(axis=-1, keepdims=True))
    p = e / e.sum(axis=-1, keepdims=True)
    right = np.take_along_axis(p, targets[..., None], axis=-1)[..., 0]
    count = target_mask.sum()
    return float((-np.log(right + 1e-12) * target_mask).sum() / count) if count else 0.0


def translation_loss__python_number(logits, target):
    """The values are right, but no gradient can be taken of them: does everything stay a tensor of the graph up to what
    you return?
    """
    return torch.nn.functional.cross_entropy(logits.transpose(1, 2), target, ignore_index=0).item()


def training_shapes__contexts_per_source_word(batch, T_x, T_y, m, V_y):
    """What belongs to a step has one row for each target word. Only a heat map knows the source words: as its columns."""
    return {
        "target_in": (batch, T_y),
        "contexts": (batch, T_x, m),
        "heat_maps": (batch, T_y, T_x),
        "predictions": (batch, T_y, V_y),
    }
