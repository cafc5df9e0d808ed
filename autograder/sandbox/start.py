"""Start a worker, either a new process or a child of a warm zygote, and end it with everything it started."""

import base64
import contextlib
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import IO, cast

from autograder.errors import CourseError
from autograder.sandbox import bubblewrap, cgroup, container, meter, seccomp, setuid
from autograder.sandbox.script import NOTHING, START_SECONDS, Limits, Prepared

EXIT_SECONDS = 30.0  # that a process may take to exit after closing its pipes
ZYGOTE_EXIT_SECONDS = 2.0  # that a zygote may take to exit before it is killed, which loses only its CPU time
MAX_PREPARED_BYTES = 200_000  # bytes in one message on a socket
ISOLATIONS = ("zygote", "container", "user", "none")


class SandboxLost(Exception):
    """The sandbox was killed from outside. No submission is to blame."""


class MachineTooBusy(Exception):
    """A run had used little of what it may use when the clock had gone much further. No submission is to blame."""


@dataclass
class Worker:
    """A process that waits for one script, with descriptors for writing requests and reading replies."""

    requests: int
    replies: int
    last_words: Callable[[], str]
    alone: bool = True
    members: Callable[[], Iterable[int]] | None = None  # lists its processes and those it started, if they can be seen
    killed: bool = False  # known once it has ended: by a SIGKILL that we did not send
    used: float | None = None  # seconds of CPU, known once a zygote's child has ended


def start_worker(
    limits: Limits, isolation: str, hidden: Iterable[str] = (), prepared: Prepared = NOTHING
) -> contextlib.AbstractContextManager[Worker]:
    """Return a context manager that yields a ``Worker`` and ends it. ``hidden`` lists paths that it must not see.

    Only a zygote uses ``prepared``, to start faster. Raises CourseError if ``isolation`` is unknown or unavailable on
    this machine, and SandboxLost if the zygote was killed from outside.
    """
    require_known(isolation)
    if isolation == "zygote":
        return _zygote_child(limits, tuple(hidden), prepared)
    if isolation == "container":  # it sees nothing of this machine, so there is nothing to hide
        return _process(_in_container, limits)
    if isolation == "user":  # only file permissions hide anything from it
        return _process(_as_another_user, limits)
    return _process(_prepare_unsandboxed, limits, alone=False)


def require_known(isolation: str) -> None:
    """Raise CourseError unless ``isolation`` is one of ``ISOLATIONS``."""
    if isolation not in ISOLATIONS:
        raise CourseError(f"no isolation called {isolation!r}", "--isolation", f"name one of {', '.join(ISOLATIONS)}.")


def remedy(isolation: str) -> str:
    """Return advice on what to do if ``isolation`` does not start or does not hold."""
    return {"container": container.REMEDY, "user": setuid.REMEDY}.get(isolation) or bubblewrap.remedy()


@contextlib.contextmanager
def _process(prepare, limits, alone=True):
    """Yield a worker that serves a single submission."""
    with contextlib.ExitStack() as stack:
        args, settings, members = prepare(stack, limits)
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        process = stack.enter_context(subprocess.Popen(args, start_new_session=True, **pipes, **settings))
        requests, replies = cast("tuple[IO[bytes], IO[bytes]]", (process.stdin, process.stdout))

        def last_words():
            process.wait(timeout=START_SECONDS)
            return _stderr_tail(process)

        worker = Worker(requests.fileno(), replies.fileno(), last_words, alone)
        if members and meter.can_measure():
            worker.members = partial(members, process.pid)
        try:
            yield worker
        finally:
            if _is_closed(replies.fileno()):
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(timeout=EXIT_SECONDS)
            ended_by_us = process.poll() is None
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            with contextlib.suppress(OSError):
                requests.close()
    worker.killed = not ended_by_us and process.returncode in (-signal.SIGKILL, 128 + signal.SIGKILL)


def _stderr_tail(process):
    """Return the end of the standard error of ``process``, which has ended."""
    text = process.stderr.read(4000).decode(errors="replace").strip()
    return text or f"exit status {process.returncode}"


def _in_container(stack, limits):
    command = container.command(limits)
    container.require_image(command[0])
    return command, {}, None  # its processes are not below the engine's client, and may be on another machine


def _as_another_user(stack, limits):
    group = stack.enter_context(cgroup.limit_memory(limits))
    command, settings, members = setuid.prepare(stack, bubblewrap.ENVIRONMENT)
    return group.join(command), settings, lambda _: members()


def _prepare_unsandboxed(stack, limits):
    folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="autograder-", ignore_cleanup_errors=True))
    home = {name: value.replace("/scratch", folder) for name, value in bubblewrap.ENVIRONMENT.items()}
    os.makedirs(home["TMPDIR"])
    worker = stack.enter_context(tempfile.TemporaryDirectory(prefix="worker-"))
    for path in bubblewrap.WORKER_FILES:  # alone, as in a sandbox: files beside them could shadow other modules
        shutil.copy(path, worker)
    env = {**home, "PYTHONPATH": worker, "PATH": os.environ.get("PATH", os.defpath)}
    command = [sys.executable, "-B", os.path.join(worker, bubblewrap.WORKER_FILES[0].name)]
    return command, {"env": env, "cwd": folder}, meter.process_tree


def _require_bubblewrap():
    if not bubblewrap.is_installed():
        raise CourseError("the sandbox cannot be started: bubblewrap is missing", "this machine", bubblewrap.REMEDY)


def _is_closed(replies):
    """Return whether every writer has closed ``replies``, that is, whether the worker is exiting by itself."""
    os.set_blocking(replies, False)
    with contextlib.suppress(BlockingIOError):
        for _ in range(64):
            if not os.read(replies, 1 << 16):
                return True
    return False


def _read_when_ready(stack, content):
    """Return a descriptor from which to read ``content``, which must fit into a pipe."""
    reader, writer = os.pipe()
    stack.callback(os.close, reader)
    with os.fdopen(writer, "wb") as pipe:
        pipe.write(content)
    return reader


class Zygote:
    """A warm process behind bubblewrap, which forks a child in fresh namespaces for each submission."""

    def __init__(self, limits: Limits, hidden: Iterable[str] = (), prepared: Prepared = NOTHING):
        self.stack = contextlib.ExitStack()
        self.filter = base64.b64encode(seccomp.program()).decode()
        self.prepared = prepared
        self.clean = True  # no submission has left anything behind
        self.close = weakref.finalize(self, self.stack.close)
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, MAX_PREPARED_BYTES)  # the kernel doubles it
        self.control = self.stack.enter_context(ours)
        args, start = bubblewrap.command(limits, hidden)
        with contextlib.ExitStack() as short, theirs:
            descriptor = _read_when_ready(short, "\0".join(args).encode())
            group = self.stack.enter_context(cgroup.limit_memory(limits))
            command = group.join(["bwrap", "--args", str(descriptor), "--", *start])
            self.process = subprocess.Popen(
                command,
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                pass_fds=[descriptor],
                env={"PATH": os.defpath},
                cwd="/",
                start_new_session=True,
            )
        self.stack.callback(_end_zygote, self.process, self.control)
        with contextlib.suppress(OSError):  # it has exited; the reason is read below
            self.control.send(_format_prepared(prepared))
        if self._receive_status(START_SECONDS) != {"ready": True}:
            reason = self._last_words()
            killed = self.process.returncode in (-signal.SIGKILL, 128 + signal.SIGKILL)
            self.close()
            if killed:
                raise SandboxLost(reason)
            raise CourseError(*bubblewrap.explain_refusal(reason))

    @contextlib.contextmanager
    def child(self, limits: Limits) -> Iterator[Worker]:
        """Yield a worker for one submission; on exit, it and everything it started is dead, or ``SandboxLost`` is raised."""
        with contextlib.ExitStack() as stack:
            theirs_in, requests = os.pipe()
            replies, theirs_out = os.pipe()
            for descriptor in (requests, replies):
                stack.callback(os.close, descriptor)
            order = {"disk_mb": limits.disk_mb, "filter": self.filter}
            try:
                socket.send_fds(self.control, [json.dumps(order).encode()], [theirs_in, theirs_out])
            except OSError:
                raise SandboxLost("the zygote is gone") from None
            finally:
                os.close(theirs_in)
                os.close(theirs_out)
            statuses = []

            def last_words():
                statuses.append(self._receive_status(START_SECONDS))
                # the child has sent nothing yet, so no notebook is to blame
                if statuses[0] is None:
                    raise SandboxLost("the zygote is gone")
                if statuses[0].get("killed") is True:
                    raise SandboxLost("the child was killed")
                return statuses[0].get("failed", "the child never spoke")

            worker = Worker(requests, replies, last_words)
            if meter.can_measure():
                worker.members = partial(meter.process_tree, self.process.pid)
            try:
                yield worker
            finally:
                if not statuses:
                    end = {"end": True, "gone": _is_closed(replies)}
                    with contextlib.suppress(OSError):
                        self.control.send(json.dumps(end).encode())
                    statuses.append(self._receive_status(START_SECONDS))
                answer = statuses[0]
        if answer is None:
            raise SandboxLost("the zygote is gone")
        self.clean = answer.get("left") is False
        worker.killed, worker.used = answer.get("killed") is True, answer.get("used")

    def _receive_status(self, seconds):
        """Return the zygote's next message, or None if it sends none within ``seconds``, or an invalid one."""
        ready, _, _ = select.select([self.control], [], [], seconds)
        try:
            message = self.control.recv(4096) if ready else b""
            return json.loads(message) if message else None
        except (OSError, ValueError):
            return None

    def _last_words(self):
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout=EXIT_SECONDS)
        if self.process.poll() is None:
            return "the zygote does not answer"
        return _stderr_tail(self.process)


def _format_prepared(prepared):
    """Return the first message to a zygote: as much of ``prepared`` as fits; what does not fit only costs time later."""
    sources, room = [], MAX_PREPARED_BYTES
    for source in prepared.sources:
        room -= len(json.dumps(source))
        sources += [source] if room > 0 else []
    return json.dumps({**vars(prepared), "sources": sources}).encode()


def _end_zygote(process, control):
    """Let the zygote exit by itself, so that its CPU time is counted; else kill it."""
    with contextlib.suppress(OSError):
        control.shutdown(socket.SHUT_RDWR)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout=ZYGOTE_EXIT_SECONDS)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    process.stderr.close()


_thread_state = threading.local()  # a zygote dies with the thread that started it, so each thread has its own


@contextlib.contextmanager
def _zygote_child(limits, hidden, prepared):
    settings = (limits.memory_mb, limits.processes, limits.disk_mb, hidden)
    kept = getattr(_thread_state, "zygote", None)
    before = kept[1].prepared if kept and kept[0] == settings else None
    if kept is None or before is None or not before.covers(prepared):
        close()
        _require_bubblewrap()
        # prepare for both from now on, because a start takes seconds and assignments may alternate
        prepared = before.merge(prepared) if before else prepared
        kept = _thread_state.zygote = settings, Zygote(limits, hidden, prepared)
    try:
        with kept[1].child(limits) as worker:
            yield worker
    except BaseException as error:
        if isinstance(error, SandboxLost | CourseError):
            close()
        raise
    finally:
        if not kept[1].clean:  # the next submission gets a new sandbox
            close()


def close() -> None:
    """End the zygote of this thread, if it has one."""
    kept = getattr(_thread_state, "zygote", None)
    if kept is not None:
        _thread_state.zygote = None
        kept[1].close()
