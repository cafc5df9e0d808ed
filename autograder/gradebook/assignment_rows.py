"""The rows of one assignment in nbgrader's gradebook: its notebooks and cells, and those of each submission.

In: an open connection or session; then the state of a submission. Out: what the rows hold. Writes rows, commits nothing.
"""

from datetime import datetime, timedelta
from functools import cache
from typing import Any

from sqlalchemy import Connection, Row, bindparam, insert, select, update

from autograder.courses.course import Course
from autograder.feedback.marks import CellComment, GradebookEntry, GradebookState
from autograder.gradebook.database import (
    ASSIGNMENT,
    CELL,
    COMMENT,
    GRADE,
    GRADE_CELL,
    NOTEBOOK,
    SOLUTION_CELL,
    STUDENT,
    SUBMITTED_ASSIGNMENT,
    SUBMITTED_NOTEBOOK,
)
from autograder.gradebook.students import name_columns

# The queries for every submission, built once.
SUBMISSION = (
    select(
        SUBMITTED_ASSIGNMENT.c.id.label("submission"),
        SUBMITTED_NOTEBOOK.c.id.label("notebook"),
        SUBMITTED_ASSIGNMENT.c.timestamp,
        SUBMITTED_ASSIGNMENT.c.extension,
        SUBMITTED_NOTEBOOK.c.late_submission_penalty.label("penalty"),
    )
    .join(SUBMITTED_NOTEBOOK, SUBMITTED_NOTEBOOK.c.assignment_id == SUBMITTED_ASSIGNMENT.c.id)
    .where(SUBMITTED_ASSIGNMENT.c.student_id == bindparam("student"))
)
GRADES = select(
    GRADE.c.cell_id, GRADE.c.auto_score, GRADE.c.manual_score, GRADE.c.extra_credit, GRADE.c.needs_manual_grade
).where(GRADE.c.notebook_id == bindparam("notebook"))
COMMENTS = select(COMMENT.c.cell_id, COMMENT.c.auto_comment, COMMENT.c.manual_comment).where(
    COMMENT.c.notebook_id == bindparam("notebook")
)
STUDENT_ID = select(STUDENT.c.id).where(STUDENT.c.id == bindparam("student"))
ASSIGNMENT_OF_TOPIC = select(ASSIGNMENT.c.id, ASSIGNMENT.c.duedate).where(ASSIGNMENT.c.name == bindparam("topic"))
NOTEBOOKS = select(NOTEBOOK.c.id, NOTEBOOK.c.name).where(NOTEBOOK.c.assignment_id == bindparam("assignment"))
GRADE_CELLS, SOLUTION_CELLS = (
    select(CELL.c.notebook_id, CELL.c.name, CELL.c.id, *more)
    .join(kind, kind.c.id == CELL.c.id)
    .where(CELL.c.notebook_id.in_(bindparam("notebooks", expanding=True)))
    for kind, more in ((GRADE_CELL, [GRADE_CELL.c.max_score]), (SOLUTION_CELL, []))
)


@cache
def _insert_statements():
    """Return the statements that insert rows into nbgrader's tables, with nbgrader's defaults."""
    from nbgrader.api import Comment, Grade, Student, SubmittedAssignment, SubmittedNotebook

    models = {"student": Student, "submission": SubmittedAssignment, "notebook": SubmittedNotebook}
    models |= {"grade": Grade, "comment": Comment}
    return {name: insert(model.__table__) for name, model in models.items()}


class AssignmentRows:
    """The rows of ``topic``, read once through ``connection``. Methods take the connection or session ``db`` that they use."""

    def __init__(self, course: Course, topic: str, connection: Connection) -> None:
        assignment = connection.execute(ASSIGNMENT_OF_TOPIC, {"topic": topic}).one()
        notebooks = connection.execute(NOTEBOOKS, {"assignment": assignment.id}).all()
        self.course, self.due = course, assignment.duedate
        self.assignment_id, self.notebook_id = assignment.id, next(n.id for n in notebooks if n.name == topic)
        self.cells: dict[str, tuple[dict[str, str], dict[str, str]]] = {row.id: ({}, {}) for row in notebooks}
        self.points: dict[str, float] = {}
        for row in connection.execute(GRADE_CELLS, {"notebooks": list(self.cells)}):
            self.cells[row.notebook_id][0][row.name] = row.id
            if row.notebook_id == self.notebook_id:
                self.points[row.name] = float(row.max_score)
        for row in connection.execute(SOLUTION_CELLS, {"notebooks": list(self.cells)}):
            self.cells[row.notebook_id][1][row.name] = row.id
        self.submission_of = SUBMISSION.where(
            SUBMITTED_ASSIGNMENT.c.assignment_id == self.assignment_id,
            SUBMITTED_NOTEBOOK.c.notebook_id == self.notebook_id,
        )
        graded, answers = (list(cells.values()) for cells in self.cells[self.notebook_id])
        # nbgrader's index begins with the cell: without naming the cells, every row of the class would be scanned
        self.grades_of = GRADES.where(GRADE.c.cell_id.in_(graded))
        self.comments_of = COMMENTS.where(COMMENT.c.cell_id.in_(answers))

    def find_submission(self, db: Any, student: str) -> Row[Any] | None:
        """Return the ids, the time and the penalty of the student's submission in the gradebook, or None."""
        return db.execute(self.submission_of, {"student": student}).first()

    def read_state(self, db: Any, existing: Row[Any] | None, due: datetime | None) -> GradebookState:
        """Return the state in the gradebook of the submission ``existing``, or of a new one. It is due at ``due``."""
        graded, answers = self.cells[self.notebook_id]
        due_text = due.isoformat() if due else ""
        if existing is None:
            entries = {name: GradebookEntry(self.points[name]) for name in graded}
            return GradebookState(entries, {name: CellComment() for name in answers}, due=due_text)
        rows = {row[0]: row[1:] for row in db.execute(self.grades_of, {"notebook": existing.notebook})}
        entries = {name: GradebookEntry(self.points[name], *rows[cell]) for name, cell in graded.items()}
        comment_rows = {row[0]: row[1:] for row in db.execute(self.comments_of, {"notebook": existing.notebook})}
        comments = {name: CellComment(*comment_rows[cell]) for name, cell in answers.items()}
        came = existing.timestamp.isoformat() if existing.timestamp else ""
        return GradebookState(entries, comments, existing.penalty or 0.0, False, came, due_text)

    def insert(
        self,
        db: Any,
        student: str,
        state: GradebookState,
        when: datetime | None,
        extension: timedelta | None,
        penalty: float | None,
    ) -> None:
        """Insert the rows that ``Gradebook.add_submission`` would add, with their values."""
        from nbgrader.api import new_uuid

        new, submission = _insert_statements(), new_uuid()
        if db.execute(STUDENT_ID, {"student": student}).first() is None:
            listed = next((person for person in self.course.plan().students if person.id == student), None)
            db.execute(new["student"], [{"id": student, **(name_columns(listed) if listed else {})}])
        row = {"id": submission, "assignment_id": self.assignment_id, "student_id": student, "timestamp": when}
        row["extension"] = extension
        db.execute(new["submission"], [row])
        notebooks = {notebook: new_uuid() for notebook in self.cells}
        rows = [{"id": entry, "notebook_id": notebook} for notebook, entry in notebooks.items()]
        db.execute(new["notebook"], [{**row, "assignment_id": submission} for row in rows])
        this = notebooks[self.notebook_id]
        if penalty is not None:
            set_penalty(db, this, penalty)
        grades, comments = [], []
        for notebook, (graded, answers) in self.cells.items():
            known = notebook == self.notebook_id
            for name, cell in graded.items():
                row = _grade_columns(state.entries[name]) if known else {}
                grades.append({"cell_id": cell, "notebook_id": notebooks[notebook], **row})
            for name, cell in answers.items():
                row = {"auto_comment": state.comments[name].automatic} if known else {}
                comments.append({"cell_id": cell, "notebook_id": notebooks[notebook], **row})
        db.execute(new["grade"], grades)
        db.execute(new["comment"], comments)

    def update(
        self,
        db: Any,
        existing: Row[Any],
        state: GradebookState,
        before: GradebookState,
        when: datetime | None,
        extension: timedelta | None,
        penalty: float | None,
    ) -> None:
        """Update the rows of a submission that differ from ``before``."""
        if (when, extension) != (existing.timestamp, existing.extension):
            changed = update(SUBMITTED_ASSIGNMENT).where(SUBMITTED_ASSIGNMENT.c.id == existing.submission)
            db.execute(changed.values(timestamp=when, extension=extension))
        if penalty != existing.penalty:
            set_penalty(db, existing.notebook, penalty)
        graded, answers = self.cells[self.notebook_id]
        for name, entry in state.entries.items():
            if entry != before.entries[name]:
                place = GRADE.c.cell_id == graded[name], GRADE.c.notebook_id == existing.notebook
                db.execute(update(GRADE).where(*place).values(**_grade_columns(entry)))
        for name, comment in state.comments.items():
            if comment != before.comments[name]:
                place = COMMENT.c.cell_id == answers[name], COMMENT.c.notebook_id == existing.notebook
                db.execute(update(COMMENT).where(*place).values(auto_comment=comment.automatic))


def set_penalty(db: Any, notebook: str, penalty: float | None) -> None:
    """Write the late ``penalty`` of a submitted ``notebook``, given by its id."""
    changed = update(SUBMITTED_NOTEBOOK).where(SUBMITTED_NOTEBOOK.c.id == notebook)
    db.execute(changed.values(late_submission_penalty=penalty))


def _grade_columns(entry):
    """Return the columns of nbgrader's Grade that the grader sets."""
    return {"auto_score": entry.automatic, "needs_manual_grade": entry.waiting}
