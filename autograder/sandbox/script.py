"""Plain records of the data that goes into a sandbox and comes out of it."""

import json
from dataclasses import dataclass, field, fields
from functools import cached_property


def _limit(default, least, help, is_noticed=False):
    return field(default=default, metadata={"least": least, "help": help, "is_noticed": is_noticed})


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What one submission may use; nbgrader's configuration takes the names, bounds and descriptions from here.

    No limit on time depends on how busy the machine is: CPU time is that of the submission and of all that it started,
    and time is idle if none of these processes ran or waited for a processor. A limit that ``is_noticed`` is named in
    ``Run.reached`` when it is reached.
    """

    cell_seconds: float = _limit(20.0, 0.1, "Seconds of CPU time that one cell may use.", True)
    cell_idle_seconds: float = _limit(60.0, 0.1, "Seconds that one cell may wait without computing.", True)
    call_seconds: float = _limit(
        5.0, 0.1, "Seconds of CPU time that one call of a function may use, and that it may wait.", True
    )
    submission_seconds: float = _limit(120.0, 1, "Seconds of CPU time that one submission may use.", True)
    submission_idle_seconds: float = _limit(120.0, 1, "Seconds that one submission may wait without computing.", True)
    # per process; where a cgroup is available, it limits all processes together as well
    memory_mb: int = _limit(4096, 1500, "Megabytes that one process may use; torch needs 1500.")
    disk_mb: int = _limit(64, 1, "Megabytes of files that one submission may write.")
    processes: int = _limit(64, 8, "Processes that one submission may have at once.")
    output_kb: int = _limit(256, 1, "Kilobytes of output that one cell may produce.")
    outputs_mb: int = _limit(4, 1, "Megabytes of output that all cells together may produce.")
    reply_mb: int = _limit(16, 1, "Megabytes that the calls of one function may return together.", True)  # as encoded
    submission_mb: int = _limit(20, 1, "Maximum size of a notebook in megabytes.")

    @property
    def brake_seconds(self) -> float:
        """Seconds after which a run is abandoned whatever it used: by then, the machine has failed, not the student."""
        return BRAKE_FACTOR * (self.submission_seconds + self.submission_idle_seconds)


@dataclass(frozen=True)
class Cell:
    """A code cell to run; or, with ``exercise``, the point at which that exercise's ``function`` is taken for its test."""

    source: str
    exercise: str = ""
    function: str = ""


@dataclass(frozen=True)
class Prepared:
    """What all submissions of one or more assignments have in common; a warm process prepares it before the first one.

    ``sources`` are the locked code cells of the releases. ``optimiser`` and ``pictures`` say whether a release mentions
    torch's optimisers or pictures; if not, a submission that uses them waits a second for the import.
    """

    sources: tuple[str, ...] = ()
    optimiser: bool = False
    pictures: bool = False

    def covers(self, other: "Prepared") -> bool:
        """Return whether everything prepared for ``other`` is prepared here as well."""
        flags = self.optimiser >= other.optimiser and self.pictures >= other.pictures
        return flags and set(self.sources) >= set(other.sources)

    def merge(self, other: "Prepared") -> "Prepared":
        """Return the union of both, with the sources of ``other`` first."""
        sources = tuple(dict.fromkeys((*other.sources, *self.sources)))
        return Prepared(sources, self.optimiser or other.optimiser, self.pictures or other.pictures)


GRACE_SECONDS = 3.0  # seconds beyond a limit, of CPU or idle, before the host ends what has not ended itself
START_SECONDS = 600.0  # that the interpreter may take to start, and that ending one may take, on the busiest machine
BRAKE_FACTOR = 20
NOTICED_LIMITS = tuple(limit.name for limit in fields(Limits) if limit.metadata["is_noticed"])
NOTHING = Prepared()


@dataclass(frozen=True)
class Call:
    """One call: its inputs by argument name, and the names of those whose gradients are wanted."""

    inputs: dict[str, object]
    gradients: tuple[str, ...] = ()

    @cached_property
    def text(self) -> str:
        """The call as JSON for the worker, encoded only once for all submissions."""
        from autograder.sandbox import wire  # callers that only read limits need no numpy

        inputs = {name: wire.encode(item) for name, item in self.inputs.items()}
        return json.dumps({"inputs": inputs, "gradients": self.gradients})


@dataclass(frozen=True)
class Script:
    """Everything that goes into the sandbox: cells in order, then calls by exercise."""

    cells: tuple[Cell, ...]
    calls: dict[str, tuple[Call, ...]]  # by exercise
    tensors: frozenset[str] = frozenset()  # exercises whose inputs are torch tensors
    files: dict[str, bytes] = field(default_factory=dict)  # those beside the notebook, by name
    prepared: Prepared = NOTHING


@dataclass(frozen=True)
class Reply:
    """The result of one call: a value, or an exception's name with the number and ``text`` of the line that raised it.

    ``name`` is what a NameError did not find, or a ModuleNotFoundError; ``module`` is a module without which the call
    could not succeed, "" if none is known.
    """

    value: object = None
    raised: str = ""
    line: int = 0
    text: str = ""
    name: str = ""
    module: str = ""
    changed: tuple[str, ...] = ()
    printed: bool = False  # it wrote to its standard output


@dataclass
class Run:
    """The results of a script. ``failure`` is "" or a sentence on what ended the notebook early, in cell ``ended_in``."""

    # number of the cell -> (execution count, its outputs)
    outputs: dict[int, tuple[int | None, list[dict[str, object]]]] = field(default_factory=dict)
    replies: dict[tuple[str, int], Reply] = field(default_factory=dict)  # by exercise and number of the call
    failure: str = ""
    ended_in: int | None = None
    reached: set[str] = field(default_factory=set)  # which of the ``NOTICED_LIMITS``
    killed: bool = False  # a SIGKILL that we did not send ended its process, or that of a call
    spent: dict[str, float] = field(default_factory=dict)  # stage -> seconds: start, cells, calls
    used: dict[str, float] = field(default_factory=dict)  # stage -> seconds of CPU: sandbox, 0 if it cannot be measured
    idle: float = 0.0  # seconds in which it neither ran nor waited for a processor, if it can be measured
