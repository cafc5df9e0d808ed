"""Mutants are wrong in one place each, equivalents are as right as the reference, and inputs are as the cases allow."""

import numpy as np
import pytest

from autograder import exercises
from autograder.audit import inputs, mutants
from autograder.exercises import compare
from tests.autograder.samples import NAMES, exercise_named, reference_of

CODE = [name for name in NAMES if exercise_named(name).kind == "code"]
each_code_exercise = pytest.mark.parametrize("name", CODE)


def mix(x, y, axis=-1):
    """Mix two arrays: the numbers 1 and 2 in this docstring are no code."""
    total = np.exp(x[:, 1:]) @ y.T - 2.5
    hidden = np.where(x.sum(axis=1, keepdims=True) > 0, total, 0.0)
    return hidden.max(axis=-1)


def hold(x, y):
    return x


WANTED = {
    "operators": "Sub becomes Add",
    "a dropped term": "right operand dropped",
    "a doubled term": "left term doubled",
    "an axis": "1 becomes 0",
    "keepdims": "True becomes False",
    "an axis left out": "axis left out",
    "a transpose dropped": "transpose dropped",
    "a transpose too many": "left operand transposed",
    "operands of a product": "operands exchanged",
    "arguments": "y in place of x",
    "a constant": "2.5 becomes -2.5",
    "off by one": "lower bound off by one (Add)",
    "a comparison": "Gt becomes GtE",
    "a missing mask": "the mask forgotten",
    "a missing negation": "USub dropped",
    "max to min": "max becomes min",
    "sum to mean": "sum becomes mean",
    "exp to identity": "exp forgotten",
    "a small factor": "a small factor",
    "a statement dropped": "statement dropped",
    "only the first sentence": "only the first row of x",
}


@pytest.mark.parametrize("what", WANTED.values(), ids=WANTED)
def test_each_kind_of_mutant_is_made(what):
    assert what in {mutant.what for mutant in mutants.mutants(mix, "code")}


def test_a_mutant_names_its_line_and_is_another_function():
    made = mutants.mutants(mix, "code")
    first = mix.__code__.co_firstlineno
    assert {mutant.line - first for mutant in made} == {0, 2, 3, 4}
    assert all(mutant.source in ("def mix(x, y, axis=-1):", *LINES) for mutant in made)
    dropped = next(m for m in made if m.what == "exp forgotten")
    x, y = np.array([[1.0, 2.0, 3.0]]), np.array([[0.5, 0.25]])
    assert mix(x, y) == pytest.approx(np.exp(2) / 2 + np.exp(3) / 4 - 2.5)
    assert dropped.function(x, y) == pytest.approx(2 / 2 + 3 / 4 - 2.5)


LINES = (
    "total = np.exp(x[:, 1:]) @ y.T - 2.5",
    "hidden = np.where(x.sum(axis=1, keepdims=True) > 0, total, 0.0)",
    "return hidden.max(axis=-1)",
)


def test_an_in_place_mutant_returns_what_it_should_and_spoils_an_argument():
    made = [mutant for mutant in mutants.mutants(hold, "code") if mutant.in_place]
    assert {mutant.what for mutant in made} == {"x is overwritten", "y is overwritten"}
    x, y = np.ones(3), np.ones(3)
    for mutant in made:
        value, changed = compare.call_case(mutant.function, {"x": x, "y": y})
        assert changed == [mutant.what[0]]
        assert value.tolist() == ([0, 0, 0] if changed == ["x"] else [1, 1, 1])


def test_shapes_lose_an_axis_gain_one_and_take_another_letter():
    def shape(m, n):
        return {"W": (n, 2 * m)}

    found = {
        mutant.what: mutant.function(3, 5)["W"]
        for mutant in mutants.mutants(shape, "shape")
        if "left" not in mutant.what
    }
    assert found["entries 1 and 2 exchanged"] == (6, 5)
    assert found["an axis of 1 at the end"] == (5, 6, 1)
    assert found["entry 2 dropped"] == (5,)
    assert found["m in place of n"] == (3, 6)
    assert found["n doubled"] == (10, 6)


def test_every_wrong_set_of_numbers_is_further_off_than_the_tolerance_or_says_where_not():
    right = {"scores": np.array([0.5, -1.25, 3.0]), "loss": np.array(0.75)}
    wrong = dict(mutants.wrong_values(right, 1e-3))
    assert "scores: number 2 off by -1.5 tolerances" in wrong
    assert "scores: numbers 1 and 2 exchanged" in wrong
    assert "loss left out" in wrong
    for value in wrong.values():
        assert any(compare.reasons(value, right, "number", 1e-3).values())


@pytest.mark.parametrize("name", NAMES)
def test_no_two_mutants_of_a_reference_are_the_same_and_none_is_the_reference(name):
    exercise = exercise_named(name)
    made = mutants.mutants(reference_of(exercise), exercise.kind)
    codes = [(m.function.__code__.co_code, m.function.__code__.co_consts, m.function.__code__.co_names) for m in made]
    assert len(made) >= 10
    assert len({str(code) for code in codes}) > 0.7 * len(made)  # closures print with their address


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
    if any(not isinstance(wanted, dict) for wanted in drawn):
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


@pytest.mark.parametrize("name", NAMES)
def test_equivalents_return_what_the_reference_returns(name):
    exercise = exercise_named(name)
    made = mutants.equivalents(reference_of(exercise), exercise)
    assert len({one.what for one in made}) == len(made) >= 4
    turn = exercises.convert(exercise)
    for case in exercise.hidden[:1]:
        for one in made:
            value, _ = compare.call_case(
                one.function, {n: turn(item) for n, item in case.inputs.items()}, case.gradients
            )
            assert not any(compare.reasons(value, case.expected, exercise.kind, case.atol).values()), one.what


def test_sums_in_the_reverse_order_are_other_sums():
    from solutions.in_numpy.scoring import additive_score

    (reverse,) = [
        one.function
        for one in mutants.equivalents(additive_score, exercise_named("scoring-additive_score"))
        if one.what == "sums in the reverse order"
    ]
    rng = np.random.default_rng(0)
    given = [rng.normal(size=shape) for shape in ((20, 30), (20, 40, 50), (60, 30), (60, 50), (60,))]
    assert np.allclose(reverse(*given), additive_score(*given))
    assert (reverse(*given) != additive_score(*given)).any()
