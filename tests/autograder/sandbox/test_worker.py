"""A worker sends its messages to the host in order, in few batches, and within its limit."""

import fcntl
import importlib
import os
import sys

import pytest

from autograder.sandbox import bubblewrap

pytestmark = pytest.mark.suite("sandbox")


@pytest.fixture(scope="module")
def worker(worker_folder):
    """The worker's module; afterwards, this process knows neither it nor what it imports from its folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [str(worker_folder), *sys.path])
        yield importlib.import_module("worker")
    for file in bubblewrap.WORKER_FILES:
        sys.modules.pop(file.stem, None)


@pytest.fixture
def outbox(worker):
    """An outbox, and a function that returns what has arrived."""
    replies, ours = os.pipe()
    fcntl.fcntl(ours, fcntl.F_SETPIPE_SZ, 4 * worker.BATCH_BYTES)
    os.set_blocking(replies, False)

    def arrived():
        try:
            return os.read(replies, 4 * worker.BATCH_BYTES).decode()
        except BlockingIOError:
            return ""

    yield worker._Outbox(ours), arrived
    os.close(replies)
    os.close(ours)


def test_small_messages_are_sent_together(outbox):
    box, arrived = outbox
    assert [box.add(number) for number in range(10, 15)] == [len("\n10\n")] * 5
    assert arrived() == ""
    box.send()
    assert arrived() == "".join(f"\n{number}\n" for number in range(10, 15))
    box.send()
    assert arrived() == ""


def test_a_batch_is_sent_when_the_next_message_would_not_fit(outbox, worker):
    box, arrived = outbox
    assert box.add("x" * 1000) + box.add("y" * (worker.BATCH_BYTES - 1008)) == worker.BATCH_BYTES
    assert arrived() == ""
    box.add("z")
    assert len(arrived()) == worker.BATCH_BYTES
    box.send()
    assert arrived() == '\n"z"\n'


def test_a_message_longer_than_a_batch_follows_the_queued_ones(outbox, worker):
    box, arrived = outbox
    box.add("first")
    assert box.add("x" * worker.BATCH_BYTES) == worker.BATCH_BYTES + 4
    text = arrived()
    assert text.startswith('\n"first"\n\n"xxx')
    assert len(text) == 9 + worker.BATCH_BYTES + 4
    assert box.state[box.WAITING] == 0


def test_a_message_above_its_limit_is_dropped(outbox):
    box, arrived = outbox
    assert box.add("x" * 100, most=103) == 0
    assert box.add("x" * 100, most=104) == 104
    box.send()
    assert arrived() == '\n"' + "x" * 100 + '"\n'
