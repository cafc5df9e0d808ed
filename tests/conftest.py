"""Shared fixtures, and the shares of time: each suite says what it took."""

import time

import hypothesis
import pytest

SHARES = {
    "project": 1,
    "book": 6,
    "solutions": 3,
    "autograder": 3,
    "assignments": 6,
    "sandbox": 8,
    "audit": 8,
}  # minutes

hypothesis.settings.register_profile("sample", max_examples=25, deadline=None, derandomize=True)
hypothesis.settings.register_profile("full", max_examples=400, deadline=None)


def pytest_addoption(parser):
    parser.addoption("--full", action="store_true", help="take every sample whole")
    parser.addoption("--quick", action="store_true", help="leave out what builds, grades or starts a sandbox")


def pytest_configure(config):
    config.addinivalue_line("markers", "suite(name): the share of time that a test counts towards")
    hypothesis.settings.load_profile("full" if config.getoption("--full") else "sample")
    config.stash[TOOK] = {}


TOOK = pytest.StashKey()
SLOW = ("book", "assignments", "sandbox")


def pytest_collection_modifyitems(config, items):
    if config.getoption("--quick"):
        slow = [item for item in items if _suite(item) in SLOW]
        config.hook.pytest_deselected(items=slow)
        items[:] = [item for item in items if item not in slow]


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    began = time.monotonic()
    yield
    took = item.config.stash[TOOK]
    took[_suite(item)] = took.get(_suite(item), 0.0) + time.monotonic() - began


def pytest_terminal_summary(terminalreporter, config):
    terminalreporter.section("time by suite")
    for suite, seconds in config.stash[TOOK].items():
        terminalreporter.line(f"{suite:12} {seconds:6.0f} s of {SHARES[suite] * 60:4} s")
    if not config.getoption("--full"):
        terminalreporter.line(
            "Property tests took a fixed sample of 25 examples; `make test-full` takes 400, at random."
        )


def _suite(item):
    marker = item.get_closest_marker("suite")
    if marker:
        return marker.args[0]
    parts = item.nodeid.split("/")
    return parts[1] if len(parts) > 2 else "project"


@pytest.fixture(scope="session")
def released(tmp_path_factory):
    """A course in which the scoring assignment is released with seed 0. Copy it before changing anything."""
    from autograder.course import init
    from autograder.release import release

    course = init(tmp_path_factory.mktemp("course"))
    release(course, "scoring", seed=0)
    return course


@pytest.fixture(scope="session")
def demonstration(tmp_path_factory, released):
    """The demonstration class, graded by the command line: (course, rows by student, students by name)."""
    import shutil

    from autograder import batch, demo
    from autograder.course import Course
    from autograder.sandbox import Limits

    root = tmp_path_factory.mktemp("class") / "course"
    shutil.copytree(released.root, root)
    course = Course.at(root)
    students = demo.hand_in(course, "scoring")
    limits = Limits(cell_seconds=4, call_seconds=2, submission_seconds=60)
    rows = batch.grade_class(course, "scoring", limits)
    return course, {row.student: row for row in rows}, {student.name: student for student in students}
