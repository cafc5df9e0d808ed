"""The key alone states what inputs may be: the paragraph for students and the drawn inputs follow from it."""

import re

import numpy as np
import pytest

from autograder.exercises import reference_of
from autograder.exercises.loading import outcome_of
from autograder.notebooks.assemble import source_notebook
from solutions import answer_key
from solutions.answer_key.domains import describe_inputs, limits
from tests.autograder.samples import NAMES, TOPICS, exercise_named, topic_exercises

pytestmark = pytest.mark.slow

SEEDS = (1, 3)
CODE = [name for name in NAMES if answer_key.load(name.split("-")[0])[name].kind == "code"]


def test_the_paragraph_says_limits_masks_and_sizes():
    assert describe_inputs(exercise_named("softmax-entropy").entry) == (
        "*Inputs.* Entries of `scores` lie between −1 000 and 1 000. Those of `temperature` lie between 0.05 and 20. "
        "Each size is 1 to 12."
    )
    assert describe_inputs(exercise_named("encoder-annotate").entry) == (
        "*Inputs.* Entries lie between −10 and 10. Padding occurs only at the end of a row of `source_mask` and never fills "
        "it; there, `embedded` may hold numbers up to ±10¹⁴⁰. Each size is 1 to 12, `source_len` up to 40."
    )
    assert (
        "Padding may occur anywhere in `source_mask` and may fill a row; there, `scores` may hold numbers up to ±10³⁰⁰, and "
        "`keys` up to ±10¹⁴⁰."
    ) in describe_inputs(exercise_named("context-attend").entry)
    beam = describe_inputs(exercise_named("output_layer-beam_step").entry)
    assert beam.startswith(
        "*Inputs.* Entries of `scores` lie between −1 000 and 0. `log_probabilities` are at least −100"
    )
    assert beam.endswith("Each size is 1 to 12, `vocab_size` 2 to 300.")
    assert describe_inputs(exercise_named("capstone-exact_match").entry) == (
        "*Inputs.* Entries of `words` are whole numbers (`int64`) from 0 to 999, words in `target` "
        "from 3 to 999. Each size is 1 to 40."
    )
    assert (
        "from 0 to `source_vocab` − 1, words in `target` from 3 to `target_vocab` − 1, entries of `limits` from 1"
        in (describe_inputs(exercise_named("capstone-assemble").entry))
    )
    assert (
        "Entries of `links` are whole numbers (`int64`) from −1 to `source_len` − 1, those of `hand` from 0 to 2."
        in (describe_inputs(exercise_named("spelling-alignment_error_rate").entry))
    )
    assert "*Inputs.* Entries of `written` and `wanted` are whole numbers (`int64`) from 3 to 41." in describe_inputs(
        exercise_named("spelling-edit_distance").entry
    )
    assert not describe_inputs(exercise_named("softmax-score_differences").entry)
    assert not describe_inputs(None)
    for name, whose in (
        ("decoder_fusion-decoder_step", "of real words"),
        ("capstone-assemble", "of real words"),
        (
            "from_bahdanau_to_transformers-self_attention",
            "between real words",
        ),  # the query of padding scores words, too
        ("from_bahdanau_to_transformers-transformer_block", "between real words"),
    ):
        assert f"Scores {whose} stay within" in describe_inputs(exercise_named(name).entry)


@pytest.mark.parametrize("topic", TOPICS)
def test_every_question_in_code_ends_with_the_paragraph(topic):
    exercises = topic_exercises(topic)
    cells = {cell.metadata.nbgrader.grade_id: cell.source for cell in source_notebook(topic, exercises).cells}
    for exercise in exercises:
        paragraph = describe_inputs(exercise.entry)
        assert not re.search(r"` and `\w+` (contains|has|is|lies) ", paragraph)
        assert bool(paragraph) == (exercise.kind == "code")
        assert paragraph in cells[f"{exercise.name}-text"]


def words_of(exercise, case, name):
    """Return an index of the entries of the argument ``name`` that are not pads."""
    arguments = exercise.entry.arguments
    for mask, argument in arguments.items():
        if (
            argument.kind == "mask"
            and mask in case.inputs
            and arguments[name].axes[: len(argument.axes)] == argument.axes
        ):
            return np.asarray(case.inputs[mask])
    return ...


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", CODE)
def test_inputs_keep_to_their_limits_and_reach_both(name, seed):
    exercise = exercise_named(name, seed)
    for argument, declared in exercise.entry.arguments.items():
        if not (bounds := limits(declared)):
            continue
        low, high = bounds
        arrays = [
            np.asarray(case.inputs[argument], dtype=float)[words_of(exercise, case, argument)]
            for case in exercise.hidden
            if argument in case.inputs
        ]
        numbers = np.concatenate([item.ravel() for item in arrays])
        assert low == numbers.min()
        assert high == numbers.max()


@pytest.mark.parametrize("name", CODE)
def test_all_limits_are_reached_together_with_values_and_with_gradients(name):
    exercise = exercise_named(name)
    bounded = {name: limits(argument) for name, argument in exercise.entry.arguments.items() if limits(argument)}
    letters = {letter for argument in exercise.entry.arguments.values() for letter in argument.letters}
    longest = {letter: exercise.entry.most.get(letter, 12) for letter in letters}
    found = set()
    for case in exercise.hidden if bounded else ():
        sizes = {}
        for argument, item in case.inputs.items():
            sizes |= dict(zip(exercise.entry.arguments[argument].axes, np.shape(item), strict=True))
        near = all(
            (
                np.minimum(abs(case.inputs[argument] - low), abs(case.inputs[argument] - high)) < 0.02 * (high - low)
            ).all()
            for argument, (low, high) in bounded.items()
            if argument in case.inputs
        )
        if near and all(sizes.get(letter) == length for letter, length in longest.items()):
            found.add(bool(case.gradients))
    with_gradients = exercise.entry.gradients and not exercise.entry.reaches
    assert found == ({False, True} if with_gradients else {False} if bounded else set())


REAL = [name for name in CODE if "precision" in answer_key.load(name.split("-")[0])[name].parts]


def test_every_function_whose_results_are_real_numbers_has_a_part_for_precision():
    ratios_and_counts = {
        *("capstone-corpus_bleu", "capstone-exact_match", "capstone-noun_alignment", "output_layer-beam_step"),
        *("output_layer-decode", "spelling-edit_distance", "spelling-alignment_error_rate"),
    }
    assert {*CODE} - {*REAL} == ratios_and_counts


@pytest.mark.parametrize("name", CODE)
def test_worked_examples_keep_to_the_limits_too(name):
    exercise = exercise_named(name)
    for argument, declared in exercise.entry.arguments.items():
        low, high = limits(declared) or (-np.inf, np.inf)
        for case in exercise.cases:
            if case.shown and argument in case.inputs:
                numbers = np.asarray(case.inputs[argument], dtype=float)[words_of(exercise, case, argument)]
                assert ((low <= numbers) & (numbers <= high)).all(), (argument, case.name)


@pytest.mark.parametrize("name", CODE)
def test_every_axis_is_long_in_some_case(name):
    exercise = exercise_named(name)
    words = {words for case in exercise.hidden for words in case.families}
    letters = {letter for argument in exercise.entry.arguments.values() for letter in argument.letters}
    assert {f"{letter} = {exercise.entry.most.get(letter, 12)}" for letter in letters} <= words


@pytest.mark.parametrize("name", CODE)
def test_no_case_is_larger_than_the_text_allows(name):
    exercise = exercise_named(name)
    for argument, declared in exercise.entry.arguments.items():
        for case in exercise.cases:
            sizes = dict(zip(declared.axes, np.shape(case.inputs.get(argument, ())), strict=False))
            for letter in sizes.keys() & declared.letters:
                assert sizes[letter] <= exercise.entry.most.get(letter, 12), (argument, case.name, letter)


def shake(item, rng):
    """Return ``item`` with each float moved up or down in its last digit."""
    item = np.asarray(item)
    return item * (1 + 2.0**-52 * rng.choice([-1, 1], item.shape)) if item.dtype.kind == "f" else item


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CODE)
def test_no_case_magnifies_rounding_errors(name):
    exercise = exercise_named(name)
    rng = np.random.default_rng(0)
    for case in exercise.hidden:
        shaken = {name: shake(item, rng) for name, item in case.inputs.items()}
        results = [
            outcome_of(exercise, reference_of(exercise), inputs, case.gradients).value
            for inputs in (case.inputs, shaken)
        ]
        for first, second in zip(*map(numbers_in, results), strict=True):
            assert np.allclose(first, second, rtol=0, atol=case.atol / 100), case.name


def numbers_in(result):
    """Return the result, or each gradient, as arrays."""
    return [*result.values()] if isinstance(result, dict) else [np.asarray(result, dtype=float)]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("range = [2, 1]", r"range is \[2, 1\]"),
        ("range = [1]", r"range is \[1\]"),
        ('most = "many"', "most"),
        ("most = { height = 3 }", "no axis 'height'"),
    ],
)
def test_a_domain_that_cannot_be_read_is_refused(tmp_path, change, reason):
    text = (answer_key.FOLDER / "softmax.toml").read_text(encoding="utf-8")
    old = 'scores = { kind = "scores", axes = ["batch", "source_len"], range = [-10000, 10000] }\n'
    if change.startswith("range"):
        text = text.replace(old, old.replace("range = [-10000, 10000]", change), 1)
    else:
        text = text.replace("points = 4\n", f"points = 4\n{change}\n", 1)
    (tmp_path / "softmax.toml").write_text(text, encoding="utf-8")
    with pytest.raises(answer_key.AnswerKeyError, match=reason):
        answer_key.load("softmax", tmp_path)


def scores_of_heads(queries, vectors, mask, W_query, W_key):
    """Return the scaled dot products of all positions with the real words; queries are (batch, positions, size)."""
    asked = np.einsum("zrq,biq->bzir", W_query, queries)
    offered = np.einsum("zrm,bjm->bzjr", W_key, np.where(mask[..., None], vectors, 0.0))
    return np.einsum("bzir,bzjr->bzij", asked, offered) / np.sqrt(W_key.shape[1])


SCORES_OF = {
    "multi_head": lambda c: scores_of_heads(c["query"][:, None], c["keys"], c["source_mask"], c["W_query"], c["W_key"]),
    "self_attention": lambda c: scores_of_heads(
        np.where(c["mask"][..., None], c["states"], 0.0), c["states"], c["mask"], c["W_query"][None], c["W_key"][None]
    ),
    "transformer_block": lambda c: scores_of_heads(
        np.where(c["mask"][..., None], c["states"], 0.0), c["states"], c["mask"], c["W_query"], c["W_key"]
    ),
}


@pytest.mark.parametrize("function", SCORES_OF)
def test_scores_of_real_words_come_near_what_the_text_states_and_not_above(function):
    exercise = exercise_named(f"from_bahdanau_to_transformers-{function}")
    largest = max(abs(SCORES_OF[function](case.inputs)).max() for case in exercise.hidden)
    assert 0.5 * exercise.entry.reaches < largest <= exercise.entry.reaches
