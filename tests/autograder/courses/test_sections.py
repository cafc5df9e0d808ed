"""A section of the roster is graded, marked, reported and exported without the others."""

import csv
import zipfile

import pytest

from autograder.courses.sections import select_sections
from autograder.gradebook.scores import load_results
from autograder.marking.session import Session
from autograder.platforms.export import export
from autograder.reports.analysis import analyse
from tests.autograder.batch.test_nothing_lost import (  # noqa: F401
    course,
    grade_quickly,
    hand_in,
)
from tests.autograder.samples import AUTOMATIC
from tests.autograder.test_main import assert_refused, autograder

pytestmark = pytest.mark.suite("assignments")

ROSTER = """id,name,email,section
ada,Ada King,ada@university.edu,A
ben,Ben Ito,ben@university.edu,A
cem,Cem Kaya,cem@university.edu,B
dora,Dora Lee,dora@university.edu,
eve,Eve Absent,eve@university.edu,B
"""
PLAN = """title = "Attention"
roster = "students.csv"

[late]
percent_a_day = 10

[assignment.scoring]
due = 2025-12-01T00:00:00Z
"""


@pytest.fixture
def taught(course):  # noqa: F811
    """A course with two sections, in which four have handed in."""
    (course.root / "students.csv").write_text(ROSTER, encoding="utf-8")
    (course.root / "course.toml").write_text(PLAN, encoding="utf-8")
    for student in ("ada", "ben", "cem", "dora"):
        hand_in(course, student)
    return course


def test_sections_select_their_students_and_none_selects_everybody(taught):
    plan = taught.plan()
    assert select_sections(plan, ["A"]) == {"ada", "ben"}
    assert select_sections(plan, ["A", "B"]) == {"ada", "ben", "cem", "eve"}
    assert select_sections(plan, []) is select_sections(plan, None) is None


@pytest.mark.parametrize(
    "command",
    [
        ["grade", "scoring"],
        ["regrade", "scoring"],
        ["mark", "scoring", "what_to_recompute"],
        ["report"],
        ["export", "scoring"],
        ["feedback", "scoring"],
    ],
)
def test_an_unknown_section_is_refused_with_those_that_there_are(taught, grade_quickly, command, monkeypatch, tmp_path):  # noqa: F811
    monkeypatch.chdir(tmp_path)
    grade_quickly(taught)
    done = autograder(*command, "--section", "C", "--course", taught.root)
    assert_refused(done, "no section 'C'", "name one of A, B")


def test_without_sections_in_the_roster_the_remedy_names_the_column(taught):
    (taught.root / "students.csv").write_text("id\nada\n", encoding="utf-8")
    assert_refused(autograder("grade", "scoring", "--section", "A", "--course", taught.root), "column section")


def test_only_the_section_is_graded(taught):
    command = ["grade", "scoring", "--isolation", "none", "--no-feedback", "--course", taught.root]
    assert_refused(autograder(*command, "cem", "--section", "A"), "not in section A: cem")
    done = autograder(*command, "--section", "B")
    assert done.returncode == 0, done.stderr
    assert set(load_results(taught, "scoring")) == {"cem"}
    (taught.root / "students.csv").write_text(ROSTER.replace("cem@university.edu,B", "cem@university.edu,A"))
    assert_refused(autograder(*command, "--section", "B"), "nobody in section B has handed in scoring")


def test_only_the_section_is_marked(taught, grade_quickly):  # noqa: F811
    grade_quickly(taught)
    session = Session(taught, "scoring", "what_to_recompute", only=select_sections(taught.plan(), ["A"]))
    assert {answer.student for answer in session.answers()} == {"ada", "ben"}
    assert session.progress() == {"marked": 0, "of": 2, "untouched": 0}


def test_only_the_section_is_in_the_report(taught, grade_quickly):  # noqa: F811
    grade_quickly(taught)
    study = analyse(taught, "scoring", select_sections(taught.plan(), ["B"]))
    assert (len(study.scores), study.missing) == (1, ("eve",))
    assert len(analyse(taught, "scoring").scores) == 4
    done = autograder("report", "--section", "B", "--course", taught.root)
    assert done.returncode == 0, done.stderr
    assert "<h1>Attention (section B): report</h1>" in (taught.root / "report-B.html").read_text(encoding="utf-8")


def test_only_the_section_is_exported_and_gets_pages(taught, grade_quickly, tmp_path):  # noqa: F811
    grade_quickly(taught)
    options = ["--section", "B", "--course", taught.root]
    done = autograder("export", "scoring", "--output", tmp_path / "b.csv", *options)
    assert done.returncode == 3, done.stderr  # the essay waits
    with (tmp_path / "b.csv").open(encoding="utf-8", newline="") as file:
        assert [row["student"] for row in csv.DictReader(file)] == ["cem", "eve"]
    autograder("feedback", "scoring", "--output", tmp_path / "b.zip", *options)
    with zipfile.ZipFile(tmp_path / "b.zip") as bundle:
        assert bundle.namelist() == ["cem/scoring.html"]


def test_moodles_worksheet_keeps_the_rows_of_other_sections_as_they_are(taught, grade_quickly, tmp_path):  # noqa: F811
    grade_quickly(taught)
    header = "Identifier,Full name,Email address,Grade,Last modified (grade)\n"
    rows = "Participant 1,Ada King,ada@university.edu,,-\nParticipant 2,Cem Kaya,cem@university.edu,1,-\n"
    (tmp_path / "sheet.csv").write_text(header + rows, encoding="utf-8")
    only = select_sections(taught.plan(), ["A"])
    export(taught, "scoring", "moodle", tmp_path / "m.csv", tmp_path / "sheet.csv", unmarked=True, only=only)
    with (tmp_path / "m.csv").open(encoding="utf-8", newline="") as file:
        assert [row["Grade"] for row in csv.DictReader(file)] == [f"{AUTOMATIC:g}", "1"]
