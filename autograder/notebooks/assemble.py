"""Build an assignment: the nbgrader source notebook, and the marking scheme, from chapter, solutions and key."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_notebook

from autograder.errors import CourseError
from autograder.exercises import Exercise, find_provided_modules, load_warm_ups, names_provided_code
from autograder.files import write_text
from autograder.notebooks.cells import (
    compare_cell,
    exercise_cells,
    heading_cell,
    imports_cell,
    make_provided_cells,
    receipt_cell,
    request_cell,
    students_cells,
    warm_up_cells,
)
from autograder.notebooks.chapter import ExerciseText, chapter_texts, describe_notes
from autograder.notebooks.handout import version_of
from autograder.paths import BOOK, short
from solutions import answer_key

NOTE = re.compile(r"\bnotes? [A-E]\b", re.IGNORECASE)  # a mention of one of the five notes


def source_notebook(
    topic: str,
    exercises: Sequence[Exercise],
    book: str | Path = BOOK,
    website: str = "",
    notice: str = "",
    left_out: Sequence[str] = (),
    modules: Sequence[str] = (),
) -> NotebookNode:
    """Return the nbgrader source notebook of ``topic``; with the address of a ``website``, it links to its chapter there.

    A ``notice`` appears at the top, in bold. ``left_out`` names exercises on the page that this assignment does not ask.
    ``modules`` are those that the course adds to what the grader has. The topic's warm-ups, which have no points, are in
    every notebook.

    Raises CourseError if the page lacks an exercise that the key names, or has one that the key does not know.
    """
    title, texts = load_chapter(topic, book)
    warm_ups = load_warm_ups(topic)
    asked = {exercise.name: exercise for exercise in (*exercises, *warm_ups)}
    for _, error in find_mismatches(topic, [*asked, *left_out], texts, book):
        raise error
    added = [*find_provided_modules(topic), *modules]
    cells = [compare_cell(exercises, warm_ups, added), imports_cell(exercises)]
    in_order = [name for name in texts if name in asked]
    builds_on = next((asked[name] for name in in_order if names_provided_code(topic, asked[name].source)), exercises[0])
    for name in in_order:
        exercise = asked[name]
        cells += make_provided_cells(topic) if exercise is builds_on else []
        cells += students_cells(topic) if exercise.entry.model == "build_model" else []
        cells += exercise_cells(exercise, texts[name]) if exercise.points else warm_up_cells(exercise, texts[name])
    notes = describe_notes(book) if any(NOTE.search(cell.source) for cell in cells) else ""
    cells.insert(0, heading_cell(topic, title, exercises, website, notice, added, notes))
    cells += [receipt_cell(topic, exercises, version_of(cells)), request_cell()]
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number:03d}"
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return new_notebook(cells=cells, metadata={"kernelspec": kernel, "language_info": {"name": "python"}})


def load_chapter(topic: str, book: str | Path = BOOK) -> tuple[str, dict[str, ExerciseText]]:
    """Return the ``chapter_texts`` of the chapter ``topic``; also raise CourseError if there is no such page."""
    page = Path(book) / f"{topic}.md"
    if not page.is_file():
        raise CourseError(f"there is no chapter {topic}", short(page), "write the page, or remove the key.")
    return chapter_texts(page)


def find_mismatches(
    topic: str, names: Sequence[str], texts: Mapping[str, ExerciseText], book: str | Path = BOOK
) -> Iterator[tuple[str, CourseError]]:
    """Yield ``(exercise, error)`` for each of the key's ``names`` that the page lacks, and ``("", error)`` for the reverse."""
    page = short(Path(book) / f"{topic}.md")
    for name in (name for name in names if name not in texts):
        remedy = f"add an exercise directive with `:label: {name}`, or remove it from the key."
        yield name, CourseError(f"the key names {name}, but the page has no exercise with that label", page, remedy)
    for name in sorted(set(texts) - set(names)):
        remedy = f"add a table [{name}] to solutions/answer_key/{topic}.toml, or remove it from the page."
        where = f"{page}, line {texts[name].line}"
        yield "", CourseError(f"the page asks for {name}, but the key does not have it", where, remedy)


def marking_scheme(topic: str, exercises: Sequence[Exercise]) -> str:
    """Return the Markdown page for those who mark the written answers: model answer, criteria, ready comments."""
    lines = [f"# Marking scheme: {topic}", ""]
    for exercise in exercises:
        if isinstance(exercise.entry, answer_key.Text):
            lines += [f"## {exercise.name} ({exercise.points:g} points)", "", exercise.entry.answer.strip(), ""]
            for criterion in exercise.entry.criteria:
                lines += [f"- **{criterion.points:g}**: {criterion.text}", f"  - If missing: {criterion.comment}"]
            lines.append("")
    return "\n".join(lines)


def write_notebook(notebook: NotebookNode, path: str | Path) -> None:
    """Write ``notebook`` to ``path`` in one step: afterwards, the file is either complete or unchanged."""
    write_text(nbformat.writes(notebook) + "\n", path)
