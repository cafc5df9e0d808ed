"""A section of the roster is graded, marked, reported and exported without the others, and has its own due date."""

import csv
import zipfile
from datetime import timedelta

import pytest
from nbgrader.api import Gradebook

from autograder.courses.plan import read_plan
from autograder.errors import CourseError
from autograder.gradebook.scores import load_results
from autograder.marking.session import Session
from autograder.platforms.export import export
from autograder.releases.release import release
from autograder.reports.analysis import analyse
from tests.autograder.essays import enrol, grade_quickly, hand_in, page
from tests.autograder.samples import AUTOMATIC
from tests.autograder.test_main import assert_refused, autograder, succeed
from tests.autograder.with_nbgrader.test_nbgrader_plugin import nbgrader

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

[assignment.scoring.extensions]
ben = 2025-12-06T00:00:00Z

[assignment.scoring.sections.A]
due = 2025-12-04T00:00:00Z

[assignment.scoring.sections.B]
due = 2025-11-29T00:00:00Z
"""


@pytest.fixture
def taught(course):
    """A course with two sections, in which four have handed in."""
    enrol(course, ROSTER, PLAN)
    for student in ("ada", "ben", "cem", "dora"):
        hand_in(course, student)
    return course


def test_sections_select_their_students_and_none_selects_everybody(taught):
    plan = taught.plan()
    assert plan.select_sections(["A"]) == {"ada", "ben"}
    assert plan.select_sections(["A", "B"]) == {"ada", "ben", "cem", "eve"}
    assert plan.select_sections([]) is plan.select_sections(None) is None


@pytest.mark.parametrize(
    "command",
    [
        ["grade", "scoring"],
        ["mark", "scoring", "what_to_recompute"],
        ["report"],
        ["export", "scoring"],
        ["feedback", "scoring"],
    ],
)
def test_an_unknown_section_is_refused_with_those_that_there_are(taught, command, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    grade_quickly(taught)
    done = autograder(*command, "--section", "C", "--course", taught.root)
    assert_refused(done, "no section 'C'", "name one of A, B")


def test_without_sections_in_the_roster_the_remedy_names_the_column(taught):
    (taught.root / "students.csv").write_text("id\nada\n", encoding="utf-8")
    assert_refused(
        autograder("grade", "scoring", "--section", "A", "--course", taught.root), "fill in its `section` column"
    )


def test_only_the_section_is_graded(taught, graded_without_sandbox):
    command = ["grade", "scoring", "--isolation", "none", "--no-feedback", "--course", taught.root]
    assert_refused(autograder(*command, "cem", "--section", "A"), "not in section A: cem")
    succeed(*command, "--section", "B")
    assert set(load_results(taught, "scoring")) == {"cem"}
    (taught.root / "students.csv").write_text(ROSTER.replace("cem@university.edu,B", "cem@university.edu,A"))
    assert_refused(autograder(*command, "--section", "B"), "nobody in section B has handed in scoring")


def test_only_the_section_is_marked(taught):
    grade_quickly(taught)
    session = Session(taught, "scoring", "what_to_recompute", only=taught.plan().select_sections(["A"]))
    assert {answer.student for answer in session.answers()} == {"ada", "ben"}
    assert session.progress() == {"marked": 0, "of": 2, "untouched": 0}


def test_only_the_section_is_in_the_report(taught):
    grade_quickly(taught)
    study = analyse(taught, "scoring", taught.plan().select_sections(["B"]))
    assert (len(study.scores), study.missing) == (1, ("eve",))
    assert len(analyse(taught, "scoring").scores) == 4
    succeed("report", "--section", "B", "--course", taught.root)
    assert "<h1>Attention (section B): report</h1>" in (taught.root / "report-B.html").read_text(encoding="utf-8")


def test_only_the_section_is_exported_and_gets_pages(taught, tmp_path):
    grade_quickly(taught)
    options = ["--section", "B", "--course", taught.root]
    succeed("export", "scoring", "--output", tmp_path / "b.csv", *options, status=3)
    with (tmp_path / "b.csv").open(encoding="utf-8", newline="") as file:
        assert [row["student"] for row in csv.DictReader(file)] == ["cem", "eve"]
    autograder("feedback", "scoring", "--output", tmp_path / "b.zip", *options)
    with zipfile.ZipFile(tmp_path / "b.zip") as bundle:
        assert bundle.namelist() == ["cem/scoring.html"]


def test_moodles_worksheet_keeps_the_rows_of_other_sections_as_they_are(taught, tmp_path):
    grade_quickly(taught)
    header = "Identifier,Full name,Email address,Grade,Last modified (grade)\n"
    rows = "Participant 1,Ada King,ada@university.edu,,-\nParticipant 2,Cem Kaya,cem@university.edu,1,-\n"
    (tmp_path / "sheet.csv").write_text(header + rows, encoding="utf-8")
    only = taught.plan().select_sections(["A"])
    export(taught, "scoring", "moodle", tmp_path / "m.csv", tmp_path / "sheet.csv", unmarked=True, only=only)
    with (tmp_path / "m.csv").open(encoding="utf-8", newline="") as file:
        assert [row["Grade"] for row in csv.DictReader(file)] == [f"{AUTOMATIC:g}", "1"]


# --- due dates -------------------------------------------------------------------------------------------------------


def test_a_section_has_its_own_due_date_and_a_personal_extension_wins(taught):
    assignment = taught.plan().assignment("scoring")
    assert {student: f"{assignment.due_for(student):%d}" for student in ("ada", "ben", "cem", "dora")} == {
        "ada": "04",
        "ben": "06",
        "cem": "29",
        "dora": "01",
    }
    assert [assignment.extension(student) for student in ("ada", "ben", "cem", "dora")] == [
        timedelta(days=3),
        timedelta(days=5),
        timedelta(days=-2),
        None,
    ]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("sections.A]\ndue", "sections.A]\ndeu", ["line 13, [assignment.scoring.sections.A]", "'deu'"]),
        ("2025-12-04T00:00:00Z", "2025-12-04T00:00:00", ["line 13", "no time zone"]),
        ("2025-12-04T00:00:00Z", "9999-12-04T00:00:00Z", ["line 13", "the year 9999"]),
        ("2025-12-04T00:00:00Z", '"soon"', ["line 13", "due is 'soon'"]),
        ("due = 2025-12-04T00:00:00Z", "", ["line 12", "section A has no settings", "write due"]),
        ("2025-12-04T00:00:00Z", '2025-12-04T00:00:00Z\nexercises = ["race"]', ["line 14", "'exercises'"]),
        ("sections.A]", "sections.C]", ["line 12", "no section 'C'", "name one of A, B"]),
        ("due = 2025-12-01T00:00:00Z\n", "", ["without a due date"]),
        ("[assignment.scoring.sections.A]\ndue =", "sections =", ["sections is not a table"]),
    ],
)
def test_what_cannot_be_understood_of_a_section_is_refused_with_its_line(taught, old, new, words):
    text = PLAN.replace("[assignment.scoring.extensions]\nben = 2025-12-06T00:00:00Z\n", "\n")
    if "sections =" in new:
        text = text.partition("[assignment.scoring.sections.B]")[0]
    (taught.root / "course.toml").write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(CourseError) as error:
        read_plan(taught.root)
    assert not [word for word in ["course.toml", "Remedy: ", *words] if word not in str(error.value)], str(error.value)


def test_before_the_roster_has_sections_theirs_are_not_refused(taught):
    (taught.root / "students.csv").write_text("id,section\n", encoding="utf-8")
    assert taught.plan().assignment("scoring").section_due == {}


def test_penalty_and_page_follow_the_due_date_of_the_section(taught):
    for student in ("ada", "ben", "cem", "dora"):
        place = taught.submission(student, "scoring").with_name("timestamp.txt")
        place.write_text("2025-12-04 20:00:00.000000 UTC")
    grade_quickly(taught)
    days = {
        name: round(10 * result.penalty / result.earned, 6) for name, result in load_results(taught, "scoring").items()
    }
    assert days == {"ada": 1, "ben": 0, "cem": 6, "dora": 4}
    assert "late by 20 hours" in page(taught, "ada")
    assert "(on time)" in page(taught, "ben")
    assert "late by 5 days and 20 hours" in page(taught, "cem")
    assert all(row.reused for row in grade_quickly(taught).values())
    (taught.root / "course.toml").write_text(PLAN.replace("12-04", "12-05"), encoding="utf-8")
    grade_quickly(taught)
    assert load_results(taught, "scoring")["ada"].penalty == 0
    assert "(on time)" in page(taught, "ada")


def test_nbgrader_itself_has_the_due_date_of_the_section(taught):
    grade_quickly(taught)
    with Gradebook(taught.gradebook.url, "") as gradebook:
        dates = {
            submission.student.id: f"{submission.duedate:%d}"
            for submission in gradebook.assignment_submissions("scoring")
        }
    assert dates == {"ada": "04", "ben": "06", "cem": "29", "dora": "01"}
    nbgrader("export", "--to", "grades.csv", cwd=taught.root)


def test_the_notebook_states_the_due_date_of_each_section(taught, unproved):
    release(taught, "scoring", seed=0)
    text = taught.releases("scoring").file.read_text(encoding="utf-8")
    assert "Due: Monday, 01 December 2025, 00:00 (UTC+00:00). Section A: Thursday, 04 December 2025" in text
    assert "Section B: Saturday, 29 November 2025, 00:00 (UTC+00:00)." in text
