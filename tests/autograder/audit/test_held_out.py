"""Held-out answers are counted, and the intervals of their rates match published tables."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.audit import show
from autograder.audit.held_out import Rates, totals, wilson
from autograder.audit.report import measure
from autograder.errors import CourseError
from tests.autograder.samples import TOPICS, sample

pytestmark = pytest.mark.suite("audit")

UNLIKE = ("encoder", "output_layer", "spelling")  # shapes, numbers and code, in numpy and in torch
ALIKE = "answers of the same kinds, to exercises that the audit tries in every run"
REMEDY = "run `python -m autograder audit --held-out --record`"


def test_the_recorded_rates_are_those_of_all_topics():
    recorded = show.read_rates()
    assert [row.topic for row in recorded.now] == [row.topic for row in recorded.first] == list(TOPICS)


@pytest.mark.parametrize("topic", sample(TOPICS, UNLIKE, ALIKE))
@pytest.mark.filterwarnings("ignore")
def test_every_held_out_answer_can_be_graded_and_the_book_shows_their_rates(topic):
    report, recorded = measure([topic]), show.read_rates()
    ((now,), (first,)) = report.now, report.first
    assert now.wrong + now.moved >= 20
    assert now.right >= 5
    assert not report.notes
    assert all(answer.truth for answer in report.answers)
    assert all(answer.hint for answer in report.answers if not answer.accepted)
    assert now in recorded.now, REMEDY
    assert first in recorded.first, REMEDY


@given(st.integers(1, 500).flatmap(lambda count: st.tuples(st.integers(0, count), st.just(count))))
def test_a_wilson_interval_holds_the_rate_and_mirrors(pair):
    hits, count = pair
    low, high = wilson(hits, count)
    assert 0 <= low <= hits / count <= high <= 1
    mirrored = wilson(count - hits, count)
    assert (1 - high, 1 - low) == pytest.approx(mirrored)


@pytest.mark.parametrize(
    ("hits", "count", "interval"), [(0, 10, (0, 0.2775)), (5, 10, (0.2366, 0.7634)), (1, 100, (0.0018, 0.0545))]
)
def test_wilson_intervals_are_those_of_the_tables(hits, count, interval):
    assert wilson(hits, count) == pytest.approx(interval, abs=1e-4)


def test_nothing_counted_says_nothing():
    assert wilson(0, 0) == (0.0, 1.0)


def answer_line(name, about, body, topic="scoring"):
    code = f"import numpy as np\n\n\ndef {name}(query, keys, W=None):\n    {body}\n"
    return json.dumps({"topic": topic, "name": name, "about": about, "code": code}) + "\n"


RIGHT = "return ((keys if W is None else keys @ W.T) @ query[:, :, None])[:, :, 0] * np.ones(1)"
ANSWERS = (
    answer_line("dot_product_score__wrong_summed_all", "Sums over everything.", "return (keys * query[:, None]).sum()")
    + answer_line("dot_product_score__wrong_not_really", "Is right, in fact.", RIGHT)
    + answer_line("dot_product_score__right_matmul", "A matrix product.", RIGHT)
    + answer_line("dot_product_score__right_not_really", "Is wrong, in fact.", "print('noise')")
)


FIRST = "[first]\nwrong = 3\nright = 2\nfalse_accepts = 2\nnamed = 1\n"


@pytest.fixture
def held_out(tmp_path):
    (tmp_path / "heldout").mkdir()
    (tmp_path / "heldout.jsonl").write_text(ANSWERS, encoding="utf-8")
    return tmp_path / "heldout.jsonl"


def test_held_out_answers_are_counted(held_out):
    report = measure(["scoring"], path=held_out)
    (row,) = report.now
    assert (row.wrong, row.right, row.false_accepts, row.false_rejects, row.unjudged) == (2, 2, 1, 1, 1)
    assert row.judged == 0
    assert not report.first
    assert {answer.name: answer.accepted for answer in report.answers} == {
        "dot_product_score__wrong_summed_all": False,
        "dot_product_score__wrong_not_really": True,
        "dot_product_score__right_matmul": True,
        "dot_product_score__right_not_really": False,
    }
    lines = list(show.details(report))
    assert any("held-out wrong answer accepted: dot_product_score__wrong_not_really" in line for line in lines)
    assert any("held-out right answer rejected: dot_product_score__right_not_really" in line for line in lines)


def test_a_judgement_holds_for_the_words_that_it_was_said_of(held_out):
    (answer,) = [a for a in measure(["scoring"], path=held_out).answers if "summed_all" in a.name]
    entry = f'moved = ["dot_product_score__wrong_other"]\n{FIRST}[hint.{answer.name}]\nverdict = "general"\n'
    for words, counts in ((answer.hint, (1, 0)), ("Something that was said before.", (0, 1))):
        judged = held_out.with_suffix("") / "scoring.toml"
        judged.write_text(f"{entry}on = {json.dumps(words)}\n", encoding="utf-8")
        report = measure(["scoring"], path=held_out)
        assert (report.now[0].general, report.now[0].unjudged) == counts
    assert report.now[0].moved == 1
    assert report.first == (Rates("scoring", wrong=3, right=2, false_accepts=2, named=1),)


def test_a_topic_without_held_out_answers_is_said(tmp_path):
    (tmp_path / "heldout.jsonl").write_text(answer_line("add__right_x", "", "", topic="other"), encoding="utf-8")
    report = measure(["scoring"], path=tmp_path / "heldout.jsonl")
    assert report.notes == ("scoring: no held-out answers.",)
    assert not report.now


@pytest.mark.parametrize(
    ("answers", "judged", "what"),
    [
        (answer_line("nothing__wrong_x", "", ""), "", r"nothing__wrong_x does not answer any exercise"),
        (answer_line("dot_product_score__odd", "", ""), "", r"score__odd does not answer any exercise"),
        (ANSWERS + '{"topic": "scoring"}', "", "line 5.*missing required field"),
        (ANSWERS, '[hint.a]\nverdict = "good"\non = ""\n', "the hint for a is judged 'good'"),
        (ANSWERS, '[hint.a]\nverdict = "named"\n', "the hint for a is judged 'named'"),
    ],
)
def test_held_out_files_with_a_fault_are_refused_with_place_and_remedy(held_out, answers, judged, what):
    held_out.write_text(answers, encoding="utf-8")
    (held_out.with_suffix("") / "scoring.toml").write_text(judged, encoding="utf-8")
    with pytest.raises(CourseError, match=rf"^heldout(\.jsonl|/scoring\.toml).*{what}.*\n  Remedy: "):
        measure(["scoring"], path=held_out)


def test_the_rates_of_all_topics_are_sums():
    total = totals([Rates("a", 3, 2, 1, 0, named=2), Rates("b", 4, 1, 0, 1, misled=1, moved=2)])
    assert total == Rates("all topics", 7, 3, 1, 1, named=2, misled=1, moved=2)
    assert total.judged == 3
