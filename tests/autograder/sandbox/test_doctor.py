"""The canary is stopped by the sandbox, and escapes without one."""

import os
import shlex
import signal
import subprocess
import sys
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from autograder import sandbox
from autograder.__main__ import app
from autograder.courses.course import CONFIG, init
from autograder.errors import CourseError
from autograder.sandbox import Limits, bubblewrap, canary, cgroup, doctor, meter

pytestmark = pytest.mark.suite("sandbox")


def test_the_sandbox_of_this_machine_holds():
    assert [what for what, stopped in doctor.examine("zygote") if not stopped] == []
    doctor.require("zygote")


def test_without_a_sandbox_the_canary_escapes():
    escaped = [what for what, stopped in doctor.examine("none") if not stopped]
    assert "opens a connection to this machine or to another" in escaped
    assert "leaves a process running after it ends" in escaped
    assert "leaves files for the next submission" in escaped
    assert "reads files of the course, the project, the home directory or this machine" in escaped
    assert ("runs as root" in escaped) == (os.geteuid() == 0)


def test_grading_refuses_where_the_canary_gets_out(monkeypatch):
    honest = sandbox.run
    monkeypatch.setattr(sandbox, "run", lambda script, limits, *rest: honest(script, limits, "none"))
    with pytest.raises(CourseError, match="could escape from the sandbox"):
        doctor.require("zygote")


def test_the_doctor_is_red_where_namespaces_are_refused():
    refuse = "; ".join(f"echo 0 > /proc/sys/user/max_{kind}_namespaces" for kind in ("user", "pid", "net", "mnt"))
    doctor_command = f"exec {shlex.quote(sys.executable)} -m autograder doctor"
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


def test_files_that_a_umask_closed_are_named_with_what_opens_them(tmp_path, monkeypatch):
    closed = tmp_path / "a folder" / "numpy" / "core.py"
    closed.parent.mkdir(parents=True)
    closed.write_text("")
    monkeypatch.setattr(bubblewrap.sys, "prefix", str(tmp_path / "a folder"))
    monkeypatch.setattr(bubblewrap.os, "geteuid", lambda: 0)
    failed = "setpriv: failed to execute python: Permission denied"
    for path, mode in ((closed, 0o600), (closed.parent, 0o700), (closed.parent, 0o754)):
        before = path.stat().st_mode
        path.chmod(mode)
        what, _, remedy = bubblewrap.explain_refusal(failed)
        assert f"its user cannot read {path} ({failed})" in what
        assert remedy.startswith(f"`chmod -R go+rX '{tmp_path}/a folder'`")
        assert "chmod" not in bubblewrap.explain_refusal("bwrap: No permissions to create new namespace")[2]
        path.chmod(before | 0o055)
    monkeypatch.setattr(bubblewrap.os, "geteuid", lambda: 1000)  # its own files are open to it
    closed.chmod(0o600)
    assert "chmod" not in bubblewrap.explain_refusal(failed)[2]


@pytest.mark.skipif(os.geteuid() != 0, reason="started by another user, the sandbox stays that user")
def test_a_checkout_under_a_narrow_umask_is_what_the_doctor_blames(tmp_path, monkeypatch):
    copies = tuple(tmp_path / path.name for path in bubblewrap.WORKER_FILES)
    for path, copy in zip(bubblewrap.WORKER_FILES, copies, strict=True):
        copy.write_bytes(path.read_bytes())
        copy.chmod(0o600)
    monkeypatch.setattr(bubblewrap, "WORKER_FILES", copies)
    sandbox.close()  # the sandbox that is running has read the files
    with pytest.raises(CourseError, match="chmod -R go"):
        doctor.require("zygote")


@pytest.mark.parametrize(("restriction", "named"), [("1\n", True), ("0\n", False), (None, False)])
def test_where_apparmor_refuses_namespaces_a_profile_for_bwrap_alone_is_named(
    tmp_path, monkeypatch, restriction, named
):
    setting = tmp_path / "restriction"
    if restriction:
        setting.write_text(restriction)
    monkeypatch.setattr(bubblewrap, "USERNS_RESTRICTION", setting)
    _, _, remedy = bubblewrap.explain_refusal("bwrap: setting up uid map: Permission denied")
    assert ("profile bwrap /usr/bin/bwrap flags=(unconfined) {" in remedy) == named
    assert ("/etc/apparmor.d/bwrap" in remedy) == named
    assert ("--isolation none" in remedy) != named
    assert "sysctl" not in remedy
    assert doctor.remedy("zygote") == remedy


def test_without_a_control_group_the_doctor_warns_and_stays_green(monkeypatch):
    monkeypatch.setattr(cgroup, "is_available", lambda limits: False)
    (warning,) = doctor.warnings("zygote", Limits())
    assert "No control group" in warning
    assert doctor.warnings("user", Limits()) == [warning]
    assert "c.Judge.memory_mb in nbgrader_config.py" in warning
    monkeypatch.setattr(cgroup, "is_available", lambda limits: True)
    assert doctor.warnings("zygote", Limits()) == doctor.warnings("container", Limits()) == []


def test_where_a_kernel_shows_too_little_to_measure_the_doctor_warns(monkeypatch):
    monkeypatch.setattr(cgroup, "is_available", lambda limits: True)
    monkeypatch.setattr(meter, "can_measure", lambda: False)
    assert doctor.warnings("zygote", Limits()) == doctor.warnings("user", Limits()) == [doctor.UNMEASURED]
    assert doctor.warnings("container", Limits()) == []
    monkeypatch.setattr(cgroup, "is_available", lambda limits: False)
    assert doctor.UNMEASURED in doctor.warnings("zygote", Limits())


def test_where_processes_cannot_be_listed_the_doctor_says_what_it_did_not_look_for(monkeypatch, tmp_path):
    monkeypatch.setattr(doctor, "PROC", tmp_path / "none")
    questions = [what for what, _ in doctor.examine("none")]
    assert "leaves files for the next submission" in questions
    assert doctor.OUTLIVES_ITS_RUN not in questions
    (warning,) = doctor.warnings("container", Limits())
    assert doctor.OUTLIVES_ITS_RUN in warning


def test_the_command_looks_for_the_course_it_is_given(tmp_path, monkeypatch):
    course, examined = init(tmp_path / "course"), []
    course.config.write_text(CONFIG.replace("# c.Judge.disk_mb = 64", "c.Judge.disk_mb = 32"))

    def examine(isolation, limits, hidden):
        examined.append((isolation, limits.disk_mb, hidden))
        return [("leaves", True)]

    monkeypatch.setattr(doctor, "examine", examine)
    call = CliRunner().invoke
    assert f"hides {course.root}" in call(app, ["doctor", "--course", str(course.root)]).output.replace("\n", "")
    monkeypatch.chdir(tmp_path)
    call(app, ["doctor", "--isolation", "user"])
    monkeypatch.chdir(course.root)
    call(app, ["doctor"])
    hidden = (str(course.root),)
    assert examined == [("zygote", 32, hidden), ("user", 32, hidden), ("zygote", 32, hidden)]
    monkeypatch.chdir("/")
    assert "The sandbox holds." in call(app, ["doctor"]).output
    assert examined[-1] == ("zygote", 64, ())
    assert isinstance(call(app, ["doctor", "--course", str(tmp_path)]).exception, CourseError)


SEEN = {  # the canary's report: when held, when it escapes, how the finding begins
    "reads": ([], ["/etc/shadow"], "reads files"),
    "imports": ([], ["solutions"], "imports"),
    "network": (False, True, "opens a connection"),
    "sockets": ([], ["vsock"], "opens a socket"),
    "processes": (3, 5, doctor.SEES_PROCESSES),
    "writes": ([], ["/usr"], doctor.WRITES_OUTSIDE),
    "raises_limits": (False, True, "raises its own limits"),
    "namespace": (False, True, "makes namespaces"),
    "root": (False, True, "runs as root"),
    "environment": ([], ["USER"], "sees the environment"),
}
HELD = {what: held for what, (held, _, _) in SEEN.items()}


def findings_of(monkeypatch, seen, left_behind=(), isolation="zygote"):
    """Return the doctor's findings if the canary reports ``seen`` and then finds ``left_behind``."""
    answers = iter([seen, {"left": list(left_behind)}])
    monkeypatch.setattr(doctor, "_send_canary", lambda *arguments: next(answers))
    return doctor.examine(isolation)


@pytest.mark.parametrize("what", SEEN)
def test_each_escape_of_the_canary_is_its_own_finding_and_silence_is_one_too(what, monkeypatch):
    assert all(stopped for _, stopped in findings_of(monkeypatch, HELD))
    _, escape, words = SEEN[what]
    for seen in (escape, None):
        escaped = [name for name, stopped in findings_of(monkeypatch, {**HELD, what: seen}) if not stopped]
        assert len(escaped) == 1
        assert escaped[0].startswith(words)


def test_what_is_left_for_the_next_submission_is_a_finding(monkeypatch):
    escaped = [name for name, stopped in findings_of(monkeypatch, HELD, ["/tmp/x"]) if not stopped]
    assert escaped == ["leaves files for the next submission"]


def test_another_user_of_this_machine_may_see_its_processes_and_nothing_else_more(monkeypatch):
    names, others = (
        [name for name, _ in findings_of(monkeypatch, HELD, isolation=isolation)] for isolation in ("user", "zygote")
    )
    assert [name for name in others if name != doctor.SEES_PROCESSES] == names


def test_without_isolation_nobody_asks_and_a_finding_refuses_in_words(monkeypatch):
    monkeypatch.setattr(doctor, "examine", lambda *arguments: [("reads files", True), ("runs as root", False)])
    doctor.require("none")
    with pytest.raises(CourseError, match="it runs as root"):
        doctor.require("zygote")


@pytest.mark.parametrize(("answer", "made"), [(lambda _: 0, True), (lambda _: -1, False), (lambda _: _die(), False)])
def test_the_canary_reports_a_namespace_only_if_the_kernel_made_one(answer, made, monkeypatch):
    monkeypatch.setattr(canary.ctypes, "CDLL", lambda _: SimpleNamespace(unshare=answer))
    assert canary._makes_a_namespace() is made


def _die():
    os.kill(os.getpid(), signal.SIGKILL)  # as a system call filter may do
