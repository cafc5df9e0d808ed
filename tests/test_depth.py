"""`--full` adds what is marked so, and a kill is tried once for each kind of write or, with it, at each."""

import json
import os
import subprocess
import sys

import pytest

from autograder.paths import ROOT
from tests.autograder.killing import choose_writes

pytestmark = pytest.mark.slow
TWICE = "tests/autograder/sandbox/test_outputs.py"  # a file with tests that are marked full


def collect(*options):
    command = [sys.executable, "-m", "pytest", "-q", "-pno:cacheprovider", "--collect-only", *options, TWICE]
    own = {name: value for name, value in os.environ.items() if name != "PYTEST_ADDOPTS"}  # with -v, -q lists nothing
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=own)
    assert done.returncode == 0, done.stdout + done.stderr
    return {line for line in done.stdout.splitlines() if line.startswith(TWICE)}, done.stdout


def test_what_is_marked_full_is_left_out_unless_it_is_asked_for():
    (some, said), (every, said_of_full) = collect(), collect("--full")
    assert len(some) == 4
    assert some < every
    assert "100 examples of each property" in said
    assert "2000 new examples of each property" in said_of_full


def test_of_each_kind_the_first_write_is_chosen_and_of_all_the_last(tmp_path):
    made = tmp_path / "writes"
    made.write_text(json.dumps([["a"], ["a", "b"], ["a"], ["c"], ["a", "b"], ["a"]]), encoding="utf-8")
    assert choose_writes(made, every=False) == [1, 2, 4, 6]
    assert choose_writes(made, every=True) == [1, 2, 3, 4, 5, 6]
