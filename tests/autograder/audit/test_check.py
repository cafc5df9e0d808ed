"""`check` reports every fault of a topic with a remedy, and says so if it finds no fault."""

import functools
import re
import shutil
import types
from unittest import mock

import pytest
from typer.testing import CliRunner

from autograder import exercises
from autograder.__main__ import app
from autograder.audit import check
from autograder.audit.check import check_topic
from autograder.audit.notebook_run import NotebookRun
from autograder.errors import CourseError
from autograder.paths import BOOK
from solutions import answer_key
from solutions.answer_key import AnswerKeyError
from tests.autograder.samples import exercise_named

pytestmark = [pytest.mark.suite("audit"), pytest.mark.filterwarnings("ignore")]


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A copy of the key and the chapters for tests to break."""
    shutil.copytree(answer_key.FOLDER, tmp_path / "key", ignore=shutil.ignore_patterns("*.py"))
    shutil.copytree(BOOK, tmp_path / "book", ignore=shutil.ignore_patterns("_*", "figures"))
    return tmp_path


def spoil(path, old, new):
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def checked(project):
    with mock.patch.object(check, "CHECK_EFFORT", (4, 20)):  # none of the faults here involves mutants
        return check_topic("softmax", folder=project / "key", book=project / "book")


def faults_told(project):
    return [line for line in checked(project).lines() if line.startswith("FAULT")]


@pytest.fixture
def unaudited(monkeypatch):
    """Skip the audit of each exercise in tests of the chapter or the notebook."""
    nothing = types.SimpleNamespace(faults=(), mistakes=1, right=check.MIN_STYLES, equivalents=0, tried=0, mutants=0)
    monkeypatch.setattr(check, "_audit_exercise", lambda *_: nothing)


def test_a_good_topic_has_a_line_for_each_exercise_no_fault_and_exit_status_0():
    done = CliRunner().invoke(app, ["check", "softmax"])
    lines = done.output.splitlines()
    assert done.exit_code == 0, done.output
    assert len(lines) == len(answer_key.load("softmax")) + 1
    assert all(line.startswith("ok ") for line in lines[:-1])
    worth = r"18\.5 points, 0 warm-ups\."
    tried = r"Tried: \d+ references, \d+ mistakes, .* \d+ of \d+ mutants"
    assert re.match(rf"softmax: everything is as it should be\. {worth} {tried}", lines[-1])


def test_a_mistake_that_is_accepted_is_told_with_line_and_remedy_and_the_other_exercises_go_on(project):
    names = list(answer_key.load("softmax"))
    code = next(e for e in answer_key.load("softmax").values() if e.kind == "number")
    header = f"[{code.name}]"
    path = project / "key" / "softmax.toml"
    before, after = path.read_text(encoding="utf-8").split(header)
    path.write_text(before + header + re.sub(r"atol = \S+", "atol = 1e9", after, count=1), encoding="utf-8")
    lines = list(checked(project).lines())
    faults = [line for line in lines if line.startswith("FAULT")]
    assert len(faults) == 1
    assert re.search(rf"{code.name} .*: softmax\.toml, line \d+, \[{code.name}\]: every hidden case accepts", faults[0])
    assert "Remedy: add a hidden case" in faults[0]
    assert sum(line.startswith("ok ") for line in lines) == len(names) - 1
    assert lines[-1].startswith(f"softmax: 1 fault in {code.name}.")


def test_a_label_that_the_page_lacks_and_one_that_the_key_lacks_are_told(project, unaudited):
    name = next(iter(answer_key.load("softmax")))
    spoil(project / "book" / "softmax.md", f":label: {name}\n", ":label: softmax-unheard_of\n")
    faults = faults_told(project)
    assert re.search(
        rf"{name} .*the page has no exercise with that label. Remedy: add an exercise directive", faults[0]
    )
    assert re.search(r"softmax: .*line \d+: the page asks for softmax-unheard_of, .*Remedy: add a table", faults[1])


def test_a_chapter_that_is_not_there_is_told(project, unaudited):
    (project / "book" / "softmax.md").unlink()
    (fault,) = checked(project).faults
    assert "there is no chapter softmax" in str(fault)


def test_what_is_not_written_yet_is_told_with_the_file_to_write_it_in(project, monkeypatch):
    real = exercises.module
    nothing = types.SimpleNamespace()
    monkeypatch.setattr(exercises, "module", lambda name: nothing if ".mistakes." in name else real(name))
    monkeypatch.setattr(check, "right_answers", lambda topic: {})
    faults = [line for line in faults_told(project) if line.startswith("FAULT  softmax-entropy ")]
    assert "no mistake is listed. Remedy: write entropy__what_was_done in solutions/mistakes/softmax.py" in faults[0]
    assert "only 0 right answers in other styles; at least 2 are needed. Remedy: write entropy__style in " in faults[1]
    assert "tests/submissions/softmax.py" in faults[1]


@pytest.mark.usefixtures("unaudited")
def test_a_check_cell_that_refuses_the_reference_and_a_notebook_that_pays_for_nothing_are_told(project, monkeypatch):
    played = NotebookRun({"softmax-entropy": 3.5}, {"softmax-masked_softmax": "Not yet."})
    monkeypatch.setattr(check, "run_notebook", lambda notebook, asked, answered: played)
    faults = faults_told(project)
    assert re.search(
        r"softmax-masked_softmax .*: the check cell rejects the reference: Not yet. Remedy: fix", faults[0]
    )
    assert re.search(r"softmax-entropy .*: in the assembled notebook the untouched release earns 3.5 of 3.5", faults[1])


def test_a_key_that_cannot_be_read_is_one_sentence(project):
    spoil(project / "key" / "softmax.toml", "points = ", "pionts = ")
    with pytest.raises(AnswerKeyError, match=r"^softmax\.toml, line \d+, .*unknown field 'pionts'\n  Remedy: "):
        checked(project)


def test_the_exit_status_says_that_something_is_wrong(project, monkeypatch, unaudited):
    (project / "book" / "softmax.md").unlink()
    there = functools.partial(check_topic, folder=project / "key", book=project / "book")
    monkeypatch.setattr(check, "check_topic", there)
    done = CliRunner().invoke(app, ["check", "softmax"])
    assert done.exit_code == 1
    assert "FAULT  softmax: " in done.output


def test_help_says_what_it_does():
    done = CliRunner().invoke(app, ["check", "--help"])
    assert done.exit_code == 0
    assert "exit status 1" in done.output


def test_a_topic_that_there_is_not_is_refused():
    assert isinstance(CliRunner().invoke(app, ["check", "softmax", "cooking"]).exception, CourseError)


@pytest.mark.parametrize(
    ("right", "expected"), [(1, ["only 1 right answers in other styles; at least 2 are needed"]), (2, []), (3, [])]
)
def test_two_right_answers_in_other_styles_are_enough_and_one_is_not(right, expected):
    audited = types.SimpleNamespace(faults=(), mistakes=1, right=right)
    assert [fault.what for fault in check._faults(exercise_named("softmax-entropy"), audited)] == expected
