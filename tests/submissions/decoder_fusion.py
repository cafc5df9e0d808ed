"""Right answers to the decoder exercises in other styles than the reference's. The grader must accept them all."""

import math

import numpy as np
import torch
import torch.nn.functional as F


def fusion_shapes__lists(d, m, n, r):
    return dict(W_context=[n, m + m], W_input=[n, r], L_1=[r, d + m + m], joined=[d + m + m])


def fusion_shapes__by_computing(d, m, n, r):
    joined = np.concatenate([np.zeros(d), np.zeros(2 * m)])
    L_1 = np.zeros((r, len(joined)))
    return {
        "joined": joined.shape,
        "L_1": L_1.shape,
        "W_input": np.outer(np.zeros(n), L_1 @ joined).shape,
        "W_context": np.zeros((n, 2 * m)).shape,
    }


def two_decimals__typed():
    return {"alike": [1, 4], "weights": [0.4122, 0.5, 0.2315, 0.4149, 0.4360, 0.6259]}


def two_decimals__logistic():
    differences = {
        2: 0,
        3: 2 * (0.7 - 1.3),
        5: math.tanh(0.7) - math.tanh(1.3),
        6: 2 * (math.tanh(1.3) - math.tanh(0.7)),
    }
    u, w = math.tanh(1.1), math.tanh(0.9)
    differences[4] = sum(math.tanh(x + 0.2) - math.tanh(x + 0.8) for x in (u, w))
    weights = {n: 1 / (1 + math.exp(-difference)) for n, difference in differences.items()}
    weights[1] = math.tanh(0.7) / (math.tanh(0.7) + math.tanh(1.3))
    states = {n: [math.tanh(x + 0.5 + 0.8 - 0.6 * weight) for x in (0.6, 0.4)] for n, weight in weights.items()}
    alike = [n for n in range(1, 7) if [f"{entry:.2f}" for entry in states[n]] == ["0.93", "0.90"]]
    return {"weights": [weights[n] for n in range(1, 7)], "alike": tuple(alike)}


def decoder_step__bmm(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    hidden = torch.tanh(F.linear(query, W_query)[:, None] + F.linear(keys, W_key))
    e = (hidden * v).sum(-1).masked_fill(~source_mask, -1e30)
    a = torch.softmax(e, -1).masked_fill(~source_mask, 0)
    c = torch.bmm(a[:, None], keys)[:, 0]
    return torch.tanh(F.linear(torch.cat([embedded, query, c], 1), torch.cat([W_y, W_s, W_c], 1)))


def decoder_step__sentence_by_sentence(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    states = []
    for s, y, H, real in zip(query, embedded, keys, source_mask):
        H = H[real]
        a = torch.softmax(torch.tanh(W_query @ s + H @ W_key.T) @ v, dim=0)
        states.append(torch.tanh(W_y @ y + W_s @ s + W_c @ (a @ H)))
    return torch.stack(states)


def luong_step__loops(fed, embedded, query, keys, source_mask, W_y, W_s, W_fed, W, W_mix):
    rows = []
    for b in range(len(query)):
        state = np.tanh(W_y @ embedded[b] + W_s @ query[b] + W_fed @ fed[b])
        real = [h for h, is_real in zip(keys[b], source_mask[b]) if is_real]
        context = np.zeros(keys.shape[2])
        if real:
            scores = np.array([state @ W @ h for h in real])
            powers = np.exp(scores - max(scores))
            context = sum(power * h for power, h in zip(powers, real)) / sum(powers)
        rows.append(np.tanh(W_mix @ [*context, *state]))
    return rows


def luong_step__torch(fed, embedded, query, keys, source_mask, W_y, W_s, W_fed, W, W_mix):
    fed, embedded, query, keys, source_mask, W_y, W_s, W_fed, W, W_mix = (
        torch.as_tensor(each) for each in (fed, embedded, query, keys, source_mask, W_y, W_s, W_fed, W, W_mix)
    )
    state = torch.tanh(torch.cat([embedded, query, fed], dim=1) @ torch.cat([W_y, W_s, W_fed], dim=1).T)
    scores = ((state @ W).unsqueeze(1) @ keys.transpose(1, 2)).squeeze(1)
    weights = scores.masked_fill(~source_mask, -1e30).softmax(dim=1) * source_mask
    context = (weights.unsqueeze(2) * keys).sum(dim=1)
    size = keys.shape[2]
    return torch.tanh(context @ W_mix[:, :size].T + state @ W_mix[:, size:].T)


def gated_step__loops(
    embedded, query, context, W_y, W_s, W_c, W_y_update, W_s_update, W_c_update, W_y_reset, W_s_reset, W_c_reset
):
    rows = []
    for y, s, c in zip(embedded, query, context):
        u = [1 / (1 + math.exp(-(W_y_update[k] @ y + W_s_update[k] @ s + W_c_update[k] @ c))) for k in range(len(s))]
        r = [1 / (1 + math.exp(-(W_y_reset[k] @ y + W_s_reset[k] @ s + W_c_reset[k] @ c))) for k in range(len(s))]
        left = np.array([a * b for a, b in zip(r, s)])
        new = [math.tanh(W_y[k] @ y + W_s[k] @ left + W_c[k] @ c) for k in range(len(s))]
        rows.append([s[k] + u[k] * (new[k] - s[k]) for k in range(len(s))])
    return rows


def gated_step__stacked_torch(
    embedded, query, context, W_y, W_s, W_c, W_y_update, W_s_update, W_c_update, W_y_reset, W_s_reset, W_c_reset
):
    y, s, c = torch.as_tensor(embedded), torch.as_tensor(query), torch.as_tensor(context)
    x = torch.cat([y, s, c], dim=1)
    gates = np.vstack([np.hstack([W_y_update, W_s_update, W_c_update]), np.hstack([W_y_reset, W_s_reset, W_c_reset])])
    z, r = torch.sigmoid(F.linear(x, torch.as_tensor(gates))).chunk(2, dim=1)
    new = torch.tanh(F.linear(torch.cat([y, r * s, c], dim=1), torch.as_tensor(np.hstack([W_y, W_s, W_c]))))
    return torch.lerp(s, new, z)


def mended_note_a__loops(words, state, keys, W_query, W_key, v, E, L_1, W_input, W_s, L_2):
    outputs = np.zeros((*words.shape, E.shape[1]))
    for b, s in enumerate(state):
        for t in range(words.shape[1]):
            e = np.array([v @ np.tanh(W_query @ s + W_key @ h) for h in keys[b]])
            alpha = np.exp(e - max(e)) / sum(np.exp(e - max(e)))
            c = sum(weight * h for weight, h in zip(alpha, keys[b]))
            y = np.zeros(E.shape[1])
            y[words[b, t]] = 1
            k = L_1 @ np.r_[E @ y, c]
            k[k < 0] = 0
            s = np.tanh(W_input @ k + W_s @ s)
            logits = L_2 @ np.r_[s, c]
            outputs[b, t] = np.exp(logits - np.logaddexp.reduce(logits))
    return outputs


def mended_note_a__torch(words, state, keys, W_query, W_key, v, E, L_1, W_input, W_s, L_2):
    words, state, keys, W_query, W_key, v, E, L_1, W_input, W_s, L_2 = map(
        torch.tensor, (words, state, keys, W_query, W_key, v, E, L_1, W_input, W_s, L_2)
    )
    projected, embedded, outputs = keys @ W_key.T, torch.nn.functional.embedding(words, E.T), []
    for word in embedded.unbind(dim=1):
        alpha = torch.softmax(torch.tanh((state @ W_query.T).unsqueeze(1) + projected) @ v, dim=1)
        c = (alpha.unsqueeze(1) @ keys).squeeze(1)
        k = torch.relu(torch.nn.functional.linear(torch.cat([word, c], dim=1), L_1))
        state = torch.tanh(k @ W_input.T + state @ W_s.T)
        outputs.append(torch.softmax(torch.cat([state, c], dim=1) @ L_2.T, dim=-1))
    return torch.stack(outputs, dim=1)


def mended_note_a__matrices_split(words, state, keys, W_query, W_key, v, E, L_1, W_input, W_s, L_2):
    d, n = len(E), state.shape[1]
    from_words = (L_1[:, :d] @ E).T[words]  # (batch, steps, input_size)
    keys_in = keys @ W_key.T
    states, contexts = [], []
    for i in range(words.shape[1]):
        e = np.einsum("a,bja->bj", v, np.tanh(keys_in + np.expand_dims(state @ W_query.T, 1)))
        p = np.exp(e - e.max(1, keepdims=True))
        context = (p[..., None] * keys).sum(1) / p.sum(1)[:, None]
        k = from_words[:, i] + context @ L_1[:, d:].T
        state = np.tanh(np.where(k > 0, k, 0) @ W_input.T + state @ W_s.T)
        states.append(state)
        contexts.append(context)
    logits = np.stack(states, 1) @ L_2[:, :n].T + np.stack(contexts, 1) @ L_2[:, n:].T
    p = np.exp(logits - logits.max(-1)[..., None])
    return p / p.sum(-1)[..., None]
