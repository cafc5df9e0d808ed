"""An instructor's first hour: an example course, last year's course carried over, and a next command after every step."""

import contextlib
import shlex
import shutil
import subprocess
import sys
from datetime import UTC, datetime

import pytest

from autograder.courses.course import init
from autograder.courses.plan import read_plan
from autograder.courses.rollover import take_over
from autograder.courses.submissions import list_submitters
from autograder.errors import CourseError
from autograder.gradebook.scores import load_results
from autograder.releases import release as releases
from tests.autograder.test_main import assert_refused, autograder, succeed

pytestmark = pytest.mark.suite("assignments")

NOW = datetime(2026, 9, 1, tzinfo=UTC)
LAST_YEAR = """title = "Attention 2025"
website = "https://attention.university.edu/"
roster = "students.csv"  # from the registrar
markers = ["ada"]

[late]
percent_a_day = 10

[assignment.scoring]
due = 2025-11-30T23:59:00+01:00
seed = 20251
points.additive_score = 6

[assignment.scoring.extensions]
mia = 2025-12-03T23:59:00+01:00
"zoe lee" = 2025-12-04T23:59:00+01:00
# asked twice

[assignment.scoring.sections.A]
due = 2025-12-01T23:59:00+01:00  # Mondays

[[assignment.scoring.case]]
exercise = "additive_score"
name = "a long sentence"
part = "values"
shapes = { query = [2, 4], keys = [2, 40, 5], W_query = [6, 4], W_key = [6, 5], v = [6] }

[assignment.softmax]
due = 2027-01-15T23:59:00+01:00
"""


@pytest.fixture
def last_year(tmp_path):
    course = init(tmp_path / "last year")
    (course.root / "course.toml").write_text(LAST_YEAR, encoding="utf-8")
    (course.root / "students.csv").write_text("id,name,section,sis\nmia,Mia Ito,A,7\n", encoding="utf-8")
    return course


def test_a_new_year_has_the_rules_of_the_last_without_its_students_and_seeds(last_year, tmp_path):
    output = succeed("init", tmp_path / "new", "--from", last_year.root)
    before, plan = last_year.plan(), read_plan(tmp_path / "new")
    assignment = plan.assignment("scoring")
    assert (plan.title, plan.late, plan.markers) == (before.title, before.late, before.markers)
    assert (assignment.points, assignment.extra, assignment.due) == (
        {"additive_score": 6},
        *(getattr(before.assignment("scoring"), n) for n in ("extra", "due")),
    )
    assert (plan.students, assignment.extensions, assignment.seed) == ((), {}, None)
    assert (tmp_path / "new" / "students.csv").read_text() == "id,name,section,sis\n"
    assert not list((tmp_path / "new").glob("gradebook*"))
    for what in (
        "due date of scoring: 2025-11-30",
        "section A: 2025-12-01",
        "title: Attention 2025",
        "markers: ada",
        "extensions",
        "roster",
    ):
        assert what in output
    assert output.splitlines()[-1] == f"Next: python -m autograder release scoring --course {tmp_path / 'new'}"


def test_what_must_change_is_marked_in_the_file_and_nothing_else_is_touched(last_year):
    new = take_over(last_year.root / "course.toml", NOW)
    text = new.text.splitlines()
    assert "due = 2025-11-30T23:59:00+01:00  # CHANGE: this is last year's" in text
    assert "due = 2025-12-01T23:59:00+01:00  # Mondays  # CHANGE: this is last year's" in text
    assert "due = 2027-01-15T23:59:00+01:00" in text
    assert not [secret for secret in ("20251", "mia", "zoe", "asked twice") if secret in new.text]
    changed = [line for line in LAST_YEAR.splitlines() if line not in text]
    assert [line.partition(" =")[0] for line in changed] == [
        "due",
        "seed",
        "[assignment.scoring.extensions]",
        "mia",
        '"zoe lee"',
        "# asked twice",
        "due",
    ]
    assert take_over(last_year.root, NOW) == new


def test_the_hidden_cases_of_a_new_year_are_others(last_year, tmp_path):
    autograder("init", tmp_path / "new", "--from", last_year.root)
    course = init(tmp_path / "new")
    assert last_year.releases("scoring").choose_seed() == 20251
    assert course.releases("scoring").choose_seed() is None
    assert releases.draw_seed() != releases.draw_seed()


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("[assignment.scoring.extensions]", "[assignment.scoring.extension]", "unknown field"),
        ("[assignment.softmax]\ndue", "[assignment]\nsoftmax.seed = 3\nsoftmax.due", "cannot be taken out"),
        ("[late]", "[late", "not valid TOML"),
    ],
)
def test_what_cannot_be_taken_over_is_refused_before_anything_is_written(last_year, tmp_path, old, new, words):
    (last_year.root / "course.toml").write_text(LAST_YEAR.replace(old, new), encoding="utf-8")
    assert_refused(autograder("init", tmp_path / "new", "--from", last_year.root), words)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("roster", ["mia,Mia Ito,A,7\n", "id,name,ten\nmia,Mia Ito,7\n", "", None])
def test_a_first_line_that_is_no_header_may_name_a_student_and_is_not_taken_over(last_year, tmp_path, roster):
    (last_year.root / "students.csv").unlink()
    if roster is not None:
        (last_year.root / "students.csv").write_text(roster, encoding="utf-8")
    succeed("init", tmp_path / "new", "--from", last_year.root)
    assert (tmp_path / "new" / "students.csv").read_text() == "id,name,email,section\n"


@pytest.mark.parametrize("roster", ["../last year/students.csv", "{}/students.csv"])
def test_a_roster_elsewhere_which_may_be_last_years_is_not_taken_over(last_year, roster):
    text = LAST_YEAR.replace('"students.csv"', f'"{roster.format(last_year.root)}"')
    (last_year.root / "course.toml").write_text(text, encoding="utf-8")
    new = take_over(last_year.root, NOW)
    assert new.roster == {}
    assert "\n# last year: roster" in new.text


def test_a_course_that_is_there_is_not_begun_anew(last_year, tmp_path):
    for option in (["--from-example"], ["--from", last_year.root]):
        assert_refused(autograder("init", last_year.root, *option), "there is a course already")
    assert_refused(autograder("init", tmp_path / "a", "--from", tmp_path), "no course.toml")
    assert_refused(autograder("init", tmp_path / "a", "--from", tmp_path, "--from-example"), "give one of them")
    with pytest.raises(CourseError):
        take_over(tmp_path / "nowhere", NOW)


def follow(output):
    """Return the command that the last line of ``output`` suggests."""
    last = output.splitlines()[-1]
    assert last.startswith("Next: python -m autograder "), output
    return shlex.split(last.removeprefix("Next: python -m autograder ").partition(", ")[0])


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    """A course made by --from-example in another folder than the project, graded by the command that its output suggests.

    Return (course, output of `grade`).
    """
    root = tmp_path_factory.mktemp("first hour") / "course"
    command = [sys.executable, "-m", "autograder", "init", root, "--from-example"]
    begun = subprocess.run(command, cwd=root.parents[1], capture_output=True, text=True, check=False)
    assert begun.returncode == 0, begun.stderr
    with contextlib.chdir(root.parents[1]):  # commands name a course below the current folder by its relative path
        output = succeed(*follow(begun.stdout), "--workers", 2)
    return init(root), output


def test_the_example_has_two_sections_dates_and_ten_hand_ins(example):
    course, output = example
    plan = course.plan()
    assert len(plan.students) == len(list_submitters(course, "scoring")) == 10
    assert {student.section for student in plan.students} == {"A", "B"}
    assert all(student.name and student.email for student in plan.students)
    results = load_results(course, "scoring")
    assert sum(result.penalty > 0 for result in results.values()) == 1
    assert "Ada Loops (ada_loops)" in output
    assert "Students have asked for another look: 1." in output
    assert "late by 5 hours" in course.feedback("ines_half_finished", "scoring").read_text(encoding="utf-8")


def test_the_example_calls_students_by_name_in_every_table_and_on_every_page(example, tmp_path):
    course, output = example
    page = course.feedback("fay_transposed", "scoring").read_text(encoding="utf-8")
    assert "<dd>Fay Transposed (fay_transposed)</dd>" in page
    assert "<title>Feedback for Fay Transposed (fay_transposed): " in page
    names = {f"{student.name} ({student.id})" for student in course.plan().students}
    graded = {line.split("/s ")[1].partition(":")[0] for line in output.splitlines() if line.endswith(": graded")}
    assert graded == names
    (slowest,) = [line for line in output.splitlines() if line.startswith("Slowest: ")]
    assert {
        entry.rpartition(" ")[0].rpartition(" ")[0] for entry in slowest.removeprefix("Slowest: ").split(", ")
    } < names
    where = ("--course", course.root)
    done = autograder("export", "scoring", "--to", "canvas", "--output", tmp_path / "c.csv", *where)
    assert ", Fay Transposed (fay_transposed)" in done.stdout  # waits to be marked
    reason = ("--points", "1", "--reason", "Because.")
    done = autograder(
        "mark", "scoring", "batched_additive_shapes", "--student", "fay_transposed", "--names", *reason, *where
    )
    assert done.stdout.startswith("Fay Transposed (fay_transposed), batched_additive_shapes: "), (
        done.stdout + done.stderr
    )
    succeed("report", "--names", "--output", tmp_path / "r.html", *where)
    folder = tmp_path / "handed in"
    shutil.copytree(course.submission("fay_transposed", "scoring").parent, folder / "fay_transposed")
    collected = autograder("collect", "scoring", folder, *where).stdout
    assert "Fay Transposed (fay_transposed)" in collected, collected


def test_from_the_example_each_command_says_the_next_until_the_report(example, tmp_path, monkeypatch):
    course, output = example
    monkeypatch.chdir(tmp_path)
    assert follow(output)[:3] == ["mark", "scoring", "joined_or_added"]
    output = succeed("export", "scoring", "--section", "A", "--course", course.root, status=3)
    done = autograder(*follow(output))
    assert done.stdout.splitlines()[-1].startswith("Next: "), done.stdout
    succeed(*follow(done.stdout))
    assert "Fay Transposed" in autograder("requests", "scoring", "--course", course.root).stdout


def test_the_command_that_init_names_next_succeeds(tmp_path, any_seed, unproved):
    output = succeed("init", tmp_path / "course")
    command = output.splitlines()[-1].removeprefix("Next: python -m autograder ")
    released = succeed(*command.split())
    assert released.splitlines()[-1].startswith("Next: python -m autograder collect scoring ARCHIVE")


def test_a_release_with_attempts_names_the_command_that_grades_them(tmp_path, any_seed, unproved):
    course = init(tmp_path / "course")
    (course.root / "course.toml").write_text("[assignment.scoring]\nattempts = 1\n", encoding="utf-8")
    released = succeed("release", "scoring", "--no-links", "--course", course.root)
    assert f"Next: python -m autograder watch scoring --course {course.root}, which grades" in released.splitlines()[-1]
