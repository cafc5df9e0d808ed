"""Read the entries of an untrusted archive or folder, and nothing outside it.

In: a zip archive, or a folder. Out: frozen ``ArchiveEntry`` objects whose bytes are read on demand. Reads the archive;
unpacks nothing to disk, follows no link, and refuses files above the size limit.
"""

import contextlib
import io
import os
import re
import stat
import time
import zipfile
import zlib
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from autograder.notebooks.submitted_file import SIZE_NOTE

UNKNOWN_UID = -1  # no user has this id
NO_DATE = (1980, 1, 1, 0, 0, 0)  # the date of a zip entry that has none
TOO_LARGE = "a file is larger than {} MB"
ARCHIVE_ERRORS = (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, OSError, ValueError)


class RefusedEntry(Exception):
    """Something that is not collected; the message says why, and ``note`` what else the instructor should know."""

    def __init__(self, problem: str, note: str = "") -> None:
        super().__init__(problem)
        self.note = note


@dataclass(frozen=True)
class ArchiveEntry:
    """A file in an archive: its name, its date (year to second), and a function that reads its bytes.

    ``owners`` has the user ids of the owners of the folders above it and, last, of the file; () if the archive has none.
    """

    name: str
    date: tuple[int, ...]
    read: Callable[[], bytes]
    owners: tuple[int, ...] = ()

    @property
    def moment(self) -> str:
        """The date as sortable text; "" if the archive has none."""
        year, month, day, hour, minute, second = self.date
        return f"{year:04d}-{month:02d}-{day:02d} {hour:02d}:{minute:02d}:{second:02d}" if year > 1980 else ""


@contextlib.contextmanager
def open_archive(
    source: str | Path, most: int, max_mb: int, only: Container[str] | None = None
) -> Iterator[list[ArchiveEntry]]:
    """Open ``source``, a folder or a zip archive, and give its entries without the files that operating systems add.

    If ``source`` is a folder, ``only`` names the files and folders to read from its top level; by default, all.

    Raises ``RefusedEntry`` if there are more than ``most``, or ``source`` is neither a file nor a folder; ``OSError``,
    ``ValueError``, ``RuntimeError``, ``zipfile.BadZipFile`` or ``zlib.error`` if it cannot be read.
    """
    if Path(source).is_dir():
        yield list(_walk_folder(Path(source), most, max_mb, only))
        return
    if not Path(source).is_file():
        raise RefusedEntry("this is neither a file nor a folder")
    with zipfile.ZipFile(source) as bundle:
        yield _read_bundle(bundle, most, max_mb)


def read_archive(content: bytes, most: int, max_mb: int) -> list[ArchiveEntry]:
    """Return the entries of the zip archive with the bytes ``content``; raise the same errors as ``open_archive``."""
    return _read_bundle(zipfile.ZipFile(io.BytesIO(content)), most, max_mb)


def _read_bundle(bundle, most, max_mb):
    infos = bundle.infolist()
    if len(infos) > most:
        raise RefusedEntry(f"it has more than {most} entries")
    named = [(_decode_name(info), info) for info in infos if not info.is_dir()]
    return [
        ArchiveEntry(name, info.date_time, _zip_reader(bundle, info, max_mb))
        for name, info in named
        if not _is_debris(name)
    ]


def _walk_folder(root, most, max_mb, only=None):
    """Yield the entries of ``root``, sorted. Not recursive: folders may be nested thousands deep."""
    pending, count = [(root, PurePosixPath(), ())], 0
    while pending:
        folder, name, owners = pending.pop()
        try:
            children = sorted(os.scandir(folder), key=lambda child: child.name)
            if only is not None and folder == root:
                children = [child for child in children if child.name in only]
        except OSError:  # for example, it has another owner, or its path is too long for the system
            continue
        folders, files = [], []
        for child in children:
            (folders if _is_folder(child) else files).append(child)
        kept = [child for child in files if not _is_debris(str(name / child.name))]
        count += len(folders) + len(kept)
        if count > most:
            raise RefusedEntry(f"it has more than {most} files and folders")
        for child in kept:
            read = _file_reader(Path(child.path), max_mb, child.inode())
            yield ArchiveEntry(str(name / child.name), _date_of(child), read, (*owners, _owner_of(child)))
        own = [child for child in reversed(folders) if not child.is_symlink()]
        pending += [(Path(child.path), name / child.name, (*owners, _owner_of(child))) for child in own]


def _is_folder(entry):
    """Return whether ``entry`` is a folder or a link to one; such links are skipped."""
    try:
        return entry.is_dir()
    except OSError:  # a circular link: reading it is refused
        return False


def _owner_of(entry):
    try:
        return entry.stat(follow_symlinks=False).st_uid
    except OSError:  # reading it is refused then as well
        return UNKNOWN_UID


def _date_of(file):
    try:
        return time.gmtime(file.stat(follow_symlinks=False).st_mtime)[:6]
    except OSError:  # reading it is refused then as well
        return NO_DATE


def _file_reader(path, max_mb, inode):
    def read():
        try:
            with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
                status = os.fstat(file.fileno())
                if not stat.S_ISREG(status.st_mode):
                    raise RefusedEntry("there is a link or a device where a file should be")
                if status.st_ino != inode:
                    raise RefusedEntry("a file was replaced while it was being collected")
                if status.st_size > max_mb * 2**20:  # reading it would only take time
                    raise RefusedEntry(TOO_LARGE.format(max_mb), SIZE_NOTE)
                return _refuse_too_large(file.read(max_mb * 2**20 + 1), max_mb)
        except OSError:
            raise RefusedEntry("there is a link or a device where a file should be, or it cannot be read") from None

    return read


def _zip_reader(bundle, info, max_mb):
    def read():
        name = info.filename.replace("\\", "/")
        if name.startswith("/") or re.match(r"[A-Za-z]:", name) or ".." in PurePosixPath(name).parts:
            raise RefusedEntry("a name in the archive points outside its folder")
        kind = stat.S_IFMT(info.external_attr >> 16)
        if kind not in (0, stat.S_IFREG):
            raise RefusedEntry("there is a link or a device in the archive where a file should be")
        if info.flag_bits & 0x1:
            raise RefusedEntry("the archive is encrypted")
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):  # others can use unbounded memory
            raise RefusedEntry("the archive uses a compression method that is not supported")
        try:
            with bundle.open(info) as file:
                content = file.read(max_mb * 2**20 + 1)
        except ARCHIVE_ERRORS:
            raise RefusedEntry("the archive is damaged") from None
        return _refuse_too_large(content, max_mb)

    return read


def _refuse_too_large(content, max_mb):
    """Return ``content`` if it is within the limit, whatever the archive's header said."""
    if len(content) > max_mb * 2**20:
        raise RefusedEntry(TOO_LARGE.format(max_mb), SIZE_NOTE)
    return content


def _decode_name(info):
    """Return the name of ``info``. Macs write UTF-8 without saying so, which ``zipfile`` decodes as code page 437."""
    name = info.filename
    if not info.flag_bits & 0x800:
        with contextlib.suppress(UnicodeError):
            name = name.encode("cp437").decode("utf-8")
    return name.replace("\\", "/")


def _is_debris(name):
    """Return whether ``name`` is a file that macOS or Windows leaves beside others."""
    path = PurePosixPath(name)
    known = path.name.casefold() in (".ds_store", "thumbs.db", "desktop.ini")
    return known or "__MACOSX" in path.parts or path.name.startswith("._")
