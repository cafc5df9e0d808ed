"""A dry run writes nothing, and its list of changed marks matches what grading then does."""

import json
from dataclasses import replace

import pytest

from autograder.batch.results import MarkChange
from autograder.courses.standing import load_graded
from autograder.errors import CourseError
from autograder.grading import grade
from autograder.reports import tables as report
from tests.autograder.essays import ESSAY, all_right, grade_quickly, hand_in, mark, page
from tests.autograder.platforms.test_collect import everything
from tests.autograder.samples import AUTOMATIC
from tests.autograder.test_main import autograder, succeed

pytestmark = pytest.mark.suite("assignments")
HARDER = "scoring-additive_score"


def harder(*args):
    """Grade as if a change of the key had cost one exercise a point."""
    graded = all_right(*args)
    verdicts = [
        replace(verdict, earned=verdict.points - 1) if verdict.exercise == HARDER else verdict
        for verdict in graded.verdicts
    ]
    return grade.Graded(tuple(verdicts), {})


def untouched(course):
    """Return all files except the stored verdicts and the lock."""
    files = everything(course)
    return {path: text for path, text in files.items() if "verdicts" not in path.parts and path.name != "lock"}


def points(course):
    (exercise,) = (candidate for candidate in course.releases("scoring").load().exercises if candidate.name == HARDER)
    return exercise.points


def test_a_dry_run_names_who_moves_by_which_exercise_and_writes_nothing(course):
    for student in ("ada", "ben"):
        hand_in(course, student)
    grade_quickly(course)
    mark(course, "ada", 2.0)
    grade_quickly(course)
    hand_in(course, "cem")
    hand_in(course, "dora").write_text("no notebook")
    course.autograded("ada", "scoring").with_name("beside.txt").touch()  # `grade` deletes it
    before = untouched(course)
    rows = grade_quickly(course, "ada", "cem", "dora", grade_one=harder, dry=True, again=True)
    assert untouched(course) == before
    whole = points(course)
    assert rows["ada"].changes == (MarkChange(HARDER, whole, whole - 1),)
    assert rows["ada"].total == AUTOMATIC + 2 - 1
    assert rows["cem"].changes == (MarkChange("all", None, AUTOMATIC - 1),)
    assert (rows["dora"].changes, bool(rows["dora"].set_aside)) == ((), True)
    assert load_graded(course, "dora", "scoring") == {}
    recorded = grade_quickly(course, "ada", grade_one=harder, again=True)
    assert recorded["ada"].points == rows["ada"].points


def test_a_dry_run_leaves_a_page_that_lacks_a_persons_marks_as_it_is(course):
    hand_in(course, "ada")
    grade_quickly(course)
    mark(course, "ada", 2.0)
    before, shown = untouched(course), page(course, "ada")
    assert grade_quickly(course, dry=True)["ada"].reused
    assert untouched(course) == before
    grade_quickly(course)
    assert page(course, "ada") != shown


def test_what_is_recorded_already_does_not_move(course):
    hand_in(course, "ada")
    grade_quickly(course)
    assert grade_quickly(course, dry=True)["ada"].changes == ()


def test_without_the_assignment_in_the_gradebook_there_is_nothing_to_compare_with(course):
    hand_in(course, "ada")
    (course.root / "gradebook.db").unlink()
    with pytest.raises(CourseError, match="nothing to compare with"):
        grade_quickly(course, dry=True)
    assert not (course.root / "gradebook.db").exists()


def test_a_dry_run_records_nothing_and_names_the_command_that_does(course, graded_without_sandbox):
    hand_in(course, "ada", essay=None)
    words = ["grade", "scoring", "--course", course.root, "--isolation", "none", "--workers", "1"]
    completed = autograder(*words, "--dry-run")
    assert completed.returncode == 0, completed.stdout + completed.stderr
    assert (
        "Students whose marks would change: 0 (0 up, 0 down); 1 would be new, 0 would stay the same" in completed.stdout
    )
    assert f"Nothing was recorded: `python -m autograder grade scoring --course {course.root}`" in completed.stdout
    assert not load_graded(course, "ada", "scoring")
    succeed(*words)
    assert load_graded(course, "ada", "scoring")
    dry = autograder(*words, "--dry-run")
    assert "0 would be new, 1 would stay the same" in dry.stdout


@pytest.mark.parametrize(("essay", "why"), [("Another answer.", "has changed"), (None, "has disappeared")])
def test_a_dry_run_names_written_answers_that_are_no_longer_those_that_were_marked(course, essay, why):
    for student in ("ada", "ben"):
        hand_in(course, student)
    grade_quickly(course)
    mark(course, "ada", 2.0)
    mark(course, "ben", 2.0)
    grade_quickly(course)
    release = json.loads(course.releases("scoring").file.read_text(encoding="utf-8"))
    (released_text,) = (
        cell["source"] for cell in release["cells"] if cell["metadata"]["nbgrader"]["grade_id"] == ESSAY
    )
    hand_in(course, "ada", released_text if essay is None else essay)
    rows = grade_quickly(course, dry=True)
    assert [(change.what, change.before, change.why) for change in rows["ada"].changes] == [
        (ESSAY, 2.0, f"{why} since it was marked")
    ]
    assert rows["ben"].changes == ()
    grid = report.changes_table(rows.values())
    assert f"{ESSAY}: the answer {why} since it was marked" in list(grid.columns[1].cells)
    assert grade_quickly(course)["ada"].waiting == (ESSAY,)
