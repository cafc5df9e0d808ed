"""A step of a chain is cut from the reference, and equations and chains that cannot be graded with are refused."""

import dataclasses

import numpy as np
import pytest

from autograder import exercises
from solutions.answer_key import AnswerKeyError
from tests.autograder.exercises.toys import TOY_SHAPES, WHERE, shapes, toy


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
    assert "{" not in step.source  # nor is the dict of all steps, whose others are answers too
    assert exercises.compile_steps(exercise.follows)["second"][1](np.array([7.0, 8.0])).tolist() == [8.0, 9.0]
    other = dataclasses.replace(exercise, follows={})
    assert exercises.digest([other]) != exercises.digest([exercise])


REFUSED_KEYS = {
    "a step that the reference does not assign": (
        chain_in_one_line,
        TOY_CHAIN,
        "does not have a separate line for each of them",
    ),
    "an equation that the right shapes do not fit": (
        shapes,
        f'{TOY_SHAPES}equations = ["W @ v"]\n',
        "the right shapes do not fit in 'W @ v': In W @ v, W has .* columns and v has .* numbers",
    ),
    "an equation with a name that nobody knows": (
        shapes,
        f'{TOY_SHAPES}equations = ["W @ x"]\n',
        "do not fit in 'W @ x'",
    ),
    "an equation that cannot be read": (shapes, f'{TOY_SHAPES}equations = ["W @"]\n', "do not fit in 'W @'"),
    "an answer among what is given": (
        shapes,
        f'{TOY_SHAPES}equations = ["W @ x"]\ngiven = {{ x = ["m"], v = ["n"] }}\n',
        "`given` states an answer",
    ),
}


@pytest.mark.parametrize(("reference", "key", "what"), REFUSED_KEYS.values(), ids=REFUSED_KEYS)
def test_equations_and_chains_that_cannot_be_graded_with_are_refused(tmp_path, reference, key, what):
    with pytest.raises(AnswerKeyError, match=f"{WHERE}.*{what}.*\n  Remedy: "):
        toy(tmp_path, reference, key=key)


def test_a_letter_without_a_role_is_refused(tmp_path):
    def with_q(q, n):
        return {"W": (n, q), "v": (n,)}

    with pytest.raises(AnswerKeyError, match=r"it is not stated what q counts(?s:.)*Remedy: "):
        toy(tmp_path, with_q, key=TOY_SHAPES)
    (exercise,) = toy(tmp_path, with_q, key=f'{TOY_SHAPES}letters = {{ q = "the size of a toy" }}\n')
    assert exercise.letters["q"] == "the size of a toy"
