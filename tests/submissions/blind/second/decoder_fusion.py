"""Blind answers for decoder_fusion: written from the notebook alone."""
import collections
import decimal
import fractions
import functools
import math

import numpy as np
import torch


# ---------------------------------------------------------------- note_c_parameters

def note_c_parameters__wrong_both_directions(d, m, n):
    """The student doubles the annotation, though the encoder of this exercise reads in one direction and m is its size."""
    return {"W_y": (n, d), "W_s": (n, n), "W_c": (n, 2 * m)}


def note_c_parameters__wrong_context_transposed(d, m, n):
    """The student writes W_c the wrong way round, which fits only where m = n."""
    return {"W_y": (n, d), "W_s": (n, n), "W_c": (m, n)}


def note_c_parameters__wrong_state_from_annotation(d, m, n):
    """The student thinks that W_s reads an encoder state of m numbers."""
    return {"W_y": (n, d), "W_s": (n, m), "W_c": (n, m)}


def note_c_parameters__wrong_context_is_state_sized(d, m, n):
    """The student takes the context to have the size of a decoder state, as if m = n."""
    return {"W_y": (n, d), "W_s": (n, n), "W_c": (n, n)}


def note_c_parameters__right_numpy_shapes(d, m, n):
    """Shapes read off arrays of numpy, in an ordered dict."""
    sizes = (("W_y", d), ("W_s", n), ("W_c", m))
    return collections.OrderedDict((key, np.empty((n, size)).shape) for key, size in sizes)


def note_c_parameters__right_torch_size(d, m, n):
    """Weights of torch layers, whose shapes are torch.Size."""
    return {key: torch.nn.Linear(size, n, bias=False).weight.shape for key, size in zip(("W_y", "W_s", "W_c"), (d, n, m))}


# ---------------------------------------------------------------- fusion_shapes





def fusion_shapes__wrong_reads_state_size(d, m, n, r):
    """The student takes the recurrent layer's input to be as large as its state."""
    return {"joined": (d + 2 * m,), "L_1": (r, d + 2 * m), "W_input": (n, n), "W_context": (n, 2 * m)}






def fusion_shapes__right_computed(d, m, n, r):
    """The shapes come from arrays that are really joined and multiplied."""
    annotation = np.concatenate([np.zeros(m), np.zeros(m)])
    joined = np.concatenate([np.zeros(d), annotation])
    layer = np.zeros((r, joined.size))
    back = np.zeros((n, (layer @ joined).size))
    return dict(joined=joined.shape, L_1=layer.shape, W_input=back.shape, W_context=np.outer(np.zeros(n), annotation).shape)


# ---------------------------------------------------------------- note_d_shapes

def note_d_shapes__wrong_flat_bias(V_out, m, n):
    """The student writes the bias as a vector of one axis, though the exercise wants a column."""
    return {"W_D": (n, n), "U_D": (n, V_out), "W_a": (n, m), "b_D": (n,)}


def note_d_shapes__wrong_row_bias(V_out, m, n):
    """The student writes the bias as a row."""
    return {"W_D": (n, n), "U_D": (n, V_out), "W_a": (n, m), "b_D": (1, n)}


def note_d_shapes__wrong_one_word(V_out, m, n):
    """The student thinks that a one-hot word is one number."""
    return {"W_D": (n, n), "U_D": (n, 1), "W_a": (n, m), "b_D": (n, 1)}


def note_d_shapes__wrong_word_sized_bias(V_out, m, n):
    """The student gives the bias one number for each target word, as in the output layer."""
    return {"W_D": (n, n), "U_D": (n, V_out), "W_a": (n, m), "b_D": (V_out, 1)}


_Matrix = collections.namedtuple("_Matrix", "rows columns")


def note_d_shapes__right_named_tuples(V_out, m, n):
    """Each shape is a named tuple."""
    return {key: _Matrix(n, columns) for key, columns in dict(W_D=n, U_D=V_out, W_a=m, b_D=1).items()}


# ---------------------------------------------------------------- training_shapes

def training_shapes__wrong_not_projected(batch, d, m, n, T_y):
    """The student gives the shape of the embedded words before W_y."""
    return {"projected_words": (batch, T_y, d), "joined": (batch, d + m), "states": (batch, T_y, n)}


def training_shapes__wrong_with_first_state(batch, d, m, n, T_y):
    """The student stacks the first state s_0 with the new ones."""
    return {"projected_words": (batch, T_y, n), "joined": (batch, d + m), "states": (batch, T_y + 1, n)}


def training_shapes__wrong_step_axis_kept(batch, d, m, n, T_y):
    """The student keeps an axis of length 1 for the one step."""
    return {"projected_words": (batch, T_y, n), "joined": (batch, 1, d + m), "states": (batch, T_y, n)}


def training_shapes__wrong_time_first_states(batch, d, m, n, T_y):
    """The student stacks the states along a new first axis, as torch.stack does by itself."""
    return {"projected_words": (batch, T_y, n), "joined": (batch, d + m), "states": (T_y, batch, n)}


def training_shapes__wrong_stacked_last(batch, d, m, n, T_y):
    """The student stacks the states along the last axis."""
    return {"projected_words": (batch, T_y, n), "joined": (batch, d + m), "states": (batch, n, T_y)}


def training_shapes__wrong_first_word_missing(batch, d, m, n, T_y):
    """The student counts one word too few, because the last target word is not read."""
    return {"projected_words": (batch, T_y - 1, n), "joined": (batch, d + m), "states": (batch, T_y, n)}


def training_shapes__right_meta_tensors(batch, d, m, n, T_y):
    """Tensors without memory on the meta device tell their shapes."""
    words = torch.empty(batch, T_y, d, device="meta") @ torch.empty(d, n, device="meta")
    joined = torch.cat([torch.empty(batch, d, device="meta"), torch.empty(batch, m, device="meta")], dim=-1)
    return {"projected_words": words.shape, "joined": tuple(joined.shape), "states": torch.empty_like(words).size()}


# ---------------------------------------------------------------- note_c_state

def _note_c(score=np.tanh, final=np.tanh, use_state=True, use_word=True, decimals=None, flip=False, order=1):
    s, word = np.array([0.5, 0.5]), np.array([0.6, 0.4])
    keys = np.array([[0.2, 0.2], [0.8, 0.8]])
    scores = score(keys + s).sum(axis=1)
    weights = np.exp(scores) / np.exp(scores).sum()
    if decimals is not None:
        weights = np.round(weights, decimals)
    if flip:
        weights = weights[::-1]
    context = weights @ keys
    return list(final(word * use_word + s * use_state + context)[::order])




def note_c_state__wrong_weights_one_decimal():
    """The student rounds the weights to one decimal before mixing."""
    return _note_c(decimals=1)


def note_c_state__wrong_weights_swapped():
    """The student mixes with the weights in the wrong order."""
    return _note_c(flip=True)


def note_c_state__wrong_logistic_score():
    """The student takes a logistic function instead of the tanh in the score."""
    return _note_c(score=lambda x: 1 / (1 + np.exp(-x)))






def note_c_state__right_logistic_of_the_difference():
    """With two words the weight is a logistic function of the difference of the scores; numbers are of type Decimal."""
    gap = 2 * (math.tanh(1.3) - math.tanh(0.7))
    context = 0.2 + 0.6 / (1 + math.exp(-gap))
    return [decimal.Decimal(1 - 2 / (math.exp(2 * (0.5 + word + context)) + 1)) for word in (0.6, 0.4)]


def note_c_state__right_tuple_of_fractions():
    """A tuple of fractions."""
    return tuple(fractions.Fraction(float(number)) for number in _note_c())


# ---------------------------------------------------------------- step_by_hand

_HAND = dict(
    s=[0.5, -0.4, 0.2], word=[0.6, -0.3],
    keys=[[0.3, -0.2, 0.5, 0.1], [-0.6, 0.4, 0.1, 0.8], [0.9, 0.7, -0.4, 0.2]],
    W_query=[[1, 0, 2], [0, -1, 1]], v=[1.5, -1], W_key=[[1, 0, 0, -1], [0, 2, 1, 0]],
    W_y=[[1, 0], [0, 2], [1, -1]], W_s=[[0, 1, 0], [1, 0, 0], [0, -1, 1]],
    W_c=[[1, 0, 0, 1], [0, -1, 0, 2], [0, 1, 1, 0]],
)


def _hand(digits=None, score=np.tanh, base=math.e, final=np.tanh, scale=1.0, **changes):
    a = {key: np.array(value, dtype=float) for key, value in {**_HAND, **changes}.items()}
    keep = (lambda x: x) if digits is None else (lambda x: np.round(x, digits))
    scores = keep(score(a["W_query"] @ a["s"] + a["keys"] @ a["W_key"].T) @ a["v"] * scale)
    weights = keep(base ** scores / (base ** scores).sum())
    context = keep(weights @ a["keys"])
    state = keep(final(a["W_y"] @ a["word"] + a["W_s"] @ a["s"] + a["W_c"] @ context))
    return {"scores": scores.tolist(), "weights": weights.tolist(), "context": context.tolist(), "state": state.tolist()}


def step_by_hand__wrong_two_decimals():
    """The student rounds each result to two decimals and carries those on."""
    return _hand(digits=2)








def step_by_hand__wrong_scaled():
    """The student divides the scores by the root of two, as scaled scores do, only before the softmax."""
    result = _hand(scale=1 / math.sqrt(2))
    result["scores"] = _hand()["scores"]
    return result






def step_by_hand__wrong_one_entry():
    """The student gets W_c's second row times the context wrong: the minus sign is forgotten."""
    return _hand(W_c=[[1, 0, 0, 1], [0, 1, 0, 2], [0, 1, 1, 0]])


def step_by_hand__right_pure_python():
    """Plain Python with fsum, as tuples, cut after five decimals only at the end."""
    def times(matrix, vector):
        return [math.fsum(a * b for a, b in zip(row, vector)) for row in matrix]
    h = _HAND
    shared = times(h["W_query"], h["s"])
    hidden = [[math.tanh(p + q) for p, q in zip(shared, times(h["W_key"], key))] for key in h["keys"]]
    scores = times(hidden, h["v"])
    powers = [math.exp(e - max(scores)) for e in scores]
    weights = [power / math.fsum(powers) for power in powers]
    context = times(list(zip(*h["keys"])), weights)
    terms = zip(times(h["W_y"], h["word"]), times(h["W_s"], h["s"]), times(h["W_c"], context))
    state = [math.tanh(math.fsum(three)) for three in terms]
    return {key: tuple(math.trunc(x * 1e5) / 1e5 for x in value)
            for key, value in dict(scores=scores, weights=weights, context=context, state=state).items()}


def step_by_hand__right_arrays():
    """Arrays of numpy in place of lists, in an ordered dict that begins with the state."""
    return collections.OrderedDict((key, np.asarray(value)) for key, value in reversed(list(_hand().items())))


# ---------------------------------------------------------------- note_d_state_twin

def _note_d(column=2, bias=(0.15, -0.2), turn=False, final=np.tanh, sign=1):
    W_D = np.array([[0, 1], [2, 0.5]])
    U_D = np.array([[0.3, -0.1, 0.6, 0], [0.2, 0.4, -0.7, 0.1]])
    W_a = np.array([[1, 0, -1], [0.5, 2, 0]])
    z = (W_D.T if turn else W_D) @ [0.2, -0.5] + U_D[:, column] + W_a @ [0.4, sign * -0.3, 0.2] + bias
    return final(z).tolist()








def note_d_state_twin__wrong_bias_after_tanh():
    """The student adds the bias after the tanh."""
    return [a + b for a, b in zip(_note_d(bias=(0, 0)), (0.15, -0.2))]


def note_d_state_twin__wrong_sign():
    """The student loses the minus sign of the context's second number."""
    return _note_d(sign=-1)


def note_d_state_twin__right_exact_sums():
    """Exact fractions up to the tanh, and its formula with exponentials."""
    F = fractions.Fraction
    first = F(0) * F(1, 5) + 1 * F(-1, 2) + F(3, 5) + F(2, 5) - F(1, 5) + F(3, 20)
    second = 2 * F(1, 5) + F(1, 2) * F(-1, 2) - F(7, 10) + F(1, 2) * F(2, 5) + 2 * F(-3, 10) - F(1, 5)
    return [(math.exp(2 * x) - 1) / (math.exp(2 * x) + 1) for x in (first, second)]


# ---------------------------------------------------------------- decoder_step_state



def decoder_step_state__wrong_turned_where_batch_is_n(embedded, query, context, W_y, W_s, W_c):
    """The student computes columns and turns them only if the shape differs, which fails where batch = query_size."""
    result = np.tanh(W_y @ embedded.T + W_s @ query.T + W_c @ context.T)
    return result if result.shape == query.shape else result.T










def decoder_step_state__wrong_words_kept(embedded, query, context, W_y, W_s, W_c, _words={}):
    """The student keeps W_y E y from the first call of each size, because words are known in training."""
    if embedded.shape + W_y.shape not in _words:
        _words[embedded.shape + W_y.shape] = embedded @ W_y.T
    return np.tanh(_words[embedded.shape + W_y.shape] + query @ W_s.T + context @ W_c.T)




def decoder_step_state__wrong_two_tanh(embedded, query, context, W_y, W_s, W_c):
    """The student squashes the recurrence first, and squashes again with the context: right where the first sum is 0."""
    return np.tanh(np.tanh(embedded @ W_y.T + query @ W_s.T) + context @ W_c.T)






def decoder_step_state__right_fsum_loops(embedded, query, context, W_y, W_s, W_c):
    """Three nested loops with exact sums, on Python floats."""
    rows = []
    for b in range(len(query)):
        vector = [*embedded[b], *query[b], *context[b]]
        rows.append([math.tanh(math.fsum(w * x for w, x in zip([*W_y[i], *W_s[i], *W_c[i]], vector)))
                     for i in range(len(W_y))])
    return np.array(rows)


def decoder_step_state__right_einsum(embedded, query, context, W_y, W_s, W_c):
    """One einsum for each term, added by functools.reduce, and the tanh in place of an own array."""
    terms = (np.einsum("bi,qi->bq", x, W) for x, W in ((embedded, W_y), (query, W_s), (context, W_c)))
    total = functools.reduce(np.add, terms)
    return np.tanh(total, out=total)


def decoder_step_state__right_block_matrix(embedded, query, context, W_y, W_s, W_c):
    """One block matrix on joined columns, and the answer as a transposed view."""
    return np.tanh(np.block([W_y, W_s, W_c]) @ np.vstack([embedded.T, query.T, context.T])).T


class _Cell:
    def __init__(self, *matrices):
        self.matrices = matrices

    def __call__(self, *inputs):
        products = [(x[:, None, :] * W[None, :, :]).sum(axis=-1) for x, W in zip(inputs, self.matrices)]
        return np.tanh(sum(products))


def decoder_step_state__right_class(embedded, query, context, W_y, W_s, W_c):
    """A callable class that multiplies by broadcasting."""
    return _Cell(W_y, W_s, W_c)(embedded, query, context)


def decoder_step_state__right_tanh_by_expm1(embedded, query, context, W_y, W_s, W_c):
    """The tanh by expm1 of the negative absolute value, which is stable at both ends."""
    x = np.tensordot(embedded, W_y, (1, 1)) + np.tensordot(query, W_s, (1, 1)) + np.tensordot(context, W_c, (1, 1))
    e = np.expm1(-2 * np.abs(x))
    return np.copysign(-e / (e + 2), x)


# ---------------------------------------------------------------- fused_input





def fused_input__wrong_flattened(embedded, context, L_1):
    """The student joins the flat arrays and cuts them into rows, which is right for one sentence only."""
    joined = np.concatenate([embedded.ravel(), context.ravel()]).reshape(len(embedded), -1)
    return np.maximum(joined @ L_1.T, 0)










def fused_input__wrong_turned_where_sizes_agree(embedded, context, L_1):
    """The student turns the result by looking at its first axis, which fails where batch = input_size."""
    result = np.maximum(L_1 @ np.hstack([embedded, context]).T, 0)
    return result if len(result) == len(embedded) else result.T




def fused_input__wrong_rows_killed(embedded, context, L_1):
    """The student sets a number to 0 if that of the first sentence is negative: the mask is one row for all."""
    x = np.hstack([embedded, context]) @ L_1.T
    x[:, x[0] < 0] = 0
    return np.maximum(x, 0)




def fused_input__wrong_buffer_kept(embedded, context, L_1, _kept=[]):
    """The student keeps the joined array of the first call of each size, and does not fill in the later context."""
    for joined in _kept:
        if joined.shape == (len(embedded), embedded.shape[1] + context.shape[1]):
            joined[:, :embedded.shape[1]] = embedded
            return np.maximum(joined @ L_1.T, 0)
    _kept.append(np.hstack([embedded, context]))
    return np.maximum(_kept[-1] @ L_1.T, 0)


def fused_input__right_two_products(embedded, context, L_1):
    """The layer cut in two, and the ReLU as the half of the sum of a number and its absolute value."""
    x = embedded @ L_1[:, :embedded.shape[1]].T + context @ L_1[:, -context.shape[1]:].T
    return (x + np.abs(x)) / 2


def fused_input__right_python_rows(embedded, context, L_1):
    """Rows by a generator, exact sums, and the larger of 0 and each."""
    def rows():
        for word, mixed in zip(embedded.tolist(), context.tolist()):
            yield [max(0.0, math.fsum(map(float.__mul__, map(float, row), word + mixed))) for row in L_1]
    return np.array(list(rows()))


def fused_input__right_long_double(embedded, context, L_1):
    """Extended precision on the way and a Boolean product for the ReLU."""
    x = np.einsum("bi,ri->br", np.c_[embedded, context].astype(np.longdouble), L_1.astype(np.longdouble)).astype(float)
    x *= x > 0
    return x


def fused_input__right_matrix(embedded, context, L_1):
    """Products of np.matrix, and back to an array."""
    x = np.asarray((np.asmatrix(L_1) * np.asmatrix(np.append(embedded, context, axis=1)).T).T).copy()
    np.putmask(x, x < 0, 0.0)
    return x


# ---------------------------------------------------------------- decoder_step

def _scores(query, keys, W_query, W_key, v):
    return torch.tanh((query @ W_query.T).unsqueeze(1) + keys @ W_key.T) @ v


def _next(embedded, query, context, W_y, W_s, W_c):
    return torch.tanh(embedded @ W_y.T + query @ W_s.T + context @ W_c.T)


def _mix(weights, keys):
    return (weights.unsqueeze(1) @ keys).squeeze(1)


def _soft(scores, mask):
    lowest = torch.finfo(scores.dtype).min
    return torch.softmax(scores.masked_fill(~mask, lowest), dim=-1).masked_fill(~mask, 0.0)


def decoder_step__right_nan_to_num(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """Filled with -inf, and nan turned into 0: masked_fill stops what is nan on the way back."""
    scores = _scores(query, keys, W_query, W_key, v).masked_fill(~source_mask, -math.inf)
    weights = torch.nan_to_num(torch.softmax(scores, dim=-1), nan=0.0)
    return _next(embedded, query, _mix(weights, keys), W_y, W_s, W_c)


def decoder_step__wrong_where_after_nan(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """The student puts zeros with torch.where behind a softmax of -inf: forward right, backward nan."""
    scores = _scores(query, keys, W_query, W_key, v) + torch.log(source_mask.to(keys.dtype))
    weights = torch.softmax(scores, dim=-1)
    weights = torch.where(source_mask.any(dim=1, keepdim=True), weights, torch.zeros_like(weights))
    return _next(embedded, query, _mix(weights, keys), W_y, W_s, W_c)




def decoder_step__wrong_largest_of_all(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """The student subtracts the largest score of a row with its pads: a pad far above the real words erases them."""
    scores = _scores(query, keys, W_query, W_key, v)
    powers = torch.exp(scores - scores.amax(dim=1, keepdim=True)) * source_mask
    weights = powers / powers.sum(dim=1, keepdim=True).clamp_min(1e-30)
    return _next(embedded, query, _mix(weights, keys), W_y, W_s, W_c)


def decoder_step__wrong_largest_of_batch(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """The student subtracts one maximum for the whole batch: a sentence thousands below another gets no weights."""
    scores = _scores(query, keys, W_query, W_key, v)
    top = scores.masked_fill(~source_mask, torch.finfo(scores.dtype).min).max().detach()
    powers = torch.exp((scores - top).masked_fill(~source_mask, -1e5)) * source_mask
    weights = powers / (powers.sum(dim=1, keepdim=True) + 1e-12)
    return _next(embedded, query, _mix(weights, keys), W_y, W_s, W_c)














def decoder_step__wrong_clamped_scores(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """The student clamps the scores to -100 ... 100 against overflow, which makes ties of scores in the thousands."""
    weights = _soft(_scores(query, keys, W_query, W_key, v).clamp(-100, 100), source_mask)
    return _next(embedded, query, _mix(weights, keys), W_y, W_s, W_c)


def decoder_step__wrong_pad_rows_zeroed(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """The student zeroes the annotations of pads and takes the softmax over all, so that pads still take weight."""
    keys = keys * source_mask.unsqueeze(-1)
    weights = torch.softmax(_scores(query, keys, W_query, W_key, v), dim=-1)
    return _next(embedded, query, _mix(weights, keys), W_y, W_s, W_c)


def decoder_step__wrong_squeezed(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """The student squeezes the context without naming an axis, which drops the batch axis and others of length 1."""
    weights = _soft(_scores(query, keys, W_query, W_key, v), source_mask)
    context = (weights.unsqueeze(1) @ keys).squeeze()
    state = torch.tanh(embedded @ W_y.T + query @ W_s.T + (context.reshape(-1, W_c.shape[1]) @ W_c.T))
    return state if len(state) > 1 else state.squeeze(0)


def decoder_step__wrong_whole_batch_empty_only(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """The student looks for a missing word in the whole batch only: one sentence without words among others gives nan."""
    if source_mask.any():
        weights = torch.softmax(_scores(query, keys, W_query, W_key, v).masked_fill(~source_mask, -math.inf), dim=-1)
    else:
        weights = 0.0 * _scores(query, keys, W_query, W_key, v)
    return _next(embedded, query, _mix(weights, keys), W_y, W_s, W_c)


def decoder_step__wrong_projected_keys_kept(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c, _kept={}):
    """The student keeps W_key h for each size of a batch, as if it were the same sentences still."""
    size = tuple(keys.shape) + tuple(W_key.shape)
    if size not in _kept:
        _kept[size] = (keys @ W_key.T).detach()
    projected = keys @ W_key.T
    projected = projected - projected.detach() + _kept[size]
    scores = torch.tanh((query @ W_query.T).unsqueeze(1) + projected) @ v
    return _next(embedded, query, _mix(_soft(scores, source_mask), keys), W_y, W_s, W_c)




def decoder_step__right_sentence_by_sentence(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """A loop over sentences that gathers the real words; an empty sum is a context of zeros."""
    states = []
    for s, word, rows, real in zip(query, embedded, keys, source_mask):
        rows = rows[real]
        scores = torch.tanh(W_query @ s + rows @ W_key.T) @ v
        context = torch.softmax(scores, dim=0) @ rows
        states.append(torch.tanh(W_y @ word + W_s @ s + W_c @ context))
    return torch.stack(states)


def decoder_step__right_einsum_logsumexp(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """Einsum for each product, and weights as exponentials of scores less their logsumexp."""
    hidden = torch.einsum("aq,bq->ba", W_query, query)[:, None] + torch.einsum("ak,bjk->bja", W_key, keys)
    scores = torch.einsum("a,bja->bj", v, hidden.tanh())
    scores = torch.where(source_mask, scores, scores.new_tensor(-1e300))
    weights = torch.exp(scores - scores.logsumexp(dim=1, keepdim=True)) * source_mask
    context = torch.einsum("bj,bjk->bk", weights, keys)
    terms = torch.einsum("nd,bd->bn", W_y, embedded), torch.einsum("nq,bq->bn", W_s, query), torch.einsum("nk,bk->bn", W_c, context)
    return sum(terms).tanh()


def decoder_step__right_running_softmax(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """One position after the other, with a running maximum, a running sum and a running mix."""
    lowest = torch.finfo(keys.dtype).min
    scores = _scores(query, keys, W_query, W_key, v)
    top = torch.full_like(scores[:, :1], lowest).detach()
    total, mixed = torch.zeros_like(top), torch.zeros_like(keys[:, 0])
    for j in range(keys.shape[1]):
        real = source_mask[:, j:j + 1]
        score = scores[:, j:j + 1].masked_fill(~real, lowest)
        new = torch.maximum(top, score.detach())
        power = torch.exp(score - new).masked_fill(~real, 0.0)
        shrink = torch.exp(top - new)
        total, mixed, top = total * shrink + power, mixed * shrink + power * keys[:, j], new
    context = mixed / torch.where(total == 0, torch.ones_like(total), total)
    return _next(embedded, query, context, W_y, W_s, W_c)


class _Step(torch.nn.Module):
    def __init__(self, **weights):
        super().__init__()
        self.w = weights

    def forward(self, query, embedded, keys, mask):
        w = self.w
        scores = _scores(query, keys, w["W_query"], w["W_key"], w["v"])
        joined = torch.cat([embedded, query, _mix(_soft(scores, mask), keys)], dim=1)
        return torch.nn.functional.linear(joined, torch.cat([w["W_y"], w["W_s"], w["W_c"]], dim=1)).tanh()


def decoder_step__right_module(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """A module that is built for the call, with one joined matrix for the recurrence."""
    return _Step(W_query=W_query, W_key=W_key, v=v, W_y=W_y, W_s=W_s, W_c=W_c)(query, embedded, keys, source_mask)


def decoder_step__right_null_word(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """A null word with a zero annotation joins each sentence that has no other, so that no row is empty."""
    empty = ~source_mask.any(dim=1, keepdim=True)
    scores = torch.cat([_scores(query, keys, W_query, W_key, v), torch.zeros_like(query[:, :1])], dim=1)
    mask = torch.cat([source_mask, empty], dim=1)
    rows = torch.cat([keys, torch.zeros_like(keys[:, :1])], dim=1)
    rows = rows.masked_fill(~mask.unsqueeze(-1), 0.0)
    weights = torch.softmax(scores.masked_fill(~mask, -math.inf), dim=1)
    return _next(embedded, query, torch.bmm(rows.transpose(1, 2), weights.unsqueeze(2)).squeeze(2), W_y, W_s, W_c)


def decoder_step__wrong_one_position_is_real(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """The student takes the shortcut that with one position the context is its annotation, also where it is a pad."""
    scores = _scores(query, keys, W_query, W_key, v)
    weights = _soft(scores, source_mask) if keys.shape[1] > 1 else torch.softmax(scores, dim=-1)
    return _next(embedded, query, _mix(weights, keys), W_y, W_s, W_c)




def decoder_step__wrong_thousand_subtracted(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """The student subtracts 1000 from the scores of pads, which still win where scores are thousands apart."""
    scores = _scores(query, keys, W_query, W_key, v) - 1000.0 * (~source_mask)
    weights = torch.softmax(scores, dim=-1) * source_mask.any(dim=1, keepdim=True)
    return _next(embedded, query, _mix(weights, keys), W_y, W_s, W_c)


def decoder_step__wrong_first_position_forced(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """The student makes the first position of a sentence without words real, so that the softmax is finite."""
    mask = source_mask.clone()
    mask[:, 0] |= ~source_mask.any(dim=1)
    return _next(embedded, query, _mix(_soft(_scores(query, keys, W_query, W_key, v), mask), keys), W_y, W_s, W_c)
