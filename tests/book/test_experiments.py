"""What pages print while they are built, of the models that they train and of one step, is what their texts say of it."""

import html
import itertools
import json
import re

import numpy as np
import pytest

from benchmarks.bottleneck import LENGTHS, RECORD, name, points
from solutions.answer_key import worked_example
from solutions.in_numpy.capstone import HELD_OUT, as_arrays, draw_sentences
from solutions.in_numpy.scoring import additive_score
from solutions.in_torch.capstone import unseen_sentences

STEPS = LENGTHS["bottleneck"]
RUNS, DATES = "attention  seed  exact", "attention  steps  exact"


@pytest.fixture(scope="module")
def printed(site):
    """The rows of the page's two tables, by the beginning of the heading: each row is its words."""
    page = (site / "book" / "capstone.html").read_text(encoding="utf-8")
    texts = [html.unescape(re.sub(r"<[^>]+>", "", text)) for text in re.findall(r"<pre>(.*?)</pre>", page, re.DOTALL)]
    return {
        heading: [row.split() for row in text.strip().splitlines()[1:]]
        for heading in (RUNS, DATES)
        for text in texts
        if text.startswith(heading)
    }


def test_trained_from_three_beginnings_the_model_translates_what_it_has_not_seen(printed):
    *with_attention, (without, *_) = printed[RUNS]
    assert ([row[:2] for row in with_attention], without) == ([["with", seed] for seed in "012"], "without")
    for _, _, exact, nouns, _ in with_attention:
        assert float(exact) >= 0.99
        assert float(nouns) >= 0.95


def test_in_the_same_few_steps_attention_learns_dates_and_a_fixed_vector_does_not(printed):
    (_, few, learned, share), (_, same, fixed), (_, more, later), (_, chance) = printed[DATES]
    assert int(few) == int(same) < int(more)
    assert float(learned) >= 0.98
    assert float(share) > 2.5 * float(chance)
    assert float(fixed) < 0.5 < float(later)


def test_the_weights_on_with_differ_more_from_model_to_model_where_the_second_of_its_words_is_written(site):
    texts, _ = outputs(site, "capstone")
    (printed,) = [text for text in texts if re.match(r"seed +के +साथ", text)]
    on_with = np.array([row.split() for row in printed.splitlines()[1:] if row], dtype=float)[:, 1:]
    assert on_with.shape == (3, 2)
    first, second = np.ptp(on_with, axis=0)
    assert first < 0.2
    assert second > 2 * first


def outputs(site, name):
    """Return what the cells of a page print, and the page without it."""
    page = (site / "book" / f"{name}.html").read_text(encoding="utf-8")
    found = re.findall(r"<pre>(.*?)</pre>", page, re.DOTALL)
    texts = [html.unescape(re.sub(r"<[^>]+>", "", text)) for text in found]
    return texts, re.sub(r"<pre>.*?</pre>", "", page, flags=re.DOTALL)


def test_the_step_of_the_introduction_is_told_with_the_numbers_that_it_prints(site):
    texts, told = outputs(site, "intro")
    (printed,) = [text for text in texts if re.match(r"scores +\[", text)]
    rows = {line.split("[")[0].strip(): re.findall(r"\d+\.\d+", line) for line in printed.splitlines()}
    assert list(rows) == ["scores", "weights", "context", "new state", "probability"]
    for row, numbers in rows.items():
        for number in numbers[:1] if row == "probability" else numbers:
            assert f"{float(number):.4f}" in told, (row, number)


def test_a_swap_of_the_matrices_shows_in_the_worked_example_at_all_positions_but_the_first():
    right = worked_example("scoring-additive_score").inputs
    swapped = right | {"W_query": right["W_key"], "W_key": right["W_query"]}
    (moved,) = abs(additive_score(**right) - additive_score(**swapped)) > 0.1
    assert moved.tolist() == [False, True, True]


def test_the_program_of_the_whole_model_translates_what_it_has_not_seen(site):
    texts, _ = outputs(site, "whole_model")
    (printed,) = [text for text in texts if text.startswith("exact match")]
    exact, nouns = map(float, re.findall(r"\d\.\d{3}", printed)[:2])
    assert exact >= 0.99
    assert nouns >= 0.95


GROUPS, SENTENCES = ("5-7", "8-10", "11-15"), (6000, 60_000)


@pytest.fixture(scope="module")
def record():
    return json.loads(RECORD.read_text(encoding="utf-8"))


def shares(record, context, sentences, steps, group):
    """Return the exact match of each beginning, in a group of lengths."""
    found = {
        row["seed"]: row["right_of"][group]
        for row in record["rows"]
        if (row["group"], row["model"], row["sentences"], row["steps"]) == ("bottleneck", context, sentences, steps)
    }
    return np.array([right / every for right, every in found.values()])


def test_the_record_of_the_fair_race_has_each_point_once_and_names_those_that_were_not_run(record):
    everything = [name(*point) for point in points()]
    run = [row["name"] for row in record["rows"]]
    assert sorted(run + record["not_run"]) == sorted(everything)
    assert record["command"] == "python benchmarks/bottleneck.py"
    assert all({"processor", "threads", "python", "numpy", "torch"} == set(row["machine"]) for row in record["rows"])


def test_the_test_of_the_race_begins_with_that_of_the_page():
    wanted = draw_sentences(500, seed=7, least=5, kept_back=True)
    assert draw_sentences(2000, seed=7, least=5, kept_back=True)[:500] == wanted
    np.testing.assert_array_equal(unseen_sentences(seed=7)["source"], as_arrays([HELD_OUT, *wanted])["source"])


def test_each_context_ran_at_the_rate_that_was_best_for_it(record):
    for context in ("fixed", "attention"):
        tried = [row for row in record["rows"] if row["group"] == "rate" and row["model"] == context]
        best = min(tried, key=lambda row: row["nats_per_word"])["rate"]
        used = {row["rate"] for row in record["rows"] if row["group"] == "bottleneck" and row["model"] == context}
        assert used == {best}


def test_what_the_page_says_of_the_fixed_vector_is_in_the_record(record):
    first, last = ([shares(record, "fixed", 60_000, steps, group) for group in GROUPS] for steps in (300, 4000))
    assert [len(found) for found in first + last] == [3] * 6
    assert 0.7 < first[0].mean() < 0.8
    assert first[2].mean() == pytest.approx(0.02, abs=0.005)
    assert min(last[0].min(), last[1].min()) > 0.98
    assert last[2].mean() == pytest.approx(0.87, abs=0.005)
    assert shares(record, "fixed", 6000, 4000, "11-15").mean() == pytest.approx(0.43, abs=0.005)
    longest = [shares(record, "fixed", 60_000, 16_000, group) for group in GROUPS]
    assert [len(found) for found in longest] == [3, 3, 3]
    assert longest[0].min() == 1
    assert sorted(461 - longest[1] * 461) == pytest.approx([0, 0, 2])
    assert longest[2].mean() == pytest.approx(0.95, abs=0.005)


def test_what_the_page_says_of_more_steps_for_the_fixed_vector_is_in_the_record(record):
    for sentences in SENTENCES:
        by_steps = np.array([[shares(record, "fixed", sentences, k, g).mean() for g in GROUPS] for k in STEPS])
        helped = np.diff(by_steps, axis=0) > 0
        assert helped[:2].all()  # more steps help, for every length, up to 4000
        assert (helped[2] == (sentences == 60_000)).all()  # and beyond that where there are sentences enough
        assert (np.diff(by_steps, axis=1) < 0).all()  # the longer, the worse, after any number of steps
    before, after = ([shares(record, "fixed", 6000, steps, group) for group in GROUPS] for steps in (4000, 16_000))
    for long_trained, shorter in zip(after, before, strict=True):
        assert (long_trained < shorter).all()  # from every beginning
    assert [found.mean() for found in after] == pytest.approx([0.96, 0.74, 0.33], abs=0.005)
    for steps in STEPS:
        few, many = (np.mean([shares(record, "fixed", n, steps, g) for g in GROUPS]) for n in SENTENCES)
        assert few < many


def test_what_the_page_says_of_attention_is_in_the_record(record):
    early = np.array([[shares(record, "attention", n, 300, g) for g in GROUPS] for n in SENTENCES])
    assert early.shape == (2, 3, 3)
    assert early[:, :2].min() > 0.99
    assert early[0, 2].mean() == pytest.approx(0.96, abs=0.005)
    assert early[0, 2].mean() > shares(record, "fixed", 60_000, 16_000, "11-15").max()
    later = [row for row in record["rows"] if row["model"] == "attention" and row["steps"] in STEPS[1:]]
    assert len(later) == 18
    for row in later:
        wrong = sum(every - right for right, every in row["right_of"].values())
        assert wrong <= {1000: 1, 4000: 3, 16_000: 0}[row["steps"]]


def test_what_the_page_says_of_the_three_scores_is_in_the_record(record):
    rows = [row for row in record["rows"] if row["group"] == "score"]
    exact, entropy = {}, {}
    for row in rows:
        right, every = np.sum(list(row["right_of"].values()), axis=0)
        exact.setdefault((row["model"], row["size"]), []).append(right / every)
        entropy.setdefault((row["model"], row["size"]), []).append(row["trained"]["entropy_share"])
        assert row["untrained"]["entropy_share"] > 0.93
    assert {len(found) for found in exact.values()} == {3}
    assert max(entropy["dot", 64] + entropy["dot", 256]) < 0.1
    assert min(exact["dot", 64]) > 0.96
    assert [round(share(exact["dot", 256]), 2) for share in (min, max)] == [0.4, 0.69]
    assert [round(share(exact["scaled-dot", 256]), 2) for share in (min, max)] == [0.97, 0.98]
    assert min(exact["additive", 256]) == min(map(min, exact.values()))
    assert min(entropy["additive", 256]) > 0.3
    assert max(exact["scaled-dot", 16]) < min(exact["additive", 16] + exact["dot", 16])
    assert {row["rate"] for row in rows} == {0.024}


def test_what_the_page_says_of_the_two_orders_is_in_the_record(record):
    longest = {
        order: np.array(
            [
                sorted(
                    np.divide(*row["right_of"]["11-15"])
                    for row in record["rows"]
                    if (row["model"], row["steps"]) == (order, steps)
                )
                for steps in (100, 200, 300)
            ]
        )
        for order in ("bahdanau", "luong")
    }
    assert longest["bahdanau"].shape == longest["luong"].shape == (3, 5)
    (_, bahdanau_200, bahdanau_300), (_, luong_200, luong_300) = longest["bahdanau"], longest["luong"]
    assert luong_200[3] < bahdanau_200[0] < luong_200[4]
    assert min(bahdanau_300[2], luong_300[2]) >= 0.99
    assert min(bahdanau_300[0], luong_300[1]) > 0.85
    assert luong_300[0] == pytest.approx(0.5, abs=0.05)


def test_the_page_prints_every_point_of_the_race(site, record):
    page = (site / "book" / "capstone.html").read_text(encoding="utf-8")
    text = html.unescape(re.sub(r"<[^>]+>", "", page))
    assert record["not_run"] == []
    for context, sentences, steps in itertools.product(("attention", "fixed"), SENTENCES, STEPS):
        assert re.search(rf"^{context} +{sentences} +{steps} ", text, flags=re.MULTILINE)
