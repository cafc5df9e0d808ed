"""Print what became of a class: a table of points and hints, and what needs somebody's attention.

In: exercises, rows. Out: Rich renderables. Touches nothing.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from autograder.courses.released import ReleasedExercise
from autograder.feedback.notices import plain

if TYPE_CHECKING:  # a table of what was collected needs nothing that grades
    from autograder.batch.results import SubmissionResult
    from autograder.platforms.collect import Collected
LONGEST = 300  # characters of what is said about one submission in the table
WIDE = 130  # columns of a terminal from which the hints stand in the table; else they stand below it


def table(questions: Sequence[ReleasedExercise], rows: Iterable["SubmissionResult"], width: int = WIDE) -> Table:
    """Return the grade table: one line a student, one column an exercise, and hints where ``width`` leaves room."""
    wide = width >= WIDE
    grid = Table(
        title=f"{questions[0].entry.topic}: points by exercise", pad_edge=False, expand=wide, padding=(0, int(wide))
    )
    grid.add_column("student", no_wrap=wide, overflow="fold")
    for number, exercise in enumerate(questions, 1):
        grid.add_column(f"{number}", justify="right", no_wrap=True, footer=f"{exercise.points:g}")
    grid.add_column(f"of {sum(e.points for e in questions):g}", justify="right", no_wrap=True)
    if wide:
        grid.add_column("hints", ratio=1)
    for row in rows:
        points = [_points(row, exercise.name) for exercise in questions]
        total = f"{row.total:g}" + ("+" if row.waiting else "") if row.points else ""
        grid.add_row(Text(plain(row.student)), *points, total, *([Text(_advice(row))] if wide else []))
    return grid


def _points(row, name):
    """Return the points of one exercise; "mark" where a person must look, with the points that a person gave before."""
    if name not in row.points:
        return ""
    points = "" if row.points[name] is None else f"{row.points[name]:g}"
    return f"{points} mark".strip() if name in row.waiting else points


def changes_table(rows: Iterable["SubmissionResult"]) -> Table:
    """Return whose marks would move: by which exercise, from what to what."""
    grid = Table(pad_edge=False)
    for name in ("student", "what"):
        grid.add_column(name, overflow="fold")
    for name in ("from", "to"):
        grid.add_column(name, justify="right")
    for row in rows:
        for move in row.changes:
            points = ["–" if value is None else f"{value:g}" for value in (move.before, move.after)]
            what = f"{move.what}: the answer {move.why}" if move.why else move.what
            grid.add_row(Text(plain(row.student)), what, *points)
    return grid


def changes_summary(rows: Sequence["SubmissionResult"]) -> str:
    """Return one line that counts whose marks would move, up or down."""
    moved = [row for row in rows if row.changes and row.changes[0].what != "all"]
    sums = [sum(_gain(move) for move in row.changes) for row in moved]
    new = sum(bool(row.changes) for row in rows) - len(moved)
    same = len(rows) - len(moved) - new - sum(bool(row.set_aside or row.failed) for row in rows)
    counts = f"{sum(gain > 0 for gain in sums)} up, {sum(gain < 0 for gain in sums)} down"
    return f"Whose marks would move: {len(moved)} ({counts}); {new} would be new, {same} stay as they are"


def _gain(move):
    gain = (move.after or 0.0) - (move.before or 0.0)
    return -gain if move.what == "late penalty" else gain


def collected_table(collected: Iterable["Collected"]) -> Table:
    """Return which file became whose, made from which release, and what is to say of it; what was set aside comes last."""
    grid = Table(pad_edge=False)
    for name in ("file", "student", "version", "receipt"):
        grid.add_column(name, overflow="fold")
    grid.add_column("what became of it", ratio=1, overflow="fold")
    for one in sorted(collected, key=lambda one: bool(one.problem)):
        said = f"set aside: {one.problem}" if one.problem else one.note or "collected"
        grid.add_row(*(Text(plain(text)) for text in (one.file, one.student, str(one.version or "?"), one.code, said)))
    return grid


def hints(rows: Iterable["SubmissionResult"]) -> str:
    """Return the hints as lines of their own, for a terminal that is too narrow for them in the table."""
    return "\n".join(f"{plain(row.student)}: {advice}" for row in rows if (advice := _advice(row)))


def legend(questions: Iterable[ReleasedExercise]) -> Table:
    """Return what the columns of the table stand for."""
    grid = Table(box=None, show_header=False, pad_edge=False)
    for number, exercise in enumerate(questions, 1):
        grid.add_row(f"{number}", exercise.name, f"{exercise.points:g} points", exercise.kind)
    return grid


def summary(rows: Sequence["SubmissionResult"]) -> str:
    """Return one line that counts what became of the submissions."""
    aside, failed = sum(bool(r.set_aside) for r in rows), sum(bool(r.failed) for r in rows)
    reused = sum(r.reused for r in rows)
    return f"{len(rows) - aside - failed - reused} graded, {reused} reused, {aside} set aside, {failed} failed"


def slowest(rows: Iterable["SubmissionResult"], count: int = 5) -> str:
    """Return a line that names the submissions that took the longest to run, or "" if nothing was run."""
    took = {row.student: sum(row.spent.get(stage, 0.0) for stage in ("cells", "calls")) for row in rows}
    first = sorted((name for name in took if took[name]), key=lambda name: took[name], reverse=True)[:count]
    return "Slowest: " + ", ".join(f"{plain(name)} {took[name]:.1f} s" for name in first) if first else ""


def status(row: "SubmissionResult") -> str:
    """Return in a word what became of a submission."""
    return "failed" if row.failed else "set aside" if row.set_aside else "reused" if row.reused else "graded"


def _advice(row):
    if row.set_aside or row.failed:
        what = f"set aside: {row.set_aside}" if row.set_aside else f"failed: {row.failed}"
        return plain(what.partition("\n")[0])[:LONGEST]
    said = row.hints or row.reasons
    first = said[0] if said else ""
    more = f" (+{len(said) - 1} more)" if len(said) > 1 else ""
    notes = [*row.notes[:1], f"(+{len(row.notes) - 1} more notes)"] if len(row.notes) > 2 else row.notes
    return plain(" ".join(filter(None, [first[:LONGEST] + more, *notes])))[: 2 * LONGEST]
