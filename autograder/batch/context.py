"""What all submissions of one run share, read once.

In: a course, a topic, options. Out: a frozen ``GradingRun``. Reads the course directory.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from traitlets.config.loader import PyFileConfigLoader

from autograder import sandbox
from autograder.courses.course import Course
from autograder.courses.packages import find_versions
from autograder.courses.plan import Assignment, Shown
from autograder.courses.released import Released
from autograder.feedback import page_settings
from autograder.sandbox import Limits

if TYPE_CHECKING:  # a run with nothing to do must not import nbformat
    from autograder.notebooks.handout import Handout


@dataclass(frozen=True)
class GradingOptions:
    """How a class is graded.

    With ``again``, graded submissions are run and recorded once more. A ``dry`` run records nothing and writes neither pages nor
    notebooks. With ``accepts_provisional``, submissions that reached a limit are not run again. ``workers`` is the number of
    processes that run submissions on this machine; by default, one per core.
    """

    limits: Limits = field(default_factory=Limits)
    isolation: str = sandbox.DEFAULT
    feedback: bool = True
    again: bool = False
    dry: bool = False
    accepts_provisional: bool = False
    workers: int | None = None


@dataclass(frozen=True)
class GradingRun:
    """One grading of a class: the course, the assignment and the rules."""

    course: Course
    topic: str
    options: GradingOptions
    released: Released
    assignment: Assignment
    settings: dict[str, Any]  # of nbgrader's pages
    rules: str  # a hash of what pages and penalties depend on
    cost_without_time: str  # in words: what being late by an unknown time costs
    names: Mapping[str, str] = field(default_factory=dict)  # what to call students, by id
    packages: Mapping[str, str] = field(default_factory=dict)  # versions of those that answers may also import

    @property
    def makes_pages(self) -> bool:
        return self.options.feedback and not self.options.dry

    @cached_property
    def handouts(self) -> tuple["Handout", ...]:
        from autograder.notebooks.handout import handout

        return tuple(map(handout, self.released.notebooks))

    def name_of(self, student: str) -> str:
        """Return what the page of ``student`` calls them: the roster's name with the id, or the id alone."""
        return self.names.get(student, student)

    def shown_to(self, student: str) -> Shown:
        """Return how much of the feedback the page of ``student`` shows now."""
        return self.assignment.shown_to(student, datetime.now(UTC))

    def state_of(self, key: str, beside: dict[str, str]) -> str:
        """Return a text that changes with everything that a recorded submission depends on."""
        return json.dumps([key, self.rules, page_settings.version_key(), beside])


def load_run(course: Course, topic: str, options: GradingOptions, released: Released | None = None) -> GradingRun:
    """Return the ``GradingRun`` of ``topic`` in ``course``. Pass ``released`` if it has been loaded already.

    Raises ``CourseError`` if ``topic`` was not released, or course.toml cannot be understood, or names a package that is
    not installed.
    """
    plan = course.plan()
    rules = course.config.read_bytes() + plan.lateness(topic).encode()
    return GradingRun(
        course,
        topic,
        options,
        released or course.releases(topic).load(),
        plan.assignment(topic),
        page_settings.from_config(PyFileConfigLoader(str(course.config)).load_config()),
        hashlib.sha256(rules).hexdigest(),
        f"{plan.late.cost_without_time()} See `collect {topic} --times`.",
        plan.names_by_id(),
        find_versions(plan.packages),
    )
