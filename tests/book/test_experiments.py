"""What pages print while they are built, of the models that they train and of one step, is what their texts say of it."""

import html
import re

import pytest

from autograder.paths import ROOT
from benchmarks.fixed_vector import RUNS as LONGER_RUNS

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
    for name, numbers in rows.items():
        for number in numbers[:1] if name == "probability" else numbers:
            assert f"{float(number):.4f}" in told, (name, number)


def test_the_program_of_the_whole_model_translates_what_it_has_not_seen(site):
    texts, _ = outputs(site, "whole_model")
    (printed,) = [text for text in texts if text.startswith("exact match")]
    exact, nouns = map(float, re.findall(r"\d\.\d{3}", printed)[:2])
    assert exact >= 0.99
    assert nouns >= 0.95


def test_what_is_recorded_of_the_longer_runs_is_what_the_page_says_of_them():
    lines = (ROOT / "benchmarks" / "fixed_vector.txt").read_text(encoding="utf-8").splitlines()[2:]
    rows = [re.fullmatch(r"(.{15}) +(\d+) +(\d+) +(\d+)(.*)", line).groups() for line in lines]
    assert [(name.strip(), *map(int, numbers)) for name, *numbers, _ in rows] == list(LONGER_RUNS)
    for name, steps, _, _, measured in rows:
        every, *by_length, _ = map(float, measured.split())
        if name.strip() == "attention":
            assert every >= 0.99
        elif int(steps) >= 4000:
            assert every >= 0.9
            assert by_length == sorted(by_length, reverse=True)
        else:
            assert every < 0.7
            assert by_length[0] > by_length[-1] + 0.3
