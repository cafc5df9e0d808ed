"""Let nbgrader record verdicts: its own ``Autograde`` and ``GenerateFeedback``, started once for a whole batch.

In: a course, a topic; then one repaired notebook with its verdicts after the other. Out: points as the gradebook has them.
Writes nbgrader's gradebook and folders. One writer, one connection, one commit a submission: killed at any moment, a
submission is in the gradebook whole or not at all.
"""

import contextlib
import logging
import os
import shutil
import sys
import warnings
from unittest import mock

from nbconvert.writers import FilesWriter
from nbgrader.api import Gradebook, MissingEntry
from nbgrader.converters import Autograde, GenerateFeedback
from nbgrader.coursedir import CourseDirectory
from nbgrader.utils import rmtree
from sqlalchemy.exc import SAWarning
from traitlets.config import Config
from traitlets.config.loader import PyFileConfigLoader

from autograder.assemble import test_id, write
from autograder.course import REPAIRED
from autograder.nbgrader_plugin import Judge, write_verdicts
from autograder.release import path_with_environment

JUDGE = f"{Judge.__module__}.{Judge.__name__}"
CHECK = "nbgrader.preprocessors.CheckCellMetadata"


class Recorder(contextlib.ExitStack):
    """A context in which submissions of ``topic`` are recorded, by one thread."""

    def __init__(self, course, topic):
        super().__init__()
        self.course, self.topic = course, topic

    def __enter__(self):
        super().__enter__()
        path_with_environment()
        self.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore", SAWarning)  # nbgrader 0.9 adds rows in an order that SQLAlchemy 2 remarks on
        config = nbgrader_config(self.course, self.topic)
        coursedir = CourseDirectory(config=config)
        self.gradebook = self.enter_context(_one_connection(self.course.gradebook, coursedir.course_id))
        self.autograde = _started(_Autograde, config, coursedir)
        self.feedback = _started(_GenerateFeedback, config, coursedir)
        here = os.getcwd()
        os.chdir(self.course.root)  # nbgrader's preprocessors look from there
        self.callback(os.chdir, here)
        return self

    def record(self, student, notebook, graded):
        """Put ``graded`` into ``notebook``, and into nbgrader's folder and gradebook; return the points.

        Nothing is kept of a submission that cannot be recorded.
        """
        repaired = self.course.repaired(student, self.topic)
        write(notebook, repaired)
        timestamp = self.course.submission(student, self.topic).with_name("timestamp.txt")
        if timestamp.is_file() and not timestamp.is_symlink():
            shutil.copyfile(timestamp, repaired.with_name(timestamp.name))
        write_verdicts(notebook, graded)
        try:
            self.autograde.convert(self.topic, student, notebook)
            points = self._points(student, {v.exercise: v.earned is None for v in graded.verdicts})
            self.gradebook.keep()
            return points
        finally:
            self.gradebook.forget()

    def write_feedback(self, student):
        """Write the feedback page of ``student`` from what the gradebook has."""
        try:
            self.feedback.convert(self.topic, student)
        finally:
            self.gradebook.forget()

    def points(self, student, asked):
        """Return the points by exercise, None where a person must mark it; None if the gradebook lacks the submission."""
        try:
            return self._points(student, {e.name: not e.is_automatic for e in asked})
        except MissingEntry:
            return None
        finally:
            self.gradebook.forget()

    def _points(self, student, by_person):
        found = self.gradebook.find_submission_notebook(self.topic, self.topic, student)
        grades = {grade.name: grade for grade in found.grades}
        points = {}
        for name, marked in by_person.items():
            grade = grades.get(name if marked else test_id(name))
            if grade is None:
                raise MissingEntry(f"the gradebook does not know {name}")
            points[name] = None if grade.needs_manual_grade else float(grade.score)
        return points


def nbgrader_config(course, topic):
    """Return the course's own nbgrader settings, for the notebooks that were repaired."""
    config = PyFileConfigLoader(str(course.config)).load_config()
    top = Config()
    top.CourseDirectory.root = str(course.root)
    top.CourseDirectory.db_url = course.gradebook
    top.CourseDirectory.submitted_directory = REPAIRED
    top.CourseDirectory.assignment_id = topic
    config.merge(top)
    return config


def _started(converter, config, coursedir):
    app = converter(coursedir=coursedir, config=config)
    app.force = True
    app.log = logging.getLogger("autograder.nbgrader")
    app.log.setLevel(logging.CRITICAL)
    app.writer = FilesWriter(parent=app, config=app.config)
    app.exporter = app.exporter_class(parent=app, config=app.config)
    app.register()
    return app


class _Autograde(Autograde):
    """nbgrader's own, for a notebook that was repaired and judged already: the second half of its way is left."""

    _sanitizing = False

    @property
    def _input_directory(self):
        return self.coursedir.submitted_directory

    def register(self):
        for one in self.autograde_preprocessors:
            if one not in (JUDGE, CHECK):  # the verdicts are there; the metadata are the release's own
                self.exporter.register_preprocessor(one)

    def convert(self, topic, student, notebook):
        source = os.path.join(self._format_source(topic, student), f"{topic}.ipynb")
        self.notebooks = [source]
        self.init_destination(topic, student)
        try:
            self.init_assignment(topic, student)
            resources = self.init_single_notebook_resources(source)
            output, resources = self.exporter.from_notebook_node(notebook, resources=resources)
            self.write_single_notebook(output, resources)
            self.set_permissions(topic, student)
        except BaseException:
            rmtree(os.path.normpath(self._format_dest(topic, student)))
            raise


class _GenerateFeedback(GenerateFeedback):
    """nbgrader's own, with one exporter for all pages."""

    def register(self):
        for one in self.preprocessors:
            self.exporter.register_preprocessor(one)

    def convert(self, topic, student):
        source = os.path.join(self._format_source(topic, student), f"{topic}.ipynb")
        self.notebooks = [source]
        self.init_destination(topic, student)
        self.init_assignment(topic, student)
        self.convert_single_notebook(source)
        self.set_permissions(topic, student)


class _Connection(Gradebook):
    """A gradebook that stays open, and in which nothing counts until it is kept."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.db.commit = self.db.flush

    def keep(self):
        self.db().commit()

    def forget(self):
        """Give up what was not kept, and let go of what was read: memory stays level however many come."""
        self.db.remove()

    def close(self):
        """Do nothing: nbgrader closes what it opened, and it opened nothing."""


@contextlib.contextmanager
def _one_connection(url, course_id):
    """Let nbgrader find one open gradebook wherever it would open another."""
    shared = _Connection(url, course_id)
    shared.keep()
    ours = [m for name, m in list(sys.modules.items()) if name.startswith(("nbgrader.", "autograder."))]
    modules = [m for m in ours if getattr(m, "Gradebook", None) is Gradebook]
    with contextlib.ExitStack() as stack:
        for module in modules:
            if module.__name__ not in (__name__, "nbgrader.api"):
                stack.enter_context(mock.patch.object(module, "Gradebook", mock.Mock(return_value=shared)))
        try:
            yield shared
        finally:
            shared.db.remove()
            shared.engine.dispose()
