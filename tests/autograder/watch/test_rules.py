"""The rules of course.toml: how many attempts, how long between them, and what a page shows before the due date."""

import json
import shutil
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from types import SimpleNamespace

import pytest
from nbgrader.exchange.default import Exchange

from autograder.batch import context
from autograder.courses.plan import Assignment
from autograder.errors import CourseError
from autograder.feedback import pages
from autograder.gradebook.requests import answer_request
from autograder.marking.override import override
from autograder.platforms.collect import collect
from autograder.verdicts import Part
from autograder.watch import arrivals, rules
from autograder.watch.arrivals import Arrival, Arrivals, Clock
from autograder.with_nbgrader.exchange import ExchangeFolders
from autograder.with_nbgrader.limits import DEFAULT_EXCHANGE, has_published
from tests.autograder.essays import all_right, hand_in, mark
from tests.autograder.test_main import succeed

pytestmark = pytest.mark.suite("assignments")


def graded(number, digest, ended, boot="one", uptime=0.0):
    return Arrival(
        number, "scoring", "", "", "", "ada", digest=digest, notebook=digest, ended=ended, boot=boot, uptime=uptime
    )


@pytest.mark.parametrize(
    ("now", "seconds"),
    [
        (Clock(1000.0, "one", 700.0), 500.0),  # an undisturbed clock
        (Clock(999_999.0, "one", 700.0), 500.0),  # set forward, or back
        (Clock(-999_999.0, "one", 700.0), 500.0),
        (Clock(1000.0, "two", 30.0), 300.0),  # after a reboot
        (Clock(0.0, "two", 30.0), 30.0),  # and with the clock set back
        (Clock(1000.0, "", 0.0), 300.0),  # a machine without boot IDs
    ],
)
def test_the_time_since_an_attempt_is_right_whatever_was_done_to_the_clock(now, seconds):
    assert now.seconds_since(graded(1, "a", 700.0, uptime=200.0)) == seconds


def test_a_decision_counts_contents_and_what_grade_has_graded_without_watch():
    now, rule = Clock(1000.0, "one", 1000.0), Assignment(attempts=2)
    attempt = graded(1, "a", 0.0)
    assert rules.decide(rule, [], [], "a", "a", now) == rules.Decision(rules.GRADE, 1)
    assert rules.decide(rule, [attempt], ["a"], "b", "b", now) == rules.Decision(rules.GRADE, 2)
    assert rules.decide(rule, [attempt, replace(attempt, number=2)], ["a"], "b", "b", now).what == rules.GRADE
    assert rules.decide(rule, [attempt], ["a", "by hand"], "b", "b", now).what == rules.USED_UP
    assert rules.decide(rule, [attempt], ["a", "by hand"], "x", "by hand", now) == rules.Decision(rules.GRADE, 2)
    assert rules.decide(Assignment(), [attempt] * 50, ["c", "d"], "b", "b", now).what == rules.GRADE


def test_attempts_beyond_the_limit_are_kept_but_not_graded_and_the_page_says_which_counts(hub):
    hub.plan(attempts=2)
    hub.submit("ada", "my first answer")
    second = hub.submit("ada", "my second answer")
    third = hub.submit("ada", "my third answer")
    lines = hub.watch()
    assert hub.graded == ["my first answer", "my second answer"]
    notice = "Your 2 attempts are used up, so this hand-in is kept but not graded; attempt 2, which arrived on"
    assert notice in hub.page(third)
    assert "my second answer" not in hub.page(third)  # which is on the page of the attempt that counts
    assert notice in hub.course.feedback("ada", "scoring").read_text()
    assert "used up" not in hub.page(second)
    assert any("ada: used up" in line for line in lines)
    assert "my second answer" in hub.course.submission("ada", "scoring").read_text()
    kept = [path.read_text() for path in (hub.course.root / ".autograder" / "earlier").rglob("*.ipynb")]
    assert sum("my third answer" in text for text in kept) == 1
    collect(hub.course, "scoring", hub.inbound)  # it does not count if an instructor collects by hand either
    assert "my second answer" in hub.course.submission("ada", "scoring").read_text()


def test_the_same_content_under_another_folder_name_is_no_new_attempt(hub):
    hub.plan(attempts=2)
    hub.submit("ada", "one")
    hub.watch()
    (folder,) = hub.inbound.iterdir()
    copy = hub.inbound / "ada+scoring+2026-01-01 00:00:00.000000 UTC+copy"
    shutil.copytree(folder, copy)
    renamed = folder.rename(folder.with_name(f"{folder.name}x"))
    for path in (copy, *copy.iterdir(), renamed, *renamed.iterdir()):
        hub.own(path, "ada")
    lines = hub.watch()
    hub.submit("ada", "two")
    last = hub.submit("ada", "three")
    hub.watch()
    assert hub.graded == ["one", "two"]
    assert "Your 2 attempts are used up" in hub.page(last)
    assert sum("attempt 1" in line for line in lines) >= 1


def test_an_account_that_submits_for_somebody_else_uses_up_nobodys_attempts(hub):
    hub.plan(attempts=1)
    for number in range(3):
        hub.submit("ada", f"forged {number}", account="mal")
    own = hub.submit("ada", "own")
    hub.watch()
    assert hub.graded == ["own"]
    assert "used up" not in hub.page(own)


def test_times_that_students_choose_change_neither_order_nor_count(hub):
    hub.plan(attempts=2)
    hub.submit("ada", "one", when="2026-03-01 10:00:00.000000 UTC")
    hub.watch()
    hub.submit("ada", "two", when="2020-01-01 00:00:00.000000 UTC")
    hub.watch()
    third = hub.submit("ada", "three", when="2019-01-01 00:00:00.000000 UTC")
    hub.watch()
    assert hub.graded == ["one", "two"]
    assert "attempt 2, which arrived on" in hub.page(third)


def test_an_attempt_that_cannot_be_graded_is_not_counted(hub):
    hub.plan(attempts=1)
    hub.submit("ada", content="no notebook")
    hub.watch()
    hub.submit("ada", "one")
    hub.watch()
    assert hub.graded == ["one"]


def test_an_attempt_on_which_the_grader_itself_failed_is_not_counted(hub):
    def fails_on_the_first(notebook, *rest):
        if "my first answer" in json.dumps(notebook):
            raise ZeroDivisionError("of the grader")
        return all_right(notebook, *rest)

    hub.plan(attempts=1)
    hub.submit("ada", "my first answer")
    second = hub.submit("ada", "my second answer")
    hub.watch(grade_one=fails_on_the_first)
    assert hub.outcomes() == [("ada", "failed"), ("ada", "graded")]
    assert "used up" not in hub.page(second)


def test_an_attempt_that_comes_too_soon_waits_and_the_newest_is_graded_when_its_time_has_come(hub, monkeypatch):
    hub.plan(minutes_between=30)
    hub.submit("ada", "one")
    hub.watch()
    second = hub.submit("ada", "two")
    lines = hub.watch()
    assert "You must wait 30 minutes between attempts at scoring: this one will be graded at" in hub.page(second)
    assert any("ada: waits until" in line for line in lines)
    third = hub.submit("ada", "three")
    hub.watch()
    assert hub.graded == ["one"]
    now = Clock.now()
    later = replace(now, wall=now.wall + 29 * 60, uptime=now.uptime + 29 * 60)
    monkeypatch.setattr(Clock, "now", lambda: later)
    hub.watch()
    assert hub.graded == ["one"]
    later = replace(now, wall=now.wall - 9999, uptime=now.uptime + 31 * 60)
    hub.watch()
    assert hub.graded == ["one", "three"]
    assert "three" in hub.page(third)
    assert "There are 30 minutes" not in hub.page(third)
    assert "You handed in again before this submission could be graded" in hub.page(second)
    assert [outcome for _, outcome in hub.outcomes()] == ["graded", "superseded", "graded"]
    hub.submit("ada", "four")  # the time counts from the last attempt
    hub.watch()
    assert hub.graded == ["one", "three"]


def test_who_must_wait_is_told_when_the_time_since_the_last_attempt_will_have_passed(hub, monkeypatch):
    now = [Clock(datetime(2026, 3, 1, 10, tzinfo=UTC).timestamp(), "one", 1000.0)]
    monkeypatch.setattr(Clock, "now", lambda: now[0])
    hub.plan(minutes_between=30)
    hub.submit("ada", "one")
    hub.watch()
    now[0] = replace(now[0], wall=now[0].wall + 10 * 60, uptime=now[0].uptime + 10 * 60)
    second = hub.submit("ada", "two")
    lines = hub.watch()
    assert "this one will be graded at 10:30 UTC or soon after" in hub.page(second)
    assert any("ada: waits until 10:30:00 UTC" in line for line in lines)


def test_raised_limits_count_at_once(hub):
    hub.plan(attempts=1)
    hub.submit("ada", "one")
    hub.submit("ada", "two")
    hub.watch()
    hub.plan(attempts=2)
    third = hub.submit("ada", "three")
    hub.watch()
    assert hub.graded == ["one", "three"]
    assert "used up" not in hub.page(third)


SHOWN = {
    "nothing": (False, False),
    "hints": (True, False),
    "all": (True, True),
}  # hints, points


def hinted(notebook, exercises, *rest):
    """Grade as if the first exercise had earned nothing, for a known mistake."""
    done = all_right(notebook, exercises, *rest)
    reason = Part("", 0.0, done.verdicts[0].points, "In the second case, yours is 2.5.")
    first = replace(done.verdicts[0], earned=0.0, parts=(reason,), hints=("look at the axes",))
    return replace(done, verdicts=(first, *done.verdicts[1:]))


@pytest.mark.parametrize("shown", SHOWN)
def test_before_the_due_date_a_page_shows_what_course_toml_says_and_then_everything(hub, shown, monkeypatch):
    due = datetime.now(UTC) + timedelta(days=1)
    hub.plan(due=f"{due:%Y-%m-%dT%H:%M:%SZ}", feedback_before_due=f'"{shown}"')
    secret = hub.submit("ada")
    hub.watch(grade_one=hinted)
    hints, points = SHOWN[shown]
    page = hub.page(secret)
    assert ("look at the axes" in page) == hints
    assert ("yours is 2.5" in page) == points
    assert ("<dt>Points</dt>" in page, 'class="points' in page) == (points, points)
    assert ("after the due date" in page) == (shown != "all")
    assert hub.course.feedback("ada", "scoring").read_text() == page
    past = datetime.now(UTC) - timedelta(days=1)
    rule = f'due = {past:%Y-%m-%dT%H:%M:%SZ}\nfeedback_before_due = "{shown}"\n[assignment.scoring.extensions]\nada = '
    plan = hub.course.root / "course.toml"
    plan.write_text(f"[assignment.scoring]\n{rule}{due:%Y-%m-%dT%H:%M:%SZ}", encoding="utf-8")
    hub.watch()
    assert ("look at the axes" in hub.page(secret)) == hints  # ada has an extension
    plan.write_text(f"[assignment.scoring]\n{rule}{past:%Y-%m-%dT%H:%M:%SZ}", encoding="utf-8")
    lines = hub.watch()
    assert "look at the axes" in hub.page(secret)
    assert "<dt>Points</dt>" in hub.page(secret)
    assert any("the full feedback is released" in line for line in lines) == (shown != "all")
    assert len(hub.graded) == 1
    assert Arrivals(hub.course, ["scoring"]).list_withheld("scoring") == []


@pytest.mark.parametrize("shown", SHOWN)
def test_a_plain_page_tells_nothing_that_is_withheld_until_the_due_date(hub, shown, monkeypatch):
    def refuse(*args):
        raise ValueError("the page would be too large")

    due = datetime.now(UTC) + timedelta(days=1)
    hub.plan(due=f"{due:%Y-%m-%dT%H:%M:%SZ}", feedback_before_due=f'"{shown}"')
    secret = hub.submit("ada")
    monkeypatch.setattr(pages, "page", refuse)
    hub.watch(grade_one=hinted)
    assert hub.page(secret)
    told = ("look at the axes", "yours is 2.5", "points")
    assert [words in hub.page(secret) for words in told] == [shown == "all"] * 3


def test_a_page_with_hints_shows_no_points_when_a_later_file_cannot_be_read(hub):
    due = datetime.now(UTC) + timedelta(days=1)
    hub.plan(due=f"{due:%Y-%m-%dT%H:%M:%SZ}", feedback_before_due='"hints"')
    path = hand_in(hub.course, "ada")
    hub.regrade()
    path.write_text("no notebook")
    mark(hub.course, "ada", 1.0, "One of two criteria is met.")
    hub.regrade()
    page = hub.course.feedback("ada", "scoring").read_text()
    assert "was not graded" in page
    assert "<dt>Points</dt>" not in page
    assert "One of two criteria" not in page


def test_watch_counts_work_that_reached_a_limit_as_graded_and_grade_runs_it_again(hub):
    def stopped(notebook, exercises, *rest):
        done = all_right(notebook, exercises, *rest)
        verdicts = replace(done.verdicts[0], earned=0.0), *done.verdicts[1:]
        return replace(done, verdicts=verdicts, failure="A call took too much.", reached={"call_seconds": 2.0})

    plan, secret = hub.course.root / "course.toml", hub.submit("ada")
    for days in (1, -1):  # before the due date, and after it
        due = datetime.now(UTC) + timedelta(days=days)
        rules = f'due = {due:%Y-%m-%dT%H:%M:%SZ}\nfeedback_before_due = "hints"\n'
        plan.write_text(f"[assignment.scoring]\n{rules}", encoding="utf-8")
        hub.watch(grade_one=stopped)
    assert "A call took too much." in hub.page(secret)
    assert len(hub.graded) == 1
    hub.regrade()
    assert "A call took too much." not in hub.course.feedback("ada", "scoring").read_text()


def test_the_full_page_appears_when_nobody_can_hand_in_on_time_any_more(hub):
    """Within the grace minutes, work still counts as on time: a page that shows its points would help others."""
    india = timezone(timedelta(hours=5, minutes=30))  # course.toml may use any time zone; the page says UTC

    def plan(minutes_ago):
        due = datetime.now(UTC) - timedelta(minutes=minutes_ago)
        rules = f'due = {due.astimezone(india).isoformat(timespec="seconds")}\nfeedback_before_due = "hints"\n'
        text = f"[late]\npercent_a_day = 10\ngrace_minutes = 60\n[assignment.scoring]\n{rules}"
        (hub.course.root / "course.toml").write_text(text, encoding="utf-8")
        return f"{due + timedelta(minutes=60):%-d %B %Y, %H:%M} UTC"

    until = plan(minutes_ago=40)
    secret = hub.submit("ada")
    hub.watch()
    assert f"Points appear here after the due date: from {until} on." in hub.page(secret)
    assert "<dt>Points</dt>" not in hub.page(secret)
    hub.regrade()
    assert "<dt>Points</dt>" not in hub.course.feedback("ada", "scoring").read_text()
    plan(minutes_ago=61)
    lines = hub.watch()
    assert "<dt>Points</dt>" in hub.page(secret)
    assert any("the full feedback is released" in line for line in lines)


def test_once_the_due_date_is_over_grade_shows_all_though_no_rule_has_changed(hub, monkeypatch):
    due = datetime.now(UTC) + timedelta(days=1)
    hub.plan(due=f"{due:%Y-%m-%dT%H:%M:%SZ}", feedback_before_due='"hints"')
    hand_in(hub.course, "ada")
    hub.regrade()
    assert "<dt>Points</dt>" not in hub.course.feedback("ada", "scoring").read_text()
    monkeypatch.setattr(context, "datetime", SimpleNamespace(now=lambda zone: due + timedelta(seconds=1)))
    hub.regrade()
    assert "<dt>Points</dt>" in hub.course.feedback("ada", "scoring").read_text()


def test_a_submission_that_somebody_deleted_waits_for_no_full_page(hub):
    for days in (1, -1):  # before the due date, and after it
        due = datetime.now(UTC) + timedelta(days=days)
        hub.plan(due=f"{due:%Y-%m-%dT%H:%M:%SZ}", feedback_before_due='"hints"')
        hub.submit("ada") if days > 0 else shutil.rmtree(hub.course.root / "submitted" / "ada")
        hub.watch()
        assert Arrivals(hub.course, ["scoring"]).list_withheld("scoring") == (["ada"] if days > 0 else [])


def test_a_page_with_hints_has_what_a_person_answered_and_why_points_were_changed(hub):
    due = datetime.now(UTC) + timedelta(days=1)
    hub.plan(due=f"{due:%Y-%m-%dT%H:%M:%SZ}", feedback_before_due='"hints"')
    hub.submit("ada", requests=["Please look again at additive_score: my loop is right."])
    hub.watch()
    answer_request(hub.course, "scoring", "ada", "", "Your loop skips the last word.")
    override(hub.course, "scoring", "additive_score", "ada", 1.0, "It works for short sentences only.")
    mark(hub.course, "ada", 1.0, "One of two criteria is met.")
    hub.regrade()
    page = hub.course.feedback("ada", "scoring").read_text()
    assert "Your loop skips the last word." in page
    assert "It works for short sentences only." in page
    assert "One of two criteria" not in page  # the comment on a written answer says what it earned
    assert "<dt>Points</dt>" not in page


def test_what_was_published_is_published_again_when_it_has_changed_and_nothing_else_is(hub):
    secrets = [hub.submit(student) for student in ("ada", "ben")]
    hub.watch()
    folders = ExchangeFolders.of(hub.course)
    assert folders.publish_again(hub.course, "scoring", ["ada", "ben"]) == []
    mark(hub.course, "ada", 1.0, "One of two criteria is met.")
    hub.submit("cem")
    collect(hub.course, "scoring", hub.inbound)  # cem's page was never published
    hub.regrade()
    assert hub.course.feedback("cem", "scoring").is_file()
    unchanged = hub.page(secrets[1])
    assert "One of two criteria" not in hub.page(secrets[0])
    assert folders.publish_again(hub.course, "scoring", ["ben", "cem"]) == []
    assert folders.publish_again(hub.course, "scoring", ["ada", "ben", "cem"]) == ["ada"]
    assert "One of two criteria is met." in hub.page(secrets[0])
    assert hub.page(secrets[1]) == unchanged
    assert len(list((hub.exchange / "attention" / "feedback").iterdir())) == 2


def test_grade_publishes_marks_in_the_exchange_and_says_so(hub):
    ada = hub.submit("ada")
    hub.watch()
    mark(hub.course, "ada", 1.0, "One of two criteria is met.")
    said = "Feedback pages that have changed, published again in the exchange: 1."
    for is_first in (True, False):
        output = succeed("grade", "scoring", "--isolation", "none", "--course", hub.course.root)
        assert (said in output) == is_first
        assert "One of two criteria is met." in hub.page(ada)


def test_only_a_course_with_pages_in_its_exchange_publishes_them_again(hub):
    assert not has_published(hub.course)
    hub.submit("ada")
    hub.watch()
    assert has_published(hub.course)
    assert Exchange.root.default_value == DEFAULT_EXCHANGE


def test_the_record_keeps_the_order_and_takes_nothing_twice(hub):
    rows = [("scoring", "inbound", f"{name}+scoring", "1", name) for name in ("ben", "ada")]
    known = Arrivals(hub.course, ["scoring"])
    assert known.add(rows, 1.0) == 2
    assert known.add([*rows, ("scoring", "inbound", "ada+scoring", "2", "ada")], 2.0) == 1
    for restarted in (False, True):
        known = Arrivals(hub.course, ["scoring"]) if restarted else known
        assert [arrival.claimed for arrival in known.list_pending("scoring")] == ["ben", "ada", "ada"]
        listed = [(arrival.entry, arrival.mark, arrival.came) for arrival in known.list_all("scoring")]
        assert listed == [("ben+scoring", "1", 1.0), ("ada+scoring", "1", 1.0), ("ada+scoring", "2", 2.0)]
        assert known.add(rows, 3.0) == 0
    first = known.update(known.list_pending("scoring")[1], state=arrivals.WAITING)  # the older one of ada
    assert [arrival.mark for arrival in known.list_all("scoring")] == ["1", "1", "2"]
    known.update(first, mark="1, gone as 2")
    assert known.add(rows[1:], 4.0) == 1  # it is there again
    known.update(known.list_pending("scoring")[2], state=arrivals.ADMITTED)
    assert known.list_pending("scoring")[0].mark == "2"
    assert Arrivals(hub.course, ["scoring"]).list_pending("scoring") == known.list_pending("scoring")
    hub.course.record.path.write_bytes(b"no database" * 1000)
    with pytest.raises(CourseError, match="the record of the course cannot be used"):
        Arrivals(hub.course, ["scoring"])
