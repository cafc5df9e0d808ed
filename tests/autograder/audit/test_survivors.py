"""A weak key has surviving mutants, a strong one has none; mutants equal to the reference are set aside."""

import time

import numpy as np
import pytest

from autograder.audit import calls, survivors
from autograder.exercises.drawing import DrawnCall
from tests.autograder.audit.toys import STRONG, WEAK, audited, mix, toy

# on a busy machine, a call may time out inside hypothesis's garbage collector callback, which cannot raise
pytestmark = [pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"), pytest.mark.suite("audit")]


def test_a_weak_key_has_survivors_with_the_line_of_the_reference(tmp_path):
    exercise_audit = audited(tmp_path, WEAK)
    assert not exercise_audit.passed
    first = mix.__code__.co_firstlineno
    assert {survivor.line for survivor in exercise_audit.survivors} <= {first + 3, first + 4}
    assert {"Mult becomes Div", "1 becomes 0", "transposed"} <= {survivor.what for survivor in exercise_audit.survivors}
    assert {survivor.source for survivor in exercise_audit.survivors} == {
        "double = 2 * x",
        "return double - y.sum(axis=1, keepdims=True) / 4",
    }


def test_a_strong_key_has_none_and_what_is_equal_is_set_aside_with_its_reason(tmp_path):
    exercise_audit = audited(tmp_path, STRONG)
    assert exercise_audit.passed
    assert exercise_audit.tried == exercise_audit.mutants
    reasons = {mutant.reason for mutant in exercise_audit.aside}
    assert reasons == {survivors.EQUAL.format(1000), survivors.IN_PLACE}


def test_a_busy_machine_makes_no_survivor_of_what_is_equal(tmp_path, monkeypatch):
    """Every call exceeds the limit for mutants, but comparisons with the reference wait for the result."""
    monkeypatch.setattr(survivors, "call_drawn", _slow_down(survivors.call_drawn))
    monkeypatch.setattr(calls, "CALL_SECONDS", 0.001)
    (exercise,) = toy(tmp_path, STRONG)
    answers = survivors._Answers(mix, exercise, 3)
    assert answers.agree_with(mix)
    assert not answers.agree_with(lambda x, y: mix(x, y) + 1)


def _slow_down(call):
    def slowly(*arguments):
        time.sleep(0.01)
        return call(*arguments)

    return slowly


def test_some_calls_have_arrays_in_column_order():
    rng = np.random.default_rng(0)
    inputs = {"x": rng.normal(size=(3, 4)), "n": np.arange(3), "scale": 2.0}
    called = [row.inputs for row in survivors.vary_memory_layout([DrawnCall(name="", inputs=inputs)] * 6)]
    assert [item["x"].flags.f_contiguous for item in called] == [True, False, False] * 2
    assert all(item["n"].dtype == np.arange(3).dtype and item["scale"] == 2.0 for item in called)
    assert all(np.array_equal(item["x"], inputs["x"]) for item in called)
