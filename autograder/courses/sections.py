"""Select students by the sections of the roster, and name them as it does.

In: what course.toml and the roster say. Out: ids and names. Touches nothing.
"""

from collections.abc import Collection, Sequence

from autograder.courses.course import Course
from autograder.courses.plan import PLAN_FILE, Plan, Student
from autograder.errors import CourseError
from autograder.feedback.notices import plain

MAX_NAME_CHARACTERS = 60  # characters of a name in a table
Selection = frozenset[str] | None  # ids of students; None for everybody


def select_sections(plan: Plan, sections: Sequence[str] | None) -> Selection:
    """Return the ids of the students in ``sections`` of the roster; None without any, which selects everybody.

    Raises ``CourseError`` if the roster does not have one of them.
    """
    if not sections:
        return None
    known = list_sections(plan.students)
    for section in sections:
        if section not in known:
            remedy = f"name one of {', '.join(known)}." if known else f"fill in its `section` column; see {PLAN_FILE}."
            raise CourseError(f"the roster has no section {section!r}", "--section", remedy)
    return frozenset(student.id for student in plan.students if student.section in sections)


def list_sections(students: Sequence[Student]) -> list[str]:
    """Return the sections that ``students`` are in, sorted."""
    return sorted({student.section for student in students if student.section})


def names_by_id(plan: Plan) -> dict[str, str]:
    """Return what to call the students to whom the roster gives a name: "Ada King (ada)". It is safe in a terminal."""
    named = [(student.id, plain(student.name)[:MAX_NAME_CHARACTERS]) for student in plan.students if student.name]
    return {student: f"{name} ({student})" for student, name in named}


def select_submissions(
    course: Course, topic: str, students: Collection[str] | None, sections: Sequence[str] | None
) -> list[str]:
    """Return those of ``students``, by default of all who handed in ``topic``, who are in ``sections``; [] for everybody.

    Raises ``CourseError`` if there are none, or one of ``students`` is in another section.
    """
    selected, named = select_sections(course.plan(), sections), list(students or ())
    if selected is None:
        return named
    if outside := sorted(set(named) - selected):
        remedy = "leave out the student or --section."
        raise CourseError(f"not in section {' or '.join(sections or ())}: {', '.join(outside)}", "--section", remedy)
    chosen = named or [student for student in course.students(topic) if student in selected]
    if not chosen:
        what = f"nobody in section {' or '.join(sections or ())} has handed in {topic}"
        raise CourseError(what, str(course.submitted), f"run `python -m autograder collect {topic} ARCHIVE` first.")
    return chosen
