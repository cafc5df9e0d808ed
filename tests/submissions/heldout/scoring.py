"""Answers written from the released notebook alone, before any was graded."""

import math

import numpy as np
import torch


# The same for a batch


def batched_additive_shapes__wrong_axis_in_front(batch, m, n, a, T_x):
    """The student put the extra axis in front, so each query meets the positions and not its own sentence."""
    return {"projected_query": (1, batch, a), "hidden": (batch, T_x, a), "product": (batch, T_x, 1), "W": (n, m)}


def batched_additive_shapes__wrong_axis_last(batch, m, n, a, T_x):
    """The student put the extra axis of the query last."""
    return {"projected_query": (batch, a, 1), "hidden": (batch, T_x, a), "product": (batch, T_x, 1), "W": (n, m)}


def batched_additive_shapes__wrong_product_squeezed(batch, m, n, a, T_x):
    """The student dropped the axis that the one column of v leaves."""
    return {"projected_query": (batch, 1, a), "hidden": (batch, T_x, a), "product": (batch, T_x), "W": (n, m)}


def batched_additive_shapes__wrong_hidden_positions_last(batch, m, n, a, T_x):
    """The student exchanged the positions and the units of the hidden layer."""
    return {"projected_query": (batch, 1, a), "hidden": (batch, a, T_x), "product": (batch, 1, T_x), "W": (n, m)}


def batched_additive_shapes__right_torch_sizes(batch, m, n, a, T_x):
    """Style: torch computes with zeros, and its sizes, which are tuples, are returned."""
    query = torch.zeros(batch, n).matmul(torch.zeros(n, a)).unsqueeze(1)
    hidden = torch.tanh(query + torch.zeros(batch, T_x, a))
    return {
        "projected_query": query.shape,
        "hidden": hidden.shape,
        "product": (hidden @ torch.zeros(a, 1)).shape,
        "W": (n, m),
    }


# Three scores with other sizes


def scores_by_hand_twin__wrong_second_sign():
    """The student overlooked the minus of the second number of v."""
    s = np.array([0.5, -0.2, 0.1])
    h = np.array([[0.2, 0.3, 0.1, -0.4], [-0.5, 0.4, 0.2, 0.1], [0.1, -0.6, 0.3, 0.2]])
    W_query, W_key = np.array([[1, 0, 2], [0, -1, 1]]), np.array([[1, 0, 0, 1], [0, 2, -1, 0]])
    return list(np.round(np.tanh(W_query @ s + h @ W_key.T) @ [2, 1], 4))


def scores_by_hand_twin__wrong_tanh_outside():
    """The student took the tanh of the finished score."""
    s = np.array([0.5, -0.2, 0.1])
    h = np.array([[0.2, 0.3, 0.1, -0.4], [-0.5, 0.4, 0.2, 0.1], [0.1, -0.6, 0.3, 0.2]])
    W_query, W_key = np.array([[1, 0, 2], [0, -1, 1]]), np.array([[1, 0, 0, 1], [0, 2, -1, 0]])
    return list(np.round(np.tanh((W_query @ s + h @ W_key.T) @ [2, -1]), 4))


def scores_by_hand_twin__wrong_query_forgotten():
    """The student left the decoder state out."""
    h = np.array([[0.2, 0.3, 0.1, -0.4], [-0.5, 0.4, 0.2, 0.1], [0.1, -0.6, 0.3, 0.2]])
    return list(np.round(np.tanh(h @ np.array([[1, 0, 0, 1], [0, 2, -1, 0]]).T) @ [2, -1], 4))


def scores_by_hand_twin__wrong_last_term_dropped():
    """The student dropped the last number of every annotation, since W_query has three columns only."""
    s = np.array([0.5, -0.2, 0.1])
    h = np.array([[0.2, 0.3, 0.1], [-0.5, 0.4, 0.2], [0.1, -0.6, 0.3]])
    W_query, W_key = np.array([[1, 0, 2], [0, -1, 1]]), np.array([[1, 0, 0], [0, 2, -1]])
    return list(np.round(np.tanh(W_query @ s + h @ W_key.T) @ [2, -1], 4))


def scores_by_hand_twin__wrong_minus_of_state():
    """The student copied the decoder state with 0.2 for -0.2."""
    s = np.array([0.5, 0.2, 0.1])
    h = np.array([[0.2, 0.3, 0.1, -0.4], [-0.5, 0.4, 0.2, 0.1], [0.1, -0.6, 0.3, 0.2]])
    W_query, W_key = np.array([[1, 0, 2], [0, -1, 1]]), np.array([[1, 0, 0, 1], [0, 2, -1, 0]])
    return [float(x) for x in np.tanh(W_query @ s + h @ W_key.T) @ [2, -1]]


def scores_by_hand_twin__right_pencil():
    """Style: the arguments of the tanh, found by hand, and math.tanh."""
    arguments = [(0.5, 0.8), (0.3, 0.9), (1.0, -1.2)]
    return [round(2 * math.tanh(x) - math.tanh(y), 4) for x, y in arguments]


def scores_by_hand_twin__right_torch():
    """Style: torch in double precision, the annotations as columns of a matrix."""
    kind = torch.float64
    s = torch.tensor([[0.5], [-0.2], [0.1]], dtype=kind)
    h = torch.tensor([[0.2, 0.3, 0.1, -0.4], [-0.5, 0.4, 0.2, 0.1], [0.1, -0.6, 0.3, 0.2]], dtype=kind).T
    W_query = torch.tensor([[1, 0, 2], [0, -1, 1]], dtype=kind)
    W_key = torch.tensor([[1, 0, 0, 1], [0, 2, -1, 0]], dtype=kind)
    return (torch.tensor([2, -1], dtype=kind) @ torch.tanh(W_query @ s + W_key @ h)).tolist()


# Dot product scores


def dot_product_score__wrong_not_summed(query, keys, W=None):
    """The student multiplied the entries and did not sum them."""
    keys = keys if W is None else keys @ W.T
    return query[:, None, :] * keys


def dot_product_score__wrong_scaled(query, keys, W=None):
    """The student divided by the root of the size, as in scaled dot product attention."""
    keys = keys if W is None else keys @ W.T
    return np.einsum("bd,btd->bt", query, keys) / np.sqrt(query.shape[-1])


def dot_product_score__wrong_squeezed(query, keys, W=None):
    """The student dropped every axis of length 1, also a batch of one or a single position."""
    keys = keys if W is None else keys @ W.T
    return np.squeeze(keys @ query[:, :, None])


def dot_product_score__wrong_axis_left(query, keys, W=None):
    """The student left the axis of length 1 of the matrix product at the end."""
    keys = keys if W is None else keys @ W.T
    return keys @ query[:, :, None]


def dot_product_score__wrong_first_query(query, keys, W=None):
    """The student scored all sentences against the decoder state of the first."""
    keys = keys if W is None else keys @ W.T
    return keys @ query[0]


def dot_product_score__wrong_no_new_axis(query, keys, W=None):
    """The student multiplied without a new axis, which runs only where the batch is 1 or as long as the sentences."""
    keys = keys if W is None else keys @ W.T
    return (query * keys).sum(axis=-1)


def dot_product_score__wrong_all_pairs(query, keys, W=None):
    """The student took the product with the transposed queries, so each position has a score for every sentence."""
    keys = keys if W is None else keys @ W.T
    return keys @ query.T


def dot_product_score__wrong_reshaped(query, keys, W=None):
    """The student used reshape to exchange positions and sizes, which mixes up the annotations."""
    keys = keys if W is None else keys @ W.T
    batch, source_len, size = keys.shape
    return (query[:, None, :] @ keys.reshape(batch, size, source_len))[:, 0, :]


def dot_product_score__wrong_positions_first(query, keys, W=None):
    """The student returned the positions along the first axis and the sentences along the second."""
    keys = keys if W is None else keys @ W.T
    return np.einsum("bd,btd->tb", query, keys)


def dot_product_score__wrong_cosine(query, keys, W=None):
    """The student divided by the lengths of both vectors."""
    keys = keys if W is None else keys @ W.T
    lengths = np.linalg.norm(query, axis=1)[:, None] * np.linalg.norm(keys, axis=2)
    return np.einsum("bd,btd->bt", query, keys) / lengths


def dot_product_score__wrong_rounded(query, keys, W=None):
    """The student rounded the scores to one decimal."""
    keys = keys if W is None else keys @ W.T
    return np.round(np.einsum("bd,btd->bt", query, keys), 1)


def dot_product_score__right_einsum(query, keys, W=None):
    """Style: one einsum."""
    keys = keys if W is None else keys @ W.T
    return np.einsum("bd,bjd->bj", query, keys)


def dot_product_score__right_lists(query, keys, W=None):
    """Style: nested loops in plain Python that return a list of rows."""
    keys = keys if W is None else keys @ W.T
    result = []
    for s, annotations in zip(query, keys):
        result.append([sum(float(x) * float(y) for x, y in zip(s, h)) for h in annotations])
    return result


def dot_product_score__right_matmul(query, keys, W=None):
    """Style: a batched matrix product with row vectors, and the extra axis taken away by its number."""
    keys = keys if W is None else keys @ W.T
    return np.matmul(query[:, np.newaxis, :], keys.transpose(0, 2, 1)).squeeze(axis=1)


def dot_product_score__right_diagonal(query, keys, W=None):
    """Style: the scores of all pairs of sentences, of which the own ones are picked."""
    keys = keys if W is None else keys @ W.T
    pairs = np.tensordot(query, keys, axes=([1], [2]))
    own = np.arange(len(query))
    return pairs[own, own]


# Additive scores


def additive_score__wrong_no_tanh(query, keys, W_query, W_key, v):
    """The student left out the tanh."""
    return ((query @ W_query.T)[:, None, :] + keys @ W_key.T) @ v


def additive_score__wrong_tanh_outside(query, keys, W_query, W_key, v):
    """The student took the tanh of the finished score."""
    return np.tanh(((query @ W_query.T)[:, None, :] + keys @ W_key.T) @ v)


def additive_score__wrong_v_inside(query, keys, W_query, W_key, v):
    """The student multiplied by v inside the tanh and summed afterwards."""
    return np.tanh(((query @ W_query.T)[:, None, :] + keys @ W_key.T) * v).sum(axis=-1)


def additive_score__wrong_two_tanhs(query, keys, W_query, W_key, v):
    """The student took the tanh of each projection on its own and added the results."""
    return (np.tanh(query @ W_query.T)[:, None, :] + np.tanh(keys @ W_key.T)) @ v


def additive_score__wrong_query_unused(query, keys, W_query, W_key, v):
    """The student left the decoder state out."""
    return np.tanh(keys @ W_key.T) @ v


def additive_score__wrong_first_query(query, keys, W_query, W_key, v):
    """The student added the decoder state of the first sentence to all sentences."""
    return np.tanh(W_query @ query[0] + keys @ W_key.T) @ v


def additive_score__wrong_no_new_axis(query, keys, W_query, W_key, v):
    """The student added without a new axis, which runs only for a batch of one or as long as the sentences."""
    return np.tanh(query @ W_query.T + keys @ W_key.T) @ v


def additive_score__wrong_matrices_exchanged(query, keys, W_query, W_key, v):
    """The student exchanged the two matrices, which runs where both sizes are equal."""
    return np.tanh((query @ W_key.T)[:, None, :] + keys @ W_query.T) @ v


def additive_score__wrong_reshaped(query, keys, W_query, W_key, v):
    """The student reshaped the matrices in place of transposing them."""
    projected_query = query @ W_query.reshape(W_query.shape[::-1])
    projected_keys = keys @ W_key.reshape(W_key.shape[::-1])
    return np.tanh(projected_query[:, None, :] + projected_keys) @ v


def additive_score__wrong_mean(query, keys, W_query, W_key, v):
    """The student took the mean over the hidden layer in place of the sum."""
    return (np.tanh((query @ W_query.T)[:, None, :] + keys @ W_key.T) * v).mean(axis=-1)


def additive_score__wrong_v_forgotten(query, keys, W_query, W_key, v):
    """The student summed the hidden layer and forgot v."""
    return np.tanh((query @ W_query.T)[:, None, :] + keys @ W_key.T).sum(axis=-1)


def additive_score__wrong_logistic(query, keys, W_query, W_key, v):
    """The student took the logistic function for the tanh."""
    return 1 / (1 + np.exp(-((query @ W_query.T)[:, None, :] + keys @ W_key.T))) @ v


def additive_score__wrong_softmax(query, keys, W_query, W_key, v):
    """The student returned weights, with the softmax already taken."""
    e = np.exp(np.tanh((query @ W_query.T)[:, None, :] + keys @ W_key.T) @ v)
    return e / e.sum(axis=1, keepdims=True)


def additive_score__wrong_squeezed(query, keys, W_query, W_key, v):
    """The student squeezed the product with the column v without naming the axis."""
    hidden = np.tanh((query @ W_query.T)[:, None, :] + keys @ W_key.T)
    return np.squeeze(hidden @ v[:, None])


def additive_score__wrong_axis_left(query, keys, W_query, W_key, v):
    """The student left the axis of length 1 from the product with the column v."""
    return np.tanh((query @ W_query.T)[:, None, :] + keys @ W_key.T) @ v[:, None]


def additive_score__wrong_state_leaks(query, keys, W_query, W_key, v):
    """The student added the query to a running sum in the loop, so later positions contain it several times."""
    scores = np.zeros(keys.shape[:2])
    for b in range(len(query)):
        total = np.zeros(len(v))
        for j in range(keys.shape[1]):
            total = total + W_query @ query[b]
            scores[b, j] = v @ np.tanh(total + W_key @ keys[b, j])
    return scores


def additive_score__wrong_last_position_missing(query, keys, W_query, W_key, v):
    """The student's loop stops one position too early, so the last score stays 0."""
    scores = np.zeros(keys.shape[:2])
    for b in range(keys.shape[0]):
        for j in range(keys.shape[1] - 1):
            scores[b, j] = v @ np.tanh(W_query @ query[b] + W_key @ keys[b, j])
    return scores


def additive_score__wrong_printed(query, keys, W_query, W_key, v):
    """The student printed the scores and returned nothing."""
    print(np.tanh((query @ W_query.T)[:, None, :] + keys @ W_key.T) @ v)


def additive_score__wrong_hidden_returned(query, keys, W_query, W_key, v):
    """The student returned the hidden layer times v and did not sum it."""
    return np.tanh((query @ W_query.T)[:, None, :] + keys @ W_key.T) * v


def additive_score__right_broadcast(query, keys, W_query, W_key, v):
    """Style: matrix products and broadcasting."""
    return np.tanh(np.expand_dims(query @ W_query.T, 1) + keys @ W_key.T) @ v


def additive_score__right_loops(query, keys, W_query, W_key, v):
    """Style: two loops by the formula, with a helper."""

    def score(s, h):
        return v @ np.tanh(W_query @ s + W_key @ h)

    return np.array([[score(query[b], h) for h in keys[b]] for b in range(len(keys))])


def additive_score__right_joined(query, keys, W_query, W_key, v):
    """Style: decoder state and annotation joined end to end, and one wide matrix."""
    batch, source_len, _ = keys.shape
    states = np.broadcast_to(query[:, None, :], (batch, source_len, query.shape[1]))
    W = np.hstack([W_query, W_key])
    return np.dot(np.tanh(np.concatenate([states, keys], axis=2).dot(W.T)), v)


def additive_score__right_einsum(query, keys, W_query, W_key, v):
    """Style: einsum throughout."""
    hidden = np.einsum("aq,bq->ba", W_query, query)[:, None, :] + np.einsum("ak,bjk->bja", W_key, keys)
    return np.einsum("a,bja->bj", v, np.tanh(hidden))


def additive_score__right_torch_linear(query, keys, W_query, W_key, v):
    """Style: torch's functional linear layers, with v as one row, and back to numpy."""
    query, keys, W_query, W_key, v = (torch.as_tensor(x) for x in (query, keys, W_query, W_key, v))
    linear = torch.nn.functional.linear
    hidden = torch.tanh(linear(query, W_query).unsqueeze(1) + linear(keys, W_key))
    return linear(hidden, v[None, :]).squeeze(-1).numpy()


# Every step at once


def score_every_step__wrong_no_tanh(queries, projected_keys, W_query, v):
    """The student left out the tanh."""
    return ((queries @ W_query.T)[:, :, None, :] + projected_keys[:, None, :, :]) @ v


def score_every_step__wrong_axes_exchanged(queries, projected_keys, W_query, v):
    """The student put the source positions before the steps."""
    return torch.tanh((queries @ W_query.T)[:, None, :, :] + projected_keys[:, :, None, :]) @ v


def score_every_step__wrong_first_step(queries, projected_keys, W_query, v):
    """The student scored with the first decoder state at every step."""
    first = (queries[:, :1] @ W_query.T).expand(-1, queries.shape[1], -1)
    return torch.tanh(first[:, :, None, :] + projected_keys[:, None, :, :]) @ v


def score_every_step__wrong_state_before(queries, projected_keys, W_query, v):
    """The student shifted the decoder states by one step, with zeros for the first, though the formula has s_bi."""
    before = torch.cat([torch.zeros_like(queries[:, :1]), queries[:, :-1]], dim=1)
    return torch.tanh((before @ W_query.T).unsqueeze(2) + projected_keys.unsqueeze(1)) @ v


def score_every_step__wrong_query_unused(queries, projected_keys, W_query, v):
    """The student left the decoder states out and repeated the same scores for every step."""
    scores = torch.tanh(projected_keys) @ v
    return scores.unsqueeze(1).repeat(1, queries.shape[1], 1)


def score_every_step__wrong_squeezed(queries, projected_keys, W_query, v):
    """The student squeezed all axes of length 1."""
    hidden = torch.tanh((queries @ W_query.T).unsqueeze(2) + projected_keys.unsqueeze(1))
    return (hidden @ v.unsqueeze(1)).squeeze()


def score_every_step__wrong_axis_left(queries, projected_keys, W_query, v):
    """The student kept the axis of length 1 at the end."""
    hidden = torch.tanh((queries @ W_query.T).unsqueeze(2) + projected_keys.unsqueeze(1))
    return hidden @ v.unsqueeze(1)


def score_every_step__wrong_batch_of_one(queries, projected_keys, W_query, v):
    """The student took the annotations of the first sentence for every sentence."""
    hidden = torch.tanh((queries @ W_query.T).unsqueeze(2) + projected_keys[0])
    return hidden @ v


def score_every_step__wrong_one_sentence(queries, projected_keys, W_query, v):
    """The student computed the first sentence only and put a batch axis of length 1 in front."""
    hidden = torch.tanh((queries[0] @ W_query.T)[:, None, :] + projected_keys[0][None, :, :])
    return (hidden @ v)[None]


def score_every_step__wrong_numpy(queries, projected_keys, W_query, v):
    """The student computed in numpy and made a tensor of the result, so no gradient passes."""
    q, p, W, u = (x.detach().numpy() for x in (queries, projected_keys, W_query, v))
    return torch.from_numpy(np.tanh((q @ W.T)[:, :, None, :] + p[:, None, :, :]) @ u)


def score_every_step__wrong_no_grad(queries, projected_keys, W_query, v):
    """The student computed without gradients to save memory."""
    with torch.no_grad():
        return torch.tanh((queries @ W_query.T).unsqueeze(2) + projected_keys.unsqueeze(1)) @ v


def score_every_step__wrong_view(queries, projected_keys, W_query, v):
    """The student exchanged steps and positions with reshape at the end, which mixes up the scores."""
    hidden = torch.tanh((queries @ W_query.T).unsqueeze(1) + projected_keys.unsqueeze(2))
    batch, source_len, target_len, _ = hidden.shape
    return (hidden @ v).reshape(batch, target_len, source_len)


def score_every_step__wrong_steps_cut(queries, projected_keys, W_query, v):
    """The student paired step and position one to one, which needs equal lengths, and repeated the scores."""
    n = min(queries.shape[1], projected_keys.shape[1])
    scores = torch.tanh(queries[:, :n] @ W_query.T + projected_keys[:, :n]) @ v
    return scores.unsqueeze(1).expand(-1, queries.shape[1], -1)


def score_every_step__right_broadcast(queries, projected_keys, W_query, v):
    """Style: new axes by None, matrix products, and a sum with v."""
    q = torch.matmul(queries, W_query.t())[:, :, None]
    return (torch.tanh(q + projected_keys[:, None]) * v).sum(-1)


def score_every_step__right_einsum(queries, projected_keys, W_query, v):
    """Style: einsum for the products, unsqueeze for the axes."""
    q = torch.einsum("biq,aq->bia", queries, W_query)
    return torch.einsum("bija,a->bij", (q.unsqueeze(2) + projected_keys.unsqueeze(1)).tanh(), v)


def score_every_step__right_axes_moved(queries, projected_keys, W_query, v):
    """Style: positions before steps first, exchanged by transpose at the end."""
    q = torch.nn.functional.linear(queries, W_query)
    hidden = torch.tanh(projected_keys.unsqueeze(2) + q.unsqueeze(1))
    return torch.matmul(hidden, v).transpose(1, 2)


def score_every_step__right_logistic(queries, projected_keys, W_query, v):
    """Style: the tanh is written as twice a logistic function of twice the sum, minus one."""
    q = (queries @ W_query.mT).unsqueeze(-2)
    hidden = 2 * torch.sigmoid(2 * (q + projected_keys.unsqueeze(-3))) - 1
    return torch.squeeze(hidden @ v[:, None], dim=-1)
