"""A request for another look is found anywhere in a notebook, with its exercise, and its length is bounded."""

import pytest

from autograder.notebooks.added_cells import INSTRUCTION, UNTOUCHED_REQUEST, is_request, select_added_cells
from autograder.notebooks.handout import Question
from autograder.notebooks.requests import (
    MAX_REQUESTS,
    MAX_WORDS,
    RegradeRequest,
    find_requests,
    hash_without_requests,
)

QUESTIONS = (
    Question("scoring-race", "2.1 The race", "", False),
    Question("scoring-additive_score", "2.4 Additive scores", "", False),
    Question("scoring-additive_scores_by_hand", "2.14 Additive scores by hand", "", False),
    Question("scoring-why", "Why once?", "", True),
)


def cell(source, grade_id=None, kind="markdown"):
    meta = {"nbgrader": {"grade_id": grade_id}} if grade_id else {}
    return {"cell_type": kind, "source": source, "metadata": meta}


def asked(*cells):
    return find_requests(cells, QUESTIONS)


@pytest.mark.parametrize(
    ("words", "exercise"),
    [
        ("Please look again at additive_score: my loop is right.", "scoring-additive_score"),
        ("Please look again at “The race”, which I won.", "scoring-race"),
        ("please look again at Additive scores by hand.", "scoring-additive_scores_by_hand"),
        ("**Please look again at** my answer.", "scoring-why"),
        ("## Please\nlook again at scoring-race and not at Why once?", "scoring-race"),
        ("Please look again at 2.4", "scoring-additive_score"),
        ("**Please look again at** … “2.4”: my loop is right.", "scoring-additive_score"),
        ("Please look again at 2.14.", "scoring-additive_scores_by_hand"),
        ("Please look again at the loop in Exercise 2.1, please.", "scoring-race"),
        ("Please look again at 2.4 Additive scores", "scoring-additive_score"),
        ("Please look again at this: I got 2.1 of 2.4 points.", "scoring-why"),
        ("Please look again at 2.4 points that I lost.", "scoring-why"),
        ("Please look again at 12.4 and 2.41.", "scoring-why"),
        ("Please look again at 2.41 and 2.4.1.", "scoring-why"),
        ("Please look again at whether the racetrack matters.", "scoring-why"),
    ],
)
def test_a_request_is_about_the_exercise_that_it_names_or_else_the_one_above(words, exercise):
    requests = asked(cell("## Why once?", "scoring-why-text"), cell("Because.", "scoring-why"), cell(words))
    assert requests == (RegradeRequest(exercise, " ".join(words.split())),)


@pytest.mark.parametrize(
    "other",
    [
        cell("I say: please look again at this."),
        cell("# please look again at this", kind="code"),
        cell("Please look at this again."),
    ],
)
def test_what_does_not_begin_with_the_words_is_none(other):
    assert asked(other) == ()


def test_the_last_cell_may_ask_and_without_a_name_above_all_exercises_it_is_about_none():
    assert asked(cell("Please look again at everything."))[0].exercise == ""
    assert asked(cell("", "scoring-race-text"), cell("", "receipt"), cell(["Please look again at ", "it."]))[0] == (
        RegradeRequest("", "Please look again at it.")  # below the receipt, so no exercise is above it
    )


@pytest.mark.parametrize(
    "untouched",
    [
        UNTOUCHED_REQUEST,
        UNTOUCHED_REQUEST.splitlines(keepends=True),
        f"{UNTOUCHED_REQUEST}\n\n",
        f"**Please look again at** ...\n\n {INSTRUCTION} ",
        "Please look again at",
        INSTRUCTION,
        "",
    ],
)
@pytest.mark.parametrize("grade_id", ["request", None])
def test_the_notebooks_own_cell_is_no_request_while_its_sentence_is_not_completed(untouched, grade_id):
    assert asked(cell("", "scoring-race-text"), cell("", "receipt"), cell(untouched, grade_id)) == ()


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (UNTOUCHED_REQUEST.replace("…", "The race: I won."), "Please look again at The race: I won."),
        (UNTOUCHED_REQUEST.replace("…", "… the race."), "Please look again at the race."),
        (UNTOUCHED_REQUEST + "\n\nThe race, which I won.", "Please look again at The race, which I won."),
        ("Please look again at the race.", "Please look again at the race."),
        ("I won the race.", "I won the race."),  # in the notebook's own cell for requests
    ],
)
def test_the_notebooks_own_cell_is_a_request_once_something_is_written_there(source, words):
    cells = [cell("", "scoring-why-text"), cell("", "receipt"), cell(source, "request")]
    assert asked(*cells) == (RegradeRequest("scoring-race", words),)


def test_requests_are_bounded_and_each_counts_once():
    (long,) = asked(cell("Please look again at " + "x" * 100_000), cell("Please look again at " + "x" * 100_000))
    assert len(long.words) <= MAX_WORDS
    assert len(asked(*(cell(f"Please look again at number {n}") for n in range(100)))) == MAX_REQUESTS


def test_a_request_below_a_written_question_is_no_part_of_the_answer():
    request = cell("Please look again at this.")
    cells = [cell("## Why?", "scoring-why-text"), cell("", "scoring-why"), request, cell("My answer.")]
    assert is_request(request)
    assert [added_cell["source"] for added_cell in select_added_cells(cells, "scoring-why")] == ["My answer."]


def test_the_work_is_the_same_with_a_request_and_another_with_anything_else():
    work = [cell("## Why?", "scoring-why-text"), cell("Because.", "scoring-why"), cell("x = 1", kind="code")]
    same = hash_without_requests(work, {"capstone.npz": None})
    assert hash_without_requests([*work, cell("Please look again at it."), cell(" ")], {}) == same
    assert hash_without_requests([*work, cell("I have more to say.")], {}) != same
    assert hash_without_requests([*work, cell("Please look again at it.", kind="code")], {}) != same
    assert hash_without_requests([*work[:1], cell("Hence.", "scoring-why"), *work[2:]], {}) != same
    assert hash_without_requests(work, {"capstone.npz": b"weights"}) != same
    picture = {"attachments": {"mine.png": {"image/png": "aGVsbG8="}}}
    assert hash_without_requests([*work[:1], work[1] | picture, *work[2:]], {}) != same
    assert hash_without_requests([*work, cell("x = 2", "request", kind="code")], {}) != same
    for own in (UNTOUCHED_REQUEST, "Please look again at it.", ""):
        assert hash_without_requests([*work, cell(own, "request")], {}) == same
    quoted, run = ([*work, cell("def race(): ...", kind=kind)] for kind in ("markdown", "code"))
    assert hash_without_requests(quoted, {}) != hash_without_requests(run, {})
