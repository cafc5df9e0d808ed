"""The command line: clear errors with place and remedy, an exit status that can be trusted, nothing half written."""

import shutil
import subprocess
import sys

import pytest

from autograder.course import Course, init

pytestmark = pytest.mark.suite("assignments")


def autograder(*args):
    command = [sys.executable, "-m", "autograder", *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


def assert_refused(done, *words):
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stderr.startswith("error: "), done.stderr
    assert "Remedy: " in done.stderr
    assert "Traceback" not in done.stderr
    assert not [word for word in words if word not in done.stderr]


@pytest.fixture
def course(released, tmp_path):
    shutil.copytree(released.root, tmp_path / "course")
    return Course.at(tmp_path / "course")


def test_help_is_everywhere():
    for command in ([], ["init"], ["release"], ["grade"], ["doctor"], ["demo"]):
        done = autograder(*command, "--help")
        assert done.returncode == 0
        assert "Usage" in done.stdout


def test_an_unknown_topic_is_refused_with_those_that_there_are(tmp_path):
    init(tmp_path)
    assert_refused(autograder("release", "cooking", "--course", tmp_path), "cooking", "scoring")
    assert not list(tmp_path.glob("release/*"))


def test_an_assignment_that_was_never_released_is_refused(tmp_path):
    init(tmp_path)
    assert_refused(autograder("grade", "scoring", "--course", tmp_path, "--isolation", "none"), "scoring", "none yet")


def test_a_folder_that_is_no_course_is_refused(tmp_path):
    assert_refused(autograder("grade", "scoring", "--course", tmp_path), "no course directory", "init")


def test_a_class_without_submissions_and_a_student_without_one_are_named(course):
    command = ["grade", "scoring", "--course", course.root, "--isolation", "none"]
    assert_refused(autograder(*command), "nobody has handed in")
    assert_refused(autograder(*command, "zacharias"), "zacharias")


def test_an_unknown_isolation_is_refused(course):
    assert_refused(autograder("grade", "scoring", "--course", course.root, "--isolation", "prayer"), "prayer")


def test_a_demonstration_never_overwrites_a_folder_that_is_none(tmp_path):
    (tmp_path / "work.txt").write_text("mine")
    assert_refused(autograder("demo", tmp_path), "no demonstration course")
    assert (tmp_path / "work.txt").read_text() == "mine"


def test_the_exit_status_says_that_something_was_set_aside(course):
    shutil.copytree(course.release("scoring").parent, course.root / "submitted" / "ada" / "scoring")
    command = ["grade", "scoring", "--course", course.root]
    done = autograder(*command)
    assert done.returncode == 0, done.stdout + done.stderr
    path = course.submission("ben", "scoring")
    path.parent.mkdir(parents=True)
    path.write_text("no notebook")
    done = autograder(*command)
    assert done.returncode == 3, done.stdout + done.stderr
    assert "0 graded, 1 reused, 1 set aside, 0 failed" in done.stdout


def test_init_twice_leaves_what_is_there(tmp_path):
    assert autograder("init", tmp_path / "course").returncode == 0
    config = tmp_path / "course" / "nbgrader_config.py"
    config.write_text(config.read_text() + "# mine\n")
    assert autograder("init", tmp_path / "course").returncode == 0
    assert config.read_text().endswith("# mine\n")
