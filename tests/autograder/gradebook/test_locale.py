"""An empty gradebook is made whatever the locale and the path of the project."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbgrader
import pytest

pytestmark = pytest.mark.suite("autograder")


@pytest.mark.slow
def test_a_gradebook_is_made_in_a_plain_locale_although_a_path_has_an_umlaut(tmp_path):
    folder = tmp_path / "Kürs"
    shutil.copytree(Path(nbgrader.__file__).parent, folder / "nbgrader", ignore=shutil.ignore_patterns("docs", "tests"))
    make = "from autograder.gradebook import generate; print(len(generate._empty_gradebook()) > 0)"
    env = {**os.environ, "LC_ALL": "POSIX", "PYTHONPATH": str(folder)}
    done = subprocess.run([sys.executable, "-c", make], env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr
