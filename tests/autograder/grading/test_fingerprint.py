"""Stored verdicts are read back unchanged, and a damaged file counts as absent."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.grading.fingerprint import VerdictStore, read_handed_in_files
from autograder.sandbox import Limits
from autograder.verdicts import Graded, Part, Verdict

FINGERPRINT = "ab" * 32
OUTPUT = {"output_type": "stream", "name": "stdout", "text": "नमस्ते"}
GRADED = Graded(
    (
        Verdict("toy-double", 1.5, 2.0, (Part("values", 1.5, 1.5, ""), Part("one", 0.0, 0.5, "wrong")), ("Hint.",)),
        Verdict("toy-why", None, 2.0),
    ),
    {3: (1, [OUTPUT]), 7: (None, [])},
    "Python ended.",
    {"cell_seconds": 20.0},
    spent={"cells": 0.25},
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("store") / FINGERPRINT[:2] / f"{FINGERPRINT}.json"


def store_with(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return VerdictStore(path.parents[1])


LIMITS = Limits(cell_seconds=20)


@pytest.mark.parametrize(
    ("reached", "runs", "limits", "stands"),
    [
        ({}, 1, {"cell_seconds": 99}, True),
        ({"cell_seconds": 20.0}, 1, {}, False),
        ({"cell_seconds": 20.0}, 2, {}, False),
        ({"cell_seconds": 20.0}, 3, {}, True),
        ({"cell_seconds": 20.0}, 3, {"cell_seconds": 20.5}, False),
        ({"cell_seconds": 20.0}, 3, {"cell_seconds": 9}, True),
        ({"cell_seconds": 20.0}, 3, {"call_seconds": 99}, True),
        ({"cell_seconds": 20.0, "reply_mb": 16.0}, 3, {"reply_mb": 17}, False),
    ],
)
def test_verdicts_stand_unless_a_limit_was_reached_and_another_run_may_change_them(
    tmp_path, reached, runs, limits, stands
):
    store, graded = VerdictStore(tmp_path), Graded((), {}, reached=reached, runs=runs)
    store.put(FINGERPRINT, graded)
    found = store.get_standing(FINGERPRINT, replace(LIMITS, **limits))
    assert found == (graded if stands else None)
    assert store.get_standing("cd" * 32, LIMITS) is None


def test_runs_that_reach_the_same_limits_are_counted(tmp_path):
    store, first = VerdictStore(tmp_path), Graded((), {}, reached={"reply_mb": 16.0})
    other = replace(first, reached={"call_seconds": 5.0})
    assert [store.put(FINGERPRINT, first).runs for _ in range(3)] == [1, 2, 3]
    assert store.get(FINGERPRINT).runs == 3
    assert store.put(FINGERPRINT, other).runs == 1
    assert store.put(FINGERPRINT, Graded((), {})) == Graded((), {})
    assert store.put(FINGERPRINT, Graded((), {})).runs == 1


def test_what_was_put_is_got_back(tmp_path):
    store = VerdictStore(tmp_path / "not" / "yet" / "there")
    store.put(FINGERPRINT, GRADED)
    assert store.get(FINGERPRINT) == GRADED


def test_the_last_one_put_counts(tmp_path):
    store = VerdictStore(tmp_path)
    store.put(FINGERPRINT, GRADED)
    store.put(FINGERPRINT, Graded((), {}))
    assert store.get(FINGERPRINT) == Graded((), {})


def test_nothing_is_got_for_another_fingerprint(tmp_path):
    store = VerdictStore(tmp_path)
    assert store.get(FINGERPRINT) is None
    store.put(FINGERPRINT, GRADED)
    assert store.get("cd" * 32) is None


def test_no_draft_is_left(tmp_path):
    VerdictStore(tmp_path).put(FINGERPRINT, GRADED)
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == [f"{FINGERPRINT}.json"]


def test_a_file_cut_at_any_place_counts_as_absent(path):
    VerdictStore(path.parents[1]).put(FINGERPRINT, GRADED)
    whole = path.read_bytes()
    for end in range(0, len(whole), 7):
        assert store_with(path, whole[:end]).get(FINGERPRINT) is None


@given(text=st.binary() | JSON.map(json.dumps))
def test_a_file_of_garbage_counts_as_absent(path, text):
    assert store_with(path, text).get(FINGERPRINT) is None


OTHER_FORMS = ['{"verdicts": [3], "outputs": {}}', '{"verdicts": [{"parts": [], "hints": []}]}', "[]"]
OTHER_FORMS += ['{"verdicts": [], "outputs": []}', "[" * 100_000]


@pytest.mark.parametrize("text", OTHER_FORMS, ids=range(len(OTHER_FORMS)))
def test_json_of_another_form_or_too_deep_counts_as_absent(path, text):
    assert store_with(path, text).get(FINGERPRINT) is None


def test_weights_of_the_shapes_that_are_asked_for_are_read_in_any_precision_and_larger_ones_are_not(tmp_path):
    weights = SimpleNamespace(file="model.npz", arrays={"W": (500, 300), "b": (300,)})
    exercises = [SimpleNamespace(trained=weights), SimpleNamespace(trained=None)]
    path = tmp_path / "model.npz"
    for dtype in (np.float32, np.float64):
        np.savez(path, **{name: np.zeros(shape, dtype) for name, shape in weights.arrays.items()})
        assert read_handed_in_files(exercises, tmp_path) == {"model.npz": path.read_bytes()}
    np.savez(path, W=np.zeros((600, 300)), b=np.zeros(300))
    assert read_handed_in_files(exercises, tmp_path) == {"model.npz": None}
