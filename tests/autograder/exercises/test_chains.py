"""Each step of a chain is extracted from the reference."""

import dataclasses

import numpy as np
import pytest

from autograder import exercises
from solutions.answer_key import AnswerKeyError
from tests.autograder.exercises.toys import WHERE, toy


def chain():
    start = np.array([1.0, 2.0])
    first = 2 * start
    second = first + 1
    return {"first": first, "second": second}


def chain_in_one_line():
    return {"first": np.array([2.0, 4.0]), "second": np.array([3.0, 5.0])}


def chain__halved():
    """Twice, not half."""
    return {"first": np.array([0.5, 1.0]), "second": np.array([1.5, 2.0])}


TOY_CHAIN = """
[toy-chain]
kind = "number"
points = 2
parts = { first = 1, second = 1 }
atol = 1e-3
follows = { second = ["first"] }
"""


def test_a_step_of_a_chain_is_the_reference_without_the_lines_before_it(tmp_path):
    (exercise,) = toy(tmp_path, chain, chain__halved, key=TOY_CHAIN)
    (step,) = exercise.follows.values()
    assert step.given == ("first",)
    assert "first = " not in step.source
    assert "{" not in step.source  # without the dict of all steps, which holds other answers
    assert exercises.compile_steps(exercise.follows)["second"][1](np.array([7.0, 8.0])).tolist() == [8.0, 9.0]
    other = dataclasses.replace(exercise, follows={})
    assert exercises.digest([other]) != exercises.digest([exercise])


def test_a_step_that_the_reference_does_not_assign_is_refused(tmp_path):
    with pytest.raises(AnswerKeyError, match=f"{WHERE}.*does not have a separate line for each of them.*\n  Remedy: "):
        toy(tmp_path, chain_in_one_line, key=TOY_CHAIN)
