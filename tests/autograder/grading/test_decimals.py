"""The last decimal that an exercise asks for may be rounded or truncated, as its notebook says, and one before it may not."""

import re
from functools import cache

import numpy as np
import pytest

from autograder.grading import judge
from autograder.notebooks.chapter import chapter_texts
from autograder.paths import ROOT
from autograder.sandbox import Reply
from tests.autograder.samples import ENTRIES, exercise_named, over_the_wire

DECIMALS = {"one": 1, "two": 2, "three": 3, "four": 4}
ASKED = re.compile(rf"(?<!exactly with )\b({'|'.join(DECIMALS)}) decimals?\b")


@cache
def texts_of(topic):
    return chapter_texts(ROOT / "book" / f"{topic}.md")[1]


def decimals_of(name):
    """Return how many decimals the text of an exercise asks for; None if it does not say."""
    asked = {DECIMALS[word] for word in ASKED.findall(texts_of(name.split("-")[0])[name].body)}
    assert len(asked) <= 1, f"{name} asks for {asked} decimals"
    return asked.pop() if asked else None


DIGITS = {name: decimals_of(name) for name, entry in ENTRIES.items() if entry.kind == "number"}
NAMES = [name for name, decimals in DIGITS.items() if decimals]


def earned(exercise, change):
    expected = exercise.hidden[0].expected
    value = (
        {entry: change(item) for entry, item in expected.items()} if isinstance(expected, dict) else change(expected)
    )
    return judge.points_of(exercise, lambda _: Reply(value=over_the_wire(value)))


def test_most_exercises_say_how_many():
    assert len(NAMES) >= 10


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("cut", [np.round, lambda x: np.floor(x + 1e-9), lambda x: np.ceil(x - 1e-9), np.trunc])
def test_what_is_rounded_or_truncated_there_earns_all_points(name, cut):
    exercise, unit = exercise_named(name), 10.0 ** DIGITS[name]
    assert earned(exercise, lambda item: cut(np.asarray(item, dtype=float) * unit) / unit) == exercise.points


@pytest.mark.parametrize("name", NAMES)
def test_the_tolerance_is_that_of_the_last_decimal(name):
    assert 1 <= ENTRIES[name].atol * 10.0 ** DIGITS[name] <= 2
