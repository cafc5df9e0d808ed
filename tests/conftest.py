"""Shared fixtures, and the shares of time: each suite says what it took."""

import os
import re
import shutil

import hypothesis
import pytest

from tests import refusals, shared, turns
from tests.book import website
from tests.shared import made_once

SHARES = {  # in this order, so that no long file comes last
    "sandbox": 7,
    "assignments": 4,
    "audit": 1,
    "book": 5,
    "autograder": 1.5,
    "solutions": 0.5,
    "project": 1,
}  # minutes of all processes together: on two cores these are four, so that the whole takes five
FIRST = [
    "test_grade_class.py",
    "test_hostile.py",
    "test_judge.py",
    "test_resume.py",
    "test_one_fate.py",
    "test_cluster.py",
]
FIRST += ["test_release.py"]
FIRST_OF_THE_BOOK = ["test_browser.py", "test_axe.py", "test_figures.py"]  # by then the website stands

hypothesis.settings.register_profile("quick", max_examples=8, deadline=None, derandomize=True)
hypothesis.settings.register_profile("sample", max_examples=25, deadline=None, derandomize=True)
hypothesis.settings.register_profile("full", max_examples=400, deadline=None)


def pytest_addoption(parser):
    parser.addoption("--full", action="store_true", help="take every sample whole")
    parser.addoption("--quick", action="store_true", help="leave out what builds, grades or starts a sandbox")
    parser.addoption("--no-website", action="store_true", help="leave out the book's tests: no website, browser or hub")
    turns.add_option(parser)


def pytest_configure(config):
    config.addinivalue_line("markers", "suite(name): the share of time that a test counts towards")
    hypothesis.settings.load_profile(_profile(config))
    config.stash[TOOK] = {}
    config.pluginmanager.register(_Clock(config.stash[TOOK]), "clock")
    config.pluginmanager.register(refusals, "refusals")
    config.pluginmanager.register(shared, "shared")
    config.pluginmanager.register(turns, "turns")
    if hasattr(config, "workerinput"):
        website.stand_back()
    elif turns.is_whole(config) and config.getoption("numprocesses", None) and "book" not in _left_out(config):
        config.pluginmanager.register(website.Ahead(), "website")


def _profile(config):
    return "full" if config.getoption("--full") else "quick" if config.getoption("--quick") else "sample"


def sample_of_mutants(config):
    """Return how many mutants of an exercise are tried; None: all."""
    return {"full": None, "sample": 30, "quick": 20}[_profile(config)]


def draws_of_a_key(config):
    """Return with how many draws of its hidden cases each key is linted."""
    return 2 if config.getoption("--full") else 1


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config):
    """Take two processes a core, because half of the time is spent waiting for limits; the quick tests never wait."""
    return os.cpu_count() * (1 if config.getoption("--quick") else 2)


TOOK = pytest.StashKey()
SLOW = ("book", "assignments", "sandbox")
MARKED = re.compile(r'^pytestmark = \[?pytest\.mark\.suite\("(\w+)"\)', flags=re.MULTILINE)


def pytest_ignore_collect(collection_path, config):
    """Leave unread the files that a run leaves out: importing them takes longer than any test."""
    if not _left_out(config) or not collection_path.name.startswith("test_"):
        return None
    marked = MARKED.search(collection_path.read_text(encoding="utf-8"))
    suite = marked[1] if marked else collection_path.relative_to(config.rootpath / "tests").parts[0]
    return True if suite in _left_out(config) else None


def _left_out(config):
    """Return the suites that a run leaves out."""
    if config.getoption("--quick"):
        return SLOW
    return ("book",) if config.getoption("--no-website") else ()


def pytest_collection_modifyitems(config, items):
    if suites := _left_out(config):
        away = [item for item in items if _suite(item) in suites]
        config.hook.pytest_deselected(items=away)
        items[:] = [item for item in items if _suite(item) not in suites]
    items.sort(key=_place)
    turns.keep(config, items, _suite)


def _place(item):
    """Return where a test comes: first the files that take longest or that make what others wait for."""
    name = item.path.name
    first = FIRST.index(name) if name in FIRST else len(FIRST)
    return first, list(SHARES).index(_suite(item)), name not in FIRST_OF_THE_BOOK


def pytest_runtest_setup(item):
    item.user_properties.append(("suite", _suite(item)))


class _Clock:
    """Adds up what each suite took, in whatever process its tests ran."""

    def __init__(self, took):
        self.took = took

    def pytest_runtest_logreport(self, report):
        suite = dict(report.user_properties).get("suite", "project")
        self.took[suite] = self.took.get(suite, 0.0) + report.duration


def pytest_terminal_summary(terminalreporter, config):
    terminalreporter.section("time by suite, in all processes together")
    for suite, seconds in sorted(config.stash[TOOK].items()):
        terminalreporter.line(f"{suite:12} {seconds:6.0f} s of {SHARES[suite] * 60:4.0f} s")
    if sentence := turns.said(config):
        terminalreporter.line(sentence)
    if not config.getoption("--full"):
        examples = hypothesis.settings.get_profile(_profile(config)).max_examples
        terminalreporter.line(
            f"Property tests took a fixed sample of {examples} examples at most, the audit one of "
            f"{sample_of_mutants(config)} mutants an exercise, the comparison with stock nbgrader 2 students, the kills one "
            "run, the linter one draw of each key, axe-core a quarter of the pages at one width; `make test-full` takes 400 at "
            "random, all, all, three, two, and two."
        )


def _suite(item):
    marker = item.get_closest_marker("suite")
    if marker:
        return marker.args[0]
    folder = item.nodeid.split("/")[1]
    return folder if folder in SHARES else "project"  # as is a file beside them


@pytest.fixture(scope="session")
def released():
    """A course in which the scoring assignment is released with seed 0. Copy it before changing anything."""
    from autograder.courses.course import init
    from autograder.releases.release import release

    def make(folder):
        course = init(folder / "course")
        release(course, "scoring", seed=0)
        return course

    return made_once("released", make)


@pytest.fixture(scope="session")
def capstone_weights():
    """The weights that the capstone's reference trains, as the bytes of a file: training takes a while."""
    from autograder.releases.proof import reference_files
    from tests.autograder.samples import topic_exercises

    (weights,) = made_once("weights", lambda _: reference_files(topic_exercises("capstone"))).values()
    return weights


@pytest.fixture(scope="session")
def demonstration(released):
    """The demonstration class, graded: (course, rows by student, students by name). Copy it before changing anything."""
    from autograder.batch.context import GradingOptions
    from autograder.batch.grade_class import grade_class
    from autograder.courses import demo
    from autograder.courses.course import Course
    from autograder.sandbox import Limits

    def make(folder):
        shutil.copytree(released.root, folder / "course")
        course = Course.at(folder / "course")
        demo.hand_in(course, "scoring")
        limits = Limits(cell_seconds=4, call_seconds=2, submission_seconds=60)
        return course, {row.student: row for row in grade_class(course, "scoring", GradingOptions(limits))}

    course, rows = made_once("demonstration", make)
    return course, rows, {student.name: student for student in demo.students()}
