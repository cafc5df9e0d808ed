"""A course's settings for this year, from ``course.toml``: title, assignments, due dates, late rule, students.

In: the file, and the roster that it names. Out: frozen records. Reads both, writes nothing. Errors name the file, the
line and a remedy. Without the file, the defaults of the repository apply.
"""

import csv
import io
import json
import math
import re
import tomllib
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta

from autograder.errors import CourseError
from autograder.feedback.notices import plain
from autograder.feedback.page_settings import Shown
from solutions import answer_key
from solutions.answer_key.places import Place
from solutions.answer_key.reading import read_record
from solutions.answer_key.records import Number, Size, Word

if TYPE_CHECKING:  # reading course.toml must not import the exercises
    from autograder.exercises import Exercise

PLAN_FILE = "course.toml"
Percentage = Annotated[float, Meta(ge=0, le=100)]
Selection = frozenset[str] | None  # ids of students; None for everybody
Minutes = Annotated[float, Meta(ge=0)]
CORE = "core"  # instead of a list of exercises
DAY_SECONDS = 24 * 60 * 60
CLOCK_CHANGE_SECONDS = 60 * 60  # by which a day is longer in which clocks go back
MAX_GRACE_MINUTES, MAX_POINTS = 366 * 24 * 60, 1_000_000
PLAN_FIELDS = ("title", "website", "roster", "packages", "late", "assignment", "markers")
PACKAGE_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
MAX_NAME_CHARACTERS = 60  # characters of a name in a table
DUE_YEARS = range(2000, 2200)  # datetime cannot convert the time zone of dates at the ends of its own range
PLAN_TEMPLATE = """# This year's settings for the course. Everything is optional: anything left out keeps the book's setting.
# After a change run `python -m autograder release ASSIGNMENT` again; the late rule and extensions apply from the next `grade`.

title = ""  # appears at the top of each notebook and of the report
website = ""  # the address of your website, https://...; "" uses html.baseurl from _config.yml
roster = ""  # "students.csv", in this folder, with a column id and, where you need them,
# name, email, canvas, sis, login, section, gradescope: each student's id on each platform;
# group: the name of the group that hands in together
packages = []  # ["scipy", "pandas"]: what answers may import besides numpy, torch and matplotlib; install them, too
markers = []  # who marks written answers: ["ada", "ben"]; `mark` then asks for --marker NAME

[late]
grace_minutes = 0  # this much later still counts as on time, and each day ends this much later
percent_a_day = 0  # of the points earned, for each day or part of a day
most_percent = 100  # at most this much is deducted

# One table for each assignment that differs from the book.
# [assignment.scoring]
# due = 2026-11-30T23:59:00+01:00  # with the time zone, or Z for UTC; it appears at the top of the notebook
# seed = 20261  # for the hidden cases; without it, one is drawn at the first release and kept
# exercises = ["additive_score", "what_to_recompute"]  # by function, or "core" for the core path; without it, all
# points.additive_score = 4  # instead of those of the book
# attempts = 3  # that `watch` grades; further ones are kept but not graded; 0 sets no limit
# minutes_between = 30  # `watch` grades the next attempt this long after the last one was graded, or later
# feedback_before_due = "hints"  # on the page until the due date and grace_minutes are over: nothing, hints or all
#
# [assignment.scoring.extensions]  # extended due dates for these students
# ada = 2026-12-03T23:59:00+01:00
#
# [assignment.scoring.sections.A]  # for the students of a section in the roster
# due = 2026-12-01T23:59:00+01:00  # a later extension still counts
#
# Your own hidden cases, in the format of the answer key; kept here, they are not public.
# [[assignment.scoring.case]]
# exercise = "additive_score"
# name = "a long sentence"
# part = "values"
# shapes = { query = [2, 4], keys = [2, 40, 5], W_query = [6, 4], W_key = [6, 5], v = [6] }
"""


@dataclass(frozen=True, kw_only=True)
class LatePolicy:
    """What being late costs: ``percent_a_day`` of the earned points for each day begun, after a grace period.

    A second or later day begins an hour late, because clocks may go back in the day before it.
    """

    grace_minutes: Number = 0
    percent_a_day: Percentage = 0
    most_percent: Percentage = 100

    def penalty(self, score: float, seconds: float) -> float:
        """Return the points, at most ``score``, that are deducted for being ``seconds`` late."""
        late = seconds - 60 * self.grace_minutes
        days = max(1, math.ceil((late - CLOCK_CHANGE_SECONDS) / DAY_SECONDS)) if late > 0 else 0
        return score * min(self.percent_a_day * days, self.most_percent) / 100

    def cost_without_time(self) -> str:
        """Say what it costs to be late by an unknown amount, which counts as one second."""
        if self.penalty(1.0, 1.0):
            return "It costs as much as one day."
        return "Within the grace period, it costs nothing." if self.percent_a_day else "It costs nothing."


@dataclass(frozen=True, kw_only=True)
class SectionRule:
    """The settings of an assignment that one section of the roster overrides; None if it does not."""

    due: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class Assignment:
    """One assignment. ``exercises`` and ``points`` name functions; without ``exercises``, it asks all in its chapter.

    ``extra`` is the JSON text of the course's own hidden cases, "" for none. ``sections`` has rules by section;
    ``section_due`` applies them to each student, once the roster is known. ``attempts`` is the number of attempts that
    `watch` grades, 0 for no limit, and ``minutes_between`` how long it waits between two. ``feedback_before_due`` says how
    much of the feedback a page shows until the ``grace`` period after the due date is over.
    """

    due: datetime | None = None
    seed: Size | None = None
    exercises: tuple[Word, ...] = ()
    points: dict[str, Number] = field(default_factory=dict)
    extensions: dict[str, datetime] = field(default_factory=dict)
    extra: str = ""
    sections: dict[str, SectionRule] = field(default_factory=dict)
    section_due: dict[str, datetime] = field(default_factory=dict)
    grace: timedelta = timedelta()
    attempts: Size = 0
    minutes_between: Minutes = 0
    feedback_before_due: Shown = "all"

    def select_questions(self, questions: tuple["Exercise", ...]) -> tuple["Exercise", ...]:
        """Return the ``questions`` that the assignment asks, with its points."""
        from autograder.exercises import with_points

        return tuple(
            with_points(question, self.points.get(question.function, question.points))
            for question in questions
            if self.asks(question)
        )

    def asks(self, exercise: answer_key.FromEntry) -> bool:
        """Return whether the assignment asks ``exercise``."""
        return not self.exercises or exercise.function in self.exercises

    def due_for(self, student: str) -> datetime | None:
        """Return when the work of ``student`` is due: the section's date, or a later extension; None if never."""
        if self.due is None:
            return None
        due = self.section_due.get(student, self.due)
        return max(due, self.extensions.get(student, due))

    def extension(self, student: str) -> timedelta | None:
        """Return how much later than ``due`` the work of ``student`` is due, negative if earlier; None if ``due`` applies."""
        due = self.due_for(student) if {student} & {*self.extensions, *self.section_due} else None
        return due - self.due if due and self.due else None

    def full_feedback_from(self, student: str) -> datetime | None:
        """Return when the page of ``student`` shows everything: at the end of the grace period; None without a due date."""
        due = self.due_for(student)
        return due and due + self.grace

    def shown_to(self, student: str, now: datetime) -> Shown:
        """Return how much of the feedback the page of ``student`` shows at the time ``now``."""
        until = self.full_feedback_from(student)
        return self.feedback_before_due if until and now < until else "all"


@dataclass(frozen=True, kw_only=True)
class Student:
    """A row of the roster: the student's ``id`` in this course and on the platforms; fields that the file lacks are "".

    ``canvas`` is Canvas's user number (ID in its gradebook), ``sis`` and ``login`` its SIS User ID and SIS Login ID,
    ``gradescope`` the SID. Moodle's files are matched by the full ``name``, because its numbers differ between assignments.
    What a ``group`` hands in counts for each of its members.
    """

    id: str
    name: str = ""
    email: str = ""
    canvas: str = ""
    sis: str = ""
    login: str = ""
    section: str = ""
    gradescope: str = ""
    group: str = ""


PERSONAL_COLUMNS = ("id", "login", "email", "sis")  # folders may be named after these
ID_COLUMNS = (*PERSONAL_COLUMNS, "canvas", "gradescope")  # no student has a value of another's in any of these


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The settings in ``course.toml``, and the students in the roster. ``markers`` are who marks written answers."""

    title: str = ""
    website: str = ""
    late: LatePolicy = field(default_factory=LatePolicy)
    assignments: dict[str, Assignment] = field(default_factory=dict)
    students: tuple[Student, ...] = ()
    markers: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()

    def assignment(self, topic: str) -> Assignment:
        return self.assignments.get(topic, Assignment())

    def names_by_id(self) -> dict[str, str]:
        """Return a display name for each student whom the roster names: "Ada King (ada)". It is safe in a terminal."""
        named = [(student.id, plain(student.name)[:MAX_NAME_CHARACTERS]) for student in self.students if student.name]
        return {student: f"{name} ({student})" for student, name in named}

    def select_sections(self, sections: Sequence[str] | None) -> Selection:
        """Return the ids of the students in ``sections``; None, which selects everybody, if no sections are given.

        Raises ``CourseError`` if one of them is not in the roster.
        """
        if not sections:
            return None
        known = sorted({student.section for student in self.students} - {""})
        for section in sections:
            if section not in known:
                remedy = (
                    f"name one of {', '.join(known)}." if known else f"fill in its `section` column; see {PLAN_FILE}."
                )
                raise CourseError(f"the roster has no section {section!r}", "--section", remedy)
        return frozenset(student.id for student in self.students if student.section in sections)

    def notice(self, topic: str) -> str:
        """Return the text at the top of the notebook of ``topic``: course title and due dates, as far as they are known."""
        due, sections = self.assignment(topic).due, self.assignment(topic).sections
        when = f"Due: {_format_due(due)}." if due else ""
        own = [f"Section {name}: {_format_due(rule.due)}." for name, rule in sorted(sections.items()) if rule.due]
        return " ".join(filter(None, [f"{self.title}." if self.title else "", when, *own]))

    def lateness(self, topic: str) -> str:
        """Return a text that changes with every setting for late work; "" without such settings."""
        assignment = self.assignment(topic)
        if assignment.due is None and self.late == LatePolicy():
            return ""
        own = sorted({*assignment.extensions, *assignment.section_due})
        until = {student: str(assignment.due_for(student)) for student in own}
        return json.dumps(
            [str(assignment.due), until, self.late.grace_minutes, self.late.percent_a_day, self.late.most_percent]
        )


def _format_due(due):
    zone = due.strftime("%z")
    return f"{due:%A, %d %B %Y, %H:%M} (UTC{zone[:3]}:{zone[3:]})"


def read_plan(root: str | Path) -> Plan:
    """Return the ``Plan`` of the course directory ``root``.

    Raises ``CourseError`` for the first entry in ``course.toml`` or in the roster that cannot be understood.
    """
    try:
        text = Path(root).joinpath(PLAN_FILE).read_text(encoding="utf-8-sig")
        plan, roster = parse_plan(text)
    except FileNotFoundError:
        return Plan()
    except UnicodeDecodeError as error:
        raise CourseError(f"not valid TOML: {error}", PLAN_FILE, "correct the line that the message names.") from None
    except IsADirectoryError:
        raise CourseError("this is a folder", PLAN_FILE, "replace it with the file of that name.") from None
    plan = replace(plan, students=read_roster(Path(root) / roster)) if roster else plan
    return _apply_sections(plan, text) if any(rules.sections for rules in plan.assignments.values()) else plan


def _apply_sections(plan, text):
    """Return ``plan`` with the rules of sections applied to each student; refuse sections missing from the roster.

    A roster without sections, as before a course begins, is not checked.
    """
    known, assignments = {student.section for student in plan.students} - {""}, {}

    for topic, assignment in plan.assignments.items():
        for section in assignment.sections.keys() - known if known else ():
            remedy = f"name one of {', '.join(sorted(known))}."
            _place_of_section(text, topic, section).refuse(f"the roster has no section {section!r}", remedy)
        own = {
            student.id: assignment.sections[student.section]
            for student in plan.students
            if student.section in assignment.sections
        }
        due = {student: rule.due for student, rule in own.items() if rule.due}
        assignments[topic] = replace(assignment, section_due=due)
    return replace(plan, assignments=assignments)


def _place_of_section(text, topic, section):
    name = f"assignment.{topic}.sections.{section}"
    return Place(PLAN_FILE, text, name, name)


@lru_cache(maxsize=4)
def parse_plan(text: str) -> tuple[Plan, str]:
    """Return the ``Plan`` that ``text`` states, without students, and the name of the roster's file, "" for none.

    Cached, because nbgrader's commands and the late rule ask for it once per student.
    """
    try:
        tables = tomllib.loads(text)
    except RecursionError:
        raise CourseError(
            "lists or tables are nested too deeply to be read", PLAN_FILE, "remove most of them."
        ) from None
    except ValueError as error:  # TOMLDecodeError, or Python's limit on the digits of a number
        raise CourseError(f"not valid TOML: {error}", PLAN_FILE, "correct the line that the message names.") from None
    top = Place(PLAN_FILE, text, "", "")
    for name in ("late", "assignment"):
        if not isinstance(tables.get(name, {}), dict):
            top.refuse(f"{name} is not a table", f"begin it with a line [{name}].", name)
    late = read_record(LatePolicy, tables.pop("late", {}), Place(PLAN_FILE, text, "late", "late"), "the late rule")
    if not 0 <= late.grace_minutes <= MAX_GRACE_MINUTES:
        what = "below 0" if late.grace_minutes < 0 else f"more than {MAX_GRACE_MINUTES}, which is a year"
        Place(PLAN_FILE, text, "late", "late").refuse(f"grace_minutes is {what}", "write 0 or more.", "grace_minutes")
    assignments = {
        topic: _parse_assignment(
            topic, table, Place(PLAN_FILE, text, f"assignment.{topic}", f"assignment.{topic}"), late
        )
        for topic, table in tables.pop("assignment", {}).items()
    }
    markers = _parse_markers(tables.pop("markers", []), top)
    packages = tables.pop("packages", [])
    if not isinstance(packages, list) or not all(isinstance(n, str) and PACKAGE_NAME.fullmatch(n) for n in packages):
        remedy = 'write their names as pip knows them, without versions: packages = ["scipy"].'
        top.refuse(f"packages is {packages!r}", remedy, "packages")
    simple = {name: tables.pop(name, "") for name in ("title", "website", "roster")}
    for name, value in simple.items():
        if not isinstance(value, str):
            top.refuse(f"{name} is {value!r}", "write text in quotes there.", name)
        if "\0" in value:
            top.refuse(f"{name} is {value!r}", "remove the NUL character.", name)
    if tables:
        name = next(iter(tables))
        top.refuse(f"unknown field {name!r}", f"the fields are {', '.join(PLAN_FIELDS)}.", name)
    roster = simple.pop("roster")
    return Plan(late=late, assignments=assignments, markers=markers, packages=tuple(packages), **simple), roster


def _parse_markers(names, top):
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        place = Place(PLAN_FILE, top.text, "markers", "markers") if isinstance(names, dict) else top
        place.refuse("markers is not a list of names", 'write markers = ["ada", "ben"].', "markers")
    for name in names:
        if not is_student_id(name):
            top.refuse(f"{name!r} cannot be used as a marker's name", "use letters, digits and @+-._ in it.", "markers")
    return tuple(dict.fromkeys(names))


def _parse_assignment(topic, table, place, late):
    if topic not in answer_key.topics():
        place.refuse(f"no chapter {topic!r}", f"name one of {', '.join(answer_key.topics())}.")
    if not isinstance(table, dict):
        place.refuse(f"{topic} is not a table", f"begin it with a line [assignment.{topic}].")
    known = {"case", *(column.name for column in fields(Assignment))} - {"extra", "section_due", "grace"}
    for name in table:
        if name not in known:
            place.refuse(
                f"unknown field {name!r}", f"the fields of an assignment are {', '.join(sorted(known))}.", name
            )
    entries = {entry.function: entry for entry in answer_key.load(topic).values()}
    rows = table.pop("case", [])
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        place.refuse("case is not a list of tables", f"begin each one with [[assignment.{topic}.case]].", "case")
    extra = json.dumps(rows) if rows else ""
    if extra:
        from autograder.exercises.loading import read_course_cases

        read_course_cases(extra, topic, place)  # raises errors here, with their line
    sections = _parse_sections(table.pop("sections", {}), topic, place)
    grace = timedelta(minutes=late.grace_minutes)
    ready = {"extra": extra, "sections": sections, "section_due": {}, "grace": grace}
    if table.get("exercises") == CORE:
        ready["exercises"] = tuple(name for name, entry in entries.items() if entry.core)
        table.pop("exercises")
    assignment = read_record(Assignment, table, place, "an assignment", ready)
    _refuse_unknown(assignment, entries, topic, place)
    _refuse_dates(assignment, place)
    _refuse_rules(assignment, place)
    return assignment


def _parse_sections(tables, topic, place):
    if not isinstance(tables, dict) or not all(isinstance(table, dict) for table in tables.values()):
        place.refuse(
            "sections is not a table of tables", f"begin one with [assignment.{topic}.sections.A].", "sections"
        )
    sections = {}
    for name, table in tables.items():
        here = _place_of_section(place.text, topic, name)
        sections[name] = read_record(SectionRule, table, here, "a section")
        if not sections[name].due:
            here.refuse(f"section {name} has no settings", "write due, or remove the table.")
        _refuse_date(sections[name].due, here, "due")
    return sections


def _refuse_unknown(assignment, entries, topic, place):
    """Refuse exercises that ``topic`` does not have, and points out of range."""
    for where, names in (("exercises", assignment.exercises), ("points", assignment.points)):
        for name in names:
            if name not in entries:
                place.refuse(f"no exercise {name!r} in {topic}", f"name one of {', '.join(entries)}.", where)
    for name, points in assignment.points.items():
        if not 0 < points <= MAX_POINTS:
            what = "more points than a course can have" if points > MAX_POINTS else f"{points:g} points"
            remedy = f"give points above 0, at most {MAX_POINTS:,}, or leave it out."
            place.refuse(f"{name} is worth {what}", remedy, "points")


def _refuse_dates(assignment, place):
    extensions = (("extensions", moment) for moment in assignment.extensions.values())
    for name, moment in [("due", assignment.due), *extensions]:
        _refuse_date(moment, place, name)
    for name in ("extensions", "sections"):
        if getattr(assignment, name) and assignment.due is None:
            place.refuse(f"{name} without a due date", "write `due` as well.", name)


def _refuse_date(moment, place, name):
    if moment is not None and moment.tzinfo is None:
        place.refuse(f"{moment} has no time zone", "add one at the end: +01:00, or Z for UTC.", name)
    if moment is not None and moment.year not in DUE_YEARS:
        place.refuse(f"{moment} is in the year {moment.year}", "write the year of your course.", name)


def _refuse_rules(assignment, place):
    """Refuse rules for `watch` and for feedback that cannot be intended."""
    if assignment.minutes_between > MAX_GRACE_MINUTES:
        what = f"minutes_between is more than {MAX_GRACE_MINUTES}, which is a year"
        place.refuse(what, "write the minutes between two attempts.", "minutes_between")
    if assignment.feedback_before_due != "all" and assignment.due is None:
        place.refuse("feedback_before_due without a due date", "write `due` as well.", "feedback_before_due")


def read_roster(path: str | Path) -> tuple[Student, ...]:
    """Return the students of the CSV file at ``path``, in its order.

    Raises ``CourseError`` if it cannot be read, a column is unknown, or a value that identifies a student, here or on a
    platform, also identifies another.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        remedy = f"create it, or change `roster` in {PLAN_FILE}."
        raise CourseError("the roster does not exist", path.name, remedy) from None
    except IsADirectoryError:
        raise CourseError("this is a folder", path.name, f"name a CSV file as `roster` in {PLAN_FILE}.") from None
    except UnicodeDecodeError:
        raise CourseError("it is not in UTF-8", path.name, "save it as CSV in UTF-8.") from None
    except OSError as error:
        remedy = f"make it readable, or change `roster` in {PLAN_FILE}."
        raise CourseError(f"the roster cannot be read: {error.strerror}", path.name[:100], remedy) from None
    return parse_roster(text, path.name)


@lru_cache(maxsize=4)
def parse_roster(text: str, file: str) -> tuple[Student, ...]:
    """Return the students in the ``text`` of the roster ``file``; raise ``CourseError`` as ``read_roster`` does."""
    columns, rows = read_table(text, file)
    allowed = [column.name for column in fields(Student)]
    if len(columns) == 1 and ";" in columns[0]:
        raise CourseError(
            "this file uses semicolons", f"{file}, line 1", "save it as CSV with commas between the fields."
        )
    if columns and not set(columns) & set(allowed):
        remedy = "put a line above the first student that names the columns, such as id,name,email,section."
        raise CourseError(f"there is no header line: the file begins with {columns[0]!r}", f"{file}, line 1", remedy)
    for name in columns:
        if name not in allowed:
            remedy = f"the columns are {', '.join(allowed)}."
            raise CourseError(f"unknown column {name!r}", f"{file}, line 1", remedy)
    if "id" not in columns:
        raise CourseError("there is no column id", f"{file}, line 1", "add one: the student's name in this course.")
    return tuple(_parse_students(rows, file))


def read_table(text: str, file: str) -> tuple[list[str], Iterator[tuple[int, dict[Any, Any]]]]:
    """Return the columns of the CSV file with the content ``text``, folded, and an iterator over line numbers and rows.

    Raises ``CourseError``, also during the iteration, if it is not readable CSV.
    """
    rows = csv.DictReader(io.StringIO(text), skipinitialspace=True)
    try:
        rows.fieldnames = columns = [(name or "").strip().casefold() for name in rows.fieldnames or ()]
    except csv.Error as error:
        raise CourseError(f"not a readable CSV file ({error})", f"{file}, line 1", "save it as CSV again.") from None
    return columns, _read_rows(rows, file)


def _read_rows(rows, file):
    try:
        for row in rows:
            yield rows.line_num, row
    except csv.Error as error:
        place = f"{file}, line {rows.line_num + 1}"
        raise CourseError(f"not a readable CSV file ({error})", place, "look for an unclosed quote.") from None


def _parse_students(rows, file):
    owners: dict[str, tuple[int, str]] = {}  # value -> line, column
    groups: dict[str, list[int]] = {}  # name of a group -> lines of its members
    for number, row in rows:
        place = f"{file}, line {number}"
        if None in row:
            raise CourseError(
                "it has more fields than the first line", place, "put text that contains a comma in quotes."
            )
        values = {name: unicodedata.normalize("NFC", (value or "").strip()) for name, value in row.items()}
        if not any(values.values()):
            continue
        if not is_student_id(values["id"]):
            remedy = (
                "use letters, digits and @+-._ with single spaces between them; no /, and no dot or dash at the start."
            )
            raise CourseError(f"{values['id']!r} cannot be used as a folder name", place, remedy)
        for name in ID_COLUMNS:
            if value := values.get(name):
                other, column = owners.setdefault(fold_name(value), (number, name))
                if other != number:
                    what = f"{name} {value!r} is also {'' if column == name else f'the {column} '}on line {other}"
                    raise CourseError(what, place, "give each student a different one.")
        if group := values.get("group"):
            groups.setdefault(group, []).append(number)
        yield Student(**values)
    for group, lines in groups.items():
        other, column = owners.get(fold_name(group), (lines[0], ""))
        if other not in lines:
            what = f"group {group!r} is also the {column} on line {other}, of a student who is not in it"
            raise CourseError(what, f"{file}, line {lines[0]}", "give the group another name.")


NAME_SYMBOLS, INNER_SYMBOLS = "@+-.", " '\u2019"  # in names, besides letters, marks and digits; only inside a name
MAX_NAME_BYTES = 120  # file systems allow 255, and some file names contain more than the name


def is_student_name(name: str) -> bool:
    """Return whether ``name`` can name a student, a folder and a file: no path, no invisible characters."""
    name = unicodedata.normalize("NFC", name)
    seen = [unicodedata.category(sign)[0] in "LMN" or sign in NAME_SYMBOLS for sign in name]
    return bool(
        0 < len(name.encode("utf-8", "replace")) <= MAX_NAME_BYTES
        and all(fits or sign in INNER_SYMBOLS for fits, sign in zip(seen, name, strict=True))
        and (unicodedata.category(name[0])[0] in "LN" or name[0] in "@+")
        and seen[-1]
    )


def is_student_id(name: str) -> bool:
    """Return whether ``name`` can be the id of a student or the name of an account; unlike other names, it may have underscores."""
    return is_student_name(name.replace("_", ""))


def fold_name(name: str) -> str:
    """Return ``name`` folded, so that two names are equal if a file system may consider them equal."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def as_naive_utc(moment: datetime) -> datetime:
    """Return ``moment`` as nbgrader stores it: in UTC, without a time zone."""
    return moment.astimezone(UTC).replace(tzinfo=None)


def students_by_id(students: tuple[Student, ...], column: str) -> Mapping[str, Student]:
    """Return the students that have an id in ``column`` by that id, folded by ``fold_name``."""
    return {fold_name(value): student for student in students if (value := getattr(student, column))}
