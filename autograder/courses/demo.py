"""The demonstration class: notebooks of imaginary students, made from source text; and an example course with some of them.

In: text files in jupytext's percent format, a released assignment. Out: files as students hand them in. Writes them where
the caller says.

The header of a file describes the student; its cells say where they go::

    # ---
    # jupyter:
    #   student:
    #     about: Forgets the tanh.
    #     base: reference            # or: starter. All other answers come from it
    #     use: [additive_score__no_tanh]  # functions of solutions/mistakes or tests/submissions/<topic>.py
    #     damage: [delete scoring-additive_score-test]
    #     lost: 1                    # automatic points lost; or points: the number deserved, or "set aside"
    # ---
    # %% answer="scoring-dot_product_score"
"""

import copy
import importlib
import inspect
import json
import re
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import jupytext
import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from autograder.courses.course import TIMESTAMP, Course, init
from autograder.courses.plan import PLAN_TEMPLATE
from autograder.errors import CourseError
from autograder.exercises.modules import module_at
from autograder.files import write_text
from autograder.notebooks.cell_ids import id_of
from autograder.paths import ROOT
from autograder.sandbox import Limits
from solutions import answer_key

SUBMISSIONS_FOLDER = ROOT / "tests" / "submissions"
HEADER_FIELDS = {"about", "base", "use", "damage", "points", "lost", "hints", "kind", "as", "megabytes"}
KINDS = ("right", "wrong", "unfinished", "odd", "damaged", "unreadable", "hostile")
# tighter than usual, because some submissions wait until they are stopped; honest cells use less than a quarter
LIMITS = Limits(cell_seconds=6, cell_idle_seconds=8, call_seconds=2, submission_seconds=60, submission_idle_seconds=30)
TOPIC, ROSTER_FILE = "scoring", "students.csv"
EXAMPLE_KINDS = ("right", "wrong", "unfinished")
ASSIGNMENT = """
[assignment.scoring]
due = {due:%Y-%m-%dT%H:%M:%SZ}

[assignment.scoring.sections.B]
due = {later:%Y-%m-%dT%H:%M:%SZ}
"""
REQUEST = "Please look again at batched_additive_shapes: I read the question in another way."


@dataclass(frozen=True)
class DemoStudent:
    """One student of the demonstration class, as ``tests/submissions/class/<name>.py`` describes them."""

    name: str
    about: str
    kind: str
    base: str
    use: tuple[str, ...]
    damage: tuple[str, ...]
    points: float | str  # automatic points deserved, or "set aside"
    hints: tuple[str, ...]  # names of the mistakes whose hints must be given
    form: str  # "notebook", or another kind of file
    megabytes: int
    cells: tuple[NotebookNode, ...]


def load_students(folder: str | Path = SUBMISSIONS_FOLDER / "class", topic: str = "scoring") -> list[DemoStudent]:
    """Return the students described in ``folder``, by name, with the points that they deserve for ``topic``.

    Raises ``CourseError`` if a description cannot be understood.
    """
    automatic = sum(entry.points for entry in answer_key.load(topic).values() if entry.kind != "text")
    return [_load_student(path, automatic) for path in sorted(Path(folder).glob("*.py"))]


def make_submission(student: DemoStudent, topic: str, source: NotebookNode, released: NotebookNode) -> bytes:
    """Return the bytes that ``student`` hands in. ``source`` has the reference answers, ``released`` the starters."""
    if student.form == "empty":
        return b""
    if student.form == "text":
        return b"Sorry, I only have my notes: score = v . tanh(W s + U h)\n"
    notebook = copy.deepcopy(released)
    reference = {id_of(cell): re.sub(r"\n *### (BEGIN|END) SOLUTION", "", cell.source) for cell in source.cells}
    answers = reference if student.base == "reference" else {}
    answers |= {f"{topic}-{name.split('__')[0]}": _function_source(topic, name) for name in student.use}
    answers |= {cell.metadata["answer"]: cell.source for cell in student.cells if "answer" in cell.metadata}
    for cell in notebook.cells:
        if not cell.metadata.nbgrader.locked and id_of(cell) in answers:
            cell["source"] = answers[id_of(cell)]
    for cell in student.cells:
        if "answer" not in cell.metadata:
            _insert_cell(notebook, cell, student)
    for damage in student.damage:
        _damage(notebook, damage, student)
    if student.form == "other assignment":
        text = json.dumps(notebook).replace(f'"{topic}-', '"cooking-')
        return text.encode()
    if student.megabytes:
        notebook.metadata["padding"] = "x" * (student.megabytes * 2**20)
    return nbformat.writes(notebook).encode() if not student.damage else json.dumps(notebook).encode()


def hand_in(
    course: Course,
    topic: str,
    folder: str | Path = SUBMISSIONS_FOLDER / "class",
    hostile: bool = True,
    kinds: Collection[str] = KINDS,
) -> list[DemoStudent]:
    """Write the submissions of the class into ``course``; return the students.

    Only students of these ``kinds`` hand in; hostile ones, only if ``hostile`` is set, which needs a sandbox.
    """
    source = nbformat.read(course.source(topic), as_version=4)
    released = nbformat.read(course.releases(topic).file, as_version=4)
    everybody = [student for student in load_students(folder, topic) if student.kind in kinds]
    everybody = [student for student in everybody if hostile or student.kind != "hostile"]
    for student in everybody:
        path = course.submission(student.name, topic)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(make_submission(student, topic, source, released))
    return everybody


def _load_student(path, automatic):
    notebook = jupytext.reads(path.read_text(encoding="utf-8"), fmt="py:percent")
    header = notebook.metadata.get("student")
    place = f"tests/submissions/class/{path.name}"
    if not isinstance(header, dict) or set(header) - HEADER_FIELDS or header.get("kind") not in KINDS:
        raise CourseError(
            "the header cannot be parsed", place, f"write `student:` with {', '.join(sorted(HEADER_FIELDS))}."
        )
    if ("points" in header) == ("lost" in header):
        raise CourseError("the header states both `points` and `lost`, or neither", place, "write one of the two.")
    cells = tuple(cell for cell in notebook.cells if cell.cell_type != "raw")
    return DemoStudent(
        name=path.stem,
        about=header["about"],
        kind=header["kind"],
        base=header.get("base", "starter"),
        use=tuple(header.get("use", ())),
        damage=tuple(header.get("damage", ())),
        points=header["points"] if "points" in header else automatic - header["lost"],
        hints=tuple(header.get("hints", ())),
        form=header.get("as", "notebook"),
        megabytes=int(header.get("megabytes", 0)),
        cells=cells,
    )


def _function_source(topic, name):
    """Return the source of ``name``, a wrong or alternative answer, renamed to the function that was asked for."""
    mistakes = importlib.import_module(f"solutions.mistakes.{topic}")
    for module in (mistakes, module_at(SUBMISSIONS_FOLDER / f"{topic}.py")):
        function = getattr(module, name, None)
        if function is not None:
            source = re.sub(rf"^def {name}\b", f"def {name.split('__')[0]}", inspect.getsource(function))
            return re.sub(r'\n    """.*?"""', "", source, count=1, flags=re.DOTALL)  # no student writes the hint
    raise CourseError(f"no answer called {name}", "the demonstration class", "name an existing one.")


def _insert_cell(notebook, cell, student):
    for key, shift in (("before", 0), ("after", 1)):
        if key in cell.metadata:
            place = next(i for i, c in enumerate(notebook.cells) if id_of(c) == cell.metadata[key])
            new = new_code_cell(cell.source, metadata=dict(cell.metadata.get("extra", {})))
            notebook.cells.insert(place + shift, new)
            return
    raise CourseError("a cell without a position", f"the student {student.name}", "write answer=, before= or after=.")


def _damage(notebook, damage, student):
    action, _, grade_id = damage.partition(" ")
    if action == "strip":
        for cell in notebook.cells:
            cell["metadata"] = nbformat.NotebookNode()
        return
    place = next((i for i, cell in enumerate(notebook.cells) if id_of(cell) == grade_id), None)
    if place is None:
        raise CourseError(f"no cell {grade_id}", f"the student {student.name}", "name an existing cell.")
    if action == "delete":
        del notebook.cells[place]
    elif action == "copy":  # with the same ids, as JupyterLab does on copy and paste
        notebook.cells.insert(place + 1, copy.deepcopy(notebook.cells[place]))
    elif action == "break":
        notebook.cells[place].metadata["nbgrader"] = {"grade_id": grade_id, "schema_version": "?"}
    elif action == "edit":
        notebook.cells[place]["source"] = "print('all is well')"
    else:
        raise CourseError(
            f"no damage called {action}", f"the student {student.name}", "delete, copy, break, edit, strip."
        )


# --- the example -----------------------------------------------------------------------------------------------------


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
    everybody = hand_in(course, TOPIC, kinds=EXAMPLE_KINDS)
    due, late = course.plan().assignment(TOPIC).due, [person.name for person in everybody][::2][-1]
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
    return [student for student in load_students(topic=TOPIC) if student.kind in EXAMPLE_KINDS]
