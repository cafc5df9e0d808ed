"""The website, built once for all tests that look at it."""

import subprocess
import sys
from pathlib import Path

import pytest

from autograder.courses.release import handouts
from autograder.paths import ROOT
from solutions import answer_key
from tests.shared import made_once


@pytest.fixture(scope="session")
def site():
    """The folder of the website, made as `make site` makes it: first the notebooks that it offers, then its pages."""

    def make(folder):
        handouts(folder / "_build" / "assignments", answer_key.topics())
        program = Path(sys.executable).with_name("jupyter-book")
        command = [program, "build", ROOT, "--path-output", folder, "-W", "-n", "--keep-going"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=1800)
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
        return folder / "_build" / "html"

    return made_once("site", make)
