"""The results that a student sees on Gradescope, in the format of its results.json: points, reasons and hints by exercise.

In: a ``GradingResult``, or a sentence. Out: a dict for JSON. Pure. The format is documented at
https://gradescope-autograders.readthedocs.io/en/latest/specs/: an overall ``score`` overrides those of tests, which are then
optional. So the score is the sum of the automatic points. An answer that a person marks is a test without points; these are
given in Gradescope's manual grading. Output of the grader itself is for instructors only.
"""

import hashlib
import json
from collections.abc import Sequence
from typing import Any

import nbformat

from autograder.feedback import pages
from autograder.feedback.notices import plain
from autograder.feedback.rendering import NO_RESPONSE, PERSON
from autograder.feedback.sanitize import plain as without_colours
from autograder.grading.submission import GradingResult
from autograder.notebooks.handout import Handout, find_release, receipt_of_notebook

PERSON_NOTE = "This is not part of the score above; it will be marked by a person."
NOT_ANSWERED = "Not answered."


def build_graded_results(
    outcome: GradingResult, content: bytes, releases: Sequence[Handout], seconds: float
) -> dict[str, Any]:
    """Return the results of a submission whose notebook had the bytes ``content``.

    ``releases`` are those that it may have been made from, newest first.
    """
    assert outcome.graded is not None
    notebook = nbformat.reads(outcome.notebook.decode(), as_version=4)
    asked = find_release(notebook.cells, releases)
    receipt = receipt_of_notebook(notebook, asked)
    titles = {question.name: question.title for release in (*releases, asked) for question in release.questions}
    untouched = {result.name for result in outcome.results if result.comment == NO_RESPONSE}
    verdicts, failure = outcome.graded.verdicts, outcome.graded.failure
    earned = sum(verdict.earned or 0.0 for verdict in verdicts)
    points = sum(verdict.points for verdict in verdicts if verdict.earned is not None)
    waiting = sum(verdict.points for verdict in verdicts if verdict.earned is None)
    lines = [f"{earned:g} of the {points:g} points that are graded automatically."]
    lines += [f"The other {waiting:g} are marked by a person."] if waiting else []
    lines += [f"Version of the notebook: {asked.version}. Receipt of what was graded: {receipt.code}."]
    lines += [f"The notebook was repaired before it was graded: {note}" for note in outcome.notes]
    lines += [failure] if failure and earned < points else []
    return {
        **_results(
            lines, [_exercise_result(verdict, titles.get(verdict.exercise, ""), untouched) for verdict in verdicts]
        ),
        "score": _round_points(earned),
        "execution_time": round(seconds, 1),
        "extra_data": {"handed_in": hashlib.sha256(content).hexdigest()},
    }


def build_refused_results(why: str) -> dict[str, Any]:
    """Return the results of a submission that cannot be graded, with the reason for the student."""
    return _results([f"This was not graded: {why}"]) | {"score": 0, "extra_data": {}}


def build_failed_results(why: str) -> dict[str, Any]:
    """Return results without a score, for failures that are not the student's fault."""
    return _results(
        [f"{why} This is not the fault of your submission, and no score was given. Please tell your instructor."]
    )


def attempt_number(metadata: bytes, content: bytes) -> int:
    """Return the number of the attempt ``content``, counting from 0, among the student's different attempts.

    https://gradescope-autograders.readthedocs.io/en/latest/submission_metadata/ lists earlier submissions with their results,
    in which ``build_graded_results`` stores a hash. Unreadable ones are not counted.
    """
    try:
        earlier = json.loads(metadata)["previous_submissions"]
        earlier = sorted(earlier, key=lambda submission: str(submission.get("submission_time")))
        hashes = [
            ((submission.get("results") or {}).get("extra_data") or {}).get("handed_in") for submission in earlier
        ]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, MemoryError):
        return 0
    tries = list(dict.fromkeys(digest for digest in hashes if isinstance(digest, str)))
    mine = hashlib.sha256(content).hexdigest()
    return tries.index(mine) if mine in tries else len(tries)


def _results(lines, tests=()):
    """Return the fields that all results share: ``lines`` for the student, and ``tests``."""
    shown = {"visibility": "visible", "stdout_visibility": "hidden"}
    return {"output": _join_lines(lines), **shown, "tests": list(tests)}


def _exercise_result(verdict, title, untouched):
    name = title or verdict.exercise
    if verdict.earned is None:
        words = NOT_ANSWERED if verdict.exercise in untouched else f"{PERSON} {PERSON_NOTE}"
        return {"name": f"{name} ({verdict.points:g} points, by a person)", "output": words, "visibility": "visible"}
    words = pages.describe_verdict(verdict)[1:] or ["Right."]
    return {
        "name": name,
        "score": _round_points(verdict.earned),
        "max_score": _round_points(verdict.points),
        "output": _join_lines(words),
        "visibility": "visible",
    }


def _round_points(points):
    return round(points, 6)


def _join_lines(lines):
    return plain(without_colours("\n".join(lines)))
