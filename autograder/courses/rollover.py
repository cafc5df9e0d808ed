"""Begin a new year with last year's course.toml, but without its students, its gradebook and its hidden cases.

In: last year's course directory or its course.toml. Out: the text of the new one, and what has to be changed in it. Reads last
year's file and the first line of its roster.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from autograder.courses.plan import PLAN_FILE, parse_plan, parse_roster
from autograder.errors import CourseError
from solutions.answer_key.places import HEADER

FIELD = re.compile(r"\s*(seed|due|extensions)\s*[.=]")
ROSTER = re.compile(r"\s*roster\s*=")
CHANGE = "  # CHANGE: this is last year's"
OLD = "# last year: "
EMPTY_ROSTER = "id,name,email,section"


@dataclass(frozen=True)
class CourseRollover:
    """The text of course.toml for a new year, the empty roster by its file name, and what has to be changed."""

    text: str
    roster: dict[str, str]
    to_change: tuple[str, ...]


def take_over(last_year: Path, now: datetime | None = None) -> CourseRollover:
    """Return the ``CourseRollover`` after the course ``last_year``: a course directory, or its course.toml.

    Past due dates stay, with a comment that they must be changed. Extensions, which name students, and seeds, from which
    the hidden cases were drawn, are left out, and so are the comments in the tables of extensions.

    Raises ``CourseError`` if it cannot be understood, or its extensions or seeds cannot be taken out.
    """
    now, path = now or datetime.now(UTC), last_year / PLAN_FILE if last_year.is_dir() else last_year
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (FileNotFoundError, UnicodeDecodeError):
        remedy = "specify last year's course directory, or its course.toml."
        raise CourseError("there is no course.toml to copy", str(path), remedy) from None
    before, roster = parse_plan(text)
    is_plain = Path(roster).name == roster  # a path may lead to last year's own file
    text = _leave_out_last_year(text, keep_roster=is_plain)
    plan, _ = parse_plan(text)
    for topic, assignment in plan.assignments.items():
        if assignment.extensions or assignment.seed is not None:
            remedy = f"write `seed` on a line of its own, and extensions as a table [assignment.{topic}.extensions]."
            raise CourseError("extensions or a seed cannot be taken out", f"{path}, [assignment.{topic}]", remedy)
    over = [(what, due) for what, due in _due_dates(plan) if due < now]
    old = [f"{what}: {due:%Y-%m-%d}" for what, due in over]
    text = _mark_old_dates(text, {due.isoformat() for _, due in over})
    old += ["title: " + plan.title] if plan.title else []
    old += ["markers: " + ", ".join(plan.markers)] if plan.markers else []
    old += ["extensions: add this year's"] if any(rules.extensions for rules in before.assignments.values()) else []
    file = {roster: f"{_read_header(path.parent / roster)}\n"} if roster and is_plain else {}
    return CourseRollover(text, file, (*old, *(f"roster: put this year's students into {name}" for name in file)))


def _due_dates(plan):
    """Return the due dates of a course with what each is for: those of assignments, then those of their sections."""
    dates = [(f"due date of {topic}", assignment.due) for topic, assignment in plan.assignments.items()]
    for topic, assignment in plan.assignments.items():
        dates += [
            (f"due date of {topic}, section {section}", rule.due) for section, rule in assignment.sections.items()
        ]
    return [(what, due) for what, due in dates if due]


def _read_lines(text):
    """Yield each line of ``text`` with its table and the name of its field; "" if ``FIELD`` does not match."""
    table = ""
    for line in text.splitlines():
        if header := HEADER.match(line):
            table = header[1].replace('"', "")
        field = FIELD.match(line)
        yield line, table, field[1] if field else ""


def _leave_out_last_year(text, keep_roster):
    lines = []
    for line, table, field in _read_lines(text):
        parts = table.split(".")
        is_personal = parts[0] == "assignment" and parts[2:] == ["extensions"]
        is_drawn = parts[0] == "assignment" and len(parts) == 2 and field not in ("", "due")
        is_elsewhere = not table and not keep_roster and ROSTER.match(line)
        if not (is_personal or is_drawn):
            lines.append(f"{OLD}{line}" if is_elsewhere else line)
    return "\n".join(lines) + "\n"


def _mark_old_dates(text, old):
    lines = []
    for line, table, field in _read_lines(text):
        is_due = table.startswith("assignment.") and field == "due"
        lines.append(line + CHANGE if is_due and _read_date(line) in old else line)
    return "\n".join(lines) + "\n"


def _read_date(line):
    stated = line.partition("=")[2].partition("#")[0].strip()
    try:
        return datetime.fromisoformat(stated).isoformat()
    except ValueError:
        return ""


def _read_header(path):
    """Return the header line of last year's roster, or the default one if its first line may name a student."""
    try:
        with path.open(encoding="utf-8-sig") as file:
            header = file.readline(10_000).strip()
        parse_roster(header, path.name)
    except (OSError, UnicodeDecodeError, CourseError):
        return EMPTY_ROSTER
    return header
