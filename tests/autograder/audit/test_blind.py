"""Answers that were written without sight of the key are judged as they deserve, but for those that the record names."""

import random
import tomllib
from functools import cache

import pytest

from autograder.audit.calls import accepts, verdict_on
from autograder.audit.held_out import UNHURRIED, held_out_answers
from autograder.paths import ROOT

pytestmark = pytest.mark.suite("audit")
BLIND = ROOT / "tests" / "submissions" / "blind"
RATES = tomllib.loads((BLIND / "rates.toml").read_text(encoding="utf-8"))
ROUNDS = {name: sorted(topic for topic in RATES[name] if topic != "accepted") for name in RATES}
SAMPLE = 12  # answers of a topic and round


@cache
def answers(name, topic):
    return tuple(held_out_answers(topic, seed=3, folder=BLIND / name))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "topic"), [(name, topic) for name, topics in ROUNDS.items() for topic in topics])
def test_answers_written_without_sight_of_the_key_are_judged_as_they_deserve(name, topic, request):
    found, accepted = answers(name, topic), RATES[name]["accepted"]
    if not request.config.getoption("--full"):
        found = random.Random(f"{name}, {topic}").sample(found, SAMPLE)
    for exercise, function_name, function in found:
        right = function_name.partition("__")[2].startswith("right")
        judged = accepts(exercise, verdict_on(function, exercise, UNHURRIED))
        assert judged == (right or function_name in accepted), function_name


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ROUNDS)
def test_what_the_record_names_as_accepted_still_is(name):
    found = {n: (e, f) for topic in ROUNDS[name] for e, n, f in answers(name, topic)}
    assert set(RATES[name]["accepted"]) <= set(found)
    for function_name in RATES[name]["accepted"]:
        exercise, function = found[function_name]
        assert accepts(exercise, verdict_on(function, exercise, UNHURRIED)), function_name


@pytest.mark.parametrize("name", ROUNDS)
def test_the_record_counts_no_fewer_answers_than_there_are(name):
    for topic in ROUNDS[name]:
        names = [n.partition("__")[2] for _, n, _ in answers(name, topic)]
        first = RATES[name][topic]
        assert 0 < sum(n.startswith("wrong") for n in names) <= first["wrong"]
        assert 0 < sum(n.startswith("right") for n in names) <= first["right"]
        assert first["false_accepts"] <= first["wrong"]


@pytest.mark.parametrize(
    ("file", "name", "of_each"),
    [("hints.toml", "third", 30), ("hints_again.toml", "third", 15), ("hints_fourth.toml", "fourth", 20)],
)
def test_the_hints_were_judged_for_as_many_answers_of_each_topic_and_those_that_mislead_are_named(file, name, of_each):
    judged = tomllib.loads((BLIND / file).read_text(encoding="utf-8"))
    misled = judged.pop("misled")
    assert set(judged) == set(ROUNDS[name])
    assert {sum(words.values()) for words in judged.values()} == {of_each}
    assert len(misled) == sum(words["misled"] for words in judged.values())
    assert set(misled) <= {n for topic in ROUNDS[name] for _, n, _ in answers(name, topic)}
