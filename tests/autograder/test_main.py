"""The command line: clear errors with place and remedy, a reliable exit status, and nothing half-written."""

import contextlib
import io
import re
import shutil
import subprocess
import sys
from dataclasses import fields
from unittest import mock

import pytest
from rich.console import Console
from typer.testing import CliRunner

from autograder import __main__
from autograder.__main__ import app, out
from autograder.audit import show as audit_show
from autograder.courses.course import init
from autograder.errors import CourseError
from autograder.notebooks import website
from autograder.paths import format_command
from autograder.sandbox import Limits
from tests.autograder.essays import enrol

pytestmark = pytest.mark.suite("assignments")


def autograder(*args):
    """Run a command line in this process, from its arguments to its exit status, as ``python -m autograder`` does."""
    words, output, errors = ["autograder", *map(str, args)], io.StringIO(), io.StringIO()
    with (
        mock.patch.object(sys, "argv", words),
        mock.patch.object(__main__, "out", Console(width=160)),  # as without a terminal
        contextlib.redirect_stdout(output),
        contextlib.redirect_stderr(errors),
        pytest.raises(SystemExit) as ended,
    ):
        __main__.main()
    return subprocess.CompletedProcess(words, ended.value.code, output.getvalue(), errors.getvalue())


def succeed(*args, status=0):
    """Run a command line in this process, which must end with ``status``; return what it printed."""
    done = autograder(*args)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout


def program(*args):
    """Run a command line in a process of its own."""
    command = [sys.executable, "-m", "autograder", *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, timeout=600)


def assert_refused(done, *words):
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stderr.startswith("error: "), done.stderr
    assert "Remedy: " in done.stderr
    assert "Traceback" not in done.stderr
    assert not [word for word in words if word not in done.stderr]


def test_a_hint_repeats_the_course_unless_it_is_the_usual_one(tmp_path, monkeypatch):
    assert format_command("grade scoring", "course") == "python -m autograder grade scoring"
    spaced = tmp_path / "my course"
    assert format_command("grade scoring", spaced).endswith(f"grade scoring --course '{spaced}'")
    below = init(spaced)
    monkeypatch.chdir(tmp_path)
    assert format_command("grade scoring", below.root) == "python -m autograder grade scoring --course 'my course'"
    monkeypatch.chdir(spaced)  # where commands find it by themselves
    assert format_command("grade scoring", below.root) == "python -m autograder grade scoring"


def test_help_is_everywhere():
    for command in ([], ["init"], ["release"], ["handouts"], ["grade"], ["pack"], ["doctor"], ["demo"]):
        output = succeed(*command, "--help")
        assert "Usage" in output


def test_help_lists_the_commands_of_contributors_apart():
    teaching, contributing = succeed("--help").split("For contributors to the course")
    commands = [re.findall(r"^│ ([a-z]+) ", part, flags=re.MULTILINE) for part in (teaching, contributing)]
    assert commands[0] == [
        *("init", "release", "collect", "grade", "watch", "mark", "requests"),
        *("export", "feedback", "report", "pack", "restore", "forget", "doctor"),
    ]
    assert commands[1] == ["handouts", "audit", "check", "demo"]


def test_what_rich_takes_for_the_name_of_an_emoji_is_printed_as_it_is():
    with out.capture() as printed:
        out.print("add an exercise directive with `:label: scoring-race`")
    assert printed.get().strip() == "add an exercise directive with `:label: scoring-race`"


def test_an_unknown_topic_is_refused_with_those_that_there_are(tmp_path):
    init(tmp_path)
    for run in (autograder, program):
        assert_refused(run("release", "cooking", "--course", tmp_path, "--no-links"), "cooking", "scoring")
    assert not list(tmp_path.glob("release/*"))


@pytest.mark.parametrize("placeholder", ["", "https://example.org/bahdanau-attention/"])
def test_a_release_that_would_link_to_a_placeholder_is_refused_before_anything_is_written(
    placeholder, tmp_path, monkeypatch
):
    config = tmp_path / "_config.yml"
    config.write_text(f"html:\n  baseurl: '{placeholder}'\n")
    monkeypatch.setattr(website, "CONFIG", config)
    course = init(tmp_path / "course")
    done = CliRunner().invoke(app, ["release", "scoring", "--course", str(course.root)])
    assert isinstance(done.exception, CourseError)
    for word in ("html.baseurl", "--base-url", "--no-links", "Remedy: "):
        assert word in str(done.exception)
    assert not list(course.root.glob("*/scoring"))


def test_a_release_links_to_the_address_that_was_given_and_says_what_its_cases_catch(tmp_path, unproved):
    course = init(tmp_path)
    told = succeed(
        *("release", "scoring", "--course", tmp_path, "--seed", 0, "--base-url", "http://localhost:8000", "--verbose")
    )
    assert re.search(r"^scoring-additive_score: \d+ wrong answers, \d+ hidden cases$", told, flags=re.MULTILINE)
    assert re.search(r"^ +ordinary numbers: catches \d+", told, flags=re.MULTILINE)
    text = course.releases("scoring").file.read_text()
    assert "(http://localhost:8000/book/scoring.html)" in text
    assert "example.org" not in text


def test_an_address_that_is_none_is_refused(tmp_path):
    init(tmp_path)
    done = autograder("release", "scoring", "--course", tmp_path, "--base-url", "attention")
    assert_refused(done, "--base-url", "attention")


def test_an_assignment_that_was_never_released_is_refused(tmp_path):
    init(tmp_path)
    assert_refused(autograder("grade", "scoring", "--course", tmp_path, "--isolation", "none"), "scoring", "none yet")


def test_a_folder_that_is_no_course_is_refused(tmp_path):
    assert_refused(autograder("grade", "scoring", "--course", tmp_path), "not a course directory", "init")


def test_a_class_without_submissions_and_a_student_without_one_are_named(course):
    command = ["grade", "scoring", "--course", course.root, "--isolation", "none"]
    collect = f"run `python -m autograder collect scoring ARCHIVE --course {course.root}` first"
    assert_refused(autograder(*command), "nobody has handed in", collect)
    assert_refused(autograder(*command, "zacharias"), "no submission for scoring from zacharias", collect)
    enrol(course, "id\nada\n")
    assert_refused(autograder(*command, "ada", "bne"), "from ada, bne; not in the roster: bne")


@pytest.mark.parametrize("command", ["grade", "watch", "collect"])
def test_limits_are_set_in_nbgrader_config_and_nowhere_else(command, course):
    shown = succeed(command, "--help")
    for limit in fields(Limits):
        option = f"--{limit.name.replace('_', '-')}"
        assert option not in shown
        assert f"# c.Judge.{limit.name} = {limit.default:g}\n" in course.config.read_text()
        assert autograder(command, "scoring", option, "9", "--course", course.root).returncode == 2


def test_an_unknown_isolation_is_refused(course):
    assert_refused(autograder("grade", "scoring", "--course", course.root, "--isolation", "prayer"), "prayer")


def test_a_demonstration_never_overwrites_a_folder_that_is_none(tmp_path):
    (tmp_path / "work.txt").write_text("mine")
    assert_refused(autograder("demo", tmp_path), "not a demonstration course")
    assert (tmp_path / "work.txt").read_text() == "mine"


def test_the_exit_status_says_that_something_was_set_aside(course):
    shutil.copytree(course.releases("scoring").file.parent, course.root / "submitted" / "ada" / "scoring")
    command = ["grade", "scoring", "--course", course.root, "--workers", 1]
    done = program(*command)
    assert done.returncode == 0, done.stdout + done.stderr
    path = course.submission("ben", "scoring")
    path.parent.mkdir(parents=True)
    path.write_text("no notebook")
    output = succeed(*command, status=3)
    assert re.search(r"0 graded, 1 reused \(.*\), 1 set aside \(.*\), 0 failed", output.replace("\n", " "))


@pytest.mark.parametrize("args", [["scoring", "--held-out"], ["--held-out", "--seed", 1], []], ids=str)
def test_rates_of_a_part_are_never_recorded_as_those_of_the_book(args):
    before = audit_show.RECORD.read_bytes()
    assert_refused(autograder("audit", *args, "--record"), "every topic")
    assert audit_show.RECORD.read_bytes() == before


def test_init_says_how_it_takes_the_folder(tmp_path):
    assert_refused(autograder("init", "--course", tmp_path / "new"), f"autograder init {tmp_path / 'new'}`")
    assert not (tmp_path / "new").exists()


def test_mark_without_an_exercise_lists_those_that_a_person_marks(course):
    assert_refused(autograder("mark", "scoring", "--course", course.root), "what_to_recompute")


def test_init_twice_leaves_what_is_there(tmp_path):
    succeed("init", tmp_path / "course")
    config = tmp_path / "course" / "nbgrader_config.py"
    config.write_text(config.read_text() + "# mine\n")
    succeed("init", tmp_path / "course")
    assert config.read_text().endswith("# mine\n")
