"""Show what a student wrote without running it: in the feedback page, and in the browser of the marker.

HTML that is made here holds no script, no frame and no link but to http, https and mail.
"""

import html
import re
from collections.abc import Mapping
from typing import Any, cast

from jinja2 import pass_context
from jinja2.runtime import Context
from nbconvert.filters.highlight import Highlight2HTML
from nbconvert.filters.markdown_mistune import MarkdownWithMath
from nbconvert.preprocessors.sanitize import SanitizeHTML
from nbformat import NotebookNode

from autograder.feedback import mathml

MAX_MARKDOWN_CHARACTERS = 10_000  # of Markdown, or of HTML, that are made into a page; what is longer is shown as it is
MAX_HIGHLIGHTED_CHARACTERS = 50_000  # characters of code that are set in colours
MAX_PICTURE_CHARACTERS = 20 * 2**20  # of all pictures shown in one text, repetitions included
MAX_COLOUR_CHANGES = 500  # changes of colour in one output
ESCAPE = re.compile(r"\x1b(?:\[([0-?]*)[ -/]*([@-~])|\][^\x07\x1b]*(?:\x07|\x1b\\)?|.)?", re.DOTALL)
ONE_COLOUR = r"(?:(?:38|48);(?:5;\d{1,3}|2;\d{1,3};\d{1,3};\d{1,3})|(?!38|48)\d{0,3})"
COLOUR = re.compile(rf"{ONE_COLOUR}(?:;{ONE_COLOUR})*")
CONTROL = re.compile(r"[\x00-\x07\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9f]")


@pass_context
def markdown(context: Context, source: str) -> str:
    """Return ``source`` as HTML; tags in it are shown as text, and links lead to pages only."""
    return prose(source, context.get("cell", {}).get("attachments", {}))


def prose(
    source: str,
    attachments: Mapping[str, Mapping[str, str]],
    anchors: bool = True,
    addresses: Mapping[str, str] | None = None,
) -> str:
    """Return ``source`` as ``markdown`` does; ``attachments`` holds its pictures. Headings are links if ``anchors``.

    A picture that ``addresses`` names is loaded from there when it comes into view, and is no part of the HTML.
    """
    if len(source) > MAX_MARKDOWN_CHARACTERS:  # to read Markdown can take time that grows with the square of its length
        return f"<pre>{html.escape(source)}</pre>"
    return MarkdownWithMath(renderer=_Renderer(attachments, anchors, addresses or {})).render(source)


def unchanged(text: str) -> str:
    """Return ``text``. nbconvert's filter of this place mends links of IPython 1, in a time that grows with the square."""
    return text


class Highlighted(Highlight2HTML):
    """Code in colours, unless it is too long for that."""

    def __call__(
        self, source: str, language: str | None = None, metadata: NotebookNode | dict[str, Any] | None = None
    ) -> str:
        if len(source) > MAX_HIGHLIGHTED_CHARACTERS:
            return f'<div class="highlight"><pre>{html.escape(source)}</pre></div>'
        return super().__call__(source, language, metadata)


class Outputs(SanitizeHTML):
    """Take live HTML out of outputs, and kinds of output that have no place in a notebook of this course."""

    def preprocess_cell(
        self, cell: NotebookNode, resources: dict[str, Any], cell_index: int
    ) -> tuple[NotebookNode, dict[str, Any]]:
        if cell.cell_type == "code":  # what was written stays as it was written: ``markdown`` renders it
            for output in cell.outputs:
                _shorten(output)
            done = super().preprocess_cell(cell, resources, cell_index)  # None for another kind of cell only
            cell, resources = cast("tuple[NotebookNode, dict[str, Any]]", done)
            cell["outputs"] = [output for output in cell.outputs if output.get("data", True)]
        return cell, resources


def plain(text: str) -> str:
    """Return ``text`` as ``printable`` does, without colours."""
    return CONTROL.sub("", ESCAPE.sub("", text))


def printable(text: str) -> str:
    """Return ``text`` with no control character but line ends, tabs, backspaces, and colours that a page can show."""
    allowed = MAX_COLOUR_CHANGES

    def keep_colour(match):
        nonlocal allowed
        codes, kind = match.group(1), match.group(2)
        if kind != "m" or allowed == 0 or not COLOUR.fullmatch(codes):
            return ""
        allowed -= 1
        return f"\x1b[{codes}m"

    return CONTROL.sub("", ESCAPE.sub(keep_colour, text))


def _shorten(output):
    """Make ``output`` such that it can be shown: HTML and Markdown that are too long as text, odd characters left out."""
    if output.output_type == "stream":
        output["text"] = printable(output.text)
    elif output.output_type == "error":
        output["traceback"] = [printable(line) for line in output.traceback]
        output["ename"], output["evalue"] = printable(output.ename), printable(output.evalue)
    else:
        for mime in ("text/html", "text/markdown", "text/latex"):
            if len(output.data.get(mime, "")) > MAX_MARKDOWN_CHARACTERS:
                text = output.data.pop(mime)
                output.data.setdefault("text/plain", text)
        if "text/plain" in output.data:
            output.data["text/plain"] = printable(output.data["text/plain"])


class _Renderer(mathml.Renderer):
    pictures = 0  # characters of pictures so far

    def __init__(self, attachments, anchors, addresses):
        self.addresses = addresses
        super().__init__(
            escape=True, allow_harmful_protocols=False, attachments=attachments, exclude_anchor_links=not anchors
        )

    def block_mermaidjs(self, code):
        return self.block_code(code)

    def image(self, text, url, title=None):
        if not url.startswith("attachment:"):
            return super().image(text, url, title)
        name = url.removeprefix("attachment:")
        if name in self.addresses:
            return f'<img src="{html.escape(self.addresses[name])}" alt="{html.escape(text)}" loading="lazy">'
        picture = self.attachments.get(name)
        if not picture:  # pasted elsewhere, or of a kind that is not shown
            return f"[{html.escape(name)}: this picture was not handed in]"
        self.pictures += sum(len(data) for data in picture.values())
        if self.pictures > MAX_PICTURE_CHARACTERS:
            return f"[{html.escape(name)}: too many pictures for one page]"
        return super().image(text, url, title)
