"""Everything that happens to one submission except for the gradebook: from the bytes handed in to the bytes handed back."""

import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbformat.v4.rwbase import strip_transient

from autograder import exercises
from autograder.errors import CourseError
from autograder.exercises.drawing import candidate_seeds
from autograder.feedback import pages
from autograder.feedback.marks import CellResult, GradebookState, Marks, merge_results
from autograder.feedback.page_settings import Shown
from autograder.grading import grade
from autograder.grading.stopwatch import LimitReached, Stopwatch, call_timed, time_limit
from autograder.notebooks import repair
from autograder.notebooks.cell_ids import exercise_of_text, id_of
from autograder.notebooks.handout import handout
from autograder.notebooks.requests import RegradeRequest, find_requests, hash_without_requests
from autograder.sandbox import Limits
from autograder.verdicts import Graded
from solutions.answer_key import AnswerKeyError

LOADING_LOCK = threading.Lock()  # a process loads once, however many threads it has
LATER_EXERCISE_NOTE = (
    "Your notebook comes from an earlier release, which did not include {}. Download the assignment again and hand it in; "
    "until then, a person decides on those points."
)


@dataclass(frozen=True)
class FeedbackRequest:
    """What a feedback page needs besides the results: the student's name, and the gradebook's state when it was sent."""

    student: str
    standing: GradebookState
    texts: dict[str, str]  # see ``marks.merge_results``
    seconds: float  # that the page may take
    shown: Shown = "all"  # how much of the feedback it shows


@dataclass(frozen=True)
class ReleaseFacts:
    """What a worker has to know of a release of ``topic``."""

    topic: str
    templates: tuple[str, ...]  # JSON of the releases that a submission may have been made from, the newest first
    points: dict[str, float]  # by exercise, as released
    seed: int
    digest: str  # of the exercises
    extra: str = ""  # hidden cases that the course adds; see ``exercises.load``
    attempt_seeds: tuple[int, ...] = ()  # recorded at the release; see ``candidate_seeds``


@dataclass(frozen=True)
class Confinement:
    """How submissions are run: with which limits and isolation, and which paths no sandbox may show."""

    limits: Limits
    isolation: str
    hidden: tuple[str, ...]


@dataclass(frozen=True)
class Task:
    """One submission on its way to the machine that grades it: only text, bytes and numbers."""

    content: bytes
    files: dict[str, bytes | None]  # files beside it, by name; see ``read_handed_in_files``
    attempt: int  # from 0; each different hand-in has different hidden cases
    release: ReleaseFacts
    confinement: Confinement
    settings: dict[str, Any]  # of nbgrader's pages
    graded: Graded | None = None  # verdicts, if known already: then nothing is run
    paper: FeedbackRequest | None = None  # None: no page is made here


@dataclass(frozen=True)
class GradingResult:
    """The result of grading a submission: why it was set aside, or its verdicts, its cells' results and its notebook.

    ``page`` is valid only if the gradebook then has ``marks``; it is empty if it could not be rendered in time.
    """

    set_aside: str = ""
    notes: tuple[str, ...] = ()
    graded: Graded | None = None
    results: tuple[CellResult, ...] = ()
    notebook: bytes = b""
    page: bytes = b""
    marks: Marks | None = None
    requests: tuple[RegradeRequest, ...] = ()
    work: str = ""  # see ``hash_without_requests``
    spent: dict[str, float] = field(default_factory=dict)  # stage -> seconds
    used: dict[str, float] = field(default_factory=dict)  # stage -> seconds of CPU


def grade_task(task: Task) -> GradingResult:
    """Grade ``task``; raise CourseError only if this machine has no sandbox, or its exercises differ from the sender's."""
    release, confinement = task.release, task.confinement
    with LOADING_LOCK:
        digest = exercises.digest(_load_drawn(release.topic, release.seed, 0, release.extra))
    if digest != release.digest:
        where = f"the worker's installation of the project ({release.topic})"
        remedy = "install the same version of the project on every machine, then start the workers again."
        raise CourseError("a worker's exercises differ from the course's", where, remedy)
    watch, templates = Stopwatch(), _read_templates(release.templates)
    with watch.stage("repair"):
        try:
            notebook, template = repair.read_notebook(task.content, templates, release.topic)
        except CourseError as error:
            return GradingResult(set_aside=str(error), spent=watch.spent, used=watch.used)
        asked = handout(template)
        later_exercises = find_later_exercises(template, release.points)
        notes = (*repair.repair(notebook, template), *(LATER_EXERCISE_NOTE.format(name) for name in later_exercises))
        work = hash_without_requests(notebook.cells, task.files)
        repair.add_notes(notebook, notes)
    graded = task.graded
    if graded is None:
        points = {name: points for name, points in release.points.items() if name not in later_exercises}
        judged = exercises_for(release.topic, release.seed, task.attempt, points, release.extra, release.attempt_seeds)
        prepared = grade.sources_to_prepare(templates[0])
        with watch.stage("host"):
            graded = grade.grade(
                notebook,
                judged,
                confinement.limits,
                confinement.isolation,
                task.files,
                confinement.hidden,
                prepared,
            )
        watch.spent.update(graded.spent)
        watch.used.update(graded.used)
    with watch.stage("notebook"):
        results = pages.enter_results(notebook, graded, templates[0], task.settings, later_exercises)
        # each source as one string: split into lines and indented, it would take five times as long to write
        content = (json.dumps(strip_transient(notebook), sort_keys=True, ensure_ascii=False) + "\n").encode()
        requests = find_requests(notebook.cells, asked.questions)
    page, marks = b"", None
    if task.paper:
        with watch.stage("page"):
            page, marks = _render_page(notebook, results, task, asked)
    return GradingResult("", notes, graded, results, content, page, marks, requests, work, watch.spent, watch.used)


def read_requests(
    content: bytes, files: Mapping[str, bytes | None], templates: tuple[str, ...], topic: str
) -> tuple[str, tuple[RegradeRequest, ...]]:
    """Return the hash of the work in a notebook that is not graded, and its requests for another look.

    ``templates`` is as in a ``Task``. Both are empty if the file cannot be read.
    """
    try:
        notebook, template = repair.read_notebook(content, _read_templates(templates), topic)
    except CourseError:
        return "", ()
    repair.repair(notebook, template)
    requests = find_requests(notebook.cells, handout(template).questions)
    return hash_without_requests(notebook.cells, files), requests


def find_later_exercises(template: NotebookNode, points: Mapping[str, float]) -> tuple[str, ...]:
    """Return the exercises in ``points`` that ``template``, an earlier release, did not contain."""
    released = {exercise_of_text(id_of(cell) or "") for cell in template.cells}
    return tuple(name for name in points if name not in released)


def _render_page(notebook, results, task, asked):
    """Return ``(page, its marks)``, empty if that fails or takes too long: the sender then asks for the page again."""
    marks = merge_results(task.paper.standing, results, task.paper.texts).marks
    try:
        with time_limit(task.paper.seconds, LimitReached):
            return pages.page(notebook, marks, task.paper.student, task.release.topic, [asked], task.paper.shown), marks
    except (Exception, LimitReached):
        return b"", None


def make_page(*args: Any) -> tuple[bytes | Exception, float]:
    """Return ``pages.feedback_page(*args)``, or the error that it raised, and the seconds that it took."""
    return call_timed(pages.feedback_page, *args)


def exercises_for(
    topic: str,
    seed: int,
    attempt: int,
    points: Mapping[str, float],
    extra: str = "",
    attempt_seeds: tuple[int, ...] = (),
) -> tuple[exercises.Exercise, ...]:
    """Return the exercises that a submission is judged by, with the hidden cases of ``attempt`` and worth ``points``."""
    with LOADING_LOCK:
        drawn = _load_drawn(topic, seed, attempt, extra, attempt_seeds)
    return tuple(exercises.with_points(e, points[e.name]) for e in drawn if e.name in points)


def prepare(topic: str, seed: int, extra: str = "") -> None:
    """Load the exercises of the first attempt in advance, so that no submission waits for them."""
    with LOADING_LOCK:
        exercises.digest(_load_drawn(topic, seed, 0, extra))


@lru_cache(maxsize=16)
def _load_drawn(topic, seed, attempt, extra="", attempt_seeds=()):
    """Return the exercises with the hidden cases of this attempt; the first attempt has those of the release."""
    if attempt == 0:
        return exercises.load(topic, seed, extra)
    for candidate in candidate_seeds(seed, attempt, attempt_seeds):
        try:
            return exercises.load(topic, candidate, extra)
        except AnswerKeyError:  # these cases let a known mistake pass
            continue
    return exercises.load(topic, seed, extra)


@lru_cache(maxsize=4)
def _read_templates(templates):
    return tuple(nbformat.reads(text, as_version=4) for text in templates)
