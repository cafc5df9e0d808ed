"""Answers written without sight of the key get the right verdicts, apart from exceptions on record."""

import tomllib

import pytest

from autograder.audit.held_out import UNHURRIED_SECONDS, held_out_answers, read_answers
from autograder.audit.outcomes import Outcomes, Version
from autograder.paths import ROOT
from tests.autograder.samples import NAMES, topic_exercises

pytestmark = [pytest.mark.suite("audit"), pytest.mark.filterwarnings("ignore")]
BLIND = ROOT / "tests" / "submissions" / "blind"
RATES = tomllib.loads((BLIND / "rates.toml").read_text(encoding="utf-8"))
FUNCTIONS = {name.partition("-")[2] for name in NAMES}  # the others were withdrawn, and their answers with them
ROUNDS = {name: sorted(topic for topic in RATES[name] if topic != "accepted") for name in RATES}


def names_of(name, topic):
    """Return the names of all answers in the file."""
    return list(read_answers(topic, BLIND / name))


@pytest.mark.parametrize(("name", "topic"), [(name, topic) for name, topics in ROUNDS.items() for topic in topics])
def test_answers_written_without_sight_of_the_key_are_judged_as_they_deserve(name, topic):
    accepted = RATES[name]["accepted"]
    outcomes = {exercise.name: Outcomes(exercise, seconds=UNHURRIED_SECONDS) for exercise in topic_exercises(topic)}
    for exercise, answer, function in held_out_answers(topic, seed=1, folder=BLIND / name):
        right = answer.partition("__")[2].startswith("right")
        version = Version(answer, function)
        assert outcomes[exercise.name].passes(version) == (right or answer in accepted), answer


@pytest.mark.parametrize("name", ROUNDS)
def test_what_the_record_names_as_accepted_is_still_there(name):
    answers = {answer for topic in ROUNDS[name] for answer in names_of(name, topic)}
    assert set(RATES[name]["accepted"]) <= answers


@pytest.mark.parametrize("name", ROUNDS)
def test_the_record_counts_no_fewer_answers_than_there_are(name):
    for topic in ROUNDS[name]:
        names = [answer.partition("__")[2] for answer in names_of(name, topic)]
        first = RATES[name][topic]
        assert 0 < sum(n.startswith("wrong") for n in names) <= first["wrong"]
        assert 0 < sum(n.startswith("right") for n in names) <= first["right"]
        assert first["false_accepts"] <= first["wrong"]


@pytest.mark.parametrize(
    ("file", "name", "of_each"),
    [
        ("hints.toml", "third", 30),
        ("hints_again.toml", "third", 15),
        ("hints_fourth.toml", "fourth", 20),
        ("hints_fifth.toml", "fifth", 20),
        ("hints_seventh.toml", "seventh", 20),
    ],
)
def test_the_hints_were_judged_for_as_many_answers_of_each_topic_and_those_that_mislead_are_named(file, name, of_each):
    judged = tomllib.loads((BLIND / file).read_text(encoding="utf-8"))
    misled = judged.pop("misled")
    assert set(judged) == set(ROUNDS[name])
    assert {sum(words.values()) for words in judged.values()} == {of_each}
    assert len(misled) == sum(words["misled"] for words in judged.values())
    still_asked = {answer for answer in misled if answer.partition("__")[0] in FUNCTIONS}
    assert still_asked <= {answer for topic in ROUNDS[name] for answer in names_of(name, topic)}
