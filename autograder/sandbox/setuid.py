"""Build the command that runs a worker as a separate user, for containers in which no namespace can be created.

Requires root. Creates folders for the worker; when it has ended, kills that user's processes and removes its files.

Three things then isolate a submission: file permissions, so nothing secret may be world-readable; the system call filter,
which allows no socket at all, because those of the machine's other processes would be within reach; and limits for each
process. The submission can see the names of other processes, and can write to world-writable folders.
"""

import base64
import contextlib
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

from autograder.errors import CourseError
from autograder.sandbox import bubblewrap, seccomp

CONFINE = Path(__file__).with_name("confine.py")
WORLD_WRITABLE = ("/tmp", "/var/tmp", "/dev/shm", "/dev/mqueue", "/run/lock")
PROC = Path("/proc")
MAX_PATHS_PER_COMMAND = 100  # paths to remove that one command is given
EXIT_GRACE_SECONDS = 10.0  # seconds that killed processes may take to disappear
REMEDY = (
    "grade as root, with a separate container for each submission and util-linux (setpriv) installed in it, or on a "
    "machine where bubblewrap can make namespaces."
)


def prepare(
    stack: contextlib.ExitStack, env: dict[str, str]
) -> tuple[list[str], dict[str, object], Callable[[], Iterable[int]]]:
    """Return ``(command, Popen arguments, what lists its processes)`` for a worker run as another user.

    Raises CourseError if that is impossible.
    """
    program = seccomp.program(local_sockets=False)
    user = bubblewrap.unused_uid() if PROC.is_dir() else ""
    for is_missing, problem in (
        (os.geteuid() != 0, "only root can run a submission as another user"),
        (shutil.which("setpriv") is None, "setpriv is missing"),
        (not program, "there is no system call filter for this architecture"),
        (not PROC.is_dir(), "there is no list of processes"),
        (user == bubblewrap.NOBODY, "there is no free user ID left for a separate user"),
    ):
        if is_missing:
            raise CourseError(problem, "this machine", REMEDY)
    number = int(user)
    folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="submission-", ignore_cleanup_errors=True))
    worker = stack.enter_context(tempfile.TemporaryDirectory(prefix="worker-"))
    for path in (*bubblewrap.WORKER_FILES, CONFINE):
        os.chmod(shutil.copy(path, worker), 0o644)
    os.chmod(worker, 0o755)
    env = {name: value.replace("/scratch", folder) for name, value in env.items()}
    os.makedirs(env["TMPDIR"])
    for path in (folder, env["TMPDIR"]):
        os.chown(path, number, number)
    stack.callback(_end_user, number, folder)
    python = [sys.executable, "-I", "-B"]
    filtered = [*python, f"{worker}/{CONFINE.name}", base64.b64encode(program).decode()]
    start = [*python, f"{worker}/{bubblewrap.WORKER_FILES[0].name}"]
    settings = {"env": env, "cwd": folder}
    return [*bubblewrap.become_user(user), *filtered, *start], settings, partial(_running_processes, number)


def _end_user(user, scratch):
    """Kill every process of ``user`` and remove the files it left; raise CourseError if a process survives."""
    end = time.monotonic() + EXIT_GRACE_SECONDS
    # all at once, so that none can start another in the meantime
    kill_all = [*bubblewrap.become_user(str(user)), "sh", "-c", "kill -9 -1"]
    while alive := list(_running_processes(user)):
        if time.monotonic() > end:
            raise CourseError(f"{len(alive)} processes of a submission are still running", "this machine", REMEDY)
        subprocess.run(kill_all, stderr=subprocess.DEVNULL, check=False)
        time.sleep(0.02)
    _remove([scratch, *(path for folder in WORLD_WRITABLE for path in _find_owned_paths(Path(folder), user))])


def _running_processes(user) -> Iterator[int]:
    """Yield the processes of ``user`` that have not ended; zombies do not count."""
    for path in PROC.glob("[0-9]*/status"):
        with contextlib.suppress(OSError):
            text = path.read_text(encoding="utf-8", errors="replace")  # a process may call itself anything
            lines = dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)
            if str(user) in lines["Uid"].split() and lines["State"][0] not in "ZX":
                yield int(path.parent.name)


def _find_owned_paths(folder, user):
    """Return the topmost paths in ``folder`` that ``user`` owns, following no links and entering no folder closed to others."""
    owned = []
    for top, folders, files in os.walk(folder):
        open_folders = []
        for name in (*folders, *files):
            path = Path(top, name)
            with contextlib.suppress(OSError):
                state = path.lstat()
                if state.st_uid == user:
                    owned.append(path)
                elif state.st_mode & stat.S_IXOTH and name in folders:
                    open_folders.append(name)
        folders[:] = open_folders  # in place, so that os.walk enters only these
    return owned


def _remove(paths):
    """Remove ``paths`` recursively, with ``rm`` because Python gives up on folders nested a thousand deep."""
    for first in range(0, len(paths), MAX_PATHS_PER_COMMAND):
        some = map(os.fspath, paths[first : first + MAX_PATHS_PER_COMMAND])
        subprocess.run(["rm", "-rf", "--", *some], stderr=subprocess.DEVNULL, check=False)
