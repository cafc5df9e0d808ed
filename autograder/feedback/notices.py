"""Tell people what could not be shown or graded: pages for students, text that is safe in a terminal. Pure."""

import html
import re
import unicodedata
from collections.abc import Iterable

MAX_CHARACTERS = 10_000  # characters of one text
NOTICE = re.compile(r'<aside class="not-graded".*?</aside>', re.DOTALL)


def set_aside_page(topic: str, reason: str, page: str = "") -> str:
    """Return the page that a student gets instead of new feedback; the notice goes above the earlier feedback, ``page``."""
    text = _format_lines(reason)
    if not page:
        return _page(topic, f"<h1>{topic}: not graded yet</h1><p>{text}</p>")
    notice = (
        '<aside class="not-graded" style="margin: 1em; padding: 1em; border: 3px solid #b00020">'
        f"<h2>{topic}: your latest submission was not graded</h2><p>{text}</p>"
        "<p>This is the page of the submission that counts.</p></aside>"
    )
    return re.sub(r"<body[^>]*>", lambda body: body.group() + notice, NOTICE.sub("", page), count=1)


def sentence_page(topic: str, sentence: str) -> str:
    """Return the page of a submission that is not graded, or not now: the ``sentence`` that says so, and nothing else."""
    return _page(topic, f"<h1>{topic}: not graded</h1><p>{_format_lines(sentence)}</p>")


def plain_page(topic: str, lines: Iterable[str]) -> str:
    """Return a minimal feedback page that lists ``lines``, for when no better page can be made."""
    items = "".join(f"<li>{html.escape(plain(line))}</li>" for line in lines)
    return _page(topic, f"<h1>{topic}</h1><p>The answers themselves could not be shown here.</p><ul>{items}</ul>")


def plain(text: str) -> str:
    """Return ``text``, cut if too long, with replacements for characters that control a terminal or the reading direction."""
    return "".join(letter if _is_plain(letter) else "\N{REPLACEMENT CHARACTER}" for letter in text[:MAX_CHARACTERS])


def _format_lines(text):
    return html.escape(plain(text)).replace("\n", "<br>")


def _is_plain(letter):
    return letter in "\n\u200c\u200d" or unicodedata.category(letter) not in ("Cc", "Cf", "Cs", "Co")


def _page(topic, body):
    return (
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><title>{topic}</title></head>'
        f"<body><main>{body}</main></body></html>\n"
    )
