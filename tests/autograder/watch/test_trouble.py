"""A full disk, a locked gradebook or a locked course makes `watch` say so and wait, and loses no hand-in."""

import errno
import json
import sqlite3
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import pytest

from autograder.courses.locking import exclusive_lock
from autograder.errors import CourseError
from autograder.paths import ROOT
from autograder.sandbox import bubblewrap
from autograder.watch import run as running
from autograder.watch.arrivals import Arrivals
from autograder.watch.polling import Inbox
from autograder.watch.settings import is_machine_failure
from tests.autograder.watch.hub import Mended, UntilIdle

pytestmark = pytest.mark.suite("assignments")
SIZE = 30_000_000  # bytes of the disk, which is then filled up

COMMANDS = """
import json, os, shutil, sys
from pathlib import Path
import pytest
from autograder.courses.course import Course
from tests.autograder.watch.hub import Hub, Mended

source, disk = map(Path, sys.argv[1:])
shutil.copytree(source, disk / "course")
with pytest.MonkeyPatch.context() as patched:
    hub, filler, told = Hub(Course.at(disk / "course"), disk, patched), disk / "filler", []
    hub.watch(any_owner=True)
    for room in (0, 20_000, 60_000, 150_000, 300_000):
        names = [hub.submit(student, f"{student} {room}") for student in ("ada", "ben", "cem")]
        have = os.statvfs(disk)
        filler.write_bytes(bytes(max(have.f_bavail * have.f_frsize - room, 0)))
        lines = hub.watch(stop=Mended(filler.unlink), any_owner=True)
        told.append([lines, ["Exercise by exercise" in hub.page(name) for name in names]])
    print(json.dumps([told, hub.graded, hub.outcomes(), [path.name for path in disk.rglob("*.draft")]]))
"""


@pytest.mark.skipif(not bubblewrap.is_installed(), reason="a disk of one's own needs bubblewrap")
def test_a_full_disk_is_said_and_waited_for_and_then_all_is_served(released, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    command = ["bwrap", "--die-with-parent", "--dev-bind", "/", "/", "--chdir", ROOT]
    command += ["--size", str(SIZE), "--tmpfs", disk, sys.executable, "-c", COMMANDS, released.root, disk]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    rounds, graded, outcomes, drafts = json.loads(done.stdout.splitlines()[-1])
    for lines, fetched in rounds:
        assert fetched == [True] * 3, lines
    full = [lines for lines, _ in rounds if any("It will be tried again." in line for line in lines)]
    assert full
    assert all(any("full" in line or "No space left" in line for line in lines) for lines in full)
    assert all(any("It works again." in line for line in lines) for lines in full)
    assert outcomes == [[student, "graded"] for _ in rounds for student in ("ada", "ben", "cem")]
    assert len(set(graded)) == 3 * len(rounds)
    assert drafts == []


def with_first_poll(hub, spoil, stop):
    """Run `watch` until ``stop``, calling ``spoil`` before its first poll, and return what it prints."""
    look, pending = Inbox.poll, [spoil]

    def spoilt(inbox):
        if pending:
            pending.pop()()
        return look(inbox)

    with hub.monkeypatch.context() as patched:
        patched.setattr(Inbox, "poll", spoilt)
        return hub.watch(stop=stop)


def test_tries_come_ever_later_up_to_half_a_minute_and_soon_after_one_that_works(hub):
    waits, works = [], iter([False] * 7 + [True] + [False] * 2)

    def run_round(loop):
        if not next(works):
            raise OSError("of the machine")
        return 1

    class Waits(UntilIdle):
        def wait(self, seconds):
            super().wait(seconds)
            waits.append(seconds)

    hub.monkeypatch.setattr(running._Loop, "_run_round", run_round)
    hub.watch(stop=Waits(9))
    assert waits == [1, 2, 4, 8, 16, 30, 30, 1, 2]


def test_the_gradebook_is_backed_up_at_once_and_then_every_day(hub):
    class Hours(UntilIdle):
        def wait(self, seconds):
            super().wait(seconds)
            now[0] += 5 * 60 * 60

    now, made = [0], []
    hub.monkeypatch.setattr(running, "time", SimpleNamespace(monotonic=lambda: now[0], time=time.time))
    hub.monkeypatch.setattr(running, "back_up", lambda course, occasion: made.append(now[0] // 3600))
    hub.watch(stop=Hours(12))
    assert made == [0, 25, 50]


@pytest.mark.parametrize("cause", [OSError(errno.ENOSPC, "full"), sqlite3.OperationalError("locked")])
def test_an_error_of_the_machine_is_one_in_the_words_of_the_course_too(cause):
    def fail():
        try:
            raise cause
        except (OSError, sqlite3.Error):
            raise told from None

    told = CourseError("the gradebook cannot be used", "gradebook.db", "free some disk space.")
    assert not is_machine_failure(told)
    with pytest.raises(CourseError):
        fail()
    assert is_machine_failure(told)


def test_a_locked_gradebook_is_said_and_waited_for(hub):
    hub.submit("ada", "one")
    hub.watch()
    secret = hub.submit("ada", "two")
    other = sqlite3.connect(hub.course.gradebook.file, isolation_level=None, check_same_thread=False)
    lines = with_first_poll(hub, lambda: other.execute("BEGIN EXCLUSIVE"), Mended(other.close, patience=1))
    assert any("database is locked" in line and "It will be tried again." in line for line in lines)
    assert "two" in hub.page(secret)
    assert hub.outcomes() == [("ada", "graded"), ("ada", "graded")]


def test_what_arrives_while_the_record_cannot_be_written_is_taken_once_it_can(hub):
    secret, add, errors = hub.submit("ada"), Arrivals.add, [CourseError("the disk is full", "here", "free some space.")]

    def fails_at_first(*arguments):
        if errors:
            raise errors.pop()
        return add(*arguments)

    hub.monkeypatch.setattr(Arrivals, "add", fails_at_first)
    assert any("the disk is full" in line for line in hub.watch(patience=2))
    assert "ada" in hub.page(secret)


def test_a_course_that_another_command_has_locked_is_waited_for(hub):
    secret, is_locked, end = hub.submit("ada"), threading.Event(), threading.Event()

    def grade_by_hand():
        with exclusive_lock(hub.course):
            is_locked.set()
            end.wait(3)

    thread = threading.Thread(target=grade_by_hand)
    thread.start()
    is_locked.wait()
    lines = hub.watch()
    thread.join()
    assert any("waiting: another command has locked the course" in line for line in lines)
    assert "ada" in hub.page(secret)


def test_a_mistake_in_course_toml_is_said_and_waited_for(hub):
    secret = hub.submit("ada")
    hub.plan(attempts=2)
    lines = with_first_poll(hub, lambda: hub.plan(attempts='"two"'), Mended(lambda: hub.plan(attempts=2)))
    assert any("course.toml, line 2" in line and "attempts is 'two'" in line for line in lines)
    assert "ada" in hub.page(secret)
