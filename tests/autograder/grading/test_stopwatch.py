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


def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def test_what_computes_too_long_is_ended_and_what_comes_after_is_not():
    before = signal.getsignal(signal.SIGPROF)
    with pytest.raises(TooLong), time_limit(0.05, TooLong):
        burn(60)
    with time_limit(60, TooLong):
        pass
    assert signal.getitimer(signal.ITIMER_PROF) == (0.0, 0.0)
    assert signal.getsignal(signal.SIGPROF) is before


def test_waiting_counts_for_nothing():
    with time_limit(0.1, TooLong):
        time.sleep(0.3)


def test_of_two_limits_the_tighter_counts_and_the_outer_goes_on_after_the_inner():
    class Inner(BaseException):
        pass

    with pytest.raises(TooLong), time_limit(0.2, TooLong), time_limit(60, Inner):
        burn(60)
    with time_limit(60, TooLong), pytest.raises(Inner), time_limit(0.1, Inner):
        burn(60)
    left = []

    def burn_twice():
        with pytest.raises(Inner), time_limit(0.1, Inner):
            burn(60)
        left.append(signal.getitimer(signal.ITIMER_PROF)[0])
        burn(60)

    with pytest.raises(TooLong), time_limit(0.4, TooLong):
        burn_twice()
    assert 0 < left[0] < 0.35


def test_outside_of_the_main_thread_there_is_no_limit():
    done = []

    def work():
        with time_limit(0.01, TooLong):
            done.append(signal.getitimer(signal.ITIMER_PROF))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done == [(0.0, 0.0)]


def test_a_timed_call_returns_what_was_returned_or_raised_and_its_seconds(monkeypatch):
    clock = iter([1.0, 3.5, 4.0, 10.0])
    monkeypatch.setattr(stopwatch, "time", types.SimpleNamespace(monotonic=lambda: next(clock)))
    assert stopwatch.call_timed(divmod, 7, 2) == ((3, 1), 2.5)
    error, seconds = stopwatch.call_timed(divmod, 7, 0)
    assert isinstance(error, ZeroDivisionError)
    assert seconds == 6.0
