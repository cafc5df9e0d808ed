"""The whole way of one submission but for the gradebook: from the bytes that were handed in to those that are handed back.

In: a ``Task``, on whatever machine runs it. Out: an ``Outcome``, or a feedback page. Starts a sandbox; touches nothing else.
"""

import time
from dataclasses import dataclass, field
from functools import lru_cache

import nbformat

from autograder import exercises
from autograder.errors import CourseError
from autograder.feedback import pages
from autograder.grading import grade
from autograder.notebooks import repair
from autograder.sandbox import Limits
from solutions.answer_key import AnswerKeyError

DRAWS = 50  # of hidden cases, until every known mistake is caught by one


@dataclass(frozen=True)
class Task:
    """One submission on its way to whatever machine grades it: only text, bytes and numbers."""

    content: bytes
    files: dict  # what lies beside it: name -> bytes
    topic: str
    templates: tuple[str, ...]  # JSON of the releases that it may have been made from, the newest first
    points: dict  # exercise -> points, as released
    seed: int
    attempt: int  # from 0; each time something else is handed in, the hidden cases are others
    digest: str
    limits: Limits
    isolation: str
    hidden: tuple[str, ...]  # what no sandbox may show
    settings: dict  # of nbgrader's pages
    graded: grade.Graded | None = None  # verdicts that are known already: nothing is run


@dataclass(frozen=True)
class Outcome:
    """What became of a submission: why it was set aside, or its verdicts, its cells' results and its notebook."""

    set_aside: str = ""
    notes: tuple[str, ...] = ()
    graded: grade.Graded | None = None
    results: tuple[pages.CellResult, ...] = ()
    notebook: bytes = b""
    spent: dict = field(default_factory=dict)


def grade_task(task):
    """Return the ``Outcome`` of ``task``. Whatever the student did is in it, not an error.

    Raises
    ------
    CourseError
        If this machine's exercises are not those of whoever sent the task, or it has no sandbox.
    """
    if _digest(task.topic, task.seed) != task.digest:
        raise CourseError(
            "a worker has other exercises than the course",
            f"the worker's installation of the project ({task.topic})",
            "install the same version of the project on every machine, then start the workers again.",
        )
    began, templates = time.monotonic(), _notebooks(task.templates)
    try:
        notebook, template = repair.read_notebook(task.content, templates, task.topic)
    except CourseError as error:
        return Outcome(set_aside=str(error))
    notes = tuple(repair.repair(notebook, template))
    repair.tell(notebook, notes)
    read = time.monotonic() - began
    graded = task.graded
    if graded is None:
        by = asked(task.topic, task.seed, task.attempt, task.points)
        graded = grade.grade(notebook, by, task.limits, task.isolation, task.files, task.hidden)
    began = time.monotonic()
    results = pages.autograded(notebook, graded, templates[0], task.settings)
    content = (nbformat.writes(notebook) + "\n").encode()
    spent = {"read": read, **graded.spent, "notebook": time.monotonic() - began}
    return Outcome("", notes, graded, results, content, spent)


def asked(topic, seed, attempt, points):
    """Return the exercises that a submission is judged by: with the hidden cases of ``attempt``, worth ``points``."""
    return tuple(exercises.with_points(e, points[e.name]) for e in _drawn(topic, seed, attempt) if e.name in points)


@lru_cache(maxsize=16)
def _drawn(topic, seed, attempt):
    """Return the exercises with the hidden cases of this attempt; the first attempt has those of the release."""
    if attempt == 0:
        return exercises.load(topic, seed)
    for draw in range(DRAWS):
        try:
            return exercises.load(topic, (seed + 1_000_003 * attempt + 7919 * draw) % 2**32)
        except AnswerKeyError:  # these cases let a known mistake pass
            continue
    return exercises.load(topic, seed)


@lru_cache(maxsize=16)
def _digest(topic, seed):
    return exercises.digest(_drawn(topic, seed, 0))


@lru_cache(maxsize=4)
def _notebooks(templates):
    return tuple(nbformat.reads(text, as_version=4) for text in templates)
