"""Right shapes always fit together in their equation; for wrong ones, the message names the product or sum."""

import ast
import contextlib
import inspect
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from autograder import exercises
from autograder.exercises import compose, reference_of
from autograder.exercises.compare import NotYet
from autograder.exercises.compose import Misfit, shape_of
from autograder.notebooks import cells as the_cells
from tests.autograder.samples import ENTRIES, NAMES, exercise_named

pytestmark = pytest.mark.slow  # collecting these tests loads exercises

WITH_EQUATIONS = [name for name in NAMES if ENTRIES[name].equations]
each_exercise = pytest.mark.parametrize("name", WITH_EQUATIONS)
SIZES = st.integers(2, 9)


@st.composite
def equations(draw):
    """Draw an equation (sums of matrix products, some inside a tanh), its shapes, and the shape of the result."""
    shapes, size = {}, draw(SIZES)

    def vector(length, depth):
        if depth and draw(st.booleans()):
            return f"tanh({total(length, depth - 1)})"
        name = f"x_{len(shapes)}"
        shapes[name] = (length,)
        return name

    def product(rows, depth):
        columns = draw(SIZES)
        name = f"W_{len(shapes)}"
        if draw(st.booleans()):
            shapes[name] = (rows, columns)
            return f"{name} @ {vector(columns, depth)}"
        shapes[name] = (columns, rows)
        return f"{name}.T @ {vector(columns, depth)}"

    def total(length, depth):
        terms = [product(length, depth) for _ in range(draw(st.integers(1, 3)))]
        return " + ".join([*terms, *([vector(length, 0)] if draw(st.booleans()) else [])])

    return total(size, 2), shapes, (size,)


@given(equations())
def test_right_shapes_fit_together_and_give_the_shape_that_numpy_gives(drawn):
    equation, shapes, whole = drawn
    assert shape_of(equation, shapes) == whole
    arrays = {name: np.zeros(shape) for name, shape in shapes.items()}
    assert eval(equation, {"tanh": np.tanh}, arrays).shape == whole
    assert shape_of(f"y = {equation}", {**shapes, "y": whole}) == whole


@given(st.data(), equations())
def test_a_transposed_matrix_that_is_not_square_is_told_with_its_product(data, drawn):
    equation, shapes, _ = drawn
    oblong = [name for name, shape in shapes.items() if len(shape) == 2 and shape[0] != shape[1]]
    assume(oblong)
    name = data.draw(st.sampled_from(oblong))
    with pytest.raises(Misfit) as caught:
        shape_of(equation, {**shapes, name: shapes[name][::-1]})
    assert str(caught.value).startswith((f"In {name} @ ", f"In {name}.T @ "))


@given(st.data(), equations())
def test_a_size_of_any_fits_wherever_the_right_one_does(data, drawn):
    equation, shapes, whole = drawn
    free = {n: tuple(None if data.draw(st.booleans()) else size for size in shape) for n, shape in shapes.items()}
    result_shape = shape_of(equation, free)
    assert len(result_shape) == 1
    assert result_shape[0] in (None, *whole)


def misfit_in(equation, shapes):
    """Return what does not fit in ``equation``, or "" if everything fits."""
    try:
        shape_of(equation, shapes)
    except Misfit as misfit:
        return str(misfit)
    return ""


@given(st.data(), equations())
def test_whatever_shapes_stand_in_an_equation_they_fit_or_the_sentence_names_one_of_them(data, drawn):
    equation, shapes, _ = drawn
    other = {n: tuple(data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))) for n in shapes}
    message = misfit_in(equation, other)
    assert not message or (message.endswith(".") and any(name in message for name in shapes))


GIVEN = {"x": (5,), "h": (3,), "E": (2, 5), "W": (3, 2), "U": (3, 3), "keys": (2, 7, 3), "row": (2, 1, 7), "v": (3,)}


@pytest.mark.parametrize(
    ("equation", "change", "sentence"),
    [
        ("W @ (E @ x) + U @ h", {"W": (3, 7)}, "In W @ (E @ x), W has 7 columns and E @ x has 2 numbers."),
        ("W @ (E @ x) + U @ h", {"E": (5, 2)}, "In E @ x, E has 2 columns and x has 5 numbers."),
        ("W @ (E @ x) + U @ h", {"W": (4, 2)},
         "In W @ (E @ x) + U @ h, W @ (E @ x) has 4 numbers and U @ h has 3 numbers."),
        ("U @ h + v", {"U": (3,)}, "In U @ h + v, U @ h has no axes: it is a single number and v has 3 numbers."),
        ("v @ tanh(U @ h)", {"v": (3, 1)}, "In v @ tanh(U @ h), v has 1 column and tanh(U @ h) has 3 numbers."),
        ("v @ (U @ h)", {"U": (3,)}, "In v @ (U @ h), U @ h is a single number: it has no axis to multiply along."),
        ("h = U @ h", {"U": (4, 3)}, "U @ h has 4 numbers, but h has 3 numbers."),
        ("U @ h + v", {"v": (3, 1)}, "In U @ h + v, U @ h has 3 numbers and v has the shape (3, 1)."),
        ("keys @ U.T", {"U": (3,)}, "U has 3 numbers: only a matrix has rows and columns to swap."),
        ("row @ keys", {"row": (3, 1, 7)},
         "In row @ keys, row has the shape (3, 1, 7) and keys has the shape (2, 7, 3)."),
    ],
)  # fmt: skip
def test_the_sentence_says_which_product_or_sum_does_not_fit_and_why(equation, change, sentence):
    assert misfit_in(equation, GIVEN) == ""
    assert sentence in misfit_in(equation, {**GIVEN, **change})


@pytest.mark.parametrize(
    ("left", "right", "whole"),
    [
        ((2, 1, 5), (2, 7, 5), (2, 7, 5)),
        ((5,), (7, 5), (7, 5)),
        ((2, 1), (2, 3), (2, 3)),
        ((2, 1, 3), (2, 5, 3), (2, 5, 3)),
    ],
)
def test_entry_by_entry_an_axis_of_length_1_is_stretched_as_numpy_does(left, right, whole):
    assert shape_of("x + y", {"x": left, "y": right}) == whole
    assert shape_of("y * x", {"x": left, "y": right}) == whole


@pytest.mark.parametrize(("left", "right"), [((3, 1), (3,)), ((1, 3), (3, 1)), ((3,), ()), ((2,), (2, 3))])
def test_entry_by_entry_no_two_shapes_grow_into_a_third(left, right):
    with pytest.raises(Misfit):
        shape_of("x + y", {"x": left, "y": right})


def shown(exercise):
    inputs = the_cells._form_case(exercise)["inputs"]
    return exercise.entry.equations, inputs, exercises.compute_given_shapes(exercise, inputs)


@each_exercise
def test_of_right_shapes_compose_has_nothing_to_say(name, capsys):
    exercise = exercise_named(name)
    compose.compose(reference_of(exercise), *shown(exercise))
    assert capsys.readouterr().out == ""


def multiplied_matrices():
    """Yield the non-square parameters that are left operands of a product in an equation."""
    for name in WITH_EQUATIONS:
        exercise = exercise_named(name)
        for entry, shape in exercise.hidden[0].expected.items():
            stands_left = any(f"{entry} @" in equation for equation in exercise.entry.equations)
            if len(shape) == 2 and shape[0] != shape[1] and stands_left:
                yield name, entry


@pytest.mark.parametrize(("name", "entry"), list(multiplied_matrices()))
def test_a_transposed_parameter_of_an_exercise_is_told_before_handing_in(name, entry):
    exercise = exercise_named(name)

    def transposed(*sizes):
        value = reference_of(exercise)(*sizes)
        return {**value, entry: value[entry][::-1]}

    with pytest.raises(NotYet, match=entry) as caught:
        compose.compose(transposed, *shown(exercise))
    assert "do not fit together" in str(caught.value)


@pytest.mark.parametrize("name", [name for name in NAMES if ENTRIES[name].kind == "shape"])
def test_every_entry_that_is_asked_for_stands_in_an_equation(name):
    exercise = exercise_named(name)
    nodes = (node for equation in exercise.entry.equations for node in ast.walk(ast.parse(equation)))
    used = {node.id for node in nodes if isinstance(node, ast.Name)}
    assert set(exercise.hidden[0].expected) <= used


def test_the_sizes_of_a_check_are_alike_nowhere_by_chance():
    sizes = the_cells.TRIAL_SIZES
    possible_sizes = [1, 2, *sizes, *(2 * size for size in sizes), *(a * b for a, b in combinations(sizes, 2))]
    possible_sizes += [sum(some) for count in (2, 3) for some in combinations(sizes, count)]
    assert len(possible_sizes) == len(set(possible_sizes))
    for exercise in (exercise_named(name) for name in NAMES if ENTRIES[name].kind == "shape"):
        tried = the_cells._form_case(exercise)["inputs"]
        assert tuple(tried.values()) == sizes[: len(tried)]


@pytest.mark.parametrize(
    ("name", "entry", "shape", "sentence"),
    [
        ("output_layer-every_step_shapes", "flat_logits", (3, 57),
         "flat(flat_logits) has 171 numbers, but flat(logits)"),
        ("encoder-rnn_outputs", "outputs", (18, 3, 20),
         "In all_weights @ outputs, all_weights has 18 columns and outputs"),
        ("encoder-rnn_outputs", "last", (3, 18, 20), "In last @ W_h.T, last has 20 columns and W_h.T has 10 rows"),
        ("context-batch_shapes", "column", (3, 10),
         "In column * annotations, column has the shape (3, 10) and annotations"),
        ("encoder-second_layer_shapes", "annotation", (4,),
         "In input_matrix @ annotation, input_matrix has 8 columns and"),
    ],
)  # fmt: skip
def test_a_wrong_entry_that_no_product_met_before_is_told(name, entry, shape, sentence):
    exercise = exercise_named(name)
    with pytest.raises(NotYet) as caught:
        compose.compose(lambda *sizes: {**reference_of(exercise)(*sizes), entry: shape}, *shown(exercise))
    assert sentence in str(caught.value)


def test_flat_counts_all_numbers_and_two_sides_must_have_as_many():
    shapes = {"x": (2, 3, 5), "y": (6, 5), "z": (None, 4)}
    assert shape_of("flat(x)", shapes) == (30,)
    assert shape_of("flat(x) == flat(y)", shapes) == (30,)
    assert shape_of("flat(z) == flat(y)", shapes) == (None,)
    message = misfit_in("flat(x) == flat(y)", {**shapes, "y": (6, 7)})
    assert message == "flat(x) has 30 numbers, but flat(y) has 42 numbers."


@each_exercise
def test_the_check_cell_knows_no_right_shape(name):
    exercise = exercise_named(name)
    assert not set(exercise.entry.given) & set(exercise.hidden[0].expected)
    topic = name.split("-")[0]
    for other in (exercise_named(n) for n in NAMES if n.startswith(f"{topic}-")):
        if other.kind == "shape":
            inputs = {**exercise.hidden[0].inputs, **other.hidden[0].inputs}
            if set(exercise.hidden[0].inputs) <= set(other.hidden[0].inputs):
                stated = exercises.compute_given_shapes(exercise, inputs)
                assert not [n for n, shape in stated.items() if other.hidden[0].expected.get(n) == shape]


def test_the_text_needs_nothing_but_what_the_notebook_has_above_it():
    text = inspect.getsource(compose).replace("from autograder.exercises.compare import NotYet\n", "")
    namespace = {"NotYet": NotYet}
    exec(text, namespace)
    assert namespace["shape_of"]("W @ x", {"W": (2, 3), "x": (3,)}) == (2,)


@each_exercise
def test_the_equations_of_a_check_leave_each_shape_more_than_one_size_that_fits(name):
    """Otherwise the check, which must not know the answer, would accept only the right one."""
    exercise = exercise_named(name)
    inputs = dict(zip(exercise.cases[0].inputs, (2, 3, 5, 7, 11, 13, 17), strict=False))
    right = reference_of(exercise)(*inputs.values())
    sizes = {size for shape in right.values() for size in shape}
    free = set()
    for size, other in product(sizes, sizes | {19}):
        places = [
            (entry, axis) for entry, shape in right.items() for axis, axis_size in enumerate(shape) if axis_size == size
        ]
        for count in range(1, len(places) + 1) if other not in (size, 1) else ():
            for chosen in combinations(places, count):
                answer = {entry: list(shape) for entry, shape in right.items()}
                for entry, axis in chosen:
                    answer[entry][axis] = other
                if fits(exercise, inputs, answer):
                    free |= {entry for entry, _ in chosen}
    assert free == set(right)


def fits(exercise, inputs, answer):
    known = {
        **exercises.compute_given_shapes(exercise, inputs),
        **{entry: tuple(shape) for entry, shape in answer.items()},
    }
    with contextlib.suppress(Misfit):
        return all(shape_of(equation, known) is not None for equation in exercise.entry.equations)
    return False
