"""Mend what happens to notebooks on their way: cells deleted, copied, edited though locked, ids doubled or changed.

In: a submitted notebook, the release. Out: notes that say what was mended; the notebook is changed in place. Pure
otherwise. Also decides, on a file, whether there is a notebook to grade at all.
"""

import copy
import json
import re
from itertools import count
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_raw_cell

from autograder.errors import CourseError

MAX_MB = 20
CELL_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
PICTURES = ("image/png", "image/jpeg", "image/gif")


def read_submission(path, template, topic, max_mb=MAX_MB):
    """Return the notebook at ``path``.

    Raises
    ------
    CourseError
        If the file cannot be graded: the message is for the student.
    """
    path = Path(path)
    again = f"open your notebook, save it, and hand in the file {topic}.ipynb again."
    if not path.is_file() or path.is_symlink():
        others = sorted(other.name for other in path.parent.glob("*.ipynb") if other.name != path.name)
        instead = f"; there is {', '.join(others)}" if others else ""
        raise CourseError(f"this file is missing{instead}", path.name, f"hand in {topic}.ipynb, under that name.")
    size = path.stat().st_size
    if size == 0:
        raise CourseError("the file is empty", path.name, again)
    if size > max_mb * 2**20:
        remedy = f"clear the outputs (at most {max_mb} MB can be graded) and hand in again."
        raise CourseError(f"the file has {size / 2**20:.0f} MB", path.name, remedy)
    try:
        data = json.loads(path.read_bytes())
        if type(data) is not dict or "cells" not in data or data.get("nbformat") != 4:
            raise ValueError
        notebook = rebuild(data, template)
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError):
        raise CourseError("this is not a Jupyter notebook", path.name, again) from None
    ids = {_grade_id(cell) for cell in notebook.cells} - {None}
    exercises = {grade_id for cell in template.cells if (grade_id := _grade_id(cell)) and "-" in grade_id}
    if not ids:
        remedy = "work in the notebook that was handed out: in this file, the marks that name the exercises are gone."
        raise CourseError("no cell says which exercise it belongs to", path.name, remedy)
    if not ids & exercises:
        other = sorted(grade_id.split("-")[0] for grade_id in ids if "-" in grade_id)
        which = f" ({other[0]})" if other else ""
        raise CourseError(f"this notebook belongs to another assignment{which}", path.name, again)
    return notebook


def rebuild(data, template):
    """Return a valid notebook with the cells of ``data`` and the metadata of ``template``; raise what comes otherwise."""
    cells = [_rebuilt(cell) for cell in data["cells"]]
    _give_ids(cells)
    return new_notebook(cells=cells, metadata=copy.deepcopy(template.metadata))


def repair(notebook, template):
    """Give every cell of ``template`` its one place in ``notebook``; return a list of sentences on what was mended."""
    notes, released = [], {_grade_id(cell): cell for cell in template.cells if _grade_id(cell)}
    seen = set()
    for cell in reversed(notebook.cells):  # of copies, the last one counts, as with nbgrader
        grade_id = _grade_id(cell)
        if "nbgrader" in cell.metadata and (grade_id not in released or grade_id in seen):
            if grade_id in released:
                notes.append(f"There were several cells {grade_id}; the last one counts.")
            del cell.metadata["nbgrader"]
        elif grade_id:
            seen.add(grade_id)
            _restore(cell, released[grade_id], notes)
    for grade_id, cell in released.items():
        if grade_id not in seen and cell.metadata.nbgrader.grade:
            notes.append(f"The cell {grade_id} was missing; it was put back at the end.")
            notebook.cells.append(copy.deepcopy(cell))
    _give_ids(notebook.cells)
    return notes


def tell(notebook, notes):
    """Say at the head of ``notebook``, so also of the feedback page, what was mended."""
    if notes:
        lines = ["**Before it was graded, this notebook was mended:**", "", *(f"- {note}" for note in notes)]
        notebook.cells.insert(0, new_markdown_cell("\n".join(lines), id="mended"))


def _restore(cell, original, notes):
    """Give ``cell`` the metadata that was handed out, and its text too if it was locked."""
    if cell.cell_type != original.cell_type:
        cell["cell_type"] = original.cell_type
        if original.cell_type == "code":
            cell["outputs"], cell["execution_count"] = [], None
        else:
            cell.pop("outputs", None)
            cell.pop("execution_count", None)
    cell.metadata["nbgrader"] = copy.deepcopy(original.metadata.nbgrader)
    if original.metadata.nbgrader.locked and cell.source != original.source:
        notes.append(f"The locked cell {original.metadata.nbgrader.grade_id} had been changed; it was put back.")
        cell["source"] = original.source


def _grade_id(cell):
    meta = cell.metadata.get("nbgrader")
    grade_id = meta.get("grade_id") if isinstance(meta, dict) else None
    return grade_id if isinstance(grade_id, str) and grade_id else None


def _rebuilt(data):
    """Return a new cell with what counts of ``data``: type, text, pasted pictures, id, and which exercise it is.

    Outputs and all other metadata stay behind: they are made anew, or decide nothing.
    """
    source = "".join(data["source"]) if isinstance(data["source"], list) else data["source"]
    if not isinstance(source, str):
        raise ValueError
    make = {"code": new_code_cell, "markdown": new_markdown_cell, "raw": new_raw_cell}[data["cell_type"]]
    cell = make(source.encode("utf-8", "replace").decode())
    cell["id"] = data.get("id")
    meta = data.get("metadata")
    if isinstance(meta, dict) and "nbgrader" in meta:
        cell.metadata["nbgrader"] = nbformat.from_dict(meta["nbgrader"])
    pictures = data.get("attachments")
    if data["cell_type"] == "markdown" and isinstance(pictures, dict):
        cell["attachments"] = {
            str(name): {mime: text for mime, text in picture.items() if mime in PICTURES and isinstance(text, str)}
            for name, picture in pictures.items()
            if isinstance(picture, dict)
        }
    return cell


def _give_ids(cells):
    """Give a new id to each cell whose own is not valid or not its own."""
    used = set()
    for cell in cells:
        name = cell.get("id")
        if not isinstance(name, str) or not CELL_ID.fullmatch(name) or name in used:
            name = next(n for number in count() if (n := f"repaired-{number}") not in used)
        cell["id"] = name
        used.add(name)
