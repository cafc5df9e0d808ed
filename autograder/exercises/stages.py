"""The wrong ways of taking a softmax over what is real, each with the clause that says so to a student.

In: scores, the mask that fits them or None. Out: weights, arrays or tensors as the scores are. Touches nothing. They are
declared once for the course: whatever exercise has such a step, any of them can stand in its place.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from autograder.exercises.turns import limits

FILLED = (-10.0, -50.0, -100.0, -500.0, -1e3, -1e4, -1e5, -1e6, -1e8, -1e9, -1e10, -1e12)
INSIDE = (1e-45, 1e-38, 1e-30, 1e-20, 1e-16, 1e-15, 1e-12, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3)
LEAST_BOUND = 10.0  # scores below it are ordinary

Weigh = Callable[[Any, Any], Any]

NO_SHIFT = (
    "the exponentials are taken of {it} as they are: of large ones they overflow or vanish, so that something has to be "
    "subtracted from each row first"
)
WITH_PADS = (
    "the number subtracted before the exponential is the largest of a row with its pads: where a pad's score lies far above "
    "the words', nothing is left of these"
)
PADS_OVERFLOW = (
    "the largest score of the words is subtracted, but the exponential is taken of pads too, whose scores can lie so far above "
    "that it overflows: infinity times 0 is no number"
)
OF_ALL = "one number is subtracted before the exponential from the whole batch: nothing is left of a row that lies far below it"
MEAN_SHIFT = "the mean is subtracted before the exponential: a score far above the others of its row still overflows"
LEAST_SHIFT = "the smallest score is subtracted before the exponential, not the largest: a score far above it overflows"
NOT_LOW = "the number that a pad's score becomes is not low enough: words' scores can lie as low, or lower"
TAKEN_OFF = "what is taken off a pad's score does not suffice: a pad's score can lie further above the words' than that"
ZERO = "a pad's score becomes 0: its exponential is 1, so that it still takes part"
BOUNDED = "{it} are cut off at a bound, beyond which different ones become equal"
UNIFORM = "a row of scores without a word gets equal weights on all its positions"
BEFORE_MASK = "the softmax runs over all positions, pads too, and the mask only takes their share away afterwards"
NOTHING_MASKED = "pads take part like words"
FINAL_NAN = "what is no number is replaced at the end, instead of being avoided"
OTHER_AXIS = "the softmax runs along another axis than that of the positions"
UNNORMALISED = "the exponentials are not divided by their sum"
TWICE = "the softmax is taken twice"
POWERS = "the exponential is one to another base than e"
PROPORTIONAL = "{it} are divided by their sum, without an exponential"
HARD = "all weight goes to the largest score"
EVEN = "all positions get the same weight, whatever {it} are"
ADDED_BELOW = "a small number is added to the sum that is divided by"


@dataclass(frozen=True)
class Slip:
    """One wrong softmax. ``masks``: it is one only where something is masked. ``rare``: only where numbers are large."""

    clause: str
    weigh: Weigh
    masks: bool = False
    rare: bool = False


def slips() -> Iterator[Slip]:
    """Yield the wrong ways, those first that differ on ordinary scores."""
    yield Slip(NOTHING_MASKED, lambda scores, real: _soft(scores), masks=True)
    yield Slip(BEFORE_MASK, lambda scores, real: _soft(scores) * real, masks=True)
    for again in (False, True):
        for number in (0.0, *FILLED):
            # divided by the sum of what is left, a 0 does no harm but where words lie far below it
            kept = NOT_LOW if number or again else ZERO
            yield Slip(kept, _filled(number, True, again), masks=True, rare=bool(number) or again)
            yield Slip(NOT_LOW if number else ZERO, _filled(number, False, again), masks=True, rare=number < -100)
        for number in FILLED:
            yield Slip(TAKEN_OFF, _added(number, True, again), masks=True, rare=number < -100)
            yield Slip(TAKEN_OFF, _added(number, False, again), masks=True, rare=number < -100)
        for inside in INSIDE:
            yield Slip(TAKEN_OFF, _with_log(inside, True, again), masks=True)
            yield Slip(TAKEN_OFF, _with_log(inside, False, again), masks=True)
    yield Slip(UNIFORM, lambda scores, real: _soft(_fill(scores, real, _lowest(scores))), masks=True)
    for axis in (0, 1):
        yield Slip(OTHER_AXIS, _along(axis))
    yield Slip(TWICE, lambda scores, real: right(right(scores, real), real))
    yield Slip(UNNORMALISED, lambda scores, real: _powers(scores, real, _top(scores, real)))
    yield Slip(UNNORMALISED, lambda scores, real: _powers(scores, real, 0.0))
    for base in (2.0, 10.0):
        yield Slip(POWERS, lambda scores, real, base=base: right(scores * np.log(base), real))
    yield Slip(PROPORTIONAL, lambda scores, real: _shared(_kept(scores, real)))
    yield Slip(HARD, _hard)
    yield Slip(EVEN, lambda scores, real: right(scores * 0, real))
    for below in INSIDE:
        yield Slip(ADDED_BELOW, _added_below(below, True))
        yield Slip(ADDED_BELOW, _added_below(below, False))
    shifts = (
        (NO_SHIFT, lambda scores, real: 0.0),
        (WITH_PADS, lambda scores, real: _top(scores, None)),
        (OF_ALL, lambda scores, real: scores.max()),
        (OF_ALL, lambda scores, real: _fill(scores, real, _lowest(scores)).max()),
        (OF_ALL, lambda scores, real: _over(scores, real, 1) if scores.ndim > 2 else None),
        (PADS_OVERFLOW, lambda scores, real: _top(scores, real)),
        (MEAN_SHIFT, lambda scores, real: scores.mean(-1)[..., None]),
        (MEAN_SHIFT, _real_mean),
        (LEAST_SHIFT, lambda scores, real: -_top(-scores, None)),
        (LEAST_SHIFT, lambda scores, real: -_top(-scores, real)),
    )
    for clause, shift in shifts:
        for mend in (None, 0.0, 1.0, "even"):
            for masked_first in (True, False):
                yield Slip(
                    clause, _shifted(shift, mend, masked_first), masks=clause in (WITH_PADS, PADS_OVERFLOW), rare=True
                )
    for low, high in limits(LEAST_BOUND):
        yield Slip(BOUNDED, _bounded(low, high), rare=True)


# Scores and weights are numpy arrays or tensors; what follows is written in torch, which computes both alike.


def in_torch(weigh: Weigh) -> Weigh:
    """Return ``weigh`` for arrays, too."""
    import torch

    def both(scores, real):
        if hasattr(scores, "detach"):
            return weigh(scores, real)
        real = None if real is None else torch.as_tensor(np.array(real))
        with torch.no_grad():
            return weigh(torch.as_tensor(np.array(scores, dtype=float)), real).numpy()

    return both


def _lowest(scores):
    import torch

    return torch.finfo(scores.dtype).min


def _fill(scores, real, number):
    return scores if real is None else scores.masked_fill(~real, number)


def _kept(values, real):
    return values if real is None else values.masked_fill(~real, 0.0)


def _soft(scores, axis=-1):
    return scores.softmax(axis)


def right(scores: Any, real: Any) -> Any:
    """Return the right weights; also to find out whether a step is a softmax at all."""
    return _kept(_soft(_fill(scores, real, _lowest(scores))), real)


def _top(scores, real):
    return _fill(scores, real, _lowest(scores)).amax(-1, keepdim=True)


def _over(scores, real, axis):
    return _fill(scores, real, _lowest(scores)).amax(
        tuple(range(min(axis, scores.ndim - 1), scores.ndim)), keepdim=True
    )


def _powers(scores, real, shift):
    return _kept((scores - shift).exp(), real)


def _shared(values):
    total = values.sum(-1, keepdim=True)
    return values / total.masked_fill(total == 0, 1.0)


def _once_more(weights, again):
    return _shared(weights) if again else weights


def _filled(number, masked, again):
    def weigh(scores, real):
        weights = _soft(_fill(scores, real, number))
        return _once_more(_kept(weights, real) if masked else weights, again)

    return weigh


def _added(number, masked, again):
    def weigh(scores, real):
        weights = _soft(scores + (~real).to(scores.dtype) * number)
        return _once_more(_kept(weights, real) if masked else weights, again)

    return weigh


def _with_log(inside, masked, again):
    def weigh(scores, real):
        weights = _soft(scores + (real.to(scores.dtype) + inside).log())
        return _once_more(_kept(weights, real) if masked else weights, again)

    return weigh


def _along(axis):
    def weigh(scores, real):
        if axis >= scores.ndim - 1:
            return None
        return _kept(_soft(_fill(scores, real, _lowest(scores)), axis), real)

    return weigh


def _hard(scores, real):
    best = _fill(scores, real, _lowest(scores)).argmax(-1, keepdim=True)
    return _kept((scores * 0).scatter(-1, best, 1.0), real)


def _added_below(number, shifted):
    def weigh(scores, real):
        powers = _powers(scores, real, _top(scores, real) if shifted else 0.0)
        return powers / (powers.sum(-1, keepdim=True) + number)

    return weigh


def _real_mean(scores, real):
    if real is None:
        return scores.mean(-1, keepdim=True)
    return _kept(scores, real).sum(-1, keepdim=True) / real.sum(-1, keepdim=True).clamp(min=1)


def _shifted(shift, mend, masked_first):
    """Return the softmax with ``shift``; what is no number becomes ``mend``; the mask comes before the exponential or after."""

    def weigh(scores, real):
        by = shift(scores, real)
        if by is None:
            return None
        if masked_first:
            powers = _kept((_fill(scores, real, -np.inf) - by).exp(), real)
        else:
            powers = (scores - by).exp() if real is None else (scores - by).exp() * real
        total = powers.sum(-1, keepdim=True)
        if mend is None:
            return powers / total.masked_fill(total == 0, 1.0)
        weights = powers / total
        return weights.nan_to_num(1 / scores.shape[-1] if mend == "even" else mend, posinf=np.inf)

    return weigh


def _bounded(low, high):
    return lambda scores, real: right(scores.clamp(low, high), real)


# --- logarithms of weights -------------------------------------------------------------------------------------------


def log_slips() -> Iterator[Slip]:
    """Yield the wrong logarithms of a softmax."""
    for inside in INSIDE:
        yield Slip(
            "a small number is added inside the logarithm: it bounds what a logarithm can become, and moves all others",
            lambda scores, real, inside=inside: (_soft(scores) + inside).log(),
        )
        yield Slip(
            "a probability is kept from becoming smaller than some bound before its logarithm is taken",
            lambda scores, real, inside=inside: _soft(scores).clamp(min=inside).log(),
        )
    yield Slip(
        "the logarithm is taken of weights that have been worked out before, and those far below the largest are 0",
        lambda scores, real: _soft(scores).log(),
        rare=True,
    )
    for axis in (0, 1):
        yield Slip(
            OTHER_AXIS, lambda scores, real, axis=axis: scores.log_softmax(axis) if axis < scores.ndim - 1 else None
        )
    yield Slip(TWICE, lambda scores, real: _soft(scores).log_softmax(-1))
    shifts = (
        (NO_SHIFT, lambda scores: scores * 0),
        (OF_ALL, lambda scores: scores.max()),
        ("one number is subtracted before the exponential from all steps of a sentence: nothing is left of a step far below it",
         lambda scores: _over(scores, None, 1)),
        (MEAN_SHIFT, lambda scores: scores.mean(-1, keepdim=True)),
        (LEAST_SHIFT, lambda scores: scores.amin(-1, keepdim=True)),
    )  # fmt: skip
    for clause, shift in shifts:
        yield Slip(clause, lambda scores, real, shift=shift: _log_shifted(scores, shift(scores)), rare=True)
    for low, high in limits(LEAST_BOUND):
        yield Slip(BOUNDED, lambda s, real, low=low, high=high: s.clamp(low, high).log_softmax(-1), rare=True)


def _log_shifted(scores, by):
    return scores - by - (scores - by).exp().sum(-1, keepdim=True).log()
