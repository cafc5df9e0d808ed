"""A check says in words what is wrong with an answer, and never what is right."""

import numpy as np
import pytest

from autograder.exercises import checking, compare
from autograder.exercises.compare import NotYet


def double(x):
    return 2 * x


SHOWN = {"name": "worked example", "inputs": {"x": [1.0, 2.0]}, "expected": [2.0, 4.0], "atol": 1e-6}
WITH_HINT = {**SHOWN, "wrong": [("You squared.", [1.0, 4.0]), ("You halved.", [0.5, 1.0])]}


def squared(x):
    return x**2


def unanswered(x):
    raise NotImplementedError


def double_in_place(x):
    x *= 2
    return x


def test_a_right_answer_to_the_shown_cases_is_told_so(capsys):
    checking.check_cases(double, "code", [SHOWN])
    assert capsys.readouterr().out == "double: the shown case is right. Hidden cases give the points.\n"


@pytest.mark.parametrize(
    ("function", "sentence"),
    [
        (squared, r"squared, worked example: 1 of 2 values are wrong.*\nHint: You squared\.$"),
        (unanswered, "unanswered: not answered yet"),
        (print, "print, worked example: it returned nothing"),
    ],
)
def test_a_wrong_answer_to_a_shown_case_is_told_what_is_wrong(function, sentence):
    with pytest.raises(NotYet, match=sentence):
        checking.check_cases(function, "code", [WITH_HINT])


def test_a_right_answer_that_changed_its_input_is_told_so_and_passes(capsys):
    checking.check_cases(double_in_place, "code", [SHOWN])
    said = capsys.readouterr().out
    assert "right, and no points are lost, but it changed its input x" in said
    assert "the shown case is right" in said
    hidden = [{**SHOWN, "part": "values"}]
    assert compare.score(double_in_place, "code", hidden, {"values": 1}) == 1


def test_a_wrong_value_that_no_mistake_gives_gets_no_hint():
    with pytest.raises(NotYet) as caught:
        checking.check_cases(lambda x: x + 5, "code", [WITH_HINT])
    assert "Hint" not in str(caught.value)


def test_an_exception_of_the_student_is_left_as_it_is():
    with pytest.raises(ZeroDivisionError):
        checking.check_cases(lambda x: 1 / 0, "code", [SHOWN])


def test_the_check_of_a_shape_prints_it_for_small_sizes(capsys):
    checking.check_cases(lambda m, n: {"W": (n, m)}, "shape", [{"inputs": {"m": 2, "n": 3}, "form": {"W": None}}])
    assert "With m=2, n=3: W (3, 2)\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("kind", "value", "form", "sentence"),
    [
        ("shape", (2, 3), {"W": None}, "return a dict with the keys W"),
        ("shape", {"v": (2,)}, {"W": None}, "W: this key is missing"),
        ("shape", {"W": 2}, {"W": None}, "W: a shape is a tuple"),
        ("shape", 2, None, "a shape is a tuple"),
        ("number", [1.0], (2,), "return 2 numbers, and nothing else"),
        ("number", [1.0], (), "return one number, and nothing else"),
        ("number", [1.0, np.nan], (2,), "the numbers must be finite"),
        ("number", None, (2,), "it returned nothing"),
        ("number", {"a": 1.0}, (2,), "return 2 numbers"),
        ("number", 1.0, {"a": ()}, "return a dict with the keys a"),
        ("number", {"a": "one"}, {"a": ()}, "a: it returned str, not numbers"),
    ],
)
def test_a_shape_or_number_of_the_wrong_form_is_told_so(kind, value, form, sentence):
    with pytest.raises(NotYet, match=sentence):
        checking.check_cases(lambda: value, kind, [{"form": form}])


@pytest.mark.parametrize(
    ("value", "form"), [([1.0, 2.0], (2,)), (3, ()), ({"a": 1.0, "b": [2.0]}, {"a": (), "b": (1,)})]
)
def test_numbers_of_the_right_form_are_told_so_whatever_they_are(capsys, value, form):
    checking.check_cases(lambda: value, "number", [{"form": form}])
    assert "the form is right" in capsys.readouterr().out


def double_printed(x):
    print(2 * x)


def triple_in_place(x):
    x *= 3
    return x


def wandering(x, calls=iter(range(9))):  # noqa: B008
    return x + next(calls)


def silent(x):
    return None


@pytest.mark.parametrize(
    ("function", "advice"),
    [
        (double_printed, compare.PRINTED),
        (triple_in_place, compare.CHANGED.format("x")),
        (wandering, compare.UNSTEADY),
    ],
)
def test_where_no_mistake_is_recognised_the_check_names_what_it_noticed_about_the_call(function, advice, capsys):
    with pytest.raises(NotYet) as caught:
        checking.check_cases(function, "code", [SHOWN])
    assert str(caught.value).endswith(f"\nHint: {compare.full_sentence(advice)}")
    assert capsys.readouterr().out.count("[2. 4.]") == (function is double_printed)  # heard, not printed twice


@pytest.mark.parametrize("function", [silent, lambda x: x + 5])
def test_where_nothing_is_odd_about_the_call_the_check_says_no_more(function):
    with pytest.raises(NotYet) as caught:
        checking.check_cases(function, "code", [SHOWN])
    assert "Hint" not in str(caught.value)


def test_two_mistakes_that_give_the_same_value_are_both_named():
    both = {**SHOWN, "wrong": [("You squared.", [1.0, 4.0]), ("You multiplied by x.", [1.0, 4.0])]}
    with pytest.raises(NotYet, match=r"Hint: You squared\. Or: You multiplied by x\.$"):
        checking.check_cases(squared, "code", [both])
