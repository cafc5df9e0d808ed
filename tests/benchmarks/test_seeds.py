"""What an answer earns is the same with every seed."""

import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from autograder.exercises import load
from benchmarks import seeds

pytestmark = pytest.mark.slow


@pytest.mark.suite("audit")
def test_the_seed_decides_nothing_for_answers_to_a_topic():
    """A sample of the benchmark: every eighth answer to one topic, with two seeds."""
    earned = seeds.points_by_seed("softmax", 2, step=8)
    assert len(earned) > sum(exercise.is_called for exercise in load("softmax", 0))
    assert not {answer: points for answer, points in earned.items() if len({*points}) > 1}


def test_the_benchmark_says_how_many_answers_move(monkeypatch, capsys):
    points = {"a (of 2)": [2.0, 2.0], "b (of 2)": [1.0, 2.0]}
    monkeypatch.setattr(seeds, "ProcessPoolExecutor", ThreadPoolExecutor)
    monkeypatch.setattr(seeds, "points_by_seed", lambda topic, seeds: points)
    monkeypatch.setattr(sys, "argv", ["seeds", "--seeds", "2", "--topics", "softmax"])
    with pytest.raises(SystemExit) as ended:
        seeds.main()
    assert ended.value.code == 1
    assert capsys.readouterr().out.splitlines() == [
        "b (of 2) 1 times 1, 1 times 2",
        "1 of 2 answers (50.0%) earn different points with 2 seeds.",
    ]


def test_the_benchmark_has_help(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["seeds", "--help"])
    with pytest.raises(SystemExit, match="0"):
        seeds.main()
    assert "--seeds" in capsys.readouterr().out
