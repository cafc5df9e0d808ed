"""Grade one submission: run it in the sandbox, then judge what it returned.

In: a notebook, exercises, limits. Out: ``Graded``: verdicts, and the outputs of its cells. Starts a sandbox, touches
nothing else.
"""

import hashlib
import json
import math
import platform
import time
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path

import numpy as np

from autograder import judge, sandbox
from autograder.assemble import test_id

WEIGHTS_SLACK = 100_000  # bytes that an npz file may have on top of its numbers


@dataclass(frozen=True)
class Graded:
    """One submission, graded. ``outputs`` maps the place of a cell in the notebook to (execution count, outputs)."""

    verdicts: tuple[judge.Verdict, ...]
    outputs: dict
    failure: str = ""
    timed_out: bool = False
    spent: dict = field(default_factory=dict)  # stage -> seconds
    killed: bool = False  # a process was ended from outside: tried again, as after a time-out

    @property
    def by_exercise(self):
        return {verdict.exercise: verdict for verdict in self.verdicts}


def grade(notebook, exercises, limits=None, isolation=sandbox.DEFAULT, files=None, hidden=()):
    """Run ``notebook`` and return its ``Graded`` verdicts. ``files`` lie beside it: name -> bytes.

    ``hidden`` are paths of this machine that it must not see, the course above all.

    Raises
    ------
    CourseError
        If the sandbox cannot be started. Whatever the student did is a verdict, not an error.
    """
    script, places = _script(notebook, exercises, files or {})
    run = sandbox.run(script, limits, isolation, hidden)
    failure, timed_out, killed = run.failure, run.timed_out, run.killed
    if run.ended_in is not None:  # once more without that cell: the exercises that do not need it keep their points
        cells = list(script.cells)
        cells[run.ended_in] = sandbox.Cell("")
        run = sandbox.run(replace(script, cells=tuple(cells)), limits, isolation, hidden)
        failure += " It was run again without that cell." if not run.failure else f" Without that cell: {run.failure}"
    for exercise in exercises:
        if exercise.trained:
            run.replies[exercise.name, 0], ended = _run_weights(exercise, files or {}, limits, isolation, hidden)
            killed |= ended
    began = time.monotonic()
    verdicts = judge.judge(exercises, run.replies)
    outputs = {places[number]: output for number, output in run.outputs.items()}
    spent = {**run.spent, "judge": time.monotonic() - began}
    return Graded(verdicts, outputs, failure, timed_out or run.timed_out, spent, killed or run.killed)


def handed_in_files(exercises, folder):
    """Return the files in ``folder`` that ``exercises`` ask for: name -> bytes, None for one that is too large."""
    files = {}
    for exercise in exercises:
        if exercise.trained:
            path = Path(folder) / exercise.trained.file
            if path.is_file() and not path.is_symlink():
                allowed = WEIGHTS_SLACK + 8 * sum(math.prod(shape) for shape in exercise.trained.arrays.values())
                files[path.name] = path.read_bytes() if path.stat().st_size <= allowed else None
    return files


def _run_weights(exercise, files, limits, isolation, hidden):
    """Run the reference model with the weights handed in, without student code; return the reply, and whether it was killed."""
    trained = exercise.trained
    if trained.file not in files:
        return sandbox.Reply(raised="no file"), False
    if files[trained.file] is None:
        return sandbox.Reply(raised="too large"), False
    content = np.frombuffer(files[trained.file], dtype=np.uint8)
    inputs = {"file": content, "source": trained.inputs["source"], "lengths": trained.inputs["lengths"]}
    cells = sandbox.Cell(trained.provided), sandbox.Cell("", exercise.name, trained.run)
    script = sandbox.Script(cells, {exercise.name: (sandbox.Call(inputs),)})
    limits = replace(limits or sandbox.Limits(), call_seconds=60.0)
    run = sandbox.run(script, limits, isolation, hidden)
    return run.replies.get((exercise.name, 0), sandbox.Reply(raised="no reply")), run.killed


def fingerprint(notebook, exercises_digest, limits, files=None):
    """Return a hash of everything that the verdicts on ``notebook`` depend on."""
    cells = [
        [cell.cell_type, cell.source if not _is_test(cell) else "", _grade_id(cell)]
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]
    beside = {name: hashlib.sha256(content or b"").hexdigest() for name, content in sorted((files or {}).items())}
    state = [
        cells,
        exercises_digest,
        {name: float(value) for name, value in asdict(limits).items()},
        _versions(),
        beside,
    ]
    return hashlib.sha256(json.dumps(state).encode()).hexdigest()


def _script(notebook, exercises, files):
    """Return the script of ``notebook`` and the place of each of its cells; hidden tests stay outside."""
    asked = {test_id(e.name): e for e in exercises if e.is_called}
    left_out = {f"{e.name}-run" for e in exercises} | {test_id(e.name) for e in exercises if e.trained}
    cells, places = [], {}
    for place, cell in enumerate(notebook.cells):
        if cell.cell_type != "code":
            continue
        exercise = asked.get(_grade_id(cell))
        places[len(cells)] = place
        if exercise:
            cells.append(sandbox.Cell("", exercise.name, exercise.function))
        else:  # grading does not train
            cells.append(sandbox.Cell("" if _grade_id(cell) in left_out else cell.source))
    calls = {e.name: tuple(sandbox.inputs_of(case) for case in judge.cases_to_call(e)) for e in asked.values()}
    tensors = frozenset(e.name for e in asked.values() if e.in_torch)
    beside = {name: content for name, content in files.items() if content is not None}
    return sandbox.Script(tuple(cells), calls, tensors, beside), places


def _is_test(cell):
    return (_grade_id(cell) or "").endswith("-test")


def _grade_id(cell):
    return cell.metadata.get("nbgrader", {}).get("grade_id")


@cache
def _versions():
    from importlib.metadata import version

    folder = Path(__file__).parent
    source = b"".join(path.read_bytes() for path in sorted(folder.rglob("*.py")))
    return [hashlib.sha256(source).hexdigest(), np.__version__, version("torch"), platform.python_version()]
