"""The message about a wrong shape uses the letters of the exercise and never reveals the right ones."""

import itertools
import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from autograder.exercises import PRIMES, reference_of
from autograder.grading import judge
from autograder.grading.shapes import explain, explain_size_one
from solutions.answer_key import LETTERS
from tests.autograder.samples import ENTRIES, NAMES, exercise_named, replies_of

SIZES = [
    {"m": 11, "n": 13, "a": 17, "T_x": 19},
    {"m": 29, "n": 23, "a": 31, "T_x": 37},
    {"m": 43, "n": 61, "a": 41, "T_x": 59},
]
EQUATIONS = ("v @ tanh(W_query @ query + W_key @ key)",)
SHAPES = [name for name in NAMES if ENTRIES[name].kind == "shape"]


def told(yours, right, entry="W_key"):
    """Return the message about shape ``yours`` if ``right`` is right; both are functions of the letters."""
    rows = [(yours(**row), right(**row)) for row in SIZES]
    return explain(
        entry, [shape for shape, _ in rows], [right_shape for _, right_shape in rows], SIZES, LETTERS, EQUATIONS
    )


RIGHT = {"W_key": lambda m, a, **_: (a, m), "v": lambda a, **_: (a,), "twice": lambda m, a, **_: (a, 2 * m)}
RIGHT["heads"] = lambda m, n, a, **_: (a, m, n)
RIGHT["joined"] = lambda m, n, **_: (m + n,)


@pytest.mark.parametrize(
    ("entry", "yours", "sentence"),
    [
        ("W_key", lambda m, a, **_: (m, a), "(m, a) has the right sizes in the wrong order: it looks transposed"),
        ("W_key", lambda n, a, **_: (a, n),
         "axis 1 is n, the size of the decoder state, where the size of an annotation"),
        ("W_key", lambda n, a, **_: (a, n), "belongs: this matrix multiplies key"),
        ("W_key", lambda m, **_: (m,), "(m,) is the shape of key itself: a matrix that multiplies it has two axes"),
        ("W_key", lambda a, **_: (a,), "(a,) is the shape of a vector: a matrix that multiplies key has two axes"),
        ("W_key", lambda m, a, **_: (a, m, 1), "(a, m, 1) has the right sizes, but one axis too many"),
        ("W_key", lambda m, a, **_: (a, 2 * m), "axis 1 is 2 * m, which is more than what belongs there"),
        ("W_key", lambda m, n, a, **_: (a, m + n), "axis 1 is m + n, which is more than what belongs there"),
        ("W_key", lambda m, T_x, a, **_: (a, m * T_x), "axis 1 is m * T_x, which is more"),
        ("W_key", lambda m, a, **_: (a, m - 1), "axis 1 is m - 1, which is less than what belongs there"),
        ("W_key", lambda a, **_: (a, 300), "axis 1 is 300 whatever the sizes are"),
        ("W_key", lambda m, n, a, **_: (a, 5 * m + 7 * n),
         "axis 1 is neither a letter nor a simple product or sum of letters"),
        ("W_key", lambda m, n, a, **_: (a, max(m, n)),
         "axis 1 is the larger of m and n, but the right size does not depend on which is larger"),
        ("W_key", lambda m, n, a, **_: (a, min(m, n)), "axis 1 is the smaller of m and n, but"),
        ("joined", lambda m, n, a, **_: (max(m + n, 2 * a),), "axis 0 is the larger of 2 * a and m + n, but"),
        ("W_key", lambda **_: (1,) * 40, ""),
        ("W_key", lambda m, a, **_: (a, 3 * m), "(a, 3 * m): axis 1 is 3 * m, which is more than what belongs"),
        ("W_key", lambda m, a, **_: (a, 4 * m), "(a, 4 * m): axis 1 is 4 * m, which is more than what belongs"),
        ("W_key", lambda m, a, **_: (a, m + 1), "(a, m + 1): axis 1 is m + 1, which is more than what belongs"),
        ("W_key", lambda m, a, **_: (a, m * m), "(a, m * m): axis 1 is m * m, which is more than what belongs"),
        ("W_key", lambda n, a, **_: (a, n - 1), "(a, n - 1): axis 1 is n - 1, where the size of an annotation belongs"),
        ("W_key", lambda m, n, a, T_x: (a, m + n + T_x), "(a, m + n + T_x): axis 1 is m + n + T_x, which is more"),
        ("W_key", lambda m, n, a, T_x: (a, 2 * m + n + T_x), "axis 1 is 2 * m + n + T_x, which is more"),
        ("W_key", lambda m, n, a, T_x: (a, m + n + 2 * T_x), "axis 1 is m + n + 2 * T_x, which is more"),
        ("W_key", lambda m, n, a, **_: (a, 3 * m + 2 * n), "axis 1 is 2 * n + 3 * m, which is more"),
        ("W_key", lambda m, n, a, **_: (a, 5 * m + 7 * n), "(a, something else): axis 1 is neither a letter nor"),
        ("W_key", lambda m, n, a, T_x: (n, T_x), "axis 0 is n, the size of the decoder state, where"),
        ("W_key", lambda m, n, a, T_x: (n, T_x), ", and axis 1 is T_x"),
        ("W_key", lambda m, a, **_: (a, m, 1, 1), "(a, m, 1, 1) has the right sizes, but 2 axes too many"),
        ("W_key", lambda m, a, **_: (m, a, 1), "(m, a, 1) has the wrong sizes, and one axis too many"),
        ("W_key", lambda **_: (1,) * 9, "has the wrong sizes, and 7 axes too many"),
        ("W_key", lambda **_: (1,) * 10, ""),
        ("W_key", lambda m, **_: (1,) * (1 + m % 2 + m % 3), ""),
        ("W_key", lambda **_: (), "() has sizes that belong there, but 2 axes too few"),
        ("heads", lambda m, **_: (m,), "(m,) has sizes that belong there, but 2 axes too few"),
        ("heads", lambda m, a, **_: (m, a), "(m, a) has the wrong sizes, and one axis too few"),
        ("v", lambda a, **_: (a, 1), "(a, 1) has the right sizes, but one axis too many"),
        ("v", lambda a, **_: (1, a), "(1, a) has the right sizes, but one axis too many"),
        ("v", lambda **_: (), "() has sizes that belong there, but one axis too few"),
        ("twice", lambda a, **_: (a,), "(a,) has sizes that belong there, but one axis too few"),
        ("twice", lambda m, a, **_: (a, m), "axis 1 is m, the size of an annotation, which is only part of what"),
        ("twice", lambda m, a, **_: (a, 3 * m), "m, the size of an annotation, is counted too many times"),
        ("twice", lambda m, n, a, **_: (a, 2 * m + n),
         "n, the size of the decoder state, is counted in addition to what belongs"),
        ("joined", lambda n, **_: (n,), "axis 0 is n, the size of the decoder state, which is only part of what"),
        ("joined", lambda m, a, **_: (m * a,), "axis 0 is m * a, but something else belongs there"),
        ("twice", lambda n, a, **_: (a, n), "axis 1 is n, the size of the decoder state, but something else belongs"),
    ],
)  # fmt: skip
def test_each_kind_of_slip_has_its_sentence(entry, yours, sentence):
    explanation = told(yours, RIGHT[entry], entry)
    assert sentence in explanation
    assert bool(explanation) == bool(sentence)


def test_a_fixed_size_is_recognised_as_the_one_that_belongs_there():
    assert "(300,) is the shape of key itself" in told(lambda **_: (300,), lambda a, **_: (a, 300))


def test_a_vector_in_place_of_three_axes_is_not_taken_for_what_a_matrix_multiplies():
    explanation = told(lambda m, **_: (m,), lambda m, a, T_x, **_: (T_x, a, m))
    assert explanation == "(m,) has sizes that belong there, but 2 axes too few"


TERMS = st.one_of(
    st.tuples(st.sampled_from(["m", "n", "a", "T_x"])),
    st.tuples(st.sampled_from(["m", "n", "a", "T_x"]), st.sampled_from(["m", "n", "a", "T_x"])),
)


def size_of(term, row):
    return sum(row[letter] for letter in term)


@given(st.data(), st.lists(TERMS, min_size=1, max_size=3), st.lists(TERMS, min_size=1, max_size=3))
def test_what_was_written_is_named_and_the_right_letters_are_not(data, yours, right):
    letters = ["m", "n", "a", "T_x"]
    sizes = [dict(zip(letters, data.draw(st.permutations(PRIMES))[:4], strict=True)) for _ in range(3)]
    mine = [tuple(size_of(term, row) for term in yours) for row in sizes]
    wanted = [tuple(size_of(term, row) for term in right) for row in sizes]
    assume(all(my_shape != right_shape for my_shape, right_shape in zip(mine, wanted, strict=True)))
    assume(all(len({row[letter] for row in sizes}) > 1 for letter in letters))
    explanation = explain("W", mine, wanted, sizes, LETTERS)
    assert explanation
    written = {letter for term in yours for letter in term}
    words = set(re.findall(r"\b(?:m|n|T_x)\b", explanation))  # "a" is also a word
    assert words <= written
    assert not re.search(r"\b\d\d+\b", explanation)  # it states letters, not sizes


@pytest.mark.parametrize("name", SHAPES)
def test_every_letter_of_every_exercise_has_a_role(name):
    exercise = exercise_named(name)
    assert list(exercise.letters) == list(exercise.hidden[0].inputs)
    assert all(role.startswith("the ") for role in exercise.letters.values())


def matrices():
    for name in SHAPES:
        for entry, shape in exercise_named(name).hidden[0].expected.items():
            if len(shape) == 2 and shape[0] != shape[1]:
                yield name, entry


@pytest.mark.parametrize(("name", "entry"), list(matrices()))
@pytest.mark.parametrize("seed", [1, 2])
def test_a_transposed_entry_of_an_exercise_is_called_transposed(name, entry, seed):
    exercise = exercise_named(name, seed)

    def transposed(*sizes):
        value = reference_of(exercise)(*sizes)
        return {**value, entry: value[entry][::-1]}

    (verdict,) = judge.judge([exercise], replies_of(transposed, exercise))
    (part,) = [part for part in verdict.parts if part.reason]
    assert part.name == entry
    assert "transposed" in part.reason


@pytest.mark.parametrize("seed", [1, 2])
def test_a_shape_that_depends_on_more_than_the_sizes_keeps_a_plain_sentence(seed):
    exercise = exercise_named("scoring-batched_additive_shapes", seed)
    calls = itertools.count()

    def wandering(*sizes):
        return {**reference_of(exercise)(*sizes), "hidden": (7,) * (1 + next(calls) % 3)}

    (verdict,) = judge.judge([exercise], replies_of(wandering, exercise))
    (part,) = [part for part in verdict.parts if part.reason]
    assert "axes" in part.reason or "axis" in part.reason


SMALL = [{"a": 2, "b": 3, "c": 5}, {"a": 1, "b": 3, "c": 5}, {"a": 2, "b": 1, "c": 5}, {"a": 2, "b": 3, "c": 1}]
LOST = ": an axis of length 1 is lost there, as by `squeeze`"


@pytest.mark.parametrize(
    ("yours", "sentence"),
    [
        (lambda a, b, c: (a, b, c), ""),
        (lambda a, b, c: (a, b, c) if b > 1 else (a, c), f"it is wrong only where b is 1{LOST}"),
        (lambda a, b, c: (a, b, c) if b > 1 else (a, b, c + 1), "it is wrong only where b is 1"),
        (
            lambda a, b, c: tuple(size for size in (a, b, c) if size > 1),
            f"it is wrong only where a or b or c is 1{LOST}",
        ),
        (lambda a, b, c: (a, b, c) if a > 1 and c > 1 else (b, b), f"it is wrong only where a or c is 1{LOST}"),
        (lambda a, b, c: (a, b, 5), "it is wrong only where c is 1"),
        (lambda a, b, c: (2, 3, c), "it is wrong only where a or b is 1"),
        (lambda a, b, c: (a, b), ""),
    ],
)
def test_what_is_wrong_only_where_a_size_is_1_is_told_so(yours, sentence):
    right = [(row["a"], row["b"], row["c"]) for row in SMALL]
    assert explain_size_one([yours(**row) for row in SMALL], right, SMALL) == sentence
