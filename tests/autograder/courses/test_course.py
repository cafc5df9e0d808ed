"""A course directory reports its contents correctly, whatever its students are called."""

import json
import os
import re
import threading
import time

import nbformat
import pytest
from nbformat.v4 import new_notebook

from autograder.courses import locking
from autograder.courses.course import Course, init
from autograder.courses.locking import exclusive_lock
from autograder.courses.submissions import set_aside_folder
from autograder.errors import CourseError
from autograder.files import write_text
from tests.autograder.test_main import assert_refused, autograder

pytestmark = pytest.mark.slow


def test_a_release_of_before_is_read_and_its_log_goes_on(tmp_path):
    """Release records of earlier versions have no log, and the oldest have no list of releases."""
    course = init(tmp_path / "course")
    write_text(nbformat.writes(new_notebook()), course.releases("scoring").file)
    assert course.releases("scoring").record(0, "one", ["The first release."]) == 1
    path = course.releases("scoring")._record_file
    record = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({"seed": record["seed"], "digest": record["digest"]}), encoding="utf-8")
    assert course.releases("scoring").last() == (new_notebook(), 0, "one")
    assert course.releases("scoring").record(1, "two", ["Another seed."]) == 1
    log_lines = re.findall("## Version 1|- .*", course.releases("scoring").log.read_text(encoding="utf-8"))
    assert log_lines == ["## Version 1", "- Another seed.", "## Version 1", "- The first release."]


ADDRESSES = ["postgresql://ada:hush@host:port/grades", "postgresql://ada:hush@[::1/grades", "postgresql:ada:hush"]


@pytest.mark.parametrize("address", ADDRESSES)
def test_an_address_of_a_database_that_cannot_be_read_is_refused_without_its_password(tmp_path, address):
    course = init(tmp_path / "course")
    with course.config.open("a", encoding="utf-8") as config:
        config.write(f"\nc.CourseDirectory.db_url = {address!r}\n")
    with pytest.raises(CourseError, match="db_url") as refusal:
        _ = course.gradebook.url
    assert "hush" not in str(refusal.value)


DAMAGED = {
    "truncated": lambda text: text[: len(text) // 2],
    "no seed": lambda text: text.replace('"seed"', '"sed"'),
    "a seed that is no number": lambda text: re.sub(r'"seed": \d+', '"seed": "seven"', text),
    "a seed of an attempt that is no number": lambda text: text.replace('"seed"', '"attempt_seeds": ["x"], "seed"'),
    "a list": lambda text: "[]",
    "releases that are no names": lambda text: re.sub(r'"releases": \[[^]]*\]', '"releases": [1]', text),
    "nested": lambda text: "[" * 100_000,
    "a digest that is no UTF-8": lambda text: text.replace('"digest": "', '"digest": "\udcff'),
}


@pytest.mark.parametrize("damage", DAMAGED.values(), ids=DAMAGED)
def test_a_record_of_a_release_that_is_damaged_is_refused_with_its_file(course, damage):
    path = course.releases("scoring")._record_file
    path.write_text(damage(path.read_text(encoding="utf-8")), encoding="utf-8", errors="surrogateescape")
    known = course.releases("scoring")
    for ask in (known.load, known.last, known.choose_seed):
        with pytest.raises(CourseError, match=r"scoring\.json: the record of the release"):
            ask()


@pytest.mark.parametrize(
    "content", [b"", b"\xff\xfe", b"{}", b'{"cells": [1]}'], ids=["empty", "no text", "no cells", "odd"]
)
def test_a_released_notebook_that_is_damaged_is_refused_with_its_file(course, content):
    course.releases("scoring").file.write_bytes(content)
    with pytest.raises(CourseError, match=r"scoring\.ipynb: the released notebook"):
        course.releases("scoring").load()


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o750), (0o002, 0o770), (0o077, 0o700)])
def test_a_new_course_is_closed_to_other_accounts_and_keeps_the_rights_of_the_group(tmp_path, umask, mode):
    before = os.umask(umask)
    try:
        root = init(tmp_path / "course").root
    finally:
        os.umask(before)
    assert root.stat().st_mode & 0o777 == mode
    root.chmod(0o755)
    assert init(root).root.stat().st_mode & 0o777 == 0o755  # an existing course stays as it is


def test_one_grading_at_a_time(course):
    course.submission("ada", "scoring").parent.mkdir(parents=True)
    course.submission("ada", "scoring").write_text("{}")
    with exclusive_lock(course):
        done = autograder("grade", "scoring", "--isolation", "none", "--course", course.root)
    assert_refused(done, "already grading or releasing in this course")


def test_nobody_marks_while_a_command_has_the_lock_that_it_waited_for(tmp_path):
    course = init(tmp_path / "course")
    with locking.patient_lock(course, print), pytest.raises(CourseError, match="is writing to this course"):
        locking.shared_lock(course).__enter__()


def test_two_markers_save_marks_at_the_same_time(tmp_path):
    course = init(tmp_path / "course")
    with locking.shared_lock(course), locking.shared_lock(course):
        pass


def test_a_lock_that_another_command_holds_is_waited_for_with_one_notice(tmp_path, monkeypatch):
    monkeypatch.setattr(locking, "PATIENT_SECONDS", 0)
    course, notices, entered = init(tmp_path / "course"), [], threading.Event()

    def wait():
        with locking.patient_lock(course, notices.append):
            entered.set()

    waiting = threading.Thread(target=wait)
    with exclusive_lock(course):
        waiting.start()
        while waiting.is_alive() and not notices:
            time.sleep(0.01)
        assert not entered.is_set()
    waiting.join()
    assert entered.is_set()
    assert notices == ["waiting: another command has locked the course"]


def test_a_topic_in_other_letters_is_named_before_anything_else(tmp_path):
    assert_refused(autograder("release", "Scoring", "--course", init(tmp_path / "course").root), "do you mean scoring?")


@pytest.mark.parametrize("command", ["export", "report", "feedback"])
def test_a_folder_in_the_place_of_a_file_to_write_is_refused(demonstration, tmp_path, command):
    done = autograder(command, "scoring", "--output", tmp_path, "--course", demonstration[0].root)
    assert_refused(done, "this is a folder", "name a")


def test_a_folder_in_the_place_of_a_file_to_read_is_refused(demonstration, tmp_path):
    words = ["--to", "moodle", "--from", tmp_path, "--output", tmp_path / "grades.csv"]
    done = autograder("export", "scoring", *words, "--course", demonstration[0].root)
    assert_refused(done, "this is a folder", "downloaded")


def test_what_is_set_aside_of_a_submission_lies_where_nothing_is_published(tmp_path):
    folder = set_aside_folder(Course(tmp_path), "ada", "scoring")
    assert folder == tmp_path / ".autograder" / "set_aside" / "scoring" / "ada"
