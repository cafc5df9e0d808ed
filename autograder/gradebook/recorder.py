"""Record the results of submissions in nbgrader's gradebook, and read what it holds.

In: a course, a topic; then the results of each student. Out: marks. Writes the gradebook with one connection and one
transaction per submission, so that each is recorded completely or not at all.
"""

import contextlib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from functools import cache, cached_property
from typing import Self

from sqlalchemy import bindparam, insert, select, update
from sqlalchemy.exc import DatabaseError

from autograder.courses.course import Course
from autograder.courses.plan import Student, as_naive_utc
from autograder.errors import CourseError
from autograder.feedback.marks import CellComment, CellResult, GradebookEntry, GradebookState, Marks, merge_results
from autograder.gradebook.assignments import has_assignment, store_assignment, store_due_dates
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
    database_errors,
    describe_db_error,
    open_connection,
    open_database,
    open_gradebook,
    without_order_warnings,
)
from autograder.gradebook.lateness import Lateness, ReceivedTime, nbgrader_config
from autograder.gradebook.requests import load_replies
from autograder.paths import format_command, prepare_for_alembic

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
NAME_COLUMNS = (STUDENT.c.id, STUDENT.c.first_name, STUDENT.c.last_name, STUDENT.c.email)
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


class Recorder(contextlib.ExitStack):
    """A context in which one thread records submissions of ``topic``. A ``dry`` one records nothing, and only previews."""

    def __init__(self, course: Course, topic: str, dry: bool = False):
        super().__init__()
        self.course, self.topic, self.dry = course, topic, dry

    def __enter__(self) -> Self:
        super().__enter__()
        prepare_for_alembic()
        self.config = nbgrader_config(self.course, self.topic)
        if self.dry and not has_assignment(self.course, self.topic):
            raise CourseError(
                "the gradebook does not have this assignment as it was released, so there is nothing to compare with",
                str(self.course.root),
                f"run `{format_command(f'grade {self.topic}', self.course.root)}` without --dry-run to put it there.",
            )
        self.was_restored = not self.dry and store_assignment(self.course, self.topic)
        if not self.dry:
            store_due_dates(self.course, self.topic)
            store_names(self.course)
        self.engine = open_database(self.course)
        self.callback(self.engine.dispose)
        with database_errors(self.course), self.engine.connect() as connection:
            self._load_assignment(connection)
        return self

    @cached_property
    def _session(self):
        """nbgrader's database session for writing, opened on first use."""
        from nbgrader.api import Gradebook, InvalidEntry
        from nbgrader.coursedir import CourseDirectory

        try:
            gradebook = Gradebook(self.course.gradebook.url, CourseDirectory(config=self.config).course_id)
        except (InvalidEntry, DatabaseError) as error:
            raise CourseError(*describe_db_error(error, self.course)) from None
        self.callback(gradebook.close)
        return gradebook.db

    def current_state(self, student: str, received: ReceivedTime | None = None) -> GradebookState:
        """Return the ``GradebookState`` of ``student``: all rows of the gradebook for this submission.

        ``received`` says when the submission being graded arrived, if that differs from the gradebook's time.
        """
        with self.engine.connect() as connection:
            existing = self._find_submission(connection, student)
            state = self._read_state(connection, student, existing)
        state = self._add_course_facts(state, student)
        return state if received is None else _set_times(state, _choose_time(existing, received), received)

    def update_penalty(self, student: str, state: GradebookState) -> Marks:
        """Recompute the late penalty, since a person may have changed marks in ``state``; return the resulting marks."""
        penalty = self._penalty(student, state)
        if (penalty or 0.0) != state.late_penalty and not self.dry:
            with self._transaction() as db:
                if existing := self._find_submission(db, student):
                    self._set_penalty(db, existing.notebook, penalty)
        return replace(state, late_penalty=penalty or 0.0).marks

    def record(
        self, student: str, results: Iterable[CellResult], received: ReceivedTime, texts: Mapping[str, str]
    ) -> Marks:
        """Record the cells' ``results`` of ``student``; return the resulting ``Marks``. ``texts`` as in ``merge_results``."""
        if self.dry:
            raise RuntimeError("a dry recorder records nothing")
        with self._transaction() as db:
            existing, before, state, when, penalty = self._compute_state(db, student, results, received, texts)
            if existing:
                self._update_submission(db, student, existing, state, before, when, penalty)
            else:
                self._insert_submission(db, student, state, when, penalty)
        return state.marks

    @contextlib.contextmanager
    def _transaction(self):
        """Yield a session that is committed at the end, or rolled back on an error."""
        db = self._session
        with without_order_warnings():
            try:
                yield db
                db.commit()
            except BaseException:
                db.rollback()
                raise
            finally:
                db.remove()  # keeps memory use constant, however many submissions follow

    def preview(
        self, student: str, results: Iterable[CellResult], received: ReceivedTime, texts: Mapping[str, str]
    ) -> Marks:
        """Return the ``Marks`` that ``record`` would return, and write nothing."""
        with self.engine.connect() as connection:
            return self._compute_state(connection, student, results, received, texts)[2].marks

    def _compute_state(self, db, student, results, received, texts):
        """Return the existing rows, their state, the new state, when the submission arrived, and the late penalty."""
        existing = self._find_submission(db, student)
        before = self._read_state(db, student, existing)
        when = _choose_time(existing, received)
        before = self._add_course_facts(before, student)
        state = _set_times(merge_results(before, results, texts), when, received)
        penalty = self._penalty(student, state)
        return existing, before, replace(state, late_penalty=penalty or 0.0), when, penalty

    def _add_course_facts(self, state, student):
        """Return ``state`` with facts about ``student`` that are not in the gradebook."""
        replies, until = load_replies(self.course, self.topic, student), self.lateness.plan.full_feedback_from(student)
        full_from = as_naive_utc(until).isoformat() if until else ""
        return replace(state, replies=replies, full_from=full_from)

    def _load_assignment(self, connection):
        """Read the rows that all submissions share: the assignment, its notebooks and their cells."""
        assignment = connection.execute(ASSIGNMENT_OF_TOPIC, {"topic": self.topic}).one()
        notebooks = connection.execute(NOTEBOOKS, {"assignment": assignment.id}).all()
        self.assignment_id, self.notebook_id = assignment.id, next(n.id for n in notebooks if n.name == self.topic)
        self.lateness = Lateness(self.course, self.topic, assignment.duedate, self.config)
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

    def _find_submission(self, db, student):
        """Return the ids, the time and the penalty of the student's submission in the gradebook, or None."""
        return db.execute(self.submission_of, {"student": student}).first()

    def _read_state(self, db, student, existing):
        graded, answers = self.cells[self.notebook_id]
        due_date = self.lateness.due_for(student, existing.extension if existing else None)
        due = due_date.isoformat() if due_date else ""
        if existing is None:
            entries = {name: GradebookEntry(self.points[name]) for name in graded}
            return GradebookState(entries, {name: CellComment() for name in answers}, due=due)
        rows = {row[0]: row[1:] for row in db.execute(self.grades_of, {"notebook": existing.notebook})}
        entries = {name: GradebookEntry(self.points[name], *rows[cell]) for name, cell in graded.items()}
        comment_rows = {row[0]: row[1:] for row in db.execute(self.comments_of, {"notebook": existing.notebook})}
        comments = {name: CellComment(*comment_rows[cell]) for name, cell in answers.items()}
        came = existing.timestamp.isoformat() if existing.timestamp else ""
        return GradebookState(entries, comments, existing.penalty or 0.0, False, came, due)

    def _insert_submission(self, db, student, state, when, penalty):
        """Insert the rows that ``Gradebook.add_submission`` would add, with their values."""
        from nbgrader.api import new_uuid

        new, submission = _insert_statements(), new_uuid()
        if db.execute(STUDENT_ID, {"student": student}).first() is None:
            listed = next((person for person in self.course.plan().students if person.id == student), None)
            db.execute(new["student"], [{"id": student, **(name_columns(listed) if listed else {})}])
        row = {"id": submission, "assignment_id": self.assignment_id, "student_id": student, "timestamp": when}
        row["extension"] = self.lateness.extension(student, None)
        db.execute(new["submission"], [row])
        notebooks = {notebook: new_uuid() for notebook in self.cells}
        rows = [{"id": entry, "notebook_id": notebook} for notebook, entry in notebooks.items()]
        db.execute(new["notebook"], [{**row, "assignment_id": submission} for row in rows])
        this = notebooks[self.notebook_id]
        if penalty is not None:
            self._set_penalty(db, this, penalty)
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

    def _update_submission(self, db, student, existing, state, before, when, penalty):
        """Update the rows of a submission that differ from ``before``."""
        extension = self.lateness.extension(student, existing.extension)
        if (when, extension) != (existing.timestamp, existing.extension):
            changed = update(SUBMITTED_ASSIGNMENT).where(SUBMITTED_ASSIGNMENT.c.id == existing.submission)
            db.execute(changed.values(timestamp=when, extension=extension))
        if penalty != existing.penalty:
            self._set_penalty(db, existing.notebook, penalty)
        graded, answers = self.cells[self.notebook_id]
        for name, entry in state.entries.items():
            if entry != before.entries[name]:
                place = GRADE.c.cell_id == graded[name], GRADE.c.notebook_id == existing.notebook
                db.execute(update(GRADE).where(*place).values(**_grade_columns(entry)))
        for name, comment in state.comments.items():
            if comment != before.comments[name]:
                place = COMMENT.c.cell_id == answers[name], COMMENT.c.notebook_id == existing.notebook
                db.execute(update(COMMENT).where(*place).values(auto_comment=comment.automatic))

    def _set_penalty(self, db, notebook, penalty):
        changed = update(SUBMITTED_NOTEBOOK).where(SUBMITTED_NOTEBOOK.c.id == notebook)
        db.execute(changed.values(late_submission_penalty=penalty))

    def _penalty(self, student, state):
        came, due = (datetime.fromisoformat(when) if when else None for when in (state.received_at, state.due))
        return self.lateness.penalty(student, state.marks.score, came, due)


def _choose_time(existing, received):
    """Return when the submission arrived; None if it has no time, even if the gradebook has that of another attempt."""
    return received.time or (existing.timestamp if existing and not received.is_another else None)


def _set_times(state, when, received):
    return replace(state, received_at=when.isoformat() if when else "", is_earliest=received.is_earliest)


def _grade_columns(entry):
    """Return the columns of nbgrader's Grade that the grader sets."""
    return {"auto_score": entry.automatic, "needs_manual_grade": entry.waiting}


def store_names(course: Course) -> None:
    """Store the roster's names and e-mail addresses in the gradebook, for `nbgrader export` and the formgrader.

    Fields that the roster lacks stay as they are.
    """
    listed = {student.id: about for student in course.plan().students if (about := name_columns(student))}
    if not listed:
        return
    with open_connection(course) as connection:
        known = {row.id: row._asdict() for row in connection.execute(select(*NAME_COLUMNS))}
    changed = {
        name: about for name, about in listed.items() if name in known and not about.items() <= known[name].items()
    }
    if not changed:
        return
    with open_gradebook(course) as gradebook:
        for name, about in changed.items():
            gradebook.db.execute(update(STUDENT).where(STUDENT.c.id == name).values(**about))
        gradebook.db.commit()


def name_columns(student: Student) -> dict[str, str]:
    """Return nbgrader's columns for ``student``, as far as the roster has them: "King, Ada" and "Ada King" are the same."""
    last, comma, first = student.name.partition(",")
    if not comma:
        first, _, last = student.name.rpartition(" ")
    about = {"first_name": first.strip(), "last_name": last.strip(), "email": student.email}
    return {name: text for name, text in about.items() if text}
