"""The list of faults is sound, and each fault is one change of one line of code."""

import json
from pathlib import Path

import pytest

from benchmarks import faults
from benchmarks.faults import LIST, Judges, find_places, find_production_files, plant

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


def test_the_tests_of_a_module_judge_it_first_and_what_a_file_shares_is_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(faults, "ROOT", tmp_path)
    for file, text in {"test_judge": "", "test_other": "from autograder.grading import judge", "test_far": ""}.items():
        path = tmp_path / "tests" / "autograder" / "grading" / f"{file}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    cases = {
        ("test_far", "far"): 0.1,
        ("test_other", "other"): 1.0,
        ("test_judge", "slow"): 3.0,
        ("test_judge", "quick"): 0.5,
    }
    xml = "".join(
        f'<testcase classname="tests.autograder.grading.{file}" name="test_{name}" time="{time}"/>'
        for (file, name), time in cases.items()
    )
    times = Path(tmp_path, "times.xml")
    times.write_text(f"<testsuites><testsuite>{xml}</testsuite></testsuites>", encoding="utf-8")

    def selected(seconds):
        return [test.rpartition("_")[2] for test in Judges(times).select("autograder/grading/judge.py", seconds)]

    assert selected(100) == ["quick", "slow", "other", "far"]
    assert selected(4) == ["quick"]
