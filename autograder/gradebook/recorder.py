"""Record the results of submissions in nbgrader's gradebook, and read what it holds.

In: a course, a topic; then the results of each student. Out: marks. Writes the gradebook with one connection and one
transaction per submission, so that each is recorded completely or not at all.
"""

import contextlib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from typing import Self

from sqlalchemy.exc import DatabaseError

from autograder.courses.course import Course
from autograder.courses.plan import as_naive_utc
from autograder.errors import CourseError
from autograder.feedback.marks import CellResult, GradebookState, Marks, merge_results
from autograder.gradebook.assignment_rows import AssignmentRows, set_penalty
from autograder.gradebook.assignments import has_assignment, store_assignment, store_due_dates
from autograder.gradebook.database import (
    database_errors,
    describe_db_error,
    open_database,
    without_order_warnings,
)
from autograder.gradebook.lateness import Lateness, ReceivedTime, nbgrader_config
from autograder.gradebook.requests import load_replies
from autograder.gradebook.students import store_names
from autograder.paths import format_command, prepare_for_alembic


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
            self.rows = AssignmentRows(self.course, self.topic, connection)
        self.lateness = Lateness(self.course, self.topic, self.rows.due, self.config)
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
            existing = self.rows.find_submission(connection, student)
            state = self._read_state(connection, student, existing)
        return state if received is None else _set_times(state, _choose_time(existing, received), received)

    def update_penalty(self, student: str, state: GradebookState) -> Marks:
        """Recompute the late penalty, since a person may have changed marks in ``state``; return the resulting marks."""
        penalty = self._penalty(student, state)
        if (penalty or 0.0) != state.late_penalty and not self.dry:
            with self._transaction() as db:
                if existing := self.rows.find_submission(db, student):
                    set_penalty(db, existing.notebook, penalty)
        return replace(state, late_penalty=penalty or 0.0).marks

    def record(
        self, student: str, results: Iterable[CellResult], received: ReceivedTime, texts: Mapping[str, str]
    ) -> Marks:
        """Record the cells' ``results`` of ``student``; return the resulting ``Marks``. ``texts`` as in ``merge_results``."""
        if self.dry:
            raise RuntimeError("a dry recorder records nothing")
        with self._transaction() as db:
            existing, before, state, when, penalty = self._compute_state(db, student, results, received, texts)
            extension = self.lateness.extension(student, existing.extension if existing else None)
            if existing:
                self.rows.update(db, existing, state, before, when, extension, penalty)
            else:
                self.rows.insert(db, student, state, when, extension, penalty)
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
        existing = self.rows.find_submission(db, student)
        before = self._read_state(db, student, existing)
        when = _choose_time(existing, received)
        state = _set_times(merge_results(before, results, texts), when, received)
        penalty = self._penalty(student, state)
        return existing, before, replace(state, late_penalty=penalty or 0.0), when, penalty

    def _read_state(self, db, student, existing):
        """Return the state of ``student`` with the facts that are not in the gradebook."""
        due = self.lateness.due_for(student, existing.extension if existing else None)
        replies, until = load_replies(self.course, self.topic, student), self.lateness.plan.full_feedback_from(student)
        full_from = as_naive_utc(until).isoformat() if until else ""
        return replace(self.rows.read_state(db, existing, due), replies=replies, full_from=full_from)

    def _penalty(self, student, state):
        came, due = (datetime.fromisoformat(when) if when else None for when in (state.received_at, state.due))
        return self.lateness.penalty(student, state.marks.score, came, due)


def _choose_time(existing, received):
    """Return when the submission arrived; None if it has no time, even if the gradebook has that of another attempt."""
    return received.time or (existing.timestamp if existing and not received.is_another else None)


def _set_times(state, when, received):
    return replace(state, received_at=when.isoformat() if when else "", is_earliest=received.is_earliest)
