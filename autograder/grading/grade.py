"""Grade one submission: run it in the sandbox, then judge what it returned."""

import io
import re
import time
import zipfile
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

NPZ_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # by which numpy writes npz files
NO_MODULE = re.compile(r"No module named '(\w{1,60})[\w.]{0,60}'")  # as Python says it
MIN_SECONDS = 1.0  # the least that a run is given; with less left, there is no second run
LIMITS_IN_WORDS = {  # what reached it, with its value, and its name in nbgrader_config.py
    "cell_seconds": "a cell used {:g} seconds of CPU time (cell_seconds)",
    "cell_idle_seconds": "a cell waited {:g} seconds without computing (cell_idle_seconds)",
    "call_seconds": "the calls of a function used or waited more than {:g} seconds each (call_seconds)",
    "submission_seconds": "the notebook used {:g} seconds of CPU time (submission_seconds)",
    "submission_idle_seconds": "the notebook waited {:g} seconds without computing (submission_idle_seconds)",
    "reply_mb": "the calls of a function returned more than {:g} MB (reply_mb)",
}


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

    Everything that a submission runs shares the budgets ``limits.submission_seconds`` of CPU time and
    ``limits.submission_idle_seconds`` of waiting; the clock counts for nothing. ``hidden`` lists paths of this
    machine that it must not see, above all the course. ``prepared`` is what a warm sandbox has ready: see
    ``sources_to_prepare``. Raises CourseError if the sandbox cannot be started. Whatever the student did leads to a
    verdict, not to an error.
    """
    limits, files = limits or sandbox.Limits(), files or {}
    weights: dict[tuple[str, int], sandbox.Reply] = {}
    runs: list[sandbox.Run] = []
    for exercise in exercises:
        if exercise.trained:
            weights[exercise.name, 0], run = _run_weights(exercise, files, limits, runs, isolation, hidden, prepared)
            runs += [run] if run else []
    script = _script(notebook, exercises, files, prepared)
    run = sandbox.run(script, _what_is_left(limits, runs), isolation, hidden)
    runs.append(run)
    failure, left = run.failure, _what_is_left(limits, runs)
    if run.ended_in is not None and min(left.submission_seconds, left.submission_idle_seconds) > MIN_SECONDS:
        # run again without that cell, so that exercises that do not need it keep their points
        cells = list(script.cells)
        cells[run.ended_in] = sandbox.Cell("")
        run = sandbox.run(replace(script, cells=tuple(cells)), left, isolation, hidden)
        runs.append(run)
        failure += " It was run again without that cell." if not run.failure else f" Without that cell: {run.failure}"
    began, cpu = time.monotonic(), time.process_time()
    replies = {key: _name_missing_module(reply, key[0], script, run.outputs) for key, reply in run.replies.items()}
    verdicts = judge.judge(exercises, replies | weights)
    spent = {**run.spent, "judge": time.monotonic() - began}
    used = {**run.used, "judge": time.process_time() - cpu}
    names = [name for name in sandbox.NOTICED_LIMITS if any(name in run.reached for run in runs)]
    reached = {name: float(getattr(limits, name)) for name in names}
    failure = " ".join(filter(None, (failure, _describe_limits(reached, failure))))
    killed = any(run.killed for run in runs)
    return Graded(verdicts, run.outputs, failure, reached, killed=killed, spent=spent, used=used)


def _describe_limits(reached, failure):
    """Return a sentence on the limits ``reached``, value by name, of which ``failure`` does not speak."""
    words = [LIMITS_IN_WORDS[name].format(value) for name, value in reached.items() if f"({name})" not in failure]
    return f"It reached a limit: {'; '.join(words)}." if words else ""


def sources_to_prepare(template: NotebookNode) -> sandbox.Prepared:
    """Return what all submissions made from ``template``, a release, have in common: see ``sandbox.Prepared``."""
    sources = tuple(cell.source for cell in code_cells(template) if cell.metadata.nbgrader.locked)
    text = "\n".join(cell.source for cell in template.cells)
    return sandbox.Prepared(sources, "optim" in text, "matplotlib" in text or "heat map" in text)


def _what_is_left(limits, runs):
    """Return ``limits`` without what ``runs`` have used of the submission's seconds."""
    cpu = limits.submission_seconds - sum(run.used.get("sandbox", 0.0) for run in runs)
    idle = limits.submission_idle_seconds - sum(run.idle for run in runs)
    return replace(limits, submission_seconds=max(cpu, MIN_SECONDS), submission_idle_seconds=max(idle, MIN_SECONDS))


def _name_missing_module(reply, exercise, script, outputs):
    """Return ``reply`` with the module without which a call could not succeed: one that a cell or the call tried to import."""
    if reply.raised == "ModuleNotFoundError":
        return replace(reply, module=reply.name.partition(".")[0])
    name = exercise.partition("-")[2] if reply.raised == "missing" else reply.name
    for number, (_, items) in outputs.items() if name else ():
        source = script.cells[number].source
        for item in items:
            found = NO_MODULE.fullmatch(str(item.get("evalue"))) if item.get("ename") == "ModuleNotFoundError" else None
            if found and {name, found[1]} <= {*re.findall(r"\w+", source)}:
                return replace(reply, module=found[1])
    return reply


def _run_weights(exercise, files, limits, runs, isolation, hidden, prepared):
    """Run the reference model with the weights handed in, without student code; return the reply, and the run if any.

    It may use as many seconds as a cell.
    """
    trained = exercise.trained
    if trained.file not in files:
        return sandbox.Reply(raised="no file"), None
    if files[trained.file] is None:
        return sandbox.Reply(raised="too large"), None
    if _is_compressed_unusually(files[trained.file]):
        return sandbox.Reply(raised="compressed"), None
    content = np.frombuffer(files[trained.file], dtype=np.uint8)
    inputs = {"file": content, "source": trained.inputs["source"], "lengths": trained.inputs["lengths"]}
    sources = trained.provided, trained.hidden
    cells = *map(sandbox.Cell, sources), sandbox.Cell("", exercise.name, trained.run)
    script = sandbox.Script(cells, {exercise.name: (sandbox.Call(inputs),)}, prepared=prepared)
    run = sandbox.run(script, replace(_what_is_left(limits, runs), call_seconds=limits.cell_seconds), isolation, hidden)
    run.reached = {"cell_seconds" if name == "call_seconds" else name for name in run.reached}
    return run.replies.get((exercise.name, 0), sandbox.Reply(raised="no reply")), run


def _is_compressed_unusually(npz):
    """Return whether an array in the bytes ``npz`` is neither stored nor deflated: a few bytes could become gigabytes."""
    try:
        with zipfile.ZipFile(io.BytesIO(npz)) as arrays:
            return any(info.compress_type not in NPZ_METHODS for info in arrays.infolist())
    except (zipfile.BadZipFile, NotImplementedError, OSError, ValueError):
        return False  # a file that cannot be read is refused where it is loaded, in the sandbox


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
