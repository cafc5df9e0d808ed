"""What most tests of the grader begin with: a course, and a way to grade its class without running anything."""

import shutil
from concurrent.futures import ThreadPoolExecutor

import pytest

from autograder.batch.context import GradingOptions
from autograder.batch.grade_class import grade_class
from autograder.courses.course import Course
from autograder.grading import grade
from tests.autograder.essays import all_right


@pytest.fixture
def course(released, tmp_path):
    """A course of the test's own, in which scoring is released."""
    shutil.copytree(released.root, tmp_path / "course")
    return Course.at(tmp_path / "course")


@pytest.fixture
def grade_quickly(monkeypatch):
    """Grade a class without running anything: every automatic exercise is right. What is recorded is as always."""

    def run(course, *students, grade_one=all_right, notice=None, **options):
        with monkeypatch.context() as patched, ThreadPoolExecutor(1) as pool:
            patched.setattr(grade, "grade", grade_one)
            how = GradingOptions(**options)
            rows = grade_class(course, "scoring", how, students=students, executor=pool, notice=notice)
        return {row.student: row for row in rows}

    return run
