"""Preparing a sandbox in advance saves time and changes nothing else, and its failures are reported."""

import ctypes
import mmap
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from autograder import exercises, sandbox
from autograder.errors import CourseError
from autograder.notebooks.cells import compare_cell
from autograder.sandbox import Cell, Limits, Prepared, Script, bubblewrap, start
from autograder.sandbox.protocol import NoReply, run_script

pytestmark = pytest.mark.suite("sandbox")
LIMITS = Limits(memory_mb=2048)
HANDED_OUT = "import math\n\nprint(math.tau > 6)\n!echo through a shell\nmath.floor(math.e)"
CHANGE = """
def change(lines):
    return [line.replace("True", "False").replace("math.tau > 6", "'changed'") for line in lines]
get_ipython().{steps}.append(change)
"""


@pytest.fixture
def new_zygotes():
    sandbox.close()
    yield
    sandbox.close()


def outputs(prepared, *sources):
    cells = tuple(map(Cell, sources))
    return sandbox.run(Script(cells, {}, prepared=prepared), LIMITS, "zygote").outputs


CHECKS_CELL = """import math

def make_checks():
    pass

{}
"""
CHECKS = {  # a text in that cell -> what its notebook then prints or raises first
    "def answer(): return 42": "42\n",
    "1 / 0": "ZeroDivisionError",
    "def answer(: return 42": "SyntaxError",
}


@pytest.fixture(scope="module")
def prepared():
    """Everything that the tests from here to that of the large pages have prepared, so that one zygote serves them."""
    cells = map(CHECKS_CELL.format, CHECKS)
    return Prepared((HANDED_OUT, compare_cell(exercises.load("scoring", 0)).source, *cells, "6 * 7"))


@pytest.mark.parametrize("steps", ["input_transformers_post", "input_transformers_cleanup"])
def test_whoever_changes_how_cells_are_read_changes_it_for_cells_that_were_read_before_too(steps, prepared):
    done = outputs(prepared, CHANGE.format(steps=steps), HANDED_OUT)
    assert "changed" in done[1][1][0]["text"]


def test_what_the_checks_use_was_compiled_before_a_notebook_begins(prepared):
    source = prepared.sources[1]
    done = outputs(prepared, "print(len(get_ipython().compiled))", source, "print(check.__name__)")
    compiled = f"{len(CHECKS)}\n"  # this one and those of CHECKS, but for the last, which cannot be compiled
    assert [items[0]["text"] for _, items in done.values() if items] == [compiled, "check\n"]


def test_a_prepared_cell_of_one_line_runs_as_it_is(prepared):
    assert outputs(prepared, "6 * 7")[0][1][0]["data"]["text/plain"] == "42"


@pytest.fixture(scope="module")
def both_ways(prepared):
    """The outputs of some notebooks whose first cell was prepared, and of the same where nothing was."""
    notebooks = {HANDED_OUT: (HANDED_OUT, "x = 1", HANDED_OUT)}
    notebooks |= {text: (CHECKS_CELL.format(text), "print(answer())") for text in CHECKS}
    before = [outputs(prepared, *sources) for sources in notebooks.values()]
    sandbox.close()
    anew = [outputs(Prepared(), *sources) for sources in notebooks.values()]
    return dict(zip(notebooks, zip(before, anew, strict=True), strict=True))


def test_a_cell_that_was_read_before_puts_out_the_same(both_ways):
    once, anew = both_ways[HANDED_OUT]
    assert once == anew
    assert [count for count, _ in once.values()] == [1, 2, 3]
    assert once[0][1][-1]["data"]["text/plain"] == "2"


@pytest.mark.parametrize(("text", "expected"), CHECKS.items(), ids=["right", "raises", "broken"])
def test_a_cell_of_checks_that_was_compiled_before_does_the_same(text, expected, both_ways):
    before, anew = both_ways[text]
    for number, (count, items) in before.items():  # except for tracebacks, which quote the current cell
        assert [{**item, "traceback": []} for item in items] == [{**item, "traceback": []} for item in anew[number][1]]
        assert count == anew[number][0]
    first = next(item for _, items in before.values() for item in items)
    assert expected in (first.get("ename"), first.get("text"))


def gives_large_pages():
    """Return whether the kernel can collapse memory into large pages on request (Linux 6.1, if so configured)."""
    libc, size = ctypes.CDLL(None), 2**21
    with mmap.mmap(-1, 2 * size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        memory.write(b"x" * len(memory))
        begin = ctypes.addressof(first := ctypes.c_char.from_buffer(memory))
        refused = libc.madvise(ctypes.c_void_p(-(-begin // size) * size), ctypes.c_size_t(size), 25)
        del first
    return not refused


def in_large_pages(pid):
    """Return how many kB of a process and its descendants are in large pages."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return int(re.search(r"AnonHugePages: *(\d+)", rollup)[1]) + sum(map(in_large_pages, children))


def test_what_a_zygote_has_made_lies_in_large_pages_once_it_has_served_a_few(new_zygotes):
    """If the kernel refuses, nothing else changes. Only root can inspect a process that cannot be traced.

    The number of large pages depends on how much contiguous memory is free.
    """
    sizes = []
    for number in range(6):
        assert outputs(Prepared(), f"{number} + 1")[0][1][0]["data"]["text/plain"] == str(number + 1)
        if os.geteuid() == 0:
            sizes.append(in_large_pages(start._thread_state.zygote[1].process.pid))
    assert not sizes or sizes[-1] > sizes[0] or not gives_large_pages()


def test_assignments_that_take_turns_share_one_zygote_that_is_ready_for_all(new_zygotes, monkeypatch):
    started, begin = [], start.Zygote

    def count(limits, hidden, prepared):
        started.append(prepared)
        return begin(limits, hidden, prepared)

    monkeypatch.setattr(start, "Zygote", count)
    first, second = Prepared((HANDED_OUT,)), Prepared(("1 + 1",), optimiser=True)
    for prepared in (first, second, first, second, Prepared()):
        assert outputs(prepared, "1 + 1")[0][1][0]["data"]["text/plain"] == "2"
    assert started == [first, Prepared(("1 + 1", HANDED_OUT), optimiser=True)]


def test_a_zygote_is_started_again_for_other_limits_and_then_prepared_for_no_more_than_is_asked(new_zygotes):
    outputs(Prepared((HANDED_OUT,)), "1")
    sandbox.run(Script((Cell("1"),), {}), Limits(memory_mb=1900), "zygote")
    assert start._thread_state.zygote[1].prepared == Prepared()


def test_what_is_too_long_to_be_sent_first_is_only_not_prepared():
    long = f"text = {'x' * start.MAX_PREPARED_BYTES!r}\nlen(text)"
    done = outputs(Prepared((long, HANDED_OUT)), long)
    assert done[0][1][0]["data"]["text/plain"] == str(start.MAX_PREPARED_BYTES)


def test_what_goes_wrong_while_a_child_gives_up_its_rights_is_said(new_zygotes, monkeypatch):
    monkeypatch.setattr("autograder.sandbox.seccomp.program", lambda: b"no programme, as long as it is")
    with pytest.raises(CourseError, match=r"the sandbox did not start: OSError: .*seccomp: Invalid argument"):
        outputs(Prepared(), "1")


def test_what_goes_wrong_while_a_child_enters_its_folders_is_said(new_zygotes):
    outputs(Prepared(), "1")
    zygote, wrong = start._thread_state.zygote[1], Limits(disk_mb=-1)
    with zygote.child(wrong) as worker:
        with pytest.raises(NoReply):
            run_script(worker, Script((Cell("1"),), {}), wrong)
        assert "mount /scratch" in worker.last_words()


TRIES = """
import os
found = []
for number in range(5, 64):
    try:
        os.write(number, b"!it was the sandbox")
        found.append(number)
    except OSError:
        pass
print(found)
"""


def test_student_code_has_no_pipe_but_those_to_the_host():
    assert outputs(Prepared(), TRIES)[0][1][0]["text"] == "[]\n"


RIGHTS = """
import ctypes
libc = ctypes.CDLL(None)
header, held = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
assert libc.capget(header, held) == 0
bounds = [number for number in range(64) if libc.prctl(23, number, 0, 0, 0) == 1]
print(list(held), bounds, libc.prctl(39, 0, 0, 0, 0), libc.prctl(21, 0, 0, 0, 0))
"""


def test_student_code_has_no_capability_and_can_get_none():
    assert outputs(Prepared(), RIGHTS)[0][1][0]["text"] == "[0, 0, 0, 0, 0, 0] [] 1 2\n"


def test_student_code_runs_under_the_configured_resource_limits():
    limits = Limits(memory_mb=2000, disk_mb=7)
    source = (
        "from resource import *\n[getrlimit(kind)[0] for kind in (RLIMIT_AS, RLIMIT_FSIZE, RLIMIT_NOFILE, RLIMIT_CORE)]"
    )
    done = sandbox.run(Script((Cell(source),), {}), limits, "zygote")
    assert done.outputs[0][1][0]["data"]["text/plain"] == str([2000 * 2**20, 7 * 2**20, 256, 0])


SHARES = """
import ctypes, mmap, os
import zygote

memory = mmap.mmap(-1, mmap.PAGESIZE)
memory[:5] = b"clean"
first = ctypes.addressof(ctypes.c_char.from_buffer(memory))
shared = [(first, first + mmap.PAGESIZE)]
assert shared[0] in zygote._find_shared_memory()
child = os.fork()
if not child:
    zygote._privatise_shared_memory(shared)
    assert memory[:5] == b"clean"
    memory[:5] = b"dirty"
    assert memory[:5] == b"dirty" and shared[0] not in zygote._find_shared_memory()
    try:
        zygote._privatise_shared_memory([(first + 1, first + 2)])  # not on a page boundary
    except OSError as error:
        os._exit(0 if "mmap: Invalid argument" in str(error) else 1)
    os._exit(1)
assert os.waitpid(child, 0)[1] == 0
assert memory[:5] == b"clean"
"""


def test_what_a_child_writes_into_memory_that_was_shared_stays_its_own(worker_folder):
    subprocess.run([sys.executable, "-c", SHARES], cwd=worker_folder, check=True)


THREADS = """
import zygote

zygote._warm_up = lambda prepared: None
zygote.os.listdir = lambda path: ["7", "8"]
zygote.main()
"""


def test_a_zygote_with_threads_refuses_to_start(worker_folder):
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.send(b"{}")
        command = [sys.executable, "-c", THREADS]
        done = subprocess.run(command, cwd=worker_folder, stdin=theirs, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert done.stderr == "the zygote has 2 threads, and a fork would copy only one of them\n"


SERVES = """
import sys
import zygote

served, log = [], open(sys.argv[1], "w", buffering=1)
zygote._warm_up = lambda prepared: None
zygote._serve = lambda control, order, pipes, shell: served.append(order) or {"ended": True}
zygote.writable_folders = list
zygote._collapse_huge_pages = lambda: print(len(served), file=log)
zygote.main()
"""


def test_a_zygote_asks_for_large_pages_once_when_it_has_served_three_submissions(worker_folder, tmp_path):
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        command = [sys.executable, "-c", SERVES, tmp_path / "log"]
        process = subprocess.Popen(command, cwd=worker_folder, stdin=theirs)
    with ours, process:
        ours.settimeout(60)
        ours.send(b"{}")
        assert ours.recv(100) == b'{"ready": true}'
        for _ in range(5):
            socket.send_fds(ours, [b"{}"], [ours.fileno(), ours.fileno()])
            assert b'"ended": true' in ours.recv(100)
        ours.send(b"")
    assert (process.returncode, (tmp_path / "log").read_text()) == (0, "3\n")


COLLAPSES = """
from types import SimpleNamespace
import zygote

pages, size = [], zygote.HUGE_PAGE_BYTES
zygote.libc = SimpleNamespace(madvise=lambda page, *rest: pages.append((page // size, *rest)))
zygote._mappings = lambda: [
    (size, 3 * size, "rw-p", []),  # two large pages
    (4 * size + 1, 6 * size, "rw-p", ["[heap]"]),  # one
    (7 * size + 1, 9 * size - 1, "rw-p", []),  # none is whole
    (10 * size, 11 * size, "r--p", []),
    (12 * size, 13 * size, "rw-p", ["/usr/lib/libc.so"]),
]
zygote._collapse_huge_pages()
assert pages == [(number, size, zygote.MADV_COLLAPSE) for number in (1, 2, 5)], pages
pages.clear()
zygote._collapse_huge_pages(seconds=-1)
assert pages == []
"""


def test_a_zygote_collapses_every_whole_large_page_of_its_private_memory_in_the_time_it_has(worker_folder):
    subprocess.run([sys.executable, "-c", COLLAPSES], cwd=worker_folder, check=True)


@pytest.mark.parametrize(("script", "error"), [("kill -9 $$", start.SandboxLost), ("exit 3", CourseError)])
def test_a_zygote_killed_during_start_up_differs_from_one_that_cannot_start(script, error, monkeypatch):
    command = bubblewrap.command
    monkeypatch.setattr(bubblewrap, "command", lambda *args: (command(*args)[0], ["sh", "-c", script]))
    with pytest.raises(error) as raised:
        start.Zygote(LIMITS)
    assert type(raised.value) is error


def test_a_pipe_counts_as_closed_once_it_is_empty_and_has_no_writer():
    replies, ours = os.pipe()
    os.write(ours, b"x" * 10_000)
    assert not start._is_closed(replies)
    os.write(ours, b"x" * 10_000)
    os.close(ours)
    assert start._is_closed(replies)
    os.close(replies)


def test_preparations_cover_those_that_need_no_more():
    plain, optimiser, pictures = Prepared(("a",)), Prepared(("a",), optimiser=True), Prepared(("a", "b"), pictures=True)
    covered = [(one.covers(plain), one.covers(optimiser), one.covers(pictures)) for one in (plain, optimiser, pictures)]
    assert covered == [(True, False, False), (True, True, False), (True, False, True)]


def test_only_the_zygote_is_warmed_up(monkeypatch):
    warmed = []
    monkeypatch.setattr(sandbox, "run_trusted", lambda script, *rest: warmed.append((script, rest)))
    for isolation in ("user", "none", "".join(["zyg", "ote"])):
        sandbox.warm_up(LIMITS, isolation, ("/hidden",), Prepared(("a",)))
    assert warmed == [(Script((), {}, prepared=Prepared(("a",))), (LIMITS, "zygote", ("/hidden",)))]


def test_losing_the_sandbox_on_every_attempt_raises(monkeypatch):
    lost = []

    def lose(*args):
        lost.append(args)
        raise start.SandboxLost("it is gone")

    monkeypatch.setattr(sandbox, "start_worker", lose)
    with pytest.raises(start.SandboxLost, match="it is gone"):
        sandbox.run(Script((Cell("1"),), {}), LIMITS)
    assert len(lost) == sandbox.ATTEMPTS


def test_the_time_that_a_submission_took_of_a_processor_is_told():
    assert sandbox.run(Script((Cell("sum(range(10**6))"),), {}), LIMITS, "zygote").used["sandbox"] > 0
