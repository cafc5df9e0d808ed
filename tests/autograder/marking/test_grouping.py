"""Similar answers are placed together, unmarked ones first."""

import itertools

import pytest

from autograder.marking.answers import Answer, CurrentMark
from autograder.marking.grouping import group_similar, normalise

SAID = "The projected keys are the same at every step of the decoder, so they are kept."
ALMOST = "The projected keys are the same at every step of the decoder, so we keep them."
OTHER = "Because of the tanh."
DONE = CurrentMark(1.0, False, None)


def answers(*texts, held=()):
    return [
        Answer(f"student {n}", "", "", text, h or CurrentMark())
        for n, (text, h) in enumerate(itertools.zip_longest(texts, held))
    ]


def order(student_answers):
    return [group.answers[0].text for group in group_similar(student_answers, key=lambda answer: answer.student)]


@pytest.mark.parametrize(
    "text",
    [
        SAID.lower(),
        SAID.replace(" ", "\n "),
        SAID.replace(",", ""),
        SAID.rstrip("."),
        f'"{SAID}"',
        f"  {SAID.upper()}!",
    ],
)
def test_case_layout_and_signs_at_the_edges_of_words_make_no_other_answer(text):
    (group,) = group_similar(answers(SAID, text), key=lambda answer: answer.student)
    assert len(group.answers) == 2
    assert group.answers[1].text == text


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("W + w", "W + W"),
        ("W + w", "W - w"),
        ("a(b)", "ab"),
        ("0.5", "05"),
        ("T_x", "t_x"),
        ("not so", "so"),
        ("-1", "1"),
        ("It is -x", "It is x"),
    ],
)
def test_what_may_mean_another_thing_is_another_answer(first, second):
    assert normalise(first) != normalise(second)
    assert len(group_similar(answers(first, second), key=lambda answer: answer.student)) == 2


def test_a_word_of_very_many_signs_holds_nobody_up():
    signs = "." * 1_000_000  # an answer may be this long; quadratic time would take hours
    assert normalise(f"a{signs}a {signs} b{signs}") == f"a{signs}a b"


@pytest.mark.parametrize("texts", list(itertools.permutations([SAID, OTHER, ALMOST])))
def test_near_identical_answers_stand_next_to_each_other_and_say_so(texts):
    groups = group_similar(answers(*texts), key=lambda answer: answer.student)
    places = [group.answers[0].text for group in groups]
    assert abs(places.index(SAID) - places.index(ALMOST)) == 1
    assert [group.near for group in groups].count(True) == 1
    assert groups[max(places.index(SAID), places.index(ALMOST))].near


def test_what_waits_comes_first_and_then_what_is_frequent():
    texts = [OTHER, "one", "two", "two", SAID]
    assert order(answers(*texts, held=(DONE, None, None, None, DONE))) == ["two", "one", OTHER, SAID]


def test_like_answers_with_other_marks_are_apart():
    held = (CurrentMark(), DONE, CurrentMark(2.0, False, None), CurrentMark(1.0, False, "Well said."), DONE)
    groups = group_similar(answers(*[SAID] * 5, held=held), key=lambda answer: answer.student)
    assert sorted(len(group.answers) for group in groups) == [1, 1, 1, 2]
    assert groups[0].waiting


def test_the_order_says_nothing_of_who_it_is_but_what_the_key_says():
    student_answers = answers("one", "two", "three", "four")
    backwards = group_similar(student_answers, key=lambda answer: answer.student[::-1])
    assert {group.answers[0].text for group in backwards} == {"one", "two", "three", "four"}
    ordered = [
        group.answers[0].text
        for group in group_similar(student_answers, key=lambda answer: f"{len(answer.text)}{answer.text}")
    ]
    assert ordered == ["one", "two", "four", "three"]


def test_a_large_class_and_no_class_are_arranged_too():
    assert group_similar([], key=str) == []
    student_answers = answers(*(f"{SAID} {number % 400} {'' if number % 3 else 'x'}" for number in range(1200)))
    groups = group_similar(student_answers, key=lambda answer: answer.student)
    assert sum(len(group.answers) for group in groups) == 1200
    assert sum(group.near for group in groups) == len(groups) - 1


@pytest.mark.parametrize(("common", "near"), [(6, True), (5, False)])
def test_answers_are_near_from_six_tenths_of_their_words_on(common, near):
    shared = [f"word{chr(97 + n)}" for n in range(common)]
    first, second = " ".join([*shared, *(["mine"] if common == 6 else ["mine", "alone"])]), None
    rest = 10 - len(first.split())
    second = " ".join([*shared, *(f"other{chr(97 + n)}" for n in range(rest))])
    assert len({*first.split(), *second.split()}) == 10
    groups = group_similar(answers(first, second), key=lambda answer: answer.student)
    assert [group.near for group in groups] == [False, near]
