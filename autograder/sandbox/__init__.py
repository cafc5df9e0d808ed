"""Run a submission in isolation: cells and inputs go in, outputs and values come out, and every byte is checked.

Starts processes under bubblewrap or a container engine, and ends each with everything it started. Never sees answers.
"""

import time
from collections.abc import Iterable

from autograder.errors import CourseError
from autograder.sandbox import bubblewrap
from autograder.sandbox.script import NOTHING, NOTICED_LIMITS, Call, Cell, Limits, Prepared, Reply, Run, Script
from autograder.sandbox.start import ISOLATIONS, MachineTooBusy, SandboxLost, close, remedy, require_known, start_worker

__all__ = [
    "ISOLATIONS",
    "NOTHING",
    "NOTICED_LIMITS",
    "Call",
    "Cell",
    "Limits",
    "MachineTooBusy",
    "Prepared",
    "Reply",
    "Run",
    "SandboxLost",
    "Script",
    "close",
    "require_known",
    "run",
    "run_trusted",
    "warm_up",
]

DEFAULT = "zygote"
ATTEMPTS = 2  # a killed worker may have been killed from outside, so it is tried again before that counts


def run(script: Script, limits: Limits | None = None, isolation: str = DEFAULT, hidden: Iterable[str] = ()) -> Run:
    """Run ``script`` in its own process and return the resulting ``Run``. Nothing that a student did raises an exception.

    ``hidden`` lists paths that it must not see, such as the course. The project itself and the home directory are always
    hidden. Raises CourseError if the sandbox cannot be started, SandboxLost if it is killed from outside repeatedly, and
    MachineTooBusy if the machine lets it run too little to end.
    """
    from autograder.sandbox.protocol import NoReply, run_script  # it imports numpy, which not every caller needs

    limits = limits or Limits()
    for attempt in range(ATTEMPTS):
        began = time.monotonic()
        try:
            with start_worker(limits, isolation, hidden, script.prepared) as worker:
                ready = time.monotonic()
                try:
                    run = run_script(worker, script, limits)
                except NoReply:
                    raise CourseError(
                        f"the sandbox did not start: {worker.last_words()}", "this machine", remedy(isolation)
                    ) from None
        except SandboxLost:
            if attempt + 1 == ATTEMPTS:
                raise
            continue
        run.spent["start"] = run.spent.get("start", 0.0) + ready - began
        if worker.used is not None:
            run.used["sandbox"] = max(worker.used, run.used.get("sandbox", 0.0))
        if not (worker.killed and run.failure):
            break
        run.killed = True
    return run


def run_trusted(
    script: Script, limits: Limits | None = None, isolation: str = DEFAULT, hidden: Iterable[str] = ()
) -> Run:
    """Like ``run``, for code that no student wrote: raise CourseError if the sandbox is lost repeatedly."""
    try:
        return run(script, limits, isolation, hidden)
    except SandboxLost as lost:
        raise CourseError(f"the sandbox was lost, more than once: {lost}", "this machine", bubblewrap.REMEDY) from None


def warm_up(limits: Limits, isolation: str = DEFAULT, hidden: Iterable[str] = (), prepared: Prepared = NOTHING) -> None:
    """Start this thread's zygote, if ``isolation`` uses one, so that the first submission does not wait for it."""
    if isolation == DEFAULT:
        run_trusted(Script((), {}, prepared=prepared), limits, isolation, hidden)
