"""Hidden cases cover corner cases by construction, so that nobody has to think of each one."""

import inspect
import itertools
import re

import numpy as np
import pytest

from autograder.exercises import covering, families, reference_of
from solutions.answer_key import AnswerKeyError
from solutions.answer_key.domains import LONGEST, limits
from tests.autograder.exercises.toys import toy
from tests.autograder.samples import ENTRIES, NAMES, exercise_named

CODE = [name for name in NAMES if ENTRIES[name].kind == "code"]
each_code = pytest.mark.parametrize("name", CODE)
WITH_ARGUMENTS = """
[toy-double]
kind = "code"
points = 2

[toy-double.arguments]
x = { kind = "scores", axes = ["batch", "source_len"] }

[[toy-double.case]]
name = "worked example"
shown = true
inputs.x = [1.0, 2.0]
expected = [2.0, 4.0]
atol = 1e-9
"""


def arguments_of(name):
    return exercise_named(name).entry.arguments


def optional_arguments_of(name):
    parameters = inspect.signature(reference_of(exercise_named(name))).parameters.values()
    return frozenset(parameter.name for parameter in parameters if parameter.default is not parameter.empty)


def factors_of(name):
    return covering._factors(exercise_named(name).entry, optional_arguments_of(name))


@each_code
def test_every_exercise_of_code_draws_its_hidden_cases_from_families(name):
    exercise = exercise_named(name)
    assert exercise.entry.arguments
    assert 20 <= len(exercise.hidden) <= 205
    assert len(exercise.entry.cases) - len(exercise.shown) <= 12


@each_code
def test_every_pair_of_families_of_two_arguments_meets_in_some_case(name):
    factors = factors_of(name)
    plans = [covering._families_of(plan) for plan in covering._plans(factors)]
    kinds = {argument: families.KINDS[a.kind] for argument, a in arguments_of(name).items()}
    for (first, first_families), (second, second_families) in itertools.combinations(kinds.items(), 2):
        met = {(plan[first].name, plan[second].name) for plan in plans}
        for level, beside in itertools.product(first_families, second_families):
            out = level.name in arguments_of(name)[first].without or beside.name in arguments_of(name)[second].without
            lacks_pads = (level.needs_pads and not beside.pads) or (beside.needs_pads and not level.pads)
            hides = (level.alone and beside.words) or (beside.alone and level.words)
            pair = (first, level.name, second, beside.name)
            assert out or lacks_pads or ((level.name, beside.name) in met) != bool(hides), pair


@each_code
def test_every_size_is_one_somewhere_and_every_two_axes_of_an_argument_are_alike_somewhere(name):
    exercise = exercise_named(name)
    plain = [case for case in exercise.hidden if not case.gradients]
    for argument, declared in exercise.entry.arguments.items():
        shapes = [case.inputs[argument].shape for case in plain if argument in case.inputs]
        shapes = [shape for shape in shapes if len(shape) == len(declared.axes)]
        sums = [axis for axis, letters in enumerate(declared.axes) if "+" in str(letters)]
        several = [letter for letter, count in exercise.entry.least.items() if count > 1]
        for axis, letter in enumerate(declared.axes):
            assert axis in sums or letter in several or any(shape[axis] == 1 for shape in shapes)
        for first, second in itertools.combinations(range(len(declared.axes)), 2):
            assert any(shape[first] == shape[second] > 1 for shape in shapes)
            if declared.axes[first] != declared.axes[second]:
                assert any(shape[first] < shape[second] for shape in shapes)
                assert any(shape[first] > shape[second] for shape in shapes) or {first, second} & {*sums}


@each_code
def test_gradients_are_asked_in_every_family_of_every_argument(name):
    exercise = exercise_named(name)
    with_gradients = {words for case in exercise.hidden if case.gradients for words in case.families}
    all_words = {words for case in exercise.hidden for words in case.families}
    all_words = {words for words in all_words if "equal to" not in words and "earlier call" not in words} - {
        "all sizes equal"
    }
    singles = {words for case in exercise.hidden if len(case.families) == 1 for words in case.families} & all_words
    if exercise.entry.reaches:  # there, they would be small differences of large numbers
        singles = {words for words in singles if not words.endswith("near a limit throughout")}
    without = {family.words for kind in families.KINDS.values() for family in kind if family.asks_for_words}
    singles -= {words.format("limits") for words in without}  # words have no gradients
    assert (
        bool(with_gradients)
        == bool(exercise.entry.gradients)
        == (exercise.in_torch and name != "output_layer-beam_step")
    )
    assert not with_gradients or singles <= with_gradients


@each_code
def test_gradients_of_saturated_states_are_asked_where_a_vector_keeps_the_scores_small(name):
    exercise = exercise_named(name)
    declared = exercise.entry.arguments
    vectors = [argument for argument, a in declared.items() if a.axes == covering.SCORE_VECTOR]
    if not (exercise.entry.reaches and exercise.entry.gradients and vectors):
        near = [case for case in exercise.hidden if case.gradients and "near a limit throughout" in case.name]
        assert not (exercise.entry.reaches and near)
        return
    near = [argument for argument, a in declared.items() if limits(a) and argument not in vectors]
    words = f"{', '.join(near)} near a limit throughout"
    (case,) = (case for case in exercise.hidden if case.gradients and words in case.families)
    masks = [case.inputs[argument] for argument, a in declared.items() if a.kind == "mask"]
    for argument in near:
        numbers = np.abs(case.inputs[argument])
        at_words = numbers[masks[0]] if masks and declared[argument].kind == "annotations" else numbers
        assert at_words.min() > 0.9 * limits(declared[argument])[1]
    assert max(np.abs(case.inputs[vector]).max() for vector in vectors) < 10


@each_code
def test_beside_a_size_of_one_no_number_is_large_enough_to_hide_what_is_asked(name):
    for plan in covering._plans.__wrapped__(factors_of(name)):
        special = {family.advice for family in covering._families_of(plan).values() if family.words}
        assert not plan[covering.SIZES].ones or families.WHERE_LARGE not in special


@each_code
def test_numbers_at_pads_are_drawn_only_beside_a_mask_that_has_some(name):
    for plan in covering._plans.__wrapped__(factors_of(name)):
        drawn = [level.family for argument, level in plan.items() if argument != covering.SIZES]
        assert any(family.pads for family in drawn) or not any(family.needs_pads for family in drawn)


@each_code
def test_gradients_are_asked_of_numbers_at_pads_which_need_a_mask_that_is_special_too(name):
    entry = exercise_named(name).entry
    cases = [*covering.pairwise_cases(entry, optional_arguments_of(name), np.random.default_rng(0))]
    without_gradients, with_gradients = (
        {w for c in cases if c.gradients == which for w in c.families} for which in ((), entry.gradients)
    )
    for argument, declared in arguments_of(name).items():
        assert {
            f.words.format(argument) for f in families.KINDS[declared.kind] if f.needs_pads
        } & without_gradients <= with_gradients


@each_code
def test_each_size_is_equal_somewhere_to_an_axis_that_is_made_of_others(name):
    entry = exercise_named(name).entry
    cases = covering.pairwise_cases(entry, optional_arguments_of(name), np.random.default_rng(0))
    all_words = {words for case in cases for words in case.families}
    for argument in entry.arguments.values():
        composed_axes = [axis for axis in argument.axes if " " in str(axis)]
        for axis, letter in itertools.product(composed_axes, argument.letters):
            assert letter in axis or f"{letter} equal to {axis}" in all_words


@each_code
def test_gradients_are_asked_where_one_thing_at_most_is_special_beside_a_mask_or_all_is_at_its_limit(name):
    of_masks = {family.words for family in families.MASK}
    joint = re.compile("near a limit|as large as they may be|whole numbers|units apart")
    for case in exercise_named(name).hidden:
        special = {words for words in case.families if words not in of_masks}
        assert not case.gradients or len(special) <= 1 or all(map(joint.search, special))


@each_code
def test_each_part_has_a_case_of_its_own_and_a_case_of_several_says_which(name):
    exercise = exercise_named(name)
    for case in exercise.hidden:
        assert case.part in exercise.parts
        assert case.part not in case.also
        assert {*case.also} <= {*exercise.parts}
    assert {case.part for case in exercise.hidden if not case.also} == {*exercise.parts} - {"precision"}


def test_what_is_special_in_a_case_is_its_name():
    entry = exercise_named("context-attend").entry
    cases = {case.name: case for case in covering.pairwise_cases(entry, frozenset(), np.random.default_rng(0))}
    assert not cases["padding before a word"].inputs["source_mask"][:, 0].any()
    assert cases["large scores"].part == "large_scores"
    assert np.abs(cases["large scores"].inputs["scores"]).max() > 1000
    both = next(case for name, case in cases.items() if "padding before a word" in name and "large scores" in name)
    assert (both.part, both.also) == ("large_scores", ("masking",))


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ('kind = "scores"', 'kind = "score"', "argument x: kind 'score' is not known"),
        ('"source_len"]', '"source_len"], without = ["pads"]', "argument x: scores has no family 'pads'"),
        ("x = { kind", "y = { kind", "`arguments` has y"),
        (
            "points = 2",
            "points = 2\nparts = { values = 1, gradient = 1 }",
            "no hidden case is about part 'gradient' alone",
        ),
        (
            "points = 2",
            "points = 2\nparts = { values = 1.79, precision = 0.21 }",
            r"precision has 0.21 of 2 points\n  Remedy: give it at most a tenth",
        ),
        (
            "points = 2",
            "points = 2\nparts = { precision = 0.2, values = 1.8 }",
            "precision is the first part",
        ),
        (
            "[toy-double.arguments]",
            "parts = { values = 1.8, precision = 0.2 }\n\n[[toy-double.case]]\nname = 'a'\npart = 'precision'\n"
            "inputs.x = [[1.0, 2.0]]\n\n[toy-double.arguments]",
            "a case is about precision",
        ),
    ],
)
def test_arguments_that_cannot_be_drawn_are_refused(tmp_path, old, new, reason):
    with pytest.raises(AnswerKeyError, match=reason):
        toy(tmp_path, key=WITH_ARGUMENTS, old=old, new=new)


def test_a_toy_with_one_argument_has_a_case_for_each_of_its_families(tmp_path):
    (exercise,) = toy(tmp_path, key=WITH_ARGUMENTS)
    all_words = {words for case in exercise.hidden for words in case.families}
    assert {"x all equal", "large x", "sentences whose x are far apart", "all sizes 1"} <= all_words
    assert "batch equal to source_len" in all_words


def test_every_family_meets_the_smallest_sizes_that_the_key_allows():
    names = [case.name for case in exercise_named("output_layer-beam_step").hidden]
    for words in ("one hypothesis far ahead", "hypotheses that prefer the same words", "a word that is certain"):
        assert any(words in name and "vocab_size = 2" in name for name in names), words


@pytest.mark.parametrize("name", ["scoring-additive_score", "decoder_fusion-luong_step"])
def test_each_argument_changes_alone_in_some_call(name):
    exercise = exercise_named(name)
    (plain,) = [case for case in exercise.hidden if case.name == "ordinary numbers"]
    alone = [case for case in exercise.hidden if case.name.endswith(" in another order") and ", " in case.name]
    changed = [
        [key for key, item in case.inputs.items() if not np.array_equal(item, plain.inputs[key])] for case in alone
    ]
    masks = {argument for argument, declared in exercise.entry.arguments.items() if declared.kind == "mask"}
    assert changed == [[argument] for argument in list(exercise.entry.arguments)[1:] if argument not in masks]


@pytest.mark.parametrize("name", ["softmax-masked_softmax", "decoder_fusion-luong_step", "context-attend"])
def test_the_mask_changes_alone_in_the_call_before_the_repeated_ones(name):
    exercise = exercise_named(name)
    (plain,) = [case for case in exercise.hidden if case.name == "ordinary numbers"]
    *_, case = [case for case in exercise.hidden if not case.name.endswith("once more after all others")]
    changed = [key for key, item in case.inputs.items() if not np.array_equal(item, plain.inputs.get(key))]
    assert changed == [argument for argument, declared in exercise.entry.arguments.items() if declared.kind == "mask"]
    assert case.inputs[changed[0]].any(axis=-1).all()  # every sentence has a word


@each_code
def test_the_first_case_and_the_first_with_gradients_are_called_again_at_the_end(name):
    hidden = exercise_named(name).hidden
    again = [case for case in hidden if case.name.endswith("once more after all others")]
    assert hidden[-len(again) :] == tuple(again)
    first = [*[case for case in hidden if case.gradients][:1], hidden[0]]
    assert [(case.inputs, case.gradients) for case in again] == [(case.inputs, case.gradients) for case in first]


@pytest.mark.parametrize("name", ["scoring-additive_score", "decoder_fusion-luong_step"])
def test_each_argument_changes_in_its_last_numbers_alone_in_some_call(name):
    exercise = exercise_named(name)
    (plain,) = [case for case in exercise.hidden if case.name == "ordinary numbers"]
    numbers = [name for name, declared in exercise.entry.arguments.items() if declared.kind != "mask"]
    for argument in numbers:
        (case,) = [c for c in exercise.hidden if c.name.endswith(f"the last two numbers of {argument} exchanged")]
        changed = [key for key, item in case.inputs.items() if not np.array_equal(item, plain.inputs[key])]
        assert changed == [argument]
        before, now = plain.inputs[argument].flatten(), case.inputs[argument].flatten()
        assert [*now] == [*before[:-2], before[-1], before[-2]]


@pytest.mark.parametrize("name", ["output_layer-logits_gradient", "output_layer-cross_entropy"])
def test_some_call_has_as_many_words_as_there_may_be(name):
    assert max(case.inputs["target_mask"].sum() for case in exercise_named(name).hidden) == LONGEST**2


def test_huge_numbers_at_padding_do_not_widen_the_tolerance_of_gradients():
    cases = [case for case in exercise_named("context-attend").hidden if case.gradients]
    assert max(np.abs(case.inputs["keys"]).max() for case in cases) > 1e100
    assert max(case.atol for case in cases) <= 1e-8 * 10_000


@each_code
def test_a_single_word_also_stands_in_a_single_sentence(name):
    factors = factors_of(name)
    plans = covering._plans.__wrapped__(factors)
    for argument, levels in factors[:-1]:
        for level in [level for level in levels if level.family.name == families.ONE_WORD]:
            ones = {frozenset([level.argument.axes[0]])}
            assert ones <= {plan[covering.SIZES].ones for plan in plans if plan[argument] == level}


def test_what_another_argument_asks_for_meets_every_family_of_sizes_and_all_limits():
    exercise = exercise_named("output_layer-decode")
    entry = exercise.entry
    sizes = {family.words for family in (*covering._sizes(entry.arguments, entry.least), *covering._long_sizes(entry))}
    at_limits = {"state, embeddings, W_s, W_o near a limit throughout", "all sizes as large as they may be"}
    drawing = [set(case.families) for case in exercise.hidden if "words drawn by uniforms" in case.families]
    assert (sizes - {""}) | at_limits <= set().union(*drawing)
    assert at_limits | {"words drawn by uniforms"} in drawing


def test_an_argument_that_asks_for_something_else_is_left_out_of_the_ordinary_call():
    ordinary = exercise_named("output_layer-decode").hidden
    first = next(case for case in ordinary if case.name == covering.PLAIN)
    assert "uniforms" not in first.inputs
    entry = exercise_named("output_layer-decode").entry
    needed = dict(covering._factors(entry, frozenset()))
    assert families.LEFT_OUT not in [level.family for level in needed["uniforms"]]
    optional = dict(covering._factors(entry, frozenset({"uniforms"})))
    assert [level.family for level in optional["uniforms"]] == [*families.KINDS["uniforms"]]


def test_where_words_are_asked_for_no_gradient_is_and_of_many_arguments_some_are_asked_for_gradients():
    entry, rng = ENTRIES["capstone-assemble"], np.random.default_rng(0)
    optional = optional_arguments_of("capstone-assemble")
    drawn = list(itertools.islice(covering.random_cases(entry, optional, rng), 40))
    paired = list(covering.pairwise_cases(entry, optional, rng))
    for calls in (drawn, paired):
        assert any(call.gradients for call in calls)
        assert not [call.name for call in calls if call.gradients and call.inputs.get("limits") is not None]
        assert any(call.inputs.get("limits") is not None for call in calls)
