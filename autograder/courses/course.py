"""A course directory: where its files are, and what was released from it.

In: a folder. Out: paths, records. Writes a new course, and the record of its releases.
"""

import contextlib
import hashlib
import json
import re
import shlex
import stat
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, Self

import msgspec
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError
from traitlets.config.loader import PyFileConfigLoader

from autograder import sandbox
from autograder.courses.plan import PLAN_FILE, PLAN_TEMPLATE, Plan, read_plan
from autograder.courses.record import Record
from autograder.courses.released import Released, load_facts, read_exercises
from autograder.errors import CourseError
from autograder.files import as_json, remove_unexpected, write_bytes, write_text
from autograder.grading.fingerprint import VerdictStore
from autograder.notebooks.cell_ids import exercise_of_text, points_id
from autograder.sandbox import Limits

if TYPE_CHECKING:  # reading a release must not import nbformat
    from nbformat import NotebookNode

DEFAULT_ROOT = Path("course")
TIMESTAMP, SECRET = "timestamp.txt", "submission_secret.txt"  # which nbgrader's exchange puts beside a notebook
OTHERS = stat.S_IRWXO  # rights of accounts that are neither the owner nor in the group
EXCHANGE_FILES = (TIMESTAMP, SECRET)  # the exchange needs both beside the feedback page
LIMIT_LINES = "\n".join(f"# c.Judge.{limit.name} = {limit.default:g}" for limit in fields(Limits))
CONFIG = f'''"""nbgrader's settings for this course. The autograder takes the place of nbgrader's own execution of notebooks."""

from autograder.with_nbgrader.plugin import configure

c = get_config()  # noqa: F821
c.CourseDirectory.course_id = "attention"
configure(c)

# What one submission may use: seconds, megabytes, kilobytes and processes. These are the defaults.
{LIMIT_LINES}
# c.Judge.isolation = "{sandbox.DEFAULT}"
'''


class ReleaseRecord(msgspec.Struct, omit_defaults=True):
    """The stored record of an assignment's releases: the seed, and the hashes of its exercises and notebooks.

    ``releases`` and ``log`` have the newest first; ``versions`` has each release once, in the order of their numbers. The
    first versions of the grader stored none of the three, and later ones no ``versions``.
    """

    seed: int
    digest: str
    releases: list[str] = []
    versions: list[str] = []
    log: list[str] | None = None
    attempt_seeds: list[int] = []

    @property
    def versions_by_number(self) -> list[str]:
        return self.versions or self.releases[::-1]


@dataclass(frozen=True)
class Course:
    """The nbgrader course in ``root``."""

    root: Path

    @classmethod
    def at(cls, root: str | Path) -> Self:
        """Return the course in ``root``; raise ``CourseError`` if it is not a course directory."""
        course = cls(_resolve_root(root))
        if root == DEFAULT_ROOT and not course.config.is_file() and cls(Path.cwd()).config.is_file():
            course = cls(Path.cwd())  # called inside the course directory
        if not course.config.is_file():
            raise CourseError(
                "this is not a course directory", str(course.root), f"run `python -m autograder init {root}` first."
            )
        if any((course.root / ".autograder" / name).exists() for name in ("collected", "recorded", "watch.db")):
            what = "this course was begun with an earlier version of the grader, which recorded attempts in other files"
            remedy = f"finish it with that version; `python -m autograder init --from {root} NEW` takes over its course.toml."
            raise CourseError(what, str(course.root), remedy)
        return course

    @property
    def config(self) -> Path:
        return self.root / "nbgrader_config.py"

    def command(self, words: str) -> str:
        """Return the command line ``words`` as it is typed: with --course unless commands here find this course without it."""
        here = Path.cwd()
        is_inside = self.root == here and not (DEFAULT_ROOT / "nbgrader_config.py").is_file()
        if is_inside or self.root == DEFAULT_ROOT.resolve():
            return f"python -m autograder {words}"
        folder = self.root.relative_to(here) if self.root.is_relative_to(here) else self.root
        return f"python -m autograder {words} --course {shlex.quote(str(folder))}"

    def plan(self) -> Plan:
        """Return what course.toml says now; see ``read_plan``."""
        return read_plan(self.root)

    @property
    def gradebook_file(self) -> Path:
        """The gradebook's file, unless it is on a server."""
        return self.root / "gradebook.db"

    @property
    def gradebook(self) -> str:
        """The address of the gradebook's database: PostgreSQL's if nbgrader_config.py names one, else a file in this folder.

        Raises ``CourseError`` if nbgrader_config.py names another database, or an address that cannot be read.
        """
        stated = self._read_setting("db_url")
        if stated.startswith("postgresql"):
            address = re.sub(r"^postgresql(\+\w+)?:", "postgresql+psycopg:", stated)
            _require_database_address(address)
            return address
        if stated not in ("", f"sqlite:///{self.gradebook_file}"):
            raise CourseError(
                "the gradebook is in a kind of database that this grader does not support",
                "CourseDirectory.db_url in nbgrader_config.py",
                "use PostgreSQL, postgresql+psycopg://USER:PASSWORD@HOST/DATABASE, or remove the line.",
            )
        return f"sqlite:///{self.gradebook_file}"

    @property
    def id_in_gradebook(self) -> str:
        """The course's id in a gradebook on a server; "" for a file, which has only one course."""
        return self._read_setting("course_id") or "default_course" if self.is_on_a_server else ""

    def _read_setting(self, name):
        """Return the setting ``name`` of CourseDirectory in nbgrader_config.py; "" if it has none."""
        text = self.config.read_bytes() if self.config.is_file() else b""
        if b"db_url" not in text:  # then there is no need to run it
            return ""
        stated = _directory_settings(str(self.config), text).get(name, "")
        return stated if isinstance(stated, str) else ""

    @property
    def is_on_a_server(self) -> bool:
        """Whether the gradebook is in a database on a server."""
        return not self.gradebook.startswith("sqlite:")

    @property
    def has_gradebook(self) -> bool:
        """Whether there is a gradebook; on a server, one is created as soon as it is opened."""
        return self.gradebook_file.is_file() or self.is_on_a_server

    @property
    def submitted(self) -> Path:
        return self.root / "submitted"

    @property
    def hidden(self) -> tuple[str, ...]:
        """The paths that no submission may see: this folder, and the targets of links in it."""
        parts = [path for path in self.root.iterdir() if path.is_symlink()]
        return (str(self.root), *sorted(str(path.resolve()) for path in parts))

    @property
    def store(self) -> VerdictStore:
        return VerdictStore(self.root / ".autograder" / "verdicts")

    @property
    def record(self) -> Record:
        """What happened to each attempt."""
        return Record(self.root)

    def source(self, topic: str) -> Path:
        return self.root / "source" / topic / f"{topic}.ipynb"

    def release(self, topic: str) -> Path:
        return self.root / "release" / topic / f"{topic}.ipynb"

    def submission(self, student: str, topic: str) -> Path:
        return self.root / "submitted" / student / topic / f"{topic}.ipynb"

    def feedback(self, student: str, topic: str) -> Path:
        return self.root / "feedback" / student / topic / f"{topic}.html"

    def autograded(self, student: str, topic: str) -> Path:
        return self.root / "autograded" / student / topic / f"{topic}.ipynb"

    def remove_leftovers(self, student: str, topic: str) -> None:
        """Delete files beside a student's autograded notebook and feedback page that the grader did not write.

        nbgrader copies all files of a submission to both folders, and publishes every HTML file in the second.
        """
        for path in (self.autograded(student, topic), self.feedback(student, topic)):
            remove_unexpected(path.parent, {path.name, *EXCHANGE_FILES})

    def set_aside_folder(self, student: str, topic: str) -> Path:
        """The folder for unexpected files of a submission, which must not be copied to where pages are published."""
        return self.root / ".autograder" / "set_aside" / topic / student

    def find_access_problem(self) -> tuple[str, str, str] | None:
        """Return ``(problem, folder, remedy)`` if other accounts have access to the course directory; otherwise None."""
        if not self.root.stat().st_mode & OTHERS:
            return None
        what = "other accounts on this machine have access to it, and so to answers, submissions and marks"
        return what, str(self.root), f"`chmod o= {shlex.quote(str(self.root))}`"

    def marking_scheme(self, topic: str) -> Path:
        return self.root / "marking" / f"{topic}.md"

    def students(self, topic: str) -> list[str]:
        """Return the names of the students who handed in something for ``topic``."""
        folders = self.root.glob(f"submitted/*/{topic}")
        return sorted(path.parent.name for path in folders if _is_not_empty(path))

    def select_submissions(
        self, topic: str, students: Collection[str] | None, sections: Sequence[str] | None
    ) -> list[str]:
        """Return the ``students`` (by default, all who handed in) who are in ``sections``; [] means everybody.

        Raises ``CourseError`` if nobody in ``sections`` has handed in, or one of ``students`` is in another section.
        """
        selected, named = self.plan().select_sections(sections), list(students or ())
        if selected is None:
            return named
        where = " or ".join(sections or ())
        if outside := sorted(set(named) - selected):
            remedy = "leave out the student or --section."
            raise CourseError(f"not in section {where}: {', '.join(outside)}", "--section", remedy)
        chosen = named or [student for student in self.students(topic) if student in selected]
        if not chosen:
            what = f"nobody in section {where} has handed in {topic}"
            raise CourseError(what, str(self.submitted), f"run `{self.command(f'collect {topic} ARCHIVE')}` first.")
        return chosen

    def find_misplaced_notebooks(self) -> list[str]:
        """Return notebooks in ``submitted`` that are where nbgrader does not look."""
        files = [*self.root.glob("submitted/*.ipynb"), *self.root.glob("submitted/*/*.ipynb")]
        return sorted(str(path.relative_to(self.root)) for path in files)

    def record_release(
        self, topic: str, seed: int, digest: str, changes: Iterable[str] = (), attempt_seeds: Sequence[int] = ()
    ) -> int:
        """Store the release of ``topic`` with its seeds, the hash of its exercises and its changes; return its number.

        The first release is version 1; one that equals an earlier release gets that one's number. The log is written from
        the record, so nothing is lost if the process stops between the two.
        """
        content = self.release(topic).read_bytes()
        record = self._load_release_record(topic) or ReleaseRecord(seed, digest)
        name = hashlib.sha256(content).hexdigest()[:16]
        write_bytes(content, self._release_copy_path(topic, name))
        versions = (
            record.versions_by_number if name in record.versions_by_number else [*record.versions_by_number, name]
        )
        releases = [name, *(other for other in record.releases if other != name)]
        number, log = versions.index(name) + 1, self._read_release_log(topic) if record.log is None else record.log
        if entries := [f"- {change}" for change in changes]:
            log = ["\n".join([f"## Version {number}, {datetime.now(UTC):%Y-%m-%d %H:%M} UTC", "", *entries]), *log]
        state = ReleaseRecord(seed, digest, releases, versions, log, list(attempt_seeds))
        write_text(as_json(msgspec.to_builtins(state)), self._release_record_file(topic))
        if log:
            write_text("\n\n".join([f"# Releases of {topic}", *log]) + "\n", self.release_log(topic))
        return number

    def _read_release_log(self, topic):
        """Return the entries of a log written before the record stored them."""
        path = self.release_log(topic)
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        return [entry.strip() for entry in re.split(r"^(?=## Version )", text, flags=re.MULTILINE)[1:]]

    def release_number(self, topic: str, template: str) -> int:
        """Return the number of the release whose text is ``template``; 0 if it was never released."""
        record = self._load_release_record(topic)
        name = hashlib.sha256(template.encode("utf-8")).hexdigest()[:16]
        return record.versions_by_number.index(name) + 1 if record and name in record.versions_by_number else 0

    def last_release(self, topic: str) -> tuple["NotebookNode", int, str] | None:
        """Return the last release of ``topic``, with its seed and the hash of its exercises; None before the first."""
        import nbformat

        record = self._load_release_record(topic)
        if not record or not self.release(topic).is_file():
            return None
        # the recorded copy: an interrupted release may have replaced the file
        kept = [path for name in record.releases[:1] if (path := self._release_copy_path(topic, name)).is_file()]
        (path,) = kept or [self.release(topic)]
        return nbformat.read(path, as_version=4), record.seed, record.digest

    def release_log(self, topic: str) -> Path:
        """The log of what each release of ``topic`` changed, newest first."""
        return self.root / "release" / f"{topic}-changes.md"

    def released(self, topic: str) -> Released:
        """Return the ``Released`` state of ``topic``.

        Raises ``CourseError`` if ``topic`` was not released in this course, or the key no longer fits the release.
        """
        record = self._load_release_record(topic)
        if not record or not self.release(topic).is_file():
            self._refuse_unreleased(topic)
        kept = [self._release_copy_path(topic, name) for name in record.releases]
        paths = [self.release(topic), *(path for path in kept if path.is_file())]
        templates = tuple(dict.fromkeys(_read_release(path) for path in paths))
        cells = _select_graded_cells(templates[0])
        plan = self.plan().assignment(topic)
        facts_file = self._release_record_file(topic).with_suffix("") / "facts.json"
        facts = load_facts(facts_file, topic, record.seed, plan.extra)
        questions = read_exercises(topic, facts.trained)
        points = {
            question.name: float(cells[cell]["points"])
            for question in questions
            if (cell := points_id(question)) in cells
        }
        gone = {name for cell_id in cells if (name := exercise_of_text(cell_id))} - {e.name for e in questions}
        if gone:
            raise CourseError(
                f"the release asks for {', '.join(sorted(gone))}, but the key no longer has it",
                f"solutions/answer_key/{topic}.toml",
                "restore it, or release the assignment in a new course directory.",
            )
        asked = [question for question in questions if question.name in points]
        now = {
            question.name: plan.points.get(question.function, question.points)
            for question in asked
            if plan.asks(question)
        }
        return Released(
            topic,
            tuple(question.worth(points[question.name]) for question in asked),
            templates,
            points,
            record.seed,
            facts.digest,
            facts.digest != record.digest,
            {name: worth for name, worth in now.items() if worth != points[name]},
            plan.extra,
            tuple(record.attempt_seeds),
        )

    def _refuse_unreleased(self, topic: str) -> NoReturn:
        released_topics = sorted(path.stem for path in self._release_record_file("x").parent.glob("*.json"))
        remedy = f"name one that was released ({', '.join(released_topics) or 'none yet'}), or run "
        remedy += f"`{self.command(f'release {topic}')}`."
        raise CourseError(f"there is no assignment {topic!r}", str(self.root), remedy)

    def release_hash(self, topic: str) -> str:
        """Return a hash of the files that ``released`` reads: while it is the same, so is the result."""
        state = hashlib.sha256()
        for path in (self._release_record_file(topic), self.release(topic), self.root / PLAN_FILE):
            state.update(hashlib.sha256(path.read_bytes() if path.is_file() else b"").digest())
        return state.hexdigest()

    def choose_seed(self, topic: str, given: int | None = None) -> int | None:
        """Return the seed of the hidden cases: ``given``, the plan's, or the last release's; None if one must be drawn."""
        record = self._load_release_record(topic)
        kept = record.seed if record else None
        return next((seed for seed in (given, self.plan().assignment(topic).seed, kept) if seed is not None), None)

    def attempt_seeds(self, topic: str, seed: int) -> tuple[int, ...]:
        """Return the recorded seeds of the attempts after the first; () if the release's seed is not ``seed``."""
        record = self._load_release_record(topic)
        return tuple(record.attempt_seeds) if record and record.seed == seed else ()

    def _load_release_record(self, topic: str) -> ReleaseRecord | None:
        """Return the record of the releases of ``topic``, None before the first."""
        path = self._release_record_file(topic)
        if not path.is_file():
            return None
        try:
            return msgspec.json.decode(path.read_bytes(), type=ReleaseRecord)
        except (ValueError, RecursionError) as error:  # these include errors from msgspec and UTF-8
            again = self.command(f"release {topic}")
            remedy = f"restore a copy of this file, or move it away and run `{again}` again."
            raise CourseError(f"the record of the release is damaged ({error})", str(path), remedy) from None

    def _release_copy_path(self, topic, name):
        return self.root / ".autograder" / "released" / topic / f"{name}.ipynb"

    def _release_record_file(self, topic):
        return self.root / ".autograder" / "released" / f"{topic}.json"


def init(root: str | Path, plan: str = PLAN_TEMPLATE) -> Course:
    """Make a course directory in ``root``, with ``plan`` as its course.toml; existing files stay as they are.

    Other accounts get no access to a new one; the group has what the umask gives it.
    """
    root = _resolve_root(root)
    config = root / "nbgrader_config.py"
    if root.exists() and not config.is_file() and (not root.is_dir() or any(root.iterdir())):
        raise CourseError("the folder already contains something else", str(root), "name an empty or new folder.")
    if not config.is_file():
        root.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(PermissionError):  # an empty folder of somebody else: `doctor` reports it
            root.chmod(stat.S_IMODE(root.stat().st_mode) & ~OTHERS)
        write_text(CONFIG, config)
    if not (root / PLAN_FILE).exists():
        write_text(plan, root / PLAN_FILE)
    for name in ("source", "submitted"):
        (root / name).mkdir(parents=True, exist_ok=True)
    return Course.at(root)


def _is_not_empty(folder):
    """Return whether ``folder`` contains more than drafts, which an interrupted collection leaves."""
    if folder.is_symlink():
        return True
    try:
        return any(not path.name.endswith(".draft") for path in folder.iterdir())
    except NotADirectoryError:
        return False
    except OSError:  # reported when it is read
        return True


def _read_release(path):
    """Return the text of the released notebook at ``path``."""
    remedy = "restore a copy of this file, or release the assignment again."
    try:
        text = path.read_text(encoding="utf-8")
        cells = json.loads(text)["cells"]
        if not all(isinstance(cell["metadata"], dict) and isinstance(cell["source"], str | list) for cell in cells):
            raise TypeError
    except (ValueError, TypeError, KeyError, RecursionError):
        raise CourseError("the released notebook is empty or damaged", str(path), remedy) from None
    return text


def _require_database_address(address):
    """Refuse a database address that SQLAlchemy cannot parse. The message omits the address, which contains the password."""
    try:
        make_url(address)
    except (ValueError, ArgumentError):  # a bad port or bracket raises ValueError
        raise CourseError(
            "the gradebook's address cannot be parsed: check its port and brackets",
            "CourseDirectory.db_url in nbgrader_config.py",
            "write it as postgresql+psycopg://USER:PASSWORD@HOST:PORT/DATABASE, with special characters percent-encoded.",
        ) from None


@lru_cache(maxsize=16)
def _directory_settings(config, text):
    """Return the settings of CourseDirectory in the file ``config``, whose content is ``text``."""
    return dict(PyFileConfigLoader(config).load_config().CourseDirectory)


def _resolve_root(root):
    """Return ``root`` as an absolute path; refuse one that cannot be part of a database address."""
    root = Path(root).resolve()
    if "?" in str(root):
        raise CourseError("nbgrader cannot work in a folder with ? in its name", str(root), "rename that folder.")
    return root


def _select_graded_cells(text):
    """Return nbgrader's metadata of the cells in the ``text`` of a release, by id."""
    metadata = [cell["metadata"]["nbgrader"] for cell in json.loads(text)["cells"] if "nbgrader" in cell["metadata"]]
    return {cell["grade_id"]: cell for cell in metadata}
