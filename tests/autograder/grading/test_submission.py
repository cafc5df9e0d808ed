"""Each attempt has its own hidden cases, the same on every machine."""

import types

import pytest
from nbformat.v4 import new_markdown_cell, new_notebook

from autograder.grading import submission
from autograder.notebooks import cell_ids
from solutions.answer_key import AnswerKeyError

SEED = 2**32 - 5


@pytest.fixture
def seeds(monkeypatch):
    """Record the seeds with which exercises are loaded; tests choose which ones are refused."""
    loaded = types.SimpleNamespace(seeds=[], refuses=lambda seed: False)

    def load(topic, seed, extra):
        loaded.seeds.append(seed)
        if loaded.refuses(seed):
            raise AnswerKeyError("a known mistake passes", "here", "draw again.")
        return (types.SimpleNamespace(name=f"{topic}-{seed}"),)

    monkeypatch.setattr(submission.exercises, "load", load)
    submission._load_drawn.cache_clear()
    yield loaded
    submission._load_drawn.cache_clear()


def test_the_first_attempt_has_the_cases_of_the_release_and_every_other_its_own(seeds):
    for attempt in range(20):
        submission.exercises_for("toy", SEED, attempt, {})
    assert seeds.seeds[0] == SEED
    assert len(set(seeds.seeds)) == 20
    assert all(type(seed) is int and 0 <= seed < 2**32 for seed in seeds.seeds)
    first = list(seeds.seeds)
    submission._load_drawn.cache_clear()
    seeds.seeds.clear()
    for attempt in range(20):
        submission.exercises_for("toy", SEED, attempt, {})
    assert seeds.seeds == first


def test_the_release_s_own_cases_are_never_drawn_again(seeds):
    seeds.refuses = lambda seed: True
    with pytest.raises(AnswerKeyError):
        submission.exercises_for("toy", 1, 0, {})
    assert seeds.seeds == [1]


def test_cases_that_let_a_known_mistake_pass_are_drawn_again(seeds):
    seeds.refuses = lambda seed: len(seeds.seeds) < 3
    submission.exercises_for("toy", 1, 4, {})
    assert len(set(seeds.seeds)) == 3


def test_a_seed_that_the_release_recorded_counts_before_any_other(seeds):
    submission.exercises_for("toy", 1, 2, {}, "", (40, 41))
    assert seeds.seeds == [41]


def test_a_recorded_seed_that_no_longer_suits_the_key_is_replaced(seeds):
    seeds.refuses = lambda seed: seed == 41
    submission.exercises_for("toy", 1, 2, {}, "", (40, 41))
    assert seeds.seeds == [41, 1 + 2 * 1_000_003]


def test_where_all_draws_are_refused_the_cases_of_the_release_count(seeds):
    seeds.refuses = lambda seed: seed != 1
    submission.exercises_for("toy", 1, 4, {})
    assert seeds.seeds[-1] == 1
    assert len(set(seeds.seeds)) == len(seeds.seeds)


def test_what_an_earlier_release_did_not_ask_is_known_by_its_cells():
    sources = {"toy-first": "## First", "": "prose", "toy-second": "## Second"}
    template = new_notebook(cells=[new_markdown_cell(source) for source in sources.values()])
    for cell, name in zip(template.cells, sources, strict=True):
        cell.metadata["nbgrader"] = {"grade_id": cell_ids.text_id(name)} if name else {}
    points = {"toy-first": 1.0, "toy-later": 2.0, "toy-second": 1.0}
    assert submission.find_later_exercises(template, points) == ("toy-later",)
