"""What goes into a sandbox and what comes out of it: plain records.

In and out: frozen dataclasses. Touches nothing.
"""

from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class Limits:
    """What one submission may use. Seconds of wall time; megabytes and kilobytes; numbers of things."""

    cell_seconds: float = 20.0
    call_seconds: float = 5.0
    submission_seconds: float = 120.0
    memory_mb: int = 4096  # of one process, and of all together where a cgroup can be had
    disk_mb: int = 64
    processes: int = 64
    output_kb: int = 256  # of one cell
    outputs_mb: int = 4  # of all cells together
    reply_mb: int = 16  # of what one call returns, as it crosses the boundary
    submission_mb: int = 20  # of the file that was handed in


@dataclass(frozen=True)
class Cell:
    """A code cell to run, or, with ``exercise``, the place where that exercise's function is taken for its test."""

    source: str
    exercise: str = ""
    function: str = ""


@dataclass(frozen=True)
class Call:
    """One call: inputs by argument name, gradients wanted."""

    inputs: dict
    gradients: tuple[str, ...] = ()


@dataclass(frozen=True)
class Script:
    """Everything that goes into the sandbox: cells in order, then calls by exercise."""

    cells: tuple[Cell, ...]
    calls: dict  # exercise -> tuple of Call
    tensors: frozenset = frozenset()  # exercises whose inputs are torch tensors
    files: dict = field(default_factory=dict)  # what lies beside the notebook: name -> bytes


@dataclass(frozen=True)
class Reply:
    """What one call gave: a value, or the name of the exception in ``raised`` and the line of the student's cell."""

    value: object = None
    raised: str = ""
    line: int = 0
    changed: tuple[str, ...] = ()
    printed: bool = False  # it wrote to its standard output


@dataclass
class Run:
    """What came out. ``failure`` is "" or a sentence that says what ended the notebook early, in cell ``ended_in``."""

    outputs: dict = field(default_factory=dict)  # number of the cell -> (execution count, list of outputs)
    replies: dict = field(default_factory=dict)  # (exercise, number of the call) -> Reply
    failure: str = ""
    ended_in: int | None = None
    timed_out: bool = False  # somewhere, a limit of time was reached
    killed: bool = False  # its process, or that of a call, was ended by a SIGKILL that we did not send
    spent: dict = field(default_factory=dict)  # stage -> seconds: start, cells, calls


def inputs_of(case):
    """Return the ``Call`` for a drawn case: plain numbers and arrays only."""
    inputs = {name: np.asarray(item) if isinstance(item, np.ndarray) else item for name, item in case.inputs.items()}
    return Call(inputs, tuple(case.gradients))
