"""Read a chapter of the book: which exercises stand on its page, and what they say.

In: the path of a page. Out: its title and ``Text``s by label. What a notebook could not show is refused. Reads that page.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt
from myst_parser.config.main import MdParserConfig
from myst_parser.parsers.mdit import create_md_parser

from autograder.errors import CourseError
from autograder.paths import short

FORBIDDEN = re.compile(r"^\{[\w:+-]+\}")


@dataclass(frozen=True)
class Text:
    """The text of one exercise as the chapter has it."""

    title: str
    body: str
    line: int


def chapter_texts(path: str | Path) -> tuple[str, dict[str, Text]]:
    """Return ``(title of the chapter, {label: Text})`` of the exercises on the page at ``path``.

    Raises
    ------
    CourseError
        If an exercise holds a directive or a role: a notebook cannot show those.
    """
    source = Path(path).read_text(encoding="utf-8")
    tokens = _parser().parse(source)
    title = next(
        (tokens[i + 1].content for i, t in enumerate(tokens) if t.type == "heading_open" and t.tag == "h1"), ""
    )
    texts = {}
    for token in tokens:
        if token.type in ("fence", "colon_fence") and token.info.strip().startswith("{exercise}"):
            label, text = _exercise_text(token, path)
            if label in texts:
                raise CourseError(
                    f"the exercise {label} stands here twice",
                    f"{short(path)}, line {text.line}",
                    "rename one of them.",
                )
            texts[label] = text
    return title, texts


def _parser():
    from docutils.utils import new_document
    from markdown_it.renderer import RendererHTML

    config = MdParserConfig(enable_extensions={"dollarmath", "colon_fence", "deflist"})
    parser: MarkdownIt = create_md_parser(config, RendererHTML)
    parser.options["document"] = new_document("chapter")
    return parser


def _exercise_text(token, path):
    first = token.map[0] + 1
    title = token.info.strip().removeprefix("{exercise}").strip()
    label, lines, in_options = "", [], True
    for offset, line in enumerate(token.content.splitlines()):
        option = re.match(r":([\w-]+):\s*(.*)$", line)
        if in_options and option:
            label = option[2].strip() if option[1] == "label" else label
        elif in_options and not line.strip():
            continue
        else:
            if in_options:
                start = first + 1 + offset
            in_options = False
            lines.append(line)
    body = "\n".join(lines).strip()
    if not label or not body:
        raise CourseError("an exercise without label or text", f"{short(path)}, line {first}", "write both.")
    for inner in _parser().parse(body):
        _refuse_markup(inner, path, start)
    return label, Text(title, body, first)


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
    if token.type == "fence" and FORBIDDEN.match(token.info.strip()):
        kind = "directive"
    if kind:
        what = (token.info or token.content or "").strip().splitlines()[0][:40]
        raise CourseError(
            f"a {kind} inside an exercise: {what}",
            f"{short(path)}, line {start + line}",
            "write plain Markdown and $ mathematics there: the text goes into a notebook.",
        )
    for child in token.children or ():
        _refuse_markup(child, path, start, line)
