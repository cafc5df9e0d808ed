"""The file names of Canvas, Moodle, Blackboard and ILIAS say whose work it is; an ambiguous name is nobody's."""

import zipfile

import pytest

from autograder.courses.standing import find_told
from autograder.courses.submissions import list_submitters
from autograder.platforms.attempts import load_attempts
from autograder.platforms.collect import collect
from autograder.platforms.formats import PLAIN_FILES, ArchiveFormat, detect_format
from tests.autograder.essays import enrol
from tests.autograder.platforms.test_collect import notebook

pytestmark = pytest.mark.suite("assignments")
NAMES = """id,name,canvas,group
ada,Ada King,17,Red_7
ben,Ben Ito,18,Red_7
mal,Mal_17,50,
lee,Marie Lee,60,Blue & Green
annlee,Ann-Marie Lee,61,
obrien,"Sinéad  O'Brien",62,Blue & Green
quote,"Ali ""Al"" Öz: jr./sr.",63,
snake,Under_Score,64,
nora,Nora Red 7,65,
"""


@pytest.fixture
def course(course):
    enrol(course, NAMES)
    return course


def collected(course, tmp_path, platform, *names):
    path = tmp_path / "class.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(name, notebook("scoring-additive_score", text=name))
    hand_ins, leftover = collect(course, "scoring", path, platform=platform)
    assert leftover == []
    return {hand_in.student: hand_in.problem for hand_in in hand_ins}


CANVAS = {  # file -> its owners
    "mal_99_50_3001_scoring.ipynb": {"mal"},
    "mal_17_LATE_50_3001_scoring.ipynb": {"mal"},
    "kingada_17_3001_scoring.ipynb": {"ada"},
    "kingada_17_3001_5_scoring.ipynb": {"ada"},
    "17_3001_scoring.ipynb": {"ada"},
    "red_7_17_3001_scoring.ipynb": {"ada", "ben"},  # Ada handed in for her group
    "itoben_LATE_18_3001_scoring.ipynb": {"ben"},
}


@pytest.mark.parametrize("name", CANVAS)
def test_a_number_in_a_name_of_canvas_is_nobodys_id(course, tmp_path, name):
    problems = collected(course, tmp_path, "canvas", name)
    assert problems == dict.fromkeys(CANVAS[name], "")
    late = {student for student in problems if load_attempts(course, student, "scoring")[-1].late}
    assert late == (set(problems) if "LATE" in name else set())


def test_a_name_of_canvas_that_may_be_two_students_is_nobodys(course, tmp_path):
    (problem,) = collected(course, tmp_path, "canvas", "mal_17_50_3001_scoring.ipynb").values()
    assert "may stand for ada or mal" in problem
    assert list_submitters(course, "scoring") == []


def test_the_page_of_a_group_of_canvas_goes_back_to_who_handed_in(course, tmp_path):
    collected(course, tmp_path, "canvas", "red_7_17_3001_scoring.ipynb")
    prefixes = {student: load_attempts(course, student, "scoring")[-1].prefix for student in ("ada", "ben")}
    assert prefixes == {"ada": "red_7_17_3001_", "ben": ""}


MOODLE = {
    "Ann-Marie Lee_101_assignsubmission_file/scoring.ipynb": {"annlee"},
    "Marie Lee_101_assignsubmission_file/scoring.ipynb": {"lee"},
    "Sinéad OBrien_101_assignsubmission_file/scoring.ipynb": {"obrien"},
    "Ali Al Öz jr.sr._101_assignsubmission_file/scoring.ipynb": {"quote"},
    "Under Score_101_assignsubmission_file_scoring.ipynb": {"snake"},
    "Blue Green_7_assignsubmission_file/scoring.ipynb": {"lee", "obrien"},  # a group, since Moodle 4.1
    "Blue Green-Marie Lee_101_assignsubmission_file/scoring.ipynb": {"lee"},  # a member of a group, before Moodle 4.1
    "Default group-Marie Lee_101_assignsubmission_file/scoring.ipynb": {"lee"},
}


@pytest.mark.parametrize("name", MOODLE)
def test_names_are_compared_as_moodle_writes_them(course, tmp_path, name):
    problems = collected(course, tmp_path, "moodle", name)
    assert problems == dict.fromkeys(MOODLE[name], "")
    numbers = {load_attempts(course, student, "scoring")[-1].number for student in problems}
    assert numbers == {"" if "_7_" in name else "101"}  # a group's number is no participant's


@pytest.mark.parametrize(
    "name", ["Jean-Marie Lee_101_assignsubmission_file/scoring.ipynb", "Team 4_101_assignsubmission_file/scoring.ipynb"]
)
def test_a_name_that_ends_like_anothers_and_a_group_that_nobody_knows_are_set_aside(course, tmp_path, name):
    (problem,) = collected(course, tmp_path, "moodle", name).values()
    assert "is not in the roster" in problem
    assert "group column" in problem
    assert list_submitters(course, "scoring") == []


def test_what_may_be_a_student_and_a_group_is_set_aside(course, tmp_path):
    (course.root / "students.csv").write_text(NAMES.replace("Nora Red 7", "Red 7"), encoding="utf-8")
    (problem,) = collected(course, tmp_path, "moodle", "Red 7_9_assignsubmission_file/scoring.ipynb").values()
    assert "both a student and a group" in problem


BLACKBOARD = {  # file -> its owners
    "hw2_ada_attempt_2025-11-30-10-00-00_scoring.ipynb": {"ada"},
    "Week_2_lee_attempt_2025-11-30-10-00-00_My work.ipynb": {"lee"},
    "hw2_Red_7_attempt_2025-11-30-10-00-00_scoring.ipynb": {"ada", "ben"},
}


@pytest.mark.parametrize("platform", ["", "blackboard"])
@pytest.mark.parametrize("name", BLACKBOARD)
def test_blackboards_names_say_who_and_which_attempt_was_last(course, tmp_path, platform, name):
    later = name.replace("10-00-00", "11-00-00")
    receipt = f"{name.partition('-00_')[0]}-00.txt"
    problems = collected(course, tmp_path, platform, later, name, receipt)
    assert problems == dict.fromkeys(BLACKBOARD[name], "")
    for student in problems:
        assert later in course.submission(student, "scoring").read_text(encoding="utf-8")
        assert len(load_attempts(course, student, "scoring")) == 2


def test_who_is_not_in_the_roster_is_set_aside_in_blackboards_archive_too(course, tmp_path):
    problems = collected(course, tmp_path, "", "hw2_eve_attempt_2025-11-30-10-00-00_scoring.ipynb")
    assert "eve (hw2_eve) is not in the roster" in problems["eve"]
    both = collected(course, tmp_path, "", "lee_ada_attempt_2025-11-30-10-00-00_scoring.ipynb")
    assert both == {"ada": ""}  # the login is `ada`: the `lee` before it belongs to the name of the assignment


def contents(course, student):
    return course.submission(student, "scoring").read_text(encoding="utf-8")


def test_in_blackboards_archive_nobody_hands_in_for_another_by_the_name_of_a_file(course, tmp_path):
    forged = "hw2_lee_attempt_2025-11-30-11-00-00_x_ada_attempt_2025-12-30-10-00-00_scoring.ipynb"
    honest = "hw2_ada_attempt_2025-11-30-10-00-00_scoring.ipynb"
    assert collected(course, tmp_path, "", honest, forged) == {"ada": "", "lee": ""}
    assert honest in contents(course, "ada")
    assert forged in contents(course, "lee")


def test_a_login_that_ends_like_anothers_is_not_taken_for_it(course, tmp_path):
    names = [f"hw2_{login}_attempt_2025-11-30-1{n}-00-00_scoring.ipynb" for n, login in enumerate(("lee", "k_lee"))]
    problems = collected(course, tmp_path, "", *names)
    assert {student: bool(problem) for student, problem in problems.items()} == {"lee": False, "k_lee": True}
    problems = collected(course, tmp_path, "", "Lee_Marie_lee_301/scoring.ipynb", "Lee_Kim_k_lee_302/scoring.ipynb")
    assert {student: bool(problem) for student, problem in problems.items()} == {"lee": False, "Lee_Kim_k_lee": True}


def test_without_a_roster_two_logins_that_end_alike_stay_two(course, tmp_path):
    (course.root / "course.toml").write_text("")
    names = [f"hw2_{login}_attempt_2025-11-30-1{n}-00-00_scoring.ipynb" for n, login in enumerate(("j.doe", "k.doe"))]
    assert collected(course, tmp_path, "", *names) == {"j.doe": "", "k.doe": ""}


def test_of_two_notebooks_of_one_attempt_on_blackboard_none_is_guessed(course, tmp_path):
    names = [f"hw2_lee_attempt_2025-11-30-10-00-00_{file}.ipynb" for file in ("old try", "final")]
    assert "which of its files counts" in collected(course, tmp_path, "", *names)["lee"]


def test_a_broken_attempt_that_was_not_the_last_leaves_no_word_on_the_page(course, tmp_path):
    path = tmp_path / "class.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("hw2_lee_attempt_2025-11-30-11-00-00_scoring.ipynb", notebook("scoring-additive_score"))
        archive.writestr("hw2_lee_attempt_2025-11-30-10-00-00_scoring.zip", "no archive")
    collect(course, "scoring", path)
    assert find_told(course, "lee", "scoring", course.submission("lee", "scoring").read_bytes()) == ""
    with zipfile.ZipFile(path, "w") as archive:  # collected later, but still not the last attempt
        archive.writestr("hw2_lee_attempt_2025-11-30-09-00-00_scoring.zip", "no archive")
    collect(course, "scoring", path)
    assert find_told(course, "lee", "scoring", course.submission("lee", "scoring").read_bytes()) == ""


def test_a_notebook_counts_before_one_that_a_browser_saved_beside_it(course, tmp_path):
    path = tmp_path / "class.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("scoring.ipynb", "scoring.ipynb.txt"):
            archive.writestr(
                f"Ada King_101_assignsubmission_file/{name}", notebook("scoring-additive_score", text=name)
            )
    ((hand_in,), _) = collect(course, "scoring", path)
    assert (hand_in.problem, "scoring.ipynb.txt" in contents(course, "ada")) == ("", False)


def test_a_late_file_of_ilias_counts_after_one_in_time_and_brings_the_others_along(course, tmp_path):
    folder = "King_Ada_ada_301"
    names = [f"{folder}/scoring.ipynb", f"{folder}/Late Submission - scoring.ipynb"]
    for some in (names, names[::-1]):
        assert set(collected(course, tmp_path, "", *some)) == {"ada"}
        assert names[1] in contents(course, "ada")
        assert load_attempts(course, "ada", "scoring")[-1].late
    assert (
        ArchiveFormat("ILIAS").strip_late_prefix(f"{folder}/Late Submission - capstone.npz") == f"{folder}/capstone.npz"
    )


def test_the_folder_of_an_exercise_around_all_of_ilias_is_no_team(course, tmp_path):
    names = [f"Exercise 3/{person}/scoring.ipynb" for person in ("King_Ada_ada_301", "Lee_Marie_lee_302")]
    for platform in ("", "ilias"):
        assert collected(course, tmp_path, platform, *names) == {"ada": "", "lee": ""}
    assert list_submitters(course, "scoring") == ["ada", "lee"]


ILIAS = {  # file -> its owners
    "King_Ada_ada_301/scoring.ipynb": {"ada"},
    "multi_feedback/King_Ada_ada_301/scoring.ipynb": {"ada"},
    "Oe_Ali_quote_302/Late Submission - scoring.ipynb": {"quote"},
    "Oe_Ali_quote_302/Verspaetete Abgabe - scoring.ipynb": {"quote"},
    "Team 5/King_Ada_ada_301/scoring.ipynb": {"ada", "ben"},
    "submissions/Team 5/King_Ada_ada_301/scoring.ipynb": {"ada", "ben"},
}


@pytest.mark.parametrize("platform", ["", "ilias"])
@pytest.mark.parametrize("name", ILIAS)
def test_ilias_names_people_by_their_folder_and_teams_by_the_one_around_it(course, tmp_path, platform, name):
    problems = collected(course, tmp_path, platform, name)
    assert problems == dict.fromkeys(ILIAS[name], "")
    late = {student for student in problems if load_attempts(course, student, "scoring")[-1].late}
    assert late == (problems.keys() if " - " in name else set())


def test_a_team_of_ilias_without_a_group_in_the_roster_is_set_aside(course, tmp_path):
    assert "a group column" in collected(course, tmp_path, "", "Team 5/Oe_Ali_quote_302/scoring.ipynb")["quote"]


def test_a_folder_that_is_called_like_a_student_is_not_taken_for_ilias(course, tmp_path):
    with (course.root / "students.csv").open("a", encoding="utf-8") as file:
        file.write("a_b_lee_7,Somebody,77,\n")
    assert collected(course, tmp_path, "", "a_b_lee_7/scoring.ipynb") == {"a_b_lee_7": ""}


@pytest.mark.parametrize("ending", ["txt", "json", "TXT"])
def test_a_notebook_that_a_browser_saved_as_something_else_is_taken_and_said(course, tmp_path, ending):
    path = tmp_path / "class.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name in (f"kingada_17_3001_scoring.ipynb.{ending}", "itoben_18_3002_scoring.ipynb"):
            archive.writestr(name, notebook("scoring-additive_score", text=name))
    hand_ins, leftover = collect(course, "scoring", path)
    assert leftover == []
    notes = {hand_in.student: hand_in.note for hand_in in hand_ins}
    saved = f"kingada_17_3001_scoring.ipynb.{ending}"
    assert notes == {"ada": f"a browser had saved it as {saved}", "ben": ""}


def test_a_student_who_is_called_like_an_anonymous_one_is_checked_against_the_roster(course, tmp_path):
    with (course.root / "students.csv").open("a", encoding="utf-8") as file:
        file.write("xena,anon_x,71,\n")
    assert collected(course, tmp_path, "", "anon_x_71_3001_scoring.ipynb") == {"xena": ""}
    for others in ((), ("kingada_17_3002_scoring.ipynb",)):
        problems = collected(course, tmp_path, "", "anon_aB3xY_72_3001_scoring.ipynb", *others)
        assert {student: bool(problem) for student, problem in problems.items()} == {
            "anon-aB3xY": True,
            **dict.fromkeys(["ada"][: len(others)], False),
        }


def test_a_file_with_numbers_in_its_name_does_not_stop_an_anonymous_class(course, tmp_path):
    names = ["anon_aB3xY_3001_scoring.ipynb", "anon_Zz9bC_3002_scoring.ipynb", "anon_Qq1aB_17_3003_scoring.ipynb"]
    assert collected(course, tmp_path, "", *names) == dict.fromkeys(["anon-aB3xY", "anon-Zz9bC", "anon-Qq1aB"], "")


def test_an_archive_of_nothing_has_no_format():
    assert detect_format([], ["scoring"]) == ArchiveFormat(PLAIN_FILES)


def test_of_the_logins_that_a_folder_of_ilias_may_end_with_the_one_counts_whose_name_stands_before_it(course, tmp_path):
    with (course.root / "students.csv").open("a", encoding="utf-8") as file:
        file.write("ada_k,Ada Marie Kant,70,\nk,Otto Kahn,71,\n")
    assert collected(course, tmp_path, "ilias", "Kant_Ada_ada_k_301/scoring.ipynb") == {"ada_k": ""}
