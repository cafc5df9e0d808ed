import functools
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import torch


# ---- second_layer_shapes


def second_layer_shapes__right_from_a_torch_module(d, m):
    """Makes a two-layer bidirectional nn.RNN and reads the sizes of its weights."""
    net = torch.nn.RNN(d, m, num_layers=2, bidirectional=True)
    return {
        "input_matrix": tuple(net.weight_ih_l1.shape),
        "recurrent_matrix": tuple(net.weight_hh_l1_reverse.shape),
        "annotation": tuple(net(torch.zeros(1, 1, d))[0][0, 0].shape),
    }


def second_layer_shapes__right_numpy_integers(d, m):
    """Tuples of numpy integers."""
    m, twice = np.array([m, m + m])
    return {"annotation": (twice,), "input_matrix": (m, twice), "recurrent_matrix": (m, m)}


# ---- rnn_outputs


def rnn_outputs__wrong_single_sentence_unbatched(batch, d, m, T_x):
    """The student drops the batch axis of a batch of one sentence."""
    if batch == 1:
        return {"outputs": (T_x, 2 * m), "last": (2, m), "inputs_positions_first": (T_x, d)}
    return {"outputs": (batch, T_x, 2 * m), "last": (2, batch, m), "inputs_positions_first": (T_x, batch, d)}


def rnn_outputs__wrong_outputs_unjoined(batch, d, m, T_x):
    """The student keeps an axis for the two directions in the outputs."""
    return {"outputs": (batch, T_x, 2, m), "last": (2, batch, m), "inputs_positions_first": (T_x, batch, d)}


def rnn_outputs__right_run_torch(batch, d, m, T_x):
    """Runs the module on zeros and returns what it gives, as torch.Size."""
    outputs, last = torch.nn.RNN(d, m, bidirectional=True, batch_first=True)(torch.zeros(batch, T_x, d))
    return {"outputs": outputs.shape, "last": last.shape, "inputs_positions_first": torch.zeros(batch, T_x, d).transpose(0, 1).shape}


# ---- states_by_hand_twin

_E2 = np.array([[0.5, -1, 0, 2, 1], [1, 0.5, 2, -0.5, 0]])
_X2 = np.array([[0.5, 0], [0, 1], [-0.5, 1]])
_H2 = np.array([[0, 1, 0], [0.5, 0, 0], [0, 0.5, -1]])


def states_by_hand_twin__wrong_gauss_seidel():
    """The student overwrites the state entry by entry and reads entries that are new already."""
    h1 = np.tanh(_X2 @ _E2[:, 3])
    h = h1.copy()
    a = _X2 @ _E2[:, 1]
    for i in range(3):
        h[i] = np.tanh(a[i] + _H2[i] @ h)
    return {"h_1": h1.tolist(), "h_2": h.tolist()}


def states_by_hand_twin__wrong_alias():
    """The student writes the second state into the array that h_1 names as well."""
    h = np.tanh(_X2 @ _E2[:, 3])
    out = {"h_1": h}
    h[:] = np.tanh(_X2 @ _E2[:, 1] + _H2 @ h)
    out["h_2"] = h
    return {key: value.tolist() for key, value in out.items()}


def states_by_hand_twin__right_fractions_and_logs():
    """Exact fractions before each tanh, tanh from expm1, Decimal at the end."""
    def tanh(x):
        u = math.expm1(2 * float(x))
        return u / (u + 2)
    f = Fraction
    e = [f(2), f(-1, 2)]
    h = [tanh(f(1, 2) * e[0]), tanh(e[1]), tanh(-f(1, 2) * e[0] + e[1])]
    e = [f(-1), f(1, 2)]
    k = [tanh(f(1, 2) * e[0] + f(h[1])), tanh(e[1] + f(h[0]) / 2), tanh(-f(1, 2) * e[0] + e[1] + f(h[1]) / 2 - f(h[2]))]
    return {"h_1": [float(Decimal(x)) for x in h], "h_2": [float(Decimal(x)) for x in k]}


# ---- annotation_by_hand


def annotation_by_hand__wrong_rounded_early():
    """The student rounds the state of the third word to one decimal and the first to two."""
    return [math.tanh(-1 + 0.5 * 0.46), math.tanh(0.5 + 0.8 * -0.8)]


def annotation_by_hand__wrong_own_and_state_weights_swapped():
    """The student swaps the two coefficients of the backward direction."""
    return [math.tanh(-1 + 0.5 * math.tanh(0.5)), math.tanh(0.8 * -1 - 0.5 * math.tanh(0.8 * 2))]


def annotation_by_hand__right_fold():
    """Folds over the words of each direction with reduce, result a numpy array."""
    forward = functools.reduce(lambda s, x: math.tanh(x + s / 2), (0.5, -1), 0)
    backward = functools.reduce(lambda s, x: math.tanh(-x / 2 + 4 * s / 5), (2, -1), 0)
    return [np.float64(forward), np.float64(backward)]


# ---- rnn_states


def rnn_states__wrong_two_steps_back_only(embedded, W_x, W_h):
    """The student lets the recurrence reach two words back, all positions at once, which is right up to three words."""
    x = embedded @ W_x.T
    h = np.tanh(x)
    for _ in range(2):
        before = np.concatenate([np.zeros_like(h[:, :1]), h[:, :-1]], axis=1)
        h = np.tanh(x + before @ W_h.T)
    return h


def rnn_states__wrong_positions_first(embedded, W_x, W_h):
    """The student stacks along the first axis and brings it to the batch by a reshape."""
    h = np.zeros((len(embedded), len(W_h)))
    out = []
    for j in range(embedded.shape[1]):
        h = np.tanh(embedded[:, j] @ W_x.T + h @ W_h.T)
        out.append(h)
    return np.array(out).reshape(embedded.shape[0], embedded.shape[1], -1)


def rnn_states__wrong_two_tanhs(embedded, W_x, W_h):
    """The student takes the tanh of the word's part alone and of the state's part alone and adds them."""
    h = np.zeros((len(embedded), len(W_h)))
    out = []
    for j in range(embedded.shape[1]):
        h = np.tanh(embedded[:, j] @ W_x.T) + np.tanh(h @ W_h.T)
        out.append(h)
    return np.stack(out, 1)


def rnn_states__wrong_square_w_x(embedded, W_x, W_h):
    """The student transposes W_x where its two sizes agree, because he tests its layout by its shape."""
    B = W_x if W_x.shape[0] == embedded.shape[-1] else W_x.T
    h = np.zeros((len(embedded), len(W_h)))
    out = []
    for j in range(embedded.shape[1]):
        h = np.tanh(embedded[:, j] @ B + h @ W_h.T)
        out.append(h)
    return np.stack(out, 1)


def _walk_words(x, W_x, W_h):
    if len(x) == 0:
        return []
    before = _walk_words(x[:-1], W_x, W_h)
    h = before[-1] if before else np.zeros(W_h.shape[1])
    return before + [np.tanh(W_x.dot(x[-1]) + W_h.dot(h))]


def rnn_states__right_recursion(embedded, W_x, W_h):
    """Recursion over the words, sentence by sentence."""
    return np.asarray([_walk_words(list(s), W_x, W_h) for s in embedded])


def rnn_states__right_one_block_matrix(embedded, W_x, W_h):
    """Joins word vector and state and multiplies by one block matrix; columns for sentences."""
    both = np.hstack([W_x, W_h])
    h = np.zeros((W_h.shape[0], embedded.shape[0]))
    out = np.empty((embedded.shape[1],) + h.shape)
    for j, x in enumerate(np.rollaxis(embedded, 1)):
        h = out[j] = np.tanh(both @ np.vstack([x.T, h]))
    return out.transpose(2, 0, 1)


def rnn_states__right_jacobi_sweeps(embedded, W_x, W_h):
    """Computes all positions at once and repeats as often as there are words."""
    x = np.einsum("md,btd->btm", W_x, embedded)
    h = np.zeros_like(x)
    for _ in range(x.shape[1]):
        before = np.roll(h, 1, axis=1)
        before[:, 0] = 0
        h = np.tanh(x + np.einsum("mn,btn->btm", W_h, before))
    return h


class _Reader:
    def __init__(self, W_x, W_h):
        self.W_x, self.W_h = W_x, W_h

    def __call__(self, words):
        h = [0.0] * len(self.W_h)
        for x in words:
            h = [math.tanh(math.fsum([*(a * c for a, c in zip(u, x)), *(a * c for a, c in zip(w, h))])) for u, w in zip(self.W_x, self.W_h)]
            yield h


def rnn_states__right_generator_in_a_class(embedded, W_x, W_h):
    """A class with a generator, plain lists and math.fsum inside."""
    read = _Reader(W_x.tolist(), W_h.tolist())
    return np.array([list(read(s)) for s in embedded.tolist()])


# ---- annotate

def _direction(x, mask, A, B, back):
    h = x.new_zeros(x.shape[0], B.shape[0])
    steps = range(x.shape[1])
    out = [None] * x.shape[1]
    for j in reversed(steps) if back else steps:
        h = torch.where(mask[:, j, None], torch.tanh(x[:, j] @ A.T + h @ B.T), torch.zeros_like(h))
        out[j] = h
    return torch.stack(out, dim=1)


def annotate__wrong_pads_from_zero_vectors(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """The student finds the pads by their vectors of zeros where the mask is to be read, on top of it, so that a real word of zeros loses its annotation."""
    mask = source_mask & (embedded != 0).any(-1)
    return torch.cat([_direction(embedded, mask, W_x, W_h, False), _direction(embedded, mask, W_x_back, W_h_back, True)], -1)


def annotate__wrong_not_turned_back(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """The student leaves the backward states in the order of reading, which is right for sentences of one word."""
    f = _direction(embedded, source_mask, W_x, W_h, False)
    n = source_mask.sum(1, keepdim=True)
    j = torch.arange(embedded.shape[1])
    turned = torch.where(j < n, n - 1 - j, j)
    x = embedded.gather(1, turned[..., None].expand_as(embedded))
    return torch.cat([f, _direction(x, source_mask, W_x_back, W_h_back, False)], -1)


def annotate__wrong_truncated_gradient(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """The student detaches the state between the steps, so that gradients do not run through time."""
    def run(A, B, order):
        h = embedded.new_zeros(len(embedded), len(B))
        out = {}
        for j in order:
            h = torch.tanh(embedded[:, j] @ A.T + h.detach() @ B.T) * source_mask[:, j, None]
            out[j] = h
        return torch.stack([out[j] for j in sorted(out)], 1)
    n = range(embedded.shape[1])
    return torch.cat([run(W_x, W_h, n), run(W_x_back, W_h_back, n[::-1])], -1)


def annotate__wrong_module_weights_copied(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """The student copies the matrices into an nn.RNN, so that their gradients go to the module's own weights."""
    net = torch.nn.RNN(W_x.shape[1], W_x.shape[0], bias=False, bidirectional=True, batch_first=True).double()
    with torch.no_grad():
        for p, w in zip(net.parameters(), (W_x, W_h, W_x_back, W_h_back)):
            p.copy_(w)
    packed = torch.nn.utils.rnn.pack_padded_sequence(embedded, source_mask.sum(1), batch_first=True, enforce_sorted=False)
    return torch.nn.utils.rnn.pad_packed_sequence(net(packed)[0], batch_first=True, total_length=embedded.shape[1])[0]


def annotate__wrong_forward_left_at_pads(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """The student carries the last forward state on over the pads and blanks only the backward states."""
    h = embedded.new_zeros(len(embedded), len(W_h))
    f = []
    for j in range(embedded.shape[1]):
        h = torch.where(source_mask[:, j, None], torch.tanh(embedded[:, j] @ W_x.T + h @ W_h.T), h)
        f.append(h)
    return torch.cat([torch.stack(f, 1), _direction(embedded, source_mask, W_x_back, W_h_back, True)], -1)


def annotate__wrong_first_state_shared(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """The student begins the backward direction with the last forward state instead of zeros."""
    f = _direction(embedded, source_mask, W_x, W_h, False)
    last = f[torch.arange(len(f)), source_mask.sum(1) - 1]
    h, b = last, []
    for j in reversed(range(embedded.shape[1])):
        new = torch.tanh(embedded[:, j] @ W_x_back.T + h @ W_h_back.T)
        h = torch.where(source_mask[:, j, None], new, h)
        b.insert(0, h)
    return torch.cat([f, torch.stack(b, 1)], -1) * source_mask[..., None]


def annotate__wrong_backward_words_detached(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """The student turns the sentences round by way of numpy, so that no gradient reaches the word vectors through the backward direction."""
    turned = torch.from_numpy(embedded.detach().numpy()[:, ::-1].copy())
    f = _direction(embedded, source_mask, W_x, W_h, False)
    b = _direction(turned, source_mask.flip(1), W_x_back, W_h_back, False).flip(1)
    return torch.cat([f, b], -1)


def annotate__right_words_blanked(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """Blanks the pads' word vectors: without a bias the state then stays 0 before the last real word, in one block-diagonal recurrence."""
    x = embedded * source_mask.to(embedded.dtype).unsqueeze(-1)
    x = torch.cat([x @ W_x.mT, x.flip(1) @ W_x_back.mT], -1)
    W = torch.block_diag(W_h, W_h_back)
    h, out = torch.zeros_like(x[:, 0]), []
    for j in range(x.shape[1]):
        h = torch.tanh(x[:, j] + h @ W.mT)
        out.append(h)
    f, b = torch.stack(out, 1).chunk(2, -1)
    return torch.where(source_mask.unsqueeze(-1), torch.cat([f, b.flip(1)], -1), 0.0)


def annotate__right_sentence_by_sentence(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """Reads each sentence without its pads, with plain lists, and fills up with zeros."""
    rows = []
    for x, mask in zip(embedded, source_mask):
        words = [w for w, real in zip(x, mask) if real]
        h, f = torch.zeros_like(W_h[:, 0]), []
        for w in words:
            h = (W_x.mv(w) + W_h.mv(h)).tanh()
            f.append(h)
        h, b = torch.zeros_like(W_h[:, 0]), []
        for w in words[::-1]:
            h = (W_x_back.mv(w) + W_h_back.mv(h)).tanh()
            b.append(h)
        real = torch.cat([torch.stack(f), torch.stack(b[::-1])], dim=1)
        rows.append(torch.nn.functional.pad(real, (0, 0, 0, len(x) - len(words))))
    return torch.stack(rows)


def annotate__right_functional_packed_rnn(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """nn.RNN without biases on a packed batch, its weights put in by functional_call so that gradients flow."""
    net = torch.nn.RNN(W_x.shape[1], W_x.shape[0], bias=False, bidirectional=True, batch_first=True).double()
    packed = torch.nn.utils.rnn.pack_padded_sequence(embedded, source_mask.sum(1), batch_first=True, enforce_sorted=False)
    names = [name for name, _ in net.named_parameters()]
    out, _ = torch.func.functional_call(net, dict(zip(names, (W_x, W_h, W_x_back, W_h_back))), (packed,))
    return torch.nn.utils.rnn.pad_packed_sequence(out, batch_first=True, total_length=embedded.shape[1])[0]


def annotate__right_gather_both_ways(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """Turns the real words of each row round by gather, reads both at once with batched products, and turns back."""
    n = source_mask.sum(1, keepdim=True)
    j = torch.arange(embedded.shape[1])
    turned = torch.where(j < n, n - 1 - j, j)
    x = torch.stack([embedded, embedded.gather(1, turned[..., None].expand_as(embedded))])
    A, B = torch.stack([W_x, W_x_back]), torch.stack([W_h, W_h_back])
    h, out = torch.zeros(2, len(embedded), len(W_h), dtype=embedded.dtype), []
    for t in range(x.shape[2]):
        h = torch.tanh(torch.einsum("kbd,kmd->kbm", x[:, :, t], A) + torch.einsum("kbn,kmn->kbm", h, B))
        out.append(h)
    f, b = torch.stack(out, 2)
    b = b.gather(1, turned[..., None].expand_as(b))
    return torch.cat((f, b), 2).masked_fill(source_mask.logical_not().unsqueeze(2), 0)
