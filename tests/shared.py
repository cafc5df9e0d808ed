"""What several processes of one test run need, made by one of them."""

import fcntl
import os
import pickle


def made_once(tmp_path_factory, name, make):
    """Return what ``make(folder)`` returns, made by one of the processes of this run and used by all."""
    base = tmp_path_factory.getbasetemp()
    base = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder = base / f"shared-{name}"
    with (base / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "made.pickle").is_file():
            folder.mkdir()
            (folder / "made.pickle").write_bytes(pickle.dumps(make(folder)))
    return pickle.loads((folder / "made.pickle").read_bytes())
