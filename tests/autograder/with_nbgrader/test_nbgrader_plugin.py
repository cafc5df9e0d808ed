"""Honest students whose code prints no warnings get the same grades from nbgrader with and without the plugin."""

import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from nbgrader.api import Gradebook

from autograder.batch.grade_class import grade_class
from autograder.courses import demo
from autograder.courses.course import Course
from autograder.courses.standing import load_graded
from tests.autograder.essays import ESSAY, hand_in_as
from tests.autograder.samples import sample

pytestmark = pytest.mark.suite("assignments")
QUIET = [student.name for student in demo.load_students() if student.kind in ("right", "wrong", "unfinished")]
UNLIKE = ("dara_torch", "gita_slips", "jun_untouched")  # right, wrong in several ways, not begun
ALIKE = "right in another style, wrong in another exercise, or half finished"


def nbgrader(*args, cwd):
    """Run a command of nbgrader, which must succeed; return its output."""
    programs = os.path.dirname(sys.executable)
    env = {**os.environ, "PATH": os.pathsep.join([programs, os.environ["PATH"]])}
    command = [os.path.join(programs, "nbgrader"), *args]
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    return done.stdout + done.stderr


def grades(course, student):
    with Gradebook(course.gradebook.url) as gradebook:
        notebook = gradebook.find_submission_notebook("scoring", "scoring", student)
        return {grade.name: (grade.score, grade.needs_manual_grade) for grade in notebook.grades}


def entries(course, student):
    """Return everything that the gradebook holds on a submission, field by field."""
    with Gradebook(course.gradebook.url) as gradebook:
        notebook = gradebook.find_submission_notebook("scoring", "scoring", student)
        values = {
            ("submission", name): getattr(notebook.assignment, name) for name in ("timestamp", "extension", "score")
        }
        values |= {
            ("notebook", name): getattr(notebook, name) for name in ("late_submission_penalty", "flagged", "score")
        }
        for grade in notebook.grades:
            fields = grade.auto_score, grade.manual_score, grade.extra_credit, grade.max_score, grade.needs_manual_grade
            values["grade", grade.name] = fields
        for comment in notebook.comments:
            values["comment", comment.name] = comment.auto_comment, comment.manual_comment
        return values


def only(course, names):
    for path in (course.root / "submitted").iterdir():
        if path.name not in names:
            shutil.rmtree(path)


@pytest.fixture(scope="module")
def stock(tmp_path_factory, released, pytestconfig):
    """The quiet honest students and two others, graded by nbgrader alone, without the plugin."""
    root = tmp_path_factory.mktemp("stock") / "course"
    shutil.copytree(released.root, root)
    course = Course.at(root)
    patient = "c.Execute.timeout = c.Execute.startup_timeout = 600"  # seconds: machines may be busy
    course.config.write_text(f"c = get_config()\nc.CourseDirectory.course_id = 'attention'\n{patient}\n")
    quiet = QUIET if pytestconfig.getoption("--full") else UNLIKE
    hand_in_as(course, *quiet, "kofi_noisy", "tom_patches_tests")
    nbgrader("autograde", "scoring", cwd=root)
    return course


@pytest.mark.parametrize("quiet", sample(QUIET, UNLIKE, ALIKE))
def test_stock_nbgrader_gives_the_quiet_honest_the_same_grades(stock, demonstration, quiet):
    assert grades(stock, quiet) == grades(demonstration[0], quiet)


def test_stock_nbgrader_takes_a_warning_for_a_failure_and_the_plugin_does_not(stock, demonstration):
    noisy = "scoring-additive_score-test"
    assert grades(stock, "kofi_noisy")[noisy][0] == 0
    assert grades(demonstration[0], "kofi_noisy")[noisy][0] == 3


def test_stock_nbgrader_believes_patched_tests_and_the_plugin_does_not(stock, demonstration):
    assert sum(score for score, _ in grades(stock, "tom_patches_tests").values()) > 10
    assert sum(score for score, _ in grades(demonstration[0], "tom_patches_tests").values()) == 0


BUTTON = """
import sys
from nbgrader.apps.api import NbGraderAPI
from nbgrader.coursedir import CourseDirectory
from traitlets.config.loader import PyFileConfigLoader
config = PyFileConfigLoader("nbgrader_config.py").load_config()
api = NbGraderAPI(CourseDirectory(config=config), config=config)
for name in sys.argv[1:]:
    done = api.autograde("scoring", name, force=True)
    done["success"] or sys.exit(done["log"])
"""


def test_the_formgraders_button_gives_the_same_grades(demonstration, tmp_path):
    course, names = demonstration[0], ["hugo_squeezed", "zita_forges_values"]
    shutil.copytree(course.root, tmp_path / "course", ignore=shutil.ignore_patterns("verdicts", "autograded"))
    course_copy = Course.at(tmp_path / "course")
    done = subprocess.run([sys.executable, "-c", BUTTON, *names], cwd=course_copy.root, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    for name in names:
        assert entries(course_copy, name) == entries(course, name)
    verdict_files = list((course_copy.root / ".autograder" / "verdicts").rglob("*.json"))  # written by the plugin
    assert len(verdict_files) == len(names)


HALF = """

from nbgrader.plugins import LateSubmissionPlugin

class Half(LateSubmissionPlugin):
    def late_submission_penalty(self, student_id, score, total_seconds_late):
        return score / 2 if total_seconds_late > 3600 else None

c.AssignLatePenalties.plugin_class = Half
"""


def test_what_comes_late_or_is_emptied_is_entered_as_nbgrader_enters_it(released, tmp_path):
    """The course's own rule gives late work the same rows, its page shows the penalty, and an emptied answer counts as missing."""
    courses = []
    for folder in ("ours", "nbgraders"):
        shutil.copytree(released.root, tmp_path / folder)
        course = Course.at(tmp_path / folder)
        course.config.write_text(course.config.read_text() + HALF)
        hand_in_as(course, "hugo_squeezed", "ada_loops")
        for name, when in (("hugo_squeezed", "2030-01-02 10:00:00 UTC"), ("ada_loops", "2030-01-01 00:30:00 UTC")):
            course.submission(name, "scoring").with_name("timestamp.txt").write_text(when)
        with Gradebook(course.gradebook.url) as gradebook:
            gradebook.update_or_create_assignment("scoring", duedate="2030-01-01 00:00:00 UTC")
        emptied = course.submission("ada_loops", "scoring")
        data = json.loads(emptied.read_text(encoding="utf-8"))
        next(cell for cell in data["cells"] if cell["metadata"]["nbgrader"]["grade_id"] == ESSAY)["source"] = (
            " \u200b\n"
        )
        emptied.write_text(json.dumps(data), encoding="utf-8")
        courses.append(course)
    ours, nbgraders = courses
    with ThreadPoolExecutor(1) as executor:
        grade_class(ours, "scoring", executor=executor)
    nbgrader("autograde", "scoring", cwd=nbgraders.root)
    for name, late in (("hugo_squeezed", True), ("ada_loops", False)):
        our_entries = entries(ours, name)
        assert our_entries == entries(nbgraders, name)
        assert bool(our_entries["notebook", "late_submission_penalty"]) == late
        assert ("Late submission penalty" in ours.feedback(name, "scoring").read_text()) == late
    assert grades(nbgraders, "ada_loops")[ESSAY] == (0, False)


def test_nbgrader_itself_grades_through_the_plugin_in_a_course_directory(demonstration, tmp_path):
    course = demonstration[0]
    shutil.copytree(course.root, tmp_path / "course")
    course_copy = Course.at(tmp_path / "course")
    for folder in ("autograded", "feedback", ".autograder/verdicts"):
        shutil.rmtree(course_copy.root / folder)
    names = ["hugo_squeezed", "mara_copied_cells", "tom_patches_tests"]
    only(course_copy, names)
    for command in ("autograde", "generate_feedback"):
        nbgrader(command, "scoring", "--force", cwd=course_copy.root)
    for name in names:
        assert grades(course_copy, name) == grades(course, name)
        assert course_copy.feedback(name, "scoring").read_bytes() == course.feedback(name, "scoring").read_bytes()


def test_nbgrader_runs_again_what_reached_a_limit_and_nothing_else(demonstration, tmp_path):
    course = Course.at(shutil.copytree(demonstration[0].root, tmp_path / "course"))
    stopped, stands = "hugo_squeezed", "ada_loops"
    for name, reached in ((stopped, {"cell_seconds": 20.0}), (stands, {})):
        record = load_graded(course, name, "scoring")
        key = record["graded"][record["latest"]]
        graded = course.store.get(key)
        verdicts = tuple(replace(v, earned=None if v.earned is None else 0.0) for v in graded.verdicts)
        course.store.put(key, replace(graded, verdicts=verdicts, reached=reached))
    only(course, [stopped, stands])
    nbgrader("autograde", "scoring", "--force", cwd=course.root)
    assert grades(course, stopped) == grades(demonstration[0], stopped)
    assert {score for score, _ in grades(course, stands).values()} == {0}


def test_a_written_answer_waits_for_a_person_and_an_untouched_one_is_zero(demonstration):
    assert grades(demonstration[0], "ada_loops")[ESSAY] == (0, True)
    assert grades(demonstration[0], "jun_untouched")[ESSAY] == (0, False)
