"""Read a chapter of the book: the exercises on its page, and their texts.

Chapters with an answer key are numbered in the order of the table of contents, and their exercises in that of the page.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import yaml
from markdown_it import MarkdownIt
from myst_parser.config.main import MdParserConfig
from myst_parser.parsers.mdit import create_md_parser

from autograder.errors import CourseError
from autograder.paths import short
from solutions import answer_key

NOTE_ENTRY = re.compile(
    r"^  author = \{\{Note (\w)\}\},\n  title  = \{(.*)\},\n  note   = \{(.*)\}$", flags=re.MULTILINE
)
DIRECTIVE = re.compile(r"^\{[\w:+-]+\}")


@dataclass(frozen=True)
class ExerciseText:
    """The text of one exercise in a chapter; ``number`` is "" on a page that is not a chapter of the book."""

    title: str
    body: str
    line: int
    number: str = ""

    @property
    def heading(self) -> str:
        return f"{self.number} {self.title}".strip()


def chapter_texts(path: str | Path) -> tuple[str, dict[str, ExerciseText]]:
    """Return ``(title, {label: ExerciseText})`` of a page; raise CourseError for markup that no notebook can show."""
    source = Path(path).read_text(encoding="utf-8")
    tokens = _parser().parse(source)
    title = next((text.content for tag, text in pairwise(tokens) if (tag.type, tag.tag) == ("heading_open", "h1")), "")
    texts: dict[str, ExerciseText] = {}
    chapter, entries = chapter_number(path), _load_keys(tokens)
    for token in tokens:
        if token.type in ("fence", "colon_fence") and token.info.strip().startswith("{exercise}"):
            label, text = _exercise_text(token, path, f"{chapter}.{len(texts) + 1}" if chapter else "", entries)
            if label in texts:
                where = f"{short(path)}, line {text.line}"
                raise CourseError(f"the exercise {label} appears twice here", where, "rename one of them.")
            texts[label] = text
    return title, texts


def describe_notes(book: str | Path) -> str:
    """Return one sentence on what the five notes are, as ``references.bib`` in ``book`` has them; "" without that file."""
    path = Path(book) / "references.bib"
    text = path.read_text(encoding="utf-8").replace("``", "“").replace("''", "”") if path.is_file() else ""
    notes = [
        f"note {letter}, *{re.sub('[{}]', '', title)}* ({kind[0].lower()}{kind[1:]})"
        for letter, title, kind in NOTE_ENTRY.findall(text)
    ]
    return f"The notes that the exercises mention are the sources of this course: {'; '.join(notes)}." if notes else ""


def chapter_number(path: str | Path) -> int | None:
    """Return the number of the page at ``path`` among the chapters with an answer key, from 1; None if it is not one."""
    page = Path(path)
    contents = page.parent.parent / "_toc.yml"
    if not contents.is_file():
        return None
    files = _page_names(yaml.safe_load(contents.read_text(encoding="utf-8")))
    topics = answer_key.topics()
    chapters = [name for name in files if name.rpartition("/")[2] in topics]
    name = f"{page.parent.name}/{page.stem}"
    return chapters.index(name) + 1 if name in chapters else None


def _page_names(part: Any) -> Iterator[str]:
    """Yield the pages that a part of a table of contents names, in its order."""
    for key, inner in part.items() if isinstance(part, dict) else enumerate(part if isinstance(part, list) else ()):
        if key == "file":
            yield str(inner).removesuffix(".md")
        yield from _page_names(inner)


def _parser():
    from docutils.utils import new_document
    from markdown_it.renderer import RendererHTML

    config = MdParserConfig(enable_extensions={"dollarmath", "colon_fence", "deflist"})
    parser: MarkdownIt = create_md_parser(config, RendererHTML)
    parser.options["document"] = new_document("chapter")
    return parser


def _exercise_text(token, path, number, entries):
    first = token.map[0] + 1
    title = token.info.strip().removeprefix("{exercise}").strip()
    label, lines = "", token.content.splitlines()
    skipped = 0  # lines before the text: options and empty lines
    for line in lines:
        option = re.match(r":([\w-]+):\s*(.*)$", line)
        if line.strip() and not option:
            break
        label = option[2].strip() if option and option[1] == "label" else label
        skipped += 1
    body = "\n".join(lines[skipped:]).strip()
    if not label or not body:
        raise CourseError("an exercise without label or text", f"{short(path)}, line {first}", "write both.")
    for inner in _parser().parse(body):
        _refuse_markup(inner, path, first + 1 + skipped)
    inputs = answer_key.describe_inputs(entries.get(label))
    return label, ExerciseText(title, "\n\n".join(filter(None, [body, inputs])), first, number)


def _load_keys(tokens):
    """Return the entries of the keys that the labels in ``tokens`` belong to. Each key is read once."""
    topics = {
        match[1] for token in tokens for match in re.finditer(r"^:label: *(\w+)-", token.content, flags=re.MULTILINE)
    }
    keys = [answer_key.load(topic) for topic in sorted(topics & {*answer_key.topics()})]
    return {label: entry for key in keys for label, entry in key.items()}


def _refuse_markup(token, path, start, line=0):
    line = token.map[0] if token.map else line
    kinds = {
        "math_block_label": "label",
        "myst_line_comment": "comment",
        "myst_role": "role",
        "colon_fence": "directive",
        "myst_target": "label",
        "html_block": "HTML",
        "html_inline": "HTML",
    }
    kind = kinds.get(token.type)
    if token.type == "fence" and DIRECTIVE.match(token.info.strip()):
        kind = "directive"
    if kind:
        what = f"a {kind} inside an exercise: {(token.info or token.content or '').strip().splitlines()[0][:40]}"
        remedy = "write plain Markdown and $ mathematics there: the text goes into a notebook."
        raise CourseError(what, f"{short(path)}, line {start + line}", remedy)
    for child in token.children or ():
        _refuse_markup(child, path, start, line)
