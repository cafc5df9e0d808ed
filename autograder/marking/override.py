"""Override one student's points for an automatically graded exercise if a person finds that the grader was wrong.

Points and reason become nbgrader's manual score and comment, which later gradings keep.
"""

import math
from typing import Any

from nbgrader.api import MissingEntry

from autograder.courses.course import Course
from autograder.courses.locking import shared_lock
from autograder.errors import CourseError
from autograder.gradebook.backup import back_up
from autograder.gradebook.database import open_gradebook
from autograder.gradebook.lateness import update_penalties
from autograder.gradebook.provenance import OVERRIDDEN
from autograder.gradebook.scores import require_gradebook
from autograder.notebooks.cell_ids import full_name, points_id
from autograder.paths import format_command


def override(
    course: Course, topic: str, exercise: str, student: str, points: float | None, reason: str = ""
) -> tuple[float, float]:
    """Replace the points that the grader gave with ``points``; return ``(points before, points now)``.

    After the next `grade`, the feedback page says that a person has marked the exercise, and gives the ``reason``. If a
    later grading comes to another verdict, the points stay, and the exercise waits for review. With ``points`` None,
    the grader's own points count again. Raises CourseError if the exercise or the student is unknown, the points are
    out of range, the reason is missing, or a class is being graded.
    """
    name = full_name(topic, exercise)
    exercises = {exercise.name: exercise for exercise in course.releases(topic).load().exercises}
    if name not in exercises:
        remedy = f"name one of {', '.join(name.partition('-')[2] for name in exercises)}."
        raise CourseError(f"{topic} has no exercise {exercise!r}", str(course.root), remedy)
    if not exercises[name].is_automatic:
        command = format_command(f"mark {topic} {name.partition('-')[2]} --student {student}", course.root)
        remedy = f"run `{command}` alone: it shows the answer, to be marked again."
        raise CourseError(f"{name} is a written answer", "--student", remedy)
    most = exercises[name].points
    if points is not None and not (math.isfinite(points) and 0 <= points <= most):
        raise CourseError(f"{name} is worth {most:g} points, not {points:g}", "--points", f"give 0 to {most:g}.")
    if points is not None and not reason.strip():
        remedy = "say why: the student will read it."
        raise CourseError("no reason was given for changing the points", "--reason", remedy)
    require_gradebook(course, topic)
    back_up(course, "mark")
    with shared_lock(course), open_gradebook(course) as gradebook:
        try:
            grade: Any = gradebook.find_grade(points_id(exercises[name]), topic, topic, student)
            comment: Any = gradebook.find_comment(name, topic, topic, student)
        except MissingEntry:
            remedy = "look for the name in the table that `grade` prints."
            raise CourseError(f"nothing from {student!r} has been graded for {topic}", "--student", remedy) from None
        before = float(grade.score)
        grade.manual_score, grade.needs_manual_grade = points, False
        comment.manual_comment = reason.strip() or None if points is not None else None
        gradebook.db.flush()
        update_penalties(course, topic, gradebook, [student])
        gradebook.db.commit()
        now = float(grade.score)
        data = {"exercise": name, "before": before, "points": points, "reason": reason.strip()}
        course.record.add(topic, student, (OVERRIDDEN, data))
        return before, now
