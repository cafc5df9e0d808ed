import collections
import functools
import itertools
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import torch


# ---------------------------------------------------------------- note_c_parameters

def note_c_parameters__wrong_word_transposed(d, m, n):
    """The student writes W_y as an embedding table, words to rows, so that it takes n numbers to d."""
    return {"W_y": (d, n), "W_s": (n, n), "W_c": (n, m)}


def note_c_parameters__wrong_both_directions(d, m, n):
    """The student doubles the annotation, though this encoder reads in one direction."""
    return {"W_y": (n, d), "W_s": (n, n), "W_c": (n, 2 * m)}


def note_c_parameters__wrong_context_like_state(d, m, n):
    """The student takes the context to be as large as the decoder state."""
    return {"W_y": (n, d), "W_s": (n, n), "W_c": (n, n)}


def note_c_parameters__wrong_state_from_annotation(d, m, n):
    """The student thinks that the old state has the size of an annotation."""
    return {"W_y": (n, d), "W_s": (n, m), "W_c": (n, m)}


def note_c_parameters__wrong_all_transposed(d, m, n):
    """The student writes (from, to) instead of (to, from) throughout; only W_s agrees."""
    return {"W_y": (d, n), "W_s": (n, n), "W_c": (m, n)}


def note_c_parameters__right_torch_size(d, m, n):
    """Sizes of torch layers, as torch.Size."""
    sizes = {"W_y": d, "W_s": n, "W_c": m}
    return {name: torch.nn.Linear(size, n, bias=False, device="meta").weight.shape for name, size in sizes.items()}


def note_c_parameters__right_namedtuple(d, m, n):
    """Named tuples in an ordered dict."""
    Shape = collections.namedtuple("Shape", "rows columns")
    return collections.OrderedDict((k, Shape(n, c)) for k, c in zip(("W_c", "W_s", "W_y"), (m, n, d)))


# ---------------------------------------------------------------- fusion_shapes



def fusion_shapes__wrong_context_matrix_only(d, m, n, r):
    """The student doubles m in the joined vector, and forgets it in note C's matrix."""
    return {"joined": (d + 2 * m,), "L_1": (r, d + 2 * m), "W_input": (n, r), "W_context": (n, m)}


def fusion_shapes__wrong_input_skips_layer(d, m, n, r):
    """The student lets W_input read the joined vector instead of k."""
    return {"joined": (d + 2 * m,), "L_1": (r, d + 2 * m), "W_input": (n, d + 2 * m), "W_context": (n, 2 * m)}






def fusion_shapes__wrong_input_transposed(d, m, n, r):
    """The student writes W_input as (from, to)."""
    return {"joined": (d + 2 * m,), "L_1": (r, d + 2 * m), "W_input": (r, n), "W_context": (n, 2 * m)}


def fusion_shapes__right_measured(d, m, n, r):
    """Shapes measured on arrays that really multiply."""
    both = np.r_[np.zeros(m), np.ones(m)]
    joined = np.append(np.zeros(d), both)
    L_1, W_input, W_context = np.zeros((r, joined.size)), np.zeros((n, r)), np.zeros((n, both.size))
    _ = W_input @ (L_1 @ joined) + W_context @ both
    return dict(joined=joined.shape, L_1=L_1.shape, W_input=W_input.shape, W_context=W_context.shape)


def fusion_shapes__right_chain(d, m, n, r):
    """Shapes as tuples of numpy integers, taken from a chain of sizes."""
    annotation = np.int64(m) + np.int64(m)
    chain = [np.int64(d) + annotation, np.int64(r), np.int64(n)]
    L_1, W_input = ((b, a) for a, b in zip(chain, chain[1:]))
    return {"W_context": (chain[-1], annotation), "W_input": W_input, "L_1": L_1, "joined": tuple(chain[:1])}


# ---------------------------------------------------------------- note_d_shapes

def note_d_shapes__wrong_vector_bias(V_out, m, n):
    """The student writes the bias as a vector without its column axis."""
    return {"W_D": (n, n), "U_D": (n, V_out), "W_a": (n, m), "b_D": (n,)}


def note_d_shapes__wrong_row_bias(V_out, m, n):
    """The student writes the bias as one row."""
    return {"W_D": (n, n), "U_D": (n, V_out), "W_a": (n, m), "b_D": (1, n)}


def note_d_shapes__wrong_table(V_out, m, n):
    """The student thinks of U_D as an embedding table with a row for each word."""
    return {"W_D": (n, n), "U_D": (V_out, n), "W_a": (n, m), "b_D": (n, 1)}


def note_d_shapes__wrong_two_directions(V_out, m, n):
    """The student doubles the annotation, as in the exercise before."""
    return {"W_D": (n, n), "U_D": (n, V_out), "W_a": (n, 2 * m), "b_D": (n, 1)}


def note_d_shapes__wrong_sizes_swapped(V_out, m, n):
    """The student swaps the roles of m and n."""
    return {"W_D": (m, m), "U_D": (m, V_out), "W_a": (m, n), "b_D": (m, 1)}


def note_d_shapes__right_broadcast(V_out, m, n):
    """Sizes by broadcasting a column with a row."""
    column = np.empty((n, 1))
    wide = {"W_D": n, "U_D": V_out, "W_a": m, "b_D": 1}
    return {k: np.broadcast(column, np.empty((1, w))).shape for k, w in wide.items()}


# ---------------------------------------------------------------- training_shapes

def training_shapes__wrong_before_the_matrix(batch, d, m, n, T_y):
    """The student gives the shape of the embedded words, before W_y."""
    return {"projected_words": (batch, T_y, d), "joined": (batch, d + m), "states": (batch, T_y, n)}


def training_shapes__wrong_stack_first(batch, d, m, n, T_y):
    """The student stacks the states along a first axis, as torch.stack does when left alone."""
    return {"projected_words": (batch, T_y, n), "joined": (batch, d + m), "states": (T_y, batch, n)}


def training_shapes__wrong_old_state_too(batch, d, m, n, T_y):
    """The student counts the first old state among the new ones."""
    return {"projected_words": (batch, T_y, n), "joined": (batch, d + m), "states": (batch, T_y + 1, n)}


def training_shapes__wrong_step_axis(batch, d, m, n, T_y):
    """The student keeps an axis of length 1 for the step."""
    return {"projected_words": (batch, T_y, n), "joined": (batch, 1, d + m), "states": (batch, T_y, n)}


def training_shapes__wrong_state_joined(batch, d, m, n, T_y):
    """The student joins the old state to embedding and context."""
    return {"projected_words": (batch, T_y, n), "joined": (batch, d + m + n), "states": (batch, T_y, n)}


def training_shapes__wrong_one_word_less(batch, d, m, n, T_y):
    """The student drops the word of the last step, thinking that nothing is left to predict."""
    return {"projected_words": (batch, T_y - 1, n), "joined": (batch, d + m), "states": (batch, T_y, n)}


def training_shapes__right_measured(batch, d, m, n, T_y):
    """Measured on meta tensors that are joined and stacked."""
    words = torch.empty(batch, T_y, d, device="meta")
    context = torch.empty(batch, m, device="meta")
    states = torch.stack([torch.empty(batch, n, device="meta") for _ in range(T_y)], dim=1)
    return {"projected_words": torch.nn.functional.linear(words, torch.empty(n, d, device="meta")).size(),
            "joined": torch.cat((words[:, 0], context), -1).size(), "states": states.size()}


# ---------------------------------------------------------------- note_c_state

def _small(score=None, rows=((0.2, 0.2), (0.8, 0.8)), terms=(1, 1, 1), last=math.tanh, places=12, weights=None):
    s, word = (0.5, 0.5), (0.6, 0.4)
    score = score or (lambda s, h: sum(math.tanh(a + b) for a, b in zip(s, h)))
    e = [round(score(s, h), places) for h in rows]
    if weights is None:
        total = sum(math.exp(x) for x in e)
        weights = [round(math.exp(x) / total, places) for x in e]
    c = [round(sum(w * h[i] for w, h in zip(weights, rows)), places) for i in range(2)]
    y, o, k = terms
    return [round(last(round(y * word[i] + o * s[i] + k * c[i], places)), places) for i in range(2)]




def note_c_state__wrong_no_tanh_in_score():
    """The student forgets the tanh in the score."""
    return _small(score=lambda s, h: sum(a + b for a, b in zip(s, h)))


def note_c_state__wrong_old_state_left_out():
    """The student forgets the term of the old state."""
    return _small(terms=(1, 0, 1))


def note_c_state__wrong_rounded():
    """The student rounds each line to two decimals."""
    return _small(places=2)


def note_c_state__wrong_one_tanh():
    """The student adds inside one tanh only, as if v had a single entry."""
    return _small(score=lambda s, h: math.tanh(s[0] + h[0]))




def note_c_state__wrong_word_scored_too():
    """The student adds the embedded word inside the score's tanh as well."""
    return _small(score=lambda s, h: math.tanh(s[0] + 0.6 + h[0]) + math.tanh(s[1] + 0.4 + h[1]))


def note_c_state__right_complex_loop():
    """Both entries packed in numpy, with tanh written by exponentials, as a tuple."""
    def t(x):
        return (1 - np.exp(-2 * x)) / (1 + np.exp(-2 * x))
    h = np.array([[0.2, 0.2], [0.8, 0.8]])
    e = t(0.5 + h).sum(1)
    w1 = 1 / (1 + np.exp(e[1] - e[0]))
    return tuple(t(np.array([0.6, 0.4]) + 0.5 + w1 * h[0] + (1 - w1) * h[1]))


# ---------------------------------------------------------------- step_by_hand

_HAND = dict(
    s=np.array([0.5, -0.4, 0.2]), word=np.array([0.6, -0.3]),
    H=np.array([[0.3, -0.2, 0.5, 0.1], [-0.6, 0.4, 0.1, 0.8], [0.9, 0.7, -0.4, 0.2]]),
    W_query=np.array([[1, 0, 2], [0, -1, 1.0]]), v=np.array([1.5, -1]), W_key=np.array([[1, 0, 0, -1], [0, 2, 1, 0.0]]),
    W_y=np.array([[1, 0], [0, 2], [1, -1.0]]), W_s=np.array([[0, 1, 0], [1, 0, 0], [0, -1, 1.0]]),
    W_c=np.array([[1, 0, 0, 1], [0, -1, 0, 2], [0, 1, 1, 0.0]]))


def _hand(places=15, tanh=np.tanh, softmax=None, last=np.tanh, **changed):
    g = dict(_HAND, **changed)
    e = np.round(tanh(g["W_query"] @ g["s"] + g["H"] @ g["W_key"].T) @ g["v"], places)
    a = np.exp(e) / np.exp(e).sum() if softmax is None else softmax(e)
    a = np.round(a, places)
    c = np.round(a @ g["H"], places)
    state = last(g["W_y"] @ g["word"] + g["W_s"] @ g.get("s_rec", g["s"]) + g["W_c"] @ c)
    return {"scores": e.tolist(), "weights": a.tolist(), "context": c.tolist(), "state": state.tolist()}


def step_by_hand__wrong_rounded_two():
    """The student rounds scores, weights and context to two decimals on the way."""
    return _hand(places=2)


def step_by_hand__wrong_rounded_three_weights():
    """The student carries three decimals from line to line."""
    return _hand(places=3)




def step_by_hand__wrong_v_sign():
    """The student loses the minus sign of v."""
    return _hand(v=np.array([1.5, 1.0]))


def step_by_hand__wrong_recurrence_left_out():
    """The student forgets the old state in the recurrence, having used it in the score."""
    return _hand(s_rec=np.zeros(3))




def step_by_hand__wrong_state_without_tanh():
    """The student forgets the last tanh."""
    return _hand(last=lambda x: x)


def step_by_hand__wrong_scores_shared_out():
    """The student divides the scores by their sum instead of taking the softmax."""
    return _hand(softmax=lambda e: e / e.sum())


def step_by_hand__wrong_base_two():
    """The student takes powers of two in the softmax."""
    return _hand(softmax=lambda e: 2 ** e / (2 ** e).sum())


def step_by_hand__right_fsum():
    """Plain loops with fsum, tuples as values."""
    g = {k: x.tolist() for k, x in _HAND.items()}

    def dot(a, b):
        return math.fsum(p * q for p, q in zip(a, b))
    e = tuple(math.fsum(vi * math.tanh(dot(q, g["s"]) + dot(k, h)) for vi, q, k in zip(g["v"], g["W_query"], g["W_key"])) for h in g["H"])
    a = tuple(1 / math.fsum(math.exp(x - y) for x in e) for y in e)
    c = tuple(dot(a, column) for column in zip(*g["H"]))
    z = tuple(math.tanh(dot(y, g["word"]) + dot(s, g["s"]) + dot(k, c)) for y, s, k in zip(g["W_y"], g["W_s"], g["W_c"]))
    return {"state": z, "context": c, "weights": a, "scores": e}


def step_by_hand__right_torch():
    """Torch in double precision, values left as tensors' lists, rounded to five decimals."""
    g = {k: torch.from_numpy(x) for k, x in _HAND.items()}
    e = torch.tanh(g["H"] @ g["W_key"].mT + g["W_query"] @ g["s"]) @ g["v"]
    a = e.softmax(0)
    c = torch.einsum("j,jk->k", a, g["H"])
    z = torch.tanh(torch.hstack((g["W_y"], g["W_s"], g["W_c"])) @ torch.cat((g["word"], g["s"], c)))
    return {k: [round(x, 5) for x in t.tolist()] for k, t in zip(("scores", "weights", "context", "state"), (e, a, c, z))}


# ---------------------------------------------------------------- note_d_state_twin

def _twin(word=2, bias=1.0, old=1.0, ctx=1.0, g=math.tanh, W=((0, 1), (2, 0.5)), places=15):
    z0, c1 = (0.2, -0.5), (0.4, -0.3, 0.2)
    U = ((0.3, -0.1, 0.6, 0), (0.2, 0.4, -0.7, 0.1))
    A, b = ((1, 0, -1), (0.5, 2, 0)), (0.15, -0.2)
    out = []
    for i in range(2):
        x = old * sum(p * q for p, q in zip(W[i], z0)) + (U[i][word] if word is not None else sum(U[i]))
        out.append(g(round(x + ctx * sum(p * q for p, q in zip(A[i], c1)) + bias * b[i], places)))
    return out








def note_d_state_twin__wrong_all_words():
    """The student adds all columns of U_D."""
    return _twin(word=None)


def note_d_state_twin__wrong_rounded():
    """The student rounds the sums to one decimal before the tanh."""
    return _twin(places=1)


def note_d_state_twin__wrong_sigmoid():
    """The student takes the sigmoid for g."""
    return _twin(g=lambda x: 1 / (1 + math.exp(-x)))


def note_d_state_twin__right_fractions():
    """Exact fractions up to the tanh, which is taken by a Decimal exponential."""
    F = lambda *x: [Fraction(y) for y in x]
    z0, c1 = F("1/5", "-1/2"), F("2/5", "-3/10", "1/5")
    rows = ((F("0", "1"), F("3/5"), F("1", "0", "-1"), F("3/20")), (F("2", "1/2"), F("-7/10"), F("1/2", "2", "0"), F("-1/5")))
    out = []
    for w, u, a, b in rows:
        x = sum(p * q for p, q in zip(w + u + a + b, z0 + [1] + c1 + [1]))
        big = (Decimal(2) * Decimal(x.numerator) / Decimal(x.denominator)).exp()
        out.append(float((big - 1) / (big + 1)))
    return out


# ---------------------------------------------------------------- decoder_step_state



def decoder_step_state__wrong_transpose_by_size(embedded, query, context, W_y, W_s, W_c):
    """The student transposes only where the sizes do not fit otherwise, so every square matrix is taken the wrong way."""
    def times(x, W):
        return x @ W if x.shape[1] == W.shape[0] else x @ W.T
    return np.tanh(times(embedded, W_y) + times(query, W_s) + times(context, W_c))


def decoder_step_state__wrong_square_word_matrix(embedded, query, context, W_y, W_s, W_c):
    """The student treats W_y as turned whenever it is square; right at all other sizes."""
    if W_y.shape[0] == W_y.shape[1]:
        W_y = W_y.T
    return np.tanh(embedded @ W_y.T + query @ W_s.T + context @ W_c.T)


def decoder_step_state__wrong_reshape(embedded, query, context, W_y, W_s, W_c):
    """The student reshapes where a transpose is due; right for one sentence or one number."""
    columns = W_y @ embedded.T + W_s @ query.T + W_c @ context.T
    return np.tanh(columns).reshape(query.shape)


def decoder_step_state__wrong_blocks_swapped(embedded, query, context, W_y, W_s, W_c):
    """The student joins vectors and matrices in different orders; the sum of the sizes hides it."""
    return np.tanh(np.hstack((embedded, query, context)) @ np.hstack((W_y, W_c, W_s)).T)




def decoder_step_state__wrong_exponentials(embedded, query, context, W_y, W_s, W_c):
    """The student writes tanh as a quotient of exponentials, which is nan at sums beyond about 710."""
    x = embedded @ W_y.T + query @ W_s.T + context @ W_c.T
    with np.errstate(all="ignore"):
        return (np.exp(x) - np.exp(-x)) / (np.exp(x) + np.exp(-x))




def decoder_step_state__wrong_carried_on(embedded, query, context, W_y, W_s, W_c):
    """The student lets the state run on from one sentence of the batch to the next, instead of each sentence's own."""
    rows, state = [], query[0]
    for b in range(len(query)):
        state = np.tanh(W_y @ embedded[b] + W_s @ state + W_c @ context[b])
        rows.append(state)
    return np.stack(rows)


def decoder_step_state__wrong_padded_word(embedded, query, context, W_y, W_s, W_c):
    """The student takes an embedded word of zeros for a pad and keeps the old state there."""
    new = np.tanh(embedded @ W_y.T + query @ W_s.T + context @ W_c.T)
    return np.where((embedded == 0).all(1, keepdims=True), query, new)


def decoder_step_state__wrong_cached_matrix(embedded, query, context, W_y, W_s, W_c, _kept={}):
    """The student keeps the joined matrix between calls, by its shape: other weights of the same sizes are ignored."""
    W = _kept.setdefault((W_y.shape, W_c.shape), np.hstack((W_y, W_s, W_c)))
    return np.tanh(np.hstack((embedded, query, context)) @ W.T)


def decoder_step_state__wrong_overwritten_rows(embedded, query, context, W_y, W_s, W_c):
    """The student writes entry by entry into the copy that W_s still reads, so later entries see new ones."""
    state = np.array(query, dtype=float)
    for b in range(len(state)):
        for i in range(state.shape[1]):
            state[b, i] = np.tanh(W_y[i] @ embedded[b] + W_s[i] @ state[b] + W_c[i] @ context[b])
    return state


def decoder_step_state__wrong_batch_summed(embedded, query, context, W_y, W_s, W_c):
    """The student's einsum for the word forgets the batch letter in the result, so all sentences' words are added."""
    return np.tanh(np.einsum("bd,nd->n", embedded, W_y) + query @ W_s.T + context @ W_c.T)


def decoder_step_state__wrong_clipped(embedded, query, context, W_y, W_s, W_c):
    """The student clips the sum to -3 ... 3 to be safe, so no entry gets beyond 0.9951."""
    return np.tanh(np.clip(embedded @ W_y.T + query @ W_s.T + context @ W_c.T, -3, 3))


def decoder_step_state__right_loops(embedded, query, context, W_y, W_s, W_c):
    """Nested generators with fsum and math.tanh, a list of lists made an array at the end."""
    def row(b):
        for i in range(len(W_s)):
            yield math.tanh(math.fsum(float(w) * float(x) for W, X in ((W_y, embedded), (W_s, query), (W_c, context))
                                      for w, x in zip(W[i], X[b])))
    return np.array([list(row(b)) for b in range(len(query))])


def decoder_step_state__right_einsum(embedded, query, context, W_y, W_s, W_c):
    """One einsum for each term, in extended precision, brought back to double."""
    x = sum(np.einsum("nk,bk->bn", W.astype(np.longdouble), X.astype(np.longdouble))
            for W, X in ((W_c, context), (W_y, embedded), (W_s, query)))
    return np.tanh(x).astype(np.float64)


def decoder_step_state__right_blocks(embedded, query, context, W_y, W_s, W_c):
    """Matrix and vectors joined in the same order, columns, one product."""
    x = np.concatenate((context, embedded, query), axis=1).T
    return np.ascontiguousarray(np.tanh(np.block([W_c, W_y, W_s]) @ x).T)


def decoder_step_state__right_in_place(embedded, query, context, W_y, W_s, W_c):
    """In place on an own array, with out= throughout, in columns' order."""
    out = np.empty((query.shape[0], W_s.shape[0]), order="F")
    np.matmul(query, W_s.T, out=out)
    out += np.tensordot(embedded, W_y, axes=(1, 1))
    out += np.inner(context, W_c)
    return np.tanh(out, out=out)


class _Cell:
    def __init__(self, *matrices):
        self.matrices = matrices

    def __call__(self, *vectors):
        return functools.reduce(np.add, itertools.starmap(np.dot, zip(self.matrices, vectors)))


def decoder_step_state__right_class(embedded, query, context, W_y, W_s, W_c):
    """A callable cell for one sentence, mapped over the batch; tanh by a stable expm1 formula."""
    x = np.array(list(map(_Cell(W_y, W_s, W_c), embedded, query, context)), dtype=float)
    t = np.expm1(-2 * np.abs(x))
    return np.copysign(-t / (2 + t), x)


# ---------------------------------------------------------------- fused_input



def fused_input__wrong_square(embedded, context, L_1):
    """The student transposes only where sizes force it, so a square L_1 is taken the wrong way."""
    joined = np.hstack((embedded, context))
    return np.maximum(joined @ L_1 if joined.shape[1] == L_1.shape[0] else joined @ L_1.T, 0)




def fused_input__wrong_relu_first(embedded, context, L_1):
    """The student applies the ReLU to the joined vector, and again afterwards."""
    return np.maximum(np.maximum(np.hstack((embedded, context)), 0) @ L_1.T, 0)


def fused_input__wrong_softplus(embedded, context, L_1):
    """The student takes a sharp softplus for the ReLU, which is 0.0139 at 0."""
    return np.logaddexp(0, 50 * (np.hstack((embedded, context)) @ L_1.T)) / 50


def fused_input__wrong_leaky(embedded, context, L_1):
    """The student uses a leaky ReLU, which lets a hundredth of the negative numbers through."""
    k = np.hstack((embedded, context)) @ L_1.T
    return np.where(k > 0, k, 0.01 * k)


def fused_input__wrong_relu6(embedded, context, L_1):
    """The student clips at 6 as well."""
    return np.clip(np.hstack((embedded, context)) @ L_1.T, 0, 6)


def fused_input__wrong_rows(embedded, context, L_1):
    """The student sets a whole row to zero where its sum is negative, positive numbers too."""
    k = np.hstack((embedded, context)) @ L_1.T
    k[k.sum(axis=1) < 0] = 0
    return np.maximum(k, 0)


def fused_input__wrong_reshape(embedded, context, L_1):
    """The student reshapes columns to rows; right for one sentence."""
    return np.maximum(L_1 @ np.hstack((embedded, context)).T, 0).reshape(len(embedded), -1)


def fused_input__wrong_squeeze(embedded, context, L_1):
    """The student squeezes, so one sentence loses its batch axis."""
    return np.maximum(L_1 @ np.hstack((embedded, context))[:, :, None], 0).squeeze()


def fused_input__wrong_interleaved(embedded, context, L_1):
    """The student interleaves word and context where they are equally long, and joins them only else."""
    if embedded.shape == context.shape:
        joined = np.stack((embedded, context), axis=-1).reshape(len(embedded), -1)
    else:
        joined = np.hstack((embedded, context))
    return np.maximum(joined @ L_1.T, 0)


def fused_input__wrong_kept_context(embedded, context, L_1, _buffer={}):
    """The student keeps the joined array between calls and refills only the word."""
    key = embedded.shape + context.shape
    if key not in _buffer:
        _buffer[key] = np.hstack((embedded, context))
    joined = _buffer[key]
    joined[:, :embedded.shape[1]] = embedded
    return np.maximum(joined @ L_1.T, 0)


def fused_input__wrong_absolute(embedded, context, L_1):
    """The student mirrors the negative numbers where a whole row is negative, to avoid a dead layer."""
    k = np.hstack((embedded, context)) @ L_1.T
    dead = (k <= 0).all(axis=1, keepdims=True)
    return np.maximum(np.where(dead, -k, k), 0)


def fused_input__right_half_abs(embedded, context, L_1):
    """ReLU as the mean of a number and its absolute value, the product split in two."""
    d = embedded.shape[1]
    k = np.inner(embedded, L_1[:, :d]) + np.inner(context, L_1[:, d:])
    return (k + np.abs(k)) / 2


def fused_input__right_lists(embedded, context, L_1):
    """Python lists, chain and max."""
    out = []
    for e, c in zip(embedded.tolist(), context.tolist()):
        out.append([max(0.0, math.fsum(a * b for a, b in zip(row, itertools.chain(e, c)))) for row in L_1.tolist()])
    return np.array(out)


def fused_input__right_matrix(embedded, context, L_1):
    """np.matrix inside, a boolean product for the ReLU, an array outside."""
    k = np.asarray((np.matrix(L_1) * np.matrix(np.c_[embedded, context]).T).T)
    return k * (k > 0)


def fused_input__right_recursion(embedded, context, L_1):
    """Recursion over the batch."""
    row = np.heaviside(L_1 @ np.r_[embedded[0], context[0]], 0) * (L_1 @ np.append(embedded[0], context[0]))
    if len(embedded) == 1:
        return row[None]
    return np.vstack((row, fused_input__right_recursion(embedded[1:], context[1:], L_1)))


# ---------------------------------------------------------------- decoder_step

def _scores(query, keys, W_query, W_key, v):
    return torch.tanh((query @ W_query.T).unsqueeze(1) + keys @ W_key.T) @ v.reshape(-1)


def _new(query, embedded, context, W_y, W_s, W_c):
    return torch.tanh(embedded @ W_y.T + query @ W_s.T + context @ W_c.T)


def _clean(keys, mask):
    return keys.masked_fill(~mask.unsqueeze(-1), 0.0)




def decoder_step__wrong_small_fill(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """The student fills pads with -1000, which is more than the score of a real token at -3000."""
    keys = _clean(keys, source_mask)
    e = _scores(query, keys, W_query, W_key, v).masked_fill(~source_mask, -1000.0)
    a = e.softmax(-1) * source_mask
    return _new(query, embedded, torch.einsum("bj,bjk->bk", a, keys), W_y, W_s, W_c)


def decoder_step__wrong_nan_to_num(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """The student repairs the nan of an empty sentence afterwards; its gradients stay nan."""
    keys = _clean(keys, source_mask)
    e = _scores(query, keys, W_query, W_key, v) + torch.where(source_mask, 0.0, -math.inf).to(keys.dtype)
    a = torch.nan_to_num(e.softmax(-1))
    return _new(query, embedded, torch.einsum("bj,bjk->bk", a, keys), W_y, W_s, W_c)


def decoder_step__wrong_where_after(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """The student selects zeros for an empty sentence after a softmax over nothing; values right, gradients nan."""
    e = _scores(query, keys, W_query, W_key, v) + torch.log(source_mask.to(keys.dtype))
    context = (e.softmax(-1).unsqueeze(-1) * keys).sum(1)
    context = torch.where(source_mask.any(1, keepdim=True), context, torch.zeros_like(context))
    return _new(query, embedded, context, W_y, W_s, W_c)


def decoder_step__wrong_max_with_pads(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """The student subtracts the maximum over pads too, so real scores thousands below vanish."""
    e = _scores(query, keys, W_query, W_key, v)
    x = torch.exp(e - e.max(1, keepdim=True).values.detach()) * source_mask
    total = x.sum(1, keepdim=True)
    a = x / torch.where(total > 0, total, torch.ones_like(total))
    return _new(query, embedded, torch.einsum("bj,bjk->bk", a, _clean(keys, source_mask)), W_y, W_s, W_c)


def decoder_step__wrong_zero_max(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """The student fills pads with 0 before taking the maximum, so it is never below 0 in a sentence with a pad."""
    keys = _clean(keys, source_mask)
    e = _scores(query, keys, W_query, W_key, v)
    top = e.masked_fill(~source_mask, 0.0).max(1, keepdim=True).values.detach()
    x = torch.exp(torch.where(source_mask, e - top, torch.zeros_like(e))) * source_mask
    total = x.sum(1, keepdim=True)
    a = x / torch.where(total > 0, total, torch.ones_like(total))
    return _new(query, embedded, torch.einsum("bj,bjk->bk", a, keys), W_y, W_s, W_c)


def decoder_step__wrong_clamped(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """The student clamps the scores to -500 ... 500 against overflow, so 2000 and 3000 tie."""
    keys = _clean(keys, source_mask)
    x = torch.exp(_scores(query, keys, W_query, W_key, v).clamp(-500, 500)) * source_mask
    total = x.sum(1, keepdim=True)
    a = x / torch.where(source_mask.any(1, keepdim=True), total, torch.ones_like(total))
    return _new(query, embedded, torch.einsum("bj,bjk->bk", a, keys), W_y, W_s, W_c)


def decoder_step__wrong_not_renormalised(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """The student takes the softmax over all positions and sets pads to 0 afterwards, without sharing out anew."""
    a = _scores(query, keys, W_query, W_key, v).softmax(-1) * source_mask
    return _new(query, embedded, torch.einsum("bj,bjk->bk", a, _clean(keys, source_mask)), W_y, W_s, W_c)


def decoder_step__wrong_keys_only(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """The student zeroes the pads' annotations and scores them like words, so they take weight away."""
    keys = _clean(keys, source_mask)
    a = _scores(query, keys, W_query, W_key, v).softmax(-1)
    return _new(query, embedded, torch.einsum("bj,bjk->bk", a, keys), W_y, W_s, W_c)


def decoder_step__wrong_lengths(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """The student counts the real tokens and takes as many from the left, as if pads stood at the end."""
    mask = torch.arange(keys.shape[1]) < source_mask.sum(1, keepdim=True)
    keys = _clean(keys, mask)
    e = _scores(query, keys, W_query, W_key, v).masked_fill(~mask, -1e30)
    a = e.softmax(-1) * mask
    return _new(query, embedded, torch.einsum("bj,bjk->bk", a, keys), W_y, W_s, W_c)


def decoder_step__wrong_zero_is_pad(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """The student multiplies scores by the mask and takes each exact zero for a pad, also a word that scores 0."""
    keys = _clean(keys, source_mask)
    e = _scores(query, keys, W_query, W_key, v) * source_mask
    real = e != 0
    a = e.masked_fill(~real, -1e30).softmax(-1) * real
    return _new(query, embedded, torch.einsum("bj,bjk->bk", a, keys), W_y, W_s, W_c)


def decoder_step__wrong_zero_annotation(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """The student leaves out real tokens too if their annotation is all zeros."""
    real = source_mask & (keys.detach() != 0).any(-1)
    keys = _clean(keys, real)
    a = _scores(query, keys, W_query, W_key, v).masked_fill(~real, -1e30).softmax(-1) * real
    return _new(query, embedded, torch.einsum("bj,bjk->bk", a, keys), W_y, W_s, W_c)


def decoder_step__wrong_empty_state_zero(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """The student makes the whole new state zero for an empty sentence, not only the context."""
    keys = _clean(keys, source_mask)
    a = _scores(query, keys, W_query, W_key, v).masked_fill(~source_mask, -1e30).softmax(-1)
    return _new(query, embedded, torch.einsum("bj,bjk->bk", a, keys), W_y, W_s, W_c) * source_mask.any(1, keepdim=True)


def decoder_step__wrong_empty_state_kept(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """The student leaves the old state as it is for an empty sentence."""
    keys = _clean(keys, source_mask)
    a = _scores(query, keys, W_query, W_key, v).masked_fill(~source_mask, -1e30).softmax(-1)
    return torch.where(source_mask.any(1, keepdim=True), _new(query, embedded, torch.einsum("bj,bjk->bk", a, keys), W_y, W_s, W_c), query)


def decoder_step__wrong_empty_batch_only(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """The student looks for a real token in the whole batch instead of in each sentence."""
    e = _scores(query, keys, W_query, W_key, v).masked_fill(~source_mask, -1e30)
    a = e.softmax(-1) * source_mask.any()
    return _new(query, embedded, torch.einsum("bj,bjk->bk", a, keys), W_y, W_s, W_c)


def decoder_step__wrong_weights_detached(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """The student detaches the weights, so no gradient reaches the score's parameters."""
    keys = _clean(keys, source_mask)
    a = _scores(query, keys, W_query, W_key, v).masked_fill(~source_mask, -1e30).softmax(-1) * source_mask
    return _new(query, embedded, torch.einsum("bj,bjk->bk", a.detach(), keys), W_y, W_s, W_c)


def decoder_step__wrong_query_half_cut(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """The student detaches the old state in the score alone: a gradient comes, but not the whole one."""
    keys = _clean(keys, source_mask)
    a = _scores(query.detach(), keys, W_query, W_key, v).masked_fill(~source_mask, -1e30).softmax(-1) * source_mask
    return _new(query, embedded, torch.einsum("bj,bjk->bk", a, keys), W_y, W_s, W_c)


def decoder_step__wrong_keys_half_cut(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """The student mixes a copy of the annotations without gradient, so they get only the score's share."""
    keys = _clean(keys, source_mask)
    a = _scores(query, keys, W_query, W_key, v).masked_fill(~source_mask, -1e30).softmax(-1) * source_mask
    return _new(query, embedded, torch.einsum("bj,bjk->bk", a, keys.data), W_y, W_s, W_c)


def decoder_step__wrong_squeezed(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """The student squeezes the product with v and the context without naming an axis: with one sentence the batch axis goes."""
    keys = _clean(keys, source_mask)
    hidden = torch.tanh((query @ W_query.T)[:, None] + keys @ W_key.T)
    e = (hidden @ v.reshape(-1, 1)).reshape(source_mask.shape).masked_fill(~source_mask, -1e30)
    a = e.softmax(-1) * source_mask
    context = (a.unsqueeze(1) @ keys).squeeze()
    return torch.tanh((embedded @ W_y.T + query @ W_s.T).squeeze() + context.reshape(keys.shape[0], -1).squeeze(0) @ W_c.T)


def decoder_step__wrong_batch_softmax(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """The student subtracts the largest score of the whole batch, so a sentence thousands below gets a context of 0."""
    keys = _clean(keys, source_mask)
    e = _scores(query, keys, W_query, W_key, v).masked_fill(~source_mask, -1e30)
    x = torch.exp(e - e.max().detach()) * source_mask
    total = x.sum(1, keepdim=True)
    return _new(query, embedded, torch.einsum("bj,bjk->bk", x / torch.where(total > 0, total, torch.ones_like(total)), keys), W_y, W_s, W_c)


def decoder_step__wrong_s_not_transposed(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """The student forgets the transpose at W_s, which is square."""
    keys = _clean(keys, source_mask)
    a = _scores(query, keys, W_query, W_key, v).masked_fill(~source_mask, -1e30).softmax(-1) * source_mask
    return torch.tanh(embedded @ W_y.T + query @ W_s + torch.einsum("bj,bjk->bk", a, keys) @ W_c.T)


def decoder_step__wrong_projection_kept(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c, _kept={}):
    """The student projects the annotations once for all steps and keeps that by their shape, so other annotations of this shape get the old scores."""
    keys = _clean(keys, source_mask)
    key = (keys.shape, W_key.shape)
    if key not in _kept:
        _kept[key] = (keys @ W_key.T).detach()
    e = torch.tanh((query @ W_query.T)[:, None] + _kept[key]) @ v.reshape(-1)
    a = e.masked_fill(~source_mask, -1e30).softmax(-1) * source_mask
    return _new(query, embedded, torch.einsum("bj,bjk->bk", a, keys), W_y, W_s, W_c)


def decoder_step__wrong_huge_pads(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """The student masks the scores and not the annotations: a finite pad of 1e308 overflows in W_key h and gives nan gradients."""
    e = _scores(query, keys, W_query, W_key, v)
    e = torch.where(source_mask, e, torch.full_like(e, -1e30))
    a = e.softmax(-1) * source_mask
    return _new(query, embedded, (a.unsqueeze(-1) * keys).sum(1), W_y, W_s, W_c)


def decoder_step__wrong_epsilon(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """The student subtracts the sentence's mean score and adds a small number below the fraction, which overflows where scores are thousands apart."""
    keys = _clean(keys, source_mask)
    e = _scores(query, keys, W_query, W_key, v) * source_mask
    count = source_mask.sum(1, keepdim=True).clamp(min=1)
    x = torch.exp(e - e.sum(1, keepdim=True) / count) * source_mask
    return _new(query, embedded, torch.einsum("bj,bjk->bk", x / (x.sum(1, keepdim=True) + 1e-12), keys), W_y, W_s, W_c)


def decoder_step__right_fill_and_mask(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """Cleaned annotations, the smallest finite number as fill, weights masked once more."""
    keys = torch.where(source_mask[..., None], keys, keys.new_zeros(()))
    e = torch.einsum("a,bja->bj", v, torch.tanh(torch.einsum("ak,bjk->bja", W_key, keys) + torch.einsum("aq,bq->ba", W_query, query)[:, None]))
    a = torch.where(source_mask, e, torch.full_like(e, torch.finfo(e.dtype).min)).softmax(1) * source_mask.type_as(e)
    return torch.tanh(torch.cat((embedded, query, torch.einsum("bj,bjk->bk", a, keys)), 1) @ torch.cat((W_y, W_s, W_c), 1).T)


def decoder_step__right_sentence_loop(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """A loop over sentences that picks the real annotations by index; zeros on the graph for an empty one."""
    rows = []
    for b in range(keys.shape[0]):
        real = torch.nonzero(source_mask[b]).flatten()
        h = keys[b].index_select(0, real)
        e = torch.tanh(h @ W_key.T + W_query @ query[b]) @ v
        c = torch.softmax(e, 0) @ h if len(real) else (0.0 * (W_query.sum() + W_key.sum() + v.sum())) + keys.new_zeros(keys.shape[-1])
        rows.append(torch.tanh(W_y @ embedded[b] + W_s @ query[b] + W_c @ c))
    return torch.stack(rows) + 0.0 * keys[:, :0].sum()


def decoder_step__right_blocked_nan(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """The nan of an empty sentence replaced by 0; masked_fill passes no gradient to masked scores, so none is nan."""
    keys = keys.masked_fill(~source_mask[:, :, None], 0)
    e = _scores(query, keys, W_query, W_key, v).masked_fill(~source_mask, -math.inf)
    return _new(query, embedded, torch.einsum("bj,bjk->bk", torch.nan_to_num(e.softmax(-1)), keys), W_y, W_s, W_c)


def decoder_step__right_sink(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """An extra position of zeros that is open only for sentences without a word."""
    batch, _, m = keys.shape
    empty = ~source_mask.any(1, keepdim=True)
    keys = torch.cat((keys.masked_fill(~source_mask[..., None], 0), keys.new_zeros(batch, 1, m)), 1)
    mask = torch.cat((source_mask, empty), 1)
    e = (torch.tanh(torch.nn.functional.linear(keys, W_key) + torch.nn.functional.linear(query, W_query)[:, None]) * v).sum(-1)
    a = torch.softmax(e.masked_fill(~mask, -math.inf), 1)
    c = torch.bmm(a[:, None], keys)[:, 0]
    linear = torch.nn.functional.linear
    return torch.tanh(linear(embedded, W_y) + linear(query, W_s) + linear(c, W_c))


def decoder_step__right_online(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """A running softmax over the positions: shift, total and mixture are updated word by word."""
    q = query @ W_query.T
    keys = torch.where(source_mask.unsqueeze(2), keys, torch.zeros_like(keys))
    top = torch.full_like(q[:, :1], -1e30)
    total, mix = torch.zeros_like(top), torch.zeros_like(keys[:, 0])
    for h, real in zip(keys.unbind(1), source_mask.unbind(1)):
        real = real[:, None]
        e = torch.tanh(q + h @ W_key.T) @ v[:, None]
        new = torch.where(real, torch.maximum(top, e), top).detach()
        old = torch.exp(top - new)
        x = torch.exp(torch.where(real, e - new, torch.zeros_like(e))) * real
        total, mix, top = total * old + x, mix * old + x * h, new
    c = mix / torch.where(total == 0, torch.ones_like(total), total)
    return torch.tanh(embedded @ W_y.T + query @ W_s.T + c @ W_c.T)


class _Step(torch.nn.Module):
    def forward(self, query, embedded, keys, real, W_query, W_key, v, W_y, W_s, W_c):
        weight = real.to(keys.dtype)
        keys = keys.masked_fill(~real[:, :, None], 0)
        e = torch.matmul(torch.tanh(torch.matmul(keys, W_key.t()) + torch.matmul(query, W_query.t()).unsqueeze(1)), v)
        far = 0.8 * math.log(torch.finfo(e.dtype).max)
        share = []
        for j in range(keys.shape[1]):
            # weight of j = 1 / sum over the real i of exp(e_i - e_j); far beyond, the weight is 0 in any case
            share.append((torch.exp((e - e[:, j:j + 1]).masked_fill(~real, 0).clamp(max=far)) * weight).sum(1))
        a = weight / torch.stack(share, 1).masked_fill(~real, 1)
        return torch.tanh(embedded @ W_y.t() + query @ W_s.t() + (a[:, :, None] * keys).sum(1) @ W_c.t())


def decoder_step__right_reciprocal(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """A module that is called, with each weight as one over a sum of exponentials of differences."""
    return _Step()(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c)


# ---------------------------------------------------------------- more of the code exercises

def decoder_step__wrong_order_not_restored(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """The student sorts the sentences by length, the longest first, and forgets to sort the contexts back."""
    order = source_mask.sum(1).argsort(descending=True, stable=True)
    mask, sorted_keys = source_mask[order], _clean(keys, source_mask)[order]
    a = _scores(query[order], sorted_keys, W_query, W_key, v).masked_fill(~mask, -1e30).softmax(-1) * mask
    return _new(query, embedded, torch.einsum("bj,bjk->bk", a, sorted_keys), W_y, W_s, W_c)


def decoder_step__wrong_scaled_scores(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """The student divides the scores by the root of the attention size, as for dot products; right at size 1."""
    keys = _clean(keys, source_mask)
    e = _scores(query, keys, W_query, W_key, v) / math.sqrt(v.numel())
    a = e.masked_fill(~source_mask, -1e30).softmax(-1) * source_mask
    return _new(query, embedded, torch.einsum("bj,bjk->bk", a, keys), W_y, W_s, W_c)


def decoder_step__wrong_one_position_unlinked(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """The student takes a short cut for a single position: the state is right, and W_query, W_key and v get no gradient at all, not even zeros."""
    keys = _clean(keys, source_mask)
    if keys.shape[1] == 1:
        context = keys[:, 0]
    else:
        a = _scores(query, keys, W_query, W_key, v).masked_fill(~source_mask, -1e30).softmax(-1) * source_mask
        context = torch.einsum("bj,bjk->bk", a, keys)
    return _new(query, embedded, context, W_y, W_s, W_c)


def decoder_step__wrong_score_by_first_query(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """The student adds the projected query along the wrong axis where batch and length agree: annotation j is scored by the state of sentence j."""
    keys = _clean(keys, source_mask)
    q = query @ W_query.T
    q = q if q.shape[0] == keys.shape[1] else q.unsqueeze(1)
    e = torch.tanh(q + keys @ W_key.T) @ v.reshape(-1)
    a = e.masked_fill(~source_mask, -1e30).softmax(-1) * source_mask
    return _new(query, embedded, torch.einsum("bj,bjk->bk", a, keys), W_y, W_s, W_c)


def decoder_step__wrong_square_key_matrix(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """The student transposes W_key only where sizes force it."""
    keys = _clean(keys, source_mask)
    projected = keys @ (W_key if W_key.shape[0] == W_key.shape[1] else W_key.T)
    e = torch.tanh((query @ W_query.T).unsqueeze(1) + projected) @ v.reshape(-1)
    a = e.masked_fill(~source_mask, -1e30).softmax(-1) * source_mask
    return _new(query, embedded, torch.einsum("bj,bjk->bk", a, keys), W_y, W_s, W_c)


def fused_input__wrong_small_to_zero(embedded, context, L_1):
    """The student sets numbers below 0.01 to 0, not only those below 0."""
    k = np.hstack((embedded, context)) @ L_1.T
    return np.where(k < 0.01, 0.0, k)


def fused_input__wrong_word_of_first(embedded, context, L_1):
    """The student joins the first sentence's word to every context."""
    first = np.broadcast_to(embedded[:1], embedded.shape)
    return np.maximum(np.hstack((first, context)) @ L_1.T, 0)
