"""Hidden cases of different releases differ only in their numbers, not in anything that decides a verdict."""

import numpy as np
import pytest

from autograder.exercises.loading import TOLERANCE
from autograder.exercises.steady import SHARE, SteadyGenerator
from tests.autograder.samples import TOPICS, topic_exercises

pytestmark = pytest.mark.slow


def test_draws_of_two_seeds_differ_by_no_more_than_the_share():
    generator, other_generator = (SteadyGenerator(seed, "an exercise") for seed in (1, 2))
    first, second = generator.normal(size=1000), other_generator.normal(size=1000)
    assert (first != second).all()
    assert (np.abs(first / second - 1) <= 2.1 * SHARE).all()
    assert (np.sign(first) == np.sign(second)).all()


def test_uniform_numbers_stay_within_their_limits():
    numbers = SteadyGenerator(5, "an exercise").uniform(2.0, 3.0, size=10_000)
    assert (numbers >= 2).all()
    assert (numbers <= 3).all()
    assert numbers.std() == pytest.approx(1 / np.sqrt(12), abs=0.01)


def test_choices_are_the_same_for_every_seed_and_differ_between_exercises():
    original, other_seed, other_exercise = (
        SteadyGenerator(seed, name) for seed, name in ((1, "a"), (2, "a"), (1, "b"))
    )
    drawn = [
        (each.integers(1000, size=9).tolist(), each.choice(1000, size=9).tolist(), each.permutation(9).tolist())
        for each in (original, other_seed, other_exercise)
    ]
    assert drawn[0] == drawn[1] != drawn[2]


WHOLE_NUMBERS_ONLY = (
    *("beam_step", "decode", "exact_match", "corpus_bleu", "noun_alignment", "edit_distance", "alignment_error_rate"),
)


@pytest.mark.parametrize("topic", TOPICS)
def test_sizes_and_masks_are_those_of_every_release_and_no_result_can_be_taken_from_another(topic):
    for exercise, other_exercise in zip(topic_exercises(topic, 1), topic_exercises(topic, 2), strict=True):
        if exercise.kind != "code":
            continue
        differing = 0
        for case, other_case in zip(exercise.hidden, other_exercise.hidden, strict=True):
            for name, item in case.inputs.items():
                twin = np.asarray(other_case.inputs[name])
                assert np.shape(item) == twin.shape
                if twin.dtype.kind == "b":
                    assert np.array_equal(item, twin)
            if isinstance(case.expected, dict) and case.gradients:
                continue
            pairs = [(case.expected, other_case.expected)]
            if isinstance(case.expected, dict):
                pairs = [(case.expected[entry], other_case.expected[entry]) for entry in case.expected]
            differing += any(
                (np.abs(np.asarray(right, dtype=float) - np.asarray(elsewhere, dtype=float)) > 10 * TOLERANCE).any()
                for right, elsewhere in pairs
            )
        has_choices_only = exercise.function in WHOLE_NUMBERS_ONLY
        assert differing > len(exercise.hidden) / 4 or has_choices_only, exercise.name
