"""The late rule of course.toml as nbgrader's plugin for late submissions.

In: a score, how late it is. Out: the deducted points. Reads course.toml.
"""

from pathlib import Path

from nbgrader.plugins import LateSubmissionPlugin

from autograder.courses.plan import read_plan


class LateRule(LateSubmissionPlugin):
    """The late rule of course.toml; if it deducts nothing, nbgrader's setting ``penalty_method`` decides."""

    def late_submission_penalty(self, student_id: str, score: float, total_seconds_late: float) -> float | None:
        root = self.config.get("CourseDirectory", {}).get("root") or Path.cwd()  # where nbgrader's commands run
        rule = read_plan(str(root)).late
        if not rule.percent_a_day:
            return super().late_submission_penalty(student_id, score, total_seconds_late)
        return rule.penalty(score, total_seconds_late) or None
