"""Inputs of every kind for one exercise: masks, scores of 10 000, sizes from 1 to 9, single precision, column order.

In: an exercise, a seed. Out: inputs, drawn like those of its cases, in every combination of sizes that the cases allow:
sizes that are alike in all cases stay alike, and one that is always the sum of two others stays their sum. Touches
nothing.
"""

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from autograder.exercises import Exercise

SCALES = 1.0, 1.0, 3.0, 0.1, 30.0, 1e4
SIZES = 10  # below
GENTLE = 3.0  # the largest scale in single precision


@dataclass(frozen=True)
class Inputs:
    """One call. ``loose`` is how much wider than usual the tolerance must be, for single precision."""

    values: dict[str, np.ndarray | float]
    gradients: tuple[str, ...]
    loose: float = 1.0


def inputs_for(exercise: Exercise, count: int, seed: int = 0) -> Iterator[Inputs]:
    """Yield ``count`` inputs for ``exercise``. Some may be none that its text allows: its reference then fails on them."""
    rng = np.random.default_rng([seed, count])
    if exercise.kind == "number":
        yield Inputs({}, ())
        return
    if exercise.kind == "shape":
        names = list(exercise.hidden[0].inputs)
        for _ in range(count):
            yield Inputs(
                {name: int(size) for name, size in zip(names, rng.integers(1, 60, len(names)), strict=True)}, ()
            )
        return
    learnt = [_Learnt(exercise, group) for group in _alike(exercise.cases)]
    gradients = sorted({case.gradients for case in exercise.cases})
    special = OF_THEIR_OWN.get(exercise.name)
    for number in range(count):
        one = learnt[rng.integers(len(learnt))]
        values, loose = special(rng) if special else one.draw(rng), 1.0
        style = number % 6
        if style == 0 and one.gentle:
            values, loose = {name: _single(item) for name, item in values.items()}, 1000.0
        elif style == 1:
            values = {name: np.asfortranarray(item) if np.ndim(item) else item for name, item in values.items()}
        yield Inputs(values, gradients[number % len(gradients)], loose)


def tensors(values: Mapping[str, np.ndarray | float]) -> dict[str, object]:
    """Return ``values`` with tensors for arrays, in the same memory order."""
    import torch

    return {
        name: torch.from_numpy(item.copy(order="K")) if isinstance(item, np.ndarray) and item.ndim else item
        for name, item in values.items()
    }


def _single(item):
    return item.astype(np.float32) if np.ndim(item) and item.dtype.kind == "f" else item


def _alike(cases):
    """Return ``cases`` in groups that have the same arguments with the same numbers of axes."""
    groups = {}
    for case in cases:
        groups.setdefault(tuple((name, np.ndim(item)) for name, item in case.inputs.items()), []).append(case)
    return list(groups.values())


class _Learnt:
    """What the cases of a group say about their inputs: which sizes are alike, and what is drawn."""

    def __init__(self, exercise, cases):
        self.arguments = {name: np.ndim(item) for name, item in cases[0].inputs.items()}
        self.gentle = True
        places = [(name, axis) for name, axes in self.arguments.items() for axis in range(axes)]
        sizes = {(n, axis): tuple(case.inputs[n].shape[axis] for case in cases) for n, axis in places}
        letters = list(dict.fromkeys(sizes.values()))
        self.letter = {place: letters.index(sizes[place]) for place in places}
        self.sums = _sums(letters)
        self.letters = len(letters)
        everywhere = [case for case in exercise.cases if set(case.inputs) >= set(self.arguments)]
        tables = _tables(exercise)
        self.kinds = {name: self._kind(name, tables.get(name, {}), everywhere, sizes, cases) for name in self.arguments}

    def _kind(self, name, tables, everywhere, sizes, cases):
        """Return ``(function of rng, shape, scale, sizes)`` that draws the argument ``name``."""
        data = [np.asarray(case.inputs[name]) for case in everywhere]
        if data[0].dtype.kind == "b":
            empty = any(not item.any(axis=-1).all() for item in data)
            gaps = any((np.diff(item.astype(int), axis=-1) > 0).any() for item in data)
            return lambda rng, shape, scale, letters: _mask(rng, shape, empty, gaps)
        if data[0].dtype.kind in "iu":
            least = min(0, *(int(item.min(initial=0)) for item in data))
            below = self._bound({case: table.below for case, table in tables.items()}, sizes, cases)
            return lambda rng, shape, scale, letters: rng.integers(least, letters[below], size=shape)
        if any(table.draw == "weights" for table in tables.values()):
            if all(np.isclose(item.sum(axis=-1), 1, atol=1e-3).all() or not item.all() for item in data):
                zeros = any((item == 0).any() for item in data)
                return lambda rng, shape, scale, letters: _weights(rng, shape, zeros)
            return lambda rng, shape, scale, letters: rng.uniform(0.05, 3.0, size=shape)
        return lambda rng, shape, scale, letters: scale * rng.normal(size=shape)

    def _bound(self, below, sizes, cases):
        """Return the letter whose size is the bound of whole numbers, in each case that says one; by default the last."""
        for place, seen in sizes.items():
            if all(below.get(case.name, size) == size for case, size in zip(cases, seen, strict=True)):
                return self.letter[place]
        return self.letters - 1

    def draw(self, rng):
        fashion = rng.integers(8)
        sizes = rng.permutation(np.arange(1, SIZES))[: self.letters].tolist()
        if fashion == 0 or len(sizes) < self.letters:
            sizes = rng.integers(1, SIZES, size=self.letters).tolist()
        elif fashion == 1:
            sizes = [1] * self.letters
        elif fashion == 2:
            sizes = [int(rng.integers(1, 5))] * self.letters
        elif fashion == 3:
            sizes[rng.integers(self.letters)] = 1
        for whole, (one, other) in self.sums.items():
            sizes[whole] = sizes[one] + sizes[other]
        scale = SCALES[rng.integers(len(SCALES))]
        self.gentle = scale <= GENTLE
        values = {}
        for name, axes in self.arguments.items():
            shape = tuple(sizes[self.letter[name, axis]] for axis in range(axes))
            values[name] = self.kinds[name](rng, shape, scale, sizes)
        return values


def _sums(letters):
    """Return ``{letter: (letter, letter)}`` for sizes that are the sum of two others in every case."""
    if len(letters[0]) < 2:
        return {}
    return {
        letters.index(whole): (letters.index(one), letters.index(other))
        for whole in letters
        for one, other in itertools.combinations_with_replacement(letters, 2)
        if whole == tuple(a + b for a, b in zip(one, other, strict=True))
    }


def _tables(exercise):
    """Return what the key says of arguments that are no normal numbers: argument -> name of the case -> ``Drawn``."""
    found = {}
    for case in exercise.entry.cases:
        for name, wanted in (case.shapes or {}).items():
            if wanted.draw != "normal":
                found.setdefault(name, {})[case.name] = wanted
    return found


def _mask(rng, shape, empty, gaps):
    if gaps and rng.integers(2):
        mask = rng.integers(0, 2, size=shape).astype(bool)
        mask[..., rng.integers(shape[-1])] = True
    else:
        mask = np.arange(shape[-1]) < rng.integers(1, shape[-1] + 1, size=(*shape[:-1], 1))
    if rng.integers(4) == 0:
        mask[:] = True
    if empty and rng.integers(3) == 0:
        mask[rng.integers(len(mask))] = False
    return mask


def _weights(rng, shape, zeros):
    positive = rng.uniform(0.05, 1.0, size=shape)
    if zeros and rng.integers(2):
        positive *= np.arange(shape[-1]) < rng.integers(0, shape[-1] + 1, size=(*shape[:-1], 1))
    return positive / np.maximum(positive.sum(axis=-1, keepdims=True), 1e-9)


def _sentences(rng):
    """Words that a model wrote, and the right ones: the right ones end in the stop word, the model's often are the same."""
    batch, length, width = rng.integers(1, SIZES, size=3)
    words, target = rng.integers(2, 5, size=(batch, width)), np.zeros((batch, length), dtype=int)
    for row, wanted in zip(words, target, strict=True):
        end = rng.integers(length)
        wanted[:end] = rng.integers(3, 5, size=end)
        wanted[end] = 2
        if rng.integers(3):
            row[: end + 1] = wanted[: min(end + 1, width)]
    return {"words": words, "target": target}


def _heads(rng):
    """Arguments of several heads: the last matrix has as many columns as all heads have values together."""
    batch, length, query, key, heads, size, value, out = rng.integers(1, SIZES - 3, size=8)
    mask = _mask(rng, (batch, length), empty=True, gaps=True)
    heads_of_all = {"W_query": (heads, size, query), "W_key": (heads, size, key), "W_value": (heads, value, key)}
    matrices = {name: rng.normal(size=shape) for name, shape in heads_of_all.items()}
    scale = SCALES[rng.integers(len(SCALES))]  # of one argument: all of them are multiplied with each other
    keys = scale * rng.normal(size=(batch, length, key))
    first = {"query": rng.normal(size=(batch, query)), "keys": keys, "source_mask": mask}
    return {**first, **matrices, "W_out": rng.normal(size=(out, heads * value))}


# Exercises whose arguments depend on each other in a way that no table of the key says.
OF_THEIR_OWN = {"capstone-exact_match": _sentences, "from_bahdanau_to_transformers-multi_head": _heads}
