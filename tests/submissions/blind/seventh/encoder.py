import math
import numpy as np
import torch


_E1, _X1, _H1 = np.array([[1, 0, .5, 0], [0, 1, -1, 0], [0, 0, 1, 2]]), np.array([[1, .5, 0], [0, 1, .5]]), np.array([[0, 1], [.5, 0]])
_E2, _X2 = np.array([[.5, -1, 0, 2, 1], [1, .5, 2, -.5, 0]]), np.array([[.5, 0], [0, 1], [-.5, 1]])
_H2 = np.array([[0, 1, 0], [.5, 0, 0], [0, .5, -1]])
_kept = {}


def _two(E, X, H, words, f=np.tanh, r=lambda h: h):
    a = f(X @ E[:, words[0]])
    return {"h_1": list(r(a)), "h_2": list(r(f(X @ E[:, words[1]] + H @ r(a))))}


def _read(embedded, W_x, W_h, h=None):
    out = []
    h = np.zeros((embedded.shape[0], W_h.shape[0])) if h is None else h
    for j in range(embedded.shape[1]):
        h = np.tanh(embedded[:, j] @ W_x.T + h @ W_h.T)
        out.append(h)
    return np.stack(out, 1)


def _pass(embedded, mask, W_x, W_h, order, hold=True, tanh=torch.tanh, cut=False):
    h = embedded.new_zeros(embedded.shape[0], W_h.shape[0])
    out = [None] * embedded.shape[1]
    for j in order:
        h = tanh(embedded[:, j] @ W_x.T + (h.detach() if cut else h) @ W_h.T)
        if hold:
            h = torch.where(mask[:, j, None], h, torch.zeros_like(h))
        out[j] = h
    return torch.stack(out, 1)


def _both(embedded, mask, W_x, W_h, W_xb, W_hb, **kw):
    T = embedded.shape[1]
    r = torch.cat([_pass(embedded, mask, W_x, W_h, range(T), **kw), _pass(embedded, mask, W_xb, W_hb, range(T - 1, -1, -1), **kw)], -1)
    return torch.where(mask[:, :, None], r, torch.zeros_like(r))


# ---- encoder_parameters
def encoder_parameters__wrong_E_rows(d, m, V_x):
    """Stores a word vector per row in E_x, though E_x multiplies a one-hot column from the left."""
    return {"E_x": (V_x, d), "W_x": (m, d), "W_h": (m, m)}


def encoder_parameters__wrong_W_x_transposed(d, m, V_x):
    """Writes W_x as (input, output), columns first."""
    return {"E_x": (d, V_x), "W_x": (d, m), "W_h": (m, m)}


def encoder_parameters__wrong_W_h_word(d, m, V_x):
    """Lets W_h read a word vector, though it multiplies the state before."""
    return {"E_x": (d, V_x), "W_x": (m, d), "W_h": (m, d)}


def encoder_parameters__right_layers(d, m, V_x):
    """Reads the shapes off the weights of torch layers, as torch.Size."""
    s = lambda p, q: torch.nn.Linear(p, q, bias=False).weight.shape
    return {"E_x": s(V_x, d), "W_x": s(d, m), "W_h": s(m, m)}


# ---- one_hot_shapes
def one_hot_shapes__wrong_rows(d, m, V_x, T_x):
    """Puts the words in rows instead of columns."""
    return {"one_hots": (T_x, V_x), "embedded": (T_x, d), "U": (m, V_x), "b": (m,)}


def one_hot_shapes__wrong_U_word_vector(d, m, V_x, T_x):
    """Lets U read a word vector of d numbers, though note D has none."""
    return {"one_hots": (V_x, T_x), "embedded": (d, T_x), "U": (m, d), "b": (m,)}


def one_hot_shapes__wrong_b_column(d, m, V_x, T_x):
    """Writes the bias as a matrix of one column, though it is to be a vector."""
    return {"one_hots": (V_x, T_x), "embedded": (d, T_x), "U": (m, V_x), "b": (m, 1)}


def one_hot_shapes__right_products(d, m, V_x, T_x):
    """Multiplies matrices of zeros and gives the axes as numpy integers."""
    x = np.zeros((V_x, T_x))
    g = lambda a: tuple(np.int64(k) for k in a.shape)
    return {"one_hots": g(x), "embedded": g(np.zeros((d, V_x)) @ x), "U": g(np.zeros((m, V_x))), "b": g(np.zeros(m))}


# ---- second_layer_shapes
def second_layer_shapes__wrong_one_direction(d, m):
    """Forgets that the first layer's annotation joins two states."""
    return {"input_matrix": (m, m), "recurrent_matrix": (m, m), "annotation": (2 * m,)}


def second_layer_shapes__wrong_reads_words(d, m):
    """Lets the second layer read word vectors again."""
    return {"input_matrix": (m, d), "recurrent_matrix": (m, m), "annotation": (2 * m,)}


def second_layer_shapes__wrong_recurrent_joined(d, m):
    """Lets each direction see the joined states of both directions before."""
    return {"input_matrix": (m, 2 * m), "recurrent_matrix": (m, 2 * m), "annotation": (2 * m,)}


def second_layer_shapes__right_rnn(d, m):
    """Reads them off a torch module of two layers."""
    r = torch.nn.RNN(d, m, num_layers=2, bidirectional=True)
    return {"input_matrix": tuple(r.weight_ih_l1.shape), "recurrent_matrix": tuple(r.weight_hh_l1_reverse.shape), "annotation": (m + m,)}


# ---- rnn_outputs
def rnn_outputs__wrong_last_batch_first(batch, d, m, T_x):
    """Believes that batch_first moves the axes of h_n as well."""
    return {"outputs": (batch, T_x, 2 * m), "last": (batch, 2, m), "inputs_positions_first": (T_x, batch, d)}


def rnn_outputs__wrong_outputs_m(batch, d, m, T_x):
    """Gives the outputs one direction's size only."""
    return {"outputs": (batch, T_x, m), "last": (2, batch, m), "inputs_positions_first": (T_x, batch, d)}


def rnn_outputs__right_asked(batch, d, m, T_x):
    """Runs the module and reads the shapes of what it gives."""
    o, l = torch.nn.RNN(d, m, bidirectional=True, batch_first=True)(torch.zeros(batch, T_x, d))
    return {"outputs": o.shape, "last": l.shape, "inputs_positions_first": (T_x, batch, d)}


# ---- states_by_hand
def states_by_hand__wrong_from_one():
    """Counts the words from 1: takes the column before."""
    return _two(_E1, _X1, _H1, [1, 3])


def states_by_hand__wrong_no_recurrence():
    """Forgets the state before at the second word."""
    return _two(_E1, _X1, _H1 * 0, [2, 0])


def states_by_hand__right_plain():
    """Writes both states out with math.tanh, as tuples."""
    a = math.tanh(-0.5)
    return {"h_2": (math.tanh(1 + a), math.tanh(0)), "h_1": (0, a)}


# ---- states_by_hand_twin
def states_by_hand_twin__wrong_order():
    """Reads the two words in the reverse order."""
    return _two(_E2, _X2, _H2, [1, 3])


def states_by_hand_twin__wrong_W_h_transposed():
    """Multiplies by the transpose of W_h."""
    return _two(_E2, _X2, _H2.T, [3, 1])


def states_by_hand_twin__wrong_added_outside():
    """Adds the term of the state before after the tanh instead of inside."""
    r = _two(_E2, _X2, _H2 * 0, [3, 1])
    return {"h_1": r["h_1"], "h_2": list(np.array(r["h_2"]) + _H2 @ r["h_1"])}


def states_by_hand_twin__wrong_subtle_two_decimals():
    """Rounds each state to two decimals."""
    return _two(_E2, _X2, _H2, [3, 1], r=lambda h: np.round(h, 2))


def states_by_hand_twin__right_one_hot():
    """Multiplies by one-hot columns and gives arrays."""
    h, d = np.zeros(3), {}
    for i, w in enumerate((3, 1), 1):
        h = d[f"h_{i}"] = np.tanh(_X2 @ (_E2 @ np.eye(5)[w]) + _H2 @ h)
    return d


# ---- annotation_by_hand
def annotation_by_hand__wrong_backward_first():
    """Puts the backward state first."""
    return [math.tanh(.5 + .8 * math.tanh(-1)), math.tanh(-1 + .5 * math.tanh(.5))]


def annotation_by_hand__wrong_backward_from_left():
    """Lets the backward direction begin at the first word."""
    return [math.tanh(-1 + .5 * math.tanh(.5)), math.tanh(.5 + .8 * math.tanh(-.25))]


def annotation_by_hand__wrong_subtle_rounded():
    """Rounds the neighbouring states to one decimal before they enter the second word's."""
    return [math.tanh(-1 + .5 * .5), math.tanh(.5 - .8 * .8)]


def annotation_by_hand__right_tensor():
    """Gives a tensor of double precision."""
    t = torch.tensor([.5, -1.], dtype=torch.float64).tanh()
    return torch.stack([(-1 + .5 * t[0]).tanh(), (.5 + .8 * t[1]).tanh()])


# ---- look_up
def look_up__wrong_reshaped(tokens, E_x):
    """Picks columns and reshapes, which mixes numbers of different words; the axis should be moved."""
    return E_x[:, tokens].reshape(*tokens.shape, E_x.shape[0])


def look_up__wrong_from_one(tokens, E_x):
    """Counts words from 1."""
    return E_x.T[tokens - 1]


def look_up__wrong_columns_first(tokens, E_x):
    """Leaves the embedding axis in front."""
    return E_x[:, tokens]


def look_up__wrong_subtle_int8(tokens, E_x):
    """Stores the word numbers in a byte, which wraps from 256 on."""
    return E_x.T[tokens.astype(np.uint8)]


def look_up__wrong_subtle_one_hot_size(tokens, E_x):
    """Makes one-hot rows as long as the largest number met plus one, which fits only if the last word occurs."""
    return np.eye(tokens.max() + 1)[tokens] @ E_x.T


def look_up__wrong_subtle_guess_layout(tokens, E_x):
    """Guesses that the longer axis of E_x is the vocabulary, wrong where word vectors are longer."""
    return (E_x.T if E_x.shape[1] >= E_x.shape[0] else E_x)[tokens]


def look_up__wrong_subtle_zero_is_pad(tokens, E_x):
    """Takes word number 0 for a pad and gives it a vector of zeros."""
    return E_x.T[tokens] * (tokens > 0)[:, :, None]


def look_up__right_one_hot(tokens, E_x):
    """Multiplies by one-hot columns with einsum."""
    return np.einsum("dv,bjv->bjd", E_x, (tokens[..., None] == np.arange(E_x.shape[1])).astype(float))


def look_up__right_lists(tokens, E_x):
    """Collects columns in nested lists."""
    return [[[float(x) for x in E_x[:, w]] for w in row] for row in tokens.tolist()]


def look_up__right_view(tokens, E_x):
    """Picks columns and moves the first axis to the end, which gives a view with unusual strides."""
    return np.moveaxis(np.take(E_x, tokens, axis=1), 0, -1)


# ---- rnn_states
def rnn_states__wrong_no_state(embedded, W_x, W_h):
    """Never updates the state before, which stays zero."""
    return np.tanh(embedded @ W_x.T)


def rnn_states__wrong_backward(embedded, W_x, W_h):
    """Reads from the last word to the first."""
    return _read(embedded[:, ::-1], W_x, W_h)[:, ::-1]


def rnn_states__wrong_aliased(embedded, W_x, W_h):
    """Appends one array that is overwritten in place, so that all positions show the last state."""
    h, out = np.zeros((len(embedded), len(W_h))), []
    for j in range(embedded.shape[1]):
        h[:] = np.tanh(embedded[:, j] @ W_x.T + h @ W_h.T)
        out.append(h)
    return np.stack(out, 1)


def rnn_states__wrong_W_h_transposed(embedded, W_x, W_h):
    """Multiplies the rows of states by W_h instead of its transpose."""
    return _read(embedded, W_x, W_h.T)


def rnn_states__wrong_carried_over(embedded, W_x, W_h):
    """Begins each sentence with the last state of the sentence before."""
    h, out = np.zeros((1, len(W_h))), []
    for e in embedded:
        out.append(_read(e[None], W_x, W_h, h))
        h = out[-1][:, -1]
    return np.concatenate(out)


def rnn_states__wrong_subtle_kept_between_calls(embedded, W_x, W_h):
    """Keeps the last states and begins the next call of the same sizes with them."""
    k = (len(embedded), len(W_h))
    out = _read(embedded, W_x, W_h, _kept.get(k))
    _kept[k] = out[:, -1]
    return out


def rnn_states__wrong_subtle_zero_word(embedded, W_x, W_h):
    """Takes a word vector of zeros for a pad and carries the state past it unchanged."""
    h, out = np.zeros((len(embedded), len(W_h))), []
    for j in range(embedded.shape[1]):
        real = np.any(embedded[:, j] != 0, axis=1, keepdims=True)
        h = np.where(real, np.tanh(embedded[:, j] @ W_x.T + h @ W_h.T), h)
        out.append(h)
    return np.stack(out, 1)


def rnn_states__wrong_subtle_square_W_x(embedded, W_x, W_h):
    """Transposes W_x only if it does not fit otherwise, so a square W_x is used the wrong way round."""
    return _read(embedded, W_x.T if W_x.shape[0] == embedded.shape[2] else W_x, W_h)


def rnn_states__wrong_subtle_exp(embedded, W_x, W_h):
    """Writes the tanh by e^2x, which overflows to nan for large legal words."""
    h, out = np.zeros((len(embedded), len(W_h))), []
    for j in range(embedded.shape[1]):
        e = np.exp(2 * (embedded[:, j] @ W_x.T + h @ W_h.T))
        h = (e - 1) / (e + 1)
        out.append(h)
    return np.stack(out, 1)


def rnn_states__right_sentences_lists(embedded, W_x, W_h):
    """Loops over sentences and words with joined matrices, into nested lists."""
    W, out = np.hstack([W_x, W_h]), []
    for e in embedded:
        h, rows = np.zeros(len(W_h)), []
        for x in e:
            h = np.tanh(W @ np.concatenate([x, h]))
            rows.append(h.tolist())
        out.append(rows)
    return out


def rnn_states__right_einsum_ahead(embedded, W_x, W_h):
    """Projects all words ahead and fills an array with positions in front, handed back transposed."""
    p = np.einsum("hd,bjd->jbh", W_x, embedded)
    for j in range(len(p)):
        p[j] = np.tanh(p[j] + (p[j - 1] @ W_h.T if j else 0))
    return p.transpose(1, 0, 2)


def rnn_states__right_columns(embedded, W_x, W_h):
    """Keeps the batch in columns, works in torch with double precision, and gives a permuted tensor."""
    x, A, B = (torch.tensor(np.array(k), dtype=torch.float64) for k in (embedded, W_x, W_h))
    h, out = torch.zeros(len(B), len(x), dtype=torch.float64), []
    for j in range(x.shape[1]):
        h = torch.tanh(A @ x[:, j].T + B @ h)
        out.append(h)
    return torch.stack(out).permute(2, 0, 1)


# ---- annotate
def annotate__wrong_backward_over_pads(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """Begins the backward direction at the last position, so it reads the pads first."""
    return _both(embedded, source_mask, W_x, W_h, W_x_back, W_h_back, hold=False)


def annotate__wrong_pads_kept(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """Leaves the forward states at pads instead of setting them to 0."""
    T = embedded.shape[1]
    return torch.cat([_pass(embedded, source_mask, W_x, W_h, range(T), hold=False), _pass(embedded, source_mask, W_x_back, W_h_back, range(T - 1, -1, -1))], -1)


def annotate__wrong_not_turned_back(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """Forgets to turn the backward states round again, so they stand in reading order."""
    r = _both(embedded, source_mask, W_x, W_h, W_x_back, W_h_back)
    return torch.cat([r[..., :len(W_h)], r[..., len(W_h):].flip(1)], -1)


def annotate__wrong_same_matrices(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """Uses the forward direction's recurrent matrix in both directions."""
    return _both(embedded, source_mask, W_x, W_h, W_x_back, W_h)


def annotate__wrong_detached(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """Takes the numbers out of the graph, so no gradient arrives."""
    return _both(embedded.detach(), source_mask, *(w.detach() for w in (W_x, W_h, W_x_back, W_h_back)))


def annotate__wrong_added(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """Adds the two directions instead of joining them."""
    r = _both(embedded, source_mask, W_x, W_h, W_x_back, W_h_back)
    return r[..., :len(W_h)] + r[..., len(W_h):]


def annotate__wrong_subtle_first_longest(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """Reads as many words as the first sentence has, as if the batch were sorted by length."""
    n = int(source_mask[0].sum())
    m = source_mask & (torch.arange(embedded.shape[1]) < n)
    return _both(embedded, m, W_x, W_h, W_x_back, W_h_back)


def annotate__wrong_subtle_zero_vectors(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """Takes a real word whose vector is zero for a pad as well."""
    return _both(embedded, source_mask & (embedded != 0).any(-1), W_x, W_h, W_x_back, W_h_back)


def annotate__wrong_subtle_truncated(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """Detaches the state before at every word: the numbers are right, but no gradient runs along the sentence."""
    return _both(embedded, source_mask, W_x, W_h, W_x_back, W_h_back, cut=True)


def annotate__wrong_subtle_one_pad_start(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """Clears the backward state at the last position only, so rows with more than one pad still read some pads."""
    T = embedded.shape[1]
    r = torch.cat([_pass(embedded, source_mask, W_x, W_h, range(T))] + [_pass(embedded, source_mask | (torch.arange(T) < T - 1), W_x_back, W_h_back, range(T - 1, -1, -1))], -1)
    return torch.where(source_mask[:, :, None], r, torch.zeros_like(r))


def annotate__wrong_subtle_inf_gradient(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """Writes the tanh as 1 - 2 / (e^2x + 1), whose gradient is nan where the exponential overflows."""
    return _both(embedded, source_mask, W_x, W_h, W_x_back, W_h_back, tanh=lambda x: 1 - 2 / (torch.exp(2 * x) + 1))


def annotate__wrong_subtle_squeezed_word(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """Squeezes axes of length 1 off the result."""
    return _both(embedded, source_mask, W_x, W_h, W_x_back, W_h_back).squeeze()


def annotate__right_real_only(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """Reads only the real words of each sentence and appends new zeros."""
    rows = []
    for e, m in zip(embedded, source_mask):
        n = int(m.sum())
        f, b, h, g = [], [], e.new_zeros(len(W_h)), e.new_zeros(len(W_h))
        for j in range(n):
            h = torch.tanh(W_x @ e[j] + W_h @ h)
            g = torch.tanh(W_x_back @ e[n - 1 - j] + W_h_back @ g)
            f.append(h)
            b.insert(0, g)
        rows.append(torch.cat([torch.cat([torch.stack(f), torch.stack(b)], 1), e.new_zeros(len(e) - n, 2 * len(W_h))]))
    return torch.stack(rows)


def annotate__right_packed_rnn(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """Calls nn.RNN on a packed sequence, with the matrices put in by functional_call."""
    r = torch.nn.RNN(embedded.shape[2], len(W_h), bias=False, bidirectional=True, batch_first=True).double()
    p = torch.nn.utils.rnn.pack_padded_sequence(embedded, source_mask.sum(1), batch_first=True, enforce_sorted=False)
    w = {"weight_ih_l0": W_x, "weight_hh_l0": W_h, "weight_ih_l0_reverse": W_x_back, "weight_hh_l0_reverse": W_h_back}
    out, _ = torch.func.functional_call(r, w, (p,))
    return torch.nn.utils.rnn.pad_packed_sequence(out, batch_first=True, total_length=embedded.shape[1])[0]


def annotate__right_gathered(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """Turns each sentence's real words round by an index, reads both alike, and turns back by the same index."""
    b, T, d = embedded.shape
    n = source_mask.sum(1, keepdim=True)
    i = torch.arange(T).expand(b, T)
    i = torch.where(i < n, n - 1 - i, i)[:, :, None]
    back = _pass(embedded.gather(1, i.expand(b, T, d)), source_mask, W_x_back, W_h_back, range(T), hold=False)
    both = torch.cat([_pass(embedded, source_mask, W_x, W_h, range(T), hold=False), back.gather(1, i.expand(b, T, len(W_h)))], 2)
    return both * source_mask[:, :, None].double()
