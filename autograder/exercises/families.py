"""The families of inputs that each kind of argument has: masks with a pad before a word, scores thousands apart, ...

In: a random generator, the ``DrawContext`` of the argument. Out: arrays. A key names only the kind of an argument.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from solutions.answer_key.domains import LEAST_LIKELY, SCORES, SMALLEST_WEIGHT

FAR = 0.8  # of the upper limit: numbers drawn around it are far from 0
GRID_BITS = 20  # numbers far from 0 are rounded to so many binary digits, which single precision holds exactly
LN_MOST, LN_LEAST = 709.8, -744.4  # beyond these, an exponential in double precision is infinite, or 0
FAR_LIMIT = 100  # of numbers that are far from 0
HUGE_SCORES = (1e5, 1e10, 1e20, 1e300)  # at pads: larger than the numbers often subtracted there
HUGE_ENTRIES = (1e10, 1e20, 1e140)  # at pads: a product of two of them does not overflow
MASKING = ("masking", "padding")
EMPTY = ("empty_row", "no_real_token", *MASKING)
LARGE_PARTS = ("large_scores", "large_logits")
ROUNDED = 5  # decimals of drawn numbers: short to write, yet products have more decimals than the tolerance

WHERE_MASKED = "where does the mask come in?"
WHERE_LARGE = "trace the largest and the smallest number through your formula."
WHERE_ZEROS = "which line mistakes a 0 for something else, divides by it, or needs two neighbours to differ?"
WHERE_EMPTY = "what does your formula divide by there, and what comes out of it?"
WHERE_ZERO = "which line mistakes a 0 for something else, or divides by it?"
WHERE_TINY = "is anything rounded, or treated as 0?"
WHERE_ALIKE = "which line needs them to differ?"
WHERE_SIZE = "which line treats such an axis differently?"
WHERE_INDEX = "what does your code do with such a number?"
WHERE_KEPT = "is something kept from an earlier call, and used again although other numbers have changed?"
WHERE_LARGE_INDEX = "is such a number stored in a small integer type, or changed in another way?"
WHERE_STOP = "which of the words count, and must the stop token be there?"
WHERE_TOLD = "which line takes two different words for the same?"
WHERE_TURNED = "how far from its own place may a phoneme be matched?"
WHERE_NONE_SURE = "what does your code do where there is no sure link?"
ANY_PHONEME = 3, 42  # the range of phoneme numbers, its end exclusive
MANY_WORDS = 260  # more than one byte can count
STOPS = 2  # the number of the stop token in the capstone's language; 0 is its padding
ONE_WORD = "one_word"  # the name of the family of masks that have only one


@dataclass(frozen=True)
class DrawContext:
    """The context of a draw: the shape, the arguments drawn before, and the mask of the same first axes."""

    shape: tuple[int, ...]
    drawn: Mapping[str, np.ndarray] = field(default_factory=dict)
    mask: np.ndarray | None = None
    below: int = 0  # the exclusive bound of whole numbers; that of limits is inclusive
    limits: tuple[float, float] = SCORES  # of the entries
    pads_at_end: bool = False  # pads occur nowhere else

    @property
    def far(self) -> float:
        """A number far above 0, and yet within the limits."""
        return FAR * self.limits[1]

    @property
    def pads(self) -> np.ndarray:
        """Where the mask is False, in the shape of the argument or one that broadcasts to it."""
        if self.mask is None:
            return np.zeros((1,) * len(self.shape), dtype=bool)
        return ~self.mask.reshape(self.mask.shape + (1,) * (len(self.shape) - self.mask.ndim))


Draw = Callable[[np.random.Generator, DrawContext], np.ndarray]


@dataclass(frozen=True, eq=False)
class Family:
    """Inputs of one sort. ``words`` complete "a case with ..."; {} is the argument's name. Ordinary inputs have no words."""

    name: str
    draw: Draw
    words: str = ""
    advice: str = ""
    parts: tuple[str, ...] = ()  # of an exercise: those that it may count for, the best first
    least: Mapping[int, int] = field(default_factory=dict)  # axis -> the least number of its entries
    pads: bool = False  # a mask of this family has pads
    needs_pads: bool = False  # makes sense only together with such a mask
    words_known: int = 1  # the least size of the vocabulary
    alone: bool = False  # meets no other family: one would hide what is special about the other, or make it a toss-up
    meets_sizes: bool = (
        False  # asks for something else than ordinary inputs do: meets every family of sizes, and all limits
    )
    asks_for_words: bool = False  # for whole numbers, which have no gradients


KINDS: dict[str, tuple[Family, ...]] = {}  # the families of each kind of argument, the ordinary one first
DRAWN_FIRST = ("mask", "target_words", "peaks")  # other kinds are drawn to fit these


def _normal(rng, context, scale=1.0):
    return np.clip(scale * rng.normal(size=context.shape), *context.limits).round(ROUNDED)


def _normal_around(rng, context, middle):
    """Return numbers around ``middle``, which may be an array."""
    return np.clip(_round_entries(rng.normal(size=context.shape) + middle, context), *context.limits)


def _round_entries(numbers, context):
    if context.limits[1] < FAR_LIMIT:
        return numbers.round(ROUNDED)
    grid = 2.0 ** (GRID_BITS - math.ceil(math.log2(context.limits[1])))
    return np.round(numbers * grid) / grid


def _large(rng, context):
    """Return numbers between the limits, one of them at each limit."""
    low, high = context.limits
    numbers = _round_entries(rng.uniform(low, high, size=context.shape), context)
    lowest, highest = rng.permutation(numbers.size)[[-1, 0]]  # with a single number, both are one place
    numbers.flat[lowest], numbers.flat[highest] = low, high
    return numbers


def _near_limit(is_lower):
    """Return a family of numbers near the lower limit in the rows that ``is_lower`` takes, and near the upper one in all others."""

    def draw(rng, context):
        low, high = context.limits
        rows = np.arange(context.shape[0]).reshape(-1, *(1,) * (len(context.shape) - 1))
        inwards = 0.01 * rng.uniform(size=context.shape)
        at_limit = np.where(is_lower(rows), low + inwards * abs(low), high - inwards * abs(high))
        return _round_entries(at_limit, context)

    return Family("limit", draw, "{} near a limit throughout", WHERE_LARGE, LARGE_PARTS)


def at_one_limit(turned: int) -> Family:
    """Return a family as ``AT_ONE_LIMIT``, but with the opposite sign in two rows: those from ``2 * turned`` on."""
    return _near_limit(lambda rows: (rows % 2 == 1) ^ (rows // 2 == turned))


AT_ONE_LIMIT = _near_limit(lambda rows: rows % 2 == 1)
AT_UPPER_LIMIT = _near_limit(lambda rows: rows < 0)
AT_LOWER_LIMIT = _near_limit(lambda rows: rows >= 0)


def _whole(rng, context):
    return rng.integers(-9, 10, size=context.shape) * 1.0


WHOLE = Family(
    "whole",
    _whole,
    "{} that are whole numbers",
    "is there an integer array that has to hold numbers that are not integers?",
)


def _in_steps(rng, context):
    """Return scores from 0 down to -16.5 in each row, shuffled; the smallest weight is still larger than the tolerance."""
    down = np.linspace(0.0, -16.5, context.shape[-1]) + 0.1 * rng.normal(size=context.shape)
    return rng.permuted(down, axis=-1).round(ROUNDED)


IN_STEPS = Family("steps", _in_steps, "{} spaced a few units apart", WHERE_LARGE, LARGE_PARTS, least={-1: 5})

# --- masks: True at words --------------------------------------------------------------------------------------------


def _lengths(rng, context, least=1, below=0):
    """Return one length per row, from ``least`` to the number of positions minus ``below``."""
    return rng.integers(least, max(least, context.shape[-1] - below) + 1, size=(*context.shape[:-1], 1))


def _no_pad(rng, context):
    return np.ones(context.shape, dtype=bool)


def _pads_at_end(rng, context):
    return np.arange(context.shape[-1]) < _lengths(rng, context, below=1)


def _different_lengths(rng, context):
    rows, width = int(np.prod(context.shape[:-1])), context.shape[-1]
    lengths = np.concatenate([[width, rng.integers(1, width)], rng.integers(1, width + 1, size=rows)])[:rows]
    return np.arange(width) < rng.permutation(lengths).reshape(*context.shape[:-1], 1)


def _between_words(rng, context):
    mask = rng.integers(0, 2, size=context.shape).astype(bool)
    mask[..., 0] = mask[..., -1] = True
    np.put_along_axis(mask, rng.integers(1, context.shape[-1] - 1, size=(*context.shape[:-1], 1)), False, axis=-1)
    return mask


def _one_word(rng, context):
    place = np.zeros((*context.shape[:-1], 1), dtype=int) if context.pads_at_end else _lengths(rng, context) - 1
    return np.arange(context.shape[-1]) == place


def _empty_row(rng, context):
    mask = _no_pad(rng, context) if context.shape[-1] == 1 else _pads_at_end(rng, context)
    mask[rng.integers(len(mask))] = False
    return mask


def _no_word(rng, context):
    return np.zeros(context.shape, dtype=bool)


_padded = partial(Family, advice=WHERE_MASKED, parts=MASKING, pads=True)
MASK = KINDS["mask"] = (
    Family("full", _no_pad),
    _padded("end", _pads_at_end, "padding at the end", least={-1: 2}),
    _padded("lengths", _different_lengths, "different lengths", least={0: 2, -1: 2}),
    _padded("before", lambda rng, context: ~_pads_at_end(rng, context), "padding before a word", least={-1: 2}),
    _padded("between", _between_words, "padding between words", least={-1: 3}),
    _padded(ONE_WORD, _one_word, "a single word", least={-1: 2}),
    Family("empty_row", _empty_row, "a sentence without a word", WHERE_EMPTY, EMPTY, {0: 2}, pads=True),
    Family("empty", _no_word, "no word in any sentence", WHERE_EMPTY, EMPTY, pads=True),
)
ABSENT = Family("absent", _no_word, "no mask at all", "what does your code do without one?")
LEFT_OUT = Family(
    "left_out", _no_word
)  # the ordinary call leaves out an argument, because with it another thing is asked

# --- scores and logits -----------------------------------------------------------------------------------------------


def _alike_along(axis):
    """Return a function that draws numbers that are all equal along ``axis``."""

    def draw(rng, context):
        shape = list(context.shape)
        shape[axis] = 1
        return np.broadcast_to(_normal(rng, DrawContext(tuple(shape))), context.shape).copy()

    return draw


_alike = _alike_along(-1)


def _same_everywhere(rng, context):
    return np.full(context.shape, _normal(rng, DrawContext((1,)))[0])


def _zeros_among_them(rng, context):
    scores = _normal(rng, context)
    scores[..., 0] = 0.0
    return np.where(rng.integers(0, 3, size=context.shape) == 0, 0.0, scores)


def _highest_twice(rng, context):
    """Return scores of which the highest of each row comes twice, a little above the others."""
    scores = _normal(rng, context)
    scores[..., [0, -1]] = scores.max(axis=-1, keepdims=True) + 0.5
    return scores


def _one_below(rng, context):
    """Return scores of which one in each row is far below the others."""
    scores = _normal(rng, context)
    scores[..., 1] = context.limits[0]
    return scores


def _rows_apart(rng, context):
    far = np.linspace(-context.far, context.far, context.shape[0]).reshape(-1, *(1,) * (len(context.shape) - 1))
    return _normal_around(rng, context, far)


def _tie_far_above(rng, context):
    """Return scores whose first and last in each row tie for the highest, far above the rest."""
    scores = _normal(rng, context)
    scores[..., [0, -1]] = context.far
    return scores


def _where_powers_end(rng, context):
    """Return scores whose exponentials are just finite, tiny with few digits left, or tiny beside those of another row."""
    bases = np.resize([LN_MOST - 0.9, LN_LEAST + 10, LN_MOST + LN_LEAST + 10], context.shape[0])
    near = bases.reshape(-1, *(1,) * (len(context.shape) - 1)) + rng.uniform(-0.05, 0.05, size=context.shape)
    return np.clip(_round_entries(near, context), *context.limits)


def _far_below(rng, context):
    return _normal_around(rng, context, -context.far)


def _pad_above(rng, context):
    return np.where(context.pads, rng.choice(HUGE_SCORES, size=context.shape), 0.0) + _normal(rng, context)


def _pad_above_low(rng, context):
    """Return scores of words near the lower limit, beside ordinary ones at pads."""
    low = _normal_around(rng, context, context.limits[0] + 1.0)
    return np.where(context.pads, _normal(rng, context), low)


SAME_ROWS = Family("same_rows", _alike_along(0), "the same {} in each sentence", WHERE_ALIKE, least={0: 2}, alone=True)

KINDS["scores"] = KINDS["logits"] = (
    Family("ordinary", _normal),
    Family("alike", _alike, "{} all equal", WHERE_ALIKE),
    Family("same", _same_everywhere, "the same number for all {}", WHERE_ALIKE, alone=True),
    Family("zeros", _zeros_among_them, "{} of exactly 0", WHERE_ZERO, MASKING),
    Family("large", _large, "large {}", WHERE_LARGE, LARGE_PARTS),
    Family("apart", _rows_apart, "sentences whose {} are far apart", WHERE_LARGE, LARGE_PARTS, {0: 2}),
    Family("twice", _highest_twice, "{} of which the highest comes twice", WHERE_ALIKE, least={-1: 3}),
    Family("tie", _tie_far_above, "two equal {} far above the rest", WHERE_LARGE, LARGE_PARTS, {-1: 3}),
    Family("far_below", _far_below, "{} far below 0", WHERE_LARGE, LARGE_PARTS),
    Family(
        "power_ends", _where_powers_end, "{} near 709 and -735", WHERE_LARGE, LARGE_PARTS, {0: 3, -1: 3}, alone=True
    ),
    Family("one_below", _one_below, "one of the {} far below the others", WHERE_LARGE, LARGE_PARTS, {-1: 3}),
    Family(
        "pad_above", _pad_above, "{} at padding far above those of words", WHERE_MASKED, LARGE_PARTS, needs_pads=True
    ),
    Family("pad_low", _pad_above_low, "words whose {} are far below 0", WHERE_LARGE, LARGE_PARTS, needs_pads=True),
    SAME_ROWS,
)

# --- annotations, states, parameters ---------------------------------------------------------------------------------


def _one_zero(rng, context):
    """Return vectors of which one per sentence is 0: that of the last word."""
    vectors = _normal(rng, context)
    vectors[_last_words_of(context)] = 0.0
    return vectors


def _last_words_of(context):
    """Return a mask, over all axes but the last, of the last word of each sentence; without pads, the last position."""
    positions = np.arange(context.shape[-2])
    is_word = np.broadcast_to(~context.pads[..., 0], context.shape[:-1])
    return positions == np.where(is_word, positions, -1).max(axis=-1, keepdims=True)


def _some_equal(rng, context):
    """Return vectors of which the first, the second and the last of each sentence are equal."""
    vectors = _normal(rng, context)
    vectors[..., [1, -1], :] = vectors[..., :1, :]
    return vectors


def _tiny_beside_large(rng, context):
    scale = np.where(np.arange(context.shape[-2]) % 2, 1e-3, context.far / 2)[:, None]
    return np.clip(_normal(rng, context) * scale, *context.limits).round(6)


def _zeros_first(rng, context):
    """Return vectors of which the first two of each sentence are 0."""
    vectors = _normal(rng, context)
    vectors[..., :2, :] = 0.0
    return vectors


def _some_zero(rng, context):
    """Return numbers of which the first and the last are 0."""
    numbers = _normal(rng, context)
    numbers[..., [0, -1]] = 0.0
    return numbers


def _some_tiny(rng, context):
    """Return numbers of which every second one is tiny."""
    scale = np.where(np.arange(context.shape[-1]) % 2, 1.0, 5e-4)
    return (_normal(rng, context) * scale).round(8)


def _huge_pads(rng, context):
    numbers = _normal(rng, context)
    return np.where(context.pads, np.copysign(rng.choice(HUGE_ENTRIES, size=context.shape), numbers), numbers)


def _with_zero_row(draw):
    """Return a function that draws as ``draw`` does, and then sets the first sentence to 0."""

    def draw_with_zero_row(rng, context):
        values = draw(rng, context)
        values[0] = 0.0
        return values

    return draw_with_zero_row


_at_limits = partial(Family, "large", _large, "large {}", WHERE_LARGE)
KINDS["annotations"] = (
    Family("ordinary", _normal),
    Family("zero", _one_zero, "zeros for one of the {}", WHERE_ZEROS),
    Family("zeros_first", _zeros_first, "{} that begin with two zeros", WHERE_ZEROS, least={-2: 3}),
    Family("zero_row", _with_zero_row(_normal), "all-zero {} in one sentence", WHERE_ZEROS),
    Family("equal", _some_equal, "equal {}", WHERE_ALIKE, least={-2: 2}),
    Family("uneven", _tiny_beside_large, "tiny {} beside large ones", WHERE_LARGE, LARGE_PARTS, least={-2: 2}),
    _at_limits(parts=LARGE_PARTS),
    Family("pads_huge", _huge_pads, "huge {} at padding", WHERE_MASKED, MASKING, needs_pads=True),
    SAME_ROWS,
)
KINDS["states"] = (
    Family("ordinary", _normal),
    Family("zero", _with_zero_row(_normal), "all-zero {} in one sentence", WHERE_ZEROS),
    Family("zeros", lambda rng, context: np.zeros(context.shape), "{} of zeros", WHERE_ZEROS, alone=True),
    _at_limits(parts=LARGE_PARTS),
    SAME_ROWS,
)
KINDS["parameter"] = (
    Family("ordinary", partial(_normal, scale=0.7)),
    Family("zero", lambda rng, context: np.zeros(context.shape), "{} of zeros", WHERE_ZERO, alone=True),
    _at_limits(parts=LARGE_PARTS),
)
KINDS["vector"] = (
    Family("ordinary", _normal),
    Family("tiny", _some_tiny, "tiny entries of {}", WHERE_TINY, least={-1: 2}),
    Family("some_zero", _some_zero, "{} with entries of exactly 0", WHERE_ZERO, least={-1: 3}),
    _at_limits(parts=LARGE_PARTS),
)

# --- weights ---------------------------------------------------------------------------------------------------------


def _shares(positive):
    return positive / positive.sum(axis=-1, keepdims=True)


def _weights(rng, context):
    return _shares(rng.uniform(0.05, 1.0, size=context.shape))


def _zero_in_some(rng, context):
    positive = rng.uniform(0.05, 1.0, size=context.shape)
    positive[0, ..., rng.integers(context.shape[-1])] = 0.0
    return _shares(positive)


def _zero_ends(rng, context):
    positive = rng.uniform(0.05, 1.0, size=context.shape)
    positive[..., [0, -1]] = 0.0
    return _shares(positive)


def _very_small(rng, context):
    small = 10 ** rng.uniform(np.log10(2 * SMALLEST_WEIGHT), -4.0, size=context.shape)
    place = rng.integers(context.shape[-1])
    small[..., place - 1], small[..., place] = 1.05 * SMALLEST_WEIGHT, 1.0
    return small / small.sum(axis=-1, keepdims=True)


def _even(rng, context):
    return np.full(context.shape, 1.0 / context.shape[-1])


KINDS["weights"] = (
    Family("ordinary", _weights),
    Family("even", _even, "weights that are all equal", WHERE_ALIKE),
    Family("one_is_all", lambda rng, c: _one_word(rng, c).astype(float), "a weight of 1", WHERE_ZERO, least={-1: 2}),
    Family("zero", _zero_in_some, "a weight of exactly 0 in one sentence", WHERE_ZERO, MASKING, {0: 2, -1: 2}),
    Family("zero_ends", _zero_ends, "weights of exactly 0 at both ends", WHERE_ZERO, MASKING, {-1: 3}),
    Family("small", _very_small, "very small weights", WHERE_TINY, least={-1: 2}),
    Family("empty_row", _with_zero_row(_weights), "a sentence without any weight", WHERE_EMPTY, EMPTY),
)

# --- whole numbers ---------------------------------------------------------------------------------------------------


def _without_last(rng, context):
    """Return whole numbers other than the last possible one, so that their maximum does not reveal the vocabulary size."""
    return rng.integers(0, max(1, context.below - 1), size=context.shape)


def _ends(rng, context):
    return rng.integers(0, 2, size=context.shape) * (context.below - 1)


def _last_words(rng, context):
    return context.below - 1 - rng.integers(0, 40, size=context.shape)


KINDS["tokens"] = (
    Family("ordinary", _without_last),
    Family("ends", _ends, "the first and the last word of the vocabulary", WHERE_INDEX),
    Family("repeated", lambda rng, c: np.full(c.shape, rng.integers(0, c.below)), "one word repeated", WHERE_INDEX),
    Family("many", _last_words, "a vocabulary of more than 256 words", WHERE_LARGE_INDEX, words_known=MANY_WORDS),
)

# --- single exercises ------------------------------------------------------------------------------------------------


def _between(rng, low, high, shape):
    return np.exp(rng.uniform(np.log(low), np.log(high), size=shape)).round(ROUNDED)


def _cold(rng, context):
    temperatures = _between(rng, context.limits[0], 10 * context.limits[0], context.shape)
    temperatures[rng.integers(len(temperatures))] = context.limits[0]
    return temperatures


def _hot(rng, context):
    temperatures = _between(rng, context.limits[1] / 10, context.limits[1], context.shape)
    temperatures[rng.integers(len(temperatures))] = context.limits[1]
    return temperatures


KINDS["temperature"] = (
    Family("ordinary", lambda rng, context: _between(rng, 0.5, 2.0, context.shape)),
    Family("cold", _cold, "a {} near 0", WHERE_LARGE),
    Family("hot", _hot, "a {} far above 1", WHERE_LARGE),
    Family("one", lambda rng, context: np.ones(context.shape), "a {} of 1", "what else changes with it?"),
)


def _whole_from(least, below):
    return lambda rng, context: rng.integers(least, below, size=context.shape)


def _negative(scale):
    return lambda rng, context: -rng.uniform(0.0, scale, size=context.shape).round(6)


def _alike_below_zero(rng, context):
    return -abs(_alike(rng, context))


def _leader(rng, context):
    """Return scores whose last in each row is 0, the logarithm of 1, and all others so far below that exp gives 0."""
    scores = _negative(3.0)(rng, context) + LEAST_LIKELY + 3.0
    scores[..., -1] = 0.0
    return scores


def _close_and_low(rng, context):
    """Return scores near the lower limit that differ little."""
    places = rng.permuted(np.broadcast_to(np.arange(context.shape[-1]), context.shape), axis=-1)
    return LEAST_LIKELY + places / 64


def _normalize(log_probabilities):
    """Return ``log_probabilities`` shifted so that the probabilities sum to 1 over the words."""
    highest = log_probabilities.max(axis=-1, keepdims=True)
    return log_probabilities - highest - np.log(np.exp(log_probabilities - highest).sum(axis=-1, keepdims=True))


def _log_probabilities(rng, context):
    return _normalize(_negative(9.0)(rng, context)).round(6)


def _certain(rng, context):
    """Return log-probabilities with one 0, for the last hypothesis only: no two continuations may be equally good."""
    log_probabilities = _negative(9.0)(rng, context)
    log_probabilities[..., -1, :] -= 85.0
    log_probabilities[..., -1, rng.integers(context.shape[-1])] = 0.0
    return _normalize(log_probabilities)


def _same_words(rng, context):
    """Return log-probabilities that are nearly the same for each hypothesis, so that all prefer the same words."""
    shared = _negative(9.0)(rng, DrawContext((*context.shape[:-2], 1, context.shape[-1])))
    return _normalize(shared + _negative(1e-2)(rng, context))


def _two_words_each(rng, context):
    """Return log-probabilities of which two per hypothesis are ordinary, and the others far below them."""
    log_probabilities = _negative(9.0)(rng, context)
    order = rng.permuted(np.broadcast_to(np.arange(context.shape[-1]), context.shape), axis=-1)
    return _normalize(np.where(order < 2, log_probabilities, log_probabilities - 85.0))


KINDS["hypotheses"] = (
    Family("ordinary", _negative(5.0)),
    Family("leader", _leader, "one hypothesis far ahead", "can one hypothesis give several of the best continuations?"),
    Family("alike", _alike_below_zero, "hypotheses that are equally good so far", WHERE_ALIKE),
    Family("close", _close_and_low, "hypotheses far below 0 that are nearly equally good", WHERE_LARGE),
)
KINDS["log_probabilities"] = (
    Family("ordinary", _log_probabilities),
    Family("same", _same_words, "hypotheses that prefer the same words", WHERE_ALIKE, least={-2: 2}),
    Family("low", _two_words_each, "{} far below 0", WHERE_LARGE),
    Family("certain", _certain, "a word that is certain", WHERE_ZERO),
    Family(
        "many", _log_probabilities, "a vocabulary of more than 256 words", WHERE_LARGE_INDEX, least={-1: MANY_WORDS}
    ),
)


FEW, SOME, MANY = (STOPS + 1, STOPS + 4), (STOPS + 1, STOPS + 12), (250, 600)  # numbers of words, from and below


def _stopping(lengths, words=SOME):
    """Return a function that draws sentences of ``lengths`` words, then the stop token, then pads.

    Without ``words``, they are those of the vocabulary.
    """

    def draw(rng, context):
        length = lengths(rng, context)[..., None]
        places = np.arange(context.shape[-1])
        drawn = rng.integers(*(words or (STOPS + 1, context.below)), size=context.shape)
        return np.where(places < length, drawn, np.where(places == length, STOPS, 0))

    return draw


def _any_length(rng, context):
    return rng.integers(0, context.shape[-1], size=context.shape[:-1])


def _fill_row(rng, context):
    return np.full(context.shape[:-1], context.shape[-1] - 1)


def _no_words(rng, context):
    return np.zeros(context.shape[:-1], dtype=int)


def _outputs_of_model(*ways):
    """Return a function that draws model outputs for a target drawn before, using one of ``ways`` in each row."""

    def draw(rng, context):
        target = context.drawn["target"]
        words = rng.integers(*SOME, size=context.shape)
        for row, right in zip(words, target, strict=True):
            _write(rng, row, right[: int(np.argmax(right == STOPS)) + 1], str(rng.choice(ways)))
        return words

    return draw


def _write(rng, row, right, way):
    """Write the sentence ``right`` into ``row``, changed in the given ``way``; random words follow it already."""
    fits = min(len(row), len(right))
    row[:fits] = right[:fits]
    place = rng.integers(fits)
    if way == "wrong":
        row[place] = STOPS + 20
    elif way == "small_type":  # stored in eight bits, it would be the right one
        row[min(place, max(0, fits - 2))] += 256  # not the stop token, if there is another
    elif way == "other":
        row[: fits - 1] = rng.integers(*FEW, size=fits - 1)
    elif way == "short":
        row[place:] = STOPS
    elif way == "endless":
        row[row == STOPS] = STOPS + 1
    elif way == "twice":
        row[len(right) :] = STOPS
    elif way == "pads":
        row[len(right) :] = 0
    elif way == "doubled" and fits > 1:
        row[1:] = row[:-1].copy()
    elif way == "zero_before" and len(row) > 1:
        row[1:], row[0] = row[:-1].copy(), 0
    elif way == "zero_after" and len(row) > fits:
        row[fits], row[fits - 1] = row[fits - 1], 0
    elif way == "order":
        row[: fits - 1] = row[: fits - 1][::-1]


KINDS["target_words"] = (
    Family("ordinary", _stopping(_any_length)),
    Family("full", _stopping(_fill_row), "targets without padding"),
    Family("stop", _stopping(_no_words), "targets with only the stop token"),
    Family("few", _stopping(_any_length, FEW), "a vocabulary of a few words"),
    Family("many", _stopping(_any_length, MANY), "a vocabulary of more than 256 words", WHERE_LARGE_INDEX),
)
KINDS["references"] = (  # of a small vocabulary
    Family("ordinary", _stopping(_any_length, None)),
    Family("full", _stopping(_fill_row, None), "{} without padding"),
    Family("stop", _stopping(_no_words, None), "{} with only the stop token"),
)
KINDS["written"] = (
    Family("ordinary", _outputs_of_model("right", "right", "wrong", "short", "endless", "twice", "pads", "order")),
    Family(
        "right",
        _outputs_of_model("right", "twice", "pads"),
        "right sentences with more after their stop token",
        WHERE_STOP,
        meets_sizes=True,
    ),
    Family("wrong", _outputs_of_model("wrong", "small_type"), "one wrong word per sentence", WHERE_TOLD),
    Family("other", _outputs_of_model("other"), "wrong words, as many as in the target"),
    Family("short", _outputs_of_model("short", "right"), "sentences that stop too early", WHERE_STOP),
    Family("endless", _outputs_of_model("endless", "right"), "sentences that never stop", WHERE_STOP),
    Family("order", _outputs_of_model("order", "right"), "the right words in the wrong order"),
    Family("doubled", _outputs_of_model("doubled", "right"), "the first word twice", WHERE_ALIKE),
    Family(
        "zeros",
        _outputs_of_model("zero_before", "zero_after"),
        "a 0 before or after the right words",
        WHERE_ZERO,
        least={-1: 2},
    ),
)


def _different_limits(rng, context):
    limits = _any_limit(rng, context)
    first, last = rng.permutation(len(limits))[[0, -1]]
    limits[first], limits[last] = max(1, context.below // 2), context.below
    return limits


def _any_limit(rng, context):
    return rng.integers(1, context.below + 1, size=context.shape)


def _one_limit_of_one(rng, context):
    limits = np.full(context.shape, context.below)
    limits[rng.integers(len(limits))] = 1
    return limits


def _stops_beside_others(rng, context):
    """Return numbers near 0 at the first step of one sentence, and otherwise numbers that draw words after the stop token."""
    uniforms = rng.uniform(0.7, 1 - 1e-6, size=context.shape)
    uniforms[rng.integers(len(uniforms)), 0] = 1e-6
    return uniforms


OF_LIMIT, OF_CHOICE, OF_GREEDY = ("limits",), ("sampling",), ("greedy",)
WHERE_LIMIT = "when does each sentence end, and when does your loop?"
WHERE_FED = "which word does each step read, and which words may be chosen?"
WHERE_CHOICE = "are they taken for no numbers, or which word is the first with a greater cumulative probability?"
KINDS["limits"] = (
    Family("ordinary", lambda rng, context: np.full(context.shape, context.below)),
    Family("different", _different_limits, "limits that differ", WHERE_LIMIT, OF_LIMIT, {0: 2}),
    Family("one", _one_limit_of_one, "a limit of 1 for one sentence", WHERE_LIMIT, OF_LIMIT, {0: 2}),
    Family(
        "fewer",
        lambda rng, c: np.full(c.shape, max(1, c.below - 1)),
        "limits below the number of steps",
        WHERE_LIMIT,
        OF_LIMIT,
    ),
)
_translating = partial(Family, advice=WHERE_LIMIT, parts=OF_GREEDY, asks_for_words=True)
KINDS["optional_limits"] = (
    LEFT_OUT,
    _translating("any", _any_limit, "translations", advice=WHERE_FED),
    _translating("different", _different_limits, "translations with {} that differ", parts=OF_LIMIT, least={0: 2}),
    _translating("one", _one_limit_of_one, "translations of which one has a limit of 1", parts=OF_LIMIT, least={0: 2}),
)
_choosing = partial(Family, advice=WHERE_CHOICE, parts=OF_CHOICE)
KINDS["uniforms"] = (
    LEFT_OUT,
    _choosing("any", lambda rng, context: rng.uniform(size=context.shape), "words drawn by {}", meets_sizes=True),
    _choosing("zero", lambda rng, context: np.zeros(context.shape), "{} of exactly 0", alone=True),
    _choosing("low", lambda rng, context: rng.uniform(0.0, 1e-6, size=context.shape), "{} near 0"),
    _choosing("high", lambda rng, context: 1 - rng.uniform(1e-7, 1e-6, size=context.shape), "{} near 1"),
    _choosing("apart", _stops_beside_others, "a sentence that stops at once beside others that go on", least={0: 2}),
)


def _peaks(rng, context, low=0.0, peak=1.5):
    """Return weights with one peak per row: before normalising, it is ``peak``, and the others are from ``low`` to 1."""
    peaked = rng.uniform(low, 1.0, size=context.shape)
    np.put_along_axis(peaked, rng.integers(context.shape[-1], size=(*context.shape[:-1], 1)), peak, axis=-1)
    return _shares(peaked)


def _near_ties(rng, context):
    """Return weights whose two largest in each row are nearly equal."""
    peaked = rng.uniform(0.0, 1.0, size=context.shape)
    order = rng.permuted(np.broadcast_to(np.arange(context.shape[-1]), context.shape), axis=-1)
    np.put_along_axis(peaked, order[..., :1], 1.5, axis=-1)
    np.put_along_axis(peaked, order[..., 1:2], 1.5 * (1 - NEAREST), axis=-1)
    return peaked / peaked.sum(axis=-1, keepdims=True)


def _first_is_zero(rng, context):
    weights = _peaks(rng, context)
    weights[..., 0] = 0.0
    weights[..., 1] += weights.sum(axis=-1) == 0  # where only the first was not 0
    return _shares(weights)


def _stopped_peaks(rng, context):
    steps = rng.integers(1, context.shape[1] + 1, size=(context.shape[0], 1))
    return _peaks(rng, context) * (np.arange(context.shape[1]) < steps)[..., None]


def _positions(noun_share, hit_share, rank=1):
    """Return a function that draws positions: ``noun_share`` are nouns, ``hit_share`` of these at the largest weight.

    Or at the second largest, if that is the ``rank``, where there is one.
    """

    def draw(rng, context):
        weights = context.drawn["weights"]
        # of weights that are all 0, the first counts as the largest, as it does for those who forget the steps not taken
        largest = (-weights).argsort(axis=-1, kind="stable")[..., min(rank, weights.shape[-1]) - 1]
        steps = min(largest.shape[1], context.shape[1])
        positions = rng.integers(0, weights.shape[-1], size=context.shape)
        hits = rng.uniform(size=(context.shape[0], steps)) < hit_share
        positions[:, :steps] = np.where(hits, largest[:, :steps], positions[:, :steps])
        is_noun = rng.uniform(size=context.shape) < noun_share
        is_noun[rng.integers(context.shape[0]), rng.integers(context.shape[1])] = True
        return np.where(is_noun, positions, -1)

    return draw


NEAREST = 1e-5  # relative difference between the largest weight and the next
FLAT, STOPPED = "which weight is the largest?", "what is the largest of weights that are all 0?"
KINDS["peaks"] = (
    Family("ordinary", _peaks),
    Family("flat", partial(_peaks, low=0.9999, peak=1.0001), "weights that are nearly equal", FLAT, least={-1: 30}),
    Family("near_ties", _near_ties, "two weights nearly tied for the largest", FLAT, least={-1: 2}),
    Family("long_ties", _near_ties, "many weights, two of them nearly tied for the largest", FLAT, least={-1: 30}),
    Family("first_zero", _first_is_zero, "a first weight of exactly 0", WHERE_ZERO, least={-1: 2}),
    Family("stopped", _stopped_peaks, "sentences that stop before others", STOPPED),
)
KINDS["positions"] = (
    Family("ordinary", _positions(0.6, 0.6)),
    Family("nouns", _positions(1.0, 0.6), "nouns only"),
    Family("few", _positions(0.1, 0.5), "hardly any nouns"),
    Family("missed", _positions(0.6, 0.0), "hardly any nouns aligned"),
    Family("second", _positions(0.8, 0.8, rank=2), "nouns whose word has only the second largest weight"),
)

# --- spelling and sound ----------------------------------------------------------------------------------------------


def _edited(rng, context):
    """Return phonemes; if others were drawn before, mostly copies of those, some repeated, left out or changed."""
    phonemes = rng.integers(*ANY_PHONEME, size=context.shape)
    for first in context.drawn.values():
        copied = first[np.sort(rng.integers(0, len(first), size=context.shape))]
        phonemes = np.where(rng.uniform(size=context.shape) < 0.2, phonemes, copied)
    return phonemes


def _turn(rng, context):
    """Return phonemes drawn before, their first third last; alone, random ones."""
    for first in context.drawn.values():
        return np.resize(np.roll(first, -max(1, len(first) // 3)), context.shape)
    return _edited(rng, context)


KINDS["phonemes"] = (
    Family("ordinary", _edited),
    Family("turned", _turn, "the same phonemes, the first of them last", WHERE_TURNED),
    Family("few", _whole_from(3, 6), "phonemes that recur", WHERE_ALIKE),
    Family("others", _whole_from(*ANY_PHONEME), "phonemes that hardly agree"),
)


def _links(rng, context, linked=0.8):
    links = np.where(rng.uniform(size=context.shape) < linked, rng.integers(0, context.below, size=context.shape), -1)
    links[rng.integers(len(links))] = rng.integers(0, context.below)
    return links


KINDS["links"] = (
    Family("ordinary", _links),
    Family("all", partial(_links, linked=1.0), "phonemes that are all linked"),
    Family("few", partial(_links, linked=0.2), "phonemes, few of which are linked", "what does your code do with -1?"),
)
KINDS["hand"] = (
    Family("ordinary", _whole_from(0, 3)),
    Family(
        "sure",
        lambda rng, context: 2 * rng.integers(0, 2, size=context.shape),
        "hand-annotated links that are all sure",
    ),
    Family("possible", _whole_from(0, 2), "hand-annotated links, none of them sure", WHERE_NONE_SURE),
    Family(
        "all_sure",
        lambda rng, context: np.full(context.shape, 2),
        "sure hand-annotated links everywhere",
        meets_sizes=True,
    ),
)
