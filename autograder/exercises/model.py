"""The records of an exercise that is ready to be asked and judged, what can be derived from them, and a hash of several.

In: only the records themselves. Out: frozen dataclasses. Touches nothing.
"""

import hashlib
import inspect
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property, lru_cache, partial
from typing import TypeVar, cast

import numpy as np

from autograder.exercises import compare
from solutions import answer_key

ROUNDING = 1e-12  # relative to the largest entry of an array, or to 1: smaller ones may be 0 on another processor
Item = TypeVar("Item")


@dataclass(frozen=True)
class Outcome:
    """The outcome of a call: a value (arrays, shapes, a dict of them), or the name of the exception in ``raised``."""

    value: object = None
    raised: str = ""


class LazyMapping(Mapping[str, Item]):
    """A mapping with the keys ``names`` whose items are computed on first access and cached."""

    def __init__(self, names: Iterable[str], item_of: Callable[[str], Item]):
        self._names, self._item_of, self._known = tuple(names), item_of, {}

    def __getitem__(self, name: str) -> Item:
        if name not in self._known:
            if name not in self._names:
                raise KeyError(name)
            self._known[name] = self._item_of(name)
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


@dataclass(frozen=True)
class Case:
    """One call with everything computed. ``inputs`` are in the order of the function's signature.

    It counts for ``part``, but if it fails and one of the parts in ``also`` fails without it, only that one is to blame.
    ``families`` say in words what is special about its inputs, and where to look if only such calls are wrong.
    """

    name: str
    shown: bool
    part: str
    inputs: dict[str, np.ndarray | float]
    expected: object  # as the value of an Outcome
    atol: float
    gradients: tuple[str, ...]
    mistaken: Mapping[str, Outcome]  # by the name of the mistake
    also: tuple[str, ...] = ()
    families: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class TrainedWeights:
    """How a file of trained weights is judged.

    ``provided`` is the code that the assignment's notebook provides; ``hidden`` is what else ``run`` needs, which no student
    sees.
    """

    file: str
    arrays: dict[str, tuple[int, ...]]  # name -> shape
    provided: str
    hidden: str
    seed: int
    run: str
    draw: Callable[[int], dict[str, np.ndarray]]
    measure: Callable[[object, dict[str, np.ndarray]], dict[str, float]]
    thresholds: dict[str, float]

    @cached_property
    def inputs(self) -> dict[str, np.ndarray]:
        """Evaluation data for the weights, drawn when first needed because drawing them takes seconds."""
        return self.draw(self.seed)


@dataclass(frozen=True)
class ChainStep:
    """How to compute one entry of a chain from the ``given`` earlier ones: the source of the function ``name``."""

    given: tuple[str, ...]
    name: str
    source: str


@dataclass(frozen=True, eq=False)
class Exercise(answer_key.FromEntry):
    """One exercise ready to be asked and judged. ``parts`` maps each part to its points; "" is the whole exercise.

    Exercises compare by identity, so that results can be cached under one. To compare their contents, see ``digest``.
    """

    source: str
    hints: dict[str, str]  # name of a mistake -> sentence for the student
    parts: dict[str, float]
    cases: tuple[Case, ...]
    trained: TrainedWeights | None = None
    follows: dict[str, ChainStep] = field(default_factory=dict)  # by the entry of a chain
    mistakes: dict[str, str] = field(default_factory=dict)  # name -> text of the function

    @cached_property
    def hidden(self) -> tuple[Case, ...]:
        return tuple(case for case in self.cases if not case.shown)

    @cached_property
    def shown(self) -> tuple[Case, ...]:
        return tuple(case for case in self.cases if case.shown)

    @cached_property
    def misses(self) -> tuple[Mapping[str, dict[str, str]], ...]:
        """What each mistake gets wrong in each of the ``hidden`` cases: name -> entry -> reason; {} if it raises."""
        return tuple(
            LazyMapping(case.mistaken, partial(_mismatches_of_mistake, self.kind, case)) for case in self.hidden
        )

    def accepts(self, case: Case, outcome: Outcome, atol: float | None = None) -> bool:
        """Return whether ``outcome`` is right in ``case``: within its tolerance, or within ``atol``."""
        atol = case.atol if atol is None else atol
        return not outcome.raised and compare.is_right(outcome.value, case.expected, self.kind, atol)

    @property
    def in_torch(self) -> bool:
        return self.entry.module == "in_torch"

    @property
    def letters(self) -> dict[str, str]:
        """What each argument of a shape exercise counts."""
        entry = cast("answer_key.Shape", self.entry)
        return {letter: {**answer_key.LETTERS, **entry.letters}[letter] for letter in self.cases[0].inputs}

    @property
    def is_called(self) -> bool:
        """Whether its function is called to judge it: a text is read instead, and a trained model is judged by its file."""
        return self.kind in ("shape", "number", "code")


def _mismatches_of_mistake(kind, case, name):
    outcome = case.mistaken[name]
    return {} if outcome.raised else compare.mismatches(outcome.value, case.expected, kind, case.atol)


@lru_cache(maxsize=1024)
def with_points(exercise: Exercise, points: float) -> Exercise:
    """Return ``exercise`` worth ``points``, with its parts in proportion; the result is cached."""
    if points == exercise.points:
        return exercise
    share = points / exercise.points
    parts = {name: round(part * share, 6) for name, part in exercise.parts.items()}
    return replace(exercise, entry=answer_key.with_points(exercise.entry, points), parts=parts)


def compute_given_shapes(exercise: Exercise, inputs: Mapping[str, int]) -> dict[str, tuple[int | None, ...]]:
    """Return the shapes of the given operands in the equations of ``exercise``. A size of None matches any."""

    def size(term):
        return term if isinstance(term, int) else None if term == "?" else inputs[term]

    given = cast("answer_key.Shape", exercise.entry).given  # no other kind has equations
    return {name: tuple(map(size, terms)) for name, terms in given.items()}


def convert(exercise: Exercise) -> Callable[[object], object]:
    """Return a function that converts an array to the type of the arguments of ``exercise``: array or tensor."""
    if not exercise.in_torch:
        return lambda item: item
    import torch

    return lambda item: torch.from_numpy(item.copy()) if isinstance(item, np.ndarray) else item


def digest(exercises: Iterable[Exercise]) -> str:
    """Return a hash of everything in ``exercises`` that a verdict depends on; it is the same on every machine."""
    return _digest(tuple(exercises))


@lru_cache(maxsize=64)
def _digest(exercises):
    state = []
    for e in exercises:
        cases = [_verdict_inputs(case) for case in e.cases]
        trained = e.trained and asdict(e.trained) | {"inputs": e.trained.inputs}
        follows = {entry: asdict(step) for entry, step in e.follows.items()}
        entry = {name: value for name, value in asdict(e.entry).items() if name != "where"}
        state.append([entry, e.source, e.hints, e.mistakes, cases, trained, follows])
    return hashlib.sha256(json.dumps(state, sort_keys=True, default=_canonical_value).encode()).hexdigest()


def _verdict_inputs(case):
    """Return what a verdict depends on. In hidden cases with a ``part``, outcomes of mistakes are left to their sources."""
    with_outcomes = case.shown or not case.part
    mistaken = {name: asdict(outcome) for name, outcome in case.mistaken.items()} if with_outcomes else {}
    everything = {field.name: getattr(case, field.name) for field in fields(case)}
    # The tolerance is computed, and JSON would keep all its digits.
    return everything | {"mistaken": mistaken, "atol": _canonical_value(case.atol)}


def _canonical_value(value):
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":  # the last digits depend on the processor
        noise = ROUNDING * np.abs(value).max(initial=1.0, where=np.isfinite(value))
        return [value.dtype.str, value.shape, [f"{0.0 if abs(item) < noise else item:.8g}" for item in value.flat]]
    if isinstance(value, np.ndarray):
        return [value.dtype.str, value.shape, hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()]
    if isinstance(value, float | np.floating):
        return f"{value:.8g}"
    if isinstance(value, Mapping):
        return dict(value)
    return inspect.getsource(value) if inspect.isfunction(value) else repr(value)
