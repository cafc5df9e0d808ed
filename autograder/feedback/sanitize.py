"""Render what a student wrote without running it, for the feedback page and the marker's browser.

The HTML made here contains no scripts and no frames, and no links with harmful protocols such as javascript.
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

MAX_MARKDOWN_CHARACTERS = 10_000  # of Markdown or HTML; longer text is shown as it is
MAX_HIGHLIGHTED_CHARACTERS = 50_000  # of code; longer code is not coloured
MAX_PICTURE_CHARACTERS = 20 * 2**20  # of all pictures shown in one text, repetitions included
MAX_COLOUR_CHANGES = 500  # changes of colour in one output
ESCAPE = re.compile(r"\x1b(?:\[([0-?]*)[ -/]*([@-~])|\][^\x07\x1b]*(?:\x07|\x1b\\)?|.)?", re.DOTALL)
ONE_COLOUR = r"(?:(?:38|48);(?:5;\d{1,3}|2;\d{1,3};\d{1,3};\d{1,3})|(?!38|48)\d{0,3})"
COLOUR = re.compile(rf"{ONE_COLOUR}(?:;{ONE_COLOUR})*")
TAG = re.compile(r"<[^>]*>")
CONTROL = re.compile(r"[\x00-\x07\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9f]")


@pass_context
def markdown(context: Context, source: str) -> str:
    """Return ``source`` as HTML; tags in it are shown as text, and links with harmful protocols are disabled."""
    return prose(source, context.get("cell", {}).get("attachments", {}))


def prose(
    source: str,
    attachments: Mapping[str, Mapping[str, str]],
    anchors: bool = True,
    addresses: Mapping[str, str] | None = None,
) -> str:
    """Return ``source`` as ``markdown`` does, with pictures from ``attachments``. Headings are links if ``anchors``.

    A picture in ``addresses`` is not embedded in the HTML, but loaded from its address when it comes into view.
    """
    if len(source) > MAX_MARKDOWN_CHARACTERS:  # parsing Markdown can take quadratic time
        return f"<pre>{html.escape(source)}</pre>"
    return MarkdownWithMath(renderer=_Renderer(attachments, anchors, addresses or {})).render(source)


def unchanged(text: str) -> str:
    """Return ``text``. nbconvert's own filter, which this replaces, repairs links of IPython 1 in quadratic time."""
    return text


class Highlighted(Highlight2HTML):
    """Highlight code, unless it is too long."""

    def __call__(
        self, source: str, language: str | None = None, metadata: NotebookNode | dict[str, Any] | None = None
    ) -> str:
        if len(source) > MAX_HIGHLIGHTED_CHARACTERS:
            return f'<div class="highlight"><pre>{html.escape(source)}</pre></div>'
        return super().__call__(source, language, metadata)


class Outputs(SanitizeHTML):
    """Remove live HTML from outputs, and types of output that notebooks of this course do not need."""

    def preprocess_cell(
        self, cell: NotebookNode, resources: dict[str, Any], cell_index: int
    ) -> tuple[NotebookNode, dict[str, Any]]:
        if cell.cell_type == "code":  # Markdown cells stay as they are: ``markdown`` renders them
            for output in cell.outputs:
                _shorten(output)
            done = super().preprocess_cell(cell, resources, cell_index)  # None only for other cell types
            cell, resources = cast("tuple[NotebookNode, dict[str, Any]]", done)
            cell["outputs"] = [output for output in cell.outputs if output.get("data", True)]
        return cell, resources


def plain(text: str) -> str:
    """Return ``text`` as ``printable`` does, without colours."""
    return CONTROL.sub("", ESCAPE.sub("", text))


def printable(text: str) -> str:
    """Return ``text`` without control characters except line ends, tabs, backspaces, and colours that a page can show."""
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
    """Make ``output`` fit to be shown: turn overlong HTML, Markdown and LaTeX into text, and remove control characters."""
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
            shown = html.escape(html.unescape(TAG.sub("", text)))  # the description comes as HTML
            return f'<img src="{html.escape(self.addresses[name])}" alt="{shown}" loading="lazy">'
        picture = self.attachments.get(name)
        if not picture:  # pasted elsewhere, or of an unsupported type
            return f"[{html.escape(name)}: this picture was not handed in]"
        self.pictures += sum(len(data) for data in picture.values())
        if self.pictures > MAX_PICTURE_CHARACTERS:
            return f"[{html.escape(name)}: too many pictures for one page]"
        return super().image(text, url, title)
