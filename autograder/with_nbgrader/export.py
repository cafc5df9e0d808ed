"""Export grades as nbgrader does, with the exercises that are still to be marked.

In: the gradebook, through ``nbgrader export``. Out: one CSV file, a row for each assignment and student.
"""

import csv
from pathlib import Path

from nbgrader.api import Gradebook, MissingEntry
from nbgrader.plugins import ExportPlugin

from autograder.platforms.export import escape_formula

COLUMNS: tuple[str, ...] = ("assignment", "duedate", "timestamp", "student_id", "last_name", "first_name", "email")
COLUMNS += ("raw_score", "late_submission_penalty", "score", "max_score", "needs_marking")


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


def _is_selected(name, names):
    return not names or name in map(str, names)


def _row(gradebook, assignment, student):
    about = {"student_id": student.id} | {name: getattr(student, name) for name in ("last_name", "first_name", "email")}
    row = {name: text and escape_formula(text) for name, text in about.items()}
    row |= {"assignment": assignment.name, "duedate": assignment.duedate}
    row |= {"raw_score": 0.0, "late_submission_penalty": 0.0, "score": 0.0, "max_score": assignment.max_score}
    try:
        submission = gradebook.find_submission(assignment.name, student.id)
    except MissingEntry:
        return row
    penalty = submission.late_submission_penalty
    waiting = [grade.name for notebook in submission.notebooks for grade in notebook.grades if grade.needs_manual_grade]
    row |= {"timestamp": submission.timestamp, "raw_score": submission.score, "late_submission_penalty": penalty}
    return row | {"score": max(0.0, submission.score - penalty), "needs_marking": "; ".join(sorted(waiting))}
