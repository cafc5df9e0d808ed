import math

import numpy as np
import torch


def _soft(e):
    e = np.asarray(e, dtype=float)
    p = np.exp(e - e.max(axis=-1, keepdims=True))
    return p / p.sum(axis=-1, keepdims=True)


def _logits(state, context, W_state, W_context, b_o):
    return state @ W_state.T + context @ W_context.T + b_o


def _costs(logits, targets):
    top = logits.max(axis=-1)
    lse = top + np.log(np.exp(logits - top[..., None]).sum(axis=-1))
    return lse - np.take_along_axis(logits, targets[..., None], axis=-1)[..., 0]


# ---- note_d_output
def note_d_output__wrong_transposed(n, V_y):
    """Writes the matrix with the state's size first, as if rows were multiplied from the left."""
    return {"W_o": (n, V_y), "b_o": (V_y,)}


def note_d_output__wrong_bias_of_state(n, V_y):
    """Gives the bias the size of the state instead of one number per word."""
    return {"W_o": (V_y, n), "b_o": (n,)}


def note_d_output__wrong_subtle_context_size(n, V_y):
    """Takes c_1 for a context that is joined to the state and doubles the columns of the matrix."""
    return {"W_o": (V_y, 2 * n), "b_o": (V_y,)}


def note_d_output__wrong_subtle_bias_column(n, V_y):
    """Writes the bias as a matrix of one column, though a vector of p numbers is to have the shape (p,)."""
    return {"W_o": (V_y, n), "b_o": (V_y, 1)}


def note_d_output__right_linear(n, V_y):
    """Reads the shapes of the parameters of torch.nn.Linear."""
    layer = torch.nn.Linear(n, V_y)
    return {"W_o": layer.weight.shape, "b_o": layer.bias.shape}


# ---- every_step_shapes
def every_step_shapes__wrong_steps_first(batch, T_y, n, d, m, V_y):
    """Puts the steps before the batch."""
    s = n + d + m
    return {"joined": (T_y, batch, s), "W_o": (V_y, s), "logits": (T_y, batch, V_y), "flat_logits": (T_y * batch, V_y)}


def every_step_shapes__wrong_flat_per_sentence(batch, T_y, n, d, m, V_y):
    """Flattens the steps into the words: one row per sentence, not one per step."""
    s = n + d + m
    return {"joined": (batch, T_y, s), "W_o": (V_y, s), "logits": (batch, T_y, V_y), "flat_logits": (batch, T_y * V_y)}


def every_step_shapes__wrong_matrix_transposed(batch, T_y, n, d, m, V_y):
    """Writes the output matrix with its columns first."""
    s = n + d + m
    return {"joined": (batch, T_y, s), "W_o": (s, V_y), "logits": (batch, T_y, V_y), "flat_logits": (batch * T_y, V_y)}


def every_step_shapes__wrong_subtle_without_embedding(batch, T_y, n, d, m, V_y):
    """Forgets the embedding in what is joined."""
    s = n + m
    return {"joined": (batch, T_y, s), "W_o": (V_y, s), "logits": (batch, T_y, V_y), "flat_logits": (batch * T_y, V_y)}


def every_step_shapes__wrong_subtle_one_hot_word(batch, T_y, n, d, m, V_y):
    """Joins the one-hot word with V_y numbers in place of its embedding with d."""
    s = n + V_y + m
    return {"joined": (batch, T_y, s), "W_o": (V_y, s), "logits": (batch, T_y, V_y), "flat_logits": (batch * T_y, V_y)}


def every_step_shapes__right_arrays(batch, T_y, n, d, m, V_y):
    """Joins real arrays, multiplies and reshapes them."""
    j = np.concatenate([np.ones((batch, T_y, k)) for k in (n, d, m)], axis=-1)
    W = np.ones((V_y, j.shape[-1]))
    z = j @ W.T
    return {"joined": j.shape, "W_o": W.shape, "logits": z.shape, "flat_logits": z.reshape(-1, V_y).shape}


# ---- maxout_shapes
def maxout_shapes__wrong_not_doubled(n, d, m, k, V_y):
    """Forgets that there are two numbers for each maximum before the maxout."""
    return {"U_o": (k, n), "C_o": (k, m), "maxima": (k,), "W_o": (V_y, k)}


def maxout_shapes__wrong_doubled_after(n, d, m, k, V_y):
    """Keeps all 2k numbers after the maxout."""
    return {"U_o": (2 * k, n), "C_o": (2 * k, m), "maxima": (2 * k,), "W_o": (V_y, 2 * k)}


def maxout_shapes__wrong_transposed(n, d, m, k, V_y):
    """Writes all matrices with the incoming size first."""
    return {"U_o": (n, 2 * k), "C_o": (m, 2 * k), "maxima": (k,), "W_o": (k, V_y)}


def maxout_shapes__wrong_subtle_halved(n, d, m, k, V_y):
    """Takes k for the size before the maxout and halves it."""
    return {"U_o": (k, n), "C_o": (k, m), "maxima": (k // 2,), "W_o": (V_y, k // 2)}


def maxout_shapes__wrong_subtle_context_as_word(n, d, m, k, V_y):
    """Gives C_o the size of the embedding in place of the context's."""
    return {"U_o": (2 * k, n), "C_o": (2 * k, d), "maxima": (k,), "W_o": (V_y, k)}


def maxout_shapes__right_reshape(n, d, m, k, V_y):
    """Runs the layer on zeros and takes the maximum over pairs."""
    U, C = np.zeros((k + k, n)), np.zeros((k + k, m))
    t = (U @ np.zeros(n) + C @ np.zeros(m)).reshape(k, 2).max(axis=1)
    return dict(U_o=U.shape, C_o=C.shape, maxima=t.shape, W_o=(V_y,) + t.shape)


# ---- tied_shapes
def tied_shapes__wrong_embedding_by_rows(n, d, V_y):
    """Writes one word per row, not in the layout of E y."""
    return {"E": (V_y, d), "W": (n, d), "projected_state": (d,), "logits": (V_y,)}


def tied_shapes__wrong_matrix_transposed(n, d, V_y):
    """Writes W as the matrix from the state to the embedding, though the state stands on its left."""
    return {"E": (d, V_y), "W": (d, n), "projected_state": (d,), "logits": (V_y,)}


def tied_shapes__wrong_subtle_projected_size(n, d, V_y):
    """Leaves the projected state with the size of the state."""
    return {"E": (d, V_y), "W": (n, d), "projected_state": (n,), "logits": (V_y,)}


def tied_shapes__wrong_subtle_matrix_to_words(n, d, V_y):
    """Lets W lead from the state to the words, though E does that after it."""
    return {"E": (d, V_y), "W": (n, V_y), "projected_state": (d,), "logits": (V_y,)}


def tied_shapes__right_torch(n, d, V_y):
    """Multiplies torch tensors and returns tuples of their sizes."""
    E, W = torch.zeros(d, V_y), torch.zeros(n, d)
    p = W.T @ torch.zeros(n)
    return {"E": tuple(E.size()), "W": tuple(W.size()), "projected_state": tuple(p.size()), "logits": tuple((p @ E).size())}


# ---- hindi_distribution
_W_H = np.array([[0, 0, 0], [2, 2, 2], [1, 0, 0], [0, 1, 0], [0, 0, 1], [-1, -1, -1.0]])
_Z_H = np.tanh([0.42, 0.67, 0.70])


def hindi_distribution__wrong_no_tanh():
    """Multiplies the raw numbers and forgets the tanh."""
    return list(_soft(_W_H @ np.array([0.42, 0.67, 0.70])))


def hindi_distribution__wrong_base_two():
    """Takes powers of 2 in place of powers of e."""
    p = 2.0 ** (_W_H @ _Z_H)
    return list(p / p.sum())


def hindi_distribution__wrong_subtle_start_forbidden():
    """Gives START no probability because it cannot be predicted."""
    return [0.0] + list(_soft((_W_H @ _Z_H)[1:]))


def hindi_distribution__wrong_subtle_state_two_decimals():
    """Rounds the state to two decimals before the product."""
    return list(_soft(_W_H @ np.round(_Z_H, 2)))


def hindi_distribution__right_pure_python():
    """Uses math only and rounds to four decimals."""
    z = [math.tanh(x) for x in (0.42, 0.67, 0.70)]
    e = [math.exp(x) for x in (0, 2 * sum(z), *z, -sum(z))]
    return [round(x / math.fsum(e), 4) for x in e]


# ---- distribution_and_loss
_L5 = np.array([0.5, -1.0, 2.0, 0.0, 1.2])


def distribution_and_loss__wrong_bits():
    """Gives the loss in bits."""
    p = _soft(_L5)
    return {"distribution": list(p), "loss": -math.log2(p[4])}


def distribution_and_loss__wrong_largest_word():
    """Takes the most probable word for the right one."""
    p = _soft(_L5)
    return {"distribution": list(p), "loss": -math.log(p.max())}


def distribution_and_loss__wrong_sign():
    """Forgets the minus sign of the cross-entropy."""
    p = _soft(_L5)
    return {"distribution": list(p), "loss": math.log(p[4])}


def distribution_and_loss__wrong_subtle_entropy():
    """Gives the entropy of the distribution in place of the cross-entropy of the right word."""
    p = _soft(_L5)
    return {"distribution": list(p), "loss": -float(p @ np.log(p))}


def distribution_and_loss__wrong_subtle_loss_of_two_decimals():
    """Takes the logarithm of the probability rounded to two decimals."""
    p = _soft(_L5)
    return {"distribution": list(p), "loss": -math.log(round(p[4], 2))}


def distribution_and_loss__right_logsumexp():
    """Gets the loss as logsumexp minus logit, with numpy arrays as values."""
    lse = np.logaddexp.reduce(_L5)
    return {"distribution": np.exp(_L5 - lse), "loss": lse - 1.2}


# ---- what_is_left
def what_is_left__wrong_per_word():
    """Divides what is left over by the number of the other words."""
    return {"left": 0.35 / 19995, "loss": -math.log(0.64)}


def what_is_left__wrong_log_ten():
    """Takes the logarithm to base 10."""
    return {"left": 0.35, "loss": -math.log10(0.64)}


def what_is_left__wrong_subtle_all_but_right():
    """Subtracts only the right word's probability from 1."""
    return {"left": 0.36, "loss": -math.log(0.64)}


def what_is_left__wrong_subtle_renormalised():
    """Divides the right word's probability by the sum of the five that are shown."""
    return {"left": 0.35, "loss": -math.log(0.64 / 0.65)}


def what_is_left__right_cut_off():
    """Cuts the loss off after four decimals and leaves the float error of the sum."""
    return {"left": 1 - sum([0.004, 0.001, 0.002, 0.64, 0.003]), "loss": 0.4462}


# ---- word_by_hand
def _word(old_in_output=False, weights_of=_soft, q_sign=1, no_context=False, bias=True, tanh_score=True, swap=False, digits=None):
    r = (lambda x: np.round(x, digits)) if digits else (lambda x: x)
    s = np.array([0.4, -0.6])
    H = np.array([[0.5, -0.2, 0.1, 0.3], [-0.4, 0.6, 0.2, -0.1]])
    Wq, v = np.array([[1, -1], [0, 2], [0.5, 1]]), np.array([1, -2, 1.5])
    Wk = np.array([[1, 0, 0, 2], [0, 1, -1, 0], [0, 0, 2, 1.0]])
    Ws, Wc = np.array([[0.5, 1], [-1, 0]]), np.array([[2, 0, -1, 0.5], [0, 2, 0, 1.0]])
    Wo, bo = np.array([[1, -1], [2, 0], [0, 2], [-1, 1], [1, 1.0]]), np.array([0, -0.5, 0.5, 0, 0.2])
    x = q_sign * (Wq @ s) + H @ Wk.T
    e = r((np.tanh(x) if tanh_score else x) @ v)
    a = r(weights_of(e))
    c = r((a[::-1] if swap else a) @ H)
    new = r(np.tanh(np.array([0.3, -0.1]) + Ws @ s + (0 if no_context else Wc @ c)))
    p = _soft(Wo @ (s if old_in_output else new) + (bo if bias else 0))
    return {k: x.tolist() for k, x in zip(("scores", "weights", "context", "state", "distribution"), (e, a, c, new, p))}


def word_by_hand__wrong_old_state_in_output():
    """Reads the word out of the old state."""
    return _word(old_in_output=True)


def word_by_hand__wrong_no_tanh_in_score():
    """Forgets the tanh in the score."""
    return _word(tanh_score=False)


def word_by_hand__wrong_no_bias():
    """Forgets the bias of the output layer."""
    return _word(bias=False)


def word_by_hand__wrong_weights_without_softmax():
    """Divides the scores by their sum without taking powers of e."""
    return _word(weights_of=lambda e: e / e.sum())


def word_by_hand__wrong_context_left_out():
    """Leaves the context out of the new state."""
    return _word(no_context=True)


def word_by_hand__wrong_subtle_weights_crossed():
    """Mixes the context with the two weights exchanged."""
    return _word(swap=True)


def word_by_hand__wrong_subtle_two_decimals():
    """Rounds to two decimals from line to line."""
    return _word(digits=2)


def word_by_hand__wrong_subtle_query_subtracted():
    """Subtracts the query's share from that of the key."""
    return _word(q_sign=-1)


def word_by_hand__right_tensors():
    """Returns torch tensors as values."""
    return {k: torch.tensor(x, dtype=torch.float64) for k, x in _word().items()}


def word_by_hand__right_cut_off():
    """Carries everything and cuts off after four decimals."""
    return {k: [math.trunc(y * 1e4) / 1e4 for y in x] for k, x in _word().items()}


# ---- output_distribution
def output_distribution__wrong_logits(state, context, W_state, W_context, b_o):
    """Stops at the logits and forgets the softmax."""
    return _logits(state, context, W_state, W_context, b_o)


def output_distribution__wrong_softmax_over_batch(state, context, W_state, W_context, b_o):
    """Takes the softmax down the batch."""
    return _soft(_logits(state, context, W_state, W_context, b_o).T).T


def output_distribution__wrong_overflow(state, context, W_state, W_context, b_o):
    """Takes exp of the raw logits, which overflows."""
    p = np.exp(_logits(state, context, W_state, W_context, b_o))
    return p / p.sum(axis=1, keepdims=True)


def output_distribution__wrong_total_of_batch(state, context, W_state, W_context, b_o):
    """Divides by the sum over the whole batch, so that only all rows together add to 1."""
    z = _logits(state, context, W_state, W_context, b_o)
    p = np.exp(z - z.max(1, keepdims=True))
    return p / p.sum()


def output_distribution__wrong_no_bias(state, context, W_state, W_context, b_o):
    """Forgets the bias."""
    return _soft(state @ W_state.T + context @ W_context.T)


def output_distribution__wrong_two_softmaxes(state, context, W_state, W_context, b_o):
    """Averages a softmax of the state's logits and one of the context's, not one softmax of the sum."""
    return (_soft(state @ W_state.T + b_o) + _soft(context @ W_context.T + b_o)) / 2


def output_distribution__wrong_context_first(state, context, W_state, W_context, b_o):
    """Joins the matrices in one order and the vectors in the other."""
    return _soft(np.hstack([context, state]) @ np.hstack([W_state, W_context]).T + b_o)


def output_distribution__wrong_subtle_global_shift(state, context, W_state, W_context, b_o):
    """Shifts by the largest logit of the whole batch, so rows with far smaller logits become 0 / 0."""
    z = _logits(state, context, W_state, W_context, b_o)
    p = np.exp(z - z.max())
    return p / p.sum(1, keepdims=True)


def output_distribution__wrong_subtle_positive_shift_only(state, context, W_state, W_context, b_o):
    """Shifts by max(0, largest logit), so rows with only very negative logits vanish."""
    z = _logits(state, context, W_state, W_context, b_o)
    p = np.exp(z - np.maximum(z.max(1, keepdims=True), 0))
    return p / p.sum(1, keepdims=True)


def output_distribution__wrong_subtle_shift_before_bias(state, context, W_state, W_context, b_o):
    """Shifts before the bias is added, so a large bias overflows."""
    z = state @ W_state.T + context @ W_context.T
    p = np.exp(z - z.max(1, keepdims=True) + b_o)
    return p / p.sum(1, keepdims=True)


def output_distribution__wrong_subtle_squeeze(state, context, W_state, W_context, b_o):
    """Squeezes the result, so a batch of one or a vocabulary of one loses its axis."""
    return _soft(_logits(state, context, W_state, W_context, b_o)).squeeze()


def output_distribution__wrong_subtle_clipped(state, context, W_state, W_context, b_o):
    """Clips the logits to -500 ... 500, so larger ones become equal."""
    return _soft(np.clip(_logits(state, context, W_state, W_context, b_o), -500, 500))


def output_distribution__wrong_subtle_float32(state, context, W_state, W_context, b_o):
    """Takes the softmax in torch's single precision."""
    z = torch.tensor(_logits(state, context, W_state, W_context, b_o), dtype=torch.float32)
    return torch.softmax(z, 1).double().numpy()


def output_distribution__wrong_subtle_bias_by_rows(state, context, W_state, W_context, b_o):
    """Adds the bias as a column where there are as many sentences as words."""
    z = state @ W_state.T + context @ W_context.T
    return _soft(z + (b_o[:, None] if len(b_o) == len(z) else b_o))


def output_distribution__right_joined(state, context, W_state, W_context, b_o):
    """Joins vectors and matrices, with the bias as one more column."""
    x = np.concatenate([state, context, np.ones((len(state), 1))], axis=1)
    return _soft(x @ np.concatenate([W_state, W_context, b_o[:, None]], axis=1).T)


def output_distribution__right_log_softmax(state, context, W_state, W_context, b_o):
    """Exponentiates torch's log_softmax and returns a tensor."""
    t = [torch.as_tensor(x, dtype=torch.float64) for x in (state, context, W_state, W_context, b_o)]
    return torch.log_softmax(t[0] @ t[2].T + (t[1] @ t[3].T + t[4]), dim=1).exp()


def output_distribution__right_differences(state, context, W_state, W_context, b_o):
    """Writes each probability as 1 over a sum of exponentials of differences, capped where they are beyond all digits."""
    rows = []
    for z in _logits(state, context, W_state, W_context, b_o):
        rows.append([1 / np.exp(np.minimum(z - x, 700)).sum() if z.max() - x < 690 else 0.0 for x in z])
    return rows


# ---- cross_entropy
def cross_entropy__wrong_pads_counted(logits, targets, target_mask):
    """Averages over all positions, pads included."""
    return float(_costs(logits, targets).mean())


def cross_entropy__wrong_divides_by_all(logits, targets, target_mask):
    """Leaves pads out of the sum but divides by all positions."""
    return float((_costs(logits, targets) * target_mask).sum() / target_mask.size)


def cross_entropy__wrong_mean_of_means(logits, targets, target_mask):
    """Averages within each sentence first, so words of short sentences count more."""
    c = np.where(target_mask, _costs(logits, targets), 0).sum(1)
    n = target_mask.sum(1)
    return float((c[n > 0] / n[n > 0]).mean()) if n.any() else 0.0


def cross_entropy__wrong_sum(logits, targets, target_mask):
    """Gives the sum over the real words, not their mean."""
    return float(np.where(target_mask, _costs(logits, targets), 0).sum())


def cross_entropy__wrong_log_of_softmax(logits, targets, target_mask):
    """Takes the logarithm of a probability that may have become 0."""
    p = np.take_along_axis(_soft(logits), targets[..., None], -1)[..., 0][target_mask]
    return float(-np.log(p).mean()) if p.size else 0.0


def cross_entropy__wrong_nan_without_words(logits, targets, target_mask):
    """Takes the mean of nothing in a batch without a real word, which is nan."""
    return float(np.mean(_costs(logits, targets)[target_mask]))


def cross_entropy__wrong_bits(logits, targets, target_mask):
    """Gives bits in place of nats."""
    c = _costs(logits, targets)[target_mask]
    return float(c.mean() / math.log(2)) if c.size else 0.0


def cross_entropy__wrong_best_word(logits, targets, target_mask):
    """Charges the most probable word, not the right one."""
    c = _costs(logits, logits.argmax(-1))[target_mask]
    return float(c.mean()) if c.size else 0.0


def cross_entropy__wrong_subtle_log_epsilon(logits, targets, target_mask):
    """Adds 1e-300 inside the logarithm, so no word costs more than 690."""
    p = np.take_along_axis(_soft(logits), targets[..., None], -1)[..., 0][target_mask]
    return float(-np.log(p + 1e-300).mean()) if p.size else 0.0


def cross_entropy__wrong_subtle_global_shift(logits, targets, target_mask):
    """Shifts by one maximum for the whole batch, so steps with far smaller logits get log 0."""
    z = logits - logits[target_mask].max(initial=-np.inf) if target_mask.any() else logits * 0
    c = np.log(np.exp(z).sum(-1)) - np.take_along_axis(z, targets[..., None], -1)[..., 0]
    return float(c[target_mask].mean()) if target_mask.any() else 0.0


def cross_entropy__wrong_subtle_mask_multiplied(logits, targets, target_mask):
    """Multiplies unshifted costs by the mask, so that an overflow at a pad gives inf times 0."""
    z = np.where(target_mask[..., None], logits - logits.max(-1, keepdims=True), logits)
    c = np.log(np.exp(z).sum(-1)) - np.take_along_axis(z, targets[..., None], -1)[..., 0]
    return float((c * target_mask).sum() / max(target_mask.sum(), 1))


def cross_entropy__wrong_subtle_empty_sentence_counts(logits, targets, target_mask):
    """Counts a sentence without a real word as if it had one, which costs nothing."""
    c = np.where(target_mask, _costs(logits, targets), 0).sum()
    return float(c / np.maximum(target_mask.sum(1), 1).sum())


def cross_entropy__wrong_subtle_pads_at_end(logits, targets, target_mask):
    """Reads as many words from the front as are real, as if pads stood only at the end."""
    real = np.arange(targets.shape[1])[None] < target_mask.sum(1, keepdims=True)
    c = _costs(logits, targets)[real]
    return float(c.mean()) if c.size else 0.0


def cross_entropy__wrong_subtle_word_zero_ignored(logits, targets, target_mask):
    """Takes the word number 0 for padding whatever the mask says."""
    c = _costs(logits, targets)[target_mask & (targets != 0)]
    return float(c.mean()) if c.size else 0.0


def cross_entropy__wrong_subtle_float32(logits, targets, target_mask):
    """Lets torch compute in single precision."""
    if not target_mask.any():
        return 0.0
    z = torch.tensor(logits[target_mask], dtype=torch.float32)
    return float(torch.nn.functional.cross_entropy(z, torch.tensor(targets[target_mask])))


def cross_entropy__right_torch(logits, targets, target_mask):
    """Uses torch's cross_entropy with ignore_index at pads and a zero for a batch without words; returns a tensor."""
    if not target_mask.any():
        return torch.zeros((), dtype=torch.float64)
    y = torch.tensor(np.where(target_mask, targets, -100), dtype=torch.long)
    return torch.nn.functional.cross_entropy(torch.tensor(logits).flatten(0, 1), y.flatten(), ignore_index=-100)


def cross_entropy__right_loop(logits, targets, target_mask):
    """Loops over words with logaddexp and running counts."""
    total, n = 0.0, 0
    for b, i in np.argwhere(target_mask):
        total += np.logaddexp.reduce(logits[b, i] - logits[b, i, targets[b, i]])
        n += 1
    return total / n if n else 0


def cross_entropy__right_running_mean(logits, targets, target_mask):
    """Keeps a running mean and returns a numpy array without axes."""
    mean = np.zeros(())
    for k, c in enumerate(_costs(logits, targets)[target_mask], 1):
        mean = mean + (c - mean) / k
    return mean


# ---- beam_step
def _pairs(flat, V):
    return torch.stack([flat // V, flat % V], dim=-1)


def _total(scores, log_probabilities):
    return scores[:, :, None] + log_probabilities


def beam_step__wrong_scores_ignored(scores, log_probabilities):
    """Chooses by the log-probability of the next word alone."""
    return _pairs(log_probabilities.flatten(1).topk(scores.shape[1]).indices, log_probabilities.shape[2])


def beam_step__wrong_product(scores, log_probabilities):
    """Multiplies the log-probabilities where they have to be added."""
    t = (scores[:, :, None] * log_probabilities).flatten(1)
    return _pairs(t.topk(scores.shape[1]).indices, log_probabilities.shape[2])


def beam_step__wrong_one_per_hypothesis(scores, log_probabilities):
    """Continues each hypothesis by its own best word, then sorts."""
    best, word = _total(scores, log_probabilities).max(2)
    order = best.argsort(1, descending=True)
    return torch.stack([order, word.gather(1, order)], -1)


def beam_step__wrong_divided_by_width(scores, log_probabilities):
    """Splits the flat number by the width of the beam in place of the size of the vocabulary."""
    return _pairs(_total(scores, log_probabilities).flatten(1).topk(scores.shape[1]).indices, scores.shape[1])


def beam_step__wrong_word_first(scores, log_probabilities):
    """Gives the number of the word before that of the hypothesis."""
    return _pairs(_total(scores, log_probabilities).flatten(1).topk(scores.shape[1]).indices, log_probabilities.shape[2]).flip(-1)


def beam_step__wrong_best_last(scores, log_probabilities):
    """Sorts ascending, so the best continuation comes last."""
    t = _total(scores, log_probabilities).flatten(1)
    return _pairs(t.argsort(1)[:, -scores.shape[1]:], log_probabilities.shape[2])


def beam_step__wrong_worst(scores, log_probabilities):
    """Chooses the smallest sums, as if they were costs."""
    return _pairs(_total(scores, log_probabilities).flatten(1).topk(scores.shape[1], largest=False).indices, log_probabilities.shape[2])


def beam_step__wrong_scores_on_words(scores, log_probabilities):
    """Adds the scores along the axis of the words wherever the sizes allow it."""
    s = scores[:, None, :] if scores.shape[1] == log_probabilities.shape[2] else scores[:, :, None]
    return _pairs((s + log_probabilities).flatten(1).topk(scores.shape[1]).indices, log_probabilities.shape[2])


def beam_step__wrong_subtle_small_vocabulary(scores, log_probabilities):
    """Keeps at most as many continuations as there are words, so too few where the vocabulary is smaller than the beam."""
    k = min(scores.shape[1], log_probabilities.shape[2])
    return _pairs(_total(scores, log_probabilities).flatten(1).topk(k).indices, log_probabilities.shape[2])


def beam_step__wrong_subtle_probabilities(scores, log_probabilities):
    """Compares probabilities, which all underflow to 0 where scores are below -745."""
    t = _total(scores, log_probabilities).exp().flatten(1)
    return _pairs(t.topk(scores.shape[1]).indices, log_probabilities.shape[2])


def beam_step__wrong_subtle_float32(scores, log_probabilities):
    """Compares in single precision, which cannot tell close sums apart."""
    t = _total(scores.float(), log_probabilities.float()).flatten(1)
    return _pairs(torch.sort(t, dim=1, descending=True, stable=True).indices[:, :scores.shape[1]], log_probabilities.shape[2])


def beam_step__wrong_subtle_two_per_hypothesis(scores, log_probabilities):
    """Looks at the two best words of each hypothesis only, though one hypothesis may give three."""
    lp, w = log_probabilities.topk(2, dim=2)
    i = _total(scores, lp).flatten(1).topk(scores.shape[1]).indices
    return torch.stack([i // 2, w.flatten(1).gather(1, i)], -1)


def beam_step__wrong_subtle_across_batch(scores, log_probabilities):
    """Writes the number of the hypothesis as counted through the whole batch for later sentences."""
    V, K = log_probabilities.shape[2], scores.shape[1]
    p = _pairs(_total(scores, log_probabilities).flatten(1).topk(K).indices, V)
    p[..., 0] += K * torch.arange(len(p))[:, None]
    return p


def beam_step__wrong_subtle_sorted_by_hypothesis(scores, log_probabilities):
    """Chooses the right continuations but lists them by hypothesis."""
    i = _total(scores, log_probabilities).flatten(1).topk(scores.shape[1]).indices.sort(1).values
    return _pairs(i, log_probabilities.shape[2])


def beam_step__wrong_subtle_dead_hypothesis(scores, log_probabilities):
    """Never continues a hypothesis that scores more than 20 below the best one, though a small vocabulary may leave nothing better."""
    t = _total(scores, log_probabilities)
    t = torch.where((scores < scores.amax(1, keepdim=True) - 20)[:, :, None], torch.full_like(t, -1e300), t).flatten(1)
    return _pairs(t.topk(scores.shape[1]).indices, log_probabilities.shape[2])


def beam_step__right_heap(scores, log_probabilities):
    """Sorts all triples in Python and returns a nested list of pairs."""
    out = []
    for s, lp in zip(scores.tolist(), log_probabilities.tolist()):
        every = sorted(((s[k] + x, k, w) for k, row in enumerate(lp) for w, x in enumerate(row)), reverse=True)
        out.append([(k, w) for _, k, w in every[:len(s)]])
    return out


def beam_step__right_floats(scores, log_probabilities):
    """Sorts everything and returns the numbers as floats."""
    B, K, V = log_probabilities.shape
    i = torch.argsort((scores.unsqueeze(-1) + log_probabilities).reshape(B, K * V), dim=1, descending=True)[:, :K]
    return torch.stack((torch.div(i, V, rounding_mode="floor"), torch.remainder(i, V)), 2).double()


def beam_step__right_two_stages(scores, log_probabilities):
    """Takes the best words of each hypothesis first, as many as can matter, then the best of those, as int32."""
    K = scores.shape[1]
    top = log_probabilities.topk(min(K, log_probabilities.shape[2]), dim=2)
    n = top.values.shape[2]
    i = (scores[..., None] + top.values).flatten(1).topk(K).indices
    return torch.stack([i // n, top.indices.flatten(1).gather(1, i)], -1).int()


def beam_step__right_one_by_one(scores, log_probabilities):
    """Takes the best continuation again and again and strikes it out."""
    t = (log_probabilities + scores[:, :, None]).clone()
    out = []
    for _ in range(t.shape[1]):
        i = t.flatten(1).argmax(1)
        k, w = np.unravel_index(i.numpy(), t.shape[1:])
        out.append(np.stack([k, w], 1))
        t[torch.arange(len(t)), torch.as_tensor(k), torch.as_tensor(w)] = -math.inf
    return np.stack(out, axis=1)
