"""Write files whole or not at all; say whether code has changed.

In: text or bytes, a path. Writes there, in one step.
"""

import contextlib
import hashlib
import json
from collections.abc import Iterable
from pathlib import Path


def write_text(text: str, path: str | Path) -> None:
    """Write ``text`` to ``path`` in one step."""
    write_bytes(text.encode("utf-8"), path)


def write_bytes(content: bytes, path: str | Path) -> None:
    """Write ``content`` to ``path`` in one step. Where that fails, half of it stays nowhere."""
    path = Path(path)
    draft = path.with_name(path.name + ".draft")
    try:
        try:
            draft.write_bytes(content)
        except FileNotFoundError:
            path.parent.mkdir(parents=True, exist_ok=True)
            draft.write_bytes(content)
        draft.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            if draft.is_file() and not draft.is_symlink():
                draft.unlink()
        raise


def digest(folders: Iterable[str | Path]) -> str:
    """Return a hash of all Python files and templates in ``folders``: of their names and of what is in them."""
    found = hashlib.sha256()
    for folder in map(Path, folders):
        for path in sorted(path for kind in ("*.py", "*.j2") for path in folder.rglob(kind)):
            content = path.read_bytes()
            found.update(f"{folder.name}/{path.relative_to(folder).as_posix()} {len(content)}\n".encode() + content)
    return found.hexdigest()


def as_json(data: object) -> str:
    return json.dumps(data, indent=1, sort_keys=True) + "\n"
