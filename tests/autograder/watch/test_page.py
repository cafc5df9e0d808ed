"""The instructor's status page shows what `watch` is doing, on loopback, to anybody with the token."""

from types import SimpleNamespace
from urllib.parse import urlsplit

import pytest
from prometheus_client.parser import text_string_to_metric_families as parse

from autograder.courses.course import init
from autograder.errors import CourseError
from autograder.watch import status as statuses
from autograder.watch.page import load_token, status_page
from autograder.watch.status import Status
from tests.autograder.marking.test_marking import ask

pytestmark = pytest.mark.suite("assignments")
TOKEN = "0123456789abcdef" * 3
PATH = f"/?token={TOKEN}"


def test_the_page_shows_queue_rate_medians_and_errors_and_escapes_what_students_choose():
    lines = []
    status = Status(lines.append)
    status.queued, status.waiting, status.oldest = 7, 2, 1.5
    for seconds in (1.0, 2.0, 9.0):
        status.count("graded", seconds)
    status.say("scoring <script>alert(1)</script>: attempt 1: graded")
    for _ in range(2):  # it is reported once
        status.report_trouble("gradebook.db: database is locked.")
    (error,) = status.snapshot()["errors"]
    assert error.endswith("gradebook.db: database is locked. It will be tried again.")
    with status_page(status, 0, TOKEN) as address:
        assert address.startswith("http://127.0.0.1:")
        code, headers, page = ask(address, PATH)
        status.report_trouble("")
        _, _, mended = ask(address, PATH)
        for refused in ("/", f"/?token=x{TOKEN}"):
            assert ask(address, refused)[0] == 403
        assert ask(address, PATH, Host="evil.example")[0] == 403
        assert ask(address, "/page.css")[0] == 200
        assert ask(address, "/marks")[0] == 404
        port = urlsplit(address).port
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
    with pytest.raises(ConnectionRefusedError):
        ask(address, PATH)


def test_the_page_says_how_many_hand_ins_end_in_a_minute(monkeypatch):
    status, now = Status(lambda line: None), [0.0]
    monkeypatch.setattr(statuses, "time", SimpleNamespace(monotonic=lambda: now[0]))
    for now[0] in (0.0, 10.0, 50.0, 90.0):
        status.count("graded", 1.0)
    now[0] = 120.0
    with status_page(status, 0, TOKEN) as address:
        assert "; 2 a minute</dd>" in ask(address, PATH)[2]


def test_metrics_have_arrivals_queue_and_times_for_whoever_has_the_token():
    status = Status(lambda line: None)
    status.queued = 7
    for outcome, seconds in (("graded", 1.5), ("graded", 45.0), ("used up", 0.5)):
        status.count(outcome, seconds)
    with status_page(status, 0, TOKEN) as address:
        code, headers, text = ask(address, "/metrics", Authorization=f"Bearer {TOKEN}")
        assert ask(address, f"/metrics?token={TOKEN}")[::2] == (code, text)
        for refused in ({}, {"Authorization": "Bearer"}, {"Authorization": f"Bearer x{TOKEN}"}):
            assert ask(address, "/metrics", **refused)[0] == 403
        assert ask(address, "/metrics?token=x")[0] == 403
        assert ask(address, "/metrics", Host="evil.example", Authorization=f"Bearer {TOKEN}")[0] == 403
    assert code == 200
    assert headers["Content-Type"].startswith("text/plain")
    samples = {
        (sample.name, *sample.labels.values()): sample.value for family in parse(text) for sample in family.samples
    }
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
    path.write_text("")  # as if the disk had been full when it was written
    assert len(load_token(course)) == len(token)


def test_a_terminal_that_is_gone_stops_nothing():
    def gone(line):
        raise BrokenPipeError

    status = Status(gone)
    status.report_error("x")
    assert len(status.errors) == 1
