"""Exercises for a section: only they count for its students, wherever points are given, shown, reported or exported."""

import csv
import json

import pytest

from autograder.courses.plan import read_plan
from autograder.errors import CourseError
from autograder.gradebook.scores import load_results
from autograder.marking.override import override
from autograder.marking.session import Session
from autograder.notebooks.handout import handout
from autograder.platforms.export import export
from autograder.releases.release import release
from autograder.reports.analysis import analyse
from autograder.reports.class_page import class_page
from autograder.reports.requests import request_rows
from autograder.verdicts import NOT_ASKED
from tests.autograder.essays import ESSAY, enrol, grade_quickly, hand_in, mark, page
from tests.autograder.samples import AUTOMATIC
from tests.autograder.test_main import assert_refused, autograder, succeed
from tests.autograder.with_nbgrader.test_nbgrader_plugin import nbgrader

pytestmark = pytest.mark.suite("assignments")

ROSTER = """id,name,email,section,canvas
ada,Ada King,ada@university.edu,A,1
ben,Ben Ito,ben@university.edu,B,2
cem,Cem Kaya,cem@university.edu,,3
"""
PLAN = """roster = "students.csv"

[late]
percent_a_day = 10

[assignment.scoring]
due = 2025-12-01T00:00:00Z

[assignment.scoring.sections.A]
exercises = ["additive_score", "additive_shapes"]
"""
OWN = {"scoring-additive_score": 3.0, "scoring-additive_shapes": 2.0}
LATE = "2025-12-01 20:00:00.000000 UTC"
REQUEST = "Please look again at dot_product_score."


@pytest.fixture
def taught(course):
    """A course that sets section A two exercises; everybody has handed in, a day late."""
    enrol(course, ROSTER, PLAN)
    for student in ("ada", "ben", "cem"):
        path = hand_in(course, student, change=_ask_again)
        path.with_name("timestamp.txt").write_text(LATE)
    return course


def _ask_again(data):
    data["cells"].append({"cell_type": "markdown", "id": "again", "metadata": {}, "source": REQUEST})


def total(course):
    return sum(course.released("scoring").points.values())


def test_exercises_of_a_section_are_all_that_its_students_are_graded_on(taught):
    rows = grade_quickly(taught)
    assert (rows["ada"].points, rows["ada"].waiting) == (OWN, ())
    assert rows["ben"].waiting == rows["cem"].waiting == (ESSAY,)
    results = load_results(taught, "scoring")
    assert {name: (result.earned, result.penalty, result.points) for name, result in results.items()} == {
        "ada": (5.0, 0.5, 5.0),
        "ben": (AUTOMATIC, pytest.approx(AUTOMATIC / 10), total(taught)),
        "cem": (AUTOMATIC, pytest.approx(AUTOMATIC / 10), total(taught)),
    }
    assert all(row.reused for row in grade_quickly(taught).values())


def test_the_feedback_page_says_what_is_not_part_of_the_sections_assignment(taught):
    grade_quickly(taught)
    ada, ben = page(taught, "ada"), page(taught, "ben")
    assert "4.5 of 5" in ada
    assert "with 0 of 2 exercises in code answered" in ada
    others = len(taught.released("scoring").exercises) - len(OWN)
    escaped = NOT_ASKED.replace("'", "&#39;")
    assert ada.count(f"<td>{escaped}</td>") == others
    assert "still to be marked" not in ada
    assert escaped not in ben
    assert f"of {total(taught):g}" in ben
    cells = json.loads(taught.autograded("ada", "scoring").read_text(encoding="utf-8"))["cells"]
    texts = [output["data"]["text/plain"] for cell in cells for output in cell.get("outputs", ()) if "data" in output]
    assert [float(points) for points in texts if float(points)] == [2.0, 3.0]


def test_the_notebook_says_which_section_an_exercise_is_not_for(taught, unproved):
    release(taught, "scoring", seed=0)
    cells = taught.released("scoring").notebooks[0].cells
    texts = {cell.metadata.nbgrader.grade_id: cell.source for cell in cells}
    assert "\n\n*3 points*\n\n" in texts["scoring-additive_score-text"]
    assert "\n\n*1.5 points; not part of the assignment of section A*\n\n" in texts["scoring-dot_product_score-text"]
    (question,) = [
        candidate
        for candidate in handout(taught.released("scoring").notebooks[0]).questions
        if candidate.name.endswith("dot_product_score")
    ]
    assert "section A" not in question.text


def test_written_answers_that_a_section_is_not_asked_are_not_marked(taught):
    grade_quickly(taught)
    session = Session(taught, "scoring", "what_to_recompute")
    assert {answer.student for answer in session.answers()} == {"ben", "cem"}
    assert session.progress() == {"marked": 0, "of": 2, "untouched": 0}
    with pytest.raises(CourseError, match="not part of the assignment of ada's section"):
        override(taught, "scoring", "dot_product_score", "ada", 1.0, "Because.")
    rows, _ = request_rows(taught, "scoring")
    assert [(row[3], row[4]) for row in rows] == [(NOT_ASKED, ""), ("right", "1.5 of 1.5"), ("right", "1.5 of 1.5")]


def test_regrade_shows_whose_marks_a_new_list_of_exercises_moves(taught):
    grade_quickly(taught)
    mark(taught, "ben", 2.0)
    (taught.root / "course.toml").write_text(PLAN.replace("sections.A", "sections.B"), encoding="utf-8")
    rows = grade_quickly(taught, dry=True)
    moves = {name: {move.what: (move.before, move.after) for move in row.changes} for name, row in rows.items()}
    assert moves["cem"] == {}
    assert moves["ben"][ESSAY] == (2.0, 0.0)
    assert moves["ben"]["late penalty"] == (pytest.approx(AUTOMATIC / 10), 0.5)
    assert moves["ada"]["scoring-dot_product_score"] == (0.0, 1.5)
    assert "scoring-additive_score" not in {**moves["ada"], **moves["ben"]}
    grade_quickly(taught)
    results = load_results(taught, "scoring")
    assert (results["ben"].score, results["ada"].waiting) == (4.5, (ESSAY,))
    assert all(not row.changes for row in grade_quickly(taught, dry=True).values())


def test_exports_and_the_report_are_out_of_the_sections_own_points(taught, tmp_path):
    grade_quickly(taught)
    export(taught, "scoring", "csv", tmp_path / "g.csv")
    with (tmp_path / "g.csv").open(encoding="utf-8", newline="") as file:
        rows = {row["student"]: row for row in csv.DictReader(file)}
    assert (rows["ada"]["score"], rows["ada"]["max_score"], rows["ada"]["needs_marking"]) == ("4.5", "5", "")
    assert rows["ben"]["max_score"] == f"{total(taught):g}"
    study = analyse(taught, "scoring")
    assert (study.maximum, study.scores[-1]) == (100, 90.0)
    assert {exercise.name: exercise.marked for exercise in study.exercises}["scoring-dot_product_score"] == 2
    assert "% of their points" in class_page("", [study])
    (own,) = analyse(taught, "scoring", frozenset({"ada"})).scores
    assert (own, analyse(taught, "scoring", frozenset({"ada"})).maximum) == (4.5, 5.0)


def test_a_platform_with_one_maximum_takes_one_section_at_a_time(taught, tmp_path):
    grade_quickly(taught)
    command = ["export", "scoring", "--to", "canvas", "--output", tmp_path / "c.csv", "--course", taught.root]
    assert_refused(autograder(*command), "the maximum depends on the section: 5 or 32 points", "with --section")
    succeed(*command, "--section", "A")
    with (tmp_path / "c.csv").open(encoding="utf-8", newline="") as file:
        assert [row["scoring"] for row in csv.DictReader(file)] == ["5", "4.5"]


def test_packing_for_gradescope_says_that_all_exercises_count_there(taught, tmp_path):
    output = succeed("pack", "scoring", "--output", tmp_path / "p.zip", "--course", taught.root)
    assert "all exercises count for everybody" in output


def test_nbgraders_own_commands_count_the_sections_exercises_only(taught):
    nbgrader("autograde", "scoring", "--student=ada", "--force", cwd=taught.root)
    result = load_results(taught, "scoring")["ada"]
    assert (result.points, result.waiting) == (5.0, ())
    nbgrader("generate_feedback", "scoring", "--student=ada", cwd=taught.root)
    assert "0 of 5" in page(taught, "ada")
    nbgrader("export", "--to", "grades.csv", cwd=taught.root)
    with (taught.root / "grades.csv").open(encoding="utf-8", newline="") as file:
        (row,) = [row for row in csv.DictReader(file) if row["student_id"] == "ada"]
    assert (float(row["max_score"]), row["needs_marking"]) == (5.0, "")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            '"additive_shapes"',
            '"aditive_shapes"',
            ["line 10", "no exercise 'aditive_shapes' in scoring", "name one of"],
        ),
        (
            "due = 2025-12-01T00:00:00Z\n",
            'due = 2025-12-01T00:00:00Z\nexercises = ["additive_score"]\n',
            ["line 11", "'additive_shapes' in the assignment's exercises", "name one of additive_score."],
        ),
        ('exercises = ["additive_score", "additive_shapes"]', 'exercises = "x"', ["line 10", "exercises is 'x'"]),
        (
            'exercises = ["additive_score", "additive_shapes"]',
            "exercises = []",
            ["line 9", "section A has no settings"],
        ),
        ("sections.A]", "sections.C]", ["line 9", "no section 'C'"]),
    ],
)
def test_exercises_of_a_section_that_cannot_be_meant_are_refused_with_their_line(taught, old, new, words):
    (taught.root / "course.toml").write_text(PLAN.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(CourseError) as error:
        read_plan(taught.root)
    assert not [word for word in ["course.toml", "Remedy: ", *words] if word not in str(error.value)], str(error.value)


def test_exercises_of_a_section_need_no_due_date(taught):
    (taught.root / "course.toml").write_text(PLAN.replace("due = 2025-12-01T00:00:00Z\n", ""), encoding="utf-8")
    assignment = read_plan(taught.root).assignment("scoring")
    assert assignment.section_exercises == {"ada": ("additive_score", "additive_shapes")}
    assert assignment.section_due == {}
