"""The recorded interventions are those of today's program, and they do what their names say."""

import json

import numpy as np
import pytest
import torch

from benchmarks import interventions
from benchmarks.interventions import (
    EXCHANGED,
    FORBIDDEN,
    MOVED,
    RECORD,
    describe_moves,
    describe_steps,
    describe_word,
    exchange_letters,
    forbid_letters,
    move_contexts,
    read_directions,
)
from solutions.in_numpy.spelling import START, pronunciations, words_of
from solutions.in_torch.spelling import pronounce, write_changed

pytestmark = [pytest.mark.suite("solutions"), pytest.mark.slow]

RECORDED = json.loads(RECORD.read_text(encoding="utf-8"))
REMEDY = "the record is not that of this program. Remedy: python -m benchmarks.interventions"
WORDS = ("archivists", "bo", "knights")


@pytest.fixture(scope="module")
def model():
    return interventions.load_model()


def test_what_was_recorded_of_every_75th_word_comes_out_again(model):
    recorded, between = RECORDED["some_words"], read_directions(model, words_of("test"))
    assert [*recorded] == words_of("test")[::75]
    assert len(recorded) == 40
    for word, rows in recorded.items():
        now = describe_word(*forbid_letters(model, word)[1:], move_contexts(model, word, between))
        np.testing.assert_allclose(now, rows, atol=2e-6, err_msg=f"{word}: {REMEDY}")


def test_what_was_recorded_of_some_pairs_comes_out_again(model):
    recorded = RECORDED["some_pairs"]
    assert len(recorded) == -(-RECORDED["exchanged"][0]["count"] // 140)
    words = sorted({word for word, *_ in recorded})
    pairs = interventions.find_pairs(words, lambda spoken: interventions.pronounce_in_batches(model, spoken))
    for *pair, exchange in recorded:
        assert tuple(pair) in pairs, REMEDY
        assert exchange_letters(model, *pair) == exchange, (pair, REMEDY)


def test_the_pairs_are_all_that_the_rule_names_and_no_others():
    spoken = {"cat": "K AE T", "cut": "K AH T", "bat": "B AE T", "hat": "HH AE T", "ca": "K AA", "chat": "CH AE T"}
    spoken |= {"cast": "K AE S T", "dat": "K AE T", "sat": "AE T"}

    def pronounced(words):
        return [tuple(spoken.get(word, "Z Z Z").split()) for word in words]

    pairs = interventions.find_pairs(["cat", "ca", "chat"], pronounced)
    assert {pair for pair in pairs if pair[1] in spoken} == {
        ("cat", "bat", 0, 0, "B"),
        ("cat", "hat", 0, 0, "HH"),
        ("cat", "cut", 1, 1, "AH"),
    }
    assert all(sum(a != b for a, b in zip(*pair[:2], strict=True)) == 1 for pair in pairs)
    assert {pair[1] for pair in pairs} <= {*pronunciations()}


@pytest.mark.parametrize("word", WORDS)
def test_forbidding_changes_what_the_model_writes_without_that_letter(model, word):
    phonemes, weights, once, until = forbid_letters(model, word)
    assert (phonemes,) == tuple(pronounce(model, [word]))
    np.testing.assert_array_equal(until[0], once[0])  # at the first step there was none before
    for step, phoneme in enumerate(phonemes):
        written, own = write_changed(model, word, step)
        assert written == phoneme
        np.testing.assert_allclose(own, weights[step], atol=1e-12)
        for letter in range(len(word)):
            written, others = write_changed(model, word, step, forbidden=[letter])
            assert (written != phoneme) == once[step, letter]
            assert others[letter] == 0


@pytest.mark.parametrize("word", WORDS)
def test_forbidden_at_all_steps_a_letter_is_as_good_as_absent_from_the_annotations(model, word):
    """The phonemes before a step are those that the model writes for the whole word."""
    phonemes, _, _, until = forbid_letters(model, word)
    numbers = [interventions.PHONEMES.index(phoneme) for phoneme in phonemes]
    state, keys, _ = model.read(*map(torch.from_numpy, interventions.encode_letters([word])))
    for letter in range(len(word)):
        kept = keys[:, [j for j in range(len(word)) if j != letter]]
        given = torch.tensor([[START, *numbers[:-1]]])
        logits, _ = model.decoder(given, state, kept)
        assert (logits[0].argmax(dim=-1).numpy() != numbers).tolist() == until[:, letter].tolist()


@pytest.mark.parametrize("word", WORDS)
def test_a_context_moved_as_without_a_letter_writes_what_the_model_writes_without_it(model, word, monkeypatch):
    """All directions are replaced by the one in which the context moves without the first letter."""
    _, weights, once, _ = forbid_letters(model, word)
    state, keys, mask = model.read(*map(torch.from_numpy, interventions.encode_letters([word])))
    context, own = model.decoder.attention(state, keys, mask)
    without = mask.clone()
    without[0, 0] = False
    other, _ = model.decoder.attention(state, keys, without)
    torch.testing.assert_close(other - context, own[0, 0] / (1 - own[0, 0]) * (context - keys[0, :1]))
    direction = torch.nn.functional.normalize(other - context, dim=-1)
    moved = move_contexts(model, word, direction)
    assert moved.shape == (*weights.shape, 2)
    assert moved[0, 0, 1] == once[0, 0]  # of the first step and letter, the direction drawn is that of forbidding
    monkeypatch.setattr(interventions.nn.functional, "normalize", lambda vectors, dim: 0 * vectors)
    assert not move_contexts(model, word, 0 * direction).any()  # what does not move changes nothing


def test_the_directions_between_annotations_are_of_length_1_and_one_for_each_word(model):
    directions = read_directions(model, WORDS)
    assert directions.shape == (3, 256)
    torch.testing.assert_close(directions.norm(dim=-1), torch.ones(3, dtype=torch.float64))


def test_a_row_of_moves_says_what_the_largest_and_the_mean_of_the_others_do():
    assert MOVED == ("largest_uniform", "other_uniform", "largest_between", "other_between")
    moved = np.array([[[0.0, 0.5], [0.25, 1.0], [0.5, 0.0]]])
    assert describe_moves(np.array([[0.1, 0.6, 0.3]]), moved) == [[0.25, 0.25, 1.0, 0.25]]
    once = np.array([[False, True, False]])
    row = describe_word(np.array([[0.1, 0.6, 0.3]]), once, once, moved)
    assert row == [[0.6, 1, 1, 0, 0, 0, 0.25, 0.25, 1.0, 0.25]]


def test_a_row_says_what_the_largest_the_second_and_the_other_letters_do():
    weights = np.array([[0.1, 0.6, 0.3], [0.25, 0.25, 0.5]])
    once = np.array([[True, False, True], [False, False, True]])
    until = np.array([[False, True, False], [False, True, False]])
    assert FORBIDDEN == ("largest", "largest_until", "second", "other", "none")
    assert describe_steps(weights, once, until) == [[0.6, 0, 1, 1, 1, 0], [0.5, 1, 0, 0, 0, 0]]
    assert describe_steps(weights[:1], ~once[:1] & False, until[:1]) == [[0.6, 0, 1, 0, 0, 1]]


def test_an_exchange_is_of_the_letter_that_differs_of_that_with_the_largest_weight_and_of_all(model):
    assert EXCHANGED == ("differing", "largest", "all")
    phonemes, _ = pronounce(model, ["archivists", "archivistd"])
    assert phonemes[-1] == "S"
    _, weights = write_changed(model, "archivists", 8)
    assert weights.argmax() == 8  # the t
    for wanted in ("S", "T", "</s>"):
        row = exchange_letters(model, "archivists", "archivistd", 9, 8, wanted)
        exchanges = ([9], [8], range(10))
        written = [write_changed(model, "archivists", 8, exchanged=each, other="archivistd")[0] for each in exchanges]
        assert row == [0, *(int(each == wanted) for each in written)]
    assert exchange_letters(model, "archivists", "archivistd", 8, 8, "T")[0] == 1


def test_a_share_is_that_of_all_phonemes_and_its_interval_that_of_words():
    rows = {"a": [[0.5, 1], [0.9, 0]], "b": [[0.49, 1]], "c": [[0.95, 1]] * 5}
    words = ["a", "b", "c"]
    share, low, high = interventions.share(rows, words, 1)
    assert share == 87.5
    assert (low, high) == (50, 100)  # one draw in 27 has only the word a, and eight have none
    share, low, high = interventions.share({"a": [[0, 0]], "b": [[0, 0]]}, ["a", "b"], 1)
    assert (share, low) == (0, 0)
    assert high == pytest.approx(100 * (1 - 0.025**0.5), abs=0.006)
    lines = interventions.tabulate(rows, words, ("second",), {"low": lambda row: row[0] < 0.5, "all": lambda row: True})
    assert [(line["group"], line["count"], line["words"], line["second"][0]) for line in lines] == [
        ("low", 1, 1, 100),
        ("all", 8, 3, 87.5),
    ]


def test_the_parts_of_the_record_make_up_the_whole():
    everything, *bins = RECORDED["forbidden"]
    assert [line["group"] for line in bins] == [*interventions.BINS][1:]
    assert sum(line["count"] for line in bins) == everything["count"]
    for name in FORBIDDEN + MOVED:
        whole = sum(line["count"] * line[name][0] for line in bins) / everything["count"]
        assert whole == pytest.approx(everything[name][0], abs=0.02)
    pairs, *places = RECORDED["exchanged"]
    assert sum(line["count"] for line in places) == pairs["count"]
    assert RECORDED["words"] == everything["words"] == RECORDED["forbidden_at_the_last"][0]["count"]
    for lines in RECORDED.values():
        for line in lines if isinstance(lines, list) and isinstance(lines[0], dict) else []:
            for name in {*FORBIDDEN, *MOVED, *EXCHANGED} & {*line}:
                share, low, high = line[name]
                assert low <= share <= high
