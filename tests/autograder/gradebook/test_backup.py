"""A backup is complete or absent, is not pushed out by the backup made before a restore, and holds a gradebook."""

import os
import shutil
import signal
import sqlite3
import subprocess
import sys

import pytest
from nbgrader.api import Gradebook

from autograder.errors import CourseError
from autograder.gradebook import backup
from autograder.releases.release import release
from tests.autograder.killing import leave_half_done
from tests.autograder.test_main import assert_refused, autograder

pytestmark = pytest.mark.suite("assignments")


def add_student(course, name):
    with Gradebook(course.gradebook.url) as gradebook:
        gradebook.add_student(name)


def students(course):
    with Gradebook(course.gradebook.url) as gradebook:
        return {student.id for student in gradebook.students}


def test_of_the_last_ten_backups_that_differ_the_oldest_can_be_restored(course):
    for number in range(backup.MAX_BACKUPS + 1):
        add_student(course, f"student{number}")
        backup.back_up(course, "grade")
        backup.back_up(course, "grade")
    assert len(backup.list_backups(course)) == backup.MAX_BACKUPS == 10
    add_student(course, "afterwards")
    oldest = backup.list_backups(course)[-1]
    backup.restore(course, oldest.name)
    assert students(course) == {"student0", "student1"}
    assert oldest.is_file()
    backup.restore(course, backup.list_backups(course)[0].name)
    assert "afterwards" in students(course)
    assert_refused(autograder("restore", "../../nbgrader_config.py", "--course", course.root), "no backup")


def test_before_another_release_the_gradebook_is_backed_up(course, unproved):
    add_student(course, "ada")
    before = students(course)
    release(course, "scoring", seed=0)
    (made,) = backup.list_backups(course)
    assert made.name.endswith("-before-release.db")
    add_student(course, "ben")
    backup.restore(course, made.name)
    assert students(course) == before


def test_a_backup_made_after_the_clock_went_back_is_the_newest_and_overwrites_none(course):
    add_student(course, "ada")
    backup.back_up(course, "grade")
    made = backup.list_backups(course)[0]
    future = made.rename(made.with_name("2999-01-01-000000-000000-before-grade.db"))
    add_student(course, "ben")
    backup.back_up(course, "grade")
    newest, second = backup.list_backups(course)[:2]
    assert second == future
    for path, names in ((second, {"ada"}), (newest, {"ada", "ben"})):
        backup.restore(course, path.name)
        assert students(course) == names


KILLED = """
import os, signal, sqlite3, sys
from autograder.gradebook import backup
from autograder.courses.course import Course

def copy(source, target):
    connection = sqlite3.connect(target)
    connection.execute("PRAGMA journal_mode = PERSIST")
    connection.execute("CREATE TABLE half (done)")
    connection.commit()
    os.kill(os.getpid(), signal.SIGKILL)

backup._copy_database = copy
backup.back_up(Course.at(sys.argv[1]), "grade")
"""


def test_what_a_killed_backup_left_half_written_is_gone_after_the_next_one(course):
    done = subprocess.run([sys.executable, "-c", KILLED, course.root], env={**os.environ, "PYTHONPATH": os.getcwd()})
    assert done.returncode == -signal.SIGKILL
    folder = course.root / ".autograder" / "backups"
    assert list(folder.glob("*.draft*"))
    known = set(backup.list_backups(course))
    add_student(course, "ada")
    backup.back_up(course, "grade")
    assert not list(folder.glob("*.draft*"))
    assert len(set(backup.list_backups(course)) - known) == 1


def foreign_database(path):
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE moz_cookies (id INTEGER)")
    connection.commit()
    connection.close()


def damaged_gradebook(path, course):
    shutil.copy(course.gradebook.file, path)
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * 20_000)


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda path, course: path.touch(), "not an nbgrader gradebook"),
        (lambda path, course: path.write_text("no database at all " * 100), "not a readable database"),
        (lambda path, course: foreign_database(path), "not an nbgrader gradebook"),
        (damaged_gradebook, "damaged"),
    ],
    ids=["empty", "text", "of another program", "damaged"],
)
def test_only_a_gradebook_is_put_in_the_gradebooks_place(course, make, problem):
    backup.back_up(course, "grade")
    path = course.root / ".autograder" / "backups" / "2030-01-01-000000-000000-before-grade.db"
    make(path, course)
    before, known = course.gradebook.file.read_bytes(), backup.list_backups(course)
    with pytest.raises(CourseError, match=problem):
        backup.restore(course, path.name)
    assert course.gradebook.file.read_bytes() == before
    assert backup.list_backups(course) == known


def test_a_gradebook_that_is_no_database_any_more_is_replaced_by_a_backup(course):
    add_student(course, "ada")
    backup.back_up(course, "grade")
    course.gradebook.file.write_text("no database at all " * 100)
    backup.restore(course, backup.list_backups(course)[0].name)
    assert students(course) == {"ada"}


def test_what_a_killed_program_left_half_done_changes_nothing_of_a_backup_that_is_put_back(course):
    add_student(course, "ada")
    backup.back_up(course, "grade")
    add_student(course, "ben")
    leave_half_done(course.gradebook.file)
    course.gradebook.file.unlink()
    (made,) = backup.list_backups(course)
    backup.restore(course, made.name)
    assert students(course) == {"ada"}
    assert course.gradebook.file.read_bytes() == made.read_bytes()
