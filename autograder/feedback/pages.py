"""Make what nbgrader shows of a graded submission: the autograded notebook, the rows of the gradebook, the feedback page.

In: a repaired notebook and its verdicts; an autograded notebook and its marks. Out: the notebook changed in place, rows,
a page as bytes. Pure: no files but nbgrader's templates, no processes, no gradebook.
"""

import hashlib
import html
import json
from dataclasses import dataclass
from functools import lru_cache

import nbformat
from nbconvert.exporters.exporter import ResourcesDict
from nbconvert.preprocessors import CSSHTMLHeaderPreprocessor
from nbformat.v4 import new_output
from nbgrader.converters import GenerateFeedback
from nbgrader.preprocessors import ClearHiddenTests, IgnorePattern, LimitOutput
from nbgrader.utils import compute_checksum
from traitlets.config import Config

from autograder.feedback import harmless
from autograder.notebooks.cell_ids import COMPARE, code_cells, test_id

MOST_BYTES = 30 * 2**20  # of a feedback page
SETTINGS = ("HTMLExporter", "Exporter", "IgnorePattern", "LimitOutput", "Outputs", "CSSHTMLHeaderPreprocessor")


@dataclass(frozen=True)
class CellResult:
    """What the grader found out about one cell. ``auto_score`` is None where a person must give it.

    ``text`` is a hash of what a person reads, "" where nobody does. ``is_graded`` and ``is_answer`` are nbgrader's grade
    and solution.
    """

    name: str
    auto_score: float | None
    is_graded: bool
    is_answer: bool
    comment: str | None = None
    text: str = ""


@dataclass(frozen=True)
class Mark:
    """What the gradebook holds for one cell: points, those that the grader gave, and whether a person must look at it."""

    score: float
    points: float
    automatic: float | None
    by_person: bool  # a person has given the points
    waiting: bool


@dataclass(frozen=True)
class Marks:
    """What the gradebook holds for one submission. ``comments`` maps a cell to what is said of it."""

    cells: dict
    comments: dict
    score: float
    points: float
    late_penalty: float


def settings_of(config):
    """Return the part of a course's nbgrader ``config`` that pages depend on, as plain data that can be sent away."""
    return json.loads(json.dumps({name: config[name] for name in SETTINGS if name in config}))


def autograded(notebook, graded, template, settings):
    """Put the outputs and verdicts of ``graded`` into ``notebook``, as harmless as they must be; return ``CellResult``s.

    ``template`` is the release that points and marks of cells are taken from, for all cells that it has; a cell that it
    has and ``notebook`` lacks earns nothing.
    """
    write_verdicts(notebook, graded)
    config, resources = Config(settings), {}
    for step in (harmless.Outputs, IgnorePattern, LimitOutput):
        step(config=config)(notebook, resources)
    verdicts = {test_id(name): verdict for name, verdict in graded.by_exercise.items()}
    own = {cell.metadata.nbgrader.grade_id: cell for cell in notebook.cells if "nbgrader" in cell.metadata}
    results = []
    for released in template.cells:
        meta = released.metadata.nbgrader
        if meta.grade or meta.solution:
            results.append(_result(released, own.get(meta.grade_id), verdicts))
        if meta.grade_id in own:
            own[meta.grade_id].metadata["nbgrader"] = nbformat.from_dict(meta)
    return tuple(results)


def _result(released, cell, verdicts):
    meta = released.metadata.nbgrader
    untouched = cell is None or cell.metadata.nbgrader.get("checksum") == compute_checksum(cell)
    by_person = meta.grade and meta.solution
    verdict = verdicts.get(meta.grade_id)
    score = None if by_person and not untouched else verdict.earned if verdict else 0.0
    comment = "No response." if meta.solution and untouched else None
    text = hashlib.sha256(cell.source.encode()).hexdigest() if by_person and cell is not None else ""
    return CellResult(meta.grade_id, score, meta.grade, meta.solution, comment, text)


def write_verdicts(nb, graded):
    """Put the outputs of ``graded`` into the notebook, and into each test cell its one trusted output."""
    cells = code_cells(nb)
    for number, (count, outputs) in graded.outputs.items():
        cells[number]["execution_count"] = count
        cells[number]["outputs"] = [_output(item) for item in outputs]
    clear = ClearHiddenTests()
    verdicts = {test_id(name): verdict for name, verdict in graded.by_exercise.items()}
    for cell in cells:
        meta = cell.metadata.get("nbgrader", {})
        if meta.get("grade"):  # nbgrader reads results of a grade cell as points
            cell["outputs"] = [output for output in cell.outputs if output.output_type != "execute_result"]
        verdict = verdicts.get(meta.get("grade_id"))
        if verdict is not None:
            clear._remove_hidden_test_region(cell)
            cell["outputs"] = [_trusted_output(verdict, graded.failure)]


def words(verdict):
    """Return what a student reads about ``verdict``, as a list of plain sentences."""
    if verdict.earned is None:
        return ["To be marked by a person."]
    lines = [f"{verdict.exercise}: {verdict.earned:g} of {verdict.points:g} points."]
    if verdict.earned == verdict.points:
        return lines
    for part in verdict.parts:
        if part.reason:
            title = f"{part.name} ({part.points:g}): " if part.name else ""
            lines.append(title + part.reason)
        elif part.name:
            lines.append(f"{part.name} ({part.points:g}): {part.note or 'right'}.")
    return list(dict.fromkeys(lines)) + [f"Hint: {hint}" for hint in verdict.hints]


def tidy(nb, waiting):
    """Make the feedback say what a student needs: no code of the checks, no 0 of 0 points, and what is not marked yet."""
    for cell in nb.cells:
        meta = cell.metadata.get("nbgrader", {})
        if meta.get("grade") and not meta.get("points"):
            meta["grade"] = False
        if meta.get("grade_id") in waiting and not meta.get("comment"):
            meta["comment"] = "To be marked by a person. The 0 above does not count yet."
        if meta.get("grade_id") == COMPARE:
            cell["source"] = "# What the check cells use."


def feedback(content, marks, student, topic, settings):
    """Return the feedback page of an autograded notebook, ``content``, with the ``marks`` that the gradebook has.

    Raises
    ------
    ValueError
        If the page would be too large for anybody to read.
    """
    nb = nbformat.reads(content.decode(), as_version=4)
    for cell in nb.cells:
        meta = cell.metadata.get("nbgrader", {})
        if meta.get("solution"):
            meta["comment"] = marks.comments.get(meta["grade_id"])
        if meta.get("grade"):
            mark = marks.cells[meta["grade_id"]]
            meta["score"], meta["points"] = mark.score, mark.points
    tidy(nb, {name for name, mark in marks.cells.items() if mark.waiting})
    exporter, styles = _exporter(json.dumps(settings, sort_keys=True))
    about = {"student": student, "assignment": topic, "notebook": topic, "db_url": ""}
    about |= {"score": marks.score - marks.late_penalty, "max_score": marks.points, "late_penalty": marks.late_penalty}
    page, _ = exporter.from_notebook_node(nb, resources={"nbgrader": about, "inlining": styles})
    if len(page) > MOST_BYTES:
        raise ValueError(f"the page would have {len(page) / 2**20:.0f} MB")
    return page.encode("utf-8", "replace")


@lru_cache(maxsize=2)
def _exporter(settings):
    """Return nbgrader's exporter of feedback pages, and the styles that each of them holds."""
    config = Config(json.loads(settings))
    harmless.configure(config)  # with the folders of this machine
    app = GenerateFeedback(config=config)
    exporter = app.exporter_class(parent=app, config=app.config)
    exporter.register_preprocessor(harmless.Outputs(parent=app, config=app.config), enabled=True)
    styles = CSSHTMLHeaderPreprocessor(config=app.config)
    _, resources = styles.preprocess(nbformat.v4.new_notebook(), ResourcesDict())
    return exporter, resources["inlining"]


def _trusted_output(verdict, failure):
    """Return the one output that decides the points: a number between 0 and the maximum, and the words for it."""
    earned = min(max(verdict.earned, 0.0), verdict.points)
    lines = words(verdict) + ([failure] if failure and earned < verdict.points else [])
    body = "".join(f"<li>{html.escape(line)}</li>" for line in lines[1:])
    text = f"<p><strong>{html.escape(lines[0])}</strong></p>" + (f"<ul>{body}</ul>" if body else "")
    return new_output("execute_result", data={"text/plain": repr(earned), "text/html": text}, execution_count=None)


def _output(item):
    item = dict(item)
    return new_output(item.pop("output_type"), **item)
