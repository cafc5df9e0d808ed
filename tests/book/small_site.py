"""Sites of a page or two for testing the book's extensions."""

import importlib
import sys
from pathlib import Path

from sphinx.testing.util import SphinxTestApp

from autograder.paths import ROOT

FOLDER = str(ROOT / "book" / "_ext")
EXTENSIONS = f"import sys\nsys.path.insert(0, {FOLDER!r})\n"


def import_extension(name: str):
    """Return one of the book's extensions, as the same module that a build imports."""
    if FOLDER not in sys.path:
        sys.path.append(FOLDER)
    return importlib.import_module(name)


def write_site(folder: Path, configuration: str, pages: dict[str, str]) -> None:
    """Write into ``folder`` the ``pages`` of a site and its ``configuration``, which may name extensions of the book."""
    for name, text in {"conf.py": EXTENSIONS + configuration, **pages}.items():
        path = folder / "source" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def build_site(folder: Path, strict: bool = True) -> tuple[Path, str]:
    """Build what was written into ``folder``; return the website's folder and the warnings, which fail the test if ``strict``."""
    app = SphinxTestApp("html", srcdir=folder / "source", builddir=folder / "_build", warningiserror=strict)
    try:
        app.build()
    finally:
        app.cleanup()
    assert not strict or app.statuscode == 0, app.warning.getvalue()
    return folder / "_build" / "html", app.warning.getvalue()
