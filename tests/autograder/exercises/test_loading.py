"""Loading combines key, reference and mistakes, and refuses a key that cannot be used for grading."""

import json

import pytest

from autograder import exercises
from autograder.exercises import Outcome
from autograder.exercises.loading import read_course_cases
from solutions import answer_key
from solutions.answer_key import AnswerKeyError
from tests.autograder.exercises.toys import TOY, WHERE, double, toy
from tests.autograder.samples import ENTRIES, NAMES, exercise_named

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


@pytest.mark.parametrize("name", [name for name in NAMES if ENTRIES[name].parts])
def test_the_parts_add_up_to_the_points(name):
    exercise = exercise_named(name)
    assert sum(exercise.parts.values()) == pytest.approx(exercise.points, abs=1e-9)


def test_a_toy_without_fault_is_loaded_with_hints_and_outcomes(tmp_path):
    (exercise,) = toy(tmp_path, double, double__squared, double__raises)
    assert exercise.hints == {"double__squared": "You squared.", "double__raises": "This raises."}
    assert exercise.parts == {"": 2}
    (shown,), (drawn, redrawn) = exercise.shown, exercise.hidden
    assert redrawn.inputs is drawn.inputs
    assert shown.expected.tolist() == [2, 4]
    assert drawn.inputs["x"].shape == (3, 4)
    assert drawn.expected.tolist() == (2 * drawn.inputs["x"]).tolist()
    assert drawn.mistaken["double__raises"] == Outcome(raised="TypeError")


def equation(text, more=""):
    return {"key": f'{TOY_SHAPES}equations = ["{text}"]\n{more}\n'}


MISFIT = "the right shapes do not fit in 'W @ v': In W @ v, W has .* columns and v has .* numbers"
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
    "shapes that do not fit": ((shapes,), equation("W @ v"), MISFIT),
    "a name that nobody knows": ((shapes,), equation("W @ x"), "do not fit in 'W @ x'"),
    "no equation": ((shapes,), equation("W @"), "do not fit in 'W @'"),
    "an answer among what is given": (
        (shapes,),
        equation("W @ x", 'given = { x = ["m"], v = ["n"] }'),
        "`given` states an answer",
    ),
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


def test_a_letter_without_a_role_is_refused(tmp_path):
    def with_q(q, n):
        return {"W": (n, q), "v": (n,)}

    with pytest.raises(AnswerKeyError, match=r"it is not stated what q counts(?s:.)*Remedy: "):
        toy(tmp_path, with_q, key=TOY_SHAPES)
    (exercise,) = toy(tmp_path, with_q, key=f'{TOY_SHAPES}letters = {{ q = "the size of a toy" }}\n')
    assert exercise.letters["q"] == "the size of a toy"


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
    (entry,) = answer_key.load("toy", tmp_path).values()
    exercise = exercises.make_exercise(entry)
    assert exercise.cases == ()
    assert exercise.parts == {"": 2}


def test_cases_that_a_course_adds_come_after_those_of_the_key_and_before_the_drawn_ones():
    name = "own case"
    shapes = {"query": [2, 3], "keys": [2, 4, 3]}
    extra = json.dumps([{"exercise": "dot_product_score", "name": name, "part": "dot_product", "shapes": shapes}])
    with_own, without = (
        next(e for e in exercises.load("scoring", 1, more) if e.function == "dot_product_score") for more in (extra, "")
    )
    names, others = ([case.name for case in exercise.cases] for exercise in (with_own, without))
    of_the_key = sum(not case.shown for case in without.entry.cases)
    assert with_own.hidden[of_the_key].name == name
    assert [each for each in names[:-1] if each != name] == others[:-1]


ROW = {"exercise": "dot_product_score", "part": "dot_product", "shapes": {"query": [2, 3], "keys": [2, 4, 3]}}
REFUSED_CASES = {
    "no exercise of code": ({"exercise": "dot_shapes"}, "case 2: exercise is 'dot_shapes'"),
    "an unknown part": ({"name": "own", "part": "others"}, "case 'own': part 'others' is not one of"),
    "many entries": ({"name": "own", "shapes": {"keys": [1000, 1000, 1], "query": [1]}}, "have 1000001 entries"),
}


@pytest.mark.parametrize(("changed", "words"), REFUSED_CASES.values(), ids=REFUSED_CASES)
def test_a_case_that_cannot_be_added_is_refused(changed, words):
    with pytest.raises(AnswerKeyError) as error:
        read_course_cases(json.dumps([{**ROW, "name": "right"}, {**ROW, **changed}]), "scoring")
    assert words in str(error.value)
