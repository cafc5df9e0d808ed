"""Draw the inputs of an exercise's cases from a seed: sizes, normal numbers, masks, weights, whole numbers.

In: an entry of the key, its reference, a seed. Out: one ``DrawnCall`` per call; the seeds that each attempt of a
student may use. Touches nothing.
"""

import inspect
import itertools
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from autograder.exercises.covering import DrawnCall, pairwise_cases, random_cases
from autograder.exercises.steady import SteadyGenerator
from solutions import answer_key
from solutions.answer_key import AnswerKeyError

PRIMES = (11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97)
SMALL_SIZES = (2, 3, 5, 7, 13, 17, 19, 23)
LARGE_SIZE = 191  # its square takes more than 15 bits
SHAPE_DRAWS = 12  # an even number: see ``_sizes``
MAX_SIZE = 60  # sizes in the further calls of a shape exercise stay below this
MAX_DRAWS = 50  # draws of hidden cases to try until they catch every known mistake


def candidate_seeds(seed: int, attempt: int, recorded: Sequence[int] = ()) -> Iterator[int]:
    """Yield the seeds from which the hidden cases of ``attempt`` may be drawn, in the order in which to try them.

    The first attempt, number 0, can have only the ``seed`` of the release. ``recorded`` has the seeds that the release proved
    for later attempts.
    """
    if attempt == 0:
        yield seed
        return
    yield from recorded[attempt - 1 : attempt]
    for draw in range(MAX_DRAWS):
        yield (seed + 1_000_003 * attempt + 7919 * draw) % 2**32


def draw_cases(entry: answer_key.Entry, reference: Callable[..., object], seed: int) -> Iterator[DrawnCall]:
    """Yield a ``DrawnCall`` for each call, with stated or drawn inputs; those of shown cases do not depend on ``seed``."""
    names = list(inspect.signature(reference).parameters)
    rng = SteadyGenerator(seed, entry.name)
    if isinstance(entry, answer_key.HandWorked):
        yield DrawnCall(name="your numbers", inputs={}, atol=entry.atol)
    elif entry.kind == "shape":
        for draw, sizes in enumerate(_sizes(rng.free, len(names)), 1):
            yield DrawnCall(name=f"sizes {draw}", inputs=dict(zip(names, sizes, strict=True)))
        last = dict(zip(names, sizes, strict=True))
        for name in names:  # an axis of length 1 is still an axis
            yield DrawnCall(name=f"{name} 1", inputs={**last, name: 1})
        for one, other in itertools.combinations(names, 2):  # what is counted tells axes apart, not their sizes
            small = (int(size) for size in rng.free.permutation(SMALL_SIZES))
            alike = {**dict(zip(names, small, strict=False)), one: LARGE_SIZE, other: LARGE_SIZE}
            yield DrawnCall(name=f"{one} equal to {other}", inputs=alike)
            yield DrawnCall(name=f"{one} and {other} exchanged", inputs={**last, one: last[other], other: last[one]})
        for one, other in itertools.permutations(names, 2):
            yield DrawnCall(name=f"{one} twice as large as {other}", inputs={**last, one: 2 * last[other]})
            yield DrawnCall(name=f"{one} much larger than {other}", inputs={**last, one: 5 * last[other]})
        yield DrawnCall(name="all sizes equal", inputs=dict.fromkeys(names, sizes[0]))
        others = sorted(_list_axes(reference, last) - {*last.values(), 1})
        for name, size in itertools.product(names, others):
            if size in _list_axes(reference, alike := {**last, name: size}):  # which does not depend on this one
                yield DrawnCall(name=f"{name} as large as another axis of the answer", inputs=alike)
    else:
        needed = [n for n, p in inspect.signature(reference).parameters.items() if p.default is p.empty]
        for case in entry.cases:
            given = case.inputs if case.inputs is not None else case.shapes
            _refuse_arguments(f"case {case.name!r} gives", given, names, needed, entry)
            source = SteadyGenerator(0 if case.shown else seed, f"{entry.name}, {case.name}")
            yield DrawnCall(
                name=case.name,
                inputs={name: _input(source, case, name) for name in names[: len(given)]},
                shown=case.shown,
                part=case.part,
                gradients=case.gradients,
                atol=case.atol,
                expected=case.expected,
            )
        if isinstance(entry, answer_key.Code) and entry.arguments:
            _refuse_arguments("`arguments` has", entry.arguments, names, names, entry)
            yield from pairwise_cases(entry, frozenset(names) - set(needed), rng)


def _list_axes(reference, sizes):
    """Return the lengths of all axes in the right answer for ``sizes``."""
    shapes = reference(**sizes)
    return {int(size) for shape in (shapes.values() if isinstance(shapes, dict) else [shapes]) for size in shape}


def draw_further_cases(entry: answer_key.Entry, reference: Callable[..., object], count: int) -> Iterator[DrawnCall]:
    """Yield up to ``count`` further calls from the families of ``draw_cases``, in any combination, not only in pairs."""
    yield from itertools.islice(_further_cases(entry, reference), count)


def _further_cases(entry, reference):
    parameters = inspect.signature(reference).parameters.values()
    rng = SteadyGenerator(0, f"{entry.name}, further calls").free
    if entry.kind == "shape":
        while True:
            yield DrawnCall(name="sizes", inputs={p.name: int(rng.integers(1, MAX_SIZE)) for p in parameters})
    elif entry.kind == "code" and entry.arguments:
        yield from random_cases(entry, frozenset(p.name for p in parameters if p.default is not p.empty), rng)
    elif entry.kind == "code":
        for n in itertools.count(1):
            yield from (row for row in draw_cases(entry, reference, n) if not row.shown)
    else:
        yield from draw_cases(entry, reference, 0)


def _refuse_arguments(what, given, names, needed, entry):
    """Refuse missing or unknown arguments; only trailing ones that have a default may be left out."""
    if set(given) != set(names[: len(given)]) or not set(needed) <= set(given):
        raise AnswerKeyError(f"{what} {', '.join(given)}", entry.where, f"give {', '.join(names)}.")


def _input(rng, case, name):
    if case.inputs is None:
        return DRAWS[case.shapes[name].draw](rng, case.shapes[name], case.scale)
    return np.array(case.inputs[name]) if isinstance(case.inputs[name], list) else case.inputs[name]


def _sizes(rng, count):
    """Yield ``count`` different sizes for each draw, and then the same sizes in reverse order.

    So each of two is the larger one somewhere; among more, this is very likely for any two.
    """
    for _ in range(SHAPE_DRAWS // 2):
        sizes = [int(size) for size in rng.choice(PRIMES, size=count, replace=False)]
        yield sizes
        yield sizes[::-1]


def _normal(rng, wanted, scale):
    return (scale * rng.normal(size=wanted.shape)).round(3)


def _mask(rng, wanted, scale):
    shape = wanted.shape
    lengths = rng.integers(1, max(2, shape[-1]), size=(*shape[:-1], 1))  # at least one real token, at least one pad
    if wanted.empty_row:
        lengths[0] = 0
    return np.arange(shape[-1]) < lengths


def _weights(rng, wanted, scale):
    positive = rng.uniform(0.05, 1.0, size=wanted.shape)
    return (positive / positive.sum(axis=-1, keepdims=True)).round(6)


def _integers(rng, wanted, scale):
    return rng.integers(0, wanted.below, size=wanted.shape)


def _log_probabilities(rng, wanted, scale):
    return np.log(_weights(rng, wanted, scale))


DRAWS = {"normal": _normal, "mask": _mask, "weights": _weights, "integers": _integers}
DRAWS |= {"log_probabilities": _log_probabilities}  # as in records.Drawn
