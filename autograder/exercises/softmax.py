"""Find the softmax step of a reference, and compute it in wrong ways, each with a clause that describes it.

In: an exercise and its instrumented reference; scores, and the mask that fits them or None. Out: a ``SoftmaxStep`` or
None; weights, arrays or tensors as the scores are. Runs the reference; touches nothing else. The wrong ways are
declared once for the course: each of them can replace any softmax step.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from autograder.exercises.instrumentation import InstrumentedFunction
from autograder.exercises.model import Case, Exercise, convert
from autograder.exercises.perturbations import bounds, is_tensor

FILLED = (-10.0, -50.0, -100.0, -500.0, -1e3, -1e4, -1e5, -1e6, -1e8, -1e9, -1e10, -1e12)
EPSILONS = (1e-45, 1e-38, 1e-30, 1e-20, 1e-16, 1e-15, 1e-12, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3)
LEAST_BOUND = 10.0  # scores below it are ordinary
MAX_CASES = 3  # cases in which to look for a softmax
TOLERANCE = 1e-9  # within which a step counts as a softmax

Weigh = Callable[[Any, Any], Any]

NO_SHIFT = "{it} are exponentiated directly: large ones overflow or vanish, so something must be subtracted from each row first"
WITH_PADS = (
    "the number subtracted before the exponential is a row's maximum with its padding included: where the padding's scores are "
    "far above the words', the words' exponentials vanish"
)
OF_ALL = "a single number is subtracted from the whole batch before the exponential: a row far below it vanishes"
OF_STEPS = (
    "a single number is subtracted from all steps of a sentence before the exponential: a step far below it vanishes"
)
MEAN_SHIFT = "the mean is subtracted before the exponential: a score far above the rest of its row still overflows"
LEAST_SHIFT = (
    "the smallest score is subtracted before the exponential instead of the largest: a score far above it overflows"
)
NOT_LOW = "padding scores are replaced by a number that is not low enough: the words' scores can be as low, or lower"
TAKEN_OFF = (
    "too little is subtracted from padding scores, or none of it before a row's maximum is taken: they can exceed the words' "
    "scores by more than that"
)
ZERO = "padding scores become 0: their exponential is 1, so padding still counts"
OF_STEP = {  # of a mask that hides more than padding
    ZERO: "scores outside the mask become 0: their exponential is 1, so the positions that it hides still count"
}
BOUNDED = "{it} are clipped, so that different ones beyond the bound become equal"
UNIFORM = "a row of scores without a word gets equal weights at all its positions"
OTHER_AXIS = "the softmax runs along another axis of {it} than the last"
ALL_AXES = "the softmax runs over all rows at once instead of over each row"
POWERS = "the exponential has a base other than e"
ADDED_BELOW = "a small number is added to the denominator"
ADDED_INSIDE = (
    "a small number is added inside the logarithm: it limits how low a logarithm can go, and shifts all others"
)
HELD_ABOVE = "probabilities are clipped from below before the logarithm is taken"


@dataclass(frozen=True)
class SoftmaxBug:
    """One wrong softmax. ``masks``: only if there is a mask. ``rare``: only if numbers are large."""

    clause: str
    weigh: Weigh
    masks: bool = False
    rare: bool = False


def softmax_bugs() -> Iterator[SoftmaxBug]:
    """Yield the wrong ways to take a softmax."""
    for masked, renormalised in ((True, False), (False, False), (True, True)):
        after = partial(_build_changed_softmax, masked=masked, renormalised=renormalised)
        for number in (0.0, *FILLED):
            # if the weights are renormalised, a 0 does harm only where words' scores are far below it
            clause = NOT_LOW if number or renormalised else ZERO
            rare = bool(number) or renormalised if masked else number < -100
            yield SoftmaxBug(clause, after(partial(_fill, number=number)), masks=True, rare=rare)
        for number in FILLED:
            weigh = after(partial(_add_at_pads, number=number))
            yield SoftmaxBug(TAKEN_OFF, weigh, masks=True, rare=number < -100)
        for epsilon in EPSILONS:
            yield SoftmaxBug(TAKEN_OFF, after(partial(_add_logarithm, epsilon=epsilon)), masks=True)
    yield SoftmaxBug(UNIFORM, lambda scores, mask: _fill_lowest(scores, mask).softmax(-1), masks=True)
    for base in (2.0, 10.0):
        yield SoftmaxBug(POWERS, lambda scores, mask, base=base: reference_softmax(scores * np.log(base), mask))
    for epsilon, shifted in product(EPSILONS, (True, False)):
        yield SoftmaxBug(ADDED_BELOW, partial(_add_below, epsilon=epsilon, shifted=shifted))
    for clause, shift in SHIFTS:
        for replacement, masked_first in product((None, 0.0, 1.0, "even"), (True, False)):
            weigh = partial(_shift_softmax, shift=shift, replacement=replacement, masked_first=masked_first)
            yield SoftmaxBug(clause, weigh, masks=clause == WITH_PADS, rare=True)
    for low, high in bounds(LEAST_BOUND):
        yield SoftmaxBug(
            BOUNDED, lambda s, mask, low=low, high=high: reference_softmax(s.clamp(low, high), mask), rare=True
        )
    for clause, axes in WRONG_AXES:
        for masking, ending, shift in product(MASKINGS, ENDINGS, AXIS_SHIFTS):
            weigh = partial(_softmax_over, axes=axes, masking=masking, ending=ending, shift=shift)
            yield SoftmaxBug(clause, weigh, masks=masking is not MASKINGS[0] or ending is ENDINGS[1])


def log_softmax_bugs() -> Iterator[SoftmaxBug]:
    """Yield the wrong ways to take the logarithm of a softmax."""
    for epsilon in EPSILONS:
        yield SoftmaxBug(ADDED_INSIDE, lambda scores, mask, epsilon=epsilon: (scores.softmax(-1) + epsilon).log())
        yield SoftmaxBug(HELD_ABOVE, lambda scores, mask, epsilon=epsilon: scores.softmax(-1).clamp(min=epsilon).log())
    for axis in (0, 1):
        yield SoftmaxBug(OTHER_AXIS, lambda s, mask, axis=axis: s.log_softmax(axis) if axis < s.ndim - 1 else None)
    shifts = (
        (NO_SHIFT, lambda scores: scores * 0),
        (OF_ALL, lambda scores: scores.max()),
        (OF_STEPS, lambda scores: _largest_from(scores, None, 1)),
        (MEAN_SHIFT, lambda scores: scores.mean(-1, keepdim=True)),
        (LEAST_SHIFT, lambda scores: scores.amin(-1, keepdim=True)),
    )
    for clause, shift in shifts:
        yield SoftmaxBug(clause, lambda scores, mask, shift=shift: _shift_log_softmax(scores, shift(scores)), rare=True)
    for low, high in bounds(LEAST_BOUND):
        yield SoftmaxBug(BOUNDED, lambda s, mask, low=low, high=high: s.clamp(low, high).log_softmax(-1), rare=True)


def reference_softmax(scores: Any, mask: Any) -> Any:
    """Return the right weights, which also show whether a step is a softmax at all."""
    return _zero_pads(_fill_lowest(scores, mask).softmax(-1), mask)


def accept_arrays(weigh: Weigh) -> Weigh:
    """Return ``weigh``, which is written in torch, as a function that accepts arrays too."""
    import torch

    def for_both(scores, mask):
        if hasattr(scores, "detach"):
            return weigh(scores, mask)
        mask = None if mask is None else torch.as_tensor(np.array(mask))
        with torch.no_grad():
            weights = weigh(torch.as_tensor(np.array(scores, dtype=float)), mask)
        return None if weights is None else weights.numpy()

    return for_both


# --- parts of a softmax ----------------------------------------------------------------------------------------------


def _fill(scores, mask, number):
    return scores if mask is None else scores.masked_fill(~mask, number)


def _fill_lowest(scores, mask):
    import torch

    return _fill(scores, mask, torch.finfo(scores.dtype).min)


def _add_at_pads(scores, mask, number):
    return scores + (~mask).to(scores.dtype) * number


def _add_logarithm(scores, mask, epsilon):
    return scores + (mask.to(scores.dtype) + epsilon).log()


def _zero_pads(values, mask):
    return _fill(values, mask, 0.0)


def _normalise(values):
    total = values.sum(-1, keepdim=True)
    return values / total.masked_fill(total == 0, 1.0)


def _largest_from(scores, mask, axis):
    """Return the largest score over all axes from ``axis`` on, at least over the last."""
    axes = tuple(range(min(axis % scores.ndim, scores.ndim - 1), scores.ndim))
    return _fill_lowest(scores, mask).amax(axes, keepdim=True)


def _build_changed_softmax(change, masked, renormalised):
    """Return the softmax of ``change(scores, mask)``, whose weights may then be ``masked`` and ``renormalised``."""

    def weigh(scores, mask):
        weights = change(scores, mask).softmax(-1)
        weights = _zero_pads(weights, mask) if masked else weights
        return _normalise(weights) if renormalised else weights

    return weigh


WRONG_AXES = (
    (OTHER_AXIS, lambda ndim: (0,)),
    (OTHER_AXIS, lambda ndim: (1,) if ndim > 2 else None),
    (ALL_AXES, lambda ndim: tuple(range(ndim))),
    (ALL_AXES, lambda ndim: (1, 2) if ndim > 2 else None),
)
MASKINGS = (  # the scores before the exponential, and whether the exponentials are masked; the first needs no mask
    (lambda scores, mask: scores, False),
    (lambda scores, mask: scores, True),
    (_fill_lowest, False),
    (_fill_lowest, True),
    (partial(_fill, number=-np.inf), False),
)
ENDINGS = (lambda weights, mask: weights, _zero_pads, lambda weights, mask: weights.nan_to_num(0.0))
AXIS_SHIFTS = (  # what is subtracted before the exponential
    lambda scores, axes: scores.amax(axes, keepdim=True),
    lambda scores, axes: 0.0,
    lambda scores, axes: scores.amax(-1, keepdim=True),
    lambda scores, axes: scores.amax(),
)


def _softmax_over(scores, mask, axes, masking, ending, shift):
    """Return the softmax over ``axes(scores.ndim)``, in one of the ways in which it is written."""
    over = axes(scores.ndim)
    if over is None:
        return None
    change, is_masked = masking
    kept = change(scores, mask)
    powers = (kept - shift(kept, over)).exp()
    powers = _zero_pads(powers, mask) if is_masked else powers
    return ending(powers / powers.sum(over, keepdim=True), mask)


def _add_below(scores, mask, epsilon, shifted):
    powers = _zero_pads((scores - (_largest_from(scores, mask, -1) if shifted else 0.0)).exp(), mask)
    return powers / (powers.sum(-1, keepdim=True) + epsilon)


def _real_mean(scores, mask):
    if mask is None:
        return scores.mean(-1, keepdim=True)
    return _zero_pads(scores, mask).sum(-1, keepdim=True) / mask.sum(-1, keepdim=True).clamp(min=1)


SHIFTS = (
    (NO_SHIFT, lambda scores, mask: 0.0),
    (WITH_PADS, lambda scores, mask: _largest_from(scores, None, -1)),
    (OF_ALL, lambda scores, mask: scores.max()),
    (OF_ALL, lambda scores, mask: _fill_lowest(scores, mask).max()),
    (OF_ALL, lambda scores, mask: _largest_from(scores, mask, 1) if scores.ndim > 2 else None),
    (MEAN_SHIFT, lambda scores, mask: scores.mean(-1)[..., None]),
    (MEAN_SHIFT, _real_mean),
    (LEAST_SHIFT, lambda scores, mask: -_largest_from(-scores, None, -1)),
    (LEAST_SHIFT, lambda scores, mask: -_largest_from(-scores, mask, -1)),
)


def _shift_softmax(scores, mask, shift, replacement, masked_first):
    """Return the softmax after ``shift``; NaN becomes ``replacement``; the mask is applied before or after the exponential."""
    by = shift(scores, mask)
    if by is None:
        return None
    if masked_first or mask is None:
        powers = _zero_pads((_fill(scores, mask, -np.inf) - by).exp(), mask)
    else:
        powers = (scores - by).exp() * mask
    if replacement is None:
        return _normalise(powers)
    weights = powers / powers.sum(-1, keepdim=True)
    return weights.nan_to_num(1 / scores.shape[-1] if replacement == "even" else replacement, posinf=np.inf)


def _shift_log_softmax(scores, by):
    return scores - by - (scores - by).exp().sum(-1, keepdim=True).log()


# --- the softmax step of a reference ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class SoftmaxStep:
    """The node numbers of the scores, of the mask if there is one, and of the weights, or of their ``logarithms``.

    In the latter case, ``beside`` may be the node of the weights themselves. ``pads_only``: the mask hides only padding.
    """

    scores: int
    mask: int | None
    weights: int
    logarithms: bool = False
    beside: int | None = None
    pads_only: bool = True


def record_node_values(exercise: Exercise, function: InstrumentedFunction, case: Case) -> dict[int, Any]:
    """Return the values that the nodes of ``function`` take in one call, {} if it raises."""
    turn, seen = convert(exercise), {}
    try:
        with np.errstate(all="ignore"):
            function.run({name: turn(item) for name, item in case.inputs.items()}, {}, seen)
    except Exception:
        return {}
    return seen


def find_softmax(exercise: Exercise, function: InstrumentedFunction) -> SoftmaxStep | None:
    """Return the first step that acts as a softmax in selected cases, preferably with a mask; None if no step does."""
    fitting: set[SoftmaxStep] = set()
    for case in _discriminating_cases(exercise):
        here = set(_softmax_steps(function.nodes, record_node_values(exercise, function, case)))
        fitting = fitting & here or fitting or here
    if not fitting:
        return None
    logarithms = any(step.logarithms for step in fitting)
    steps = [step for step in fitting if step.logarithms == logarithms]
    steps = [step for step in steps if step.mask is not None] or steps
    first = min((step.scores for step in steps), key=lambda n: (function.nodes[n].kind == "operation", n))

    def is_last(step):
        is_whole = function.nodes[step.weights].kind in ("value", "result")
        return -1 if step.mask is None else step.mask, is_whole, step.weights

    chosen = max((step for step in steps if step.scores == first), key=is_last)
    plain = [step.weights for step in fitting if chosen.logarithms and not step.logarithms and step.scores == first]
    beside = max((n for n in plain if function.nodes[n].kind == "value"), default=None)
    return replace(chosen, beside=beside, pads_only=_hides_padding_only(exercise, function, chosen.mask))


def _hides_padding_only(exercise, function, mask):
    """Return whether the node ``mask`` has the value of an argument in all selected cases."""
    arguments = [node.number for node in function.nodes if node.kind == "argument"]
    seen = [record_node_values(exercise, function, case) for case in _discriminating_cases(exercise)]
    return mask is None or any(
        all(np.array_equal(values.get(mask, ()), values.get(number, ())) for values in seen) for number in arguments
    )


def _discriminating_cases(exercise):
    """Return cases that distinguish a softmax from anything else: several positions, with pads if possible."""
    without_gradients = [case for case in exercise.hidden if not case.gradients]
    masks = [name for name, argument in exercise.entry.arguments.items() if argument.kind == "mask"]
    padded = [case for case in without_gradients if any(n in case.inputs and not case.inputs[n].all() for n in masks)]
    wide = [
        case
        for case in padded or without_gradients
        if all(min(np.shape(item), default=2) > 1 for item in case.inputs.values())
    ]
    return [case for case in wide if any(np.ndim(item) > 1 for item in case.inputs.values())][:MAX_CASES]


def _softmax_steps(nodes, seen) -> Iterator[SoftmaxStep]:
    """Yield every softmax step among the values ``seen``."""
    arrays: dict[int, Any] = {node.number: _array(seen.get(node.number)) for node in nodes}
    nodes = [node for node in nodes if arrays[node.number] is not None]
    inputs = [node for node in nodes if node.kind in ("argument", "value", "operation")]
    masks = [node.number for node in inputs if node.kind != "operation" and arrays[node.number].dtype.kind == "b"]
    outputs = [node.number for node in nodes if node.kind not in ("argument", "use")]
    outputs = {number: arrays[number] for number in outputs if arrays[number].dtype.kind == "f"}
    for scores in [node.number for node in inputs if _may_be_scores(arrays[node.number])]:
        for mask in (None, *masks):
            pairs = _find_softmax_outputs(arrays[scores], None if mask is None else arrays[mask], outputs)
            yield from (SoftmaxStep(scores, mask, output, logs) for output, logs in pairs if output != scores)


def _may_be_scores(array):
    return array.dtype.kind == "f" and array.ndim > 1 and np.isfinite(array).all()


def _find_softmax_outputs(scores, mask, outputs):
    """Yield ``(number, whether it is the logarithm)`` of each output that is the softmax of ``scores``."""
    try:
        weights = accept_arrays(reference_softmax)(scores, mask)
    except (RuntimeError, ValueError):
        return  # the mask does not fit
    for number, output in outputs.items():
        if _is_close(output, weights):
            yield number, False
        elif mask is None and not _is_close(output, scores) and _is_close(np.exp(output), weights):
            yield number, True  # log-weights are their own log-softmax


def _is_close(one, other):
    return one.shape == other.shape and np.allclose(one, other, rtol=0, atol=TOLERANCE)


def _array(value):
    if is_tensor(value):
        value = value.detach().numpy()
    return value if isinstance(value, np.ndarray) and value.ndim else None
