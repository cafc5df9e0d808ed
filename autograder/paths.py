"""The paths of the project's parts on this machine."""

import codecs
import locale
import os
import shlex
import sys
from pathlib import Path

from autograder.errors import CourseError

ROOT = Path(__file__).resolve().parents[1]
BOOK = ROOT / "book"
CONFIG = ROOT / "_config.yml"
DEFAULT_COURSE = Path("course")  # in the current folder


def short(path: str | Path) -> str:
    """Return ``path`` as errors show it: relative to the project's root if it is inside, otherwise unchanged."""
    path = Path(path)
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)


def require_checkout(what: str) -> None:
    """Raise CourseError if only the packages are installed: ``what`` needs the book and the tests' submissions."""
    if not CONFIG.is_file() or not BOOK.is_dir():
        remedy = "clone the project and run `make course` there: this command then works from its folder."
        raise CourseError(
            f"{what} needs the whole project, but only its packages are installed here", str(ROOT), remedy
        )


def prepare_for_alembic() -> None:
    """Let nbgrader run ``alembic``: by name, and to read in UTF-8 what this process writes in it, as under LC_ALL=POSIX."""
    programs = str(Path(sys.executable).parent)
    if programs not in os.environ.get("PATH", "").split(os.pathsep):
        os.environ["PATH"] = os.pathsep.join([programs, os.environ.get("PATH", "")])
    if sys.flags.utf8_mode and codecs.lookup(locale.getencoding()).name != "utf-8":
        os.environ["LC_ALL"] = "C.UTF-8"


def format_command(words: str, course: str | Path) -> str:
    """Return the command line ``words`` as it is typed: with --course unless commands here find ``course`` without it."""
    here, course = Path.cwd(), Path(course).resolve()
    is_inside = course == here and not (DEFAULT_COURSE / "nbgrader_config.py").is_file()
    if is_inside or course == DEFAULT_COURSE.resolve():
        return f"python -m autograder {words}"
    folder = course.relative_to(here) if course.is_relative_to(here) else course
    return f"python -m autograder {words} --course {shlex.quote(str(folder))}"
