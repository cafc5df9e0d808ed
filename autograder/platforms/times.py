"""Hand-in times: as platforms and nbgrader's exchange write them, or from a table for archives without times.

In: text, or a CSV file with a student and a time in each row. Out: times in UTC, and their text. Reads that file.
"""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

from autograder.courses.plan import ID_COLUMNS, Student, fold_name, read_table, students_by_id
from autograder.errors import CourseError

CLOCK_SKEW = timedelta(minutes=10)  # by which two machines' clocks may differ
FIRST_YEAR = 1980  # zip dates begin here: an earlier date means that none is known
EXAMPLE = "id,time and then, in each row, ada,2026-12-02T23:59:00+01:00"


def parse_time(text: str | bytes) -> datetime | None:
    """Return the time in ``text``, from a ``timestamp.txt`` or a platform, in UTC; None if it states none."""
    if isinstance(text, bytes):
        text = text[:100].decode("utf-8", "replace")
    text = re.sub(r"\s*(UTC|Z)$", "+00:00", text.strip())
    text = re.sub(r"(\.\d{6})\d+", r"\1", text).replace(" +", "+").replace(" -", "-")
    try:
        time = datetime.fromisoformat(text)
        time = (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return time if time.year >= FIRST_YEAR else None


def format_time(when: datetime | None) -> str:
    """Return ``when`` in the format of ``timestamp.txt``; "" if it is None."""
    return f"{when.astimezone(UTC):%Y-%m-%d %H:%M:%S.%f} UTC" if when else ""


def read_times(path: str | Path, students: tuple[Student, ...] = ()) -> dict[str, datetime]:
    """Return when each student handed in, by ``id``, from a CSV file with a column ``time`` and one of the roster's ids.

    Raises ``CourseError`` for the first row that cannot be understood: an unknown student, a student who is listed twice,
    a time without a time zone or in the future.
    """
    file = Path(path).name
    try:
        columns, rows = read_table(Path(path).read_text(encoding="utf-8-sig"), file)
    except (FileNotFoundError, IsADirectoryError) as error:
        what = "this is a folder" if isinstance(error, IsADirectoryError) else "there is no such file"
        raise CourseError(what, str(path), "specify the CSV file that contains the times.") from None
    except UnicodeDecodeError as error:
        raise CourseError(f"not a readable CSV file ({error})", file, "save it as CSV, in UTF-8.") from None
    column = next((name for name in ID_COLUMNS if name in columns), "")
    if not column or "time" not in columns:
        remedy = f"use a header like this: {EXAMPLE}; instead of id, {', '.join(ID_COLUMNS[1:])} will do."
        raise CourseError(
            "there is no time column, or no column that identifies the student", f"{file}, line 1", remedy
        )
    known, times = students_by_id(students, column), {}
    for number, row in rows:
        place, name = f"{file}, line {number}", (row[column] or "").strip()
        student = known[fold_name(name)].id if fold_name(name) in known else name
        if fold_name(name) not in known and (students or column != "id"):
            raise CourseError(f"{name!r} is not in the roster", place, "correct it, or add the student.")
        if student in times:
            raise CourseError(f"{student} is in the file twice", place, "keep the row of the last attempt.")
        times[student] = _parse_stated_time((row["time"] or "").strip(), place)
    return times


def _parse_stated_time(text, place):
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise CourseError(f"{text!r} is not a time", place, f"write it as ISO 8601, for example {EXAMPLE}.") from None
    if time.tzinfo is None:
        raise CourseError(f"{text} has no time zone", place, "add one at the end: +01:00, or Z for UTC.")
    if time.year < FIRST_YEAR:
        raise CourseError(f"{text} is before {FIRST_YEAR}", place, "give the time when it was handed in.")
    if time > datetime.now(UTC) + CLOCK_SKEW:
        raise CourseError(f"{text} is in the future", place, "give the time when it was handed in.")
    return time.astimezone(UTC)
