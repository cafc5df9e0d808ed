"""The late rule of course.toml costs what it states, in `grade` and in nbgrader's own commands alike."""

import shutil

import pytest
from nbgrader.api import Gradebook
from nbgrader.plugins import LateSubmissionPlugin
from traitlets.config import Config

from autograder.batch.results import MarkChange
from autograder.courses.course import Course
from autograder.with_nbgrader.plugins import LateRule
from tests.autograder.batch.test_nothing_lost import add_below_essay
from tests.autograder.essays import grade_quickly, hand_in, hand_in_as, written
from tests.autograder.samples import AUTOMATIC
from tests.autograder.with_nbgrader.test_nbgrader_plugin import nbgrader

pytestmark = pytest.mark.suite("assignments")

RULE = """[late]
grace_minutes = 15
percent_a_day = 10

[assignment.scoring]
due = 2030-01-01T01:00:00+01:00

[assignment.scoring.extensions]
ada_loops = 2030-01-03T00:00:00Z
"""
CAME = {"ada_loops": "2030-01-03 10:00:00 UTC", "hugo_squeezed": "2030-01-03 01:20:00 UTC"}  # one begun day, and three
UNTIL = {"ada_loops": "2030-01-03 00:00:00", "hugo_squeezed": "2030-01-01 00:00:00"}  # as nbgrader says, with extension
SHARES = {"ada_loops": 0.1, "hugo_squeezed": 0.3}


@pytest.fixture
def course(course):
    (course.root / "course.toml").write_text(RULE, encoding="utf-8")
    return course


def late(course, student):
    """Return ``(score, penalty, due date with the extension, days of extension)`` as nbgrader reads them."""
    with Gradebook(course.gradebook.url) as gradebook:
        submission = gradebook.find_submission("scoring", student)
        return (
            submission.score,
            submission.late_submission_penalty,
            str(submission.duedate),
            submission.extension and submission.extension.days,
        )


def come(course, student):
    course.submission(student, "scoring").with_name("timestamp.txt").write_text(CAME[student])


def test_each_begun_day_costs_its_share_and_an_extension_moves_the_date(course):
    for student in CAME:
        hand_in(course, student, essay=None)
        come(course, student)
    hand_in(course, "in_time", essay=None)
    course.submission("in_time", "scoring").with_name("timestamp.txt").write_text("2030-01-01 00:15:00 UTC")
    grade_quickly(course)
    for student, share in SHARES.items():
        score, penalty, due, days = late(course, student)
        assert (score, due) == (AUTOMATIC, UNTIL[student])
        assert penalty == pytest.approx(share * AUTOMATIC)
        assert days == (2 if student == "ada_loops" else None)
        assert "Late submission penalty" in course.feedback(student, "scoring").read_text(encoding="utf-8")
    assert late(course, "in_time")[1] == 0


def test_another_rule_is_seen_by_a_dry_run_and_recorded_by_the_next_grading(course):
    hand_in(course, "hugo_squeezed", essay=None)
    come(course, "hugo_squeezed")
    grade_quickly(course)
    before = late(course, "hugo_squeezed")
    (course.root / "course.toml").write_text(RULE.replace("percent_a_day = 10", "percent_a_day = 20"))
    (move,) = grade_quickly(course, dry=True)["hugo_squeezed"].changes
    assert (move.what, move.before) == ("late penalty", before[1])
    assert move.after == pytest.approx(0.6 * AUTOMATIC)
    assert late(course, "hugo_squeezed") == before
    assert isinstance(move, MarkChange)
    grade_quickly(course)
    assert late(course, "hugo_squeezed")[1] == move.after
    (course.root / "course.toml").write_text(RULE.replace("[late]", "[late]\nmost_percent = 25"))
    grade_quickly(course)
    assert late(course, "hugo_squeezed")[1] == pytest.approx(0.25 * AUTOMATIC)


@pytest.fixture(scope="module")
def autograded(released, tmp_path_factory):
    """A course with the rule, graded by nbgrader's own command. mia has written into a cell of her own, noa nowhere."""
    course = Course.at(shutil.copytree(released.root, tmp_path_factory.mktemp("late") / "course"))
    (course.root / "course.toml").write_text(RULE, encoding="utf-8")
    hand_in_as(course, *CAME)
    for student in CAME:
        come(course, student)
    hand_in(course, "mia", None, change=add_below_essay("markdown", "Because U h_j stays as it is."))
    hand_in(course, "noa", None)
    nbgrader("autograde", "scoring", cwd=course.root)
    return course


def test_nbgraders_own_autograde_lets_an_answer_in_an_own_cell_wait_too(autograded):
    assert [written(autograded, student) for student in ("mia", "noa")] == [(None, True), (None, False)]


def test_nbgraders_own_command_takes_off_the_same(autograded):
    for student, share in SHARES.items():
        score, penalty, due, days = late(autograded, student)
        assert score > 0
        assert penalty == pytest.approx(share * score)
        assert (due, days) == (UNTIL[student], 2 if student == "ada_loops" else None)


@pytest.mark.parametrize(("method", "penalty"), [("none", None), ("zero", 7.0)])
def test_without_a_rule_of_the_course_nbgraders_own_setting_counts(tmp_path, method, penalty):
    config = Config()
    config.CourseDirectory.root = str(tmp_path)
    config.LateSubmissionPlugin.penalty_method = method
    plugin = LateRule(config=config)
    assert isinstance(plugin, LateSubmissionPlugin)
    assert plugin.late_submission_penalty("ada", 7.0, 90000.0) == penalty
    (tmp_path / "course.toml").write_text("[late]\npercent_a_day = 10\n")
    assert plugin.late_submission_penalty("ada", 7.0, 90_001.0) == pytest.approx(1.4)
