"""Grades and feedback pages go back under each platform's own ids; nobody is lost, and nothing is overwritten."""

import csv
import re
import shutil
import zipfile
from types import MappingProxyType

import pytest

from autograder.errors import CourseError
from autograder.gradebook.scores import load_results
from autograder.platforms.collect import collect
from autograder.platforms.export import (
    EXPORT_PLATFORMS,
    NAMESAKE,
    _is_other_number,
    escape_formula,
    export,
    write_feedback_archive,
)
from autograder.platforms.formats import MOODLE_NAME
from tests.autograder.essays import ESSAY, copy_prepared, enrol, grade_quickly, hand_in, mark
from tests.autograder.platforms.test_collect import handed_out
from tests.autograder.samples import AUTOMATIC
from tests.autograder.test_main import assert_refused, autograder, succeed

pytestmark = pytest.mark.suite("assignments")

ROSTER = """id,name,email,canvas,sis,login,section,gradescope
ada,Ada King,ada@university.edu,17,S17,aking,A,900100
ben,Ben Ito,ben@university.edu,18,S18,bito,A,900101
cem,"Öz, Cem",cem@university.edu,19,S19,coez,B,900102
dora,Dora Late,dora@university.edu,,,,,
"""
TOTAL = AUTOMATIC + 2  # including the essay
CLASS = MappingProxyType({"ada": 2, "ben": None, "cem": 1, "dora": 0})  # points for the essay; Ben's is unmarked


@pytest.fixture
def graded(released, tmp_path):
    """A graded class of four, collected from Canvas except for Dora; Ben's essay is still unmarked."""
    return copy_prepared("exported", released, tmp_path, _grade_class)


def _grade_class(course):
    enrol(course, ROSTER)
    for student in CLASS:
        hand_in(course, student)
    names = {"ada": "kingada_17_3001", "ben": "itoben_18_3002", "cem": "özcem_19_3003"}
    parts = [
        (f"{name}_scoring.ipynb", course.submission(student, "scoring").read_bytes()) for student, name in names.items()
    ]
    for student in names:
        shutil.rmtree(course.root / "submitted" / student)
    collect(course, "scoring", handed_out(course.root.parent, *parts))
    grade_quickly(course)
    for student, points in CLASS.items():
        if points is not None:
            mark(course, student, points)
    grade_quickly(course)


def read(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def number(points):
    return f"{points:g}"


def test_what_is_read_of_the_class_is_what_nbgrader_has(graded):
    results = load_results(graded, "scoring")
    assert {name: result.score for name, result in results.items()} == {
        name: AUTOMATIC + (points or 0) for name, points in CLASS.items()
    }
    assert {name: result.waiting for name, result in results.items() if result.waiting} == {"ben": (ESSAY,)}


def test_a_plain_file_has_everybody_and_flags_what_waits(graded, tmp_path):
    (graded.root / "students.csv").write_text(ROSTER + "eve,Eve Absent,,,,,,\n", encoding="utf-8")
    exported = export(graded, "scoring", "csv", tmp_path / "grades.csv")
    header, *rows = read(tmp_path / "grades.csv")
    rows_by_student = {row[0]: dict(zip(header, row, strict=True)) for row in rows}
    assert list(rows_by_student) == ["ada", "ben", "cem", "dora", "eve"]
    assert (rows_by_student["ada"]["score"], rows_by_student["ben"]["needs_marking"]) == (number(TOTAL), ESSAY)
    for name in ("ada", "dora"):
        code = rows_by_student[name]["receipt"]
        assert re.fullmatch(r"[0-9a-f]{4}-[0-9a-f]{4}", code)
        assert f"<code>{code}</code>" in graded.feedback(name, "scoring").read_text(encoding="utf-8")
    assert (rows_by_student["eve"]["score"], rows_by_student["eve"]["name"]) == ("", "Eve Absent")
    assert exported.count == 4
    assert list(exported.left_out.values()) == [["ben"]]


def test_canvas_gets_its_own_columns_and_ids_and_nobody_whose_marks_wait(graded, tmp_path):
    exported = export(graded, "scoring", "canvas", tmp_path / "grades.csv", column="Scoring (4711)")
    maximum = number(sum(graded.releases("scoring").load().points.values()))
    assert read(tmp_path / "grades.csv") == [
        ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "Scoring (4711)"],
        ["    Points Possible", "", "", "", "", maximum],
        ["Ada King", "17", "S17", "aking", "A", number(TOTAL)],
        ["Öz, Cem", "19", "S19", "coez", "B", number(TOTAL - 1)],
    ]
    assert exported.left_out == {
        "are waiting to be marked by a person": ["ben"],
        "have no Canvas id in the roster": ["dora"],
    }
    everybody = export(graded, "scoring", "canvas", tmp_path / "grades.csv", unmarked=True, force=True)
    assert everybody.count == 3


def test_a_gradebook_that_canvas_gave_out_names_the_column_and_the_ids(graded, tmp_path):
    canvas_csv = tmp_path / "canvas.csv"
    canvas_csv.write_text(
        "Student,ID,SIS User ID,SIS Login ID,Section,Softmax (4710),Scoring (4711),Current Score\n"
        "    Points Possible,,,,,10,26,(read only)\n"
        '"King, Ada",17,X17,aking,Morning,3,,1\n"Late, Dora",44,X44,dora,Morning,,,\n',
        encoding="utf-8",
    )
    with canvas_csv.open("a", encoding="utf-8") as file:
        file.write("\n,\n   \n")  # blank rows, as a spreadsheet leaves them
    exported = export(graded, "scoring", "canvas", tmp_path / "grades.csv", canvas_csv)
    rows = read(tmp_path / "grades.csv")
    assert rows[0][-1] == "Scoring (4711)"
    assert rows[2:] == [
        ["King, Ada", "17", "X17", "aking", "Morning", number(TOTAL)],
        ["Late, Dora", "44", "X44", "dora", "Morning", number(AUTOMATIC)],
    ]
    assert exported.left_out["have no Canvas id in the roster"] == ["cem"]


def test_of_two_columns_of_canvas_that_begin_alike_none_is_guessed(graded, tmp_path):
    canvas_csv = tmp_path / "canvas.csv"
    canvas_csv.write_text(
        "Student,ID,SIS User ID,SIS Login ID,Section,Scoring (4711),Scoring drills (4712)\n"
        '"King, Ada",17,X17,aking,Morning,3,\n',
        encoding="utf-8",
    )
    with pytest.raises(CourseError, match=r"several columns(.|\n)*Scoring \(4711\), Scoring drills(.|\n)*--column"):
        export(graded, "scoring", "canvas", tmp_path / "grades.csv", canvas_csv)
    assert not (tmp_path / "grades.csv").exists()
    export(graded, "scoring", "canvas", tmp_path / "grades.csv", canvas_csv, column="Scoring (4711)")
    assert read(tmp_path / "grades.csv")[0][-1] == "Scoring (4711)"


def test_canvas_gives_out_split_names_and_semicolons_too(graded, tmp_path):
    canvas_csv = tmp_path / "canvas.csv"
    canvas_csv.write_text(
        "\ufeffLastName;FirstName;ID;SIS User ID;SIS Login ID;Section;Scoring (4711)\n"
        "    Points Possible;;;;;;26,00\n"
        "King;Ada;17;X17;aking;Morning;3,5\nLate;;44;X44;dora;Morning;\n",
        encoding="utf-8",
    )
    export(graded, "scoring", "canvas", tmp_path / "grades.csv", canvas_csv)
    rows = read(tmp_path / "grades.csv")
    assert rows[0] == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "Scoring (4711)"]
    assert rows[2:] == [
        ["King, Ada", "17", "X17", "aking", "Morning", number(TOTAL)],
        ["Late", "44", "X44", "dora", "Morning", number(AUTOMATIC)],
    ]


@pytest.mark.parametrize("sign", ["=", "+", "-", "@", "\t", "\r"])
def test_a_name_that_a_spreadsheet_would_compute_is_text_in_every_export(graded, tmp_path, sign):
    formula = f'{sign}HYPERLINK("https://example.org")'
    roster = f'id,name,canvas,section,gradescope\nada,"{formula.replace(chr(34), chr(34) * 2)}",17,"{sign}1",900100\n'
    (graded.root / "students.csv").write_text(roster, encoding="utf-8", newline="")
    for to in ("csv", "canvas", "gradescope"):
        export(graded, "scoring", to, tmp_path / f"{to}.csv", unmarked=True)
        with (tmp_path / f"{to}.csv").open(newline="", encoding="utf-8") as file:
            cells = [cell for row in csv.reader(file) for cell in row]
        assert [cell for cell in cells if cell.startswith((sign, f"'{sign}"))] != [] or sign in "\t\r"
        assert [cell for cell in cells if cell.startswith(sign)] == []


@pytest.mark.parametrize("sign", ["=", "+", "-", "@", "\t", "\r"])
def test_a_text_that_begins_like_a_formula_gets_an_apostrophe_and_others_stay(sign):
    assert escape_formula(f"{sign}1") == f"'{sign}1"
    assert escape_formula(f"Ada {sign}1") == f"Ada {sign}1"


MOODLES = (
    "\ufeffIdentifier,Full name,Email address,Status,Grade,Maximum Grade,Grade can be changed,Last modified (grade)\n"
    "Participant 101,Ada King,ada@university.edu,Submitted,,{most},Yes,-\n"
    "Participant 102,Ben Ito,ben@university.edu,Submitted,,{most},Yes,-\n"
    "Participant 103,Somebody Else,else@university.edu,-,,{most},Yes,-\n"
    "Participant 104,Dora Late,elsewhere@home.org,-,,{most},No,-\n"
)


def worksheet(graded, tmp_path, **instead):
    most = instead.get("most", number(sum(graded.releases("scoring").load().points.values())))
    (tmp_path / "worksheet.csv").write_text(MOODLES.format(most=most), encoding="utf-8")
    return tmp_path / "worksheet.csv"


def test_moodles_worksheet_comes_back_with_grades_and_else_as_it_was(graded, tmp_path):
    worksheet_csv = worksheet(graded, tmp_path)
    exported = export(graded, "scoring", "moodle", tmp_path / "grades.csv", worksheet_csv)
    rows, before = read(tmp_path / "grades.csv"), list(csv.reader(worksheet_csv.read_text("utf-8-sig").splitlines()))
    assert rows[1][4] == number(TOTAL)
    rows[1][4] = ""
    assert rows == before
    assert exported.left_out == {
        "are waiting to be marked by a person": ["ben"],
        "have a grade that Moodle does not allow to be changed": ["dora"],
        "are not in Moodle's worksheet": ["cem"],
    }


def collected_from_moodle(graded, tmp_path, **numbers):
    """Collect the class's work once more, from Moodle, with these participant ``numbers``."""
    names = {"ada": "Ada King", "cem": "Öz, Cem", "dora": "Dora Late"}
    parts = [
        (
            f"{names[student]}_{number}_assignsubmission_file/scoring.ipynb",
            graded.submission(student, "scoring").read_bytes(),
        )
        for student, number in numbers.items()
    ]
    collected, leftover = collect(graded, "scoring", handed_out(tmp_path, *parts))
    assert (leftover, [outcome.problem for outcome in collected]) == ([], [""] * len(numbers))


def test_a_row_of_moodles_is_found_by_the_number_that_the_submission_had(graded, tmp_path):
    collected_from_moodle(graded, tmp_path, ada=201, dora=203)
    worksheet_csv = tmp_path / "worksheet.csv"
    worksheet_csv.write_text(
        "Identifier,Full name,Grade,Last modified (grade)\n"
        "Participant 201,Countess of Lovelace,,-\n"
        "Participant 203,Ada King,,-\n"
        "Participant 204\n"
        "\n",
        encoding="utf-8",
    )
    exported = export(graded, "scoring", "moodle", tmp_path / "grades.csv", worksheet_csv)
    assert [row[2] for row in read(tmp_path / "grades.csv")[1:3]] == [number(TOTAL), number(AUTOMATIC)]
    assert read(tmp_path / "grades.csv")[3:] == [["Participant 204"], []]
    assert exported.count == 2
    assert exported.left_out["are not in Moodle's worksheet"] == ["cem"]


def test_without_a_roster_the_number_of_a_group_is_no_participants(graded, tmp_path):
    parts = [
        ("Team 1_301_assignsubmission_file/scoring.ipynb", graded.submission("ada", "scoring").read_bytes()),
        ("Cem Oz_302_assignsubmission_file/scoring.ipynb", graded.submission("cem", "scoring").read_bytes()),
    ]
    (graded.root / "course.toml").unlink()
    collect(graded, "scoring", handed_out(tmp_path, *parts))
    grade_quickly(graded, "Team 1", "Cem Oz")
    worksheet_csv = tmp_path / "worksheet.csv"
    worksheet_csv.write_text(
        "Identifier,Full name,Grade,Last modified (grade)\n"
        "Participant 301,Somebody Else,,-\n"
        "Participant 302,Cem Oz,,-\n",
        encoding="utf-8",
    )
    export(graded, "scoring", "moodle", tmp_path / "grades.csv", worksheet_csv, unmarked=True)
    assert [bool(row[2]) for row in read(tmp_path / "grades.csv")[1:]] == [False, True]


def test_a_short_row_of_moodles_gets_its_grade_where_it_belongs(graded, tmp_path):
    collected_from_moodle(graded, tmp_path, ada=201)
    (tmp_path / "worksheet.csv").write_text("Identifier,Full name,Grade,Last modified (grade)\nParticipant 201\n")
    export(graded, "scoring", "moodle", tmp_path / "grades.csv", tmp_path / "worksheet.csv")
    assert read(tmp_path / "grades.csv")[1] == ["Participant 201", "", number(TOTAL), ""]


NAMESAKES = {  # (second name in the roster, names in the worksheet, students who get no grade and are listed)
    "in the roster": ("Ada King", ["Ada King", "Cem Öz"], ["ada", "cem"]),
    "in the worksheet": ("Cem Öz", ["Ada King", "ada king", "Cem Öz"], ["ada"]),
    "nowhere": ("Cem Öz", ["Ada King", "Cem Öz"], []),
}


@pytest.mark.parametrize(("second", "listed", "left_out"), NAMESAKES.values(), ids=NAMESAKES)
def test_of_two_namesakes_nobody_gets_the_grade_of_the_other(graded, tmp_path, second, listed, left_out):
    (graded.root / "students.csv").write_text(f"id,name\nada,Ada King\ncem,{second}\n", encoding="utf-8")
    rows = [f"Participant {number},{name},,-" for number, name in enumerate(listed, 101)]
    worksheet_csv = tmp_path / "worksheet.csv"
    worksheet_csv.write_text("\n".join(["Identifier,Full name,Grade,Last modified (grade)", *rows]), encoding="utf-8")
    exported = export(graded, "scoring", "moodle", tmp_path / "grades.csv", worksheet_csv)
    assert (tmp_path / "grades.csv").exists() == bool(exported.count)
    grades = [row[2] for row in read(tmp_path / "grades.csv")[1:]] if exported.count else []
    assert sum(map(bool, grades)) == exported.count == 2 - len(left_out)
    assert exported.left_out.get(NAMESAKE, []) == left_out


def test_moodle_is_told_only_what_it_can_take(graded, tmp_path):
    with pytest.raises(CourseError, match="only in its own grading worksheet"):
        export(graded, "scoring", "moodle", tmp_path / "grades.csv")
    with pytest.raises(CourseError, match="maximum grade is 100"):
        export(graded, "scoring", "moodle", tmp_path / "grades.csv", worksheet(graded, tmp_path, most="100"))
    (tmp_path / "worksheet.csv").write_text("Kennung,Bewertung\n")
    with pytest.raises(CourseError, match="no column Identifier, Grade"):
        export(graded, "scoring", "moodle", tmp_path / "grades.csv", tmp_path / "worksheet.csv")
    assert not (tmp_path / "grades.csv").exists()


def test_gradescope_gets_sid_and_e_mail(graded, tmp_path):
    exported = export(graded, "scoring", "gradescope", tmp_path / "grades.csv")
    rows = read(tmp_path / "grades.csv")
    assert rows[1][:4] == ["Ada", "King", "900100", "ada@university.edu"]
    assert [row[5] for row in rows[1:]] == [number(TOTAL), number(TOTAL - 1), number(AUTOMATIC)]
    assert list(exported.left_out) == ["are waiting to be marked by a person"]


def test_gradescope_gets_the_last_word_of_a_name_as_the_last_name(graded, tmp_path):
    enrol(graded, "id,name,gradescope\nada,Mary Ann King,900100\ncem,Cem de la Öz,900102\ndora,Dora,900103\n")
    export(graded, "scoring", "gradescope", tmp_path / "grades.csv")
    assert [row[:3] for row in read(tmp_path / "grades.csv")[1:]] == [
        ["Mary Ann", "King", "900100"],
        ["Cem de la", "Öz", "900102"],
        ["", "Dora", "900103"],
    ]


LATE = """roster = "students.csv"
[late]
percent_a_day = 10
[assignment.scoring]
due = 2025-12-01T00:00:00Z
"""
SCORE_COLUMNS = {"csv": "score", "canvas": "scoring", "moodle": "Grade", "gradescope": "Total Score"}


@pytest.mark.parametrize("to", EXPORT_PLATFORMS)
def test_every_platform_gets_the_score_after_the_late_penalty(graded, tmp_path, to):
    (graded.root / "course.toml").write_text(LATE, encoding="utf-8")
    graded.submission("ada", "scoring").with_name("timestamp.txt").write_text("2025-12-01 20:00:00 UTC")
    grade_quickly(graded, "ada")
    assert load_results(graded, "scoring")["ada"].penalty > 0
    export(graded, "scoring", to, tmp_path / "grades.csv", worksheet(graded, tmp_path) if to == "moodle" else None)
    header, *rows = read(tmp_path / "grades.csv")
    (ada,) = (row for row in rows if {"Ada King", "900100"} & {*row})
    assert float(ada[header.index(SCORE_COLUMNS[to])]) == pytest.approx(0.9 * TOTAL)


@pytest.mark.parametrize("command", [("export", "--to", "csv"), ("feedback", "--to", "folder")])
def test_a_file_that_is_there_is_overwritten_only_when_asked(graded, tmp_path, command):
    verb, *options = command
    target = tmp_path / "there"
    target.write_text("mine")
    words = [verb, "scoring", *options, "--output", target, "--course", graded.root]
    assert_refused(autograder(*words), "this file already exists", "--force")
    assert target.read_text() == "mine"
    output = succeed(*words, "--force", status=3)
    assert "1 " in output
    assert ": Ben Ito (ben)" in output
    assert f"4 {'grades' if verb == 'export' else 'pages'} in" in output
    assert target.read_bytes() != b"mine"


def test_before_anything_was_graded_nothing_is_written(released, tmp_path):
    course = copy_prepared("ungraded", released, tmp_path, lambda course: hand_in(course, "ada"))
    target, where = tmp_path / "out", ("--course", course.root)
    assert_refused(
        autograder("export", "scoring", "--output", target, *where), "nothing has been graded", "grade scoring"
    )
    output = succeed("feedback", "scoring", "--output", target, *where, status=3)
    assert output.splitlines() == ["1 has no feedback page yet: run `grade`: ada", "Nothing was written."]
    shutil.rmtree(course.submission("ada", "scoring").parent)
    for command in ("export", "feedback"):
        assert_refused(
            autograder(command, "scoring", "--output", target, *where), "nobody has handed in", "collect scoring"
        )
    assert not target.exists()


def test_a_hand_in_that_is_not_graded_is_named(graded, tmp_path):
    hand_in(graded, "eve")
    assert export(graded, "scoring", "csv", tmp_path / "out").left_out[
        "have handed in without having been graded: run `grade`"
    ] == ["eve"]
    assert export(graded, "scoring", "csv", tmp_path / "ada", only={"ada"}).left_out == {}


def test_grades_and_pages_are_written_into_the_course(graded, tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    for command in ("export", "feedback"):
        succeed(command, "scoring", "--course", graded.root, status=3)
    assert not list((tmp_path / "elsewhere").iterdir())
    assert {path.name for path in graded.root.glob("scoring-*")} == {
        "scoring-grades-csv.csv",
        "scoring-feedback-folder.zip",
    }


def test_canvas_finds_user_and_attachment_in_the_names_of_the_pages(graded, tmp_path):
    handed = write_feedback_archive(graded, "scoring", "canvas", tmp_path / "pages.zip")
    with zipfile.ZipFile(tmp_path / "pages.zip") as bundle:
        readme, *names = bundle.namelist()
        numbers = {name: re.findall(r"(?<=_)\d+(?=_)", name)[:2] for name in names}
        assert "rename it to scoring.html" in bundle.read(readme).decode()
        assert bundle.read("kingada_17_3001_scoring.html") == graded.feedback("ada", "scoring").read_bytes()
    assert sorted(numbers.values()) == [["17", "3001"], ["18", "3002"], ["19", "3003"]]
    assert handed.left_out["were not collected from Canvas"] == ["dora"]


def test_canvas_finds_the_attachment_of_the_attempt_that_counts(graded, tmp_path):
    again = graded.submission("ada", "scoring").read_bytes() + b"\n"
    for order, content in ((3004, again), (3000, again + b"\n")):  # the last one to arrive is the first attempt
        collect(graded, "scoring", handed_out(tmp_path, (f"kingada_17_{order}_scoring.ipynb", content)))
    write_feedback_archive(graded, "scoring", "canvas", tmp_path / "pages.zip", only={"ada"})
    with zipfile.ZipFile(tmp_path / "pages.zip") as bundle:
        assert bundle.namelist() == ["README.txt", "kingada_17_3004_scoring.html"]


def test_moodle_finds_the_participant_in_the_names_of_the_folders(graded, tmp_path):
    content = graded.submission("dora", "scoring").read_bytes()
    collect(graded, "scoring", handed_out(tmp_path, ("Dora Late_104_assignsubmission_file/scoring.ipynb", content)))
    write_feedback_archive(graded, "scoring", "moodle", tmp_path / "pages.zip")
    with zipfile.ZipFile(tmp_path / "pages.zip") as bundle:
        (name,) = bundle.namelist()
    folder, _, file = name.partition("/")
    assert (MOODLE_NAME.fullmatch(folder)["user"], file) == ("104", "scoring.html")
    assert len(folder.split("_", 4)) == 5  # as Moodle before 4.1 requires


def test_what_no_platform_takes_is_refused(graded, tmp_path):
    with pytest.raises(CourseError, match="documents no way"):
        write_feedback_archive(graded, "scoring", "gradescope", tmp_path / "pages.zip")
    for function in (export, write_feedback_archive):
        with pytest.raises(CourseError, match="no platform 'paper'"):
            function(graded, "scoring", "paper", tmp_path / "out")
    assert not list(tmp_path.glob("out*")) + list(tmp_path.glob("*.draft"))


@pytest.mark.parametrize(
    ("text", "differs"),
    [("2.5", False), ("2,5", False), ("2.50", False), ("2.51", True), ("3", True), ("", False), ("excused", False)],
)
def test_another_number_than_the_points_is_one_whatever_its_decimal_sign(text, differs):
    assert _is_other_number(text, 2.5) == differs
