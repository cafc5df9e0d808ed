"""Grade one submission: run it in the sandbox, then judge what it returned.

In: a notebook, exercises, limits. Out: ``Graded``: verdicts, and the outputs of its cells. Starts a sandbox, touches
nothing else.
"""

import hashlib
import json
import platform
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

from autograder import judge, sandbox
from autograder.assemble import test_id


@dataclass(frozen=True)
class Graded:
    """One submission, graded. ``outputs`` maps the place of a cell in the notebook to (execution count, outputs)."""

    verdicts: tuple[judge.Verdict, ...]
    outputs: dict
    failure: str = ""
    seconds: float = 0.0

    @property
    def by_exercise(self):
        return {verdict.exercise: verdict for verdict in self.verdicts}


def grade(notebook, exercises, limits=None, isolation="single-use"):
    """Run ``notebook`` and return its ``Graded`` verdicts.

    Raises
    ------
    CourseError
        If the sandbox cannot be started. Whatever the student did is a verdict, not an error.
    """
    script, places = _script(notebook, exercises)
    run = sandbox.run(script, limits, isolation)
    failure = run.failure
    if run.ended_in is not None:  # once more without that cell: the exercises that do not need it keep their points
        cells = list(script.cells)
        cells[run.ended_in] = sandbox.Cell("")
        run = sandbox.run(replace(script, cells=tuple(cells)), limits, isolation)
        failure += " It was run again without that cell." if not run.failure else f" Without that cell: {run.failure}"
    verdicts = judge.judge(exercises, run.replies)
    outputs = {places[number]: output for number, output in run.outputs.items()}
    return Graded(verdicts, outputs, failure, run.seconds)


def fingerprint(notebook, exercises_digest, limits):
    """Return a hash of everything that the verdicts on ``notebook`` depend on."""
    cells = [
        [cell.cell_type, cell.source if not _is_test(cell) else "", _grade_id(cell)]
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]
    state = [cells, exercises_digest, asdict(limits), _versions()]
    return hashlib.sha256(json.dumps(state).encode()).hexdigest()


def _script(notebook, exercises):
    """Return the script of ``notebook`` and the place of each of its cells; hidden tests stay outside."""
    asked = {test_id(e.name): e for e in exercises if e.kind != "text"}
    cells, places = [], {}
    for place, cell in enumerate(notebook.cells):
        if cell.cell_type != "code":
            continue
        exercise = asked.get(_grade_id(cell))
        places[len(cells)] = place
        cells.append(sandbox.Cell("", exercise.name, exercise.function) if exercise else sandbox.Cell(cell.source))
    calls = {e.name: tuple(sandbox.inputs_of(case) for case in e.hidden) for e in asked.values()}
    tensors = frozenset(e.name for e in asked.values() if e.in_torch)
    return sandbox.Script(tuple(cells), calls, tensors), places


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
