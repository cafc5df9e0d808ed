"""The instructor's page: what `watch` is doing, on loopback, to whoever has the token."""

import urllib.error
import urllib.request

import pytest

from autograder.errors import CourseError
from autograder.watch.page import status_page
from autograder.watch.status import Status

pytestmark = pytest.mark.suite("assignments")


def fetch(address, host=""):
    request = urllib.request.Request(address, headers={"Host": host} if host else {})
    try:
        with urllib.request.urlopen(request, timeout=30) as reply:
            return reply.status, reply.read().decode(), reply.headers
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode(), error.headers


def test_the_page_shows_queue_rate_medians_and_errors_and_escapes_what_students_choose():
    lines = []
    status = Status(lines.append)
    status.queued, status.waiting, status.oldest = 7, 2, 1.5
    for seconds in (1.0, 2.0, 9.0):
        status.count("graded", seconds)
    status.say("scoring <script>alert(1)</script>: attempt 1: graded")
    status.stumble("gradebook.db: database is locked.")
    with status_page(status.snapshot, 0) as address:
        assert address.startswith("http://127.0.0.1:")
        code, page, headers = fetch(address)
        status.stumble("")
        mended = fetch(address)[1]
        base, _, token = address.partition("?")
        assert fetch(base)[0] == 403
        assert fetch(f"{base}?token=x{token}")[0] == 403
        assert fetch(address, host="evil.example")[0] == 403
        assert fetch(f"{base}page.css")[0] == 200
        assert fetch(f"{base}marks")[0] == 404
        port = int(base.rpartition(":")[2].strip("/"))
        with pytest.raises(CourseError, match="cannot be used"), status_page(status.snapshot, port):
            pass
    assert code == 200
    for words in ("<dd>7, the first for 1.5 s</dd>", "2 s (median), 9 s at most", "3 since", "database is locked"):
        assert words in page
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert 'role="alert"' in page
    assert 'role="alert"' not in mended
    assert lines[-1].endswith("It works again.")
    with pytest.raises(OSError):  # noqa: PT011  (it is no longer there)
        urllib.request.urlopen(address, timeout=5)


def test_a_terminal_that_is_gone_stops_nothing():
    def gone(line):
        raise BrokenPipeError

    status = Status(gone)
    status.complain("x")
    assert len(status.snapshot().errors) == 1
