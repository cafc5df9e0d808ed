"""The host's side of one run: send requests, check every reply, and wait for nothing longer than its time limit."""

import base64
import contextlib
import json
import math
import os
import re
import selectors
import time

from autograder.sandbox import wire
from autograder.sandbox.script import GRACE_SECONDS, START_SECONDS, Limits, Reply, Run, Script

ALLOWED_MIME_TYPES = ("text/plain", "text/html", "text/markdown", "text/latex", "image/png", "image/jpeg")
MAX_LINE_CHARACTERS = 100  # of a cell's line that is quoted
EXCEPTION_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,79}")


class _RunEnded(Exception):
    """The run cannot continue; the message says why."""


class NoReply(Exception):
    """The worker ended before it sent anything: the machine's fault, not the student's."""


def run_script(requests: int, replies: int, script: Script, limits: Limits, alone: bool) -> Run:
    """Run ``script`` in the worker behind two descriptors and return its ``Run``; raise NoReply if it sends nothing."""
    return _WorkerRun(requests, replies, script, limits, alone).execute()


class _WorkerRun:
    def __init__(self, requests, replies, script, limits, alone):
        self.requests, self.replies, self.script, self.limits = requests, replies, script, limits
        self.alone = alone  # False without a sandbox: then it must not count or kill other processes
        self.run, self.sources = Run(), {wire.cell_file_name(cell.source): cell.source for cell in script.cells}
        self.buffer, self.searched, self.received = bytearray(), 0, 0
        self.reply_bytes = limits.reply_mb * 2**20
        self.all_bytes = limits.outputs_mb * 2**21 + 4 * self.reply_bytes
        self.deadline = time.monotonic() + limits.submission_seconds + START_SECONDS
        for descriptor in (requests, replies):
            os.set_blocking(descriptor, False)
        self.selector = selectors.DefaultSelector()
        self.selector.register(replies, selectors.EVENT_READ)

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
        return self.run

    def _run_cells(self):
        cells = [
            {"capture": cell.exercise, "function": cell.function} if cell.exercise else {"source": cell.source}
            for cell in self.script.cells
        ]
        limits = {**vars(self.limits), "alone": self.alone}
        files = {name: base64.b64encode(content).decode() for name, content in self.script.files.items()}
        began = time.monotonic()
        self._send(json.dumps({"cells": cells, "limits": limits, "files": files}))
        self._receive(lambda m: m.get("ready") is True, START_SECONDS, "its start")
        self.run.spent["start"] = time.monotonic() - began
        self.deadline = time.monotonic() + self.limits.submission_seconds
        numbers = [number for number, cell in enumerate(self.script.cells) if not cell.exercise]
        room = self.limits.outputs_mb * 2**20
        for position, number in enumerate(numbers, 1):
            where = f"cell {position} of {len(numbers)}"
            self.run.ended_in = number
            seconds = self.limits.cell_seconds + GRACE_SECONDS
            message = self._receive(lambda m, n=number: m.get("cell") == n, seconds, where)
            self.run.ended_in = None
            self.run.timed_out |= message.get("timed_out") is True
            outputs, size = _check_outputs(message.get("outputs"), min(room, self.limits.output_kb * 2048))
            room -= size
            self.run.outputs[number] = (_execution_count(message), outputs)
        self._receive(lambda m: m.get("cells") == len(cells), GRACE_SECONDS, "the end of the notebook")

    def _call_all(self):
        if not self.script.calls:
            return
        requests = []
        for exercise, calls in self.script.calls.items():
            about = json.dumps({"exercise": exercise, "tensors": exercise in self.script.tensors})
            requests.append(f'{about[:-1]}, "calls": [{", ".join(call.text for call in calls)}]}}')
        self._send(f'{{"exercises": [{", ".join(requests)}]}}')
        for exercise, calls in self.script.calls.items():
            self._collect_replies(exercise, calls)

    def _collect_replies(self, exercise, calls):
        allowed = self.limits.call_seconds * len(calls) + 1 + GRACE_SECONDS
        since = time.monotonic()

        def is_last(message):
            nonlocal since
            number = message.get("call")
            if message.get("exercise") != exercise:
                return False
            if type(number) is int and 0 <= number < len(calls) and (exercise, number) not in self.run.replies:
                with contextlib.suppress(wire.InvalidMessage):
                    reply, now = _check_reply(message, calls[number], self.sources), time.monotonic()
                    # in case the worker's own timer has failed
                    if now - since > self.limits.call_seconds + GRACE_SECONDS:
                        reply = Reply(raised="CellTimeout")
                    self.run.replies[exercise, number], since = reply, now
            return "status" in message

        ended = self._receive(is_last, allowed, f"the calls of {exercise}", wire.MAX_ITEMS_IN_ALL)
        self.run.killed |= ended.get("status") == "killed"
        for number in range(len(calls)):
            raised = "CellTimeout" if ended.get("status") == "stopped" else "no reply"
            reply = self.run.replies.setdefault((exercise, number), Reply(raised=raised))
            self.run.timed_out |= reply.raised == "CellTimeout"

    def _send(self, message):
        data = memoryview(message.encode() + b"\n")
        end = min(self.deadline, time.monotonic() + START_SECONDS)
        with selectors.DefaultSelector() as writable:
            writable.register(self.requests, selectors.EVENT_WRITE)
            while data:
                if not writable.select(max(0.0, end - time.monotonic())):
                    raise _RunEnded("The notebook did not read its input.")
                try:
                    data = data[os.write(self.requests, data) :]
                except BlockingIOError:
                    continue
                except OSError:
                    raise self._lost_worker_error("its calls") from None

    def _receive(self, is_wanted, seconds, where, items=math.inf):
        """Return the first message that ``is_wanted`` accepts; drop all before it, and lines that cannot be parsed."""
        end = min(self.deadline, time.monotonic() + seconds)
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
            left = end - time.monotonic()
            if left <= 0:
                which = "submission" if end == self.deadline else "cell"
                self.run.timed_out = True
                raise _RunEnded(f"Stopped at {where}: it exceeded the time limit for a {which}.")
            if not self.selector.select(left):
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
                raise _RunEnded(f"Stopped at {where}: it wrote more than {self.limits.reply_mb} MB.")

    def _lost_worker_error(self, where):
        """Return the exception for a worker that has exited; NoReply if it never started: our fault, not the student's."""
        reason = "the process was killed or exited early, so nothing after that could be graded"
        return _RunEnded(f"Python ended at {where}: {reason}.") if self.received else NoReply()


def _source_line(sources, name, number):
    """Return line ``number`` of the cell that a worker calls ``name``, or "".

    It is looked up here because text from the worker could contain anything, above all the hidden inputs.
    """
    if type(name) is not str or number < 1:
        return ""
    lines = sources.get(name, "").split("\n", number)  # split no further: a cell may have millions
    line = lines[number - 1].strip()[:MAX_LINE_CHARACTERS] if number <= len(lines) else ""
    return "".join(letter for letter in line if letter.isprintable())


def _check_reply(message, call, sources):
    changed, raised, line = message.get("changed", []), message.get("raised", ""), message.get("line", 0)
    if raised:
        name = raised if type(raised) is str and EXCEPTION_NAME.fullmatch(raised) else "an exception"
        line = line if type(line) is int and 0 < line < 10_000 else 0
        return Reply(raised=name, line=line, text=_source_line(sources, message.get("cell"), line))
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
