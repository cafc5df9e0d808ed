import math

import numpy as np
import torch






def _clean(keys, mask):
    return keys.masked_fill(~mask[:, :, None], 0.0)


def _additive(query, keys, W_query, W_key, v):
    return torch.tanh((query @ W_query.T)[:, None] + keys @ W_key.T) @ v


def _new(embedded, query, context, W_y, W_s, W_c):
    return torch.tanh(embedded @ W_y.T + query @ W_s.T + context @ W_c.T)


def _read(w, keys):
    return torch.einsum("bj,bjk->bk", w, keys)


def _sig(x):
    return 0.5 * (1.0 + np.tanh(0.5 * x))


def _fit(x, W):
    return x @ W if W.shape[0] == x.shape[1] else x @ W.T






# ---------------------------------------------------------------- shapes
def note_c_parameters__wrong_rows_are_inputs(d, m, n):
    """Writes the shapes as (inputs, outputs) instead of (outputs, inputs)."""
    return dict(W_y=(d, n), W_s=(n, n), W_c=(m, n))


def note_c_parameters__wrong_annotation_doubled(d, m, n):
    """Doubles the annotation, though the encoder reads in one direction here."""
    return dict(W_y=(n, d), W_s=(n, n), W_c=(n, 2 * m))


def note_c_parameters__right_lists(d, m, n):
    """Gives each shape as a list."""
    return {"W_c": [n, m], "W_y": [n, d], "W_s": [n, n]}




def fusion_shapes__wrong_column(d, m, n, r):
    """Gives the joined vector as a matrix of one column, with two axes."""
    return dict(joined=(d + 2 * m, 1), L_1=(r, d + 2 * m), W_input=(n, r), W_context=(n, 2 * m))




def fusion_shapes__right_arrays(d, m, n, r):
    """Makes empty arrays and reads their shapes."""
    j = np.concatenate([np.empty(d), np.empty(m), np.empty(m)])
    return dict(joined=j.shape, L_1=np.empty((r, len(j))).shape, W_input=np.empty((n, r)).shape, W_context=(n, m + m))


def note_d_shapes__wrong_bias_vector(V_out, m, n):
    """Writes the bias with one axis instead of as a column."""
    return dict(W_D=(n, n), U_D=(n, V_out), W_a=(n, m), b_D=(n,))


def note_d_shapes__right_integers_of_numpy(V_out, m, n):
    """Gives the sizes as integers of numpy."""
    n, m, V_out = np.int64(n), np.int64(m), np.int64(V_out)
    return dict(W_D=(n, n), U_D=(n, V_out), W_a=(n, m), b_D=(n, np.int64(1)))


def training_shapes__wrong_steps_first(batch, d, m, n, T_y):
    """Puts the steps before the batch."""
    return dict(projected_words=(T_y, batch, n), joined=(batch, d + m), states=(T_y, batch, n))


def training_shapes__wrong_words_not_projected(batch, d, m, n, T_y):
    """Gives the embedded words themselves, with d numbers, before W_y has made n of them."""
    return dict(projected_words=(batch, T_y, d), joined=(batch, d + m), states=(batch, T_y, n))


def training_shapes__right_torch_size(batch, d, m, n, T_y):
    """Gives torch.Size for each shape."""
    s = torch.Size([batch, T_y, n])
    return dict(projected_words=s, joined=torch.Size([batch, d + m]), states=s)








def paper_shapes__right_annotation_named(m, n, a, pairs, V_y):
    """Names the size of an annotation first and builds the rest on it."""
    annotation = n + n
    return dict(W_r=(n, m), C_r=(n, annotation), U_a=(a, annotation), C_o=(pairs + pairs, annotation), W_o=(V_y, pairs))


def stacked_gates__wrong_three_on_state(batch, d, m, n):
    """Stacks three matrices on the old state, though the candidate's acts on the reset state."""
    return dict(W_input=(3 * n, d + m), W_gates=(3 * n, n), from_input=(batch, 3 * n), update=(batch, n))


def stacked_gates__wrong_update_scalar(batch, d, m, n):
    """Takes the update gate for one number a sentence."""
    return dict(W_input=(3 * n, d + m), W_gates=(2 * n, n), from_input=(batch, 3 * n), update=(batch, 1))


def stacked_gates__right_stacked(batch, d, m, n):
    """Stacks real arrays and multiplies them."""
    W = np.vstack([np.zeros((n, d + m))] * 3)
    G = np.vstack([np.zeros((n, n))] * 2)
    f = np.zeros((batch, d + m)) @ W.T
    return dict(W_input=W.shape, W_gates=G.shape, from_input=f.shape, update=f[:, :n].shape)


# ---------------------------------------------------------------- numbers
def note_c_state__wrong_two_decimals():
    """Rounds the weights to two decimals and carries those on."""
    w = round(1 / (1 + math.exp(2 * math.tanh(1.3) - 2 * math.tanh(0.7))), 2)
    c = 0.2 * w + 0.8 * (1 - w)
    return [math.tanh(1.1 + c), math.tanh(0.9 + c)]




def note_c_state__right_sigmoid():
    """Writes the softmax of two scores as a sigmoid of their difference, in a numpy array."""
    w = 1 / (1 + np.exp(2 * np.tanh(0.7) - 2 * np.tanh(1.3)))
    return np.tanh(np.array([1.1, 0.9]) + 0.2 + 0.6 * w)


_S, _E = np.array([0.5, -0.4, 0.2]), np.array([0.6, -0.3])
_H = np.array([[0.3, -0.2, 0.5, 0.1], [-0.6, 0.4, 0.1, 0.8], [0.9, 0.7, -0.4, 0.2]])
_A, _V = np.array([[1.0, 0, 2], [0, -1, 1]]), np.array([1.5, -1])
_B = np.array([[1.0, 0, 0, -1], [0, 2, 1, 0]])
_Y, _Z = np.array([[1.0, 0], [0, 2], [1, -1]]), np.array([[0.0, 1, 0], [1, 0, 0], [0, -1, 1]])
_C = np.array([[1.0, 0, 0, 1], [0, -1, 0, 2], [0, 1, 1, 0]])


def _hand(scores=None, keep=True, last=np.tanh):
    e = np.array([_V @ np.tanh(_A @ _S + _B @ h) for h in _H]) if scores is None else scores
    w = np.exp(e) / np.exp(e).sum()
    c = w @ _H
    s = last(_Y @ _E + (_Z @ _S if keep else 0.0) + _C @ c)
    return dict(scores=e.tolist(), weights=w.tolist(), context=c.tolist(), state=s.tolist())






def step_by_hand__right_rounded():
    """Computes all in full and rounds to four decimals at the end."""
    return {k: [round(x, 4) for x in v] for k, v in _hand().items()}


def note_d_state_twin__wrong_second_word():
    """Takes the second column of U_D, counting the third word from 0 as number 1."""
    return [math.tanh(-0.1 + -0.5 + 0.2 + 0.15), math.tanh(0.4 + 0.15 + -0.4 + -0.2)]




def note_d_state_twin__right_matrices():
    """Multiplies columns, and returns them as a flat list."""
    z = np.array([[0, 1], [2, 0.5]]) @ [[0.2], [-0.5]] + np.array([[0.3, -0.1, 0.6, 0], [0.2, 0.4, -0.7, 0.1]]) @ [[0], [0], [1], [0]]
    z = z + np.array([[1, 0, -1], [0.5, 2, 0]]) @ [[0.4], [-0.3], [0.2]] + [[0.15], [-0.2]]
    return np.tanh(z).ravel().tolist()




def decoder_step_state__wrong_single_precision(embedded, query, context, W_y, W_s, W_c):
    """Computes in single precision."""
    f = np.float32
    x = embedded.astype(f) @ W_y.T.astype(f) + query.astype(f) @ W_s.T.astype(f) + context.astype(f) @ W_c.T.astype(f)
    return np.tanh(x)


def decoder_step_state__wrong_subtle_layout_guessed(embedded, query, context, W_y, W_s, W_c):
    """Transposes a matrix only if it does not fit otherwise, so that square matrices are taken the wrong way round."""
    return np.tanh(_fit(embedded, W_y) + query @ W_s.T + _fit(context, W_c))




def decoder_step_state__wrong_subtle_clipped(embedded, query, context, W_y, W_s, W_c):
    """Clips the argument of the tanh to 8 in size, where it is still 2e-7 away from 1."""
    return np.tanh(np.clip(embedded @ W_y.T + query @ W_s.T + context @ W_c.T, -8, 8))


def decoder_step_state__right_one_product(embedded, query, context, W_y, W_s, W_c):
    """Joins the three vectors and the three matrices, and multiplies once."""
    return np.tanh(np.hstack([context, embedded, query]) @ np.hstack([W_c, W_y, W_s]).T)


def decoder_step_state__right_scalar_loops(embedded, query, context, W_y, W_s, W_c):
    """Adds the terms entry by entry with math.tanh, into tuples."""
    dot = lambda row, x: sum(p * q for p, q in zip(row, x))
    return tuple(
        tuple(math.tanh(dot(W_y[i], e) + dot(W_s[i], s) + dot(W_c[i], c)) for i in range(len(W_s)))
        for e, s, c in zip(embedded, query, context)
    )








def fused_input__wrong_subtle_smooth(embedded, context, L_1):
    """Takes a steep softplus for the ReLU, which near 0 is not 0."""
    return np.logaddexp(0.0, 1000 * (np.hstack([embedded, context]) @ L_1.T)) / 1000




def fused_input__right_split_matrix(embedded, context, L_1):
    """Splits the matrix instead of joining the vectors, and erases what is negative."""
    d = embedded.shape[1]
    k = embedded @ L_1[:, :d].T + context @ L_1[:, d:].T
    k[k < 0] = 0.0
    return k


def fused_input__right_half_absolute(embedded, context, L_1):
    """Writes the ReLU as half of a number and its size, in torch."""
    k = torch.as_tensor(np.concatenate([embedded, context], axis=1)) @ torch.as_tensor(L_1).T
    return (k + k.abs()) / 2


# ---------------------------------------------------------------- decoder_step
def decoder_step__wrong_unmasked(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """Gives pads a share of the weights."""
    w = torch.softmax(_additive(query, keys, W_query, W_key, v), 1)
    return _new(embedded, query, _read(w, keys), W_y, W_s, W_c)


def decoder_step__wrong_scores_zeroed(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """Sets the scores of pads to 0 before the softmax, so that they take part in the sum."""
    w = torch.softmax(_additive(query, keys, W_query, W_key, v) * source_mask, 1)
    return _new(embedded, query, _read(w * source_mask, _clean(keys, source_mask)), W_y, W_s, W_c)








def decoder_step__wrong_subtle_squeezed(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """Squeezes the scores, so that a single sentence or a single position loses an axis, and the softmax takes what is last."""
    keys = _clean(keys, source_mask)
    s = torch.tanh((query @ W_query.T)[:, None] + keys @ W_key.T) @ v[:, None]
    s = s.squeeze().masked_fill(~source_mask.squeeze(), -1e30)
    w = (torch.softmax(s, -1) * source_mask.squeeze()).reshape(len(keys), -1)
    return _new(embedded, query, _read(w, keys), W_y, W_s, W_c).squeeze(0)


def decoder_step__right_sentence_by_sentence(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """Takes one sentence at a time with its real tokens alone, new zeros for an empty one."""
    out = []
    for b in range(query.shape[0]):
        h = keys[b][source_mask[b]]
        c = torch.zeros(keys.shape[2], dtype=keys.dtype)
        if h.shape[0]:
            c = torch.softmax(torch.tanh(W_query @ query[b] + h @ W_key.T) @ v, 0) @ h
        out.append(torch.tanh(W_y @ embedded[b] + W_s @ query[b] + W_c @ c))
    return torch.stack(out)


def decoder_step__right_fill_minus_infinity(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """Fills with minus infinity and erases the pads' weights, nan or not, by masked_fill, which stops their gradients."""
    h = torch.where(source_mask.unsqueeze(-1), keys, 0.0)
    s = torch.einsum("a,bja->bj", v, torch.tanh(torch.einsum("aq,bq->ba", W_query, query).unsqueeze(1) + h @ W_key.mT))
    w = torch.softmax(s.masked_fill(~source_mask, -torch.inf), -1).masked_fill(~source_mask, 0.0)
    return torch.cat([embedded, query, (w.unsqueeze(1) @ h).squeeze(1)], 1).matmul(torch.cat([W_y, W_s, W_c], 1).T).tanh()


# ---------------------------------------------------------------- gated_step
def _gated(e, s, c, W, U, R, cand=None, sig=_sig, tanh=np.tanh):
    u = sig(e @ U[0].T + s @ U[1].T + c @ U[2].T)
    r = sig(e @ R[0].T + s @ R[1].T + c @ R[2].T)
    t = tanh(e @ W[0].T + (cand(r, s) if cand else (r * s) @ W[1].T) + c @ W[2].T)
    return (1 - u) * s + u * t










def gated_step__wrong_subtle_exponentials_overflow(
    embedded, query, context, W_y, W_s, W_c, W_y_update, W_s_update, W_c_update, W_y_reset, W_s_reset, W_c_reset
):
    """Writes the candidate's tanh by the exponential of twice its argument, which overflows to nan beyond 355."""
    U, R = (W_y_update, W_s_update, W_c_update), (W_y_reset, W_s_reset, W_c_reset)
    tanh = lambda x: (np.exp(2 * x) - 1) / (np.exp(2 * x) + 1)
    return _gated(embedded, query, context, (W_y, W_s, W_c), U, R, tanh=tanh)


def gated_step__wrong_subtle_gate_clipped(
    embedded, query, context, W_y, W_s, W_c, W_y_update, W_s_update, W_c_update, W_y_reset, W_s_reset, W_c_reset
):
    """Clips what enters the gates to 15 in size, so that a closed gate still lets 3e-7 through."""
    U, R = (W_y_update, W_s_update, W_c_update), (W_y_reset, W_s_reset, W_c_reset)
    return _gated(embedded, query, context, (W_y, W_s, W_c), U, R, sig=lambda x: _sig(np.clip(x, -15, 15)))


def gated_step__right_plain_exponentials(
    embedded, query, context, W_y, W_s, W_c, W_y_update, W_s_update, W_c_update, W_y_reset, W_s_reset, W_c_reset
):
    """Takes the sigmoid as it stands in the text, sentence by sentence, and mixes by a step from the old state."""
    out = []
    for e, s, c in zip(embedded, query, context):
        u = 1 / (1 + np.exp(-(W_y_update @ e + W_s_update @ s + W_c_update @ c)))
        r = 1 / (1 + np.exp(-(W_y_reset @ e + W_s_reset @ s + W_c_reset @ c)))
        out.append(s + u * (np.tanh(W_y @ e + W_s @ (r * s) + W_c @ c) - s))
    return out


def gated_step__right_stacked(
    embedded, query, context, W_y, W_s, W_c, W_y_update, W_s_update, W_c_update, W_y_reset, W_s_reset, W_c_reset
):
    """Stacks the matrices as in exercise 5.6, with torch's sigmoid."""
    n = query.shape[1]
    x = np.hstack([embedded, context]) @ np.block([[W_y_update, W_c_update], [W_y_reset, W_c_reset], [W_y, W_c]]).T
    g = torch.sigmoid(torch.tensor(x[:, : 2 * n] + query @ np.vstack([W_s_update, W_s_reset]).T)).numpy()
    u, r = np.split(g, 2, axis=1)
    return (1 - u) * query + u * np.tanh(x[:, 2 * n :] + (r * query) @ W_s.T)














def luong_step__right_sentence_by_sentence(fed, embedded, query, keys, source_mask, W_y, W_s, W_fed, W, W_mix):
    """Takes one sentence after the other and selects its real tokens."""
    out = np.empty_like(fed)
    for b, ok in enumerate(source_mask):
        s = np.tanh(W_y @ embedded[b] + W_s @ query[b] + W_fed @ fed[b])
        h = keys[b, ok]
        c = np.zeros(keys.shape[2])
        if ok.any():
            e = h @ (s @ W)
            c = np.exp(e - e.max()) @ h / np.exp(e - e.max()).sum()
        out[b] = np.tanh(W_mix @ np.r_[c, s])
    return out


def luong_step__right_overwrites(fed, embedded, query, keys, source_mask, W_y, W_s, W_fed, W, W_mix):
    """Erases pads in the given keys and writes the result over what was fed."""
    state = np.tanh(np.hstack([embedded, query, fed]) @ np.hstack([W_y, W_s, W_fed]).T)
    keys[~source_mask] = 0.0
    s = torch.from_numpy(np.einsum("bn,bjn->bj", state, keys @ W.T)).masked_fill(torch.from_numpy(~source_mask), -1e300)
    w = torch.softmax(s, 1).numpy()
    k = keys.shape[2]
    fed[:] = np.tanh((w[:, None] @ keys)[:, 0] @ W_mix[:, :k].T + state @ W_mix[:, k:].T)
    return fed
