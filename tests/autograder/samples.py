"""What several tests of the grader take: exercises of every topic, values that a student may return."""

import importlib
import json
from functools import cache

import hypothesis.extra.numpy as hnp
from hypothesis import strategies as st

from autograder import exercises
from autograder.audit.calls import reply_to
from autograder.sandbox import wire
from solutions import answer_key

TOPICS = answer_key.topics()
NAMES = [
    entry.name for topic in TOPICS for entry in answer_key.load(topic).values() if entry.kind not in ("text", "trained")
]


@cache
def topic_exercises(topic, seed=1):
    return exercises.load(topic, seed)


def exercise_named(name, seed=1):
    return next(e for e in topic_exercises(name.split("-")[0], seed) if e.name == name)


def module_of(folder, name):
    return importlib.import_module(f"{folder}.{name.split('-')[0]}")


def reference_of(exercise):
    return getattr(module_of(f"solutions.{exercise.entry.module}", exercise.name), exercise.function)


def versions_of(module, exercise):
    return exercises.versions(vars(module), exercise.function)


def over_the_wire(value):
    return wire.decode(json.loads(json.dumps(wire.encode(value))))


def replies_of(function, exercise):
    """Return the replies that a sandbox would give for ``function``, without a sandbox."""
    return {(exercise.name, n): reply_to(function, exercise, case) for n, case in enumerate(exercise.hidden)}


def arrays(dtypes=wire.DTYPES):
    shapes = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)
    return hnp.arrays(st.sampled_from(dtypes), shapes)


def plain_values():
    """Values that cross the boundary unchanged."""
    numbers = st.none() | st.booleans() | st.integers(-(2**63) + 1, 2**63 - 1) | st.floats() | st.text(max_size=9)
    return st.recursive(numbers | arrays(), _containers, max_leaves=8)


def _containers(inner):
    lists = st.lists(inner, max_size=4)
    return lists | lists.map(tuple) | st.dictionaries(st.text(max_size=5).filter(str.isprintable), inner, max_size=4)
