"""Compute what the gradebook holds for a submission once its results are recorded, for both the grader and the recorder.

Marks follow from the rows of the gradebook as nbgrader computes them. Pure.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace


@dataclass(frozen=True)
class CellResult:
    """The grader's result for one cell. ``auto_score`` is None if a person must give the points.

    ``text`` is a hash of the answer that a person marks, "" if no person does. ``is_graded`` and ``is_answer`` are
    nbgrader's ``grade`` and ``solution``.
    """

    name: str
    auto_score: float | None
    is_graded: bool
    is_answer: bool
    comment: str | None = None
    text: str = ""


@dataclass(frozen=True)
class Mark:
    """The marks of one cell: its score and maximum, the grader's own points, and whether it waits for a person."""

    score: float
    points: float
    automatic: float | None
    by_person: bool  # a person has given the points
    waiting: bool


@dataclass(frozen=True)
class InstructorReply:
    """A person's ``answer`` to a student who asked for another look at an ``exercise`` in these ``words``."""

    exercise: str
    words: str
    answer: str


@dataclass(frozen=True)
class Marks:
    """What the gradebook holds for one submission. ``comments`` maps a cell to the comment on it.

    ``received_at`` and ``due`` are when it was handed in and when it was due, with extensions, as ISO 8601 in UTC; "" if
    unknown. ``is_earliest`` if it is only known to be late: ``received_at`` is then the earliest possible time.
    ``full_from`` is when the page shows everything, in the same form.
    """

    cells: dict[str, Mark]
    comments: dict[str, str | None]
    score: float
    points: float
    late_penalty: float
    received_at: str = ""
    due: str = ""
    is_earliest: bool = False
    replies: tuple[InstructorReply, ...] = ()
    full_from: str = ""


@dataclass(frozen=True)
class GradebookEntry:
    """A row of the gradebook for one cell: nbgrader's Grade, with the points that the cell is worth."""

    points: float
    automatic: float | None = None
    manual: float | None = None
    extra: float | None = None
    waiting: bool = True

    @property
    def score(self) -> float:
        given = self.automatic if self.manual is None else self.manual
        return 0.0 if given is None else given + (self.extra or 0.0)


@dataclass(frozen=True)
class CellComment:
    """A row of the gradebook for one answer: nbgrader's Comment."""

    automatic: str | None = None
    manual: str | None = None

    @property
    def text(self) -> str | None:
        return self.automatic if self.manual is None else self.manual


@dataclass(frozen=True)
class GradebookState:
    """All rows of the gradebook for one submission; ``is_new`` if it has none yet. The rest is as in ``Marks``."""

    entries: dict[str, GradebookEntry] = field(default_factory=dict)  # by cell
    comments: dict[str, CellComment] = field(default_factory=dict)  # by cell
    late_penalty: float = 0.0
    is_new: bool = True
    received_at: str = ""
    due: str = ""
    is_earliest: bool = False
    replies: tuple[InstructorReply, ...] = ()
    full_from: str = ""

    @property
    def marks(self) -> Marks:
        """Return the ``Marks`` that follow from these rows."""
        cells = {
            name: Mark(float(e.score), float(e.points), e.automatic, e.manual is not None, e.waiting)
            for name, e in self.entries.items()
        }
        score, points = (sum(getattr(mark, what) for mark in cells.values()) for what in ("score", "points"))
        comments = {name: comment.text for name, comment in self.comments.items()}
        penalty, times = float(self.late_penalty), (self.received_at, self.due, self.is_earliest)
        return Marks(cells, comments, float(score), float(points), penalty, *times, self.replies, self.full_from)


def merge_results(standing: GradebookState, results: Iterable[CellResult], texts: Mapping[str, str]) -> GradebookState:
    """Return ``standing`` updated with ``results``, without a late penalty.

    ``texts`` maps a cell to the hash of its text when it was last recorded: a cell that a person has marked waits for a
    person again only if its text, or without a text its automatic score, has changed.
    """
    entries, comments = dict(standing.entries), dict(standing.comments)
    for result in results:
        if result.is_graded:
            entry = entries[result.name]
            was_marked = entry.manual is not None and not entry.waiting
            is_same = texts.get(result.name) == result.text if result.text else entry.automatic == result.auto_score
            waiting = not (was_marked and is_same) and (entry.manual is not None or result.auto_score is None)
            entries[result.name] = replace(entry, automatic=result.auto_score, waiting=waiting)
        if result.is_answer:
            comments[result.name] = replace(comments[result.name], automatic=result.comment)
    return replace(standing, entries=entries, comments=comments, late_penalty=0.0)
