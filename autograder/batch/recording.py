"""The record of a graded submission, and whether it is still valid.

In: a ``GradingRun``, a ``Job``. Out: the record for the next run. Writes the record, pages and autograded notebooks.
"""

import hashlib
import json
from typing import TYPE_CHECKING, Any

from autograder.batch.context import GradingRun
from autograder.batch.jobs import Job, write_beside
from autograder.courses.standing import GRADED, PAGE, RULES, SET_ASIDE
from autograder.feedback import notices
from autograder.feedback.marks import CellResult, GradebookState, Marks
from autograder.files import write_bytes
from autograder.gradebook.lateness import Lateness, parse_received
from autograder.platforms.attempts import load_attempts

if TYPE_CHECKING:
    from autograder.grading.submission import GradingResult


def record_rules(run: GradingRun, lateness: Lateness) -> None:
    """Record what decides the marks of those who are graded from now on, unless that is as it was.

    Extensions are not among it: when the work of one student was due is recorded with each of their pages.
    """
    rules = {
        **lateness.rules,
        "points": run.released.points,
        "exercises": run.released.digest,  # changes with the key, the reference and the course's own cases
    }
    last = run.course.record.last_of_each(run.topic, "", (RULES,))
    if RULES not in last or last[RULES].data != rules:
        run.course.record.add(run.topic, "", (RULES, rules))


def is_recorded(run: GradingRun, job: Job) -> bool:
    """Return whether this submission was recorded completely, and gradebook and notebook have not changed since."""
    record, state = job.earlier, job.state
    if record.get("mark") != run.state_of(job.key, job.beside):
        return False
    path = run.course.autograded(job.student, run.topic)
    if not path.is_file() or hashlib.sha256(path.read_bytes()).hexdigest() != record.get("notebook"):
        return False
    if state is None or state.is_new:
        return False
    return {name: entry.automatic for name, entry in state.entries.items()} == record.get("scores")


def is_page_current(run: GradingRun, job: Job, marks: Marks) -> bool:
    """Return whether the existing feedback page shows ``marks``, the job's notice and the student's name."""
    earlier = job.earlier
    shown = earlier.get("marks"), earlier.get("notice", ""), earlier.get("shown", "all"), earlier.get("called")
    return run.course.feedback(job.student, run.topic).is_file() and shown == (
        hash_marks(marks),
        job.notice,
        job.shown,
        run.name_of(job.student),
    )


def hash_marks(marks: Marks | None) -> str:
    """Return a hash of ``marks``, "" for none."""
    return hashlib.sha256(json.dumps(marks, sort_keys=True, default=vars).encode()).hexdigest() if marks else ""


def count_same_work(job: Job, outcome: "GradingResult") -> None:
    """If ``job`` adds only a request for another look to the work graded last, count it from when that work came.

    Asking thus costs no late penalty, although it requires handing in the notebook again.
    """
    earlier, received = job.earlier, job.received
    before, is_same_work = earlier.get("received"), outcome.work and outcome.work == earlier.get("work")
    is_another_file = job.tries[job.attempt] != earlier.get("latest")  # otherwise, its time was corrected, and counts
    if before is None or not (is_same_work and is_another_file and outcome.requests) or earlier.get("is_earliest"):
        return
    came = parse_received(before).time
    if received.text != before and (came is None or received.time is None or came < received.time):
        job.counts_as = {**job.counts_as, job.tries[job.attempt]: before}


def write_notebook(run: GradingRun, job: Job, outcome: "GradingResult") -> None:
    """Write the autograded notebook, and prepare the record, which is written after the page."""
    job.notebook, path = outcome.notebook, run.course.autograded(job.student, run.topic)
    write_bytes(outcome.notebook, path)
    write_beside(job.beside, path.parent)
    latest = job.tries[job.attempt]
    job.record = {
        "mark": run.state_of(job.key, job.beside),
        "tries": job.tries,
        "graded": {**job.earlier.get("graded", {}), latest: job.key},
        "latest": latest,
        "is_earliest": job.received.is_earliest,
        "work": outcome.work,
        "received": job.received.text,
        "counts_as": job.counts_as,
        "notebook": hashlib.sha256(outcome.notebook).hexdigest(),
        "comments": {result.name: result.comment for result in outcome.results if result.is_answer},
        "told": {result.name: result.text for result in outcome.results if result.text},
        "scores": {result.name: result.auto_score for result in outcome.results if result.is_graded},
        "notes": list(job.row.notes),
        "requests": [[request.exercise, request.words] for request in outcome.requests],
    }


def write_record(run: GradingRun, job: Job, marks: Marks | None) -> None:
    """Write the record; ``marks`` are those on the feedback page, None without a page."""
    page: dict[str, Any] = {"marks": hash_marks(marks), "notice": job.notice, "shown": job.shown}
    page["called"] = run.name_of(job.student)
    if marks:
        page |= {"score": marks.score, "penalty": marks.late_penalty, "due": marks.due.replace("T", " ")}
        page["by_person"] = {name: mark.score for name, mark in marks.cells.items() if mark.by_person}
    graded = [(GRADED, job.record)] if job.record else []
    run.course.record.add(run.topic, job.student, *graded, (PAGE, page))


def write_page(run: GradingRun, job: Job, page: bytes) -> None:
    """Write the feedback ``page``, and then the record."""
    path = run.course.feedback(job.student, run.topic)
    if job.notice:
        page = notices.set_aside_page(run.topic, job.notice, page.decode("utf-8", "replace")).encode()
    write_bytes(page, path)
    write_beside(job.beside, path.parent)
    write_record(run, job, job.marks)


def record_set_aside(run: GradingRun, job: Job, reason: str) -> dict[str, Any]:
    """Record that ``job`` cannot be graded, so that it is not tried again; return the whole record."""
    known = {name: job.earlier[name] for name in ("aside", "unreadable") if name in job.earlier}
    if job.attempts:
        known["unreadable"] = [*known.get("unreadable", ()), job.key]
    else:
        known["aside"] = [job.key, reason]
    run.course.record.add(run.topic, job.student, (SET_ASIDE, known))
    return {**job.earlier, **known}


def was_taken_back(run: GradingRun, student: str, earlier: dict[str, Any]) -> bool:
    """Return whether the attempt that was graded last is no longer among the collected ones."""
    known = {digest for attempt in load_attempts(run.course, student, run.topic) for digest in attempt.files.values()}
    return bool(known) and "latest" in earlier and earlier["latest"] not in known


def load_recorded_results(earlier: dict[str, Any], state: GradebookState) -> list[CellResult]:
    """Return the recorded results of the cells that ``state`` has."""
    texts, comments = earlier.get("told", {}), earlier.get("comments", {})
    graded = [
        CellResult(name, score, True, name in state.comments, comments.get(name), texts.get(name, ""))
        for name, score in earlier["scores"].items()
        if name in state.entries
    ]
    answers = [
        CellResult(name, None, False, True, comment)
        for name, comment in comments.items()
        if name in state.comments and name not in earlier["scores"]
    ]
    return [*graded, *answers]
