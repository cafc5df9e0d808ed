"""Answers written without sight of the key get the right verdicts, apart from exceptions on record."""

import hashlib
import re
import tomllib

import pytest

from autograder.audit.held_out import UNHURRIED_SECONDS, held_out_answers, read_answers
from autograder.audit.outcomes import Outcomes, Version
from autograder.paths import ROOT
from tests.autograder.samples import NAMES, topic_exercises

pytestmark = [pytest.mark.suite("audit"), pytest.mark.filterwarnings("ignore")]
SUBMISSIONS = ROOT / "tests" / "submissions"
BLIND = SUBMISSIONS / "blind"
RATES = tomllib.loads((BLIND / "rates.toml").read_text(encoding="utf-8"))
FUNCTIONS = {name.partition("-")[2] for name in NAMES}  # the others were withdrawn, and their answers with them
ROUNDS = {name: sorted(topic for topic in RATES[name] if topic != "accepted") for name in RATES}


def names_of(name, topic):
    """Return the names of the answers of a round to ``topic``."""
    return [answer.name for answer in read_answers(BLIND / f"{name}.jsonl") if answer.topic == topic]


EARLIER = pytest.mark.full("a later round has as many answers to every exercise that these are about")
NEWEST = ("fourteenth", [*ROUNDS][-1])  # the fourteenth is about an exercise that the last does not ask


@pytest.mark.parametrize(
    ("name", "topic"),
    [
        pytest.param(name, topic, marks=() if name in NEWEST else EARLIER)
        for name, topics in ROUNDS.items()
        for topic in topics
    ],
)
def test_answers_written_without_sight_of_the_key_are_judged_as_they_deserve(name, topic):
    accepted = RATES[name]["accepted"]
    outcomes = {exercise.name: Outcomes(exercise, seconds=UNHURRIED_SECONDS) for exercise in topic_exercises(topic)}
    for exercise, answer in held_out_answers(topic, seed=1, path=BLIND / f"{name}.jsonl"):
        version = Version(answer.name, answer.function(), answer.code)
        assert outcomes[exercise.name].passes(version) == (answer.right or answer.name in accepted), answer.name


def test_no_frozen_answer_has_been_edited():
    lines = (SUBMISSIONS / "SHA256SUMS").read_text(encoding="utf-8").splitlines()
    recorded = {path: frozen for frozen, path in map(str.split, lines)}
    files = [SUBMISSIONS / "heldout.jsonl", *BLIND.glob("*.jsonl")]
    assert recorded == {
        path.relative_to(SUBMISSIONS).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files
    }


def test_the_guide_counts_what_the_rounds_have():
    """From the fifth round on, only answers that were meant to be hard were accepted; the record does not count these apart."""
    guide = (ROOT / "book" / "for_instructors.md").read_text(encoding="utf-8")
    total, accepted, ordinary, right = re.search(
        r"Of these ([\d,]+) hard answers, (\d+) were accepted; of the ([\d,]+) ordinary wrong ones, none was. None of the "
        r"([\d,]+) right answers was rejected",
        guide,
    ).groups()
    later = [RATES[name][topic] for name in [*ROUNDS][4:] for topic in ROUNDS[name]]
    counts = {key: sum(row[key] for row in later) for key in later[0]}
    hard, ordinary, right = (int(number.replace(",", "")) for number in (total, ordinary, right))
    assert (hard + ordinary, int(accepted)) == (counts["wrong"], counts["false_accepts"])
    assert (right, counts["false_rejects"]) == (counts["right"], 0)
    assert f"{len(ROUNDS) - 1} further rounds".replace("22", "Twenty-two") in guide


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
        ("hints_tenth.toml", "tenth", None),  # drawn from all topics together, as the next
        ("hints_eleventh.toml", "eleventh", None),
        ("hints_twelfth.toml", "twelfth", None),
        ("hints_fifteenth.toml", "fifteenth", None),
        ("hints_sixteenth.toml", "sixteenth", None),
        ("hints_eighteenth.toml", "eighteenth", None),
        ("hints_twentieth.toml", "twentieth", None),
        ("hints_twenty_first.toml", "twenty_first", None),
        ("hints_twenty_second.toml", "twenty_second", 25),
        ("hints_twenty_third.toml", "twenty_third", 26),
    ],
)
def test_the_hints_were_judged_for_as_many_answers_of_each_topic_and_those_that_mislead_are_named(file, name, of_each):
    judged = tomllib.loads((BLIND / file).read_text(encoding="utf-8"))
    misled = judged.pop("misled")
    assert set(judged) == set(ROUNDS[name])
    assert of_each is None or {sum(words.values()) for words in judged.values()} == {of_each}
    assert len(misled) == sum(words["misled"] for words in judged.values())
    still_asked = {answer for answer in misled if answer.partition("__")[0] in FUNCTIONS}
    assert still_asked <= {answer for topic in ROUNDS[name] for answer in names_of(name, topic)}
