"""Replace nbgrader's ``Execute``: notebooks run in the sandbox, this module judges them, nbgrader records the verdicts.

In: a notebook that ``nbgrader autograde`` is processing. Out: the same notebook with its outputs, one trusted output in each
test cell, and no hidden tests. Reads the course directory; writes verdicts to its store.
"""

import os
from contextlib import suppress
from functools import lru_cache
from itertools import count
from pathlib import Path
from typing import Any, cast

from nbconvert.exporters import HTMLExporter, NotebookExporter
from nbconvert.exporters.exporter import Exporter, ResourcesDict
from nbformat import NotebookNode, v4
from nbgrader.preprocessors import NbGraderPreprocessor
from nbgrader.utils import compute_checksum
from traitlets.log import get_logger

from autograder.batch.context import GradingOptions, load_run
from autograder.batch.jobs import read_job
from autograder.batch.results import SubmissionResult
from autograder.courses import submissions
from autograder.courses.course import EXCHANGE_FILES, TIMESTAMP, Course, list_hidden_paths
from autograder.courses.standing import load_graded
from autograder.errors import CourseError
from autograder.feedback import pages
from autograder.files import find_unexpected_entries
from autograder.gradebook.assignments import store_due_dates
from autograder.gradebook.lateness import ReceivedTime, parse_received
from autograder.gradebook.recorder import Recorder
from autograder.grading import grade, submission
from autograder.notebooks import repair
from autograder.notebooks.added_cells import is_unanswered, select_added_cells
from autograder.notebooks.submitted_file import read_file
from autograder.sandbox import doctor
from autograder.with_nbgrader import limits

MAX_BESIDE_CHARACTERS = 1000  # of a timestamp or a secret; nbgrader's have at most 128


def _load_released(course, topic):
    """Return the release of ``topic``, cached until its files change."""
    return _load_released_state(course, topic, course.releases(topic).hash())


@lru_cache(maxsize=4)
def _load_released_state(course, topic, _):
    return course.releases(topic).load()


def _load_run(resources, options):
    """Return nbgrader's run as a run of `grade` with ``options``, and the student whom it is processing."""
    course, names = Course.at(Path.cwd()), resources["nbgrader"]
    topic = names["assignment"]
    return load_run(course, topic, options, _load_released(course, topic)), names["student"]


def _read_job(run, student):
    return read_job(run, SubmissionResult(student), load_graded(run.course, student, run.topic))


def set_unexpected_files_aside(assignment: str, student: str, notebooks: list[str]) -> None:
    """Move links, pipes, folders and unknown files out of a submission before nbgrader copies them.

    nbgrader calls this hook first, then copies everything beside the ``notebooks`` and follows links, which may lead to the
    answer key or the gradebook. ``student`` is nbgrader's pattern of names; the paths tell the students apart.
    """
    course = Course.at(Path.cwd())
    trained = {exercise.trained.file for exercise in _load_released(course, assignment).exercises if exercise.trained}
    for folder in {Path(notebook).parent for notebook in notebooks}:
        links = [path for path in (folder.parent, folder) if path.is_symlink()]
        beside = {name for name in EXCHANGE_FILES if _is_readable_beside(folder / name)}
        unexpected = find_unexpected_entries(folder, {f"{assignment}.ipynb", *trained, *beside})
        target = submissions.set_aside_folder(course, folder.parent.name, assignment)
        for path in links[:1] or [path for path in unexpected if not _is_ignored_by_nbgrader(path)]:
            target.mkdir(parents=True, exist_ok=True)
            kept = next(new for number in count() if not os.path.lexists(new := target / f"{number}-{path.name}"))
            path.rename(kept)
            get_logger().warning("%s is not part of the assignment: moved to %s", path, kept)


def _is_readable_beside(path):
    """Return whether nbgrader can read the ``timestamp.txt`` or the secret at ``path``; otherwise it would not grade."""
    try:
        text = read_file(path).decode()
    except (CourseError, UnicodeDecodeError):
        return False
    return len(text) <= MAX_BESIDE_CHARACTERS and not (path.name == TIMESTAMP and parse_received(text).problem)


def _is_ignored_by_nbgrader(path):
    """Return whether nbgrader does not copy ``path``: another notebook, or Jupyter's checkpoints."""
    return not path.is_symlink() and ((path.suffix == ".ipynb" and path.is_file()) or path.name == ".ipynb_checkpoints")


def remove_leftovers(assignment: str, student: str, notebooks: list[str]) -> None:
    """Delete other files beside the autograded ``notebooks``, and copies of them that ``generate_feedback`` has made."""
    for folder in {Path(notebook).parent for notebook in notebooks}:
        submissions.remove_leftovers(Course.at(Path.cwd()), folder.parent.name, assignment)


class HandedIn(NotebookExporter):
    """nbgrader's exporter, except that submissions are not parsed here: ``Repair`` reads them by the rules of `grade`."""

    def from_file(self, file_stream: Any, resources: dict[str, Any] | None = None, **kwargs: Any) -> tuple[Any, Any]:
        if not Path(file_stream.name).resolve().is_relative_to((Course.at(Path.cwd()).root / "submitted").resolve()):
            return super().from_file(file_stream, resources, **kwargs)
        return self.from_notebook_node(v4.new_notebook(), resources, **kwargs)


class Repair(NbGraderPreprocessor):
    """Restore what is missing from a damaged submission, before nbgrader reads it."""

    def preprocess(self, nb: NotebookNode, resources: ResourcesDict) -> tuple[NotebookNode, ResourcesDict]:
        course, names = Course.at(Path.cwd()), resources["nbgrader"]
        topic = names["assignment"]
        store_due_dates(course, topic, names["student"])
        content = read_file(course.submission(names["student"], topic), course.root / "submitted")
        nb, template = repair.read_notebook(content, _load_released(course, topic).notebooks, topic)
        notes = repair.repair(nb, template)
        repair.add_notes(nb, notes)
        for cell in nb.cells:
            meta = cell.metadata.get("nbgrader", {})
            if meta and not (meta.grade or meta.solution or meta.locked):  # requests and warm-ups: not in the gradebook
                del cell.metadata["nbgrader"]
        for note in notes:
            self.log.warning(note)
        return nb, resources


class Gather(NbGraderPreprocessor):
    """Collect the marks and the releases for ``Page``."""

    def preprocess(self, nb: NotebookNode, resources: ResourcesDict) -> tuple[NotebookNode, ResourcesDict]:
        run, student = _load_run(resources, GradingOptions())
        is_earliest = False
        with suppress(CourseError):  # a later submission may be unreadable
            is_earliest = _read_job(run, student).is_earliest
        with Recorder(run.course, run.topic) as recorder:
            marks = recorder.current_state(student, ReceivedTime(is_earliest=is_earliest)).marks
        resources["feedback"] = marks, run.name_of(student), run.topic, run.handouts, run.shown_to(student)
        return nb, resources


class Page(HTMLExporter):
    """The grader's feedback page, for ``nbgrader generate_feedback``."""

    def from_notebook_node(
        self, nb: NotebookNode, resources: ResourcesDict | None = None, **kwargs: Any
    ) -> tuple[str, ResourcesDict]:
        notebook, gathered = Exporter.from_notebook_node(self, nb, resources, **kwargs)
        return pages.page(notebook, *gathered["feedback"]).decode(), cast(ResourcesDict, gathered)


class Judge(limits.Judge, NbGraderPreprocessor):
    """Run the notebook in the sandbox, judge what it returned, write one trusted output into every test cell."""

    def preprocess(self, nb: NotebookNode, resources: ResourcesDict) -> tuple[NotebookNode, ResourcesDict]:
        run, student = _load_run(resources, GradingOptions(self.limits(), self.isolation))
        course, released = run.course, run.released
        doctor.require_once(self.isolation, list_hidden_paths(course))
        job = _read_job(run, student)
        cases = released.extra, released.attempt_seeds
        questions = submission.exercises_for(run.topic, released.seed, job.attempt, released.points, *cases)
        graded = course.store.get_standing(job.key, self.limits())
        if graded is None:
            graded = grade.grade(nb, questions, self.limits(), self.isolation, job.files, list_hidden_paths(course))
            if not graded.killed:
                course.store.put(job.key, graded)
        pages.write_verdicts(nb, graded)
        for cell in nb.cells:
            meta = cell.metadata.get("nbgrader", {})
            if not (meta.get("grade") and meta.get("solution")):
                continue
            added = any(select_added_cells(nb.cells, meta.grade_id))
            if not added and is_unanswered(cell):
                meta["checksum"] = compute_checksum(cell)  # nbgrader then gives 0 points, without waiting for a marker
            elif added:
                meta.pop("checksum", None)  # otherwise nbgrader would take it for no response
        return nb, resources
