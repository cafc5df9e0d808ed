"""Shared fixtures, the order of the tests, and the CPU time that each suite takes against its budget."""

import gc
import os
import re
import shutil

import hypothesis
import pytest

from tests import refusals, shared
from tests.book import website
from tests.shared import made_once

BUDGETS = {  # CPU seconds per suite, in the order in which suites run: no long file comes last
    "sandbox": 200,
    "assignments": 250,
    "audit": 150,
    "book": 240,
    "autograder": 60,
    "solutions": 30,
    "project": 30,
}
# They take longest, or produce what others use.
FIRST = ["test_grade_class.py", "test_run.py", "test_on_jupyterhub.py", "test_hostile.py", "test_resume.py"]
FIRST += ["test_in_jupyterlab.py", "test_one_fate.py", "test_cluster.py", "test_gradescope.py", "test_release.py"]
FIRST += ["test_grades_as_due.py", "test_every_answer.py", "test_judge.py", "test_blind.py", "test_project.py"]
FIRST_OF_THE_BOOK = ["test_browser.py", "test_axe.py", "test_figures.py"]  # the website is built by then

# A derandomised run tries the same examples every time, so only `make test-full` can find what another draw would show.
hypothesis.settings.register_profile("quick", max_examples=8, deadline=None, derandomize=True)
hypothesis.settings.register_profile("test", max_examples=100, deadline=None, derandomize=True)
hypothesis.settings.register_profile("full", max_examples=2000, deadline=None, print_blob=True)


def pytest_addoption(parser):
    parser.addoption("--quick", action="store_true", help="leave out what builds, grades or starts a sandbox")
    parser.addoption("--full", action="store_true", help="more examples and seeds, and the tests marked full: hours")


def pytest_configure(config):
    config.addinivalue_line("markers", "suite(name): the suite whose budget of CPU time a test counts towards")
    config.addinivalue_line("markers", "slow: takes seconds, or its file takes minutes; --quick leaves it out")
    config.addinivalue_line("markers", "e2e: needs a real browser, JupyterHub, JupyterLab or PostgreSQL")
    config.addinivalue_line("markers", "full(reason): proves again what another test proves; only --full runs it")
    hypothesis.settings.load_profile(_depth(config))
    config.stash[TOOK], config.stash[BY_TEST] = {}, {}
    config.pluginmanager.register(_Clock(config.stash[TOOK], config.stash[BY_TEST]), "clock")
    config.pluginmanager.register(refusals, "refusals")
    config.pluginmanager.register(shared, "shared")
    if hasattr(config, "workerinput"):
        website.stand_back()
    elif _runs_everything(config) and config.getoption("numprocesses", None):
        config.pluginmanager.register(website.Ahead(), "website")


def _depth(config):
    """Return which of the three runs this is, "quick", "test" or "full": `make check`, `make test` or `make test-full`."""
    return "quick" if config.getoption("--quick") else "full" if config.getoption("--full") else "test"


def _runs_everything(config):
    """Return whether the run is limited neither to files nor to a subset of the tests."""
    chosen = config.getoption("keyword") or config.getoption("markexpr") or config.getoption("--quick")
    return config.args_source is not pytest.Config.ArgsSource.ARGS and not chosen


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config):
    """Run two processes per core, because half of the time is spent waiting for time limits; the quick tests never wait."""
    return os.cpu_count() * (1 if config.getoption("--quick") else 2)


TOOK, BY_TEST = pytest.StashKey(), pytest.StashKey()
SLOW = ("book", "assignments", "sandbox", "audit")
SLOW_FILE = re.compile(r"^pytestmark = .*\bpytest\.mark\.slow\b", flags=re.MULTILINE)
MARKED = re.compile(r'^pytestmark = .*\bpytest\.mark\.suite\("(\w+)"\)', flags=re.MULTILINE)


def pytest_ignore_collect(collection_path, config):
    """Skip the files that a quick run leaves out: importing them takes longer than any test."""
    if not config.getoption("--quick") or not collection_path.name.startswith("test_"):
        return None
    text = collection_path.read_text(encoding="utf-8")
    marked = MARKED.search(text)
    suite = marked[1] if marked else collection_path.relative_to(config.rootpath / "tests").parts[0]
    return True if suite in SLOW or SLOW_FILE.search(text) else None


def pytest_collection_modifyitems(config, items):
    if config.getoption("--quick"):
        slow = {item for item in items if _suite(item) in SLOW or item.get_closest_marker("slow")}
        config.hook.pytest_deselected(items=[item for item in items if item in slow])
        items[:] = [item for item in items if item not in slow]
    if not config.getoption("--full"):
        again = {item for item in items if item.get_closest_marker("full")}
        config.hook.pytest_deselected(items=[item for item in items if item in again])
        items[:] = [item for item in items if item not in again]
    items.sort(key=_place)


def pytest_collection_finish():
    """Exempt what has been imported from garbage collection, which would traverse it again and again."""
    gc.freeze()


def _place(item):
    """Return the sort key of a test: files that take longest, or produce what others wait for, come first."""
    name = item.path.name
    first = FIRST.index(name) if name in FIRST else len(FIRST)
    return first, list(BUDGETS).index(_suite(item)), name not in FIRST_OF_THE_BOOK


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """Measure the CPU time of a test and of the processes that it started and waited for."""
    item.stash[BEGAN] = sum(os.times()[:4])
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    now = sum(os.times()[:4])
    report.user_properties.append(("cpu", (_suite(item), now - item.stash[BEGAN])))
    item.stash[BEGAN] = now
    return report


BEGAN = pytest.StashKey()


class _Clock:
    """Adds up the CPU time of each suite and of each test, whichever processes run them."""

    def __init__(self, took, by_test):
        self.took, self.by_test = took, by_test

    def pytest_runtest_logreport(self, report):
        suite, seconds = dict(report.user_properties).get("cpu", ("project", 0.0))
        self.took[suite] = self.took.get(suite, 0.0) + seconds
        self.by_test[report.nodeid] = self.by_test.get(report.nodeid, 0.0) + seconds


SAMPLES = {  # what the summary says of the three runs
    "quick": "A quick sample: 8 examples of each property, and nothing that builds, grades or starts a sandbox.",
    "test": "A sample: 100 examples of each property, the same in every run, and one seed. make test-full tries 2000 new ones, "
    "more seeds and crash points, and trains the recorded models again.",
    "full": "The whole: 2000 new examples of each property, every seed and crash point, and models trained again.",
}


def pytest_terminal_summary(terminalreporter, config):
    terminalreporter.write_line(SAMPLES[_depth(config)])
    terminalreporter.section("CPU seconds by suite: of its tests and of the processes they waited for")
    for suite, seconds in sorted(config.stash[TOOK].items()):
        over = f", {seconds / BUDGETS[suite]:.1f} times the budget" if seconds > BUDGETS[suite] else ""
        terminalreporter.line(f"{suite:12} {seconds:6.0f} of {BUDGETS[suite]:4d}{over}")
    count, by_test = config.getoption("--durations") or 0, config.stash[BY_TEST]
    for name in sorted(by_test, key=by_test.get, reverse=True)[:count]:
        terminalreporter.line(f"{by_test[name]:7.1f} {name}")


def _suite(item):
    marker = item.get_closest_marker("suite")
    if marker:
        return marker.args[0]
    folder = item.nodeid.split("/")[1]
    return folder if folder in BUDGETS else "project"  # as are the files directly in tests/


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """A course, one per module, that has released the scoring assignment with seed 0. Copy it before changing anything."""
    return _copy_course(_release_once(), tmp_path_factory)


def _release_once():
    from autograder.courses.course import init
    from autograder.releases.release import release

    def make(folder):
        course = init(folder / "course")
        release(course, "scoring", seed=0)
        return course

    return made_once("released", make)


def _copy_course(course, tmp_path_factory):
    """Return a copy: even a refused command may write into a course while other processes are copying it."""
    root = tmp_path_factory.mktemp("copy") / "course"
    shutil.copytree(course.root, root)
    return type(course).at(root)


@pytest.fixture(scope="module")
def demonstration(tmp_path_factory):
    """The graded demonstration class: (course, rows by student, students by name), one per module like ``released``."""
    from autograder.batch.context import GradingOptions
    from autograder.batch.grade_class import grade_class
    from autograder.courses import demo
    from autograder.courses.course import Course

    def make(folder):
        shutil.copytree(_release_once().root, folder / "course")
        course = Course.at(folder / "course")
        demo.hand_in(course, "scoring")
        return course, {row.student: row for row in grade_class(course, "scoring", GradingOptions(demo.LIMITS))}

    course, rows = made_once("demonstration", make)
    course = _copy_course(course, tmp_path_factory)
    return course, rows, {student.name: student for student in demo.load_students()}
