"""The names of an assignment's cells: nbgrader's ``grade_id`` of each cell of an exercise. Pure."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # importing them takes longer than everything that is done here
    from nbformat import NotebookNode

    from solutions.answer_key import FromEntry

COMPARE, IMPORTS, RECEIPT, REQUEST = "compare", "imports", "receipt", "request"
MENDED = "mended"  # not a grade_id, but the id of the cell that lists the repairs


def full_name(topic: str, exercise: str) -> str:
    """Return the name of an exercise with its topic, which ``exercise`` may have already."""
    return exercise if exercise.startswith(f"{topic}-") else f"{topic}-{exercise}"


def text_id(exercise_name: str) -> str:
    return f"{exercise_name}-text"


def warm_up_id(exercise_name: str) -> str:
    """Return the id of the text of a warm-up. It differs from ``text_id`` because nothing that is graded belongs to it."""
    return f"{exercise_name}-warm_up"


def check_id(exercise_name: str) -> str:
    return f"{exercise_name}-check"


def run_id(exercise_name: str) -> str:
    return f"{exercise_name}-run"


def test_id(exercise_name: str) -> str:
    return f"{exercise_name}-test"


def points_id(exercise: "FromEntry") -> str:
    """Return the id of the cell that has the points of ``exercise``: the answer to a written one, else the hidden test."""
    return test_id(exercise.name) if exercise.is_automatic else exercise.name


def exercise_of_text(cell_id: str) -> str | None:
    """Return the name of the exercise whose text is in the cell ``cell_id``; None if it is not an exercise's text."""
    name = cell_id.removesuffix("-text")
    return name if text_id(name) == cell_id else None


def is_warm_up(cell_id: str) -> bool:
    """Return whether the text of a warm-up is in the cell ``cell_id``."""
    return cell_id.endswith("-warm_up")


def exercise_of_test(cell_id: str) -> str:
    """Return the name of the exercise whose points the cell ``cell_id`` has; see ``points_id``."""
    return cell_id.removesuffix("-test")


def id_of(cell: Mapping[str, Any]) -> str | None:
    """Return the id of ``cell``; None if it has none, or an invalid one."""
    metadata = cell["metadata"]
    meta = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    grade_id = meta.get("grade_id") if isinstance(meta, dict) else None
    return grade_id if isinstance(grade_id, str) and grade_id else None


def code_cells(notebook: "NotebookNode") -> "list[NotebookNode]":
    """Return the code cells of ``notebook`` in order: their places in this list number the outputs of ``Graded``."""
    return [cell for cell in notebook.cells if cell.cell_type == "code"]
