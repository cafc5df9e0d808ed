"""Record what became of a submission in nbgrader's gradebook, and say what the gradebook holds.

In: a course, a topic; then one student's results after the other. Out: marks. Writes the gradebook: one writer, one
connection, one transaction a submission, so that a submission is in it whole or not at all.
"""

import contextlib
import warnings
from dataclasses import dataclass

from nbgrader.api import (
    Comment,
    Grade,
    Gradebook,
    InvalidEntry,
    MissingEntry,
    Student,
    SubmittedAssignment,
    SubmittedNotebook,
)
from nbgrader.coursedir import CourseDirectory
from nbgrader.preprocessors import AssignLatePenalties
from nbgrader.utils import parse_utc
from sqlalchemy.exc import DatabaseError, SAWarning
from traitlets.config import Config
from traitlets.config.loader import PyFileConfigLoader

from autograder.courses.release import enter_assignment, path_with_environment
from autograder.errors import CourseError, of_the_gradebook
from autograder.feedback.pages import Mark, Marks


@dataclass(frozen=True)
class Received:
    """When a submission came, as the file ``timestamp.txt`` beside it says; ``problem`` if that cannot be read."""

    text: str = ""
    time: object = None
    problem: str = ""


def received(text):
    """Return the ``Received`` that the ``text`` of a ``timestamp.txt`` states."""
    try:
        return Received(text, parse_utc(text.strip()) if text.strip() else None)
    except (ValueError, OverflowError, TypeError, AttributeError):
        return Received(text, None, "timestamp.txt says no time that can be read; the submission counts as not late.")


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
        self.config = nbgrader_config(self.course, self.topic)
        self.put_back = enter_assignment(self.course, self.topic)
        try:
            self.gradebook = Gradebook(self.course.gradebook, CourseDirectory(config=self.config).course_id)
        except (InvalidEntry, DatabaseError) as error:
            raise CourseError(*of_the_gradebook(error, self.course)) from None
        self.callback(self.gradebook.close)
        late = AssignLatePenalties(config=self.config)
        late.init_plugin()
        self.late_penalty = late.plugin_inst.late_submission_penalty
        return self

    def record(self, student, results, received, told):
        """Record the cells' ``results`` of ``student``; return the ``Marks`` that the gradebook has then.

        ``told`` maps a cell to the hash of the text that was there when it was recorded last: what a person has marked
        waits for a person again only where that has changed.
        """
        db = self.gradebook.db
        try:
            notebook = self._submitted(db, student)
            submission = notebook.assignment
            if received.time is not None:
                submission.timestamp = received.time
            grades = {grade.cell.name: grade for grade in notebook.grades}
            comments = {comment.cell.name: comment for comment in notebook.comments}
            for result in results:
                if result.is_graded:
                    _enter(grades[result.name], result, told.get(result.name))
                if result.is_answer:
                    comments[result.name].auto_comment = result.comment
            db.flush()
            db.expire_all()
            notebook.late_submission_penalty = self._penalty(student, notebook.score, submission.total_seconds_late)
            marks = _marks(notebook)
            db.commit()
            return marks
        except BaseException:
            db.rollback()
            raise
        finally:
            db.remove()  # memory stays level however many come

    def marks(self, student):
        """Return the ``Marks`` of ``student``, or None if the gradebook has no submission of theirs."""
        try:
            return _marks(self.gradebook.find_submission_notebook(self.topic, self.topic, student))
        except MissingEntry:
            return None
        finally:
            self.gradebook.db.remove()

    def _submitted(self, db, student):
        """Return nbgrader's entry for the notebook of ``student``: the one there is, or a new one with all its cells."""
        with contextlib.suppress(MissingEntry):
            return self.gradebook.find_submission_notebook(self.topic, self.topic, student)
        assignment = self.gradebook.find_assignment(self.topic)
        person = db.get(Student, student)
        if person is None:
            person = Student(id=student)
            db.add(person)
        submission = SubmittedAssignment(assignment=assignment, student=person)
        for notebook in assignment.notebooks:
            entry = SubmittedNotebook(notebook=notebook, assignment=submission)
            for cell in notebook.grade_cells:
                Grade(cell_id=cell.id, notebook=entry)
            for cell in notebook.solution_cells:
                Comment(cell_id=cell.id, notebook=entry)
        db.add(submission)
        db.flush()
        return self.gradebook.find_submission_notebook(self.topic, self.topic, student)

    def _penalty(self, student, score, seconds_late):
        """Return what the course's own rule takes off, or None; as nbgrader, between 0 and the score."""
        penalty = self.late_penalty(student, score, seconds_late) if seconds_late > 0 else None
        return None if penalty is None else min(max(penalty, 0), score)


def _enter(grade, result, told):
    """Enter a cell's result. A person looks again where nothing was marked, or where what was marked has changed."""
    was_marked = grade.manual_score is not None and not grade.needs_manual_grade
    same = told == result.text if result.text else grade.auto_score == result.auto_score
    grade.needs_manual_grade = not (was_marked and same) and (
        grade.manual_score is not None or result.auto_score is None
    )
    grade.auto_score = result.auto_score


def _marks(notebook):
    cells = {
        grade.name: Mark(
            float(grade.score),
            float(grade.max_score),
            grade.auto_score,
            grade.manual_score is not None,
            grade.needs_manual_grade,
        )
        for grade in notebook.grades
    }
    comments = {comment.name: comment.comment for comment in notebook.comments}
    penalty = float(notebook.late_submission_penalty or 0.0)
    return Marks(cells, comments, float(notebook.score), float(notebook.max_score), penalty)


def nbgrader_config(course, topic):
    """Return the course's own nbgrader settings."""
    config = PyFileConfigLoader(str(course.config)).load_config()
    top = Config()
    top.CourseDirectory.root = str(course.root)
    top.CourseDirectory.db_url = course.gradebook
    top.CourseDirectory.assignment_id = topic
    config.merge(top)
    return config
