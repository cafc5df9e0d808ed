"""An error in the project's own files is reported in one sentence by the tests that run into it."""

import os
import subprocess
import sys

import pytest

from autograder.paths import ROOT

pytestmark = pytest.mark.slow

SENTENCE = "scoring.toml, line 7, [scoring-x]: points is 'much'"
RAISES = """
from solutions.errors import AnswerKeyError

WORDS = "points is 'much'", "scoring.toml, line 7, [scoring-x]", "write a number there."
"""
AT_IMPORT = f"{RAISES}\nraise AnswerKeyError(*WORDS)\n"
IN_A_TEST = f"{RAISES}\ndef test_one():\n    raise AnswerKeyError(*WORDS)\n\ndef test_two():\n    raise AnswerKeyError(*WORDS)\n"


def run(folder, *options, **files):
    for name, text in files.items():
        (folder / f"test_{name}.py").write_text(text, encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--disable-plugin-autoload",
        "-p",
        "xdist",
        "-p",
        "tests.refusals",
        *options,
        str(folder),
    ]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=300)


each_way = pytest.mark.parametrize("options", [(), ("-n", "2")], ids=["in one process", "in two processes"])


def assert_told_once(done):
    output = done.stdout + done.stderr
    assert done.returncode == 1, output
    assert output.count(SENTENCE) == 1, output
    assert "Traceback" not in output
    assert "raise AnswerKeyError" not in output


@each_way
def test_files_that_cannot_be_collected_tell_it_once_and_end_the_run(tmp_path, options):
    assert_told_once(run(tmp_path, *options, one=AT_IMPORT, two=AT_IMPORT, three="def test_nothing():\n    pass\n"))


@each_way
def test_a_test_that_trips_over_it_ends_the_run(tmp_path, options):
    assert_told_once(run(tmp_path, *options, one=IN_A_TEST))


def test_an_error_about_anything_else_keeps_its_traceback_and_ends_nothing(tmp_path):
    done = run(tmp_path, one=IN_A_TEST.replace("scoring.toml", "toy.toml"))
    assert "2 failed" in done.stdout
    assert "raise AnswerKeyError" in done.stdout


def test_a_test_file_that_is_broken_itself_keeps_its_traceback(tmp_path):
    done = run(tmp_path, one="import no_such_module\n", two="x = 1 / 0\n")
    assert done.returncode == 2
    assert "2 errors" in done.stdout
    assert "ZeroDivisionError" in done.stdout
