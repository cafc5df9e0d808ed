"""The outcome matrix of an exercise: what each version of its function does on each hidden case.

In: an exercise; versions of its function: the reference, listed mistakes, mutants, right and blind answers. Out: whether a
version is wrong on a case, and its verdict. Each outcome is computed on first request and cached in memory, and in a folder,
if one is given, under a hash of everything it depends on; versions that timed out are never saved there. Runs only functions
of this project.
"""

import contextlib
import hashlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from pathlib import Path

import msgspec

from autograder import exercises
from autograder.audit.calls import UNHURRIED_SECONDS, TookTooLong, reply_to
from autograder.exercises import Exercise
from autograder.files import digest, write_bytes
from autograder.grading import judge
from autograder.grading.fingerprint import grader_versions
from autograder.grading.judge import Verdict
from autograder.paths import CONFIG, ROOT
from autograder.sandbox import Reply

FOLDER = ROOT / "_build" / "outcomes" if CONFIG.is_file() else None  # an installed package keeps no outcomes on disk


@dataclass(frozen=True)
class Version:
    """One function that answers an exercise. ``text`` is the source that its values depend on; without it, nothing is saved."""

    name: str
    function: Callable[..., object]
    text: str = ""

    @cached_property
    def key(self) -> str:
        return hashlib.sha256(f"{self.name}\n{self.text}".encode()).hexdigest()[:16]


@dataclass
class OutcomeRow:
    """The known outcomes of one version: whether it is wrong, by number of the hidden case, its points and its verdict."""

    wrong: dict[int, bool] = field(default_factory=dict)
    earned: float | None = None
    verdict: Verdict | None = None


class Outcomes:
    """The outcomes of one exercise, with its hidden cases drawn from one seed. Each call may use ``seconds`` of CPU time."""

    def __init__(self, exercise: Exercise, folder: Path | None = None, seconds: float | None = None):
        self.exercise, self.seconds = exercise, seconds
        self._rows: dict[str, OutcomeRow] = {}
        self._unsaved: dict[str, OutcomeRow] = {}
        # key of the version that was called last, and its arguments then
        self._last: tuple[str, dict[str, object]] = ("", {})
        self._timed_out: set[str] = set()  # keys of rows that a faster machine might fill otherwise
        self._path = folder / f"{exercise.name}-{_content_hash(exercise, seconds)}.msgpack" if folder else None
        if self._path and self._path.is_file():
            with contextlib.suppress(OSError, msgspec.MsgspecError):  # an unreadable file is computed again
                self._rows = msgspec.msgpack.decode(self._path.read_bytes(), type=dict[str, OutcomeRow])
        self._known = self._size()

    def is_wrong(self, version: Version, number: int) -> bool:
        """Return whether any part of what ``version`` returns for the hidden case ``number`` is wrong."""
        wrong = self._row(version).wrong
        if number not in wrong:
            case = self.exercise.hidden[number]
            wrong[number] = any(judge.reasons_of(self.exercise, case, self._reply(version, number)).values())
        return wrong[number]

    def passes(self, version: Version) -> bool:
        """Return whether ``version`` earns all points. Unless the exercise is a chain, the first wrong case decides."""
        if self.exercise.follows:
            return self.earned(version) == self.exercise.points
        return not any(self.is_wrong(version, number) for number in range(len(self.exercise.hidden)))

    def failed_cases(self, version: Version) -> tuple[str, ...]:
        """Return the names of the hidden cases on which ``version`` is wrong."""
        wrong = [case.name for number, case in enumerate(self.exercise.hidden) if self.is_wrong(version, number)]
        return tuple(dict.fromkeys(wrong))

    def verdict(self, version: Version) -> Verdict:
        """Return the verdict on ``version``: points, parts and hints."""
        row = self._row(version)
        if row.verdict is None:
            replies = {(self.exercise.name, number): reply for number, reply in enumerate(self._replies(version))}
            (row.verdict,) = judge.judge([self.exercise], replies)
            row.earned = row.verdict.earned
        return row.verdict

    def earned(self, version: Version) -> float:
        """Return the points of ``version``. This is faster than ``verdict``, which also looks for hints."""
        row = self._row(version)
        if row.earned is None:
            row.earned = judge.points_of(self.exercise, partial(self._reply, version))
        return row.earned

    def gets_own_hint(self, mistake: Version) -> bool:
        """Return whether the listed ``mistake`` gets the hint that was written for it."""
        hint = self.exercise.hints.get(mistake.name)
        return hint is not None and any(hint in given for given in self.verdict(mistake).hints)

    def save(self) -> None:
        """Write new outcomes to the folder, if there is one and it is writable."""
        if self._path and self._size() != self._known:
            with contextlib.suppress(OSError):
                rows = {key: row for key, row in self._rows.items() if key not in self._timed_out}
                write_bytes(msgspec.msgpack.encode(rows), self._path)
                self._known = self._size()

    def _replies(self, version: Version) -> list[Reply]:
        return [self._reply(version, number) for number in range(len(self.exercise.hidden))]

    def _reply(self, version: Version, number: int) -> Reply:
        seconds = self.seconds if version.text else UNHURRIED_SECONDS  # functions without a text always end
        if self._last[0] != version.key:
            self._last = (version.key, {})
        reply = reply_to(version.function, self.exercise, self.exercise.hidden[number], seconds, self._last[1])
        if reply.raised == TookTooLong.__name__:
            self._timed_out.add(version.key)
        return reply

    def _row(self, version: Version) -> OutcomeRow:
        return (self._rows if version.text else self._unsaved).setdefault(version.key, OutcomeRow())

    def _size(self) -> int:
        return sum(len(row.wrong) + (row.earned is not None) + (row.verdict is not None) for row in self._rows.values())


def version_of(function: Callable[..., object], name: str = "") -> Version:
    """Return ``function`` as a ``Version``. Its text is the whole source file, because that contains its helpers."""
    file = inspect.getsourcefile(function)
    return Version(name or function.__name__, function, _read(file) if file else "")


@cache
def _read(file):
    return Path(file).read_text(encoding="utf-8")


@cache
def _sources():
    """Return hashes of the code that versions may call, and of the code that calls and judges them."""
    return [digest([ROOT / "solutions", ROOT / "autograder" / "audit"]), *grader_versions()]


def _content_hash(exercise, seconds):
    state = [exercises.digest([exercise]), seconds, *_sources()]
    return hashlib.sha256(msgspec.json.encode(state)).hexdigest()[:24]
