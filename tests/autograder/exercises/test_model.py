"""An exercise caches derived values, and its digest changes with everything that a verdict depends on."""

import dataclasses

import numpy as np
import pytest

from autograder import exercises
from autograder.exercises import compare, with_points
from tests.autograder.samples import TOPICS, exercise_named, topic_exercises


def test_points_are_given_in_proportion_and_to_one_exercise_however_often_they_are_asked_for():
    exercise = exercise_named("scoring-additive_score")
    doubled = with_points(exercise, 2 * exercise.points)
    assert doubled.points == 2 * exercise.points == pytest.approx(sum(doubled.parts.values()))
    assert doubled.parts == {part: 2 * points for part, points in exercise.parts.items()}
    assert doubled is with_points(exercise, 2 * exercise.points)
    assert with_points(exercise, exercise.points) is exercise


def test_what_mistakes_miss_is_worked_out_once_for_all_submissions_of_a_release_with_other_points(monkeypatch):
    exercise, compared, honest = exercise_named("scoring-dot_product_score"), [], compare.mismatches
    monkeypatch.setattr(compare, "mismatches", lambda *arguments: compared.append(arguments) or honest(*arguments))
    seen = [with_points(exercise, 7.25).misses for _ in range(3)]
    assert seen[0] is seen[2]
    assert not compared  # computed only on access
    for misses in seen:
        for _ in range(2):
            dict(misses[0])
    assert len(compared) == sum(not outcome.raised for outcome in exercise.hidden[0].mistaken.values()) > 0


def changed(exercise, **changes):
    case = dataclasses.replace(exercise.cases[-1], **changes)
    return dataclasses.replace(exercise, cases=(*exercise.cases[:-1], case))


@pytest.mark.slow
@pytest.mark.parametrize("topic", TOPICS)
def test_the_digest_changes_with_the_seed(topic):
    assert len({exercises.digest(topic_exercises(topic, seed)) for seed in (1, 2)}) == 2


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
