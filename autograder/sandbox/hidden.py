"""What no sandbox may show, wherever it lies on this machine: this project's packages, and the home of whoever grades."""

import json
import site
import sys
from collections.abc import Iterable
from functools import cache
from importlib import metadata
from pathlib import Path
from urllib.parse import unquote, urlsplit

PACKAGES = ("autograder", "solutions")
DISTRIBUTION = "bahdanau-attention-course"


@cache
def home() -> Path | None:
    """Return the home directory of whoever runs this, or None."""
    try:
        return Path.home().resolve()
    except RuntimeError:
        return None


@cache
def projects() -> tuple[Path, ...]:
    """Return the folders of the project: a checkout whole, an installation its packages only."""
    found = set()
    for folder in _where_packages_lie():
        present = [folder / name for name in PACKAGES if (folder / name).is_dir()]
        checkout = present and (folder / "pyproject.toml").is_file()
        found |= {path.resolve() for path in ([folder] if checkout else present)}
    if sys.pycache_prefix:  # there lie compiled copies of the packages
        found.add(Path(sys.pycache_prefix).resolve())
    return tuple(sorted(found))


def hidden_paths(more: Iterable[str | Path] = ()) -> list[Path]:
    """Return every path that no sandbox may show, with ``more`` (paths as text) among them; those that exist here."""
    paths = {*projects(), *(Path(path).resolve() for path in more), home()}
    return sorted(path for path in paths if path and path.exists())


def _where_packages_lie():
    """Yield folders that may hold the project: where this module is, all of sys.path, and where pip was told to look."""
    yield Path(__file__).resolve().parents[2]
    for entry in (*sys.path, *site.getsitepackages()):
        yield Path(entry or ".")
    for distribution in metadata.distributions(name=DISTRIBUTION):
        origin = json.loads(distribution.read_text("direct_url.json") or "{}").get("url", "")
        if origin.startswith("file:"):
            yield Path(unquote(urlsplit(origin).path))
