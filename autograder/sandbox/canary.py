"""The canary, which the doctor runs in a sandbox like a submission: it tries to read, write, connect and outlive its run.

Its source is run in the sandbox, where the project does not exist, so it uses the standard library only.
"""

import contextlib
import ctypes
import importlib
import os
import resource
import socket
import subprocess
import sys
import time

TRACE_LIFETIME_SECONDS = 60  # how long the processes it leaves behind run unless they are killed
SCRATCH_FOLDERS = ("/scratch", "/tmp", "/dev/shm", "/dev/mqueue")  # where a submission may write
SOCKETS = ("AF_VSOCK", "AF_NETLINK", "AF_PACKET")  # they bypass the network
NO_LIMIT = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
NEW_USER_NAMESPACE = 0x10000000
TRACE_PATHS = ("/scratch/left", "/tmp/left", "/dev/shm/{}", "/dev/{}")


def leave_traces(token: str) -> None:
    """Leave files and processes behind, for ``find_traces(token)`` and the doctor to find."""
    with open(os.path.join(os.environ["HOME"], "left"), "w"):
        pass
    for folder in ("/dev/shm", "/dev"):
        with contextlib.suppress(OSError), open(f"{folder}/{token}", "w"):
            pass
    beat = f"import time; [time.sleep(0.1) for _ in range({TRACE_LIFETIME_SECONDS * 10})]; # {token}"
    subprocess.Popen([sys.executable, "-c", beat], start_new_session=True)
    if os.fork() == 0:
        os.setsid()
        time.sleep(TRACE_LIFETIME_SECONDS)
        os._exit(0)


def probe(
    paths: list[str], names: list[str], places: list[str], folders: list[str], port: int, by_rights: bool = False
) -> dict[str, object]:
    """Return what succeeded: which ``paths`` it read, ``names`` it imported from ``places``, ``folders`` it wrote to …

    If only file permissions protect ``paths`` (``by_rights``), a file may be visible as long as it cannot be read.
    """
    return {
        "reads": [
            path for path in paths if _is_nonempty_file(path) and (not by_rights or _succeeds(_read_a_byte, path))
        ],
        "imports": _importable(names, places),
        "network": any(
            _succeeds(socket.create_connection, place, 1) for place in (("127.0.0.1", port), ("192.0.2.1", 80))
        ),
        "sockets": [name for name in SOCKETS if _succeeds(_open_socket, name)],
        "processes": sum(name.isdigit() for name in os.listdir("/proc")) if os.path.isdir("/proc") else 0,
        "writes": sorted(folder for folder in {*folders, *_top_level_paths()} if _succeeds(_write_a_file, folder)),
        "raises_limits": _succeeds(resource.setrlimit, resource.RLIMIT_AS, NO_LIMIT),
        "root": os.getuid() == 0,
        "namespace": _makes_a_namespace(),
        "environment": sorted(set(os.environ) & {"AUTOGRADER_CANARY", "SSH_AUTH_SOCK", "USER", "LOGNAME"}),
    }


def find_traces(token: str) -> list[str]:
    """Return the files left by ``leave_traces(token)`` in the previous submission that this one can see."""
    return [path for path in (place.format(token) for place in TRACE_PATHS) if os.path.exists(path)]


def _succeeds(action, *args):
    """Return whether ``action(*args)`` succeeds: the system refuses it with an OSError, a limit with a ValueError."""
    try:
        action(*args)
    except (OSError, ValueError):
        return False
    return True


def _is_nonempty_file(path):
    try:
        return os.stat(path).st_size > 0 and not os.path.isdir(path)
    except OSError:
        return False


def _read_a_byte(path):
    with open(path, "rb") as file:
        file.read(1)


def _importable(names, places):
    sys.path += places
    importable = []
    for name in names:
        with contextlib.suppress(Exception):
            if importlib.import_module(name).__file__:
                importable.append(name)
    return importable


def _top_level_paths():
    places = [os.path.join(around, name) for around in ("/", "/dev") for name in os.listdir(around)]
    return [place for place in places if place not in SCRATCH_FOLDERS]


def _open_socket(family):
    if not hasattr(socket, family):
        raise OSError("this machine has no such sockets")
    socket.socket(getattr(socket, family), socket.SOCK_DGRAM).close()


def _write_a_file(folder):
    path = os.path.join(folder, "canary")
    with open(path, "w") as file:
        file.write("out")
    os.remove(path)


def _makes_a_namespace():
    child = os.fork()
    if child == 0:
        os._exit(0 if ctypes.CDLL(None).unshare(NEW_USER_NAMESPACE) == 0 else 1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
