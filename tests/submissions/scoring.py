"""Right answers to the scoring exercises in other styles than the reference's. The grader must accept them all."""

import math

import numpy as np
import torch


def batched_additive_shapes__by_computing(batch, m, n, a, T_x):
    query = torch.zeros(batch, 1, a)
    hidden = query + torch.zeros(batch, T_x, a)
    return {
        "projected_query": query.shape,
        "hidden": hidden.shape,
        "product": (hidden @ torch.zeros(a, 1)).shape,
        "W": (n, m),
    }


def batched_additive_shapes__lists(batch, m, n, a, T_x):
    return {"product": [batch, T_x, 1], "hidden": [batch, T_x, a], "projected_query": [batch, 1, a], "W": (n, m)}


def scores_by_hand_twin__rounded():
    return (0.2602, -0.1337, 2.3568)


def scores_by_hand_twin__tensor():
    return torch.tanh(torch.tensor([[0.5, 0.8], [0.3, 0.9], [1.0, -1.2]])) @ torch.tensor([2.0, -1.0])


def dot_product_score__loops(query, keys, W=None):
    keys = keys if W is None else keys @ W.T
    return [[sum(s * h for s, h in zip(q, key)) for key in sentence] for q, sentence in zip(query, keys)]


def dot_product_score__einsum(query, keys, W=None):
    keys = keys if W is None else keys @ W.T
    return np.einsum("bn,bjn->bj", query, keys)


def dot_product_score__matmul(query, keys, W=None):
    keys = keys if W is None else keys @ W.T
    return (keys @ query[:, :, None])[:, :, 0]


def dot_product_score__torch(query, keys, W=None):
    query, keys = torch.tensor(query), torch.tensor(keys)
    return torch.einsum("bn,bjn->bj", query, keys if W is None else torch.nn.functional.linear(keys, torch.tensor(W)))


def dot_product_score__query_times_w(query, keys, W=None):
    W = np.eye(query.shape[1]) if W is None else W
    return ((query @ W)[:, None] @ np.swapaxes(keys, 1, 2)).reshape(keys.shape[:2])


def additive_score__loops(query, keys, W_query, W_key, v):
    scores = []
    for b in range(len(query)):
        row = []
        for j in range(len(keys[b])):
            hidden = [math.tanh(float(W_query[i] @ query[b] + W_key[i] @ keys[b][j])) for i in range(len(v))]
            row.append(sum(v_i * h_i for v_i, h_i in zip(v, hidden)))
        scores.append(row)
    return scores


def additive_score__einsum(query, keys, W_query, W_key, v):
    left = np.einsum("an,bn->ba", W_query, query)
    right = np.einsum("am,bjm->bja", W_key, keys)
    return np.einsum("a,bja->bj", v, np.tanh(left[:, np.newaxis] + right))


def additive_score__concatenated(query, keys, W_query, W_key, v):
    tiled = np.repeat(query[:, None, :], keys.shape[1], axis=1)
    joined = np.concatenate([tiled, keys], axis=-1)
    return np.tanh(joined @ np.hstack([W_query, W_key]).T).dot(v)


def additive_score__torch(query, keys, W_query, W_key, v):
    query, keys, W_query, W_key, v = map(torch.tensor, (query, keys, W_query, W_key, v))
    hidden = torch.tanh((query @ W_query.T).unsqueeze(1) + keys @ W_key.T)
    return torch.matmul(hidden, v).requires_grad_()


def score_every_step__einsum(queries, projected_keys, W_query, v):
    hidden = (torch.einsum("an,bin->bia", W_query, queries)[:, :, None] + projected_keys[:, None]).tanh()
    return torch.einsum("bija,a->bij", hidden, v)


def score_every_step__linear(queries, projected_keys, W_query, v):
    hidden = torch.tanh(torch.nn.functional.linear(queries, W_query).unsqueeze(-2) + projected_keys.unsqueeze(-3))
    return torch.nn.functional.linear(hidden, v.unsqueeze(0)).squeeze(-1)


def score_every_step__loop_over_steps(queries, projected_keys, W_query, v):
    steps = []
    for query in queries.unbind(dim=1):
        hidden = torch.tanh((query @ W_query.T)[:, None] + projected_keys)
        steps.append((hidden * v).sum(-1))
    return torch.stack(steps, dim=1)


def gradients_by_hand__lists():
    return {
        "W_key": [[6.8, -1.8, 7.8], [-22.8, 6.4, -23.6]],
        "W_query": [[2.8, -1.4, 4.2], [-7.2, 3.6, -10.8]],
        "v": [1.4, -0.6],
        "inside": [[3.2, -10], [-1.8, 6.4]],
    }


def gradients_by_hand__position_by_position():
    query, keys = torch.tensor([2.0, -1, 3]).double(), torch.tensor([[1.0, 0, 3], [-2, 1, 1]]).double()
    inside = torch.tensor([[5 * 0.64, -10.0], [-5 * 0.36, 10 * 0.64]]).double()
    v = torch.tensor([0.6, 0.0]).double() - torch.tensor([-0.8, 0.6]).double()
    W_query = sum(torch.outer(row, query) for row in inside)
    return {"inside": inside, "v": v, "W_query": W_query, "W_key": torch.einsum("ja,jm->am", inside, keys)}


def score_gradients__loops(scores_gradient, query, keys, W_query, W_key, v):
    by_v, by_query, by_key = np.zeros(v.shape), np.zeros(W_query.shape), np.zeros(W_key.shape)
    for j, key in enumerate(keys):
        for k in range(len(v)):
            hidden = math.tanh(W_query[k] @ query + W_key[k] @ key)
            by_v[k] += scores_gradient[j] * hidden
            slope = scores_gradient[j] * v[k] * (1 - hidden) * (1 + hidden)
            by_query[k] += slope * query
            by_key[k] += slope * key
    return {"v": by_v, "W_query": by_query, "W_key": by_key}


def score_gradients__joined(scores_gradient, query, keys, W_query, W_key, v):
    joined = np.concatenate([np.tile(query, (len(keys), 1)), keys], axis=1)
    sums = joined @ np.hstack([W_query, W_key]).T
    both = np.einsum("j,a,ja,jx->ax", scores_gradient, v, np.cosh(sums) ** -2.0, joined)
    return {"v": np.tanh(sums).T @ scores_gradient, "W_query": both[:, : query.size], "W_key": both[:, query.size :]}


def score_gradients__torch(scores_gradient, query, keys, W_query, W_key, v):
    given, query, keys, W_query, W_key, v = map(torch.tensor, (scores_gradient, query, keys, W_query, W_key, v))
    hidden = torch.tanh(torch.mv(W_query, query) + torch.mm(keys, W_key.t()))
    inside = torch.outer(given, v) - torch.outer(given, v) * hidden.square()
    return {"W_key": inside.T @ keys, "W_query": torch.outer(inside.sum(0), query), "v": given @ hidden}


def unseen_by_the_score__typed():
    U_a = ((1, -1, 0, 3), (0, 2, 1, -5), (1, 0, 1, -1))
    return {"unseen": (-2, 1, 3, 1), "U_a": U_a, "two_matrices": 21, "one_matrix": 12}


def unseen_by_the_score__solved():
    W_c = np.array([[1.0, 0, 0, 2], [0, 1, 0, -1], [0, 0, 1, -3]])
    W_enc = np.array([[1.0, -1, 0], [0, 2, 1], [1, 0, 1]])
    direction = np.linalg.svd(W_c)[2][-1]
    counts = {"two_matrices": W_c.size + W_enc.size, "one_matrix": W_c.size}
    return {"U_a": W_enc.dot(W_c), "unseen": direction / direction[-1], **counts}


def score_every_step__transposed_in_place(queries, projected_keys, W_query, v):
    """Changes its input in place."""
    W_query.t_()
    return torch.tanh((queries @ W_query).unsqueeze(2) + projected_keys.unsqueeze(1)) @ v
