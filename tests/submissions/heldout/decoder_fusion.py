"""Answers written from the released notebook alone, before any was graded."""

import math

import numpy as np
import torch


def note_c_parameters__wrong_transposed(d, m, n):
    """Writes the matrices for row vectors: what they take first, what they give second."""
    return {"W_y": (d, n), "W_s": (n, n), "W_c": (m, n)}


def note_c_parameters__wrong_bidirectional(d, m, n):
    """Doubles the annotation, although this encoder reads in one direction."""
    return {"W_y": (n, d), "W_s": (n, n), "W_c": (n, 2 * m)}


def note_c_parameters__right_from_products(d, m, n):
    """Reads the shapes off matrices made for the purpose."""
    state = np.zeros(n)
    return {
        "W_y": np.outer(state, np.zeros(d)).shape,
        "W_s": np.outer(state, state).shape,
        "W_c": np.outer(state, np.zeros(m)).shape,
    }


def fusion_shapes__wrong_one_direction(d, m, n, r):
    """Forgets that an annotation joins both directions."""
    return {"joined": (d + m,), "L_1": (r, d + m), "W_input": (n, r), "W_context": (n, m)}


def fusion_shapes__wrong_context_matrix_on_r(d, m, n, r):
    """Lets note C's matrix end in the size r, although without the joining layer it goes to the state directly."""
    return {"joined": (d + 2 * m,), "L_1": (r, d + 2 * m), "W_input": (n, r), "W_context": (r, 2 * m)}


def fusion_shapes__wrong_whole_annotation_and_word_doubled(d, m, n, r):
    """Doubles the embedding as well as the annotation."""
    return {"joined": (2 * (d + m),), "L_1": (r, 2 * (d + m)), "W_input": (n, r), "W_context": (n, 2 * m)}


def fusion_shapes__wrong_input_takes_state_too(d, m, n, r):
    """Lets the input matrix take the old state as well, which has a matrix of its own."""
    return {"joined": (d + 2 * m,), "L_1": (r, d + 2 * m), "W_input": (n, r + n), "W_context": (n, 2 * m)}


def fusion_shapes__right_linear_layers(d, m, n, r):
    """Makes layers of torch and reads the shapes of their weights."""
    joined = torch.cat([torch.zeros(d), torch.zeros(2 * m)])
    return {
        "joined": tuple(joined.shape),
        "L_1": tuple(torch.nn.Linear(len(joined), r, bias=False).weight.shape),
        "W_input": tuple(torch.nn.Linear(r, n, bias=False).weight.shape),
        "W_context": tuple(torch.nn.Linear(2 * m, n, bias=False).weight.shape),
    }


def note_d_shapes__wrong_bias_without_column(V_out, m, n):
    """Writes the bias as a vector with one axis, although a matrix of one column is asked for."""
    return {"W_D": (n, n), "U_D": (n, V_out), "W_a": (n, m), "b_D": (n,)}


def note_d_shapes__wrong_word_as_embedding(V_out, m, n):
    """Takes the word to be as large as the state, as if it were embedded, and not a one-hot column."""
    return {"W_D": (n, n), "U_D": (n, n), "W_a": (n, m), "b_D": (n, 1)}


def note_d_shapes__wrong_bias_row(V_out, m, n):
    """Writes the bias as a row where a column belongs."""
    return {"W_D": (n, n), "U_D": (n, V_out), "W_a": (n, m), "b_D": (1, n)}


def note_d_shapes__right_numpy_whole_numbers(V_out, m, n):
    """Holds the sizes as numpy whole numbers."""
    columns = {"W_D": n, "U_D": V_out, "W_a": m, "b_D": 1}
    return {name: tuple(np.array([n, width])) for name, width in columns.items()}


def training_shapes__wrong_joined_of_all_steps(batch, d, m, n, T_y):
    """Gives what is joined an axis of steps, although one step alone was asked for."""
    return {"projected_words": (batch, T_y, n), "joined": (batch, T_y, d + m), "states": (batch, T_y, n)}


def training_shapes__wrong_words_not_projected(batch, d, m, n, T_y):
    """Gives the embeddings themselves, before W_y takes them to the size of the state."""
    return {"projected_words": (batch, T_y, d), "joined": (batch, d + m), "states": (batch, T_y, n)}


def training_shapes__wrong_first_state_counted(batch, d, m, n, T_y):
    """Stacks the state before the first step along with the new states, one too many."""
    return {"projected_words": (batch, T_y, n), "joined": (batch, d + m), "states": (batch, T_y + 1, n)}


def training_shapes__right_torch_stack(batch, d, m, n, T_y):
    """Goes through the loop with empty tensors and reads their sizes."""
    projected = torch.zeros(batch, T_y, d) @ torch.zeros(n, d).T
    joined = torch.cat([torch.zeros(batch, d), torch.zeros(batch, m)], dim=-1)
    states = torch.stack([torch.zeros(batch, n) for _ in range(T_y)], dim=1)
    return {"projected_words": projected.size(), "joined": joined.size(), "states": states.size()}


def note_c_state__wrong_dot_product_scores():
    """Scores with dot products of state and annotation instead of additive scores."""
    s, h = np.array([0.5, 0.5]), np.array([[0.2, 0.2], [0.8, 0.8]])
    w = np.exp(h @ s) / np.exp(h @ s).sum()
    return np.tanh(np.array([0.6, 0.4]) + s + w @ h).tolist()


def note_c_state__wrong_equal_weights():
    """Guesses equal weights and mixes to the mean annotation (0.5, 0.5)."""
    return [math.tanh(0.6 + 0.5 + 0.5), math.tanh(0.4 + 0.5 + 0.5)]


def note_c_state__wrong_context_added_outside():
    """Adds the context after the tanh."""
    w2 = 1 / (1 + math.exp(2 * math.tanh(0.7) - 2 * math.tanh(1.3)))
    c = 0.2 + 0.6 * w2
    return [math.tanh(1.1) + c, math.tanh(0.9) + c]


def step_by_hand__wrong_state_matrix_transposed():
    """Multiplies the old state from the left of W_s in the recurrence, which transposes the matrix."""
    s, x = np.array([0.5, -0.4, 0.2]), np.array([0.6, -0.3])
    h = np.array([[0.3, -0.2, 0.5, 0.1], [-0.6, 0.4, 0.1, 0.8], [0.9, 0.7, -0.4, 0.2]])
    W_query, v = np.array([[1, 0, 2], [0, -1, 1]]), np.array([1.5, -1])
    W_key = np.array([[1, 0, 0, -1], [0, 2, 1, 0]])
    W_y, W_s = np.array([[1, 0], [0, 2], [1, -1]]), np.array([[0, 1, 0], [1, 0, 0], [0, -1, 1]])
    W_c = np.array([[1, 0, 0, 1], [0, -1, 0, 2], [0, 1, 1, 0]])
    e = np.tanh(h @ W_key.T + W_query @ s) @ v
    w = np.exp(e) / np.exp(e).sum()
    c = w @ h
    state = np.tanh(W_y @ x + s @ W_s + W_c @ c)
    return {"scores": e.tolist(), "weights": w.tolist(), "context": c.tolist(), "state": state.tolist()}


def step_by_hand__wrong_score_without_tanh():
    """Leaves the tanh out of the scores, so that everything after them is off too."""
    s, x = np.array([0.5, -0.4, 0.2]), np.array([0.6, -0.3])
    h = np.array([[0.3, -0.2, 0.5, 0.1], [-0.6, 0.4, 0.1, 0.8], [0.9, 0.7, -0.4, 0.2]])
    W_query, v = np.array([[1, 0, 2], [0, -1, 1]]), np.array([1.5, -1])
    W_key = np.array([[1, 0, 0, -1], [0, 2, 1, 0]])
    W_y, W_s = np.array([[1, 0], [0, 2], [1, -1]]), np.array([[0, 1, 0], [1, 0, 0], [0, -1, 1]])
    W_c = np.array([[1, 0, 0, 1], [0, -1, 0, 2], [0, 1, 1, 0]])
    e = (h @ W_key.T + W_query @ s) @ v
    w = np.exp(e) / np.exp(e).sum()
    c = w @ h
    state = np.tanh(W_y @ x + W_s @ s + W_c @ c)
    return {"scores": e.tolist(), "weights": w.tolist(), "context": c.tolist(), "state": state.tolist()}


def step_by_hand__wrong_weights_rounded_to_one_decimal():
    """Carries the weights on with a single decimal, so context and state miss the four decimals asked for."""
    s, x = np.array([0.5, -0.4, 0.2]), np.array([0.6, -0.3])
    h = np.array([[0.3, -0.2, 0.5, 0.1], [-0.6, 0.4, 0.1, 0.8], [0.9, 0.7, -0.4, 0.2]])
    W_query, v = np.array([[1, 0, 2], [0, -1, 1]]), np.array([1.5, -1])
    W_key = np.array([[1, 0, 0, -1], [0, 2, 1, 0]])
    W_y, W_s = np.array([[1, 0], [0, 2], [1, -1]]), np.array([[0, 1, 0], [1, 0, 0], [0, -1, 1]])
    W_c = np.array([[1, 0, 0, 1], [0, -1, 0, 2], [0, 1, 1, 0]])
    e = np.tanh(h @ W_key.T + W_query @ s) @ v
    w = np.exp(e) / np.exp(e).sum()
    c = np.round(w, 1) @ h
    state = np.tanh(W_y @ x + W_s @ s + W_c @ c)
    return {"scores": e.round(4), "weights": w.round(4), "context": c.round(4), "state": state.round(4)}


def step_by_hand__wrong_scored_with_new_state():
    """Makes a state from word and old state first and scores with that, as note B does, not with the old state."""
    s, x = np.array([0.5, -0.4, 0.2]), np.array([0.6, -0.3])
    h = np.array([[0.3, -0.2, 0.5, 0.1], [-0.6, 0.4, 0.1, 0.8], [0.9, 0.7, -0.4, 0.2]])
    W_query, v = np.array([[1, 0, 2], [0, -1, 1]]), np.array([1.5, -1])
    W_key = np.array([[1, 0, 0, -1], [0, 2, 1, 0]])
    W_y, W_s = np.array([[1, 0], [0, 2], [1, -1]]), np.array([[0, 1, 0], [1, 0, 0], [0, -1, 1]])
    W_c = np.array([[1, 0, 0, 1], [0, -1, 0, 2], [0, 1, 1, 0]])
    first = np.tanh(W_y @ x + W_s @ s)
    e = np.tanh(h @ W_key.T + W_query @ first) @ v
    w = np.exp(e) / np.exp(e).sum()
    c = w @ h
    state = np.tanh(W_y @ x + W_s @ s + W_c @ c)
    return {"scores": list(e), "weights": list(w), "context": list(c), "state": list(state)}


def step_by_hand__right_plain_python():
    """Does the sums in plain Python with a small helper for products, and rounds at the very end."""

    def times(matrix, vector):
        return [sum(a * b for a, b in zip(row, vector, strict=True)) for row in matrix]

    s, x = (0.5, -0.4, 0.2), (0.6, -0.3)
    h = ((0.3, -0.2, 0.5, 0.1), (-0.6, 0.4, 0.1, 0.8), (0.9, 0.7, -0.4, 0.2))
    asked = times(((1, 0, 2), (0, -1, 1)), s)
    scores = []
    for one in h:
        key = times(((1, 0, 0, -1), (0, 2, 1, 0)), one)
        scores.append(1.5 * math.tanh(asked[0] + key[0]) - math.tanh(asked[1] + key[1]))
    total = sum(map(math.exp, scores))
    weights = [math.exp(e) / total for e in scores]
    context = [sum(w * one[k] for w, one in zip(weights, h, strict=True)) for k in range(4)]
    terms = (
        times(((1, 0), (0, 2), (1, -1)), x),
        times(((0, 1, 0), (1, 0, 0), (0, -1, 1)), s),
        times(((1, 0, 0, 1), (0, -1, 0, 2), (0, 1, 1, 0)), context),
    )
    state = [math.tanh(a + b + c) for a, b, c in zip(*terms, strict=True)]
    found = {"scores": scores, "weights": weights, "context": context, "state": state}
    return {name: [round(number, 4) for number in numbers] for name, numbers in found.items()}


def note_d_state_twin__wrong_fourth_column():
    """Takes the fourth column of U_D for the third word because of counting from 0."""
    z0, c1 = np.array([0.2, -0.5]), np.array([0.4, -0.3, 0.2])
    W_D, b_D = np.array([[0, 1], [2, 0.5]]), np.array([0.15, -0.2])
    U_D = np.array([[0.3, -0.1, 0.6, 0], [0.2, 0.4, -0.7, 0.1]])
    W_a = np.array([[1, 0, -1], [0.5, 2, 0]])
    return np.tanh(W_D @ z0 + U_D[:, 3] + W_a @ c1 + b_D).tolist()


def note_d_state_twin__wrong_matrix_transposed():
    """Multiplies z_0 by the columns of W_D instead of its rows."""
    return [math.tanh(2 * -0.5 + 0.6 + 0.2 + 0.15), math.tanh(0.2 - 0.25 - 0.7 - 0.4 - 0.2)]


def note_d_state_twin__wrong_bias_forgotten():
    """Leaves out the bias."""
    return [math.tanh(-0.5 + 0.6 + 0.2), math.tanh(0.15 - 0.7 - 0.4)]


def note_d_state_twin__wrong_no_tanh():
    """Returns the sum inside g and forgets the tanh."""
    return [0.45, -1.15]


def note_d_state_twin__right_columns():
    """Works with columns and a one-hot column as the note does, and flattens at the end."""
    y0 = np.eye(4)[:, [2]]
    z0, c1 = np.array([[0.2], [-0.5]]), np.array([[0.4], [-0.3], [0.2]])
    total = np.array([[0, 1], [2, 0.5]]) @ z0 + np.array([[0.3, -0.1, 0.6, 0], [0.2, 0.4, -0.7, 0.1]]) @ y0
    total = total + np.array([[1, 0, -1], [0.5, 2, 0]]) @ c1 + np.array([[0.15], [-0.2]])
    return np.tanh(total).ravel().round(4).tolist()


def decoder_step_state__wrong_state_matrix_not_transposed(embedded, query, context, W_y, W_s, W_c):
    """Multiplies the old states by W_s from the right without a transpose, which only shows if W_s is not symmetric."""
    return np.tanh(embedded @ W_y.T + query @ W_s + context @ W_c.T)


def decoder_step_state__wrong_squeeze(embedded, query, context, W_y, W_s, W_c):
    """Computes with columns and squeezes them at the end, which drops axes of length 1 that belong there."""
    inside = W_y @ embedded[:, :, None] + W_s @ query[:, :, None] + W_c @ context[:, :, None]
    return np.tanh(inside).squeeze()


def decoder_step_state__wrong_three_tanh(embedded, query, context, W_y, W_s, W_c):
    """Squashes every term by itself and adds afterwards."""
    return np.tanh(embedded @ W_y.T) + np.tanh(query @ W_s.T) + np.tanh(context @ W_c.T)


def decoder_step_state__wrong_sentences_as_columns(embedded, query, context, W_y, W_s, W_c):
    """Leaves the sentences in the columns and forgets to turn the result round."""
    return np.tanh(W_y @ embedded.T + W_s @ query.T + W_c @ context.T)


def decoder_step_state__wrong_first_context_for_all(embedded, query, context, W_y, W_s, W_c):
    """Adds the context of the first sentence to all sentences, which works for a batch of one only."""
    return np.tanh(embedded @ W_y.T + query @ W_s.T + W_c @ context[0])


def decoder_step_state__wrong_sigmoid(embedded, query, context, W_y, W_s, W_c):
    """Uses the logistic function where the tanh belongs."""
    return 1 / (1 + np.exp(-(embedded @ W_y.T + query @ W_s.T + context @ W_c.T)))


def decoder_step_state__right_one_joined_product(embedded, query, context, W_y, W_s, W_c):
    """Puts the matrices side by side and the vectors end to end: one product."""
    return np.tanh(np.hstack([embedded, query, context]) @ np.hstack([W_y, W_s, W_c]).T)


def decoder_step_state__right_einsum(embedded, query, context, W_y, W_s, W_c):
    """Names the axes in three einsums."""
    inside = np.einsum("nd,bd->bn", W_y, embedded)
    inside += np.einsum("nk,bk->bn", W_s, query)
    inside += np.einsum("nm,bm->bn", W_c, context)
    return np.tanh(inside)


def decoder_step_state__right_row_list(embedded, query, context, W_y, W_s, W_c):
    """Treats one sentence after the other and returns the list of their states."""
    return [np.tanh(W_y @ e + W_s @ s + W_c @ c) for e, s, c in zip(embedded, query, context, strict=True)]


def fused_input__wrong_split_in_the_middle(embedded, context, L_1):
    """Splits the columns of L_1 in the middle instead of after the size of the embedding."""
    half = L_1.shape[1] // 2
    return np.maximum(embedded @ L_1[:, :half].T + context @ L_1[:, half:].T, 0)


def fused_input__wrong_context_first(embedded, context, L_1):
    """Joins the context first and the embedding second."""
    return np.maximum(np.concatenate([context, embedded], axis=1) @ L_1.T, 0)


def fused_input__wrong_flattened_batch(embedded, context, L_1):
    """Joins all numbers of the batch into one long vector, which works for a batch of one only."""
    joined = np.concatenate([embedded.ravel(), context.ravel()])
    return np.maximum(L_1 @ joined, 0)[None, :]


def fused_input__wrong_relu_of_each_part(embedded, context, L_1):
    """Applies the ReLU to the shares of word and context separately and adds what is left."""
    d = embedded.shape[1]
    return np.maximum(embedded @ L_1[:, :d].T, 0) + np.maximum(context @ L_1[:, d:].T, 0)


def fused_input__wrong_joined_along_the_batch(embedded, context, L_1):
    """Joins along the first axis, below each other, instead of end to end."""
    return np.maximum(np.concatenate([embedded, context], axis=0) @ L_1.T, 0)


def fused_input__wrong_absolute_value(embedded, context, L_1):
    """Takes the absolute value in place of the ReLU."""
    return np.abs(np.hstack((embedded, context)) @ L_1.T)


def fused_input__wrong_relu_on_what_is_joined(embedded, context, L_1):
    """Applies the ReLU to the joined vector, before the matrix, and nothing after it."""
    return np.maximum(np.hstack((embedded, context)), 0) @ L_1.T


def fused_input__right_split_matrix(embedded, context, L_1):
    """Cuts L_1 after the embedding's columns and adds the two shares before the ReLU."""
    d = embedded.shape[1]
    share_of_word, share_of_context = L_1[:, :d], L_1[:, d:]
    k = embedded @ share_of_word.T + context @ share_of_context.T
    return k * (k > 0)


def fused_input__right_half_of_sum_with_absolute(embedded, context, L_1):
    """Writes the ReLU as (x + |x|) / 2."""
    x = np.einsum("rj,bj->br", L_1, np.c_[embedded, context])
    return (x + np.abs(x)) / 2


def fused_input__right_sentence_by_sentence(embedded, context, L_1):
    """Joins, multiplies and clips one sentence at a time with plain lists."""
    rows = []
    for b in range(len(embedded)):
        joined = list(embedded[b]) + list(context[b])
        rows.append([max(0.0, sum(a * x for a, x in zip(line, joined, strict=True))) for line in L_1])
    return np.array(rows)


def decoder_step__wrong_empty_sentence_is_nan(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """Masks with minus infinity and leaves a sentence without a real token nan."""
    e = torch.tanh((query @ W_query.T)[:, None] + keys @ W_key.T) @ v
    w = torch.softmax(e.masked_fill(~source_mask, -torch.inf), dim=-1)
    c = torch.einsum("bj,bjk->bk", w, keys)
    return torch.tanh(embedded @ W_y.T + query @ W_s.T + c @ W_c.T)


def decoder_step__wrong_empty_sentence_is_averaged(
    query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c
):
    """Masks with one large negative number only: a sentence without a real token gets the mean of its pads."""
    e = torch.tanh((query @ W_query.T)[:, None] + keys @ W_key.T) @ v
    w = torch.softmax(e.masked_fill(~source_mask, -1e9), dim=-1)
    c = torch.einsum("bj,bjk->bk", w, keys)
    return torch.tanh(embedded @ W_y.T + query @ W_s.T + c @ W_c.T)


def decoder_step__wrong_updated_first(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """Updates the state without the context first and scores with the result, in note B's order."""
    inner = embedded @ W_y.T + query @ W_s.T
    e = torch.tanh((torch.tanh(inner) @ W_query.T)[:, None] + keys @ W_key.T) @ v
    w = torch.softmax(e.masked_fill(~source_mask, -1e30), dim=-1).masked_fill(~source_mask, 0.0)
    c = torch.einsum("bj,bjk->bk", w, keys)
    return torch.tanh(inner + c @ W_c.T)


def decoder_step__wrong_exponentials_overflow(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """Takes the exponentials of the scores themselves, which overflow for scores in the thousands."""
    e = torch.tanh((query @ W_query.T)[:, None] + keys @ W_key.T) @ v
    w = e.exp() * source_mask
    w = w / (w.sum(dim=1, keepdim=True) + 1e-12)
    c = torch.einsum("bj,bjk->bk", w, keys)
    return torch.tanh(embedded @ W_y.T + query @ W_s.T + c @ W_c.T)


def decoder_step__wrong_squeeze_all(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """Squeezes without an axis when the scores are made, so one sentence or one position loses its axis."""
    e = (torch.tanh((query @ W_query.T)[:, None] + keys @ W_key.T) @ v[:, None]).squeeze()
    w = torch.softmax(e.masked_fill(~source_mask.squeeze(), -1e30), dim=-1) * source_mask.squeeze()
    c = (w.unsqueeze(-1) * keys.squeeze()).sum(dim=-2)
    return torch.tanh(embedded @ W_y.T + query @ W_s.T + c @ W_c.T)


def decoder_step__wrong_context_through_state_matrix(
    query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c
):
    """Adds the projected context to the old state and sends both through W_s."""
    e = torch.tanh((query @ W_query.T)[:, None] + keys @ W_key.T) @ v
    w = torch.softmax(e.masked_fill(~source_mask, -1e30), dim=-1) * source_mask
    c = torch.einsum("bj,bjk->bk", w, keys)
    return torch.tanh(embedded @ W_y.T + (query + c @ W_c.T) @ W_s.T)


def decoder_step__right_linear_functions(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """Uses torch's linear function for every matrix, and bmm for the mixture."""
    linear = torch.nn.functional.linear
    e = linear(torch.tanh(linear(keys, W_key) + linear(query, W_query).unsqueeze(1)), v.unsqueeze(0)).squeeze(-1)
    w = torch.softmax(e.masked_fill(~source_mask, torch.finfo(e.dtype).min), dim=-1)
    w = w.masked_fill(~source_mask, 0.0)
    c = torch.bmm(w.unsqueeze(1), keys).squeeze(1)
    return torch.tanh(linear(embedded, W_y) + linear(query, W_s) + linear(c, W_c))


def decoder_step__right_sentence_loop(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """Takes one sentence at a time and only its real annotations."""
    states = []
    for b in range(query.shape[0]):
        real = keys[b][source_mask[b]]
        e = torch.tanh(W_query @ query[b] + real @ W_key.T) @ v
        c = torch.softmax(e, dim=0) @ real
        states.append(torch.tanh(W_y @ embedded[b] + W_s @ query[b] + W_c @ c))
    return torch.stack(states)


def decoder_step__right_einsum_and_where(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """Names all axes by einsum, and joins the three terms of the recurrence in one product."""
    hidden = torch.tanh(torch.einsum("aq,bq->ba", W_query, query)[:, None] + torch.einsum("ak,bjk->bja", W_key, keys))
    e = torch.einsum("a,bja->bj", v, hidden)
    e = torch.where(source_mask, e, -1e30)
    w = torch.where(source_mask, torch.softmax(e, dim=1), 0.0)
    joined = torch.cat([embedded, query, torch.einsum("bj,bjk->bk", w, keys)], dim=1)
    return torch.tanh(torch.einsum("nx,bx->bn", torch.cat([W_y, W_s, W_c], dim=1), joined))
