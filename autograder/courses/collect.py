"""Put what a learning platform hands out as one archive where nbgrader looks for it: one folder a student.

In: a zip archive, a course, a topic. Out: what became of each student's part, and what nobody looked at. Writes
``submitted``, and a page for whoever has to hand in again; never through a link. One bad part stops nobody else's; nothing
is unpacked but the files that are asked for; whose notebook it is, and which of several counts, is never guessed.
"""

import contextlib
import hashlib
import io
import json
import re
import stat
import time
import unicodedata
import zipfile
import zlib
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from autograder.courses.course import Course
from autograder.errors import CourseError
from autograder.files import write_bytes
from autograder.sandbox import Limits
from solutions.answer_key import topics

MOST_ENTRIES, MOST_IN_ONE, MOST_CANDIDATES = 100_000, 1000, 20
BROKEN = (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, OSError, ValueError)
IN_THE_WAY = (FileExistsError, NotADirectoryError, IsADirectoryError)
MOODLE = re.compile(r"([^_]+)_(\d+)_assignsubmission_.*", re.IGNORECASE)  # of a folder, or of a file
CANVAS = re.compile(
    r"([^_]+)(?:_late)?_(\d+)_.*", re.IGNORECASE
)  # of a file; canvas sets the number of the person first
SIGNS, BETWEEN = "@+-.", " '\u2019"  # in a name, beside letters, marks and digits; and within one only
NAME_BYTES = 120  # a file system takes 255, and names of files are made with it


@dataclass(frozen=True)
class Collected:
    """What became of one student's part: ``problem`` is "" where it stands in ``submitted`` now."""

    student: str
    problem: str = ""
    replaced: bool = False


@dataclass(frozen=True)
class _Wanted:
    """What an assignment consists of: the notebook of ``topic`` with its ``exercises``, the files ``beside`` it."""

    topic: str
    exercises: frozenset[str]
    beside: frozenset[str]
    max_mb: int


@dataclass(frozen=True)
class _Part:
    """A file of the archive: under which name and of which date, whose it is, and how to get its bytes."""

    name: str
    date: tuple[int, ...]
    owner: tuple[str, str]  # the name as it stands there; the platform's number of the person, or ""
    read: Callable[[], bytes]

    @property
    def file(self):
        return PurePosixPath(self.name).name


class _Refused(Exception):
    """Something that is not taken; the sentence says why."""


def collect(
    course: Course, topic: str, archive: str | Path, max_mb: int = Limits.submission_mb
) -> tuple[list[Collected], list[str]]:
    """Put each student's notebook, and the files that belong to it, into ``course``; return ``(collected, left)``.

    An entry ``ADA/anything.ipynb`` or ``ADA_anything.ipynb`` is Ada's; so is what lies in ``ADA.zip`` or
    ``ADA_anything.zip``. Of several notebooks, the one that is named after the assignment counts, or else the only one
    that holds its exercises. ``left`` lists the entries that were not taken; what systems and Jupyter leave beside files
    is not among them.

    Raises
    ------
    CourseError
        If there is no such assignment, the archive itself cannot be read, or nothing can be written.
    """
    questions = course.released(topic).exercises
    beside = frozenset(exercise.trained.file for exercise in questions if exercise.trained)
    wanted = _Wanted(topic, frozenset(exercise.name for exercise in questions), beside, max_mb)
    try:
        _refuse_links(course, course.root / "submitted")
    except _Refused as refusal:
        raise CourseError(str(refusal), str(course.root), "take it away, and run the command again.") from None
    try:
        bundle = zipfile.ZipFile(archive)
    except FileNotFoundError:
        raise CourseError("there is no such archive", str(archive), "name the file that you downloaded.") from None
    except BROKEN as error:
        raise CourseError(
            f"this is no zip archive that can be read ({error})", str(archive), "download it again."
        ) from None
    with bundle:
        if len(bundle.infolist()) > MOST_ENTRIES:
            raise CourseError(
                f"it has more than {MOST_ENTRIES} entries", str(archive), "download the submissions of one assignment."
            )
        parts, left = _parts(bundle, wanted)
        alike, here, collected = defaultdict(list), defaultdict(set), []
        for part in parts:
            alike[_key(part.owner[0])].append(part)
        for folder in course.root.glob("submitted/*"):
            here[_key(folder.name)].add(folder.name)
        for key in sorted(alike):
            done, unused = _take(course, wanted, alike[key], here[key])
            collected += done
            left += unused
    return collected, left


def is_notebook(name: str) -> bool:
    """Return whether an entry called ``name`` is a notebook, or may hold one."""
    return name.casefold().endswith((".ipynb", ".zip"))


def printable(name: str) -> str:
    """Return ``name`` without what would steer a terminal or turn the direction of reading."""
    return "".join(sign if sign.isprintable() else f"\\u{ord(sign):04x}" for sign in name)


# --- what lies in an archive, and whose it is ------------------------------------------------------------------------


def _parts(bundle, wanted, within=None):
    """Return ``([part], [name of an entry that belongs to nobody])``. What lies ``within`` a part has its owner."""
    parts, left = [], []
    for entry in bundle.infolist():
        name = _name(entry)
        if entry.is_dir() or _is_debris(name):
            continue
        owner = within.owner if within else _owner(name, wanted)
        full = f"{within.name}/{name}" if within else name
        if owner and (is_notebook(name) or any(_is_called(file, name) for file in wanted.beside)):
            parts.append(_Part(full, entry.date_time, owner, _reader(bundle, entry, wanted.max_mb)))
        else:
            left.append(full)
    return parts, left


def _reader(bundle, entry, max_mb):
    return lambda: _read(bundle, entry, max_mb)


def _read(bundle, entry, max_mb):
    """Return the bytes of ``entry``; never more than allowed, whatever its header says."""
    name = entry.filename.replace("\\", "/")
    if name.startswith("/") or re.match(r"[A-Za-z]:", name) or ".." in PurePosixPath(name).parts:
        raise _Refused("a name in the archive leads out of its folder")
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if kind not in (0, stat.S_IFREG):
        raise _Refused("there is a link or a device in the archive, where a file should be")
    if entry.flag_bits & 0x1:
        raise _Refused("the archive is encrypted")
    try:
        with bundle.open(entry) as file:
            content = file.read(max_mb * 2**20 + 1)
    except BROKEN:
        raise _Refused("the archive is damaged") from None
    if len(content) > max_mb * 2**20:
        raise _Refused(f"a file in the archive has more than {max_mb} MB when it is unpacked")
    return content


def _name(entry):
    """Return the name of ``entry``. Macs write UTF-8 and do not say so: ``zipfile`` reads it as the PC's first code page."""
    name = entry.filename
    if not entry.flag_bits & 0x800:
        with contextlib.suppress(UnicodeError):
            name = name.encode("cp437").decode("utf-8")
    return name.replace("\\", "/")


def _is_debris(name):
    """Return whether ``name`` is what a Mac or Windows leaves beside files, never what somebody wrote."""
    path = PurePosixPath(name)
    known = path.name.casefold() in (".ds_store", "thumbs.db", "desktop.ini")
    return known or "__MACOSX" in path.parts or path.name.startswith("._")


def _is_checkpoint(part):
    """Return whether ``part`` is the copy that Jupyter keeps of a notebook: an older state, as a rule."""
    return ".ipynb_checkpoints" in PurePosixPath(part.name).parts or part.file.endswith("-checkpoint.ipynb")


def _is_called(file, name):
    return name == file or name.endswith((f"/{file}", f"_{file}"))


def _owner(name, wanted):
    """Return ``(name of the student, the platform's number of the person or "")`` for the name of an entry, or None."""
    first, *below = [part for part in name.split("/") if part not in ("", ".", "..")] or [""]
    named = [_named_after(topic, first) for topic in topics()]
    if not below and (first in wanted.beside or any(match and not match["whose"] for match in named)):
        return None  # all files of the class are called so
    known = MOODLE.fullmatch(first) or (not below and CANVAS.fullmatch(first))
    owner = (known[1], known[2]) if known else (first if below else PurePosixPath(first).stem.partition("_")[0], "")
    return owner if _is_student(owner[0]) else None


def _is_student(name):
    """Return whether ``name`` can be that of a student, of a folder and of a file: no path, nothing that is not seen."""
    name = unicodedata.normalize("NFC", name)
    seen = [unicodedata.category(sign)[0] in "LMN" or sign in SIGNS for sign in name]
    return bool(
        0 < len(name.encode("utf-8", "replace")) <= NAME_BYTES
        and all(fits or sign in BETWEEN for fits, sign in zip(seen, name, strict=True))
        and (unicodedata.category(name[0])[0] in "LN" or name[0] in "@+-")
        and seen[-1]
    )


def _key(name):
    """Return what two names have in common that a file system may take for one."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def _named_after(topic, file):
    """Return a match if ``file`` is the notebook of ``topic`` by its name, also as platforms and browsers rename it."""
    renamed = r"(?:[-_ ]?\d{1,3}| ?\(\d{1,3}\))?"
    return re.fullmatch(rf"(?P<whose>.*_)?{re.escape(topic)}{renamed}\.ipynb", _key(file))


# --- one student -----------------------------------------------------------------------------------------------------


def _take(course, wanted, parts, here):
    """Return ``([Collected], [name of a file not taken])`` for parts under one name, in any spelling.

    ``here`` holds the spellings that stand in ``submitted`` already.
    """
    owners = {part.owner: part.name for part in parts}
    students = [unicodedata.normalize("NFC", name) for name, _ in owners]
    student = students[0]
    if len(owners) > 1:
        problem = (
            f"{' and '.join(map(printable, owners.values()))} would be one student here; rename them in the archive"
        )
        return [Collected(student, problem) for student in students], []
    if here - {student}:
        other = printable(min(here - {student}))
        problem = f"submitted/{other} is there already, a name that is too much alike: is it the same person?"
        return [Collected(student, problem)], []
    try:
        files, left = _chosen(wanted, parts)
        return [Collected(student, replaced=_put(course, wanted.topic, student, files))], left
    except _Refused as refusal:
        _tell(course, wanted.topic, student, str(refusal))
        return [Collected(student, str(refusal))], []


def _chosen(wanted, parts):
    """Return ``({file name: bytes}, [name of a file not taken])`` of one student."""
    files, left = [], []
    for part in parts:
        if part.file.casefold().endswith(".zip"):
            inside, others = _unpacked(part, wanted)
            files += inside
            left += others
        else:
            files.append(part)
    files = [part for part in files if not _is_checkpoint(part)]
    notebooks = [part for part in files if part.file.casefold().endswith(".ipynb")]
    if not notebooks:
        raise _Refused("no notebook was in it")
    named = [part for part in notebooks if _named_after(wanted.topic, part.file)]
    counting = {f"{wanted.topic}.ipynb": _that_counts(named or notebooks, wanted.exercises)}
    for file in wanted.beside:
        if fitting := [part for part in files if _is_called(file, part.name)]:
            counting[file] = _that_counts(fitting)
    taken = [part for same, _ in counting.values() for part in same]
    left += [part.name for part in files if part not in taken]
    return {file: content for file, (_, content) in counting.items()}, left


def _unpacked(part, wanted):
    """Return the parts that lie in ``part``, an archive of one student, and the names of other files there."""
    try:
        inner = zipfile.ZipFile(io.BytesIO(part.read()))
    except BROKEN:
        raise _Refused("the archive is damaged") from None
    if len(inner.infolist()) > MOST_IN_ONE:
        raise _Refused(f"the archive has more than {MOST_IN_ONE} entries")
    return _parts(inner, wanted, within=part)


def _that_counts(parts, exercises=None):
    """Return ``([the one of parts that counts, and its copies], its bytes)``; of several, one with ``exercises`` in it.

    The date decides only between entries of one and the same name: there the platform has replaced the first.
    """
    if len(parts) > MOST_CANDIDATES:
        raise _Refused(f"which of {len(parts)} files counts cannot be told")
    newest = {part.name: part for part in sorted(parts, key=lambda part: part.date)}
    found = {}
    for part in newest.values():
        content = part.read()
        fits = len(newest) == 1 or exercises is None or _holds(content, exercises)
        found.setdefault((fits, hashlib.sha256(content).digest()), ([], content))[0].append(part)
    fitting = [one for (fits, _), one in found.items() if fits]
    if len(fitting) == 1:
        return fitting[0]
    names = ", ".join(sorted(printable(part.name) for same, _ in fitting or found.values() for part in same))
    what = "several hold this assignment" if fitting else "none of them holds this assignment"
    raise _Refused(f"which of its files counts cannot be told, {what}: {names}")


def _holds(content, exercises):
    """Return whether ``content`` is a notebook with one of ``exercises`` in it."""
    try:
        metas = [cell["metadata"].get("nbgrader") for cell in json.loads(content)["cells"]]
        return any(isinstance(meta, dict) and meta.get("grade_id") in exercises for meta in metas)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return False


# --- writing ---------------------------------------------------------------------------------------------------------


def _put(course, topic, student, files):
    """Write ``files`` into the student's folder; keep the notebook that was there. Return whether there was another."""
    notebook, replaced = course.submission(student, topic), False
    for file in sorted(files, key=lambda file: file == notebook.name):  # the notebook last
        place = notebook.with_name(file)
        with _writing(course, place):
            before = place.read_bytes() if place.exists() else None
            if before == files[file]:
                continue
        if before is not None and place == notebook:
            replaced = True
            kept = course.root / ".autograder" / "earlier" / student / topic / f"{time.time_ns()}.ipynb"
            with _writing(course, kept):
                write_bytes(before, kept)
        with _writing(course, place):
            write_bytes(files[file], place)
    return replaced


def _tell(course, topic, student, problem):
    """Ask ``student`` to hand in again, on the feedback page."""
    page = course.feedback(student, topic)
    message = f"{problem}\n  Remedy: hand in {topic}.ipynb itself, not a folder, a link or an archive in an archive."
    with contextlib.suppress(_Refused), _writing(course, page):  # whoever collects reads the problem all the same
        course.say_set_aside(student, topic, message)


@contextlib.contextmanager
def _writing(course, path):
    """Refuse what stands in the way of ``path``; a disk that takes nothing ends the command, with words."""
    _refuse_links(course, path)
    _refuse_links(course, path.with_name(path.name + ".draft"))
    try:
        yield
    except IN_THE_WAY as error:
        raise _Refused(f"{error.filename} is in the way of {path.relative_to(course.root)}; take it away") from None
    except OSError as error:
        remedy = "make room there, or see that you may write there, and run the command again: it goes on."
        raise CourseError(f"it cannot be written ({error.strerror})", str(path), remedy) from None


def _refuse_links(course, path):
    """Refuse ``path`` if it, or a folder above it in the course, is a link."""
    for place in (path, *path.parents):
        if place == course.root:
            return
        if place.is_symlink():
            name = place.relative_to(course.root)
            raise _Refused(f"{name} is a link, and nothing is written through one; take it away")
