"""What was released of one assignment: its notebooks, its seeds and what each release changed.

In: a course directory, a topic. Out: a ``Released`` state, seeds, numbers. Writes copies of the released notebooks, a record of
them, and a log.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from autograder.courses.plan import PLAN_FILE, read_plan
from autograder.courses.released import Released, load_facts, read_exercises
from autograder.errors import CourseError
from autograder.files import as_json, write_bytes, write_text
from autograder.notebooks.cell_ids import exercise_of_text, points_id
from autograder.paths import format_command

if TYPE_CHECKING:  # reading a release must not import nbformat
    from nbformat import NotebookNode


class ReleaseRecord(msgspec.Struct, omit_defaults=True):
    """The stored record of an assignment's releases: the seed, and the hashes of its exercises and notebooks.

    ``releases`` and ``log`` have the newest first; ``versions`` has each release once, in the order of their numbers. The
    first versions of the grader stored none of the three, and later ones no ``versions``.
    """

    seed: int
    digest: str
    releases: list[str] = []
    versions: list[str] = []
    log: list[str] | None = None
    attempt_seeds: list[int] = []

    @property
    def versions_by_number(self) -> list[str]:
        return self.versions or self.releases[::-1]


@dataclass(frozen=True)
class Releases:
    """The releases of ``topic`` in the course directory ``root``."""

    root: Path
    topic: str

    @property
    def file(self) -> Path:
        """The notebook as it was released last."""
        return self.root / "release" / self.topic / f"{self.topic}.ipynb"

    def record(self, seed: int, digest: str, changes: Iterable[str] = (), attempt_seeds: Sequence[int] = ()) -> int:
        """Store the release with its seeds, the hash of its exercises and its changes; return its number.

        The first release is version 1; one that equals an earlier release gets that one's number. The log is written from
        the record, so nothing is lost if the process stops between the two.
        """
        content = self.file.read_bytes()
        record = self._load_record() or ReleaseRecord(seed, digest)
        name = hashlib.sha256(content).hexdigest()[:16]
        write_bytes(content, self._copy_path(name))
        versions = (
            record.versions_by_number if name in record.versions_by_number else [*record.versions_by_number, name]
        )
        releases = [name, *(other for other in record.releases if other != name)]
        number, log = versions.index(name) + 1, _read_log(self.log) if record.log is None else record.log
        if entries := [f"- {change}" for change in changes]:
            log = ["\n".join([f"## Version {number}, {datetime.now(UTC):%Y-%m-%d %H:%M} UTC", "", *entries]), *log]
        state = ReleaseRecord(seed, digest, releases, versions, log, list(attempt_seeds))
        write_text(as_json(msgspec.to_builtins(state)), self._record_file)
        if log:
            write_text("\n\n".join([f"# Releases of {self.topic}", *log]) + "\n", self.log)
        return number

    def number_of(self, template: str) -> int:
        """Return the number of the release whose text is ``template``; 0 if it was never released."""
        record = self._load_record()
        name = hashlib.sha256(template.encode("utf-8")).hexdigest()[:16]
        return record.versions_by_number.index(name) + 1 if record and name in record.versions_by_number else 0

    def last(self) -> tuple["NotebookNode", int, str] | None:
        """Return the last release, with its seed and the hash of its exercises; None before the first."""
        import nbformat

        record = self._load_record()
        if not record or not self.file.is_file():
            return None
        # the recorded copy: an interrupted release may have replaced the file
        kept = [path for name in record.releases[:1] if (path := self._copy_path(name)).is_file()]
        (path,) = kept or [self.file]
        return nbformat.read(path, as_version=4), record.seed, record.digest

    @property
    def log(self) -> Path:
        """The log of what each release changed, newest first."""
        return self.root / "release" / f"{self.topic}-changes.md"

    def load(self) -> Released:
        """Return the ``Released`` state.

        Raises ``CourseError`` if the topic was not released in this course, or the key no longer fits the release.
        """
        record = self._load_record()
        if not record or not self.file.is_file():
            released_topics = sorted(path.stem for path in self._record_file.parent.glob("*.json"))
            remedy = f"name one that was released ({', '.join(released_topics) or 'none yet'}), or run "
            remedy += f"`{format_command(f'release {self.topic}', self.root)}`."
            raise CourseError(f"there is no assignment {self.topic!r}", str(self.root), remedy)
        kept = [self._copy_path(name) for name in record.releases]
        paths = [self.file, *(path for path in kept if path.is_file())]
        templates = tuple(dict.fromkeys(_read_release(path) for path in paths))
        cells = _select_graded_cells(templates[0])
        plan = read_plan(self.root).assignment(self.topic)
        facts_file = self._record_file.with_suffix("") / "facts.json"
        facts = load_facts(facts_file, self.topic, record.seed, plan.extra)
        questions = read_exercises(self.topic, facts.trained)
        points = {
            question.name: float(cells[cell]["points"])
            for question in questions
            if (cell := points_id(question)) in cells
        }
        gone = {name for cell_id in cells if (name := exercise_of_text(cell_id))} - {e.name for e in questions}
        if gone:
            raise CourseError(
                f"the release asks for {', '.join(sorted(gone))}, but the key no longer has it",
                f"solutions/answer_key/{self.topic}.toml",
                "restore it, or release the assignment in a new course directory.",
            )
        asked = [question for question in questions if question.name in points]
        now = {
            question.name: plan.points.get(question.function, question.points)
            for question in asked
            if plan.asks(question)
        }
        return Released(
            self.topic,
            tuple(question.worth(points[question.name]) for question in asked),
            templates,
            points,
            record.seed,
            facts.digest,
            facts.digest != record.digest,
            {name: worth for name, worth in now.items() if worth != points[name]},
            plan.extra,
            tuple(record.attempt_seeds),
        )

    def hash(self) -> str:
        """Return a hash of the files that ``load`` reads: while it is the same, so is the result."""
        state = hashlib.sha256()
        for path in (self._record_file, self.file, self.root / PLAN_FILE):
            state.update(hashlib.sha256(path.read_bytes() if path.is_file() else b"").digest())
        return state.hexdigest()

    def choose_seed(self, given: int | None = None) -> int | None:
        """Return the seed of the hidden cases: ``given``, the plan's, or the last release's; None if one must be drawn."""
        record = self._load_record()
        kept = record.seed if record else None
        return next(
            (seed for seed in (given, read_plan(self.root).assignment(self.topic).seed, kept) if seed is not None), None
        )

    def attempt_seeds(self, seed: int) -> tuple[int, ...]:
        """Return the recorded seeds of the attempts after the first; () if the release's seed is not ``seed``."""
        record = self._load_record()
        return tuple(record.attempt_seeds) if record and record.seed == seed else ()

    def _load_record(self) -> ReleaseRecord | None:
        """Return the record of the releases, None before the first."""
        path = self._record_file
        if not path.is_file():
            return None
        try:
            return msgspec.json.decode(path.read_bytes(), type=ReleaseRecord)
        except (ValueError, RecursionError) as error:  # these include errors from msgspec and UTF-8
            again = format_command(f"release {self.topic}", self.root)
            remedy = f"restore a copy of this file, or move it away and run `{again}` again."
            raise CourseError(f"the record of the release is damaged ({error})", str(path), remedy) from None

    def _copy_path(self, name):
        return self.root / ".autograder" / "released" / self.topic / f"{name}.ipynb"

    @property
    def _record_file(self):
        return self.root / ".autograder" / "released" / f"{self.topic}.json"


def _read_log(path):
    """Return the entries of a log written before the record stored them."""
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    return [entry.strip() for entry in re.split(r"^(?=## Version )", text, flags=re.MULTILINE)[1:]]


def _read_release(path):
    """Return the text of the released notebook at ``path``."""
    remedy = "restore a copy of this file, or release the assignment again."
    try:
        text = path.read_text(encoding="utf-8")
        cells = json.loads(text)["cells"]
        if not all(isinstance(cell["metadata"], dict) and isinstance(cell["source"], str | list) for cell in cells):
            raise TypeError
    except (ValueError, TypeError, KeyError, RecursionError):
        raise CourseError("the released notebook is empty or damaged", str(path), remedy) from None
    return text


def _select_graded_cells(text):
    """Return nbgrader's metadata of the cells in the ``text`` of a release, by id."""
    metadata = [cell["metadata"]["nbgrader"] for cell in json.loads(text)["cells"] if "nbgrader" in cell["metadata"]]
    return {cell["grade_id"]: cell for cell in metadata}
