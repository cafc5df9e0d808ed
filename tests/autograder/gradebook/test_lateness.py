"""Lateness, its penalty and the feedback page agree, in whatever order marks and times arrive."""

import json
import zipfile
from datetime import UTC, datetime, timedelta

import pytest
from nbgrader.api import Gradebook

from autograder.courses.submissions import list_submitters
from autograder.errors import CourseError
from autograder.gradebook.lateness import Lateness, nbgrader_config
from autograder.gradebook.scores import load_results
from autograder.marking.answers import CurrentMark, load_answers, save_marks
from autograder.marking.override import override
from autograder.platforms.collect import collect, set_times, undo
from autograder.platforms.times import read_times
from tests.autograder.essays import ESSAY, grade_quickly, hand_in, mark, page
from tests.autograder.platforms.test_collect import handed_out, times
from tests.autograder.samples import AUTOMATIC
from tests.autograder.test_main import autograder, succeed

pytestmark = pytest.mark.suite("assignments")

PLAN = """[late]
grace_minutes = {grace}
percent_a_day = 10

[assignment.scoring]
due = 2025-12-01T00:00:00Z

[assignment.scoring.extensions]
ida = 2025-12-03T00:00:00Z
"""
ONE_DAY = "2025-12-01 20:00:00.000000 UTC"


@pytest.fixture
def late_course(course):
    (course.root / "course.toml").write_text(PLAN.format(grace=15), encoding="utf-8")
    return course


def came(course, student, text=ONE_DAY):
    course.submission(student, "scoring").with_name("timestamp.txt").write_text(text)


def standing(course, student):
    result = load_results(course, "scoring")[student]
    return result.earned, result.penalty


def mark_in_a_sitting(course, student, points):
    (answer,) = (candidate for candidate in load_answers(course, "scoring", ESSAY) if candidate.student == student)
    save_marks(course, "scoring", ESSAY, [(answer, CurrentMark(points, False, None))])


@pytest.mark.parametrize("first", ["grade", "mark"])
def test_equal_work_is_equally_late_whether_marked_or_graded_last(late_course, first):
    for student in ("ada", "ben"):
        hand_in(late_course, student)
        came(late_course, student)
    grade_quickly(late_course)
    mark(late_course, "ada", 2.0)  # like the formgrader, which leaves the penalty alone
    if first == "grade":
        row = grade_quickly(late_course, dry=True)["ada"]
        assert [(move.what, move.before, move.after) for move in row.changes] == [
            ("late penalty", pytest.approx(0.1 * AUTOMATIC), pytest.approx(0.1 * (AUTOMATIC + 2)))
        ]
        assert standing(late_course, "ada")[1] == pytest.approx(0.1 * AUTOMATIC)
    mark_in_a_sitting(late_course, "ben", 2.0)
    assert standing(late_course, "ben") == (AUTOMATIC + 2, pytest.approx(0.1 * (AUTOMATIC + 2)))
    rows = grade_quickly(late_course)
    assert [row.reused for row in rows.values()] == [True, True]
    assert standing(late_course, "ada") == standing(late_course, "ben")
    assert page(late_course, "ada").replace("ada", "ben") == page(late_course, "ben")


@pytest.mark.parametrize(
    ("old", "new", "share"),
    [
        ("grace_minutes = 15", "grace_minutes = 1440", 0),
        ("percent_a_day = 10", "percent_a_day = 20", 0.2),
        ("percent_a_day = 10", "percent_a_day = 10\nmost_percent = 5", 0.05),
        ("due = 2025-12-01T00:00:00Z", "due = 2025-11-30T00:00:00Z", 0.2),
        ("ida = ", "ada = ", 0),
    ],
)
def test_a_late_rule_that_has_changed_counts_from_the_next_grade(late_course, old, new, share):
    hand_in(late_course, "ada")
    came(late_course, "ada")
    grade_quickly(late_course)
    assert standing(late_course, "ada")[1] == pytest.approx(0.1 * AUTOMATIC)
    plan = late_course.root / "course.toml"
    plan.write_text(plan.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    grade_quickly(late_course)
    assert standing(late_course, "ada")[1] == pytest.approx(share * AUTOMATIC)


def test_the_penalty_follows_points_that_a_person_puts_in_place_of_the_graders(late_course):
    hand_in(late_course, "ada")
    came(late_course, "ada")
    grade_quickly(late_course)
    override(late_course, "scoring", "additive_score", "ada", 0.0, "It was copied.")
    earned, penalty = standing(late_course, "ada")
    assert (earned < AUTOMATIC, penalty) == (True, pytest.approx(0.1 * earned))


def test_the_penalty_of_what_was_graded_before_follows_a_mark_while_a_later_file_cannot_be_read(late_course):
    hand_in(late_course, "ada")
    came(late_course, "ada")
    grade_quickly(late_course)
    late_course.submission("ada", "scoring").write_text("no notebook")
    grade_quickly(late_course)
    mark(late_course, "ada", 2.0, "Marked meanwhile.")
    row = grade_quickly(late_course)["ada"]
    assert "not a Jupyter notebook" in row.set_aside
    assert standing(late_course, "ada") == (AUTOMATIC + 2, pytest.approx(0.1 * (AUTOMATIC + 2)))
    assert "Marked meanwhile." in page(late_course, "ada")
    assert page(late_course, "ada").count("was not graded") == 1


def test_an_extension_is_on_the_first_page_as_it_is_in_the_penalty(late_course):
    for student in ("ada", "ida"):
        hand_in(late_course, student)
        came(late_course, student)
    for _ in range(2):
        grade_quickly(late_course, again=True)
        assert "late by 20 hours" in page(late_course, "ada")
        assert "(on time)" in page(late_course, "ida")
        assert standing(late_course, "ida")[1] == 0


def test_an_extension_granted_after_the_work_was_graded_reaches_nbgrader(late_course):
    hand_in(late_course, "ada")
    came(late_course, "ada")

    def grade_and_read_lateness():
        grade_quickly(late_course)
        with Gradebook(late_course.gradebook.url) as gradebook:
            return gradebook.find_submission("scoring", "ada").total_seconds_late

    assert grade_and_read_lateness() == 20 * 3600
    plan = late_course.root / "course.toml"
    plan.write_text(plan.read_text(encoding="utf-8").replace("ida = ", "ada = "), encoding="utf-8")
    assert grade_and_read_lateness() == 0


def notebook(course):
    return course.releases("scoring").file.read_text(encoding="utf-8")


LATE = "ada_LATE_17_3001_scoring.ipynb"


@pytest.mark.parametrize(("grace", "share", "words"), [(15, 0.0, "it costs nothing"), (0, 0.1, "as much as one day")])
def test_late_by_nobody_knows_how_much_is_said_in_collect_and_grade_and_on_the_page(
    late_course, tmp_path, grace, share, words
):
    (late_course.root / "course.toml").write_text(PLAN.format(grace=grace), encoding="utf-8")
    path = handed_out(tmp_path, (LATE, notebook(late_course)))
    done = autograder("collect", "scoring", path, "--course", late_course.root)
    assert "Late, by an unknown amount: ada." in done.stdout
    assert words in done.stdout
    row = grade_quickly(late_course)["ada"]
    assert words in " ".join(row.notes)
    assert "late, by an unknown amount" in page(late_course, "ada")
    assert standing(late_course, "ada")[1] == pytest.approx(share * AUTOMATIC)


@pytest.mark.parametrize(
    ("old", "new"),
    [("grace_minutes = 15", "grace_minutes = 0"), ("percent_a_day = 10", "percent_a_day = 0")],
    ids=["grace", "percent"],
)
def test_what_an_unknown_lateness_costs_is_said_by_the_rule_of_the_day(late_course, tmp_path, old, new):
    collect(late_course, "scoring", handed_out(tmp_path, (LATE, notebook(late_course))))
    assert "Within the grace period, it costs nothing." in " ".join(grade_quickly(late_course)["ada"].notes)
    plan = late_course.root / "course.toml"
    plan.write_text(plan.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    said = " ".join(grade_quickly(late_course)["ada"].notes)
    assert "by an unknown amount." in said
    assert "Within the grace period" not in said
    assert ("as much as one day" in said) == (standing(late_course, "ada")[1] > 0)


def test_times_from_a_table_are_what_lateness_goes_by_until_they_are_taken_back(late_course, tmp_path):
    path = handed_out(tmp_path, (LATE, notebook(late_course)))
    collect(late_course, "scoring", path)
    before = times(late_course)
    grade_quickly(late_course)
    table = tmp_path / "times.csv"
    table.write_text("id,time\nada,2025-12-02T21:00:00+01:00\nzoe,2025-12-02T21:00:00Z\n")
    output = succeed("collect", "scoring", "--times", table, "--course", late_course.root, status=3)
    assert "late by 1 d 20 h" in output
    assert "zoe" in output
    assert times(late_course) == {"ada": "2025-12-02 20:00:00.000000 UTC"}
    row = grade_quickly(late_course)["ada"]
    assert row.notes == ()
    assert "late by 1 day and 20 hours" in page(late_course, "ada")
    assert standing(late_course, "ada")[1] == pytest.approx(0.2 * AUTOMATIC)
    (attempt,) = undo(late_course, "scoring")
    assert attempt.note == "undone: it arrived at an unknown time"
    assert times(late_course) == before
    grade_quickly(late_course)
    assert standing(late_course, "ada")[1] == 0
    assert "late, by an unknown amount" in page(late_course, "ada")
    succeed("collect", "scoring", "--times", table, "--course", late_course.root, status=3)
    collect(late_course, "scoring", path)  # collecting the same archive again changes nothing
    assert times(late_course) == {"ada": "2025-12-02 20:00:00.000000 UTC"}


def test_a_stated_time_that_is_taken_back_costs_nothing_any_more(late_course, tmp_path):
    collect(late_course, "scoring", handed_out(tmp_path, ("ada_17_3001_scoring.ipynb", notebook(late_course))))
    set_times(late_course, "scoring", {"ada": datetime(2025, 12, 2, 20, tzinfo=UTC)})
    grade_quickly(late_course)
    assert standing(late_course, "ada")[1] == pytest.approx(0.2 * AUTOMATIC)
    undo(late_course, "scoring")
    grade_quickly(late_course)
    assert standing(late_course, "ada") == (AUTOMATIC, 0)
    assert "time unknown" in page(late_course, "ada")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("name;time\n", ["line 1", "there is no time column"]),
        ("id,when\n", ["line 1", "there is no time column"]),
        ("id,time\nada,yesterday\n", ["line 2", "'yesterday' is not a time"]),
        ("id,time\nada,2025-12-02T21:00:00\n", ["line 2", "has no time zone"]),
        ("id,time\nada,0001-01-01T00:00:00+14:00\n", ["line 2", "is before 1980"]),
        ("id,time\nada,1979-12-31T23:59:59Z\n", ["line 2", "is before 1980"]),
        ("id,time\nada,9999-12-31T23:59:59-14:00\n", ["line 2", "is in the future"]),
        ("id,time\nada,2999-12-02T21:00:00Z\n", ["line 2", "in the future"]),
        ("id,time\nada,2025-12-02T21:00Z\nada,2025-12-03T21:00Z\n", ["line 3", "twice"]),
        ("canvas,time\n17,2025-12-02T21:00Z\n", ["line 2", "'17' is not in the roster"]),
    ],
)
def test_a_table_of_times_that_cannot_be_understood_is_refused_with_its_line(tmp_path, text, words):
    path = tmp_path / "times.csv"
    path.write_text(text)
    with pytest.raises(CourseError) as refused:
        read_times(path)
    assert all(word in str(refused.value) for word in words)


def test_a_table_of_times_that_is_refused_changes_nothing_and_no_archive_is_collected(late_course, tmp_path):
    path = handed_out(tmp_path, (LATE, notebook(late_course)))
    (tmp_path / "times.csv").write_text("id,time\nada,2025-12-02T21:00:00Z\nben,never\n")
    done = autograder("collect", "scoring", path, "--times", tmp_path / "times.csv", "--course", late_course.root)
    assert (done.returncode, "line 3" in done.stderr) == (2, True)
    assert list_submitters(late_course, "scoring") == []


def test_of_two_attempts_without_numbers_the_later_counts_although_one_has_a_stated_time(late_course, tmp_path):
    names = "Ada King_101_assignsubmission_file/scoring.ipynb"
    for number, day in enumerate((1, 2)):
        path = tmp_path / f"{number}.zip"
        with zipfile.ZipFile(path, "w") as bundle:
            bundle.writestr(zipfile.ZipInfo(names, (2025, 12, day, 2, 0, 0)), f'{{"cells": [], "number": {number}}}')
        collect(late_course, "scoring", path)
        if number == 0:
            (student,) = list_submitters(late_course, "scoring")
            set_times(late_course, "scoring", {student: datetime(2025, 12, 2, 7, 59, tzinfo=UTC)})
    assert '"number": 1' in late_course.submission(student, "scoring").read_text()


def test_late_without_a_time_goes_by_the_due_date_of_the_day_that_it_is_graded(late_course, tmp_path):
    plan = PLAN.format(grace=0)
    (late_course.root / "course.toml").write_text(plan, encoding="utf-8")
    collect(late_course, "scoring", handed_out(tmp_path, (LATE, notebook(late_course))))
    (late_course.root / "course.toml").write_text(
        plan.replace("due = 2025-12-01", "due = 2025-11-21"), encoding="utf-8"
    )
    grade_quickly(late_course)
    assert standing(late_course, "ada")[1] == pytest.approx(0.1 * AUTOMATIC)


def test_a_later_attempt_without_a_time_does_not_inherit_that_of_an_earlier_one(late_course):
    hand_in(late_course, "ada")
    came(late_course, "ada")
    grade_quickly(late_course)
    stamp = late_course.submission("ada", "scoring").with_name("timestamp.txt")
    stamp.unlink()
    grade_quickly(late_course, again=True)  # the same attempt, so the time in the gradebook still counts
    assert standing(late_course, "ada")[1] > 0
    hand_in(late_course, "ada", "Another attempt.")
    for again in (False, True):
        grade_quickly(late_course, again=again)
        assert standing(late_course, "ada") == (AUTOMATIC, 0)
        assert "time unknown" in page(late_course, "ada")


def test_what_was_late_by_nobody_knows_how_much_is_no_more_once_another_attempt_came_in_time(late_course, tmp_path):
    first = json.loads(notebook(late_course))
    first["cells"].append({"cell_type": "markdown", "id": "own", "metadata": {}, "source": "mine"})
    collect(late_course, "scoring", handed_out(tmp_path, (LATE, json.dumps(first))))
    grade_quickly(late_course)
    collect(late_course, "scoring", handed_out(tmp_path, ("ada_17_3002_scoring.ipynb", notebook(late_course))))
    grade_quickly(late_course)
    assert "late" not in page(late_course, "ada").partition("</dl>")[0].partition("<dl>")[2]
    assert load_results(late_course, "scoring")["ada"].time is None


@pytest.mark.parametrize(("stated", "penalty"), [(-1.0, 0.0), (3.0, 3.0), (7.0, 7.0), (7.5, 7.0)])
def test_a_penalty_lies_between_0_and_the_score_whatever_a_rule_says(late_course, stated, penalty):
    lateness = Lateness(late_course, "scoring", None, nbgrader_config(late_course, "scoring"))
    lateness._rule = lambda student, score, seconds: stated
    due = lateness.due_for("ada", None)
    assert lateness.penalty("ada", 7.0, due + timedelta(seconds=1), due) == penalty
    assert lateness.penalty("ada", 7.0, due, due) is None
