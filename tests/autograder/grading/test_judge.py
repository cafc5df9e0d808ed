"""Right values earn points in any style, wrong ones lose them and get a hint, and no value crashes the judge."""

import ast
import contextlib
import dataclasses
import itertools
import re
from functools import cache
from operator import methodcaller
from types import SimpleNamespace

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from autograder.audit import calls
from autograder.audit.held_out import read_answers
from autograder.exercises import SHAPE_DRAWS, UNREADABLE, Outcome, compare, compile_steps, reference_of
from autograder.exercises.case_labels import is_large
from autograder.feedback import pages
from autograder.grading import judge
from autograder.grading.values import JudgedCase
from autograder.sandbox import Reply, wire
from tests.autograder.answers import digits_of, numbers_in
from tests.autograder.samples import (
    ENTRIES,
    EVERY_KIND,
    NAMES,
    NO_NUMBERS,
    RIGHT,
    SAME_DICTS,
    SAME_NUMBERS,
    SAME_SHAPES,
    TOPICS,
    exercise_named,
    module_of,
    over_the_wire,
    plain_values,
    replies_of,
    right_replies,
    sample,
    topic_exercises,
    versions_of,
)

pytestmark = pytest.mark.slow

each_topic = pytest.mark.parametrize("topic", TOPICS)
ALIKE = "the judge looks at the kind of an exercise, never at its topic"
each_kind_of_topic = pytest.mark.parametrize("topic", sample(TOPICS, EVERY_KIND, ALIKE))


def sampled(name, *others):
    """Return the parameters of a test of the exercise ``name``, which only a full run tries for topics not in EVERY_KIND."""
    return pytest.param(name, *others, marks=() if name.split("-")[0] in EVERY_KIND else pytest.mark.full(ALIKE))


def verdict_on(exercise, replies):
    (verdict,) = judge.judge([exercise], replies)
    assert verdict.exercise == exercise.name
    assert verdict.points == exercise.points
    assert 0 <= verdict.earned <= verdict.points
    assert sum(part.earned for part in verdict.parts) == pytest.approx(verdict.earned)
    assert all(bool(part.reason) == (part.earned < part.points) for part in verdict.parts)
    return verdict


@cache
def called_exercises(topic):
    """Return the exercises of ``topic`` that are called, each with only a few of its hidden cases."""
    called = []
    for exercise in topic_exercises(topic):
        if exercise.is_called:
            first = {case.part: case for case in reversed(exercise.hidden) if not case.also}
            chosen = [case for case in exercise.hidden if first.get(case.part) is case]
            if exercise.kind == "shape":
                chosen = list(exercise.hidden[:SHAPE_DRAWS])
            cases = (*chosen, exercise.hidden[-1]) if exercise.kind == "code" else tuple(chosen)
            called.append(dataclasses.replace(exercise, cases=cases))
    return called


def same_reply(exercise, reply):
    return {(exercise.name, number): reply for number in range(len(exercise.hidden))}


def words_of(verdict):
    return [*(part.reason for part in verdict.parts), *verdict.hints]


def test_the_topics_that_every_run_tries_have_exercises_of_every_kind():
    def kinds(topics):
        of_topics = [exercise for topic in topics for exercise in topic_exercises(topic)]
        asked = {
            (e.kind, e.in_torch, isinstance(e.hidden[0].expected, dict) if e.is_called else None) for e in of_topics
        }
        followed = {bool(e.follows) for e in of_topics}
        return (
            asked,
            followed,
            {group for e in of_topics for group in GROUPS if e.kind == "code" and is_told_by(group, e)},
        )

    assert kinds(EVERY_KIND) == kinds(TOPICS)


@each_kind_of_topic
@pytest.mark.parametrize("raised", ["NotImplementedError", "missing", "CellTimeout", "ZeroDivisionError", "no reply"])
def test_an_exercise_that_raised_earns_nothing_and_says_why(topic, raised):
    for exercise in called_exercises(topic):
        verdict = verdict_on(exercise, same_reply(exercise, Reply(raised=raised, line=3)))
        assert verdict.earned == 0, exercise.name
        wanted = judge.REASONS_BY_EXCEPTION.get(raised, f"it raised {raised} on line 3 of its cell")
        assert all(wanted.lower() in part.reason.lower() for part in verdict.parts)


@pytest.mark.parametrize("raised", judge.REASONS_BY_EXCEPTION)
def test_mistakes_are_not_searched_for_an_exercise_that_gave_no_result(raised, monkeypatch):
    exercise = exercise_named("scoring-additive_score")
    monkeypatch.delattr(judge, "_match_mistake")
    assert verdict_on(exercise, same_reply(exercise, Reply(raised=raised))).hints == ()
    (hint,) = verdict_on(exercise, same_reply(exercise, Reply(raised=raised, module="scipy"))).hints
    assert hint.startswith("It needs scipy")
    others = same_reply(exercise, Reply(raised="ValueError"))
    with pytest.raises(NameError, match="_match_mistake"):  # if a single case gave no result, they are
        verdict_on(exercise, others | {(exercise.name, 0): Reply(raised=raised)})


def test_what_raised_is_quoted_with_its_line():
    exercise = exercise_named("scoring-additive_score")
    reply = Reply(raised="ValueError", line=3, text="return query @ keys")
    verdict = verdict_on(exercise, same_reply(exercise, reply))
    assert "it raised ValueError on line 3 of its cell: return query @ keys." in verdict.parts[0].reason


@each_kind_of_topic
def test_an_exercise_without_replies_earns_nothing(topic):
    assert [e.name for e in called_exercises(topic) if verdict_on(e, {}).earned] == []


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        *(("code", value, RIGHT) for value in (*SAME_NUMBERS.values(), *NO_NUMBERS.values())),
        *(("shape", value, (2, 3)) for value in SAME_SHAPES.values()),
        *(("shape", value, {"a": (2,), "b": (3,)}) for value in SAME_DICTS.values()),
    ],
    ids=[*SAME_NUMBERS, *NO_NUMBERS, *SAME_SHAPES, *SAME_DICTS],
)
def test_what_comes_out_of_the_sandbox_is_judged_as_the_check_in_the_notebook_judges_it(kind, value, expected):
    called, _ = compare.call_case(lambda: value, {})
    here, there = (compare.mismatches(each, expected, kind, 1e-9) for each in (called, over_the_wire(called)))
    assert {entry: bool(reason) for entry, reason in here.items()} == {e: bool(r) for e, r in there.items()}
    assert not (judge._is_exactly_right(over_the_wire(called), expected, 1e-9) and any(there.values()))


OFF = st.sampled_from([0.0, 4e-7, -9e-7, 2e-6, -1.0, np.nan, np.inf, -np.inf])


@given(
    right=hnp.arrays(
        float, hnp.array_shapes(max_dims=2, max_side=3), elements=st.sampled_from([0.0, -2.5, 1e9, np.inf])
    ),
    data=st.data(),
)
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_what_is_taken_for_right_at_a_glance_has_no_reason_and_what_has_none_is_seen_at_a_glance(right, data):
    value = right + data.draw(hnp.arrays(float, right.shape, elements=OFF))
    for mine, wanted in ((value, right), ({"a": value, "b": right, "more": 1}, {"a": right, "b": right})):
        has_reason = any(compare.mismatches(mine, wanted, "code", 1e-6).values())
        assert judge._is_exactly_right(mine, wanted, 1e-6) == (not has_reason and bool(np.isfinite(right).all()))


@pytest.mark.parametrize(
    ("value", "expected"),
    [((2, 3), (2, 3)), ({"a": (2,), "b": (3,)}, {"a": (2,), "b": (3,)})],
    ids=["a shape", "two shapes"],
)
def test_a_shape_is_seen_at_a_glance_as_whole_numbers_and_nothing_else(value, expected):
    assert judge._is_exactly_right(value, expected, 0)
    for other in ((2, True), (2.0, 3), [2, 3], (3, 2), (2,), {"a": (2,)}, {"a": (2,), "b": [3]}, None):
        assert not judge._is_exactly_right(other, expected, 0)


def entries(weird, exercise):
    expected = exercise.hidden[0].expected
    return dict.fromkeys(expected, weird) if isinstance(expected, dict) else {"": weird}


WEIRD = {
    "nothing": None,
    "text": "42",
    "true": True,
    "other": wire.UnsendableValue("function"),
    "a list of others": [wire.UnsendableValue("function"), wire.UnsendableValue("Tensor")],
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


@each_kind_of_topic
@pytest.mark.parametrize("weird", WEIRD.values(), ids=WEIRD)
def test_a_weird_value_earns_nothing(topic, weird):
    for exercise in called_exercises(topic):
        for value in (weird, entries(weird, exercise), list(entries(weird, exercise).values())):
            assert verdict_on(exercise, same_reply(exercise, Reply(value=value))).earned == 0, exercise.name


@each_topic
@pytest.mark.parametrize("number", [np.nan, np.inf, -1e308, 0.0])
def test_an_array_of_the_right_shape_full_of_one_number_earns_nothing(topic, number):
    for exercise in [exercise for exercise in topic_exercises(topic) if exercise.is_called]:
        replies = {}
        for n, case in enumerate(exercise.hidden):
            full = over_the_wire(np.full(np.shape(case.expected), number))
            value = entries(full, exercise) if isinstance(case.expected, dict) else full
            replies[exercise.name, n] = Reply(value=value)
        assert judge.points_of(exercise, [*replies.values()].__getitem__) == 0, exercise.name
        if topic in EVERY_KIND:  # with hints, which look for mistakes for seconds
            assert verdict_on(exercise, replies).earned == 0, exercise.name


@pytest.mark.parametrize("name", ["scoring-batched_additive_shapes", "scoring-scores_by_hand_twin"])
def test_a_value_inside_another_that_cannot_cross_is_called_by_its_own_name(name):
    exercise = exercise_named(name)
    for value in (entries(wire.UnsendableValue("function"), exercise), [wire.UnsendableValue("function")] * 2):
        words = words_of(verdict_on(exercise, same_reply(exercise, Reply(value=value))))
        assert not any("UnsendableValue" in text for text in words)


@each_kind_of_topic
@given(value=plain_values(), data=st.data())
def test_no_value_that_crosses_the_boundary_raises(topic, value, data):
    exercise = data.draw(st.sampled_from(called_exercises(topic)), label="exercise")
    value = over_the_wire(value)
    for sent in (value, entries(value, exercise)):
        verdict_on(exercise, same_reply(exercise, Reply(value=sent)))


@each_kind_of_topic
@pytest.mark.parametrize("value", [(np.ones(2), 3), (np.ones(0, dtype=bool),)], ids=["numbers", "nothing"])
def test_an_array_within_a_tuple_which_has_no_truth_value_raises_nothing(topic, value):
    for exercise in called_exercises(topic):
        for sent in (value, entries(value, exercise)):
            verdict_on(exercise, same_reply(exercise, Reply(value=over_the_wire(sent))))


@each_kind_of_topic
@given(data=st.data())
def test_every_mixture_of_right_and_missing_replies_earns_between_none_and_all(topic, data):
    exercise = data.draw(st.sampled_from(called_exercises(topic)), label="exercise")
    replies = right_replies(exercise)
    present = {key: reply for key, reply in replies.items() if data.draw(st.booleans())}
    verdict = verdict_on(exercise, present)
    assert (verdict.earned == exercise.points) == (len(present) == len(replies))
    for number, case in enumerate(exercise.hidden):  # and mistakes in some cases
        name = data.draw(st.sampled_from(["", *case.mistaken]))
        if name:
            outcome = case.mistaken[name]
            present[exercise.name, number] = Reply(over_the_wire(outcome.value), raised=outcome.raised)
    verdict = verdict_on(exercise, present)
    all_replies = [present.get((exercise.name, n), Reply(raised="no reply")) for n in range(len(exercise.hidden))]
    assert judge.points_of(exercise, all_replies.__getitem__) == verdict.earned


def test_replies_that_can_cost_nothing_more_are_not_asked_for():
    exercise, asked = exercise_named("scoring-additive_score"), []

    def reply_to(number):
        asked.append(number)
        return Reply(raised="ValueError")

    assert judge.points_of(exercise, reply_to) == 0
    assert len(asked) <= len(exercise.parts) < len(exercise.hidden)
    assert {exercise.hidden[number].part for number in asked} == {*exercise.parts} - {compare.PRECISION}


OF_PARTS = [(part, also) for part in "ab" for also in ((), ("a",), ("b",), ("a", "b")) if part not in also]


@given(st.lists(st.tuples(st.sampled_from(OF_PARTS), st.sampled_from([0.0, 1e-7, 1.0])), min_size=1), st.booleans())
def test_what_is_not_asked_for_would_have_cost_nothing(of_cases, is_precise):
    exercise = exercise_named("scoring-additive_score")
    parts = {"a": 1.0, "b": 2.0} | ({compare.PRECISION: 0.1} if is_precise else {})
    first = dataclasses.replace(exercise.hidden[0], expected=np.ones(1), atol=1e-9)
    cases = tuple(dataclasses.replace(first, part=part, also=also) for (part, also), _ in of_cases)
    exercise = dataclasses.replace(exercise, parts=parts, cases=cases)
    replies = [Reply(value=np.ones(1) + off) for _, off in of_cases]
    rows = [
        JudgedCase(0, case, reply, judge.reasons_of(exercise, case, reply))
        for case, reply in zip(cases, replies, strict=True)
    ]
    results = judge._results_of(exercise, judge._judge_coarsely(exercise, rows), rows)
    assert judge.points_of(exercise, replies.__getitem__) == compare.total_points(results, parts)


@each_kind_of_topic
def test_verdicts_come_in_the_order_of_the_exercises(topic):
    exercises = topic_exercises(topic)
    assert [verdict.exercise for verdict in judge.judge(exercises, {})] == [exercise.name for exercise in exercises]


@each_kind_of_topic
def test_a_written_answer_is_left_to_a_person(topic):
    for exercise, verdict in zip(topic_exercises(topic), judge.judge(topic_exercises(topic), {}), strict=True):
        assert (verdict.earned is None) == (exercise.kind == "text")


def test_two_mistakes_in_different_parts_get_both_hints():
    exercise = exercise_named("scoring-batched_additive_shapes")

    def both(batch, m, n, a, T_x):
        return {"projected_query": (batch, a), "hidden": (batch, T_x, a), "product": (batch, T_x), "W": (n, m)}

    verdict = verdict_on(exercise, replies_of(both, exercise))
    assert verdict.earned == 1
    assert len(verdict.hints) == 2


def test_replies_to_another_exercise_count_for_nothing():
    exercise, other = map(exercise_named, ("scoring-batched_additive_shapes", "context-batch_shapes"))
    assert verdict_on(exercise, replies_of(reference_of(other), other)).earned == 0


def test_a_mistake_that_returns_no_dict_is_recognised():
    exercise = exercise_named("scoring-batched_additive_shapes")
    name = "batched_additive_shapes__no_dict"
    cases = tuple(
        dataclasses.replace(case, mistaken={name: type(case.mistaken[next(iter(case.mistaken))])((7, 7))})
        for case in exercise.cases
    )
    exercise = dataclasses.replace(exercise, hints={name: "Return a dict."}, cases=cases)
    for value in ((7, 7), {"product": (7, 7)}):
        verdict_on(exercise, same_reply(exercise, Reply(value=value)))
    assert verdict_on(exercise, same_reply(exercise, Reply(value=(7, 7)))).hints == ("Return a dict.",)


def numbers_by_hand():
    """Return an exercise with several numbers by hand, and a function that makes replies from numbers."""
    exercise = exercise_named("scoring-scores_by_hand_twin")
    return exercise, lambda numbers: {(exercise.name, 0): Reply(value=np.asarray(numbers, dtype=float))}


def test_numbers_are_called_rounded_only_if_all_of_them_are_the_right_ones_with_fewer_decimals():
    exercise, reply = numbers_by_hand()
    right = np.asarray(exercise.hidden[0].expected)
    rounded = right.round(2)
    assert not np.allclose(rounded, right, rtol=0, atol=exercise.hidden[0].atol)
    for value in (rounded, rounded + 1e-12):
        assert verdict_on(exercise, reply(value)).hints == (judge.ROUNDED,)
    for wrong in (right + 0.317, right.round(2) + 0.31 * np.eye(right.size)[0], right.round(1) + 0.1):
        assert judge.ROUNDED not in verdict_on(exercise, reply(wrong)).hints


def off_everywhere(exercise):
    replies = right_replies(exercise)
    return {
        key: dataclasses.replace(
            reply, value=reply.value + np.linspace(0.13, 0.71, np.size(reply.value)).reshape(np.shape(reply.value))
        )
        for key, reply in replies.items()
    }


def test_only_two_answers_to_the_same_call_show_that_a_function_is_unsteady():
    exercise = exercise_named("scoring-additive_score")
    last = exercise.name, len(exercise.hidden) - 1
    unsteady = compare.full_sentence(compare.UNSTEADY)
    replies = off_everywhere(exercise)
    assert unsteady not in verdict_on(exercise, replies).hints
    for raised in ("no reply", "CellTimeout"):
        assert unsteady not in verdict_on(exercise, {**replies, last: Reply(raised=raised)}).hints
    other = Reply(value=replies[last].value + 1)
    assert unsteady in verdict_on(exercise, {**replies, last: other}).hints
    assert unsteady in verdict_on(exercise, {**replies, last: Reply(raised="ValueError")}).hints


def raising_where(exercise, is_raised):
    """Return the replies of an answer that is right but raises in some calls, as if shapes did not fit."""
    replies = right_replies(exercise)
    for number, case in enumerate(exercise.hidden):
        if is_raised(*case.inputs["keys"].shape[:2]):
            replies[exercise.name, number] = Reply(raised="ValueError")
    return replies


def test_two_axes_are_taken_for_one_where_exactly_their_being_different_raises():
    exercise = exercise_named("scoring-additive_score")
    hint = judge.BROADCAST.format("batch", "source_len")

    def differ(batch, source_len):
        return 1 != batch != source_len != 1

    assert verdict_on(exercise, raising_where(exercise, differ)).hints == (hint,)
    for other in (
        lambda *sizes: differ(*sizes) or sizes[0] == 1,
        lambda *sizes: differ(*sizes) and sizes[0] < sizes[1],
    ):
        assert hint not in verdict_on(exercise, raising_where(exercise, other)).hints
    different = [
        case for case in exercise.cases if case.shown or case.inputs["keys"].shape[0] != case.inputs["keys"].shape[1]
    ]
    exercise = dataclasses.replace(exercise, cases=tuple(different))
    assert hint not in verdict_on(exercise, raising_where(exercise, differ)).hints


@pytest.mark.parametrize(
    ("family", "advice"),
    [
        (
            "written_len = 20",
            "does your code depend on the length, or on something that only many entries bring about?",
        ),
        ("written_len = 1", "which line treats such an axis differently?"),
    ],
)
def test_a_length_that_alone_goes_wrong_is_named(family, advice):
    exercise = exercise_named("spelling-edit_distance")
    numbers = [n for n, case in enumerate(exercise.hidden) if family in case.families]
    assert verdict_on(exercise, wrong_where(exercise, numbers)).hints == (
        f"Of our cases, only those with {family} are wrong: {advice}",
    )


def test_a_family_is_blamed_only_if_at_least_half_of_its_cases_are_wrong_or_one_that_is_special_in_nothing_else():
    exercise, words = exercise_named("spelling-alignment_error_rate"), "sure hand-annotated links everywhere"
    places = [n for n, case in enumerate(exercise.hidden) if words in case.families]
    beside = [n for n in places if len(exercise.hidden[n].families) > 1]
    few = next(pair for pair in itertools.combinations(beside, 2) if len(shared_by(exercise, pair)) == 1)
    half = [*few, *(n for n in places if n not in few)][: -(-len(places) // 2)]
    hint = f"Of our cases, only those with {words} are wrong."
    assert hint not in verdict_on(exercise, wrong_where(exercise, few)).hints
    assert hint in verdict_on(exercise, wrong_where(exercise, half)).hints
    alone = next(n for n in places if n not in beside)
    assert hint in verdict_on(exercise, wrong_where(exercise, [alone])).hints


def shared_by(exercise, numbers):
    """Return the families that all hidden cases with these ``numbers`` belong to."""
    return set.intersection(*(set(exercise.hidden[n].families) for n in numbers))


def wrong_where(exercise, numbers, **reply):
    """Return the replies of an answer that is wrong in the hidden cases with these ``numbers``, and right elsewhere."""
    return right_replies(exercise) | {(exercise.name, n): Reply(**({"value": 99} | reply)) for n in numbers}


def count_numbers(case):
    return sum(np.size(value) for value in case.inputs.values())


@pytest.mark.parametrize("name", ["spelling-edit_distance", "spelling-alignment_error_rate", "capstone-exact_match"])
def test_the_smallest_input_that_shows_the_mistake_is_shown_if_it_is_a_few_whole_numbers(name):
    exercise = exercise_named(name)
    sizes = {n: count_numbers(case) for n, case in enumerate(exercise.hidden)}
    largest, least = max(sizes, key=sizes.get), min(sizes, key=sizes.get)
    few = max((n for n, size in sizes.items() if size <= judge.MAX_READABLE), key=sizes.get)
    for numbers, shown in (((largest, few, least), least), ((largest, few), few), ((largest,), None)):
        for reply in ({}, {"raised": "IndexError"}):
            (part,) = verdict_on(exercise, wrong_where(exercise, numbers, **reply)).parts
            assert ("smallest of our inputs" in part.reason) == (shown is not None), part.reason
            for argument, value in exercise.hidden[shown].inputs.items() if shown is not None else ():
                assert f"{argument} = {value.tolist()}" in part.reason
    (part,) = verdict_on(exercise, wrong_where(exercise, [least], raised="CellTimeout")).parts
    assert "smallest of our inputs" not in part.reason
    (part,) = verdict_on(exercise, wrong_where(exercise, [least], raised="ModuleNotFoundError", module="nltk")).parts
    assert "smallest of our inputs" not in part.reason


def with_exchanged(exercise, *pair):
    """Return the right replies with the values of two entries exchanged."""
    one, other = pair
    replies = {}
    for n, case in enumerate(exercise.hidden):
        value = case.expected
        if not case.gradients:
            value = over_the_wire({**value, one: value[other], other: value[one]})
        replies[exercise.name, n] = Reply(value=value)
    return replies


@pytest.mark.parametrize(
    ("name", "pair"),
    [
        ("context-pull_of_two", ("largest", "gap")),
        ("decoder_fusion-fusion_shapes", ("joined", "W_context")),
        ("output_layer-word_by_hand", ("scores", "distribution")),
        ("scoring-score_gradients", ("v", "W_key")),
        ("from_bahdanau_to_transformers-saturation", ("spread", "plain")),
    ],
)
def test_two_values_under_each_others_names_are_told_so(name, pair):
    exercise = exercise_named(name)
    sentence = judge.EXCHANGED.format(*pair)
    replies = with_exchanged(exercise, *pair)
    assert verdict_on(exercise, replies).hints == (sentence,)
    del replies[exercise.name, 0].value[pair[0]]
    assert sentence not in verdict_on(exercise, replies).hints
    wrong = with_exchanged(exercise, *pair)
    wrong[exercise.name, 0].value[pair[1]] = 17.5
    assert sentence not in verdict_on(exercise, wrong).hints


@pytest.mark.parametrize(
    ("name", "pair"),
    [
        ("capstone-read_curves", ("A", "B")),
        ("softmax-broken_maps", ("A", "E")),
        ("capstone-choose_rate", ("diverges", "long")),
    ],
)
def test_that_two_choices_are_exchanged_is_not_told(name, pair):
    exercise = exercise_named(name)
    assert verdict_on(exercise, with_exchanged(exercise, *pair)).hints == ()


def test_gradients_under_each_others_names_are_not_told_so():
    exercise, replies = exercise_named("decoder_fusion-decoder_step"), {}
    for n, case in enumerate(exercise.hidden):
        value = case.expected
        if case.gradients:
            value = {**value, "W_y": value["W_s"], "W_s": value["W_y"]}
        replies[exercise.name, n] = Reply(value=over_the_wire(value))
    verdict = verdict_on(exercise, replies)
    assert verdict.earned < verdict.points
    assert judge.EXCHANGED.format("W_y", "W_s") not in verdict.hints


@pytest.mark.parametrize(
    ("right", "may_be"),
    [(0, True), (19, True), (20, False), (-3, False), (2.5, False), ([1, 2], False), (-np.inf, False)],
)
def test_a_small_whole_number_may_be_a_choice(right, may_be):
    assert judge._may_be_choice(right) == may_be


@pytest.mark.parametrize("name", ["scoring-additive_score", "softmax-score_differences", "context-batch_shapes"])
def test_no_input_of_other_exercises_is_shown(name):
    exercise = exercise_named(name)
    for part in verdict_on(exercise, same_reply(exercise, Reply(raised="IndexError"))).parts:
        assert part.reason
        assert "smallest of our inputs" not in part.reason


def test_what_raises_without_a_gradient_was_not_written_into():
    exercise = exercise_named("softmax-entropy")
    replies = same_reply(exercise, Reply(raised="RuntimeError", line=2))
    assert not any(judge.GRAPH_BROKEN in hint for hint in verdict_on(exercise, replies).hints)


CHAINS = [name for name in NAMES if ENTRIES[name].follows]
each_chain = pytest.mark.parametrize("name", CHAINS)


def right_chain(exercise):
    return {entry: np.array(value, dtype=float) for entry, value in exercise.hidden[0].expected.items()}


def continued(exercise, chain, first):
    """Return the chain with every step after ``first`` that has a rule computed from the steps before it."""
    chain, late, follows = dict(chain), False, compile_steps(exercise.follows)
    for entry in chain:
        if late and entry in follows:
            steps, function = follows[entry]
            chain[entry] = np.asarray(function(*(chain[step] for step in steps)))
        late = late or entry == first
    return chain


def verdict_on_chain(exercise, chain):
    verdict = verdict_on(exercise, same_reply(exercise, Reply(value=over_the_wire(chain))))
    assert points_of_chain(exercise, chain) == verdict.earned
    return verdict


def points_of_chain(exercise, chain):
    """Return ``verdict_on_chain(...).earned``, faster because it looks for no hints."""
    points = judge.points_of(exercise, lambda _: Reply(value=over_the_wire(chain)))
    case, follows = exercise.hidden[0], compile_steps(exercise.follows)
    stated = {"part": case.part, "expected": case.expected, "atol": case.atol}
    stock = compare.score(lambda: chain, "number", [stated], exercise.parts, follows=follows)
    assert stock == points  # the hidden test cell applies the same rule
    return points


def earned_by(verdict):
    return {part.name: part.earned for part in verdict.parts}


CHANGES = hnp.arrays(float, 6, elements=st.floats(0.05, 0.9), unique=True)


@each_chain
@given(data=st.data(), change=CHANGES)
def test_a_wrong_step_costs_its_own_points_and_no_others_if_the_rest_follows_from_it(name, data, change):
    exercise = exercise_named(name)
    wrong = data.draw(st.sampled_from(list(exercise.parts)))
    chain = right_chain(exercise)
    change = change[: chain[wrong].size].reshape(chain[wrong].shape) * max(1, 100 * exercise.entry.atol)
    chain[wrong] = (chain[wrong] + change).round(4)
    chain = continued(exercise, chain, wrong)
    assume(all(np.ptp(step) > 0.01 for step in chain.values() if step.size > 1))
    ends = [abs(step - end).min() for step in chain.values() for end in (-1, 0, 1)]
    assume(min(ends) > 2 * exercise.entry.atol)  # a step that is saturated by chance is not carried forward
    verdict = verdict_on_chain(exercise, chain)
    assert earned_by(verdict) == {**exercise.parts, wrong: 0}
    notes = {part.name: part.note for part in verdict.parts if part.note}
    assert all(note.startswith("right, given your own ") for note in notes.values())
    assert set(notes) <= set(list(chain)[list(chain).index(wrong) + 1 :])


@each_chain
@given(data=st.data())
def test_whatever_is_done_to_a_step_the_chain_earns_no_more_than_the_right_one(name, data):
    exercise = exercise_named(name)
    wrong = data.draw(st.sampled_from(list(exercise.parts)))
    chain = right_chain(exercise)
    numbers = st.floats(allow_nan=True, allow_infinity=True) | st.just(0.0)
    chain[wrong] = data.draw(hnp.arrays(float, chain[wrong].shape, elements=numbers))
    followed = data.draw(st.booleans())
    with np.errstate(all="ignore"):
        verdict = verdict_on_chain(exercise, continued(exercise, chain, wrong) if followed else chain)
    right = compare.explain_mismatch(chain[wrong], right_chain(exercise)[wrong], exercise.entry.atol) == ""
    assert (verdict.earned == exercise.points) == right
    assert all(part.earned <= exercise.parts[part.name] for part in verdict.parts)
    assert (earned_by(verdict)[wrong] > 0) == right


@each_chain
@pytest.mark.parametrize("number", [0.0, 1.0, 0.5, -2.0, 1e9, np.nan, np.inf])
def test_a_step_that_is_one_number_throughout_carries_nothing_forward(name, number):
    exercise = exercise_named(name)
    for entry in exercise.parts:
        with np.errstate(all="ignore"):
            chain = continued(
                exercise, {**right_chain(exercise), entry: np.full_like(right_chain(exercise)[entry], number)}, entry
            )
        verdict = verdict_on_chain(exercise, chain)
        following = next((step for step, rule in exercise.follows.items() if entry in rule.given), None)
        assert earned_by(verdict)[entry] == 0
        may_be_a_slip = right_chain(exercise)[entry].size == 1 and abs(number) in (0.5, 1, 2)
        assert following is None or may_be_a_slip or earned_by(verdict)[following] == 0


@each_chain
@pytest.mark.parametrize("number", [0.0, 0.3, np.nan])
def test_constants_all_along_earn_nothing(name, number):
    exercise = exercise_named(name)
    chain = {entry: np.full_like(value, number) for entry, value in right_chain(exercise).items()}
    assert verdict_on_chain(exercise, chain).earned == 0


@each_chain
@given(change=CHANGES)
def test_the_same_wrong_numbers_again_and_again_earn_nothing(name, change):
    exercise = exercise_named(name)
    chain = {entry: change[: value.size] for entry, value in right_chain(exercise).items()}
    assert points_of_chain(exercise, chain) == 0


def wrong_answers_to(exercise):
    yield from versions_of(module_of("solutions.mistakes", exercise.name), exercise).values()
    for answer in read_answers():
        if answer.topic == exercise.entry.topic and answer.name.startswith(f"{exercise.function}__wrong_"):
            yield answer.function()


WRONG_CHAINS = [(chain, answer) for chain in CHAINS for answer in wrong_answers_to(exercise_named(chain))]


@pytest.mark.parametrize(("name", "answer"), WRONG_CHAINS, ids=[answer.__name__ for _, answer in WRONG_CHAINS])
def test_after_an_honest_slip_every_step_that_follows_from_the_students_own_keeps_its_points(name, answer):
    exercise = exercise_named(name)
    (case,), chain, follows = exercise.hidden, mapped(answer(), np.asarray), compile_steps(exercise.follows)
    earned = earned_by(verdict_on_chain(exercise, chain))
    for entry, points in exercise.parts.items():
        right = not compare.explain_mismatch(chain[entry], case.expected[entry], case.atol)
        steps, function = follows.get(entry, ((), None))
        blank = any(chain[step].size > 1 and np.ptp(chain[step]) < case.atol for step in (entry, *steps))
        sizes = [np.abs(chain[step]).max() / np.abs(case.expected[step]).max() for step in (entry, *steps)]
        far = not 1 / compare.MAX_RATIO < min(sizes) <= max(sizes) < compare.MAX_RATIO
        ends = [
            np.abs(case.expected[step]).max() < 1 - 2 * case.atol and (np.abs(np.abs(chain[step]) - 1) < 1e-9).any()
            for step in (entry, *steps)
        ]  # a step at 1 or -1 where the right one is not: the end of a tanh, or of a factor
        followed = steps and not compare.explain_mismatch(
            chain[entry], function(*(chain[step] for step in steps)), case.atol
        )
        carried = followed and not blank and not far and not any(ends)
        assert earned[entry] == (points if right or carried else 0), entry


@cache
def given_numbers(source):
    """Return the rows and vectors that the text of a chain states, read from the reference."""
    arrays = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.List):
            with contextlib.suppress(ValueError):
                arrays.append(np.array(ast.literal_eval(node), dtype=float))
    return arrays


def worked_by_nobody(exercise, entry, before, rng):
    """Make up a step without computing it: round numbers, numbers of the text, or the limit of a huge step."""
    size = exercise.hidden[0].expected[entry].size
    huge, near = 10.0 ** rng.integers(1, 7), rng.choice([0, 1e-9, 1e-5, 1e-4])
    one_hot = np.eye(size)[rng.integers(size)]
    signs = rng.choice([-1.0, 0.0, 1.0], size)
    filled = [
        one_hot,
        one_hot * huge,
        -one_hot * huge,
        one_hot - near,
        signs,
        signs * huge,
        signs * (1 - near),
        one_hot + near,
    ]
    filled += [np.full(size, number) for number in (0.0, 1.0, -1.0, 0.5, 1 / size, huge)]
    filled += [np.full(size, 1 / size) + near * np.arange(size), huge * rng.normal(size=size), signs / 2]
    filled += [
        stated * scale
        for stated in given_numbers(exercise.source)
        if stated.shape == (size,)
        for scale in (1, -1, huge)
    ]
    filled += [step for step in before.values() if step.size == size]
    steps, function = compile_steps(exercise.follows).get(entry, ((), None))
    if steps:
        with np.errstate(all="ignore"):
            led = np.asarray(function(*(before[step] for step in steps)), dtype=float)
        copied = [*given_numbers(exercise.source), np.zeros(size), np.full(size, 1 / size)]
        copied = [scale * row for row in copied if row.shape == led.shape for scale in (1, huge)]
        ends = np.round(led)
        filled += [x for x in (ends, *copied) if np.allclose(led, x, rtol=1e-4, atol=1e-3)] * len(filled)
    return filled[rng.integers(len(filled))]


@each_chain
@pytest.mark.parametrize("seed", range(4))
def test_no_chain_of_numbers_that_nobody_worked_out_earns_a_point(name, seed):
    exercise, rng = exercise_named(name), np.random.default_rng(seed)
    for _ in range(2 * settings().max_examples):
        chain = {}
        for entry in exercise.parts:
            chain[entry] = worked_by_nobody(exercise, entry, chain, rng)
        assert points_of_chain(exercise, chain) == 0, chain


def test_the_saturated_chains_that_once_earned_points_earn_none():
    up, key = 1e6, np.array([0.5, -0.2, 0.1, 0.3])
    first = {"scores": [up, 0], "weights": [1, 0], "context": key, "state": [0, 0]}
    second = {"scores": [9, 9], "weights": [up, 0], "context": up * key, "state": [1, -1]}
    third = {"scores": [up, 0], "weights": [1, 0], "context": key, "state": [up, 0]}
    for chain in (first, second, third):
        chain["distribution"] = [0, 1, 0, 0, 0]
        assert verdict_on_chain(exercise_named("output_layer-word_by_hand"), chain).earned == 0


@pytest.mark.parametrize(
    ("rule", "second", "carried"),
    [
        (lambda a: 2 * a, [10.0, 12.0], True),
        (lambda a: a, [5.0, 6.0], False),  # it repeats the step before
        (lambda a: a["x"], [7.0, 9.0], False),  # the rule raises on the student's numbers
    ],
    ids=["follows", "repeats", "raises"],
)
def test_a_step_is_accepted_where_it_follows_unless_it_repeats_the_one_before(rule, second, carried):
    expected, value = {"a": np.array([1.0, 2.0]), "b": np.array([3.0, 4.0])}, {"a": [5.0, 6.0], "b": second}
    reasons = compare.mismatches(value, expected, "number", 1e-3)
    followed = ({**reasons, "b": ""}, {"b": ("a",)}) if carried else (reasons, {})
    assert compare.follow_through(reasons, value, expected, 1e-3, {"b": (("a",), rule)}) == followed


@each_chain
@given(value=plain_values())
def test_no_value_in_a_chain_raises(name, value):
    exercise = exercise_named(name)
    for entry in exercise.parts:
        verdict_on(exercise, same_reply(exercise, Reply(value={**right_chain(exercise), entry: over_the_wire(value)})))


CODE = [name for name in NAMES if ENTRIES[name].kind == "code"]


def code_exercises(topic):
    return [exercise for exercise in topic_exercises(topic) if exercise.kind == "code"]


def mapped(value, change):
    """Apply ``change`` to the result, or to each of its entries."""
    return (
        {n: mapped(item, change) for n, item in value.items()} if isinstance(value, dict) else change(np.asarray(value))
    )


def corrupted(exercise, change, only=lambda case: True, **reply):
    """Return the replies of the reference, with ``change`` applied in the cases that ``only`` selects."""
    replies = right_replies(exercise)
    for number, case in enumerate(exercise.hidden):
        if only(case):
            key = exercise.name, number
            replies[key] = dataclasses.replace(replies[key], value=mapped(replies[key].value, change), **reply)
    return replies


def loses_every_part(exercise, reply_to):
    """Return whether every part fails in some case that involves no other part, stopping as soon as that is clear.

    Without the first part, "precision" is lost too.
    """
    parts_left = {*exercise.parts} - {compare.PRECISION}
    for case in exercise.hidden:
        if case.part in parts_left and not case.also:
            reply = reply_to(case)
            reply = reply if isinstance(reply, Reply) else Reply(value=reply)
            row = JudgedCase(0, case, reply, judge.reasons_of(exercise, case, reply))
            if judge._judge_coarsely(exercise, [row])[0].wrong_entries:
                parts_left.remove(case.part)
        if not parts_left:
            return True
    return False


TRIVIAL = {
    "zeros": lambda right: np.zeros(right.shape, right.dtype),
    "ones": lambda right: np.ones(right.shape, right.dtype),
    "minus ones": lambda right: np.full(right.shape, -1.0),
    "halves": lambda right: np.full(right.shape, 0.5),
    "alike": lambda right: np.full(right.shape, 1.0 / (right.shape or (1,))[-1]),
    "the logarithm of their number": lambda right: np.full(right.shape, np.log((right.shape or (1,))[-1])),
    "the first": lambda right: (np.indices(right.shape)[-1] == 0) * 1.0 if right.ndim else np.ones(()),
    "the diagonal": lambda right: (np.eye(*right.shape[-2:]) if right.ndim > 1 else np.ones(1)) + np.zeros(right.shape),
    "nothing": lambda right: np.empty((*right.shape[:-1], 0)),
}


@each_topic
def test_an_array_that_is_made_without_looking_at_the_input_earns_no_part(topic):
    for exercise in code_exercises(topic):
        for kind, answer in TRIVIAL.items():
            assert loses_every_part(exercise, lambda case, a=answer: over_the_wire(mapped(case.expected, a))), kind


ARGUMENT_TURNED = {
    "itself": lambda item: item * 1,
    "zeros like it": lambda item: item * 0,
    "ones like it": lambda item: item * 0 + 1,
    "uniform weights like it": lambda item: item * 0 + 1 / item.shape[-1],
    "its largest entries": lambda item: (item == item.max()) * 1.0,
    "turned over": lambda item: item.swapaxes(-1, -2),
    **{f"{how} along axis {axis}": methodcaller(how, axis) for how in ("sum", "mean") for axis in (0, -1, -2)},
}


@each_topic
def test_what_one_argument_alone_gives_earns_no_part(topic):
    for exercise in code_exercises(topic):
        for kind, turned in ARGUMENT_TURNED.items():
            for place, argument in enumerate(exercise.hidden[0].inputs):

                def answer(*arguments, place=place, turned=turned):
                    return turned(arguments[place])

                assert loses_every_part(exercise, lambda case, e=exercise, a=answer: calls.reply_to(a, e, case)), (
                    argument,
                    kind,
                )


def odd(array):
    """Return an array like ``array``, with values that no mistake gives."""
    return array * 1.2345 + 0.1234567 + np.arange(array.size).reshape(array.shape) * 0.0314159


CORRUPTIONS = {
    "nothing": (lambda array: None, "it returned nothing"),
    "nan": (lambda array: array * np.nan, "not finite"),
    "infinite": (lambda array: array + np.inf, "not finite"),
    "an axis more": (lambda array: array[None], "instead of"),
    "words": (lambda array: "words", "not numbers"),
    "odd": (odd, " wrong"),
}


@each_kind_of_topic
@pytest.mark.parametrize(("change", "phrase"), CORRUPTIONS.values(), ids=CORRUPTIONS)
def test_where_no_mistake_is_recognised_the_sentence_names_the_property(topic, change, phrase):
    for exercise in code_exercises(topic):
        replies = corrupted(exercise, change)
        verdict = verdict_on(exercise, replies)
        assert verdict.earned == 0
        assert all(phrase in part.reason.lower() for part in verdict.parts)
        assert all(not part.reason[0].islower() and part.reason[-1] in ".?!" for part in verdict.parts)
        assert "on a hidden case" not in " ".join(words_of(verdict))
        own = {f"{y:.6g}" for reply in replies.values() for x in numbers_in(reply.value) for y in (x, abs(x))}
        words = "\n".join(words_of(verdict))
        for case in exercise.hidden:
            assert not [digits for digits in digits_of(case.expected) if digits in words and digits not in own]


def can_be_transposed(case):
    return not isinstance(case.expected, dict) and np.ndim(case.expected) > 1 and len(set(np.shape(case.expected))) > 1


TRANSPOSABLE = [name for name in CODE if any(map(can_be_transposed, exercise_named(name).hidden))]


@pytest.mark.parametrize("name", [sampled(name) for name in TRANSPOSABLE])
def test_a_transposed_result_is_told_so(name):
    exercise = exercise_named(name)
    verdict = verdict_on(exercise, corrupted(exercise, np.transpose, only=lambda case: not case.gradients))
    assert any("transposed" in part.reason for part in verdict.parts) or verdict.hints


@each_kind_of_topic
def test_an_input_that_was_changed_is_named_where_no_mistake_is_recognised(topic):
    for exercise in code_exercises(topic):
        verdict = verdict_on(exercise, corrupted(exercise, odd, changed=("scores",)))
        assert verdict.hints == ("It changed its input scores. Work on a copy.",)
        assert not verdict_on(exercise, corrupted(exercise, lambda array: None, changed=("scores",))).hints


@each_kind_of_topic
def test_an_input_that_a_right_answer_changed_is_named_and_costs_nothing(topic):
    for exercise in code_exercises(topic):
        verdict = verdict_on(exercise, corrupted(exercise, np.asarray, changed=("scores",)))
        assert verdict.earned == verdict.points
        assert verdict.hints == (compare.full_sentence(compare.ALSO_CHANGED.format("scores")),)
        assert pages.describe_verdict(verdict)[1:] == list(verdict.hints)


@each_kind_of_topic
def test_a_result_that_differs_from_call_to_call_is_told_so(topic):
    for exercise in code_exercises(topic):
        replies, last = corrupted(exercise, odd), (exercise.name, len(exercise.hidden) - 1)
        assert not any("again" in hint for hint in verdict_on(exercise, replies).hints)
        replies[last] = Reply(value=mapped(replies[last].value, odd))
        (hint,) = verdict_on(exercise, replies).hints
        assert hint == "It gives a different result when called again with the same input."
        replies[last] = Reply(raised="no reply")
        assert not any("again" in hint for hint in verdict_on(exercise, replies).hints)


@each_kind_of_topic
def test_what_is_right_until_it_is_called_again_is_not_right(topic):
    for exercise in code_exercises(topic):
        replies, last = corrupted(exercise, np.asarray), (exercise.name, len(exercise.hidden) - 1)
        replies[last] = Reply(value=mapped(replies[last].value, odd))
        verdict = verdict_on(exercise, replies)
        part, first = exercise.hidden[-1].part, next(iter(exercise.parts))
        lost = {part} | ({compare.PRECISION} if part == first else set())
        assert verdict.earned == sum(points for part, points in exercise.parts.items() if part not in lost)
        assert verdict.hints == ("It gives a different result when called again with the same input.",)


GROUPS = {"mask": (judge._is_masked, judge.ONLY_PADDING), "large": (is_large, judge.ONLY_LARGE)}
GROUPS["size one"] = judge._has_size_one, judge.ONLY_SIZE_ONE


def is_told_by(group, exercise):
    """Return whether the group has cases, and also informative cases outside it."""
    belongs, _ = GROUPS[group]
    others = [case for case in exercise.hidden if not belongs(case) and not judge._is_tiny(case)]
    return bool(others) and any(map(belongs, exercise.hidden))


GROUPED = [(name, group) for name in CODE for group in GROUPS if is_told_by(group, exercise_named(name))]


@pytest.mark.parametrize(("name", "group"), [sampled(*pair) for pair in GROUPED])
def test_what_is_wrong_only_in_one_group_of_cases_is_told_with_the_group(name, group):
    exercise, (belongs, sentence) = exercise_named(name), GROUPS[group]
    cases = list(filter(belongs, exercise.hidden))
    fitting = [group_sentence for other, group_sentence in GROUPS.values() if all(map(other, cases))]
    if all(case.gradients for case in cases):
        fitting = [judge.WRONG_GRADIENT.format(", ".join(cases[0].gradients))]
    shared = set.intersection(*({*case.families} for case in cases))  # a family shared by all is named itself
    advice = cases[0].families
    fitting += [judge.ONLY_WITH.format(words) + (f": {advice[words]}" if advice[words] else ".") for words in shared]
    (hint,) = verdict_on(exercise, corrupted(exercise, odd, only=belongs)).hints
    assert hint in fitting
    assert sentence not in verdict_on(exercise, corrupted(exercise, odd)).hints


def test_a_print_in_place_of_a_return_is_told_so():
    exercise = exercise_named("scoring-dot_product_score")
    verdict = verdict_on(exercise, same_reply(exercise, Reply(printed=True)))
    assert all("it printed something and returned nothing" in part.reason for part in verdict.parts)


def test_of_two_mistakes_that_explain_as_much_the_one_that_nothing_speaks_against_is_named():
    exercise = exercise_named("from_bahdanau_to_transformers-saturation")
    divided = exercise.hidden[0].mistaken["saturation__divided_by_the_size"].value
    not_added = exercise.hidden[0].mistaken["saturation__not_added"].value
    assert divided["scaled"] == pytest.approx(not_added["scaled"])  # all else is right in the first alone
    (hint,) = verdict_on(exercise, same_reply(exercise, Reply(value=divided))).hints
    assert hint == exercise.hints["saturation__divided_by_the_size"]


@pytest.mark.parametrize("name", [name for name in NAMES if ENTRIES[name].kind == "number"])
def test_right_numbers_with_two_decimals_are_told_so(name):
    exercise = exercise_named(name)

    def rounded(decimals):
        (case,) = exercise.hidden
        value = case.expected
        short = {n: np.round(entry, decimals) for n, entry in value.items()} if isinstance(value, dict) else None
        return same_reply(exercise, Reply(value=over_the_wire(short or np.round(value, decimals))))

    verdict = verdict_on(exercise, rounded(2))
    assert verdict.earned == verdict.points or verdict.hints == (judge.ROUNDED,)
    decimals = round(-np.log10(exercise.hidden[0].atol))
    assert verdict_on(exercise, rounded(max(4, decimals))).earned == exercise.points


def test_another_number_with_two_decimals_is_not_told_to_be_right_as_far_as_it_goes():
    exercise = exercise_named("context-weights_from_context")
    for value in (
        [0.47, 0.16, 0.36],
        [0.5, 0.2, 0.3],
        [0.48, 0.16],
        [0.48, 0.16, float("nan")],
        "0.48",
        [0.4708, 0.1592, 0.37],
    ):
        assert judge.ROUNDED not in verdict_on(exercise, same_reply(exercise, Reply(value=value))).hints


def test_a_gradient_that_is_alike_by_chance_names_no_mistake():
    exercise = exercise_named("scoring-score_every_step")

    def softmaxed_sums(queries, projected_keys, W_query, v):
        return reference_of(exercise)(queries, projected_keys, W_query.detach(), v)

    dropped = exercise.hints["score_every_step__query_dropped"]
    assert not any(dropped in hint for hint in verdict_on(exercise, replies_of(softmaxed_sums, exercise)).hints)


@pytest.mark.parametrize(
    ("elsewhere", "telling", "differ", "by_chance"),
    [
        ({"wrong"}, {"W"}, set(), True),
        ({"right"}, set(), set(), True),
        ({"right"}, {"W"}, set(), False),
        (set(), set(), {"W"}, True),
        (set(), set(), {"values"}, False),
        (set(), set(), set(), False),
    ],
)
def test_gradients_agree_by_chance_where_values_or_other_gradients_do_not(elsewhere, telling, differ, by_chance):
    match = judge._MistakeMatch(exercise_named("scoring-score_every_step"), changes_input=False)
    match.elsewhere, match.telling, match.differ = elsewhere, telling, differ
    assert bool(match.is_by_chance({"W"})) == by_chance


def test_a_result_that_no_gradient_passes_is_told_so():
    exercise = exercise_named("from_bahdanau_to_transformers-self_attention")
    right = reference_of(exercise)
    verdict = verdict_on(exercise, replies_of(lambda *inputs: right(*inputs).detach(), exercise))
    assert verdict.hints == (judge.NO_GRADIENT,)
    asked = {case.part for case in exercise.hidden if case.gradients}
    assert verdict.earned == exercise.points - sum(exercise.parts[part] for part in asked)


def test_a_slip_of_a_few_digits_is_told_from_one_of_a_value():
    exercise = exercise_named("softmax-masked_softmax")
    right = reference_of(exercise)
    slips = {
        judge.FEW_DIGITS: lambda *inputs: right(*inputs) * (1 + 1e-7),
        judge.compare.full_sentence(judge.compare.SINGLE_PRECISION): lambda *inputs: right(*inputs).astype(np.float32),
    }
    for hint, slip in slips.items():
        verdict = verdict_on(exercise, replies_of(slip, exercise))
        assert verdict.hints == (hint,)
    assert (
        judge.FEW_DIGITS not in verdict_on(exercise, replies_of(lambda *inputs: right(*inputs) * 1.01, exercise)).hints
    )
    (part,) = [part for part in verdict.parts if part.reason]
    assert (part.name, verdict.earned) == ("precision", exercise.points - exercise.parts["precision"])
    assert re.match('In the case ".*", the result is in single precision', part.reason)
    first = (exercise.name, 0)  # one case that is slightly off says nothing about the formula
    once = {**right_replies(exercise), first: Reply(value=exercise.hidden[0].expected * (1 + 1e-7))}
    assert judge.FEW_DIGITS not in verdict_on(exercise, once).hints


def test_a_part_that_is_lost_says_where_it_is_wrong_not_where_digits_are_missing():
    exercise = exercise_named("softmax-masked_softmax")
    replies = right_replies(exercise)
    places = [place for place, case in enumerate(exercise.hidden) if case.part == "values" and not case.also]
    slight, wrong = places[0], places[-1]
    for place, error in ((slight, 1e-6), (wrong, 0.5)):
        replies[exercise.name, place] = Reply(value=exercise.hidden[place].expected + error)
    reasons = {part.name: part.reason for part in verdict_on(exercise, replies).parts if part.reason}
    assert exercise.hidden[wrong].name in reasons["values"]
    assert exercise.hidden[slight].name in reasons[compare.PRECISION]
    assert exercise.hidden[slight].name != exercise.hidden[wrong].name


PRECISE = [name for name in NAMES if compare.PRECISION in ENTRIES[name].parts]


@pytest.mark.parametrize("name", PRECISE)
@pytest.mark.parametrize(("error", "lost"), [(3e-9, 0), (1e-6, compare.PRECISION), (1e-3, "all")])
def test_an_error_of_the_seventh_digit_costs_a_tenth_at_most_and_stock_nbgrader_agrees(name, error, lost):
    exercise = exercise_named(name)

    def shifted(value):
        return value + error * np.abs(value).max(initial=1.0)

    replies = {(name, place): Reply(value=mapped(case.expected, shifted)) for place, case in enumerate(exercise.hidden)}
    verdict = verdict_on(exercise, replies)
    gone = sum(exercise.parts.values()) if lost == "all" else exercise.parts.get(lost, 0)
    assert verdict.earned == pytest.approx(exercise.points - gone)
    assert gone <= 0.1 * exercise.points or lost == "all"
    cases = [
        {"inputs": {"n": n}, "part": case.part, "also": case.also, "expected": case.expected, "atol": case.atol}
        for n, case in enumerate(exercise.hidden)
    ]
    assert compare.score(lambda n: replies[name, n].value, "code", cases, exercise.parts) == verdict.earned


@pytest.mark.parametrize("error", [TypeError, ValueError, OverflowError])
def test_a_value_that_cannot_be_compared_is_wrong(monkeypatch, error):
    def refuse(*_):
        raise error

    monkeypatch.setattr(compare, "mismatches", refuse)
    exercise = exercise_named("softmax-masked_softmax")
    assert "could not be read" in judge.reasons_of(exercise, exercise.hidden[0], Reply(value="text"))[""]


def test_a_complex_number_is_not_right_at_a_glance():
    assert judge._is_exactly_right(RIGHT, RIGHT, 1e-9)
    assert not judge._is_exactly_right(RIGHT.astype(complex), RIGHT, 1e-9)


@pytest.mark.parametrize(
    ("raised", "hint"), [("OverflowError", judge.ONLY_LARGE), ("", judge.ONLY_LARGE), ("IndexError", "")]
)
def test_large_numbers_are_blamed_only_for_what_they_can_cause(raised, hint):
    exercise = exercise_named("scoring-dot_product_score")
    wrong = [
        JudgedCase(place, case, Reply(raised=raised), {"": "wrong"})
        for place, case in enumerate(exercise.hidden)
        if is_large(case)
    ]
    assert wrong
    assert judge._hint_mask_or_size(exercise.hidden, wrong) == hint


def test_an_axis_of_length_1_is_blamed_only_where_half_of_such_cases_are_wrong():
    hidden = exercise_named("output_layer-beam_step").hidden
    ones = sorted((n for n, case in enumerate(hidden) if judge._has_size_one(case)), key=lambda n: is_large(hidden[n]))
    assert not is_large(hidden[ones[0]])

    def hint(count):
        rows = [JudgedCase(place, hidden[place], Reply(value=0.0), {"": "wrong"}) for place in ones[:count]]
        return judge._hint_mask_or_size(hidden, rows)

    half = (len(ones) + 1) // 2
    assert [hint(count) for count in (1, half - 1, half, len(ones))] == ["", "", *[judge.ONLY_SIZE_ONE] * 2]


def rows_with_wrong(exercise, is_wrong):
    return [
        JudgedCase(place, case, Reply(value=case.expected), {"": "wrong" if is_wrong(place, case) else ""})
        for place, case in enumerate(exercise.hidden)
    ]


def test_large_sizes_are_blamed_only_where_nothing_else_is_special():
    exercise = exercise_named("spelling-contexts_exchanged")
    largest = "all sizes as large as they may be"
    near = next(w for case in exercise.hidden for w in case.families if w.endswith("near a limit throughout"))
    rows = rows_with_wrong(exercise, lambda place, case: {largest, near} <= {*case.families})
    wrong = [row for row in rows if row.wrong_entries]
    assert wrong
    assert judge._hint_common_family(exercise, rows, wrong).startswith(
        f"Of our cases, only those with {near} are wrong"
    )


def test_a_gradient_that_is_wrong_in_one_family_alone_is_looked_for_there():
    exercise = exercise_named("softmax-entropy")
    gradients = [case for case in exercise.hidden if case.gradients]
    cold = [case for case in gradients if "a temperature near 0" in case.families]
    assert 0 < len(cold) < len(gradients)
    for wrong, start in ((cold, "Of our cases, only those with a temperature near 0 are wrong: "), (gradients, "")):
        replies = {
            (exercise.name, n): Reply(
                value={**case.expected, "temperature": case.expected["temperature"] / 2 + 1}
                if any(case is each for each in wrong)
                else case.expected
            )
            for n, case in enumerate(exercise.hidden)
        }
        (hint,) = verdict_on(exercise, replies).hints
        whole = f"{judge.GRADIENT_OF.format('temperature')}. {start}"
        assert hint.startswith(whole) if start else hint == judge.WRONG_GRADIENT.format("temperature")


def test_a_mask_is_blamed_where_exactly_cases_with_padding_are_wrong():
    exercise = exercise_named("context-attend")
    wrong = [
        JudgedCase(place, case, Reply(value=0.0), {"": "wrong"})
        for place, case in enumerate(exercise.hidden)
        if any(item.dtype == bool and not item.all() for item in case.inputs.values() if isinstance(item, np.ndarray))
    ]
    assert 0 < len(wrong) < len(exercise.hidden)
    assert judge._hint_mask_or_size(exercise.hidden, wrong) == judge.ONLY_PADDING


def test_a_call_that_raised_agrees_with_no_value_of_a_mistake():
    exercise = exercise_named("softmax-masked_softmax")
    match = judge._MistakeMatch(exercise, changes_input=False)
    row = JudgedCase(0, exercise.hidden[0], Reply(raised="ValueError"), {"": "it raised"})
    match.add_values(row, Outcome(np.zeros((2, 3))), {"": "wrong"})
    assert (match.agree, match.differ, match.elsewhere) == (set(), {""}, set())


def test_a_mistaken_size_that_is_no_size_where_the_right_one_is_1_says_nothing():
    cases = [
        SimpleNamespace(gradients=(), atol=0, mistaken={"half": outcome})
        for outcome in (Outcome((4,)), Outcome(raised=UNREADABLE))
    ]
    exercise = SimpleNamespace(kind="shape", hidden=cases, misses=[{"half": {"": "wrong"}}] * 2)
    replies = [Reply(value=(4,)), Reply(value=(1,))]
    rows = [
        JudgedCase(n, case, reply, {"": "wrong"}) for n, (case, reply) in enumerate(zip(cases, replies, strict=True))
    ]
    assert judge._match_mistake(exercise, "half", rows) == ({""}, set())
    exercise.kind = "code"
    assert judge._match_mistake(exercise, "half", rows) == ({""}, {""})


@pytest.mark.parametrize(
    ("gradients", "raised", "changed", "broken"),
    [
        (("W",), "RuntimeError", (), True),
        (("W",), "RuntimeError", ("keys",), False),
        (("W",), "ValueError", (), False),
        (("W",), "", (), False),
        ((), "RuntimeError", (), False),
    ],
)
def test_autograd_is_broken_where_only_backward_raises_and_no_input_was_changed(gradients, raised, changed, broken):
    case, right = (SimpleNamespace(gradients=each) for each in (gradients, ()))
    rows = [
        JudgedCase(0, case, Reply(raised=raised, changed=changed), {"": "wrong"}),
        JudgedCase(1, right, Reply(value=1.0), {"": ""}),
    ]
    assert bool(judge._autograd_broken(rows)) == broken


def test_a_backward_that_raises_is_said_beside_the_mistakes_that_raise_there(monkeypatch):
    exercise = SimpleNamespace(hints={"frozen": "It is frozen.", "other": "It is another."}, follows={})
    row = JudgedCase(0, SimpleNamespace(gradients=("W",)), Reply(raised="RuntimeError"), {"W": "it raised"})
    agreeing = {"frozen": ({"W"}, set()), "other": (set(), {"W"})}
    monkeypatch.setattr(judge, "_match_mistake", lambda exercise, name, rows: agreeing[name])
    assert judge._hints_of_mistakes(exercise, [row]) == (f"It is frozen. Or: {judge.GRAPH_BROKEN}",)


def test_a_wrong_shape_is_explained_in_letters_where_every_call_gave_one():
    exercise = exercise_named("scoring-batched_additive_shapes")
    entry = next(entry for entry, shape in exercise.hidden[0].expected.items() if len(set(shape)) == len(shape) == 2)
    transposed = {
        (exercise.name, place): Reply(value={**case.expected, entry: case.expected[entry][::-1]})
        for place, case in enumerate(exercise.hidden)
    }
    once = {**right_replies(exercise), (exercise.name, 0): transposed[exercise.name, 0]}
    for replies, in_letters in ((transposed, True), (once, False)):
        (reason,) = [part.reason for part in verdict_on(exercise, replies).parts if part.reason]
        assert "looks transposed" in reason
        assert bool(re.search(r"\([A-Za-z_]+, [A-Za-z_]+\) has the right sizes", reason)) == in_letters


@pytest.mark.parametrize(
    ("name", "mistake"), [("softmax-masked_softmax", "mask_ignored"), ("context-attend", "mask_ignored")]
)
def test_ignoring_the_mask_costs_neither_the_values_nor_precision(name, mistake):
    exercise = exercise_named(name)
    (wrong,) = [each for each in exercise.hints if each.endswith(mistake)]
    replies = {(name, place): Reply(value=case.mistaken[wrong].value) for place, case in enumerate(exercise.hidden)}
    earned = {part.name: part.earned for part in verdict_on(exercise, replies).parts}
    assert earned["masking"] == 0
    assert {part: earned[part] for part in ("values", "precision")} == {
        part: exercise.parts[part] for part in ("values", "precision")
    }
