"""The example on the page for contributors, added to a copy of the project, can be released as the page says."""

import json
import os
import re
import shutil
import subprocess
import sys

import pytest

from autograder.paths import ROOT

BLOCK = re.compile(r"^(`{3,})\{code-block\} \w+\n:caption: (\S+)\n\n(.*?)^\1$", flags=re.DOTALL | re.MULTILINE)
FILES = [
    "book/scoring.md",
    "solutions/in_numpy/scoring.py",
    "solutions/mistakes/scoring.py",
    "solutions/answer_key/scoring.toml",
    "tests/submissions/scoring.py",
]


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A copy of the project, with the page's code blocks added to the files that they name."""
    root = tmp_path_factory.mktemp("contributors") / "project"
    root.mkdir()
    for name in ("book", "solutions", "autograder", "tests", "_config.yml", "pyproject.toml"):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, root / name)
    page = (ROOT / "book" / "for_contributors.md").read_text(encoding="utf-8")
    blocks = BLOCK.findall(page)
    assert [name for _, name, _ in blocks] == FILES
    for _, name, text in blocks:
        path = root / name
        path.write_text(path.read_text(encoding="utf-8") + "\n\n" + text, encoding="utf-8")
    return root


def run(project, *args):
    """Run Python in ``project``, so that it imports the copy."""
    env = {**os.environ, "PYTHONPATH": str(project), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, *map(str, args)]
    return subprocess.run(command, cwd=project, env=env, capture_output=True, text=True, timeout=900)


COMMANDS = {
    "init": ["init", "../course"],
    "release": ["release", "scoring", "--course", "../course", "--no-links"],
    "check": ["check", "scoring"],
}
SPOILT = {
    "solutions/answer_key/scoring.toml": (
        "\npoints = 1.5\n",
        '\npoints = "much"\n',
        r"scoring\.toml, line \d+, \[scoring-",
    ),
    "solutions/in_numpy/scoring.py": (
        "\nimport numpy as np\n",
        "\nimport numpy at np\n",
        r"solutions/in_numpy/scoring\.py, line \d+: ",
    ),
    "solutions/mistakes/scoring.py": (
        "\nimport numpy as np\n",
        "\nimport no_numpy\n",
        r"solutions/mistakes/scoring\.py, line \d+: ",
    ),
    "tests/submissions/scoring.py": (
        "\nimport torch\n",
        "\nimport no_torch\n",
        r"tests/submissions/scoring\.py, line \d+: ",
    ),
}


# Run each command in a fork of this process, with a damaged file if it names one. Imports that take long and contain no answer
# are done only once.
RUN_EACH = """
import json, os, pathlib, runpy, sys
import matplotlib, nbformat, nbgrader.api, numpy, torch, typer
said = []
for args, name, old, new in json.loads(sys.argv[1]):
    path = pathlib.Path(name)
    text = path.read_text(encoding="utf-8")
    assert old in text, name
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    child = os.fork()
    if not child:
        output = os.open("said.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(output, 1), os.dup2(output, 2)
        sys.argv[1:] = args
        runpy.run_module("autograder", run_name="__main__", alter_sys=True)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    path.write_text(text, encoding="utf-8")
    said.append((status, pathlib.Path("said.txt").read_text(encoding="utf-8")))
print(json.dumps(said))
"""


@pytest.fixture(scope="module")
def said(project):
    """What each command says, and `check` about each damaged file: command or name of the file -> (exit status, output)."""
    jobs = [(args, FILES[0], "", "") for args in COMMANDS.values()]
    jobs += [(COMMANDS["check"], name, old, new) for name, (old, new, _) in SPOILT.items()]
    done = run(project, "-c", RUN_EACH, json.dumps(jobs))
    assert done.returncode == 0, done.stdout + done.stderr
    return dict(zip([*COMMANDS, *SPOILT], json.loads(done.stdout.splitlines()[-1]), strict=True))


def test_the_five_additions_of_the_page_make_an_exercise_that_releases(said, project):
    for command in ("init", "release"):
        status, words = said[command]
        assert status == 0, words
    notebook = (project.parent / "course" / "release" / "scoring" / "scoring.ipynb").read_text()
    assert "score_margin" in notebook
    assert "/book/scoring.html" not in notebook  # because of --no-links


def test_the_check_of_the_page_covers_the_new_exercise(said):
    status, words = said["check"]
    assert status == 0, words
    assert "ok     scoring-score_margin  code, 1.5 points\n" in words


@pytest.mark.parametrize("name", SPOILT)
def test_a_file_that_cannot_be_read_is_one_sentence_with_line_and_remedy(said, name):
    status, words = said[name]
    assert status == 2, words
    assert re.match(rf"error: {SPOILT[name][2]}.*\n  Remedy: .*\n$", words), words


def test_the_quick_tests_cover_the_new_exercise_without_being_told(project):
    tests = ["tests/autograder/grading/test_judge.py", "tests/solutions/test_answer_key.py"]
    done = run(project, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests, "-k", "score_margin")
    assert done.returncode == 0, done.stdout[-3000:]
    assert re.search(r"(\d+) passed", done.stdout), done.stdout[-500:]
