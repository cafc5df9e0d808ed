"""Run a command in a process that is killed right before one of its writes."""

import os
import signal
import traceback
from pathlib import Path

import sqlalchemy.orm

WRITES = ((Path, "replace"), (Path, "unlink"), (sqlalchemy.orm.Session, "commit"))  # counted as writes: class, method


def is_killed_at(number, command, counted, writes=WRITES):
    """Run ``command`` in a process that is killed right before its write ``number``; return whether it was.

    It writes into the file ``counted`` how many ``writes`` it made.
    """
    if pid := os.fork():
        return os.WIFSIGNALED(os.waitpid(pid, 0)[1])
    count = 0

    def kill_in_time(method):
        def run(*args, **more):
            nonlocal count
            count += 1
            if count == number:
                os.kill(os.getpid(), signal.SIGKILL)
            return method(*args, **more)

        return run

    try:
        for owner, name in writes:
            setattr(owner, name, kill_in_time(getattr(owner, name)))
        command()
        counted.write_text(str(count))
        os._exit(0)
    except BaseException:
        traceback.print_exc()
        os._exit(1)
