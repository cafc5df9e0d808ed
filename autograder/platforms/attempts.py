"""The attempts collected from each student, and the files of earlier ones.

In: a course, a student. Out: ``Attempt`` objects, the last of which counts; file contents by name. Adds events to the course's
record, and writes files into the course directory, never through a link.
"""

import contextlib
import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import timedelta
from functools import cmp_to_key
from pathlib import Path, PurePosixPath

from autograder.courses.course import SECRET, TIMESTAMP, Course
from autograder.courses.plan import Assignment
from autograder.courses.submissions import list_submitters
from autograder.errors import CourseError
from autograder.files import write_bytes, write_text
from autograder.platforms.archives import RefusedEntry
from autograder.platforms.times import format_time, parse_time

TELLS_LATE = ("Canvas", "ILIAS")  # platforms that mark what is late, without saying when it arrived
MAX_EARLY = timedelta(minutes=10)  # between the time that a hand-in claims and the time when `watch` saw it


@dataclass(frozen=True)
class Attempt:
    """One attempt of a student: a hash of each file by name, and what is known about its arrival.

    ``time`` is when it arrived according to the platform, in UTC; ``moment`` is its date in the archive; ``order`` grows with
    each attempt on platforms that number them. ``prefix`` is what the platform wrote in front of the file's name. ``secret``
    is the exchange's name for the submission, which feedback needs; it changes every time, so it is not one of the ``files``.
    ``seen`` is when `watch` saw it, in UTC.
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
    seen: str = ""

    @property
    def early_claim(self) -> str:
        """A sentence if ``time`` is more than ``MAX_EARLY`` before the attempt was seen; "" otherwise."""
        claimed, seen = map(parse_time, (self.time, self.seen))
        if not claimed or not seen or seen - claimed <= MAX_EARLY:
            return ""
        return f"It claims to have been handed in on {self.time}, but `watch` saw it on {self.seen}."

    @property
    def is_late_without_time(self) -> bool:
        """Whether the platform marked it as late without saying when it arrived."""
        return self.late and not self.time

    @property
    def has_unknown_time(self) -> bool:
        """Whether the platform said neither when it arrived nor whether it was late."""
        return not self.time and self.platform not in ("", *TELLS_LATE)

    def is_before(self, other: "Attempt") -> bool:
        """Return whether this came before ``other``, as far as that is known."""
        if self.order and other.order and self.order != other.order:
            return self.order < other.order
        if self.time and other.time:
            return self.time < other.time
        return bool(self.moment and other.moment) and self.moment < other.moment  # both by the platform's own clock


# Kinds of events: an attempt that counts now; an earlier one; files that somebody put there; an attempt whose time was stated
# later. A collection is an event of its own, without a student; what it added has its number.
RECEIVED, KEPT, FOUND, TIMED, UNDONE = "received", "kept", "found", "timed", "undone"
COLLECTION = "collection"
KINDS = (RECEIVED, KEPT, FOUND, TIMED, UNDONE)


class Collection:
    """One collection of ``topic``, which ``undo`` takes back as a whole: of several archives perhaps, or of a round of `watch`."""

    def __init__(self, course: Course, topic: str):
        self.course, self.topic, self.number = course, topic, 0

    def begin(self) -> int:
        """Return the number of this collection, recorded before what it takes; none before it can be undone any more."""
        self.number = self.number or self.course.record.add(self.topic, "", (COLLECTION, {}))
        return self.number

    def add(self, student: str, kind: str, attempt: Attempt) -> None:
        """Record ``attempt`` of ``student`` as part of this collection."""
        self.course.record.add(self.topic, student, (kind, {"collection": self.begin(), **asdict(attempt)}))


def record_found(course: Course, topic: str, student: str, attempt: Attempt) -> None:
    """Record the files of ``attempt`` that somebody put into the student's folder."""
    course.record.add(topic, student, (FOUND, asdict(attempt)))


def undo_of(course: Course, topic: str) -> tuple[int, dict[str, list[Attempt]]]:
    """Return the number of the last collection of ``topic``, and the attempts before it of those for whom it is not undone."""
    last = course.record.last_of_each(topic, "", (COLLECTION,))
    number, by_student = last[COLLECTION].number if last else 0, defaultdict(list)
    for event in course.record.events(topic, None, KINDS):
        by_student[event.student].append(event)
    before = {student: _attempts_before(events, number) for student, events in by_student.items()}
    return number, {student: known for student, known in sorted(before.items()) if known is not None}


def record_undone(course: Course, topic: str, student: str, number: int) -> None:
    """Record that the collection ``number`` of ``topic`` was undone for ``student``."""
    course.record.add(topic, student, (UNDONE, {"collection": number}))


def _attempts_before(events, number):
    """Return the attempts before the first event of the collection ``number``; None if it has none, or was undone."""
    mine = [place for place, event in enumerate(events) if event.data.get("collection") == number]
    return None if not mine or events[mine[-1]].kind == UNDONE else _replay(events[: mine[0]])


def _replay(events):
    """Return the attempts that ``events`` of one student leave, in order; the last one counts."""
    known: list[Attempt] = []
    kept: list[Attempt] = []  # since an event of another kind: sorted together, because there may be thousands
    before = {}  # number of a collection -> ``known``, ``kept`` and how many these were, before its first event
    for event in events:
        number = event.data.get("collection")
        if event.kind == UNDONE:
            known, kept, count = before[number]
            known, kept = _sort_in(known, kept[:count]), []
            continue
        before.setdefault(number, (known, kept, len(kept)))
        if event.kind == KEPT and known:
            kept.append(_read_attempt(event))
            continue
        known, kept = _sort_in(known, kept), []
        attempt = _read_attempt(event)
        if event.kind == FOUND:
            known = [*(old for old in known if old.files != attempt.files), attempt]
        else:
            is_same = bool(known) and known[-1].files == attempt.files
            known = [*(known[:-1] if is_same else known), attempt]
    return _sort_in(known, kept)


def _read_attempt(event):
    return Attempt(**{name: value for name, value in event.data.items() if name != "collection"})


def _sort_in(known, kept):
    """Return the attempts ``known`` with those ``kept`` sorted into them, before the last, which counts."""
    if not kept:
        return known
    head = sorted([*known[:-1], *kept], key=cmp_to_key(lambda a, b: b.is_before(a) - a.is_before(b)))
    return [*head, *known[-1:]]


def earlier_attempts(course: Course, student: str, topic: str) -> Iterator[tuple[Attempt, dict[str, bytes]]]:
    """Yield the earlier attempts of ``student``, the latest first, each with its files by name."""
    for attempt in reversed(load_attempts(course, student, topic)[:-1]):
        with contextlib.suppress(RefusedEntry):  # it was deleted
            yield attempt, load_files(course, student, topic, attempt)


def load_files(course: Course, student: str, topic: str, attempt: Attempt) -> dict[str, bytes]:
    """Return the files of ``attempt`` by name: the copies that were kept, or those still in the student's folder."""
    contents = {}
    for name, digest in attempt.files.items():
        kept = _copy_path(course, student, topic, name, digest)
        for path in (kept, course.submission(student, topic).with_name(name)):
            with contextlib.suppress(OSError):  # the student's own file may be a link, or unreadable
                if path.is_file() and not path.is_symlink() and _hash(content := path.read_bytes()) == digest:
                    contents[name] = content
                    break
        else:
            raise RefusedEntry(f"{kept.relative_to(course.root)} is gone, so it cannot be restored")
    return contents


def _hash(content):
    return hashlib.sha256(content).hexdigest()


def _copy_path(course, student, topic, name, digest):
    return course.root / ".autograder" / "earlier" / student / topic / f"{digest[:32]}{PurePosixPath(name).suffix}"


def load_attempts(course: Course, student: str, topic: str) -> list[Attempt]:
    """Return all attempts of ``student``; the last one counts."""
    return _replay(course.record.events(topic, student, KINDS))


def read_current_attempt(course: Course, notebook: Path, names: Iterable[str]) -> Attempt | None:
    """Return the files called ``names`` beside ``notebook`` as an ``Attempt``; None if there is no notebook."""
    with write_guard(course, notebook):
        if not notebook.exists():
            return None
        names = sorted(name for name in names if notebook.with_name(name).exists())
        hashes = {name: _hash(notebook.with_name(name).read_bytes()) for name in names}
    stamp = notebook.with_name(TIMESTAMP)
    when = parse_time(stamp.read_bytes()) if stamp.is_file() and not stamp.is_symlink() else None
    return Attempt(hashes, time=format_time(when))


def read_current_files(course: Course, notebook: Path, attempt: Attempt) -> dict[str, bytes]:
    """Return the files of ``attempt`` that exist beside ``notebook``, by name."""
    contents = {}
    for name in attempt.files:
        place = notebook.with_name(name)
        with write_guard(course, place):
            if place.exists():
                contents[name] = place.read_bytes()
    return contents


def keep_files(course: Course, student: str, topic: str, files: Mapping[str, bytes]) -> None:
    """Keep ``files`` as those of an earlier attempt, each under its hash, so that equal files are stored once."""
    for name, content in files.items():
        place = _copy_path(course, student, topic, name, _hash(content))
        with write_guard(course, place):
            if not place.exists():
                write_bytes(content, place)


def write_files(course: Course, notebook: Path, files: Mapping[str, bytes]) -> None:
    """Write ``files`` into the folder of ``notebook``, the notebook last; if it cannot be written, leave no other file."""
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


def write_exchange_files(course: Course, topic: str, assignment: Assignment, student: str, attempt: Attempt) -> None:
    """Write ``timestamp.txt`` and the secret of nbgrader's exchange; delete an earlier attempt's if this one has none."""
    for name, text in ((TIMESTAMP, format_timestamp(assignment, student, attempt)), (SECRET, attempt.secret)):
        place = course.submission(student, topic).with_name(name)
        with write_guard(course, place):
            if text and not (place.is_file() and place.read_text(encoding="utf-8", errors="replace") == text):
                write_text(text, place)
            elif not text:
                place.unlink(missing_ok=True)


def format_timestamp(assignment: Assignment, student: str, attempt: Attempt) -> str:
    """Return the text of ``timestamp.txt``: one second after the due date if the attempt is only known to be late."""
    due = assignment.due_for(student)
    return format_time(due + timedelta(seconds=1)) if attempt.is_late_without_time and due else attempt.time


def find_collected_attempt(course: Course, student: str, topic: str, content: bytes) -> Attempt | None:
    """Return the attempt that counts if its notebook is ``content`` and was collected; None if it came another way."""
    for attempt in load_attempts(course, student, topic)[-1:]:
        if attempt.platform and attempt.files.get(f"{topic}.ipynb") == _hash(content):
            return attempt
    return None


def find_late_without_time(course: Course, topic: str) -> list[str]:
    """Return the students whose current attempt was late according to its platform, by an unknown amount."""
    return _select_by_attempt(course, topic, lambda attempt: attempt.is_late_without_time)


def find_without_time(course: Course, topic: str) -> list[str]:
    """Return the students whose current attempt has no time, although a late one would cost points.

    Where the platform itself marks late work, its mark replaces the time.
    """
    plan = course.plan()
    if not (plan.assignment(topic).due and plan.late.percent_a_day):
        return []
    return _select_by_attempt(course, topic, lambda attempt: attempt.has_unknown_time)


def _select_by_attempt(course, topic, is_meant):
    """Return the students for whose current attempt ``is_meant`` is true."""
    last = {student: load_attempts(course, student, topic)[-1:] for student in list_submitters(course, topic)}
    return [student for student, attempts in last.items() if any(map(is_meant, attempts))]


@contextlib.contextmanager
def write_guard(course: Course, path: Path) -> Iterator[None]:
    """Raise ``RefusedEntry`` if something is in the way of ``path``, ``CourseError`` if the disk refuses to write it."""
    refuse_links(course, path)
    refuse_links(course, path.with_name(path.name + ".draft"))
    try:
        yield
    except (FileExistsError, NotADirectoryError, IsADirectoryError) as error:
        raise RefusedEntry(f"{error.filename} is in the way of {path.relative_to(course.root)}; remove it") from None
    except OSError as error:
        remedy = (
            "free some disk space there, or make it writable, and run the command again: it picks up where it stopped."
        )
        raise CourseError(f"it cannot be written ({error.strerror})", str(path), remedy) from None


def refuse_links(course: Course, path: Path) -> None:
    """Raise ``RefusedEntry`` if ``path``, or a folder above it in the course, is a link."""
    for place in (path, *path.parents):
        if place == course.root:
            return
        if place.is_symlink():
            where = place.relative_to(course.root)
            raise RefusedEntry(f"{where} is a link, and nothing is written through links; remove it")
