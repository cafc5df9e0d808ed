"""The results of the submissions of one run.

In: verdicts, marks, exercises. Out: ``SubmissionResult`` and ``MarkChange``. Touches nothing.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from autograder.courses.released import ReleasedExercise
from autograder.feedback.marks import GradebookState, Mark, Marks
from autograder.notebooks.cell_ids import points_id
from autograder.verdicts import MAX_RUNS, PROVISIONAL_NOTE, Graded

WORKER_STAGES = ("repair", "host", "notebook", "page")  # of ``spent``: one after the other, in a worker


@dataclass(frozen=True)
class MarkChange:
    """How one mark would change. ``what`` is an exercise, "late penalty", or "all" for a student without marks.

    ``why`` says how a written answer has changed since a person marked it.
    """

    what: str
    before: float | None  # None: nothing yet, or a person must mark it
    after: float | None
    why: str = ""


@dataclass
class SubmissionResult:
    """The result of one submission. ``points`` maps an exercise to points, None if a person must mark it.

    ``penalty`` is deducted from their sum for being late. ``waiting`` names the exercises that a person must look at,
    whether marked before or not.
    """

    student: str
    points: dict[str, float | None] = field(default_factory=dict)
    penalty: float = 0.0
    waiting: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()  # why points were lost without a recognised mistake
    notes: tuple[str, ...] = ()
    set_aside: str = ""
    remedy: str = ""  # what the instructor can do about a submission that is set aside
    failed: str = ""
    changes: tuple[MarkChange, ...] = ()  # of a dry run: what would have changed
    reused: bool = field(default=False, compare=False)  # neither run nor recorded again
    spent: dict[str, float] = field(default_factory=dict, compare=False)  # stage -> seconds
    used: dict[str, float] = field(default_factory=dict, compare=False)  # stage -> seconds of CPU

    @property
    def total(self) -> float:
        return sum(points or 0.0 for points in self.points.values())

    @property
    def worker_seconds(self) -> float:
        """The seconds that a worker has spent on it."""
        return sum(self.spent.get(stage, 0.0) for stage in WORKER_STAGES)

    def add_seconds(self, spent: Mapping[str, float]) -> None:
        """Add what a further run or page has ``spent``."""
        self.spent |= {stage: self.spent.get(stage, 0.0) + seconds for stage, seconds in spent.items()}

    def enter_verdicts(self, graded: Graded, notes: Sequence[str]) -> None:
        """Set hints, reasons and notes."""
        hints = [hint for verdict in graded.verdicts if verdict.earned != verdict.points for hint in verdict.hints]
        self.hints = tuple(dict.fromkeys(hints))
        first_reasons = {
            verdict.exercise: next((part.reason for part in verdict.parts if part.reason), "")
            for verdict in graded.verdicts
            if not verdict.hints
        }
        self.reasons = tuple(f"{name.partition('-')[2]}: {why}" for name, why in first_reasons.items() if why)
        limit = (PROVISIONAL_NOTE,) if graded.reached and graded.runs < MAX_RUNS else ()
        first = (*((graded.failure,) if graded.failure else ()), *limit)
        self.notes = (*first, *(note for note in notes if note not in (graded.failure, PROVISIONAL_NOTE)))

    def enter_marks(self, exercises: Iterable[ReleasedExercise], marks: Marks) -> None:
        """Set the points of ``exercises`` from the gradebook's ``marks``."""
        by_exercise = {exercise.name: marks.cells[points_id(exercise)] for exercise in exercises}
        self.points = {name: _get_given_points(mark) for name, mark in by_exercise.items()}
        self.waiting = tuple(name for name, mark in by_exercise.items() if mark.waiting)
        self.penalty = marks.late_penalty


def mark_changes(exercises: Iterable[ReleasedExercise], state: GradebookState, after: Marks) -> tuple[MarkChange, ...]:
    """Return the differences between the gradebook's ``state`` and the marks ``after``."""
    if state.is_new:
        return (MarkChange("all", None, after.score),)
    before, changes = state.marks, []
    for exercise in exercises:
        old, new = before.cells[points_id(exercise)], after.cells[points_id(exercise)]
        changes.append(
            MarkChange(
                exercise.name, _get_given_points(old), _get_given_points(new), _describe_remarking(exercise, old, new)
            )
        )
    changes.append(MarkChange("late penalty", before.late_penalty, after.late_penalty))
    return tuple(move for move in changes if move.before != move.after or move.why)


def _get_given_points(mark: Mark) -> float | None:
    """Return the points of ``mark``, None if a person must give them."""
    return None if mark.waiting and not mark.by_person else mark.score


def _describe_remarking(exercise, before, after):
    """Say how a written answer has changed since a person marked it; "" if it has not."""
    if exercise.is_automatic or before.waiting or not (after.by_person and after.waiting):
        return ""
    return "has changed since it was marked" if after.automatic is None else "has disappeared since it was marked"
