"""Serve the page to a marker until Ctrl-C, and say how far the marking has come."""

import contextlib
import secrets
import signal
import tempfile
import threading
import webbrowser
from collections.abc import Callable, Iterator
from html import escape
from pathlib import Path

from autograder.errors import CourseError
from autograder.gradebook.backup import back_up
from autograder.marking.server import serve
from autograder.marking.session import Session
from autograder.paths import format_command

RETRY_SECONDS = 0.2  # between two looks at what is not saved yet
REDIRECT = '<!DOCTYPE html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url={}"><title>Marking</title>'


def run_server(session: Session, port: int, browser: bool, say: Callable[[str], object]) -> list[str]:
    """Serve ``session`` until SIGINT or SIGTERM; return lines to print. Raise CourseError if there is nothing to mark."""
    progress, topic = session.progress(), session.topic
    if not progress["of"]:
        untouched, student = progress["untouched"], session.student
        left = f"all {untouched} were left as handed out" if untouched else "nobody has been graded yet"
        if student:
            left = f"{student!r} left it as handed out" if untouched else f"nothing from {student!r} has been graded"
        steps = f"collect {topic} ARCHIVE", f"grade {topic}"
        collect, grade = (format_command(words, session.course.root) for words in steps)
        remedy = f"`{collect}`, then `{grade}`."
        raise CourseError(f"there is no answer to {session.exercise}: {left}", str(session.course.root), remedy)
    if session.student:
        session.answers()  # raises CourseError if another marker has it open
    back_up(session.course, "mark")
    for line in session.describe_moves():
        say(line)
    stop = threading.Event()
    with contextlib.ExitStack() as stack:
        stack.enter_context(on_signals(lambda *_: stop.set()))
        address = stack.enter_context(serve(session, secrets.token_hex(24), port))
        say(f"Mark here: {address}")
        say("Ctrl-C ends it; every mark is saved when it is given.")
        if browser:
            _open_browser(address, stack)
        stop.wait()
        if session.unsaved:
            stop.clear()
            say("Some marks are not saved yet: waiting for the page to send them again. Ctrl-C again gives them up.")
        while session.unsaved and not stop.wait(RETRY_SECONDS):
            pass
    progress, count = session.progress(), len(session.marked)
    lines = [f"Marked now: {count}. {progress['marked']} of {progress['of']} answers to {session.exercise} are marked."]
    if session.marked:
        grade = format_command(f"grade {topic}", session.course.root)
        lines.append(f"Next: `{grade}` puts points and comments into the feedback pages.")
    return lines


@contextlib.contextmanager
def on_signals(handler: Callable[..., object]) -> Iterator[None]:
    """Call ``handler`` on SIGINT and SIGTERM."""
    before = {kind: signal.signal(kind, handler) for kind in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for kind, handler_before in before.items():
            signal.signal(kind, handler_before)


def _open_browser(address, stack):
    """Open ``address`` through a file that only this user can read: everybody on the machine can read command lines."""
    folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="marking-"))
    page = Path(folder) / "marking.html"
    page.write_text(REDIRECT.format(escape(address)), encoding="utf-8")

    def show():
        with contextlib.suppress(webbrowser.Error):
            webbrowser.open(page.as_uri())

    threading.Thread(target=show, daemon=True).start()  # a browser in the terminal blocks until it is closed
