"""With --any-owner, work may come from somebody else: what is not graded gets a sentence, never the student's own page."""

import json

import pytest

from autograder.courses.course import SECRET
from autograder.platforms.collect import collect
from tests.autograder.essays import all_right, grade_quickly, hand_in

pytestmark = pytest.mark.suite("assignments")
ANOTHER = {"nbformat": 4, "cells": [{"cell_type": "code", "source": "", "metadata": {}}]}
ANOTHER["cells"][0]["metadata"]["nbgrader"] = {"grade_id": "softmax-masked_softmax"}
OWN = "Only ada and her instructor may read this."


@pytest.fixture
def victim(hub):
    """A course in which ada has been graded; everybody may hand in under any name."""
    hub.victim = hub.submit("ada", OWN)
    hub.watch(any_owner=True)
    assert OWN in hub.page(hub.victim)
    return hub


def fails_for_mal(notebook, *rest):
    if any("forged" in cell.source for cell in notebook.cells):
        raise ZeroDivisionError("of the grader")
    return all_right(notebook, *rest)


def forge(hub, times=1, **more):
    """Hand in as mal in the name of ada; return the page that mal can fetch for the first of these hand-ins."""
    secrets = []
    for number in range(times):
        secrets.append(hub.submit("ada", f"forged {number}", account="mal", **more))
        hub.watch(any_owner=True, grade_one=fails_for_mal)
    if times > 1:
        hub.watch(any_owner=True)
    return hub.page(secrets[0])


@pytest.mark.parametrize(
    ("plan", "forged", "outcome", "sentence"),
    [
        ({"attempts": 1}, {}, "used up", "Your one attempt is used up"),
        ({"attempts": 1}, {"requests": ["Please look again at race."]}, "used up", "was not read"),
        ({"minutes_between": 30}, {}, "waiting", "You must wait 30 minutes"),
        ({"minutes_between": 30}, {"times": 2}, "superseded", "You handed in again before"),
        ({}, {}, "failed", "The grader itself failed"),
        ({}, {"content": "no notebook"}, "set aside", "not a Jupyter notebook"),
        ({}, {"content": json.dumps(ANOTHER)}, "refused", "is a notebook of softmax"),
    ],
)
def test_what_is_not_graded_gets_a_sentence_and_never_the_students_page(victim, plan, forged, outcome, sentence):
    victim.plan(**plan)
    page = forge(victim, **forged)
    assert victim.outcomes()[1] == ("ada", outcome)
    assert sentence in page
    assert OWN not in page
    assert "<dt>Points</dt>" not in page
    assert OWN in victim.page(victim.victim)
    assert OWN in victim.course.feedback("ada", "scoring").read_text()
    if outcome in ("set aside", "refused"):  # the student's page says that something came after what it shows
        assert sentence in victim.page(victim.victim)


def test_a_sentence_shows_what_a_student_wrote_as_text(hub):
    secret = hub.submit("ada", content=json.dumps(ANOTHER).replace("softmax-", "<img src=x>-"))
    hub.watch(any_owner=True)
    assert "another assignment (&lt;img src=x&gt;)" in hub.page(secret)
    assert "<img" not in hub.page(secret)
    assert "<img" not in hub.course.feedback("ada", "scoring").read_text()


@pytest.mark.parametrize("content", ["no notebook", json.dumps(ANOTHER)], ids=["unreadable", "refused"])
def test_what_collect_and_grade_cannot_use_does_not_put_its_secret_beside_the_students_page(victim, content):
    """`nbgrader release_feedback` publishes the page under the secret beside it."""
    victim.submit("ada", content=content, account="mal")
    collect(victim.course, "scoring", victim.inbound, any_owner=True)
    page = victim.course.feedback("ada", "scoring")
    assert page.with_name(SECRET).read_text() == victim.victim
    victim.regrade()
    assert OWN in page.read_text()
    assert 'class="not-graded"' in page.read_text()
    assert page.with_name(SECRET).read_text() == victim.victim


def test_grade_leaves_the_secret_beside_a_page_when_an_unreadable_file_comes_with_another(course):
    """`nbgrader release_feedback` publishes the page under the secret beside it."""
    handed_in, shown = hand_in(course, "ada", OWN), course.feedback("ada", "scoring").with_name(SECRET)
    handed_in.with_name(SECRET).write_text("of ada")
    grade_quickly(course)
    assert shown.read_text() == "of ada"
    handed_in.write_text("no notebook")
    handed_in.with_name(SECRET).write_text("of mal")
    for again in (False, True):
        assert "not a Jupyter notebook" in grade_quickly(course, again=again)["ada"].set_aside
        assert OWN in course.feedback("ada", "scoring").read_text()
        assert shown.read_text() == "of ada"


def test_an_earlier_attempt_that_counts_has_its_own_secret_beside_its_page(hub):
    """`nbgrader release_feedback` publishes the page under the secret beside it."""
    secret = hub.submit("ada", OWN)
    hub.submit("ada", content="no notebook")
    collect(hub.course, "scoring", hub.inbound)
    hub.regrade()
    page = hub.course.feedback("ada", "scoring")
    assert OWN in page.read_text()
    assert "not a Jupyter notebook" in page.read_text()
    assert page.with_name(SECRET).read_text() == secret


def test_an_account_with_an_underscore_gets_its_feedback(hub):
    secret = hub.submit("ada_king", account="ada")
    hub.watch(any_owner=True)
    assert hub.outcomes() == [("ada_king", "graded")]
    assert "Because." in hub.page(secret)
