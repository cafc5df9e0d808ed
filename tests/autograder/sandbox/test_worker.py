"""A worker sends its messages to the host in order, in few batches, and within its limit."""

import fcntl
import importlib
import os
import shutil
import sys

import pytest

from autograder.sandbox import bubblewrap

pytestmark = pytest.mark.suite("sandbox")


@pytest.fixture(scope="module")
def worker(tmp_path_factory):
    """Import the worker's module from a folder like that of a sandbox."""
    folder, before = tmp_path_factory.mktemp("worker"), set(sys.modules)
    for file in bubblewrap.WORKER_FILES:
        shutil.copy2(file, folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [str(folder), *sys.path])
        module = importlib.import_module("worker")
    for name in set(sys.modules) - before:
        if str(folder) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]
    return module


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


def test_small_messages_wait_for_each_other(outbox):
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


def test_what_is_longer_than_a_batch_comes_after_what_waited(outbox, worker):
    box, arrived = outbox
    box.add("first")
    assert box.add("x" * worker.BATCH_BYTES) == worker.BATCH_BYTES + 4
    text = arrived()
    assert text.startswith('\n"first"\n\n"xxx')
    assert len(text) == 9 + worker.BATCH_BYTES + 4
    assert box.state[box.WAITING] == 0


def test_what_is_longer_than_it_may_be_is_dropped(outbox):
    box, arrived = outbox
    assert box.add("x" * 100, most=103) == 0
    assert box.add("x" * 100, most=104) == 104
    box.send()
    assert arrived() == '\n"' + "x" * 100 + '"\n'
