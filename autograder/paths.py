"""Where the parts of the project lie on this machine."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BOOK = ROOT / "book"
CONFIG = ROOT / "_config.yml"


def short(path):
    """Return ``path`` as an error names it: within the project from its top, else as it is."""
    path = Path(path)
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)
