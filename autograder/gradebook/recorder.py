"""Record what became of a submission in nbgrader's gradebook, and say what the gradebook holds.

In: a course, a topic; then one student's results after the other. Out: marks. Writes the gradebook: one writer, one
connection, one transaction a submission, so that a submission is in it whole or not at all.
"""

import contextlib
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Self

from nbgrader.api import (
    Comment,
    Grade,
    Gradebook,
    InvalidEntry,
    Student,
    SubmittedAssignment,
    SubmittedNotebook,
    new_uuid,
)
from nbgrader.coursedir import CourseDirectory
from sqlalchemy import bindparam, insert, select, update
from sqlalchemy.exc import DatabaseError, SAWarning

from autograder.courses.course import Course
from autograder.errors import CourseError, of_the_gradebook
from autograder.feedback.marks import CellResult, Entry, Marks, Remark, Standing, entered
from autograder.gradebook.assignments import enter_assignment, enter_lateness, is_entered
from autograder.gradebook.lateness import Lateness, Received, nbgrader_config
from autograder.paths import add_environment_to_path

# What is asked and written of every submission, put together once.
SUBMISSION = (
    select(
        SubmittedAssignment.id.label("submission"),
        SubmittedNotebook.id.label("notebook"),
        SubmittedAssignment.timestamp,
        SubmittedAssignment.extension,
        SubmittedNotebook.late_submission_penalty.label("penalty"),
    )
    .join(SubmittedNotebook, SubmittedNotebook.assignment_id == SubmittedAssignment.id)
    .where(SubmittedAssignment.student_id == bindparam("student"))
)
GRADES = select(
    Grade.cell_id, Grade.auto_score, Grade.manual_score, Grade.extra_credit, Grade.needs_manual_grade
).where(Grade.notebook_id == bindparam("notebook"))
COMMENTS = select(Comment.cell_id, Comment.auto_comment, Comment.manual_comment).where(
    Comment.notebook_id == bindparam("notebook")
)
STUDENT = select(Student.id).where(Student.id == bindparam("student"))
NEW = {model: insert(model.__table__) for model in (Student, SubmittedAssignment, SubmittedNotebook, Grade, Comment)}


class Recorder(contextlib.ExitStack):
    """A context in which submissions of ``topic`` are recorded, by one thread. A ``dry`` one only says what it would record."""

    def __init__(self, course: Course, topic: str, dry: bool = False):
        super().__init__()
        self.course, self.topic, self.dry = course, topic, dry

    def __enter__(self) -> Self:
        super().__enter__()
        add_environment_to_path()
        self.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore", SAWarning)  # nbgrader 0.9 adds rows in an order that SQLAlchemy 2 remarks on
        self.config = nbgrader_config(self.course, self.topic)
        if self.dry and not is_entered(self.course, self.topic):
            raise CourseError(
                "the gradebook does not have this assignment as it was released, so there is nothing to compare with",
                str(self.course.root),
                f"run `python -m autograder grade {self.topic}` without --dry-run, which puts it there.",
            )
        self.put_back = not self.dry and enter_assignment(self.course, self.topic)
        if not self.dry:
            enter_lateness(self.course, self.topic)
        name = (
            "" if self.dry else CourseDirectory(config=self.config).course_id
        )  # with a name, it would write that name
        try:
            self.gradebook = Gradebook(self.course.gradebook, name)
        except (InvalidEntry, DatabaseError) as error:
            raise CourseError(*of_the_gradebook(error, self.course)) from None
        self.callback(self.gradebook.close)
        self._learn()
        return self

    def standing(self, student: str, received: Received | None = None) -> Standing:
        """Return the ``Standing`` of ``student``: all rows that the gradebook has for this submission.

        ``received`` says when what is graded now came, if that is another time than the gradebook has.
        """
        try:
            found = self._find(student)
            standing = self._read(student, found)
            return standing if received is None else _with_time(standing, _when(found, received), received)
        finally:
            self.gradebook.db.remove()

    def renew_penalty(self, student: str, standing: Standing) -> Marks:
        """Take off what being late costs now: a person may have changed marks in ``standing``. Return the marks then."""
        penalty = self._penalty(student, standing)
        db = self.gradebook.db
        try:
            if (penalty or 0.0) != standing.late_penalty and not self.dry and (found := self._find(student)):
                self._set_penalty(found.notebook, penalty)
                db.commit()
            return replace(standing, late_penalty=penalty or 0.0).marks
        except BaseException:
            db.rollback()
            raise
        finally:
            db.remove()

    def record(
        self, student: str, results: Iterable[CellResult], received: Received, texts: Mapping[str, str]
    ) -> Marks:
        """Record the cells' ``results`` of ``student``; return the ``Marks`` that the gradebook has then.

        ``texts`` is what ``marks.entered`` asks for.
        """
        if self.dry:
            raise RuntimeError("a dry recorder records nothing")
        db = self.gradebook.db
        try:
            found, before, standing, when, penalty = self._worked_out(student, results, received, texts)
            if found:
                self._change(student, found, standing, before, when, penalty)
            else:
                self._add(student, standing, when, penalty)
            db.commit()
            return standing.marks
        except BaseException:
            db.rollback()
            raise
        finally:
            db.remove()  # memory stays level however many come

    def foreseen(
        self, student: str, results: Iterable[CellResult], received: Received, texts: Mapping[str, str]
    ) -> Marks:
        """Return the ``Marks`` that ``record`` would leave, and write nothing."""
        try:
            return self._worked_out(student, results, received, texts)[2].marks
        finally:
            self.gradebook.db.remove()

    def _worked_out(self, student, results, received, texts):
        """Return the rows found, what they hold, what they shall hold, when it came, and the late penalty."""
        found = self._find(student)
        before = self._read(student, found)
        when = _when(found, received)
        standing = _with_time(entered(before, results, texts), when, received)
        penalty = self._penalty(student, standing)
        return found, before, replace(standing, late_penalty=penalty or 0.0), when, penalty

    def _learn(self):
        """Read once what all submissions share: the rows of the assignment, of its notebooks and of their cells."""
        found = self.gradebook.find_notebook(self.topic, self.topic)
        self.assignment_id, self.notebook_id = found.assignment.id, found.id
        self.lateness = Lateness(self.course, self.topic, found.assignment.duedate, self.config)
        self.points = {cell.name: float(cell.max_score) for cell in found.grade_cells}
        self.cells = {
            notebook.id: tuple(
                {cell.name: cell.id for cell in cells} for cells in (notebook.grade_cells, notebook.solution_cells)
            )
            for notebook in found.assignment.notebooks
        }
        self.submission_of = SUBMISSION.where(
            SubmittedAssignment.assignment_id == self.assignment_id,
            SubmittedNotebook.notebook_id == self.notebook_id,
        )
        graded, answers = (list(cells.values()) for cells in self.cells[self.notebook_id])
        # nbgrader's index begins with the cell: without naming the cells, every row of the class would be looked at
        self.grades_of = GRADES.where(Grade.cell_id.in_(graded))
        self.comments_of = COMMENTS.where(Comment.cell_id.in_(answers))
        self.gradebook.db.remove()

    def _find(self, student):
        """Return the ids, the time and the penalty of what ``student`` has in the gradebook, or None."""
        return self.gradebook.db.execute(self.submission_of, {"student": student}).first()

    def _read(self, student, found):
        graded, answers = self.cells[self.notebook_id]
        due_date = self.lateness.due_for(student, found.extension if found else None)
        due = due_date.isoformat() if due_date else ""
        if found is None:
            entries = {name: Entry(self.points[name]) for name in graded}
            return Standing(entries, {name: Remark() for name in answers}, due=due)
        db = self.gradebook.db
        rows = {row[0]: row[1:] for row in db.execute(self.grades_of, {"notebook": found.notebook})}
        entries = {name: Entry(self.points[name], *rows[cell]) for name, cell in graded.items()}
        said = {row[0]: row[1:] for row in db.execute(self.comments_of, {"notebook": found.notebook})}
        remarks = {name: Remark(*said[cell]) for name, cell in answers.items()}
        came = found.timestamp.isoformat() if found.timestamp else ""
        return Standing(entries, remarks, found.penalty or 0.0, False, came, due)

    def _add(self, student, standing, when, penalty):
        """Add nbgrader's rows for the submission of ``student``: as ``Gradebook.add_submission`` does, but filled in."""
        db, submission = self.gradebook.db, new_uuid()
        if db.execute(STUDENT, {"student": student}).first() is None:
            db.execute(NEW[Student], [{"id": student}])
        row = {"id": submission, "assignment_id": self.assignment_id, "student_id": student, "timestamp": when}
        row["extension"] = self.lateness.extension(student, None)
        db.execute(NEW[SubmittedAssignment], [row])
        notebooks = {notebook: new_uuid() for notebook in self.cells}
        rows = [
            {"id": entry, "assignment_id": submission, "notebook_id": notebook} for notebook, entry in notebooks.items()
        ]
        db.execute(NEW[SubmittedNotebook], rows)
        this = notebooks[self.notebook_id]
        if penalty is not None:
            self._set_penalty(this, penalty)
        grades, comments = [], []
        for notebook, (graded, answers) in self.cells.items():
            known = notebook == self.notebook_id
            for name, cell in graded.items():
                row = _row(standing.entries[name]) if known else {}
                grades.append({"cell_id": cell, "notebook_id": notebooks[notebook], **row})
            for name, cell in answers.items():
                row = {"auto_comment": standing.remarks[name].automatic} if known else {}
                comments.append({"cell_id": cell, "notebook_id": notebooks[notebook], **row})
        db.execute(NEW[Grade], grades)
        db.execute(NEW[Comment], comments)

    def _change(self, student, found, standing, before, when, penalty):
        """Change those rows of a submission that differ from ``before``."""
        db, extension = self.gradebook.db, self.lateness.extension(student, found.extension)
        if (when, extension) != (found.timestamp, found.extension):
            changed = update(SubmittedAssignment).where(SubmittedAssignment.id == found.submission)
            db.execute(changed.values(timestamp=when, extension=extension))
        if penalty != found.penalty:
            self._set_penalty(found.notebook, penalty)
        graded, answers = self.cells[self.notebook_id]
        for name, entry in standing.entries.items():
            if entry != before.entries[name]:
                place = Grade.cell_id == graded[name], Grade.notebook_id == found.notebook
                db.execute(update(Grade).where(*place).values(**_row(entry)))
        for name, remark in standing.remarks.items():
            if remark != before.remarks[name]:
                place = Comment.cell_id == answers[name], Comment.notebook_id == found.notebook
                db.execute(update(Comment).where(*place).values(auto_comment=remark.automatic))

    def _set_penalty(self, notebook, penalty):
        changed = update(SubmittedNotebook).where(SubmittedNotebook.id == notebook)
        self.gradebook.db.execute(changed.values(late_submission_penalty=penalty))

    def _penalty(self, student, standing):
        came, due = (datetime.fromisoformat(when) if when else None for when in (standing.came, standing.due))
        return self.lateness.penalty(student, standing.marks.score, came, due)


def _when(found, received):
    """Return when what is graded now came: an attempt without a time has none, whatever an earlier one had."""
    return received.time or (found.timestamp if found and not received.is_another else None)


def _with_time(standing, when, received):
    return replace(standing, came=when.isoformat() if when else "", is_earliest=received.is_earliest)


def _row(entry):
    """Return the columns of nbgrader's Grade that the grader writes."""
    return {"auto_score": entry.automatic, "needs_manual_grade": entry.waiting}
