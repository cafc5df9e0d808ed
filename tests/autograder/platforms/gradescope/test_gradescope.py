"""The autograder for Gradescope keeps to Gradescope's documented contract and gives the same results as the course.

A folder stands in for Gradescope's machine, and so does a container in which root has Docker's default rights, so that no
namespace is available. Gradescope itself is not contacted.
"""

import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from dataclasses import replace

import jsonschema
import nbformat
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from autograder.courses import demo
from autograder.courses.course import Course
from autograder.errors import CourseError
from autograder.feedback import pages
from autograder.grading import submission
from autograder.grading.judge import Part, Verdict
from autograder.notebooks.cell_ids import id_of
from autograder.notebooks.handout import handout, receipt_of_file
from autograder.paths import ROOT
from autograder.platforms.archives import RefusedEntry
from autograder.platforms.collect import AssignmentSpec, select_files
from autograder.platforms.gradescope import results, run
from autograder.platforms.gradescope.pack import pack
from autograder.platforms.gradescope.packed import ASSIGNMENT_FILE, PackedAssignment
from autograder.sandbox import Limits
from autograder.verdicts import Graded
from tests.autograder.containers import RIGHTS, in_a_container, needs_root
from tests.autograder.essays import enrol
from tests.autograder.samples import AUTOMATIC, topic_exercises
from tests.autograder.test_main import assert_refused, autograder, succeed

pytestmark = pytest.mark.suite("assignments")
LIMITS = Limits(call_seconds=3)
ESSAYS = ("scoring-joined_or_added", "scoring-what_to_recompute", "scoring-race")

VISIBILITY = {"enum": ["hidden", "after_due_date", "after_published", "visible"]}
TEST = {
    "type": "object",
    "properties": {
        "score": {"type": "number"},
        "max_score": {"type": "number"},
        "name": {"type": "string"},
        "number": {"type": "string"},
        "output": {"type": "string"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "visibility": VISIBILITY,
        "extra_data": {"type": "object"},
    },
    "additionalProperties": False,
}
# https://gradescope-autograders.readthedocs.io/en/latest/specs/, "Output format"
SCHEMA = {
    "type": "object",
    "properties": {
        "score": {"type": "number"},
        "execution_time": {"type": "number"},
        "output": {"type": "string"},
        "visibility": VISIBILITY,
        "stdout_visibility": VISIBILITY,
        "extra_data": {"type": "object"},
        "tests": {"type": "array", "items": TEST},
        "leaderboard": {"type": "array"},
    },
    "additionalProperties": False,
    # "score" is optional, but required if not on each test; tests are optional, but required without a score
    "anyOf": [
        {"required": ["score"]},
        {"required": ["tests"], "properties": {"tests": {"items": {"required": ["score"]}}}},
    ],
}


@pytest.fixture(scope="module")
def course(released, tmp_path_factory):
    folder = tmp_path_factory.mktemp("gradescope") / "course"
    shutil.copytree(released.root, folder)
    return Course.at(folder)


@pytest.fixture(scope="module")
def archive(course):
    return pack(course, "scoring", course.releases("scoring").load(), LIMITS).content


@pytest.fixture(scope="module")
def image(archive, tmp_path_factory):
    """The folder as it is once Gradescope has built the image."""
    tree = tmp_path_factory.mktemp("image") / "autograder"
    for name in ("source", "submission", "results"):
        (tree / name).mkdir(parents=True)
    with zipfile.ZipFile(io.BytesIO(archive)) as bundle:
        bundle.extractall(tree / "source")
    shutil.copy(tree / "source" / "run_autograder", tree / "run_autograder")
    (tree / "run_autograder").chmod(0o755)
    return tree


@pytest.fixture
def tree(image, tmp_path):
    """A fresh copy of the image, as each submission gets one."""
    shutil.copytree(image, tmp_path / "autograder")
    return tmp_path / "autograder"


def put(tree, content, name="scoring.ipynb"):
    (tree / "submission" / name).write_bytes(content)


def handed_in(course, student):
    files = course.source("scoring"), course.releases("scoring").file
    source, released = (nbformat.read(path, as_version=4) for path in files)
    return demo.make_submission(student, "scoring", source, released)


def student(name):
    return next(candidate for candidate in demo.load_students() if candidate.name == name)


def on_this_machine(tree, **env):
    """Run the program that Gradescope runs, with ``tree`` as /autograder."""
    env = {**os.environ, "AUTOGRADER_PYTHON": sys.executable, **env}
    command = [str(tree / "run_autograder"), str(tree)]
    return subprocess.run(command, capture_output=True, text=True, timeout=500, env=env, check=False)


def read(tree):
    report = json.loads((tree / "results" / "results.json").read_text(encoding="utf-8"))
    jsonschema.validate(report, SCHEMA)
    assert report["stdout_visibility"] == "hidden"
    assert "Traceback" not in json.dumps(report)
    return report


def mistakes():
    return {name: hint for exercise in topic_exercises("scoring", 0) for name, hint in exercise.hints.items()}


# --- one submission, as Gradescope runs it ---------------------------------------------------------------------------


def assert_as_the_course_gives(course, tree, author):
    """Check that the results in ``tree`` are the course's own for ``author``, in points and words."""
    report = read(tree)
    assert report["score"] == author.points
    automatic = [test for test in report["tests"] if "score" in test]
    assert sum(test["score"] for test in automatic) == author.points
    assert sum(test["max_score"] for test in automatic) == AUTOMATIC
    assert len(report["tests"]) - len(automatic) == len(ESSAYS)
    assert all(test["visibility"] == "visible" for test in report["tests"])
    outputs = "\n".join(test["output"] for test in report["tests"])
    assert [name for name in author.hints if f"Hint: {mistakes()[name]}" not in outputs] == []
    assert ("has not been answered" in outputs) == (author.base == "starter")
    released = handout(nbformat.read(course.releases("scoring").file, as_version=4))
    assert receipt_of_file(handed_in(course, author), released).code in report["output"]


REFERENCE = replace(student("kofi_noisy"), cells=())


@needs_root
@pytest.mark.parametrize("author", [REFERENCE, student("jun_untouched")], ids=["reference", "untouched"])
def test_in_a_container_each_gets_what_the_course_gives(course, tree, author):
    put(tree, handed_in(course, author))
    done = in_a_container(tree, "/autograder/run_autograder")
    assert done.returncode == 0, done.stderr
    assert "isolation: user" in done.stdout
    assert_as_the_course_gives(course, tree, author)


def test_where_there_is_a_sandbox_it_is_taken_and_a_mistake_gets_its_hint(course, tree):
    author = student("emil_no_tanh")
    assert author.hints
    put(tree, handed_in(course, author))
    done = on_this_machine(tree)
    assert done.returncode == 0, done.stderr
    assert "isolation: zygote" in done.stdout
    assert_as_the_course_gives(course, tree, author)


# the sleeping answer must not be replaced by the reference, which the hostile cell tries to import
SLEEPS = """
import time
def dot_product_score(query, keys):
    time.sleep(3600)
"""

HOSTILE = """
import glob, json, os, signal, subprocess
forged = json.dumps({"score": 1000, "tests": []})
for folder in ("/autograder/results", "/autograder", "/autograder/source", "/tmp", "/var/tmp", "."):
    try:
        open(folder + "/results.json", "w").write(forged)
    except OSError:
        pass
for number in (1, os.getppid()):
    try:
        os.kill(number, signal.SIGKILL)
    except OSError:
        pass
for descriptor in range(3, 64):
    try:
        os.write(descriptor, ("\\n" + forged + "\\n").encode())
    except OSError:
        pass
print(forged)
subprocess.Popen(["sh", "-c", "sleep 300"], start_new_session=True)
seen = glob.glob("/autograder/source/*")
try:
    from solutions.in_numpy.scoring import *
except ImportError:
    pass
"""


@needs_root
def test_who_forges_results_and_never_ends_gets_what_the_other_answers_are_worth(course, tree):
    notebook = nbformat.reads(handed_in(course, student("ada_loops")).decode(), as_version=4)
    name = "scoring-dot_product_score"
    place = next(place for place, cell in enumerate(notebook.cells) if id_of(cell) == name)
    notebook.cells[place]["source"] = SLEEPS
    notebook.cells.insert(place + 1, nbformat.v4.new_code_cell(HOSTILE))
    put(tree, nbformat.writes(notebook).encode())
    done = in_a_container(tree, "/autograder/run_autograder")
    assert done.returncode == 0, done.stderr
    assert "isolation: user" in done.stdout
    report = read(tree)
    (lost,) = [test for test in report["tests"] if "score" in test and test["score"] != test["max_score"]]
    assert lost["score"] == 0
    assert "the call waited without computing until it was stopped" in lost["output"]
    assert report["score"] == AUTOMATIC - lost["max_score"]


@needs_root
def test_where_nothing_can_keep_a_submission_apart_nothing_is_run_and_there_is_no_score(course, tree):
    put(tree, handed_in(course, student("ada_loops")))
    rights = RIGHTS.replace("SETUID", "").replace("SETGID", "")
    done = in_a_container(tree, "/autograder/run_autograder", rights=rights)
    assert done.returncode == 0, done.stderr
    report = read(tree)
    assert "score" not in report
    assert report["tests"] == []
    assert "cannot isolate submissions from the answers" in report["output"]
    assert "zygote: " in done.stdout
    assert "user: " in done.stdout


def test_a_grader_that_cannot_even_start_leaves_words_and_no_score(tree):
    assert on_this_machine(tree, AUTOGRADER_PYTHON="/nowhere/python").returncode != 0
    report = read(tree)
    assert "score" not in report
    assert "not the fault of your submission" in report["output"]


FAILING = """
from pathlib import Path
from autograder.platforms.gradescope import run
def fails(root):
    raise ValueError("expected [[2.7743, 2.4474]]")
run.grade_one = fails
run._run_grader(Path())
"""


def test_an_exception_is_told_by_its_place_and_never_by_its_words():
    done = subprocess.run([sys.executable, "-c", FAILING], capture_output=True, text=True, cwd=ROOT, check=True)
    assert json.loads(done.stdout) == results.build_failed_results(run.GRADER_FAILED)
    assert "ValueError" in done.stderr
    assert ", fails" in done.stderr
    assert "2.7743" not in done.stderr


def test_a_process_that_says_nothing_or_never_ends_is_a_failure_without_a_score():
    assert run._run_watched([sys.executable, "-c", "print('nothing')"], 60) == results.build_failed_results(
        run.GRADER_FAILED
    )
    assert run._run_watched(["sleep", "60"], 0.2) == results.build_failed_results(run.TIMED_OUT)


def test_the_grading_process_may_take_8_gigabytes_of_memory(tmp_path):
    program = """
import resource
from autograder.platforms.gradescope import run
run.grade_one = lambda root: {"bytes": resource.getrlimit(resource.RLIMIT_AS)[0]}
run._run_grader(None)
"""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, stdout=subprocess.PIPE, check=True)
    assert json.loads(done.stdout) == {"bytes": 8 * 1024**3}


def test_the_time_limit_is_enough_for_a_submission_that_runs_again(tree, monkeypatch):
    seconds = []
    monkeypatch.setattr(run, "_run_watched", lambda command, limit: seconds.append(limit) or {})
    monkeypatch.setattr(sys, "argv", ["run", str(tree)])
    run.main()
    packed = run.PackedAssignment.from_json((tree / "source" / run.ASSIGNMENT_FILE).read_text(encoding="utf-8"))
    assert seconds[0] > 2 * packed.limits.brake_seconds


# --- what is handed in -----------------------------------------------------------------------------------------------


@pytest.fixture
def graded_here(monkeypatch):
    """Grade in this process without a canary, and fail if a submission is run: for input that is rejected earlier."""
    monkeypatch.setattr(run, "_choose_isolation", lambda *of: "none")

    def runs(*args):
        raise AssertionError("something was run")

    monkeypatch.setattr(submission.grade, "grade", runs)

    def grade(tree):
        report = run.grade_one(tree)
        jsonschema.validate(report, SCHEMA)
        return report

    return grade


def test_what_cannot_be_graded_is_worth_nothing_and_says_why(course, tree, graded_here):
    right = handed_in(course, student("ada_loops"))
    bad = {
        "contains no notebook": {"answers.txt": b"y = 1"},
        "it contains no notebook": {},
        "it is unclear which": {"one.ipynb": right, "two.ipynb": right + b"\n"},
        "another assignment": {"scoring.ipynb": handed_in(course, student("quinn_other_assignment"))},
        "not a Jupyter notebook": {"scoring.ipynb": b"hello"},
        "larger than 20 MB": {"scoring.ipynb": b" " * (21 * 2**20)},
    }
    for words, files in bad.items():
        shutil.rmtree(tree / "submission")
        (tree / "submission").mkdir()
        for name, content in files.items():
            put(tree, content, name)
        report = graded_here(tree)
        assert report["score"] == 0
        assert report["tests"] == []
        assert report["extra_data"] == {}  # this is not an attempt, so the next one keeps its hidden cases
        assert words in report["output"]
        assert "Remedy" in report["output"]


def test_a_grader_of_another_version_fails_in_words_and_without_a_score(tree, graded_here, capsys, course):
    put(tree, handed_in(course, student("ada_loops")))
    path = tree / "source" / ASSIGNMENT_FILE
    packed = PackedAssignment.from_json(path.read_text(encoding="utf-8"))
    path.write_text(replace(packed, digest="of others").to_json(), encoding="utf-8")
    assert graded_here(tree) == results.build_failed_results(run.GRADER_FAILED)
    assert "exercises differ from the course" in capsys.readouterr().out
    assert "score" not in results.build_failed_results(run.GRADER_FAILED)


def test_a_link_is_not_followed(course, tree, tmp_path, graded_here):
    elsewhere = tmp_path / "elsewhere.ipynb"
    elsewhere.write_bytes(handed_in(course, student("ada_loops")))
    (tree / "submission" / "scoring.ipynb").symlink_to(elsewhere)
    report = graded_here(tree)
    assert report["score"] == 0
    assert "a link or a device" in report["output"]
    (tree / "submission").rename(tmp_path / "real")
    (tree / "submission").symlink_to(tmp_path / "real")
    assert "a link or a device" in graded_here(tree)["output"]


def test_of_several_notebooks_the_one_counts_that_collect_takes(course, tmp_path):
    right = handed_in(course, student("ada_loops"))
    (tmp_path / ".ipynb_checkpoints").mkdir()
    (tmp_path / ".ipynb_checkpoints" / "scoring-checkpoint.ipynb").write_bytes(b"older")
    (tmp_path / "scratch.ipynb").write_bytes(b'{"cells": []}')
    (tmp_path / "scoring (1).ipynb").write_bytes(right)
    spec = AssignmentSpec("scoring", frozenset(e.name for e in topic_exercises("scoring", 0)), frozenset(), 20)
    assert select_files(tmp_path, spec) == {"scoring.ipynb": right}
    (tmp_path / "scoring.ipynb").write_bytes(right + b"\n")
    with pytest.raises(RefusedEntry, match="it is unclear which"):
        select_files(tmp_path, spec)


def test_weights_come_along_unless_they_are_too_large(monkeypatch):
    monkeypatch.setattr(submission, "exercises_for", lambda *of: topic_exercises("capstone"))
    files = tuple(e.trained.file for e in topic_exercises("capstone") if e.trained)
    assert files == ("capstone.npz", "own.npz", "wycliffe.npz")
    packed = PackedAssignment("capstone", (), {}, files, 0, "", "", {}, Limits())
    for file in files:
        assert run._read_beside(packed, {file: b"weights"}) == {file: b"weights"}
        assert run._read_beside(packed, {file: b"0" * (24 * 2**20)}) == {file: None}
    both = dict.fromkeys(files, b"weights")
    assert run._read_beside(packed, both | {"capstone.ipynb": b""}) == both
    assert run._read_beside(packed, {"capstone.ipynb": b""}) == {}


def test_a_notebook_of_an_earlier_release_is_graded_as_what_it_is(course, tree, monkeypatch):
    path = tree / "source" / ASSIGNMENT_FILE
    packed = PackedAssignment.from_json(path.read_text(encoding="utf-8"))
    newer = packed.templates[0].replace("Shapes in a batch", "For a batch")
    assert newer != packed.templates[0]
    path.write_text(replace(packed, templates=(newer, *packed.templates)).to_json(), encoding="utf-8")
    put(tree, handed_in(course, student("ada_loops")))
    monkeypatch.setattr(run, "_choose_isolation", lambda *of: "none")
    monkeypatch.setattr(submission.grade, "grade", lambda notebook, by, *of: Graded(all_of(by), {}))
    report = run.grade_one(tree)
    versions = [handout(nbformat.reads(text, as_version=4)).version for text in (newer, packed.templates[0])]
    assert versions[1] in report["output"]
    assert "mended" not in report["output"]
    assert report["score"] == AUTOMATIC


def all_of(by):
    return tuple(Verdict(e.name, e.points if e.is_automatic else None, e.points) for e in by)


def test_another_try_is_told_by_what_earlier_results_say():
    def metadata(*tries):
        earlier = [
            {"submission_time": f"2026-04-0{n}", "score": 1.0, "results": {"extra_data": {"handed_in": digest}}}
            for n, digest in enumerate(tries, 1)
        ]
        return json.dumps({"previous_submissions": earlier[::-1]}).encode()

    first, second, third = (hashlib.sha256(text).hexdigest() for text in (b"first", b"second", b"third"))
    assert results.attempt_number(b"", b"first") == results.attempt_number(metadata(), b"first") == 0
    assert results.attempt_number(metadata(first, first), b"second") == 1
    assert results.attempt_number(metadata(first, second, third), b"second") == 1
    assert results.attempt_number(metadata(first, second), b"third") == 2
    for broken in (b"{", b"[]", b'{"previous_submissions": [1]}', b'{"previous_submissions": [{"results": []}]}'):
        assert results.attempt_number(broken, b"first") == 0


def test_another_try_is_graded_with_other_hidden_cases(course, tree, monkeypatch):
    def inputs_for(*earlier):
        """Return the hidden queries of one exercise for a try that follows those with the results ``earlier``."""
        tries = [{"submission_time": "2026-04-01", "results": report} for report in earlier]
        (tree / run.METADATA).write_text(json.dumps({"previous_submissions": tries}), encoding="utf-8")
        reports.append(run.grade_one(tree))
        exercise = next(e for e in seen.pop() if e.name == "scoring-additive_score")
        return [case.inputs["query"].tolist() for case in exercise.hidden]

    seen, reports = [], []
    monkeypatch.setattr(run, "_choose_isolation", lambda *of: "none")
    monkeypatch.setattr(submission.grade, "grade", lambda notebook, by, *of: seen.append(by) or Graded(all_of(by), {}))
    put(tree, handed_in(course, student("ada_loops")))
    first = inputs_for()
    put(tree, handed_in(course, REFERENCE))
    assert inputs_for(reports[0]) != first
    put(tree, handed_in(course, student("ada_loops")))
    assert inputs_for(*reports) == first  # the first try again


def test_the_words_are_those_of_the_feedback_page_and_an_essay_has_no_points(course):
    released = nbformat.read(course.releases("scoring").file, as_version=4)
    by = topic_exercises("scoring", 0)
    wrong = Verdict(by[0].name, 0.5, 1.5, (Part("W_query", 0, 1, "axis 0 is n"), Part("v", 0.5, 0.5, "")), ("Look.",))
    verdicts = tuple(wrong if e is by[0] else verdict for e, verdict in zip(by, all_of(by), strict=True))
    judged = Graded(verdicts, {}, failure="Stopped at cell 3: \x1b[31mred\x1b[0m\u202e.")
    cells = pages.enter_results(released, judged, released, {})
    outcome = submission.GradingResult("", ("Mended.",), judged, cells, nbformat.writes(released).encode())
    report = results.build_graded_results(outcome, b"content", [handout(released)], 12.34)
    assert report["execution_time"] == 12.3
    jsonschema.validate(report, SCHEMA)
    assert (
        report["tests"][0]["output"].split("\n")
        == pages.describe_verdict(wrong)[1:]
        == ["W_query (1): axis 0 is n", "v (0.5): right.", "Hint: Look."]
    )
    assert report["score"] == AUTOMATIC - by[0].points + 0.5
    automatic, by_person = AUTOMATIC - by[0].points + wrong.points, sum(e.points for e in by if not e.is_automatic)
    assert report["output"].split("\n")[:2] == [
        f"{report['score']:g} of the {automatic:g} points that are graded automatically.",
        f"The other {by_person:g} are marked by a person.",
    ]
    assert "Stopped at cell 3: red" in report["output"]
    assert not re.search("[\x1b\u202e]", report["output"])
    assert "Mended." in report["output"]
    essays = [test for test in report["tests"] if "score" not in test]
    assert [test["output"] for test in essays] == [results.NOT_ANSWERED] * len(ESSAYS)  # as they were handed out
    assert not any("max_score" in test for test in essays)


# --- the archive -----------------------------------------------------------------------------------------------------


def entries(content):
    with zipfile.ZipFile(io.BytesIO(content)) as bundle:
        return {info.filename: (info, bundle.read(info)) for info in bundle.infolist()}


def test_the_archive_is_the_same_each_time_and_has_what_gradescope_asks_for_at_its_top(course, archive):
    assert pack(course, "scoring", course.releases("scoring").load(), LIMITS).content == archive
    files = entries(archive)
    for name in ("setup.sh", "run_autograder"):
        info, content = files[name]
        assert info.external_attr >> 16 == 0o100755
        assert content.startswith(b"#!/bin/")
        subprocess.run([content[2:].split()[0], "-n"], input=content, check=True)
        subprocess.run(["sh", "-n"], input=content, check=True)
    assert {info.date_time for info, _ in files.values()} == {(1980, 1, 1, 0, 0, 0)}


def test_setup_names_what_is_in_the_archive_and_installs_what_was_tested(archive):
    files = entries(archive)
    script = files["setup.sh"][1].decode()
    named = re.findall(r"\$source/([\w.-]+)", script)
    assert sorted(named) == ["constraints.txt", "requirements.txt"]
    assert set(named) <= set(files)
    lines = [line.partition("==") for line in files["constraints.txt"][1].decode().splitlines()]
    pinned = {canonicalize_name(name): version for name, _, version in lines if version}
    requirements = [Requirement(line) for line in files["requirements.txt"][1].decode().splitlines()]
    assert {"numpy", "torch", "nbgrader"} <= {requirement.name for requirement in requirements}
    assert [
        requirement.name
        for requirement in requirements
        if pinned[canonicalize_name(requirement.name)] not in requirement.specifier
    ] == []
    assert "torch_index=''" in script


APT = """#!/bin/sh
echo "apt-get $*" >> /autograder/said
case "$*" in *python3.11*) exit 100;; esac
"""
PYTHON = """#!/bin/sh
echo "python3.12 $*" >> /autograder/said
mkdir -p "$3/bin" && printf '#!/bin/sh\\necho "python $*" >> /autograder/said\\n' > "$3/bin/python" && chmod 700 "$3/bin/python"
"""


@needs_root
def test_setup_takes_the_python_that_there_is_and_leaves_the_answers_to_root_alone(tree):
    (tree / "programs").mkdir()
    for name, text in (("apt-get", APT), ("python3.12", PYTHON)):
        (tree / "programs" / name).write_text(text)
        (tree / "programs" / name).chmod(0o755)
    tell = "stat -c %A /opt/attention-grader/bin/python /autograder/source /autograder/source/assignment.json"
    script = f"PATH=/autograder/programs:$PATH bash /autograder/source/setup.sh && {tell}"
    done = in_a_container(tree, "sh", "-c", script)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["-rwxr-xr-x", "drwx------", "-rw-------"]
    calls = (tree / "said").read_text().splitlines()
    assert [line.split()[-1] for line in calls[:4]] == ["-qq", "util-linux", "python3.11-venv", "python3.12-venv"]
    assert calls[4] == "python3.12 -m venv /opt/attention-grader"
    assert calls[5].endswith("-c /autograder/source/constraints.txt -r /autograder/source/requirements.txt")
    assert "--extra-index-url" not in calls[5]
    assert len(calls) == 6


def test_a_further_index_is_written_into_setup_as_one_word(course):
    content = pack(course, "scoring", course.releases("scoring").load(), LIMITS, "https://host/a b/").content
    script = entries(content)["setup.sh"][1].decode()
    assert "torch_index='https://host/a b/'" in script
    completed = subprocess.run(
        ["bash", "-c", script.split("export")[0] + 'echo "$torch_index"'], capture_output=True, text=True
    )
    assert completed.stdout == "https://host/a b/\n"


def test_nothing_of_students_is_in_the_archive(course, archive, tmp_path):
    shutil.copytree(course.root, tmp_path / "course")
    other = Course.at(tmp_path / "course")
    path = other.submission("zebulon", "scoring")
    path.parent.mkdir(parents=True)
    path.write_bytes(handed_in(course, student("ada_loops")))
    enrol(other, "id,email\nzebulon,zebulon@university.edu\n")
    content = pack(other, "scoring", other.releases("scoring").load(), LIMITS).content
    assert content == archive
    files = entries(content)
    assert not [name for name, (_, text) in files.items() if b"zebulon" in text]
    assert {name.split("/")[0] for name in files if "/" in name} == {"autograder", "solutions"}


def test_pack_says_what_to_set_on_gradescope_and_overwrites_nothing(course, tmp_path):
    target = tmp_path / "scoring.zip"
    command = ["pack", "scoring", "--for", "gradescope", "--course", course.root, "--output", target]
    output = succeed(*command)
    assert f"Autograder points on Gradescope: {AUTOMATIC:g}" in output
    for essay in ESSAYS:
        assert essay in output
    assert PackedAssignment.from_json(entries(target.read_bytes())[ASSIGNMENT_FILE][1].decode()).limits == Limits()
    assert_refused(autograder(*command), "already", "--force")
    succeed(*command, "--force")
    assert_refused(autograder("pack", "scoring", "--for", "prairielearn", "--course", course.root), "gradescope")
    assert_refused(autograder("pack", "softmax", "--course", course.root), "no assignment")
    wrong = autograder(*command, "--force", "--torch-index", "$(reboot)")
    assert_refused(wrong, "--torch-index")


def test_without_the_project_nothing_is_packed(course, monkeypatch, tmp_path):
    monkeypatch.setattr("autograder.platforms.gradescope.pack.ROOT", tmp_path)
    with pytest.raises(CourseError, match=r"pyproject\.toml"):
        pack(course, "scoring", course.releases("scoring").load(), LIMITS)
