"""The canary: stopped by the sandbox, and seen to escape where there is none."""

import pytest

from autograder import doctor, sandbox
from autograder.errors import CourseError

pytestmark = pytest.mark.suite("sandbox")


def test_the_sandbox_of_this_machine_holds():
    assert [what for what, stopped in doctor.examine() if not stopped] == []
    doctor.require("single-use")


def test_without_a_sandbox_the_canary_escapes():
    escaped = [what for what, stopped in doctor.examine("none") if not stopped]
    assert "opens a connection to this machine" in escaped
    assert "reads files of the host, the project or the home directory" in escaped


def test_grading_refuses_where_the_canary_gets_out(monkeypatch):
    honest = sandbox.run
    monkeypatch.setattr(sandbox, "run", lambda script, limits=None, isolation="": honest(script, limits, "none"))
    with pytest.raises(CourseError, match="could leave the sandbox"):
        doctor.require("single-use")
