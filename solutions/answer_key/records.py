"""The records of the key: an exercise is one of five kinds; a case of code is shown or hidden, stated or drawn.

In: what ``reading`` has read and checked. Out: frozen dataclasses, each with just the fields that its kind has. What a
kind has not, and others have, is empty: a class variable of the record that they share. Touches nothing.
"""

import re
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Annotated, ClassVar, Literal

from msgspec import Meta

EMPTY = MappingProxyType({})
Number = int | float
Value = bool | int | float | list
Values = dict[str, Value]
Points = dict[str, Number]  # part -> its points
Word = Annotated[str, Meta(min_length=1)]
Count = Annotated[int, Meta(ge=1)]
Size = Annotated[int, Meta(ge=0)]


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """One argument to be drawn: normal numbers, a mask, weights that sum to 1, or their logarithms, or whole numbers."""

    shape: tuple[Size, ...] = ()
    draw: Literal["normal", "mask", "weights", "integers", "log_probabilities"] = "normal"
    below: Count | None = None
    empty_row: bool = False  # of a mask: its first row has no real token


@dataclass(frozen=True, kw_only=True)
class Argument:
    """What one argument of a function is: its ``kind``, which has families of inputs, and its ``axes``, outermost first.

    An axis is a letter, a number, or letters with " + " or " * " between them; whole numbers stay ``below`` one. ``range`` has the
    limits of its entries where they are not those of its kind; ``without`` names the families that do not occur.
    """

    kind: Word
    axes: tuple[Word | Count, ...]
    below: Word | Count | None = None
    range: tuple[Number, Number] | None = None
    without: tuple[Word, ...] = ()

    @property
    def letters(self):
        """The letters of all axes, each once, in their order."""
        return tuple(dict.fromkeys(letter for axis in self.axes for letter in letters_of(axis)))


def letters_of(axis):
    """Return the letters of an axis: "embedding_size + key_size" is as long as both together, " * " multiplies."""
    return [] if isinstance(axis, int) else re.split(r" [+*] ", axis)


@dataclass(frozen=True, kw_only=True)
class CaseRecord:
    """One call of the function. Without ``atol``, the tolerance goes with the size of the expected value."""

    shown: ClassVar = False
    part: ClassVar = ""
    inputs: ClassVar = None
    shapes: ClassVar = None
    expected: ClassVar = None
    name: str
    atol: Number | None = None
    gradients: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ShownCase(CaseRecord):
    """A case that the check cell tries, worked by hand: it states inputs and expected value."""

    shown: Literal[True] = True
    inputs: Values = field()  # field(): or the empty value of CaseRecord would be the default
    expected: Value | Values = field()


@dataclass(frozen=True, kw_only=True)
class ShownDrawnCase(CaseRecord):
    """A case that the check cell tries, of sizes that nobody works by hand. Drawn once: no release has other numbers."""

    shown: Literal[True] = True
    shapes: dict[str, Drawn] = field()
    scale: Number = 1.0


@dataclass(frozen=True, kw_only=True)
class StatedCase(CaseRecord):
    """A hidden case with stated inputs; the reference gives the expected value."""

    part: str = ""
    inputs: Values = field()


@dataclass(frozen=True, kw_only=True)
class DrawnCase(CaseRecord):
    """A hidden case with drawn inputs; normal numbers are multiplied by ``scale``."""

    part: str = ""
    shapes: dict[str, Drawn] = field()
    scale: Number = 1.0


@dataclass(frozen=True, kw_only=True)
class Criterion:
    """One line of a marking scheme: what earns the points, and a comment for answers that miss it."""

    points: Number
    text: str
    comment: str


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One exercise as the key states it. ``name`` is ``topic-function``; ``where`` is its place in the file.

    With 0 ``points``, it is a warm-up: nobody grades it, and its check gives the whole answer. The ``core`` exercises
    are enough to understand attention from end to end.
    """

    kind: ClassVar[str]
    module: ClassVar = "in_numpy"
    parts: ClassVar = EMPTY
    equations: ClassVar = ()
    follows: ClassVar = EMPTY
    holds: ClassVar = EMPTY
    cases: ClassVar = ()
    arguments: ClassVar = EMPTY
    gradients: ClassVar = ()
    least: ClassVar = EMPTY
    most: ClassVar = EMPTY
    reaches: ClassVar = None
    criteria: ClassVar = ()
    minutes: ClassVar = 0
    model: ClassVar = ""
    name: str
    where: str
    points: Number
    core: bool = False

    @property
    def topic(self):
        return self.name.split("-")[0]

    @property
    def function(self):
        return self.name.split("-")[1]

    @property
    def reference_module(self):
        """The name of the module with the reference answer."""
        return f"solutions.{self.module}.{self.topic}"


@dataclass(frozen=True, eq=False)
class FromEntry:
    """An exercise made from an ``entry`` of the key. Its subclasses say which two are equal."""

    entry: Entry

    @property
    def name(self) -> str:
        return self.entry.name

    @property
    def function(self) -> str:
        return self.entry.function

    @property
    def kind(self) -> str:
        return self.entry.kind

    @property
    def points(self) -> float:
        return self.entry.points

    @property
    def is_automatic(self) -> bool:
        return self.kind != "text"


@dataclass(frozen=True, kw_only=True)
class Shape(Entry):
    """An exercise about shapes, which may name ``equations`` in which they must fit together.

    ``given`` has what stands in them besides, as the exercise's text states it: sizes are letters, numbers, or "?" for
    any. ``letters`` says what a letter counts where that is not as in ``LETTERS``.
    """

    kind: Literal["shape"] = "shape"
    parts: Points = field(default_factory=dict)
    equations: tuple[str, ...] = ()
    given: dict[str, list[str | int]] = field(default_factory=dict)
    letters: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class HandWorked(Entry):
    """Numbers worked by hand. In a chain, ``follows`` names the steps that each step is computed from.

    ``holds`` has what the check may say of any right answer without giving it away: a comparison in Python's notation,
    and the sentence for those of whom it is not true.
    """

    kind: Literal["number"] = "number"
    atol: Number
    parts: Points = field(default_factory=dict)
    follows: dict[str, list[str]] = field(default_factory=dict)
    holds: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Code(Entry):
    """The function of an equation.

    Its hidden cases are drawn for its ``arguments``, from all families that these have; ``gradients`` names those by which
    the gradient of the summed result is asked as well, and ``least`` how long an axis is at least, if not 1. Each axis is once as
    long as ``most`` says, or ``LONGEST``. ``reaches`` is how large the scores get that an answer computes on its way.
    ``cases`` are shown ones, and hidden ones that matter beyond that.
    """

    kind: Literal["code"] = "code"
    module: Literal["in_numpy", "in_torch"] = "in_numpy"
    parts: Points = field(default_factory=dict)
    arguments: dict[str, Argument] = field(default_factory=dict)
    gradients: tuple[str, ...] = ()
    least: dict[str, Count] = field(default_factory=dict)
    most: dict[str, Count] = field(default_factory=dict)
    reaches: Number | None = None
    cases: tuple[CaseRecord, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Trained(Entry):
    """A ``file`` of weights that the student's function has trained.

    ``run`` names the function that uses it on what ``draw`` draws, ``measure`` the one that turns the result into numbers,
    and ``thresholds`` what each part must reach. ``model`` names the function that builds the model whose parameters it holds.
    ``minutes`` is how long it takes where the points do not tell, because most of the program has been written before.
    """

    kind: Literal["trained"] = "trained"
    module: Literal["in_numpy", "in_torch"] = "in_numpy"
    parts: Annotated[Points, Meta(min_length=1)] = field()
    file: Word
    run: Word
    measure: Word
    draw: Word
    thresholds: dict[str, Number]
    model: Word = "build_model"
    minutes: int = 0


@dataclass(frozen=True, kw_only=True)
class Text(Entry):
    """A few sentences, marked by a person: a model ``answer``, and the lines of the marking scheme.

    ``minutes`` is how long it takes where the points do not tell, because of a program that is written or models that are trained.
    """

    kind: Literal["text"] = "text"
    answer: str = ""
    criteria: tuple[Criterion, ...] = ()
    minutes: int = 0


KINDS = {record.kind: record for record in (Shape, HandWorked, Code, Trained, Text)}
