"""The steps of one submission through a run: from its file to a worker, from there to the gradebook and its feedback page.

In: a ``GradingRun``, a row of the results; then what workers return. Out: the completed row. Writes verdicts, marks, autograded
notebooks and feedback pages.
"""

import contextlib
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pebble import ProcessExpired

from autograder.batch import jobs, recording
from autograder.batch.context import GradingRun
from autograder.batch.jobs import Job
from autograder.batch.results import SubmissionResult, mark_changes
from autograder.courses.course import TIMESTAMP, list_hidden_paths
from autograder.courses.standing import load_graded, write_set_aside_page
from autograder.courses.submissions import remove_leftovers
from autograder.errors import CourseError
from autograder.feedback import notices
from autograder.feedback.marks import CellResult, GradebookState, Marks
from autograder.gradebook.lateness import ReceivedTime, parse_received
from autograder.gradebook.recorder import Recorder
from autograder.notebooks.submitted_file import SIZE_NOTE, FileTooLarge
from autograder.platforms.attempts import earlier_attempts

if TYPE_CHECKING:  # imported once there is a submission to run
    from autograder.grading.submission import GradingResult

PAGE_SECONDS = 60.0  # of CPU time
TAKEN_BACK_NOTE = "The gradebook holds points for an attempt that was undone: change them in the formgrader."
WORKER_ERRORS = (TimeoutError, ProcessExpired, BrokenProcessPool)  # a task took too long, or ended its process


class SubmissionSteps:
    """What is done with each submission of ``run``.

    It starts in ``begin``, which reuses its results, sets it aside or sends it to a worker. The worker's outcome goes to
    ``_finish_grading``; a second task, if only the page is missing, to ``_finish_page``. It ends in ``report``.

    ``send`` has a worker call a function, and says which step takes the result. ``defer`` keeps a job whose process was
    killed until it can run alone: see ``run_once_more``.
    """

    def __init__(
        self,
        run: GradingRun,
        recorder: Recorder,
        send: Callable[..., None],
        defer: Callable[[Job], object],
        report: Callable[[SubmissionResult], object],
    ) -> None:
        self.run, self.recorder, self.marks = run, recorder, RowMarks(run, recorder)
        self.send, self.defer, self.report = send, defer, report
        self.course, self.topic, self.options = run.course, run.topic, run.options

    # --- from what was handed in to a worker ---------------------------------------------------------------------------

    def begin(self, row: SubmissionResult) -> None:
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
        job.graded = _load_verdicts(self.run, job)
        job.state = self.recorder.current_state(row.student, job.received)
        if job.graded is None or not recording.is_recorded(self.run, job):
            self._submit(job)
            return
        row.reused = True
        row.enter_verdicts(job.graded, job.earlier["notes"])
        job.marks = self.marks.update_penalty(row, job.state)
        if not self.run.makes_pages or recording.is_page_current(self.run, job, job.marks):
            self.report(row)
            return
        job.notebook = self.course.autograded(row.student, self.topic).read_bytes()
        self._ask_for_page(job)

    def run_once_more(self, job: Job) -> None:
        """Run a job whose process was killed, for the last time; its page is made later."""
        job.is_last_chance = True
        self._submit(job, with_page=False)

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
        self.send(job, self._finish_grading, submission.grade_task, task)

    # --- from a worker into the gradebook ------------------------------------------------------------------------------

    def _finish_grading(self, job, future):
        """Record a worker's outcome, and write the feedback page or ask for it."""
        outcome = _get_outcome(job, future)
        if outcome is None:
            self.defer(job)
            return
        job.row.used |= outcome.used
        if outcome.set_aside:
            reason = job.row.set_aside or outcome.set_aside
            earlier = job.earlier
            if not self.options.dry:
                earlier = recording.record_set_aside(self.run, job, outcome.set_aside)
            self._set_aside(job.row, reason, earlier, job.attempts)
        else:
            _keep_verdicts(self.run, job, outcome)
            recording.count_same_work(job, outcome)
            texts = job.earlier.get("told", {})
            job.marks = self.marks.record(job.row, job.state, outcome.results, job.received, texts)
            if self.options.dry:
                self.report(job.row)
            else:
                recording.write_notebook(self.run, job, outcome)
                self._show(job, outcome)

    # --- the feedback page ---------------------------------------------------------------------------------------------

    def _show(self, job, outcome):
        if not self.run.makes_pages:
            recording.write_record(self.run, job, None)
            self.report(job.row)
        elif outcome.page and outcome.marks == job.marks:
            recording.write_page(self.run, job, outcome.page)
            self.report(job.row)
        else:  # the gradebook has changed since it was sent, or the late penalty is known only now
            self._ask_for_page(job)

    def _ask_for_page(self, job):
        from autograder.grading import submission

        name = self.run.name_of(job.student)
        args = job.notebook, job.marks, name, self.topic, self.run.settings, self.run.handouts, job.shown
        self.send(job, self._finish_page, submission.make_page, *args)

    def _finish_page(self, job: Job, future: Future) -> None:
        """Write the feedback page, or a plain one without the answers if it could not be made."""
        try:
            page, seconds = future.result()
        except Exception as error:
            page, seconds = error, PAGE_SECONDS
        if isinstance(page, Exception):
            job.row.notes += (
                f"Its feedback page could not be generated ({type(page).__name__}), so it has a plain one.",
            )
            from autograder.feedback import pages

            verdicts = job.graded.verdicts if job.graded and job.shown == "all" else ()
            lines = [line for verdict in verdicts for line in pages.describe_verdict(verdict)]
            page = notices.plain_page(self.topic, lines).encode()
        job.row.add_seconds({"page": seconds})
        recording.write_page(self.run, job, page)
        self.report(job.row)

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
        marks = self.marks.keep_or_restore(row, earlier)
        if self.options.dry:
            self.report(row)
            return
        beside = {}
        with contextlib.suppress(OSError):  # it may have been set aside because it cannot be read
            beside = jobs.read_beside(self.course.submission(row.student, self.topic))
        autograded = self.course.autograded(row.student, self.topic)
        is_shown = earlier.get("marks") == recording.hash_marks(marks)
        if marks and self.run.makes_pages and not is_shown and autograded.is_file():
            # of the submission that the page shows
            own = jobs.parse_recorded_beside(earlier) if "mark" in earlier else {}
            job = Job(row, b"", {}, own, "", 0, [], earlier, marks=marks, notice=row.set_aside)
            job.shown = self.run.shown_to(row.student)
            job.notebook = autograded.read_bytes()
            self._ask_for_page(job)
            return
        if not write_set_aside_page(self.course, row.student, self.topic, row.set_aside):
            jobs.write_beside(beside, self.course.feedback(row.student, self.topic).parent)
        self.report(row)


class RowMarks:
    """Enters the marks of submissions in the gradebook, unless the run is dry, and in the rows of the results."""

    def __init__(self, run: GradingRun, recorder: Recorder) -> None:
        self.run, self.recorder = run, recorder

    def record(
        self,
        row: SubmissionResult,
        state: GradebookState | None,
        results: Iterable[CellResult],
        received_at: ReceivedTime,
        texts: Mapping[str, str],
    ) -> Marks:
        """Record ``results`` and enter the marks in ``row``; ``state`` is what the gradebook had before."""
        record = self.recorder.preview if self.run.options.dry else self.recorder.record
        return self._enter(row, state, record(row.student, results, received_at, texts))

    def _enter(self, row, state, marks):
        exercises = self.run.released.exercises
        if self.run.options.dry:
            row.changes = mark_changes(exercises, state, marks)
        row.enter_marks(exercises, marks)
        return marks

    def update_penalty(self, row: SubmissionResult, state: GradebookState) -> Marks:
        """Return the marks of a submission that was graded before: only its late penalty may have changed."""
        return self._enter(row, state, self.recorder.update_penalty(row.student, state))

    def keep_or_restore(self, row: SubmissionResult, earlier: dict[str, Any]) -> Marks | None:
        """Return the marks that the gradebook keeps where no submission can be graded, or None."""
        is_earliest = bool(earlier.get("is_earliest"))
        state = self.recorder.current_state(row.student, ReceivedTime(is_earliest=is_earliest))
        taken_back = recording.was_taken_back(self.run, row.student, earlier)
        if not state.is_new:
            marks = self.update_penalty(row, state)
            row.notes += (TAKEN_BACK_NOTE,) if taken_back else ()
            return marks
        if taken_back or not earlier.get("scores"):
            return None
        # restore results that the gradebook has lost
        received_at = parse_received(earlier.get("received", jobs.parse_recorded_beside(earlier).get(TIMESTAMP, "")))
        received_at = replace(received_at, is_earliest=is_earliest)
        return self.record(row, state, recording.load_recorded_results(earlier, state), received_at, {})


def _load_verdicts(run, job):
    """Return the stored verdicts on ``job``, or None if it has to be run."""
    if run.options.again:
        return None
    store = run.course.store
    if run.options.accepts_provisional:
        return store.get(job.key)
    return store.get_standing(job.key, run.options.limits)


def _get_outcome(job: Job, future: Future) -> "GradingResult | None":
    """Return a worker's outcome; None if the submission has to run once more."""
    try:
        outcome = future.result()
    except WORKER_ERRORS as error:
        if not job.is_last_chance:
            return None
        how = "took too long" if isinstance(error, TimeoutError) else "crashed the grading process"
        raise RuntimeError(f"it {how} twice: look at the notebook") from None
    job.row.add_seconds(outcome.spent)
    graded = outcome.graded
    killed = graded is not None and job.graded is None and graded.killed
    return None if killed and not job.is_last_chance else outcome


def _keep_verdicts(run, job, outcome):
    row, graded, when = job.row, outcome.graded, job.received
    if job.graded is None and not graded.killed:
        graded = run.course.store.put(job.key, graded)
    job.graded = graded
    row.enter_verdicts(graded, outcome.notes)
    row.notes = (job.early_claim, *row.notes) if job.early_claim else row.notes
    row.notes += (when.problem,) if when.problem else ()
    if when.is_earliest:
        row.notes += (f"It was late, by an unknown amount. {run.cost_without_time}",)
