"""Read submissions from the course directory, with a key for everything that their verdicts depend on.

In: a ``GradingRun``, a student. Out: a ``Job``. Reads the submission and its record; writes the exchange's files into given
folders.
"""

import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from autograder.batch.context import GradingRun
from autograder.batch.results import SubmissionResult
from autograder.courses.course import EXCHANGE_FILES, SECRET, TIMESTAMP
from autograder.courses.plan import Shown
from autograder.courses.standing import find_told, list_attempts
from autograder.errors import CourseError
from autograder.feedback.marks import GradebookState, Marks
from autograder.files import write_text
from autograder.gradebook.lateness import ReceivedTime, parse_received
from autograder.grading.fingerprint import fingerprint, read_handed_in_files, select_kept_files
from autograder.notebooks.submitted_file import read_file
from autograder.platforms.attempts import Attempt, find_collected_attempt, format_timestamp
from autograder.verdicts import Graded

MAX_BESIDE_BYTES = 1000


@dataclass
class Job:
    """A submission on its way through one run."""

    row: SubmissionResult
    content: bytes
    files: dict[str, bytes | None]
    beside: dict[str, str]
    key: str
    attempt: int
    tries: list[str]
    earlier: dict[str, Any]  # what was recorded last
    graded: Graded | None = None
    state: GradebookState | None = None  # what the gradebook had when it was read
    notebook: bytes = b""
    marks: Marks | None = None
    record: dict[str, Any] | None = None
    notice: str = ""  # why a later submission could not be collected
    is_earliest: bool = False  # see ``ReceivedTime``
    early_claim: str = ""  # see ``Attempt``
    is_collected: bool = False  # so that only `collect` knows its time
    attempts: Iterator[tuple[Attempt, dict[str, bytes]]] | None = (
        None  # if this one replaces a later one: those remaining
    )
    is_last_chance: bool = False  # its process was killed before, and it now runs alone
    shown: Shown = "all"  # how much of the feedback the page shows now
    counts_as: dict[str, str] = field(default_factory=dict)  # see ``recording.count_same_work``

    @property
    def student(self) -> str:
        return self.row.student

    @property
    def received(self) -> ReceivedTime:
        counted = self.counts_as.get(self.tries[self.attempt])
        if counted is not None:
            return replace(parse_received(counted), is_another=True)
        latest = self.earlier.get("latest")
        is_another = self.is_collected or (latest is not None and latest != self.tries[self.attempt])
        stated = parse_received(self.beside.get(TIMESTAMP, ""))
        return replace(stated, is_earliest=self.is_earliest, is_another=is_another)


def read_job(run: GradingRun, row: SubmissionResult, earlier: dict[str, Any]) -> Job:
    """Return the ``Job`` of the submission of ``row``; ``earlier`` is the student's last record.

    Raises ``CourseError`` if it cannot be read.
    """
    student, path = row.student, run.course.submission(row.student, run.topic)
    try:
        content = read_file(path, run.course.root / "submitted", run.options.limits.submission_mb)
        files = read_handed_in_files(run.released.exercises, path.parent)
        beside = read_beside(path)
    except OSError as error:  # concerns only this student's files
        what = f"it cannot be read ({error.strerror})"
        raise CourseError(what, path.name, "make it readable by the grader.") from None
    job = _make_job(run, row, content, files, beside, earlier)
    job.notice = find_told(run.course, student, run.topic, content)
    attempt = find_collected_attempt(run.course, student, run.topic, content)
    if attempt:  # its record says when it came; if late by an unknown time, due + 1 s by the current course.toml
        job.is_collected, job.is_earliest = True, attempt.is_late_without_time
        job.early_claim = attempt.early_claim
        if job.is_earliest:
            job.beside[TIMESTAMP] = format_timestamp(run.assignment, student, attempt)
            job.beside = {name: text for name, text in job.beside.items() if text}
    return job


def read_earlier_job(
    run: GradingRun, row: SubmissionResult, attempt: Attempt, kept: dict[str, bytes], earlier: dict[str, Any]
) -> Job:
    """Return the ``Job`` of an earlier ``attempt``; ``kept`` has its files by name."""
    when = format_timestamp(run.assignment, row.student, attempt)
    beside = {name: text for name, text in ((TIMESTAMP, when), (SECRET, attempt.secret)) if text}
    files = select_kept_files(run.released.exercises, kept)
    job = _make_job(run, row, kept[f"{run.topic}.ipynb"], files, beside, earlier)
    if not attempt.platform and job.tries[job.attempt] == earlier.get("latest"):  # put there by hand
        job.beside = parse_recorded_beside(earlier)
    job.is_collected, job.is_earliest = bool(attempt.platform), attempt.is_late_without_time
    job.early_claim = attempt.early_claim
    return job


def _make_job(run, row, content, files, beside, earlier):
    tries, attempt = list_attempts(run.course, row.student, run.topic, content, earlier)
    options, seed = run.options, run.released.find_recorded_seed(attempt)
    version = run.released.version
    key = fingerprint(content, version, attempt, options.limits, options.isolation, files, seed, run.packages)
    shown, counts_as = run.shown_to(row.student), earlier.get("counts_as", {})
    return Job(row, content, files, beside, key, attempt, tries, earlier, shown=shown, counts_as=counts_as)


def parse_recorded_beside(earlier: dict[str, Any]) -> dict[str, str]:
    """Return the exchange's files beside the notebook that was recorded last."""
    return json.loads(earlier["mark"])[3]


def read_beside(path: Path) -> dict[str, str]:
    """Return the files that nbgrader's exchange has put beside the notebook at ``path``: text by file name."""
    texts = {}
    for name in EXCHANGE_FILES:
        with contextlib.suppress(CourseError):
            texts[name] = read_file(path.with_name(name))[:MAX_BESIDE_BYTES].decode("utf-8", "replace")
    return texts


def write_beside(texts: dict[str, str], folder: Path) -> None:
    """Write ``texts``, by file name, into ``folder``."""
    for name, text in texts.items():
        write_text(text, folder / name)
