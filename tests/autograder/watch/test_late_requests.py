"""A student whose attempts are used up can still ask for another look at the work that was graded."""

import json

import pytest

from autograder.batch.submission_steps import SubmissionSteps
from autograder.courses.locking import exclusive_lock
from autograder.courses.standing import load_graded
from autograder.gradebook.requests import answer_request, load_requests
from autograder.gradebook.scores import load_results
from autograder.grading import submission
from autograder.notebooks.cell_ids import id_of
from tests.autograder.essays import grade_quickly
from tests.autograder.test_main import autograder

pytestmark = pytest.mark.suite("assignments")
WORDS = "Please look again at additive_score: my loop is right."
RECORDED = (
    "Your request for another look at additive_score has been recorded; the answer will appear on the page of the attempt that "
    "counts. Your one attempt is used up, so this hand-in is kept but not graded; attempt 1, which arrived on"
)
UNREAD = "Your request for another look was not read, because something else has changed as well."


@pytest.fixture
def used_up(hub):
    """A course in which ada has used up her only attempt."""
    hub.plan(attempts=1)
    hub.submit("ada", "one")
    hub.watch()
    return hub


def list_requests(hub):
    return [(request.exercise, request.words) for request in load_requests(hub.course, "scoring", ["ada"])]


def test_a_request_with_the_same_work_is_recorded_and_neither_counted_nor_graded(used_up):
    secret = used_up.submit("ada", "one", requests=[WORDS])
    lines = used_up.watch()
    assert RECORDED in used_up.page(secret)
    assert RECORDED in used_up.course.feedback("ada", "scoring").read_text()
    assert any("ada: request: Your request for another look at additive_score" in line for line in lines)
    assert used_up.outcomes() == [("ada", "graded"), ("ada", "request")]
    assert used_up.graded == ["one"]
    assert len(load_graded(used_up.course, "ada", "scoring")["tries"]) == 1
    done = autograder("requests", "scoring", "--course", used_up.course.root)
    assert "my loop is right" in done.stdout
    assert "1 request is waiting for an answer." in done.stdout


def test_the_work_is_the_same_if_the_notebook_was_repaired_both_times(hub):
    def without_a_test(*requests):
        data = json.loads(hub.notebook("one", *requests))
        data["cells"] = [cell for cell in data["cells"] if id_of(cell) != "scoring-additive_score-test"]
        return json.dumps(data)

    hub.plan(attempts=1)
    hub.submit("ada", content=without_a_test())
    hub.watch()
    secret = hub.submit("ada", content=without_a_test(WORDS))
    hub.watch()
    assert RECORDED in hub.page(secret)


def test_a_request_with_other_work_is_not_read_and_the_page_says_how_to_ask(used_up):
    secret = used_up.submit("ada", "two", requests=[WORDS])
    used_up.watch()
    assert list_requests(used_up) == []
    assert f"counts. {UNREAD} To ask, hand in the graded notebook once more" in used_up.page(secret)
    assert used_up.outcomes()[-1] == ("ada", "used up")
    plain = used_up.submit("ada", "three")
    used_up.watch()
    assert UNREAD not in used_up.page(plain)


def test_markers_can_work_while_a_notebook_is_searched_for_requests(used_up, monkeypatch):
    """The student's notebook determines how long the search takes, up to the limit of a worker."""
    read, free = submission.read_requests, []

    def read_slowly(*arguments):
        with exclusive_lock(used_up.course):  # raises if the course is locked
            free.append(True)
        return read(*arguments)

    monkeypatch.setattr(submission, "read_requests", read_slowly)
    secret = used_up.submit("ada", "one", requests=[WORDS])
    used_up.watch()
    assert free == [True]
    assert RECORDED in used_up.page(secret)


def test_the_last_notebook_says_what_is_asked_of_the_graded_work(used_up):
    for requests in ([WORDS], ["Please look again at batched_additive_shapes.", "Please look again at race."]):
        secret = used_up.submit("ada", "one", requests=requests)
        used_up.watch()
    assert [exercise for exercise, _ in list_requests(used_up)] == ["scoring-batched_additive_shapes", "scoring-race"]
    assert "Your request for another look at batched_additive_shapes, race has been recorded" in used_up.page(secret)


def test_a_later_request_replaces_those_of_the_graded_notebook(hub):
    hub.plan(attempts=1)
    for words in ("Please look again at race.", WORDS):
        hub.submit("ada", "one", requests=[words])
        hub.watch()
    assert list_requests(hub) == [("scoring-additive_score", WORDS)]


def test_a_request_stays_and_its_answer_appears_when_the_class_is_graded_again(used_up):
    used_up.submit("ada", "one", requests=[WORDS])
    used_up.watch()
    answer_request(used_up.course, "scoring", "ada", "", "The loop counts.")
    grade_quickly(used_up.course, again=True)
    assert list_requests(used_up) == [("scoring-additive_score", WORDS)]
    assert "The loop counts." in used_up.course.feedback("ada", "scoring").read_text()


def test_a_request_about_work_that_no_longer_counts_is_dropped(used_up):
    used_up.submit("ada", "one", requests=[WORDS])
    used_up.watch()
    used_up.plan(attempts=2)
    used_up.submit("ada", "two")
    used_up.watch()
    assert used_up.graded == ["one", "two"]
    assert list_requests(used_up) == []


def test_a_notebook_that_breaks_the_worker_that_reads_it_is_only_not_read(used_up):
    def breaks(*args):
        raise TimeoutError

    used_up.monkeypatch.setattr(submission, "read_requests", breaks)
    secret = used_up.submit("ada", "one", requests=[WORDS])
    used_up.watch()
    assert used_up.outcomes()[-1] == ("ada", "used up")
    assert "Your one attempt is used up" in used_up.page(secret)


def test_a_late_request_counts_from_when_its_work_came_and_is_graded_once(hub, monkeypatch):
    begun, begin = [], SubmissionSteps.begin

    def begin_noting(steps, row):
        begun.append(row.student)
        assert len(begun) <= 2, "it is graded again and again"
        return begin(steps, row)

    monkeypatch.setattr(SubmissionSteps, "begin", begin_noting)
    plan = "[late]\npercent_a_day = 10\n[assignment.scoring]\ndue = 2026-01-01T12:00:00Z\n"
    (hub.course.root / "course.toml").write_text(plan, encoding="utf-8")
    hub.submit("ada", "one", when="2026-01-01 11:00:00.000000 UTC")
    hub.watch()
    secret = hub.submit("ada", "one", requests=[WORDS], when="2026-01-03 11:00:00.000000 UTC")
    hub.watch()
    assert begun == ["ada", "ada"]
    assert hub.outcomes() == [("ada", "graded"), ("ada", "graded")]
    assert load_results(hub.course, "scoring")["ada"].penalty == 0.0
    assert "my loop is right" in hub.page(secret)
