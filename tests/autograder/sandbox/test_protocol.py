"""The host trusts nothing that a worker sends: it validates and bounds every message, and waits only for so long."""

import contextlib
import dataclasses
import json
import os
import threading
import time

import pytest

from autograder.sandbox import Call, Cell, Limits, MachineTooBusy, Reply, SandboxLost, Script, protocol, script, wire
from autograder.sandbox.meter import Usage
from autograder.sandbox.start import Worker


@pytest.mark.parametrize(
    ("number", "quoted"),
    [(1, "one"), (2, "t[2Jwo"), (3, "x" * protocol.MAX_LINE_CHARACTERS), (4, ""), (0, ""), (-1, "")],
)
def test_of_the_line_that_raised_only_so_much_is_quoted_as_a_sentence_holds_and_what_is_seen(number, quoted):
    sources = {"cell": "  one  \nt\x1b[2J\u202ewo\x00\n" + "x" * 10**6}
    assert protocol._source_line(sources, "cell", number) == (quoted, number)
    assert protocol._source_line(sources, "another", number) == protocol._source_line(sources, ["cell"], number)
    assert protocol._source_line(sources, "another", number) == ("", number)


def test_empty_lines_at_the_top_of_a_cell_count_in_a_line_s_number():
    assert protocol._source_line({"cell": "\n  \ndef f():\n\n    return x"}, "cell", 3) == ("return x", 5)


@pytest.mark.parametrize(
    ("text", "name", "kept"),
    [
        ("return einops.rearrange(x)", "einops", "einops"),
        ("from scipy.special import softmax", "scipy.special", "scipy.special"),
        ("return x.einops", "einops", ""),
        ("return einops2(x)", "einops", ""),
        ("return x", "the hidden input", ""),
        ("return x", ["x"], ""),
    ],
)
def test_a_name_that_was_not_found_is_kept_only_if_it_occurs_in_the_line(text, name, kept):
    assert protocol._name_in(text, name) == kept


@pytest.mark.parametrize("line", [True, "3", 10_000, 10**9, -1, 0.5, None])
def test_a_line_that_no_cell_has_is_no_line(line):
    message = {"raised": "ValueError", "line": line, "cell": "cell"}
    reply = protocol._check_reply(message, None, {"cell": "\n" * 20_000})
    assert (reply.line, reply.text) == (0, "")


LIMITS = Limits(cell_seconds=3, cell_idle_seconds=4, call_seconds=2, output_kb=1, outputs_mb=1, reply_mb=1)


NOTHING_MORE = Usage()


class FakeMeter:
    """A meter whose usage grows by ``step`` each time it is read."""

    step = NOTHING_MORE

    def __init__(self, members):
        self.usage = Usage(cpu=999.0, idle=999.0)  # of its start

    def read(self, now=False):
        self.usage = Usage(self.usage.cpu + self.step.cpu, self.usage.idle + self.step.idle)
        return self.usage

    def restart(self):
        self.usage = Usage()


@pytest.fixture
def worker(monkeypatch):
    """Run a script on a worker that sends ``messages`` whatever the requests; return the ``Run`` and the requests.

    At every look, it has used one more ``step``.
    """
    monkeypatch.setattr(protocol, "SAMPLE_SECONDS", 0.001)

    def converse(asked, *messages, limits=LIMITS, keeps_open=False, step=NOTHING_MORE):
        monkeypatch.setattr(protocol, "Meter", type("", (FakeMeter,), {"step": step}))
        (requests_out, requests_in), (replies_out, replies_in) = os.pipe(), os.pipe()
        lines, received = [m if isinstance(m, bytes) else json.dumps(m).encode() + b"\n" for m in messages], []

        def answer():
            with open(requests_out, encoding="utf-8") as requests, open(replies_in, "wb", buffering=0) as replies:
                received.append(json.loads(requests.readline()))
                for message in lines:
                    with contextlib.suppress(BrokenPipeError):
                        replies.write(message)
                received.extend(map(json.loads, requests) if keeps_open else ())

        thread = threading.Thread(target=answer)
        thread.start()
        try:
            return protocol.run_script(Worker(requests_in, replies_out, str), asked, limits), received
        finally:
            os.close(requests_in)
            os.close(replies_out)
            thread.join()

    return converse


READY = {"ready": True}
STREAM = {"output_type": "stream", "name": "stdout"}
SHAPE = Call({"x": 1, "y": 2})


def cell(number, *texts, **more):
    return {"cell": number, "outputs": [{**STREAM, "text": text} for text in texts], "count": number + 1, **more}


def script_of(*sources, calls=()):
    return Script(tuple(Cell(source) for source in sources), {"toy-f": calls} if calls else {})


def test_the_outputs_of_each_cell_are_kept_up_to_their_bound(worker):
    run, requests = worker(script_of("a", "b"), READY, cell(0, "first"), cell(1, "x" * 5000, "never"), {"cells": 2})
    assert run.failure == ""
    assert run.outputs[0] == (1, [{**STREAM, "text": "first"}])
    count, (cut,) = run.outputs[1]
    assert (count, cut["text"]) == (2, "[output truncated: too long]\n")
    run, _ = worker(script_of("a"), READY, cell(0, "x" * 900, "y" * 900), {"cells": 1})
    assert [len(output["text"]) for output in run.outputs[0][1]] == [900, 900]
    outputs = [{**STREAM, "text": "x"}, {**STREAM, "text": "y"}]
    room = sum(len(json.dumps(output)) for output in outputs)
    assert protocol._check_outputs(outputs, room) == (outputs, room)
    assert "truncated" in protocol._check_outputs(outputs, room - 1)[0][-1]["text"]
    assert [request["source"] for request in requests[0]["cells"]] == ["a", "b"]
    assert requests[0]["limits"]["cell_seconds"] == LIMITS.cell_seconds
    assert run.spent["start"] >= 0
    assert 0 <= run.spent["cells"] < 20


def test_all_cells_together_share_a_bound_too(worker):
    limits = dataclasses.replace(LIMITS, output_kb=512, reply_mb=16)
    texts = [cell(number, "x" * 400_000) for number in range(4)]
    run, _ = worker(script_of(*"abcd"), READY, *texts, {"cells": 4}, limits=limits)
    sizes = [len(run.outputs[number][1][0]["text"]) for number in range(4)]
    assert sizes[:2] == [400_000, 400_000]
    assert max(sizes[2:]) < 100


def test_a_worker_that_ends_early_is_told_by_the_place_and_one_that_said_nothing_is_our_fault(worker):
    with pytest.raises(protocol.NoReply):
        worker(script_of("a"))
    run, _ = worker(script_of("a", "b"), READY, cell(0))
    assert run.failure.startswith("Python ended at cell 2 of 2")
    assert run.ended_in == 1
    assert not run.reached
    run, _ = worker(script_of("a"), READY, cell(0))
    assert run.failure.startswith("Python ended at the end of the notebook")
    assert run.ended_in is None


CPU, IDLE = Usage(cpu=0.5), Usage(idle=0.5)


@pytest.mark.parametrize(
    ("step", "limits", "name", "excess"),
    [
        (CPU, {}, "cell_seconds", "it used more than 3 seconds of CPU time"),
        (IDLE, {}, "cell_idle_seconds", "it waited 4 seconds without computing"),
        (CPU, {"submission_seconds": 2}, "submission_seconds", "the notebook used up its CPU time"),
        (IDLE, {"submission_idle_seconds": 2}, "submission_idle_seconds", "the notebook waited too long in all"),
    ],
)
def test_a_cell_is_stopped_by_what_it_used_and_the_limit_is_named(worker, step, limits, name, excess):
    limits = dataclasses.replace(LIMITS, **limits)
    run, _ = worker(script_of("a"), READY, keeps_open=True, limits=limits, step=step)
    assert run.failure == f"Stopped at cell 1 of 1: {excess} ({name})."
    assert run.reached == {name}
    assert run.ended_in == 0
    amount = run.used["sandbox"] + run.idle
    assert getattr(limits, name) + script.GRACE_SECONDS < amount <= getattr(limits, name) + script.GRACE_SECONDS + 1.5


@pytest.mark.parametrize("name", ["cell_seconds", "cell_idle_seconds"])
def test_a_limit_that_the_worker_noticed_is_reported_and_ends_nothing(worker, name):
    run, _ = worker(script_of("a"), READY, cell(0, reached=name), {"cells": 1})
    assert (run.failure, run.reached) == ("", {name})


@pytest.mark.parametrize("name", ["memory_mb", "x", True, ["cell_seconds"], None, {}])
def test_only_a_limit_is_believed_to_have_been_reached(worker, name):
    run, _ = worker(script_of("a"), READY, cell(0, reached=name), {"cells": 1})
    assert (run.failure, run.reached) == ("", set())


def test_each_cell_has_seconds_of_its_own(worker):
    cells = script_of(*"abcdef")
    run, _ = worker(cells, READY, *map(cell, range(6)), {"cells": 6}, step=CPU)
    assert (run.failure, run.reached) == ("", set())


def test_what_sends_one_byte_after_another_is_stopped_too(worker):
    run, _ = worker(script_of("a"), READY, *[b"x"] * 200, keeps_open=True, step=CPU)
    assert "(cell_seconds)" in run.failure


def test_a_machine_that_lets_nothing_run_costs_the_student_nothing(worker, monkeypatch):
    monkeypatch.setattr(script, "BRAKE_FACTOR", 1e-4)
    with pytest.raises(MachineTooBusy, match=r"cell 1 of 1 .* of which it used 0 and idled 0"):
        worker(script_of("a"), READY, keeps_open=True)


def test_a_worker_that_does_not_start_is_lost_and_used_nothing(worker, monkeypatch):
    monkeypatch.setattr(protocol, "START_SECONDS", 0.05)
    with pytest.raises(SandboxLost, match="had not started after"):
        worker(script_of("a"), keeps_open=True, step=CPU)


def test_a_line_without_end_and_too_much_in_all_are_stopped(worker):
    run, _ = worker(script_of("a"), READY, b"x" * (2**20 + 1))
    assert "it wrote more than 1 MB" in run.failure
    run, _ = worker(script_of("a"), READY, *[b"x" * 900_000 + b"\n"] * 8, keeps_open=True)
    assert "it wrote more than 1 MB" in run.failure
    run, _ = worker(script_of("a"), READY, *[b"x" * 900_000 + b"\n"] * 2, cell(0), {"cells": 1})
    assert run.failure == ""


def test_what_is_no_message_is_passed_over(worker):
    noise = [b"no json\n", b"[1]\n", {"cell": 7}, {"ready": 1}]
    run, _ = worker(script_of("a"), *noise, READY, *noise, cell(0, "said"), *noise, {"cells": 1})
    assert run.failure == ""
    assert run.outputs[0][1][0]["text"] == "said"


def call(number, exercise="toy-f", **more):
    return {"exercise": exercise, "call": number, **more}


def test_each_call_gets_its_first_reply_and_one_without_has_none(worker):
    messages = [
        call(0, value=5, changed=["y", "z"], printed=True),
        call(0, value=6),
        call(9, value=7),
        call(1, exercise="toy-g", value=8),
        call(2, raised="ValueError", line=1, cell=wire.cell_file_name("a")),
        call(None, status="ended"),
    ]
    began = time.monotonic()
    run, requests = worker(script_of("a", calls=(SHAPE,) * 4), READY, cell(0), {"cells": 1}, *messages, keeps_open=True)
    assert 0 <= run.spent["calls"] <= sum(run.spent.values()) <= time.monotonic() - began
    replies = [run.replies["toy-f", number] for number in range(4)]
    assert replies[0] == Reply(value=5, changed=("y",), printed=True)
    assert replies[1] == Reply(raised="no reply")
    assert replies[2] == Reply(raised="ValueError", line=1, text="a")
    assert (run.failure, run.reached, run.killed) == ("", set(), False)
    assert len(run.replies) == 4
    assert [len(exercise["calls"]) for exercise in requests[1]["exercises"]] == [4]


@pytest.mark.parametrize(
    ("status", "raised", "reached", "killed"),
    [
        ("ended", "no reply", set(), False),
        ("stopped", "CellTimeout", {"call_seconds"}, False),
        ("idle", "CellIdle", {"call_seconds"}, False),
        ("killed", "no reply", set(), True),
        (["stopped"], "no reply", set(), False),
    ],
)
def test_how_calls_ended_says_why_replies_are_missing(worker, status, raised, reached, killed):
    message = call(None, status=status)
    run, _ = worker(script_of("a", calls=(SHAPE,)), READY, cell(0), {"cells": 1}, message, keeps_open=True)
    assert run.replies["toy-f", 0] == Reply(raised=raised)
    assert (run.reached, run.killed) == (reached, killed)


@pytest.mark.parametrize(
    ("raised", "name"), [("CellTimeout", "call_seconds"), ("CellIdle", "call_seconds"), ("TooLarge", "reply_mb")]
)
def test_a_limit_that_a_call_reached_is_reported(worker, raised, name):
    messages = call(0, raised=raised), call(None, status="ended")
    run, _ = worker(script_of("a", calls=(SHAPE,)), READY, cell(0), {"cells": 1}, *messages, keeps_open=True)
    assert run.reached == {name}


def test_a_request_longer_than_a_pipe_waits_until_it_is_read(worker):
    (cell_asked,) = worker(script_of("x" * 10**6), READY, cell(0), {"cells": 1})[1][0]["cells"]
    assert len(cell_asked["source"]) == 10**6


@pytest.mark.parametrize("step", [CPU, IDLE])
def test_calls_of_which_nothing_is_heard_are_stopped(worker, step):
    asked = script_of("a", calls=(SHAPE,))
    run, _ = worker(asked, READY, cell(0), {"cells": 1}, keeps_open=True, step=step)
    assert run.failure.startswith("Stopped at the calls of toy-f: it ")
    assert run.failure.endswith(" (call_seconds).")
    assert run.reached == {"call_seconds"}
