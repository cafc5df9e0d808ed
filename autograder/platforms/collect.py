"""Copy the submissions in a learning platform's archive to where nbgrader looks for them: one folder per student.

In: a zip archive or a folder, a course, a topic. Out: what became of each student's files, and which entries were not taken.
Writes ``submitted``, earlier attempts, and a page for students who have to hand in again; never through a link. A bad
submission does not affect the others. Only the files that the assignment asks for are unpacked. The code never guesses who
owns a notebook, or which of several counts.
"""

import contextlib
import hashlib
import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property, partial
from pathlib import Path, PurePosixPath

from autograder.courses import standing
from autograder.courses.course import SECRET, TIMESTAMP, Course
from autograder.courses.plan import Plan, fold_name
from autograder.courses.released import Released
from autograder.errors import CourseError
from autograder.files import write_text
from autograder.notebooks.handout import Handout, handout, receipt_of_file
from autograder.notebooks.submitted_file import SIZE_NOTE, sources_by_id
from autograder.platforms import attempts
from autograder.platforms.archives import ARCHIVE_ERRORS, RefusedEntry, open_archive, read_archive
from autograder.platforms.attempts import KEPT, RECEIVED, TIMED, Attempt, Collection
from autograder.platforms.formats import (
    NBGRADER_EXCHANGE,
    PLAIN_FILES,
    PLATFORMS,
    Submitter,
    SubmitterReader,
    detect_format,
    is_notebook,
    strip_browser_suffix,
)
from autograder.platforms.times import format_time, parse_time
from autograder.sandbox import Limits
from solutions.answer_key import topics

MAX_ENTRIES, MAX_ENTRIES_OF_ONE, MAX_CANDIDATES = 100_000, 1000, 20
MAX_COPIED = 4  # times ``max_mb``, in all files of a hand-in that is copied
INBOUND = "inbound"  # the folder of nbgrader's exchange that students write to
MAX_SECRET_CHARACTERS = 1000  # nbgrader's have 128


@dataclass(frozen=True)
class Collected:
    """What became of one attempt of a student; ``problem`` is "" if it was put into ``submitted``, or kept as an earlier one.

    ``file`` is its name in the archive, ``version`` the number of the release that it was made from (0 if unknown, None if
    not looked for), ``code`` its receipt code ("" if it is not a notebook), and ``note`` any further remark. ``unchanged``
    if the same files had been collected before. A refused hand-in from nbgrader's exchange
    has the exchange's ``secret``; ``is_nobodys`` says that it was refused because it is not known whose it is.
    """

    student: str
    problem: str = ""
    replaced: bool = False
    unchanged: bool = False
    file: str = ""
    version: int | None = 0
    code: str = ""
    note: str = ""
    secret: str = ""
    is_nobodys: bool = False

    def describe_problem(self) -> str:
        """Return the problem, and the note on it if there is one, for the instructor."""
        return ". ".join(filter(None, (self.problem, self.note)))


@dataclass(frozen=True)
class AssignmentSpec:
    """What an assignment consists of: the notebook of ``topic`` with its ``exercises``, and the files ``beside`` it.

    No file may be larger than ``max_mb`` megabytes.
    """

    topic: str
    exercises: frozenset[str]
    beside: frozenset[str]
    max_mb: int


@dataclass(frozen=True)
class _Release:
    number: int
    locked_cells: dict[str, str]  # their sources by name
    handout: Handout


@dataclass(frozen=True)
class Intake:
    """One archive from ``platform`` being collected into ``course``: the assignment that was ``asked`` for as ``released``."""

    asked: AssignmentSpec
    course: Course
    plan: Plan
    released: Released
    collection: Collection
    platform: str

    @property
    def topic(self) -> str:
        return self.asked.topic

    @cached_property
    def releases(self) -> tuple[_Release, ...]:
        """The assignment's releases, newest first."""
        return tuple(_releases(self.course, self.topic, self.released))


@dataclass(frozen=True)
class _ArchivePart:
    """A file in the archive: its name, date and owner, and a function that reads its bytes."""

    name: str
    moment: str
    owner: Submitter
    read: Callable[[], bytes]
    saved_as: str = ""  # the name that a browser gave to a notebook

    @property
    def file(self):
        return PurePosixPath(self.name).name


@dataclass(frozen=True)
class HandIn:
    """What ``student`` handed in at once: its ``parts``. ``seen`` is when `watch` saw it, in UTC, if it did."""

    student: str
    platform: str
    parts: tuple[_ArchivePart, ...]
    seen: str = ""


@dataclass(frozen=True)
class OpenedHandIn:
    """The ``files`` of a hand-in that count, by name, as an ``attempt``; ``counting`` is the part that the notebook came from."""

    attempt: Attempt
    files: dict[str, bytes]
    counting: Submitter
    saved_as: str
    unused: tuple[str, ...]


def collect(
    course: Course,
    topic: str,
    archive: str | Path,
    max_mb: int = Limits.submission_mb,
    notice: Callable[[str], object] | None = None,
    platform: str = "",
    any_owner: bool = False,
    collection: Collection | None = None,
    only: Container[str] | None = None,
    take: Callable[[Intake, HandIn], object] | None = None,
    accounts: Container[int] | None = None,
    released: Released | None = None,
) -> tuple[list[Collected], list[str]]:
    """Put each student's notebook, and the files that belong to it, into ``course``; return ``(collected, left)``.

    A file's owner follows from the name that the platform gave to it, or from ``ADA/anything.ipynb``,
    ``ADA_anything.ipynb`` or ``ADA.zip``; the course's roster maps that name to a student. ``notice`` is called with
    messages, the first of which names the platform. If an attempt has several notebooks, the one named after the
    assignment counts, or else the only one that contains its exercises; of several attempts, the latest counts, and all are
    kept. ``left`` lists the entries that were not taken, except files that operating systems and Jupyter leave behind.

    ``platform``, one of ``PLATFORMS``, is the archive's origin; by default, it is detected from the names that platforms
    choose. In nbgrader's exchange, students choose the names: by default, a folder called ``inbound`` is taken for an
    exchange. Each entry is judged on its own, and counts only if it belongs to the account that it names, unless
    ``any_owner``. If ``accounts`` (user ids) are given, the same holds for plain files and folders that none of them owns.
    ``collection`` is the one that this call is part of; by default, a new one. ``only`` names the entries of a
    folder to collect. ``take`` is called with each hand-in, which is then neither opened nor put into the course.
    ``released`` may be passed if it is already loaded.

    Raises ``CourseError`` if there is no such assignment, the archive itself cannot be read, or nothing can be written.
    """
    released, plan = released or course.releases(topic).load(), course.plan()
    try:
        attempts.refuse_links(course, course.root / "submitted")
    except RefusedEntry as refusal:
        raise CourseError(str(refusal), str(course.root), "remove it, and run the command again.") from None
    archive = Path(archive)
    if not archive.exists():
        raise CourseError("there is no such archive", str(archive), "specify the file that you downloaded.")
    if platform and platform not in PLATFORMS:
        raise CourseError(f"there is no platform {platform!r}", "--platform", f"name one of {', '.join(PLATFORMS)}.")
    if archive.suffix.casefold() == ".ipynb" and archive.is_file():
        whose = "STUDENT" if _match_notebook_name(topic, archive.name) else archive.stem
        remedy = f"put it into a folder as {whose}/{topic}.ipynb, and collect that folder."
        raise CourseError("this is a notebook, not an archive of the class", str(archive), remedy)
    archive, platform = _find_inbound(archive, platform)
    with contextlib.ExitStack() as stack:
        try:
            entries = stack.enter_context(
                open_archive(archive, MAX_ENTRIES if only is None else MAX_ENTRIES_OF_ONE, max_mb, only)
            )
        except RefusedEntry as refusal:
            remedy = "download the submissions of one assignment."
            raise CourseError(str(refusal), str(archive), remedy) from None
        except ARCHIVE_ERRORS as error:
            what = f"this is not a readable zip archive ({error})"
            raise CourseError(what, str(archive), "download it again.") from None
        is_whole = only is None and accounts is None
        reader = _read_submitters(
            archive, entries, PLATFORMS.get(platform, ""), plan.students, any_owner, accounts, is_whole
        )
        asked = AssignmentSpec(
            topic,
            frozenset(exercise.name for exercise in released.exercises),
            frozenset(exercise.trained.file for exercise in released.exercises if exercise.trained),
            max_mb,
        )
        intake = Intake(asked, course, plan, released, collection or Collection(course, topic), reader.platform)
        notice = notice or (lambda text: None)
        top = reader.format.top
        within = f", all of them in {escape_unprintable(top)}" if top and reader.platform == PLAIN_FILES else ""
        notice(f"recognised as {reader.platform}{within}")
        collected = _collect_everybody(intake, entries, reader, take)
    if collection is None:
        intake.collection.begin()  # even if it took nothing
    return collected


def _find_inbound(archive, platform):
    """Return ``(archive, platform)``; for nbgrader's exchange, the inbound folder itself and ``"exchange"``."""
    if platform == "exchange" and (archive / INBOUND).is_dir():
        return archive / INBOUND, platform
    is_inbound = not platform and archive.name == INBOUND and archive.is_dir()
    return archive, "exchange" if is_inbound else platform


def _read_submitters(archive, entries, platform, students, any_owner, accounts, whole):
    names = [strip_browser_suffix(entry.name) for entry in entries]
    archive_format = detect_format(names, topics(), students, platform, whole)
    metadata = b""
    try:
        if archive_format.platform == "Gradescope":
            metadata = next((entry.read() for entry in entries if entry.name == archive_format.metadata), b"")
        return SubmitterReader(archive_format, names, topics(), students, metadata, any_owner, accounts)
    except (RefusedEntry, ValueError) as error:
        remedy = "download the archive again; if the file is large, raise c.Judge.submission_mb in nbgrader_config.py."
        raise CourseError(str(error), f"{archive}, {archive_format.metadata}", remedy) from None


def _releases(course, topic, released):
    for template, notebook in zip(released.templates, released.notebooks, strict=True):
        locked = [cell for cell in notebook.cells if cell.metadata.nbgrader.locked]
        sources = {cell.metadata.nbgrader.grade_id: cell.source for cell in locked}
        yield _Release(course.releases(topic).number_of(template), sources, handout(notebook))


def _collect_everybody(intake, entries, reader, take):
    parts, left = _parse_entries(entries, intake.asked, reader)
    by_student, folders, collected = defaultdict(list), defaultdict(set), []
    for part in parts:
        by_student[fold_name(part.owner.student), part.owner.problem].append(part)
    for folder in intake.course.root.glob("submitted/*"):
        folders[fold_name(folder.name)].add(folder.name)
    for key in sorted(by_student):
        done, unused = _collect_student(intake, by_student[key], folders[key[0]], take)
        collected += done
        left += unused
    return collected, left


def select_files(folder: str | Path, asked: AssignmentSpec) -> dict[str, bytes]:
    """Return the files that count in ``folder``, which is one student's: the notebook and its other files, by name.

    They are chosen as ``collect`` chooses them for one attempt of one student.

    Raises ``RefusedEntry`` if there is no such folder or no notebook in it, if it is unclear which notebook counts, or if
    an entry may not be read.
    """
    with open_archive(folder, MAX_ENTRIES_OF_ONE, asked.max_mb) as entries:
        everything = _ArchivePart("submission", "", Submitter(""), bytes)
        return _select_files(asked, _parse_entries(entries, asked, None, within=everything)[0])[0]


def describe_refusal(problem: str, topic: str) -> str:
    """Return the message to a student whose files were refused: why, and what to hand in."""
    return f"{problem}\n  Remedy: hand in {topic}.ipynb itself, not a folder, a link or an archive in an archive."


def escape_unprintable(name: str) -> str:
    """Return ``name`` with characters escaped that control a terminal or reverse the reading direction."""
    return "".join(sign if sign.isprintable() else f"\\u{ord(sign):04x}" for sign in name)


# --- archive entries and their owners --------------------------------------------------------------------------------


def _parse_entries(entries, wanted, reader, within=None):
    """Return ``([part], [name of an entry not taken])``; entries ``within`` a part have its owner."""
    parts, left = [], []
    for entry in entries:
        own = strip_browser_suffix(entry.name)
        name = f"{within.name}/{own}" if within else reader.format.strip_late_prefix(own)
        saved_as = "" if own == entry.name else PurePosixPath(entry.name).name
        owners = [within.owner] if within else _find_owners(replace(entry, name=own), wanted, reader)
        file = PurePosixPath(name).name
        is_secret = file == SECRET and reader and reader.platform == NBGRADER_EXCHANGE
        is_beside = any(_is_called(beside, name) for beside in wanted.beside)
        if owners and (is_notebook(name) or file == TIMESTAMP or is_secret or is_beside):
            parts += [_ArchivePart(name, entry.moment, owner, entry.read, saved_as) for owner in owners]
        elif file != TIMESTAMP and (within or not reader.format.is_own_file(name)):
            left.append(name)
    return parts, left


def _find_owners(entry, wanted, reader):
    """Return the submitters of ``entry``; none if its name is the same for the whole class."""
    file, *below = reader.format.below_top(entry.name)
    if not below:
        matches = [_match_notebook_name(topic, file) for topic in reader.topics]
        if file in wanted.beside or any(match and not match["whose"] for match in matches):
            return []
    return reader.submitters(entry.name, wanted.topic, entry.owners)


def _is_checkpoint(part):
    """Return whether ``part`` is a Jupyter checkpoint, usually an older state of the notebook."""
    return ".ipynb_checkpoints" in PurePosixPath(part.name).parts or part.file.endswith("-checkpoint.ipynb")


def _is_called(file, name):
    return name == file or name.endswith((f"/{file}", f"_{file}"))


def _match_notebook_name(topic, file):
    """Return a match if ``file`` is named after ``topic``, possibly renamed by a platform or a browser."""
    renamed = r"(?:[-_ ]?\d{1,3}| ?\(\d{1,3}\))?"
    return re.fullmatch(rf"(?P<whose>.*_)?{re.escape(topic)}{renamed}\.ipynb", fold_name(file))


# --- one student -----------------------------------------------------------------------------------------------------


def _collect_student(intake, parts, folders, take):
    """Return ``([Collected], [name of a file not taken])`` for the parts under one name, in any spelling.

    ``folders`` has the spellings that already exist in ``submitted``; ``take`` is as in ``collect``.
    """
    refused = _refuse_names(parts, folders)
    if refused is not None:
        return refused, []
    student = unicodedata.normalize("NFC", parts[0].owner.student)
    done, left = [], []
    for attempt_parts in _group_by_attempt(parts, intake.platform):
        hand_in = HandIn(student, intake.platform, tuple(attempt_parts))
        if take:
            take(intake, hand_in)
            continue
        try:
            opened = open_hand_in(intake.asked, hand_in)
            done.append(place(intake, opened, _summarise(intake, student, opened)))
            left += opened.unused
        except RefusedEntry as refusal:
            done.append(refuse(intake, hand_in, refusal))
    return done, left


def copy_hand_in(asked: AssignmentSpec, hand_in: HandIn) -> HandIn:
    """Return ``hand_in`` with its bytes in memory, so that another process can open it.

    What cannot be read, or is beyond ``MAX_COPIED``, is refused once it is needed.
    """

    def rank(place):  # what is most likely to count is read first
        part = hand_in.parts[place]
        return part.file not in (TIMESTAMP, SECRET), not _match_notebook_name(asked.topic, part.file)

    copies, left = list(hand_in.parts), MAX_COPIED * asked.max_mb * 2**20
    for place in sorted(range(len(copies)), key=rank):
        content = b""
        try:
            if left <= 0:
                problem = f"its files are together larger than {MAX_COPIED * asked.max_mb} MB"
                raise RefusedEntry(problem, SIZE_NOTE)
            content = b"" if _is_checkpoint(copies[place]) else copies[place].read()
            read = partial(bytes, content)
        except RefusedEntry as refusal:
            read = partial(_raise, refusal)
        copies[place], left = replace(copies[place], read=read), left - len(content)
    return replace(hand_in, parts=tuple(copies))


def _raise(error):
    raise error


def open_hand_in(asked: AssignmentSpec, hand_in: HandIn) -> OpenedHandIn:
    """Select the files of ``hand_in`` that count, by what is in them; raise ``RefusedEntry`` if they cannot be taken."""
    files, counting, unused = _select_files(asked, hand_in.parts)
    attempt = _make_attempt(hand_in, files, counting)
    return OpenedHandIn(attempt, files, counting.owner, counting.saved_as, tuple(unused))


def place(intake: Intake, opened: OpenedHandIn, report: Collected) -> Collected:
    """Put the files of ``opened`` into the course for the student of ``report``; return it with what became of them."""
    collected = _place_attempt(intake, opened, report)
    if opened.saved_as:
        note = f"a browser had saved it as {escape_unprintable(opened.saved_as)}"
        collected = replace(collected, note=_join_notes(collected.note, note))
    standing.take(intake.course, report.student, intake.topic)
    return collected


def keep(intake: Intake, student: str, opened: OpenedHandIn) -> None:
    """Keep the files of ``opened`` as an earlier attempt of ``student``, which does not count."""
    _keep_earlier(intake, student, opened, attempts.load_attempts(intake.course, student, intake.topic))


def refuse(intake: Intake, hand_in: HandIn, refusal: RefusedEntry) -> Collected:
    """Write the page that says why ``hand_in`` is not taken, unless a later one counts already."""
    student, first = hand_in.student, hand_in.parts[0]
    attempt = Attempt({}, time=format_time(first.owner.time), moment=first.moment, order=first.owner.order)
    known = attempts.load_attempts(intake.course, student, intake.topic)
    if not any(attempt.is_before(last) for last in known[-1:]):
        _write_refusal_page(intake, student, str(refusal), hand_in.parts)
    file, secret = escape_unprintable(first.name), _find_secret(hand_in.parts)
    return Collected(student, str(refusal), file=file, note=refusal.note, secret=secret)


def _refuse_names(parts, folders):
    """Return the refusals of ``parts``, all under one name, if their owner is uncertain; None if it is certain."""
    owners = {(part.owner.student, part.owner.number): part for part in parts}
    students = [unicodedata.normalize("NFC", name) for name, _ in owners]
    files = [escape_unprintable(part.name) for part in owners.values()]
    if problem := next((part.owner.problem for part in parts if part.owner.problem), ""):
        has_notebook = any(is_notebook(part.name) for part in parts)
        return [Collected(students[0], problem, file=files[0], is_nobodys=True)] if has_notebook else []
    if len(owners) > 1:
        problem = f"{' and '.join(files)} would be the same student here; add both to the roster, or rename them in the archive"
        named = zip(students, files, strict=True)
        return [Collected(student, problem, file=file, is_nobodys=True) for student, file in named]
    if others := folders - {students[0]}:
        other = escape_unprintable(min(others))
        problem = f"submitted/{other} already exists, and the names are too similar: is this the same person?"
        return [Collected(students[0], problem, file=files[0], is_nobodys=True)]
    return None


def _group_by_attempt(parts, platform):
    """Return the parts of each attempt, the earliest first."""
    by_attempt = defaultdict(list)
    for part in parts:
        by_attempt[part.owner.attempt].append(part)
    late = by_attempt.get("late", []) if platform == "ILIAS" else []  # ILIAS marks single files; others carry over
    if late:
        again = {part.file for part in late}
        if any(map(is_notebook, again)):
            again |= {part.file for part in parts if is_notebook(part.file)}
        by_attempt["late"] = [*late, *(part for part in by_attempt.get("in time", ()) if part.file not in again)]
    handed_in = [some for some in by_attempt.values() if any(part.file not in (TIMESTAMP, SECRET) for part in some)]
    return sorted(handed_in, key=lambda some: (str(some[0].owner.time or ""), some[0].owner.order))


def _join_notes(*notes):
    return ", ".join(filter(None, notes))


def _make_attempt(hand_in, files, counting):
    """Return the ``Attempt`` with these ``files``; ``counting`` is the part that the notebook came from."""
    platform, parts = hand_in.platform, hand_in.parts
    folder, owner, time = PurePosixPath(counting.name).parent, counting.owner, counting.owner.time
    if platform == PLAIN_FILES:  # elsewhere, only students could have written it
        stamps = [part for part in parts if part.name == str(folder / TIMESTAMP)]  # other assignments may have one too
        time = time or next((parse_time(part.read()) for part in stamps), None)
    return Attempt(
        {name: hashlib.sha256(content).hexdigest() for name, content in files.items()},
        time=format_time(time),
        moment=counting.moment,
        order=owner.order,
        late=owner.late or (platform == "ILIAS" and any(part.owner.late for part in parts)),
        platform=platform,
        prefix=owner.prefix,
        number=owner.number,
        file=counting.name,
        secret=next((decode_secret(part.read()) for part in parts if part.name == str(folder / SECRET)), ""),
        seen=hand_in.seen,
    )


def decode_secret(content: bytes) -> str:
    """Return the exchange's secret in a file with this ``content``, which a student may have written."""
    return content[: 4 * MAX_SECRET_CHARACTERS].decode("utf-8", "replace")[:MAX_SECRET_CHARACTERS]


def _find_secret(parts):
    """Return the exchange's secret of an attempt with these ``parts``; "" without a readable one."""
    with contextlib.suppress(RefusedEntry):
        return next((decode_secret(part.read()) for part in parts if part.file == SECRET), "")
    return ""


def _select_files(wanted, parts):
    """Return ``({file name: bytes}, the notebook's part, [name of a file not taken])`` of one attempt."""
    files, left = _unpack_archives(wanted, [part for part in parts if part.file not in (TIMESTAMP, SECRET)])
    copies, content = _select_notebook(wanted, files)
    counting = {f"{wanted.topic}.ipynb": (copies, content)}
    for file in wanted.beside:
        if fitting := [part for part in files if _is_called(file, part.name)]:
            counting[file] = _select_one(fitting)
    taken = [part for parts, _ in counting.values() for part in parts]
    left += [part.name for part in files if part not in taken]
    return {file: content for file, (_, content) in counting.items()}, copies[0], left


def _select_notebook(wanted, files):
    notebooks = [part for part in files if part.file.casefold().endswith(".ipynb")]
    notebooks = [part for part in notebooks if not part.saved_as] or notebooks
    if not notebooks:
        raise RefusedEntry("it contains no notebook")
    named = [part for part in notebooks if _match_notebook_name(wanted.topic, part.file)]
    copies, content = _select_one(named or notebooks, wanted.exercises)
    if others := _other_assignments(content, wanted.topic):
        file = escape_unprintable(copies[0].file)
        raise RefusedEntry(f"{file} is a notebook of {' and '.join(others)}, not of {wanted.topic}")
    return copies, content


def _unpack_archives(wanted, parts):
    """Return ``([part], [name of a file not taken])``: ``parts`` with each archive replaced by the parts in it."""
    files, left = [], []
    for part in parts:
        inside = [part]
        if part.file.casefold().endswith(".zip"):
            content = part.read()
            try:
                entries = read_archive(content, MAX_ENTRIES_OF_ONE, wanted.max_mb)
            except ARCHIVE_ERRORS:
                raise RefusedEntry("the archive is damaged") from None
            inside, others = _parse_entries(entries, wanted, None, within=part)
            left += others
        files += [part for part in inside if not _is_checkpoint(part)]
    return files, left


def _select_one(parts, exercises=None):
    """Return ``([the part that counts, and its copies], its bytes)``; of several, one that contains ``exercises``.

    The date decides only between entries of the same name, where the platform replaced the earlier one.
    """
    if len(parts) > MAX_CANDIDATES:
        raise RefusedEntry(f"it is unclear which of {len(parts)} files counts")
    newest = {part.name: part for part in sorted(parts, key=lambda part: part.moment)}
    candidates = {}
    for part in newest.values():
        content = part.read()
        fits = len(newest) == 1 or exercises is None or not exercises.isdisjoint(sources_by_id(content))
        candidates.setdefault((fits, content), []).append(part)
    fitting = [(copies, content) for (fits, content), copies in candidates.items() if fits]
    if len(fitting) == 1:
        return fitting[0]
    if latest := _find_highest_numbered(fitting):
        return latest
    what = "several hold this assignment" if fitting else "none of them holds this assignment"
    named = [copies for copies, _ in fitting] or candidates.values()
    names = ", ".join(sorted(escape_unprintable(part.name) for copies in named for part in copies))
    raise RefusedEntry(f"it is unclear which of its files counts, {what}: {names}")


def _find_highest_numbered(candidates):
    """Return the candidate to which the platform gave the highest number; None if it gave none, or the same one twice."""
    orders = [max(part.owner.order for part in copies) for copies, _ in candidates]
    if (
        not all(part.owner.order for copies, _ in candidates for part in copies)
        or orders.count(max(orders, default=0)) != 1
    ):
        return None
    return candidates[orders.index(max(orders))]


def _other_assignments(content, topic):
    """Return the topics of a notebook's exercises if none is ``topic``. `grade` handles notebooks without exercises."""
    prefixes = {grade_id.partition("-")[0] for grade_id in sources_by_id(content) if "-" in grade_id}
    return [] if topic in prefixes else sorted(prefixes & set(topics()))


# --- writing ---------------------------------------------------------------------------------------------------------


def _place_attempt(intake, opened, collected):
    """Write the files into the student's folder if they are the latest, and keep the previous ones; else keep them.

    The record is written last, so that a stopped command can be repeated with the same result.
    """
    course, topic, student, attempt = intake.course, intake.topic, collected.student, opened.attempt
    notebook = course.submission(student, topic)
    known = _add_uncollected_files(course, topic, student, opened.files)
    if not known:
        _make_current(intake, student, opened, known)
        return collected
    last = known[-1]
    same = attempt.files == last.files
    contradicts = opened.counting.by_arrival and last.platform == attempt.platform and attempt.is_before(last)
    if same and last.platform and attempt.is_before(last):
        attempt = last  # the same files were handed in again later
    elif same and not attempt.time and attempt.order == last.order:
        attempt = replace(attempt, time=last.time)  # which ``set_times`` may have set
    opened = replace(opened, attempt=attempt)
    if not same:
        standing = attempts.read_current_files(course, notebook, last)
        # nothing was collected from another assignment's notebook, but somebody may have put one there
        is_wrong = not last.platform and bool(_other_assignments(standing.get(notebook.name, b""), topic))
        is_earlier = attempt.is_before(last) and not contradicts
        if (_is_known(attempt, known) or is_earlier) and not is_wrong:
            _keep_earlier(intake, student, opened, known)
            return replace(collected, note=_join_notes(collected.note, "an earlier attempt: kept, but not counted"))
        attempts.keep_files(course, student, topic, standing)
    earlier = _make_current(intake, student, opened, known) - 1
    replaced = attempt.files[notebook.name] != last.files.get(notebook.name)
    note = "unchanged" if same else ""
    if replaced:
        note = "replaces an earlier attempt" if earlier == 1 else f"replaces {earlier} earlier attempts"
    if contradicts and not same:
        note += f": it claims an earlier time ({attempt.time}), but was not there at the last collection"
    return replace(collected, replaced=replaced, unchanged=same, note=_join_notes(collected.note, note))


def _add_uncollected_files(course, topic, student, files):
    """Return the attempts of ``student`` so far; the last are the files in the student's folder, if they were not collected."""
    notebook, known = course.submission(student, topic), attempts.load_attempts(course, student, topic)
    before = attempts.read_current_attempt(course, notebook, {*files, *(known[-1].files if known else ())})
    if before is None or (known and known[-1].files == before.files):
        return known
    attempts.record_found(course, topic, student, before)
    return attempts.load_attempts(course, student, topic)


def _summarise(intake, student, opened):
    """Return the report on ``opened``."""
    content = opened.files[f"{intake.topic}.ipynb"]
    sources = sources_by_id(content)

    def count_locked_cells_kept(release):
        return sum(sources.get(name) == source for name, source in release.locked_cells.items())

    release = max(intake.releases, key=count_locked_cells_kept)  # in a tie, the first, which is the newest
    receipt = receipt_of_file(content, release.handout)
    note = _describe_lateness(intake.plan.assignment(intake.topic), student, opened.attempt)
    if receipt and receipt.printed not in ("", receipt.code):
        note = _join_notes(note, f"its own receipt says {receipt.printed}: it was not rerun after its last change")
    return Collected(
        student,
        file=escape_unprintable(opened.attempt.file),
        version=release.number if count_locked_cells_kept(release) else 0,
        code=receipt.code if receipt else "",
        note=note,
    )


def _keep_earlier(intake, student, opened, known):
    """Keep the files of ``opened`` as an attempt earlier than the last one ``known``, which counts."""
    attempts.keep_files(intake.course, student, intake.topic, opened.files)
    if known and not _is_recorded(opened.attempt, known):
        intake.collection.add(student, KEPT, opened.attempt)


def _make_current(intake, student, opened, known):
    """Put the files into the student's folder; return the number of known attempts, including this one, the last."""
    course, topic, attempt = intake.course, intake.topic, opened.attempt
    attempts.write_files(course, course.submission(student, topic), opened.files)
    attempts.write_exchange_files(course, topic, intake.plan.assignment(topic), student, attempt)
    if known[-1:] != [attempt]:
        intake.collection.add(student, RECEIVED, attempt)
    return len(attempts.load_attempts(course, student, topic))


def _is_known(attempt, known):
    """Return whether ``attempt`` was collected before: the same files with the same number, or with no later time.

    Files first collected without a time count as handed in again if ``attempt`` is later than the last of ``known``.
    """
    if _is_recorded(attempt, known):
        return True
    untimed = [other for other in known if other.files == attempt.files and not other.time]
    is_open = attempt.time and not attempt.order and not known[-1].is_before(attempt)
    return bool(is_open) and any(not other.is_before(attempt) for other in untimed)


def _is_recorded(attempt, known):
    """Return whether ``attempt`` is among those ``known``, and its time with it."""
    same = [other for other in known if other.files == attempt.files]
    if attempt.order:
        return any(other.order == attempt.order for other in same)
    return any(not other.is_before(attempt) for other in same if other.time or not attempt.time)


def _write_refusal_page(intake, student, problem, parts):
    """Write a feedback page that asks ``student`` to hand in again, with the files that nbgrader's exchange needs.

    If the page shows earlier feedback, these remain those of the earlier submission: only its owner may fetch the page.
    """
    page = intake.course.feedback(student, intake.topic)
    with contextlib.suppress(RefusedEntry):  # the instructor reads the problem in any case
        with attempts.write_guard(intake.course, page):
            has_feedback = standing.tell(intake.course, student, intake.topic, describe_refusal(problem, intake.topic))
        if (secret := _find_secret(parts)) and not has_feedback:
            for name, text in ((TIMESTAMP, format_time(parts[0].owner.time)), (SECRET, secret)):
                with attempts.write_guard(intake.course, page.with_name(name)):
                    write_text(text, page.with_name(name))


# --- what was collected ----------------------------------------------------------------------------------------------


def undo(course: Course, topic: str) -> list[Collected]:
    """Undo the last collection of ``topic``, or round of `watch`: what counted before it counts again.

    The undone attempts are kept with the earlier ones, and can be collected again.

    Raises ``CourseError`` if that collection took nothing or was undone, or something cannot be written.
    """
    number, before = attempts.undo_of(course, topic)
    if not before:
        what = f"there is nothing to undo: the last collection of {topic} took nothing, or was undone"
        raise CourseError(what, str(course.root), "earlier attempts are in .autograder/earlier.")
    assignment, undone = course.plan().assignment(topic), []
    for student, known in before.items():
        try:
            undone.append(_undo_student(course, topic, assignment, student, known))
            attempts.record_undone(course, topic, student, number)
        except RefusedEntry as refusal:
            undone.append(Collected(student, str(refusal)))
    return undone


def _undo_student(course, topic, assignment, student, known):
    """Restore the last of the attempts ``known``; delete the student's files if ``known`` is empty."""
    notebook, now = course.submission(student, topic), attempts.load_attempts(course, student, topic)
    names = {notebook.name, *(name for attempt in (*known[-1:], *now[-1:]) for name in attempt.files)}
    present = attempts.read_current_attempt(course, notebook, names)
    files = attempts.read_current_files(course, notebook, present) if present else {}
    attempts.keep_files(course, student, topic, files)
    before = attempts.load_files(course, student, topic, known[-1]) if known else {}
    attempts.write_files(course, notebook, before)
    attempts.write_exchange_files(course, topic, assignment, student, known[-1] if known else Attempt({}))
    for place in (notebook.with_name(name) for name in files if name not in before):
        with attempts.write_guard(course, place):
            place.unlink()
    if not before:
        for folder in (notebook.parent, notebook.parent.parent):
            with contextlib.suppress(OSError):  # something else is in it
                folder.rmdir()
    undone = escape_unprintable((now or known or [Attempt({})])[-1].file)
    if not known:
        return Collected(student, note="undone: nothing was collected before", file=undone, version=None)
    again = escape_unprintable(known[-1].file)
    previous = "the previous attempt" + f" ({again})" * bool(again)
    note = "unchanged" if before == files else f"undone: {previous} counts again"
    if before == files and now and now[-1].time != known[-1].time:
        note = f"undone: it arrived at {known[-1].time or 'an unknown time'}"
    return Collected(student, note=note, file=undone, version=None)


def set_times(
    course: Course, topic: str, times: Mapping[str, datetime], collection: Collection | None = None
) -> list[Collected]:
    """Set the hand-in times of the current attempts at ``topic`` to ``times``, by student, whatever their platform said.

    Raises ``CourseError`` if something cannot be written.
    """
    collection = collection or Collection(course, topic)
    return [_set_time(course, topic, student, time, collection) for student, time in times.items()]


def _set_time(course, topic, student, time, collection):
    known = attempts.load_attempts(course, student, topic)
    if not known:
        return Collected(student, "nothing was collected from this student, so there is nothing to give a time for")
    attempt = replace(known[-1], time=format_time(time))
    assignment = course.plan().assignment(topic)
    collected = Collected(student, file=escape_unprintable(attempt.file), version=None)
    try:
        attempts.write_exchange_files(course, topic, assignment, student, attempt)
        if attempt != known[-1]:
            collection.add(student, TIMED, attempt)
    except RefusedEntry as refusal:
        return replace(collected, problem=str(refusal))
    when = f"handed in at {time:%Y-%m-%d %H:%M} UTC"
    return replace(collected, note=_join_notes(when, _describe_lateness(assignment, student, attempt)))


def _describe_lateness(assignment, student, attempt):
    """Describe how late ``attempt`` is, as far as that is known; "" if it is not."""
    due = assignment.due_for(student)
    if attempt.time and due:
        came = parse_time(attempt.time)
        seconds = (came - due).total_seconds() if came else 0
        hours, minutes = divmod(int(seconds) // 60, 60)
        span = f"{hours // 24} d {hours % 24} h" if hours >= 24 else f"{hours} h {minutes} min"
        return f"late by {span}" if seconds > 0 else ""
    if attempt.late:
        return "late, by an unknown amount" + ("" if due else ", with no due date in course.toml")
    return ""
