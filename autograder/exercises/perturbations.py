"""Wrong values that a step of a formula may take, each with the clause that tells a student what happened to it.

In: a value (array or tensor) and the context of the call. Out: another value, or None if the perturbation does not apply
and the value stays as it is. Touches nothing. Arrays and tensors share most methods; ``_library`` has the rest.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

BOUNDS = (1.0, 5.0, 10.0, 20.0, 30.0, 50.0, 60.0, 80.0, 88.0, 100.0, 200.0, 300.0, 500.0, 600.0, 700.0, 709.0, 1e3, 1e4)
FLOORS = (1e-8, 1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.05, 0.1, 0.5, 1.0)
DECIMALS = (2, 3)
DECIMALS_BY_HAND = (1, *DECIMALS)  # that people keep who compute by hand


@dataclass(frozen=True)
class CallContext:
    """One call: its ``inputs`` as the function gets them, the ``sizes`` by letter, the first mask, the values ``seen`` so far."""

    inputs: Mapping[str, Any]
    sizes: Mapping[str, int]
    mask: Any = None
    seen: dict[int, Any] = field(default_factory=dict)


Apply = Callable[[Any, CallContext], Any]


@dataclass(frozen=True)
class Perturbation:
    """One wrong value. ``clause`` completes "We get exactly your numbers if"; {it} is the value, {is} becomes is or are.

    A ``rare`` one is tried only if numbers are large. A ``hidden`` one may affect later steps alone: what is returned keeps
    all its digits.
    """

    clause: str
    apply: Apply
    rare: bool = False
    hidden: bool = False


def is_array(value: object) -> bool:
    return hasattr(value, "shape") and hasattr(value, "dtype")


def is_tensor(value: object) -> bool:
    return hasattr(value, "detach")


def is_real(value: Any) -> bool:
    """Return whether ``value`` is a floating-point number or an array of them."""
    return isinstance(value, float) or _has_dtype(value, "float")


def is_whole(value: Any) -> bool:
    """Return whether ``value`` is an array of whole numbers."""
    return _has_dtype(value, "int")


def is_mask(value: Any) -> bool:
    return _has_dtype(value, "bool")


def _has_dtype(value, name):
    return is_array(value) and name in str(value.dtype)


def bounds(least: float = 0.0) -> Iterator[tuple[float | None, float | None]]:
    """Yield the ranges to clip numbers to, (low, high); None is no limit, and all limits are at least ``least`` from 0."""
    for bound in BOUNDS:
        if bound >= least:
            yield from ((-bound, bound), (None, bound), (-bound, None))


def _library(value) -> Any:
    if is_tensor(value):
        import torch

        return torch
    return np


def _take(value, indices, axis):
    return value[(slice(None),) * axis + (list(indices),)]


# --- axes ------------------------------------------------------------------------------------------------------------


def along_axis(axis: int, letter: str, one: str, many: str) -> Iterator[Perturbation]:
    """Yield mistakes along ``axis`` of size ``letter``; one entry is called ``one``, several ``many``: sentence(s)."""

    def taking(indices):
        def apply(value, context):
            if _has_several(value, axis, letter, context):
                return _take(value, indices(value.shape[axis]), axis)

        return apply

    def summed(value, context):
        if _has_several(value, axis, letter, context) and is_real(value):
            return _take(value.sum(axis, keepdims=True), [0] * value.shape[axis], axis)

    yield Perturbation(f"{{it}} for the first {one} {{is}} used for every {one}", taking(lambda n: [0] * n))
    yield Perturbation(f"{{it}} for the last {one} {{is}} used for every {one}", taking(lambda n: [n - 1] * n))
    yield Perturbation(f"{{it}} {{is}} summed over the {many}, and every {one} gets the sum", summed)
    moved = f"the {many} of {{it}} are shifted by one, so that each gets its neighbour's values"
    yield Perturbation(moved, taking(lambda n: [n - 1, *range(n - 1)]))
    yield Perturbation(moved, taking(lambda n: [*range(1, n), 0]))


def _has_several(value, axis, letter, context):
    """Return whether ``axis`` of ``value`` has several entries, as many as ``letter`` counts."""
    if not is_array(value) or len(value.shape) <= axis or value.shape[axis] < 2:
        return False
    return context.sizes.get(letter, value.shape[axis]) == value.shape[axis]


def reshapes(first: int, second: int, names: Sequence[object] = ()) -> Iterator[Perturbation]:
    """Yield reshapes used instead of a swap of two axes. The clause calls the axes ``names``, or by their numbers."""
    clause = "a reshape is used where axes {} and {} of {{it}} must be swapped: a reshape keeps the numbers in order"

    def before(value, context):
        if is_array(value) and len(value.shape) > max(first, second):
            return value.reshape(value.swapaxes(first, second).shape).swapaxes(first, second)

    def after(value, context):
        if is_array(value) and len(value.shape) > max(first, second):
            return value.swapaxes(first, second).reshape(value.shape)

    for apply in (before, after):
        yield Perturbation(clause.format(*(names or (first, second))), apply)


def _transpose_square(value, context):
    if is_array(value) and len(value.shape) > 1 and value.shape[-1] == value.shape[-2] > 1:
        return value.swapaxes(-1, -2)


# --- numbers ---------------------------------------------------------------------------------------------------------


def _real(change):
    """Return ``change`` for floating-point values; others stay as they are."""
    return lambda value, context: (
        change(np.float64(value) if isinstance(value, float) else value) if is_real(value) else None
    )


def _clip(low, high):
    return _real(lambda value: value.clip(low, high))


def _truncate(value, decimals):
    return _library(value).trunc(value * 10**decimals) / 10**decimals


def _sort(descending):
    def apply(value, context):
        if isinstance(value, list):
            return sorted(value, reverse=descending)
        if not is_real(value) or not getattr(value, "shape", ()):
            return None
        ascending = value.sort(-1).values if is_tensor(value) else np.sort(value, axis=-1)
        return _take(ascending, range(value.shape[-1])[::-1], len(value.shape) - 1) if descending else ascending

    return apply


def _no_effect(value, context):
    if is_real(value) and bool(_library(value).isfinite(value).all() if is_array(value) else math.isfinite(value)):
        return value * 0


ROUNDED = "{it} {is} rounded or truncated to a few decimals along the way"


def _rounding(all_decimals):
    changes = (
        *(lambda value, n=n: value.round(decimals=n) for n in all_decimals),
        *(lambda value, n=n: _truncate(value, n) for n in all_decimals),
    )
    return tuple(Perturbation(ROUNDED, _each(_real(change)), hidden=True) for change in changes)


def _each(apply):
    """Return ``apply`` for the items of a list, and for anything else."""

    def for_list(value, context):
        if not isinstance(value, list):
            return apply(value, context)
        changed = [apply(item, context) for item in value]
        return None if any(item is None for item in changed) else changed

    return for_list


ROUNDING, ROUNDING_BY_HAND = _rounding(DECIMALS), _rounding(DECIMALS_BY_HAND)
GENERAL = (
    Perturbation("{it} {has} no effect", _no_effect),
    Perturbation("{it} {has} the opposite sign", _real(lambda value: -value)),
    Perturbation("{it} {is} doubled", _real(lambda value: 2 * value)),
    Perturbation("{it} {is} halved", _real(lambda value: value / 2)),
    Perturbation(
        "{it} {is} transposed where the two sizes are equal, as if the sizes decided whether to transpose",
        _transpose_square,
    ),
    *ROUNDING,
)
SORTED = tuple(
    Perturbation("{it} {is} sorted, so the order of the text is lost", _sort(descending))
    for descending in (False, True)
)
CLIPPED = tuple(
    Perturbation("{it} {is} clipped, so that different numbers beyond the bound become equal", _clip(*each), rare=True)
    for each in bounds()
)
HELD = (
    Perturbation("{it} {is} clipped to the range from -1 to 1", _clip(-1.0, 1.0)),
    Perturbation("{it} {is} clipped to the range from 0 to 1", _clip(0.0, 1.0)),
    Perturbation("negative entries of {it} become 0", _clip(0.0, None)),
)
FLOORED = tuple(Perturbation("{it} {is} clipped from below at some bound", _clip(floor, None)) for floor in FLOORS)


def mutate_scale(letter: str) -> Iterator[Perturbation]:
    """Yield the perturbations that divide or multiply by the size ``letter``, or by its square root."""
    for words, power in (
        (f"divided by the square root of {letter}", -0.5),
        (f"divided by {letter}", -1.0),
        (f"multiplied by the square root of {letter}", 0.5),
        (f"multiplied by {letter}", 1.0),
    ):

        def apply(value, context, power=power):
            size = context.sizes.get(letter, 1)
            return value * size**power if is_real(value) and size > 1 else None

        yield Perturbation(f"{{it}} {{is}} {words}", apply)


def zero_by_argument(name: str) -> Apply:
    """Return a function that zeroes a value wherever the argument ``name``, of whole numbers, is 0."""

    def apply(value, context):
        numbers = context.inputs.get(name)
        return _zero_outside(numbers != 0, value) if is_whole(numbers) else None

    return apply


def zero_at_pads(value: Any, context: CallContext) -> Any:
    """Return ``value`` with zeros where the mask of its first axes is False, or None where there is no such mask."""
    return None if context.mask is None else _zero_outside(context.mask, value)


def _zero_outside(mask, value):
    """Return ``value`` with zeros where ``mask``, of its first axes, is False; None if it has other axes."""
    axes = len(mask.shape)
    if not is_real(value) or not is_array(value) or tuple(value.shape[:axes]) != tuple(mask.shape):
        return None
    library = _library(value)
    return library.where(library.asarray(mask).reshape(*mask.shape, *(1,) * (len(value.shape) - axes)), value, 0.0)


def join_columns(left: Any, right: Any) -> Any:
    """Return two matrices side by side."""
    return _library(left).concatenate([left, right], 1)


# --- masks -----------------------------------------------------------------------------------------------------------


def _mask(change):
    return lambda value, context: change(value) if is_mask(value) and value.shape[-1:] else None


def _as_lengths(mask):
    return _library(mask).arange(mask.shape[-1]) < mask.sum(-1, keepdims=True)


def _fill_to_last_word(mask):
    """Return ``mask`` with every position up to the last word marked as a word."""
    backwards = range(mask.shape[-1])[::-1]
    axis = len(mask.shape) - 1
    return _take(_take(mask, backwards, axis).cumsum(axis), backwards, axis) > 0


MASKS = (
    Perturbation(
        "only the number of True entries in each row of {it} is used, as if the words always came first",
        _mask(_as_lengths),
    ),
    Perturbation("every position before the last word counts as a word, even padding", _mask(_fill_to_last_word)),
    Perturbation(
        "a sentence counts as empty if its first position is padding", _mask(lambda mask: mask & mask[..., :1])
    ),
    Perturbation(
        "a sentence counts as empty if its last position is padding", _mask(lambda mask: mask & mask[..., -1:])
    ),
)
