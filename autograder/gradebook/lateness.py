"""When submissions arrived, when they were due, and what the course's rule deducts for being late.

In: a course, a topic; times and points. Out: due dates and penalties. ``update_penalties`` writes the penalties of students
whose marks a person has just changed into nbgrader's gradebook.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any

from traitlets.config import Config
from traitlets.config.loader import PyFileConfigLoader

from autograder.courses.course import TIMESTAMP, Course
from autograder.courses.plan import as_naive_utc

if TYPE_CHECKING:
    from nbgrader.api import Gradebook

NBGRADER_TIMESTAMP = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{6})?) UTC")
LATE_PLUGIN = "autograder.with_nbgrader.plugins.LateRule"  # it applies course.toml's rule


@dataclass(frozen=True)
class ReceivedTime:
    """When a submission arrived, from the ``timestamp.txt`` beside it; ``problem`` says why that cannot be read.

    ``is_earliest`` is set if the platform said only that it was late: it arrived at ``time`` or later. ``is_another`` is set
    if the gradebook's time belongs to another attempt.
    """

    text: str = ""
    time: datetime | None = None
    problem: str = ""
    is_earliest: bool = False
    is_another: bool = False


def parse_received(text: str) -> ReceivedTime:
    """Return the ``ReceivedTime`` that the ``text`` of a ``timestamp.txt`` states."""
    stated = text.strip()
    try:
        if not stated:
            return ReceivedTime(text)
        if usual := NBGRADER_TIMESTAMP.fullmatch(stated):
            return ReceivedTime(text, datetime.fromisoformat(usual[1]))
        from nbgrader.utils import parse_utc

        return ReceivedTime(text, parse_utc(stated))
    except (ValueError, OverflowError, TypeError, AttributeError):
        problem = f"{TIMESTAMP} contains no readable time; the submission does not count as late."
        return ReceivedTime(text, None, problem)


class Lateness:
    """The due dates of ``topic`` and the penalties by the course's rule. ``due`` is the gradebook's date, in UTC.

    The due date and extensions in course.toml override the gradebook's.
    """

    def __init__(self, course: Course, topic: str, due: datetime | None, config: Config) -> None:
        self.plan = course.plan().assignment(topic)
        self.due = due if self.plan.due is None else as_naive_utc(self.plan.due)
        self._late_rule, self._config = course.plan().late, config

    def extension(self, student: str, in_gradebook: timedelta | None) -> timedelta | None:
        """Return the extension of ``student``."""
        return in_gradebook if self.plan.due is None else self.plan.extension(student)

    def due_for(self, student: str, in_gradebook: timedelta | None) -> datetime | None:
        """Return when the work of ``student`` is due, in UTC; None if it never is."""
        return self.due and self.due + (self.extension(student, in_gradebook) or timedelta())

    @property
    def rules(self) -> dict[str, Any]:
        """The due dates of all and of sections, in UTC, and the late rule: course.toml's, or the plugin of nbgrader's settings."""
        late: dict[str, Any] = asdict(self._late_rule)
        if not self._is_of_plan:
            late = {"plugin": str(self._config.AssignLatePenalties.get("plugin_class", "nbgrader's own"))}
        own = {name: rule.due for name, rule in sorted(self.plan.sections.items()) if rule.due}
        sections = {name: as_naive_utc(due).isoformat(" ") for name, due in own.items()}
        return {"due": self.due.isoformat(" ") if self.due else "", "sections": sections, "late": late}

    @property
    def _is_of_plan(self) -> bool:
        """Whether course.toml's rule decides: the plugin may be another, or follow nbgrader's settings where that rule is none."""
        is_ours = self._config.AssignLatePenalties.get("plugin_class") == LATE_PLUGIN
        has_settings = self._config.LateSubmissionPlugin or self._config.LateRule
        return bool(is_ours and (self._late_rule.percent_a_day or not has_settings))

    @cached_property
    def _rule(self) -> Callable[[str, float, float], float | None]:
        """The penalty function: usually course.toml's rule, which does not need nbgrader, or else nbgrader's late plugin."""
        if self._is_of_plan:
            return lambda student, score, seconds: self._late_rule.penalty(score, seconds) or None
        from nbgrader.preprocessors import AssignLatePenalties

        late: Any = AssignLatePenalties(config=self._config)
        late.init_plugin()
        return late.plugin_inst.late_submission_penalty

    def penalty(self, student: str, score: float, came: datetime | None, due: datetime | None) -> float | None:
        """Return the deduction from ``score``, between 0 and all of it; None if the submission was not late."""
        late_seconds = (came - due).total_seconds() if came and due else 0.0
        penalty = self._rule(student, score, late_seconds) if late_seconds > 0 else None
        return None if penalty is None else min(max(penalty, 0), score)


def nbgrader_config(course: Course, topic: str) -> Config:
    """Return the course's own nbgrader settings."""
    config = PyFileConfigLoader(str(course.config)).load_config()
    top = Config()
    top.CourseDirectory.root = str(course.root)
    top.CourseDirectory.db_url = course.gradebook.url
    top.CourseDirectory.assignment_id = topic
    config.merge(top)
    return config


def update_penalties(course: Course, topic: str, gradebook: "Gradebook", students: Iterable[str]) -> None:
    """Recompute the late penalties of ``students``, whose marks have changed. The caller commits.

    Raises ``CourseError`` if course.toml cannot be understood.
    """
    from nbgrader.api import MissingEntry

    assignment: Any = gradebook.find_assignment(topic)
    lateness = Lateness(course, topic, assignment.duedate, nbgrader_config(course, topic))
    for student in students:
        try:
            notebook: Any = gradebook.find_submission_notebook(topic, topic, student)
        except MissingEntry:
            continue
        submission = notebook.assignment
        due = lateness.due_for(student, submission.extension)
        notebook.late_submission_penalty = lateness.penalty(student, notebook.score, submission.timestamp, due)
