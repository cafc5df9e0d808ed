"""Find out whether this machine can isolate submissions, by running a canary in two sandboxes that tries to escape."""

import contextlib
import itertools
import os
import signal
import socket
import tempfile
import time
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from autograder import sandbox
from autograder.errors import CourseError
from autograder.sandbox import Limits, Prepared, bubblewrap, cgroup, meter, setuid
from autograder.sandbox.hidden import PACKAGES, home_directory, project_paths
from autograder.sandbox.start import remedy

MAX_FILES_PER_FOLDER = 200  # of one folder that the canary tries to read
CANARY = Path(__file__).with_name("canary.py")
PROC = Path("/proc")  # this machine's list of processes, if it has one
UNMEASURED = (
    "This kernel does not show what a process waits for (/proc/PID/schedstat and /proc/PID/task/TID/children), so the CPU limit "
    "of a submission applies to each of its processes, and only the submission's own process measures waiting."
)
OUTLIVES_ITS_RUN, SEES_PROCESSES = "leaves a process running after it ends", "sees processes other than its own"
WRITES_OUTSIDE = "writes outside its scratch directory"


def examine(
    isolation: str = sandbox.DEFAULT,
    limits: Limits | None = None,
    hidden: Iterable[str] = (),
    prepared: Prepared = sandbox.NOTHING,
) -> list[tuple[str, bool]]:
    """Return ``[(what was tried, whether it was stopped)]`` for ``isolation``, for what can be checked on this machine.

    ``hidden`` lists paths that submissions must not see, besides the project and the home directory; ``prepared`` is
    what their scripts will have. The isolation ``user`` is not tested for what it cannot promise: hiding processes, and
    protecting world-writable folders (it removes a submission's files there afterwards). Raises CourseError if the
    sandbox does not start.
    """
    os.environ.setdefault("AUTOGRADER_CANARY", "1")
    token = f"canary-{os.getpid()}-{time.monotonic_ns()}"
    with tempfile.NamedTemporaryFile(prefix="canary-") as secret, socket.create_server(("127.0.0.1", 0)) as server:
        secret.write(b"hush")
        secret.flush()
        paths = [secret.name, *_secret_files(hidden)]
        if isolation != "container":  # an image has its own files
            paths += ["/etc/shadow"] if isolation == "user" else ["/etc/shadow", "/etc/passwd"]
        given = {
            "paths": paths,
            "names": ["solutions", "solutions.answer_key", "autograder", "autograder.errors"],
            # the folders from which the project's packages can be imported on this machine
            "places": sorted({str(path.parent if path.name in PACKAGES else path) for path in project_paths()}),
            "folders": ["/usr", "/var/tmp", "/worker", str(Path(__file__).parents[1])],
            "port": server.getsockname()[1],
            "by_rights": isolation == "user",
        }
        settings = isolation, limits, hidden, prepared
        seen = _send_canary(f"leave_traces({token!r})", f"probe(**{given!r})", *settings)
    world_writable, writes = set(setuid.WORLD_WRITABLE) if isolation == "user" else set(), seen.get("writes")
    alive = _end_left_processes(token)
    seen_after = _send_canary("", f"{{'left': find_traces({token!r})}}", *settings)
    for folder in ("/dev/shm", "/dev"):  # left there if there was no sandbox
        Path(folder, token).unlink(missing_ok=True)
    findings = [
        ("reads files of the course, the project, the home directory or this machine", seen.get("reads") == []),
        ("imports the project's packages", seen.get("imports") == []),
        ("opens a connection to this machine or to another", seen.get("network") is False),
        ("opens a socket that bypasses the network (vsock, netlink, packet)", seen.get("sockets") == []),
        (SEES_PROCESSES, type(seen.get("processes")) is int and seen["processes"] <= 4),
        (WRITES_OUTSIDE, type(writes) is list and set(writes) <= world_writable),
        ("raises its own limits", seen.get("raises_limits") is False),
        ("makes namespaces of its own", seen.get("namespace") is False),
        ("runs as root", seen.get("root") is False),
        ("sees the environment of the grader", seen.get("environment") == []),
        *([] if alive is None else [(OUTLIVES_ITS_RUN, not alive)]),
        ("leaves files for the next submission", seen_after.get("left") == []),
    ]
    return [finding for finding in findings if isolation != "user" or finding[0] != SEES_PROCESSES]


def require(
    isolation: str, limits: Limits | None = None, hidden: Iterable[str] = (), prepared: Prepared = sandbox.NOTHING
) -> None:
    """Raise CourseError if the canary escapes from ``isolation`` on this machine; "none" is not tested."""
    if isolation == "none":
        return
    if escapes := [what for what, stopped in examine(isolation, limits, hidden, prepared) if not stopped]:
        what = f"a submission could escape from the sandbox: it {'; it '.join(escapes)}"
        raise CourseError(what, "this machine", remedy(isolation))


@cache
def require_once(isolation: str, hidden: tuple[str, ...] = ()) -> None:
    """Like ``require``, but once per process: nbgrader's own commands start no batch that could call ``require``."""
    require(isolation, hidden=hidden)


def _secret_files(paths):
    """Return files that no submission may see: all of the packages, the first of the project and ``paths``, the home's own."""
    shown = bubblewrap.View(bubblewrap.python_paths(), ()).shown
    packages = [folder / name for folder in project_paths() for name in PACKAGES]
    packages += [folder for folder in project_paths() if folder.name in PACKAGES]
    others = [Path(path).resolve() for path in paths]
    files = [str(file) for folder in packages for file in _files_below(folder, shown)]
    for folder in (*project_paths(), *others):
        files += [str(file) for file in itertools.islice(_files_below(folder, shown), MAX_FILES_PER_FOLDER)]
    with contextlib.suppress(OSError):
        if folder := home_directory():
            files += [str(path) for path in sorted(folder.iterdir()) if path.is_file()]
    return list(dict.fromkeys(files))


def _files_below(path, shown):
    """Yield the files below ``path``, or ``path`` if it is a file, except those that Python itself needs."""
    if path.is_file():
        yield path
    for folder, names, files in os.walk(path):
        names[:] = sorted(name for name in names if Path(folder, name) not in shown)
        yield from (Path(folder, name) for name in sorted(files))


def warnings(isolation: str, limits: Limits) -> list[str]:
    """Return warnings about protection that is weaker than it could be, and about what could not be checked."""
    if not PROC.is_dir():
        return [f"This machine has no {PROC}, so it could not be checked whether a submission {OUTLIVES_ITS_RUN}."]
    unmeasured = [] if isolation in ("container", "none") or meter.can_measure() else [UNMEASURED]
    if isolation in ("zygote", "user") and not cgroup.is_available(limits):
        return [
            *unmeasured,
            "No control group is available, so memory is limited for each process, not for a submission as a whole: if one "
            "uses up the memory, the kernel may kill others. Those are run again, alone. To get one, grade as root on a "
            "machine with control groups; otherwise, use fewer workers or a lower c.Judge.memory_mb in nbgrader_config.py.",
        ]
    return unmeasured


def _send_canary(statement, expression, isolation, limits, hidden, prepared):
    """Run the canary's source and ``statement`` in a sandbox, and return the value of ``expression`` there, a dict."""
    source = f"{CANARY.read_text(encoding='utf-8')}\n\n{statement}\n\n\ndef canary():\n    return {expression}\n"
    cells = sandbox.Cell(source), sandbox.Cell("", "doctor-canary", "canary")
    script = sandbox.Script(cells, {"doctor-canary": (sandbox.Call({}),)}, prepared=prepared)
    reply = sandbox.run_trusted(script, limits, isolation, hidden).replies.get(("doctor-canary", 0), sandbox.Reply())
    if not isinstance(reply.value, dict):
        raise CourseError(f"the canary gave no answer ({reply.raised or 'nothing'})", "the sandbox", remedy(isolation))
    return reply.value


def _end_left_processes(token):
    """Kill processes with ``token`` in their command line; return whether there were any, None if processes cannot be seen."""
    if not PROC.is_dir():
        return None
    is_there = False
    for path in PROC.glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if token.encode() in path.read_bytes():
                is_there = True
                os.kill(int(path.parent.name), signal.SIGKILL)
    return is_there
