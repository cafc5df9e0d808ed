"""The website for the tests: built once per run, and from its beginning where all tests are run.

The build is the longest wait of the tests and cannot be parallelised. So the main process starts it at once, and the
processes that run tests lower their priority: otherwise the build would get half a core where it could use one.
"""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from autograder.paths import ROOT
from tests.shared import made_once

LOG = "build.log"  # beside the website: the output of the build
STAND_BACK = 5  # how much the processes that run tests raise their niceness
BUILT = "TESTS_WEBSITE"  # environment variable: the folder of a finished website, or "" to skip the tests that need one
AHEAD = "TESTS_WEBSITE_AHEAD"  # environment variable through which the processes of pytest-xdist find it


def website(started=None):
    """Return the website's folder once it is built; ``started`` is called with each process that builds it."""

    def make(folder):
        succeeded, log = build(folder)
        (folder / "_build" / LOG).write_text(log, encoding="utf-8")
        assert succeeded, log[-8000:]
        return folder / "_build" / "html"

    def build(folder):
        builder = Path(sys.executable).with_name("jupyter-book")
        log = ""
        for command in (
            [sys.executable, "-m", "autograder", "handouts", folder / "_build" / "assignments"],
            [builder, "build", ".", "--path-output", folder, "-W", "-n", "--keep-going"],
        ):
            with subprocess.Popen(
                command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
            ) as process:
                if started:
                    started(process)
                try:
                    output, _ = process.communicate(timeout=7200)
                except subprocess.TimeoutExpired:
                    process.kill()
                    raise
            log += output
            if process.returncode:
                return False, log
        return True, log

    if BUILT in os.environ:  # by `benchmarks.faults`
        return Path(os.environ[BUILT] or pytest.skip("no website is built"))
    return made_once("site", make)


class Ahead:
    """A pytest plugin that builds the website beside the tests, from the beginning of a run with several processes."""

    def __init__(self):
        self.processes = []
        os.environ[AHEAD] = "1"

    def pytest_sessionstart(self, session):
        threading.Thread(target=self._build, daemon=True).start()

    def _build(self):
        try:
            website(self.processes.append)
        except Exception:  # made_once keeps it, and reports it to the tests that need the website
            return

    def pytest_sessionfinish(self, session):
        for process in self.processes:
            process.terminate()


def stand_back():
    """Lower the priority of this process if a build runs beside it."""
    if os.environ.get(AHEAD):
        os.nice(STAND_BACK)
