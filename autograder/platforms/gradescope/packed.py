"""What an archive for Gradescope holds of a course: one assignment as it was released, and how to grade it.

In and out: a frozen dataclass, and the text of a file. Pure.
"""

import json
from dataclasses import asdict, dataclass
from typing import Any, Self

from autograder.files import as_json
from autograder.sandbox import Limits

ASSIGNMENT_FILE = "assignment.json"


@dataclass(frozen=True)
class PackedAssignment:
    """An assignment: releases as JSON text, the newest first, points by exercise, the seed of its hidden cases, limits.

    ``beside`` are the names of files that belong to a notebook, ``settings`` those of nbgrader's pages, ``extra`` hidden
    cases of the course's own; ``digest`` is that of the exercises, so that no other version of them grades.
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

    @classmethod
    def of_text(cls, text: str) -> Self:
        data = json.loads(text)
        listed = {name: tuple(data[name]) for name in ("templates", "beside")}
        return cls(**{**data, **listed, "limits": Limits(**data["limits"])})

    def text(self) -> str:
        return as_json(asdict(self))
