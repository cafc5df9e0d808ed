"""A course directory: where its files are, and who handed in.

In: a folder. Out: paths, settings, students. Writes a new course.
"""

import contextlib
import re
import shlex
import stat
from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import Self

from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError
from traitlets.config.loader import PyFileConfigLoader

from autograder import sandbox
from autograder.courses.plan import PLAN_FILE, PLAN_TEMPLATE, Plan, read_plan
from autograder.courses.record import Record
from autograder.courses.released import Released
from autograder.courses.releases import Releases
from autograder.errors import CourseError
from autograder.files import remove_unexpected, write_text
from autograder.grading.fingerprint import VerdictStore
from autograder.paths import DEFAULT_COURSE, format_command
from autograder.sandbox import Limits

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


@dataclass(frozen=True)
class Course:
    """The nbgrader course in ``root``."""

    root: Path

    @classmethod
    def at(cls, root: str | Path) -> Self:
        """Return the course in ``root``; raise ``CourseError`` if it is not a course directory."""
        course = cls(_resolve_root(root))
        if root == DEFAULT_COURSE and not course.config.is_file() and cls(Path.cwd()).config.is_file():
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
        return format_command(words, self.root)

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
        return self.releases(topic).file

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

    def releases(self, topic: str) -> Releases:
        """The releases of ``topic``."""
        return Releases(self.root, topic)

    def released(self, topic: str) -> Released:
        """Return the ``Released`` state of ``topic``; see ``Releases.load``."""
        return self.releases(topic).load()


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
