"""The host's side of one run: send requests, check every reply, and end a run that exceeds a limit."""

import base64
import contextlib
import json
import math
import os
import re
import selectors
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from autograder.sandbox import wire
from autograder.sandbox.meter import SAMPLE_SECONDS, Meter, Usage
from autograder.sandbox.script import GRACE_SECONDS, NOTICED_LIMITS, START_SECONDS, Limits, Reply, Run, Script
from autograder.sandbox.start import MachineTooBusy, SandboxLost, Worker

ALLOWED_MIME_TYPES = ("text/plain", "text/html", "text/markdown", "text/latex", "image/png", "image/jpeg")
MAX_LINE_CHARACTERS = 100  # of a cell's line that is quoted
LEADING_LINES = re.compile(r"(?:[^\S\n]*\n)*")
DOTTED_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.]{0,79}")
EXCEPTION_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,79}")
LIMITS_OF_CALLS = {
    "CellTimeout": "call_seconds",
    "CellIdle": "call_seconds",
    "TooLarge": "reply_mb",
}  # by what is raised


class _RunEnded(Exception):
    """The run cannot continue; the message says why."""


@dataclass(frozen=True)
class _Allowance:
    """Seconds that a submission may use until its next message, and the limits that they come from."""

    cpu: float
    idle: float
    names: tuple[str, str]


class NoReply(Exception):
    """The worker ended before it sent anything: the machine's fault, not the student's."""


def run_script(worker: Worker, script: Script, limits: Limits) -> Run:
    """Run ``script`` in ``worker`` and return its ``Run``.

    Raises NoReply if it ends before it sends anything, SandboxLost if it does not start, and MachineTooBusy if the clock
    has gone far beyond what it used.
    """
    return _WorkerRun(worker, script, limits).execute()


class _WorkerRun:
    def __init__(self, worker, script, limits):
        self.requests, self.replies, self.script, self.limits = worker.requests, worker.replies, script, limits
        self.alone = worker.alone  # False without a sandbox: then it must not count or kill other processes
        self.meter = Meter(worker.members)
        names = "cell_seconds", "cell_idle_seconds"
        self.for_a_cell = _Allowance(limits.cell_seconds, limits.cell_idle_seconds, names)
        self.run, self.sources = Run(), {wire.cell_file_name(cell.source): cell.source for cell in script.cells}
        self.buffer, self.searched, self.received = bytearray(), 0, 0
        self.reply_bytes = limits.reply_mb * 2**20
        self.all_bytes = limits.outputs_mb * 2**21 + 4 * self.reply_bytes
        self.latest_start = time.monotonic() + START_SECONDS
        self.brake = math.inf  # the clock's limit; known once it has started
        for descriptor in (self.requests, self.replies):
            os.set_blocking(descriptor, False)
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.replies, selectors.EVENT_READ)

    def execute(self):
        began = time.monotonic()
        try:
            self._run_cells()
            ran = time.monotonic()
            self.run.spent["cells"] = ran - began - self.run.spent.get("start", 0.0)
            self._call_all()
            self.run.spent["calls"] = time.monotonic() - ran
        except _RunEnded as reason:
            self.run.failure = str(reason)
        finally:
            self.selector.close()
        usage = self.meter.read(now=True)
        self.run.used["sandbox"], self.run.idle = usage.cpu, usage.idle  # 0 where it cannot be measured
        return self.run

    def _run_cells(self):
        cells = [
            {"capture": cell.exercise, "function": cell.function} if cell.exercise else {"source": cell.source}
            for cell in self.script.cells
        ]
        limits = {**vars(self.limits), "alone": self.alone}
        files = {name: base64.b64encode(content).decode() for name, content in self.script.files.items()}
        began = time.monotonic()
        self._send(json.dumps({"cells": cells, "limits": limits, "files": files}), self._check_start)
        self._receive(lambda m: m.get("ready") is True, "its start", self._check_start)
        self.meter.restart()  # starting costs the submission nothing
        self.brake = time.monotonic() + self.limits.brake_seconds
        self.run.spent["start"] = time.monotonic() - began
        numbers = [number for number, cell in enumerate(self.script.cells) if not cell.exercise]
        room = self.limits.outputs_mb * 2**20
        for position, number in enumerate(numbers, 1):
            where = f"cell {position} of {len(numbers)}"
            self.run.ended_in = number
            message = self._receive(
                lambda m, n=number: m.get("cell") == n, where, self._limit_to(self.for_a_cell, where)
            )
            self.run.ended_in = None
            self._note_limit(message.get("reached"))
            outputs, size = _check_outputs(message.get("outputs"), min(room, self.limits.output_kb * 2048))
            room -= size
            self.run.outputs[number] = (_execution_count(message), outputs)
        where = "the end of the notebook"
        self._receive(lambda m: m.get("cells") == len(cells), where, self._limit_to(self.for_a_cell, where))

    def _call_all(self):
        if not self.script.calls:
            return
        requests = []
        for exercise, calls in self.script.calls.items():
            about = json.dumps({"exercise": exercise, "tensors": exercise in self.script.tensors})
            requests.append(f'{about[:-1]}, "calls": [{", ".join(call.text for call in calls)}]}}')
        self._send(f'{{"exercises": [{", ".join(requests)}]}}', self._limit_to(self.for_a_cell, "its calls"))
        for exercise, calls in self.script.calls.items():
            self._collect_replies(exercise, calls)

    def _collect_replies(self, exercise, calls):
        in_all, since = (wire.SLOW_CALLS + 1) * self.limits.call_seconds, self.meter.read()

        def is_last(message):
            nonlocal since
            number = message.get("call")
            if message.get("exercise") != exercise:
                return False
            if type(number) is int and 0 <= number < len(calls) and (exercise, number) not in self.run.replies:
                with contextlib.suppress(wire.InvalidMessage):
                    reply, now = _check_reply(message, calls[number], self.sources), self.meter.read()
                    # in case the worker's own timer has failed
                    if now.cpu - since.cpu > self.limits.call_seconds + GRACE_SECONDS:
                        reply = Reply(raised="CellTimeout")
                    elif now.idle - since.idle > self.limits.call_seconds + GRACE_SECONDS:
                        reply = Reply(raised="CellIdle")
                    self.run.replies[exercise, number], since = reply, now
            return "status" in message

        where = f"the calls of {exercise}"
        check = self._limit_to(_Allowance(in_all, in_all, ("call_seconds", "call_seconds")), where)
        ended = self._receive(is_last, where, check, wire.MAX_ITEMS_IN_ALL)
        self.run.killed |= ended.get("status") == "killed"
        raised = {"stopped": "CellTimeout", "idle": "CellIdle"}.get(str(ended.get("status")), "no reply")
        for number in range(len(calls)):
            reply = self.run.replies.setdefault((exercise, number), Reply(raised=raised))
            self._note_limit(LIMITS_OF_CALLS.get(reply.raised))

    def _note_limit(self, name):
        if name in NOTICED_LIMITS:
            self.run.reached.add(name)

    def _send(self, message, check):
        """Write ``message``, and call ``check`` while the worker does not read it."""
        data = memoryview(message.encode() + b"\n")
        with selectors.DefaultSelector() as writable:
            writable.register(self.requests, selectors.EVENT_WRITE)
            while data:
                if not writable.select(SAMPLE_SECONDS):
                    check()
                    continue
                try:
                    data = data[os.write(self.requests, data) :]
                except BlockingIOError:
                    continue
                except OSError:
                    raise self._lost_worker_error("its calls") from None

    def _receive(self, is_wanted, where, check, items=math.inf):
        """Return the first message that ``is_wanted`` accepts; drop all before it, and lines that cannot be parsed.

        Calls ``check`` while it waits, and after everything that it reads.
        """
        while True:
            while (at := self.buffer.find(b"\n", self.searched)) >= 0:
                line = bytes(self.buffer[:at])
                del self.buffer[: at + 1]
                self.searched = 0
                try:
                    message = wire.parse(line, items)
                except wire.InvalidMessage:
                    continue
                if is_wanted(message):
                    return message
            self.searched = len(self.buffer)
            check()
            if not self.selector.select(SAMPLE_SECONDS):
                continue
            try:
                chunk = os.read(self.replies, 1 << 17)
            except BlockingIOError:
                continue
            if not chunk:
                raise self._lost_worker_error(where)
            self.received += len(chunk)
            self.buffer += chunk
            if len(self.buffer) > self.reply_bytes or self.received > self.all_bytes:
                self.run.reached.add("reply_mb")
                raise _RunEnded(f"Stopped at {where}: it wrote more than {self.limits.reply_mb} MB (reply_mb).")

    def _check_start(self):
        if time.monotonic() > self.latest_start:
            raise SandboxLost(f"it had not started after {START_SECONDS:g} seconds")

    def _limit_to(self, allowed: _Allowance, where: str) -> Callable[[], None]:
        """Return a function that ends the run at ``where`` if the submission uses more than is ``allowed``, from now on."""
        return partial(self._check_limits, self.meter.read(), allowed, where)

    def _check_limits(self, since: Usage, allowed: _Allowance, where: str) -> None:
        now, limits, (cpu_name, idle_name) = self.meter.read(), self.limits, allowed.names
        for used, most, name, excess in (
            (now.cpu, limits.submission_seconds, "submission_seconds", "the notebook used up its CPU time"),
            (
                now.idle,
                limits.submission_idle_seconds,
                "submission_idle_seconds",
                "the notebook waited too long in all",
            ),
            (now.cpu - since.cpu, allowed.cpu, cpu_name, f"it used more than {allowed.cpu:g} seconds of CPU time"),
            (now.idle - since.idle, allowed.idle, idle_name, f"it waited {allowed.idle:g} seconds without computing"),
        ):
            if used > most + GRACE_SECONDS:
                self.run.reached.add(name)
                raise _RunEnded(f"Stopped at {where}: {excess} ({name}).")
        if time.monotonic() > self.brake:
            spent = f"{limits.brake_seconds:.0f} seconds, of which it used {now.cpu:.0f} and idled {now.idle:.0f}"
            raise MachineTooBusy(f"abandoned at {where} after {spent}: grade it again when the machine is less busy")

    def _lost_worker_error(self, where):
        """Return the exception for a worker that has exited; NoReply if it never started: our fault, not the student's."""
        reason = "the process was killed or exited early, so nothing after that could be graded"
        return _RunEnded(f"Python ended at {where}: {reason}.") if self.received else NoReply()


def _source_line(sources, name, number):
    """Return line ``number`` of the cell that a worker calls ``name``, and its number in the notebook; "" without such a line.

    It is looked up here because text from the worker could contain anything, above all the hidden inputs. IPython does not
    count the empty lines at the top of a cell.
    """
    if type(name) is not str or number < 1:
        return "", number
    source = sources.get(name, "")
    if leading := LEADING_LINES.match(source):
        number += leading[0].count("\n")
    lines = source.split("\n", number)  # split no further: a cell may have millions
    line = lines[number - 1].strip()[:MAX_LINE_CHARACTERS] if number <= len(lines) else ""
    return "".join(letter for letter in line if letter.isprintable()), number


def _name_in(text, name):
    """Return ``name`` if it is a dotted name in the student's own ``text``, else ""."""
    is_name = type(name) is str and DOTTED_NAME.fullmatch(name)
    return name if is_name and re.search(rf"(?<![\w.]){re.escape(name)}(?!\w)", text) else ""


def _check_reply(message, call, sources):
    changed, raised, line = message.get("changed", []), message.get("raised", ""), message.get("line", 0)
    if raised:
        name = raised if type(raised) is str and EXCEPTION_NAME.fullmatch(raised) else "an exception"
        line = line if type(line) is int and 0 < line < 10_000 else 0
        text, line = _source_line(sources, message.get("cell"), line)
        return Reply(raised=name, line=line, text=text, name=_name_in(text, message.get("name")))
    if type(changed) is not list:
        raise wire.InvalidMessage("no list of names")
    if "value" not in message:
        raise wire.InvalidMessage("no value")
    named = tuple(name for name in call.inputs if name in changed[: len(call.inputs)])
    return Reply(value=wire.decode(message["value"]), changed=named, printed=message.get("printed") is True)


def _execution_count(message):
    count = message.get("count")
    return count if type(count) is int and 0 <= count < 10**6 else None


def _check_outputs(items, room):
    """Return ``(outputs, size)`` of a cell, keeping only what may occur in a notebook file, as far as ``room`` allows."""
    kept, size = [], 0
    for item in items if type(items) is list else []:
        output = _check_output(item) if type(item) is dict else None
        if output is not None:
            length = len(json.dumps(output))
            if size + length > room:
                kept.append({"output_type": "stream", "name": "stderr", "text": "[output truncated: too long]\n"})
                break
            size += length
            kept.append(output)
    return kept, size


def _check_output(item):
    kind = item.get("output_type")
    if kind == "stream" and item.get("name") in ("stdout", "stderr"):
        return {"output_type": "stream", "name": item["name"], "text": _without_surrogates(item.get("text"))}
    if kind == "error":
        trace = item.get("traceback")
        lines = [_without_surrogates(line) for line in trace] if type(trace) is list else []
        texts = {name: _without_surrogates(item.get(name)) for name in ("ename", "evalue")}
        return {"output_type": "error", **texts, "traceback": lines}
    if kind in ("display_data", "execute_result") and type(item.get("data")) is dict:
        data = {mime: _without_surrogates(text) for mime, text in item["data"].items() if mime in ALLOWED_MIME_TYPES}
        output = {"output_type": kind, "data": data, "metadata": {}}
        if kind == "execute_result":
            output["execution_count"] = _execution_count({"count": item.get("execution_count")})
        return output
    return None


def _without_surrogates(item):
    return item.encode("utf-8", "replace").decode() if type(item) is str else ""
