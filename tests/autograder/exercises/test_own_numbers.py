"""A student's own numbers resemble the book's, and every part of the exercise is computed from them."""

import dataclasses

import numpy as np
import pytest

from autograder.exercises.own_numbers import (
    BOOK_HINT,
    OTHER_HINT,
    book_numbers,
    draw_numbers,
    exercise_of,
    exercise_with,
    flatten,
    vary_all,
)
from solutions.answer_key import AnswerKeyError
from tests.autograder.exercises.toys import HAND_WORKED, HAND_WORKED_KEY, toy_topic
from tests.autograder.samples import WITH_OWN_NUMBERS, exercise_named

DRAWS = 20


def digits_of(number):
    """Return how many decimals and how many significant digits ``number`` has."""
    before, _, after = f"{abs(number):.9f}".rstrip("0").partition(".")
    return len(after), len(f"{before}{after}".lstrip("0"))


@pytest.mark.parametrize("name", WITH_OWN_NUMBERS)
def test_drawn_numbers_have_the_signs_and_digits_of_the_book(name):
    entry = exercise_named(name).entry
    for number in range(DRAWS):
        drawn = iter(draw_numbers(entry, number))
        for numbers in book_numbers(entry).values():
            book = flatten(numbers)
            own = [next(drawn) for _ in book]
            assert np.sign(own).tolist() == np.sign(book).tolist()
            if round(sum(book), 9) == 1 and min(book) > 0:  # weights, so the last follows from the others
                assert sum(own) == pytest.approx(1)
                book, own = book[:-1], own[:-1]
            assert [digits_of(value) for value in own] == [digits_of(value) for value in book]
            assert all(mine == value for mine, value in zip(own, book, strict=True) if value in (0, 1, -1))
        assert next(drawn, None) is None


@pytest.mark.parametrize("name", WITH_OWN_NUMBERS)
def test_a_draw_is_the_same_each_time_and_differs_from_others(name):
    entry = exercise_named(name).entry
    draws = [draw_numbers(entry, number) for number in range(DRAWS)]
    assert draws == [draw_numbers(entry, number) for number in range(DRAWS)]
    assert len(set(draws)) > DRAWS / 2


def test_numbers_stay_between_half_and_twice_the_books_where_that_leaves_enough_to_choose_from(tmp_path, monkeypatch):
    reference = HAND_WORKED.replace("0.3, 1.0", "0.3, 3.0")
    entry = toy_topic(tmp_path, monkeypatch, reference).entry
    drawn = [draw_numbers(entry, number)[3] for number in range(100)]
    assert (min(drawn), max(drawn)) == (2, 6)


def test_a_whole_number_of_one_digit_becomes_any_other_where_there_is_little_to_choose_from(tmp_path, monkeypatch):
    reference = HAND_WORKED.replace("0.5, -0.2", "1.0, -3.0")
    key = HAND_WORKED_KEY.replace('"query", "keys"', '"query"')
    entry = toy_topic(tmp_path, monkeypatch, reference, key=key).entry
    drawn = [draw_numbers(entry, number) for number in range(100)]
    assert {first for first, _ in drawn} == {1}
    assert {second for _, second in drawn} == set(range(-9, -1))


def test_a_reference_and_its_mistakes_are_worked_from_the_drawn_numbers(tmp_path, monkeypatch):
    entry = toy_topic(tmp_path, monkeypatch).entry
    case = exercise_of(entry, (0.4, -0.3, 0.2, 1.0, -0.5, 2.1)).hidden[0]
    assert case.expected == pytest.approx([0.4 * 0.2 - 0.3, -0.4 * 0.5 - 0.3 * 2.1])
    assert case.mistaken["by_hand__query_dropped"].value == pytest.approx([0.2 + 1.0, -0.5 + 2.1])


def test_an_exercise_may_have_own_numbers_before_its_first_mistake_is_written(tmp_path, monkeypatch):
    entry = toy_topic(tmp_path, monkeypatch, mistakes="import numpy as np\n").entry
    assert exercise_of(entry, (0.4, -0.3, 0.2, 1.0, -0.5, 2.1)).hints == {}


def test_a_vector_is_replaced_in_helpers_constants_and_arguments_of_mistakes(tmp_path, monkeypatch):
    mistakes = '''
        _KEYS = [[0.3, 1], [-0.4, 2.5]]
        _SUMS = [sum(key) for key in _KEYS]

        def _scaled(query=(0.5, -0.2)):
            return [query[0] * total for total in _SUMS]

        def by_hand__scaled():
            """You used only the first entry of the query."""
            return _scaled()
    '''.replace("\n        ", "\n")
    entry = toy_topic(tmp_path, monkeypatch, mistakes=mistakes).entry
    case = exercise_of(entry, (0.4, -0.3, 0.2, 1.0, -0.5, 2.1)).hidden[0]
    assert case.mistaken["by_hand__scaled"].value == pytest.approx([0.4 * 1.2, 0.4 * 1.6])


def test_the_numbers_of_the_book_give_the_exercise_of_the_book():
    for name in WITH_OWN_NUMBERS:
        ours, topic = exercise_named(name), name.split("-")[0]
        book = tuple(number for numbers in book_numbers(ours.entry).values() for number in flatten(numbers))
        case = exercise_with(topic, ours.function, book).hidden[0]
        assert str(case.expected) == str(ours.hidden[0].expected)
        assert {hint: str(case.mistaken[hint]) for hint in ours.hints} == {
            hint: str(ours.hidden[0].mistaken[hint]) for hint in ours.hints
        }


def test_an_answer_for_the_numbers_of_somebody_else_or_the_book_has_a_hint_of_its_own():
    name = "scoring-scores_by_hand_twin"
    mine, other = (draw_numbers(exercise_named(name).entry, number) for number in range(2))
    exercise = exercise_with("scoring", "scores_by_hand_twin", mine, (mine, other))
    added = {hint: sentence for hint, sentence in exercise.hints.items() if hint not in exercise_named(name).hints}
    assert sorted(added.values()) == sorted([BOOK_HINT, OTHER_HINT])


@pytest.mark.parametrize(
    "unknown", ["value", "answer", "total"], ids=["no variable", "a result of a call", "a single number"]
)
def test_what_is_no_vector_or_matrix_of_the_reference_is_refused_with_its_line(tmp_path, monkeypatch, unknown):
    reference = HAND_WORKED.replace("    return", "    total = 3.0\n    answer = np.reshape(keys, (2, 2))\n    return")
    exercise = toy_topic(tmp_path, monkeypatch, reference)
    entry = dataclasses.replace(exercise.entry, own=("query", unknown))
    what = (
        rf"^{entry.topic}\.toml, line 2, \[{exercise.name}\]: `own` names {unknown}, .*\n  Remedy: let the reference "
    )
    with pytest.raises(AnswerKeyError, match=what):
        draw_numbers(entry, 0)


@pytest.mark.parametrize("numbers", [(0.5, -0.2), (0.5,) * 7], ids=["too few", "too many"])
def test_numbers_of_a_release_that_the_key_no_longer_fits_are_refused(tmp_path, monkeypatch, numbers):
    entry = toy_topic(tmp_path, monkeypatch).entry
    what = (
        rf"^{entry.topic}\.toml, line 2, .*has {len(numbers)} own numbers.*names 6 in the reference\n  Remedy: restore"
    )
    with pytest.raises(AnswerKeyError, match=what):
        exercise_of(entry, numbers)


def test_all_vectors_and_matrices_of_a_reference_can_be_varied_whatever_must_hold(tmp_path, monkeypatch):
    key = HAND_WORKED_KEY.replace(', "keys"', "") + 'holds = {{ "answer[0] < 0" = "the first is negative" }}\n'
    entry = vary_all(toy_topic(tmp_path, monkeypatch, key=key).entry)
    assert entry.own == ("query", "keys")
    assert exercise_of(entry, (0.5, -0.2, 0.9, 1.0, -0.4, 2.5)).hidden[0].expected[0] > 0
