"""Serve the instructor's page on what `watch` is doing, on loopback and only with a token, like the page of `mark`."""

import asyncio
import contextlib
import secrets
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path

from autograder.feedback.rendering import load_template
from autograder.marking.server import Asset, LoopbackHandler, serve_pages
from autograder.watch.status import Snapshot

TEMPLATE = Path(__file__).with_name("page.html.j2")
STOP_SECONDS = 5.0


class _Page(LoopbackHandler):
    def get(self):
        self.require(self.get_query_argument("token", "", strip=False))
        self.finish(load_template(TEMPLATE).render(now=self.session()))


class _Asset(Asset):
    folder = TEMPLATE.parent


@contextlib.contextmanager
def status_page(snapshot: Callable[[], Snapshot], port: int) -> Iterator[str]:
    """Serve the page with what ``snapshot`` returns from another thread; give its address.

    Raises ``CourseError`` if ``port`` is taken.
    """
    ready: Future[tuple[str, Callable[[], object]]] = Future()

    async def run():
        stop, loop = asyncio.Event(), asyncio.get_running_loop()

        def tell(address):
            ready.set_result((address, lambda: loop.call_soon_threadsafe(stop.set)))

        handlers = [(r"/", _Page), (r"/(page\.css)", _Asset)]
        await serve_pages(handlers, snapshot, secrets.token_hex(24), port, tell, stop)

    def serve():
        try:
            asyncio.run(run())
        except BaseException as error:
            if not ready.done():
                ready.set_exception(error)

    thread = threading.Thread(target=serve, name="status page", daemon=True)
    thread.start()
    address, stop = ready.result()
    try:
        yield address
    finally:
        stop()
        thread.join(STOP_SECONDS)
