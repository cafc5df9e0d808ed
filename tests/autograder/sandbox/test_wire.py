"""Plain values cross the sandbox boundary unchanged; all other data from a sandbox is refused, never executed."""

import base64
import contextlib
import json

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from autograder.exercises import compare
from autograder.sandbox import wire
from tests.autograder.samples import over_the_wire, plain_values

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
TAGS = st.sampled_from(["float", "text", "other", "list", "tuple", "dict", "array"])
TAGGED = st.recursive(
    JSON, lambda inner: st.dictionaries(TAGS, inner | st.lists(inner, max_size=3), min_size=1, max_size=1), max_leaves=8
)
SIZES = st.integers() | st.integers(-2, 4) | st.sampled_from([2**31 - 1, 2**31, 2**63, 0]) | st.floats() | st.none()
ARRAYS = st.fixed_dictionaries(
    {
        "dtype": st.sampled_from([*wire.DTYPES, "object", "O", "<f8", "str", "complex128", None]),
        "shape": st.lists(SIZES, max_size=10) | JSON,
        "data": st.binary(max_size=64).map(lambda raw: base64.b64encode(raw).decode()) | st.text(max_size=12) | JSON,
    }
)


def same(left, right):
    if type(left) is not type(right) and not isinstance(left, (np.ndarray, np.generic)):
        return False
    if isinstance(left, dict):
        return list(left) == list(right) and all(same(left[key], right[key]) for key in left)
    if isinstance(left, (list, tuple)):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, (np.ndarray, np.generic)):
        return left.dtype == right.dtype and np.array_equal(left, right, equal_nan=left.dtype.kind == "f")
    return left == right or (left != left and right != right)


def an_array(**changed):
    return {"array": {"dtype": "int8", "shape": [2], "data": "AAE=", **changed}}


@given(plain_values())
def test_plain_values_come_back_as_they_were(value):
    assert same(value, over_the_wire(value))


@given(JSON | TAGGED)
def test_decoding_any_json_gives_a_value_or_unreadable(data):
    with contextlib.suppress(wire.InvalidMessage):
        wire.decode(data)


@given(ARRAYS)
def test_decoding_any_claimed_array_gives_an_array_of_that_shape_or_unreadable(claimed):
    try:
        array = wire.decode({"array": claimed})
    except wire.InvalidMessage:
        return
    assert list(array.shape) == claimed["shape"]
    assert array.dtype == claimed["dtype"]


@given(st.binary() | st.text().map(str.encode) | JSON.map(json.dumps).map(str.encode))
def test_parsing_any_line_gives_an_object_or_unreadable(line):
    with contextlib.suppress(wire.InvalidMessage):
        assert type(wire.parse(line)) is dict


HARMFUL = {
    "deep lists": b"[" * 100_000,
    "deep objects": b'{"a":' * 100_000,
    "6000 digits": b'{"a": ' + b"9" * 6000 + b"}",
    "not UTF-8": b'{"a": "\xff"}',
    "UTF-16": '{"a": 1}'.encode("utf-16"),
    "empty": b"",
    "a list": b"[]",
    "a number": b"NaN",
    "more after it": b'{"a": 1} x',
}


@pytest.mark.parametrize("line", HARMFUL.values(), ids=HARMFUL)
def test_a_line_that_would_harm_the_reader_is_unreadable(line):
    with pytest.raises(wire.InvalidMessage):
        wire.parse(line)


@pytest.mark.parametrize(
    "data",
    [
        2**63,
        -(10**4000),
        float("nan"),
        float("inf"),
        "bare text",
        [1],
        {},
        {"list": [1], "tuple": [1]},
        {"float": "1.0"},
        {"pickle": "gASVAA=="},
        {"text": "x" * (wire.MAX_TEXT_CHARACTERS + 1)},
        {"list": [0] * (wire.MAX_ITEMS + 1)},
        {"other": ["a list"]},
        {"list": [{"list": [0] * 9_000}] * 23},
        an_array(dtype="object"),
        an_array(dtype=["int8"]),
        an_array(shape=[3]),
        an_array(shape=[1]),
        an_array(shape=[-2]),
        an_array(shape=[-1, -2]),
        an_array(shape=[2.0]),
        an_array(shape=[True, 2]),
        an_array(shape=2),
        an_array(shape=[2**40, 0]),
        an_array(shape=[1] * 9 + [2]),
        an_array(data="AAE"),
        an_array(data="AA\nE="),
        an_array(data="\ud800"),
        an_array(strides=[1]),
    ],
    ids=lambda data: str(data)[:40],
)
def test_data_that_no_worker_writes_is_unreadable(data):
    with pytest.raises(wire.InvalidMessage):
        wire.decode(data)


@pytest.mark.parametrize("shape", [[0] + [2**31 - 1] * 3, [2**31 - 1] * 3 + [0]], ids=str)
def test_an_empty_array_whose_other_axes_overflow_is_unreadable(shape):
    with pytest.raises(wire.InvalidMessage):
        wire.decode(an_array(shape=shape, data=""))


def test_lone_surrogates_come_back_as_text_that_can_be_written():
    value = over_the_wire({"\ud800": "a\udfff"})
    assert value == {"?": "a?"}
    assert wire.decode({"other": "\ud800"}).kind == wire.UNKNOWN_KIND


@pytest.mark.parametrize(
    "kind",
    ["x" * 81, "query = [[0.25, 1.5]]\n", "<b>!", "\x1b[2J", "", "a-b", "Größe"],
    ids=lambda kind: repr(kind)[:20],
)
def test_a_name_of_a_type_that_was_chosen_to_be_read_is_not_passed_on(kind):
    assert wire.decode({"other": kind}).kind == wire.UNKNOWN_KIND


def test_keys_of_a_dict_are_short_and_can_be_printed():
    (key,) = wire.decode({"dict": {"\x1b]0;mine\x07" + "x" * 1000: 1}})
    assert key == "?]0;mine?" + "x" * (wire.MAX_KEY_CHARACTERS - 9)


def test_a_long_nested_list_comes_back_as_an_array_and_what_is_none_of_numbers_not_at_all():
    value = over_the_wire([[float(n)] * 100 for n in range(60)])
    assert type(value) is np.ndarray
    assert value.shape == (60, 100)
    assert value[7, 0] == 7.0
    for odd in ("x" * 9_000, [1], {"a": 1}):
        assert isinstance(over_the_wire([0] * 9_000 + [odd]), wire.UnsendableValue)
    assert over_the_wire({"a": [0] * 9_000, "b": [1]})["b"].tolist() == [1.0]
    assert type(over_the_wire([[1.0] * 9] * 9)) is list


def test_a_very_large_dict_is_not_looked_at():
    few, many = {"a": 1.0}, {f"k{n}": 1.0 for n in range(3_000)}
    assert isinstance(over_the_wire(many), wire.UnsendableValue)
    value = over_the_wire({"few": few, "many": many, "number": 1.0})
    assert (value["few"].kind, value["many"].kind, value["number"]) == ("very large dict", "very large dict", 1.0)
    assert over_the_wire({"few": few}) == {"few": few}


def test_whatever_passes_is_judged_without_walking_through_it(monkeypatch):
    """The judge calls numpy for each item of a list, so decoded lists must stay short."""
    calls, honest = [], compare.np.asarray
    monkeypatch.setattr(compare.np, "asarray", lambda *args, **kind: calls.append(1) or honest(*args, **kind))
    nested = {"list": [{"list": [{"list": [0] * 100}] * 90}] * 20}
    for data in (nested, {"dict": {f"k{n}": nested for n in range(1)}}, {"dict": {f"k{n}": 0 for n in range(9_000)}}):
        value = wire.decode(data)
        for expected in (np.zeros((20, 90, 100)), {"k0": np.zeros(2)}, np.zeros(3)):
            compare.mismatches(value, expected, "code", 1e-6)
            compare.differs(value, value)
    assert 0 < len(calls) < 500


@pytest.mark.parametrize("piece", [b"[],", b"{},", b"0,"])
def test_a_line_with_more_things_than_a_reply_may_hold_is_not_even_parsed(piece, monkeypatch):
    monkeypatch.setattr(wire.json, "loads", lambda line: pytest.fail("it was parsed"))
    with pytest.raises(wire.InvalidMessage, match="too many items"):
        wire.parse(b'{"a": [' + piece * 5_000_000, wire.MAX_ITEMS_IN_ALL)


def test_tensors_sizes_and_numpy_numbers_come_back_as_arrays_tuples_and_numbers():
    tensor = over_the_wire(torch.ones(2, 3, requires_grad=True))
    assert type(tensor) is np.ndarray
    assert tensor.dtype == np.float32
    assert over_the_wire(torch.zeros(2, 3).shape) == (2, 3)
    assert over_the_wire((np.int16(4), np.float64(0.5))) == (4, 0.5)


def test_arrays_that_are_not_contiguous_come_back_in_order():
    array = np.arange(24).reshape(2, 3, 4)
    assert np.array_equal(over_the_wire(array.T[::2]), array.T[::2])


def test_truth_values_come_back_as_truth_values_whatever_their_bytes():
    array = wire.decode({"array": {"dtype": "bool", "shape": [3], "data": base64.b64encode(b"\0\1\7").decode()}})
    assert array.dtype == bool
    assert array.tolist() == [False, True, True]


def test_arrays_of_the_other_byte_order_keep_their_values():
    assert over_the_wire(np.array([1.0, 2.5], dtype=">f8")).tolist() == [1.0, 2.5]


@pytest.mark.parametrize("tensor", [torch.ones(2, dtype=torch.bfloat16), torch.eye(2).to_sparse()], ids=str)
def test_tensors_that_numpy_cannot_hold_come_back_as_other_or_as_numbers(tensor):
    assert isinstance(over_the_wire(tensor), (wire.UnsendableValue, np.ndarray))


class Sneaky(np.ndarray):
    pass


class SneakyInt(int):
    pass


@pytest.mark.parametrize(
    "value",
    [
        *(np.zeros(2).view(Sneaky), np.ma.masked_array([1.0], [True]), np.array([object()]), np.array(["text"])),
        *(
            np.array([1j]),
            np.zeros(2, dtype=[("a", float)]),
            np.zeros(1, "M8[ns]"),
            torch.ones(2, dtype=torch.bfloat16),
        ),
        *(SneakyInt(3), 2**63, 2**64, 1j, {1, 2}, {1: 2}, b"bytes", len, range(3), object(), lambda: 0),
        [0] * (wire.MAX_ITEMS + 1),
        {str(number): 0 for number in range(wire.MAX_ITEMS + 1)},
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_has_no_place_on_the_wire_comes_back_as_other_under_the_name_that_the_worker_writes(value):
    other = over_the_wire(value)
    assert isinstance(other, wire.UnsendableValue)
    assert other.kind == wire.encode(value)["other"]


def nested(depth):
    value = 1
    for _ in range(depth):
        value = [value]
    return value


def test_nesting_is_cut_and_refused_exactly_at_its_limit():
    assert "deeply nested" not in json.dumps(wire.encode(nested(wire.MAX_DEPTH)))
    for depth in (wire.MAX_DEPTH + 1, 50):
        assert "deeply nested" in json.dumps(wire.encode(nested(depth)))
    assert isinstance(over_the_wire(nested(50)), list)
    assert wire.MAX_DEPTH == 8  # the same as compare.MAX_NESTING
    for inside in (lambda data: {"list": [data]}, lambda data: {"dict": {"key": data}}):
        data = 1
        for _ in range(wire.MAX_DEPTH + 1):
            data = inside(data)
        wire.decode(data)
        with pytest.raises(wire.InvalidMessage, match="deep"):
            wire.decode(inside(data))
