"""What pages must know of a graded submission: this room stands below the one that grades, and names no class of it.

In and out: nothing. Protocols only.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol


class Part(Protocol):
    """One part of an exercise, as ``judge.Part``."""

    @property
    def name(self) -> str: ...

    @property
    def points(self) -> float: ...

    @property
    def reason(self) -> str: ...

    @property
    def note(self) -> str: ...


class Verdict(Protocol):
    """What one exercise earned, as ``judge.Verdict``."""

    @property
    def exercise(self) -> str: ...

    @property
    def earned(self) -> float | None: ...

    @property
    def points(self) -> float: ...

    @property
    def parts(self) -> Sequence[Part]: ...

    @property
    def hints(self) -> Sequence[str]: ...


class Graded(Protocol):
    """One submission, as ``grade.Graded``."""

    @property
    def outputs(self) -> Mapping[int, tuple[int | None, Sequence[Mapping[str, object]]]]: ...

    @property
    def failure(self) -> str: ...

    @property
    def by_exercise(self) -> Mapping[str, Verdict]: ...
