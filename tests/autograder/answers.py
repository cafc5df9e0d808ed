"""Judge the answers in the repository."""

import importlib
import re
from dataclasses import dataclass
from functools import cache

import numpy as np

from autograder import exercises
from autograder.audit.calls import reply_to
from autograder.audit.held_out import UNHURRIED_SECONDS
from autograder.exercises import reference_of
from autograder.grading import judge
from autograder.grading.judge import Verdict
from tests.autograder.samples import topic_exercises
from tests.submissions import told


@dataclass(frozen=True)
class Judged:
    """One answer and its verdict. ``leaked``: digits of expected values, not its own, in its feedback.

    ``hint`` is the hint that it must get, or "" for no particular one.
    """

    name: str
    verdict: Verdict
    leaked: tuple[str, ...]
    changed: bool
    hint: str = ""

    @property
    def earned_all(self):
        return self.verdict.earned == self.verdict.points

    @property
    def words(self):
        return [*(part.reason for part in self.verdict.parts), *self.verdict.hints]

    def __str__(self):
        return f"{self.name} earned {self.verdict.earned:g} of {self.verdict.points:g}: {'; '.join(self.words)}"


def judge_answer(exercise, name, function, hint=""):
    replies = {n: reply_to(function, exercise, case, UNHURRIED_SECONDS) for n, case in enumerate(exercise.hidden)}
    (verdict,) = judge.judge([exercise], {(exercise.name, n): reply for n, reply in replies.items()})
    leaked = find_expected_digits(exercise, verdict)
    if leaked:  # only then search the answer's own numbers, because they are many
        numbers = [number for reply in replies.values() for number in numbers_in(reply.value)]
        leaked -= {f"{x:.6g}" for number in numbers for x in (number, abs(number))}
    return Judged(name, verdict, tuple(sorted(leaked)), any(reply.changed for reply in replies.values()), hint)


def find_expected_digits(exercise, verdict):
    """Return the digits of expected values that the feedback has; some may be the answer's own."""
    feedback = "\n".join([*(part.reason for part in verdict.parts), *verdict.hints])
    found = [digits for digits in expected_digits(exercise) if digits in feedback]
    return {digits for digits in found if re.search(rf"(?<![\d.]){re.escape(digits)}(?!\d)", feedback)}


@cache
def expected_digits(exercise):
    # a shape with an axis of length 1 may occur by chance
    cases = exercise.hidden[: exercises.SHAPE_DRAWS] if exercise.kind == "shape" else exercise.hidden
    return {digits for case in cases for digits in digits_of(case.expected)}


def digits_of(expected):
    """Return the expected values of a case in the form in which a student could copy them."""
    if isinstance(expected, dict):
        return [text for item in expected.values() for text in digits_of(item)]
    if isinstance(expected, tuple):
        return [str(expected), str(list(expected))]
    numbers = np.ravel(expected)
    written = [f"{number:.6g}" for number in numbers[numbers != np.round(numbers, 5)]]  # inputs have five decimals
    return [text for text in written if len(text) > 7]  # shorter ones may occur by chance


def numbers_in(value):
    if isinstance(value, dict):
        return [x for item in value.values() for x in numbers_in(item)]
    if isinstance(value, (list, tuple, float, int, np.number, np.ndarray)) and not isinstance(value, str):
        array = np.asarray(value, dtype=object).ravel()
        return [float(x) for x in array if isinstance(x, (int, float, np.number))]
    return []


@cache
def told_answers(topic, seed):
    """Return the answers of ``told`` to the exercises of ``topic``, judged."""
    answers = vars(importlib.reload(told))  # so that nothing an answer keeps between calls reaches the next grading
    return [
        judge_answer(exercise, name, function, hint=" ".join(function.__doc__.split()))
        for exercise in called_exercises(topic, seed)
        for name, function in exercises.versions(answers, exercise.function).items()
        if takes_arguments_of(exercise, function)
    ]


def called_exercises(topic, seed):
    return [exercise for exercise in topic_exercises(topic, seed) if exercise.is_called]


def takes_arguments_of(exercise, function):
    """Return whether ``function`` takes the exercise's arguments: two topics may use the same function name."""
    names = reference_of(exercise).__code__.co_varnames[: reference_of(exercise).__code__.co_argcount]
    return function.__code__.co_varnames[: function.__code__.co_argcount] == names
