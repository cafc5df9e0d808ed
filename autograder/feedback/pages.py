"""Produce what nbgrader shows of a graded submission: the autograded notebook, gradebook rows and the feedback page."""

import hashlib
import html
import json
from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbgrader.preprocessors import ClearHiddenTests, IgnorePattern, LimitOutput
from traitlets.config import Config

from autograder.feedback import rendering, sanitize
from autograder.feedback.marks import CellResult, Marks
from autograder.feedback.page_settings import Shown
from autograder.notebooks.added_cells import is_unanswered, select_added_cells, source_of
from autograder.notebooks.cell_ids import code_cells, exercise_of_test, test_id
from autograder.notebooks.handout import Handout, find_release
from autograder.verdicts import Graded, Verdict

MAX_PAGE_BYTES = 30 * 2**20  # of a feedback page
PROVISIONAL = "These points are provisional: they may change when the notebook is run again."


def enter_results(
    notebook: NotebookNode,
    graded: Graded,
    template: NotebookNode,
    settings: dict[str, Any],
    later: Collection[str] = (),
) -> tuple[CellResult, ...]:
    """Put the sanitised outputs and verdicts of ``graded`` into ``notebook``; return its ``CellResult``s.

    ``template`` is the release that defines the points and nbgrader metadata of its cells. A cell that ``notebook``
    lacks earns nothing, except in ``later`` exercises, which this student's notebook could not have: a person decides
    about those.
    """
    _write_outputs(notebook, graded)
    for step in _preprocessors(json.dumps(settings, sort_keys=True)):
        step(notebook, {})
    _write_trusted(notebook, graded)  # safe by construction
    verdicts = {test_id(name): verdict for name, verdict in graded.by_exercise.items()}
    by_id = {cell.metadata.nbgrader.grade_id: cell for cell in notebook.cells if "nbgrader" in cell.metadata}
    results = []
    for released in template.cells:
        meta = released.metadata.nbgrader
        if meta.grade or meta.solution:
            added = list(select_added_cells(notebook.cells, meta.grade_id)) if meta.grade and meta.solution else []
            result = _result(released, by_id.get(meta.grade_id), verdicts, added)
            name = exercise_of_test(meta.grade_id)
            results.append(replace(result, auto_score=None, comment=None) if name in later else result)
        if meta.grade_id in by_id:
            by_id[meta.grade_id].metadata["nbgrader"] = nbformat.from_dict(meta)
    return tuple(results)


def _result(released, cell, verdicts, added):
    """Return the ``CellResult`` of a cell; ``added`` are the student's own cells there, which may hold the answer."""
    meta = released.metadata.nbgrader
    untouched = (cell is None or is_unanswered(cell)) and not added
    by_person = meta.grade and meta.solution
    verdict = verdicts.get(meta.grade_id)
    score = None if by_person and not untouched else verdict.earned if verdict else 0.0
    comment = rendering.NO_RESPONSE if meta.solution and untouched else None
    cells = [*([] if cell is None else [cell]), *added]
    parts = [source_of(cell) for cell in cells]
    parts += [json.dumps(cell.attachments, sort_keys=True) for cell in cells if cell.get("attachments")]
    text = hashlib.sha256("\0".join(parts).encode()).hexdigest() if by_person and cells else ""
    return CellResult(meta.grade_id, score, meta.grade, meta.solution, comment, text)


@lru_cache(maxsize=2)
def _preprocessors(settings):
    config = Config(json.loads(settings))
    return tuple(step(config=config) for step in (sanitize.Outputs, IgnorePattern, LimitOutput))


def write_verdicts(nb: NotebookNode, graded: Graded) -> None:
    """Put the outputs of ``graded`` into the notebook, and one trusted output into each test cell."""
    _write_outputs(nb, graded)
    _write_trusted(nb, graded)


def _write_outputs(nb, graded):
    cells = code_cells(nb)
    for number, (count, outputs) in graded.outputs.items():
        cells[number]["execution_count"] = count
        cells[number]["outputs"] = [nbformat.from_dict(item) for item in outputs]


def _write_trusted(nb, graded):
    clear = ClearHiddenTests()
    failure = " ".join(filter(None, (graded.failure, PROVISIONAL if graded.reached else "")))
    verdicts = {test_id(name): verdict for name, verdict in graded.by_exercise.items()}
    for cell in code_cells(nb):
        meta = cell.metadata.get("nbgrader", {})
        if meta.get("grade"):  # nbgrader reads results of a grade cell as points
            cell["outputs"] = [output for output in cell.outputs if output.output_type != "execute_result"]
        verdict = verdicts.get(meta.get("grade_id"))
        if verdict is not None:
            clear._remove_hidden_test_region(cell)
            cell["outputs"] = [_trusted_output(verdict, failure)]


def describe_verdict(verdict: Verdict) -> list[str]:
    """Return what a student reads about ``verdict``, as a list of plain sentences."""
    if verdict.earned is None:
        return ["To be marked by a person."]
    lines = [f"{verdict.exercise}: {verdict.earned:g} of {verdict.points:g} points."]
    if verdict.earned == verdict.points:
        return [*lines, *verdict.hints]
    return [*lines, *_reasons(verdict), *(f"Hint: {hint}" for hint in verdict.hints)]


def _reasons(verdict):
    """Return the sentences about the parts of ``verdict``; none if it earned full points."""
    lines = []
    for part in verdict.parts if verdict.earned != verdict.points else ():
        if part.reason:
            title = f"{part.name} ({part.points:g}): " if part.name else ""
            lines.append(title + part.reason)
        elif part.name:
            lines.append(f"{part.name} ({part.points:g}): {part.note or 'right'}.")
    return list(dict.fromkeys(lines))


def feedback_page(
    content: bytes,
    marks: Marks,
    student: str,
    topic: str,
    settings: dict[str, Any],
    releases: Sequence[Handout],
    shown: Shown = "all",
) -> bytes:
    """Return the feedback page of an autograded notebook, ``content``, with the gradebook's ``marks``.

    ``releases`` are those that the notebook may come from, newest first; ``shown`` says how much of the feedback the page
    shows. Raises ValueError if the page would be too large.
    """
    notebook = nbformat.reads(content.decode(), as_version=4)
    sanitize.Outputs(config=Config(settings)).preprocess(notebook, {})
    return page(notebook, marks, student, topic, releases, shown)


def page(
    notebook: NotebookNode,
    marks: Marks,
    student: str,
    topic: str,
    releases: Sequence[Handout],
    shown: Shown = "all",
) -> bytes:
    """Return the feedback page of ``notebook``, as ``enter_results`` left it. See ``feedback_page``."""
    text = rendering.page(notebook, marks, student, topic, find_release(notebook.cells, releases), shown)
    content = text.encode("utf-8", "replace")
    if len(content) > MAX_PAGE_BYTES:
        raise ValueError(f"the page would be {len(content) / 2**20:.0f} MB")
    return content


def _trusted_output(verdict, failure):
    """Return the one output that sets the points: a number between 0 and the maximum, and its explanation."""
    earned = min(max(verdict.earned, 0.0), verdict.points)
    failure = failure if earned < verdict.points else ""
    lines = describe_verdict(verdict) + ([failure] if failure else [])
    first, *rest = (html.escape(sanitize.printable(line)) for line in lines)
    body = "".join(f"<li>{line}</li>" for line in rest)
    text = f"<p><strong>{first}</strong></p>" + (f"<ul>{body}</ul>" if body else "")
    data = {"text/plain": repr(earned), "text/html": text}
    reasons, hints = ([*map(sanitize.plain, texts)] for texts in (_reasons(verdict), verdict.hints))
    kept = {"said": reasons, "hints": hints, "failure": sanitize.plain(failure)}
    kept = {name: item for name, item in kept.items() if item}  # for ``rendering``, which lays it out anew
    output = {"output_type": "execute_result", "execution_count": None, "data": data, "metadata": {"verdict": kept}}
    return nbformat.from_dict(output)
