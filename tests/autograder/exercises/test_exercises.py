"""Exercises are drawn from their seed alone, and a key that cannot be graded with is refused."""

import dataclasses
import itertools
import types

import numpy as np
import pytest

from autograder import exercises
from autograder.exercises import Outcome, compare
from solutions.answer_key import AnswerKeyError
from tests.autograder.samples import NAMES, TOPICS, exercise_named, reference_of, topic_exercises

each_topic = pytest.mark.parametrize("topic", TOPICS)
each_exercise = pytest.mark.parametrize("name", NAMES)
CODE = [name for name in NAMES if exercise_named(name).kind == "code"]
SHAPES = [name for name in NAMES if exercise_named(name).kind == "shape"]
each_code = pytest.mark.parametrize("name", CODE)
SEEDS = (1, 2)


def hidden_inputs(topic, seed):
    return {e.name: [case.inputs for case in e.hidden] for e in topic_exercises(topic, seed)}


@each_topic
@pytest.mark.parametrize("seed", SEEDS)
def test_the_same_seed_draws_the_same_cases(topic, seed):
    again = exercises.load(topic, seed)
    assert exercises.digest(again) == exercises.digest(topic_exercises(topic, seed))
    for one, other in zip(again, topic_exercises(topic, seed), strict=True):
        np.testing.assert_equal([c.inputs for c in one.cases], [c.inputs for c in other.cases])
        np.testing.assert_equal([c.expected for c in one.cases], [c.expected for c in other.cases])


@pytest.mark.parametrize("name", CODE + SHAPES)
def test_another_seed_draws_other_hidden_cases(name):
    one, other = (exercise_named(name, seed) for seed in SEEDS)
    for case, changed in zip(one.hidden, other.hidden, strict=True):
        stated = any(c.name == case.name and c.inputs for c in one.entry.cases)
        same = all(np.array_equal(item, changed.inputs[key]) for key, item in case.inputs.items())
        assert case.inputs
        assert same == stated


@each_code
def test_shown_cases_do_not_depend_on_the_seed(name):
    one, other = (exercise_named(name, seed) for seed in SEEDS)
    assert one.shown
    np.testing.assert_equal([c.inputs for c in one.shown], [c.inputs for c in other.shown])


@each_topic
def test_the_digest_changes_with_the_seed(topic):
    assert len({exercises.digest(topic_exercises(topic, seed)) for seed in SEEDS}) == len(SEEDS)


def changed(exercise, **changes):
    case = dataclasses.replace(exercise.cases[-1], **changes)
    return dataclasses.replace(exercise, cases=(*exercise.cases[:-1], case))


@pytest.mark.parametrize("change", ["points", "hint", "source", "tolerance", "expected value"])
def test_the_digest_changes_with_everything_that_a_verdict_depends_on(change):
    exercise = exercise_named("scoring-additive_score")
    case = exercise.cases[-1]
    other = {
        "points": lambda: dataclasses.replace(exercise, entry=dataclasses.replace(exercise.entry, points=99)),
        "hint": lambda: dataclasses.replace(exercise, hints={**exercise.hints, "another": "Look again."}),
        "source": lambda: dataclasses.replace(exercise, source=exercise.source + "\n"),
        "tolerance": lambda: changed(exercise, atol=case.atol * 2),
        "expected value": lambda: changed(exercise, expected=case.expected + 1e-3),
    }[change]()
    assert exercises.digest([other]) != exercises.digest([exercise])


def test_the_digest_changes_with_an_entry_in_the_middle_of_a_large_array():
    zeros = changed(exercise_named("scoring-additive_score"), inputs={"x": np.zeros(5000)})
    other = changed(zeros, inputs={"x": 1.0 * (np.arange(5000) == 2500)})
    assert exercises.digest([other]) != exercises.digest([zeros])


@each_code
def test_a_code_exercise_has_a_hidden_case_with_all_sizes_different(name):
    exercise = exercise_named(name)
    sizes = [
        {(n, axis): size for n, item in case.inputs.items() for axis, size in enumerate(np.shape(item))}
        for case in exercise.hidden
    ]
    alike = [{pair for pair in itertools.combinations(row, 2) if row[pair[0]] == row[pair[1]]} for row in sizes]
    always_alike = set.intersection(*alike)
    assert any(1 not in row.values() and pairs == always_alike for row, pairs in zip(sizes, alike, strict=True))


@pytest.mark.parametrize("name", SHAPES)
def test_a_shape_exercise_is_called_with_distinct_primes(name):
    exercise = exercise_named(name)
    assert len(exercise.hidden) == exercises.SHAPE_DRAWS
    for case in exercise.hidden:
        assert len(set(case.inputs.values())) == len(case.inputs) > 0
        assert set(case.inputs.values()) <= set(exercises.PRIMES)


@each_exercise
@pytest.mark.parametrize("seed", SEEDS)
def test_the_reference_passes_its_own_cases(name, seed):
    exercise = exercise_named(name, seed)
    assert exercise.hidden
    turn = exercises.convert(exercise)
    for case in exercise.cases:
        inputs = {key: turn(item) for key, item in case.inputs.items()}
        value, changed_inputs = compare.call_case(reference_of(exercise), inputs, case.gradients)
        assert not any(compare.reasons(value, case.expected, exercise.kind, case.atol).values())
        assert changed_inputs == []


@each_exercise
@pytest.mark.parametrize("seed", SEEDS)
def test_every_mistake_fails_a_hidden_case(name, seed):
    exercise = exercise_named(name, seed)
    assert exercise.hints
    for mistake in exercise.hints:
        outcomes = [(case, case.mistaken[mistake]) for case in exercise.hidden]
        assert any(
            outcome.raised or any(compare.reasons(outcome.value, case.expected, exercise.kind, case.atol).values())
            for case, outcome in outcomes
        )


@pytest.mark.parametrize("name", [name for name in NAMES if exercise_named(name).entry.parts])
def test_the_parts_add_up_to_the_points(name):
    exercise = exercise_named(name)
    assert sum(exercise.parts.values()) == pytest.approx(exercise.points, abs=1e-9)


TOY = """
[toy-double]
kind = "code"
points = 2

[[toy-double.case]]
name = "worked example"
shown = true
inputs.x = [1.0, 2.0]
expected = [2.0, 4.0]
atol = 1e-9

[[toy-double.case]]
name = "drawn"
shapes = { x = [3, 4] }
"""
TOY_SHAPES = """
[toy-shapes]
kind = "shape"
points = 1
parts = { W = 0.5, v = 0.5 }
"""
TOY_NUMBER = """
[toy-number]
kind = "number"
points = 1
atol = 1e-3
"""
WHERE = r"^toy\.toml, line 2, \[toy-\w+\]: "


def double(x):
    return 2 * x


def double__squared(x):
    """You squared."""
    return x**2


def double__raises(x):
    """This raises."""
    raise TypeError


def double__right(x):
    """This is right."""
    return x + x


def double__undocumented(x):
    return x


def double__returns_nothing(x):
    """A print stands where the return belongs."""


def double__returns_words(x):
    """These are words."""
    return "words"


def double_changed(x):
    return 2 * x + 0.1


def double_that_raises(x):
    raise IndexError


def double_of_two(x, y):
    return x + y


def shapes(m, n):
    return {"W": (n, m), "v": (n,)}


def shapes__no_dict(m, n):
    """Return a dict with both shapes."""
    return (n, m)


def other_shapes(m, n):
    return {"W": (n, m), "b": (n,)}


def toy(folder, reference=double, *mistakes, key=TOY, old="", new=""):
    assert old in key
    (folder / "toy.toml").write_text(key.replace(old, new), encoding="utf-8")
    function = key[key.index("-") + 1 : key.index("]")]
    references = types.SimpleNamespace(__name__="toy", **({function: reference} if reference else {}))
    named = types.SimpleNamespace(__name__="mistakes", **{f.__name__: f for f in mistakes})
    return exercises.load_from(folder, "toy", 0, references, named)


def test_a_toy_without_fault_is_loaded_with_hints_and_outcomes(tmp_path):
    (exercise,) = toy(tmp_path, double, double__squared, double__raises)
    assert exercise.hints == {"double__squared": "You squared.", "double__raises": "This raises."}
    assert exercise.parts == {"": 2}
    (shown,), (drawn,) = exercise.shown, exercise.hidden
    assert shown.expected.tolist() == [2, 4]
    assert drawn.inputs["x"].shape == (3, 4)
    assert drawn.expected.tolist() == (2 * drawn.inputs["x"]).tolist()
    assert drawn.mistaken["double__raises"] == Outcome(raised="TypeError")


REFUSED = {
    "a shown case that the reference fails": ((double_changed,), {}, "the reference fails the shown case 'worked"),
    "a mistake that hidden cases accept": ((double, double__right), {}, "accepts the mistake double__right"),
    "a reference that raises": ((double_that_raises,), {}, "the reference raises IndexError on case 'worked example'"),
    "no function": ((None,), {}, "no function double in toy"),
    "a mistake without docstring": ((double, double__undocumented), {}, "double__undocumented has no docstring"),
    "a case without an argument": ((double_of_two,), {}, "case 'worked example' gives x"),
    "a case with an unknown argument": ((double,), {"old": "x = [3", "new": "z = [3"}, "case 'drawn' gives z"),
    "parts that the reference lacks": ((other_shapes,), {"key": TOY_SHAPES}, "the parts are .* the reference returns"),
    "an unknown gradient": ((double,), {"old": "shapes", "new": 'gradients = ["z"]\nshapes'}, "the reference raises"),
}


@pytest.mark.parametrize(("functions", "key", "what"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_graded_with_is_refused_with_place_and_remedy(tmp_path, functions, key, what):
    with pytest.raises(AnswerKeyError, match=f"{WHERE}.*{what}.*\n  Remedy: "):
        toy(tmp_path, *functions, **key)


@pytest.mark.parametrize(
    ("reference", "key"),
    [
        (double__returns_nothing, TOY),
        (double__returns_words, TOY),
        (lambda: None, TOY_NUMBER),
        (lambda m: "m", TOY_SHAPES),
    ],
    ids=["code: nothing", "code: words", "number: nothing", "shape: words"],
)
def test_a_reference_that_returns_no_numbers_is_refused_with_place_and_remedy(tmp_path, reference, key):
    with pytest.raises(AnswerKeyError, match=f"{WHERE}.*\n  Remedy: "):
        toy(tmp_path, reference, key=key)


@pytest.mark.parametrize("mistake", [double__returns_nothing, double__returns_words])
def test_a_mistake_may_return_what_is_no_number(tmp_path, mistake):
    (exercise,) = toy(tmp_path, double, mistake)
    assert mistake.__name__ in exercise.hints


def test_a_mistake_may_return_another_thing_than_a_dict(tmp_path):
    (exercise,) = toy(tmp_path, shapes, shapes__no_dict, key=TOY_SHAPES)
    assert "shapes__no_dict" in exercise.hints


def test_a_shown_case_may_be_about_gradients(tmp_path):
    gradient = 'module = "in_torch"\npoints = 2', 'gradients = ["x"]\nexpected = { x = [2.0, 2.0] }'
    key = TOY.replace("points = 2", gradient[0]).replace("expected = [2.0, 4.0]", gradient[1])
    (exercise,) = toy(tmp_path, double, key=key)
    assert list(exercise.shown[0].expected) == ["x"]


def test_a_written_answer_has_no_cases(tmp_path):
    (tmp_path / "toy.toml").write_text(
        '[toy-why]\nkind = "text"\npoints = 2\n[[toy-why.criterion]]\npoints = 2\n'
        'text = "Says why."\ncomment = "Why?"\n'
    )
    (exercise,) = exercises.load_from(tmp_path, "toy", 0)
    assert exercise.cases == ()
    assert exercise.parts == {"": 2}


def chain():
    start = np.array([1.0, 2.0])
    first = 2 * start
    second = first + 1
    return {"first": first, "second": second}


def chain_in_one_line():
    return {"first": np.array([2.0, 4.0]), "second": np.array([3.0, 5.0])}


def chain__halved():
    """Twice, not half."""
    return {"first": np.array([0.5, 1.0]), "second": np.array([1.5, 2.0])}


TOY_CHAIN = """
[toy-chain]
kind = "number"
points = 2
parts = { first = 1, second = 1 }
atol = 1e-3
follows = { second = ["first"] }
"""


def test_a_step_of_a_chain_is_the_reference_without_the_lines_before_it(tmp_path):
    (exercise,) = toy(tmp_path, chain, chain__halved, key=TOY_CHAIN)
    (step,) = exercise.follows.values()
    assert step.given == ("first",)
    assert "first = " not in step.source
    assert exercises.compiled(exercise.follows)["second"][1](np.array([7.0, 8.0])).tolist() == [8.0, 9.0]
    other = dataclasses.replace(exercise, follows={})
    assert exercises.digest([other]) != exercises.digest([exercise])


REFUSED_KEYS = {
    "a step that the reference does not assign": (chain_in_one_line, TOY_CHAIN, "has no line for each of them"),
    "an equation that the right shapes do not fit": (
        shapes,
        f'{TOY_SHAPES}equations = ["W @ v"]\n',
        "the right shapes do not fit in 'W @ v': In W @ v, W has .* columns and v has .* numbers",
    ),
    "an equation with a name that nobody knows": (
        shapes,
        f'{TOY_SHAPES}equations = ["W @ x"]\n',
        "do not fit in 'W @ x'",
    ),
    "an equation that cannot be read": (shapes, f'{TOY_SHAPES}equations = ["W @"]\n', "do not fit in 'W @'"),
    "an answer among what is given": (
        shapes,
        f'{TOY_SHAPES}equations = ["W @ x"]\ngiven = {{ x = ["m"], v = ["n"] }}\n',
        "`given` states an answer",
    ),
    "an equation in an exercise of numbers": (
        chain_in_one_line,
        f'{TOY_CHAIN}equations = ["a"]\n',
        "equations in an exercise of kind number",
    ),
}


@pytest.mark.parametrize(("reference", "key", "what"), REFUSED_KEYS.values(), ids=REFUSED_KEYS)
def test_equations_and_chains_that_cannot_be_graded_with_are_refused(tmp_path, reference, key, what):
    with pytest.raises(AnswerKeyError, match=f"{WHERE}.*{what}.*\n  Remedy: "):
        toy(tmp_path, reference, key=key)


def test_a_letter_without_a_role_is_refused(tmp_path):
    def with_q(q, n):
        return {"W": (n, q), "v": (n,)}

    with pytest.raises(AnswerKeyError, match=r"nobody says what q counts(?s:.)*Remedy: "):
        toy(tmp_path, with_q, key=TOY_SHAPES)
    (exercise,) = toy(tmp_path, with_q, key=f'{TOY_SHAPES}letters = {{ q = "the size of a toy" }}\n')
    assert exercise.letters["q"] == "the size of a toy"
