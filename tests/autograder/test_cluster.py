"""The same grades from dask's workers, started as separate processes, as from this one."""

import shutil
from concurrent.futures import ThreadPoolExecutor

import pytest

from autograder import batch, cluster, doctor, exercises
from autograder.course import Course
from autograder.errors import CourseError
from autograder.sandbox import Limits
from autograder.submission import Task, grade_task
from benchmarks.grading import dask_cluster
from tests.autograder.test_main import autograder

pytestmark = pytest.mark.suite("sandbox")
STUDENTS = ("ada_loops", "emil_no_tanh", "gita_slips", "vic_exits", "omar_not_a_notebook")


@pytest.fixture(scope="module")
def address():
    with dask_cluster(2) as address:
        yield address


@pytest.fixture
def course(demonstration, tmp_path):
    """The demonstration class as it was handed in: nothing of it graded."""
    shutil.copytree(demonstration[0].root, tmp_path / "course", ignore=shutil.ignore_patterns("verdicts", "recorded"))
    return Course.at(tmp_path / "course")


def test_workers_give_the_same_grades_as_this_machine(demonstration, course, address):
    limits = ["--cell-seconds", 4, "--call-seconds", 2, "--submission-seconds", 60]
    done = autograder("grade", "scoring", *STUDENTS, "--course", course.root, "--scheduler", address, *limits)
    assert done.returncode == 3, done.stdout + done.stderr
    assert "4 graded, 0 reused, 1 set aside, 0 failed" in done.stdout
    rows = batch.grade_class(course, "scoring", Limits(4, 2, 60), students=STUDENTS)
    assert all(row.reused or row.set_aside for row in rows)  # the verdicts came home
    assert rows == [demonstration[1][name] for name in sorted(STUDENTS)]


def test_the_canary_is_sent_to_every_worker(address, monkeypatch):
    with cluster.executor(address, "zygote") as executor:
        assert executor.submit(doctor.examine).result()
    with pytest.raises(CourseError, match="could leave the sandbox"), cluster.executor(address, "none") as executor:
        cluster._examine(executor._client, "single-use", lambda isolation: [("reads files", False)])


def test_a_scheduler_that_does_not_answer_is_named(monkeypatch):
    monkeypatch.setattr(cluster, "PATIENCE", 1)
    with pytest.raises(CourseError, match="no dask scheduler answers"), cluster.executor("tcp://127.0.0.1:9", "zygote"):
        pass


def test_a_worker_with_another_key_is_refused(course):
    template = course.released("scoring").templates[0]
    task = Task(b"{}", {}, "scoring", (template,), {}, 0, 0, "another digest", Limits(), "zygote", (), {})
    with ThreadPoolExecutor(1) as pool, pytest.raises(CourseError, match="other exercises"):
        pool.submit(grade_task, task).result()
    assert exercises.digest(exercises.load("scoring", 0)) != task.digest
