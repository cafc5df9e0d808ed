"""Write files whole or not at all.

In: text or bytes, a path. Writes there, in one step.
"""

import json
from pathlib import Path


def write_text(text: str, path: str | Path) -> None:
    """Write ``text`` to ``path`` in one step."""
    write_bytes(text.encode("utf-8"), path)


def write_bytes(content: bytes, path: str | Path) -> None:
    """Write ``content`` to ``path`` in one step."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(path.name + ".draft")
    draft.write_bytes(content)
    draft.replace(path)


def as_json(data: object) -> str:
    return json.dumps(data, indent=1, sort_keys=True) + "\n"
