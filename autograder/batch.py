"""Grade a whole class: read, run in parallel, let nbgrader record one after the other, write feedback.

In: a course, a topic. Out: one ``Row`` a student. Writes verdicts to the course's store; nbgrader writes the rest.
Nobody's submission stops another's.
"""

import html
import logging
import os
import shutil
import warnings
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field

from nbgrader.api import Gradebook, MissingEntry
from nbgrader.converters import Autograde, GenerateFeedback
from nbgrader.converters.base import NbGraderException
from nbgrader.coursedir import CourseDirectory
from sqlalchemy.exc import SAWarning
from traitlets.config import Config
from traitlets.config.loader import PyFileConfigLoader

from autograder import repair
from autograder.assemble import test_id, write, write_text
from autograder.course import REPAIRED
from autograder.errors import CourseError
from autograder.grade import handed_in_files
from autograder.nbgrader_plugin import graded_once
from autograder.release import path_with_environment


@dataclass
class Row:
    """What became of one submission. ``points`` maps an exercise to points, None where a person must mark it."""

    student: str
    points: dict = field(default_factory=dict)
    hints: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()  # why points are missing where no mistake was recognised
    notes: tuple[str, ...] = ()
    set_aside: str = ""
    failed: str = ""

    @property
    def total(self):
        return sum(points or 0.0 for points in self.points.values())


def grade_class(course, topic, limits, isolation="single-use", students=(), workers=None, progress=None):
    """Grade ``students`` (by default everybody who handed in) and return their rows, in order.

    ``progress`` is called as ``progress(stage, done, total, student)``.

    Raises
    ------
    CourseError
        If there is nothing to grade, or the sandbox cannot be used.
    """
    progress = progress or (lambda *args: None)
    asked, template, _ = course.released(topic)
    found = course.students(topic)
    missing = sorted(set(students) - set(found))
    if missing or not found:
        raise CourseError(
            f"no submission for {topic} of {', '.join(missing)}"
            if missing
            else f"nobody has handed in anything for {topic}",
            str(course.root / "submitted"),
            f"put notebooks at submitted/STUDENT/{topic}/{topic}.ipynb.",
        )
    rows = {student: Row(student) for student in (sorted(students) or found)}
    notebooks = _read(course, topic, template, rows)
    _run(course, asked, notebooks, rows, limits, isolation, workers, progress)
    ready = {student: notebook for student, notebook in notebooks.items() if not rows[student].failed}
    _record(course, topic, asked, ready, rows, limits, isolation, progress)
    return list(rows.values())


def _read(course, topic, template, rows):
    """Return the notebooks that can be graded, repaired; write a page for those that cannot."""
    notebooks = {}
    for student, row in rows.items():
        try:
            notebook = repair.read_submission(course.submission(student, topic), template, topic)
            row.notes = tuple(repair.repair(notebook, template))
            notebooks[student] = notebook
        except CourseError as error:
            row.set_aside = str(error)
            write_text(_set_aside_page(topic, row.set_aside), course.feedback(student, topic))
    return notebooks


def _run(course, asked, notebooks, rows, limits, isolation, workers, progress):
    """Run and judge ``notebooks`` in parallel; the verdicts go to the store, where the plugin finds them."""
    store = course.store

    def beside(student):
        return handed_in_files(asked, course.submission(student, asked[0].entry.topic).parent)

    with ThreadPoolExecutor(workers or os.cpu_count()) as pool:
        waiting = {
            pool.submit(graded_once, notebook, asked, store, limits, isolation, beside(student)): student
            for student, notebook in notebooks.items()
        }
        for done, future in enumerate(as_completed(waiting), 1):
            student = waiting[future]
            try:
                graded = future.result()
            except CourseError:
                for other in waiting:
                    other.cancel()
                raise
            except Exception as error:  # ours, not the student's: said, never stored
                rows[student].failed = f"{type(error).__name__}: {error}"
            else:
                hints = [hint for verdict in graded.verdicts for hint in verdict.hints]
                rows[student].hints = tuple(dict.fromkeys(hints))
                rows[student].reasons = tuple(
                    f"{verdict.exercise.partition('-')[2]}: {part.reason}"
                    for verdict in graded.verdicts
                    for part in [next((part for part in verdict.parts if part.reason), None)]
                    if part and not verdict.hints
                )
                rows[student].notes += (graded.failure,) if graded.failure else ()
            progress("run", done, len(waiting), student)


def _record(course, topic, asked, notebooks, rows, limits, isolation, progress):
    """Let nbgrader record the verdicts, one submission after the other, and write the feedback."""
    for done, (student, notebook) in enumerate(notebooks.items(), 1):
        write(notebook, course.repaired(student, topic))
        timestamp = course.submission(student, topic).with_name("timestamp.txt")
        if timestamp.is_file() and not timestamp.is_symlink():
            shutil.copyfile(timestamp, course.repaired(student, topic).with_name(timestamp.name))
        config = nbgrader_config(course, topic, student, limits, isolation)
        try:
            _start(Autograde, config)
            rows[student].points = _points(course, topic, asked, student)
            _start(GenerateFeedback, config)
        except (NbGraderException, MissingEntry) as error:
            rows[student].failed = f"nbgrader could not record it: {error}"
        progress("record", done, len(notebooks), student)


def nbgrader_config(course, topic, student, limits=None, isolation=None):
    """Return the course's own nbgrader settings for one submission, with what the command line says on top."""
    path_with_environment()
    config = PyFileConfigLoader(str(course.config)).load_config()
    top = Config()
    top.CourseDirectory.root = str(course.root)
    top.CourseDirectory.db_url = course.gradebook
    top.CourseDirectory.submitted_directory = REPAIRED
    top.CourseDirectory.assignment_id = topic
    top.CourseDirectory.student_id = student
    if limits is not None:
        for name in ("cell_seconds", "call_seconds", "submission_seconds", "memory_mb"):
            top.Judge[name] = getattr(limits, name)
    if isolation is not None:
        top.Judge.isolation = isolation
    config.merge(top)
    return config


def _start(converter, config):
    app = converter(coursedir=CourseDirectory(config=config), config=config)
    app.force = True
    app.log.setLevel(logging.CRITICAL)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SAWarning)  # nbgrader 0.9 adds rows in an order that SQLAlchemy 2 remarks on
        app.start()


def _points(course, topic, asked, student):
    """Return the points by exercise as the gradebook has them."""
    with Gradebook(course.gradebook) as gradebook:
        submission = gradebook.find_submission_notebook(topic, topic, student)
        grades = {grade.name: grade for grade in submission.grades}
        points = {}
        for exercise in asked:
            grade = grades[test_id(exercise.name) if exercise.is_automatic else exercise.name]
            points[exercise.name] = None if grade.needs_manual_grade else float(grade.score)
        return points


def _set_aside_page(topic, reason):
    text = html.escape(reason).replace("\n", "<br>")
    return (
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{topic}</title></head>'
        f"<body><h1>{topic}: not graded yet</h1><p>{text}</p></body></html>\n"
    )
