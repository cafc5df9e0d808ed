"""Inputs are of every kind, and such as the cases allow."""

import numpy as np
import pytest

from autograder.audit import inputs
from autograder.exercises import compare
from tests.autograder.samples import NAMES, exercise_named, reference_of

CODE = [name for name in NAMES if exercise_named(name).kind == "code"]


each_code_exercise = pytest.mark.parametrize("name", CODE)


@each_code_exercise
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_inputs_are_of_every_kind_and_the_reference_answers_most_of_them(name):
    exercise = exercise_named(name)
    reference, answered, seen = reference_of(exercise), 0, []
    for given in inputs.inputs_for(exercise, 60, seed=1):
        values = inputs.tensors(given.values) if exercise.in_torch else given.values
        with np.errstate(all="ignore"):
            try:
                compare.call_case(reference, values, given.gradients)
                answered += 1
            except (ValueError, RuntimeError, IndexError, ZeroDivisionError):
                continue
        seen += [item for item in given.values.values() if np.ndim(item)]
    assert answered > 50
    assert any(1 in item.shape for item in seen)
    assert max(max(item.shape) for item in seen) > 6
    if any(item.dtype.kind == "f" for item in seen):
        assert any(item.dtype == np.float32 for item in seen)
    drawn = [wanted for case in exercise.entry.cases for wanted in (case.shapes or {}).values()]
    if any(wanted.draw == "normal" for wanted in drawn):
        assert max(float(np.abs(item).max(initial=0)) for item in seen if item.dtype.kind == "f") > 5000
    if any(item.dtype.kind == "b" for item in seen):
        assert any(not item.all() for item in seen if item.dtype.kind == "b")


def test_sizes_that_belong_together_stay_together():
    for given in inputs.inputs_for(exercise_named("decoder_fusion-fused_input"), 50):
        embedded, context, matrix = given.values.values()
        assert len(embedded) == len(context)
        assert matrix.shape[1] == embedded.shape[1] + context.shape[1]
    for given in inputs.inputs_for(exercise_named("encoder-look_up"), 50):
        assert given.values["tokens"].max() < given.values["E_x"].shape[1]


def test_a_gradient_is_asked_for_where_a_case_asks_for_it():
    asked = {given.gradients for given in inputs.inputs_for(exercise_named("softmax-entropy"), 20)}
    assert asked == {(), ("scores", "temperature")}
