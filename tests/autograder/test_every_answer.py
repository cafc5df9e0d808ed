"""What the audit does not check about the repository's answers: words, shown cases, and that no verdict leaks an answer.

``audit/test_run.py`` checks that references, right answers, starters and listed mistakes earn what they should, and that
each mistake gets its own hint, which gives nothing away.
"""

import pytest

from autograder import exercises
from autograder.exercises import compare, reference_of
from tests.autograder.answers import called_exercises, judge_answer, told_answers
from tests.autograder.samples import TOPICS

pytestmark = [pytest.mark.suite("audit"), pytest.mark.filterwarnings("ignore")]
each_topic = pytest.mark.parametrize("topic", TOPICS)
each_seed = pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.full("another draw"))])


@each_topic
@each_seed
def test_a_reference_earns_all_points_without_a_word_and_changes_no_input(topic, seed):
    for exercise in called_exercises(topic, seed):
        answer = judge_answer(exercise, exercise.function, reference_of(exercise))
        assert answer.earned_all, answer
        assert not any(answer.words), answer
        assert not answer.changed, answer


@each_topic
@each_seed
def test_a_reference_passes_every_shown_case(topic, seed):
    for exercise in called_exercises(topic, seed):
        turn = exercises.convert(exercise)
        for case in exercise.shown:
            inputs = {name: turn(item) for name, item in case.inputs.items()}
            value, changed = compare.call_case(reference_of(exercise), inputs, case.gradients)
            reasons = compare.mismatches(value, case.expected, exercise.kind, case.atol)
            assert not any(reasons.values()), (exercise.name, case.name, reasons)
            assert not changed, (exercise.name, case.name)


@each_topic
@each_seed
def test_a_wrong_answer_that_is_not_listed_gets_the_hint_in_its_docstring(topic, seed):
    for answer in told_answers(topic, seed):
        assert not answer.earned_all, answer
        assert answer.verdict.hints == (answer.hint,), answer


@each_topic
def test_no_reason_and_no_hint_contains_an_expected_value(topic):
    assert [f"{answer} gives away {answer.leaked}" for answer in told_answers(topic, 1) if answer.leaked] == []
