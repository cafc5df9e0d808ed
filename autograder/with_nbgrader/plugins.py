"""This course's plugins for nbgrader: the late rule of course.toml, and an export that lists what is still to be marked.

In: a score and how late it is, or the gradebook. Out: the deducted points, or one CSV file with a row for each assignment and
student. Reads course.toml.
"""

import csv
from pathlib import Path

from nbgrader.api import Gradebook, MissingEntry
from nbgrader.plugins import ExportPlugin, LateSubmissionPlugin

from autograder.courses.plan import read_plan
from autograder.platforms.export import escape_formula

COLUMNS: tuple[str, ...] = ("assignment", "duedate", "timestamp", "student_id", "last_name", "first_name", "email")
COLUMNS += ("raw_score", "late_submission_penalty", "score", "max_score", "needs_marking")


class LateRule(LateSubmissionPlugin):
    """The late rule of course.toml; if it deducts nothing, nbgrader's setting ``penalty_method`` decides."""

    def late_submission_penalty(self, student_id: str, score: float, total_seconds_late: float) -> float | None:
        rule = _read_plan(self).late
        if not rule.percent_a_day:
            return super().late_submission_penalty(student_id, score, total_seconds_late)
        return rule.penalty(score, total_seconds_late) or None


class CsvExport(ExportPlugin):
    """nbgrader's own columns, and ``needs_marking``: the exercises that are still to be marked."""

    def export(self, gradebook: Gradebook) -> None:
        target = Path(self.to or "grades.csv")
        draft = target.with_name(target.name + ".draft")
        with draft.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS)
            writer.writeheader()
            for assignment in gradebook.assignments:
                for student in gradebook.students:
                    if _is_selected(assignment.name, self.assignment) and _is_selected(student.id, self.student):
                        writer.writerow(_row(gradebook, assignment, student))
        draft.replace(target)
        self.log.info("Exported grades to %s", target)


def _read_plan(plugin):
    return read_plan(str(plugin.config.get("CourseDirectory", {}).get("root") or Path.cwd()))  # where commands run


def _is_selected(name, names):
    return not names or name in map(str, names)


def _row(gradebook, assignment, student):
    about = {"student_id": student.id} | {name: getattr(student, name) for name in ("last_name", "first_name", "email")}
    row = {name: text and escape_formula(text) for name, text in about.items()}
    row |= {"assignment": assignment.name, "duedate": assignment.duedate}
    row |= {"raw_score": 0.0, "late_submission_penalty": 0.0, "score": 0.0}
    row["max_score"] = sum(cell.max_score for notebook in assignment.notebooks for cell in notebook.grade_cells)
    try:
        submission = gradebook.find_submission(assignment.name, student.id)
    except MissingEntry:
        return row
    penalty = submission.late_submission_penalty
    grades = [grade for notebook in submission.notebooks for grade in notebook.grades]
    waiting = sorted(grade.name for grade in grades if grade.needs_manual_grade)
    score = sum(grade.score for grade in grades)
    row |= {"timestamp": submission.timestamp, "raw_score": score, "late_submission_penalty": penalty}
    return row | {"score": max(0.0, score - penalty), "needs_marking": "; ".join(waiting)}
