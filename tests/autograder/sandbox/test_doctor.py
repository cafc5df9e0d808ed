"""The canary: stopped by the sandbox, and seen to escape where there is none."""

import subprocess
import sys

import pytest
from typer.testing import CliRunner

from autograder import sandbox
from autograder.__main__ import app
from autograder.courses.course import CONFIG, init
from autograder.errors import CourseError
from autograder.sandbox import Limits, cgroup, doctor

pytestmark = pytest.mark.suite("sandbox")


@pytest.mark.parametrize("isolation", ["zygote", "single-use"])
def test_the_sandbox_of_this_machine_holds(isolation):
    assert [what for what, stopped in doctor.examine(isolation) if not stopped] == []
    doctor.require(isolation)


def test_without_a_sandbox_the_canary_escapes():
    escaped = [what for what, stopped in doctor.examine("none") if not stopped]
    assert "opens a connection to this machine or to another" in escaped
    assert "keeps a process alive after its end" in escaped
    assert "leaves files for the next submission" in escaped
    assert "reads files of the course, the project, the home directory or this machine" in escaped


def test_grading_refuses_where_the_canary_gets_out(monkeypatch):
    honest = sandbox.run
    monkeypatch.setattr(sandbox, "run", lambda script, limits, *rest: honest(script, limits, "none"))
    with pytest.raises(CourseError, match="could leave the sandbox"):
        doctor.require("single-use")


@pytest.mark.parametrize("isolation", ["zygote", "single-use"])
def test_the_doctor_is_red_where_namespaces_are_refused(isolation):
    refuse = "; ".join(f"echo 0 > /proc/sys/user/max_{kind}_namespaces" for kind in ("user", "pid", "net", "mnt"))
    doctor_command = f"exec {sys.executable} -m autograder doctor --isolation {isolation}"
    done = subprocess.run(
        ["unshare", "--user", "--map-root-user", "sh", "-c", f"{refuse}; {doctor_command}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "the sandbox did not start" in done.stderr
    assert "Remedy" in done.stderr
    assert "holds" not in done.stdout


def test_without_a_control_group_the_doctor_warns_and_stays_green(monkeypatch):
    monkeypatch.setattr(cgroup, "available", lambda limits: False)
    (warning,) = doctor.warnings("zygote", Limits())
    assert "no control group" in warning
    assert doctor.warnings("user", Limits()) == [warning]
    assert "--memory-mb" in warning
    monkeypatch.setattr(cgroup, "available", lambda limits: True)
    assert doctor.warnings("zygote", Limits()) == doctor.warnings("container", Limits()) == []


def test_where_processes_cannot_be_listed_the_doctor_says_what_it_did_not_look_for(monkeypatch, tmp_path):
    monkeypatch.setattr(doctor, "PROCESSES", tmp_path / "none")
    asked = [what for what, _ in doctor.examine("none")]
    assert "leaves files for the next submission" in asked
    assert doctor.STAYS not in asked
    (warning,) = doctor.warnings("container", Limits())
    assert doctor.STAYS in warning


def test_the_command_looks_for_the_course_it_is_given(tmp_path, monkeypatch):
    course, asked = init(tmp_path / "course"), []
    course.config.write_text(CONFIG.replace("# c.Judge.disk_mb = 64", "c.Judge.disk_mb = 32"))

    def examine(isolation, limits, hidden):
        asked.append((isolation, limits.disk_mb, hidden))
        return [("leaves", True)]

    monkeypatch.setattr(doctor, "examine", examine)
    call = CliRunner().invoke
    assert f"hides {course.root}" in call(app, ["doctor", "--course", str(course.root)]).output.replace("\n", "")
    monkeypatch.chdir(tmp_path)
    call(app, ["doctor", "--isolation", "single-use"])
    monkeypatch.chdir(course.root)
    call(app, ["doctor"])
    hidden = (str(course.root),)
    assert asked == [("zygote", 32, hidden), ("single-use", 32, hidden), ("zygote", 32, hidden)]
    monkeypatch.chdir("/")
    assert "The sandbox holds." in call(app, ["doctor"]).output
    assert asked[-1] == ("zygote", 64, ())
    assert isinstance(call(app, ["doctor", "--course", str(tmp_path)]).exception, CourseError)
