"""A course directory: where its files are.

In: a folder. Out: paths, settings, records. Writes a new course.
"""

import contextlib
import shlex
import stat
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Self

from autograder import sandbox
from autograder.courses.gradebook_address import GradebookAddress
from autograder.courses.plan import PLAN_FILE, PLAN_TEMPLATE, Plan, read_plan
from autograder.courses.record import Record
from autograder.courses.releases import Releases
from autograder.errors import CourseError
from autograder.files import write_text
from autograder.grading.fingerprint import VerdictStore
from autograder.paths import DEFAULT_COURSE
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

    def plan(self) -> Plan:
        """Return what course.toml says now; see ``read_plan``."""
        return read_plan(self.root)

    @property
    def gradebook(self) -> GradebookAddress:
        return GradebookAddress(self.root)

    @property
    def store(self) -> VerdictStore:
        return VerdictStore(self.root / ".autograder" / "verdicts")

    @property
    def record(self) -> Record:
        """What happened to each attempt."""
        return Record(self.root)

    def source(self, topic: str) -> Path:
        return self.root / "source" / topic / f"{topic}.ipynb"

    def submission(self, student: str, topic: str) -> Path:
        return self.root / "submitted" / student / topic / f"{topic}.ipynb"

    def feedback(self, student: str, topic: str) -> Path:
        return self.root / "feedback" / student / topic / f"{topic}.html"

    def autograded(self, student: str, topic: str) -> Path:
        return self.root / "autograded" / student / topic / f"{topic}.ipynb"

    def marking_scheme(self, topic: str) -> Path:
        return self.root / "marking" / f"{topic}.md"

    def releases(self, topic: str) -> Releases:
        """The releases of ``topic``."""
        return Releases(self.root, topic)


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


def find_access_problem(course: Course) -> tuple[str, str, str] | None:
    """Return ``(problem, folder, remedy)`` if other accounts have access to the course directory; otherwise None."""
    if not course.root.stat().st_mode & OTHERS:
        return None
    what = "other accounts on this machine have access to it, and so to answers, submissions and marks"
    return what, str(course.root), f"`chmod o= {shlex.quote(str(course.root))}`"


def list_hidden_paths(course: Course) -> tuple[str, ...]:
    """Return the paths that no submission may see: the course directory, and the targets of links in it."""
    parts = [path for path in course.root.iterdir() if path.is_symlink()]
    return (str(course.root), *sorted(str(path.resolve()) for path in parts))


def _resolve_root(root):
    """Return ``root`` as an absolute path; refuse one that cannot be part of a database address."""
    root = Path(root).resolve()
    if "?" in str(root):
        raise CourseError("nbgrader cannot work in a folder with ? in its name", str(root), "rename that folder.")
    return root
