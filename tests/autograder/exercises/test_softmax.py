"""A softmax is recognised by its values, however it is written, and every bug in one changes some result."""

import dataclasses

import numpy as np
import pytest
import torch

from autograder import exercises
from autograder.exercises import softmax
from autograder.exercises.instrumentation import InstrumentedFunction
from autograder.exercises.softmax import (
    accept_arrays,
    find_softmax,
    log_softmax_bugs,
    record_node_values,
    reference_softmax,
    softmax_bugs,
)
from tests.autograder.samples import exercise_named

SCORES = np.array([[0.5, -1.0, 2.0], [1.0, 1.5, -0.5]])
MASK = np.array([[True, False, True], [True, True, True]])
EMPTY = np.array([[False, False, False], [True, True, True]])
DEEP = np.array([[[0.5, -1.0, 2.0], [900.0, 901.0, 899.0]], [[1.0, 1.5, -0.5], [-2000.0, 3.0, 2.0]]])
CALLS = (
    *((SCORES, mask) for mask in (None, MASK, EMPTY)),
    *((scale * SCORES, mask) for scale in (0.02, 30.0, 600.0, -9e3, 4e12) for mask in (None, MASK, EMPTY)),
    *((SCORES + shift * step, MASK) for shift in (5e3, 1e13) for step in (~MASK, np.array([[1.0], [-1.0]]), -1.0)),
    *((SCORES - scale * MASK, MASK) for scale in (3.0, 20.0, 200.0, 5e3, 1e13)),
    (DEEP, None),
    (DEEP, np.ones(DEEP.shape, dtype=bool)),
)


def gives_another(weigh, right, scores, mask):
    weights, expected = (accept_arrays(each)(scores, mask) for each in (weigh, right))
    return weights is not None and not np.allclose(weights, expected, rtol=0, atol=1e-9, equal_nan=True)


def test_the_right_weights_are_0_at_pads_and_add_to_1():
    weights = accept_arrays(reference_softmax)(SCORES, MASK)
    powers = np.exp(SCORES) * MASK
    assert np.allclose(weights, powers / powers.sum(axis=1, keepdims=True))
    assert accept_arrays(reference_softmax)(SCORES, EMPTY)[0].tolist() == [0, 0, 0]
    tensors = accept_arrays(reference_softmax)(torch.from_numpy(SCORES), torch.from_numpy(MASK))
    assert np.allclose(tensors, weights)


BUGS = list(softmax_bugs())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("clause", dict.fromkeys(bug.clause for bug in BUGS))
def test_each_bug_gives_other_weights_somewhere(clause):
    wrong = []
    for bug in [bug for bug in BUGS if bug.clause == clause]:
        calls = [call for call in CALLS if call[1] is not None or not bug.masks]
        wrong.append(any(gives_another(bug.weigh, reference_softmax, *call) for call in calls))
    assert any(wrong)  # not all: a padding score that is low enough does no harm


@pytest.mark.filterwarnings("ignore")
def test_each_wrong_logarithm_gives_other_numbers_somewhere():
    def right(scores, mask):
        return scores.log_softmax(-1)

    calls = [scores for scores, mask in CALLS if mask is None]
    wrong = {bug.clause: [] for bug in log_softmax_bugs()}
    for bug in log_softmax_bugs():
        wrong[bug.clause].append(any(gives_another(bug.weigh, right, scores, None) for scores in calls))
    assert all(map(any, wrong.values()))


KNOWN = {
    softmax.ZERO: [np.exp(0.5), 1.0, np.exp(2.0)],
    softmax.POWERS: [2**0.5, 0.0, 2**2.0],
    softmax.TAKEN_OFF: [np.exp(0.5), np.exp(-1.0 - 10.0), np.exp(2.0)],
}


@pytest.mark.filterwarnings("ignore")
def test_what_is_rare_does_no_harm_to_ordinary_scores_and_what_needs_a_mask_says_so():
    for bug in softmax_bugs():
        for mask in (MASK,) if bug.masks else (MASK, None):
            weights = accept_arrays(bug.weigh)(SCORES, mask)
            right = accept_arrays(reference_softmax)(SCORES, mask)
            assert not bug.rare or weights is None or np.allclose(weights, right, atol=1e-4), bug.clause
    logarithms = SCORES - np.log(np.exp(SCORES).sum(axis=1, keepdims=True))
    for bug in log_softmax_bugs():
        assert not bug.rare or np.allclose(accept_arrays(bug.weigh)(SCORES, None), logarithms), bug.clause


def test_a_wrong_axis_is_never_the_last():
    for scores in (SCORES, np.array([SCORES, 2 * SCORES])):
        right = accept_arrays(reference_softmax)(scores, None)
        for number, bugs in ((right, softmax_bugs()), (np.log(right), log_softmax_bugs())):
            results = [accept_arrays(bug.weigh)(scores, None) for bug in bugs if bug.clause == softmax.OTHER_AXIS]
            half = len(results) // 2  # of the first axis, then of the second
            assert {each is None for each in results[:half]} == {False}
            assert {each is None for each in results[half:]} == {scores.ndim == 2}
            assert not any(np.allclose(each, number) for each in results if each is not None)


def test_what_is_added_below_takes_a_little_off_all_weights_alike():
    for bug in [bug for bug in softmax_bugs() if bug.clause == softmax.ADDED_BELOW]:
        for scores, mask in ((SCORES, MASK), (SCORES[:, None], MASK[:, None])):
            first, pad, last = accept_arrays(bug.weigh)(scores, mask)[0].ravel()
            assert (first / last, pad) == (pytest.approx(np.exp(0.5 - 2.0)), 0)
            assert 0.999 < first + last < 1 + 1e-9


def test_what_is_subtracted_from_each_row_by_itself_does_no_harm_to_rows_that_lie_far_apart():
    apart = SCORES + np.array([[1e4], [-1e4]])
    for bug in [bug for bug in softmax_bugs() if bug.clause in (softmax.MEAN_SHIFT, softmax.LEAST_SHIFT)]:
        assert np.allclose(accept_arrays(bug.weigh)(apart, MASK), accept_arrays(reference_softmax)(apart, MASK))
    added = [accept_arrays(bug.weigh)(apart, MASK) for bug in softmax_bugs() if bug.clause == softmax.ADDED_BELOW]
    close = [np.allclose(weights, accept_arrays(reference_softmax)(apart, MASK), atol=2e-3) for weights in added]
    assert sum(close) == len(close) / 2  # the half that subtracts the largest score of each row


def test_another_shift_leaves_the_gradients_of_ordinary_scores_alone():
    def gradient(weigh):
        scores = torch.tensor(SCORES, requires_grad=True)
        weigh(scores, torch.from_numpy(MASK))[:, 0].sum().backward()
        return scores.grad

    for bug in [bug for bug in softmax_bugs() if bug.clause in (softmax.MEAN_SHIFT, softmax.LEAST_SHIFT)]:
        assert np.allclose(gradient(bug.weigh), gradient(reference_softmax))


def test_a_row_without_a_word_gets_zeros_ones_or_equal_weights_in_place_of_nan():
    scores, mask = np.zeros((2, 3, 4)), np.array([False, True])[:, None, None] & np.ones((2, 3, 4), bool)
    bugs = [bug for bug in softmax_bugs() if bug.clause == softmax.NO_SHIFT]
    assert {accept_arrays(bug.weigh)(scores, mask)[0].mean() for bug in bugs} == {0, 1, 1 / 4}


@pytest.mark.parametrize("clause", KNOWN)
def test_weights_are_what_the_clause_says(clause):
    bugs = [bug for bug in BUGS if bug.clause == clause and not bug.rare]
    expected = np.array(KNOWN[clause]) / sum(KNOWN[clause])
    assert any(np.allclose(accept_arrays(bug.weigh)(SCORES, MASK)[0], expected) for bug in bugs)


@pytest.mark.parametrize("number", [-10.0, -100.0, -500.0, -1e3, -1e4, -1e9])
def test_padding_scores_that_become_a_usual_number_have_a_bug_with_these_weights(number):
    scores = SCORES + number  # real words now score as low as pads
    powers = np.exp(np.where(MASK, SCORES, 0.0))
    weights = [accept_arrays(bug.weigh)(scores, MASK) for bug in BUGS if bug.clause == softmax.NOT_LOW]
    assert any(np.allclose(each, powers / powers.sum(axis=1, keepdims=True)) for each in weights)


def test_a_row_without_a_word_gets_equal_weights():
    (bug,) = [bug for bug in BUGS if bug.clause == softmax.UNIFORM]
    assert accept_arrays(bug.weigh)(SCORES, EMPTY)[0].tolist() == pytest.approx([1 / 3] * 3)
    assert bug.masks


FOUND = {  # exercise: names of scores and mask, whether it is a log-softmax
    "softmax-masked_softmax": ("scores", "real", False),
    "context-attend": ("scores", "source_mask", False),
    "scoring-additive_score": None,
    "decoder_fusion-gated_step": None,
    "output_layer-cross_entropy": ("logits", "", True),
    "output_layer-logits_gradient": ("logits", "", False),
}


def instrumented(exercise):
    scope = vars(exercises.module(exercise.entry.reference_module))
    return InstrumentedFunction(exercise.source, scope)


@pytest.mark.parametrize("name", FOUND)
@pytest.mark.filterwarnings("ignore")
def test_a_softmax_is_found_with_its_scores_and_its_mask(name):
    exercise = exercise_named(name)
    function = instrumented(exercise)
    step = find_softmax(exercise, function)
    if FOUND[name] is None:
        assert step is None
    else:
        mask = "" if step.mask is None else function.nodes[step.mask].name
        assert (function.nodes[step.scores].name, mask, step.logarithms) == FOUND[name]


@pytest.mark.filterwarnings("ignore")
def test_what_is_seen_of_a_call_that_raises_is_nothing():
    exercise = exercise_named("softmax-masked_softmax")
    case = exercise.hidden[0]
    assert record_node_values(exercise, instrumented(exercise), case)
    assert record_node_values(exercise, instrumented(exercise), dataclasses.replace(case, inputs={})) == {}


def test_only_calls_with_pads_and_several_entries_along_each_axis_tell_what_a_softmax_is():
    exercise = exercise_named("softmax-masked_softmax")
    assert any(1 in case.inputs["scores"].shape for case in exercise.hidden[-15:])
    cases = softmax._discriminating_cases(dataclasses.replace(exercise, cases=exercise.cases[::-1]))
    assert cases
    assert all(min(item.shape) > 1 for case in cases for item in case.inputs.values())
    assert not any(case.inputs["source_mask"].all() for case in cases)
