"""Find the paths that no sandbox may show: this project's packages, wherever they are, and the home directory."""

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
def home_directory() -> Path | None:
    """Return the home directory of the user who runs this, or None."""
    try:
        return Path.home().resolve()
    except RuntimeError:
        return None


@cache
def project_paths() -> tuple[Path, ...]:
    """Return the folders of the project: the whole of a checkout, but only the packages of an installation."""
    projects = set()
    for folder in _package_parents():
        present = [folder / name for name in PACKAGES if (folder / name).is_dir()]
        checkout = present and (folder / "pyproject.toml").is_file()
        projects |= {path.resolve() for path in ([folder] if checkout else present)}
    if sys.pycache_prefix:  # it holds compiled copies of the packages
        projects.add(Path(sys.pycache_prefix).resolve())
    return tuple(sorted(projects))


def hidden_paths(more: Iterable[str | Path] = ()) -> list[Path]:
    """Return every existing path that no sandbox may show, including those of ``more``."""
    paths = {*project_paths(), *(Path(path).resolve() for path in more), home_directory()}
    return sorted(path for path in paths if path and path.exists())


def _package_parents():
    """Yield folders that may hold the project: this module's, all of sys.path, and the source of an editable install."""
    yield Path(__file__).resolve().parents[2]
    for entry in (*sys.path, *site.getsitepackages()):
        yield Path(entry or ".")
    for distribution in metadata.distributions(name=DISTRIBUTION):
        origin = json.loads(distribution.read_text("direct_url.json") or "{}").get("url", "")
        if origin.startswith("file:"):
            yield Path(unquote(urlsplit(origin).path))
