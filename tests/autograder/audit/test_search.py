"""A release is redrawn until its hidden cases catch every known wrong answer."""

import dataclasses
import re
import types

import numpy as np
import pytest

from autograder.audit import search
from autograder.audit.mutants import Mutant
from autograder.audit.search import DRAWS, CaughtMistakes, SeedSearch, count_caught, find_attempt_seed, find_seed
from autograder.audit.survivors import UnrejectedMutant
from autograder.errors import CourseError
from autograder.exercises.drawing import candidate_seeds
from tests.autograder.samples import exercise_named

pytestmark = pytest.mark.suite("audit")


@pytest.fixture(scope="module")
def tried():
    return count_caught(exercise_named("scoring-dot_product_score"), verbose=True)


def test_every_wrong_answer_is_caught_and_each_case_says_which(tried):
    exercise = exercise_named("scoring-dot_product_score")
    assert tried.slips == ()
    assert tried.wrong > len(exercise.hints)
    assert list(tried.caught) == list(dict.fromkeys(case.name for case in exercise.hidden))
    assert tried.cases == len(tried.caught)
    assert {name for names in tried.caught.values() for name in names} >= set(exercise.hints)


def test_no_case_is_tried_after_the_first_that_catches_an_answer_unless_all_are_asked_for(tried, monkeypatch):
    asked, is_wrong = {}, search.Outcomes.is_wrong

    def note(outcomes, version, number):
        wrong = is_wrong(outcomes, version, number)
        asked.setdefault(version.key, {})[number] = wrong
        return wrong

    monkeypatch.setattr(search.Outcomes, "is_wrong", note)
    exercise = exercise_named("scoring-dot_product_score")
    short = count_caught(exercise)
    assert (short.wrong, short.cases, short.slips, short.caught) == (tried.wrong, tried.cases, (), {})
    assert all(True not in list(wrong.values())[:-1] for wrong in asked.values())
    assert sum(map(len, asked.values())) < tried.wrong * len(exercise.hidden) / 2


def test_what_a_case_alone_catches_is_known():
    caught = CaughtMistakes("toy", 3, 4, (), {"a": ("x", "y"), "b": ("y", "z"), "c": ("y",), "d": ()})
    assert caught.alone == {"a": ("x",), "b": ("z",), "c": (), "d": ()}


def test_a_mistake_that_passes_is_a_slip():
    exercise = exercise_named("scoring-dot_product_score")
    easy = tuple(case for case in exercise.hidden if np.prod(case.inputs["query"].shape) == 1)[:1]
    assert count_caught(dataclasses.replace(exercise, cases=easy)).slips


def test_a_mutant_that_passes_is_a_slip_though_another_of_its_name_is_caught(monkeypatch):
    exercise = exercise_named("scoring-dot_product_score")

    def mutant(keys, plus):
        text = f"def changed(query, keys, W=None):\n    return np.einsum('bd,btd->bt', query, {keys}) + {plus}"
        return Mutant(1, "return scores", "a change", text, {"np": np})

    almost_right, wrong = mutant("keys if W is None else keys @ W.T", "(len(query) == 77)"), mutant("keys", "1")
    monkeypatch.setattr(search, "mutants", lambda *_: (almost_right, wrong))
    monkeypatch.setattr(
        search,
        "classify_survivors",
        lambda unrejected, *_: ((), [UnrejectedMutant(m.line, "", m.what) for m in unrejected]),
    )
    assert count_caught(exercise).slips == ("line 1 with a change",)


def test_seeds_are_tried_until_one_catches_all(monkeypatch):
    seen = []

    def once(exercise, verbose):
        seen.append(exercise)
        return CaughtMistakes(exercise.name, 1, 1, ("a slip",) if len(seen) <= 14 else ())

    monkeypatch.setattr(search, "count_caught", once)
    seed_search = find_seed("scoring", 40)
    assert seed_search.draws == seed_search.seed - 40 + 1 > 1
    seen.clear()
    with pytest.raises(CourseError, match=r"(?s)none of the draws tried \(1\) catches a slip.*declare a family"):
        find_seed("scoring", 40, draws=1)


@pytest.fixture
def proofs(monkeypatch):
    """Replace the proofs about a seed: tests name the seeds that fail them."""
    tried = types.SimpleNamespace(seeds=[], unfair=set(), slipping=set())

    def prove_fairness(seed, other):
        assert other == 0
        tried.seeds.append(seed)
        if seed in tried.unfair:
            raise CourseError("a mistake earns 1 points with this seed", "the key", "add a hidden case.")

    def find(topic, seed, draws):
        if seed in tried.slipping:
            raise CourseError("no draw catches a slip", "the key", "declare a family.")
        return SeedSearch(seed, draws, ())

    monkeypatch.setattr(search.exercises, "load", lambda topic, seed, extra: seed)
    monkeypatch.setattr(search, "prove_fairness", prove_fairness)
    monkeypatch.setattr(search, "find_seed", find)
    return tried


def test_the_seed_of_an_attempt_is_the_first_whose_cases_are_fair_and_catch_all(proofs):
    first, second, third, *_ = candidate_seeds(7, 2)
    proofs.unfair, proofs.slipping = {first}, {second}
    assert find_attempt_seed("scoring", 7, 2) == third
    assert proofs.seeds == [first, second, third]


def test_the_recorded_seed_of_an_attempt_is_kept_as_long_as_it_is_good(proofs):
    assert find_attempt_seed("scoring", 7, 2, (40, 41)) == 41
    proofs.slipping = {41}
    assert find_attempt_seed("scoring", 7, 2, (40, 41)) == next(candidate_seeds(7, 2))


def test_if_no_draw_suits_an_attempt_the_error_says_which_and_why(proofs):
    proofs.slipping = set(candidate_seeds(7, 2))
    with pytest.raises(
        CourseError, match=r"(?s)none of the draws tried \(5\) suits attempt 3: no draw catches a slip.*declare"
    ):
        find_attempt_seed("scoring", 7, 2)
    assert len(proofs.seeds) == DRAWS


def test_what_is_said_has_a_summary_and_with_verbose_each_case():
    caught = CaughtMistakes("toy", 3, 3, (), {"a": ("x", "y"), "b": ("y", "z"), "c": ("y",)})
    (summary,) = SeedSearch(7, 2, (caught,)).lines()
    assert summary == "Hidden cases: draw 2, of 3 cases, catches all 3 wrong answers that were tried."
    text = "\n".join(SeedSearch(7, 1, (caught,)).lines(verbose=True))
    assert re.search(r"a: catches 2, alone: x\n", text)
    assert re.search(r"c: catches 1\n", text)
