"""A broken key, page or reference gives one sentence with place and remedy, not a traceback in each test file.

A pytest plugin. Such an error ends the run, whether it occurs at collection or in a test. A worker of pytest-xdist only
reports the sentence; the main process ends the run.
"""

import re
import traceback
from pathlib import Path

import pytest

from autograder.exercises.modules import refusal
from autograder.paths import ROOT
from solutions import answer_key
from solutions.errors import CourseError

SENTENCE = re.compile(r"\S[^\n]*: [^\n]*\n  Remedy: ")


def pytest_configure(config):
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(_End(), "end")


class _End:
    """Ends the run as soon as a report holds such a sentence, and prints nothing else."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_collectreport(self, report):
        if report.failed and SENTENCE.match(str(report.longrepr)):
            pytest.exit(str(report.longrepr), returncode=1)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report):
        self.pytest_collectreport(report)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    report = yield
    if report.call.excinfo and (error := _of_collecting(report.call.excinfo.value)):
        report.longrepr = str(error)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    error = call.excinfo.value if report.failed and call.excinfo else None
    if isinstance(error, CourseError) and _own_place().match(str(error)):
        report.longrepr = str(error)
    return report


def _of_collecting(error):
    """Return the refusal that ``error`` is or stems from; None for any other fault."""
    if isinstance(error, CourseError):
        return error
    error = error.__cause__ if isinstance(error, pytest.Collector.CollectError) else error
    answers = [f for f in traceback.extract_tb(error.__traceback__) if _is_answer(f.filename)] if error else []
    if isinstance(error, SyntaxError) and _is_answer(error.filename or ""):
        return refusal(error, Path(error.filename))
    return refusal(error, Path(answers[-1].filename)) if answers and answers[-1].name == "<module>" else None


def _is_answer(filename):
    return Path(filename).is_relative_to(ROOT / "solutions")


def _own_place():
    """Return a pattern for errors in the project's own files; a test's toys lie elsewhere."""
    return re.compile(rf"book/|solutions/|tests/submissions/|({'|'.join(answer_key.topics())})\.toml\b")
