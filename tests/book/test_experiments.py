"""The results that pages print of their trained models and of one step agree with the text."""

import html
import itertools
import json
import re
from string import ascii_lowercase

import numpy as np
import pytest
import torch
from bs4 import BeautifulSoup
from torch.nn import functional

from autograder.notebooks.chapter import chapter_texts
from autograder.paths import BOOK
from benchmarks.comparisons import (
    COMPARISONS,
    RECORD,
    TrainingRun,
    build_model,
    choose_length,
    choose_rate,
    long_runs,
    read_record,
    sides,
    tuning_runs,
)
from benchmarks.interventions import RECORD as INTERVENTIONS
from benchmarks.regularised import DROPOUTS, LARGER, RATES, SEEDS, tabulate
from benchmarks.regularised import RECORD as REGULARISED
from benchmarks.trainings import RECORD as TRAININGS
from solutions import answer_key
from solutions.answer_key import worked_example
from solutions.in_numpy.capstone import HELD_OUT, as_arrays, draw_sentences
from solutions.in_numpy.scoring import additive_score
from solutions.in_torch.capstone import unseen_sentences
from solutions.in_torch.from_bahdanau_to_transformers import multi_head
from solutions.in_torch.spelling import write_changed
from solutions.trained import load_trained

LONG = COMPARISONS["bottleneck"].long
STEPS = LONG["fixed"]
RUNS = "attention  seed  exact"


@pytest.fixture(scope="module")
def printed(site):
    """The rows that the capstone page prints on its trainings, each split into words."""
    texts, _ = outputs(site, "capstone")
    (text,) = [text for text in texts if text.startswith(RUNS)]
    return [row.split() for row in text.strip().splitlines()[1:]]


def rows_of_table(site, *head, page="capstone"):
    """Return the rows of the one table of a page whose first columns are called ``head``."""
    page = BeautifulSoup((site / "book" / f"{page}.html").read_text(encoding="utf-8"), "html.parser")
    for line_break in page("br"):
        line_break.replace_with(" ")
    tables = [[[cell.text for cell in row(["th", "td"])] for row in table("tr")] for table in page("table")]
    (rows,) = [rows for first, *rows in tables if first[: len(head)] == [*head]]
    return rows


def test_trained_from_three_beginnings_the_model_translates_what_it_has_not_seen(printed):
    *with_attention, (without, *_) = printed
    assert ([row[:2] for row in with_attention], without) == ([["with", seed] for seed in "012"], "without")
    for _, _, exact, nouns, _ in with_attention:
        assert float(exact) >= 0.99
        assert float(nouns) >= 0.95


def test_the_weights_on_with_differ_more_from_model_to_model_where_the_second_of_its_words_is_written(site):
    texts, _ = outputs(site, "capstone")
    (printed,) = [text for text in texts if re.match(r"seed +के +साथ", text)]
    on_with = np.array([row.split() for row in printed.splitlines()[1:] if row], dtype=float)[:, 1:]
    assert on_with.shape == (3, 2)
    first, second = np.ptp(on_with, axis=0)
    assert first < 0.2
    assert second > 2 * first


def outputs(site, name):
    """Return the outputs of a page's cells, and the page without them."""
    page = (site / "book" / f"{name}.html").read_text(encoding="utf-8")
    blocks = re.findall(r"<pre>(.*?)</pre>", page, re.DOTALL)
    texts = [html.unescape(re.sub(r"<[^>]+>", "", text)) for text in blocks]
    return texts, re.sub(r"<pre>.*?</pre>", "", page, flags=re.DOTALL)


def test_the_step_of_the_introduction_is_told_with_the_numbers_that_it_prints(site):
    texts, prose = outputs(site, "intro")
    (printed,) = [text for text in texts if re.match(r"scores +\[", text)]
    rows = {line.split("[")[0].strip(): re.findall(r"\d+\.\d+", line) for line in printed.splitlines()}
    assert list(rows) == ["scores", "weights", "context", "new state", "probability"]
    for row, numbers in rows.items():
        for number in numbers[:1] if row == "probability" else numbers:
            assert f"{float(number):.4f}" in prose, (row, number)


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


@pytest.fixture(scope="module")
def own():
    """The recorded trainings of the translator that students write, by number of steps, each for seeds 0 and 1."""
    rows = json.loads(TRAININGS.read_text(encoding="utf-8"))["own"]
    return {steps: [row for row in rows if row["steps"] == steps] for steps in (100, 200, 300, 600)}


def test_the_exercise_on_a_translator_of_ones_own_states_what_was_measured(own):
    text = " ".join(chapter_texts(BOOK / "capstone.md")[1]["capstone-train_own"].body.split())
    assert "Our 600 steps take less than half a minute, and reach 1 and 100." in text
    for row in own[600]:
        assert (row["exact_match"], row["bleu"]) == (1, 100)
        assert row["cpu_seconds"] < 30
    entry = answer_key.load("capstone")["capstone-train_own"]
    thresholds = entry.thresholds
    bleu, exact = (f"{entry.parts[name]} {{}} of at least {thresholds[name]}" for name in ("bleu", "exact_match"))
    assert f"{bleu.format('points for a BLEU')}, and {exact.format('more for an exact match')}." in text
    reached = {
        steps: [all(row[name] >= thresholds[name] for name in thresholds) for row in own[steps]] for steps in own
    }
    assert reached == {100: [False] * 2, 200: [False] * 2, 300: [True] * 2, 600: [True] * 2}


def test_the_model_answer_on_the_regularised_ablation_has_the_numbers_of_the_record():
    regularised = json.loads(REGULARISED.read_text(encoding="utf-8"))
    answer = " ".join(answer_key.load("spelling")["spelling-ablation"].answer.split())
    chosen, rows = regularised["chosen"], regularised["rows"]

    def errors(side, rate, dropout):
        settings = [row for row in rows if (row["side"], row["rate"], row["dropout"]) == (side, rate, dropout)]
        assert sorted(row["seed"] for row in settings) == [*SEEDS]
        return 100 * np.mean([row["validation_per"] for row in settings])

    assert 15 * 60 < sum(row["cpu_seconds"] for row in rows) < 20 * 60  # "less than twenty minutes"
    assert {row["stopped"] for row in rows if not row["dropout"]} == {200, 300, 400}
    assert sorted(row["stopped"] for row in rows if row["dropout"]) == [400, *[600] * 19]
    told, dropouts = [], {side: chosen[side]["dropout"] for side in chosen}
    for side, dropout in dropouts.items():
        shares = ", ".join(f"{errors(side, RATES[0], share):.1f}" for share in DROPOUTS)
        others = " and ".join(f"{errors(side, rate, dropout):.1f}" for rate in RATES[1:])
        larger = " and ".join(f"{errors(side, RATES[0], share):.1f}" for share in LARGER if dropout == max(DROPOUTS))
        told.append(f"{shares}; with {' and '.join(map(str, LARGER))}, {larger}" if larger else shares)
        told.append(f"; with {dropout:g} and the other rates, {others}")
        told.append(f"{chosen[side]['dropout']:g} and {chosen[side]['rate']:g}")
    without = errors("fixed", RATES[0], 0) - errors("attention", RATES[0], 0)
    with_dropout = errors("fixed", **chosen["fixed"]) - errors("attention", **chosen["attention"])
    told.append(f"from {without:.1f} to {with_dropout:.1f} points")
    per = {(row["side"], row["rate"], row["dropout"], row["seed"]): 100 * row["validation_per"] for row in rows}

    def difference(seed, attention, fixed):
        return per["fixed", *fixed, seed] - per["attention", *attention, seed]

    best = [(chosen[side]["rate"], chosen[side]["dropout"]) for side in ("attention", "fixed")]
    by_seed = [difference(seed, (RATES[0], 0), (RATES[0], 0)) - difference(seed, *best) for seed in SEEDS]
    told.append("by {:.1f} with one seed and {:.1f} with the other".format(*by_seed))
    for compared in tabulate(regularised["test"]).values():
        rates = f"{compared['attention']:.1f}, {compared['fixed']:.1f}, {compared['difference']:.1f}"
        told.append("{} ({:.1f} to {:.1f})".format(rates, *compared["interval"]))
    assert [sentence for sentence in told if sentence not in answer] == []


GROUPS, SENTENCES = ("5-7", "8-10", "11-15"), (6000, 60_000)


@pytest.fixture(scope="module")
def record():
    return json.loads(RECORD.read_text(encoding="utf-8"))


def rows_at_best(record, group, model):
    """Return the rows of one model in a comparison, each with the rate and dropout chosen for its number of steps."""
    best = {
        c["steps"]: (c["rate"], c["dropout"]) for c in record["chosen"] if (c["group"], c["model"]) == (group, model)
    }
    return [
        row
        for row in record["rows"]
        if (row["group"], row["model"], (row["rate"], row["dropout"])) == (group, model, best.get(row["steps"]))
    ]


def shares(record, context, sentences, steps, group):
    """Return the exact match of each seed in one group of sentence lengths."""
    counts = {
        row["seed"]: row["right_of"][group]
        for row in rows_at_best(record, "bottleneck", context)
        if (row["sentences"], row["steps"]) == (sentences, steps)
    }
    return np.array([right / every for right, every in counts.values()])


def test_the_record_has_every_training_and_each_side_its_best_rate_inside_the_grid(record):
    rows = read_record()
    runs = [*tuning_runs(), *itertools.chain.from_iterable(long_runs(rows, group) for group in COMPARISONS)]
    wanted = {run.name(steps) for run in runs for steps in run.steps}
    assert {*rows} == wanted
    assert record["command"] == "python -m benchmarks.comparisons"
    for written, side in zip(record["chosen"], sides(), strict=True):
        choice = choose_rate(rows, *side)
        assert written == json.loads(json.dumps(choice))
        lowest, *inside, highest = sorted(choice["validation_loss"])
        assert choice["rate"] in inside, (side, lowest, highest)
        assert choice["dropout"] < max(COMPARISONS[side[0]].dropouts) or choice["dropout"] == 0, side


def test_the_test_of_the_race_begins_with_that_of_the_page():
    wanted = draw_sentences(500, seed=7, least=5, kept_back=True)
    assert draw_sentences(2000, seed=7, least=5, kept_back=True)[:500] == wanted
    np.testing.assert_array_equal(unseen_sentences(seed=7)["source"], as_arrays([HELD_OUT, *wanted])["source"])


def test_what_the_page_says_of_the_fixed_vector_is_in_the_record(record):
    first, last = ([shares(record, "fixed", 60_000, steps, group) for group in GROUPS] for steps in (300, 4000))
    assert [len(by_seed) for by_seed in first + last] == [3] * 6
    assert 0.7 < first[0].mean() < 0.8
    assert first[2].mean() == pytest.approx(0.02, abs=0.005)
    assert min(last[0].min(), last[1].min()) > 0.98
    assert last[2].mean() == pytest.approx(0.88, abs=0.005)
    assert shares(record, "fixed", 60_000, 16_000, "11-15").mean() == pytest.approx(0.95, abs=0.005)
    stopped = [shares(record, "fixed", 6000, steps, "11-15").mean() for steps in (4000, 16_000)]
    assert stopped == pytest.approx([0.44, 0.41], abs=0.005)
    for sentences, training, validation in ((6000, 0.002, 0.097), (60_000, 0.002, 0.004)):
        rows = [
            row
            for row in rows_at_best(record, "bottleneck", "fixed")
            if (row["sentences"], row["steps"]) == (sentences, 16_000)
        ]
        assert np.mean([row["training_loss"] for row in rows]) == pytest.approx(training, abs=0.0005)
        assert np.mean([row["validation_loss"] for row in rows]) == pytest.approx(validation, abs=0.0005)


def test_what_the_page_says_of_batches_that_are_not_sorted_is_in_the_record(record):
    def longest(group, sentences):
        rows = [
            row for row in rows_at_best(record, group, "fixed") if (row["steps"], row["sentences"]) == (4000, sentences)
        ]
        assert sorted(row["seed"] for row in rows) == [0, 1, 2]
        return f"{100 * np.mean([np.divide(*row['right_of']['11-15']) for row in rows]):.0f}%"

    told = [longest(group, sentences) for group in ("mixed-fixed", "bottleneck") for sentences in SENTENCES]
    text = " ".join((BOOK / "capstone.md").read_text(encoding="utf-8").split())
    sentence = (
        "translates {} of the longest after 4000 steps on 6000 sentences, and {} on 60 000, instead of {} and {}."
    )
    assert sentence.format(*told) in text


def test_what_the_page_says_of_dropout_is_in_the_record(site, record):
    table = rows_of_table(site, "context", "dropout", page="capstone")
    assert [row[:3] for row in table if row[0] == "fixed"] == [["fixed", "0", "0.012"], ["fixed", "0.1", "0.006"]]
    for model, share, rate, *shown in table:
        rows = rows_of(record, "dropout", model, rate=float(rate), dropout=float(share))
        assert len(rows) == 3
        rates = [[f"{np.divide(*row['right_of'][group]):.3f}" for row in rows] for group in GROUPS]
        losses = [[f"{row[name]:.4f}" for row in rows] for name in ("training_loss", "validation_loss")]
        assert [cell.split() for cell in shown] == [*rates, *losses]
    longest = {(row[0], row[1]): np.mean([float(seed) for seed in row[5].split()]) for row in table}
    assert longest["fixed", "0"] == pytest.approx(0.40, abs=0.005)
    assert longest["fixed", "0.1"] == pytest.approx(0.69, abs=0.005)
    assert all(cell.split() == ["1.000"] * 3 for row in table if row[0] == "attention" for cell in row[3:6])
    losses = {
        share: np.mean(
            [row["validation_loss"] for row in rows_of(record, "dropout", "fixed", rate=0.006, dropout=share)]
        )
        for share in (0.1, 0.2)
    }
    assert (f"{losses[0.1]:.4f}", f"{losses[0.2]:.4f}") == ("0.0364", "0.0369")
    text = (BOOK / "capstone.md").read_text(encoding="utf-8")
    assert "a share of 0.2 has nearly the same validation loss, 0.0369." in text


def rows_of(record, group, model, **wanted):
    """Return the rows of one model in a comparison that have the ``wanted`` values."""
    same = {"group": group, "model": model, **wanted}
    return [row for row in record["rows"] if all(row[name] == value for name, value in same.items())]


def test_the_same_training_under_two_versions_of_torch_differs_by_as_many_sentences_as_the_page_says(record):
    same = {"rate": 0.012, "steps": 4000, "sentences": 6000, "dropout": 0.0}
    one, other = (rows_of(record, group, "fixed", **same) for group in ("bottleneck", "dropout"))
    assert {row["torch"] for row in one} != {row["torch"] for row in other}
    right = [{row["seed"]: row["right_of"]["11-15"] for row in rows} for rows in (one, other)]
    assert max(abs(right[0][seed][0] - right[1][seed][0]) for seed in range(3)) == 31
    assert {every for rows in right for _, every in rows.values()} == {555}


def test_what_the_page_says_of_attention_is_in_the_record(record):
    rows = rows_at_best(record, "bottleneck", "attention")
    assert len(rows) == 18
    for row in rows:
        assert sum(every - right for right, every in row["right_of"].values()) <= 3
        if row["steps"] == 300:
            assert row["validation_loss"] == pytest.approx(row["training_loss"], rel=0.25)
    longest = shares(record, "fixed", 60_000, 16_000, "11-15").max()
    assert longest < min(shares(record, "attention", 6000, 300, "11-15"))


def exact_by_rate(record, model, size):
    """Return the exact match of each seed by learning rate, in the comparison of the scores."""
    by_rate = {}
    for row in record["rows"]:
        if (row["group"], row["model"], row["size"]) == ("scores", model, size):
            by_rate.setdefault(row["rate"], []).append(np.divide(*np.sum(list(row["right_of"].values()), axis=0)))
    return {rate: np.array(by_rate[rate]) for rate in sorted(by_rate)}


def test_what_the_page_says_of_the_three_scores_is_in_the_record(record):
    exact = {
        (m, size): exact_by_rate(record, m, size) for m in ("additive", "dot", "scaled-dot") for size in (16, 64, 256)
    }
    chosen = {(c["model"], c["size"]): c["rate"] for c in record["chosen"] if c["group"] == "scores"}
    assert max(exact["dot", 256][0.024]) < 0.7  # the comparison at one shared rate
    assert max(exact["additive", 256][0.024]) < 0.25
    assert min(exact["scaled-dot", 256][0.024]) > 0.96
    assert min(exact["dot", 256][0.006]) > 0.99
    for size in (64, 256):
        for model in ("additive", "dot", "scaled-dot"):
            assert min(exact[model, size][chosen[model, size]]) >= 0.98
    lowest, *_, highest = exact["dot", 64]
    means = {
        model: {rate: x.mean() for rate, x in exact[model, 64].items()} for model in ("additive", "dot", "scaled-dot")
    }
    assert max(means, key=lambda model: means[model][highest]) == "scaled-dot"
    assert min(means, key=lambda model: means[model][lowest]) == "scaled-dot"
    for rate, shares in exact["scaled-dot", 16].items():
        assert shares.mean() < min(exact[other, 16][rate].mean() for other in ("additive", "dot"))


def test_the_loss_tells_scores_apart_where_exact_match_cannot(record):
    losses = {
        (c["model"], c["size"]): c["validation_loss"][str(c["rate"])]
        for c in record["chosen"]
        if c["group"] == "scores"
    }
    for size in (64, 256):
        assert 1 / 3 < losses["additive", size] / losses["dot", size] < 1 / 2
    highest = {model: exact_by_rate(record, model, 256)[0.024] for model in ("additive", "dot", "scaled-dot")}
    assert highest["additive"].max() < min(highest[other].min() for other in ("dot", "scaled-dot"))  # "fails worst"


def test_weights_that_are_more_saturated_translate_better_at_the_lower_rate(record):
    entropy = {
        rate: np.mean(
            [
                row["trained"]["entropy_share"]
                for row in record["rows"]
                if (row["group"], row["model"], row["size"], row["rate"]) == ("scores", "dot", 256, rate)
            ]
        )
        for rate in (0.006, 0.024)
    }
    assert entropy[0.006] < entropy[0.024] < 0.1


def test_the_page_prints_every_point_of_the_race(site, record):
    rows = {tuple(row[:3]) for row in rows_of_table(site, "context", "sentences", "steps")}
    for context, sentences in itertools.product(LONG, SENTENCES):
        for steps in LONG[context]:
            assert (context, str(sentences), str(steps)) in rows


def spelling_by_steps(record, model):
    """Return the rows of three seeds on spelling, at the rate chosen, by number of steps; of two after the most."""
    by_steps = {}
    for row in rows_at_best(record, "spelling", model):
        by_steps.setdefault(row["steps"], []).append(row)
    seeds = {steps: sorted(row["seed"] for row in rows) for steps, rows in by_steps.items()}
    assert seeds == {7000: [0, 1, 2], 23_000: [0, 1, 2], 70_000: [0, 1]}
    return dict(sorted(by_steps.items()))


def error_rates(seeds, part="", group="all"):
    """Return the PER and the WER of each row, in percent."""
    edits, right = (
        np.array([np.divide(*row[f"{part}{name}"][group]) for row in seeds]) for name in ("edits_of", "right_of")
    )
    return 100 * edits, 100 - 100 * right


def test_spelling_only_the_models_that_the_validation_words_chose_were_scored_on_the_test_words(site, record):
    stated, rose, every = [], [], {}
    for model in ("fixed", "attention"):
        by_steps = spelling_by_steps(record, model)
        assert [*by_steps] == [7000, 23_000, 70_000]
        losses = {steps: np.mean([row["validation_loss"] for row in seeds]) for steps, seeds in by_steps.items()}
        assert min(losses, key=losses.get) == 7000
        rose.append(f"{100 * losses[23_000] / losses[7000] - 100:.0f}%")
        for kind in (0, 1):
            rates = {steps: error_rates(seeds, "validation_")[kind].mean() for steps, seeds in by_steps.items()}
            assert min(rates, key=rates.get) == 23_000
        assert [row["steps"] for seeds in by_steps.values() for row in seeds if "edits_of" in row] == [23_000] * 3
        every[model] = error_rates(by_steps[23_000])
        stated.append([f"{rates.mean():.1f}%" for rates in every[model]])
        chosen = choose_length(read_record(), "spelling", model)
        assert [row["name"] for row in chosen] == [row["name"] for row in by_steps[23_000]]
    assert sum("edits_of" in row for row in record["rows"]) == 6
    text = " ".join((BOOK / "spelling.md").read_text(encoding="utf-8").split())
    (per, wer), (own_per, own_wer) = stated
    assert f"Attention has lowered the PER from {per} to {own_per}, and the WER from {wer} to {own_wer}." in text
    assert f"when the loss has already risen by {rose[1]} with attention and by {rose[0]} without." in text
    for without, with_attention in zip(every["fixed"], every["attention"], strict=True):
        spread = max(np.ptp(without), np.ptp(with_attention))
        assert without.min() - with_attention.max() > 3 * spread  # "far larger"
    table = rows_of_table(site, "context", "PER, %", page="spelling")
    assert [row[0] for row in table] == ["attention", "fixed"]
    for name, *shown in table:
        assert [cell.split() for cell in shown] == [[f"{rate:.1f}" for rate in rates] for rates in every[name]]


def test_spelling_the_page_shows_the_losses_and_error_rates_on_the_validation_words(site, record):
    table = rows_of_table(site, "context", "steps", page="spelling")
    assert [row[:2] for row in table] == [
        [model, steps] for model in ("attention", "fixed") for steps in ("7000", "23000", "70000")
    ]
    for model, steps, *shown in table:
        seeds = spelling_by_steps(record, model)[int(steps)]
        rates = [[f"{rate:.1f}" for rate in of_kind] for of_kind in error_rates(seeds, "validation_")]
        assert [cell.split() for cell in shown] == [[f"{row['validation_loss']:.3f}" for row in seeds], *rates]


def test_spelling_the_validation_loss_is_lowest_where_the_page_says(record):
    for model, lowest in (("attention", [12_000, 14_000]), ("fixed", [8000, 9000])):
        curves = [row["curve"] for row in spelling_by_steps(record, model)[70_000]]
        assert sorted(min(curve, key=lambda point: point[2])[0] for curve in curves) == lowest
        assert all(curve[-1][2] > 1.1 * min(point[2] for point in curve) for curve in curves)


def test_spelling_the_fixed_vector_ends_with_the_lower_training_loss(record):
    losses = {
        model: [row["training_loss"] for row in spelling_by_steps(record, model)[70_000]]
        for model in ("attention", "fixed")
    }
    assert {model: round(np.mean(each), 3) for model, each in losses.items()} == {"attention": 0.023, "fixed": 0.019}
    assert max(losses["fixed"]) < min(losses["attention"])


def test_spelling_with_attention_long_words_are_as_easy_as_short_ones_and_with_the_fixed_vector_twice_as_hard(record):
    attention, fixed = (
        [error_rates(spelling_by_steps(record, model)[23_000], group=group)[0].mean() for group in LETTERS]
        for model in ("attention", "fixed")
    )
    pairs = [
        f"{with_attention:.1f} and {without:.1f}" for with_attention, without in zip(attention, fixed, strict=True)
    ]
    told = "2 to 5 letters: {} percent; 6 to 7: {}; 8 to 9: {}; 10 to 16: {}.".format(*pairs)
    assert told in (BOOK / "spelling.md").read_text(encoding="utf-8")
    assert attention[3] == pytest.approx(attention[0], rel=0.1)
    assert fixed[3] / fixed[0] == pytest.approx(2, abs=0.1)


LETTERS = ("2-5", "6-7", "8-9", "10-16")


def test_the_page_on_spelling_computes_what_its_text_says(site):
    texts, page = outputs(site, "spelling")
    minute, sure, gained = [text for text in texts if text.startswith("PER")]
    per, wer = map(float, re.findall(r"\d+\.\d", minute)[:2])
    assert (per < 13, wer < 50) == (True, True)
    per, (_, low, high) = ([float(n) for n in re.findall(r"\d+\.\d", line)] for line in sure.splitlines()[:2])
    assert 3.3 < high - low < 3.7
    searches = rows_of_table(site, "width", "length power", page="spelling")
    assert [row[:2] for row in searches] == [["1", "0"], ["2", "0"], ["4", "0"], ["4", "1"]]
    assert min(searches, key=lambda row: float(row[2]))[:2] == ["4", "0"]  # "with width 4 and no division"
    _, gain, low, high = (float(number) for number in re.findall(r"\d+\.\d+", gained))
    assert 0.15 < gain < 0.25
    assert 0 < low < high < 0.45
    assert 3.5 < (per[2] - per[1]) / gain < 5
    (last,) = [text for text in texts if "; without" in text]
    outcomes = [re.findall(r"without .*? ([A-Z]+|</s>)(?:;|$)", line) for line in last.strip().splitlines()]
    assert outcomes == [["S", "S", "S"], ["Z", "Z", "</s>"], ["Z", "Z", "AH"]]
    cells = [html.unescape(re.sub(r"<[^>]+>", "", cell)) for cell in re.findall(r"<td.*?</td>", page, re.DOTALL)]
    rates = {name: float(cells[cells.index(name) + 1]) for name in cells if name in ALIGNMENTS}
    assert rates["Model 1 near the diagonal"] < rates["attention, largest weight"] / 2
    assert rates["attention, largest weight"] < min(rates["the diagonal"], rates["IBM Model 1"]) / 2
    assert 60 < float(cells[cells.index("vowel for vowel") + 1]) < 70


@pytest.fixture(scope="module")
def interventions():
    return json.loads(INTERVENTIONS.read_text(encoding="utf-8"))


def test_the_page_on_spelling_shows_what_was_recorded_of_forbidden_and_exchanged_letters(site, interventions):
    def rates(line, *names):
        numbers = [f"{line[name][0]:.1f} ({line[name][1]:.1f} to {line[name][2]:.1f})" for name in names]
        return [str(line["count"]), *numbers]

    (last,), aligned = interventions["forbidden_at_the_last"], interventions["forbidden_where_aligned"]
    forbidden = rows_of_table(site, "largest weight", "phonemes", page="spelling")
    lines = [*interventions["forbidden"], last, *aligned]
    columns = ("largest", "largest_between", "other")
    assert [row[1:] for row in forbidden] == [rates(line, *columns) for line in lines]
    assert [row[0] for row in forbidden] == [
        *("any", "below 0.5", "0.5 to 0.9", "0.9 and above", "any, at the last phoneme"),
        *("on a letter linked by hand", "on another letter"),
    ]
    exchanged = rows_of_table(site, "largest weight", "pairs", page="spelling")
    assert [row[1:] for row in exchanged] == [
        rates(line, "differing", "largest", "all") for line in interventions["exchanged"][1:]
    ]
    assert [row[0] for row in exchanged] == ["on the letter that differs", "on another letter"]


def test_what_the_page_on_spelling_says_of_them_is_in_the_record(interventions):
    everything, *bins = interventions["forbidden"]
    (last,), (linked, elsewhere) = interventions["forbidden_at_the_last"], interventions["forbidden_where_aligned"]
    assert everything["largest"][0] == pytest.approx(60, abs=2)  # "three of five"
    assert everything["other"][0] == pytest.approx(0.5, abs=0.02)  # "one of two hundred"
    assert round(everything["largest_between"][0]) == 21
    assert round(everything["largest_uniform"][0]) == 10
    assert f"{everything['other_between'][0]:.1f}" == f"{everything['other'][0]:.1f}" == "0.5"
    text = (BOOK / "spelling.md").read_text(encoding="utf-8")
    assert (
        f"That changes 21% of the phonemes (10% in directions drawn uniformly), not {everything['largest'][0]:.0f}%"
        in text
    )
    medium, large = bins[1:]
    assert large["largest"][0] - medium["largest"][0] > 10 * (
        large["largest_between"][0] - medium["largest_between"][0]
    )
    for less, more in itertools.pairwise(bins):
        assert less["largest"][2] < more["largest"][1]
    assert bins[-1]["largest"][0] == pytest.approx(80, abs=0.5)  # "one in five is written without it"
    assert round(everything["none"][0]) == 40
    assert everything["largest"][0] / (100 - everything["none"][0]) > 0.97  # "nearly always"
    assert round(last["none"][0]) == 73
    assert round(everything["largest_until"][0], 1) == 58.5
    assert (elsewhere["count"], elsewhere["largest"][0]) == (25, 0)
    assert elsewhere["largest"][2] < linked["largest"][1]
    pairs, differing, another = interventions["exchanged"]
    assert differing["count"] / pairs["count"] == pytest.approx(0.9, abs=0.005)  # "nine pairs of ten"
    assert 0 < differing["all"][0] - differing["differing"][0] < 1  # "about as good as"
    assert another["differing"][2] < 15  # "seldom"
    assert another["largest"][1] > 60  # "usually"


def test_the_last_sound_of_archivists_is_supplied_by_either_annotation():
    model = load_trained("spelling")
    phonemes = [write_changed(model, "archivists", step)[0] for step in range(9)]
    assert phonemes == ["AA", "R", "K", "AH", "V", "IH", "S", "T", "S"]
    others = ["archivist" + letter for letter in ascii_lowercase if letter != "s"]
    changed = [
        sum(write_changed(model, "archivists", 8, exchanged=letters, other=other)[0] != "S" for other in others)
        for letters in ([8], [9], [8, 9])
    ]
    assert (len(others), changed) == (25, [0, 8, 22])


ALIGNMENTS = ("the diagonal", "IBM Model 1", "Model 1 near the diagonal", "attention, largest weight")


def test_what_the_page_on_transformers_says_of_the_losses_of_three_scores_is_in_the_record(record):
    rate = {(c["model"], c["size"]): c["rate"] for c in record["chosen"] if c["group"] == "scores"}
    losses = {}
    for row in record["rows"]:
        of = row["model"], row["size"]
        if row["group"] == "scores" and row["rate"] == rate.get(of):
            losses.setdefault(of, []).append(row["validation_loss"])
    assert {len(seeds) for seeds in losses.values()} == {3}
    means = {of: np.mean(seeds) for of, seeds in losses.items()}
    assert f"{means['additive', 256]:.4f}" == f"{means['scaled-dot', 256]:.4f}" == "0.0015"
    assert round(means["dot", 256] / means["scaled-dot", 256]) == 3
    assert max(losses["scaled-dot", 256]) < min(losses["dot", 256])
    at_64 = [losses[score, 64] for score in ("additive", "dot", "scaled-dot")]
    assert all(min(one) < max(other) for one, other in itertools.permutations(at_64, 2))  # "overlap"
    assert f"{means['additive', 64]:.4f}" == "0.0056"
    assert means["additive", 64] < min(means["dot", 64], means["scaled-dot", 64])
    page = (BOOK / "from_bahdanau_to_transformers.md").read_text(encoding="utf-8")
    assert "the additive score's, 0.0015, and is a third of the plain product's" in page
    assert "the seeds of all three overlap; the additive score's mean is the lowest, 0.0056." in page


def test_only_the_additive_score_of_the_three_has_parameters_in_the_comparison():
    parameters = {}
    for model in COMPARISONS["scores"].models:
        attention = build_model(TrainingRun("scores", model, 64, 1, 0, 0.01, (1,))).decoder.attention
        parameters[model] = len([*attention.parameters()])
    assert parameters == {"additive": 3, "dot": 0, "scaled-dot": 0}


def test_what_the_page_on_the_paper_says_of_the_networks_gains_is_in_its_table(site):
    gains = {row[0]: row[3] for row in rows_of_table(site, "system", "all", page="the_paper") if "RNN" in row[0]}
    assert len(gains) == 5
    text = (BOOK / "the_paper.md").read_text(encoding="utf-8")
    assert f"gain between {min(gains.values(), key=float)} and {max(gains.values(), key=float)}." in text


def test_the_short_training_of_spelling_is_best_at_its_end_as_the_exercise_says():
    curve = json.loads(TRAININGS.read_text(encoding="utf-8"))["spelling"]["curve"]
    validation = [losses[2] for losses in curve]
    assert validation == sorted(validation, reverse=True)
    text = chapter_texts(BOOK / "spelling.md")[1]["spelling-train_and_save"].body
    assert "Its validation loss falls at every measurement" in text


MODELS = {"recurrent": "attention", "blocks in the encoder": "block-encoder", "transformer": "transformer"}
GROUPS_OF_BATCHES = {
    "mixed": {"attention": "mixed-recurrence", "block-encoder": "mixed-blocks", "transformer": "mixed-blocks"},
    "sorted": {"attention": "bottleneck", "block-encoder": "transformer", "transformer": "transformer"},
}
SHOWN = [("mixed", 100), ("mixed", 300), ("sorted", 300)]


def rows_of_blocks(record, batches, name, steps):
    """Return the rows of one model in the comparison of blocks with recurrence, at its best rate after ``steps``."""
    rows = rows_at_best(record, GROUPS_OF_BATCHES[batches][MODELS[name]], MODELS[name])
    return [row for row in rows if (row["steps"], row["sentences"]) == (steps, 6000)]


def longest_of_blocks(record, *side):
    """Return the share of the longest test sentences that each seed of a side translates, in percent."""
    return np.array([100 * np.divide(*row["right_of"]["11-15"]) for row in rows_of_blocks(record, *side)])


def test_the_page_on_transformers_prints_what_was_recorded_of_blocks_and_recurrence(site, record):
    printed = rows_of_table(site, "batches", "steps", page="from_bahdanau_to_transformers")
    wanted = [(batches, name, steps) for batches, steps in SHOWN for name in MODELS]
    assert [tuple(row[:3]) for row in printed] == [(batches, str(steps), name) for batches, name, steps in wanted]
    for side, (*_, rate, short, middle, long) in zip(wanted, printed, strict=True):
        rows = rows_of_blocks(record, *side)
        assert [row["seed"] for row in rows] == [0, 1, 2]
        assert {row["rate"] for row in rows} == {float(rate)}
        for group, cell in zip(GROUPS, (short, middle, long), strict=True):
            seeds = [100 * np.divide(*row["right_of"][group]) for row in rows]
            told = [float(number) for number in re.findall(r"[\d.]+", cell)]
            assert told == pytest.approx([np.mean(seeds), min(seeds), max(seeds)][: len(told)], abs=0.051)
            assert len(told) == (3 if np.ptp(seeds) >= 0.1 else 1)


def test_what_the_page_on_transformers_says_of_blocks_and_recurrence_is_in_the_record(record):
    page = " ".join((BOOK / "from_bahdanau_to_transformers.md").read_text(encoding="utf-8").split())
    means = {side: longest_of_blocks(record, *side).mean() for side in itertools.product(["mixed"], MODELS, (100, 300))}
    means |= {
        ("sorted", *rest): longest_of_blocks(record, "sorted", *rest).mean()
        for rest in itertools.product(MODELS, (300, 1000))
    }
    recurrent, encoder, both = (f"{means['mixed', name, 100]:.0f}%" for name in MODELS)
    assert f"translates {recurrent} of the longest sentences, the model with blocks in the encoder {encoder}," in page
    assert f"and the transformer {both}. After 300," in page
    recurrent, encoder, both = (means["mixed", name, 300] for name in MODELS)
    assert f"After 300, these shares are {recurrent:.1f}%, {encoder:.0f}% and {both:.0f}%." in page
    _, encoder, both = (means["sorted", name, 300] for name in MODELS)
    assert (
        f"translate only {encoder:.0f}% and {both:.0f}% of the longest, and after 1000 "
        f"the transformer only {means['sorted', 'transformer', 1000]:.0f}%. Recurrence gets all right after 300, "
    ) in page
    assert min(longest_of_blocks(record, "sorted", "recurrent", 300)) == 100
    sorted_loss, mixed_loss = (
        np.mean([row["validation_loss"] for row in rows_of_blocks(record, batches, "recurrent", 300)])
        for batches in ("sorted", "mixed")
    )
    assert f"but with {sorted_loss / mixed_loss:.1f} times its loss on mixed batches." in page
    for batches, steps in SHOWN:
        slowest = min(longest_of_blocks(record, batches, "recurrent", steps))
        assert all(max(longest_of_blocks(record, batches, name, steps)) < slowest for name in [*MODELS][1:])
        for name in MODELS:
            rows = rows_of_blocks(record, batches, name, steps)
            training, validation = (
                np.mean([row[loss] for row in rows]) for loss in ("training_loss", "validation_loss")
            )
            assert training > 0.7 * validation, (batches, steps, name)  # "No model overfits here"


def test_the_exercise_on_a_translator_with_blocks_states_what_was_measured():
    rows = {
        (row["blocks"], row["steps"], row["seed"]): row
        for row in json.loads(TRAININGS.read_text(encoding="utf-8"))["blocks"]
    }
    entry = answer_key.load("from_bahdanau_to_transformers")["from_bahdanau_to_transformers-train_blocks"]
    text = " ".join(chapter_texts(BOOK / "from_bahdanau_to_transformers.md")[1][entry.name].body.split())
    assert "Our 600 steps take less than a minute, and reach 100 and 1." in text
    assert "Ours is 0.001." in text
    assert {round(rows[True, 600, seed]["validation_loss"], 3) for seed in (0, 1)} == {0.001}
    reached = {}
    for (blocks, steps, seed), row in rows.items():
        assert rows[False, steps, seed]["validation_loss"] < rows[True, steps, seed]["validation_loss"]
        if blocks:
            reached.setdefault(steps, []).append(all(row[name] >= least for name, least in entry.thresholds.items()))
    assert reached == {100: [False] * 2, 300: [True] * 2, 600: [True] * 2}
    for seed in (0, 1):
        assert rows[False, 100, seed]["validation_loss"] < 0.1
        assert rows[True, 100, seed]["validation_loss"] > 1
        assert (rows[True, 600, seed]["exact_match"], rows[True, 600, seed]["bleu"]) == (1, 100)
        assert rows[True, 600, seed]["cpu_seconds"] < 60
    parts = entry.parts, entry.thresholds
    assert parts == ({"exact_match": 2, "bleu": 2}, {"exact_match": 0.95, "bleu": 90})
    assert "2 points for a BLEU of at least 90, and 2 more for an exact match of at least 0.95." in text


def test_the_page_on_transformers_works_out_a_block_with_the_numbers_of_its_key():
    given = {
        name: torch.tensor(array)
        for name, array in worked_example("from_bahdanau_to_transformers-transformer_block").inputs.items()
    }
    states, matrices = given["states"], [given[name] for name in ("W_query", "W_key", "W_value")]
    identity = torch.eye(4, dtype=states.dtype)
    contexts = multi_head(states[:, 0], states, given["mask"], *matrices, identity)[0]
    total = states[0, 0] + given["W_out"] @ contexts
    norms = [(given[f"gain_{part}"], given[f"bias_{part}"]) for part in ("attention", "network")]
    first = functional.layer_norm(total, total.shape, *norms[0])
    wide = given["W_wide"] @ first + given["b_wide"]
    added = given["W_narrow"] @ wide.relu() + given["b_narrow"]
    last = functional.layer_norm(first + added, total.shape, *norms[1])
    page = " ".join((BOOK / "from_bahdanau_to_transformers.md").read_text(encoding="utf-8").split())
    start = page.index("By hand, at the first of four positions")
    told = page[start : page.index("```", start)]
    numbers = [[*map(float, each.split(","))] for each in re.findall(r"\((-?[\d.]+(?:, -?[\d.]+)+)\)", told)]
    computed = [*contexts.unflatten(0, (2, 2)), total, first, wide, wide.relu(), added, last]
    assert numbers == [pytest.approx(each.tolist(), abs=1e-4) for each in computed]
    assert (total.mean().item(), total.var(correction=0).item()) == (1, 4)
