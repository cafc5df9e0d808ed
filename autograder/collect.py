"""Put what a learning platform hands out as one archive where nbgrader looks for it: one folder a student.

In: a zip archive, a course, a topic. Out: what became of each student's part. Writes ``submitted``, and a page for whoever
has to hand in again. One bad part stops nobody else's; nothing is unpacked but the files that are asked for.
"""

import io
import re
import shutil
import stat
import time
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import PurePosixPath

from autograder.assemble import write_bytes, write_text
from autograder.errors import CourseError
from autograder.report import set_aside_page

STUDENT = re.compile(r"[A-Za-z0-9@+-][A-Za-z0-9.@+-]{0,79}")
MOST_ENTRIES = 100_000
BROKEN = (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, OSError, ValueError)


@dataclass(frozen=True)
class Collected:
    """What became of one student's part: ``problem`` is "" where it stands in ``submitted`` now."""

    student: str
    problem: str = ""
    replaced: bool = False


def collect(course, topic, archive, max_mb=20):
    """Put each student's notebook, and the files that belong to it, into ``course``; return ``(collected, ignored)``.

    An entry ``ADA/anything.ipynb`` or ``ADA_anything.ipynb`` is Ada's; so is what lies in ``ADA.zip`` or
    ``ADA_anything.zip``. Of several notebooks, the one with the latest date counts. ``ignored`` lists the other entries.

    Raises
    ------
    CourseError
        If there is no such assignment, or the archive itself cannot be read.
    """
    beside = {exercise.trained.file for exercise in course.released(topic).exercises if exercise.trained}
    try:
        with zipfile.ZipFile(archive) as bundle:
            entries = bundle.infolist()
            if len(entries) > MOST_ENTRIES:
                raise ValueError("too many entries")
            found, problems, ignored = _sorted(bundle, entries, beside, max_mb)
    except FileNotFoundError:
        raise CourseError("there is no such archive", str(archive), "name the file that you downloaded.") from None
    except BROKEN as error:
        raise CourseError(
            f"this is no zip archive that can be read ({error})", str(archive), "download it again."
        ) from None
    collected = []
    for student in sorted({*found, *problems}):
        files = found.get(student, {})
        problem = problems.get(student, "") or ("" if ".ipynb" in files else "no notebook was in it")
        if problem:
            message = (
                f"{problem}\n  Remedy: hand in {topic}.ipynb itself, not a folder, a link or an archive in an archive."
            )
            write_text(set_aside_page(topic, message), course.feedback(student, topic))
            collected.append(Collected(student, problem))
        else:
            collected.append(Collected(student, replaced=_put(course, student, topic, files)))
    return collected, ignored


def _sorted(bundle, entries, beside, max_mb):
    """Return ``({student: {kind: bytes}}, {student: problem}, [name that belongs to nobody])``."""
    found, problems, ignored = {}, {}, []
    for entry in sorted(entries, key=lambda entry: entry.date_time):
        if entry.is_dir():
            continue
        student, kind = _owner(entry.filename, beside)
        if not student:
            ignored.append(entry.filename)
            continue
        try:
            content = _read(bundle, entry, max_mb)
            if kind == ".zip":
                with zipfile.ZipFile(io.BytesIO(content)) as inner:
                    for part in sorted(inner.infolist(), key=lambda part: part.date_time)[:1000]:
                        kind = _kind(part.filename, beside)
                        if kind and kind != ".zip" and not part.is_dir():
                            found.setdefault(student, {})[kind] = _read(inner, part, max_mb)
                found.setdefault(student, {})
            else:
                found.setdefault(student, {})[kind] = content
        except _Refused as refusal:
            problems[student] = str(refusal)
        except BROKEN:
            problems[student] = "the archive is damaged"
    return found, problems, ignored


class _Refused(Exception):
    """An entry that is not unpacked; the sentence says why."""


def _read(bundle, entry, max_mb):
    """Return the bytes of ``entry``; never more than allowed, whatever its header says."""
    name = entry.filename.replace("\\", "/")
    if name.startswith("/") or re.match(r"[A-Za-z]:", name) or ".." in PurePosixPath(name).parts:
        raise _Refused("a name in the archive leads out of its folder")
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if kind not in (0, stat.S_IFREG):
        raise _Refused("there is a link or a device in the archive, where a file should be")
    if entry.flag_bits & 0x1:
        raise _Refused("the archive is encrypted")
    with bundle.open(entry) as file:
        content = file.read(max_mb * 2**20 + 1)
    if len(content) > max_mb * 2**20:
        raise _Refused(f"a file in the archive has more than {max_mb} MB when it is unpacked")
    return content


def _owner(name, beside):
    """Return ``(student, kind of file)`` for the name of an entry, or ("", "")."""
    parts = [part for part in name.replace("\\", "/").split("/") if part not in ("", ".", "..")]
    kind = _kind(name, beside)
    if not parts or not kind:
        return "", ""
    student = parts[0] if len(parts) > 1 else re.split(r"[_]", PurePosixPath(parts[0]).stem)[0]
    return (student, kind) if STUDENT.fullmatch(student) else ("", "")


def _kind(name, beside):
    path = PurePosixPath(name.replace("\\", "/"))
    wanted = next((file for file in beside if path.name == file or path.name.endswith(f"_{file}")), "")
    return wanted or (path.suffix if path.suffix in (".ipynb", ".zip") else "")


def _put(course, student, topic, files):
    """Write ``files`` into the student's folder; keep what was there. Return whether something was."""
    path = course.submission(student, topic)
    before = path.is_file() and not path.is_symlink()
    if before:
        kept = course.root / ".autograder" / "earlier" / student / topic / f"{time.time_ns()}.ipynb"
        kept.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, kept)
    elif path.is_symlink() or path.is_dir():
        raise CourseError("a link or a folder stands where the notebook should", str(path), "take it away.")
    for kind, content in files.items():
        write_bytes(content, path if kind == ".ipynb" else path.with_name(kind))
    return before
