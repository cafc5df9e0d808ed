"""Inspect a value that a function returned, and the case for which it was returned. Pure."""

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from autograder.exercises import Case, compare
from autograder.sandbox import Reply


def entry_of(value: Any, entry: str) -> Any:
    """Return ``value.get(entry)`` if ``value`` is a dict and ``entry`` is not "", else ``value`` itself."""
    return value.get(entry) if entry and isinstance(value, dict) else value


def entries_of(case: Case) -> list[str]:
    """Return the names of the entries that ``case`` expects, [""] where it expects a single value."""
    return list(case.expected) if isinstance(case.expected, dict) else [""]


def has_form(value: Any, expected: Any) -> bool:
    """Return whether ``value`` holds numbers in the shape of ``expected``."""
    if isinstance(expected, dict):
        return isinstance(value, dict) and all(n in value and has_form(value[n], e) for n, e in expected.items())
    array = read_array(value)
    return array is not None and array.shape == np.shape(expected)


def read_array(value: Any) -> np.ndarray | None:
    """Return ``value`` as an array; None if it is a dict, or cannot be read as numbers."""
    with contextlib.suppress(TypeError, ValueError, OverflowError):
        array = compare.read_value(value)
        return None if isinstance(array, dict) else array
    return None


def numbers_of(value: Any) -> np.ndarray:
    """Return ``value`` as an array of floats; an empty one, of shape (0,), if it cannot be read as such."""
    array = read_array(value)
    return np.zeros(0) if array is None else array.astype(float)


def arrays_of(case: Case) -> list[np.ndarray]:
    """Return the inputs of ``case`` that are arrays."""
    return [item for item in case.inputs.values() if isinstance(item, np.ndarray)]


@dataclass(frozen=True)
class JudgedCase:
    """A hidden case, its ``place`` among the hidden cases, the reply, and the reasons why entries are wrong ("" if right)."""

    place: int
    case: Case
    reply: Reply
    reasons: Mapping[str, str]

    @cached_property
    def wrong_entries(self) -> list[str]:
        return [entry for entry, reason in self.reasons.items() if reason]

    def numbers(self, entry: str) -> tuple[np.ndarray, np.ndarray]:
        """Return the numbers of ``entry``: the student's, and the right ones."""
        return numbers_of(entry_of(self.reply.value, entry)), numbers_of(entry_of(self.case.expected, entry))

    @cached_property
    def wrong_numbers(self) -> np.ndarray:
        """The student's wrong numbers in all entries; every number of an entry whose shape is wrong."""
        parts = []
        for entry in entries_of(self.case):
            mine, right = self.numbers(entry)
            is_comparable = mine.shape == right.shape
            parts.append(mine[~np.isclose(mine, right, rtol=0, atol=self.case.atol)] if is_comparable else mine.ravel())
        return np.concatenate(parts)


def is_called_twice(rows: Sequence[JudgedCase]) -> bool:
    """Return whether the first and the last of ``rows`` are the same call, made twice."""
    return len(rows) > 1 and rows[0].case.inputs is rows[-1].case.inputs
