"""A variation of a reference gives what its clause says, on every hidden case that it fits, and says nothing on others."""

import numpy as np
import pytest

from autograder.exercises import stages, variations
from autograder.exercises.turns import Known
from autograder.exercises.variations import sizes_of, variations_of
from tests.autograder.samples import NAMES, exercise_named, reference_of

SCORE = "scoring-additive_score"
STEP = "decoder_fusion-decoder_step_state"
ATTEND = "context-attend"


def outcomes(name, clause):
    """Return ``(case, value)`` for every hidden case without gradients on which a variation with that clause does something."""
    exercise = exercise_named(name)
    known = variations_of(exercise)
    numbers = [number for number, variation in enumerate(known.all) if clause == variation.clause]
    assert numbers, clause
    places = [place for place, case in enumerate(exercise.hidden) if not case.gradients]
    found = [(place, known.outcome(number, place)) for number in numbers for place in places]
    done = [(exercise.hidden[place], outcome) for place, outcome in found if outcome is not None]
    assert done
    return [(case, outcome.value) for case, outcome in done if not outcome.raised]


CHANGED = {
    (STEP, "context has no effect"): lambda given: {**given, "context": 0 * given["context"]},
    (STEP, "context of the first sentence serves for all sentences"): lambda given: {
        **given,
        "context": np.broadcast_to(given["context"][:1], given["context"].shape),
    },
    (STEP, "W_s is transposed where the two sizes are equal, as when the sizes decide whether to transpose"): (
        lambda given: {**given, "W_s": given["W_s"].T}
    ),
    (STEP, "query stands in place of context where both have the same sizes"): lambda given: {
        **given,
        "context": given["query"] if given["query"].shape == given["context"].shape else given["context"],
    },
    (SCORE, "the projected query has the opposite sign"): lambda given: {**given, "W_query": -given["W_query"]},
    (SCORE, "the projected keys have no effect"): lambda given: {**given, "W_key": 0 * given["W_key"]},
    (ATTEND, "keys are set to 0 at pads, which then take part"): lambda given: {
        **given,
        "keys": given["keys"] * given["source_mask"][..., None],
    },
    (ATTEND, "keys are set to 0 at pads, and these still take part in the sum"): lambda given: {
        "scores": given["scores"],
        "keys": given["keys"] * given["source_mask"][..., None],
        "source_mask": given["source_mask"] | True,
    },
    (ATTEND, "source_mask is taken the other way round: pads for words, and words for pads"): lambda given: {
        **given,
        "source_mask": ~given["source_mask"],
    },
}


@pytest.mark.parametrize(("name", "clause"), CHANGED)
def test_a_variation_is_the_reference_with_other_arguments(name, clause):
    import torch

    exercise, change = exercise_named(name), CHANGED[name, clause]
    for case, value in outcomes(name, clause):
        given = change(case.inputs)
        if exercise.in_torch:
            given = {key: torch.from_numpy(np.array(item)) for key, item in given.items()}
        np.testing.assert_allclose(value, np.asarray(reference_of(exercise)(**given)), atol=1e-9)


def test_two_matrices_are_joined_in_one_order_and_what_they_multiply_in_the_other():
    for case, value in outcomes(STEP, "W_y and W_c are joined in one order, and what they multiply in the other"):
        g = case.inputs
        joined = np.concatenate([g["W_y"], g["W_c"]], axis=1)
        other = np.concatenate([g["context"], g["embedded"]], axis=1)
        expected = np.tanh(other @ joined.T + g["query"] @ g["W_s"].T)
        np.testing.assert_allclose(value, expected, atol=1e-9)


def clauses_of(name):
    return [variation.clause for variation in variations_of(exercise_named(name)).all]


def test_only_matrices_that_give_the_same_rows_can_be_joined():
    joined = [clause for clause in clauses_of(STEP) if "are joined" in clause]
    assert len(joined) == 3
    for name in ("scoring-additive_score", ATTEND, "encoder-look_up", "softmax-softmax"):
        pairs = {
            tuple(clause.split(" are joined")[0].split(" and ")) for clause in clauses_of(name) if "joined in" in clause
        }
        assert pairs == ({("W_query", "W_key")} if "additive" in name else set())


def test_what_is_joined_has_rows_of_one_length():
    for name in NAMES:
        arguments = getattr(exercise_named(name).entry, "arguments", {})
        for clause in clauses_of(name) if arguments else ():
            if "are joined" in clause:
                one, other = (arguments[each] for each in clause.split(" are joined")[0].split(" and "))
                assert one.axes[0] == other.axes[0]


@pytest.mark.parametrize(
    ("name", "together"),
    [
        ("decoder_fusion-decoder_step_state", []),
        ("scoring-additive_score", []),
        ("from_bahdanau_to_transformers-scaled_attention", []),
        ("softmax-masked_softmax", ["scores and source_mask"]),
    ],
)
def test_arguments_of_the_same_axes_are_turned_together(name, together):
    said = {clause.split(" have to")[0].split("of ")[-1] for clause in clauses_of(name) if "a reshape stands" in clause}
    assert sorted(one for one in said if " and " in one) == together


def earlier_place(exercise, place, names):
    """Return the first place before ``place`` whose inputs ``names`` have the same shapes."""
    shapes = {name: np.shape(exercise.hidden[place].inputs[name]) for name in names}
    return next(
        earlier
        for earlier, case in enumerate(exercise.hidden[: place + 1])
        if {name: np.shape(case.inputs[name]) for name in names} == shapes
    )


def test_what_is_kept_comes_from_the_first_call_with_the_same_sizes():
    exercise = exercise_named(STEP)
    known = variations_of(exercise)
    (number,) = [n for n, one in enumerate(known.all) if one.both and one.earlier == ("context", "W_c")]
    kept = 0
    for place, case in enumerate(exercise.hidden):
        outcome = known.outcome(number, place)
        earlier = earlier_place(exercise, place, ("context", "W_c"))
        assert (outcome is None) == (earlier == place)
        if outcome is not None:
            kept += 1
            inputs = {**case.inputs, **{name: exercise.hidden[earlier].inputs[name] for name in ("context", "W_c")}}
            np.testing.assert_allclose(outcome.value, reference_of(exercise)(**inputs), atol=1e-9)
    assert kept


def test_a_single_argument_is_kept_where_all_or_only_its_own_sizes_are_the_same():
    exercise = exercise_named(STEP)
    known = variations_of(exercise)
    alone, beside = [n for n, one in enumerate(known.all) if one.earlier[:1] == ("context",) and not one.both]
    fits = [{place for place in range(len(exercise.hidden)) if known.outcome(n, place)} for n in (alone, beside)]
    assert fits[1] < fits[0] or fits[0] < fits[1]
    for place in fits[0] & fits[1]:
        earlier = earlier_place(exercise, place, ("context",))
        inputs = {**exercise.hidden[place].inputs, "context": exercise.hidden[earlier].inputs["context"]}
        found = [known.outcome(n, place).value for n in (alone, beside)]
        assert any(np.allclose(value, reference_of(exercise)(**inputs), atol=1e-9) for value in found)


WITH_SOFTMAX = {
    "context-attend",
    "context-mended_attention",
    "decoder_fusion-decoder_step",
    "decoder_fusion-luong_step",
    "from_bahdanau_to_transformers-coverage_scores",
    "from_bahdanau_to_transformers-multi_head",
    "from_bahdanau_to_transformers-scaled_attention",
    "from_bahdanau_to_transformers-self_attention",
    "softmax-masked_softmax",
}


def test_the_wrong_ways_of_masking_are_looked_for_where_there_is_a_softmax_with_a_mask_and_nowhere_else():
    found = {
        name for name in NAMES if exercise_named(name).kind == "code" and stages.NOTHING_MASKED in clauses_of(name)
    }
    assert found - WITH_SOFTMAX == set()
    assert found >= {"context-attend", "softmax-masked_softmax", "from_bahdanau_to_transformers-scaled_attention"}


def test_a_softmax_in_the_middle_of_a_formula_is_replaced_there():
    for case, value in outcomes(ATTEND, stages.NOTHING_MASKED):
        scores = case.inputs["scores"]
        powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights = powers / powers.sum(axis=-1, keepdims=True)
        given = case.inputs
        np.testing.assert_allclose(
            np.asarray(value), (weights[..., None] * given["keys"]).sum(axis=1), rtol=1e-6, atol=1e-6
        )


def test_the_logarithm_of_a_softmax_is_looked_for_where_there_is_one():
    clauses = {
        name: set(clauses_of(name)) for name in ("output_layer-cross_entropy", "capstone-translation_loss", ATTEND)
    }
    logarithm = next(slip.clause for slip in stages.log_slips())
    assert logarithm in clauses["output_layer-cross_entropy"]
    assert logarithm not in clauses[ATTEND]


def test_sizes_are_read_off_the_axes_that_have_one_letter():
    exercise = exercise_named("decoder_fusion-fused_input")
    inputs = {"embedded": np.ones((2, 3)), "context": np.ones((2, 4)), "L_1": np.ones((5, 7))}
    assert sizes_of(exercise, inputs) == {"batch": 2, "embedding_size": 3, "key_size": 4, "input_size": 5}
    assert sizes_of(exercise, {"context": np.ones((2, 4))}) == {"batch": 2, "key_size": 4}


def test_the_gates_become_straight_lines_one_or_both():
    clauses = clauses_of("decoder_fusion-gated_step")
    assert "the gates come from a straight line, not from the logistic function" in clauses
    for gate in ("update", "reset"):
        assert f"the {gate} gate comes from a straight line, not from the logistic function" in clauses
    assert not any("straight line" in clause for clause in clauses_of(STEP))
    name, words = "decoder_fusion-gated_step", "from a straight line, not from the logistic function"
    one, both = (outcomes(name, f"{gates} {words}") for gates in ("the update gate comes", "the gates come"))
    assert any(not np.allclose(value, other) for (_, value), (_, other) in zip(one, both, strict=True))
    assert any(not np.allclose(value, case.expected) for case, value in both)


def test_a_straight_line_follows_the_logistic_function_around_its_middle_and_ends_where_it_does():
    x = np.array([-30.0, -0.2, 0.0, 0.2, 30.0])
    for way in variations.STRAIGHT:
        line = way.turn(1 / (1 + np.exp(-x)), Known({}, {}))
        assert line[0] == 0
        assert line[-1] >= 1
        np.testing.assert_allclose(line[1] + line[3], 1)
        np.testing.assert_allclose(line[2], 0.5)
        assert 0.5 < line[3] < 0.6
        assert way.turn(np.array([True, False]), Known({}, {})) is None


def test_the_plainest_variations_come_first():
    for name in (STEP, ATTEND):
        ranks = [variation.rank for variation in variations_of(exercise_named(name)).all]
        assert ranks == sorted(ranks)
        assert ranks[0] == 0


def test_a_case_in_torch_or_with_gradients_is_more_work():
    exercise = exercise_named("scoring-additive_score")
    known = variations_of(exercise)
    plain = {known.work(n) for n, case in enumerate(exercise.hidden) if not case.gradients}
    assert len(plain) == 1
    entropy = exercise_named("softmax-entropy")
    work = {bool(case.gradients): variations_of(entropy).work(n) for n, case in enumerate(entropy.hidden)}
    assert work[True] > work[False]
