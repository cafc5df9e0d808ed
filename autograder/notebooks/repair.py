"""Repair submitted notebooks: cells deleted, copied, edited although locked, and ids duplicated or changed.

Also decides whether there is a notebook to grade at all. Pure, except that notebooks are changed in place.
"""

import copy
import json
import re
from collections.abc import Iterable, Sequence
from itertools import count
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell

from autograder.errors import CourseError
from autograder.notebooks.cell_ids import MENDED, check_id, id_of, test_id

MAX_CELLS = 1000
MAX_CHARACTERS = 1_000_000  # characters in all cells together
CONFLICT = re.compile(rb"^<{7}(?= )", flags=re.MULTILINE)  # with which git marks a conflict
CELL_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
PICTURES = ("image/png", "image/jpeg", "image/gif")
BASE64 = re.compile(r"[A-Za-z0-9+/=\s]*")


def read_notebook(content: bytes, templates: Sequence[NotebookNode], topic: str) -> tuple[NotebookNode, NotebookNode]:
    """Return ``(notebook, its template)`` of a file; raise CourseError, for the student, if it cannot be graded."""
    name = f"{topic}.ipynb"
    again = f"open your notebook, save it, and hand in the file {name} again."
    try:
        data = json.loads(content)
        if type(data) is not dict or type(data.get("cells")) is not list or data.get("nbformat") != 4:
            raise ValueError
        shorten = "delete what is not part of your answers, and hand it in again."
        if len(data["cells"]) > MAX_CELLS:
            raise CourseError(f"it has {len(data['cells'])} cells; at most {MAX_CELLS} can be graded", name, shorten)
        notebook = rebuild(data, templates[0])
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError):
        if marker := CONFLICT.search(content):
            line = content[: marker.start()].count(b"\n") + 1
            problem = f"git could not merge two versions of this file: line {line} begins with {marker[0].decode()}"
            remedy = "take one version whole, as with `git checkout --ours`, open it in Jupyter, and hand it in again."
            raise CourseError(problem, name, remedy) from None
        raise CourseError("this is not a Jupyter notebook", name, again) from None
    length = sum(len(cell.source) for cell in notebook.cells)
    if length > MAX_CHARACTERS:
        raise CourseError(f"its cells have {length} characters; at most {MAX_CHARACTERS} can be graded", name, shorten)
    template = _closest_template(notebook, templates)
    ids = {grade_id for cell in notebook.cells if (grade_id := id_of(cell))}
    exercises = {grade_id for cell in template.cells if (grade_id := id_of(cell)) and "-" in grade_id}
    if not ids:
        remedy = "work in the notebook that was handed out: this file has lost the labels that identify the exercises."
        raise CourseError("no cell is labelled with its exercise", name, remedy)
    if not ids & exercises:
        other = sorted(grade_id.split("-")[0] for grade_id in ids if "-" in grade_id)
        which = f" ({other[0][:40]})" if other else ""
        raise CourseError(f"this notebook belongs to another assignment{which}", name, again)
    return notebook, template


def _closest_template(notebook, templates):
    """Return the one of ``templates``, newest first, of which ``notebook`` has kept the most locked cells."""
    sources = {id_of(cell): cell.source for cell in notebook.cells}

    def count_kept(template):
        locked = [cell for cell in template.cells if cell.metadata.nbgrader.locked]
        return sum(sources.get(id_of(cell)) == cell.source for cell in locked)

    return max(templates, key=count_kept)  # in a tie, the first


def rebuild(data: dict[str, Any], template: NotebookNode) -> NotebookNode:
    """Return a valid notebook with the cells of ``data`` and the metadata of ``template``; raise a built-in error otherwise."""
    cells = [_rebuild_cell(cell) for cell in data["cells"]]
    _give_ids(cells)
    return NotebookNode(metadata=copy.deepcopy(template.metadata), nbformat=4, nbformat_minor=5, cells=cells)


def repair(notebook: NotebookNode, template: NotebookNode) -> list[str]:
    """Restore the cells of ``template`` in ``notebook``, each once, and add missing grade cells; describe the repairs.

    The check and the hidden test of an answer are moved below it, so that they concern the answer that is shown.
    """
    notes, released = [], {id_of(cell): cell for cell in template.cells if id_of(cell)}
    seen = set()
    for cell in reversed(notebook.cells):  # of copies, the last one counts, as with nbgrader
        grade_id = id_of(cell)
        if "nbgrader" in cell.metadata and (grade_id not in released or grade_id in seen):
            if grade_id in released:
                notes.append(f"There were several cells named {grade_id}; the last one counts.")
            del cell.metadata["nbgrader"]
        elif grade_id:
            seen.add(grade_id)
            _restore_cell(cell, released[grade_id], notes)
    for grade_id, cell in released.items():
        if grade_id not in seen and cell.metadata.nbgrader.grade:
            notes.append(f"The cell {grade_id} was missing; it was added at the end.")
            notebook.cells.append(copy.deepcopy(cell))
    for grade_id, cell in released.items():
        if cell.metadata.nbgrader.solution and _move_tests_below(notebook.cells, grade_id):
            notes.append(f"The answer {grade_id} stood below its check; the check was moved below the answer.")
    _give_ids(notebook.cells)
    return list(dict.fromkeys(notes))


def _move_tests_below(cells, name):
    """Move the check and the test of the exercise ``name`` below its answer; return whether the test was above it."""
    places = {id_of(cell): place for place, cell in enumerate(cells)}
    answer = places.get(name, -1)
    above = [place for grade_id in (check_id(name), test_id(name)) if (place := places.get(grade_id, answer)) < answer]
    cells[answer + 1 : answer + 1] = [cells[place] for place in above]
    for place in sorted(above, reverse=True):
        del cells[place]
    return places.get(test_id(name), answer) < answer


def add_notes(notebook: NotebookNode, notes: Iterable[str]) -> None:
    """List the repairs at the top of ``notebook``, and so of the feedback page."""
    if notes:
        lines = ["**This notebook was repaired before it was graded:**", "", *(f"- {note}" for note in notes)]
        notebook.cells.insert(0, new_markdown_cell("\n".join(lines), id=MENDED))


def _restore_cell(cell, original, notes):
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
        name = original.metadata.nbgrader.grade_id
        if name != "heading" or _without_course(cell.source) != _without_course(original.source):
            notes.append(f"The locked cell {name} had been changed; it was restored.")
        cell["source"] = original.source


def _without_course(heading):
    """Return ``heading`` without what another release changes in it: the course, the due date and links to a website."""
    heading = re.sub(r"(?<=\n)\*\*[^\n]*\*\*\n\n", "", heading, count=1)
    return re.sub(r"\[([^\]\n]*)\]\([^)\n]*\)", r"*\1*", heading)


def _rebuild_cell(data):
    """Return a new cell with the type, text, pictures, id and exercise of ``data``, but no outputs or other metadata."""
    source = "".join(data["source"]) if isinstance(data["source"], list) else data["source"]
    if not isinstance(source, str):
        raise ValueError
    cell = nbformat.from_dict({"cell_type": data["cell_type"], "source": _writable(source), "metadata": {}})
    cell |= {"code": {"outputs": [], "execution_count": None}, "markdown": {}, "raw": {}}[data["cell_type"]]
    cell["id"] = data.get("id")
    meta = data.get("metadata")
    marks = meta.get("nbgrader") if isinstance(meta, dict) else None
    if isinstance(marks, dict) and isinstance(marks.get("grade_id"), str):
        cell.metadata["nbgrader"] = nbformat.NotebookNode(grade_id=_writable(marks["grade_id"]))
    pictures = data.get("attachments")
    if data["cell_type"] == "markdown" and isinstance(pictures, dict):
        cell["attachments"] = {
            _writable(name): {mime: text for mime, text in picture.items() if mime in PICTURES and _is_base64(text)}
            for name, picture in pictures.items()
            if isinstance(picture, dict)
        }
    return cell


def _writable(text):
    """Return ``text`` without lone surrogates, which JSON can contain but UTF-8 cannot."""
    return text.encode("utf-8", "replace").decode()


def _is_base64(text):
    return isinstance(text, str) and BASE64.fullmatch(text) is not None


def _give_ids(cells):
    """Give a new id to each cell whose id is invalid or already used."""
    taken = {cell.get("id") for cell in cells if isinstance(cell.get("id"), str)}
    fresh = (name for number in count() if (name := f"repaired-{number}") not in taken)
    used = set()
    for cell in cells:
        name = cell.get("id")
        if not isinstance(name, str) or not CELL_ID.fullmatch(name) or name in used:
            name = next(fresh)
        cell["id"] = name
        used.add(name)
