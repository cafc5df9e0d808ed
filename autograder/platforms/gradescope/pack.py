"""Build the archive that Gradescope accepts as an autograder: https://gradescope-autograders.readthedocs.io/en/latest/specs/.

In: a course, a released assignment. Out: the bytes of a zip archive, the same each time: setup.sh and run_autograder at its
top level, the grader, the answers and the seed of the hidden cases, but no student data. Reads the project; writes nothing.
"""

import io
import shlex
import tomllib
import zipfile
from dataclasses import dataclass
from pathlib import Path

from traitlets.config.loader import PyFileConfigLoader

from autograder.courses.course import Course
from autograder.courses.packages import find_versions
from autograder.courses.released import Released
from autograder.errors import CourseError
from autograder.feedback import page_settings
from autograder.paths import ROOT
from autograder.platforms.gradescope.packed import ASSIGNMENT_FILE, PackedAssignment
from autograder.sandbox import Limits

HERE = Path(__file__).parent
PACKAGES = ("autograder", "solutions")
PACKED_SUFFIXES = (".py", ".toml", ".j2", ".sh", ".js", ".css")
ENTRY_DATE = (1980, 1, 1, 0, 0, 0)  # the date of every entry
EXECUTABLE, PLAIN = 0o100755, 0o100644
INDEX_PLACEHOLDER = "@TORCH_INDEX@"


@dataclass(frozen=True)
class GradescopeArchive:
    """An autograder for Gradescope: its bytes, the automatic points, and the points given by a person, by exercise."""

    content: bytes
    points: float
    by_person: dict[str, float]


def pack(course: Course, topic: str, released: Released, limits: Limits, torch_index: str = "") -> GradescopeArchive:
    """Return the ``GradescopeArchive`` of ``topic`` as it was ``released`` in ``course``.

    ``torch_index`` is the address of an additional package index, for a build of torch without GPU support.

    Raises ``CourseError`` if a file of the project is missing.
    """
    files = {}
    for name in PACKAGES:
        for path in sorted((ROOT / name).rglob("*")):
            if path.suffix in PACKED_SUFFIXES and path.is_file() and "__pycache__" not in path.parts:
                files[path.relative_to(ROOT).as_posix()] = path.read_bytes()
    added = [f"{name}=={version}" for name, version in find_versions(course.plan().packages).items()]
    setup = (HERE / "setup.sh").read_text(encoding="utf-8").replace(INDEX_PLACEHOLDER, shlex.quote(torch_index))
    try:
        project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        for name in ("constraints.txt", "LICENSE"):
            files[name] = (ROOT / name).read_bytes()
    except FileNotFoundError as error:
        raise CourseError("it is missing", str(error.filename), "run pack in a clone of the project.") from None
    files |= {
        "setup.sh": setup.encode(),
        "run_autograder": (HERE / "run_autograder").read_bytes(),
        "requirements.txt": ("\n".join([*project["dependencies"], *added]) + "\n").encode(),
        ASSIGNMENT_FILE: _make_assignment(course, topic, released, limits).to_json().encode(),
    }
    automatic = [exercise for exercise in released.exercises if exercise.is_automatic]
    by_person = {exercise.name: exercise.points for exercise in released.exercises if not exercise.is_automatic}
    return GradescopeArchive(_zip_files(files), sum(exercise.points for exercise in automatic), by_person)


def _make_assignment(course, topic, released, limits):
    config = PyFileConfigLoader(str(course.config)).load_config()
    return PackedAssignment(
        topic,
        released.templates,
        released.points,
        tuple(exercise.trained.file for exercise in released.exercises if exercise.trained),
        released.seed,
        released.digest,
        released.extra,
        page_settings.from_config(config),
        limits,
        released.attempt_seeds,
    )


def _zip_files(files):
    """Return a zip archive of ``files``, name -> bytes; names, dates and permissions are the same on every machine."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as bundle:
        for name, content in sorted(files.items()):
            info = zipfile.ZipInfo(name, ENTRY_DATE)
            info.create_system, info.compress_type = 3, zipfile.ZIP_DEFLATED
            info.external_attr = (EXECUTABLE if name in ("setup.sh", "run_autograder") else PLAIN) << 16
            bundle.writestr(info, content, compresslevel=9)
    return archive.getvalue()
