"""What is remembered of a submission once it was recorded, and whether that still holds.

In: a ``GradingRun``, a ``Job``. Out: the record that the next run goes by. Writes it, pages and autograded notebooks.
"""

import hashlib
import json
from typing import TYPE_CHECKING, Any

from autograder.batch.context import GradingRun
from autograder.batch.jobs import Job, write_beside
from autograder.feedback import notices
from autograder.feedback.marks import CellResult, GradebookState, Marks
from autograder.files import write_bytes, write_text
from autograder.platforms.attempts import load_attempts

if TYPE_CHECKING:
    from autograder.grading.submission import GradingResult


def is_recorded(run: GradingRun, job: Job) -> bool:
    """Return whether this very submission was recorded to its end, and gradebook and notebook are as then."""
    record, standing = job.earlier, job.standing
    if record.get("mark") != run.state_of(job.key, job.beside):
        return False
    path = run.course.autograded(job.student, run.topic)
    if not path.is_file() or hashlib.sha256(path.read_bytes()).hexdigest() != record.get("notebook"):
        return False
    if standing is None or standing.is_new:
        return False
    return {name: entry.automatic for name, entry in standing.entries.items()} == record.get("scores")


def is_page_new(run: GradingRun, job: Job, marks: Marks) -> bool:
    """Return whether the feedback page that there is shows ``marks``, and what else it has to say."""
    earlier = job.earlier
    shown = earlier.get("marks"), earlier.get("notice", "")
    return run.course.feedback(job.student, run.topic).is_file() and shown == (digest_of(marks), job.notice)


def digest_of(marks: Marks | None) -> str:
    """Return a hash of ``marks``, "" for none."""
    return hashlib.sha256(json.dumps(marks, sort_keys=True, default=vars).encode()).hexdigest() if marks else ""


def write_notebook(run: GradingRun, job: Job, outcome: "GradingResult") -> None:
    """Write the autograded notebook, and get ready what is remembered once the page is written as well."""
    job.notebook, path = outcome.notebook, run.course.autograded(job.student, run.topic)
    write_bytes(outcome.notebook, path)
    write_beside(job.beside, path.parent)
    latest = job.tries[job.attempt]
    job.record = {
        **{name: job.earlier[name] for name in ("aside", "unreadable") if name in job.earlier},
        "mark": run.state_of(job.key, job.beside),
        "tries": job.tries,
        "graded": {**job.earlier.get("graded", {}), latest: job.key},
        "latest": latest,
        "is_earliest": job.is_earliest,
        "notebook": hashlib.sha256(outcome.notebook).hexdigest(),
        "comments": {result.name: result.comment for result in outcome.results if result.is_answer},
        "told": {result.name: result.text for result in outcome.results if result.text},
        "scores": {result.name: result.auto_score for result in outcome.results if result.is_graded},
        "notes": list(job.row.notes),
    }


def write_record(run: GradingRun, job: Job, marks: Marks | None) -> None:
    """Remember what was recorded; ``marks`` are those that the feedback page shows, None without a page."""
    record = {**(job.record or job.earlier), "marks": digest_of(marks), "notice": job.notice}
    write_text(json.dumps(record), run.course.record_file(job.student, run.topic))


def write_page(run: GradingRun, job: Job, page: bytes) -> None:
    """Write the feedback ``page``, and remember what was recorded."""
    path = run.course.feedback(job.student, run.topic)
    if job.notice:
        page = notices.set_aside_page(run.topic, job.notice, page.decode("utf-8", "replace")).encode()
    write_bytes(page, path)
    write_beside(job.beside, path.parent)
    write_record(run, job, job.marks)


def remember_set_aside(run: GradingRun, job: Job, reason: str) -> dict[str, Any]:
    """Remember that ``job`` cannot be graded, so that it is not tried again; return all that is remembered then."""
    unreadable = [*job.earlier.get("unreadable", ()), job.key]
    remembered = {"unreadable": unreadable} if job.attempts else {"aside": [job.key, reason]}
    earlier = {**job.earlier, **remembered}
    write_text(json.dumps(earlier), run.course.record_file(job.student, run.topic))
    return earlier


def was_taken_back(run: GradingRun, student: str, earlier: dict[str, Any]) -> bool:
    """Return whether the attempt that was graded last is no longer among those collected."""
    known = {digest for one in load_attempts(run.course, student, run.topic) for digest in one.files.values()}
    return bool(known) and "latest" in earlier and earlier["latest"] not in known


def recorded_results(earlier: dict[str, Any], standing: GradebookState) -> list[CellResult]:
    """Return the results that were recorded before, of the cells that ``standing`` has."""
    texts, comments = earlier.get("told", {}), earlier.get("comments", {})
    graded = [
        CellResult(name, score, True, name in standing.comments, comments.get(name), texts.get(name, ""))
        for name, score in earlier["scores"].items()
        if name in standing.entries
    ]
    answers = [
        CellResult(name, None, False, True, comment)
        for name, comment in comments.items()
        if name in standing.comments and name not in earlier["scores"]
    ]
    return [*graded, *answers]
