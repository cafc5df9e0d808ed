"""Make the page that tells an instructor how a class did: one HTML file with its pictures in it, and nothing from elsewhere.

In: what ``analysis`` has worked out. Out: HTML. Pure. It names no student unless it is asked to.
"""

import html
from collections.abc import Iterable, Sequence

from autograder.feedback.notices import plain
from autograder.reports.analysis import MIN_STUDENTS, AssignmentAnalysis, Item

BINS = 10
FEW = "too few students to say"
STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, sans-serif; color: #1c1c1c; background: #fff; max-width: 60rem; margin: 0 auto; padding: 1rem; }
h1, h2, h3 { line-height: 1.2; } h2 { margin-top: 2.5rem; }
svg { max-width: 100%; height: auto; display: block; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; } caption { text-align: left; padding: .3rem 0; }
th, td { text-align: left; vertical-align: top; padding: .25rem .7rem .25rem 0; border-bottom: 1px solid #ccc; }
td.number, th.number { text-align: right; white-space: nowrap; }
@media print { body { max-width: none; font-size: 11pt; } section { break-inside: avoid-page; } }
"""


def class_page(title: str, studies: Sequence[AssignmentAnalysis], names: bool = False) -> str:
    """Return the page for ``studies``; with ``names``, it says which students it speaks of."""
    heading = html.escape(f"{title}: report" if title else "Report")
    body = "".join(_assignment(study, names) for study in studies)
    note = "" if names else "<p>No student is named here.</p>"
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{heading}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{STYLE}</style></head>'
        f"<body><main><h1>{heading}</h1>{note}{body}</main></body></html>\n"
    )


def _assignment(study, names):
    count = len(study.scores)
    facts = [f"{count} graded", f"{study.waiting} with an answer that a person has still to mark"]
    facts += [f"{study.late} with a late penalty", f"{study.timed_out} in which something took too long"]
    missing = f"{len(study.missing)} of the roster have not handed in"
    facts.append(missing + (f": {_names(study.missing)}" if names and study.missing else ""))
    parts = [
        f"<section><h2>{html.escape(study.topic)}</h2>",
        "<ul>" + "".join(f"<li>{fact}</li>" for fact in facts) + "</ul>",
    ]
    if not count:
        return "".join([*parts, "<p>Nothing has been graded.</p></section>"])
    parts += [
        _distribution(study),
        _exercises(study.items),
        _parts(study.items),
        _mistakes(study.items),
        _alike(study, names),
    ]
    return "".join([*parts, "</section>"])


def _names(names: Iterable[str]) -> str:
    return ", ".join(html.escape(plain(name)) for name in names)


def _distribution(study):
    """Return the histogram of the scores."""
    counts = [0] * BINS
    for score in study.scores:
        share = score / study.maximum if study.maximum else 0.0
        counts[min(BINS - 1, max(0, int(share * BINS)))] += 1
    edges = [study.maximum * n / BINS for n in range(BINS + 1)]
    said = "; ".join(f"{edges[n]:g} to {edges[n + 1]:g} points: {count}" for n, count in enumerate(counts))
    width, height, most = 56, 150, max(counts)
    drawn = []
    for n, count in enumerate(counts):
        tall = height * count / most
        x = 10 + n * width
        drawn.append(
            f'<rect x="{x}" y="{20 + height - tall:.1f}" width="{width - 4}" height="{tall:.1f}" fill="#1f5fa8"/>'
        )
        drawn.append(_text(x + width / 2 - 2, 14 + height - tall, str(count) if count else ""))
    drawn += [_text(10 + n * width, height + 38, f"{edge:g}") for n, edge in enumerate(edges)]
    middle = sorted(study.scores)[len(study.scores) // 2]
    words = f"The middle student has {round(middle, 2):g} of {study.maximum:g} points."
    picture = _svg(30 + BINS * width, height + 48, f"Students by score. {said}.", drawn)
    return f"<h3>Scores</h3><p>{words}</p>{picture}"


def _exercises(items: Sequence[Item]) -> str:
    """Return the picture and the table of difficulty and discrimination."""
    drawn, row = [], 26
    for n, item in enumerate(items):
        y = 30 + n * row
        drawn.append(_text(8, y + 5, item.name.partition("-")[2], "start"))
        drawn.append(f'<rect x="270" y="{y - 8}" width="150" height="16" fill="#e6e6e6"/>')
        if item.difficulty is not None:
            drawn.append(f'<rect x="270" y="{y - 8}" width="{150 * item.difficulty:.1f}" height="16" fill="#1f5fa8"/>')
        if item.discrimination:
            drawn.append(f'<line x1="560" x2="560" y1="{y - 10}" y2="{y + 10}" stroke="#767676"/>')
            middle, low, high = (560 + 100 * value for value in item.discrimination)
            drawn.append(f'<line x1="{low:.1f}" x2="{high:.1f}" y1="{y}" y2="{y}" stroke="#a33b00" stroke-width="2"/>')
            drawn.append(f'<circle cx="{middle:.1f}" cy="{y}" r="5" fill="#a33b00"/>')
        else:
            drawn.append(_text(560, y + 5, FEW if item.marked < MIN_STUDENTS else "all alike"))
    drawn += [_text(270, 12, "earned, 0 to 100 %", "start"), _text(460, 12, "goes with the rest, -1 to 1", "start")]
    picture = _svg(
        680,
        30 + len(items) * row,
        "Each exercise: the share of its points that was earned, and its discrimination "
        "with its interval. The table below has the numbers.",
        drawn,
    )
    rows = "".join(
        f"<tr><th scope='row'>{html.escape(item.name)}</th><td class='number'>{item.points:g}</td>"
        f"<td class='number'>{item.marked}</td><td class='number'>{_percent(item.difficulty)}</td>"
        f"<td class='number'>{_interval(item)}</td></tr>"
        for item in items
    )
    head = _head("exercise", "points", "marked", "earned on average", "discrimination, 95 % interval")
    words = (
        "<p>Discrimination is the correlation of an exercise with the points of all others. Near 0, the exercise does not tell "
        "those who know from those who do not; below 0, those who do well elsewhere fail it, and it deserves a look. The "
        f"interval is the percentile bootstrap over students; below {MIN_STUDENTS} students nothing is said.</p>"
    )
    return f"<h3>Exercises</h3>{words}{picture}{_table('Difficulty and discrimination', head, rows)}"


def _interval(item):
    if item.discrimination is None:
        return FEW if item.marked < MIN_STUDENTS else "all alike"
    middle, low, high = (round(value, 2) + 0.0 for value in item.discrimination)  # + 0.0: no -0.00
    return f"{middle:.2f} [{low:.2f}, {high:.2f}]"


def _percent(share):
    return "–" if share is None else f"{100 * share:.0f} %"


def _parts(items):
    rows = [
        f"<tr><th scope='row'>{html.escape(item.name)}</th><td>{html.escape(name)}</td>"
        f"<td class='number'>{whole} of {count}</td><td class='number'>{_percent(whole / count if count else None)}</td></tr>"
        for item in items
        for name, whole, count in item.parts
    ]
    if not rows:
        return ""
    return "<h3>Parts</h3>" + _table(
        "Who has a part whole", _head("exercise", "part", "students", "share"), "".join(rows)
    )


def _mistakes(items):
    rows = [
        f"<tr><td class='number'>{one.now}</td><td class='number'>{_of(one.mended, one.again)}</td>"
        f"<th scope='row'>{html.escape(item.name)}</th><td>{html.escape(plain(one.hint))}</td></tr>"
        for item in items
        for one in item.mistakes
    ]
    if not rows:
        return "<h3>Mistakes</h3><p>No mistake was recognised.</p>"
    words = (
        "<p>Whoever was graded again after a hint counts among those who handed in again; right then is who had all points of "
        "the exercise in the next try.</p>"
    )
    return f"<h3>Mistakes</h3>{words}" + _table(
        "Mistakes that were recognised, the hint that was given, and what came of it",
        _head("students now", "right then, of those who handed in again", "exercise", "hint"),
        "".join(rows),
    )


def _of(some, all_of_them):
    return f"{some} of {all_of_them}" if all_of_them else "–"


def _alike(study, names):
    if not study.alike:
        return "<h3>Answers that are alike</h3><p>None are the same but for names and layout.</p>"
    rows = "".join(
        f"<tr><th scope='row'>{html.escape(exercise)}</th><td class='number'>{len(students)}</td>"
        + (f"<td>{_names(students)}</td>" if names else "")
        + "</tr>"
        for exercise, students in study.alike
    )
    words = (
        "<p>These answers are the same but for names, comments and layout. What the starter, the reference or the question "
        "suggests is left out, and so is what is short. It is a reason to look, and no proof of anything: friends who learn "
        "together write alike.</p>"
    )
    head = _head("exercise", "students", *(["who"] if names else []))
    return f"<h3>Answers that are alike</h3>{words}{_table('Groups of answers that are alike', head, rows)}"


def _head(*names):
    return "".join(f'<th scope="col">{name}</th>' for name in names)


def _table(caption, head, rows):
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{caption}"><table><caption>{caption}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _svg(width, height, said, drawn):
    return (
        f'<svg role="img" viewBox="0 0 {width} {height}" width="{width}" height="{height}" font-size="13" '
        f'font-family="system-ui, sans-serif" aria-label="{html.escape(said)}">{"".join(drawn)}</svg>'
    )


def _text(x, y, said, anchor="middle"):
    return f'<text x="{x:g}" y="{y:.1f}" text-anchor="{anchor}" fill="#1c1c1c">{html.escape(said)}</text>'
