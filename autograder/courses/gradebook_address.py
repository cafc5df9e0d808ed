"""The address of a course's gradebook: a file in the course directory, or a PostgreSQL database on a server.

In: a course directory. Out: the address, as nbgrader_config.py gives it. Reads that file; opens no database.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError
from traitlets.config.loader import PyFileConfigLoader

from autograder.errors import CourseError


@dataclass(frozen=True)
class GradebookAddress:
    """Where the gradebook of the course in ``root`` is."""

    root: Path

    @property
    def file(self) -> Path:
        """The gradebook's file, unless it is on a server."""
        return self.root / "gradebook.db"

    @property
    def url(self) -> str:
        """The URL of the gradebook's database: PostgreSQL's if nbgrader_config.py names one, else a file in this folder.

        Raises ``CourseError`` if nbgrader_config.py names another database, or an address that cannot be read.
        """
        stated = _read_setting(self.root, "db_url")
        if stated.startswith("postgresql"):
            url = re.sub(r"^postgresql(\+\w+)?:", "postgresql+psycopg:", stated)
            _require_database_url(url)
            return url
        if stated not in ("", f"sqlite:///{self.file}"):
            raise CourseError(
                "the gradebook is in a kind of database that this grader does not support",
                "CourseDirectory.db_url in nbgrader_config.py",
                "use PostgreSQL, postgresql+psycopg://USER:PASSWORD@HOST/DATABASE, or remove the line.",
            )
        return f"sqlite:///{self.file}"

    @property
    def is_on_a_server(self) -> bool:
        """Whether the gradebook is in a database on a server."""
        return not self.url.startswith("sqlite:")

    @property
    def course_id(self) -> str:
        """The course's id in a gradebook on a server; "" for a file, which has only one course."""
        return _read_setting(self.root, "course_id") or "default_course" if self.is_on_a_server else ""

    @property
    def exists(self) -> bool:
        """Whether there is a gradebook; on a server, one is created as soon as it is opened."""
        return self.file.is_file() or self.is_on_a_server


def _read_setting(root, name):
    """Return the setting ``name`` of CourseDirectory in nbgrader_config.py; "" if it has none."""
    config = root / "nbgrader_config.py"
    text = config.read_bytes() if config.is_file() else b""
    if b"db_url" not in text:  # then there is no need to run it
        return ""
    stated = _directory_settings(str(config), text).get(name, "")
    return stated if isinstance(stated, str) else ""


def _require_database_url(url):
    """Refuse a database URL that SQLAlchemy cannot parse. The message omits the URL, which contains the password."""
    try:
        make_url(url)
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
