"""Show the results of a class in the terminal: points, hints, and what needs attention.

In: exercises, rows. Out: Rich tables, and lines of text. Pure.
"""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from autograder.courses.released import ReleasedExercise
from autograder.feedback.notices import plain
from autograder.verdicts import PROVISIONAL_NOTE

if TYPE_CHECKING:  # showing collected files must not import the grader
    from autograder.batch.results import SubmissionResult
    from autograder.platforms.collect import Collected
MAX_ADVICE_CHARACTERS = 300  # about one submission in the table
WIDE_COLUMNS = 130  # narrower terminals show the hints below the table


def grade_table(
    questions: Sequence[ReleasedExercise],
    rows: Iterable["SubmissionResult"],
    width: int = WIDE_COLUMNS,
    called: Mapping[str, str] = MappingProxyType({}),
) -> Table:
    """Return the grade table: one row per student, one column per exercise, and hints if ``width`` leaves room.

    The sum is that after the late penalty, which the hints name.
    ``called`` has the display names of students, by id.
    """
    wide, title = width >= WIDE_COLUMNS, f"{questions[0].entry.topic}: points by exercise"
    grid = Table(title=title, pad_edge=False, expand=wide, padding=(0, int(wide)))
    grid.add_column("student", no_wrap=wide, overflow="fold")
    for number, exercise in enumerate(questions, 1):
        grid.add_column(f"{number}", justify="right", no_wrap=True, footer=f"{exercise.points:g}")
    grid.add_column(f"of {sum(e.points for e in questions):g}", justify="right", no_wrap=True)
    if wide:
        grid.add_column("hints", ratio=1)
    for row in rows:
        points = [_format_points(row, exercise.name) for exercise in questions]
        most = sum(exercise.points for exercise in questions if exercise.name in row.points)
        of_own = f" of {most:g}" if len(row.points) < len(questions) else ""
        total = f"{row.total - row.penalty:g}" + ("+" if row.waiting else "") + of_own if row.points else ""
        name = Text(plain(called.get(row.student, row.student)))
        grid.add_row(name, *points, total, *([Text(_advice(row))] if wide else []))
    return grid


def _format_points(row, name):
    """Return the points of one exercise, with "mark" if a person must look at it."""
    if name not in row.points:
        return ""
    points = "" if row.points[name] is None else f"{row.points[name]:g}"
    return f"{points} mark".strip() if name in row.waiting else points


def changes_table(rows: Iterable["SubmissionResult"], called: Mapping[str, str] = MappingProxyType({})) -> Table:
    """Return a table of the marks that would change: whose, for which exercise, from what to what."""
    grid = Table(pad_edge=False)
    for name in ("student", "what"):
        grid.add_column(name, overflow="fold")
    for name in ("from", "to"):
        grid.add_column(name, justify="right")
    for row in rows:
        for move in row.changes:
            points = ["–" if value is None else f"{value:g}" for value in (move.before, move.after)]
            what = f"{move.what}: the answer {move.why}" if move.why else move.what
            grid.add_row(Text(plain(called.get(row.student, row.student))), what, *points)
    return grid


def changes_summary(rows: Sequence["SubmissionResult"]) -> str:
    """Return a line that counts the students whose marks would go up or down."""
    moved = [row for row in rows if row.changes and row.changes[0].what != "all"]
    sums = [sum(_net_gain(move) for move in row.changes) for row in moved]
    new = sum(bool(row.changes) for row in rows) - len(moved)
    same = len(rows) - len(moved) - new - sum(bool(row.set_aside or row.failed) for row in rows)
    counts = f"{sum(gain > 0 for gain in sums)} up, {sum(gain < 0 for gain in sums)} down"
    return f"Students whose marks would change: {len(moved)} ({counts}); {new} would be new, {same} would stay the same"


def _net_gain(move):
    gain = (move.after or 0.0) - (move.before or 0.0)
    return -gain if move.what == "late penalty" else gain


def tabulate_collected(collected: Iterable["Collected"], called: Mapping[str, str] = MappingProxyType({})) -> Table:
    """Return each collected file with its student, release and notes; those that were set aside come last."""
    grid = Table(pad_edge=False)
    for name in ("file", "student", "version", "receipt"):
        grid.add_column(name, overflow="fold")
    grid.add_column("status", ratio=1, overflow="fold")
    for hand_in in sorted(collected, key=lambda hand_in: bool(hand_in.problem)):
        status = f"set aside: {hand_in.describe_problem()}" if hand_in.problem else hand_in.note or "collected"
        name = called.get(hand_in.student, hand_in.student)
        version = "" if hand_in.version is None else str(hand_in.version or "?")
        grid.add_row(*(Text(plain(text)) for text in (hand_in.file, name, version, hand_in.code, status)))
    return grid


def hint_lines(rows: Iterable["SubmissionResult"], called: Mapping[str, str] = MappingProxyType({})) -> str:
    """Return the hints as lines, for terminals too narrow for them in the table."""
    named = [(called.get(row.student, row.student), _advice(row)) for row in rows]
    return "\n".join(f"{plain(name)}: {advice}" for name, advice in named if advice)


def requests_table(rows: Iterable[Sequence[str]]) -> Table:
    """Return the table of requests for another look: rows of student, exercise, words, verdict, points and answer."""
    grid = Table(pad_edge=False)
    for name, ratio in (("student", 2), ("exercise", 2), ("words", 4), ("verdict", 3), ("points", 1), ("answer", 3)):
        grid.add_column(name, overflow="fold", ratio=ratio)
    for row in rows:
        grid.add_row(*(Text(plain(text)[:MAX_ADVICE_CHARACTERS]) for text in row))
    return grid


def legend_table(questions: Iterable[ReleasedExercise]) -> Table:
    """Return the meaning of the grade table's columns."""
    grid = Table(box=None, show_header=False, pad_edge=False)
    for number, exercise in enumerate(questions, 1):
        grid.add_row(f"{number}", exercise.name, f"{exercise.points:g} points", exercise.kind)
    return grid


def summary_line(rows: Sequence["SubmissionResult"]) -> str:
    """Return a line that counts the submissions by their status, and explains what is not obvious."""
    aside, failed = sum(bool(r.set_aside) for r in rows), sum(bool(r.failed) for r in rows)
    reused = sum(r.reused for r in rows)
    parts = [
        f"{len(rows) - aside - failed - reused} graded",
        f"{reused} reused",
        f"{aside} set aside",
        f"{failed} failed",
    ]
    if reused:
        parts[1] += " (nothing has changed since they were graded)"
    if aside:
        parts[2] += " (not graded: their feedback pages say why)"
    return ", ".join(parts)


def slowest_line(
    rows: Iterable["SubmissionResult"], called: Mapping[str, str] = MappingProxyType({}), count: int = 5
) -> str:
    """Return a line with the submissions that took longest to run, or "" if nothing was run."""
    took = {row.student: sum(row.spent.get(stage, 0.0) for stage in ("cells", "calls")) for row in rows}
    first = sorted((name for name in took if took[name]), key=lambda name: took[name], reverse=True)[:count]
    return (
        "Slowest: " + ", ".join(f"{plain(called.get(name, name))} {took[name]:.1f} s" for name in first)
        if first
        else ""
    )


def describe_status(row: "SubmissionResult") -> str:
    """Return the status of a submission in a word."""
    return "failed" if row.failed else "set aside" if row.set_aside else "reused" if row.reused else "graded"


def _advice(row):
    if row.set_aside or row.failed:
        what = f"set aside: {row.set_aside}" if row.set_aside else f"failed: {row.failed}"
        return plain(". ".join(filter(None, (what.partition("\n")[0], row.remedy))))[:MAX_ADVICE_CHARACTERS]
    sentences = row.hints or row.reasons
    first = sentences[0] if sentences else ""
    more = f" (+{len(sentences) - 1} more)" if len(sentences) > 1 else ""
    notes = list(row.notes)
    urgent = notes[: notes.index(PROVISIONAL_NOTE) + 1] if PROVISIONAL_NOTE in notes else []  # the limit, and this
    if row.penalty:
        urgent.append(f"Late: {row.penalty:g} of {row.total:g} points deducted.")
    notes = [note for note in notes if note not in urgent]
    notes = [notes[0], f"(+{len(notes) - 1} more notes)"] if len(notes) > 2 else notes
    said = [*urgent, first[:MAX_ADVICE_CHARACTERS] + more, *notes]
    return plain(" ".join(filter(None, said)))[: 2 * MAX_ADVICE_CHARACTERS]
