"""What several processes of one test run need, made by one of them."""

import contextlib
import fcntl
import os
import pickle
import socket
import tempfile
import traceback
from pathlib import Path

FOLDER = "TESTS_SHARE"  # in the environment, where the processes of pytest-xdist find it


def pytest_configure(config):
    if not hasattr(config, "workerinput"):
        folder = tempfile.TemporaryDirectory(prefix="tests-share-", ignore_cleanup_errors=True)
        config.add_cleanup(folder.cleanup)
        os.environ[FOLDER] = folder.name


def made_once(name, make):
    """Return what ``make(folder)`` returns, made by one of the processes of this run and used by all.

    It is tried once: where it has failed, each that asks for it later is told how.
    """
    base = Path(os.environ[FOLDER])
    folder = base / name
    with (base / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.is_dir():
            folder.mkdir()
            try:
                made = pickle.dumps(make(folder))
            except Exception:
                (folder / "failure.txt").write_text(traceback.format_exc(), encoding="utf-8")
                raise
            (folder / "made.pickle").write_bytes(made)
    failure = folder / "failure.txt"
    assert not failure.is_file(), f"{name} could not be made:\n{failure.read_text(encoding='utf-8')}"
    return pickle.loads((folder / "made.pickle").read_bytes())


def free_ports(count):
    """Return the numbers of so many ports that nobody listens on."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [each.getsockname()[1] for each in sockets]
