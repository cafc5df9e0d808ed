"""Erase what a course has of one student, so that everything works as if the student had never been there.

In: a course, a student's id. Out: what there is, what was erased, and where the student is still mentioned. Erases files of the
course directory and of nbgrader's exchange, rows of the gradebook and events of the record. The record says where the rest is, so
its events go last, and a process that is killed can be repeated.
"""

import contextlib
import itertools
import json
import os
import re
import shutil
import sqlite3
import unicodedata
import zipfile
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

import msgspec

from autograder.courses.course import SECRET, Course
from autograder.courses.locking import quiet_lock
from autograder.courses.plan import PERSONAL_COLUMNS, PLAN_FILE, Student, fold_name, is_student_id, parse_plan
from autograder.courses.record import Event
from autograder.courses.standing import GRADED
from autograder.errors import CourseError
from autograder.gradebook.provenance import MarkingRecord, change_marking_record, load_marking_record
from autograder.gradebook.students import count_rows, erase_students, list_students
from autograder.platforms.archives import ARCHIVE_ERRORS, RefusedEntry, open_archive
from autograder.platforms.collect import MAX_ENTRIES_OF_ONE, decode_secret, escape_unprintable
from autograder.platforms.formats import NBGRADER_EXCHANGE, exchange_topic
from autograder.watch.arrivals import ARRIVED, SERVED, Arrivals
from autograder.watch.outcomes import NOBODYS
from autograder.with_nbgrader.exchange import ExchangeFolders, exchange_root
from solutions.answer_key import topics

FOLDERS = (
    "submitted",
    "autograded",
    "feedback",
    ".autograder/earlier",
    ".autograder/set_aside/*",
)  # of students' folders
WITHOUT_STUDENTS = "source", "release", "marking", ".autograder/released"  # folders in which no student is named
DATABASES = "gradebook.db", ".autograder/record.db"
SQLITE_HEADER = b"SQLite format 3\0"
FINGERPRINT = re.compile(r"\b[0-9a-f]{64}\b")


@dataclass(frozen=True)
class Traces:
    """What a course has of one student, who is called ``names`` there, and ``words`` in text.

    ``folders`` are the student's own; ``marking`` has the records of who marks, as ``(topic, exercise)``; ``rows`` counts those
    of the gradebook; ``events`` are numbers. ``hand_ins`` and ``pages`` are in the exchange. ``claimed`` are hand-ins in the
    student's name that `watch` or `collect` may find again.
    """

    names: frozenset[str] = frozenset()
    words: tuple[str, ...] = ()
    folders: tuple[Path, ...] = ()
    verdicts: tuple[Path, ...] = ()
    marking: tuple[tuple[str, str], ...] = ()
    drafts: tuple[Path, ...] = ()
    rows: int = 0
    events: tuple[int, ...] = ()
    hand_ins: tuple[Path, ...] = ()
    pages: tuple[Path, ...] = ()
    claimed: tuple[Path, ...] = ()
    others: tuple[Event, ...] = ()  # events of other students that mention this one
    lines: tuple[str, ...] = ()  # what there is to erase, and where

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to erase, except verdicts that belong to nobody any more."""
        return not (self.folders or self.marking or self.rows or self.events or self.hand_ins or self.pages)


def find_traces(course: Course, student: str) -> Traces:
    """Return what ``course`` has of ``student``; write nothing.

    Raises ``CourseError`` if ``student`` cannot be the name of a folder, or nobody is called so.
    """
    traces, listed = _find_traces(course, student)
    if traces.is_empty and not listed:
        raise _refuse_unknown(course, student)
    return traces


def erase(course: Course, student: str) -> Traces:
    """Erase what ``course`` has of ``student``, and return what that was.

    Raises ``CourseError`` as ``find_traces`` does, if another command is writing to the course or `watch` runs, or if something
    cannot be erased: then calling it again goes on.
    """
    _require_folder_name(student)
    with quiet_lock(course):
        traces, listed = _find_traces(course, student)
        for path in (*traces.pages, *traces.hand_ins):
            _remove(path)
        for topic, exercise in traces.marking:
            with change_marking_record(course, topic, exercise) as record:
                _leave_out(record, traces.names)
        for path in (*traces.drafts, *traces.verdicts, *traces.folders):
            _remove(path)
        erase_students(course, sorted(traces.names))
        course.record.erase(traces.events)  # even of none: a process that was killed may have left bytes in the file
    if traces.is_empty and not listed:
        raise _refuse_unknown(course, student)
    return traces


def find_mentions(course: Course, traces: Traces, erased: bool) -> list[str]:
    """Return where the student is still mentioned, or will be unless it was ``erased``: each place with its line or number."""
    places = [
        f"{_shorten(course, path)}: `watch` and `collect` would take this hand-in again" for path in traces.claimed
    ]
    for event in traces.others:
        whose = f"of {escape_unprintable(event.student)}" if event.student else "of no student"
        places.append(f".autograder/record.db, event {event.number}, {whose}: {event.kind}")
    leaving = {*traces.folders, *traces.verdicts, *traces.drafts}
    leaving |= {_marking_file(course, *about) for about in traces.marking}
    leaving |= {course.root / name for name in DATABASES} if not erased else {course.record.path}
    for path in _list_files(course, leaving):
        places += _find_words(course, path, traces.words)
    return places


# --- what there is -----------------------------------------------------------------------------------------------------


def _find_traces(course, student):
    """Return ``(Traces, whether the roster lists the student)``."""
    _require_folder_name(student)
    student = unicodedata.normalize("NFC", student)
    events, listed = course.record.list_all(), [each for each in course.plan().students if each.id == student]
    person = listed[0] if listed else Student(id=student)
    known = (
        {path.name for path in _list_folders(course)} | {event.student for event in events} | {*list_students(course)}
    )
    names = frozenset(name for name in known if unicodedata.normalize("NFC", name) == student)
    words = tuple(sorted(_list_words(person) | names))
    arrivals = _find_arrivals(course, events, names, person)
    numbers = {arrival.number for arrival in arrivals}

    def is_mine(event):
        number = event.number if event.kind == ARRIVED else event.data["arrival"] if event.kind == SERVED else None
        return event.student in names if number is None else number in numbers

    mine, others = [event for event in events if is_mine(event)], [event for event in events if not is_mine(event)]
    folders = [path for path in _list_folders(course) if path.name in names]
    hand_ins, pages, claimed = _find_in_exchange(course, arrivals, mine, folders, person)
    pattern = _pattern(words)
    traces = Traces(
        names=names,
        words=words,
        folders=tuple(folders),
        verdicts=tuple(_find_verdicts(course, others)) if mine or folders else (),
        marking=tuple(_find_marking(course, lambda record: _leave_out(record, names))),
        drafts=tuple(_find_drafts(course, words)),
        rows=count_rows(course, names),
        events=tuple(event.number for event in mine),
        hand_ins=tuple(hand_ins),
        pages=tuple(pages),
        claimed=tuple(claimed),
        others=tuple(event for event in others if event.student in names or pattern.search(_text_of(event))),
    )
    return replace(traces, lines=tuple(_describe(course, traces))), bool(listed)


def _require_folder_name(student):
    if not is_student_id(student):
        remedy = "give the student's id, as in the roster or as the name of a folder in submitted."
        raise CourseError(f"{student!r} cannot be the name of a folder", "STUDENT", remedy)


def _refuse_unknown(course, student):
    """Return an error that says where a student's name is looked for, and who may be meant."""
    plan = course.plan()
    known = {path.name: path.name for path in _list_folders(course)}
    known |= {word: person.id for person in plan.students for word in _list_words(person)}
    meant = next((name for word, name in known.items() if fold_name(word) == fold_name(student)), "")
    where = f"the roster, submitted/, autograded/, feedback/, the gradebook and the record of {course.root}"
    remedy = f"do you mean {meant}?" if meant else "give the id in the roster, or the name of the folder in submitted."
    return CourseError(f"nobody has the id {student!r}", where, remedy)


def _list_folders(course):
    """Return all students' own folders."""
    return [path for folder in FOLDERS for path in sorted(course.root.glob(f"{folder}/*"))]


def _list_words(person):
    """Return what texts may call ``person``."""
    return {word for word in (person.id, person.name, person.email, person.login) if word}


def _find_arrivals(course, events, names, person):
    """Return the hand-ins that `watch` saw of the student: those known to be theirs, or unopened ones in their name."""
    claims = {fold_name(word) for column in (*PERSONAL_COLUMNS, "name") if (word := getattr(person, column))}
    chosen = sorted({event.topic for event in events if event.kind == ARRIVED})
    arrivals = [arrival for topic in chosen for arrival in Arrivals(course, [topic]).list_all(topic)]
    return [each for each in arrivals if each.student in names or (not each.student and each.claimed in claims)]


def _find_verdicts(course, others):
    """Return the stored verdicts that the events ``others`` do not name: whose these are is not known, but nobody else's."""
    kept = {key for event in others for key in FINGERPRINT.findall(_text_of(event))}
    return [path for key, path in course.store.list_files() if key not in kept]


def _find_marking(course, is_in):
    """Yield ``(topic, exercise)`` for each record of who marks that ``is_in``."""
    for path in sorted(course.root.glob(".autograder/marking/*/*.json")):
        about = path.parent.name, path.stem
        if is_in(load_marking_record(course, *about)):
            yield about


def _leave_out(record: MarkingRecord, names: Collection[str]) -> bool:
    """Take the students ``names`` out of ``record``; return whether they were in it."""
    before = msgspec.json.encode(record)
    record.open = {marker: [name for name in page if name not in names] for marker, page in record.open.items()}
    record.undecided = {name: criteria for name, criteria in record.undecided.items() if name not in names}
    return msgspec.json.encode(record) != before


def _marking_file(course, topic, exercise):
    return course.root / ".autograder" / "marking" / topic / f"{exercise}.json"


def _find_drafts(course, words):
    """Return what killed commands have left beside the class's files, if it mentions the student."""
    places = ".autograder/marking/*/*.draft", ".autograder/backups/*.draft*", "gradebook.db.draft*"
    drafts = [path for place in places for path in course.root.glob(place)]
    return [path for path in sorted(drafts) if path.is_file() and _find_words(course, path, words)]


def _find_in_exchange(course, arrivals, events, folders, person):
    """Return ``(hand-ins that the course took, published pages, other hand-ins in the student's name)``.

    Raises ``CourseError`` if the exchange of nbgrader_config.py is not there: nothing else knows what is in it.
    """
    exchange = ExchangeFolders.find(course)
    arrived = [
        (Path(each.source) / each.entry, each.outcome) for each in arrivals if Path(each.entry).name == each.entry
    ]
    if exchange is None:
        if (root := exchange_root(course)) and any(_find_secrets(events, folders, ()).values()):
            remedy = (
                "mount it, or correct c.Exchange.root in nbgrader_config.py; if it is gone for good, remove that line."
            )
            raise CourseError("hand-ins came through this exchange, but it has no folder of this course", root, remedy)
        return [], [], sorted(path for path, _ in arrived if os.path.lexists(path))
    inbound = exchange.inbound.resolve()
    hand_ins = {inbound / path.name for path, how in arrived if how != NOBODYS and path.parent.resolve() == inbound}
    collected = [event.data["file"] for event in events if event.data.get("platform") == NBGRADER_EXCHANGE]
    first = {part for file in collected for part in PurePosixPath(file).parts[:1]}
    hand_ins |= {inbound / name for name in first if exchange_topic(name, topics())}
    claims = {fold_name(word) for column in PERSONAL_COLUMNS if (word := getattr(person, column))}
    here = inbound.iterdir() if inbound.is_dir() else ()
    claimed = {path for path in here if "+" in path.name and fold_name(path.name.partition("+")[0]) in claims}
    claimed |= {path.parent.resolve() / path.name for path, _ in arrived}
    hand_ins = {path for path in hand_ins if os.path.lexists(path)}
    pages = {
        page
        for topic, secrets in _find_secrets(events, folders, hand_ins).items()
        for page in exchange.list_pages(topic, secrets)
    }
    return sorted(hand_ins), sorted(pages), sorted(path for path in claimed - hand_ins if os.path.lexists(path))


def _find_secrets(events, folders, hand_ins):
    """Return by topic the exchange's secrets of the student's hand-ins: recorded, in the course, and in the exchange."""
    secrets = defaultdict(set)
    for event in events:
        secrets[event.topic].add(event.data.get("secret"))
        if event.kind == GRADED:
            secrets[event.topic].add(json.loads(event.data["mark"])[3].get(SECRET))
    places = [(path.name, path) for folder in folders if not folder.is_symlink() for path in folder.glob("*")]
    for topic, path in (*places, *((exchange_topic(path.name, topics()), path) for path in hand_ins)):
        secrets[topic].add(_read_secret(path))
    return {topic: some - {None, ""} for topic, some in secrets.items() if topic}


def _read_secret(folder):
    """Return the exchange's secret in ``folder``, read as `collect` reads it, because a student may have put it there; or ""."""
    if folder.is_symlink() or not folder.is_dir():
        return ""
    with (
        contextlib.suppress(*ARCHIVE_ERRORS, RefusedEntry),
        open_archive(folder, MAX_ENTRIES_OF_ONE, 1, {SECRET}) as entries,
    ):
        return next((decode_secret(entry.read()) for entry in entries if entry.name == SECRET), "")
    return ""


# --- what mentions it ----------------------------------------------------------------------------------------------------


def _list_files(course, leaving) -> Iterator[Path]:
    """Yield the files in which a student may be mentioned, except those in ``leaving`` and below."""
    passed, own = {course.root / name for name in WITHOUT_STUDENTS}, _list_own_files(course)
    yield from (path for path in own if path.is_file())
    linked = [path for path in sorted(course.root.iterdir()) if path.is_symlink() and path.is_dir()]
    for top in (course.root, *linked):
        for folder, below, files in os.walk(top):
            here = Path(folder)
            below[:] = sorted(name for name in below if here / name not in passed and here / name not in leaving)
            for path in (here / name for name in sorted(files)):
                if path not in leaving and path not in own and path.is_file() and not path.is_symlink():
                    yield path


def _list_own_files(course):
    """Return the paths of the files that instructors write: course.toml and the roster."""
    plan = course.root / PLAN_FILE
    roster = parse_plan(plan.read_text(encoding="utf-8-sig"))[1] if plan.is_file() else ""
    return [plan, course.root / roster] if roster else [plan]


def _find_words(course, path, words):
    """Return the places in the file at ``path`` that mention one of ``words``: lines of what instructors write, else the file."""
    pattern, place = _pattern(words), _shorten(course, path)
    spellings = {spelling.encode(errors="surrogateescape") for word in words for spelling in _spell(word)}
    try:
        contents = [path.name.encode(errors="surrogateescape"), path.read_bytes()]
    except OSError as error:
        return [f"{place}, perhaps: it cannot be read ({error.strerror})"]
    unpacked: Iterable[bytes] = ()
    if not any(path.is_relative_to(course.root / top.removesuffix("/*")) for top in FOLDERS):  # no student has made it
        if contents[1].startswith(SQLITE_HEADER):  # where nothing separates a word from the next
            contents[1] = _read_values(contents[1])
        unpacked = _read_archive(path)
    for content in itertools.chain(contents, unpacked):
        if any(spelling in content for spelling in spellings):
            text = content.decode("utf-8", "surrogateescape")
            lines = [number for number, line in enumerate(text.split("\n"), 1) if pattern.search(line)]
            if lines and path in _list_own_files(course):
                return [f"{place}, line {number}" for number in lines]
            if lines:
                return [place]
    return []


def _read_values(content):
    """Return the values in the SQLite database with this ``content``, one a line; the content itself if it is damaged."""
    try:
        with contextlib.closing(sqlite3.connect(":memory:")) as connection:
            connection.deserialize(content)
            connection.text_factory = bytes
            tables = [
                name.decode() for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            ]
            rows = [row for name in tables for row in connection.execute(f'SELECT * FROM "{name}"')]
    except (sqlite3.Error, UnicodeDecodeError):
        return content
    return b"\n".join(value for row in rows for value in row if isinstance(value, bytes))


def _read_archive(path):
    """Yield the content of each file in the archive at ``path``, if it is one."""
    if path.suffix == ".zip":
        with contextlib.suppress(*ARCHIVE_ERRORS), zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                yield archive.read(name)


def _spell(word: str) -> set[str]:
    """Return how ``word`` is written in text, and in JSON that has only ASCII."""
    return {word, json.dumps(word)[1:-1]}


def _pattern(words: Iterable[str]) -> re.Pattern[str]:
    """Return a pattern that matches each of ``words`` where it is no part of a longer word."""
    spellings = sorted({re.escape(spelling) for word in words for spelling in _spell(word)})
    return re.compile(rf"(?<!\w)(?:{'|'.join(spellings)})(?!\w)")


def _text_of(event):
    return json.dumps(event.data, ensure_ascii=False)


# --- erasing and describing ----------------------------------------------------------------------------------------------


def _remove(path: Path) -> None:
    """Delete the file or folder at ``path``; of a link, only the link."""
    try:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    except OSError as error:
        remedy = "delete it as its owner or as root, and run the command again: it picks up where it stopped."
        raise CourseError(f"it cannot be deleted ({error.strerror})", str(path), remedy) from None


def _describe(course, traces):
    """Return a line for each place that has something to erase: how much of what, and where."""
    lines = [f"{_count(_count_files(path), 'file')} in {_shorten(course, path)}" for path in traces.folders]
    lines += [f"the list of open answers to {topic}, {exercise}" for topic, exercise in traces.marking]
    if traces.verdicts:
        what = "that no other student's grading refers to"
        lines.append(f"{_count(len(traces.verdicts), 'verdict')} in .autograder/verdicts {what}")
    lines += [f"{_shorten(course, path)}, which a command has left unfinished" for path in traces.drafts]
    lines += [f"the hand-in {_shorten(course, path)}" for path in traces.hand_ins]
    lines += [f"the feedback page {path}" for path in traces.pages]
    if traces.rows:
        lines.append(f"{_count(traces.rows, 'row')} of the gradebook")
    if traces.events:
        lines.append(f"{_count(len(traces.events), 'event')} of .autograder/record.db")
    return lines


def _count_files(folder):
    return 1 if folder.is_symlink() or not folder.is_dir() else sum(len(files) for _, _, files in os.walk(folder))


def _count(number, what):
    return f"{number} {what}{'' if number == 1 else 's'}"


def _shorten(course, path):
    """Return ``path`` for the terminal, relative to the course directory if it is inside."""
    return escape_unprintable(str(path.relative_to(course.root) if path.is_relative_to(course.root) else path))
