"""Answers written from the released notebook alone, before any was graded."""


import numpy as np
import torch


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
