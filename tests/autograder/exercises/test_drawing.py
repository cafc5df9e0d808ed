"""Cases depend only on their seed, and distinguish right answers from wrong ones."""

import itertools
from typing import get_args, get_type_hints

import numpy as np
import pytest

from autograder import exercises
from autograder.exercises import reference_of
from autograder.exercises.drawing import DRAWS, MAX_DRAWS, PRIMES, candidate_seeds, draw_further_cases
from autograder.exercises.loading import outcome_of
from solutions import answer_key
from tests.autograder.audit.toys import STRONG, mix, toy
from tests.autograder.samples import ENTRIES, NAMES, TOPICS, exercise_named, topic_exercises

each_topic = pytest.mark.parametrize("topic", TOPICS)
CODE = [name for name in NAMES if ENTRIES[name].kind == "code"]
SHAPES = [name for name in NAMES if ENTRIES[name].kind == "shape"]
each_code = pytest.mark.parametrize("name", CODE)
SEEDS = (1, 2)


@pytest.mark.slow
@each_topic
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.full("another draw"))])
def test_the_same_seed_draws_the_same_cases(topic, seed):
    drawn_anew = exercises.load.__wrapped__(topic, seed)  # bypasses the cache
    assert exercises.digest(drawn_anew) == exercises.digest(topic_exercises(topic, seed))
    for first, second in zip(drawn_anew, topic_exercises(topic, seed), strict=True):
        np.testing.assert_equal([c.inputs for c in first.cases], [c.inputs for c in second.cases])
        np.testing.assert_equal([c.expected for c in first.cases], [c.expected for c in second.cases])


@pytest.mark.slow
@pytest.mark.parametrize("name", CODE + SHAPES)
def test_another_seed_draws_other_hidden_cases(name):
    first, second = (exercise_named(name, seed) for seed in SEEDS)
    alike = set()  # if all sizes are 1 and all numbers 0, there is nothing left to draw
    for case, changed in zip(first.hidden, second.hidden, strict=True):
        same = all(np.array_equal(item, changed.inputs[key]) for key, item in case.inputs.items())
        assert case.inputs
        if any(c.name == case.name.partition(", once more")[0] and c.inputs for c in first.entry.cases):
            assert same
        elif same:
            alike.add(case.name)
    # arguments that hold only whole numbers are the same in every release
    of_words = not any(np.asarray(item).dtype.kind == "f" for case in first.hidden for item in case.inputs.values())
    assert len(alike) <= len(first.hidden) / 6 or of_words


@pytest.mark.slow
@each_code
def test_shown_cases_do_not_depend_on_the_seed(name):
    first, second = (exercise_named(name, seed) for seed in SEEDS)
    assert first.shown
    np.testing.assert_equal([c.inputs for c in first.shown], [c.inputs for c in second.shown])


@pytest.mark.parametrize("name", SHAPES)
def test_a_shape_exercise_is_called_with_distinct_primes_with_each_size_1_and_with_any_two_alike_or_one_larger(
    name,
):
    exercise = exercise_named(name)
    letters = list(exercise.hidden[0].inputs)
    pairs, ordered = list(itertools.combinations(letters, 2)), list(itertools.permutations(letters, 2))
    count = exercises.SHAPE_DRAWS + len(letters) + 2 * len(pairs) + 2 * len(ordered) + 1
    made = exercise.hidden[count:]
    for case in exercise.hidden[: exercises.SHAPE_DRAWS]:
        assert len(set(case.inputs.values())) == len(case.inputs) > 0
        assert set(case.inputs.values()) <= set(exercises.PRIMES)
    rest = exercise.hidden[exercises.SHAPE_DRAWS : count]
    ones = [[n for n, size in case.inputs.items() if size == 1] for case in rest]
    assert ones == [[letter] for letter in letters] + [[]] * (2 * len(pairs) + 2 * len(ordered) + 1)
    last = exercise.hidden[exercises.SHAPE_DRAWS - 1].inputs
    of_pairs = rest[len(letters) : len(letters) + 2 * len(pairs)]
    for case, exchanged, (one, other) in zip(of_pairs[::2], of_pairs[1::2], pairs, strict=True):
        assert case.inputs[one] == case.inputs[other] > np.sqrt(np.iinfo(np.int16).max)
        assert len({*case.inputs.values()}) == len(letters) - 1
        assert exchanged.inputs == {**last, one: last[other], other: last[one]}  # a key of a cache may be their product
    larger = rest[len(letters) + 2 * len(pairs) : -1]
    for twice, much, (one, other) in zip(larger[::2], larger[1::2], ordered, strict=True):
        assert twice.inputs[one] == 2 * twice.inputs[other]
        assert much.inputs[one] == 5 * much.inputs[other]
    assert len({*rest[-1].inputs.values()}) == 1
    for case in made:  # one size is that of an axis made of others, or a constant, in the same answer
        ((name, size),) = case.inputs.items() - last.items()
        shapes = case.expected.values() if isinstance(case.expected, dict) else [case.expected]
        assert case.name == f"{name} as large as another axis of the answer"
        assert sum(length == size for shape in shapes for length in shape) >= 1
    for first, second in itertools.permutations(exercise.hidden[0].inputs, 2):
        assert any(case.inputs[first] < case.inputs[second] for case in exercise.hidden)


@pytest.mark.parametrize(
    ("name", "letter", "axis_of"),
    [
        ("encoder-rnn_outputs", "T_x", lambda sizes: 2),  # the directions
        ("decoder_fusion-fusion_shapes", "r", lambda sizes: sizes["d"] + 2 * sizes["m"]),
        ("decoder_fusion-fusion_shapes", "n", lambda sizes: 2 * sizes["m"]),
    ],
)
def test_a_size_equals_a_constant_or_an_axis_that_is_made_of_others(name, letter, axis_of):
    hidden = exercise_named(name).hidden
    last = hidden[exercises.SHAPE_DRAWS - 1].inputs
    assert {**last, letter: axis_of(last)} in [case.inputs for case in hidden if "another axis" in case.name]


@pytest.mark.parametrize(("name", "axis"), [("context-attend", 1), ("encoder-annotate", 0)])
def test_the_words_of_a_mask_move_and_their_number_stays(name, axis):
    """In each sentence, or from sentence to sentence where pads may stand at the end alone."""
    by_name = {case.name: case.inputs for case in exercise_named(name).hidden}
    (before,) = (inputs for name, inputs in by_name.items() if name.endswith("with another source_mask"))
    (after,) = (inputs for name, inputs in by_name.items() if "words elsewhere in source_mask" in name)
    one, other = before["source_mask"], after["source_mask"]
    assert sorted(one.sum(axis=1)) == sorted(other.sum(axis=1))
    assert (one.sum(axis=axis) == other.sum(axis=axis)).all()
    assert (one != other).any()
    assert all(np.array_equal(before[each], after[each]) for each in before if each != "source_mask")


@pytest.mark.parametrize("name", CODE)
def test_the_first_hidden_case_of_code_is_called_again_after_all_others_and_counts(name):
    exercise = exercise_named(name)
    first, *_, last = exercise.hidden
    assert last.name == f"{first.name}, once more after all others"
    assert (last.inputs, last.expected, last.part) == (first.inputs, first.expected, first.part)


def test_everything_that_a_key_may_ask_for_can_be_drawn():
    assert set(get_args(get_type_hints(answer_key.Drawn)["draw"])) == set(DRAWS)


@pytest.mark.parametrize("draw", DRAWS)
def test_what_is_drawn_has_the_shape_that_is_asked_for_and_differs_from_row_to_row(draw):
    value = DRAWS[draw](np.random.default_rng(0), answer_key.Drawn(shape=(3, 20, 9), draw=draw, below=5), 1.0)
    assert value.shape == (3, 20, 9)
    assert all(len(np.unique(rows, axis=0)) > 2 for rows in value)


@pytest.mark.parametrize("name", CODE + SHAPES)
def test_further_calls_fit_their_exercise_and_are_none_of_a_release(name):
    exercise = exercise_named(name)
    reference = reference_of(exercise)
    released = {_bytes_of(case.inputs) for case in exercise.hidden}
    further = list(draw_further_cases(exercise.entry, reference, 60))
    assert len(further) == 60
    new = [row for row in further if _bytes_of(row.inputs) not in released]
    assert len(new) >= 50  # in the others, every size is 1
    for row in new:
        outcome = outcome_of(exercise, reference, row.inputs, row.gradients)
        assert not outcome.raised
    if exercise.kind == "code":
        assert len({row.gradients for row in further}) == 1 + bool(exercise.entry.gradients)
        assert max(len(row.families) for row in further) > 1 or len(exercise.entry.arguments) < 2


def _bytes_of(inputs):
    return tuple(np.asarray(item).tobytes() for item in inputs.values())


def test_without_declared_arguments_further_calls_are_those_of_other_seeds(tmp_path):
    (exercise,) = toy(tmp_path, STRONG)
    further = list(draw_further_cases(exercise.entry, mix, 5))
    assert [row.inputs["x"].shape for row in further] == [(3, 4), (1, 3), (3, 4), (1, 3), (3, 4)]
    assert not any(np.array_equal(row.inputs["x"], case.inputs["x"]) for row in further for case in exercise.hidden)


def test_an_exercise_without_inputs_has_one_further_call():
    exercise = exercise_named("softmax-score_differences")
    (further,) = draw_further_cases(exercise.entry, reference_of(exercise), 5)
    assert further.inputs == {}


def test_sizes_are_primes_so_that_none_is_a_product_of_others():
    assert len(set(PRIMES)) == len(PRIMES)
    assert all(size % divisor for size in PRIMES for divisor in range(2, size))


SEED = 2**32 - 5


def test_the_first_attempt_has_the_seed_of_the_release_and_no_other():
    assert list(candidate_seeds(SEED, 0, (7, 8))) == [SEED]


def test_the_seeds_of_later_attempts_are_what_they_were_in_courses_without_recorded_ones():
    assert list(itertools.islice(candidate_seeds(7, 3), 2)) == [7 + 3 * 1_000_003, 7 + 3 * 1_000_003 + 7919]


def test_no_two_attempts_share_a_seed():
    seeds = [seed for attempt in range(1, 20) for seed in candidate_seeds(SEED, attempt)]
    assert len(set(seeds)) == len(seeds) == 19 * MAX_DRAWS
    assert all(0 <= seed < 2**32 for seed in seeds)


def test_a_recorded_seed_comes_first_and_those_after_it_stay():
    assert next(candidate_seeds(7, 2, (40, 41))) == 41
    assert list(candidate_seeds(7, 2, (40, 41)))[1:] == list(candidate_seeds(7, 2))
    assert list(candidate_seeds(7, 3, (40, 41))) == list(candidate_seeds(7, 3))
