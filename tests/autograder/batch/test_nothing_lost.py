"""Nothing handed in, marked or recorded is lost, whatever happens to the class or to the course directory."""

import contextlib
import csv
import errno
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime

import nbformat
import pytest
from nbgrader.api import Gradebook
from rich.console import Console

from autograder.batch import jobs, recording
from autograder.batch.context import GradingOptions, load_run
from autograder.batch.grade_class import open_batch
from autograder.courses.course import init
from autograder.courses.locking import exclusive_lock
from autograder.courses.standing import load_graded, tell
from autograder.errors import CourseError
from autograder.feedback import page_settings
from autograder.gradebook import assignments, backup
from autograder.gradebook.requests import answer_request, record_later_requests
from autograder.gradebook.scores import load_results
from autograder.grading import grade
from autograder.marking.answers import load_answers
from autograder.marking.override import override
from autograder.notebooks import repair
from autograder.notebooks.requests import RegradeRequest
from autograder.paths import BOOK
from autograder.platforms.collect import collect, undo
from autograder.platforms.export import escape_formula, export, write_feedback_archive
from autograder.releases.release import release
from autograder.reports import tables as report
from solutions import answer_key
from tests.autograder.batch.test_resume import below
from tests.autograder.essays import ESSAY, all_right, grade_quickly, hand_in, mark, page, written
from tests.autograder.killing import leave_half_done
from tests.autograder.samples import AUTOMATIC, read_files
from tests.autograder.test_main import assert_refused, autograder, succeed
from tests.autograder.with_nbgrader.test_nbgrader_plugin import nbgrader

pytestmark = pytest.mark.suite("assignments")


# What a person marks


def test_a_written_answer_handed_in_again_is_seen(course):
    hand_in(course, "mia")
    assert grade_quickly(course)["mia"].waiting == (ESSAY,)
    hand_in(course, "mia", "Something quite different.")
    row = grade_quickly(course)["mia"]
    assert not row.reused
    assert "Something quite different." in course.autograded("mia", "scoring").read_text(encoding="utf-8")
    assert "Something quite different." in page(course, "mia")
    hand_in(course, "mia", None)
    grade_quickly(course)
    assert "No response" in page(course, "mia")


def test_only_a_written_answer_that_changed_waits_for_a_person_again(course):
    hand_in(course, "mia")
    grade_quickly(course)
    mark(course, "mia", 1.5, "Good.")
    for again in (True, False):
        row = grade_quickly(course, again=again)["mia"]
        assert (row.total, row.waiting) == (AUTOMATIC + 1.5, ())
    course.config.write_text(course.config.read_text() + "\n# edited\n")
    row = grade_quickly(course)["mia"]
    assert (row.total, row.waiting, written(course, "mia")) == (AUTOMATIC + 1.5, (), (1.5, False))
    hand_in(course, "mia", change=lambda data: data["cells"].append(dict(data["cells"][0], metadata={}, id="own")))
    assert grade_quickly(course)["mia"].waiting == ()
    hand_in(course, "mia", "Another answer.")
    for again in (False, True):
        row = grade_quickly(course, again=again)["mia"]
        assert (row.total, row.waiting, written(course, "mia")) == (AUTOMATIC + 1.5, (ESSAY,), (1.5, True))


def test_a_written_answer_with_another_picture_waits_for_a_person_again(course):
    def attach(picture):
        def change(data):
            (cell,) = (c for c in data["cells"] if c["metadata"]["nbgrader"]["grade_id"] == ESSAY)
            cell["attachments"] = {"graph.png": {"image/png": picture}}

        return change

    hand_in(course, "mia", "![a graph](attachment:graph.png)", change=attach("aGVsbG8="))
    grade_quickly(course)
    mark(course, "mia", 1.5)
    assert grade_quickly(course, again=True)["mia"].waiting == ()
    hand_in(course, "mia", "![a graph](attachment:graph.png)", change=attach("d29ybGQ="))
    assert grade_quickly(course)["mia"].waiting == (ESSAY,)


def test_a_page_that_a_persons_marks_change_is_made_again_without_running_anything(course):
    hand_in(course, "mia")
    grade_quickly(course)
    assert "To be marked by a person" in page(course, "mia")
    mark(course, "mia", 2.0, "Very well said.")
    row = grade_quickly(course)["mia"]
    assert (row.reused, row.total) == (True, AUTOMATIC + 2)
    assert "Very well said." in page(course, "mia")


def test_a_page_is_made_again_with_another_version_of_the_grader_or_another_setting(course, monkeypatch):
    hand_in(course, "mia")
    grade_quickly(course)
    monkeypatch.setattr(page_settings, "version_key", lambda: ["later"])
    assert [grade_quickly(course)["mia"].reused for _ in range(2)] == [False, True]
    course.config.write_text(course.config.read_text() + "\n# edited\n")
    assert [grade_quickly(course)["mia"].reused for _ in range(2)] == [False, True]


def test_automatic_points_that_something_else_has_overwritten_are_put_back(course):
    hand_in(course, "mia")
    grade_quickly(course)
    with Gradebook(course.gradebook.url) as gradebook:
        entry = gradebook.find_grade("scoring-additive_score-test", "scoring", "scoring", "mia")
        entry.auto_score = 0.0
        gradebook.db.commit()
    row = grade_quickly(course)["mia"]
    assert (row.reused, row.total) == (False, AUTOMATIC)


def test_the_same_notebook_is_graded_again_with_another_file_beside_it(course, monkeypatch):
    hand_in(course, "mia")
    files = {"weights.npz": b"one"}
    monkeypatch.setattr(jobs, "read_handed_in_files", lambda *arguments: dict(files))
    assert [grade_quickly(course)["mia"].reused for _ in range(2)] == [False, True]
    files["weights.npz"] = b"two"
    assert not grade_quickly(course)["mia"].reused


def test_the_table_counts_all_points_and_says_what_waits(course):
    hand_in(course, "mia")
    rows = list(grade_quickly(course).values())
    exercises = course.releases("scoring").load().exercises
    console = Console(width=200, record=True)
    with console.capture() as captured:
        console.print(report.grade_table(exercises, rows, 200))
    assert f"of {sum(exercise.points for exercise in exercises):g}" in captured.get()
    assert f"{AUTOMATIC:g}+" in captured.get()
    assert "mark" in captured.get()


def add_below_essay(kind, source):
    """Return a function that inserts a cell of the student's own below the answer, which it leaves unchanged."""

    def change(data):
        ids = [cell["metadata"]["nbgrader"]["grade_id"] for cell in data["cells"]]
        own = {"cell_type": kind, "id": "own", "metadata": {}, "source": source}
        own |= {"outputs": [], "execution_count": None} if kind == "code" else {}
        data["cells"].insert(ids.index(ESSAY) + 1, own)

    return change


@pytest.mark.parametrize("kind", ["markdown", "code", "raw"])
def test_an_answer_in_a_cell_of_the_students_own_waits_for_a_person_who_sees_it(course, kind):
    hand_in(course, "mia", None, change=add_below_essay(kind, "Because U h_j stays as it is."))
    hand_in(course, "noa", None, change=add_below_essay(kind, " \n"))
    for again in (False, True):
        rows = grade_quickly(course, again=again)
        assert (rows["mia"].waiting, rows["noa"].waiting) == ((ESSAY,), ())
        assert page(course, "mia").count("No response") == page(course, "noa").count("No response") - 1
        (answer,) = (candidate for candidate in load_answers(course, "scoring", ESSAY) if not candidate.is_untouched)
        assert (answer.student, "Because U h_j stays as it is." in answer.text) == ("mia", True)
        assert "Write" not in answer.text  # without the released text
    mark(course, "mia", 2.0)
    assert grade_quickly(course, again=True)["mia"].waiting == ()
    hand_in(course, "mia", None, change=add_below_essay(kind, "Something else."))
    assert grade_quickly(course)["mia"].waiting == (ESSAY,)


def test_an_export_says_which_points_a_person_has_still_to_give(course):
    hand_in(course, "mia")
    hand_in(course, "noa")
    grade_quickly(course)
    mark(course, "noa", 2.0)
    nbgrader("export", "--to", "grades.csv", cwd=course.root)
    with (course.root / "grades.csv").open(newline="") as file:
        rows = {row["student_id"]: row for row in csv.DictReader(file)}
    assert rows["mia"]["needs_marking"] == ESSAY
    assert rows["noa"]["needs_marking"] == ""
    assert (rows["mia"]["score"], rows["noa"]["score"]) == (f"{AUTOMATIC}", f"{AUTOMATIC + 2}")


# Earlier work is kept


def test_a_submission_that_cannot_be_read_leaves_the_good_one_and_its_page(course):
    hand_in(course, "mia")
    grade_quickly(course)
    before = course.autograded("mia", "scoring").read_bytes()
    course.submission("mia", "scoring").write_text("no notebook")
    for _ in range(2):
        row = grade_quickly(course)["mia"]
        assert "not a Jupyter notebook" in row.set_aside
        assert row.total == AUTOMATIC
        assert page(course, "mia").count("was not graded") == 1
        assert "Because U h_j" in page(course, "mia")
    assert course.autograded("mia", "scoring").read_bytes() == before
    hand_in(course, "mia", "Mended.")
    assert grade_quickly(course)["mia"].set_aside == ""
    assert "was not graded" not in page(course, "mia")


def test_what_was_set_aside_is_tried_again_when_that_is_wanted(course, monkeypatch):
    hand_in(course, "mia")
    with monkeypatch.context() as patched:
        patched.setattr(repair, "MAX_CELLS", 3)
        assert "at most 3 can be graded" in grade_quickly(course)["mia"].set_aside
    row = grade_quickly(course, again=True)["mia"]
    assert (row.set_aside, row.total) == ("", AUTOMATIC)
    assert "was not graded" not in page(course, "mia")


def test_an_older_notebook_that_was_running_does_not_replace_a_newer_one_that_was_graded_meanwhile(course, monkeypatch):
    is_graded = threading.Event()

    def wait_and_grade(*args):
        is_graded.wait(60)
        return all_right(*args)

    hand_in(course, "mia", "The first attempt.")
    grade_quickly(course)
    hand_in(course, "mia", "The second attempt.")
    monkeypatch.setattr(grade, "grade", wait_and_grade)
    run = load_run(course, "scoring", GradingOptions())
    with (
        ThreadPoolExecutor(1) as pool,
        open_batch(run, ["mia"], executor=pool, lock=lambda: exclusive_lock(course)) as batch,
    ):
        batch.step(0.0)
        hand_in(course, "mia", "The third attempt.")
        grade_quickly(course)  # as another process would
        is_graded.set()
        while batch.step():
            pass
    assert "The third attempt." in course.autograded("mia", "scoring").read_text(encoding="utf-8")
    assert "The third attempt." in page(course, "mia")


def test_a_page_loses_its_notice_when_what_could_not_be_taken_is_collected_rightly(course, tmp_path):
    right = hand_in(course, "mia").read_text()
    for _ in range(2):  # the second one finds nothing changed
        grade_quickly(course)
    folder = tmp_path / "class" / "mia"
    folder.mkdir(parents=True)
    (folder / "scoring.ipynb").write_text(
        '{"cells": [{"metadata": {"nbgrader": {"grade_id": "softmax-masked_softmax"}}}]}'
    )
    (entry,), _ = collect(course, "scoring", tmp_path / "class")
    assert "is a notebook of softmax" in entry.problem
    assert "was not graded" in page(course, "mia")
    (folder / "scoring.ipynb").write_text(right)
    (entry,), _ = collect(course, "scoring", tmp_path / "class")
    assert entry.note == "unchanged"
    assert grade_quickly(course)["mia"].reused
    assert "was not graded" not in page(course, "mia")


def with_essay(course, essay):
    """Return the text of a notebook with ``essay`` in it."""
    path = hand_in(course, "nobody", essay)
    text = path.read_text(encoding="utf-8")
    shutil.rmtree(path.parent.parent)
    return text


def collect_of_mia(course, tmp_path, *texts):
    """Collect mia's notebooks one after another, with Canvas's numbering."""
    for number, text in enumerate(texts):
        path = tmp_path / f"{number}.zip"
        with zipfile.ZipFile(path, "w") as bundle:
            bundle.writestr(f"mia_17_{3000 + number}_scoring.ipynb", text)
        collect(course, "scoring", path)


def test_a_good_attempt_counts_when_a_broken_one_came_before_the_first_grading(course, tmp_path):
    good = [with_essay(course, "The first attempt."), with_essay(course, "The second attempt.")]
    collect_of_mia(course, tmp_path, *good, "{", "no notebook")
    foreseen = grade_quickly(course, dry=True)["mia"]
    for _ in range(3):
        row = grade_quickly(course)["mia"]
        assert "not a Jupyter notebook" in row.set_aside
        assert (row.total, row.points, row.waiting) == (AUTOMATIC, foreseen.points, (ESSAY,))
        assert page(course, "mia").count("was not graded") == 1
        assert "The second attempt." in page(course, "mia")
        assert "not a Jupyter notebook" in page(course, "mia")
    assert [move.what for move in foreseen.changes] == ["all"]
    collect_of_mia(course, tmp_path, *good, "{", "no notebook", with_essay(course, "The last attempt."))
    row = grade_quickly(course)["mia"]
    assert (row.set_aside, row.total) == ("", AUTOMATIC)
    assert "was not graded" not in page(course, "mia")
    assert "The last attempt." in page(course, "mia")


def test_an_attempt_that_was_never_graded_counts_before_one_that_was(course, tmp_path):
    texts = [with_essay(course, "The first attempt."), with_essay(course, "The second attempt."), "no notebook"]
    collect_of_mia(course, tmp_path, texts[0])
    grade_quickly(course)
    collect_of_mia(course, tmp_path, *texts)
    for again in (False, False, True):
        row = grade_quickly(course, again=again)["mia"]
        assert "not a Jupyter notebook" in row.set_aside
        assert "The second attempt." in page(course, "mia")
        assert page(course, "mia").count("was not graded") == 1
    row = grade_quickly(course)["mia"]
    assert row.reused


@pytest.mark.parametrize("instead", ["a link", "a file that may not be read"])
def test_an_earlier_attempt_counts_whatever_stands_in_the_place_of_the_last(course, tmp_path, instead):
    collect_of_mia(course, tmp_path, with_essay(course, "The first attempt."), "no notebook")
    path = course.submission("mia", "scoring")
    path.unlink()
    path.symlink_to("/etc/passwd") if instead == "a link" else path.mkdir()
    row = grade_quickly(course)["mia"]
    assert (row.total, bool(row.set_aside), row.failed) == (AUTOMATIC, True, "")


def test_a_pipe_in_the_place_of_the_last_attempt_holds_nobody_up(course, tmp_path):
    collect_of_mia(course, tmp_path, with_essay(course, "The first attempt."), "no notebook")
    shutil.rmtree(course.root / ".autograder" / "earlier")
    course.submission("mia", "scoring").unlink()
    os.mkfifo(course.submission("mia", "scoring"))
    hand_in(course, "noa")
    rows = grade_quickly(course)
    assert (bool(rows["mia"].set_aside), rows["mia"].points, rows["noa"].total) == (True, {}, AUTOMATIC)


def test_of_an_attempt_that_was_taken_back_the_instructor_is_told(course, tmp_path):
    collect_of_mia(course, tmp_path, "no notebook", with_essay(course, "Somebody else's."))
    grade_quickly(course)
    undo(course, "scoring")
    assert any("was undone" in note for note in grade_quickly(course)["mia"].notes)
    (course.root / "gradebook.db").unlink()
    assert grade_quickly(course)["mia"].points == {}  # its points do not come back


def test_what_is_put_in_place_by_hand_takes_away_the_word_that_it_could_not_be_collected(course, tmp_path):
    folder = tmp_path / "class" / "mia"
    folder.mkdir(parents=True)
    (folder / "scoring.zip").write_text("no archive")
    (entry,), _ = collect(course, "scoring", tmp_path / "class")
    assert "damaged" in entry.problem
    hand_in(course, "mia")
    grade_quickly(course)
    assert "was not graded" not in page(course, "mia")


def test_where_no_attempt_can_be_read_the_page_says_why_the_last_one_cannot(course, tmp_path):
    collect_of_mia(course, tmp_path, "{", "[]", "no notebook", "")
    for again in (False, False, True):
        row = grade_quickly(course, again=again)["mia"]
        assert (row.points, "the file is empty" in row.set_aside) == ({}, True)
        assert "not graded yet" in page(course, "mia")
        assert "the file is empty" in page(course, "mia")
        assert "not a Jupyter notebook" not in page(course, "mia")


def test_who_was_graded_before_a_broken_attempt_has_the_points_in_a_new_gradebook_too(course):
    hand_in(course, "mia", None)
    course.submission("mia", "scoring").with_name("timestamp.txt").write_text("2025-11-30 12:00:00 UTC")
    before = grade_quickly(course)["mia"]
    course.submission("mia", "scoring").write_text("no notebook")
    course.submission("mia", "scoring").with_name("timestamp.txt").unlink()
    grade_quickly(course)
    shown = page(course, "mia")
    (course.root / "gradebook.db").unlink()
    foreseen = grade_quickly_after_entering(course)
    row = grade_quickly(course)["mia"]
    assert row.set_aside
    assert (row.points, row.waiting) == (before.points, before.waiting) == (foreseen.points, foreseen.waiting)
    assert page(course, "mia") == shown
    with Gradebook(course.gradebook.url) as gradebook:
        assert gradebook.find_submission("scoring", "mia").timestamp == datetime(2025, 11, 30, 12)


def grade_quickly_after_entering(course):
    """Return mia's row of a dry run on a gradebook that has the assignment, but none of her work."""
    hand_in(course, "noa")
    grade_quickly(course, "noa")
    return grade_quickly(course, "mia", dry=True)["mia"]


def test_a_hand_in_made_from_a_release_that_asked_other_exercises_loses_nothing_for_them(tmp_path, unproved):
    course = init(tmp_path / "course")
    for exercises in ('"additive_score", "dot_product_score"', '"additive_score", "score_gradients"'):
        (course.root / "course.toml").write_text(f"[assignment.scoring]\nexercises = [{exercises}]\n")
        if course.releases("scoring").last():
            hand_in(course, "old", None)
        release(course, "scoring", seed=0)
    hand_in(course, "new", None)
    rows = grade_quickly(course)
    points = course.releases("scoring").load().points
    expected_total, later = points["scoring-additive_score"], "scoring-score_gradients"
    assert (rows["new"].total, rows["new"].waiting) == (sum(points.values()), ())
    assert (rows["old"].total, rows["old"].waiting) == (expected_total, (later,))
    assert "which did not include scoring-score_gradients" in page(course, "old")
    assert "deleted?" not in page(course, "old")
    rows = grade_quickly(course)
    assert rows["old"].reused
    override(course, "scoring", "score_gradients", "old", points[later], "It was not asked.")
    assert grade_quickly(course)["old"].total == sum(points.values())


def test_pages_and_notebooks_that_are_gone_are_written_again_without_running_anything(course, tmp_path):
    """One in time, one late, one with a person's points, one with an answered request, one after which another was refused, one
    whose last attempt cannot be read, and one without any that can."""
    (course.root / "course.toml").write_text(
        "[late]\npercent_a_day = 10\n[assignment.scoring]\ndue = 2026-03-01T12:00:00Z\n"
    )
    for name in ("plain", "late", "marked", "asks", "refused"):
        hand_in(course, name)
    (course.submission("late", "scoring").parent / "timestamp.txt").write_text("2026-03-02 09:00:00.000000 UTC")
    collect_of_mia(course, tmp_path, with_essay(course, "The first attempt."), "no notebook")
    course.submission("never", "scoring").parent.mkdir(parents=True)
    course.submission("never", "scoring").write_text("no notebook")
    grade_quickly(course)
    mark(course, "marked", 1.5, "Good.")
    record_later_requests(course, "scoring", "asks", [RegradeRequest("scoring-additive_score", "Why?")])
    answer_request(course, "scoring", "asks", "", "The sum is over a.")
    tell(course, "refused", "scoring", "Hand in scoring.ipynb itself.")
    grade_quickly(course)
    folders = course.root / "autograded", course.root / "feedback"
    before = read_files(*folders)
    assert len(before) == 15
    for words, name in (
        ("The sum is over a.", "asks"),
        ("Hand in scoring.ipynb itself.", "refused"),
        ("not a Jupyter notebook", "mia"),
    ):
        assert words in page(course, name)
    marks, recorded = load_results(course, "scoring"), len(course.record.list_all())
    for folder in folders:
        shutil.rmtree(folder)
    rows = grade_quickly(course, grade_one=lambda *args: pytest.fail("a notebook ran"))
    assert [row.failed for row in rows.values() if row.failed] == []
    after = read_files(*folders)
    assert [str(path) for path in before if after.get(path) != before[path]] == []
    assert after.keys() == before.keys()
    assert load_results(course, "scoring") == marks
    grade_quickly(course, grade_one=lambda *args: pytest.fail("a notebook ran"))
    kinds = [event.kind for event in course.record.list_all()[recorded:]]
    assert {*kinds} <= {"graded", "page"}


def test_a_gradebook_that_is_gone_is_put_back_from_the_release(course):
    hand_in(course, "mia")
    grade_quickly(course)
    autograded = course.autograded("mia", "scoring").read_bytes()
    (course.root / "gradebook.db").unlink()
    notices = []
    row = grade_quickly(course, notice=notices.append)["mia"]
    assert (row.failed, row.total) == ("", AUTOMATIC)
    assert (
        nbformat.reads(autograded.decode(), 4).cells[1]
        == nbformat.read(course.autograded("mia", "scoring"), 4).cells[1]
    )
    assert "it has been restored" in notices[0]
    assert "restore" in notices[0]


def test_of_a_source_that_nbgrader_refuses_the_instructor_is_told_its_own_path(course):
    hand_in(course, "mia")
    (course.root / "gradebook.db").unlink()
    source = json.loads(course.source("scoring").read_text(encoding="utf-8"))
    written_answer = next(cell for cell in source["cells"] if cell["metadata"]["nbgrader"]["grade_id"] == ESSAY)
    source["cells"].append(written_answer | {"id": "twice"})
    course.source("scoring").write_text(json.dumps(source), encoding="utf-8")
    with pytest.raises(CourseError, match="nbgrader refused it") as refused:
        grade_quickly(course)
    assert str(refused.value).startswith(f"{course.source('scoring')}: ")


def test_a_gradebook_with_earlier_points_gets_those_of_the_release(course):
    hand_in(course, "mia")
    with Gradebook(course.gradebook.url) as gradebook:
        cells = gradebook.find_notebook("scoring", "scoring").grade_cells
        points = sum(cell.max_score for cell in cells)
        for cell in cells:
            cell.max_score *= 2
        gradebook.db.commit()
    grade_quickly(course)
    assert load_results(course, "scoring")["mia"].points == points


def test_with_the_gradebook_gone_marks_come_back_from_the_backup(course):
    hand_in(course, "mia")
    grade_quickly(course)
    mark(course, "mia", 1.5, "Good.")
    grade_quickly(course)  # first makes a backup, which includes the mark
    (course.root / "gradebook.db").unlink()
    listed = autograder("restore", "--course", course.root)
    newest = listed.stdout.split()[0]
    assert listed.returncode == 0
    assert "before-grade" in newest
    succeed("restore", newest, "--course", course.root)
    assert written(course, "mia") == (1.5, False)
    row = grade_quickly(course)["mia"]
    assert (row.total, row.waiting) == (AUTOMATIC + 1.5, ())


def test_a_clock_that_goes_backwards_loses_no_backup(course, monkeypatch):
    backups = []

    class Backwards(datetime):
        @classmethod
        def now(cls, zone=None):
            return datetime(2040 - len(backups), 1, 1, tzinfo=zone)

    monkeypatch.setattr(backup, "datetime", Backwards)
    for number in range(backup.MAX_BACKUPS + 3):
        with Gradebook(course.gradebook.url) as gradebook:
            gradebook.add_student(f"student{number}")
        backup.back_up(course, "grade")
        backups.append(backup.list_backups(course)[0].read_bytes())
        back_up_again = backup.list_backups(course)
        backup.back_up(course, "grade")
        assert backup.list_backups(course) == back_up_again  # no new backup, because nothing has changed
    assert [path.read_bytes() for path in backup.list_backups(course)] == backups[::-1][: backup.MAX_BACKUPS]


def test_what_a_killed_grader_left_half_done_is_taken_back_and_backed_up(course):
    hand_in(course, "mia")
    leave_half_done(course.gradebook.file)
    assert grade_quickly(course)["mia"].total == AUTOMATIC
    with Gradebook(course.gradebook.url) as opened:
        assert [student.id for student in opened.students] == ["mia"]


def test_points_changed_after_the_release_stop_nobody_and_those_of_the_release_count(course, monkeypatch):
    hand_in(course, "mia")
    key = answer_key.load("scoring")
    dearer = {**key, "scoring-additive_score": replace(key["scoring-additive_score"], points=5.0)}

    monkeypatch.setattr("autograder.courses.released.load_key", lambda topic: dearer)
    released = course.releases("scoring").load()
    assert released.other_points == {"scoring-additive_score": 5.0}
    row = grade_quickly(course)["mia"]
    assert (row.failed, row.points["scoring-additive_score"], row.total) == ("", 3.0, AUTOMATIC)


def test_a_hidden_case_that_the_course_adds_after_the_release_stops_nobody(course):
    hand_in(course, "mia")
    grade_quickly(course)
    shapes = "{ query = [2, 4], keys = [2, 40, 5], W_query = [6, 4], W_key = [6, 5], v = [6] }"
    case = f'exercise = "additive_score"\nname = "a long sentence"\npart = "values"\nshapes = {shapes}\n'
    (course.root / "course.toml").write_text(f"[[assignment.scoring.case]]\n{case}", encoding="utf-8")
    row = grade_quickly(course)["mia"]
    assert (row.failed, row.reused, row.total) == ("", False, AUTOMATIC)
    assert course.releases("scoring").load().changed


def test_an_old_submission_is_read_by_the_release_that_it_was_made_from(course, tmp_path, unproved):
    hand_in(course, "mia")
    shutil.copytree(BOOK, tmp_path / "book", ignore=shutil.ignore_patterns("figures", "_static"))
    chapter = tmp_path / "book" / "scoring.md"
    changed = chapter.read_text(encoding="utf-8").replace(
        ":label: scoring-additive_score\n\n", ":label: scoring-additive_score\n\nNewly worded. ", 1
    )
    assert changed != chapter.read_text(encoding="utf-8")
    chapter.write_text(changed, encoding="utf-8")
    release(course, "scoring", seed=0, book=tmp_path / "book")
    assert len(course.releases("scoring").load().templates) == 2
    hand_in(course, "noa")
    rows = grade_quickly(course)
    assert (rows["mia"].notes, rows["noa"].notes) == ((), ())
    assert "Newly worded" in page(course, "noa")
    assert "Newly worded" not in page(course, "mia")
    hand_in(course, "mia", change=lambda data: data["cells"][2].update(source="import math"))
    assert "locked cell" in " ".join(grade_quickly(course)["mia"].notes)


@pytest.mark.parametrize("kills", [1, 2])
def test_what_was_killed_from_outside_is_tried_once_more_and_such_a_verdict_is_never_kept(course, kills):
    hand_in(course, "mia")
    runs = []

    def killed_at_first(notebook, exercises, *rest):
        runs.append(notebook)
        graded = all_right(notebook, exercises)
        if len(runs) > kills:
            return graded
        nothing = tuple(replace(v, earned=None if v.earned is None else 0.0) for v in graded.verdicts)
        return replace(graded, verdicts=nothing, killed=True)

    row = grade_quickly(course, grade_one=killed_at_first)["mia"]
    assert (len(runs), row.total) == (2, AUTOMATIC if kills == 1 else 0.0)
    row = grade_quickly(course, grade_one=killed_at_first)["mia"]
    assert (len(runs), row.total) == (2 if kills == 1 else 3, AUTOMATIC)  # a verdict not stored is computed anew


# Machine faults: the error has a remedy, nothing is half written, a second run completes


@contextlib.contextmanager
def held(course, how):
    connection = sqlite3.connect(course.root / "gradebook.db", timeout=0.1)
    connection.execute(how)
    if how == "BEGIN":
        connection.execute("SELECT count(*) FROM student").fetchall()
    try:
        yield
    finally:
        connection.rollback()
        connection.close()


@pytest.mark.parametrize("how", ["BEGIN EXCLUSIVE", "BEGIN"])
def test_a_gradebook_that_is_locked_is_said_and_a_second_run_completes(course, how):
    hand_in(course, "mia")
    with (
        held(course, how),
        pytest.raises(CourseError, match=r"locked.*\n  Remedy: .*close any other program that uses"),
    ):
        grade_quickly(course)
    assert grade_quickly(course)["mia"].total == AUTOMATIC


@pytest.mark.parametrize("what", ["export", "feedback", "report"])
def test_what_reads_a_gradebook_that_is_locked_says_so_and_writes_nothing(course, tmp_path, what):
    hand_in(course, "mia")
    grade_quickly(course)
    words = [what, "scoring", "--output", tmp_path / "out", "--course", course.root]
    with held(course, "BEGIN EXCLUSIVE"):
        assert_refused(autograder(*words), "locked", "close any other program that uses")
    assert not list(tmp_path.glob("out*"))
    assert autograder(*words).returncode in (0, 3)


ODD_NAMES = ["Ada King", "तर्क", "O'Brien", "@x", "+1", "a.b-c", "李小龍"]


def test_a_folder_whose_name_is_no_utf_8_concerns_nobody_else(course, tmp_path):
    name = "ad\udcff"
    for student in (name, "ben"):
        hand_in(course, student)
    rows = grade_quickly(course)
    assert (rows["ben"].failed, rows["ben"].set_aside) == ("", "")
    assert rows[name].failed
    graded = autograder("grade", "scoring", "--course", course.root)
    assert "ben" in graded.stdout, graded.stderr
    with zipfile.ZipFile(tmp_path / "class.zip", "w") as bundle:
        bundle.write(course.submission("ben", "scoring"), "cem/scoring.ipynb")
    collected, _ = collect(course, "scoring", tmp_path / "class.zip")
    assert [hand_in.problem for hand_in in collected] == [""]


def test_a_student_of_an_odd_name_goes_the_whole_way(course, tmp_path):
    for name in ODD_NAMES:
        hand_in(course, name)
    grade_quickly(course)
    exported = export(course, "scoring", "csv", tmp_path / "grades.csv")
    handed = write_feedback_archive(course, "scoring", "folder", tmp_path / "pages.zip")
    assert (exported.count, handed.count) == (len(ODD_NAMES), len(ODD_NAMES))
    with (tmp_path / "grades.csv").open(encoding="utf-8", newline="") as file:
        assert {row["student"] for row in csv.DictReader(file)} == {escape_formula(name) for name in ODD_NAMES}
    with zipfile.ZipFile(tmp_path / "pages.zip") as bundle:
        assert {*bundle.namelist()} == {f"{name}/scoring.html" for name in ODD_NAMES}
    assert {name for name in ODD_NAMES if load_graded(course, name, "scoring")} == {*ODD_NAMES}
    (row,) = grade_quickly(course, ODD_NAMES[0], again=True).values()
    assert (row.student, row.total) == (ODD_NAMES[0], AUTOMATIC)


def test_a_file_that_may_not_be_read_sets_its_student_aside_and_nobody_else(course, monkeypatch):
    hand_in(course, "mia")
    hand_in(course, "noa")
    honest = jobs.read_handed_in_files

    def forbidden(exercises, folder):
        if folder.parent.name == "mia":
            raise PermissionError(errno.EACCES, "Permission denied", str(folder))
        return honest(exercises, folder)

    monkeypatch.setattr(jobs, "read_handed_in_files", forbidden)
    rows = grade_quickly(course)
    assert "Permission denied" in rows["mia"].set_aside
    assert rows["noa"].total == AUTOMATIC


def test_a_full_disk_is_said_and_a_second_run_completes(course, monkeypatch):
    for student in ("ben", "mia", "noa"):
        hand_in(course, student)
    honest, writes_left = recording.write_bytes, [1]

    def full(content, path):
        if not writes_left:
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        writes_left.pop()
        honest(content, path)

    with monkeypatch.context() as patched:
        patched.setattr(recording, "write_bytes", full)
        with pytest.raises(CourseError, match=r"No space left.*\n  Remedy: free some disk space"):
            grade_quickly(course)
    rows = grade_quickly(course)
    assert [row.total for row in rows.values()] == [AUTOMATIC] * 3
    assert not list(course.root.rglob("*.draft"))


def test_a_course_that_cannot_be_written_is_said(course):
    hand_in(course, "mia")
    other = os.geteuid() == 0
    if not other:
        for path in (course.root, *course.root.rglob("*")):
            path.chmod(path.stat().st_mode & ~0o222)
    for path in (course.root, *course.root.parents):
        with contextlib.suppress(OSError):
            path.chmod(path.stat().st_mode | 0o055)
    # modules that only root may read are imported before the user changes
    source = (
        "import os, sys, typer._adapters; from autograder import __main__; from autograder.batch import grade_class; "
    )
    source += "from autograder.courses import course; from autograder.gradebook import recorder; "
    source += "from autograder.reports import tables; from autograder.grading import cluster; "
    source += "from autograder.grading import workers; from autograder.sandbox import doctor; "
    source += "from autograder.with_nbgrader import limits, plugin; "
    source += "course.Course.at(sys.argv[4]).releases('scoring').load(); "
    source += "os.setgid(65534); os.setuid(65534); " if other else ""
    source += "__main__.main()"
    command = [sys.executable, "-c", source, "grade", "scoring", "--course", course.root, "--isolation", "none"]
    done = subprocess.run(command, capture_output=True, text=True, cwd="/")
    assert_refused(done, "make sure that you can write")


def test_a_course_with_a_question_mark_in_its_path_is_refused(tmp_path):
    with pytest.raises(CourseError, match=r"\? in its name"):
        init(tmp_path / "what?" / "course")
    assert not (tmp_path / "what?").exists()


def _hear_ctrl_c():
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # shells make background processes ignore it


def test_ctrl_c_stops_the_batch_and_a_second_run_completes(course):
    sleepy = {"cell_type": "code", "metadata": {}, "source": "import time; time.sleep(6)", "outputs": []}
    for number in range(3):
        hand_in(course, f"student{number}", change=lambda data: data["cells"].insert(2, dict(sleepy)))
    command = [sys.executable, "-m", "autograder", "grade", "scoring", "--course", str(course.root), "--workers", "1"]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=_hear_ctrl_c,
    )
    for _ in range(1200):
        if list((course.root / ".autograder" / "backups").glob("*")) and len(below(process.pid)) > 3:
            break
        time.sleep(0.05)
    time.sleep(1)
    os.killpg(process.pid, signal.SIGINT)
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 130, output + errors
    assert "run the same command again" in errors
    assert "Traceback" not in output + errors
    assert not list(course.root.rglob("*.draft"))
    assert [row.total for row in grade_quickly(course).values()] == [AUTOMATIC] * 3


def test_a_second_batch_in_the_same_course_is_refused(course):
    hand_in(course, "mia")
    with exclusive_lock(course), pytest.raises(CourseError, match="someone is already grading"):
        grade_quickly(course)


def test_a_release_that_nbgrader_would_refuse_leaves_everything_as_it_was(course, monkeypatch, unproved):
    hand_in(course, "mia")
    grade_quickly(course)
    before = {path: path.read_bytes() for path in course.root.rglob("*.ipynb")}
    honest = assignments._select_graded_cells
    monkeypatch.setattr(
        assignments, "_select_graded_cells", lambda notebook: {**honest(notebook), "scoring-new-test": 1.0}
    )
    with pytest.raises(CourseError, match=r"add new\b.*, but 1 submission has already been graded"):
        release(course, "scoring", seed=0)
    assert {path: path.read_bytes() for path in course.root.rglob("*.ipynb")} == before


# nbgrader's exchange


def test_feedback_can_be_released_through_nbgraders_exchange(course, tmp_path):
    paths = {student: hand_in(course, student) for student in ("mia", "noa")}
    for student, path in paths.items():
        path.with_name("timestamp.txt").write_text("2026-03-01 12:00:00.000000 UTC")
        path.with_name("submission_secret.txt").write_text(student * 64)
    paths["noa"].write_bytes(b"")
    rows = grade_quickly(course)
    assert [student for student, row in rows.items() if row.set_aside] == ["noa"]
    exchange = tmp_path / "exchange"
    exchange.mkdir(mode=0o777)
    exchange.chmod(0o777)
    config = course.config.read_text() + f"\nc.Exchange.root = {str(exchange)!r}\n"
    course.config.write_text(config)
    output = nbgrader("release_feedback", "scoring", cwd=course.root)
    assert len(list(exchange.rglob("feedback/*.html"))) == 2, output
