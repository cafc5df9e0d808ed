"""A small course to play with: a roster with names, two sections, due dates, and ten hand-ins of the demonstration class.

In: a folder, the time. Out: a course; files as students hand them in. Writes them into the course.
"""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

from autograder.courses import demo
from autograder.courses.course import TIMESTAMP, Course, init
from autograder.courses.plan import PLAN_TEMPLATE
from autograder.files import write_text

TOPIC, ROSTER_FILE = "scoring", "students.csv"
KINDS = ("right", "wrong", "unfinished")
ASSIGNMENT = """
[assignment.scoring]
due = {due:%Y-%m-%dT%H:%M:%SZ}

[assignment.scoring.sections.B]
due = {later:%Y-%m-%dT%H:%M:%SZ}
"""
REQUEST = "Please look again at additive_shapes: I read the question in another way."


def init_example(root: str | Path, now: datetime | None = None) -> Course:
    """Make a course in ``root`` with the plan and the roster of the example: section A was due yesterday, B is not yet."""
    midnight = (now or datetime.now(UTC)).replace(hour=0, minute=0, second=0, microsecond=0)
    text = PLAN_TEMPLATE.replace('title = ""', 'title = "Attention (example)"', 1)
    text = text.replace('roster = ""', f'roster = "{ROSTER_FILE}"', 1).replace(
        "percent_a_day = 0", "percent_a_day = 10", 1
    )
    due = midnight - timedelta(days=1)
    course = init(root, text + ASSIGNMENT.format(due=due, later=due + timedelta(days=7)))
    rows = ["id,name,email,section"]
    for number, student in enumerate(_students()):
        first, *rest = student.name.split("_")
        name = f"{first.title()} {' '.join(rest).title()}"
        rows.append(f"{student.name},{name},{student.name}@example.org,{'AB'[number % 2]}")
    write_text("\n".join(rows) + "\n", course.root / ROSTER_FILE)
    return course


def hand_in_example(course: Course) -> int:
    """Hand in the ten notebooks of the example; return how many. The last of section A is late, and one asks for another look."""
    everybody = demo.hand_in(course, TOPIC, kinds=KINDS)
    due, late = course.plan().assignment(TOPIC).due, [one.name for one in everybody][::2][-1]
    for number, student in enumerate(everybody):
        path = course.submission(student.name, TOPIC)
        if student.name == "fay_transposed":
            notebook = json.loads(path.read_text(encoding="utf-8"))
            notebook["cells"][-1]["source"] = REQUEST
            write_text(json.dumps(notebook), path)
        if due:
            came = due + timedelta(hours=5) if student.name == late else due - timedelta(hours=3 * number + 1)
            write_text(f"{came:%Y-%m-%d %H:%M:%S.%f} UTC", path.with_name(TIMESTAMP))
    return len(everybody)


def _students():
    return [student for student in demo.load_students(topic=TOPIC) if student.kind in KINDS]
