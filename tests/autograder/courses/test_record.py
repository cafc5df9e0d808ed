"""The record of a course: events are added whole, stay as they are, and can be read with plain sqlite3."""

import itertools
import json
import re
import shutil
import sqlite3
import subprocess
import sys
import zipfile
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from unittest import mock

import pytest
from nbgrader.api import Gradebook

from autograder.courses import record as records
from autograder.courses.course import Course, init
from autograder.courses.record import Record
from autograder.courses.standing import tell
from autograder.errors import CourseError
from autograder.gradebook.lateness import LATE_PLUGIN
from autograder.gradebook.requests import answer_request, record_later_requests
from autograder.marking.answers import CurrentMark, load_answers, save_marks
from autograder.marking.override import override
from autograder.notebooks.requests import RegradeRequest
from autograder.paths import ROOT
from autograder.platforms.collect import collect
from tests.autograder.essays import ESSAY, all_right, grade_quickly, hand_in
from tests.autograder.test_main import autograder

pytestmark = pytest.mark.suite("assignments")
NOON = datetime(2026, 3, 1, 12, tzinfo=timezone(timedelta(hours=1)))


def test_events_come_back_in_order_for_one_student_or_for_all(tmp_path):
    record = Record(tmp_path, lambda: NOON)
    assert record.events("scoring", "ada", ("received",)) == []
    assert not record.path.exists()  # reading writes nothing
    assert record.add("scoring", "ada", ("received", {"order": 2}), ("told", {"sentence": "Ω"})) == 2
    assert record.add("scoring", "ben", ("received", {"order": 1})) == 3
    assert record.add("softmax", "ada", ("received", {})) == 4
    mine = record.events("scoring", "ada", ("received", "told"))
    assert [(event.number, event.kind, event.data) for event in mine] == [
        (1, "received", {"order": 2}),
        (2, "told", {"sentence": "Ω"}),
    ]
    assert {event.at for event in mine} == {"2026-03-01 11:00:00.000"}  # in UTC
    everybody = record.events("scoring", None, ("received",))
    assert [(event.student, event.data) for event in everybody] == [("ada", {"order": 2}), ("ben", {"order": 1})]


def test_the_order_is_that_in_which_events_were_added_even_if_the_clock_was_set_back(tmp_path):
    times = iter((NOON, NOON - timedelta(days=1)))
    record = Record(tmp_path, lambda: next(times))
    for number in (1, 2):
        record.add("scoring", "ada", ("told", {"n": number}), (f"taken {number}", {}))
    assert [event.data["n"] for event in record.events("scoring", "ada", ("told",))] == [1, 2]
    assert [*record.last_of_each("scoring", "ada", ("told", "taken 1"))] == ["taken 1", "told"]


@pytest.mark.parametrize("name", ["तर्क", "a'b", "nul\0", "ad\udcff"])
def test_a_student_may_have_any_name_that_a_folder_can_have(tmp_path, name):
    record = Record(tmp_path)
    assert record.last_of_each("scoring", name, ("told",)) == {}
    record.add("scoring", name, ("told", {"sentence": name}))
    (event,) = record.events("scoring", name, ("told",))
    assert (event.student, event.data) == (name, {"sentence": name})
    assert [event.student for event in record.events("scoring", None, ("told",))] == [name]
    assert record.last_of_each("scoring", name, ("told",)) == {"told": event}


def test_the_last_of_each_kind_is_given_in_the_order_of_the_events(tmp_path):
    record = Record(tmp_path)
    record.add("scoring", "ada", ("told", {"n": 1}), ("taken", {}), ("told", {"n": 2}), ("graded", {"n": 3}))
    record.add("scoring", "ben", ("taken", {"n": 4}))
    last = record.last_of_each("scoring", "ada", ("taken", "told"))
    assert [(kind, event.data) for kind, event in last.items()] == [("taken", {}), ("told", {"n": 2})]


@pytest.mark.parametrize("statement", ["UPDATE event SET student = 'eve'", "DELETE FROM event"])
def test_no_event_is_changed_or_deleted(tmp_path, statement):
    record = Record(tmp_path)
    record.add("scoring", "ada", ("received", {}))
    with sqlite3.connect(record.path) as connection, pytest.raises(sqlite3.IntegrityError, match="events are never"):
        connection.execute(statement)
    assert [event.student for event in record.events("scoring", None, ("received",))] == ["ada"]


def test_of_several_events_all_are_added_or_none(tmp_path):
    record = Record(tmp_path)
    with pytest.raises(TypeError):
        record.add("scoring", "ada", ("received", {"order": 1}), ("told", {"sentence": object()}))
    assert record.events("scoring", "ada", ("received", "told")) == []
    assert record.add("scoring", "ada") == 0


def test_two_processes_add_side_by_side_and_no_number_is_given_twice(tmp_path):
    code = "import sys; from pathlib import Path; from autograder.courses.record import Record\n"
    code += "for n in range(30): Record(Path(sys.argv[1])).add('scoring', sys.argv[2], ('received', {'n': n}))"
    names = ("ada", "ben")
    running = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path), name]) for name in names]
    assert [process.wait() for process in running] == [0, 0]
    events = Record(tmp_path).events("scoring", None, ("received",))
    assert sorted(event.number for event in events) == list(range(1, 61))
    for name in names:
        assert [event.data["n"] for event in events if event.student == name] == list(range(30))


def test_an_event_is_readable_with_plain_sqlite3(tmp_path):
    record = Record(tmp_path, lambda: datetime(2026, 3, 1, tzinfo=UTC))
    record.add("scoring", "ada", ("told", {"sentence": "Hand in again."}))
    with sqlite3.connect(record.path) as connection:
        rows = connection.execute("SELECT at, student, data ->> 'sentence' FROM event WHERE kind = 'told'").fetchall()
    assert rows == [("2026-03-01 00:00:00.000", "ada", "Hand in again.")]


def test_the_record_of_a_later_version_is_refused(tmp_path):
    record = Record(tmp_path)
    record.add("scoring", "ada", ("received", {}))
    with sqlite3.connect(record.path) as connection:
        connection.execute("PRAGMA user_version = 2")
    for use in (
        lambda: record.add("scoring", "ada", ("received", {})),
        lambda: record.events("scoring", None, ("received",)),
    ):
        with pytest.raises(CourseError, match="a later version of the grader has written here"):
            use()


@pytest.mark.parametrize("name", ["collected", "recorded", "watch.db"])
def test_a_course_of_an_earlier_version_is_refused_and_its_plan_can_be_taken_over(tmp_path, name):
    old = init(tmp_path / "old")
    (old.root / ".autograder" / name).mkdir(parents=True)
    with pytest.raises(CourseError, match="begun with an earlier version of the grader") as refused:
        Course.at(old.root)
    assert f"init --from {old.root} NEW" in refused.value.args[2]
    assert autograder("init", tmp_path / "new", "--from", old.root).returncode == 0
    assert Course.at(tmp_path / "new").plan().assignments == {}


@pytest.mark.parametrize(
    ("spoil", "what", "remedy"),
    [
        (lambda path: path.write_bytes(b"no database" * 1000), "not a database", "restore a copy"),
        (lambda path: path.unlink() or path.mkdir(), "unable to open", "make sure that you can write"),
    ],
)
def test_a_record_that_cannot_be_used_is_refused_with_a_remedy(tmp_path, spoil, what, remedy):
    record = Record(tmp_path)
    record.add("scoring", "ada", ("received", {}))
    spoil(record.path)
    with pytest.raises(CourseError) as refused:
        record.add("scoring", "ada", ("received", {}))
    assert what in refused.value.args[0]
    assert refused.value.args[1] == str(record.path)
    assert remedy in refused.value.args[2]


def test_a_record_that_may_only_be_read_is_refused_with_a_remedy(tmp_path, monkeypatch):
    record, connect = Record(tmp_path), sqlite3.connect
    record.add("scoring", "ada", ("received", {}))
    read_only = lambda where, **more: connect(where.replace("mode=rwc", "mode=ro"), **more)  # noqa: E731
    monkeypatch.setattr(sqlite3, "connect", read_only)
    with pytest.raises(CourseError, match="readonly") as refused:
        record.add("scoring", "ada", ("received", {}))
    assert "make sure that you can write" in refused.value.args[2]


def test_a_record_that_another_program_holds_is_refused_in_the_end(tmp_path, monkeypatch):
    monkeypatch.setattr("autograder.courses.record.BUSY_SECONDS", 0.0)
    record = Record(tmp_path)
    record.add("scoring", "ada", ("received", {}))
    other = sqlite3.connect(record.path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(CourseError, match="locked") as refused:
        record.add("scoring", "ada", ("received", {}))
    assert "close any other program" in refused.value.args[2]
    other.close()
    assert record.add("scoring", "ada", ("received", {})) == 2


def nothing_right(notebook, exercises, *rest):
    whole = all_right(notebook, exercises)
    return replace(whole, verdicts=tuple(v if v.earned is None else replace(v, earned=0.0) for v in whole.verdicts))


def test_the_queries_of_the_guide_say_what_happened(released, tmp_path):
    shutil.copytree(released.root, tmp_path / "course")
    course, days = Course.at(tmp_path / "course"), (datetime(2026, 4, day, tzinfo=UTC) for day in itertools.count(1))
    notebook = course.releases("scoring").file.read_bytes()
    when = {"ada": "2026-03-01 09:00:00.000000 UTC", "ben": "2026-03-02 10:30:00.000000 UTC"}
    with zipfile.ZipFile(tmp_path / "class.zip", "w") as bundle:
        for name, time in when.items():
            bundle.writestr(f"{name}/scoring.ipynb", notebook)
            bundle.writestr(f"{name}/timestamp.txt", time)
    with mock.patch.object(records, "_now", side_effect=days):
        collect(course, "scoring", tmp_path / "class.zip")
        grade_quickly(course)
        grade_quickly(course, "ben", again=True)  # which changes nothing
        grade_quickly(course, "ada", grade_one=nothing_right, again=True)
        (essay,) = (answer for answer in load_answers(course, "scoring", ESSAY) if answer.student == "ben")
        save_marks(course, "scoring", ESSAY, [(essay, CurrentMark(1.5, False, "Good."))], {"ben": "dora"})
        override(course, "scoring", "additive_score", "ada", 0.5, "It was disputed.")
        tell(course, "ada", "scoring", "Hand in scoring.ipynb itself.")
        record_later_requests(course, "scoring", "ada", [RegradeRequest("scoring-additive_score", "Why?")])
        answer_request(course, "scoring", "ada", "", "The sum is over a.")
        grade_quickly(course)
        with Gradebook(course.gradebook.url) as gradebook:  # as the formgrader does it
            gradebook.find_grade(ESSAY, "scoring", "scoring", "ben").manual_score = 0.5
            gradebook.db.commit()
        grade_quickly(course)
    page = (ROOT / "book" / "for_instructors.md").read_text(encoding="utf-8")
    queries = re.findall(r"```sql\n(.*?)```", page, flags=re.DOTALL)
    with sqlite3.connect(course.record.path) as connection:
        handed_in, moved, by_person, shown, rules, told = (connection.execute(query).fetchall() for query in queries)
    assert [(student, stated) for student, stated, _ in handed_in] == [*when.items()]
    assert all(at.startswith("2026-04-0") for *_, at in handed_in)
    assert [(student, after) for student, _, _, after in moved] == [("ada", 0.0)]
    assert moved[0][2] == sum(e.points for e in course.releases("scoring").load().exercises if e.is_automatic)
    assert [row[1:] for row in by_person] == [
        ("ben", ESSAY, 1.5, "dora"),
        ("ada", "scoring-additive_score", 0.5, "It was disputed."),
    ]
    full = moved[0][2]
    given = [full, full, full + 1.5, full + 0.5]  # twice without a person's, then in `mark`, then in the formgrader
    assert [(points, penalty) for _, points, penalty, *_ in shown] == [(points, 0.0) for points in given]
    assert [json.loads(by_person) for *_, by_person, _ in shown] == [{}, {}, {ESSAY: 1.5}, {ESSAY: 0.5}]
    assert {due for *_, due in shown} == {""}
    (rule,) = rules  # six gradings by the same rules
    assert rule[1:3] == ("", "{}")
    assert json.loads(rule[3]) == {"grace_minutes": 0, "most_percent": 100, "percent_a_day": 0}
    assert json.loads(rule[4]) == {e.name: e.points for e in course.releases("scoring").load().exercises}
    assert [sentence for _, _, sentence in told] == ["Hand in scoring.ipynb itself.", "The sum is over a."]


def test_each_change_of_the_rules_is_recorded_once_and_an_extension_with_the_student_alone(course):
    for name in ("ada", "ben"):
        hand_in(course, name)
    grade_quickly(course)
    plan = course.root / "course.toml"
    late = "[late]\npercent_a_day = {}\n[assignment.scoring]\ndue = 2026-03-01T12:00:00+01:00\n{}"
    case = (
        '[[assignment.scoring.case]]\nexercise = "dot_product_score"\nname = "more"\npart = "dot_product"\n'
        "shapes = { query = [2, 4], keys = [2, 3, 4] }\n"
    )
    extension = "[assignment.scoring.extensions]\nada = 2026-03-03T12:00:00Z\n"
    for text in (
        late.format(10, ""),
        "# a remark\n" + late.format(10, ""),
        late.format(10, extension),
        late.format(20, extension),
        late.format(20, extension + case),
    ):
        plan.write_text(text)
        before = course.record.list_all()
        grade_quickly(course, dry=True)
        assert course.record.list_all() == before
        grade_quickly(course)
    rules = [event.data for event in course.record.events("scoring", "", ("rules",))]
    assert [(each["due"], each["late"]["percent_a_day"]) for each in rules] == [
        ("", 0),
        *[("2026-03-01 11:00:00", 10)],
        *[("2026-03-01 11:00:00", 20)] * 2,
    ]
    assert len({each["exercises"] for each in rules}) == 2
    assert "ada" not in json.dumps(rules)
    due = {
        name: [event.data["due"] for event in course.record.events("scoring", name, ("page",))]
        for name in ("ada", "ben")
    }
    assert [*dict.fromkeys(due["ada"])] == ["", "2026-03-01 11:00:00", "2026-03-03 12:00:00"]
    assert [*dict.fromkeys(due["ben"])] == ["", "2026-03-01 11:00:00"]
    plan.write_text("")
    with Gradebook(course.gradebook.url) as gradebook:  # as the formgrader does it
        gradebook.update_or_create_assignment("scoring", duedate="2026-03-05 00:00:00")
    grade_quickly(course)
    last = course.record.last_of_each("scoring", "", ("rules",))["rules"].data
    assert (last["due"], last["sections"], last["late"]["percent_a_day"]) == ("2026-03-05 00:00:00", {}, 0)
    (course.root / "students.csv").write_text("id,section\nada,A\nben,B\n")
    of_section = "[assignment.scoring.sections.A]\ndue = 2026-03-02T12:00:00Z\n"
    plan.write_text(f'roster = "students.csv"\n{late.format(10, of_section)}')
    grade_quickly(course)
    config = course.config.read_text()
    course.config.write_text(
        f"{config}\nc.AssignLatePenalties.plugin_class = 'nbgrader.plugins.LateSubmissionPlugin'\n"
    )
    grade_quickly(course)
    *_, by_section, by_plugin = (event.data for event in course.record.events("scoring", "", ("rules",)))
    assert (by_section["sections"], by_section["late"]["percent_a_day"]) == ({"A": "2026-03-02 12:00:00"}, 10)
    assert by_plugin["late"] == {"plugin": "nbgrader.plugins.LateSubmissionPlugin"}
    plan.write_text("")
    course.config.write_text(f"{config}\nc.LateSubmissionPlugin.penalty_method = 'zero'\n")
    grade_quickly(course)
    by_setting = course.record.last_of_each("scoring", "", ("rules",))["rules"].data
    assert by_setting["late"] == {"plugin": LATE_PLUGIN}  # which follows that setting where course.toml has no rule
