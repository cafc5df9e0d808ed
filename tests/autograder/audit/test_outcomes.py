"""Each outcome is computed once; with a folder, it is saved until something that it depends on changes."""

import dataclasses

import numpy as np
import pytest

from autograder.audit.outcomes import Outcomes, Version, version_of
from tests.autograder.audit.toys import STRONG, mix, mix__added, toy

pytestmark = pytest.mark.suite("audit")


@pytest.fixture
def exercise(tmp_path):
    (exercise,) = toy(tmp_path, STRONG, mistakes=[mix__added])
    return exercise


def counted(function, text="text"):
    """Return a version and the list in which it records its calls."""

    def called(x, y):
        calls.append(x.shape)
        return function(x, y)

    calls = []
    return Version(function.__name__, called, text), calls


def save_outcomes(exercise, folder, version):
    outcomes = Outcomes(exercise, folder)
    outcomes.passes(version)
    outcomes.save()


def test_a_version_is_run_once_on_each_case(exercise):
    outcomes = Outcomes(exercise)
    version, calls = counted(mix)
    for _ in range(2):
        assert outcomes.passes(version)
        assert outcomes.failed_cases(version) == ()
    assert len(calls) == len(exercise.hidden)


def test_the_first_wrong_case_decides_whether_a_version_passes(exercise):
    version, calls = counted(mix__added)
    assert not Outcomes(exercise).passes(version)
    assert len(calls) == 1


def test_the_cases_that_a_version_fails_are_named(exercise):
    def right_for_one_row(x, y):
        return mix(x, y) if len(x) == 1 else np.zeros(x.shape)

    assert Outcomes(exercise).failed_cases(version_of(right_for_one_row)) == (
        "drawn",
        "drawn, once more after all others",
    )


def test_a_verdict_says_what_is_earned_and_whether_a_mistake_got_its_hint(exercise):
    outcomes = Outcomes(exercise)
    assert outcomes.earned(version_of(mix)) == exercise.points
    assert outcomes.earned(version_of(mix__added)) == 0
    assert outcomes.gets_own_hint(version_of(mix__added))
    assert not outcomes.gets_own_hint(version_of(mix__added, "mix__not_listed"))


def test_saved_outcomes_are_read_again(exercise, tmp_path):
    folder = tmp_path / "outcomes"
    outcomes = Outcomes(exercise, folder)
    version, calls = counted(mix__added)
    expected = outcomes.failed_cases(version), outcomes.verdict(version)
    outcomes.save()
    calls.clear()
    saved = Outcomes(exercise, folder)
    assert (saved.failed_cases(version), saved.verdict(version)) == expected
    assert not calls


@pytest.mark.parametrize("what", ["the text of the version", "the exercise", "the time that a call may take"])
def test_outcomes_are_worked_out_anew_when_something_changes(exercise, tmp_path, what):
    version, calls = counted(mix)
    save_outcomes(exercise, tmp_path / "outcomes", version)
    calls.clear()
    if what == "the text of the version":
        version = dataclasses.replace(version, text="another text")
    changed = dataclasses.replace(exercise, hints={}) if what == "the exercise" else exercise
    seconds = 9.0 if what == "the time that a call may take" else None
    assert Outcomes(changed, tmp_path / "outcomes", seconds).passes(version)
    assert calls


def test_a_version_without_a_text_is_not_saved(exercise, tmp_path):
    version, calls = counted(mix, text="")
    save_outcomes(exercise, tmp_path / "outcomes", version)
    calls.clear()
    assert Outcomes(exercise, tmp_path / "outcomes").passes(version)
    assert calls


def test_a_saved_file_that_cannot_be_read_is_worked_out_anew(exercise, tmp_path):
    save_outcomes(exercise, tmp_path / "outcomes", version_of(mix))
    (path,) = (tmp_path / "outcomes").iterdir()
    path.write_bytes(b"broken")
    assert Outcomes(exercise, tmp_path / "outcomes").passes(version_of(mix))


def test_an_outcome_that_a_time_limit_decided_is_not_saved(exercise, tmp_path):
    def endless(x, y):
        calls.append(x.shape)
        while True:
            x = x + 0

    calls = []
    version = Version("endless", endless, "text")
    outcomes = Outcomes(exercise, tmp_path / "outcomes", 0.1)
    assert not outcomes.passes(version)
    assert outcomes.earned(version) == 0
    outcomes.save()
    calls.clear()
    assert not Outcomes(exercise, tmp_path / "outcomes", 0.1).passes(version)
    assert calls
