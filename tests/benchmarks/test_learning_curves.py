"""The learning curves of two exercises match the record, which can be reproduced, and the answers follow from them."""

import json
import re
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from benchmarks.learning_curves import MISTAKE_STEPS, MISTAKES, RATE_STEPS, RATES, RECORD, train_with_mistake
from solutions.in_numpy import capstone

pytestmark = [pytest.mark.suite("solutions"), pytest.mark.slow]

PAGE = Path(__file__).resolve().parents[2] / "book" / "capstone.md"
RECORDED = json.loads(RECORD.read_text(encoding="utf-8"))
BY_MISTAKE = {row["mistake"]: np.array(row["losses"]) for row in RECORDED["mistakes"]}
NUMBERS = {"rate_times_ten": 1, "gradients_kept": 2, "summed": 3, "softmax_twice": 4, "target_not_moved": 5}


def tables(label):
    """Return the tables of an exercise: pairs of the bold line above a table and its rows of texts without the heading."""
    text = PAGE.read_text(encoding="utf-8").split(f":label: capstone-{label}\n")[1].split("\n```\n")[0]
    matches = re.findall(r"(?:\*\*(.+?)\*\*\n\n)?\|.*\|\n\|[-|]+\|\n((?:\|.*\|\n)+)", text + "\n")
    return [(name, [row.strip("| ").split(" | ") for row in rows.splitlines()]) for name, rows in matches]


def as_printed(row):
    """Return numbers as the page has them: with three decimals below 10, one below 100, and none above."""
    return [f"{number:.{3 if number < 10 else 1 if number < 100 else 0}f}" for number in row]


def test_the_tables_of_rates_are_the_record():
    (_, validation), (_, training) = tables("choose_rate")
    assert [row["rate"] for row in RECORDED["rates"]] == list(RATES)
    for number, (row, unseen, seen) in enumerate(zip(RECORDED["rates"], validation, training, strict=True), start=1):
        losses = np.array(row["losses"])
        assert unseen == [str(number), f"{row['rate']:g}", *as_printed(losses[:, 1])]
        at_300_and_1000 = losses[[RATE_STEPS.index(300), RATE_STEPS.index(1000)], 0]
        assert seen == [str(number), f"{row['rate']:g}", *as_printed(at_300_and_1000)]


def test_the_tables_of_mistakes_are_the_record_and_the_reference_names_them():
    right, *runs = tables("read_curves")
    answer = capstone.read_curves()
    names = {number: name for name, number in NUMBERS.items()}
    assert set(BY_MISTAKE) == set(MISTAKES)
    for run, losses in [(right, BY_MISTAKE["none"])] + [(run, BY_MISTAKE[names[answer[run[0][-1]]]]) for run in runs]:
        assert run[1] == [["printed", *as_printed(losses[:, 0])], ["validation", *as_printed(losses[:, 1])]]


def test_the_rates_to_choose_follow_from_the_record():
    answer = capstone.choose_rate()
    losses = np.array([row["losses"] for row in RECORDED["rates"]])[:, :, 1]
    best = 1 + losses.argmin(axis=0)
    assert (answer["short"], answer["long"]) == (best[RATE_STEPS.index(300)], best[-1])
    row, column = np.unravel_index(losses.argmin(), losses.shape)
    assert (answer["stop_curve"], answer["stop_column"]) == (1 + row, 1 + column)
    (worse_than_guessing,) = (losses > np.log(32)).all(axis=1).nonzero()[0]
    assert answer["diverges"] == 1 + worse_than_guessing
    tried = slice(RATES.index(0.012), None)
    assert losses[tried, -1].argmin() == 0  # the lowest loss of those tried
    assert RATES[answer["next"] - 1] == 0.012 / 2


@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_first_step_of_each_training_can_be_made_again(mistake):
    ((loss, _),) = islice(train_with_mistake(mistake), 1)
    assert loss == pytest.approx(BY_MISTAKE[mistake][MISTAKE_STEPS.index(1), 0], rel=1e-3)


def test_the_first_batch_has_as_many_words_as_its_summed_loss_holds_mean_losses():
    ratio = BY_MISTAKE["summed"][0, 0] / BY_MISTAKE["none"][0, 0]
    assert ratio == pytest.approx(capstone.read_curves()["words"], abs=0.1)


def test_the_tables_leave_one_explanation_for_the_jump_at_step_100():
    column, last = MISTAKE_STEPS.index(100), MISTAKE_STEPS.index(300)
    printed, validation = BY_MISTAKE["none"].T
    assert validation[column] > 5 * printed[column]
    assert validation[last] < 0.01  # not overfitted
    assert (np.delete(validation - printed, column) < 0.005).all()  # nor harder sentences
    same_batch, unseen = BY_MISTAKE["gradients_kept"][column]
    assert same_batch > unseen  # nor an easy batch
    assert capstone.read_curves()["jump"] == 4


def test_no_probabilities_of_32_words_give_a_second_softmax_a_loss_below_the_floor():
    rng = np.random.default_rng(0)
    drawn = rng.dirichlet(np.full(32, 0.1), size=5000)
    certain = np.eye(32)[:1]
    losses = [np.log(np.exp(rows).sum(axis=1)) - rows[:, 0] for rows in (drawn, certain)]
    floor = capstone.read_curves()["floor"]
    assert losses[0].min() > floor
    assert losses[1] == pytest.approx([floor])
    assert BY_MISTAKE["softmax_twice"][:, 0].min() > floor
