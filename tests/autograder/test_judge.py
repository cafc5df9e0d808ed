"""Right values earn their points in any style, wrong ones lose them and get their hint, and nothing makes it fall over."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder import judge
from autograder.sandbox import Reply, wire
from tests.autograder.samples import (
    NAMES,
    TOPICS,
    exercise_named,
    module_of,
    over_the_wire,
    plain_values,
    reference_of,
    replies_of,
    topic_exercises,
    versions_of,
)

each_exercise = pytest.mark.parametrize("name", NAMES)
MISTAKES = [(n, m) for n in NAMES for m in exercise_named(n).hints]
EQUIVALENTS = [
    (n, e) for n in NAMES for e in versions_of(module_of("tests.submissions", n), exercise_named(n))
]  # fmt: skip


def verdict_on(exercise, replies):
    (verdict,) = judge.judge([exercise], replies)
    assert verdict.exercise == exercise.name
    assert verdict.points == exercise.points
    assert 0 <= verdict.earned <= verdict.points
    assert sum(part.earned for part in verdict.parts) == pytest.approx(verdict.earned)
    assert all(bool(part.reason) == (part.earned < part.points) for part in verdict.parts)
    return verdict


def same_reply(exercise, reply):
    return {(exercise.name, number): reply for number in range(len(exercise.hidden))}


def words_of(verdict):
    return [*(part.reason for part in verdict.parts), *verdict.hints]


def digits_of(expected):
    """The expected values of a case, as a student would have to read them to copy them."""
    if isinstance(expected, dict):
        return [text for item in expected.values() for text in digits_of(item)]
    if isinstance(expected, tuple):
        return [str(expected), str(list(expected))]
    return [f"{number:.6g}" for number in np.ravel(expected) if len(f"{number:.6g}") > 4]


@each_exercise
def test_the_reference_earns_all_points_without_a_word(name):
    exercise = exercise_named(name)
    verdict = verdict_on(exercise, replies_of(reference_of(exercise), exercise))
    assert verdict.earned == verdict.points
    assert not any(words_of(verdict))


@pytest.mark.parametrize(("name", "version"), EQUIVALENTS, ids=[version for _, version in EQUIVALENTS])
@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.filterwarnings("ignore:Converting a tensor with requires_grad")
def test_a_right_answer_in_another_style_earns_all_points(name, version, seed):
    exercise = exercise_named(name, seed)
    function = getattr(module_of("tests.submissions", name), version)
    assert verdict_on(exercise, replies_of(function, exercise)).earned == exercise.points


@pytest.mark.parametrize(("name", "mistake"), MISTAKES, ids=[mistake for _, mistake in MISTAKES])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_mistake_loses_points_and_gets_its_own_hint(name, mistake):
    exercise = exercise_named(name)
    function = getattr(module_of("solutions.mistakes", name), mistake)
    verdict = verdict_on(exercise, replies_of(function, exercise))
    assert verdict.earned < verdict.points
    assert any(exercise.hints[mistake] in hint for hint in verdict.hints)


@pytest.mark.parametrize(("name", "mistake"), MISTAKES, ids=[mistake for _, mistake in MISTAKES])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_no_reason_and_no_hint_contains_an_expected_value(name, mistake):
    exercise = exercise_named(name)
    replies = replies_of(getattr(module_of("solutions.mistakes", name), mistake), exercise)
    words = words_of(verdict_on(exercise, replies))
    own = [x for reply in replies.values() for x in numbers_in(reply.value)]
    returned = {f"{x:.6g}" for x in own} | {f"{abs(x):.6g}" for x in own}
    for case in exercise.hidden:
        assert not [d for d in digits_of(case.expected) if d not in returned and any(d in text for text in words)]


def numbers_in(value):
    if isinstance(value, dict):
        return [x for item in value.values() for x in numbers_in(item)]
    return np.ravel(value) if isinstance(value, (list, tuple, float, np.number, np.ndarray)) else []


@each_exercise
@pytest.mark.parametrize("raised", ["NotImplementedError", "missing", "CellTimeout", "ZeroDivisionError", "no reply"])
def test_an_exercise_that_raised_earns_nothing_and_says_why(name, raised):
    exercise = exercise_named(name)
    verdict = verdict_on(exercise, same_reply(exercise, Reply(raised=raised, line=3)))
    assert verdict.earned == 0
    wanted = judge.RAISED.get(raised, f"It raised {raised} in line 3 of its cell")
    assert all(wanted in part.reason for part in verdict.parts)


@each_exercise
def test_an_exercise_without_replies_earns_nothing(name):
    exercise = exercise_named(name)
    assert verdict_on(exercise, {}).earned == 0


def entries(weird, exercise):
    expected = exercise.hidden[0].expected
    return dict.fromkeys(expected, weird) if isinstance(expected, dict) else {"": weird}


WEIRD = {
    "nothing": None,
    "text": "42",
    "true": True,
    "other": wire.Other("function"),
    "a list of others": [wire.Other("function"), wire.Other("Tensor")],
    "a huge number": 2**63 - 1,
    "huge numbers": [2**63 - 1] * 3,
    "nan": float("nan"),
    "infinite": float("-inf"),
    "an empty list": [],
    "an empty dict": {},
    "ragged": [[1.0], [1.0, 2.0]],
    "a dict of a dict": {"": {"": 1.0}},
    "a list of dicts": [{"a": 1.0}, 1.0],
    "nested": [[[[[[[[1.0]]]]]]]],
    "no numbers": np.zeros((0, 3)),
    "truth values": np.ones((2, 3), dtype=bool),
}


@each_exercise
@pytest.mark.parametrize("weird", WEIRD.values(), ids=WEIRD)
def test_a_weird_value_earns_nothing(name, weird):
    exercise = exercise_named(name)
    for value in (weird, entries(weird, exercise), list(entries(weird, exercise).values())):
        verdict = verdict_on(exercise, same_reply(exercise, Reply(value=value)))
        assert verdict.earned == 0


@each_exercise
@pytest.mark.parametrize("number", [np.nan, np.inf, -1e308, 0.0])
def test_an_array_of_the_right_shape_full_of_one_number_earns_nothing(name, number):
    exercise = exercise_named(name)
    replies = {}
    for n, case in enumerate(exercise.hidden):
        full = over_the_wire(np.full(np.shape(case.expected), number))
        value = entries(full, exercise) if isinstance(case.expected, dict) else full
        replies[exercise.name, n] = Reply(value=value)
    assert verdict_on(exercise, replies).earned == 0


@pytest.mark.parametrize("name", ["scoring-alignment_parameters", "scoring-scores_by_hand"])
def test_a_value_inside_another_that_cannot_cross_is_called_by_its_own_name(name):
    exercise = exercise_named(name)
    for value in (entries(wire.Other("function"), exercise), [wire.Other("function")] * 2):
        words = words_of(verdict_on(exercise, same_reply(exercise, Reply(value=value))))
        assert not any("Other" in text for text in words)


@each_exercise
@given(value=plain_values())
def test_no_value_that_crosses_the_boundary_raises(name, value):
    exercise = exercise_named(name)
    value = over_the_wire(value)
    for sent in (value, entries(value, exercise)):
        verdict_on(exercise, same_reply(exercise, Reply(value=sent)))


@each_exercise
@given(data=st.data())
def test_every_mixture_of_right_and_missing_replies_earns_between_none_and_all(name, data):
    exercise = exercise_named(name)
    replies = replies_of(reference_of(exercise), exercise)
    kept = {key: reply for key, reply in replies.items() if data.draw(st.booleans())}
    verdict = verdict_on(exercise, kept)
    assert (verdict.earned == exercise.points) == (len(kept) == len(replies))


@pytest.mark.parametrize("topic", TOPICS)
def test_verdicts_come_in_the_order_of_the_exercises(topic):
    asked = topic_exercises(topic)
    assert [verdict.exercise for verdict in judge.judge(asked, {})] == [exercise.name for exercise in asked]


@pytest.mark.parametrize("topic", TOPICS)
def test_a_written_answer_is_left_to_a_person(topic):
    for exercise, verdict in zip(topic_exercises(topic), judge.judge(topic_exercises(topic), {}), strict=True):
        assert (verdict.earned is None) == (exercise.kind == "text")


def test_two_mistakes_in_different_parts_get_both_hints():
    exercise = exercise_named("scoring-alignment_parameters")

    def both(m, n):
        return {"W_query": (n, m), "W_key": (m, n), "v": (n,)}

    verdict = verdict_on(exercise, replies_of(both, exercise))
    assert verdict.earned == 0.5
    assert len(verdict.hints) == 2


def test_replies_to_another_exercise_count_for_nothing():
    exercise, other = map(exercise_named, ("scoring-additive_shapes", "scoring-multiplicative_shapes"))
    assert verdict_on(exercise, replies_of(reference_of(other), other)).earned == 0


def test_a_mistake_that_returns_no_dict_is_recognised():
    exercise = exercise_named("scoring-alignment_parameters")
    name = "alignment_parameters__no_dict"
    cases = tuple(
        dataclasses.replace(case, mistaken={name: type(case.mistaken[next(iter(case.mistaken))])((7, 7))})
        for case in exercise.cases
    )
    exercise = dataclasses.replace(exercise, hints={name: "Return a dict."}, cases=cases)
    for value in ((7, 7), {"W_query": (7, 7)}):
        verdict_on(exercise, same_reply(exercise, Reply(value=value)))
    assert verdict_on(exercise, same_reply(exercise, Reply(value=(7, 7)))).hints == ("Return a dict.",)
