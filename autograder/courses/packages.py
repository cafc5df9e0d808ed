"""Find the packages that a course adds to what the grader has: their versions, and the modules that they contain.

In: names of packages, as pip knows them. Out: versions, names of modules. Reads the metadata of this Python environment.
"""

from collections.abc import Iterable
from importlib import metadata

from autograder.courses.plan import PLAN_FILE
from autograder.errors import CourseError


def find_versions(packages: Iterable[str]) -> dict[str, str]:
    """Return the version of each of ``packages`` in this environment; raise CourseError if one is not installed."""
    versions = {}
    for name in packages:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            remedy = f"install it in the grader's environment (`pip install {name}`), on every machine that grades."
            raise CourseError(f"the package {name} is not installed", f"{PLAN_FILE}, packages", remedy) from None
    return versions


def find_modules(packages: Iterable[str]) -> list[str]:
    """Return the top-level modules that ``packages`` contain, sorted: "scikit-learn" contains sklearn."""
    wanted = set(map(_fold, find_versions(packages)))
    provided = metadata.packages_distributions() if wanted else {}
    return sorted(module for module, names in provided.items() if wanted & set(map(_fold, names)) and module[0] != "_")


def _fold(name):
    """Return the name of a package such that two spellings of it are equal."""
    return name.casefold().replace("_", "-").replace(".", "-")
