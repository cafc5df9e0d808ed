"""The results of grading a submission: points and explanations for each exercise, and the outputs of its cells.

Records only, so that the coordinating process can read them without importing the grader.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

MAX_RUNS = 3  # of a submission that reaches a limit each time
PROVISIONAL_NOTE = "These points are provisional: the next `grade` runs it again."  # for the instructor


@dataclass(frozen=True)
class Part:
    """One part of an exercise; the name "" stands for the whole. ``reason`` is "" when the points are earned.

    ``note`` says how they were earned if that needs saying: a step of a chain may be right given the step before it.
    """

    name: str
    earned: float
    points: float
    reason: str
    note: str = ""


@dataclass(frozen=True)
class Verdict:
    """What one exercise earned, explained for the student. ``earned`` is None if a person must mark it."""

    exercise: str
    earned: float | None
    points: float
    parts: tuple[Part, ...] = ()
    hints: tuple[str, ...] = ()


@dataclass(frozen=True)
class Graded:
    """One submission, graded. ``outputs`` maps the index of a code cell, from 0, to (execution count, outputs).

    ``reached`` maps the limits that it reached to their values then, in how many ``runs`` so far.
    """

    verdicts: tuple[Verdict, ...]
    outputs: dict[int, tuple[int | None, list[dict[str, object]]]]
    failure: str = ""
    reached: dict[str, float] = field(default_factory=dict)
    runs: int = 1
    killed: bool = False  # not by the grader: for lack of memory, for example
    spent: dict[str, float] = field(default_factory=dict)  # stage -> seconds
    used: dict[str, float] = field(default_factory=dict)  # stage -> seconds of CPU

    @property
    def by_exercise(self) -> dict[str, Verdict]:
        return {verdict.exercise: verdict for verdict in self.verdicts}

    def stands(self, limits: Mapping[str, float]) -> bool:
        """Return whether running it once more, with ``limits`` by name, cannot change the verdicts, or has been tried enough.

        A verdict that reached no limit does not depend on them. One that did is provisional: it is run again, at most
        twice, and whenever one of these limits has been raised.
        """
        return all(limits[name] <= value for name, value in self.reached.items()) and (
            not self.reached or self.runs >= MAX_RUNS
        )
