"""Run a submission where it can harm nobody: cells and inputs go in, outputs and values come out.

In: a ``Script``, ``Limits``. Out: a ``Run``, every byte of it checked. Starts one process a submission, behind
bubblewrap, and ends it with everything it started. Knows no answers.
"""

import base64
import contextlib
import json
import os
import re
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from autograder.errors import CourseError
from autograder.sandbox import bubblewrap, wire

ISOLATIONS = ("single-use", "none")
MIMES = ("text/plain", "text/html", "text/markdown", "text/latex", "image/png", "image/jpeg")
GRACE = 3.0  # seconds on top of a limit, before the host ends what did not end itself
EXCEPTION_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,79}")


@dataclass(frozen=True)
class Limits:
    """What one submission may use. Seconds of wall time; megabytes; numbers of things."""

    cell_seconds: float = 20.0
    call_seconds: float = 5.0
    submission_seconds: float = 120.0
    memory_mb: int = 4096
    disk_mb: int = 64
    processes: int = 64
    output_kb: int = 256
    reply_mb: int = 16


@dataclass(frozen=True)
class Cell:
    """A code cell to run, or, with ``exercise``, the place where that exercise's function is taken for its test."""

    source: str
    exercise: str = ""
    function: str = ""


@dataclass(frozen=True)
class Call:
    """One call: inputs by argument name, gradients wanted."""

    inputs: dict
    gradients: tuple[str, ...] = ()


@dataclass(frozen=True)
class Script:
    """Everything that goes into the sandbox: cells in order, then calls by exercise."""

    cells: tuple[Cell, ...]
    calls: dict  # exercise -> tuple of Call
    tensors: frozenset = frozenset()  # exercises whose inputs are torch tensors
    files: dict = field(default_factory=dict)  # what lies beside the notebook: name -> bytes


@dataclass(frozen=True)
class Reply:
    """What one call gave: a value, or the name of the exception in ``raised`` and the line of the student's cell."""

    value: object = None
    raised: str = ""
    line: int = 0
    changed: tuple[str, ...] = ()


@dataclass
class Run:
    """What came out. ``failure`` is "" or a sentence that says what ended the notebook early, in cell ``ended_in``."""

    outputs: dict = field(default_factory=dict)  # number of the cell -> (execution count, list of outputs)
    replies: dict = field(default_factory=dict)  # (exercise, number of the call) -> Reply
    failure: str = ""
    ended_in: int | None = None
    seconds: float = 0.0


def run(script, limits=None, isolation="single-use"):
    """Run ``script`` in a process of its own and return what came out of it. Never raises for what a student did.

    Raises
    ------
    CourseError
        If the sandbox itself cannot be started.
    """
    limits = limits or Limits()
    started = time.monotonic()
    with _worker(limits, isolation) as process:
        run = _Conversation(process, script, limits, isolation).hold()
    run.seconds = time.monotonic() - started
    return run


@contextlib.contextmanager
def _worker(limits, isolation):
    """Start a worker, and end it with everything it started."""
    with contextlib.ExitStack() as stack:
        if isolation == "none":
            args, settings = _bare(stack)
        elif isolation == "single-use":
            args, settings = _bubblewrapped(stack, limits)
        else:
            known = ", ".join(ISOLATIONS)
            raise CourseError(f"no isolation called {isolation!r}", "--isolation", f"name one of {known}.")
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        process = stack.enter_context(subprocess.Popen(args, start_new_session=True, **pipes, **settings))
        try:
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            with contextlib.suppress(OSError):
                process.stdin.close()


def _bubblewrapped(stack, limits):
    if not bubblewrap.available():
        raise CourseError("the sandbox cannot be started: bubblewrap is missing", "this machine", bubblewrap.REMEDY)
    args, start = bubblewrap.command(limits)
    reader, writer = os.pipe()
    stack.callback(os.close, reader)
    with os.fdopen(writer, "wb") as pipe:
        pipe.write("\0".join(args).encode())
    return ["bwrap", "--args", str(reader), "--", *start], {
        "env": {"PATH": os.defpath},
        "cwd": "/",
        "pass_fds": [reader],
    }


def _bare(stack):
    folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="autograder-", ignore_cleanup_errors=True))
    home = {name: value.replace("/scratch", folder) for name, value in bubblewrap.ENVIRONMENT.items()}
    os.makedirs(home["TMPDIR"])
    python_path = os.pathsep.join(str(path.parent) for path in bubblewrap.WORKER_FILES)
    env = {**home, "PYTHONPATH": python_path, "PATH": os.environ.get("PATH", os.defpath)}
    return [sys.executable, "-B", str(bubblewrap.WORKER_FILES[0])], {"env": env, "cwd": folder}


class _Ended(Exception):
    """The conversation cannot go on; the sentence says why."""


class _Conversation:
    """The host's side of one run: one request at a time, every reply checked, nothing waited for longer than allowed."""

    def __init__(self, process, script, limits, isolation):
        self.process, self.script, self.limits = process, script, limits
        self.alone = isolation != "none"  # without a sandbox, neither counts nor kills may reach beyond the worker
        self.run = Run()
        self.buffer, self.received = bytearray(), 0
        self.deadline = time.monotonic() + limits.submission_seconds
        os.set_blocking(process.stdout.fileno(), False)
        os.set_blocking(process.stdin.fileno(), False)
        self.selector = selectors.DefaultSelector()
        self.selector.register(process.stdout, selectors.EVENT_READ)

    def hold(self):
        try:
            self._run_cells()
            for exercise, calls in self.script.calls.items():
                self._call(exercise, calls)
        except _Ended as reason:
            self.run.failure = str(reason)
        finally:
            self.selector.close()
        return self.run

    def _run_cells(self):
        cells = [
            {"capture": cell.exercise, "function": cell.function} if cell.exercise else {"source": cell.source}
            for cell in self.script.cells
        ]
        limits = {**vars(self.limits), "alone": self.alone}
        files = {name: base64.b64encode(content).decode() for name, content in self.script.files.items()}
        self._send({"cells": cells, "limits": limits, "files": files})
        numbers = [number for number, cell in enumerate(self.script.cells) if not cell.exercise]
        patience = 30.0  # the first cell waits for the interpreter to start
        for number in numbers:
            where = f"cell {numbers.index(number) + 1} of {len(numbers)}"
            self.run.ended_in = number
            message = self._receive(
                lambda m, n=number: m.get("cell") == n, self.limits.cell_seconds + GRACE + patience, where
            )
            self.run.ended_in = None
            self.run.outputs[number] = (_count(message), _outputs(message.get("outputs"), self.limits))
            patience = 0.0
        self._receive(lambda m: m.get("cells") == len(cells), GRACE + patience, "the end of the notebook")

    def _call(self, exercise, calls):
        data = [
            {"inputs": {n: wire.encode(v) for n, v in call.inputs.items()}, "gradients": call.gradients}
            for call in calls
        ]
        tensors = exercise in self.script.tensors
        self._send({"exercise": exercise, "calls": data, "tensors": tensors})
        allowed = self.limits.call_seconds * len(calls) + 1 + GRACE

        def wanted(message):
            number = message.get("call")
            if message.get("exercise") != exercise:
                return False
            if type(number) is int and 0 <= number < len(calls):
                with contextlib.suppress(wire.Unreadable):
                    self.run.replies.setdefault((exercise, number), _reply(message))
            return "status" in message

        ended = self._receive(wanted, allowed, f"the calls of {exercise}")
        for number in range(len(calls)):
            raised = "CellTimeout" if ended.get("status") == "stopped" else "no reply"
            self.run.replies.setdefault((exercise, number), Reply(raised=raised))

    def _send(self, message):
        data = json.dumps(message).encode() + b"\n"
        end = min(self.deadline, time.monotonic() + 30 + GRACE)
        while data:
            try:
                data = data[os.write(self.process.stdin.fileno(), data) :]
            except BlockingIOError:
                if time.monotonic() > end:
                    raise _Ended("The notebook did not read its input.") from None
                time.sleep(0.005)
            except OSError:
                raise _Ended(self._why_ended("its calls")) from None

    def _receive(self, wanted, seconds, where):
        """Return the first message that ``wanted`` accepts; what cannot be read is dropped."""
        end = min(self.deadline, time.monotonic() + seconds)
        while True:
            while (at := self.buffer.find(b"\n")) >= 0:
                line = bytes(self.buffer[:at])
                del self.buffer[: at + 1]
                try:
                    message = wire.parse(line)
                except wire.Unreadable:
                    continue
                if wanted(message):
                    return message
            left = end - time.monotonic()
            if left <= 0:
                which = "submission" if end == self.deadline else "cell"
                raise _Ended(f"Stopped at {where}: it ran longer than a {which} may.")
            if not self.selector.select(left):
                continue
            chunk = self.process.stdout.read(1 << 16)
            if chunk is None:
                continue
            if not chunk:
                raise _Ended(self._why_ended(where))
            self.received += len(chunk)
            if self.received > self.limits.reply_mb * 2**20:
                raise _Ended(f"Stopped at {where}: it wrote more than {self.limits.reply_mb} MB.")
            self.buffer += chunk

    def _why_ended(self, where):
        """Tell a notebook that ended Python from a sandbox that never started, which is our fault, not the student's."""
        if not self.received:
            self.process.wait(timeout=GRACE)
            errors = self.process.stderr.read(4000).decode(errors="replace").strip()
            raise CourseError(
                f"the sandbox did not start: {errors or f'exit status {self.process.returncode}'}",
                "this machine",
                bubblewrap.REMEDY,
            )
        return f"Python ended at {where}: the process was killed or left early, so nothing after that could be graded."


def _reply(message):
    changed, raised, line = message.get("changed", []), message.get("raised", ""), message.get("line", 0)
    if raised:
        name = raised if type(raised) is str and EXCEPTION_NAME.fullmatch(raised) else "an exception"
        return Reply(raised=name, line=line if type(line) is int and 0 < line < 10_000 else 0)
    if type(changed) is not list or not all(type(name) is str and EXCEPTION_NAME.fullmatch(name) for name in changed):
        raise wire.Unreadable("no list of names")
    if "value" not in message:
        raise wire.Unreadable("no value")
    return Reply(value=wire.decode(message["value"]), changed=tuple(changed))


def _count(message):
    count = message.get("count")
    return count if type(count) is int and 0 <= count < 10**6 else None


def _outputs(items, limits):
    """Return the outputs of a cell as a notebook file may hold them; drop what does not belong in one."""
    room, kept = limits.output_kb * 1024 * 2, []
    for item in items if type(items) is list else []:
        output = _output(item) if type(item) is dict else None
        if output is not None:
            room -= len(json.dumps(output))
            if room < 0:
                break
            kept.append(output)
    return kept


def _output(item):
    kind = item.get("output_type")
    if kind == "stream" and item.get("name") in ("stdout", "stderr"):
        return {"output_type": "stream", "name": item["name"], "text": _text(item.get("text"))}
    if kind == "error":
        trace = item.get("traceback")
        lines = [_text(line) for line in trace] if type(trace) is list else []
        return {
            "output_type": "error",
            "ename": _text(item.get("ename")),
            "evalue": _text(item.get("evalue")),
            "traceback": lines,
        }
    if kind in ("display_data", "execute_result") and type(item.get("data")) is dict:
        data = {mime: _text(text) for mime, text in item["data"].items() if mime in MIMES}
        output = {"output_type": kind, "data": data, "metadata": {}}
        return {**output, "execution_count": _count({"count": item.get("execution_count")})} if "_r" in kind else output
    return None


def _text(item):
    return item.encode("utf-8", "replace").decode() if type(item) is str else ""


def inputs_of(case):
    """Return the ``Call`` for a drawn case: plain numbers and arrays only."""
    inputs = {name: np.asarray(item) if isinstance(item, np.ndarray) else item for name, item in case.inputs.items()}
    return Call(inputs, tuple(case.gradients))


def course_folders():
    """Return folders that no sandbox may show: the project, and the home of whoever runs it."""
    return [str(Path(__file__).resolve().parents[2]), str(Path.home())]
