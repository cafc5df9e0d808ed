"""What became of the submissions of one run over a class.

In: verdicts, marks, exercises. Out: ``SubmissionResult`` and ``MarkChange``. Touches nothing.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from autograder.courses.released import ReleasedExercise
from autograder.feedback.marks import GradebookState, Mark, Marks
from autograder.notebooks.cell_ids import points_id
from autograder.verdicts import Graded


@dataclass(frozen=True)
class MarkChange:
    """What would become of one mark: of an exercise, of "late penalty", or of "all" for who has none yet.

    ``why`` says of a written answer that it is no longer the one which a person has marked.
    """

    what: str
    before: float | None  # None: nothing yet, or a person must mark it
    after: float | None
    why: str = ""


@dataclass
class SubmissionResult:
    """What became of one submission. ``points`` maps an exercise to points, None where a person must mark it.

    ``waiting`` names those that a person must look at, marked before or not.
    """

    student: str
    points: dict[str, float | None] = field(default_factory=dict)
    waiting: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()  # why points are missing where no mistake was recognised
    notes: tuple[str, ...] = ()
    set_aside: str = ""
    failed: str = ""
    changes: tuple[MarkChange, ...] = ()  # where nothing was recorded: what would have changed
    reused: bool = field(default=False, compare=False)  # nothing was run, nothing recorded again
    spent: dict[str, float] = field(default_factory=dict, compare=False)  # stage -> seconds
    used: dict[str, float] = field(default_factory=dict, compare=False)  # stage -> seconds of CPU

    @property
    def total(self) -> float:
        return sum(points or 0.0 for points in self.points.values())

    def enter_verdicts(self, graded: Graded, notes: Sequence[str]) -> None:
        """Take over what the student is told: hints, reasons, notes."""
        hints = [hint for verdict in graded.verdicts if verdict.earned != verdict.points for hint in verdict.hints]
        self.hints = tuple(dict.fromkeys(hints))
        first_reasons = {
            verdict.exercise: next((part.reason for part in verdict.parts if part.reason), "")
            for verdict in graded.verdicts
            if not verdict.hints
        }
        self.reasons = tuple(f"{name.partition('-')[2]}: {why}" for name, why in first_reasons.items() if why)
        self.notes = tuple(notes)
        if graded.failure and graded.failure not in self.notes:
            self.notes += (graded.failure,)

    def enter_marks(self, exercises: Iterable[ReleasedExercise], marks: Marks) -> None:
        """Take over the points of ``exercises`` from what the gradebook has."""
        by_exercise = {exercise.name: marks.cells[points_id(exercise)] for exercise in exercises}
        self.points = {name: _points(mark) for name, mark in by_exercise.items()}
        self.waiting = tuple(name for name, mark in by_exercise.items() if mark.waiting)


def mark_changes(
    exercises: Iterable[ReleasedExercise], standing: GradebookState, after: Marks
) -> tuple[MarkChange, ...]:
    """Return what differs between what the gradebook has, ``standing``, and the marks ``after``."""
    if standing.is_new:
        return (MarkChange("all", None, after.score),)
    before, found = standing.marks, []
    for exercise in exercises:
        old, new = (marks.cells[points_id(exercise)] for marks in (before, after))
        found.append(MarkChange(exercise.name, _points(old), _points(new), _why_looked_at_again(exercise, old, new)))
    found.append(MarkChange("late penalty", before.late_penalty, after.late_penalty))
    return tuple(move for move in found if move.before != move.after or move.why)


def _points(mark: Mark) -> float | None:
    """Return the points of ``mark``, None where a person must give them."""
    return None if mark.waiting and not mark.by_person else mark.score


def _why_looked_at_again(exercise, before, after):
    """Say what became of a written answer that a person has marked; "" if it is the same."""
    if exercise.is_automatic or before.waiting or not (after.by_person and after.waiting):
        return ""
    return "has changed since it was marked" if after.automatic is None else "is gone since it was marked"
