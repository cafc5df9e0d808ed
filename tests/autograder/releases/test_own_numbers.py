"""Students' own numbers are drawn so that an exercise stays as hard as in the book."""

from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest

from autograder.errors import CourseError
from autograder.exercises import compare, with_points
from autograder.exercises.own_numbers import exercise_with
from autograder.releases import own_numbers
from autograder.releases.own_numbers import choose_draws
from autograder.releases.proof import points_of_mistake
from tests.autograder.exercises.toys import HAND_WORKED, HAND_WORKED_KEY, HAND_WORKED_MISTAKE, toy_topic
from tests.autograder.samples import WITH_OWN_NUMBERS, exercise_named

pytestmark = pytest.mark.slow

DRAWS = 8


@pytest.mark.parametrize("name", WITH_OWN_NUMBERS)
def test_an_exercise_has_draws_in_which_its_answers_differ_and_its_mistakes_earn_what_they_earn(name):
    exercise = exercise_named(name)
    draws = choose_draws(exercise, DRAWS)
    assert len(set(draws)) == DRAWS
    variants = [exercise, *(exercise_with(exercise.entry.topic, exercise.function, draw) for draw in draws)]
    for first, second in combinations(variants, 2):
        ((case,), (elsewhere,)) = first.hidden, second.hidden
        assert not compare.is_right(elsewhere.expected, case.expected, "number", case.atol)
    for variant in variants:
        assert {hint: points_of_mistake(variant, hint) for hint in exercise.hints} == {
            hint: points_of_mistake(exercise, hint) for hint in exercise.hints
        }


def test_a_course_may_give_an_exercise_other_points():
    exercise = exercise_named("scoring-joined_or_added")
    assert choose_draws(with_points(exercise, 7.0), 3) == choose_draws(exercise, 3)


def test_a_mistake_that_states_its_result_is_refused_with_its_name(tmp_path, monkeypatch):
    mistakes = HAND_WORKED_MISTAKE + '\n\ndef by_hand__stated():\n    """This is no sum."""\n    return [1.3, 2.1]\n'
    exercise = toy_topic(tmp_path, monkeypatch, mistakes=mistakes)
    message = (
        rf"^{exercise.entry.topic}\.toml, line 2, .*: the mistake by_hand__stated gives the same .*\n  Remedy: let it"
    )
    with pytest.raises(CourseError, match=message):
        choose_draws(exercise, 3)


def test_a_mistake_that_states_one_of_several_results_is_refused(tmp_path, monkeypatch):
    reference = HAND_WORKED.replace("return [", 'return {"total": float(query.sum()), "scores": [').replace(
        "in keys]", "in keys]}"
    )
    mistakes = '''
def by_hand__stated():
    """This is no sum."""
    return {"total": 0.5 - 0.2, "scores": [1.3, 2.1]}
'''
    key = HAND_WORKED_KEY + "parts = {{ total = 0.5, scores = 0.5 }}\n"
    exercise = toy_topic(tmp_path, monkeypatch, reference, mistakes, key)
    with pytest.raises(CourseError, match="the mistake by_hand__stated gives the same numbers whatever was drawn"):
        choose_draws(exercise, 3)


ALLOWED = {
    "equal weights": "return [0.5, 0.5]",
    "zeros and ones": "return [0, 1]",
    "worked from a matrix that does not vary": "return np.array([[0.3, 1.0], [-0.4, 2.5]]).sum(axis=1).tolist()",
}


@pytest.mark.parametrize("body", ALLOWED.values(), ids=ALLOWED)
def test_a_mistake_whose_result_depends_on_no_varied_number_is_allowed(tmp_path, monkeypatch, body):
    mistakes = f'import numpy as np\n\n\ndef by_hand__alike():\n    """You used no query."""\n    {body}\n'
    key = HAND_WORKED_KEY.replace('"query", "keys"', '"query"')
    reference = HAND_WORKED.replace("0.5, -0.2", "0.55, -0.25")
    assert len(choose_draws(toy_topic(tmp_path, monkeypatch, reference, mistakes, key), 3)) == 3


def test_an_exercise_with_too_few_draws_is_refused_with_a_count(tmp_path, monkeypatch):
    key = HAND_WORKED_KEY.replace('"query", "keys"', '"query"')
    exercise = toy_topic(tmp_path, monkeypatch, HAND_WORKED.replace("0.5, -0.2", "1.0, -0.2"), key=key)
    message = (
        rf"^{exercise.entry.topic}\.toml, line 2, .*only [1-3] suitable draws .*; 40 are needed\n  Remedy: name other"
    )
    with pytest.raises(CourseError, match=message):
        choose_draws(exercise)


def with_result(result):
    return HAND_WORKED.replace("[float(key @ query) for key in keys]", result)


def test_draws_in_which_rounding_decides_are_left_out(tmp_path, monkeypatch):
    result = "[query[0] - 0.3, query[0] + 0.1, 4 * query[0], 2.4, 15 * query[1]]"
    draws = choose_draws(toy_topic(tmp_path, monkeypatch, with_result(result)), 12)
    assert {draw[0] for draw in draws} == {0.4, 0.5, 0.7, 0.8}  # 0.3 gives a 0, 0.9 a 1, 0.6 two equal maxima


def test_draws_with_a_saturated_tanh_are_left_out(tmp_path, monkeypatch):
    result = "(np.tanh(3 * query[0] * keys[1]) + query[1]).tolist()"
    draws = choose_draws(toy_topic(tmp_path, monkeypatch, with_result(result)), 20)
    assert max(3 * draw[0] * max(-draw[4], draw[5]) for draw in draws) <= 4.0


def result_of(expected, atol=1e-4):
    return SimpleNamespace(hidden=[SimpleNamespace(expected=expected, atol=atol)])


@pytest.mark.parametrize(
    ("values", "decimals"), [([2.4], True), ([2.6], True), ([3.0, -0.5], True), ([3.0, -1.0], False)]
)
def test_a_result_with_decimals_has_any_number_that_is_not_whole(values, decimals):
    assert own_numbers._has_decimals(result_of(np.array(values)), "") == decimals
    assert own_numbers._has_decimals(result_of({"weights": np.array(values)}), "weights") == decimals


def test_a_result_near_0_depends_on_rounding_where_that_of_the_book_is_not():
    near, far = result_of(np.array([0.9 * own_numbers.MARGIN * 1e-4])), result_of(np.array([0.5]))
    assert own_numbers._depends_on_rounding(far, near)
    assert not own_numbers._depends_on_rounding(near, near)
    assert not own_numbers._depends_on_rounding(far, far)
