"""A key that cannot tell right from wrong fails the rule that it breaks; one that is just good enough passes."""

import dataclasses
import json
import types

import numpy as np
import pytest

from autograder.exercises import Outcome, key_linter
from autograder.exercises.packing import compress, unpack_texts, visible_source
from solutions.answer_key import AnswerKeyError
from tests.autograder.exercises.toys import toy
from tests.autograder.samples import TOPICS, exercise_named, notebook_of, topic_exercises

HEAD = '[toy-weigh]\nkind = "code"\npoints = 1\n'
CASES = {
    "worked example": "shown = true\ninputs.scores = [[0.0, 0.0]]\ninputs.mask = [[true, false]]\nexpected = [[1, 0]]",
    "other sizes": "shown = true\nshapes = { scores = [3, 5], mask = { draw = 'mask', shape = [3, 5] } }",
    "all sizes different": "shapes = { scores = [3, 4], mask = { draw = 'mask', shape = [3, 4] } }",
    "large scores": "shapes = { scores = [2, 2], mask = { draw = 'mask', shape = [2, 2] } }\nscale = 5000.0",
    "one sentence": "shapes = { scores = [1, 3], mask = { draw = 'mask', shape = [1, 3] } }",
}
NUMBER = '[toy-by_hand]\nkind = "number"\npoints = 1\natol = 1e-3\n'
SHAPE = '[toy-shapes]\nkind = "shape"\npoints = 1\nparts = { keys = 0.5, W_key = 0.5 }\n'


def weigh(scores, mask):
    """Return the weights."""
    ### BEGIN SOLUTION
    exponentials = np.exp(scores - np.where(mask, scores, -np.inf).max(axis=-1, keepdims=True))
    weights = np.where(mask, exponentials, 0.0)
    return weights / weights.sum(axis=-1, keepdims=True)
    ### END SOLUTION


def weigh__unmasked(scores, mask):
    """Pads have no weight."""
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def weigh__almost(scores, mask):
    """Almost right."""
    return weigh(scores, mask) + 1.5e-8


def weigh_at_random(scores, mask):
    """Return the weights."""
    return weigh(scores, mask) + 1e-9 * np.random.rand()


def weigh_from_a_seed(scores, mask):
    """Return the weights."""
    return weigh(scores, mask) + 1e-9 * np.random.default_rng(3).normal()


def weigh_nothing(scores, mask):
    """Return zeros."""
    return 0 * scores


def weigh_for_nothing(scores, mask):
    """Return the weights. Here the answer stands outside of the markers: the starter has it."""
    return weigh(scores, mask)


def by_hand():
    """Return two numbers."""
    ### BEGIN SOLUTION
    return [0.26019, -0.13371]
    ### END SOLUTION


def by_hand__rounded_early():
    """You rounded too early."""
    return [0.26019, -0.13211]


def by_hand__other():
    """Something else."""
    return [0.5, 0.7]


def shapes(m, a, T_x):
    """Return shapes.

    Returns
    -------
    dict
        ``keys`` and ``W_key``.
    """
    ### BEGIN SOLUTION
    return {"keys": (T_x, m), "W_key": (a, m)}
    ### END SOLUTION


def exercise_from(folder, text, reference, *mistakes):
    return toy(folder, reference, *mistakes, key=text)[0]


def code(folder, reference=weigh, *mistakes, **changed):
    """Return the toy with some of its cases changed; None omits a case."""
    cases = {**CASES, **{name.replace("_", " "): text for name, text in changed.items()}}
    rows = [f'\n[[toy-weigh.case]]\nname = "{name}"\n{text}\n' for name, text in cases.items() if text]
    return exercise_from(folder, HEAD + "".join(rows), reference, *mistakes)


def reasons(exercise, reference, text=""):
    problems = key_linter.lint([exercise], {exercise.function: reference}, text)
    assert all(p.exercise == exercise.name and p.where and p.remedy for p in problems)
    return [problem.reason for problem in problems]


def test_a_key_just_good_enough_passes(tmp_path):
    assert not reasons(code(tmp_path, weigh, weigh__unmasked), weigh)
    assert not reasons(exercise_from(tmp_path, NUMBER, by_hand, by_hand__other), by_hand)
    assert not reasons(exercise_from(tmp_path, SHAPE, shapes), shapes)


def stated(scores, mask, expected=None):
    """Return the text of a handwritten case, which is shown if ``expected`` is given."""
    text = f"inputs.scores = {scores}\ninputs.mask = {mask}"
    return f"shown = true\n{text}\nexpected = {expected}" if expected else text


def alike(number):
    return stated(f"[[{number}, {number}, {number}]]", "[[true, true, false]]")


PADS, EVEN = "[[true, true, false], [true, true, false]]", "[[0.5, 0.5, 0.0], [0.5, 0.5, 0.0]]"
ALL_TRUE = stated("[[0.5, 0.25, 2.0], [1.0, 0.0, 3.0]]", "[[true, true, true], [true, true, true]]")
TWO_BY_TWO = "[[true, true], [true, false]]"
ONE_CASE = {"large_scores": None, "one_sentence": None}
WEAK = {
    "no hidden case masks anything with mask": {
        "all_sizes_different": ALL_TRUE,
        "large_scores": ALL_TRUE.replace("2.0", "2000.0"),
        "one_sentence": stated("[[0.5, 2.0]]", "[[true, true]]"),
    },
    "no hidden case has large scores": {"large_scores": CASES["large scores"].replace("5000", "5")},
    "no hidden case has a size of 1": {"one_sentence": None},
    "no hidden case has all sizes different": {
        "all_sizes_different": CASES["all sizes different"].replace("4", "3"),
    },
    "the input scores is constant in every hidden case": {
        "all_sizes_different": alike(1.0),
        "large_scores": alike(900.0),
        "one_sentence": None,
    },
    "the input scores is an identity matrix in every hidden case": {
        "all_sizes_different": stated("[[1.0, 0.0], [0.0, 1.0]]", TWO_BY_TWO),
        **ONE_CASE,
    },
    "the input scores is symmetric in every hidden case": {
        "all_sizes_different": stated("[[1.0, 2.0], [2.0, 5.0]]", TWO_BY_TWO),
        **ONE_CASE,
    },
    "the test has no effect: a constant passes it": {
        "all_sizes_different": stated("[[900.0, 0.0, 0.5]]", "[[true, false, false]]"),
        "large_scores": None,
        "one_sentence": stated("[[1.5, 0.0, 0.5]]", "[[true, false, false]]"),
    },
    "scores is square": {
        "worked_example": stated("[[0.0, 0.0], [3.0, 0.0]]", "[[true, true], [false, true]]", "[[0.5, 0.5], [0, 1]]"),
    },
    "scores is diagonal": {
        "worked_example": stated("[[1.0, 0.0], [0.0, 1.0]]", "[[true, false], [false, true]]", "[[1, 0], [0, 1]]"),
    },
    "scores has two rows that are equal": {
        "worked_example": stated("[[2.0, 2.0, 7.0], [2.0, 2.0, 7.0]]", PADS, EVEN),
    },
    "one case is shown": {"other_sizes": None},
    "every shown case has one sentence": {"other_sizes": CASES["other sizes"].replace("3, 5", "1, 4")},
    "no shown case of several sentences has all sizes different": {
        "other_sizes": CASES["other sizes"].replace("3, 5", "3, 3"),
    },
}


@pytest.mark.parametrize("reason", WEAK)
def test_a_weak_set_of_cases_and_a_shown_case_that_forgives_a_slip_are_named(tmp_path, reason):
    assert reason in reasons(code(tmp_path, **WEAK[reason]), weigh)


def test_sizes_may_be_equal_without_an_optional_argument_if_they_differ_with_it():
    exercise = exercise_named("scoring-dot_product_score")
    assert not key_linter.lint([exercise])
    cases = tuple(case for case in exercise.cases if case.shown or "W" not in case.inputs or " equal to " in case.name)
    problems = [problem.reason for problem in key_linter.lint([dataclasses.replace(exercise, cases=cases)])]
    assert "no hidden case has all sizes different" in problems


def test_a_single_score_is_neither_square_nor_symmetric(tmp_path):
    single_score = stated("[[0.5]]", "[[true]]", "[[1.0]]")
    assert not [
        reason for reason in reasons(code(tmp_path, worked_example=single_score), weigh) if "scores is" in reason
    ]


def fused(x, y, W):
    """Return W times x and y, joined.

    Every shape is stated.
    """
    ### BEGIN SOLUTION
    return np.concatenate([x, y], axis=-1) @ W.T
    ### END SOLUTION


@pytest.mark.parametrize(("rows", "adds_up"), [(3, True), (4, False)])
def test_sizes_that_add_up_by_chance_are_named_and_those_that_always_do_are_not(tmp_path, rows, adds_up):
    sizes = "x = [{0}, {1}], y = [{0}, {2}], W = [{3}, {4}]"
    cases = {"shown = true\n": (11, 2, 3, rows, 5), "": (2, 3, 8, 4, 11), " ": (1, 2, 5, 4, 7), "  ": (3, 4, 4, 6, 8)}
    text = '[toy-fused]\nkind = "code"\npoints = 1\n' + "".join(
        f'\n[[toy-fused.case]]\nname = "{n}"\n{shown}shapes = {{ {sizes.format(*row)} }}\n'
        for n, (shown, row) in enumerate(cases.items())
    )
    problems = reasons(exercise_from(tmp_path, text, fused), fused)
    assert [reason for reason in problems if "add up" in reason] == (
        ["sizes add up: axis 1 of x and axis 0 of W to axis 1 of W"] if adds_up else []
    )


def weigh__first_mask(scores, mask):
    """Every sentence gets the mask of the first one."""
    return weigh(scores, np.broadcast_to(mask[:1], mask.shape))


def test_a_natural_slip_that_passes_what_is_shown_is_named(tmp_path):
    changed_cases = {"other_sizes": CASES["other sizes"].replace("3, 5", "1, 5")}
    problem = "the mistake weigh__first_mask passes every shown case, and fails the hidden 'all sizes different'"
    assert problem in reasons(code(tmp_path, weigh, weigh__first_mask, **changed_cases), weigh)
    assert not reasons(code(tmp_path, weigh, weigh__first_mask), weigh)


def test_an_exercise_in_torch_without_a_shown_gradient_is_named():
    exercise = exercise_named("softmax-entropy")
    cases = tuple(case for case in exercise.cases if not (case.shown and case.gradients))
    problems = [problem.reason for problem in key_linter.lint([dataclasses.replace(exercise, cases=cases)])]
    assert "no shown case is about gradients" in problems


def test_a_mistake_that_raises_or_has_another_shape_is_far_away(tmp_path):
    exercise = code(tmp_path)
    for value in (Outcome(raised="TypeError"), Outcome(np.zeros(9))):
        cases = tuple(dataclasses.replace(case, mistaken={"weigh__slip": value}) for case in exercise.cases)
        assert not reasons(dataclasses.replace(exercise, hints={"weigh__slip": "A slip."}, cases=cases), weigh)


@pytest.mark.parametrize(
    ("text", "functions"),
    [(NUMBER, (by_hand, by_hand__rounded_early)), ("", (weigh, weigh__almost))],
    ids=["number", "code"],
)
def test_a_tolerance_that_reaches_half_way_to_a_mistake_is_named(tmp_path, text, functions):
    exercise = exercise_from(tmp_path, text, *functions) if text else code(tmp_path, *functions)
    (reason,) = reasons(exercise, functions[0])
    assert reason.endswith(f"is more than half of the distance to the mistake {functions[1].__name__}")


def test_of_cases_in_which_a_mistake_is_as_near_the_first_is_named(tmp_path):
    exercise = code(tmp_path)
    cases = [dataclasses.replace(case, expected=0 * case.expected) for case in exercise.cases]
    near = [dataclasses.replace(c, mistaken={"slip": Outcome(c.expected + 1.5 * c.atol)}) for c in cases]
    exercise = dataclasses.replace(exercise, hints={"slip": "A slip."}, cases=tuple(near))
    assert [problem[0] for problem in key_linter._tolerance_is_narrow(exercise, weigh)] == [exercise.hidden[0].name]


def test_a_test_that_the_starter_passes_is_named(tmp_path):
    exercise = code(tmp_path)
    open_answer = exercise.source.replace("### BEGIN SOLUTION", "").replace("### END SOLUTION", "")
    exercise = dataclasses.replace(exercise, source=open_answer)
    assert "the test has no effect: the untouched starter passes it" in reasons(exercise, weigh)


def test_a_reference_that_draws_without_a_seed_is_named(tmp_path):
    problems = reasons(code(tmp_path, weigh_at_random), weigh_at_random)
    assert "the reference draws from np.random.rand without a seed" in problems
    assert "two runs of the reference differ" in problems
    assert not reasons(code(tmp_path, weigh_from_a_seed), weigh_from_a_seed)


def the_largest(scores, mask):
    """Return where the largest score is."""
    ### BEGIN SOLUTION
    return scores.argmax(axis=-1)
    ### END SOLUTION


def test_a_result_that_is_a_toss_up_is_named(tmp_path):
    shown = CASES["worked example"].replace("[[0.0, 0.0]]", "[[0.0, {}]]").replace("[[1, 0]]", "[0]")
    problems = reasons(code(tmp_path, the_largest, worked_example=shown.format(0.0)), the_largest)
    assert any("depends on the rounding of the inputs" in reason for reason in problems)
    assert not reasons(code(tmp_path, the_largest, worked_example=shown.format(-0.5)), the_largest)


def the_first_not_below_0(scores, mask):
    """Return where the first score is that is not below 0."""
    ### BEGIN SOLUTION
    return (scores >= 0).argmax(axis=-1)
    ### END SOLUTION


def test_a_0_is_no_toss_up_where_no_number_is_negative(tmp_path):
    shown = CASES["worked example"].replace("[[0.0, 0.0]]", "[[{}, 0.0]]").replace("[[1, 0]]", "[{}]")
    for first, place, is_toss_up in ((0.0, 0, False), (-1.0, 1, True)):
        example = shown.format(first, place)
        problems = reasons(code(tmp_path, the_first_not_below_0, worked_example=example), the_first_not_below_0)
        assert is_toss_up == any("depends on the rounding of the inputs" in reason for reason in problems)


DRAWN = """
[toy-largest.arguments]
weights = { kind = "weights", axes = ["batch", "source_len"], without = ["even", "zero"] }

[[toy-largest.case]]
name = "worked example"
shown = true
inputs.weights = [[0.25, 0.75]]
expected = [1]
"""


def largest(weights):
    """Return where the largest weight is."""
    ### BEGIN SOLUTION
    return weights.argmax(axis=-1)
    ### END SOLUTION


def test_the_family_whose_results_are_a_toss_up_is_named_with_how_to_leave_it_out(tmp_path):
    exercise = exercise_from(tmp_path, HEAD.replace("weigh", "largest") + DRAWN, largest)
    ((_, _, remedy),) = key_linter._results_survive_rounding(exercise, largest)
    way = '`without = ["even", "zero", "empty_row"]` for weights in the key, which leaves out a sentence without any weight'
    assert remedy.endswith(f"; or write {way}")
    kept = DRAWN.replace('"zero"', '"zero", "empty_row"')
    exercise = exercise_from(tmp_path, HEAD.replace("weigh", "largest") + kept, largest)
    assert not list(key_linter._results_survive_rounding(exercise, largest))


def test_inputs_are_changed_by_as_little_as_is_said(tmp_path):
    scores_given = []

    def watched(scores, mask):
        scores_given.append(scores)
        return weigh(scores, mask)

    assert not list(key_linter._results_survive_rounding(code(tmp_path), watched))
    of_zeros = [abs(scores) for scores in scores_given if scores.shape == (1, 2)]
    assert 0 < np.max(of_zeros) <= key_linter.NUDGE


@pytest.mark.parametrize(
    ("call", "named"),
    [
        ("np.random.default_rng()", True),
        ("np.random.default_rng(0)", False),
        ("torch.randn(3)", True),
        ("torch.manual_seed(0), torch.randn(3)", False),
        ("random.random()", True),
        ("rng.normal()", False),
    ],
)
def test_what_counts_as_drawing_without_a_seed(tmp_path, call, named):
    exercise = dataclasses.replace(
        code(tmp_path), source=f"def weigh(scores, mask):\n    {call}\n    raise TypeError\n"
    )
    assert any("without a seed" in reason for reason in reasons(exercise, weigh)) == named


def test_a_shape_in_a_docstring_is_named(tmp_path):
    exercise = exercise_from(tmp_path, SHAPE, shapes)
    docstring = "    W_key : (attention_size, key_size)\n    keys : (source_len, 2 * key_size)\n"
    assert reasons(exercise, shapes, docstring) == ["a docstring states the shape W_key that is asked for"]


@pytest.mark.parametrize(
    ("text", "leaks"),
    [
        ("expected = [0.2602, -0.1337]", True),
        ("'wrong': [0.260190000, -0.133710000]", True),
        ("expected = [0.2602, -0.1338]", False),
        ("expected = [0.2602]", False),
        ("x0.2602 and version 0.2602.0.1337", False),
    ],
)
def test_numbers_that_stand_in_a_check_are_named(tmp_path, text, leaks):
    exercise = exercise_from(tmp_path, NUMBER, by_hand)
    assert reasons(exercise, by_hand, text) == (["the numbers of the answer appear in the notebook"] if leaks else [])


def test_numbers_of_two_digits_give_nothing_away(tmp_path):
    exercise = exercise_from(tmp_path, NUMBER, by_hand__other.__class__(by_hand__other.__code__, globals(), "by_hand"))
    assert not list(key_linter._leaks(exercise, "0.5 and 0.7"))


def test_a_problem_is_raised_with_place_case_and_remedy(tmp_path):
    exercise = code(tmp_path, one_sentence=None)
    with pytest.raises(AnswerKeyError, match=r"^toy\.toml, line 1, \[toy-weigh\]: no hidden case .*\n  Remedy: add "):
        key_linter.refuse([exercise], {exercise.function: weigh})
    key_linter.refuse([code(tmp_path)], {exercise.function: weigh})


@pytest.mark.parametrize("topic", TOPICS)
def test_the_key_of_every_topic_is_sound(topic):
    """For exercises that are called, the audit repeats this with the seeds 0 to 2."""
    exercises = topic_exercises(topic)
    text = key_linter.extract_released_text(notebook_of(topic))
    assert not [str(problem) for problem in key_linter.lint(exercises, text=text)]


@pytest.mark.slow
@pytest.mark.parametrize("topic", TOPICS)
def test_what_is_looked_through_for_leaks_is_what_students_get(topic):
    text = key_linter.extract_released_text(notebook_of(topic))
    for exercise in topic_exercises(topic):
        if exercise.is_called:
            assert f"def {exercise.function}(" in text
            body = exercise.source.partition("### BEGIN SOLUTION")[2].partition("### END SOLUTION")[0]
            assert body.strip() not in text


def test_what_a_check_knows_is_read_but_for_numbers_that_were_drawn_or_that_mistakes_give():
    packed = [compress(json.dumps(item)) for item in ({"holds": {"a < 0.4711": ""}, "wrong": [0.4712]}, [0.4713])]
    source = 'checks.EXERCISES |= {{\n    "a": "{}",\n}}\nchecks.DRAWN_CASES |= {{\n    "a": "{}",\n}}'.format(*packed)
    text = visible_source(source)
    assert [number for number in ("0.4711", "0.4712", "0.4713") if number in text] == ["0.4711"]
    assert [number for number in ("0.4711", "0.4712", "0.4713") if number not in unpack_texts(source)] == []


@pytest.mark.parametrize(
    ("token", "digits"),
    [("0.26", 2), ("0.260", 2), ("0.261", 3), ("12", 2), ("120", 3), ("1.20", 2), ("0.0261", 3), ("-0.5", 2)],
)
def test_digits_are_counted_without_zeros_that_say_nothing(token, digits):
    assert key_linter._digits(token.lstrip("-")) == digits - (token == "-0.5")


@pytest.mark.parametrize(
    ("number", "stated", "leaks"),
    [
        (0.26, "0.26", False),
        (0.261, "0.261", True),
        (0.2613, "0.2613", True),
        (0.2616, "0.262", True),
        (0.2616, "0.261", False),
    ],
)
def test_a_number_gives_the_answer_away_from_three_digits_on_if_it_is_rounded(number, stated, leaks):
    case = types.SimpleNamespace(expected=np.array([number]))
    exercise = types.SimpleNamespace(hidden=(case,))
    assert list(key_linter._find_stated_parts(exercise, f"The answer is {stated}.")) == ([""] if leaks else [])
