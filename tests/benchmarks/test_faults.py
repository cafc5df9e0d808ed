"""The list of faults is sound, and each fault is one change of one line of code."""

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections import Counter

import pytest

from autograder.paths import ROOT
from benchmarks import faults
from benchmarks.faults import LIST, SITECUSTOMIZE, Judges, add_probes, find_places, find_production_files, plant

BY_HAND = LIST.with_name("faults_by_hand.jsonl")
FAULTS = [json.loads(line) for line in LIST.read_text(encoding="utf-8").splitlines()]
CODE = '''"""Text with 1 < 2."""
limit = 14  # of 20
if limit <= 3 and name == "a < b":
    folder.clear()
'''
SCRIPT = """const limit = "1 < 2"; // 3 > 2
  draw(limit);
"""


def test_the_list_is_whole_and_covers_every_package():
    assert [fault["number"] for fault in FAULTS] == list(range(1, len(FAULTS) + 1))
    assert len(FAULTS) >= 300
    assert {fault["package"] for fault in FAULTS} == set(find_production_files())
    assert {fault["state"] for fault in FAULTS} <= {"drawn", "noticed", "survived", "gone", "equivalent"}
    assert all(fault["old"] != fault["new"] for fault in FAULTS)
    assert all(fault["by"] for fault in FAULTS if fault["state"] in ("noticed", "equivalent"))


def test_each_fault_written_by_hand_says_what_a_user_sees_and_who_noticed_it():
    by_hand = [json.loads(line) for line in BY_HAND.read_text(encoding="utf-8").splitlines()]
    assert [fault["number"] for fault in by_hand] == list(range(1, len(by_hand) + 1))
    assert set(Counter(fault["package"] for fault in by_hand).values()) == {25}
    for fault in by_hand:
        assert len(fault["seen"].split()) > 5
        assert fault["old"] != fault["new"]
        assert fault["state"] in ("drawn", "noticed", "survived", "gone", "equivalent")
        file, _, name = fault["by"].partition("::")
        assert (fault["state"] == "noticed") == bool(name)
        assert not name or f"def {name.partition('[')[0]}(" in (ROOT / file).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        (
            "code.py",
            CODE,
            {
                "limit = 15  # of 20",
                'if limit < 3 and name == "a < b":',
                'if limit <= 4 and name == "a < b":',
                'if limit <= 3 or name == "a < b":',
                'if limit <= 3 and name != "a < b":',
                "    pass",
            },
        ),
        ("code.js", SCRIPT, {"  ;"}),
    ],
)
def test_a_change_is_made_in_code_alone(tmp_path, name, text, expected):
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert {new for _, _, new in find_places(tmp_path / name)} == expected


def test_a_fault_is_planted_in_the_line_that_was_drawn_or_not_at_all():
    fault = {"old": "  a = 1", "new": "  a = 2", "occurrence": 1}
    assert plant(fault, "  a = 1\nb\n  a = 1\n  a = 1\n") == "  a = 1\nb\n  a = 2\n  a = 1\n"
    assert plant(fault, "  a = 1\na = 1\n  a = 10\n") is None


def test_a_probe_stands_before_the_statement_of_each_fault_and_tells_which_test_ran_it(tmp_path):
    source = "\n".join(
        [
            "def sign(x):",
            '    """-1, 0 or 1."""',
            "    if x < 0:",
            "        return -1",
            "    elif x > 0:",
            "        return 1",
            "    return max(",
            "        0,",
            "        0,",
            "    )",
        ]
    )
    lines = {
        1: "    if x < 0:",
        2: "    elif x > 0:",
        3: "        return 1",
        4: "        0,",
        5: "gone",
        6: '    """-1, 0 or 1."""',
    }
    log = tmp_path / "log.txt"
    (tmp_path / "sitecustomize.py").write_text(SITECUSTOMIZE.format(log=str(log)), encoding="utf-8")
    probed = add_probes(source, [{"number": n, "old": old, "new": "", "occurrence": 0} for n, old in lines.items()])
    program = probed + "\nassert [sign(-2), sign(0), sign(0)] == [-1, 0, 0]\nassert sign.__doc__\n"
    environment = {"PYTHONPATH": str(tmp_path), "PYTEST_CURRENT_TEST": "test_x.py::test_a[b c] (call)"}
    subprocess.run([sys.executable, "-c", program], env=environment, check=True)
    assert sorted(log.read_text(encoding="utf-8").splitlines()) == [
        f"{number} test_x.py::test_a[b c] (call)" for number in (1, 2, 4, 6)
    ]
    subprocess.run([sys.executable, "-c", program], env={}, check=True)


CASES = {"test_far": {"far": 0.1}, "test_other": {"other": 1.0}, "test_judge": {"slow": 3.0, "quick": 0.5}}


@pytest.mark.parametrize(
    ("reached", "seconds", "expected"),
    [
        ({}, 100, ["quick", "slow", "other", "far"]),
        ({}, 4, ["quick"]),
        ({"7": ["other", "far"]}, 100, ["far", "other"]),
    ],
)
def test_those_that_reach_a_fault_judge_it_or_those_of_its_module_first(
    tmp_path, monkeypatch, reached, seconds, expected
):
    monkeypatch.setattr(faults, "ROOT", tmp_path)
    folder = tmp_path / "tests" / "autograder" / "grading"
    folder.mkdir(parents=True)
    names = {}
    for file, tests in CASES.items():
        text = "from autograder.grading import judge" if file == "test_other" else ""
        (folder / f"{file}.py").write_text(text, encoding="utf-8")
        names |= {test: f"tests/autograder/grading/{file}.py::test_{test}" for test in tests}
    took = {names[test]: time for tests in CASES.values() for test, time in tests.items()}
    judges = Judges(
        {"seconds": took, "reached": {number: [names[test] for test in tests] for number, tests in reached.items()}}
    )
    selected = judges.select({"number": 7, "path": "autograder/grading/judge.py"}, seconds)
    assert [test.rpartition("_")[2] for test in selected] == expected


RUNS = {
    "def test_wrong():\n    assert False\n": ("noticed", "test_x.py::test_wrong"),
    "def test_endless():\n    while True:\n        pass\n": ("noticed", "the tests do not end"),
    "import nothing_of_that_name\n": ("noticed", "importing the tests"),
}


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="only root may run tests in a process namespace of their own")
@pytest.mark.parametrize(("text", "expected"), RUNS.items(), ids=["wrong", "endless", "not imported"])
def test_a_fault_is_noticed_by_a_test_that_fails_or_never_ends_and_by_an_import(tmp_path, monkeypatch, text, expected):
    monkeypatch.setattr(faults, "STARTING_SECONDS", 4)
    (tmp_path / "test_x.py").write_text(text, encoding="utf-8")
    assert faults._run_tests(tmp_path, ["test_x.py"], 0) == expected


@pytest.mark.slow
def test_measuring_adds_to_what_was_measured_before(tmp_path, monkeypatch):
    tree, file = tmp_path / "tree", tmp_path / "reached.json"
    (tree / "tests").mkdir(parents=True)
    (tree / "code_of.py").write_text("def double(x):\n    return 2 * x\n", encoding="utf-8")
    test = "import code_of\n\n\ndef test_new():\n    assert code_of.double(3) == 6\n"
    (tree / "tests" / "test_x.py").write_text(test, encoding="utf-8")
    monkeypatch.setattr(faults, "WORK", tmp_path)
    monkeypatch.setattr(faults, "_copy_tree", lambda target: shutil.copytree(tree, target))
    file.write_text(json.dumps({"seconds": {"old": 1.5}, "reached": {"1": ["old"]}}), encoding="utf-8")
    fault = {"number": 1, "path": "code_of.py", "old": "    return 2 * x", "new": "    return 3 * x", "occurrence": 0}
    faults.measure_reach([fault], file, ["tests/test_x.py"], argparse.Namespace(jobs=0, site=None))
    measured = json.loads(file.read_text(encoding="utf-8"))
    assert measured["reached"] == {"1": ["old", "tests/test_x.py::test_new"]}
    assert sorted(measured["seconds"]) == ["old", "tests/test_x.py::test_new"]
