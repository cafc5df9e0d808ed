"""What a verdict depends on is in its fingerprint, and nothing else is."""

import json
from dataclasses import replace

import grimp

from autograder.grading import fingerprint, grade
from autograder.sandbox import Limits, wire
from tests.autograder.samples import topic_exercises


def test_a_verdict_depends_on_all_rooms_that_grading_uses_and_on_no_other():
    graph = grimp.build_graph("autograder", include_external_packages=False, cache_dir=None)
    used = graph.find_upstream_modules("autograder.grading.grade") | {"autograder.grading.grade"}
    rooms = {name.split(".")[1] for name in used if graph.find_children(".".join(name.split(".")[:2]))}
    assert rooms == set(fingerprint.DECIDING)


def test_what_is_called_is_worked_out_once_for_all_submissions():
    exercise = topic_exercises("scoring")[0]
    calls = grade._calls(exercise)
    assert calls is grade._calls(exercise)
    for call, case in zip(calls, exercise.hidden, strict=True):
        assert call.text is call.text
        assert json.loads(call.text)["inputs"] == {name: wire.encode(item) for name, item in case.inputs.items()}


def test_a_verdict_depends_on_everything_that_its_fingerprint_names():
    limits = Limits()
    known = {
        "content": b"{}",
        "version": "v",
        "attempt": 0,
        "limits": limits,
        "isolation": "none",
        "files": {"w.npz": b"1"},
    }
    others = {"content": b"[]", "version": "w", "attempt": 1, "limits": replace(limits, call_seconds=9.0)}
    others |= {"isolation": "zygote", "files": {"w.npz": b"2"}}
    found = [
        fingerprint.fingerprint(**known),
        *(fingerprint.fingerprint(**known | {name: other}) for name, other in others.items()),
    ]
    assert len(set(found)) == len(others) + 1
    assert fingerprint.fingerprint(**known) == found[0]
