"""Alignments of letters and phonemes: the hand-made ones are whole, EM never loses likelihood, the error rate is Och and Ney's."""

import numpy as np
import pytest

from solutions.in_numpy.alignment import (
    alignment_error_rate,
    hand_aligned,
    link_diagonal,
    link_largest,
    link_likeliest,
    train_alignment_model,
)
from solutions.in_numpy.spelling import LETTERS, PHONEMES, STOP, as_arrays, pronunciations, words_of

pytestmark = pytest.mark.suite("solutions")


def test_a_hundred_words_of_the_test_part_are_aligned_and_every_phoneme_has_a_letter():
    words, sure, possible = hand_aligned()
    assert len({*words}) == 100
    assert {*words} <= {*words_of("test")}
    assert (sure <= possible).all()
    for word, links in zip(words, possible, strict=True):
        phonemes = len(pronunciations()[word][0])
        assert links[:phonemes, : len(word)].any(axis=1).all()
        assert not links[phonemes:].any()
        assert not links[:, len(word) :].any()


def test_the_hand_alignment_of_knoop_has_a_silent_letter_and_a_digraph():
    words, sure, possible = hand_aligned()
    row = words.index("knoop")
    assert np.argwhere(sure[row]).tolist() == [[0, 1], [2, 4]]
    assert np.argwhere(possible[row]).tolist() == [[0, 1], [1, 2], [1, 3], [2, 4]]


def test_the_error_rate_is_0_for_sure_links_and_counts_a_link_that_is_only_possible_as_right():
    sure = np.array([[True, False, False], [False, False, False]])
    possible = np.array([[True, False, False], [False, True, True]])
    assert alignment_error_rate(sure, sure, possible) == 0
    assert alignment_error_rate(sure | np.array([[False] * 3, [False, True, False]]), sure, possible) == 0
    assert alignment_error_rate(~possible, sure, possible) == 1
    links = np.array([[False, True, False], [False, True, False]])
    assert alignment_error_rate(links, sure, possible) == pytest.approx(1 - (0 + 1) / (2 + 1))


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
    one = as_arrays(["mama"])
    first, last = ([0, 2], [0, 2])
    assert link_likeliest(plain, one["source"], one["target"])[0].argmax(axis=1)[first].tolist() == [0, 0]
    assert link_likeliest(diagonal, one["source"], one["target"], 4.0)[0].argmax(axis=1)[last].tolist() == [0, 2]
    words, sure, possible = hand_aligned()
    hand = as_arrays(words)
    rates = [
        alignment_error_rate(link_likeliest(table, hand["source"], hand["target"], tension), sure, possible)
        for table, tension in ((plain, 0.0), (diagonal, 4.0))
    ]
    assert rates[1] < 0.05 < 0.15 < rates[0]


def test_links_are_made_for_phonemes_only_and_never_to_a_pad():
    arrays = as_arrays(["at", "knight"])
    links = link_diagonal(arrays["source"], arrays["target"])
    assert links.sum(axis=(1, 2)).tolist() == [2, 3]
    assert np.argwhere(links[0]).tolist() == [[0, 0], [1, 1]]
    assert np.diff(links[1][:3].argmax(axis=1)).min() > 0
    weights = np.full(links.shape, 0.1)
    weights[:, :, 1] = 0.5
    assert link_largest(weights, arrays["target"])[..., 1].sum() == 5
