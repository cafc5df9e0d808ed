"""Lay out a graded submission as the feedback page that its student reads. Pure but for a cache."""

import re
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache, lru_cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup
from nbformat import NotebookNode

from autograder.feedback import cell_html
from autograder.feedback.marks import Mark, Marks
from autograder.feedback.page_settings import Shown
from autograder.notebooks.added_cells import is_request
from autograder.notebooks.cell_ids import MENDED, REQUEST, check_id, id_of, is_warm_up, test_id, text_id
from autograder.notebooks.handout import Handout, receipt_of_notebook
from autograder.notebooks.receipt import UNANSWERED
from autograder.notebooks.requests import find_requests

TEMPLATE = Path(__file__).parent / "templates" / "page.html.j2"
QUESTIONS_KEPT = 1000  # questions
MAX_NEXT = 3  # exercises listed as the next to look at
MAX_VERDICT_CHARACTERS = 130  # characters of a verdict in the table
NO_RESPONSE = "No response."  # nbgrader's comment on an unchanged answer
PERSON, NOT_YET = "To be marked by a person.", "To be marked by a person. Its 0 does not count yet."


@dataclass
class Section:
    """What the page says about one exercise."""

    name: str
    title: str
    points: float = 0.0
    score: float = 0.0
    waiting: bool = False
    by_person: bool = False
    is_overridden: bool = False  # a person changed the grader's points; the comment says why
    change: str = ""  # how they changed
    messages: list[str] = field(default_factory=list)
    hints: list[str] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)
    answer: list[Markup] = field(default_factory=list)
    is_open: bool = False
    check: list[Markup] = field(default_factory=list)
    own: list[Markup] = field(default_factory=list)
    is_brief: bool = False  # it gives no reasons
    question: Markup = Markup("")  # noqa: RUF009  (Markup is immutable)

    @property
    def lost(self) -> float:
        return 0.0 if self.waiting else self.points - self.score

    @property
    def line(self) -> str:
        """The verdict in one line."""
        if self.waiting and not self.by_person:
            return PERSON
        if self.waiting:
            return "Changed since it was marked: it will be marked again."
        if self.by_person:
            return _first_sentence(self.change) if self.change else "Marked by a person."
        if self.comments == [NO_RESPONSE]:
            return "Not answered."
        if self.lost <= 0:
            return "Right, with a remark." if self.hints else "Right."
        without = "Not right yet." if self.is_brief else "No points."
        return _first_sentence(next(iter(self.hints or self.messages), without))

    @property
    def reason(self) -> str:
        """The verdict in one line, or the first sentence of a marker's comment."""
        return _first_sentence(self.comments[0]) if self.by_person and self.comments else self.line

    @property
    def remarks(self) -> list[str]:
        """The comments, without nbgrader's on an unchanged answer where the messages say so."""
        says_so = self.lost > 0 and self.messages
        return [comment for comment in self.comments if not (says_so and comment == NO_RESPONSE)]


def page(notebook: NotebookNode, marks: Marks, student: str, topic: str, asked: Handout, shown: Shown = "all") -> str:
    """Return the HTML of the feedback page for ``student``'s ``notebook`` on ``topic``, which was released as ``asked``.

    ``shown`` says how much of the feedback the page shows.
    """
    sections = {
        question.name: Section(question.name, question.title, question=_render_question(question.text))
        for question in asked.questions
    }
    before = Section("", "Before the first exercise")
    mended, failures = _fill_sections(notebook, sections, before)
    for section in sections.values():
        _enter_marks(section, marks)
    ordered = [section for section in sections.values() if section.points or section.answer]
    if shown != "all":
        for section in ordered:
            _withhold(section)
    worst = sorted((section for section in ordered if section.lost > 0), key=lambda section: section.lost, reverse=True)
    return load_template(TEMPLATE).render(
        person=PERSON,
        title=asked.title or topic,
        student=student,
        topic=topic,
        asked=asked,
        came="" if marks.is_earliest else _format_time(marks.received_at),
        late=_describe_lateness(marks),
        receipt=receipt_of_notebook(notebook, asked),
        marks=marks,
        mended=mended,
        failures=failures,
        sections=ordered,
        before=before,
        next=worst[:MAX_NEXT],
        more=len(worst) - MAX_NEXT,
        waiting=sum(section.waiting for section in ordered),
        requests=_list_requests(notebook, marks, asked),
        shown=shown,
        has_points=shown == "all",
        until=_format_time(marks.full_from),
    )


def _list_requests(notebook, marks, asked):
    """Return ``(exercise, its title, words, answer)`` for each request: the notebook's first, then others answered before."""
    titles, given = {question.name: question.title for question in asked.questions}, {}
    for request in find_requests(notebook.cells, asked.questions):
        given[request.exercise, request.words] = ""
    for reply in marks.replies:
        given[reply.exercise, reply.words] = reply.answer
    return [(name, titles.get(name, ""), words, answer) for (name, words), answer in given.items()]


def _withhold(section):
    """Remove from ``section`` what the page does not show yet, except the points, which the template leaves out."""
    section.is_open = section.is_open or bool(section.answer)  # otherwise it would reveal which answers are right
    section.messages, section.is_brief = [], True
    if section.change:
        section.comments = [comment.removeprefix(f"{section.change}: ") for comment in section.comments]
        section.change = ""
    if not section.is_overridden:
        section.comments = [comment for comment in section.comments if comment == NO_RESPONSE]


@lru_cache(QUESTIONS_KEPT)
def _render_question(text):
    return Markup(cell_html.prose(text))


def _fill_sections(notebook, sections, before):
    """Put each cell of ``notebook`` into its section; return the note on repairs, and what went wrong when it ran.

    The cells of a warm-up go into a section that nobody sees.
    """
    places = {}
    for cell_id in map(id_of, notebook.cells):
        if cell_id and is_warm_up(cell_id):
            places[cell_id] = Section("", "")
    for name, section in sections.items():
        places |= dict.fromkeys((name, text_id(name), check_id(name), test_id(name)), section)
    section, mended, failures = before, Markup(), []
    for number, cell in enumerate(notebook.cells):
        cell_id, meta = id_of(cell), cell.metadata.get("nbgrader", {})
        section = places.get(cell_id, section)
        outputs = [Markup(cell_html.output(item)) for item in cell.get("outputs", ())]
        if number == 0 and not meta and cell.get("id") == MENDED:
            mended = Markup(cell_html.prose(cell.source))
        elif cell_id == section.name:
            section.answer += [_render_source(cell), *outputs]
            section.is_open = not UNANSWERED.search(cell.source)
        elif section.name and cell_id == check_id(section.name):
            section.check += outputs
        elif section.name and cell_id == test_id(section.name):
            verdict = _verdict(cell)
            section.messages, section.hints = list(verdict.get("said", ())), list(verdict.get("hints", ()))
            failures += [text for text in [verdict.get("failure")] if text and text not in failures]
        elif cell_id == REQUEST or is_request(cell):
            continue  # requests are listed separately
        elif not meta.get("locked"):
            section.own += [_render_source(cell), *outputs]
        elif any(item.output_type == "error" for item in cell.get("outputs", ())):
            section.own += outputs  # of a provided cell that failed here
    return mended, failures


def _render_source(cell):
    is_code = cell.cell_type == "code"
    return Markup(cell_html.code(cell.source) if is_code else cell_html.prose(cell.source, cell.get("attachments")))


def _verdict(cell):
    """Return what the grader wrote besides the points (see ``pages``): a test cell's only output is the grader's."""
    outputs = cell.get("outputs", ())
    verdict = outputs[-1].get("metadata", {}).get("verdict") if outputs else None
    return verdict if isinstance(verdict, dict) else {}


def _enter_marks(section, marks):
    """Enter the gradebook's marks for its cells into ``section``."""
    for cell_id in (section.name, test_id(section.name)):
        mark: Mark | None = marks.cells.get(cell_id)
        if mark:
            section.points, section.score = mark.points, mark.score
            section.waiting, section.by_person = mark.waiting, mark.by_person
            section.is_overridden = mark.by_person and cell_id != section.name
            if section.is_overridden and not mark.waiting and mark.automatic is not None:
                section.change = f"Changed by a person from {round(mark.automatic, 2):g} to {round(mark.score, 2):g}"
    comment = marks.comments.get(section.name)
    if section.waiting and not section.by_person and not comment:
        comment = NOT_YET
    if section.change:
        comment = f"{section.change}: {comment}" if comment else section.change
    section.comments = [comment] if comment else []
    section.is_open = section.is_open and (section.lost > 0 or section.waiting)


def _format_time(text):
    return f"{datetime.fromisoformat(text):%-d %B %Y, %H:%M} UTC" if text else ""


def _describe_lateness(marks):
    """Return whether the submission was on time, or how late it was; "" if its hand-in time or due date is unknown."""
    if marks.is_earliest:
        return "late, by an unknown amount"
    if not marks.received_at or not marks.due:
        return ""
    seconds = (datetime.fromisoformat(marks.received_at) - datetime.fromisoformat(marks.due)).total_seconds()
    if seconds <= 0:
        return "on time"
    minutes = int(seconds // 60)
    counts = {"day": minutes // 1440, "hour": minutes // 60 % 24, "minute": minutes % 60}
    named = [f"{count} {unit}{'s' * (count != 1)}" for unit, count in counts.items() if count]
    return f"late by {' and '.join(named[:2]) or 'less than a minute'}"


def _first_sentence(text):
    first = re.split(r"(?<=[.?!]) ", text, maxsplit=1)[0]
    return first if len(first) <= MAX_VERDICT_CHARACTERS else f"{first[:MAX_VERDICT_CHARACTERS].rsplit(' ', 1)[0]} …"


@cache
def load_template(path: Path) -> Template:
    """Return the Jinja template at ``path``, which escapes everything but Markup; an undefined name is an error."""
    environment = Environment(
        loader=FileSystemLoader(path.parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters["number"] = lambda points: f"{round(points, 2):g}"
    return environment.get_template(path.name)
