"""Run a command in a process that is killed right before one of its writes, or in the middle of one."""

import json
import os
import signal
import subprocess
import sys
import traceback
from pathlib import Path

import sqlalchemy.orm

import autograder
from autograder.courses.record import Record

WRITES = (
    (Path, "replace"),
    (Path, "unlink"),
    (sqlalchemy.orm.Session, "commit"),
    (Record, "add"),
)  # counted as writes: class, method

HALF_DONE = """
import os, sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
connection.execute("PRAGMA cache_size = 1")  # so that it writes before it is done
connection.execute("BEGIN IMMEDIATE")
for number in range(2000):
    connection.execute("INSERT INTO student (id) VALUES (?)", (f"student{number}",))
os._exit(9)
"""


def leave_half_done(gradebook):
    """Write into the database ``gradebook`` in a process that ends before it is done; leave its journal beside it."""
    assert subprocess.run([sys.executable, "-c", HALF_DONE, gradebook]).returncode == 9
    assert gradebook.with_name("gradebook.db-journal").is_file()


def is_killed_at(number, command, counted, writes=WRITES):
    """Run ``command`` in a process that is killed right before its write ``number``; return whether it was.

    It writes into the file ``counted`` which ``writes`` it made: for each, the statement of ours that led to it.
    """
    if pid := os.fork():
        return os.WIFSIGNALED(os.waitpid(pid, 0)[1])
    made, ours = [], str(Path(autograder.__file__).parent)

    def kill_in_time(method):
        def run(*args, **more):
            stack = [frame for frame in traceback.extract_stack() if frame.filename.startswith(ours)]
            made.append(
                [f"{frame.filename}:{frame.lineno}" for frame in stack if not frame.filename.endswith("/files.py")][-2:]
            )
            if len(made) == number:
                os.kill(os.getpid(), signal.SIGKILL)
            return method(*args, **more)

        return run

    try:
        for owner, name in writes:
            setattr(owner, name, kill_in_time(getattr(owner, name)))
        command()
        counted.write_text(json.dumps(made))
        os._exit(0)
    except BaseException:
        traceback.print_exc()
        os._exit(1)


def choose_writes(counted, every):
    """Return the numbers of the writes in the file ``counted``: of ``every`` one, or of the first of each kind and of the last."""
    made = json.loads(counted.read_text())
    kinds = [tuple(kind) for kind in made]
    return [n for n, kind in enumerate(kinds, 1) if every or n == len(kinds) or kind not in kinds[: n - 1]]
