"""Markers share a question: no two are offered the same answer, and each mark records its marker."""

import contextlib
import json
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from autograder.errors import CourseError
from autograder.gradebook.provenance import load_given, record_given
from autograder.marking import desk as desks
from autograder.marking.answers import load_answers
from autograder.marking.session import ClientState, Conflict, MarkRequest, Session
from autograder.reports.analysis import analyse
from autograder.reports.class_page import class_page
from tests.autograder.essays import ESSAY, enrol, grade_quickly, hand_in
from tests.autograder.marking.test_marking import by_hand, in_gradebook, page_data
from tests.autograder.test_main import assert_refused, autograder

pytestmark = pytest.mark.suite("assignments")

NAMES = [f"student{number:02}" for number in range(12)]
ROSTER = "id,name,section\n" + "".join(f"{name},Student {name[-2:]},{'AB'[int(name[-2:]) % 2]}\n" for name in NAMES)
PLAN = """roster = "students.csv"
markers = ["ada", "ben", "cem"]
"""


@pytest.fixture
def shared(course):
    """A course of twelve students in two sections, all with different answers, and three markers."""
    enrol(course, ROSTER, PLAN)
    for name in NAMES:
        hand_in(course, name, f"Because {name} says so.")
    grade_quickly(course, feedback=False)
    return course


@pytest.fixture
def sit(shared):
    """Return a function that opens a marker's session; all sessions are closed at the end."""
    with contextlib.ExitStack() as stack:
        yield lambda marker, student="": stack.enter_context(
            contextlib.closing(Session(shared, "scoring", "what_to_recompute", marker=marker, student=student))
        )


def offered(session):
    return {answer.student: answer for answer in session.answers()}


def give(session, student, points, comment=""):
    answer = offered(session)[student]
    session.page()
    return session.mark(MarkRequest((ClientState(**session.shown.add(answer)),), points, comment))


def test_a_marker_is_offered_a_part_of_the_unmarked_answers_and_then_more(sit, monkeypatch):
    monkeypatch.setattr(desks, "MIN_OFFERED", 1)
    ada = sit("ada")
    first = {*offered(ada)}
    assert first == {*NAMES[:4]}  # as many are left for each of the two who have not come
    for student in NAMES[:3]:
        give(ada, student, 1)
    assert {*offered(ada)} == first  # until all of these are marked
    give(ada, NAMES[3], 1)
    now = offered(ada)
    assert {*now} == first | {*NAMES[4:7]}  # a third of the other eight
    assert page_data(ada.page())["progress"] == {"marked": 4, "of": 7, "untouched": 0}


def test_a_marker_is_offered_no_more_while_an_answer_that_they_have_marked_waits_again(shared, sit, monkeypatch):
    monkeypatch.setattr(desks, "MIN_OFFERED", 1)
    ada = sit("ada")
    first = {*offered(ada)}
    for student in first:
        give(ada, student, 1)
    hand_in(shared, NAMES[0], "I have thought again.")
    grade_quickly(shared, feedback=False)
    assert {*offered(ada)} == first
    give(ada, NAMES[0], 2)
    assert {*offered(ada)} > first


def test_identical_answers_are_offered_together(shared, sit):
    for name in NAMES[::3]:
        hand_in(shared, name, "A few keys.")
    grade_quickly(shared, feedback=False)
    offers = [{*offered(sit(marker))} for marker in ("ada", "ben", "cem")]
    assert [offer & {*NAMES[::3]} for offer in offers if offer & {*NAMES[::3]}] == [{*NAMES[::3]}]


def test_two_who_mark_one_question_never_meet(shared, sit):
    ada, ben, cem = sit("ada"), sit("ben"), sit("cem")
    offers = [{*offered(session)} for session in (ada, ben, cem)]
    assert offers == [{*NAMES}, set(), set()]  # nobody else was expected
    assert "not on another marker" in ben.page()
    assert "You are marking as <strong>ben</strong>." in ben.page()
    for student in NAMES[:2]:
        give(ada, student, 1)
    ada.close()
    assert {*offered(ben)} == {*NAMES[2:7]}  # not what ada has marked; half is left for her
    assert {*offered(cem)} == {*NAMES[7:]}
    ada = sit("ada")
    stale = {answer.student: answer for answer in load_answers(shared, "scoring", ESSAY)}[NAMES[2]]
    assert {*offered(ada)} == {*NAMES[:2]}
    with pytest.raises(Conflict, match="ben has this answer now"):
        ada.mark(MarkRequest((ClientState(**ada.shown.add(stale)),), 1))


def test_five_markers_at_once_mark_everything_once(shared):
    team = ("ada", "ben", "cem", "dora", "emil")
    (shared.root / "course.toml").write_text(f"markers = {list(team)}\n", encoding="utf-8")

    def work(marker):
        done = []
        with contextlib.closing(Session(shared, "scoring", "what_to_recompute", marker=marker)) as session:
            while waiting := [answer.student for answer in session.answers() if answer.held.waiting]:
                give(session, waiting[0], 1, marker)
                done.append(waiting[0])
        return done

    with ThreadPoolExecutor(5) as pool:
        done = dict(zip(team, pool.map(work, team), strict=True))
    assert sorted(student for students in done.values() for student in students) == NAMES
    held = {student: comment for student, (_, _, comment) in in_gradebook(shared).items()}
    assert held == {student: marker for marker, students in done.items() for student in students}
    marks = load_given(shared, "scoring", ESSAY)
    assert {student: mark.marker for student, mark in marks.items()} == held


def test_who_marked_is_recorded_and_forgotten_when_marks_are_taken_back(shared, sit):
    ada = sit("ada")
    give(ada, "student00", 1.5, "Which one?")
    (mark,) = load_given(shared, "scoring", ESSAY).values()
    assert (mark.marker, mark.points, mark.comment) == ("ada", 1.5, "Which one?")
    give(ada, "student00", None)
    assert load_given(shared, "scoring", ESSAY) == {}
    stale = offered(ada)["student02"]
    by_hand(shared, "student02", 0.5)
    with pytest.raises(Conflict, match=r"0\.5 of 2"):
        ada.mark(MarkRequest((ClientState(**ada.shown.add(stale)),), 1))
    assert load_given(shared, "scoring", ESSAY) == {}
    for marker, students in (("ada", ["student00"]), ("", [])):  # the second time, somebody without a name marked it
        record_given(shared, "scoring", ESSAY, [mark._replace(marker=marker)])
        assert [*load_given(shared, "scoring", ESSAY)] == students


def test_the_page_says_who_has_marked_an_answer_that_waits_again(shared, sit):
    ada = sit("ada")
    for student in NAMES:
        give(ada, student, 1)
    hand_in(shared, NAMES[3], "I have thought again.")
    grade_quickly(shared, feedback=False)
    ada.close()
    (group,) = page_data(sit("ben").page())["groups"]
    assert (group["points"], group["waiting"], group["by"]) == (1, True, ["ada"])


def test_the_page_names_nobody_for_an_answer_that_was_marked_in_the_formgrader(shared, sit):
    by_hand(shared, NAMES[3], 1, waiting=True)
    (group,) = (group for group in page_data(sit("ben", NAMES[3]).page())["groups"] if group["points"] == 1)
    assert group["by"] == []


def test_an_answer_that_is_asked_for_by_its_student_is_offered_alone_whoever_has_marked_it(shared, sit):
    ada = sit("ada")
    give(ada, NAMES[0], 1)
    with pytest.raises(CourseError, match=f"ada has the answer of '{NAMES[0]}' open"):
        sit("ben", NAMES[0]).answers()
    ada.close()
    cem = sit("cem", NAMES[0])
    assert {*offered(cem)} == {NAMES[0]}
    assert page_data(cem.page())["progress"] == {"marked": 1, "of": 1, "untouched": 0}
    give(cem, NAMES[0], 2)
    (mark,) = load_given(shared, "scoring", ESSAY).values()
    assert (mark.marker, mark.points) == ("cem", 2)
    cem.close()
    assert NAMES[0] not in offered(sit("ada"))


def test_the_report_counts_the_answers_of_each_marker(shared, sit):
    for marker, count in (("ada", 4), ("ben", 3)):
        session = sit(marker)
        for student in [*offered(session)][:count]:
            give(session, student, 1)
        session.close()
    page = class_page("", [analyse(shared, "scoring")], names=False)
    assert "answers by marker: ada: 4, ben: 3." in page


@pytest.mark.parametrize(("marker", "words"), [("eve", "name one of ada, ben, cem"), ("ada", "ada is marking")])
def test_a_marker_who_is_not_named_or_is_there_already_is_refused(shared, sit, marker, words):
    sit("ada")
    with pytest.raises(CourseError, match=words):
        sit(marker)


def test_a_course_with_markers_asks_who_marks(shared):
    done = autograder("mark", "scoring", "what_to_recompute", "--no-browser", "--course", shared.root)
    assert_refused(done, "--marker NAME", "ada, ben, cem")


def test_a_marker_whose_command_was_killed_can_come_back(shared, sit):
    command = [sys.executable, "-u", "-m", "autograder", "mark", "scoring", "what_to_recompute", "--no-browser"]
    command += ["--marker", "ada", "--course", shared.root]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        assert process.stdout.readline().startswith("Mark here: ")
        with pytest.raises(CourseError, match="ada is marking"):
            sit("ada")
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()
    assert {*offered(sit("ada"))} == {*NAMES[:5]}


def test_a_damaged_record_is_refused_with_a_remedy(shared, sit):
    offered(sit("ada"))
    path = shared.root / ".autograder" / "marking" / "scoring" / f"{ESSAY}.json"
    assert json.loads(path.read_text())["open"]["ada"] == NAMES[:5]
    path.write_text("{")
    with pytest.raises(CourseError, match="who marks is damaged"):
        sit("ben")
