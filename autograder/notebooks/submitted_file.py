"""Read a file that a student has handed in: never through a link, and no more of it than can be graded."""

import json
import os
import stat
from pathlib import Path

from autograder.errors import CourseError
from autograder.notebooks.cell_ids import id_of
from autograder.sandbox import Limits

MAX_MB = Limits.submission_mb
SIZE_NOTE = "To accept larger files, raise c.Judge.submission_mb in nbgrader_config.py."  # for the instructor


class FileTooLarge(CourseError):
    """The file is larger than ``c.Judge.submission_mb``; the message is for the student, who cannot change that."""


def read_file(path: str | Path, below: Path | None = None, max_mb: int = MAX_MB) -> bytes:
    """Return the bytes of the file at ``path``, which a student has handed in.

    Raises CourseError if it is missing, empty or too large (``FileTooLarge``), or if it, or a folder between it and ``below``, is a
    link: the target of a link is not the student's. The message is for the student.
    """
    path = Path(path)
    again = f"open your notebook, save it, and hand in the file {path.name} again."
    for part in (path, *path.parents):
        if part == below:
            break
        if part.is_symlink():
            raise CourseError("there is a link where a file or folder should be", part.name, again)
        if below is None:
            break
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        descriptor = None
    if descriptor is None or not stat.S_ISREG(os.fstat(descriptor).st_mode):
        if descriptor is not None:
            os.close(descriptor)
        others = sorted(other.name for other in path.parent.glob("*.ipynb") if other.name != path.name)
        instead = f"; the folder has {', '.join(others[:5])}" if others else ""
        raise CourseError(f"this file is missing{instead}", path.name, f"hand in {path.name} under that name.")
    with os.fdopen(descriptor, "rb") as file:
        content = file.read(max_mb * 2**20 + 1)
        size = os.fstat(file.fileno()).st_size
    if not content:
        raise CourseError("the file is empty", path.name, again)
    if len(content) > max_mb * 2**20:
        remedy = f"clear the outputs (at most {max_mb} MB can be graded) and hand it in again."
        raise FileTooLarge(f"the file is {size / 2**20:.0f} MB", path.name, remedy)
    return content


def sources_by_id(content: bytes) -> dict[str, str]:
    """Return the sources of the cells that have a ``grade_id``, by that id; {} if ``content`` is not a notebook."""
    sources = {}
    try:
        for cell in json.loads(content)["cells"]:
            source = cell.get("source")
            if grade_id := id_of(cell):
                sources[grade_id] = "".join(map(str, source)) if isinstance(source, list) else str(source)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, MemoryError):
        return {}
    return sources
