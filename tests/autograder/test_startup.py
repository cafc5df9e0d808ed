"""Commands that only read a release start at once: they import nothing that plots, runs, judges or shows answers."""

import re
import shutil
import subprocess
import sys

import pytest

from tests.autograder.test_main import succeed

pytestmark = pytest.mark.suite("assignments")

HEAVY = {"torch", "numpy", "matplotlib", "nbgrader", "nbconvert", "jupytext", "myst_parser", "sphinx", "IPython"}
STUDENTS = "ada_loops", "emil_no_tanh"
LIMITS = """
c.Judge.cell_seconds, c.Judge.call_seconds, c.Judge.submission_seconds = 4, 2, 60  # as in the demonstration class
"""


@pytest.fixture(scope="module")
def course(demonstration, tmp_path_factory):
    graded, _, _ = demonstration
    root = tmp_path_factory.mktemp("started") / "course"
    shutil.copytree(graded.root, root)
    with (root / "nbgrader_config.py").open("a") as config:
        config.write(LIMITS)
    for student in ("ada", "ben"):
        folder = root.parent / "archive" / student
        folder.mkdir(parents=True)
        shutil.copy(graded.releases("scoring").file, folder)
    succeed("grade", "scoring", *STUDENTS, "--course", root)  # by the verdicts that are known
    return root


def run(*command):
    """Return the exit status of a command, what it printed, and the packages that it imported."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "autograder", *map(str, command)], capture_output=True, text=True
    )
    return done.returncode, done.stdout, set(re.findall(r"^import time:.*\| +(\w+)$", done.stderr, flags=re.MULTILINE))


@pytest.mark.parametrize(("command", "done"), [("grade", "2 reused"), ("grade --dry-run", "2 would stay the same")])
def test_a_class_with_nothing_to_do_is_graded_without_what_grades(course, command, done):
    status, output, imported = run(*command.split(), "scoring", *STUDENTS, "--course", course)
    assert (status, done in output) == (0, True), output
    assert "typer" in imported
    assert imported & HEAVY == set()


@pytest.mark.parametrize(
    ("command", "status"),
    [
        (["--help"], 0),
        (["collect", "scoring", "ARCHIVE", "--course", "COURSE"], 0),
        (["mark", "scoring", "no_such_exercise", "--course", "COURSE"], 2),
        (["export", "scoring", "--output", "GRADES", "--course", "COURSE"], 3),
        (["restore", "--course", "COURSE"], 0),
    ],
)
def test_what_grades_nothing_imports_nothing_that_grades(course, command, status):
    places = {"COURSE": course, "ARCHIVE": course.parent / "archive", "GRADES": course.parent / "grades.csv"}
    ended, output, imported = run(*(places.get(word, word) for word in command))
    assert ended == status, output
    assert imported & HEAVY == set()
