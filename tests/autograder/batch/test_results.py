"""What is reported of a submission: hints, reasons, and notes, each once."""

from dataclasses import replace

import pytest

from autograder.batch.results import SubmissionResult
from autograder.verdicts import MAX_RUNS, PROVISIONAL_NOTE, Graded, Part, Verdict

REASON = Part("", 1.0, 2.0, "In the second case, yours is 2.5.")
FAILURE = "A call took too much."
GRADED = Graded(
    (
        Verdict("scoring-additive_score", 1.0, 2.0, (REASON,), ("The tanh is missing.",)),
        Verdict("scoring-dot_product_score", 1.0, 2.0, (replace(REASON, reason=""), REASON)),
        Verdict("scoring-race", 2.0, 2.0, (), ("A mistake that cost nothing.",)),
    ),
    {},
    FAILURE,
    {"call_seconds": 2.0},
)


def test_lost_points_are_reported_by_the_hint_for_the_mistake_or_else_the_first_reason():
    row = SubmissionResult("ada")
    row.enter_verdicts(GRADED, ())
    assert row.hints == ("The tanh is missing.",)
    assert row.reasons == ("dot_product_score: In the second case, yours is 2.5.",)


@pytest.mark.parametrize(("runs", "provisional"), [(MAX_RUNS - 1, (PROVISIONAL_NOTE,)), (MAX_RUNS, ())])
def test_each_note_is_given_once_and_points_are_provisional_while_another_run_follows(runs, provisional):
    row = SubmissionResult("ada")
    row.enter_verdicts(replace(GRADED, runs=runs), (FAILURE, PROVISIONAL_NOTE, "It was repaired."))
    assert row.notes == (FAILURE, *provisional, "It was repaired.")


def test_what_a_worker_spent_is_the_sum_of_its_stages_and_nothing_of_this_process():
    stages = {"repair": 1.0, "host": 20.0, "cells": 15.0, "notebook": 2.0, "page": 3.0, "coordinator": 100.0}
    assert SubmissionResult("ada", spent=stages).worker_seconds == 26.0
    assert SubmissionResult("ada").worker_seconds == 0.0
