"""Samples for several tests: exercises of every topic, and values that a student may return."""

import array
import importlib
import json
import types
from collections import OrderedDict, UserDict, UserList, defaultdict, deque, namedtuple
from decimal import Decimal
from fractions import Fraction
from functools import cache

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
import torch
from hypothesis import strategies as st

from autograder import exercises
from autograder.audit.calls import reply_to
from autograder.sandbox import wire
from solutions import answer_key
from tests.shared import made_once

TOPICS = answer_key.topics()
EVERY_KIND = ("encoder", "scoring", "spelling")  # topics that have, together, exercises of every kind
ENTRIES = {  # entries of the keys by name, which load faster than whole exercises
    entry.name: entry
    for topic in TOPICS
    for entry in answer_key.load(topic).values()
    if entry.kind not in ("text", "trained")
}
NAMES = list(ENTRIES)

AUTOMATIC = sum(e.points for e in answer_key.load("scoring").values() if e.kind != "text")  # what the grader marks


def read_files(*folders):
    """Return the bytes of all files below ``folders``, by path."""
    return {path: path.read_bytes() for folder in folders for path in folder.rglob("*") if path.is_file()}


def sample(names, chosen, reason):
    """Return parameters for a test of each of ``names``; those not ``chosen`` only a full run tries, for the ``reason`` given."""
    return [name if name in chosen else pytest.param(name, marks=pytest.mark.full(reason)) for name in names]


@cache
def topic_exercises(topic, seed=1):
    """Return the exercises of ``topic``, computed by one process of this run and read by the others."""
    return made_once(f"{topic}-{seed}", lambda _: exercises.load(topic, seed))


def notebook_of(topic):
    """Return a copy, which may be changed, of the source notebook of ``topic``; one process of this run assembles it."""
    from autograder.notebooks.assemble import source_notebook

    return made_once(f"notebook-{topic}", lambda _: source_notebook(topic, topic_exercises(topic)))


def exercise_named(name, seed=1):
    return next(e for e in topic_exercises(name.split("-")[0], seed) if e.name == name)


@cache
def draw_exercise(name, seed):
    """Return ``exercise_named(name, seed)`` without drawing the rest of its topic, which takes longer."""
    return exercises.make_exercise(ENTRIES[name], seed)


def module_of(folder, name):
    return importlib.import_module(f"{folder}.{name.split('-')[0]}")


def versions_of(module, exercise):
    return exercises.versions(vars(module), exercise.function)


def over_the_wire(value):
    return wire.decode(json.loads(json.dumps(wire.encode(value))))


def replies_of(function, exercise):
    """Return the replies that a sandbox would give for ``function``, without a sandbox."""
    return {(exercise.name, n): reply_to(function, exercise, case) for n, case in enumerate(exercise.hidden)}


def right_replies(exercise):
    """Return the replies to the reference in a new dict; its calls are made only once."""
    return dict(_replies_of_reference(exercise))


@cache
def _replies_of_reference(exercise):
    return replies_of(exercises.reference_of(exercise), exercise)


def arrays(dtypes=wire.DTYPES):
    shapes = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)
    return hnp.arrays(st.sampled_from(dtypes), shapes)


def plain_values():
    """Values that cross the boundary unchanged."""
    numbers = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats() | st.text(max_size=9)
    return st.recursive(numbers | arrays(), _containers, max_leaves=8)


def _containers(inner):
    lists = st.lists(inner, max_size=4)
    return lists | lists.map(tuple) | st.dictionaries(st.text(max_size=5).filter(str.isprintable), inner, max_size=4)


# One value in many classes: notebook check and grader both accept all of the first three, and none of the last.
RIGHT = np.array([[1.0, 2.0], [3.0, 4.0]])
Size = namedtuple("Size", "rows columns")


class ReadByNumpy:
    def __array__(self, dtype=None, copy=None):
        return RIGHT.copy()


SAME_NUMBERS = {
    "extended precision": RIGHT.astype(np.longdouble),
    "a masked array without a masked entry": np.ma.masked_array(RIGHT),
    "a masked array with an empty mask": np.ma.masked_array(RIGHT, np.zeros((2, 2), dtype=bool)),
    "a matrix": RIGHT.view(np.matrix),
    "an array of a class of its own": RIGHT.view(type("Mine", (np.ndarray,), {})),
    "an array of objects": np.array([[Fraction(1), 2], [3.0, Decimal(4)]], dtype=object),
    "fractions and decimals": [[Fraction(1), Fraction(2)], [Decimal("3"), np.longdouble(4)]],
    "named tuples": Size(Size(1, 2), Size(3, 4)),
    "deques": deque([deque([1, 2]), deque([3, 4])]),
    "a range and a list of one's own": [range(1, 3), UserList([3, 4])],
    "arrays of the standard library": [array.array("d", [1, 2]), array.array("i", [3, 4])],
    "what numpy can read": ReadByNumpy(),
    "bfloat16": torch.tensor(RIGHT, dtype=torch.bfloat16),
    "integers and floats of one's own": [[type("Int", (int,), {})(1), type("Float", (float,), {})(2)], [3, 4]],
}

SAME_SHAPES = {
    "a tuple": (2, 3),
    "a list": [np.int16(2), 3],
    "a named tuple": Size(2, 3),
    "a tensor's": torch.zeros(2, 3).shape,
    "an array": np.array([2, 3]),
    "an array without signs": np.array([2, 3], dtype=np.uint16),
    "a range": range(2, 4),
    "a deque": deque([2, 3]),
    "a list of one's own": UserList([2, 3]),
    "an array of the standard library": array.array("l", [2, 3]),
    "a tensor": torch.tensor([2, 3]),
    "integers of numpy": (np.int32(2), np.uint8(3)),
    "long integers of numpy": (np.int64(2), 3),
    "arrays without axes": (np.array(2), torch.tensor(3)),
}
SAME_DICTS = {
    "an ordered dict": OrderedDict(a=(2,), b=(3,)),
    "a default dict": defaultdict(tuple, a=(2,), b=(3,)),
    "a read-only dict": types.MappingProxyType({"a": (2,), "b": (3,)}),
    "a dict of one's own": UserDict(a=(2,), b=(3,)),
    "keys of numpy": {np.str_("a"): (2,), np.str_("b"): (3,)},
    "a key more, which is no text": {"a": (2,), "b": (3,), 3: (4,)},
}
NO_NUMBERS = {
    "a masked entry": np.ma.masked_array(RIGHT, RIGHT > 3),
    "a masked entry in a list": [[1.0, 2.0], [3.0, np.ma.masked]],
    "text": ["1", "2"],
    "bytes": b"12",
    "a set": {1, 2, 3, 4},
    "a generator": (row for row in RIGHT),
    "the class of arrays": np.ndarray,
    "objects": np.array([[1.0, None], [3.0, 4.0]]),
    "complex numbers": RIGHT + 0j,
    "a sparse tensor": torch.tensor(RIGHT).to_sparse(),
    "a number beyond all floats": [[Fraction(10) ** 400, 2], [3, 4]],
}
