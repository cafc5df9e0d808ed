"""Read a release: its questions, its version and its chapter's address; and compute the receipt of a submitted file."""

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from nbformat import NotebookNode

from autograder.notebooks import receipt, repair
from autograder.notebooks.cell_ids import RECEIPT, code_cells, exercise_of_text, id_of

TITLE = re.compile(r"^#+ +(.*)$", flags=re.MULTILINE)
POINTS = re.compile(r"^\*[\d.]+ points?[^*\n]*\*\s*", flags=re.MULTILINE)
CHAPTER = re.compile(r"\]\((https?://[^\s()]+)\)")
CODE = re.compile(r"Code: ([0-9a-f]{4}-[0-9a-f]{4})")
RUN = re.compile(r"^checks\.receipt\(", flags=re.MULTILINE)
VERSION = re.compile(r'\bversion="([^"]{1,40})"')


@dataclass(frozen=True)
class Question:
    """One exercise as it was handed out: its name, its title, its text in Markdown, and whether a person reads the answer."""

    name: str
    title: str
    text: str
    is_written: bool


@dataclass(frozen=True)
class Handout:
    """A release. ``chapter`` is the address of its chapter, "" if the course has no website."""

    title: str
    chapter: str
    version: str
    questions: tuple[Question, ...]

    @property
    def functions(self) -> tuple[str, ...]:
        """The functions that are asked for, in order."""
        return tuple(question.name.partition("-")[2] for question in self.questions if not question.is_written)


@dataclass(frozen=True)
class Receipt:
    """What was handed in: how many functions are answered, how many are asked, and the code that the notebook prints, too.

    ``printed`` is the code in the file's own receipt output, "" without one: if it differs from ``code``, the
    notebook was changed after it was run, or saved before it was run.
    """

    answered: int
    asked: int
    code: str
    printed: str = ""


def handout(release: NotebookNode) -> Handout:
    """Return the ``Handout`` of a released notebook."""
    cells = {grade_id: cell for cell in release.cells if (grade_id := id_of(cell))}
    head = cells["heading"].source if "heading" in cells else ""
    title, chapter = TITLE.search(head), CHAPTER.search(head)
    named = [(exercise_of_text(grade_id), cell) for grade_id, cell in cells.items()]
    questions = tuple(_question(name, cell, cells.get(name)) for name, cell in named if name)
    version = version_of(release.cells)
    return Handout(title[1] if title else "", chapter[1] if chapter else "", version, questions)


def _question(name, cell, answer):
    title = TITLE.search(cell.source)
    text = POINTS.sub("", cell.source[title.end() :] if title else cell.source, count=1)
    is_written = answer is not None and answer.cell_type == "markdown"
    return Question(name, title[1] if title else name, text.strip(), is_written)


def version_of(cells: Iterable[NotebookNode]) -> str:
    """Return the version that the cells of a release state or, without one, a hash of its texts and checks."""
    shown, not_counted = [], ("heading", RECEIPT)  # a heading may have another date or website
    for cell in cells:
        grade_id = id_of(cell)
        if grade_id == RECEIPT and (stated := VERSION.search(cell.source)):
            return stated[1]
        if not grade_id or grade_id in not_counted or grade_id.endswith("-test"):
            continue
        if cell.metadata.nbgrader.get("locked"):
            shown.append([grade_id, cell.source])
    return hashlib.sha256(json.dumps(shown).encode()).hexdigest()[:6]


def find_release(cells: Iterable[NotebookNode], releases: Sequence[Handout]) -> Handout:
    """Return the one of ``releases``, newest first, that a repaired notebook with ``cells`` was made from."""
    version = version_of(cells)
    return next((release for release in releases if release.version == version), releases[0])


def topic_of(asked: Handout) -> str:
    """Return the topic of a release, from the names of its exercises."""
    return asked.questions[0].name.partition("-")[0] if asked.questions else ""


def receipt_of(sources: Iterable[str], asked: Handout, printed: str = "") -> Receipt:
    """Return the ``Receipt`` of a notebook that has code cells of these ``sources``, in order."""
    answers, topic = receipt.answers_in(sources, asked.functions), topic_of(asked)
    return Receipt(receipt.count_of(answers), len(answers), receipt.code_of(topic, answers), printed)


def receipt_of_notebook(notebook: NotebookNode, asked: Handout) -> Receipt:
    """Return the ``Receipt`` of a graded notebook."""
    return receipt_of([cell.source for cell in code_cells(notebook)], asked)


def receipt_of_file(content: bytes, asked: Handout) -> Receipt | None:
    """Return the ``Receipt`` of a submitted file with the bytes ``content``; None if it cannot be graded."""
    try:
        cells = json.loads(content)["cells"]
        if len(cells) > repair.MAX_CELLS or sum(len("".join(cell["source"])) for cell in cells) > repair.MAX_CHARACTERS:
            return None
        cells = [cell for cell in cells if cell["cell_type"] == "code"]
        sources = ["".join(cell["source"]) for cell in cells]
        outputs = [str(cell.get("outputs")) for cell in cells if RUN.search("".join(cell["source"]))]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, MemoryError):
        return None
    printed = CODE.findall(outputs[-1]) if outputs else []
    return receipt_of(sources, asked, printed[-1] if printed else "")
