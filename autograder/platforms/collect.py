"""Put what a learning platform hands out as one archive where nbgrader looks for it: one folder a student.

In: a zip archive or a folder, a course, a topic. Out: what became of each student's part, and what nobody looked at. Writes
``submitted``, what was handed in before, and a page for whoever has to hand in again; never through a link. One bad part
stops nobody else's; nothing is unpacked but the files that are asked for; whose notebook it is, and which of several
counts, is never guessed.
"""

import contextlib
import hashlib
import json
import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cmp_to_key
from pathlib import Path, PurePosixPath

from autograder.courses.course import SECRET, TIMESTAMP, Course
from autograder.courses.plan import Assignment, alike
from autograder.errors import CourseError
from autograder.files import write_text
from autograder.notebooks.handout import Handout, handout, receipt_of_file
from autograder.platforms.archives import BROKEN, RefusedEntry, open_archive, read_archive
from autograder.platforms.attempts import (
    Attempt,
    Journal,
    contents_of,
    journal_folder,
    keep_files,
    kept_files,
    present_files,
    put_beside,
    put_files,
    read_attempts,
    refuse_links,
    tries,
    write_attempts,
    write_guard,
)
from autograder.platforms.formats import (
    NBGRADERS,
    PLATFORMS,
    Submitter,
    SubmitterReader,
    describe_archive,
    detect_format,
    is_notebook,
    strip_browser_suffix,
)
from autograder.platforms.timestamps import as_nbgrader_writes, stated_time
from autograder.sandbox import Limits
from solutions.answer_key import topics

MAX_ENTRIES, MAX_ENTRIES_OF_ONE, MAX_CANDIDATES = 100_000, 1000, 20
INBOUND = "inbound"  # the folder of nbgrader's exchange that students write to
MAX_SECRET_CHARACTERS = 1000  # characters; nbgrader's have 128


@dataclass(frozen=True)
class Collected:
    """What became of one try of a student: ``problem`` is "" where it stands in ``submitted`` now, or was kept as earlier.

    ``file`` is what it was called in the archive, ``version`` the number of the release that it was made from, 0 if that is
    not known, ``code`` that of its receipt, "" if it is no notebook, ``note`` what else is to say of it.
    """

    student: str
    problem: str = ""
    replaced: bool = False
    file: str = ""
    version: int = 0
    code: str = ""
    note: str = ""


@dataclass(frozen=True)
class AssignmentSpec:
    """What an assignment consists of: the notebook of ``topic`` with its ``exercises``, the files ``beside`` it.

    No file may have more than ``max_mb`` megabytes.
    """

    topic: str
    exercises: frozenset[str]
    beside: frozenset[str]
    max_mb: int


@dataclass(frozen=True)
class _CourseSpec(AssignmentSpec):
    """What is ``AssignmentSpec`` in a course: of which releases, when it is due."""

    assignment: Assignment
    versions: tuple[tuple[int, dict[str, str]], ...]  # number of a release -> its locked cells, the newest first
    handouts: Mapping[int, Handout]  # by the number of a release; under 0 the newest
    topics: tuple[str, ...]  # all that there are
    journal: "Journal"


@dataclass(frozen=True)
class _ArchivePart:
    """A file of the archive: under which name and of which date, whose it is, and how to get its bytes."""

    name: str
    moment: str
    owner: Submitter
    read: Callable[[], bytes]
    saved_as: str = ""  # what a browser has called a notebook

    @property
    def file(self):
        return PurePosixPath(self.name).name


def collect(
    course: Course,
    topic: str,
    archive: str | Path,
    max_mb: int = Limits.submission_mb,
    notice: Callable[[str], object] | None = None,
    platform: str = "",
    any_owner: bool = False,
    journal: Journal | None = None,
) -> tuple[list[Collected], list[str]]:
    """Put each student's notebook, and the files that belong to it, into ``course``; return ``(collected, left)``.

    Whose it is, ``platforms`` says: by the names that Canvas, Moodle, Gradescope and nbgrader's exchange give, or by
    ``ADA/anything.ipynb``, ``ADA_anything.ipynb`` and ``ADA.zip``; the course's roster says who that is here. ``notice`` is
    called with which of these it was taken for. Of several notebooks of one try, the one that is named after the assignment
    counts, or else the only one that holds its exercises; of several tries, the last in time; all are kept. ``left`` lists
    the entries that were not taken; what systems and Jupyter leave beside files is not among them.

    ``platform`` says who gave it out, one of ``PLATFORMS``; without it, the names decide, which the platform chose. In
    nbgrader's exchange students choose them: a folder called ``inbound`` is always one, each entry is decided by itself,
    and counts only if it belongs to the account that it names, unless ``any_owner``. ``journal`` is that of the collection
    which this is a part of; by default it is one of its own.

    Raises ``CourseError`` if there is no such assignment, the archive itself cannot be read, or nothing can be written.
    """
    released, plan = course.released(topic), course.plan()
    beside = frozenset(exercise.trained.file for exercise in released.exercises if exercise.trained)
    names, versions = frozenset(exercise.name for exercise in released.exercises), _versions(course, topic, released)
    given_out = [*zip([number for number, _ in versions], released.notebooks, strict=True), (0, released.notebooks[0])]
    handouts = {number: handout(notebook) for number, notebook in given_out}
    journal = journal or Journal(course, topic)
    wanted = _CourseSpec(
        topic, names, beside, max_mb, plan.assignment(topic), versions, handouts, tuple(topics()), journal
    )
    try:
        refuse_links(course, course.root / "submitted")
    except RefusedEntry as refusal:
        raise CourseError(str(refusal), str(course.root), "take it away, and run the command again.") from None
    archive = Path(archive)
    if not archive.exists():
        raise CourseError("there is no such archive", str(archive), "name the file that you downloaded.")
    if platform and platform not in PLATFORMS:
        raise CourseError(f"there is no platform {platform!r}", "--platform", f"name one of {', '.join(PLATFORMS)}.")
    if platform == "exchange" and (archive / INBOUND).is_dir():
        archive /= INBOUND
    if not platform and archive.name == INBOUND and archive.is_dir():
        platform = "exchange"
    with contextlib.ExitStack() as stack:
        try:
            entries = stack.enter_context(open_archive(archive, MAX_ENTRIES, max_mb))
        except RefusedEntry as refusal:
            remedy = "download the submissions of one assignment."
            raise CourseError(str(refusal), str(archive), remedy) from None
        except BROKEN as error:
            what = f"this is no zip archive that can be read ({error})"
            raise CourseError(what, str(archive), "download it again.") from None
        chosen = PLATFORMS.get(platform, ""), any_owner
        return _collect(course, wanted, archive, entries, plan.students, notice or (lambda said: None), *chosen)


def select_files(folder: str | Path, asked: AssignmentSpec) -> dict[str, bytes]:
    """Return what counts of the files in ``folder``, all of one student: the notebook and what belongs to it, by name.

    Which one counts is decided as ``collect`` does it for one try of one student.

    Raises ``RefusedEntry`` if there is no notebook, or it cannot be told which counts, or something there may not be
    read; ``OSError`` if there is no such folder, or it cannot be listed.
    """
    with open_archive(folder, MAX_ENTRIES_OF_ONE, asked.max_mb) as entries:
        everything = _ArchivePart("submission", "", Submitter(""), bytes)
        return _select_files(asked, _parts(entries, asked, None, within=everything)[0])[0]


def describe_refusal(problem: str, topic: str) -> str:
    """Return for a student why what was handed in is not taken, and what to hand in."""
    return f"{problem}\n  Remedy: hand in {topic}.ipynb itself, not a folder, a link or an archive in an archive."


def _collect(course, wanted, archive, entries, students, notice, platform, any_owner):
    names = [strip_browser_suffix(entry.name) for entry in entries]
    found = (
        describe_archive(platform, names, wanted.topics, students)
        if platform
        else detect_format(names, wanted.topics, students)
    )
    try:
        told = [entry for entry in entries if found.platform == "Gradescope" and entry.name == found.metadata]
        owners = SubmitterReader(found, names, wanted.topics, students, told[0].read() if told else b"", any_owner)
    except (RefusedEntry, ValueError) as error:
        remedy = "download the archive again; if the file is large, give --submission-mb."
        raise CourseError(str(error), f"{archive}, {found.metadata}", remedy) from None
    notice(f"taken for {found.platform}")
    if found.platform == "Blackboard" and wanted.assignment.due:
        notice("Blackboard states times without a time zone: nobody counts as late, unless --times says when they came")
    parts, left = _parts(entries, wanted, owners)
    same, here, collected = defaultdict(list), defaultdict(set), []
    for part in parts:
        same[alike(part.owner.student), part.owner.problem].append(part)
    for folder in course.root.glob("submitted/*"):
        here[alike(folder.name)].add(folder.name)
    for key in sorted(same):
        done, unused = _collect_student(course, wanted, same[key], here[key[0]], found.platform)
        collected += done
        left += unused
    return collected, left


def printable(name: str) -> str:
    """Return ``name`` without what would steer a terminal or turn the direction of reading."""
    return "".join(sign if sign.isprintable() else f"\\u{ord(sign):04x}" for sign in name)


# --- what lies in an archive, and whose it is ------------------------------------------------------------------------


def _parts(entries, wanted, owners, within=None):
    """Return ``([part], [name of an entry that belongs to nobody])``. What lies ``within`` a part has its owner."""
    parts, left = [], []
    for entry in entries:
        own = strip_browser_suffix(entry.name)
        name = f"{within.name}/{own}" if within else owners.found.strip_late_prefix(own)
        saved_as = "" if own == entry.name else PurePosixPath(entry.name).name
        found = [within.owner] if within else _owners(replace(entry, name=own), wanted, owners)
        file = PurePosixPath(name).name
        secret = file == SECRET and owners and owners.platform == NBGRADERS
        asked = is_notebook(name) or file == TIMESTAMP or secret or any(_is_called(one, name) for one in wanted.beside)
        if found and asked:
            parts += [_ArchivePart(name, entry.moment, owner, entry.read, saved_as) for owner in found]
        elif file != TIMESTAMP and (within or not owners.found.is_own_file(name)):
            left.append(name)
    return parts, left


def _owners(entry, wanted, owners):
    """Return whose ``entry`` is; nobody's if all files of the class are called so."""
    file, *below = owners.found.below_top(entry.name)
    named = [_named_after(topic, file) for topic in wanted.topics] if not below else []
    if not below and (file in wanted.beside or any(match and not match["whose"] for match in named)):
        return []
    return owners.of(entry.name, wanted.topic, entry.owners)


def _is_checkpoint(part):
    """Return whether ``part`` is the copy that Jupyter keeps of a notebook: an older state, as a rule."""
    return ".ipynb_checkpoints" in PurePosixPath(part.name).parts or part.file.endswith("-checkpoint.ipynb")


def _is_called(file, name):
    return name == file or name.endswith((f"/{file}", f"_{file}"))


def _named_after(topic, file):
    """Return a match if ``file`` is the notebook of ``topic`` by its name, also as platforms and browsers rename it."""
    renamed = r"(?:[-_ ]?\d{1,3}| ?\(\d{1,3}\))?"
    return re.fullmatch(rf"(?P<whose>.*_)?{re.escape(topic)}{renamed}\.ipynb", alike(file))


# --- one student -----------------------------------------------------------------------------------------------------


def _collect_student(course, wanted, parts, here, platform):
    """Return ``([Collected], [name of a file not taken])`` for parts under one name, in any spelling.

    ``here`` holds the spellings that stand in ``submitted`` already.
    """
    refused = _refuse_names(parts, here)
    if refused is not None:
        return refused, []
    student = unicodedata.normalize("NFC", parts[0].owner.student)
    done, left = [], []
    for attempt in _attempts(parts, platform):
        try:
            collected, unused = _collect_attempt(course, wanted, student, attempt, platform)
            done.append(collected)
            left += unused
        except RefusedEntry as refusal:
            first = attempt[0]
            refused = Attempt({}, time=_as_written(first.owner.time), moment=first.moment, order=first.owner.order)
            if not any(refused.is_before(one) for one in read_attempts(course.collected(student, wanted.topic))[-1:]):
                _tell(course, wanted.topic, student, str(refusal), attempt)
            done.append(Collected(student, str(refusal), file=printable(first.name)))
    return done, left


def _refuse_names(parts, here):
    """Return why nothing is taken of ``parts``, all under one name: whose they are is not certain. None if it is."""
    owners = {(part.owner.student, part.owner.number): part for part in parts}
    students = [unicodedata.normalize("NFC", name) for name, _ in owners]
    files = [printable(part.name) for part in owners.values()]
    if problem := next((part.owner.problem for part in parts if part.owner.problem), ""):
        has_notebook = any(is_notebook(part.name) for part in parts)
        return [Collected(students[0], problem, file=files[0])] if has_notebook else []
    if len(owners) > 1:
        among = " and ".join(files)
        problem = f"{among} would be one student here; name both in the roster, or rename them in the archive"
        return [Collected(student, problem, file=file) for student, file in zip(students, files, strict=True)]
    if others := here - {students[0]}:
        other = printable(min(others))
        problem = f"submitted/{other} is there already, a name that is too much alike: is it the same person?"
        return [Collected(students[0], problem, file=files[0])]
    return None


def _attempts(parts, platform):
    """Return the parts of each attempt, the first in time first."""
    by_attempt = defaultdict(list)
    for part in parts:
        by_attempt[part.owner.attempt].append(part)
    late = by_attempt.get("late", []) if platform == "ILIAS" else []  # it says so of each file: the others go with it
    if late:
        again = {part.file for part in late}
        if any(map(is_notebook, again)):
            again |= {part.file for part in parts if is_notebook(part.file)}
        by_attempt["late"] = [*late, *(part for part in by_attempt.get("in time", ()) if part.file not in again)]
    handed_in = [some for some in by_attempt.values() if any(part.file not in (TIMESTAMP, SECRET) for part in some)]
    return sorted(handed_in, key=lambda some: (str(some[0].owner.time or ""), some[0].owner.order))


def _collect_attempt(course, wanted, student, parts, platform):
    """Put one attempt into the course; return ``(Collected, [name of a file not taken])``."""
    files, counting, left = _select_files(wanted, parts)
    one = _attempt(files, counting, parts, platform)
    put = _place(course, wanted, student, files, one, counting.owner.by_arrival)
    saved = f"a browser had saved it as {printable(counting.saved_as)}" if counting.saved_as else ""
    with write_guard(course, course.refusal_file(student, wanted.topic)):
        course.forget_refusal(student, wanted.topic)
    return replace(put, note=_joined(put.note, saved)), left


def _joined(*notes):
    return ", ".join(filter(None, notes))


def _attempt(files, counting, parts, platform):
    """Return the ``Attempt`` that these ``files`` are; ``counting`` is the part that the notebook came from."""
    beside = str(PurePosixPath(counting.name).with_name(TIMESTAMP))  # of other assignments there may be one too
    stamps = [part for part in parts if part.name == beside and platform == "files and folders"]
    stated = next((stated_time(part.read()) for part in stamps), None)  # elsewhere the student wrote it, if anybody
    owner, hashes = counting.owner, {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    when = owner.time or stated
    return Attempt(
        hashes,
        time=_as_written(when),
        moment=counting.moment,
        order=owner.order,
        late=owner.late or (platform == "ILIAS" and any(part.owner.late for part in parts)),
        platform=platform,
        prefix=owner.prefix,
        number=owner.number,
        file=counting.name,
        secret=_secret(parts, PurePosixPath(counting.name).parent),
    )


def _secret(parts, folder):
    """Return the secret that nbgrader's exchange has put into ``folder``; "" without one."""
    found = (part.read() for part in parts if part.name == str(folder / SECRET))
    return next(found, b"").decode("utf-8", "replace")[:MAX_SECRET_CHARACTERS]


def _as_written(when):
    return as_nbgrader_writes(when) if when else ""


def _select_files(wanted, parts):
    """Return ``({file name: bytes}, the part of the notebook, [name of a file not taken])`` of one try."""
    files, left = _files_of(wanted, [part for part in parts if part.file not in (TIMESTAMP, SECRET)])
    same, content = _select_notebook(wanted, files)
    counting = {f"{wanted.topic}.ipynb": (same, content)}
    for file in wanted.beside:
        if fitting := [part for part in files if _is_called(file, part.name)]:
            counting[file] = _select_counting(fitting)
    taken = [part for some, _ in counting.values() for part in some]
    left += [part.name for part in files if part not in taken]
    return {file: content for file, (_, content) in counting.items()}, same[0], left


def _select_notebook(wanted, files):
    notebooks = [part for part in files if part.file.casefold().endswith(".ipynb")]
    notebooks = [part for part in notebooks if not part.saved_as] or notebooks
    if not notebooks:
        raise RefusedEntry("no notebook was in it")
    named = [part for part in notebooks if _named_after(wanted.topic, part.file)]
    same, content = _select_counting(named or notebooks, wanted.exercises)
    if others := _other_assignments(content, wanted.topic):
        raise RefusedEntry(f"{printable(same[0].file)} is a notebook of {' and '.join(others)}, not of {wanted.topic}")
    return same, content


def _files_of(wanted, parts):
    """Return ``([part], [name of a file not taken])`` with what lies in archives of one student in the place of these."""
    files, left = [], []
    for part in parts:
        inside, others = _unpacked(part, wanted) if part.file.casefold().endswith(".zip") else ([part], [])
        files += [one for one in inside if not _is_checkpoint(one)]
        left += others
    return files, left


def _unpacked(part, wanted):
    """Return the parts that lie in ``part``, an archive of one student, and the names of other files there."""
    content = part.read()
    try:
        return _parts(read_archive(content, MAX_ENTRIES_OF_ONE, wanted.max_mb), wanted, None, within=part)
    except BROKEN:
        raise RefusedEntry("the archive is damaged") from None


def _select_counting(parts, exercises=None):
    """Return ``([the one of parts that counts, and its copies], its bytes)``; of several, one with ``exercises`` in it.

    The date decides only between entries of one and the same name: there the platform has replaced the first.
    """
    if len(parts) > MAX_CANDIDATES:
        raise RefusedEntry(f"which of {len(parts)} files counts cannot be told")
    newest = {part.name: part for part in sorted(parts, key=lambda part: part.moment)}
    found = {}
    for part in newest.values():
        content = part.read()
        fits = len(newest) == 1 or exercises is None or _holds(content, exercises)
        found.setdefault((fits, hashlib.sha256(content).digest()), ([], content))[0].append(part)
    fitting = [one for (fits, _), one in found.items() if fits]
    if len(fitting) == 1:
        return fitting[0]
    if fitting and all(part.owner.order for same, _ in fitting for part in same):  # the platform has numbered them
        orders = [max(part.owner.order for part in same) for same, _ in fitting]
        if orders.count(max(orders)) == 1:
            return fitting[orders.index(max(orders))]
    names = ", ".join(sorted(printable(part.name) for same, _ in fitting or found.values() for part in same))
    what = "several hold this assignment" if fitting else "none of them holds this assignment"
    raise RefusedEntry(f"which of its files counts cannot be told, {what}: {names}")


def _holds(content, exercises):
    """Return whether ``content`` is a notebook with one of ``exercises`` in it."""
    return not exercises.isdisjoint(_grade_ids(content))


def _other_assignments(content, topic):
    """Return the topics of the exercises in a notebook, if none is of ``topic``. One without any is left to `grade`."""
    prefixes = {grade_id.partition("-")[0] for grade_id in _grade_ids(content) if "-" in grade_id}
    return [] if topic in prefixes else sorted(prefixes & set(topics()))


def _grade_ids(content):
    """Return the names that nbgrader gave to cells of ``content``; none if it is no notebook."""
    try:
        metas = [cell["metadata"].get("nbgrader") for cell in json.loads(content)["cells"]]
        found = [meta.get("grade_id") for meta in metas if isinstance(meta, dict)]
        return {name for name in found if isinstance(name, str)}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, MemoryError):
        return set()


# --- writing ---------------------------------------------------------------------------------------------------------


def _place(course, wanted, student, files, one, by_arrival):
    """Write ``files`` into the student's folder if they are the last in time; keep what counted before, or else them.

    What has happened is written down last: a command that was stopped does it all again, and comes to the same.
    """
    topic, notebook = wanted.topic, course.submission(student, wanted.topic)
    known = _known_attempts(course, notebook, tries(course, student, topic), files)
    told = _describe(wanted, student, one, files[notebook.name])
    counts = known[-1] if known else None
    if counts is None:
        _let_count(course, wanted, student, files, one, known)
        return told
    same = one.files == counts.files
    contradicts = by_arrival and counts.platform == one.platform and one.is_before(counts)
    if same and counts.platform and one.is_before(counts):
        one = counts  # handed in once more later
    elif same and not one.time and one.order == counts.order:
        one = replace(one, time=counts.time)  # which ``set_time`` has stated
    if not same:
        stands = contents_of(course, notebook, counts)
        is_wrong = bool(_other_assignments(stands.get(notebook.name, b""), topic))  # as was collected in the past
        is_earlier = one.is_before(counts) and not contradicts
        if (_is_known(one, known) or is_earlier) and not is_wrong:
            _keep_earlier(course, wanted, student, files, one, known)
            return replace(told, note=_joined(told.note, "an earlier try: kept, and not counted"))
        keep_files(course, student, topic, stands)
    count = _let_count(course, wanted, student, files, one, known)
    replaced = one.files[notebook.name] != counts.files.get(notebook.name)
    note = "as before" if same else f"replaces {_count(count - 1)}" if replaced else ""
    if contradicts and not same:
        note += f": it states an earlier time ({one.time}), but was not there yet at the last collection"
    return replace(told, replaced=replaced, note=_joined(told.note, note))


def _known_attempts(course, notebook, known, files):
    """Return all attempts that are ``known``, with what stands beside ``notebook`` if it was put there by hand, or by nbgrader."""
    before = present_files(course, notebook, {*files, *(known[-1].files if known else ())})
    if before is None or (known and known[-1].files == before.files):
        return known
    return [*(old for old in known if old.files != before.files), before]


def _describe(wanted, student, one, content):
    """Return what is said of the attempt ``one``, whose notebook has the bytes ``content``."""
    version = _version(wanted, content)
    receipt = receipt_of_file(content, wanted.handouts[version])
    note = _joined(_lateness(wanted.assignment, student, one), _changed(receipt))
    return Collected(
        student, file=printable(one.file), version=version, code=receipt.code if receipt else "", note=note
    )


def _keep_earlier(course, wanted, student, files, one, known):
    """Keep ``files`` as an earlier attempt than the last of those ``known``, which counts."""
    keep_files(course, student, wanted.topic, files)
    if not _is_known(one, known):
        wanted.journal.remember(course, student, known)
        head = sorted([*known[:-1], one], key=cmp_to_key(lambda a, b: b.is_before(a) - a.is_before(b)))
        write_attempts(course, course.collected(student, wanted.topic), [*head, known[-1]])


def _let_count(course, wanted, student, files, one, known):
    """Put ``files`` into the student's folder; return how many attempts are known then, of which ``one`` is the last."""
    notebook = course.submission(student, wanted.topic)
    if known[-1:] != [one]:
        wanted.journal.remember(course, student, known)
    put_files(course, notebook, files)
    put_beside(course, wanted.topic, wanted.assignment, student, one)
    is_same = bool(known) and known[-1].files == one.files
    known = [*(known[:-1] if is_same else known), one]
    write_attempts(course, course.collected(student, wanted.topic), known)
    return len(known)


def undo(course: Course, topic: str) -> list[Collected]:
    """Take back the last collection of ``topic`` that changed anything: each student has what counted before it.

    What is taken back is kept among the earlier tries, and can be collected again.

    Raises ``CourseError`` if there is no such collection, or something cannot be written.
    """
    places = sorted(journal_folder(course, topic).glob("*.json"))
    if not places:
        remedy = "nothing was collected since the last --undo; earlier tries are in .autograder/earlier."
        raise CourseError(f"there is no collection of {topic} to take back", str(course.root), remedy)
    assignment, done = course.plan().assignment(topic), []
    for place in places:
        try:
            done.append(_take_back(course, topic, assignment, place.stem, read_attempts(place)))
            place.unlink()
        except RefusedEntry as refusal:
            done.append(Collected(place.stem, str(refusal)))
    return done


def _take_back(course, topic, assignment, student, known):
    """Let the last of ``known`` count for ``student`` again, or nothing if that is empty."""
    notebook, now = course.submission(student, topic), tries(course, student, topic)
    names = {notebook.name, *(name for one in (*known[-1:], *now[-1:]) for name in one.files)}
    present = present_files(course, notebook, names)
    files = contents_of(course, notebook, present) if present else {}
    keep_files(course, student, topic, files)
    before = kept_files(course, student, topic, known[-1]) if known else {}
    put_files(course, notebook, before)
    put_beside(course, topic, assignment, student, known[-1] if known else Attempt({}))
    for place in (notebook.with_name(name) for name in files if name not in before):
        with write_guard(course, place):
            place.unlink()
    if not before:
        for folder in (notebook.parent, notebook.parent.parent):
            with contextlib.suppress(OSError):  # something else is in it
                folder.rmdir()
    write_attempts(course, course.collected(student, topic), known)
    if not known:
        return Collected(student, note="taken back: nothing was collected before", file="")
    note = "as before" if before == files else "taken back: the try before it counts again"
    if before == files and now and now[-1].time != known[-1].time:
        note = f"taken back: it came at {known[-1].time or 'a time that is not known'}"
    return Collected(student, note=note, file=printable(known[-1].file))


def _count(number):
    return "an earlier try" if number == 1 else f"{number} earlier tries"


def _is_known(one, known):
    """Return whether ``one`` was collected before: the same files under the same number, or of no later time."""
    same = [other for other in known if other.files == one.files]
    if one.order:
        return any(other.order == one.order for other in same)
    return any(not other.is_before(one) for other in same)


def set_time(course: Course, topic: str, student: str, time: datetime, journal: Journal) -> Collected:
    """Let the attempt of ``student`` that counts have come at ``time``, whatever its platform said.

    Raises ``CourseError`` if it cannot be written.
    """
    known = tries(course, student, topic)
    one = replace(known[-1], time=as_nbgrader_writes(time))
    assignment = course.plan().assignment(topic)
    told = Collected(student, file=printable(one.file))
    try:
        if one != known[-1]:
            journal.remember(course, student, known)
        put_beside(course, topic, assignment, student, one)
        write_attempts(course, course.collected(student, topic), [*known[:-1], one])
    except RefusedEntry as refusal:
        return replace(told, problem=str(refusal))
    when = f"handed in at {time:%Y-%m-%d %H:%M} UTC"
    return replace(told, note=_joined(when, _lateness(assignment, student, one)))


def _lateness(assignment, student, one):
    """Return in words whether ``one`` is late, as far as that is known."""
    due = assignment.due
    if one.time and due:
        until = max(assignment.extensions.get(student, due), due)
        came = stated_time(one.time)
        seconds = (came - until).total_seconds() if came else 0
        return f"late by {_span(seconds)}" if seconds > 0 else ""
    if one.late:
        return "late, by how much is not known" + ("" if due else ", and no due date in course.toml")
    return ""


def _changed(receipt):
    """Return in words that the receipt in a notebook is not that of the answers which stand there."""
    if receipt is None or receipt.printed in ("", receipt.code):
        return ""
    return f"its own receipt says {receipt.printed}: not run once more after its last change"


def _span(seconds):
    hours, minutes = divmod(int(seconds) // 60, 60)
    return f"{hours // 24} d {hours % 24} h" if hours >= 24 else f"{hours} h {minutes} min"


def _versions(course, topic, released):
    """Return the locked cells of each release, by its number: none where there is one alone, and nothing to tell apart."""
    found = []
    for template, notebook in zip(released.templates, released.notebooks, strict=True):
        cells = [cell for cell in notebook.cells if cell.metadata.nbgrader.locked]
        sources = {cell.metadata.nbgrader.grade_id: cell.source for cell in cells}
        found.append((course.version(topic, template), sources))
    return tuple(found)


def _version(wanted, content):
    """Return the number of the release that has most of the locked cells in ``content``; 0 if it has none of them."""
    try:
        sources = {}
        for cell in json.loads(content)["cells"]:
            grade_id = (cell["metadata"].get("nbgrader") or {}).get("grade_id")
            sources[grade_id] = cell["source"] if isinstance(cell["source"], str) else "".join(cell["source"])
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, MemoryError):
        return 0
    kept = [
        (sum(sources.get(name) == text for name, text in locked.items()), number) for number, locked in wanted.versions
    ]
    most = max((count for count, _ in kept), default=0)
    return next((number for count, number in kept if count == most), 0) if most else 0


def _tell(course, topic, student, problem, parts):
    """Ask ``student`` to hand in again, on the feedback page; what nbgrader's exchange takes it back by stands beside it."""
    page = course.feedback(student, topic)
    with contextlib.suppress(RefusedEntry):  # whoever collects reads the problem all the same
        with write_guard(course, page):
            course.refuse(student, topic, describe_refusal(problem, topic))
        found = (_secret([part], PurePosixPath(part.name).parent) for part in parts if part.file == SECRET)
        if secret := next(found, ""):
            when = parts[0].owner.time
            for name, text in ((TIMESTAMP, as_nbgrader_writes(when) if when else ""), (SECRET, secret)):
                with write_guard(course, page.with_name(name)):
                    write_text(text, page.with_name(name))
