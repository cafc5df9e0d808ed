"""Serve the marking page: only on this machine's loopback interface, and only to requests that carry the token.

Every request needs the right Host, and every request that reads or changes student data needs the token: in the page's
address, as in Jupyter, and in a header of each POST. There is no cookie, so no other page that the marker has open can
send a valid request.
"""

import asyncio
import contextlib
import hmac
import socket
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
from tornado import web
from tornado.httpserver import HTTPServer

from autograder.courses.locking import RETRY_SECONDS, CourseLockedError
from autograder.errors import CourseError
from autograder.marking.session import Conflict, CriteriaRequest, MarkRequest, Session

HERE = Path(__file__).parent
LOOPBACK = "127.0.0.1"
MAX_REQUEST_BYTES = 2**20  # bytes of a request
LOCK_TRIES = 40  # attempts to lock the course for one request, RETRY_SECONDS apart
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
    "Server": "marking",
}


def serve(session: Session, token: str, port: int) -> contextlib.AbstractContextManager[str]:
    """Serve the page on which a person marks ``session``, as ``serve_pages`` does."""
    handlers = [(r"/", _MarkingPage), (r"/marks", _Marks), (r"/criteria", _Criteria), (r"/pictures/(\w+)", _Picture)]
    return serve_pages([*handlers, (r"/(page\.(?:css|js))", Asset)], session, token, port)


@contextlib.contextmanager
def serve_pages(
    handlers: Sequence[tuple[str, type[web.RequestHandler]]], session: Any, token: str, port: int
) -> Iterator[str]:
    """Serve ``session`` from another thread with ``handlers``, each a path and its ``LoopbackHandler``.

    Yields the address, with the ``token``. Raises CourseError if ``port`` is taken.
    """
    try:
        listening = socket.create_server((LOOPBACK, port))
    except OSError as error:
        remedy = "name another port, or leave it out to use a free one."
        raise CourseError(f"port {port} cannot be used ({error.strerror})", "--port", remedy) from None
    listening.setblocking(False)
    port = listening.getsockname()[1]
    shared = {"session": session, "token": token, "hosts": (f"{LOOPBACK}:{port}", f"localhost:{port}")}
    paths = [(path, handler, shared) for path, handler in [*handlers, (r".*", _NotFound)]]
    application = web.Application(paths, log_function=lambda handler: None)
    loop, stop = asyncio.new_event_loop(), asyncio.Event()

    async def run():
        server = HTTPServer(application, max_body_size=MAX_REQUEST_BYTES, max_buffer_size=2 * MAX_REQUEST_BYTES)
        server.add_socket(listening)
        await stop.wait()
        server.stop()
        await server.close_all_connections()

    thread = threading.Thread(target=loop.run_until_complete, args=(run(),), name="pages", daemon=True)
    thread.start()
    try:
        yield f"http://{LOOPBACK}:{port}/?token={token}"
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()  # a mark that is being saved is still saved
        loop.close()


class LoopbackHandler(web.RequestHandler):
    """Answers requests that come from a page of this server; any that return student data must ``require`` the token.

    ``folder`` has the files that an ``Asset`` sends.
    """

    folder = HERE

    def initialize(self, session: Any, token: str, hosts: tuple[str, ...]) -> None:
        self.session, self.token, self.hosts = session, token, hosts

    def set_default_headers(self) -> None:
        for name, value in HEADERS.items():
            self.set_header(name, value)

    def prepare(self) -> None:
        if self.request.host not in self.hosts:
            reason = "This page is served only at the address that the command printed"
            raise web.HTTPError(403, reason=reason)

    def require(self, token: str) -> None:
        """Refuse a request without the right ``token``."""
        if not hmac.compare_digest(token.encode("utf-8", "replace"), self.token.encode()):
            raise web.HTTPError(403, reason="Open the address that the command printed: it ends in a token")

    def write_error(self, status_code: int, **kwargs: Any) -> None:
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        self.finish(f"{self._reason}.\n")


class _MarkingPage(LoopbackHandler):
    def get(self):
        self.require(self.get_query_argument("token", "", strip=False))
        try:
            self.finish(self.session.page(self.token))
        except CourseError as error:
            self.set_status(503)
            self.set_header("Content-Type", "text/plain; charset=utf-8")
            self.finish(f"{error}\n")


class _Picture(LoopbackHandler):
    """A picture in an answer, read when it comes into view: all of them at once may be more than a browser can hold."""

    def get(self, picture_id):
        self.require(self.get_query_argument("token", "", strip=False))
        picture = self.session.picture(picture_id)
        if picture is None:
            raise web.HTTPError(404, reason="This picture no longer exists: reload the page")
        mime, content = picture
        self.set_header("Content-Type", mime)
        self.finish(content)


class Asset(LoopbackHandler):
    """Style and script, which contain no student data."""

    def get(self, name: str) -> None:
        kind = "text/css" if name.endswith("css") else "text/javascript"
        self.set_header("Content-Type", f"{kind}; charset=utf-8")
        self.finish((self.folder / name).read_bytes())


class _Post(LoopbackHandler):
    """A request that changes something: ``kind`` is the type of its JSON body, and ``serve`` does what it asks."""

    kind: type[msgspec.Struct]

    def serve(self, request: Any) -> dict[str, Any]:
        raise NotImplementedError

    async def post(self):
        self.require(self.request.headers.get("X-Marking-Token", ""))
        if self.request.headers.get("Origin", f"http://{self.request.host}") != f"http://{self.request.host}":
            raise web.HTTPError(403, reason="This request came from another page")
        if self.request.headers.get("Content-Type", "").partition(";")[0].strip() != "application/json":
            raise web.HTTPError(415, reason="Marks come as JSON")
        try:
            request = msgspec.json.decode(self.request.body, type=self.kind)
        except (msgspec.DecodeError, msgspec.ValidationError, RecursionError, UnicodeError) as error:
            return self._respond(400, {"problem": f"These are not valid marks: {error}"})
        self._respond(*await self._serve_patiently(request))

    async def _serve_patiently(self, request):
        """Return the status of the response and its body; wait a little for a course that is locked, mostly for a moment.

        After that, the page may send the request again.
        """
        tries = 0
        while True:
            try:
                return 200, self.serve(request)
            except Conflict as conflict:
                return 409, conflict.response
            except CourseLockedError as error:
                tries += 1
                if tries >= LOCK_TRIES:
                    return 503, {"problem": f"{error.args[0]}.", "again": True}
            except CourseError as error:
                return 503, {"problem": str(error), "again": True}
            await asyncio.sleep(RETRY_SECONDS)

    def _respond(self, status, body):
        self.set_status(status)
        self.finish(body)


class _Marks(_Post):
    kind = MarkRequest

    def serve(self, request):
        return self.session.mark(request)


class _Criteria(_Post):
    kind = CriteriaRequest

    def serve(self, request):
        return self.session.settle_moves(request)


class _NotFound(LoopbackHandler):
    def prepare(self):
        super().prepare()
        raise web.HTTPError(404, reason="There is nothing here")
