"""Results that several processes of one test run need, made by one of them."""

import contextlib
import fcntl
import os
import pickle
import random
import socket
import tempfile
import traceback
from pathlib import Path

FOLDER = "TESTS_SHARE"  # environment variable through which the processes of pytest-xdist find it


def pytest_configure(config):
    if not hasattr(config, "workerinput"):
        folder = tempfile.TemporaryDirectory(prefix="tests-share-", ignore_cleanup_errors=True)
        config.add_cleanup(folder.cleanup)
        os.environ[FOLDER] = folder.name


def made_once(name, make):
    """Return what ``make(folder)`` returns, made by one of the processes of this run and used by all.

    ``make`` is called only once: if it fails, later callers get its traceback.
    """
    base = Path(os.environ[FOLDER])
    folder = base / name
    with (base / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.is_dir():
            folder.mkdir()
            try:
                pickled = pickle.dumps(make(folder))
            except Exception:
                (folder / "failure.txt").write_text(traceback.format_exc(), encoding="utf-8")
                raise
            (folder / "made.pickle").write_bytes(pickled)
    failure = folder / "failure.txt"
    assert not failure.is_file(), f"{name} could not be made:\n{failure.read_text(encoding='utf-8')}"
    return pickle.loads((folder / "made.pickle").read_bytes())


def free_ports(count):
    """Return the numbers of ``count`` free ports.

    They lie below the range from which the kernel picks a free port (on Linux, 32768 and up), so that a Jupyter kernel
    started by another worker cannot take a port that a test is about to use.
    """
    with contextlib.ExitStack() as stack:
        sockets = []
        for port in random.SystemRandom().sample(range(20_000, 32_000), 200):
            with contextlib.suppress(OSError):
                sockets.append(stack.enter_context(socket.create_server(("127.0.0.1", port))))
            if len(sockets) == count:
                return [each.getsockname()[1] for each in sockets]
    raise OSError(f"of 200 ports between 20000 and 32000, only {len(sockets)} are free; {count} are needed")
