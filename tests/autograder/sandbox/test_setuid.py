"""Without namespaces, a separate user, file permissions and the system call filter isolate a submission."""

import contextlib
import json
import os
import shlex
import shutil
import sys

import pytest

from autograder import sandbox
from autograder.errors import CourseError
from autograder.paths import ROOT
from autograder.sandbox import Cell, Script, bubblewrap, seccomp, setuid
from tests.autograder.containers import in_a_container, needs_root

pytestmark = pytest.mark.suite("sandbox")


@pytest.fixture
def tree(tmp_path):
    """A folder with the grader, the answers, and the files that a platform adds."""
    for name in ("autograder", "solutions"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, tmp_path / "platform" / "source" / name, ignore=ignored)
    for name in ("submission", "results"):
        (tmp_path / "platform" / name).mkdir()
    (tmp_path / "platform" / "source" / "assignment.json").write_text("{}")
    return tmp_path / "platform"


SPY = """
import os, signal, socket, subprocess
def tried(what):
    try:
        return repr(what())[:200]
    except BaseException as error:
        return type(error).__name__
def spy():
    def left_behind():
        for folder in ("/tmp/a/b", "/var/tmp/c"):
            os.makedirs(folder)
            with open(folder + "/left", "w"):
                pass
        # under a name that is no text
        subprocess.Popen(["sh", "-c", r"printf '\377\376' > /proc/$$/comm; while :; do :; done"], start_new_session=True)
        os.mkdir("/tmp/deep")
        os.chdir("/tmp/deep")
        for _ in range(1500):  # deeper than Python's own functions go
            os.mkdir("d")
            os.chdir("d")
    of_root = [name for name in os.listdir("/proc") if name.isdigit() and os.stat("/proc/" + name).st_uid == 0]
    return {
        "processes": len(of_root),
        "list": tried(lambda: os.listdir("/autograder/source")),
        "answers": tried(lambda: open("/autograder/source/solutions/in_numpy/scoring.py").read()),
        "seed": tried(lambda: open("/autograder/source/assignment.json").read()),
        "submission": tried(lambda: os.listdir("/autograder/submission")),
        "metadata": tried(lambda: open("/autograder/submission_metadata.json").read()),
        "results": tried(lambda: open("/autograder/results/results.json", "w")),
        **{f"{number} {what}": tried(lambda: open(f"/proc/{number}/{what}", "rb").read(1))
           for number in of_root for what in ("environ", "mem", "maps")},
        "root": tried(lambda: os.setuid(0)),
        "signal": tried(lambda: os.kill(1, signal.SIGTERM)),
        "internet": tried(lambda: socket.socket(socket.AF_INET)),
        "local": tried(lambda: socket.socket(socket.AF_UNIX)),
        "user": os.getuid(),
        "left": tried(left_behind),
    }
"""
SEND = """
import json, sys
from pathlib import Path
from autograder import sandbox
from autograder.sandbox import Call, Cell, Limits, Script, doctor, setuid
def there():
    return {str(path) for folder in setuid.WORLD_WRITABLE for path in Path(folder).glob("*")}
before = there()
cells = Cell(sys.argv[1]), Cell("", "spy-spy", "spy")
for found in (doctor.examine("user", hidden=("/autograder",)),
              sandbox.run(Script(cells, {"spy-spy": (Call({}),)}), Limits(), "user").replies["spy-spy", 0].value):
    print(json.dumps(found))
print(json.dumps([p for p in (q.read_text() for q in Path("/proc").glob("[0-9]*/cmdline")) if p.startswith("sh")]))
print(json.dumps(sorted(there() - before)))
"""


@needs_root
def test_as_another_user_nothing_of_the_grader_can_be_read_reached_or_left_behind(tree):
    (tree / "submission_metadata.json").write_text('{"users": [{"email": "ada@university.edu"}]}')
    tree.chmod(0o700)  # as run_autograder does
    send = ["sh", "-c", 'cd source; exec "$@"', "sh", sys.executable, "-B", "-c", SEND, SPY]
    done = in_a_container(tree, *send)
    assert done.returncode == 0, done.stderr
    findings, seen, alive, left = map(json.loads, done.stdout.splitlines())
    assert [what for what, stopped in findings if not stopped] == []
    assert len(findings) == 11
    assert seen.pop("user") in bubblewrap.UNUSED_UIDS
    assert seen.pop("processes") >= 2  # the container's first process and the grader
    assert seen.pop("left") == "None"
    assert set(seen.values()) == {"PermissionError"}, seen
    assert alive == []
    assert left == []


@needs_root
def test_the_doctor_is_red_where_everybody_may_read_the_answers(tree):
    tree.chmod(0o755)
    script = "from autograder.sandbox import doctor; print(dict(doctor.examine('user', hidden=('/autograder',))))"
    (tree / "source").chmod(0o755)
    done = in_a_container(tree, "sh", "-c", f'cd source; exec {shlex.quote(sys.executable)} -B -c "{script}"')
    assert "'reads files of the course, the project, the home directory or this machine': False" in done.stdout
    assert '"imports the project\'s packages": False' in done.stdout


@pytest.mark.parametrize(
    ("place", "name", "value", "words"),
    [
        (os, "geteuid", lambda: 1000, "only root"),
        (setuid.shutil, "which", lambda name: None, "setpriv is missing"),
        (seccomp, "program", lambda **of: b"", "no system call filter"),
        (bubblewrap, "unused_uid", lambda: bubblewrap.NOBODY, "no free user ID left"),
    ],
)
def test_where_it_cannot_be_had_it_is_refused_and_nothing_runs(monkeypatch, place, name, value, words):
    monkeypatch.setattr(setuid.os, "geteuid", lambda: 0)
    monkeypatch.setattr(place, name, value)
    with contextlib.ExitStack() as stack, pytest.raises(CourseError, match=words):
        setuid.prepare(stack, bubblewrap.ENVIRONMENT)
    with pytest.raises(CourseError, match=words):
        sandbox.run(Script((Cell("1"),), {}), isolation="user")


@needs_root
def test_a_python_that_only_root_can_reach_is_refused_in_a_sentence(tmp_path, monkeypatch):
    (tmp_path / "python").symlink_to(sys.executable)  # only their owner may enter pytest's folders
    tmp_path.chmod(0o700)
    monkeypatch.setattr(setuid.sys, "executable", str(tmp_path / "python"))
    with pytest.raises(
        CourseError, match=r"did not start: .*python cannot be started by another user: Permission denied"
    ):
        sandbox.run(Script((Cell("1"),), {}), isolation="user")


def test_what_cannot_be_filtered_does_not_begin(tmp_path):
    confine, touched = str(setuid.CONFINE), tmp_path / "touched"
    done = setuid.subprocess.run(
        [sys.executable, "-I", confine, "", "/usr/bin/touch", str(touched)], capture_output=True, text=True
    )
    assert done.returncode != 0
    assert "filter" in done.stderr
    assert not touched.exists()


def test_the_running_processes_of_a_user_exclude_zombies_and_other_users(tmp_path, monkeypatch):
    monkeypatch.setattr(setuid, "PROC", tmp_path)
    for process, uids, state in (
        (1, "0 0 0 0", "S (sleeping)"),
        (12, "0 500 0 0", "R (running)"),
        (13, "500", "Z"),
        (14, "50", "S"),
    ):
        (tmp_path / str(process)).mkdir()
        lines = ["Name:\tsh", f"State:\t{state}", f"Uid:\t{uids.replace(' ', chr(9))}"]
        (tmp_path / str(process) / "status").write_text("\n".join(lines) + "\n")
    (tmp_path / "15").mkdir()  # a process that has just ended
    assert list(setuid._running_processes(500)) == [12]
    assert sorted(setuid._running_processes(0)) == [1, 12]
