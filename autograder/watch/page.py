"""Serve the instructor's page on what `watch` is doing, and its metrics, on loopback and only with a token.

In: a ``Status``. Out: an address. Writes the token into the course directory, where a program that reads the metrics finds it.
"""

import contextlib
import secrets
from pathlib import Path

from prometheus_client import CONTENT_TYPE_LATEST

from autograder.courses.course import Course
from autograder.feedback.rendering import load_template
from autograder.marking.server import Asset, LoopbackHandler, serve_pages
from autograder.watch.status import Status

TEMPLATE = Path(__file__).with_name("page.html.j2")
MIN_TOKEN_CHARACTERS = 32


class _StatusPage(LoopbackHandler):
    def get(self):
        self.require(self.get_query_argument("token", "", strip=False))
        self.finish(load_template(TEMPLATE).render(now=self.session.snapshot()))


class _Metrics(LoopbackHandler):
    def get(self):
        bearer = self.request.headers.get("Authorization", "").removeprefix("Bearer ")
        self.require(self.get_query_argument("token", bearer, strip=False))
        self.set_header("Content-Type", CONTENT_TYPE_LATEST)
        self.finish(self.session.format_metrics())


class _Asset(Asset):
    folder = TEMPLATE.parent


def load_token(course: Course) -> str:
    """Return the token of the page of ``course``, generated only once so that bookmarks and metrics readers stay valid."""
    path = course.root / ".autograder" / "watch.token"
    path.parent.mkdir(exist_ok=True)
    path.touch(mode=0o600)
    if len(path.read_text(encoding="ascii").strip()) < MIN_TOKEN_CHARACTERS:  # new, or it could not be written before
        path.write_text(secrets.token_hex(24), encoding="ascii")
    return path.read_text(encoding="ascii").strip()


def status_page(status: Status, port: int, token: str) -> contextlib.AbstractContextManager[str]:
    """Serve the page of ``status`` and its metrics; see ``serve_pages``."""
    return serve_pages([(r"/", _StatusPage), (r"/metrics", _Metrics), (r"/(page\.css)", _Asset)], status, token, port)
