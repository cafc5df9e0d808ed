"""Grading processes: if one of them ends, the others carry on."""

import contextlib
import math
import os
import resource
import subprocess
import sys
import time
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import pytest

from autograder.grading.stopwatch import call_timed
from autograder.grading.workers import Workers

pytestmark = pytest.mark.slow


def test_where_the_pool_has_given_up_the_next_task_gets_a_new_one():
    with Workers(1, {}) as workers:
        assert workers.submit(math.sqrt, 4.0).result() == 2.0
        given_up = workers.pool
        assert workers.submit(math.sqrt, 1.0).result() == 1.0
        assert workers.pool is given_up
        given_up._pool_manager.handle_broken_pool(BrokenProcessPool("as where a process dies before it was heard"))
        assert workers.submit(math.sqrt, 9.0).result() == 3.0
        assert workers.pool is not given_up


def test_a_worker_may_take_8_gigabytes_of_memory():
    with Workers(1, {}) as workers:
        assert workers.submit(resource.getrlimit, resource.RLIMIT_AS).result()[0] == 8 * 1024**3


def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
    return seconds


def test_a_task_is_limited_in_the_cpu_time_of_its_process_and_by_the_clock():
    with Workers(1, {burn: (0.3, 600.0), time.sleep: (0.3, 1.0)}) as workers:
        for task in (burn, time.sleep):
            with pytest.raises(TimeoutError):
                workers.submit(task, 60.0).result()
            assert workers.submit(task, 0.1).result() == (0.1 if task is burn else None)
        assert workers.submit(time.sleep, 0.6).result() is None  # twice the CPU seconds
    with Workers(1, {}) as workers:
        assert workers.submit(burn, 0.5).result() == 0.5


def burn_in_spite_of_errors(seconds):
    with contextlib.suppress(Exception):  # as code that expects a damaged archive
        burn(seconds)
    return "unlimited"


def test_no_handler_on_the_way_catches_the_limit_of_cpu_time():
    with Workers(1, {burn_in_spite_of_errors: (0.3, 600.0), call_timed: (0.3, 600.0)}) as workers:
        with pytest.raises(TimeoutError):
            workers.submit(burn_in_spite_of_errors, 60.0).result()
        result, _ = workers.submit(call_timed, burn_in_spite_of_errors, 60.0).result()
    assert isinstance(result, TimeoutError)


KILLED_GRADER = """
import os, signal, sys, tempfile, time
from autograder.grading.workers import Workers

def grade_for_long(folder):
    with tempfile.TemporaryDirectory(dir=folder):
        time.sleep(600)

if __name__ == "__main__":
    workers = Workers(1, {})
    print(workers.submit(os.getpid).result(), flush=True)
    workers.submit(grade_for_long, sys.argv[1])
    while not os.listdir(sys.argv[1]):
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_where_the_grader_is_killed_its_processes_clean_up_and_end(tmp_path):
    script, folder = tmp_path / "grader.py", tmp_path / "scratch"
    script.write_text(KILLED_GRADER, encoding="utf-8")
    folder.mkdir()
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, script, folder]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as grader:
        worker = int(grader.stdout.readline())
    end = time.monotonic() + 60
    while is_running(worker) and time.monotonic() < end:
        time.sleep(0.05)
    assert not is_running(worker)
    assert not list(folder.iterdir())


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
