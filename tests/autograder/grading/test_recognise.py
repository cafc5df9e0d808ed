"""A slip that gives exactly the student's numbers is named, unless by mere chance. See also tests/submissions/told.py."""

import dataclasses
import warnings
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from autograder.audit import calls
from autograder.exercises import reference_of
from autograder.exercises.instrumentation import InstrumentedFunction
from autograder.exercises.mutations import mutations_of, sizes_of
from autograder.grading import judge, recognise
from autograder.grading.recognise import find_equal_sizes, infer_mistake
from autograder.grading.values import JudgedCase
from autograder.sandbox import Reply
from tests.autograder.samples import ENTRIES, NAMES, draw_exercise, exercise_named, replies_of, right_replies

pytestmark = pytest.mark.slow

WORKED = [name for name in NAMES if ENTRIES[name].kind in ("code", "number")]


def said_of(exercise, replies):
    """Return the slip that is inferred from ``replies``, regardless of listed mistakes."""
    rows = []
    for place, case in enumerate(exercise.hidden):
        reply = replies[exercise.name, place]
        rows.append(JudgedCase(place, case, reply, judge.reasons_of(exercise, case, reply)))
    return infer_mistake(exercise, rows)


def changed(exercise, change, only):
    """Return the replies of the reference, with ``change`` applied in the cases that ``only`` selects."""
    replies = right_replies(exercise)
    for number, case in enumerate(exercise.hidden):
        if only(case):
            replies[exercise.name, number] = Reply(value=change(case))
    return replies


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_agrees_in_all_cases_but_one_is_not_named():
    exercise = exercise_named("decoder_fusion-gated_step")

    def first_context(embedded, query, context, *matrices):
        return reference_of(exercise)(embedded, query, context * 0 + context[:1], *matrices)

    replies = replies_of(first_context, exercise)
    assert said_of(exercise, replies) == (
        "We get exactly your numbers if context for the first sentence is used for every sentence."
    )
    place = next(n for n, case in enumerate(exercise.hidden) if n and len(case.inputs["query"]) > 1)
    off = replies[exercise.name, place].value + 0.0123
    assert said_of(exercise, {**replies, (exercise.name, place): Reply(value=off)}) == ""
    again = (exercise.name, len(exercise.hidden) - 1)  # repeats the call of the first case
    assert said_of(exercise, {**replies, again: right_replies(exercise)[again]}) == ""


def test_zeros_in_a_few_cases_come_out_of_too_many_slips_to_name_one():
    exercise = exercise_named("context-attend")
    at_end = "padding at the end"
    replies = changed(
        exercise, lambda case: np.zeros(np.shape(case.expected)), lambda c: at_end in c.families and not c.gradients
    )
    assert said_of(exercise, replies) == ""


def test_a_gradient_of_zeros_with_right_values_names_nothing_but_the_gradient():
    exercise = exercise_named("softmax-entropy")

    def detached(scores, temperature):
        return reference_of(exercise)(scores, temperature.detach())

    replies = replies_of(detached, exercise)
    assert said_of(exercise, replies) == ""  # rounding the temperature would give the same gradient
    (verdict,) = judge.judge([exercise], replies)
    assert not any("We get exactly" in hint for hint in verdict.hints)


def test_one_number_with_as_many_decimals_as_it_has_must_agree_in_all_of_them():
    exercise = exercise_named("output_layer-wider_beam")
    (case,) = exercise.hidden
    right = dict(case.expected)
    negative = {**right, "turn": -right["turn"]}
    assert "opposite sign" in said_of(exercise, {(exercise.name, 0): Reply(value=negative)})
    near = {**right, "turn": round(-right["turn"], 4) + 0.0002}
    assert said_of(exercise, {(exercise.name, 0): Reply(value=near)}) == ""


def test_a_listed_mistake_that_is_made_in_some_cases_only_is_said_with_where():
    exercise = exercise_named("encoder-rnn_states")
    reference = reference_of(exercise)

    def transposed_if_large(embedded, W_x, W_h):
        return reference(embedded, W_x, W_h.T if len(W_h) > W_x.shape[1] else W_h)

    (verdict,) = judge.judge([exercise], replies_of(transposed_if_large, exercise))
    (hint,) = verdict.hints
    assert hint.endswith(exercise.hints["rnn_states__transposed"])
    assert hint.startswith("Of our cases, only ")


def test_a_result_that_is_changed_in_some_cases_only_is_said_to_be():
    exercise = dataclasses.replace(exercise_named("decoder_fusion-gated_step"))
    replies = changed(exercise, lambda case: 2 * case.expected, lambda case: "large" not in " ".join(case.families))
    assert said_of(exercise, replies).endswith("if your result is doubled.")


def test_a_term_of_a_formula_is_named_and_not_the_use_of_a_variable_in_it_too():
    exercise = dataclasses.replace(exercise_named("scoring-gradients_by_hand"))
    query, keys = np.array([2.0, -1.0, 3.0]), np.array([[1.0, 0.0, 3.0], [-2.0, 1.0, 1.0]])
    hidden, by_score = np.array([[0.6, 0.0], [-0.8, 0.6]]), np.array([1.0, -1.0])

    def added():
        inside = by_score[:, None] * np.array([5.0, -10.0]) * (1 + hidden**2)
        matrices = {"W_query": np.outer(inside.sum(axis=0), query), "W_key": inside.T @ keys}
        return {"inside": inside, "v": by_score @ hidden, **matrices}

    expected = "We get exactly your numbers if the term with the vector multiplied by v is added instead of subtracted."
    assert said_of(exercise, replies_of(added, exercise)) == expected


def test_a_variation_that_is_made_in_some_cases_only_is_said_with_where():
    exercise = exercise_named("decoder_fusion-gated_step")

    def only(case):
        return any("embedded" in words for words in case.families) and len(case.inputs["query"]) > 1

    def first(case):
        inputs = {**case.inputs, "context": np.broadcast_to(case.inputs["context"][:1], case.inputs["context"].shape)}
        return reference_of(exercise)(**inputs)

    message = said_of(exercise, changed(exercise, first, only))
    assert message.endswith("context for the first sentence is used for every sentence.")


def test_sizes_that_are_alike_in_all_wrong_cases_and_in_no_right_one_are_found():
    exercise = exercise_named("decoder_fusion-mended_note_a")
    first, second = "key_size", "embedding_size"

    def alike(case):
        sizes = sizes_of(exercise, case.inputs)
        return sizes[first] == sizes[second] != 1

    wrong = [case for case in exercise.hidden if alike(case)]
    right = [case for case in exercise.hidden if not alike(case)]
    assert find_equal_sizes(exercise, wrong, right) == (first, second)
    assert find_equal_sizes(exercise, wrong, [*right, wrong[0]]) is None


def test_a_mistake_that_is_made_only_where_sizes_are_alike_is_said_with_them():
    exercise = exercise_named("decoder_fusion-mended_note_a")
    mistake = next(iter(exercise.hints))

    def alike(case):
        sizes = sizes_of(exercise, case.inputs)
        return sizes["key_size"] == sizes["embedding_size"] != 1

    def slip(case):
        return case.mistaken[mistake].value

    assert "key_size and embedding_size are equal" in said_of(exercise, changed(exercise, slip, alike))


def test_a_tensor_that_is_written_into_is_said_beside_a_mistake_that_raises_the_same():
    exercise = exercise_named("encoder-annotate")

    def in_place(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
        size, keep = len(W_h), source_mask.unsqueeze(-1)
        out = embedded.new_zeros(len(embedded), embedded.shape[1] + 2, 2 * size)
        for j in range(embedded.shape[1]):
            out[:, j + 1, :size] = torch.tanh(embedded[:, j] @ W_x.T + out[:, j, :size] @ W_h.T) * keep[:, j]
        for j in reversed(range(embedded.shape[1])):
            new = torch.tanh(embedded[:, j] @ W_x_back.T + out[:, j + 2, size:] @ W_h_back.T)
            out[:, j + 1, size:] = new * keep[:, j]
        return out[:, 1:-1]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        verdict = calls.verdict_on(in_place, exercise)
    assert judge.GRAPH_BROKEN in " ".join(verdict.hints)


def test_the_same_answer_is_told_the_same_whatever_was_judged_before():
    exercise = exercise_named("scoring-additive_score")

    def last_query(query, keys, W_query, W_key, v, place):
        return reference_of(exercise)(query * 0 + query[place], keys, W_query, W_key, v)

    last, first = (replies_of(partial(last_query, place=place), exercise) for place in (-1, 0))
    message = said_of(exercise, last)
    assert "last sentence" in message
    assert "first sentence" in said_of(exercise, first)
    assert said_of(exercise, last) == message


def test_a_choice_among_a_few_numbers_is_no_number_that_came_out_of_a_slip():
    exercise = exercise_named("softmax-broken_maps")
    (case,) = exercise.hidden
    for name, right in case.expected.items():
        for number in range(1, 7):
            value = {**case.expected, name: number}
            if number != right:
                assert said_of(exercise, {(exercise.name, 0): Reply(value=value)}) == ""


@pytest.mark.parametrize("filled", [np.finfo(float).min, np.finfo(float).max])
def test_the_largest_number_that_there_is_is_judged_as_any_other(filled):
    exercise = exercise_named("softmax-masked_softmax")
    replies = changed(exercise, lambda case: np.where(case.expected > 0, case.expected, filled), lambda case: True)
    (verdict,) = judge.judge([exercise], replies)
    assert verdict.earned < verdict.points


def test_of_another_shape_only_what_a_listed_mistake_has_is_looked_through(monkeypatch):
    exercise = exercise_named("scoring-additive_score")

    def refuse(*args, **more):
        raise AssertionError("a student's numbers are as many as they like")

    monkeypatch.setattr(recognise, "_is_significant", refuse)
    many = changed(exercise, lambda case: np.ones(1000 * np.size(case.expected)), lambda case: True)
    assert said_of(exercise, many) == ""


def test_nan_alone_names_a_way_of_taking_the_softmax_or_nothing():
    def only_high_rows_are_shifted(scores, source_mask=None):
        real = scores if source_mask is None else np.where(source_mask, scores, -np.inf)
        top = real.max(axis=-1, keepdims=True)
        powers = np.exp(real - np.where(top > 500, top, 0.0))
        sums = powers.sum(axis=-1, keepdims=True)
        return powers / np.where((top > -np.inf) | (sums > 0), sums, 1)

    def nothing_is_subtracted(scores, source_mask=None):
        powers = np.exp(scores) * (1 if source_mask is None else source_mask)
        sums = powers.sum(axis=-1, keepdims=True)
        return powers / np.where(sums == 0, 1, sums)

    exercise = exercise_named("softmax-masked_softmax")
    with np.errstate(all="ignore"):
        assert said_of(exercise, replies_of(only_high_rows_are_shifted, exercise)) == ""
        assert "large ones overflow" in said_of(exercise, replies_of(nothing_is_subtracted, exercise))


def wrong_everywhere(exercise):
    """Return replies in which every number is off by a different amount, the same in repeated calls."""

    def off(value):
        if isinstance(value, dict):
            return {name: off(item) for name, item in value.items()}
        return value + np.linspace(0.11, 0.83, np.size(value)).reshape(np.shape(value))

    return {(exercise.name, n): Reply(value=off(case.expected)) for n, case in enumerate(exercise.hidden)}


def test_the_search_for_one_answer_runs_no_more_variations_than_it_may(monkeypatch):
    exercise = draw_exercise("scoring-additive_score", 11)
    monkeypatch.setattr(recognise, "MAX_WORK", 40 * mutations_of(exercise).work(0) + 1)
    runs = []
    run = InstrumentedFunction.run
    monkeypatch.setattr(
        InstrumentedFunction, "run", lambda self, *arguments: runs.append(arguments) or run(self, *arguments)
    )
    assert said_of(exercise, wrong_everywhere(exercise)) == ""
    assert 20 < len(runs) <= 41  # including one unchanged run, which lists the values


def test_where_the_search_ends_does_not_depend_on_what_was_judged_before(monkeypatch):
    exercise = draw_exercise("scoring-additive_score", 12)
    reference = reference_of(exercise)

    def last_query(query, keys, W_query, W_key, v):
        return reference(query * 0 + query[-1], keys, W_query, W_key, v)

    replies, messages, most = replies_of(last_query, exercise), {}, recognise.MAX_WORK
    for work in (most, 100, 3000, most, 100, 3000):
        monkeypatch.setattr(recognise, "MAX_WORK", work)
        message = said_of(exercise, replies)
        assert messages.setdefault(work, message) == message
    assert messages[100] != messages[most]
    assert "last sentence" in messages[most]


MANY_ARGUMENTS = (  # they have so many variations that only the simplest can be looked for
    "capstone-assemble",
    "from_bahdanau_to_transformers-transformer_block",
)


@pytest.mark.parametrize("name", [name for name in WORKED if name not in MANY_ARGUMENTS])
def test_every_variation_can_be_looked_for_once(name):
    """Otherwise the last ones could never be named, however obvious."""
    exercise = exercise_named(name)
    place = next(n for n, case in enumerate(exercise.hidden) if not case.gradients)
    assert len(mutations_of(exercise).all) * mutations_of(exercise).work(place) <= recognise.MAX_WORK


def wrong_case(*numbers):
    return SimpleNamespace(wrong_numbers=np.array(numbers), case=SimpleNamespace(atol=0.01))


@pytest.mark.parametrize(
    ("kind", "cases", "everywhere", "significant"),
    [
        ("code", [[0, 0], [0, 0]], True, True),
        ("code", [[0, 0], [0, 0]], False, False),
        ("code", [[0, 0], [0], [0]], True, True),
        ("code", [[0], [0]], True, False),
        ("code", [[0, 0, 0, 0]], True, False),
        ("code", [[0.5, 0.25]], False, True),
        ("code", [[0.5, 0.005]], False, False),  # within the tolerance of 0
        ("code", [[0.5, -1.005]], False, False),  # within the tolerance of -1
        ("code", [[0.5, 2.0]], False, False),
        ("number", [[10.0]], False, False),
        ("number", [[11.0]], False, True),
        ("number", [[2.5]], False, True),
        ("number", [[0.0]], True, False),
    ],
)
def test_numbers_that_many_slips_give_count_only_where_there_are_many(kind, cases, everywhere, significant):
    wrong = [wrong_case(*numbers) for numbers in cases]
    assert recognise._is_significant(SimpleNamespace(kind=kind), wrong, everywhere) == significant


@pytest.mark.parametrize("count", range(4))
def test_one_or_two_mistakes_are_named_and_more_are_not(count, monkeypatch):
    monkeypatch.setattr(recognise, "_explains", lambda *_: True)
    monkeypatch.setattr(recognise, "_is_significant", lambda *_, **more: True)
    monkeypatch.setattr(recognise, "_describe_cases", lambda *_: "those with padding")
    names = [f"Mistake {number}." for number in range(count)]
    row = SimpleNamespace(case=SimpleNamespace(mistaken=dict.fromkeys(names)))
    hint = recognise._hint_listed(SimpleNamespace(hints=dict(zip(names, names, strict=True))), [row], [row])
    assert [name for name in names if name in hint] == (names if count <= 2 else [])


def test_what_only_wrong_cases_have_describes_them():
    wrong, right = (
        SimpleNamespace(wrong_entries=wrong, case=SimpleNamespace(families=dict.fromkeys(families)))
        for wrong, families in (([""], ("a long row", "padding")), ([], ("a long row",)))
    )
    assert recognise._describe_cases(None, [wrong, right], [wrong]) == "those with padding"


@pytest.mark.parametrize(
    ("number", "tolerance"), [(0.1234, 0.51e-4), (0.12345, 0.51e-5), (0.123456, 0.51e-6), (0.12345678, 0.51e-7)]
)
def test_numbers_worked_by_hand_must_agree_within_half_a_unit_of_their_last_decimal(number, tolerance):
    assert recognise._tolerance_for(np.array([number]), 1.0) == pytest.approx(tolerance)
    assert recognise._tolerance_for(np.array([number]), 1e-9) == 1e-9


@pytest.mark.parametrize(
    ("value", "agrees"),
    [
        (np.array([0.0, 0.5]), True),
        (np.array([0.0, 0.6]), False),
        (np.array([0.5]), False),
        (np.array([[0.0, 0.5]]), False),
        ("no array", True),
    ],
)
def test_what_has_not_the_students_first_wrong_number_is_looked_at_no_further(value, agrees):
    assert recognise._may_agree(value, ("", (1,), 0.5, 1e-9)) == agrees
