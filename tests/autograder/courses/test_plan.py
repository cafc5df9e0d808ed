"""course.toml and the roster are read as they are meant, or refused with the line and a remedy."""

import shutil
from datetime import timedelta

import nbformat
import pytest

from autograder import exercises
from autograder.courses import plan
from autograder.courses.course import Course, init
from autograder.courses.plan import LatePolicy, Plan, is_student_name, read_plan, read_roster
from autograder.errors import CourseError
from autograder.releases.release import release
from solutions import answer_key
from solutions.answer_key import AnswerKeyError
from tests.autograder.test_main import assert_refused, autograder, succeed

pytestmark = pytest.mark.suite("assignments")

WEBSITE = "https://attention.university.edu/"
WHOLE = """title = "Attention 2026"
website = "https://attention.university.edu/"
roster = "students.csv"

[late]
grace_minutes = 30
percent_a_day = 10

[assignment.scoring]
due = 2026-11-30T23:59:00+01:00
seed = 0
exercises = ["batched_additive_shapes", "additive_score", "what_to_recompute"]
points.additive_score = 6

[assignment.scoring.extensions]
ada = 2026-12-02T23:59:00+01:00

[[assignment.scoring.case]]
exercise = "additive_score"
name = "a long sentence"
part = "values"
shapes = { query = [2, 4], keys = [2, 40, 5], W_query = [6, 4], W_key = [6, 5], v = [6] }
"""
ROSTER = "id,name,email,canvas,sis\nada,Ada King,ada@university.edu,17,101\n,,,,\n  José  ,José Pérez,,18,\n"


def written(folder, text, roster=ROSTER):
    (folder / "course.toml").write_text(text, encoding="utf-8")
    (folder / "students.csv").write_text(roster, encoding="utf-8")
    return folder


def functions():
    return [exercise.function for exercise in exercises.load("scoring", 0)]


def test_without_the_file_and_with_the_one_that_init_writes_everything_is_as_the_book_has_it(tmp_path):
    assert read_plan(tmp_path) == read_plan(init(tmp_path / "course").root) == Plan()


def test_what_the_comments_of_the_file_show_is_understood(tmp_path):
    text = init(tmp_path / "course").root.joinpath("course.toml").read_text(encoding="utf-8")
    head, _, tables = text.partition("# [assignment.scoring]\n")
    example = "\n".join(line.removeprefix("# ") for line in f"[assignment.scoring]\n{tables}".splitlines())
    example = example.replace("Your own hidden cases", "# Your own hidden cases")
    assignment = read_plan(written(tmp_path, head + example)).assignment("scoring")
    assert (assignment.seed, assignment.points, list(assignment.extensions)) == (20261, {"additive_score": 4}, ["ada"])
    assert assignment.extra


def test_a_whole_plan_is_read(tmp_path):
    plan = read_plan(written(tmp_path, WHOLE))
    assignment = plan.assignment("scoring")
    assert plan.notice("scoring") == "Attention 2026. Due: Monday, 30 November 2026, 23:59 (UTC+01:00)."
    assert assignment.extension("ada") == timedelta(days=2)
    assert assignment.extension("ben") is None
    assert [(student.id, student.canvas) for student in plan.students] == [("ada", "17"), ("José", "18")]
    chosen = {
        exercise.function: exercise.points
        for exercise in assignment.select_questions(exercises.load("scoring", 0, assignment.extra))
    }
    assert list(chosen) == [name for name in functions() if name in assignment.exercises]
    assert chosen["additive_score"] == 6
    softmax = plan.assignment("softmax")
    assert (softmax.exercises, softmax.attempts, softmax.minutes_between) == ((), 0, 0)


def test_the_rules_of_watch_are_read_and_follow_the_extension(tmp_path):
    rules = 'attempts = 3\nminutes_between = 30\nfeedback_before_due = "hints"\nseed = 0'
    assignment = read_plan(written(tmp_path, WHOLE.replace("seed = 0", rules))).assignment("scoring")
    assert (assignment.attempts, assignment.minutes_between, assignment.feedback_before_due) == (3, 30, "hints")
    between = assignment.due + timedelta(days=1)
    assert [assignment.shown_to(student, between) for student in ("ada", "ben")] == ["hints", "all"]
    assert assignment.shown_to("ada", between + timedelta(days=2)) == "all"
    alone = tmp_path / "alone"
    alone.mkdir()
    with pytest.raises(CourseError, match="feedback_before_due without a due date"):
        read_plan(written(alone, '[assignment.scoring]\nfeedback_before_due = "hints"\n'))


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("title =", "titel =", ["course.toml, line 1", "'titel'", "title, website"]),
        ('"Attention 2026"', "2026", ["line 1", "title is 2026", "text in quotes"]),
        ("percent_a_day = 10", "percent_a_day = 110", ["line 7, [late]", "percent_a_day is 110"]),
        ("percent_a_day", "per_cent", ["line 7", "'per_cent'", "percent_a_day"]),
        ("grace_minutes = 30", "grace_minutes = -1", ["line 6", "below 0"]),
        ("[assignment.scoring]", "[assignment.scring]", ["line 9", "no chapter 'scring'", "scoring"]),
        ("+01:00\nseed", "\nseed", ["line 10", "no time zone", "+01:00"]),
        ("due = 2026-11-30T23:59:00+01:00", 'due = "soon"', ["line 10", "due is 'soon'"]),
        ("due = 2026-11-30T23:59:00+01:00", "", ["without a due date"]),
        ("seed = 0", "seed = -3", ["line 11", "seed is -3", "0 or more"]),
        ("seed = 0", "attempts = -1", ["line 11", "attempts is -1", "a whole number, 0 or more"]),
        ("seed = 0", "attempts = 1.5", ["line 11", "attempts is 1.5", "a whole number"]),
        ("seed = 0", 'minutes_between = "ten"', ["line 11", "minutes_between is 'ten'", "a number"]),
        ("seed = 0", "minutes_between = 1e9", ["line 11", "which is a year"]),
        ("seed = 0", 'feedback_before_due = "points"', ["line 11", "'points'", "nothing, hints, all"]),
        ('"additive_score", ', '"additve_score", ', ["line 12", "'additve_score'", "additive_score"]),
        ("points.additive_score = 6", "points.additive_score = 0", ["line 13", "above 0"]),
        ("points.additive_score", "points.additve_score", ["line 13", "no exercise 'additve_score'"]),
        ('exercise = "additive_score"', 'exercise = "batched_additive_shapes"', ["line 19", "of kind code"]),
        ('part = "values"', 'part = "valeus"', ["line 21", "'valeus'", "name one of the parts"]),
        ("shapes = {", "shown = true\nshapes = {", ["line 22", "cannot be shown"]),
        ("[2, 40, 5]", '"long"', ["line 22", "a long sentence", "a list"]),
        ("[late]", "[late", ["not valid TOML", "line 5"]),
        ('"students.csv"', '"class.csv"', ["class.csv", "the roster does not exist"]),
        ('"students.csv"', '"."', ["this is a folder", "name a CSV file"]),
        ("grace_minutes = 30", "grace_minutes = nan", ["line 6", "grace_minutes is nan"]),
        ("grace_minutes = 30", "grace_minutes = inf", ["line 6", "grace_minutes is inf"]),
        ("grace_minutes = 30", "grace_minutes = 9" + "0" * 400, ["line 6", "a year"]),
        ("percent_a_day = 10", "percent_a_day = nan", ["line 7", "nan"]),
        ("points.additive_score = 6", "points.additive_score = inf", ["line 13", "inf"]),
        ("points.additive_score = 6", "points.additive_score = 1" + "0" * 400, ["line 13", "more points"]),
        ("points.additive_score = 6", "points.additive_score = 1" + "0" * 5000, ["not valid TOML"]),
        ("due = 2026-11-30T23:59:00+01:00", "due = 0001-01-01T00:00:00+14:00", ["line 10", "the year 1"]),
        ("ada = 2026-12-02", "ada = 9999-12-31", ["the year 9999"]),
        ("[2, 40, 5]", "[2, 4000000000, 5]", ["line 22", "entries", "smaller shapes"]),
        ('roster = "students.csv"', 'roster = "students\\u0000.csv"', ["line 3", "NUL"]),
        (WHOLE, "late = 3", ["line 1", "late is not a table", "[late]"]),
        (WHOLE, "title = 'A'\nassignment = 3", ["line 2", "assignment is not a table", "[assignment]"]),
        ("seed = 0", "seed = " + "[" * 3000 + "]" * 3000, ["course.toml", "nested too deeply"]),
    ],
)
def test_what_cannot_be_understood_is_refused_with_its_line(tmp_path, old, new, words):
    assert old in WHOLE
    with pytest.raises(CourseError) as error:
        read_plan(written(tmp_path, WHOLE.replace(old, new, 1)))
    message = str(error.value)
    assert "Remedy: " in message
    assert not [word for word in words if word not in message], message


@pytest.mark.parametrize(
    ("roster", "words"),
    [
        ("name\nAda\n", ["line 1", "no column id"]),
        ("id;name\nada;Ada\n", ["line 1", "this file uses semicolons"]),
        ("id,name\nada," + "x" * 140_000 + "\n", ["line 2", "not a readable CSV file", "field larger"]),
        ("id," + "x" * 140_000 + "\nada,1\n", ["line 1", "not a readable CSV file"]),
        ("id,canvsa\nada,1\n", ["line 1", "'canvsa'", "canvas"]),
        ("id,canvas\nada,1\nben,1\n", ["line 3", "canvas '1' is also on line 2"]),
        ("id\nAda\nada\n", ["line 3", "id 'ada'"]),
        ("id,login\nada,ben\nben,bito\n", ["line 3", "id 'ben' is also the login on line 2"]),
        ("id,login\nada,ada1\nben,ADA\n", ["line 3", "login 'ADA' is also the id on line 2"]),
        ("id,email\nada@university.edu,x@y.edu\nben,Ada@university.edu\n", ["line 3", "is also the id on line 2"]),
        ("id,sis\nada,1\n1,2\n", ["line 3", "id '1' is also the sis on line 2"]),
        ("id,canvas,gradescope\nada,17,1\nben,18,17\n", ["line 3", "gradescope '17' is also the canvas on line 2"]),
        ("id,group\nada,\nben,ada\ncem,ada\n", ["line 3", "group 'ada' is also the id on line 2"]),
        ("id,login,group\nada,ada1,\nben,,Ada1\n", ["line 3", "group 'Ada1' is also the login on line 2"]),
        ("id\nJosé\nJose\u0301\n", ["line 3"]),
        ("id\n../eve\n", ["line 2", "'../eve'"]),
        ("id\n-rf\n", ["line 2", "'-rf'"]),
        ("id\n.git\n", ["line 2"]),
        ("id,name\nada,King, Ada\n", ["line 2", "quotes"]),
        ("ada,Ada King\nben,Ben Ito\n", ["line 1", "no header line", "'ada'", "id,name,email,section"]),
        ("ada\nben\n", ["line 1", "no header line", "'ada'"]),
    ],
)
def test_a_roster_in_which_two_would_be_one_or_a_name_leads_out_is_refused(tmp_path, roster, words):
    (tmp_path / "students.csv").write_text(roster, encoding="utf-8")
    with pytest.raises(CourseError) as error:
        read_roster(tmp_path / "students.csv")
    assert not [word for word in ["students.csv", "Remedy: ", *words] if word not in str(error.value)], str(error.value)


def test_a_student_may_have_one_name_everywhere_and_a_group_that_of_a_member(tmp_path):
    (tmp_path / "students.csv").write_text(
        "id,login,email,sis,group\nada,ada,ada@university.edu,ADA,ada\nben,bito,,7,ada\n", encoding="utf-8"
    )
    assert [student.id for student in read_roster(tmp_path / "students.csv")] == ["ada", "ben"]


DAY = 24 * 60 * 60


@pytest.mark.parametrize(
    ("seconds", "penalty"),
    [
        *((0, 0), (30 * 60, 0), (30 * 60 + 1, 1)),
        *((DAY + 90 * 60, 1), (DAY + 90 * 60 + 1, 2), (2 * DAY + 90 * 60, 2), (30 * DAY, 5)),
    ],
)
def test_each_day_that_has_begun_after_the_grace_costs_its_share_and_no_more_than_the_most(seconds, penalty):
    """Further days begin an hour late: a day in which clocks go back has 25 hours."""
    rule = LatePolicy(grace_minutes=30, percent_a_day=10, most_percent=50)
    assert rule.penalty(10, seconds) == penalty
    assert LatePolicy().penalty(10, seconds) == 0


@pytest.mark.parametrize(
    ("rule", "sentence"),
    [
        (LatePolicy(), "It costs nothing."),
        (LatePolicy(percent_a_day=10), "It costs as much as one day."),
        (LatePolicy(percent_a_day=10, grace_minutes=1.5 / 60), "Within the grace period, it costs nothing."),
    ],
)
def test_to_be_late_by_an_unknown_time_counts_as_a_second(rule, sentence):
    assert rule.cost_without_time() == sentence


@pytest.mark.parametrize(
    ("name", "possible"),
    [("a", True), ("ada", True), ("ada-", True), ("Ada King", True), ("ada ", False), (" ada", False), ("", False)],
)
def test_a_name_of_a_student_begins_and_ends_with_what_can_be_seen(name, possible):
    assert is_student_name(name) == possible


@pytest.fixture(scope="module")
def chosen(tmp_path_factory):
    """A course that has released the scoring assignment as ``WHOLE`` specifies it."""
    course = init(tmp_path_factory.mktemp("chosen") / "course")
    written(course.root, WHOLE)
    release(course, "scoring", website=WEBSITE)
    return course


def test_a_release_asks_what_the_course_chose_for_its_points_and_says_when_it_is_due(chosen):
    notebook = nbformat.read(chosen.releases("scoring").file, as_version=4)
    assert "**Attention 2026. Due: Monday, 30 November 2026, 23:59 (UTC+01:00).**" in notebook.cells[0].source
    released = chosen.releases("scoring").load()
    assert [exercise.function for exercise in released.exercises] == [
        name for name in functions() if name in ("batched_additive_shapes", "additive_score", "what_to_recompute")
    ]
    assert released.points["scoring-additive_score"] == 6
    assert (released.changed, released.other_points, released.seed) == (False, {}, 0)
    (additive_score,) = (exercise for exercise in released.load_exercises() if exercise.function == "additive_score")
    assert "a long sentence" in [case.name for case in additive_score.hidden]
    assert "a long sentence" not in nbformat.writes(notebook)
    assert chosen.releases("scoring").number_of(chosen.releases("scoring").file.read_text(encoding="utf-8")) == 1
    assert "## Version 1" in chosen.releases("scoring").log.read_text(encoding="utf-8")


def test_another_release_says_what_has_changed_and_one_like_the_last_has_its_number(chosen, tmp_path, unproved):
    shutil.copytree(chosen.root, tmp_path / "course")
    course = Course.at(tmp_path / "course")
    log = course.releases("scoring").log.read_bytes()
    release(course, "scoring", website=WEBSITE)
    assert course.releases("scoring").number_of(course.releases("scoring").file.read_text(encoding="utf-8")) == 1
    assert course.releases("scoring").log.read_bytes() == log
    written(
        course.root, WHOLE.replace("points.additive_score = 6", "points.additive_score = 5").replace("-11-30", "-11-29")
    )
    output = succeed("release", "scoring", "--course", course.root)
    assert "version 2" in output
    assert "its points, from 6 to 5." in output
    assert "The heading." in output
    log = course.releases("scoring").log.read_text(encoding="utf-8")
    assert log.index("## Version 2") < log.index("## Version 1")
    assert "https://attention.university.edu/book/scoring.html" in course.releases("scoring").file.read_text()


def test_a_plan_that_cannot_be_read_stops_the_command_with_its_line(chosen, tmp_path):
    shutil.copytree(chosen.root, tmp_path / "course")
    (tmp_path / "course" / "course.toml").write_text("[late]\nper_cent = 3\n")
    assert_refused(autograder("grade", "scoring", "--course", tmp_path / "course"), "line 2", "per_cent")


def test_what_has_not_changed_is_not_parsed_again(tmp_path, monkeypatch):
    texts, parse = [], plan.tomllib.loads

    def parsed(text):
        texts.append(text)
        return parse(text)

    monkeypatch.setattr(plan.tomllib, "loads", parsed)
    first = "[late]\npercent_a_day = 1\n# read once\n"
    root = written(tmp_path, f'roster = "students.csv"\n{first}')
    before = [read_plan(root) for _ in range(3)]
    assert len(texts) == 1
    assert [earlier_plan.late.percent_a_day for earlier_plan in before] == [1, 1, 1]
    written(tmp_path, f'roster = "students.csv"\n{first}', ROSTER + "cem,Cem Öz,,,\n")
    assert len(read_plan(root).students) == len(before[0].students) + 1
    written(tmp_path, f'roster = "students.csv"\n{first.replace("= 1", "= 2")}')
    assert (read_plan(root).late.percent_a_day, len(texts)) == (2, 2)


def test_markers_are_read(tmp_path):
    assert read_plan(written(tmp_path, 'markers = ["ada_king", "ben", "ada_king"]')).markers == ("ada_king", "ben")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('markers = "ada"', ["line 2", 'write markers = ["ada", "ben"]']),
        ("markers = [3]", ["line 2", "list of names"]),
        ('markers = ["../ben"]', ["line 2", "'../ben'"]),
        ("[markers]\nada = {}", ["line 2", 'write markers = ["ada", "ben"]']),
        ("second_marking_percent = 10", ["line 2", "unknown field"]),
    ],
)
def test_what_cannot_be_understood_of_the_markers_is_refused_with_its_line(tmp_path, text, words):
    with pytest.raises(CourseError) as error:
        read_plan(written(tmp_path, f"\n{text}\n"))
    assert not [word for word in ["course.toml", "Remedy: ", *words] if word not in str(error.value)], str(error.value)


def test_an_unknown_field_of_an_assignment_is_refused_with_all_that_there_are(tmp_path):
    with pytest.raises(CourseError, match=r"line 2.*'dew'\n.*are attempts, case, due, exercises, .*, sections, seed\."):
        read_plan(written(tmp_path, '[assignment.scoring]\ndew = 3\nexercises = "core"'))


@pytest.mark.parametrize("topic", answer_key.topics())
def test_the_core_path_can_be_asked_for_instead_of_a_list(tmp_path, topic):
    assignment = read_plan(written(tmp_path, f'[assignment.{topic}]\nexercises = "core"')).assignment(topic)
    entries = answer_key.load(topic).values()
    assert list(assignment.exercises) == [entry.function for entry in entries if entry.core]
    asked = [question.function for question in assignment.select_questions(exercises.load(topic, 0))]
    assert asked == list(assignment.exercises)


def test_another_word_instead_of_a_list_is_refused(tmp_path):
    with pytest.raises(AnswerKeyError, match="exercises"):
        read_plan(written(tmp_path, '[assignment.scoring]\nexercises = "cores"'))
