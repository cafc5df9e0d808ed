"""Read from a table when work was handed in, for archives that do not say, and store it with the collected attempts.

In: a CSV file with a student and a time in each row. Out: ``Collected`` for each. Writes ``timestamp.txt`` and the record of
attempts.
"""

import csv
import io
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from autograder.courses.course import Course
from autograder.courses.plan import Student, fold_name, students_by_id
from autograder.errors import CourseError
from autograder.platforms.attempts import Journal, load_attempts
from autograder.platforms.collect import Collected, set_time
from autograder.platforms.formats import ID_COLUMNS
from autograder.platforms.timestamps import CLOCK_SKEW

EXAMPLE = "id,time and then, in each row, ada,2026-12-02T23:59:00+01:00"


def read_times(path: str | Path, students: tuple[Student, ...] = ()) -> dict[str, datetime]:
    """Return when each student handed in, by ``id``, from a CSV file with a column ``time`` and one of the roster's ids.

    Raises ``CourseError`` for the first row that cannot be understood: an unknown student, one that is there twice, a
    time without a time zone or in the future.
    """
    file = Path(path).name
    try:
        rows = csv.DictReader(io.StringIO(Path(path).read_text(encoding="utf-8-sig")), skipinitialspace=True)
        columns = [(name or "").strip().casefold() for name in rows.fieldnames or ()]
    except (FileNotFoundError, IsADirectoryError) as error:
        what = "this is a folder" if isinstance(error, IsADirectoryError) else "there is no such file"
        raise CourseError(what, str(path), "specify the CSV file that contains the times.") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise CourseError(f"not a readable CSV file ({error})", file, "save it as CSV, in UTF-8.") from None
    column = next((name for name in ID_COLUMNS if name in columns), "")
    if not column or "time" not in columns:
        remedy = f"use a header like this: {EXAMPLE}; instead of id, {', '.join(ID_COLUMNS[1:])} will do."
        raise CourseError(
            "there is no time column, or no column that identifies the student", f"{file}, line 1", remedy
        )
    rows.fieldnames = columns
    known, times = students_by_id(students, column), {}
    try:
        for row in rows:
            place, name = f"{file}, line {rows.line_num}", (row[column] or "").strip()
            student = known[fold_name(name)].id if fold_name(name) in known else name
            if fold_name(name) not in known and (students or column != "id"):
                raise CourseError(f"{name!r} is not in the roster", place, "correct it, or add the student.")
            if student in times:
                raise CourseError(f"{student} is in the file twice", place, "keep the row of the last attempt.")
            times[student] = _parse_time((row["time"] or "").strip(), place)
    except csv.Error as error:
        raise CourseError(
            f"not a readable CSV file ({error})", f"{file}, line {rows.line_num}", "save it again."
        ) from None
    return times


def _parse_time(text, place):
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise CourseError(f"{text!r} is not a time", place, f"write it as ISO 8601, for example {EXAMPLE}.") from None
    if time.tzinfo is None:
        raise CourseError(f"{text} has no time zone", place, "add one at the end: +01:00, or Z for UTC.")
    if time > datetime.now(UTC) + CLOCK_SKEW:
        raise CourseError(f"{text} is in the future", place, "give the time when it was handed in.")
    return time.astimezone(UTC)


def set_times(
    course: Course, topic: str, times: Mapping[str, datetime], journal: Journal | None = None
) -> list[Collected]:
    """Set when the current attempts at ``topic`` were handed in, to ``times`` by student; return what became of each.

    Raises ``CourseError`` if something cannot be written.
    """
    journal, done = journal or Journal(course, topic), []
    for student, time in times.items():
        if not load_attempts(course, student, topic):
            done.append(
                Collected(student, "nothing was collected from this student, so there is nothing to give a time for")
            )
            continue
        done.append(set_time(course, topic, student, time, journal))
    return done
