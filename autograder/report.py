"""Print what became of a class: a table of points and hints, and what needs somebody's attention.

In: exercises, rows. Out: Rich renderables. Touches nothing.
"""

from rich.table import Table
from rich.text import Text


def table(asked, rows):
    """Return the grade table: one line a student, one column an exercise, hints below."""
    automatic = sum(e.points for e in asked if e.is_automatic)
    grid = Table(title=f"{asked[0].entry.topic}: points by exercise", show_lines=False, pad_edge=False, expand=True)
    grid.add_column("student", no_wrap=True)
    for number, exercise in enumerate(asked, 1):
        grid.add_column(f"{number}", justify="right", no_wrap=True, footer=f"{exercise.points:g}")
    grid.add_column(f"of {automatic:g}", justify="right", no_wrap=True)
    grid.add_column("hints", ratio=1)
    for row in rows:
        if row.set_aside or row.failed:
            what = f"set aside: {row.set_aside}" if row.set_aside else f"failed: {row.failed}"
            grid.add_row(row.student, *[""] * len(asked), "", Text(what.partition("\n")[0]))
        else:
            points = ["mark" if row.points[e.name] is None else f"{row.points[e.name]:g}" for e in asked]
            grid.add_row(row.student, *points, f"{row.total:g}", Text(_advice(row)))
    return grid


def legend(asked):
    """Return what the columns of the table stand for."""
    grid = Table(box=None, show_header=False, pad_edge=False)
    for number, exercise in enumerate(asked, 1):
        grid.add_row(f"{number}", exercise.name, f"{exercise.points:g} points", exercise.kind)
    return grid


def summary(rows):
    """Return one line that counts what became of the submissions."""
    aside, failed = sum(bool(r.set_aside) for r in rows), sum(bool(r.failed) for r in rows)
    return f"{len(rows) - aside - failed} graded, {aside} set aside, {failed} failed"


def _advice(row):
    first = row.hints[0] if row.hints else ""
    more = f" (+{len(row.hints) - 1} more)" if len(row.hints) > 1 else ""
    notes = [*row.notes[:1], f"(+{len(row.notes) - 1} more notes)"] if len(row.notes) > 2 else row.notes
    return " ".join(filter(None, [first + more, *notes]))
