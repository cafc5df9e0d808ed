"""The instructor's page: what `watch` is doing, on loopback, to whoever has the token."""

import urllib.error
import urllib.request

import pytest
from prometheus_client.parser import text_string_to_metric_families as parse

from autograder.courses.course import init
from autograder.errors import CourseError
from autograder.watch.page import load_token, status_page
from autograder.watch.status import Status

pytestmark = pytest.mark.suite("assignments")


TOKEN = "0123456789abcdef" * 3


def fetch(address, host="", **headers):
    headers |= {"Host": host} if host else {}
    request = urllib.request.Request(address, headers=headers)
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
    with status_page(status, 0, TOKEN) as address:
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
        with pytest.raises(CourseError, match="cannot be used"), status_page(status, port, TOKEN):
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


def test_metrics_have_arrivals_queue_and_times_for_whoever_has_the_token():
    status = Status(lambda line: None)
    status.queued = 7
    for outcome, seconds in (("graded", 1.5), ("graded", 45.0), ("used up", 0.5)):
        status.count(outcome, seconds)
    with status_page(status, 0, TOKEN) as address:
        metrics = address.partition("?")[0] + "metrics"
        code, text, headers = fetch(metrics, Authorization=f"Bearer {TOKEN}")
        assert fetch(f"{metrics}?token={TOKEN}")[:2] == (code, text)
        for refused in ({}, {"Authorization": "Bearer"}, {"Authorization": f"Bearer x{TOKEN}"}):
            assert fetch(metrics, **refused)[0] == 403
        assert fetch(f"{metrics}?token=x")[0] == 403
        assert fetch(metrics, host="evil.example", Authorization=f"Bearer {TOKEN}")[0] == 403
    assert code == 200
    assert headers["Content-Type"].startswith("text/plain")
    samples = {(one.name, *one.labels.values()): one.value for family in parse(text) for one in family.samples}
    assert samples["watch_arrivals_total", "graded"] == 2
    assert samples["watch_arrivals_total", "used up"] == 1
    assert samples["watch_queue_length",] == 7
    assert [samples["watch_feedback_seconds_bucket", end] for end in ("1.0", "2.0", "60.0", "+Inf")] == [1, 2, 3, 3]
    assert samples["watch_feedback_seconds_sum",] == 47


def test_the_token_is_drawn_once_and_only_its_owner_can_read_it(tmp_path):
    course, other = init(tmp_path / "course"), init(tmp_path / "other")
    token = load_token(course)
    assert load_token(course) == token != load_token(other)
    path = course.root / ".autograder" / "watch.token"
    assert path.read_text() == token
    assert path.stat().st_mode & 0o077 == 0
    path.write_text("")  # the disk was full when it was written
    assert len(load_token(course)) == len(token)


def test_a_terminal_that_is_gone_stops_nothing():
    def gone(line):
        raise BrokenPipeError

    status = Status(gone)
    status.complain("x")
    assert len(status.errors) == 1
