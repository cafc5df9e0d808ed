"""A softmax is found by its values, however it is written."""

import dataclasses

import pytest

from autograder.exercises.instrumentation import InstrumentedFunction
from autograder.exercises.softmax_steps import _telling_cases, find_softmax, values_seen
from tests.autograder.samples import exercise_named, module_of

FOUND = {  # exercise: scores, mask, whether there are logarithms
    "softmax-softmax": ("scores", "", False),
    "softmax-masked_softmax": ("scores", "real", False),
    "context-attend": ("scores", "source_mask", False),
    "scoring-additive_score": None,
    "decoder_fusion-fused_input": None,
    "output_layer-cross_entropy": ("logits", "", True),
}


def instrumented(exercise):
    scope = vars(module_of(f"solutions.{exercise.entry.module}", exercise.name))
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
    exercise = exercise_named("softmax-softmax")
    case = exercise.hidden[0]
    assert values_seen(exercise, instrumented(exercise), case)
    assert values_seen(exercise, instrumented(exercise), dataclasses.replace(case, inputs={})) == {}


def test_only_calls_with_pads_and_several_entries_along_each_axis_tell_what_a_softmax_is():
    exercise = exercise_named("softmax-masked_softmax")
    assert any(1 in case.inputs["scores"].shape for case in exercise.hidden[-10:])
    cases = _telling_cases(dataclasses.replace(exercise, cases=exercise.cases[::-1]))
    assert cases
    assert all(min(item.shape) > 1 for case in cases for item in case.inputs.values())
    assert not any(case.inputs["source_mask"].all() for case in cases)
