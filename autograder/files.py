"""Write files whole or not at all; keep folders free of unexpected files; hash code to see whether it has changed."""

import contextlib
import hashlib
import json
import shutil
from collections.abc import Collection, Iterable
from pathlib import Path


def write_text(text: str, path: str | Path) -> None:
    """Write ``text`` to ``path`` atomically."""
    write_bytes(text.encode("utf-8"), path)


def write_bytes(content: bytes, path: str | Path, mode: int | None = None) -> None:
    """Write ``content`` to ``path`` atomically; a failure leaves no draft behind. The umask decides about access, or ``mode``."""
    path = Path(path)
    draft = path.with_name(path.name + ".draft")
    try:
        try:
            draft.write_bytes(content)
        except FileNotFoundError:
            path.parent.mkdir(parents=True, exist_ok=True)
            draft.write_bytes(content)
        if mode is not None:
            draft.chmod(mode)
        draft.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            if draft.is_file() and not draft.is_symlink():
                draft.unlink()
        raise


def find_unexpected_entries(folder: Path, expected: Collection[str]) -> list[Path]:
    """Return the entries of ``folder`` that are not regular files named in ``expected``."""
    if folder.is_symlink() or not folder.is_dir():
        return []
    return sorted(
        path for path in folder.iterdir() if path.is_symlink() or path.name not in expected or not path.is_file()
    )


def remove_unexpected(folder: Path, expected: Collection[str]) -> list[Path]:
    """Delete the ``find_unexpected_entries`` of ``folder``, but not the targets of links; return their paths."""
    removed = find_unexpected_entries(folder, expected)
    for path in removed:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
    return removed


def digest(folders: Iterable[str | Path], kinds: Collection[str] = ("*.py", "*.j2")) -> str:
    """Return a hash of the names and contents of all files in ``folders`` that match ``kinds``."""
    total = hashlib.sha256()
    for folder in map(Path, folders):
        for path in sorted(path for kind in kinds for path in folder.rglob(kind)):
            content = path.read_bytes()
            total.update(f"{folder.name}/{path.relative_to(folder).as_posix()} {len(content)}\n".encode() + content)
    return total.hexdigest()


def as_json(data: object) -> str:
    return json.dumps(data, indent=1, sort_keys=True) + "\n"
