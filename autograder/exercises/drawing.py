"""Draw the inputs of an exercise's cases from a seed: sizes, normal numbers, masks, weights, whole numbers.

In: an entry of the key, its reference, a seed. Out: ``(key case, inputs)``. Touches nothing.
"""

import hashlib
import inspect
from collections.abc import Callable, Iterator

import numpy as np

from solutions import answer_key
from solutions.answer_key import AnswerKeyError

PRIMES = (11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97)
SHAPE_DRAWS = 12  # an even number: see ``_sizes``


def rows(
    entry: answer_key.Entry, reference: Callable[..., object], seed: int
) -> Iterator[tuple[answer_key.Case, dict[str, np.ndarray | float]]]:
    """Yield ``(key case, inputs)``: stated inputs as they are, others drawn; for shown cases whatever the seed is."""
    names = list(inspect.signature(reference).parameters)
    rng = _generator(seed, entry.name)
    if isinstance(entry, answer_key.HandWorked):
        yield answer_key.Case(name="your numbers", atol=entry.atol), {}
    elif entry.kind == "shape":
        for draw, sizes in enumerate(_sizes(rng, len(names)), 1):
            yield answer_key.Case(name=f"sizes {draw}"), dict(zip(names, sizes, strict=True))
    else:
        for case in entry.cases:
            given = case.inputs if case.inputs is not None else case.shapes
            used = names[: len(given)]  # arguments with a default may be left out at the end
            needed = [n for n, p in inspect.signature(reference).parameters.items() if p.default is p.empty]
            if set(given) != set(used) or not set(needed) <= set(given):
                raise AnswerKeyError(
                    f"case {case.name!r} gives {', '.join(given)}", entry.where, f"give {', '.join(names)}."
                )
            if case.inputs is not None:
                yield case, {n: np.array(given[n]) if isinstance(given[n], list) else given[n] for n in used}
            else:
                source = _generator(0, f"{entry.name}, {case.name}") if case.shown else rng
                yield case, {n: DRAWS[given[n].draw](source, given[n], case.scale) for n in used}


def _generator(seed, name):
    return np.random.default_rng([seed, int(hashlib.sha256(name.encode()).hexdigest()[:8], 16)])


def _sizes(rng, count):
    """Yield ``count`` sizes for each draw, none like another, and then the same the other way round.

    So of any two, each is the larger one somewhere.
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


DRAWS = {"normal": _normal, "mask": _mask, "weights": _weights, "integers": _integers}  # as in records.Drawn
