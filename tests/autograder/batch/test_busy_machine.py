"""A crowded machine costs nobody a point: beside busy processes, a class gets exactly what it gets without them."""

import contextlib
import os
import subprocess
import sys

import nbformat
import pytest

from autograder.batch.context import GradingOptions
from autograder.batch.grade_class import grade_class
from autograder.batch.results import PROVISIONAL_NOTE
from autograder.courses import demo
from autograder.sandbox import Limits
from tests.autograder.samples import AUTOMATIC

pytestmark = pytest.mark.suite("sandbox")
# Each honest notebook uses half of what a cell may use; beside the crowd, that takes longer than the limit.
USES_SECONDS, LIMITS = 0.5, Limits(cell_seconds=1, cell_idle_seconds=1, call_seconds=1)
BURN = f"""
import time
end = time.process_time() + {USES_SECONDS}
while time.process_time() < end:
    pass
"""
IN_A_CHILD = f"import subprocess, sys; print(subprocess.run([sys.executable, '-c', {BURN!r}]).returncode)"
CELLS = {  # student -> a cell before the answers
    "burns": BURN,
    "burns_in_a_child": IN_A_CHILD,
    "loops": "while True: pass",
    "sleeps": "import time; time.sleep(1000)",
    "loops_in_a_child": "import subprocess, sys; subprocess.run([sys.executable, '-c', 'while True: pass'])",
}
REACHED = {"loops": "cell_seconds", "sleeps": "cell_idle_seconds", "loops_in_a_child": "cell_seconds"}


@contextlib.contextmanager
def crowd(count):
    """Keep ``count`` processes busy, each in a session of its own: Linux shares the processors among sessions first."""
    command = [sys.executable, "-c", "print(flush=True)\nwhile True: pass"]
    busy = [subprocess.Popen(command, start_new_session=True, stdout=subprocess.PIPE) for _ in range(count)]
    try:
        for process in busy:
            process.stdout.readline()  # until it runs
        yield
    finally:
        for process in busy:
            process.kill()
            process.communicate()


@pytest.fixture
def course(released):
    source = nbformat.read(released.source("scoring"), as_version=4)
    handed_out = nbformat.read(released.releases("scoring").file, as_version=4)
    (reference,) = [student for student in demo.load_students() if student.name == "ada_loops"]
    for name, cell in CELLS.items():
        notebook = nbformat.reads(demo.make_submission(reference, "scoring", source, handed_out), as_version=4)
        notebook.cells.insert(1, nbformat.v4.new_code_cell(cell))
        path = released.submission(name, "scoring")
        path.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(notebook, path)
    return released


def test_beside_busy_processes_everybody_gets_the_points_of_a_quiet_machine(course):
    with crowd(os.cpu_count()):
        rows = grade_class(course, "scoring", GradingOptions(LIMITS, workers=2), list(CELLS))
    assert {row.student: row.total for row in rows} == dict.fromkeys(CELLS, AUTOMATIC)
    notes = {row.student: " ".join(row.notes) for row in rows}
    assert [name for name in CELLS if PROVISIONAL_NOTE in notes[name]] == list(REACHED)
    for name, limit in REACHED.items():
        assert f"({limit})" in notes[name]


def test_honest_cells_of_the_demonstration_class_use_less_than_a_quarter_of_their_limit(demonstration, tmp_path):
    course, rows, students = demonstration
    names = [
        name for name, row in rows.items() if row.points and not _reached(row) and students[name].kind != "hostile"
    ]
    quarter = Limits(cell_seconds=demo.LIMITS.cell_seconds / 4, call_seconds=demo.LIMITS.call_seconds / 4)
    again = grade_class(course, "scoring", GradingOptions(quarter, again=True), names)
    assert len(names) > 10
    assert {row.student: (row.total, _reached(row)) for row in again} == {
        name: (rows[name].total, []) for name in names
    }


def _reached(row):
    return [note for note in row.notes if "_seconds)" in note]
