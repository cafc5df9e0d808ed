"""What can be done otherwise to a value on its way through a formula, each with the clause that says so to a student.

In: a value (array or tensor), what is known of the call. Out: another value. Touches nothing. A turn that does not fit a
value returns None: the value then stays as it is.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

BOUNDS = (
    1.0,
    5.0,
    10.0,
    20.0,
    30.0,
    50.0,
    60.0,
    80.0,
    88.0,
    100.0,
    200.0,
    300.0,
    500.0,
    600.0,
    700.0,
    709.0,
    1000.0,
    1e4,
)
FLOORS = (1e-8, 1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.05, 0.1, 0.5, 1.0)
DECIMALS = (2, 3)


def limits(least: float = 0.0) -> Iterator[tuple[float | None, float | None]]:
    """Yield what somebody may cut numbers off at: (low, high), None for no limit, each from ``least`` away from 0."""
    for bound in BOUNDS:
        if bound >= least:
            yield from ((-bound, bound), (None, bound), (-bound, None))


@dataclass(frozen=True)
class Known:
    """What is known of a call: its ``inputs`` as the function gets them, the ``sizes`` by letter, the mask if it has one."""

    inputs: Mapping[str, Any]
    sizes: Mapping[str, int]
    mask: Any = None


Turn = Callable[[Any, Known], Any]


@dataclass(frozen=True)
class Way:
    """One thing done otherwise. ``clause`` follows "Your numbers come out exactly if"; {it} stands for the value, {is} for is
    or are. ``rare``: tried only where numbers are large."""

    clause: str
    turn: Turn
    rare: bool = False


def is_array(value: object) -> bool:
    return hasattr(value, "shape") and hasattr(value, "dtype")


def is_tensor(value: object) -> bool:
    return hasattr(value, "detach")


def is_real(value: Any) -> bool:
    """Return whether ``value`` is a number or array of numbers, truth values aside, that are no whole numbers."""
    if isinstance(value, float):
        return True
    return is_array(value) and (value.is_floating_point() if is_tensor(value) else value.dtype.kind == "f")


def is_whole(value: Any) -> bool:
    """Return whether ``value`` is an array of whole numbers."""
    if not is_array(value):
        return False
    return str(value.dtype).startswith(("int", "torch.int", "uint"))


def is_mask(value: Any) -> bool:
    return is_array(value) and str(value.dtype) in ("bool", "torch.bool")


def spread(value: Any, like: Any) -> Any:
    """Return ``value`` in the shape of ``like``."""
    return value.expand_as(like) if is_tensor(value) else np.broadcast_to(value, like.shape)


def where(mask: Any, one: Any, other: Any) -> Any:
    if is_tensor(one) or is_tensor(mask):
        import torch

        other = other if is_tensor(other) else torch.as_tensor(other, dtype=one.dtype)
        return torch.where(mask, one, other)
    return np.where(mask, one, other)


def swapped(value: Any, one: int, other: int) -> Any:
    return value.transpose(one, other) if is_tensor(value) else value.swapaxes(one, other)


def clipped(value: Any, low: float | None, high: float | None) -> Any:
    return value.clamp(low, high) if is_tensor(value) else np.clip(value, low, high)


def rounded(value: Any, decimals: int) -> Any:
    return value.round(decimals=decimals) if is_tensor(value) else np.round(value, decimals)


def function(name: str, value: Any) -> Any:
    """Return the function ``name`` of torch, or of numpy, of ``value``."""
    if is_tensor(value):
        import torch

        return getattr(torch, name)(value)
    return getattr(np, name)(value)


def ordered(value: Any, index: Any, axis: int) -> Any:
    """Return ``value`` with the entries ``index`` along ``axis``."""
    if is_tensor(value):
        import torch

        return value.index_select(axis, torch.as_tensor(index.copy()))
    return np.take(value, index, axis=axis)


# --- ways that fit any place -----------------------------------------------------------------------------------------


def of_rows(axis: int, letter: str, one: str, many: str) -> Iterator[Way]:
    """Yield what can happen along ``axis``, which counts ``letter``; ``one`` and ``many`` say what stands along it, "sentence"."""

    def shared(place):
        def turn(value, known):
            if not _counts(value, axis, letter, known):
                return None
            return spread(ordered(value, np.array([place % value.shape[axis]]), axis), value)

        return turn

    def added(value, known):
        if not _counts(value, axis, letter, known) or not is_real(value):
            return None
        return spread(value.sum(axis, keepdims=True), value)

    yield Way(f"{{it}} of the first {one} {{serves}} for all {many}", shared(0))
    yield Way(f"{{it}} of the last {one} {{serves}} for all {many}", shared(-1))
    yield Way(f"{{it}} {{is}} added up over the {many}, and each of them gets the sum", added)

    def other_order(value, known):
        if not _counts(value, axis, letter, known):
            return None
        return ordered(value, np.arange(value.shape[axis])[::-1], axis)

    def moved(by):
        def turn(value, known):
            if not _counts(value, axis, letter, known):
                return None
            return ordered(value, np.roll(np.arange(value.shape[axis]), by), axis)

        return turn

    yield Way(f"{{it}} {{has}} the {many} in the opposite order", other_order)
    yield Way(f"{{it}} {{has}} the {many} moved by one, so that each meets what belongs to its neighbour", moved(1))
    yield Way(f"{{it}} {{has}} the {many} moved by one, so that each meets what belongs to its neighbour", moved(-1))


def _counts(value, axis, letter, known):
    """Return whether ``axis`` of ``value`` has several entries, as many as ``letter`` counts."""
    if not is_array(value) or len(value.shape) <= axis:
        return False
    return value.shape[axis] > 1 and (letter not in known.sizes or known.sizes[letter] == value.shape[axis])


def _transposed(value, known):
    if not is_array(value) or len(value.shape) < 2 or value.shape[-1] != value.shape[-2] or value.shape[-1] < 2:
        return None
    return swapped(value, -1, -2)


def of_axes(one: int, other: int, names: tuple[str, str]) -> Iterator[Way]:
    """Yield reshapes that stand where the axes ``one`` and ``other`` must change places."""

    def turned(before):
        def turn(value, known):
            if not is_array(value) or len(value.shape) <= max(one, other):
                return None
            exchanged = swapped(value, one, other)
            if before:
                return swapped(value.reshape(exchanged.shape), one, other)
            return exchanged.reshape(value.shape)

        return turn

    clause = (
        "a reshape stands where the axes {} and {} of {{it}} have to be exchanged: it keeps the order of the numbers"
    )
    for before in (True, False):
        yield Way(clause.format(*names), turned(before))


def _of_numbers(turn):
    """Return ``turn`` for numbers that are no whole ones and no truth values; others stay as they are."""
    return lambda value, known: turn(value) if is_real(value) else None


def _bounded(low, high):
    return _of_numbers(lambda value: clipped(value, low, high))


ROUNDED = "{it} {is} rounded or cut to a few decimals on the way"
EVERYWHERE = (
    Way("{it} {has} no effect", lambda value, known: value * 0 if is_real(value) and _is_finite(value) else None),
    Way("{it} {has} the opposite sign", _of_numbers(lambda value: -value)),
    Way("{it} {loses} the minus signs", _of_numbers(abs)),
    Way("{it} {counts} twice", _of_numbers(lambda value: 2 * value)),
    Way("{it} {counts} half", _of_numbers(lambda value: value / 2)),
    Way("{it} {is} squared", _of_numbers(lambda value: value * value)),
    Way(
        "{it} {is} transposed where the two sizes are equal, as when the sizes decide whether to transpose", _transposed
    ),
    *(Way(ROUNDED, lambda v, k, n=n: rounded(v, n) if is_real(v) else None) for n in DECIMALS),
    *(Way(ROUNDED, lambda v, k, n=n: _cut(v, n) if is_real(v) else None) for n in DECIMALS),
)
SORTED = (
    Way("{it} {is} sorted, and no longer stands in the order of the text", lambda v, k: _sorted(v, 1)),
    Way("{it} {is} sorted, and no longer stands in the order of the text", lambda v, k: _sorted(v, -1)),
)
CUT = tuple(
    Way("{it} {is} cut off at a bound, beyond which different numbers become equal", _bounded(low, high), rare=True)
    for low, high in limits()
)
HELD = (
    Way("{it} {is} held between -1 and 1", _bounded(-1.0, 1.0)),
    Way("{it} {is} held between 0 and 1", _bounded(0.0, 1.0)),
    Way("what is negative in {it} becomes 0", _bounded(0.0, None)),
)
FLOORED = tuple(Way("{it} {is} kept from becoming smaller than some bound", _bounded(floor, None)) for floor in FLOORS)
COUNTED = (
    Way("a 0 in {it} is taken for none", lambda v, k: where(v == 0, v * 0 - 1, v) if is_whole(v) else None),
    Way("{it} {is} counted from 1 where others count from 0", lambda v, k: v + 1 if is_whole(v) else None),
    Way("{it} {is} counted from 1 where others count from 0", lambda v, k: v - 1 if is_whole(v) else None),
)


def without_zeros(name: str) -> Turn:
    """Return the turn that sets to 0 what belongs to a 0 in the whole numbers of the argument ``name``."""

    def turn(value, known):
        numbers = known.inputs.get(name)
        if not is_whole(numbers) or not is_real(value) or not is_array(value):
            return None
        if tuple(value.shape[: len(numbers.shape)]) != tuple(numbers.shape):
            return None
        more = (1,) * (len(value.shape) - len(numbers.shape))
        return where((numbers != 0).reshape(tuple(numbers.shape) + more), value, 0.0)

    return turn


def rounded_products(one: Any, other: Any, decimals: int, cut: bool) -> Any:
    """Return ``one @ other`` with each product rounded, or cut, before they are added."""
    products = np.asarray(one)[..., None] * np.asarray(other) if np.ndim(one) == 1 < np.ndim(other) else None
    if products is None:
        products = np.asarray(one) * np.asarray(other)
        return (_cut(products, decimals) if cut else np.round(products, decimals)).sum(axis=-1)
    return (_cut(products, decimals) if cut else np.round(products, decimals)).sum(axis=-2)


def joined(one: Any, other: Any) -> Any:
    """Return two matrices side by side."""
    if is_tensor(one):
        import torch

        return torch.cat([one, other], 1)
    return np.concatenate([one, other], axis=1)


def _is_finite(value):
    return bool(function("isfinite", value).all())


def _cut(value, decimals):
    return (
        function("trunc", value * 10**decimals) / 10**decimals
        if is_array(value)
        else (math.trunc(value * 10**decimals) / 10**decimals)
    )


def _sorted(value, way):
    if isinstance(value, list):
        return sorted(value, reverse=way < 0)
    if not is_real(value) or not getattr(value, "shape", ()):
        return None
    up = value.sort(dim=-1).values if is_tensor(value) else np.sort(value, axis=-1)
    return up if way > 0 else ordered(up, np.arange(value.shape[-1])[::-1], -1)


def scaled(letter: str) -> Iterator[Way]:
    """Yield what it is to be divided by the size ``letter``, or its root, or multiplied."""
    for words, power in (
        (f"divided by the root of {letter}", -0.5),
        (f"divided by {letter}", -1.0),
        (f"multiplied by the root of {letter}", 0.5),
        (f"multiplied by {letter}", 1.0),
    ):

        def turn(value, known, power=power):
            size = known.sizes.get(letter, 1)
            return value * size**power if is_real(value) and size > 1 else None

        yield Way(f"{{it}} {{is}} {words}", turn)


# --- masks -----------------------------------------------------------------------------------------------------------


def _masks(turn):
    return lambda value, known: turn(value) if is_mask(value) and value.shape[-1:] else None


def _as_lengths(mask):
    places = np.arange(mask.shape[-1])
    if is_tensor(mask):
        import torch

        places = torch.as_tensor(places)
    return places < mask.sum(-1, keepdims=True)


def _up_to_last(mask):
    """Return ``mask`` with every pad before a last word taken for a word."""
    if is_tensor(mask):
        return mask.flip(-1).cumsum(-1).flip(-1) > 0
    return mask[..., ::-1].cumsum(-1)[..., ::-1] > 0


def _row_of(mask, place):
    return (
        spread(ordered(mask, np.array([place % len(mask)]), 0), mask) if len(mask.shape) > 1 and len(mask) > 1 else None
    )


MASKS = (
    Way("{it} {has} no effect, so that pads take part like words", _masks(lambda mask: mask | ~mask)),
    Way("{it} {is} taken the other way round: pads for words, and words for pads", _masks(lambda mask: ~mask)),
    Way(
        "only the number of true entries in a row of {it} counts, as if its words always stood first",
        _masks(_as_lengths),
    ),
    Way("whatever stands before the last word counts as a word, pads too", _masks(_up_to_last)),
    Way("{it} of the first sentence {serves} for all sentences", _masks(lambda m: _row_of(m, 0))),
    Way("{it} of the last sentence {serves} for all sentences", _masks(lambda m: _row_of(m, -1))),
    Way(
        "a sentence counts as empty as soon as its first position is a pad",
        _masks(lambda mask: mask & mask[..., :1]),
    ),
    Way(
        "a sentence counts as empty as soon as its last position is a pad",
        _masks(lambda mask: mask & mask[..., -1:]),
    ),
    Way("a word counts only if it is followed by no pad", _masks(lambda m: _up_to_last(m) & m & m[..., -1:])),
    Way(
        "in a sentence without a word, all positions count",
        _masks(lambda mask: mask | ~mask.any(-1)[..., None]),
    ),
)


def without_pads(value: Any, known: Known) -> Any:
    """Return ``value`` with zeros where the mask of its first axes is False, or None where there is no such mask."""
    mask = known.mask
    if mask is None or not is_real(value) or tuple(value.shape[: len(mask.shape)]) != tuple(mask.shape):
        return None
    return where(mask.reshape(tuple(mask.shape) + (1,) * (len(value.shape) - len(mask.shape))), value, 0.0)
