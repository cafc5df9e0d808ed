"""Cells that students add: they may contain the answer to a written question, which must not go unread."""

import re
import string
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from autograder.notebooks.cell_ids import id_of, text_id

REQUEST = re.compile(r"[\s#>*_]*please\s+look\s+again\s+at\b\s*…?", re.IGNORECASE)
INSTRUCTION = (
    "*After your feedback, you can ask a person to look at an exercise again: complete this sentence with its name and "
    "your reason, save, and hand in the notebook once more. Otherwise, leave this cell as it is.*"
)
INVISIBLE = f"{string.whitespace}\u00a0\u200b\ufeff"  # spaces, and characters without width
UNTOUCHED_REQUEST = f"Please look again at …\n\n{INSTRUCTION}"


def is_request(cell: Mapping[str, Any]) -> bool:
    """Return whether a cell is a request for another look at an exercise, completed or not: it is not part of an answer."""
    return cell["cell_type"] == "markdown" and bool(REQUEST.match(source_of(cell)))


def request_words(cell: Mapping[str, Any]) -> str:
    """Return what a request says in one line, without the notebook's instruction; "" if its sentence was not completed."""
    lines = (" ".join(line.split()) for line in source_of(cell).splitlines())
    text = " ".join(line for line in lines if line and line != INSTRUCTION)
    asked = REQUEST.sub("", text, count=1) if REQUEST.match(text) else text
    return text.replace("at …", "at", 1) if re.search(r"\w", asked) else ""


def select_added_cells(cells: Iterable[Mapping[str, Any]], exercise_name: str) -> Iterator[Mapping[str, Any]]:
    """Yield the non-empty cells that were added between ``exercise_name`` and the exercise after it, except requests."""
    inside = False
    for cell in cells:
        if grade_id := id_of(cell):
            inside = grade_id in (exercise_name, text_id(exercise_name))
        elif inside and source_of(cell).strip() and not is_request(cell):
            yield cell


def is_as_released(cell: Mapping[str, Any]) -> bool:
    """Return whether a cell of the release still has the text that was handed out."""
    import nbformat
    from nbgrader.utils import compute_checksum

    node = cast(nbformat.NotebookNode, nbformat.from_dict({**cell, "source": source_of(cell)}))
    return cell["metadata"]["nbgrader"].get("checksum") == compute_checksum(node)


def is_unanswered(cell: Mapping[str, Any]) -> bool:
    """Return whether a cell of the release is as it was handed out, or has been emptied."""
    return not source_of(cell).strip(INVISIBLE) or is_as_released(cell)


def source_of(cell: Mapping[str, Any]) -> str:
    """Return the text of ``cell``, which a file may store as a list of lines."""
    source = cell["source"]
    return source if isinstance(source, str) else "".join(source)


def format_as_markdown(cell: Mapping[str, Any]) -> str:
    """Return the content of a cell as Markdown, with code in a code block."""
    text = source_of(cell)
    if cell["cell_type"] == "markdown":
        return text
    fence = "`" * max(3, 1 + max((len(run) for run in text.split("\n") if set(run.strip()) == {"`"}), default=0))
    return f"{fence}\n{text}\n{fence}"
