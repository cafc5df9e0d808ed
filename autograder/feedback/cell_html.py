"""Render Markdown, code and outputs of a notebook as HTML, which shows whatever a student wrote without running it.

The HTML has no scripts, frames, headings, ids or colours of its own, so it fits anywhere in a page. Pure.
"""

import html
import re
from collections.abc import Mapping
from functools import cache

from nbformat import NotebookNode
from pygments.lexers.python import PythonLexer
from pygments.token import Comment, Keyword, Number, Operator, String

from autograder.feedback import sanitize

HEADING = re.compile(r"<(/?)h[1-6]\b[^>]*>")
TOKEN_CLASSES = ((Comment, "c"), (String.Doc, "c"), (String, "s"), (Keyword, "k"), (Operator.Word, "k"), (Number, "n"))
LEXER = PythonLexer(stripnl=False, ensurenl=False)
MAX_LINES_SHOWN = 24  # lines; a longer output is folded


def prose(
    markdown: str,
    attachments: Mapping[str, Mapping[str, str]] | None = None,
    addresses: Mapping[str, str] | None = None,
) -> str:
    """Return Markdown as HTML with headings as bold lines; pictures come from ``attachments`` or their ``addresses``."""
    return _without_headings(sanitize.prose(markdown, attachments or {}, anchors=False, addresses=addresses))


def code(source: str) -> str:
    """Return the Python code ``source`` as HTML with its comments, keywords, strings and numbers marked."""
    if len(source) > sanitize.MAX_HIGHLIGHTED_CHARACTERS:
        return f"<pre>{html.escape(sanitize.plain(source))}</pre>"
    pieces = ((_token_class(token), html.escape(text)) for token, text in LEXER.get_tokens(sanitize.plain(source)))
    marked = "".join(f'<span class="{kind}">{text}</span>' if kind else text for kind, text in pieces)
    return f"<pre>{marked}</pre>"


@cache
def _token_class(token):
    return next((name for marked, name in TOKEN_CLASSES if token in marked), "")


def output(item: NotebookNode) -> str:
    """Return one output of a cell as HTML. Long text is folded, with its last line visible."""
    if item.output_type == "stream":
        return _text(item.text, "error" if item.name == "stderr" else "")
    if item.output_type == "error":
        return _text("\n".join(item.traceback) or f"{item.ename}: {item.evalue}", "error")
    data = item.get("data", {})
    for mime, render in (("text/html", _without_headings), ("text/markdown", prose), ("text/latex", prose)):
        if mime in data:
            return f'<div class="wide" role="group" aria-label="Output" tabindex="0">{render(data[mime])}</div>'
    for mime in ("image/png", "image/jpeg"):
        if mime in data:
            picture = re.sub(r"\s+", "", data[mime])
            return f'<img alt="A picture drawn by this cell" src="data:{mime};base64,{html.escape(picture)}">'
    return _text(data["text/plain"]) if "text/plain" in data else ""


def _text(text, kind=""):
    lines = sanitize.plain(text).rstrip("\n").split("\n")
    shown = f'<pre class="output {kind}">{html.escape(chr(10).join(lines))}</pre>'
    if len(lines) <= MAX_LINES_SHOWN:
        return shown
    last = html.escape(lines[-1][:200])
    return f"<details><summary>Output of {len(lines)} lines, ending in: <code>{last}</code></summary>{shown}</details>"


def _without_headings(text):
    return HEADING.sub(lambda tag: "</p>" if tag[1] else '<p class="heading">', text)
