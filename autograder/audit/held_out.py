"""Grade the held-out answers, on which nobody tuned the grader, and report how often it is wrong.

In: topics. Out: frozen ``HeldOutAnswer`` and ``Rates``, Wilson intervals. Reads ``tests/submissions/heldout``; writes nothing.
"""

import math
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, cast

import numpy as np

from autograder import exercises
from autograder.audit.calls import UNHURRIED_SECONDS, verdict_on
from autograder.errors import CourseError
from autograder.exercises import Exercise

HELD_OUT = Path(__file__).resolve().parents[2] / "tests" / "submissions" / "heldout"
HINTS = ("named", "misled", "general")


@dataclass(frozen=True)
class HeldOutAnswer:
    """One graded held-out answer. ``judged`` is a person's verdict on the current hint, "" before anyone has judged it."""

    name: str
    topic: str
    exercise: str
    right: bool
    truth: str  # the true mistake, or the style of a right answer
    earned: float
    points: float
    hint: str = ""
    judged: str = ""

    @property
    def accepted(self) -> bool:
        return self.earned == self.points


@dataclass(frozen=True)
class Rates:
    """Counts for the held-out answers of one topic, or of all. ``unjudged`` hints are new, or have changed since."""

    topic: str
    wrong: int = 0
    right: int = 0
    false_accepts: int = 0
    false_rejects: int = 0
    named: int = 0
    misled: int = 0
    general: int = 0
    unjudged: int = 0
    moved: int = 0  # answers that exposed a fault of the grader, and became ordinary ones when it was fixed

    def __add__(self, other):
        counts = {f.name: getattr(self, f.name) + getattr(other, f.name) for f in fields(self) if f.name != "topic"}
        return Rates(self.topic, **counts)

    @property
    def judged(self) -> int:
        """The number of rejected wrong answers whose hint a person has judged."""
        return self.named + self.misled + self.general


def held_out_answers(
    topic: str, seed: int = 0, folder: Path = HELD_OUT
) -> Iterator[tuple[Exercise, str, Callable[..., object]]]:
    """Yield ``(exercise, name, function)`` for the held-out answers of ``topic``; they can use its notebook's code."""
    by_function = {exercise.function: exercise for exercise in exercises.load(topic, seed) if exercise.is_called}
    for name, answer in read_answers(topic, folder).items():
        function, _, rest = name.partition("__")
        if function not in by_function or rest.split("_")[0] not in ("wrong", "right"):
            raise CourseError(
                f"{name} does not answer any exercise in {topic}",
                f"heldout/{topic}.py",
                "name it <function>__wrong_<what> or <function>__right_<style>.",
            )
        yield by_function[function], name, answer


def read_answers(topic: str, folder: Path = HELD_OUT) -> dict[str, Callable[..., object]]:
    """Return the answers in the file of ``topic`` by name."""
    path = folder / f"{topic}.py"
    scope: dict[str, Any] = {"__name__": f"heldout_{topic}", "np": np, "math": math}
    exec(exercises.extract_provided_code(topic), scope)
    before = set(scope)
    exec(compile(path.read_text(encoding="utf-8"), path.name, "exec"), scope)
    return {n: scope[n] for n in scope if n not in before and not n.startswith("_") and "__" in n}


def grade_answer(
    exercise: Exercise, name: str, function: Callable[..., object], judged: dict[str, Any]
) -> HeldOutAnswer:
    """Grade one of the ``held_out_answers``; ``judged`` has the judgements of hints, as ``read_judgement`` returns them."""
    verdict = verdict_on(function, exercise, UNHURRIED_SECONDS)
    hint = " ".join(verdict.hints) or "; ".join(part.reason for part in verdict.parts if part.reason)
    right = name.partition("__")[2].startswith("right")
    judgement = judged.get("hint", {}).get(name, {})
    of_this = judgement.get("verdict", "") if judgement.get("on", "") == hint and not right else ""
    truth = " ".join((function.__doc__ or "").split())
    earned = cast("float", verdict.earned)  # None only for texts, which no function answers
    return HeldOutAnswer(name, exercise.entry.topic, exercise.name, right, truth, earned, verdict.points, hint, of_this)


def read_judgement(path: Path) -> dict[str, Any]:
    """Return the judgements in the file at ``path``, or {} if there is no file.

    Raises
    ------
    CourseError
        If the ``verdict`` on a hint is not in ``HINTS``, or its ``on`` is missing.
    """
    judged = tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    for name, judgement in judged.get("hint", {}).items():
        if judgement.get("verdict") not in HINTS or "on" not in judgement:
            raise CourseError(
                f"the hint for {name} is judged {judgement.get('verdict')!r}",
                f"heldout/{path.name}",
                f"set `verdict` to one of {', '.join(HINTS)}, and `on` to the hint that the verdict is about.",
            )
    return judged


def count_rates(topic: str, answers: Sequence[HeldOutAnswer], moved: int) -> Rates:
    wrong = [answer for answer in answers if not answer.right]
    caught = [answer.judged for answer in wrong if not answer.accepted]
    return Rates(
        topic,
        wrong=len(wrong),
        right=len(answers) - len(wrong),
        false_accepts=len(wrong) - len(caught),
        false_rejects=sum(answer.right and not answer.accepted for answer in answers),
        **{word: caught.count(word) for word in HINTS},
        unjudged=caught.count(""),
        moved=moved,
    )


def totals(rates: Iterable[Rates]) -> Rates:
    """Return the sum over topics."""
    return sum(rates, Rates("all topics"))


def wilson(hits: int, count: int, z: float = 1.96) -> tuple[float, float]:
    """Return the Wilson interval of a rate: ``(low, high)``, between 0 and 1; (0, 1) if ``count`` is 0."""
    if not count:
        return 0.0, 1.0
    rate, square = hits / count, z * z
    middle = rate + square / (2 * count)
    width = z * math.sqrt(rate * (1 - rate) / count + square / (4 * count * count))
    low, high = (middle - width) / (1 + square / count), (middle + width) / (1 + square / count)
    return max(0.0, low) if hits else 0.0, min(1.0, high) if hits < count else 1.0
