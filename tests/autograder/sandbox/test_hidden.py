"""Private files are hidden wherever they are: among Python's own files, installed by pip, or behind links."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbgrader.api import Gradebook

from autograder.courses.course import Course, init, list_hidden_paths
from autograder.errors import CourseError
from autograder.sandbox import bubblewrap, hidden
from autograder.sandbox.bubblewrap import View
from tests.autograder.grading.test_hostile import hand_in

ROOT = Path(__file__).parents[3]
PARTS = ("pyproject.toml", "README.md", "LICENSE", "autograder", "solutions")


def tree(root, *names):
    for name in names:
        (root / name).mkdir(parents=True)
    return [root / name for name in names]


def pairs(arguments, option):
    return [arguments[n + 1] for n, word in enumerate(arguments) if word == option]


def test_what_lies_below_a_folder_that_is_shown_is_covered_and_cannot_be_written(tmp_path):
    shown, course = tree(tmp_path, "shown", "shown/local/course")
    arguments = View([shown], [course]).arguments()
    assert pairs(arguments, "--ro-bind") == [str(shown)]
    assert pairs(arguments, "--tmpfs") == pairs(arguments, "--remount-ro") == [str(course)]
    assert arguments.index("--ro-bind") < arguments.index("--tmpfs")


def test_an_environment_inside_a_hidden_project_is_shown_on_top_and_packages_inside_that_are_hidden_again(tmp_path):
    shown, project, venv, package = tree(tmp_path, "a", "a/project", "a/project/.venv", "a/project/.venv/lib/solutions")
    arguments = View([shown, venv], [project, package]).arguments()
    order = [word for word in arguments if word in map(str, (shown, project, venv, package))]
    assert list(dict.fromkeys(order)) == [str(path) for path in (shown, project, venv, package)]
    assert pairs(arguments, "--ro-bind") == [str(shown), str(venv)]
    assert pairs(arguments, "--tmpfs") == [str(project), str(package)]


def test_a_file_is_covered_by_an_empty_one(tmp_path):
    tree(tmp_path, "shown")
    (tmp_path / "shown" / "gradebook.db").write_text("points")
    arguments = View([tmp_path / "shown"], [tmp_path / "shown" / "gradebook.db"]).arguments()
    assert arguments[-3:] == ["--ro-bind", "/dev/null", str(tmp_path / "shown" / "gradebook.db")]


def test_what_is_not_shown_anyway_needs_no_cover(tmp_path):
    shown, _ = tree(tmp_path, "shown", "course")
    assert pairs(View([shown], [tmp_path / "course"]).arguments(), "--tmpfs") == []


def test_every_link_on_the_way_to_what_is_shown_is_made_anew(tmp_path):
    (real,) = tree(tmp_path, "real/env")
    (tmp_path / "one").symlink_to("two")
    (tmp_path / "two").symlink_to(tmp_path / "real")
    (real / "python").touch()
    (real / "python3").symlink_to("python")
    view = View([tmp_path / "one" / "env", tmp_path / "one" / "env" / "python3"], [])
    assert view.links == {
        tmp_path / "one": "two",
        tmp_path / "two": str(tmp_path / "real"),
        real / "python3": "python",
    }
    arguments = view.arguments()
    assert pairs(arguments, "--ro-bind") == [str(real)]
    assert pairs(arguments, "--symlink") == ["two", str(tmp_path / "real")]  # the third is in the shown folder


def test_a_folder_that_python_needs_and_no_submission_may_see_is_named(tmp_path):
    (folder,) = tree(tmp_path, "both")
    with pytest.raises(CourseError, match=r"both: Python needs this folder(.|\n)*Remedy"):
        View([folder], [folder])


def test_the_project_and_the_home_directory_are_hidden_always(tmp_path):
    places = hidden.hidden_paths([str(tmp_path), str(tmp_path / "nowhere")])
    assert {ROOT, Path.home().resolve(), tmp_path} <= set(places)
    assert tmp_path / "nowhere" not in places


def test_a_course_whose_parts_are_links_hides_where_they_lead(tmp_path):
    course = init(tmp_path / "course")
    (tmp_path / "elsewhere").mkdir()
    (course.root / "submitted").rmdir()
    (course.root / "submitted").symlink_to(tmp_path / "elsewhere")
    assert list_hidden_paths(course) == (str(course.root), str(tmp_path / "elsewhere"))


# The same for real: the project installed with `pip install .`, the course among the environment's files.

EXAMINE = """
import json, sys
from autograder import sandbox
from autograder.sandbox import doctor
from autograder.sandbox import bubblewrap
mask, *hidden = sys.argv[1:]
if mask == "off":
    bubblewrap.hidden_paths = lambda more=(): []
print(json.dumps([what for what, stopped in doctor.examine("zygote", None, hidden) if not stopped]))
sandbox.close()
"""
GRADE = ["-m", "autograder", "grade", "scoring", "thief", "--workers", 1]
READS, IMPORTS = (
    "reads files of the course, the project, the home directory or this machine",
    "imports the project's packages",
)
THIEF = """
import os
try:
    from solutions.in_numpy.scoring import *
    print("FOUND solutions")
except ImportError:
    pass
for folder, names, files in os.walk({root!r}):
    print("FOUND", folder, files)
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A copy of this environment in which the project is installed with ``pip install .``."""
    folder = tmp_path_factory.mktemp("installed")
    environment = folder / "env"
    if subprocess.run(["cp", "-al", sys.prefix, environment], capture_output=True, check=False).returncode:
        shutil.rmtree(environment, ignore_errors=True)  # another disk: no hard links
        shutil.copytree(sys.prefix, environment, symlinks=True)
    (folder / "project").mkdir()
    subprocess.run(["cp", "-r", *(ROOT / name for name in PARTS), folder / "project"], check=True)
    pip = [environment / "bin" / "python", "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "--no-index", "--disable-pip-version-check", folder / "project"], check=True)
    shutil.rmtree(folder / "project")
    return environment


@pytest.fixture(scope="module")
def course_beside(installed, released):
    """A course among the files of the environment, with a thief's submission."""
    shutil.copytree(released.root, installed / "share" / "course")
    course = Course.at(installed / "share" / "course")
    course.root.chmod(0o755)  # otherwise its permissions alone would keep the sandbox's user out

    def steal(data, path):
        for cell in data["cells"]:
            if cell["metadata"].get("nbgrader", {}).get("solution") and cell["cell_type"] == "code":
                cell["source"] = THIEF.format(root=str(course.root))

    hand_in(course, "thief", steal)
    return course


def python(environment, *words):
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    env["PATH"] = f"{environment / 'bin'}{os.pathsep}{env['PATH']}"
    command = [environment / "bin" / "python", *map(str, words)]
    return subprocess.run(command, cwd="/", env=env, capture_output=True, text=True, check=False)


def escapes(environment, mask, *hidden):
    done = python(environment, "-c", EXAMINE, mask, *hidden)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.suite("sandbox")
def test_packages_installed_by_pip_and_a_course_beside_them_are_hidden_and_the_canary_looks_for_them(
    installed, course_beside
):
    assert escapes(installed, "on", course_beside.root) == []
    assert escapes(installed, "off", course_beside.root) == [READS, IMPORTS]


@pytest.mark.suite("sandbox")
def test_the_canary_looks_for_the_course_itself(installed, course_beside):
    uncovered = EXAMINE.replace("lambda more=(): []", "lambda more=(), known=bubblewrap.hidden_paths: known()")
    done = python(installed, "-c", uncovered, "off", course_beside.root)
    assert json.loads(done.stdout) == [READS], done.stderr


@pytest.mark.suite("sandbox")
def test_a_thief_of_answers_that_lie_beside_python_earns_nothing(installed, course_beside):
    done = python(installed, *GRADE, "--course", course_beside.root)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 graded, 0 reused, 0 set aside, 0 failed" in done.stdout
    autograded = nbformat.read(course_beside.autograded("thief", "scoring"), as_version=4)
    printed = {cell.outputs[0].text for cell in autograded.cells if cell.cell_type == "code" and "FOUND" in cell.source}
    assert printed == {f"FOUND {course_beside.root} []\n"}  # an empty folder covers it
    with Gradebook(course_beside.gradebook.url) as gradebook:
        assert gradebook.find_submission("scoring", "thief").score == 0.0


ONE_AFTER_THE_OTHER = """
import os, sys
from autograder.__main__ import main
for words in (["handouts", "somewhere"], ["demo", "somewhere"]):
    if not os.fork():
        sys.argv[1:] = words
        main()
    if os.waitstatus_to_exitcode(os.wait()[1]) != 2:
        sys.exit(3)
sys.exit(2)
"""


@pytest.mark.suite("sandbox")
@pytest.mark.parametrize("commands", [["release"], ["handouts", "demo"]], ids=" and ".join)
def test_what_needs_the_book_is_refused_in_a_sentence_where_only_the_packages_are_installed(installed, commands):
    command = installed / "bin" / "attention-grader"
    command.write_text(f"#!{installed / 'bin' / 'python'}\n{command.read_text().partition(chr(10))[2]}")
    words = [command, "release", "scoring"] if commands == ["release"] else ["-c", ONE_AFTER_THE_OTHER]
    done = python(installed, *words)
    assert done.returncode == 2, done.stdout + done.stderr
    for name in commands:
        assert f"{name} needs the whole project, but only its packages are installed here" in done.stderr
    assert done.stderr.count("Remedy: clone the project") == len(commands)
    assert "Traceback" not in done.stderr


UNCOVERED = """
try:
    from autograder.sandbox import bubblewrap
    bubblewrap.hidden_paths = lambda more=(): []
except ImportError:
    pass
"""


@pytest.mark.suite("sandbox")
def test_a_batch_is_refused_where_the_course_could_be_read(installed, course_beside):
    (packages,) = installed.glob("lib/python3*/site-packages")
    module, everywhere = packages / "uncovered.py", packages / "uncovered.pth"
    module.write_text(UNCOVERED)
    everywhere.write_text("import uncovered\n")  # in every process that the batch starts too
    try:
        done = python(installed, *GRADE, "--course", course_beside.root, "--again")
    finally:
        everywhere.unlink()
        module.unlink()
    assert done.returncode == 2, done.stdout + done.stderr
    assert f"a submission could escape from the sandbox: it {READS}; it {IMPORTS}" in done.stderr.replace("\n", " ")


@pytest.mark.suite("sandbox")
def test_an_environment_behind_symbolic_links_has_its_sandbox(installed, tmp_path):
    (tmp_path / "away").symlink_to(installed.parent)
    (tmp_path / ".venv").symlink_to("away/env")
    assert escapes(tmp_path / ".venv", "on") == []


def test_the_worker_is_not_below_what_is_hidden():
    assert all(
        any(path.is_relative_to(project) for project in hidden.project_paths()) for path in bubblewrap.WORKER_FILES
    )
