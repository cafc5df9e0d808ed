"""Grading can be killed at any moment: once restarted, it loses nothing, repeats nothing and leaves nothing behind."""

import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from nbgrader.api import Gradebook

from autograder import sandbox
from autograder.batch.context import GradingOptions
from autograder.batch.grade_class import grade_class
from autograder.batch.results import PROVISIONAL_NOTE
from autograder.courses.course import Course
from autograder.courses.submissions import list_submitters
from autograder.errors import CourseError
from autograder.grading import grade
from autograder.sandbox import Call, Cell, Limits, SandboxLost, Script, doctor, protocol, start
from autograder.sandbox.protocol import NoReply
from tests.autograder.essays import hand_in_as
from tests.autograder.samples import AUTOMATIC

pytestmark = pytest.mark.suite("sandbox")
QUIET = ("ada_loops", "bela_einsum", "emil_no_tanh", "gita_slips", "fay_transposed", "ines_half_finished")
COPIES, WORKERS = 3, 2
VICTIMS = ("child", "zygote", "bwrap")  # the grader survives the loss of these
RUNS = 3  # times that grading is killed
# Each copy waits, so that there is a child to kill even if this test is seldom given the processor.
WAITS = "import time; time.sleep(4)\\n"
PATIENCE = 1200  # tenths of a second, enough for a busy machine


def processes():
    """Return ``{number: (parent, command line)}`` of every process on this machine."""
    by_number = {}
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            parent = int(path.joinpath("stat").read_text().rpartition(")")[2].split()[1])
            by_number[int(path.name)] = parent, path.joinpath("cmdline").read_bytes().decode().split("\0")
    return by_number


def below(ancestor):
    """Return the descendants of the process ``ancestor`` with their command lines, nearest first."""
    seen, descendants, layer = processes(), {}, {ancestor}
    while layer:
        layer = {number for number, (parent, _) in seen.items() if parent in layer}
        descendants |= {number: seen[number][1] for number in layer}
    return descendants


def victim(grader, kind):
    """Return the ID of a process of ``kind`` below ``grader``, or None if no such process is running."""
    if kind == "grader":
        return grader
    started, parents = below(grader), {number: parent for number, (parent, _) in processes().items()}
    if kind == "bwrap":
        return next((n for n, command in started.items() if command[0] == "bwrap"), None)
    zygotes = [n for n, command in started.items() if "/worker/zygote.py" in command and command[0] != "bwrap"]
    children = [n for n in zygotes if parents.get(n) in zygotes]  # forked, so they have its command line
    return next((n for n in zygotes if n not in children), None) if kind == "zygote" else max(children, default=None)


def awaited(process, kind, verdicts_first, course):
    """Return a process of ``kind`` below the grader after some more verdicts, or None if the grader ends first."""
    wanted = len(verdicts(course)) + verdicts_first
    while process.poll() is None:
        if len(verdicts(course)) >= wanted and (target := victim(process.pid, kind)):
            return target
        time.sleep(0.03)
    return None


@pytest.fixture(scope="module")
def course(released, tmp_path_factory):
    root = tmp_path_factory.mktemp("killed") / "course"
    shutil.copytree(released.root, root)
    course = Course.at(root)
    hand_in_as(course, *QUIET)
    for name in QUIET:
        source = course.submission(name, "scoring").read_text(encoding="utf-8")
        for number in range(1, COPIES):  # a comment makes it another notebook, with its own verdict
            path = course.submission(f"{name}_{number}", "scoring")
            path.parent.mkdir(parents=True)
            path.write_text(
                source.replace('"import numpy as np', f'"# {number}\\n{WAITS}import numpy as np', 1).replace(
                    '"def ', f'"# copy {number}\\ndef ', 1
                ),
                encoding="utf-8",
            )
    return course


def grading(course):
    command = [
        sys.executable,
        "-m",
        "autograder",
        "grade",
        "scoring",
        "--course",
        course.root,
        "--workers",
        str(WORKERS),
    ]
    with (course.root / "log.txt").open("ab") as log:
        return subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)


def verdicts(course):
    return {path: path.stat().st_mtime_ns for path in (course.root / ".autograder" / "verdicts").rglob("*.json")}


def rows_in_gradebook(course):
    """Return all rows as ``[(student, exercise, points)]``."""
    with Gradebook(course.gradebook.url) as gradebook:
        submissions = gradebook.assignment_submissions("scoring")
        return sorted((s.student.id, g.name, g.auto_score) for s in submissions for n in s.notebooks for g in n.grades)


def killed_on_the_way(course, rng):
    """Start a grader, kill one process of each kind below it, then the grader; return what was killed and started."""
    process, killed, started = grading(course), [], {}
    for number, kind in enumerate((*rng.sample(VICTIMS, len(VICTIMS)), "grader")):
        # the first verdict shows that the canary is done; a grader that loses the canary would refuse to grade
        target = awaited(process, kind, rng.choice([0, 1]) if number else 1, course)
        while target:
            started |= below(process.pid)
            try:
                os.kill(target, signal.SIGKILL)
            except ProcessLookupError:  # the child had already ended
                target = awaited(process, kind, 0, course)
            else:
                killed.append(kind)
                break
    process.wait()
    return killed, started


def test_killed_at_many_moments_and_started_again_nothing_is_lost(course, tmp_path):
    clean = Course(tmp_path / "clean")
    shutil.copytree(course.root, clean.root)
    rng, students, killed_kinds = random.Random(4), len(list_submitters(course, "scoring")), set()
    for _ in range(RUNS):
        before = verdicts(course)
        killed, started = killed_on_the_way(course, rng)
        for _ in range(PATIENCE):
            still_running = set(started) & set(processes())
            if not still_running:
                break
            time.sleep(0.1)
        assert not still_running, [started[n] for n in still_running]
        after = verdicts(course)
        assert {path: after[path] for path in before} == before  # no stored verdict was computed again
        killed_kinds |= set(killed)
    assert killed_kinds == {*VICTIMS, "grader"}  # every kind was killed at least once

    assert grading(course).wait() == 0, (course.root / "log.txt").read_text()
    untouched = verdicts(course)
    with ThreadPoolExecutor(1) as executor:
        rows = grade_class(clean, "scoring", executor=executor)
    assert rows_in_gradebook(course) == rows_in_gradebook(clean)
    assert len({student for student, *_ in rows_in_gradebook(course)}) == len(rows) == students
    assert verdicts(course) == untouched
    for row in rows:
        assert course.autograded(row.student, "scoring").is_file()
        assert course.feedback(row.student, "scoring").is_file()
    assert not list(course.root.rglob("*.draft"))
    rows_again = grade_class(course, "scoring")  # the lock is free, and there is nothing left to do
    assert all(row.reused for row in rows_again)
    assert [row.points for row in rows_again] == [row.points for row in rows]


SLOW = "import time\nprint('begun')\ntime.sleep(4)\nx = 1"  # time enough to kill it, even on a busy machine
QUICK = Script((Cell("def answer(): return 1"), Cell("", "e", "answer")), {"e": (Call({}),)})
ONE = Script((Cell(SLOW), Cell("def answer(): return x"), Cell("", "e", "answer")), {"e": (Call({}),)})


def kill_soon(kind, times=1):
    """Kill a process of ``kind`` below this one, ``times`` times, whenever a submission is running."""
    import threading

    def kill():
        gone = set()
        for _ in range(times):
            for _ in range(2 * PATIENCE):
                time.sleep(0.05)
                if victim(os.getpid(), "child") and (target := victim(os.getpid(), kind)) and target not in gone:
                    time.sleep(0.4)
                    gone.add(target)
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(target, signal.SIGKILL)
                    break

    thread = threading.Thread(target=kill)
    thread.start()
    return thread


@pytest.mark.parametrize("kind", VICTIMS)
def test_a_run_that_loses_its_sandbox_is_run_again_and_nobody_notices(kind):
    sandbox.close()
    thread = kill_soon(kind)
    done = sandbox.run(ONE, Limits())
    thread.join()
    assert done.failure == ""
    assert done.replies["e", 0].value == 1


@pytest.mark.parametrize("who", ["child", "zygote", "a zygote that starts"])
def test_what_is_killed_before_it_has_said_a_word_is_run_again(who, monkeypatch):
    sandbox.close()
    hear, converse, killed = start.Zygote._receive_status, protocol.run_script, []

    def kill_at_first(number):
        if not killed:
            killed.append(number)
            os.kill(number, signal.SIGKILL)
            return True
        return False

    def heard(zygote, seconds):
        if who == "a zygote that starts":
            kill_at_first(zygote.process.pid)
        return hear(zygote, seconds)

    def held(*arguments):
        time.sleep(0.5)  # until the child has entered its namespaces
        if who != "a zygote that starts" and kill_at_first(victim(os.getpid(), who)):
            raise NoReply
        return converse(*arguments)

    monkeypatch.setattr(start.Zygote, "_receive_status", heard)
    monkeypatch.setattr(protocol, "run_script", held)
    assert sandbox.run(QUICK, Limits()).replies["e", 0].value == 1
    assert len(killed) == 1


def test_where_no_submission_runs_a_sandbox_that_is_lost_each_time_is_refused_in_words(monkeypatch):
    def lose(*settings):
        raise SandboxLost("the zygote is gone")

    monkeypatch.setattr(sandbox, "start_worker", lose)
    for ours in (lambda: sandbox.warm_up(Limits()), lambda: doctor.require("zygote")):
        with pytest.raises(CourseError, match="lost, more than once: the zygote is gone"):
            ours()
    with pytest.raises(SandboxLost):  # this ends only the one submission
        sandbox.run(QUICK, Limits())


def test_a_sandbox_that_is_lost_twice_is_the_machines_fault():
    sandbox.close()
    thread = kill_soon("zygote", times=2)
    with pytest.raises(SandboxLost):
        sandbox.run(ONE, Limits())
    thread.join()


def test_a_submission_that_was_killed_is_tried_once_more_alone_before_it_counts(course, tmp_path, monkeypatch):
    """Every first run is killed, as if its neighbours had used up the memory; the second is not."""
    copy = Course(tmp_path / "course")
    shutil.copytree(course.root, copy.root)
    shutil.rmtree(copy.root / ".autograder" / "verdicts", ignore_errors=True)
    runs, honest = [], grade.grade

    def killed_at_first(notebook, *rest):
        runs.append(notebook.cells[0].source)
        return replace(honest(notebook, *rest), killed=len(runs) <= 2)

    monkeypatch.setattr(grade, "grade", killed_at_first)
    with ThreadPoolExecutor(1) as executor:
        names = ["ada_loops", "emil_no_tanh"]
        rows = grade_class(copy, "scoring", students=names, executor=executor)
    assert len(runs) == 4
    assert [row.total for row in rows] == [AUTOMATIC, AUTOMATIC - 8.5]


def test_what_reached_a_limit_is_run_again_by_the_next_grade_at_most_twice_and_by_no_watch(
    course, tmp_path, monkeypatch
):
    copy = Course(tmp_path / "course")
    shutil.copytree(course.root, copy.root)
    shutil.rmtree(copy.root / ".autograder" / "verdicts", ignore_errors=True)
    runs, honest = [], grade.grade
    reached = {"call_seconds": 5.0}

    def stopped(notebook, *rest):
        runs.append(notebook.cells[0].source)
        return replace(honest(notebook, *rest), reached=reached)

    def grade_ada(**options):
        with ThreadPoolExecutor(1) as executor:
            (row,) = grade_class(copy, "scoring", GradingOptions(**options), ["ada_loops"], executor=executor)
        return row, len(runs)

    monkeypatch.setattr(grade, "grade", stopped)
    row, count = grade_ada()
    assert count == 1  # not repeated by the same `grade`: CPU time does not depend on the machine's load
    assert PROVISIONAL_NOTE in row.notes
    row, count = grade_ada(accepts_provisional=True)  # as `watch` does
    assert (row.reused, count) == (True, 1)
    rows, counts = zip(*(grade_ada() for _ in range(4)), strict=True)
    assert counts == (2, 3, 3, 3)
    assert [PROVISIONAL_NOTE in row.notes for row in rows] == [True, False, False, False]
    assert [row.reused for row in rows] == [False, False, True, True]
    assert grade_ada(limits=Limits(call_seconds=4))[1] == 3  # tighter limits give nobody more
    assert grade_ada(limits=Limits(cell_seconds=90))[1] == 3  # the limit that it reached is the same
    reached["call_seconds"] = 6.0
    row, count = grade_ada(limits=Limits(call_seconds=6))
    assert (count, PROVISIONAL_NOTE in row.notes) == (4, True)
    reached.clear()
    assert grade_ada(limits=Limits(call_seconds=6))[1] == 5
    for limits in (Limits(), Limits(call_seconds=1, submission_idle_seconds=1)):  # now it stands, whatever the limits
        row, count = grade_ada(limits=limits)
        assert (row.reused, count) == (True, 5)
