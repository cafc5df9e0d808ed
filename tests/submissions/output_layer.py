"""Right answers to the exercises on the output layer in other styles. The grader must accept them all."""

import numpy as np
import torch


def every_step_shapes__by_computing(batch, T_y, n, d, m, V_y):
    joined = torch.cat([torch.zeros(batch, T_y, size) for size in (n, d, m)], dim=-1)
    W_o = torch.zeros(V_y, joined.shape[-1])
    logits = joined @ W_o.T
    return {
        "joined": joined.shape,
        "W_o": W_o.shape,
        "logits": logits.shape,
        "flat_logits": logits.reshape(-1, V_y).shape,
    }


def every_step_shapes__lists(batch, T_y, n, d, m, V_y):
    return dict(
        flat_logits=[T_y * batch, V_y], logits=[batch, T_y, V_y], W_o=[V_y, m + n + d], joined=[batch, T_y, m + n + d]
    )


def word_by_hand__rounded():
    return {
        "scores": [2.9303, 1.5585],
        "weights": [0.7977, 0.2023],
        "context": [0.3179, -0.0381, 0.1202, 0.2191],
        "state": [0.4816, -0.3427],
        "distribution": [0.3486, 0.2429, 0.1270, 0.0670, 0.2145],
    }


def word_by_hand__torch():
    t = torch.tensor
    state, keys = t([0.4, -0.6]), t([[0.5, -0.2, 0.1, 0.3], [-0.4, 0.6, 0.2, -0.1]])
    W_query, W_key = t([[1.0, -1], [0, 2], [0.5, 1]]), t([[1.0, 0, 0, 2], [0, 1, -1, 0], [0, 0, 2, 1]])
    scores = torch.tanh(keys @ W_key.T + W_query @ state) @ t([1, -2, 1.5])
    weights = scores.softmax(0)
    context = keys.T @ weights
    joined = torch.cat([state, context])
    W = t([[0.5, 1, 2, 0, -1, 0.5], [-1, 0, 0, 2, 0, 1]])
    new = torch.tanh(W @ joined + t([0.3, -0.1]))
    logits = t([[1.0, -1], [2, 0], [0, 2], [-1, 1], [1, 1]]) @ new + t([0, -0.5, 0.5, 0, 0.2])
    return {"scores": scores, "weights": weights, "context": context, "state": new, "distribution": logits.softmax(0)}


def wider_beam__rounded():
    return {"scores": [-2.2637, -2.4427, -2.3703], "winners": (0, 2, 0, 1), "turn": 0.5257}


def wider_beam__torch():
    log_p, words = torch.tensor([-3.6, -4.4, -2.6]).double(), torch.tensor([8, 11, 2])
    scores = log_p * torch.exp(-0.6 * torch.log((words + 5) / 6))
    turn = (log_p[0] / log_p[2]).log2() / torch.tensor(13 / 7).log2()
    winners = torch.stack([log_p[:2].argmax(), log_p.argmax(), scores.argmax(), (log_p / words).argmax()])
    return {"turn": turn, "scores": scores, "winners": winners}


def cross_entropy__loops(logits, targets, target_mask):
    costs = []
    for b in range(targets.shape[0]):
        for i in range(targets.shape[1]):
            if target_mask[b, i]:
                row = logits[b, i]
                costs.append(row.max() + np.log(np.exp(row - row.max()).sum()) - row[targets[b, i]])
    return sum(costs) / len(costs) if costs else 0


def cross_entropy__logaddexp(logits, targets, target_mask):
    one_hot = np.eye(logits.shape[-1])[targets]
    costs = np.logaddexp.reduce(logits, axis=-1) - (logits * one_hot).sum(-1)
    real = target_mask.astype(float)
    return float((costs * real).sum() / np.maximum(real.sum(), 1))


def cross_entropy__torch(logits, targets, target_mask):
    logits, targets, target_mask = map(torch.tensor, (logits, targets, target_mask))
    costs = torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="none")
    return (costs * target_mask.flatten()).sum() / target_mask.sum().clamp(min=1)


def logits_gradient__loops(logits, targets, target_mask):
    gradient = np.zeros(logits.shape)
    for b, i in np.argwhere(target_mask):
        row = np.exp(logits[b, i] - max(logits[b, i]))
        gradient[b, i] = row / sum(row)
        gradient[b, i, targets[b, i]] -= 1
    return gradient / max(1, np.count_nonzero(target_mask))


def logits_gradient__put_along_axis(logits, targets, target_mask):
    gradient = np.exp(logits - np.logaddexp.reduce(logits, axis=-1, keepdims=True))
    at_target = np.take_along_axis(gradient, targets[..., None], axis=-1)
    np.put_along_axis(gradient, targets[..., None], at_target - 1, axis=-1)
    gradient[~target_mask] = 0
    return gradient / target_mask.sum() if target_mask.any() else gradient


def logits_gradient__identity_rows(logits, targets, target_mask):
    batch, target_len, vocab_size = logits.shape
    flat = logits.reshape(-1, vocab_size)
    differences = np.exp(flat - flat.max(1)[:, None])
    differences /= differences.sum(1)[:, None]
    differences -= np.eye(vocab_size)[targets.ravel()]
    share = target_mask.ravel() / np.clip(target_mask.sum(), 1, None)
    return (share[:, None] * differences).reshape(batch, target_len, vocab_size)


def logits_gradient__by_indices(logits, targets, target_mask):
    real = logits[target_mask]
    rows = np.arange(len(real))
    weights = np.exp(real - real.max(axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)
    weights[rows, targets[target_mask]] -= 1
    result = np.zeros_like(logits)
    result[target_mask] = weights / max(len(real), 1)
    return result


def logits_gradient__autograd(logits, targets, target_mask):
    wanted = torch.tensor(logits, requires_grad=True)
    flat, right, real = wanted.flatten(0, 1), torch.tensor(targets).flatten(), torch.tensor(target_mask).flatten()
    costs = torch.nn.functional.cross_entropy(flat, right, reduction="none")
    (torch.where(real, costs, 0).sum() / real.sum().clamp(min=1)).backward()
    return wanted.grad


def which_gradient__rounded():
    return {"loss": 2.5761, "wrong": 3, "entry": -0.7275, "forgotten": 5}


def which_gradient__autograd():
    W_o, W_s = torch.tensor([[-2.0, 2], [2, 1], [1, 0.5]]), torch.tensor([[0.5, 1.5], [-1, -0.5]])
    x_1 = torch.tensor([-0.25, 0.75], requires_grad=True)
    s_1 = torch.tanh(x_1 + W_s @ torch.tensor([0.25, -0.25]))
    s_2 = torch.tanh(torch.tensor([0.25, 0.5]) + W_s @ s_1)
    loss = torch.nn.functional.cross_entropy(torch.stack([s_1, s_2]) @ W_o.T, torch.tensor([1, 0]))
    loss.backward()
    return {"loss": loss, "wrong": 3.0, "entry": x_1.grad[0], "forgotten": 5.0}


def which_gradient__one_sided():
    def loss(first):
        s_1 = np.tanh([first + 0.125 - 0.375, 0.75 - 0.25 + 0.125])
        s_2 = np.tanh(np.array([0.25, 0.5]) + np.array([[0.5, 1.5], [-1, -0.5]]) @ s_1)
        logits = np.stack([s_1, s_2]) @ np.array([[-2, 2, 1], [2, 1, 0.5]])
        p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        return -(np.log(p[0, 1]) + np.log(p[1, 0])) / 2

    return {"forgotten": 5, "entry": (loss(-0.25 + 1e-6) - loss(-0.25)) / 1e-6, "wrong": 3, "loss": loss(-0.25)}


def which_gradient__back_through_the_steps():
    W_o, W_s = np.array([[-2, 2], [2, 1], [1, 0.5]]), np.array([[0.5, 1.5], [-1, -0.5]])
    state, states, errors, loss = np.array([0.25, -0.25]), [], [], 0
    for x, right in (([-0.25, 0.75], 1), ([0.25, 0.5], 0)):
        state = np.tanh(x + W_s @ state)
        p = np.exp(W_o @ state - np.logaddexp.reduce(W_o @ state))
        loss -= np.log(p[right]) / 2
        states.append(state)
        errors.append((p - np.eye(3)[right]) / 2)
    second = (1 - states[1] ** 2) * (errors[1] @ W_o)
    first = (1 - states[0] ** 2) * (errors[0] @ W_o + second @ W_s)
    return {"loss": loss, "wrong": 3, "entry": first[0], "forgotten": 5}


def decode__one_sentence_after_the_other(state, embeddings, W_s, W_o, limits, uniforms=None):
    sentences = []
    for b, s in enumerate(state):
        sentence, word = [], 1
        while word != 2 and len(sentence) < limits[b]:
            s = np.tanh(embeddings[word] + W_s @ s)
            logits = W_o @ s
            if uniforms is None:
                word = max(range(2, len(W_o)), key=lambda w: logits[w])
            else:
                shares = np.exp(logits[2:] - logits[2:].max())
                left = uniforms[b, len(sentence)] * sum(shares)
                word = 2
                while shares[word - 2] <= left:
                    left -= shares[word - 2]
                    word += 1
            sentence.append(word)
        sentences.append(sentence + [0] * (max(limits) - len(sentence)))
    return sentences


def decode__only_those_still_running(state, embeddings, W_s, W_o, limits, uniforms=None):
    words = np.zeros((len(state), max(limits)), dtype=np.int64)
    running = np.arange(len(state))
    last, step = np.ones(len(state), dtype=np.int64), 0
    while running.size:
        state = np.tanh(embeddings[last] + state @ W_s.T)
        logits = state @ W_o.T
        logits[:, :2] = -np.inf
        if uniforms is None:
            last = np.argmax(logits, axis=1)
        else:
            p = np.exp(logits - logits.max(axis=1)[:, None])
            sums = np.cumsum(p / p.sum(axis=1)[:, None], axis=1)
            last = np.array([np.searchsorted(s, u, side="right") for s, u in zip(sums, uniforms[running, step])])
        words[running, step] = last
        step += 1
        stays = (last != 2) & (limits[running] > step)
        running, last, state = running[stays], last[stays], state[stays]
    return words


def decode__torch(state, embeddings, W_s, W_o, limits, uniforms=None):
    state, embeddings, W_s, W_o, limits = map(torch.as_tensor, (state, embeddings, W_s, W_o, limits))
    word = torch.ones(len(state), dtype=torch.long)
    ended = torch.zeros(len(state), dtype=torch.bool)
    columns = []
    for step in range(int(limits.max())):
        state = torch.tanh(torch.nn.functional.embedding(word, embeddings) + torch.nn.functional.linear(state, W_s))
        logits = torch.nn.functional.linear(state, W_o)
        logits[:, :2] = float("-inf")
        if uniforms is None:
            word = logits.argmax(dim=-1)
        else:
            sums = torch.softmax(logits, dim=-1).cumsum(dim=-1)
            word = (sums <= torch.as_tensor(uniforms)[:, step, None]).sum(dim=-1)
        columns.append(word.masked_fill(ended, 0))
        ended = ended | (word == 2) | (limits == step + 1)
    return torch.stack(columns, dim=1)


def decode__cut_afterwards(state, embeddings, W_s, W_o, limits, uniforms=None):
    longest = limits.max()
    words, previous = np.empty((len(state), longest)), np.full(len(state), 1)
    for i in range(longest):
        state = np.tanh(np.eye(len(embeddings))[previous] @ embeddings + state @ W_s.T)
        logits = (state @ W_o.T)[:, 2:]
        logits -= logits.max(axis=1, keepdims=True)
        if uniforms is None:
            previous = np.argmax(np.exp(logits), axis=1) + 2
        else:
            totals = np.exp(logits).cumsum(axis=1)
            previous = np.argmax(totals > totals[:, [-1]] * uniforms[:, [i]], axis=1) + 2
        words[:, i] = previous
    for row, limit in zip(words, limits):
        stops = np.flatnonzero(row == 2)
        row[min(limit, stops[0] + 1 if stops.size else longest) :] = 0
    return words


def decode__frozen_after_the_end(state, embeddings, W_s, W_o, limits, uniforms=None):
    result = np.zeros((state.shape[0], int(limits.max())), int)
    reads, length = np.ones(state.shape[0], int), np.zeros(state.shape[0], int)
    going = np.ones(state.shape[0], bool)
    while going.any():
        t = length.max()
        state = np.where(going[:, None], np.tanh(embeddings[reads] + state @ W_s.T), state)
        logits = np.where(np.arange(len(W_o)) > 1, state @ W_o.T, -np.inf)
        if uniforms is None:
            reads = logits.argmax(1)
        else:
            p = np.exp(logits - np.logaddexp.reduce(logits[:, 2:], axis=1)[:, None])
            p /= p.sum(1, keepdims=True)
            reads = (p.cumsum(1) > uniforms[:, [t]]).argmax(1)
        result[going, t] = reads[going]
        length = length + going
        going = going & (reads != 2) & (length < limits)
    return result


def beam_step__loops(scores, log_probabilities):
    batch, width, words = log_probabilities.shape
    chosen = []
    for b in range(batch):
        all_of_them = [
            (float(scores[b, k] + log_probabilities[b, k, w]), k, w) for k in range(width) for w in range(words)
        ]
        all_of_them.sort(reverse=True)
        chosen.append([[k, w] for _, k, w in all_of_them[:width]])
    return torch.tensor(chosen)


def beam_step__argsort(scores, log_probabilities):
    totals = (scores[:, :, None] + log_probabilities).reshape(len(scores), -1)
    best = torch.argsort(totals, dim=-1, descending=True)[:, : scores.shape[1]]
    k = torch.div(best, log_probabilities.shape[-1], rounding_mode="floor")
    return torch.stack((k, best - k * log_probabilities.shape[-1]), dim=2)


def beam_step__unravel(scores, log_probabilities):
    totals = (scores.unsqueeze(2) + log_probabilities).numpy()
    rows = [np.stack(np.unravel_index(np.argsort(-t, axis=None), t.shape), axis=-1)[: t.shape[0]] for t in totals]
    return torch.tensor(np.array(rows))
