"""Find out whether this machine can keep submissions apart, by sending a canary that tries to leave.

In: an isolation. Out: what the canary could do. Starts two sandboxes, one after the other.
"""

import contextlib
import os
import signal
import socket
import tempfile
import time
from functools import cache
from pathlib import Path

from autograder import sandbox
from autograder.errors import CourseError
from autograder.sandbox import bubblewrap, container

CANARY = """
import ctypes, os, socket, subprocess, sys, time

def reads(paths):
    return [path for path in paths if os.path.exists(path)]

def network():
    for address in (("127.0.0.1", {port}), ("192.0.2.1", 80)):
        try:
            socket.create_connection(address, timeout=1).close()
            return True
        except OSError:
            pass
    return False

def other_sockets():
    found = []
    for family in ("AF_VSOCK", "AF_NETLINK", "AF_PACKET"):
        try:
            socket.socket(getattr(socket, family), socket.SOCK_DGRAM).close()
            found.append(family)
        except (OSError, AttributeError):
            pass
    return found

def processes():
    return sum(name.isdigit() for name in os.listdir("/proc")) if os.path.isdir("/proc") else 0

def writes(folders):
    def can(folder):
        path = os.path.join(folder, "canary")
        try:
            with open(path, "w") as file:
                file.write("out")
            os.remove(path)
        except OSError:
            return False
        return True
    return [folder for folder in folders if can(folder)]

def raises_limits():
    import resource
    try:
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    except (ValueError, OSError):
        return False
    return True

def new_namespace():
    child = os.fork()
    if child == 0:
        os._exit(0 if ctypes.CDLL(None).unshare(0x10000000) == 0 else 1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

open(os.path.join(os.environ["HOME"], "left"), "w").close()
try:
    open("/dev/shm/{token}", "w").close()
except OSError:
    pass
beat = "import time; [time.sleep(0.1) for _ in range(600)]; # {token}"
subprocess.Popen([sys.executable, "-c", beat], start_new_session=True)
if os.fork() == 0:
    os.setsid()
    time.sleep(60)
    os._exit(0)

def canary():
    return {{
        "reads": reads({paths!r}), "network": network(), "sockets": other_sockets(), "processes": processes(),
        "writes": writes({folders!r}), "raises_limits": raises_limits(), "root": os.getuid() == 0,
        "namespace": new_namespace(),
        "environment": sorted(set(os.environ) & {{"AUTOGRADER_CANARY", "SSH_AUTH_SOCK", "USER", "LOGNAME"}}),
    }}
"""
SECOND = """
import os

def canary():
    return {{"left": [path for path in ("/scratch/left", "/tmp/left", "/dev/shm/{token}") if os.path.exists(path)]}}
"""


def examine(isolation=sandbox.DEFAULT, limits=None):
    """Return ``[(what was tried, whether it was stopped)]`` for ``isolation``.

    Raises
    ------
    CourseError
        If the sandbox does not start.
    """
    os.environ.setdefault("AUTOGRADER_CANARY", "1")
    token = f"canary-{os.getpid()}-{time.monotonic_ns()}"
    with tempfile.NamedTemporaryFile(prefix="canary-") as secret, socket.create_server(("127.0.0.1", 0)) as server:
        paths = [secret.name, *(str(Path(folder) / "README.md") for folder in sandbox.course_folders())]
        paths += [str(Path.home() / ".bashrc"), "/etc/shadow", "/etc/passwd"]
        folders = ["/", "/usr", "/var/tmp", "/worker", str(Path(__file__).parent)]
        port = server.getsockname()[1]
        seen = _send(CANARY.format(port=port, paths=paths, folders=folders, token=token), isolation, limits)
    alive = _still_runs(token)
    after = _send(SECOND.format(token=token), isolation, limits)
    Path("/dev/shm", token).unlink(missing_ok=True)  # it is there if there was no sandbox
    return [
        ("reads files of the host, the project or the home directory", seen.get("reads") == []),
        ("opens a connection to this machine or to another", seen.get("network") is False),
        ("opens a socket past the network (vsock, netlink, packet)", seen.get("sockets") == []),
        ("sees processes other than its own", type(seen.get("processes")) is int and seen["processes"] <= 4),
        ("writes outside its scratch directory", seen.get("writes") == []),
        ("raises its own limits", seen.get("raises_limits") is False),
        ("makes namespaces of its own", seen.get("namespace") is False),
        ("runs as root", seen.get("root") is False),
        ("sees the environment of the grader", seen.get("environment") == []),
        ("keeps a process alive after its end", not alive),
        ("leaves files for the next submission", after.get("left") == []),
    ]


def require(isolation, limits=None, hidden=()):
    """Refuse to grade where the canary gets out.

    Raises
    ------
    CourseError
        If ``isolation`` does not hold on this machine.
    """
    if isolation == "none":
        return
    escaped = [what for what, stopped in examine(isolation, limits) if not stopped]
    if escaped:
        raise CourseError(
            f"a submission could leave the sandbox: it {'; it '.join(escaped)}", "this machine", remedy(isolation)
        )


@cache
def require_once(isolation, hidden=()):
    """As ``require``, once in the life of this process: nbgrader's own commands begin no batch that could ask."""
    require(isolation)


def _send(source, isolation, limits):
    script = sandbox.Script(
        (sandbox.Cell(source), sandbox.Cell("", "doctor-canary", "canary")), {"doctor-canary": (sandbox.Call({}),)}
    )
    reply = sandbox.run(script, limits, isolation).replies.get(("doctor-canary", 0), sandbox.Reply())
    if not isinstance(reply.value, dict):
        raise CourseError(f"the canary gave no answer ({reply.raised or 'nothing'})", "the sandbox", remedy(isolation))
    return reply.value


def remedy(isolation):
    """Return what to do where ``isolation`` does not hold."""
    return container.REMEDY if isolation == "container" else bubblewrap.REMEDY


def _still_runs(token):
    """Return whether a process with ``token`` in its command line is there on this machine; end it."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if token.encode() in path.read_bytes():
                found.append(int(path.parent.name))
    for number in found:
        with contextlib.suppress(OSError):
            os.kill(number, signal.SIGKILL)
    return bool(found)
