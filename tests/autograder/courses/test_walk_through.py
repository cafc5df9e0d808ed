"""The first hour of a course on one machine, with the commands exactly as the README and the guide print them.

Nothing is faked: the release is proved, and submissions run in the sandbox. Only the two commands that prepare the
environment are left out, because the tests already run in it.
"""

import os
import re
import subprocess
import sys
import zipfile

import pytest

from autograder.paths import ROOT
from autograder.sandbox import bubblewrap

pytestmark = pytest.mark.suite("assignments")

MOST_COMMANDS, MOST_DECISIONS = 8, 3
PREPARE = ["make install", ". .venv/bin/activate"]


def read_walk_through(page, heading):
    """Return the commands and decisions in the first block of shell commands below ``heading`` in ``page``."""
    text = (ROOT / page).read_text(encoding="utf-8")
    block = re.search(rf"^#+ {re.escape(heading)}\n.*?^```sh\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)[1]
    lines = block.replace("\\\n", " ").splitlines()
    commands = [" ".join(line.partition("#")[0].split()) for line in lines]
    return [command for command in commands if command], [line for line in lines if line.startswith("# decide")]


def assert_names_next(output, command):
    """Check that one line of ``output`` says what comes next and names ``command``, with its assignment if it has one."""
    (line,) = [line for line in output.splitlines() if "Next: " in line]
    assert re.search(r"(autograder|nbgrader) \w+( scoring)?", command)[0] in line


def test_readme_and_guide_print_the_same_few_commands_and_decisions():
    commands, decisions = read_walk_through("README.md", "Teach with it")
    assert (len(commands), len(decisions)) == (MOST_COMMANDS, MOST_DECISIONS)
    assert read_walk_through("book/for_instructors.md", "For instructors")[0] == commands
    assert commands[:2] == PREPARE


def test_the_installation_says_what_comes_next():
    planned = subprocess.run(["make", "-n", "install"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert "Next: . .venv/bin/activate, then python -m autograder doctor" in planned


def write_hand_ins(release, archive):
    """Write what students hand in: one notebook with written answers, and one as it was handed out."""
    text = release.read_text(encoding="utf-8")
    answered = text.replace("YOUR ANSWER HERE", "Because it does not change.")
    with zipfile.ZipFile(archive, "w") as bundle:
        bundle.writestr("ada/scoring.ipynb", answered)
        bundle.writestr("ben/scoring.ipynb", text)


def test_the_commands_of_the_readme_lead_to_the_first_feedback_and_each_names_the_next(tmp_path):
    if not bubblewrap.is_installed():
        pytest.fail(f"there is no sandbox on this machine: {bubblewrap.REMEDY}")
    commands, _ = read_walk_through("README.md", "Teach with it")
    commands = commands[len(PREPARE) :]
    path = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])
    for command, following in zip(commands, [*commands[1:], ""], strict=True):
        if " collect " in command:
            write_hand_ins(tmp_path / "course" / "release" / "scoring" / "scoring.ipynb", tmp_path / "submissions.zip")
        done = subprocess.run(
            command, shell=True, cwd=tmp_path, env={**os.environ, "PATH": path}, capture_output=True, text=True
        )
        assert done.returncode in (0, 3) if " feedback " in command else not done.returncode, done.stdout + done.stderr
        if following:
            assert_names_next(done.stdout, following)
    with zipfile.ZipFile(tmp_path / "course" / "scoring-feedback-folder.zip") as bundle:
        assert bundle.namelist() == ["ada/scoring.html", "ben/scoring.html"]
        assert "To be marked by a person" in bundle.read("ada/scoring.html").decode()
        assert "Not answered." in bundle.read("ben/scoring.html").decode()
