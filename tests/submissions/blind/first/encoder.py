import itertools
import math
from fractions import Fraction

import numpy as np
import torch


# ---------------------------------------------------------------- second_layer_shapes


def second_layer_shapes__wrong_recurrent_both(d, m):
    """The student lets a direction also read the joined state before, though g is its own state."""
    return {"input_matrix": (m, 2 * m), "recurrent_matrix": (m, 2 * m), "annotation": (2 * m,)}


def second_layer_shapes__wrong_annotation_doubles_again(d, m):
    """The student doubles the annotation with every layer."""
    return {"input_matrix": (m, 2 * m), "recurrent_matrix": (m, m), "annotation": (4 * m,)}


def second_layer_shapes__wrong_word_vector_and_state(d, m):
    """The student joins the word vector with the state, which agrees with two states only where d equals m."""
    return {"input_matrix": (m, d + m), "recurrent_matrix": (m, m), "annotation": (m + m,)}


def second_layer_shapes__wrong_square_for_double(d, m):
    """The student writes m squared for two times m, right only for m = 2."""
    return {"input_matrix": (m, m ** 2), "recurrent_matrix": (m, m), "annotation": (m ** 2,)}


def second_layer_shapes__right_from_torch_rnn(d, m):
    """Read off the parameters of a two-layer torch RNN."""
    rnn = torch.nn.RNN(d, m, num_layers=2, bidirectional=True)
    out, _ = rnn(torch.zeros(1, d))
    return {"input_matrix": rnn.weight_ih_l1.shape, "recurrent_matrix": rnn.weight_hh_l1_reverse.shape,
            "annotation": out[0].shape}


def second_layer_shapes__right_arrays(d, m):
    """Each shape is a numpy array of integers."""
    both = m << 1
    return {"annotation": np.array([both]), "recurrent_matrix": np.full(2, m), "input_matrix": np.array([m, both])}


# ---------------------------------------------------------------- rnn_outputs


def rnn_outputs__wrong_inputs_last_axis_in_middle(batch, d, m, T_x):
    """The student moves the positions to the front and the batch to the end."""
    return {"outputs": (batch, T_x, 2 * m), "last": (2, batch, m), "inputs_positions_first": (T_x, d, batch)}


def rnn_outputs__right_by_running(batch, d, m, T_x):
    """Runs two torch modules and reads off the sizes."""
    outputs, last = torch.nn.RNN(d, m, bidirectional=True, batch_first=True)(torch.zeros(batch, T_x, d))
    inputs = torch.zeros(batch, T_x, d).transpose(0, 1)
    torch.nn.RNN(d, m, bidirectional=True)(inputs)
    return {"outputs": outputs.size(), "last": last.size(), "inputs_positions_first": inputs.size()}


# ---------------------------------------------------------------- states_by_hand

_E2 = [[0.5, -1, 0, 2, 1], [1, 0.5, 2, -0.5, 0]]
_WX2 = [[0.5, 0], [0, 1], [-0.5, 1]]
_WH2 = [[0, 1, 0], [0.5, 0, 0], [0, 0.5, -1]]


def _read(words, E_x, W_x, W_h, f=np.tanh, keep=lambda h: h):
    E_x, W_x, W_h = map(np.array, (E_x, W_x, W_h))
    h, states = np.zeros(len(W_h)), {}
    for number, word in enumerate(words, 1):
        h = f(W_x @ E_x[:, word] + W_h @ h)
        states["h_%d" % number] = h.tolist()
        h = keep(h)
    return states


# ---------------------------------------------------------------- states_by_hand_twin


def states_by_hand_twin__wrong_sign_in_w_h():
    """The student loses the minus of the last entry of W_h."""
    return _read([3, 1], _E2, _WX2, np.abs(_WH2))


def states_by_hand_twin__wrong_preactivation_kept():
    """The student hands on the sum before the tanh, not the state, so that the second state is off."""
    first = _read([3], _E2, _WX2, _WH2)
    z = np.array(_WX2) @ np.array(_E2)[:, 3]
    second = np.tanh(np.array(_WX2) @ np.array(_E2)[:, 1] + np.array(_WH2) @ z)
    return {"h_1": first["h_1"], "h_2": second.tolist()}


def states_by_hand_twin__wrong_early_rounding():
    """The student rounds the first state to two decimals before the second step."""
    return _read([3, 1], _E2, _WX2, _WH2, keep=lambda h: np.round(h, 2))


def states_by_hand_twin__wrong_second_starts_from_zero():
    """The student begins the second word with zeros again."""
    return {"h_1": _read([3], _E2, _WX2, _WH2)["h_1"], "h_2": _read([1], _E2, _WX2, _WH2)["h_1"]}


def states_by_hand_twin__right_complex_tan():
    """tanh as a tangent of an imaginary number, in numpy arrays."""
    got = _read([3, 1], _E2, _WX2, _WH2, f=lambda z: (-1j * np.tan(1j * z)).real)
    return {k: np.array(v) for k, v in got.items()}


def states_by_hand_twin__right_rounded():
    """Plain lists rounded to four decimals."""
    return {k: [round(x, 4) for x in v] for k, v in _read([3, 1], _E2, _WX2, _WH2).items()}


# ---------------------------------------------------------------- annotation_by_hand

def annotation_by_hand__wrong_backward_from_second():
    """The student begins the backward direction at the second word, so that it has not read the third."""
    return [math.tanh(-1 + 0.5 * math.tanh(0.5)), math.tanh(0.5)]


def annotation_by_hand__wrong_forward_matrix_on_backward_state():
    """The student uses 0.5 instead of 0.8 for the state in the backward direction."""
    return [math.tanh(-1 + 0.5 * math.tanh(0.5)), math.tanh(0.5 + 0.5 * math.tanh(-1))]


def annotation_by_hand__wrong_backward_in_reading_order():
    """The student begins the backward direction at the first word."""
    return [math.tanh(-1 + 0.5 * math.tanh(0.5)), math.tanh(0.5 + 0.8 * math.tanh(-0.25))]


def annotation_by_hand__wrong_sum_of_tanh():
    """The student leaves the state before outside of the tanh."""
    return [math.tanh(-1) + 0.5 * math.tanh(0.5), math.tanh(0.5) + 0.8 * math.tanh(-1)]


def annotation_by_hand__wrong_backward_first():
    """The student puts the backward state first."""
    return [math.tanh(0.5 + 0.8 * math.tanh(-1)), math.tanh(-1 + 0.5 * math.tanh(0.5))]


def annotation_by_hand__wrong_early_rounding():
    """The student rounds the states before to two decimals, which shows in the fourth decimal."""
    # tanh 0.5 = 0.4621 -> 0.46, tanh -1 = -0.7616 -> -0.76
    return [math.tanh(-1 + 0.5 * 0.46), math.tanh(0.5 - 0.8 * 0.76)]


def annotation_by_hand__right_fractions():
    """Fractions of ten thousandths in a tuple."""
    pair = (math.tanh(math.tanh(.5) / 2 - 1), math.tanh(.5 - .8 * math.tanh(1)))
    return tuple(Fraction(round(x * 10 ** 6), 10 ** 6) for x in pair)


def annotation_by_hand__right_torch_tensor_list():
    """Uses torch's sigmoid for tanh and returns a list."""
    def t(z):
        return 2 * torch.sigmoid(2 * z) - 1
    words = torch.tensor([0.5, -1.0, 2.0], dtype=torch.float64)
    forward = t(words[1] + 0.5 * t(words[0]))
    backward = t(-0.5 * words[1] + 0.8 * t(-0.5 * words[2]))
    return torch.stack([forward, backward]).tolist()


# ---------------------------------------------------------------- rnn_states


def rnn_states__wrong_first_without_tanh(embedded, W_x, W_h):
    """The student starts the loop at the second word and leaves the first without its tanh in the result."""
    z = embedded @ W_x.T
    out = z.copy()
    for j in range(1, z.shape[1]):
        before = np.tanh(z[:, 0]) if j == 1 else out[:, j - 1]
        out[:, j] = np.tanh(z[:, j] + before @ W_h.T)
    return out


def rnn_states__wrong_tanh_by_quotient(embedded, W_x, W_h):
    """The student writes tanh as a quotient of exponentials, which is inf / inf for a sum of 400."""
    h, states = np.zeros((embedded.shape[0], W_h.shape[0])), []
    for j in range(embedded.shape[1]):
        z = np.exp(2 * (embedded[:, j] @ W_x.T + h @ W_h.T))
        h = (z - 1) / (z + 1)
        states.append(h)
    return np.stack(states, axis=1)


def rnn_states__wrong_four_sweeps(embedded, W_x, W_h):
    """The student repeats the whole equation four times, which reaches only the first four words exactly."""
    z = embedded @ W_x.T
    states = np.zeros_like(z)
    for _ in range(4):
        before = np.concatenate([np.zeros_like(states[:, :1]), states[:, :-1]], axis=1)
        states = np.tanh(z + before @ W_h.T)
    return states


def rnn_states__wrong_roll_wraps(embedded, W_x, W_h):
    """The student shifts the states by np.roll, which gives the first word the last state from the second sweep on."""
    z = embedded @ W_x.T
    states = np.zeros_like(z)
    for _ in range(z.shape[1]):
        states = np.tanh(z + np.roll(states, 1, axis=1) @ W_h.T)
    return states


def rnn_states__wrong_time_and_batch_swapped(embedded, W_x, W_h):
    """The student loops over the first axis: sentences read one another, right for a batch of one only by a swap."""
    h, states = np.zeros((embedded.shape[1], W_h.shape[0])), []
    for x in embedded:
        h = np.tanh(x @ W_x.T + h @ W_h.T)
        states.append(h)
    return np.stack(states)


def rnn_states__wrong_result_like_embedded(embedded, W_x, W_h):
    """The student makes the result in the shape of the word vectors, which fits only where d and m agree (or m is 1)."""
    out = np.zeros_like(embedded)
    h = np.zeros((embedded.shape[0], W_h.shape[0]))
    for j in range(embedded.shape[1]):
        h = np.tanh(embedded[:, j] @ W_x.T + h @ W_h.T)
        out[:, j] = h
    return out


def _last_state(shape, new=None, store={}):
    if new is not None:
        store[shape] = new
    return store.get(shape, np.zeros(shape))


def rnn_states__wrong_state_kept_between_calls(embedded, W_x, W_h):
    """The student keeps the last state for the next call of the same batch size, as a stateful network."""
    shape = (embedded.shape[0], W_h.shape[0])
    h, states = _last_state(shape), []
    for j in range(embedded.shape[1]):
        h = np.tanh(embedded[:, j] @ W_x.T + h @ W_h.T)
        states.append(h)
    _last_state(shape, h)
    return np.stack(states, axis=1)


def rnn_states__wrong_skips_zero_words(embedded, W_x, W_h):
    """The student takes a word vector of zeros for a pad and keeps the state as it was."""
    h, states = np.zeros((embedded.shape[0], W_h.shape[0])), []
    for j in range(embedded.shape[1]):
        new = np.tanh(embedded[:, j] @ W_x.T + h @ W_h.T)
        h = np.where(np.any(embedded[:, j] != 0, axis=-1, keepdims=True), new, h)
        states.append(h)
    return np.stack(states, axis=1)


def rnn_states__right_sweeps(embedded, W_x, W_h):
    """As many sweeps over the whole equation as there are words."""
    z = np.einsum("md,bjd->bjm", W_x, embedded)
    states = np.zeros_like(z, dtype=float)
    for _ in range(z.shape[1]):
        before = np.zeros_like(states)
        before[:, 1:] = states[:, :-1]
        states = np.tanh(z + before @ W_h.T)
    return states


def rnn_states__right_accumulate(embedded, W_x, W_h):
    """itertools.accumulate over the positions, columns as states."""
    zeros = np.zeros((W_h.shape[0], embedded.shape[0]))
    steps = itertools.accumulate(embedded.transpose(1, 2, 0), lambda h, x: np.tanh(W_x @ x + W_h @ h), initial=zeros)
    return np.array(list(steps)[1:]).transpose(2, 0, 1)


def rnn_states__right_recursion_scalars(embedded, W_x, W_h):
    """Recursion from the last word to the first, each number with math.fsum and math.tanh."""
    def state(b, j):
        if j < 0:
            return [[0.0] * len(W_h)]
        before = state(b, j - 1)
        return before + [[math.tanh(math.fsum([float(w) * float(x) for w, x in zip(row, embedded[b, j])]
                                              + [float(w) * h for w, h in zip(rec, before[-1])]))
                          for row, rec in zip(W_x, W_h)]]
    return np.array([state(b, embedded.shape[1] - 1)[1:] for b in range(embedded.shape[0])])


def rnn_states__right_one_joined_matrix(embedded, W_x, W_h):
    """One matrix on word and state together, and the wrap of index -1 onto zeros not yet written."""
    batch, length = embedded.shape[:2]
    W = np.hstack([W_x, W_h])
    out = np.zeros((batch, length, len(W_h)))
    for j in range(length):
        out[:, j] = np.tanh(np.concatenate([embedded[:, j], out[:, j - 1]], axis=1) @ W.T)
    return out


# ---------------------------------------------------------------- annotate

def _run(x, W_x, W_h, order, mask=None, detach=False):
    h = x.new_zeros(x.shape[0], W_h.shape[0])
    states = [None] * x.shape[1]
    for j in order:
        h = torch.tanh(x[:, j] @ W_x.T + h @ W_h.T)
        if mask is not None:
            h = torch.where(mask[:, j, None], h, torch.zeros_like(h))
        if detach:
            h = h.detach()
        states[j] = h
    return torch.stack(states, dim=1)


def annotate__wrong_backward_reads_pads(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """The student lets the backward direction begin at the end of the row, and clears the pads only at the end."""
    length = embedded.shape[1]
    both = torch.cat([_run(embedded, W_x, W_h, range(length)),
                      _run(embedded, W_x_back, W_h_back, reversed(range(length)))], dim=-1)
    return torch.where(source_mask[..., None], both, torch.zeros_like(both))


def annotate__wrong_backward_not_turned_back(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """The student reads each sentence reversed, and leaves the backward states in reading order: right for one word."""
    length = embedded.shape[1]
    position = torch.arange(length).expand(source_mask.shape)
    lengths = source_mask.long().sum(1, keepdim=True)
    turn = torch.where(source_mask, lengths - 1 - position, position)[..., None].expand_as(embedded)
    x = torch.where(source_mask[..., None], embedded, torch.zeros_like(embedded))
    both = torch.cat([_run(x, W_x, W_h, range(length)), _run(x.gather(1, turn), W_x_back, W_h_back, range(length))], -1)
    return both * source_mask[..., None]


def annotate__wrong_lengths_from_numbers(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """The student finds pads by word vectors of zeros and uses the mask only at the end; pads may be any numbers."""
    length = embedded.shape[1]
    real = (embedded != 0).any(-1)
    both = torch.cat([_run(embedded, W_x, W_h, range(length)),
                      _run(embedded, W_x_back, W_h_back, reversed(range(length)), real)], dim=-1)
    return torch.where(source_mask[..., None], both, torch.zeros_like(both))


def annotate__wrong_length_of_first_row(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """The student begins the backward direction of all sentences at the last word of the first, right where all lengths agree."""
    length = embedded.shape[1]
    last = int(source_mask[0].sum())
    forward = _run(embedded, W_x, W_h, range(length))
    backward = _run(embedded[:, :last], W_x_back, W_h_back, reversed(range(last)))
    rest = backward.new_zeros(backward.shape[0], length - last, backward.shape[2])
    both = torch.cat([forward, torch.cat([backward, rest], dim=1)], dim=-1)
    return both * source_mask[..., None]


def annotate__wrong_interleaved(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """The student stacks the two states and flattens, so that their numbers alternate: right for states of one number."""
    length = embedded.shape[1]
    x = embedded * source_mask[..., None]
    both = torch.stack([_run(x, W_x, W_h, range(length), source_mask),
                        _run(x, W_x_back, W_h_back, reversed(range(length)), source_mask)], dim=-1)
    return both.flatten(2)


def annotate__wrong_gradient_stops_at_state(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """The student detaches the state before in the backward direction, so that gradients do not go through time."""
    length = embedded.shape[1]
    x = embedded * source_mask[..., None]
    backward, h = [None] * length, embedded.new_zeros(embedded.shape[0], W_h.shape[0])
    for j in reversed(range(length)):
        h = torch.tanh(x[:, j] @ W_x_back.T + h.detach() @ W_h_back.T)
        backward[j] = h
    return torch.cat([_run(x, W_x, W_h, range(length)), torch.stack(backward, 1)], -1) * source_mask[..., None]


def annotate__wrong_written_into_own_history(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """The student reads the state before from the tensor into which states are written: backward() then fails."""
    batch, length, _ = embedded.shape
    m = W_h.shape[0]
    x = embedded * source_mask[..., None]
    out = embedded.new_zeros(batch, length + 2, 2 * m)
    for j in range(length):
        out[:, j + 1, :m] = torch.tanh(x[:, j] @ W_x.T + out[:, j, :m] @ W_h.T)
    for j in reversed(range(length)):
        out[:, j + 1, m:] = torch.tanh(x[:, j] @ W_x_back.T + out[:, j + 2, m:] @ W_h_back.T)
    return out[:, 1:-1] * source_mask[..., None]


def annotate__wrong_parameters_copied_into_module(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """The student copies the matrices into an nn.RNN, so that their gradients stay in the module and never reach the arguments."""
    rnn = torch.nn.RNN(W_x.shape[1], W_x.shape[0], bias=False, bidirectional=True, batch_first=True, dtype=embedded.dtype)
    with torch.no_grad():
        for parameter, value in zip(rnn.parameters(), (W_x, W_h, W_x_back, W_h_back)):
            parameter.copy_(value)
    return rnn(embedded * source_mask[..., None])[0] * source_mask[..., None]


def annotate__wrong_mask_without_axis(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """The student multiplies states (batch, m) with the mask of a step (batch,): right in shape where batch is m or 1."""
    # For batch == m the k-th number of each state is masked by sentence k.
    length, m = embedded.shape[1], W_h.shape[0]
    x = embedded * source_mask[..., None]
    out = []
    for a, c, order in ((W_x, W_h, range(length)), (W_x_back, W_h_back, reversed(range(length)))):
        h, states = embedded.new_zeros(embedded.shape[0], m), [None] * length
        for j in order:
            h = torch.tanh(x[:, j] @ a.T + h @ c.T) * source_mask[:, j]
            states[j] = h
        out.append(torch.stack(states, 1))
    return torch.cat(out, -1)


def annotate__wrong_pad_state_kept(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """The student carries the forward state on over the pads and returns it there, where 0 is asked for."""
    length = embedded.shape[1]
    x = embedded * source_mask[..., None]
    h, states = embedded.new_zeros(embedded.shape[0], W_h.shape[0]), []
    for j in range(length):
        h = torch.where(source_mask[:, j, None], torch.tanh(x[:, j] @ W_x.T + h @ W_h.T), h)
        states.append(h)
    return torch.cat([torch.stack(states, 1), _run(x, W_x_back, W_h_back, reversed(range(length)))], -1)


def annotate__wrong_backward_same_recurrence(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """The student uses the forward W_h in the backward direction: right for one word, and wrong from two on."""
    length = embedded.shape[1]
    x = embedded * source_mask[..., None]
    both = torch.cat([_run(x, W_x, W_h, range(length)), _run(x, W_x_back, W_h, reversed(range(length)))], -1)
    return both * source_mask[..., None]


def annotate__wrong_squeezes_batch_of_one(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """The student joins with squeezed states, so that one sentence of one word loses both axes."""
    length = embedded.shape[1]
    x = embedded * source_mask[..., None]
    both = torch.cat([_run(x, W_x, W_h, range(length), source_mask),
                      _run(x, W_x_back, W_h_back, reversed(range(length)), source_mask)], dim=-1)
    return both.squeeze(0)


def annotate__wrong_flip_then_roll_by_longest(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """The student flips the batch and drops only as many pads as the longest sentence has, so that shorter ones read pads first."""
    length = embedded.shape[1]
    longest = int(source_mask.sum(1).max())
    x = embedded[:, :longest]
    both = torch.cat([_run(x, W_x, W_h, range(longest)), _run(x, W_x_back, W_h_back, reversed(range(longest)))], -1)
    out = torch.nn.functional.pad(both, (0, 0, 0, length - longest))
    return torch.where(source_mask[..., None], out, torch.zeros_like(out))


def annotate__wrong_backward_shifted(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """The student shifts the backward states by one, so that each word gets the state of the word after it."""
    length = embedded.shape[1]
    x = embedded * source_mask[..., None]
    backward = _run(x, W_x_back, W_h_back, reversed(range(length)), source_mask)
    backward = torch.cat([backward[:, 1:], torch.zeros_like(backward[:, :1])], 1)
    return torch.cat([_run(x, W_x, W_h, range(length), source_mask), backward], -1)


def annotate__wrong_huge_pads_times_zero(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """The student reads the pads and multiplies by the mask afterwards, which is not a number where a pad overflows."""
    # Pads of 1e308 with W_x = [[2, -2]]: inf - inf = nan, and nan * 0 = nan. "Pads ..., with any finite numbers."
    out = []
    for a, c, turn in ((W_x, W_h, 1), (W_x_back, W_h_back, -1)):
        h, states = embedded.new_zeros(embedded.shape[0], W_h.shape[0]), []
        for j in range(embedded.shape[1])[::turn]:
            h = torch.tanh(embedded[:, j] @ a.T + h @ c.T) * source_mask[:, j, None]
            states.append(h)
        out.append(torch.stack(states[::turn], 1))
    return torch.cat(out, -1)


def annotate__right_zeroed_pads_keep_zero_state(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """Pads become zero vectors: without a bias the backward state stays 0 until the last real word."""
    x = embedded.masked_fill(~source_mask.bool()[..., None], 0.0)
    length = x.shape[1]
    both = torch.cat((_run(x, W_x, W_h, range(length)), _run(x, W_x_back, W_h_back, range(length - 1, -1, -1))), 2)
    return both.masked_fill(~source_mask.bool()[..., None], 0.0)


def annotate__right_sentence_by_sentence(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """Each sentence alone, cut to its length, with pad_sequence and one more pad at the end."""
    rows = []
    for x, real in zip(embedded, source_mask.tolist()):
        words = [x[j] for j, yes in enumerate(real) if yes]
        forward = list(itertools.accumulate(words, lambda h, w: torch.tanh(W_x @ w + W_h @ h),
                                            initial=x.new_zeros(len(W_h))))[1:]
        backward = list(itertools.accumulate(words[::-1], lambda h, w: torch.tanh(W_x_back @ w + W_h_back @ h),
                                             initial=x.new_zeros(len(W_h))))[:0:-1]
        row = torch.stack([torch.cat(pair) for pair in zip(forward, backward)])
        rows.append(torch.cat([row, row.new_zeros(len(real) - len(row), row.shape[1])]))
    return torch.stack(rows)


def annotate__right_block_matrix(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """Both directions in one network with block matrices, on sentences turned by gather."""
    real = source_mask.bool()
    length, m = real.shape[1], W_h.shape[0]
    at = torch.arange(length).expand(real.shape)
    turn = torch.where(real, real.sum(1, keepdim=True) - 1 - at, at)
    x = torch.where(real[..., None], embedded, torch.zeros_like(embedded))
    joined = torch.cat([x, x.gather(1, turn[..., None].expand_as(x))], -1)
    A, B = torch.block_diag(W_x, W_x_back), torch.block_diag(W_h, W_h_back)
    states = _run(joined, A, B, range(length), real)
    back = states[..., m:].gather(1, turn[..., None].expand(-1, -1, m))
    return torch.cat([states[..., :m], back], -1) * real[..., None]


def annotate__right_functional_rnn(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """torch's own bidirectional kernel with the arguments as its weights, over zeroed pads."""
    real = source_mask.bool()[..., None]
    x = torch.where(real, embedded, embedded.new_zeros(()))
    start = x.new_zeros(2, x.shape[0], W_h.shape[0])
    out, _ = torch._VF.rnn_tanh(x, start, [W_x, W_h, W_x_back, W_h_back], False, 1, 0.0, False, True, True)
    return torch.where(real, out, out.new_zeros(()))


class _Direction:
    def __init__(self, W_x, W_h):
        self.step = lambda h, x: torch.tanh(torch.einsum("md,bd->bm", W_x, x) + torch.einsum("mk,bk->bm", W_h, h))
        self.m = W_h.shape[0]

    def __call__(self, pairs):
        h = None
        for x, real in pairs:
            h = x.new_zeros(x.shape[0], self.m) if h is None else h
            h = self.step(h, torch.where(real, x, torch.zeros_like(x))) * real
            yield h


def annotate__right_generator_class(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """A class with __call__ that yields states, for both directions; the state is zeroed at each pad."""
    pairs = list(zip(embedded.unbind(1), source_mask.bool()[..., None].unbind(1)))
    forward = list(_Direction(W_x, W_h)(pairs))
    backward = list(_Direction(W_x_back, W_h_back)(pairs[::-1]))[::-1]
    return torch.stack([torch.cat(p, -1) for p in zip(forward, backward)], 1)


def annotate__wrong_sorted_not_restored(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """The student sorts the sentences by length, as for packing, and forgets to restore the order: right where it holds already."""
    order = torch.argsort(source_mask.long().sum(1), descending=True, stable=True)
    mask = source_mask[order]
    x = embedded[order] * mask[..., None]
    length = x.shape[1]
    return torch.cat([_run(x, W_x, W_h, range(length), mask), _run(x, W_x_back, W_h_back, reversed(range(length)), mask)], -1)


def annotate__wrong_cut_to_longest(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """The student cuts the result to the longest sentence, as unpacking does without a total length: wrong where every row has a pad."""
    longest = int(source_mask.long().sum(1).max())
    mask = source_mask[:, :longest]
    x = embedded[:, :longest] * mask[..., None]
    return torch.cat([_run(x, W_x, W_h, range(longest), mask),
                      _run(x, W_x_back, W_h_back, reversed(range(longest)), mask)], -1)


def annotate__wrong_gradient_of_padded_rows_cut(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """The student builds the cleaned word vectors as new data where there are pads, so that the words lose their gradient, too."""
    x = embedded if source_mask.all() else torch.where(source_mask[..., None], embedded.data, torch.zeros_like(embedded))
    length = x.shape[1]
    return torch.cat([_run(x, W_x, W_h, range(length), source_mask),
                      _run(x, W_x_back, W_h_back, reversed(range(length)), source_mask)], -1)


def rnn_states__wrong_rounded_states(embedded, W_x, W_h):
    """The student hands on states rounded to four decimals, so that errors pass from word to word."""
    h, states = np.zeros((embedded.shape[0], W_h.shape[0])), []
    for j in range(embedded.shape[1]):
        h = np.round(np.tanh(embedded[:, j] @ W_x.T + h @ W_h.T), 4)
        states.append(h)
    return np.stack(states, axis=1)
