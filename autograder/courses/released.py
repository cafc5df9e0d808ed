"""The released state of a topic, as far as it can be known without loading the exercises.

In: the release, the key. Out: frozen records. Reads the key and the course directory, where it caches the facts that require
loading the exercises until one of their sources changes.
"""

import contextlib
import hashlib
import json
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cache, cached_property
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from autograder.files import as_json, digest, write_text
from autograder.paths import ROOT
from solutions.answer_key import FromEntry, with_points
from solutions.answer_key import load as load_key

if TYPE_CHECKING:  # reading a release must not import these
    from nbformat import NotebookNode

    from autograder.exercises import Exercise
    from autograder.grading.submission import ReleaseFacts


@dataclass(frozen=True)
class TrainedFile:
    """A file of trained parameters that an exercise asks for: its name, and the shapes of its arrays, by name."""

    file: str
    arrays: dict[str, tuple[int, ...]]


@dataclass(frozen=True)
class ReleasedExercise(FromEntry):
    """An exercise as it was released: its entry in the key, worth the points of the release."""

    trained: TrainedFile | None = None

    def worth(self, points: float) -> "ReleasedExercise":
        return replace(self, entry=with_points(self.entry, points))


@dataclass(frozen=True)
class Released:
    """The released state of a topic: exercises, releases as JSON text, newest first, points by exercise.

    ``changed`` says whether the key, the solutions or the course's own cases have changed since; ``other_points`` has the
    points in the key or course.toml that differ from the release's, which are the ones that count. ``extra`` has the
    course's own hidden cases, ``attempt_seeds`` the seeds of the attempts after the first that were proved.
    """

    topic: str
    exercises: tuple[ReleasedExercise, ...]
    templates: tuple[str, ...]
    points: dict[str, float]
    seed: int
    digest: str  # of the exercises as they are now
    changed: bool
    other_points: dict[str, float]
    extra: str = ""
    attempt_seeds: tuple[int, ...] = ()

    @property
    def facts(self) -> "ReleaseFacts":
        """What a worker has to know of it."""
        from autograder.grading.submission import ReleaseFacts

        return ReleaseFacts(
            self.topic, self.templates, self.points, self.seed, self.digest, self.extra, self.attempt_seeds
        )

    def find_recorded_seed(self, attempt: int) -> int | None:
        """Return the seed recorded for ``attempt``, counting from 0; None for the first, and for one not proved."""
        return next(iter(self.attempt_seeds[attempt - 1 : attempt]), None) if attempt else None

    @cached_property
    def version(self) -> str:
        """A hash of everything that verdicts depend on, apart from the submission."""
        state = json.dumps([self.digest, self.points, self.templates])
        return hashlib.sha256(state.encode()).hexdigest()

    @cached_property
    def notebooks(self) -> tuple["NotebookNode", ...]:
        import nbformat

        return tuple(nbformat.reads(text, as_version=4) for text in self.templates)

    def load_exercises(self) -> tuple["Exercise", ...]:
        """Return the exercises with their references, mistakes and cases, and the points of the release."""
        from autograder import exercises

        loaded = exercises.load(self.topic, self.seed, self.extra)
        return tuple(
            exercises.with_points(exercise, self.points[exercise.name])
            for exercise in loaded
            if exercise.name in self.points
        )


@dataclass(frozen=True)
class ExerciseFacts:
    """Facts that require loading the exercises: the hash that verdicts depend on, and the files of trained parameters.

    ``made_of`` is a hash of their sources: while it is unchanged, so is the rest.
    """

    made_of: str
    digest: str
    trained: dict[str, TrainedFile]  # by exercise


def load_facts(path: Path, topic: str, seed: int, extra: str) -> ExerciseFacts:
    """Return the ``ExerciseFacts`` of ``topic``, cached at ``path``."""
    state = [_source_hashes(), topic, seed, extra]
    made_of = hashlib.sha256(json.dumps(state).encode()).hexdigest()
    with contextlib.suppress(OSError, msgspec.DecodeError):
        known = msgspec.json.decode(path.read_bytes(), type=ExerciseFacts)
        if known.made_of == made_of:
            return known
    from autograder import exercises

    loaded = exercises.load(topic, seed, extra)
    trained = {
        exercise.name: TrainedFile(exercise.trained.file, exercise.trained.arrays)
        for exercise in loaded
        if exercise.trained
    }
    facts = ExerciseFacts(made_of, exercises.digest(loaded), trained)
    with contextlib.suppress(OSError):  # the course may be read-only
        write_text(as_json(asdict(facts)), path)
    return facts


def read_exercises(topic: str, trained: Mapping[str, TrainedFile]) -> tuple[ReleasedExercise, ...]:
    """Return the exercises of ``topic`` as the key has them now; ``trained`` comes from the ``ExerciseFacts``."""
    return tuple(ReleasedExercise(entry, trained.get(entry.name)) for entry in load_key(topic).values())


@cache
def _source_hashes():
    """Return what exercises depend on: a hash of answers, key and the code that draws cases, and package versions."""
    code = digest([ROOT / "solutions", ROOT / "autograder" / "exercises"], ("*.py", "*.toml"))
    return [code, version("numpy"), version("torch"), platform.python_version()]
