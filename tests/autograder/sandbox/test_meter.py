"""What a submission uses is measured in CPU time and idle time, which the other load of the machine does not change."""

import os
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

from autograder.sandbox import meter
from autograder.sandbox.meter import Meter, Usage, process_tree

pytestmark = pytest.mark.suite("sandbox")
TICK = 1 / meter.TICKS_PER_SECOND


class FakeProcesses:
    """A folder like /proc, and a clock; a test sets what they show."""

    def __init__(self, folder):
        self.folder, self.now = folder, 100.0

    def put(self, process, *times, threads=(("S", 0.0),), children=(), name="python"):
        """``times``: user, system, and both of the children waited for; ``threads``: (state, seconds in the queue)."""
        ticks = " ".join(str(round(seconds / TICK)) for seconds in (*times, 0, 0, 0, 0)[:4])
        for number, (state, waited) in enumerate(threads, process):
            thread = self.folder / str(process) / "task" / str(number)
            thread.mkdir(parents=True, exist_ok=True)
            (thread / "stat").write_text(f"{number} ({name}) {state} 1 " + "0 " * 30)
            (thread / "schedstat").write_text(f"5 {round(waited * 1e9)} 7\n")
            (thread / "children").write_text(" ".join(map(str, children)))
        (self.folder / str(process) / "stat").write_text(f"{process} ({name}) S 1 2 3 4 5 6 7 8 9 10 {ticks} 20 0")


@pytest.fixture
def processes(tmp_path, monkeypatch):
    fake = FakeProcesses(tmp_path)
    monkeypatch.setattr(meter, "PROC", tmp_path)
    monkeypatch.setattr(meter, "time", SimpleNamespace(monotonic=lambda: fake.now))
    return fake


def near(cpu, idle):
    return Usage(pytest.approx(cpu, abs=1e-6), pytest.approx(idle, abs=1e-6))


def test_cpu_time_is_that_of_all_processes_and_of_those_that_they_waited_for(processes):
    processes.put(7, 1.0, 2.0)
    processes.put(8, 0.5)
    measured = Meter(lambda: (7, 8, 999))  # the last one has ended
    processes.put(7, 1.1, 2.2, 0.3, 0.4)
    processes.put(8, 1.5)
    processes.now += 10
    assert measured.read() == near(0.1 + 0.2 + 0.3 + 0.4 + 1.0, 0)


def test_time_is_idle_if_nothing_ran_or_waited_for_a_processor(processes):
    processes.put(7, threads=(("S", 1.0), ("S", 1.0)))
    measured = Meter(lambda: (7,))
    processes.now += 0.4
    assert measured.read() == near(0, 0.4)
    processes.put(7, 0.1, threads=(("S", 1.05), ("S", 1.15)))
    processes.now += 0.4
    assert measured.read() == near(0.1, 0.4 + 0.4 - 0.1 - 0.05 - 0.15)
    processes.put(7, 0.1, threads=(("S", 1.05), ("R", 1.15)))  # it runs, or waits for a processor, now
    processes.now += 0.4
    assert measured.read() == near(0.1, 0.5)
    processes.put(7, 9.1, threads=(("S", 5.0),))  # more than the clock: several at once
    processes.now += 0.4
    assert measured.read() == near(9.1, 0.5)


def test_a_machine_that_stops_the_grader_makes_nobody_idle(processes):
    processes.put(7)
    measured = Meter(lambda: (7,))
    processes.now += 3600
    assert measured.read() == near(0, 2 * meter.SAMPLE_SECONDS)


def test_samples_are_not_taken_more_often_than_needed_unless_one_is_asked_for(processes):
    processes.put(7)
    measured = Meter(lambda: (7,))
    processes.now += 0.9 * meter.SAMPLE_SECONDS
    processes.put(7, 0.1)
    assert measured.read() == Usage()
    assert measured.read(now=True) == near(0.1, 0.9 * meter.SAMPLE_SECONDS - 0.1)
    processes.now += meter.SAMPLE_SECONDS
    assert measured.read() == near(0.1, 1.9 * meter.SAMPLE_SECONDS - 0.1)


def test_a_process_that_is_gone_takes_nothing_back(processes):
    processes.put(7, 1.0)
    processes.put(8, 5.0)
    both = [7, 8]
    measured = Meter(lambda: both)
    processes.put(8, 6.0)
    assert measured.read(now=True).cpu == pytest.approx(1.0)
    both.remove(8)
    assert measured.read(now=True).cpu == pytest.approx(1.0)
    processes.put(7, 1.5)
    assert measured.read(now=True).cpu == pytest.approx(1.5)


def test_after_a_restart_only_what_follows_counts(processes):
    processes.put(7, 1.0)
    measured = Meter(lambda: (7,))
    processes.now += 1
    processes.put(7, 3.0)
    measured.restart()
    assert measured.read() == Usage()
    processes.put(7, 3.5)
    assert measured.read(now=True) == near(0.5, 0)


def test_where_nothing_can_be_seen_nothing_is_used(processes):
    measured = Meter(None)
    processes.now += 1000
    assert measured.read(now=True) == Usage()


def test_a_name_may_look_like_anything(processes):
    processes.put(7, name="a) R 1 (b")
    measured = Meter(lambda: (7,))
    processes.put(7, 1.0, name="a) R 1 (b")
    processes.now += 2
    assert measured.read() == near(1.0, 0)


def test_the_tree_has_what_any_thread_of_any_process_in_it_started(processes):
    processes.put(7, threads=(("S", 0), ("S", 0)), children=(20,))
    (processes.folder / "7" / "task" / "8" / "children").write_text("30 40 ")
    processes.put(20, children=(50,))
    processes.put(50)
    processes.put(60)
    assert sorted(process_tree(7)) == [7, 20, 30, 40, 50]


def test_this_machine_can_be_measured_and_one_without_these_files_cannot(tmp_path, monkeypatch):
    assert meter.can_measure()
    monkeypatch.setattr(meter, "PROC", tmp_path)
    assert not meter.can_measure()


BURN = "import time\nwhile time.process_time() < {}: pass\n"


def test_a_real_process_that_computes_in_a_child_is_not_idle_and_one_that_sleeps_is():
    burn = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {BURN.format(1.0)!r}])"
    with subprocess.Popen([sys.executable, "-c", f"{burn}; input()"], stdin=subprocess.PIPE) as process:
        measured = Meter(lambda: process_tree(process.pid))
        while measured.read().idle < 0.5:  # until it waits for its input
            time.sleep(0.05)
        assert 0.9 < measured.read(now=True).cpu < 3
        before = measured.read(now=True)
        while measured.read().idle < before.idle + 1:
            time.sleep(0.05)
        assert measured.read().cpu < before.cpu + 0.3
        process.communicate()


def test_a_real_process_that_waits_for_a_processor_is_not_idle():
    """Many processes share one processor, so each waits for most of the time."""
    one = sorted(os.sched_getaffinity(0))[:1]
    burn = f"import os; os.sched_setaffinity(0, {one})\n{BURN.format(0.4)}"
    crowd = [subprocess.Popen([sys.executable, "-c", burn], start_new_session=True) for _ in range(8)]
    meters = [Meter(lambda process=process: process_tree(process.pid)) for process in crowd]
    while any(process.poll() is None for process in crowd):
        usages = [each.read() for each in meters]
        time.sleep(0.02)
    assert max(usage.idle for usage in usages) < 1  # although each took the time of all
