"""Cells produce the same outputs in the sandbox as in a real kernel: streams, displays, pictures, tracebacks."""

import copy
import re
import warnings

import pytest
from nbclient import NotebookClient

from autograder.courses import demo
from autograder.grading.grade import grade
from autograder.notebooks import repair
from autograder.notebooks.cell_ids import RECEIPT, code_cells
from autograder.notebooks.cell_ids import test_id as name_of_test

pytestmark = pytest.mark.suite("assignments")
CLASS = [s for s in demo.load_students() if s.kind in ("right", "wrong", "unfinished", "odd") and s.form == "notebook"]
LIKE_OTHERS = [s.name for n, s in enumerate(CLASS) if s.kind != "odd" and s.kind in {other.kind for other in CLASS[:n]}]
AGAIN = pytest.mark.full("another of the same kind")
HONEST = [pytest.param(s.name, marks=AGAIN) if s.name in LIKE_OTHERS else s.name for s in CLASS]
# These differ between kernels: file names of cells, colours, memory addresses, and times taken.
NAMES = re.compile(r"(/\S+/ipykernel_\d+/)?\b\d{5,}\.py")
PASSING = (re.compile(r"\x1b\[[\d;]*m"), re.compile(r"0x[0-9a-f]+"), re.compile(r"[\d.]+ [nμm]?s ±"))


def plain(text):
    for pattern in PASSING:
        text = pattern.sub("", text)
    return NAMES.sub("CELL", text)


def comparable(outputs):
    """Return ``outputs`` with each stream joined, because a kernel flushes it in arbitrary pieces."""
    streams, others = {}, []
    for output in outputs:
        if output["output_type"] == "stream":
            streams[output["name"]] = streams.get(output["name"], "") + output["text"]
        elif output["output_type"] == "error":
            others.append((output["ename"], plain(output["evalue"]), plain("\n".join(output["traceback"]))))
        else:
            data = {kind: plain(text).strip() for kind, text in output["data"].items()}
            others.append((output["output_type"], output.get("execution_count"), data))
    return {name: plain(text) for name, text in streams.items()}, others


@pytest.mark.parametrize("name", HONEST)
def test_outputs_are_those_of_nbclient(demonstration, name, tmp_path):
    course, _, _ = demonstration
    released = course.releases("scoring").load()
    exercises, template = released.load_exercises(), released.notebooks[0]
    notebook, _ = repair.read_notebook(course.submission(name, "scoring").read_bytes(), [template], "scoring")
    repair.repair(notebook, template)
    outputs = grade(notebook, exercises).outputs
    left_out = {RECEIPT, *(name_of_test(exercise.name) for exercise in exercises)}
    beside = copy.deepcopy(notebook)
    for cell in beside.cells:
        if cell.metadata.get("nbgrader", {}).get("grade_id") in left_out:
            cell["source"] = ""  # these are not run in the sandbox
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        NotebookClient(beside, allow_errors=True, resources={"metadata": {"path": str(tmp_path)}}).execute()
    compared = 0
    cells = list(enumerate(code_cells(beside)))
    for number, cell in cells:
        if cell.source:
            _, ours = outputs[number]
            assert comparable(ours) == comparable(cell.outputs), cell.source
            compared += 1
    assert compared > 20
    counts = [outputs[number][0] for number, cell in cells if cell.source]
    assert counts[:3] == [1, 2, 3]
