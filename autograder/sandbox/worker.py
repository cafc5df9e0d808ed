"""The part that runs inside the sandbox: execute a notebook's cells, then call functions and report what they return.

Reads and writes JSON lines. It knows inputs, never answers; it reports values, never scores. Student code runs in this
process, so the host believes nothing that comes from here without checking it.
"""

import base64
import contextlib
import inspect
import json
import math
import mmap
import os
import re
import resource
import select
import shlex
import signal
import sys
import tempfile
import time
from typing import Any, TextIO, cast

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import compare
import numpy as np
import wire

TICK_SECONDS = 0.25  # between two looks at what a cell or a call has used
RUNNING_SECONDS = 0.001  # a process that has used less CPU time since the last look was waiting, not computing
HARD_TIMEOUT_SLACK_SECONDS = 2.0  # beyond a call's own timer, whose exception it can catch
EXIT_SECONDS = 5.0  # that a process may take to exit after its last call
CPU_SLACK_SECONDS = 15  # beyond the limit of a submission, before the kernel ends a process of it
CHECKS_MARKER = "\ndef make_checks():\n"  # marks the cell of a release that defines the checks
CHECKS_FILE = "checks.py"  # the name of that cell in tracebacks
# `pip install …` or `python -m pip install …` as a whole command, even with its output sent elsewhere
INSTALL = re.compile(
    r"""\s*((['"]?)(.*/)?python[\d.]*\2\s+-m\s+|\S*/)?pip[\d.]*\s+(-\S+\s+)*install\b((?!&&|\|\||;).)*""", re.DOTALL
)
NOTHING_INSTALLED = (
    "pip does nothing here: the grader has no network, and an answer can import only what the grader has."
)
BATCH_BYTES, BATCH_SECONDS = 1 << 16, 0.02  # size of a batch of replies, and how long it may wait


class CellTimeout(BaseException):
    """The cell or the call used more CPU time than it may."""

    kind = "seconds"


class CellIdle(CellTimeout):
    """The cell or the call waited longer than it may without computing."""

    kind = "idle_seconds"


def main() -> None:
    """Run as a separate worker process, with standard input and output as the pipes to the host."""
    replies, requests = _detach_stdio()
    serve(requests, replies)


def serve(requests: TextIO, replies: int, shell: Any = None) -> None:
    """Run the notebook in the first of ``requests``, then make the calls that the second one asks for."""
    first = json.loads(requests.readline())
    _set_limits(first["limits"])
    for name, content in first["files"].items():
        with open(os.path.basename(name), "wb") as file:
            file.write(base64.b64decode(content))
    sys.path.append(os.getcwd())  # for modules that a notebook writes, as with %%writefile
    shell, captured, process = shell or make_shell(), {}, os.getpid()
    _send(replies, {"ready": True})
    for number, cell in enumerate(first["cells"]):
        if "capture" in cell:
            captured[cell["capture"]] = shell.user_ns.get(cell["function"])
        else:
            result = _run_cell(shell, cell["source"], first["limits"])
            if os.getpid() != process:  # the cell has forked this child: only the parent continues
                os._exit(0)
            _send(replies, {"cell": number, **result})
    _send(replies, {"cells": len(first["cells"])})
    if line := requests.readline():
        _run_calls(json.loads(line)["exercises"], captured, replies, first["limits"])


def _detach_stdio():
    """Move the pipes to the host to other descriptors, return those, and point 0, 1 and 2 at /dev/null."""
    replies, requests = os.dup(1), os.fdopen(os.dup(0), "r")
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    os.close(null)
    return replies, requests


def _set_limits(limits):
    values = {
        resource.RLIMIT_AS: limits["memory_mb"] * 2**20,
        resource.RLIMIT_FSIZE: limits["disk_mb"] * 2**20,
        resource.RLIMIT_NOFILE: 256,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_CPU: math.ceil(limits["submission_seconds"]) + CPU_SLACK_SECONDS,  # if the host cannot measure
    }
    if limits["alone"]:  # else it would count everything that this user runs on the machine
        values[resource.RLIMIT_NPROC] = limits["processes"]
    for kind, value in values.items():
        resource.setrlimit(kind, (value, value))


def _encode_line(message):
    # The leading line break terminates any line that a killed child left unfinished.
    return b"\n" + json.dumps(message).encode() + b"\n"


def _send(replies, message):
    _write(replies, _encode_line(message))


def _write(replies, data):
    data = memoryview(data)
    while data:
        data = data[os.write(replies, data) :]


class _Outbox:
    """A buffer of replies to the host, sent in batches because each write wakes up three processes.

    It is shared with the parent process, which sends what is left when a call ends the child, and sees in ``state`` how
    far the calls have come.
    """

    EXERCISES, CALLS, WAITING = range(3)  # indices of ``state``: exercises and calls finished, bytes waiting
    STATE = 3 * 8  # bytes

    def __init__(self, replies):
        shared = memoryview(mmap.mmap(-1, self.STATE + BATCH_BYTES))
        self.replies, self.state, self.text = replies, shared[: self.STATE].cast("q"), shared[self.STATE :]
        self.sent = time.monotonic()

    def add(self, message, most=float("inf")):
        """Queue ``message`` unless it has more than ``most`` bytes; return its size, or 0 if it was dropped."""
        data = _encode_line(message)
        if len(data) > most:
            return 0
        if self.state[self.WAITING] + len(data) > BATCH_BYTES:
            self.send()
        if len(data) > BATCH_BYTES:
            _write(self.replies, data)
        else:
            first = self.state[self.WAITING]
            self.text[first : first + len(data)] = data
            self.state[self.WAITING] += len(data)
        return len(data)

    def send(self):
        self.sent = time.monotonic()
        _write(self.replies, self.text[: max(0, self.state[self.WAITING])])  # student code can write to it
        self.state[self.WAITING] = 0


class _Watch:
    """Limits the CPU time of blocks, and how long they may wait without using any.

    It looks at the CPU time at each tick of a timer. While the machine is too busy to run this process, ticks are lost,
    so time in which it waits for a processor counts as nothing. A process that waits for another one is left to the host.
    """

    def __init__(self, cpu_seconds, idle_seconds):
        self.cpu_seconds, self.idle_seconds = cpu_seconds, idle_seconds
        self.tick = min(TICK_SECONDS, cpu_seconds / 4, idle_seconds / 4)
        self.waited = 0.0  # idle seconds in all blocks

    @contextlib.contextmanager
    def limit(self):
        """Raise CellTimeout or CellIdle in the block when it reaches a limit; yield a list that then holds the exception."""
        reached, began = [], time.process_time()
        last, waited = began, 0.0

        def look(signum, frame):
            nonlocal last, waited
            now = time.process_time()
            is_waiting = now - last < RUNNING_SECONDS and not _has_children()
            self.waited += self.tick if is_waiting else 0.0
            last, waited = now, waited + self.tick if is_waiting else 0.0
            if now - began >= self.cpu_seconds:
                reached.append(CellTimeout(f"stopped: it used {self.cpu_seconds:g} seconds of CPU time"))
            elif waited >= self.idle_seconds:
                reached.append(CellIdle(f"stopped: it waited {self.idle_seconds:g} seconds without computing"))
            if reached:
                signal.setitimer(signal.ITIMER_REAL, 0)
                raise reached[0]

        signal.signal(signal.SIGALRM, look)
        signal.setitimer(signal.ITIMER_REAL, self.tick, self.tick)
        try:
            yield reached
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)


def _has_children():
    """Return whether this process has children, whether running or not yet waited for."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


class _CellOutputs(list):
    """The outputs of one cell, as in a notebook file: at most ``room`` characters in all, apart from errors."""

    def __init__(self, room):
        super().__init__()
        self.room, self.is_cut = room, False

    def add(self, output, size):
        if self.is_cut or size > self.room:
            self._mark_as_cut()
        else:
            self.room -= size
            self.append(output)

    def stream(self, name, text):
        if self.is_cut or not text:
            return
        kept, rest = text[: self.room], text[self.room :]
        self.room -= len(kept)
        if self and self[-1].get("name") == name:
            self[-1]["text"] += kept
        else:
            self.append({"output_type": "stream", "name": name, "text": kept})
        if rest:
            self._mark_as_cut()

    def _mark_as_cut(self):
        if not self.is_cut:
            self.append({"output_type": "stream", "name": "stderr", "text": "\n[output cut here: too long]\n"})
        self.is_cut = True


class _OutputStream:
    """A replacement for sys.stdout or sys.stderr while cells run."""

    encoding, errors = "utf-8", "replace"

    def __init__(self, name):
        self.name = name
        self.outputs: _CellOutputs | None = None

    def write(self, text):
        if self.outputs is not None:
            self.outputs.stream(self.name, str(text))
        return len(text)

    def writelines(self, lines):
        for line in lines:
            self.write(line)

    def flush(self):
        pass

    def isatty(self):
        return False

    def fileno(self):
        raise OSError("no file descriptor")


def make_shell() -> Any:
    """Return the IPython shell that cells run in, and redirect sys.stdout and sys.stderr to the notebook."""
    from IPython.core.compilerop import CachingCompiler
    from IPython.core.displayhook import DisplayHook
    from IPython.core.displaypub import DisplayPublisher
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    class Compiler(CachingCompiler):
        def get_code_name(self, raw_code, transformed_code, number):
            # Name the cell as a kernel does: tracebacks are shorter if the name is that of a file that does not exist.
            name = f"{tempfile.gettempdir()}/ipykernel_{os.getpid()}/{wire.cell_file_name(raw_code)}"
            # Register it as a file without a module, or each traceback searches thousands of modules, whose memory is
            # then copied. This table is an implementation detail of Python: without it, tracebacks are only slower.
            getattr(inspect, "modulesbyfile", {})[name] = name
            return name

    class Publisher(DisplayPublisher):
        shell: "Shell"

        def publish(self, data, metadata=None, **kwargs):
            _add_data(self.shell.outputs, {"output_type": "display_data"}, data)

        def clear_output(self, wait=False):
            del self.shell.outputs[:]

    class Hook(DisplayHook):
        shell: "Shell"

        def write_output_prompt(self):
            pass

        def write_format_data(self, format_dict, md_dict=None):
            output = {"output_type": "execute_result", "execution_count": self.shell.execution_count}
            _add_data(self.shell.outputs, output, format_dict)

        def finish_displayhook(self):
            pass

    class Shell(InteractiveShell):
        displayhook_class, display_pub_class, compiler_class = Hook, Publisher, Compiler
        outputs = _CellOutputs(0)
        prepared, compiled, at_first = {}, [], None

        def prepare(self, sources):
            """Transform the ``sources`` of cells once for all submissions, and compile the code of the checks."""
            self.at_first, self.compiled = self._transforms(), []
            read = self.input_transformer_manager.transform_cell
            self.prepared = {source: self._compile_checks(read(source)) for source in sources}

        def _compile_checks(self, text):
            """Return ``text``; if it defines the checks, compile it and return text that runs the compiled code."""
            if CHECKS_MARKER not in text:
                return text
            try:
                self.compiled.append(compile(text, CHECKS_FILE, "exec"))
            except (SyntaxError, ValueError):  # each submission will find it, too
                return text
            return f'# compiled before\nexec(__import__("IPython").get_ipython().compiled[{len(self.compiled) - 1}])\n'

        def transform_cell(self, raw_cell):
            if raw_cell not in self.prepared or self._transforms() != self.at_first or self.input_transformers_post:
                return super().transform_cell(raw_cell)
            text = self.prepared[raw_cell]
            if len(text.splitlines()) == 1:  # a single line is transformed further, depending on what is defined now
                with self.builtin_trap:
                    text = cast(Any, self.prefilter_manager).prefilter_lines(text) + "\n"
            return text

        def _transforms(self):
            steps = self.input_transformer_manager
            return steps, *map(list, (steps.cleanup_transforms, steps.line_transforms, steps.token_transformers))

        def showtraceback(self, *args, **kwargs):
            _shorten_traceback(sys.exc_info()[1])
            super().showtraceback(*args, **kwargs)

        def _showtraceback(self, etype, evalue, stb):
            trace = [str(line)[:20_000] for line in stb][-20:]
            output = {"output_type": "error", "ename": etype.__name__, "evalue": str(evalue)[:4000], "traceback": trace}
            self.outputs.append(output)

        def _format_exception_for_storage(self, *args, **kwargs):
            return {}  # it would colour the traceback again, for a history that is never read

        def enable_gui(self, gui=None):
            pass  # pictures are inline; there is no window

        def init_sys_path(self):
            pass

        def system(self, cmd):
            if INSTALL.fullmatch(cmd):
                print(NOTHING_INSTALLED)
                self.user_ns["_exit_code"] = 0
            else:
                super().system(cmd)

        def run_pip(self, line):
            """Run pip as the magic command %pip does, without its advice to restart the kernel."""
            self.system(f"{shlex.quote(sys.executable)} -m pip {line}")

    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.colors = "neutral"
    shell = Shell.instance(config=config)
    shell.magics_manager.register_function(shell.run_pip, magic_name="pip")
    sys.stdout, sys.stderr = _OutputStream("stdout"), _OutputStream("stderr")
    return shell


def _shorten_traceback(error, ends=20):
    """Leave out the middle of a deep traceback: colouring a thousand frames takes seconds.

    Of one that ends at a limit, leave out the checks and the watch as well, so that it ends in the student's own lines.
    """
    links, trace = [], error.__traceback__
    while trace is not None:
        links.append(trace)
        trace = trace.tb_next
    if isinstance(error, CellTimeout):
        own = (CHECKS_FILE, _shorten_traceback.__code__.co_filename)
        links = [link for number, link in enumerate(links) if not number or link.tb_frame.f_code.co_filename not in own]
        for link, following in zip(links, [*links[1:], None], strict=True):
            link.tb_next = following
    if len(links) > 2 * ends:
        links[ends].tb_next = links[-ends]


def _add_data(outputs, output, data):
    clean = {}
    for mime, item in data.items():
        if isinstance(item, bytes):
            item = base64.b64encode(item).decode()
        if isinstance(item, str):
            clean[str(mime)] = item
    outputs.add({**output, "data": clean, "metadata": {}}, sum(map(len, clean.values())))


def _run_cell(shell, source, limits):
    outputs = _CellOutputs(limits["output_kb"] * 1024)
    stdout, stderr = cast(_OutputStream, sys.stdout), cast(_OutputStream, sys.stderr)
    count, reached = shell.execution_count, []
    shell.outputs = stdout.outputs = stderr.outputs = outputs
    try:
        with _Watch(limits["cell_seconds"], limits["cell_idle_seconds"]).limit() as reached:
            shell.run_cell(source, store_history=True)
    except CellTimeout as timeout:
        shell._showtraceback(CellTimeout, timeout, [f"CellTimeout: {timeout}"])
    except BaseException as error:
        shell._showtraceback(type(error), error, [f"{type(error).__name__}: {error}"])
    finally:
        sys.stdout, sys.stderr = stdout, stderr
    outputs = [{**o, "execution_count": count} if "execution_count" in o else o for o in outputs]
    return {"count": count, "outputs": outputs, "reached": f"cell_{reached[0].kind}" if reached else ""}


def _run_calls(exercises, captured, replies, limits):
    """Call each exercise's function on its inputs, in a forked child, so that a call that ends it costs one exercise only."""
    first = 0
    while first < len(exercises):
        if limits["alone"]:
            _kill_all_others()
        outbox = _Outbox(replies)
        finished, report = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(finished)
            try:
                for exercise in exercises[first:]:
                    _call_exercise(exercise, captured.get(exercise["exercise"]), outbox, limits)
                os.write(report, b".")
            finally:
                os._exit(0)
        os.close(report)
        status = _wait_for_calls(child, finished, outbox, limits)
        os.close(finished)
        if _end_child(child, patience=EXIT_SECONDS if status == "ended" else 0.0) == -signal.SIGKILL:
            status = "killed"
        outbox.send()
        first += max(0, min(outbox.state[outbox.EXERCISES], len(exercises) - first))
        if first < len(exercises):
            _send(replies, {"exercise": exercises[first]["exercise"], "status": status})
            first += 1


def _wait_for_calls(child, finished, outbox, limits):
    """Wait while ``child`` makes the calls; return "ended" when it has finished or died.

    Returns "stopped" if one call uses too much CPU time, and "idle" if it waits too long without computing: the timer in
    ``child`` has failed then. Like the timer, this counts looks in which nothing had happened, not the time between them.
    """
    most = limits["call_seconds"] + HARD_TIMEOUT_SLACK_SECONDS
    before, waited = list(outbox.state[:2]), 0.0
    began = last = _cpu_seconds_of(child)
    while not select.select([finished], [], [], TICK_SECONDS)[0]:
        now, used = list(outbox.state[:2]), _cpu_seconds_of(child)
        if now != before:
            before, began, waited = now, used, 0.0
        elif used - last < RUNNING_SECONDS:
            waited += TICK_SECONDS
        else:
            waited = 0.0
        last = used
        if used - began > most:
            return "stopped"
        if waited > most:
            return "idle"
    return "ended"


def _cpu_seconds_of(process):
    """Return the CPU time of ``process``; there is no /proc in which to read it."""
    try:
        return time.clock_gettime(~process << 3 | 2)  # Linux's number for the clock of a process
    except OSError:
        return 0.0


def _end_child(child, patience):
    """Kill ``child`` unless it exits within ``patience`` seconds; return its exit code if it does, else None."""
    end = time.monotonic() + patience
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() >= end:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return None
        time.sleep(0.005)


def _kill_all_others():
    """Kill every process that cells or calls have left running, so that none can observe or starve what comes next."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(-1, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)


def _call_exercise(request, function, outbox, limits):
    """Make the calls of one exercise, but none after one that ran too long or returned too much.

    There are dozens, and each would take as long again. For the same reason, all calls of an exercise together may use
    at most ``SLOW_CALLS`` times the limit of one.
    """
    sys.stdout, sys.stderr = _OutputStream("stdout"), _OutputStream("stderr")
    reason_to_stop, room = "", limits["reply_mb"] * 2**20  # for all of its replies together
    watch, began, in_all = _Watch(limits["call_seconds"], limits["call_seconds"]), time.process_time(), wire.SLOW_CALLS
    in_all *= limits["call_seconds"]
    last: dict[str, object] = {}  # the arguments of the last call
    for number, call in enumerate(request["calls"]):
        reply = {"exercise": request["exercise"], "call": number}
        if not reason_to_stop and time.process_time() - began > in_all:
            reason_to_stop = "CellTimeout"
        elif not reason_to_stop and watch.waited > in_all:
            reason_to_stop = "CellIdle"
        if reason_to_stop:
            reply["raised"] = reason_to_stop
        else:
            try:
                with watch.limit():
                    reply.update(_call(function, call, request["tensors"], last))
            except CellTimeout as timeout:
                reply["raised"] = reason_to_stop = type(timeout).__name__
            except BaseException as error:
                reply["raised"], (reply["line"], reply["cell"]) = type(error).__name__[:80], _error_line(error)
                if isinstance(error, (NameError, ImportError)):
                    reply["name"] = str(getattr(error, "name", ""))[:80]
        size = outbox.add(reply, room)
        room -= size
        if not size:
            reason_to_stop = "TooLarge"
            outbox.add({"exercise": request["exercise"], "call": number, "raised": reason_to_stop})
        outbox.state[outbox.CALLS] += 1
        if time.monotonic() - outbox.sent > BATCH_SECONDS:
            outbox.send()
    outbox.add({"exercise": request["exercise"], "status": "ended"})
    outbox.send()
    outbox.state[outbox.EXERCISES] += 1


def _call(function, call, tensors, last):
    if function is None:
        return {"raised": "missing"}
    inputs = {name: wire.decode(item) for name, item in call["inputs"].items()}
    inputs = {name: item.copy() if isinstance(item, np.ndarray) else item for name, item in inputs.items()}
    if tensors:
        import torch

        inputs = {n: torch.from_numpy(x) if isinstance(x, np.ndarray) else x for n, x in inputs.items()}
    cast(_OutputStream, sys.stdout).outputs = printed = _CellOutputs(1024)
    value, changed = compare.call_case(function, inputs, call["gradients"], last)
    return {"value": wire.encode(value), "changed": changed, "printed": bool(printed)}


def _error_line(error):
    """Return ``(line, file name)`` of the student's cell in which ``error`` was raised, or ``(0, "")``."""
    line, name, trace = 0, "", error.__traceback__
    while trace is not None:
        if "/ipykernel_" in trace.tb_frame.f_code.co_filename:
            line, name = trace.tb_lineno, os.path.basename(trace.tb_frame.f_code.co_filename)[:80]
        trace = trace.tb_next
    return line, name


if __name__ == "__main__":
    main()
