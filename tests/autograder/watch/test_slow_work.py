"""Work that takes long delays nobody else's, whatever becomes of it."""

import json
import shutil
import time
from concurrent.futures import Future
from types import SimpleNamespace

import pytest

from autograder.batch.submission_steps import SubmissionSteps
from autograder.errors import CourseError
from autograder.watch import rounds
from autograder.watch import run as running
from autograder.watch.arrivals import Arrivals
from autograder.watch.settings import Settings
from tests.autograder.essays import all_right
from tests.autograder.watch.hub import UntilIdle

pytestmark = pytest.mark.suite("assignments")
PATIENCE_SECONDS = 300


def until(is_so):
    """Wait for ``is_so()``; raise after a while, so that a test fails rather than hangs."""
    ends = time.monotonic() + PATIENCE_SECONDS
    while not is_so():
        if time.monotonic() > ends:
            raise TimeoutError
        time.sleep(0.02)


def slow(essay, action):
    """Return a grader that calls ``action`` while it grades the notebook with ``essay``."""

    def grade_one(notebook, *rest):
        if f'"{essay}"' in json.dumps(notebook):
            action()
        return all_right(notebook, *rest)

    return grade_one


def served(hub):
    """Return the students whose hand-ins were graded, in the order in which that ended."""
    graded = [one for one in Arrivals(hub.course, ["scoring"]).list_all("scoring") if one.outcome == "graded"]
    return [one.student for one in sorted(graded, key=lambda one: one.ended)]


def test_hand_ins_that_come_while_a_slow_one_runs_are_graded_before_it(hub):
    hub.submit("mal", "slow")
    hub.submit("ada", "quick")

    def more():
        for student in ("ben", "ada", "cem"):
            secret = hub.submit(student)
            until(lambda secret=secret: hub.page(secret))

    hub.watch(workers=2, any_owner=True, grade_one=slow("slow", more))
    assert served(hub) == ["ada", "ben", "ada", "cem", "mal"]


def test_a_hand_in_that_disappears_while_it_is_graded_is_graded_once(hub):
    secret = hub.submit("mal", "slow")
    (folder,) = hub.inbound.iterdir()

    def vanish():
        shutil.rmtree(folder)
        other = hub.submit("ada")
        until(lambda: hub.page(other))

    hub.watch(workers=2, grade_one=slow("slow", vanish))
    assert hub.graded == ["slow", "Because."]
    assert hub.outcomes() == [("mal", "graded"), ("ada", "graded")]
    assert hub.page(secret)


def test_all_workers_but_one_are_left_to_others_however_often_an_account_hands_in(hub):
    at_once, most = [], []
    hub.submit("mal", "slow")

    def grade_one(notebook, *rest):
        if any(f'"{essay}"' in json.dumps(notebook) for essay in ("slow", "again", "and again")):
            at_once.append(1)
            most.append(len(at_once))
            if len(most) == 1:
                for essay in ("again", "and again"):
                    hub.submit("mal", essay)
                secret = hub.submit("ada")
                until(lambda: hub.page(secret))
            at_once.pop()
        return all_right(notebook, *rest)

    hub.watch(workers=2, any_owner=True, grade_one=grade_one)
    assert most == [1, 1, 1]
    assert served(hub) == ["ada", "mal", "mal", "mal"]


def test_an_account_is_busy_for_all_topics_until_its_hand_in_is_graded(hub, monkeypatch):
    busy = {"ben"}  # as if another hand-in of that name were running
    monkeypatch.setattr(running, "Settings", lambda *args: Settings(*args, busy=busy))
    seen = []
    hub.submit("ben")
    hub.submit("ada", "by ada")
    hub.watch(any_owner=True, grade_one=slow("by ada", lambda: seen.append(len(busy))))
    assert hub.outcomes() == [("ben", "new"), ("ada", "graded")]
    assert seen == [2]
    assert len(busy) == 1
    busy.clear()
    hub.watch(any_owner=True)
    assert served(hub) == ["ada", "ben"]
    assert not busy


def test_what_is_running_when_watch_is_stopped_is_cancelled_and_graded_after_a_restart(hub, monkeypatch):
    stop, cancelled, cancel = UntilIdle(), [], Future.cancel
    monkeypatch.setattr(Future, "cancel", lambda future: cancelled.append(1) or cancel(future))
    secret, other = hub.submit("ada", "one"), hub.submit("ben", "two")
    hub.watch(any_owner=True, stop=stop, grade_one=slow("one", lambda: stop.set() or until(lambda: cancelled)))
    assert len(cancelled) == 2
    assert hub.outcomes() == [("ada", "admitted"), ("ben", "admitted")]
    assert hub.page(secret) == ""
    hub.watch(any_owner=True)
    assert served(hub) == ["ada", "ben"]
    assert hub.page(secret)
    assert hub.page(other)


def test_a_round_that_fails_beside_a_slow_one_is_tried_alone_and_only_the_culprit_is_given_up(hub):
    begin = SubmissionSteps.begin

    def breaks(steps, row):
        if row.student == "ada":
            raise CourseError("what only this hand-in does to the grader", "here", "look.")
        return begin(steps, row)

    def more():
        for student in ("ada", "ben", "cem"):
            hub.submit(student)
        until(lambda: any("It will be tried again." in line for line in hub.lines))

    hub.submit("mal", "slow")
    with hub.monkeypatch.context() as patched:
        patched.setattr(SubmissionSteps, "begin", breaks)
        hub.watch(workers=2, any_owner=True, patience=12, grade_one=slow("slow", more))
    assert sorted(hub.outcomes()) == [("ada", "failed"), ("ben", "graded"), ("cem", "graded"), ("mal", "graded")]


def test_a_round_that_ran_beside_one_that_failed_is_not_its_trial(monkeypatch):
    class Scripted:
        """A round that takes one step for each of ``results``: whether more is left, or the error that it raises."""

        def __init__(self, results, students, *rest):
            self.results, self.left = iter(results), students
            self.run = SimpleNamespace(course=SimpleNamespace(releases=lambda topic: SimpleNamespace(hash=lambda: "")))
            self.students, self.release = list(students), ""

        def step(self, *rest):
            result = next(self.results)
            if isinstance(result, Exception):
                raise result
            return result

        def close(self):
            pass

    monkeypatch.setattr(rounds, "Round", Scripted)
    settings = SimpleNamespace(executor=None)
    outcomes = SimpleNamespace(settings=settings, topic="scoring", finish_row=None, say=None, lock=None)
    running_ones = rounds.Rounds(outcomes)
    running_ones.begin([True, CourseError("broken", "here", "look.")], ["ada", "ben"], [], {})
    running_ones.begin([True, True, False], ["cem", "dan"], [], {})
    with pytest.raises(CourseError):
        running_ones.step()
    assert running_ones.alone
    while running_ones.running:
        running_ones.step()
    assert running_ones.alone  # until one that takes a single hand-in has ended
    running_ones.begin([True, False], ["ada"], [], {})
    running_ones.step()
    assert not running_ones.alone
