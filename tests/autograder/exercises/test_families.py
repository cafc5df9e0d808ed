"""Each family draws what its words say for every seed; otherwise a wrong answer might pass."""

import contextlib

import numpy as np
import pytest

from autograder.exercises import families
from autograder.exercises.families import DrawContext
from solutions.answer_key.domains import AT_PADDING, LIMITS, SMALLEST_WEIGHT

LARGE = 700  # in double precision, exp overflows from about 710
WIDE = (-10_000, 10_000)  # limits of scores where their size is the point
SHAPES = [(2, 3), (5, 4), (3, 7)]


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
    "same": lambda scores: np.ptp(scores) == 0,
    "power_ends": lambda scores: (
        (np.exp(scores[0]) < np.inf).all()
        and np.log(3) + scores[0].min() > np.log(np.finfo(float).max)  # the sum of three is not finite
        and (np.exp(scores[1]) > 0).all()
        and (np.exp(scores[1]) < np.finfo(float).tiny / 1e10).all()  # they have lost most of their digits
        and (np.abs(scores[2:3] - scores[0].max() + 735) < 2).all()  # as those of this row would, beside the first
    ),
    "zeros": lambda scores: (scores[:, 0] == 0).all() and (scores != 0).any(),
    "large": lambda scores: scores.max() > LARGE and scores.min() < -LARGE,
    "apart": lambda scores: np.ptp(scores.mean(axis=1)) > LARGE > np.ptp(scores, axis=1).max(),
    "twice": lambda scores: (
        (np.sort(scores)[:, -1] == np.sort(scores)[:, -2]).all()
        and np.ptp(scores, axis=1).min() > 0
        and scores.max() < 10
    ),
    "tie": lambda scores: (
        (scores[:, 0] == scores[:, -1]).all() and (scores[:, 0] - LARGE > scores[:, 1:-1].max(axis=1)).all()
    ),
    "far_below": lambda scores: scores.max() < -LARGE,
    "one_below": lambda scores: (
        (np.sort(scores)[:, 0] == WIDE[0]).all() and np.sort(scores)[:, 1].min() > -10 and np.abs(scores).min() < LARGE
    ),
}
WEIGHTS = {
    "ordinary": lambda weights: weights.min() > 0,
    "even": lambda weights: np.ptp(weights) == 0,
    "one_is_all": lambda weights: (weights.max(axis=1) == 1).all(),
    "zero": lambda weights: (weights[0] == 0).sum() == 1 and (weights[1:] > 0).all(),
    "zero_ends": lambda weights: (weights == 0).all(axis=0).tolist() == [True, *[False] * (weights.shape[1] - 2), True],
    "small": lambda weights: SMALLEST_WEIGHT < weights.min() < 1.1 * SMALLEST_WEIGHT,
    "empty_row": lambda weights: (weights.sum(axis=1) == 0).sum() == 1,
}
ANNOTATIONS = {
    "ordinary": lambda keys: (keys != 0).any(axis=-1).all(),
    "zero": lambda keys: ((keys == 0).all(axis=-1).sum(axis=1) == 1).all(),
    "zeros_first": lambda keys: (keys[:, :2] == 0).all() and (keys[:, 2:] != 0).any(axis=-1).all(),
    "zero_row": lambda keys: ((keys == 0).all(axis=(-2, -1))).sum() == 1,
    "equal": lambda keys: (keys[:, :2] == keys[:, -1:]).all(),
    "uneven": lambda keys: np.abs(keys).max() > 5 and np.abs(keys[:, 1]).max() < 0.1,
    "large": lambda keys: keys.max() == 10 and keys.min() == -10,
}


KNOWN = {"mask": MASKS, "scores": SCORES, "weights": WEIGHTS, "annotations": ANNOTATIONS}


def family_named(kind, name):
    return next(family for family in families.KINDS[kind] if family.name == name)


def drawn(kind, name, shape, seed=3, **known):
    limits = WIDE if kind in ("scores", "logits") else LIMITS.get(kind, WIDE)
    context = DrawContext(shape, **{"below": 7, "limits": limits, **known})
    return family_named(kind, name).draw(np.random.default_rng(seed), context)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind in KNOWN for name in KNOWN[kind]])
def test_a_family_is_what_its_words_say(kind, name, seed):
    for shape in SHAPES:
        shape = (*shape, 6) if kind == "annotations" else shape
        assert KNOWN[kind][name](drawn(kind, name, shape, seed)), shape


@pytest.mark.parametrize("seed", range(5))
def test_where_pads_are_in_question_the_numbers_there_are_the_ones_that_tempt(seed):
    mask = pads()
    above, low = (drawn("scores", name, mask.shape, seed, mask=mask) for name in ("pad_above", "pad_low"))
    assert above[~mask].min() - LARGE > above[mask].max()
    assert low[~mask].min() - LARGE > low[mask].max()
    assert WIDE[0] <= low[mask].min() <= low[mask].max() < WIDE[0] + 10
    keys = drawn("annotations", "pads_huge", (*mask.shape, 5), seed, mask=mask)
    assert np.abs(keys[~mask]).max() > 1000 * np.abs(keys[mask]).max()
    logits = drawn("logits", "pad_above", (*mask.shape, 5), seed, mask=mask)
    assert logits[~mask].min() - LARGE > logits[mask].max()


@pytest.mark.parametrize("name", ["ordinary", "one_is_all", "zero", "small"])
def test_weights_add_to_one(name):
    np.testing.assert_allclose(drawn("weights", name, (4, 5), 0).sum(axis=1), 1, atol=5e-6)


def test_pads_at_the_end_leave_one_word_at_the_beginning_where_no_other_place_is_allowed():
    mask = drawn("mask", "one_word", (4, 5), pads_at_end=True)
    assert mask[:, 0].all()
    assert mask.sum() == 4


@pytest.mark.parametrize("seed", range(20))
def test_a_target_sentence_ends_in_the_stop_word_and_what_was_written_begins_as_its_family_says(seed):
    rng = np.random.default_rng(seed)
    for family in families.KINDS["target_words"]:
        target = family.draw(rng, DrawContext((6, 5)))
        ends = (target == families.STOPS).argmax(axis=1)
        assert ((target == families.STOPS).sum(axis=1) == 1).all()
        assert all(
            (row[:end] > families.STOPS).all() and not row[end + 1 :].any()
            for row, end in zip(target, ends, strict=True)
        )
        for way in families.KINDS["written"]:
            words = way.draw(rng, DrawContext((6, 9), {"target": target}))
            same = [
                (row[: end + 1] == right[: end + 1]).all() for row, right, end in zip(words, target, ends, strict=True)
            ]
            assert all(same) or way.name not in ("right",)
            assert not any(same) or way.name != "wrong"


def test_one_weight_is_larger_than_all_others_in_each_step_that_was_taken():
    for family in families.KINDS["peaks"]:
        weights = family.draw(np.random.default_rng(1), DrawContext((4, 5, 6)))
        taken = weights.any(axis=-1)
        first, second = np.sort(weights[taken], axis=-1)[:, [-1, -2]].T
        assert (first > second * (1 + families.NEAREST / 2)).all()
        for nouns in families.KINDS["positions"]:
            positions = nouns.draw(np.random.default_rng(1), DrawContext((4, 7), {"weights": weights}))
            assert (positions >= 0).any()
            assert set(np.unique(positions)) <= set(range(-1, 6))


@pytest.mark.parametrize("kind", families.KINDS)
def test_the_first_family_of_a_kind_is_the_ordinary_one_and_all_others_have_words_of_their_own(kind):
    first, *others = families.KINDS[kind]
    assert not first.words
    assert not first.parts
    assert len({family.words for family in others}) == len(others)
    assert len({family.name for family in (first, *others)}) == len(others) + 1
    assert all(family.words for family in others)


def test_masks_have_every_length_that_their_family_allows():
    lengths = {name: set(drawn("mask", name, (400, 5)).sum(axis=1).tolist()) for name in MASKS}
    assert lengths["end"] == lengths["before"] == {1, 2, 3, 4}
    assert lengths["lengths"] == {1, 2, 3, 4, 5}
    assert lengths["between"] == {2, 3, 4}
    assert drawn("mask", "one_word", (400, 5)).any(axis=0).all()
    assert lengths["empty_row"] == {0, 1, 2, 3, 4}


@pytest.mark.parametrize(
    ("kind", "name", "axes"),
    [
        *(("mask", name, 2) for name in MASKS if name != "full"),
        *(("scores", name, 2) for name in ("apart", "tie")),
        *(("weights", name, 2) for name in ("zero", "small")),
        *(("annotations", name, 3) for name in ("equal", "uneven", "zeros_first")),
    ],
)
def test_a_family_says_how_many_entries_it_needs_to_be_what_its_words_say(kind, name, axes):
    shape = [1] * (axes - 1) + [40 if axes == 3 else 1]
    for axis, count in family_named(kind, name).least.items():
        shape[axis] = count
    value = drawn(kind, name, tuple(shape), 0)
    assert KNOWN[kind][name](value)
    assert kind != "mask" or not value.all()


@pytest.mark.parametrize("name", ["end", "lengths", "before", "between", "one_word"])
def test_a_family_of_masks_needs_no_more_positions_than_it_says(name):
    least = family_named("mask", name).least
    with contextlib.suppress(ValueError):
        mask = drawn("mask", name, (least.get(0, 1), least[-1] - 1), 0)
        assert mask.all() or not MASKS[name](mask)


def test_a_family_of_masks_says_whether_it_has_pads():
    for family in families.KINDS["mask"]:
        assert family.pads != drawn("mask", family.name, (40, 5)).all(), family.name


def test_masks_may_have_more_axes_than_two():
    for name in ("end", "lengths", "before", "between", "one_word", "full", "empty"):
        assert MASKS[name](drawn("mask", name, (5, 3, 4)).reshape(-1, 4)), name


def test_of_different_lengths_one_is_the_whole_row():
    for seed in range(20):
        assert drawn("mask", "lengths", (2, 5), seed).sum(axis=1).max() == 5


def test_a_sentence_without_a_word_stands_beside_others_even_where_rows_have_one_place():
    mask = drawn("mask", "empty_row", (4, 1))
    assert mask.sum() == 3


def test_without_a_mask_there_are_no_pads_and_a_mask_goes_with_arrays_that_have_more_axes():
    assert not DrawContext((2, 3, 4)).pads.any()
    assert (DrawContext((2, 3)).pads | np.ones((2, 3), bool)).shape == (2, 3)
    wide = DrawContext((*pads().shape, 5), mask=pads()).pads
    assert (np.broadcast_to(wide, (*pads().shape, 5)) == ~pads()[..., None]).all()


def test_what_is_drawn_can_be_written_to_and_down_with_a_few_decimals():
    alike = drawn("scores", "alike", (3, 4))
    alike[0, 0] = 1  # a broadcast view would be read-only
    for name in ("ordinary", "alike", "zeros", "large", "apart", "tie", "far_below", "power_ends"):
        scores = drawn("scores", name, (50, 4))
        on_grid = name in ("large", "apart", "far_below", "power_ends")  # single precision holds these exactly
        decimals = 6 if on_grid else 5
        np.testing.assert_array_equal(scores, scores.round(decimals))
        assert (scores != scores.round(decimals - 1)).any()
        assert not on_grid or (scores == scores.astype(np.float32)).all()


def test_scores_in_steps_lie_apart_and_leave_the_least_likely_word_a_weight_above_the_tolerance():
    steps = families.IN_STEPS.draw(np.random.default_rng(0), DrawContext((200, 6)))
    assert np.diff(np.sort(steps)).min() > 2
    weights = np.exp(steps) / np.exp(steps).sum(axis=1, keepdims=True)
    assert 1e-8 < weights.min() < 1e-7


def test_scores_of_exactly_0_stand_among_others():
    scores = drawn("scores", "zeros", (300, 6))[:, 1:]
    assert 0.1 < (scores == 0).mean() < 0.6


def test_large_scores_lie_far_out_and_those_of_pads_beyond_the_numbers_often_subtracted_there():
    below, usual, enormous = -7000, 7000, 1e9
    assert drawn("scores", "far_below", (20, 4)).max() < below
    scores = drawn("scores", "large", (200, 6))
    assert scores.min() < below
    assert scores.max() > usual
    assert (abs(scores) > 700).mean() > 0.8
    rows = drawn("scores", "apart", (3, 6)).mean(axis=1)
    assert rows[0] < below
    assert abs(rows[1]) < 10
    assert rows[2] > usual
    above = drawn("scores", "pad_above", pads().shape, mask=pads())[~pads()]
    assert above.min() > 1e4
    at_pads = drawn("scores", "pad_above", (50, 4), mask=np.zeros((50, 4), bool))
    assert (at_pads > enormous).any()
    assert (at_pads < enormous).any()
    low = drawn("scores", "pad_low", pads().shape, mask=pads())
    assert low[pads()].max() < below
    assert abs(low[~pads()]).max() < 10


def test_sentences_lie_apart_whatever_else_their_scores_have_as_axes():
    scores = drawn("logits", "apart", (3, 4, 5))
    assert np.ptp(scores, axis=(1, 2)).max() < 20 < 1000 < np.diff(scores.mean(axis=(1, 2))).min()


def test_tiny_annotations_stand_beside_large_ones_in_turn():
    sizes = abs(drawn("annotations", "uneven", (50, 5, 8))).mean(axis=(0, 2))
    assert sizes[::2].min() > 3000 * sizes[1::2].max() > 0


def test_states_are_zero_in_one_sentence_alone():
    for seed in range(20):
        assert (drawn("states", "zero", (4, 3), seed) == 0).all(axis=1).sum() == 1


@pytest.mark.parametrize(
    ("kind", "shape"), [("states", (4, 3)), ("annotations", (4, 5, 3)), ("scores", (4, 3)), ("logits", (4, 5, 3))]
)
def test_the_same_numbers_in_each_sentence_are_still_ordinary_and_meet_no_other_family(kind, shape):
    same = drawn(kind, "same_rows", shape)
    assert (same == same[0]).all()
    assert len(np.unique(same)) == same[0].size
    assert 0.1 < abs(same).mean() < 2
    family = family_named(kind, "same_rows")
    assert (family.alone, family.least) == (True, {0: 2})


def test_numbers_at_padding_reach_the_limit_that_is_promised_and_none_exceeds_it():
    mask = np.zeros((60, 4), bool)
    for kind, name, shape in (
        ("annotations", "pads_huge", (60, 4, 3)),
        ("scores", "pad_above", (60, 4)),
        ("logits", "pad_above", (60, 4, 3)),
    ):
        exponent = int(AT_PADDING[kind].removeprefix("±10").translate(str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")))
        assert abs(drawn(kind, name, shape, mask=mask)).max() == float(f"1e{exponent}")
    keys = drawn("annotations", "pads_huge", (60, 4, 3), mask=mask)
    assert keys.max() == -keys.min()


def test_numbers_far_from_0_are_as_fine_as_single_precision_allows():
    for limit, grid in ((10_000, 64), (1000, 1024), (500, 2048)):
        scores = drawn("scores", "large", (40, 6), limits=(-limit, limit))
        assert (scores == scores.astype(np.float32)).all()
        np.testing.assert_array_equal(scores * grid, np.round(scores * grid))
        assert (scores * grid / 2 != np.round(scores * grid / 2)).any()


def test_large_numbers_are_much_larger_than_the_ordinary_ones_of_their_kind():
    for kind in ("annotations", "states", "parameter", "vector"):
        ordinary, large = (abs(drawn(kind, name, (20, 5, 6))) for name in ("ordinary", "large"))
        assert large.mean() > 5 * ordinary.mean()
        assert large.max() == 10
        assert 0.1 < ordinary.mean() < 2


def test_tiny_entries_stand_beside_ordinary_ones_in_turn():
    sizes = abs(drawn("vector", "tiny", (400, 6))).mean(axis=0)
    assert 0 < sizes[::2].max() < 1e-3
    assert sizes[1::2].min() > 0.5


def test_states_of_zeros_are_all_zero_and_what_stands_beside_them_is_ordinary():
    assert not drawn("states", "zeros", (3, 5)).any()
    assert family_named("states", "zeros").alone


def test_the_first_and_the_last_entry_of_a_vector_with_zeros_are_exactly_0_and_no_other():
    numbers = drawn("vector", "some_zero", (40, 6))
    assert [*(numbers == 0).all(axis=0)] == [True, False, False, False, False, True]
    assert (numbers[:, 1:-1] != 0).all()


def test_very_small_weights_stand_beside_one_that_is_nearly_all():
    weights = np.sort(drawn("weights", "small", (50, 6)))
    assert weights[:, -1].min() > 0.99
    assert 0 < weights[:, 0].min() < weights[:, -2].max() < 1e-3


def test_ordinary_weights_add_to_one_in_every_row_and_none_of_them_is_negligible():
    weights = drawn("weights", "ordinary", (100, 6))
    np.testing.assert_allclose(weights.sum(axis=1), 1, atol=1e-8)
    assert weights.min() > 1e-3
    assert (drawn("weights", "one_is_all", (100, 6)).argmax(axis=1) < 6).all()
    assert drawn("weights", "one_is_all", (100, 6)).any(axis=0).all()


def test_whole_numbers_are_indices_of_the_vocabulary_from_its_first_to_its_last():
    assert set(np.unique(drawn("tokens", "ordinary", (100, 6)))) == set(range(6))  # not the last one, 6
    assert set(np.unique(drawn("tokens", "ends", (100, 6)))) == {0, 6}
    assert len({int(drawn("tokens", "repeated", (3, 4), seed)[0, 0]) for seed in range(99)}) == 7
    assert np.ptp(drawn("tokens", "repeated", (3, 4))) == 0
    last = drawn("tokens", "many", (100, 6), below=300)
    assert last.max() == 299
    assert last.min() > 255


def test_temperatures_are_near_0_around_1_and_far_above():
    cold, ordinary, hot, ones = (
        drawn("temperature", name, (200,), limits=(0.02, 200.0)) for name in ("cold", "ordinary", "hot", "one")
    )
    assert cold.min() == 0.02 < 0.1 < cold.max() < 0.3
    assert 0.3 < ordinary.min() < 0.9 < 1.1 < ordinary.max() < 3
    assert 10 < hot.min() < 40 < 100 < hot.max() == 200
    assert (ones == 1).all()


def test_log_probabilities_are_at_most_0():
    kinds = {"log_probabilities": ("ordinary", "same", "low", "certain"), "hypotheses": ("ordinary", "leader", "close")}
    for kind, name in [(kind, name) for kind, names in kinds.items() for name in names]:
        numbers = drawn(kind, name, (4, 5, 6))
        assert numbers.max() <= 1e-9
        assert (numbers < -1).any()


def test_one_hypothesis_leads_and_it_is_the_last_one_of_which_one_word_is_certain():
    leader = drawn("hypotheses", "leader", (20, 5))
    assert (leader[:, -1] == 0).all()
    assert np.exp(leader[:, :-1]).max() == 0
    assert leader[:, :-1].min() >= -1000
    certain = drawn("log_probabilities", "certain", (20, 5, 6))
    last = np.sort(certain[..., -1, :])
    assert (last[..., -1] == 0).all()
    assert -100 <= last[..., :-1].min() < last[..., :-1].max() <= -85
    assert certain[..., :-1, :].max() < 0


@pytest.mark.parametrize("name", ["ordinary", "same", "low", "certain", "many"])
def test_log_probabilities_are_those_of_a_distribution_so_that_one_more_log_softmax_changes_nothing(name):
    log_probabilities = drawn("log_probabilities", name, (20, 5, 7))
    np.testing.assert_allclose(np.exp(log_probabilities).sum(axis=-1), 1, atol=1e-5)


def test_hypotheses_like_nearly_the_same_words_of_a_vocabulary_that_may_be_large():
    same = drawn("log_probabilities", "same", (20, 5, 6))
    spread = np.ptp(same, axis=-2)
    assert 0 < spread.min() < spread.max() < 0.05
    assert np.ptp(same, axis=-1).min() > 0.1
    assert ((drawn("log_probabilities", "low", (20, 5, 6)) < -75).sum(axis=-1) == 4).all()
    assert drawn("log_probabilities", "low", (20, 5, 60)).min() >= -100
    assert drawn("hypotheses", "close", (20, 5)).min() >= -1000
    assert family_named("log_probabilities", "many").least[-1] > 256


STOP = families.STOPS


def targets_named(name):
    return drawn("target_words", name, (300, 6))


def test_sentences_that_stop_have_every_length_and_the_words_of_their_vocabulary():
    lengths = (targets_named("ordinary") == STOP).argmax(axis=1)
    assert set(lengths) == set(range(6))
    assert ((targets_named("full") == STOP).argmax(axis=1) == 5).all()
    assert (targets_named("stop")[:, 0] == STOP).all()
    words = {name: targets_named(name)[targets_named(name) > STOP] for name in ("few", "ordinary", "many")}
    assert len(set(words["few"])) == 3
    assert set(words["few"]) < set(words["ordinary"])
    assert words["many"].max() > 256 + words["ordinary"].max()
    assert {int(words[name].min()) for name in ("few", "ordinary")} == {STOP + 1}


def test_targets_may_have_more_axes_than_two():
    for family in families.KINDS["target_words"]:
        targets = drawn("target_words", family.name, (2, 3, 5))
        assert ((targets == STOP).sum(axis=-1) == 1).all()


def test_links_by_hand_are_sure_possible_or_missing_as_their_family_says():
    values = {f.name: set(drawn("hand", f.name, (50, 6)).ravel().tolist()) for f in families.KINDS["hand"]}
    assert values == {"ordinary": {0, 1, 2}, "sure": {0, 2}, "possible": {0, 1}, "all_sure": {2}}


def written(name, width=9):
    """Return pairs of a target sentence, including its stop token, and a model's output for it."""
    targets = targets_named("ordinary")
    rows = drawn("written", name, (300, width), drawn={"target": targets})
    ends = (targets == STOP).argmax(axis=1) + 1
    return [(right[:end], row) for right, row, end in zip(targets, rows, ends, strict=True)]


def test_what_was_written_differs_from_the_target_as_its_family_says():
    for right, row in written("wrong"):
        assert (row[: len(right)] != right).sum() == 1
    for right, row in written("other"):
        assert row[len(right) - 1] == STOP
        assert not (row[: len(right) - 1] == STOP).any()
    assert any((row[: len(right) - 1] != right[:-1]).all() for right, row in written("other") if len(right) > 1)
    short = [(right, row) for right, row in written("short") if (row[: len(right)] != right).any()]
    assert short
    assert all(row[(row == STOP).argmax() :].tolist() == [STOP] * (9 - (row == STOP).argmax()) for _, row in short)
    assert all((row == STOP).argmax() < len(right) - 1 for right, row in short)
    endless = [(right, row) for right, row in written("endless") if row[len(right) - 1] != STOP]
    assert endless
    assert all(STOP not in row and (row[: len(right) - 1] == right[:-1]).all() for right, row in endless)
    turned = [(right, row) for right, row in written("order") if (row[: len(right)] != right).any()]
    assert turned
    assert all((row[: len(right)] == [*right[-2::-1], STOP]).all() for right, row in turned)


def test_the_first_word_is_written_twice_or_the_sentence_is_right():
    rows = [(right, row) for right, row in written("doubled") if (row[: len(right)] != right).any()]
    assert rows
    assert all(row[: len(right) + 1].tolist() == [right[0], *right] for right, row in rows if len(right) < 6)


def test_a_0_is_written_before_or_after_the_right_words():
    rows = [(right.tolist(), row.tolist()) for right, row in written("zeros") if len(right) < 6]
    before = [row[: len(right) + 1] == [0, *right] for right, row in rows]
    after = [row[: len(right) + 1] == [*right[:-1], 0, STOP] for right, row in rows]
    assert all(map(any, zip(before, after, strict=True)))
    assert any(before)
    assert any(after)


def test_near_a_limit_the_sign_changes_from_row_to_row_and_once_more_in_two_rows_of_ones_own():
    context = DrawContext((8, 3), limits=(-10, 5))
    rows = {turned: families.at_one_limit(turned).draw(np.random.default_rng(0), context) for turned in (1, 2)} | {
        None: families.AT_ONE_LIMIT.draw(np.random.default_rng(0), context)
    }
    signs = {turned: "".join("-+"[int(row.min() > 0)] for row in numbers) for turned, numbers in rows.items()}
    assert signs == {None: "+-+-+-+-", 1: "+--++-+-", 2: "+-+--++-"}
    assert all(set(np.round(numbers.ravel() * 2) / 2) <= {-10, 5} for numbers in rows.values())


def test_turned_phonemes_are_those_of_before_with_the_first_of_them_last():
    first = np.arange(3, 15)
    turned = drawn("phonemes", "turned", (12,), drawn={"written": first})
    assert turned.tolist() == [*range(7, 15), *range(3, 7)]
    assert drawn("phonemes", "turned", (2,), drawn={"written": first[:2]}).tolist() == [4, 3]


def test_after_the_stop_word_comes_rubbish_of_every_sort():
    after = [row[len(right) :] for right, row in written("right")]
    assert all((row[: len(right)] == right).all() for right, row in written("right"))
    assert any((rest == STOP).all() for rest in after)
    assert any((rest == 0).all() for rest in after)
    assert any((rest > STOP).all() for rest in after)


def test_a_wrong_word_is_now_and_then_the_right_one_in_eight_bits():
    changes = [(row[: len(right)] - right)[row[: len(right)] != right].item() for right, row in written("wrong")]
    assert 256 in changes
    assert any(change % 256 for change in changes)


def test_what_was_written_may_be_shorter_than_its_target():
    rows = written("right", width=3)
    assert all((row[: len(right)] == right[:3]).all() for right, row in rows)
    assert all(len(row) == 3 for _, row in written("order", width=3))


def peaks_named(name):
    return drawn("peaks", name, (100, 5, 12))


def test_the_largest_weight_stands_out_nearly_all_are_alike_or_sentences_stop():
    peaks, flat, stopped = map(peaks_named, ("ordinary", "flat", "stopped"))
    for weights in (peaks, flat):
        np.testing.assert_allclose(weights.sum(axis=-1), 1, atol=1e-6)
        assert set(weights.argmax(axis=-1).ravel()) == set(range(12))
    assert (flat.max(axis=-1) < 1.3 * flat.min(axis=-1)).all()
    assert (peaks.max(axis=-1) > 2 * peaks.min(axis=-1)).all()
    steps = stopped.any(axis=-1)
    assert set(steps.sum(axis=1)) == {1, 2, 3, 4, 5}
    assert not (np.diff(steps.astype(int)) > 0).any()


@pytest.mark.parametrize("steps", [3, 5, 8])
def test_positions_are_nouns_and_lie_at_the_largest_weight_as_often_as_their_family_says(steps):
    weights = peaks_named("ordinary")
    least = min(steps, 5)
    share, hit = {}, {}
    for name in ("ordinary", "nouns", "few", "missed"):
        positions = drawn("positions", name, (100, steps), drawn={"weights": weights})
        nouns = positions >= 0
        share[name] = nouns.mean()
        hit[name] = positions == np.pad(weights.argmax(axis=-1), ((0, 0), (0, 5)), constant_values=-2)[:, :steps]
        hit[name] = hit[name][:, :least][nouns[:, :least]].mean()
        assert set(np.unique(positions)) <= set(range(-1, 12))
    assert set(np.unique(positions)) == set(range(-1, 12))
    assert share["nouns"] == 1
    assert 0 < share["few"] < 0.3 < share["ordinary"] < 0.9
    assert hit["missed"] < 0.3 < hit["ordinary"] < 0.9


@pytest.mark.parametrize("seed", range(5))
def test_limits_are_alike_different_one_or_below_the_number_of_steps(seed):
    limits = {f.name: drawn("limits", f.name, (5,), seed, below=6) for f in families.KINDS["limits"]}
    assert limits["ordinary"].tolist() == [6] * 5
    assert {3, 6} <= {*limits["different"].tolist()} <= {*range(1, 7)}
    assert sorted(limits["one"].tolist()) == [1, 6, 6, 6, 6]
    assert limits["fewer"].tolist() == [5] * 5
    for family in families.KINDS["limits"]:
        assert drawn("limits", family.name, (3,), seed, below=1).tolist() == [1] * 3


@pytest.mark.parametrize("seed", range(5))
def test_numbers_that_draw_words_are_anywhere_near_0_or_near_1(seed):
    numbers = {f.name: drawn("uniforms", f.name, (5, 6), seed) for f in families.KINDS["uniforms"][1:]}
    assert all(each.min() >= 0 and each.max() < 1 for each in numbers.values())
    assert numbers["any"].min() < 0.3 < 0.7 < numbers["any"].max()
    assert not numbers["zero"].any()
    assert numbers["low"].max() < 2e-6
    assert numbers["high"].min() > 1 - 2e-6
    is_low = numbers["apart"] < 2e-6
    assert is_low.sum() == is_low[:, 0].sum() == 1
    assert numbers["apart"][~is_low].min() >= 0.7


def test_a_noun_is_left_however_few_there_are():
    weights = peaks_named("ordinary")[:1]
    for seed in range(50):
        assert (drawn("positions", "few", (1, 2), seed, drawn={"weights": weights}) >= 0).any()
