"""A mutation computes what the reference would with one change, which its clause describes."""

import itertools
import re
import warnings

import numpy as np
import pytest

from autograder.exercises import reference_of, softmax
from autograder.exercises.mutations import Mutations, mutations_of, sizes_of
from tests.autograder.samples import ENTRIES, NAMES, exercise_named

pytestmark = pytest.mark.slow

WORKED = [name for name in NAMES if ENTRIES[name].kind in ("code", "number")]


@pytest.mark.parametrize("name", WORKED)
def test_no_clause_has_a_number_that_an_exercise_might_ask_for(name):
    for mutation in mutations_of(exercise_named(name)).all:
        assert "{" not in mutation.clause
        assert not re.search(r"\d[.]\d|\d{3}", mutation.clause), mutation.clause


@pytest.mark.parametrize("name", WORKED)
def test_a_clause_speaks_of_a_softmax_or_of_clipped_numbers_only_where_there_may_be_one(name):
    exercise = exercise_named(name)
    clauses = " ".join(mutation.clause for mutation in mutations_of(exercise).all)
    assert "sum of the softmax" not in clauses or re.search(r"softmax|\bexp\(", exercise.source)
    assert (
        exercise.kind == "code" or "clipped" not in clauses
    )  # a few whole numbers are clipped to themselves by chance


def test_padding_that_counts_is_named_where_there_is_no_softmax():
    clauses = {mutation.clause for mutation in mutations_of(exercise_named("encoder-annotate")).all}
    assert "padding still counts as if it were words, and embedded is 0 there" in clauses


@pytest.fixture
def exercise():
    return exercise_named("decoder_fusion-luong_step")


def outcome(exercise, clause, place):
    """Return the outcome of the first mutation with ``clause`` on a hidden case."""
    mutations = Mutations(exercise)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        number = next(n for n, mutation in enumerate(mutations.all) if mutation.clause == clause)
        return mutations.outcome(number, place)


def several_sentences(exercise):
    return next(n for n, case in enumerate(exercise.hidden) if n > 3 and len(case.inputs["query"]) > 1)


CHANGED = {
    "fed for the first sentence is used for every sentence": {"fed": lambda item: item * 0 + item[:1]},
    "W_y is doubled": {"W_y": lambda item: 2 * item},
    "query has the opposite sign": {"query": lambda item: -item},
}


@pytest.mark.parametrize("clause", CHANGED)
def test_a_changed_argument_gives_what_the_reference_gives_for_it(exercise, clause):
    place = several_sentences(exercise)
    inputs = dict(exercise.hidden[place].inputs)
    inputs |= {name: change(inputs[name]) for name, change in CHANGED[clause].items()}
    assert np.allclose(outcome(exercise, clause, place).value, reference_of(exercise)(**inputs))


def test_a_rewritten_expression_gives_what_it_would_give_in_the_source():
    exercise = exercise_named("scoring-additive_score")
    place = several_sentences(exercise)
    query, keys, W_query, W_key, v = exercise.hidden[place].inputs.values()
    expected = ((query @ W_query.T)[:, None] + keys @ W_key.T) @ v
    assert np.allclose(outcome(exercise, "a tanh is missing", place).value, expected)


def pads_count_as_zeros(case):
    powers = np.exp(np.where(case.inputs["source_mask"], case.inputs["scores"], 0.0))
    return case.inputs["source_mask"] * powers / powers.sum(axis=-1, keepdims=True)


def keys_count_twice(case):
    inputs = {**case.inputs, "W_key": 2 * case.inputs["W_key"]}
    return reference_of(exercise_named("scoring-additive_score"))(**inputs)


CHANGED_STEPS = [  # exercise, clause, name of a hidden case, expected value there
    ("decoder_fusion-gated_step", "your result is doubled", "ordinary numbers", lambda case: 2 * case.expected),
    ("scoring-additive_score", "the projected keys are doubled", "ordinary numbers", keys_count_twice),
    ("softmax-masked_softmax", softmax.ZERO, "padding at the end", pads_count_as_zeros),
]


@pytest.mark.parametrize(("name", "clause", "called", "expected"), CHANGED_STEPS)
def test_a_changed_step_gives_what_its_clause_says(name, clause, called, expected):
    exercise = exercise_named(name)
    place = next(n for n, case in enumerate(exercise.hidden) if case.name == called)
    assert np.allclose(outcome(exercise, clause, place).value, expected(exercise.hidden[place]))


def test_matrices_that_are_joined_in_the_other_order_multiply_each_others_columns(exercise):
    place = several_sentences(exercise)
    inputs = exercise.hidden[place].inputs
    joined = np.hstack([inputs["W_s"], inputs["W_fed"]])
    mixed = inputs["fed"].shape[1]
    expected = reference_of(exercise)(**{**inputs, "W_fed": joined[:, :mixed], "W_s": joined[:, mixed:]})
    clause = "W_s and W_fed are concatenated in one order, but the vectors they multiply in the other"
    assert np.allclose(outcome(exercise, clause, place).value, expected)
    joined = {clause for mutation in mutations_of(exercise).all if "concatenated" in (clause := mutation.clause)}
    assert {clause.split(" are ")[0] for clause in joined} == {
        " and ".join(pair) for pair in itertools.combinations(("W_y", "W_s", "W_fed", "W"), 2)
    }


def test_an_earlier_argument_comes_from_an_earlier_call_of_the_same_shape_if_there_is_one(exercise):
    clause = "W_y from an earlier call with the same sizes is reused: something is kept between calls"
    shapes = [case.inputs["W_y"].shape for case in exercise.hidden]
    repeated = next(n for n, shape in enumerate(shapes) if shape in shapes[:n])
    earlier = exercise.hidden[shapes.index(shapes[repeated])]
    inputs = {**exercise.hidden[repeated].inputs, "W_y": earlier.inputs["W_y"]}
    assert np.allclose(outcome(exercise, clause, repeated).value, reference_of(exercise)(**inputs))
    assert outcome(exercise, clause, 0) is None


def test_arguments_of_other_shapes_are_not_confused(exercise):
    clause = "W_s is used instead of W_fed where both have the same sizes"
    cases = exercise.hidden
    alike = [n for n, case in enumerate(cases) if case.inputs["W_s"].shape == case.inputs["W_fed"].shape]
    assert outcome(exercise, clause, next(n for n in range(len(cases)) if n not in alike)) is None
    inputs = {**cases[alike[0]].inputs, "W_fed": cases[alike[0]].inputs["W_s"]}
    assert np.allclose(outcome(exercise, clause, alike[0]).value, reference_of(exercise)(**inputs))


def test_what_was_worked_out_is_kept_with_the_exercise(exercise):
    assert mutations_of(exercise) is mutations_of(exercise)
    assert mutations_of(exercise).outcome(0, 0) is mutations_of(exercise).outcome(0, 0)


def test_the_plainest_come_first_and_a_gradient_is_more_work():
    exercise = exercise_named("encoder-annotate")
    mutations = mutations_of(exercise)
    assert [mutation.rank for mutation in mutations.all] == sorted(mutation.rank for mutation in mutations.all)
    with_gradients = next(n for n, case in enumerate(exercise.hidden) if case.gradients)
    plain = next(n for n, case in enumerate(exercise.hidden) if not case.gradients)
    assert mutations.work(with_gradients) == 3 * mutations.work(plain) > 0


def test_sizes_are_told_by_the_letters_that_stand_alone(exercise):
    inputs = exercise.hidden[0].inputs
    sizes = sizes_of(exercise, inputs)
    assert sizes["batch"] == len(inputs["query"])
    assert (sizes["query_size"], sizes["embedding_size"]) == inputs["W_y"].shape
