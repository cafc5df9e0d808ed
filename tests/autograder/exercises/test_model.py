"""What was worked out of an exercise is kept by it, also where a course gives it other points."""

import pytest

from autograder.exercises import compare, with_points
from tests.autograder.samples import exercise_named


def test_points_are_given_in_proportion_and_to_one_exercise_however_often_they_are_asked_for():
    exercise = exercise_named("scoring-additive_score")
    doubled = with_points(exercise, 2 * exercise.points)
    assert doubled.points == 2 * exercise.points == pytest.approx(sum(doubled.parts.values()))
    assert doubled.parts == {part: 2 * points for part, points in exercise.parts.items()}
    assert doubled is with_points(exercise, 2 * exercise.points)
    assert with_points(exercise, exercise.points) is exercise


def test_what_mistakes_miss_is_worked_out_once_for_all_submissions_of_a_release_with_other_points(monkeypatch):
    exercise, compared, honest = exercise_named("scoring-dot_product_score"), [], compare.mismatches
    monkeypatch.setattr(compare, "mismatches", lambda *given: compared.append(given) or honest(*given))
    seen = [with_points(exercise, 7.25).misses for _ in range(3)]
    assert seen[0] is seen[2]
    assert not compared  # nor is it, before it is looked at
    for misses in seen:
        for _ in range(2):
            dict(misses[0])
    assert len(compared) == sum(not outcome.raised for outcome in exercise.hidden[0].mistaken.values()) > 0
