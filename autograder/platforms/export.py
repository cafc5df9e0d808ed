"""Write grades, or an archive of feedback pages, in the form that a learning platform accepts, with its own ids.

In: a course, a topic and, for some platforms, a file that they exported. Out: one file, and who is missing from it. Writes
only that file, in one step, and overwrites nothing unless asked to.

How each platform imports grades:

- Canvas: ``lib/gradebook_importer.rb`` and ``gradebook_exporter.rb`` of instructure/canvas-lms. The first columns are
  Student (or LastName, FirstName), ID, SIS User ID, SIS Login ID, Section; each further one is an assignment, "Title
  (number)" if it exists already; the row Points Possible is not a student. An empty cell deletes a grade, so students
  without one have no row. Canvas separates the fields with semicolons if a user's settings or language ask for that.
- Moodle: ``mod/assign/feedback/offline/importgradeslib.php`` of moodle/moodle. The assignment's own grading
  worksheet, with the columns Identifier, Grade and Last modified (grade), is uploaded again with new grades.
- Gradescope documents no import of grades. Its file has the columns of Gradescope's own export, as far as they are known.

How they import feedback: Canvas reads the numbers of the user and the attachment from the name of a file that it exported
(``infer_comment_context_from_filename`` of instructure/canvas-lms), Moodle the participant's number and the plugin from a
folder's name (``mod/assign/feedback/file/importziplib.php`` of moodle/moodle). So both need submissions collected from them.
Gradescope documents no way to upload pages.
"""

import contextlib
import csv
import io
import re
import zipfile
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from nbformat import v4

from autograder.courses.course import Course
from autograder.courses.plan import Selection, Student, fold_name, students_by_id
from autograder.courses.submissions import list_submitters
from autograder.errors import CourseError
from autograder.files import write_bytes, write_text
from autograder.gradebook.scores import load_results
from autograder.notebooks.handout import find_release, handout, receipt_of_notebook
from autograder.paths import format_command
from autograder.platforms.attempts import load_attempts
from autograder.platforms.roster import normalise_moodle_name

FEEDBACK_PLATFORMS = ("folder", "canvas", "moodle")
EXPORT_PLATFORMS = ("csv", "canvas", "moodle", "gradescope")
CANVAS_COLUMNS = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")
SPLIT_NAME_COLUMNS = ["LastName", "FirstName", "ID"]  # the first columns of Canvas's file if names are split
FORMULA_PREFIXES = ("=", "+", "-", "@", "\t", "\r")  # a spreadsheet evaluates cells that begin with these
GRADESCOPE_COLUMNS = ("First Name", "Last Name", "SID", "Email", "Sections", "Total Score", "Max Points")
CSV_COLUMNS = ("student", "name", "email", "handed_in", "points", "late_penalty", "score", "max_score")
CSV_COLUMNS += ("needs_marking", "receipt")
NAMESAKE = (
    "share their full name with someone else, without a number or e-mail that tells them apart in Moodle's worksheet"
)
README = """Feedback pages for {topic}, to be uploaded to Canvas: open the assignment and choose Upload Submissions.

Canvas shows each page as a comment, under the name of the file that the student handed in: the page of a student who
handed in {topic}.ipynb arrives as {topic}.ipynb, although it is a web page (github.com/instructure/canvas-lms/issues/2406).
Tell your students: save the file, rename it to {topic}.html, and open it in a browser.

Canvas ignores this file, README.txt.
"""


@dataclass
class ExportSummary:
    """The number of students in a file, and those left out: reason -> names."""

    count: int = 0
    left_out: dict[str, list[str]] = field(default_factory=dict)

    def leave_out(self, why: str, name: str) -> None:
        self.left_out.setdefault(why, []).append(name)


@dataclass
class _Sheet(ExportSummary):
    """An ``ExportSummary`` with the rows of the file."""

    header: Sequence[str] = ()
    rows: list[Sequence[str]] = field(default_factory=list)


def export(
    course: Course,
    topic: str,
    to: str,
    target: str | Path,
    given: str | Path | None = None,
    column: str = "",
    unmarked: bool = False,
    force: bool = False,
    only: Selection = None,
) -> ExportSummary:
    """Write the grades of ``topic`` to ``target``, in the format of the platform ``to``.

    ``given`` is a file from the platform: Moodle's grading worksheet, or Canvas's exported gradebook, whose students and ids
    are then used. ``column`` is what Canvas calls the assignment. Students with answers still to be marked are left out
    unless ``unmarked``; in ``csv`` they have a row that says so. With ``only``, other students' grades are not written.

    Raises ``CourseError`` if the platform is unknown, ``target`` exists and ``force`` is not set, or ``given`` is missing
    or not the platform's file, or nothing has been graded. Nothing is written if nobody would be in the file.
    """
    if to not in EXPORT_PLATFORMS:
        raise CourseError(f"there is no platform {to!r}", "--to", f"name one of {', '.join(EXPORT_PLATFORMS)}.")
    refuse_overwriting(target, force)
    everybody, students = load_results(course, topic), course.plan().students
    _refuse_ungraded(course, topic, everybody)
    released = course.releases(topic).load()
    selected = {name: result for name, result in everybody.items() if only is None or name in only}
    listed = {student.id: student for student in students if only is None or student.id in only}
    most = sum(released.points.values())
    if to == "csv":
        codes = _receipt_codes(course, topic, selected, tuple(map(handout, released.notebooks)))
        sheet = _csv_sheet(selected, listed, most, codes)
    elif to == "gradescope":
        sheet = _gradescope_sheet(selected, listed, most, unmarked)
    elif to == "moodle":
        sheet = _moodle_sheet(course, topic, everybody, selected, students, most, given, unmarked)
    else:
        listed = _read_canvas_students(given, students) if given else listed
        sheet = _canvas_sheet(selected, listed, most, column or _find_canvas_column(given, topic), unmarked)
    for student in list_submitters(course, topic):
        if student not in everybody and (only is None or student in only):
            sheet.leave_out("have handed in without having been graded: run `grade`", student)
    if sheet.count:
        text = io.StringIO()
        writer = csv.writer(text)
        writer.writerow(sheet.header)
        writer.writerows(sheet.rows)
        write_text(text.getvalue(), target)
    return sheet


def _refuse_ungraded(course, topic, graded):
    """Refuse a class without any results, which would give an empty file."""
    if not graded:
        waiting = list_submitters(course, topic)
        what = f"nothing has been graded for {topic}" if waiting else f"nobody has handed in anything for {topic}"
        command = format_command(f"grade {topic}" if waiting else f"collect {topic} ARCHIVE", course.root)
        raise CourseError(what, str(course.root), f"run `{command}` first.")


def refuse_overwriting(target: str | Path, force: bool) -> None:
    """Refuse to overwrite the file ``target`` unless ``force`` is set.

    Raises ``CourseError`` if it exists, or is a folder.
    """
    if Path(target).is_dir():
        raise CourseError("this is a folder", str(target), "name a file in it with --output.")
    if Path(target).exists() and not force:
        raise CourseError(
            "this file already exists", str(target), "choose another name with --output, or give --force."
        )


def _format_number(value):
    return f"{round(value, 4):.10g}"


def escape_formula(text: str) -> str:
    """Escape ``text`` so that no spreadsheet evaluates it: students choose their names."""
    return f"'{text}" if text.startswith(FORMULA_PREFIXES) else text


def _receipt_codes(course, topic, names, handouts):
    """Return the receipt code of each student's graded notebook, as on the feedback page, by name."""
    codes = {}
    for name in names:
        with contextlib.suppress(OSError, ValueError, KeyError, AttributeError):
            notebook = v4.reads(course.autograded(name, topic).read_text(encoding="utf-8"))
            codes[name] = receipt_of_notebook(notebook, find_release(notebook.cells, handouts)).code
    return codes


def _csv_sheet(everybody, listed, points, codes):
    sheet = _Sheet(header=CSV_COLUMNS)
    for name in sorted({*everybody, *listed}):
        student, result = listed.get(name, Student(id=name)), everybody.get(name)
        about = [escape_formula(text) for text in (name, student.name, student.email)]
        if result is None:
            sheet.rows.append([*about, "", "", "", "", _format_number(points), "", ""])
            continue
        when = f"{result.time:%Y-%m-%d %H:%M:%S} UTC" if result.time else ""
        scores = [_format_number(value) for value in (result.earned, result.penalty, result.score, points)]
        sheet.rows.append([*about, when, *scores, "; ".join(result.waiting), codes.get(name, "")])
        sheet.count += 1
        if result.waiting:
            sheet.leave_out("are waiting to be marked by a person: their score may still change", name)
    return sheet


def _complete_results(sheet, everybody, unmarked):
    """Yield the results to export."""
    for result in everybody.values():
        if result.waiting and not unmarked:
            sheet.leave_out("are waiting to be marked by a person", result.student)
        else:
            yield result


def _canvas_sheet(everybody, listed, points, column, unmarked):
    sheet = _Sheet(header=[*CANVAS_COLUMNS, column])
    sheet.rows.append(["    Points Possible", *([""] * (len(CANVAS_COLUMNS) - 1)), _format_number(points)])
    for result in _complete_results(sheet, everybody, unmarked):
        student = listed.get(result.student)
        if student is None or not (student.canvas or student.sis or student.login):
            sheet.leave_out("have no Canvas id in the roster", result.student)
            continue
        ids = [student.canvas, student.sis, student.login]  # not escaped, because Canvas compares them
        name, section = escape_formula(student.name or student.id), escape_formula(student.section)
        sheet.rows.append([name, *ids, section, _format_number(result.score)])
        sheet.count += 1
    return sheet


def _find_canvas_column(given, topic):
    """Return what Canvas calls the assignment: the only column of its file that begins with ``topic``, or ``topic``."""
    columns = [name for name in _read_csv(given)[0] if fold_name(name).startswith(fold_name(topic))] if given else []
    if len(columns) > 1:
        remedy = f"say which one it is, for example --column {columns[0]!r}."
        raise CourseError(f"several columns begin with {topic}: {', '.join(columns)}", str(given), remedy)
    return columns[0] if columns else topic


def _read_canvas_students(given, students):
    """Return the students in Canvas's exported gradebook by their id in the roster, with their ids in Canvas."""
    header, rows = _read_csv(given)
    is_split = header[:3] == SPLIT_NAME_COLUMNS
    if not is_split and header[:2] != list(CANVAS_COLUMNS[:2]):
        remedy = "export the gradebook from Canvas, and specify that file."
        what = (
            f"its columns begin with {', '.join(header[:2])} instead of Student, ID or {', '.join(SPLIT_NAME_COLUMNS)}"
        )
        raise CourseError(what, str(given), remedy)
    by_number, by_login = students_by_id(students, "canvas"), students_by_id(students, "login")
    listed = {}
    for row in rows:
        if len(row) < len(SPLIT_NAME_COLUMNS if is_split else CANVAS_COLUMNS[:2]):
            continue
        cells = dict(zip(header, row, strict=False))
        if is_split:
            cells["Student"] = ", ".join(filter(None, [cells["LastName"].strip(), cells["FirstName"].strip()]))
        number, login = cells["ID"], cells.get("SIS Login ID", "")
        known = by_number.get(fold_name(number)) or by_login.get(fold_name(login))
        name = known.id if known else login
        if number.strip() and name:
            ids = {"canvas": number, "sis": cells.get("SIS User ID", ""), "login": login}
            listed[name] = Student(id=name, name=cells["Student"], section=cells.get("Section", ""), **ids)
    return listed


def _gradescope_sheet(everybody, listed, points, unmarked):
    sheet = _Sheet(header=GRADESCOPE_COLUMNS)
    for result in _complete_results(sheet, everybody, unmarked):
        student = listed.get(result.student)
        if student is None or not (student.gradescope or student.email):
            sheet.leave_out("have neither SID nor e-mail in the roster", result.student)
            continue
        first, _, last = student.name.rpartition(" ")
        first, last, section = map(escape_formula, (first, last, student.section))
        about = [first, last, student.gradescope, student.email, section]
        sheet.rows.append([*about, _format_number(result.score), _format_number(points)])
        sheet.count += 1
    return sheet


def _moodle_sheet(course, topic, everybody, selected, students, points, given, unmarked):
    if not given:
        remedy = (
            "download it from the assignment (Submissions, Download grading worksheet), and pass it with --from FILE."
        )
        raise CourseError("Moodle accepts grades only in its own grading worksheet", "--from", remedy)
    header, rows = _read_csv(given)
    places = {name.casefold(): place for place, name in enumerate(header)}
    lacking = [name for name in ("Identifier", "Grade", "Last modified (grade)") if name.casefold() not in places]
    if lacking:
        remedy = "use the grading worksheet exactly as downloaded from Moodle, in UTF-8 and with Moodle set to English."
        raise CourseError(f"it has no column {', '.join(lacking)}", str(given), remedy)
    sheet = _Sheet(header=header)
    mine = {result.student: result for result in _complete_results(sheet, selected, unmarked)}
    cells = [{name: row[place].strip() for name, place in places.items() if place < len(row)} for row in rows]
    shared = _find_namesakes(students, cells)
    matched = _match_moodle_rows(course, topic, everybody, students, cells, shared)
    for number, row in enumerate(rows):
        if (student := matched.get(number, "")) not in mine:
            sheet.rows.append(row)
            continue
        most = cells[number].get("maximum grade", "")
        if most and _is_other_number(most, points):
            what = f"Moodle's maximum grade is {most}, but {topic} has {points:g} points"
            remedy = "set the maximum grade of Moodle's assignment to that, and download again."
            raise CourseError(what, str(given), remedy)
        if cells[number].get("grade can be changed", "").casefold() == "no":
            sheet.leave_out("have a grade that Moodle does not allow to be changed", student)
        else:
            row = [*row, *[""] * (len(header) - len(row))]
            row[places["grade"]] = _format_number(mine[student].score)
            sheet.count += 1
        sheet.rows.append(row)
    names = {student.id: fold_name(student.name) for student in students if student.name}
    for student in sorted(set(mine) - set(matched.values())):
        twice = names.get(student) in shared
        sheet.leave_out(NAMESAKE if twice else "are not in Moodle's worksheet", student)
    return sheet


def _match_moodle_rows(course, topic, everybody, students, cells, shared):
    """Return the student of each row of Moodle's worksheet, matched by number, or else e-mail, or else full name.

    A number that two students share matches nobody, nor does a ``shared`` name; two rows never match one student. Only a
    roster tells groups from people. Without one, a number counts only if the archive had the row's name, because a group's
    number is also some participant's.
    """
    tried = [(attempt, name) for name in everybody for attempt in load_attempts(course, name, topic)]
    tried = [(attempt, name) for attempt, name in tried if attempt.platform == "Moodle"]
    called = {
        (attempt.number, name): normalise_moodle_name(attempt.prefix.partition("_")[0]) for attempt, name in tried
    }
    known = {
        "number": _unique_owners((attempt.number, name) for attempt, name in tried if attempt.number),
        "e-mail": {email: person.id for email, person in students_by_id(tuple(students), "email").items()},
        "name": {
            fold_name(person.name): person.id
            for person in students
            if person.name and fold_name(person.name) not in shared
        },
    }
    matched: dict[int, str] = {}

    def student_of(row, what, column):
        text = row.get(column, "")
        key = re.sub(r"\D", "", text) if what == "number" else fold_name(text)
        student = known[what].get(key, "")
        in_archive = called.get((key, student), "")
        is_certain = what != "number" or students or _may_be_name(row.get("full name", ""), in_archive)
        return student if is_certain and student not in matched.values() else ""

    for what, column in (("number", "identifier"), ("e-mail", "email address"), ("name", "full name")):
        left = [place for place in range(len(cells)) if place not in matched]
        claims = {place: student for place in left if (student := student_of(cells[place], what, column))}
        count = Counter(claims.values())
        matched |= {place: student for place, student in claims.items() if count[student] == 1}
    return matched


def _may_be_name(full_name, in_archive):
    """Return whether ``full_name`` may be the name ``in_archive``; an empty name matches any."""
    name = normalise_moodle_name(full_name)
    return not (name and in_archive) or in_archive == name or in_archive.endswith(f"-{name}")


def _unique_owners(pairs):
    """Return ``{id: student}`` for ``pairs``, without ids that several students have."""
    owners = defaultdict(set)
    for what, student in pairs:
        owners[what].add(student)
    return {what: students.pop() for what, students in owners.items() if len(students) == 1}


def _find_namesakes(students, cells):
    """Return the full names that occur twice in the roster or in Moodle's worksheet."""
    names = [student.name for student in students], [row.get("full name", "") for row in cells]
    counts = [Counter(fold_name(name) for name in some) for some in names]
    return {name for count in counts for name, often in count.items() if often > 1}


def _is_other_number(text, points):
    try:
        return abs(float(text.replace(",", ".")) - points) > 1e-6
    except ValueError:
        return False


def _read_csv(path):
    """Return ``(header, rows)`` of a platform's CSV file, separated by commas or semicolons."""
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
        first = text.partition("\n")[0]
        delimiter = ";" if first.count(";") > first.count(",") else ","
        rows = list(csv.reader(io.StringIO(text), delimiter=delimiter))
    except (FileNotFoundError, IsADirectoryError) as error:
        what = "this is a folder" if isinstance(error, IsADirectoryError) else "there is no such file"
        raise CourseError(what, str(path), "specify the file that you downloaded.") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise CourseError(f"it is not a CSV file in UTF-8 ({error})", str(path), "download it again.") from None
    if not rows:
        raise CourseError("the file is empty", str(path), "download it again.")
    return rows[0], rows[1:]


# --- feedback pages -------------------------------------------------------------------------------------------------


def write_feedback_archive(
    course: Course, topic: str, to: str, target: str | Path, force: bool = False, only: Selection = None
) -> ExportSummary:
    """Write the feedback pages of ``topic`` into the archive ``target``, under the names that the platform ``to`` expects.

    ``folder`` makes one folder per student, for people to browse. Students who have to hand in again have a page, too. With
    ``only``, other students' pages are left out.

    Raises ``CourseError`` if the platform accepts no such archive, nobody has handed in, or ``target`` exists and ``force``
    is not set. Nothing is written if there is no page.
    """
    if to == "gradescope":
        remedy = "use --to folder, and send the pages another way."
        raise CourseError("Gradescope documents no way to upload feedback pages", "--to", remedy)
    if to not in FEEDBACK_PLATFORMS:
        raise CourseError(f"there is no platform {to!r}", "--to", f"name one of {', '.join(FEEDBACK_PLATFORMS)}.")
    refuse_overwriting(target, force)
    results, file, exported = load_results(course, topic), io.BytesIO(), ExportSummary()
    _refuse_ungraded(course, topic, list_submitters(course, topic))
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as bundle:
        if to == "canvas":
            bundle.writestr(zipfile.ZipInfo("README.txt"), README.format(topic=topic), zipfile.ZIP_DEFLATED)
        for student in (
            student_id for student_id in list_submitters(course, topic) if only is None or student_id in only
        ):
            page, name = course.feedback(student, topic), _archive_name(course, topic, student, to)
            if not page.is_file():
                exported.leave_out("have no feedback page yet: run `grade`", student)
            elif not name:
                exported.leave_out(f"were not collected from {to.capitalize()}", student)
            else:
                bundle.writestr(zipfile.ZipInfo(name), page.read_bytes(), zipfile.ZIP_DEFLATED)
                exported.count += 1
                if student in results and results[student].waiting:
                    exported.leave_out("have a page that still says: to be marked", student)
    if exported.count:
        write_bytes(file.getvalue(), target)
    return exported


def _archive_name(course, topic, student, to):
    """Return the name of a student's page in the archive; "" if the platform could not tell whose it is."""
    if to == "folder":
        return f"{student}/{topic}.html"
    counting = load_attempts(course, student, topic)[-1:]
    prefix = next((attempt.prefix for attempt in counting if attempt.platform.casefold() == to), "")
    if not prefix:
        return ""
    return f"{prefix}{topic}.html" if to == "canvas" else f"{prefix}/{topic}.html"
