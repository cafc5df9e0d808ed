"""Release an assignment: assemble it, prove that it grades as it must, let nbgrader make the notebook for students.

In: a course, a topic, a seed. Out: source, release and marking scheme in the course directory. What fails a check leaves
everything as it was.
"""

import contextlib
import importlib
import io
import logging
import secrets
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, cast

import nbformat
import sqlalchemy.exc
from nbformat import NotebookNode
from nbgrader.api import Gradebook, MissingEntry
from nbgrader.converters import GenerateAssignment
from nbgrader.converters.base import NbGraderException
from nbgrader.coursedir import CourseDirectory
from nbgrader.utils import determine_grade
from traitlets.config import Config

from autograder import exercises, sandbox
from autograder.courses.backup import back_up
from autograder.courses.course import Course, init
from autograder.courses.one_at_a_time import the_only_one
from autograder.courses.plan import in_utc
from autograder.courses.standings import gradebook_of
from autograder.errors import CourseError, of_the_gradebook
from autograder.exercises import Exercise, key_linter
from autograder.exercises.packing import readable
from autograder.files import write_bytes, write_text
from autograder.grading import grade
from autograder.notebooks import assemble
from autograder.notebooks.cell_ids import (
    COMPARE,
    IMPORTS,
    check_id,
    exercise_of_text,
    id_of,
    run_id,
    test_id,
    text_id,
)
from autograder.paths import BOOK, add_environment_to_path


@dataclass(frozen=True)
class Release:
    """A release that was made: where it is, its number, and in sentences what it changed; () for nothing."""

    path: Path
    version: int
    changes: tuple[str, ...]


def release(course: Course, topic: str, seed: int | None = None, book: str | Path = BOOK, website: str = "") -> Release:
    """Make the source and the release of ``topic`` in ``course``; return what it is and what it changed.

    It links to its chapter on ``website``, where that is given. Which exercises it asks, what they are worth and when it
    is due is as the course's plan says. What has changed since the last release is added to the course's log.

    Raises
    ------
    AnswerKeyError, CourseError
        If key, page and solutions do not fit, the assignment does not grade as it must, or another process is grading or
        releasing in this course.
    """
    plan = course.plan()
    wanted = plan.assignment(topic)
    chosen = course.chosen_seed(topic, seed)
    seed = new_seed() if chosen is None else chosen
    everything = exercises.load(topic, seed, wanted.extra)
    questions = wanted.chosen(everything)
    left_out = [one.name for one in everything if one.name not in {asked.name for asked in questions}]
    source = assemble.source_notebook(topic, questions, book, website, plan.notice(topic), left_out)
    with the_only_one(course):
        return _prove_and_write(course, topic, seed, everything, questions, source)


def _prove_and_write(course, topic, seed, everything, questions, source):
    before = course.last(topic)
    with tempfile.TemporaryDirectory(prefix="release-") as folder:  # first in a course that nobody needs
        trial = init(folder)
        assemble.write(source, trial.source(topic))
        _begin_gradebook(trial)
        _generate(trial, topic, trial.gradebook)
        released = nbformat.read(trial.release(topic), as_version=4)
        check(source, released, questions)
        _refuse_other_cells(course, topic, released)
        back_up(course, "release")
        _begin_gradebook(course)
        _generate(trial, topic, course.gradebook, course.id_in_gradebook)
        assemble.write(source, course.source(topic))
        write_text(assemble.marking_scheme(topic, questions), course.marking_scheme(topic))
        write_bytes(trial.release(topic).read_bytes(), course.release(topic))
    digest = exercises.digest(everything)
    said = _changes_since(before, released, (seed, digest))
    number = course.record(topic, seed, digest, said)
    enter_lateness(course, topic)
    return Release(course.release(topic), number, said)


def new_seed() -> int:
    """Draw the seed of an assignment that has none."""
    return secrets.randbelow(2**32)


def changes(old: NotebookNode, new: NotebookNode) -> list[str]:
    """Return what a student who has the release ``old`` would find changed in ``new``, a sentence for each exercise."""
    said, cells = [], [{id_of(cell): cell for cell in notebook.cells} for notebook in (old, new)]
    asked = [{name for cell_id in one if cell_id and (name := exercise_of_text(cell_id))} for one in cells]
    said += [f"{name} is new." for name in sorted(asked[1] - asked[0])]
    said += [f"{name} is gone." for name in sorted(asked[0] - asked[1])]
    for name in [name for cell_id in cells[1] if cell_id and (name := exercise_of_text(cell_id)) in asked[0]]:
        parts = {text_id(name): "its text", name: "its starter", check_id(name): "its check"}
        other = [what for cell_id, what in parts.items() if _source(cells[0], cell_id) != _source(cells[1], cell_id)]
        points = [sum(_points(one, cell_id) for cell_id in (name, test_id(name))) for one in cells]
        if points[0] != points[1]:
            other.append(f"its points, from {points[0]:g} to {points[1]:g}")
        if other:
            said.append(f"{name}: {', '.join(other)}.")
    if _source(cells[0], "heading") != _source(cells[1], "heading"):
        said.append("The heading.")
    if any(_source(cells[0], name) != _source(cells[1], name) for name in (COMPARE, IMPORTS)):
        said.append("What the checks use.")
    return said or (["The order of its cells, or cells without a name."] if old.cells != new.cells else [])


def _source(cells, name):
    return cells[name].source if name in cells else None


def _points(cells, name):
    meta = cells[name].metadata.nbgrader if name in cells else None
    return float(meta.points) if meta is not None and meta.grade else 0.0


def _changes_since(before, new, state):
    """Return what the release ``new``, of a seed and a hash, changes against the one ``before``; None: there was none."""
    if before is None:
        return ("The first release.",)
    old, *earlier = before
    said = changes(old, new)
    if state[0] != earlier[0]:
        said.append("Hidden cases: drawn from another seed.")
    elif state[1] != earlier[1]:
        said.append("Hidden cases, references or mistakes: others than before.")
    return tuple(said)


def enter_lateness(course: Course, topic: str, student: str = "") -> None:
    """Tell the gradebook when ``topic`` is due, and which extension ``student`` has, as the plan says.

    Where the plan has no due date, the gradebook keeps its own, and its extensions.
    """
    plan = course.plan().assignment(topic)
    if plan.due is None:
        return
    with gradebook_of(course) as gradebook:
        assignment = cast(Any, gradebook.find_assignment(topic))
        if assignment.duedate != in_utc(plan.due):
            assignment.duedate = in_utc(plan.due)
        if student:
            with contextlib.suppress(MissingEntry):
                cast(Any, gradebook.find_submission(topic, student)).extension = plan.extension(student)
        gradebook.db.commit()


def handouts(folder: str | Path, topics: Sequence[str], website: str = "") -> list[Path]:
    """Write the notebooks for students of ``topics`` into ``folder``, the same as released ones; return their paths.

    For a website to offer. They are not proved here, and no course is made: ``release`` does both.
    """
    with tempfile.TemporaryDirectory(prefix="handouts-") as root:
        trial = init(root)
        _begin_gradebook(trial)
        for topic in topics:
            assemble.write(
                assemble.source_notebook(topic, exercises.load(topic, 0), website=website), trial.source(topic)
            )
            _generate(trial, topic, trial.gradebook)
        notebooks = [trial.release(topic).read_bytes() for topic in topics]
    paths = [Path(folder) / f"{topic}.ipynb" for topic in topics]
    for path, content in zip(paths, notebooks, strict=True):
        write_bytes(content, path)
    return paths


def is_entered(course: Course, topic: str) -> bool:
    """Return whether the gradebook has the assignment ``topic`` as it was released."""
    released, found = nbformat.read(course.release(topic), as_version=4), _cells_in_gradebook(course, topic)
    return found is not None and found[0] == _graded_cells(released)


def enter_assignment(course: Course, topic: str) -> bool:
    """Put the assignment ``topic`` into the gradebook as it was released, unless it is there; return whether it was put.

    Raises
    ------
    CourseError
        If the gradebook has another assignment of that name, or the assignment's source is gone.
    """
    released = nbformat.read(course.release(topic), as_version=4)
    wanted, found = _graded_cells(released), _cells_in_gradebook(course, topic)
    if found is not None and found[0] == wanted:
        return False
    if not course.source(topic).is_file():
        raise CourseError(
            f"the gradebook does not know {topic}, and its source is gone",
            str(course.source(topic)),
            f"run `python -m autograder release {topic}`, or restore a backup: `python -m autograder restore` lists them.",
        )
    _refuse_other_cells(course, topic, released)
    _begin_gradebook(course)
    with tempfile.TemporaryDirectory(prefix="release-") as folder:
        trial = init(folder)
        write_bytes(course.source(topic).read_bytes(), trial.source(topic))
        _generate(trial, topic, course.gradebook, course.id_in_gradebook)
    return True


def _refuse_other_cells(course, topic, released):
    """Refuse a release with other exercises than those that students have been graded for."""
    found = _cells_in_gradebook(course, topic)
    if found is None or not found[1]:
        return
    other = sorted(set(found[0]) ^ set(_graded_cells(released)))
    if other:
        raise CourseError(
            f"{', '.join(other[:3])} came or went, and {found[1]} submissions have been graded without",
            f"assignment {topic}",
            "bring the old exercises back, or release in a new course directory.",
        )


def _graded_cells(notebook):
    """Return ``{name: points}`` of the cells of ``notebook`` that nbgrader gives points for."""
    cells = [cell.metadata.nbgrader for cell in notebook.cells if "nbgrader" in cell.metadata]
    return {meta.grade_id: float(meta.points) for meta in cells if meta.grade}


def _cells_in_gradebook(course, topic):
    """Return ``({name: points}, number of submissions)`` of ``topic`` in the gradebook, or None if it is not there."""
    if not course.has_gradebook:
        return None
    try:
        with gradebook_of(course) as gradebook:
            notebook = gradebook.find_notebook(topic, topic)
            points = {str(cell.name): float(cell.max_score) for cell in notebook.grade_cells}
            return points, len(notebook.submissions)
    except MissingEntry:
        return None


def check(source: NotebookNode, released: NotebookNode, questions: Sequence[Exercise]) -> None:
    """Prove that the reference earns every automatic point, and the untouched release none; by both ways of grading.

    Raises
    ------
    CourseError
        If it is not so.
    """
    place = f"assignment {questions[0].name.split('-')[0]}"
    automatic = {e.name: e.points for e in questions if e.is_automatic}
    untouched, isolation = _with_tests(released, source, questions), _isolation()
    for notebook, who, wanted in ((source, "reference", automatic), (untouched, "untouched release", None)):
        files = reference_files(questions) if wanted else {}
        judged = grade.grade(notebook, questions, isolation=isolation, files=files)
        stock = _stock_points(notebook, questions, files, isolation)
        for name, points in automatic.items():
            expected = points if wanted else 0.0
            earned = {"the grader": judged.by_exercise[name].earned, "stock nbgrader": stock[name]}
            for grader, got in earned.items():
                if got != expected:
                    raise CourseError(
                        f"the {who} earns {got:g} of {points:g} points for {name} from {grader}; {expected:g} is right",
                        place,
                        "run the reference by hand on the hidden cases; a starter must not already answer the exercise.",
                    )
    _refuse_leaks(released, questions, place)


def reference_files(questions: Sequence[Exercise]) -> dict[str, bytes]:
    """Return the files of weights that the references of ``questions`` train: name -> bytes."""
    files = {}
    for exercise in questions:
        if exercise.trained:
            files[exercise.trained.file] = _trained_by_reference(exercise.entry.topic, exercise.function)
    return files


@cache
def _trained_by_reference(topic, function):
    reference = getattr(importlib.import_module(f"solutions.in_torch.{topic}"), function)
    with tempfile.TemporaryDirectory(prefix="trained-") as folder, contextlib.redirect_stdout(None):
        path = Path(folder) / "weights.npz"
        reference(str(path))
        return path.read_bytes()


def _isolation():
    """Return how to run what is ours: as submissions are run, where this machine can, else without a sandbox."""
    try:
        sandbox.warm_up(sandbox.Limits())
    except CourseError:
        return "none"
    return sandbox.DEFAULT


def _stock_points(notebook, questions, files, isolation):
    """Return the points by exercise when the hidden test cells run as they stand, as in nbgrader without the plugin."""
    cells = [(place, cell) for place, cell in enumerate(notebook.cells) if cell.cell_type == "code"]
    left_out = {run_id(exercise.name) for exercise in questions}
    sources = ["" if cell.metadata.nbgrader.grade_id in left_out else cell.source for _, cell in cells]
    script = sandbox.Script(tuple(sandbox.Cell(source) for source in sources), {}, files=files)
    run = sandbox.run(script, sandbox.Limits(cell_seconds=120), isolation)
    if run.failure:
        raise CourseError(run.failure, "the assembled notebook", "run it by hand and see where it stops.")
    points = {}
    for number, (_, cell) in enumerate(cells):
        cell = NotebookNode({**cell, "outputs": nbformat.from_dict(run.outputs[number][1])})
        points[cell.metadata.nbgrader.grade_id] = determine_grade(cell)[0] if cell.metadata.nbgrader.grade else None
    return {e.name: points[test_id(e.name)] for e in questions if e.is_automatic}


def _with_tests(released, source, questions):
    """Return the release with the hidden tests in it again, as nbgrader grades it."""
    tests = {test_id(exercise.name) for exercise in questions}
    whole = {id_of(cell): cell for cell in source.cells if id_of(cell) in tests}
    cells = [whole.get(id_of(cell), cell) for cell in released.cells]
    return cast(NotebookNode, nbformat.from_dict({**released, "cells": cells}))


def _refuse_leaks(released, questions, place):
    """Refuse a release in which an answer stands readable, or from a key that the linter refuses."""
    text = "\n".join(readable(cell.source) for cell in released.cells)
    for marker in ("BEGIN SOLUTION", "END SOLUTION", "HIDDEN TESTS"):
        if marker in text:
            raise CourseError(f"{marker} is left in the release", place, "close every region that you open.")
    for exercise in questions:
        body = exercise.source.partition("### BEGIN SOLUTION")[2].partition("### END SOLUTION")[0].strip()
        if body and body in text:
            raise CourseError(f"the answer to {exercise.name} stands in the release", place, "take it out of the text.")
    key_linter.refuse(questions, text=text)


def _begin_gradebook(course):
    """Give ``course`` an empty gradebook if it has none; on a server, nbgrader makes one when it first looks."""
    path = course.gradebook_file
    if not path.exists() and not course.is_on_a_server:
        write_bytes(_empty_gradebook(), path)


@cache
def _empty_gradebook():
    """Return nbgrader's empty gradebook: made once, because nbgrader starts another program for that."""
    add_environment_to_path()
    with tempfile.TemporaryDirectory(prefix="gradebook-") as folder:
        path = Path(folder) / "gradebook.db"
        Gradebook(f"sqlite:///{path}", course_id="").close()
        return path.read_bytes()


def _generate(course, topic, gradebook, course_id=""):
    """Let nbgrader make the release in ``course``, and put its entry into ``gradebook``."""
    add_environment_to_path()
    config = Config()
    config.CourseDirectory.root = str(course.root)
    config.CourseDirectory.db_url = gradebook
    config.CourseDirectory.course_id = course_id
    config.CourseDirectory.assignment_id = topic
    coursedir = CourseDirectory(config=config)
    app = GenerateAssignment(coursedir=coursedir, config=config)
    app.force = True
    said = io.StringIO()
    handler = logging.StreamHandler(said)
    handler.setLevel(logging.ERROR)
    app.log.handlers, app.log.propagate = [handler], False
    shutil.rmtree(course.release(topic).parent, ignore_errors=True)
    try:
        app.start()
    except sqlalchemy.exc.DatabaseError as error:
        raise CourseError(*of_the_gradebook(error, course)) from None
    except NbGraderException as error:
        lines = [line for line in said.getvalue().splitlines() if line.strip()]
        reason = next((line for line in reversed(lines) if "Error" in line), str(error))
        raise CourseError(f"nbgrader refused it: {reason.strip()}", str(course.source(topic)), "mend it.") from error
