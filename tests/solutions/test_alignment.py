"""Alignments: those made by hand are complete, EM never lowers the likelihood, and the error rate is Och and Ney's."""

import numpy as np
import pytest

from solutions.in_numpy.alignment import (
    hand_aligned,
    link_diagonal,
    link_largest,
    link_likeliest,
    train_alignment_model,
)
from solutions.in_numpy.spelling import (
    LETTERS,
    PHONEMES,
    STOP,
    alignment_error_rate,
    as_arrays,
    em_by_hand,
    pronunciations,
    words_of,
)

pytestmark = [pytest.mark.suite("solutions"), pytest.mark.slow]


def test_a_hundred_words_of_the_test_part_are_aligned_and_every_phoneme_has_a_letter():
    words, hand = hand_aligned()
    assert len({*words}) == 100
    assert {*words} <= {*words_of("test")}
    for word, links in zip(words, hand > 0, strict=True):
        phonemes = len(pronunciations()[word][0])
        assert links[:phonemes, : len(word)].any(axis=1).all()
        assert not links[phonemes:].any()
        assert not links[:, len(word) :].any()


def test_the_hand_alignment_of_knoop_has_a_silent_letter_and_a_digraph():
    words, hand = hand_aligned()
    assert hand[words.index("knoop"), :4, :5].tolist() == [[0, 2, 0, 0, 0], [0, 0, 1, 1, 0], [0, 0, 0, 0, 2], [0] * 5]


def test_the_error_rate_is_0_for_sure_links_and_counts_a_link_that_is_only_possible_as_right():
    hand = np.array([[2, 0, 0], [0, 1, 1]])
    rates = {(0, -1): 0, (0, 1): 0, (1, 0): 1, (1, 1): 1 - (0 + 1) / (2 + 1), (-1, 2): 1 - (0 + 1) / (1 + 1)}
    for links, rate in rates.items():
        assert alignment_error_rate(np.array(links), hand) == pytest.approx(rate)
        assert alignment_error_rate(np.array([links] * 2), np.array([hand] * 2)) == pytest.approx(rate)


def test_each_round_of_em_makes_the_data_likelier():
    arrays = as_arrays(words_of("validation"))
    source, target = arrays["source"], arrays["target"]

    def log_likelihood(table):
        mean = (table[source[:, None, :], target[:, :, None]] * (source > 0)[:, None, :]).sum(-1)
        return np.log((mean / (source > 0).sum(axis=1, keepdims=True))[target > STOP]).sum()

    values = [log_likelihood(train_alignment_model(source, target, iterations=rounds)) for rounds in (1, 2, 4, 8)]
    assert values == sorted(values)


def test_model_1_learns_letters_and_only_a_preference_for_the_diagonal_tells_equal_letters_apart():
    arrays = as_arrays(words_of("validation"))
    plain, diagonal = (train_alignment_model(arrays["source"], arrays["target"], tension) for tension in (0.0, 4.0))
    np.testing.assert_allclose(plain[1:].sum(axis=1), 1.0)
    for letter, phoneme in (("m", "M"), ("v", "V"), ("k", "K"), ("f", "F")):
        assert PHONEMES[plain[LETTERS.index(letter)].argmax()] == phoneme
    mama = as_arrays(["mama"])
    first, last = ([0, 2], [0, 2])
    assert link_likeliest(plain, mama["source"], mama["target"])[0, first].tolist() == [0, 0]
    assert link_likeliest(diagonal, mama["source"], mama["target"], 4.0)[0, last].tolist() == [0, 2]
    words, hand = hand_aligned()
    arrays = as_arrays(words)
    rates = [
        alignment_error_rate(link_likeliest(table, arrays["source"], arrays["target"], tension), hand)
        for table, tension in ((plain, 0.0), (diagonal, 4.0))
    ]
    assert rates[1] < 0.05 < 0.15 < rates[0]


def test_links_are_made_for_phonemes_only_and_never_to_a_pad():
    arrays = as_arrays(["at", "knight"])
    links = link_diagonal(arrays["source"], arrays["target"])
    assert links[0].tolist() == [0, 1, -1, -1]
    assert links[1].tolist()[3:] == [-1]
    assert np.diff(links[1][:3]).min() > 0
    weights = np.full((*links.shape, 6), 0.1)
    weights[:, :, 1] = 0.5
    assert link_largest(weights, arrays["target"]).tolist() == [[1, 1, -1, -1], [1, 1, 1, -1]]


def test_the_iterations_worked_by_hand_are_those_of_the_code():
    letters, phonemes = (LETTERS.index("n"), LETTERS.index("o")), [PHONEMES.index(name) for name in ("N", "OW", "AA")]
    source = np.array([[letters[0], letters[1]], [letters[1], letters[0]], [letters[1], 0]])
    target = np.array([[phonemes[0], phonemes[1]], [phonemes[2], phonemes[0]], [phonemes[1], 0]])
    once, twice = (train_alignment_model(source, target, iterations=rounds) for rounds in (1, 2))
    wanted = em_by_hand()
    for letter, name in zip(letters, "no", strict=True):
        np.testing.assert_allclose(once[letter, phonemes], wanted[name], atol=1e-4)
    np.testing.assert_allclose(
        [twice[letters[0], phonemes[0]], twice[letters[1], phonemes[1]]], wanted["again"], atol=1e-4
    )
    n, o = once[letters[0]], once[letters[1]]
    shares = [(each[phonemes[k]] / (n + o)[phonemes[k]]) for each, k in ((n, 0), (o, 1), (o, 2), (n, 0))]
    np.testing.assert_allclose(shares, wanted["shares"], atol=1e-4)
