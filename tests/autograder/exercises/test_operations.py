"""What is done otherwise within an expression gives what its clause says, in numpy and in torch."""

import contextlib
import types

import numpy as np
import pytest
import torch

from autograder.exercises import operations
from autograder.exercises.tracing import Traced
from autograder.exercises.turns import Known

X = np.array([[0.0, -2.0, 3.0], [1.5, 4.0, -0.25]])
Y = np.array([[2.0, 3.0, -1.0], [0.25, -4.0, 8.0]])
SQUARE = np.array([[1.0, 2.0, 0.0], [-3.0, 0.5, 4.0], [2.0, -1.0, 1.0]])


def outcomes(expression, *, kind="code", library=np, **inputs):
    """Return what each variation of ``expression`` gives: pairs of a clause and a result."""
    source = f"def reference({', '.join(inputs)}):\n    result = {expression}\n    return result\n"
    traced, exercise = Traced(source, {"np": library}), types.SimpleNamespace(kind=kind)
    text = f"the result of {', '.join(inputs)}"
    found = []
    for site in traced.sites:
        if site.kind == "operation":
            found += operations.of_operation(site, text, exercise)
        elif site.kind == "call":
            found += [*operations.of_call(site), *operations.of_terms(site, traced.sites)]
        elif site.kind in ("number", "index"):
            found += operations.of_number(site, text, exercise)
        elif site.kind == "use":
            found += operations.of_use(site, traced.sites, text, exercise)
    results = []
    for one in found:
        with np.errstate(all="ignore"), contextlib.suppress(IndexError):  # there is no such axis
            results.append((one.clause, traced.run(inputs, one.changes(Known(inputs, {})))))
    return results


def named(words, expression, **inputs):
    """Return what the variations of ``expression`` give whose clause has ``words`` in it."""
    found = [result for clause, result in outcomes(expression, **inputs) if words in clause]
    assert found, [clause for clause, _ in outcomes(expression, **inputs)]
    return found


def is_one_of(expected, results):
    return any(np.shape(one) == np.shape(expected) and np.allclose(one, expected, atol=1e-12) for one in results)


@pytest.mark.parametrize(
    ("expression", "words", "expected"),
    [
        ("x + y", "the term with y is missing", X),
        ("x + y", "the term with x is missing", Y),
        ("x + y", "the term with y is subtracted, not added", X - Y),
        ("x + y", "the product is taken of x and y, not the sum", X * Y),
        ("x - y", "the term with y is missing", X),
        ("x - y", "the term with x is missing", -Y),
        ("x - y", "the term with y is added, not subtracted", X + Y),
        ("x * y", "x is not multiplied by y", X),
        ("x * y", "y is not multiplied by x", Y),
        ("x * y", "x is added to y", X + Y),
        ("x / y", "x is not divided by y", X),
        ("x / y", "x is multiplied by y", X * Y),
        ("x / y", "leaves no fraction", X // Y),
    ],
)
def test_an_operation_is_replaced_as_the_clause_says(expression, words, expected):
    (result,) = named(words, expression, x=X, y=Y)
    np.testing.assert_allclose(result, expected, atol=1e-12)
    (result,) = named(words, expression, x=torch.from_numpy(X), y=torch.from_numpy(Y))
    np.testing.assert_allclose(result, expected, atol=1e-12)


def test_by_hand_no_division_of_whole_numbers_is_thought_of():
    assert not any("fraction" in clause for clause, _ in outcomes("x / y", kind="number", x=X, y=Y))


def test_a_square_matrix_is_transposed_and_a_vector_has_nothing_to_transpose():
    (result,) = named("y is transposed", "x @ y", x=X, y=SQUARE)
    np.testing.assert_allclose(result, X @ SQUARE.T)
    (result,) = named("y is transposed", "x @ y", x=X, y=SQUARE[0])
    np.testing.assert_allclose(result, X @ SQUARE[0])


def test_by_hand_each_product_is_rounded_or_cut_before_it_is_added():
    x, y = np.array([0.355, 1.119]), np.array([1.0, 1.0])
    results = named("before the products are added", "x @ y", kind="number", x=x, y=y)
    for expected in (0.36 + 1.12, 0.35 + 1.11, 0.355 + 1.119):
        assert is_one_of(expected, results)
    assert not any("products are added" in clause for clause, _ in outcomes("x @ y", x=X, y=SQUARE))


def test_by_hand_a_number_loses_its_sign_is_left_out_counts_twice_or_is_no_zero():
    for words, expected in (("sign", -3.0), ("left out", 0.0), ("counts twice", 6.0), ("zeros", 3.0)):
        assert named(words, "3.0 * x", kind="number", x=1.0) == [expected]
    assert named("zeros", "0.0 * x", kind="number", x=5.0) == [5.0]


def test_an_index_is_off_by_one_either_way():
    assert sorted(named("an index is off by one", "x[1]", x=[7.0, 8.0, 9.0])) == [7.0, 9.0]


CALLS = [
    ("np.tanh(x)", "a tanh is missing", [X]),
    ("np.tanh(x)", "logistic", [1 / (1 + np.exp(-X))]),
    ("np.tanh(x)", "ReLU", [np.maximum(X, 0)]),
    ("np.tanh(x)", "cut off at -1 and 1", [np.clip(X, -1, 1)]),
    ("np.exp(x)", "exponential is missing", [X]),
    ("np.exp(x)", "powers of 2", [2**X]),
    ("np.maximum(x, 0)", "made small", [np.where(X > 0, X, slope * X) for slope in (0.01, 0.1, 0.3)]),
    ("np.maximum(x, 0)", "softplus", [np.log(1 + np.exp(X))]),
    ("np.maximum(x, 0)", "the ReLU is missing", [X]),
    ("np.maximum(x, 0)", "the sign is dropped", [abs(X)]),
    ("np.maximum(x, 0)", "a tanh stands", [np.tanh(X)]),
    ("np.maximum(x, 0)", "a logistic function", [1 / (1 + np.exp(-X))]),
    ("np.maximum(x, 0)", "stops at a bound", [np.clip(X, 0, 1), np.clip(X, 0, 6)]),
]


@pytest.mark.parametrize(("expression", "words", "expected"), CALLS)
def test_a_function_is_replaced_as_the_clause_says(expression, words, expected):
    for value in (X, torch.from_numpy(X)):
        library = np if value is X else types.SimpleNamespace(
            tanh=torch.tanh, exp=torch.exp, maximum=lambda x, low: x.clamp(min=low)
        )  # fmt: skip
        results = named(words, expression, library=library, x=value)
        assert all(is_one_of(one, results) for one in expected)


@pytest.mark.parametrize(
    ("expression", "words", "expected"),
    [
        ("np.log(x)", "a logarithm is missing", abs(Y)),
        ("np.log(x)", "base 2", np.log2(abs(Y))),
        ("np.log(x)", "base 10", np.log10(abs(Y))),
        ("np.sqrt(x)", "a root is missing", abs(Y)),
        ("np.sqrt(x)", "cut off", np.floor(np.sqrt(abs(Y)))),
        ("np.sqrt(x)", "rounded up", np.ceil(np.sqrt(abs(Y)))),
        ("np.sqrt(x)", "rounded to", np.round(np.sqrt(abs(Y)))),
        ("np.concatenate([x, x * 2])", "the other order", np.concatenate([2 * abs(Y), abs(Y)])),
    ],
)
def test_a_function_of_positive_numbers_is_replaced_as_the_clause_says(expression, words, expected):
    assert is_one_of(expected, named(words, expression, x=abs(Y)))


@pytest.mark.parametrize("make", [np.array, torch.tensor])
def test_a_sum_is_a_mean_or_the_largest_and_a_mean_is_a_sum(make):
    x = make(X.tolist())
    assert is_one_of(X.mean(axis=1), named("a mean stands", "x.sum(axis=1)", x=x))
    assert is_one_of(X.sum(axis=1), named("a sum stands", "x.mean(axis=1)", x=x))
    assert is_one_of(X.argmin(axis=1), named("place of the smallest", "x.argmax(axis=1)", x=x))
    library = np if make is np.array else torch
    assert is_one_of(X.mean(axis=1), named("a mean stands", "np.sum(x, axis=1)", library=library, x=x))


def test_the_largest_may_be_taken_in_place_of_a_sum():
    assert is_one_of(X.max(axis=1), named("the largest is taken", "x.sum(axis=1)", x=X))


@pytest.mark.parametrize("word", ["axis", "dim"])
def test_a_sum_is_taken_along_another_axis_however_the_axis_is_named(word):
    three = np.arange(24.0).reshape(2, 3, 4)
    results = named("the sum is taken along another axis", f"x.sum({word}=-1)", x=torch.from_numpy(three))
    for axis in range(3):
        assert is_one_of(three.sum(axis=axis), results)


def test_a_function_is_taken_of_each_term_and_not_of_their_sum():
    (result,) = named("two terms by themselves", "np.tanh(x + y)", x=X, y=Y)
    np.testing.assert_allclose(result, np.tanh(X) + np.tanh(Y))
    for expression in ("np.tanh(x * y)", "np.maximum(x + y, 0)", "np.tanh(x) + y"):
        assert not any("by themselves" in clause for clause, _ in outcomes(expression, x=X, y=Y))


def test_one_of_several_uses_of_a_variable_is_changed_and_the_others_are_not():
    results = named("x, on the way to result,", "x * y + x", x=X, y=Y)
    for expected in (-X * Y + X, X * Y - X, 2 * X * Y + X, X * Y + X / 2):
        assert is_one_of(expected, results)
    assert not any("on the way to" in clause for clause, _ in outcomes("x * y", x=X, y=Y))
