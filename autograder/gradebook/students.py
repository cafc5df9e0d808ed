"""Give nbgrader the names and e-mail addresses of the roster: `nbgrader export` and the formgrader show them.

In: a course. Out: nothing. Writes nbgrader's rows of students who are in its gradebook already.
"""

from sqlalchemy import select, update

from autograder.courses.course import Course
from autograder.courses.plan import Student
from autograder.gradebook.database import STUDENT, open_connection, open_gradebook

COLUMNS = (STUDENT.c.id, STUDENT.c.first_name, STUDENT.c.last_name, STUDENT.c.email)


def store_names(course: Course) -> None:
    """Store what the roster says of students in the gradebook; what it does not say stays as it is there."""
    listed = {student.id: about for student in course.plan().students if (about := name_columns(student))}
    if not listed:
        return
    with open_connection(course) as connection:
        known = {row.id: row._asdict() for row in connection.execute(select(*COLUMNS))}
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
