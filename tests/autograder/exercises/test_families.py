"""Each family draws what its words say, whatever the seed: a family that did not would comfort the wrong answer."""

import numpy as np
import pytest

from autograder.exercises import families
from autograder.exercises.families import Space

LARGE = 700  # of this, exp is more than double precision holds
SHAPES = [(2, 3), (5, 4), (3, 7)]


def space(shape, mask=None):
    return Space(shape, mask=mask, below=7)


def pads():
    return np.array([[True, False, True, False], [False, True, True, True], [True, True, True, True]])


def is_mask(mask, rows=all):
    return mask.dtype == bool and rows(mask.any(axis=1))


def starts(mask):
    return mask.argmax(axis=1)


MASKS = {
    "full": lambda mask: mask.all(),
    "end": lambda mask: is_mask(mask) and not mask.all(axis=1).any() and not (np.diff(mask.astype(int)) > 0).any(),
    "lengths": lambda mask: (
        is_mask(mask) and len(set(mask.sum(axis=1))) > 1 and not (np.diff(mask.astype(int)) > 0).any()
    ),
    "before": lambda mask: is_mask(mask) and (starts(mask) > 0).all() and mask[:, -1].all(),
    "between": lambda mask: mask[:, 0].all() and mask[:, -1].all() and not mask.all(axis=1).any(),
    "one_word": lambda mask: (mask.sum(axis=1) == 1).all(),
    "empty_row": lambda mask: (mask.sum(axis=1) == 0).sum() == 1,
    "empty": lambda mask: not mask.any(),
}
SCORES = {
    "ordinary": lambda scores: np.abs(scores).max() < 10,
    "alike": lambda scores: np.ptp(scores, axis=-1).max() == 0,
    "zeros": lambda scores: (scores[:, 0] == 0).all() and (scores != 0).any(),
    "thousands": lambda scores: scores.max() > LARGE and scores.min() < -LARGE,
    "apart": lambda scores: np.ptp(scores.mean(axis=1)) > LARGE > np.ptp(scores, axis=1).max(),
    "tie": lambda scores: (
        (scores[:, 0] == scores[:, -1]).all() and (scores[:, 0] - LARGE > scores[:, 1:-1].max(axis=1)).all()
    ),
    "far_below": lambda scores: scores.max() < -LARGE,
}
WEIGHTS = {
    "ordinary": lambda weights: weights.min() > 0,
    "one_is_all": lambda weights: (weights.max(axis=1) == 1).all(),
    "zero": lambda weights: (weights[0] == 0).sum() == 1 and (weights[1:] > 0).all(),
    "small": lambda weights: 0 < weights.min() < 1e-3,
    "empty_row": lambda weights: (weights.sum(axis=1) == 0).sum() == 1,
}
ANNOTATIONS = {
    "ordinary": lambda keys: (keys != 0).any(axis=-1).all(),
    "zero": lambda keys: ((keys == 0).all(axis=-1).sum(axis=1) == 1).all(),
    "equal": lambda keys: (keys[:, 0] == keys[:, -1]).all(),
    "uneven": lambda keys: np.abs(keys).max() > 100 and np.abs(keys[:, 1]).max() < 0.1,
    "large": lambda keys: np.abs(keys).max() > 50,
}


def drawn(kind, name, shape, seed, mask=None):
    family = next(family for family in families.KINDS[kind] if family.name == name)
    return family.draw(np.random.default_rng(seed), space(shape, mask))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    ("kind", "name", "holds"),
    [
        (kind, *item)
        for kind, known in (("mask", MASKS), ("scores", SCORES), ("weights", WEIGHTS))
        for item in known.items()
    ],
)
def test_a_family_of_masks_scores_or_weights_is_what_its_words_say(kind, name, holds, seed):
    for shape in SHAPES:
        assert holds(drawn(kind, name, shape, seed)), (kind, name, shape)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("name", "holds"), ANNOTATIONS.items())
def test_a_family_of_annotations_is_what_its_words_say(name, holds, seed):
    for shape in SHAPES:
        assert holds(drawn("annotations", name, (*shape, 6), seed)), (name, shape)


@pytest.mark.parametrize("seed", range(5))
def test_where_pads_are_in_question_the_numbers_there_are_the_ones_that_tempt(seed):
    mask = pads()
    above, low = (drawn("scores", name, mask.shape, seed, mask) for name in ("pad_above", "pad_low"))
    assert above[~mask].min() - LARGE > above[mask].max()
    assert low[~mask].min() - LARGE > low[mask].max()
    assert low[mask].max() < -LARGE
    keys = drawn("annotations", "pads_huge", (*mask.shape, 5), seed, mask)
    assert np.abs(keys[~mask]).max() > 1000 * np.abs(keys[mask]).max()
    logits = drawn("logits", "pad_above", (*mask.shape, 5), seed, mask)
    assert logits[~mask].min() - LARGE > logits[mask].max()


@pytest.mark.parametrize("name", ["ordinary", "one_is_all", "zero", "small"])
def test_weights_add_to_one(name):
    np.testing.assert_allclose(drawn("weights", name, (4, 5), 0).sum(axis=1), 1, atol=5e-6)


def test_pads_at_the_end_leave_one_word_at_the_beginning_where_no_other_place_is_allowed():
    family = next(family for family in families.MASK if family.name == "one_word")
    mask = family.draw(np.random.default_rng(0), Space((4, 5), at_end=True))
    assert mask[:, 0].all()
    assert mask.sum() == 4


@pytest.mark.parametrize("seed", range(20))
def test_targets_hold_a_real_word_at_least(seed):
    for family in families.TARGETS:
        targets = family.draw(np.random.default_rng(seed), Space((3, 4), below=2))
        assert targets.any()
        assert set(np.unique(targets)) <= {0, 1}
        assert family.pads or not (targets == 0).any()


@pytest.mark.parametrize("seed", range(20))
def test_a_target_sentence_ends_in_the_stop_word_and_what_was_written_begins_as_its_family_says(seed):
    rng = np.random.default_rng(seed)
    for family in families.TARGET_WORDS:
        target = family.draw(rng, Space((6, 5)))
        ends = (target == families.STOPS).argmax(axis=1)
        assert ((target == families.STOPS).sum(axis=1) == 1).all()
        assert all(
            (row[:end] > families.STOPS).all() and not row[end + 1 :].any()
            for row, end in zip(target, ends, strict=True)
        )
        for way in families.WRITTEN:
            words = way.draw(rng, Space((6, 9), {"target": target}))
            same = [
                (row[: end + 1] == right[: end + 1]).all() for row, right, end in zip(words, target, ends, strict=True)
            ]
            assert all(same) or way.name not in ("right",)
            assert not any(same) or way.name != "wrong"


def test_one_weight_is_larger_than_all_others_in_each_step_that_was_taken():
    for family in families.PEAKS:
        weights = family.draw(np.random.default_rng(1), Space((4, 5, 6)))
        taken = weights.any(axis=-1)
        first, second = np.sort(weights[taken], axis=-1)[:, [-1, -2]].T
        assert (first > second + 1e-3).all()
        for nouns in families.POSITIONS:
            positions = nouns.draw(np.random.default_rng(1), Space((4, 7), {"weights": weights}))
            assert (positions >= 0).any()
            assert set(np.unique(positions)) <= set(range(-1, 6))


@pytest.mark.parametrize("kind", families.KINDS)
def test_the_first_family_of_a_kind_is_the_ordinary_one_and_all_others_have_words_of_their_own(kind):
    first, *others = families.KINDS[kind]
    assert not first.words
    assert not first.parts
    assert (
        len({family.words for family in others}) == len({family.name for family in (first, *others)}) - 1 == len(others)
    )
    assert all(family.words for family in others)
