"""A hash over everything in exercises that a verdict depends on.

In: ``Exercise`` objects. Out: a text of 64 letters, the same on every machine. Touches nothing.
"""

import hashlib
import inspect
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields
from functools import lru_cache

import numpy as np

from autograder.exercises.model import Exercise

ROUNDING = 1e-12  # of the largest entry of an array, or of 1: what is smaller may be 0 on another processor


def digest(exercises: Iterable[Exercise]) -> str:
    """Return a hash over everything in ``exercises`` that a verdict depends on."""
    return _digest(tuple(exercises))


@lru_cache(maxsize=64)
def _digest(exercises):
    state = []
    for e in exercises:
        cases, trained = [_hash_inputs_of_case(case) for case in e.cases], e.trained and asdict(e.trained)
        follows = {entry: asdict(step) for entry, step in e.follows.items()}
        entry = {name: value for name, value in asdict(e.entry).items() if name != "where"}
        state.append([entry, e.source, e.hints, e.mistakes, cases, trained, follows])
    return hashlib.sha256(json.dumps(state, sort_keys=True, default=_exactly).encode()).hexdigest()


def _hash_inputs_of_case(case):
    """Return all that a verdict depends on; of mistakes in code, what they give on shown cases: their source is there too."""
    told = case.shown or not case.part
    mistaken = {name: asdict(outcome) for name, outcome in case.mistaken.items()} if told else {}
    everything = {field.name: getattr(case, field.name) for field in fields(case)}
    # The tolerance is computed, and JSON would keep all its digits.
    return everything | {"mistaken": mistaken, "atol": _exactly(case.atol)}


def _exactly(value):
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":  # the last digits depend on the processor
        noise = ROUNDING * np.abs(value).max(initial=1.0, where=np.isfinite(value))
        return [value.dtype.str, value.shape, [f"{0.0 if abs(item) < noise else item:.8g}" for item in value.flat]]
    if isinstance(value, np.ndarray):
        return [value.dtype.str, value.shape, hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()]
    if isinstance(value, float | np.floating):
        return f"{value:.8g}"
    if isinstance(value, Mapping):
        return dict(value)
    return inspect.getsource(value) if inspect.isfunction(value) else repr(value)
