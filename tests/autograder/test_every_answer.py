"""Every answer in the repository gets the verdict that it deserves, and no verdict gives an answer away."""

import pytest

from autograder import exercises
from autograder.audit.run import reference_of
from autograder.exercises import compare
from tests.autograder.answers import listed_answers
from tests.autograder.samples import TOPICS, topic_exercises

pytestmark = [pytest.mark.suite("audit"), pytest.mark.filterwarnings("ignore")]
each_topic = pytest.mark.parametrize("topic", TOPICS)
each_seed = pytest.mark.parametrize("seed", [1, 2])


@each_topic
@each_seed
def test_a_reference_earns_all_points_without_a_word_and_changes_no_input(topic, seed):
    answers = listed_answers(topic, seed)["reference"]
    assert answers
    for answer in answers:
        assert answer.earned_all, answer
        assert not any(answer.words), answer
        assert not answer.changed, answer


@each_topic
@each_seed
def test_a_reference_passes_every_shown_case(topic, seed):
    for exercise in topic_exercises(topic, seed):
        turn = exercises.convert(exercise)
        for case in exercise.shown if exercise.is_called else ():
            inputs = {name: turn(item) for name, item in case.inputs.items()}
            value, changed = compare.call_case(reference_of(exercise), inputs, case.gradients)
            reasons = compare.mismatches(value, case.expected, exercise.kind, case.atol)
            assert not any(reasons.values()), (exercise.name, case.name, reasons)
            assert not changed, (exercise.name, case.name)


@each_topic
def test_an_untouched_starter_earns_nothing(topic):
    for answer in listed_answers(topic, 1)["starter"]:
        assert answer.verdict.earned == 0, answer


@each_topic
@each_seed
def test_a_right_answer_in_another_style_earns_all_points(topic, seed):
    rejected = [str(answer) for answer in listed_answers(topic, seed)["right"] if not answer.earned_all]
    assert not rejected, "\n".join(rejected)


@each_topic
@each_seed
def test_a_listed_mistake_loses_points_and_gets_its_own_hint(topic, seed):
    answers = listed_answers(topic, seed)["mistake"]
    assert answers
    accepted = [str(answer) for answer in answers if answer.earned_all]
    assert not accepted, "\n".join(accepted)
    other = [
        str(answer) for answer in answers if not any(answer.hint in h.split(" Or: ") for h in answer.verdict.hints)
    ]
    assert not other, "\n".join(other)


@each_topic
@each_seed
def test_a_wrong_answer_that_is_not_listed_gets_the_hint_in_its_docstring(topic, seed):
    for answer in listed_answers(topic, seed)["told"]:
        assert not answer.earned_all, answer
        assert answer.verdict.hints == (answer.hint,), answer


@each_topic
def test_no_reason_and_no_hint_contains_an_expected_value(topic):
    answers = listed_answers(topic, 1)
    leaks = [f"{a} gives away {a.leaked}" for a in [*answers["mistake"], *answers["told"]] if a.leaked]
    assert not leaks, "\n".join(leaks)
