"""Nothing that a submission writes survives it, whether the sandbox runs as root or as an ordinary user."""

import itertools
import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from autograder import sandbox
from autograder.sandbox import Cell, Limits, Script, bubblewrap, doctor, start

pytestmark = pytest.mark.suite("sandbox")
ROOT = Path(__file__).parents[3]
SOMEBODY = "12345"  # this user need not exist
WRITE = """
written = []
for folder in ("/dev", "/dev/pts", "/var/tmp", "/worker", "/usr", "/etc", "/run", "/"):
    try:
        open(folder + "/answers", "w").write("answers")
        written.append(folder)
    except OSError:
        pass
print(written)
"""
READ = """
import os
folders = ("/scratch", "/scratch/tmp", "/dev/shm", "/dev", "/var/tmp")
print([folder for folder in folders if os.path.exists(folder + "/answers")])
"""


def printed(source, hidden=()):
    done = sandbox.run(Script((Cell(source),), {}), Limits(), "zygote", hidden)
    assert done.failure == ""
    return done.outputs[0][1][0]["text"].strip()


def as_ordinary_user(program, folder):
    """Run ``program`` with this Python as an ordinary user, and return the JSON that it prints.

    If other users may not enter a folder on the path to Python or the project, this process sees an accessible copy
    in its place.
    """
    (folder / "home").mkdir()
    os.chown(folder / "home", int(SOMEBODY), int(SOMEBODY))
    needed = list(dict.fromkeys([ROOT, Path(sys.prefix).resolve(), Path(sys.base_prefix).resolve(), folder / "home"]))
    closed = {parent for path in needed for parent in path.parents if not parent.stat().st_mode & 1}
    closed = [path for path in closed if not closed & set(path.parents)]
    lines = ["set -e", "mount -t tmpfs -o mode=755 none /mnt"]
    for number, path in enumerate(needed):
        lines += [f"mkdir /mnt/{number}", f"mount --bind {shlex.quote(str(path))} /mnt/{number}"]
    lines += [f"mount -t tmpfs -o mode=755 none {shlex.quote(str(path))}" for path in closed]
    for number, path in enumerate(needed):
        if any(path.is_relative_to(closed_folder) for closed_folder in closed):
            lines += [f"mkdir -p {shlex.quote(str(path))}", f"mount --bind /mnt/{number} {shlex.quote(str(path))}"]
    user = ["setpriv", "--reuid", SOMEBODY, "--regid", SOMEBODY, "--clear-groups", "--bounding-set", "-all"]
    start = [*user, sys.executable, "-B", "-c", program]
    lines += [f"cd {shlex.quote(str(ROOT))}", f"exec {shlex.join(start)}"]
    env = {**os.environ, "HOME": str(folder / "home"), "PYTHONPATH": str(ROOT)}
    command = ["unshare", "--mount", "sh", "-c", "\n".join(lines)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


AS_SOMEBODY = """
import json, os, sys
from autograder import sandbox
from autograder.sandbox import bubblewrap, doctor
from tests.autograder.sandbox.test_left_behind import READ, WRITE, findings, printed, with_writable_dev
result = {"user": os.geteuid(), "zygote": [findings(), printed(WRITE), printed(READ)]}
sandbox.close()
share = sys.prefix + "/share"
look = f"import os; print(os.listdir({share!r}))"
result["zygote"].append([printed(look) == "[]", printed(look, (share,))])
bubblewrap.command = with_writable_dev
result["writable"] = [findings(), printed(WRITE), printed(READ)]
sandbox.close()
print(json.dumps(result))
"""


def findings():
    return [what for what, stopped in doctor.examine("zygote") if not stopped]


def with_writable_dev(*args, command=bubblewrap.command):
    """Return the command line without the option that makes /dev read-only."""
    arguments, start = command(*args)
    place = list(itertools.pairwise(arguments)).index(("--remount-ro", "/dev"))
    return arguments[:place] + arguments[place + 2 :], start


@pytest.mark.skipif(os.geteuid() != 0, reason="all other tests run as an ordinary user already")
def test_an_ordinary_users_sandbox_has_no_place_that_the_next_student_can_read(tmp_path_factory):
    seen = as_ordinary_user(AS_SOMEBODY, tmp_path_factory.mktemp("somebody"))
    assert seen["user"] == int(SOMEBODY)
    assert seen["zygote"] == [[], "[]", "[]", [False, "[]"]]
    assert seen["writable"] == [["writes outside its scratch directory"], "['/dev']", "[]"]


def test_no_folder_but_the_private_ones_can_be_written():
    assert printed(WRITE) == "[]"


def test_a_sandbox_in_which_something_was_left_is_ended_before_the_next_student(monkeypatch):
    """If a file is left in a world-writable folder, the zygote notices and is not used again."""
    honest = bubblewrap.command

    def with_a_hole(*args):
        arguments, start = honest(*args)
        place = arguments.index("--proc")
        return [*arguments[:place], "--perms", "1777", "--tmpfs", "/var/tmp", *arguments[place:]], start

    monkeypatch.setattr(bubblewrap, "command", with_a_hole)
    sandbox.close()
    try:
        printed("print(1)")
        first = start._thread_state.zygote[1]
        assert printed(READ) == "[]"
        assert start._thread_state.zygote[1] is first
        assert printed(WRITE) == "['/var/tmp']"
        assert start._thread_state.zygote is None
        assert first.process.poll() is not None
        assert printed(READ) == "[]"
    finally:
        sandbox.close()


def test_flags_of_a_file_that_everybody_has_open_are_not_passed_on():
    change = "import fcntl\nfor n in range(3): fcntl.fcntl(n, fcntl.F_SETFL, 0o2000)\n"
    look = "import fcntl\nprint([fcntl.fcntl(n, fcntl.F_GETFL) & 0o2000 for n in range(3)])"
    assert printed(change + look) == "[1024, 1024, 1024]"
    assert printed(look) == "[0, 0, 0]"


SHARED = """
import mmap, os, sys
import zygote
kept = mmap.mmap(-1, 8192)
kept[:3] = b"old"
for own in (False, True):
    child = os.fork()
    if child == 0:
        if own: zygote._privatise_shared_memory(zygote._find_shared_memory())
        assert kept[:3] == (b"new" if own else b"old")
        kept[:3] = b"own" if own else b"new"
        assert kept[:3] == (b"own" if own else b"new")
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    print(kept[:3].decode())
"""


def test_memory_that_the_zygote_shares_becomes_each_childs_own(worker_folder):
    command = [sys.executable, "-c", SHARED]
    done = subprocess.run(command, cwd=worker_folder, capture_output=True, text=True, check=True)
    assert done.stdout == "new\nnew\n"  # the second child's write stayed private


BUSY = """
import os, threading, time
threads = [threading.Thread(target=time.sleep, args=(0.2,)) for _ in range(12)]
for thread in threads: thread.start()
for thread in threads: thread.join()
children = []
for _ in range(12):
    child = os.fork()
    if child == 0:
        time.sleep(0.2)
        os._exit(0)
    children.append(child)
print(sum(os.waitpid(child, 0)[1] == 0 for child in children))
"""


@pytest.fixture
def a_hundred_processes():
    """Run a hundred processes as nobody, or as the current user if that is not root."""
    nobody = ["setpriv", "--reuid", bubblewrap.NOBODY, "--regid", bubblewrap.NOBODY, "--clear-groups"]
    sleep = ["sh", "-c", "for n in $(seq 100); do sleep 600 & done; echo begun; wait"]
    storm = subprocess.Popen([*(nobody if os.geteuid() == 0 else []), *sleep], stdout=subprocess.PIPE, process_group=0)
    assert storm.stdout.readline() == b"begun\n"
    yield
    os.killpg(storm.pid, signal.SIGKILL)
    storm.communicate()


def test_processes_of_others_do_not_count_as_those_of_a_submission(a_hundred_processes):
    sandbox.close()
    assert printed(BUSY) == "12"
    assert findings() == []
