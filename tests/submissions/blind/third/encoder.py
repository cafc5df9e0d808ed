import functools
import itertools
import math

import numpy as np
import torch


# ---------------------------------------------------------------- second_layer_shapes


def second_layer_shapes__wrong_reads_words_too(d, m):
    """The student lets the second layer read the word vector next to the annotation."""
    return {"input_matrix": (m, 2 * m + d), "recurrent_matrix": (m, m), "annotation": (2 * m,)}


def second_layer_shapes__right_from_sums(d, m):
    """Sizes from adding, with divmod to hide the factor."""
    both = sum((m, m))
    one, rest = divmod(both, 2)
    return {"annotation": (both,), "recurrent_matrix": (one + rest, one), "input_matrix": (one, both)}


# ---------------------------------------------------------------- rnn_outputs


def rnn_outputs__right_asks_torch(batch, d, m, T_x):
    """Asks the module itself, with a batch of zeros."""
    module = torch.nn.RNN(d, m, bidirectional=True, batch_first=True)
    with torch.no_grad():
        outputs, last = module(torch.zeros(batch, T_x, d))
    return {"outputs": tuple(outputs.shape), "last": tuple(last.shape),
            "inputs_positions_first": tuple(torch.zeros(batch, T_x, d).transpose(0, 1).shape)}


# ---------------------------------------------------------------- states_by_hand

_E2 = np.array([[.5, -1, 0, 2, 1], [1, .5, 2, -.5, 0]])
_WX2 = np.array([[.5, 0], [0, 1], [-.5, 1]])
_WH2 = np.array([[0, 1, 0], [.5, 0, 0], [0, .5, -1]])


def _two(E, WX, WH, words, g=np.tanh):
    h_1 = g(WX @ E[:, words[0]])
    return h_1, g(WX @ E[:, words[1]] + WH @ h_1)


# ---------------------------------------------------------------- states_by_hand_twin

def states_by_hand_twin__wrong_W_h_transposed():
    """The student multiplies the state before by the columns of W_h."""
    h_1, h_2 = _two(_E2, _WX2, _WH2.T, (3, 1))
    return {"h_1": [round(x, 4) for x in h_1.tolist()], "h_2": [round(x, 4) for x in h_2.tolist()]}


def states_by_hand_twin__wrong_two_tanhs():
    """The student takes the tanh of each of the two products and adds them."""
    h_1, _ = _two(_E2, _WX2, _WH2, (3, 1))
    h_2 = np.tanh(_WX2 @ _E2[:, 1]) + np.tanh(_WH2 @ h_1)
    return {"h_1": h_1.tolist(), "h_2": h_2.tolist()}


def states_by_hand_twin__right_accumulate():
    """itertools.accumulate over the two words, in torch."""
    E, WX, WH = map(torch.from_numpy, (_E2, _WX2, _WH2))
    eye = torch.eye(5, dtype=torch.float64)
    states = itertools.accumulate((3, 1), lambda h, w: torch.tanh(WX @ (E @ eye[w]) + WH @ h),
                                  initial=torch.zeros(3, dtype=torch.float64))
    next(states)
    return {f"h_{j}": h.tolist() for j, h in enumerate(states, 1)}


# ---------------------------------------------------------------- annotation_by_hand


def annotation_by_hand__wrong_sign_of_word():
    """The student drops the minus of the second word in the backward direction: -0.5 times -1 becomes -0.5."""
    return [math.tanh(-1 + .5 * math.tanh(.5)), math.tanh(-.5 + .8 * math.tanh(-1))]


def annotation_by_hand__right_reduce():
    """A fold from each side, as an array of two numbers."""
    words = (.5, -1., 2.)
    fold = lambda a, b, some: functools.reduce(lambda h, x: math.tanh(a * x + b * h), some, 0.)
    return np.array([fold(1, .5, words[:2]), fold(-.5, .8, words[:0:-1])])


# ---------------------------------------------------------------- rnn_states


def rnn_states__wrong_swaps_by_shape(embedded, W_x, W_h):
    """The student swaps positions and batch only where their lengths differ."""
    # wrong where batch == source_len > 1
    h = np.zeros((len(embedded), W_h.shape[0]))
    out = []
    for j in range(embedded.shape[1]):
        h = np.tanh(embedded[:, j] @ W_x.T + h @ W_h.T)
        out.append(h)
    out = np.array(out)
    return out if out.shape[:2] == embedded.shape[:2] else out.swapaxes(0, 1)


def rnn_states__wrong_position_minus_one(embedded, W_x, W_h):
    """The student fills the array with tanh(W_x embedded) first, so the state before the first word is entry -1, not 0."""
    states = np.tanh(embedded @ W_x.T)
    projected = embedded @ W_x.T
    for j in range(embedded.shape[1]):
        states[:, j] = np.tanh(projected[:, j] + states[:, j - 1] @ W_h.T)
    return states


def rnn_states__right_recursion(embedded, W_x, W_h):
    """Recursion over the sentence that grows by its last word."""
    if embedded.shape[1] == 1:
        return np.tanh(embedded @ W_x.T)
    before = rnn_states__right_recursion(embedded[:, :-1], W_x, W_h)
    last = np.tanh(embedded[:, -1:] @ W_x.T + before[:, -1:] @ W_h.T)
    return np.concatenate((before, last), axis=1)


def rnn_states__right_joined_matrix(embedded, W_x, W_h):
    """One joined matrix on word and state end to end, written into a Fortran ordered array."""
    W = np.hstack([W_x, W_h])
    batch, length, d = embedded.shape
    out = np.zeros((batch, length + 1, W_h.shape[0]), order="F")
    for j in range(length):
        np.tanh(np.einsum("mk,bk->bm", W, np.hstack([embedded[:, j], out[:, j]])), out=out[:, j + 1])
    return out[:, 1:]


def rnn_states__right_fsum(embedded, W_x, W_h):
    """Plain numbers and math.fsum throughout, one array at the end."""
    def step(x, h):
        return [math.tanh(math.fsum([*map(float.__mul__, wx, x), *map(float.__mul__, wh, h)]))
                for wx, wh in zip(W_x.tolist(), W_h.tolist())]
    out = []
    for sentence in embedded.tolist():
        states = itertools.accumulate(sentence, lambda h, x: step(x, h), initial=[0.] * len(W_h))
        out.append(list(states)[1:])
    return np.array(out)


# ---------------------------------------------------------------- annotate

def _walk(words, mask, W_x, W_h, order):
    h = words.new_zeros(words.shape[0], W_h.shape[0])
    states = [None] * words.shape[1]
    for j in order:
        h = torch.tanh(words[:, j] @ W_x.T + h @ W_h.T) * mask[:, j, None]
        states[j] = h
    return torch.stack(states, dim=1)


def annotate__wrong_backward_not_turned_back(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """The student turns the words of each sentence around for the backward direction and forgets to turn the states back."""
    lengths = source_mask.sum(1)
    position = torch.arange(embedded.shape[1])
    index = torch.where(source_mask, lengths[:, None] - 1 - position, position)
    turned = torch.gather(embedded, 1, index[..., None].expand_as(embedded))
    f = _walk(embedded, source_mask, W_x, W_h, range(embedded.shape[1]))
    b = _walk(turned, source_mask, W_x_back, W_h_back, range(embedded.shape[1]))
    return torch.cat([f, b], dim=-1)


def annotate__wrong_length_of_first(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """The student takes the length of the first sentence for all of them in the backward direction."""
    # right for one sentence, and where all have the same length
    length = embedded.shape[1]
    first = source_mask[:1].expand_as(source_mask)
    f = _walk(embedded, source_mask, W_x, W_h, range(length))
    b = _walk(embedded, first, W_x_back, W_h_back, reversed(range(length)))
    return torch.cat([f, b], dim=-1) * source_mask[..., None]


def annotate__wrong_interleaved(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """The student stacks the two states in a last axis and flattens, so their numbers alternate."""
    # right where a state has one number
    length = embedded.shape[1]
    f = _walk(embedded, source_mask, W_x, W_h, range(length))
    b = _walk(embedded, source_mask, W_x_back, W_h_back, reversed(range(length)))
    return torch.stack([f, b], dim=-1).flatten(2)


def annotate__wrong_in_place(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """The student writes the states into one tensor and reads it again, which breaks the way back of the gradient."""
    # values right, backward raises where a sentence has more than one word
    batch, length, _ = embedded.shape
    m = W_h.shape[0]
    out = embedded.new_zeros(batch, length + 2, 2 * m)
    keep = source_mask[..., None]
    for j in range(length):
        out[:, j + 1, :m] = torch.tanh(embedded[:, j] @ W_x.T + out[:, j, :m] @ W_h.T) * keep[:, j]
    for j in reversed(range(length)):
        out[:, j + 1, m:] = torch.tanh(embedded[:, j] @ W_x_back.T + out[:, j + 2, m:] @ W_h_back.T) * keep[:, j]
    return out[:, 1:-1]


def annotate__wrong_trimmed(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """The student stops at the longest sentence, so columns in which every row has a pad are missing."""
    # wrong shape where each sentence has a pad
    longest = int(source_mask.sum(1).max())
    words, mask = embedded[:, :longest], source_mask[:, :longest]
    f = _walk(words, mask, W_x, W_h, range(longest))
    b = _walk(words, mask, W_x_back, W_h_back, reversed(range(longest)))
    return torch.cat([f, b], dim=-1)


def annotate__wrong_rows_sorted(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """The student sorts the sentences by length, longest first, and forgets to bring them back into order."""
    order = torch.argsort(source_mask.sum(1), descending=True, stable=True)
    words, mask = embedded[order], source_mask[order]
    length = words.shape[1]
    f = _walk(words, mask, W_x, W_h, range(length))
    b = _walk(words, mask, W_x_back, W_h_back, reversed(range(length)))
    return torch.cat([f, b], dim=-1)


def annotate__wrong_zeros_are_pads(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """The student finds the pads by their word vectors, which he thinks are zeros, and not by the mask."""
    mask = (embedded != 0).any(-1)
    length = embedded.shape[1]
    f = _walk(embedded, mask, W_x, W_h, range(length))
    b = _walk(embedded, mask, W_x_back, W_h_back, reversed(range(length)))
    return torch.cat([f, b], dim=-1)


def annotate__wrong_shares_recurrent_matrix(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """The student uses the recurrent matrix of the forward direction in the backward one, too."""
    # right for one word
    length = embedded.shape[1]
    f = _walk(embedded, source_mask, W_x, W_h, range(length))
    b = _walk(embedded, source_mask, W_x_back, W_h, reversed(range(length)))
    return torch.cat([f, b], dim=-1)


def annotate__wrong_backward_begins_with_forward_end(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """The student begins the backward direction with the state in which the forward one ended."""
    length = embedded.shape[1]
    f = _walk(embedded, source_mask, W_x, W_h, range(length))
    last = source_mask.sum(1) - 1
    g = f[torch.arange(len(f)), last]
    states = []
    for j in reversed(range(length)):
        new = torch.tanh(embedded[:, j] @ W_x_back.T + g @ W_h_back.T)
        g = torch.where(source_mask[:, j, None], new, g)
        states.insert(0, g)
    return torch.cat([f, torch.stack(states, 1)], -1) * source_mask[..., None]


def annotate__wrong_pads_hold_the_state(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """The student lets the forward state stand still at pads and returns it there, where zeros are asked for."""
    h = embedded.new_zeros(len(embedded), W_h.shape[0])
    f = []
    for j in range(embedded.shape[1]):
        h = torch.where(source_mask[:, j, None], torch.tanh(embedded[:, j] @ W_x.T + h @ W_h.T), h)
        f.append(h)
    b = _walk(embedded, source_mask, W_x_back, W_h_back, reversed(range(embedded.shape[1])))
    return torch.cat([torch.stack(f, 1), b], -1)


def annotate__right_packed_rnn(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """torch's own RNN on a packed sequence, with the matrices put in by functional_call so that they stay on the graph."""
    module = torch.nn.RNN(embedded.shape[-1], W_h.shape[0], bias=False, bidirectional=True, batch_first=True).double()
    names = ("weight_ih_l0", "weight_hh_l0", "weight_ih_l0_reverse", "weight_hh_l0_reverse")
    packed = torch.nn.utils.rnn.pack_padded_sequence(
        embedded, source_mask.sum(1).cpu(), batch_first=True, enforce_sorted=False)
    out, _ = torch.func.functional_call(module, dict(zip(names, (W_x, W_h, W_x_back, W_h_back))), (packed,))
    return torch.nn.utils.rnn.pad_packed_sequence(out, batch_first=True, total_length=embedded.shape[1])[0]


def annotate__right_zero_words(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """Words at pads made 0 first: without a bias the state of zeros stays zero there; forward masked at the end."""
    words = torch.where(source_mask[..., None], embedded, torch.zeros_like(embedded))
    def run(xs, A, B):
        h = torch.zeros(len(words), len(B), dtype=words.dtype)
        for x in xs:
            h = torch.tanh(x @ A.T + torch.einsum("mk,bk->bm", B, h))
            yield h
    f = list(run(words.unbind(1), W_x, W_h))
    b = list(run(words.flip(1).unbind(1), W_x_back, W_h_back))[::-1]
    joined = torch.stack([torch.cat(pair, 1) for pair in zip(f, b)], 1)
    return joined.masked_fill(~source_mask[..., None], 0)


class _Reader:
    def __init__(self, A, B):
        self.A, self.B = A, B

    def __call__(self, words, h=None):
        if not len(words):
            return []
        h = words[0].new_zeros(len(self.B)) if h is None else h
        h = torch.tanh(self.A @ words[0] + self.B @ h)
        return [h] + self(words[1:], h)


def annotate__right_sentence_by_sentence(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """Each sentence alone, by recursion in a class, and padded with zeros at the end."""
    rows = []
    for words, mask in zip(embedded, source_mask):
        real = list(words[mask])
        f = _Reader(W_x, W_h)(real)
        b = _Reader(W_x_back, W_h_back)(real[::-1])[::-1]
        row = torch.stack([torch.hstack(p) for p in zip(f, b)])
        rows.append(torch.nn.functional.pad(row, (0, 0, 0, len(words) - len(real))))
    return torch.stack(rows)


def annotate__right_block_diagonal(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """Both directions in one run, with block diagonal matrices; the backward half reads each row turned around by gather."""
    length = embedded.shape[1]
    position = torch.arange(length)
    turn = torch.where(source_mask, source_mask.sum(1, keepdim=True) - 1 - position, position)
    turned = embedded.gather(1, turn[..., None].expand_as(embedded))
    A, B = torch.block_diag(W_x, W_x_back), torch.block_diag(W_h, W_h_back)
    x = torch.cat([embedded, turned], -1)
    h, states = x.new_zeros(len(x), len(B)), []
    for j in range(length):
        h = torch.tanh(torch.addmm(h @ B.T, x[:, j], A.T))
        states.append(h)
    f, b = torch.stack(states, 1).chunk(2, -1)
    b = b.gather(1, turn[..., None].expand_as(b))
    return torch.cat([f, b], -1) * source_mask.unsqueeze(-1)
