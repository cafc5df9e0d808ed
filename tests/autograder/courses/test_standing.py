"""What a student was told holds until something else was handed in or taken; the last grading is put together from its events."""

import pytest

from autograder.courses.course import init
from autograder.courses.standing import GRADED, PAGE, SET_ASIDE, find_told, list_attempts, load_graded, take, tell
from autograder.files import write_text

pytestmark = pytest.mark.suite("assignments")
SENTENCE = "Hand in scoring.ipynb itself."


@pytest.fixture
def course(tmp_path):
    return init(tmp_path / "course")


def kinds(course):
    return [event.kind for event in course.record.events("scoring", "ada", ("told", "taken"))]


def test_a_sentence_holds_while_the_notebook_stands_that_stood_then(course):
    write_text("one", course.submission("ada", "scoring"))
    assert find_told(course, "ada", "scoring", b"one") == ""
    tell(course, "ada", "scoring", SENTENCE)
    told = [find_told(course, student, "scoring", content) for student, content in
            (("ada", b"one"), ("ada", b"two"), ("ada", None), ("ben", b"one"))]  # fmt: skip
    assert told == [SENTENCE, "", "", ""]
    assert SENTENCE in course.feedback("ada", "scoring").read_text(encoding="utf-8")


def test_without_a_notebook_a_sentence_holds_until_there_is_one(course):
    tell(course, "ada", "scoring", SENTENCE)
    assert find_told(course, "ada", "scoring", None) == SENTENCE
    assert find_told(course, "ada", "scoring", b"one") == ""


def test_what_is_taken_later_ends_it_and_is_recorded_only_then(course):
    take(course, "ada", "scoring")
    assert kinds(course) == []
    tell(course, "ada", "scoring", SENTENCE)
    for _ in range(2):
        take(course, "ada", "scoring")
        assert find_told(course, "ada", "scoring", None) == ""
    assert kinds(course) == ["told", "taken"]
    tell(course, "ada", "scoring", "Another sentence.")
    assert find_told(course, "ada", "scoring", None) == "Another sentence."


def test_the_last_grading_has_what_its_page_shows_and_what_could_not_be_read(course):
    assert load_graded(course, "ada", "scoring") == {}
    course.record.add("scoring", "ada", (SET_ASIDE, {"unreadable": ["k"]}), (GRADED, {"mark": "1", "tries": ["a"]}))
    course.record.add("scoring", "ada", (PAGE, {"notice": "", "shown": "all"}), (GRADED, {"mark": "2", "tries": ["b"]}))
    course.record.add("softmax", "ada", (GRADED, {"mark": "3"}))
    graded = {"unreadable": ["k"], "mark": "2", "tries": ["b"], "notice": "", "shown": "all"}
    assert load_graded(course, "ada", "scoring") == graded


def test_what_is_said_above_a_graded_page_changes_nothing_else_of_it(course):
    course.record.add("scoring", "ada", (GRADED, {"mark": "1"}), (PAGE, {"notice": "", "shown": "points"}))
    write_text("<body>graded</body>", course.feedback("ada", "scoring"))
    assert tell(course, "ada", "scoring", SENTENCE)
    assert load_graded(course, "ada", "scoring") == {"mark": "1", "notice": SENTENCE, "shown": "points"}
    for sentence in ("Another sentence.", SENTENCE):
        assert not tell(course, "ben", "scoring", sentence)  # whose page shows no feedback
    assert "Another sentence." not in course.feedback("ben", "scoring").read_text(encoding="utf-8")
    assert load_graded(course, "ben", "scoring") == {}


def test_the_same_notebook_is_the_same_attempt(course):
    first, number = list_attempts(course, "ada", "scoring", b"one")
    assert (len(first), number) == (1, 0)
    course.record.add("scoring", "ada", (GRADED, {"tries": first}))
    both, number = list_attempts(course, "ada", "scoring", b"two")
    assert (both[:1], len(both), number) == (first, 2, 1)
    assert list_attempts(course, "ada", "scoring", b"one") == (first, 0)
