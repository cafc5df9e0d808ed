"""Print what became of a class: a table of points and hints, and what needs somebody's attention.

In: exercises, rows. Out: Rich renderables. Touches nothing.
"""

import html

from rich.table import Table
from rich.text import Text

WIDE = 130  # columns of a terminal from which the hints stand in the table; else they stand below it


def table(asked, rows, width=WIDE):
    """Return the grade table: one line a student, one column an exercise, and hints where ``width`` leaves room."""
    automatic = sum(e.points for e in asked if e.is_automatic)
    wide = width >= WIDE
    grid = Table(
        title=f"{asked[0].entry.topic}: points by exercise", pad_edge=False, expand=wide, padding=(0, int(wide))
    )
    grid.add_column("student", no_wrap=wide, overflow="fold")
    for number, exercise in enumerate(asked, 1):
        grid.add_column(f"{number}", justify="right", no_wrap=True, footer=f"{exercise.points:g}")
    grid.add_column(f"of {automatic:g}", justify="right", no_wrap=True)
    if wide:
        grid.add_column("hints", ratio=1)
    for row in rows:
        if row.set_aside or row.failed:
            points, total = [""] * len(asked), ""
        else:
            points = ["mark" if row.points[e.name] is None else f"{row.points[e.name]:g}" for e in asked]
            total = f"{row.total:g}"
        grid.add_row(row.student, *points, total, *([Text(_advice(row))] if wide else []))
    return grid


def hints(rows):
    """Return the hints as lines of their own, for a terminal that is too narrow for them in the table."""
    return "\n".join(f"{row.student}: {advice}" for row in rows if (advice := _advice(row)))


def legend(asked):
    """Return what the columns of the table stand for."""
    grid = Table(box=None, show_header=False, pad_edge=False)
    for number, exercise in enumerate(asked, 1):
        grid.add_row(f"{number}", exercise.name, f"{exercise.points:g} points", exercise.kind)
    return grid


def summary(rows):
    """Return one line that counts what became of the submissions."""
    aside, failed = sum(bool(r.set_aside) for r in rows), sum(bool(r.failed) for r in rows)
    reused = sum(r.reused for r in rows)
    return f"{len(rows) - aside - failed - reused} graded, {reused} reused, {aside} set aside, {failed} failed"


def slowest(rows, count=5):
    """Return a line that names the submissions that took the longest to run, or "" if nothing was run."""
    took = {row.student: sum(row.spent.get(stage, 0.0) for stage in ("cells", "calls")) for row in rows}
    first = sorted((name for name in took if took[name]), key=took.get, reverse=True)[:count]
    return "Slowest: " + ", ".join(f"{name} {took[name]:.1f} s" for name in first) if first else ""


def fate(row):
    """Return in a word what became of a submission."""
    return "failed" if row.failed else "set aside" if row.set_aside else "reused" if row.reused else "graded"


def set_aside_page(topic, reason):
    """Return the page that a student gets in place of feedback."""
    text = html.escape(reason).replace("\n", "<br>")
    return (
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{topic}</title></head>'
        f"<body><h1>{topic}: not graded yet</h1><p>{text}</p></body></html>\n"
    )


def _advice(row):
    if row.set_aside or row.failed:
        what = f"set aside: {row.set_aside}" if row.set_aside else f"failed: {row.failed}"
        return what.partition("\n")[0]
    said = row.hints or row.reasons
    first = said[0] if said else ""
    more = f" (+{len(said) - 1} more)" if len(said) > 1 else ""
    notes = [*row.notes[:1], f"(+{len(row.notes) - 1} more notes)"] if len(row.notes) > 2 else row.notes
    return " ".join(filter(None, [first + more, *notes]))
