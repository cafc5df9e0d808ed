"""The project as a whole: its style, and what git tracks."""

import ast
import functools
import itertools
import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import distributions, packages_distributions, version
from pathlib import Path
from sysconfig import get_path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
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


@pytest.mark.slow
def test_pyright_finds_nothing():
    config = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pyright"]
    assert [name for name in config["exclude"] if not (ROOT / name).exists()] == []
    done = subprocess.run(
        [sys.executable, "-m", "pyright", "--pythonpath", sys.executable],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={**os.environ, "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"},  # otherwise it checks online for a newer version
    )
    assert done.returncode == 0, done.stdout + done.stderr


# Notebooks embed these files as text, for a Python too old for the annotations.
TRAVELLING = (
    "exercises/compare.py",
    "exercises/compose.py",
    "exercises/checking.py",
    "notebooks/ready.py",
    "notebooks/receipt.py",
)


def public_functions(node, of_class=False):
    """Yield ``(function, whether it is a method)`` for the public functions in ``node``."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            if not child.name.startswith("_"):
                yield child, of_class
        elif not isinstance(child, ast.ClassDef):
            yield from public_functions(child, of_class)
        elif not child.name.startswith("_"):
            yield from public_functions(child, of_class=True)


def has_types(function, of_class):
    """Return whether the return value and every parameter of ``function`` except ``self`` are annotated."""
    named = function.args
    parameters = [*named.posonlyargs, *named.args]
    is_static = any(isinstance(item, ast.Name) and item.id == "staticmethod" for item in function.decorator_list)
    parameters = parameters[1:] if of_class and not is_static else parameters
    parameters += [*named.kwonlyargs, *filter(None, (named.vararg, named.kwarg))]
    return function.returns is not None and all(parameter.annotation for parameter in parameters)


def without_types(source):
    """Return ``line name`` of each public function in ``source`` that lacks an annotation."""
    return [
        f"{function.lineno} {function.name}"
        for function, of_class in public_functions(ast.parse(source))
        if not has_types(function, of_class)
    ]


def test_public_functions_of_the_autograder_have_types():
    folder, lacking = ROOT / "autograder", {}
    for path in sorted(folder.rglob("*.py")):
        name = path.relative_to(folder).as_posix()
        if name not in TRAVELLING and (untyped := without_types(path.read_text(encoding="utf-8"))):
            lacking[name] = untyped
    places = [f"autograder/{name}:{each}" for name in lacking for each in lacking[name]]
    assert not places, "\n".join(places)


@pytest.mark.parametrize(
    "source",
    [
        "def f(x) -> int: ...",
        "def f(x: int): ...",
        "def f(*items) -> int: ...",
        "def f(*, x) -> int: ...",
        "async def f(**given) -> int: ...",
        "if here:\n    def f(x): ...",
        "class C:\n    def f(self): ...",
        "class C:\n    def f(self, x) -> int: ...",
        "class C:\n    @staticmethod\n    def f(x) -> int: ...",
    ],
)
def test_a_missing_annotation_is_seen(source):
    assert len(without_types(source)) == 1


def count_methods(sources):
    """Return ``{(file, class): number of its methods}``, those that it inherits from classes in ``sources`` included."""
    classes, counts = {}, {}
    for path, source in sources.items():
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.ClassDef):
                classes.setdefault(node.name, {})[path] = node

    def find_methods(path, node):
        methods = {each.name for each in node.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)}
        for base in (base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "") for base in node.bases):
            known = classes.get(base, {}) if base != node.name else {}
            for where in [path] if path in known else known:
                methods |= find_methods(where, known[where])
        return methods

    for name, places in classes.items():
        counts |= {(path, name): len(find_methods(path, node)) for path, node in places.items()}
    return counts


def test_no_class_has_more_than_twelve_methods():
    paths = [
        path
        for folder in ("autograder", "solutions", "book/_ext", "benchmarks")
        for path in (ROOT / folder).rglob("*.py")
    ]
    counts = count_methods({str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in paths})
    assert len(counts) > 100
    assert {place: count for place, count in counts.items() if count > 12} == {}


def test_inherited_methods_and_properties_are_counted():
    base = "class Base:\n    def __init__(self): ...\n    @property\n    def size(self): ...\n"
    heir = "import base\nclass Heir(base.Base, dict):\n    def size(self): ...\n    async def run(self): ...\n"
    assert count_methods({"base.py": base, "heir.py": heir}) == {("base.py", "Base"): 2, ("heir.py", "Heir"): 3}


def test_git_holds_sources_only():
    drawn_by_hand = ["book/_static/favicon.svg", "book/_static/soft-alignment.svg"]
    derived = re.compile(r"\.(ipynb|html|db|png|svg|pdf|pyc)$|^(_build|course|\.venv)/")
    assert [name for name in git("ls-files").splitlines() if derived.search(name)] == drawn_by_hand


def test_no_tracked_file_names_a_path_of_this_machine():
    words = [str(ROOT), str(ROOT.parent) + "/main"]
    for word in words:
        grep = subprocess.run(["git", "grep", "-nIF", word], cwd=ROOT, capture_output=True, text=True)
        assert grep.stdout == ""


def requirements():
    """Return ``{extra: requirements}`` as in pyproject.toml, with "" for what is always needed."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    stated = {"": project["dependencies"], **project["optional-dependencies"]}
    return {extra: [Requirement(line) for line in lines] for extra, lines in stated.items()}


def test_every_requirement_is_bounded_on_both_sides():
    for requirement in itertools.chain(*requirements().values()):
        assert {"<", "<="} & {bound.operator for bound in requirement.specifier}, requirement
        assert ">=" in {bound.operator for bound in requirement.specifier}, requirement


def test_what_requirements_txt_repeats_is_as_in_pyproject():
    lines = (ROOT / "requirements.txt").read_text().splitlines()
    repeated = {Requirement(line) for line in lines if line and line[0] not in "#-"}
    assert {requirement.name for requirement in repeated} == {
        "jupyter-book",
        "torch",
        "numpy",
        "nbgrader",
        "matplotlib",
    }
    assert repeated <= set(itertools.chain(*requirements().values()))


def test_a_hosted_notebook_gets_what_pyproject_asks_for():
    lines = (ROOT / "binder" / "requirements.txt").read_text().splitlines()
    hosted = {Requirement(line) for line in lines if line and line[0] != "#"}
    assert {requirement.name for requirement in hosted} == {"numpy", "torch", "matplotlib", "jupyterlab"}
    assert {requirement for requirement in hosted if requirement.name != "jupyterlab"} <= set(
        itertools.chain(*requirements().values())
    )


def test_what_the_workflows_run_is_there():
    runs = []
    for path in (ROOT / ".github" / "workflows").iterdir():
        jobs = yaml.safe_load(path.read_text())["jobs"].values()
        runs += [step["run"] for job in jobs for step in job["steps"] if "run" in step]
    makefile, config = (ROOT / "Makefile").read_text(), (ROOT / "_config.yml").read_text()
    targets = re.findall(r"^make (\S+)(?: CONSTRAINTS=)?$", "\n".join(runs), flags=re.MULTILINE)
    assert sorted(targets) == ["pdf", "test", "test", "test-full"]
    assert all(re.search(rf"^{target}:", makefile, flags=re.MULTILINE) for target in targets)
    replaced = re.findall(r'"s\|(.*?)\|(.*?)\|"', "\n".join(runs))
    assert len(replaced) == 2
    for pattern, _ in replaced:
        assert len(re.findall(pattern.replace('\\"', '"'), config, flags=re.MULTILINE)) == 1


def test_zizmor_finds_nothing_in_the_workflows():
    zizmor = Path(sys.executable).with_name("zizmor")
    done = subprocess.run([zizmor, "--offline", ".github/workflows"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_versions_that_were_tested_are_within_the_bounds():
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    tested = {canonicalize_name(line.partition("==")[0]): line.partition("==")[2] for line in lines if "==" in line}
    for requirement in itertools.chain(*requirements().values()):
        assert requirement.specifier.contains(tested[canonicalize_name(requirement.name)]), requirement


def list_installed():
    """Return the installed distributions if `make` used ``constraints.txt``, as it does unless told otherwise; else none."""
    used = ROOT / ".venv" / ".constraints"
    is_used = used.exists() and used.read_text() == "-c constraints.txt\n"
    return list(distributions(path=[get_path("purelib")])) if is_used else []


def test_make_installs_the_versions_that_were_tested():
    """With `make CONSTRAINTS=`, or on another platform, it installs others."""
    lines = [line.strip() for line in (ROOT / "constraints.txt").read_text().splitlines() if "==" in line]
    tested = {canonicalize_name(name): tested for name, _, tested in (line.partition("==") for line in lines)}
    present = {canonicalize_name(each.name): each.version.partition("+")[0] for each in list_installed()}
    assert {name: present.get(name, number) for name, number in tested.items()} == tested


def test_the_versions_that_were_tested_can_be_installed_with_every_python_of_their_series():
    """`make` uses them with any Python 3.11, and distributions of Linux have older ones than ours."""
    series = re.search(r"Python (\d\.\d+)", (ROOT / "constraints.txt").read_text())[1]
    needed = {each.name: each.metadata.get("Requires-Python") for each in list_installed()}
    assert {name: which for name, which in needed.items() if which and f"{series}.0" not in SpecifierSet(which)} == {}


owners_of_packages = functools.cache(packages_distributions)  # which reads the metadata of every package


def imported(*folders):
    """Return the third-party packages that Python files in ``folders`` import: name -> one file that does."""
    packages = {}
    for path in itertools.chain(*((ROOT / folder).rglob("*.py") for folder in folders)):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if "submissions" not in path.parts else ():
            modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            modules += [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
            packages |= {module.split(".")[0]: path for module in modules}
    beside = {"compare", "wire", "worker"}  # in the sandbox these modules lie side by side
    extensions = {path.stem for path in (ROOT / "book/_ext").glob("*.py")}
    own = {"autograder", "benchmarks", "figures", "solutions", "tests"} | extensions
    return {name: path for name, path in packages.items() if name not in own | beside | sys.stdlib_module_names}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("folders", "extras"),
    [(("solutions", "autograder"), ("", "cluster")), (("book",), ("", "book")), (("tests", "benchmarks"), None)],
)
def test_every_import_is_declared(folders, extras):
    extras = requirements() if extras is None else extras
    declared = {canonicalize_name(requirement.name) for extra in extras for requirement in requirements()[extra]}
    owners = owners_of_packages()
    for name, path in imported(*folders).items():
        names = owners.get(name, [name])  # a package that is not installed goes by its import name
        assert {canonicalize_name(owner) for owner in names} & declared, f"{path} imports {name}"


def test_what_is_installed_says_its_version():
    assert version("bahdanau-attention-course") == autograder.__version__
    assert f"## {autograder.__version__}" in (ROOT / "CHANGELOG.md").read_text()
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"] == autograder.__version__


@pytest.mark.parametrize("name", ["book", "_config.yml", "_toc.yml", "solutions", "autograder", "requirements.txt"])
def test_the_given_names_stand_at_the_top(name):
    assert (ROOT / name).exists()
