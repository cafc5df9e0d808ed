"""The part of a course that an archive for Gradescope contains: one released assignment, and how to grade it.

In and out: a frozen dataclass, and its JSON text. Pure.
"""

from dataclasses import asdict, dataclass
from typing import Any, Self

import msgspec

from autograder.files import as_json
from autograder.sandbox import Limits

ASSIGNMENT_FILE = "assignment.json"


@dataclass(frozen=True)
class PackedAssignment:
    """An assignment: releases as JSON text, newest first, points by exercise, the seed of its hidden cases, limits.

    ``beside`` has the names of files that belong to a notebook, ``settings`` the settings of nbgrader's pages, ``extra`` the
    course's own hidden cases, ``attempt_seeds`` the seeds of later attempts; ``digest`` is the hash of the exercises, which
    ensures that only this version of them is used for grading.
    """

    topic: str
    templates: tuple[str, ...]
    points: dict[str, float]
    beside: tuple[str, ...]
    seed: int
    digest: str
    extra: str
    settings: dict[str, Any]
    limits: Limits
    attempt_seeds: tuple[int, ...] = ()

    @classmethod
    def from_json(cls, text: str) -> Self:
        return msgspec.json.decode(text, type=cls)

    def to_json(self) -> str:
        return as_json(asdict(self))
