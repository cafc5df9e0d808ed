"""Grade a whole class: send submissions to workers, record what comes back, write autograded notebooks and feedback.

In: a course, a topic. Out: one ``SubmissionResult`` per student. Writes verdicts to the course's store, and nbgrader's gradebook
and files. This process only reads bytes, sends them to workers and writes the results: it never parses, runs or renders anything
that a student chose. No submission stops another. If killed at any moment and started again, it continues where it stopped.
"""

import concurrent.futures
import contextlib
import os
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future
from functools import partial, reduce
from typing import Any, Protocol, Self

import sqlalchemy.exc

from autograder import sandbox
from autograder.batch import recording
from autograder.batch.context import GradingOptions, GradingRun, load_run
from autograder.batch.jobs import Job
from autograder.batch.results import SubmissionResult
from autograder.batch.submission_steps import PAGE_SECONDS, SubmissionSteps
from autograder.courses.course import Course, list_hidden_paths
from autograder.courses.locking import exclusive_lock
from autograder.courses.released import Released
from autograder.courses.standing import load_graded
from autograder.courses.submissions import list_submitters
from autograder.errors import CourseError, describe_os_error
from autograder.feedback import notices
from autograder.gradebook.backup import back_up
from autograder.gradebook.database import describe_db_error
from autograder.gradebook.recorder import Recorder
from autograder.grading.stopwatch import Stopwatch, call_timed
from autograder.paths import format_command
from autograder.sandbox import cgroup
from solutions.answer_key import AnswerKeyError

RUNS_PER_TASK = 4  # a notebook, once more without the cell that ended it, and weights
HOST_SECONDS = 240.0  # of CPU time that reading, judging and writing a submission may take outside its sandbox
PAGE_BRAKE_SECONDS = 20 * PAGE_SECONDS  # of the clock, for a task that hangs
OPENING_SECONDS = 20.0  # of CPU time that opening a hand-in may take in `watch`
RESTORED_NOTICE = (
    "The gradebook lacked the assignment {} as released: it has been restored. If marks or due dates are missing now, a backup may "
    "have them: `{}` lists them."
)

Progress = Callable[[int, int, SubmissionResult], object]


class Executor(Protocol):
    """Runs submissions. Its attribute ``workers``, if it has one, says how many to keep busy."""

    def submit(self, task: Callable[..., Any], /, *args: Any) -> Future: ...


def grade_class(
    course: Course,
    topic: str,
    options: GradingOptions | None = None,
    students: Sequence[str] = (),
    progress: Progress | None = None,
    executor: Executor | None = None,
    notice: Callable[[str], object] | None = None,
    released: Released | None = None,
) -> list[SubmissionResult]:
    """Grade ``students`` in this order (by default everybody who handed in), and return their rows in the same order.

    A dry run stores the verdicts, so that the next run need not run anything; its rows say which marks would change.

    ``progress`` is called as ``progress(done, total, row)``. ``executor`` runs the submissions; by default, processes of
    this machine do. ``notice`` is called with anything else that an instructor should know. Pass ``released`` if it has been
    loaded already. The course is locked meanwhile.

    Raises ``CourseError`` if there is nothing to grade, the sandbox cannot be used, another process is grading here, or
    the machine prevents it from continuing. What was recorded by then stays.
    """
    run = load_run(course, topic, options or GradingOptions(), released)
    names = _select_students(run, students)
    with exclusive_lock(course):
        if not run.options.dry:
            back_up(course, "grade")
        with open_batch(run, names, progress, executor, notice) as batch:
            while batch.step():
                pass
    return batch.rows


@contextlib.contextmanager
def open_batch(
    run: GradingRun,
    students: Sequence[str],
    progress: Progress | None = None,
    executor: Executor | None = None,
    notice: Callable[[str], object] | None = None,
    lock: Callable[[], contextlib.AbstractContextManager[None]] | None = None,
) -> Iterator["Batch"]:
    """Yield a ``Batch`` that grades ``students``, who have handed in; tasks that are left at the end are cancelled.

    ``lock`` returns the course's lock, which is held while something is read or recorded but not while submissions run;
    without it, the caller has locked the course. The caller makes the backup. The rest is as in ``grade_class``.
    """
    course, topic = run.course, run.topic
    count: int = run.options.workers or getattr(executor, "workers", None) or os.cpu_count() or 1
    count = min(count, len(students))  # no more than there is work for
    with contextlib.ExitStack() as stack:
        with lock() if lock else contextlib.nullcontext():
            cgroup.remove_left_behind(run.options.limits)
            recorder = stack.enter_context(Recorder(course, topic, run.options.dry))
            if not run.options.dry:
                recording.record_rules(run, recorder.lateness)
        if recorder.was_restored and notice:
            notice(RESTORED_NOTICE.format(topic, format_command("restore", course.root)))

        def start():  # called once there is something to run
            return executor or stack.enter_context(start_workers([run], count))

        tasks = stack.enter_context(_TaskQueue(start, 2 * count + 2))
        yield Batch(run, recorder, tasks, students, progress or (lambda *args: None), lock)


def _select_students(run, students):
    handed_in = list_submitters(run.course, run.topic)
    missing = sorted(set(students) - set(handed_in))
    if missing or not handed_in:
        what = f"nobody has handed in anything for {run.topic}"
        if missing:
            roster = {student.id for student in run.course.plan().students}
            unknown = [student for student in missing if roster and student not in roster]
            what = f"no submission for {run.topic} from {', '.join(missing)}"
            what += f"; not in the roster: {', '.join(unknown)}" if unknown else ""
        collect = format_command(f"collect {run.topic} ARCHIVE", run.course.root)
        remedy = f"run `{collect}` first, or put notebooks at submitted/STUDENT/{run.topic}/{run.topic}.ipynb."
        raise CourseError(what, str(run.course.root / "submitted"), remedy)
    return list(dict.fromkeys(students)) or handed_in


@contextlib.contextmanager
def start_workers(runs: Sequence[GradingRun], count: int) -> Iterator[Executor]:
    """Yield ``Workers`` warmed up for ``runs`` of one course, once the sandbox of one of them has stopped the canary.

    On a cluster, every worker is examined when the connection is made.
    """
    from autograder.grading import submission
    from autograder.grading.grade import sources_to_prepare
    from autograder.grading.workers import Workers
    from autograder.sandbox import doctor

    limits, isolation, hidden = runs[0].options.limits, runs[0].options.isolation, list_hidden_paths(runs[0].course)
    prepared = reduce(sandbox.Prepared.merge, [sources_to_prepare(run.released.notebooks[0]) for run in runs])
    page = PAGE_SECONDS, PAGE_BRAKE_SECONDS
    seconds = {submission.make_page: page, call_timed: (OPENING_SECONDS, 20 * OPENING_SECONDS)}
    seconds[submission.grade_task] = HOST_SECONDS, RUNS_PER_TASK * limits.brake_seconds + PAGE_BRAKE_SECONDS
    with Workers(count, seconds) as workers:
        examined = [workers.submit(doctor.require, isolation, limits, hidden, prepared)]
        for _ in range(count - 1):
            examined.append(workers.submit(sandbox.warm_up, limits, isolation, hidden, prepared))
        for future in examined:
            future.result()
        yield workers


class Batch:
    """Takes each submission through its ``SubmissionSteps``, holding no more at a time than the workers need."""

    def __init__(
        self,
        run: GradingRun,
        recorder: Recorder,
        tasks: "_TaskQueue",
        students: Sequence[str],
        progress: Progress,
        lock: Callable[[], contextlib.AbstractContextManager[None]] | None = None,
    ) -> None:
        self.tasks, self.progress = tasks, progress
        self.lock, self.release = lock, run.course.releases(run.topic).hash() if lock else ""
        self.course, self.topic = run.course, run.topic
        self.rows = [SubmissionResult(student) for student in students]
        self.waiting = deque(self.rows)
        self.late: list[Job] = []  # their process was killed, for lack of memory perhaps
        self.done = 0
        self.steps = SubmissionSteps(run, recorder, tasks.send, self.late.append, self._report_progress)

    @property
    def futures(self) -> Collection[Future]:
        """The tasks that the workers have now."""
        return self.tasks.futures

    def step(self, seconds: float | None = None) -> bool:
        """Send what the workers have room for, and go on with what comes back; return whether anything is left.

        Waits at most ``seconds`` for the workers. Raises ``CourseError`` if the machine or the course makes it impossible to
        continue.
        """
        while self.waiting and not self.tasks.is_full:
            row = self.waiting.popleft()
            self._run_step(row, partial(self.steps.begin, row))
        if self.late and not self.tasks.futures:
            # each runs once more, after the others, which may have used up the memory
            job = self.late.pop(0)
            self._run_step(job.row, partial(self.steps.run_once_more, job))
        for job, then, future in self.tasks.wait(seconds):
            self._run_step(job.row, partial(self._continue, job, then, future))
        return bool(self.waiting or self.tasks.futures or self.late)

    def _continue(self, job, then, future):
        """Take the next step with ``job``; start again if another process has graded this student while it ran."""
        if self.lock and load_graded(self.course, job.student, self.topic) != job.earlier:
            self.steps.begin(job.row)
        else:
            then(job, future)

    @contextlib.contextmanager
    def _hold_lock(self):
        """Lock the course, unless it is locked for the whole run; raise CourseError if the release has changed."""
        if not self.lock:
            yield
            return
        with self.lock():
            if self.course.releases(self.topic).hash() != self.release:
                what = "the assignment was released again, or course.toml was changed, while it was being graded"
                raise CourseError(what, str(self.course.root), f"grade {self.topic} again.")
            yield

    def _run_step(self, row, step):
        """Take one step with one submission. An error ends only this submission, with a message.

        Raises ``CourseError`` if the machine or the course makes it impossible to continue.
        """
        try:
            with self._hold_lock(), Stopwatch(row.spent, row.used).stage("coordinator"):
                step()
        except Exception as error:
            fatal = _find_fatal_error(error, self.course)
            if fatal:
                raise fatal from (error.__cause__ if fatal is error else None)
            row.failed = notices.plain(f"{type(error).__name__}: {error}")
            self._report_progress(row)

    def _report_progress(self, row):
        self.done += 1
        self.progress(self.done, len(self.rows), row)


def _find_fatal_error(error, course):
    """Return the exception to raise for an ``error`` that affects all submissions; None for any other."""
    if isinstance(error, CourseError | AnswerKeyError):
        return error
    if isinstance(error, sqlalchemy.exc.OperationalError):
        return CourseError(*describe_db_error(error, course))
    what = describe_os_error(error) if isinstance(error, OSError) else None
    return CourseError(*what) if what else None


class _TaskQueue:
    """Tasks, each for a job, on the executor that ``start`` returns; ``start`` is called for the first task."""

    def __init__(self, start: Callable[[], Executor], window: int) -> None:
        self._start, self._window = start, window
        self._executor: Executor | None = None
        self._running: dict[Future, tuple[Job, Callable[[Job, Future], None]]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        for future in self._running:
            future.cancel()

    @property
    def futures(self) -> Collection[Future]:
        return self._running.keys()

    @property
    def is_full(self) -> bool:
        return len(self._running) >= self._window

    def send(self, job: Job, then: Callable[[Job, Future], None], task: Callable[..., object], *args: object) -> None:
        """Have a worker call ``task``; ``then`` is the callback for its result."""
        if self._executor is None:
            self._executor = self._start()
        self._running[self._executor.submit(task, *args)] = job, then

    def wait(self, seconds: float | None) -> list[tuple[Job, Callable[[Job, Future], None], Future]]:
        """Wait until a task has finished, at most ``seconds``; return those that have, in the order of sending.

        Each is returned once, as ``(job, callback, future)``.
        """
        finished, _ = concurrent.futures.wait(self._running, seconds, return_when=FIRST_COMPLETED)
        return [(*self._running.pop(future), future) for future in list(self._running) if future in finished]
