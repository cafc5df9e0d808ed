"""Answers written from the released notebook alone, before any was graded."""

import math

import numpy as np
import torch


def every_step_shapes__wrong_vectors_stacked(batch, T_y, n, d, m, V_y):
    """Stacks the three vectors on an axis of their own instead of joining them end to end."""
    return {
        "joined": (batch, T_y, 3, n),
        "W_o": (V_y, 3 * n),
        "logits": (batch, T_y, V_y),
        "flat_logits": (batch * T_y, V_y),
    }


def every_step_shapes__wrong_everything_flat(batch, T_y, n, d, m, V_y):
    """Flattens the words into the single axis too."""
    k = n + d + m
    return {"joined": (batch, T_y, k), "W_o": (V_y, k), "logits": (batch, T_y, V_y), "flat_logits": (batch * T_y * V_y,)}


def every_step_shapes__wrong_one_step_joined(batch, T_y, n, d, m, V_y):
    """Gives what is joined for a single step, without the axis of steps."""
    k = n + d + m
    return {"joined": (batch, k), "W_o": (V_y, k), "logits": (batch, T_y, V_y), "flat_logits": (batch * T_y, V_y)}


def every_step_shapes__wrong_embedding_left_out(batch, T_y, n, d, m, V_y):
    """Joins state and context only, although the embedding of the word before is read too."""
    k = n + m
    return {"joined": (batch, T_y, k), "W_o": (V_y, k), "logits": (batch, T_y, V_y), "flat_logits": (batch * T_y, V_y)}


def every_step_shapes__right_numpy_arrays(batch, T_y, n, d, m, V_y):
    """Joins arrays of zeros, multiplies them and reads all shapes from the arrays."""
    joined = np.concatenate([np.zeros((batch, T_y, size)) for size in (n, d, m)], axis=2)
    W_o = np.zeros((V_y, joined.shape[2]))
    logits = joined @ W_o.T
    found = {"joined": joined, "W_o": W_o, "logits": logits, "flat_logits": logits.reshape(-1, V_y)}
    return {name: array.shape for name, array in found.items()}


def word_by_hand__wrong_read_out_of_old_state():
    """Reads the word out of the state before the step."""
    s, h = np.array([0.4, -0.6]), np.array([[0.5, -0.2, 0.1, 0.3], [-0.4, 0.6, 0.2, -0.1]])
    W_query, v = np.array([[1, -1], [0, 2], [0.5, 1]]), np.array([1, -2, 1.5])
    W_key = np.array([[1, 0, 0, 2], [0, 1, -1, 0], [0, 0, 2, 1]])
    W_s, W_c = np.array([[0.5, 1], [-1, 0]]), np.array([[2, 0, -1, 0.5], [0, 2, 0, 1]])
    W_o, b_o = np.array([[1, -1], [2, 0], [0, 2], [-1, 1], [1, 1]]), np.array([0, -0.5, 0.5, 0, 0.2])
    e = np.tanh(W_query @ s + h @ W_key.T) @ v
    w = np.exp(e) / np.exp(e).sum()
    c = w @ h
    new = np.tanh(np.array([0.3, -0.1]) + W_s @ s + W_c @ c)
    p = np.exp(W_o @ s + b_o)
    return {"scores": list(e), "weights": list(w), "context": list(c), "state": list(new), "distribution": p / p.sum()}


def word_by_hand__wrong_output_bias_forgotten():
    """Leaves the output bias out of the logits."""
    s, h = np.array([0.4, -0.6]), np.array([[0.5, -0.2, 0.1, 0.3], [-0.4, 0.6, 0.2, -0.1]])
    W_query, v = np.array([[1, -1], [0, 2], [0.5, 1]]), np.array([1, -2, 1.5])
    W_key = np.array([[1, 0, 0, 2], [0, 1, -1, 0], [0, 0, 2, 1]])
    W_s, W_c = np.array([[0.5, 1], [-1, 0]]), np.array([[2, 0, -1, 0.5], [0, 2, 0, 1]])
    W_o = np.array([[1, -1], [2, 0], [0, 2], [-1, 1], [1, 1]])
    e = np.tanh(W_query @ s + h @ W_key.T) @ v
    w = np.exp(e) / np.exp(e).sum()
    c = w @ h
    new = np.tanh(np.array([0.3, -0.1]) + W_s @ s + W_c @ c)
    p = np.exp(W_o @ new)
    return {"scores": list(e), "weights": list(w), "context": list(c), "state": list(new), "distribution": p / p.sum()}


def word_by_hand__wrong_state_matrix_transposed():
    """Uses W_s with rows and columns exchanged in the recurrence, so state and distribution are wrong."""
    s, h = np.array([0.4, -0.6]), np.array([[0.5, -0.2, 0.1, 0.3], [-0.4, 0.6, 0.2, -0.1]])
    W_query, v = np.array([[1, -1], [0, 2], [0.5, 1]]), np.array([1, -2, 1.5])
    W_key = np.array([[1, 0, 0, 2], [0, 1, -1, 0], [0, 0, 2, 1]])
    W_s, W_c = np.array([[0.5, 1], [-1, 0]]), np.array([[2, 0, -1, 0.5], [0, 2, 0, 1]])
    W_o, b_o = np.array([[1, -1], [2, 0], [0, 2], [-1, 1], [1, 1]]), np.array([0, -0.5, 0.5, 0, 0.2])
    e = np.tanh(W_query @ s + h @ W_key.T) @ v
    w = np.exp(e) / np.exp(e).sum()
    c = w @ h
    new = np.tanh(np.array([0.3, -0.1]) + s @ W_s + W_c @ c)
    p = np.exp(W_o @ new + b_o)
    return {"scores": list(e), "weights": list(w), "context": list(c), "state": list(new), "distribution": p / p.sum()}


def word_by_hand__wrong_carried_with_two_decimals():
    """Rounds every result to two decimals before going on, so the last lines miss the four decimals asked for."""
    s, h = np.array([0.4, -0.6]), np.array([[0.5, -0.2, 0.1, 0.3], [-0.4, 0.6, 0.2, -0.1]])
    W_query, v = np.array([[1, -1], [0, 2], [0.5, 1]]), np.array([1, -2, 1.5])
    W_key = np.array([[1, 0, 0, 2], [0, 1, -1, 0], [0, 0, 2, 1]])
    W_s, W_c = np.array([[0.5, 1], [-1, 0]]), np.array([[2, 0, -1, 0.5], [0, 2, 0, 1]])
    W_o, b_o = np.array([[1, -1], [2, 0], [0, 2], [-1, 1], [1, 1]]), np.array([0, -0.5, 0.5, 0, 0.2])
    e = np.round(np.tanh(W_query @ s + h @ W_key.T) @ v, 2)
    w = np.round(np.exp(e) / np.exp(e).sum(), 2)
    c = np.round(w @ h, 2)
    new = np.round(np.tanh(np.array([0.3, -0.1]) + W_s @ s + W_c @ c), 2)
    p = np.exp(W_o @ new + b_o)
    return {"scores": list(e), "weights": list(w), "context": list(c), "state": list(new), "distribution": p / p.sum()}


def word_by_hand__right_torch_double():
    """Runs the step in torch with double precision and returns plain lists of four decimals."""

    def t(rows):
        return torch.tensor(rows, dtype=torch.float64)

    s, h = t([0.4, -0.6]), t([[0.5, -0.2, 0.1, 0.3], [-0.4, 0.6, 0.2, -0.1]])
    W_query, v = t([[1, -1], [0, 2], [0.5, 1]]), t([1, -2, 1.5])
    W_key = t([[1, 0, 0, 2], [0, 1, -1, 0], [0, 0, 2, 1]])
    scores = torch.tanh(h @ W_key.T + s @ W_query.T) @ v
    weights = scores.softmax(0)
    context = (weights.unsqueeze(1) * h).sum(0)
    W_s, W_c = t([[0.5, 1], [-1, 0]]), t([[2, 0, -1, 0.5], [0, 2, 0, 1]])
    state = torch.tanh(t([0.3, -0.1]) + W_s @ s + W_c @ context)
    logits = t([[1, -1], [2, 0], [0, 2], [-1, 1], [1, 1]]) @ state + t([0, -0.5, 0.5, 0, 0.2])
    return {
        "scores": [round(x, 4) for x in scores.tolist()],
        "weights": [round(x, 4) for x in weights.tolist()],
        "context": [round(x, 4) for x in context.tolist()],
        "state": [round(x, 4) for x in state.tolist()],
        "distribution": [round(x, 4) for x in logits.softmax(0).tolist()],
    }


def cross_entropy__wrong_empty_batch(logits, targets, target_mask):
    """Divides by the number of real words even if there are none, which gives nan."""
    shifted = logits - logits.max(axis=-1, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    right = np.take_along_axis(log_p, targets[..., None], axis=-1)[..., 0]
    return -(right * target_mask).sum() / target_mask.sum()


def cross_entropy__wrong_mean_of_sentence_means(logits, targets, target_mask):
    """Averages every sentence first and then the sentences, so words of short sentences count more."""
    shifted = logits - logits.max(axis=-1, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    means = []
    for b in range(len(targets)):
        costs = [-log_p[b, i, targets[b, i]] for i in range(targets.shape[1]) if target_mask[b, i]]
        if costs:
            means.append(sum(costs) / len(costs))
    return sum(means) / len(means) if means else 0.0


def cross_entropy__wrong_word_zero_as_pad(logits, targets, target_mask):
    """Takes word 0 for the padding instead of looking at the mask."""
    shifted = logits - logits.max(axis=-1, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    right = np.take_along_axis(log_p, targets[..., None], axis=-1)[..., 0]
    real = targets != 0
    return -right[real].mean() if real.any() else 0.0


def cross_entropy__wrong_mask_broadcast(logits, targets, target_mask):
    """Multiplies costs with a last axis of length 1 by the mask, so that sentences and positions get mixed up."""
    shifted = logits - logits.max(axis=-1, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    costs = -np.take_along_axis(log_p, targets[..., None], axis=-1)
    return float((costs * target_mask).sum() / max(target_mask.sum(), 1))


def cross_entropy__wrong_maximum_of_the_batch(logits, targets, target_mask):
    """Subtracts the largest logit of the whole batch, so elsewhere all exponentials may become 0."""
    if not target_mask.any():
        return 0.0
    shifted = logits - logits.max()
    log_p = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    right = np.take_along_axis(log_p, targets[..., None], axis=-1)[..., 0]
    return -right[target_mask].mean()


def cross_entropy__right_nonzero_positions(logits, targets, target_mask):
    """Looks up the real positions first and computes there alone."""
    rows, columns = np.nonzero(target_mask)
    if rows.size == 0:
        return 0.0
    real = logits[rows, columns]
    costs = np.logaddexp.reduce(real, axis=1) - real[np.arange(len(real)), targets[rows, columns]]
    return np.mean(costs)


def cross_entropy__right_plain_loops(logits, targets, target_mask):
    """Adds up cost after cost in two loops with the math module."""
    total, count = 0.0, 0
    for b in range(len(logits)):
        for i in range(len(logits[b])):
            if target_mask[b][i]:
                x = [float(number) for number in logits[b][i]]
                top = max(x)
                total += top + math.log(math.fsum(math.exp(number - top) for number in x)) - x[int(targets[b][i])]
                count += 1
    return total / max(count, 1)


def cross_entropy__right_torch_loss(logits, targets, target_mask):
    """Flattens the real positions and hands them to torch."""
    if not np.any(target_mask):
        return 0.0
    real = torch.as_tensor(logits[target_mask])
    return torch.nn.functional.cross_entropy(real, torch.as_tensor(targets[target_mask]).long()).item()


def beam_step__wrong_divided_by_width(scores, log_probabilities):
    """Divides the flat place by the number of hypotheses, although each hypothesis has as many places as words."""
    batch, width, words = log_probabilities.shape
    best = (scores.unsqueeze(-1) + log_probabilities).reshape(batch, -1).topk(width, dim=1).indices
    return torch.stack([best // width, best % width], dim=-1)


def beam_step__wrong_best_word_of_each(scores, log_probabilities):
    """Continues each hypothesis once, by its own best word, and sorts these."""
    value, word = log_probabilities.max(dim=-1)
    order = (scores + value).argsort(dim=1, descending=True)
    return torch.stack([order, word.gather(1, order)], dim=-1)


def beam_step__wrong_whole_batch_together(scores, log_probabilities):
    """Lets all sentences of the batch compete in one flat list, which works for a batch of one only."""
    width, words = log_probabilities.shape[1:]
    best = (scores[..., None] + log_probabilities).reshape(-1).topk(width).indices
    return torch.stack([best // words, best % words], dim=-1).unsqueeze(0)


def beam_step__wrong_probabilities_underflow(scores, log_probabilities):
    """Compares probabilities instead of logarithms: of long sentences all of them are 0."""
    batch, width, words = log_probabilities.shape
    p = torch.exp(scores)[..., None] * torch.exp(log_probabilities)
    best = p.reshape(batch, -1).topk(width, dim=1).indices
    return torch.stack([torch.div(best, words, rounding_mode="floor"), best % words], dim=-1)


def beam_step__wrong_short_list_of_each_first(scores, log_probabilities):
    """Takes as many words of each hypothesis as the beam is wide, which fails if there are fewer words than that."""
    width = scores.shape[1]
    value, word = log_probabilities.topk(width, dim=-1)
    best = (scores.unsqueeze(-1) + value).flatten(1).topk(width, dim=1).indices
    return torch.stack([best // width, word.flatten(1).gather(1, best)], dim=-1)


def beam_step__wrong_squeeze(scores, log_probabilities):
    """Squeezes at the end, so one sentence or one hypothesis loses its axis."""
    batch, width, words = log_probabilities.shape
    best = (scores.unsqueeze(-1) + log_probabilities).view(batch, -1).topk(width, dim=1).indices
    return torch.stack([best // words, best % words], dim=-1).squeeze()


def beam_step__wrong_two_blocks(scores, log_probabilities):
    """Stacks on the wrong axis: a row of hypotheses and a row of words, not one row per continuation."""
    batch, width, words = log_probabilities.shape
    best = (scores.unsqueeze(-1) + log_probabilities).view(batch, -1).topk(width, dim=1).indices
    return torch.stack([best // words, best % words], dim=1)


def beam_step__wrong_score_left_out(scores, log_probabilities):
    """Compares the log-probabilities of the next words alone."""
    batch, width, words = log_probabilities.shape
    best = log_probabilities.flatten(1).topk(width, dim=1).indices
    return torch.stack([best // words, best % words], dim=-1)


def beam_step__wrong_sorted_by_hypothesis(scores, log_probabilities):
    """Sorts the chosen continuations by their hypothesis at the end, so the best one is not always first."""
    batch, width, words = log_probabilities.shape
    best = (scores.unsqueeze(-1) + log_probabilities).flatten(1).topk(width, dim=1).indices
    best = best.sort(dim=1).values
    return torch.stack([best // words, best % words], dim=-1)


def beam_step__wrong_best_hypothesis_only(scores, log_probabilities):
    """Continues the best hypothesis alone, by its likeliest words, as the example happens to come out."""
    batch, width, words = log_probabilities.shape
    parent = scores.argmax(dim=1)
    word = log_probabilities[torch.arange(batch), parent].topk(width, dim=-1).indices
    return torch.stack([parent.unsqueeze(1).expand(-1, width), word], dim=-1)


def beam_step__right_sorted_python(scores, log_probabilities):
    """Sorts all continuations of each sentence in plain Python."""
    chosen = []
    for score, table in zip(scores.tolist(), log_probabilities.tolist(), strict=True):
        every = [(score[k] + p, k, w) for k, row in enumerate(table) for w, p in enumerate(row)]
        every.sort(key=lambda entry: entry[0], reverse=True)
        chosen.append([[k, w] for _, k, w in every[: len(score)]])
    return torch.tensor(chosen)


def beam_step__right_unravel(scores, log_probabilities):
    """Sorts the flat scores and unravels the places by numpy."""
    total = (scores[:, :, None] + log_probabilities).detach().numpy()
    batch, width, words = total.shape
    flat = np.argsort(-total.reshape(batch, -1), axis=1, kind="stable")[:, :width]
    return torch.from_numpy(np.stack(np.unravel_index(flat, (width, words)), axis=-1))


def beam_step__right_words_counted_off(scores, log_probabilities):
    """Makes the numbers of all hypotheses and words beforehand and gathers the best."""
    batch, width, words = log_probabilities.shape
    pairs = torch.cartesian_prod(torch.arange(width), torch.arange(words)).reshape(-1, 2)
    total = (scores.reshape(batch, width, 1) + log_probabilities).reshape(batch, width * words)
    best = torch.argsort(total, dim=1, descending=True)[:, :width]
    return pairs[best]
