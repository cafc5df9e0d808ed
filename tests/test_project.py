"""The project as a whole: its style, and what stands in git."""

import ast
import itertools
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions, version
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import autograder
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


def requirements():
    """Return ``{extra, "" for what is always needed: requirements}`` as pyproject.toml states them."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    stated = {"": project["dependencies"], **project["optional-dependencies"]}
    return {extra: [Requirement(line) for line in lines] for extra, lines in stated.items()}


def test_every_requirement_is_bounded_on_both_sides():
    for requirement in itertools.chain(*requirements().values()):
        assert {"<", "<="} & {bound.operator for bound in requirement.specifier}, requirement
        assert ">=" in {bound.operator for bound in requirement.specifier}, requirement


def test_the_versions_that_were_tested_are_within_the_bounds():
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    tested = {canonicalize_name(line.partition("==")[0]): line.partition("==")[2] for line in lines if "==" in line}
    for requirement in itertools.chain(*requirements().values()):
        assert requirement.specifier.contains(tested[canonicalize_name(requirement.name)]), requirement


def imported(*folders):
    """Return the packages from elsewhere that Python files in ``folders`` import: name -> one file that does."""
    found = {}
    for path in itertools.chain(*((ROOT / folder).rglob("*.py") for folder in folders)):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if "submissions" not in path.parts else ():
            modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            modules += [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
            found |= {module.split(".")[0]: path for module in modules}
    beside = {"compare", "wire", "worker"}  # in the sandbox they lie side by side
    own = {"autograder", "benchmarks", "solutions", "tests"}
    return {name: path for name, path in found.items() if name not in own | beside | sys.stdlib_module_names}


@pytest.mark.parametrize(
    ("folders", "extras"),
    [(("solutions", "autograder"), ("", "cluster")), (("book",), ("", "book")), (("tests", "benchmarks"), None)],
)
def test_every_import_is_declared(folders, extras):
    extras = requirements() if extras is None else extras
    declared = {canonicalize_name(one.name) for extra in extras for one in requirements()[extra]}
    owners = packages_distributions()
    for name, path in imported(*folders).items():
        assert {canonicalize_name(owner) for owner in owners[name]} & declared, f"{path} imports {name}"


def test_what_is_installed_says_its_version():
    assert version("bahdanau-attention-course") == autograder.__version__
    assert f"## {autograder.__version__}" in (ROOT / "CHANGELOG.md").read_text()


@pytest.mark.parametrize("name", ["book", "_config.yml", "_toc.yml", "solutions", "autograder", "requirements.txt"])
def test_the_given_names_stand_at_the_top(name):
    assert (ROOT / name).exists()
