"""Every marker gets a fair share of each question, the same on every machine, and keeps it."""

from collections import Counter

from autograder.courses.plan import Marker
from autograder.marking.shares import share_answers, share_second_marking, shuffle_students

CLASS = {f"student{number:03}": "ABCD"[number % 4] for number in range(100)}
TEAM = {"ada": Marker(sections=("A",)), "ben": Marker(), "cem": Marker(), "dora": Marker()}
QUESTION = "scoring-what_to_recompute"


def test_a_section_goes_to_its_marker_and_the_rest_is_shared_fairly():
    shares = share_answers(CLASS, TEAM, QUESTION)
    assert {student for student, name in shares.items() if name == "ada"} == {s for s in CLASS if CLASS[s] == "A"}
    assert Counter(shares.values()) == {"ada": 25, "ben": 25, "cem": 25, "dora": 25}


def test_shares_are_the_same_whatever_the_order_and_others_for_another_question():
    shares = share_answers(CLASS, TEAM, QUESTION)
    assert share_answers(dict(reversed(CLASS.items())), dict(reversed(TEAM.items())), QUESTION) == shares
    assert share_answers(CLASS, TEAM, "scoring-race") != shares
    names = [shares[student] for student in sorted(CLASS) if CLASS[student] != "A"]
    assert len(set(names[:6])) > 1  # random, not alphabetical


def test_two_markers_of_one_section_share_it():
    team = {"ada": Marker(sections=("A",)), "ben": Marker(sections=("A", "B"))}
    shares = share_answers(CLASS, team, QUESTION)
    counts = Counter((CLASS[student], name) for student, name in shares.items())
    assert set(counts) <= {("A", "ada"), ("A", "ben"), ("B", "ben")}
    assert counts["B", "ben"] == 25
    assert counts["A", "ada"] + counts["A", "ben"] == 25


def test_what_nobody_is_named_for_is_in_no_share():
    shares = share_answers(CLASS, {"ada": Marker(sections=("A",))}, QUESTION)
    assert {CLASS[student] for student in shares} == {"A"}


def test_a_late_answer_moves_nobody_elses():
    shares = share_answers(CLASS, TEAM, QUESTION)
    more = share_answers(CLASS | {"zoe": "B", "yuri": "B", "xena": "B"}, TEAM, QUESTION, shares)
    assert {student: more[student] for student in CLASS} == shares
    assert Counter(more.values()) == {"ada": 25, "ben": 26, "cem": 26, "dora": 26}


def test_a_marker_who_leaves_leaves_the_share_to_the_others():
    shares = share_answers(CLASS, TEAM, QUESTION)
    team = {name: marker for name, marker in TEAM.items() if name != "dora"}
    after = share_answers(CLASS, team, QUESTION, shares)
    assert all(after[student] == name for student, name in shares.items() if name != "dora")
    assert sorted(Counter(after.values()).values()) == [25, 37, 38]


def test_the_second_marking_is_a_random_sample_by_somebody_else():
    shares = share_answers(CLASS, TEAM, QUESTION)
    second = share_second_marking(shares, CLASS, list(TEAM), QUESTION, 20)
    assert len(second) == 20
    assert all(name != shares[student] for student, name in second.items())
    assert max(Counter(second.values()).values()) - min(Counter(second.values()).values()) <= 1
    assert second == share_second_marking(shares, sorted(CLASS, reverse=True), list(TEAM), QUESTION, 20)
    assert share_second_marking(shares, CLASS, list(TEAM), QUESTION, 0) == {}
    assert share_second_marking(shares, list(CLASS)[:3], list(TEAM), QUESTION, 1).keys() < CLASS.keys()


def test_a_second_marking_that_was_begun_stays():
    shares = share_answers(CLASS, TEAM, QUESTION)
    second = share_second_marking(shares, CLASS, list(TEAM), QUESTION, 20)
    smaller = share_second_marking(shares, CLASS, list(TEAM), QUESTION, 5, second)
    assert smaller == second


def test_the_order_by_chance_depends_on_names_only():
    assert shuffle_students(CLASS, QUESTION) == shuffle_students(sorted(CLASS, reverse=True), QUESTION) != sorted(CLASS)
