"""The canary: stopped by the sandbox, and seen to escape where there is none."""

import subprocess
import sys

import pytest

from autograder import doctor, sandbox
from autograder.errors import CourseError

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
