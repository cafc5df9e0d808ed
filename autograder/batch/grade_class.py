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
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from functools import partial, reduce
from typing import TYPE_CHECKING, Any, Protocol, Self

import sqlalchemy.exc
from pebble import ProcessExpired

from autograder import sandbox
from autograder.batch import jobs, recording
from autograder.batch.context import GradingOptions, GradingRun, load_run
from autograder.batch.jobs import Job
from autograder.batch.results import SubmissionResult, mark_changes
from autograder.courses.course import TIMESTAMP, Course, list_hidden_paths
from autograder.courses.locking import exclusive_lock
from autograder.courses.released import Released
from autograder.courses.standing import load_graded, write_set_aside_page
from autograder.courses.submissions import list_submitters, remove_leftovers
from autograder.errors import CourseError, describe_os_error
from autograder.feedback import notices
from autograder.feedback.marks import GradebookState, Marks
from autograder.gradebook.backup import back_up
from autograder.gradebook.database import describe_db_error
from autograder.gradebook.lateness import ReceivedTime, parse_received
from autograder.gradebook.recorder import Recorder
from autograder.grading.stopwatch import Stopwatch
from autograder.notebooks.submitted_file import SIZE_NOTE, FileTooLarge
from autograder.paths import format_command
from autograder.platforms.attempts import earlier_attempts
from autograder.sandbox import cgroup
from solutions.answer_key import AnswerKeyError

if TYPE_CHECKING:  # imported once there is a submission to run
    from autograder.grading.submission import GradingResult

RUNS_PER_TASK = 4  # a notebook, once more without the cell that ended it, and weights
HOST_SECONDS = 240.0  # of CPU time that reading, judging and writing a submission may take outside its sandbox
PAGE_SECONDS = 60.0  # of CPU time
PAGE_BRAKE_SECONDS = 20 * PAGE_SECONDS  # of the clock, for a task that hangs
TAKEN_BACK_NOTE = "The gradebook holds points for an attempt that was undone: change them in the formgrader."
RESTORED_NOTICE = (
    "The gradebook lacked the assignment {} as released: it has been restored. If marks or due dates are missing now, a backup may "
    "have them: `{}` lists them."
)
WORKER_ERRORS = (TimeoutError, ProcessExpired, BrokenProcessPool)  # a task took too long, or ended its process


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
    from autograder.feedback import pages
    from autograder.grading import submission
    from autograder.grading.grade import sources_to_prepare
    from autograder.grading.workers import Workers
    from autograder.sandbox import doctor

    limits, isolation, hidden = runs[0].options.limits, runs[0].options.isolation, list_hidden_paths(runs[0].course)
    prepared = reduce(sandbox.Prepared.merge, [sources_to_prepare(run.released.notebooks[0]) for run in runs])
    page = PAGE_SECONDS, PAGE_BRAKE_SECONDS
    seconds = {pages.feedback_page: page, submission.read_requests: page}
    seconds[submission.grade_task] = HOST_SECONDS, RUNS_PER_TASK * limits.brake_seconds + PAGE_BRAKE_SECONDS
    with Workers(count, seconds) as workers:
        examined = [workers.submit(doctor.require, isolation, limits, hidden, prepared)]
        for _ in range(count - 1):
            examined.append(workers.submit(sandbox.warm_up, limits, isolation, hidden, prepared))
        for future in examined:
            future.result()
        yield workers


class Batch:
    """Takes each submission through one run, holding no more at a time than the workers need.

    A submission starts in ``_begin``, which reuses its results, sets it aside or sends it to a worker. The worker's outcome goes
    to ``_finish_grading``; a second task, if only the page is missing, to ``_finish_page``. It ends in ``_report_progress``.
    """

    def __init__(
        self,
        run: GradingRun,
        recorder: Recorder,
        tasks: "_TaskQueue",
        students: Sequence[str],
        progress: Progress,
        lock: Callable[[], contextlib.AbstractContextManager[None]] | None = None,
    ) -> None:
        self.run, self.recorder, self.tasks, self.progress = run, recorder, tasks, progress
        self.lock, self.release = lock, run.course.releases(run.topic).hash() if lock else ""
        self.course, self.topic, self.options = run.course, run.topic, run.options
        self.rows = [SubmissionResult(student) for student in students]
        self.waiting = deque(self.rows)
        self.late: list[Job] = []  # their process was killed, for lack of memory perhaps
        self.done = 0

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
            self._run_step(row, partial(self._begin, row))
        if self.late and not self.tasks.futures:
            # each runs once more, after the others, which may have used up the memory
            job = self.late.pop(0)
            job.is_last_chance = True
            self._run_step(job.row, partial(self._submit, job, with_page=False))
        for job, then, future in self.tasks.wait(seconds):
            self._run_step(job.row, partial(self._continue, job, then, future))
        return bool(self.waiting or self.tasks.futures or self.late)

    def _continue(self, job, then, future):
        """Take the next step with ``job``; start again if another process has graded this student while it ran."""
        if self.lock and load_graded(self.course, job.student, self.topic) != job.earlier:
            self._begin(job.row)
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
            fatal = self._fatal_error(error)
            if fatal:
                raise fatal from (error.__cause__ if fatal is error else None)
            row.failed = notices.plain(f"{type(error).__name__}: {error}")
            self._report_progress(row)

    def _fatal_error(self, error):
        """Return the exception to raise for an ``error`` that affects all submissions; None for any other."""
        if isinstance(error, CourseError | AnswerKeyError):
            return error
        if isinstance(error, sqlalchemy.exc.OperationalError):
            return CourseError(*describe_db_error(error, self.course))
        what = describe_os_error(error) if isinstance(error, OSError) else None
        return CourseError(*what) if what else None

    def _report_progress(self, row):
        self.done += 1
        self.progress(self.done, len(self.rows), row)

    # --- from what was handed in to a worker ---------------------------------------------------------------------------

    def _begin(self, row):
        """Read a submission, and send it to a worker unless its results are known."""
        earlier = load_graded(self.course, row.student, self.topic)
        if not self.options.dry:
            remove_leftovers(self.course, row.student, self.topic)
        try:
            job = jobs.read_job(self.run, row, earlier)
        except CourseError as error:
            row.remedy = SIZE_NOTE if isinstance(error, FileTooLarge) else ""
            self._set_aside(row, str(error), earlier)
            return
        key, reason = earlier.get("aside", ("", ""))
        if key == job.key and not self.options.again:
            self._set_aside(row, reason, earlier)
        else:
            self._grade_or_reuse(job)

    def _grade_or_reuse(self, job):
        row = job.row
        job.graded = self._load_verdicts(job)
        job.state = self.recorder.current_state(row.student, job.received)
        if job.graded is None or not recording.is_recorded(self.run, job):
            self._submit(job)
            return
        row.reused = True
        row.enter_verdicts(job.graded, job.earlier["notes"])
        job.marks = self._update_penalty(row, job.state)
        if not self.run.makes_pages or recording.is_page_current(self.run, job, job.marks):
            self._report_progress(row)
            return
        job.notebook = self.course.autograded(row.student, self.topic).read_bytes()
        self._ask_for_page(job)

    def _load_verdicts(self, job):
        """Return the stored verdicts on ``job``, or None if it has to be run."""
        if self.options.again:
            return None
        store = self.course.store
        if self.options.accepts_provisional:
            return store.get(job.key)
        return store.get_standing(job.key, self.options.limits)

    def _submit(self, job, with_page=True):
        from autograder.grading import submission

        run, paper = self.run, None
        confinement = submission.Confinement(self.options.limits, self.options.isolation, list_hidden_paths(run.course))
        if run.makes_pages and with_page:
            texts = job.earlier.get("told", {})
            paper = submission.FeedbackRequest(run.name_of(job.student), job.state, texts, PAGE_SECONDS, job.shown)
        task = submission.Task(
            job.content, job.files, job.attempt, run.released.facts, confinement, run.settings, job.graded, paper
        )
        self.tasks.send(job, self._finish_grading, submission.grade_task, task)

    # --- from a worker into the gradebook ------------------------------------------------------------------------------

    def _finish_grading(self, job: Job, future: Future) -> None:
        """Record a worker's outcome, and write the feedback page or ask for it."""
        outcome = self._outcome(job, future)
        if outcome is None:
            self.late.append(job)
        elif outcome.set_aside:
            reason = job.row.set_aside or outcome.set_aside
            earlier = job.earlier
            if not self.options.dry:
                earlier = recording.record_set_aside(self.run, job, outcome.set_aside)
            self._set_aside(job.row, reason, earlier, job.attempts)
        else:
            self._keep_verdicts(job, outcome)
            recording.count_same_work(job, outcome)
            texts = job.earlier.get("told", {})
            job.marks = self._record(job.row, job.state, outcome.results, job.received, texts)
            if self.options.dry:
                self._report_progress(job.row)
            else:
                recording.write_notebook(self.run, job, outcome)
                self._show(job, outcome)

    def _outcome(self, job: Job, future: Future) -> "GradingResult | None":
        """Return a worker's outcome; None if the submission has to run once more."""
        try:
            outcome = future.result()
        except WORKER_ERRORS as error:
            if not job.is_last_chance:
                return None
            how = "took too long" if isinstance(error, TimeoutError) else "crashed the grading process"
            raise RuntimeError(f"it {how} twice: look at the notebook") from None
        graded = outcome.graded
        killed = graded is not None and job.graded is None and graded.killed
        return None if killed and not job.is_last_chance else outcome

    def _keep_verdicts(self, job, outcome):
        row, graded, when = job.row, outcome.graded, job.received
        if job.graded is None and not graded.killed:
            graded = self.course.store.put(job.key, graded)
        job.graded = graded
        row.spent |= outcome.spent
        row.used |= outcome.used
        row.enter_verdicts(graded, outcome.notes)
        row.notes = (job.early_claim, *row.notes) if job.early_claim else row.notes
        row.notes += (when.problem,) if when.problem else ()
        if when.is_earliest:
            row.notes += (f"It was late, by an unknown amount. {self.run.cost_without_time}",)

    def _record(self, row, state, results, received_at, texts):
        record = self.recorder.preview if self.options.dry else self.recorder.record
        return self._enter_marks(row, state, record(row.student, results, received_at, texts))

    def _enter_marks(self, row, state, marks):
        exercises = self.run.released.exercises
        if self.options.dry:
            row.changes = mark_changes(exercises, state, marks)
        row.enter_marks(exercises, marks)
        return marks

    def _update_penalty(self, row: SubmissionResult, state: GradebookState) -> Marks:
        """Return the marks of a submission that was graded before: only its late penalty may have changed."""
        return self._enter_marks(row, state, self.recorder.update_penalty(row.student, state))

    # --- the feedback page ---------------------------------------------------------------------------------------------

    def _show(self, job, outcome):
        if not self.run.makes_pages:
            recording.write_record(self.run, job, None)
            self._report_progress(job.row)
        elif outcome.page and outcome.marks == job.marks:
            recording.write_page(self.run, job, outcome.page)
            self._report_progress(job.row)
        else:  # the gradebook has changed since it was sent, or the late penalty is known only now
            self._ask_for_page(job)

    def _ask_for_page(self, job):
        from autograder.feedback import pages

        name = self.run.name_of(job.student)
        args = job.notebook, job.marks, name, self.topic, self.run.settings, self.run.handouts, job.shown
        self.tasks.send(job, self._finish_page, pages.feedback_page, *args)

    def _finish_page(self, job: Job, future: Future) -> None:
        """Write the feedback page, or a plain one without the answers if it could not be made."""
        try:
            page = future.result()
        except Exception as error:
            job.row.notes += (
                f"Its feedback page could not be generated ({type(error).__name__}), so it has a plain one.",
            )
            from autograder.feedback import pages

            verdicts = job.graded.verdicts if job.graded and job.shown == "all" else ()
            lines = [line for verdict in verdicts for line in pages.describe_verdict(verdict)]
            page = notices.plain_page(self.topic, lines).encode()
        recording.write_page(self.run, job, page)
        self._report_progress(job.row)

    # --- what cannot be graded -----------------------------------------------------------------------------------------

    def _set_aside(self, row, reason, earlier, attempts=None):
        """Let the last readable attempt count, and say on the feedback page why the latest does not.

        ``attempts`` lists the earlier attempts in the order in which to try them; known unreadable ones are skipped. If no
        attempt can be read, the gradebook keeps its marks; if it has lost them, those recorded in ``earlier`` are restored.
        """
        row.set_aside = notices.plain(reason)
        attempts = earlier_attempts(self.course, row.student, self.topic) if attempts is None else attempts
        for attempt, kept in attempts:
            job = jobs.read_earlier_job(self.run, row, attempt, kept, earlier)
            if job.key not in earlier.get("unreadable", ()):
                job.attempts, job.notice = attempts, row.set_aside
                self._grade_or_reuse(job)
                return
        marks = self._marks_without_grading(row, earlier)
        if self.options.dry:
            self._report_progress(row)
            return
        beside = {}
        with contextlib.suppress(OSError):  # it may have been set aside because it cannot be read
            beside = jobs.read_beside(self.course.submission(row.student, self.topic))
        autograded = self.course.autograded(row.student, self.topic)
        is_shown = earlier.get("marks") == recording.hash_marks(marks)
        if marks and self.run.makes_pages and not is_shown and autograded.is_file():
            own = (
                jobs.parse_recorded_beside(earlier) if "mark" in earlier else {}
            )  # of the submission that the page shows
            job = Job(row, b"", {}, own, "", 0, [], earlier, marks=marks, notice=row.set_aside)
            job.shown = self.run.shown_to(row.student)
            job.notebook = autograded.read_bytes()
            self._ask_for_page(job)
            return
        if not write_set_aside_page(self.course, row.student, self.topic, row.set_aside):
            jobs.write_beside(beside, self.course.feedback(row.student, self.topic).parent)
        self._report_progress(row)

    def _marks_without_grading(self, row, earlier):
        """Return the marks that the gradebook keeps where no submission can be graded, or None."""
        is_earliest = bool(earlier.get("is_earliest"))
        state = self.recorder.current_state(row.student, ReceivedTime(is_earliest=is_earliest))
        taken_back = recording.was_taken_back(self.run, row.student, earlier)
        if not state.is_new:
            marks = self._update_penalty(row, state)
            row.notes += (TAKEN_BACK_NOTE,) if taken_back else ()
            return marks
        if taken_back or not earlier.get("scores"):
            return None
        # restore results that the gradebook has lost
        received_at = parse_received(earlier.get("received", jobs.parse_recorded_beside(earlier).get(TIMESTAMP, "")))
        received_at = replace(received_at, is_earliest=is_earliest)
        return self._record(row, state, recording.load_recorded_results(earlier, state), received_at, {})


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
