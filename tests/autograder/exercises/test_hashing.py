"""The digest changes with everything that a verdict depends on."""

import dataclasses

import numpy as np
import pytest

from autograder import exercises
from tests.autograder.samples import TOPICS, exercise_named, topic_exercises

each_topic = pytest.mark.parametrize("topic", TOPICS)
SEEDS = (1, 2)


def changed(exercise, **changes):
    case = dataclasses.replace(exercise.cases[-1], **changes)
    return dataclasses.replace(exercise, cases=(*exercise.cases[:-1], case))


@each_topic
def test_the_digest_changes_with_the_seed(topic):
    assert len({exercises.digest(topic_exercises(topic, seed)) for seed in SEEDS}) == len(SEEDS)


@pytest.mark.parametrize("change", ["points", "hint", "source", "tolerance", "expected value"])
def test_the_digest_changes_with_everything_that_a_verdict_depends_on(change):
    exercise = exercise_named("scoring-additive_score")
    case = exercise.cases[-1]
    other = {
        "points": lambda: dataclasses.replace(exercise, entry=dataclasses.replace(exercise.entry, points=99)),
        "hint": lambda: dataclasses.replace(exercise, hints={**exercise.hints, "another": "Look again."}),
        "source": lambda: dataclasses.replace(exercise, source=exercise.source + "\n"),
        "tolerance": lambda: changed(exercise, atol=case.atol * 2),
        "expected value": lambda: changed(exercise, expected=case.expected + 1e-3),
    }[change]()
    assert exercises.digest([other]) != exercises.digest([exercise])


def test_the_digest_changes_with_an_entry_in_the_middle_of_a_large_array():
    zeros = changed(exercise_named("scoring-additive_score"), inputs={"x": np.zeros(5000)})
    other = changed(zeros, inputs={"x": 1.0 * (np.arange(5000) == 2500)})
    assert exercises.digest([other]) != exercises.digest([zeros])


def test_the_digest_changes_with_the_last_digit_of_whole_numbers_and_not_with_that_of_others():
    exercise = exercise_named("scoring-additive_score")

    def digest_with(value):
        return exercises.digest([changed(exercise, inputs={"x": np.array([value])})])

    assert digest_with(1234567890123) != digest_with(1234567890124)
    assert digest_with(0.1234567890123) == digest_with(0.1234567890124)
    assert digest_with(0.123456) != digest_with(0.123457)
