"""When criteria change after marking, the marks that would move are listed, and none moves before a person agrees."""

import contextlib
import json
import signal
from dataclasses import replace

import pytest

from autograder.gradebook.provenance import GivenMark, load_given, record_given
from autograder.marking import cli
from autograder.marking import session as sessions
from autograder.marking.answers import CurrentMark, load_answers, load_scheme
from autograder.marking.criteria import carry_over, hash_moves
from autograder.marking.session import ClientState, Conflict, CriteriaRequest, MarkRequest, Session
from solutions.answer_key import Criterion
from tests.autograder.essays import ANSWERS, ESSAY, KEYS, SIGN, enrol, essays
from tests.autograder.marking.test_marking import GOOD, ask, by_hand, group_of, in_gradebook, page_data, served

pytestmark = pytest.mark.suite("assignments")

ONE, TWO, THREE = (
    Criterion(points=points, text=text, comment=f"Why {text}?") for points, text in ((1, "a"), (0.5, "b"), (0.5, "c"))
)


@pytest.fixture
def course(released, tmp_path):
    """A course in which two answers have 1.5 points, one has 0.7 of the marker's own, and a fourth is unmarked."""
    course = essays(released, tmp_path)
    enrol(course, "id,name,section\nada_king,Ada King,A\nben_ito,Ben Ito,B\n")
    session = Session(course, "scoring", "what_to_recompute")
    missed = session.scheme.criteria[2].comment
    session.mark(MarkRequest(group_of(session, KEYS), 1.5, f"{missed}\nNearly."))
    session.mark(MarkRequest(group_of(session, SIGN), 0.7, "My own points."))
    return course


@pytest.fixture
def change(course, monkeypatch):
    """Return a function that replaces the question's criteria, and the original criteria."""
    scheme = load_scheme(course, "scoring", "what_to_recompute")

    def change(*criteria):
        monkeypatch.setattr(sessions, "load_scheme", lambda *where: replace(scheme, criteria=criteria))

    return change, scheme.criteria


def sit(course, section=None, names=True, marker=""):
    only = course.plan().select_sections([section] if section else None)
    return Session(course, "scoring", "what_to_recompute", names, only, marker)


def decide(session, move):
    return session.settle_moves(CriteriaRequest(hash_moves(session.find_moves()), move))


def test_changed_points_of_a_criterion_show_whose_marks_they_move_and_move_them_when_told(course, change):
    change, (first, second, third) = change
    before, text = in_gradebook(course), {answer.student: answer.text for answer in sit(course).answers()}
    change(replace(first, points=0.5), second, replace(third, points=1))
    session = sit(course)
    page = session.page()
    assert "Ada King (ada_king)</th><td>1.5</td><td>1</td>" in page
    assert "Ben Ito (ben_ito)</th><td>1.5</td><td>1</td>" in page
    assert "cem_kaya" not in page  # has points of the marker's own
    assert text["ada_king"] not in page  # marking is blocked until the decision
    assert in_gradebook(course) == before
    assert decide(session, True) == {"moved": 2}
    after = in_gradebook(course)
    assert after["ada_king"] == after["ben_ito"] == (1.0, False, before["ada_king"][2])
    assert {name: after[name] for name in ("cem_kaya", "dora_lee")} == {
        name: before[name] for name in ("cem_kaya", "dora_lee")
    }
    assert 'id="moves"' not in session.page()
    assert sit(course).find_moves() == []


def test_a_session_of_one_section_sees_and_moves_only_its_marks(course, change):
    change, (first, second, third) = change
    change(replace(first, points=0.5), second, replace(third, points=1))
    session = sit(course, "A")
    assert "Ada King" in session.page()
    assert "Ben Ito" not in session.page()
    assert [line for line in session.describe_moves() if "Ben" in line] == []
    assert decide(session, True) == {"moved": 1}
    assert (in_gradebook(course)["ada_king"][0], in_gradebook(course)["ben_ito"][0]) == (1.0, 1.5)
    assert 'id="moves"' not in session.page()
    session.mark(MarkRequest(group_of(session, ANSWERS["ada_king"]), 2))  # is not kept waiting by the other section
    other = sit(course, "B")
    assert [move[0].student for move in other.find_moves()] == ["ben_ito"]
    with pytest.raises(Conflict, match="criteria have changed"):
        other.mark(MarkRequest((ClientState("x", "x"),), 1))
    assert decide(other, True) == {"moved": 1}
    assert in_gradebook(course)["ben_ito"][0] == 1.0
    assert in_gradebook(course)["ada_king"][0] == 2.0
    assert sit(course).find_moves() == []


def test_marks_that_nobody_has_decided_on_follow_a_second_change_from_where_they_began(course, change):
    change, (first, second, third) = change
    change(replace(first, points=0.5), second, replace(third, points=1))
    decide(sit(course, "A"), True)
    change(replace(first, points=0.75), second, replace(third, points=0.75))
    assert [(move[0].student, move[0].held.points, move[1].points) for move in sit(course).find_moves()] == [
        ("ada_king", 1.0, 1.25),
        ("ben_ito", 1.5, 1.25),
    ]
    change(first, second, third)
    assert [move[0].student for move in sit(course).find_moves()] == ["ada_king"]


def test_without_names_the_moves_name_nobody_and_are_counted(course, change):
    change, (first, second, third) = change
    change(replace(first, points=0.5), second, replace(third, points=1))
    session = sit(course, names=False)
    page = session.page()
    assert "2 answers</th><td>1.5</td><td>1</td>" in page
    assert [line for line in [page, *session.describe_moves()] if "Ada" in line or "ada_king" in line] == []
    assert "  2 answers: 1.5 → 1" in session.describe_moves()


def test_marks_that_are_left_stay_and_the_question_is_not_asked_again(course, change):
    change, (first, second, third) = change
    before = in_gradebook(course)
    change(replace(first, points=0.5), second, replace(third, points=1))
    assert decide(sit(course), False) == {"moved": 0}
    assert in_gradebook(course) == before
    assert sit(course).find_moves() == []


def test_an_added_criterion_lets_the_answers_wait_and_a_removed_one_takes_its_points(course, change):
    change, (first, _second, third) = change
    added = Criterion(points=0.5, text="Names the keys.", comment="Which keys?")
    change(first, replace(third, comment="Why not reuse the tanh?"), added)
    session = sit(course)
    assert [line for line in session.describe_moves() if "ada" in line] == [
        "  Ada King (ada_king): 1.5 → 1, waits for another look"
    ]
    decide(session, True)
    comment = "Why not reuse the tanh?\nWhich keys?\nNearly."
    assert in_gradebook(course)["ada_king"] == (1.0, True, comment)
    (group,) = [candidate for candidate in page_data(session.page())["groups"] if candidate["points"] == 1]
    assert group["waiting"]


def test_nothing_can_be_marked_before_the_decision_or_from_a_page_with_the_old_criteria(course, change):
    change, (first, second, third) = change
    old = sit(course)
    seen = group_of(old, SIGN)
    change(replace(first, points=0.5), second, replace(third, points=1))
    new = sit(course)
    with pytest.raises(Conflict, match="criteria have changed"):
        new.mark(MarkRequest(seen, 1))
    decide(new, True)
    with pytest.raises(Conflict, match="criteria have changed"):
        old.mark(MarkRequest(seen, 1))
    assert in_gradebook(course)["cem_kaya"][0] == 0.7
    new.mark(MarkRequest(group_of(new, SIGN), 1))


def test_a_decision_on_marks_that_somebody_else_has_changed_since_is_refused(course, change):
    change, (first, second, third) = change
    change(replace(first, points=0.5), second, replace(third, points=1))
    session = sit(course)
    seen = hash_moves(session.find_moves())
    by_hand(course, "ada_king", 2.0)
    with pytest.raises(Conflict, match="changed in the meantime"):
        session.settle_moves(CriteriaRequest(seen, True))
    assert in_gradebook(course)["ben_ito"][0] == 1.5
    assert decide(session, True) == {"moved": 1}  # the other answer now meets all criteria, whatever they are worth


@pytest.mark.parametrize(
    ("number", "again"), [(0, {"points": 0.75}), (2, {"comment": "Which?"}), (2, {"text": "New.", "comment": "Which?"})]
)
def test_a_decision_on_criteria_that_have_changed_once_more_since_is_refused(course, change, number, again):
    change, (first, second, third) = change
    before = in_gradebook(course)
    criteria = [replace(first, points=0.5), second, replace(third, points=1)]
    change(*criteria)
    session = sit(course)
    seen = hash_moves(session.find_moves())
    criteria[number] = replace(criteria[number], **again)
    change(*criteria)
    assert len(sit(course).find_moves()) == 2  # of the same marks
    with pytest.raises(Conflict, match="changed in the meantime"):
        session.settle_moves(CriteriaRequest(seen, True))
    assert in_gradebook(course) == before


@pytest.mark.parametrize(("move", "points"), [(True, 1), (False, 1.5)])
def test_the_record_of_who_marked_has_the_points_after_the_decision(course, change, move, points):
    change, (first, second, third) = change
    (course.root / "course.toml").write_text('markers = ["ada", "ben"]\n', encoding="utf-8")
    with contextlib.closing(Session(course, "scoring", "what_to_recompute", marker="ada")) as ada:
        ada.page()
        (mine,) = [answer for answer in load_answers(course, "scoring", ESSAY) if answer.student == "ada_king"]
        given = GivenMark("ada_king", "ada", mine.held.points, mine.held.comment or "")
        record_given(course, "scoring", ESSAY, [given])
    change(replace(first, points=0.5), second, replace(third, points=1))
    decide(sit(course), move)
    mark = load_given(course, "scoring", ESSAY)["ada_king"]
    assert (mark.marker, mark.points) == ("ada", points)
    assert in_gradebook(course)["ada_king"][0] == points


def test_the_command_says_whose_marks_would_move_before_it_serves_the_page(course, change, monkeypatch):
    change, (first, second, third) = change
    change(replace(first, points=0.5), second, replace(third, points=1))

    @contextlib.contextmanager
    def serve(session, token, port):
        signal.raise_signal(signal.SIGINT)
        yield "http://127.0.0.1:1/"

    monkeypatch.setattr(cli, "serve", serve)
    lines = []
    cli.run_server(sit(course), 0, False, lines.append)
    assert lines[:4] == [
        f"The criteria of {ESSAY} have changed since these marks were given:",
        "  Ada King (ada_king): 1.5 → 1",
        "  Ben Ito (ben_ito): 1.5 → 1",
        "Nothing changes until you decide on the page.",
    ]
    assert lines[4].startswith("Mark here: ")


def test_a_decision_needs_the_token_and_the_form_of_one(course, change):
    change, (first, second, third) = change
    change(replace(first, points=0.5), second, replace(third, points=1))
    session = sit(course)
    body = json.dumps({"seen": hash_moves(session.find_moves()), "move": True})
    with served(session) as address:
        assert ask(address, "/criteria", "POST", body, **GOOD | {"X_Marking_Token": "x"})[0] == 403
        assert ask(address, "/criteria", "POST", '{"move": true}', **GOOD)[0] == 400
        assert ask(address, "/criteria", "POST", json.dumps({"seen": "x", "move": True}), **GOOD)[0] == 409
        assert in_gradebook(course)["ada_king"][0] == 1.5
        assert ask(address, "/criteria", "POST", body, **GOOD)[0] == 200
    assert in_gradebook(course)["ada_king"][0] == 1


@pytest.mark.parametrize(
    ("held", "now", "after"),
    [
        ((1.5, "Why c?"), (ONE, TWO, THREE), (1.5, False, "Why c?")),
        ((1.5, "Why c?"), (TWO, ONE, THREE), (1.5, False, "Why c?")),  # the order does not matter
        ((0.5, "Own.\nWhy a?\nWhy c?"), (THREE, TWO, ONE), (0.5, False, "Own.\nWhy a?\nWhy c?")),
        ((1.5, "Why c?"), (replace(ONE, points=1.5), TWO), (2.0, False, None)),
        ((1.5, "Why c?"), (ONE, TWO, replace(THREE, text="d")), (1.5, False, "Why c?")),  # matched by its comment
        ((1.5, "Why c?"), (ONE, TWO, replace(THREE, comment="How?")), (1.5, False, "How?")),  # matched by its text
        ((1.5, "Why c?"), (ONE, TWO, replace(THREE, text="d", comment="How?")), (1.5, True, "How?")),  # a new criterion
        # the text counts before the comment: the comments of two criteria were exchanged
        (
            (1.5, "Why c?"),
            (ONE, replace(TWO, comment=THREE.comment), replace(THREE, comment=TWO.comment)),
            (1.5, False, "Why b?"),
        ),
        ((1.2, "Why c?"), (replace(ONE, points=1.5), TWO), (1.2, False, "Why c?")),  # points of the marker's own
        ((None, "Later."), (replace(ONE, points=1.5), TWO), (None, False, "Later.")),
    ],
)
def test_marks_are_carried_over_by_the_criteria_that_were_met(held, now, after):
    points, comment = held
    assert carry_over(CurrentMark(points, False, comment), (ONE, TWO, THREE), now) == CurrentMark(*after)
