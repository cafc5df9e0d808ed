"""A stopwatch adds up the times of stages, and `time_limit` ends code that runs too long."""

import contextlib
import signal
import threading
import time
import types

import pytest

from autograder.grading import stopwatch
from autograder.grading.stopwatch import Stopwatch, time_limit


class TooLong(BaseException):
    pass


def test_a_stage_that_comes_again_is_added_even_if_it_ends_in_an_error(monkeypatch):
    clock = types.SimpleNamespace(now=100.0, cpu=7.0)
    fake = types.SimpleNamespace(monotonic=lambda: clock.now, process_time=lambda: clock.cpu)
    monkeypatch.setattr(stopwatch, "time", fake)
    watch = Stopwatch()
    for seconds in (2.0, 3.0):
        with contextlib.suppress(KeyError), watch.stage("page"):
            clock.now += seconds
            clock.cpu += seconds / 4
            raise KeyError
    with watch.stage("judge"):
        clock.now += 1.0
    assert watch.spent == {"page": 5.0, "judge": 1.0}
    assert watch.used == {"page": 1.25, "judge": 0.0}


def test_what_takes_too_long_is_ended_and_what_comes_after_is_not():
    before = signal.getsignal(signal.SIGALRM)
    with pytest.raises(TooLong), time_limit(0.05, TooLong):
        time.sleep(5)
    with time_limit(60, TooLong):
        pass
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    assert signal.getsignal(signal.SIGALRM) is before


def test_outside_of_the_main_thread_there_is_no_limit():
    done = []

    def work():
        with time_limit(0.01, TooLong):
            done.append(signal.getitimer(signal.ITIMER_REAL))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done == [(0.0, 0.0)]
