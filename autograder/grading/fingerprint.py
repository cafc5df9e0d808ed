"""Hash what a submission's verdicts depend on, store verdicts under that hash, and read the files beside its notebook.

The process that coordinates a class uses this for every submission, so nothing here imports numpy or code that runs
notebooks.
"""

import hashlib
import json
import math
import platform
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Protocol

import msgspec

from autograder.files import digest, write_text
from autograder.sandbox import NOTICED_LIMITS, Limits
from autograder.verdicts import Graded

NPZ_OVERHEAD_BYTES = 100_000  # bytes that an npz file may have in addition to its numbers
DECIDING_PACKAGES = ("exercises", "grading", "notebooks", "sandbox")  # those whose code a verdict depends on


class WeightsFile(Protocol):
    """A file of trained weights that an exercise asks for, and the shapes of its arrays."""

    @property
    def file(self) -> str: ...

    @property
    def arrays(self) -> Mapping[str, tuple[int, ...]]: ...


class ExerciseWithFiles(Protocol):
    """The part of an exercise that says which files belong to it."""

    @property
    def trained(self) -> WeightsFile | None: ...


def read_handed_in_files(exercises: Iterable[ExerciseWithFiles], folder: str | Path) -> dict[str, bytes | None]:
    """Return the files in ``folder`` that ``exercises`` ask for: name -> bytes, None for one that is too large."""
    files = {}
    for name, allowed in _limit_file_sizes(exercises).items():
        path = Path(folder) / name
        if path.is_file() and not path.is_symlink():
            files[name] = path.read_bytes() if path.stat().st_size <= allowed else None
    return files


def select_kept_files(exercises: Iterable[ExerciseWithFiles], kept: Mapping[str, bytes]) -> dict[str, bytes | None]:
    """Like ``read_handed_in_files``, for an earlier attempt that is no longer in a folder: ``kept`` has its files by name."""
    allowed = _limit_file_sizes(exercises)
    return {name: kept[name] if len(kept[name]) <= most else None for name, most in allowed.items() if name in kept}


def _limit_file_sizes(exercises):
    allowed = {}
    for weights in (exercise.trained for exercise in exercises if exercise.trained):
        allowed[weights.file] = NPZ_OVERHEAD_BYTES + 8 * sum(map(math.prod, weights.arrays.values()))
    return allowed


def fingerprint(
    content: bytes,
    version: str,
    attempt: int,
    limits: Limits,
    isolation: str,
    files: Mapping[str, bytes | None] | None = None,
    seed: int | None = None,
    packages: Mapping[str, str] | None = None,
) -> str:
    """Return a hash of everything that the verdicts on the file ``content`` depend on.

    ``packages`` has the versions of those that the course adds to what the grader has.

    ``version`` covers the exercises and the releases used to read the file; ``attempt``, and the ``seed`` that the release
    recorded for it, if any, determine the hidden cases. Limits that are noticed when they are reached are left out: see
    ``Graded.stands``.
    """
    beside = {name: hashlib.sha256(data or b"").hexdigest() for name, data in sorted((files or {}).items())}
    state = [
        hashlib.sha256(content).hexdigest(),
        version,
        attempt,
        {name: float(value) for name, value in vars(limits).items() if name not in NOTICED_LIMITS},
        isolation,
        grader_versions(),
        beside,
        *([] if seed is None else [seed]),
        *([dict(sorted(packages.items()))] if packages else []),
    ]
    return hashlib.sha256(json.dumps(state).encode()).hexdigest()


@cache
def grader_versions() -> list[str]:
    """Return what verdicts depend on in the grader itself: a hash of its code, and the versions of numpy, torch, Python."""
    rooms = [Path(__file__).parents[1] / room for room in DECIDING_PACKAGES]
    return [digest(rooms), version("numpy"), version("torch"), platform.python_version()]


class VerdictStore:
    """Verdicts in ``folder``, one JSON file each."""

    def __init__(self, folder: str | Path):
        self.folder = Path(folder)

    def get(self, fingerprint: str) -> Graded | None:
        """Return the ``Graded`` stored under ``fingerprint``; None if its file does not exist or cannot be read."""
        try:
            return msgspec.json.decode(self._path(fingerprint).read_bytes(), type=Graded)
        except (OSError, ValueError, RecursionError, msgspec.MsgspecError):
            return None

    def get_standing(self, fingerprint: str, limits: Limits) -> Graded | None:
        """Like ``get``, but return None if the submission should be run with ``limits``: see ``Graded.stands``."""
        graded = self.get(fingerprint)
        return graded if graded and graded.stands(vars(limits)) else None

    def put(self, fingerprint: str, graded: Graded) -> Graded:
        """Store ``graded``, and return it with the number of runs that have reached the same limits."""
        if graded.reached and (before := self.get(fingerprint)) and before.reached == graded.reached:
            graded = replace(graded, runs=before.runs + 1)
        write_text(json.dumps(graded, default=vars), self._path(fingerprint))
        return graded

    def list_files(self) -> list[tuple[str, Path]]:
        """Return ``(fingerprint, path)`` of each file in the store, drafts that a killed process has left included."""
        return [(path.name.partition(".")[0], path) for path in sorted(self.folder.glob("*/*.json*"))]

    def _path(self, fingerprint):
        return self.folder / fingerprint[:2] / f"{fingerprint}.json"
