"""Grade a whole class: read, run in parallel, record as the verdicts come, write feedback.

In: a course, a topic. Out: one ``Row`` a student. Writes verdicts to the course's store; ``record`` writes the rest.
Nobody's submission stops another's. Killed at any moment and started again, it goes on where it was.
"""

import concurrent.futures
import contextlib
import fcntl
import hashlib
import json
import os
import sqlite3
import time
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import lru_cache

import nbformat
import sqlalchemy.exc
from nbgrader.api import MissingEntry
from nbgrader.converters.base import NbGraderException

from autograder import doctor, exercises, repair, report, sandbox
from autograder.assemble import write_text
from autograder.errors import CourseError
from autograder.grade import Graded, fingerprint, grade, handed_in_files
from autograder.record import Recorder
from autograder.sandbox import Limits, cgroup


@dataclass
class Row:
    """What became of one submission. ``points`` maps an exercise to points, None where a person must mark it."""

    student: str
    points: dict = field(default_factory=dict)
    hints: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()  # why points are missing where no mistake was recognised
    notes: tuple[str, ...] = ()
    set_aside: str = ""
    failed: str = ""
    reused: bool = field(default=False, compare=False)  # nothing was run, nothing recorded again
    spent: dict = field(default_factory=dict, compare=False)  # stage -> seconds

    @property
    def total(self):
        return sum(points or 0.0 for points in self.points.values())


@dataclass(frozen=True)
class Task:
    """One submission on its way to whatever machine runs it: only text, bytes and numbers."""

    notebook: str  # JSON
    files: dict
    topic: str
    seed: int
    digest: str
    limits: Limits
    isolation: str
    hidden: tuple[str, ...] = ()  # paths that it must not see, on any machine


def grade_task(task):
    """Return ``Graded`` for ``task``; runs in a thread of this process, or in a worker on another machine.

    Raises
    ------
    CourseError
        If this machine's exercises are not those of whoever sent the task, or it has no sandbox.
    """
    asked, digest = _asked(task.topic, task.seed)
    if digest != task.digest:
        raise CourseError(
            "a worker has other exercises than the course",
            f"the worker's installation of the project ({task.topic})",
            "install the same version of the project on every machine, then start the workers again.",
        )
    notebook = nbformat.reads(task.notebook, as_version=4)
    return grade(notebook, asked, task.limits, task.isolation, task.files, task.hidden)


def grade_class(
    course,
    topic,
    limits,
    isolation=sandbox.DEFAULT,
    students=(),
    workers=None,
    progress=None,
    executor=None,
    feedback=True,
    again=False,
):
    """Grade ``students`` (by default everybody who handed in) and return their rows, in order.

    ``progress`` is called as ``progress(done, total, row)``. ``executor`` runs the submissions; by default, threads of
    this process do, ``workers`` of them. With ``again``, what was recorded before is run and recorded anew.

    Raises
    ------
    CourseError
        If there is nothing to grade, the sandbox cannot be used, or another process is grading here.
    """
    asked, template, _ = course.released(topic)
    found = course.students(topic)
    missing = sorted(set(students) - set(found))
    if missing or not found:
        raise CourseError(
            f"no submission for {topic} of {', '.join(missing)}"
            if missing
            else f"nobody has handed in anything for {topic}",
            str(course.root / "submitted"),
            f"put notebooks at submitted/STUDENT/{topic}/{topic}.ipynb.",
        )
    workers = workers or getattr(executor, "workers", None) or os.cpu_count()
    with contextlib.ExitStack() as stack:
        stack.enter_context(_the_only_one(course))
        cgroup.remove_left_behind(limits)
        pool, examined = executor or stack.enter_context(ThreadPoolExecutor(workers)), []
        if executor is None:  # on a cluster, every machine was asked when the connection was made
            examined = [pool.submit(doctor.require, isolation, limits, course.hidden)]
            examined += [pool.submit(sandbox.warm_up, limits, isolation, course.hidden) for _ in range(workers - 1)]
        recorder = stack.enter_context(Recorder(course, topic))
        for future in examined:
            future.result()
        batch = _Batch(course, topic, asked, template, limits, isolation, recorder, feedback, again)
        return batch.grade(sorted(students) or found, pool, 2 * workers + 2, progress or (lambda *args: None))


class _Batch:
    """One run over a class. Holds as many submissions at a time as the workers need, and no more."""

    def __init__(self, course, topic, asked, template, limits, isolation, recorder, feedback, again):
        self.course, self.topic, self.asked, self.template = course, topic, asked, template
        self.limits, self.isolation, self.recorder = limits, isolation, recorder
        self.feedback, self.again = feedback, again
        self.digest, self.seed, self.store = exercises.digest(asked), course.seed(topic), course.store
        self.config = hashlib.sha256(course.config.read_bytes()).hexdigest()

    def grade(self, students, pool, window, progress):
        rows = {student: Row(student) for student in students}
        self.done, self.total, self.progress = 0, len(rows), progress
        waiting, running, late = iter(students), {}, []
        while True:
            while len(running) < window and (student := next(waiting, None)) is not None:
                ready = self._prepare(rows[student])
                if ready:
                    running[self._submit(pool, ready)] = ready
            if not running:
                break
            finished, _ = concurrent.futures.wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                ready = running.pop(future)
                try:
                    graded = self._result(future, ready)
                except CourseError:
                    for other in running:
                        other.cancel()
                    raise
                if graded is None:
                    continue
                if graded.timed_out:  # the machine may have been busy: once more, alone, before it counts
                    late.append(ready)
                else:
                    self._finish(ready, graded)
        for ready in late:
            graded = self._result(self._submit(pool, ready), ready)
            if graded is not None:
                self._finish(ready, graded)
        return list(rows.values())

    def _prepare(self, row):
        """Return what shall be run for ``row``, or None where nothing is left to run."""
        began = time.monotonic()
        path = self.course.submission(row.student, self.topic)
        try:
            notebook = repair.read_submission(path, self.template, self.topic, self.limits.submission_mb)
            row.notes = tuple(repair.repair(notebook, self.template))
            repair.tell(notebook, row.notes)
        except CourseError as error:
            row.set_aside = str(error)
            write_text(report.set_aside_page(self.topic, row.set_aside), self.course.feedback(row.student, self.topic))
            return self._advance(row)
        files = handed_in_files(self.asked, path.parent)
        key = fingerprint(notebook, self.digest, self.limits, files)
        row.spent["read"] = time.monotonic() - began
        ready = _Ready(row, notebook, key, files)
        graded = None if self.again else self.store.get(key)
        if graded is None:
            return ready
        row.reused = True
        return self._finish(ready, graded)

    def _submit(self, pool, ready):
        text = nbformat.writes(ready.notebook)
        hidden = self.course.hidden
        task = Task(text, ready.files, self.topic, self.seed, self.digest, self.limits, self.isolation, hidden)
        return pool.submit(grade_task, task)

    def _result(self, future, ready):
        try:
            return future.result()
        except CourseError:
            raise
        except Exception as error:  # ours, not the student's: said, never stored
            ready.row.failed = f"{type(error).__name__}: {error}"
            self._advance(ready.row)
            return None

    def _finish(self, ready, graded):
        """Keep the verdicts, let nbgrader record them unless it has, write the feedback."""
        row = ready.row
        if not row.reused:
            row.spent |= graded.spent
            self.store.put(ready.key, graded)
        _tell(row, graded)
        mark = self._mark(row.student, ready.key)
        began = time.monotonic()
        try:
            row.points = self._recorded(row.student, mark) if row.reused else None
            if row.points is None:
                row.reused = False
                row.points = self.recorder.record(row.student, ready.notebook, graded)
                row.spent["record"] = time.monotonic() - began
                self._write_feedback(row)
                write_text(mark, self.course.recorded(row.student, self.topic))
        except (NbGraderException, MissingEntry, OSError, sqlite3.Error, sqlalchemy.exc.SQLAlchemyError) as error:
            row.points = {}
            row.failed = f"nbgrader could not record it: {type(error).__name__}: {error}"
        return self._advance(row)

    def _write_feedback(self, row):
        if self.feedback:
            began = time.monotonic()
            self.recorder.write_feedback(row.student)
            row.spent["feedback"] = time.monotonic() - began

    def _advance(self, row):
        self.done += 1
        self.progress(self.done, self.total, row)

    def _mark(self, student, key):
        """Return a text that changes with all that a recorded submission depends on."""
        timestamp = self.course.submission(student, self.topic).with_name("timestamp.txt")
        when = timestamp.read_text(errors="replace") if timestamp.is_file() and not timestamp.is_symlink() else ""
        return json.dumps([key, self.config, when, self.feedback])

    def _recorded(self, student, mark):
        """Return the points in the gradebook if this very submission was recorded to its end, else None."""
        marked, page = self.course.recorded(student, self.topic), self.course.feedback(student, self.topic)
        try:
            same = marked.read_text(encoding="utf-8") == mark
        except (OSError, ValueError):
            return None
        if (
            not same
            or not self.course.autograded(student, self.topic).is_file()
            or (self.feedback and not page.is_file())
        ):
            return None
        return self.recorder.points(student, self.asked)


@dataclass(frozen=True)
class _Ready:
    """A submission that was read and repaired."""

    row: Row
    notebook: object
    key: str
    files: dict


@lru_cache(maxsize=4)
def _asked(topic, seed):
    """Return the exercises of ``topic`` and their digest: worked out once, not for every submission."""
    asked = exercises.load(topic, seed)
    return asked, exercises.digest(asked)


def _tell(row, graded: Graded):
    """Write into ``row`` what its student is told."""
    hints = [hint for verdict in graded.verdicts for hint in verdict.hints]
    row.hints = tuple(dict.fromkeys(hints))
    row.reasons = tuple(
        f"{verdict.exercise.partition('-')[2]}: {part.reason}"
        for verdict in graded.verdicts
        for part in [next((part for part in verdict.parts if part.reason), None)]
        if part and not verdict.hints
    )
    row.notes += (graded.failure,) if graded.failure else ()


@contextlib.contextmanager
def _the_only_one(course):
    """Refuse where another process is grading in this course. The lock goes with the process, however that ends."""
    path = course.root / ".autograder" / "lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise CourseError(
                "somebody is grading in this course already", str(course.root), "wait until that has ended."
            ) from None
        yield
