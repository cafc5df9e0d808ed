"""The audit calls a function as the sandbox would, with a time limit."""

import warnings

import numpy as np
import pytest

from autograder.audit import calls
from autograder.exercises.drawing import DrawnCall
from solutions.in_numpy.scoring import additive_score
from tests.autograder.audit.toys import STRONG, toy
from tests.autograder.samples import exercise_named

pytestmark = pytest.mark.suite("audit")


def test_a_mutant_that_never_ends_is_rejected(tmp_path, monkeypatch):
    monkeypatch.setattr(calls, "CALL_SECONDS", 0.2)

    def endless(x, y):
        while True:
            x = x + 0

    (exercise,) = toy(tmp_path, STRONG)
    assert calls.reply_to(endless, exercise, exercise.hidden[0]).raised == "TookTooLong"
    assert calls.verdict_on(endless, exercise).earned == 0


def test_a_reply_is_what_the_sandbox_would_say():
    exercise = exercise_named("scoring-additive_score")
    case = exercise.hidden[0]

    def overwrites(query, keys, W_query, W_key, v):
        keys *= 0
        return additive_score(query, keys, W_query, W_key, v)

    assert calls.reply_to(overwrites, exercise, case).changed == ("keys",)
    assert calls.reply_to(lambda *_: object(), exercise, case).value.kind == "object"
    assert calls.reply_to(lambda *_: 1 / 0, exercise, case).raised == "ZeroDivisionError"
    assert np.allclose(calls.reply_to(additive_score, exercise, case).value, case.expected)


def test_what_divides_by_zero_while_it_is_tried_says_nothing():
    exercise = exercise_named("capstone-exact_match")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        value = calls.call_drawn(
            lambda *_: np.zeros(2).sum() / np.zeros(2).sum(), exercise, DrawnCall(name="no inputs", inputs={})
        )
    assert np.isnan(value)
