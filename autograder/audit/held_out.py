"""Grade the held-out answers, on which nobody tuned the grader, and report how often it is wrong.

In: topics. Out: frozen ``Answer``, ``HeldOutAnswer`` and ``Rates``, Wilson intervals. Reads ``tests/submissions/heldout.jsonl``
or the file of a blind round, and the judgements in ``tests/submissions/heldout``; writes nothing.
"""

import math
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, cast

import msgspec

from autograder import exercises
from autograder.audit.calls import UNHURRIED_SECONDS, verdict_on
from autograder.errors import CourseError
from autograder.exercises import Exercise

HELD_OUT = Path(__file__).resolve().parents[2] / "tests" / "submissions" / "heldout.jsonl"
HINTS = ("named", "misled", "general")


@dataclass(frozen=True)
class Answer:
    """One answer as it was handed in. ``code`` defines the function ``name`` and all that it uses."""

    topic: str
    name: str  # <function>__wrong_<what> or <function>__right_<style>
    about: str  # the true mistake, or the style of a right answer
    code: str
    shown_by: str = ""  # an input on which the mistake shows, where one is recorded

    @property
    def right(self) -> bool:
        return self.name.partition("__")[2].startswith("right")

    def function(self) -> Callable[..., object]:
        """Run ``code`` in a new scope and return the function."""
        scope: dict[str, Any] = {"__name__": f"answers_to_{self.topic}"}
        exec(compile(self.code, f"{self.name}.py", "exec"), scope)
        return scope[self.name]


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


def held_out_answers(topic: str, seed: int = 0, path: Path = HELD_OUT) -> Iterator[tuple[Exercise, Answer]]:
    """Yield ``(exercise, answer)`` for the answers to ``topic`` in the file at ``path``, in its order.

    Raises
    ------
    CourseError
        If an answer cannot be read, or its name starts with no function of ``topic`` or is not one of a right or wrong answer.
    """
    by_function = {exercise.function: exercise for exercise in exercises.load(topic, seed) if exercise.is_called}
    for answer in read_answers(path):
        function, _, rest = answer.name.partition("__")
        if answer.topic == topic:
            if function not in by_function or rest.split("_")[0] not in ("wrong", "right"):
                raise CourseError(
                    f"{answer.name} does not answer any exercise in {topic}",
                    path.name,
                    "name it <function>__wrong_<what> or <function>__right_<style>.",
                )
            yield by_function[function], answer


def read_answers(path: Path = HELD_OUT) -> list[Answer]:
    """Return the answers in the file at ``path``, one to a line. Raises ``CourseError`` if a line is not an ``Answer``."""
    answers = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            answers.append(msgspec.json.decode(line, type=Answer))
        except msgspec.MsgspecError as error:
            fields_of = ", ".join(field.name for field in fields(Answer))
            raise CourseError(f"{error}", f"{path.name}, line {number}", f"give each answer {fields_of}.") from None
    return answers


def grade_answer(exercise: Exercise, answer: Answer, judged: dict[str, Any]) -> HeldOutAnswer:
    """Grade one of the ``held_out_answers``; ``judged`` has the judgements of hints, as ``read_judgement`` returns them."""
    verdict = verdict_on(answer.function(), exercise, UNHURRIED_SECONDS)
    hint = " ".join(verdict.hints) or "; ".join(part.reason for part in verdict.parts if part.reason)
    judgement = judged.get("hint", {}).get(answer.name, {})
    of_this = judgement.get("verdict", "") if judgement.get("on", "") == hint and not answer.right else ""
    return HeldOutAnswer(
        answer.name,
        answer.topic,
        exercise.name,
        answer.right,
        answer.about,
        cast("float", verdict.earned),  # None only for texts, which no function answers
        verdict.points,
        hint,
        of_this,
    )


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
