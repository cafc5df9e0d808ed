"""Grade one submission: run it in the sandbox, then judge what it returned.

In: a notebook, exercises, limits. Out: ``Graded``: verdicts, and the outputs of its cells. Starts a sandbox, touches
nothing else.
"""

import hashlib
import json
import math
import platform
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from pathlib import Path

import numpy as np
from nbformat import NotebookNode

from autograder import sandbox
from autograder.exercises import Exercise
from autograder.files import digest
from autograder.grading import judge
from autograder.notebooks.cell_ids import RECEIPT, code_cells, id_of, run_id, test_id

WEIGHTS_SLACK = 100_000  # bytes that an npz file may have on top of its numbers
DECIDING = ("exercises", "grading", "notebooks", "sandbox")  # the rooms whose code a verdict depends on
LEAST_SECONDS = 1.0  # of what is left of a submission's time: with less, nothing is run


@dataclass(frozen=True)
class Graded:
    """One submission, graded. ``outputs`` maps the number of a code cell, from 0, to (execution count, outputs)."""

    verdicts: tuple[judge.Verdict, ...]
    outputs: dict[int, tuple[int | None, list[dict[str, object]]]]
    failure: str = ""
    timed_out: bool = False
    killed: bool = False  # by somebody else than the grader: for want of memory, for example
    spent: dict[str, float] = field(default_factory=dict)  # stage -> seconds
    used: dict[str, float] = field(default_factory=dict)  # stage -> seconds of CPU

    @property
    def by_exercise(self) -> dict[str, judge.Verdict]:
        return {verdict.exercise: verdict for verdict in self.verdicts}


def grade(
    notebook: NotebookNode,
    exercises: Sequence[Exercise],
    limits: sandbox.Limits | None = None,
    isolation: str = sandbox.DEFAULT,
    files: Mapping[str, bytes | None] | None = None,
    hidden: Iterable[str] = (),
    prepared: sandbox.Prepared = sandbox.NOTHING,
) -> Graded:
    """Run ``notebook`` and return its ``Graded`` verdicts. ``files`` lie beside it: name -> bytes.

    All that a submission runs shares one budget of time, ``limits.submission_seconds``. ``hidden`` are paths of this machine
    that it must not see, the course above all. ``prepared`` is what a warm sandbox has got ready: see ``prepared_for``.

    Raises
    ------
    CourseError
        If the sandbox cannot be started. Whatever the student did is a verdict, not an error.
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
    if run.ended_in is not None and left > LEAST_SECONDS:
        # once more without that cell: the exercises that do not need it keep their points
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


def prepared_for(template: NotebookNode) -> sandbox.Prepared:
    """Return what all submissions made from ``template``, a release, have in common: see ``sandbox.Prepared``."""
    sources = tuple(cell.source for cell in code_cells(template) if cell.metadata.nbgrader.locked)
    text = "\n".join(cell.source for cell in template.cells)
    return sandbox.Prepared(sources, "optim" in text, "matplotlib" in text or "heat map" in text)


def _with_seconds(limits, seconds):
    return replace(limits, submission_seconds=max(seconds, LEAST_SECONDS))


def handed_in_files(exercises: Iterable[Exercise], folder: str | Path) -> dict[str, bytes | None]:
    """Return the files in ``folder`` that ``exercises`` ask for: name -> bytes, None for one that is too large."""
    files = {}
    for name, allowed in _bytes_allowed(exercises).items():
        path = Path(folder) / name
        if path.is_file() and not path.is_symlink():
            files[name] = path.read_bytes() if path.stat().st_size <= allowed else None
    return files


def kept_files(exercises: Iterable[Exercise], kept: Mapping[str, bytes]) -> dict[str, bytes | None]:
    """As ``handed_in_files``, of an earlier attempt that is no more in a folder: ``kept`` has its files by name."""
    allowed = _bytes_allowed(exercises)
    return {name: kept[name] if len(kept[name]) <= most else None for name, most in allowed.items() if name in kept}


def _bytes_allowed(exercises):
    trained = [exercise.trained for exercise in exercises if exercise.trained]
    return {one.file: WEIGHTS_SLACK + 8 * sum(math.prod(shape) for shape in one.arrays.values()) for one in trained}


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


def fingerprint(
    content: bytes,
    version: str,
    attempt: int,
    limits: sandbox.Limits,
    isolation: str,
    files: Mapping[str, bytes | None] | None = None,
) -> str:
    """Return a hash of everything that the verdicts on the file ``content`` depend on.

    ``version`` covers the exercises and the releases that the file is read by; ``attempt`` says which hidden cases count.
    """
    beside = {name: hashlib.sha256(data or b"").hexdigest() for name, data in sorted((files or {}).items())}
    state = [
        hashlib.sha256(content).hexdigest(),
        version,
        attempt,
        {name: float(value) for name, value in vars(limits).items()},
        isolation,
        grader_versions(),
        beside,
    ]
    return hashlib.sha256(json.dumps(state).encode()).hexdigest()


def _script(notebook, exercises, files, prepared=sandbox.NOTHING):
    """Return the script of ``notebook``, one cell for each of its code cells; hidden tests stay outside."""
    called: dict[str | None, Exercise] = {test_id(e.name): e for e in exercises if e.is_called}
    left_out = {run_id(e.name) for e in exercises} | {test_id(e.name) for e in exercises if e.trained} | {RECEIPT}
    cells = []
    for cell in code_cells(notebook):
        exercise = called.get(id_of(cell))
        if exercise:
            cells.append(sandbox.Cell("", exercise.name, exercise.function))
        else:  # grading does not train, and a receipt would say when it was graded
            cells.append(sandbox.Cell("" if id_of(cell) in left_out else cell.source))
    calls = {e.name: _calls(e) for e in called.values()}
    tensors = frozenset(e.name for e in called.values() if e.in_torch)
    beside = {name: content for name, content in files.items() if content is not None}
    return sandbox.Script(tuple(cells), calls, tensors, beside, prepared)


@lru_cache(maxsize=256)
def _calls(exercise):
    """Return the calls of ``exercise``, the same for every submission that meets the same hidden cases."""
    return tuple(map(sandbox.inputs_of, exercise.hidden))


@cache
def grader_versions() -> list[str]:
    """Return what of the grader itself a verdict depends on: a hash of its code, and the versions of numpy, torch, Python."""
    from importlib.metadata import version

    rooms = [Path(__file__).parents[1] / room for room in DECIDING]
    return [digest(rooms), np.__version__, version("torch"), platform.python_version()]
