"""The seeds of a student's attempts: the first has the release's own, each later one others, the same on every machine."""

from itertools import islice

from autograder.exercises.attempts import MAX_DRAWS, candidate_seeds

SEED = 2**32 - 5


def test_the_first_attempt_has_the_seed_of_the_release_and_no_other():
    assert list(candidate_seeds(SEED, 0, (7, 8))) == [SEED]


def test_the_seeds_of_later_attempts_are_what_they_were_in_courses_without_recorded_ones():
    assert list(islice(candidate_seeds(7, 3), 2)) == [7 + 3 * 1_000_003, 7 + 3 * 1_000_003 + 7919]


def test_no_two_attempts_share_a_seed():
    seeds = [seed for attempt in range(1, 20) for seed in candidate_seeds(SEED, attempt)]
    assert len(set(seeds)) == len(seeds) == 19 * MAX_DRAWS
    assert all(0 <= seed < 2**32 for seed in seeds)


def test_a_recorded_seed_comes_first_and_those_after_it_stay():
    assert next(candidate_seeds(7, 2, (40, 41))) == 41
    assert list(candidate_seeds(7, 2, (40, 41)))[1:] == list(candidate_seeds(7, 2))
    assert list(candidate_seeds(7, 3, (40, 41))) == list(candidate_seeds(7, 3))
