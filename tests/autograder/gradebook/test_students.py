"""nbgrader, tables, pages and lists all show names and e-mail addresses as the roster has them."""

import csv

import pytest
from nbgrader.api import Gradebook

from autograder.courses.plan import Student
from autograder.gradebook.students import name_columns
from autograder.marking.session import Session
from tests.autograder.essays import copy_prepared, enrol, grade_quickly, hand_in, page
from tests.autograder.test_main import autograder, succeed
from tests.autograder.with_nbgrader.test_nbgrader_plugin import nbgrader

pytestmark = pytest.mark.suite("assignments")

ROSTER = """id,name,email
ada,Ada King,ada@university.edu
cem,"Öz, Cem",cem@university.edu
eve,"=HYPERLINK(""http://evil"") Eve",eve@university.edu
zoe,Zoe Absent,zoe@university.edu
"""


@pytest.fixture
def graded(released, tmp_path):
    """A class of four, graded before the course had a roster."""
    return copy_prepared("named", released, tmp_path, _grade_class)


def _grade_class(course):
    for student in ("ada", "ben", "cem", "eve"):
        hand_in(course, student)
    grade_quickly(course, feedback=False)  # there is no roster yet
    enrol(course, ROSTER)


@pytest.mark.parametrize(
    ("name", "first", "last"),
    [("Ada King", "Ada", "King"), ("Öz, Cem", "Cem", "Öz"), ("Teller", None, "Teller"), ("", None, None)],
)
def test_a_name_has_its_parts_whichever_comes_first(name, first, last):
    columns = name_columns(Student(id="x", name=name))
    assert (columns.get("first_name"), columns.get("last_name")) == (first, last)


def test_nbgrader_export_shows_names_and_e_mail_from_the_roster(graded):
    with Gradebook(graded.gradebook.url, "") as gradebook:
        gradebook.update_or_create_student("ben", first_name="Ben", last_name="Ito")  # as nbgrader's own command would
    hand_in(graded, "zoe")
    rows = grade_quickly(graded, feedback=False)
    assert rows["ada"].reused
    nbgrader("export", "--to", "grades.csv", cwd=graded.root)
    with (graded.root / "grades.csv").open(encoding="utf-8", newline="") as file:
        students = {
            row["student_id"]: (row["first_name"], row["last_name"], row["email"]) for row in csv.DictReader(file)
        }
    assert students == {
        "ada": ("Ada", "King", "ada@university.edu"),
        "ben": ("Ben", "Ito", ""),
        "cem": ("Cem", "Öz", "cem@university.edu"),
        "eve": ('\'=HYPERLINK("http://evil")', "Eve", "eve@university.edu"),
        "zoe": ("Zoe", "Absent", "zoe@university.edu"),
    }


def test_a_name_that_changes_in_the_roster_makes_the_page_anew_and_grades_nothing(course):
    hand_in(course, "ada")
    grade_quickly(course)
    assert "<dd>ada</dd>" in page(course, "ada")
    (course.root / "course.toml").write_text('roster = "students.csv"\n', encoding="utf-8")
    for name in ("Ada King", "Ada Byron"):
        (course.root / "students.csv").write_text(f"id,name\nada,{name}\n", encoding="utf-8")
        assert grade_quickly(course)["ada"].reused
        assert f"<dd>{name} (ada)</dd>" in page(course, "ada")


def test_a_dry_run_writes_no_names(graded):
    grade_quickly(graded, dry=True)
    with Gradebook(graded.gradebook.url, "") as gradebook:
        assert gradebook.find_student("ada").last_name is None


def test_the_grade_table_the_page_for_marking_and_the_report_call_students_by_name(graded):
    grade_quickly(graded, feedback=False)
    done = autograder("grade", "scoring", "--no-feedback", "--course", graded.root)
    assert "Ada King (ada)" in done.stdout
    page, named = (Session(graded, "scoring", "what_to_recompute", names).page() for names in (False, True))
    assert "Öz, Cem (cem)" not in page
    assert "Öz, Cem (cem)" in named
    succeed("report", "--names", "--course", graded.root)
    assert "Zoe Absent (zoe)" in (graded.root / "report.html").read_text(encoding="utf-8")


def test_a_long_name_is_cut_and_one_that_would_steer_a_terminal_does_not(graded):
    (graded.root / "students.csv").write_text("id,name\nada," + "A" * 500 + "\neve,E\x1b[31mve\n", encoding="utf-8")
    assert graded.plan().names_by_id() == {"ada": "A" * 60 + " (ada)", "eve": "E\N{REPLACEMENT CHARACTER}[31mve (eve)"}
