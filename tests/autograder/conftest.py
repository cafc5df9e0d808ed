"""Fixtures that most tests of the autograder use."""

import contextlib
import shutil
from concurrent.futures import ThreadPoolExecutor

import pytest

from autograder.courses.course import Course


@pytest.fixture
def course(released, tmp_path):
    """A course for one test, in which scoring is released."""
    shutil.copytree(released.root, tmp_path / "course")
    return Course.at(tmp_path / "course")


@pytest.fixture
def unproved(monkeypatch):
    """Release without running references, starters and mistakes, which takes long and is covered by `test_release`."""
    for proof in ("prove", "prove_fairness"):
        monkeypatch.setattr(f"autograder.releases.release.{proof}", lambda *args: None)


@pytest.fixture
def any_seed(monkeypatch):
    """Take the first seed that is drawn; how many mistakes its cases catch is tested elsewhere."""
    from autograder.audit.search import CaughtMistakes

    caught = CaughtMistakes("", 1, 1, ())
    monkeypatch.setattr("autograder.audit.search.count_caught", lambda exercise, verbose: caught)


@pytest.fixture
def graded_without_sandbox(monkeypatch):
    """Grade in a thread of this process, where every automatic exercise is right and nothing is run."""
    from tests.autograder.essays import all_right

    @contextlib.contextmanager
    def start(runs, count):
        with ThreadPoolExecutor(1) as pool:
            yield pool

    monkeypatch.setattr("autograder.grading.workers.start_preloading", lambda: None)
    monkeypatch.setattr("autograder.batch.grade_class.start_workers", start)
    monkeypatch.setattr("autograder.grading.grade.grade", all_right)
