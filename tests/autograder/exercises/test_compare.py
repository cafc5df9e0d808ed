"""Comparison explains why a value is wrong without giving the answer away."""

import itertools

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from autograder.exercises import compare
from autograder.exercises.compare import (
    call_case,
    explain_mismatch,
    explain_shape_mismatch,
    mismatches,
    plain_value,
    read_value,
    total_points,
)
from autograder.grading import judge
from autograder.sandbox import Reply
from tests.autograder.samples import (
    NO_NUMBERS,
    RIGHT,
    SAME_DICTS,
    SAME_NUMBERS,
    SAME_SHAPES,
    exercise_named,
    over_the_wire,
)


@pytest.mark.parametrize("value", SAME_NUMBERS.values(), ids=SAME_NUMBERS)
def test_numbers_are_right_whatever_class_they_have(value):
    assert mismatches(value, RIGHT, "code", 1e-9) == {"": ""}
    assert compare.score(lambda: value, "code", [{"part": "", "expected": RIGHT, "atol": 1e-9}], {"": 1}) == 1


@pytest.mark.parametrize("value", SAME_SHAPES.values(), ids=SAME_SHAPES)
def test_a_shape_is_right_whatever_sequence_it_is(value):
    assert mismatches(value, (2, 3), "shape", 0) == {"": ""}
    assert "it looks transposed" in explain_shape_mismatch(value, (3, 2))


@pytest.mark.parametrize("value", SAME_DICTS.values(), ids=SAME_DICTS)
def test_a_dict_is_right_whatever_mapping_it_is(value):
    assert mismatches(value, {"a": (2,), "b": (3,)}, "shape", 0) == {"a": "", "b": ""}
    case = {"part": "", "expected": {"a": (2,), "b": (3,)}, "atol": 0}
    assert compare.score(lambda: value, "shape", [case], {"a": 1, "b": 1}) == 2


@pytest.mark.parametrize("value", NO_NUMBERS.values(), ids=NO_NUMBERS)
def test_what_has_a_masked_entry_or_is_no_sequence_of_numbers_is_refused_with_a_sentence(value):
    assert mismatches(value, RIGHT, "code", 1e-9)[""].startswith("it")


def test_a_matrix_of_the_wrong_shape_is_wrong_however_it_came_to_it():
    assert "2 axes instead of 1" in explain_mismatch(np.array([[1.0, 2.0]]).view(np.matrix), np.array([1.0, 2.0]), 1e-9)


LIST_IN_ITSELF, DICT_IN_ITSELF = [1.0], {}
LIST_IN_ITSELF.append(LIST_IN_ITSELF)
DICT_IN_ITSELF["a"] = DICT_IN_ITSELF
TOO_LARGE = "it returned int beyond 64 bits, not numbers"
IN_ITSELF = "it returned {} that contains itself, not numbers"
ONE_SENTENCE = {
    "int": (2**63, TOO_LARGE),
    "negative int": (-(2**70), TOO_LARGE),
    "int in a list": ([1, 2**70], TOO_LARGE),
    "int in an array": (np.array([1, 2**70]), "it returned array of object, not numbers"),
    "rows of an array": (np.array([[1, 2], [2**70]], dtype=object), "it returned array of object, not numbers"),
    "list in itself": (LIST_IN_ITSELF, IN_ITSELF.format("list")),
    "list in itself, twice": ([[LIST_IN_ITSELF] * 2] * 2, IN_ITSELF.format("list")),
    "list in itself, many times": ([LIST_IN_ITSELF] * 2, IN_ITSELF.format("list")),
    "dict in itself": (DICT_IN_ITSELF, IN_ITSELF.format("dict")),
    "nested deeply": ([[[[[[[[[[1.0]]]]]]]]]], "it returned deeply nested data, not numbers"),
}


@pytest.mark.parametrize(("value", "sentence"), ONE_SENTENCE.values(), ids=ONE_SENTENCE)
def test_what_cannot_be_compared_gets_one_sentence_in_notebook_and_grader(value, sentence):
    exercise = exercise_named("scoring-dot_product_score")
    case = exercise.hidden[0]
    reasons = mismatches(call_case(lambda: value, {})[0], case.expected, "code", 1e-9)
    assert reasons == {"": sentence}
    assert judge.reasons_of(exercise, case, Reply(value=over_the_wire(plain_value(value)))) == reasons


@pytest.mark.parametrize(("more", "is_read"), [(0, True), (1, False)])
def test_lists_may_be_nested_as_deeply_as_is_said(more, is_read):
    value = 1.0
    for _ in range(compare.MAX_NESTING + more):
        value = [value]
    assert (explain_mismatch(value, np.ones((1,) * (compare.MAX_NESTING + more)), 1e-9) == "") == is_read


@pytest.mark.parametrize(
    "value", [(2**70, 3), (LIST_IN_ITSELF, 3), LIST_IN_ITSELF, 2**70, np.array([3, 2**70])], ids=str
)
def test_what_cannot_be_a_shape_gets_one_sentence_in_notebook_and_grader(value):
    reasons = mismatches(plain_value(value), (2, 3), "shape", 0)
    assert reasons[""].startswith("a shape ")
    assert mismatches(over_the_wire(plain_value(value)), (2, 3), "shape", 0) == reasons


SHAPES = hnp.array_shapes(min_dims=0, max_dims=4, min_side=1, max_side=4)
FINITE = hnp.arrays(float, SHAPES, elements=st.floats(-1e6, 1e6))
DIRECTIONS = st.sampled_from([-1.0, 1.0])


@pytest.mark.parametrize(
    "value",
    [
        [[1, 2], [3, 4]],
        ((1, 2), (3, 4)),
        [np.array([1, 2]), (3, 4)],
        [torch.tensor([1, 2]), [np.int8(3), 4.0]],
        np.array([[1, 2], [3, 4]], dtype=np.uint8),
        torch.tensor([[1, 2], [3, 4]]),
        torch.tensor([[1.0, 2], [3, 4]], requires_grad=True),
    ],
    ids=lambda value: type(value).__name__,
)
def test_lists_tuples_arrays_and_tensors_are_read_alike(value):
    assert read_value(value).tolist() == [[1, 2], [3, 4]]
    assert explain_mismatch(value, np.array([[1.0, 2.0], [3.0, 4.0]]), 1e-9) == ""


@pytest.mark.parametrize("number", [3, 3.0, np.float32(3), np.int8(3), np.array(3), torch.tensor(3.0), np.float16(3)])
def test_numbers_of_every_type_are_read_alike(number):
    assert read_value(number).shape == ()
    assert explain_mismatch(number, 3.0, 1e-9) == ""


def test_a_dict_is_read_entry_by_entry():
    value = read_value({"a": [1, 2], 3: torch.ones(2)})
    assert {key: array.tolist() for key, array in value.items()} == {"a": [1, 2], "3": [1.0, 1.0]}


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (None, "it returned nothing: is the return statement missing"),
        ("text", "it returned str, not numbers"),
        ([[1, 2], [3]], "its rows have different lengths"),
        ([1, [2]], "its rows have different lengths"),
        ([{"a": 1}], "its rows have different lengths"),
        (["a", "b"], "it returned str, not numbers"),
        (1j, "it returned complex, not numbers"),
        (np.array([1 + 0j]), "not numbers"),
        (10**400, "it returned int beyond 64 bits, not numbers"),
        (len, "not numbers"),
        (np.array([None]), "it returned array of object, not numbers"),
    ],
    ids=lambda item: str(item)[:30],
)
def test_what_holds_no_numbers_is_refused_with_a_sentence(value, sentence):
    with pytest.raises(ValueError, match=sentence):
        read_value(value)
    assert sentence in explain_mismatch(value, np.zeros(2), 1e-9)


@pytest.mark.parametrize("value", [torch.ones(2, dtype=torch.bfloat16), torch.ones(2, 2).to_sparse()], ids=str)
def test_tensors_that_numpy_cannot_hold_get_a_sentence_or_are_read(value):
    assert isinstance(explain_mismatch(value, np.zeros(2), 1e-9), str)


@given(FINITE | hnp.arrays(st.sampled_from([np.bool_, np.int64, np.uint8, np.float32]), SHAPES, fill=st.nothing()))
def test_an_array_does_not_differ_from_itself(array):
    assume(np.isfinite(array).all())
    assert explain_mismatch(array, array, 0.0) == ""
    assert explain_mismatch(array.tolist(), array, 0.0) == ""


@given(st.data(), FINITE, DIRECTIONS, st.floats(2e-3, 1e6))
def test_one_entry_that_is_off_by_more_than_the_tolerance_gives_a_reason(data, expected, direction, by):
    index = tuple(data.draw(st.integers(0, size - 1)) for size in expected.shape)
    value = expected.copy()
    value[index] += direction * by
    reason = explain_mismatch(value, expected, 1e-3)
    if expected.size > 1:
        assert reason.startswith(f"1 of {expected.size} values is wrong, first at index {list(index)}: ")
    else:
        assert reason.startswith("the value is wrong: ")


@given(FINITE, DIRECTIONS)
def test_entries_within_the_tolerance_give_no_reason(expected, direction):
    assert explain_mismatch(expected + direction * 0.9e-3, expected, 1e-3) == ""


@given(st.data(), FINITE, st.floats(10, 1e6), st.floats(-1e6, -10))  # single precision loses less
def test_the_reason_is_the_same_whatever_the_right_value_is(data, value, first, second):
    wrong = data.draw(hnp.arrays(bool, value.shape))
    first_reason, second_reason = (explain_mismatch(value, value + by * wrong, 1e-3) for by in (first, second))
    assert first_reason == second_reason


@given(st.integers(0, 9), st.floats(100, 1e6))
def test_the_reason_never_contains_the_digits_of_the_expected_value(value, expected):
    assert f"{expected:.6g}" not in explain_mismatch([value, 0.0], [expected, 0.0], 1e-3)


@pytest.mark.parametrize(
    ("value", "expected", "sentence"),
    [
        ([1.0], [[1.0]], "shape (1,): 1 axis instead of 2"),
        ([[1.0, 2.0]], [[1.0], [2.0]], "shape (1, 2): axis 0 has the wrong length"),
        ([1.0, 2.0], [1.0], "axis 0 has the wrong length"),
        (1.0, [1.0], "shape (): 0 axes instead of 1"),
        ([1.0, np.nan], [1.0, 2.0], "not finite"),
        ([1.0, -np.inf], [1.0, 2.0], "not finite"),
        ([True, False], [1.0, 0.0], "booleans and numbers are mixed up"),
        ([1, 0], [True, False], "booleans and numbers are mixed up"),
        ([True, True], [True, False], "1 of 2 values is wrong, first at index [1]"),
        (True, False, "the value is wrong"),
        ({"a": 1.0}, 1.0, "a dict, not one array"),
        (None, 1.0, "it returned nothing"),
        (np.ones((3, 1)), np.ones((3, 4)), "axis 1 has the wrong length"),  # not broadcast
        (np.ones((1, 4)), np.ones((3, 4)), "axis 0 has the wrong length"),
    ],
)
def test_each_kind_of_difference_has_its_sentence(value, expected, sentence):
    assert sentence in explain_mismatch(value, np.array(expected), 1e-3)


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (2, "write (k,) rather than k"),
        (np.int64(2), "write (k,) rather than k"),
        (np.array(2), "write (k,) rather than k"),
        (None, "this is NoneType"),
        (True, "this is bool"),
        ("(2, 3)", "this is str"),
        (2.0, "this is float"),
        ({2: 3}, "this is dict"),
        ((2.0, 3), "only positive integers"),
        ((True, 3), "only positive integers"),
        ((2, 0), "only positive integers"),
        ((2, -3), "only positive integers"),
        ((2, (3,)), "only positive integers"),
        (("m", "n"), "only positive integers"),
        (np.array([2.0, 3.0]), "only positive integers"),
        (np.array([[2, 3]]), "only positive integers"),
        ([[2], 3], "only positive integers"),
        (torch.tensor([2.0, 3.0]), "only positive integers"),
        ((torch.tensor(2.5), 3), "only positive integers"),
        ((torch.tensor(True), 3), "only positive integers"),
        ((2,), "too few"),
        ((), "too few"),
        ((2, 3, 1), "too many"),
        ((3, 2), "it looks transposed"),
        ((2, 5), "axis 1 has the wrong size"),
        ((5, 7), "axis 0 and axis 1 have the wrong size"),
        ((2, 10**400), "only positive integers"),
    ],
    ids=lambda item: str(item)[:30],
)
def test_a_wrong_shape_gets_a_sentence(value, sentence):
    assert sentence in explain_shape_mismatch(value, (2, 3))


@given(st.lists(st.integers(11, 97), min_size=1, max_size=4), st.lists(st.integers(101, 999), min_size=1, max_size=4))
def test_the_reason_for_a_shape_contains_no_size_of_the_right_one(value, expected):
    assert not any(str(size) in explain_shape_mismatch(tuple(value), tuple(expected)) for size in expected)


def test_without_an_expected_shape_only_the_form_counts():
    assert explain_shape_mismatch((5, 7), None) == ""
    assert explain_shape_mismatch((5, 0), None)


def test_a_dict_gets_a_reason_for_each_entry():
    reasons = mismatches({"a": (2,), "b": (3, 2)}, {"a": (2,), "b": (2, 3), "c": (4,)}, "shape", 0)
    assert reasons["a"] == ""
    assert "transposed" in reasons["b"]
    assert reasons["c"] == "this key is missing; your keys are a, b"


def test_of_keys_that_are_not_asked_for_nine_are_named_with_forty_characters_each():
    value = {letter * 50: 1.0 for letter in "abcdefghijk"}
    named = ", ".join(letter * 40 for letter in "abcdefghi")
    assert mismatches(value, {"z": 1.0}, "code", 0) == {"z": f"this key is missing; your keys are {named}"}


@pytest.mark.parametrize(
    ("text", "sentence"), [("it is 0", "It is 0."), ("why?", "Why?"), ("stop!", "Stop!"), ("so.", "So."), ("", ".")]
)
def test_a_full_sentence_has_a_capital_first_and_one_mark_last(text, sentence):
    assert compare.full_sentence(text) == sentence


@pytest.mark.parametrize(("value", "sentence"), [(None, "it returned nothing"), ((2, 3), "it returned tuple")])
def test_what_is_no_dict_is_wrong_in_every_entry(value, sentence):
    reasons = mismatches(value, {"a": (2,), "b": (3,)}, "shape", 0)
    assert set(reasons.values()) == {f"{sentence}, not a dict with the keys a, b"}
    assert list(reasons) == ["a", "b"]


def test_a_value_that_is_no_dict_has_one_entry_without_name():
    assert mismatches([1.0], np.array([1.0]), "code", 1e-3) == {"": ""}
    assert mismatches((2,), (2,), "shape", 0) == {"": ""}


def add_in_place(x, y):
    x += y
    return x


def test_the_function_gets_copies_and_the_changed_ones_are_named():
    inputs = {"x": np.zeros(2), "y": np.ones(2)}
    value, changed = call_case(add_in_place, inputs)
    assert value.tolist() == [1, 1]
    assert changed == ["x"]
    assert inputs["x"].tolist() == [0, 0]
    assert call_case(np.add, inputs)[1] == []


def test_an_input_that_was_made_an_array_of_another_type_is_named():
    def reinterpret(x):
        x.dtype = np.int64
        return x

    assert call_case(reinterpret, {"x": np.array([1.0, 2.0])})[1] == ["x"]


def test_an_argument_of_the_same_form_as_in_the_last_call_is_the_same_object_with_its_own_numbers():
    seen, sums, last = [], [], {}

    def keep(x, y):
        seen.append((x, y))
        sums.append((x + y).tolist())
        return x + y

    one, other = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    for x, y in [
        (one, one),
        (one.copy(), other),
        (one.astype(int), other),
        (np.array([1.0, 2.0, 3.0, 4.0])[::2], other),
    ]:
        call_case(keep, {"x": x, "y": y}, last=last)
    assert [now[0] is before[0] for before, now in itertools.pairwise(seen)] == [True, False, False]
    assert [now[1] is before[1] for before, now in itertools.pairwise(seen)] == [True, True, True]
    assert sums == [[2, 4], [4, 6], [4, 6], [4, 7]]  # each call gets its own numbers
    assert one.tolist() == [1, 2]  # and what the caller has stays as it is
    assert seen[-1][0] is not one
    call_case(lambda y: y.sort(), {"y": np.array([2.0, 1.0])}, last=last)
    call_case(lambda y: seen.append((y.tolist(), y)), {"y": np.array([2.0, 1.0])}, last=last)
    assert seen[-1][0] == [2.0, 1.0]
    call_case(keep, {"x": one, "y": other})
    call_case(keep, {"x": one, "y": other})
    assert seen[-1][0] is not seen[-2][0]  # who keeps no arguments gets new ones


@pytest.mark.parametrize(
    "leave",
    [
        lambda x: x.requires_grad_(True),
        lambda x: [x.requires_grad_(True), x.sum().backward(), x.requires_grad_(False)],
        lambda x: x.numpy().setflags(write=False) or x.add_(1),
    ],
)
def test_a_tensor_on_which_something_was_left_is_not_passed_again(leave):
    seen, last = [], {}
    call_case(lambda x: seen.append(x) or leave(x), {"x": torch.zeros(2)}, last=last)
    call_case(lambda x: seen.append(x), {"x": torch.zeros(2)}, last=last)
    assert seen[1] is not seen[0]
    assert (seen[1].requires_grad, seen[1].grad, seen[1].tolist()) == (False, None, [0, 0])


def test_a_tensor_gets_the_numbers_of_the_next_call_even_if_they_differ_in_a_sign_alone():
    seen, last = [], {}
    for x in (torch.tensor([0.0, 1.0]), torch.tensor([-0.0, 1.0])):
        call_case(lambda x: seen.append((x, 1 / x)), {"x": x}, last=last)
    assert seen[1][0] is seen[0][0]
    assert [inverse.tolist() for _, inverse in seen] == [[np.inf, 1], [-np.inf, 1]]


def test_a_tensor_with_another_order_in_memory_is_not_the_same():
    seen, last = [], {}
    symmetric = torch.tensor([[1.0, 2.0], [2.0, 1.0]])
    for x in (symmetric, symmetric.T, symmetric.T):
        call_case(lambda x: seen.append(x), {"x": x}, last=last)
    assert [seen[1] is seen[0], seen[2] is seen[1]] == [False, True]


def test_an_array_that_was_made_read_only_is_not_passed_again():
    seen, last = [], {}
    for _ in range(2):
        call_case(lambda x: seen.append(x) or x.setflags(write=False), {"x": np.zeros(2)}, last=last)
    assert seen[1] is not seen[0]


def test_inputs_with_entries_that_are_not_finite_are_not_named_when_unchanged():
    assert call_case(np.add, {"x": np.array([np.nan, -np.inf]), "y": np.ones(2)})[1] == []


def test_gradients_are_those_of_the_summed_result():
    inputs = {"x": torch.tensor([1.0, 2.0]), "y": torch.tensor([3.0, 4.0])}
    value, changed = call_case(torch.mul, inputs, ("x", "y"))
    assert {name: gradient.tolist() for name, gradient in value.items()} == {"x": [3, 4], "y": [1, 2]}
    assert changed == []
    assert not inputs["x"].requires_grad


def test_an_argument_that_no_gradient_reaches_has_gradient_0():
    inputs = {"x": torch.ones(2), "y": torch.ones(2)}
    value, _ = call_case(lambda x, y: x + y.detach(), inputs, ("x", "y"))
    reasons = mismatches(value, {"x": np.ones(2), "y": np.ones(2)}, "code", 1e-6)
    assert reasons["x"] == ""
    assert "yours is 0" in reasons["y"]


def test_a_result_that_depends_on_nothing_has_gradient_0():
    x = torch.tensor([1.0, 2.0])
    for function in (lambda x: torch.zeros(3), lambda x: x.detach(), lambda x: torch.ones(2, dtype=torch.float64)):
        value, _ = compare.call_case(function, {"x": x}, ["x"])
        assert value["x"].tolist() == [0, 0]
    with pytest.raises(AttributeError, match="backward"):
        compare.call_case(lambda x: x.detach().numpy(), {"x": x}, ["x"])


def test_a_tensor_may_be_changed_in_place_and_its_gradient_is_that_of_the_original():
    def masked(x, y):
        x.masked_fill_(x > 1.5, 0.0)
        y[0] = 5.0
        return x * y

    inputs = {"x": torch.tensor([1.0, 2.0]), "y": torch.tensor([3.0, 4.0])}
    value, changed = call_case(masked, inputs, ("x", "y"))
    assert {name: gradient.tolist() for name, gradient in value.items()} == {"x": [5, 0], "y": [0, 0]}
    assert changed == ["x", "y"]
    assert inputs["x"].tolist() == [1, 2]


TWO = np.ones((2, 3))


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ((TWO, np.ones(2)), "it returned 2 things: return the first one alone"),
        ((np.ones(2), torch.ones(2, 3)), "it returned 2 things: return the second one alone"),
        ((np.ones(2), np.ones(3)), "it returned 2 things: return the result alone"),
        ((TWO, np.ones(2), np.ones(1)), "it returned 3 things: return the first one alone"),
        ((np.ones(3), np.ones(3)), ""),
        ([[1, 1, 1], [1, 1, 1]], ""),
    ],
)
def test_several_things_are_counted_and_the_one_that_belongs_there_is_named(value, sentence):
    assert compare.explain_mismatch(value, TWO, 1e-8) == sentence


def test_several_things_have_no_gradient():
    value, _ = call_case(lambda x: (x, x.sum(0)), {"x": torch.ones(2, 2)}, ("x",))
    assert mismatches(value, {"x": TWO}, "code", 1e-8) == {"x": "it returned 2 things: return the result alone"}


@pytest.mark.parametrize(
    ("shape", "ending"),
    [
        ((2, 3, 1), "3 axes instead of 2. Axis 2, of length 1, is one too many"),
        ((2, 1, 3), "3 axes instead of 2. Axis 1, of length 1, is one too many"),
        ((4, 2, 3), "3 axes instead of 2. Axis 0, of length 4, is one too many"),
        ((2, 3, 3), "3 axes instead of 2. Axis 2, of length 3, is one too many"),
        ((3, 2, 1), "3 axes instead of 2"),
        ((3,), "1 axis instead of 2"),
    ],
)
def test_an_axis_too_many_is_named(shape, ending):
    assert compare.explain_mismatch(np.ones(shape), TWO, 1e-8).endswith(ending)


def test_digits_that_were_lost_are_counted_and_shown():
    right = np.array([2.1488410, 1.0])
    mine = np.array([2.1488412, 1.0])
    sentence = "yours is 2.14884120, which differs only from about the 8th digit on"
    assert sentence.replace("2.14884120", "2.1488412") in compare.explain_mismatch(mine, right, 1e-12)
    assert "digit on" not in compare.explain_mismatch(mine, right + 1e-3, 1e-12)
    assert "digit on" not in compare.explain_mismatch(mine, right, 1e-6)


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_single_precision_is_refused_where_it_is_not_exact(dtype):
    expected = np.array([0.1, 2.0])
    coarse = expected.astype(dtype)
    assert compare.explain_mismatch(coarse, expected, 1e-8) == compare.SINGLE_PRECISION or dtype == np.float16
    assert compare.explain_mismatch(coarse, expected, 1e-8)
    near = np.array([0.25 + 2.0**-23], dtype=np.float32)  # within the tolerance but not exact
    assert compare.explain_mismatch(near, np.array([0.25 + 2.0**-23 + 1e-9]), 1e-8) == compare.SINGLE_PRECISION
    assert not compare.explain_mismatch(np.array([0.5, 2.0], dtype), np.array([0.5, 2.0]), 1e-8)
    assert not compare.explain_mismatch(coarse, expected, 1e-3)  # the tolerance of numbers worked by hand
    assert "first at index" in compare.explain_mismatch(coarse + 1, expected, 1e-8)


def test_a_part_is_earned_when_it_is_right_in_all_its_cases():
    parts = {"values": 2, "size_one": 1}
    right, wrong = {"": ""}, {"": "wrong"}
    assert total_points([("values", (), right), ("values", (), right), ("size_one", (), wrong)], parts) == 2
    assert total_points([("values", (), right), ("values", (), wrong), ("size_one", (), right)], parts) == 1
    assert total_points([("values", (), right)], parts) == 2
    assert total_points([], parts) == 0


def test_without_a_part_each_entry_is_a_part_of_its_own():
    results = [("", (), {"a": "", "b": ""}), ("", (), {"a": "", "b": "wrong"})]
    assert total_points(results, {"a": 0.5, "b": 1.5}) == 0.5


@pytest.mark.parametrize(
    ("masking", "size_one", "both", "earned"),
    [("", "", "", 3), ("", "", "wrong", 2), ("wrong", "", "wrong", 1), ("wrong", "", "", 1), ("wrong", "wrong", "", 0)],
)
def test_a_case_that_touches_another_part_too_is_the_fault_of_the_one_that_is_wrong_alone(
    masking, size_one, both, earned
):
    results = [("size_one", ("masking",), {"": both}), ("masking", (), {"": masking}), ("size_one", (), {"": size_one})]
    assert total_points(results, {"masking": 2, "size_one": 1}) == earned


def test_a_part_with_several_entries_needs_them_all():
    assert total_points([("gradient", (), {"x": "", "y": "wrong"})], {"gradient": 1}) == 0


def test_all_parts_right_never_earn_more_than_their_decimal_sum():
    assert total_points([("", (), {"a": "", "b": ""})], {"a": 0.1, "b": 0.2}) == 0.3
    assert total_points([("", (), {"a": ""})], {"a": 2 / 3}) == 0.666667


PRECISE = {"values": 1.5, "one": 0.25, "precision": 0.25}
PRECISE_CASES = [
    {"part": "values", "inputs": {"x": [100.0, 2.0]}, "expected": [200.0, 4.0], "atol": 2e-6},
    {"part": "one", "inputs": {"x": [0.25]}, "expected": [0.5], "atol": 1e-8},
]


@pytest.mark.parametrize(
    ("many", "one", "points"),
    [
        (0.0, 0.0, 2.0),
        (1.9e-3, 0.0, 1.75),  # within 1e-5 of the largest number, which is 200
        (2.1e-3, 0.0, 0.25),  # without the first part, there is no precision either
        (0.0, 9e-6, 1.75),  # within 1e-5 of 1, as the number is smaller
        (0.0, 1.1e-5, 1.75),  # another part that is wrong costs no precision
        (3e-6, 1.1e-5, 1.5),
        (1.9e-6, 9e-9, 2.0),
    ],
)
def test_digits_beyond_the_fifth_are_a_part_of_their_own(many, one, points):
    def double(x):
        return 2 * x + (many if len(x) > 1 else one)

    assert compare.score(double, "code", PRECISE_CASES, PRECISE) == points
    without = {"values": 1.75, "one": 0.25}
    exact = many <= 2e-6, one <= 1e-8
    assert compare.score(double, "code", PRECISE_CASES, without) == 1.75 * exact[0] + 0.25 * exact[1]


def test_the_coarse_tolerance_goes_with_the_largest_number_of_all_entries_and_is_never_the_finer_one():
    assert compare.coarse_tolerance(np.array([-200.0, 1.0]), 1e-8) == 200 * compare.ROUGHLY
    assert compare.coarse_tolerance({"a": np.array(0.5), "b": np.array([30.0])}, 1e-8) == 30 * compare.ROUGHLY
    assert compare.coarse_tolerance(np.array(0.5), 1e-8) == compare.ROUGHLY
    assert compare.coarse_tolerance(np.array(0.5), 1e-3) == 1e-3
    assert compare.coarse_tolerance(np.zeros((2, 0)), 1e-8) == compare.ROUGHLY


HIDDEN = [
    {"part": "values", "inputs": {"x": [1.0, 2.0]}, "expected": [2.0, 4.0], "atol": 1e-6},
    {"part": "one", "inputs": {"x": [3.0]}, "expected": [6.0], "atol": 1e-6},
]
PARTS = {"values": 1.5, "one": 0.5}


def double(x):
    return 2 * x


def double_only_many(x):
    if len(x) == 1:
        raise IndexError
    return 2 * x


@pytest.mark.parametrize(("function", "points"), [(double, 2.0), (double_only_many, 1.5), (abs, 0.0), (len, 0.0)])
def test_the_score_is_the_points_of_the_parts_that_are_right(function, points):
    assert compare.score(function, "code", HIDDEN, PARTS) == points


def test_the_score_of_gradients_asks_for_tensors():
    gradient = {"part": "g", "inputs": {"x": [1.0, 2.0]}, "expected": {"x": [2.0, 2.0]}, "atol": 1e-6}
    case = {**gradient, "gradients": ("x",)}
    assert compare.score(double, "code", [case], {"g": 1}, torch.from_numpy) == 1.0
    assert compare.score(lambda x: double(x).detach(), "code", [case], {"g": 1}, torch.from_numpy) == 0.0


def test_a_transposed_result_is_told_so():
    assert explain_mismatch(np.ones((2, 3)), np.ones((3, 2)), 1e-3).endswith("(it looks transposed)")
    assert "transposed" not in explain_mismatch(np.ones((2, 4)), np.ones((3, 2)), 1e-3)


def test_results_of_the_same_call_differ_in_their_numbers_or_in_their_keys():
    first = {"a": [1.0, 2.0]}
    assert not compare.differs(first, {"a": [1.0, 2.0]})
    for second in ({"a": [1.0, 3.0]}, {"b": [1.0, 2.0]}, [1.0, 2.0]):
        assert compare.differs(first, second)


CHAIN = {"a": np.array([1.0, 2.0]), "b": np.array([2.0, 4.0])}
RULE = {"b": (("a",), lambda a: 2 * a)}


@pytest.mark.parametrize(
    ("value", "points"),
    [
        ({"a": [1.0, 2.0], "b": [2.0, 4.0]}, 3),
        ({"a": [3.0, 2.5], "b": [6.0, 5.0]}, 2),
        ({"a": [3.0, 2.5], "b": [2.0, 4.0]}, 2),
        ({"a": [3.0, 2.5], "b": [6.0, 5.1]}, 0),
        ({"a": [3.0, 3.0], "b": [6.0, 6.0]}, 0),
        ({"a": [0.0, 0.0], "b": [0.0, 0.0]}, 0),
        ({"a": [np.inf, 1.0], "b": [np.inf, 2.0]}, 0),
        ({"a": [True, False], "b": [2.0, 0.0]}, 0),
        ({"a": [3.0], "b": [6.0]}, 0),
        ({"a": 3.0, "b": [6.0, 6.0]}, 0),
        ({"b": [6.0, 5.0]}, 0),
        ([3.0, 2.5], 0),
        (None, 0),
    ],
    ids=repr,
)
def test_a_step_of_a_chain_is_right_if_it_follows_from_the_students_own(value, points):
    case = {"part": "", "expected": CHAIN, "atol": 1e-3}
    assert compare.score(lambda: value, "number", [case], {"a": 1, "b": 2}, follows=RULE) == points


RIGHT_STEP = np.array([2.0, -1.0, 0.5])


@pytest.mark.parametrize(
    ("step", "carried"),
    [
        (RIGHT_STEP * 9.9, True),
        (RIGHT_STEP * 10.1, False),
        (RIGHT_STEP / 9.9, True),
        (RIGHT_STEP / 10.1, False),
        (np.array([1.0, 1.0, 1.031]), True),  # spread above a hundredth of the right step's
        (np.array([1.0, 1.0, 1.029]), False),
        (np.array([1.0, np.nan, 0.5]), False),
    ],
)
def test_a_wrong_step_is_carried_on_within_ten_times_the_size_and_a_hundredth_of_the_spread(step, carried):
    assert compare._is_plausible_step(step, RIGHT_STEP, 1e-4) == carried


def test_a_step_that_is_all_alike_within_the_tolerance_is_not_carried_on():
    wanted = np.array([1.0, 1.3])
    assert not compare._is_plausible_step(np.array([1.0, 1.004]), wanted, 0.01)
    assert compare._is_plausible_step(np.array([1.0, 1.006]), wanted, 0.01)
    assert compare._is_plausible_step(np.array([1.0, 1.004]), wanted, 0.0001)


def test_weights_of_which_one_is_0_or_1_where_it_should_not_be_are_not_carried_on():
    wanted = np.array([0.2, 0.3, 0.5])
    assert compare._is_plausible_step(np.array([0.3, 0.3, 0.4]), wanted, 1e-4)
    assert not compare._is_plausible_step(np.array([0.0, 0.4, 0.6]), wanted, 1e-4)
    assert not compare._is_plausible_step(np.array([0.0, 0.0, 1.0]), wanted, 1e-4)
    assert not compare._is_plausible_step(np.array([0.01, 0.39, 0.6]), wanted, 0.005)  # computed to two decimals
    assert compare._is_plausible_step(np.array([0.0, 0.4]), np.array([0.2, 0.5]), 1e-4)  # not weights: the sum is not 1


@pytest.mark.parametrize(("end", "carried"), [(0.9997, True), (0.9999, False), (1.0, False)])
def test_a_saturated_step_is_not_carried_on(end, carried):
    assert compare._is_plausible_step(np.array([0.3, end]), np.array([0.2, 0.5]), 1e-4) == carried
    assert compare._is_plausible_step(np.array([0.3, 0.9999]), np.array([0.2, 0.9999]), 1e-4)  # so is the right step
    assert compare._is_plausible_step(np.array([end, 0.3]), np.array([0.2, 1.0]), 1e-4)  # 1.0 cannot be a tanh


NUMBERS = st.sampled_from([0.0, 1.0, 1.0 + 1e-9, 1.0 + 1e-4, -1.0, 1e300, np.nan, np.inf, -np.inf])
FEW_SHAPES = st.sampled_from([(), (0,), (2,), (2, 1), (1, 2)])


@given(st.data(), FEW_SHAPES, FEW_SHAPES, st.sampled_from([0.0, 1e-8, 1e-3]))
def test_what_is_right_is_what_has_no_reason_to_be_wrong(data, one, other, atol):
    value, expected = (data.draw(hnp.arrays(float, shape, elements=NUMBERS)) for shape in (one, other))
    with np.errstate(over="ignore"):
        reason = compare.explain_mismatch(value, expected, atol)
        assert compare.is_right(value, expected, "code", atol) == (reason == "")
