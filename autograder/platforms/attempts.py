"""What was collected of each student, attempt after attempt: the record of it, and the files of the earlier ones.

In: a course, a student. Out: ``Attempt`` objects, the last of which counts; bytes by name. Writes them into the course directory,
never through a link.
"""

import contextlib
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path, PurePosixPath

import msgspec

from autograder.courses.course import SECRET, TIMESTAMP, Course
from autograder.courses.plan import Assignment
from autograder.errors import CourseError
from autograder.files import as_json, write_bytes, write_text
from autograder.platforms.archives import RefusedEntry
from autograder.platforms.timestamps import as_nbgrader_writes, stated_time


@dataclass(frozen=True)
class Attempt:
    """Something that a student has handed in: a hash of each file, by its name, and what is known of when.

    ``time`` is when it came, in UTC, as the platform says; ``moment`` the date that the archive has for it; ``order`` grows
    with each try on a platform that numbers them. ``platform`` and ``prefix`` are what it was called there. ``secret`` is
    the exchange's own name for a hand-in, which feedback needs. It changes each time, so it is not one of the ``files``.
    """

    files: dict[str, str]
    time: str = ""
    moment: str = ""
    order: int = 0
    late: bool = False
    platform: str = ""
    prefix: str = ""
    number: str = ""
    file: str = ""
    secret: str = ""

    @property
    def is_late_without_time(self) -> bool:
        """Whether the platform said that it was late, and not when it came."""
        return self.late and not self.time

    def is_before(self, other: "Attempt") -> bool:
        """Return whether this came before ``other``, as far as that is known."""
        if self.order and other.order and self.order != other.order:
            return self.order < other.order
        if self.time and other.time:
            return self.time < other.time
        return bool(self.moment and other.moment) and self.moment < other.moment  # of the platform's own clock


class Journal:
    """What each student had before the last collection of ``topic`` changed it, for ``undo``.

    The first change of a collection begins the journal anew. One collection may take several archives.
    """

    def __init__(self, course: Course, topic: str):
        self.folder, self.begun = course.root / ".autograder" / "undo" / topic, False

    def remember(self, course: Course, student: str, known: list["Attempt"]) -> None:
        """Keep what was collected of ``student`` until now, unless this collection has done so already."""
        place = self.folder / f"{student}.json"
        if not self.begun:
            for path in self.folder.glob("*.json"):
                with write_guard(course, path):
                    path.unlink()
        self.begun = True
        if not place.exists():
            write_attempts(course, place, known)


def earlier_attempts(course: Course, student: str, topic: str) -> Iterator[tuple[Attempt, dict[str, bytes]]]:
    """Yield what was collected of ``student`` before what stands now, the last first: each with its files, by name."""
    for one in reversed(tries(course, student, topic)[:-1]):
        with contextlib.suppress(RefusedEntry):  # it was deleted
            yield one, kept_files(course, student, topic, one)


def kept_files(course: Course, student: str, topic: str, one: Attempt) -> dict[str, bytes]:
    """Return the files of ``one`` as they were kept, or as they stand in the student's folder still, by name."""
    found = {}
    for name, digest in one.files.items():
        kept = _kept(course, student, topic, name, digest)
        for path in (kept, course.submission(student, topic).with_name(name)):
            with contextlib.suppress(OSError):  # the student's own may be a link, or not to be read
                if path.is_file() and not path.is_symlink() and _hash(content := path.read_bytes()) == digest:
                    found[name] = content
                    break
        else:
            raise RefusedEntry(f"{kept.relative_to(course.root)} is gone, so it cannot be taken back")
    return found


def _hash(content):
    return hashlib.sha256(content).hexdigest()


def _kept(course, student, topic, name, digest):
    return course.root / ".autograder" / "earlier" / student / topic / f"{digest[:32]}{PurePosixPath(name).suffix}"


def tries(course: Course, student: str, topic: str) -> list[Attempt]:
    """Return all that was collected of ``student``; the last one counts."""
    return read_attempts(course.collected(student, topic))


def read_attempts(place: Path) -> list[Attempt]:
    """Return the tries that ``write_attempts`` wrote; none where that file cannot be read as such."""
    try:
        return msgspec.json.decode(place.read_bytes(), type=dict[str, list[Attempt]])["tries"]
    except (OSError, msgspec.DecodeError, KeyError):
        return []


def present_files(course: Course, notebook: Path, names: Iterable[str]) -> Attempt | None:
    """Return the files called ``names`` in the student's folder as an ``Attempt``; None if there is no notebook."""
    with write_guard(course, notebook):
        if not notebook.exists():
            return None
        names = sorted(name for name in names if notebook.with_name(name).exists())
        hashes = {name: _hash(notebook.with_name(name).read_bytes()) for name in names}
    stamp = notebook.with_name(TIMESTAMP)
    when = stated_time(stamp.read_bytes()) if stamp.is_file() and not stamp.is_symlink() else None
    return Attempt(hashes, time=as_nbgrader_writes(when))


def contents_of(course: Course, notebook: Path, one: Attempt) -> dict[str, bytes]:
    """Return the files of ``one`` that stand beside ``notebook``, by name."""
    found = {}
    for name in one.files:
        place = notebook.with_name(name)
        with write_guard(course, place):
            if place.exists():
                found[name] = place.read_bytes()
    return found


def keep_files(course: Course, student: str, topic: str, files: Mapping[str, bytes]) -> None:
    """Keep ``files`` as an earlier try, each under a hash of it: two that are the same are one."""
    for name, content in files.items():
        place = _kept(course, student, topic, name, _hash(content))
        with write_guard(course, place):
            if not place.exists():
                write_bytes(content, place)


def write_attempts(course: Course, place: Path, known: Iterable[Attempt]) -> None:
    """Remember at ``place`` all that was collected of a student."""
    with write_guard(course, place):
        write_text(as_json({"tries": [asdict(one) for one in known]}), place)


def put_files(course: Course, notebook: Path, files: Mapping[str, bytes]) -> None:
    """Write ``files`` into the folder of ``notebook``, the notebook last; without it, no other stays there either."""
    try:
        for file in sorted(files, key=lambda file: file == notebook.name):
            target = notebook.with_name(file)
            with write_guard(course, target):
                if not target.exists() or target.read_bytes() != files[file]:
                    write_bytes(files[file], target)
    except CourseError:
        if not notebook.exists():
            for file in files:
                with contextlib.suppress(OSError):
                    notebook.with_name(file).unlink()
        raise


def put_beside(course: Course, topic: str, assignment: Assignment, student: str, one: Attempt) -> None:
    """Write into ``timestamp.txt`` when it came, or that it was late, and beside it the secret of nbgrader's exchange.

    What an earlier try has left there is taken away.
    """
    for name, text in ((TIMESTAMP, format_timestamp(assignment, student, one)), (SECRET, one.secret)):
        place = course.submission(student, topic).with_name(name)
        with write_guard(course, place):
            if text and not (place.is_file() and place.read_text(encoding="utf-8", errors="replace") == text):
                write_text(text, place)
            elif not text:
                place.unlink(missing_ok=True)


def format_timestamp(assignment: Assignment, student: str, one: Attempt) -> str:
    """Return what ``timestamp.txt`` says of ``one``: the second after the due date where it is only known to be late."""
    if not one.is_late_without_time or not assignment.due:
        return one.time
    until = assignment.extensions.get(student, assignment.due)
    return as_nbgrader_writes(max(until, assignment.due) + timedelta(seconds=1))


def collected_attempt(course: Course, student: str, topic: str, content: bytes) -> Attempt | None:
    """Return what is known of the notebook ``content`` if it was collected and counts; None if it came another way."""
    last = tries(course, student, topic)[-1:]
    return next((one for one in last if one.platform and one.files.get(f"{topic}.ipynb") == _hash(content)), None)


def find_late_without_time(course: Course, topic: str) -> list[str]:
    """Return the students whose work that counts was late, as its platform says, and nobody knows by how much."""
    last = {student: tries(course, student, topic)[-1:] for student in course.students(topic)}
    return [student for student, found in last.items() if any(one.is_late_without_time for one in found)]


@contextlib.contextmanager
def write_guard(course: Course, path: Path) -> Iterator[None]:
    """Raise ``RefusedEntry`` if ``path`` cannot be written where it is, and ``CourseError`` if the disk refuses."""
    refuse_links(course, path)
    refuse_links(course, path.with_name(path.name + ".draft"))
    try:
        yield
    except (FileExistsError, NotADirectoryError, IsADirectoryError) as error:
        raise RefusedEntry(f"{error.filename} is in the way of {path.relative_to(course.root)}; take it away") from None
    except OSError as error:
        remedy = "make room there, or see that you may write there, and run the command again: it goes on."
        raise CourseError(f"it cannot be written ({error.strerror})", str(path), remedy) from None


def refuse_links(course: Course, path: Path) -> None:
    """Refuse ``path`` if it, or a folder above it in the course, is a link."""
    for place in (path, *path.parents):
        if place == course.root:
            return
        if place.is_symlink():
            where = place.relative_to(course.root)
            raise RefusedEntry(f"{where} is a link, and nothing is written through one; take it away")
