"""The project as a whole: its style, and what stands in git."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from autograder.paths import ROOT


def git(*args):
    return subprocess.run(["git", *args], cwd=ROOT, capture_output=True, text=True, check=True).stdout


def test_ruff_finds_nothing_to_mend():
    for command in (["check"], ["format", "--check"]):
        done = subprocess.run([sys.executable, "-m", "ruff", *command, "."], cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


def test_imports_go_one_way():
    done = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_git_holds_sources_only():
    drawn_by_hand = ["book/_static/favicon.svg"]
    derived = re.compile(r"\.(ipynb|html|db|png|svg|pdf|pyc)$|^(_build|course|\.venv)/")
    assert [name for name in git("ls-files").splitlines() if derived.search(name)] == drawn_by_hand


def test_no_tracked_file_names_a_path_of_this_machine():
    words = [str(ROOT), str(ROOT.parent) + "/main"]
    for word in words:
        found = subprocess.run(["git", "grep", "-nIF", word], cwd=ROOT, capture_output=True, text=True)
        assert found.stdout == ""


def test_every_requirement_is_bounded_on_both_sides():
    lines = (ROOT / "requirements.txt").read_text().splitlines()
    for line in filter(None, (line.partition("#")[0].strip() for line in lines)):
        assert ">=" in line, line
        assert "<" in line, line


def test_every_package_is_installed_with_the_project():
    packages = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    folders = {path.parent for top in ("solutions", "autograder") for path in (ROOT / top).rglob("__init__.py")}
    assert sorted(packages) == sorted(str(folder.relative_to(ROOT)).replace("/", ".") for folder in folders)


@pytest.mark.parametrize("name", ["book", "_config.yml", "_toc.yml", "solutions", "autograder", "requirements.txt"])
def test_the_given_names_stand_at_the_top(name):
    assert (ROOT / name).exists()
