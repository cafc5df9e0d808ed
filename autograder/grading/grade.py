"""Grade one submission: run it in the sandbox, then judge what it returned."""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np
from nbformat import NotebookNode

from autograder import sandbox
from autograder.exercises import Exercise
from autograder.grading import judge
from autograder.notebooks.cell_ids import RECEIPT, code_cells, id_of, run_id, test_id
from autograder.verdicts import Graded

MIN_SECONDS = 1.0  # the least that a run is given; with less left, there is no second run


def grade(
    notebook: NotebookNode,
    exercises: Sequence[Exercise],
    limits: sandbox.Limits | None = None,
    isolation: str = sandbox.DEFAULT,
    files: Mapping[str, bytes | None] | None = None,
    hidden: Iterable[str] = (),
    prepared: sandbox.Prepared = sandbox.NOTHING,
) -> Graded:
    """Run ``notebook`` and return its ``Graded`` verdicts. ``files`` are those beside it: name -> bytes, None if too large.

    Everything that a submission runs shares one time budget, ``limits.submission_seconds``. ``hidden`` lists paths of this
    machine that it must not see, above all the course. ``prepared`` is what a warm sandbox has ready: see
    ``sources_to_prepare``. Raises CourseError if the sandbox cannot be started. Whatever the student did leads to a
    verdict, not to an error.
    """
    limits, files, began = limits or sandbox.Limits(), files or {}, time.monotonic()
    weights: dict[tuple[str, int], sandbox.Reply] = {}
    killed = False
    for exercise in exercises:
        if exercise.trained:
            weights[exercise.name, 0], ended = _run_weights(exercise, files, limits, isolation, hidden, prepared)
            killed |= ended
    script, spent = _script(notebook, exercises, files, prepared), time.monotonic() - began
    run = sandbox.run(script, _with_seconds(limits, limits.submission_seconds - spent), isolation, hidden)
    failure, timed_out, killed = run.failure, run.timed_out, killed or run.killed
    left = limits.submission_seconds - (time.monotonic() - began)
    if run.ended_in is not None and left > MIN_SECONDS:
        # run again without that cell, so that exercises that do not need it keep their points
        cells = list(script.cells)
        cells[run.ended_in] = sandbox.Cell("")
        run = sandbox.run(replace(script, cells=tuple(cells)), _with_seconds(limits, left), isolation, hidden)
        failure += " It was run again without that cell." if not run.failure else f" Without that cell: {run.failure}"
        timed_out, killed = timed_out or run.timed_out, killed or run.killed
    began, cpu = time.monotonic(), time.process_time()
    verdicts = judge.judge(exercises, run.replies | weights)
    spent = {**run.spent, "judge": time.monotonic() - began}
    used = {**run.used, "judge": time.process_time() - cpu}
    return Graded(verdicts, run.outputs, failure, timed_out, killed, spent, used)


def sources_to_prepare(template: NotebookNode) -> sandbox.Prepared:
    """Return what all submissions made from ``template``, a release, have in common: see ``sandbox.Prepared``."""
    sources = tuple(cell.source for cell in code_cells(template) if cell.metadata.nbgrader.locked)
    text = "\n".join(cell.source for cell in template.cells)
    return sandbox.Prepared(sources, "optim" in text, "matplotlib" in text or "heat map" in text)


def _with_seconds(limits, seconds):
    return replace(limits, submission_seconds=max(seconds, MIN_SECONDS))


def _run_weights(exercise, files, limits, isolation, hidden, prepared):
    """Run the reference model with the weights handed in, without student code; return the reply, and whether it was killed."""
    trained = exercise.trained
    if trained.file not in files:
        return sandbox.Reply(raised="no file"), False
    if files[trained.file] is None:
        return sandbox.Reply(raised="too large"), False
    content = np.frombuffer(files[trained.file], dtype=np.uint8)
    inputs = {"file": content, "source": trained.inputs["source"], "lengths": trained.inputs["lengths"]}
    cells = sandbox.Cell(trained.provided), sandbox.Cell("", exercise.name, trained.run)
    script = sandbox.Script(cells, {exercise.name: (sandbox.Call(inputs),)}, prepared=prepared)
    run = sandbox.run(script, replace(limits, call_seconds=60.0), isolation, hidden)
    return run.replies.get((exercise.name, 0), sandbox.Reply(raised="no reply")), run.killed


def _script(notebook, exercises, files, prepared):
    """Return the script of ``notebook``, with one cell for each of its code cells; the hidden tests stay outside."""
    called: dict[str | None, Exercise] = {test_id(e.name): e for e in exercises if e.is_called}
    left_out = {run_id(e.name) for e in exercises} | {test_id(e.name) for e in exercises if e.trained} | {RECEIPT}
    cells = []
    for cell in code_cells(notebook):
        exercise = called.get(id_of(cell))
        if exercise:
            cells.append(sandbox.Cell("", exercise.name, exercise.function))
        else:  # grading does not train, and a receipt would show the time of grading
            cells.append(sandbox.Cell("" if id_of(cell) in left_out else cell.source))
    calls = {e.name: _calls(e) for e in called.values()}
    tensors = frozenset(e.name for e in called.values() if e.in_torch)
    beside = {name: content for name, content in files.items() if content is not None}
    return sandbox.Script(tuple(cells), calls, tensors, beside, prepared)


@lru_cache(maxsize=256)
def _calls(exercise):
    """Return the calls of ``exercise``, which are the same for all submissions with the same hidden cases."""
    return tuple(sandbox.Call({**case.inputs}, tuple(case.gradients)) for case in exercise.hidden)
