"""The records of an exercise that is ready to be asked and judged, and what can be said of one.

In: nothing but the records themselves. Out: frozen dataclasses. Touches nothing.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from solutions import answer_key


@dataclass(frozen=True)
class Outcome:
    """What a call gave: a value (arrays, shapes, a dict of them), or the name of the exception in ``raised``."""

    value: object = None
    raised: str = ""


@dataclass(frozen=True)
class Case:
    """One call with everything worked out: inputs by argument in the order of the signature."""

    name: str
    shown: bool
    part: str
    inputs: dict
    expected: object
    atol: float
    gradients: tuple[str, ...]
    mistaken: dict  # name of a mistake -> Outcome


@dataclass(frozen=True)
class Trained:
    """How a file of trained weights is judged. ``provided`` is the code that the assignment's notebook holds ready."""

    file: str
    arrays: dict  # name -> shape
    provided: str
    inputs: dict  # what the weights are run on
    seed: int
    run: str
    draw: object
    measure: object
    thresholds: dict


@dataclass(frozen=True)
class Step:
    """How one entry of a chain follows from ``given`` entries before it: the text of a function of them, ``name``."""

    given: tuple[str, ...]
    name: str
    source: str


@dataclass(frozen=True)
class Exercise:
    """One exercise ready to be asked and judged. ``parts`` maps each part to its points; "" is the whole."""

    entry: answer_key.Entry
    source: str
    hints: dict  # name of a mistake -> sentence for the student
    parts: dict
    cases: tuple[Case, ...]
    trained: Trained | None = None
    follows: dict = field(default_factory=dict)  # entry of a chain -> Step

    @property
    def name(self):
        return self.entry.name

    @property
    def function(self):
        return self.entry.function

    @property
    def kind(self):
        return self.entry.kind

    @property
    def points(self):
        return self.entry.points

    @property
    def hidden(self):
        return tuple(case for case in self.cases if not case.shown)

    @property
    def shown(self):
        return tuple(case for case in self.cases if case.shown)

    @property
    def in_torch(self):
        return self.entry.module == "in_torch"

    @property
    def letters(self):
        """What each argument of a shape exercise counts."""
        return {letter: {**answer_key.LETTERS, **self.entry.letters}[letter] for letter in self.cases[0].inputs}

    @property
    def is_called(self):
        """Whether its function is called to judge it: a text is read, and of a trained model the file is used."""
        return self.kind in ("shape", "number", "code")

    @property
    def is_automatic(self):
        return self.kind != "text"


def with_points(exercise, points):
    """Return ``exercise`` worth ``points``, with its parts in proportion."""
    if points == exercise.points:
        return exercise
    parts = {name: round(part * points / exercise.points, 6) for name, part in exercise.parts.items()}
    return replace(exercise, entry=replace(exercise.entry, points=points), parts=parts)


def given_shapes(exercise, inputs):
    """Return the shapes of what stands in the equations of ``exercise`` beside its answer. A size of None may be any."""

    def size(term):
        return term if isinstance(term, int) else None if term == "?" else inputs[term]

    return {name: tuple(map(size, terms)) for name, terms in exercise.entry.given.items()}


def convert(exercise):
    """Return what turns a numpy array into the argument type of ``exercise``: a tensor, or the array itself."""
    if not exercise.in_torch:
        return lambda item: item
    import torch

    return lambda item: torch.from_numpy(item.copy()) if isinstance(item, np.ndarray) else item
