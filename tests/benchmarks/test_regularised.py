"""The recorded trainings are those of today's program, and what was chosen and reported follows from them as the text says."""

import itertools
import json

import numpy as np
import pytest

from benchmarks import regularised
from benchmarks.regularised import DROPOUTS, LARGER, RATES, RECORD, SEEDS, SIDES, choose, compare, read_counts, train
from solutions.in_numpy.spelling import LETTERS, words_of

pytestmark = [pytest.mark.suite("solutions"), pytest.mark.slow]

RECORDED = json.loads(RECORD.read_text(encoding="utf-8"))
ROWS = {(row["side"], row["rate"], row["dropout"], row["seed"]): row for row in RECORDED["rows"]}
REMEDY = "the record is not that of this program. Remedy: python -m benchmarks.regularised"


@pytest.mark.parametrize("setting", [("attention", 0.003, 0.4, 1), ("fixed", 0.003, 0.0, 0)])
def test_a_recorded_training_begins_as_the_program_does(setting, tmp_path):
    losses, curve = train(tmp_path / "weights.npz", *setting, steps=5)
    assert losses == pytest.approx(ROWS[setting]["losses"], rel=1e-3), REMEDY
    assert curve == []
    other, _ = train(tmp_path / "weights.npz", setting[0], setting[1], 0.2, setting[3], steps=5)
    assert losses != pytest.approx(other, rel=1e-3)


def test_losses_are_measured_without_dropout(tmp_path):
    setting = ("fixed", 0.003, 0.4, 0)
    _, ((step, *losses),) = train(tmp_path / "weights.npz", *setting, steps=100)
    recorded = ROWS[setting]["curve"][0]
    assert step == recorded[0] == 100
    assert losses == pytest.approx(recorded[1:], rel=0.02), REMEDY  # with dropout they are 20% higher


def test_the_words_are_various_and_only_for_training():
    words = regularised.few_words()
    assert len({*words}) == regularised.WORDS == 2000
    assert {*words} <= {*words_of("training")}
    assert {word[0] for word in words} == {*LETTERS[1:]}


def test_each_share_and_the_other_rates_with_the_best_share_were_tried_from_both_seeds():
    for side, choice in RECORDED["chosen"].items():
        tried = {setting[1:] for setting in ROWS if setting[0] == side}
        shares = {*DROPOUTS} if choice["dropout"] < max(DROPOUTS) else {*DROPOUTS, *LARGER}
        settings = {(RATES[0], dropout) for dropout in shares} | {(rate, choice["dropout"]) for rate in RATES}
        assert tried == {(*setting, seed) for setting in settings for seed in SEEDS}
        assert min(shares) < choice["dropout"] < max(shares)
    assert len(ROWS) == len(RECORDED["rows"]) == 24


def test_share_and_rate_have_the_lowest_error_rate_on_the_validation_words():
    for side, choice in RECORDED["chosen"].items():
        rows = [row for row in RECORDED["rows"] if row["side"] == side]
        assert choose([row for row in rows if row["rate"] == RATES[0]], "dropout") == choice["dropout"]
        assert choose([row for row in rows if row["dropout"] == choice["dropout"]], "rate") == choice["rate"]
    rows = [{"rate": rate, "validation_per": per} for rate, per in ((1, 0.2), (2, 0.1), (1, 0.2), (2, 0.29))]
    assert choose(rows, "rate") == 2


def test_a_training_stops_where_the_validation_loss_was_lowest():
    for row in RECORDED["rows"]:
        assert [step for step, _, _ in row["curve"]] == [*range(100, 601, 100)]
        assert row["stopped"] == min(row["curve"], key=lambda each: each[2])[0]


def test_the_counts_are_those_of_all_test_words():
    for side in SIDES:
        counts = read_counts(RECORDED["test"][side])
        assert counts.shape == (len(SEEDS), 2, len(words_of("test")))
        assert counts[:, 1].min() > 0


def test_two_sides_are_compared_word_by_word():
    rng = np.random.default_rng(1)
    lengths = rng.integers(3, 9, 400)
    hard = rng.integers(0, 3, (2, 400))  # what makes a word hard for both sides
    attention = np.stack([hard, np.tile(lengths, (2, 1))], axis=1)
    fixed = attention + np.array([[[1], [0]]])
    compared = compare(attention, fixed)
    wanted = 100 * 800 / (2 * lengths.sum())
    assert compared["difference"] == pytest.approx(wanted)
    low, high = compared["interval"]
    assert low < wanted < high
    assert high - low < 1.5  # only the lengths vary from draw to draw
    assert compared["fixed"] - compared["attention"] == pytest.approx(wanted)
    alone = compare(attention, attention[:, :, rng.permutation(400)])["interval"]
    assert alone[1] - alone[0] > 2 * (high - low)  # not paired


def test_every_word_is_in_one_group_of_lengths():
    letters = [*itertools.chain.from_iterable(range(low, high + 1) for low, high in regularised.GROUPS.values())]
    assert letters == [*range(2, 17)]
    table = regularised.tabulate(RECORDED["test"])
    assert [*table] == ["all", *regularised.GROUPS]
