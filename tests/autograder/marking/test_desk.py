"""Markers share a question: no two are offered the same answer, marks record their marker, and second marking is blind."""

import contextlib
import json
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from autograder.errors import CourseError
from autograder.gradebook.provenance import load_marking_record
from autograder.gradebook.scores import load_results
from autograder.marking import desk as desks
from autograder.marking.session import ClientState, Conflict, MarkRequest, Session
from autograder.reports.analysis import analyse, analyse_marking, cohens_kappa
from autograder.reports.class_page import class_page
from tests.autograder.essays import ESSAY, enrol, grade_quickly, hand_in
from tests.autograder.marking.test_marking import by_hand, in_gradebook, page_data
from tests.autograder.test_main import assert_refused, autograder

pytestmark = pytest.mark.suite("assignments")

NAMES = [f"student{number:02}" for number in range(12)]
ROSTER = "id,name,section\n" + "".join(f"{name},Student {name[-2:]},{'AB'[int(name[-2:]) % 2]}\n" for name in NAMES)
PLAN = """roster = "students.csv"
second_marking_percent = {percent}

[markers]
ada = {{ sections = ["A"] }}
ben = {{}}
cem = {{}}
"""


@pytest.fixture
def shared(course):
    """A course of twelve students in two sections, all with different answers, and three markers."""
    enrol(course, ROSTER, PLAN.format(percent=0))
    for name in NAMES:
        hand_in(course, name, f"Because {name} says so.")
    grade_quickly(course, feedback=False)
    return course


@pytest.fixture
def sit(shared):
    """Return a function that opens a marker's session; all sessions are closed at the end."""
    with contextlib.ExitStack() as stack:
        yield lambda marker: stack.enter_context(
            contextlib.closing(Session(shared, "scoring", "what_to_recompute", marker=marker))
        )


def offered(session):
    return {answer.student: answer for answer in session.answers()}


def give(session, student, points, comment=""):
    answer = offered(session)[student]
    session.page()
    return session.mark(MarkRequest((ClientState(**session._show(answer)),), points, comment))


SECTION_A, SECTION_B = set(NAMES[::2]), set(NAMES[1::2])


def test_a_marker_is_offered_the_own_share_first_and_then_the_rest(sit, monkeypatch):
    monkeypatch.setattr(desks, "MAX_UNASSIGNED_OFFERED", 2)
    ada = sit("ada")
    assert set(offered(ada)) == SECTION_A
    for student in SECTION_A:
        give(ada, student, 1)
    now = offered(ada)
    assert len(set(now) - SECTION_A) == 2
    assert page_data(ada.page())["progress"] == {"marked": 6, "of": 8, "untouched": 0}
    for student in set(now) - SECTION_A:
        give(ada, student, 2)
    assert len(set(offered(ada)) - SECTION_A) == 4  # the answers just marked stay, and two more are offered


def test_two_who_mark_one_question_never_meet(sit):
    ada, ben, cem = sit("ada"), sit("ben"), sit("cem")
    assert len(offered(ben)) == len(offered(cem)) == 3
    assert {*offered(ben), *offered(cem)} == SECTION_B
    for student in offered(ben):
        give(ben, student, 1)
    assert {*offered(ben)} & {*offered(cem), *offered(ada)} == set()
    cem.close()
    offers = offered(ben)
    assert {*offers} == SECTION_B  # cem has left, so ben is offered cem's share too
    assert {*offered(ada)} == SECTION_A
    cem = sit("cem")
    assert offered(cem) == {}  # the rest of it is on ben's page
    answer = next(answer for answer in offers.values() if answer.held.waiting)
    with pytest.raises(Conflict, match="ben has this answer now"):
        cem.mark(MarkRequest((ClientState(**cem._show(answer)),), 1))
    assert len(offered(ben)) == len(offered(cem)) == 3  # reloading ben's page gives cem's share back


def test_five_markers_at_once_mark_everything_once(shared):
    team = "".join(f"{name} = {{}}\n" for name in ("ada", "ben", "cem", "dora", "emil"))
    (shared.root / "course.toml").write_text(f"[markers]\n{team}", encoding="utf-8")

    def work(marker):
        done = []
        with contextlib.closing(Session(shared, "scoring", "what_to_recompute", marker=marker)) as session:
            while waiting := [answer.student for answer in session.answers() if answer.held.waiting]:
                give(session, waiting[0], 1, marker)
                done.append(waiting[0])
        return done

    with ThreadPoolExecutor(5) as pool:
        done = dict(zip(("ada", "ben", "cem", "dora", "emil"), pool.map(work, team.split(" = {}\n")[:-1]), strict=True))
    assert sorted(student for students in done.values() for student in students) == NAMES
    held = {student: comment for student, (_, _, comment) in in_gradebook(shared).items()}
    assert held == {student: marker for marker, students in done.items() for student in students}
    marks = load_marking_record(shared, "scoring", ESSAY).given
    assert {student: mark.marker for student, mark in marks.items()} == held


def test_who_marked_is_recorded_and_forgotten_when_marks_are_taken_back(shared, sit):
    ada = sit("ada")
    give(ada, "student00", 1.5, "Which one?")
    (mark,) = load_marking_record(shared, "scoring", ESSAY).given.values()
    assert (mark.marker, mark.points, mark.comment) == ("ada", 1.5, "Which one?")
    give(ada, "student00", None)
    assert load_marking_record(shared, "scoring", ESSAY).given == {}
    stale = offered(ada)["student02"]
    by_hand(shared, "student02", 0.5)
    with pytest.raises(Conflict, match=r"0\.5 of 2"):
        ada.mark(MarkRequest((ClientState(**ada._show(stale)),), 1))
    assert load_marking_record(shared, "scoring", ESSAY).given == {}


def test_the_page_says_who_else_has_marked(sit):
    ben = sit("ben")
    mine = next(iter(offered(ben)))
    ben.close()
    ada = sit("ada")
    for student in SECTION_A:
        give(ada, student, 1)
    give(ada, mine, 2)
    ada.close()
    groups = page_data(sit("ben").page())["groups"]
    assert [group["by"] for group in groups if group["points"] == 2] == [["ada"]]


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
    assert set(offered(sit("ada"))) == SECTION_A


def test_a_damaged_record_is_refused_with_a_remedy(shared, sit):
    offered(sit("ada"))
    path = shared.root / ".autograder" / "marking" / "scoring" / f"{ESSAY}.json"
    assert json.loads(path.read_text())["open"]["ada"] == sorted(SECTION_A)
    path.write_text("{")
    with pytest.raises(CourseError, match="who marked is damaged"):
        sit("ben")


# --- second marking --------------------------------------------------------------------------------------------------


@pytest.fixture
def twice(shared, sit):
    """Half of the answers are to be marked twice; ada has given each in her section 2 points and the comment Mine."""
    (shared.root / "course.toml").write_text(PLAN.format(percent=50), encoding="utf-8")
    ada = sit("ada")
    for student in SECTION_A:
        give(ada, student, 2, "Mine.")
    ada.close()
    return shared


def second_of(session):
    return [answer.student for answer in session.answers() if answer.is_second]


def test_a_second_marker_does_not_see_the_first_marks_and_leaves_the_gradebook_as_it_is(twice, sit):
    before, ben = in_gradebook(twice), sit("ben")
    groups = page_data(ben.page())["groups"]
    assert [(group["points"], group["comment"], group["by"]) for group in groups] == [(None, "", [])] * len(groups)
    (student, *_) = [student for student in second_of(ben) if student in SECTION_A]
    reply = give(ben, student, 1, "Not quite.")
    assert in_gradebook(twice) == before
    assert reply["marked"] == 1
    second = offered(ben)[student].held
    assert (second.points, second.waiting, second.comment) == (1, False, "Not quite.")
    record = load_marking_record(twice, "scoring", ESSAY)
    assert (record.given[student].marker, record.second[student].marker) == ("ada", "ben")
    give(ben, student, None)
    assert load_marking_record(twice, "scoring", ESSAY).second == {}


def test_half_of_the_answers_are_marked_twice_by_somebody_else(twice, sit):
    second = {marker: second_of(sit(marker)) for marker in ("ada", "ben", "cem")}
    assert sum(map(len, second.values())) == len(NAMES) / 2
    shares = load_marking_record(twice, "scoring", ESSAY).shares
    assert [marker for marker, students in second.items() for student in students if shares[student] == marker] == []


def test_a_second_mark_of_an_answer_that_has_changed_is_refused(twice, sit):
    ben = sit("ben")
    student = second_of(ben)[0]
    ben.page()
    stale = offered(ben)[student]
    hand_in(twice, student, "I have thought again.")
    grade_quickly(twice, feedback=False)
    with pytest.raises(Conflict, match="something else"):
        ben.mark(MarkRequest((ClientState(**ben._show(stale)),), 1))
    assert load_marking_record(twice, "scoring", ESSAY).second == {}


def test_the_report_has_the_agreement_and_names_students_only_if_asked(twice, sit):
    for marker in ("ben", "cem"):
        session = sit(marker)
        for number, student in enumerate(sorted(second_of(session))):
            if student in SECTION_A:
                give(session, student, 2 if number else 1)
    (study,) = analyse_marking(twice, twice.released("scoring"), load_results(twice, "scoring"))
    assert dict(study.marked) == {"ada": 6}
    assert study.twice - study.same == len(study.different) > 0
    assert {difference.first_by for difference in study.different} == {"ada"}
    analysis = analyse(twice, "scoring")
    page, named = (class_page("", [analysis], names) for names in (False, True))
    for text in (page, named):
        assert "Cohen" in text
        assert "ada: 6" in text
    assert study.different[0].student not in page
    assert study.different[0].student in named


@pytest.mark.parametrize(
    ("pairs", "kappa"),
    [
        ([(1, 1)] * 20 + [(1, 0)] * 5 + [(0, 1)] * 10 + [(0, 0)] * 15, 0.4),  # p_o = 0.7, p_e = 0.5
        ([(1, 1)] * 45 + [(1, 0)] * 15 + [(0, 1)] * 25 + [(0, 0)] * 15, 3 / 23),  # p_o = 0.6, p_e = 0.54
        ([(0, 0), (1, 1), (2, 2)], 1.0),
        ([(0, 1), (1, 0)], -1.0),  # p_o = 0, p_e = 1/2
        ([(0, 0), (1, 2), (2, 2), (0.5, 0.5)], 2 / 3),  # p_o = 3/4, p_e = (1 + 0 + 2 + 1) / 16
        ([(1, 1), (1, 1)], None),
        ([], None),
    ],
)
def test_kappa_is_as_worked_by_hand(pairs, kappa):
    agreement = cohens_kappa(pairs)
    assert agreement == (kappa if kappa is None else pytest.approx(kappa))
