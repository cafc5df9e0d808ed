"""Each mutant differs from the reference in one place."""

import numpy as np
import pytest

from autograder.audit.mutants import mutants
from autograder.exercises import compare, reference_of
from tests.autograder.samples import NAMES, exercise_named

pytestmark = pytest.mark.suite("audit")


def mix(x, y, axis=-1):
    """Mix two arrays: the numbers 1 and 2 in this docstring are no code."""
    total = np.exp(x[:, 1:]) @ y.T - 2.5
    hidden = np.where(x.sum(axis=1, keepdims=True) > 0, total, 0.0)
    return hidden.max(axis=-1)


def hold(x, y):
    return x


def test_each_kind_of_mutant_is_made():
    wanted = {
        *("Sub becomes Add", "right operand dropped", "left term doubled", "operands exchanged", "statement dropped"),
        *("1 becomes 0", "2.5 becomes -2.5", "True becomes False", "Gt becomes GtE", "USub dropped", "a small factor"),
        *(
            "axis left out",
            "transpose dropped",
            "left operand transposed",
            "y in place of x",
            "only the first row of x",
        ),
        *("lower bound off by one (Add)", "the mask forgotten", "max becomes min", "sum becomes mean", "exp forgotten"),
    }
    assert wanted - {mutant.what for mutant in mutants(mix, "code")} == set()


def test_a_mutant_names_its_line_and_is_another_function():
    all_mutants = mutants(mix, "code")
    first = mix.__code__.co_firstlineno
    assert {mutant.line - first for mutant in all_mutants} == {0, 2, 3, 4}
    assert all(mutant.source in ("def mix(x, y, axis=-1):", *LINES) for mutant in all_mutants)
    dropped = next(m for m in all_mutants if m.what == "exp forgotten")
    x, y = np.array([[1.0, 2.0, 3.0]]), np.array([[0.5, 0.25]])
    assert mix(x, y) == pytest.approx(np.exp(2) / 2 + np.exp(3) / 4 - 2.5)
    assert dropped.function(x, y) == pytest.approx(2 / 2 + 3 / 4 - 2.5)


LINES = (
    "total = np.exp(x[:, 1:]) @ y.T - 2.5",
    "hidden = np.where(x.sum(axis=1, keepdims=True) > 0, total, 0.0)",
    "return hidden.max(axis=-1)",
)


def test_an_in_place_mutant_returns_what_it_should_and_spoils_an_argument():
    in_place_mutants = [mutant for mutant in mutants(hold, "code") if mutant.in_place]
    assert {mutant.what for mutant in in_place_mutants} == {"x is overwritten", "y is overwritten"}
    x, y = np.ones(3), np.ones(3)
    for mutant in in_place_mutants:
        value, changed = compare.call_case(mutant.function, {"x": x, "y": y})
        assert changed == [mutant.what[0]]
        assert value.tolist() == ([0, 0, 0] if changed == ["x"] else [1, 1, 1])


def test_shapes_lose_an_axis_gain_one_and_take_another_letter():
    def shape(m, n):
        return {"W": (n, 2 * m)}

    changed_shapes = {
        mutant.what: mutant.function(3, 5)["W"] for mutant in mutants(shape, "shape") if "left" not in mutant.what
    }
    assert changed_shapes["entries 1 and 2 exchanged"] == (6, 5)
    assert changed_shapes["an axis of 1 at the end"] == (5, 6, 1)
    assert changed_shapes["entry 2 dropped"] == (5,)
    assert changed_shapes["m in place of n"] == (3, 6)
    assert changed_shapes["n doubled"] == (10, 6)


@pytest.mark.parametrize("name", NAMES)
def test_no_two_mutants_of_a_reference_are_the_same_and_none_is_the_reference(name):
    exercise = exercise_named(name)
    all_mutants = mutants(reference_of(exercise), exercise.kind)
    codes = [
        (m.function.__code__.co_code, m.function.__code__.co_consts, m.function.__code__.co_names) for m in all_mutants
    ]
    assert len(all_mutants) >= 10
    assert len({str(code) for code in codes}) > 0.7 * len(all_mutants)  # closures print with their address
