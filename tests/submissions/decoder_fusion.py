"""Right answers to the decoder exercises in other styles than the reference's. The grader must accept them all."""

import math

import numpy as np
import torch
import torch.nn.functional as F


def note_c_dimensions__lists(d, m, n, V_x, V_y):
    decoder = dict(E=[d, V_y], W_y=[n, d], W_s=[n, n], W_c=[n, m])
    return dict(E_x=[d, V_x], W_x=[m, d], W_h=[m, m], W_query=[n, n], W_key=[n, m], v=[n], **decoder)


def note_c_dimensions__linear_layers(d, m, n, V_x, V_y):
    sizes = {
        "W_x": (d, m),
        "W_h": (m, m),
        "W_query": (n, n),
        "W_key": (m, n),
        "W_y": (d, n),
        "W_s": (n, n),
        "W_c": (m, n),
    }
    layers = {name: torch.nn.Linear(*size).weight.shape for name, size in sizes.items()}
    embeddings = {name: torch.nn.Embedding(V, d).weight.T.shape for name, V in (("E_x", V_x), ("E", V_y))}
    return {**layers, **embeddings, "v": torch.zeros(n).shape}


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


def note_c_state__typed():
    return [0.93228, 0.90063]


def note_c_state__loops():
    e = [2 * math.tanh(0.5 + h) for h in (0.2, 0.8)]
    total = sum(math.exp(x) for x in e)
    c = sum(math.exp(x) / total * h for x, h in zip(e, (0.2, 0.8)))
    return math.tanh(0.6 + 0.5 + c), math.tanh(0.4 + 0.5 + c)


def step_by_hand__typed():
    return {
        "state": [0.7147, 0.0369, 0.9480],
        "context": [0.5135, 0.2297, 0.0816, 0.1833],
        "weights": [0.5039, 0.0561, 0.4400],
        "scores": [0.5964, -1.5983, 0.4608],
    }


def step_by_hand__torch():
    s, y = torch.tensor([0.5, -0.4, 0.2]), torch.tensor([0.6, -0.3])
    H = torch.tensor([[0.3, -0.2, 0.5, 0.1], [-0.6, 0.4, 0.1, 0.8], [0.9, 0.7, -0.4, 0.2]])
    q = torch.tensor([s[0] + 2 * s[2], s[2] - s[1]])
    k = torch.stack([H[:, 0] - H[:, 3], 2 * H[:, 1] + H[:, 2]], dim=1)
    e = torch.tanh(q + k) @ torch.tensor([1.5, -1.0])
    a = torch.softmax(e, 0)
    c = a @ H
    word = torch.stack([y[0], 2 * y[1], y[0] - y[1]])
    old = torch.stack([s[1], s[0], s[2] - s[1]])
    mixture = torch.stack([c[0] + c[3], 2 * c[3] - c[1], c[1] + c[2]])
    return {"scores": e, "weights": a, "context": c, "state": torch.tanh(word + old + mixture)}


def note_d_state_twin__by_terms():
    return [math.tanh(-0.5 + 0.6 + 0.2 + 0.15), math.tanh(0.15 - 0.7 - 0.4 - 0.2)]


def note_d_state_twin__one_product():
    everything = np.array([[0, 1, 0.6, 1, 0, -1, 0.15], [2, 0.5, -0.7, 0.5, 2, 0, -0.2]])
    return np.tanh(everything @ [0.2, -0.5, 1, 0.4, -0.3, 0.2, 1])


def decoder_step_state__loops(embedded, query, context, W_y, W_s, W_c):
    rows = []
    for y, s, c in zip(embedded, query, context):
        row = []
        for k in range(len(W_s)):
            row.append(math.tanh(sum(W_y[k] * y) + sum(W_s[k] * s) + sum(W_c[k] * c)))
        rows.append(row)
    return rows


def decoder_step_state__one_matrix(embedded, query, context, W_y, W_s, W_c):
    return np.tanh(np.hstack([embedded, query, context]) @ np.hstack([W_y, W_s, W_c]).T)


def decoder_step_state__rnn_cell(embedded, query, context, W_y, W_s, W_c):
    cell = torch.nn.RNNCell(W_y.shape[1] + W_c.shape[1], len(W_s), bias=False).double()
    cell.weight_ih.data = torch.from_numpy(np.hstack([W_y, W_c]))
    cell.weight_hh.data = torch.from_numpy(W_s)
    return cell(torch.from_numpy(np.hstack([embedded, context])), torch.from_numpy(query))


def fused_input__two_products(embedded, context, L_1):
    d = embedded.shape[1]
    k = embedded @ L_1[:, :d].T + context @ L_1[:, d:].T
    return np.where(k > 0, k, 0)


def fused_input__torch(embedded, context, L_1):
    joined = torch.cat([torch.as_tensor(embedded), torch.as_tensor(context)], dim=-1)
    return F.relu(F.linear(joined, torch.as_tensor(L_1)))


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


def paper_shapes__lists(m, n, a, pairs, V_y):
    return dict(W_o=[V_y, pairs], C_o=[pairs + pairs, n + n], U_a=[a, n + n], C_r=[n, n + n], W_r=[n, m])


def paper_shapes__by_computing(m, n, a, pairs, V_y):
    annotation = np.concatenate([np.zeros(n), np.zeros(n)])
    maxima = np.zeros(2 * pairs).reshape(-1, 2).max(axis=1)
    columns = {"W_r": (n, np.zeros(m)), "C_r": (n, annotation), "U_a": (a, annotation)}
    columns |= {"C_o": (2 * pairs, annotation), "W_o": (V_y, maxima)}
    return {name: np.outer(np.zeros(rows), column).shape for name, (rows, column) in columns.items()}


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
