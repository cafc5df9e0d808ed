"""The audit finds each kind of fault, and every exercise of the course passes it."""

import dataclasses

import numpy as np
import pytest

from autograder import exercises
from autograder.audit import equivalents, run, show
from autograder.audit.outcomes import FOLDER, Outcomes, version_of
from autograder.audit.report import Report
from tests.autograder.answers import find_expected_digits, judge_answer
from tests.autograder.audit.toys import STRONG, WEAK, audited, mix, mix__added, mix__said_elsewhere, toy
from tests.autograder.samples import TOPICS

pytestmark = pytest.mark.suite("audit")


@pytest.mark.parametrize("topic", TOPICS)
@pytest.mark.filterwarnings("ignore")
def test_the_grader_of_every_exercise_stands_the_audit(topic, pytestconfig):
    full = pytestconfig.getoption("--full")  # otherwise a sample of the mutants, and one draw of the hidden cases
    audited = list(run.audit_topic(topic, full))
    assert audited
    report = Report(tuple(audited), full=full)
    assert report.passed, "\n".join(show.details(report))
    for exercise_audit in audited:
        assert exercise_audit.tried > 0 or exercise_audit.kind == "number"
        if full:
            assert exercise_audit.tried == exercise_audit.mutants
        else:
            assert exercise_audit.tried >= min(exercise_audit.mutants, run.MAX_SAMPLED_MUTANTS)


@pytest.mark.parametrize("topic", TOPICS)
@pytest.mark.filterwarnings("ignore")
def test_no_reason_and_no_hint_on_a_listed_mistake_contains_an_expected_value(topic):
    mistakes, leaks = vars(exercises.module(f"solutions.mistakes.{topic}")), []
    for exercise in filter(lambda exercise: exercise.is_called, exercises.load(topic, 0)):
        outcomes = Outcomes(exercise, FOLDER)  # which the audit has just computed
        for name, function in exercises.versions(mistakes, exercise.function).items():
            if find_expected_digits(exercise, outcomes.verdict(version_of(function, name))):
                answer = judge_answer(exercise, name, function)  # the digits may be its own
                leaks += [f"{answer} gives away {answer.leaked}"] if answer.leaked else []
        outcomes.save()
    assert not leaks, "\n".join(leaks)


def test_a_sample_says_its_size_and_is_the_same_for_the_same_seed(tmp_path):
    (exercise,) = toy(tmp_path, STRONG)
    first, second = (run.audit_exercise([Outcomes(exercise)], mix, seed=3) for _ in range(2))
    assert first == second
    assert first.tried == min(run.MAX_SAMPLED_MUTANTS, first.mutants)
    assert f"at most {run.MAX_SAMPLED_MUTANTS} per exercise, seed 3" in show.summary(Report((first,), seed=3))
    assert "all of them" in show.summary(Report((first,), full=True))


def test_a_tolerance_that_is_too_narrow_rejects_equivalents(tmp_path, monkeypatch):
    monkeypatch.setitem(equivalents.NUMBER_STYLES, "rounded otherwise", lambda item: np.asarray(item) * (1 + 1e-12))
    exercise_audit = audited(tmp_path, STRONG + "atol = 1e-13")
    assert exercise_audit.equivalents_rejected == ("rounded otherwise",)
    assert not exercise_audit.passed


FAULTS = {
    "a right answer that is rejected": ({"right": {"mix__late": mix__added}}, "right_rejected", ("mix__late",)),
    "a mistake that is accepted": ({"mistakes": {"mix__right": mix}}, "mistakes_accepted", ("mix__right",)),
    "a mistake without its hint": ({"mistakes": {"mix__x": mix__said_elsewhere}}, "hints_missed", ("mix__x",)),
    "a weak key": ({"problems": ("no case",)}, "problems", ("no case",)),
}


@pytest.mark.parametrize(("more", "name", "expected"), FAULTS.values(), ids=FAULTS)
def test_each_fault_is_found_and_told(tmp_path, more, name, expected):
    exercise_audit = audited(tmp_path, STRONG, **more)
    assert getattr(exercise_audit, name) == expected
    assert not exercise_audit.passed
    assert any(expected[0] in line for line in show.details(Report((exercise_audit,))))


def mix__first_column(x, y):
    """You took the first column of y for their mean."""
    return 2 * x - y[:, :1] / 2


def test_a_mistake_whose_points_depend_on_the_draw_is_found_and_told(tmp_path):
    draws = [Outcomes(toy(tmp_path, case)[0]) for case in (STRONG, WEAK)]
    mistakes = {"mix__first_column": mix__first_column, "mix__added": mix__added}
    found = run.audit_exercise(draws, mix, mistakes)
    assert mistakes.keys() & {*found.unsteady} == {"mix__first_column"}
    details = "\n".join(show.details(Report((found,))))
    assert "its points depend on the seed: mix__first_column" in details


def test_a_starter_that_answers_and_a_reference_that_fails_are_told(tmp_path):
    (exercise,) = toy(tmp_path, STRONG)
    answered = dataclasses.replace(exercise, source=exercise.source.replace("###", "#"))
    exercise_audit = run.audit_exercise([Outcomes(answered)], mix__added)
    details = "\n".join(show.details(Report((exercise_audit,))))
    assert "the untouched starter earns 2 points" in details
    assert "the reference earns 0 of 2 points" in details
