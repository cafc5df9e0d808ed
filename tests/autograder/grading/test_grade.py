"""A submission runs within its time limit, and its fingerprint covers exactly what its verdict depends on."""

import json
import math
from dataclasses import fields, replace

import grimp
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from autograder.grading import fingerprint, grade
from autograder.notebooks import cell_ids
from autograder.sandbox import Limits, Run, wire
from tests.autograder.samples import exercise_named, topic_exercises


def test_a_verdict_depends_on_all_rooms_that_grading_uses_and_on_no_other():
    graph = grimp.build_graph("autograder", include_external_packages=False, cache_dir=None)
    used = graph.find_upstream_modules("autograder.grading.grade") | {"autograder.grading.grade"}
    rooms = {name.split(".")[1] for name in used if graph.find_children(".".join(name.split(".")[:2]))}
    assert rooms == set(fingerprint.DECIDING_PACKAGES)


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
    others = {"content": b"[]", "version": "w", "attempt": 1, "limits": replace(limits, memory_mb=5000)}
    others |= {"isolation": "zygote", "files": {"w.npz": b"2"}, "seed": 40}
    fingerprints = [
        fingerprint.fingerprint(**known),
        *(fingerprint.fingerprint(**known | {name: other}) for name, other in others.items()),
    ]
    assert len(set(fingerprints)) == len(others) + 1
    assert fingerprint.fingerprint(**known) == fingerprints[0]
    unseen = {"memory_mb", "disk_mb", "processes", "output_kb", "outputs_mb", "submission_mb"}
    for limit in fields(Limits):
        other = replace(limits, **{limit.name: getattr(limits, limit.name) + 1})
        is_other = fingerprint.fingerprint(**known | {"limits": other}) != fingerprints[0]
        assert is_other == (limit.name in unseen), limit.name


class FakeClock:
    """Replaces the time module; time passes only when a test advances it."""

    def __init__(self):
        self.now, self.cpu = 7.0, 3.0

    def monotonic(self):
        return self.now

    def process_time(self):
        return self.cpu


@pytest.fixture
def clock(monkeypatch):
    clock = FakeClock()
    monkeypatch.setattr(grade, "time", clock)
    return clock


@pytest.fixture
def sandboxed(monkeypatch, clock):
    """Replace sandbox runs: a test lists each as ``(seconds of the clock, outcome)``; collect what was sent."""
    runs, sent = [], []

    def run(script, limits, isolation, hidden):
        sent.append((script, limits))
        seconds, outcome = runs.pop(0)
        clock.now += seconds
        return outcome

    monkeypatch.setattr(grade.sandbox, "run", run)
    return runs, sent


def notebook_of(*sources):
    return new_notebook(cells=[new_code_cell(source) for source in sources])


def test_a_notebook_that_ends_early_is_run_once_more_without_that_cell_in_what_is_left(sandboxed):
    runs, sent = sandboxed
    runs += [
        (990.0, Run(failure="It ended.", ended_in=1, reached={"cell_seconds"}, used={"sandbox": 30.0}, idle=20.0)),
        (1.0, Run(killed=True, spent={"cells": 1.0}, reached={"call_seconds"})),
    ]
    limits = Limits(submission_seconds=100, submission_idle_seconds=50)
    graded = grade.grade(notebook_of("a", "b", "c"), (), limits)
    assert [cell.source for cell in sent[0][0].cells] == ["a", "b", "c"]
    assert [cell.source for cell in sent[1][0].cells] == ["a", "", "c"]
    assert [limits.submission_seconds for _, limits in sent] == [100, 70]
    assert [limits.submission_idle_seconds for _, limits in sent] == [50, 30]
    cell, calls = (
        "a cell used 20 seconds of CPU time",
        "the calls of a function used or waited more than 5 seconds each",
    )
    assert graded.failure == (
        "It ended. It was run again without that cell. "
        f"It reached a limit: {cell} (cell_seconds); {calls} (call_seconds)."
    )
    assert graded.reached == {"cell_seconds": 20.0, "call_seconds": 5.0}
    assert graded.killed
    assert graded.spent["cells"] == 1.0


def test_what_ends_early_once_more_says_both(sandboxed):
    runs, _ = sandboxed
    runs += [(1.0, Run(failure="It ended.", ended_in=0)), (1.0, Run(failure="It ended later."))]
    assert grade.grade(notebook_of("a"), ()).failure == "It ended. Without that cell: It ended later."


def test_a_limit_is_described_once(sandboxed):
    runs, _ = sandboxed
    runs.append((1.0, Run(failure="Stopped: too much (reply_mb).", reached={"reply_mb"})))
    graded = grade.grade(notebook_of("a"), ())
    assert (graded.failure, graded.reached) == ("Stopped: too much (reply_mb).", {"reply_mb": 16.0})


@pytest.mark.parametrize(("seconds", "runs_made"), [(98.0, 2), (99.5, 1), (130.0, 1)])
def test_nothing_is_run_once_more_where_hardly_any_seconds_are_left(sandboxed, seconds, runs_made):
    runs, sent = sandboxed
    for ended in (Run(used={"sandbox": seconds}), Run(idle=seconds)):
        runs[:], sent[:] = [(0.0, replace(ended, failure="It ended.", ended_in=0)), (0.0, Run())], []
        grade.grade(notebook_of("a"), (), Limits(submission_seconds=100, submission_idle_seconds=100))
        assert len(sent) == runs_made


def test_a_notebook_that_comes_to_its_end_is_run_once(sandboxed):
    runs, sent = sandboxed
    runs.append((5.0, Run()))
    graded = grade.grade(notebook_of("a"), ())
    assert len(sent) == 1
    assert (graded.failure, graded.reached, graded.killed) == ("", {}, False)


def test_the_time_that_judging_takes_is_counted_by_itself(sandboxed, clock, monkeypatch):
    runs, _ = sandboxed
    runs.append((5.0, Run(spent={"cells": 4.0}, used={"sandbox": 3.0})))

    def judge(exercises, replies):
        clock.now += 2.0
        clock.cpu += 0.5
        return ()

    monkeypatch.setattr(grade.judge, "judge", judge)
    graded = grade.grade(notebook_of("a"), ())
    assert graded.spent == {"cells": 4.0, "judge": 2.0}
    assert graded.used == {"sandbox": 3.0, "judge": 0.5}


def capstone():
    return exercise_named("capstone-train_and_save")


def test_the_seconds_that_weights_take_are_taken_off_the_notebook_s(sandboxed):
    exercise = capstone()
    runs, sent = sandboxed
    runs += [(400.0, Run(killed=True, used={"sandbox": 40.0}, idle=30.0)), (1.0, Run())]
    files = {exercise.trained.file: b"weights"}
    limits = Limits(submission_seconds=100, submission_idle_seconds=50)
    graded = grade.grade(notebook_of("a"), (exercise,), limits, files=files)
    assert [limits.submission_seconds for _, limits in sent] == [100, 60]
    assert [limits.submission_idle_seconds for _, limits in sent] == [50, 20]
    assert sent[1][0].files == files
    assert graded.killed


def test_weights_are_limited_like_a_cell_and_the_limit_is_named(sandboxed):
    exercise = capstone()
    runs, sent = sandboxed
    runs += [(1.0, Run(reached={"call_seconds"})), (1.0, Run())]
    limits = Limits(cell_seconds=30, call_seconds=4)
    graded = grade.grade(notebook_of("a"), (exercise,), limits, files={exercise.trained.file: b"weights"})
    assert [limits.call_seconds for _, limits in sent] == [30, 4]
    assert graded.reached == {"cell_seconds": 30.0}
    assert graded.failure == "It reached a limit: a cell used 30 seconds of CPU time (cell_seconds)."


@pytest.mark.parametrize(("is_there", "reason"), [(False, "not handed in"), (True, "larger than")])
def test_weights_that_are_not_there_or_too_large_are_not_run(sandboxed, is_there, reason):
    exercise = capstone()
    runs, sent = sandboxed
    runs.append((1.0, Run()))
    files = {exercise.trained.file: None} if is_there else {}
    (verdict,) = grade.grade(notebook_of("a"), (exercise,), files=files).verdicts
    assert len(sent) == 1
    assert all(reason in part.reason for part in verdict.parts)
    assert verdict.earned == 0


def test_files_that_are_asked_for_are_read_up_to_a_bound_and_never_through_a_link(tmp_path):
    exercise = capstone()
    name = exercise.trained.file
    numbers = sum(math.prod(shape) for shape in exercise.trained.arrays.values())
    (tmp_path / "other.npz").write_bytes(b"other")
    assert fingerprint.read_handed_in_files([exercise], tmp_path) == {}
    (tmp_path / name).write_bytes(b"0" * 8 * numbers)
    assert len(fingerprint.read_handed_in_files([exercise], tmp_path)[name]) == 8 * numbers
    assert fingerprint.select_kept_files([exercise], {name: b"0" * 8 * numbers, "other.npz": b""}) == {
        name: b"0" * 8 * numbers
    }
    (tmp_path / name).write_bytes(b"0" * 16 * (numbers + 100_000))
    assert fingerprint.read_handed_in_files([exercise], tmp_path) == {name: None}
    assert fingerprint.select_kept_files([exercise], {name: b"0" * 16 * (numbers + 100_000)}) == {name: None}
    assert fingerprint.select_kept_files([exercise], {}) == {}
    (tmp_path / name).unlink()
    (tmp_path / name).symlink_to(tmp_path / "other.npz")
    assert fingerprint.read_handed_in_files([exercise], tmp_path) == {}
    (tmp_path / name).unlink()
    (tmp_path / name).mkdir()
    assert fingerprint.read_handed_in_files([exercise], tmp_path) == {}


def test_tests_receipts_and_trainings_are_left_out_of_what_is_run(sandboxed):
    exercise, called = capstone(), topic_exercises("scoring")[0]
    runs, sent = sandboxed
    runs.append((1.0, Run()))
    cells = {
        "mine": "x = 1",
        cell_ids.run_id(called.name): "run",
        cell_ids.test_id(exercise.name): "test of weights",
        cell_ids.test_id(called.name): "test",
        cell_ids.RECEIPT: "receipt",
    }
    notebook = notebook_of(*cells.values())
    for cell, name in zip(notebook.cells, cells, strict=True):
        cell.metadata["nbgrader"] = {"grade_id": name}
    grade.grade(notebook, (exercise, called))
    script = sent[0][0]
    assert [cell.source for cell in script.cells] == ["x = 1", "", "", "", ""]
    assert [cell.exercise for cell in script.cells] == ["", "", "", called.name, ""]
    assert list(script.calls) == [called.name]


def test_what_all_submissions_have_in_common_is_read_off_the_release():
    template = notebook_of("import torch", "answer")
    for cell, locked in zip(template.cells, (True, False), strict=True):
        cell.metadata["nbgrader"] = {"locked": locked}
    plain = grade.sources_to_prepare(template)
    assert plain.sources == ("import torch",)
    assert (plain.optimiser, plain.pictures) == (False, False)
    template.cells[1].source = "torch.optim.Adam"
    assert grade.sources_to_prepare(template).optimiser
    for word in ("matplotlib", "a heat map"):
        template.cells[1].source = word
        assert grade.sources_to_prepare(template).pictures
