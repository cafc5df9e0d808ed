"""Processes of this machine that grade submissions, so that a crash affects one submission only."""

import contextlib
import ctypes
import gc
import math
import multiprocessing
import os
import resource
import signal
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from multiprocessing import forkserver, util
from typing import Any, Self, TypeVar

from pebble import ProcessPool

from autograder import sandbox
from autograder.grading.stopwatch import LimitReached, time_limit

MAX_MEMORY_BYTES = 8 * 2**30  # bytes that a process may address; torch alone takes three quarters of a GiB
PR_SET_PDEATHSIG = 1
Result = TypeVar("Result")
PRELOADED_MODULES = ["autograder.grading.submission", "autograder.sandbox.doctor", "torch"]


class Workers:
    """An executor of ``count`` processes.

    ``seconds`` maps functions to the CPU seconds that a task may use in its process, and to the seconds of the clock after
    which it is given up. A task that exceeds either raises ``TimeoutError``; one whose process dies, ``ProcessExpired``.
    """

    def __init__(self, count: int, seconds: Mapping[Callable[..., Any], tuple[float, float]]):
        self.workers, self.seconds = count, seconds
        self.pool = self._new_pool()

    def _new_pool(self):
        return ProcessPool(max_workers=self.workers, context=_forkserver_context(), initializer=_set_up_worker)

    def submit(self, function: Callable[..., Result], *args: object) -> Future[Result]:
        if not self.pool.active:  # pebble stops the whole pool if a process dies before it has reported its start
            self.pool.stop()
            self.pool.join()
            self.pool = self._new_pool()
        cpu, brake = self.seconds.get(function, (math.inf, None))
        return self.pool.schedule(_run_limited, args=(cpu, function, *args), timeout=brake)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind, error, trace):
        if kind is None:
            self.pool.close()
        else:
            self.pool.stop()
        self.pool.join()


def _run_limited(cpu_seconds, function, *args):
    if math.isinf(cpu_seconds):
        return function(*args)
    try:
        with time_limit(cpu_seconds, LimitReached):
            return function(*args)
    except LimitReached:
        raise TimeoutError from None


def start_preloading() -> None:
    """Start the process from which workers are forked, so that it imports what they need while this one does other things."""
    _forkserver_context()
    forkserver.ensure_running()


def _forkserver_context():
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED_MODULES)  # imported once, not in each process
    return context


def _set_up_worker():
    if sys.platform == "linux":
        # If the grader is killed, the fork server exits, which signals the workers to clean up and exit, too. It does not
        # exit while a worker holds the pipe that shows whether the grader is alive, so each worker closes it, last of all.
        signal.signal(signal.SIGUSR1, lambda *_: sys.exit("the grader was killed"))
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGUSR1)
        os.close(vars(forkserver._forkserver)["_forkserver_alive_fd"])
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent process ends them
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    with contextlib.suppress(ValueError, OSError):  # macOS has no such limit
        resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY_BYTES, most))
    util.Finalize(None, sandbox.close, exitpriority=10)  # so that its sandbox's CPU is counted, and it ends at once
    gc.freeze()  # imported modules stay; collecting them again and again would take longer than a page
