"""The website as the tests look at it: built once a run, and ahead of the tests where all of them are run.

The build takes longest of all that tests wait for, and cannot be divided. So it begins with the run, in the process that
started it, and the processes that test stand back a little: without that it would get half a core where it could use one.
"""

import os
import subprocess
import sys
import threading
from pathlib import Path

from autograder.paths import ROOT
from tests.shared import made_once

LOG = "build.log"  # beside the website: what its build printed
STAND_BACK = 5  # how much nicer the processes that test are
AHEAD = "TESTS_WEBSITE_AHEAD"  # in the environment, where the processes of pytest-xdist find it


def website(started=None):
    """Return the folder of the website, when it is built; ``started`` is called with each process that builds it."""

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
                    output, _ = process.communicate(timeout=1800)
                except subprocess.TimeoutExpired:
                    process.kill()
                    raise
            log += output
            if process.returncode:
                return False, log
        return True, log

    return made_once("site", make)


class Ahead:
    """A pytest plugin: builds the website beside the tests from the beginning of a run of several processes."""

    def __init__(self):
        self.processes = []
        os.environ[AHEAD] = "1"

    def pytest_sessionstart(self, session):
        threading.Thread(target=self._build, daemon=True).start()

    def _build(self):
        try:
            website(self.processes.append)
        except Exception:  # kept by made_once: the tests that need the website tell it
            return

    def pytest_sessionfinish(self, session):
        for process in self.processes:
            process.terminate()


def stand_back():
    """Leave the machine to the build, where it goes on beside this process."""
    if os.environ.get(AHEAD):
        os.nice(STAND_BACK)
